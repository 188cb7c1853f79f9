// row_auction.hpp: an auction of columns among rows that remember their best entries, from pairs and duals that are nearly right.
//
// A row bids by the entries that it remembers, as long as no other entry may be better. Then it is read again. A bound on all
// other entries says when, since no v rises. A row that has nearly its best column keeps it from one epsilon to the next.
// serial/auction.hpp says what an auction is.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "serial/auction.hpp"
#include "serial/rows/row_picks.hpp"

namespace points {

// Rows as in serial/rows/rows.hpp, as many as columns.
template <class Rows>
class RowAuction {
 public:
  // `mate` has a column of each row, and each column is the mate of one row. All costs of pairs are finite.
  RowAuction(const Rows& rows, std::vector<double> v, std::vector<Vertex> mate)
      : size_(rows.num_rows()),
        picks_(rows),
        v_(std::move(v)),
        mate_(std::move(mate)),
        owner_(size_, NONE),
        own_(size_),
        known_(size_),
        columns_(Count{size_} * DEPTH.room),
        costs_(columns_.size()) {
    for (Vertex row = 0; row < size_; ++row) {
      owner_[mate_[row]] = row;
      own_[row] = rows.at(row, mate_[row]);
    }
  }

  // Goes through the epsilons. The first one is the mean of what a pair costs more than its duals.
  void hold() {
    double gap = 0;
    for (Vertex row = 0; row < size_; ++row) {
      read(row);
      gap += own_[row] - v_[mate_[row]] - best(row).least;
    }
    gap /= size_;
    for (double epsilon = gap; epsilon > gap * LAST && std::isfinite(epsilon); epsilon /= STEP) hold_rounds(epsilon);
  }

  // Writes the pairs, and duals whose highest is 0.
  void copy(double* v, Vertex* row_match) const {
    const double highest = *std::max_element(v_.begin(), v_.end());
    for (Vertex j = 0; j < size_; ++j) v[j] = v_[j] - highest;
    std::copy(mate_.begin(), mate_.end(), row_match);
  }
  Count num_bids() const { return num_bids_; }
  Count num_read() const { return num_read_; }

 private:
  // How many entries a row remembers: what serial/core_search.hpp picks first.
  static constexpr PickDepth DEPTH{PickDepth::FEWEST_MINIMA, 15, 48};
  // Each epsilon is the one before it divided by STEP, down to LAST of the first one. 3, 12, 1e-4 and 1e-8 were tried, too, and
  // a LEFT of 2000: benchmarks/log/points.md, "One core searches rows of points".
  static constexpr double STEP = 6, LAST = 1e-6;
  static constexpr Vertex LEFT = 200;       // 1 row in 200 may stay free at the end of an epsilon
  static constexpr Count BIDS_PER_ROW = 8;  // for an epsilon

  // The number of remembered entries, and a bound on all others.
  struct Known {
    Vertex size;
    double bound;
  };

  void read(Vertex row) {
    ++num_read_;
    poll_.spend(size_);
    const auto found = picks_.template pick<true>(row, v_.data(), &DEPTH);
    known_[row] = {found.size, found.bound};
    for (Vertex i = 0; i < found.size; ++i) {
      columns_[place(row, i)] = picks_.columns()[i];
      costs_[place(row, i)] = picks_.rows().at(row, picks_.columns()[i]);
    }
  }
  Count place(Vertex row, Vertex i) const { return Count{row} * DEPTH.room + i; }

  // `column` is the place of the entry among the remembered ones.
  Offer best(Vertex row) const {
    Offer offer;
    for (Vertex i = 0; i < known_[row].size; ++i) {
      const double here = costs_[place(row, i)] - v_[columns_[place(row, i)]];
      if (here < offer.least) {
        offer.second = offer.least;
        offer.least = here;
        offer.column = i;
      } else {
        offer.second = std::min(offer.second, here);
      }
    }
    return offer;
  }
  Offer find_offer(Vertex row) {
    Offer offer = best(row);
    if (offer.least > known_[row].bound) {
      read(row);
      offer = best(row);
    }
    offer.second = std::min(offer.second, known_[row].bound);
    return offer;
  }

  // Rows that have a much better column are free. They bid until few are left, or until all have bid often.
  void hold_rounds(double epsilon) {
    for (Vertex row = 0; row < size_; ++row) {
      if (mate_[row] == NONE) continue;
      if (own_[row] - v_[mate_[row]] <= std::min(best(row).least, known_[row].bound) + epsilon) continue;
      owner_[std::exchange(mate_[row], NONE)] = NONE;
    }
    std::vector<Vertex> bidders;
    for (Vertex row = 0; row < size_; ++row) {
      if (mate_[row] == NONE) bidders.push_back(row);
    }
    const std::size_t left = size_ / LEFT;
    const auto nothing = [](Vertex) {};
    for (Count bids = BIDS_PER_ROW * size_; bidders.size() > left && bids > 0;) {
      bids -= static_cast<Count>(bidders.size());
      bid_once(bidders, nothing, [&](Vertex row) { return bid(row, epsilon); });
    }
  }

  // Returns the row that is displaced, or NONE.
  Vertex bid(Vertex row, double epsilon) {
    const Offer offer = find_offer(row);
    if (offer.column == NONE) return NONE;
    const Count entry = place(row, offer.column);
    const Vertex column = columns_[entry];
    v_[column] -= offer.bid(epsilon);
    ++num_bids_;
    mate_[row] = column;
    own_[row] = costs_[entry];
    const Vertex displaced = std::exchange(owner_[column], row);
    if (displaced != NONE) mate_[displaced] = NONE;
    return displaced;
  }

  const Vertex size_;
  RowPicks<Rows, double> picks_;
  std::vector<double> v_;
  std::vector<Vertex> mate_, owner_;  // of rows, and of columns
  std::vector<double> own_;           // what a row's pair costs
  std::vector<Known> known_;
  std::vector<Vertex> columns_;  // [DEPTH.room of each row] the remembered entries
  std::vector<double> costs_;
  Poll poll_;
  Count num_bids_ = 0, num_read_ = 0;
};

}  // namespace points
