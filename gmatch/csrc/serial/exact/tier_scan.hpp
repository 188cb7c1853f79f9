// tier_scan.hpp: passes over a row of costs that take them apart: into whole multiples of a big number, and rests.
// See serial/exact/tiers.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "serial/rows/rows.hpp"
#include "serial/rows/short_vector.hpp"

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

  static double rest_in_any_tier(double cost, const OfRow* tiers, std::size_t num_tiers) {
    for (std::size_t k = 0; k < num_tiers; ++k) cost = rest_of<1>(cost, times_of<1>(cost, tiers[k]), tiers[k]);
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

  // Whether a cost of the minimisation form is negative, but above -bound. `costs` are these costs, or minus them if NEGATED.
  template <bool NEGATED = false, class Entry>
  static bool has_negative_within(const Entry* costs, double bound, Vertex width) {
    using Pass = HasNegative<Entry, NEGATED>;
    if (width < static_cast<Vertex>(SHORTEST_ROW / sizeof(double))) {
      return Pass::template run<sizeof(double)>(costs, bound, width);
    }
    return run_in_lanes<Pass>(sizeof(double) * WIDE_FROM * width, costs, bound, width);
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

  template <class Entry, bool NEGATED>
  struct HasNegative {
    template <int BYTES>
    static ALWAYS_INLINE bool run(const Entry* costs, double bound, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector nothing = all<double, LANES>(0), far = nothing + bound;
      Vector least = far;
      each_lanes<LANES>(width, [&](Vertex j) __attribute__((always_inline)) {
        const Vector entry = load_as<double, LANES>(costs + j), below = NEGATED ? entry : -entry;
        least = lesser(least, below > nothing ? below : far);
      });
      return least_of<LANES>(least) < bound;
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
