// csr_edges.cuh: the edges of a graph in compressed sparse rows. Every stored entry is an edge.
#pragma once
#include "steps.cuh"

// Offsets may be 64-bit; a column number always fits a Vertex, whatever type it is stored in.
template <class Offset, class Column>
struct CsrEdges {
  Vertex num_rows;
  Vertex num_columns;
  const Offset* offsets;  // [num_rows + 1]
  const Column* columns;  // [offsets[num_rows]]

  DEVICE Offset begin(Vertex row) const { return offsets[row]; }
  DEVICE Offset end(Vertex row) const { return offsets[row + 1]; }
  DEVICE Vertex column(Offset edge) const { return static_cast<Vertex>(columns[edge]); }
  DEVICE bool has_edges(Vertex row) const { return begin(row) < end(row); }
  DEVICE Count num_edges() const { return offsets[num_rows]; }

  // Where the columns of a row stand in `columns`.
  struct Range {
    Offset begin, end;
  };
  DEVICE Range columns_of(Vertex row) const { return {begin(row), end(row)}; }

  // The search may use every edge, so there are none to add when no tree can grow.
  template <class Team>
  DEVICE void begin_phase(const Steps<Team>&) const {}
  template <class Team, class Forest>
  DEVICE bool widen(const Steps<Team>&, const Forest&) const { return false; }
  template <class Team, class Forest>
  DEVICE void end_phase(const Steps<Team>&, const Forest&) const {}

  // A level costs a barrier, which is more than a level of few rows is worth: rank 0 does those alone.
  template <class Team, class Forest>
  DEVICE Count expand(const Steps<Team>& steps, const Forest& forest, Vertex& level, bool shortest_only) const {
    if constexpr (Forest::LISTS_FRONTIER && Team::SMALL_STEP > 0) {
      if (steps.todo() <= Team::SMALL_STEP && !steps.team.alone()) {
        return steps.team.rank() == 0 ? expand_small_levels(steps, forest, level, shortest_only) : 0;
      }
    }
    return expand_level(steps, forest, level);
  }

  // Levels one after the other, without barriers. For the others they are one step of the team: so they are an odd
  // number, and the last one leaves its list where the next step of the team looks for it, unless it is the last of
  // this phase.
  template <class Team, class Forest>
  DEVICE Count expand_small_levels(const Steps<Team>& steps, const Forest& forest, Vertex& level,
                                   bool shortest_only) const {
    Team team = steps.team.team_of_one();
    Progress progress{};
    progress.num_ends = steps.progress.num_ends;
    Steps<Team> small(team, progress);
    small.begin_as(steps);
    Count inspected = 0;
    for (bool odd = true;; odd = !odd, ++level) {
      inspected += expand_level(small, forest, level);
      small.end();
      if (small.todo() == 0 || (shortest_only && small.found() > 0)) break;
      if (odd && small.todo() > Team::SMALL_STEP) break;
    }
    steps.progress.num_ends = progress.num_ends;
    steps.progress.todo[steps.next()] = small.todo();
    steps.progress.found[steps.next()] = small.found();
    return inspected;
  }

  template <class Team, class Forest>
  DEVICE Count expand_level(const Steps<Team>& steps, const Forest& forest, Vertex level) const {
    Count inspected = 0;
    forest.each_frontier_row(steps, level, [&](Vertex row, Vertex root) {
      const Range range = columns_of(row);  // before the question, so that both loads are under way at once
      if (!forest.grows(steps.team, root)) return;
      inspected += scan(steps.team, range, [&](Vertex column) {
        return forest.visit(steps, row, root, column, level);
      });
    });
    return inspected;
  }

  // visit(column) for the columns of a row, shared out over the lanes of a group, until it returns false.
  // Returns how many this lane looked at.
  template <class Team, class Visit>
  DEVICE Count scan(const Team& team, Range range, Visit visit) const {
    Count inspected = 0;
    for (Offset edge = range.begin + team.lane(); edge < range.end; edge += team.lanes()) {
      ++inspected;
      if (!visit(column(edge))) break;
    }
    return inspected;
  }
};
