// assign_core.cu: dense assignment by a sparse core on a GPU, in launches that follow each other. COSTS are DenseCosts.
#include "core/program.cuh"

PROGRAM(core_start_grid, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  assign_by_core<CoreLaunch::start>(team, costs, task, spread);
}

PROGRAM(core_search_grid, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  assign_by_core<CoreLaunch::search>(team, costs, task, spread);
}

PROGRAM(core_matrix_grid, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  assign_by_core<CoreLaunch::matrix>(team, costs, task, spread);
}
