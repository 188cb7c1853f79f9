// assign_batch.cu: many assignment problems on a GPU. COSTS are a Batch, EDGES the edges of the variant,
// BLOCK_LIMIT how many threads a block has at most.
#include "assignment/checked_batch.cuh"

// A block checks and solves one problem at a time, and then takes the next one.
PROGRAM(assign_batch, BLOCK_LIMIT)
(COSTS batch, char* workspace, Count workspace_size, Count near_size, int* next) {
  BlockTeam<32> team(nullptr);
  char* memory = team.own_memory(workspace, workspace_size, near_size);
  for (int p = team.next(next); p < batch.num_problems; p = team.next(next)) {
    check_and_assign_problem<EDGES>(team, batch, p, memory);
  }
}
