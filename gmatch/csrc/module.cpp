// module.cpp: the programs on host threads, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "batch.cuh"
#include "core_assignment.cuh"
#include "core_shortest_path.hpp"
#include "mixed.hpp"
#include "munkres.cuh"
#include "pothen_fan.hpp"
#include "programs.cuh"
#include "shortest_path.hpp"
#include "sparse_assignment.cuh"
#include "sparse_shortest_path.hpp"

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
    case ForestKind::claimed_with_roots: return function(ClaimedForest<true>{});
    default: return function(OrderedForest{});
  }
}

nb::tuple to_tuple(const Report& report) {
  nb::list fields;
  for (const Count* field = &report.start; field != &report.start + sizeof(Report) / sizeof(Count); ++field) {
    fields.append(*field);
  }
  return nb::tuple(fields);
}

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};

// Memory in large pages, where the system has some: a search that goes all over it would look up a page each time.
std::unique_ptr<char, FreeMemory> in_large_pages(std::size_t bytes) {
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

// A small graph by `Mixed`, from the first fit, on this thread: inspects it, and leaves all that it found in an array of
// 8-byte cells, which Python takes apart when it is asked for: the report, then as integers of 32 bits row_match,
// col_match, and the levels and the augmentations of each phase, then a byte for each column that was reached. Returns
// false if that is no graph.
bool match_small(Array<const std::int32_t> offsets, Array<const std::int32_t> columns, int num_columns,
                 Array<Count> cells) {
  const Vertex num_rows = static_cast<Vertex>(offsets.shape(0)) - 1;
  const CsrEdges<std::int32_t, std::int32_t> edges{num_rows, num_columns, offsets.data(), columns.data()};
  HostTeam team(0, 1, nullptr);
  Inspection seen{};
  inspect_graph(team, edges, static_cast<Count>(columns.shape(0)), seen);
  if (seen.falling_offsets != 0 || seen.first_offset != 0 || seen.bad_columns != 0 ||
      seen.last_offset > static_cast<Count>(columns.shape(0))) {
    return false;
  }
  Report* report = new (cells.data()) Report{};
  Vertex* row_match = reinterpret_cast<Vertex*>(report + 1);
  Vertex* col_match = row_match + num_rows;
  Vertex* levels = col_match + num_columns;
  Vertex* augmentations = levels + std::min(num_rows, num_columns) + 1;
  unsigned char* reached = reinterpret_cast<unsigned char*>(augmentations + std::min(num_rows, num_columns) + 1);
  Progress progress{};
  Task task{{num_rows, num_columns, row_match, col_match}, reached, {levels, augmentations}, nullptr, &progress, report,
            Start::cheap, false};
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
    const nb::gil_scoped_release release;
    run_on_host(threads, [&](HostTeam& team) { inspect_graph(team, edges, columns.shape(0), seen); });
  }
  return nb::make_tuple(seen.falling_offsets, seen.first_offset, seen.last_offset, seen.bad_columns);
}

Count team_tile(int threads) { return static_cast<Count>(threads) * HostTeam::TILE; }

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

template <class Cost>
nb::tuple assign_by_search(CostMatrix<Cost> costs, bool maximize, nb::handle limit, Array<Vertex> row_match,
                      Array<Vertex> col_match, Array<typename DenseCosts<Cost>::Dual> u,
                      Array<typename DenseCosts<Cost>::Dual> v, Array<Vertex> levels, Array<Vertex> augmentations,
                      int start, bool has_duals, bool classical, bool many_paths, int threads) {
  const DenseCosts<Cost> problem = dense_costs(costs, maximize, limit);
  AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, many_paths);
  const auto run = [&](auto edges) {
    using Edges = decltype(edges);
    return call.run(assignment_workspace_size<Edges>(problem, team_tile(threads)), threads,
                    [&](HostTeam& team) { assign<Edges>(team, problem, call.task); });
  };
  return classical ? run(ClassicalEdges<Cost>{}) : run(TightEdges<Cost>{});
}

