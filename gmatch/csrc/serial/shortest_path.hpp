// shortest_path.hpp: the Jonker-Volgenant method for dense assignment, on one core of the host.
//
// Four steps, each one a function below, under the name that the paper gives it:
//
//   column reduction          v is the minimum of each column, and the row it is in takes the column if it has none
//   reduction transfer        a row lowers v of its column, as far as its second best column allows
//   augmenting row reduction  free rows bid for their best column, and turn out the row that has it
//   augmentation              a shortest augmenting path (Dijkstra) for every row that is still free
//
// Unlike in the paper, columns are reduced by costs less the least cost of their row. If most pairs cost the same, as for
// 1 - IoU, the v of all unwanted columns are then equal and the highest. The nearest free column of a row is one of them, and
// searches end as soon as they reach any. If columns were reduced by the costs themselves, v of free columns would differ, and
// searches would read nearly all of the matrix. If this leaves many rows free, columns are reduced as in the paper.
//
// If augmentation turns out to take long, all begins anew, with v from an auction (serial/dense_auction.hpp). A start from
// duals then gives up, if it may: another method can go on from the v that it has reached.
//
// If most searches of a square matrix are long, searches go on from free columns, along a transposed copy. Searches from columns
// are short if many rows want the same columns, or tie in columns that are taken. The duals and the pairs stay. If these searches
// are not half as long, searches from rows go on.
//
// The invariant of all four, with u[i] = the least cost - v of row i: no pair costs less than u + v, and matched pairs
// cost u + v. So u is not stored, it is read off the matched pairs at the end. After the column reduction, or the
// auction, v only falls, and a matched column never becomes free again. So where columns may stay free, starting at
// v = 0 leaves v = 0 at the free columns and v <= 0 at the others. Then sum u + sum v is the cost, and proves that no
// assignment costs less.
//
// Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing
// 38 (1987). Rectangular problems as in Crouse, "On implementing 2D rectangular assignment algorithms", IEEE
// Transactions on Aerospace and Electronic Systems 52 (2016): all columns start at v = 0, without column reduction.
//
// If most pairs of a square matrix have the greatest cost, as distances that are cut off have, this cost serves as a limit. It
// cuts nothing off, so the answer is the same. It is used if the reduction of columns has left many rows free, or if a sample of
// rows shows that it would: some of these rows will need a pair of that cost, and searches for it are short only if v of all free
// columns are equal. A row without a cheaper pair takes its way out at once, and no column that other rows may want.
//
// With a limit on the costs each row has a way out, at the limit, for itself alone: a path may end there, and all columns may
// stay free. If a free column is equally far, a path ends at the way out. So entries above the limit need not be cut off, and
// never count. In the end the rows that are out take columns that are free, which cost the limit or more: so all rows are
// matched, at the least cost of the matrix that is cut off.
//
// A row whose tree reaches no free column can never be matched (Berge), whatever happens elsewhere. So the method stops.
//
// Costs may change while they are read, if another thread writes to the caller's array. Then the answer may be wrong, but no
// address is, and all loops end: a search decides about each row and each column once.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "serial/dense_auction.hpp"
#include "serial/rows/line_vector.hpp"
#include "serial/rows/row_scan.hpp"
#include "serial/rows/rows.hpp"
#include "serial/rows/turned_rows.hpp"
#include "team/host_threads.hpp"
#include "team/interrupt.hpp"
#include "team/memory.cuh"

struct ShortestPathCounters {
  Count rows_scanned;   // passes over a row of the matrix
  Count entries_read;   // by these passes
  Count augmentations;  // shortest paths that were flipped
  Count dual_updates;   // times a v was lowered after the column reduction
};

template <class Dual>
struct ShortestPathOptions {
  // No pair costs less than the least. No allowed pair costs more than the greatest. Distance says which integers are allowed;
  // the caller checks sums.
  Dual least_cost;
  Dual greatest_cost;
  bool start_from_duals;  // from the v that are passed in, any finite numbers, instead of the column reduction; and from the
                          // pairs that are passed in, if v makes them best
  // No entry that is not forbidden would cost more without the limit, which bounds the costs.
  Dual greatest_entry = std::numeric_limits<Dual>::max();
  // With start_from_duals: the only rows to match. All others stay as they are passed in, matched by duals that prove it, or
  // out; and a path may end at any free column. See serial/changed_rows.hpp.
  const Vertex* rows_to_match = nullptr;
  Vertex num_rows_to_match = 0;
  // With start_from_duals: returns NONE if searches turn out to take long. v are then duals to start from.
  bool may_give_up = false;
  // With rows_to_match: gives up if searches take this number of scans each, after a pass. 0: any number.
  Count most_scans = 0;
  // Without start_from_duals: returns NONE if the start finds a row whose pairs all cost more. See exact/two_parts.hpp.
  Dual most_for_a_row = beyond_all(Dual{});
  // Threads that share the pass over the matrix that reduces columns.
  int threads = 1;
};

