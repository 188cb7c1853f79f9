// auction.hpp: an auction of columns among rows, on one core of the host. It leaves duals of the columns for a search
// to start from, and who has which. dense_auction.hpp and sparse_auction.hpp say where it begins; points/kept_auction.hpp goes on
// from pairs and duals of a coarser problem. priced_auction.hpp holds the auctions of sparse costs and of cores, on threads.
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
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "serial/rows/line_vector.hpp"
#include "team/interrupt.hpp"
#include "team/team.cuh"

// The best offer of a row: the two least of cost - v, and the column of the least, or NONE if the row does not bid.
struct Offer {
  static constexpr double FAR = std::numeric_limits<double>::infinity();

  double least = FAR, second = FAR;
  Vertex column = NONE;

  // By how much a bid lowers v of the column.
  double bid(double epsilon) const { return epsilon + (second < FAR ? second - least : 0); }
};

// The best offer of a row of sparse costs, by v_of(column). The solver of shortest paths has a reduction of rows of its own
// (sparse_shortest_path.hpp), in the type of its duals: it prefers free columns, and looks for the entry. Rows of a matrix are
// read in vectors (row_scan.hpp).
template <class Costs, class VOf>
Offer best_offer(const Costs& costs, Vertex row, const VOf& v_of) {
  Offer offer;
  for (Count edge = costs.begin(row), end = costs.end(row); edge < end; ++edge) {
    const Vertex column = costs.column(edge);
    const double here = static_cast<double>(costs.at(edge)) - v_of(column);
    if (here < offer.least) {
      offer.second = offer.least;
      offer.least = here;
      offer.column = column;
    } else {
      offer.second = std::min(offer.second, here);
    }
  }
  return offer;
}

// Each of some rows bids once: bid(row) returns the row that is displaced, or NONE. Displaced rows take places in the list.
// prefetch(row) is called AHEAD rows before. 2 to 32 rows are as fast for points: benchmarks/log/points.md, "Thresholds measured
// again".
template <class Prefetch, class Bid>
void bid_once(std::vector<Vertex>& rows, const Prefetch& prefetch, const Bid& bid) {
  constexpr std::size_t AHEAD = 8;
  std::size_t displaced = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + AHEAD < rows.size()) prefetch(rows[i + AHEAD]);
    const Vertex row = bid(rows[i]);
    if (row != NONE) rows[displaced++] = row;
  }
  rows.resize(displaced);
}

// The epsilons of an auction, in units of a typical spread: powers of two, from 2 ** first to 2 ** last.
struct Epsilons {
  int first, last, step;
};

// Rows has find_offer(row, v), and prefetch(row) for bid_once. There are as many rows as columns.
template <class Rows>
class SerialAuction {
 public:
  // One row of `left` may be left at the end of an epsilon.
  SerialAuction(Rows& rows, Vertex num_rows, LineVector<double>& v, Vertex left)
      : rows_(rows), num_rows_(num_rows), left_(num_rows / left), v_(v), owner_(num_rows, NONE) {}

  // Goes through the epsilons of `spread`. It stops at an epsilon that is not above `finest`, or that needs more than
  // `bids_per_row` bids for each row.
  void hold(double spread, double finest, const Epsilons& epsilons, Count bids_per_row) {
    for (int bits = epsilons.first; bits >= epsilons.last; bits -= epsilons.step) {
      const double epsilon = std::ldexp(spread, bits);
      if (!(epsilon > finest) || !hold_rounds(epsilon, bids_per_row)) break;
    }
  }

  Count num_bids() const { return num_bids_; }

 private:
  // All rows bid anew. Returns false if that needs more than `bids_per_row` bids for each row.
  bool hold_rounds(double epsilon, Count bids_per_row) {
    std::fill(owner_.begin(), owner_.end(), NONE);
    bidders_.resize(num_rows_);
    std::iota(bidders_.begin(), bidders_.end(), 0);
    Count bids_left = bids_per_row * num_rows_;
    while (bidders_.size() > left_) {
      bids_left -= static_cast<Count>(bidders_.size());
      if (bids_left < 0) return false;
      bid_once(bidders_, [&](Vertex row) { rows_.prefetch(row); }, [&](Vertex row) { return bid(row, epsilon); });
    }
    return true;
  }

  // Returns the row that is displaced, or NONE.
  Vertex bid(Vertex row, double epsilon) {
    const Offer offer = rows_.find_offer(row, v_);
    if (offer.column == NONE) return NONE;
    v_[offer.column] -= offer.bid(epsilon);
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
