// diagonal.cuh: a diagonal of a square matrix to start from, if rows and columns have an order in which it may be a cheapest
// assignment.
//
// If all neighbouring rows i, i + 1 and columns j, j + 1 have
//
//   c[i][j] + c[i+1][j+1] <= c[i][j+1] + c[i+1][j]                                                        (Monge)
//
// then the main diagonal is a cheapest assignment: serial/monge.hpp says why. Products, maxima and distances of numbers have this
// property once the numbers are in order. Here rows and columns may come in any order, and the order is found:
//
//   Differences c[a][j] - c[b][j] of two rows rise, or fall, along the columns. The width of the two rows is the largest
//   difference less the smallest one. For three rows in order these widths add up. So the row with the greatest width from any
//   given row is the first or the last one, and widths from there put all rows in order. The differences of the first and the
//   last row put the columns in order.
//
// The order is only a guess, and so are its duals. A sample of rows is checked against them. The diagonal is a start if nearly
// all of these rows find nothing far better than their pair. The search mends it, and repricing proves the result. So costs that
// lack the property only by roundings start from a diagonal, too.
//
// Hoffman, "On simple linear programming problems", Proceedings of Symposia in Pure Mathematics 7 (1963). Burkard, Klinz, Rudolf,
// "Perspectives of Monge properties in optimization", Discrete Applied Mathematics 70 (1996), on such costs in any order.
#pragma once
#include "assignment/start.cuh"
#include "costs/dense.cuh"

template <class Stored>
class DiagonalStart {
 public:
  using Cost = typename DenseCosts<Stored>::Cost;
  using Dual = typename DenseCosts<Stored>::Dual;

  // `most` is how far duals may lie apart.
  DEVICE DiagonalStart(const DenseCosts<Stored>& costs, Dual most) : costs_(costs), size_(costs.num_columns), most_(most) {}

  DEVICE void carve(Workspace& workspace) {
    rows_.carve(workspace, size_);
    columns_.carve(workspace, size_);
    sums_ = workspace.take<Sum>(num_chunks());
    found_ = workspace.take<Found>(1);
  }

  // Writes the pairs and v, if they may be optimal. All threads of the team learn whether they may be.
  template <class Team>
  DEVICE bool take(Team& team, const Matching& matching, Dual* v) const {
    if (team.rank() == 0) *found_ = Found{{0, 0}, {size_, size_}, 0, 0};
    if (contradicts(team)) return false;
    if (!measure_from(team, 0, 0) || !measure_from(team, found_->farthest[0], 1)) return false;
    sort(team);
    set_pairs(team, matching);
    return add_up(team, v) && is_good(team, matching, v);
  }

 private:
  // A look takes one place for each lane of PLACES groups. Nearly all costs without the property contradict it at 1 place in 2.
  // Costs of which 97 in 100 are equal contradict it at 1 place in some hundreds.
  static constexpr int PLACES = 256;
  // CHECKED rows are compared with the guess. At most 1 row in GOOD may find a pair that is better by more than 1 / NEAR of the
  // range of its reduced costs. At least 1 row in GOOD must find no better pair. Costs without the property fail at nearly all
  // rows, and costs with it at none. If roundings make all pairs loose, an auction is faster: benchmarks/log/core_gpu.md, "A
  // diagonal in any order".
  static constexpr int CHECKED = 256, GOOD = 8, NEAR = 1024;
  // How many steps of v a thread adds up.
  static constexpr Vertex CHUNK = 64;

  // An order of rows or columns.
  struct Order {
    Dual* keys;   // [size]
    Vertex* at;   // [size] the row or column of each place

