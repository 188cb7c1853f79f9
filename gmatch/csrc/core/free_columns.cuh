// free_columns.cuh: prices of the columns that an auction of a core has left free.
#pragma once
#include "core/core.cuh"

template <class Dual>
struct FreeColumns {
  Dual* u;       // [num_rows]    to work in
  Dual* v;       // [num_columns]
  Count* list;   // [num_columns] to be found
  Vertex* size;  // [1]           of the list
};

// A column that is among the best of no row, or of too few rows, is free after an auction and has its first price. Rows
// that did not know it have outbid each other for other columns. Its v becomes the bid of the row of the whole matrix that
// finds it best.
template <class Team, class Stored, class Dual>
DEVICE void price_free_columns(Team& team, const Core<Stored>& core, const Matching& matching,
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
  // One group for each column. Several groups could not combine their minima: atomic minima of a GPU are for numbers that
  // are not negative.
  team.each_group(*free_columns.size, [&](Count k) {
    const Vertex column = static_cast<Vertex>(free_columns.list[k]);
    const Dual least = least_of_column(team, core.dense, column, free_columns.u);
    if (team.lane() == 0) free_columns.v[column] = least == core.infinite() ? 0 : least;  // no row may have it
  });
  team.sync();
}

// The least cost - u in a column. A lane reads some rows at once, since each entry is a line of memory of its own.
template <class Team, class Stored, class Dual>
DEVICE Dual least_of_column(const Team& team, const DenseCosts<Stored>& costs, Vertex column, const Dual* u) {
  Dual least = costs.infinite();
  for (Vertex first = team.lane(); first < costs.num_rows; first += Team::AT_ONCE * team.lanes()) {
    Dual cost[Team::AT_ONCE];
    for (int q = 0; q < Team::AT_ONCE; ++q) {
      const Vertex row = first + q * team.lanes();
      cost[q] = row < costs.num_rows ? costs.at(row, column) : costs.infinite();
    }
    for (int q = 0; q < Team::AT_ONCE; ++q) {
      const Vertex row = first + q * team.lanes();
      if (cost[q] == costs.infinite() || u[row] == costs.infinite()) continue;
      least = cost[q] - u[row] < least ? cost[q] - u[row] : least;
    }
  }
  return team.min_group(least);
}

// The least cost - v in a row of the core, over columns that have an owner.
template <class Team, class Stored, class Dual>
DEVICE Dual best_of_owned(const Team& team, const Core<Stored>& core, Vertex row, const Matching& matching, const Dual* v) {
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

// Raises v of the columns that price_free_columns found.
template <class Team, class Dual>
DEVICE void raise_columns(Team& team, const FreeColumns<Dual>& free_columns, Dual by) {
  team.each(*free_columns.size, [&](Count k) { free_columns.v[free_columns.list[k]] += by; });
  team.sync();
}
