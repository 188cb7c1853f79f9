// sparse_rows.cuh: the check of compressed sparse rows, their order, and the positions of pairs in them.
#pragma once
#include "cardinality/csr_edges.cuh"

// The faults of a graph, which is not trusted yet.
struct Inspection {
  Count falling_offsets;  // rows that end before they begin
  Count first_offset;
  Count last_offset;
  Count bad_columns;  // entries that name no column; counted only if all offsets are good

  FIELDS(Inspection, falling_offsets, first_offset, last_offset, bad_columns)
};

// `num_entries` is the length of edges.columns. Reads nothing outside the arrays, whatever they hold.
template <class Team, class Edges>
DEVICE void inspect_graph(Team& team, const Edges& edges, Count num_entries, Inspection& inspection) {
  Count falling = 0;
  team.each(edges.num_rows, [&](Count row) { falling += edges.end(row) < edges.begin(row); });
  team.add_all(&inspection.falling_offsets, falling);
  team.sync();

  const Count first = edges.offsets[0], last = edges.offsets[edges.num_rows];
  if (team.rank() == 0) {
    inspection.first_offset = first;
    inspection.last_offset = last;
  }
  if (team.read(&inspection.falling_offsets) != 0 || first != 0 || last > num_entries) return;
  Count bad = 0;
  team.each(last, [&](Count edge) {
    bad += edges.columns[edge] < 0 || edges.columns[edge] >= edges.num_columns;
  });
  team.add_all(&inspection.bad_columns, bad);
}

// Counts the entries that do not lie to the right of the entry before in their row. At 0 there are no duplicates.
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

// The position of the entry of each pair; NONE if the pair is not stored, or the row is free. Columns of a row differ.
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
