// forests.cpp: the trees of a rank in its block on host threads, for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/block_runs.hpp"
#include "serial/rows/block_scans.hpp"  // the passes of a HostTeam, which close_forest calls
#include "serial/tree_paths.hpp"

namespace {

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
void define_forests_for(nb::module_& m) {
  m.def("close_forest", &close<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "frontier"_a,
        "first_column"_a, "mate"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "label"_a.noconvert(),
        "predecessor"_a.noconvert(), "expanded"_a.noconvert(), "far"_a, "bound"_a, "wanted"_a, "threads"_a);
  m.def("augment_trees", &augment<Dual>, "row_match"_a.noconvert(), "label"_a.noconvert(), "predecessor"_a.noconvert(),
        "theta"_a, "free_keep_duals"_a);
}

}  // namespace

void define_forests(nb::module_& m) {
  define_forests_for<Count>(m);
  define_forests_for<double>(m);
}
