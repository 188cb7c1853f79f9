// team.cuh: the teams that run a program, and everything in which a GPU and a host differ.
//
// A program is a function that all threads of a team run together, in steps separated by team.sync(). All teams run one
// text of a program; only this file knows threads, warps, scopes and memory models.
//
//   GridTeam<LANES>   all blocks of one cooperative launch; sync is a barrier of the grid
//   BlockTeam<LANES>  one thread block; sync is __syncthreads
//   HostTeam          threads of this process; sync is a barrier that is free for one thread
//
// What a team offers:
//   rank, size                 this thread's number, and how many threads there are
//   alone, team_of_one         whether the team has one thread; a team of this thread alone (host only)
//   LANES                      the size of its lane groups
//   lane, lanes                this thread's number in its lane group (a part of a warp; on the host one thread)
//   sync                       everything written before it is seen by every thread after it
//   any                        a sync that says whether any thread says yes
//   each(n, f)                 f(i) for all i in [0, n), one thread for each i
//   each_in_turn(n, f)         as each; the i of a thread follow one another
//   each_group(n, f)           as each, one lane group for each i: all its lanes call f(i)
//   each_group_apart(n, f)     as each_group, if there may be fewer i than groups: neighbours go to different blocks
//   each_tile(n, f)            as each_group, for few and heavy i
//   each_chosen<Note>(n, choose, f)  f(i, note) as each_group, for each i for which choose(i, note) is true; one thread asks
//                              for each i, and its note reaches its group
//   TILE                       how many columns a thread of a dense step holds in registers, or in its cache
//   PASSES                     whether asking every vertex costs less than keeping a list of some
//   STREAMS                    whether it reads matrices as fast as the memory can give them
//   INPUT_CHANGES              whether others may write to the caller's arrays while it reads them: then every loop needs a
//                              bound that does not depend on what it reads
//   IS_GRID                    whether it is many blocks, and its barrier expensive
//   IS_FAR                     whether its cells lie in memory that all blocks share: reading a cell that may not be needed
//                              is cheaper than waiting to learn whether it is
//   HAS_PARTS                  whether parts of it have a barrier of their own, cheaper than the team's
//   part, parts, part_number   the part of this thread as a team, whose threads share cells with threads of other parts; how
//                              many parts there are; and the number of this thread's part
//   num_waiting                how many parts wait at the team's next barrier
//   in_blocks                  this team with larger lane groups, of all threads of a block, for cells, each_group and
//                              min_group between two barriers; on the host lane groups stay as they are
//   each_item<Note>(n, open, fetch, use)  for teams that are a part: use(note, fetch(note, item)) for all items of all i in
//                              [0, n); i has open(i, note) items; evenly shared out among the lanes of a warp
//   SMALL_STEP                 the longest list that each_group leaves to rank 0, if steps without barriers pay; else 0
//   KEEPS_BACK                 how many entries of a list a thread keeps back, if counters that threads share are slow
//   AHEAD                      how many entries of a list a thread looks ahead, if it would wait for memory without; else 0
//   prefetch                   asks for a cell that will be read
//   AT_ONCE                    how many loads it starts before it waits for the first
//   ROWS_AT_ONCE               how many rows of a matrix a lane group reads together
//   read, write                relaxed access to a cell that other threads change in the same step
//   read_once                  reads a cell that nobody changes in this step, and nobody reads again soon. As with read,
//                              several reads are under way at once: a compiler puts plain loads where they are used, one
//                              after the other
//   claim                      compare and swap: true for the one thread that changed `expected` into `desired`; for a part,
//                              like `lower`, only for cells that it shares with others
//   fetch_add, append          append adds 1, for all threads that come to a line of the program to one counter
//   fetch_min                  as lower; a thread that gets a value also sees what its writer wrote before it
//   lower                      lowers a cell; returns what it held; floating point numbers must not be negative
//   min_group                  the smallest value of the lanes of a group; all its lanes call it
//   min_part(value, width)     the smallest number of `width` lanes of a warp that follow one another; a power of two
//   vote                       for each lane of the warp, a bit that says whether it says yes
//   count                      how many bits are set
//   sync_group                 what lanes of a group wrote before it is seen by all of them after it, and by who gets to it by a
//                              cell that they lower later
//   add_all, min_all, max_all  the sum, the minimum, the maximum of one value of every thread, into a cell; all threads
//                              of the team call it; floating point numbers must not be negative for the last two
//   nanoseconds                a clock
//   next, own_memory           for teams that share the problems of a batch: the next number of a counter, one for all
//                              threads of the team; and memory of the team alone
//
// Everything else that threads share becomes visible at sync. A team holds the turn of its barrier. So a function that takes
// a copy of a team returns it, and its caller goes on with the returned one.
#pragma once

