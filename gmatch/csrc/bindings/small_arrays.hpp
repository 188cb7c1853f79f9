// small_arrays.hpp: the memory of arrays of NumPy that hold small problems.
#pragma once
#include <algorithm>
#include <cstdint>

#include "bindings/numpy_arrays.hpp"
#include "bindings/small_costs.hpp"

// The memory of an array of NumPy: read once, since another thread may change its shape.
class ArrayMemory {
 public:
  explicit ArrayMemory(nb::handle object) {
    if (Py_TYPE(object.ptr()) != numpy::Table::get().array_type()) return;
    const auto& array = *reinterpret_cast<const numpy::Array*>(object.ptr());
    // An array of another byte order than this machine's is not solved here. A single byte has none.
    const char order = array.type->byte_order;
    entry_size_ = order == '=' || order == '|' ? size_of(array.type->letter) : 0;
    if (entry_size_ == 0 || array.num_dimensions < 1 || array.num_dimensions > MOST_DIMENSIONS) return;
    data_ = array.data;
    type_ = array.type->letter;
    num_dimensions_ = array.num_dimensions;
    auto of_whole = reinterpret_cast<std::uintptr_t>(data_);
    Py_ssize_t in_one_piece = entry_size_;
    for (int k = num_dimensions_ - 1; k >= 0; --k) {
      length_[k] = array.shape[k];
      stride_[k] = length_[k] > 1 ? array.strides[k] : in_one_piece;  // a stride of one entry can be anything
      in_one_piece *= length_[k];
      of_whole |= static_cast<std::uintptr_t>(stride_[k]);
    }
    lies_on_entries_ = of_whole % static_cast<std::uintptr_t>(entry_size_) == 0;
  }

  // 0 if it is no array of a type that is solved here.
  int num_dimensions() const { return num_dimensions_; }
  bool lies_on_entries() const { return lies_on_entries_; }
  bool is_small_matrix() const {
    if (num_dimensions_ != 2 || !lies_on_entries_) return false;
    const auto [fewer, more] = std::minmax(length_[0], length_[1]);
    return fewer > 0 && fewer <= SMALL_SIDE && fewer + more <= 4 * SMALL_SIDE;
  }
  bool is_list() const { return num_dimensions_ == 1 && lies_on_entries_; }
  // In entries.
  Py_ssize_t stride(int dimension = 0) const { return stride_[dimension] / entry_size_; }
  template <class T>
  const T* data() const { return static_cast<const T*>(data_); }
  // A letter of Python's struct.
  char type() const { return type_; }
  Py_ssize_t entry_size() const { return entry_size_; }
  Py_ssize_t length(int dimension) const { return length_[dimension]; }
  template <class Cost>
  SmallMatrix<Cost> matrix() const { return matrix_from(data<Cost>(), 0); }
  // A matrix of an array of three dimensions.
  template <class Cost>
  SmallMatrix<Cost> matrix(Py_ssize_t number) const { return matrix_from(data<Cost>() + number * stride(), 1); }

 private:
  static constexpr int MOST_DIMENSIONS = 3;

  // The matrix of the dimension of its rows, and the next one.
  template <class Cost>
  SmallMatrix<Cost> matrix_from(const Cost* entries, int rows) const {
    return {entries,
            {static_cast<Vertex>(length_[rows]), static_cast<Vertex>(length_[rows + 1])},
            {stride(rows), stride(rows + 1)}};
  }
  // The size of a type that is solved here; 0 for others.
  static Py_ssize_t size_of(char letter) {
    switch (letter) {
      case 'd': return sizeof(double);
      case 'f': return sizeof(float);
      case 'i': return sizeof(int);
      case 'l': return sizeof(long);
      case 'q': return sizeof(long long);
      case '?':
      case 'b':
      case 'B': return 1;
      case 'e':
      case 'h':
      case 'H': return 2;
      case 'I': return sizeof(unsigned);
      case 'L': return sizeof(unsigned long);
      case 'Q': return sizeof(unsigned long long);
      default: return 0;
    }
  }

  const void* data_ = nullptr;
  Py_ssize_t entry_size_ = 0, length_[MOST_DIMENSIONS] = {}, stride_[MOST_DIMENSIONS] = {};
  int num_dimensions_ = 0;
  bool lies_on_entries_ = false;
  char type_ = 0;
};
