// nested.cpp: NumPy arrays from nested lists and tuples of numbers. NumPy takes longer to read small lists than gmatch takes to
// solve them.
#include "bindings/nested.hpp"

#include <cstring>
#include <vector>

#include "bindings/numpy_arrays.hpp"

namespace {

// Lists and tuples are read alike.
bool is_sequence(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }
Py_ssize_t length_of(PyObject* sequence) {
  return PyList_CheckExact(sequence) ? PyList_Size(sequence) : PyTuple_Size(sequence);
}
PyObject* item_of(PyObject* sequence, Py_ssize_t place) {
  return PyList_CheckExact(sequence) ? PyList_GetItem(sequence, place) : PyTuple_GetItem(sequence, place);
}

// The numbers of nested lists of two or three dimensions. Lists of one dimension are equally long. The numbers are of Python's
// types int and float, or of NumPy's float64, which is a kind of float. Integers beside floats become floats, if that rounds
// none.
class NestedNumbers {
 public:
  // Returns false for all other objects, and for more than MOST_NUMBERS. No Python code runs.
  bool read(PyObject* lists) {
    Py_ssize_t length = 1;
    for (PyObject* first = lists; is_sequence(first); first = item_of(first, 0)) {
      const Py_ssize_t here = length_of(first);
      if (here == 0 || here > MOST_NUMBERS / length || dimensions_ == MOST_DIMENSIONS) return false;
      shape_[dimensions_++] = here;
      length *= here;
    }
    if (dimensions_ < 2) return false;
    numbers_.reserve(static_cast<std::size_t>(length));
    return read(lists, 0);
  }

  nb::object array() const {
    return has_floats_ ? array_of<double>() : array_of<long long>();
  }

 private:
  static constexpr int MOST_DIMENSIONS = 3;
  // 8 MB. To solve more takes so much longer than NumPy needs to read them that only memory matters.
  static constexpr Py_ssize_t MOST_NUMBERS = 1 << 20;
  static constexpr long long EXACT_IN_FLOATS = 1LL << 53;

  union Number {
    long long whole;
    double floating;
  };

  bool read(PyObject* list, int dimension) {
    if (!is_sequence(list) || length_of(list) != shape_[dimension]) return false;
    const bool is_row = dimension + 1 == dimensions_;
    for (Py_ssize_t k = 0; k < shape_[dimension]; ++k) {
      PyObject* const item = item_of(list, k);
      if (!(is_row ? add(item) : read(item, dimension + 1))) return false;
    }
    return true;
  }
  bool add(PyObject* item) {
    Number number;
    if (PyFloat_Check(item)) {
      if (!has_floats_ && !make_floats()) return false;
      number.floating = PyFloat_AsDouble(item);
    } else {
      if (!PyLong_CheckExact(item)) return false;
      number.whole = PyLong_AsLongLong(item);
      if (number.whole == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      if (has_floats_ && !make_float(number)) return false;
    }
    numbers_.push_back(number);
    return true;
  }
  bool make_floats() {
    has_floats_ = true;
    for (Number& number : numbers_) {
      if (!make_float(number)) return false;
    }
    return true;
  }
  static bool make_float(Number& number) {
    const long long whole = number.whole;
    number.floating = static_cast<double>(whole);
    return -EXACT_IN_FLOATS <= whole && whole <= EXACT_IN_FLOATS;
  }

  template <class T>
  nb::object array_of() const {
    T* entries;
    nb::object array = numpy::Table::get().array(dimensions_, shape_, &entries);
    std::memcpy(entries, numbers_.data(), numbers_.size() * sizeof(Number));
    return array;
  }

  int dimensions_ = 0;
  Py_ssize_t shape_[MOST_DIMENSIONS] = {};
  bool has_floats_ = false;
  std::vector<Number> numbers_;
};

}  // namespace

nb::object array_of_lists(nb::handle lists) {
  NestedNumbers numbers;
  return numbers.read(lists.ptr()) ? numbers.array() : nb::none();
}

void define_nested(nb::module_& m) { m.def("array_of_lists", &array_of_lists); }
