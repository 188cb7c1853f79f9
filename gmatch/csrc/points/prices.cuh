// prices.cuh: what soft minima need of a sample of rows on a GPU: see gmatch/distributed/sampled.py.
#pragma once
#include "costs/dense.cuh"
#include "points/sums.cuh"

// Some rows of costs in float32. Pairs that cost inf are forbidden.
struct SampleOfRows {
  const float* costs;
  Count num_rows, row_stride, num_columns;

  DEVICE const float* row(Count number) const { return costs + number * row_stride; }
};

// The best column of each row. Of equal ones, row i of n takes the first from column i * num_columns / n on.
template <class Team>
DEVICE void find_wanted(Team& team, const SampleOfRows& sample, Count* wanted) {
  team.each_group(sample.num_rows, [&](Count row) {
    const Count columns = sample.num_columns, begin = row * columns / sample.num_rows;
    const float* const costs = sample.row(row);
    double least = beyond_all(double{});
    Count after_begin = LAST_VERTEX;
    for (Count i = team.lane(); i < columns; i += team.lanes()) {
      const Count column = i + begin < columns ? i + begin : i + begin - columns;
      const double here = costs[column];
      after_begin = here < least ? i : after_begin;
      least = here < least ? here : least;
    }
    const double least_of_all = team.min_group(least);
    const Count first = team.min_group(least == least_of_all ? after_begin : Count{LAST_VERTEX});
    const Count found = begin + (first == LAST_VERTEX ? 0 : first);
    if (team.lane() == 0) wanted[row] = found < columns ? found : found - columns;
  });
}

// For each row: the sum of what allowed pairs cost above the least, and their number. `sums` [num_rows][32] is memory.
template <class Team>
DEVICE void find_above_the_least(Team& team, const SampleOfRows& sample, double* sums, double* above, double* allowed) {
  team.each_group(sample.num_rows, [&](Count row) {
    const float* const costs = sample.row(row);
    double least = beyond_all(double{}), mine = 0, number = 0;
    for (Count column = team.lane(); column < sample.num_columns; column += team.lanes()) {
      least = costs[column] < least ? static_cast<double>(costs[column]) : least;
    }
    least = team.min_group(least);
    for (Count column = team.lane(); column < sample.num_columns; column += team.lanes()) {
      if (!(costs[column] < beyond_all(double{}))) continue;
      mine += costs[column] - least;
      number += 1;
    }
    const double sum = sum_of_group(team, sums + row * 32, mine), all = sum_of_group(team, sums + row * 32, number);
    if (team.lane() != 0) return;
    above[row] = sum;
    allowed[row] = all;
  });
}

// How much of the rows each column gets: rows are shared among columns by exp((v - cost) / epsilon). A free row costs minus
// `free`. If `free` is -inf, no row stays free. `sums` [num_rows][32], `most` and `of_rows` [num_rows] are memory.
template <class Team>
DEVICE void find_shares(Team& team, const SampleOfRows& sample, const float* v, float per_epsilon, float free, double* sums,
                        float* most, float* of_rows, float* shares) {
  team.each_group(sample.num_rows, [&](Count row) {
    const float* const costs = sample.row(row);
    double minus_most = -static_cast<double>(free), mine = 0;
    for (Count column = team.lane(); column < sample.num_columns; column += team.lanes()) {
      const double here = costs[column] - v[column];
      minus_most = here < minus_most ? here : minus_most;
    }
    minus_most = team.min_group(minus_most);
    const float most_here = minus_most < beyond_all(double{}) ? static_cast<float>(-minus_most) : 0;
    for (Count column = team.lane(); column < sample.num_columns; column += team.lanes()) {
      mine += expf((v[column] - costs[column] - most_here) * per_epsilon);
    }
    double sum = sum_of_group(team, sums + row * 32, mine);
    if (free > -beyond_all(double{})) sum += expf((free - most_here) * per_epsilon);
    if (team.lane() != 0) return;
    most[row] = most_here;
    of_rows[row] = sum == 0 ? 1 : static_cast<float>(1 / sum);
  });
  team.sync();
  team.each(sample.num_columns, [&](Count column) {
    float share = 0;
    for (Count row = 0; row < sample.num_rows; ++row) {
      share += of_rows[row] * expf((v[column] - sample.row(row)[column] - most[row]) * per_epsilon);
    }
    shares[column] = share;
  });
}
