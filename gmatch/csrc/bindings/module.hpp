// module.hpp: what the parts of the Python module share: arrays, teams of host threads, and calls of programs on them.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "assignment/assign.cuh"
#include "team/host_threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// The parts of the module. Each is compiled by itself, so that they can be compiled side by side.
void define_blocks(nb::module_& m);           // the Dulmage-Mendelsohn decomposition
void define_bottleneck(nb::module_& m);       // dense bottleneck assignment
void define_changed(nb::module_& m);          // dense assignment from a former one
void define_changed_sparse(nb::module_& m);
void define_later(nb::module_& m);            // the type of results that make their fields later
void define_magnitudes(nb::module_& m);       // of duals and costs
void define_nested(nb::module_& m);           // arrays from nested lists
void define_matching(nb::module_& m);         // maximum cardinality by the search
void define_mixed(nb::module_& m);            // maximum cardinality by Pothen and Fan's method, and by it and the search in turns
void define_ranked_assignments(nb::module_& m);  // the cheapest assignments in order
void define_networkx(nb::module_& m);         // graphs of networkx as arrays
void define_rows(nb::module_& m);             // passes over some rows of costs or points at a time
void define_search(nb::module_& m);           // dense assignment by the search
void define_shortest_paths(nb::module_& m);   // dense assignment by serial shortest paths
void define_batches(nb::module_& m);          // batches of dense assignment problems
void define_tiers(nb::module_& m);            // dense assignment with duals in tiers
void define_ranges(nb::module_& m);           // the range of costs
void define_few_pairs(nb::module_& m);        // dense assignment where nearly all pairs cost the same
void define_small(nb::module_& m);            // the short way of small dense problems
void define_small_batches(nb::module_& m);
void define_small_results(nb::module_& m);    // the fields of their results that are arrays
void define_small_sparse(nb::module_& m);
void define_sparse(nb::module_& m);           // the arrays of sparse costs
void define_sparse_jv(nb::module_& m);        // sparse assignment by serial shortest paths
void define_sparse_tree(nb::module_& m);      // sparse assignment by the search
void define_ties(nb::module_& m);             // which of several cheapest assignments is the one
void define_block_scans(nb::module_& m);      // of several ranks: minima of rows and columns, and near entries
void define_block_picks(nb::module_& m);      // of several ranks: the entries of a core
void define_forests(nb::module_& m);          // of several ranks: trees
void define_parts(nb::module_& m);            // of costs without an assignment
void define_points(nb::module_& m);           // dense assignment of points, without the matrix
void define_point_rows(nb::module_& m);       // of points of many coordinates

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Other threads may run Python while this object exists. The main thread lets Python handle signals from time to time. An
// exception of a handler, such as KeyboardInterrupt, ends the call.
class OthersMayRun {
 public:
  OthersMayRun() : watched_({nullptr, handle_signals}) {}

 private:
  static bool handle_signals() {
    const nb::gil_scoped_acquire acquired;
    const nb::object main_thread = nb::module_::import_("threading").attr("main_thread")();
    // Python handles none in other threads.
    if (nb::cast<unsigned long>(main_thread.attr("ident")) != PyThread_get_thread_ident()) return false;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return true;
  }

  const nb::gil_scoped_release released_;
  const Watched watched_;
};

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

// Memory in large pages, if the system has some: a search that reads all over it would look up a page each time.
inline std::unique_ptr<char, FreeMemory> in_large_pages(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t LARGE_PAGE = 1 << 21;
  if (bytes > LARGE_PAGE) {
    const std::size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    std::unique_ptr<char, FreeMemory> memory(static_cast<char*>(std::aligned_alloc(LARGE_PAGE, whole)));
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory.get(), whole, MADV_HUGEPAGE);  // a hint, which only saves time
    return memory;
  }
#endif
  std::unique_ptr<char, FreeMemory> memory(static_cast<char*>(std::malloc(bytes + 1)));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// The workspace of a call. A thread keeps the last one for its next call, if it is no larger than a large page: the system
// would have to clear the memory anew, which takes 40 to 60 us (benchmarks/log/cardinality_host.md, "What a call of 32,768 rows
// spends beside the search").
class WorkspaceOfThread {
 public:
  explicit WorkspaceOfThread(std::size_t bytes) : bytes_(bytes) {
    // Taken away from the thread: a handler of a signal may make a call within this one.
    if (bytes <= kept_bytes) {
      bytes_ = kept_bytes;
      memory_ = std::move(kept);
    }
    kept_bytes = 0;
    if (memory_ == nullptr) memory_ = in_large_pages(bytes_);
  }
  ~WorkspaceOfThread() {
    if (bytes_ > MOST_KEPT) return;
    kept = std::move(memory_);
    kept_bytes = bytes_;
  }
  WorkspaceOfThread(const WorkspaceOfThread&) = delete;
  WorkspaceOfThread& operator=(const WorkspaceOfThread&) = delete;

  char* get() const { return memory_.get(); }

 private:
  static constexpr std::size_t MOST_KEPT = 1 << 21;
  static inline thread_local std::unique_ptr<char, FreeMemory> kept;
  static inline thread_local std::size_t kept_bytes = 0;

  std::unique_ptr<char, FreeMemory> memory_;
  std::size_t bytes_;
};

// One call of a method: what its threads work on, and what they report.
template <class AnyTask>
class Call {
 public:
  // Without workspace, progress and report, which are the call's own.
  explicit Call(const AnyTask& given) : task(given) {
    task.progress = &progress_;
    task.report = &report_;
  }

  // Runs program(team) on host threads, with a workspace of `bytes` bytes.
  template <class Program>
  nb::tuple run(Count bytes, int threads, const Program& program) {
    {
      const OthersMayRun others_may_run;
      const WorkspaceOfThread workspace(static_cast<std::size_t>(bytes));
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
                                    many_paths,
                                    0}) {}
};

inline Count team_columns(int threads) { return static_cast<Count>(threads) * HostTeam::COLUMNS_AT_ONCE; }

template <class T>
using CostMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
// Entries of a type whose name comes with it: nanobind does not know all of them.
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

template <class Stored, class Matrix>
const Stored* entries_of(const Matrix& costs) {
  if (costs.itemsize() != sizeof(Stored)) throw std::invalid_argument("costs are not stored as the name of their type says");
  return static_cast<const Stored*>(static_cast<const void*>(costs.data()));
}

template <class Stored, class Matrix>
DenseCosts<Stored> dense_costs(const Matrix& costs, bool maximize, nb::handle limit) {
  using Dual = typename DenseCosts<Stored>::Dual;
  return {static_cast<Vertex>(costs.shape(0)),
          static_cast<Vertex>(costs.shape(1)),
          entries_of<Stored>(costs),
          costs.stride(0),
          costs.stride(1),
          maximize,
          limit.is_none() ? DenseCosts<Stored>::infinite() : nb::cast<Dual>(limit)};
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
