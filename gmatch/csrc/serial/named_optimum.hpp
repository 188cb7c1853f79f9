// named_optimum.hpp: of several cheapest assignments the one that a rule names, on one core; see gmatch/assignment/ties.py.
//
// Input are an assignment and pairs along which all assignments are cheapest, such as the pairs that exact duals make tight.
// Other assignments differ from it along cycles: rows are vertices, with an edge from each to the mates of its columns, and
// all free rows and columns are one more vertex. So only pairs on cycles matter (strong components: Tarjan 1972), and the
// present pairs of their rows. Each of these pairs has a mark. The assignment of least marks is the one; if there are several,
// another mark of each pair decides, and so on.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "serial/shortest_path.hpp"
#include "serial/sparse_shortest_path.hpp"

// Pairs in the order of their rows.
struct PairList {
  std::vector<Vertex> rows, columns;

  Count size() const { return static_cast<Count>(rows.size()); }
  void add(Vertex row, Vertex column) {
    rows.push_back(row);
    columns.push_back(column);
  }
};

// Pairs, of which some make other cheapest assignments, and the columns that may stay free.
struct NearPairs {
  PairList pairs;
  std::vector<bool> are_tight;  // for each pair, whether its slack is exactly 0
  std::vector<bool> may_leave;  // [num_columns]
  bool all_are_tight = true;    // with v = 0 of all columns that may stay free
};

// Lists the pairs that all cheapest assignments consist of, and others whose slack is as small; see only_optimum.hpp. False if
// the duals do not prove that. Knuth's TwoSum finds what a difference loses by rounding.
template <class Rows, class Dual>
bool list_near_pairs(Rows rows, const ShortestPathResult<Dual>& result, const std::vector<bool>& must_be_used,
                     NearPairs& found) {
  constexpr bool IS_INTEGER = std::numeric_limits<Dual>::is_integer;
  const Vertex num_rows = rows.num_rows(), num_columns = rows.num_columns();
  const auto size_of = [](Dual number) { return number < 0 ? -number : number; };
  Dual all_lost = 0, reach = 0, rounding = 0;
  if constexpr (!IS_INTEGER) {
    constexpr double EPSILON = std::numeric_limits<double>::epsilon(), MORE = 1.001;
    Dual scale = 0;
    for (Vertex j = 0; j < num_columns; ++j) scale = std::max(scale, size_of(result.v[j]));
    for (Vertex row = 0; row < num_rows; ++row) {
      const Vertex column = result.row_match[row];
      scale = std::max(scale, size_of(result.u[row]));
      all_lost += size_of((static_cast<Dual>(rows.at(row, column)) - result.u[row]) - result.v[column]);
    }
    all_lost = MORE * all_lost + 8 * EPSILON * (Count{num_rows} + num_columns) * scale;
    reach = 8 * all_lost;
    rounding = 8 * EPSILON * (scale + reach);
  }
  found.may_leave.assign(num_columns, false);
  std::vector<bool> is_free(num_columns, true);
  for (Vertex row = 0; row < num_rows; ++row) is_free[result.row_match[row]] = false;
  for (Vertex j = 0; j < num_columns && num_rows < num_columns; ++j) {
    if (!must_be_used.empty() && must_be_used[j]) continue;
    const Dual v = result.v[j];
    if (v > 0 || (is_free[j] && v != 0)) return false;
    found.may_leave[j] = -v <= reach;
    found.all_are_tight = found.all_are_tight && (v == 0 || -v > reach);
  }
  const auto minus = [](Dual a, Dual b, Dual& lost) {
    const Dual difference = a - b;
    if constexpr (!IS_INTEGER) {
      const Dual back = difference - a;
      lost += std::abs((a - (difference - back)) - (b + back));
    }
    return difference;
  };
  Dual below = 0;
  Poll poll;
  for (Vertex row = 0; row < num_rows; ++row) {
    const auto* entries = rows.entries(row);
    poll.spend(num_columns);
    bool has_own = false;
    for (Vertex j = 0; j < num_columns; ++j) {
      const Dual cost = static_cast<Dual>(Rows::Scan::cost(entries[j]));
      if (!(cost < beyond_all(Dual{}))) continue;
      Dual lost = 0;
      const Dual slack = minus(minus(cost, result.u[row], lost), result.v[j], lost);
      if (!(slack <= reach + rounding)) continue;
      below += slack < 0 ? -slack : 0;
      found.pairs.add(row, j);
      found.are_tight.push_back(slack == 0 && lost == 0);
      found.all_are_tight = found.all_are_tight && found.are_tight.back();
      has_own = has_own || j == result.row_match[row];
    }
    if (!has_own) return false;
  }
  return all_lost + below <= reach;
}

