// tight_forest.hpp: the tight edges that a root has gathered from all ranks, and the forest of their rows and columns that
// alternating paths reach from free rows, for the classical variant on several ranks.
//
// A dual step leaves all edges of the forest tight, and adds some: so the forest grows by those alone, and is begun anew only
// after a search, when the matching has become larger.
#pragma once
#include <algorithm>
#include <vector>

#include "team/team.cuh"

class TightForest {
 public:
  TightForest(Vertex num_rows, Vertex num_columns)
      : edges_(num_rows), mate_(num_rows, NONE), row_of_(num_columns, NONE), in_forest_(num_rows, 1), covered_(num_columns, 0) {}

  Vertex num_rows() const { return static_cast<Vertex>(edges_.size()); }
  Vertex num_columns() const { return static_cast<Vertex>(covered_.size()); }
  // [num_columns] 0 or 1
  const unsigned char* covered() const { return covered_.data(); }

  // Adds edges, row * num_columns + column; the forest grows along them. False if it has come to a free column: then there is a
  // larger matching, and the forest means nothing until it is begun anew.
  bool grow(const Count* places, Count number) {
    bool is_maximum = true;
    for (Count k = 0; k < number; ++k) {
      const auto row = static_cast<Vertex>(places[k] / num_columns()), column = static_cast<Vertex>(places[k] % num_columns());
      edges_[row].push_back(column);
      if (in_forest_[row] != 0) is_maximum &= cover(column);
    }
    while (!frontier_.empty()) {
      const Vertex row = frontier_.back();
      frontier_.pop_back();
      for (const Vertex column : edges_[row]) is_maximum &= cover(column);
    }
    return is_maximum;
  }

  // From a largest matching, and the columns that it reaches from free rows.
  void begin(const Vertex* mates, const unsigned char* reached) {
    std::copy_n(mates, num_rows(), mate_.begin());
    std::copy_n(reached, num_columns(), covered_.begin());
    std::fill(row_of_.begin(), row_of_.end(), NONE);
    for (Vertex row = 0; row < num_rows(); ++row) {
      const Vertex column = mate_[row];
      if (column != NONE) row_of_[column] = row;
      in_forest_[row] = column == NONE || covered_[column] != 0;
    }
  }

  // A dual step: edges of rows outside the forest with columns in it are tight no more.
  void drop_slack() {
    for (Vertex row = 0; row < num_rows(); ++row) {
      if (in_forest_[row] != 0) continue;
      std::vector<Vertex>& edges = edges_[row];
      edges.erase(std::remove_if(edges.begin(), edges.end(), [&](Vertex column) { return covered_[column] != 0; }), edges.end());
    }
  }

  // As compressed rows: offsets [num_rows + 1], and the columns that it returns.
  std::vector<Vertex> list(int* offsets) {
    std::vector<Vertex> columns;
    for (Vertex row = 0; row < num_rows(); ++row) {
      offsets[row] = static_cast<int>(columns.size());
      std::vector<Vertex>& edges = edges_[row];
      std::sort(edges.begin(), edges.end());
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());  // rounding may bring an edge again
      columns.insert(columns.end(), edges.begin(), edges.end());
    }
    offsets[num_rows()] = static_cast<int>(columns.size());
    return columns;
  }

 private:
  // False if the column is free.
  bool cover(Vertex column) {
    if (covered_[column] != 0) return true;
    const Vertex row = row_of_[column];
    if (row == NONE) return false;
    covered_[column] = 1;
    in_forest_[row] = 1;
    frontier_.push_back(row);
    return true;
  }

  std::vector<std::vector<Vertex>> edges_;  // [num_rows] columns
  std::vector<Vertex> mate_, row_of_;       // the matching, by rows and by columns
  std::vector<unsigned char> in_forest_;    // [num_rows]
  std::vector<unsigned char> covered_;      // [num_columns] whether the column is in the forest
  std::vector<Vertex> frontier_;            // rows of the forest whose edges have not been followed yet
};
