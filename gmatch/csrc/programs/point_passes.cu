// point_passes.cu: passes over all pairs of points of few coordinates. TERMS say which metric, COORDINATES how many.
#include "points/passes.cuh"

PROGRAM(price_points_grid, 512)
(PointPairs pairs, const double* v, Vertex* sizes, Vertex* columns, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  price_rows(team, PointPass<TERMS, COORDINATES>{pairs}, v, sizes, columns);
}

PROGRAM(overpriced_points_grid, 512)
(PointPairs pairs, const double* u, const double* v, double* least, Vertex* sizes, Vertex* columns, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_overpriced_pairs(team, PointPass<TERMS, COORDINATES>{pairs}, u, v, least, sizes, columns);
}

PROGRAM(costs_of_places_grid, 512)
(PointPairs pairs, const Count* places, Count num_places, double* found, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_costs_of_places(team, PointPass<TERMS, COORDINATES>{pairs}, places, num_places, found);
}
