// slack_search.hpp: a cheapest assignment of a square matrix, from one that is the cheapest up to the rounding of its duals.
//
// An assignment is cheapest by its costs if it is cheapest by its slacks. The slacks of near pairs are as small as the roundings
// of duals, so that duals of slacks round by far less. A search from the present pairs takes a few passes over the slacks. Old
// and new duals, added up, prove the answer up to the last digits of a sum. gmatch/assignment/turns.py does this for lists of
// pairs.
//
// Gleixner, Steffy, Wolter, "Iterative refinement for linear programming", INFORMS Journal on Computing 28 (2016).
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "serial/exact/tier_scan.hpp"
#include "serial/stored_shortest_paths.hpp"

// Slacks of a row: cost - u - v, rounded.
class SlackRow {
 public:
  const double* costs;
  const double* v;
  double u;
  Vertex num_columns;

  // Writes the slacks; FAR for forbidden pairs.
  void write(double* slacks) const { run_in_lanes<Write>(SHORTEST_ROW, this, slacks); }
  // By how much the least slack - more[j] may lie below `own`, the slack - more of the row's pair; at least 0. What rounding
  // loses of `own` is not counted, what it loses of the others is. FAR if a difference overflows.
  double largest_gap(const double* more, const TierScan::Difference<1>& own) const {
    return run_in_lanes<Gap>(SHORTEST_ROW, this, more, own);
  }
  // A bound of what rounding has lost of `own`, the slack - more of the pair in this column.
  double lost_of(Vertex column, const TierScan::Difference<1>& own) const { return lost<1>(slack<1>(column), own); }

 private:
  static constexpr double FAR = Distance<double>::FAR;

  template <int LANES>
  struct Slack {
    Lanes<double, LANES> rounded, lost;
  };
  template <int LANES>
  static ALWAYS_INLINE Lanes<double, LANES> magnitude(const Lanes<double, LANES>& number) {
    return number < 0 ? -number : number;
  }
  // Each difference is exact, with what it loses. Only the losses' own sum, and its sum with the difference, are rounded.
  template <int LANES>
  ALWAYS_INLINE Slack<LANES> slack(Vertex column) const {
    const Lanes<double, LANES> cost = load<double, LANES>(costs + column), far = all<double, LANES>(FAR);
    const auto less_u = TierScan::difference<LANES>(cost, all<double, LANES>(u));
    const auto less_v = TierScan::difference<LANES>(less_u.rounded, load<double, LANES>(v + column));
    const auto losses = TierScan::difference<LANES>(less_u.lost, -less_v.lost);
    const auto sum = TierScan::difference<LANES>(less_v.rounded, -losses.rounded);
    const Lanes<double, LANES> lost = magnitude<LANES>(sum.lost) + magnitude<LANES>(losses.lost);
    return {cost < far ? sum.rounded : far, cost < far ? lost : all<double, LANES>(0)};
  }
  // A difference of two numbers of twice the digits is exact, but for the difference of their last digits.
  template <int LANES>
  static ALWAYS_INLINE Lanes<double, LANES> lost(const Slack<LANES>& slack, const TierScan::Difference<LANES>& reduced) {
    constexpr double ROUNDING = 0x1p-50;
    return slack.lost + ROUNDING * magnitude<LANES>(reduced.lost);
  }
  template <int LANES>
  ALWAYS_INLINE Lanes<double, LANES> gap(Vertex column, const double* more, const TierScan::Difference<1>& own) const {
    const Slack<LANES> here = slack<LANES>(column);
    const auto reduced = TierScan::difference<LANES>(here.rounded, load<double, LANES>(more + column));
    const Lanes<double, LANES> gap = (own.rounded - reduced.rounded) + (own.lost - reduced.lost) + lost<LANES>(here, reduced);
    return load<double, LANES>(costs + column) < FAR ? gap : all<double, LANES>(0);
  }

