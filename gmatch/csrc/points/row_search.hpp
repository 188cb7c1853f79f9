// row_search.hpp: assignment of points of many coordinates on one core of a host, by searches that ask for rows of costs.
//
//   core       serial/core_search.hpp from duals of 0, by bounds of what pairs cost if there are products that bound it
//   centroids  if that core is given up: the problem of the centroids of fours of near points, solved in the same way, gives
//              duals and pairs that are nearly right
//   auction    row_auction.hpp, from these
//   core       from the duals of the auction
//   rows       if that core is given up: serial/shortest_path.hpp, from the last duals
//
// If points may stay free, the steps after the first one take a doubled problem, which is square: see point_rows.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "points/fours.hpp"
#include "points/point_rows.hpp"
#include "points/row_auction.hpp"
#include "serial/core_search.hpp"
#include "serial/shortest_path.hpp"

namespace points {

struct RowSearchCounters {
  CoreCounters core;  // of all cores of these points; and of the search without a core
  Count levels;       // of centroids
  Count bids;         // in the auction
};

// There are at most as many x as y. All x are matched unless there is a limit: pairs that cost more are never made.
class RowSearch {
 public:
  using Result = ShortestPathResult<double>;

  // `bounds` may be nullptr. The first core is priced by all threads.
  RowSearch(const PairCosts& costs, double limit, const PairBounds* bounds, int threads, RowSearchCounters& counters)
      : costs_(costs),
        limit_(limit),
        bounds_(bounds),
        threads_(threads),
        counters_(counters),
        n_(costs.x->number),
        m_(costs.y->number),
        may_stay_free_(n_ < m_ || limit < FAR) {}

  // With has_duals the result holds v to start from, and mates of x or NONE. A free x has the mate NONE, or a mate that costs the
  // limit or more.
  void solve(bool has_duals, const Result& result) {
    if (has_duals ? solve_from_duals(result) : solve_from_nothing(result)) return;
    solve_from_centroids(result);
  }

 private:
  static constexpr double FAR = std::numeric_limits<double>::infinity();
  // Entries of a core for each row: 12 kB.
  static constexpr Vertex MOST_KNOWN = 1000;
  // A smaller problem begins from duals of 0.
  static constexpr Vertex SMALLEST = 16;

  struct Vectors {
    std::vector<double> u, v;
    std::vector<Vertex> row_match, col_match;

    Vectors(Vertex rows, Vertex columns) : u(rows, 0), v(columns, 0), row_match(rows, NONE), col_match(columns, NONE) {}
    Result result() { return {u.data(), v.data(), row_match.data(), col_match.data()}; }
  };

  bool solve_from_nothing(const Result& result) {
    PairCosts cut = costs_;
    cut.limit = limit_;
    if (bounds_ != nullptr) return solve_by_sampled_core(BoundRows(cut, *bounds_), result);
    return solve_by_sampled_core(PointRows(cut), result);
  }
  template <class Rows>
  bool solve_by_sampled_core(const Rows& rows, const Result& result) {
    if (n_ == m_) {
      counters_.core.trace.add(CoreStep::sample);
      const CoreLimitsOfRows limits = CoreLimitsOfRows::of_matrix(n_, m_);
      if (!CoreSample<Rows>(rows, limits.entries, counters_.core.dense).speaks_for_core()) return false;
    }
    return solve_by_core(rows, false, CoreLimitsOfRows::of_matrix(n_, m_).fewest_matched, result);
  }

  bool solve_from_duals(const Result& result) {
    if (!may_stay_free_) return solve_by_core(PointRows(costs_), true, 0, result);
    Vectors doubled = doubled_from(result.v);
    if (!solve_by_core(doubled_rows(), true, 0, doubled.result())) return false;
    halve(doubled, result);
    return true;
  }

  // Returns false if the core is given up.
  template <class Rows>
  bool solve_by_core(const Rows& rows, bool has_duals, Vertex fewest_matched, const Result& result) {
    CoreCounters counted{};
    const Vertex size = rows.num_rows(), width = rows.num_columns();
    const Count entries = std::min(CoreLimitsOfRows::entries_of_matrix(size, width), Count{size} * MOST_KNOWN);
    PricedRows<Rows, double> core(rows, {entries, fewest_matched}, threads_, counted.dense, counters_.core.trace);
    SparseShortestPathSolver<PricedRows<Rows, double>> solver(core, counted.sparse);
    solver.solve(has_duals, result.row_match, result.col_match, result.u, result.v, has_duals);
    counters_.core.dense.rows_scanned += counted.dense.rows_scanned;
    counters_.core.sparse.start_size = counted.sparse.start_size;
    counters_.core.sparse.rows_scanned += counted.sparse.rows_scanned;
    counters_.core.sparse.entries_read += counted.sparse.entries_read;
    counters_.core.sparse.augmentations += counted.sparse.augmentations;
    counters_.core.sparse.dual_updates += counted.sparse.dual_updates;
    counters_.core.times_learned += core.times_learned();
    counters_.core.price_ns += core.price_ns();
    return !core.gives_up();
  }

  // No pair above the limit is made, so none needs to cost far more: large costs make duals large, which rounds them. At the
  // limit itself they would tie with points that stay free.
  PointRows doubled_rows() const {
    if (!(limit_ < FAR)) return PointRows(costs_, FAR);
    PairCosts cut = costs_;
    cut.limit = limit_ + std::abs(limit_);
    return PointRows(cut, 2 * limit_);
  }

