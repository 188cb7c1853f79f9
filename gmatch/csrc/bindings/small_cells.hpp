// small_cells.hpp: the answer of a small call, in one piece of memory.
#pragma once
#include <limits>
#include <new>

#include "bindings/mirror.hpp"
#include "serial/shortest_path.hpp"

// The counters of a small call, and what else its fields are made of: the shape and type of its costs, and options.
struct SmallCounters {
  Count augmentations, rows_scanned, dual_updates, entries_read, ticks, start_size, size;
  Count rows, columns, type_of_costs;  // of the costs; a letter
  Count rows_with_choice;
  Count whole_duals;  // whether duals are integers
  Count maximize;
  Count type_of_limit, limit;  // the letter of a number of 8 bytes, or 0 without a limit; and its bits
  Count has_nan;  // whether NaN has forbidden pairs

  FIELDS(SmallCounters, augmentations, rows_scanned, dual_updates, entries_read, ticks, start_size, size, rows, columns,
         type_of_costs, rows_with_choice, whole_duals, maximize, type_of_limit, limit, has_nan)
};

// The answer of a small call, in one piece of memory, which is the cheapest to make. Python takes it apart when a field is asked
// for. Pairs are in the order of the rows. Their columns come again at the very end, as numbers of 32 bits.
template <class Dual>
struct SmallCells {
  Count* counters;  // SmallCounters
  Count *pair_rows, *pair_columns;
  Dual *pair_costs, *u, *v;
  Vertex *row_match, *col_match, *pair_columns_32;

  // Visits each array in its order: its name, its member, and how many entries it has.
  template <class Visit>
  static void each(Count pairs, Count rows, Count columns, Visit visit) {
    visit("counters", &SmallCells::counters, static_cast<Count>(sizeof(SmallCounters) / sizeof(Count)));
    visit("pair_rows", &SmallCells::pair_rows, pairs);
    visit("pair_columns", &SmallCells::pair_columns, pairs);
    visit("pair_costs", &SmallCells::pair_costs, pairs);
    visit("u", &SmallCells::u, rows);
    visit("v", &SmallCells::v, columns);
    visit("row_match", &SmallCells::row_match, rows);
    visit("col_match", &SmallCells::col_match, columns);
    visit("pair_columns_32", &SmallCells::pair_columns_32, pairs);
  }

  // The number of pairs: fewer than there is room for, if a limit left some out.
  Count& size() const { return reinterpret_cast<SmallCounters*>(counters)->size; }

  SmallCells(Count* cells, Vertex rows, Vertex columns) { mirror::lay_out(*this, cells, rows, columns); }

  // The arrays that a solver writes. Its rows are the columns if the problem is transposed.
  ShortestPathResult<Dual> result(bool transposed) const {
    if (transposed) return {v, u, col_match, row_match};
    return {u, v, row_match, col_match};
  }

  // Frees the pairs that cost more than the limit.
  template <class EntryOf>
  void drop_dear_pairs(Vertex rows, bool maximize, Dual limit, const EntryOf& entry) {
    for (Vertex row = 0; row < rows; ++row) {
      const Vertex column = row_match[row];
      if (column == NONE) continue;
      const Dual value = static_cast<Dual>(entry(row, column));
      if ((maximize ? -value : value) > limit) row_match[row] = col_match[column] = NONE;
    }
  }

  // The pairs in the order of the rows. entry(row, column) is the entry of a pair.
  template <class EntryOf>
  void note_pairs(Vertex rows, const EntryOf& entry) {
    Count* to = pair_rows;
    for (Vertex row = 0; row < rows; ++row) {
      const Vertex column = row_match[row];
      if (column == NONE) continue;
      const Count k = to - pair_rows;
      *to++ = row;
      pair_columns[k] = pair_columns_32[k] = column;
      pair_costs[k] = static_cast<Dual>(entry(row, column));
    }
    size() = to - pair_rows;
  }

  template <class Counters>
  void note_counters(const Counters& counted, Count start_size, Count ticks) {
    const Count pairs = size();
    auto* const noted = new (counters) SmallCounters{counted.augmentations, counted.rows_scanned, counted.dual_updates,
                                                     counted.entries_read,  ticks,                start_size,
                                                     pairs};
    noted->whole_duals = std::numeric_limits<Dual>::is_integer;
  }
};
