// tiers.hpp: costs of several magnitudes, such as a big number that stands for "not" among ordinary costs, on one core.
//
// If a few rows must use the big number, duals are as large as it, and rounding hides the ordinary costs in them. So each cost
// is split into a whole multiple of the big number, its tier, and an exact rest, as gmatch/assignment/tiers.py says:
//
//   cost = value * tier + rest,    with value > 32 * (rows + 1) * |rest| for all pairs
//
// Optimal duals of the tiers need no search: they are read off the known duals of the costs. Numbers that add up to nearly
// whole numbers still do if all are rounded at one place, u down and v up: with x = u / value and y = -v / value
//
//   u + v <= cost   says that   x <= tier + y + rest / value,   so that   floor(x + shift) <= tier + floor(y + shift)
//
// and both are equal for a pair, if x and y lie on one side of the place; their fractions differ by less than
// 1 / (32 * (rows + 1)) for a pair. There are at most as many fractions as rows, and 0, so one of the gaps between them is wide
// enough for the place. A pass over the matrix proves the resulting duals, and tells which pairs remain: pairs whose tier is the
// tier of their duals. Among these, shortest paths find the least rest. Rests may be split again. Rests are not stored, but made
// anew for each scan of a row, in the cache.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "costs/magnitudes.hpp"
#include "serial/dual_repair.hpp"
#include "serial/rows.hpp"
#include "serial/short_vector.hpp"
#include "serial/shortest_path.hpp"

// A big number, and optimal duals in multiples of it. If columns may stay free, a column with a dual below 0 must be used.
struct Tier {
  double value;
  ShortVector<double> rows, columns;  // whole numbers; `columns` is as long as scans read
};

// Passes over a row of costs that take them apart.
class TierScan {
 public:
  // The largest multiple, so that products with either part of a value are exact.
  static constexpr double MOST_TIERS = 1 << 20;

  // One tier of one row.
  struct OfRow {
    double inverse, high, low;  // the value is high + low
    double row;
    const double* columns;
  };
  static OfRow of_row(const Tier& tier, Vertex row) {
    return {1 / tier.value, high_of(tier.value), tier.value - high_of(tier.value), tier.rows[row], tier.columns.data()};
  }
  static double rest_of_dual(double dual, double value, double times) {
    const double high = high_of(value);
    return (dual - times * high) - times * (value - high);
  }

  // The rests of the pairs whose tiers are the tiers of their duals; FAR for all others.
  static void find_rests(const double* costs, const OfRow* tiers, int num_tiers, Vertex width, double* rests) {
    run_in_lanes<FindRests>(sizeof(double) * width, costs, tiers, num_tiers, width, rests);
  }
  static double find_rest(double cost, const OfRow* tiers, int num_tiers, Vertex column) {
    for (int k = 0; k < num_tiers; ++k) {
      const Parts<1> parts = taken_apart<1>(cost, tiers[k], column);
      cost = parts.above == 0 ? parts.rest : FAR;
    }
    return cost;
  }

  // Over finite costs: the least difference of a cost's tier and the tier of its duals; and the range of the rests.
  struct Seen {
    double least_above = FAR, least = 0, most = 0;

    double largest() const { return std::max(-least, most); }
  };
  // Seen, lane by lane: combining the lanes for each row would take as long as the pass over a short row.
  struct SeenInLanes {
    static constexpr int LANES = 8;  // of the widest registers
    double least_above[LANES], least[LANES], most[LANES];

    SeenInLanes() {
      for (int k = 0; k < LANES; ++k) {
        const Seen nothing;
        least_above[k] = nothing.least_above;
        least[k] = nothing.least;
        most[k] = nothing.most;
      }
    }
    Seen of_all() const {
      return {*std::min_element(least_above, least_above + LANES), *std::min_element(least, least + LANES),
              *std::max_element(most, most + LANES)};
    }
  };
  // Writes the rests as find_rests does, and looks at them. Returns the least rest - v of the pairs that remain.
  static double look(const double* costs, const OfRow& tier, const double* v, Vertex width, double* rests, SeenInLanes& seen) {
    return run_in_lanes<Look>(sizeof(double) * WIDE_FROM * width, costs, tier, v, width, rests, &seen);
  }

  // The largest rest of finite costs beside a value.
  static double largest_rest(const double* costs, double value, Vertex width) {
    const OfRow tier{1 / value, high_of(value), value - high_of(value), 0, nullptr};
    return run_in_lanes<LargestRest>(sizeof(double) * WIDE_FROM * width, costs, tier, width);
  }

  // The rest of a cost beside the largest magnitude. It is exact: both lie within a factor of two, or the rest is the cost.
  static double rest_beside_largest(double cost, double largest) {
    return cost > largest / 2 ? cost - largest : cost < -largest / 2 ? cost + largest : cost;
  }

