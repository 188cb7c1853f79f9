// small_results.cpp: results of small calls, made of their cells.
#include "bindings/small_results.hpp"

#include <algorithm>
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

namespace {

// The vertices of a side that have a word other than 0.
nb::object numbers_of_marked(const Count* words, Vertex length) {
  const Py_ssize_t size = length - std::count(words, words + length, 0);
  Count* next;
  nb::object numbers = numpy::Table::get().array(1, &size, &next);
  for (Vertex vertex = 0; vertex < length; ++vertex) {
    if (words[vertex] != 0) *next++ = vertex;
  }
  return numbers;
}

}  // namespace

nb::object cover_of(const std::vector<Count>& words, Vertex rows, Vertex columns) {
  return nb::make_tuple(numbers_of_marked(words.data(), rows), numbers_of_marked(words.data() + rows, columns));
}

void set_cover(nb::handle result, nb::handle cover) {
  static PyObject* const name = PyUnicode_InternFromString("cover");
  if (PyObject_GenericSetAttr(result.ptr(), name, cover.ptr()) != 0) throw nb::python_error();
}

void set_forbid_nan(nb::handle result) {
  static PyObject* const name = PyUnicode_InternFromString("forbid_nan");
  if (PyObject_GenericSetAttr(result.ptr(), name, Py_True) != 0) throw nb::python_error();
}
void note_nan(nb::handle result, const Count* cells) {
  if (reinterpret_cast<const SmallCounters*>(cells)->has_nan != 0) set_forbid_nan(result);
}

nb::object later_result(nb::handle kind, nb::handle make_field, nb::handle cells, const NotedCall& call,
                        const std::vector<Count>& words) {
  note_call(first_of(cells), call);
  const nb::tuple pairs = pairs_in(cells, first_of(cells), call.rows, call.columns, &SmallCells<Count>::pair_columns_32);
  const Count size = reinterpret_cast<const SmallCounters*>(first_of(cells))->size;
  const bool has_cover = are_cover(words, call, size);
  nb::object result = later_result(kind, make_field, pairs, cells, has_cover ? nb::none() : duals_in_tiers(words));
  if (has_cover) set_cover(result, cover_of(words, call.rows, call.columns));
  note_nan(result, first_of(cells));
  return result;
}

bool read_limit(nb::handle given, SmallLimit* limit) {
  if (PyFloat_Check(given.ptr())) {
    const double number = PyFloat_AsDouble(given.ptr());
    const bool is_whole = std::abs(number) < 0x1p53 && number == std::floor(number);
    *limit = {number, is_whole ? static_cast<Count>(number) : 0, is_whole};
    return std::isfinite(number);
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

namespace {

// Where the cells of a result begin; nullptr if it has none.
Count* cells_of(const Later& later) {
  if (later.make_field == nullptr || !is_words(later.first)) return nullptr;
  return first_word(later.first) + (later.second == nullptr ? 0 : begin_in_batch(later.second));
}

template <class To, class From>
nb::object converted(const From* numbers, Py_ssize_t length) {
  To* copies;
  nb::object array = numpy::Table::get().array(1, &length, &copies);
  std::transform(numbers, numbers + length, copies, [](From number) { return static_cast<To>(number); });
  return array;
}

// In the type of the costs.
template <class Dual>
nb::object pair_costs_of(const Dual* costs, const SmallCounters& counters) {
  const auto length = static_cast<Py_ssize_t>(counters.size);
  switch (counters.type_of_costs) {
    case 'd': return converted<double>(costs, length);
    case 'f': return converted<float>(costs, length);
    case 'i': return converted<int>(costs, length);
    default: return converted<Count>(costs, length);
  }
}

// The fields that are arrays, by their places in this list.
constexpr const char* ARRAYS_OF_RESULTS[] = {"row_match", "col_match", "u", "v", "pair_costs"};

template <class Dual>
nb::object array_of_cells(nb::handle base, Count* words, int place) {
  const auto& counters = *reinterpret_cast<const SmallCounters*>(words);
  const auto rows = static_cast<Vertex>(counters.rows), columns = static_cast<Vertex>(counters.columns);
  const SmallCells<Dual> cells(words, rows, columns);
  const numpy::Table& numpy = numpy::Table::get();
  switch (place) {
    case 0: return numpy.view(base, cells.row_match, rows);
    case 1: return numpy.view(base, cells.col_match, columns);
    case 2: return numpy.view(base, cells.u, rows);
    case 3: return numpy.view(base, cells.v, columns);
    default: return pair_costs_of(cells.pair_costs, counters);
  }
}

// A descriptor of a field that is an array. It makes the array of an object's cells and lets the object keep it. Objects without
// cells have no such attribute, so that Python calls their `__getattr__`.
struct ArrayOfCells {
  PyObject_HEAD
  PyObject* name;
  int place;
};

PyObject* get_array_of_cells(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  const auto& field = *reinterpret_cast<const ArrayOfCells*>(self);
  const bool is_later = PyType_IsSubtype(Py_TYPE(object), later_type()) != 0;
  Count* const words = is_later ? cells_of(*reinterpret_cast<const Later*>(object)) : nullptr;
  if (words == nullptr) {
    PyErr_SetObject(PyExc_AttributeError, field.name);
    return nullptr;
  }
  return made_by([&] {
    const nb::handle base = reinterpret_cast<const Later*>(object)->first;
    const bool has_whole_duals = reinterpret_cast<const SmallCounters*>(words)->whole_duals != 0;
    nb::object array = has_whole_duals ? array_of_cells<Count>(base, words, field.place)
                                       : array_of_cells<double>(base, words, field.place);
    if (PyObject_GenericSetAttr(object, field.name, array.ptr()) != 0) throw nb::python_error();
    return array;
  });
}

void delete_array_of_cells(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<ArrayOfCells*>(self)->name);
  PyObject_Free(self);
  Py_DECREF(type);
}

// The descriptors by the names of their fields.
nb::dict arrays_of_cells() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&delete_array_of_cells)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(&get_array_of_cells)},
                                {0, nullptr}};
  static PyType_Spec spec = {"gmatch._native.ArrayOfCells", sizeof(ArrayOfCells), 0, Py_TPFLAGS_DEFAULT, slots};
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  nb::dict fields;
  int place = 0;
  for (const char* const name : ARRAYS_OF_RESULTS) {
    const nb::object made = nb::steal(PyObject_New(PyObject, reinterpret_cast<PyTypeObject*>(type.ptr())));
    if (!made.is_valid()) throw nb::python_error();
    auto& field = *reinterpret_cast<ArrayOfCells*>(made.ptr());
    field.name = PyUnicode_InternFromString(name);
    field.place = place++;
    fields[name] = made;
  }
  return fields;
}

}  // namespace

void define_small_results(nb::module_& m) { m.attr("ARRAYS_OF_CELLS") = arrays_of_cells(); }
