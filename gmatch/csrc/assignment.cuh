// assignment.cuh: the program of linear assignment: a start, and the search along tight edges.
#pragma once
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

// Date and Nagi's alternating tree variant.
template <class Team, class Cost>
DEVICE void assign(Team& team, const DenseCosts<Cost>& costs,
                   const AssignmentTask<typename DenseCosts<Cost>::Dual>& task) {
  const Matching& matching = task.matching;
  Report& report = *task.report;
  Steps<Team> steps(team, *task.progress);
  Count now = team.nanoseconds();

  Workspace workspace(task.workspace);
  ClaimedForest<true> forest{};
  forest.matching = matching;
  forest.carve(workspace);
  TightEdges<Cost> edges{};
  edges.costs = costs;
  edges.many_paths = task.many_paths && matching.num_rows == matching.num_columns;
  edges.u = task.u;
  edges.v = task.v;
  edges.carve(workspace, static_cast<Count>(team.size()) * Team::TILE);

  run_assignment_start(steps, forest, edges, task);
  Count start_size = 0;
  team.each(matching.num_rows, [&](Count row) { start_size += matching.row_match[row] != NONE; });
  team.add_all(&report.start_size, start_size);
  if (team.rank() == 0) report.start_ns = lap(team, now);
  steps.end();

  run_phases(steps, forest, edges, false, task.journal, report);

  if (team.rank() == 0) {
    report.start = static_cast<Count>(task.start);
    report.size = report.start_size + steps.progress.augmented;
    report.dual_steps = edges.dual_steps;
    report.rows_scanned = edges.rows_scanned;
  }
}

template <class Cost>
DEVICE Count assignment_workspace_size(const DenseCosts<Cost>& costs, Count team_tile) {
  Workspace workspace(nullptr);
  ClaimedForest<true> forest{};
  forest.matching = {costs.num_rows, costs.num_columns, nullptr, nullptr};
  forest.carve(workspace);
  TightEdges<Cost> edges{};
  edges.costs = costs;
  edges.carve(workspace, team_tile);
  return workspace.used();
}

// One problem of a batch: where its matrix lies, turned so that it has no more rows than columns.
struct BatchProblem {
  Count offset, row_stride, column_stride;  // in entries
  Count num_rows, num_columns;
  Count transposed;  // whether it was turned
};

// Independent problems. What belongs to problem p starts at p * most_rows, for columns at p * most_columns.
template <class Cost>
struct Batch {
  using Dual = typename DenseCosts<Cost>::Dual;

  const BatchProblem* problems;
  int num_problems;
  Vertex most_rows, most_columns;  // as given, before a problem is turned
  const Cost* entries;
  bool maximize;
  Dual limit;
  Vertex* row_match;
  Vertex* col_match;
  Dual* u;
  Dual* v;
  Report* reports;  // [num_problems] zero
  AssignmentStart start;
  bool many_paths;

  DEVICE DenseCosts<Cost> costs(int p) const {
    const BatchProblem& problem = problems[p];
    return {static_cast<Vertex>(problem.num_rows), static_cast<Vertex>(problem.num_columns), entries + problem.offset,
            problem.row_stride, problem.column_stride, maximize, limit};
  }
  // Where the rows and the columns of a problem have something, whichever way it was turned.
  template <class T>
  DEVICE T* of_rows(int p, T* rows, T* columns) const {
    return problems[p].transposed ? columns + p * static_cast<Count>(most_columns)
                                  : rows + p * static_cast<Count>(most_rows);
  }
  template <class T>
  DEVICE T* of_columns(int p, T* rows, T* columns) const {
    return problems[p].transposed ? rows + p * static_cast<Count>(most_rows)
                                  : columns + p * static_cast<Count>(most_columns);
  }
};

// The arrays of a problem while a team works on it: near, in its own memory.
template <class Cost>
DEVICE AssignmentTask<typename DenseCosts<Cost>::Dual> carve_task(Workspace& workspace, const DenseCosts<Cost>& costs) {
  using Dual = typename DenseCosts<Cost>::Dual;
  AssignmentTask<Dual> task{};
  task.matching = {costs.num_rows, costs.num_columns, workspace.take<Vertex>(costs.num_rows),
                   workspace.take<Vertex>(costs.num_columns)};
  task.u = workspace.take<Dual>(costs.num_rows);
  task.v = workspace.take<Dual>(costs.num_columns);
  task.journal = {workspace.take<Vertex>(costs.num_rows + 1), workspace.take<Vertex>(costs.num_rows + 1)};
  task.progress = workspace.take<Progress>(1);
  return task;
}

