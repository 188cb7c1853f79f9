// module.cpp: the programs on host threads, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <vector>

#include "programs.cuh"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Holds the threads of a team back until all of them have started, so that none waits at a barrier for one that never
// comes.
class Gate {
 public:
  void open(bool go) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      open_ = true;
      go_ = go;
    }
    opened_.notify_all();
  }
  bool pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
    return go_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false, go_ = false;
};

// Runs program(team) on a team of `size` threads, this one among them.
template <class Program>
void run_on_host(int size, const Program& program) {
  Barrier barrier(size);
  const auto run_rank = [&](int rank) {
    HostTeam team(rank, size, &barrier);
    program(team);
  };
  Gate gate;
  std::vector<std::thread> others;
  others.reserve(size - 1);
  try {
    for (int rank = 1; rank < size; ++rank) {
      others.emplace_back([&, rank] {
        if (gate.pass()) run_rank(rank);
      });
    }
  } catch (const std::system_error&) {
    gate.open(false);
    for (std::thread& thread : others) thread.join();
    throw std::runtime_error("expected to start " + std::to_string(size) + " threads, but the system started only " +
                             std::to_string(others.size() + 1) + "; ask for fewer with threads=");
  }
  gate.open(true);
  run_rank(0);
  for (std::thread& thread : others) thread.join();
}

// Calls function.template operator()<Forest>() for the forest of that kind.
template <class Function>
auto with_forest(ForestKind kind, Function function) {
  switch (kind) {
    case ForestKind::speculative: return function(SpeculativeForest<false>{});
    case ForestKind::speculative_with_roots: return function(SpeculativeForest<true>{});
    case ForestKind::claimed: return function(ClaimedForest<false>{});
    default: return function(ClaimedForest<true>{});
  }
}

template <class Offset, class Column>
nb::tuple match(Array<const Offset> offsets, Array<const Column> columns, int num_columns, Array<Vertex> row_match,
                Array<Vertex> col_match, Array<std::uint8_t> reached, Array<Vertex> levels,
                Array<Vertex> augmentations, int forest, int start, bool shortest_only, int threads) {
  using Edges = CsrEdges<Offset, Column>;
  const Vertex num_rows = static_cast<Vertex>(offsets.shape(0)) - 1;
  const Edges edges{num_rows, num_columns, offsets.data(), columns.data()};
  Progress progress{};
  Report report{};
  Task task{{num_rows, num_columns, row_match.data(), col_match.data()},
            reached.data(),
            {levels.data(), augmentations.data()},
            nullptr,
            &progress,
            &report,
            static_cast<Start>(start),
            shortest_only};
  with_forest(static_cast<ForestKind>(forest), [&](auto kind) {
    using Forest = decltype(kind);
    const nb::gil_scoped_release release;
    const Count bytes = workspace_size<Forest, Edges>(task.start, task.matching, edges.num_edges());
    const std::unique_ptr<char[]> workspace(new char[bytes]);
    task.workspace = workspace.get();
    run_on_host(threads, [&](HostTeam& team) { match_cardinality<Forest>(team, edges, task); });
  });
  return nb::make_tuple(report.start, report.start_size, report.size, report.phases, report.levels, report.edges_inspected,
                        report.start_ns, report.search_ns, report.augment_ns);
}

template <class Offset, class Column>
nb::tuple inspect(Array<const Offset> offsets, Array<const Column> columns, int num_columns, int threads) {
  const CsrEdges<Offset, Column> edges{static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, offsets.data(),
                                       columns.data()};
  Inspection seen{};
  {
    const nb::gil_scoped_release release;
    run_on_host(threads, [&](HostTeam& team) { inspect_graph(team, edges, columns.shape(0), seen); });
  }
  return nb::make_tuple(seen.falling_offsets, seen.first_offset, seen.last_offset, seen.bad_columns);
}

// The GPU backend allocates what the programs carve up.
Count gpu_workspace_size(int forest, int start, int num_rows, int num_columns, Count num_edges) {
  return with_forest(static_cast<ForestKind>(forest), [&](auto kind) {
    return workspace_size<decltype(kind), CsrEdges<int, int>>(static_cast<Start>(start),
                                                              {num_rows, num_columns, nullptr, nullptr}, num_edges);
  });
}

template <class Offset, class Column>
void define_for(nb::module_& m) {
  m.def("match", &match<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "reached"_a.noconvert(), "levels"_a.noconvert(),
        "augmentations"_a.noconvert(), "forest"_a, "start"_a, "shortest_only"_a, "threads"_a);
  m.def("inspect", &inspect<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "threads"_a);
}

}  // namespace

NB_MODULE(_native, m) {
  define_for<std::int32_t, std::int32_t>(m);
  define_for<std::int64_t, std::int32_t>(m);
  define_for<std::int64_t, std::int64_t>(m);
  m.def("workspace_size", &gpu_workspace_size, "forest"_a, "start"_a, "num_rows"_a, "num_columns"_a, "num_edges"_a);
  nb::list report_fields;
  for (const char* name : REPORT_FIELDS) report_fields.append(name);
  m.attr("REPORT_FIELDS") = nb::tuple(report_fields);
  m.attr("PROGRESS_SIZE") = sizeof(Progress);
}
