// match.cuh: maximum cardinality matching: a start, the search, and the proof.
#pragma once
#include "cardinality/csr_edges.cuh"
#include "cardinality/starts.cuh"
#include "search/claimed_forest.cuh"
#include "search/ordered_forest.cuh"
#include "search/phases.cuh"
#include "search/speculative_forest.cuh"

MIRRORED_ENUM(ForestKind, speculative, speculative_with_roots, claimed, claimed_with_roots, ordered);
MIRRORED_ENUM(Start, none, cheap, shuffled, min_degree, karp_sipser, given, automatic, earlier);

// Everything that a call of match_cardinality works on, except the graph.
struct Task {
  Matching matching;
  unsigned char* reached;  // [num_columns] out: 1 for the columns of the last forest
  Journal journal;
  char* workspace;         // [workspace_size(...)]
  Progress* progress;      // [1] zero
  Report* report;          // [1] zero
  Start start;
  bool shortest_only;

  FIELDS(Task, matching, reached, journal, workspace, progress, report, start, shortest_only)
};

template <class Edges>
using FirstFit = CheapMatching<Edges, StoredOrder>;
template <class Edges>
using ShuffledFit = CheapMatching<Edges, ShuffledOrder>;
template <class Edges>
using MinDegreeFit = CheapMatching<Edges, MinDegreeOrder>;

// Whether more than a fourth of the entries stand in rows of more than 8 times the mean length, as in graphs of a power law.
// A row counts for at most 64 times the mean, so few very long rows do not suffice.
template <class Team, class Edges>
DEVICE bool is_skewed(Team& team, const Edges& edges, Count* entries_of_long_rows) {
  const Count rows = edges.num_rows, entries = edges.num_edges(), most = 64 * entries / (rows > 0 ? rows : 1);
  Count in_long_rows = 0;
  team.each(rows, [&](Count row) {
    const Count degree = edges.end(static_cast<Vertex>(row)) - edges.begin(static_cast<Vertex>(row));
    if (degree * 8 > most) in_long_rows += degree < most ? degree : most;
  });
  team.add_all(entries_of_long_rows, in_long_rows);
  team.sync();
  return 4 * team.read(entries_of_long_rows) > entries;
}

template <class Fit, class Team, class Edges>
DEVICE void run_fit(Steps<Team>& steps, const Edges& edges, const Matching& matching, Workspace workspace) {
  Fit fit{matching, edges};
  fit.carve(workspace);
  fit.run(steps);
}

// The first fit, in stored or in shuffled order, that the search needs less time for. Sizes alone mislead. If a fit in stored
// order leaves at least half as many rows free as the shuffled one, it has probably drifted, and ways from free rows to free
// columns are long: benchmarks/log/cardinality_gpu.md, "Shuffled rows look upwards or downwards, and a stored fit must leave half
// as many rows".
template <class Team, class Edges>
DEVICE Start run_better_fit(Steps<Team>& steps, const Edges& edges, const Matching& matching, Workspace workspace) {
  Team& team = steps.team;
  Count* free_rows = steps.progress.free_rows;
  Matching other = matching;
  other.row_match = workspace.take<Vertex>(matching.num_rows);
  other.col_match = workspace.take<Vertex>(matching.num_columns);

  run_fit<FirstFit<Edges>>(steps, edges, matching, workspace);
  count_free_rows(team, matching, edges, &free_rows[0]);
  team.sync();
  if (free_rows[0] * 100 <= matching.num_rows) return Start::cheap;

  run_fit<ShuffledFit<Edges>>(steps, edges, other, workspace);
  count_free_rows(team, other, edges, &free_rows[1]);
  team.sync();
  if (free_rows[0] * 2 < free_rows[1]) return Start::cheap;
  team.each(matching.num_rows, [&](Count row) { matching.row_match[row] = other.row_match[row]; });
  team.each(matching.num_columns, [&](Count column) { matching.col_match[column] = other.col_match[column]; });
  return Start::shuffled;
}