template <class Cost>
nb::tuple assign_core(CostMatrix<Cost> costs, bool maximize, nb::handle limit, Array<Vertex> row_match,
                      Array<Vertex> col_match, Array<typename DenseCosts<Cost>::Dual> u,
                      Array<typename DenseCosts<Cost>::Dual> v, Array<Vertex> levels, Array<Vertex> augmentations,
                      int start, bool has_duals, typename DenseCosts<Cost>::Dual spread, int threads) {
  const DenseCosts<Cost> problem = dense_costs(costs, maximize, limit);
  AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, true);
  return call.run(core_workspace_size(problem, team_tile(threads)), threads,
                  [&](HostTeam& team) { assign_by_core(team, problem, call.task, spread); });
}

template <class Cost, class Slack>
nb::tuple assign_by_slacks(CostMatrix<Cost> costs, bool maximize, nb::handle limit, Array<Vertex> row_match,
                           Array<Vertex> col_match, Array<typename DenseCosts<Cost>::Dual> u,
                           Array<typename DenseCosts<Cost>::Dual> v, Array<Vertex> levels,
                           Array<Vertex> augmentations, int start, bool has_duals, int form, Array<Slack> slacks,
                           int threads) {
  const DenseCosts<Cost> problem = dense_costs(costs, maximize, limit);
  AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, false);
  auto least = problem.infinite();
  return call.run(munkres_workspace_size(problem, team_tile(threads)), threads, [&](HostTeam& team) {
    Munkres<Cost, Slack> munkres{problem, call.task};
    munkres.set_up(static_cast<MunkresForm>(form), slacks.data(), &least);
    run_munkres(team, munkres);
  });
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

// Integer costs too far from zero for the marks of the serial method, moved to where the least of them is zero.
struct MovedCosts {
  std::vector<Count> entries;
  DenseCosts<Count> costs;
  Count offset;

  MovedCosts(const DenseCosts<Count>& from, Count least)
      : entries(static_cast<std::size_t>(from.num_rows) * from.num_columns), costs(from), offset(least) {
    Count* entry = entries.data();
    for (Vertex row = 0; row < from.num_rows; ++row) {
      for (Vertex column = 0; column < from.num_columns; ++column) *entry++ = from.at(row, column) - offset;
    }
    costs = {from.num_rows, from.num_columns, entries.data(), from.num_columns, 1, false, from.infinite()};
  }
};

template <class Cost>
Vertex solve_serially(const DenseCosts<Cost>& costs, const ShortestPathOptions<typename DenseCosts<Cost>::Dual>& options,
                      const ShortestPathResult<typename DenseCosts<Cost>::Dual>& result,
                      ShortestPathCounters& counters) {
  if constexpr (std::is_same_v<Cost, Count>) {
    if (options.least_cost < -Distance<Count>::MAX_COST || options.greatest_cost > Distance<Count>::MAX_COST) {
      const MovedCosts moved(costs, options.least_cost);
      const Count spread = options.greatest_cost - options.least_cost;
      const Vertex size = solve_by_shortest_paths(moved.costs, {0, spread, false, false}, result, counters);
      for (Vertex row = 0; row < costs.num_rows; ++row) result.u[row] += moved.offset;
      return size;
    }
  }
  return solve_by_shortest_paths(costs, options, result, counters);
}

template <class Cost>
nb::dict assign_jv(CostMatrix<Cost> costs, bool maximize, nb::handle limit,
                   typename DenseCosts<Cost>::Dual least_cost, typename DenseCosts<Cost>::Dual greatest_cost,
                   Array<Vertex> row_match, Array<Vertex> col_match, Array<typename DenseCosts<Cost>::Dual> u,
                   Array<typename DenseCosts<Cost>::Dual> v, bool has_duals) {
  const DenseCosts<Cost> problem = dense_costs(costs, maximize, limit);
  ShortestPathCounters counted{};
  Vertex size;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  {
    const nb::gil_scoped_release release;
    const std::unique_ptr<bool[]> in_witness(new bool[problem.num_rows]);
    size = solve_serially(problem, {least_cost, greatest_cost, has_duals, false},
                          {u.data(), v.data(), row_match.data(), col_match.data(), in_witness.get()}, counted);
  }
  return to_dict(size, 0, counted, lap(clock, now));
}

