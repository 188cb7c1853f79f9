// named_rows.hpp: the one of several cheapest assignments of dense costs that a rule names; see gmatch/assignment/ties.py.
//
// Pairs that tie are bits of rows (tied_rows.hpp). If duals of floats are rounded, each component of them is first solved by the
// exact slacks of its pairs, in a matrix if that is faster than lists, and the pairs of exactly cheapest assignments remain. The
// first assignment along these pairs is taken (first_assignment.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "serial/exact/exact_slacks.hpp"
#include "serial/exact/first_assignment.hpp"
#include "serial/exact/listed_rows.hpp"
#include "serial/exact/weighed_pairs.hpp"
#include "serial/exact/slack_scan.hpp"
#include "serial/exact/tied_rows.hpp"
#include "serial/rows/line_vector.hpp"
#include "serial/shortest_path.hpp"
#include "serial/stored_shortest_paths.hpp"
#include "team/host_threads.hpp"

class NamedRows {
 public:
  // `row_match` is an assignment along some of the pairs; it becomes the named one.
  NamedRows(TiedRows& tied, Vertex num_columns, Vertex* row_match)
      : tied_(tied), row_match_(row_match), place_(tied.numbers(num_columns)) {}

  // Makes the assignment the named one, and counts the rows that had a choice.
  void settle(bool columns_first, Vertex* col_match, Count& with_choice) {
    with_choice = decide(columns_first);
    std::fill_n(col_match, place_.size(), NONE);
    for (Vertex row = 0; row < tied_.num_rows(); ++row) col_match[row_match_[row]] = row;
  }

  // Makes the assignment the named one. Returns how many rows had a choice. `columns_first` says that the columns are the rows of
  // the matrix as given.
  Vertex decide(bool columns_first) {
    const Vertex with_choice = tied_.drop_what_is_sure();
    if (with_choice > 0) take_first(columns_first);
    return with_choice;
  }

  // After drop_what_is_sure, if a row has a choice: makes the assignment the named one.
  void take_first(bool columns_first) {
    const PairsInBits pairs(tied_.pairs(), tied_.pairs().transposed());
    const auto may_leave = [&](Vertex column) { return tied_.may_leave(column); };
    const auto num_columns = static_cast<Vertex>(place_.size());
    FirstAssignment<PairsInBits> first(pairs, tied_.num_rows(), num_columns, may_leave, row_match_, tied_.memory());
    first.settle(columns_first);
  }

  // After drop_what_is_sure: makes the part of a component an exactly cheapest one, and keeps the pairs of exactly cheapest ones.
  // False if the exact slacks need more bits, or if the costs have changed.
  template <class Costs>
  bool take_cheapest(Costs& costs, const TiedRows::Component& component) {
    for (Vertex j = 0; j < component.num_columns(); ++j) place_[component.columns[j]] = j;
    if constexpr (Costs::ARE_DENSE) {
      const bool in_matrix = is_for_matrix(component);
      LineVector<double> slacks(in_matrix ? Count{component.num_rows()} * component.num_columns() : 0);
      double most = 0;
      if (in_matrix && write_slacks(costs, component, slacks, most)) return take_least(component, slacks.data(), most);
    }
    PairList pairs;
    std::vector<bool> may_leave(place_.size());
    for (const Vertex* row = component.rows; row != component.end; ++row) {
      tied_.pairs().each_in(*row, [&](Vertex column) { pairs.add(*row, column); });
    }
    for (const Vertex column : component.columns) may_leave[column] = component.has_free && tied_.may_leave(column);
    ExactSlacks slacks;
    if (!slacks.find(costs, pairs, may_leave) || !has_room(component, slacks.most)) return false;
    return take_least_in_lists(component, pairs.size(), slacks);
  }

 private:
  static constexpr double FORBIDDEN = Distance<double>::FAR;

  static bool has_room(const TiedRows::Component& component, Count most) {
    constexpr double MOST = 1LL << 61;
    return largest_sum(most, component.num_rows(), component.has_free) < MOST;
  }

