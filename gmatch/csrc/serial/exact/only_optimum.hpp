// only_optimum.hpp: whether no other assignment is as cheap as a cheapest one, on one core.
//
// Other cheapest assignments differ from it along alternating cycles of pairs that optimal duals make tight. So rows are
// vertices, with an edge from each to the mates of its tight columns. If these edges form no cycle, no other assignment is as
// cheap. Free rows and columns are one vertex: they may change places with all that may stay free.
//
// Duals of floats are rounded. Add up the slacks of the pairs and of the free vertices, and how far all other slacks lie below
// 0. Each pair of another cheapest assignment has less slack than this sum, so pairs within it count as tight.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "serial/core_search.hpp"
#include "serial/shortest_path.hpp"

template <class Rows, class Dual>
class OnlyOptimum {
 public:
  // Pairs that cost more than the limit count as free. `must_be_used` names the columns that must be used; it may be empty.
  OnlyOptimum(Rows rows, Dual limit, const ShortestPathResult<Dual>& result, std::vector<bool> must_be_used = {})
      : num_rows_(rows.num_rows()),
        num_columns_(rows.num_columns()),
        rows_(std::move(rows)),
        limit_(limit),
        has_limit_(limit < beyond_all(Dual{})),
        columns_may_stay_free_(num_rows_ < num_columns_ || has_limit_),
        result_(result),
        must_be_used_(std::move(must_be_used)),
        mates_(num_columns_, num_rows_),
        is_out_(num_rows_, true),
        begins_(1, 0) {}

