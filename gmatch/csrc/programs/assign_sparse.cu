// assign_sparse.cu: sparse assignment on a GPU. COSTS are SparseCosts, ROW_LANES is how many threads share a row.
#include "assignment/assign_sparse.cuh"
#include "costs/pair_costs.cuh"

PROGRAM(assign_sparse_grid, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  assign_stored(team, costs, task, spread);
}

PROGRAM(assign_sparse_block, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  BlockTeam<ROW_LANES> team(arrivals);
  assign_stored(team, costs, task, spread);
}

// The auction alone. Writes its pairs and its v. If no auction is held, as for costs that are all equal, nothing is written.
PROGRAM(bid_sparse_grid, 512)
(COSTS costs, AssignmentTask<COSTS::Dual> task, COSTS::Dual spread, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  bool was_held = false;
  team = start_from_auction(team, costs, task, spread, true, &was_held);
}

PROGRAM(find_stored_costs_grid, 512)
(COSTS costs, const Vertex* row_match, COSTS::Cost* pair_costs, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  find_stored_pair_costs(team, costs, row_match, pair_costs);
}
