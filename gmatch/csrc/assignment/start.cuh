// start.cuh: what every start of linear assignment does, and what it asks of the edges: pairs and duals before the first phase.
//
// Edges are TightEdges (with dense_start.cuh) or SparseTightEdges. They have:
//
//   reduce_rows(team)              the largest u for the current v: no slack is negative, and every row has a tight edge
//   reduce_columns(steps, forest)  the largest v for the current u; for square problems, where every column will be matched
//   is_tight(row, column)          whether the edge is tight, up to rounding
//   take_tight_columns<HAS_REGRET>(steps, task, workspace)
//                                  rows take tight columns that no row has, by the rule of the task's start. HAS_REGRET says
//                                  whether the program has the start by regret, which takes long to compile
//
// All edges of a search, ClassicalEdges too, have set_up(costs, task), which takes the costs and the duals of a task.
#pragma once
#include "cardinality/starts.cuh"
#include "search/phases.cuh"

// Numbered as in gmatch/backends/protocol.py.
MIRRORED_ENUM(AssignmentStart, none, reduce, given, regret, bids);

// Everything that a call of assign works on, except the costs.
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
  Count most_levels;   // 0: the search goes on to the end. Otherwise a search of a matrix ends, with free rows, after this number
                       // of levels. A search of a core is given up once its rest would have more levels than this

  FIELDS(AssignmentTask, matching, u, v, journal, workspace, progress, report, start, has_duals, many_paths, most_levels)
};

DEVICE ClaimedForest<true> carve_forest(Workspace& workspace, const Matching& matching, bool keeps_trees = false) {
  ClaimedForest<true> forest{};
  forest.matching = matching;
  forest.carve(workspace, keeps_trees);
  return forest;
}

template <class Edges, class Costs, class Dual>
DEVICE Edges edges_of(const Costs& costs, const AssignmentTask<Dual>& task) {
  Edges edges{};
  edges.set_up(costs, task);
  return edges;
}

// Whether a phase of the task goes on until it has many paths; square problems only.
template <class Dual>
DEVICE bool has_many_paths(const AssignmentTask<Dual>& task) {
  return task.many_paths && task.matching.num_rows == task.matching.num_columns;
}

// The largest u for the current v, row by row. edges.least_reduced_cost(team, row) is the least of cost - v that this lane of a
// group sees.
template <class Team, class Edges>
DEVICE void reduce_each_row(const Team& team, const Edges& edges) {
  team.each_group(edges.costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    const auto least = team.min_group(edges.least_reduced_cost(team, row));
    // A row without an allowed pair has no tight edge, whatever its dual.
    if (team.lane() == 0) edges.u[row] = least == edges.costs.infinite() ? 0 : least;
  });
}

// Drops the pairs of a given matching that are not tight.
template <class Team, class Edges>
DEVICE void keep_tight_pairs(const Team& team, const Matching& matching, const Edges& edges) {
  team.each(matching.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), column = matching.row_match[row];
    if (column != NONE && !edges.is_tight(row, column)) matching.row_match[row] = NONE;
  });
}

// A column that stays free must have v = 0, the largest possible v. Raises v of free columns, or of all columns. Returns
// whether any v was below 0.
template <class Team, class Dual>
DEVICE bool raise_free_columns(Steps<Team>& steps, const Matching& matching, Dual* v, bool all) {
  steps.team.each(matching.num_columns, [&](Count column) {
    if (v[column] == 0 || (!all && matching.col_match[column] != NONE)) return;
    v[column] = 0;
    steps.mark_todo();
  });
  steps.end();
  return steps.todo() > 0;
}

// Matches along tight edges, for the current duals v.
template <bool HAS_REGRET, class Team, class Edges, class Dual>
DEVICE void match_tightly(Steps<Team>& steps, const ClaimedForest<true>& forest, Edges& edges,
                          const AssignmentTask<Dual>& task, Workspace workspace) {
  Team& team = steps.team;
  const Matching& matching = task.matching;
  edges.reduce_rows(team);
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
  if (matching.num_rows == matching.num_columns && !task.has_duals) edges.reduce_columns(steps, forest);
  edges.template take_tight_columns<HAS_REGRET>(steps, task, workspace);
  team.sync();
}

template <bool HAS_REGRET, class Team, class Edges, class Dual>
DEVICE void run_assignment_start(Steps<Team>& steps, const ClaimedForest<true>& forest, Edges& edges,
                                 const AssignmentTask<Dual>& task, Workspace workspace) {
  // Given duals of a rectangular problem: v of free columns rises to 0 in up to 8 rounds. Then v of all columns does. 16 and 64
  // rounds change nothing, 1 and 2 take 1.15 times as long: benchmarks/log/trees.md, "Thresholds measured again".
  constexpr int MAX_ROUNDS = 8;
  const Matching& matching = task.matching;
  if (!task.has_duals) steps.team.each(matching.num_columns, [&](Count column) { task.v[column] = 0; });
  steps.team.sync();
  // There is one call in the text: a compiler puts a copy of the function wherever it is called.
  for (int round = 0;; ++round) {
    match_tightly<HAS_REGRET>(steps, forest, edges, task, workspace);
    if (!task.has_duals || matching.num_rows == matching.num_columns) return;
    if (!raise_free_columns(steps, matching, task.v, round == MAX_ROUNDS)) return;
  }
}
