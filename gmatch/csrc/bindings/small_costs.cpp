// small_costs.cpp: small dense problems, solved where they lie.
#include "bindings/small_costs.hpp"

#include <optional>

#include "bindings/serial_solvers.hpp"
#include "bindings/small_cells.hpp"
#include "bindings/ticks.hpp"
#include "bindings/tiers.hpp"
#include "costs/magnitudes.hpp"
#include "serial/exact/exact_optimum.hpp"
#include "serial/exact/named_rows.hpp"
#include "serial/exact/two_parts.hpp"

namespace {

// The range of the costs of the minimisation form, cut off at the limit.
template <class Dual>
struct SmallRange {
  Dual lowest, highest, greatest_entry, limit;
};
template <class Cost, class Dual = typename DenseCosts<Cost>::Dual>
SmallRange<Dual> minimised(const CostRange<Cost>& range, const SmallCall& call) {
  const Dual least = static_cast<Dual>(range.lowest), most = static_cast<Dual>(range.highest);
  SmallRange<Dual> costs{call.maximize ? -most : least, call.maximize ? -least : most, 0, DenseCosts<Cost>::infinite()};
  costs.greatest_entry = costs.highest;
  if (call.limit == nullptr) return costs;
  const Dual limit = call.limit->of(Dual{}, call.maximize);
  const bool forbids = range.plus_inf || range.minus_inf;
  if (!forbids && limit >= costs.highest) return costs;  // no cost is above the limit
  costs.limit = limit;
  costs.lowest = std::min(costs.lowest, limit);
  costs.highest = forbids ? limit : std::min(costs.highest, limit);
  return costs;
}

// Whether the duals need the second look of gmatch/assignment/tiers.py. Entries of a row lie side by side.
template <class Cost, class Dual, class CostOf>
bool hides_costs(const DenseCosts<Cost>& costs, const ShortestPathResult<Dual>& result, Dual lowest, const CostOf& cost_of) {
  const double largest =
      std::max(largest_magnitude(result.u, costs.num_rows), largest_magnitude(result.v, costs.num_columns));
  const double within = hiding_if_negative_within(costs.num_rows, largest, lowest, cost_of);
  if (within == IN_ANY_CASE) return true;
  for (Vertex row = 0; row < costs.num_rows && within > 0; ++row) {
    const Cost* entries = costs.costs + row * costs.row_stride;
    const bool has = costs.maximize ? TierScan::has_negative_within<true>(entries, within, costs.num_columns)
                                    : TierScan::has_negative_within<false>(entries, within, costs.num_columns);
    if (has) return true;
  }
  return false;
}

template <class Cost, class Dual>
bool hides_costs(const DenseCosts<Cost>& costs, const ShortestPathResult<Dual>& result, Dual lowest) {
  return hides_costs(costs, result, lowest, [&](Vertex row) {
    return costs.costs[row * costs.row_stride + result.row_match[row]];
  });
}

// Entries of a row lie side by side. See settle_ties_of in ties.cpp. Rows have ways out if the costs are sparse.
template <class Cost, class Dual = typename DenseCosts<Cost>::Dual>
bool settle_ties_of(const DenseCosts<Cost>& costs, bool has_ways_out, const ShortestPathResult<Dual>& result,
                    bool columns_first, Count& with_choice) {
  const auto settle = [&](auto rows) {
    if (has_ways_out || !(costs.limit < costs.infinite())) {
      return settle_ties(rows, result, {}, columns_first, with_choice, costs.limit);
    }
    return settle_ties_cut_off(rows, CopiedRows<Dual>(costs), costs.limit, result, columns_first, with_choice);
  };
  return costs.maximize ? settle(StoredRows<Cost, Dual, true>{costs}) : settle(StoredRows<Cost, Dual, false>{costs});
}

}  // namespace

