// serial.cpp: dense assignment by serial shortest paths and by the core on one processor, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "bindings/module.hpp"
#include "bindings/serial_solvers.hpp"
#include "bindings/type_names.hpp"

namespace {

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

}  // namespace

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

GMATCH_SERIAL_SOLVERS(template)

namespace {

template <class Dual>
nb::dict assign_jv(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Dual least_cost,
                   Dual greatest_cost, Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u, Array<Dual> v,
                   bool has_duals) {
  ShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const Vertex size = with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return solve_serially(problem, {least_cost, greatest_cost, has_duals},
                          {u.data(), v.data(), row_match.data(), col_match.data()}, counted);
  });
  return to_dict(size, 0, counted, lap(clock, now));
}

template <class Dual>
nb::dict assign_core_jv(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Dual least_cost,
                        Dual greatest_cost, Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u, Array<Dual> v,
                        bool has_duals, bool may_begin_in_matrix, int threads) {
  CoreCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const Vertex size = with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return solve_by_core_or_matrix(problem, {least_cost, greatest_cost, has_duals}, may_begin_in_matrix, threads,
                                   {u.data(), v.data(), row_match.data(), col_match.data()}, counted);
  });
  nb::dict report = to_dict(size, counted.sparse.start_size, counted.sparse, lap(clock, now));
  report["phases"] = counted.sparse.augmentations + counted.dense.augmentations;
  report["levels"] = report["rows_scanned"] = counted.sparse.rows_scanned + counted.dense.rows_scanned;
  report["dual_steps"] = counted.sparse.dual_updates + counted.dense.dual_updates;
  report["edges_inspected"] = counted.sparse.entries_read + counted.dense.entries_read;
  report["repricings"] = counted.times_learned;
  report["price_ns"] = counted.price_ns;
  report["search_ns"] = nb::cast<Count>(report["search_ns"]) - counted.price_ns;
  report["gave_up"] = counted.trace.ends_with(CoreStep::search_matrix);
  report["trace"] = to_tuple(counted.trace);
  return report;
}

// Whether no other assignment is as cheap as this one, which is complete. Only assignments that use the columns that must be
// used count. A pair above the limit is no pair.
template <class Dual>
bool is_only_optimum_of(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit,
                        Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u, Array<Dual> v,
                        std::optional<Array<const bool>> must_be_used) {
  std::vector<bool> must;
  if (must_be_used) must.assign(must_be_used->data(), must_be_used->data() + must_be_used->shape(0));
  return with_stored<Dual>(stored, [&](auto entry) {
    using Stored = decltype(entry);
    const auto problem = dense_costs<Stored>(costs, maximize, limit);
    const ShortestPathResult<Dual> result{u.data(), v.data(), row_match.data(), col_match.data()};
    const OthersMayRun others_may_run;
    if constexpr (!IS_NARROW<Stored>) {
      if (problem.column_stride == 1) return is_only_optimum(problem, result, must);
    }
    DenseCosts<Stored> not_cut_off = problem;  // copies would be cut off at the limit
    not_cut_off.limit = problem.infinite();
    return OnlyOptimum<CopiedRows<Dual>, Dual>(CopiedRows<Dual>(not_cut_off), problem.limit, result, must).is_only();
  });
}

template <class Dual>
void define_shortest_paths_for(nb::module_& m) {
  m.def("assign_jv", &assign_jv<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "least_cost"_a,
        "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "has_duals"_a);
  m.def("assign_core_jv", &assign_core_jv<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "least_cost"_a, "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "has_duals"_a, "may_begin_in_matrix"_a, "threads"_a);
  m.def("is_only_optimum", &is_only_optimum_of<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "must_be_used"_a.noconvert().none());
}

}  // namespace

void define_shortest_paths(nb::module_& m) {
  define_shortest_paths_for<Count>(m);
  define_shortest_paths_for<double>(m);
}
