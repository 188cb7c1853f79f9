// magnitudes.hpp: whether duals are so large that their rounding hides what pairs cost.
//
// A dual is rounded to a unit in its own last place. If a big number stands for "not" and some rows must use it, duals
// become as large as that number, and a slack of ordinary costs is lost in their rounding. See serial/tiers.hpp.
#pragma once
#include <algorithm>
#include <cmath>

#include "costs/hidden.cuh"
#include "team/memory.cuh"

template <class Dual>
double largest_magnitude(const Dual* numbers, Vertex length) {
  // Four at a time, for each waits for the one before it.
  constexpr Vertex CHAINS = 4;
  double largest[CHAINS] = {};
  for (Vertex begin = 0; begin < length; begin += CHAINS) {
    for (Vertex k = 0; k < CHAINS && begin + k < length; ++k) {
      largest[k] = std::max(largest[k], std::abs(static_cast<double>(numbers[begin + k])));
    }
  }
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

// Whether duals may hide the cost of a pair, judged by costs that are at least `lowest`.
template <class CostOf>
bool duals_may_hide_costs(Vertex rows, double largest_dual, double lowest, const CostOf& cost_of) {
  const double hidden = largest_dual / (HIDES * (rows + 1.0));
  for (Vertex row = 0; row < rows; ++row) {
    const double cost = std::abs(static_cast<double>(cost_of(row)));
    if (cost < hidden && (cost > 0 || lowest < 0)) return true;
  }
  return false;
}

// `cost_of(row)` is the cost of a row's pair; no cost of the minimisation form is below `lowest`. A cost of zero counts only
// where others are lower, but not by more than the rounding. The pairs that cost the most are told by the pairs, not by the
// matrix: a second, larger number may stand for "not" in entries that no pair takes.
template <class CostOf>
bool duals_hide_costs(Vertex rows, double largest_dual, double lowest, const CostOf& cost_of) {
  if (!duals_may_hide_costs(rows, largest_dual, lowest, cost_of)) return false;
  const double hidden = largest_dual / (HIDES * (rows + 1.0));
  const auto magnitude_of = [&](Vertex row) { return std::abs(static_cast<double>(cost_of(row))); };
  double greatest = 2 * hidden;  // a hidden pair is none of the greatest
  for (Vertex row = 0; row < rows; ++row) greatest = std::max(greatest, magnitude_of(row));
  const bool zero_counts = lowest < 0 && -lowest < hidden;
  Count num_hidden = 0, num_greatest = 0, num_nothing = 0;
  for (Vertex row = 0; row < rows; ++row) {
    const double cost = magnitude_of(row);
    num_hidden += cost < hidden && (cost > 0 || zero_counts);
    num_greatest += cost >= greatest / 2;
    num_nothing += cost == 0 && !zero_counts;
  }
  return too_many_hidden(rows, num_hidden, num_greatest, num_nothing);
}
