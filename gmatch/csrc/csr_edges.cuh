// csr_edges.cuh: the edges of a graph in compressed sparse rows. Every stored entry is an edge.
#pragma once
#include "team.cuh"

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
