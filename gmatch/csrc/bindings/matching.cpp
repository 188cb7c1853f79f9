// matching.cpp: maximum cardinality matching by the search on host threads, for Python.
#include <nanobind/stl/string.h>

#include "bindings/graph_call.hpp"
#include "bindings/type_names.hpp"
#include "cardinality/sparse_rows.cuh"

namespace {

// Calls function.template operator()<Forest>() for the forest of that kind.
template <class Function>
auto with_forest(ForestKind kind, Function function) {
  switch (kind) {
    case ForestKind::speculative: return function(SpeculativeForest<false>{});
    case ForestKind::speculative_with_roots: return function(SpeculativeForest<true>{});
    case ForestKind::claimed: return function(ClaimedForest<false>{});
    case ForestKind::claimed_with_roots: return function(ClaimedForest<true>{});
    default: return function(OrderedForest{});
  }
}

template <class Offset, class Column>
nb::tuple match(Array<const Offset> offsets, Array<const Column> columns, int num_columns, Array<Vertex> row_match,
                Array<Vertex> col_match, Array<std::uint8_t> reached, Array<Vertex> levels,
                Array<Vertex> augmentations, int start, int forest, bool shortest_only, int threads) {
  GraphCall call(offsets, columns, num_columns, row_match, col_match, reached, levels, augmentations, start);
  call.task.shortest_only = shortest_only;
  return with_forest(static_cast<ForestKind>(forest), [&](auto kind) {
    using Forest = decltype(kind);
    const Count bytes = workspace_size<Forest, CsrEdges<Offset, Column>>(call.task.start, call.task.matching,
                                                                         call.edges.num_edges());
    return call.run(bytes, threads,
                    [&](HostTeam& team) { match_cardinality<Forest>(team, call.edges, call.task); });
  });
}

template <class Offset, class Column>
nb::tuple inspect(Array<const Offset> offsets, Array<const Column> columns, int num_columns, int threads) {
  const CsrEdges<Offset, Column> edges{static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, offsets.data(),
                                       columns.data()};
  Inspection seen{};
  {
    const OthersMayRun others_may_run;
    run_on_host(threads, [&](HostTeam& team) { inspect_graph(team, edges, columns.shape(0), seen); });
  }
  return nb::make_tuple(seen.falling_offsets, seen.first_offset, seen.last_offset, seen.bad_columns);
}

// The GPU backend allocates what the programs carve up.
Count gpu_workspace_size(int forest, int start, int num_rows, int num_columns, Count num_edges,
                         const std::string& offset, const std::string& column) {
  return with_indices(offset, column, [&](auto edges) {
    return with_forest(static_cast<ForestKind>(forest), [&](auto kind) {
      return workspace_size<decltype(kind), decltype(edges)>(static_cast<Start>(start),
                                                             {num_rows, num_columns, nullptr, nullptr}, num_edges);
    });
  });
}

template <class Offset, class Column>
void define_for(nb::module_& m) {
  m.def("match", &match<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "reached"_a.noconvert(), "levels"_a.noconvert(),
        "augmentations"_a.noconvert(), "start"_a, "forest"_a, "shortest_only"_a, "threads"_a);
  m.def("inspect", &inspect<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "threads"_a);
}

}  // namespace

void define_matching(nb::module_& m) {
  define_for<std::int32_t, std::int32_t>(m);
  define_for<std::int64_t, std::int32_t>(m);
  define_for<std::int64_t, std::int64_t>(m);
  m.def("match_workspace_size", &gpu_workspace_size, "forest"_a, "start"_a, "num_rows"_a, "num_columns"_a,
        "num_edges"_a, "offset"_a, "column"_a);
}
