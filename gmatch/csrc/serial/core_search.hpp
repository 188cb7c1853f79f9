// core_search.hpp: dense assignment by pricing, on the host: the shortest paths of the sparse method, along few entries of each
// row, found in a pass over the matrix.
//
//   price    one pass over the matrix picks a sparse core, the least of every row, and a bound on all others
//   auction  rows bid by these entries; a row is priced again if they do not suffice (serial/priced_auction.hpp)
//   search   the sparse method solves the core (serial/sparse_shortest_path.hpp)
//   learn    if a search comes as far as the bound of a row, the row is priced again, deeper, by the current v
//
// The invariant: v only falls, so that no entry outside the core ever has less cost - v than the bound of its row. The
// search asks for more before it passes a bound. So it needs no pass over the matrix in the end: what it finds is optimal
// for the whole matrix, and proven, and if it finds no assignment there is none.
//
// Threads share the first two steps. One thread searches.
//
// Volgenant, "Linear and semi-assignment problems: a core oriented approach", Computers & Operations Research 23 (1996).
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "core/trace.cuh"
#include "serial/core_sample.hpp"
#include "serial/priced_auction.hpp"
#include "serial/rows/reserved_picks.hpp"
#include "serial/shortest_path.hpp"
#include "serial/sparse_shortest_path.hpp"
#include "team/host_threads.hpp"
#include "team/steps.cuh"

// When a core gives up. If the matrix lies in memory, the other way is a search that reads whole rows of it. So a core that
// becomes large is given up early, and so is one whose start leaves many rows free.
struct CoreLimitsOfRows {
  Count entries;         // that may be known
  Vertex fewest_matched; // by the start

  // An entry of a core takes as long as ten entries of a row that is read as a whole. So up to this number a search in the core
  // is no slower than in the matrix. Points in the plane need two thirds of it. benchmarks/log/core_host.md,
  // "`core` is given up where it knows an entry in ten".
  static Count entries_of_matrix(Count num_rows, Vertex num_columns) { return num_rows * (num_columns / 10 + 100); }
  // If many rows want the same columns, most searches need most of the matrix, one after the other. If all columns are to be
  // matched, a dense search or an auction in the matrix is then faster. Points in the plane start with at least 0.84 of the
  // pairs, numbers and points of clusters with less: their rows would be read too often. See "A core is given up where its start
  // pairs fewer than 13 in 16 rows" in benchmarks/log/core_host.md. 1 in 16 if columns may stay free: "When the core on the
  // host gives up" there.
  static CoreLimitsOfRows of_matrix(Vertex num_rows, Vertex num_columns) {
    return {entries_of_matrix(num_rows, num_columns), num_rows == num_columns ? num_rows / 16 * 13 : num_rows / 16};
  }
};

// The core, as the sparse method reads it.
template <class Rows, class Dual_>
class PricedRows {
 public:
  using Dual = Dual_;

  const Vertex num_rows, num_columns;

  PricedRows(const Rows& rows, int threads, ShortestPathCounters& counters, CoreTrace& trace)
      : PricedRows(rows, CoreLimitsOfRows::of_matrix(rows.num_rows(), rows.num_columns()), threads, counters, trace) {}
  PricedRows(const Rows& rows, const CoreLimitsOfRows& limits, int threads, ShortestPathCounters& counters, CoreTrace& trace)
      : num_rows(rows.num_rows()),
        num_columns(rows.num_columns()),
        limits_(limits),
        room_(limits.entries + threads * DEPTHS[WHOLE - 1].room + num_columns),
        counters_(counters),
        trace_(trace),
        v_(num_columns),
        about_(num_rows),
        columns_(new Vertex[room_]),
        costs_(new Dual[room_]) {
    pickers_.reserve(threads);
    for (int rank = 0; rank < std::max(1, std::min<int>(threads, num_rows)); ++rank) pickers_.emplace_back(rows);
  }

  int num_threads() const { return static_cast<int>(pickers_.size()); }

  // Prices all rows by the v that are set; the threads share them out. Gives up if most rows have more ties than there is room
  // for: all searches are then short in the matrix, and a part of the ties makes them longer.
  void price() {
    trace_.add(CoreStep::price);
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    known_.store(0, std::memory_order_relaxed);
    const auto first_row = [&](int share) { return static_cast<Vertex>(Count{num_rows} * share / num_threads()); };
    run_on_host(num_threads(), [&](HostTeam& team) {
      const int share = team.rank();
      price_share(pickers_[share], first_row(share), first_row(share + 1));
    });
    count_scans();
    price_ns_ += lap(clock, now);
  }

