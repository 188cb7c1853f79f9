// sparse_arrays.hpp: the types of sparse costs that lie in arrays of NumPy.
#pragma once
#include <cstdint>

#include "bindings/module.hpp"
#include "costs/sparse.cuh"

// Calls define(offset, column, cost) with zeros of all types that the arrays of sparse costs may have.
template <class Define>
void each_type_of_sparse(const Define& define) {
  const auto each_cost = [&](auto offset, auto column) {
    define(offset, column, std::int32_t{});
    define(offset, column, Count{});
    define(offset, column, float{});
    define(offset, column, double{});
  };
  each_cost(std::int32_t{}, std::int32_t{});
  each_cost(std::int64_t{}, std::int32_t{});
  each_cost(std::int64_t{}, std::int64_t{});
}

template <class Costs, class Offset, class Column, class Cost>
Costs sparse_costs(const Array<const Offset>& offsets, const Array<const Column>& columns,
                   const Array<const Cost>& costs, bool maximize, const Array<Vertex>& col_match) {
  return {static_cast<Vertex>(offsets.shape(0)) - 1, static_cast<Vertex>(col_match.shape(0)), offsets.data(),
          columns.data(), costs.data(), maximize};
}
