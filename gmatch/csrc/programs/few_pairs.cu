// few_pairs.cu: a matrix in which nearly all pairs cost the same, as sparse costs, and its solution from
// their solution. COSTS are DenseCosts.
#include "costs/few_pairs.cuh"

PROGRAM(double_few_pairs_grid, 512)
(COSTS costs, COSTS::Dual common, int* offsets, Vertex* columns, COSTS::Dual* entries, int* next, int* sums, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  double_few_pairs(team, costs, common, DoubledPairs<COSTS::Dual>{offsets, columns, entries, next, sums});
}

PROGRAM(halve_few_pairs_grid, 512)
(COSTS costs, Vertex* row_match_of_doubled, Vertex* col_match_of_doubled, COSTS::Dual* u_of_doubled, COSTS::Dual* v_of_doubled,
 Vertex* row_match, Vertex* col_match, COSTS::Dual* u, COSTS::Dual* v, Vertex* free_rows, Vertex* free_columns, Vertex* numbers,
 COSTS::Dual* largest, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  halve_few_pairs(team, costs.num_rows, costs.num_columns,
                  PairsAndDuals<COSTS::Dual>{row_match_of_doubled, col_match_of_doubled, u_of_doubled, v_of_doubled},
                  PairsAndDuals<COSTS::Dual>{row_match, col_match, u, v},
                  Halving<COSTS::Dual>{free_rows, free_columns, numbers, largest});
}
