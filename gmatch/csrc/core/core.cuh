// core.cuh: a sparse core of a dense matrix of costs, chosen and grown by reduced costs, cost - v.
//
// An optimal assignment uses few entries of a matrix, nearly always among the cheapest of their rows. The core holds the
// cheapest entries of each row, and is solved instead. One pass then holds its duals against the whole matrix. An entry with
// cost < u + v violates them, and joins the core. If there is none, the duals prove the core's assignment optimal for the
// whole matrix.
//
// The best entries of a row are chosen stratum by stratum, so that each lane looks after its own strata. Equal costs are met
// in an order that differs from row to row. If they were chosen by position, all rows would take one set of columns, and the
// core would have no assignment.
//
// If columns may stay free, an auction and a search that finds many paths need a square problem. So a core may hold one of two
// square problems in place of a matrix: see gmatch/backends/doubled.py.
//
//   padded    the rows of the matrix, and then rows whose entries are all 0. Columns that rows of zeros get stay free
//   doubled   n rows and then copies of the m columns, by m columns and then copies of the n rows. A copy of a column reads that
//             column of the matrix. It keeps an entry 0 for the column itself
#pragma once
#include "costs/pass.cuh"
#include "costs/spreads.cuh"
#include "team/memory.cuh"

// The core, as the search reads it: a row of `sizes[row]` entries, in any order.
template <class Stored>
struct Core {
  using Cost = typename DenseCosts<Stored>::Cost;
  using Offset = Count;
  using Dual = typename DenseCosts<Stored>::Dual;
  using Rough = typename DenseCosts<Stored>::Rough;

  static constexpr bool FEW_COLUMNS = true;
  static constexpr bool LEAVES_OUT = true;
  static constexpr Vertex STRATA = RowPass<Stored>::STRATA;
  // Entries of a row at most. It begins with the best two of a stratum. 64 more places take what repricing adds. Not measured
  // since rows read the matrix again.
  static constexpr Vertex ROOM = SHORT_LISTS ? 66 : 128;

  // Sums over all rows.
  struct Totals {
    Spreads<Dual> spreads;
    Count found;         // by repricing: lanes that found something better than a row's pair
  };

  // Some rows, and what they read: the matrix, its transpose, or zeros. The numbers of the rows begin at `first_row`, and the
  // numbers of the columns that they read at `first_column`.
  struct Part {
    DenseCosts<Stored> costs;
    Vertex first_row, first_column;
  };

  DenseCosts<Stored> dense;
  Vertex num_rows, num_columns;  // of the matrix, or of a square problem in its place
  Vertex* sizes;    // [num_rows]
  Vertex* columns;  // [num_rows][ROOM]
  Cost* entries;    // [num_rows][ROOM] the numbers of the matrix
  Dual* rest;       // [num_rows] the least cost - v of a pair that is not in the core, or less. It stays a bound while v only
                    // falls. If v rises, as when prices are refined, repricing finds the pairs that it then misses
  Totals* totals;   // [1]
  Stored* zero;     // [1] 0: rows that pad a matrix read it with strides of 0

  DEVICE void carve(Workspace& workspace) {
    sizes = workspace.take<Vertex>(num_rows);
    columns = workspace.take<Vertex>(static_cast<Count>(num_rows) * ROOM);
    entries = workspace.take<Cost>(static_cast<Count>(num_rows) * ROOM);
    rest = workspace.take<Dual>(num_rows);
    totals = workspace.take<Totals>(1);
    zero = workspace.take<Stored>(1);
  }

  DEVICE bool is_extended() const { return num_rows != dense.num_rows; }
  DEVICE bool is_doubled() const { return num_columns != dense.num_columns; }
  DEVICE bool is_copy(Vertex row) const { return is_doubled() && row >= dense.num_rows; }
  // Whether a row is the copy of this column.
  DEVICE bool is_own(Vertex row, Vertex column) const { return is_copy(row) && column == row - dense.num_rows; }
  // Whether a row reads this column in its part.
  DEVICE bool is_in_part(Vertex row, Vertex column) const { return is_copy(row) == (column >= dense.num_columns); }
  // The part of a row.
  DEVICE Part part_of(Vertex row) const {
    if (row < dense.num_rows) return {dense, 0, 0};
    DenseCosts<Stored> other = dense;
    other.num_rows = num_rows - dense.num_rows;
    other.num_columns = is_doubled() ? dense.num_rows : num_columns;
    other.row_stride = is_doubled() ? dense.column_stride : 0;
    other.column_stride = is_doubled() ? dense.row_stride : 0;
    if (!is_doubled()) other.costs = zero;
    return {other, dense.num_rows, is_doubled() ? dense.num_columns : 0};
  }
  // The entry of a row in a column of its part, or of a copy and its own column.
  DEVICE Cost entry(Vertex row, Vertex column) const {
    if (row < dense.num_rows) return dense.entry(row, column);
    return column < dense.num_columns ? Cost{} : dense.entry(column - dense.num_columns, row - dense.num_rows);
  }
  DEVICE Dual cost_of(Vertex row, Vertex column) const { return of_entry(entry(row, column)); }

