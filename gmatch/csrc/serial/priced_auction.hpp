// priced_auction.hpp: an auction of columns among rows of sparse costs, or among rows whose best entries are known, on threads of
// the host.
//
// All threads bid at the same time, each for its own rows, without barriers. A row reads v without a lock, and locks only the
// column that it bids for. If v of this column has fallen meanwhile and another column is better now, the row looks again. A
// displaced row goes to the thread that displaced it. A thread shares half of its rows if another thread has none.
//
// A row is priced again, by the current v, if its best entry is worse than the bound of the entries that it does not know. v only
// falls, so the new bound stays valid. So bids also take account of the entries outside the core.
//
// The first epsilon comes from losses. Each row in turn takes its best free column. Its loss is the cost of this column less the
// cost of its best column. The first epsilon is a part of the typical loss. If rows bid long for an epsilon, it grows: chains of
// bids then end sooner. The next epsilon is an eighth of it. 1 row in 10,000 may stay free at the end of each epsilon. The search
// finds columns for these rows.
//
// If all entries are known, v begins with the least cost of each column. The auction is not held if there are many ties: bids
// would be epsilon, and searches are short. If the auction does not come to an end, its duals are not used: perhaps not all rows
// can be matched.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <type_traits>
#include <vector>

#include "costs/dense.cuh"
#include "serial/auction.hpp"
#include "serial/rows/line_vector.hpp"
#include "team/host_threads.hpp"
#include "team/interrupt.hpp"
#include "team/team.cuh"

// The number of threads that bid, at most `threads`. 16 threads for 1,500 rows are no faster than 4, and often wait for a thread
// that does not run.
inline int num_bidders(Vertex rows, int threads) {
  constexpr Vertex ROWS_PER_THREAD = 500;
  return std::clamp(rows / ROWS_PER_THREAD, 1, threads);
}