  // Prices a row again, by the current v; deeper, if that was done before or does not raise its bound.
  void learn(Vertex row) {
    note_learning();
    ++times_learned_;
    About& about = about_[row];
    const Dual before = about.bound;
    if (++about.times < TIMES) pick<true>(pickers_[0], row, v_.data());
    if (about.bound <= before) {
      pick_deeper(pickers_[0], row, v_.data());
      if (known() > limits_.entries) give_up();
    }
    count_scans();
  }
  // As learn, but by the given v. No later v may exceed it. The least entry of the row is then known. Its bound may stay as it
  // was, since no row gets more room once half of the limit is used. `thread` is the number of the thread that calls. Threads
  // learn of different rows.
  void learn_by(int thread, Vertex row, const Dual* v) {
    Picker& picker = pickers_[thread];
    ++picker.times_learned;
    About& about = about_[row];
    const bool may_grow = known() < limits_.entries / 2;
    if (may_grow && ++about.times >= TIMES && about.depth + 1 < WHOLE) pick_deeper(picker, row, v);
    else pick<true>(picker, row, v, may_grow);
  }
  void note_learning() {
    if (!trace_.ends_with(CoreStep::learn)) trace_.add(CoreStep::learn);
  }
  // Adds up what the threads have counted.
  void count_scans() {
    for (Picker& picker : pickers_) {
      times_learned_ += picker.times_learned;
      counters_.rows_scanned += picker.scans;
      counters_.entries_read += picker.scans * num_columns;
      picker.scans = picker.times_learned = 0;
    }
  }

  // Whether a row must be computed before it is priced again. `expect` names rows that will be priced again soon.
  bool must_be_computed(Vertex row) { return pickers_[0].picks.must_be_computed(row); }
  void expect(const Vertex* rows, Vertex number) { pickers_[0].picks.expect(rows, number); }

  void note_start(Count start_size) {
    if (start_size < limits_.fewest_matched) give_up();
    if (!gives_up()) trace_.add(CoreStep::search);
  }

  // Writes v. Returns false if the core gives up, or if too many rows have ties: their bids would be only epsilon, and searches
  // from them are short.
  template <class Counters>
  bool hold_auction(Counters& counters, std::vector<Dual>& v) {
    trace_.add(CoreStep::auction);
    PricedAuction<PricedRows, Counters> auction(*this, counters, num_threads());
    if (!auction.hold() || gives_up()) return false;
    v = auction.duals();
    return true;
  }

  bool gives_up() const { return gives_up_.load(std::memory_order_relaxed); }
  Count times_learned() const { return times_learned_; }
  Count price_ns() const { return price_ns_; }
  Count known() const { return known_.load(std::memory_order_relaxed); }
  void set_v(Vertex column, Dual v) { v_[column] = v; }

  // As SparseCosts.
  static Dual infinite() { return beyond_all(Dual{}); }
  Count begin(Vertex row) const { return about_[row].begin; }
  Count end(Vertex row) const { return about_[row].end; }
  Vertex column(Count edge) const { return columns_[edge]; }
  Dual at(Count edge) const { return costs_[edge]; }
  Dual of_pair(Vertex row, Vertex column) const { return static_cast<Dual>(pickers_[0].picks.rows().at(row, column)); }
  // A lower bound of cost - v for all entries of the row that are not known.
  Dual bound(Vertex row) const { return about_[row].bound; }

 private:
  static constexpr Vertex SAMPLE = 64;  // rows that tell how many ties there are; 8 to 256 are as fast
  // How often a row is priced before it is priced deeper: 2 to 24 times are as fast. 0.4 and 1.8 times the entries in the
  // first line of DEPTHS take 1.10 and 1.16 times as long: benchmarks/log/core_host.md, "Thresholds measured again".
  static constexpr int TIMES = 6;
  // Rows of each depth; a deeper one is known whole.
  static constexpr int WHOLE = 5;
  static constexpr Vertex MINIMA = PickDepth::FEWEST_MINIMA, MOST_MINIMA = PickDepth::MOST_MINIMA;
  static constexpr PickDepth DEPTHS[WHOLE] = {
      {MINIMA, 15, 48}, {MINIMA, 25, 128}, {MINIMA, 31, 512}, {MOST_MINIMA, 200, 1024}, {MOST_MINIMA, 250, 2048}};

  // The place of the entries of a row, the room for them, and the bound on all other entries.
  struct About {
    Count begin, end, room;
    Dual bound;
    int depth, times;
    bool overflows;
  };

  // The tools of a thread, and what it has counted.
  struct alignas(64) Picker {
    PicksOf<Rows, Dual> picks;
    Count scans = 0, times_learned = 0;
    Poll poll;

    explicit Picker(const Rows& rows) : picks(rows) {}
  };

  void price_share(Picker& picker, Vertex begin, Vertex end) {
    const bool priced = std::any_of(v_.begin(), v_.end(), [](Dual v) { return v != 0; });
    Vertex tied = 0, done = 0;
    for (Vertex row = begin; row < end && !gives_up(); ++row) {
      about_[row] = About{};
      if (priced) pick<true>(picker, row, v_.data());
      else pick<false>(picker, row, v_.data());
      tied += about_[row].overflows;
      ++done;
      if (done >= std::min(end - begin, SAMPLE) && tied > done / 2) give_up();
    }
  }

