// blocks.cpp: the Dulmage-Mendelsohn decomposition from a maximum matching, for Python.
#include "bindings/module.hpp"
#include "bindings/numpy_arrays.hpp"
#include "cardinality/blocks.hpp"

namespace {

nb::object array_of(const Vertex* numbers, Py_ssize_t length) {
  Vertex* copies;
  nb::object array = numpy::Table::get().array(1, &length, &copies);
  std::copy_n(numbers, length, copies);
  return array;
}
nb::object array_of(const std::vector<Vertex>& numbers) { return array_of(numbers.data(), numbers.size()); }

// The arrays of a `Decomposition`, in their order, and the nanoseconds that its coarse parts took.
template <class Offset, class Column>
nb::tuple decompose(Array<const Offset> offsets, Array<const Column> columns, Array<const Vertex> row_match,
                    Array<const Vertex> col_match, Array<const std::uint8_t> reached) {
  const CsrEdges<Offset, Column> edges{static_cast<Vertex>(row_match.shape(0)), static_cast<Vertex>(col_match.shape(0)),
                                       offsets.data(), columns.data()};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds(), coarse_ns;
  Decomposition form;
  {
    const OthersMayRun others_may_run;
    BlockFinder<Offset, Column> finder(edges, row_match.data(), col_match.data(), reached.data());
    finder.grow_from_free_columns();
    coarse_ns = lap(clock, now);
    form = finder.decompose();
  }
  const nb::tuple arrays =
      nb::make_tuple(array_of(form.row_order), array_of(form.col_order), array_of(form.row_blocks), array_of(form.col_blocks),
                     array_of(form.coarse_cols, 5), array_of(form.coarse_rows, 5));
  return nb::make_tuple(arrays, coarse_ns);
}

template <class Offset, class Column>
void define_for(nb::module_& m) {
  m.def("decompose", &decompose<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(), "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "reached"_a.noconvert());
}

}  // namespace

void define_blocks(nb::module_& m) {
  define_for<std::int32_t, std::int32_t>(m);
  define_for<std::int64_t, std::int32_t>(m);
  define_for<std::int64_t, std::int64_t>(m);
}
