// dual_repair.hpp: duals that prove given pairs to be the cheapest, from duals that nearly do, on one core.
//
// A row contradicts the v of a column if that column is better for it than its own. The v is lowered as far as the row demands,
// and then the row of that column looks again: Bellman and Ford's labels. The row that has waited for the shortest time is
// next, so that all that follows from one v is settled before other rows look. In the order of a queue up to twice as many
// rows look again. If the pairs are the cheapest and the duals are off by roundings only, this takes one or two passes over
// the matrix; shortest paths would take a search for each contradicted row. If other pairs are cheaper it would go on for
// ever, so it ends after some scans.
//
// Columns that may stay free have no v above the v of free columns. That is one number, which is zero in the end: if it must be
// lowered, all v are raised alike afterwards.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "serial/rows/row_scan.hpp"
#include "serial/rows/short_vector.hpp"

template <class Rows>
class DualRepair {
 public:
  // v has as many columns as scans read. Columns that must not stay free may have any v; these are all columns if may_stay_free
  // is empty. Rows may be contradicted by `tolerance`, which is at least the size of new roundings.
  DualRepair(Vertex num_rows, Vertex num_columns, const Vertex* row_match, const Vertex* col_match, ShortVector<double> v,
             ShortVector<char> may_stay_free, double tolerance)
      : num_rows_(num_rows),
        num_columns_(num_columns),
        row_match_(row_match),
        col_match_(col_match),
        may_stay_free_(std::move(may_stay_free)),
        tolerance_(tolerance),
        v_(std::move(v)),
        waits_(v_.get_allocator()),
        waiting_(v_.get_allocator()),
        below_(v_.get_allocator()) {
    std::fill(v_.begin() + num_columns, v_.end(), Distance<double>::MASKED);
  }

  const double* v() const { return v_.data(); }

  // Called once for each row, in their order, with its entries and the least of entry - v.
  void look_at(Vertex row, const double* entries, double least) {
    rows_looked_at_ = row + 1;
    if (least < u_of(row, entries) - tolerance_) look_at(row, entries);
  }

  // Whether no row is contradicted. `scan(row)` gives the entries of a row.
  template <class Scan>
  bool finish(const Scan& scan) {
    for (Count scans = 0; !waiting_.empty(); ++scans) {
      if (scans == SCANS_PER_ROW * num_rows_) return false;
      const Vertex row = waiting_.back();
      waiting_.pop_back();
      waits_[row] = false;
      look_at(row, scan(row));
    }
    for (Vertex j = 0; j < num_columns_; ++j) v_[j] -= of_free_;
    return true;
  }

 private:
  using Scan = typename Rows::Scan;
  using Word = typename Scan::Word;
  // After 4 scans a row the repair gives up. It takes 1.1 to 2.8 where it succeeds (benchmarks/log/sentinels.md).
  static constexpr Count SCANS_PER_ROW = 4;

  double u_of(Vertex row, const double* entries) const { return entries[row_match_[row]] - v_[row_match_[row]]; }
  // Memory for contradicted rows is made at the first of them: most often there is none.
  void look_at(Vertex row, const double* entries) {
    if (waits_.empty()) {
      waits_.resize(num_rows_);
      waiting_.reserve(num_rows_);
      below_.resize(v_.size() / Scan::WORD + 1);
    }
    const double u = u_of(row, entries);
    Scan::find_below(entries, v_.data(), static_cast<Vertex>(v_.size()), u - tolerance_, below_.data());
    for (Vertex first = 0; first < num_columns_; first += Scan::WORD) {
      for (Word below = below_[first / Scan::WORD]; below != 0; below &= below - 1) {
        const Vertex j = first + first_bit(below);
        if (entries[j] - u < v_[j] - tolerance_) lower(j, entries[j] - u);  // an earlier row may have lowered it already
      }
    }
  }

  void lower(Vertex column, double v) {
    if (col_match_[column] != NONE) return set(column, v);
    of_free_ = std::min(of_free_, v);
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (may_stay_free_[j] && v_[j] > of_free_) set(j, of_free_);
    }
  }
  void set(Vertex column, double v) {
    v_[column] = v;
    const Vertex row = col_match_[column];
    if (row == NONE || row >= rows_looked_at_ || waits_[row]) return;
    waits_[row] = true;
    waiting_.push_back(row);
  }

  const Vertex num_rows_, num_columns_;
  const Vertex* const row_match_;
  const Vertex* const col_match_;
  const ShortVector<char> may_stay_free_;  // [num_columns], or empty
  const double tolerance_;
  double of_free_ = 0;
  ShortVector<double> v_;
  Vertex rows_looked_at_ = 0;
  ShortVector<char> waits_;      // [num_rows] whether the row looks again; empty at first
  ShortVector<Vertex> waiting_;  // rows that look again
  ShortVector<Word> below_;      // [width / WORD + 1] columns that a row demands to be lower; empty at first
};
