// plain_solver.hpp: one small dense problem, solved where it lies. One way after another is tried until the duals of one prove
// its answer.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/serial_solvers.hpp"
#include "bindings/small_costs.hpp"
#include "bindings/tiers.hpp"
#include "costs/magnitudes.hpp"
#include "serial/exact/exact_optimum.hpp"
#include "serial/exact/named_rows.hpp"
#include "serial/exact/two_parts.hpp"

// The range of the costs of the minimisation form, cut off at the limit.
template <class Dual>
struct SmallRange {
  Dual lowest, highest, greatest_entry, limit;
};

// `exact`: no sum of the costs is rounded, as if they were integers. `transposed`: the rows are columns of the caller.
// `words` become the words of duals in tiers, if there are any.
template <class Cost>
class PlainSolver {
 public:
  using Dual = typename DenseCosts<Cost>::Dual;

  PlainSolver(const SmallCall& call, const SmallRange<Dual>& range, bool exact, bool transposed,
              const ShortestPathResult<Dual>& result, std::vector<Count>& words)
      : call_(call), range_(range), is_exact_(exact), is_transposed_(transposed), result_(result), words_(words) {}

  // False if there is no assignment, or if the costs need the long way. Entries of a row lie side by side.
  bool solve(const DenseCosts<Cost>& costs) {
    const ShortestPathOptions<Dual> options{range_.lowest, range_.highest, false, range_.greatest_entry};
    const bool is_found = !call_.overflows && solve_by_diagonal(costs, options, result_, counted_);
    if (is_found && !may_hide(costs) && is_settled(costs)) return true;
    const std::optional<Vertex> size = solve_if_whole(costs, options, result_, counted_);
    if (size && *size < costs.num_rows) return solve_largest_matching(costs);
    if (size) return is_settled(costs);
    if constexpr (IS_FLOAT) return solve_floats(costs, options);
    else return solve_as_stored(costs, options, result_, counted_) == costs.num_rows && is_settled(costs);
  }

  const ShortestPathCounters& counted() const { return counted_; }
  // How many rows could have another mate.
  Count with_choice() const { return with_choice_; }

 private:
  static constexpr bool IS_FLOAT = std::is_floating_point_v<Cost>;
  static constexpr Vertex DIVIDED = NONE - 1;  // in the place of a number of rows: solved in two parts

  // If the largest cost is far above all others, a smaller number takes its place.
  bool solve_floats(const DenseCosts<Cost>& costs, const ShortestPathOptions<Dual>& options) {
    LoweredCosts lowered;
    const bool is_lowered = !is_exact_ && !has_limit(costs) && lowered.lower(costs, range_.lowest, range_.highest);
    if (!is_lowered) return (!call_.overflows || lowered.sums_are_finite()) && solve_as_they_are(costs, options);
    const Vertex size = solve_or_divide(costs, lowered.costs(), lowered.options(), lowered.unit());
    if (size == DIVIDED) return true;
    if (size < costs.num_rows) return solve_largest_matching(costs);
    if (solve_tiers(costs, &lowered) != TierOutcome::open) return finish_lowered(costs, lowered);
    if (call_.overflows) return false;
    words_.clear();  // the solution of the lowered costs is none of these costs
    with_choice_ = 0;
    return solve_as_they_are(costs, options);
  }
  bool finish_lowered(const DenseCosts<Cost>& costs, const LoweredCosts& lowered) {
    if (words_.empty()) return is_settled(costs) || solve_exactly(costs);
    // Duals have parts only if one number hides costs, or if sums could overflow. That holds without lowered costs, too.
    if (lowered.sums_are_finite() && !hides_costs(costs)) words_.clear();
    return true;
  }
  bool solve_as_they_are(const DenseCosts<Cost>& costs, const ShortestPathOptions<Dual>& options) {
    const Vertex size = solve_or_divide(costs, costs, options, range_.highest);
    if (size == DIVIDED) return true;
    if (size < costs.num_rows) return solve_largest_matching(costs);
    if (may_hide(costs) && solve_tiers(costs, nullptr) == TierOutcome::open) return words_.empty() && solve_exactly(costs);
    return !words_.empty() || is_settled(costs) || (!has_limit(costs) && solve_exactly(costs));
  }

  // Solves costs, or lowered ones in their place. If the start finds a row that has nothing below the largest, it solves them in
  // two parts.
  template <class Solved>
  Vertex solve_or_divide(const DenseCosts<Cost>& costs, const DenseCosts<Solved>& solved, ShortestPathOptions<Dual> options,
                         Dual largest) {
    const bool may_divide = !is_exact_ && !has_limit(costs) &&
                            TwoParts<Cost>::may_be(costs, range_.lowest, range_.highest);
    if (may_divide) options.most_for_a_row = std::nextafter(largest, 0);
    const Vertex size = solve_as_stored(solved, options, result_, counted_);
    if (size != NONE) return size;
    if (solve_in_two_parts(costs)) return DIVIDED;
    options.most_for_a_row = costs.infinite();
    return solve_as_stored(solved, options, result_, counted_);
  }
  // For costs of which some rows must use the largest one, a number that stands for "not". False if no row must, or if the duals
  // of the parts hide costs. Also false if ties are to be decided, and rounding hides which assignments are cheapest.
  bool solve_in_two_parts(const DenseCosts<Cost>& costs) {
    TwoParts<Cost> parts(costs, range_.highest);
    if (!parts.find() || !parts.solve(result_, counted_)) return false;
    if (hides_costs(costs, [&](Vertex row) { return parts.rest_of_pair(row, result_); })) return false;
    if (call_.deterministic && !settle_parts(costs, parts)) return false;
    const bool loses_digits = parts.loses_digits(result_);
    words_ = words_of_tiers(parts.tiers(), result_, costs.num_rows, costs.num_columns, is_transposed_);
    // Duals that have all digits prove the answer without tiers, unless they hide costs or sums of them may overflow.
    if (!loses_digits && !call_.overflows && !hides_costs(costs)) words_.clear();
    return true;
  }

