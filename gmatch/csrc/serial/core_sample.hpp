// core_sample.hpp: some rows and columns of a square matrix, which tell whether a core of it is worth building. It is not:
//
//   if rows want the same columns: their entries in the core have too few columns (or, of few values, one first column)
//   if most columns and rows want each other: a column reduction of the matrix matches nearly all of them
//   if rows differ much in scale: no epsilon of an auction suits them all
//   if many rows cost the same in most columns: a core would have to know more entries than it may
//   if many columns cost the same in all rows: a row takes such columns only after all its entries are known
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "serial/priced_auction.hpp"
#include "serial/shortest_path.hpp"

// Whether enough threads bid for the auction of a core to be faster than one thread that searches the matrix. 2,000 rows with
// column prices take 41 ms on one thread, and 37 with 4 bidders: benchmarks/log/core_host.md, "The first epsilon of the auction".
inline bool share_auction(Vertex rows, int threads) {
  constexpr int MANY_BIDDERS = 4;
  return num_bidders(rows, threads) >= MANY_BIDDERS;
}

template <class Rows>
class CoreSample {
 public:
  // The core may know `most_known` entries.
  CoreSample(const Rows& rows, Count most_known, ShortestPathCounters& counters)
      : size_(rows.num_rows()), most_known_(most_known), rows_(rows), no_duals_(rows.num_columns(), 0), counters_(counters) {}

  // Threads share the auction of a core, but not a column reduction or a search of the matrix. So if many threads bid, only rows
  // of different scales speak against a core.
  bool speaks_for_core(int threads = 1) {
    if (size_ < SMALLEST) return true;
    for (Vertex i = 0; i < ROWS; ++i) look_at(static_cast<Vertex>(Count{size_} * i / ROWS));
    if (scales_differ() || must_know_too_many(flat_rows_, ROWS)) return false;
    if (share_auction(size_, threads)) return true;
    return num_wanted() >= FEWEST_WANTED && num_mutual() <= MOST_MUTUAL && !must_know_too_many(flat_columns_, COLUMNS);
  }

 private:
  using Scan = typename Rows::Scan;
  using Work = typename Rows::Work;

  // Rows and columns of the sample. A smaller matrix than 256 x 256 is not sampled.
  static constexpr Vertex ROWS = 64, COLUMNS = 64, SMALLEST = 4 * ROWS;
  // Even costs want 60 to 64 different columns, and half of the columns are mutual, with a deviation of four. Products of vectors
  // of 8 normal numbers, which a core solves in a twentieth of the time, want 44 different columns. See "A core is given up where
  // more than 44 of 64 columns and rows want each other" and "Thresholds measured again" in benchmarks/log/core_host.md.
  static constexpr Vertex FEWEST_WANTED = 36, MOST_MUTUAL = 44;
  // Bits between the scale of a row and the scale of all rows, on average. Rows of different scales have 3.1 and more,
  // U**20 has 1.8 to 2.2, and all others have at most 1.4: "Thresholds measured again" there.
  static constexpr double MOST_BITS = 2.5;

  void look_at(Vertex row) {
    const auto* entries = rows_.entries(row);
    const auto best = find_best(entries);
    wanted_.push_back(best.column);
    const double spread = typical_cost<Scan>(entries, size_) - static_cast<double>(best.least);
    flat_rows_ += spread == 0;
    if (spread > 0 && spread < std::numeric_limits<double>::infinity()) scales_.push_back(std::log2(spread));
  }
  auto find_best(const typename Rows::Entry* entries) {
    ++counters_.rows_scanned;
    counters_.entries_read += size_;
    return Scan::find_least_two(entries, no_duals_.data(), size_);
  }

  Vertex num_wanted() {
    std::sort(wanted_.begin(), wanted_.end());
    return static_cast<Vertex>(std::unique(wanted_.begin(), wanted_.end()) - wanted_.begin());
  }

  // In the end all entries of a flat row are known, and all entries of a row that takes a flat column.
  bool must_know_too_many(Count flat, Vertex sampled) const { return flat * size_ / sampled * size_ > most_known_; }

  bool scales_differ() const {
    double mean = 0, deviation = 0;
    for (const double scale : scales_) mean += scale / static_cast<double>(scales_.size());
    for (const double scale : scales_) deviation += std::abs(scale - mean);
    return deviation > MOST_BITS * static_cast<double>(scales_.size());
  }

  // The number of sampled columns that are the only best column of the row that is best for them. The columns lie side by side,
  // so that a row is one read of memory. A row with several equally good columns does not count: another row is often left
  // without a column then.
  Vertex num_mutual() {
    const Vertex first = (size_ - COLUMNS) / 2;
    Work least[COLUMNS], greatest[COLUMNS];
    Vertex at_least[COLUMNS];
    std::fill_n(least, COLUMNS, Scan::FAR);
    std::fill_n(greatest, COLUMNS, -Scan::FAR);
    std::fill_n(at_least, COLUMNS, NONE);
    for (Vertex row = 0; row < size_; ++row) {
      for (Vertex k = 0; k < COLUMNS; ++k) {
        const Work cost = rows_.at(row, first + k);
        const bool is_less = cost < least[k];
        least[k] = is_less ? cost : least[k];
        at_least[k] = is_less ? row : at_least[k];
        greatest[k] = cost > greatest[k] ? cost : greatest[k];
      }
    }
    counters_.entries_read += Count{size_} * COLUMNS;
    Vertex mutual = 0;
    for (Vertex k = 0; k < COLUMNS; ++k) {
      if (at_least[k] == NONE) continue;
      flat_columns_ += least[k] == greatest[k];
      const auto best = find_best(rows_.entries(at_least[k]));
      mutual += least[k] <= best.least && best.least < best.second;
    }
    return mutual;
  }

  const Vertex size_;
  const Count most_known_;
  Rows rows_;
  const std::vector<Work> no_duals_;  // [size_]
  ShortestPathCounters& counters_;
  std::vector<Vertex> wanted_;  // best columns of the rows looked at
  Count flat_rows_ = 0;         // how many of these rows have their least cost in most columns
  Count flat_columns_ = 0;      // how many of the sampled columns cost all rows the same
  std::vector<double> scales_;  // of these rows, binary logarithms
};