// The core on one core of the host; where it gives up, the whole matrix, from the duals there are.
template <class Cost>
nb::dict assign_core_jv(CostMatrix<Cost> costs, bool maximize, nb::handle limit,
                        typename DenseCosts<Cost>::Dual least_cost, typename DenseCosts<Cost>::Dual greatest_cost,
                        Array<Vertex> row_match, Array<Vertex> col_match, Array<typename DenseCosts<Cost>::Dual> u,
                        Array<typename DenseCosts<Cost>::Dual> v, bool has_duals, int threads) {
  const DenseCosts<Cost> problem = dense_costs(costs, maximize, limit);
  CoreCounters counted{};
  Vertex size;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  bool gave_up;
  {
    const nb::gil_scoped_release release;
    const std::unique_ptr<bool[]> in_witness(new bool[problem.num_rows]);
    const ShortestPathResult<typename DenseCosts<Cost>::Dual> result{u.data(), v.data(), row_match.data(),
                                                                     col_match.data(), in_witness.get()};
    size = solve_by_core(problem, has_duals, threads, result, counted);
    gave_up = size == NONE;
    if (gave_up) {
      const bool from_duals = has_duals || counted.sparse.augmentations > 0;
      size = solve_serially(problem, {least_cost, greatest_cost, from_duals, false}, result, counted.dense);
    }
  }
  nb::dict report = to_dict(size, counted.sparse.start_size, counted.sparse, lap(clock, now));
  report["phases"] = counted.sparse.augmentations + counted.dense.augmentations;
  report["levels"] = report["rows_scanned"] = counted.sparse.rows_scanned + counted.dense.rows_scanned;
  report["dual_steps"] = counted.sparse.dual_updates + counted.dense.dual_updates;
  report["edges_inspected"] = counted.sparse.entries_read + counted.dense.entries_read;
  report["repricings"] = counted.times_learned;
  report["price_ns"] = counted.price_ns;
  report["search_ns"] = nb::cast<Count>(report["search_ns"]) - counted.price_ns;
  report["gave_up"] = gave_up;
  return report;
}

// Rows or columns of a small problem, whichever are fewer, at most; and of one that other Python threads wait for.
constexpr Vertex SMALL_SIDE = 512, VERY_SMALL_SIDE = 64;

// The range of the finite entries of a matrix, and what else it holds.
template <class Cost>
struct CostRange {
  Cost lowest, highest;
  bool nan, plus_inf, minus_inf;

  void add(Cost entry) {
    lowest = entry < lowest ? entry : lowest;
    highest = entry > highest ? entry : highest;
  }
};

template <class Cost>
CostRange<Cost> empty_range() {
  using Limits = std::numeric_limits<Cost>;
  return {Limits::has_infinity ? Limits::infinity() : Limits::max(),
          Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), false, false, false};
}

// The same of a row of floats whose entries lie side by side, in lanes.
template <class Cost>
VECTOR_CLONES void add_floats(CostRange<Cost>& range, const Cost* row, Count columns) {
  constexpr int LANES = 32;
  constexpr Cost INFINITE = std::numeric_limits<Cost>::infinity();
  Cost lowest[LANES], highest[LANES], least[LANES], most[LANES], odd[LANES];
  for (int lane = 0; lane < LANES; ++lane) {
    lowest[lane] = least[lane] = INFINITE;
    highest[lane] = most[lane] = -INFINITE;
    odd[lane] = 0;
  }
  const auto add = [&](int lane, Cost entry) {
    const Cost above = entry > -INFINITE ? entry : INFINITE, below = entry < INFINITE ? entry : -INFINITE;
    lowest[lane] = above < lowest[lane] ? above : lowest[lane];
    highest[lane] = below > highest[lane] ? below : highest[lane];
    least[lane] = entry < least[lane] ? entry : least[lane];
    most[lane] = entry > most[lane] ? entry : most[lane];
    odd[lane] = entry == entry ? odd[lane] : 1;
  };
  const Count whole = columns / LANES * LANES;
  for (Count begin = 0; begin < whole; begin += LANES) {
    for (int lane = 0; lane < LANES; ++lane) add(lane, row[begin + lane]);
  }
  for (Count column = whole; column < columns; ++column) add(static_cast<int>(column - whole), row[column]);
  for (int lane = 0; lane < LANES; ++lane) {
    range.lowest = std::min(range.lowest, lowest[lane]);
    range.highest = std::max(range.highest, highest[lane]);
    range.minus_inf |= least[lane] == -INFINITE;
    range.plus_inf |= most[lane] == INFINITE;
    range.nan |= odd[lane] != 0;
  }
}

