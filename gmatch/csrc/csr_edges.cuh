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

  template <class Team, class Forest>
  DEVICE Count expand(const Steps<Team>& steps, const Forest& forest, Vertex level) const {
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