using Vertex = int;                          // a row or a column
using Count = long long;                     // edges, and whatever may pass 2^31
constexpr Vertex NONE = -1;                  // no mate, no predecessor
constexpr int DEVICE_TILE = 1;               // TILE of the teams on a GPU
constexpr Vertex LAST_VERTEX = 0x7fffffff;   // above every vertex

#if defined(__CUDACC__) || defined(EMULATED_GPU)  // nvcc and NVRTC; tests/emulator

#ifndef EMULATED_GPU  // the emulator has its own of what C++ has no words for

#define DEVICE __device__ __forceinline__
#define DEVICE_APART __device__ __noinline__
#define INLINED  // device code of a lambda is in line anyway
// An entry point. A macro ENTRY_name before the source says whether it is wanted, 1 or 0. An entry point that is not wanted
// is a template that is never used, and costs no time.
#define PROGRAM(name, block_limit) PROGRAM_IF(ENTRY_##name, name, block_limit)
#define PROGRAM_IF(is_wanted, name, block_limit) PROGRAM_IF_IS(is_wanted, name, block_limit)
#define PROGRAM_IF_IS(is_wanted, name, block_limit) PROGRAM_IF_##is_wanted(name, block_limit)
#define PROGRAM_IF_1(name, block_limit) extern "C" __global__ void __launch_bounds__(block_limit, 1) name
#define PROGRAM_IF_0(name, block_limit) template <int> __device__ void name
#define SHARED_BY_BLOCK(type, name) __shared__ type name
#define NOT_UNROLLED _Pragma("unroll 1")  // the loop that follows: for a short program
#define UNROLLED _Pragma("unroll")        // the loop that follows: for arrays that lie in registers
constexpr bool SHORT_LISTS = false;       // lists that are soon full, for tests

DEVICE unsigned load_acquire(const unsigned* cell) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(cell) : "memory");
  return value;
}
DEVICE void add_release(unsigned* cell, unsigned addend) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(cell), "r"(addend) : "memory");
}
// Tells the compiler that a cell lies in global memory, so that no instruction asks in which kind it lies.
DEVICE void assume_global(const void* cell) { __builtin_assume(__isGlobal(cell)); }
DEVICE long long global_timer() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
// The memory that a launch has for each block.
DEVICE char* block_memory() {
  extern __shared__ long long near_memory[];
  return reinterpret_cast<char*>(near_memory);
}

#endif

// Reads a cell that is read only once, past the caches. Types of costs/stored.cuh have overloads of their own.
template <class T>
DEVICE T streamed(const T* cell) { return __ldcs(cell); }

// Reads a cell that nobody changes through the read-only cache of the multiprocessor.
template <class T>
DEVICE T cached(const T* cell) { return __ldg(cell); }

// The number of a vertex in an array of the caller's, checked before; see the host's.
template <class Number>
DEVICE Vertex vertex_at(const Number* cell, Vertex) { return static_cast<Vertex>(*cell); }

// block_of_grid: a block that has a barrier of its own, but shares cells with other blocks.
enum class Scope { block, block_of_grid, grid };
constexpr int WHOLE_BLOCK = 0;  // LANES of lane groups that are a block each

template <int LANES_, Scope SCOPE>
class [[nodiscard]] DeviceTeam {
 public:
  static constexpr int LANES = LANES_;
  // `arrivals` is of a grid: 16 bytes, zero before its first launch; see any.
  explicit DEVICE DeviceTeam(unsigned* arrivals) : arrivals_(arrivals), turn_(on_grid() ? arrivals[TURNS] : 0) {}