template <class Cost>
void add_row(CostRange<Cost>& range, const Cost* row, Count columns, Count stride) {
  if constexpr (std::numeric_limits<Cost>::has_infinity) {
    if (stride == 1) return add_floats(range, row, columns);
  }
  CostRange<Cost> here = range;
  if constexpr (std::numeric_limits<Cost>::has_infinity) {
    const Cost infinity = std::numeric_limits<Cost>::infinity();
    bool nan = false, plus_inf = false, minus_inf = false;
    for (Count column = 0; column < columns; ++column) {
      const Cost entry = row[column * stride];
      nan |= entry != entry;
      plus_inf |= entry == infinity;
      minus_inf |= entry == -infinity;
      here.lowest = entry < here.lowest && entry != -infinity ? entry : here.lowest;
      here.highest = entry > here.highest && entry != infinity ? entry : here.highest;
    }
    here.nan |= nan;
    here.plus_inf |= plus_inf;
    here.minus_inf |= minus_inf;
  } else {
    for (Count column = 0; column < columns; ++column) here.add(row[column * stride]);
  }
  range = here;
}

// A matrix in one piece is one long row.
template <class Cost>
void add_rows(CostRange<Cost>& range, const Cost* entries, Count rows, Count columns, Count row_stride,
              Count column_stride) {
  const bool by_rows = column_stride == 1 && row_stride == columns;
  const bool by_columns = row_stride == 1 && column_stride == rows;
  if (by_rows || by_columns) return add_row(range, entries, rows * columns, 1);
  for (Count row = 0; row < rows; ++row) add_row(range, entries + row * row_stride, columns, column_stride);
}

// What a small call leaves in one array of 8-byte cells, so that it costs no more than it must; Python takes it apart when
// it is asked for: these counters; the rows, the columns and the costs of the pairs, in the order of the rows; u, v, row_match
// and col_match.
enum SmallCounter { small_augmentations, small_rows_scanned, small_dual_updates, small_entries_read, small_ns, SMALL_COUNTERS };

// Costs that need no second look: those that count are far from every overflow.
template <class Cost>
bool is_plain(const CostRange<Cost>& range) {
  constexpr double FAR = std::numeric_limits<Cost>::is_integer ? 0x1p56 : std::is_same_v<Cost, float> ? 3e38 : 1e290;
  return !range.nan && !range.minus_inf && range.lowest >= -FAR && range.highest <= FAR;
}

