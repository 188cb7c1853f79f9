// slack_scan.hpp: a pass over a row that marks the pairs whose slack is small, and those whose slack is exactly 0.
#pragma once
#include <algorithm>
#include <limits>

#include "serial/rows/lanes.hpp"
#include "serial/rows/row_picks.hpp"

// cost - u - v of floats, rounded, and what it loses by rounding: u + v does (Knuth's TwoSum). It is exactly 0 only if both are 0.
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
  using Pricing = PricingScan<Entry, double, NEGATED, true>;
  static constexpr Vertex WORD = Pricing::WORD;
  // From this number of near pairs in a word on, all pairs of the word are looked at in registers.
  static constexpr Vertex MANY = 8;

  struct Row {
    const Entry* entries;
    const double* v;
    Vertex num_columns;
    double u;
  };

  // Marks the columns whose slack is at most `reach`, and those of slack 0. Each slack may be `rounding` more. Returns how far
  // slacks lie below 0 in all.
  static double mark(const Row& row, double reach, double rounding, Marks* near, Marks* tight) {
    Pricing::template mark<true>(row.entries, row.v, row.num_columns, row.u + (reach + 2 * rounding), near);
    double below = 0;
    for (Vertex word = 0; word * WORD < row.num_columns; ++word) {
      const Vertex first = word * WORD;
      const Marks listed = near[word];
      if (first + WORD <= row.num_columns && ones_of(listed) >= MANY) {
        const double least = run_in_lanes<MarkWord>(WORD * sizeof(double), row.entries + first, row.v + first, row.u,
                                                    reach + rounding, near + word, tight + word);
        if (least >= 0) continue;
      }
      near[word] = tight[word] = 0;
      for (Marks left = listed; left != 0; left &= left - 1) {
        const int k = first_bit(left);
        const SplitSlack<1> slack(cost<1>(row.entries + first + k), row.u, row.v[first + k]);
        near[word] |= static_cast<Marks>(slack.rounded <= reach + rounding) << k;
        tight[word] |= static_cast<Marks>(slack.is_zero()) << k;
        below -= std::min(slack.rounded, 0.0);
      }
    }
    return below;
  }

 private:
  template <int LANES>
  static ALWAYS_INLINE Lanes<double, LANES> cost(const Entry* entry) {
    const Lanes<double, LANES> cost = load_as<double, LANES>(entry);
    return NEGATED ? -cost : cost;
  }

  // Returns the least slack.
  struct MarkWord {
    template <int BYTES>
    static ALWAYS_INLINE double run(const Entry* entries, const double* v, double u, double reach, Marks* near, Marks* tight) {
      constexpr int LANES = BYTES / sizeof(double);
      using Hits = Lanes<IndexLike<double>, LANES>;
      Lanes<double, LANES> least = all<double, LANES>(Pricing::FAR);
      Lanes<Word, LANES> near_here{}, tight_here{};
      for (Vertex k = 0; k < WORD; k += LANES) {
        const SplitSlack<LANES> slack(cost<LANES>(entries + k), all<double, LANES>(u), load<double, LANES>(v + k));
        near_here |= bits_of<Word, LANES>(static_cast<Hits>(slack.rounded <= reach), k);
        // A sum of magnitudes is 0 only if both are.
        const auto off = (slack.rounded < 0 ? -slack.rounded : slack.rounded) + (slack.lost < 0 ? -slack.lost : slack.lost);
        tight_here |= bits_of<Word, LANES>(static_cast<Hits>(off == 0), k);
        least = lesser(least, slack.rounded);
      }
      *near = any_of<LANES>(near_here);
      *tight = any_of<LANES>(tight_here);
      return least_of<LANES>(least);
    }
  };
};
