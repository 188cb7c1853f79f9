// small.cpp: the short way of small dense problems, for Python.
#include <algorithm>
#include <optional>

#include "bindings/in_front.hpp"
#include "bindings/nested.hpp"
#include "bindings/small_arrays.hpp"
#include "bindings/small_batches.hpp"
#include "bindings/small_few_pairs.hpp"
#include "bindings/small_options.hpp"
#include "bindings/small_results.hpp"
#include "bindings/small_sparse.hpp"
#include "bindings/ticks.hpp"

namespace {

template <class Cost>
nb::object cells_of(const SmallMatrix<Cost>& given, const SmallCall& call, std::vector<Count>& words) {
  nb::object cells = new_cells(given.shape[0], given.shape[1]);
  std::optional<OthersMayRun> others_may_run;
  if (given.fewer() > VERY_SMALL_SIDE) others_may_run.emplace();
  std::vector<Cost> memory;
  const bool solved = solve_small(with_long_lines(given, memory), call, first_of(cells), words);
  others_may_run.reset();
  return solved ? cells : nb::none();
}

// As cells_of, for costs of any type. They are solved in a wider type, if they need one: SolvedAs. None if that type does not
// hold a cost.
template <class Stored>
nb::object cells_of_stored(const SmallMatrix<Stored>& given, const SmallCall& call, std::vector<Count>& words) {
  using Cost = SolvedAs<Stored>;
  if constexpr (std::is_same_v<Cost, Stored>) {
    return cells_of(given, call, words);
  } else {
    if (!holds<Cost>(given)) return nb::none();
    std::vector<Cost> copy;
    return cells_of(copied_with_long_lines(given, copy), call, words);
  }
}

// As cells_of, for matrices that are not small. None unless nearly all pairs have the same cost and few cost less.
template <class Cost>
nb::object cells_of_few_pairs(const SmallMatrix<Cost>& given, const SmallCall& call, std::vector<Count>& words) {
  nb::object cells = new_cells(given.shape[0], given.shape[1]);
  std::optional<OthersMayRun> others_may_run(std::in_place);
  const bool solved = solve_small_few_pairs(given, call, first_of(cells), words);
  others_may_run.reset();
  return solved ? cells : nb::none();
}
nb::object assign_few_pairs_for(const ArrayMemory& memory, const SmallCall& call, std::vector<Count>& words) {
  // Two threads check a matrix of this number of entries or more: COSTS_PER_THREAD in gmatch/devices/cpu.py.
  constexpr Py_ssize_t MOST = 1 << 21;
  if (memory.num_dimensions() != 2 || !memory.lies_on_entries() || call.limit != nullptr || call.deterministic) return nb::none();
  const Py_ssize_t rows = memory.length(0), columns = memory.length(1);
  if (rows == 0 || columns == 0 || rows >= MOST / columns) return nb::none();
  switch (memory.type()) {
    case 'd': return cells_of_few_pairs(memory.matrix<double>(), call, words);
    case 'f': return cells_of_few_pairs(memory.matrix<float>(), call, words);
    case 'i': return cells_of_few_pairs(memory.matrix<std::int32_t>(), call, words);
    case 'l':
    case 'q': break;
    default: return nb::none();
  }
  if (memory.entry_size() == 4) return cells_of_few_pairs(memory.matrix<std::int32_t>(), call, words);
  return cells_of_few_pairs(memory.matrix<Count>(), call, words);
}

// The cells of a matrix of costs. None if the costs are of another type, or equal (unless that is allowed), or if they need
// another way, or have no assignment. A large matrix has cells only if nearly all pairs have the same cost and few cost less.
nb::object assign_small_for(const ArrayMemory& memory, const SmallCall& call, std::vector<Count>& words) {
  if (!memory.is_small_matrix()) return assign_few_pairs_for(memory, call, words);
  return memory.with_stored([&](auto entry) { return cells_of_stored(memory.matrix<decltype(entry)>(), call, words); });
}
// The pairs alone, with numbers of 64 bits for both sides.
nb::object pairs_small(nb::handle costs, bool maximize) {
  std::vector<Count> words;
  const ArrayMemory memory(costs);
  const nb::object cells = assign_small_for(memory, {maximize, false}, words);
  if (cells.is_none()) return cells;
  return pairs_in(cells, first_of(cells), static_cast<Vertex>(memory.length(0)), static_cast<Vertex>(memory.length(1)),
                  &SmallCells<Count>::pair_columns);
}

struct SmallSolver {
  nb::handle kind, make_field;
  bool maximize, deterministic, may_be_partial;

