// phases.cuh: the one parallel search. Matchings, dense and sparse assignments and cores all run it, on every team. (One
// thread of a host may be faster one row at a time: see cardinality/pothen_fan.hpp and the solvers of serial/.)
//
// A phase plants a tree at every free row, grows all trees at once, breadth first, level by level (or a part of the trees by
// some levels at a time), and then flips the augmenting paths that were found.
#pragma once
#include "team/steps.cuh"

// What each phase did; entry p of phase p.
struct Journal {
  Vertex* levels;         // [min(num_rows, num_columns) + 1]
  Vertex* augmentations;  // [min(num_rows, num_columns) + 1]: each phase matches a row, except one that ends a search

  FIELDS(Journal, levels, augmentations)
};

// The forest says how a row reaches a column and how threads that race for one are reconciled (plant, visit, augment),
// which trees go on growing (grows), and whether a phase is worth going on with (is_spent). The edges say which ones may
// be used:
//   has_edges(row)                whether a free row is worth a tree
//   keeps_trees()                 whether trees that found no path are part of the next phase, see ClaimedForest
//   begin_phase(steps)            beside the planting of the trees
//   expand(steps, forest, level, shortest_only)  lets the rows of the frontier reach columns; returns the entries this
//                                 thread read; may do more levels than one, which rank 0 counts
//   widen(steps, forest)          when no tree can grow: makes more edges usable, or returns false
//   end_phase(steps, forest)      before the paths are flipped
//
// shortest_only: a phase ends at the level that finds the first path (APsB, Hopcroft-Karp), else when no tree can grow
// (APFB), or when the forest is spent: when it has found paths, and what goes on growing is not worth waiting for. The
// search that finds no path was never cut short, and its forest is the proof.
//
// A phase is widened at most once for each column that joins and, before a column joins, once for each row. If the input changes
// meanwhile, a phase could be widened for ever: more widenings than that end the search.
//
// stop(path_ends) is asked after a phase that found path ends: whether no rows are free, or whether another search takes over
// the free rows. Returns whether the last search found nothing.
struct NeverStop {
  DEVICE bool operator()(Vertex) const { return false; }
};
template <class Team, class Forest, class Edges, class Stop = NeverStop>
DEVICE bool run_phases(Steps<Team>& steps, const Forest& forest, Edges& edges, bool shortest_only,
                       const Journal& journal, Report& report, Stop stop = {}) {
  Team& team = steps.team;
  const bool first = team.rank() == 0;
  Count inspected = 0, augmented = first ? steps.progress.augmented : 0, now = team.nanoseconds();
  bool found_paths = true, stopped = false;
  while (found_paths && !stopped) {
    const Count phase = first ? report.phases : 0;
    steps.begin_phase();
    forest.plant(steps, edges);
    edges.begin_phase(steps);
    steps.end();
    Vertex level = 0;
    [[maybe_unused]] Count widened = 0;
    while (true) {
      if (shortest_only && steps.found() > 0) break;
      if (forest.is_spent(steps)) break;
      if (steps.todo() == 0) {
        if (!edges.widen(steps, forest)) break;
        if constexpr (Team::INPUT_CHANGES) {
          if (++widened > (forest.matching.num_rows + Count{1}) * (forest.matching.num_columns + Count{1})) break;
        }
        continue;
      }
      inspected += edges.expand(steps, forest, level, shortest_only);
      steps.end();
      ++level;
    }
    found_paths = steps.found() > 0;
    if (first) {
      journal.levels[phase] = level;
      report.phases = phase + 1;
      report.levels += level;
      report.search_ns += lap(team, now);
    }
    if (found_paths) {
      edges.end_phase(steps, forest);
      forest.augment(steps);
      steps.end();
    }
    if (first) {
      journal.augmentations[phase] = static_cast<Vertex>(steps.progress.augmented - augmented);
      augmented = steps.progress.augmented;
      report.augment_ns += lap(team, now);
    }
    stopped = found_paths && stop(steps.found());
  }
  team.add_all(&report.edges_inspected, inspected);
  return !found_paths;
}