  DEVICE int rank() const { return (on_grid() ? blockIdx.x * blockDim.x : 0) + threadIdx.x; }
  DEVICE int size() const { return (on_grid() ? gridDim.x : 1) * blockDim.x; }
  static constexpr int TILE = DEVICE_TILE, AT_ONCE = 8, ROWS_AT_ONCE = 4, SMALL_STEP = 0, KEEPS_BACK = 0, AHEAD = 0;
  static constexpr bool IS_GRID = SCOPE == Scope::grid, IS_FAR = SCOPE != Scope::block;
  static constexpr bool PASSES = true, STREAMS = IS_GRID, HAS_PARTS = true, INPUT_CHANGES = false;
  using Part = DeviceTeam<LANES_, SCOPE == Scope::grid ? Scope::block_of_grid : SCOPE>;
  DEVICE Part part() const { return Part(nullptr); }
  DEVICE int parts() const { return on_grid() ? gridDim.x : 1; }
  DEVICE int part_number() const { return on_grid() ? blockIdx.x : 0; }
  DEVICE bool alone() const { return false; }
  DEVICE DeviceTeam<WHOLE_BLOCK, SCOPE> in_blocks() const { return {arrivals_, turn_}; }
  DEVICE int lane() const { return threadIdx.x % lanes(); }
  DEVICE int lanes() const { return LANES == WHOLE_BLOCK ? blockDim.x : LANES; }

  DEVICE void sync() {
    if (on_grid()) any(false);
    else __syncthreads();
  }

  DEVICE int num_waiting() const { return on_grid() ? static_cast<int>(read(&arrivals_[turn_]) % YES) : 0; }

  // Blocks are counted in one word: in its lower bits all that came, above them all that say yes. Three words take turns.
  // While one is counted in, the word before it is cleared, since every block has left it. The turn outlasts the launch.
  DEVICE bool any(bool yes) {
    yes = __syncthreads_or(yes);
    if (!on_grid()) return yes;
    SHARED_BY_BLOCK(bool, found);
    if (threadIdx.x == 0) {
      unsigned seen;
      add_release(&arrivals_[turn_], yes ? 1 + YES : 1);
      do seen = load_acquire(&arrivals_[turn_]);
      while (seen % YES != gridDim.x);
      found = seen >= YES;
      if (blockIdx.x == 0) arrivals_[turn_ == 0 ? TURNS - 1 : turn_ - 1] = 0;
    }
    turn_ = turn_ == TURNS - 1 ? 0 : turn_ + 1;
    if (rank() == 0) arrivals_[TURNS] = turn_;
    __syncthreads();
    return found;
  }