// What the method writes. If it stops because a row cannot be matched, the matching need not be the largest, and u and v
// prove nothing.
template <class Dual>
struct ShortestPathResult {
  Dual* u;             // [num_rows]
  Dual* v;             // [num_columns] read before it is written, where start_from_duals says so
  Vertex* row_match;   // [num_rows]    the mate or NONE; read before it is written, where start_from_duals says so
  Vertex* col_match;   // [num_columns] the mate or NONE
};

// Whether most pairs of a square matrix have this cost, by a sample.
template <class Costs, class Cost>
bool mostly_costs(const Costs& costs, Vertex size, Cost cost) {
  constexpr int PAIRS = 64;  // of the sample; three in four must have the cost: "Rows leave at the greatest cost", sentinels.md
  constexpr unsigned SCATTER = 2654435761u;
  int others = 0;
  for (int k = 0; k < PAIRS && others <= PAIRS / 4; ++k) {
    const auto row = static_cast<Vertex>(Count{size} * k / PAIRS);
    const Count share = k * SCATTER;  // of 2^32
    others += costs.at(row, static_cast<Vertex>(share * size >> 32)) != cost;
  }
  return others <= PAIRS / 4;
}

template <class Rows, class Dual>
class ShortestPathSolver {
 public:
  ShortestPathSolver(Rows rows, Dual limit, const ShortestPathOptions<Dual>& options, const ShortestPathResult<Dual>& result,
                     ShortestPathCounters& counters)
      : num_rows_(rows.num_rows()),
        num_columns_(rows.num_columns()),
        rows_(std::move(rows)),
        options_(options),
        result_(result),
        row_match_(result.row_match),
        col_match_(result.col_match),
        counters_(counters),
        width_(rows_.width()) {
    set_way_out(limit < beyond_all(Dual{}) ? static_cast<Work>(limit) : FAR);
    Workspace near(memory_.near());
    carve(near);
    char* const memory = memory_.take(static_cast<std::size_t>(near.used()));
    if (memory != memory_.near()) {
      Workspace far(memory);
      carve(far);
    }
    mask_what_is_no_column();
  }

  // Returns how many rows are matched.
  Vertex solve() {
    if (options_.rows_to_match != nullptr) return go_on();
    if (options_.start_from_duals) {
      start_from_duals();
      reduce_augmenting_rows();
    } else if (columns_may_stay_free_) {
      start_from_zero();
      reduce_augmenting_rows();
    } else {
      bool by_ways_out = has_rows_of_ties();
      if (!by_ways_out) {
        start_from_reduction(true);
        by_ways_out = leaves_many_ties();
      }
      if (lacks_pair_) return NONE;
      if (by_ways_out) {
        if (solve_by_ways_out() == num_rows_ && takes_no_forbidden_pair()) return num_rows_;
        set_way_out(FAR);
        start_from_reduction(true);
      }
      if (is_many(free_rows_.size)) start_from_reduction(false);
    }
    return lacks_pair_ ? NONE : solve_from_start();
  }

 private:
  using Work = typename Rows::Work;
  using Entry = typename Rows::Entry;
  using Scan = typename Rows::Scan;
  using Index = typename Scan::Index;
  using Word = typename Scan::Word;
  static constexpr Work FAR = Distance<Work>::FAR;
  static constexpr Work MASKED = Distance<Work>::MASKED;

