// point_bounds.cu: passes over pairs of points of many coordinates by bounds. TERMS say which metric.
#include "points/bounds.cuh"

PROGRAM(price_bounds_grid, 512)
(PointPairs pairs, Count dimension, const float* window, const Vertex* rows, const float* of_rows, const float* of_columns,
 const float* rounded_v, double per_unit, double* keys, Vertex* columns, int most, Count* places, Count* number,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  const BoundedPass<TERMS> pass{pairs, dimension, {window, rows, of_rows, of_columns, rounded_v, per_unit}};
  price_by_bounds(team, pass, {keys, columns}, {most, rows, places, number});
}

PROGRAM(overpriced_bounds_grid, 512)
(PointPairs pairs, Count dimension, const float* window, const Vertex* rows, const float* of_rows, const float* of_columns,
 const float* rounded_v, double per_unit, double* keys, Vertex* columns, int most, Count* places, Count* number, const double* u,
 const double* v, double* least, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  const BoundedPass<TERMS> pass{pairs, dimension, {window, rows, of_rows, of_columns, rounded_v, per_unit}};
  find_overpriced_by_bounds(team, pass, u, v, least, {keys, columns}, {most, rows, places, number});
}

PROGRAM(draw_pairs_grid, 512)
(PointPairs pairs, Count dimension, const double* v, int turn, Count* places, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  draw_pairs(team, BoundedPass<TERMS>{pairs, dimension, {}}, v, static_cast<unsigned>(turn), places);
}

PROGRAM(costs_by_places_grid, 512)
(PointPairs pairs, Count dimension, const Count* places, Count num_places, double* found, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_costs_by_places(team, BoundedPass<TERMS>{pairs, dimension, {}}, places, num_places, found);
}

PROGRAM(round_duals_grid, 512)
(PointPairs pairs, const double* v, double per_unit, float* rounded, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  round_duals(team, v, pairs.num_columns, per_unit, rounded);
}

PROGRAM(largest_grid, 512)
(PointPairs pairs, Count dimension, const double* centre, double* largest, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_largest(team, pairs.x, pairs.num_rows, dimension, centre, largest);
}

PROGRAM(halves_grid, 512)
(PointPairs pairs, Count dimension, Count width, const double* centre, double factor, double least, double* sums,
 unsigned short* made, double* lost, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  make_halves(team, pairs.x, pairs.num_rows, dimension, width, centre, factor, least, sums, made, lost);
}

PROGRAM(factors_grid, 512)
(PointPairs pairs, Count dimension, Count width, const double* centre, double scale, double factor, double of_square,
 double base, double off, double least, int part_of_low, double* sums, float* made, float* of_points, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  const Factors factors{scale, factor, of_square, base, off, least, part_of_low};
  make_factors(team, pairs.x, pairs.num_rows, dimension, width, centre, factors, sums, made, of_points);
}

PROGRAM(finish_window_grid, 512)
(PointPairs pairs, const float* of_rows, const float* of_columns, float* window, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  finish_window(team, BoundedPass<TERMS>{pairs, 0, {nullptr, nullptr, of_rows, of_columns, nullptr, 0}}, window);
}

PROGRAM(bounds_of_window_grid, 512)(PointWindow window, double per_unit, float* bounds, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_bounds_of_window<TERMS>(team, window, per_unit, bounds);
}
