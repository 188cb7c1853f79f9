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
#include <utility>
#include <vector>

#include "serial/exact/exact_slacks.hpp"
#include "serial/exact/marked_pairs.hpp"
#include "serial/rows/row_picks.hpp"
#include "serial/shortest_path.hpp"

// Pairs, of which some make other cheapest assignments, and the columns that may stay free.
struct NearPairs {
  PairList pairs;
  std::vector<char> are_tight;  // for each pair, whether its slack is exactly 0
  std::vector<bool> may_leave;  // [num_columns]
  bool all_are_tight = true;    // with v = 0 of all columns that may stay free

  void add(Vertex row, const Vertex* columns, const char* tight, Vertex number) {
    pairs.rows.insert(pairs.rows.end(), number, row);
    pairs.columns.insert(pairs.columns.end(), columns, columns + number);
    are_tight.insert(are_tight.end(), tight, tight + number);
    all_are_tight = all_are_tight && std::find(tight, tight + number, 0) == tight + number;
  }
};

// More pairs are not listed. They take 30 bytes each, with their marks.
constexpr Count MOST_LISTED = 1 << 22;

// Lists the pairs that all cheapest assignments consist of, and others whose slack is as small; see only_optimum.hpp. False if
// the duals do not prove that, or if the pairs are too many. Knuth's TwoSum finds what a difference loses by rounding.
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
  const auto minus = [](Dual a, Dual b, Dual& lost) -> Dual {
    if constexpr (!IS_INTEGER) {
      const SplitDifference difference(a, b);
      lost += std::abs(difference.lost);
      return difference.rounded;
    }
    return a - b;
  };
  using Scan = PricingScan<typename Rows::Entry, Dual, Rows::Scan::IS_NEGATED, true>;
  std::vector<Marks> marks(num_columns / Scan::WORD + 1);
  std::vector<Vertex> listed(num_columns);
  std::vector<char> are_tight(num_columns);
  Dual below = 0;
  Poll poll;
  for (Vertex row = 0; row < num_rows; ++row) {
    const auto* entries = rows.entries(row);
    poll.spend(num_columns);
    bool has_own = false;
    const Dual most = result.u[row] + (reach + 2 * rounding);
    const Vertex size = Scan::list_least(entries, result.v, num_columns, most, marks.data(), listed.data());
    Vertex near = 0;  // the near pairs take the places of the listed ones
    for (Vertex i = 0; i < size; ++i) {
      const Vertex j = listed[i];
      const Dual cost = static_cast<Dual>(Rows::Scan::cost(entries[j]));
      Dual lost = 0;
      const Dual slack = minus(minus(cost, result.u[row], lost), result.v[j], lost);
      if (!(slack <= reach + rounding && cost < beyond_all(Dual{}))) continue;
      below += slack < 0 ? -slack : 0;
      has_own |= j == result.row_match[row];
      are_tight[near] = slack == 0 && lost == 0;
      listed[near++] = j;
    }
    if (!has_own || found.pairs.size() + near > MOST_LISTED) return false;
    found.add(row, listed.data(), are_tight.data(), near);
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
  template <class Kept = bool>
  Vertex drop_what_is_sure(Kept* is_kept = nullptr) {
    find_components();
    std::vector<bool> has_choice(num_rows_);
    for (Vertex row = 0; row < num_rows_; ++row) {
      for (Count k = begins_[row]; k < begins_[row + 1] && !has_choice[row]; ++k) has_choice[row] = is_on_cycle(k);
    }
    pairs_.keep_if([&](Count k) {
      const bool keeps = is_on_cycle(k) || (is_own(k) && has_choice[pairs_.rows[k]]);
      if (is_kept != nullptr) is_kept[k] = keeps;
      return keeps;
    });
    return static_cast<Vertex>(std::count(has_choice.begin(), has_choice.end(), true));
  }

  // After drop_what_is_sure: forgets the columns that are used by all assignments.
  void drop_who_never_leaves() {
    for (Vertex j = 0; j < num_columns_; ++j) may_leave_[j] = may_leave_[j] && component_[mates_[j]] == component_[free()];
  }

  const PairList& pairs() const { return pairs_; }
  const std::vector<bool>& may_leave() const { return may_leave_; }

  // Whether sums of weights up to `most` stay far from every overflow, with as many rows.
  bool has_room(Count most, Vertex rows) const {
    constexpr double MOST = 1LL << 61;
    return largest_sum(most, rows) < MOST;
  }

  // After drop_what_is_sure: makes the assignment an exactly cheapest one, and keeps the pairs of exactly cheapest ones. False if
  // the costs have changed, and there is none.
  bool take_cheapest(const ExactSlacks& slacks) {
    return take_least([&](Count k) { return slacks.of_pairs[k]; }, [&](Vertex j) { return slacks.of_columns[j]; }, slacks.most);
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
      const Count most = (Count{1} << mark_bits_) - 1;
      if (!has_room(most, rows)) return NONE;
      const auto weight_of = [&](Count k) { return mark(name_of(pairs_.rows[k], pairs_.columns[k]), turn); };
      if (!take_least(weight_of, [](Vertex) { return 0; }, most)) return with_choice;
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
    leavers_.clear();
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (may_leave_[j] && mates_[j] != free()) leavers_.push_back(mates_[j]);
    }
    begins_[num_rows_ + 1] = pairs_.size() + static_cast<Count>(leavers_.size());
    number_components();
  }
  // The vertex that an edge leads to. Edges of rows are pairs, and the edges of the free vertex follow them.
  Vertex end_of(Count edge) const {
    return edge < pairs_.size() ? mates_[pairs_.columns[edge]] : leavers_[edge - pairs_.size()];
  }

  // Tarjan's method, with a path in the place of recursion. An edge is left out if it can neither find a vertex nor join older
  // ones.
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
        const bool is_done = seen == size && low[vertex] == first[open.front()];
        if (next[vertex] < begins_[vertex + 1] && !is_done) {
          const Vertex end = end_of(next[vertex]++);
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

  // No sum of weights and rewards is larger, nor of their duals.
  double largest_sum(Count most, Vertex rows) const {
    const double of_reward = num_rows_ < num_columns_ ? 2.0 * (rows + 1) : 1;
    return (most + 1.0) * of_reward * (32 + 8.0 * rows);
  }

  // By SplitMix64 (Steele, Lea, Flood 2014).
  Count mark(Count name, int turn) const {
    if (name < 0) return 0;
    unsigned long long mixed = name + (turn + 1) * 0x9E3779B97F4A7C15ULL;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBULL;
    return static_cast<Count>((mixed ^ mixed >> 31) >> (64 - mark_bits_));
  }

  // Takes an assignment of the least weight, and keeps the pairs that assignments of the least weight may use. A column that
  // stays free costs leave_cost_of(column). A column that must be used is worth more than all weights. No weight and no cost of
  // leaving is above `most` in magnitude. False if there is no assignment along the pairs, which may happen if costs changed after
  // the pairs were listed.
  template <class WeightOf, class LeaveCostOf>
  bool take_least(const WeightOf& weight_of, const LeaveCostOf& leave_cost_of, Count most) {
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

    std::vector<Count> rewards(columns);
    for (Vertex j = 0; j < columns && rows < columns; ++j) {
      rewards[j] = may_leave_[column_ids[j]] ? leave_cost_of(column_ids[j]) : 2 * (most + 1) * (rows + 1);
    }
    MarkedPairs marked{rows, columns, std::vector<Count>(Count{rows} + 1), std::vector<Vertex>(pairs_.size()),
                       std::vector<Count>(pairs_.size()), largest_sum(most, rows)};
    for (Count k = 0; k < pairs_.size(); ++k) {
      const Vertex column = short_column[pairs_.columns[k]];
      marked.columns[k] = column;
      marked.weights[k] = weight_of(k) - rewards[column];
      ++marked.offsets[short_row[pairs_.rows[k]] + 1];
    }
    for (Vertex row = 0; row < rows; ++row) marked.offsets[row + 1] += marked.offsets[row];
    LeastMarks found;
    if (!found.find(marked)) return false;
    for (Vertex row = 0; row < rows; ++row) row_match_[row_ids[row]] = column_ids[found.row_match[row]];
    for (Vertex j = 0; j < columns; ++j) {
      if (found.v[j] != 0) may_leave_[column_ids[j]] = false;  // all these assignments use it
    }
    pairs_.keep_if([&](Count k) {
      return marked.weights[k] == found.u[short_row[pairs_.rows[k]]] + found.v[marked.columns[k]];
    });
    return true;
  }

  const Vertex num_rows_, num_columns_;
  const int mark_bits_;
  PairList pairs_;
  std::vector<bool> may_leave_;  // [num_columns]
  Vertex* const row_match_;      // [num_rows]
  std::vector<Vertex> mates_;    // [num_columns] the row; num_rows for free columns
  std::vector<Count> begins_;    // [num_rows + 2] of the edges of each vertex
  std::vector<Vertex> leavers_;  // the rows of columns that may stay free
  std::vector<Vertex> component_;
};

