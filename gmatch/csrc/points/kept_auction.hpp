// kept_auction.hpp: an auction on a core from given duals, epsilon by epsilon. Rows that are content keep their columns.
//
// As serial_auction.hpp, but a phase begins with what the one before left: only rows that could have another column for less
// by more than epsilon bid. Duals that come from a coarser problem are nearly right, so most are content.
//
// Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of Operations
// Research 14 (1988).
#pragma once
#include <utility>
#include <vector>

#include "costs/sparse.cuh"
#include "points/tree.hpp"
#include "team/interrupt.hpp"

namespace points {

class KeptAuction {
 public:
  using Costs = SparseCosts<double, Count, Vertex>;

  // `mates`: pairs to keep where rows are content, or none (nullptr).
  KeptAuction(const Costs& costs, double* v, const Vertex* mates)
      : costs_(costs), v_(v), owner_(costs.num_rows, NONE), mate_(costs.num_rows, NONE) {
    for (Vertex row = 0; mates != nullptr && row < costs.num_rows; ++row) {
      if (mates[row] == NONE) continue;
      mate_[row] = mates[row];
      owner_[mates[row]] = row;
    }
  }

  // A phase. It ends early where few rows fight for long: what they lack only a search from afar can give. `patient`: not as
  // soon as they are few, for each of them costs that search more than bids.
  void hold(double epsilon, bool patient) {
    free_.clear();
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      if (!is_content(row, epsilon)) set_free(row);
    }
    const std::size_t few = costs_.num_rows / FEW;
    Count bids_left = Count{BIDS_PER_ROW} * costs_.num_rows;
    bool are_many = true;
    while (!free_.empty() && bids_left > 0) {
      if (are_many && free_.size() <= few) {
        if (!patient) break;
        bids_left = std::min<Count>(bids_left, Count{PATIENCE} * costs_.num_rows);
        are_many = false;
      }
      bids_left -= static_cast<Count>(free_.size());
      poll_.spend(Count{ENTRIES_OF_A_BID} * free_.size());
      std::size_t kept = 0;
      for (std::size_t i = 0; i < free_.size(); ++i) {
        if (i + AHEAD < free_.size()) prefetch(free_[i + AHEAD]);
        const Vertex turned_out = bid(free_[i], epsilon);
        if (turned_out != NONE) free_[kept++] = turned_out;
      }
      free_.resize(kept);
    }
  }

  Count num_bids() const { return num_bids_; }
  Vertex mate(Vertex row) const { return mate_[row]; }

 private:
  static constexpr int BIDS_PER_ROW = 60;
  static constexpr int FEW = 10000;   // one row in 10,000
  static constexpr int PATIENCE = 2;  // bids for each row of the problem, once few are free
  static constexpr std::size_t AHEAD = 8;
  static constexpr int ENTRIES_OF_A_BID = 64;

  Poll poll_;

  bool is_content(Vertex row, double epsilon) const {
    double least = FAR, own = FAR;
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      const double here = costs_.at(edge) - v_[costs_.column(edge)];
      least = std::min(least, here);
      if (costs_.column(edge) == mate_[row]) own = here;
    }
    return own <= least + epsilon && own < FAR;
  }

  void set_free(Vertex row) {
    if (mate_[row] != NONE) owner_[mate_[row]] = NONE;
    mate_[row] = NONE;
    free_.push_back(row);
  }

  // Returns the row that is turned out, or NONE.
  Vertex bid(Vertex row, double epsilon) {
    double least = FAR, second = FAR;
    Vertex best = NONE;
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      const double here = costs_.at(edge) - v_[costs_.column(edge)];
      if (here < least) {
        second = least;
        least = here;
        best = costs_.column(edge);
      } else {
        second = std::min(second, here);
      }
    }
    v_[best] -= epsilon + (second < FAR ? second - least : 0);
    ++num_bids_;
    mate_[row] = best;
    const Vertex turned_out = std::exchange(owner_[best], row);
    if (turned_out != NONE) mate_[turned_out] = NONE;
    return turned_out;
  }

  void prefetch(Vertex row) const {
#if defined(__GNUC__)
    const Count edge = costs_.begin(row);
    __builtin_prefetch(costs_.columns + edge);
    __builtin_prefetch(costs_.entries + edge);
    __builtin_prefetch(costs_.entries + edge + 8);
    __builtin_prefetch(costs_.entries + edge + 16);
#endif
    (void)row;
  }

  const Costs costs_;
  double* v_;                  // [num_rows] of the columns; falls
  std::vector<Vertex> owner_;  // [num_rows] of a column
  std::vector<Vertex> mate_;   // [num_rows]
  std::vector<Vertex> free_;
  Count num_bids_ = 0;
};

}  // namespace points
