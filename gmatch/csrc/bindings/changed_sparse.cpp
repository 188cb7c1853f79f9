// changed_sparse.cpp: sparse assignment from a former one, for Python.
#include "bindings/sparse_arrays.hpp"
#include "serial/sparse_shortest_path.hpp"

namespace {

// As match_changed, for sparse costs whose rows are all matched in the end.
template <class Offset, class Column, class Cost>
nb::dict match_changed_sparse(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                              bool maximize, Array<const Vertex> rows, Array<Vertex> row_match, Array<Vertex> col_match,
                              Array<typename DualOf<Cost>::type> u, Array<typename DualOf<Cost>::type> v) {
  using Costs = const SparseCosts<Cost, Offset, Column>;
  Costs problem{static_cast<Vertex>(row_match.shape(0)), static_cast<Vertex>(col_match.shape(0)), offsets.data(),
                columns.data(), costs.data(), maximize};
  SparseShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  Vertex size;
  {
    const OthersMayRun others_may_run;
    SparseShortestPathSolver<Costs> solver(problem, counted);
    size = solver.go_on(rows.data(), static_cast<Vertex>(rows.shape(0)), row_match.data(), col_match.data(), u.data(),
                        v.data());
  }
  return to_dict(size, counted.start_size, counted, lap(clock, now));
}

template <class Offset, class Column, class Cost>
void define_for(nb::module_& m) {
  m.def("match_changed_sparse", &match_changed_sparse<Offset, Column, Cost>, "offsets"_a.noconvert(),
        "columns"_a.noconvert(), "costs"_a.noconvert(), "maximize"_a, "rows"_a.noconvert(), "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert());
}

}  // namespace

void define_changed_sparse(nb::module_& m) {
  each_type_of_sparse([&](auto offset, auto column, auto cost) {
    define_for<decltype(offset), decltype(column), decltype(cost)>(m);
  });
}