// Makes a cheapest assignment the one that the rule names, and counts the rows that had a choice. False if its duals do not tell
// which assignments are as cheap. Pairs that tie only up to rounding are no choice, since other duals may leave them out.
template <class Rows, class Dual, class NameOf>
bool settle_ties(Rows rows, const ShortestPathResult<Dual>& result, const std::vector<bool>& must_be_used, const NameOf& name_of,
                 Count& with_choice) {
  NearPairs near;
  const Vertex num_rows = rows.num_rows(), num_columns = rows.num_columns();
  if (!list_near_pairs(rows, result, must_be_used, near)) return false;
  NamedOptimum named(num_rows, num_columns, std::move(near.pairs), std::move(near.may_leave), result.row_match);
  if constexpr (!std::numeric_limits<Dual>::is_integer) {
    // A pair whose slack is 0 only up to rounding is most often on no cycle, and goes.
    if (!near.all_are_tight) {
      std::vector<char> is_kept(near.are_tight.size());
      const Vertex rows_near_ties = named.drop_what_is_sure(is_kept.data());
      named.drop_who_never_leaves();
      bool are_tight = true;
      for (std::size_t k = 0; k < is_kept.size(); ++k) are_tight = are_tight && (near.are_tight[k] || !is_kept[k]);
      for (Vertex j = 0; j < num_columns; ++j) are_tight = are_tight && (result.v[j] == 0 || !named.may_leave()[j]);
      ExactSlacks slacks;
      const bool is_cheapest =
          are_tight || (slacks.find(rows, result, named.pairs(), named.may_leave()) &&
                        named.has_room(slacks.most, rows_near_ties) && named.take_cheapest(slacks));
      if (!is_cheapest) return false;
    }
  }
  const Vertex rows_with_ties = named.decide(name_of, 0);
  if (rows_with_ties == NONE) return false;
  with_choice = rows_with_ties;
  std::fill_n(result.col_match, num_columns, NONE);
  for (Vertex row = 0; row < num_rows; ++row) result.col_match[result.row_match[row]] = row;
  return true;
}
