// host_team.hpp: a team of threads of the host, and its words; see team.cuh. Only team.cuh includes it, and no program of a GPU
// contains it.
#pragma once
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <type_traits>

#include "team/interrupt.hpp"
#include "team/vertex.cuh"

#define DEVICE inline
#define DEVICE_APART inline
#define INLINED __attribute__((always_inline))
#define NOT_UNROLLED
#define UNROLLED
#define SHARED_BY_BLOCK(type, name) type name
#ifdef TESTED_WITH_SHORT_LISTS
constexpr bool SHORT_LISTS = true;
#else
constexpr bool SHORT_LISTS = false;
#endif

using std::floor;
using std::ilogb;
using std::ldexp;

template <class T>
inline T streamed(const T* cell) {
  return *cell;
}

// Reads a cell exactly once. A compiler might read it twice, and another thread may change the caller's array meanwhile.
template <class T>
inline T read_once(const T* cell) {
  return *static_cast<const volatile T*>(cell);
}

// The number of a vertex in an array of the caller's, below `size`. It was checked, but may have changed since. Then it stands
// for any other vertex: the answer may be wrong, but no address is.
template <class Number>
inline Vertex vertex_at(const Number* cell, Vertex size) {
  auto number = static_cast<std::make_unsigned_t<Number>>(*cell);
  asm("" : "+r"(number));
  if (__builtin_expect(number >= static_cast<unsigned>(size), false)) return 0;  // a branch, which is predicted
  return static_cast<Vertex>(number);
}

// Spins a moment, then yields: a barrier that only spins takes seconds on shared processors. A thread that yields also checks
// whether the team has stopped, since the others may never come.
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  // Returns whether any thread says yes. Three cells take turns: while one is read, the one before it is cleared.
  bool wait(bool yes) {
    const unsigned generation = generation_.load(std::memory_order_relaxed);
    std::atomic<bool>& found = found_[generation % 3];
    if (yes) found.store(true, std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      found_[(generation + 2) % 3].store(false, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
    } else {
      for (int spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
        if (spins <= SPINS) continue;
        std::this_thread::yield();
        look_around();
      }
    }
    return found.load(std::memory_order_relaxed);
  }

 private:
  // Looks at the counter before the thread yields. Not decided: on two cores with a load of 10, other processes change the time
  // more than this number does (benchmarks/log/cardinality_host.md, "Thresholds measured again").
  static constexpr int SPINS = 1000;
  const int size_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> generation_{0};
  std::atomic<bool> found_[3]{};
};

// A team of one pays for no atomic: the branch on alone() is free, a locked instruction is not.
//
// Its threads can be stopped when they share out work, at barriers, and after each row, when a group combines the values of
// its lanes.
class [[nodiscard]] HostTeam {
 public:
  HostTeam(int rank, int size, Barrier* barrier) : rank_(rank), size_(size), barrier_(barrier) {}

