// point_passes.cu: passes over all pairs of points of few coordinates. TERMS say which metric, COORDINATES how many.
#include "points/passes.cuh"

PROGRAM(price_points_grid, 512)
(PointPairs pairs, const double* boxes, const double* v, double* tops, int chosen, Vertex* sizes, Vertex* columns,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_tops(team, v, pairs.num_columns, tops);
  price_points(team, PointPass<TERMS, COORDINATES>{pairs, {boxes, v, tops}}, chosen, sizes, columns);
}

PROGRAM(overpriced_points_grid, 512)
(PointPairs pairs, const double* boxes, const double* u, const double* v, double* tops, double* least, Vertex* sizes,
 Vertex* columns, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_tops(team, v, pairs.num_columns, tops);
  find_overpriced_pairs(team, PointPass<TERMS, COORDINATES>{pairs, {boxes, v, tops}}, u, least, sizes, columns);
}

PROGRAM(least_of_points_grid, 512)
(PointPairs pairs, const double* boxes, const double* v, double* tops, double* least, Vertex* nearest,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_tops(team, v, pairs.num_columns, tops);
  find_least_of_points(team, PointPass<TERMS, COORDINATES>{pairs, {boxes, v, tops}}, least, nearest);
}

PROGRAM(costs_of_places_grid, 512)
(PointPairs pairs, const Count* places, Count num_places, double* found, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_costs_of_places(team, PointPass<TERMS, COORDINATES>{pairs, {}}, places, num_places, found);
}

PROGRAM(boxes_of_points_grid, 512)(PointPairs pairs, double* boxes, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_boxes(team, pairs.y, COORDINATES, pairs.num_columns, boxes);
}
