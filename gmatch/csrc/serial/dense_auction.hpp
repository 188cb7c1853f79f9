// dense_auction.hpp: the auction of serial/auction.hpp for a whole matrix: its first prices and its epsilons.
//
// It is worthwhile where rows are alike, as for costs (i + 1) (j + 1). There a search for a single row reads nearly all of the
// matrix, and an auction reads the matrix some fifty times in all.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "costs/dense.cuh"
#include "serial/auction.hpp"
#include "serial/rows/rows.hpp"

// Scan: how a row is scanned for doubles, a RowScan. The matrix has `size` rows and as many columns.
template <class Rows, class Scan, class Counters>
class DenseAuction {
 public:
  DenseAuction(Rows& rows, Vertex size, Counters& counters)
      : rows_(rows), size_(size), counters_(counters), v_(size, 0), auction_(*this, size, v_, LEFT) {}

  // Returns false, without duals, if all entries of each row are equal.
  bool hold() {
    measure();
    // An epsilon below this gains nothing for duals of few places. If many entries tie, bids are as small as epsilon.
    const double of_places = places_ > MOST_PLACES ? 0 : std::ldexp(0.2, -places_);
    if (rows_with_spread_ == 0) return false;
    const int typical = static_cast<int>(exponents_ / rows_with_spread_);
    const double finest = std::max(of_places, std::ldexp(1.0, std::ilogb(std::max(-lowest_cost_, highest_cost_)) - PRECISION));
    auction_.hold(std::ldexp(1.0, typical), finest, EPSILONS, BIDS_PER_ROW);
    highest_ = *std::max_element(v_.begin(), v_.end());
    counters_.dual_updates += auction_.num_bids();
    return true;
  }

  // The highest v is zero. No v lies farther below it than an optimum without forbidden pairs needs.
  double v(Vertex column) const {
    return rounded_down(std::max(v_[column] - highest_, lowest_cost_ - highest_cost_), places_);
  }

  // SerialAuction asks for a row's offer by this function.
  Offer find_offer(Vertex row, const LineVector<double>& v) {
    const auto found = Scan::find_least_two(scan(row), v.data(), size_);
    return {found.least, found.second, found.least < FAR ? found.column : NONE};
  }
  void prefetch(Vertex) const {}

 private:
  static constexpr double FAR = std::numeric_limits<double>::infinity();
  // The numbers of this class were measured in benchmarks/log/shortest_paths.md, "Thresholds measured again".
  static constexpr Epsilons EPSILONS{0, -21, 3};  // in units of the typical spread of a row
  static constexpr int PRECISION = 44;  // bits by which costs may exceed epsilon, of the 52 of a double; 36 and 48 are as fast
  static constexpr Vertex LEFT = 200;   // 1 row in 200 may stay free at the end of an epsilon
  static constexpr Count BIDS_PER_ROW = 16;  // for an epsilon; with 4 bids, searches begin from poor duals

  auto scan(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += size_;
    poll_.spend(size_);
    return rows_.entries(row);
  }
  // By how much the entries of a row differ, and what numbers are added to find that.
  void measure() {
    for (Vertex row = 0; row < size_; ++row) {
      const auto* entries = scan(row);
      const auto [least, greatest] = Scan::find_range(entries, size_);
      for (Vertex j = 0; j < size_ && places_ <= MOST_PLACES; ++j) places_ = std::max(places_, binary_places(entries[j]));
      lowest_cost_ = std::min(lowest_cost_, least);
      highest_cost_ = std::max(highest_cost_, greatest);
      if (!(least < greatest)) continue;
      const double typical = typical_cost<Scan>(entries, size_);
      ++rows_with_spread_;
      exponents_ += std::ilogb((least < typical && typical < FAR ? typical : greatest) - least);
    }
  }

  Rows& rows_;
  const Vertex size_;
  Counters& counters_;
  Poll poll_;
  LineVector<double> v_;  // [size]
  SerialAuction<DenseAuction> auction_;
  double lowest_cost_ = FAR, highest_cost_ = -FAR, highest_ = 0;
  Vertex rows_with_spread_ = 0;
  Count exponents_ = 0;  // of the spreads of these rows
  int places_ = 0;  // see rounded_down
};