// Locks a column by its mate, and returns the mate. No other thread can lock the column until unlock_mate stores a mate.
inline Vertex lock_mate(const HostTeam& team, Vertex* mate) {
  constexpr Vertex LOCKED = NONE - 1;
  if (team.alone()) return *mate;
  while (true) {
    Vertex now = team.read(mate);
    if (now == LOCKED) continue;
    if (__atomic_compare_exchange_n(mate, &now, LOCKED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return now;
  }
}
inline void unlock_mate(const HostTeam& team, Vertex* mate, Vertex now) {
  if (team.alone()) *mate = now;
  else __atomic_store_n(mate, now, __ATOMIC_RELEASE);
}

// Whether all entries of a row are known from the start.
template <class Costs, class = void>
struct KnowsAll : std::true_type {};
template <class Costs>
struct KnowsAll<Costs, std::void_t<decltype(&Costs::learn)>> : std::false_type {};

// There are as many rows as columns. Costs are SparseCosts or PricedRows.
template <class Costs, class Counters>
class PricedAuction {
 public:
  using Dual = typename Costs::Dual;

  PricedAuction(Costs& costs, Counters& counters, int threads)
      : costs_(costs),
        counters_(counters),
        size_(costs.num_rows),
        v_(size_, KNOWS_ALL ? FAR : 0),
        owner_(size_, NONE),
        bidders_(num_bidders(size_, threads)) {}

  // Returns false, and sets no duals, if the auction is not worthwhile. The result is valid as long as no v rises above 0.
  bool hold() {
    run_on_host(static_cast<int>(bidders_.size()), [&](HostTeam& team) { hold(team); });
    for (const Bidder& bidder : bidders_) {
      counters_.rows_scanned += bidder.scans;
      counters_.entries_read += bidder.entries;
      counters_.dual_updates += bidder.bids;
    }
    if constexpr (KNOWS_ALL) {
      return is_worthwhile_ && !ends_.load(std::memory_order_relaxed);
    } else {
      const Count before = costs_.times_learned();
      costs_.count_scans();
      if (costs_.times_learned() > before) costs_.note_learning();
      return is_worthwhile_;
    }
  }

  // False if all entries are known, and there is a column that no row may have.
  bool can_match_all() const { return can_match_all_; }

  std::vector<Dual> duals() const {
    std::vector<Dual> v(v_.size());
    std::transform(v_.begin(), v_.end(), v.begin(), [this](double v) {
      return static_cast<Dual>(rounded_down(v, places_));
    });
    return v;
  }

 private:
  static constexpr bool KNOWS_ALL = KnowsAll<Costs>::value;
  static constexpr double FAR = std::numeric_limits<double>::infinity();
  // The share of rows that must have no tie for their best column. Three quarters of the rows of continuous costs have none after
  // columns are reduced: each column then has an entry without slack.
  static constexpr double SPREAD = 0.4;
  // The bits by which costs may exceed epsilon: bids need a few of the 52 bits of a double. The last epsilon, in spreads of
  // a row, as a power of two.
  static constexpr int PRECISION = 44, LAST = -14;
  // Whole duals gain nothing from a smaller one.
  static double least_epsilon() { return std::numeric_limits<Dual>::is_integer ? 0x1p-10 : 0; }
  // The first epsilon, as a part of the typical loss. 1/16 and 1/4 are as fast for cores: benchmarks/log/core_host.md, "The first
  // epsilon of the auction". For sparse costs of 2^20 rows 1/8 leaves rows far from free columns: what follows the auction
  // scans 2.4 times as many rows as with 1/2. See benchmarks/log/sparse.md, "Threads hold the auction of sparse costs".
  static constexpr double FIRST = KNOWS_ALL ? 0.5 : 0.125;
  // The mean loss leaves out the 1 row in LOSERS that loses most. With all losses, near ties take 20 to 30 times as long: see
  // there.
  static constexpr std::size_t LOSERS = 64;
  // 1 row in 10,000 may stay free at the end of an epsilon: benchmarks/log/sparse.md, "One row in 10,000 is left at each
  // epsilon".
  static constexpr Vertex LEFT = 10000;
  // Epsilon grows by RISE bits after PATIENCE bids for each row, on average. It falls by FALL bits when all rows have columns.
  // With 32 bids clusters and columns of different scales take a fifth longer, rings a tenth less.
  static constexpr Count PATIENCE = 16;
  static constexpr int RISE = 2, FALL = 3;
  // An epsilon below NEARLY_LAST times the last one is left out. It would add a bid or two for each row, and save no search. 3
  // and 8 are as fast: benchmarks/log/sparse.md, "Threads hold the auction of sparse costs".
  static constexpr double NEARLY_LAST = 4;
  // The auction ends after this number of bids for each row, on average. Points of clusters and rings need 170.
  static constexpr Count BIDS_PER_ROW = 400;
  // How often a row may be priced again, on average. On one thread points of clusters need 10 times for 1,500 rows, and up to 16
  // from 2,500 rows on. Numbers on a line need 100. The matrix solves them faster, in 30 passes for 1,500 rows and 130 for 4,000.
  // Four threads take half the time of one thread, so more threads may price rows more often. Columns of different scales need up
  // to 30 times.
  static Count reads_per_row(Count size, Count threads) {
    return std::min<Count>(std::min<Count>(5 + size / 200, 20) * std::max<Count>(threads / 2, 1), 32);
  }
  // A row is priced again if its best entry is worse than its bound by more than this many epsilons. 2 and 8 are as fast.
  static constexpr double SLACK = 4;
  // A thread reports its bids to the others after AT_ONCE bids. It gives rows to a thread without rows if it has SHARED_OUT or
  // more. A thread without rows waits for PAUSE loops between two looks. After LOOKS looks it lets other processes run. No other
  // values were measured.
  static constexpr Count AT_ONCE = 64;
  static constexpr std::size_t SHARED_OUT = 2;
  static constexpr int PAUSE = 500, LOOKS = 1000;

  struct Bid {
    double least = FAR, second = FAR;
    Count edge = -1;
  };

  // What a thread has, and what it counts.
  struct alignas(64) Bidder {
    std::vector<Vertex> rows;
    LineVector<Dual> v;  // a copy, from when the thread last priced a row
    Count scans = 0, entries = 0, bids = 0, reads = 0;
    Poll poll;
    double lowest = FAR, highest = -FAR;
    int places = 0;
    Vertex rows_with_spread = 0, rows_with_loss = 0;
    Count spreads = 0, magnitudes = 0, losses = 0;  // sums of exponents over these rows
  };

  void hold(const HostTeam& team) {
    Bidder& bidder = bidders_[team.rank()];
    const Vertex first = first_of(team.rank()), end = first_of(team.rank() + 1);
    if constexpr (KNOWS_ALL) {
      for (Vertex row = first; row < end; ++row) reduce_columns(team, bidder, row);
      team.sync();
    }
    for (Vertex row = first; row < end; ++row) measure(team, bidder, row);
    team.sync();
    if (team.rank() == 0) plan();
    team.sync();
    if (!is_worthwhile_) return;
    if constexpr (!KNOWS_ALL) bidder.v.resize(size_);
    for (double epsilon = first_epsilon_; hold_phase(team, bidder, epsilon);) {
      epsilon = epsilon_.load(std::memory_order_relaxed);
      team.sync();
      if (epsilon <= last_epsilon_) return;
      epsilon = std::ldexp(epsilon, -FALL);
      if (epsilon < last_epsilon_ * NEARLY_LAST) epsilon = last_epsilon_;
    }
  }

  Vertex first_of(int rank) const { return static_cast<Vertex>(Count{size_} * rank / static_cast<Count>(bidders_.size())); }
  double cost(Count edge) const { return static_cast<double>(costs_.at(edge)); }
  // A lower bound of cost - v for all entries of the row that are not known.
  double bound(Vertex row) const {
    if constexpr (KNOWS_ALL) return FAR;
    else return static_cast<double>(costs_.bound(row));
  }

  void reduce_columns(const HostTeam& team, Bidder& bidder, Vertex row) {
    bidder.poll.spend(costs_.end(row) - costs_.begin(row));
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) team.lower(&v_[costs_.column(edge)], cost(edge));
  }

  void measure(const HostTeam& team, Bidder& bidder, Vertex row) {
    bidder.poll.spend(costs_.end(row) - costs_.begin(row));
    double least = FAR, second = bound(row), v_of_least = 0, most = -FAR, best_free = FAR;
    Vertex free_column = NONE;
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      if (!(cost(edge) < FAR)) continue;
      bidder.lowest = std::min(bidder.lowest, cost(edge));
      bidder.highest = std::max(bidder.highest, cost(edge));
      if (bidder.places <= MOST_PLACES) bidder.places = std::max(bidder.places, binary_places(costs_.at(edge)));
      const Vertex column = costs_.column(edge);
      const double v = v_[column], here = cost(edge) - v;
      second = std::min(second, std::max(least, here));
      if (here < least) v_of_least = v;
      least = std::min(least, here);
      if constexpr (KNOWS_ALL) {
        most = std::max(most, here);
        if (!(here < best_free) || team.read(&owner_[column]) != NONE) continue;
        best_free = here;
        free_column = column;
      }
    }
    if constexpr (KNOWS_ALL) {
      if (free_column != NONE) team.write(&owner_[free_column], row);
      add_loss(bidder, (free_column == NONE ? most : best_free) - least);
    }
    if (!(least < second && second < FAR)) return;
    ++bidder.rows_with_spread;
    bidder.spreads += std::ilogb(second - least);
    bidder.magnitudes += std::ilogb(std::abs(v_of_least) + std::max(std::abs(least), std::abs(second)));
  }
  // A row loses what its best free column costs more than its best column. A row without a free column loses what its worst
  // column costs more.
  static void add_loss(Bidder& bidder, double loss) {
    if (!(loss > 0)) return;
    ++bidder.rows_with_loss;
    bidder.losses += std::ilogb(loss);
  }

  void plan() {
    Bidder all;
    for (const Bidder& bidder : bidders_) {
      all.lowest = std::min(all.lowest, bidder.lowest);
      all.highest = std::max(all.highest, bidder.highest);
      all.places = std::max(all.places, bidder.places);
      all.rows_with_spread += bidder.rows_with_spread;
      all.spreads += bidder.spreads;
      all.magnitudes += bidder.magnitudes;
      all.rows_with_loss += bidder.rows_with_loss;
      all.losses += bidder.losses;
    }
    places_ = all.places;
    can_match_all_ = !KNOWS_ALL || std::find(v_.begin(), v_.end(), FAR) == v_.end();
    is_worthwhile_ = can_match_all_ && all.rows_with_spread > size_ * SPREAD;
    if (!is_worthwhile_) return;
    const auto typical = [&](Count exponents) { return std::ldexp(1.0, static_cast<int>(exponents / all.rows_with_spread)); };
    last_epsilon_ = std::max({std::ldexp(typical(all.spreads), LAST), std::ldexp(typical(all.magnitudes), -PRECISION),
                              least_epsilon()});
    lowest_ = all.lowest;
    highest_ = all.highest;
    reads_left_.store(reads_per_row(size_, static_cast<Count>(bidders_.size())) * size_, std::memory_order_relaxed);
    bids_left_.store(BIDS_PER_ROW * size_, std::memory_order_relaxed);
    double loss;
    if constexpr (KNOWS_ALL) {
      // A geometric mean: if a third of the entries cost 10^6, others at most 1, the auction by the mean takes 3 times as long.
      loss = all.rows_with_loss == 0 ? 0 : std::ldexp(1.0, static_cast<int>(all.losses / all.rows_with_loss));
    } else {
      loss = mean_loss();
    }
    first_epsilon_ = std::max(loss * FIRST, last_epsilon_);
    least_ = (KNOWS_ALL ? lowest_ : 0) - (highest_ - lowest_) * size_;
  }

  // The mean loss. Each row in turn takes its best free column, and loses what this costs more than its best column. The few rows
  // that lose most are left out: their losses do not tell how far the prices of all columns must differ.
  double mean_loss() {
    std::vector<double> losses;
    losses.reserve(size_);
    std::vector<Vertex> left;
    for (Vertex row = 0; row < size_; ++row) {
      double best = FAR, least = FAR;
      Vertex column = NONE;
      for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
        least = std::min(least, cost(edge));
        if (owner_[costs_.column(edge)] != NONE || !(cost(edge) < best)) continue;
        best = cost(edge);
        column = costs_.column(edge);
      }
      if (column == NONE) {
        if (least < FAR) left.push_back(row);
        continue;
      }
      owner_[column] = row;
      losses.push_back(best - least);
    }
    add_losses(left, losses);
    if (losses.empty()) return 0;
    const auto most = losses.end() - 1 - static_cast<std::ptrdiff_t>(losses.size() / LOSERS);
    std::nth_element(losses.begin(), most, losses.end());
    return std::accumulate(losses.begin(), most, 0.0) / static_cast<double>(losses.size());
  }
  // Adds the losses of rows that know no free column. Up to MOST of these rows, and equally many free columns, stand for all.
  void add_losses(const std::vector<Vertex>& left, std::vector<double>& losses) {
    std::vector<Vertex> free;
    for (Vertex j = 0; j < size_; ++j) {
      if (owner_[j] == NONE) free.push_back(j);
    }
    constexpr std::size_t MOST = 512;
    const std::size_t looked_at = std::min(left.size(), MOST);
    for (std::size_t k = 0; k < looked_at; ++k) free[k] = free[k * left.size() / looked_at];
    std::vector<double> seen(looked_at, 0);
    for (std::size_t k = 0; k < looked_at; ++k) {
      const Vertex row = left[k * left.size() / looked_at];
      double best = FAR, least = FAR;
      for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) least = std::min(least, cost(edge));
      std::size_t at = k;
      for (std::size_t f = k; f < looked_at; ++f) {
        const double here = static_cast<double>(costs_.of_pair(row, free[f]));
        if (!(here < best)) continue;
        best = here;
        at = f;
      }
      std::swap(free[at], free[k]);
      if (!(best < FAR)) continue;
      seen[k] = best - least;
      highest_ = std::max(highest_, best);
    }
    for (std::size_t k = 0; k < left.size(); ++k) losses.push_back(seen[k * looked_at / left.size()]);
  }

  // All rows bid anew. Returns false if that takes too many bids or pricings, or if the core is given up.
  bool hold_phase(const HostTeam& team, Bidder& bidder, double epsilon) {
    const Vertex first = first_of(team.rank()), end = first_of(team.rank() + 1);
    std::fill(owner_.begin() + first, owner_.begin() + end, NONE);
    bidder.rows.resize(end - first);
    std::iota(bidder.rows.begin(), bidder.rows.end(), first);
    if (team.rank() == 0) {
      shared_.clear();
      num_shared_.store(0, std::memory_order_relaxed);
      num_free_.store(size_, std::memory_order_relaxed);
      epsilon_.store(epsilon, std::memory_order_relaxed);
      patience_.store(PATIENCE * size_, std::memory_order_relaxed);
      ends_.store(false, std::memory_order_relaxed);
    }
    team.sync();
    Count bids = 0, reads = 0;
    while (has_rows(team, bidder)) {
      if (!team.alone() && bidder.rows.size() >= SHARED_OUT && num_idle_.load(std::memory_order_relaxed) > 0) share_out(bidder);
      const auto before = bidder.rows.size();
      const double now = epsilon_.load(std::memory_order_relaxed);
      bid_once(bidder.rows, [&](Vertex row) { prefetch(row); }, [&](Vertex row) { return bid(team, bidder, row, now); });
      bids += static_cast<Count>(before);
      reads += std::exchange(bidder.reads, 0);
      const auto settled = static_cast<Vertex>(before - bidder.rows.size());
      if (settled > 0) num_free_.fetch_sub(settled, std::memory_order_relaxed);
      if (bids > AT_ONCE) {
        const Count patience = patience_.fetch_sub(bids, std::memory_order_relaxed);
        if (0 < patience && patience <= bids) raise_epsilon();
        const bool has_bids = bids_left_.fetch_sub(bids, std::memory_order_relaxed) >= bids;
        const bool has_reads = reads_left_.fetch_sub(reads, std::memory_order_relaxed) >= reads;
        if (!has_bids || !has_reads || gives_up()) ends_.store(true, std::memory_order_relaxed);
        bids = reads = 0;
      }
    }
    team.sync();
    return !ends_.load(std::memory_order_relaxed);
  }

  bool gives_up() const {
    if constexpr (KNOWS_ALL) return false;
    else return costs_.gives_up();
  }

  // Rows bid in no order of memory, and a bid would wait for its entries.
  void prefetch(Vertex row) const {
#if defined(__GNUC__)
    if constexpr (KNOWS_ALL) {
      __builtin_prefetch(costs_.columns + costs_.begin(row));
      __builtin_prefetch(costs_.entries + costs_.begin(row));
    }
#endif
    (void)row;
  }

  // For the rows that have no column yet. Pairs of other rows are tight within the new epsilon, too. If epsilon is as large as
  // the range of costs, the auction ends: some rows cannot be matched, or only by long chains.
  void raise_epsilon() {
    const double epsilon = epsilon_.load(std::memory_order_relaxed), range = highest_ - lowest_;
    if (epsilon >= range) ends_.store(true, std::memory_order_relaxed);
    epsilon_.store(std::max(epsilon, std::min(std::ldexp(epsilon, RISE), range)), std::memory_order_relaxed);
    patience_.fetch_add(PATIENCE * size_, std::memory_order_relaxed);
  }

  // Waits for rows, if the thread has none. Returns false if the phase ends.
  bool has_rows(const HostTeam& team, Bidder& bidder) {
    const auto goes_on = [&] {
      return !ends_.load(std::memory_order_relaxed) && num_free_.load(std::memory_order_relaxed) > size_ / LEFT;
    };
    if (!bidder.rows.empty()) return goes_on();
    if (team.alone()) return false;
    num_idle_.fetch_add(1, std::memory_order_relaxed);
    bool found = false;
    for (int looks = 0; !found && goes_on(); ++looks) {
      if (num_shared_.load(std::memory_order_relaxed) > 0) found = take_shared(bidder);
      for (int k = 0; k < PAUSE && !found; ++k) asm volatile("");  // looks seldom, since other threads write these cells
      if (looks <= LOOKS) continue;
      std::this_thread::yield();
      look_around();
    }
    num_idle_.fetch_sub(1, std::memory_order_relaxed);
    return found;
  }
  void share_out(Bidder& bidder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t kept = (bidder.rows.size() + 1) / 2;
    shared_.insert(shared_.end(), bidder.rows.begin() + kept, bidder.rows.end());
    bidder.rows.resize(kept);
    num_shared_.store(shared_.size(), std::memory_order_relaxed);
  }
  bool take_shared(Bidder& bidder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t taken = (shared_.size() + 1) / 2;
    bidder.rows.assign(shared_.end() - taken, shared_.end());
    shared_.resize(shared_.size() - taken);
    num_shared_.store(shared_.size(), std::memory_order_relaxed);
    return taken > 0;
  }

  // Returns the row that is displaced, or NONE.
  Vertex bid(const HostTeam& team, Bidder& bidder, Vertex row, double epsilon) {
    while (true) {
      const Bid bid = find_bid(team, bidder, row, epsilon);
      if (bid.edge < 0) return NONE;
      const Vertex column = costs_.column(bid.edge);
      double* const v = &v_[column];
      const Vertex owner = lock_mate(team, &owner_[column]);
      const double now = team.read(v), least = cost(bid.edge) - now;
      const double then = now - epsilon - (bid.second < FAR ? bid.second - least : 0);
      const bool is_high = least <= bid.second, stands = is_high && then >= least_;
      if (stands) {
        team.write(v, then);
        ++bidder.bids;
      }
      unlock_mate(team, &owner_[column], stands ? row : owner);
      if (stands) return owner;
      if (!is_high) continue;
      ends_.store(true, std::memory_order_relaxed);  // v would be farther from 0 than in any optimum
      return row;
    }
  }
  Bid find_bid(const HostTeam& team, Bidder& bidder, Vertex row, double epsilon) {
    Bid bid = look(team, bidder, row);
    if constexpr (!KNOWS_ALL) {
      if (bid.least > bound(row) + SLACK * epsilon) {
        ++bidder.reads;
        costs_.learn_by(team.rank(), row, all_v(team, bidder));
        bid = look(team, bidder, row);
      }
      bid.second = std::max(bid.least, std::min(bid.second, bound(row)));
    }
    return bid;
  }
  Bid look(const HostTeam& team, Bidder& bidder, Vertex row) {
    const Count begin = costs_.begin(row), end = costs_.end(row);
    ++bidder.scans;
    bidder.entries += end - begin;
    bidder.poll.spend(end - begin);
    Bid bid;
    for (Count edge = begin; edge < end; ++edge) {
      const double here = cost(edge) - team.read(&v_[costs_.column(edge)]);
      if (here < bid.least) {
        bid = {here, bid.least, edge};
      } else {
        bid.second = std::min(bid.second, here);
      }
    }
    return bid;
  }
  // All v. Each is as it is now, or a little more: other threads lower v meanwhile, and a cast rounds it towards 0.
  const Dual* all_v(const HostTeam& team, Bidder& bidder) const {
    if constexpr (std::is_same_v<Dual, double>) {
      if (team.alone()) return v_.data();
    }
    for (Vertex j = 0; j < size_; ++j) bidder.v[j] = static_cast<Dual>(team.read(&v_[j]));  // towards 0: no v is above 0
    return bidder.v.data();
  }

  Costs& costs_;
  Counters& counters_;
  const Vertex size_;
  LineVector<double> v_;        // [size] of the columns
  std::vector<Vertex> owner_;   // [size] of a column: a row, NONE, or LOCKED
  std::vector<Bidder> bidders_;
  double first_epsilon_ = 0, last_epsilon_ = 0, lowest_ = 0, highest_ = 0, least_ = 0;
  int places_ = 0;  // see rounded_down
  bool is_worthwhile_ = false, can_match_all_ = true;
  std::mutex mutex_;
  std::vector<Vertex> shared_;  // rows that wait for a thread without rows
  alignas(64) std::atomic<std::size_t> num_shared_{0};
  std::atomic<int> num_idle_{0};
  alignas(64) std::atomic<Vertex> num_free_{0};
  std::atomic<Count> bids_left_{0}, reads_left_{0}, patience_{0};
  std::atomic<double> epsilon_{0};
  std::atomic<bool> ends_{false};
};
