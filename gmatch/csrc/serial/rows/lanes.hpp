// lanes.hpp: numbers side by side in a register of the host's processor, and passes over a row compiled for each width that
// processors have.
//
// Compilers make vectors of plain loops, but not of the questions of a search: where the least of a row is, which columns hit.
#pragma once
#include <type_traits>
#include <utility>

#include "team/team.cuh"

// Code for all widths is inlined into the function that is compiled for one width.
#define ALWAYS_INLINE __attribute__((always_inline)) inline
#pragma GCC diagnostic ignored "-Wpsabi"  // no lanes are passed: all is inlined

// COUNT lanes of T.
template <class T, int COUNT>
struct LanesOf {
  typedef T type __attribute__((vector_size(COUNT * sizeof(T))));
};
template <class T>
struct LanesOf<T, 1> {
  using type = T;
};
template <class T, int COUNT>
using Lanes = typename LanesOf<T, COUNT>::type;

// Integers as wide as T: what comparing lanes of T gives, 0 or -1, and numbers of rows and columns beside them.
template <class T>
using IndexLike = std::conditional_t<sizeof(T) == 8, long long, int>;

template <class T, int COUNT>
ALWAYS_INLINE Lanes<T, COUNT> load(const T* from) {
  Lanes<T, COUNT> lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <class T, class Vector>
ALWAYS_INLINE void store(T* to, const Vector& lanes) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}
// As numbers of another type.
template <class T, int COUNT, class Vector>
ALWAYS_INLINE Lanes<T, COUNT> as_numbers(const Vector& lanes) {
  if constexpr (COUNT == 1) return static_cast<T>(lanes);
  else return __builtin_convertvector(lanes, Lanes<T, COUNT>);
}
template <class T, int COUNT, class From>
ALWAYS_INLINE Lanes<T, COUNT> load_as(const From* from) {
  if constexpr (std::is_same_v<T, From>) return load<T, COUNT>(from);
  else return as_numbers<T, COUNT>(load<From, COUNT>(from));
}
// Lanes of a constant. Other numbers are written beside lanes as they are, or added to Lanes{}: GCC fills them lane by lane.
template <class T, int COUNT>
ALWAYS_INLINE Lanes<T, COUNT> all(T number) {
  return Lanes<T, COUNT>{} + number;
}
// 0, 1, 2, ...
template <class T, int... LANE>
ALWAYS_INLINE Lanes<T, sizeof...(LANE)> numbered(std::integer_sequence<int, LANE...>) {
  return Lanes<T, sizeof...(LANE)>{LANE...};
}
template <class T, int COUNT>
ALWAYS_INLINE Lanes<T, COUNT> numbered() {
  return numbered<T>(std::make_integer_sequence<int, COUNT>{});
}
template <class Vector>
ALWAYS_INLINE Vector lesser(const Vector& a, const Vector& b) {
  return b < a ? b : a;
}
template <class Vector>
ALWAYS_INLINE Vector greater(const Vector& a, const Vector& b) {
  return a < b ? b : a;
}

