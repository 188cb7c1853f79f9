// mixed.hpp: breadth-first and depth-first searches in turns, on the host.
//
// On some graphs one kind of search needs hundreds of phases and the other a few. Breadth first is slow if many free rows
// lie near the same free columns and far from all others, as after a first fit that drifted, or on a dense staircase: all
// trees find one end, and one tree gets it. Depth first is slow on random graphs: its paths are long, and leave the other
// searches of the phase little to visit. The graph does not tell in advance which of the two it is. So each kind has its
// turn as long as it makes progress. A phase disappoints if it finds more than half as many paths as an earlier phase of
// the turn: many more such phases would follow. The second disappointment ends the turn. So a turn has at most
// log2(rows) + 3 phases, and neither kind of search keeps the other waiting for long.
//
// Breadth first has the first turn, unless the start left more than a few hundredths of the pairs to be found. Depth first
// takes half the time on small graphs with some hundredths left, such as a permuted mesh. It takes a third of the time if
// rows have many entries: it mostly finds a free column at the first look. It is tried on other graphs for as long as one
// to three passes over the graph take: it may finish, as on web graphs, or get lost, as on random ones. If the start left
// less, as on a mesh in natural order, the missing pairs lie near.
#pragma once
#include <algorithm>

#include "cardinality/match.cuh"
#include "cardinality/pothen_fan.hpp"
#include "search/phases.cuh"

struct Patience {
  static constexpr int DISAPPOINTMENTS = 2;  // random graphs have one by chance when few free rows remain

  Vertex fewest = LAST_VERTEX;  // paths that a phase of this turn found
  int disappointments = 0;

  // Whether a phase that found `found` paths ends the turn.
  bool operator()(Vertex found) {
    if (found > fewest / 2) ++disappointments;
    if (found < fewest) fewest = found;
    return disappointments == DISAPPOINTMENTS;
  }
};

// How many entries depth first may inspect before breadth first has a turn. Measured on the 414 matrices of the
// collection, natural and permuted.
template <class Edges>
Count entries_depth_first(const Edges& edges, const Task& task) {
  const Count pairs = std::min(edges.num_rows, edges.num_columns), entries = edges.num_edges();
  const Count percent_missing = (pairs - task.report->start_size) * 100 / std::max<Count>(pairs, 1);
  const bool has_long_rows = entries >= 8 * pairs;
  if (percent_missing < (has_long_rows ? 1 : 3)) return 0;
  const bool is_small = entries <= 1 << 17;
  if (percent_missing >= 15) {
    // Large web graphs with short rows miss more than 30 percent. Random graphs and roads, on which depth first gets lost,
    // miss less.
    const Count most = has_long_rows || percent_missing >= 30 ? 1 << 22 : 1 << 20;
    return is_small ? 2 * entries : entries <= most ? entries + entries / 4 : 0;
  }
  if (is_small) return NO_BUDGET;
  if (entries <= 1 << 19) return 3 * entries;
  if (!has_long_rows) return 0;
  return entries <= 1 << 21 ? 2 * entries : entries;
}

template <class Offset, class Column>
void match_in_turns(HostTeam& team, CsrEdges<Offset, Column> edges, const Task& task) {
  Steps<HostTeam> steps(team, *task.progress);
  if (!begin_matching(steps, edges, task)) return;
  Workspace workspace(task.workspace);
  ClaimedForest<true> forest{};
  forest.matching = task.matching;
  forest.leaves_stragglers = true;
  forest.carve(workspace);
  PothenFan<Offset, Column> depth_first(edges, task.matching, workspace);

  team.sync();  // all counts of the start are in
  const Count first_budget = entries_depth_first(edges, task);
  bool breadth_first = first_budget == 0;
  for (bool first_turn = true;; first_turn = false, breadth_first = true) {
    if (breadth_first && run_phases(steps, forest, edges, false, task.journal, *task.report, Patience{})) {
      return report_matching(team, forest, task);
    }
    team.sync();  // all counts of the turn are in
    if (first_turn) depth_first.begin(team);
    const bool is_tried = !breadth_first && first_budget < NO_BUDGET;
    const bool proven =
        is_tried ? depth_first.run(team, task, NeverStop{}, first_budget) : depth_first.run(team, task, Patience{});
    team.sync();  // as above
    if (proven) return report_matching(team, depth_first, task);
  }
}

template <class Offset, class Column>
Count mixed_workspace_size(const CsrEdges<Offset, Column>& edges, const Task& task) {
  Workspace workspace(nullptr);
  ClaimedForest<true> forest{};
  forest.matching = task.matching;
  forest.carve(workspace);
  const PothenFan<Offset, Column> depth_first(edges, task.matching, workspace);
  const Count for_start =
      start_workspace_size<CsrEdges<Offset, Column>>(task.start, task.matching, edges.num_edges());
  return for_start > workspace.used() ? for_start : workspace.used();
}
