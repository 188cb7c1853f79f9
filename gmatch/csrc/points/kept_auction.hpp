// kept_auction.hpp: an auction on a core from given duals, epsilon by epsilon. Rows that are content keep their columns.
//
// As serial/auction.hpp, but a phase begins with the pairs of the phase before. Only a row bids that could have another column
// for less, by more than epsilon. Duals of a coarser problem are nearly right, so most rows are content.
//
// Consecutive columns lie close together. They are dealt into blocks, which bid side by side in rounds. A row sees the present
// prices of columns in its block, and prices from the beginning of the round elsewhere. Prices only rise, so it bids no more
// than it may. A row that wants a column elsewhere goes there for the next round. Neither the blocks nor the result depend on
// the number of threads. The last few rows bid one after the other, for any column.
//
// Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of Operations
// Research 14 (1988).
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "costs/sparse.cuh"
#include "points/tree.hpp"
#include "serial/auction.hpp"
#include "team/host_threads.hpp"

namespace points {

class KeptAuction {
 public:
  using Costs = SparseCosts<double, Count, Vertex>;

  // `mates`: pairs to keep where rows are content, or none (nullptr).
  KeptAuction(const Costs& costs, double* v, const Vertex* mates, int threads)
      : costs_(costs), v_(v), blocks_(std::max<Vertex>(1, costs.num_rows / COLUMNS_OF_BLOCK)),
        threads_(std::max(1, std::min<int>(threads, static_cast<int>(blocks_.size())))), seen_(costs.num_rows),
        owner_(costs.num_rows, NONE), mate_(costs.num_rows, NONE) {
    for (Vertex b = 0; b < num_blocks(); ++b) {
      blocks_[b].first = first_of(b);
      blocks_[b].size = static_cast<unsigned>(first_of(b + 1) - first_of(b));
    }
    for (Vertex row = 0; mates != nullptr && row < costs.num_rows; ++row) {
      if (mates[row] == NONE) continue;
      mate_[row] = mates[row];
      owner_[mates[row]] = row;
    }
  }

  // A phase. It ends early if rows bid for long and no fewer of them are free: only a search from afar finds the columns that
  // they lack. With `patient` it does not end as soon as they are few, since each of them costs that search more than its
  // bids.
  void hold(double epsilon, bool patient) {
    Count bids_left = Count{BIDS_PER_ROW} * costs_.num_rows;
    run_on_host(threads_, [&](const HostTeam& team) { hold_in_blocks(team, epsilon, bids_left); });
    free_.clear();
    for (Block& block : blocks_) {
      free_.insert(free_.end(), block.rows.begin(), block.rows.end());
      bids_left -= block.bids;
      num_bids_ += std::exchange(block.bids, 0);
    }
    const std::size_t few = costs_.num_rows / FEW;
    std::size_t fewest = free_.size();
    Count waited = 0;  // bids since the number of free rows last fell, or since they are few
    while (!free_.empty() && bids_left > 0 && waited < Count{PATIENCE} * costs_.num_rows) {
      if (!patient && free_.size() <= few) break;
      const auto number = static_cast<Count>(free_.size());
      bids_left -= number;
      waited += number;
      num_bids_ += number;
      poll_.spend(ENTRIES_OF_A_BID * number);
      const auto price = [&](Vertex column) { return v_[column]; };
      sweep(free_, epsilon, price, [](Vertex, Vertex) { return true; });
      if (free_.size() < fewest && fewest > few) {
        fewest = free_.size();
        waited = 0;
      }
    }
  }

  Count num_bids() const { return num_bids_; }
  Vertex mate(Vertex row) const { return mate_[row]; }

 private:
  // benchmarks/log/points.md, "Thresholds measured again". BIDS_PER_ROW of 8 and 15 take 1.02 to 1.05 times as long, and 240 are
  // as fast. So are FEW of 500 to 40,000, and PATIENCE of 0 to 8.
  static constexpr int BIDS_PER_ROW = 60;  // bids of a phase, for each row; then the phase ends
  static constexpr int FEW = 10000;   // free rows are few at 1 in 10,000
  static constexpr int PATIENCE = 2;  // bids for each row while no fewer are free, or once few are; then the phase ends
  static constexpr int ENTRIES_OF_A_BID = 64;  // entries that a bid counts for, see Poll

  // benchmarks/log/points.md, "An auction in blocks, which bid side by side".
  static constexpr Vertex COLUMNS_OF_BLOCK = 8192;  // at least
  static constexpr int ALONE = 4;            // rows of a block, on average, below which a round is not worthwhile
  static constexpr int BIDS_OF_A_ROUND = 2;  // most bids of a block, for each of its columns

  // Some columns, and the free rows that want one of them.
  struct Block {
    Vertex first;
    unsigned size;
    std::vector<Vertex> rows, lowered;             // lowered: columns, in this round
    std::vector<std::pair<Vertex, Vertex>> leave;  // where rows go: blocks, and these rows
    Count bids = 0, bids_so_far = 0;               // bids_so_far: at the round before, as num_waiting
    std::size_t num_waiting = 0;

