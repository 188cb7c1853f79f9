// lowered_costs.hpp: costs with a smaller number in the place of the largest, a number that stands for "not".
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "serial/exact/tier_scan.hpp"
#include "serial/shortest_path.hpp"

// Costs whose largest magnitude (a number that stands for "not") is lowered to a power of two that no sum of rests outweighs.
// A cheapest assignment of the lowered costs is a cheapest one of the costs, too. Costs are lowered if duals of the largest
// magnitude would hold nothing of the rests, or if sums would overflow. Other costs are solved as they are, since a copy takes
// as long as it saves.
class LoweredCosts {
 public:
  static constexpr double ROOM = 32;  // see gmatch/problems/splits.py
  static double least_unit(Vertex rows, double largest_rest) {
    return std::ldexp(1, std::ilogb(ROOM * (rows + 1.0) * largest_rest) + 1);
  }

  // False if a dual of the largest magnitude holds something of the rests. Most often the least or the greatest cost tells. Also
  // false if there are no rests and sums of the costs are finite.
  // Finite costs of the minimisation form lie from `lowest` to `highest`. Both of these are costs. There is no limit.
  template <class Cost>
  bool lower(const DenseCosts<Cost>& costs, double lowest, double highest) {
    rows_ = costs.num_rows;
    columns_ = costs.num_columns;
    lowest_ = lowest;
    highest_ = highest;
    value_ = std::max(-lowest, highest);
    const auto rest_of = [&](double cost) { return std::abs(TierScan::rest_beside_largest(cost, value_)); };
    // Costs that are all one number have no rests. Other rests are most often found in the first row.
    double largest = std::max(rest_of(lowest), rest_of(highest));
    if (holds(largest)) return false;
    for (Vertex row = 0; row < rows_ && largest == 0 && lowest < highest; ++row) {
      for (Vertex j = 0; j < columns_; ++j) {
        const double cost = static_cast<double>(costs.at(row, j));
        if (!(std::abs(cost) <= value_)) continue;  // forbidden
        largest = std::max(largest, rest_of(cost));
        if (holds(largest)) return false;
      }
    }
    if (largest == 0 && sums_are_finite()) return false;
    entries_.reset(new double[Count{rows_} * columns_]);
    // Leaves room for rests a little larger than the largest one so far.
    for (unit_ = largest > 0 ? 2 * least_unit(rows_, largest) : 1;; unit_ = least_unit(rows_, largest)) {
      largest = costs.maximize ? write<Cost, true>(costs) : write<Cost, false>(costs);
      if (holds(largest)) return false;
      if (largest == 0 || unit_ >= least_unit(rows_, largest)) break;
    }
    return true;
  }

  double value() const { return value_; }
  double unit() const { return unit_; }
  DenseCosts<double> costs() const {
    return {rows_, columns_, entries_.get(), columns_, 1, false, DenseCosts<double>::infinite()};
  }
  ShortestPathOptions<double> options() const {
    return {lowest_ < 0 ? -2 * unit_ : 0, 2 * unit_, false, 2 * unit_};
  }
  // Whether duals that make no use of the large number prove a solution as they are.
  bool is_solution_of_costs() const { return lowest_ >= -value_ / 2 && sums_are_finite(); }
  // If sums of costs could overflow, only duals in parts are a proof: see sums_fit in gmatch/problems/limits.py.
  bool sums_are_finite() const {
    return std::isfinite((32 + 8.0 * rows_) * (highest_ - lowest_) + rows_ * value_);
  }

 private:
  bool holds(double rest) const { return rest >= value_ * std::numeric_limits<double>::epsilon(); }

  template <class Cost, bool NEGATED>
  double write(const DenseCosts<Cost>& costs) {
    double largest = 0;
    for (Vertex row = 0; row < rows_ && !holds(largest); ++row) {
      const double of_row = TierScan::lower<Cost, NEGATED>(costs.place(row, 0), value_, unit_, columns_,
                                                           entries_.get() + row * Count{columns_});
      largest = std::max(largest, of_row);
    }
    return largest;
  }

  Vertex rows_, columns_;
  double lowest_, highest_, value_, unit_;
  std::unique_ptr<double[]> entries_;
};
