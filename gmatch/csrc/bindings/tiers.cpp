// tiers.cpp: dense assignment with duals in tiers, for Python.
#include "bindings/tiers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "bindings/mirror.hpp"
#include "bindings/serial_solvers.hpp"
#include "bindings/type_names.hpp"
#include "serial/few_pairs.hpp"

namespace {

// Duals in tiers as words of 8 bytes: of each tier its value and the duals of rows and of columns in it; then the rests u and
// v. `turned`: rows are the columns of the solver.
std::vector<Count> words_of(const ShortVector<Tier>& tiers, const ShortestPathResult<double>& result, Vertex rows,
                            Vertex columns, bool turned) {
  std::vector<Count> words(tiers.size() * (1 + rows + columns) + rows + columns);
  Count* next = words.data();
  const auto add_bits = [&](const double* numbers, Vertex length) {
    std::memcpy(next, numbers, length * sizeof(double));
    next += length;
  };
  const auto add_whole = [&](const ShortVector<double>& numbers, Vertex length) {
    for (Vertex k = 0; k < length; ++k) *next++ = static_cast<Count>(numbers[k]);
  };
  const auto add_sides = [&](auto add_row_side, auto add_column_side) {
    if (turned) add_column_side();
    add_row_side();
    if (!turned) add_column_side();
  };
  for (const Tier& tier : tiers) {
    add_bits(&tier.value, 1);
    add_sides([&] { add_whole(tier.rows, rows); }, [&] { add_whole(tier.columns, columns); });
  }
  add_sides([&] { add_bits(result.u, rows); }, [&] { add_bits(result.v, columns); });
  return words;
}

// The sum of a dual's parts.
double nearest(double total, const ShortVector<Tier>& tiers, ShortVector<double> Tier::* side, Vertex number) {
  for (auto tier = tiers.rbegin(); tier != tiers.rend(); ++tier) total += tier->value * ((*tier).*side)[number];
  constexpr double LARGEST = std::numeric_limits<double>::max();
  return std::clamp(total, -LARGEST, LARGEST);
}

void add_tiers(const ShortVector<Tier>& tiers, const ShortestPathResult<double>& result, Vertex rows, Vertex columns) {
  for (Vertex row = 0; row < rows; ++row) result.u[row] = nearest(result.u[row], tiers, &Tier::rows, row);
  for (Vertex j = 0; j < columns; ++j) result.v[j] = nearest(result.v[j], tiers, &Tier::columns, j);
}

nb::object bytes_of(const std::vector<Count>& words) {
  return nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Count)));
}

}  // namespace

TierOutcome solve_rows_in_tiers(CopiedRows<double> costs, bool has_limit, double lowest, double highest, bool turned,
                                const ShortestPathResult<double>& result, ShortestPathCounters& counters,
                                std::vector<Count>& words, const SettleRests& settle, const LoweredCosts* lowered,
                                const std::vector<double>* numbers, double* unproven_sum) {
  const Vertex rows = costs.num_rows(), columns = costs.num_columns();
  TierSolver solver(std::move(costs), has_limit, lowest, highest, result, counters, numbers);
  const TierOutcome outcome = lowered != nullptr ? solver.solve_lowered(*lowered) : solver.solve();
  if (unproven_sum != nullptr) *unproven_sum = solver.unproven_sum();
  if (outcome != TierOutcome::solved) return outcome;
  words = words_of(solver.tiers(), result, rows, columns, turned);
  if (!settle(solver.rests(), solver)) return TierOutcome::open;
  add_tiers(solver.tiers(), result, rows, columns);
  return outcome;
}

std::vector<Count> words_of_tiers(const ShortVector<Tier>& tiers, const ShortestPathResult<double>& result, Vertex rows,
                                  Vertex columns, bool turned) {
  std::vector<Count> words = words_of(tiers, result, rows, columns, turned);
  add_tiers(tiers, result, rows, columns);
  return words;
}

nb::object duals_in_tiers(const std::vector<Count>& words) { return words.empty() ? nb::none() : bytes_of(words); }

