// sample_prices.cu: passes over a sample of rows that prices of columns come from.
#include "points/prices.cuh"

PROGRAM(wanted_grid, 512)
(const float* costs, Count num_rows, Count row_stride, Count num_columns, Count* wanted, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_wanted(team, {costs, num_rows, row_stride, num_columns}, wanted);
}

PROGRAM(above_the_least_grid, 512)
(const float* costs, Count num_rows, Count row_stride, Count num_columns, double* sums, double* above, double* allowed,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_above_the_least(team, {costs, num_rows, row_stride, num_columns}, sums, above, allowed);
}

PROGRAM(shares_grid, 512)
(const float* costs, Count num_rows, Count row_stride, Count num_columns, const float* v, float per_epsilon, float free,
 double* sums, float* most, float* of_rows, float* shares, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_shares(team, {costs, num_rows, row_stride, num_columns}, v, per_epsilon, free, sums, most, of_rows, shares);
}
