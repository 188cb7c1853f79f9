// block_passes.cuh: passes of one of several ranks over the part of a matrix that it holds.
//
// A block may have more rows than columns, and either side may be split among the ranks: `u` and `v` belong to its rows
// and columns, which are numbered from 0. A pass gives equal results for a row with any team.
#pragma once
#include "costs/inspection.cuh"
#include "costs/pass.cuh"

using Flag = unsigned char;  // 0 or 1

// Some rows of a block, and the duals that their entries are compared with.
template <class Dual_>
struct BlockPass {
  using Dual = Dual_;

  const Vertex* rows;  // [num_listed]
  Count num_listed;
  const Dual* u;  // [rows of the block]
  const Dual* v;  // [columns of the block]
  const Flag* covered;  // [columns of the block] the columns that are left out; or null

  FIELDS(BlockPass, rows, num_listed, u, v, covered)

  DEVICE bool is_covered(Vertex column) const { return covered != nullptr && covered[column] != 0; }
};

// use(column, cost) for the columns of this lane.
template <class Team, class Stored, class Use>
DEVICE void each_cost_of_row(const Team& team, const DenseCosts<Stored>& costs, Vertex row, Use use) {
  const Stored* entries = costs.place(row, 0);
  each_fetched<Team::AT_ONCE>(
      team.lane(), team.lanes(), costs.num_columns,
      [&](Vertex column) { return team.read_once(entries + column * costs.column_stride); },
      [&](Vertex column, Stored entry) { use(column, costs.of_entry(value_of(entry))); });
}

// For each listed row: the least cost - v over columns that are not covered, and the first such column. Infinite, with any
// column, if there is none.
template <class Team, class Stored>
DEVICE void find_least_of_rows(Team& team, const DenseCosts<Stored>& costs,
                               const BlockPass<typename DenseCosts<Stored>::Dual>& pass,
                               typename DenseCosts<Stored>::Dual* least, Vertex* nearest) {
  using Dual = typename DenseCosts<Stored>::Dual;
  team.each_group(pass.num_listed, [&](Count i) {
    Dual best = costs.infinite();
    Vertex at_best = LAST_VERTEX;
    each_cost_of_row(team, costs, pass.rows[i], [&](Vertex column, Dual cost) {
      if (pass.is_covered(column)) return;
      const Dual reduced = cost - pass.v[column];
      at_best = reduced < best ? column : at_best;
      best = reduced < best ? reduced : best;
    });
    const Dual least_of_all = team.min_group(best);
    const Count first_column = team.min_group(static_cast<Count>(best == least_of_all ? at_best : LAST_VERTEX));
    if (team.lane() == 0) {
      least[i] = least_of_all;
      nearest[i] = first_column == LAST_VERTEX ? 0 : static_cast<Vertex>(first_column);
    }
  });
  team.sync();
}

// Calls use(first_column, begin, end) for tiles of columns by shares of `count` rows, each for one lane group; a lane has the
// columns first_column + t * lanes for t < TILE. Returns into how many shares rows are cut, at most `most`.
template <class Team, class Use>
DEVICE Vertex each_tile_of_block(const Team& team, Vertex num_columns, Count count, Count most, Use use) {
  const Count width = static_cast<Count>(Team::COLUMNS_AT_ONCE) * team.lanes(), tiles = (num_columns + width - 1) / width;
  const Count groups = team.size() / team.lanes();
  // Each lane group gets about 4 tiles, so that groups end together. 1 tile is slower for 1024 columns, 16 tiles for up to 4096
  // columns: benchmarks/log/core_gpu.md, "Thresholds measured again". A share has at least the 4 rows that a group reads at once
  // (not measured).
  constexpr Count TASKS_OF_A_GROUP = 4, FEWEST_ROWS = 4;
  Count shares = tiles == 0 ? 1 : TASKS_OF_A_GROUP * groups / tiles;
  if (team.alone()) shares = 1;
  if (shares > count / FEWEST_ROWS) shares = count / FEWEST_ROWS;
  if (shares > most) shares = most;
  if (shares < 1) shares = 1;
  const Count rows_of_share = (count + shares - 1) / shares;
  team.each_group_apart(tiles * shares, [&](Count i) {
    const Count share = i / tiles, begin = share * rows_of_share, end = begin + rows_of_share;
    use(static_cast<Vertex>(i % tiles * width) + team.lane(), share, begin < count ? begin : count, end < count ? end : count);
  });
  return static_cast<Vertex>(shares);
}

