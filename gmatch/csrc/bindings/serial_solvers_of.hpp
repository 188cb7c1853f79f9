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
  const bool columns_may_stay_free = costs.num_rows < costs.num_columns || costs.limit < costs.infinite();
  const bool begins_in_matrix =
      may_begin_in_matrix && (options.start_from_duals || (columns_may_stay_free && threads == 1));
  const bool has_duals = options.start_from_duals || begins_in_matrix;
  if (begins_in_matrix) {
    ShortestPathOptions<typename DenseCosts<Stored>::Dual> while_short = options;
    while_short.may_give_up = true;
    counted.trace.add(CoreStep::search_matrix);
    const Vertex size = solve_serially(costs, while_short, result, counted.dense);
    if (size != NONE) return size;
  }
  // With most pairs at the greatest cost, the whole matrix takes the fewest passes.
  const bool has_core = has_duals || costs.num_rows < costs.num_columns ||
                        !mostly_costs(costs, costs.num_rows, options.greatest_cost);
  if (!has_core) counted.trace.add(CoreStep::sample);
  // Free columns must have v = 0 at the end. The core begins with v = 0, unless all columns are taken.
  const bool goes_on = has_duals && costs.num_rows == costs.num_columns;
  const Vertex size = has_core ? solve_by_core(costs, goes_on, threads, result, counted) : NONE;
  if (size != NONE) return size;
  counted.trace.add(CoreStep::search_matrix);
  const bool from_duals = has_duals || counted.sparse.augmentations > 0;
  return solve_serially(costs, {options.least_cost, options.greatest_cost, from_duals}, result, counted.dense);
}
