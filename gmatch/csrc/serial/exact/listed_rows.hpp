// listed_rows.hpp: rows of sparse costs, for serial/exact/named_rows.hpp.
#pragma once
#include <algorithm>

#include "costs/sparse.cuh"
#include "serial/shortest_path.hpp"

template <class Costs>
struct ListedRows {
  using Dual = typename Costs::Dual;
  const Costs& costs;

  Vertex num_rows() const { return costs.num_rows; }
  Vertex num_columns() const { return costs.num_columns; }
  // What a pair costs, which is stored.
  Dual at(Vertex row, Vertex column) const {
    const auto* const first = costs.columns;
    return costs.at(std::find(first + costs.begin(row), first + costs.end(row), column) - first);
  }
};

template <class Rows>
struct AreListed {
  static constexpr bool value = false;
};
template <class Costs>
struct AreListed<ListedRows<Costs>> {
  static constexpr bool value = true;
};
