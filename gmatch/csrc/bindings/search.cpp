// search.cpp: dense assignment by the search on host threads, for Python; and the memory that its programs need on a GPU.
#include <nanobind/stl/string.h>

#include <cstring>
#include <stdexcept>

#include "assignment/batch.cuh"
#include "assignment/munkres.cuh"
#include "bindings/module.hpp"
#include "bindings/type_names.hpp"
#include "core/block_passes.cuh"
#include "core/program.cuh"

namespace {

template <class Dual>
nb::tuple assign_by_search(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> row_match,
                           Array<Vertex> col_match, Array<Dual> u, Array<Dual> v, Array<Vertex> levels,
                           Array<Vertex> augmentations, int start, bool has_duals, bool classical, bool many_paths,
                           int threads) {
  return with_stored<Dual>(stored, [&](auto entry) {
    using Stored = decltype(entry);
    const DenseCosts<Stored> problem = dense_costs<Stored>(costs, maximize, limit);
    AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, many_paths);
    const auto run = [&](auto edges) {
      using Edges = decltype(edges);
      return call.run(assignment_workspace_size<Edges>(problem, team_columns(threads)), threads,
                      [&](HostTeam& team) { assign<Edges>(team, problem, call.task); });
    };
    if constexpr (!IS_NARROW<Stored>) {
      if (classical) return run(ClassicalEdges<Stored>{});
    } else if (classical) {
      throw std::invalid_argument("the classical search takes no narrow types");
    }
    return run(TightEdges<Stored>{});
  });
}

template <class Dual>
nb::tuple assign_core(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> row_match,
                      Array<Vertex> col_match, Array<Dual> u, Array<Dual> v, Array<Vertex> levels,
                      Array<Vertex> augmentations, int start, bool has_duals, Dual spread, Count most_levels,
                      int threads) {
  return with_stored<Dual>(stored, [&](auto entry) {
    using Stored = decltype(entry);
    const DenseCosts<Stored> problem = dense_costs<Stored>(costs, maximize, limit);
    AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, true);
    CoreReport report{};
    call.task.report = &report.counters;
    call.task.most_levels = most_levels;
    // The vectors are longer if the core holds a square problem in place of the matrix: see core.cuh.
    auto shape = problem;
    shape.num_rows = call.task.matching.num_rows = static_cast<Vertex>(row_match.size());
    shape.num_columns = call.task.matching.num_columns = static_cast<Vertex>(col_match.size());
    call.run(core_workspace_size(shape, team_columns(threads)), threads,
             [&](HostTeam& team) { assign_by_core(team, problem, call.task, spread); });
    return to_tuple(report);
  });
}

template <class Cost, class Slack>
nb::tuple assign_by_slacks(CostMatrix<Cost> costs, bool maximize, nb::handle limit, Array<Vertex> row_match,
                           Array<Vertex> col_match, Array<typename DenseCosts<Cost>::Dual> u,
                           Array<typename DenseCosts<Cost>::Dual> v, Array<Vertex> levels,
                           Array<Vertex> augmentations, int start, bool has_duals, int form, Array<Slack> slacks,
                           int threads) {
  const DenseCosts<Cost> problem = dense_costs<Cost>(costs, maximize, limit);
  AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, false);
  auto least = problem.infinite();
  return call.run(munkres_workspace_size(problem, team_columns(threads)), threads, [&](HostTeam& team) {
    Munkres<Cost, Slack> munkres{problem, call.task};
    munkres.set_up(static_cast<MunkresForm>(form), slacks.data(), &least);
    run_munkres(team, munkres);
  });
}

template <class Stored>
DenseCosts<Stored> of_shape(int num_rows, int num_columns, Stored) {
  return {num_rows, num_columns, nullptr, 0, 0, false, 0};
}

Count device_columns(int threads) { return static_cast<Count>(threads) * DEVICE_COLUMNS_AT_ONCE; }

