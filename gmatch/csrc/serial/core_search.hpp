// core_search.hpp: dense assignment by pricing, on one core of the host: the shortest paths of the sparse method,
// along few entries of each row, found in a pass over the matrix.
//
//   price    one pass over the matrix picks a sparse core, the least of every row, and a bound on all others
//   search   the sparse method solves the core (serial/sparse_shortest_path.hpp)
//   learn    if a search comes as far as the bound of a row, the row is priced again, deeper, by the current v
//
// The invariant: v only falls, so that no entry outside the core ever has less cost - v than the bound of its row. The
// search asks for more before it passes a bound. So it needs no pass over the matrix in the end: what it finds is optimal
// for the whole matrix, and proven, and if it finds no assignment there is none.
//
// Volgenant, "Linear and semi-assignment problems: a core oriented approach", Computers & Operations Research 23 (1996).
#pragma once
#include "core/trace.cuh"
#include "serial/core_sample.hpp"
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
        threads_(std::min<Vertex>(threads, num_rows)),
        counters_(counters),
        trace_(trace),
        v_(num_columns),
        about_(num_rows),
        pile_(rows) {
    pile_.columns.reserve(static_cast<std::size_t>(num_rows) * 2 * MINIMA);
    pile_.costs.reserve(pile_.columns.capacity());
  }

  // Prices all rows by the v that are set; the threads share them out. Gives up if most rows have more ties than there is room
  // for: all searches are then short in the matrix, and a part of the ties makes them longer.
  void price() {
    trace_.add(CoreStep::price);
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    pile_.columns.clear();
    pile_.costs.clear();
    if (threads_ > 1) price_by_threads();
    else price_share(pile_, 0, num_rows);
    gives_up_ |= pile_.gives_up;
    count_scans(pile_);
    price_ns_ += lap(clock, now);
  }

  // Prices a row again, by the current v; deeper, if that was done before or does not raise its bound.
  void learn(Vertex row) {
    if (!trace_.ends_with(CoreStep::learn)) trace_.add(CoreStep::learn);
    ++times_learned_;
    About& about = about_[row];
    const Dual before = about.bound;
    if (++about.times < TIMES) pick<true>(pile_, row);
    if (about.bound <= before) {
      about.times = 0;
      ++about.depth;
      pick<true>(pile_, row);
      gives_up_ |= known() > limits_.entries;
    }
    count_scans(pile_);
  }

  // Whether a row must be computed before it is priced again. `expect` names rows that will be priced again soon.
  bool must_be_computed(Vertex row) { return pile_.picks.must_be_computed(row); }
  void expect(const Vertex* rows, Vertex number) { pile_.picks.expect(rows, number); }

  void note_start(Count start_size) {
    gives_up_ |= start_size < limits_.fewest_matched;
    if (!gives_up_) trace_.add(CoreStep::search);
  }

  void note_auction() { trace_.add(CoreStep::auction); }

  bool gives_up() const { return gives_up_; }
  Count times_learned() const { return times_learned_; }
  Count price_ns() const { return price_ns_; }
  Count known() const { return static_cast<Count>(pile_.columns.size()); }
  void set_v(Vertex column, Dual v) { v_[column] = v; }

  // As SparseCosts.
  static Dual infinite() { return beyond_all(Dual{}); }
  Count begin(Vertex row) const { return about_[row].begin; }
  Count end(Vertex row) const { return about_[row].end; }
  Vertex column(Count edge) const { return pile_.columns[edge]; }
  Dual at(Count edge) const { return pile_.costs[edge]; }
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

  // The entries that a thread has picked, and its tools.
  struct Pile {
    PicksOf<Rows, Dual> picks;
    std::vector<Vertex> columns;  // [limits_.entries at most, and one row more] the entries
    std::vector<Dual> costs;      // of these entries
    Count scans = 0;
    Poll poll;
    bool gives_up = false;

    explicit Pile(const Rows& rows) : picks(rows) {}
  };

  void price_share(Pile& pile, Vertex begin, Vertex end) {
    const bool priced = std::any_of(v_.begin(), v_.end(), [](Dual v) { return v != 0; });
    Vertex tied = 0, done = 0;
    for (Vertex row = begin; row < end && !pile.gives_up; ++row) {
      about_[row] = About{};
      if (priced) pick<true>(pile, row);
      else pick<false>(pile, row);
      tied += about_[row].overflows;
      ++done;
      pile.gives_up = done >= std::min(end - begin, SAMPLE) && tied > done / 2;
    }
  }

  // Each thread has a pile of its own, with room for all entries that it may pick. The piles are then joined in the order of
  // rows.
  void price_by_threads() {
    const auto first_row = [&](int share) { return static_cast<Vertex>(Count{num_rows} * share / threads_); };
    std::vector<Pile> piles(threads_, Pile(pile_.picks.rows()));
    for (int share = 0; share < threads_; ++share) {
      piles[share].columns.reserve(static_cast<std::size_t>(first_row(share + 1) - first_row(share)) * DEPTHS[0].room);
      piles[share].costs.reserve(piles[share].columns.capacity());
    }
    run_on_host(threads_, [&](HostTeam& team) {
      const int share = team.rank();
      price_share(piles[share], first_row(share), first_row(share + 1));
    });
    for (int share = 0; share < threads_; ++share) {
      const Count offset = known();
      for (Vertex row = first_row(share); row < first_row(share + 1); ++row) {
        about_[row].begin += offset;
        about_[row].end += offset;
      }
      pile_.columns.insert(pile_.columns.end(), piles[share].columns.begin(), piles[share].columns.end());
      pile_.costs.insert(pile_.costs.end(), piles[share].costs.begin(), piles[share].costs.end());
      pile_.scans += piles[share].scans;
      pile_.gives_up |= piles[share].gives_up;
    }
  }

  void count_scans(Pile& pile) {
    counters_.rows_scanned += pile.scans;
    counters_.entries_read += pile.scans * num_columns;
    pile.scans = 0;
  }

  template <bool PRICED>
  void pick(Pile& pile, Vertex row) {
    pile.poll.spend(num_columns);
    About& about = about_[row];
    const PickDepth* depth = about.depth < WHOLE ? &DEPTHS[about.depth] : nullptr;
    const bool again = PRICED && about.times + about.depth > 0;
    const auto found = again ? pile.picks.pick_again(row, v_.data(), depth)
                             : pile.picks.template pick<PRICED>(row, v_.data(), depth);
    pile.scans += found.is_read;
    about.bound = found.bound;
    about.overflows = found.overflows;
    store(pile, row, found.size, depth == nullptr ? num_columns : std::min(depth->room, num_columns));
  }

  // Stores the entries at the row's place, if there is room. The first time a row gets no more room than it needs.
  void store(Pile& pile, Vertex row, Vertex size, Vertex room) {
    About& about = about_[row];
    if (size > about.room) {
      about.room = about.room == 0 ? size : room;
      about.begin = static_cast<Count>(pile.columns.size());
      pile.columns.resize(pile.columns.size() + about.room);
      pile.costs.resize(pile.columns.size());
    }
    about.end = about.begin + size;
    for (Vertex i = 0; i < size; ++i) {
      pile.columns[about.begin + i] = pile.picks.columns()[i];
      pile.costs[about.begin + i] = pile.picks.cost(row, i);
    }
  }

  const CoreLimitsOfRows limits_;
  const int threads_;
  ShortestPathCounters& counters_;
  CoreTrace& trace_;
  std::vector<Dual> v_;       // [num_columns]
  std::vector<About> about_;  // [num_rows]
  Pile pile_;
  Count times_learned_ = 0, price_ns_ = 0;
  bool gives_up_ = false;
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
// the matrix; one searches.
template <class Stored>
Vertex solve_by_core(const DenseCosts<Stored>& costs, bool has_duals, int threads,
                     const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result, CoreCounters& counters) {
  using Cost = typename DenseCosts<Stored>::Cost;
  using Dual = typename DenseCosts<Stored>::Dual;
  const auto solve = [&](auto rows) {
    const bool is_square = costs.num_rows == costs.num_columns;
    if (is_square && !has_duals) {
      counters.trace.add(CoreStep::sample);
      if (!CoreSample<decltype(rows)>(rows, counters.dense).speaks_for_core()) return NONE;
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
