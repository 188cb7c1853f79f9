// bottleneck_search.hpp: the assignment whose most expensive pair is cheapest, of dense costs, on one core of the host.
//
// The threshold begins at the highest of the least costs of all rows, and of all columns where all are matched: no assignment
// does with less. Rows are matched one after the other, by augmenting paths of pairs up to the threshold, breadth first. The
// tree of a row without such a path reaches some rows and one column less. All pairs of these rows up to the threshold are with
// these columns. So every assignment has another pair of these rows, and the threshold rises to the cheapest of them. The
// columns of the tree and the rows outside it cover all cheaper pairs, which is a proof (König 1931). The threshold never
// falls, and matched rows stay matched.
//
// U. Derigs, U. Zimmermann, "An augmenting path method for solving linear bottleneck assignment problems", Computing 19
// (1978).
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "costs/dense.cuh"
#include "team/interrupt.hpp"

template <class Cost>
class BottleneckSearch {
 public:
  using Dual = typename DenseCosts<Cost>::Dual;

  // Writes row_match and col_match, and for each vertex whether it is in the cover.
  BottleneckSearch(const DenseCosts<Cost>& costs, Vertex* row_match, Vertex* col_match, bool* cover_rows, bool* cover_columns)
      : costs_(costs),
        row_match_(row_match),
        col_match_(col_match),
        cover_rows_(cover_rows),
        cover_columns_(cover_columns),
        order_(costs.num_rows),
        least_(costs.num_columns),
        predecessor_(costs.num_columns),
        is_reached_(costs.num_columns) {}

  // Returns how many rows are matched. If not all rows are, there is no assignment, and the other results mean nothing.
  Vertex solve() {
    std::fill_n(row_match_, costs_.num_rows, NONE);
    std::fill_n(col_match_, costs_.num_columns, NONE);
    begin_at_minima();
    for (Vertex matched = 0; matched < costs_.num_rows; ++matched) {
      if (is_forbidden(threshold_) || !augment(order_[matched])) return matched;
    }
    return costs_.num_rows;
  }

  Count rises() const { return rises_; }

 private:
  void begin_at_minima() {
    std::vector<Dual> of_columns(costs_.num_columns, costs_.infinite());
    std::vector<Dual> of_rows(costs_.num_rows, costs_.infinite());
    std::vector<double> sums(costs_.num_rows, 0);
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      Dual least = costs_.infinite();
      order_[row] = row;
      for (Vertex j = 0; j < costs_.num_columns; ++j) {
        const Dual here = costs_.at(row, j);
        sums[row] += static_cast<double>(here);
        least = std::min(least, here);
        of_columns[j] = std::min(of_columns[j], here);
      }
      of_rows[row] = least;
    }
    std::stable_sort(order_.begin(), order_.end(), [&](Vertex a, Vertex b) { return sums[a] > sums[b]; });
    const auto row = std::max_element(of_rows.begin(), of_rows.end());
    threshold_ = *row;
    std::fill_n(cover_rows_, costs_.num_rows, true);
    std::fill_n(cover_columns_, costs_.num_columns, false);
    cover_rows_[row - of_rows.begin()] = false;
    if (costs_.num_rows < costs_.num_columns) return;
    const auto column = std::max_element(of_columns.begin(), of_columns.end());
    if (!(threshold_ < *column)) return;
    threshold_ = *column;
    std::fill_n(cover_rows_, costs_.num_rows, false);
    std::fill_n(cover_columns_, costs_.num_columns, true);
    cover_columns_[column - of_columns.begin()] = false;
  }

  bool augment(Vertex root) {
    std::fill(least_.begin(), least_.end(), costs_.infinite());
    std::fill(is_reached_.begin(), is_reached_.end(), char{false});
    tree_.assign(1, root);
    std::size_t scanned = 0;
    Vertex end = NONE;
    while (end == NONE) {
      if (scanned < tree_.size()) {
        end = relax(tree_[scanned++]);
      } else {
        if (!raise()) return false;
        end = reach_up_to_threshold();
      }
    }
    while (end != NONE) {
      const Vertex row = predecessor_[end];
      col_match_[end] = row;
      end = std::exchange(row_match_[row], end);
    }
    return true;
  }

  // Reaches the columns of a row up to the threshold, and returns the first that is free.
  Vertex relax(Vertex row) {
    const Dual threshold = threshold_;
    poll_.spend(costs_.num_columns);
    for (Vertex j = 0; j < costs_.num_columns; ++j) {
      const Dual here = costs_.at(row, j);
      if (!(here < least_[j])) continue;
      least_[j] = here;
      predecessor_[j] = row;
      if (here <= threshold && !is_reached_[j] && reach(j)) return j;
    }
    return NONE;
  }

  Vertex reach_up_to_threshold() {
    for (Vertex j = 0; j < costs_.num_columns; ++j) {
      if (least_[j] <= threshold_ && !is_reached_[j] && reach(j)) return j;
    }
    return NONE;
  }

  // Returns whether the column is free; else its row joins the tree. A reached column keeps its predecessor.
  bool reach(Vertex column) {
    is_reached_[column] = true;
    least_[column] = -costs_.infinite();
    if (col_match_[column] == NONE) return true;
    tree_.push_back(col_match_[column]);
    return false;
  }

  // Raises the threshold to the cheapest pair of the tree with a column that it does not reach; false if there is none.
  bool raise() {
    Dual least = costs_.infinite();
    for (Vertex j = 0; j < costs_.num_columns; ++j) {
      if (!is_reached_[j]) least = std::min(least, least_[j]);
    }
    if (!(least < costs_.infinite())) return false;
    threshold_ = least;
    ++rises_;
    std::fill_n(cover_rows_, costs_.num_rows, true);
    for (const Vertex row : tree_) cover_rows_[row] = false;
    std::copy(is_reached_.begin(), is_reached_.end(), cover_columns_);
    return true;
  }

  const DenseCosts<Cost>& costs_;
  Vertex* const row_match_;
  Vertex* const col_match_;
  bool* const cover_rows_;
  bool* const cover_columns_;
  std::vector<Vertex> order_;        // [num_rows] of matching: rows of expensive pairs first, which have less choice
  std::vector<Dual> least_;          // [num_columns] the least cost with a row of the tree; below all once it is reached
  std::vector<Vertex> predecessor_;  // [num_columns] that row
  std::vector<char> is_reached_;     // [num_columns]
  std::vector<Vertex> tree_;         // its rows, in the order in which they were reached
  Dual threshold_{};
  Count rises_ = 0;
  Poll poll_;
};
