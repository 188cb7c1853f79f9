// inspect_costs.cu: the check of costs, and the costs of the pairs of an assignment, on a GPU. COSTS are Entries.
#include "costs/pair_costs.cuh"

// `bound` and `sign` are as in ExpensiveEntries; with sign 0 nobody asks for expensive entries.
PROGRAM(inspect_costs_grid, 1024)(COSTS entries, Count bound, int sign, CostInspection* inspection, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  NoExpensiveEntries nobody_asks;
  if (sign == 0) return inspect_costs(team, entries, *inspection, nobody_asks);
  ExpensiveEntries expensive{bound, sign};
  expensive.look_at_sample(team, entries);
  inspect_costs(team, entries, *inspection, expensive);
  team.add_all(&inspection->expensive, expensive.number);
  team.min_all(&inspection->below, expensive.below);
  if (team.rank() == 0) inspection->bound = expensive.bound;
}

PROGRAM(find_pair_costs_grid, 512)
(COSTS entries, const Vertex* row_match, EntryOf<COSTS>::type* pair_costs, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_pair_costs(team, entries, row_match, pair_costs);
}