  // False also if rounding hides the answer.
  bool is_only() {
    find_mates();
    find_reach();
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (!add_edges(row)) return false;
      begins_.push_back(ends_.size());
    }
    if (lost_ + below_ > reach_) return false;
    add_edges_of_free();
    return has_no_cycle();
  }

 private:
  static constexpr bool IS_INTEGER = std::numeric_limits<Dual>::is_integer;
  static constexpr Vertex EDGES_PER_ROW = 64;  // room for edges, on average
  using Scan = PricingScan<typename Rows::Entry, Dual, Rows::Scan::IS_NEGATED, true>;

  Dual cost(Vertex row, Vertex column) const { return static_cast<Dual>(rows_.at(row, column)); }
  bool must_be_used(Vertex column) const { return !must_be_used_.empty() && must_be_used_[column]; }
  bool may_leave(Dual v, Vertex column) const { return columns_may_stay_free_ && !must_be_used(column) && -v <= reach_; }

  void find_mates() {
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Vertex column = result_.row_match[row];
      is_out_[row] = column == NONE || (has_limit_ && cost(row, column) > limit_);
      if (!is_out_[row]) mates_[column] = row;
    }
  }

  // The sum of the slacks of the assignment, and the error that other slacks may have in all. Both are 0 for integers.
  void find_reach() {
    if constexpr (!IS_INTEGER) {
      constexpr double EPSILON = std::numeric_limits<double>::epsilon(), MORE = 1.001;
      for (Vertex row = 0; row < num_rows_; ++row) {
        const Vertex column = result_.row_match[row];
        const Dual u = result_.u[row];
        if (is_out_[row]) lost_ += std::abs(limit_ - u);
        else lost_ += std::abs((cost(row, column) - u) - result_.v[column]);
        if (has_limit_) lost_ += std::max(u - limit_, 0.0);
      }
      for (Vertex j = 0; j < num_columns_; ++j) {
        if (!columns_may_stay_free_ || must_be_used(j)) continue;
        lost_ += mates_[j] == num_rows_ ? std::abs(result_.v[j]) : std::max(result_.v[j], 0.0);
      }
      scale_ = std::max(largest_of(result_.u, num_rows_), largest_of(result_.v, num_columns_));
      if (has_limit_) scale_ = std::max(scale_, std::abs(limit_));
      lost_ = MORE * lost_ + 8 * EPSILON * (Count{num_rows_} + num_columns_) * scale_;
      reach_ = 8 * lost_;
      rounding_ = 8 * EPSILON * (scale_ + reach_);
    }
  }
  static Dual largest_of(const Dual* numbers, Vertex length) {
    Dual largest = 0;
    for (Vertex i = 0; i < length; ++i) largest = std::max(largest, std::abs(numbers[i]));
    return largest;
  }

  // False if there are more edges than a graph without a cycle has, or than there is room for, or if a row that is out could
  // have a free column.
  bool add_edges(Vertex row) {
    const Vertex free = num_rows_;
    const Dual u = result_.u[row];
    const auto* entries = rows_.entries(row);
    poll_.spend(num_columns_);
    listed_.resize(num_columns_);
    marks_.resize(num_columns_ / Scan::WORD + 1);
    const Vertex size = Scan::list_least(entries, result_.v, num_columns_, u + reach_ + rounding_, marks_.data(), listed_.data());
    for (Vertex i = 0; i < size; ++i) {
      const Vertex column = listed_[i], mate = mates_[column];
      const Dual of_pair = static_cast<Dual>(Rows::Scan::cost(entries[column]));
      if (mate == row || !(of_pair < beyond_all(Dual{})) || of_pair > limit_) continue;
      const Dual slack = (of_pair - u) - result_.v[column];
      if (slack < 0) below_ -= slack;
      if (slack > reach_) continue;
      if (!is_out_[row]) ends_.push_back(mate);
      else if (mate == free) return false;
      else of_free_.push_back(mate);
    }
    if (has_limit_ && !is_out_[row] && limit_ - u <= reach_) ends_.push_back(free);
    return static_cast<Count>(ends_.size()) <= Count{num_rows_} * std::min((num_rows_ + 1) / 2, EDGES_PER_ROW);
  }
  void add_edges_of_free() {
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (mates_[j] != num_rows_ && may_leave(result_.v[j], j)) of_free_.push_back(mates_[j]);
    }
    ends_.insert(ends_.end(), of_free_.begin(), of_free_.end());
    begins_.push_back(ends_.size());
  }

  // Takes away vertices that no edge leads to, until there is none (Kahn 1962).
  bool has_no_cycle() const {
    std::vector<Count> edges_to(Count{num_rows_} + 1);
    for (const Vertex end : ends_) ++edges_to[end];
    std::vector<Vertex> taken;
    for (Vertex vertex = 0; vertex <= num_rows_; ++vertex) {
      if (edges_to[vertex] == 0) taken.push_back(vertex);
    }
    for (std::size_t next = 0; next < taken.size(); ++next) {
      for (Count edge = begins_[taken[next]]; edge < begins_[taken[next] + 1]; ++edge) {
        if (--edges_to[ends_[edge]] == 0) taken.push_back(ends_[edge]);
      }
    }
    return taken.size() == static_cast<std::size_t>(num_rows_) + 1;
  }

  const Vertex num_rows_, num_columns_;
  Rows rows_;
  const Dual limit_;
  const bool has_limit_, columns_may_stay_free_;
  const ShortestPathResult<Dual>& result_;
  const std::vector<bool> must_be_used_;  // [num_columns], or none
  std::vector<Vertex> mates_;             // [num_columns] the row; num_rows of free columns
  std::vector<bool> is_out_;              // [num_rows]
  std::vector<Vertex> listed_, ends_, of_free_;
  std::vector<Marks> marks_;  // of the row that was read last
  std::vector<Count> begins_;  // [num_rows + 2] of the edges of a vertex
  Dual lost_ = 0, below_ = 0, reach_ = 0, rounding_ = 0, scale_ = 0;
  Poll poll_;
};

// For costs whose rows lie side by side.
template <class Cost, class Dual = typename DenseCosts<Cost>::Dual>
bool is_only_optimum(const DenseCosts<Cost>& costs, const ShortestPathResult<Dual>& result,
                     const std::vector<bool>& must_be_used = {}) {
  const auto is_only = [&](auto rows) {
    return OnlyOptimum<decltype(rows), Dual>(rows, costs.limit, result, must_be_used).is_only();
  };
  return costs.maximize ? is_only(StoredRows<Cost, Dual, true>{costs}) : is_only(StoredRows<Cost, Dual, false>{costs});
}
