// point_order.cu: an order of points in which near points follow one another.
#include "points/order.cuh"

PROGRAM(keys_of_nodes_grid, 512)
(const double* points, int dimension, Count num_points, Count size_of_group, Count num_nodes, const Count* order, int* widest,
 double* keys, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_keys_of_nodes(team, points, dimension, {num_points, size_of_group, num_nodes}, order, widest, keys);
}

PROGRAM(take_places_grid, 512)
(const Count* order, const Count* sorted, Count num_points, Count* taken, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  take_places(team, order, sorted, num_points, taken);
}
