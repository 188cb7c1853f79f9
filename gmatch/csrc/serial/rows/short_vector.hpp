// short_vector.hpp: vectors of one small problem. They take their memory, one after another, from one piece on the stack.
//
// To allocate a dozen short vectors by the system takes as long as to solve five rows.
#pragma once
#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

// All memory is given back at once, with this object. There is room for the vectors of 20 rows and 30 columns. Larger problems
// take so long that allocations by the system cost little beside them.
class ShortMemory {
 public:
  ShortMemory() {}  // its bytes are left open
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;

  // Returns nullptr if there is no room.
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

// A vector of any length. Without a ShortMemory it is like std::vector.
template <class T>
using ShortVector = std::vector<T, ShortAllocator<T>>;
