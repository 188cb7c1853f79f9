// sparse.cpp: the arrays of sparse costs, for Python.
#include <algorithm>

#include "bindings/sparse_arrays.hpp"
#include "cardinality/sparse_rows.cuh"
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

template <class Offset, class Column, class Cost, class Entry>
void define_lay_out_for(nb::module_& m) {
  m.def("lay_out_sparse", &lay_out_sparse<Offset, Column, Cost, Entry>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "to"_a.noconvert(), "missing"_a);
}

template <class Offset, class Column, class Cost>
void define_entries_for(nb::module_& m) {
  m.def("lies_dense", &lies_dense<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "num_columns"_a);
  define_lay_out_for<Offset, Column, Cost, Cost>(m);
  if constexpr (std::numeric_limits<Cost>::is_integer) define_lay_out_for<Offset, Column, Cost, double>(m);
}

template <class Offset, class Column>
void define_places_for(nb::module_& m) {
  m.def("has_duplicates", &has_duplicates<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a);
  m.def("find_entries", &find_entries_of_pairs<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a, "row_match"_a.noconvert(), "positions"_a.noconvert());
}

}  // namespace

void define_sparse(nb::module_& m) {
  define_places_for<std::int32_t, std::int32_t>(m);
  define_places_for<std::int64_t, std::int32_t>(m);
  define_places_for<std::int64_t, std::int64_t>(m);
  each_type_of_sparse([&](auto offset, auto column, auto cost) {
    define_entries_for<decltype(offset), decltype(column), decltype(cost)>(m);
  });
  m.def("is_best_laid_out", &is_best_laid_out, "rows"_a, "columns"_a, "entries"_a);
}
