// slack_search.hpp: a cheapest assignment of a matrix, from one that is the cheapest up to the rounding of its duals.
//
// An assignment is the cheapest by its costs if it is the cheapest by its slacks. The slacks of near pairs are as small as the
// roundings of duals, so that duals of slacks round by far less. A search from the present pairs takes a few passes over the
// slacks. The sums of old and new duals prove the answer up to the last digits of what the pairs cost in sum.
// gmatch/assignment/turns.py does this for lists of pairs, in several turns.
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
  // By how much the least slack[j] - more[j] of a row may lie below `own`, which is that difference for the row's pair. At least
  // 0. What rounding loses of the differences is counted, except of `own`. FAR if a difference overflows.
  double largest_gap(const double* more, const TierScan::Difference<1>& own) const {
    return run_in_lanes<Gap>(SHORTEST_ROW, this, more, own);
  }
  // A bound of what rounding has lost of `own`, the difference of the pair in this column.
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
  // Each difference is exact together with what it loses. Only the sum of the losses is rounded, and the sum of that and the
  // difference.
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
  // A bound of what rounding has lost of a difference of two numbers of twice the digits: only their last digits are rounded.
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

// Searches the slacks of a matrix. `Rows` are rows of doubles, as the serial solvers scan them. If there are more columns than
// rows, rows are added that take the columns that stay free. The slack of an added row in a column is minus the dual of the
// column.
template <class Rows>
class SlackSearch {
 public:
  // Columns stay free only if their `may_stay_free` is true.
  SlackSearch(Rows& rows, const std::vector<bool>& may_stay_free, const ShortestPathResult<double>& result,
              ShortestPathCounters& counters)
      : num_rows_(rows.num_rows()),
        size_(rows.num_columns()),
        rows_(rows),
        may_stay_free_(may_stay_free),
        result_(result),
        counters_(counters),
        slacks_(new (std::nothrow) double[Count{size_} * size_]),
        of_added_(size_),
        u_(size_),
        v_(size_),
        row_match_(size_),
        col_match_(size_) {}

  // Makes a solution the cheapest up to `most_gap`, and rounds duals that prove it to floats. False if the duals prove less: the
  // solution is then as it was. Takes 8 bytes for each pair of a column with a row or an added row.
  bool solve(double most_gap) {
    if (slacks_ == nullptr) return false;  // lists of pairs need less memory
    std::copy_n(result_.row_match, num_rows_, row_match_.begin());
    Vertex next = num_rows_;
    for (Vertex j = 0; j < size_; ++j) {
      of_added_[j] = may_stay_free_[j] ? 0 : Distance<double>::FAR;
      if (result_.col_match[j] == NONE) row_match_[next++] = j;
    }
    if (next != size_) return false;  // another thread has changed the costs
    for (Vertex row = 0; row < size_; ++row) slacks_of(row).write(slacks_.get() + Count{row} * size_);
    const DenseCosts<double> slacks{size_, size_, slacks_.get(), size_, 1, false, DenseCosts<double>::infinite()};
    constexpr double LARGEST = std::numeric_limits<double>::max();
    const ShortestPathOptions<double> options{-LARGEST, LARGEST, true};
    const ShortestPathResult<double> found{u_.data(), v_.data(), row_match_.data(), col_match_.data()};
    if (solve_as_stored(slacks, options, found, counters_) != size_ || !(gap() <= most_gap)) return false;
    if (!has_duals_of_free_columns()) return false;
    write();
    return true;
  }

 private:
  static constexpr double ROUNDINGS = 1 + 0x1p-32;  // allows for the roundings of a sum of numbers that are not negative

  SlackRow slacks_of(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += size_;
    poll_.spend(size_);
    if (row >= num_rows_) return {of_added_.data(), result_.v, 0, size_};
    return {rows_.entries(row), result_.v, result_.u[row], size_};
  }

  // A bound of the gap: the sum over all rows of the slack of the row's pair, by the old and new duals, less the row's least
  // slack.
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

  void write() {
    for (Vertex row = 0; row < num_rows_; ++row) {
      result_.u[row] += u_[row] + greatest_v_;
      result_.row_match[row] = row_match_[row];
    }
    for (Vertex j = 0; j < size_; ++j) {
      result_.v[j] = (result_.v[j] + v_[j]) - greatest_v_;
      result_.col_match[j] = col_match_[j] < num_rows_ ? col_match_[j] : NONE;
    }
  }
  // If columns may stay free, write() moves the greatest of their v to 0. In exact numbers all columns that stay free have that
  // v. False if roundings make one of their v smaller: small costs may be smaller than these roundings.
  bool has_duals_of_free_columns() {
    if (num_rows_ == size_) return true;
    greatest_v_ = -Distance<double>::FAR;
    for (Vertex j = 0; j < size_; ++j) {
      if (may_stay_free_[j]) greatest_v_ = std::max(greatest_v_, result_.v[j] + v_[j]);
    }
    for (Vertex row = num_rows_; row < size_; ++row) {
      if (result_.v[row_match_[row]] + v_[row_match_[row]] != greatest_v_) return false;
    }
    return true;
  }

  const Vertex num_rows_, size_;
  Rows& rows_;
  const std::vector<bool>& may_stay_free_;  // [size]
  const ShortestPathResult<double>& result_;
  ShortestPathCounters& counters_;
  const std::unique_ptr<double[]> slacks_;  // [size * size]
  std::vector<double> of_added_;            // [size] what pairs of added rows cost
  std::vector<double> u_, v_;               // [size] duals of the slacks
  std::vector<Vertex> row_match_, col_match_;
  double greatest_v_ = 0;                   // the greatest v of a column that may stay free
  Poll poll_;
};
