// sparse.cpp: sparse assignment on the host, for Python.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "assignment/assign_sparse.cuh"
#include "bindings/module.hpp"
#include "bindings/type_names.hpp"
#include "cardinality/sparse_rows.cuh"
#include "serial/sparse_shortest_path.hpp"
#include "serial/stored_matrix.hpp"

namespace {

template <class Offset, class Column>
CsrEdges<Offset, Column> edges_of(const Array<const Offset>& offsets, const Array<const Column>& columns,
                                  Vertex num_columns) {
  return {static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, offsets.data(), columns.data()};
}

// Whether a row has two entries in one column. The arrays are trusted.
template <class Offset, class Column>
bool has_duplicates(Array<const Offset> offsets, Array<const Column> columns, int num_columns) {
  const OthersMayRun others_may_run;
  const auto edges = edges_of(offsets, columns, num_columns);
  HostTeam team(0, 1, nullptr);
  Count num_unsorted = 0;
  count_unsorted(team, edges, &num_unsorted);
  if (num_unsorted == 0) return false;
  std::vector<Vertex> last_row(num_columns, NONE);
  Poll poll;
  for (Vertex row = 0; row < edges.num_rows; ++row) {
    poll.spend(edges.end(row) - edges.begin(row));
    for (Offset edge = edges.begin(row); edge < edges.end(row); ++edge) {
      Vertex& last = last_row[edges.column(edge)];
      if (last == row) return true;
      last = row;
    }
  }
  return false;
}

template <class Offset, class Column>
void find_entries_of_pairs(Array<const Offset> offsets, Array<const Column> columns, int num_columns,
                           Array<const Vertex> row_match, Array<Count> positions) {
  const OthersMayRun others_may_run;
  HostTeam team(0, 1, nullptr);
  find_entries(team, edges_of(offsets, columns, num_columns), row_match.data(), positions.data());
}

template <class Costs, class Offset, class Column, class Cost>
Costs sparse_costs(const Array<const Offset>& offsets, const Array<const Column>& columns,
                   const Array<const Cost>& costs, bool maximize, const Array<Vertex>& col_match) {
  return {static_cast<Vertex>(offsets.shape(0)) - 1, static_cast<Vertex>(col_match.shape(0)), offsets.data(),
          columns.data(), costs.data(), maximize};
}

// With duals, `row_match` may hold pairs to start from. It has NONE for rows without a pair.
template <class Offset, class Column, class Cost>
nb::dict assign_sparse_jv(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                          bool maximize, Array<Vertex> row_match, Array<Vertex> col_match,
                          Array<typename DualOf<Cost>::type> u, Array<typename DualOf<Cost>::type> v, bool has_duals) {
  using Costs = const SparseCosts<Cost, Offset, Column>;
  Costs problem = sparse_costs<SparseCosts<Cost, Offset, Column>>(offsets, columns, costs, maximize, col_match);
  SparseShortestPathCounters counted{};
  Vertex size;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  {
    const OthersMayRun others_may_run;
    SparseShortestPathSolver<Costs> solver(problem, counted);
    Vertex* const mates = row_match.data();
    const bool has_pairs = has_duals && std::any_of(mates, mates + problem.num_rows, [](Vertex mate) { return mate != NONE; });
    size = solver.solve(has_duals, mates, col_match.data(), u.data(), v.data(), has_pairs);
  }
  return to_dict(size, counted.start_size, counted, lap(clock, now));
}

template <class Offset, class Column, class Cost>
StoredMatrix<Cost, Column, Offset> stored_matrix(const Array<const Offset>& offsets, const Array<const Column>& columns,
                                                 const Array<const Cost>& costs, int num_columns) {
  const Count length = std::min(columns.shape(0), costs.shape(0));
  return {static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, offsets.data(), nullptr, columns.data(), 1,
          costs.data(), length};
}

// Whether the entries lie in memory as the entries of a dense matrix do.
template <class Offset, class Column, class Cost>
bool lies_dense(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs, int num_columns) {
  const OthersMayRun others_may_run;
  return stored_matrix(offsets, columns, costs, num_columns).is_dense();
}

// Writes all pairs to a dense matrix, `missing` for the pairs that are not stored. False if the arrays are no such matrix any
// more.
template <class Offset, class Column, class Cost, class Entry>
bool lay_out_sparse(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                    nb::ndarray<Entry, nb::ndim<2>, nb::c_contig, nb::device::cpu> to, Entry missing) {
  if (to.shape(0) + 1 != offsets.shape(0)) return false;
  const OthersMayRun others_may_run;
  const auto stored = stored_matrix(offsets, columns, costs, static_cast<int>(to.shape(1)));
  return lay_out(stored, false, missing, to.data()) != Found::NO_MATRIX;
}

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

template <class Offset, class Column, class Cost, class Entry>
void define_lay_out_for(nb::module_& m) {
  m.def("lay_out_sparse", &lay_out_sparse<Offset, Column, Cost, Entry>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "to"_a.noconvert(), "missing"_a);
}

template <class Offset, class Column, class Cost>
void define_sparse_assignment_for(nb::module_& m) {
  m.def("lies_dense", &lies_dense<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "num_columns"_a);
  define_lay_out_for<Offset, Column, Cost, Cost>(m);
  if constexpr (std::numeric_limits<Cost>::is_integer) define_lay_out_for<Offset, Column, Cost, double>(m);
  m.def("assign_sparse_jv", &assign_sparse_jv<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "has_duals"_a);
  m.def("assign_sparse_tree", &assign_sparse_tree<Offset, Column, Cost>, "offsets"_a.noconvert(),
        "columns"_a.noconvert(), "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "levels"_a.noconvert(),
        "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "many_paths"_a, "spread"_a, "threads"_a);
}

template <class Offset, class Column>
void define_sparse_for(nb::module_& m) {
  m.def("has_duplicates", &has_duplicates<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a);
  m.def("find_entries", &find_entries_of_pairs<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a, "row_match"_a.noconvert(), "positions"_a.noconvert());
  define_sparse_assignment_for<Offset, Column, std::int32_t>(m);
  define_sparse_assignment_for<Offset, Column, Count>(m);
  define_sparse_assignment_for<Offset, Column, float>(m);
  define_sparse_assignment_for<Offset, Column, double>(m);
}

}  // namespace

void define_sparse_assignment(nb::module_& m) {
  define_sparse_for<std::int32_t, std::int32_t>(m);
  define_sparse_for<std::int64_t, std::int32_t>(m);
  define_sparse_for<std::int64_t, std::int64_t>(m);
  m.def("is_best_laid_out", &is_best_laid_out, "rows"_a, "columns"_a, "entries"_a);
  m.def("sparse_assignment_workspace_size", &gpu_sparse_assignment_workspace_size, "num_rows"_a, "num_columns"_a,
        "cost"_a, "offset"_a, "column"_a);
}
