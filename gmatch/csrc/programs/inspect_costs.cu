// inspect_costs.cu: the check of costs, and the costs of the pairs of an assignment, on a GPU. COSTS are Entries.
#include "costs/pair_costs.cuh"

// `bound` and `sign` are as in DearEntries; with sign 0 nobody asks for dear entries.
PROGRAM(inspect_costs_grid, 1024)(COSTS entries, Count bound, int sign, CostInspection* inspection, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  NoDearEntries nobody_asks;
  if (sign == 0) return inspect_costs(team, entries, *inspection, nobody_asks);
  DearEntries dear{bound, sign};
  dear.look_at_sample(team, entries);
  inspect_costs(team, entries, *inspection, dear);
  team.add_all(&inspection->dear, dear.number);
  team.min_all(&inspection->below, dear.below);
  if (team.rank() == 0) inspection->bound = dear.bound;
}

PROGRAM(find_pair_costs_grid, 512)
(COSTS entries, const Vertex* row_match, EntryOf<COSTS>::type* pair_costs, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_pair_costs(team, entries, row_match, pair_costs);
}
