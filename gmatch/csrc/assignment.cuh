// assignment.cuh: the program of linear assignment: a start, and the search along tight edges.
#pragma once
#include "classical_edges.cuh"
#include "initial.cuh"
#include "phases.cuh"
#include "tight_edges.cuh"

// Numbered as in gmatch/assignment.py.
enum class AssignmentStart { none, reduce, given };

// Everything a call of assign works on, but the costs.
template <class Dual>
struct AssignmentTask {
  Matching matching;   // row_match is also in, if start is given
  Dual* u;             // [num_rows]
  Dual* v;             // [num_columns]  also in, if has_duals
  Journal journal;
  char* workspace;     // [assignment_workspace_size(...)]
  Progress* progress;  // [1] zero
  Report* report;      // [1] zero
  AssignmentStart start;
  bool has_duals;
  bool many_paths;
};

// The largest u for the v there are: no slack is negative, and every row has a tight edge.
template <class Team, class Cost>
DEVICE void reduce_rows(const Team& team, const TightEdges<Cost>& edges) {
  using Dual = typename TightEdges<Cost>::Dual;
  const DenseCosts<Cost>& costs = edges.costs;
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    Dual smallest = costs.infinite();
    for (Vertex first = team.lane(); first < costs.num_columns; first += team.lanes() * Team::AT_ONCE) {
      Dual reduced[Team::AT_ONCE];
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        const Vertex column = first + q * team.lanes();
        reduced[q] = column < costs.num_columns ? costs.at(row, column) - edges.v[column] : costs.infinite();
      }
      for (const Dual value : reduced) smallest = value < smallest ? value : smallest;
    }
    smallest = team.min_group(smallest);
    // A row without an allowed pair has no tight edge, whatever its dual.
    if (team.lane() == 0) edges.u[row] = smallest == costs.infinite() ? 0 : smallest;
  });
}

// The largest v for the u there are; for square problems, where every column will be matched.
template <class Team, class Cost>
DEVICE void reduce_columns(Steps<Team>& steps, const ClaimedForest<true>& forest, TightEdges<Cost>& edges) {
  forest.plant(steps, edges);  // nothing is matched yet: every row is a root, at distance zero
  edges.begin_phase(steps);
  steps.end();
  edges.lower_distances(steps.team, forest.frontier_rows(steps), steps.todo(), [&](Vertex column) {
    if (edges.distance[column] != edges.costs.infinite()) edges.v[column] = edges.distance[column];
  });
  steps.end();
}

// Every row takes a tight column that nobody has.
template <class Team, class Cost>
DEVICE void match_tight_pairs(const Team& team, const Matching& matching, const TightEdges<Cost>& edges) {
  const DenseCosts<Cost>& costs = edges.costs;
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    const auto u_of_row = edges.u[row];
    for (Vertex column = team.lane(); column < costs.num_columns; column += team.lanes()) {
      if (edges.slack(costs.at(row, column), u_of_row, edges.v[column]) > 0) continue;
      if (!team.claim(&matching.col_match[column], NONE, row)) continue;
      // Another lane of the group may have found one, too.
      if (!team.claim(&matching.row_match[row], NONE, column)) team.write(&matching.col_match[column], NONE);
      break;
    }
  });
}

// Of a matching that is given, only tight pairs may stay.
template <class Team, class Cost>
DEVICE void keep_tight_pairs(const Team& team, const Matching& matching, const TightEdges<Cost>& edges) {
  team.each(matching.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), column = matching.row_match[row];
    if (column == NONE) return;
    const auto slack = edges.slack(edges.costs.at(row, column), edges.u[row], edges.v[column]);
    if (slack > 0) matching.row_match[row] = NONE;
  });
}

template <class Team, class Cost, class Dual>
DEVICE void run_assignment_start(Steps<Team>& steps, const ClaimedForest<true>& forest, TightEdges<Cost>& edges,
                                 const AssignmentTask<Dual>& task) {
  Team& team = steps.team;
  const Matching& matching = task.matching;
  if (!task.has_duals) team.each(matching.num_columns, [&](Count column) { task.v[column] = 0; });
  team.sync();
  reduce_rows(team, edges);
  team.sync();
  if (task.start == AssignmentStart::given) {
    keep_tight_pairs(team, matching, edges);
    team.sync();
    mirror_rows(team, matching);
    team.sync();
    return;
  }
  clear_matching(team, matching);
  team.sync();
  if (task.start == AssignmentStart::none) return;
  if (matching.num_rows == matching.num_columns && !task.has_duals) reduce_columns(steps, forest, edges);
  match_tight_pairs(team, matching, edges);
  team.sync();
}