template <class Cost>
bool solve_plain(const SmallMatrix<Cost>& given, const CostRange<Cost>& range, const SmallCall& call, bool exact, Count* cells,
                 std::vector<Count>& words) {
  using Dual = typename DenseCosts<Cost>::Dual;
  const auto [rows, columns] = given.shape;
  const Count begin = ticks();
  const bool transposed = rows > columns || (rows == columns && std::abs(given.stride[0]) < std::abs(given.stride[1]));
  const Vertex fewer = given.fewer();
  const SmallRange<Dual> of_costs = minimised(range, call);
  const DenseCosts<Cost> stored{fewer, given.more(), given.entries, given.stride[transposed], given.stride[!transposed],
                                call.maximize, of_costs.limit};
  SmallCells<Dual> found(cells, rows, columns);
  ShortestPathCounters counted{};
  const ShortestPathResult<Dual> result = found.result(transposed);
  [[maybe_unused]] constexpr Vertex DIVIDED = NONE - 1;
  [[maybe_unused]] const bool has_limit = of_costs.limit < stored.infinite();
  Count with_choice = 0;
  const auto is_settled = [&](const DenseCosts<Cost>& costs) {
    return !call.deterministic || settle_ties_of(costs, call.has_ways_out, result, transposed, with_choice);
  };
  // If rounding hides which assignment is cheapest, or which ones are.
  [[maybe_unused]] const auto solve_exactly = [&](auto rows, double limit) {
    ExactOptimum<decltype(rows)> optimum(std::move(rows), limit);
    if (!optimum.find(result) || (call.deterministic && has_limit)) return false;
    if (call.deterministic) optimum.settle(result, transposed, with_choice);
    return true;
  };
  const auto may_hide = [&](const DenseCosts<Cost>& costs) {
    if constexpr (std::is_floating_point_v<Cost>) return !exact && hides_costs(costs, result, of_costs.lowest);
    return false;
  };
  // Solves costs in two parts if some rows must use the largest of them, a number that stands for "not". False if no row must, or
  // if the duals of the parts hide costs.
  [[maybe_unused]] const auto solve_in_two_parts = [&]([[maybe_unused]] const DenseCosts<Cost>& costs) {
    if constexpr (std::is_floating_point_v<Cost>) {
      TwoParts<Cost> parts(costs, of_costs.highest);
      if (!parts.find() || !parts.solve(result, counted)) return false;
      const auto rest_of = [&](Vertex row) { return parts.rest_of_pair(row, result); };
      if (hides_costs(costs, result, of_costs.lowest, rest_of)) return false;
      const bool loses_digits = parts.loses_digits(result);
      words = words_of_tiers(parts.tiers(), result, costs.num_rows, costs.num_columns, transposed);
      // Duals that have all digits prove the answer without tiers, unless they hide costs or sums of them may overflow.
      if (!loses_digits && !call.overflows && !hides_costs(costs, result, of_costs.lowest)) words.clear();
      return true;
    }
    return false;
  };
  const auto solve = [&](const DenseCosts<Cost>& costs) {
    const ShortestPathOptions<Dual> options{of_costs.lowest, of_costs.highest, false, of_costs.greatest_entry};
    const bool is_found = !call.overflows && solve_by_diagonal(costs, options, result, counted);
    if (is_found && !may_hide(costs) && is_settled(costs)) return true;
    const std::optional<Vertex> size = solve_if_whole(costs, options, result, counted);
    if (size) return *size == fewer && is_settled(costs);
    if constexpr (std::is_floating_point_v<Cost>) {
      const bool may_divide = !exact && !call.deterministic && !(of_costs.limit < costs.infinite()) &&
                              TwoParts<Cost>::may_be(costs, of_costs.highest);
      // Solves costs as a whole, unless the start finds a row that has nothing below the largest: then in two parts.
      const auto solve_or_divide = [&](const auto& costs_to_solve, auto options_to_solve, Dual largest) {
        if (may_divide) options_to_solve.most_for_a_row = std::nextafter(largest, 0);
        const Vertex size = solve_as_stored(costs_to_solve, options_to_solve, result, counted);
        if (size != NONE) return size;
        if (solve_in_two_parts(costs)) return DIVIDED;
        options_to_solve.most_for_a_row = costs.infinite();
        return solve_as_stored(costs_to_solve, options_to_solve, result, counted);
      };
      // If the largest cost is far above all others, a smaller number takes its place.
      LoweredCosts lowered;
      bool is_lowered =
          !exact && !has_limit && lowered.lower(costs, of_costs.lowest, of_costs.highest);
      if (call.overflows && !is_lowered && !lowered.sums_are_finite()) return false;
      const auto settle = [&](const RestRows& rests, const TierSolver& solver) {
        if (!call.deterministic) return true;
        const std::vector<bool> must = solver.must_be_used();
        if (settle_ties(rests, result, must, transposed, with_choice)) return true;
        const bool may_use_all = std::none_of(must.begin(), must.end(), [](bool one) { return one; });
        return may_use_all && solve_exactly(rests, costs.infinite());
      };
      const auto solve_tiers = [&](const LoweredCosts* from) {
        return solve_in_tiers(costs, of_costs.lowest, of_costs.highest, transposed, result, counted, words, settle, from);
      };
      if (is_lowered) {
        const Vertex size = solve_or_divide(lowered.costs(), lowered.options(), lowered.unit());
        if (size == DIVIDED) return true;
        if (size < fewer) return false;
        is_lowered = solve_tiers(&lowered) != TierOutcome::open;
        if (call.overflows && !is_lowered) return false;
      }
      if (!is_lowered) {
        words.clear();  // the solution of the lowered costs is none of these costs
        with_choice = 0;
        const Vertex size = solve_or_divide(costs, options, of_costs.highest);
        if (size == DIVIDED) return true;
        if (size < fewer) return false;
        if (!exact && hides_costs(costs, result, of_costs.lowest) && solve_tiers(nullptr) == TierOutcome::open) {
          return words.empty() && solve_exactly(CopiedRows<double>(costs), costs.limit);
        }
      }
      const bool are_settled = !words.empty();
      // Duals have parts only if one number hides costs, or if sums could overflow. That holds without lowered costs, too.
      const bool may_go = is_lowered && are_settled && lowered.sums_are_finite();
      if (may_go && !hides_costs(costs, result, of_costs.lowest)) words.clear();
      return are_settled || is_settled(costs) ||
             (!has_limit && solve_exactly(CopiedRows<double>(costs), costs.limit));
    } else {
      return solve_as_stored(costs, options, result, counted) == fewer && is_settled(costs);
    }
  };
  if (!with_rows_side_by_side(stored, 1, solve)) return false;
  const auto entry = [&](Vertex row, Vertex column) {
    return given.entries[row * given.stride[0] + column * given.stride[1]];
  };
  if (has_limit) found.drop_dear_pairs(rows, call.maximize, of_costs.limit, entry);
  found.note_pairs(rows, entry);
  found.note_counters(counted, 0, ticks() - begin);
  reinterpret_cast<SmallCounters*>(cells)->rows_with_choice = with_choice;
  return true;
}

