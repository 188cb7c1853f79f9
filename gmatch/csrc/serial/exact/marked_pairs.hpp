// marked_pairs.hpp: the assignment of the least sum of weights, along some pairs. See serial/exact/named_optimum.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "serial/rows/lanes.hpp"
#include "serial/sparse_shortest_path.hpp"

// Pairs in the order of their rows, and their weights: marks or slacks, less rewards for columns that must be used. An assignment
// of all rows exists, unless costs changed after the pairs were found.
struct MarkedPairs {
  Vertex num_rows, num_columns;
  std::vector<Count> offsets;    // [num_rows + 1]
  std::vector<Vertex> columns;   // of each pair
  std::vector<Count> weights;    // of each pair

  Count size() const { return static_cast<Count>(weights.size()); }
};

// The pairs of an assignment of all rows of least weight, and duals that prove it.
struct LeastMarks {
  std::vector<Vertex> row_match, col_match;
  std::vector<Count> u, v;

  // False if there is no such assignment.
  bool find(const MarkedPairs& pairs) {
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

// No sum of marks or other weights up to `most`, with rewards if there are any, is larger, nor of their duals.
inline double largest_sum(Count most, Vertex rows, bool has_rewards) {
  const double of_reward = has_rewards ? 2.0 * (rows + 1) : 1;
  return (most + 1.0) * of_reward * (32 + 8.0 * rows);
}

constexpr int MARK_BITS = 20;

// Marks of names by SplitMix64 (Steele, Lea, Flood 2014).
template <class Names>
ALWAYS_INLINE Names marks_of(const Names& names, int turn, int mark_bits) {
  Names mixed = names + (turn + 1) * 0x9E3779B97F4A7C15ULL;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBULL;
  return (mixed ^ mixed >> 31) >> (64 - mark_bits);
}
inline Count mark_of(Count name, int turn, int mark_bits = MARK_BITS) {
  return static_cast<Count>(marks_of(static_cast<unsigned long long>(name), turn, mark_bits));
}
