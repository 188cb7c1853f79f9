// inspect_costs.cu: the check of costs, and the costs of the pairs of an assignment, on a GPU. COSTS are Entries.
#include "costs/pair_costs.cuh"

PROGRAM(inspect_costs_grid, 1024)(COSTS entries, CostInspection* inspection, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  inspect_costs(team, entries, *inspection);
}

PROGRAM(find_pair_costs_grid, 512)
(COSTS entries, const Vertex* row_match, EntryOf<COSTS>::type* pair_costs, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_pair_costs(team, entries, row_match, pair_costs);
}