  // From 1 pair in 8 on, passes over rows of a matrix are faster than lists: benchmarks/log/ties.md, "Ties as bits of rows, marks
  // in a matrix". A matrix has no room for rewards of columns that must be used.
  bool is_for_matrix(const TiedRows::Component& component) const {
    constexpr Count DENSE_SHARE = 8;
    const Count rows = component.num_rows(), columns = component.num_columns();
    const auto may_leave = [&](Vertex column) { return tied_.may_leave(column); };
    if (rows < columns && !std::all_of(component.columns.begin(), component.columns.end(), may_leave)) return false;
    Count size = 0;
    for (const Vertex* row = component.rows; row != component.end; ++row) size += tied_.pairs().size_of(*row);
    return size >= rows * columns / DENSE_SHARE && columns >= static_cast<Count>(place_.size()) / DENSE_SHARE;
  }

  // Writes the exact slacks of a component in the largest unit of which all are multiples, and FORBIDDEN for pairs that do not
  // tie. `most` becomes a bound of their magnitudes. What it costs that a column stays free is subtracted from the slacks of its
  // pairs. False if floats do not hold all sums of slacks.
  template <class Costs>
  bool write_slacks(Costs& costs, const TiedRows::Component& component, LineVector<double>& slacks, double& most) const {
    constexpr double EXACT = 0x1p53;  // floats hold all whole numbers below
    const auto width = static_cast<Vertex>(place_.size());
    const Vertex columns = component.num_columns();
    const double per_unit = costs.smallest_units();
    if (!std::isfinite(per_unit)) return false;
    LineVector<double> of_row(columns == width ? 0 : width), of_leaving(component.num_rows() < columns ? columns : 0);
    Marks bits = 0;
    for (std::size_t j = 0; j < of_leaving.size(); ++j) {
      if (!costs.write_leaving(component.columns[j], per_unit, of_leaving[j], bits)) return false;
    }
    double* entries = slacks.data();
    for (const Vertex* row = component.rows; row != component.end; ++row, entries += columns) {
      double* const to = columns == width ? entries : of_row.data();
      if (!costs.write_slacks(*row, tied_.pairs().row(*row), per_unit, FORBIDDEN, to, bits)) return false;
      for (Vertex j = 0; j < columns && columns < width; ++j) entries[j] = to[component.columns[j]];
      for (std::size_t j = 0; j < of_leaving.size(); ++j) entries[j] -= entries[j] == FORBIDDEN ? 0 : of_leaving[j];
    }
    const double shared = bits == 0 ? 1 : std::exp2(-first_bit(bits));
    most = 2 * static_cast<double>(bits) * shared;
    for (double* entry = slacks.data(); entry != entries && shared < 1; ++entry) {
      *entry = *entry == FORBIDDEN ? FORBIDDEN : *entry * shared;
    }
    return largest_sum(static_cast<Count>(most), component.num_rows(), false) < EXACT;
  }

  // Takes pairs of the least weight, and keeps the pairs of this component that assignments of the least weight may use. No
  // weight is above `most` in magnitude. False if there is no assignment along the pairs, which may happen if costs changed after
  // the pairs were listed.
  bool take_least(const TiedRows::Component& component, const double* weights, double most) {
    using Scan = PricingScan<double, double, false, true>;
    const Vertex rows = component.num_rows(), columns = component.num_columns();
    LineVector<double> u(rows), v(columns);
    ShortVector<Vertex> row_match = tied_.numbers(rows), col_match = tied_.numbers(columns), listed = tied_.numbers(columns);
    const DenseCosts<double> costs{rows, columns, weights, columns, 1, false, FORBIDDEN};
    ShortestPathCounters counted{};
    const ShortestPathResult<double> result{u.data(), v.data(), row_match.data(), col_match.data()};
    if (solve_as_stored(costs, {-most, most, false, most}, result, counted) < rows) return false;
    ShortVector<Marks> marks(columns / Scan::WORD + 1, 0, tied_.memory());
    for (Vertex i = 0; i < rows; ++i) {
      const Vertex row = component.rows[i];
      tied_.clear(row);
      const double* const entries = weights + i * Count{columns};
      const Vertex size = Scan::list_least(entries, v.data(), columns, u[i], marks.data(), listed.data());
      for (Vertex k = 0; k < size; ++k) tied_.add(row, component.columns[listed[k]]);
      row_match_[row] = component.columns[row_match[i]];
    }
    for (Vertex j = 0; j < columns; ++j) {
      if (v[j] != 0) tied_.forbid_leaving(component.columns[j]);  // all these assignments use it
    }
    return true;
  }