template <class Cost>
bool assign_small_as(const nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>& given, Count* cells) {
  using Dual = typename DenseCosts<Cost>::Dual;
  const Cost* entries = static_cast<const Cost*>(given.data());
  const Vertex rows = static_cast<Vertex>(given.shape(0)), columns = static_cast<Vertex>(given.shape(1));
  std::optional<nb::gil_scoped_release> others_may_run;
  if (std::min(rows, columns) > VERY_SMALL_SIDE) others_may_run.emplace();
  CostRange<Cost> range = empty_range<Cost>();
  add_rows(range, entries, rows, columns, given.stride(0), given.stride(1));
  if (!is_plain(range)) return false;

  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const bool transposed =
      rows > columns || (rows == columns && std::abs(given.stride(0)) < std::abs(given.stride(1)));
  const Vertex fewer = std::min(rows, columns), more = std::max(rows, columns);
  const DenseCosts<Cost> costs{fewer, more, entries, given.stride(transposed), given.stride(!transposed), false,
                               DenseCosts<Cost>::infinite()};
  Count* pair_rows = cells + SMALL_COUNTERS;
  Count* pair_columns = pair_rows + fewer;
  Dual* pair_costs = reinterpret_cast<Dual*>(pair_columns + fewer);
  Dual* u = pair_costs + fewer;
  Dual* v = u + rows;
  Vertex* row_match = reinterpret_cast<Vertex*>(v + columns);
  Vertex* col_match = row_match + rows;
  bool in_witness[SMALL_SIDE];
  ShortestPathCounters counted{};
  const ShortestPathResult<Dual> result = transposed
                                              ? ShortestPathResult<Dual>{v, u, col_match, row_match, in_witness}
                                              : ShortestPathResult<Dual>{u, v, row_match, col_match, in_witness};
  const Vertex matched = solve_by_shortest_paths(
      costs, {static_cast<Dual>(range.lowest), static_cast<Dual>(range.highest), false, false}, result, counted);
  if (matched < fewer) return false;
  for (Vertex row = 0; row < rows; ++row) {
    const Vertex column = row_match[row];
    if (column == NONE) continue;
    *pair_rows++ = row;
    *pair_columns++ = column;
    *pair_costs++ = static_cast<Dual>(entries[row * given.stride(0) + column * given.stride(1)]);
  }
  cells[small_augmentations] = counted.augmentations;
  cells[small_rows_scanned] = counted.rows_scanned;
  cells[small_dual_updates] = counted.dual_updates;
  cells[small_entries_read] = counted.entries_read;
  cells[small_ns] = lap(clock, now);
  return true;
}

// False: costs of another type, or that need a second look, or have no assignment. `cells` has room for what is left in it.
bool assign_small(nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu> costs, Array<Count> cells) {
  if (costs.dtype() == nb::dtype<double>()) return assign_small_as<double>(costs, cells.data());
  if (costs.dtype() == nb::dtype<std::int32_t>()) return assign_small_as<std::int32_t>(costs, cells.data());
  if (costs.dtype() == nb::dtype<std::int64_t>()) return assign_small_as<Count>(costs, cells.data());
  if (costs.dtype() == nb::dtype<float>()) return assign_small_as<float>(costs, cells.data());
  return false;
}

// Independent problems, each by one thread: the threads take the next one in turn.
template <class Cost>
nb::list assign_batch(nb::ndarray<const Count, nb::ndim<2>, nb::c_contig, nb::device::cpu> problems,
                      nb::ndarray<const Cost, nb::device::cpu> entries, bool maximize, nb::handle limit,
                      typename DenseCosts<Cost>::Dual least_cost, typename DenseCosts<Cost>::Dual greatest_cost,
                      nb::ndarray<Vertex, nb::ndim<2>, nb::c_contig, nb::device::cpu> row_match,
                      nb::ndarray<Vertex, nb::ndim<2>, nb::c_contig, nb::device::cpu> col_match,
                      nb::ndarray<typename DenseCosts<Cost>::Dual, nb::ndim<2>, nb::c_contig, nb::device::cpu> u,
                      nb::ndarray<typename DenseCosts<Cost>::Dual, nb::ndim<2>, nb::c_contig, nb::device::cpu> v,
                      nb::ndarray<Cost, nb::ndim<2>, nb::c_contig, nb::device::cpu> pair_costs,
                      const std::string& method, int start, bool many_paths, int threads) {
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
    const std::unique_ptr<char[]> memory(new char[batch_workspace_size<Edges>(batch.costs(p), HostTeam::TILE)]);
    HostTeam team(0, 1, nullptr);
    assign_problem<Edges>(team, batch, p, memory.get());
  };
  const auto solve_serially_in_batch = [&](int p) {
    const DenseCosts<Cost> costs = batch.costs(p);
    ShortestPathCounters counted{};
    const std::unique_ptr<bool[]> in_witness(new bool[costs.num_rows]);
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    Report& report = reports[p];
    report.size = solve_serially(costs, {least_cost, greatest_cost, false, false},
                                 {batch.of_rows(p, batch.u, batch.v), batch.of_columns(p, batch.u, batch.v),
                                  batch.of_rows(p, batch.row_match, batch.col_match),
                                  batch.of_columns(p, batch.row_match, batch.col_match), in_witness.get()},
                                 counted);
    note_pair_costs(clock, batch, p, costs,
                    {costs.num_rows, costs.num_columns, batch.of_rows(p, batch.row_match, batch.col_match), nullptr});
    report.phases = counted.augmentations;
    report.levels = report.rows_scanned = counted.rows_scanned;
    report.dual_steps = counted.dual_updates;
    report.edges_inspected = counted.entries_read;
    report.search_ns = lap(clock, now);
  };
  {
    const nb::gil_scoped_release release;
    std::atomic<int> next{0};
    std::exception_ptr error;  // must not leave its thread
    std::mutex mutex;
    run_on_host(threads, [&](HostTeam&) {
      try {
        for (int p = next++; p < batch.num_problems; p = next++) {
          if (method == "jv") solve_serially_in_batch(p);
          else if (method == "classical") solve_by_search(p, ClassicalEdges<Cost>{});
          else solve_by_search(p, TightEdges<Cost>{});
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        error = std::current_exception();
      }
    });
    if (error) std::rethrow_exception(error);
  }
  nb::list answers;
  for (const Report& report : reports) answers.append(to_tuple(report));
  return answers;
}

