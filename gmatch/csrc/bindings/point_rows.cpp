// point_rows.cpp: points of many coordinates by rows of what they cost, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bindings/module.hpp"
#include "bindings/point_terms.hpp"
#include "points/row_search.hpp"

namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Panels = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// See points::PairBounds, whose fields these are.
struct GivenBounds {
  Matrix<const float> x;
  Panels y;
  Array<const double> of_rows, of_columns;
  double unit;
  bool root;

  points::PairBounds pair_bounds(bool maximize) const {
    return {x.data(), y.data(), of_rows.data(), of_columns.data(), unit, root, maximize};
  }
};

// Clouds that are kept alive while they are used.
struct GivenPoints {
  points::PointsInPanels x, y;
  points::PairCosts costs;

  GivenPoints(const Matrix<const double>& of_x, const Matrix<const double>& of_y, const std::string& metric, bool maximize)
      : x(of_x.data(), static_cast<Vertex>(of_x.shape(0)), of_x.shape(1)),
        y(of_y.data(), static_cast<Vertex>(of_y.shape(0)), of_y.shape(1)),
        costs(with_terms(metric, [&](auto terms) { return points::PairCosts::of(x, y, maximize, Offer::FAR, terms); })) {}
};

nb::dict assign_point_rows(Matrix<const double> x, Matrix<const double> y, const std::string& metric, bool maximize,
                           double limit, std::optional<GivenBounds> bounds, Array<Vertex> row_match, Array<Vertex> col_match,
                           Array<double> u, Array<double> v, bool has_duals, int threads) {
  points::RowSearchCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  {
    const OthersMayRun others_may_run;
    const GivenPoints given(x, y, metric, maximize);
    const std::optional<points::PairBounds> below = bounds ? std::optional(bounds->pair_bounds(maximize)) : std::nullopt;
    points::RowSearch(given.costs, limit, below ? &*below : nullptr, threads, counted)
        .solve(has_duals, {u.data(), v.data(), row_match.data(), col_match.data()});
  }
  const Count ns = lap(clock, now);
  const CoreCounters& core = counted.core;
  nb::dict report = to_dict(0, core.sparse.start_size, core.sparse, ns - core.price_ns);
  report["phases"] = core.sparse.augmentations + core.dense.augmentations;
  report["rows_read"] = core.dense.rows_scanned;
  report["levels"] = report["rows_scanned"] = core.sparse.rows_scanned + core.dense.rows_scanned;
  report["dual_steps"] = core.sparse.dual_updates + core.dense.dual_updates;
  report["repricings"] = core.times_learned;
  report["price_ns"] = core.price_ns;
  report["coarser_levels"] = counted.levels;
  report["bids"] = counted.bids;
  report["trace"] = to_tuple(core.trace);
  return report;
}

// Writes rows of what points cost, or bounds of that; of the doubled problem if there is an `own`. For tests. Every
// second group of ROWS_TOGETHER rows is announced by expect().
void rows_of_points(Matrix<const double> x, Matrix<const double> y, const std::string& metric, bool maximize,
                    std::optional<GivenBounds> bounds, std::optional<double> own, Array<const Vertex> numbers,
                    Matrix<double> rows) {
  const GivenPoints given(x, y, metric, maximize);
  const auto write = [&](auto source) {
    const auto size = static_cast<Vertex>(numbers.shape(0));
    for (Vertex k = 0; k < size; ++k) {
      if (k % (2 * ROWS_TOGETHER) == 0) source.expect(numbers.data() + k, std::min(ROWS_TOGETHER, size - k));
      std::copy_n(source.entries(numbers.data()[k]), source.num_columns(), rows.data() + k * rows.shape(1));
    }
  };
  if (bounds) write(points::BoundRows(given.costs, bounds->pair_bounds(maximize)));
  else if (own) write(points::PointRows(given.costs, *own));
  else write(points::PointRows(given.costs));
}

}  // namespace

void define_point_rows(nb::module_& m) {
  m.attr("WIDE_PANEL") = points::PairBounds::WIDE_PANEL;
  nb::class_<GivenBounds>(m, "PairBounds")
      .def("__init__", [](GivenBounds* self, Matrix<const float> x, Panels y, Array<const double> of_rows,
                          Array<const double> of_columns, double unit, bool root) {
        new (self) GivenBounds{x, y, of_rows, of_columns, unit, root};
      });
  m.def("assign_point_rows", &assign_point_rows, "x"_a.noconvert(), "y"_a.noconvert(), "metric"_a, "maximize"_a, "limit"_a,
        "bounds"_a.none(), "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "has_duals"_a, "threads"_a);
  m.def("rows_of_points", &rows_of_points, "x"_a.noconvert(), "y"_a.noconvert(), "metric"_a, "maximize"_a, "bounds"_a.none(),
        "own"_a.none(), "numbers"_a.noconvert(), "rows"_a.noconvert());
}
