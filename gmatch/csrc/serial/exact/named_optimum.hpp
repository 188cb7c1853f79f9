// named_optimum.hpp: the one of several cheapest assignments that a rule names, on one core; see gmatch/assignment/ties.py.
//
// The input is an assignment, and pairs along which all assignments are cheapest, such as the pairs that exact duals make tight.
// Other assignments differ from it along cycles: rows are vertices, with an edge from each to the mates of its columns, and
// all free rows and columns are one more vertex. So only pairs on cycles matter (strong components: Tarjan 1972), and the
// present pairs of their rows. The rule names the first assignment along these pairs (first_assignment.hpp).
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "serial/exact/exact_slacks.hpp"
#include "serial/exact/first_assignment.hpp"
#include "serial/shortest_path.hpp"

class NamedOptimum {
 public:
  // `row_match` is an assignment along some of the pairs; it becomes the named one.
  NamedOptimum(Vertex num_rows, Vertex num_columns, PairList pairs, std::vector<bool> may_leave, Vertex* row_match)
      : num_rows_(num_rows),
        num_columns_(num_columns),
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

  // Returns how many rows had a choice. `columns_first` says that the columns are the rows of the matrix as given.
  Vertex decide(bool columns_first) {
    const Vertex with_choice = drop_what_is_sure();
    if (with_choice == 0) return 0;
    const PairsInLists pairs(num_rows_, num_columns_, pairs_.rows, pairs_.columns);
    const auto may_leave = [&](Vertex column) { return may_leave_[column]; };
    FirstAssignment<PairsInLists>(pairs, num_rows_, num_columns_, may_leave, row_match_, nullptr).settle(columns_first);
    return with_choice;
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

  const Vertex num_rows_, num_columns_;
  PairList pairs_;
  std::vector<bool> may_leave_;  // [num_columns]
  Vertex* const row_match_;      // [num_rows]
  std::vector<Vertex> mates_;    // [num_columns] the row; num_rows for free columns
  std::vector<Count> begins_;    // [num_rows + 2] of the edges of each vertex
  std::vector<Vertex> leavers_;  // the rows of columns that may stay free
  std::vector<Vertex> component_;
};