    DEVICE void carve(Workspace& workspace, Vertex size) {
      keys = workspace.take<Dual>(size);
      at = workspace.take<Vertex>(size);
    }
    // A place is the number of smaller keys plus the number of equal keys before it. A group counts them for ITEMS keys at once.
    template <class Team>
    DEVICE void sort(const Team& team, Vertex size) const {
      constexpr int ITEMS = Team::ROWS_AT_ONCE;
      team.each_group_apart((size + ITEMS - 1) / ITEMS, [&](Count i) {
        const Vertex first = static_cast<Vertex>(i) * ITEMS;
        Dual key[ITEMS];
        Vertex before[ITEMS];
        for (int r = 0; r < ITEMS; ++r) {
          key[r] = keys[first + r < size ? first + r : first];
          before[r] = 0;
        }
        for (Vertex other = team.lane(); other < size; other += team.lanes()) {
          const Dual its = keys[other];
          for (int r = 0; r < ITEMS; ++r) before[r] += its < key[r] || (its == key[r] && other < first + r);
        }
        for (int r = 0; r < ITEMS && first + r < size; ++r) {
          const Vertex place = team.sum_before(before[r]) + before[r];
          if (team.lane() == team.lanes() - 1) at[place] = first + r;
        }
      });
    }
  };

  // A sum, and what rounding has lost of it (Knuth's TwoSum).
  struct Sum {
    Dual rounded, lost;

    DEVICE void add(Dual step) {
      const Dual next = rounded + step, back = next - rounded;
      lost += (rounded - (next - back)) + (step - back);
      rounded = next;
    }
  };

  struct Found {
    Dual widths[2];
    Vertex farthest[2];
    int tight, worse;  // numbers of rows that find nothing better than their pair, and that find something far better
  };

  // The sign of the difference of both sides of (Monge) for two rows and two columns; 0 if a rounding may explain it.
  struct Minor {
    int sign;
    bool forbids;
  };
  DEVICE Minor minor(Vertex row, Vertex end_row, Vertex column, Vertex end) const {
    const Dual along = costs_.at(row, column) + costs_.at(end_row, end);
    const Dual across = costs_.at(row, end) + costs_.at(end_row, column);
    const bool is_even = is_rounding(of_digits(along - across, Cost{}), along, across);
    return {is_even ? 0 : along < across ? -1 : 1, is_forbidden(along) || is_forbidden(across)};
  }

  // is_rounding is for doubles. Numbers that were rounded to floats are allowed 2 ** 26 times the difference.
  static DEVICE double of_digits(double difference, float) { return difference / (1 << 26); }
  static DEVICE Dual of_digits(Dual difference, Dual) { return difference; }

  // In any order that has the property, minors of two rows and two columns have the sign of the order of the rows times that of
  // the columns, or are 0. So the product of four minors that share two pairs of rows and two of columns is not negative.
  DEVICE bool contradicts(const Vertex (&row)[3], const Vertex (&column)[3]) const {
    int sign = 1;
    for (int k = 0; k < 4; ++k) {
      const Minor one = minor(row[0], row[1 + k % 2], column[k / 2], column[1 + k / 2]);
      if (one.forbids) return true;
      sign *= one.sign;
    }
    return sign < 0;
  }

  // Whether some rows and columns contradict all orders. The first look takes any rows and columns. The second look takes rows
  // and their best columns: few entries may differ from all others.
  template <class Team>
  DEVICE bool contradicts(Team& team) const {
    const auto look = [&](Vertex rows, const auto& row_of, const auto& column_of) {
      bool found = false;
      team.each_group(PLACES, [&](Count group) {
        // Odd factors spread the numbers over 32 bits.
        unsigned number = (static_cast<unsigned>(group) * team.lanes() + team.lane()) * 0x9e3779b9u;
        Vertex row[3], column[3];
        for (int k = 0; k < 3; ++k) {
          number = number * 0x85ebca6bu + 0xc2b2ae35u;
          const Vertex drawn = static_cast<Vertex>((number >> 8) % static_cast<unsigned>(rows));
          row[k] = row_of(drawn);
          column[k] = column_of(drawn, number);
        }
        found |= contradicts(row, column);
      });
      return team.any(found);
    };
    const auto any_column = [&](Vertex, unsigned number) {
      return static_cast<Vertex>((number * 0xc2b2ae35u >> 8) % static_cast<unsigned>(size_));
    };
    if (look(size_, [](Vertex row) { return row; }, any_column)) return true;
    find_best_columns(team);
    return look(num_checked(), [&](Vertex i) { return checked_row(i); }, [&](Vertex i, unsigned) { return columns_.at[i]; });
  }