  // Floats can bid for ever, by less and less: the augmenting row reduction ends after this many bids for each row. They
  // cost less than the paths that they save, which are longer in large problems. A second sweep, as in the paper, costs more.
  // See "`jv` bids in one sweep, not two" in benchmarks/log/shortest_paths.md. Headings without a file are in this log. Without a
  // column reduction the first bid of each row only finds it a column: "Two bids a row where no reduction comes before them" in
  // benchmarks/log/small_calls.md.
  Count bids_per_row() const { return num_columns_ < 150 && !columns_may_stay_free_ ? 1 : 2; }
  // About 4 times in num_rows bids the reduction looks whether bids match rows. See "Bids end if rows only displace each other"
  // in benchmarks/log/core_host.md, and "Bids of few rows end, too" in benchmarks/log/small_calls.md.
  static constexpr Vertex LOOKS_PER_ROW = 4;
  // The end of a path that is no column.
  static constexpr Vertex WAY_OUT = NONE - 1;
  // It gives up if searches have done, or may still do, this number of passes over the matrix: a core takes the time of 2 to 10.
  // "The matrix first, the core where searches take long"; 1 to 6 are as fast.
  static constexpr Count MANY_PASSES = 3;
  // Searches go on from columns if they have taken 1 pass over the matrix, and PASSES_TO_TURN or more are expected. The copy
  // takes the time of 2 to 3 passes. 1 more pass tells whether searches are shorter. If many rows are free, an auction is better:
  // "Searches go on from free columns".
  static constexpr Count PASSES_TO_TURN = 6;
  // A start from duals gives them up after 8 rounds. 1 to 64 are as fast: "Thresholds measured again".
  static constexpr int MAX_ROUNDS = 8;
  // No auction is held for fewer than 64 rows, since their searches are short. 8 to 32 rows are as fast. With 256 in the
  // place of 64, products of 250 rows take 1.5 to 2.8 times as long: "Thresholds measured again".
  static constexpr Vertex FEW_ROWS = 64;
  // A start leaves many rows free if it leaves one row in three: rows want the same few columns then. With one in two,
  // column prices take 2.8 times as long. One in 6 or 12 is as fast: "Thresholds measured again".
  static constexpr std::size_t MANY_FREE = 3;
  // If most pairs have the greatest cost, 1 free row in 10 is many. Points with 5 to 60 others within reach leave 0.09 to 0.42 of
  // the rows free, 5 to 20 cheap pairs anywhere in a row 0.02 to 0.07. See benchmarks/log/ties_and_gates.md, "Ties at the
  // greatest cost, seen in fewer free rows".
  static constexpr std::size_t MANY_FREE_OF_TIES = 10;
  // One row in 16 is sampled, which takes a sixteenth of a pass: benchmarks/log/ties_and_gates.md, "Rows without a cheap pair are
  // seen before the reduction".
  static constexpr Vertex SAMPLED = 16;
  // With at most one free row in five no reduction is transferred: "No reduction transfer where few rows are free".
  static constexpr std::size_t ROWS_TO_TRANSFER = 5;

  // A column of the tree, with what scans do not see while it is MASKED.
  struct Branch {
    Vertex column;
    Work v;
    Work distance;
  };

  // An array of at most as many items as it was carved for.
  template <class Item>
  struct List {
    Item* items;
    std::size_t size;

    Item* begin() const { return items; }
    Item* end() const { return items + size; }
    void push(const Item& item) { items[size++] = item; }
  };

  Count num_words() const { return (Count{width_} + Scan::WORD - 1) / Scan::WORD; }
  void carve(Workspace& workspace) {
    v_ = workspace.take<Work>(width_);
    distance_ = workspace.take<Work>(width_);
    block_least_ = workspace.take<Work>(width_ / Scan::BLOCK + 1);
    predecessor_ = workspace.take<Index>(width_);
    is_free_ = workspace.take<Word>(num_words());
    row_before_ = shares_ = workspace.take<Vertex>(num_rows_);
    tree_.items = workspace.take<Branch>(num_rows_);
    free_rows_.items = workspace.take<Vertex>(num_rows_);
  }

  Vertex solve_from_start() {
    const bool goes_on = match_free_rows();
    write_solution();
    if (!goes_on) return NONE;
    if (has_ways_out_) match_rows_that_are_out();
    return count_matched();
  }
  Vertex count_matched() const {
    return static_cast<Vertex>(num_rows_ - std::count(row_match_, row_match_ + num_rows_, NONE));
  }

