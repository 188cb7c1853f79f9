// sparse.cuh: the costs of a sparse assignment problem, as they lie in memory: compressed sparse rows whose stored
// entries are the allowed pairs. Never copied, never rewritten.
#pragma once
#include "costs/dense.cuh"

// Offsets may be 64-bit; a column number always fits a Vertex, whatever type it is stored in.
template <class Cost_, class Offset_, class Column>
struct SparseCosts {
  using Cost = Cost_;
  using Offset = Offset_;
  using Dual = typename DualOf<Cost>::type;
  static constexpr bool LEAVES_OUT = false;
  static constexpr bool FEW_COLUMNS = false;  // whether a matrix of all pairs fits into memory

  Vertex num_rows;        // not more than num_columns: every row must be matched
  Vertex num_columns;
  const Offset* offsets;  // [num_rows + 1]
  const Column* columns;  // [offsets[num_rows]] columns of a row differ
  const Cost* entries;    // [offsets[num_rows]]
  bool maximize;          // the cost of a pair is minus its entry

  FIELDS(SparseCosts, num_rows, num_columns, offsets, columns, entries, maximize)

  // More than any sum of costs.
  static DEVICE Dual infinite() { return beyond_all(Dual{}); }

  DEVICE Offset begin(Vertex row) const { return offsets[row]; }
  DEVICE Offset end(Vertex row) const { return offsets[row + 1]; }
  DEVICE bool has_edges(Vertex row) const { return begin(row) < end(row); }
  DEVICE Vertex column(Count edge) const { return static_cast<Vertex>(columns[edge]); }
  DEVICE Vertex room(Vertex row) const { return static_cast<Vertex>(end(row) - begin(row)); }  // places of a row
  template <class Team>
  DEVICE Vertex size(const Team&, Vertex row) const { return room(row); }
  DEVICE Dual of_entry(Cost entry) const { return maximize ? -static_cast<Dual>(entry) : static_cast<Dual>(entry); }
  // The cost of a stored pair; plus infinity if it is forbidden.
  DEVICE Dual at(Count edge) const { return of_entry(entries[edge]); }
};
