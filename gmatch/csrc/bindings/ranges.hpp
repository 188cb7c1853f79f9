// ranges.hpp: the range of costs, which is looked at before they are solved.
#pragma once
#include <limits>

#include "costs/dense.cuh"

// The range of the finite entries of a matrix, and which other entries it has.
template <class Cost>
struct CostRange {
  Cost lowest, highest;
  bool nan, plus_inf, minus_inf;

  void add(Cost entry) {
    lowest = entry < lowest ? entry : lowest;
    highest = entry > highest ? entry : highest;
  }
};

template <class Cost>
CostRange<Cost> empty_range() {
  using Limits = std::numeric_limits<Cost>;
  return {Limits::has_infinity ? Limits::infinity() : Limits::max(),
          Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), false, false, false};
}

// Adds entries of one row to a range. They lie `stride` apart. For the types of costs that are not narrow.
template <class Cost>
void add_row(CostRange<Cost>& range, const Cost* row, Count columns, Count stride);

// A matrix in one piece is one long row.
template <class Cost>
void add_rows(CostRange<Cost>& range, const Cost* entries, Count rows, Count columns, Count row_stride,
              Count column_stride) {
  const bool by_rows = column_stride == 1 && row_stride == columns;
  const bool by_columns = row_stride == 1 && column_stride == rows;
  if (by_rows || by_columns) return add_row(range, entries, rows * columns, 1);
  for (Count row = 0; row < rows; ++row) add_row(range, entries + row * row_stride, columns, column_stride);
}
