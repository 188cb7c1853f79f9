// tiers.hpp: duals in tiers, as words for Python.
#pragma once
#include <functional>
#include <vector>

#include "bindings/module.hpp"
#include "serial/exact/tiers.hpp"
#include "serial/rows/row_copies.hpp"

// Solves costs in tiers, of which the duals of a solution hide some, or from the solution of `lowered` costs; see
// serial/exact/tiers.hpp. If that is done, u and v become the nearest to the duals in tiers, which `words` holds. settle(rests,
// solver) is called in between; if it returns false, all is open. `turned`: rows are the columns of the solver. `numbers`, if
// given, are all numbers of the matrix. `unproven_sum`, if given, is written: see TierSolver.
using SettleRests = std::function<bool(RestRows& rests, const TierSolver& solver)>;
TierOutcome solve_rows_in_tiers(CopiedRows<double> costs, bool has_limit, double lowest, double highest, bool turned,
                                const ShortestPathResult<double>& result, ShortestPathCounters& counters,
                                std::vector<Count>& words, const SettleRests& settle, const LoweredCosts* lowered,
                                const std::vector<double>* numbers, double* unproven_sum = nullptr);

template <class Stored>
TierOutcome solve_in_tiers(const DenseCosts<Stored>& costs, double lowest, double highest, bool turned,
                           const ShortestPathResult<double>& result, ShortestPathCounters& counters,
                           std::vector<Count>& words, const SettleRests& settle, const LoweredCosts* lowered = nullptr,
                           const std::vector<double>* numbers = nullptr, double* unproven_sum = nullptr) {
  return with_rows_side_by_side(costs, 1, [&](const auto& side_by_side) {
    const bool has_limit = costs.limit < costs.infinite();
    return solve_rows_in_tiers(CopiedRows<double>(side_by_side), has_limit, lowest, highest, turned, result, counters, words,
                               settle, lowered, numbers, unproven_sum);
  });
}

// The words of duals in tiers, of which u and v are the rests. u and v become the nearest to these duals.
std::vector<Count> words_of_tiers(const ShortVector<Tier>& tiers, const ShortestPathResult<double>& result, Vertex rows,
                                  Vertex columns, bool turned);

// None if there are no words.
nb::object duals_in_tiers(const std::vector<Count>& words);
