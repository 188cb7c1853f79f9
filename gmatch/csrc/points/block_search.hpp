// block_search.hpp: shortest augmenting paths on a core, in blocks of columns that several threads search side by side.
//
// Consecutive columns lie close together in space, and most paths are short: they stay within a block. A search from a free row
// (Dijkstra) ends at the nearest free column, or before the first column outside its block. In the second case its row stays
// free, duals change by the distance that the search has covered, and the row is searched from again in a larger block. Once
// one block has all columns, no larger one follows: rows that are still free are for another search.
//
// For columns outside its block a search uses their duals from before the blocks. Duals of columns only fall, so no slack is
// less than the search believes. So duals stay feasible, and pairs tight. Neither the blocks nor what is found depends on the
// number of threads.
//
// Blocks begin at multiples of a power of two, as the parts of the trees do, so their points are compact. Columns of copies
// (graph.hpp) belong to the block of the same number on their own side.
//
// Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing
// 38 (1987).
#pragma once
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "costs/sparse.cuh"
#include "points/shares.hpp"
#include "points/tree.hpp"
#include "serial/sparse_shortest_path.hpp"

namespace points {

class BlockSearch {
 public:
  using Costs = SparseCosts<double, Count, Vertex>;

  // `first_copy`: the number of the first column that is a copy.
  BlockSearch(const Costs& costs, Vertex first_copy, const std::vector<double>& v, int threads)
      : costs_(costs), first_copy_(first_copy), threads_(threads), seen_(v), columns_(costs.num_columns), pairs_(costs.num_rows),
        best_(costs.num_rows, NONE) {
    for (Vertex j = 0; j < costs.num_columns; ++j) columns_[j] = {v[j], FAR, 0, NONE, NONE};
  }

