// rows.cpp: the best entries of rows that are known some at a time, and what pairs of points cost, for Python.
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "bindings/point_terms.hpp"
#include "points/rows.hpp"

namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void costs_of_pairs(Matrix<const double> x, Matrix<const double> y, const std::string& metric, Array<const long long> rows,
                    Array<const long long> columns, Array<double> costs) {
  with_terms(metric, [&](auto terms) {
    const OthersMayRun others_may_run;
    points::costs_of_pairs<decltype(terms)>(x.data(), y.data(), x.shape(1), rows.data(), columns.data(), rows.shape(0),
                                            costs.data());
  });
}

// The keys are of consecutive rows, of which the first has the number `first` among `height`. `most` is 1 or 2.
template <class Key>
void best_of_strata(Matrix<const Key> keys, Count first, Count height, Key far, int most, Matrix<Vertex> best) {
  const OthersMayRun others_may_run;
  const auto num_columns = static_cast<Vertex>(keys.shape(1));
  for (std::size_t row = 0; row < keys.shape(0); ++row) {
    const auto begin = static_cast<Vertex>((first + static_cast<Count>(row)) * num_columns / std::max(Count{1}, height));
    Vertex* const to = best.data() + row * points::STRATA * most;
    run_in_lanes<points::BestOfStrata<Key>>(num_columns * sizeof(Key), keys.data() + row * keys.shape(1), num_columns, begin, far,
                                            to, most == 2 ? to + points::STRATA : nullptr);
  }
}

template <class Key>
void define_best_of_strata(nb::module_& m) {
  m.def("best_of_strata", &best_of_strata<Key>, "keys"_a.noconvert(), "first"_a, "height"_a, "far"_a, "most"_a,
        "best"_a.noconvert());
}

}  // namespace

void define_rows(nb::module_& m) {
  m.attr("STRATA") = points::STRATA;
  m.def("costs_of_pairs", &costs_of_pairs, "x"_a.noconvert(), "y"_a.noconvert(), "metric"_a, "rows"_a.noconvert(),
        "columns"_a.noconvert(), "costs"_a.noconvert());
  define_best_of_strata<float>(m);
  define_best_of_strata<double>(m);
  define_best_of_strata<long long>(m);
}
