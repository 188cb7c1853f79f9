// sparse_auction.hpp: the auction of serial/auction.hpp for a sparse problem: its first prices and its epsilons.
//
// It is not held if there are many ties: bids would be epsilon, and searches are short.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "costs/sparse.cuh"
#include "serial/auction.hpp"

// As many rows as columns. The counters are the search's.
template <class Costs, class Counters>
class SparseAuction {
 public:
  using Dual = typename Costs::Dual;

  SparseAuction(const Costs& costs, Counters& counters)
      : costs_(costs), counters_(counters), v_(costs.num_columns, FAR) {}

  // Returns false, and sets no duals, if the auction is not worthwhile.
  bool hold() {
    if (!reduce_columns()) return false;
    measure();
    if (rows_with_spread_ <= costs_.num_rows * SPREAD) return false;
    const double spread = typical(spreads_), finest = std::max(std::ldexp(typical(magnitudes_), -PRECISION), least_epsilon());
    SerialAuction<SparseAuction> auction(*this, costs_.num_rows, v_, LEFT);
    auction.hold(spread, finest, EPSILONS, BIDS_PER_ROW);
    counters_.dual_updates += auction.num_bids();
    return true;
  }

  // False if there is a column that no row may have. There are as many rows as columns, so a row stays free.
  bool can_match_all() const { return can_match_all_; }

  // As SerialAuction asks for it.
  Offer find_offer(Vertex row, const LineVector<double>& v) {
    const Count size = costs_.end(row) - costs_.begin(row);
    ++counters_.rows_scanned;
    counters_.entries_read += size;
    poll_.spend(size);
    return best_offer(costs_, row, [&](Vertex column) { return v[column]; });
  }

  // Rows bid in no order of memory, and a bid would wait for its entries.
  void prefetch(Vertex row) const {
#if defined(__GNUC__)
    __builtin_prefetch(costs_.columns + costs_.begin(row));
    __builtin_prefetch(costs_.entries + costs_.begin(row));
#endif
    (void)row;
  }

  // An optimum does not need duals farther apart, and sums with farther ones could overflow. No dual rises above its first value:
  // near the least cost.
  std::vector<Dual> duals() const {
    const double least = lowest_ - (highest_ - lowest_) * costs_.num_rows;
    std::vector<Dual> v(v_.size());
    std::transform(v_.begin(), v_.end(), v.begin(), [=](double v) {
      return static_cast<Dual>(rounded_down(std::max(v, least), places_));
    });
    return v;
  }

 private:
  static constexpr double FAR = std::numeric_limits<double>::infinity();
  // The share of rows that must have no tie for their best column. Three quarters of the rows of continuous costs have none after
  // columns are reduced: each column then has an entry without slack.
  static constexpr double SPREAD = 0.4;
  static constexpr Epsilons EPSILONS{1, -14, 3};  // in spreads of a row
  // Bits by which costs may exceed epsilon: of the 52 of a double few must be left for bids.
  static constexpr int PRECISION = 44;
  // Whole duals gain nothing from a smaller one.
  static double least_epsilon() { return std::numeric_limits<Dual>::is_integer ? 0x1p-10 : 0; }
  // One row of 10,000 may be left at the end of an epsilon.
  static constexpr Vertex LEFT = 10000;
  // Bids for an epsilon, for each row. Points in the plane need up to eleven, random costs six.
  static constexpr Count BIDS_PER_ROW = 16;

  double at(Count edge) const { return static_cast<double>(costs_.at(edge)); }
  double typical(Count exponents) const { return std::ldexp(1.0, static_cast<int>(exponents / rows_with_spread_)); }

  // False if there is a column that no row may have.
  bool reduce_columns() {
    for (Count edge = costs_.begin(0), end = costs_.end(costs_.num_rows - 1); edge < end; ++edge) {
      if (!(at(edge) < FAR)) continue;
      double& v = v_[costs_.column(edge)];
      v = std::min(v, at(edge));
      look_at(edge);
      poll_.spend(1);
    }
    can_match_all_ = std::find(v_.begin(), v_.end(), FAR) == v_.end();
    return can_match_all_;
  }

  void look_at(Count edge) {
    lowest_ = std::min(lowest_, at(edge));
    highest_ = std::max(highest_, at(edge));
    if (places_ <= MOST_PLACES) places_ = std::max(places_, binary_places(costs_.at(edge)));
  }

  // How much the best two of a row differ, and what numbers are added to find that, which are not all zero: geometric means, as
  // binary exponents.
  void measure() {
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      const Offer offer = find_offer(row, v_);
      if (!(offer.least < offer.second && offer.second < FAR)) continue;
      ++rows_with_spread_;
      spreads_ += std::ilogb(offer.second - offer.least);
      magnitudes_ += std::ilogb(std::abs(v_[offer.column]) + std::max(std::abs(offer.least), std::abs(offer.second)));
    }
  }

  const Costs& costs_;
  Counters& counters_;
  Poll poll_;
  LineVector<double> v_;  // [num_columns]
  double lowest_ = FAR, highest_ = -FAR;
  int places_ = 0;  // see rounded_down
  bool can_match_all_ = true;
  Vertex rows_with_spread_ = 0;
  Count spreads_ = 0, magnitudes_ = 0;  // sums of exponents over these rows
};