  // Which exponents numbers have: a bit for each difference to `top`. The last bit stands for all lower exponents, and for zero
  // and infinite numbers.
  using Exponents = unsigned long long;
  static Exponents find_exponents(const double* costs, Count top, Vertex width) {
    return run_in_lanes<FindExponents>(sizeof(double) * WIDE_FROM * width, costs, top, width);
  }
  // As it is stored, without a sign.
  static Count exponent_of(double number) {
    Count bits;
    std::memcpy(&bits, &number, sizeof bits);
    return (bits & ~SIGN) >> MANTISSA_BITS;
  }
  // The least magnitude of an exponent or a higher one, FAR if there is none.
  static double least_of_exponent(const double* costs, Count exponent, Vertex width) {
    const Count bits = std::max(exponent << MANTISSA_BITS, Count{1});
    double bound;
    std::memcpy(&bound, &bits, sizeof bound);
    return run_in_lanes<LeastFrom>(sizeof(double) * WIDE_FROM * width, costs, bound, width);
  }

  static double nearest_whole(double number) { return (number + ROUNDS) - ROUNDS; }

  // Writes numbers / unit + shift, rounded down; with sign -1 it writes -(-numbers / unit + shift), rounded down inside.
  static void round_down(const double* numbers, Vertex length, double unit, double shift, double sign, double* rounded) {
    run_in_lanes<RoundDown>(SHORTEST_ROW, numbers, length, unit, shift, sign, rounded);
  }

  // Writes the costs with `unit` in the place of `value`, the largest magnitude. Returns the largest rest of finite costs.
  template <class Entry, bool NEGATED>
  static double lower(const Entry* costs, double value, double unit, Vertex width, double* lowered) {
    using Pass = Lower<Entry, NEGATED>;
    if (width < static_cast<Vertex>(SHORTEST_ROW / sizeof(double))) {
      return Pass::template run<sizeof(double)>(costs, value, unit, width, lowered);
    }
    return run_in_lanes<Pass>(sizeof(double) * WIDE_FROM * width, costs, value, unit, width, lowered);
  }

  // Writes the costs with another value of the tier.
  static void replace_value(const double* costs, const OfRow& tier, double value, Vertex width, double* replaced) {
    run_in_lanes<ReplaceValue>(sizeof(double) * width, costs, tier, value, width, replaced);
  }

  static double with_value(double cost, const OfRow& tier, double value) {
    const double times = times_of<1>(cost, tier);
    return cost < FAR ? rest_of<1>(cost, times, tier) + times * value : FAR;
  }

  // A rounded difference, and the exact one less it (Knuth's TwoSum).
  template <int LANES>
  struct Difference {
    Lanes<double, LANES> rounded, lost;
  };
  template <int LANES>
  static ALWAYS_INLINE Difference<LANES> difference(const Lanes<double, LANES>& left, const Lanes<double, LANES>& right) {
    const Lanes<double, LANES> rounded = left - right, back = rounded - left;
    return {rounded, (left - (rounded - back)) - (right + back)};
  }
  // By how much the least cost - v of a row lies below cost - v of its pair, in numbers of twice the digits; at least 0.
  static double largest_gap(const double* costs, const double* v, const Difference<1>& of_pair, Vertex num_columns) {
    if (num_columns < static_cast<Vertex>(SHORTEST_ROW / sizeof(double))) {
      return LargestGap::run<sizeof(double)>(costs, v, of_pair, num_columns);
    }
    return run_in_lanes<LargestGap>(sizeof(double) * WIDE_FROM * num_columns, costs, v, of_pair, num_columns);
  }

  // Whether all costs times a power of two are whole; FAR counts as whole.
  static bool are_whole(const double* costs, double factor, Vertex width) {
    return run_in_lanes<AreWhole>(sizeof(double) * width, costs, factor, width);
  }

 private:
  static constexpr double FAR = Distance<double>::FAR;

  static double high_of(double value) {
    constexpr std::uint64_t HIGH = ~((std::uint64_t{1} << 22) - 1);
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= HIGH;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  }

  // In passes that combine few values of lanes at the end, the widest registers pay from a fourth of the length on.
  static constexpr int WIDE_FROM = 4;
  static constexpr Count SIGN = std::numeric_limits<Count>::min(), MANTISSA_BITS = 52, LAST_EXPONENT = 63;
  // From WHOLE on all numbers are whole; beside ROUNDS there are no fractions.
  static constexpr double WHOLE = 0x1p52, ROUNDS = 1.5 * WHOLE;

  // Calls visit(j) for LANES entries of a row from j on, of which the last may be visited twice.
  template <int LANES, class Visit>
  static ALWAYS_INLINE void each_lanes(Vertex width, const Visit& visit) {
    Vertex j = 0;
    for (; j + LANES <= width; j += LANES) visit(j);
    if (j < width) visit(width - LANES);
  }

