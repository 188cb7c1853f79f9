// sparse_rows.cuh: what is asked of compressed sparse rows beside a search.
#pragma once
#include "cardinality/csr_edges.cuh"

// Entries that do not lie to the right of the one before in their row. Where there are none, there are no duplicates.
template <class Team, class Edges>
DEVICE void count_unsorted(Team& team, const Edges& edges, Count* num_unsorted) {
  Count unsorted = 0;
  team.each_group(edges.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    const auto end = edges.end(row);
    for (auto edge = edges.begin(row) + 1 + team.lane(); edge < end; edge += team.lanes()) {
      unsorted += edges.column(edge) <= edges.column(edge - 1);
    }
  });
  team.add_all(num_unsorted, unsorted);
}

// The position of the entry of each pair, NONE for pairs that are not stored and rows without one. Columns of a row differ.
template <class Team, class Edges>
DEVICE void find_entries(Team& team, const Edges& edges, const Vertex* row_match, Count* positions) {
  team.each_group(edges.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), wanted = row_match[row];
    const auto end = edges.end(row);
    Count found = LAST_VERTEX;
    for (auto place = team.lane() + edges.begin(row); place < end; place += team.lanes()) {
      found = edges.column(place) == wanted ? place - edges.begin(row) : found;
    }
    found = team.min_group(found);
    if (team.lane() == 0) positions[row] = found == LAST_VERTEX ? NONE : edges.begin(row) + found;
  });
}
