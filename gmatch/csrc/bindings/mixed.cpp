// mixed.cpp: maximum cardinality matching by Pothen and Fan's method, and by that and the search in turns, on host threads, for
// Python.
#include <algorithm>
#include <memory>

#include "bindings/graph_call.hpp"
#include "bindings/mirror.hpp"
#include "cardinality/mixed.hpp"
#include "cardinality/pothen_fan.hpp"
#include "cardinality/sparse_rows.cuh"

namespace {

template <class Offset, class Column>
nb::tuple match_pothen_fan(Array<const Offset> offsets, Array<const Column> columns, int num_columns,
                           Array<Vertex> row_match, Array<Vertex> col_match, Array<std::uint8_t> reached,
                           Array<Vertex> levels, Array<Vertex> augmentations, int start, int threads) {
  GraphCall call(offsets, columns, num_columns, row_match, col_match, reached, levels, augmentations, start);
  return call.run(pothen_fan_workspace_size(call.edges, call.task), threads,
                  [&](HostTeam& team) { match_by_pothen_fan(team, call.edges, call.task); });
}

template <class Offset, class Column>
nb::tuple match_mixed(Array<const Offset> offsets, Array<const Column> columns, int num_columns,
                      Array<Vertex> row_match, Array<Vertex> col_match, Array<std::uint8_t> reached,
                      Array<Vertex> levels, Array<Vertex> augmentations, int start, int threads) {
  GraphCall call(offsets, columns, num_columns, row_match, col_match, reached, levels, augmentations, start);
  return call.run(mixed_workspace_size(call.edges, call.task), threads,
                  [&](HostTeam& team) { match_in_turns(team, call.edges, call.task); });
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
  match_in_turns(team, edges, task);
  return true;
}

template <class Offset, class Column>
void define_for(nb::module_& m) {
  m.def("match_pothen_fan", &match_pothen_fan<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "reached"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "threads"_a);
  m.def("match_mixed", &match_mixed<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "reached"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "threads"_a);
}

}  // namespace

void define_mixed(nb::module_& m) {
  define_for<std::int32_t, std::int32_t>(m);
  define_for<std::int64_t, std::int32_t>(m);
  define_for<std::int64_t, std::int64_t>(m);
  mirror::add_arrays<MatchingCells>(m, "MatchingCells");
  m.def("match_small", &match_small, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "cells"_a.noconvert());
}
