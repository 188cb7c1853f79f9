// rows.hpp: the rows of a dense matrix as the serial solvers scan them: as they lie in memory, or copied.
//
//   num_rows(), num_columns()
//   width()                 columns of a row that may be read: not fewer than scans take at once
//   entries(row)            [width()] of the row, until the ROWS_KEPT-th row after it is asked for
//   at(row, column)         what a pair costs
//   Scan                    the RowScan that reads these entries
#pragma once
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "costs/dense.cuh"
#include "serial/rows/line_vector.hpp"
#include "serial/rows/row_scan.hpp"

// A typical cost of a row: the median of a few finite entries, since the greatest may stand for "not". Infinite if there are
// none. `Scan` is a RowScan.
template <class Scan, class Entry>
double typical_cost(const Entry* entries, Vertex num_columns) {
  constexpr Vertex ENTRIES = 32;  // at equal distances
  constexpr double INFINITE = std::numeric_limits<double>::infinity();
  double some[ENTRIES];
  Vertex finite = 0;
  for (Vertex i = 0; i < ENTRIES; ++i) {
    const double cost = static_cast<double>(Scan::cost(entries[Count{num_columns} * i / ENTRIES]));
    if (cost < INFINITE) some[finite++] = cost;
  }
  if (finite == 0) return INFINITE;
  std::nth_element(some, some + finite / 2, some + finite);
  return some[finite / 2];
}

// Rows as they lie in memory.
template <class Cost, class Work_, bool MAXIMIZE>
struct StoredRows {
  using Entry = Cost;
  using Work = Work_;
  using Scan = RowScan<Cost, Work, MAXIMIZE>;
  const DenseCosts<Cost>& costs;

  Vertex num_rows() const { return costs.num_rows; }
  Vertex num_columns() const { return costs.num_columns; }
  Vertex width() const { return costs.num_columns; }
  const Entry* entries(Vertex row) { return costs.costs + row * costs.row_stride; }
  Work at(Vertex row, Vertex column) const { return Scan::cost(costs.costs[row * costs.row_stride + column]); }
};

// How many rows that follow one another may be scanned together.
constexpr Vertex ROWS_KEPT = 4;

// How many rows are computed together, if rows are computed: then the columns' points are read from memory once for all of them.
// 20,000 points of 512 coordinates are 40 MB as float32, and take longer to read than to multiply:
// benchmarks/log/points.md, "Rows of many coordinates, several at a time".
constexpr Vertex ROWS_TOGETHER = 16;

// Rows whose entries are narrow, lie apart in memory, or may be too large beside a limit: copied for each scan, if need be. They
// are read by pointers to functions, so that a solver is compiled once for all types of stored costs.
template <class Work_>
class CopiedRows {
 public:
  using Entry = Work_;
  using Work = Work_;
  using Scan = RowScan<Work, Work, false>;

  template <class Stored>
  explicit CopiedRows(const DenseCosts<Stored>& costs)
      : costs_(&costs),
        copy_(&copy<Stored>),
        at_(&at<Stored>),
        num_rows_(costs.num_rows),
        num_columns_(costs.num_columns) {
    if constexpr (std::is_same_v<Stored, Work>) {
      const bool as_stored = costs.column_stride == 1 && !costs.maximize && !(costs.limit < costs.infinite());
      if (as_stored && num_columns_ >= Scan::FEWEST_COLUMNS) {
        stored_ = costs.costs;
        row_stride_ = costs.row_stride;
      }
    }
    if (stored_ == nullptr) copies_.assign(ROWS_KEPT * Count{width()}, Distance<Work>::MAX_COST);
  }

  Vertex num_rows() const { return num_rows_; }
  Vertex num_columns() const { return num_columns_; }
  Vertex width() const { return std::max(num_columns_, Scan::FEWEST_COLUMNS); }
  const Entry* entries(Vertex row) {
    if (stored_ != nullptr) return stored_ + row * row_stride_;
    Work* to = copies_.data() + row % ROWS_KEPT * Count{width()};
    copy_(costs_, row, to);
    return to;
  }
  Work at(Vertex row, Vertex column) const { return at_(costs_, row, column); }

 private:
  template <class Stored>
  static void copy(const void* given, Vertex row, Work* to) {
    // A copy for the loop alone: a compiler must assume that the loop writes anywhere.
    const DenseCosts<Stored> costs = *static_cast<const DenseCosts<Stored>*>(given);
    const Stored* from = costs.place(row, 0);
    const auto copy_by = [&, columns = costs.num_columns](Count stride, auto cost_of) {
      for (Vertex j = 0; j < columns; ++j) to[j] = static_cast<Work>(cost_of(value_of(from[j * stride])));
    };
    using Cost = typename DenseCosts<Stored>::Cost;
    const auto copy_any = [&](Count stride) {
      // With bounds of their own, loops of narrow entries that lie side by side are made of vectors.
      if (costs.limit < costs.infinite()) copy_by(stride, [&costs](Cost entry) { return costs.of_entry(entry); });
      else if (costs.maximize) copy_by(stride, [](Cost entry) { return -static_cast<Work>(entry); });
      else copy_by(stride, [](Cost entry) { return static_cast<Work>(entry); });
    };
    if (costs.column_stride == 1) copy_any(1);
    else copy_any(costs.column_stride);
  }
  template <class Stored>
  static Work at(const void* given, Vertex row, Vertex column) {
    return static_cast<Work>(static_cast<const DenseCosts<Stored>*>(given)->at(row, column));
  }

  const void* costs_;  // DenseCosts of some type, as for copy_ and at_
  void (*copy_)(const void*, Vertex, Work*);
  Work (*at_)(const void*, Vertex, Vertex);
  Vertex num_rows_, num_columns_;
  const Work* stored_ = nullptr;  // the entries, if they can be read as they lie
  Count row_stride_ = 0;
  LineVector<Work> copies_;
};

// Rows of fewer columns than scans take at once: copied once. The places after the end are no columns: their v are MASKED, and
// their costs are at least the least of the row.
template <class Cost, class Work_>
class PaddedRows {
 public:
  using Entry = Work_;
  using Work = Work_;
  using Scan = RowScan<Work, Work, false>;

  explicit PaddedRows(const DenseCosts<Cost>& costs) : num_rows_(costs.num_rows), num_columns_(costs.num_columns) {
    for (Vertex row = 0; row < costs.num_rows; ++row) {
      Work* copy = entries_ + row * WIDTH;
      for (Vertex j = 0; j < costs.num_columns; ++j) copy[j] = static_cast<Work>(costs.at(row, j));
      std::fill(copy + costs.num_columns, copy + WIDTH, Distance<Work>::MAX_COST);
    }
  }

  Vertex num_rows() const { return num_rows_; }
  Vertex num_columns() const { return num_columns_; }
  Vertex width() const { return WIDTH; }
  const Entry* entries(Vertex row) const { return entries_ + row * WIDTH; }
  Work at(Vertex row, Vertex column) const { return entries_[row * WIDTH + column]; }

 private:
  static constexpr Vertex WIDTH = Scan::FEWEST_COLUMNS;
  Vertex num_rows_, num_columns_;
  Work entries_[(WIDTH - 1) * WIDTH];
};
