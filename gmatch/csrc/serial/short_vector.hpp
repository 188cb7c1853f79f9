// short_vector.hpp: vectors of one small problem, whose memory is taken from one piece on the stack, one after another.
//
// A dozen short vectors by the system's allocator take as long as the solution of five rows.
#pragma once
#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

// What is taken is given back with all of it. There is room for the vectors of twenty rows and thirty columns: longer problems
// take so long that their vectors cost little.
class ShortMemory {
 public:
  ShortMemory() {}  // its bytes are left open
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;

  // nullptr where there is no room for them.
  void* take(std::size_t bytes) {
    const std::size_t begin = used_, rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes > BYTES || rounded > BYTES - begin) return nullptr;
    used_ = begin + rounded;
    return bytes_ + begin;
  }
  bool has(const void* memory) const {
    const auto* const byte = static_cast<const char*>(memory);
    return bytes_ <= byte && byte < bytes_ + BYTES;
  }

 private:
  static constexpr std::size_t BYTES = 1 << 13, ALIGNMENT = alignof(std::max_align_t);

  alignas(ALIGNMENT) char bytes_[BYTES];
  std::size_t used_ = 0;
};

template <class T>
struct ShortAllocator {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;

  ShortMemory* memory;

  ShortAllocator(ShortMemory* from = nullptr) : memory(from) {}
  template <class Other>
  ShortAllocator(const ShortAllocator<Other>& other) : memory(other.memory) {}

  T* allocate(std::size_t number) {
    void* const taken = memory == nullptr ? nullptr : memory->take(number * sizeof(T));
    return static_cast<T*>(taken != nullptr ? taken : ::operator new(number * sizeof(T)));
  }
  void deallocate(T* items, std::size_t) {
    if (memory == nullptr || !memory->has(items)) ::operator delete(items);
  }

  friend bool operator==(const ShortAllocator& a, const ShortAllocator& b) { return a.memory == b.memory; }
  friend bool operator!=(const ShortAllocator& a, const ShortAllocator& b) { return a.memory != b.memory; }
};

// Of any length; without a memory as std::vector is.
template <class T>
using ShortVector = std::vector<T, ShortAllocator<T>>;
