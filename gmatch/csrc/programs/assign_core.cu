// assign_core.cu: dense assignment by a sparse core on a GPU. COSTS are DenseCosts.
#include "core/program.cuh"

PROGRAM(assign_core_grid, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  assign_by_core(team, costs, task, spread);
}
