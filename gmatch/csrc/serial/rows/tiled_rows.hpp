// tiled_rows.hpp: rows whose entries lie apart in memory, as where a rank holds columns of its problem: copied some at a time.
#pragma once
#include <algorithm>
#include <vector>

#include "serial/rows/row_copies.hpp"
#include "serial/rows/rows.hpp"

// As CopiedRows, with one difference. An entry and its neighbours in the next rows lie in one line of memory, so that a tile of
// rows is read in the time of one row. The rows of a tile are there until one of another tile is asked for.
template <class Work_>
class TiledRows {
 public:
  using Entry = Work_;
  using Work = Work_;
  using Scan = RowScan<Work, Work, false>;

  template <class Stored>
  explicit TiledRows(const DenseCosts<Stored>& costs)
      : costs_(&costs), copy_(&copy<Stored>), num_rows_(costs.num_rows), num_columns_(costs.num_columns) {
    as_stored_.resize(sizeof(Stored) * TILE * num_columns_);
    copies_.resize(Count{TILE} * num_columns_);
  }

  Vertex num_rows() const { return num_rows_; }
  Vertex num_columns() const { return num_columns_; }
  Vertex width() const { return num_columns_; }
  const Entry* entries(Vertex row) {
    if (row / TILE != tile_) {
      tile_ = row / TILE;
      copy_(costs_, tile_ * TILE, as_stored_.data(), copies_.data());
    }
    return copies_.data() + row % TILE * Count{num_columns_};
  }
  // The entry of a row of the tile.
  Work at(Vertex row, Vertex column) const { return copies_[row % TILE * Count{num_columns_} + column]; }

 private:
  static constexpr Vertex TILE = 16;

  template <class Stored>
  static void copy(const void* given, Vertex first, char* as_stored, Work* to) {
    DenseCosts<Stored> tile = *static_cast<const DenseCosts<Stored>*>(given);
    tile.costs = tile.place(first, 0);
    tile.num_rows = std::min(TILE, tile.num_rows - first);
    Stored* const side_by_side = reinterpret_cast<Stored*>(as_stored);
    copy_rows(tile, side_by_side, 1);
    for (Count i = 0; i < Count{tile.num_rows} * tile.num_columns; ++i) {
      to[i] = static_cast<Work>(tile.of_entry(value_of(side_by_side[i])));
    }
  }

  const void* costs_;  // DenseCosts of some type, as for copy_
  void (*copy_)(const void*, Vertex, char*, Work*);
  Vertex num_rows_, num_columns_, tile_ = NONE;
  std::vector<char> as_stored_;
  std::vector<Work> copies_;
};
