// match.cu: maximum cardinality matching on a GPU. EDGES are the edges of the graph, FOREST says how threads that race for
// a vertex are reconciled, ROW_LANES is how many threads share a row.
#include "cardinality/match.cuh"

PROGRAM(match_grid, 1024)(EDGES edges, Task task, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  match_cardinality<FOREST>(team, edges, task);
}

PROGRAM(match_block, 1024)(EDGES edges, Task task, unsigned* arrivals) {
  BlockTeam<ROW_LANES> team(arrivals);
  match_cardinality<FOREST>(team, edges, task);
}