  DEVICE Vertex num_checked() const { return size_ < CHECKED ? size_ : CHECKED; }
  DEVICE Vertex checked_row(Count i) const { return static_cast<Vertex>(i * size_ / num_checked()); }

  // Calls use(column, cost) for each entry of a row.
  template <class Team, class Use>
  DEVICE void each_of_row(const Team& team, Vertex row, Use use) const {
    each_fetched<Team::AT_ONCE>(
        team.lane(), team.lanes(), size_, [&](Vertex column) { return team.read_once(costs_.place(row, column)); },
        [&](Vertex column, Stored entry) { use(column, costs_.of_entry(value_of(entry))); });
  }

  // Writes a cheapest column of each checked row to columns_.at, which holds no order yet.
  template <class Team>
  DEVICE void find_best_columns(Team& team) const {
    team.each_group_apart(num_checked(), [&](Count i) {
      Dual least = costs_.infinite();
      Vertex best = 0;
      each_of_row(team, checked_row(i), [&](Vertex column, Dual cost) {
        if (!(cost < least)) return;
        least = cost;
        best = column;
      });
      if (least == team.min_group(least)) team.write(&columns_.at[i], best);
    });
    team.sync();
  }

  // Writes the keys of rows, which are their widths from one row, and finds the farthest row. Returns false if a pair is
  // forbidden.
  template <class Team>
  DEVICE bool measure_from(Team& team, Vertex start, int turn) const {
    constexpr int ROWS = Team::ROWS_AT_ONCE, AT_ONCE = Team::AT_ONCE > 1 ? Team::AT_ONCE / 2 : 1;
    struct Entries {
      Stored of_start, of[ROWS];
    };
    bool fails = false;
    Dual widest = 0;
    team.each_group_apart((size_ + ROWS - 1) / ROWS, [&](Count i) {
      const Vertex first = static_cast<Vertex>(i) * ROWS;
      Dual least[ROWS], minus_greatest[ROWS];
      for (int r = 0; r < ROWS; ++r) least[r] = minus_greatest[r] = costs_.infinite();
      each_fetched<AT_ONCE>(
          team.lane(), team.lanes(), size_,
          [&](Vertex column) {
            Entries entries;
            entries.of_start = *costs_.place(start, column);
            for (int r = 0; r < ROWS; ++r) {
              entries.of[r] = team.read_once(costs_.place(first + r < size_ ? first + r : first, column));
            }
            return entries;
          },
          [&](Vertex, const Entries& entries) {
            const Dual of_start = costs_.of_entry(value_of(entries.of_start));
            fails |= is_forbidden(of_start);
            for (int r = 0; r < ROWS; ++r) {
              const Dual difference = costs_.of_entry(value_of(entries.of[r])) - of_start;
              fails |= is_forbidden(difference);
              least[r] = difference < least[r] ? difference : least[r];
              minus_greatest[r] = -difference < minus_greatest[r] ? -difference : minus_greatest[r];
            }
          });
      for (int r = 0; r < ROWS && first + r < size_; ++r) {
        const Dual minus_largest = team.min_group(minus_greatest[r]), width = -minus_largest - team.min_group(least[r]);
        fails |= !(width < costs_.infinite());
        widest = width > widest ? width : widest;
        if (team.lane() == 0) rows_.keys[first + r] = width;
      }
    });
    team.max_all(&found_->widths[turn], widest);
    if (team.any(fails)) return false;
    team.each(size_, [&](Count row) {
      if (rows_.keys[row] == found_->widths[turn]) team.lower(&found_->farthest[turn], static_cast<Vertex>(row));
    });
    team.sync();
    return true;
  }

  // Puts rows in the order of their keys, and columns in the order of differences between the first row and the last one.
  template <class Team>
  DEVICE void sort(Team& team) const {
    const Vertex first = found_->farthest[0], last = found_->farthest[1];
    team.each(size_, [&](Count j) {
      const Vertex column = static_cast<Vertex>(j);
      const Dual key = costs_.at(first, column) - costs_.at(last, column);
      columns_.keys[column] = key < costs_.infinite() ? key : 0;  // a number, even if another program writes to the costs
    });
    team.sync();
    rows_.sort(team, size_);
    columns_.sort(team, size_);
    team.sync();
  }