  // Duals of the doubled problem: v of a copy of x is what v leaves this x.
  Vectors doubled_from(const double* v) {
    Vectors doubled(n_ + m_, n_ + m_);
    for (Vertex j = 0; j < m_; ++j) doubled.v[j] = std::min(v[j], 0.0);
    PointRows rows(costs_);
    Poll poll;
    for (Vertex i = 0; i < n_; ++i) {
      ++counters_.core.dense.rows_scanned;
      poll.spend(m_);
      const double* const entries = rows.entries(i);
      double least = limit_;
      for (Vertex j = 0; j < m_; ++j) least = std::min(least, entries[j] - doubled.v[j]);
      doubled.v[m_ + i] = least;
    }
    return doubled;
  }
  // A point of the problem has half the sum of its own dual and of its copy's: gmatch/backends/doubled.py.
  void halve(const Vectors& doubled, const Result& result) const {
    for (Vertex i = 0; i < n_; ++i) {
      const double sum = doubled.u[i] + doubled.v[m_ + i];
      result.u[i] = sum / 2;
      result.row_match[i] = doubled.row_match[i] < m_ ? doubled.row_match[i] : NONE;
    }
    for (Vertex j = 0; j < m_; ++j) result.v[j] = std::min((doubled.v[j] + doubled.u[n_ + j]) / 2, 0.0);
    std::fill_n(result.col_match, m_, NONE);
    for (Vertex i = 0; i < n_; ++i) {
      if (result.row_match[i] != NONE) result.col_match[result.row_match[i]] = i;
    }
  }

  void solve_from_centroids(const Result& result) {
    counters_.core.trace.add(CoreStep::price_again);
    std::vector<double> v(m_, 0);
    std::vector<Vertex> mates(n_, NONE);
    if (n_ >= SMALLEST) match_centroids(v, mates);
    if (limit_ == FAR) match_rest(mates);
    if (!may_stay_free_) return solve_from(PointRows(costs_), v, std::move(mates), result);
    Vectors doubled = doubled_from(v.data());
    std::vector<Vertex> mates_of_both(n_ + m_, NONE);
    for (Vertex j = 0; j < m_; ++j) mates_of_both[n_ + j] = j;
    for (Vertex i = 0; i < n_; ++i) {
      mates_of_both[i] = mates[i] == NONE ? m_ + i : mates[i];
      if (mates[i] != NONE) mates_of_both[n_ + mates[i]] = m_ + i;
    }
    solve_from(doubled_rows(), doubled.v, std::move(mates_of_both), doubled.result());
    halve(doubled, result);
  }

  // Duals of y by those of centroids, and members of matched fours as pairs.
  void match_centroids(std::vector<double>& v, std::vector<Vertex>& mates) {
    const std::size_t dimension = costs_.x->dimension;
    const Fours of_x(costs_.x->points, n_, dimension), of_y(costs_.y->points, m_, dimension);
    const PointsInPanels x(of_x.centroids.data(), of_x.number, dimension), y(of_y.centroids.data(), of_y.number, dimension);
    Vectors found(x.number, y.number);
    RowSearchCounters counted{};
    RowSearch(costs_.between(x, y), limit_, nullptr, threads_, counted).solve(false, found.result());
    counters_.levels = counted.levels + 1;
    PairCosts cut = costs_.between(x, *costs_.y);
    cut.limit = limit_;
    std::fill(v.begin(), v.end(), may_stay_free_ ? 0 : FAR);
    PointRows rows(cut);
    for (Vertex i = 0; i < x.number; ++i) {
      const double* const entries = rows.entries(i);
      for (Vertex j = 0; j < m_; ++j) v[j] = std::min(v[j], entries[j] - found.u[i]);
      if (found.row_match[i] == NONE || !(costs_.between(x, y).of_pair(i, found.row_match[i]) <= limit_)) continue;
      for (Vertex k = 0; k < Fours::SIZE; ++k) {
        mates[of_x.members[Fours::SIZE * i + k]] = of_y.members[Fours::SIZE * found.row_match[i] + k];
      }
    }
  }
  // All x that have no mate get a free one.
  void match_rest(std::vector<Vertex>& mates) const {
    std::vector<char> is_taken(m_, false);
    for (const Vertex mate : mates) {
      if (mate != NONE) is_taken[mate] = true;
    }
    Vertex next = 0;
    for (Vertex& mate : mates) {
      if (mate != NONE) continue;
      while (is_taken[next]) ++next;
      mate = next++;
    }
  }

  void solve_from(const PointRows& rows, const std::vector<double>& v, std::vector<Vertex> mates, const Result& result) {
    const Vertex size = rows.num_rows();
    counters_.core.trace.add(CoreStep::auction);
    {
      RowAuction<PointRows> auction(rows, v, std::move(mates));
      auction.hold();
      counters_.bids += auction.num_bids();
      counters_.core.dense.rows_scanned += auction.num_read();
      auction.copy(result.v, result.row_match);
    }
    if (solve_by_core(rows, true, 0, result)) return;
    counters_.core.trace.add(CoreStep::search_matrix);
    std::fill_n(result.row_match, size, NONE);
    const ShortestPathOptions<double> options{-FAR, FAR, true};
    ShortestPathSolver<PointRows, double>(rows, FAR, options, result, counters_.core.dense).solve();
  }

  const PairCosts costs_;
  const double limit_;
  const PairBounds* const bounds_;
  const int threads_;
  RowSearchCounters& counters_;
  const Vertex n_, m_;
  const bool may_stay_free_;
};

}  // namespace points
