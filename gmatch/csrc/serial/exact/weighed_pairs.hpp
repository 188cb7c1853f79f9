// weighed_pairs.hpp: the assignment of the least sum of weights, along some pairs. See serial/exact/named_rows.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "serial/sparse_shortest_path.hpp"

// Pairs in the order of their rows, and their weights: slacks, less rewards for columns that must be used. An assignment
// of all rows exists, unless costs changed after the pairs were found.
struct WeighedPairs {
  Vertex num_rows, num_columns;
  std::vector<Count> offsets;    // [num_rows + 1]
  std::vector<Vertex> columns;   // of each pair
  std::vector<Count> weights;    // of each pair

  Count size() const { return static_cast<Count>(weights.size()); }
};

// The pairs of an assignment of all rows of least weight, and duals that prove it.
struct LeastWeights {
  std::vector<Vertex> row_match, col_match;
  std::vector<Count> u, v;

  // False if there is no such assignment.
  bool find(const WeighedPairs& pairs) {
    row_match.resize(pairs.num_rows);
    col_match.resize(pairs.num_columns);
    u.resize(pairs.num_rows);
    v.resize(pairs.num_columns);
    using Costs = const SparseCosts<Count, Count, Vertex>;
    Costs costs{pairs.num_rows, pairs.num_columns, pairs.offsets.data(), pairs.columns.data(), pairs.weights.data(), false};
    SparseShortestPathCounters counted{};
    SparseShortestPathSolver<Costs> solver(costs, counted);
    return solver.solve(false, row_match.data(), col_match.data(), u.data(), v.data()) == pairs.num_rows;
  }
};

// A bound of all sums of weights up to `most`, with rewards if there are any, and of sums of their duals.
inline double largest_sum(Count most, Vertex rows, bool has_rewards) {
  const double of_reward = has_rewards ? 2.0 * (rows + 1) : 1;
  return (most + 1.0) * of_reward * (32 + 8.0 * rows);
}
