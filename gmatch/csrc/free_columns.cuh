// free_columns.cuh: what columns are worth that an auction of a core has left free.
#pragma once
#include "pricing.cuh"

template <class Dual>
struct FreeColumns {
  Dual* u;       // [num_rows]    to work in
  Dual* v;       // [num_columns]
  Count* list;   // [num_columns] to be found
  Vertex* size;  // [1]           of the list
};

// A column that is among the best of no row, or of too few, is free after an auction, and as dear as at first, while rows
// that had to do without it have outbid each other for the others. Its v becomes what the row of the whole matrix that
// finds it best would bid for it.
template <class Team, class Cost, class Dual>
DEVICE void price_free_columns(Team& team, const Core<Cost>& core, const Matching& matching,
                               const FreeColumns<Dual>& free_columns) {
  if (team.rank() == 0) *free_columns.size = 0;
  team.sync();
  team.each(core.num_columns, [&](Count column) {
    if (matching.col_match[column] == NONE) free_columns.list[team.fetch_add(free_columns.size, 1)] = column;
  });
  team.each_group(core.num_rows, [&](Count row) {
    const Dual best = best_of_owned(team, core, static_cast<Vertex>(row), matching, free_columns.v);
    if (team.lane() == 0) free_columns.u[row] = best;
  });
  team.sync();
  const Count size = *free_columns.size;
  team.each(size, [&](Count k) { free_columns.v[free_columns.list[k]] = core.infinite(); });
  team.sync();
  // Some rows for each lane of a group: an entry of a column is a line of memory for itself.
  const Vertex rows_of_group = team.lanes() * Team::AT_ONCE;
  const Vertex parts = (core.num_rows + rows_of_group - 1) / rows_of_group;
  team.each_group(size * parts, [&](Count item) {
    const Vertex column = static_cast<Vertex>(free_columns.list[item / parts]);
    const Vertex first = static_cast<Vertex>(item % parts) * rows_of_group + team.lane();
    Dual least = core.infinite();
    for (int q = 0; q < Team::AT_ONCE; ++q) {
      const Vertex row = first + q * team.lanes();
      if (row >= core.num_rows || free_columns.u[row] == core.infinite()) continue;
      const Dual cost = core.dense.at(row, column);
      if (cost == core.infinite()) continue;
      least = cost - free_columns.u[row] < least ? cost - free_columns.u[row] : least;
    }
    least = team.min_group(least);
    if (team.lane() == 0) team.lower(&free_columns.v[column], least);
  });
  team.sync();
  team.each(size, [&](Count k) {
    Dual& v = free_columns.v[free_columns.list[k]];
    if (v == core.infinite()) v = 0;  // no row may have it
  });
  team.sync();
}

// The least of cost - v in a row of the core, of columns with an owner.
template <class Team, class Cost, class Dual>
DEVICE Dual best_of_owned(const Team& team, const Core<Cost>& core, Vertex row, const Matching& matching, const Dual* v) {
  const auto entries = row_of(core, row);
  Dual least = core.infinite();
  for (Vertex place = team.lane(); place < entries.size; place += team.lanes()) {
    const Vertex column = entries.column(place);
    if (matching.col_match[column] == NONE) continue;
    const Dual reduced = entries.at(place) - v[column];
    least = reduced < least ? reduced : least;
  }
  return team.min_group(least);
}

// After price_free_columns, of the same columns.
template <class Team, class Dual>
DEVICE void raise_columns(Team& team, const FreeColumns<Dual>& free_columns, Dual by) {
  team.each(*free_columns.size, [&](Count k) { free_columns.v[free_columns.list[k]] += by; });
  team.sync();
}
