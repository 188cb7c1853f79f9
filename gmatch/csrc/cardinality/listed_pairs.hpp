// listed_pairs.hpp: the allowed pairs of costs as a graph, on the host.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "cardinality/csr_edges.cuh"
#include "costs/dense.cuh"
#include "costs/sparse.cuh"
#include "team/interrupt.hpp"

// Pairs, row by row: a graph of our own, which no other thread can change.
class ListedPairs {
 public:
  ListedPairs(Vertex num_rows, Vertex num_columns) : num_columns_(num_columns) {
    offsets_.reserve(num_rows + Count{1});
    offsets_.push_back(0);
  }

  // Begins a row of at most `most` pairs. Returns the place for their columns, which has room for one more.
  Vertex* begin_row(Count most) {
    const Count needed = size() + most + 1;
    if (needed > room_) {
      room_ = std::max(needed, 2 * room_);
      // The system moves large pieces without copying them.
      void* longer = std::realloc(columns_.get(), room_ * sizeof(Vertex));
      if (longer == nullptr) throw std::bad_alloc();
      (void)columns_.release();
      columns_.reset(static_cast<Vertex*>(longer));
    }
    return columns_.get() + size();
  }
  void end_row(const Vertex* end) { offsets_.push_back(end - columns_.get()); }

  Count size() const { return offsets_.back(); }
  Vertex num_rows() const { return static_cast<Vertex>(offsets_.size()) - 1; }
  Vertex num_columns() const { return num_columns_; }
  CsrEdges<Count, Vertex> edges() const { return {num_rows(), num_columns_, offsets_.data(), columns_.get()}; }

 private:
  struct Free {
    void operator()(Vertex* memory) const { std::free(memory); }
  };

  const Vertex num_columns_;
  std::vector<Count> offsets_;
  std::unique_ptr<Vertex[], Free> columns_;
  Count room_ = 0;
};

// The pairs that are not forbidden.
template <class Stored>
ListedPairs allowed_pairs(const DenseCosts<Stored>& costs) {
  ListedPairs pairs(costs.num_rows, costs.num_columns);
  Poll poll;
  for (Vertex row = 0; row < costs.num_rows; ++row) {
    Vertex* next = pairs.begin_row(costs.num_columns);
    // Without a branch: whether a pair is allowed is hard to predict.
    for (Vertex column = 0; column < costs.num_columns; ++column) {
      *next = column;
      next += !is_forbidden(costs.at(row, column));
    }
    pairs.end_row(next);
    poll.spend(costs.num_columns);
  }
  return pairs;
}

// The stored pairs that are allowed.
template <class Cost, class Offset, class Column>
ListedPairs allowed_pairs(const SparseCosts<Cost, Offset, Column>& costs) {
  const CsrEdges<Offset, Column> edges{costs.num_rows, costs.num_columns, costs.offsets, costs.columns};
  ListedPairs pairs(costs.num_rows, costs.num_columns);
  pairs.begin_row(edges.num_edges());  // room for all
  Poll poll;
  for (Vertex row = 0; row < costs.num_rows; ++row) {
    Vertex* next = pairs.begin_row(edges.end(row) - edges.begin(row));
    for (Offset edge = edges.begin(row); edge < edges.end(row); ++edge) {
      *next = edges.column(edge);
      next += !is_forbidden(costs.at(edge));
    }
    pairs.end_row(next);
    poll.spend(edges.end(row) - edges.begin(row));
  }
  return pairs;
}