// For each column: the least cost - u. `places` is memory to work in.
template <class Team, class Stored>
DEVICE void find_least_of_columns(Team& team, const DenseCosts<Stored>& costs,
                                  const typename DenseCosts<Stored>::Dual* u,
                                  typename DenseCosts<Stored>::Dual* least, Count* places) {
  using Dual = typename DenseCosts<Stored>::Dual;
  constexpr int TILE = Team::COLUMNS_AT_ONCE, AT_ONCE = Team::AT_ONCE;
  team.each(costs.num_columns, [&](Count column) { places[column] = order_of(costs.infinite()); });
  team.sync();
  each_tile_of_block(team, costs.num_columns, costs.num_rows, costs.num_rows, [&](Vertex first, Count, Count begin, Count end) {
    Dual best[TILE];
    for (int t = 0; t < TILE; ++t) best[t] = costs.infinite();
    const int here = team.lanes() == 1 && first + TILE > costs.num_columns ? costs.num_columns - first : TILE;
    for (Count row = begin; row < end; row += AT_ONCE) {
      Stored entry[AT_ONCE][TILE];
      for (int k = 0; k < AT_ONCE; ++k) {
        const Stored* entries = costs.costs + (row + k < end ? row + k : row) * costs.row_stride;
        for (int t = 0; t < here; ++t) {
          const Vertex column = first + t * team.lanes();
          entry[k][t] = team.read_once(entries + (column < costs.num_columns ? column : 0) * costs.column_stride);
        }
      }
      for (int k = 0; k < AT_ONCE; ++k) {
        const Dual u_of_row = u[row + k < end ? row + k : row];
        for (int t = 0; t < here; ++t) {
          const Dual reduced = costs.of_entry(value_of(entry[k][t])) - u_of_row;
          best[t] = reduced < best[t] ? reduced : best[t];
        }
      }
    }
    for (int t = 0; t < here; ++t) {
      const Vertex column = first + t * team.lanes();
      if (column < costs.num_columns && best[t] < costs.infinite()) team.lower(&places[column], order_of(best[t]));
    }
  });
  team.sync();
  team.each(costs.num_columns, [&](Count column) { least[column] = number_in_order(places[column], Dual{}); });
  team.sync();
}

// How much rounding may add to a slack of zero.
DEVICE long long rounding_of(long long, long long) { return 0; }
DEVICE double rounding_of(double u, double v) {
  constexpr double ROUNDINGS = 1.0 / (1LL << 48);
  return ROUNDINGS * ((u < 0 ? -u : u) + (v < 0 ? -v : v));
}

// The entries that a pass has listed: their places, row * columns + column, and slacks. `found` may be more than `room`.
template <class Dual>
struct ListedEntries {
  Count* places;  // [room]
  Dual* slacks;   // [room]
  Count room;
  Count* found;   // [1] how many there are
};

// Lists, in any order, the entries of listed rows whose slack, cost - v - u, is at most `most`, up to rounding.
template <class Team, class Stored>
DEVICE void list_entries_up_to(Team& team, const DenseCosts<Stored>& costs,
                               const BlockPass<typename DenseCosts<Stored>::Dual>& pass,
                               typename DenseCosts<Stored>::Dual most,
                               const ListedEntries<typename DenseCosts<Stored>::Dual>& listed) {
  using Dual = typename DenseCosts<Stored>::Dual;
  if (team.rank() == 0) *listed.found = 0;
  team.sync();
  team.each_group(pass.num_listed, [&](Count i) {
    const Vertex row = pass.rows[i];
    const Dual u = pass.u[row];
    each_cost_of_row(team, costs, row, [&](Vertex column, Dual cost) {
      const Dual slack = cost - pass.v[column] - u;
      if (!(slack <= most + rounding_of(u, pass.v[column])) || !(slack < costs.infinite()) || pass.is_covered(column)) return;
      const Count place = team.fetch_add(listed.found, Count{1});
      if (place >= listed.room) return;
      listed.places[place] = static_cast<Count>(row) * costs.num_columns + column;
      listed.slacks[place] = slack;
    });
  });
  team.sync();
}