  // Decides ties by the rests of the costs, without the multiples of the number. False if rounding hides which assignments are
  // cheapest.
  bool settle_parts(const DenseCosts<Cost>& costs, const TwoParts<Cost>& parts) {
    const RestRows rests(CopiedRows<double>(costs), parts.tiers());
    if (settle_ties(rests, result_, parts.must_be_used(), is_transposed_, with_choice_)) return true;
    with_choice_ = 0;
    return false;
  }

  // The cheapest of the largest matchings, if forbidden pairs leave no assignment. Infinity stands for "not", and the rows that
  // must use it stay free. The columns that crowded rows reach, and the rows that are not crowded, are a smallest cover.
  bool solve_largest_matching(const DenseCosts<Cost>& costs) {
    if constexpr (IS_FLOAT) {
      if (!call_.may_be_partial || call_.deterministic || call_.overflows || has_limit(costs)) return false;
      TwoParts<Cost> parts(costs, costs.infinite());
      if (!parts.find() || !parts.solve(result_, counted_)) return false;
      if (hides_costs(costs, [&](Vertex row) { return parts.rest_of_pair(row, result_); })) return false;
      parts.free_rows_without_column(result_);
      words_ = parts.cover(is_transposed_);
      return true;
    }
    return false;
  }

  TierOutcome solve_tiers(const DenseCosts<Cost>& costs, const LoweredCosts* from) {
    const auto settle = [&](const RestRows& rests, const TierSolver& solver) {
      if (!call_.deterministic) return true;
      const std::vector<bool> must = solver.must_be_used();
      if (settle_ties(rests, result_, must, is_transposed_, with_choice_)) return true;
      const bool may_use_all = std::none_of(must.begin(), must.end(), [](bool one) { return one; });
      return may_use_all && solve_rows_exactly(rests, costs.infinite());
    };
    return solve_in_tiers(costs, range_.lowest, range_.highest, is_transposed_, result_, counted_, words_, settle, from);
  }
  // For costs of which rounding hides which assignments are cheapest.
  bool solve_exactly(const DenseCosts<Cost>& costs) { return solve_rows_exactly(CopiedRows<double>(costs), costs.limit); }
  template <class Rows>
  bool solve_rows_exactly(Rows rows, double limit) {
    ExactOptimum<Rows> optimum(std::move(rows), limit);
    if (!optimum.find(result_)) return false;
    if (!call_.deterministic) return true;
    if (range_.limit < beyond_all(Dual{})) return false;
    optimum.settle(result_, is_transposed_, with_choice_);
    return true;
  }

  // Whether the duals need the second look of gmatch/assignment/tiers.py.
  bool may_hide(const DenseCosts<Cost>& costs) const {
    if constexpr (IS_FLOAT) return !is_exact_ && hides_costs(costs);
    return false;
  }
  bool hides_costs(const DenseCosts<Cost>& costs) const {
    return hides_costs(costs, [&](Vertex row) { return costs.costs[row * costs.row_stride + result_.row_match[row]]; });
  }
  template <class CostOf>
  bool hides_costs(const DenseCosts<Cost>& costs, const CostOf& cost_of) const {
    const double largest =
        std::max(largest_magnitude(result_.u, costs.num_rows), largest_magnitude(result_.v, costs.num_columns));
    const double within = hiding_if_negative_within(costs.num_rows, largest, range_.lowest, cost_of);
    if (within == IN_ANY_CASE) return true;
    for (Vertex row = 0; row < costs.num_rows && within > 0; ++row) {
      const Cost* entries = costs.costs + row * costs.row_stride;
      const bool has = costs.maximize ? TierScan::has_negative_within<true>(entries, within, costs.num_columns)
                                      : TierScan::has_negative_within<false>(entries, within, costs.num_columns);
      if (has) return true;
    }
    return false;
  }

  // Whether ties are decided by the rule, if that was asked for: see settle_ties_of in ties.cpp. Rows have ways out if the costs
  // are sparse.
  bool is_settled(const DenseCosts<Cost>& costs) {
    if (!call_.deterministic) return true;
    if (costs.maximize) return settle_rows(StoredRows<Cost, Dual, true>{costs}, costs);
    return settle_rows(StoredRows<Cost, Dual, false>{costs}, costs);
  }
  template <class Rows>
  bool settle_rows(const Rows& rows, const DenseCosts<Cost>& costs) {
    if (call_.has_ways_out || !has_limit(costs)) return settle_ties(rows, result_, {}, is_transposed_, with_choice_, costs.limit);
    return settle_ties_cut_off(rows, CopiedRows<Dual>(costs), costs.limit, result_, is_transposed_, with_choice_);
  }

  static bool has_limit(const DenseCosts<Cost>& costs) { return costs.limit < costs.infinite(); }

  const SmallCall& call_;
  const SmallRange<Dual>& range_;
  const bool is_exact_, is_transposed_;
  const ShortestPathResult<Dual>& result_;
  std::vector<Count>& words_;
  ShortestPathCounters counted_{};
  Count with_choice_ = 0;
};