  // As SparseCosts.
  static DEVICE Dual infinite() { return DenseCosts<Stored>::infinite(); }
  DEVICE Offset begin(Vertex row) const { return static_cast<Count>(row) * ROOM; }
  DEVICE Offset end(Vertex row) const { return begin(row) + sizes[row]; }
  static DEVICE Vertex room(Vertex) { return ROOM; }
  template <class Team>
  DEVICE Vertex size(const Team& team, Vertex row) const { return team.read(&sizes[row]); }  // while no row grows
  DEVICE bool has_edges(Vertex row) const { return sizes[row] > 0; }
  DEVICE Vertex column(Count edge) const { return columns[edge]; }
  DEVICE Dual of_entry(Cost entry) const { return dense.of_entry(entry); }
  DEVICE Dual at(Count edge) const { return of_entry(entries[edge]); }

  // Picks the best entries of every row, by cost - v. The lane groups of the team are warps, or threads of a host.
  template <class Team>
  DEVICE void build(Team& team, const Dual* v) const {
    team.each(num_rows, [&](Count row) { sizes[row] = 0; });
    if (team.rank() == 0) {
      *totals = Totals{};
      *zero = Stored{};
    }
    team.sync();
    SpreadsOfSome<Dual> spreads;
    each_part_of_few_rows(team, v, [&](const RowPass<Stored>& pass, const Part& part, Vertex first_row, const Dual* v_there) {
      BestOfRow<Dual, Team> best[Team::ROWS_AT_ONCE];
      Rough bound[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
        best[r].clear(infinite());
        for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
          bound[r][s] = roughly_above<Rough>(infinite());
        }
      }
      pass.each_below(team, first_row, v_there, bound, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
        best[r].of[s].add(reduced, part.first_column + column);
        bound[r][s] = roughly_above<Rough>(best[r].of[s].third);
      });
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < part.costs.num_rows; ++r) {
        add_best(team, part.first_row + first_row + r, best[r], v, spreads);
      }
    });
    spreads.add_to(team, &totals->spreads);
    team.sync();
  }

  // Adds a given pair to the core. Its row may have many entries of equal worth, so the pass may not have picked this one.
  template <class Team>
  DEVICE void keep_pair(const Team& team, Vertex row, Vertex mate) const {
    if (mate == NONE || is_forbidden(cost_of(row, mate)) || contains(team, row, size(team, row), mate)) return;
    add_if_room(team, row, mate);
  }

  // The best two of a stratum, by cost - v or another worth, and the worth of the third.
  template <class Worth>
  struct BestOfStratum {
    Worth least, second, third;
    Vertex at_least, at_second;

    DEVICE void add(Worth worth, Vertex column) {
      const bool is_least = worth < least, is_second = worth < second;
      third = is_second ? second : worth < third ? worth : third;
      second = is_least ? least : is_second ? worth : second;
      at_second = is_least ? at_least : is_second ? column : at_second;
      least = is_least ? worth : least;
      at_least = is_least ? column : at_least;
    }
  };

  // The best entries of a row that a lane finds, for each of its strata.
  template <class Worth, class Team>
  struct BestOfRow {
    BestOfStratum<Worth> of[STRATA / Team::LANES];

    DEVICE void clear(Worth nothing) {
      for (auto& of_stratum : of) of_stratum = {nothing, nothing, nothing, NONE, NONE};
    }
    // use(worth, column)
    template <class Use>
    DEVICE void each(Use use) const {
      for (const auto& of_stratum : of) {
        if (of_stratum.at_least != NONE) use(of_stratum.least, of_stratum.at_least);
        if (of_stratum.at_second != NONE) use(of_stratum.second, of_stratum.at_second);
      }
    }
    // The least worth of an entry that a lane of the group leaves out.
    DEVICE Worth left_out(const Team& team) const {
      Worth least = of[0].third;
      for (const auto& of_stratum : of) least = of_stratum.third < least ? of_stratum.third : least;
      return team.min_group(least);
    }
  };

  // How a row that reads the matrix judges pairs:
  //   see(column)             what is read for each of them
  //   worth(cost, seen)       what a pair is worth, less being better; nothing() is worst
  //   roughly_v(seen)         v of a column, rounded up
  //   roughly_reduced(worth)  the cost - v of a pair of this worth, rounded up
  //   near                    all pairs of this worth, or better, are to be visited
  //
  // A row reads the matrix in the auction, and drops its former entries. Returns the least worth that it leaves out. The caller
  // must call team.sync_group() before anyone asks for the entries.
  template <class Judge, class Team>
  DEVICE auto read_in_auction(const Team& team, Vertex row, unsigned turn, const Judge& judge) const {
    const auto best = best_of_row(team, row, turn, judge, judge.nothing(), [](Vertex, Dual, const auto&) {});
    replace(team, row, best);
    return best.left_out(team);
  }

  // A row reads the matrix in the search: visit(column, cost, v) for all pairs worth judge.near or less, and perhaps for others.
  // The best pairs join the row. It keeps its own pair, and the entries that keep(column, cost) chooses.
  template <class Judge, class Team, class Visit, class Keep>
  DEVICE void read_in_search(const Team& team, Vertex row, Vertex mate, const Judge& judge, Visit visit, Keep keep) const {
    const Dual known = worst_known(team, row, judge);
    const auto best = best_of_row(team, row, static_cast<unsigned>(sizes[row]), judge, known, visit);
    const Vertex kept = keep_some(team, row, [&](Vertex column, Dual cost) {
      return column == mate || is_own(row, column) || keep(column, cost);
    });
    const Dual next_best = best.left_out(team);
    Dual left_out = next_best < known ? next_best : known;
    // First the pairs that are better than all left-out pairs; then other pairs, while there is room.
    for (int turn = 0; turn < 2; ++turn) {
      best.each([&](Dual reduced, Vertex column) {
        if ((reduced < next_best) != (turn == 0) || contains(team, row, kept, column)) return;
        if (!add_if_room(team, row, column) && reduced < left_out) left_out = reduced;
      });
      team.sync_group();
    }
    left_out = team.min_group(left_out);
    if (team.lane() == 0) {
      if (team.read(&sizes[row]) > ROOM) team.write(&sizes[row], ROOM);
      rest[row] = left_out;
    }
    team.sync_group();
  }

  // Checks the pairs of all rows against the whole matrix, at v, and leaves in u the values that make them tight. The best entry
  // of each stratum joins the core, if it is better than the pair by more than roundings. Totals counts what was found.
  template <class Team>
  DEVICE void reprice(Team& team, const Matching& matching, Dual* u, const Dual* v) const {
    if (team.rank() == 0) totals->found = 0;
    team.sync();
    Count found = 0;
    each_least(team, v,
               [&](Vertex row) {
                 const Vertex mate = matching.row_match[row];
                 const Dual reduced = cost_of(row, mate) - v[mate];
                 if (team.lane() == 0) u[row] = reduced;
                 return reduced;
               },
               [&](Vertex row, Dual own, const LeastOfStrata<Team>& of) {
                 // Judged bit for bit as a search judges the pair at its start: is_tight. Otherwise the search might keep all
                 // pairs, change nothing, and be asked again.
                 const Vertex mate = matching.row_match[row];
                 const Dual cost = cost_of(row, mate);
                 const auto is_better = [&](Vertex s) {
                   return of.column[s] != NONE && !is_rounding(slack_of<Dual>(cost, of.least[s], v[mate]), of.least[s], v[mate]);
                 };
                 bool is_any = false;
                 Dual least = own;
                 for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
                   is_any |= is_better(s);
                   least = of.least[s] < least ? of.least[s] : least;
                 }
                 found += is_any;
                 if (team.min_group(is_any ? 0 : 1) == 1) return;
                 least = team.min_group(least);
                 if (team.lane() == 0) rest[row] = least;
                 join(team, row, mate, of, is_better);
               });
    team.add_all(&totals->found, found);
    team.sync();
  }

 private:
  // Calls use(pass, part, first_row, v) for every few rows of each part. `first_row` is a number within the part, and v begins
  // with the first column of the part.
  template <class Team, class Use>
  DEVICE void each_part_of_few_rows(const Team& team, const Dual* v, Use use) const {
    NOT_UNROLLED
    for (int k = 0; k < (is_extended() ? 2 : 1); ++k) {
      const Part of = part_of(k == 0 ? 0 : dense.num_rows);
      const RowPass<Stored> pass{of.costs};
      pass.each_few_rows(team, [&](Vertex first_row) { use(pass, of, first_row, v + of.first_column); });
    }
  }

  // The largest cost - v of a row's entries. Only pairs that are no worse are of use, since a full list of such pairs exists. The
  // auction does not use this bound, since its prices will fall far.
  template <class Team, class Judge>
  DEVICE Dual worst_known(const Team& team, Vertex row, const Judge& judge) const {
    Dual minus_worst = infinite();
    const Count end = begin(row) + team.read(&sizes[row]);
    for (Count edge = begin(row) + team.lane(); edge < end; edge += team.lanes()) {
      const Dual reduced = judge.worth(of_entry(team.read(&entries[edge])), judge.see(team.read(&columns[edge])));
      minus_worst = -reduced < minus_worst ? -reduced : minus_worst;
    }
    minus_worst = team.min_group(minus_worst);
    return minus_worst == infinite() ? infinite() : -minus_worst;  // a row without entries has no bound
  }

  // A row reads the matrix. Finds its best entries up to `known`, and calls visit(column, cost, seen) for them and for all up to
  // judge.near. The first block of columns, which decides ties, differs from row to row and with `turn`. Each entry is first
  // compared with a bound, rounded, as in RowPass.
  template <class Team, class Judge, class Worth, class Visit>
  DEVICE BestOfRow<Worth, Team> best_of_row(const Team& team, Vertex row, unsigned turn, const Judge& judge, Worth known,
                                            Visit visit) const {
    constexpr Vertex MINE = STRATA / Team::LANES;
    // Entries that are read together stay in registers, and each has a bit of a word.
    constexpr Vertex BYTES = 192, BLOCKS = Team::AT_ONCE > 1 ? BYTES / (sizeof(Stored) + sizeof(judge.see(0))) : 1;
    static_assert(BLOCKS <= 32, "each entry has a bit");
    const Part of = part_of(row);
    const Vertex columns_there = of.costs.num_columns;
    const Vertex blocks = (columns_there + STRATA - 1) / STRATA, in_last = columns_there - (blocks - 1) * STRATA;
    const Vertex turned = static_cast<Vertex>((static_cast<unsigned>(row) * 2654435761u + turn) % static_cast<unsigned>(blocks));
    const Rough limit = static_cast<Rough>(dense.limit);
    const Stored* entries_of_row = of.costs.place(row - of.first_row, 0);
    // Places go from `turned` to turned + blocks - 1. From `blocks` on the block of a place is the place less `blocks`, before it
    // the place itself: of these two unsigned numbers the smaller one.
    const auto column_of = [&](Vertex place, Vertex s) {
      const unsigned here = static_cast<unsigned>(place), less = here - static_cast<unsigned>(blocks);
      return static_cast<Vertex>(less < here ? less : here) * STRATA + team.lane() * MINE + s;
    };
    BestOfRow<Worth, Team> best;
    best.clear(judge.nothing());
    NOT_UNROLLED
    for (Vertex first = turned; first < turned + blocks; first += BLOCKS) {
      Stored entry[BLOCKS][MINE];
      decltype(judge.see(0)) seen[BLOCKS][MINE];
      for (Vertex k = 0; k < BLOCKS; ++k) {
        for (Vertex s = 0; s < MINE; ++s) {
          const Vertex column = column_of(first + k, s), safe = column < columns_there ? column : columns_there - 1;
          entry[k][s] = team.read_once(entries_of_row + static_cast<unsigned>(safe) * of.costs.column_stride);
          seen[k][s] = judge.see(of.first_column + safe);
        }
      }
      team.meet_group();  // all loads are under way before the first entry is compared
      const Vertex left = turned + blocks - first, to_last = blocks - 1 - first;
      for (Vertex s = 0; s < MINE; ++s) {
        const Worth useful = best.of[s].third < known ? best.of[s].third : known;
        const Rough bound = judge.template roughly_reduced<Rough>(useful < judge.near ? judge.near : useful);
        // All entries are compared before one is looked at. A warp that reads alone would wait for one comparison after another.
        unsigned near = 0;
        for (Vertex k = 0; k < BLOCKS; ++k) {
          const Rough v = judge.template roughly_v<Rough>(seen[k][s]);
          const Rough reduced = dense.roughly_of_entry(value_of(entry[k][s]), limit) - v;
          if (!(reduced > bound)) near |= 1u << k;
        }
        if (left < BLOCKS) near &= (1u << left) - 1;
        if (team.lane() * MINE + s >= in_last && to_last >= 0 && to_last < BLOCKS) near &= ~(1u << to_last);
        if (near == 0) continue;
        for (Vertex k = 0; k < BLOCKS; ++k) {
          if ((near >> k & 1) == 0) continue;
          const Dual cost = dense.of_entry(value_of(entry[k][s]));
          if (is_forbidden(cost)) continue;
          const Vertex column = of.first_column + column_of(first + k, s);
          best.of[s].add(judge.worth(cost, seen[k][s]), column);
          visit(column, cost, seen[k][s]);
        }
      }
    }
    return best;
  }

  // The entry of the least cost - v, for each stratum of a lane.
  template <class Team>
  struct LeastOfStrata {
    Dual least[STRATA / Team::LANES];
    Vertex column[STRATA / Team::LANES];
  };

  // Calls use(row, bound(row), least) for all rows: `least` has the least entry of each stratum below the bound.
  template <class Team, class Bound, class Use>
  DEVICE void each_least(Team& team, const Dual* v, Bound bound_of, Use use) const {
    each_part_of_few_rows(team, v, [&](const RowPass<Stored>& pass, const Part& part, Vertex first_row, const Dual* v_there) {
      Dual start[Team::ROWS_AT_ONCE];
      Rough bound[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      LeastOfStrata<Team> of[Team::ROWS_AT_ONCE];
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
        start[r] = bound_of(part.first_row + (first_row + r < part.costs.num_rows ? first_row + r : first_row));
        for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
          of[r].least[s] = start[r];
          of[r].column[s] = NONE;
          bound[r][s] = roughly_above<Rough>(start[r]);
        }
      }
      pass.each_below(team, first_row, v_there, bound, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
        if (!(reduced < of[r].least[s])) return;
        of[r].least[s] = reduced;
        of[r].column[s] = part.first_column + column;
        bound[r][s] = roughly_above<Rough>(reduced);
      });
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < part.costs.num_rows; ++r) {
        use(part.first_row + first_row + r, start[r], of[r]);
      }
    });
  }

  // Entries that are better than its pair join a row. If there may be no room for all, the row drops all entries except its
  // pair. A copy also keeps its own column.
  template <class Team, class IsBetter>
  DEVICE void join(const Team& team, Vertex row, Vertex mate, const LeastOfStrata<Team>& of, IsBetter is_better) const {
    const Vertex size = team.read(&sizes[row]);
    const bool forgets = size + STRATA > ROOM;
    team.sync_group();
    if (forgets && team.lane() == 0) {
      team.write(&sizes[row], 0);
      add(team, row, mate);
      if (!is_own(row, mate)) add_own(team, row);
    }
    team.sync_group();
    for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
      if (is_better(s) && (forgets || !contains(team, row, size, of.column[s]))) add(team, row, of.column[s]);
    }
  }

  template <class Team, class Strata>
  DEVICE void add_best(const Team& team, Vertex row, const Strata& row_best, const Dual* v, SpreadsOfSome<Dual>& spreads) const {
    Dual least = infinite(), minus_worst = infinite(), near = infinite();
    for (const auto& of_stratum : row_best.of) near = of_stratum.second < near ? of_stratum.second : near;
    row_best.each([&](Dual reduced, Vertex column) {
      add(team, row, column);
      spreads.add_entry(reduced + v[column]);
      least = reduced < least ? reduced : least;
      minus_worst = -reduced < minus_worst ? -reduced : minus_worst;
    });
    least = team.min_group(least);
    minus_worst = team.min_group(minus_worst);
    near = team.min_group(near);
    const Dual left_out = row_best.left_out(team);
    if (team.lane() == 0) {
      rest[row] = left_out;
      add_own(team, row);
    }
    // With so few columns that no stratum has two, `near` is infinite, and less `least` it could overflow.
    const Dual nearest = near == infinite() ? near : near - least;
    const Dual width = -minus_worst - least;
    if (team.lane() == 0 && least != infinite()) spreads.add_spread(spread_of(width, nearest), width);
  }

  // How far apart the relevant entries of a row lie: from the distances of its worst entry, and of the nearest second entry of a
  // stratum, to the best. Among even costs the worst is 20 times as far. An entry much farther is as good as forbidden. 2^7 and
  // 2^11 are as fast: benchmarks/log/core_gpu.md, "Thresholds measured again".
  static DEVICE Dual spread_of(Dual worst, Dual near) {
    constexpr Dual FAR = 1 << 9;
    return near > 0 && near < worst / FAR ? near * FAR : worst;
  }

  // Puts the best entries of a row in the place of all its entries. A bidder waits for this. So there is no counter: each lane
  // would wait for its answer before it writes.
  template <class Team, class Best>
  DEVICE void replace(const Team& team, Vertex row, const Best& best) const {
    const bool has_own = is_copy(row) && team.lane() == 0;
    int mine = has_own;
    best.each([&](const auto&, Vertex) { ++mine; });
    Count place = begin(row) + team.sum_before(mine);
    const auto put = [&](Vertex column, Cost entry) {
      if (column == NONE) return;
      team.write(&columns[place], column);
      team.write(&entries[place], entry);
      ++place;
    };
    const auto entry_of = [&](Vertex column) { return entry(row, column == NONE ? 0 : column); };
    if (has_own) put(row - dense.num_rows, Cost{});
    for (const auto& of_stratum : best.of) {
      const Cost least = entry_of(of_stratum.at_least), second = entry_of(of_stratum.at_second);  // both are under way at once
      put(of_stratum.at_least, least);
      put(of_stratum.at_second, second);
    }
    if (team.lane() == team.lanes() - 1) team.write(&sizes[row], static_cast<Vertex>(place - begin(row)));
  }

  // A row drops all other entries. Returns how many it keeps.
  template <class Team, class Chosen>
  DEVICE Vertex keep_some(const Team& team, Vertex row, Chosen chosen) const {
    constexpr Vertex MINE = (ROOM + Team::LANES - 1) / Team::LANES;
    const Vertex size = team.read(&sizes[row]);
    Vertex kept[MINE];
    for (Vertex k = 0; k < MINE; ++k) {
      const Vertex place = team.lane() + k * team.lanes();
      kept[k] = NONE;
      if (place >= size) continue;
      const Vertex column = team.read(&columns[begin(row) + place]);
      if (chosen(column, of_entry(team.read(&entries[begin(row) + place])))) kept[k] = column;
    }
    team.sync_group();
    if (team.lane() == 0) team.write(&sizes[row], 0);
    team.sync_group();
    for (Vertex k = 0; k < MINE; ++k) {
      if (kept[k] != NONE) add(team, row, kept[k]);
    }
    team.sync_group();
    return team.read(&sizes[row]);
  }

  // Among the first `size` entries.
  template <class Team>
  DEVICE bool contains(const Team& team, Vertex row, Vertex size, Vertex column) const {
    bool found = false;  // so that several reads are under way at once
    for (Vertex place = 0; place < size; ++place) found |= team.read(&columns[begin(row) + place]) == column;
    return found;
  }

  template <class Team>
  DEVICE bool is_full(const Team& team, Vertex row) const { return team.read(&sizes[row]) >= ROOM; }

  // Adds an entry, perhaps beyond the room: the size of the row must then be cut off.
  template <class Team>
  DEVICE bool add_if_room(const Team& team, Vertex row, Vertex column) const {
    const Vertex place = is_full(team, row) ? ROOM : team.fetch_add(&sizes[row], 1);
    if (place >= ROOM) return false;
    team.write(&columns[begin(row) + place], column);
    team.write(&entries[begin(row) + place], entry(row, column));
    return true;
  }

  // Adds an entry to a row that has room.
  template <class Team>
  DEVICE void add(const Team& team, Vertex row, Vertex column) const {
    // Lanes that are here together may add to different rows, unless the compiler unrolls the loop of the caller.
    const Count place = begin(row) + team.fetch_add(&sizes[row], 1);
    team.write(&columns[place], column);
    team.write(&entries[place], entry(row, column));
  }
  // Adds the column itself to a row that is a copy.
  template <class Team>
  DEVICE void add_own(const Team& team, Vertex row) const {
    if (is_copy(row)) add(team, row, row - dense.num_rows);
  }
};

// The core of a problem of some rows and columns: of the matrix, or of a square problem in its place.
template <class Stored>
DEVICE Core<Stored> core_of(const DenseCosts<Stored>& costs, Vertex num_rows, Vertex num_columns) {
  return {costs, num_rows, num_columns};
}
template <class Stored>
DEVICE Core<Stored> core_of(const DenseCosts<Stored>& costs) {
  return core_of(costs, costs.num_rows, costs.num_columns);
}