  // COLUMNS_AT_ONCE is not measured: the distances of 512 columns, 4 KB, stay in the near cache beside a row. SMALL_STEP: "Rank 0
  // of a host team does thin levels alone" in benchmarks/log/cardinality_host.md.
  static constexpr int LANES = 1, COLUMNS_AT_ONCE = 512, AT_ONCE = 1, ROWS_AT_ONCE = 1, SMALL_STEP = 64;
  // benchmarks/log/cardinality_host.md: "A thread keeps joined rows back until it has 64", and "The host looks ahead along wide
  // frontiers", where 3 or 10 rows ahead instead of 6 are as fast.
  static constexpr int KEEPS_BACK = SHORT_LISTS ? 3 : 64, AHEAD = 6;
  static constexpr bool PASSES = false, IS_GRID = false, STREAMS = false, HAS_PARTS = false, IS_FAR = false;
  static constexpr bool INPUT_CHANGES = true;
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }
  HostTeam team_of_one() const { return {0, 1, nullptr}; }
  HostTeam in_blocks() const { return *this; }
  int lane() const { return 0; }
  int lanes() const { return 1; }
  // A loop that calls no other method of the team reports here how many entries it has read; see Poll.
  void spend(Count entries) const { poll_.spend(entries); }
  void sync() const { any(false); }
  bool any(bool yes) const {
    if (alone()) return yes;
    poll_.spend(OF_BARRIER);
    return barrier_->wait(yes);
  }

  template <class Body>
  void each(Count n, Body body) const { each_in_chunks<OF_ITEM>(n, body); }
  template <class Body>
  void each_in_turn(Count n, Body body) const { each(n, body); }
  template <class Body>
  void each_group(Count n, Body body) const { each_in_chunks<OF_ROW>(n, body); }
  template <class Body>
  void each_group_apart(Count n, Body body) const { each_group(n, body); }
  template <class Note, class Choose, class Body>
  void each_chosen(Count n, Choose choose, Body body) const {
    each(n, [&](Count i) {
      Note note{};
      if (choose(i, note)) body(i, note);
    });
  }
  template <class Body>
  void each_tile(Count n, Body body) const {
    for (Count i = rank_; i < n; i += size_) {
      body(i);
      poll_.spend(OF_TILE);
    }
  }

  template <class T>
  T read(const T* cell) const {
    T value;
    __atomic_load(cell, &value, __ATOMIC_RELAXED);
    return value;
  }
  template <class T>
  T read_once(const T* cell) const { return streamed(cell); }
  template <class T>
  void write(T* cell, T value) const { __atomic_store(cell, &value, __ATOMIC_RELAXED); }
  template <class T>
  void prefetch(const T* cell) const {
    __builtin_prefetch(cell);
    asm volatile("" : : "r"(cell));  // GCC 12 drops a function that does nothing but prefetch
  }

  bool claim(int* cell, int expected, int desired) const {
    if (alone()) {
      if (*cell != expected) return false;
      *cell = desired;
      return true;
    }
    if (read(cell) != expected) return false;  // far cheaper than a compare and swap that fails
    return __atomic_compare_exchange_n(cell, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  template <class T>
  T fetch_add(T* cell, T value) const {
    if (!alone()) return __atomic_fetch_add(cell, value, __ATOMIC_RELAXED);
    const T old = *cell;
    *cell = old + value;
    return old;
  }
  int append(int* counter) const { return fetch_add(counter, 1); }
  int fetch_min(int* cell, int value) const {
    int old = __atomic_load_n(cell, __ATOMIC_RELAXED);
    if (alone()) {
      if (value < old) *cell = value;
      return old;
    }
    while (value < old &&
           !__atomic_compare_exchange_n(cell, &old, value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return old;
  }
  void add_all(Count* cell, Count value) const { fetch_add(cell, value); }
  void sync_group() const {}  // one thread; what it wrote before is published by `lower`
  template <class T>
  T min_group(T value) const {
    poll_.spend(OF_GROUP);
    return value;
  }
  int sum_before(int) const { return 0; }
  void meet_group() const {}
  template <class T>
  T lower(T* cell, T value) const {
    T old = read(cell);
    if (alone()) {
      if (value < old) *cell = value;
      return old;
    }
    while (value < old &&
           !__atomic_compare_exchange(cell, &old, &value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return old;
  }
  template <class T>
  void min_all(T* cell, T value) const { lower(cell, value); }
  template <class T>
  void max_all(T* cell, T value) const {
    T old = read(cell);
    while (value > old &&
           !__atomic_compare_exchange(cell, &old, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
  Count nanoseconds() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  // The entries that an item, a row, a value of a group, a tile and a barrier count for; see Poll.
  static constexpr Count OF_ITEM = 16, OF_ROW = 256, OF_GROUP = 64, OF_TILE = 1 << 16, OF_BARRIER = 1 << 10;

  // Chunks keep neighbours in one cache, and leave steps with little to do to one thread.
  template <Count SPENT, class Body>
  void each_in_chunks(Count n, Body body) const {
    constexpr Count CHUNK = SMALL_STEP;
    if (alone()) {
      for (Count begin = 0; begin < n; begin += 8 * CHUNK) {
        const Count end = begin + 8 * CHUNK < n ? begin + 8 * CHUNK : n;
        for (Count i = begin; i < end; ++i) body(i);
        poll_.spend(SPENT * (end - begin));
      }
      return;
    }
    poll_.spend(SPENT);  // a thread with nothing to do checks, too
    const Count chunk = n < 32 * CHUNK * size_ ? CHUNK : 8 * CHUNK;  // a thread looks ahead mostly within its own chunk
    for (Count begin = rank_ * chunk; begin < n; begin += size_ * chunk) {
      const Count end = begin + chunk < n ? begin + chunk : n;
      for (Count i = begin; i < end; ++i) body(i);
      poll_.spend(SPENT * (end - begin));
    }
  }

  int rank_, size_;
  Barrier* barrier_;
  mutable Poll poll_;
};
