// small_results.cpp: results of small calls, made of their cells.
#include "bindings/small_results.hpp"

#include <cmath>

#include "bindings/tiers.hpp"

void note_costs(Count* cells, Vertex rows, Vertex columns, char type_of_costs) {
  auto& counters = *reinterpret_cast<SmallCounters*>(cells);
  counters.rows = rows;
  counters.columns = columns;
  counters.type_of_costs = type_of_costs;
}

nb::object later_result(nb::handle kind, nb::handle make_field, nb::handle pairs, nb::handle first, nb::handle second) {
  nb::object result = nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(kind.ptr()), 0));
  if (!result.is_valid()) throw nb::python_error();
  Later& later = *reinterpret_cast<Later*>(result.ptr());
  later.make_field = make_field.inc_ref().ptr();
  later.pairs = pairs.inc_ref().ptr();
  later.first = first.inc_ref().ptr();
  later.second = second.is_valid() ? second.inc_ref().ptr() : nullptr;
  return result;
}

void note_maximize(nb::handle result) {
  static PyObject* const maximize_name = PyUnicode_InternFromString("maximize");
  if (PyObject_GenericSetAttr(result.ptr(), maximize_name, Py_True) != 0) throw nb::python_error();
}

nb::object later_result(nb::handle kind, nb::handle make_field, bool maximize, nb::handle cells, Vertex rows, Vertex columns,
                        char type_of_costs, const std::vector<Count>& words) {
  note_costs(first_of(cells), rows, columns, type_of_costs);
  const nb::tuple pairs = pairs_in(cells, first_of(cells), rows, columns, &SmallCells<Count>::pair_columns_32);
  nb::object result = later_result(kind, make_field, pairs, cells, duals_in_tiers(words));
  if (maximize) note_maximize(result);
  return result;
}

bool read_limit(nb::handle given, SmallLimit* limit) {
  if (PyFloat_Check(given.ptr())) {
    const double number = PyFloat_AsDouble(given.ptr());
    const bool is_whole = std::abs(number) < 0x1p53 && number == std::floor(number);
    *limit = {number, is_whole ? static_cast<Count>(number) : 0, is_whole};
    return true;
  }
  if (!PyLong_CheckExact(given.ptr())) return false;
  const long long whole = PyLong_AsLongLong(given.ptr());
  if (whole == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  *limit = {static_cast<double>(whole), whole, true};
  return std::abs(limit->number) < 0x1p53;
}

void note_limit(nb::handle result, char type_of_costs, const SmallLimit& limit) {
  static PyObject* const limit_name = PyUnicode_InternFromString("cost_limit");
  const bool floats = type_of_costs == 'd' || type_of_costs == 'f' || !limit.is_whole;
  const nb::object number = nb::steal(floats ? PyFloat_FromDouble(limit.number) : PyLong_FromLongLong(limit.whole));
  if (PyObject_GenericSetAttr(result.ptr(), limit_name, number.ptr()) != 0) throw nb::python_error();
}
