// sparse_shortest_path.hpp: the Jonker-Volgenant method for sparse assignment, on the host. Threads share the auction
// and the augmenting row reduction.
//
//   auction                   duals that are nearly best, where all columns are matched in the end and costs have few ties
//   column reduction          else v is the minimum of each column, and the row it is in takes the column if it has none
//   reduction transfer        a row lowers v of its column, as far as its second best column allows
//   augmenting row reduction  free rows bid for their best column, and take it from the row that has it
//   tight paths               augmenting paths of pairs without slack, depth first, a whole phase at a time
//   augmentation              shortest augmenting paths (Dijkstra), from all free rows at once while there are many
//
// The invariant, with u[i] = the least cost - v of row i: no pair costs less than u + v, and matched pairs cost u + v. So
// u is read off the matched pairs. A matched column never becomes free again, and v of a free column stands still after
// the column reduction: where columns may stay free, all start at v = 0, and free ones keep it.
//
// A search costs what it touches, whatever the size of the problem: distances are undone column by column. Columns at the
// distance of the search wait in a queue, farther ones in a heap, and those beyond the free columns already known nowhere.
//
// The costs may know only some entries of a row (serial/core_search.hpp), and a lower bound of cost - v for all others, which
// holds as long as no v rises. A search that comes as far as the bound reads more of the row. So it finds what it would find
// if it knew all entries.
//
// Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing
// 38 (1987). Tight paths: Pothen, Fan, "Computing the block triangular form of a sparse matrix", ACM Transactions on
// Mathematical Software 16 (1990), with lookahead; they spare costs with many ties a Dijkstra search for each row.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "costs/sparse.cuh"
#include "serial/priced_auction.hpp"
#include "serial/rows/rows.hpp"
#include "serial/sparse_auction.hpp"
#include "team/interrupt.hpp"

struct SparseShortestPathCounters {
  Count start_size;     // pairs before the first Dijkstra search
  Count rows_scanned;   // passes over the entries of a row
  Count entries_read;   // by these passes
  Count augmentations;  // shortest paths that were flipped
  Count dual_updates;   // times a v was lowered after the column reduction
};

// Whether costs compute rows when these are priced again, several at a time.
template <class Costs, class = void>
struct ComputesRows : std::false_type {};
template <class Costs>
struct ComputesRows<Costs, std::void_t<decltype(&Costs::must_be_computed)>> : std::true_type {};

template <class Costs>
class SparseShortestPathSolver {
 public:
  using Dual = typename Costs::Dual;

  // If all entries are known, `threads` share the auction, the matching of rows with their best columns, and the augmenting row
  // reduction.
  SparseShortestPathSolver(Costs& costs, SparseShortestPathCounters& counters, int threads = 1)
      : costs_(costs),
        counters_(counters),
        threads_(threads),
        columns_may_stay_free_(costs.num_rows < costs.num_columns),
        columns_(costs.num_columns, Column{0, FAR, 0, NONE, NONE}),
        pairs_(costs.num_rows, Pair{0, NONE}) {}

  // `v` holds duals to start from if has_duals says so, and row_match pairs, if has_pairs does. Rows keep pairs that are
  // their best up to rounding. Returns how many rows are matched: fewer than there are if that cannot be, and then the
  // matching need not be the largest, and u and v prove nothing.
  Vertex solve(bool has_duals, Vertex* row_match, Vertex* col_match, Dual* u, Dual* v, bool has_pairs = false) {
    if (has_duals) start_from(v, has_pairs ? row_match : nullptr);
    else start_from_nothing();
    if (gives_up()) return 0;
    if (!can_match_all_) {
      write(row_match, col_match, u, v);
      return 0;
    }
    list_free_rows();
    while (!free_rows_.empty() && reduce_augmenting_rows()) {
    }
    match_along_tight_paths();
    counters_.start_size = costs_.num_rows - static_cast<Vertex>(free_rows_.size());
    if constexpr (!KnowsAll<Costs>::value) costs_.note_start(counters_.start_size);
    const bool all = match_many_at_once() && match_along_shortest_paths();
    write(row_match, col_match, u, v);
    return all ? costs_.num_rows : costs_.num_rows - static_cast<Vertex>(free_rows_.size());
  }

