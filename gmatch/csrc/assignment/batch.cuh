// batch.cuh: many small assignment problems, one for each team.
#pragma once
#include "assignment/assign.cuh"
#include "assignment/shortest_paths.cuh"

// One problem of a batch: the place of its matrix, turned so that it has no more rows than columns.
struct BatchProblem {
  Count offset, row_stride, column_stride;  // in entries
  Count num_rows, num_columns;
  Count transposed;  // whether it was turned

  FIELDS(BatchProblem, offset, row_stride, column_stride, num_rows, num_columns, transposed)
};

// Independent problems. The rows of problem p start at p * most_rows, its columns at p * most_columns. If it has fewer, NONE
// and zero follow.
template <class Cost>
struct Batch {
  using Dual = typename DenseCosts<Cost>::Dual;

  const BatchProblem* problems;  // each problem; if step is not 0, the first of problems that are alike
  Count step;                    // entries from one of them to the next
  int num_problems;
  Vertex most_rows, most_columns;  // as given, before a problem is turned
  const Cost* entries;
  bool maximize;
  Dual limit;
  bool drops;  // whether a GPU, which also checks the costs, drops the pairs that cost more than the limit
  Vertex* row_match;
  Vertex* col_match;
  Dual* u;
  Dual* v;
  Cost* pair_costs;  // of rows as given
  Report* reports;   // [num_problems]
  AssignmentStart start;
  bool many_paths;

  FIELDS(Batch, problems, step, num_problems, most_rows, most_columns, entries, maximize, limit, drops, row_match,
         col_match, u, v, pair_costs, reports, start, many_paths)

  DEVICE BatchProblem problem(int p) const {
    if (step == 0) return problems[p];
    BatchProblem like_the_first = problems[0];
    like_the_first.offset += p * step;
    return like_the_first;
  }
  DEVICE bool is_turned(int p) const { return problems[step == 0 ? p : 0].transposed; }
  DEVICE DenseCosts<Cost> costs(int p) const {
    const BatchProblem problem = this->problem(p);
    return {static_cast<Vertex>(problem.num_rows), static_cast<Vertex>(problem.num_columns), entries + problem.offset,
            problem.row_stride, problem.column_stride, maximize, limit};
  }
  // The places of the rows and of the columns of a problem in an array, whichever way it was turned.
  template <class T>
  DEVICE T* of_rows(int p, T* rows, T* columns) const {
    return is_turned(p) ? columns + p * static_cast<Count>(most_columns)
                        : rows + p * static_cast<Count>(most_rows);
  }
  template <class T>
  DEVICE T* of_columns(int p, T* rows, T* columns) const {
    return is_turned(p) ? rows + p * static_cast<Count>(most_rows)
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

// The entries of the pairs, in the order of the rows as given; zero for free rows.
template <class Team, class Cost>
DEVICE void note_pair_costs(Team& team, const Batch<Cost>& batch, int p, const DenseCosts<Cost>& costs,
                            const Matching& matching) {
  Cost* pair_costs = batch.pair_costs + p * static_cast<Count>(batch.most_rows);
  team.each(batch.most_rows, [&](Count row) { pair_costs[row] = 0; });
  team.sync();
  const bool is_turned = batch.is_turned(p);
  team.each(costs.num_rows, [&](Count row) {
    const Vertex column = matching.row_match[row];
    if (column == NONE) return;
    pair_costs[is_turned ? column : row] = costs.costs[row * costs.row_stride + column * costs.column_stride];
  });
}

// Writes the mates and duals of the `count` vertices of one side, and NONE and zero beyond them.
template <class Team, class Dual>
DEVICE void note_side(const Team& team, Vertex count, Vertex room, const Vertex* found_mates, const Dual* found_duals,
                      Vertex* mates, Dual* duals) {
  team.each(room, [&](Count i) {
    mates[i] = i < count ? found_mates[i] : NONE;
    duals[i] = i < count ? found_duals[i] : 0;
  });
}

// How a team solves one problem: by the search along edges, or by shortest paths.
template <class Edges>
struct Solution {
  template <class Team, class Costs, class Task>
  static DEVICE void find(Team& team, const Costs& costs, const Task& task) {
    assign<Edges>(team, costs, task);
  }
  template <class Costs>
  static DEVICE Count workspace_size(const Costs& costs, Count team_columns) {
    return assignment_workspace_size<Edges>(costs, team_columns);
  }
};
template <class Cost>
struct Solution<ShortestPaths<Cost>> {
  template <class Team, class Task>
  static DEVICE void find(Team& team, const DenseCosts<Cost>& costs, const Task& task) {
    ShortestPaths<Cost> paths(costs, task);
    Workspace workspace(task.workspace);
    paths.carve(workspace);
    paths.run(team, *task.report);
  }
  static DEVICE Count workspace_size(const DenseCosts<Cost>& costs, Count) {
    Workspace workspace(nullptr);
    ShortestPaths<Cost>(costs, {}).carve(workspace);
    return workspace.used();
  }
};

// Problem p of a batch, from the start to the answer. `memory` is the team's own, of batch_workspace_size(...).
template <class Edges, class Team, class Cost>
DEVICE void assign_problem(Team& team, const Batch<Cost>& batch, int p, char* memory) {
  const DenseCosts<Cost> costs = batch.costs(p);
  Workspace workspace(memory);
  auto task = carve_task(workspace, costs);
  task.workspace = workspace.rest();
  task.report = &batch.reports[p];
  task.start = batch.start;
  task.many_paths = batch.many_paths;
  if (team.rank() == 0) {
    *task.progress = Progress{};
    *task.report = Report{};
  }
  team.sync();
  Solution<Edges>::find(team, costs, task);
  team.sync();
  const Matching& matching = task.matching;
  const bool is_turned = batch.is_turned(p);
  note_side(team, costs.num_rows, is_turned ? batch.most_columns : batch.most_rows, matching.row_match, task.u,
            batch.of_rows(p, batch.row_match, batch.col_match), batch.of_rows(p, batch.u, batch.v));
  note_side(team, costs.num_columns, is_turned ? batch.most_rows : batch.most_columns, matching.col_match, task.v,
            batch.of_columns(p, batch.row_match, batch.col_match), batch.of_columns(p, batch.u, batch.v));
  note_pair_costs(team, batch, p, costs, matching);
  team.sync();
}

// The bytes of a team's memory, for the largest problem of a batch.
template <class Edges, class Cost>
DEVICE Count batch_workspace_size(const DenseCosts<Cost>& costs, Count team_columns) {
  Workspace workspace(nullptr);
  carve_task(workspace, costs);
  return workspace.used() + Solution<Edges>::workspace_size(costs, team_columns);
}