  // Pairs the row and the column of each place. Steps of v from one place to the next are written over the keys of rows. A step
  // is at least the difference of the two columns in the row of this place, and at most their difference in the row of the place
  // before. The middle leaves the fewest ties.
  template <class Team>
  DEVICE void set_pairs(Team& team, const Matching& matching) const {
    team.each(size_, [&](Count i) {
      const Vertex place = static_cast<Vertex>(i), row = rows_.at[place], column = columns_.at[place];
      matching.row_match[row] = column;
      matching.col_match[column] = row;
      if (place == 0) return;
      const Vertex row_before = rows_.at[place - 1], column_before = columns_.at[place - 1];
      const Dual least = costs_.at(row, column) - costs_.at(row, column_before);
      const Dual most = costs_.at(row_before, column) - costs_.at(row_before, column_before);
      rows_.keys[place] = least + (most - least) / 2;
    });
    team.sync();
  }

  DEVICE Vertex num_chunks() const { return (size_ + CHUNK - 1) / CHUNK; }

  // Adds up the steps of v. A thread adds up the steps of a chunk, and then the sums of the chunks before it. Returns false if a
  // sum grows too large.
  template <class Team>
  DEVICE bool add_up(Team& team, Dual* v) const {
    bool fits = true;
    team.each(num_chunks(), [&](Count chunk) {
      Sum sum{0, 0};
      fits &= walk(static_cast<Vertex>(chunk), sum, [](Vertex, const Sum&) {});
      sums_[chunk] = sum;
    });
    if (team.any(!fits)) return false;
    team.each(num_chunks(), [&](Count chunk) {
      Sum sum{0, 0};
      bool is_small = true;
      for (Count before = 0; before < chunk && is_small; ++before) {
        is_small = add(sum, sums_[before].rounded);
        sum.lost += sums_[before].lost;
      }
      fits &= is_small && walk(static_cast<Vertex>(chunk), sum, [&](Vertex place, const Sum& here) {
        v[columns_.at[place]] = here.rounded + here.lost;
      });
    });
    return !team.any(!fits);
  }
  // Calls see(place, sum) for each place of a chunk. Returns false if a sum grows too large.
  template <class See>
  DEVICE bool walk(Vertex chunk, Sum& sum, See see) const {
    const Vertex first = chunk * CHUNK;
    for (Vertex place = first; place < size_ && place < first + CHUNK; ++place) {
      if (place > 0 && !add(sum, rows_.keys[place])) return false;
      see(place, sum);
    }
    return true;
  }
  DEVICE bool add(Sum& sum, Dual step) const {
    sum.add(step);
    return -2 * most_ <= sum.rounded && sum.rounded <= 2 * most_;
  }

  // Whether nearly all checked rows find nothing far better than their pair, and at least 1 in GOOD finds nothing better.
  template <class Team>
  DEVICE bool is_good(Team& team, const Matching& matching, const Dual* v) const {
    team.each_group_apart(num_checked(), [&](Count i) {
      const Vertex row = checked_row(i), mate = matching.row_match[row];
      Dual least = costs_.infinite(), minus_greatest = least;
      each_of_row(team, row, [&](Vertex column, Dual cost) {
        const Dual reduced = cost - v[column];
        least = reduced < least ? reduced : least;
        minus_greatest = -reduced < minus_greatest ? -reduced : minus_greatest;
      });
      least = team.min_group(least);
      minus_greatest = team.min_group(minus_greatest);
      if (team.lane() > 0) return;
      const Dual worse = costs_.at(row, mate) - v[mate] - least;
      if (is_rounding(worse, least, v[mate])) team.fetch_add(&found_->tight, 1);
      else if (worse > (-minus_greatest - least) / NEAR) team.fetch_add(&found_->worse, 1);
    });
    team.sync();
    return found_->worse <= num_checked() / GOOD && found_->tight >= num_checked() / GOOD;
  }

  const DenseCosts<Stored>& costs_;
  const Vertex size_;
  const Dual most_;
  Order rows_, columns_;
  Sum* sums_;     // [num_chunks()]
  Found* found_;  // [1]
};
