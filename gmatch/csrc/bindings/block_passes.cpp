// block_passes.cpp: passes of a rank over its block on host threads, for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/module.hpp"
#include "bindings/numpy_arrays.hpp"
#include "bindings/type_names.hpp"
#include "serial/block_picks.hpp"
#include "serial/block_scans.hpp"
#include "serial/tree_paths.hpp"

namespace {

using Covered = Array<unsigned char>;

template <class Dual>
BlockPass<Dual> pass_over(const Array<Vertex>& rows, const Array<Dual>& u, const Array<Dual>& v, const Covered& covered) {
  return {rows.data(), static_cast<Count>(rows.size()), u.data(), v.data(), covered.size() == 0 ? nullptr : covered.data()};
}

// Calls program(team, costs) on host threads while others run Python.
template <class Dual, class Program>
void run_over_block(const AnyMatrix& costs, const std::string& stored, bool maximize, nb::handle limit, int threads,
                    const Program& program) {
  with_stored<Dual>(stored, [&](auto entry) {
    const auto block = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    run_on_host(threads, [&](HostTeam& team) { program(team, block); });
  });
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

// A vector as an array of NumPy that owns it.
template <class T>
nb::object as_array(std::vector<T>&& numbers) {
  auto* const kept = new std::vector<T>(std::move(numbers));
  const nb::capsule owner(kept, [](void* given) noexcept { delete static_cast<std::vector<T>*>(given); });
  return numpy::Table::get().view(owner, kept->data(), static_cast<Py_ssize_t>(kept->size()));
}

// See PickedPlaces; an empty u is none.
template <class Dual>
nb::tuple pick(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> rows, Array<Dual> u,
               Array<Dual> v, std::tuple<Vertex, Vertex, Vertex, nb::handle> depth, Array<Dual> bounds, int threads) {
  const auto [minima, chosen, room, below] = depth;
  const Dual most = below.is_none() ? beyond_all(Dual{}) : nb::cast<Dual>(below);
  const BlockPicks<Dual> asked{rows.data(), static_cast<Vertex>(rows.size()), u.size() == 0 ? nullptr : u.data(),
                               v.data(), {minima, chosen, room}, most, bounds.data()};
  PickedPlaces<Dual> found = with_stored<Dual>(stored, [&](auto entry) {
    const auto block = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return pick_from_block(block, asked, threads);
  });
  return nb::make_tuple(as_array(std::move(found.places)), as_array(std::move(found.costs)), found.overpriced);
}

// The edges of rows to columns of other ranks, as in Forest: begins, columns and costs.
template <class Dual>
using FarEdges = std::tuple<Array<Count>, Array<Vertex>, Array<Dual>>;

// See close_forest of core/block_passes.cuh. `next` has room for all rows; the first `length` are the frontier. Returns up to
// which label all rows have been expanded.
template <class Dual>
Dual close(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, std::pair<Array<Vertex>, Count> frontier,
           Vertex first_column, Array<Vertex> mate, Array<Dual> u, Array<Dual> v, Array<Dual> label, Array<Vertex> predecessor,
           Array<Dual> expanded, FarEdges<Dual> far, Dual bound, Count wanted, int threads) {
  auto& [next, length] = frontier;
  auto& [begins, columns, entries] = far;
  Dual limits[4], threshold = 0;
  Count within[2];
  Vertex lengths[2];
  // Threads of a host lower labels directly, without shares of a frontier.
  const Forest<Dual> forest{static_cast<Vertex>(u.size()), static_cast<Vertex>(v.size()), first_column, mate.data(), u.data(),
                            v.data(), label.data(), predecessor.data(), expanded.data(), begins.data(), columns.data(),
                            entries.data(), nullptr, nullptr, 1};
  run_over_block<Dual>(costs, stored, maximize, limit, threads, [&](HostTeam& team, const auto& block) {
    close_forest(team, block, forest, Closing<Dual>{next.data(), length, bound, wanted, limits, within, lengths, &threshold});
  });
  return threshold;
}

// See augment_trees of serial/tree_paths.hpp.
template <class Dual>
Dual augment(Array<Vertex> row_match, Array<Dual> label, Array<Vertex> predecessor, Dual theta, bool free_keep_duals) {
  const PredecessorTrees<Dual> trees{static_cast<Vertex>(row_match.size()), static_cast<Vertex>(label.size()), row_match.data(),
                          label.data(), predecessor.data()};
  const OthersMayRun others_may_run;
  return augment_trees(trees, theta, free_keep_duals);
}

template <class Dual>
void define_passes_for(nb::module_& m) {
  m.def("least_of_rows", &least_of_rows<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "rows"_a.noconvert(), "v"_a.noconvert(), "covered"_a.noconvert(), "least"_a.noconvert(),
        "nearest"_a.noconvert(), "threads"_a);
  m.def("least_of_columns", &least_of_columns<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "u"_a.noconvert(), "least"_a.noconvert(), "places"_a.noconvert(), "threads"_a);
  m.def("entries_up_to", &entries_up_to<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "rows"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "covered"_a.noconvert(), "most"_a,
        "places"_a.noconvert(), "slacks"_a.noconvert(), "threads"_a);
  m.def("pick", &pick<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "rows"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "depth"_a, "bounds"_a.noconvert(), "threads"_a);
  m.def("close_forest", &close<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "frontier"_a,
        "first_column"_a, "mate"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "label"_a.noconvert(),
        "predecessor"_a.noconvert(), "expanded"_a.noconvert(), "far"_a, "bound"_a, "wanted"_a, "threads"_a);
  m.def("augment_trees", &augment<Dual>, "row_match"_a.noconvert(), "label"_a.noconvert(), "predecessor"_a.noconvert(),
        "theta"_a, "free_keep_duals"_a);
}

}  // namespace

void define_block_passes(nb::module_& m) {
  define_passes_for<Count>(m);
  define_passes_for<double>(m);
}