namespace {

// Fills the cells for integers with a limit that has a fraction: by floats, unless no cost is above the limit.
template <class Cost>
bool solve_with_fraction(const SmallMatrix<Cost>& given, const CostRange<Cost>& range, SmallCall call, Count* cells,
                         std::vector<Count>& words) {
  const double limit = call.limit->number;
  const double lowest = static_cast<double>(range.lowest), highest = static_cast<double>(range.highest);
  constexpr double EXACT = 0x1p53;
  if (!(std::abs(limit) < EXACT)) return false;  // a large float is whole, or no number
  if (call.maximize ? limit <= lowest : limit >= highest) {
    call.limit = nullptr;
    return is_plain(range, call) && solve_plain(given, range, call, true, cells, words);
  }
  if (!(-EXACT < lowest && highest < EXACT)) return false;
  const auto [rows, columns] = given.shape;
  std::vector<double> entries(static_cast<std::size_t>(rows) * columns);
  double* entry = entries.data();
  for (Vertex row = 0; row < rows; ++row) {
    const Cost* from = given.entries + row * given.stride[0];
    for (Vertex column = 0; column < columns; ++column) *entry++ = static_cast<double>(from[column * given.stride[1]]);
  }
  const CostRange<double> same{lowest, highest, false, false, false};
  if (!is_plain(same, call)) return false;
  return solve_plain(SmallMatrix<double>{entries.data(), {rows, columns}, {columns, 1}}, same, call, false, cells, words);
}

}  // namespace

template <class Cost>
bool solve_small(const SmallMatrix<Cost>& given, SmallCall call, Count* cells, std::vector<Count>& words) {
  CostRange<Cost> range = empty_range<Cost>();
  add_rows(range, given.entries, given.shape[0], given.shape[1], given.stride[0], given.stride[1]);
  if constexpr (std::numeric_limits<Cost>::is_integer) {
    if (call.limit != nullptr && !call.limit->is_whole) return solve_with_fraction(given, range, call, cells, words);
  } else {
    const double largest = std::max(-static_cast<double>(range.lowest), static_cast<double>(range.highest));
    call.overflows = call.limit == nullptr && largest > FAR_FROM_OVERFLOW<Cost>;
  }
  return is_plain(range, call) && solve_plain(given, range, call, false, cells, words);
}

#define GMATCH_SMALL_SOLVERS(Cost)                                                                            \
  template bool solve_plain(const SmallMatrix<Cost>&, const CostRange<Cost>&, const SmallCall&, bool, Count*, \
                            std::vector<Count>&);                                                             \
  template bool solve_small(const SmallMatrix<Cost>&, SmallCall, Count*, std::vector<Count>&);
GMATCH_SMALL_SOLVERS(std::int32_t)
GMATCH_SMALL_SOLVERS(Count)
GMATCH_SMALL_SOLVERS(float)
GMATCH_SMALL_SOLVERS(double)
