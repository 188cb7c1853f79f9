// small_sparse.hpp: the short way of small sparse matrices.
#pragma once
#include "bindings/module.hpp"

// Solves a sparse matrix of SciPy. `parts` are the parts of a solver that small_sparse_solver has made. The limit may be nullptr.
// None if the matrix needs the long way.
nb::object solve_sparse_matrix(PyObject* parts, nb::handle cost_limit, nb::handle costs);