  void pick_deeper(Picker& picker, Vertex row, const Dual* v) {
    about_[row].times = 0;
    ++about_[row].depth;
    pick<true>(picker, row, v);
  }
  template <bool PRICED>
  void pick(Picker& picker, Vertex row, const Dual* v, bool may_grow = true) {
    picker.poll.spend(num_columns);
    About& about = about_[row];
    const bool again = PRICED && about.times + about.depth > 0;
    const bool is_whole = about.depth >= WHOLE;
    PickDepth depth = DEPTHS[is_whole ? 0 : about.depth];
    depth.room = is_whole ? num_columns : std::min(may_grow ? depth.room : static_cast<Vertex>(about.room), num_columns);
    const PickDepth* const down_to = is_whole ? nullptr : &depth;
    const auto found = again ? picker.picks.pick_again(row, v, down_to) : picker.picks.template pick<PRICED>(row, v, down_to);
    picker.scans += found.is_read;
    if (!make_room(about, found.size, depth.room)) return;
    about.bound = found.bound;
    about.overflows = found.overflows;
    about.end = about.begin + found.size;
    for (Vertex i = 0; i < found.size; ++i) {
      columns_[about.begin + i] = picker.picks.columns()[i];
      costs_[about.begin + i] = picker.picks.cost(row, i);
    }
  }

  // Makes room for the entries of a row, or gives up. The first time a row gets no more room than it needs.
  bool make_room(About& about, Vertex size, Vertex room) {
    if (size <= about.room) return true;
    const Vertex wanted = about.room == 0 ? size : room;
    const Count begin = known_.fetch_add(wanted, std::memory_order_relaxed);
    if (begin + wanted > room_) {
      give_up();
      return false;
    }
    about.room = wanted;
    about.begin = begin;
    return true;
  }

  void give_up() { gives_up_.store(true, std::memory_order_relaxed); }

  const CoreLimitsOfRows limits_;
  const Count room_;  // for entries: the limit, a deep pick of a row for each thread, and one whole row
  ShortestPathCounters& counters_;
  CoreTrace& trace_;
  std::vector<Dual> v_;       // [num_columns]
  std::vector<About> about_;  // [num_rows]
  // [room_] The entries. A row has taken a range of places. Memory that no row has taken is not touched.
  std::unique_ptr<Vertex[]> columns_;
  std::unique_ptr<Dual[]> costs_;
  std::atomic<Count> known_{0};
  std::vector<Picker> pickers_;  // one for each thread
  Count times_learned_ = 0, price_ns_ = 0;
  std::atomic<bool> gives_up_{false};
};

struct CoreCounters {
  ShortestPathCounters dense;         // passes over rows of the matrix; if the core gave up, all further work
  SparseShortestPathCounters sparse;  // along the core
  Count times_learned;                // rows that were priced again
  Count price_ns;                     // of pricing all rows
  CoreTrace trace;                    // "learn" stands for all rows that are priced again one after the other
};

// Matches all rows at the least cost, by the core. Returns how many rows are matched, which is all if there is an assignment;
// NONE if the core gave up. v are then good duals to start from, if any pair was made. The threads share the pass over
// the matrix and the auction. One thread searches.
template <class Stored>
Vertex solve_by_core(const DenseCosts<Stored>& costs, bool has_duals, int threads,
                     const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result, CoreCounters& counters) {
  using Cost = typename DenseCosts<Stored>::Cost;
  using Dual = typename DenseCosts<Stored>::Dual;
  const auto solve = [&](auto rows) {
    const bool is_square = costs.num_rows == costs.num_columns;
    if (is_square && !has_duals) {
      counters.trace.add(CoreStep::sample);
      const Count most_known = CoreLimitsOfRows::entries_of_matrix(costs.num_rows, costs.num_columns);
      CoreSample<decltype(rows)> sample(rows, most_known, counters.dense);
      if (!sample.speaks_for_core(threads)) return NONE;
    }
    using Costs = PricedRows<decltype(rows), Dual>;
    Costs core(rows, threads, counters.dense, counters.trace);
    SparseShortestPathSolver<Costs> solver(core, counters.sparse);
    const Vertex size = solver.solve(has_duals, result.row_match, result.col_match, result.u, result.v);
    counters.times_learned = core.times_learned();
    counters.price_ns = core.price_ns();
    return core.gives_up() ? NONE : size;
  };
  if constexpr (IS_NARROW<Stored>) {
    return solve(CopiedRows<std::conditional_t<std::is_same_v<Cost, int>, int, Dual>>(costs));
  } else {
    if (costs.column_stride != 1 || costs.limit < costs.infinite()) return solve(CopiedRows<Dual>(costs));
    if (costs.maximize) return solve(StoredRows<Cost, Dual, true>{costs});
    return solve(StoredRows<Cost, Dual, false>{costs});
  }
}
