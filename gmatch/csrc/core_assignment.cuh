// core_assignment.cuh: the program of linear assignment by pricing: a small part of a dense matrix is solved, and the rest
// is only held against its duals.
//
//   price    one pass over the matrix picks a sparse core, the best of every row
//   auction  pairs most rows of the core, and leaves duals that make these pairs tight, or nearly; prices are refined then
//   search   matches the other rows of the core, exactly
//   reprice  one pass over the matrix finds what the duals overprice; it joins the core, whose rows are searched again
//   dense    where the core cannot do it, the search goes on in the whole matrix, from the duals there are
//
// Whatever the first two leave, the answer is exact: it is the search's, with duals that hold for all of the matrix.
#pragma once
#include "auction.cuh"
#include "sparse_assignment.cuh"

// So many passes over the matrix, and then the search in the matrix itself costs less.
constexpr int MOST_REPRICINGS = 16;
// Passes before the first search: the auction's prices tell most of what the core lacks.
constexpr int EARLY_REPRICINGS = 1;
// More than one entry for so many rows is much.
constexpr Vertex ROWS_FOR_AN_ENTRY = 64;

// Makes pairs tight that are nearly so: v of a pair rises until its row finds nothing better, so others may have to rise,
// too. Where the pairs are the best ones, that comes to an end, with all of them tight; else some would rise for ever.
// Only the row of a pair changes its v; what others see of it may be old, and they look again.
//
// Goldberg, Kennedy, "An efficient cost scaling algorithm for the assignment problem", Mathematical Programming 71 (1995),
// price refinement.
template <class Team, class Cost, class Dual>
DEVICE void refine_prices(Team& team, const Core<Cost>& core, const Matching& matching, Dual* v) {
  constexpr int MOST_ROUNDS = 12, PASSES = 3;
  bool rises = true;
  for (int round = 0; round < MOST_ROUNDS && team.any(rises); ++round) {
    for (int pass = 0; pass < PASSES; ++pass) {
      rises = false;
      team.each_group(core.num_rows, [&](Count row) {
        rises |= refine_price(team, core, static_cast<Vertex>(row), matching.row_match[row], v);
      });
    }
  }
  team.sync();
}

// Returns whether it rose.
template <class Team, class Cost, class Dual>
DEVICE bool refine_price(const Team& team, const Core<Cost>& core, Vertex row, Vertex column, Dual* v) {
  if (column == NONE) return false;
  Dual least = core.infinite(), own = least;
  for (Count edge = core.begin(row) + team.lane(); edge < core.end(row); edge += team.lanes()) {
    const Vertex there = core.column(edge);
    const Dual reduced = core.at(edge) - team.read(&v[there]);
    least = reduced < least ? reduced : least;
    own = there == column ? reduced : own;
  }
  least = team.min_group(least);
  own = team.min_group(own);
  const Dual here = team.read(&v[column]), risen = here + (own - least);
  if (is_rounding(own - least, least, here) || risen > 0) return false;
  if (team.lane() == 0) team.write(&v[column], risen);
  return true;
}

// Steps 1 and 2: leaves row_match and v. An assignment or duals that are given take the place of an auction.
template <class Team, class Cost, class Dual>
DEVICE_APART Team start_core(Team team, Core<Cost> core, AssignmentTask<Dual> task, Dual spread, Workspace workspace) {
  Count now = team.nanoseconds();
  if (!task.has_duals) team.each(core.num_columns, [&](Count column) { task.v[column] = 0; });
  team.sync();
  core.build(team, task.v);
  if (team.rank() == 0) task.report->price_ns += lap(team, now);
  if (task.start == AssignmentStart::given) return team;
  if (task.start == AssignmentStart::none || task.has_duals) {
    team.each(core.num_rows, [&](Count row) { task.matching.row_match[row] = NONE; });
    return team;
  }
  Auction<Cost> auction{core, task.matching, task.v, spread};
  auction.carve(workspace);
  auction.run(team);
  for (int repricing = 0; repricing < EARLY_REPRICINGS; ++repricing) {
    core.reprice(team, task.v);
    if (core.totals->added == 0) break;
    auction.run_again(team);
  }
  if (core.has_epsilon()) refine_prices(team, core, task.matching, task.v);
  if (team.rank() == 0) {
    task.report->bids = *auction.num_bids;
    task.report->start_ns += lap(team, now);
  }
  return team;
}

// Step 3, from row_match and v.
template <class Team, class Cost, class Dual>
DEVICE_APART Team search_core(Team team, Core<Cost> core, AssignmentTask<Dual> task) {
  if (team.rank() == 0) {
    *task.progress = Progress{};
    task.report->start_size = 0;
  }
  team.sync();
  assign_sparse(team, core, task);
  team.sync();
  return team;
}

// After a search that left rows free: others than the core's entries become better for them, and for all that they reach.
template <class Team, class Cost, class Dual>
DEVICE_APART Team outprice_core(Team team, Core<Cost> core, AssignmentTask<Dual> task, Dual margin) {
  Steps<Team> steps(team, *task.progress);
  Workspace workspace(task.workspace);  // as the search left it
  const auto forest = carve_forest(workspace, task.matching);
  auto edges = edges_of<SparseTightEdges<Core<Cost>>>(core, task);
  edges.carve(workspace);
  edges.outprice(steps, forest, margin);
  return team;
}

