// line_vector.hpp: vectors and memory for scans. They begin at a line of the cache.
//
// A register of 64 bytes that does not begin at a line lies across two lines, and takes twice as long to load and to store.
// Memory of the system begins 16 bytes after a line, so each register would lie across two: benchmarks/log/core_host.md, "Memory
// of scans begins at a line of the cache".
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(std::size_t number) {
    auto* const begin = static_cast<unsigned char*>(::operator new(number * sizeof(T) + LINE));
    const auto skipped = static_cast<unsigned char>(LINE - reinterpret_cast<std::uintptr_t>(begin) % LINE);
    begin[skipped - 1] = skipped;  // 1 to LINE; deallocate reads it
    return reinterpret_cast<T*>(begin + skipped);
  }
  void deallocate(T* items, std::size_t) {
    auto* const first = reinterpret_cast<unsigned char*>(items);
    ::operator delete(first - first[-1]);
  }

  // Without a value, numbers stay uninitialised.
  template <class Item>
  void construct(Item* item) {
    ::new (static_cast<void*>(item)) Item;
  }
  template <class Item, class... Arguments>
  void construct(Item* item, Arguments&&... arguments) {
    ::new (static_cast<void*>(item)) Item(std::forward<Arguments>(arguments)...);
  }

  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
  friend bool operator!=(const LineAllocator&, const LineAllocator&) { return false; }

 private:
  static constexpr std::size_t LINE = 64;
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// The memory of one solver, which begins at a line. If it is small it lies in the object itself: three rows take 1,088 bytes, and
// to allocate them takes 5 % of a call. See benchmarks/log/small_calls.md, "Memory of a few rows lies in the solver".
class LineMemory {
 public:
  LineMemory() {}  // does not clear its bytes
  LineMemory(const LineMemory&) = delete;
  LineMemory& operator=(const LineMemory&) = delete;

  char* near() { return near_; }
  char* take(std::size_t bytes) {
    if (bytes <= sizeof(near_)) return near_;
    far_.resize(bytes);
    return far_.data();
  }

 private:
  alignas(64) char near_[1 << 12];  // for 40 rows and columns of doubles
  LineVector<char> far_;
};
