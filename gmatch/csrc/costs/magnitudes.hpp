// magnitudes.hpp: whether duals are so large that their rounding hides what pairs cost.
//
// A dual is rounded to a unit in its own last place. If a big number stands for "not" and some rows must use it, duals
// become as large as that number, and a slack of ordinary costs is lost in their rounding. See serial/exact/tiers.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "costs/hidden.cuh"
#include "team/memory.cuh"

template <class Dual>
double largest_magnitude(const Dual* numbers, Vertex length) {
  // Four at a time, for each waits for the one before it.
  constexpr Vertex CHAINS = 4;
  double largest[CHAINS] = {};
  const auto add = [&](Vertex k, Dual number) {
    const double magnitude = std::abs(static_cast<double>(number));
    largest[k] = magnitude > largest[k] ? magnitude : largest[k];
  };
  Vertex begin = 0;
  for (; begin + CHAINS <= length; begin += CHAINS) {
    for (Vertex k = 0; k < CHAINS; ++k) add(k, numbers[begin + k]);
  }
  for (; begin < length; ++begin) add(0, numbers[begin]);
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

// Whether no pair costs 0, and the sum of what the pairs cost is at least the largest dual. Roundings of duals are then at most
// roundings of that sum, unless a number can be split off from the pairs that cost most. `magnitude_of(row)` is what the pair of
// a row costs, without its sign.
template <class MagnitudeOf>
bool outweigh_duals(Vertex rows, double largest_dual, const MagnitudeOf& magnitude_of) {
  double sum = 0;
  bool all = true;
  for (Vertex row = 0; row < rows; ++row) {
    const double magnitude = magnitude_of(row);
    sum += magnitude;
    all = all && magnitude > 0;
  }
  return all && largest_dual <= sum && sum < std::numeric_limits<double>::infinity();
}
// Whether a pair stands for "not" beside the next cheaper pair. If none does, no number can be split off: pairs that use the
// number would cost multiples of it, and there would be a gap below them. The factor 2 allows for what these pairs cost beside
// the multiples.
template <class MagnitudeOf>
bool have_gap(Vertex rows, const MagnitudeOf& magnitude_of) {
  std::vector<double> magnitudes(rows);
  for (Vertex row = 0; row < rows; ++row) magnitudes[row] = magnitude_of(row);
  std::sort(magnitudes.begin(), magnitudes.end());
  for (Vertex k = 1; k < rows; ++k) {
    if (stands_for_not(2 * magnitudes[k], magnitudes[k - 1], rows)) return true;
  }
  return false;
}

// Returns IN_ANY_CASE if the duals hide what pairs cost, and 0 if they do not. Any other number leaves it open: the duals hide
// costs if a cost of the minimisation form is negative, but above minus this number. `cost_of(row)` is the cost of a row's pair.
// No cost of the minimisation form is below `lowest`.
//
// A pair that costs 0 is a pair like others if there are negative costs near 0: duals may hide that one of these is cheaper. If
// there are none, nothing is cheaper beside it. Numbers that stand for "not" are told by the pairs, not by the matrix: a second,
// larger number may stand in entries that no pair takes.
constexpr double IN_ANY_CASE = std::numeric_limits<double>::infinity();
template <class CostOf>
double hiding_if_negative_within(Vertex rows, double largest_dual, double lowest, const CostOf& cost_of) {
  const double hidden = largest_dual / (HIDES * (rows + 1.0));
  const auto magnitude_of = [&](Vertex row) { return std::abs(static_cast<double>(cost_of(row))); };
  Vertex first = 0;
  while (first < rows && magnitude_of(first) >= hidden) ++first;
  if (first == rows) return 0;  // the usual case
  Count num_hidden = 0, num_nothing = 0;
  for (Vertex row = first; row < rows; ++row) {
    const double magnitude = magnitude_of(row);
    num_nothing += magnitude == 0;
    num_hidden += magnitude < hidden && magnitude > 0;
  }
  if (num_hidden > 0) {
    if (outweigh_duals(rows, largest_dual, magnitude_of) && !have_gap(rows, magnitude_of)) return 0;
    double greatest = 2 * hidden;  // a hidden pair is none of the greatest
    for (Vertex row = 0; row < rows; ++row) greatest = std::max(greatest, magnitude_of(row));
    Count num_greatest = 0;
    for (Vertex row = 0; row < rows; ++row) num_greatest += magnitude_of(row) >= greatest / 2;
    if (too_many_hidden(rows, num_hidden, num_greatest, num_nothing)) return IN_ANY_CASE;
    std::vector<double> magnitudes;  // of hidden pairs, and the next more expensive pair
    magnitudes.reserve(num_hidden + 1);
    double next = std::numeric_limits<double>::infinity();
    for (Vertex row = 0; row < rows; ++row) {
      const double magnitude = magnitude_of(row);
      if (magnitude >= hidden) next = std::min(next, magnitude);
      else if (magnitude > 0) magnitudes.push_back(magnitude);
    }
    std::sort(magnitudes.begin(), magnitudes.end());
    if (num_hidden + num_nothing < rows) magnitudes.push_back(next);
    for (std::size_t k = 1; k < magnitudes.size(); ++k) {
      if (stands_for_not(magnitudes[k], magnitudes[k - 1], rows)) return IN_ANY_CASE;
    }
  }
  return num_nothing > 0 && lowest < 0 ? hidden : 0;
}