  explicit SmallSolver(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        maximize(PyTuple_GetItem(parts, 2) == Py_True),
        deterministic(PyTuple_GetItem(parts, 3) == Py_True),
        may_be_partial(PyTuple_GetItem(parts, 4) == Py_True) {}

  SmallCall without_limit() const {
    SmallCall call{maximize, true, nullptr, deterministic};
    call.may_be_partial = may_be_partial;
    return call;
  }

  nb::object solve(nb::handle cost_limit, nb::handle costs, bool forbids_nan = false) const {
    SmallLimit limit;
    const bool has_limit = cost_limit.is_valid();
    if (has_limit && !read_limit(cost_limit, &limit)) return nb::none();
    const ArrayMemory memory(costs);
    std::vector<Count> words;
    SmallCall call = without_limit();
    call.forbids_nan = forbids_nan;
    if (has_limit) call.limit = &limit;
    nb::object cells = assign_small_for(memory, call, words);
    if (cells.is_none()) return cells;
    return later_result(kind, make_field, cells,
                        {static_cast<Vertex>(memory.length(0)), static_cast<Vertex>(memory.length(1)),
                         memory.solved_as(), maximize, call.limit},
                        words);
  }
};

nb::object small_solver(nb::handle kind, nb::handle make_field, bool maximize, bool deterministic, bool may_be_partial) {
  return small_solver_of<SmallSolver>(nb::make_tuple(kind, make_field, maximize, deterministic, may_be_partial));
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

// Whether an attribute of a tensor is `truth`.
bool says(PyObject* tensor, PyObject* name, PyObject* truth) {
  const nb::object found = nb::steal(PyObject_GetAttr(tensor, name));
  if (!found.is_valid()) PyErr_Clear();
  return found.ptr() == truth;
}
nb::object called(nb::handle object, PyObject* method) {
  PyObject* const self = object.ptr();
  nb::object made = nb::steal(PyObject_VectorcallMethod(method, &self, 1, nullptr));
  if (!made.is_valid()) PyErr_Clear();
  return made;
}
bool is_small_tensor(nb::handle tensor) {
  static PyObject* const name = interned("shape");
  const nb::object shape = nb::steal(PyObject_GetAttr(tensor.ptr(), name));
  if (!shape.is_valid()) throw nb::python_error();
  if (!PyTuple_Check(shape.ptr()) || PyTuple_Size(shape.ptr()) != 2) return false;
  const auto length = [&](Py_ssize_t k) { return PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), k)); };
  return length(0) + length(1) <= 4 * SMALL_SIDE;
}
// The array that shares its memory with a tensor on the host, without its gradient. `is_wide` says that NumPy lacks the type of
// the tensor: the array is then a float32 copy. If there is no array, the object is not valid, or is no array of NumPy.
nb::object array_of_tensor(PyObject* tensor, bool has_gradient, bool is_wide) {
  static PyObject* const names[] = {interned("detach"), interned("float"), interned("numpy")};
  nb::object same = has_gradient ? called(tensor, names[0]) : nb::borrow(tensor);
  if (same.is_valid() && is_wide) same = is_small_tensor(same) ? called(same, names[1]) : nb::object();
  return same.is_valid() ? called(same, names[2]) : same;
}

// The pairs of a result as tensors in the memory of its cells, with numbers of 64 bits.
nb::object pairs_as_tensors(nb::handle from_numpy, nb::handle result) {
  const nb::handle cells = reinterpret_cast<const Later*>(result.ptr())->first;
  const auto& counters = *reinterpret_cast<const SmallCounters*>(first_of(cells));
  const nb::tuple pairs = pairs_in(cells, first_of(cells), static_cast<Vertex>(counters.rows),
                                   static_cast<Vertex>(counters.columns), &SmallCells<Count>::pair_columns);
  return nb::make_tuple(from_numpy(pairs[0]), from_numpy(pairs[1]));
}

