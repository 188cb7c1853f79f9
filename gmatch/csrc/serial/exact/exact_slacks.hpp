// exact_slacks.hpp: exact slacks of some pairs by rounded duals, as whole multiples of a power of two.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "serial/shortest_path.hpp"

// Pairs in the order of their rows.
struct PairList {
  std::vector<Vertex> rows, columns;

  Count size() const { return static_cast<Count>(rows.size()); }
  void add(Vertex row, Vertex column) {
    rows.push_back(row);
    columns.push_back(column);
  }
  // Keeps the pairs k with keeps(k), which is called in their order.
  template <class Keeps>
  void keep_if(const Keeps& keeps) {
    Count kept = 0;
    for (Count k = 0; k < size(); ++k) {
      if (!keeps(k)) continue;
      rows[kept] = rows[k];
      columns[kept++] = columns[k];
    }
    rows.resize(kept);
    columns.resize(kept);
  }
};

// a - b rounded, and the rounding error, which is exact (Knuth's TwoSum).
struct SplitDifference {
  double rounded, lost;
  SplitDifference(double a, double b) : rounded(a - b) {
    const double back = rounded - a;
    lost = (a - (rounded - back)) - (b + back);
  }
};

// cost - u - v of pairs, and -v of columns that may stay free, in a unit of which all of these numbers are multiples.
struct ExactSlacks {
  std::vector<Count> of_pairs, of_columns;  // [num_columns]
  Count most = 0;                           // the largest magnitude

  // `given` has cost(row, column), and the duals u(row) and v(column). False if a slack is 2^50 or more in the unit: then costs
  // have bits far below their duals.
  template <class Costs>
  bool find(const Costs& given, const PairList& pairs, const std::vector<bool>& may_leave) {
    const auto num_columns = static_cast<Vertex>(may_leave.size());
    int lowest = NO_BIT;
    std::vector<double> costs(pairs.size());
    for (Count k = 0; k < pairs.size(); ++k) {
      costs[k] = given.cost(pairs.rows[k], pairs.columns[k]);
      for (const double number : {costs[k], given.u(pairs.rows[k]), given.v(pairs.columns[k])}) {
        lowest = std::min(lowest, lowest_bit(number));
      }
    }
    for (Vertex j = 0; j < num_columns; ++j) lowest = may_leave[j] ? std::min(lowest, lowest_bit(given.v(j))) : lowest;
    const double per_unit = std::exp2(lowest == NO_BIT ? 0 : -lowest);
    if (!std::isfinite(per_unit)) return false;

    bool fits = true;
    const auto in_units = [&](double number) {
      constexpr double MOST = 0x1p50;
      fits = fits && std::abs(number * per_unit) < MOST;
      return fits ? static_cast<Count>(number * per_unit) : 0;
    };
    of_pairs.resize(pairs.size());
    for (Count k = 0; k < pairs.size() && fits; ++k) {
      const SplitDifference less_u(costs[k], given.u(pairs.rows[k]));
      const SplitDifference slack(less_u.rounded, given.v(pairs.columns[k]));
      of_pairs[k] = in_units(slack.rounded) + in_units(slack.lost) + in_units(less_u.lost);
      most = std::max(most, std::abs(of_pairs[k]));
    }
    of_columns.assign(num_columns, 0);
    for (Vertex j = 0; j < num_columns && fits; ++j) {
      if (may_leave[j]) of_columns[j] = in_units(-given.v(j));
      most = std::max(most, std::abs(of_columns[j]));
    }
    return fits;
  }

 private:
  static constexpr int NO_BIT = 1 << 20;

  // The exponent of the lowest bit that is set; NO_BIT for 0.
  static int lowest_bit(double number) {
    constexpr int MANTISSA_BITS = 52, BIAS = 1075, EXPONENTS = 0x7ff;
    std::uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    const int exponent = static_cast<int>(bits >> MANTISSA_BITS) & EXPONENTS;
    const std::uint64_t hidden = std::uint64_t{1} << MANTISSA_BITS, mantissa = bits & (hidden - 1);
    const std::uint64_t whole = exponent == 0 ? mantissa : mantissa | hidden;
    return whole == 0 ? NO_BIT : std::max(exponent, 1) - BIAS + first_bit(static_cast<unsigned long long>(whole));
  }
};
