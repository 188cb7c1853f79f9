// ranked.cpp: the cheapest assignments in order, for Python.
#include "bindings/module.hpp"
#include "serial/ranked_assignments.hpp"

namespace {

template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Writes the next assignments, one a row of each table, as many as the tables have rows or as there are; returns how many.
// u and v are what the duals of the best assignment of all have changed by, so that free columns keep theirs.
template <class Dual>
Count rank(RankedAssignments<Dual>& ranking, Table<Vertex> row_match, Table<Dual> u, Table<Dual> v) {
  const OthersMayRun others_may_run;
  const auto number = static_cast<Count>(row_match.shape(0));
  const auto rows = static_cast<Vertex>(u.shape(1)), columns = static_cast<Vertex>(v.shape(1));
  for (Count i = 0; i < number; ++i) {
    const auto* node = ranking.next();
    if (node == nullptr) return i;
    for (Vertex row = 0; row < rows; ++row) {
      row_match.data()[i * rows + row] = node->pairs[row].column;
      u.data()[i * rows + row] = node->u(row) - node->vacancy;
    }
    for (Vertex column = 0; column < columns; ++column) {
      v.data()[i * columns + column] = node->v[column] + node->vacancy;
    }
  }
  return number;
}

template <class Dual>
void define_ranking(nb::module_& m, const char* name) {
  using Ranking = RankedAssignments<Dual>;
  nb::class_<Ranking>(m, name)
      .def(
          "__init__",
          [](Ranking* self, Array<const Count> offsets, Array<const Vertex> columns, Array<const Dual> slacks,
             Array<const Dual> leave, Array<const Vertex> row_match) {
            const RankedProblem<Dual> problem{static_cast<Vertex>(row_match.shape(0)), static_cast<Vertex>(leave.shape(0)),
                                              offsets.data(), columns.data(), slacks.data(), leave.data(),
                                              row_match.data()};
            new (self) Ranking(problem);
          },
          "offsets"_a.noconvert(), "columns"_a.noconvert(), "slacks"_a.noconvert(), "leave"_a.noconvert(),
          "row_match"_a.noconvert())
      .def("rank", &rank<Dual>, "row_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert());
}

}  // namespace

void define_ranked_assignments(nb::module_& m) {
  define_ranking<Count>(m, "RankedIntegers");
  define_ranking<double>(m, "RankedFloats");
}