namespace {

// Solves costs with a smaller number in the place of the largest, and then in tiers. Open if no smaller number will do, if there
// is a limit, or if there is no assignment.
template <class Stored>
TierOutcome solve_lowered(const DenseCosts<Stored>& costs, double lowest, double highest,
                          const ShortestPathResult<double>& result, ShortestPathCounters& counters, std::vector<Count>& words,
                          const SettleRests& settle) {
  if constexpr (!std::is_same_v<Stored, double>) {
    return TierOutcome::open;  // sums of other types do not overflow
  } else {
    return with_rows_side_by_side(costs, 1, [&](const auto& side_by_side) {
      LoweredCosts lowered;
      if (costs.limit < costs.infinite() || !lowered.lower(side_by_side, lowest, highest)) return TierOutcome::open;
      const Vertex size = solve_by_shortest_paths(lowered.costs(), lowered.options(), result, counters);
      if (size < costs.num_rows) return TierOutcome::open;
      return solve_in_tiers(side_by_side, lowest, highest, false, result, counters, words, settle, &lowered);
    });
  }
}

// The outcome, the sum of unproven pairs (see TierSolver), the words of the duals in tiers, and what was counted.
// Without a solution the vectors are only written.
// `few_pairs`, if given, hold all numbers of the matrix.
nb::tuple assign_in_tiers(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, double lowest,
                          double highest, Array<Vertex> row_match, Array<Vertex> col_match, Array<double> u,
                          Array<double> v,
                          std::optional<nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>> rests,
                          bool has_solution, const FewPairs<double>* few_pairs) {
  ShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  std::vector<Count> words;
  double unproven_sum = -1;
  const TierOutcome outcome = with_stored<double>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    const auto write_rests = [&](RestRows& rows, const TierSolver&) {
      for (Vertex row = 0; row < rows.num_rows() && rests; ++row) {
        std::copy_n(rows.entries(row), rows.num_columns(), rests->data() + row * Count{rows.num_columns()});
      }
      return true;
    };
    const ShortestPathResult<double> result{u.data(), v.data(), row_match.data(), col_match.data()};
    if (!has_solution) return solve_lowered(problem, lowest, highest, result, counted, words, write_rests);
    const std::vector<double>* const numbers = few_pairs != nullptr ? &few_pairs->costs : nullptr;
    return solve_in_tiers(problem, lowest, highest, false, result, counted, words, write_rests, nullptr, numbers,
                          &unproven_sum);
  });
  return nb::make_tuple(static_cast<int>(outcome), unproven_sum, duals_in_tiers(words),
                        to_dict(static_cast<Vertex>(row_match.shape(0)), 0, counted, lap(clock, now)));
}

// Whether a cost of the minimisation form is negative, but above -bound.
bool has_negative_within(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, double bound) {
  return with_stored<double>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    Poll poll;
    return with_rows_side_by_side(problem, 1, [&](const auto& side_by_side) {
      CopiedRows<double> rows(side_by_side);
      for (Vertex row = 0; row < rows.num_rows(); ++row) {
        poll.spend(rows.num_columns());
        if (TierScan::has_negative_within(rows.entries(row), bound, rows.width())) return true;
      }
      return false;
    });
  });
}

// The largest rest of costs without a limit beside a number, their largest magnitude. Infinite costs do not count.
double largest_rest(AnyMatrix costs, const std::string& stored, bool maximize, double value) {
  return with_stored<double>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, nb::none());
    const OthersMayRun others_may_run;
    CopiedRows<double> rows(problem);
    double largest = 0;
    Poll poll;
    for (Vertex row = 0; row < problem.num_rows; ++row) {
      poll.spend(problem.num_columns);
      const double* const entries = rows.entries(row);
      for (Vertex j = 0; j < problem.num_columns; ++j) {
        const double rest = std::abs(TierScan::rest_beside_largest(entries[j], value));
        largest = rest <= value ? std::max(largest, rest) : largest;
      }
    }
    return largest;
  });
}

}  // namespace

void define_tiers(nb::module_& m) {
  m.def("has_negative_within", &has_negative_within, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "bound"_a);
  m.def("assign_in_tiers", &assign_in_tiers, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "lowest"_a,
        "highest"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "rests"_a.noconvert().none(), "has_solution"_a, "few_pairs"_a.none());
  m.def("largest_rest", &largest_rest, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "value"_a);
  mirror::add_enum<TierOutcome>(m, "TierOutcome");
}
