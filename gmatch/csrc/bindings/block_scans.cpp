// block_scans.cpp: scans of a rank over its block on host threads, for Python.
#include <nanobind/stl/string.h>

#include "bindings/block_runs.hpp"
#include "serial/rows/block_scans.hpp"

namespace {

using Covered = Array<unsigned char>;

template <class Dual>
BlockPass<Dual> pass_over(const Array<Vertex>& rows, const Array<Dual>& u, const Array<Dual>& v, const Covered& covered) {
  return {rows.data(), static_cast<Count>(rows.size()), u.data(), v.data(), covered.size() == 0 ? nullptr : covered.data()};
}

template <class Dual>
void least_of_rows(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> rows,
                   Array<Dual> v, Covered covered, Array<Dual> least, Array<Vertex> nearest, int threads) {
  const auto pass = pass_over(rows, v, v, covered);
  run_over_block<Dual>(costs, stored, maximize, limit, threads, [&](HostTeam& team, const auto& block) {
    find_least_of_rows(team, block, pass, least.data(), nearest.data());
  });
}

template <class Dual>
void least_of_columns(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Dual> u,
                      Array<Dual> least, Array<Count> places, int threads) {
  run_over_block<Dual>(costs, stored, maximize, limit, threads, [&](HostTeam& team, const auto& block) {
    find_least_of_columns(team, block, u.data(), least.data(), places.data());
  });
}

template <class Dual>
Count entries_up_to(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> rows,
                    Array<Dual> u, Array<Dual> v, Covered covered, Dual most, Array<Count> places, Array<Dual> slacks,
                    int threads) {
  const auto pass = pass_over(rows, u, v, covered);
  Count found = 0;
  const ListedEntries<Dual> listed{places.data(), slacks.data(), static_cast<Count>(places.size()), &found};
  run_over_block<Dual>(costs, stored, maximize, limit, threads, [&](HostTeam& team, const auto& block) {
    list_entries_up_to(team, block, pass, most, listed);
  });
  return found;
}

template <class Dual>
void define_block_scans_for(nb::module_& m) {
  m.def("least_of_rows", &least_of_rows<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "rows"_a.noconvert(), "v"_a.noconvert(), "covered"_a.noconvert(), "least"_a.noconvert(),
        "nearest"_a.noconvert(), "threads"_a);
  m.def("least_of_columns", &least_of_columns<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "u"_a.noconvert(), "least"_a.noconvert(), "places"_a.noconvert(), "threads"_a);
  m.def("entries_up_to", &entries_up_to<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "rows"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "covered"_a.noconvert(), "most"_a,
        "places"_a.noconvert(), "slacks"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_block_scans(nb::module_& m) {
  define_block_scans_for<Count>(m);
  define_block_scans_for<double>(m);
}