// The result of a tensor that shares its memory with an array. `library` is two functions and a type that NumPy lacks. The first
// function makes a tensor of an array. The second makes the fields of the result, from the result for the array and the type of
// the tensor: see gmatch/tensors.py. If the tensor needs a gradient, its own entries are what the pairs cost. Python makes the
// results that have a cover.
nb::object solve_tensor(PyObject* library, SmallSolver solver, const SmallOptions& options) {
  static PyObject* const names[] = {interned("is_cuda"), interned("requires_grad"), interned("dtype"), interned("pair_costs")};
  if (!says(options.costs, names[0], Py_False)) return nb::none();
  const bool has_gradient = !says(options.costs, names[1], Py_False);
  const nb::object type = nb::steal(PyObject_GetAttr(options.costs, names[2]));
  if (!type.is_valid()) throw nb::python_error();
  const bool is_wide = type.ptr() == PyTuple_GetItem(library, 2);
  const nb::object array = array_of_tensor(options.costs, has_gradient, is_wide);
  if (!array.is_valid() || Py_TYPE(array.ptr()) != numpy::Table::get().array_type()) return nb::none();
  solver.may_be_partial = false;
  const nb::object found = solver.solve(options.cost_limit, array, options.forbids_nan);
  if (found.is_none()) return found;
  const nb::object pairs = pairs_as_tensors(PyTuple_GetItem(library, 0), found);
  nb::object result = later_result(solver.kind, PyTuple_GetItem(library, 1), pairs, nb::make_tuple(found, type), nullptr);
  note_nan(result, first_of(reinterpret_cast<const Later*>(found.ptr())->first));
  if (has_gradient) {
    const nb::object pair_costs = nb::steal(PyObject_GetItem(options.costs, pairs.ptr()));
    if (!pair_costs.is_valid()) throw nb::python_error();
    if (PyObject_GenericSetAttr(result.ptr(), names[3], pair_costs.ptr()) != 0) throw nb::python_error();
  }
  return result;
}

// The bits that options stand for; None if one of them needs the long way.
nb::object bits_of_options(const nb::dict& table, const nb::dict& options) {
  SmallOptions read;
  return read.read(table.ptr(), options.ptr()) ? nb::int_(read.bits) : nb::object(nb::none());
}

// The number of dimensions of the first item, an array, of a list, a tuple, or a sequence that is known to be a batch. 0 for all
// other costs.
int dimensions_of_first(PyObject* costs, PyTypeObject* array, const SmallBatchSolver& batches) {
  const bool is_list = PyList_CheckExact(costs) || batches.is_sure(costs);
  if (!is_list && !PyTuple_CheckExact(costs)) return 0;
  if ((is_list ? PyList_Size(costs) : PyTuple_Size(costs)) == 0) return 0;
  PyObject* const first = is_list ? PyList_GetItem(costs, 0) : PyTuple_GetItem(costs, 0);
  return Py_TYPE(first) == array ? reinterpret_cast<const numpy::Array*>(first)->num_dimensions : 0;
}

// What a table has for this object's type; nullptr if it has nothing.
PyObject* by_type(PyObject* table, PyObject* costs) {
  return PyDict_GetItemWithError(table, reinterpret_cast<PyObject*>(Py_TYPE(costs)));  // borrowed
}

// The array of a list or tuple of rows that are arrays of one type and length, in the type in which they are solved. None if the
// rows are not, or if the array is not small.
nb::object array_of_rows(PyObject* rows) {
  std::vector<ArrayMemory> memories;
  const bool is_list = PyList_Check(rows);  // also of a class of lists
  const Py_ssize_t number = is_list ? PyList_Size(rows) : PyTuple_Size(rows);
  memories.reserve(static_cast<std::size_t>(number));
  for (Py_ssize_t k = 0; k < number; ++k) {
    PyObject* const item = is_list ? PyList_GetItem(rows, k) : PyTuple_GetItem(rows, k);
    const ArrayMemory& row = memories.emplace_back(nb::handle(item));
    const ArrayMemory& first = memories.front();
    if (!row.is_list() || row.length(0) != first.length(0) || row.length(0) == 0) return nb::none();
    if (row.type() != first.type() || row.entry_size() != first.entry_size()) return nb::none();
  }
  const Py_ssize_t shape[] = {number, memories.front().length(0)};
  if (number > SMALL_SIDE && shape[1] > SMALL_SIDE) return nb::none();
  return memories.front().with_stored([&](auto entry) -> nb::object {
    using Stored = decltype(entry);
    using Cost = SolvedAs<Stored>;
    Cost* numbers;
    nb::object array = numpy::Table::get().array(2, shape, &numbers);
    for (const ArrayMemory& memory : memories) {
      const SmallMatrix<Stored> row{memory.data<Stored>(), {1, static_cast<Vertex>(shape[1])}, {0, memory.stride()}};
      if (!holds<Cost>(row)) return nb::none();
      copied_with_long_lines(row, numbers);
      numbers += shape[1];
    }
    return array;
  });
}