template <class Cost>
nb::tuple inspect_costs(CostMatrix<Cost> costs, int threads) {
  std::vector<CostRange<Cost>> ranges(threads, empty_range<Cost>());
  {
    const nb::gil_scoped_release release;
    // Along the rows as they lie in memory.
    const bool by_columns = std::abs(costs.stride(0)) < std::abs(costs.stride(1));
    const int row = by_columns ? 1 : 0, column = 1 - row;
    run_on_host(threads, [&](HostTeam& team) {
      CostRange<Cost> range = empty_range<Cost>();
      team.each_tile(costs.shape(row), [&](Count i) {
        add_row(range, costs.data() + i * costs.stride(row), costs.shape(column), costs.stride(column));
      });
      ranges[team.rank()] = range;
    });
  }
  CostRange<Cost> all = empty_range<Cost>();
  for (const CostRange<Cost>& range : ranges) {
    all.lowest = std::min(all.lowest, range.lowest);
    all.highest = std::max(all.highest, range.highest);
    all.nan |= range.nan;
    all.plus_inf |= range.plus_inf;
    all.minus_inf |= range.minus_inf;
  }
  return nb::make_tuple(all.lowest, all.highest, all.nan, all.plus_inf, all.minus_inf);
}

Count gpu_assignment_workspace_size(int num_rows, int num_columns, int threads, bool classical) {
  const DenseCosts<double> costs{num_rows, num_columns, nullptr, 0, 0, false, 0};
  const Count team_tile = static_cast<Count>(threads) * DEVICE_TILE;
  return classical ? assignment_workspace_size<ClassicalEdges<double>>(costs, team_tile)
                   : assignment_workspace_size<TightEdges<double>>(costs, team_tile);
}

Count gpu_core_workspace_size(int num_rows, int num_columns, int threads) {
  const DenseCosts<double> costs{num_rows, num_columns, nullptr, 0, 0, false, 0};
  return core_workspace_size(costs, static_cast<Count>(threads) * DEVICE_TILE);
}

Count gpu_batch_workspace_size(int num_rows, int num_columns, int threads, bool classical) {
  const DenseCosts<double> costs{num_rows, num_columns, nullptr, 0, 0, false, 0};
  const Count team_tile = static_cast<Count>(threads) * DEVICE_TILE;
  return classical ? batch_workspace_size<ClassicalEdges<double>>(costs, team_tile)
                   : batch_workspace_size<TightEdges<double>>(costs, team_tile);
}

