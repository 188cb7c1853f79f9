// type_names.hpp: the types of costs and indices, by the names that gmatch/programs/catalogue.py gives them.
#pragma once
#include <stdexcept>
#include <string>
#include <type_traits>

#include "cardinality/csr_edges.cuh"
#include "costs/dense.cuh"

// Calls function(zero) for the type that costs are stored as, by its name in C++.
template <class Function>
auto with_stored_type(const std::string& type, Function function) {
#define GMATCH_CALL(_, Stored)   \
  if (type == #Stored) {         \
    const Stored zero{};         \
    return function(zero);       \
  }
  WIDE_TYPES(GMATCH_CALL)
  NARROW_TYPES(GMATCH_CALL)
#undef GMATCH_CALL
  throw std::invalid_argument("expected a type of costs, got " + type);
}
// The same where narrow ones are read as wider copies.
template <class Function>
auto with_cost(const std::string& type, Function function) {
#define GMATCH_CALL(_, Cost) \
  if (type == #Cost) {       \
    const Cost zero{};       \
    return function(zero);   \
  }
  WIDE_TYPES(GMATCH_CALL)
#undef GMATCH_CALL
  throw std::invalid_argument("expected a type of costs that is not narrow, got " + type);
}
// By its name in NumPy, one whose sums are Dual.
template <class Dual, class Function>
auto with_stored(const std::string& name, Function function) {
#define GMATCH_CALL(name_in_numpy, Stored)                                 \
  if constexpr (std::is_same_v<typename DenseCosts<Stored>::Dual, Dual>) { \
    const Stored zero{};                                                   \
    if (name == #name_in_numpy) return function(zero);                     \
  }
  WIDE_TYPES(GMATCH_CALL)
  NARROW_TYPES(GMATCH_CALL)
#undef GMATCH_CALL
  throw std::invalid_argument("expected a type of costs for duals of this type, got " + name);
}

// Calls function(CsrEdges<Offset, Column>{}).
template <class Function>
auto with_indices(const std::string& offset, const std::string& column, Function function) {
  if (offset == "int" && column == "int") return function(CsrEdges<int, int>{});
  if (offset == "long long" && column == "int") return function(CsrEdges<Count, int>{});
  if (offset == "long long" && column == "long long") return function(CsrEdges<Count, Count>{});
  throw std::invalid_argument("expected types of offsets and columns, got " + offset + " and " + column);
}
