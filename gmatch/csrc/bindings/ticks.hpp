// ticks.hpp: time in ticks of the processor's counter. Two readings of a clock take a tenth of the time of the smallest calls.
// A reading of the counter takes 14 ns, of a clock 34: benchmarks/log/small_calls.md, "The processor's counter in place of two
// clocks".
#pragma once
#include <chrono>

#include "team/memory.cuh"

inline Count nanoseconds_of_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// On processors whose counter is not known here a tick is a nanosecond of the clock.
inline Count ticks() {
#if defined(__x86_64__) || defined(__i386__)
  return static_cast<Count>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  Count count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return nanoseconds_of_clock();
#endif
}

// The seconds that some ticks take, by a clock.
double seconds_of_ticks(Count ticks);
