// later.hpp: the type of results that have their pairs and make their fields later; see gmatch/result.py.
#pragma once
#include "bindings/module.hpp"

// The members of Python's tuple `_later`: (make_field, pairs, (first, second)), or without a second (make_field, pairs, first).
// Without make_field no field is made later.
struct Later {
  PyObject_HEAD
  PyObject *make_field, *pairs, *first, *second;
};

PyTypeObject* later_type();
