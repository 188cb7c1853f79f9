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
  const Count width = static_cast<Count>(Team::TILE) * team.lanes(), tiles = (num_columns + width - 1) / width;
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
  constexpr int TILE = Team::TILE, AT_ONCE = Team::AT_ONCE;
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

// The columns of one rank in the forest of the alternating tree variant, with the rows of all ranks.
template <class Dual_>
struct ForestColumns {
  using Dual = Dual_;

  Vertex num_rows;
  const Vertex* mate;      // [columns] NONE for free ones
  Dual* v;                 // [columns]
  Dual* slack;             // [columns] the least to rows of the forest
  Vertex* predecessor;     // [columns] the row with it
  Flag* covered;  // [columns] tight, matched, in the forest
  Flag* reached;  // [num_rows] the rows that join the forest
  Count* ends;             // [1] how many tight columns are free
  Dual* least;             // [shares][columns] memory to work in, as the next
  Vertex* at_least;
  Count shares;            // into how many shares the frontier is split

  FIELDS(ForestColumns, num_rows, mate, v, slack, predecessor, covered, reached, ends, least, at_least, shares)
};

// Columns take over the least slacks that shares of a frontier have found; then tight matched columns join the forest.
template <class Team, class Dual>
DEVICE void join_forest(Team& team, Count columns, Count shares, const ForestColumns<Dual>& forest) {
  team.each(forest.num_rows, [&](Count row) { forest.reached[row] = 0; });
  if (team.rank() == 0) *forest.ends = 0;
  team.sync();
  Count ends = 0;
  team.each(columns, [&](Count column) {
    if (forest.covered[column] != 0) return;
    Dual slack = forest.slack[column];
    for (Count share = 0; share < shares; ++share) {
      const Dual least = forest.least[share * columns + column], here = least < 0 ? 0 : least;
      if (!(here < slack)) continue;
      slack = here;
      forest.predecessor[column] = forest.at_least[share * columns + column];
    }
    forest.slack[column] = slack;
    if (slack != 0) return;
    const Vertex row = forest.mate[column];
    if (row == NONE) {
      ++ends;
      return;
    }
    forest.covered[column] = 1;
    forest.reached[row] = 1;
  });
  team.add_all(forest.ends, ends);
  team.sync();
}

// A level: the rows of the frontier, with their u, lower slacks and become predecessors (Date and Nagi 2016, Algorithm 4).
// Then tight matched columns join the forest. Without a frontier only the second step is done.
template <class Team, class Stored>
DEVICE void expand_frontier(Team& team, const DenseCosts<Stored>& costs,
                            const BlockPass<typename DenseCosts<Stored>::Dual>& frontier,
                            const ForestColumns<typename DenseCosts<Stored>::Dual>& forest) {
  using Dual = typename DenseCosts<Stored>::Dual;
  constexpr int TILE = Team::TILE, AT_ONCE = Team::AT_ONCE;
  const Count columns = costs.num_columns;
  const Vertex shares = each_tile_of_block(
      team, costs.num_columns, frontier.num_listed, forest.shares, [&](Vertex first, Count share, Count begin, Count end) {
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
            const Stored* entries = costs.place(frontier.rows[i + k < end ? i + k : i], 0);
            for (int t = 0; t < here; ++t) {
              const Count column = first + t * team.lanes();
              entry[k][t] = team.read_once(entries + (column < columns ? column : 0) * costs.column_stride);
            }
          }
          for (int k = 0; k < AT_ONCE; ++k) {
            const Vertex row = frontier.rows[i + k < end ? i + k : i];
            const Dual u = frontier.u[row];
            for (int t = 0; t < here; ++t) {
              const Count column = first + t * team.lanes();
              const Dual reduced = costs.of_entry(value_of(entry[k][t])) - frontier.v[column < columns ? column : 0] - u;
              at_best[t] = reduced < best[t] ? row : at_best[t];
              best[t] = reduced < best[t] ? reduced : best[t];
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
  join_forest(team, columns, frontier.num_listed > 0 ? shares : 0, forest);
}

// What a rank tells the others of its forest beside the number of ends; and memory to work in.
template <class Dual>
struct ToldOfForest {
  Flag* brought;    // [num_rows] the rows that its columns have brought
  Dual* least;      // [1] the least slack outside the forest
  Vertex* next;     // [num_rows] work memory: a frontier
  Vertex* lengths;  // [2] work memory: lengths of this frontier and of the next
};

// A dual step of theta for the columns: lowers the slacks outside the forest and the duals inside it (Date and Nagi 2016,
// Algorithm 9).
template <class Team, class Dual>
DEVICE void lower_slacks(Team& team, Count columns, Dual theta, const ForestColumns<Dual>& forest) {
  team.each(columns, [&](Count column) {
    if (forest.covered[column] != 0) {
      forest.v[column] -= theta;
    } else if (forest.slack[column] < beyond_all(Dual{})) {
      const Dual slack = forest.slack[column] - theta;
      forest.slack[column] = slack < 0 ? 0 : slack;
    }
  });
}

// A dual step if theta is not 0. Then levels from a frontier on, until the columns of this rank bring no more rows.
template <class Team, class Stored>
DEVICE void close_forest(Team& team, const DenseCosts<Stored>& costs,
                         const BlockPass<typename DenseCosts<Stored>::Dual>& given,
                         const ForestColumns<typename DenseCosts<Stored>::Dual>& forest,
                         typename DenseCosts<Stored>::Dual theta,
                         const ToldOfForest<typename DenseCosts<Stored>::Dual>& told) {
  using Dual = typename DenseCosts<Stored>::Dual;
  const Count columns = costs.num_columns;
  BlockPass<Dual> frontier = given;
  frontier.rows = told.next;
  team.each(forest.num_rows, [&](Count row) { told.brought[row] = 0; });
  team.each(given.num_listed, [&](Count i) { told.next[i] = given.rows[i]; });
  if (theta > 0) lower_slacks(team, columns, theta, forest);
  if (team.rank() == 0) {
    told.lengths[0] = 0;
    *told.least = costs.infinite();
  }
  team.sync();
  int turn = 0;
  do {
    expand_frontier(team, costs, frontier, forest);
    if (team.rank() == 0) told.lengths[turn ^ 1] = 0;  // all threads read it before they expanded the frontier
    team.each(forest.num_rows, [&](Count row) {
      if (forest.reached[row] == 0) return;
      told.brought[row] = 1;
      told.next[team.append(&told.lengths[turn])] = static_cast<Vertex>(row);
    });
    team.sync();
    frontier.num_listed = team.read(&told.lengths[turn]);
    turn ^= 1;
  } while (frontier.num_listed > 0);
  Dual least = costs.infinite();
  team.each(columns, [&](Count column) {
    if (forest.covered[column] == 0 && forest.slack[column] < least) least = forest.slack[column];
  });
  team.min_all(told.least, least);
  team.sync();
}
