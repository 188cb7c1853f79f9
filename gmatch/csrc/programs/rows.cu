// rows.cu: the check of compressed sparse rows, their order, and the positions of pairs in them, on a GPU. EDGES are their
// entries, ROW_LANES is how many threads share a row.
#include "cardinality/sparse_rows.cuh"

PROGRAM(inspect_grid, 1024)(EDGES edges, Count num_entries, Inspection* inspection, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  inspect_graph(team, edges, num_entries, *inspection);
}

PROGRAM(count_unsorted_grid, 512)(EDGES rows, Count* num_unsorted, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  count_unsorted(team, rows, num_unsorted);
}

PROGRAM(find_entries_grid, 512)
(EDGES rows, const Vertex* row_match, Count* positions, unsigned* arrivals) {
  GridTeam<ROW_LANES> team(arrivals);
  find_entries(team, rows, row_match, positions);
}
