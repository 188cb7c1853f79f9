// races.cpp: every forest, every start, both searches in turns, and the assignments, with many threads, under
// ThreadSanitizer; the ordered forest under schedules as odd as can be; and teams that fail or are interrupted.
//
//   g++ -std=c++17 -O1 -g -fsanitize=thread -pthread -I gmatch/csrc tests/races.cpp -o races && ./races
//
// ThreadSanitizer stops the program at the first data race; sizes are compared with Kuhn's algorithm, costs with the
// serial shortest paths, ordered matchings with the one of a single thread.
#define TESTED_WITH_SHORT_LISTS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "assignment/assign_sparse.cuh"
#include "assignment/munkres.cuh"
#include "cardinality/match.cuh"
#include "cardinality/mixed.hpp"
#include "core/program.cuh"
#include "graphs.h"
#include "serial/core_search.hpp"
#include "serial/sparse_shortest_path.hpp"
#include "serial/stored_shortest_paths.hpp"
#include "team/host_threads.hpp"

// Counts its barriers, as the grid of a GPU does. On a GPU a thread that goes on with a copy of a team from before a barrier
// would wait for ever. Here it ends the program.
struct CountingTeam : HostTeam {
  using HostTeam::HostTeam;
  void sync() { any(false); }
  bool any(bool yes) {
    if (turn_++ != barriers++) {
      std::printf("a thread came to barrier %d with a team that is at barrier %d\n", barriers - 1, turn_ - 1);
      std::exit(1);
    }
    return HostTeam::any(yes);
  }

 private:
  static inline thread_local int barriers = 0;  // threads of a team are new
  int turn_ = 0;
};

// A team that keeps no lists, as the teams of a GPU.
struct PassingTeam : CountingTeam {
  using CountingTeam::CountingTeam;
  static constexpr bool PASSES = true;
};

// A grid of blocks that are one thread each: parts of it take levels and rounds by themselves.
struct PartedTeam : CountingTeam {
  using CountingTeam::CountingTeam;
  static constexpr bool IS_GRID = true, HAS_PARTS = true;
  static constexpr int KEEPS_BACK = 0;

  // Has one thread, but other parts write to its cells.
  class Part : public HostTeam {
   public:
    explicit Part(const PartedTeam& whole) : HostTeam(0, 1, nullptr), whole_(whole) {}
    static constexpr int KEEPS_BACK = 0;
    bool claim(int* cell, int expected, int desired) const { return whole_.claim(cell, expected, desired); }
    int append(int* counter) const { return whole_.append(counter); }
    template <class T>
    T fetch_add(T* cell, T value) const { return whole_.fetch_add(cell, value); }
    template <class T>
    T lower(T* cell, T value) const { return whole_.lower(cell, value); }

   private:
    const PartedTeam& whole_;
  };
  Part part() const { return Part(*this); }
  int parts() const { return size(); }
  int part_number() const { return rank(); }
  int num_waiting() const { return rank() % 2 == 0 ? 0 : size(); }  // some parts share their rows out
};

// Deals work out one by one, to each thread in an order of its own, and yields wherever threads meet.
struct ShakenTeam : HostTeam {
  using HostTeam::HostTeam;
  static constexpr int SMALL_STEP = 3;
  ShakenTeam team_of_one() const { return {0, 1, nullptr}; }

  template <class Body>
  void each(Count n, Body body) const {
    const Count mine = n <= rank() ? 0 : (n - rank() - 1) / size() + 1;
    const Count first = mine == 0 ? 0 : chance() % mine;
    for (Count i = 0; i < mine; ++i) body(rank() + (first + i) % mine * size());
  }
  template <class Body>
  void each_in_turn(Count n, Body body) const { each(n, body); }
  template <class Body>
  void each_group(Count n, Body body) const { each(n, body); }

  template <class T>
  T lower(T* cell, T value) const { return shake(), HostTeam::lower(cell, value); }
  int append(int* counter) const { return shake(), HostTeam::append(counter); }

