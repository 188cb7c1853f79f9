// small_results.hpp: results of small calls, made of their cells.
#pragma once
#include <algorithm>
#include <vector>

#include "bindings/made_by.hpp"
#include "bindings/later.hpp"
#include "bindings/numpy_arrays.hpp"
#include "bindings/small_cells.hpp"
#include "bindings/small_costs.hpp"

// The number of words that the cells of a matrix take. It is equal for both types of duals.
inline Count words_of_cells(Count rows, Count columns) {
  return (mirror::bytes<SmallCells<Count>>(rows, columns) + sizeof(Count) - 1) / sizeof(Count);
}
inline nb::object new_cells(Count rows, Count columns) { return new_words(words_of_cells(rows, columns)); }
inline Count* first_of(nb::handle cells) { return first_word(cells); }

// The rows and the columns of the pairs in cells, which lie in the memory of `base`.
template <class Index>
nb::tuple pairs_in(nb::handle base, Count* cells, Vertex rows, Vertex columns, Index* SmallCells<Count>::* columns_of_pairs) {
  const SmallCells<Count> found(cells, rows, columns);
  const numpy::Table& numpy = numpy::Table::get();
  return nb::make_tuple(numpy.view(base, found.pair_rows, found.size()),
                        numpy.view(base, found.*columns_of_pairs, found.size()));
}

// What cells note of a call beside its answer.
struct NotedCall {
  Vertex rows, columns;
  char type_of_costs;
  bool maximize;
  const SmallLimit* limit;

  // The call for a matrix of another shape.
  NotedCall of(const Vertex* shape) const { return {shape[0], shape[1], type_of_costs, maximize, limit}; }
};

// Writes to the counters, which cells begin with. Python makes the fields `maximize` and `cost_limit` of them if it is asked for
// them: a dictionary for them takes 60 to 80 ns. See benchmarks/log/small_calls.md, "Options are fields that are made later".
void note_call(Count* cells, const NotedCall& call);

// A result of Python's type `kind` that has its pairs and makes its fields of `first` and `second` later; see gmatch/result.py.
nb::object later_result(nb::handle kind, nb::handle make_field, nb::handle pairs, nb::handle first, nb::handle second);

// A result of the cells of one problem.
nb::object later_result(nb::handle kind, nb::handle make_field, nb::handle cells, const NotedCall& call,
                        const std::vector<Count>& words);

// The number of the word where the cells of a problem of a batch begin, from the second member of its result. The member is that
// number, or a tuple of that number and the duals in tiers or the cover. The cells of all other results begin at word 0.
inline Count begin_in_batch(nb::handle second) {
  if (PyTuple_CheckExact(second.ptr())) return PyLong_AsLongLong(PyTuple_GetItem(second.ptr(), 0));
  return PyLong_CheckExact(second.ptr()) ? PyLong_AsLongLong(second.ptr()) : 0;
}

// Whether words are a cover, not duals in tiers. They are a cover if a call without a limit has left vertices of both sides free.
inline bool are_cover(const std::vector<Count>& words, const NotedCall& call, Count pairs) {
  const auto vertices = static_cast<std::size_t>(call.rows) + call.columns;
  return call.limit == nullptr && pairs < std::min(call.rows, call.columns) && words.size() == vertices;
}
// The rows and the columns of the cover of a largest matching; see solve_plain.
nb::object cover_of(const std::vector<Count>& words, Vertex rows, Vertex columns);
void set_cover(nb::handle result, nb::handle cover);
void set_forbid_nan(nb::handle result);
// Sets `forbid_nan` if the cells say so.
void note_nan(nb::handle result, const Count* cells);

// Reads a limit. False if it is no finite number of Python's own types: the call then needs the long way.
bool read_limit(nb::handle given, SmallLimit* limit);

// Functions of costs, after a limit if there is one. Python calls them faster than the functions that nanobind makes. `Solver`
// reads the options that all its calls share from a tuple.
template <class Solver>
PyObject* call_small_solver(PyObject* parts, PyObject* const* arguments, Py_ssize_t number) {
  if (number != 1 && number != 2) {
    PyErr_SetString(PyExc_TypeError, "expected costs, or a limit and costs");
    return nullptr;
  }
  return made_by([&] { return Solver(parts).solve(number == 2 ? arguments[0] : nullptr, arguments[number - 1]); });
}

template <class Solver>
nb::object small_solver_of(const nb::tuple& parts) {
  static PyMethodDef method = {"lap_small",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_small_solver<Solver>)),
                               METH_FASTCALL, "The assignment of costs, after a limit if there is one; or None."};
  const bool is_later = PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(parts[0].ptr()), later_type()) != 0;
  if (!is_later) throw nb::type_error("results must be of a type of Later");
  return nb::steal(PyCFunction_NewEx(&method, parts.ptr(), nullptr));
}
