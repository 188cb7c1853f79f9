// few_pairs.cpp: matrices in which nearly all pairs cost the same, for Python.
#include "serial/exact/few_pairs_in_tiers.hpp"

#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "bindings/small_cells.hpp"
#include "bindings/small_few_pairs.hpp"
#include "bindings/ticks.hpp"
#include "bindings/tiers.hpp"
#include "bindings/type_names.hpp"

namespace {

// Solves few pairs in tiers. `words` becomes the words of their duals.
bool solve_in_two_parts(const FewPairs<double>& pairs, bool turned, const ShortestPathResult<double>& result,
                        SparseShortestPathCounters& counters, std::vector<Count>& words) {
  FewPairsInTiers solver(pairs, counters);
  if (!solver.solve()) return false;
  solver.of_rests().copy_to(result);
  const FoundPairs& tier = solver.of_tier();
  ShortVector<Tier> tiers;
  tiers.push_back({pairs.common, {tier.u.begin(), tier.u.end()}, {tier.v.begin(), tier.v.end()}});
  words = words_of_tiers(tiers, result, pairs.num_rows, pairs.num_columns, turned);
  return true;
}

// For a solution whose duals hide costs: whether it stands nevertheless, or was found anew in tiers. The costs of the few pairs
// are all numbers of the matrix, so they tell whether there are tiers.
template <class Cost>
bool stands_or_is_mended(const DenseCosts<Cost>& costs, const FewPairs<double>& pairs, bool turned,
                         const ShortestPathResult<double>& result, std::vector<Count>& words) {
  ShortestPathCounters counted{};
  const auto settle = [](RestRows&, const TierSolver&) { return true; };
  const bool has_limit = costs.limit < costs.infinite();
  return solve_rows_in_tiers(CopiedRows<double>(costs), has_limit, pairs.least, pairs.common, turned, result, counted, words,
                             settle, nullptr, &pairs.costs) != TierOutcome::open;
}

}  // namespace

template <class Cost>
bool solve_small_few_pairs(const SmallMatrix<Cost>& given, const SmallCall& call, Count* cells, std::vector<Count>& words) {
  using Dual = typename DenseCosts<Cost>::Dual;
  const auto [rows, columns] = given.shape;
  const Count begin = ticks();
  const bool transposed = rows > columns || (rows == columns && std::abs(given.stride[0]) < std::abs(given.stride[1]));
  const DenseCosts<Cost> costs{given.fewer(), given.more(), given.entries, given.stride[transposed], given.stride[!transposed],
                               call.maximize, DenseCosts<Cost>::infinite()};
  const std::optional<FewPairs<Dual>> pairs = FewPairsFinder<Cost>(costs).find(1);
  if (!pairs) return false;
  const CostRange<Dual> range{pairs->least, pairs->common, false, false, false};
  if (!is_plain(range, {false, call.may_be_equal})) return false;
  SmallCells<Dual> found(cells, rows, columns);
  const ShortestPathResult<Dual> result = found.result(transposed);
  SparseShortestPathCounters counted{};
  solve_few_pairs(*pairs, pairs->common, result, counted);
  std::vector<Dual> of_pairs(pairs->num_rows);
  pairs->find_costs(result.row_match, of_pairs.data());
  if constexpr (std::is_same_v<Dual, double>) {
    if (hides_costs(*pairs, result, of_pairs.data())) {
      const bool is_solved = solve_in_two_parts(*pairs, transposed, result, counted, words) ||
                             stands_or_is_mended(costs, *pairs, transposed, result, words);
      if (!is_solved) return false;
      pairs->find_costs(result.row_match, of_pairs.data());
    }
  }
  found.note_pairs(rows, [&](Vertex row, Vertex column) {
    const Dual cost = of_pairs[transposed ? column : row];
    return call.maximize ? 0 - cost : cost;  // zeros have no sign
  });
  found.note_counters(counted, counted.start_size, ticks() - begin);
  return true;
}
#define GMATCH_SMALL_FEW_PAIRS(Cost) \
  template bool solve_small_few_pairs(const SmallMatrix<Cost>&, const SmallCall&, Count*, std::vector<Count>&);
GMATCH_SMALL_FEW_PAIRS(std::int32_t)
GMATCH_SMALL_FEW_PAIRS(Count)
GMATCH_SMALL_FEW_PAIRS(float)
GMATCH_SMALL_FEW_PAIRS(double)

