// networkx.cpp: graphs of networkx, which are dicts of dicts, as arrays. Plain dicts alone: views of graphs
// compute what they hold.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

void define_networkx(nb::module_& m);  // as module.hpp has it, which would take a second longer to compile

namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The value of a key, or none. Comparing keys may run any Python code, so the caller keeps the objects alive.
nb::handle item_of(nb::handle dict, nb::handle key) {
  PyObject* item = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (item == nullptr && PyErr_Occurred()) throw nb::python_error();
  return item;
}

nb::object plain_dict_of(nb::handle dict, nb::handle key) {
  const nb::handle item = item_of(dict, key);
  if (!item.is_valid()) {
    PyErr_SetObject(PyExc_KeyError, key.ptr());
    throw nb::python_error();
  }
  if (!PyDict_CheckExact(item.ptr())) throw nb::type_error("expected a plain dict of neighbours");
  return nb::borrow(item);
}

// visit(neighbour, data) for each neighbour of each of the nodes, in turn, until one returns false. Both are borrowed.
template <class Visit>
void each_neighbour(nb::handle adjacency, const nb::tuple& nodes, const Visit& visit) {
  for (const nb::handle node : nodes) {
    const nb::object neighbours = plain_dict_of(adjacency, node);
    Py_ssize_t place = 0;
    PyObject *key, *value;
    while (PyDict_Next(neighbours.ptr(), &place, &key, &value)) {
      if (!visit(key, value)) return;
    }
  }
}

// Writes where the neighbours of each node begin, and where the last ones end.
void count_neighbours(nb::dict adjacency, const nb::tuple& nodes, Array<std::int64_t> offsets) {
  if (offsets.shape(0) != nodes.size() + 1) throw nb::value_error("expected an offset for each node and one more");
  std::int64_t total = 0;
  std::size_t number = 0;
  offsets.data()[0] = 0;
  for (const nb::handle node : nodes) {
    total += PyDict_Size(plain_dict_of(adjacency, node).ptr());
    offsets.data()[++number] = total;
  }
}

inline void fetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

// Numbers of nodes that are all integers and not far apart (in a table), or all strings. A look-up runs no Python code, so
// borrowed objects stay alive meanwhile.
class NumbersOfPlainNodes {
 public:
  explicit NumbersOfPlainNodes(const nb::dict& numbers) : numbers_(numbers) {
    Py_ssize_t place = 0;
    PyObject *node, *number;
    long long first = 0, last = -1;
    bool are_integers = true, are_strings = true;
    while (PyDict_Next(numbers.ptr(), &place, &node, &number)) {
      long long integer = 0;
      are_integers = are_integers && PyLong_CheckExact(node) && nb::try_cast(nb::handle(node), integer);
      are_strings = are_strings && PyUnicode_CheckExact(node);
      if (!are_integers && !are_strings) return;
      first = last < first ? integer : std::min(first, integer);
      last = std::max(last, integer);
    }
    are_plain_ = are_strings;
    const std::uint64_t span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    if (!are_integers || are_strings || span / SPARSEST > numbers.size()) return;
    are_plain_ = true;
    first_ = first;
    table_.assign(span + 1, NOT_THERE);
    place = 0;
    while (PyDict_Next(numbers.ptr(), &place, &node, &number)) {
      table_[nb::cast<long long>(nb::handle(node)) - first] = nb::cast<std::int32_t>(nb::handle(number));
    }
  }

  bool are_plain() const { return are_plain_; }

  // The number of a node; NOT_PLAIN if it is not of the type of the others.
  std::int32_t operator[](PyObject* node) const {
    if (table_.empty()) {
      if (!PyUnicode_CheckExact(node)) return NOT_PLAIN;
      const nb::handle number = item_of(numbers_, node);
      return number.is_valid() ? nb::cast<std::int32_t>(number) : NOT_THERE;
    }
    long long integer;
    if (!PyLong_CheckExact(node) || !nb::try_cast(nb::handle(node), integer)) return NOT_PLAIN;
    const auto place = static_cast<std::uint64_t>(integer) - static_cast<std::uint64_t>(first_);
    return place < table_.size() ? table_[place] : NOT_THERE;
  }

  static constexpr std::int32_t NOT_THERE = -1, NOT_PLAIN = -2;

 private:
  static constexpr std::uint64_t SPARSEST = 16;  // places of the table for each node

  nb::handle numbers_;
  bool are_plain_ = false;
  long long first_ = 0;
  std::vector<std::int32_t> table_;
};

// Finds numbers of neighbours. It checks the array that it writes to, since the array may change while Python code runs.
class Numbering {
 public:
  explicit Numbering(const Array<std::int32_t>& found) : found_(found.data()), length_(found.shape(0)) {}