  template <class Body>
  DEVICE void each(Count n, Body body) const {
    for (Count i = rank(); i < n; i += size()) body(i);
  }
  template <class Body>
  DEVICE void each_in_turn(Count n, Body body) const {
    const Count share = (n + size() - 1) / size(), begin = rank() * share;
    for (Count i = begin; i < n && i < begin + share; ++i) body(i);
  }
  template <class Body>
  DEVICE void each_group(Count n, Body body) const {
    for (Count i = rank() / lanes(); i < n; i += size() / lanes()) body(i);
  }
  template <class Body>
  DEVICE void each_group_apart(Count n, Body body) const {
    const int in_block = threadIdx.x / lanes(), groups = size() / lanes();
    for (Count i = in_block * parts() + part_number(); i < n; i += groups) body(i);
  }
  // Neighbours go to one group, which reads all of them at once.
  template <class Note, class Choose, class Body>
  DEVICE void each_chosen(Count n, Choose choose, Body body) const {
    const Count groups = size() / LANES, share = (n + groups - 1) / groups;
    const Count begin = rank() / LANES * share, end = begin + share < n ? begin + share : n;
    const int first_lane = threadIdx.x % 32 / LANES * LANES;
    const unsigned here = 0xffffffffu >> (32 - LANES) << first_lane;
    for (Count first = begin; first < end; first += LANES) {
      const Count mine = first + lane();
      Note note{};
      unsigned chosen = __ballot_sync(here, mine < end && choose(mine, note)) >> first_lane;
      for (; chosen != 0; chosen &= chosen - 1) {
        const int from = __ffs(chosen) - 1;
        body(first + from, broadcast(here, note, first_lane + from));
      }
    }
  }
  template <class Body>
  DEVICE void each_tile(Count n, Body body) const { each_group(n, body); }
  // A lane for each i says how many items i has. Then the lanes go through the items of all i. The next item is fetched before
  // this one is used.
  template <class Note, class Open, class Fetch, class Use>
  DEVICE void each_item(int n, Open open, Fetch fetch, Use use) const {
    constexpr unsigned ALL = 0xffffffffu;
    const int warps = size() / 32, in_warp = rank() % 32;
    const int at_once = n <= warps ? 1 : n >= 32 * warps ? 32 : (n - 1) / warps + 1;
    for (int first = rank() / 32 * at_once; first < n; first += warps * at_once) {
      Note note{};
      const int items = in_warp < at_once && first + in_warp < n ? open(first + in_warp, note) : 0;
      int end = items;
      for (int offset = at_once > 1 ? 1 : 32; offset < 32; offset *= 2) {
        const int before = __shfl_sync(ALL, end, (in_warp - offset) & 31);
        if (in_warp >= offset) end += before;
      }
      const int total = __shfl_sync(ALL, end, at_once > 1 ? 31 : 0);
      const auto find = [&](int item, Note& its, decltype(fetch(note, 0))& fetched) {
        int owner = 0;
        for (int offset = at_once > 1 ? 16 : 0; offset > 0; offset /= 2) {
          if (__shfl_sync(ALL, end, owner + offset - 1) <= item) owner += offset;
        }
        const int begin = __shfl_sync(ALL, end - items, owner);
        its = broadcast(ALL, note, owner);
        if (item < total) fetched = fetch(its, item - begin);
      };
      Note its, next;
      decltype(fetch(note, 0)) fetched{}, fetched_next{};
      if (total > 0) find(in_warp, its, fetched);
      for (int item = in_warp; item - in_warp < total; item += 32) {
        if (item - in_warp + 32 < total) find(item + 32, next, fetched_next);
        if (item < total) use(its, fetched);
        its = next;
        fetched = fetched_next;
      }
    }
  }

  template <class T>
  DEVICE T read(const T* cell) const { return *static_cast<const volatile T*>(of_grid(cell)); }
  template <class T>
  DEVICE void write(T* cell, T value) const { *static_cast<volatile T*>(of_grid(cell)) = value; }
  template <class T>
  DEVICE T read_once(const T* cell) const { return IS_FAR ? streamed(of_grid(cell)) : *cell; }