// Calls function(edges, costs) for edges of that name in the catalogue.
template <class Function>
Count with_search(int num_rows, int num_columns, const std::string& cost, const std::string& edges, Function function) {
  return with_stored_type(cost, [&](auto entry) {
    using Stored = decltype(entry);
    const auto costs = of_shape(num_rows, num_columns, entry);
    if (edges == "TightEdges") return function(TightEdges<Stored>{}, costs);
    if constexpr (!IS_NARROW<Stored>) {
      if (edges == "ClassicalEdges") return function(ClassicalEdges<Stored>{}, costs);
    }
    throw std::invalid_argument("expected a type of edges, got " + edges);
  });
}

Count gpu_assignment_workspace_size(int num_rows, int num_columns, int threads, const std::string& cost,
                                    const std::string& edges) {
  return with_search(num_rows, num_columns, cost, edges, [&](auto search, const auto& costs) {
    return assignment_workspace_size<decltype(search)>(costs, device_columns(threads));
  });
}

Count gpu_batch_workspace_size(int num_rows, int num_columns, int threads, const std::string& cost,
                               const std::string& edges) {
  if (edges == "ShortestPaths") {
    return with_stored_type(cost, [&](auto entry) {
      const auto costs = of_shape(num_rows, num_columns, entry);
      return batch_workspace_size<ShortestPaths<decltype(entry)>>(costs, device_columns(threads));
    });
  }
  return with_search(num_rows, num_columns, cost, edges, [&](auto search, const auto& costs) {
    return batch_workspace_size<decltype(search)>(costs, device_columns(threads));
  });
}

Count gpu_core_workspace_size(int num_rows, int num_columns, int threads, const std::string& cost) {
  return with_stored_type(cost, [&](auto entry) {
    return core_workspace_size(of_shape(num_rows, num_columns, entry), device_columns(threads));
  });
}

Count gpu_munkres_workspace_size(int num_rows, int num_columns, int threads, const std::string& cost) {
  return with_cost(cost, [&](auto entry) {
    return munkres_workspace_size(of_shape(num_rows, num_columns, entry), device_columns(threads));
  });
}

template <class Struct>
Struct unpacked(const nb::bytes& packed) {
  if (packed.size() != sizeof(Struct)) throw std::invalid_argument("bytes of another struct");
  Struct it{};
  std::memcpy(&it, packed.data(), sizeof(Struct));
  return it;
}

int next_core_step(const nb::bytes& facts, const nb::bytes& limits) {
  return static_cast<int>(next_step(unpacked<CoreFacts>(facts), unpacked<CoreLimits>(limits)));
}

template <class Dual>
void define_search_for(nb::module_& m) {
  m.def("assign_by_core", &assign_core<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "spread"_a,
        "most_levels"_a, "threads"_a);
  m.def("assign_by_search", &assign_by_search<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "classical"_a,
        "many_paths"_a, "threads"_a);
}

template <class Cost, class Slack>
void define_munkres_for(nb::module_& m) {
  m.def("assign_by_slacks", &assign_by_slacks<Cost, Slack>, "costs"_a.noconvert(), "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "form"_a,
        "slacks"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_search(nb::module_& m) {
  define_search_for<Count>(m);
  define_search_for<double>(m);
  define_munkres_for<std::int32_t, std::int32_t>(m);
  define_munkres_for<std::int32_t, Count>(m);
  define_munkres_for<Count, Count>(m);
  define_munkres_for<float, double>(m);
  define_munkres_for<double, double>(m);
  m.def("munkres_workspace_size", &gpu_munkres_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a,
        "cost"_a);
  m.def("assignment_workspace_size", &gpu_assignment_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a,
        "cost"_a, "edges"_a);
  m.def("core_workspace_size", &gpu_core_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a, "cost"_a);
  m.def("batch_workspace_size", &gpu_batch_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a, "cost"_a,
        "edges"_a);
  m.def("next_core_step", &next_core_step, "facts"_a, "limits"_a);
  m.attr("MOST_REPRICINGS") = MOST_REPRICINGS;
  m.attr("PICKED_ON_GPU") = PICKED_ON_GPU;
}
