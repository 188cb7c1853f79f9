// auction.hpp: an auction of columns among rows, on one core of the host. It leaves duals of the columns for a search
// to start from, and who has which.
//
// In a round each free row bids for its best column: v of the column falls by how much it is better than the row's second
// best, and by epsilon. The row that had the column is free in the next round. So a row that has a column finds no column
// better by more than epsilon. All rows bid anew for each epsilon, from large to small: a large epsilon finds roughly the
// right v in few rounds.
//
// A search from any v is exact, so the auction may stop early. So v are doubles for all costs. The last rows of each epsilon,
// which would displace each other for long, may be left. The auction ends if its bids are used up: if not all rows can be
// matched, or no epsilon suits costs of many magnitudes.
//
// Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of Operations
// Research 14 (1988).
#pragma once
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "serial/line_vector.hpp"
#include "team/interrupt.hpp"
#include "team/team.cuh"

// The best offer of a row: the two least of cost - v, and the column of the least, or NONE if the row does not bid.
struct Offer {
  double least, second;
  Vertex column;
};

// Rows has find_offer(row, v), and prefetch(row), which is called some rows before. There are as many rows as columns.
template <class Rows>
class SerialAuction {
 public:
  static constexpr double FAR = std::numeric_limits<double>::infinity();

  // One row of `left` may be left at the end of an epsilon.
  SerialAuction(Rows& rows, Vertex num_rows, LineVector<double>& v, Vertex left)
      : rows_(rows), num_rows_(num_rows), left_(num_rows / left), v_(v), owner_(num_rows, NONE) {}

  // All rows bid anew. Returns false if that needs more bids for each row.
  bool hold_rounds(double epsilon, Count bids_per_row) {
    std::fill(owner_.begin(), owner_.end(), NONE);
    bidders_.resize(num_rows_);
    std::iota(bidders_.begin(), bidders_.end(), 0);
    Count bids_left = bids_per_row * num_rows_;
    while (bidders_.size() > left_) {
      bids_left -= static_cast<Count>(bidders_.size());
      if (bids_left < 0) return false;
      std::size_t turned_out = 0;
      for (std::size_t i = 0; i < bidders_.size(); ++i) {
        if (i + AHEAD < bidders_.size()) rows_.prefetch(bidders_[i + AHEAD]);
        const Vertex owner = bid(bidders_[i], epsilon);
        if (owner != NONE) bidders_[turned_out++] = owner;
      }
      bidders_.resize(turned_out);
    }
    return true;
  }

  Count num_bids() const { return num_bids_; }

 private:
  // A row is fetched from memory this number of rows before it bids.
  static constexpr std::size_t AHEAD = 8;

  // Returns the row that is displaced, or NONE.
  Vertex bid(Vertex row, double epsilon) {
    const Offer offer = rows_.find_offer(row, v_);
    if (offer.column == NONE) return NONE;
    v_[offer.column] -= epsilon + (offer.second < FAR ? offer.second - offer.least : 0);
    ++num_bids_;
    return std::exchange(owner_[offer.column], row);
  }

  Rows& rows_;
  const Vertex num_rows_;
  const std::size_t left_;
  LineVector<double>& v_;       // [num_rows] of the columns
  std::vector<Vertex> owner_;    // [num_rows] of a column
  std::vector<Vertex> bidders_;  // [num_rows at most] the free rows
  Count num_bids_ = 0;
};