// Entries that are picked for a core in each stratum of a row. Two in each of 32 strata usually have the 16 best entries of the
// row, but not more: then 220 entries of uniform costs were overpriced for n = 50,000, and 4 to 5 rounds took 206 to 276 ms on
// an H200. With four no entry was overpriced, and one round took 60 to 67 ms.
constexpr Vertex PICKED_ON_GPU = 4;

template <class Stored>
DEVICE RowPass<Stored> passes_over(const DenseCosts<Stored>& costs) { return {costs}; }

// Picks the PICKED_ON_GPU least cost - v of each stratum of each row, without forbidden pairs. Writes their columns, at most
// PICKED_ON_GPU * STRATA a row, and their number.
template <class Team, class Pass>
DEVICE void price_rows(Team& team, const Pass& pass, const typename Pass::Dual* v, Vertex* sizes, Vertex* columns) {
  using Dual = typename Pass::Dual;
  using Rough = typename Pass::Rough;
  constexpr Vertex STRATA = Pass::STRATA, MINE = STRATA / Team::LANES, ROWS = Team::ROWS_AT_ONCE;
  const auto& costs = pass.costs;
  team.each(costs.num_rows, [&](Count row) { sizes[row] = 0; });
  team.sync();
  pass.each_few_rows(team, [&](Vertex first_row) {
    Dual least[ROWS][MINE][PICKED_ON_GPU];  // increasing
    Vertex at[ROWS][MINE][PICKED_ON_GPU];
    Rough bound[ROWS][MINE];
    for (Vertex r = 0; r < ROWS; ++r) {
      for (Vertex s = 0; s < MINE; ++s) {
        for (Vertex k = 0; k < PICKED_ON_GPU; ++k) {
          least[r][s][k] = costs.infinite();
          at[r][s][k] = NONE;
        }
        bound[r][s] = roughly_above<Rough>(costs.infinite());
      }
    }
    pass.each_below(team, first_row, v, bound, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
      for (Vertex k = 0; k < PICKED_ON_GPU; ++k) {
        const Dual least_here = least[r][s][k];
        const Vertex at_here = at[r][s][k];
        const bool is_less = reduced < least_here;
        least[r][s][k] = is_less ? reduced : least_here;
        at[r][s][k] = is_less ? column : at_here;
        reduced = is_less ? least_here : reduced;
        column = is_less ? at_here : column;
      }
      bound[r][s] = roughly_above<Rough>(least[r][s][PICKED_ON_GPU - 1]);
    });
    for (Vertex r = 0; r < ROWS && first_row + r < costs.num_rows; ++r) {
      const Vertex row = first_row + r;
      for (Vertex s = 0; s < MINE; ++s) {
        for (Vertex k = 0; k < PICKED_ON_GPU; ++k) {
          if (at[r][s][k] != NONE) columns[Count{PICKED_ON_GPU} * STRATA * row + team.fetch_add(&sizes[row], 1)] = at[r][s][k];
        }
      }
    }
  });
  team.sync();
}

