// small_costs.hpp: small dense problems, solved where they lie. small_costs.cpp compiles the solvers.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bindings/ranges.hpp"
#include "costs/dense.cuh"

// The most vertices on the shorter side of a small problem; and of one during which other Python threads wait.
constexpr Vertex SMALL_SIDE = 512, VERY_SMALL_SIDE = 64;
// The most vertices on the shorter side of a small sparse problem.
constexpr Vertex SMALL_SPARSE_SIDE = 999;

// A small matrix where it lies; rows first, strides in entries.
template <class Cost>
struct SmallMatrix {
  const Cost* entries;
  Vertex shape[2];
  Count stride[2];

  Vertex fewer() const { return std::min(shape[0], shape[1]); }
  Vertex more() const { return std::max(shape[0], shape[1]); }
};

// A limit that a small call was given: a number, also as an integer if it is whole and no float has more bits.
struct SmallLimit {
  double number;
  Count whole;
  bool is_whole;

  // The limit of the minimisation form, for duals of either type.
  Count of(Count, bool maximize) const { return maximize ? -whole : whole; }
  double of(double, bool maximize) const { return maximize ? -number : number; }
};

// The options of a small call.
struct SmallCall {
  bool maximize, may_be_equal;
  const SmallLimit* limit = nullptr;
  bool deterministic = false;  // whether ties are decided by the rule
  bool overflows = false;      // whether sums of costs may overflow
  bool has_ways_out = false;   // whether ties with a limit are settled as for sparse costs: see gmatch/assignment/limit.py
  bool forbids_nan = false;     // whether NaN forbids its pair
  bool may_be_partial = false;  // whether a largest matching will do if forbidden pairs leave no assignment
};

// Costs up to this magnitude need no second look: their sums are far from every overflow. Sums of floats are in the doubles of
// the duals.
template <class Cost>
constexpr double FAR_FROM_OVERFLOW = std::numeric_limits<Cost>::is_integer ? 0x1p56
                                     : std::is_same_v<Cost, float>         ? std::numeric_limits<float>::max()
                                                                           : 1e290;
template <class Cost>
bool is_plain(const CostRange<Cost>& range, const SmallCall& call) {
  const double far = call.overflows ? std::numeric_limits<double>::max() : FAR_FROM_OVERFLOW<Cost>;
  const bool is_refused = range.nan || (call.maximize ? range.plus_inf : range.minus_inf);
  if (call.limit != nullptr) {
    const bool fits = !std::numeric_limits<Cost>::is_integer || call.limit->is_whole;
    if (!fits || !(std::abs(call.limit->number) <= far) || range.lowest > range.highest) return false;
  }
  // Floats beyond the limit may be of any size: they are never added to others.
  const bool leaves_out = call.limit != nullptr && !std::numeric_limits<Cost>::is_integer;
  const bool is_near = (range.lowest >= -far || (leaves_out && call.maximize)) &&
                       (range.highest <= far || (leaves_out && !call.maximize));
  return !is_refused && is_near && (call.may_be_equal || range.lowest != range.highest);
}

// Fills the cells; false if there is no assignment. The costs are plain. Unless they are exact, as integers are, duals may
// hide some of them: then there are words of duals in tiers, too. If the result is a largest matching that is no assignment, the
// words are its cover instead: one for each row and each column, which is not 0 in the cover.
template <class Cost>
bool solve_plain(const SmallMatrix<Cost>& given, const CostRange<Cost>& range, const SmallCall& call, bool exact, Count* cells,
                 std::vector<Count>& words);

// Fills the cells for any costs, also for a matrix without rows or columns. False also for costs that need a second look, and for
// equal costs, unless these are allowed.
template <class Cost>
bool solve_small(const SmallMatrix<Cost>& given, SmallCall call, Count* cells, std::vector<Count>& words);

// A copy that begins at `memory`, in a type that should hold every entry. Its longer lines lie in one piece each.
template <class Cost, class Given>
SmallMatrix<Cost> copied_with_long_lines(const SmallMatrix<Given>& given, Cost* memory) {
  const auto [rows, columns] = given.shape;
  const auto [row_stride, column_stride] = given.stride;
  const bool by_rows = rows <= columns;
  const SmallMatrix<Cost> copy{memory, {rows, columns}, {by_rows ? columns : 1, by_rows ? 1 : rows}};
  if (rows == 0 || columns == 0) return copy;  // there may be no memory
  for (Vertex row = 0; row < rows; ++row) {
    const Given* const from = given.entries + row * row_stride;
    Cost* const to = memory + row * copy.stride[0];
    for (Vertex column = 0; column < columns; ++column) {
      to[column * copy.stride[1]] = static_cast<Cost>(from[column * column_stride]);
    }
  }
  return copy;
}
template <class Cost, class Given>
SmallMatrix<Cost> copied_with_long_lines(const SmallMatrix<Given>& given, std::vector<Cost>& memory) {
  memory.resize(static_cast<std::size_t>(given.shape[0]) * given.shape[1]);
  return copied_with_long_lines(given, memory.data());
}

// A matrix cut out of a wider one has short lines far apart. It is copied so that the longer lines lie in one piece.
template <class Cost>
SmallMatrix<Cost> with_long_lines(const SmallMatrix<Cost>& given, std::vector<Cost>& memory) {
  const auto [rows, columns] = given.shape;
  const auto [row_stride, column_stride] = given.stride;
  const bool is_one_piece = (column_stride == 1 && row_stride == columns) || (row_stride == 1 && column_stride == rows);
  if (is_one_piece || (rows <= columns ? column_stride : row_stride) == 1) return given;
  return copied_with_long_lines(given, memory);
}
