// slack_scan.hpp: a pass over a row that marks the pairs whose slack is small, and the pairs whose slack is exactly 0.
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
};
