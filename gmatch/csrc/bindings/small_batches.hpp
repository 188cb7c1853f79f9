// small_batches.hpp: the short way of small batches.
#pragma once
#include "bindings/small_costs.hpp"
#include "bindings/small_options.hpp"

// Solves batches, with seven parts from gmatch/small.py: the type of the result of a batch, the function that makes its fields,
// the type of its sequence of assignments, the type of an assignment, the functions that make the fields of an assignment (by the
// bits of the options), the function that returns the most threads, and the type of a sequence that is known to be a batch.
struct SmallBatchSolver {
  nb::handle kind, make_field, items, kind_of_item, makers, most_threads, sure_kind;

  explicit SmallBatchSolver(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        items(PyTuple_GetItem(parts, 2)),
        kind_of_item(PyTuple_GetItem(parts, 3)),
        makers(PyTuple_GetItem(parts, 4)),
        most_threads(PyTuple_GetItem(parts, 5)),
        sure_kind(PyTuple_GetItem(parts, 6)) {}

  bool is_sure(PyObject* costs) const { return reinterpret_cast<PyObject*>(Py_TYPE(costs)) == sure_kind.ptr(); }

  // Returns None also if Python must warn the user.
  nb::object solve(const SmallOptions& options, SmallCall call) const;
};
