// serial_solvers_of.hpp: the solvers of serial_solvers.hpp, which serial_int32.cpp and its neighbours compile for wide types, and
// serial.cpp for narrow ones.
#pragma once
#include <memory>

#include "bindings/serial_solvers.hpp"

// Integer costs too far from zero for the marks of the serial method, moved to where the least of them is zero.
struct MovedCosts {
  const std::unique_ptr<Count[]> entries;
  DenseCosts<Count> costs;
  Count offset;

  MovedCosts(const DenseCosts<Count>& from, Count least)
      : entries(new Count[static_cast<std::size_t>(from.num_rows) * from.num_columns]), costs(from), offset(least) {
    Count* entry = entries.get();
    Poll poll;
    for (Vertex row = 0; row < from.num_rows; ++row) {
      for (Vertex column = 0; column < from.num_columns; ++column) *entry++ = from.at(row, column) - offset;
      poll.spend(from.num_columns);
    }
    costs = {from.num_rows, from.num_columns, entries.get(), from.num_columns, 1, false, from.infinite()};
  }
};

template <class Stored>
Vertex solve_serially(const DenseCosts<Stored>& costs, const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                      const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                      ShortestPathCounters& counters) {
  if constexpr (std::is_same_v<Stored, Count>) {
    if (options.least_cost < -Distance<Count>::MAX_COST || options.greatest_cost > Distance<Count>::MAX_COST) {
      const MovedCosts moved(costs, options.least_cost);
      const Count spread = options.greatest_cost - options.least_cost;
      const Vertex size = solve_by_shortest_paths(moved.costs, {0, spread, false}, result, counters);
      for (Vertex row = 0; row < costs.num_rows; ++row) result.u[row] += moved.offset;
      return size;
    }
  }
  return solve_by_shortest_paths(costs, options, result, counters);
}

template <class Stored>
Vertex solve_by_core_or_matrix(const DenseCosts<Stored>& costs,
                               const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options, bool may_begin_in_matrix,
                               int threads, const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                               CoreCounters& counted) {
  if (costs.column_stride != 1) {
    return with_rows_side_by_side(costs, threads, [&](const auto& side_by_side) {
      return solve_by_core_or_matrix(side_by_side, options, may_begin_in_matrix, threads, result, counted);
    });
  }
  if (solve_by_diagonal(costs, options, result, counted.dense)) {
    counted.trace.add(CoreStep::search_matrix);
    return costs.num_rows;
  }
  const bool is_square = costs.num_rows == costs.num_columns, has_limit = costs.limit < costs.infinite();
  const auto solve_core = [&](bool has_duals) { return solve_by_core(costs, has_duals, threads, result, counted); };
  const auto solve_matrix = [&](bool has_duals, bool may_give_up) {
    counted.trace.add(CoreStep::search_matrix);
    ShortestPathOptions<typename DenseCosts<Stored>::Dual> here{options.least_cost, options.greatest_cost, has_duals};
    here.may_give_up = may_give_up;
    here.threads = threads;
    return solve_serially(costs, here, result, counted.dense);
  };
  if (!options.start_from_duals && (is_square || threads > 1 || !may_begin_in_matrix)) {
    // If most pairs have the greatest cost, a search of the whole matrix takes the fewest passes. But one thread makes them, and
    // many threads hold the auction of a core. A limit leaves few pairs below it, and the core has these pairs:
    // benchmarks/log/core_host.md, "A limit does not begin in the matrix".
    const bool has_core = has_limit || !is_square || share_auction(costs.num_rows, threads) ||
                          !mostly_costs(costs, costs.num_rows, options.greatest_cost);
    if (!has_core) counted.trace.add(CoreStep::sample);
    const Vertex size = has_core ? solve_core(false) : NONE;
    if (size != NONE) return size;
    if (!is_square || !has_limit || !may_begin_in_matrix) return solve_matrix(counted.sparse.augmentations > 0, false);
  }
  if (may_begin_in_matrix) {
    const Vertex size = solve_matrix(options.start_from_duals || counted.sparse.augmentations > 0, true);
    if (size != NONE) return size;
  }
  // Free columns must have v = 0 at the end. The core begins with v = 0, unless all columns are taken.
  const Vertex size = solve_core(is_square);
  return size != NONE ? size : solve_matrix(true, false);
}