  DEVICE bool claim(int* cell, int expected, int desired) const {
    if (shares_cells()) assume_global(cell);
    return (shares_cells() ? atomicCAS(cell, expected, desired) : atomicCAS_block(cell, expected, desired)) == expected;
  }
  DEVICE int fetch_add(int* cell, int value) const {
    cell = of_grid(cell);
    return shares_cells() ? atomicAdd(cell, value) : atomicAdd_block(cell, value);
  }
  DEVICE Count fetch_add(Count* cell, Count value) const {
    auto* bits = reinterpret_cast<unsigned long long*>(of_grid(cell));
    const auto addend = static_cast<unsigned long long>(value);
    return static_cast<Count>(shares_cells() ? atomicAdd(bits, addend) : atomicAdd_block(bits, addend));
  }
  // One atomic for all lanes of the warp that are here; lanes that are here together add to one counter.
  DEVICE int append(int* counter) const {
    const unsigned together = __activemask();
    const int leader = __ffs(together) - 1;
    const int lane = threadIdx.x % 32;
    int first = 0;
    if (lane == leader) first = fetch_add(counter, __popc(together));
    return __shfl_sync(together, first, leader) + __popc(together & ((1u << lane) - 1));
  }
  DEVICE int lower(int* cell, int value) const {
    if (shares_cells()) assume_global(cell);
    return shares_cells() ? atomicMin(cell, value) : atomicMin_block(cell, value);
  }
  DEVICE int fetch_min(int* cell, int value) const {
    __threadfence();
    const int old = lower(cell, value);
    __threadfence();
    return old;
  }
  DEVICE void add_all(Count* cell, Count value) const {
    value = of_block(value, [](Count a, Count b) { return a + b; });
    if (speaks() && value != 0) fetch_add(cell, value);
  }
  DEVICE void sync_group() const {
    __threadfence();
    if constexpr (LANES == WHOLE_BLOCK) __syncthreads();
    else __syncwarp(0xffffffffu >> (32 - LANES) << (threadIdx.x % 32 / LANES * LANES));
  }
  template <class T>
  DEVICE T min_group(T value) const {
    if constexpr (LANES == WHOLE_BLOCK) return min_of_block(value);
    else return min_of_lanes<LANES>(value);
  }
  DEVICE int min_part(int value, int width) const {
    if (width == 32) return min_of_lanes<32>(value);
    for (int offset = width / 2; offset > 0; offset /= 2) {
      const int other = __shfl_xor_sync(0xffffffffu, value, offset);
      value = other < value ? other : value;
    }
    return value;
  }
  DEVICE unsigned vote(bool yes) const { return __ballot_sync(0xffffffffu, yes); }
  DEVICE int count(unsigned votes) const { return __popc(votes); }
  template <class T>
  DEVICE T lower(T* cell, T value) const {
    auto* ordered = reinterpret_cast<long long*>(cell);
    if (shares_cells()) assume_global(cell);
    return from_order(shares_cells() ? atomicMin(ordered, in_order(value)) : atomicMin_block(ordered, in_order(value)), value);
  }
  template <class T>
  DEVICE void min_all(T* cell, T value) const {
    value = of_block(value, [](T a, T b) { return b < a ? b : a; });
    if (speaks() && value < read(cell)) lower(cell, value);
  }
  template <class T>
  DEVICE void max_all(T* cell, T value) const {
    value = of_block(value, [](T a, T b) { return b > a ? b : a; });
    if (!speaks() || value <= read(cell)) return;
    auto* ordered = reinterpret_cast<long long*>(of_grid(cell));
    shares_cells() ? atomicMax(ordered, in_order(value)) : atomicMax_block(ordered, in_order(value));
  }
  DEVICE int next(int* counter) const {
    SHARED_BY_BLOCK(int, number);
    __syncthreads();
    if (threadIdx.x == 0) number = atomicAdd(counter, 1);
    __syncthreads();
    return number;
  }
  // `bytes` of the multiprocessor's memory if the launch brought them, else of memory with a part for each block.
  DEVICE char* own_memory(char* parts, Count bytes, Count near_bytes) const {
    return bytes <= near_bytes ? block_memory() : parts + blockIdx.x * bytes;
  }
  DEVICE Count nanoseconds() const { return global_timer(); }

 private:
  template <int, Scope>
  friend class DeviceTeam;
  DEVICE DeviceTeam(unsigned* arrivals, unsigned turn) : arrivals_(arrivals), turn_(turn) {}

