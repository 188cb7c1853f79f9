// assign.cu: dense assignment on a GPU, the classical variant or the alternating trees. COSTS are DenseCosts, EDGES
// are the edges of the variant, BLOCK_LIMIT is how many threads a block has at most.
#include "assignment/assign.cuh"

PROGRAM(assign_grid, BLOCK_LIMIT)(COSTS costs, AssignmentTask<COSTS::Dual> task, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  assign<EDGES>(team, costs, task);
}

PROGRAM(assign_block, BLOCK_LIMIT)(COSTS costs, AssignmentTask<COSTS::Dual> task, unsigned* arrivals) {
  BlockTeam<32> team(arrivals);
  assign<EDGES>(team, costs, task);
}