 private:
  static unsigned chance() {
    static std::atomic<unsigned> seed{0};
    thread_local std::minstd_rand random(++seed);
    return static_cast<unsigned>(random());
  }
  static void shake() {
    if (chance() % 8 == 0) std::this_thread::yield();
  }
};

// Runs body(team) on a team of threads that are all new.
template <class Team = HostTeam, class Body>
static void run_team(int threads, const Body& body) {
  std::thread([&] { run_on_host<Team>(threads, body); }).join();
}

// A team whose thread `rank` fails, at one of four places: all threads leave, and what it threw comes out.
static void check_failure(int threads, int rank, int place) {
  std::atomic<int> num_left{0};
  struct Left {
    std::atomic<int>& count;
    ~Left() { ++count; }
  };
  const auto fail_at = [&](const HostTeam& team, int here) {
    if (team.rank() == rank && place == here) throw std::bad_alloc();
  };
  bool failed = false;
  try {
    run_on_host(threads, [&](HostTeam& team) {
      const Left left{num_left};
      fail_at(team, 0);  // the others wait at a barrier, or come to it
      team.sync();
      if (place == 1) {
        fail_at(team, 1);  // the others have a loop that does not end
        while (true) team.each(threads, [](Count) {});
      }
      team.each_tile(2 * threads, [&](Count) { fail_at(team, 2); });
      team.sync();
      fail_at(team, 3);  // the others may have ended
    });
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  if (failed && num_left == threads) return;
  std::printf("%d threads, rank %d fails at place %d: %d left, failed %d\n", threads, rank, place, num_left.load(), failed);
  std::exit(1);
}

// A call that is interrupted while it runs.
struct Interrupted {};
static std::atomic<bool> is_interrupted{false};
static bool ask() { return is_interrupted ? throw Interrupted() : true; }

template <class Run>
static void check_interrupt(const char* name, const Run& run) {
  const Watched watched({nullptr, ask});
  is_interrupted = false;
  std::thread interrupter([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    is_interrupted = true;
  });
  bool ended = false;
  try {
    run();
  } catch (const Interrupted&) {
    ended = true;
  }
  interrupter.join();
  if (ended) return;
  std::printf("%s: not interrupted\n", name);
  std::exit(1);
}

static void check_interrupts() {
  for (const int threads : {1, 2, 8}) {
    check_interrupt("each", [&] {
      run_on_host(threads, [](HostTeam& team) {
        while (true) team.each(100, [](Count) {});
      });
    });
    check_interrupt("steps", [&] {
      run_on_host(threads, [](HostTeam& team) {
        while (true) {
          team.each_tile(1, [](Count) {});
          team.sync();
        }
      });
    });
    check_interrupt("bids", [&] {
      run_on_host(threads, [](HostTeam& team) {
        while (true) team.min_group(0);
      });
    });
    // A call of many short teams is asked as often as one of a long team.
    check_interrupt("short teams", [&] {
      for (int team = 0; team < 10'000; ++team) run_on_host(threads, [](const HostTeam&) { look_around(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      for (int team = 0; team < 10'000; ++team) run_on_host(threads, [](const HostTeam&) { look_around(); });
    });
  }
  // The thread that was called has ended, or waits.
  check_interrupt("others", [] {
    run_on_host(4, [](HostTeam& team) {
      while (team.rank() > 0) team.each(100, [](Count) {});
    });
  });
  check_interrupt("barrier", [] {
    run_on_host(4, [](HostTeam& team) {
      while (team.rank() == 1) team.each(100, [](Count) {});
      team.sync();
    });
  });
}

using Edges = CsrEdges<int, int>;

// In place of a forest.
struct Turns {};
struct DepthFirst {};

template <class Forest>
static Count bytes_for(const Edges& edges, const Task& task) {
  if constexpr (std::is_same_v<Forest, Turns>) return mixed_workspace_size(edges, task);
  else if constexpr (std::is_same_v<Forest, DepthFirst>) return pothen_fan_workspace_size(edges, task);
  else return workspace_size<Forest, Edges>(task.start, task.matching, edges.num_edges());
}

struct Answer {
  Count size, levels;
  std::vector<Vertex> row_match;
  std::vector<unsigned char> reached;
  bool operator==(const Answer& other) const {
    return size == other.size && levels == other.levels && row_match == other.row_match && reached == other.reached;
  }
};

template <class Forest, class Team = HostTeam>
static Answer solve(const Graph& graph, Start start, bool shortest_only, int threads) {
  const Edges edges{graph.rows, graph.columns, graph.offsets.data(), graph.indices.data()};
  const Vertex phases = std::min(graph.rows, graph.columns) + 1;
  std::vector<Vertex> row_match(graph.rows), col_match(graph.columns), levels(phases), augmentations(phases);
  std::vector<unsigned char> reached(graph.columns);
  Progress progress{};
  Report report{};
  Task task{{graph.rows, graph.columns, row_match.data(), col_match.data()},
            reached.data(),
            {levels.data(), augmentations.data()},
            nullptr,
            &progress,
            &report,
            start,
            shortest_only};
  std::vector<char> workspace(bytes_for<Forest>(edges, task));
  task.workspace = workspace.data();
  run_team<Team>(threads, [&](Team& team) {
    if constexpr (std::is_same_v<Forest, Turns>) match_in_turns(team, edges, task);
    else if constexpr (std::is_same_v<Forest, DepthFirst>) match_by_pothen_fan(team, edges, task);
    else match_cardinality<Forest>(team, edges, task);
  });
  return {report.size, report.levels, row_match, reached};
}

template <class Forest>
static void check(const Graph& graph, const char* name) {
  const Count size = kuhn(graph);
  for (const Start start :
       {Start::none, Start::cheap, Start::shuffled, Start::min_degree, Start::karp_sipser, Start::automatic}) {
    for (const bool shortest_only : {false, true}) {
      for (const int threads : {2, 8}) {
        const Count found = solve<Forest>(graph, start, shortest_only, threads).size;
        if (found == size) continue;
        std::printf("%s: start %d, shortest_only %d, %d threads: size %lld, not %lld\n", name, static_cast<int>(start),
                    shortest_only, threads, found, size);
        std::exit(1);
      }
    }
  }
}

// The matching, its proof and the levels of one thread, whoever is first.
static void check_order(const Graph& graph) {
  for (const Start start : {Start::none, Start::cheap, Start::shuffled, Start::min_degree, Start::automatic}) {
    for (const bool shortest_only : {false, true}) {
      const Answer expected = solve<OrderedForest>(graph, start, shortest_only, 1);
      for (const int threads : {2, 3, 8}) {
        if (solve<OrderedForest>(graph, start, shortest_only, threads) == expected &&
            solve<OrderedForest, ShakenTeam>(graph, start, shortest_only, threads) == expected) continue;
        std::printf("ordered: start %d, shortest_only %d: %d threads match otherwise than one\n",
                    static_cast<int>(start), shortest_only, threads);
        std::exit(1);
      }
    }
  }
}

using Costs = DenseCosts<int>;

static Count total(const Costs& costs, const std::vector<Vertex>& row_match) {
  Count sum = 0;
  for (Vertex row = 0; row < costs.num_rows; ++row) sum += costs.at(row, row_match[row]);
  return sum;
}

// Threads share the reduction of columns.
static Count cost_by_shortest_paths(const Costs& costs, int threads = 1) {
  std::vector<Vertex> row_match(costs.num_rows), col_match(costs.num_columns);
  std::vector<long long> u(costs.num_rows), v(costs.num_columns);
  ShortestPathCounters counters{};
  ShortestPathOptions<Count> options{0, 1000, false};
  options.threads = threads;
  solve_by_shortest_paths(costs, options,
                          {u.data(), v.data(), row_match.data(), col_match.data()}, counters);
  return total(costs, row_match);
}

// Starts from v = 0, or from random duals.
template <class Edges>
static Count cost_by_search(const Costs& costs, AssignmentStart start, bool many_paths, int threads,
                            bool has_duals = false) {
  std::vector<Vertex> row_match(costs.num_rows, NONE), col_match(costs.num_columns);
  std::vector<Vertex> levels(costs.num_rows + 1), augmentations(costs.num_rows + 1);
  std::vector<long long> u(costs.num_rows), v(costs.num_columns);
  for (Vertex column = 0; has_duals && column < costs.num_columns; ++column) v[column] = -(column * 7 % 30);
  std::vector<char> workspace(assignment_workspace_size<Edges>(costs, static_cast<Count>(threads) * HostTeam::COLUMNS_AT_ONCE));
  Progress progress{};
  Report report{};
  const AssignmentTask<long long> task{{costs.num_rows, costs.num_columns, row_match.data(), col_match.data()},
                                       u.data(),
                                       v.data(),
                                       {levels.data(), augmentations.data()},
                                       workspace.data(),
                                       &progress,
                                       &report,
                                       start,
                                       has_duals,
                                       many_paths};
  run_team<CountingTeam>(threads, [&](CountingTeam& team) { assign<Edges>(team, costs, task); });
  return report.size == costs.num_rows ? total(costs, row_match) : -1;
}

static Count cost_by_munkres(const Costs& costs, AssignmentStart start, MunkresForm form, int threads) {
  std::vector<Vertex> row_match(costs.num_rows, NONE), col_match(costs.num_columns);
  std::vector<Vertex> levels(costs.num_rows + 1), augmentations(costs.num_rows + 1);
  std::vector<long long> u(costs.num_rows), v(costs.num_columns);
  long long least = Costs::infinite();
  std::vector<int> slacks(static_cast<std::size_t>(costs.num_rows) * costs.num_columns);
  std::vector<char> workspace(munkres_workspace_size(costs, static_cast<Count>(threads) * HostTeam::COLUMNS_AT_ONCE));
  Progress progress{};
  Report report{};
  run_team<CountingTeam>(threads, [&](CountingTeam& team) {
    Munkres<int, int> munkres{costs,
                              {{costs.num_rows, costs.num_columns, row_match.data(), col_match.data()},
                               u.data(),
                               v.data(),
                               {levels.data(), augmentations.data()},
                               workspace.data(),
                               &progress,
                               &report,
                               start,
                               false,
                               false}};
    munkres.set_up(form, slacks.data(), &least);
    run_munkres(team, munkres);
  });
  return report.size == costs.num_rows ? total(costs, row_match) : -1;
}

template <class Team>
static Count cost_by_core(const Costs& costs, AssignmentStart start, int threads) {
  std::vector<Vertex> row_match(costs.num_rows, NONE), col_match(costs.num_columns);
  std::vector<Vertex> levels((MOST_REPRICINGS + 2) * (costs.num_rows + 1)), augmentations(levels.size());
  std::vector<Count> u(costs.num_rows), v(costs.num_columns);
  std::vector<char> workspace(core_workspace_size(costs, static_cast<Count>(threads) * HostTeam::COLUMNS_AT_ONCE));
  Progress progress{};
  CoreReport report{};
  const AssignmentTask<Count> task{{costs.num_rows, costs.num_columns, row_match.data(), col_match.data()},
                                   u.data(),
                                   v.data(),
                                   {levels.data(), augmentations.data()},
                                   workspace.data(),
                                   &progress,
                                   &report.counters,
                                   start,
                                   false,
                                   true};
  run_team<Team>(threads, [&](Team& team) { assign_by_core(team, costs, task, Count{1} << 40); });
  return report.counters.size == costs.num_rows ? total(costs, row_match) : -1;
}

static Count cost_by_priced_rows(const Costs& costs, int threads) {
  std::vector<Vertex> row_match(costs.num_rows, NONE), col_match(costs.num_columns);
  std::vector<Count> u(costs.num_rows), v(costs.num_columns);
  CoreCounters counters{};
  const Vertex size = solve_by_core(
      costs, false, threads, {u.data(), v.data(), row_match.data(), col_match.data()}, counters);
  return size == costs.num_rows ? total(costs, row_match) : size == NONE ? cost_by_shortest_paths(costs) : -1;
}

static void expect(Count expected, Count found, const Costs& costs, const char* name, int threads) {
  if (found == expected) return;
  std::printf("%s: %d x %d, %d threads: cost %lld, not %lld\n", name, costs.num_rows, costs.num_columns, threads, found,
              expected);
  std::exit(1);
}

static void check_core(const Costs& costs, Count expected) {
  for (const int threads : {1, 2, 8}) {
    expect(expected, cost_by_shortest_paths(costs, threads), costs, "shortest paths", threads);
    expect(expected, cost_by_priced_rows(costs, threads), costs, "priced rows", threads);
  }
  for (const AssignmentStart start : {AssignmentStart::none, AssignmentStart::reduce}) {
    for (const int threads : {2, 8}) {
      expect(expected, cost_by_core<HostTeam>(costs, start, threads), costs, "core", threads);
      expect(expected, cost_by_core<PassingTeam>(costs, start, threads), costs, "core, in passes", threads);
    }
  }
}

static void check_assignment(std::mt19937& random, Vertex rows, Vertex columns, int largest) {
  std::vector<int> entries(static_cast<std::size_t>(rows) * columns);
  for (int& entry : entries) entry = static_cast<int>(random() % (largest + 1));
  const Costs costs{rows, columns, entries.data(), columns, 1, false, Costs::infinite()};
  const Count expected = cost_by_shortest_paths(costs);
  check_core(costs, expected);
  for (const AssignmentStart start :
       {AssignmentStart::none, AssignmentStart::reduce, AssignmentStart::bids, AssignmentStart::regret}) {
    for (const bool many_paths : {false, true}) {
      for (const int threads : {2, 8}) {
        expect(expected, cost_by_search<TightEdges<int>>(costs, start, many_paths, threads), costs, "tree", threads);
        expect(expected, cost_by_search<ClassicalEdges<int>>(costs, start, false, threads), costs, "classical", threads);
        expect(expected, cost_by_search<ClassicalEdges<int>>(costs, start, false, threads, true), costs, "duals", threads);
        for (const MunkresForm form : {MunkresForm::baseline, MunkresForm::fused, MunkresForm::registers}) {
          expect(expected, cost_by_munkres(costs, start, form, threads), costs, "munkres", threads);
        }
      }
    }
  }
}

// Rows equal in groups: the core lacks columns that are among the best of none.
static void check_equal_rows(std::mt19937& random, Vertex rows, Vertex group) {
  std::vector<int> entries(static_cast<std::size_t>(rows) * rows);
  for (int& entry : entries) entry = static_cast<int>(random() % 100000);
  for (Vertex row = 0; row < rows; ++row) {
    std::copy_n(entries.begin() + row / group * group * rows, rows, entries.begin() + row * rows);
  }
  const Costs costs{rows, rows, entries.data(), rows, 1, false, Costs::infinite()};
  check_core(costs, cost_by_shortest_paths(costs));
}

// There are enough rows for three threads that bid at the same time. Rows of distances are priced again.
static void check_bids_of_threads(std::mt19937& random) {
  constexpr Vertex ROWS = 1500;
  std::vector<int> places(4 * ROWS), entries(static_cast<std::size_t>(ROWS) * ROWS);
  for (int& place : places) place = static_cast<int>(random() % 500);
  for (Vertex row = 0; row < ROWS; ++row) {
    for (Vertex column = 0; column < ROWS; ++column) {
      const int *a = &places[4 * row], *b = &places[4 * column + 2];
      entries[static_cast<std::size_t>(row) * ROWS + column] = std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]);
    }
  }
  const Costs costs{ROWS, ROWS, entries.data(), ROWS, 1, false, Costs::infinite()};
  expect(cost_by_shortest_paths(costs), cost_by_priced_rows(costs, 8), costs, "priced rows", 8);
}

