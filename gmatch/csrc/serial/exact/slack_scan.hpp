// slack_scan.hpp: passes over a row. One marks the pairs whose slack is small, and the pairs whose slack is exactly 0. The other
// writes exact slacks.
#pragma once
#include <algorithm>
#include <limits>

#include "serial/rows/lanes.hpp"
#include "serial/rows/row_picks.hpp"
#include "serial/shortest_path.hpp"

// cost - u - v of floats, rounded, and what u + v loses by rounding (Knuth's TwoSum). The difference is exactly 0 only if both
// are 0.
template <int LANES>
struct SplitSlack {
  Lanes<double, LANES> rounded, lost;

  ALWAYS_INLINE SplitSlack(const Lanes<double, LANES>& cost, const Lanes<double, LANES>& u, const Lanes<double, LANES>& v) {
    const Lanes<double, LANES> sum = u + v, back = sum - u;
    lost = (u - (sum - back)) + (v - back);
    rounded = cost - sum;
  }
  bool is_zero() const { return rounded == 0 && lost == 0; }
};

// slack = cost - u - v
template <class Entry, bool NEGATED>
struct SlackScan {
  using Word = WordLike<double>;
  static constexpr Vertex WORD = 8 * sizeof(Word);

  struct Row {
    const Entry* entries;
    const double* v;
    Vertex num_columns;
    double u, most;  // the cost - v of a pair whose slack is small is at most `most`
  };

  // Marks the columns whose slack is at most `reach`, and the columns of slack 0, in words of WORD columns. Returns the least
  // slack.
  static double mark(const Row& row, double reach, Marks* near, Marks* tight) {
    return run_in_lanes<Mark>(row.num_columns * sizeof(double), row, reach, near, tight);
  }

  // Writes the exact slacks of the columns whose bit in `near` is set, times per_unit, a power of 2, and `forbidden` for all
  // others. Adds the bits of their magnitudes to `bits`. False if one of them is not whole. None may be 2^51 or more.
  static bool write(const Row& row, const Marks* near, double per_unit, double forbidden, double* to, Marks& bits) {
    return run_in_lanes<Write>(row.num_columns * sizeof(double), row, near, per_unit, forbidden, to, &bits);
  }

  // As above, for one pair.
  static bool write(double cost, double u, double v, double per_unit, double& to, Marks& bits) {
    const Slack<1> slack(cost, u, v, per_unit);
    to = slack.units;
    bits |= magnitude_bits<1>(slack.units);
    return slack.off == 0;
  }

 private:
  template <int LANES>
  static ALWAYS_INLINE Lanes<double, LANES> cost(const Row& row, Vertex column) {
    const Lanes<double, LANES> cost = load_as<double, LANES>(row.entries + column);
    return NEGATED ? -cost : cost;
  }
  template <int LANES>
  static ALWAYS_INLINE SplitSlack<LANES> slack(const Row& row, Vertex column) {
    return {cost<LANES>(row, column), all<double, LANES>(row.u), load<double, LANES>(row.v + column)};
  }
  // Whether a pair of some columns may be near. In most words none is, and this takes a third of the time of their slacks.
  template <int LANES>
  static ALWAYS_INLINE bool may_be_near(const Row& row, Vertex first, Vertex size) {
    Lanes<double, LANES> least = all<double, LANES>(Distance<double>::FAR);
    Vertex k = 0;
    for (; k + LANES <= size; k += LANES) {
      least = lesser(least, cost<LANES>(row, first + k) - load<double, LANES>(row.v + first + k));
    }
    bool may_be = least_of<LANES>(least) <= row.most;
    for (; k < size; ++k) may_be |= cost<1>(row, first + k) - row.v[first + k] <= row.most;
    return may_be;
  }