template <class Cost>
void define_assignment_for(nb::module_& m) {
  m.def("assign_batch", &assign_batch<Cost>, "problems"_a.noconvert(), "entries"_a.noconvert(), "maximize"_a,
        "limit"_a.none(), "least_cost"_a, "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "pair_costs"_a.noconvert(), "method"_a, "start"_a, "many_paths"_a, "threads"_a);
  m.def("inspect_costs", &inspect_costs<Cost>, "costs"_a.noconvert(), "threads"_a);
  m.def("assign_jv", &assign_jv<Cost>, "costs"_a.noconvert(), "maximize"_a, "limit"_a.none(), "least_cost"_a,
        "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "has_duals"_a);
  m.def("assign_core_jv", &assign_core_jv<Cost>, "costs"_a.noconvert(), "maximize"_a, "limit"_a.none(), "least_cost"_a,
        "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "has_duals"_a, "threads"_a);
  m.def("assign_by_core", &assign_core<Cost>, "costs"_a.noconvert(), "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "levels"_a.noconvert(), "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "spread"_a, "threads"_a);
  m.def("assign_by_search", &assign_by_search<Cost>, "costs"_a.noconvert(), "maximize"_a, "limit"_a.none(),
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

Count gpu_munkres_workspace_size(int num_rows, int num_columns, int threads) {
  return munkres_workspace_size(DenseCosts<double>{num_rows, num_columns, nullptr, 0, 0, false, 0},
                                static_cast<Count>(threads) * DEVICE_TILE);
}

// Whether a row has two entries in one column. The arrays are trusted.
template <class Offset, class Column>
bool has_duplicates(Array<const Offset> offsets, Array<const Column> columns, int num_columns) {
  const nb::gil_scoped_release release;
  const Vertex num_rows = static_cast<Vertex>(offsets.shape(0)) - 1;
  const CsrEdges<Offset, Column> edges{num_rows, num_columns, offsets.data(), columns.data()};
  std::vector<Vertex> last_row(num_columns, NONE);
  for (Vertex row = 0; row < num_rows; ++row) {
    for (Offset edge = edges.begin(row); edge < edges.end(row); ++edge) {
      Vertex& last = last_row[edges.column(edge)];
      if (last == row) return true;
      last = row;
    }
  }
  return false;
}

template <class Costs, class Offset, class Column, class Cost>
Costs sparse_costs(const Array<const Offset>& offsets, const Array<const Column>& columns,
                   const Array<const Cost>& costs, bool maximize, const Array<Vertex>& col_match) {
  return {static_cast<Vertex>(offsets.shape(0)) - 1, static_cast<Vertex>(col_match.shape(0)), offsets.data(),
          columns.data(), costs.data(), maximize};
}

template <class Offset, class Column, class Cost>
nb::dict assign_sparse_jv(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                          bool maximize, Array<Vertex> row_match, Array<Vertex> col_match,
                          Array<typename DualOf<Cost>::type> u, Array<typename DualOf<Cost>::type> v, bool has_duals) {
  using Costs = const SparseCosts<Cost, Offset, Column>;
  Costs problem = sparse_costs<SparseCosts<Cost, Offset, Column>>(offsets, columns, costs, maximize, col_match);
  SparseShortestPathCounters counted{};
  Vertex size;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  {
    const nb::gil_scoped_release release;
    SparseShortestPathSolver<Costs> solver(problem, counted);
    size = solver.solve(has_duals, row_match.data(), col_match.data(), u.data(), v.data());
  }
  return to_dict(size, counted.start_size, counted, lap(clock, now));
}

template <class Offset, class Column, class Cost>
nb::tuple assign_sparse_tree(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs,
                             bool maximize, Array<Vertex> row_match, Array<Vertex> col_match,
                             Array<typename DualOf<Cost>::type> u, Array<typename DualOf<Cost>::type> v,
                             Array<Vertex> levels, Array<Vertex> augmentations, int start, bool has_duals,
                             bool many_paths, typename DualOf<Cost>::type spread, int threads) {
  using Costs = SparseCosts<Cost, Offset, Column>;
  const Costs problem = sparse_costs<Costs>(offsets, columns, costs, maximize, col_match);
  AssignmentCall call(problem, row_match, col_match, u, v, levels, augmentations, start, has_duals, many_paths);
  return call.run(sparse_assignment_workspace_size(problem), threads,
                  [&](HostTeam& team) { assign_stored(team, problem, call.task, spread); });
}

Count gpu_sparse_assignment_workspace_size(int num_rows, int num_columns) {
  return sparse_assignment_workspace_size(SparseCosts<double, Count, Count>{num_rows, num_columns, nullptr, nullptr,
                                                                            nullptr, false});
}

template <class Offset, class Column, class Cost>
void define_sparse_assignment_for(nb::module_& m) {
  m.def("assign_sparse_jv", &assign_sparse_jv<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "has_duals"_a);
  m.def("assign_sparse_tree", &assign_sparse_tree<Offset, Column, Cost>, "offsets"_a.noconvert(),
        "columns"_a.noconvert(), "costs"_a.noconvert(), "maximize"_a, "row_match"_a.noconvert(),
        "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(), "levels"_a.noconvert(),
        "augmentations"_a.noconvert(), "start"_a, "has_duals"_a, "many_paths"_a, "spread"_a, "threads"_a);
}

template <class Offset, class Column>
void define_sparse_for(nb::module_& m) {
  m.def("has_duplicates", &has_duplicates<Offset, Column>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "num_columns"_a);
  define_sparse_assignment_for<Offset, Column, std::int32_t>(m);
  define_sparse_assignment_for<Offset, Column, Count>(m);
  define_sparse_assignment_for<Offset, Column, float>(m);
  define_sparse_assignment_for<Offset, Column, double>(m);
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

NB_MODULE(_native, m) {
  define_for<std::int32_t, std::int32_t>(m);
  define_for<std::int64_t, std::int32_t>(m);
  define_for<std::int64_t, std::int64_t>(m);
  define_assignment_for<std::int32_t>(m);
  define_assignment_for<Count>(m);
  define_assignment_for<float>(m);
  define_assignment_for<double>(m);
  define_munkres_for<std::int32_t, std::int32_t>(m);
  define_munkres_for<std::int32_t, Count>(m);
  define_munkres_for<Count, Count>(m);
  define_munkres_for<float, double>(m);
  define_munkres_for<double, double>(m);
  define_sparse_for<std::int32_t, std::int32_t>(m);
  define_sparse_for<std::int64_t, std::int32_t>(m);
  define_sparse_for<std::int64_t, std::int64_t>(m);
  m.def("assign_small", &assign_small, "costs"_a.noconvert(), "cells"_a.noconvert());
  m.def("match_small", &match_small, "offsets"_a.noconvert(), "columns"_a.noconvert(), "num_columns"_a,
        "cells"_a.noconvert());
  m.attr("SMALL_COUNTERS") = static_cast<int>(SMALL_COUNTERS);
  m.attr("SMALL_SIDE") = SMALL_SIDE;
  m.def("munkres_workspace_size", &gpu_munkres_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a);
  m.def("assignment_workspace_size", &gpu_assignment_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a,
        "classical"_a);
  m.def("core_workspace_size", &gpu_core_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a);
  m.attr("MOST_REPRICINGS") = MOST_REPRICINGS;
  m.def("batch_workspace_size", &gpu_batch_workspace_size, "num_rows"_a, "num_columns"_a, "threads"_a,
        "classical"_a);
  m.def("sparse_assignment_workspace_size", &gpu_sparse_assignment_workspace_size, "num_rows"_a, "num_columns"_a);
  m.def("workspace_size", &gpu_workspace_size, "forest"_a, "start"_a, "num_rows"_a, "num_columns"_a, "num_edges"_a);
  nb::list report_fields;
  for (const char* name : REPORT_FIELDS) report_fields.append(name);
  m.attr("REPORT_FIELDS") = nb::tuple(report_fields);
  m.attr("PROGRESS_SIZE") = sizeof(Progress);
}