// Fills the matching; returns the start that did.
template <class Team, class Edges>
DEVICE Start run_start(Steps<Team>& steps, const Edges& edges, const Task& task) {
  Workspace workspace(task.workspace);
  Count* entries_of_long_rows = &steps.progress.entries_of_long_rows;
  const bool fewest_first = task.start == Start::automatic && is_skewed(steps.team, edges, entries_of_long_rows);
  const Start start = fewest_first ? Start::min_degree : task.start;
  switch (start) {
    case Start::automatic:
      return run_better_fit(steps, edges, task.matching, workspace);
    case Start::none:
      clear_matching(steps.team, task.matching);
      break;
    case Start::given:
    case Start::earlier:
      keep_edges(steps.team, task.matching, edges, &task.report->dropped);
      break;
    case Start::cheap:
      run_fit<FirstFit<Edges>>(steps, edges, task.matching, workspace);
      break;
    case Start::shuffled:
      run_fit<ShuffledFit<Edges>>(steps, edges, task.matching, workspace);
      break;
    case Start::min_degree:
      run_fit<MinDegreeFit<Edges>>(steps, edges, task.matching, workspace);
      break;
    case Start::karp_sipser: {
      KarpSipser<Edges> karp_sipser{task.matching, edges};
      karp_sipser.carve(workspace, edges.num_edges());
      karp_sipser.run(steps);
      break;
    }
  }
  return start;
}

// The start, and its report. Returns whether to go on: not if a matching that was given for this graph is none of it.
template <class Team, class Edges>
DEVICE bool begin_matching(Steps<Team>& steps, const Edges& edges, const Task& task) {
  Team& team = steps.team;
  Report& report = *task.report;
  Count now = team.nanoseconds();
  const Start start = run_start(steps, edges, task);
  steps.end();
  Count start_size = 0;
  team.each(task.matching.num_rows, [&](Count row) { start_size += task.matching.row_match[row] != NONE; });
  team.add_all(&report.start_size, start_size);
  if (team.rank() == 0) {
    report.start = static_cast<Count>(start);
    report.start_ns = lap(team, now);
  }
  return task.start != Start::given || team.read(&report.dropped) == 0;
}

// The size, and the columns that the last search reached: the proof.
template <class Team, class Search>
DEVICE void report_matching(const Team& team, const Search& search, const Task& task) {
  team.each(task.matching.num_columns, [&](Count column) {
    task.reached[column] = search.reached(static_cast<Vertex>(column));
  });
  if (team.rank() == 0) task.report->size = task.report->start_size + task.progress->augmented;
}

// Maximum cardinality matching: a start, the search, and the proof.
template <class Forest, class Team, class Edges>
DEVICE void match_cardinality(Team& team, Edges edges, const Task& task) {
  Steps<Team> steps(team, *task.progress);
  if (!begin_matching(steps, edges, task)) return;
  Workspace workspace(task.workspace);
  Forest forest{};
  forest.matching = task.matching;
  forest.template set_up<Edges>(edges.num_edges(), task.shortest_only);
  forest.carve(workspace);
  run_phases(steps, forest, edges, task.shortest_only, task.journal, *task.report);
  report_matching(team, forest, task);
}

template <class Edges>
DEVICE Count start_workspace_size(Start start, Matching matching, Count num_edges) {
  Workspace workspace(nullptr);
  if (start == Start::automatic) {
    workspace.take<Vertex>(matching.num_rows);
    workspace.take<Vertex>(matching.num_columns);
  }
  if (start == Start::karp_sipser) KarpSipser<Edges>{matching, {}}.carve(workspace, num_edges);
  else FirstFit<Edges>{matching, {}}.carve(workspace);
  return workspace.used();
}

template <class Forest, class Edges>
DEVICE Count workspace_size(Start start, Matching matching, Count num_edges) {
  const Count for_start = start_workspace_size<Edges>(start, matching, num_edges);
  Workspace for_search(nullptr);
  Forest forest{};
  forest.matching = matching;
  forest.template set_up<Edges>(num_edges, false);
  forest.carve(for_search);
  return for_start > for_search.used() ? for_start : for_search.used();
}