  // Keeps the pairs of `mates` (NONE for a row without one) that are the best of their row, up to `tolerance` times the duals.
  // Every other row takes its best column, if that is free.
  void begin(const std::vector<Vertex>* mates, double tolerance) {
    std::vector<double> cost_of_best(costs_.num_rows);
    share_out(costs_.num_rows, threads_, [&](Vertex first, Vertex last, int) {
      for (Vertex row = first; row < last; ++row) {
        double least = FAR, own = FAR;
        for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
          const Vertex j = costs_.column(edge);
          const double here = costs_.at(edge) - seen_[j];
          if (mates != nullptr && j == (*mates)[row]) own = costs_.at(edge);
          if (!(here < least)) continue;
          least = here;
          best_[row] = j;
          cost_of_best[row] = costs_.at(edge);
        }
        if (!(own < FAR)) continue;
        const double v = seen_[(*mates)[row]];
        if (own - v - least <= tolerance * (std::abs(least) + std::abs(v))) match(row, (*mates)[row], own);
      }
    });
    counted_.rows_scanned += costs_.num_rows;
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      if (pairs_[row].column != NONE || best_[row] == NONE) continue;
      if (columns_[best_[row]].mate == NONE) match(row, best_[row], cost_of_best[row]);
    }
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      if (pairs_[row].column == NONE) free_rows_.push_back(row);
    }
  }

  // Searches larger and larger blocks. Returns whether all rows are matched after that.
  bool match_most() {
    const Vertex last = std::max(first_copy_, costs_.num_columns - first_copy_) - 1;
    for (int shift = FIRST_SHIFT; shift == FIRST_SHIFT || (shift < 31 && last >> shift > 0); shift += 2) {
      search_blocks(shift, (last >> shift) + 1);
    }
    return free_rows_.empty();
  }

  void write(std::vector<Vertex>& row_match, std::vector<Vertex>& col_match, std::vector<double>& u, std::vector<double>& v,
             SparseShortestPathCounters& counters) const {
    for (Vertex j = 0; j < costs_.num_columns; ++j) {
      v[j] = columns_[j].v;
      col_match[j] = columns_[j].mate;
    }
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      row_match[row] = pairs_[row].column;
      u[row] = row_match[row] == NONE ? 0 : pairs_[row].cost - v[row_match[row]];
    }
    add(counters, counted_);
  }

 private:
  // The first blocks have 4096 columns. 7 of 10 free rows of uniform points are matched within these, by 1 scan in 10.
  static constexpr int FIRST_SHIFT = 12;

  struct Column {
    double v;
    double distance;     // from the root of the search that has reached the column; otherwise FAR
    double cost;         // of the pair with the predecessor
    Vertex mate;
    Vertex predecessor;  // the row from which the search has reached the column
  };
  struct Pair {
    double cost = 0;
    Vertex column = NONE;
  };
  struct Candidate {
    double distance;
    Vertex column;
    bool operator<(const Candidate& other) const { return distance > other.distance; }  // the heap's top is nearest
  };
  // The state of a search, and its counters.
  struct Tree {
    std::vector<Candidate> heap;
    std::vector<Vertex> touched, settled, at_level;
    std::size_t next_at_level = 0;
    double bound = FAR;  // the distance of the nearest column that is free or outside the block
    Vertex end = NONE;   // that column if it is free and inside the block
    SparseShortestPathCounters counted{};
    Poll poll;

    void begin() {
      heap.clear();
      touched.clear();
      settled.clear();
      at_level.clear();
      next_at_level = 0;
      bound = FAR;
      end = NONE;
    }
  };
  struct Block {
    int shift;
    Vertex number;
  };

  static void add(SparseShortestPathCounters& all, const SparseShortestPathCounters& some) {
    all.rows_scanned += some.rows_scanned;
    all.entries_read += some.entries_read;
    all.augmentations += some.augmentations;
    all.dual_updates += some.dual_updates;
  }

  void match(Vertex row, Vertex column, double cost) {
    pairs_[row] = {cost, column};
    columns_[column].mate = row;
  }
  Vertex block_of(Vertex column, int shift) const { return (column < first_copy_ ? column : column - first_copy_) >> shift; }

  void search_blocks(int shift, Vertex num_blocks) {
    std::vector<std::vector<Vertex>> rows(num_blocks);
    std::vector<Vertex> without_best;
    for (const Vertex row : free_rows_) {
      if (best_[row] != NONE) rows[block_of(best_[row], shift)].push_back(row);
      else without_best.push_back(row);
    }
    std::atomic<Vertex> next{0};
    const int threads = std::max(1, std::min<int>(threads_, num_blocks));
    std::vector<SparseShortestPathCounters> counted(threads);
    run_on_host(threads, [&](const HostTeam& team) {
      Tree tree;  // any thread takes the next block
      for (Vertex b = next++; b < num_blocks; b = next++) search_block({shift, b}, rows[b], tree);
      counted[team.rank()] = tree.counted;
    });
    for (const SparseShortestPathCounters& some : counted) add(counted_, some);
    free_rows_ = std::move(without_best);
    for (const auto& left : rows) free_rows_.insert(free_rows_.end(), left.begin(), left.end());
    for (Vertex j = 0; j < costs_.num_columns; ++j) seen_[j] = columns_[j].v;
  }

  // Searches from each of the rows. Afterwards `rows` holds the rows that stay free.
  void search_block(const Block& block, std::vector<Vertex>& rows, Tree& tree) {
    std::size_t left = 0;
    for (const Vertex row : rows) {
      grow(block, row, tree);
      for (const Vertex column : tree.touched) columns_[column].distance = FAR;
      if (tree.end == NONE) {
        rows[left++] = row;
        continue;
      }
      flip_path(tree.end);
      ++tree.counted.augmentations;
    }
    rows.resize(left);
  }

  void grow(const Block& block, Vertex root, Tree& tree) {
    tree.begin();
    double level = 0;
    scan(block, root, least_of(block, root), {level, level}, tree);
    while (level < tree.bound) {
      const Vertex column = next_nearest(tree);
      if (column == NONE) break;
      level = columns_[column].distance;
      tree.settled.push_back(column);
      const Vertex row = columns_[column].mate;
      scan(block, row, pairs_[row].cost - columns_[column].v, {level, level}, tree);
    }
    if (!(tree.bound < FAR)) return;
    for (const Vertex column : tree.settled) {
      if (!(columns_[column].distance < tree.bound)) continue;
      columns_[column].v -= tree.bound - columns_[column].distance;
      ++tree.counted.dual_updates;
    }
  }

  double v_of(const Block& block, Vertex column) const {
    return block_of(column, block.shift) == block.number ? columns_[column].v : seen_[column];
  }
  double least_of(const Block& block, Vertex row) {
    double least = FAR;
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      const double here = costs_.at(edge) - v_of(block, costs_.column(edge));
      if (!(here < least)) continue;
      least = here;
      best_[row] = costs_.column(edge);
    }
    return least;
  }

  struct From {
    double distance, level;
  };
  // Scans a row at a distance, when the search is at a level. A rounded slack may be below zero: no distance is below the level.
  void scan(const Block& block, Vertex row, double u, From from, Tree& tree) {
    ++tree.counted.rows_scanned;
    tree.counted.entries_read += costs_.end(row) - costs_.begin(row);
    tree.poll.spend(costs_.end(row) - costs_.begin(row));
    for (Count edge = costs_.begin(row); edge < costs_.end(row); ++edge) {
      const Vertex j = costs_.column(edge);
      const double cost = costs_.at(edge);
      if (block_of(j, block.shift) != block.number) {
        const double reach = std::max(from.level, from.distance + (cost - seen_[j] - u));
        if (!(reach < tree.bound)) continue;
        tree.bound = reach;
        tree.end = NONE;
        continue;
      }
      Column& column = columns_[j];
      const double reach = std::max(from.level, from.distance + (cost - column.v - u));
      const bool ends = column.mate == NONE;
      // A free column is preferred to a column outside the block at the same distance.
      if (reach >= column.distance || reach > tree.bound || (reach == tree.bound && !(ends && tree.end == NONE))) continue;
      if (!(reach < FAR)) continue;
      if (column.distance == FAR) tree.touched.push_back(j);
      column.distance = reach;
      column.predecessor = row;
      column.cost = cost;
      if (ends) {
        tree.bound = reach;
        tree.end = j;
        if (reach <= from.level) return;
      } else if (reach <= from.level) {
        tree.at_level.push_back(j);
      } else {
        tree.heap.push_back({reach, j});
        std::push_heap(tree.heap.begin(), tree.heap.end());
      }
    }
  }

  // The nearest column that is not settled; NONE if none is nearer than the bound.
  Vertex next_nearest(Tree& tree) const {
    while (true) {
      if (tree.next_at_level < tree.at_level.size()) return tree.at_level[tree.next_at_level++];
      tree.at_level.clear();
      tree.next_at_level = 0;
      if (tree.heap.empty()) return NONE;
      const Candidate nearest = tree.heap.front();
      if (!(nearest.distance < tree.bound)) return NONE;
      std::pop_heap(tree.heap.begin(), tree.heap.end());
      tree.heap.pop_back();
      // A larger distance is out of date: the column was reached by a shorter path later.
      if (nearest.distance <= columns_[nearest.column].distance) return nearest.column;
    }
  }

  void flip_path(Vertex column) {
    while (column != NONE) {
      const Vertex row = columns_[column].predecessor, before = pairs_[row].column;
      match(row, column, columns_[column].cost);
      column = before;
    }
  }

  const Costs costs_;
  const Vertex first_copy_;
  const int threads_;
  std::vector<double> seen_;     // [num_columns] v before these blocks
  std::vector<Column> columns_;  // [num_columns]
  std::vector<Pair> pairs_;      // [num_rows]
  std::vector<Vertex> best_;     // [num_rows] the best column of a row that is free
  std::vector<Vertex> free_rows_;
  SparseShortestPathCounters counted_{};
};

}  // namespace points
