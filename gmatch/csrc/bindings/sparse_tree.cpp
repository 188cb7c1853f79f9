// sparse_tree.cpp: sparse assignment by the search on host threads, for Python; and the memory that its program needs on a GPU.
#include <nanobind/stl/string.h>

#include "assignment/assign_sparse.cuh"
#include "bindings/sparse_arrays.hpp"
#include "bindings/type_names.hpp"

namespace {

template <class Offset, class Column, class Cost>
nb::tuple assign_sparse_tree(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                             bool maximize, Array<Vertex> row_match, Array<Vertex> col_match,
                             Array<typename DualOf<Cost>::type> u, Array<typename DualOf<Cost>::type> v,
                             Array<Vertex> levels, Array<Vertex> augmentations, int start, bool has_duals,
                             bool many_paths, typename DualOf<Cost>::type spread, int threads) {
  using Costs = SparseCosts<Cost, Offset, Column>;
  const Costs problem = sparse_costs<Costs>(offsets, columns, costs, maximize, col_match);
  AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, many_paths);
  return call.run(sparse_assignment_workspace_size(problem), threads,
                  [&](HostTeam& team) { assign_stored(team, problem, call.task, spread); });
}

template <class Cost, class Offset, class Column>
SparseCosts<Cost, Offset, Column> of_shape(int num_rows, int num_columns, Cost, CsrEdges<Offset, Column>) {
  return {num_rows, num_columns, nullptr, nullptr, nullptr, false};
}

Count gpu_sparse_assignment_workspace_size(int num_rows, int num_columns, const std::string& cost,
                                           const std::string& offset, const std::string& column) {
  return with_cost(cost, [&](auto entry) {
    return with_indices(offset, column, [&](auto edges) {
      return sparse_assignment_workspace_size(of_shape(num_rows, num_columns, entry, edges));
    });
  });
}

template <class Offset, class Column, class Cost>
void define_for(nb::module_& m) {
  m.def("assign_sparse_tree", &assign_sparse_tree<Offset, Column, Cost>, "offsets"_a.noconvert(),
        "columns"_a.noconvert(), "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "levels"_a.noconvert(),
        "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "many_paths"_a, "spread"_a, "threads"_a);
}

}  // namespace

void define_sparse_tree(nb::module_& m) {
  each_type_of_sparse([&](auto offset, auto column, auto cost) {
    define_for<decltype(offset), decltype(column), decltype(cost)>(m);
  });
  m.def("sparse_assignment_workspace_size", &gpu_sparse_assignment_workspace_size, "num_rows"_a, "num_columns"_a,
        "cost"_a, "offset"_a, "column"_a);
}