class NamedOptimum {
 public:
  static constexpr int MARK_BITS = 20;

  // `row_match` is an assignment along some of the pairs; it becomes the named one.
  NamedOptimum(Vertex num_rows, Vertex num_columns, PairList pairs, std::vector<bool> may_leave, Vertex* row_match,
               int mark_bits = MARK_BITS)
      : num_rows_(num_rows),
        num_columns_(num_columns),
        mark_bits_(mark_bits),
        pairs_(std::move(pairs)),
        may_leave_(std::move(may_leave)),
        row_match_(row_match),
        mates_(num_columns) {}

  // Keeps the pairs on cycles, and the present pairs of their rows. Writes for each former pair whether it is kept, if is_kept is
  // given. Returns how many rows have a choice.
  Vertex drop_what_is_sure(bool* is_kept = nullptr) {
    find_components();
    std::vector<bool> has_choice(num_rows_);
    for (Count k = 0; k < pairs_.size(); ++k) {
      if (is_on_cycle(k)) has_choice[pairs_.rows[k]] = true;
    }
    PairList kept;
    for (Count k = 0; k < pairs_.size(); ++k) {
      const bool keeps = is_on_cycle(k) || (is_own(k) && has_choice[pairs_.rows[k]]);
      if (keeps) kept.add(pairs_.rows[k], pairs_.columns[k]);
      if (is_kept != nullptr) is_kept[k] = keeps;
    }
    pairs_ = std::move(kept);
    return static_cast<Vertex>(std::count(has_choice.begin(), has_choice.end(), true));
  }

  // After drop_what_is_sure: whether a column is free, or stays free in another assignment.
  bool may_be_left(Vertex column) const {
    return may_leave_[column] && component_[mates_[column]] == component_[free()];
  }

  // Returns how many rows had a choice; NONE if they are too many for sums of marks. name_of(row, column) is the number that the
  // mark of a pair is made of; below 0 if the pair has no mark.
  template <class NameOf>
  Vertex decide(const NameOf& name_of, int first_turn) {
    Vertex with_choice = 0;
    for (int turn = first_turn;; ++turn) {
      const Vertex rows = drop_what_is_sure();
      if (turn == first_turn) with_choice = rows;
      if (rows == 0) return with_choice;
      if (!has_room(rows)) return NONE;
      if (!take_least_marks(name_of, turn)) return with_choice;
    }
  }

 private:
  Vertex free() const { return num_rows_; }
  bool is_own(Count k) const { return mates_[pairs_.columns[k]] == pairs_.rows[k]; }
  bool is_on_cycle(Count k) const {
    return !is_own(k) && component_[pairs_.rows[k]] == component_[mates_[pairs_.columns[k]]];
  }