  bool add(std::int32_t number) {
    if (number < 0) return false;
    if (place_ == length_) throw nb::value_error("the graph changed while it was read");
    found_[place_++] = number;
    return true;
  }
  // The place of the neighbour that has no number, or -1.
  std::int64_t end(bool stray) const {
    if (!stray && place_ != length_) throw nb::value_error("the graph changed while it was read");
    return stray ? static_cast<std::int64_t>(place_) : -1;
  }

 private:
  std::int32_t* found_;
  std::size_t length_, place_ = 0;
};

// Whether all neighbours are plain; `stray` is the place of the first one without a number, or -1.
bool number_plain_neighbours(nb::handle adjacency, const nb::tuple& nodes, const NumbersOfPlainNodes& numbers,
                             const Array<std::int32_t>& found, std::int64_t* stray) {
  // Neighbours lie anywhere in memory: 64 of them are loaded at a time.
  constexpr std::size_t AHEAD = 64;
  Numbering numbering(found);
  PyObject* ring[AHEAD];
  std::size_t read = 0, written = 0;
  std::int32_t number = 0;
  const auto write = [&] {
    number = numbers[ring[written++ % AHEAD]];
    return numbering.add(number);
  };
  each_neighbour(adjacency, nodes, [&](PyObject* neighbour, PyObject*) {
    if (read - written == AHEAD && !write()) return false;
    fetch(neighbour);
    ring[read++ % AHEAD] = neighbour;
    return true;
  });
  while (number >= 0 && written < read) write();
  if (number != NumbersOfPlainNodes::NOT_PLAIN) *stray = numbering.end(number < 0);
  return number != NumbersOfPlainNodes::NOT_PLAIN;
}

// The number of each neighbour. Returns the place of the first one that has none, -1 if all have one.
std::int64_t number_neighbours(nb::dict adjacency, const nb::tuple& nodes, nb::dict numbers, Array<std::int32_t> found) {
  const NumbersOfPlainNodes plain(numbers);
  std::int64_t place;
  if (plain.are_plain() && number_plain_neighbours(adjacency, nodes, plain, found, &place)) return place;
  Numbering numbering(found);
  bool stray = false;
  each_neighbour(adjacency, nodes, [&](PyObject* neighbour, PyObject*) {
    const nb::object kept = nb::borrow(neighbour);
    const nb::handle number = item_of(numbers, kept);
    stray = !number.is_valid();
    return !stray && numbering.add(nb::cast<std::int32_t>(number));
  });
  return numbering.end(stray);
}

constexpr int OTHER_NUMBERS = 0, INTEGERS = 1, FLOATS = 2;

// The weights of the edges to all neighbours, 1 for edges without one. They are integers, or floats and integers that floats
// hold. For other weights the arrays mean nothing.
int weigh_neighbours(nb::dict adjacency, const nb::tuple& nodes, nb::handle weight, Array<std::int64_t> integers,
                     Array<double> floats) {
  constexpr std::int64_t EXACT_IN_A_FLOAT = std::int64_t{1} << 53;
  const auto length = static_cast<std::int64_t>(integers.shape(0));
  if (static_cast<std::int64_t>(floats.shape(0)) != length) throw nb::value_error("expected arrays of one length");
  std::int64_t place = 0;
  bool has_float = false, has_large = false, has_other = false;
  each_neighbour(adjacency, nodes, [&](PyObject*, PyObject* borrowed) {
    const nb::object data = nb::borrow(borrowed);
    if (!PyDict_CheckExact(data.ptr())) throw nb::type_error("expected a plain dict of the data of an edge");
    if (place == length) throw nb::value_error("the graph changed while it was read");
    const nb::object given = nb::borrow(item_of(data, weight));
    std::int64_t integer = 1;
    double real = 1;
    if (given.is_valid() && PyFloat_CheckExact(given.ptr())) {
      has_float = true;
      real = PyFloat_AsDouble(given.ptr());
    } else if (given.is_valid()) {
      has_other = !PyLong_CheckExact(given.ptr()) || !nb::try_cast(given, integer);
      if (has_other) return false;
      has_large |= integer > EXACT_IN_A_FLOAT || integer < -EXACT_IN_A_FLOAT;
      real = static_cast<double>(integer);
    }
    integers.data()[place] = integer;
    floats.data()[place++] = real;
    return true;
  });
  if (has_other || (has_float && has_large)) return OTHER_NUMBERS;
  if (place != length) throw nb::value_error("the graph changed while it was read");
  return has_float ? FLOATS : INTEGERS;
}

}  // namespace

void define_networkx(nb::module_& m) {
  m.def("count_neighbours", &count_neighbours, "adjacency"_a, "nodes"_a, "offsets"_a.noconvert());
  m.def("number_neighbours", &number_neighbours, "adjacency"_a, "nodes"_a, "numbers"_a, "found"_a.noconvert());
  m.def("weigh_neighbours", &weigh_neighbours, "adjacency"_a, "nodes"_a, "weight"_a, "integers"_a.noconvert(),
        "floats"_a.noconvert());
}
