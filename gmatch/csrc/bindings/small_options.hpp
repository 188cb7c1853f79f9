// small_options.hpp: the options of `lap` with which small costs take the short way; see gmatch/small.py.
#pragma once
#include "bindings/module.hpp"

// Options of `lap` by name, as Python gives them. The table has, for each name, the objects with which small costs take the
// short way, and the bits of each object. Options are not compared by ==, since it may return an array. An option must be one of
// these objects, or a string of equal letters, or an object of the type that stands for a method, or a number in a range
// that begins with 1: the number of threads. The costs may be given by name, too.
struct SmallOptions {
  PyObject* costs = nullptr;
  PyObject* cost_limit = nullptr;
  PyObject* threads = nullptr;
  bool forbids_nan = false;
  int bits = 0;

  // Reads options. Returns false if one of them needs the long way. No code of Python runs.
  bool read(PyObject* table, PyObject* options) {
    Py_ssize_t place = 0;
    PyObject *name, *option;
    while (PyDict_Next(options, &place, &name, &option)) {
      if (!read(table, name, option)) return false;
    }
    return true;
  }
  // Reads the arguments of a call. The costs may be the first argument. All other arguments have names.
  bool read(PyObject* table, PyObject* const* arguments, Py_ssize_t number, PyObject* names) {
    if (number > 1) return false;
    if (number == 1) costs = arguments[0];
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t k = 0; k < named; ++k) {
      if (!read(table, PyTuple_GetItem(names, k), arguments[number + k])) return false;
    }
    return costs != nullptr;
  }

 private:
  bool read(PyObject* table, PyObject* name, PyObject* option) {
    PyObject* const taken = PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(table, name) : nullptr;  // borrowed
    if (taken == nullptr) return false;
    if (taken == Py_None) return read_once(&cost_limit, option == Py_None ? nullptr : option);
    if (taken == Py_Ellipsis) return read_once(&costs, option);
    if (taken == reinterpret_cast<PyObject*>(&PyBool_Type)) {
      forbids_nan = option == Py_True;
      return PyBool_Check(option);
    }
    return add_bits(taken, option);
  }
  static bool read_once(PyObject** to, PyObject* option) {
    if (*to != nullptr) return false;
    *to = option;
    return true;
  }
  bool is_taken(PyObject* taken, PyObject* option) {
    if (Py_TYPE(taken) == &PyRange_Type) {
      threads = option;
      return PyLong_CheckExact(option) && is_up_to(PySequence_Size(taken), option);
    }
    if (PyType_Check(taken)) return reinterpret_cast<PyObject*>(Py_TYPE(option)) == taken;
    return taken == option ||
           (PyUnicode_CheckExact(taken) && PyUnicode_CheckExact(option) && PyUnicode_Compare(taken, option) == 0);
  }
  // Whether a number lies from 1 to `most`. Asking a range of Python takes 0.08 of a call of 5 rows:
  // benchmarks/log/small_calls.md, "A number of threads is no question to Python's range".
  static bool is_up_to(Py_ssize_t most, PyObject* number) {
    const long long asked = PyLong_AsLongLong(number);
    if (asked == -1) PyErr_Clear();
    return 1 <= asked && asked <= most;
  }
  bool add_bits(PyObject* taken, PyObject* option) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(taken); k += 2) {
      if (!is_taken(PyTuple_GetItem(taken, k), option)) continue;
      bits |= static_cast<int>(PyLong_AsLong(PyTuple_GetItem(taken, k + 1)));
      return true;
    }
    return false;
  }
};
