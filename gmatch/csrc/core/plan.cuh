// plan.cuh: the plan of linear assignment by a sparse core: which step follows, by what is known after the last one.
//
// Three drivers walk this plan. It does not matter who takes a step, nor how, if all that take part know the same facts:
//
//   threads of a host  one team takes all steps
//   a GPU              a launch takes some of them (launch_of), and each launch is a program that compiles by itself. The first
//                      two launches follow each other at once. The host starts the last one if the second ends with `bound`
//   ranks and windows  gmatch/distributed/core.py: passes over parts of the matrix, which nobody holds as a whole. The root
//                      holds the core, and every rank asks for the next step
//
// If a device holds the whole matrix, a search that takes long is given up, and the plan ends with `coarsen`. Then
// gmatch/backends/coarse_duals.py walks the plan again, from duals of a coarse matrix. If there are more columns than rows,
// gmatch/backends/doubled.py walks it again, for a square problem in place of the matrix. That walk may end with `bound`.
//
// One processor of a host searches a core in another way: serial/core_search.hpp.
#pragma once
#include "core/trace.cuh"

// What is known. Numbers of parts of the matrix are added up.
struct CoreFacts {
  CoreStep last;     // the step that was taken; `sample` before the first
  bool is_fresh;     // no pairs are given, nor found by a look: an auction may pair rows before the first search
  bool is_matched;   // the last search matched all rows
  bool is_misled;    // the last auction stopped early, since near rows want the same columns
  bool is_smooth;    // prices have been smoothed: the next auction is held to its end
  bool is_given_up;  // the rest of the last search would take long
  bool is_new;       // the core has gained entries since the search before
  int searches, widenings;
  int pricings;      // how many times all rows were priced
  Count rows, columns;
  Count free;        // rows that the last search left free
  Count found;       // what the last widening or repricing found

  FIELDS(CoreFacts, last, is_fresh, is_matched, is_misled, is_smooth, is_given_up, is_new, searches, widenings, pricings, rows,
         columns, free, found)
};

struct CoreLimits {
  int searches;     // after this number a search in the matrix itself costs less
  int part_misled;  // duals have misled if more than 1 row or entry in this number says so; 0: nobody asks
  bool widens;      // rows that have too few columns in the core get more; otherwise the matrix is searched

  FIELDS(CoreLimits, searches, part_misled, widens)
};

// Where one device holds the whole matrix: each repricing is a pass over it.
constexpr int MOST_REPRICINGS = 16;
DEVICE constexpr CoreLimits limits_of_one_device() { return {MOST_REPRICINGS, 0, false}; }

// Whether all rows are to be priced by other duals: once, if the first ones have misled.
DEVICE bool have_misled(const CoreFacts& facts, const CoreLimits& limits) {
  if (limits.part_misled == 0 || facts.pricings > 1) return false;
  if (facts.last == CoreStep::widen) return facts.free > facts.rows / limits.part_misled || facts.widenings > 1;
  return facts.found > facts.rows * facts.columns / limits.part_misled;
}

DEVICE CoreStep next_step(const CoreFacts& facts, const CoreLimits& limits) {
  const CoreStep search = facts.searches < limits.searches ? CoreStep::search : CoreStep::bound;
  switch (facts.last) {
    // Ranks and windows are never fresh: the root holds the auction, and no rank or window has all rows that a look compares.
    case CoreStep::sample: return facts.is_fresh && facts.rows == facts.columns ? CoreStep::look : CoreStep::price;
    case CoreStep::look: return CoreStep::price;
    case CoreStep::price: return facts.is_fresh ? CoreStep::auction : search;
    case CoreStep::auction: return facts.is_misled ? CoreStep::smooth : CoreStep::refine;
    case CoreStep::smooth: return CoreStep::price;
    case CoreStep::refine:
    case CoreStep::price_again: return search;
    case CoreStep::search:
      if (facts.is_given_up) return CoreStep::coarsen;
      // If the core has gained nothing, its duals only round what it has.
      if (facts.is_matched) return facts.is_new ? CoreStep::reprice : CoreStep::done;
      return facts.is_new && limits.widens ? CoreStep::widen : CoreStep::bound;
    case CoreStep::widen:
    case CoreStep::reprice:
      if (facts.found == 0) return CoreStep::done;  // the witness, or v, holds for the whole matrix
      return have_misled(facts, limits) ? CoreStep::price_again : search;
    case CoreStep::bound: return CoreStep::search_matrix;
    case CoreStep::coarsen: return CoreStep::price;  // picks a core by the duals of a coarse matrix
    default: return CoreStep::done;
  }
}

// The steps that a program takes: all, or a part that compiles by itself.
enum class CoreLaunch { whole, start, search, matrix };

DEVICE constexpr CoreLaunch launch_of(CoreStep step) {
  switch (step) {
    case CoreStep::look:
    case CoreStep::price:
    case CoreStep::auction:
    case CoreStep::smooth:
    case CoreStep::refine: return CoreLaunch::start;
    case CoreStep::search:
    case CoreStep::coarsen:
    case CoreStep::reprice:
    case CoreStep::bound: return CoreLaunch::search;
    default: return CoreLaunch::matrix;
  }
}
DEVICE constexpr bool takes(CoreLaunch launch, CoreStep step) { return launch == CoreLaunch::whole || launch == launch_of(step); }

// The step before the first one of a launch.
DEVICE constexpr CoreStep before(CoreLaunch launch) {
  return launch == CoreLaunch::search   ? CoreStep::refine
         : launch == CoreLaunch::matrix ? CoreStep::bound
                                        : CoreStep::sample;
}
