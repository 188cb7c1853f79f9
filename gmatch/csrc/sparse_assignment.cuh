// sparse_assignment.cuh: the program of sparse linear assignment: a start, and the search along tight edges.
#pragma once
#include "assignment.cuh"
#include "sparse_tight_edges.cuh"

// The largest u for the v there are: no slack is negative, and every row has a tight edge.
template <class Team, class Costs>
DEVICE void reduce_rows(const Team& team, const SparseTightEdges<Costs>& edges) {
  using Dual = typename Costs::Dual;
  const Costs& costs = edges.costs;
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    Dual smallest = costs.infinite();
    const auto end = costs.end(row);
    for (auto edge = costs.begin(row) + team.lane(); edge < end; edge += team.lanes()) {
      const Dual cost = costs.at(edge);
      if (cost == costs.infinite()) continue;
      const Dual reduced = cost - edges.v[costs.column(edge)];
      smallest = reduced < smallest ? reduced : smallest;
    }
    smallest = team.min_group(smallest);
    // A row without an allowed pair has no tight edge, whatever its dual.
    if (team.lane() == 0) edges.u[row] = smallest == costs.infinite() ? 0 : smallest;
  });
}

// The largest v for the u there are; for square problems, where every column will be matched.
template <class Team, class Costs>
DEVICE void reduce_columns(Team& team, const SparseTightEdges<Costs>& edges) {
  const Costs& costs = edges.costs;
  team.each(costs.num_columns, [&](Count column) { edges.distance[column] = costs.infinite(); });
  team.sync();
  team.each_group(costs.num_rows, [&](Count row) {
    edges.each_entry(team, static_cast<Vertex>(row), [&](Vertex column, typename Costs::Dual slack) {
      if (slack < team.read(&edges.distance[column])) team.lower(&edges.distance[column], slack);
      return true;
    });
  });
  team.sync();
  team.each(costs.num_columns, [&](Count column) {
    if (edges.distance[column] != costs.infinite()) edges.v[column] += edges.distance[column];
  });
  team.sync();
}

// Every row takes a tight column that nobody has.
template <class Team, class Costs>
DEVICE void match_tight_pairs(const Team& team, const Matching& matching, const SparseTightEdges<Costs>& edges) {
  team.each_group(matching.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    edges.each_entry(team, row, [&](Vertex column, typename Costs::Dual slack) {
      if (slack > 0 || !team.claim(&matching.col_match[column], NONE, row)) return true;
      // Another lane of the group may have found one, too.
      if (!team.claim(&matching.row_match[row], NONE, column)) team.write(&matching.col_match[column], NONE);
      return false;
    });
  });
}

// Of a matching that is given, only tight pairs may stay.
template <class Team, class Costs>
DEVICE void keep_tight_pairs(const Team& team, const Matching& matching, const SparseTightEdges<Costs>& edges) {
  team.each(matching.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), column = matching.row_match[row];
    if (column == NONE) return;
    const Vertex mate = column;
    for (auto edge = edges.costs.begin(row); edge < edges.costs.end(row); ++edge) {
      if (edges.costs.column(edge) != mate) continue;
      if (edges.slack(edges.costs.at(edge), edges.u[row], edges.v[mate]) == 0) return;
    }
    matching.row_match[row] = NONE;
  });
}

template <class Team, class Costs>
DEVICE void run_assignment_start(Team& team, const SparseTightEdges<Costs>& edges,
                                 const AssignmentTask<typename Costs::Dual>& task) {
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
  if (matching.num_rows == matching.num_columns && !task.has_duals) reduce_columns(team, edges);
  match_tight_pairs(team, matching, edges);
  team.sync();
}

template <class Team, class Costs>
DEVICE void assign_sparse(Team& team, const Costs& costs, const AssignmentTask<typename Costs::Dual>& task) {
  const Matching& matching = task.matching;
  Report& report = *task.report;
  Steps<Team> steps(team, *task.progress);
  Count now = team.nanoseconds();

  Workspace workspace(task.workspace);
  ClaimedForest<true> forest{};
  forest.matching = matching;
  forest.carve(workspace);
  SparseTightEdges<Costs> edges{};
  edges.costs = costs;
  edges.many_paths = task.many_paths && matching.num_rows == matching.num_columns;
  edges.u = task.u;
  edges.v = task.v;
  edges.carve(workspace);
  edges.begin(team);

  run_assignment_start(team, edges, task);
  Count start_size = 0;
  team.each(matching.num_rows, [&](Count row) { start_size += matching.row_match[row] != NONE; });
  team.add_all(&report.start_size, start_size);
  if (team.rank() == 0) report.start_ns = lap(team, now);
  steps.end();

  run_phases(steps, forest, edges, false, task.journal, report);

  team.add_all(&report.edges_inspected, edges.entries_read);
  if (team.rank() == 0) {
    report.start = static_cast<Count>(task.start);
    report.size = report.start_size + steps.progress.augmented;
    report.dual_steps = edges.dual_steps;
    report.rows_scanned = edges.rows_scanned;
  }
}

template <class Costs>
DEVICE Count sparse_assignment_workspace_size(const Costs& costs) {
  Workspace workspace(nullptr);
  ClaimedForest<true> forest{};
  forest.matching = {costs.num_rows, costs.num_columns, nullptr, nullptr};
  forest.carve(workspace);
  SparseTightEdges<Costs> edges{};
  edges.costs = costs;
  edges.carve(workspace);
  return workspace.used();
}

// The GPU's entry points. SPARSE_COST, SPARSE_OFFSET and SPARSE_COLUMN are the types of the arrays, ROW_LANES the threads
// that share a row.
#if defined(PROGRAM) && defined(SPARSE_COST)
using SparseDeviceCosts = SparseCosts<SPARSE_COST, SPARSE_OFFSET, SPARSE_COLUMN>;

#define ASSIGN_SPARSE_PARAMETERS                                                                                       \
  int num_rows, int num_columns, const SPARSE_OFFSET *offsets, const SPARSE_COLUMN *columns, const SPARSE_COST *costs, \
      int maximize, Vertex *row_match, Vertex *col_match, SparseDeviceCosts::Dual *u, SparseDeviceCosts::Dual *v,      \
      Vertex *levels, Vertex *augmentations, char *workspace, Progress *progress, Report *report, int start,           \
      int has_duals, int many_paths, unsigned *arrivals
#define ASSIGN_SPARSE(Team)                                                                                      \
  Team team(arrivals);                                                                                           \
  assign_sparse(team, SparseDeviceCosts{num_rows, num_columns, offsets, columns, costs, maximize != 0},          \
                AssignmentTask<SparseDeviceCosts::Dual>{{num_rows, num_columns, row_match, col_match}, u, v,     \
                                                        {levels, augmentations}, workspace, progress, report,    \
                                                        static_cast<AssignmentStart>(start), has_duals != 0,     \
                                                        many_paths != 0})

PROGRAM(assign_sparse_grid, 512)(ASSIGN_SPARSE_PARAMETERS) { ASSIGN_SPARSE(GridTeam<ROW_LANES>); }
PROGRAM(assign_sparse_block, 512)(ASSIGN_SPARSE_PARAMETERS) { ASSIGN_SPARSE(BlockTeam<ROW_LANES>); }
#endif
