// pair_lists.cu: lists of pairs, merged, counted and turned into sparse rows.
#include "points/lists.cuh"

PROGRAM(merge_pairs_grid, 512)
(const Count* places, const double* costs, Count length, const Count* others, const double* costs_of_others, Count num_others,
 Count* merged, double* costs_of_merged, Count* fresh, Count* counts, Count* number, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  merge_pairs(team, {places, costs, length}, {others, costs_of_others, num_others}, {merged, costs_of_merged, 0}, fresh, counts,
              number);
}

PROGRAM(make_rows_grid, 512)
(const Count* places, const double* costs, Count length, Count num_rows, Count num_columns, const double* v, int* offsets,
 Vertex* columns, double* above, Count* range, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  make_rows(team, {places, costs, length}, num_rows, num_columns, v, offsets, columns, above, range);
}

PROGRAM(make_long_rows_grid, 512)
(const Count* places, const double* costs, Count length, Count num_rows, Count num_columns, const double* v, Count* offsets,
 Vertex* columns, double* above, Count* range, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  make_rows(team, {places, costs, length}, num_rows, num_columns, v, offsets, columns, above, range);
}

PROGRAM(count_unknown_grid, 512)
(const Count* places, const double* costs, Count length, const double* v, Count num_rows, Count num_columns, const Count* known,
 Count num_known, Count* number, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  count_unknown(team, {places, costs, length}, v, num_rows, num_columns, known, num_known, number);
}

PROGRAM(least_of_lists_grid, 512)
(const Count* places, const double* costs, Count length, const double* v, Count num_rows, Count num_columns, double* least,
 unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_least_of_lists(team, {places, costs, length}, v, num_rows, num_columns, least);
}

PROGRAM(place_pairs_grid, 512)
(const Vertex* sizes, const Vertex* columns, Count num_rows, Count most, Count first_row, Count num_columns, Count* places,
 Count* number, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  place_pairs(team, sizes, columns, num_rows, most, first_row, num_columns, places, number);
}

PROGRAM(turn_pairs_grid, 512)
(const Count* places, Count length, Count first_row, Count num_rows, Count num_columns, Count* turned, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  turn_pairs(team, places, length, first_row, num_rows, num_columns, turned);
}

PROGRAM(copy_rows_grid, 512)
(const unsigned* from, Count words, const Vertex* rows, Count num_rows, unsigned* to, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  copy_rows(team, from, words, rows, num_rows, to);
}
