// device_team.cuh: the teams of a GPU, and its words; see team.cuh. Compiled by nvcc and NVRTC, and for tests/emulator.
#pragma once
#include "team/vertex.cuh"

constexpr int DEVICE_COLUMNS_AT_ONCE = 1;  // COLUMNS_AT_ONCE of the teams on a GPU

#if defined(__CUDACC__) || defined(EMULATED_GPU)
#define ON_GPU

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
  static constexpr int COLUMNS_AT_ONCE = DEVICE_COLUMNS_AT_ONCE, AT_ONCE = 8, ROWS_AT_ONCE = 4;
  static constexpr int SMALL_STEP = 0, KEEPS_BACK = 0, AHEAD = 0;
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
  DEVICE void meet_group() const { __syncwarp(0xffffffffu >> (32 - LANES) << (threadIdx.x % 32 / LANES * LANES)); }
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
  DEVICE int sum_before(int value) const {
    const unsigned group = 0xffffffffu >> (32 - LANES) << (threadIdx.x % 32 / LANES * LANES);
    int sum = value;
    for (int offset = 1; offset < LANES; offset *= 2) {
      const int before = __shfl_sync(group, sum, threadIdx.x % 32 - (lane() >= offset ? offset : 0));
      if (lane() >= offset) sum += before;
    }
    return sum - value;
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

#endif
