// bottleneck.cpp: the assignment whose most expensive pair is cheapest, for Python.
#include "bindings/module.hpp"
#include "serial/bottleneck_search.hpp"

namespace {

// Returns how many rows are matched, and how often the threshold rose.
template <class Cost>
nb::tuple assign_bottleneck(CostMatrix<Cost> costs, bool maximize, Array<Vertex> row_match, Array<Vertex> col_match,
                            Array<bool> cover_rows, Array<bool> cover_columns) {
  const DenseCosts<Cost> problem = dense_costs<Cost>(costs, maximize, nb::none());
  BottleneckSearch<Cost> search(problem, row_match.data(), col_match.data(), cover_rows.data(), cover_columns.data());
  Vertex size;
  {
    const OthersMayRun others_may_run;
    size = search.solve();
  }
  return nb::make_tuple(size, search.rises());
}

template <class Cost>
void define_for(nb::module_& m) {
  m.def("assign_bottleneck", &assign_bottleneck<Cost>, "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "cover_rows"_a.noconvert(), "cover_columns"_a.noconvert());
}

}  // namespace

void define_bottleneck(nb::module_& m) {
  define_for<std::int32_t>(m);
  define_for<Count>(m);
  define_for<float>(m);
  define_for<double>(m);
}
