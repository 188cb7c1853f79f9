// matching.cpp: maximum cardinality matching on host threads, for Python.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings/mirror.hpp"
#include "bindings/module.hpp"
#include "bindings/type_names.hpp"
#include "cardinality/match.cuh"
#include "cardinality/mixed.hpp"
#include "cardinality/pothen_fan.hpp"
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
struct GraphCall : Call<Task> {
  const CsrEdges<Offset, Column> edges;

  GraphCall(const Array<const Offset>& offsets, const Array<const Column>& columns, int num_columns,
            const Array<Vertex>& row_match, const Array<Vertex>& col_match, const Array<std::uint8_t>& reached,
            const Array<Vertex>& levels, const Array<Vertex>& augmentations, int start)
      : Call<Task>({{static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, row_match.data(), col_match.data()},
                    reached.data(),
                    {levels.data(), augmentations.data()},
                    nullptr,
                    nullptr,
                    nullptr,
                    static_cast<Start>(start),
                    false}),
        edges{task.matching.num_rows, num_columns, offsets.data(), columns.data()} {}
};

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
nb::tuple match_pothen_fan(Array<const Offset> offsets, Array<const Column> columns, int num_columns,
                           Array<Vertex> row_match, Array<Vertex> col_match, Array<std::uint8_t> reached,
                           Array<Vertex> levels, Array<Vertex> augmentations, int start) {
  GraphCall call(offsets, columns, num_columns, row_match, col_match, reached, levels, augmentations, start);
  return call.run(pothen_fan_workspace_size(call.edges, call.task), 1,
                  [&](HostTeam& team) { match_by_pothen_fan(team, call.edges, call.task); });
}

template <class Offset, class Column>
nb::tuple match_mixed(Array<const Offset> offsets, Array<const Column> columns, int num_columns,
                      Array<Vertex> row_match, Array<Vertex> col_match, Array<std::uint8_t> reached,
                      Array<Vertex> levels, Array<Vertex> augmentations, int start, int threads) {
  GraphCall call(offsets, columns, num_columns, row_match, col_match, reached, levels, augmentations, start);
  bool proven = false;
  return call.run(mixed_workspace_size(call.edges, call.task), threads,
                  [&](HostTeam& team) { match_in_turns(team, call.edges, call.task, proven); });
}

// The answer of match_small, in one piece of memory. Python takes it apart when a field is asked for.
struct MatchingCells {
  Count* report;  // a Report
  Vertex *row_match, *col_match, *levels, *augmentations;
  unsigned char* reached;

  // Visits each array in its order: its name, its member, and how many entries it has.
  template <class Visit>
  static void each(Count pairs, Count rows, Count columns, Visit visit) {
    visit("report", &MatchingCells::report, static_cast<Count>(sizeof(Report) / sizeof(Count)));
    visit("row_match", &MatchingCells::row_match, rows);
    visit("col_match", &MatchingCells::col_match, columns);
    visit("levels", &MatchingCells::levels, pairs + 1);
    visit("augmentations", &MatchingCells::augmentations, pairs + 1);
    visit("reached", &MatchingCells::reached, columns);
  }

  MatchingCells(Count* cells, Vertex rows, Vertex columns) { mirror::lay_out(*this, cells, rows, columns); }
};

// Matches a small graph by `Mixed`, from the first fit, on this thread. Inspects it, and leaves the answer in MatchingCells.
// Returns false if it is no graph. Other Python threads wait, so that none changes the arrays after the inspection.
bool match_small(Array<const std::int32_t> given_offsets, Array<const std::int32_t> columns, int num_columns,
                 Array<Count> cells) {
  const Vertex num_rows = static_cast<Vertex>(given_offsets.shape(0)) - 1;
  const std::unique_ptr<std::int32_t[]> offsets(new std::int32_t[num_rows + Count{1}]);
  std::copy_n(given_offsets.data(), num_rows + Count{1}, offsets.get());
  const CsrEdges<std::int32_t, std::int32_t> edges{num_rows, num_columns, offsets.get(), columns.data()};
  HostTeam team(0, 1, nullptr);
  Inspection seen{};
  inspect_graph(team, edges, static_cast<Count>(columns.shape(0)), seen);
  if (seen.falling_offsets != 0 || seen.first_offset != 0 || seen.bad_columns != 0 ||
      seen.last_offset > static_cast<Count>(columns.shape(0))) {
    return false;
  }
  const MatchingCells found(cells.data(), num_rows, num_columns);
  Progress progress{};
  Task task{{num_rows, num_columns, found.row_match, found.col_match},
            found.reached,
            {found.levels, found.augmentations},
            nullptr,
            &progress,
            new (found.report) Report{},
            Start::cheap,
            false};
  const std::unique_ptr<char[]> workspace(new char[mixed_workspace_size(edges, task)]);
  task.workspace = workspace.get();
  bool proven = false;
  match_in_turns(team, edges, task, proven);
  return true;
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
  m.def("match_pothen_fan", &match_pothen_fan<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "reached"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a);
  m.def("match_mixed", &match_mixed<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "reached"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "threads"_a);
  m.def("inspect", &inspect<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "threads"_a);
}

}  // namespace

void define_matching(nb::module_& m) {
  define_for<std::int32_t, std::int32_t>(m);
  define_for<std::int64_t, std::int32_t>(m);
  define_for<std::int64_t, std::int64_t>(m);
  mirror::add_arrays<MatchingCells>(m, "MatchingCells");
  m.def("match_small", &match_small, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "cells"_a.noconvert());
  m.def("match_workspace_size", &gpu_workspace_size, "forest"_a, "start"_a, "num_rows"_a, "num_columns"_a,
        "num_edges"_a, "offset"_a, "column"_a);
}
