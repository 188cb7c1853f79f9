// dense.cuh: the costs of a dense assignment problem, as they lie in memory. Never copied, never rewritten.
#pragma once
#include "team/mirror.hpp"
#include "team/team.cuh"
#include "costs/stored.cuh"

// Sums of costs and duals: 64-bit integers for integer costs (checked for overflow before the work starts), doubles for
// floats.
template <class Cost>
struct DualOf;
template <>
struct DualOf<int> {
  using type = long long;
};
template <>
struct DualOf<long long> {
  using type = long long;
};
template <>
struct DualOf<float> {
  using type = double;
};
template <>
struct DualOf<double> {
  using type = double;
};

// The type in which numbers are compared with bounds, before they are computed exactly: as short as the stored numbers.
template <class Cost>
struct RoughOf;
template <>
struct RoughOf<int> {
  using type = float;
};
template <>
struct RoughOf<float> {
  using type = float;
};
template <>
struct RoughOf<long long> {
  using type = double;
};
template <>
struct RoughOf<double> {
  using type = double;
};
// Somewhat more than x: by far more than a few roundings can change it. MARGIN is 32 units in the last place of a float, and 64
// of a double: a bound of an error.
template <class Rough, class Dual>
DEVICE Rough roughly_above(Dual x) {
  constexpr Rough MARGIN = sizeof(Rough) == 4 ? Rough{1} / (1 << 18) : Rough{1} / (1LL << 46);
  const Rough rough = static_cast<Rough>(x);
  return rough + (rough < 0 ? -rough : rough) * MARGIN;
}

DEVICE long long beyond_all(long long) { return 0x7fffffffffffffff; }
DEVICE double beyond_all(double) { return 1e308 * 10; }

// Forbidden pairs cost plus infinity; integers have none.
DEVICE bool is_forbidden(long long) { return false; }
DEVICE bool is_forbidden(double cost) { return cost == beyond_all(cost); }

// Rounding may leave the slack of a float below zero.
template <class Dual>
DEVICE Dual slack_of(Dual cost, Dual u_of_row, Dual v_of_column) {
  const Dual slack = cost - u_of_row - v_of_column;
  return slack > 0 ? slack : 0;
}

// Whether a slack that should be zero is zero, up to a few roundings.
DEVICE bool is_rounding(long long slack, long long, long long) { return slack == 0; }
DEVICE bool is_rounding(double slack, double u_of_row, double v_of_column) {
  constexpr double ROUNDINGS = 1.0 / (1LL << 48);
  const double u = u_of_row < 0 ? -u_of_row : u_of_row, v = v_of_column < 0 ? -v_of_column : v_of_column;
  return (slack < 0 ? -slack : slack) <= ROUNDINGS * (u + v);
}

// Costs that are whole, or have few binary places, have optimal duals of as many places. Many entries tie with these duals.
// So duals that are only near an optimum are rounded to these places, if costs have at most 30 of them.
constexpr int MOST_PLACES = 30;
DEVICE int binary_places(int) { return 0; }
DEVICE int binary_places(long long) { return 0; }
DEVICE int binary_places(double number) {
  union {
    double number;
    long long bits;
  } same = {number};
  const long long fraction = same.bits & ((1LL << 52) - 1);
  const int exponent = static_cast<int>(same.bits >> 52 & 0x7ff);
  if (exponent == 0 || exponent == 0x7ff) return fraction == 0 || exponent != 0 ? 0 : MOST_PLACES + 1;
  const long long whole = fraction | 1LL << 52;
  const int places = 1075 - exponent - ilogb(static_cast<double>(whole & -whole));
  return places < 0 ? 0 : places <= MOST_PLACES ? places : MOST_PLACES + 1;
}
DEVICE long long rounded_down(long long dual, int) { return dual; }
DEVICE double rounded_down(double dual, int places) {
  constexpr double WHOLE = 1LL << 52;  // all doubles from here on are whole
  if (places > MOST_PLACES || !(-WHOLE < dual && dual < WHOLE)) return dual;
  return ldexp(floor(ldexp(dual, places)), -places);
}

template <class Stored_>
struct DenseCosts {
  using Stored = Stored_;
  using Cost = typename ValueOf<Stored>::type;
  using Dual = typename DualOf<Cost>::type;
  static constexpr bool LEAVES_OUT = false;  // whether there are pairs of which it has no entries

  Vertex num_rows;     // not more than num_columns: every row must be matched
  Vertex num_columns;
  const Stored* costs;
  Count row_stride;    // in entries, as column_stride: any order, transposed views too
  Count column_stride;
  bool maximize;       // the cost of a pair is minus its entry
  Dual limit;          // no pair costs more; infinite() if there is no limit

  FIELDS(DenseCosts, num_rows, num_columns, costs, row_stride, column_stride, maximize, limit)

  // More than any sum of costs.
  static DEVICE Dual infinite() { return beyond_all(Dual{}); }

  DEVICE const Stored* place(Vertex row, Vertex column) const { return costs + row * row_stride + column * column_stride; }
  DEVICE Cost entry(Vertex row, Vertex column) const { return value_of(*place(row, column)); }
  // What a pair with this entry costs.
  DEVICE Dual of_entry(Cost entry) const {
    const Dual cost = maximize ? -static_cast<Dual>(entry) : static_cast<Dual>(entry);
    return cost < limit ? cost : limit;
  }
  using Rough = typename RoughOf<Cost>::type;
  // What a pair with this entry costs, rounded.
  DEVICE Rough roughly_of_entry(Cost entry, Rough rough_limit) const {
    const Rough cost = maximize ? -static_cast<Rough>(entry) : static_cast<Rough>(entry);
    return cost < rough_limit ? cost : rough_limit;
  }
  DEVICE Dual at(Vertex row, Vertex column) const { return of_entry(entry(row, column)); }
};