  void find_components() {
    std::fill(mates_.begin(), mates_.end(), free());
    for (Vertex row = 0; row < num_rows_; ++row) mates_[row_match_[row]] = row;
    begins_.assign(Count{num_rows_} + 2, 0);
    for (const Vertex row : pairs_.rows) ++begins_[row + 1];
    for (Vertex row = 0; row <= num_rows_; ++row) begins_[row + 1] += begins_[row];
    ends_.clear();
    for (const Vertex column : pairs_.columns) ends_.push_back(mates_[column]);
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (may_leave_[j] && mates_[j] != free()) ends_.push_back(mates_[j]);
    }
    begins_[num_rows_ + 1] = static_cast<Count>(ends_.size());
    number_components();
  }

  // Tarjan's method, with a path in the place of recursion.
  void number_components() {
    const Vertex size = num_rows_ + 1;
    component_.assign(size, NONE);
    std::vector<Vertex> first(size, NONE), low(size), path, open;
    std::vector<Count> next(begins_.begin(), begins_.end() - 1);
    Vertex seen = 0, components = 0;
    for (Vertex root = 0; root < size; ++root) {
      if (first[root] == NONE) path.push_back(root);
      while (!path.empty()) {
        const Vertex vertex = path.back();
        if (first[vertex] == NONE) {
          first[vertex] = low[vertex] = seen++;
          open.push_back(vertex);
        }
        if (next[vertex] < begins_[vertex + 1]) {
          const Vertex end = ends_[next[vertex]++];
          if (first[end] == NONE) path.push_back(end);
          else if (component_[end] == NONE) low[vertex] = std::min(low[vertex], first[end]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[vertex]);
        if (low[vertex] < first[vertex]) continue;
        Vertex member;
        do {
          member = open.back();
          open.pop_back();
          component_[member] = components;
        } while (member != vertex);
        ++components;
      }
    }
  }

  // Whether sums of marks stay far from every overflow.
  bool has_room(Vertex rows) const {
    constexpr double MOST = 1LL << 61;
    const double of_reward = num_rows_ < num_columns_ ? 2.0 * (rows + 1) : 1;
    return std::exp2(mark_bits_) * of_reward * (32 + 8.0 * rows) < MOST;
  }

  // By SplitMix64 (Steele, Lea, Flood 2014).
  Count mark(Count name, int turn) const {
    if (name < 0) return 0;
    unsigned long long mixed = name + (turn + 1) * 0x9E3779B97F4A7C15ULL;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBULL;
    return static_cast<Count>((mixed ^ mixed >> 31) >> (64 - mark_bits_));
  }

  // Solves the remaining problem with marks for costs, and keeps the pairs that an assignment of least marks may use. If some
  // columns may stay free, the other columns are worth more than all marks. False if there is no assignment along the pairs,
  // which may happen if costs changed after the pairs were listed.
  template <class NameOf>
  bool take_least_marks(const NameOf& name_of, int turn) {
    std::vector<Vertex> row_ids, column_ids, short_row(num_rows_, NONE), short_column(num_columns_, NONE);
    const auto shorten = [](const std::vector<Vertex>& longs, std::vector<Vertex>& short_of, std::vector<Vertex>& ids) {
      for (const Vertex one : longs) {
        if (short_of[one] != NONE) continue;
        short_of[one] = static_cast<Vertex>(ids.size());
        ids.push_back(one);
      }
    };
    shorten(pairs_.rows, short_row, row_ids);
    shorten(pairs_.columns, short_column, column_ids);
    const auto rows = static_cast<Vertex>(row_ids.size()), columns = static_cast<Vertex>(column_ids.size());

    std::vector<Count> marks, offsets(Count{rows} + 1);
    Count most = 0;
    for (Count k = 0; k < pairs_.size(); ++k) {
      marks.push_back(mark(name_of(pairs_.rows[k], pairs_.columns[k]), turn));
      most = std::max(most, marks.back());
      ++offsets[short_row[pairs_.rows[k]] + 1];
    }
    for (Vertex row = 0; row < rows; ++row) offsets[row + 1] += offsets[row];
    std::vector<Count> rewards(columns);
    for (Vertex j = 0; j < columns && rows < columns; ++j) {
      rewards[j] = may_leave_[column_ids[j]] ? 0 : 2 * (most + 1) * (rows + 1);
    }
    std::vector<Vertex> of_entries(pairs_.size());
    std::vector<Count> weights(pairs_.size());
    for (Count k = 0; k < pairs_.size(); ++k) {
      of_entries[k] = short_column[pairs_.columns[k]];
      weights[k] = marks[k] - rewards[of_entries[k]];
    }

    using Costs = const SparseCosts<Count, Count, Vertex>;
    Costs costs{rows, columns, offsets.data(), of_entries.data(), weights.data(), false};
    std::vector<Vertex> row_match(rows), col_match(columns);
    std::vector<Count> u(rows), v(columns);
    SparseShortestPathCounters counted{};
    SparseShortestPathSolver<Costs> solver(costs, counted);
    if (solver.solve(false, row_match.data(), col_match.data(), u.data(), v.data()) < rows) return false;
    for (Vertex row = 0; row < rows; ++row) row_match_[row_ids[row]] = column_ids[row_match[row]];
    for (Vertex j = 0; j < columns; ++j) {
      if (v[j] + rewards[j] != 0) may_leave_[column_ids[j]] = false;
    }
    PairList kept;
    for (Count k = 0; k < pairs_.size(); ++k) {
      if (weights[k] == u[short_row[pairs_.rows[k]]] + v[of_entries[k]]) kept.add(pairs_.rows[k], pairs_.columns[k]);
    }
    pairs_ = std::move(kept);
    return true;
  }

  const Vertex num_rows_, num_columns_;
  const int mark_bits_;
  PairList pairs_;
  std::vector<bool> may_leave_;  // [num_columns]
  Vertex* const row_match_;      // [num_rows]
  std::vector<Vertex> mates_;    // [num_columns] the row; num_rows for free columns
  std::vector<Count> begins_;    // [num_rows + 2] of the edges of each vertex
  std::vector<Vertex> ends_, component_;
};

