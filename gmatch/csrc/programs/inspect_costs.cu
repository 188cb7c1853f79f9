// inspect_costs.cu: what costs hold, found out by a GPU. COSTS are Entries.
#include "costs/inspection.cuh"

PROGRAM(inspect_costs_grid, 1024)(COSTS entries, CostInspection* inspection, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  inspect_costs(team, entries, *inspection);
}
