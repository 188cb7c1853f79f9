// trace.cuh: the steps that a solution by the core takes, noted in their order. Tests hold them against known ones.
#pragma once
#include "team/steps.cuh"

// `sample` looks at some rows and columns, and `learn` adds entries to rows of the core: only searches on a host note these two.
// `look` asks whether a diagonal may be a cheapest assignment, `price` picks the core, `search_matrix` works on the whole matrix.
// `coarsen` gives a search up: gmatch/backends/coarse_duals.py or doubled.py then walks the plan again. `smooth` mends the prices
// of an auction that stopped early. Only ranks and windows `widen` rows and `price_again`. `done` is the end of a plan, and never
// noted. core/program.cuh, serial/core_search.hpp and gmatch/distributed/core.py say more.
MIRRORED_ENUM(CoreStep, sample, look, price, auction, smooth, learn, refine, search, reprice, bound, search_matrix, coarsen,
              widen, price_again, done);

// Zero before the solution starts. One thread writes it.
struct CoreTrace {
  static constexpr int ROOM = 64;

  Count size;
  Count steps[ROOM];  // each a CoreStep

  FIELDS(CoreTrace, size, steps)

  DEVICE void add(CoreStep step) { steps[size++] = static_cast<Count>(step); }
  DEVICE bool ends_with(CoreStep step) const { return size > 0 && steps[size - 1] == static_cast<Count>(step); }
};
