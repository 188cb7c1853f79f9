// in_front.hpp: the type of functions that have a short way in front of one of Python; see gmatch/small.py.
#pragma once
#include "bindings/module.hpp"

// What the short way finds of the arguments of a call, as METH_FASTCALL | METH_KEYWORDS has them: a new reference, None if
// they need the function of Python, or nullptr with an exception.
using ShortWay = PyObject* (*)(PyObject* parts, PyObject* const* arguments, Py_ssize_t number, PyObject* names);

// A function that calls the short way with `parts`, and `otherwise` with the same arguments where that finds nothing.
nb::object in_front(ShortWay short_way, nb::handle parts, nb::handle otherwise);