// The entries of a matrix, except the ones that are left out.
struct SparseMatrix {
  Vertex rows, columns;
  std::vector<int> offsets{0}, indices;
  std::vector<double> entries;
};
using Sparse = SparseCosts<double, int, int>;

// One entry in `every` is stored, and the diagonal, which makes the problem feasible.
static SparseMatrix random_sparse(std::mt19937& random, Vertex rows, Vertex columns, int largest, int every = 6) {
  SparseMatrix matrix{rows, columns, {0}, {}, {}};
  for (Vertex row = 0; row < rows; ++row) {
    for (Vertex column = 0; column < columns; ++column) {
      if (row != column && random() % every != 0) continue;
      matrix.indices.push_back(column);
      matrix.entries.push_back(static_cast<double>(random() % (largest + 1)));
    }
    matrix.offsets.push_back(static_cast<int>(matrix.indices.size()));
  }
  return matrix;
}

static double total(const Sparse& costs, const std::vector<Vertex>& row_match) {
  double sum = 0;
  for (Vertex row = 0; row < costs.num_rows; ++row) {
    for (int edge = costs.begin(row); edge < costs.end(row); ++edge) {
      if (costs.column(edge) == row_match[row]) sum += costs.at(edge);
    }
  }
  return sum;
}

static double cost_by_shortest_paths(const Sparse& costs, int threads = 1) {
  std::vector<Vertex> row_match(costs.num_rows), col_match(costs.num_columns);
  std::vector<double> u(costs.num_rows), v(costs.num_columns);
  SparseShortestPathCounters counters{};
  SparseShortestPathSolver<const Sparse> solver(costs, counters, threads);
  const Vertex size = solver.solve(false, row_match.data(), col_match.data(), u.data(), v.data());
  return size == costs.num_rows ? total(costs, row_match) : -1;
}