// Picks in each row and stratum the entry whose cost is farthest below u + v, if that is more than rounding. Writes their
// columns, and their number in each row.
template <class Team, class Stored>
DEVICE void find_overpriced(Team& team, const DenseCosts<Stored>& costs, const typename DenseCosts<Stored>::Dual* u,
                            const typename DenseCosts<Stored>::Dual* v, Vertex* sizes, Vertex* columns) {
  using Dual = typename DenseCosts<Stored>::Dual;
  using Rough = typename DenseCosts<Stored>::Rough;
  constexpr Vertex STRATA = RowPass<Stored>::STRATA, MINE = STRATA / Team::LANES, ROWS = Team::ROWS_AT_ONCE;
  team.each(costs.num_rows, [&](Count row) { sizes[row] = 0; });
  team.sync();
  const RowPass<Stored> pass{costs};
  pass.each_few_rows(team, [&](Vertex first_row) {
    Dual u_of[ROWS], least[ROWS][MINE];
    Rough bound[ROWS][MINE];
    Vertex at_least[ROWS][MINE];
    for (Vertex r = 0; r < ROWS; ++r) {
      u_of[r] = u[first_row + r < costs.num_rows ? first_row + r : first_row];
      for (Vertex s = 0; s < MINE; ++s) {
        least[r][s] = u_of[r];
        at_least[r][s] = NONE;
        bound[r][s] = roughly_above<Rough>(u_of[r]);
      }
    }
    pass.each_below(team, first_row, v, bound, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
      if (!(reduced < least[r][s])) return;
      least[r][s] = reduced;
      at_least[r][s] = column;
    });
    for (Vertex r = 0; r < ROWS && first_row + r < costs.num_rows; ++r) {
      const Vertex row = first_row + r;
      for (Vertex s = 0; s < MINE; ++s) {
        const Vertex column = at_least[r][s];
        if (column == NONE || is_rounding(least[r][s] - u_of[r], u_of[r], v[column])) continue;
        columns[static_cast<Count>(row) * STRATA + team.fetch_add(&sizes[row], 1)] = column;
      }
    }
  });
  team.sync();
}

// The forest of the alternating tree variant: all rows and columns of the problem, of which the block has some columns.
//
// The label of a column is the length of the shortest known path to it from a free row, in which a pair has no length. It
// is the sum of the dual steps after which the column would be tight. A matched row has the label of its column, and a
// free row has label 0.
template <class Dual_>
struct Forest {
  using Dual = Dual_;

  Vertex num_rows;
  Vertex num_columns;
  Vertex first_column;        // of the block
  const Vertex* mate;         // [num_columns] NONE for free ones
  const Dual* u;              // [num_rows]
  const Dual* v;              // [num_columns]
  Dual* label;                // [num_columns] infinite if there is no path
  Vertex* predecessor;        // [num_columns] the last row of the path, if this rank found it
  Dual* expanded;             // [num_rows] the label of a row when this rank expanded it last; infinite if it never did
  const Count* begins;        // [num_rows + 1] for each row: where its edges to columns of other ranks begin
  const Vertex* far_columns;  // their columns
  const Dual* far_costs;      // what they cost
  Dual* least;                // [shares][columns of the block] memory to work in, as the next
  Vertex* at_least;
  Count shares;               // into how many shares the frontier is split

  FIELDS(Forest, num_rows, num_columns, first_column, mate, u, v, label, predecessor, expanded, begins, far_columns, far_costs,
         least, at_least, shares)

  // The label of a column after an edge from a row. It has the same bits on all ranks.
  DEVICE Dual label_after(Vertex row, Vertex column, Dual cost) const {
    const Dual slack = cost - v[column] - u[row];
    return (slack < 0 ? 0 : slack) + expanded[row];
  }
  // Whether a label of a column is to be told to its mate: it has fallen since the mate was expanded.
  DEVICE bool is_pending(Vertex column) const {
    const Vertex row = mate[column];
    return row != NONE && label[column] < expanded[row];
  }
};

constexpr Vertex FOUND_NOW = -2;  // the predecessor of a column whose label has fallen in this round

// The edges from the rows of a frontier to columns of other ranks lower the labels of these columns.
template <class Team, class Dual>
DEVICE void lower_far_labels(Team& team, const Vertex* rows, Count length, const Forest<Dual>& forest) {
  team.each_group(length, [&](Count i) {
    const Vertex row = rows[i];
    for (Count at = forest.begins[row] + team.lane(); at < forest.begins[row + 1]; at += team.lanes()) {
      const Vertex column = forest.far_columns[at];
      const Dual label = forest.label_after(row, column, forest.far_costs[at]);
      if (!(label < team.read(&forest.label[column]))) continue;
      if (label < team.lower(&forest.label[column], label)) team.write(&forest.predecessor[column], FOUND_NOW);
    }
  });
}

