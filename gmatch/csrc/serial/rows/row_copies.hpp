// row_copies.hpp: copies of all costs, row by row, for solvers that read each entry many times.
#pragma once
#include <algorithm>
#include <memory>

#include "costs/dense.cuh"
#include "serial/rows/row_scan.hpp"
#include "team/host_threads.hpp"
#include "team/interrupt.hpp"

// A pass that transposes entries of rows that lie side by side: squares of registers, then one by one.
template <class Entry>
struct TransposeTile {
  template <int BYTES>
  static ALWAYS_INLINE void run(const Entry* from, Count column_stride, Vertex rows, Vertex columns, Entry* to,
                                Count row_stride) {
    constexpr int LANES = BYTES / sizeof(Entry);
    Vertex row = 0;
    for (; row + LANES <= rows; row += LANES) {
      Vertex j = 0;
      for (; j + LANES <= columns; j += LANES) {
        Lanes<Entry, LANES> square[LANES];
        for (int k = 0; k < LANES; ++k) square[k] = load<Entry, LANES>(from + row + (j + k) * column_stride);
        transpose(square);
        for (int k = 0; k < LANES; ++k) store(to + (row + k) * row_stride + j, square[k]);
      }
      copy(from, column_stride, row, row + LANES, j, columns, to, row_stride);
    }
    copy(from, column_stride, row, rows, 0, columns, to, row_stride);
  }

 private:
  static ALWAYS_INLINE void copy(const Entry* from, Count column_stride, Vertex row, Vertex end_row, Vertex first, Vertex columns,
                                 Entry* to, Count row_stride) {
    for (; row < end_row; ++row) {
      for (Vertex j = first; j < columns; ++j) to[row * row_stride + j] = from[row + j * column_stride];
    }
  }
};

// Copies all entries to rows that lie one after another, by tiles, since the entries of a column may lie side by side.
template <class Stored>
void copy_rows(const DenseCosts<Stored>& costs, Stored* to, int threads) {
  constexpr Vertex TILE = 64;  // rows and columns
  const Count columns = costs.num_columns;
  const auto copy_tile = [&](Vertex first_row, Vertex end_row, Vertex first, Vertex end) {
    if constexpr (!IS_NARROW<Stored>) {
      if (costs.row_stride == 1) {
        return run_in_lanes<TransposeTile<Stored>>(SHORTEST_ROW, costs.place(first_row, first), costs.column_stride,
                                                   end_row - first_row, end - first, to + first_row * columns + first, columns);
      }
    }
    for (Vertex row = first_row; row < end_row; ++row) {
      for (Vertex j = first; j < end; ++j) to[row * columns + j] = *costs.place(row, j);
    }
  };
  run_on_host(threads, [&](HostTeam& team) {
    Poll poll;
    team.each_tile((Count{costs.num_rows} + TILE - 1) / TILE, [&](Count tile) {
      const Vertex first_row = static_cast<Vertex>(tile) * TILE, end_row = std::min(costs.num_rows, first_row + TILE);
      poll.spend(TILE * columns);
      for (Vertex first = 0; first < costs.num_columns; first += TILE) {
        copy_tile(first_row, end_row, first, std::min(costs.num_columns, first + TILE));
      }
    });
  });
}

// Calls function(costs) with entries of a row side by side, if need be in a copy: it is read many times.
template <class Stored, class Function>
auto with_rows_side_by_side(const DenseCosts<Stored>& costs, int threads, const Function& function) {
  if (costs.column_stride == 1) return function(costs);
  const std::unique_ptr<Stored[]> copies(new Stored[Count{costs.num_rows} * costs.num_columns]);
  copy_rows(costs, copies.get(), threads);
  DenseCosts<Stored> side_by_side = costs;
  side_by_side.costs = copies.get();
  side_by_side.row_stride = costs.num_columns;
  side_by_side.column_stride = 1;
  return function(side_by_side);
}

// Copies all entries. Returns false if one is no whole number of few bits. Entries of a row lie side by side. Rows without gaps
// between them are copied as one long row.
template <class Cost>
bool copy_whole(const DenseCosts<Cost>& costs, int* to) {
  if (costs.row_stride == costs.num_columns) {
    return WholeScan<Cost>::copy(costs.place(0, 0), Count{costs.num_rows} * costs.num_columns, to);
  }
  for (Vertex row = 0; row < costs.num_rows; ++row, to += costs.num_columns) {
    if (!WholeScan<Cost>::copy(costs.place(row, 0), costs.num_columns, to)) return false;
  }
  return true;
}