  template <int LANES>
  struct Parts {
    Lanes<double, LANES> above, rest;
  };
  template <int LANES>
  static ALWAYS_INLINE Lanes<double, LANES> times_of(const Lanes<double, LANES>& cost, const OfRow& tier) {
    return (cost * tier.inverse + ROUNDS) - ROUNDS;
  }
  template <int LANES>
  static ALWAYS_INLINE Lanes<double, LANES> rest_of(const Lanes<double, LANES>& cost, const Lanes<double, LANES>& times,
                                                    const OfRow& tier) {
    return (cost - times * tier.high) - times * tier.low;
  }
  // The rest of FAR is not a number, which `lesser` and `greater` ignore.
  template <int LANES>
  static ALWAYS_INLINE Parts<LANES> taken_apart(const Lanes<double, LANES>& cost, const OfRow& tier, Vertex column) {
    const Lanes<double, LANES> times = times_of<LANES>(cost, tier);
    return {(times - tier.row) - load<double, LANES>(tier.columns + column), rest_of<LANES>(cost, times, tier)};
  }

  struct FindRests {
    template <int BYTES>
    static ALWAYS_INLINE void run(const double* costs, const OfRow* tiers, int num_tiers, Vertex width, double* rests) {
      constexpr int LANES = BYTES / sizeof(double);
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        Lanes<double, LANES> cost = load<double, LANES>(costs + j);
        for (int k = 0; k < num_tiers; ++k) {
          const Parts<LANES> parts = taken_apart<LANES>(cost, tiers[k], j);
          cost = parts.above == 0 ? parts.rest : all<double, LANES>(FAR);
        }
        store(rests + j, cost);
      });
    }
  };

  struct Look {
    template <int BYTES>
    static ALWAYS_INLINE double run(const double* costs, OfRow tier, const double* v, Vertex width, double* rests,
                                    SeenInLanes* seen) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector far = all<double, LANES>(FAR);
      Vector least_above = load<double, LANES>(seen->least_above), least = load<double, LANES>(seen->least),
             most = load<double, LANES>(seen->most), least_reduced = far;
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Parts<LANES> parts = taken_apart<LANES>(load<double, LANES>(costs + j), tier, j);
        const Vector left = parts.above == 0 ? parts.rest : far;
        store(rests + j, left);
        least_above = lesser(least_above, parts.above);
        least = lesser(least, parts.rest);
        most = greater(most, parts.rest);
        least_reduced = lesser(least_reduced, left - load<double, LANES>(v + j));
      });
      store(seen->least_above, least_above);
      store(seen->least, least);
      store(seen->most, most);
      return least_of<LANES>(least_reduced);
    }
  };

  struct LargestRest {
    template <int BYTES>
    static ALWAYS_INLINE double run(const double* costs, OfRow tier, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      Vector largest = all<double, LANES>(0);
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Vector cost = load<double, LANES>(costs + j), rest = rest_of<LANES>(cost, times_of<LANES>(cost, tier), tier);
        largest = greater(largest, rest < 0 ? -rest : rest);
      });
      return -least_of<LANES>(-largest);
    }
  };

  // rest_beside_largest, in lanes: infinite costs stay infinite.
  template <class Entry, bool NEGATED>
  struct Lower {
    template <int BYTES>
    static ALWAYS_INLINE double run(const Entry* costs, double value, double unit, Vertex width, double* lowered) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector nothing = all<double, LANES>(0), half = nothing + value / 2, far = all<double, LANES>(FAR);
      const Vector big = nothing + value, small = nothing + unit;
      Vector largest = nothing;
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Vector entry = load_as<double, LANES>(costs + j), cost = NEGATED ? -entry : entry;
        const auto is_big = cost > half, is_low = cost < -half;
        const Vector rest = cost - (is_big ? big : is_low ? -big : nothing);
        store(lowered + j, rest + (is_big ? small : is_low ? -small : nothing));
        const Vector magnitude = rest < 0 ? -rest : rest;
        largest = greater(largest, magnitude < far ? magnitude : nothing);
      });
      return -least_of<LANES>(-largest);
    }
  };

  struct FindExponents {
    template <int BYTES>
    static ALWAYS_INLINE Exponents run(const double* costs, Count top, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      using Numbers = Lanes<Count, LANES>;
      using Bits = Lanes<Exponents, LANES>;
      const Numbers last = all<Count, LANES>(LAST_EXPONENT);
      Bits found = all<Exponents, LANES>(0);
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Numbers below = top - (((Numbers)load<double, LANES>(costs + j) & ~SIGN) >> MANTISSA_BITS);
        const Numbers place = below < 0 ? last : lesser(below, last);
        found |= all<Exponents, LANES>(1) << (Bits)place;
      });
      return any_of<LANES>(found);
    }
  };

  struct LeastFrom {
    template <int BYTES>
    static ALWAYS_INLINE double run(const double* costs, double bound, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector far = all<double, LANES>(FAR);
      Vector least = far;
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Vector cost = load<double, LANES>(costs + j), magnitude = cost < 0 ? -cost : cost;
        least = lesser(least, magnitude < bound ? far : magnitude);
      });
      return least_of<LANES>(least);
    }
  };

  struct RoundDown {
    template <int BYTES>
    static ALWAYS_INLINE void run(const double* numbers, Vertex length, double unit, double shift, double sign,
                                  double* rounded) {
      for (Vertex k = 0; k < length; ++k) rounded[k] = sign * std::floor(sign * numbers[k] / unit + shift);
    }
  };

  struct ReplaceValue {
    template <int BYTES>
    static ALWAYS_INLINE void run(const double* costs, OfRow tier, double value, Vertex width, double* replaced) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector far = all<double, LANES>(FAR);
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Vector cost = load<double, LANES>(costs + j), times = times_of<LANES>(cost, tier);
        const Vector with_value = rest_of<LANES>(cost, times, tier) + times * value;
        store(replaced + j, cost < far ? with_value : far);
      });
    }
  };

  struct LargestGap {
    template <int BYTES>
    static ALWAYS_INLINE double run(const double* costs, const double* v, Difference<1> of_pair, Vertex num_columns) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector nothing = all<double, LANES>(0), far = all<double, LANES>(FAR);
      Vector largest = nothing;
      each_lanes<LANES>(num_columns, [&](Vertex j) __attribute__((always_inline)) {
        const Vector cost = load<double, LANES>(costs + j);
        const Difference<LANES> reduced = difference<LANES>(cost, load<double, LANES>(v + j));
        const Vector gap = (of_pair.rounded - reduced.rounded) + (of_pair.lost - reduced.lost);
        largest = greater(largest, cost < far ? gap : nothing);
      });
      return -least_of<LANES>(-largest);
    }
  };

  struct AreWhole {
    template <int BYTES>
    static ALWAYS_INLINE bool run(const double* costs, double factor, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      Lanes<Count, LANES> others = all<Count, LANES>(0);
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Lanes<double, LANES> number = load<double, LANES>(costs + j) * factor;
        const Lanes<double, LANES> magnitude = number < 0 ? -number : number;
        const auto is_whole = ((magnitude + ROUNDS) - ROUNDS == magnitude) | (magnitude >= WHOLE);
        others |= ~(Lanes<Count, LANES>)is_whole;
      });
      return any_of<LANES>(others) == 0;
    }
  };
};

