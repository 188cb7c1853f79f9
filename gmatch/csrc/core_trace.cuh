// core_trace.cuh: the steps that a solution by the core takes, noted in their order. Tests hold them against known ones.
#pragma once
#include "steps.cuh"

// An enum, and the names of its members in one text, for Python.
#define NAMED_ENUM(Enum, NAMES, ...) \
  enum class Enum { __VA_ARGS__ };   \
  inline constexpr const char* NAMES = #__VA_ARGS__

// `sample` looks at some rows and columns, `price` picks the core, `learn` adds to its rows; `auction_matrix` and
// `search_matrix` work on the whole matrix. core_assignment.cuh and core_shortest_path.hpp say more.
NAMED_ENUM(CoreStep, CORE_STEPS, sample, price, auction, learn, hold, refine, search, outprice, reprice, rebuild, bid_again,
           auction_matrix, bound, search_matrix);

// Zero before the solution starts. One thread writes it.
struct CoreTrace {
  static constexpr int ROOM = 64;

  Count size;
  Count steps[ROOM];  // each a CoreStep

  DEVICE void add(CoreStep step) { steps[size++] = static_cast<Count>(step); }
  DEVICE bool ends_with(CoreStep step) const { return size > 0 && steps[size - 1] == static_cast<Count>(step); }
};