  struct Mark {
    template <int BYTES>
    static ALWAYS_INLINE double run(const Row row, double reach, Marks* near, Marks* tight) {
      constexpr int LANES = BYTES / sizeof(double);
      using Hits = Lanes<IndexLike<double>, LANES>;
      Lanes<double, LANES> least = all<double, LANES>(Distance<double>::FAR);
      double least_of_last = Distance<double>::FAR;
      for (Vertex first = 0; first < row.num_columns; first += WORD, ++near, ++tight) {
        const Vertex size = std::min(row.num_columns - first, WORD);
        *near = *tight = 0;
        if (!may_be_near<LANES>(row, first, size)) continue;
        Lanes<Word, LANES> near_here{}, tight_here{};
        Vertex k = 0;
        for (; k + LANES <= size; k += LANES) {
          const SplitSlack<LANES> here = slack<LANES>(row, first + k);
          near_here |= bits_of<Word, LANES>(static_cast<Hits>(here.rounded <= reach), k);
          // A sum of magnitudes is 0 only if both are.
          const auto off = (here.rounded < 0 ? -here.rounded : here.rounded) + (here.lost < 0 ? -here.lost : here.lost);
          tight_here |= bits_of<Word, LANES>(static_cast<Hits>(off == 0), k);
          least = lesser(least, here.rounded);
        }
        *near = any_of<LANES>(near_here);
        *tight = any_of<LANES>(tight_here);
        for (; k < size; ++k) {
          const SplitSlack<1> here = slack<1>(row, first + k);
          *near |= static_cast<Marks>(here.rounded <= reach) << k;
          *tight |= static_cast<Marks>(here.is_zero()) << k;
          least_of_last = std::min(least_of_last, here.rounded);
        }
      }
      return std::min(least_of<LANES>(least), least_of_last);
    }
  };

  // The exact slack of a pair is a sum of three numbers (Knuth's TwoSum, twice). All three must be whole numbers of units.
  template <int LANES>
  struct Slack {
    Lanes<double, LANES> units, off;  // `off` is not 0 if a number is not whole

    ALWAYS_INLINE Slack(const Lanes<double, LANES>& cost, const Lanes<double, LANES>& u, const Lanes<double, LANES>& v,
                        double per_unit)
        : units{}, off{} {
      const Lanes<double, LANES> less_u = cost - u, back = less_u - cost, slack = less_u - v, back_v = slack - less_u;
      add(slack, per_unit);
      add((cost - (less_u - back)) - (u + back), per_unit);
      add((less_u - (slack - back_v)) - (v + back_v), per_unit);
    }
    ALWAYS_INLINE void add(const Lanes<double, LANES>& number, double per_unit) {
      constexpr double ROUNDS = 0x1.8p52;  // a sum with this number is whole
      const Lanes<double, LANES> whole = (number * per_unit + ROUNDS) - ROUNDS;
      units += whole;
      off = whole * (1 / per_unit) == number ? off : all<double, LANES>(1);  // a product may be too small for a float
    }
  };

  // The bits of whole magnitudes below 2^52.
  template <int LANES>
  static ALWAYS_INLINE Lanes<Word, LANES> magnitude_bits(const Lanes<double, LANES>& numbers) {
    // The last bits of 2^52 + a whole number are that number.
    const Lanes<double, LANES> with_exponent = (numbers < 0 ? -numbers : numbers) + 0x1p52;
    Lanes<Word, LANES> words;
    __builtin_memcpy(&words, &with_exponent, sizeof words);
    return words & ((Word{1} << 52) - 1);
  }

  struct Write {
    template <int BYTES>
    static ALWAYS_INLINE bool run(const Row row, const Marks* near, double per_unit, double forbidden, double* to, Marks* bits) {
      constexpr int LANES = BYTES / sizeof(double);
      using Words = Lanes<Word, LANES>;
      Words seen{};
      Lanes<double, LANES> off{};
      const Lanes<double, LANES> none{}, u = all<double, LANES>(row.u);
      Vertex j = 0;
      for (; j + LANES <= row.num_columns; j += LANES) {
        const Slack<LANES> here(cost<LANES>(row, j), u, load<double, LANES>(row.v + j), per_unit);
        const auto is_near = (all<Word, LANES>(near[j / WORD] >> j % WORD) >> numbered<Word, LANES>() & 1) != 0;
        const Lanes<double, LANES> units = is_near ? here.units : none;
        off = greater(off, is_near ? here.off : none);
        store(to + j, is_near ? units : all<double, LANES>(forbidden));
        seen |= magnitude_bits<LANES>(units);
      }
      bool are_whole = !(-least_of<LANES>(-off) > 0);
      *bits |= any_of<LANES>(seen);
      for (; j < row.num_columns; ++j) {
        to[j] = forbidden;
        if (!(near[j / WORD] >> j % WORD & 1)) continue;
        are_whole &= write(cost<1>(row, j), row.u, row.v[j], per_unit, to[j], *bits);
      }
      return are_whole;
    }
  };
};