// The rests of the remaining pairs, as the serial solvers scan rows.
class RestRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;

  RestRows(CopiedRows<double> costs, const ShortVector<Tier>& tiers)
      : costs_(std::move(costs)),
        tiers_(&tiers),
        rests_(tiers.get_allocator()),
        of_row_(tiers.get_allocator()) {}

  Vertex num_rows() const { return costs_.num_rows(); }
  Vertex num_columns() const { return costs_.num_columns(); }
  Vertex width() const { return costs_.width(); }
  const double* entries(Vertex row) {
    const double* costs = costs_.entries(row);
    if (tiers_->empty()) return costs;
    rests_.resize(ROWS_KEPT * Count{width()});
    double* rests = rests_.data() + row % ROWS_KEPT * Count{width()};
    set_tiers_of(row);
    TierScan::find_rests(costs, of_row_.data(), static_cast<int>(of_row_.size()), width(), rests);
    return rests;
  }
  double at(Vertex row, Vertex column) const {
    set_tiers_of(row);
    return TierScan::find_rest(costs_.at(row, column), of_row_.data(), static_cast<int>(of_row_.size()), column);
  }

 private:
  void set_tiers_of(Vertex row) const {
    of_row_.clear();
    for (const Tier& tier : *tiers_) of_row_.push_back(TierScan::of_row(tier, row));
  }

  CopiedRows<double> costs_;
  const ShortVector<Tier>* tiers_;
  ShortVector<double> rests_;
  mutable ShortVector<TierScan::OfRow> of_row_;
};

