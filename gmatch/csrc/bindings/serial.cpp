// serial.cpp: dense assignment by serial shortest paths and by the core on one processor, for Python. Solvers of narrow types are
// compiled here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bindings/module.hpp"
#include "bindings/serial_solvers_of.hpp"
#include "bindings/type_names.hpp"

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

template <class Dual>
void define_shortest_paths_for(nb::module_& m) {
  m.def("assign_jv", &assign_jv<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "least_cost"_a,
        "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "has_duals"_a);
  m.def("assign_core_jv", &assign_core_jv<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "least_cost"_a, "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "has_duals"_a, "may_begin_in_matrix"_a, "threads"_a);
}

}  // namespace

void define_shortest_paths(nb::module_& m) {
  define_shortest_paths_for<Count>(m);
  define_shortest_paths_for<double>(m);
}