  // Matches rows_to_match, from the pairs and the v that are passed in. Rows that are out stay out.
  Vertex go_on() {
    std::copy_n(result_.v, num_columns_, v_);
    free_all_columns();
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (col_match_[j] != NONE) take(j);
    }
    free_rows_.size = 0;
    for (Vertex k = 0; k < options_.num_rows_to_match; ++k) free_rows_.push(options_.rows_to_match[k]);
    match_free_rows();
    write_solution();
    return count_matched();
  }

  // Whether most pairs cost the same, the greatest cost of all.
  bool mostly_costs_the_greatest() const { return mostly_costs(rows_, num_rows_, static_cast<Work>(options_.greatest_cost)); }
  // Whether a reduction has left many rows free, and most pairs have the greatest cost.
  bool leaves_many_ties() const {
    return free_rows_.size * MANY_FREE_OF_TIES > static_cast<std::size_t>(num_rows_) && mostly_costs_the_greatest();
  }
  // Whether a row of a sample has no pair below the greatest cost, and most pairs have this cost. In a reduction the first row
  // without a cheaper pair would take all columns that no other row wants, and all other rows without one would stay free.
  bool has_rows_of_ties() {
    for (Vertex row = SAMPLED - 1; row < num_rows_; row += SAMPLED) {
      const Entry* entries = rows_.entries(row);
      const auto least = Scan::find_least({{entries, entries}, {Work{0}, Work{0}}}, width_).of[0];
      note_least(least);
      if (least >= static_cast<Work>(options_.greatest_cost)) return mostly_costs_the_greatest();
    }
    return false;
  }
  Vertex solve_by_ways_out() {
    set_way_out(static_cast<Work>(options_.greatest_cost));
    most_ = next_below(way_out_);
    start_from_zero();
    reduce_augmenting_rows();
    return solve_from_start();
  }
  static Work next_below(Work number) {
    if constexpr (std::numeric_limits<Work>::is_integer) return number - 1;
    else return std::nextafter(number, -FAR);
  }
  void set_way_out(Work cost) {
    has_ways_out_ = cost < FAR;
    way_out_ = cost;
    columns_may_stay_free_ = num_rows_ < num_columns_ || has_ways_out_;
    using Limits = std::numeric_limits<Work>;
    const bool has_most = options_.most_for_a_row < beyond_all(Dual{});
    most_ = has_most ? static_cast<Work>(options_.most_for_a_row) : Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (has_ways_out_) most_ = way_out_;
  }

  // Rows that are out take any column.
  bool takes_no_forbidden_pair() const {
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (!(rows_.at(row, row_match_[row]) <= way_out_)) return false;
    }
    return true;
  }

  const Entry* scan(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += num_columns_;
    poll_.spend(num_columns_);
    return rows_.entries(row);
  }
  typename Scan::LeastTwo find_least_two(const Entry* entries) const {
    return Scan::find_least_two(entries, v_, width_);
  }
  void match(Vertex row, Vertex column) {
    row_match_[row] = column;
    col_match_[column] = row;
    take(column);
  }
  void take(Vertex column) {
    const auto place = static_cast<unsigned>(column);  // the division of an unsigned number by WORD is a shift
    is_free_[place / Scan::WORD] &= ~(Word{1} << place % Scan::WORD);
  }
  void mask_what_is_no_column() { std::fill(v_ + num_columns_, v_ + width_, MASKED); }
  void lower(Vertex column, Work amount) {
    v_[column] -= amount;
    ++counters_.dual_updates;
  }

  void clear_matching() {
    std::fill_n(row_match_, num_rows_, NONE);
    std::fill_n(col_match_, num_columns_, NONE);
    free_all_columns();
    free_rows_.size = 0;
  }
  void free_all_columns() {
    std::fill_n(is_free_, num_words(), ~Word{0});
    if (num_columns_ % Scan::WORD != 0) is_free_[num_columns_ / Scan::WORD] = (Word{1} << num_columns_ % Scan::WORD) - 1;
  }

  void start_from_zero() {
    clear_matching();
    std::fill_n(v_, num_columns_, Work{0});
    for (Vertex row = 0; row < num_rows_; ++row) free_rows_.push(row);
  }

  // Every row takes its best column, if that is free; among several best ones it takes wanted[row].
  void take_best_columns(const Vertex* wanted = nullptr) {
    clear_matching();
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Entry* entries = scan(row);
      const auto found = find_least_two(entries);
      Vertex column = found.column;
      if (wanted != nullptr && is_column(wanted[row])) {
        const Vertex other = wanted[row];
        if (Scan::cost(entries[other]) - v_[other] <= found.least) column = other;
      }
      if (found.least < FAR && found.least <= way_out_ && col_match_[column] == NONE) {
        match(row, column);
      } else {
        free_rows_.push(row);
      }
    }
  }

  // If columns may stay free, free columns must have v = 0. Raised to 0 they may be better than the columns that rows took, so
  // the rows choose again.
  void start_from_duals() {
    for (Vertex j = 0; j < num_columns_; ++j) {
      v_[j] = static_cast<Work>(columns_may_stay_free_ ? std::min(result_.v[j], Dual{0}) : result_.v[j]);
    }
    Vertex* const wanted = row_before_;
    std::copy_n(row_match_, num_rows_, wanted);
    bool raised = true;
    for (int round = 0; raised; ++round) {
      take_best_columns(wanted);
      raised = false;
      for (Vertex j = 0; columns_may_stay_free_ && j < num_columns_; ++j) {
        if (v_[j] == 0 || (col_match_[j] != NONE && round < MAX_ROUNDS)) continue;
        v_[j] = 0;
        raised = true;
      }
    }
  }

  bool is_column(Vertex column) const { return 0 <= column && column < num_columns_; }
  bool is_many(std::size_t free_rows) const { return free_rows * MANY_FREE > static_cast<std::size_t>(num_rows_); }

  void start_from_reduction(bool by_rows) {
    reduce_columns(by_rows);
    if (lacks_pair_) return;
    transfer_reduction();
    reduce_augmenting_rows();
  }

  using TwoRows = typename Scan::TwoRows;
  // The row and the row after it. The last row stands for both.
  static TwoRows two_rows(Rows& rows, Vertex row, Vertex end) {
    const Entry* const entries = rows.entries(row);
    return {{entries, row + 1 < end ? rows.entries(row + 1) : entries}, {Work{0}, Work{0}}};
  }
  // Returns whether all pairs of one of the rows cost more than `most_`.
  bool reduce(TwoRows& rows, const typename Scan::LeastOfTwo& least) const {
    bool lacks_pair = false;
    for (int k = 0; k < 2; ++k) {
      rows.u[k] = least.of[k] < FAR ? least.of[k] : 0;
      lacks_pair |= least.of[k] > most_;
    }
    return lacks_pair;
  }
  void note_least(Work least) { lacks_pair_ |= least > most_; }

  // Takes minima of the costs, or of costs less the least of each row. Counts for each row the columns with their minimum in it.
  void reduce_columns(bool by_rows) {
    clear_matching();
    if (num_rows_ == 0) return;
    if (options_.threads > 1) find_minima_at_once(by_rows);
    else lacks_pair_ = find_minima(rows_, 0, num_rows_, by_rows, v_, predecessor_);
    counters_.rows_scanned += num_rows_;
    counters_.entries_read += Count{num_rows_} * num_columns_;
    if (lacks_pair_) return;
    mask_what_is_no_column();  // costs that have changed may have lowered it
    std::fill_n(shares_, num_rows_, 0);
    for (Vertex j = num_columns_ - 1; j >= 0; --j) {
      // A last row without a next one stands for both, and may have changed between.
      const Vertex row = std::min(static_cast<Vertex>(predecessor_[j]), num_rows_ - 1);
      if (row == NONE) {
        v_[j] = 0;  // forbidden for all rows
      } else if (++shares_[row] == 1) {
        match(row, j);
      }
    }
  }

  // Writes the minima of the columns among some rows, and the rows in which they are. Returns true, and ends, if all pairs of one
  // of these rows cost more than `most_`.
  bool find_minima(Rows& rows, Vertex first, Vertex end, bool by_rows, Work* v, Index* least_row) {
    std::fill_n(v, num_columns_, FAR);
    std::fill_n(least_row, width_, Index{NONE});
    Poll poll;
    TwoRows now = two_rows(rows, first, end);
    bool lacks_pair = by_rows && reduce(now, Scan::find_least(now, width_));
    for (Vertex row = first; row < end && !lacks_pair; row += 2) {
      poll.spend(2 * Count{num_columns_});
      TwoRows next = row + 2 < end ? two_rows(rows, row + 2, end) : now;
      const auto least = Scan::lower_columns(now, next, row, width_, v, least_row);
      if (by_rows) lacks_pair = reduce(next, least);
      now = next;
    }
    return lacks_pair;
  }
  // As find_minima of all rows, by all threads. Of equal minima the minimum in the first row counts, as on one thread.
  void find_minima_at_once(bool by_rows) {
    struct Share {
      LineVector<Work> v;
      std::vector<Index> least_row;
      bool lacks_pair;
    };
    std::vector<Share> shares(std::min<Vertex>(options_.threads, num_rows_));
    run_on_host(static_cast<int>(shares.size()), [&](const HostTeam& team) {
      const auto first_of = [&](int rank) { return static_cast<Vertex>(Count{num_rows_} * rank / team.size()); };
      Share& share = shares[team.rank()];
      share.v.assign(width_, FAR);
      share.least_row.resize(width_);
      std::copy(v_ + num_columns_, v_ + width_, share.v.begin() + num_columns_);
      Rows rows = rows_;
      share.lacks_pair = find_minima(rows, first_of(team.rank()), first_of(team.rank() + 1), by_rows, share.v.data(),
                                     share.least_row.data());
    });
    std::fill_n(v_, num_columns_, FAR);
    std::fill_n(predecessor_, width_, Index{NONE});
    for (const Share& share : shares) {
      lacks_pair_ |= share.lacks_pair;
      for (Vertex j = 0; j < num_columns_; ++j) {
        if (!(share.v[j] < v_[j])) continue;
        v_[j] = share.v[j];
        predecessor_[j] = share.least_row[j];
      }
    }
  }

  // A row with the minima of several columns has no reduction to transfer. If few rows are free, the transfer takes more scans
  // than the bids and paths that it saves.
  void transfer_reduction() {
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (shares_[row] == 0) free_rows_.push(row);
    }
    if (free_rows_.size * ROWS_TO_TRANSFER <= static_cast<std::size_t>(num_rows_)) return;
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (shares_[row] != 1) continue;
      const auto found = find_least_two(scan(row));
      if (found.second < FAR) lower(row_match_[row], found.second - found.least);
    }
  }

  // False if it gives up.
  bool match_free_rows() {
    std::size_t rows = free_rows_.size;
    Count scanned_before = counters_.rows_scanned;
    while (free_rows_.size > 0) {
      if (!augment(free_rows_.items[--free_rows_.size])) return true;
      const Count scans = counters_.rows_scanned - scanned_before;
      if (options_.may_give_up && is_better_for_others(rows, scans)) return false;
      if (may_turn() && !is_many(rows) && take_long(rows, scans, 1, PASSES_TO_TURN)) {
        match_free_columns(scans / static_cast<Count>(rows - free_rows_.size));
        rows = free_rows_.size;
        scanned_before = counters_.rows_scanned;
        continue;
      }
      if (may_hold_auction() && takes_long(rows, scans)) {
        start_from_auction();
        reduce_augmenting_rows();
      }
    }
    return true;
  }

  // Whether the searches for the remaining rows of `rows`, by what searches before have scanned, will take longer than
  // an auction, which scans each row thirty to a hundred times, at half the time a scan. They begin short and become longer. 1 to
  // 32 passes in the place of 8, and 25 to 100 in the place of 100, are as fast: "Thresholds measured again".
  bool takes_long(std::size_t rows, Count scans) const {
    const bool has_many = is_many(rows);
    return take_long(rows, scans, has_many ? 1 : 8, has_many ? 10 : 100);
  }
  // Whether searches have taken long, and may do so again (at most one pass over the matrix each); or will take long, judged by
  // the scans of earlier searches.
  bool is_better_for_others(std::size_t rows, Count scans) const {
    if (options_.most_scans > 0) {
      const auto done = static_cast<Count>(rows - free_rows_.size);
      return scans >= num_rows_ && scans >= options_.most_scans * done;
    }
    if (static_cast<Count>(free_rows_.size) < MANY_PASSES) return false;
    return scans >= MANY_PASSES * num_rows_ || take_long(rows, scans, 1, MANY_PASSES);
  }
  // Whether `enough` passes over the matrix are done, and `much` or more are to come.
  bool take_long(std::size_t rows, Count scans, Count enough, Count much) const {
    const auto left = static_cast<Count>(free_rows_.size), done = static_cast<Count>(rows) - left;
    return scans >= enough * num_rows_ && scans * left >= much * num_rows_ * done;
  }

  bool may_turn() const {
    if (!TurnedRows<Rows>::EXIST || columns_may_stay_free_ || num_rows_ < FEW_ROWS) return false;
    return !has_turned_ && options_.rows_to_match == nullptr && !options_.may_give_up;
  }
  // Searches from free columns, from the present pairs and duals. Ends early if searches take more than `scans` / 2 scans each.
  void match_free_columns([[maybe_unused]] Count scans) {
    has_turned_ = true;
    if constexpr (TurnedRows<Rows>::EXIST) {
      if (!write_duals_of_all()) return;
      const TurnedRows<Rows> turned(rows_);
      std::vector<Vertex> free_columns;
      for (Vertex j = 0; j < num_columns_; ++j) {
        if (col_match_[j] == NONE) free_columns.push_back(j);
      }
      ShortestPathOptions<Dual> options{options_.least_cost, options_.greatest_cost, true};
      options.rows_to_match = free_columns.data();
      options.num_rows_to_match = static_cast<Vertex>(free_columns.size());
      options.may_give_up = true;
      options.most_scans = scans / 2 + 1;
      const ShortestPathResult<Dual> result{result_.v, result_.u, col_match_, row_match_};
      ShortestPathSolver(turned.rows(), beyond_all(Dual{}), options, result, counters_).solve();
      read_duals_of_columns(turned);
    }
  }
  // Writes v, and u also of free rows. False if a row has no allowed pair.
  bool write_duals_of_all() {
    write_solution();
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (row_match_[row] != NONE) continue;
      const Work least = find_least_two(scan(row)).least;
      if (!(least < FAR)) return false;
      result_.u[row] = static_cast<Dual>(least);
    }
    return true;
  }
  // Goes on from the pairs that searches from columns have left, and from their duals.
  void read_duals_of_columns(const TurnedRows<Rows>& turned) {
    LineVector<Work> u(num_rows_, 0);
    for (Vertex row = 0; row < num_rows_; ++row) u[row] = static_cast<Work>(result_.u[row]);
    auto columns = turned.rows();
    free_all_columns();
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (col_match_[j] != NONE) take(j);
      v_[j] = static_cast<Work>(result_.v[j]);
      if (col_match_[j] != NONE) continue;
      const Work least = Scan::find_least_two(columns.entries(j), u.data(), num_rows_).least;
      v_[j] = least < FAR ? least : 0;
    }
    free_rows_.size = 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (row_match_[row] == NONE) free_rows_.push(row);
    }
  }

  // An auction is held once, only if all columns are to be matched, and if there is room for duals that lie as far apart as the
  // costs.
  bool may_hold_auction() const {
    if (auction_was_held_ || columns_may_stay_free_ || options_.start_from_duals || num_rows_ < FEW_ROWS) return false;
    if constexpr (std::numeric_limits<Work>::is_integer) {
      if (options_.greatest_cost - options_.least_cost > Distance<Work>::MAX_RANGE / 2) return false;
    }
    return true;
  }

  // From the beginning, with the v of an auction: every row takes its best column, if that is free.
  void start_from_auction() {
    auction_was_held_ = true;
    DenseAuction<Rows, RowScan<Entry, double, Scan::IS_NEGATED>, ShortestPathCounters> auction(rows_, num_rows_, counters_);
    if (!auction.hold()) return;
    for (Vertex j = 0; j < num_columns_; ++j) v_[j] = static_cast<Work>(auction.v(j));
    take_best_columns();
  }

  // Whether rows only displace each other: after all bids many rows would be free, at the pace since the last look.
  bool are_vain(std::size_t free_before, std::size_t free_now, Count looks_left) const {
    const std::size_t matched = (free_before - free_now) * static_cast<std::size_t>(looks_left);
    return matched < free_now && is_many(free_now - matched);
  }

  // A row bids as much as its best column is better than its second best, and the row that it displaces bids next. Without a
  // difference it displaces a row only if all its best columns are taken, and that row stays free: otherwise the two could go on
  // for ever.
  void reduce_augmenting_rows() {
    const std::size_t end = free_rows_.size;
    std::size_t next = 0, kept = 0;  // free_rows_ has the rows that wait at [0, kept), those to do at [next, end)
    std::size_t free_before = end;   // when it last looked
    const Count most = bids_per_row() * num_rows_, between = num_rows_ / LOOKS_PER_ROW + 1;
    for (Count bids = most, until_look = between; next < end && bids > 0; --bids, --until_look) {
      if (until_look == 0) {
        const std::size_t free_now = end - next + kept;
        if (are_vain(free_before, free_now, bids / between)) break;
        free_before = free_now;
        until_look = between;
      }
      const Vertex row = free_rows_.items[next++];
      const Entry* entries = scan(row);
      const auto found = find_least_two(entries);
      if (found.least > most_) {
        if (has_ways_out_) continue;  // for good: v only falls
        lacks_pair_ = true;
        return;
      }
      if (!(found.least < FAR)) {
        free_rows_.items[kept++] = row;
        continue;
      }
      Vertex column = found.column;
      const Work second = std::min(found.second, way_out_);
      const bool bid = found.least < second && second < FAR;
      if (bid) {
        lower(column, second - found.least);
      } else if (col_match_[column] != NONE) {
        const Vertex other = Scan::find_free_column(entries, v_, is_free_, width_, found.least);
        if (other != NONE) column = other;
      }
      const Vertex turned_out = col_match_[column];
      match(row, column);
      if (turned_out == NONE) continue;
      row_match_[turned_out] = NONE;
      free_rows_.items[bid ? --next : kept++] = turned_out;
    }
    if (kept == next) return;
    free_rows_.size = std::copy(free_rows_.items + next, free_rows_.end(), free_rows_.items + kept) - free_rows_.items;
  }

  // Matches one more row, and keeps all matched columns matched. Without any path nothing changes.
  bool augment(Vertex root) {
    const Vertex column = grow_tree(root);
    const bool matched = column != NONE;
    for (const Branch& branch : tree_) {
      v_[branch.column] = branch.v;
      if (matched && branch.distance < level_) lower(branch.column, level_ - branch.distance);
    }
    if (!matched) return false;
    if (column == WAY_OUT) leave(row_out_);
    else flip_path(column);
    ++counters_.augmentations;
    return true;
  }

  // Dijkstra's method. The distance of a column counts u of the root in, so that u is never needed. Returns the free
  // column at the end of the shortest path, WAY_OUT if a way out is nearer, NONE if there is no path. level_ is its length.
  Vertex grow_tree(Vertex root) {
    tree_.size = 0;
    row_out_ = root;
    out_distance_ = way_out_;
    Work least = Scan::relax_first(scan(root), v_, root, width_, distance_, predecessor_,
                                   block_least_);
    level_ = least;
    std::size_t scanned = 0;
    while (true) {
      if (least <= level_ || scanned == tree_.size) {
        const Work before = level_;
        level_ = std::max(least, level_);  // rounding must not turn Dijkstra back
        if (out_distance_ <= level_ && out_distance_ < FAR) {
          level_ = std::max(out_distance_, before);
          return WAY_OUT;
        }
        if (!(level_ < FAR)) return NONE;
        const Vertex end = collect_nearest();
        if (end != NONE || scanned == tree_.size) return end;
      }
      const Branch& branch = tree_.items[scanned++];  // a copy would be read in one piece, and wait for what was just written
      const Vertex row = col_match_[branch.column];
      const Work offset = rows_.at(row, branch.column) - branch.v - branch.distance;
      if (has_ways_out_ && way_out_ - offset < out_distance_) {
        out_distance_ = way_out_ - offset;
        row_out_ = row;
      }
      least = relax(row, offset);
    }
  }

  Work relax(Vertex row, Work offset) {
    return Scan::relax(scan(row), v_, offset, row, width_, distance_, predecessor_,
                       block_least_);
  }

  // Moves all columns up to level_ into the tree, or returns the first free one. MASKED columns are in the tree already; costs
  // that have changed may make them seem near.
  Vertex collect_nearest() {
    for (Vertex begin = 0; begin < num_columns_; begin += Scan::BLOCK) {
      if (block_least_[begin / Scan::BLOCK] > level_) continue;
      const Vertex end = std::min(width_, begin + Scan::BLOCK);
      for (Vertex first = begin; first < end; first += Scan::WORD) {
        Word nearest = Scan::find_nearest(distance_ + first, end - first, level_);
        const Word free_ones = nearest & is_free_[first / Scan::WORD];
        if (free_ones != 0) return first + first_bit(free_ones);
        for (; nearest != 0; nearest &= nearest - 1) {
          const Vertex j = first + first_bit(nearest);
          distance_[j] = FAR;
          if (v_[j] == MASKED) continue;
          tree_.push({j, v_[j], level_});
          row_before_[col_match_[j]] = static_cast<Vertex>(predecessor_[j]);
          v_[j] = MASKED;
        }
      }
    }
    return NONE;
  }

  // From its last column up to the root.
  void flip_path(Vertex column) {
    take(column);
    hand_on(column, static_cast<Vertex>(predecessor_[column]));
  }
  // To a row of the tree, which leaves its own to the row before it, and so on.
  void hand_on(Vertex column, Vertex row) {
    for (;; row = row_before_[row]) {
      col_match_[column] = row;
      column = std::exchange(row_match_[row], column);
      if (column == NONE) return;
    }
  }
  // A row of the tree takes its way out, and leaves its column; the root has none.
  void leave(Vertex row) {
    const Vertex column = std::exchange(row_match_[row], NONE);
    if (column != NONE) hand_on(column, row_before_[row]);
  }

  void match_rows_that_are_out() {
    Vertex column = 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (row_match_[row] != NONE) continue;
      while (column < num_columns_ && col_match_[column] != NONE) ++column;
      if (column == num_columns_) return;  // only where costs have changed
      match(row, column);
    }
  }

  void write_solution() {
    for (Vertex j = 0; j < num_columns_; ++j) result_.v[j] = static_cast<Dual>(v_[j]);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Vertex column = row_match_[row];
      const Work of_free = has_ways_out_ ? way_out_ : Work{0};
      result_.u[row] = static_cast<Dual>(column == NONE ? of_free : rows_.at(row, column) - v_[column]);
    }
  }

  const Vertex num_rows_, num_columns_;
  Rows rows_;
  const ShortestPathOptions<Dual>& options_;
  const ShortestPathResult<Dual>& result_;
  Vertex* const row_match_;
  Vertex* const col_match_;
  ShortestPathCounters& counters_;
  Poll poll_;
  bool has_ways_out_;                     // of the rows
  Work way_out_;                          // its cost; FAR if there is none
  Work most_;                             // what a row is worth: the way out, or most_for_a_row
  bool columns_may_stay_free_;
  const Vertex width_;                    // columns that scans read: num_columns, or some more
  LineMemory memory_;                     // of what `carve` lists
  Work* v_;                               // [width]
  Work* distance_;                        // [width] FAR in the tree
  Work* block_least_;                     // [width / BLOCK + 1] the least distance of each block of columns
  Index* predecessor_;                    // [width] the row before it on the shortest path
  Word* is_free_;                         // [whole words] a bit for each column
  Vertex* shares_;                        // [num_rows] how many columns have their minimum in it
  Vertex* row_before_;                    // the same memory, in searches: of a row in the tree the predecessor of its column,
                                          //            as it was when the column joined
  List<Branch> tree_{};                   // [num_rows at most] in order of distance
  List<Vertex> free_rows_{};              // [num_rows at most] rows to match
  Work level_{};                          // distance up to which the tree has grown
  Vertex row_out_{};                      // the row of the tree with the nearest way out
  Work out_distance_{};                   // the distance of its way out
  bool auction_was_held_ = false, has_turned_ = false;
  bool lacks_pair_ = false;               // whether the start has found a row whose pairs cost more than most_for_a_row
};