  // As take_least, with slacks in the order of rows and columns, and what columns cost that stay free. A column that must be used
  // is worth more than all slacks.
  bool take_least_in_lists(const TiedRows::Component& component, Count size, const ExactSlacks& slacks) {
    const Vertex rows = component.num_rows(), columns = component.num_columns();
    ShortVector<Count> rewards(columns, 0, tied_.memory());
    for (Vertex j = 0; j < columns && rows < columns; ++j) {
      const Vertex column = component.columns[j];
      rewards[j] = tied_.may_leave(column) ? slacks.of_columns[column] : 2 * (slacks.most + 1) * (rows + 1);
    }
    const Count* next = slacks.of_pairs.data();
    WeighedPairs weighed{rows, columns, {0}, {}, {}};
    weighed.columns.reserve(size);
    weighed.weights.reserve(size);
    for (const Vertex* row = component.rows; row != component.end; ++row) {
      tied_.pairs().each_in(*row, [&](Vertex column) {
        weighed.columns.push_back(place_[column]);
        weighed.weights.push_back(*next++ - rewards[place_[column]]);
      });
      weighed.offsets.push_back(weighed.size());
    }
    LeastWeights found;
    if (!found.find(weighed)) return false;
    for (Vertex i = 0; i < rows; ++i) {
      const Vertex row = component.rows[i];
      tied_.clear(row);
      for (Count k = weighed.offsets[i]; k < weighed.offsets[i + 1]; ++k) {
        if (weighed.weights[k] == found.u[i] + found.v[weighed.columns[k]]) tied_.add(row, component.columns[weighed.columns[k]]);
      }
      row_match_[row] = component.columns[found.row_match[i]];
    }
    for (Vertex j = 0; j < columns; ++j) {
      if (found.v[j] != 0) tied_.forbid_leaving(component.columns[j]);
    }
    return true;
  }

  TiedRows& tied_;
  Vertex* const row_match_;     // [num_rows]
  ShortVector<Vertex> place_;  // [num_columns] in the component that is solved
};

// Pairs along which a rounded assignment is cheapest, and others whose slack is as small. With a limit each row has a way out at
// the limit, which is a column of its own behind the others. A pair above the limit is none, and its row is out.
//
// Duals of floats are rounded. Add up the slacks of the pairs and of the free columns, and how far the least slack of each row
// lies below 0. Each pair of another cheapest assignment has less slack than this sum.
template <class Rows, class Dual>
class NearRows {
 public:
  // Exact slacks of more pairs than this are not found here: they would take 32 bytes a pair.
  static constexpr Count MOST_LISTED = 1 << 22;

  // `threads` share the pass over the rows.
  NearRows(Rows rows, Dual limit, const ShortestPathResult<Dual>& result, std::vector<bool> must_be_used, int threads = 1)
      : num_rows_(rows.num_rows()),
        num_columns_(rows.num_columns()),
        limit_(limit),
        width_(num_columns_ + (has_limit() ? num_rows_ : 0)),
        rows_(std::move(rows)),
        result_(result),
        threads_(threads),
        must_be_used_(std::move(must_be_used)),
        row_match_(result.row_match, result.row_match + num_rows_),
        tied_(num_rows_, width_, row_match_.data()),
        is_used_(width_, 0, tied_.memory()),
        tight_(IS_INTEGER ? 1 : num_rows_, width_, tied_.memory()) {}

  // False if the duals do not prove the pairs the cheapest, or if more than MOST_LISTED are near and not all are tight.
  bool find() {
    for (Vertex row = 0; row < num_rows_ && has_limit(); ++row) {
      if (cost(row, row_match_[row]) > limit_) row_match_[row] = num_columns_ + row;
    }
    find_who_is_used();
    // If the duals fit the pairs exactly, most often no slack is below 0. Then no rounding has to be allowed for.
    if (fits_exactly() && find_all_near_pairs()) return true;
    if (IS_INTEGER) return false;
    find_reach();
    all_are_tight_ = true;
    return reach_ < beyond_all(Dual{}) && find_all_near_pairs();
  }

  // After find: whether no row has a choice, even among the near pairs.
  bool is_only() { return tied_.drop_what_is_sure() == 0; }

  // After find: whether pairs at the limit or above may be as cheap as others.
  bool has_near_way_out() const { return has_near_way_out_; }