  struct Write {
    template <int BYTES>
    static ALWAYS_INLINE void run(const SlackRow* given, double* slacks) {
      constexpr int LANES = BYTES / sizeof(double);
      const SlackRow row = *given;
      Vertex j = 0;
      for (; j + LANES <= row.num_columns; j += LANES) store(slacks + j, row.slack<LANES>(j).rounded);
      for (; j < row.num_columns; ++j) slacks[j] = row.slack<1>(j).rounded;
    }
  };
  struct Gap {
    template <int BYTES>
    static ALWAYS_INLINE double run(const SlackRow* given, const double* more, TierScan::Difference<1> own) {
      constexpr int LANES = BYTES / sizeof(double);
      const SlackRow row = *given;
      Lanes<double, LANES> largest = all<double, LANES>(0);
      Lanes<Count, LANES> others = all<Count, LANES>(0);  // infinite gaps, and gaps that are no numbers
      Vertex j = 0;
      for (; j + LANES <= row.num_columns; j += LANES) {
        const Lanes<double, LANES> here = row.gap<LANES>(j, more, own);
        largest = greater(largest, here);
        others |= ~(Lanes<Count, LANES>)(here < FAR);
      }
      double of_row = -least_of<LANES>(-largest);
      bool is_finite = any_of<LANES>(others) == 0;
      for (; j < row.num_columns; ++j) {
        const double here = row.gap<1>(j, more, own);
        of_row = std::max(of_row, here);
        is_finite = is_finite && here < FAR;
      }
      return is_finite ? of_row : FAR;
    }
  };
};

// `Rows` are rows of doubles, as the serial solvers scan them. There are as many columns as rows.
template <class Rows>
class SlackSearch {
 public:
  SlackSearch(Rows& rows, const ShortestPathResult<double>& result, ShortestPathCounters& counters)
      : size_(rows.num_rows()),
        rows_(rows),
        result_(result),
        counters_(counters),
        slacks_(new (std::nothrow) double[Count{size_} * size_]),
        u_(size_),
        v_(size_),
        row_match_(result.row_match, result.row_match + size_),
        col_match_(size_) {}

  // Makes a solution the cheapest up to `most_gap`, and its duals the floats nearest to duals that prove it. False if the duals
  // prove less: the solution is then as it was.
  bool solve(double most_gap) {
    if (slacks_ == nullptr) return false;  // lists of pairs need less memory
    for (Vertex row = 0; row < size_; ++row) slacks_of(row).write(slacks_.get() + Count{row} * size_);
    const DenseCosts<double> slacks{size_, size_, slacks_.get(), size_, 1, false, DenseCosts<double>::infinite()};
    constexpr double LARGEST = std::numeric_limits<double>::max();
    const ShortestPathOptions<double> options{-LARGEST, LARGEST, true};
    const ShortestPathResult<double> found{u_.data(), v_.data(), row_match_.data(), col_match_.data()};
    if (solve_as_stored(slacks, options, found, counters_) != size_ || !(gap() <= most_gap)) return false;
    for (Vertex k = 0; k < size_; ++k) {
      result_.u[k] += u_[k];
      result_.v[k] += v_[k];
    }
    std::copy(row_match_.begin(), row_match_.end(), result_.row_match);
    std::copy(col_match_.begin(), col_match_.end(), result_.col_match);
    return true;
  }

 private:
  static constexpr double ROUNDINGS = 1 + 0x1p-32;  // of a sum of positive numbers

  SlackRow slacks_of(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += size_;
    poll_.spend(size_);
    return {rows_.entries(row), result_.v, result_.u[row], size_};
  }

  // A bound of the sum over all rows: the slack of the row's pair by the old and new duals, less the least slack of the row.
  double gap() {
    double sum = 0;
    for (Vertex row = 0; row < size_; ++row) {
      const SlackRow slacks = slacks_of(row);
      const Vertex column = row_match_[row];
      const auto own = TierScan::difference<1>(slacks_[Count{row} * size_ + column], v_[column]);
      sum += slacks.largest_gap(v_.data(), own) + slacks.lost_of(column, own);
    }
    return ROUNDINGS * sum;
  }

  const Vertex size_;
  Rows& rows_;
  const ShortestPathResult<double>& result_;
  ShortestPathCounters& counters_;
  const std::unique_ptr<double[]> slacks_;  // [size * size]
  std::vector<double> u_, v_;               // [size] duals of the slacks
  std::vector<Vertex> row_match_, col_match_;
  Poll poll_;
};
