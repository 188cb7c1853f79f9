// stored_shortest_paths.hpp: shortest_path.hpp for costs of each stored type: in which numbers they are solved, and whether in a
// copy.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "serial/monge.hpp"
#include "serial/rows/row_copies.hpp"
#include "serial/rows/rows.hpp"
#include "serial/shortest_path.hpp"

// Whether the costs and all values derived from them fit into Work: see Distance.
template <class Work, class Dual>
bool is_enough(const ShortestPathOptions<Dual>& options) {
  using Limits = Distance<Work>;
  return -Limits::MAX_COST <= options.least_cost && options.greatest_cost <= Limits::MAX_COST &&
         options.greatest_cost - options.least_cost <= Limits::MAX_RANGE && !options.start_from_duals;
}

// As is_enough, for stored entries, which a limit does not bound.
template <class Work, class Stored, class Dual>
bool is_enough_for_stored(const DenseCosts<Stored>& costs, ShortestPathOptions<Dual> options) {
  if (costs.limit < costs.infinite()) options.greatest_cost = std::max(options.greatest_cost, options.greatest_entry);
  return is_enough<Work>(options);
}

// Whether entries beside a limit are far from every overflow in the type of the duals.
template <class Stored, class Dual>
bool reads_as_stored([[maybe_unused]] const DenseCosts<Stored>& costs,
                     [[maybe_unused]] const ShortestPathOptions<Dual>& options) {
  if constexpr (std::numeric_limits<Stored>::is_integer && sizeof(Stored) == sizeof(Dual)) {
    return !(costs.limit < costs.infinite()) || is_enough_for_stored<Dual>(costs, options);
  }
  return true;
}

// Whether it is worth looking at all entries. If costs are not all whole, most often the least, the greatest or the first cost is
// not whole, or the first pair is forbidden. The least and the greatest cost fit into Count.
template <class Cost, class Dual>
bool may_be_whole(const DenseCosts<Cost>& costs, const ShortestPathOptions<Dual>& options) {
  const auto is_whole = [](Dual number) { return number == static_cast<Dual>(static_cast<Count>(number)); };
  if (costs.num_rows == 0 || !(options.least_cost <= options.greatest_cost)) return false;  // all pairs are forbidden
  if (!is_whole(options.least_cost) || !is_whole(options.greatest_cost)) return false;
  const auto first = static_cast<Dual>(costs.at(0, 0));
  return options.least_cost <= first && first <= options.greatest_cost && is_whole(first);
}

template <class Stored>
Vertex solve_as_stored(const DenseCosts<Stored>& costs, const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                       const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result, ShortestPathCounters& counters);

// As solve_as_stored, with `copies` of all entries.
template <class Cost, class Dual>
Vertex solve_copied(const DenseCosts<Cost>& costs, const int* copies, const ShortestPathOptions<Dual>& options,
                    const ShortestPathResult<Dual>& result, ShortestPathCounters& counters) {
  const DenseCosts<int> narrow{costs.num_rows, costs.num_columns, copies,
                               costs.num_columns, 1, costs.maximize, DenseCosts<int>::infinite()};
  const ShortestPathOptions<Count> narrow_options{static_cast<Count>(options.least_cost),
                                                  static_cast<Count>(options.greatest_cost), false,
                                                  static_cast<Count>(options.greatest_cost)};
  if constexpr (std::is_same_v<Dual, Count>) {
    return solve_as_stored(narrow, narrow_options, result, counters);
  } else {
    const std::unique_ptr<Count[]> duals(new Count[Count{costs.num_rows} + costs.num_columns]);
    Count *const u = duals.get(), *const v = u + costs.num_rows;
    const Vertex size = solve_as_stored(narrow, narrow_options, {u, v, result.row_match, result.col_match}, counters);
    std::copy_n(u, costs.num_rows, result.u);
    std::copy_n(v, costs.num_columns, result.v);
    return size;
  }
}

// As solve_by_shortest_paths, in a copy of whole numbers of 32 bits: scans read each entry many times, and twice as many entries
// of 32 bits at once. Nothing is solved if an entry is not whole, or if the copy is not worthwhile: it must be small, and 32 bits
// must leave room for an auction. With a limit a copy takes longer, since each entry is read only one to three times. Duals of
// whole numbers are whole, so rounding hides no cost in them. Entries of a row lie side by side.
template <class Stored>
std::optional<Vertex> solve_if_whole(const DenseCosts<Stored>& costs,
                                     const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                                     const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                                     ShortestPathCounters& counters) {
  using Cost = typename DenseCosts<Stored>::Cost;
  if constexpr (!std::is_same_v<Cost, int> && !IS_NARROW<Stored>) {
    // Entries: a copy of 16 MB. See benchmarks/log/shortest_paths.md, "Small int64 costs are copied to 32 bits".
    constexpr Count MOST_COPIED = 1 << 22;
    const Count entries = static_cast<Count>(costs.num_rows) * costs.num_columns;
    const bool has_room = is_enough<int>(options) && options.greatest_cost - options.least_cost <= Distance<int>::MAX_RANGE / 2;
    if (costs.limit < costs.infinite() || entries > MOST_COPIED || !has_room) return std::nullopt;
    if (!may_be_whole(costs, options)) return std::nullopt;
    LineMemory memory;
    int* const copies = reinterpret_cast<int*>(memory.take(entries * sizeof(int)));
    if (copy_whole(costs, copies)) return solve_copied(costs, copies, options, result, counters);
  }
  return std::nullopt;
}

// As solve_by_shortest_paths, in the costs themselves.
template <class Stored>
Vertex solve_as_stored(const DenseCosts<Stored>& costs, const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                       const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result, ShortestPathCounters& counters) {
  using Cost = typename DenseCosts<Stored>::Cost;
  using Dual = typename DenseCosts<Stored>::Dual;
  const auto solve = [&](auto rows) {
    return ShortestPathSolver<decltype(rows), Dual>(std::move(rows), costs.limit, options, result, counters).solve();
  };
  // Solves in the bits of the costs if these are enough: of shorter numbers twice as many fit into a vector.
  const auto solve_in = [&](auto zero) {
    using Work = decltype(zero);
    if constexpr (!IS_NARROW<Stored>) {
      if (costs.column_stride == 1 && reads_as_stored(costs, options)) {
        if (costs.num_columns < PaddedRows<Cost, Work>::Scan::FEWEST_COLUMNS) return solve(PaddedRows<Cost, Work>(costs));
        if (costs.maximize) return solve(StoredRows<Cost, Work, true>{costs});
        return solve(StoredRows<Cost, Work, false>{costs});
      }
    }
    return solve(CopiedRows<Work>(costs));
  };
  if constexpr (std::is_same_v<Cost, int>) {
    if (is_enough_for_stored<int>(costs, options)) return solve_in(int{});
  }
  return solve_in(Dual{});
}

// Matches all rows at the least cost. Returns how many rows are matched; not all, if there is no assignment.
// Adds to the counters. Allocates up to 41 bytes a column and 36 bytes a row, up to 16 MB for a copy of whole numbers, and a
// copy of all entries where the entries of a row lie apart.
template <class Stored>
Vertex solve_by_shortest_paths(const DenseCosts<Stored>& costs,
                               const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                               const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                               ShortestPathCounters& counters) {
  return with_rows_side_by_side(costs, 1, [&](const auto& side_by_side) {
    if (solve_by_diagonal(side_by_side, options, result, counters)) return costs.num_rows;
    const std::optional<Vertex> size = solve_if_whole(side_by_side, options, result, counters);
    return size ? *size : solve_as_stored(side_by_side, options, result, counters);
  });
}