namespace {

// The few cheaper pairs of a matrix, or None.
template <class Dual>
nb::object find_few_pairs(const AnyMatrix& costs, const std::string& stored, bool maximize, int threads) {
  return with_stored<Dual>(stored, [&](auto entry) -> nb::object {
    using Stored = decltype(entry);
    if constexpr (IS_NARROW<Stored>) {
      return nb::none();
    } else {
      const auto problem = dense_costs<Stored>(costs, maximize, nb::none());
      std::optional<FewPairs<Dual>> found;
      {
        const OthersMayRun others_may_run;
        found = FewPairsFinder<Stored>(problem).find(threads);
      }
      if (!found) return nb::none();
      return nb::cast(std::move(*found));
    }
  });
}

template <class Dual>
nb::dict assign_few_pairs(const FewPairs<Dual>& pairs, nb::handle limit, Array<Vertex> row_match, Array<Vertex> col_match,
                          Array<Dual> u, Array<Dual> v) {
  SparseShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const Dual cut_off = limit.is_none() ? pairs.common : nb::cast<Dual>(limit);
  {
    const OthersMayRun others_may_run;
    solve_few_pairs(pairs, cut_off, {u.data(), v.data(), row_match.data(), col_match.data()}, counted);
  }
  return to_dict(pairs.num_rows, counted.start_size, counted, lap(clock, now));
}

// The few pairs of a matrix, from their rows, columns and costs in the order of the rows. All other pairs have the common cost.
FewPairs<double> few_pairs_of(const Array<Vertex>& rows, const Array<Vertex>& columns, const Array<double>& costs, Vertex num_rows,
                              Vertex num_columns, double common) {
  FewPairs<double> pairs{num_rows, num_columns, common, common, {}, {}, {}};
  const auto add = [&](Vertex column, double cost) {
    pairs.columns.push_back(column);
    pairs.costs.push_back(cost);
    pairs.least = std::min(pairs.least, cost);
  };
  std::size_t next = 0;
  pairs.offsets.push_back(0);
  for (Vertex row = 0; row < num_rows; ++row) {
    for (; next < rows.size() && rows.data()[next] == row; ++next) add(columns.data()[next], costs.data()[next]);
    add(num_columns + row, common);
    pairs.offsets.push_back(static_cast<Count>(pairs.columns.size()));
  }
  return pairs;
}

// Solves few pairs in tiers. Writes the duals of the tier, which are whole, and the duals of the rests. Returns None, and writes
// nothing, if FewPairsInTiers does not solve them.
nb::object assign_few_pairs_in_tiers(const FewPairs<double>& pairs, Array<Vertex> row_match, Array<Vertex> col_match,
                                     Array<double> u, Array<double> v, Array<Count> tier_rows, Array<Count> tier_columns) {
  SparseShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  {
    const OthersMayRun others_may_run;
    FewPairsInTiers solver(pairs, counted);
    if (solver.solve()) {
      solver.of_rests().copy_to({u.data(), v.data(), row_match.data(), col_match.data()});
      const FoundPairs& tier = solver.of_tier();
      std::copy(tier.u.begin(), tier.u.end(), tier_rows.data());
      std::copy(tier.v.begin(), tier.v.end(), tier_columns.data());
      now = lap(clock, now);
    } else {
      now = -1;
    }
  }
  if (now < 0) return nb::none();
  return to_dict(pairs.num_rows, 0, counted, now);
}

// Writes the entry of each row's pair.
template <class Dual>
void entries_of_few_pairs(const FewPairs<Dual>& pairs, bool maximize, Array<Vertex> row_match, Array<Dual> entries) {
  pairs.find_costs(row_match.data(), entries.data());
  // 0 - cost, not -cost: zeros have no sign.
  for (Vertex row = 0; maximize && row < pairs.num_rows; ++row) entries.data()[row] = 0 - entries.data()[row];
}

template <class Dual>
void define_for(nb::module_& m, const char* name) {
  nb::class_<FewPairs<Dual>>(m, name)
      .def_ro("lowest", &FewPairs<Dual>::least)
      .def_ro("highest", &FewPairs<Dual>::common)
      .def("has_negative_within", &FewPairs<Dual>::has_negative_within, "bound"_a);
  m.def("entries_of_few_pairs", &entries_of_few_pairs<Dual>, "pairs"_a, "maximize"_a, "row_match"_a.noconvert(),
        "entries"_a.noconvert());
  m.def("assign_few_pairs", &assign_few_pairs<Dual>, "pairs"_a, "limit"_a.none(), "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert());
}

nb::object find_any(AnyMatrix costs, const std::string& stored, bool maximize, int threads) {
  const bool are_integers = stored.find("int") != std::string::npos;
  return are_integers ? find_few_pairs<Count>(costs, stored, maximize, threads)
                      : find_few_pairs<double>(costs, stored, maximize, threads);
}

}  // namespace

void define_few_pairs(nb::module_& m) {
  define_for<Count>(m, "FewPairsOfIntegers");
  define_for<double>(m, "FewPairsOfFloats");
  m.def("assign_few_pairs_in_tiers", &assign_few_pairs_in_tiers, "pairs"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "tier_rows"_a.noconvert(), "tier_columns"_a.noconvert());
  m.def("few_pairs_of", &few_pairs_of, "rows"_a.noconvert(), "columns"_a.noconvert(), "costs"_a.noconvert(), "num_rows"_a,
        "num_columns"_a, "common"_a);
  m.def("find_few_pairs", &find_any, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "threads"_a);
}
