// assign.cuh: the program of linear assignment: a start, and the search along tight edges.
#pragma once
#include "assignment/dense_start.cuh"
#include "search/phases.cuh"

// Runs the start, in a function of its own with its own copies, so that a GPU's registers are shared out for the search
// alone. So it returns the team.
template <class Edges, bool HAS_REGRET = true, class Team, class Stored, class Dual>
DEVICE_APART Team start_assignment(Team team, DenseCosts<Stored> costs, AssignmentTask<Dual> task) {
  Steps<Team> steps(team, *task.progress);
  Count now = team.nanoseconds();
  Workspace workspace(task.workspace);
  const auto forest = carve_forest(workspace, task.matching);
  auto edges = edges_of<Edges>(costs, task);
  edges.template start<HAS_REGRET>(steps, forest, task, workspace);
  Count start_size = 0;
  team.each(costs.num_rows, [&](Count row) { start_size += task.matching.row_match[row] != NONE; });
  team.add_all(&task.report->start_size, start_size);
  team.sync();  // the last step of the start has been read by all
  if (team.rank() == 0) {
    *task.progress = Progress{};
    task.report->start = static_cast<Count>(task.start);
    task.report->start_ns += lap(team, now);
  }
  team.sync();
  return team;
}

// For run_phases. If every row is matched, the duals are the proof, and no further search is needed. After the `most_levels` of
// its task a search leaves its free rows to another one.
template <class Dual>
struct IsAtEnd {
  const AssignmentTask<Dual>& task;

  DEVICE bool operator()(Vertex) const {
    if (task.most_levels > 0 && task.report->levels >= task.most_levels) return true;
    return task.report->start_size + task.progress->augmented == task.matching.num_rows;
  }
};

// Date and Nagi's variants: the classical one with ClassicalEdges, the alternating trees with TightEdges. HAS_REGRET: whether
// the task may ask for the start by regret, which takes long to compile.
template <class Edges, bool HAS_REGRET = true, class Team, class Stored>
DEVICE void assign(Team& team, const DenseCosts<Stored>& costs,
                   const AssignmentTask<typename DenseCosts<Stored>::Dual>& task) {
  Report& report = *task.report;
  team = start_assignment<Edges, HAS_REGRET>(team, costs, task);

  Steps<Team> steps(team, *task.progress);
  Workspace workspace(task.workspace);
  const auto forest = carve_forest(workspace, task.matching);
  auto edges = edges_of<Edges>(costs, task);
  edges.carve(workspace, static_cast<Count>(team.size()) * Team::COLUMNS_AT_ONCE);
  run_phases(steps, forest, edges, false, task.journal, report, IsAtEnd<typename DenseCosts<Stored>::Dual>{task});

  if (team.rank() == 0) {
    report.size = report.start_size + steps.progress.augmented;
    report.dual_steps += edges.dual_steps;
    report.rows_scanned += edges.rows_scanned;
  }
}

template <class Edges, class Stored>
DEVICE Count assignment_workspace_size(const DenseCosts<Stored>& costs, Count team_columns) {
  Workspace workspace(nullptr);
  const auto forest = carve_forest(workspace, {costs.num_rows, costs.num_columns, nullptr, nullptr});
  Workspace for_search = workspace;
  Edges edges{};
  edges.costs = costs;
  edges.carve(for_search, team_columns);
  TightEdges<Stored> start_edges{};
  start_edges.costs = costs;
  start_edges.carve(workspace, team_columns);
  Workspace for_regret = workspace;
  RegretStart<Stored>(forest.matching, start_edges).carve(for_regret);
  RowBids<Stored>(forest.matching, start_edges).carve(workspace);
  Count most = for_search.used();
  for (const Count used : {for_regret.used(), workspace.used()}) most = used > most ? used : most;
  return most;
}
