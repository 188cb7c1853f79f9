// batches.cpp: batches of dense assignment problems, for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <memory>
#include <tuple>
#include <vector>

#include "assignment/batch.cuh"
#include "bindings/module.hpp"
#include "bindings/serial_solvers.hpp"

namespace {

// A row for each problem.
template <class T>
using Rows = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Whether to maximize, the limit, and the range of all costs.
template <class Dual>
using Wanted = std::tuple<bool, nb::object, Dual, Dual>;
// The name of the method, its start, whether it looks for many paths, and from how many rows on "core" solves a problem.
using Method = std::tuple<std::string, int, bool, Vertex>;
// Mates and duals of rows and of columns, and what pairs cost.
template <class Cost, class Dual>
using Answers = std::tuple<Rows<Vertex>, Rows<Vertex>, Rows<Dual>, Rows<Dual>, Rows<Cost>>;

// Independent problems, each by one thread: the threads take the next one in turn.
template <class Cost>
class BatchCall {
 public:
  using Dual = typename DenseCosts<Cost>::Dual;

  BatchCall(const Rows<const Count>& problems, const Cost* entries, const Wanted<Dual>& wanted, const Method& method,
            const Answers<Cost, Dual>& answers)
      : reports_(problems.shape(0)), name_(std::get<0>(method)), core_rows_(std::get<3>(method)) {
    const auto& [maximize, limit, least_cost, greatest_cost] = wanted;
    const auto& [row_match, col_match, u, v, pair_costs] = answers;
    range_ = {least_cost, greatest_cost, false};
    batch_ = {reinterpret_cast<const BatchProblem*>(problems.data()),
              0,
              static_cast<int>(problems.shape(0)),
              static_cast<Vertex>(row_match.shape(1)),
              static_cast<Vertex>(col_match.shape(1)),
              entries,
              maximize,
              limit.is_none() ? DenseCosts<Cost>::infinite() : nb::cast<Dual>(limit),
              false,
              row_match.data(),
              col_match.data(),
              u.data(),
              v.data(),
              pair_costs.data(),
              reports_.data(),
              static_cast<AssignmentStart>(std::get<1>(method)),
              std::get<2>(method)};
  }

  nb::list run(int threads) {
    {
      const OthersMayRun others_may_run;
      std::atomic<int> next{0};
      run_on_host(threads, [&](HostTeam&) {
        Poll poll;
        for (int p = next++; p < batch_.num_problems; p = next++) {
          poll.spend(batch_.problem(p).num_rows * batch_.problem(p).num_columns);
          solve(p);
        }
      });
    }
    nb::list answers;
    for (const Report& report : reports_) answers.append(to_tuple(report));
    return answers;
  }

 private:
  Batch<Cost> batch_;
  std::vector<Report> reports_;
  std::string name_;
  Vertex core_rows_;
  ShortestPathOptions<Dual> range_;

  void solve(int p) {
    if (name_ == "jv" || name_ == "core") serially(p);
    else if (name_ == "classical") by_search<ClassicalEdges<Cost>>(p);
    else by_search<TightEdges<Cost>>(p);
  }

  template <class Edges>
  void by_search(int p) {
    const std::unique_ptr<char[]> memory(new char[batch_workspace_size<Edges>(batch_.costs(p), HostTeam::COLUMNS_AT_ONCE)]);
    HostTeam team(0, 1, nullptr);
    assign_problem<Edges>(team, batch_, p, memory.get());
  }

  void serially(int p) {
    const DenseCosts<Cost> costs = batch_.costs(p);
    CoreCounters counted{};
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    Report& report = reports_[p];
    const ShortestPathResult<Dual> result{batch_.of_rows(p, batch_.u, batch_.v), batch_.of_columns(p, batch_.u, batch_.v),
                                          batch_.of_rows(p, batch_.row_match, batch_.col_match),
                                          batch_.of_columns(p, batch_.row_match, batch_.col_match)};
    report.size = name_ == "core" && costs.num_rows >= core_rows_
                      ? solve_by_core_or_matrix(costs, range_, true, 1, result, counted)
                      : solve_serially(costs, range_, result, counted.dense);
    note_pair_costs(clock, batch_, p, costs, {costs.num_rows, costs.num_columns, result.row_match, nullptr});
    report.start_size = counted.sparse.start_size;
    report.phases = counted.sparse.augmentations + counted.dense.augmentations;
    report.levels = report.rows_scanned = counted.sparse.rows_scanned + counted.dense.rows_scanned;
    report.dual_steps = counted.sparse.dual_updates + counted.dense.dual_updates;
    report.edges_inspected = counted.sparse.entries_read + counted.dense.entries_read;
    report.price_ns = counted.price_ns;
    report.search_ns = lap(clock, now) - counted.price_ns;
  }
};

template <class Cost, class Dual = typename DenseCosts<Cost>::Dual>
nb::list assign_batch(const Rows<const Count>& problems, const nb::ndarray<const Cost, nb::device::cpu>& entries,
                      const Wanted<Dual>& wanted, const Method& method, const Answers<Cost, Dual>& answers, int threads) {
  return BatchCall<Cost>(problems, entries.data(), wanted, method, answers).run(threads);
}

template <class Cost>
void define_batch_for(nb::module_& m) {
  m.def("assign_batch", &assign_batch<Cost>, "problems"_a.noconvert(), "entries"_a.noconvert(), "wanted"_a, "method"_a,
        "answers"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_batches(nb::module_& m) {
  define_batch_for<std::int32_t>(m);
  define_batch_for<Count>(m);
  define_batch_for<float>(m);
  define_batch_for<double>(m);
}
