// changed.cpp: dense assignment from a former one, for Python.
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "bindings/type_names.hpp"
#include "serial/changed_rows.hpp"

namespace {

// The arrays come from the former assignment, with places for the present rows and columns. Their numbers are trusted.
template <class Dual>
nb::dict match_changed(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, nb::handle way_out,
                       Array<const Vertex> rows, Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u,
                       Array<Dual> v) {
  ShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const auto number = static_cast<Vertex>(rows.shape(0));
  const Dual price = way_out.is_none() ? beyond_all(Dual{}) : nb::cast<Dual>(way_out);
  const Vertex size = with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return match_changed_rows(problem, price, rows.data(), number,
                              {u.data(), v.data(), row_match.data(), col_match.data()}, counted);
  });
  return to_dict(size, static_cast<Count>(row_match.shape(0)) - number, counted, lap(clock, now));
}

template <class Dual>
void define_for(nb::module_& m) {
  m.def("match_changed", &match_changed<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "way_out"_a.none(), "rows"_a.noconvert(), "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert());
}

}  // namespace

void define_changed(nb::module_& m) {
  define_for<Count>(m);
  define_for<double>(m);
  m.attr("MOST_CHANGED") = BoundedRows::MOST;
}
