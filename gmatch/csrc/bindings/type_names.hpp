// type_names.hpp: the types of costs and indices, by the names that gmatch/backends/catalogue.py gives them.
#pragma once
#include <stdexcept>
#include <string>

#include "cardinality/csr_edges.cuh"

// Calls function(Cost{}).
template <class Function>
auto with_cost(const std::string& cost, Function function) {
  if (cost == "int") return function(int{});
  if (cost == "long long") return function(Count{});
  if (cost == "float") return function(float{});
  if (cost == "double") return function(double{});
  throw std::invalid_argument("expected a type of costs, got " + cost);
}

// Calls function(CsrEdges<Offset, Column>{}).
template <class Function>
auto with_indices(const std::string& offset, const std::string& column, Function function) {
  if (offset == "int" && column == "int") return function(CsrEdges<int, int>{});
  if (offset == "long long" && column == "int") return function(CsrEdges<Count, int>{});
  if (offset == "long long" && column == "long long") return function(CsrEdges<Count, Count>{});
  throw std::invalid_argument("expected types of offsets and columns, got " + offset + " and " + column);
}
