// in_front.hpp: the type of functions that have a short way in front of a function of Python; see gmatch/small.py.
#pragma once
#include "bindings/module.hpp"

// A short way. It takes the arguments of a call as METH_FASTCALL | METH_KEYWORDS passes them. It returns the result (a new
// reference), None if the call needs the function of Python, or nullptr with an exception.
using ShortWay = PyObject* (*)(PyObject* parts, PyObject* const* arguments, Py_ssize_t number, PyObject* names);

// Makes a function that calls the short way with `parts`. If that returns None, it passes its arguments to `otherwise`.
nb::object in_front(ShortWay short_way, nb::handle parts, nb::handle otherwise);