// One of the rows that have lowered a label becomes the predecessor. A row that only equals an older label does not: edges
// of no length could otherwise make a circle of predecessors.
template <class Team, class Dual>
DEVICE void note_far_predecessors(Team& team, const Vertex* rows, Count length, const Forest<Dual>& forest) {
  team.each_group(length, [&](Count i) {
    const Vertex row = rows[i];
    for (Count at = forest.begins[row] + team.lane(); at < forest.begins[row + 1]; at += team.lanes()) {
      const Vertex column = forest.far_columns[at];
      if (team.read(&forest.predecessor[column]) != FOUND_NOW) continue;
      if (!(forest.label_after(row, column, forest.far_costs[at]) == forest.label[column])) continue;
      team.claim(&forest.predecessor[column], FOUND_NOW, row);
    }
  });
}

// A level: the rows of the frontier lower labels, and become predecessors (Date and Nagi 2016, Algorithm 4). Returns into how
// many shares the frontier was split. Labels of the block's columns are lowered by join_labels.
template <class Team, class Stored>
DEVICE Count expand_frontier(Team& team, const DenseCosts<Stored>& costs, const Vertex* rows, Count length,
                            const Forest<typename DenseCosts<Stored>::Dual>& forest) {
  using Dual = typename DenseCosts<Stored>::Dual;
  constexpr int TILE = Team::COLUMNS_AT_ONCE, AT_ONCE = Team::AT_ONCE;
  const Count columns = costs.num_columns;
  const Dual* const v = forest.v + forest.first_column;
  lower_far_labels(team, rows, length, forest);
  const Vertex shares = each_tile_of_block(
      team, costs.num_columns, length, forest.shares, [&](Vertex first, Count share, Count begin, Count end) {
        Dual best[TILE];
        Vertex at_best[TILE];
        for (int t = 0; t < TILE; ++t) {
          best[t] = costs.infinite();
          at_best[t] = NONE;
        }
        const int here = team.lanes() == 1 && first + TILE > columns ? static_cast<int>(columns - first) : TILE;
        for (Count i = begin; i < end; i += AT_ONCE) {
          Stored entry[AT_ONCE][TILE];
          for (int k = 0; k < AT_ONCE; ++k) {
            const Stored* entries = costs.place(rows[i + k < end ? i + k : i], 0);
            for (int t = 0; t < here; ++t) {
              const Count column = first + t * team.lanes();
              entry[k][t] = team.read_once(entries + (column < columns ? column : 0) * costs.column_stride);
            }
          }
          for (int k = 0; k < AT_ONCE; ++k) {
            const Vertex row = rows[i + k < end ? i + k : i];
            const Dual u = forest.u[row], label_of_row = forest.expanded[row];
            for (int t = 0; t < here; ++t) {
              const Count column = first + t * team.lanes();
              const Dual slack = costs.of_entry(value_of(entry[k][t])) - v[column < columns ? column : 0] - u;
              const Dual label = (slack < 0 ? 0 : slack) + label_of_row;
              at_best[t] = label < best[t] ? row : at_best[t];
              best[t] = label < best[t] ? label : best[t];
            }
          }
        }
        for (int t = 0; t < here; ++t) {
          const Count column = first + t * team.lanes();
          if (column >= columns) continue;
          forest.least[share * columns + column] = best[t];
          forest.at_least[share * columns + column] = at_best[t];
        }
      });
  team.sync();
  note_far_predecessors(team, rows, length, forest);
  return length > 0 ? shares : 0;
}