  // From pairs that are stored, and v that prove them: matches these rows, the only free ones, if that can be. `at_once`
  // searches from all of them together, for rows that are far from free columns: a path from each would go through most rows.
  Vertex go_on(const Vertex* rows, Vertex number, Vertex* row_match, Vertex* col_match, Dual* u, Dual* v, bool at_once = false) {
    static_assert(KnowsAll<Costs>::value);
    for (Vertex j = 0; j < costs_.num_columns; ++j) columns_[j].v = v[j];
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
        if (costs_.column(edge) == row_match[row]) match(row, edge);
      }
    }
    free_rows_.assign(rows, rows + number);
    counters_.start_size = costs_.num_rows - number;
    if (!at_once || match_many_at_once()) match_along_shortest_paths();
    write(row_match, col_match, u, v);
    return costs_.num_rows - static_cast<Vertex>(free_rows_.size());
  }

 private:
  static constexpr Count NO_EDGE = -1;
  // Another sweep of the augmenting row reduction follows as long as a sweep matches more than 1 free row in FEW. For phases of
  // searches along tight paths this holds, too. One thread searches: a sweep of k threads need match only more than 1 in k * FEW.
  // With FEW = 6 or 16 near points take longer on 1 to 4 threads: benchmarks/log/sparse.md, "Threads share sweeps".
  static constexpr std::size_t FEW = 3;
  // Bids of a sweep for each row: floats can bid for ever, by less and less. 1 to 16 are as fast: "Thresholds measured again".
  static constexpr Count BIDS_PER_ROW = 4;
  // A chain may take at most 1 / CHAINS of the bids of a sweep. Rows that displace each other by little would take all bids.
  static constexpr Count CHAINS = 64;

  // How many places of the heap are looked at for rows to compute together with one. The first places hold the nearest rows:
  // benchmarks/log/points.md, "Rows of many coordinates, several at a time".
  static constexpr std::size_t AHEAD = 128;

  // All that a scan reads of a column lies together.
  struct Column {
    Dual v;
    Dual distance;       // in a search: from its root; else FAR
    Dual cost;           // in a search: of the pair with its predecessor
    Vertex mate;
    Vertex predecessor;  // in a search: the row it is reached from
  };
  // The mate of a row, or NONE, and the cost of the pair.
  struct Pair {
    Dual cost;
    Vertex column;
  };
  // A column that may be the next nearest; or a row of which more must be known from that distance on: learner(row).
  struct Candidate {
    Dual distance;
    Vertex column;
    bool operator<(const Candidate& other) const { return distance > other.distance; }  // the heap's top is nearest
  };

  // Costs that know a part may ask to stop; then the answer is none.
  bool gives_up() const {
    if constexpr (KnowsAll<Costs>::value) return false;
    else return costs_.gives_up();
  }

  // Below every column. Its own inverse.
  static Vertex learner(Vertex row) { return -1 - row; }

  void match(Vertex row, Vertex column, Dual cost) {
    pairs_[row] = {cost, column};
    columns_[column].mate = row;
  }
  void match(Vertex row, Count edge) { match(row, costs_.column(edge), costs_.at(edge)); }
  void count_scan(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += costs_.end(row) - costs_.begin(row);
    poll_.spend(costs_.end(row) - costs_.begin(row));
  }
  Dual dual_of_matched(Vertex row) const {
    return pairs_[row].cost - columns_[pairs_[row].column].v;
  }
  void lower(Vertex j, Dual amount) {
    set_v(j, columns_[j].v - amount);
    ++counters_.dual_updates;
  }
  void set_v(Vertex j, Dual v) {
    __atomic_store(&columns_[j].v, &v, __ATOMIC_RELAXED);  // other threads may read it
    if constexpr (!KnowsAll<Costs>::value) costs_.set_v(j, v);
  }

  // Costs that know a part start at v = 0: their bounds hold for as long as no v rises.
  void start_from_nothing() {
    if constexpr (!KnowsAll<Costs>::value) costs_.price();
    if (gives_up() || columns_may_stay_free_) return;
    if (start_from_auction() || !can_match_all_) return;
    if constexpr (KnowsAll<Costs>::value) reduce_columns();
  }

  void start_from(const Dual* v, const Vertex* kept) {
    for (Vertex j = 0; j < costs_.num_columns; ++j) set_v(j, v[j]);
    if constexpr (!KnowsAll<Costs>::value) costs_.price();
    if (gives_up()) return;
    for (Vertex row = 0; kept != nullptr && row < costs_.num_rows; ++row) keep(row, kept[row]);
    match_best_columns();
  }

  void keep(Vertex row, Vertex kept) {
    constexpr Dual ROUNDING = std::numeric_limits<Dual>::is_integer ? 0 : Dual(0x1p-50);
    const Dual least = find_least_two(row).least;
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      if (costs_.column(edge) != kept) continue;
      const Dual v = columns_[kept].v, over = costs_.at(edge) - v - least;
      if (over <= ROUNDING * ((least < 0 ? -least : least) + (v < 0 ? -v : v))) match(row, edge);
      return;
    }
  }

  // Every row takes its best column, if that is free.
  void match_best_columns() {
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      if (pairs_[row].column != NONE) continue;
      const LeastTwo found = find_least_two(row);
      if (found.least < FAR && columns_[costs_.column(found.edge)].mate == NONE) match(row, found.edge);
    }
  }

  // As match_best_columns, by all threads, if no row has a pair.
  void match_best_columns_at_once() {
    run_on_host(num_bidders(costs_.num_rows, threads_), [this](const HostTeam& team) {
      const auto first_of = [&](int rank) { return static_cast<Vertex>(Count{costs_.num_rows} * rank / team.size()); };
      Poll poll;
      for (Vertex row = first_of(team.rank()); row < first_of(team.rank() + 1); ++row) {
        poll.spend(costs_.end(row) - costs_.begin(row));
        const LeastTwo found = least_two_of(row);
        if (!(found.least < FAR)) continue;
        const Vertex column = costs_.column(found.edge);
        if (team.claim(&columns_[column].mate, NONE, row)) pairs_[row] = {costs_.at(found.edge), column};
      }
    });
    counters_.rows_scanned += costs_.num_rows;
    counters_.entries_read += costs_.end(costs_.num_rows - 1) - costs_.begin(0);
  }

  // One thread holds SparseAuction. There PricedAuction takes longer for fewer than 1,000 rows, for 2^20 rows, and for costs
  // without a full matching: benchmarks/log/sparse.md, "Threads hold the auction of sparse costs".
  template <class Auction>
  bool hold_auction(Auction&& auction, std::vector<Dual>& v) {
    const bool is_held = auction.hold();
    can_match_all_ = auction.can_match_all();
    if (!is_held) return false;
    v = auction.duals();
    return true;
  }
  bool start_from_auction() {
    std::vector<Dual> v;
    if constexpr (KnowsAll<Costs>::value) {
      const bool found = num_bidders(costs_.num_rows, threads_) > 1
                             ? hold_auction(PricedAuction<Costs, SparseShortestPathCounters>(costs_, counters_, threads_), v)
                             : hold_auction(SparseAuction<Costs, SparseShortestPathCounters>(costs_, counters_), v);
      if (!found) return false;
    } else if (!costs_.hold_auction(counters_, v)) {
      return false;
    }
    for (Vertex j = 0; j < costs_.num_columns; ++j) set_v(j, v[j]);
    if (KnowsAll<Costs>::value && threads_ > 1) match_best_columns_at_once();
    else match_best_columns();
    return true;
  }

  // A column reduction, and the transfer for rows with the minimum of one column.
  void reduce_columns() {
    for (Column& column : columns_) column.v = FAR;
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      count_scan(row);
      for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
        Column& column = columns_[costs_.column(edge)];
        if (!(costs_.at(edge) < column.v)) continue;
        column.v = costs_.at(edge);
        column.predecessor = row;
        column.cost = costs_.at(edge);
      }
    }
    std::vector<Vertex> shares(costs_.num_rows, 0);
    for (Vertex j = costs_.num_columns - 1; j >= 0; --j) {
      Column& column = columns_[j];
      if (++shares[column.predecessor] == 1) match(column.predecessor, j, column.cost);
    }
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      if (shares[row] != 1) continue;
      const LeastTwo found = find_least_two(row);
      // Its own column has no slack, so the second best is the best of the others.
      if (found.second < FAR) lower(pairs_[row].column, found.second - found.least);
    }
  }

  void list_free_rows() {
    for (Vertex row = costs_.num_rows - 1; row >= 0; --row) {
      if (pairs_[row].column == NONE) free_rows_.push_back(row);
    }
  }

  // The two least of cost - v in a row, and the entry of the least; a free column rather than one that is taken. What is
  // not known may be as little as its bound.
  struct LeastTwo {
    Dual least, second;
    Count edge;
  };
  LeastTwo find_least_two(Vertex row) {
    LeastTwo found = least_two_known(row);
    if constexpr (!KnowsAll<Costs>::value) {
      while (found.least > costs_.bound(row) && !gives_up()) {
        costs_.learn(row);
        found = least_two_known(row);
      }
      found.second = std::min(found.second, costs_.bound(row));
    }
    return found;
  }
  LeastTwo least_two_known(Vertex row) {
    count_scan(row);
    return least_two_of(row);
  }
  // Meanwhile other threads may match columns, and lower v.
  LeastTwo least_two_of(Vertex row) const {
    const auto is_free_now = [](const Column& column) { return __atomic_load_n(&column.mate, __ATOMIC_RELAXED) == NONE; };
    Dual v;
    LeastTwo found{FAR, FAR, NO_EDGE};
    bool is_free = false;
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      const Column& column = columns_[costs_.column(edge)];
      __atomic_load(&column.v, &v, __ATOMIC_RELAXED);
      const Dual here = costs_.at(edge) - v;
      if (here < found.least) {
        found = {here, found.least, edge};
        is_free = is_free_now(column);
      } else {
        if (here < found.second) found.second = here;
        if (here == found.least && !is_free && here < FAR && is_free_now(column)) {
          found.edge = edge;
          is_free = true;
        }
      }
    }
    return found;
  }

  // What a thread of a sweep counts, and its rows that wait for the next sweep.
  struct Sweep {
    std::vector<Vertex> waiting;
    Count scans = 0, entries = 0, bids = 0;
    Poll poll;
  };

  // One sweep. Threads share the free rows. They share them also if few of many rows are free, since chains are long then.
  // Returns whether the sweep matched many of the rows: see FEW.
  bool reduce_augmenting_rows() {
    const std::size_t before = free_rows_.size();
    std::vector<Sweep> sweeps(std::min<std::size_t>(num_bidders(costs_.num_rows, threads_), before));
    run_on_host(static_cast<int>(sweeps.size()), [&](const HostTeam& team) { sweep_share(team, sweeps[team.rank()]); });
    free_rows_.clear();
    for (const Sweep& sweep : sweeps) {
      free_rows_.insert(free_rows_.end(), sweep.waiting.begin(), sweep.waiting.end());
      counters_.rows_scanned += sweep.scans;
      counters_.entries_read += sweep.entries;
      counters_.dual_updates += sweep.bids;
    }
    return has_matched_many(before, sweeps.size());
  }
  bool has_matched_many(std::size_t before, std::size_t threads) const {
    return before - free_rows_.size() > before / (FEW * threads);
  }

  // One thread's share of a sweep. A row bids as much as its best column is better than its second best, and the row that loses
  // the column bids next. If the two columns are equally good, the row that loses its column waits for the next sweep: otherwise
  // two rows could bid for ever. The last row of a long chain waits, too.
  void sweep_share(const HostTeam& team, Sweep& sweep) {
    std::size_t next = free_rows_.size() * team.rank() / team.size();
    const std::size_t end = free_rows_.size() * (team.rank() + 1) / team.size();
    const Count all_bids = BIDS_PER_ROW * costs_.num_rows / team.size(), longest = std::max<Count>(all_bids / CHAINS, 1);
    Vertex row = NONE;
    Count chain = 0;
    for (Count bids = all_bids; bids > 0 && (row != NONE || next < end); --bids) {
      if (row == NONE) {
        row = free_rows_[next++];
        chain = 0;
      }
      bool lowered = false;
      const Vertex turned_out = bid(team, sweep, row, lowered);
      const bool goes_on = lowered && ++chain < longest;
      if (turned_out != NONE && !goes_on) sweep.waiting.push_back(turned_out);
      row = goes_on ? turned_out : NONE;
    }
    if (row != NONE) sweep.waiting.push_back(row);
    sweep.waiting.insert(sweep.waiting.end(), free_rows_.begin() + next, free_rows_.begin() + end);
  }

  // A row bids. Returns the row that loses the column; NONE if the column was free; the row itself if it may have no column. Sets
  // `lowered` if v fell. Other threads bid at the same time. A bid that was found before the column was locked counts if the
  // column is still the best: v only falls, so the second best gets no better.
  Vertex bid(const HostTeam& team, Sweep& sweep, Vertex row, bool& lowered) {
    while (true) {
      const LeastTwo found = find_offer(row, sweep);
      if (!(found.least < FAR)) return row;
      const Vertex column = costs_.column(found.edge);
      Vertex* const mate = &columns_[column].mate;
      const Vertex owner = lock_mate(team, mate);
      const Dual least = costs_.at(found.edge) - columns_[column].v;
      // A bid that no other thread has overtaken stands. Its second best may be less than its best: a bound of unknown entries.
      const bool stands = least <= std::max(found.least, found.second);
      if (stands) {
        pairs_[row] = {costs_.at(found.edge), column};
        if (owner != NONE) pairs_[owner].column = NONE;
        lowered = least < found.second && found.second < FAR;
        if (lowered) {
          set_v(column, columns_[column].v - (found.second - least));
          ++sweep.bids;
        }
      }
      unlock_mate(team, mate, stands ? row : owner);
      if (stands) return owner;
    }
  }
  LeastTwo find_offer(Vertex row, Sweep& sweep) {
    if constexpr (!KnowsAll<Costs>::value) {
      return find_least_two(row);
    } else {
      const Count size = costs_.end(row) - costs_.begin(row);
      ++sweep.scans;
      sweep.entries += size;
      sweep.poll.spend(size);
      return least_two_of(row);
    }
  }

  // Phases of depth-first searches along pairs without slack. A phase visits each column at most once.
  void match_along_tight_paths() {
    if (free_rows_.empty()) return;
    std::vector<Vertex> visited(costs_.num_columns, NONE);
    least_.resize(costs_.num_rows);
    scan_.resize(costs_.num_rows);
    for (Vertex phase = 0; !free_rows_.empty(); ++phase) {
      const std::size_t before = free_rows_.size();
      std::size_t kept = 0;
      for (std::size_t i = 0; i < before; ++i) {
        if (!follow_tight_path(free_rows_[i], visited, phase)) free_rows_[kept++] = free_rows_[i];
      }
      free_rows_.resize(kept);
      if (!has_matched_many(before, 1)) break;
    }
  }

  bool follow_tight_path(Vertex root, std::vector<Vertex>& visited, Vertex phase) {
    stack_.clear();
    least_[root] = find_least_two(root).least;
    if (!(least_[root] < FAR)) return false;
    enter(root);
    while (!stack_.empty()) {
      const Vertex row = stack_.back();
      const Count edge = next_tight_edge(row, visited, phase);
      if (edge == NO_EDGE) {
        stack_.pop_back();
        continue;
      }
      const Vertex column = costs_.column(edge);
      visited[column] = phase;
      const Vertex mate = columns_[column].mate;
      if (mate == NONE) {
        for (const Vertex on_path : stack_) match(on_path, scan_[on_path] - 1);
        return true;
      }
      least_[mate] = dual_of_matched(mate);
      enter(mate);
    }
    return false;
  }
  void enter(Vertex row) {
    count_scan(row);
    scan_[row] = costs_.begin(row);
    stack_.push_back(row);
  }
  Count next_tight_edge(Vertex row, const std::vector<Vertex>& visited, Vertex phase) {
    while (scan_[row] < costs_.end(row)) {
      const Count edge = scan_[row]++;
      const Vertex column = costs_.column(edge);
      if (visited[column] != phase && costs_.at(edge) - columns_[column].v <= least_[row]) return edge;
    }
    return NO_EDGE;
  }

  // Many paths a phase, each at its own distance. Not used if columns may stay free: v of free columns that the search passes by
  // would fall. False if not all rows can be matched.
  bool match_many_at_once() {
    if (columns_may_stay_free_) return true;
    root_.resize(costs_.num_columns);
    has_path_.assign(costs_.num_rows, false);
    while (!free_rows_.empty() && !gives_up()) {
      const bool found = grow_forest((free_rows_.size() + 1) / 2);
      for (const Vertex column : touched_) columns_[column].distance = FAR;
      if (!found) return false;
      for (const Vertex end : ends_) flip_path(end);
      counters_.augmentations += static_cast<Count>(ends_.size());
      std::size_t kept = 0;
      for (const Vertex row : free_rows_) {
        if (!has_path_[row]) free_rows_[kept++] = row;
        has_path_[row] = false;
      }
      free_rows_.resize(kept);
    }
    return true;
  }

  // Dijkstra's method from all free rows at once, until it has reached `wanted` free columns; lowers v in the trees. These
  // are disjoint, so that one path of each can be flipped. False if fewer free columns can be reached than there are free
  // rows: then no assignment matches all of them (Berge).
  bool grow_forest(std::size_t wanted) {
    begin_search();
    ends_.clear();
    nearest_free_.assign(wanted, FAR);
    Dual level = 0;
    for (const Vertex row : free_rows_) relax<true>(row, find_least_two(row).least, level, level);
    for (std::size_t free_columns = 0; free_columns < wanted;) {
      const Vertex column = next_nearest<true>();
      if (column == NONE) break;
      level = columns_[column].distance;
      settled_.push_back(column);
      const Vertex before = columns_[column].predecessor;
      const Vertex root = pairs_[before].column == NONE ? before : root_[pairs_[before].column];
      root_[column] = root;
      const Vertex row = columns_[column].mate;
      if (row != NONE) {
        relax<true>(row, dual_of_matched(row), level, level);
        continue;
      }
      ++free_columns;
      if (has_path_[root]) continue;
      has_path_[root] = true;
      ends_.push_back(column);
    }
    for (const Vertex column : settled_) {
      if (columns_[column].distance < level) lower(column, level - columns_[column].distance);
    }
    return bound_ < FAR;
  }

  void begin_search() {
    touched_.clear();
    settled_.clear();
    heap_.clear();
    at_level_.clear();
    next_at_level_ = 0;
    path_end_ = NONE;
    bound_ = FAR;
  }

  // False as soon as a row has no path: then it never will have one (Berge), and no assignment matches all rows.
  bool match_along_shortest_paths() {
    while (!free_rows_.empty() && !gives_up()) {
      const Vertex end = grow_tree(free_rows_.back());
      for (const Vertex column : touched_) columns_[column].distance = FAR;
      if (end == NONE) return false;
      flip_path(end);
      free_rows_.pop_back();
      ++counters_.augmentations;
    }
    return free_rows_.empty();
  }

  // Dijkstra's method. Returns the free column at the end of the shortest path, or NONE; lowers v in the tree.
  Vertex grow_tree(Vertex root) {
    begin_search();
    Dual level = 0;
    relax<false>(root, find_least_two(root).least, level, level);
    while (level < bound_) {
      const Vertex column = next_nearest<false>();
      if (column == NONE) break;
      level = columns_[column].distance;
      settled_.push_back(column);
      const Vertex row = columns_[column].mate;
      relax<false>(row, dual_of_matched(row), level, level);
    }
    if (path_end_ == NONE) return NONE;
    for (const Vertex column : settled_) {
      if (columns_[column].distance < bound_) lower(column, bound_ - columns_[column].distance);
    }
    return path_end_;
  }

  // From a row at a distance, when the search is at `level`. Rounding may leave the slack of a float below zero; it must
  // not turn Dijkstra back.
  template <bool MANY>
  void relax(Vertex row, Dual u, Dual row_distance, Dual level) {
    count_scan(row);
    const Count end = costs_.end(row);
    for (Count edge = costs_.begin(row); edge < end; ++edge) {
      const Vertex j = costs_.column(edge);
      Column& column = columns_[j];
      const Dual cost = costs_.at(edge);
      if (!(cost < FAR)) continue;
      const Dual slack = cost - column.v - u;
      const Dual reach = std::max(level, row_distance + slack);
      if (reach >= column.distance || reach >= bound_) continue;
      if (column.distance == FAR) touched_.push_back(j);
      column.distance = reach;
      column.predecessor = row;
      column.cost = cost;
      if (!MANY && column.mate == NONE) {
        bound_ = reach;
        path_end_ = j;
        if (reach <= level) return;
        continue;
      }
      if (MANY && column.mate == NONE) lower_bound(reach);
      if (reach <= level) {
        at_level_.push_back(j);
      } else {
        push({reach, j});
      }
    }
    if constexpr (!KnowsAll<Costs>::value) {
      if (!(costs_.bound(row) < FAR)) return;
      const Dual reach = std::max(level, row_distance + (costs_.bound(row) - u));
      if (reach < bound_) push({reach, learner(row)});
    }
  }
  void push(const Candidate& candidate) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end());
  }

  // The search has come as far as what is not known of a row.
  template <bool MANY>
  void learn(Vertex row, Dual level) {
    if constexpr (ComputesRows<Costs>::value) {
      if (costs_.must_be_computed(row)) expect_others(row);
    }
    costs_.learn(row);
    const Vertex mate = pairs_[row].column;
    if (mate == NONE) relax<MANY>(row, least_two_known(row).least, Dual{0}, level);
    else relax<MANY>(row, dual_of_matched(row), columns_[mate].distance, level);
  }

  // Rows that the search will come to soon are computed together with this one. No v changes before that.
  void expect_others(Vertex row) {
    Vertex rows[ROWS_TOGETHER] = {row}, number = 1;
    for (std::size_t i = 0; i < heap_.size() && i < AHEAD && number < ROWS_TOGETHER; ++i) {
      if (heap_[i].column >= 0 || !(heap_[i].distance < bound_)) continue;
      const Vertex other = learner(heap_[i].column);
      if (costs_.must_be_computed(other)) rows[number++] = other;
    }
    costs_.expect(rows, number);
  }

  // The search need not go farther than the nearest free columns that are wanted. One that is reached twice counts twice.
  // Then the search goes less far: not far enough for all of them, but always for the nearest.
  void lower_bound(Dual reach) {
    std::pop_heap(nearest_free_.begin(), nearest_free_.end());
    nearest_free_.back() = reach;
    std::push_heap(nearest_free_.begin(), nearest_free_.end());
    bound_ = nearest_free_.front();
  }

  // Takes the nearest column that the tree has not, NONE if none is nearer than the path end.
  template <bool MANY>
  Vertex next_nearest() {
    while (!gives_up()) {
      if (next_at_level_ < at_level_.size()) return at_level_[next_at_level_++];
      at_level_.clear();
      next_at_level_ = 0;
      if (heap_.empty()) return NONE;
      const Candidate nearest = heap_.front();
      if (nearest.distance > bound_) return NONE;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      poll_.spend(1);
      // Else the column was reached on a shorter way later.
      if (nearest.column < 0) {
        if constexpr (!KnowsAll<Costs>::value) {
          if (nearest.distance < bound_) learn<MANY>(learner(nearest.column), nearest.distance);
        }
        continue;
      }
      if (nearest.distance <= columns_[nearest.column].distance) return nearest.column;
    }
    return NONE;
  }

  void flip_path(Vertex column) {
    while (column != NONE) {
      const Vertex row = columns_[column].predecessor;
      const Vertex before = pairs_[row].column;
      match(row, column, columns_[column].cost);
      column = before;
    }
  }

  // If all vertices are matched, a constant may move from all v to all u. For integers it does, so that v are at most 0
  // and u where the costs are: then slacks of costs of any magnitude can be checked without overflow.
  void write(Vertex* row_match, Vertex* col_match, Dual* u, Dual* v) {
    Dual most = 0;
    if (std::numeric_limits<Dual>::is_integer && !columns_may_stay_free_ && !columns_.empty()) {
      most = columns_[0].v;
      for (const Column& column : columns_) most = std::max(most, column.v);
    }
    for (Vertex j = 0; j < costs_.num_columns; ++j) {
      columns_[j].v -= most;
      v[j] = columns_[j].v;
      col_match[j] = columns_[j].mate;
    }
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      row_match[row] = pairs_[row].column;
      u[row] = row_match[row] == NONE ? Dual{0} : dual_of_matched(row);
    }
  }

  const Dual FAR = Costs::infinite();
  Costs& costs_;
  SparseShortestPathCounters& counters_;
  const int threads_;
  Poll poll_;
  const bool columns_may_stay_free_;
  bool can_match_all_ = true;         // false if a square problem has a column that no row may have
  std::vector<Column> columns_;       // [num_columns]
  std::vector<Pair> pairs_;           // [num_rows]
  std::vector<Vertex> free_rows_;     // [num_rows at most] rows to match
  std::vector<Vertex> touched_;       // columns that the search has reached
  std::vector<Vertex> settled_;       // columns that the search has scanned the mates of
  std::vector<Vertex> at_level_;      // columns at the distance of the search
  std::size_t next_at_level_ = 0;     // the columns before it are done
  std::vector<Vertex> stack_;         // rows of a tight path
  std::vector<Candidate> heap_;       // columns farther away; some twice
  std::vector<Dual> least_;           // [num_rows] u of the rows of tight paths
  std::vector<Count> scan_;           // [num_rows] the entry to look at next on a tight path
  std::vector<Vertex> root_;          // [num_columns] of the columns that a search from many rows has settled
  std::vector<char> has_path_;        // [num_rows]    roots that have found a free column
  std::vector<Vertex> ends_;          // these columns
  std::vector<Dual> nearest_free_;    // the least distances at which free columns were reached, the largest first
  Vertex path_end_ = NONE;            // the nearest free column that the search has reached
  Dual bound_{};                      // its distance
};
