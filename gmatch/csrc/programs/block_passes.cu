// block_passes.cu: passes over a block of a matrix that several GPUs hold. COSTS are DenseCosts.
#include "core/block_passes.cuh"

using Dual = COSTS::Dual;

PROGRAM(least_of_rows_grid, 512)(COSTS costs, BlockPass<Dual> pass, Dual* least, Vertex* nearest, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_least_of_rows(team, costs, pass, least, nearest);
}

PROGRAM(least_of_columns_grid, 512)(COSTS costs, const Dual* u, Dual* least, Count* places, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_least_of_columns(team, costs, u, least, places);
}

PROGRAM(entries_up_to_grid, 512)
(COSTS costs, BlockPass<Dual> pass, Dual most, Count* places, Dual* slacks, Count room, Count* found, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  list_entries_up_to(team, costs, pass, most, ListedEntries<Dual>{places, slacks, room, found});
}

PROGRAM(price_rows_grid, 512)
(COSTS costs, const Dual* v, Vertex* sizes, Vertex* columns, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  price_rows(team, passes_over(costs), v, sizes, columns);
}

PROGRAM(overpriced_grid, 512)
(COSTS costs, const Dual* u, const Dual* v, Vertex* sizes, Vertex* columns, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_overpriced(team, costs, u, v, sizes, columns);
}

PROGRAM(close_grid, 512)
(COSTS costs, Forest<Dual> forest, Vertex* next, Count length, Dual bound, Count wanted, Dual* limits, Count* within,
 Vertex* lengths, Dual* threshold, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  close_forest(team, costs, forest, Closing<Dual>{next, length, bound, wanted, limits, within, lengths, threshold});
}
