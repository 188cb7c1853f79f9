// pair_costs.cuh: what the pairs of an assignment cost, as stored.
#pragma once
#include "costs/inspection.cuh"

template <class Costs>
struct EntryOf;
template <class Cost>
struct EntryOf<Entries<Cost>> {
  using type = Cost;
};

// The entry of each row in its column; of a row without one any entry.
template <class Team, class Cost>
DEVICE void find_pair_costs(const Team& team, const Entries<Cost>& entries, const Vertex* row_match, Cost* pair_costs) {
  team.each(entries.num_rows, [&](Count row) {
    const Count column = row_match[row] == NONE ? 0 : row_match[row];
    pair_costs[row] = entries.first[row * entries.row_stride + column * entries.column_stride];
  });
}

// Writes the stored entry of each row in its column. Rows without a column get nothing. Columns of a row differ.
template <class Team, class Costs>
DEVICE void find_stored_pair_costs(const Team& team, const Costs& costs, const Vertex* row_match,
                                   typename Costs::Cost* pair_costs) {
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), wanted = row_match[row];
    const auto end = costs.end(row);
    for (auto edge = costs.begin(row) + team.lane(); edge < end; edge += team.lanes()) {
      if (costs.column(edge) == wanted) pair_costs[row] = costs.entries[edge];
    }
  });
}
