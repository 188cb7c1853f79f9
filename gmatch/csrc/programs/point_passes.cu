// point_passes.cu: passes over all pairs of points of few coordinates. TERMS say which metric, COORDINATES how many.
#include "points/passes.cuh"

PROGRAM(price_points_grid, 512)
(PointPairs pairs, const double* boxes, const double* v, const double* tops, int chosen, Vertex* sizes, Vertex* columns,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  price_points(team, PointPass<TERMS, COORDINATES>{pairs, {boxes, v, tops}}, chosen, sizes, columns);
}

PROGRAM(overpriced_points_grid, 512)
(PointPairs pairs, const double* boxes, const double* u, const double* v, const double* tops, double* least, Vertex* sizes,
 Vertex* columns, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_overpriced_pairs(team, PointPass<TERMS, COORDINATES>{pairs, {boxes, v, tops}}, u, least, sizes, columns);
}

PROGRAM(least_of_points_grid, 512)
(PointPairs pairs, const double* boxes, const double* v, const double* tops, double* least, Vertex* nearest,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_least_of_points(team, PointPass<TERMS, COORDINATES>{pairs, {boxes, v, tops}}, least, nearest);
}

PROGRAM(costs_of_places_grid, 512)
(PointPairs pairs, const Count* places, Count num_places, double* found, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_costs_of_places(team, PointPass<TERMS, COORDINATES>{pairs, {}}, places, num_places, found);
}
