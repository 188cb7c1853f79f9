// small_batches.hpp: the short way of small batches.
#pragma once
#include "bindings/small_costs.hpp"
#include "bindings/small_options.hpp"

// Solves batches, with five parts from gmatch/small.py: the type of the result of a batch, the function that makes its fields,
// the type of its sequence of assignments, the functions that make the fields of an assignment (by the bits of the options), and
// the function that returns the most threads.
struct SmallBatchSolver {
  nb::handle kind, make_field, items, makers, most_threads;

  explicit SmallBatchSolver(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        items(PyTuple_GetItem(parts, 2)),
        makers(PyTuple_GetItem(parts, 3)),
        most_threads(PyTuple_GetItem(parts, 4)) {}

  // Returns None also if Python must warn the user.
  nb::object solve(const SmallOptions& options, SmallCall call) const;
};