// Step 4: whether the core, with what joined it, has more to say.
template <class Team, class Cost, class Dual>
DEVICE_APART Team reprice_core(Team team, Core<Cost> core, AssignmentTask<Dual> task) {
  Count now = team.nanoseconds();
  core.reprice(team, task.v);
  if (team.rank() == 0) {
    ++task.report->repricings;
    task.report->price_ns += lap(team, now);
  }
  return team;
}

// Step 2 again, from v: where the core has grown by much, the rows that this leaves free are fewer than those that found
// something better.
template <class Team, class Cost, class Dual>
DEVICE_APART Team bid_again(Team team, Core<Cost> core, AssignmentTask<Dual> task, Dual spread, Workspace workspace) {
  Count now = team.nanoseconds();
  Auction<Cost> auction{core, task.matching, task.v, spread};
  auction.carve(workspace);
  auction.run_from_duals(team);
  refine_prices(team, core, task.matching, task.v);
  if (team.rank() == 0) {
    task.report->bids += *auction.num_bids;
    task.report->start_ns += lap(team, now);
  }
  team.sync();
  return team;
}

// Step 5. Along the few entries of a core, duals may have gone farther apart than any in the matrix need to.
template <class Team, class Cost, class Dual>
DEVICE_APART Team search_dense(Team team, Core<Cost> core, AssignmentTask<Dual> task, Dual spread) {
  if (team.rank() == 0) {
    ++task.report->dense_searches;
    *task.progress = Progress{};
    task.report->start_size = 0;
    *core.discount = core.infinite();
  }
  team.sync();
  Dual least = core.infinite();
  team.each(core.num_columns, [&](Count column) { least = -task.v[column] < least ? -task.v[column] : least; });
  team.min_all(core.discount, least);
  team.sync();
  const Dual above = core.num_rows == core.num_columns ? *core.discount : 0;
  team.each(core.num_columns, [&](Count column) {
    const Dual here = task.v[column] + above;
    task.v[column] = here > -spread ? here : -spread;
  });
  team.sync();
  assign<TightEdges<Cost>>(team, core.dense, task);
  return team;
}

// `spread` is how far v may lie apart at the start. The journal has room for MOST_REPRICINGS + 2 searches.
template <class Team, class Cost>
DEVICE void assign_by_core(Team& team, const DenseCosts<Cost>& costs,
                           const AssignmentTask<typename DenseCosts<Cost>::Dual>& task,
                           typename DenseCosts<Cost>::Dual spread) {
  Workspace workspace(task.workspace);
  Core<Cost> core = core_of(costs);
  core.carve(workspace);
  auto from_duals = task;
  from_duals.start = AssignmentStart::given;
  from_duals.has_duals = true;
  from_duals.many_paths = true;
  from_duals.workspace = workspace.rest();

  team = start_core(team, core, task, spread, workspace);
  // Where the core does not match all rows, others must come into it, by a margin that grows until they do.
  auto margin = static_cast<typename DenseCosts<Cost>::Dual>(core.typical_spread());
  if (!(margin > 0)) margin = 1;
  for (int repricing = 0; repricing < MOST_REPRICINGS; ++repricing) {
    team = search_core(team, core, from_duals);
    const bool all_matched = task.report->size == costs.num_rows;
    if (!all_matched) team = outprice_core(team, core, from_duals, margin);
    team = reprice_core(team, core, from_duals);
    if (all_matched && core.totals->found == 0) return;
    if (core.totals->found == 0) {
      if (margin > spread) break;
      margin *= 8;
    } else if (core.totals->added == 0) {
      break;
    } else if (all_matched && core.has_epsilon() && core.totals->added > core.num_rows / ROWS_FOR_AN_ENTRY) {
      team = bid_again(team, core, from_duals, spread, workspace);
    }
  }
  team.sync();
  team = search_dense(team, core, from_duals, spread);
}

template <class Cost>
DEVICE Count core_workspace_size(const DenseCosts<Cost>& costs, Count team_tile) {
  Workspace workspace(nullptr);
  Core<Cost> core = core_of(costs);
  core.carve(workspace);
  Workspace for_auction(nullptr);
  Auction<Cost> auction{core};
  auction.carve(for_auction);
  Count most = for_auction.used();
  const Count for_core = sparse_assignment_workspace_size(core);
  most = for_core > most ? for_core : most;
  const Count for_dense = assignment_workspace_size<TightEdges<Cost>>(costs, team_tile);
  most = for_dense > most ? for_dense : most;
  return workspace.used() + most;
}

// The GPU's entry point. CORE_COST is the type of the matrix.
#if defined(PROGRAM) && defined(CORE_COST)
PROGRAM(assign_core_grid, 512)
(int num_rows, int num_columns, const CORE_COST* costs, Count row_stride, Count column_stride, int maximize,
 DenseCosts<CORE_COST>::Dual limit, Vertex* row_match, Vertex* col_match, DenseCosts<CORE_COST>::Dual* u,
 DenseCosts<CORE_COST>::Dual* v, Vertex* levels, Vertex* augmentations, char* workspace, Progress* progress,
 Report* report, int start, int has_duals, DenseCosts<CORE_COST>::Dual spread, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  assign_by_core(team, DenseCosts<CORE_COST>{num_rows, num_columns, costs, row_stride, column_stride, maximize != 0, limit},
                 AssignmentTask<DenseCosts<CORE_COST>::Dual>{{num_rows, num_columns, row_match, col_match}, u, v,
                                                             {levels, augmentations}, workspace, progress, report,
                                                             static_cast<AssignmentStart>(start), has_duals != 0,
                                                             true},
                 spread);
}
#endif