// Keeps the pairs of which other cheapest assignments consist: they lie on cycles. A pair whose slack is 0 only up to rounding is
// most often on no cycle, and goes. If one lies on a cycle, these duals do not tell whether it is tight, and the result is false;
// with_choice is then the number of rows with such cycles.
inline bool keep_tight_pairs(Vertex num_rows, Vertex num_columns, NearPairs& near, Vertex* row_match, Count& with_choice) {
  if (near.all_are_tight) return true;
  const Count size = near.pairs.size();
  const std::unique_ptr<bool[]> is_kept(new bool[size]);
  NamedOptimum on_cycles(num_rows, num_columns, near.pairs, near.may_leave, row_match);
  with_choice = on_cycles.drop_what_is_sure(is_kept.get());
  PairList kept;
  for (Count k = 0; k < size; ++k) {
    if (!is_kept[k]) continue;
    if (!near.are_tight[k]) return false;
    kept.add(near.pairs.rows[k], near.pairs.columns[k]);
  }
  near.pairs = std::move(kept);
  for (Vertex j = 0; j < num_columns; ++j) near.may_leave[j] = on_cycles.may_be_left(j);
  return true;
}

// Makes a cheapest assignment the one that the rule names, and counts the rows that had a choice. False if its duals do not tell
// which assignments are as cheap.
template <class Rows, class Dual, class NameOf>
bool settle_ties(Rows rows, const ShortestPathResult<Dual>& result, const std::vector<bool>& must_be_used, const NameOf& name_of,
                 Count& with_choice) {
  NearPairs near;
  const Vertex num_rows = rows.num_rows(), num_columns = rows.num_columns();
  if (!list_near_pairs(rows, result, must_be_used, near)) return false;
  if (!keep_tight_pairs(num_rows, num_columns, near, result.row_match, with_choice)) return false;
  for (Vertex j = 0; j < num_columns; ++j) {
    if (near.may_leave[j] && result.v[j] != 0) return false;
  }
  NamedOptimum named(num_rows, num_columns, std::move(near.pairs), std::move(near.may_leave), result.row_match);
  with_choice = named.decide(name_of, 0);
  if (with_choice == NONE) return false;
  std::fill_n(result.col_match, num_columns, NONE);
  for (Vertex row = 0; row < num_rows; ++row) result.col_match[result.row_match[row]] = row;
  return true;
}