template <class Team>
static double cost_by_trees(const Sparse& costs, AssignmentStart start, bool many_paths, int threads) {
  std::vector<Vertex> row_match(costs.num_rows, NONE), col_match(costs.num_columns);
  std::vector<Vertex> levels(costs.num_rows + 1), augmentations(costs.num_rows + 1);
  std::vector<double> u(costs.num_rows), v(costs.num_columns);
  std::vector<char> workspace(sparse_assignment_workspace_size(costs));
  Progress progress{};
  Report report{};
  const AssignmentTask<double> task{{costs.num_rows, costs.num_columns, row_match.data(), col_match.data()},
                                    u.data(),
                                    v.data(),
                                    {levels.data(), augmentations.data()},
                                    workspace.data(),
                                    &progress,
                                    &report,
                                    start,
                                    false,
                                    many_paths};
  run_team<Team>(threads, [&](Team& team) { assign_stored(team, costs, task, 1000.0 * costs.num_rows); });
  return report.size == costs.num_rows ? total(costs, row_match) : -1;
}

static void check_sparse_assignment(std::mt19937& random, Vertex rows, Vertex columns, int largest) {
  const SparseMatrix matrix = random_sparse(random, rows, columns, largest);
  const Sparse costs{rows, columns, matrix.offsets.data(), matrix.indices.data(), matrix.entries.data(), false};
  const double expected = cost_by_shortest_paths(costs);
  for (const AssignmentStart start : {AssignmentStart::none, AssignmentStart::reduce}) {
    for (const bool many_paths : {false, true}) {
      for (const int threads : {2, 8}) {
        const double on_threads = cost_by_trees<HostTeam>(costs, start, many_paths, threads);
        const double in_parts = cost_by_trees<PartedTeam>(costs, start, many_paths, threads);
        if (on_threads == expected && in_parts == expected) continue;
        std::printf("sparse %d x %d, many_paths %d, %d threads: cost %g, in parts %g, not %g\n", rows, columns, many_paths,
                    threads, on_threads, in_parts, expected);
        std::exit(1);
      }
    }
  }
}

