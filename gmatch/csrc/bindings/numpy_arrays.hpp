// numpy_arrays.hpp: arrays of NumPy, read and made without its Python: small calls have no time for the protocol of buffers.
//
// The beginning of its structs and the places in its table of functions are NumPy's binary interface, which all versions from
// 1.7 on keep; pybind11 goes by the same.
#pragma once
#include "bindings/module.hpp"

namespace numpy {

// The type of entries: its letter is as in Python's struct.
struct Type {
  PyObject_HEAD
  PyObject* scalar;
  char kind, letter, byte_order, flags;
  int number;
};

struct Array {
  PyObject_HEAD
  char* data;
  int num_dimensions;
  Py_ssize_t *shape, *strides;
  PyObject* base;
  Type* type;
  int flags;
};

class Table {
 public:
  static const Table& get() {
    static const Table table;
    return table;
  }

  PyTypeObject* array_type() const { return reinterpret_cast<PyTypeObject*>(functions_[2]); }

  // A new array in one piece, whose numbers are to be written.
  template <class T>
  nb::object array(int num_dimensions, const Py_ssize_t* shape, T** numbers) const {
    nb::object array = nb::steal(reinterpret_cast<New>(functions_[93])(array_type(), num_dimensions, shape, number_of<T>(),
                                                                       nullptr, nullptr, 0, 0, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    *numbers = reinterpret_cast<T*>(reinterpret_cast<Array*>(array.ptr())->data);
    return array;
  }

  // An array of numbers that lie in the memory of `base`, which it keeps alive. It is made by the function that is given a type,
  // which saves a look-up. The function that sets a base would first look whether the base is an array, which takes as long.
  template <class T>
  nb::object view(nb::handle base, T* numbers, Py_ssize_t length) const {
    using NewOfType = PyObject* (*)(PyTypeObject*, PyObject*, int, const Py_ssize_t*, const Py_ssize_t*, void*, int, PyObject*);
    static PyObject* const type = reinterpret_cast<PyObject* (*)(int)>(functions_[45])(number_of<T>());
    constexpr int CONTIGUOUS_ALIGNED_WRITEABLE = 0x1 | 0x100 | 0x400;
    nb::object array = nb::steal(reinterpret_cast<NewOfType>(functions_[94])(
        array_type(), Py_NewRef(type), 1, &length, nullptr, numbers, CONTIGUOUS_ALIGNED_WRITEABLE, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    reinterpret_cast<Array*>(array.ptr())->base = base.inc_ref().ptr();
    return array;
  }

 private:
  using New = PyObject* (*)(PyTypeObject*, int, const Py_ssize_t*, int, const Py_ssize_t*, void*, int, int, PyObject*);

  Table() {
    PyObject* numpy = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (numpy == nullptr) {  // before NumPy 2
      PyErr_Clear();
      numpy = PyImport_ImportModule("numpy.core._multiarray_umath");
    }
    const nb::object module = nb::steal(numpy);
    if (!module.is_valid()) throw nb::python_error();
    const nb::object table = module.attr("_ARRAY_API");
    functions_ = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
    if (functions_ == nullptr) throw nb::python_error();
  }

  // NumPy's numbers of types: float, double, int, long, long long.
  template <class T>
  static constexpr int number_of() {
    if (std::is_same_v<T, float>) return 11;
    if (std::is_same_v<T, double>) return 12;
    if (std::is_same_v<T, int>) return 5;
    static_assert(std::is_floating_point_v<T> || std::is_same_v<T, int> || std::is_same_v<T, long long>);
    return sizeof(long) == sizeof(long long) ? 7 : 9;
  }

  void** functions_;
};

}  // namespace numpy
