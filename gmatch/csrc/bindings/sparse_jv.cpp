// sparse_jv.cpp: sparse assignment by an auction on threads and serial shortest paths, for Python.
#include <algorithm>

#include "bindings/sparse_arrays.hpp"
#include "serial/sparse_shortest_path.hpp"

namespace {

// With duals, `row_match` may hold pairs to start from. It has NONE for rows without a pair.
template <class Offset, class Column, class Cost>
nb::dict assign_sparse_jv(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                          bool maximize, Array<Vertex> row_match, Array<Vertex> col_match,
                          Array<typename DualOf<Cost>::type> u, Array<typename DualOf<Cost>::type> v, bool has_duals,
                          int threads) {
  using Costs = const SparseCosts<Cost, Offset, Column>;
  Costs problem = sparse_costs<SparseCosts<Cost, Offset, Column>>(offsets, columns, costs, maximize, col_match);
  SparseShortestPathCounters counted{};
  Vertex size;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  {
    const OthersMayRun others_may_run;
    SparseShortestPathSolver<Costs> solver(problem, counted, threads);
    Vertex* const mates = row_match.data();
    const bool has_pairs = has_duals && std::any_of(mates, mates + problem.num_rows, [](Vertex mate) { return mate != NONE; });
    size = solver.solve(has_duals, mates, col_match.data(), u.data(), v.data(), has_pairs);
  }
  return to_dict(size, counted.start_size, counted, lap(clock, now));
}

template <class Offset, class Column, class Cost>
void define_for(nb::module_& m) {
  m.def("assign_sparse_jv", &assign_sparse_jv<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "has_duals"_a, "threads"_a);
}

}  // namespace

void define_sparse_jv(nb::module_& m) {
  each_type_of_sparse([&](auto offset, auto column, auto cost) {
    define_for<decltype(offset), decltype(column), decltype(cost)>(m);
  });
}