// There are enough rows for 3 threads that bid at the same time. One thread holds another auction. If columns may stay free, no
// auction is held.
static void check_sparse_bids(std::mt19937& random, Vertex columns, int largest) {
  constexpr Vertex ROWS = 1500;
  const SparseMatrix matrix = random_sparse(random, ROWS, columns, largest, 200);
  const Sparse costs{ROWS, columns, matrix.offsets.data(), matrix.indices.data(), matrix.entries.data(), false};
  const double expected = cost_by_shortest_paths(costs), found = cost_by_shortest_paths(costs, 8);
  if (found == expected) return;
  std::printf("sparse bids, costs to %d: cost %g, not %g\n", largest, found, expected);
  std::exit(1);
}

int main() {
  for (const int threads : {2, 3, 8}) {
    for (const int rank : {0, 1, threads - 1}) {
      for (const int place : {0, 1, 2, 3}) check_failure(threads, rank, place);
    }
  }
  check_interrupts();
  std::printf("failed and interrupted teams end\n");
  std::mt19937 random(1);
  int graphs = 0;
  for (const int largest : {12, 12, 12, 12, 12, 12, 12, 12, 60, 60, 300, 300, 1500}) {
    const Graph graph = random_graph(random, largest);
    check<SpeculativeForest<false>>(graph, "speculative");
    check<SpeculativeForest<true>>(graph, "speculative with roots");
    check<ClaimedForest<false>>(graph, "claimed");
    check<ClaimedForest<true>>(graph, "claimed with roots");
    check<OrderedForest>(graph, "ordered");
    check_order(graph);
    check<Turns>(graph, "in turns");
    check<DepthFirst>(graph, "depth first");
    ++graphs;
  }
  for (const Vertex steps : {3, 40, 150}) {
    const Graph graph = permuted_staircase(random, steps);
    check<ClaimedForest<true>>(graph, "claimed with roots, staircase");
    check_order(graph);
    check<Turns>(graph, "in turns, staircase");
    check<DepthFirst>(graph, "depth first, staircase");
    ++graphs;
  }
  std::printf("%d graphs, no race, every size right\n", graphs);
  int matrices = 0;
  for (const int largest : {0, 2, 10, 1000}) {
    for (const int rows : {1, 5, 40, 90}) {
      check_assignment(random, rows, rows, largest);
      check_assignment(random, rows, rows + 1 + random() % 30, largest);
      matrices += 2;
    }
    check_assignment(random, 20, 2 * HostTeam::COLUMNS_AT_ONCE + 10, largest);  // more columns than a thread holds at once
    ++matrices;
  }
  for (const Vertex group : {12, 24}) {
    check_equal_rows(random, 240, group);
    ++matrices;
  }
  check_bids_of_threads(random);
  std::printf("%d matrices, no race, every cost right\n", matrices + 1);
  int sparse_matrices = 0;
  for (const int largest : {0, 2, 10, 1000}) {
    for (const int rows : {1, 5, 40, 150}) {
      check_sparse_assignment(random, rows, rows, largest);
      check_sparse_assignment(random, rows, rows + 1 + random() % 30, largest);
      sparse_matrices += 2;
    }
  }
  for (const int largest : {2, 1000, 1000000}) {
    check_sparse_bids(random, largest == 1000 ? 1520 : 1500, largest);
    ++sparse_matrices;
  }
  std::printf("%d sparse matrices, no race, every cost right\n", sparse_matrices);
}
