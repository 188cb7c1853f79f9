// batches.cpp: batches of dense assignment problems, for Python.
#include <nanobind/stl/string.h>

#include <atomic>
#include <memory>
#include <vector>

#include "assignment/batch.cuh"
#include "bindings/module.hpp"
#include "bindings/serial_solvers.hpp"

namespace {

// Independent problems, each by one thread: the threads take the next one in turn. Problems of `core_rows` rows or more are
// solved by "core", and others by "jv".
template <class Cost>
nb::list assign_batch(nb::ndarray<const Count, nb::ndim<2>, nb::c_contig, nb::device::cpu> problems,
                      nb::ndarray<const Cost, nb::device::cpu> entries, bool maximize, nb::handle limit,
                      typename DenseCosts<Cost>::Dual least_cost, typename DenseCosts<Cost>::Dual greatest_cost,
                      nb::ndarray<Vertex, nb::ndim<2>, nb::c_contig, nb::device::cpu> row_match,
                      nb::ndarray<Vertex, nb::ndim<2>, nb::c_contig, nb::device::cpu> col_match,
                      nb::ndarray<typename DenseCosts<Cost>::Dual, nb::ndim<2>, nb::c_contig, nb::device::cpu> u,
                      nb::ndarray<typename DenseCosts<Cost>::Dual, nb::ndim<2>, nb::c_contig, nb::device::cpu> v,
                      nb::ndarray<Cost, nb::ndim<2>, nb::c_contig, nb::device::cpu> pair_costs,
                      const std::string& method, int start, bool many_paths, Vertex core_rows, int threads) {
  using Dual = typename DenseCosts<Cost>::Dual;
  std::vector<Report> reports(problems.shape(0));
  const Batch<Cost> batch{reinterpret_cast<const BatchProblem*>(problems.data()),
                          0,
                          static_cast<int>(problems.shape(0)),
                          static_cast<Vertex>(row_match.shape(1)),
                          static_cast<Vertex>(col_match.shape(1)),
                          entries.data(),
                          maximize,
                          limit.is_none() ? DenseCosts<Cost>::infinite() : nb::cast<Dual>(limit),
                          false,
                          row_match.data(),
                          col_match.data(),
                          u.data(),
                          v.data(),
                          pair_costs.data(),
                          reports.data(),
                          static_cast<AssignmentStart>(start),
                          many_paths};
  const auto solve_by_search = [&](int p, auto edges) {
    using Edges = decltype(edges);
    const std::unique_ptr<char[]> memory(new char[batch_workspace_size<Edges>(batch.costs(p), HostTeam::COLUMNS_AT_ONCE)]);
    HostTeam team(0, 1, nullptr);
    assign_problem<Edges>(team, batch, p, memory.get());
  };
  const auto solve_serially_in_batch = [&](int p) {
    const DenseCosts<Cost> costs = batch.costs(p);
    CoreCounters counted{};
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    Report& report = reports[p];
    const ShortestPathOptions<Dual> options{least_cost, greatest_cost, false};
    const ShortestPathResult<Dual> result{batch.of_rows(p, batch.u, batch.v), batch.of_columns(p, batch.u, batch.v),
                                          batch.of_rows(p, batch.row_match, batch.col_match),
                                          batch.of_columns(p, batch.row_match, batch.col_match)};
    report.size = method == "core" && costs.num_rows >= core_rows
                      ? solve_by_core_or_matrix(costs, options, true, 1, result, counted)
                      : solve_serially(costs, options, result, counted.dense);
    note_pair_costs(clock, batch, p, costs,
                    {costs.num_rows, costs.num_columns, batch.of_rows(p, batch.row_match, batch.col_match), nullptr});
    report.start_size = counted.sparse.start_size;
    report.phases = counted.sparse.augmentations + counted.dense.augmentations;
    report.levels = report.rows_scanned = counted.sparse.rows_scanned + counted.dense.rows_scanned;
    report.dual_steps = counted.sparse.dual_updates + counted.dense.dual_updates;
    report.edges_inspected = counted.sparse.entries_read + counted.dense.entries_read;
    report.price_ns = counted.price_ns;
    report.search_ns = lap(clock, now) - counted.price_ns;
  };
  {
    const OthersMayRun others_may_run;
    std::atomic<int> next{0};
    run_on_host(threads, [&](HostTeam&) {
      Poll poll;
      for (int p = next++; p < batch.num_problems; p = next++) {
        poll.spend(batch.problem(p).num_rows * batch.problem(p).num_columns);
        if (method == "jv" || method == "core") solve_serially_in_batch(p);
        else if (method == "classical") solve_by_search(p, ClassicalEdges<Cost>{});
        else solve_by_search(p, TightEdges<Cost>{});
      }
    });
  }
  nb::list answers;
  for (const Report& report : reports) answers.append(to_tuple(report));
  return answers;
}

template <class Cost>
void define_batch_for(nb::module_& m) {
  m.def("assign_batch", &assign_batch<Cost>, "problems"_a.noconvert(), "entries"_a.noconvert(), "maximize"_a,
        "limit"_a.none(), "least_cost"_a, "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "pair_costs"_a.noconvert(), "method"_a, "start"_a, "many_paths"_a,
        "core_rows"_a, "threads"_a);
}

}  // namespace

void define_batches(nb::module_& m) {
  define_batch_for<std::int32_t>(m);
  define_batch_for<Count>(m);
  define_batch_for<float>(m);
  define_batch_for<double>(m);
}
