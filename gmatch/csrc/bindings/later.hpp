// later.hpp: the type of results that have their pairs and make their fields later; see gmatch/result.py.
#pragma once
#include "bindings/module.hpp"

struct Later {
  PyObject_HEAD
  PyObject* later;  // a tuple, or nullptr
};

PyTypeObject* later_type();