// Costs in which a number stands for the value of a tier, as the serial solvers scan rows.
class ReplacedRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RestRows::Scan;

  ReplacedRows(const RestRows& costs, const Tier& tier, double value)
      : costs_(costs), tier_(&tier), value_(value), replaced_(ROWS_KEPT * Count{costs.width()}) {}

  Vertex num_rows() const { return costs_.num_rows(); }
  Vertex num_columns() const { return costs_.num_columns(); }
  Vertex width() const { return costs_.width(); }
  const double* entries(Vertex row) {
    double* replaced = replaced_.data() + row % ROWS_KEPT * Count{width()};
    TierScan::replace_value(costs_.entries(row), TierScan::of_row(*tier_, row), value_, width(), replaced);
    return replaced;
  }
  double at(Vertex row, Vertex column) const {
    return TierScan::with_value(costs_.at(row, column), TierScan::of_row(*tier_, row), value_);
  }

 private:
  RestRows costs_;
  const Tier* tier_;
  const double value_;
  LineVector<double> replaced_;
};

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

  // False if a dual of the largest magnitude holds something of the rests. The first entries tell, most often the very first.
  // Finite costs of the minimisation form lie from `lowest` to `highest`; there is no limit.
  template <class Cost>
  bool lower(const DenseCosts<Cost>& costs, double lowest, double highest) {
    rows_ = costs.num_rows;
    columns_ = costs.num_columns;
    lowest_ = lowest;
    highest_ = highest;
    value_ = std::max(-lowest, highest);
    double largest = 0;
    for (Vertex j = 0; j < columns_; ++j) {
      const double cost = static_cast<double>(costs.at(0, j));
      if (!(std::abs(cost) <= value_)) continue;  // forbidden
      largest = std::max(largest, std::abs(TierScan::rest_beside_largest(cost, value_)));
      if (holds(largest)) return false;
    }
    entries_.reset(new double[Count{rows_} * columns_]);
    // Leaves room for rests a little larger than the rests of the first row.
    for (unit_ = 2 * least_unit(rows_, largest);; unit_ = least_unit(rows_, largest)) {
      largest = costs.maximize ? write<Cost, true>(costs) : write<Cost, false>(costs);
      if (holds(largest) || largest == 0) return false;
      if (unit_ >= least_unit(rows_, largest)) break;
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

// Whether a solution stands as it is, was found anew in tiers, or must be found in another way.
MIRRORED_ENUM(TierOutcome, stands, solved, open);

// Costs whose duals hide some of them, with a solution in which all rows have a pair.
class TierSolver {
 public:
  TierSolver(CopiedRows<double> costs, double lowest, double highest, const ShortestPathResult<double>& result,
             ShortestPathCounters& counters)
      : num_rows_(costs.num_rows()),
        num_columns_(costs.num_columns()),
        tiers_(&memory_),
        rows_(std::move(costs), tiers_),
        lowest_(lowest),
        highest_(highest),
        result_(result),
        counters_(counters),
        pair_rests_(num_rows_, &memory_) {
    find_pair_rests();
    find_largest_dual();
  }

  // At the end u and v of the solution are the duals of the last rests.
  TierOutcome solve() {
    while (!is_exact()) {
      const Added added = add_tier();
      if (added == Added::NO_VALUE && duals_exceed_costs() && hides() && !is_proven()) return TierOutcome::open;
      if (added == Added::NO_VALUE) break;
      if (added == Added::NO_DUALS) return TierOutcome::open;
      if (!hides()) break;
    }
    return tiers_.empty() ? TierOutcome::stands : TierOutcome::solved;
  }

  // As solve, from the solution of `lowered`: these costs with a smaller number in the place of the largest. If the outcome is
  // open, that solution is none of these costs.
  TierOutcome solve_lowered(const LoweredCosts& lowered) {
    Tier tier = tier_of(lowered.value());
    find_duals(tier, lowered.unit());
    if (lowered.is_solution_of_costs() && is_all_zero(tier)) return hides() ? solve() : TierOutcome::stands;
    if (add_lowered(tier, lowered.unit()) != Added::TIER) return TierOutcome::open;
    return hides() ? solve() : TierOutcome::solved;
  }

  const ShortVector<Tier>& tiers() const { return tiers_; }
  RestRows& rests() { return rows_; }
  std::vector<bool> must_be_used() const {
    std::vector<bool> must(num_columns_);
    for (Vertex j = 0; j < num_columns_; ++j) must[j] = num_rows_ < num_columns_ && !may_stay_free(j);
    return must;
  }

 private:
  static constexpr double FAR = Distance<double>::FAR;
  static constexpr double ROOM = LoweredCosts::ROOM;
  static constexpr double EPSILON = std::numeric_limits<double>::epsilon(), ROUNDINGS = 64;
  // Three differences of numbers of a scale, each rounded by half a unit of twice the scale; a strict proof allows four.
  static constexpr double CONTRADICTS = 3 * EPSILON;

  // The largest dual of the present solution.
  void find_largest_dual() {
    largest_dual_ = std::max(largest_magnitude(result_.u, num_rows_), largest_magnitude(result_.v, num_columns_));
  }
  bool may_stay_free(Vertex column) const {
    return std::all_of(tiers_.begin(), tiers_.end(), [=](const Tier& tier) { return tier.columns[column] >= 0; });
  }
  void find_pair_rests() {
    for (Vertex row = 0; row < num_rows_; ++row) pair_rests_[row] = rows_.at(row, result_.row_match[row]);
  }

  // Whether duals hide a cost. Most often they do not, and the range of rests, which takes a pass, is not needed.
  bool hides() {
    const double largest = largest_dual_;
    const auto rest_of = [&](Vertex row) { return pair_rests_[row]; };
    if (!duals_may_hide_costs(num_rows_, largest, lowest_, rest_of)) return false;
    if (!has_range_) find_range();
    return duals_hide_costs(num_rows_, largest, lowest_, highest_, rest_of);
  }
  void find_range() {
    lowest_ = FAR;
    highest_ = -FAR;
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double* rests = scan(row);
      for (Vertex j = 0; j < num_columns_; ++j) {
        lowest_ = std::min(lowest_, rests[j]);
        highest_ = std::max(highest_, rests[j] < FAR ? rests[j] : -FAR);
      }
    }
    has_range_ = true;
  }

  // Whether the duals lose more by rounding than the sum of the costs of all pairs: see gmatch/assignment/tiers.py.
  bool duals_exceed_costs() const {
    double sum = 0;
    for (const double rest : pair_rests_) sum += std::abs(rest);
    return largest_dual_ > sum;
  }

  // Whether all costs are multiples of a number above the rounding of the duals: then no digit is lost.
  bool is_exact() {
    const double lost = ROUNDINGS * EPSILON * (Count{num_rows_} + num_columns_) * largest_dual_;
    const double factor = lost > 0 ? std::exp2(-1 - std::ilogb(lost)) : FAR;
    if (!(factor < FAR)) return lost == 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (!TierScan::are_whole(scan(row), factor, rows_.width())) return false;
    }
    return true;
  }

  // Whether v prove the pairs the cheapest up to the last digits of the sum of what they cost: is_proven of
  // gmatch/assignment/exact.py, in numbers of twice the digits.
  bool is_proven() {
    constexpr double LAST_DIGITS = 4 * EPSILON;
    const double* v = result_.v;
    double sum = 0, gap = 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double* rests = scan(row);
      const auto of_pair = TierScan::difference<1>(pair_rests_[row], v[result_.row_match[row]]);
      if (!(std::abs(of_pair.rounded) < FAR)) return false;  // another thread has changed the costs
      gap += TierScan::largest_gap(rests, v, of_pair, num_columns_);
      sum += std::abs(pair_rests_[row]);
    }
    for (Vertex j = 0; j < num_columns_ && num_rows_ < num_columns_; ++j) {
      if (result_.col_match[j] == NONE) gap += std::abs(v[j]);
      if (may_stay_free(j)) gap += std::max(v[j], 0.0);
    }
    return gap <= LAST_DIGITS * sum;
  }
  enum class Added { NO_VALUE, NO_DUALS, TIER };

  static bool is_all_zero(const Tier& tier) {
    const auto is_zero = [](double times) { return times == 0; };
    return std::all_of(tier.rows.begin(), tier.rows.end(), is_zero) &&
           std::all_of(tier.columns.begin(), tier.columns.end(), is_zero);
  }

  // Adds a tier. Most often all large costs are one number, or nearly so.
  Added add_tier() {
    const Added added = try_value(std::max(-lowest_, highest_));
    if (added != Added::NO_VALUE) return added;
    for (const double value : values_above_gaps()) {
      const Added next = try_value(value);
      if (next != Added::NO_VALUE) return next;
    }
    return Added::NO_VALUE;
  }

  // For each gap between magnitudes that may leave room: the least magnitude above it, the largest first. Magnitudes that are too
  // small beside the largest are left out.
  std::vector<double> values_above_gaps() {
    constexpr TierScan::Exponents LARGE = 2 * static_cast<TierScan::Exponents>(TierScan::MOST_TIERS) - 1;
    const Count top = TierScan::exponent_of(std::max(-lowest_, highest_));
    const auto gap = static_cast<int>(std::log2(ROOM * (num_rows_ + 1.0)) - 1);
    TierScan::Exponents seen = 0, above = LARGE;  // a gap so far
    for (Vertex row = 0; row < num_rows_ && above != 0; ++row) {
      seen |= TierScan::find_exponents(scan(row), top, rows_.width());
      for (int k = 1; k <= gap; ++k) above &= ~(seen >> k);
    }
    std::vector<double> values;
    for (above &= seen; above != 0; above &= above - 1) values.push_back(least_of_exponent(top - first_bit(above)));
    return values;
  }
  double least_of_exponent(Count exponent) {
    double least = FAR;
    for (Vertex row = 0; row < num_rows_; ++row) {
      least = std::min(least, TierScan::least_of_exponent(scan(row), exponent, rows_.width()));
    }
    return least;
  }

  Tier tier_of(double value) { return {value, numbers(num_rows_), numbers(rows_.width())}; }
  ShortVector<double> numbers(Vertex length) { return ShortVector<double>(length, &memory_); }

  bool leaves_room(double value, double largest_rest) const { return value > ROOM * (num_rows_ + 1.0) * largest_rest; }

  // Adds a tier of this value and solves the rests, if the value leaves room for all rests and has optimal duals.
  Added try_value(double value) {
    const bool may_be = value > 0 && 1 / value < FAR && std::max(-lowest_, highest_) / value <= TierScan::MOST_TIERS;
    if (!may_be) return Added::NO_VALUE;
    // Most values that leave no room leave none in the first row. Duals whose rounding is more than the differences of rests tell
    // nothing about rests. If the rests of the first row are that small, all rests may be.
    const double rounding = EPSILON * largest_dual_;
    double largest = 0;
    for (Vertex row = 0; row < num_rows_ && (row == 0 || rounding > largest); ++row) {
      largest = std::max(largest, TierScan::largest_rest(scan(row), value, rows_.width()));
      if (!leaves_room(value, largest)) return Added::NO_VALUE;
    }
    Tier tier = tier_of(value);
    TierScan::Seen seen;
    Added added = rounding > largest ? Added::NO_DUALS : try_duals(tier, value, seen);
    if (added == Added::NO_DUALS) {
      // The least number that no sum of rests outweighs is rounded less.
      const double less = LoweredCosts::least_unit(num_rows_, std::max(largest, seen.largest()));
      if (less > 0 && less < value && solve_with(tier, less)) added = try_duals(tier, less, seen);
    }
    return added;
  }

  // Adds a tier, from duals of costs in which `unit` stands for the value.
  Added try_duals(Tier& tier, double unit, TierScan::Seen& seen) {
    find_duals(tier, unit);
    return add_by_duals(tier, unit, seen);
  }
  Added add_lowered(Tier& tier, double unit) {
    TierScan::Seen seen;
    return add_by_duals(tier, unit, seen);
  }
  Added add_by_duals(Tier& tier, double unit, TierScan::Seen& seen) {
    DualRepair<RestRows> repair = repair_of(tier, unit);
    ShortVector<double> rests = numbers(rows_.width()), pair_rests = numbers(num_rows_);
    TierScan::SeenInLanes in_lanes;
    TierScan::OfRow of_row = TierScan::of_row(tier, 0);
    bool are_left = true;  // all pairs of the solution
    for (Vertex row = 0; row < num_rows_; ++row) {
      of_row.row = tier.rows[row];
      const double least = TierScan::look(scan(row), of_row, repair.v(), rows_.width(), rests.data(), in_lanes);
      const double of_pair = rests[result_.row_match[row]];
      are_left = are_left && of_pair < FAR;
      pair_rests[row] = of_pair;
      if (are_left) repair.look_at(row, rests.data(), least);
    }
    seen = in_lanes.of_all();
    if (!leaves_room(tier.value, seen.largest())) return Added::NO_VALUE;
    const bool are_optimal = are_left && seen.least_above >= 0;
    if (!are_optimal) return Added::NO_DUALS;
    tiers_.push_back(std::move(tier));
    if (!repair.finish([&](Vertex row) { return scan(row); })) {
      tier = std::move(tiers_.back());
      tiers_.pop_back();
      return Added::NO_DUALS;
    }
    std::copy_n(repair.v(), num_columns_, result_.v);
    pair_rests_ = std::move(pair_rests);
    for (Vertex row = 0; row < num_rows_; ++row) result_.u[row] = pair_rests_[row] - result_.v[result_.row_match[row]];
    find_largest_dual();
    lowest_ = seen.least;
    has_range_ = false;
    return Added::TIER;
  }

  bool solve_with(const Tier& tier, double value) {
    const double times = std::max(-lowest_, highest_) / tier.value + 1;
    const ShortestPathOptions<double> options{-times * value, times * value, false};
    ShortestPathSolver<ReplacedRows, double> solver(ReplacedRows(rows_, tier, value), FAR, options, result_, counters_);
    if (solver.solve() != num_rows_ || !uses_what_must_be()) return false;
    find_pair_rests();
    find_largest_dual();
    return true;
  }

  // The solver does not know which columns the tiers say must be used, and may have left one free.
  bool uses_what_must_be() const {
    const std::vector<bool> must = must_be_used();
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (must[j] && result_.col_match[j] == NONE) return false;
    }
    return true;
  }

  // The duals of rests: the present duals less the tier. Columns whose duals are below 0 in a tier must be used.
  DualRepair<RestRows> repair_of(const Tier& tier, double unit) {
    // A v within the rounding of 0 is most often 0: the v of free columns, and of columns that are as good.
    const double rounding = ROUNDINGS * EPSILON * largest_dual_;
    ShortVector<double> v = numbers(rows_.width());
    for (Vertex j = 0; j < num_columns_; ++j) {
      const double rest = TierScan::rest_of_dual(result_.v[j], unit, tier.columns[j]), magnitude = std::abs(rest);
      v[j] = rounding < magnitude && magnitude < FAR ? rest : 0;
    }
    gather(v, unit);
    ShortVector<char> may_stay_free(num_rows_ < num_columns_ ? num_columns_ : 0, &memory_);
    for (std::size_t j = 0; j < may_stay_free.size(); ++j) {
      const bool may = tier.columns[j] >= 0 && this->may_stay_free(static_cast<Vertex>(j));
      may_stay_free[j] = may;
      v[j] = may ? std::min(v[j], 0.0) : v[j];
    }
    double scale = largest_magnitude(v.data(), num_columns_);
    TierScan::OfRow of_row = TierScan::of_row(tier, 0);
    for (Vertex row = 0; row < num_rows_; ++row) {
      of_row.row = tier.rows[row];
      const double rest = TierScan::find_rest(pair_rests_[row], &of_row, 1, result_.row_match[row]);
      if (rest < FAR) scale = std::max(scale, std::abs(rest));
    }
    const double tolerance = CONTRADICTS * scale;
    return {num_rows_,    num_columns_,            result_.row_match, result_.col_match,
            std::move(v), std::move(may_stay_free), tolerance};
  }

  // Some v may lie anywhere between two multiples, since no pair ties them to other v, as after an auction. Tied v lie near each
  // other. Loose ones are lowered to 0, or raised: no v needs to be farther from it than rests are.
  void gather(ShortVector<double>& v, double unit) {
    if (largest_magnitude(v.data(), num_columns_) < unit / ROOM) return;
    ShortVector<Vertex> order(num_columns_, &memory_);
    for (Vertex j = 0; j < num_columns_; ++j) order[j] = j;
    std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return v[a] > v[b]; });
    const double apart = 2 * unit / (ROOM * (num_rows_ + 1.0));
    for (Vertex begin = 0, end; begin < num_columns_; begin = end) {
      bool has_zero = false;
      double before = v[order[begin]];
      const double most = before;
      for (end = begin; end < num_columns_ && before - v[order[end]] <= apart; ++end) {
        before = v[order[end]];
        has_zero = has_zero || std::abs(before) <= apart;
      }
      for (Vertex k = begin; k < end && !has_zero; ++k) v[order[k]] -= most;
    }
  }

  void find_duals(Tier& tier, double unit) {
    const double shift = 1 - place_without_fractions(unit);
    TierScan::round_down(result_.u, num_rows_, unit, shift, 1, tier.rows.data());
    TierScan::round_down(result_.v, num_columns_, unit, shift, -1, tier.columns.data());
  }

  // The middle of the widest gap between 0 (for free columns), the fractions of u / unit, and 1. [0, 1] has as many shares as
  // there are gaps, so the widest gap lies between numbers of different shares.
  double place_without_fractions(double unit) {
    const Vertex shares = num_rows_ + 1;
    ShortVector<double> fractions = numbers(2 * shares);
    double *const least = fractions.data(), *const most = least + shares;
    std::fill_n(least, shares, 1);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double times = result_.u[row] / unit, over = times - TierScan::nearest_whole(times);
      const double fraction = over < 0 ? over + 1 : over;
      if (!(fraction >= 0)) continue;  // changed costs may have left NaN
      const Vertex share = std::min(static_cast<Vertex>(fraction * shares), num_rows_);
      least[share] = std::min(least[share], fraction);
      most[share] = std::max(most[share], fraction);
    }
    double place = 0, width = 0, before = 0;
    const auto end_gap = [&](double fraction) {
      if (fraction - before > width) {
        width = fraction - before;
        place = (fraction + before) / 2;
      }
    };
    for (Vertex share = 0; share < shares; ++share) {
      if (least[share] == 1) continue;
      end_gap(least[share]);
      before = most[share];
    }
    end_gap(1);
    return place;
  }

  const double* scan(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += num_columns_;
    poll_.spend(num_columns_);
    return rows_.entries(row);
  }

  const Vertex num_rows_, num_columns_;
  ShortMemory memory_;
  ShortVector<Tier> tiers_;
  RestRows rows_;
  double lowest_, highest_;  // of the last rests; if has_range_ is false, none is below the lowest
  bool has_range_ = true;
  const ShortestPathResult<double>& result_;
  ShortestPathCounters& counters_;
  ShortVector<double> pair_rests_;  // [num_rows] the last rests of the present pairs
  double largest_dual_ = 0;
  Poll poll_;
};