template <class Cost, class Dual>
DEVICE void set_up(TightEdges<Cost>& edges, const AssignmentTask<Dual>& task) {
  edges.many_paths = task.many_paths && task.matching.num_rows == task.matching.num_columns;
}
template <class Cost, class Dual>
DEVICE void set_up(ClassicalEdges<Cost>&, const AssignmentTask<Dual>&) {}

template <class Edges, class Cost, class Dual>
DEVICE Edges edges_of(const DenseCosts<Cost>& costs, const AssignmentTask<Dual>& task) {
  Edges edges{};
  edges.costs = costs;
  edges.u = task.u;
  edges.v = task.v;
  set_up(edges, task);
  return edges;
}

// Runs the start. What it works in is free again after it, but for the forest.
template <class Team, class Cost, class Dual>
DEVICE void start_assignment(Steps<Team>& steps, const ClaimedForest<true>& forest, const DenseCosts<Cost>& costs,
                             const AssignmentTask<Dual>& task) {
  Team& team = steps.team;
  Count now = team.nanoseconds();
  Workspace workspace(task.workspace);
  ClaimedForest<true> same{};
  same.matching = forest.matching;
  same.carve(workspace);
  auto edges = edges_of<TightEdges<Cost>>(costs, task);
  edges.carve(workspace, static_cast<Count>(team.size()) * Team::TILE);
  run_assignment_start(steps, forest, edges, task);
  Count start_size = 0;
  team.each(forest.matching.num_rows, [&](Count row) { start_size += forest.matching.row_match[row] != NONE; });
  team.add_all(&task.report->start_size, start_size);
  if (team.rank() == 0) {
    task.report->start = static_cast<Count>(task.start);
    task.report->start_ns = lap(team, now);
  }
  steps.end();
}

// Date and Nagi's variants: the classical one with ClassicalEdges, that of alternating trees with TightEdges.
template <class Edges, class Team, class Cost>
DEVICE void assign(Team& team, const DenseCosts<Cost>& costs,
                   const AssignmentTask<typename DenseCosts<Cost>::Dual>& task) {
  const Matching& matching = task.matching;
  Report& report = *task.report;
  Steps<Team> steps(team, *task.progress);
  Workspace workspace(task.workspace);
  ClaimedForest<true> forest{};
  forest.matching = matching;
  forest.carve(workspace);
  start_assignment(steps, forest, costs, task);

  auto edges = edges_of<Edges>(costs, task);
  edges.carve(workspace, static_cast<Count>(team.size()) * Team::TILE);
  edges.begin(team);
  team.sync();
  run_phases(steps, forest, edges, false, task.journal, report);

  if (team.rank() == 0) {
    report.size = report.start_size + steps.progress.augmented;
    report.dual_steps = edges.dual_steps;
    report.rows_scanned = edges.rows_scanned;
  }
}

template <class Edges, class Cost>
DEVICE Count assignment_workspace_size(const DenseCosts<Cost>& costs, Count team_tile) {
  Workspace workspace(nullptr);
  ClaimedForest<true> forest{};
  forest.matching = {costs.num_rows, costs.num_columns, nullptr, nullptr};
  forest.carve(workspace);
  Workspace for_search = workspace;
  TightEdges<Cost> start_edges{};
  start_edges.costs = costs;
  start_edges.carve(workspace, team_tile);
  Edges edges{};
  edges.costs = costs;
  edges.carve(for_search, team_tile);
  return workspace.used() > for_search.used() ? workspace.used() : for_search.used();
}

// The GPU's entry points. COST is the type of the matrix, EDGES the method's.
#if defined(PROGRAM) && defined(EDGES)
using Dual = DenseCosts<COST>::Dual;

#define ASSIGN_PARAMETERS                                                                                             \
  int num_rows, int num_columns, const COST *costs, Count row_stride, Count column_stride, int maximize, Dual limit,  \
      Vertex *row_match, Vertex *col_match, Dual *u, Dual *v, Vertex *levels, Vertex *augmentations, char *workspace, \
      Progress *progress, Report *report, int start, int has_duals, int many_paths, unsigned *arrivals
#define ASSIGN(Team)                                                                                                  \
  Team team(arrivals);                                                                                                \
  assign<EDGES<COST>>(                                                                                                \
      team, DenseCosts<COST>{num_rows, num_columns, costs, row_stride, column_stride, maximize != 0, limit},          \
      AssignmentTask<Dual>{{num_rows, num_columns, row_match, col_match}, u, v, {levels, augmentations}, workspace,   \
                           progress, report, static_cast<AssignmentStart>(start), has_duals != 0, many_paths != 0})

PROGRAM(assign_grid, 512)(ASSIGN_PARAMETERS) { ASSIGN(GridTeam<32>); }
PROGRAM(assign_block, 512)(ASSIGN_PARAMETERS) { ASSIGN(BlockTeam<32>); }
#endif
