// emulator.h: a GPU on one thread of a host. It comes before all of csrc: then team/team.cuh has its teams of a GPU.
//
// Every thread of a launch is a fiber. One runs at a time, and is switched for another at random: at any access to
// memory (the programs are compiled with -fsanitize=thread, whose calls come to the emulator) and at any atomic.
// Nothing is in lockstep: the lanes of a warp meet at shuffles, ballots and barriers, and nowhere else. All that waits
// sleeps, so a launch that cannot go on is seen at once.
//
// What it reports, and then ends the process:
//   threads that wait for ever: at a barrier, or at a shuffle or a ballot that not all lanes of the mask come to
//   lanes that meet for different operations; threads of a block at different barriers; threads that never end
//   a crash
//
// Memory is never late here: every thread sees what any other wrote before. What lacks an acquire or a release shows in
// tests/races.cpp, under ThreadSanitizer.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace emulator {

constexpr int WARP = 32, MOST_BLOCKS = 4;
constexpr int NEAR_BYTES = 1 << 16;  // the memory that a launch can bring for each block

// What is being run, for the report.
extern std::string instance;

struct Launch {
  int blocks, threads;
  std::uint64_t seed;  // says when threads are switched
  int rest;            // how many accesses a thread makes before that, on average
};
// Runs program() on all threads.
void launch(const Launch& launch, const std::function<void()>& program);
[[noreturn]] void fail(const std::string& reason);

// The functions of CUDA below are made of these.
std::uint64_t shuffle(unsigned mask, std::uint64_t value, int from);
bool meet_in_block(bool is_vote, bool yes);
extern char near_memory[MOST_BLOCKS][NEAR_BYTES];

template <class To, class From>
To bits_to(From from) {
  static_assert(sizeof(To) <= sizeof(std::uint64_t) && sizeof(From) <= sizeof(std::uint64_t), "shuffles move words");
  To to{};
  std::memcpy(&to, &from, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
  return to;
}

}  // namespace emulator

struct Index {
  unsigned x;
};
extern Index threadIdx, blockIdx, blockDim, gridDim;  // of the thread that runs

inline double __dmul_rn(double a, double b) { return a * b; }  // compiled for processors that cannot fuse it with a sum
inline void __syncthreads() { emulator::meet_in_block(false, false); }
inline int __syncthreads_or(int yes) { return emulator::meet_in_block(true, yes != 0); }
inline void __threadfence() {}

template <class T>
T __shfl_sync(unsigned mask, T value, int from) {
  return emulator::bits_to<T>(emulator::shuffle(mask, emulator::bits_to<std::uint64_t>(value), from));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int change) {
  return __shfl_sync(mask, value, static_cast<int>(threadIdx.x % emulator::WARP) ^ change);
}
unsigned __ballot_sync(unsigned mask, bool yes);
inline void __syncwarp(unsigned mask) { __ballot_sync(mask, true); }
unsigned __activemask();

template <class T>
T __ldcs(const T* cell) {
  return *cell;
}

template <class T>
T __ldg(const T* cell) {
  return *cell;
}

inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline long long __double_as_longlong(double number) { return emulator::bits_to<long long>(number); }
inline double __longlong_as_double(long long bits) { return emulator::bits_to<double>(bits); }

int atomicCAS(int* cell, int expected, int desired);
int atomicAdd(int* cell, int value);
unsigned long long atomicAdd(unsigned long long* cell, unsigned long long value);
int atomicMin(int* cell, int value);
long long atomicMin(long long* cell, long long value);
long long atomicMax(long long* cell, long long value);
template <class... Arguments>
auto atomicCAS_block(Arguments... arguments) { return atomicCAS(arguments...); }
template <class... Arguments>
auto atomicAdd_block(Arguments... arguments) { return atomicAdd(arguments...); }
template <class... Arguments>
auto atomicMin_block(Arguments... arguments) { return atomicMin(arguments...); }
template <class... Arguments>
auto atomicMax_block(Arguments... arguments) { return atomicMax(arguments...); }

// Definitions that team/device_team.cuh leaves to the GPU's compiler, or to the emulator. Every line that calls append is a line
// of its own, as by nvcc.
#define EMULATED_GPU
#define DEVICE inline __attribute__((always_inline))
#define NOT_UNROLLED
#define UNROLLED
#define DEVICE_APART __attribute__((noinline))
#define INLINED
constexpr bool SHORT_LISTS = true;
#define PROGRAM(name, block_limit) inline void name
#define SHARED_BY_BLOCK(type, name)             \
  static type name##_of[emulator::MOST_BLOCKS]; \
  type& name = name##_of[blockIdx.x]

unsigned load_acquire(const unsigned* cell);
void add_release(unsigned* cell, unsigned addend);
inline void assume_global(const void*) {}
inline long long global_timer() { return 0; }
inline char* block_memory() { return emulator::near_memory[blockIdx.x]; }

using std::ilogb;
using std::ldexp;