// How far a rank closes its forest, and memory to work in.
template <class Dual>
struct Closing {
  Vertex* next;     // [num_rows] a frontier: first the free rows, or none
  Count length;     // of the first frontier
  Dual bound;       // no row beyond it is expanded
  Count wanted;     // the number of free columns after which no row is expanded that is farther than these
  Dual* limits;     // [2][2] work memory: the least pending label, and the largest label of a free column up to the bound
  Count* within;    // [2] work memory: the number of free columns up to the threshold
  Vertex* lengths;  // [2] work memory
  Dual* threshold;  // [1] returned: all rows up to this label have been expanded
};

// The columns of the block take over the labels that shares of a frontier have found. Then all labels are summed up for a turn:
// see Closing.
template <class Team, class Dual>
DEVICE void join_labels(Team& team, Count columns, Count shares, const Forest<Dual>& forest, const Closing<Dual>& closing,
                        Dual threshold, int turn) {
  Dual least = beyond_all(Dual{}), most = 0;
  Count within = 0;
  team.each(forest.num_columns, [&](Count number) {
    const Count column = number - forest.first_column;
    Dual label = forest.label[number];
    for (Count share = 0; share < shares && column >= 0 && column < columns; ++share) {
      const Dual here = forest.least[share * columns + column];
      if (!(here < label)) continue;
      label = here;
      forest.label[number] = here;
      forest.predecessor[number] = forest.at_least[share * columns + column];
    }
    const Vertex row = forest.mate[number];
    if (row == NONE) {
      within += label <= threshold;
      most = label < most ? most : label < closing.bound ? label : closing.bound;
    } else if (label < least && label < forest.expanded[row]) {
      least = label;
    }
  });
  team.min_all(&closing.limits[2 * turn], least);
  team.max_all(&closing.limits[2 * turn + 1], most);
  team.add_all(&closing.within[turn], within);
  team.sync();
}

// Levels from a frontier on, over the columns of the block and the listed edges to others. Rows are expanded about in the
// order of their labels: in each round those in the nearest 1 / STEPS of the way to the farthest free column. A row whose label
// falls is expanded again. In an emulation (n = 2,000, two ranks) a row is expanded 19 times in 1,700 rounds in the order of
// labels, 28 times in 900 rounds with STEPS = 8, and 69 times in 590 rounds without steps.
template <class Team, class Stored>
DEVICE void close_forest(Team& team, const DenseCosts<Stored>& costs, const Forest<typename DenseCosts<Stored>::Dual>& forest,
                         const Closing<typename DenseCosts<Stored>::Dual>& closing) {
  using Dual = typename DenseCosts<Stored>::Dual;
  constexpr int STEPS = 8;
  const auto begin_turn = [&](int turn) {
    if (team.rank() != 0) return;
    closing.limits[2 * turn] = costs.infinite();
    closing.limits[2 * turn + 1] = 0;
    closing.within[turn] = 0;
    closing.lengths[turn] = 0;
  };
  begin_turn(0);
  Dual threshold = -1;
  Count length = closing.length;
  for (int turn = 0;; turn ^= 1) {
    const Count shares = expand_frontier(team, costs, closing.next, length, forest);
    join_labels(team, costs.num_columns, shares, forest, closing, threshold, turn);
    const Dual least = team.read(&closing.limits[2 * turn]), most = team.read(&closing.limits[2 * turn + 1]);
    const bool is_enough = team.read(&closing.within[turn]) >= closing.wanted;
    if (least > threshold && (least > closing.bound || is_enough)) {
      if (!is_enough) threshold = closing.bound;
      break;
    }
    if (!(least < costs.infinite())) {
      threshold = costs.infinite();
      break;
    }
    if (least > threshold) threshold = most > least ? least + (most - least) / STEPS : least;
    begin_turn(turn ^ 1);
    team.each(forest.num_columns, [&](Count column) {
      if (!(forest.label[column] <= threshold) || !forest.is_pending(static_cast<Vertex>(column))) return;
      const Vertex row = forest.mate[column];
      forest.expanded[row] = forest.label[column];
      closing.next[team.append(&closing.lengths[turn])] = row;
    });
    team.sync();
    length = team.read(&closing.lengths[turn]);
  }
  if (team.rank() == 0) *closing.threshold = threshold;
  team.sync();
}