    bool has(Vertex column) const { return static_cast<unsigned>(column - first) < size; }
  };

  Vertex num_blocks() const { return static_cast<Vertex>(blocks_.size()); }
  Vertex block_of(Vertex column) const { return static_cast<Vertex>(Count{column} * num_blocks() / costs_.num_rows); }
  Vertex first_of(Vertex block) const {
    return static_cast<Vertex>((Count{block} * costs_.num_rows + num_blocks() - 1) / num_blocks());
  }

  // Rounds until few rows are left, or most bids are spent.
  void hold_in_blocks(const HostTeam& team, double epsilon, Count most_bids) {
    const auto each_block = [&](const auto& work) {
      for (Vertex b = team.rank(); b < num_blocks(); b += team.size()) work(blocks_[b]);
      team.sync();
    };
    each_block([&](Block& block) { release(block, epsilon); });
    each_block([&](Block& block) { gather(block); });
    while (num_blocks() > 1) {
      std::size_t waiting = 0;
      Count bids = 0;
      for (const Block& block : blocks_) {
        waiting += block.num_waiting;
        bids += block.bids_so_far;
      }
      if (waiting <= std::size_t{ALONE} * num_blocks() || bids >= most_bids) break;
      each_block([&](Block& block) { bid_in(block, epsilon, team); });
      each_block([&](Block& block) { gather(block); });
    }
  }

  // Rows that have the numbers of a block's columns, and are not content, go to the block of their best column.
  void release(Block& block, double epsilon) {
    block.rows.clear();
    block.leave.clear();
    block.lowered.clear();
    for (Vertex row = block.first; row < block.first + static_cast<Vertex>(block.size); ++row) {
      seen_[row] = v_[row];
      double own = FAR;
      const Offer found = best_offer(costs_, row, [&](Vertex column) { return v_[column]; });
      for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
        if (costs_.column(edge) == mate_[row]) own = costs_.at(edge) - v_[mate_[row]];
      }
      if (own <= found.least + epsilon && own < FAR) continue;
      if (mate_[row] != NONE) owner_[mate_[row]] = NONE;
      mate_[row] = NONE;
      block.leave.push_back({block_of(found.column), row});
    }
    sort_by_block(block);
  }

  static void sort_by_block(Block& block) {
    std::stable_sort(block.leave.begin(), block.leave.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  void bid_in(Block& block, double epsilon, const HostTeam& team) {
    block.leave.clear();
    block.lowered.clear();
    Count bids_left = Count{BIDS_OF_A_ROUND} * block.size;
    while (!block.rows.empty() && bids_left > 0) {
      bids_left -= static_cast<Count>(block.rows.size());
      team.spend(Count{ENTRIES_OF_A_BID} * block.rows.size());
      const double *const here = v_, *const elsewhere = seen_.data();
      const auto price = [&](Vertex column) { return (block.has(column) ? here : elsewhere)[column]; };
      sweep(block.rows, epsilon, price, [&](Vertex row, Vertex best) {
        if (!block.has(best)) {
          block.leave.push_back({block_of(best), row});
          return false;
        }
        block.lowered.push_back(best);
        ++block.bids;
        return true;
      });
    }
    sort_by_block(block);
  }

  // Ends a round of a block, after all rows have bid.
  void gather(Block& block) {
    for (const Vertex column : block.lowered) seen_[column] = v_[column];
    const auto number = static_cast<Vertex>(&block - blocks_.data());
    for (const Block& other : blocks_) {
      auto move = std::lower_bound(other.leave.begin(), other.leave.end(), std::pair<Vertex, Vertex>{number, NONE});
      for (; move != other.leave.end() && move->first == number; ++move) block.rows.push_back(move->second);
    }
    block.num_waiting = block.rows.size();
    block.bids_so_far = block.bids;
  }

  // Each of some rows bids once, if it may.
  template <class Price, class MayBid>
  void sweep(std::vector<Vertex>& rows, double epsilon, const Price& price, const MayBid& may_bid) {
    bid_once(rows, [&](Vertex row) { prefetch(row); }, [&](Vertex row) {
      const Offer found = best_offer(costs_, row, price);
      return may_bid(row, found.column) ? bid(row, found, epsilon) : NONE;
    });
  }

  // Returns the row that is displaced, or NONE.
  Vertex bid(Vertex row, const Offer& found, double epsilon) {
    v_[found.column] -= found.bid(epsilon);
    mate_[row] = found.column;
    const Vertex turned_out = std::exchange(owner_[found.column], row);
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
  std::vector<Block> blocks_;
  const int threads_;
  std::vector<double> seen_;   // [num_rows] v when a round began
  std::vector<Vertex> owner_;  // [num_rows] of a column
  std::vector<Vertex> mate_;   // [num_rows]
  std::vector<Vertex> free_;
  Count num_bids_ = 0;
  Poll poll_;
};

}  // namespace points
