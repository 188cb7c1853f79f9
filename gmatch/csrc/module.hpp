// module.hpp: what the parts of the Python module share: arrays, teams of host threads, and calls of programs on them.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "assignment.cuh"

namespace nb = nanobind;
using namespace nb::literals;

// The parts. Each is compiled by itself, which takes a while, so side by side.
void define_bottleneck(nb::module_& m);       // dense bottleneck assignment
void define_magnitudes(nb::module_& m);       // of duals and costs
void define_matching(nb::module_& m);         // maximum cardinality
void define_ranked_assignments(nb::module_& m);  // the cheapest assignments in order
void define_search(nb::module_& m);           // dense assignment by the search
void define_shortest_paths(nb::module_& m);   // dense assignment by serial shortest paths, small problems, batches
void define_sparse_assignment(nb::module_& m);

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

// A struct of Counts and nothing else.
template <class Counts>
nb::tuple to_tuple(const Counts& counts) {
  static_assert(std::is_trivially_copyable_v<Counts> && sizeof(Counts) % sizeof(Count) == 0);
  Count words[sizeof(Counts) / sizeof(Count)];
  std::memcpy(words, &counts, sizeof(Counts));
  nb::list list;
  for (const Count word : words) list.append(word);
  return nb::tuple(list);
}

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};

// Memory in large pages, where the system has some: a search that goes all over it would look up a page each time.
inline std::unique_ptr<char, FreeMemory> in_large_pages(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t LARGE_PAGE = 1 << 21;
  if (bytes > LARGE_PAGE) {
    const std::size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    std::unique_ptr<char, FreeMemory> memory(static_cast<char*>(std::aligned_alloc(LARGE_PAGE, whole)));
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory.get(), whole, MADV_HUGEPAGE);  // a hint: without it nothing but time is lost
    return memory;
  }
#endif
  std::unique_ptr<char, FreeMemory> memory(static_cast<char*>(std::malloc(bytes + 1)));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// One call of a method: what its threads work on, and what they report.
template <class AnyTask>
class Call {
 public:
  // Without workspace, progress and report, which are the call's own.
  explicit Call(const AnyTask& given) : task(given) {
    task.progress = &progress_;
    task.report = &report_;
  }

  // Runs program(team) on host threads, with a workspace of so many bytes.
  template <class Program>
  nb::tuple run(Count bytes, int threads, const Program& program) {
    {
      const nb::gil_scoped_release release;
      const auto workspace = in_large_pages(bytes);
      task.workspace = workspace.get();
      run_on_host(threads, program);
    }
    return to_tuple(report_);
  }

  AnyTask task;

 private:
  Progress progress_{};
  Report report_{};
};

template <class Dual>
struct AssignmentCall : Call<AssignmentTask<Dual>> {
  template <class Costs>
  AssignmentCall(const Costs& costs, const Array<Vertex>& row_match, const Array<Vertex>& col_match,
                 const Array<Dual>& u, const Array<Dual>& v, const Array<Vertex>& levels,
                 const Array<Vertex>& augmentations, int start, bool has_duals, bool many_paths)
      : Call<AssignmentTask<Dual>>({{costs.num_rows, costs.num_columns, row_match.data(), col_match.data()},
                                    u.data(),
                                    v.data(),
                                    {levels.data(), augmentations.data()},
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    static_cast<AssignmentStart>(start),
                                    has_duals,
                                    many_paths}) {}
};

inline Count team_tile(int threads) { return static_cast<Count>(threads) * HostTeam::TILE; }

template <class T>
using CostMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class Cost>
DenseCosts<Cost> dense_costs(const CostMatrix<Cost>& costs, bool maximize, nb::handle limit) {
  using Dual = typename DenseCosts<Cost>::Dual;
  return {static_cast<Vertex>(costs.shape(0)),
          static_cast<Vertex>(costs.shape(1)),
          costs.data(),
          costs.stride(0),
          costs.stride(1),
          maximize,
          limit.is_none() ? DenseCosts<Cost>::infinite() : nb::cast<Dual>(limit)};
}

// What a serial method reports.
template <class Counters>
nb::dict to_dict(Vertex size, Count start_size, const Counters& counted, Count search_ns) {
  nb::dict report;
  report["size"] = size;
  report["start_size"] = start_size;
  report["phases"] = counted.augmentations;
  report["levels"] = counted.rows_scanned;
  report["dual_steps"] = counted.dual_updates;
  report["rows_scanned"] = counted.rows_scanned;
  report["edges_inspected"] = counted.entries_read;
  report["levels_per_phase"] = nb::list();
  report["augmentations_per_phase"] = nb::list();
  report["start_ns"] = 0;
  report["search_ns"] = search_ns;
  report["augment_ns"] = 0;
  return report;
}