// Problem p of a batch, from the start to the answer. `memory` is the team's own, of batch_workspace_size(...).
template <class Team, class Cost>
DEVICE void assign_problem(Team& team, const Batch<Cost>& batch, int p, char* memory) {
  const DenseCosts<Cost> costs = batch.costs(p);
  Workspace workspace(memory);
  auto task = carve_task(workspace, costs);
  task.workspace = workspace.rest();
  task.report = &batch.reports[p];
  task.start = batch.start;
  task.many_paths = batch.many_paths;
  if (team.rank() == 0) *task.progress = Progress{};
  team.sync();
  assign(team, costs, task);
  team.sync();
  const Matching& matching = task.matching;
  Vertex* row_match = batch.of_rows(p, batch.row_match, batch.col_match);
  Vertex* col_match = batch.of_columns(p, batch.row_match, batch.col_match);
  auto* u = batch.of_rows(p, batch.u, batch.v);
  auto* v = batch.of_columns(p, batch.u, batch.v);
  team.each(costs.num_rows, [&](Count row) {
    row_match[row] = matching.row_match[row];
    u[row] = task.u[row];
  });
  team.each(costs.num_columns, [&](Count column) {
    col_match[column] = matching.col_match[column];
    v[column] = task.v[column];
  });
  team.sync();
}

// For the largest problem of a batch.
template <class Cost>
DEVICE Count batch_workspace_size(const DenseCosts<Cost>& costs, Count team_tile) {
  Workspace workspace(nullptr);
  carve_task(workspace, costs);
  return workspace.used() + assignment_workspace_size(costs, team_tile);
}

// The GPU's entry points. COST is the type of the matrix.
#if defined(PROGRAM) && defined(COST)
using Dual = DenseCosts<COST>::Dual;

#define ASSIGN_PARAMETERS                                                                                             \
  int num_rows, int num_columns, const COST *costs, Count row_stride, Count column_stride, int maximize, Dual limit,  \
      Vertex *row_match, Vertex *col_match, Dual *u, Dual *v, Vertex *levels, Vertex *augmentations, char *workspace, \
      Progress *progress, Report *report, int start, int has_duals, int many_paths, unsigned *arrivals
#define ASSIGN(Team)                                                                                                 \
  Team team(arrivals);                                                                                               \
  assign(team, DenseCosts<COST>{num_rows, num_columns, costs, row_stride, column_stride, maximize != 0, limit},      \
         AssignmentTask<Dual>{{num_rows, num_columns, row_match, col_match}, u, v, {levels, augmentations}, workspace, \
                              progress, report, static_cast<AssignmentStart>(start), has_duals != 0,                 \
                              many_paths != 0})

PROGRAM(assign_grid, 512)(ASSIGN_PARAMETERS) { ASSIGN(GridTeam<32>); }
PROGRAM(assign_block, 512)(ASSIGN_PARAMETERS) { ASSIGN(BlockTeam<32>); }

// One block a problem; a block that is done takes the next one.
PROGRAM(assign_batch, 512)
(const BatchProblem* problems, int num_problems, int most_rows, int most_columns, const COST* entries, int maximize,
 Dual limit, Vertex* row_match, Vertex* col_match, Dual* u, Dual* v, Report* reports, int start, int many_paths,
 char* workspace, Count workspace_size, Count near_size, int* next) {
  BlockTeam<32> team(nullptr);
  const Batch<COST> batch{problems, num_problems, most_rows, most_columns, entries, maximize != 0, limit, row_match,
                          col_match, u, v, reports, static_cast<AssignmentStart>(start), many_paths != 0};
  char* memory = team.own_memory(workspace, workspace_size, near_size);
  for (int p = team.next(next); p < num_problems; p = team.next(next)) assign_problem(team, batch, p, memory);
}
#endif
