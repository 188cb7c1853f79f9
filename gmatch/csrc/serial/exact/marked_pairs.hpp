// marked_pairs.hpp: the assignment of the least sum of weights, along some pairs. See serial/exact/named_optimum.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "serial/sparse_shortest_path.hpp"
#include "serial/stored_shortest_paths.hpp"

// Pairs in the order of their rows, and their weights: marks or slacks, less rewards for columns that must be used. An assignment
// of all rows exists, unless costs changed after the pairs were found.
struct MarkedPairs {
  Vertex num_rows, num_columns;
  std::vector<Count> offsets;    // [num_rows + 1]
  std::vector<Vertex> columns;   // of each pair
  std::vector<Count> weights;    // of each pair
  double largest_sum;            // no sum of weights or duals is larger

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
    constexpr double EXACT = 0x1p53;  // floats hold all whole numbers below
    const bool is_dense = pairs.num_rows == pairs.num_columns &&
                          pairs.size() >= Count{pairs.num_rows} * pairs.num_columns / DENSE_SHARE;
    return (is_dense && pairs.largest_sum < EXACT ? find_in_matrix(pairs) : find_in_lists(pairs)) == pairs.num_rows;
  }

 private:
  // From 1 pair in 8 on, passes over rows of a square matrix are faster than lists. If columns may stay free, lists are faster
  // whatever their length: benchmarks/log/sentinels.md, "Ties by exact slacks and in matrices".
  static constexpr Count DENSE_SHARE = 8;
  static constexpr double FORBIDDEN = Distance<double>::FAR;

  Vertex find_in_lists(const MarkedPairs& pairs) {
    using Costs = const SparseCosts<Count, Count, Vertex>;
    Costs costs{pairs.num_rows, pairs.num_columns, pairs.offsets.data(), pairs.columns.data(), pairs.weights.data(), false};
    SparseShortestPathCounters counted{};
    SparseShortestPathSolver<Costs> solver(costs, counted);
    return solver.solve(false, row_match.data(), col_match.data(), u.data(), v.data());
  }

  Vertex find_in_matrix(const MarkedPairs& pairs) {
    const Vertex rows = pairs.num_rows, columns = pairs.num_columns;
    std::vector<double> matrix(Count{rows} * columns, FORBIDDEN), row_duals(rows), column_duals(columns);
    double least = 0, most = 0;
    for (Vertex row = 0; row < rows; ++row) {
      double* const entries = matrix.data() + row * Count{columns};
      for (Count k = pairs.offsets[row]; k < pairs.offsets[row + 1]; ++k) {
        const auto weight = static_cast<double>(pairs.weights[k]);
        entries[pairs.columns[k]] = weight;
        least = std::min(least, weight);
        most = std::max(most, weight);
      }
    }
    const DenseCosts<double> costs{rows, columns, matrix.data(), columns, 1, false, FORBIDDEN};
    const ShortestPathResult<double> result{row_duals.data(), column_duals.data(), row_match.data(), col_match.data()};
    ShortestPathCounters counted{};
    const Vertex size = solve_as_stored(costs, {least, most, false, most}, result, counted);
    const auto whole = [](double dual) { return std::abs(dual) < FORBIDDEN ? static_cast<Count>(dual) : 0; };
    std::transform(row_duals.begin(), row_duals.end(), u.begin(), whole);
    std::transform(column_duals.begin(), column_duals.end(), v.begin(), whole);
    return size;
  }
};
