// points.cpp: assignment of points on the host, for Python.
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "bindings/spaces.hpp"
#include "points/levels.hpp"

namespace {

using Points = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::unique_ptr<points::Space> space_with(std::size_t dimension, const std::string& metric, double p) {
  switch (dimension) {
    case 2: return space_of<2>(metric, p);
    case 3: return space_of<3>(metric, p);
    case 4: return space_of<4>(metric, p);
    case 8: return space_of<8>(metric, p);
  }
  throw nb::value_error("expected points of 2, 3, 4 or 8 coordinates");
}

// The error of powers here or in NumPy, as a share. A pair that costs the limit up to this error may stay free instead.
constexpr double ROUNDING_OF_POWERS = 0x1p-48;

// Without a limit the cost of an x that stays free is infinite. Empty arrays are no start. `p` is of Minkowski's distances.
nb::dict assign_points(Points x, Points y, const std::string& metric, double p, bool doubled, double limit, bool whole,
                       double unit, Array<const Vertex> start_match, Array<const double> start_v, Array<Vertex> row_match,
                       Array<Vertex> col_match, Array<double> u, Array<double> v, int smallest, int threads, double gap) {
  const auto space = space_with(x.shape(1), metric, p);
  const bool has_powers = (metric == "minkowski" || metric == "minus minkowski") && limit < points::FAR;
  const double limit_of_pairs = has_powers ? limit - std::abs(limit) * ROUNDING_OF_POWERS : limit;
  points::Counters counted;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  try {
    const OthersMayRun others_may_run;
    counted = points::solve(*space, {doubled, limit, limit_of_pairs, whole, unit, smallest, threads, gap},
                            {static_cast<Vertex>(x.shape(0)), static_cast<Vertex>(y.shape(0)), x.data(), y.data(),
                             start_match.shape(0) ? start_match.data() : nullptr, start_v.shape(0) ? start_v.data() : nullptr,
                             row_match.data(), col_match.data(), u.data(), v.data()});
  } catch (const points::NoRoom& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
    throw nb::python_error();
  }
  nb::dict report = to_dict(static_cast<Vertex>(x.shape(0)), counted.search.start_size, counted.search, lap(clock, now));
  report["levels"] = counted.levels;
  report["rounds"] = counted.rounds;
  report["violations"] = counted.first_found;
  report["core_pairs"] = counted.pairs;
  report["bids"] = counted.bids;
  report["times_learned"] = counted.times_learned;
  report["stopped"] = counted.stopped;
  nb::dict nanoseconds;
  nanoseconds["order"] = counted.order_ns;
  nanoseconds["extend"] = counted.extend_ns;
  nanoseconds["core"] = counted.core_ns;
  nanoseconds["auction"] = counted.auction_ns;
  nanoseconds["search"] = counted.search_ns;
  nanoseconds["price"] = counted.price_ns;
  nanoseconds["finish"] = counted.finish_ns;
  report["nanoseconds"] = nanoseconds;
  return report;
}

}  // namespace

void define_points(nb::module_& m) {
  m.def("assign_points", &assign_points, "x"_a.noconvert(), "y"_a.noconvert(), "metric"_a, "p"_a, "doubled"_a,
        "limit"_a, "whole"_a, "unit"_a, "start_match"_a.noconvert(), "start_v"_a.noconvert(), "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "smallest"_a, "threads"_a, "gap"_a);
}
