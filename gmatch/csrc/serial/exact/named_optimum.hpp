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

class NamedOptimum {
 public:
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
      const auto weight_of = [&](Count k) -> Count {
        const Count name = name_of(pairs_.rows[k], pairs_.columns[k]);
        return name < 0 ? 0 : mark_of(name, turn, mark_bits_);
      };
      if (!take_least(weight_of, most)) return with_choice;
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

  // Tarjan's method, with a path instead of recursion. An edge is left out if it can neither find a vertex nor join older
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

  bool has_room(Count most, Vertex rows) const {
    constexpr double MOST = 1LL << 61;
    return largest_sum(most, rows, num_rows_ < num_columns_) < MOST;
  }

  // Takes an assignment of the least weight, and keeps the pairs that assignments of the least weight may use. A column that
  // must be used is worth more than all weights. No weight is above `most`. False if there is no assignment along the pairs,
  // which may happen if costs changed after the pairs were listed.
  template <class WeightOf>
  bool take_least(const WeightOf& weight_of, Count most) {
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
      rewards[j] = may_leave_[column_ids[j]] ? 0 : 2 * (most + 1) * (rows + 1);
    }
    MarkedPairs marked{rows, columns, std::vector<Count>(Count{rows} + 1), std::vector<Vertex>(pairs_.size()),
                       std::vector<Count>(pairs_.size())};
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