// The result of nested lists of two dimensions, or of a sequence of rows that are arrays; None for other objects.
nb::object solve_lists(const SmallSolver& solver, const SmallOptions& options, bool of_arrays) {
  const nb::object array = of_arrays ? array_of_rows(options.costs) : array_of_lists(options.costs);
  return array.is_none() ? array : solver.solve(options.cost_limit, array, options.forbids_nan);
}

// `parts` are the table of options, the solvers that small_solver makes (by the bits), the parts of SmallBatchSolver, the
// solvers that small_sparse_solver makes (by the type of a matrix, then by the bits), and the libraries of tensors by their type.
PyObject* lap_by_short_way(PyObject* parts, PyObject* const* arguments, Py_ssize_t number, PyObject* names) {
  SmallOptions options;
  if (!options.read(PyTuple_GetItem(parts, 0), arguments, number, names)) Py_RETURN_NONE;
  PyTypeObject* const array = numpy::Table::get().array_type();
  const bool is_array = Py_TYPE(options.costs) == array;
  PyObject* const sparse = is_array ? nullptr : by_type(PyTuple_GetItem(parts, 3), options.costs);
  PyObject* const solvers = sparse != nullptr ? sparse : PyTuple_GetItem(parts, 1);
  if (options.bits >= PyTuple_Size(solvers)) Py_RETURN_NONE;
  PyObject* const solver = PyCFunction_GetSelf(PyTuple_GetItem(solvers, options.bits));
  if (sparse != nullptr) return made_by([&] { return solve_sparse_matrix(solver, options.cost_limit, options.costs); });
  if (is_array && reinterpret_cast<const numpy::Array*>(options.costs)->num_dimensions == 2) {
    return made_by([&] { return SmallSolver(solver).solve(options.cost_limit, options.costs, options.forbids_nan); });
  }
  if (PyObject* const library = by_type(PyTuple_GetItem(parts, 4), options.costs)) {
    return made_by([&] { return solve_tensor(library, SmallSolver(solver), options); });
  }
  const SmallBatchSolver batches(PyTuple_GetItem(parts, 2));
  const int dimensions = is_array ? 3 : dimensions_of_first(options.costs, array, batches) + 1;
  if (dimensions < 3) return made_by([&] { return solve_lists(SmallSolver(solver), options, dimensions == 2); });
  return made_by([&] { return batches.solve(options, SmallSolver(solver).without_limit()); });
}

// `lap`: the short way for small arrays, tensors and sparse matrices, in front of a function of Python for all other calls.
nb::object small_lap(const nb::dict& table, const nb::tuple& solvers, const nb::tuple& of_batches, const nb::dict& of_sparse,
                     const nb::dict& of_tensors, nb::handle otherwise) {
  return in_front(&lap_by_short_way, nb::make_tuple(table, solvers, of_batches, of_sparse, of_tensors), otherwise);
}

}  // namespace

void define_small(nb::module_& m) {
  m.def("pairs_small", &pairs_small);
  m.def("small_solver", &small_solver);
  m.def("bits_of_options", &bits_of_options);
  m.def("small_lap", &small_lap);
  m.def("seconds_of_ticks", &seconds_of_ticks);
  mirror::add_struct<SmallCounters>(m, "SmallCounters");
  mirror::add_arrays<SmallCells<Count>>(m, "SmallCells<long long>");
  mirror::add_arrays<SmallCells<double>>(m, "SmallCells<double>");
  m.attr("SMALL_SIDE") = SMALL_SIDE;
}
