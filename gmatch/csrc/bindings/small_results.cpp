// small_results.cpp: results of small calls, made of their cells.
#include "bindings/small_results.hpp"

#include <cmath>
#include <cstring>

#include "bindings/tiers.hpp"

void note_call(Count* cells, const NotedCall& call) {
  auto& counters = *reinterpret_cast<SmallCounters*>(cells);
  counters.rows = call.rows;
  counters.columns = call.columns;
  counters.type_of_costs = call.type_of_costs;
  counters.maximize = call.maximize;
  if (call.limit == nullptr) return;
  // An integer beside integers if it is whole, a float beside floats.
  const bool is_float = call.type_of_costs == 'd' || call.type_of_costs == 'f' || !call.limit->is_whole;
  counters.type_of_limit = is_float ? 'd' : 'q';
  if (is_float) std::memcpy(&counters.limit, &call.limit->number, sizeof(counters.limit));
  else counters.limit = call.limit->whole;
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

nb::object later_result(nb::handle kind, nb::handle make_field, nb::handle cells, const NotedCall& call,
                        const std::vector<Count>& words) {
  note_call(first_of(cells), call);
  const nb::tuple pairs = pairs_in(cells, first_of(cells), call.rows, call.columns, &SmallCells<Count>::pair_columns_32);
  return later_result(kind, make_field, pairs, cells, duals_in_tiers(words));
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
