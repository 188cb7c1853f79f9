// small_arrays.hpp: the memory of arrays of NumPy that hold small problems.
#pragma once
#include <algorithm>
#include <cstdint>

#include "bindings/numpy_arrays.hpp"
#include "bindings/small_costs.hpp"
#include "costs/stored.cuh"

// A float of 16 bits.
struct HalfFloat {
  Float16 stored;

  operator float() const { return value_of(stored); }
};

// The type in which costs of a stored type are solved: see WIDER_TYPE in gmatch/types.py.
double type_of_solution(double);
float type_of_solution(float);
float type_of_solution(HalfFloat);
Count type_of_solution(Count);
Count type_of_solution(unsigned);
Count type_of_solution(unsigned long long);
template <class Narrow>
std::int32_t type_of_solution(Narrow);
template <class Stored>
using SolvedAs = decltype(type_of_solution(Stored{}));

// Whether a type in which a matrix may be solved holds all its entries. Only entries that are integers of 64 bits may be too
// large.
template <class Cost, class Stored>
bool holds(const SmallMatrix<Stored>& matrix) {
  constexpr bool IS_EXACT = std::numeric_limits<Cost>::is_integer;
  if constexpr (sizeof(Stored) == sizeof(Count) && std::numeric_limits<Stored>::is_integer && !std::is_same_v<Stored, Cost>) {
    constexpr Stored MOST = IS_EXACT ? std::numeric_limits<Count>::max() : Stored{1} << 53;
    for (Vertex row = 0; row < matrix.shape[0]; ++row) {
      for (Vertex column = 0; column < matrix.shape[1]; ++column) {
        const Stored entry = matrix.entries[row * matrix.stride[0] + column * matrix.stride[1]];
        if (entry > MOST || (std::numeric_limits<Stored>::is_signed && entry < -MOST)) return false;
      }
    }
  }
  return true;
}

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
    return fewer == 0 ? more <= MOST_FREE : fewer <= SMALL_SIDE && fewer + more <= 4 * SMALL_SIDE;
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
  // Calls a function with a number that has the type of the entries, and returns what it returns.
  template <class Function>
  auto with_stored(const Function& function) const {
    switch (type_) {
      case 'd': return function(double{});
      case 'f': return function(float{});
      case 'e': return function(HalfFloat{});
      case '?':
      case 'B': return function(std::uint8_t{});
      case 'b': return function(std::int8_t{});
      case 'h': return function(std::int16_t{});
      case 'H': return function(std::uint16_t{});
      case 'I':
      case 'L':
      case 'Q': return entry_size_ == 4 ? function(unsigned{}) : function(0ULL);
      default: return entry_size_ == 4 ? function(std::int32_t{}) : function(Count{});
    }
  }
  // The letter of the type in which the entries are solved.
  char solved_as() const {
    return with_stored([](auto entry) {
      using Cost = SolvedAs<decltype(entry)>;
      if (std::is_same_v<Cost, double>) return 'd';
      if (std::is_same_v<Cost, float>) return 'f';
      return std::is_same_v<Cost, std::int32_t> ? 'i' : 'q';
    });
  }
  // A matrix of an array of three dimensions.
  template <class Cost>
  SmallMatrix<Cost> matrix(Py_ssize_t number) const { return matrix_from(data<Cost>() + number * stride(), 1); }

 private:
  static constexpr int MOST_DIMENSIONS = 3;
  // The most rows or columns of a matrix without columns or rows.
  static constexpr Py_ssize_t MOST_FREE = 1 << 17;

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