// Exchanges the lanes whose numbers differ in the bit HALF.
template <int HALF, class Vector, int... LANE>
ALWAYS_INLINE Vector swapped(const Vector& lanes, std::integer_sequence<int, LANE...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(lanes, lanes, (LANE ^ HALF)...);
#else
  return __builtin_shuffle(lanes, Lanes<IndexLike<std::decay_t<decltype(lanes[0])>>, sizeof...(LANE)>{(LANE ^ HALF)...});
#endif
}
template <int HALF, int COUNT, class Vector>
ALWAYS_INLINE Vector swapped(const Vector& lanes) {
  return swapped<HALF>(lanes, std::make_integer_sequence<int, COUNT>{});
}
// Two rows of a square that is being transposed, and the two in which blocks of HALF lanes have changed places.
template <int HALF, class Vector, int... LANE>
ALWAYS_INLINE void exchange(Vector& a, Vector& b, std::integer_sequence<int, LANE...>) {
  constexpr int COUNT = sizeof...(LANE);
#if defined(__clang__) || __GNUC__ >= 12
  const Vector first = __builtin_shufflevector(a, b, (LANE & HALF ? COUNT + (LANE ^ HALF) : LANE)...);
  b = __builtin_shufflevector(a, b, (LANE & HALF ? COUNT + LANE : LANE | HALF)...);
#else
  using Places = Lanes<IndexLike<std::decay_t<decltype(a[0])>>, COUNT>;
  const Vector first = __builtin_shuffle(a, b, Places{(LANE & HALF ? COUNT + (LANE ^ HALF) : LANE)...});
  b = __builtin_shuffle(a, b, Places{(LANE & HALF ? COUNT + LANE : LANE | HALF)...});
#endif
  a = first;
}
// COUNT rows of COUNT lanes, as columns.
template <int COUNT, int HALF = COUNT / 2, class Vector>
ALWAYS_INLINE void transpose(Vector (&rows)[COUNT]) {
  if constexpr (HALF > 0) {
    for (int row = 0; row < COUNT; ++row) {
      if ((row & HALF) == 0) exchange<HALF>(rows[row], rows[row | HALF], std::make_integer_sequence<int, COUNT>{});
    }
    transpose<COUNT, HALF / 2>(rows);
  }
}
template <int COUNT, int HALF = COUNT / 2, class Vector>
ALWAYS_INLINE auto least_of(const Vector& lanes) {
  if constexpr (COUNT == 1) return lanes;
  else if constexpr (HALF == 0) return lanes[0];
  else return least_of<COUNT, HALF / 2>(lesser(lanes, swapped<HALF, COUNT>(lanes)));
}
template <int COUNT, int HALF = COUNT / 2, class Vector>
ALWAYS_INLINE auto any_of(const Vector& bits) {
  if constexpr (HALF == 0) return bits[0];
  else return any_of<COUNT, HALF / 2>(bits | swapped<HALF, COUNT>(bits));
}

// A bit for each of the columns of a word. Lane by lane the bits of hits differ, so that the lanes are put together only once a
// word is whole.
template <class T>
using WordLike = std::make_unsigned_t<IndexLike<T>>;
template <class Word, int COUNT, class Hits>
ALWAYS_INLINE Lanes<Word, COUNT> bits_of(const Hits& hits, int first) {
  using Words = Lanes<Word, COUNT>;
  return (Words)hits & ((all<Word, COUNT>(1) << numbered<Word, COUNT>()) << first);
}
inline int first_bit(unsigned word) { return __builtin_ctz(word); }
inline int first_bit(unsigned long long word) { return __builtin_ctzll(word); }

// The two least of all, where each lane has its two least.
template <int COUNT, int HALF = COUNT / 2, class Vector>
ALWAYS_INLINE void merge_least_two(Vector& least, Vector& second) {
  if constexpr (HALF > 0) {
    const Vector other = swapped<HALF, COUNT>(least), other_second = swapped<HALF, COUNT>(second);
    second = lesser(greater(least, other), lesser(second, other_second));
    least = lesser(least, other);
    merge_least_two<COUNT, HALF / 2>(least, second);
  }
}

// The widest registers that this processor has, in bytes.
#if defined(__x86_64__) && defined(__GNUC__)
inline int widest_lanes() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return 64;
  return __builtin_cpu_supports("avx2") ? 32 : 16;
}
inline const int WIDEST_LANES = widest_lanes();

template <class Pass, class... Arguments>
__attribute__((target("avx512f,avx512dq"))) auto run_in_64_bytes(Arguments... arguments) {
  return Pass::template run<64>(arguments...);
}
template <class Pass, class... Arguments>
__attribute__((target("avx2"))) auto run_in_32_bytes(Arguments... arguments) {
  return Pass::template run<32>(arguments...);
}
#endif

// Pass::run<BYTES>(arguments...) for a row of `row_bytes` bytes, compiled for registers of BYTES bytes. What the lanes have
// found is put together at the end of a row. That takes longer in the widest registers, so they are for rows of 384 bytes and
// more. On an EPYC of 2024 doubles gain from 256 bytes on. Integers of 32 bits lose up to a tenth from 256 to 400 bytes, and
// nothing from 600 bytes on: benchmarks/log/small_calls.md, "The widest registers for rows from 384 bytes on".
constexpr int SHORTEST_ROW = 32;  // has a register of whole lanes
template <class Pass, class... Arguments>
inline auto run_in_lanes([[maybe_unused]] std::size_t row_bytes, Arguments... arguments) {
#if defined(__x86_64__) && defined(__GNUC__)
  constexpr std::size_t LONG_ROW = 384;
  if (WIDEST_LANES == 64 && row_bytes >= LONG_ROW) return run_in_64_bytes<Pass>(arguments...);
  if (WIDEST_LANES >= 32) return run_in_32_bytes<Pass>(arguments...);
#endif
  return Pass::template run<16>(arguments...);
}
