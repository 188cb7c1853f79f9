// rows.cpp: passes over rows of costs or points that are known some at a time, for Python.
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "points/rows.hpp"

namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Call>
void with_terms(const std::string& metric, const Call& call) {
  if (metric == "sqeuclidean") return call(points::SquaredTerms{});
  if (metric == "euclidean") return call(points::RootOfSquaredTerms{});
  if (metric == "cityblock") return call(points::AbsoluteTerms{});
  if (metric == "chebyshev") return call(points::LargestTerm{});
  if (metric == "dot") return call(points::Products<0>{});
  if (metric == "cosine") return call(points::Products<1>{});
  throw nb::value_error(("unknown metric " + metric).c_str());
}

void costs_of_pairs(Matrix<const double> x, Matrix<const double> y, const std::string& metric, Array<const long long> rows,
                    Array<const long long> columns, Array<double> costs) {
  with_terms(metric, [&](auto terms) {
    const OthersMayRun others_may_run;
    points::costs_of_pairs<decltype(terms)>(x.data(), y.data(), x.shape(1), rows.data(), columns.data(), rows.shape(0),
                                            costs.data());
  });
}

// y lies in panels: of PANEL points each, the last one filled up, a row for each coordinate.
void costs_of_rows(Matrix<const double> x, nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu> y,
                   const std::string& metric, Matrix<double> costs) {
  with_terms(metric, [&](auto terms) {
    const OthersMayRun others_may_run;
    const std::size_t dimension = x.shape(1), num_columns = costs.shape(1);
    for (std::size_t panel = 0; panel < y.shape(0); ++panel) {
      const std::size_t first = panel * points::PANEL, size = std::min(points::PANEL, num_columns - first);
      run_in_lanes<points::CostsOfPanel<decltype(terms)>>(dimension * sizeof(double), x.data(),
                                                          y.data() + first * dimension, dimension, x.shape(0), size, num_columns,
                                                          costs.data() + first);
    }
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
  m.attr("PANEL") = points::PANEL;
  m.def("costs_of_pairs", &costs_of_pairs, "x"_a.noconvert(), "y"_a.noconvert(), "metric"_a, "rows"_a.noconvert(),
        "columns"_a.noconvert(), "costs"_a.noconvert());
  m.def("costs_of_rows", &costs_of_rows, "x"_a.noconvert(), "y"_a.noconvert(), "metric"_a, "costs"_a.noconvert());
  define_best_of_strata<float>(m);
  define_best_of_strata<double>(m);
  define_best_of_strata<long long>(m);
}