  template <class Note>
  static DEVICE Note broadcast(unsigned group, const Note& note, int from) {
    static_assert(sizeof(Note) % sizeof(int) == 0, "shuffles move words");
    Note received;
    for (unsigned word = 0; word < sizeof(Note) / sizeof(int); ++word) {
      reinterpret_cast<int*>(&received)[word] = __shfl_sync(group, reinterpret_cast<const int*>(&note)[word], from);
    }
    return received;
  }
  template <int WIDTH, class T>
  static DEVICE T min_of_lanes(T value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (WIDTH == 32) return min_of_warp(value);
#endif
    const unsigned group = 0xffffffffu >> (32 - WIDTH) << (threadIdx.x % 32 / WIDTH * WIDTH);
    for (int offset = WIDTH / 2; offset > 0; offset /= 2) {
      const T other = __shfl_xor_sync(group, value, offset);
      value = other < value ? other : value;
    }
    return value;
  }
  template <class T>
  static DEVICE T min_of_block(T value) {
    SHARED_BY_BLOCK(Parts<T>, parts);
    const unsigned in_warp = threadIdx.x % 32;
    value = min_of_lanes<32>(value);
    if (in_warp == 0) parts.of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = min_of_lanes<32>(parts.of_warp[in_warp < blockDim.x / 32 ? in_warp : 0]);
    __syncthreads();
    return value;
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // One instruction compares half a word of all lanes. The upper halves decide; the lower halves decide among equal ones.
  static DEVICE int min_of_warp(int value) { return __reduce_min_sync(0xffffffffu, value); }
  static DEVICE long long min_of_warp(long long value) {
    const int upper = static_cast<int>(value >> 32), least = min_of_warp(upper);
    const unsigned lower = upper == least ? static_cast<unsigned>(value) : 0xffffffffu;
    return static_cast<long long>(least) << 32 | __reduce_min_sync(0xffffffffu, lower);
  }
  // The bits of negative doubles are ordered the other way round.
  static DEVICE double min_of_warp(double value) {
    const auto turned = [](long long bits) { return bits ^ (bits >> 63 & 0x7fffffffffffffff); };
    return __longlong_as_double(turned(min_of_warp(turned(__double_as_longlong(value)))));
  }
#endif
  // Each cell of a grid lies in the memory of all blocks. A cell of a block may lie in its near memory, unless the blocks of a
  // grid share the cell.
  template <class T>
  static DEVICE T* of_grid(T* cell) {
    if (on_grid()) assume_global(cell);
    return cell;
  }
  static constexpr DEVICE bool on_grid() { return SCOPE == Scope::grid; }
  static constexpr DEVICE bool shares_cells() { return SCOPE != Scope::block; }
  // The values of a warp put together; on a grid the values of a block, so that one thread of it goes to memory: see speaks.
  template <class T, class Join>
  DEVICE T of_block(T value, Join join) const {
    for (int offset = 16; offset > 0; offset /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (!on_grid()) return value;
    SHARED_BY_BLOCK(Parts<T>, parts);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts.of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value = join(value, parts.of_warp[warp]);
    }
    return value;
  }
  DEVICE bool speaks() const { return threadIdx.x % (on_grid() ? blockDim.x : 32) == 0; }
  template <class T>
  struct Parts {
    T of_warp[32];
  };
  // Doubles that are not negative are ordered as their bits are.
  static DEVICE long long in_order(long long value) { return value; }
  static DEVICE long long in_order(double value) { return __double_as_longlong(value); }
  static DEVICE long long from_order(long long bits, long long) { return bits; }
  static DEVICE double from_order(long long bits, double) { return __longlong_as_double(bits); }
  static constexpr unsigned TURNS = 3, YES = 1u << 16;
  unsigned* arrivals_;
  unsigned turn_;
};

template <int LANES>
using GridTeam = DeviceTeam<LANES, Scope::grid>;
template <int LANES>
using BlockTeam = DeviceTeam<LANES, Scope::block>;

#else  // the host, C++17

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <type_traits>

#include "team/interrupt.hpp"

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

  // TILE is not measured: the distances of 512 columns, 4 KB, stay in the near cache beside a row. SMALL_STEP: "Rank 0 of a host
  // team does thin levels alone" in benchmarks/log/cardinality_host.md.
  static constexpr int LANES = 1, TILE = 512, AT_ONCE = 1, ROWS_AT_ONCE = 1, SMALL_STEP = 64;
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

#endif

// use(k, fetch(k)) for k = first, first + step, ... below `end`. AT_ONCE fetches of a thread are under way together.
template <int AT_ONCE, class Fetch, class Use>
DEVICE void each_fetched(Vertex first, Vertex step, Vertex end, Fetch fetch, Use use) {
  for (; first < end; first += AT_ONCE * step) {
    decltype(fetch(first)) fetched[AT_ONCE];
    for (int k = 0; k < AT_ONCE; ++k) {
      const Vertex here = first + k * step;
      fetched[k] = fetch(here < end ? here : first);
    }
    for (int k = 0; k < AT_ONCE; ++k) {
      const Vertex here = first + k * step;
      if (here < end) use(here, fetched[k]);
    }
  }
}