  // After find: makes the assignment the one that the rule names, and counts the rows that had a choice. False if rounding hides
  // which assignments are cheapest. Rows that take a way out become free.
  bool settle(bool columns_first, Count& with_choice) {
    with_choice = tied_.drop_what_is_sure();
    if (with_choice > 0) {
      NamedRows named(tied_, width_, row_match_.data());
      // A pair whose slack is 0 only up to rounding is most often on no cycle, and has gone.
      if (!all_are_tight_) {
        if (!take_cheapest_components(named)) return false;
        with_choice = tied_.drop_what_is_sure();
      }
      if (with_choice > 0) named.take_first(columns_first);
    }
    std::fill_n(result_.col_match, num_columns_, NONE);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const bool is_out = row_match_[row] >= num_columns_;
      result_.row_match[row] = is_out ? NONE : row_match_[row];
      if (!is_out) result_.col_match[row_match_[row]] = row;
    }
    return true;
  }

  // What a pair or a way out costs, and the duals: for ExactSlacks.
  Dual cost(Vertex row, Vertex column) const {
    return column < num_columns_ ? static_cast<Dual>(rows_.at(row, column)) : limit_;
  }
  Dual u(Vertex row) const { return result_.u[row]; }
  Dual v(Vertex column) const { return column < num_columns_ ? result_.v[column] : Dual{0}; }

  static constexpr bool ARE_DENSE = !AreListed<Rows>::value;
  // After find: the number of units in 1 for the smallest unit in which no slack of a near pair is 2^51 or more.
  double smallest_units() const { return std::exp2(50 - std::ilogb(reach_ + 2 * rounding_)); }
  // The exact slacks of the columns and ways out of a row whose bits are set: see SlackScan.
  bool write_slacks(Vertex row, const Marks* near, double per_unit, double forbidden, double* to, Marks& bits) {
    using Scan = SlackScan<typename Rows::Entry, Rows::Scan::IS_NEGATED>;
    if (!Scan::write({rows_.entries(row), result_.v, num_columns_, u(row), 0}, near, per_unit, forbidden, to, bits)) return false;
    std::fill(to + num_columns_, to + width_, forbidden);
    if (!has_limit() || !tied_.pairs().has(row, num_columns_ + row)) return true;
    return Scan::write(limit_, u(row), 0, per_unit, to[num_columns_ + row], bits);
  }
  // As write_slacks, for what it costs that a column stays free.
  bool write_leaving(Vertex column, double per_unit, double& to, Marks& bits) const {
    return SlackScan<typename Rows::Entry, Rows::Scan::IS_NEGATED>::write(0, 0, v(column), per_unit, to, bits);
  }

 private:
  static constexpr bool IS_INTEGER = std::numeric_limits<Dual>::is_integer;

  // False if rounding hides which assignments are cheapest.
  bool take_cheapest_components(NamedRows& named) {
    if constexpr (!IS_INTEGER) {
      for (Vertex k = 0; k < tied_.num_components(); ++k) {
        const TiedRows::Component component = tied_.component(k);
        if (!is_tight(component) && !named.take_cheapest(*this, component)) return false;
      }
    }
    return true;
  }

  bool has_limit() const { return limit_ < beyond_all(Dual{}); }
  static Dual magnitude(Dual number) { return number < 0 ? -number : number; }

  void find_who_is_used() {
    for (const Vertex column : row_match_) is_used_[column] = 1;
  }

  // Whether no way out costs less than u, pairs have slack 0, and v fit who is used. Passes over the rows see pairs of integers.
  bool fits_exactly() const {
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (u(row) > limit_) return false;
      if constexpr (!IS_INTEGER) {
        const Vertex column = row_match_[row];
        if (!SplitSlack<1>(cost(row, column), u(row), v(column)).is_zero()) return false;
      }
    }
    for (Vertex j = 0; j < num_columns_ && num_rows_ < width_; ++j) {
      if (!must_be_used(j) && (is_used_[j] ? v(j) > 0 : v(j) != 0)) return false;
    }
    return true;
  }

  // The sum of the slacks of the assignment, and the error that other slacks may have in all. Both are 0 for integers.
  void find_reach() {
    if constexpr (!IS_INTEGER) {
      constexpr double EPSILON = std::numeric_limits<double>::epsilon(), MORE = 1.001;
      Dual scale = has_limit() ? magnitude(limit_) : 0;
      for (Vertex j = 0; j < num_columns_; ++j) scale = std::max(scale, magnitude(result_.v[j]));
      for (Vertex row = 0; row < num_rows_; ++row) {
        const Vertex column = row_match_[row];
        scale = std::max(scale, magnitude(u(row)));
        lost_ += magnitude((cost(row, column) - u(row)) - v(column));
        if (has_limit()) lost_ += std::max(u(row) - limit_, 0.0);
      }
      for (Vertex j = 0; j < num_columns_ && num_rows_ < width_; ++j) {
        if (must_be_used(j)) continue;
        lost_ += is_used_[j] ? std::max(result_.v[j], 0.0) : magnitude(result_.v[j]);
      }
      lost_ = MORE * lost_ + 8 * EPSILON * (Count{num_rows_} + num_columns_) * scale;
      reach_ = 8 * lost_;
      rounding_ = 8 * EPSILON * (scale + reach_);
    }
  }

  bool must_be_used(Vertex column) const { return !must_be_used_.empty() && must_be_used_[column]; }

  void find_who_may_leave() {
    for (Vertex j = 0; j < width_ && num_rows_ < width_; ++j) {
      if (j < num_columns_ && must_be_used(j)) continue;
      if (-v(j) > reach_) continue;
      tied_.let_leave(j);
      all_are_tight_ = all_are_tight_ && v(j) == 0;
    }
  }

  // What one pass has found in some rows.
  struct Seen {
    Dual below = 0;  // the sum of how far their least slacks lie below 0
    Count size = 0;  // the number of their near pairs
    bool all_have_pairs = true, all_are_tight = true, has_near_way_out = false;
  };
  // Whether the duals may still prove the pairs the cheapest, after what has been found in some rows or in all.
  bool may_prove(const Seen& seen) const {
    if (!seen.all_have_pairs || (seen.size > MOST_LISTED && !seen.all_are_tight)) return false;
    return lost_ + seen.below <= reach_ && (reach_ != 0 || seen.all_are_tight);
  }

  bool find_all_near_pairs() {
    find_who_may_leave();
    ShortVector<Seen> parts(threads_, Seen{}, tied_.memory());
    if (threads_ == 1) {
      parts[0] = see_rows(rows_, 0, num_rows_);
    } else {
      run_on_host(threads_, [&](const HostTeam& team) {
        const auto first_of = [&](int rank) { return static_cast<Vertex>(Count{num_rows_} * rank / team.size()); };
        Rows rows = rows_;
        parts[team.rank()] = see_rows(rows, first_of(team.rank()), first_of(team.rank() + 1));
      });
    }
    Seen all;
    for (const Seen& part : parts) {
      all.below += part.below;
      all.size += part.size;
      all.all_have_pairs = all.all_have_pairs && part.all_have_pairs;
      all.all_are_tight = all.all_are_tight && part.all_are_tight;
      all.has_near_way_out = all.has_near_way_out || part.has_near_way_out;
    }
    all_are_tight_ = all.all_are_tight;
    has_near_way_out_ = has_near_way_out_ || all.has_near_way_out;
    return may_prove(all);
  }

  Seen see_rows(Rows& rows, Vertex first, Vertex end) {
    Seen seen;
    seen.all_are_tight = all_are_tight_;
    Poll poll;
    for (Vertex row = first; row < end && may_prove(seen); ++row) {
      poll.spend(num_columns_);
      seen.below -= std::min(find_near_pairs(rows, row, seen), Dual{0});
      seen.size += tied_.pairs().size_of(row);
      seen.all_have_pairs = tied_.pairs().has(row, row_match_[row]);
    }
    return seen;
  }

  // Marks the near pairs of a row. Returns its least slack, or 0 if no slack is below 0.
  Dual find_near_pairs(Rows& rows, Vertex row, Seen& seen) {
    Marks *const near = tied_.of_row(row), *const tight = tight_.row(IS_INTEGER ? 0 : row);
    Dual least = 0;
    // If it is false, no near pair is above the limit.
    const bool may_be_above = has_limit() && limit_ - u(row) <= 2 * (reach_ + rounding_);
    const auto remove_if_above = [&](const auto& cost_of) {
      if (!may_be_above) return;
      tied_.pairs().each_in(row, [&](Vertex column) {
        if (cost_of(column) > limit_) tied_.remove(row, column);
      });
    };
    if constexpr (AreListed<Rows>::value) {
      least = find_listed_near_pairs(row);
      remove_if_above([&](Vertex column) { return cost(row, column); });
    } else {
      const auto* const entries = rows.entries(row);
      if constexpr (IS_INTEGER) {
        using Scan = PricingScan<typename Rows::Entry, Dual, Rows::Scan::IS_NEGATED, true>;
        Scan::template mark<true>(entries, result_.v, num_columns_, u(row), near);
      } else {
        using Scan = SlackScan<typename Rows::Entry, Rows::Scan::IS_NEGATED>;
        const double most = u(row) + (reach_ + 2 * rounding_);
        least = Scan::mark({entries, result_.v, num_columns_, u(row), most}, reach_ + rounding_, near, tight);
      }
      remove_if_above([&](Vertex column) { return static_cast<Dual>(Rows::Scan::cost(entries[column])); });
    }
    if (may_be_above) {
      if (limit_ - u(row) <= reach_) {
        tied_.add(row, num_columns_ + row);
        seen.has_near_way_out = true;
        if (!IS_INTEGER && limit_ == u(row)) tight_.set(row, num_columns_ + row);
      }
    }
    if constexpr (!IS_INTEGER) {
      for (Vertex word = 0; word < tight_.words() && seen.all_are_tight; ++word) {
        seen.all_are_tight = (near[word] & ~tight[word]) == 0;
      }
    }
    return least;
  }

  Dual find_listed_near_pairs(Vertex row) {
    const auto& costs = rows_.costs;
    Dual least = 0;
    for (Count edge = costs.begin(row); edge < costs.end(row); ++edge) {
      const Vertex column = costs.column(edge);
      if constexpr (IS_INTEGER) {
        if (costs.at(edge) == u(row) + v(column)) tied_.add(row, column);
      } else {
        const SplitSlack<1> slack(costs.at(edge), u(row), v(column));
        if (slack.rounded <= reach_ + rounding_) tied_.add(row, column);
        if (slack.is_zero()) tight_.set(row, column);
        least = std::min(least, slack.rounded);
      }
    }
    return least;
  }

  bool is_tight(const TiedRows::Component& component) const {
    for (const Vertex* row = component.rows; row != component.end; ++row) {
      for (Vertex word = 0; word < tight_.words(); ++word) {
        if ((tied_.pairs().row(*row)[word] & ~tight_.row(*row)[word]) != 0) return false;
      }
    }
    return !component.has_free || std::all_of(component.columns.begin(), component.columns.end(), [&](Vertex column) {
             return v(column) == 0 || !tied_.may_leave(column);
           });
  }

  const Vertex num_rows_, num_columns_;
  const Dual limit_;
  const Vertex width_;  // columns, and ways out
  Rows rows_;
  const ShortestPathResult<Dual>& result_;
  const int threads_;
  const std::vector<bool> must_be_used_;  // [num_columns], or none
  std::vector<Vertex> row_match_;          // [num_rows]
  TiedRows tied_;
  ShortVector<char> is_used_;  // [width]
  BitRows tight_;  // of floats: the pairs whose slack is exactly 0
  bool has_near_way_out_ = false;
  bool all_are_tight_ = true;  // with v = 0 of all columns that may stay free
  Dual lost_ = 0, reach_ = 0, rounding_ = 0;
};

