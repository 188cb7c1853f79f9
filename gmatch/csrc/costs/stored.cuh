// stored.cuh: the types in which the entries of a matrix are stored, and the number that each entry is.
//
// Narrow types are read as they lie: no wider copy of a matrix is made. An entry becomes a number, of a type that searches
// know, when it is read. WIDE_TYPES and NARROW_TYPES are the table: a new type is a row of it, a ValueOf and a value_of.
#pragma once
#include "team/team.cuh"

// 16-bit floats that C++ has no type for: of IEEE 754, and the upper half of a float.
struct Float16 {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};

// The name of a type for NumPy, the type, and the type of its numbers.
#define WIDE_TYPES(ROW) \
  ROW(int32, int) ROW(int64, long long) ROW(float32, float) ROW(float64, double)
#define NARROW_TYPES(ROW)                                                                                    \
  ROW(int8, signed char) ROW(uint8, unsigned char) ROW(int16, short) ROW(uint16, unsigned short)              \
  ROW(float16, Float16) ROW(bfloat16, BFloat16)

// The number that an entry is. A new type has to say so: there is no default.
template <class Number>
struct ReadAsItLies {
  using type = Number;
  static constexpr bool IS_NARROW = false;
};
template <class Number>
struct ReadAs {
  using type = Number;
  static constexpr bool IS_NARROW = true;
};
template <class Stored>
struct ValueOf;
template <>
struct ValueOf<int> : ReadAsItLies<int> {};
template <>
struct ValueOf<long long> : ReadAsItLies<long long> {};
template <>
struct ValueOf<float> : ReadAsItLies<float> {};
template <>
struct ValueOf<double> : ReadAsItLies<double> {};
template <>
struct ValueOf<signed char> : ReadAs<int> {};
template <>
struct ValueOf<unsigned char> : ReadAs<int> {};
template <>
struct ValueOf<short> : ReadAs<int> {};
template <>
struct ValueOf<unsigned short> : ReadAs<int> {};
template <>
struct ValueOf<Float16> : ReadAs<float> {};
template <>
struct ValueOf<BFloat16> : ReadAs<float> {};

template <class Stored>
constexpr bool IS_NARROW = ValueOf<Stored>::IS_NARROW;

template <class Stored>
DEVICE typename ValueOf<Stored>::type value_of(Stored entry) { return entry; }
DEVICE float float_of(unsigned bits) {
  union {
    unsigned bits;
    float number;
  } same = {bits};
  return same.number;
}
DEVICE float value_of(BFloat16 entry) { return float_of(static_cast<unsigned>(entry.bits) << 16); }
// The exponent has another bias. Numbers below the least normal one are read as fractions of it, and exactly.
DEVICE float value_of(Float16 entry) {
  constexpr unsigned LEAST_NORMAL = 0x1p10, BEYOND_ALL = 0x7c00;  // the bits of 2 ** -14, and of infinity
  const unsigned magnitude = entry.bits & 0x7fffu, bits = magnitude << 13;
  const float small = float_of(bits + (113u << 23)) - float_of(113u << 23);
  const float normal = float_of(bits + ((magnitude < BEYOND_ALL ? 112u : 224u) << 23));
  const float number = magnitude < LEAST_NORMAL ? small : normal;
  return entry.bits & 0x8000u ? -number : number;
}

// Like `streamed` of a number in team/device_team.cuh and team/host_team.hpp.
DEVICE Float16 streamed(const Float16* cell) { return {streamed(&cell->bits)}; }
DEVICE BFloat16 streamed(const BFloat16* cell) { return {streamed(&cell->bits)}; }