// Makes a cheapest assignment the one that the rule names, and counts the rows that had a choice. False if its duals do not tell
// which assignments are as cheap. Pairs that tie only up to rounding are no choice, since other duals may leave them out.
// `must_be_used` says which columns must be used; it may be empty. `threads` share the pass over the rows.
template <class Rows, class Dual>
bool settle_ties(Rows rows, const ShortestPathResult<Dual>& result, const std::vector<bool>& must_be_used,
                 bool columns_first, Count& with_choice, Dual limit = beyond_all(Dual{}), int threads = 1) {
  NearRows<Rows, Dual> near(std::move(rows), limit, result, must_be_used, threads);
  return near.find() && near.settle(columns_first, with_choice);
}

// As settle_ties, for costs that are cut off at the limit, as `cut_off` are. Pairs above the limit are columns, too. So the
// costs that are cut off decide if an assignment with other ways out is as cheap.
template <class Rows, class CutOff, class Dual>
bool settle_ties_cut_off(Rows rows, CutOff cut_off, Dual limit, const ShortestPathResult<Dual>& result, bool columns_first,
                         Count& with_choice, int threads = 1) {
  NearRows<Rows, Dual> near(std::move(rows), limit, result, {}, threads);
  if (near.find()) {
    if (!near.has_near_way_out()) return near.settle(columns_first, with_choice);
    if (near.is_only()) return true;
  }
  return settle_ties(std::move(cut_off), result, {}, columns_first, with_choice, beyond_all(Dual{}), threads);
}
