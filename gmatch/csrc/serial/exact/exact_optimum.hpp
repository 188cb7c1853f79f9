// exact_optimum.hpp: the exactly cheapest assignment of floats, in integers of 128 bits, on one processor.
//
// Duals of floats are rounded. If costs lie far apart, rounding may hide what pairs cost. If several assignments are cheapest, or
// nearly so, rounded duals do not tell which. So costs become whole multiples of the last binary place that any of them has.
// The search starts from v of a solution in floats, and few rows have to be matched anew: by shortest paths, as in
// serial/shortest_path.hpp, without its vectors. The duals are exact, and tell which pairs are tight. gmatch/assignment/exact.py
// finds the exact optimum of any costs, in integers of Python.
//
// Costs may change while they are read, if another thread writes to the caller's array. Then the answer may be wrong, but no
// address is, and all loops end.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "serial/exact/named_rows.hpp"
#include "serial/rows/rows.hpp"

__extension__ typedef __int128 Wide;

// A float is `whole` times two to the power `exponent`.
struct WholeAndExponent {
  Count whole;
  int exponent;

  static WholeAndExponent of(double number) {
    unsigned long long bits;
    std::memcpy(&bits, &number, sizeof bits);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const auto fraction = static_cast<Count>(bits & ((1ULL << 52) - 1));
    const Count whole = exponent == 0 ? fraction : fraction | Count{1} << 52;
    return {number < 0 ? -whole : whole, std::max(exponent, 1) - 1075};
  }
  // The bits of the magnitude, and the zeros at its end. It must not be 0.
  int num_bits() const { return 64 - __builtin_clzll(magnitude()); }
  int num_zeros() const { return __builtin_ctzll(magnitude()); }

 private:
  unsigned long long magnitude() const { return static_cast<unsigned long long>(whole < 0 ? -whole : whole); }
};

// Rows of floats, made integers of 128 bits. `Rows` are rows of doubles, as the serial solvers scan them.
template <class Rows>
class ExactOptimum {
 public:
  // Costs above `limit` are cut off there: each row has a way out at the limit.
  ExactOptimum(Rows rows, double limit)
      : num_rows_(rows.num_rows()), num_columns_(rows.num_columns()), rows_(std::move(rows)), limit_(limit) {}

  // Makes a solution exactly the cheapest, and its duals the floats nearest to exact ones. False if 128 bits leave no room for
  // sums of costs, or if there is no assignment. The solution is then as it was. Its v may be any numbers.
  bool find(const ShortestPathResult<double>& result) {
    if (!find_unit()) return false;
    start_from(result);
    free_what_is_not_tight();
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (row_match_[row] == NONE && !augment(row)) return false;
    }
    write(result);
    return true;
  }

  // After find, without a limit: makes the solution the one that the rule for ties names, and counts the rows that had a choice.
  void settle(const ShortestPathResult<double>& result, bool columns_first, Count& with_choice) {
    TiedRows tied(num_rows_, num_columns_, result.row_match);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double* costs = scan(row);
      for (Vertex j = 0; j < num_columns_; ++j) {
        if (is_allowed(costs[j]) && wide(costs[j]) - v_[j] == u_[row]) tied.add(row, j);
      }
    }
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (num_rows_ < num_columns_ && v_[j] == 0) tied.let_leave(j);
    }
    NamedRows(tied, num_columns_, result.row_match).settle(columns_first, result.col_match, with_choice);
  }

 private:
  static constexpr Vertex WAY_OUT = NONE - 1;
  static constexpr int BITS = 126;  // one is the sign, and one is kept for FAR
  static constexpr Wide FAR = Wide{1} << BITS;

  bool has_limit() const { return limit_ < Distance<double>::FAR; }
  bool columns_may_stay_free() const { return num_rows_ < num_columns_ || has_limit(); }
  // A pair at the limit is as expensive as the way out.
  bool is_allowed(double cost) const { return cost < limit_; }

  const double* scan(Vertex row) {
    poll_.spend(num_columns_);
    return rows_.entries(row);
  }

  // The last binary place of any cost; false if the places of sums do not fit.
  bool find_unit() {
    int least = 2048, most = -2048;
    const auto add = [&](double cost) {
      if (cost == 0) return;
      const WholeAndExponent parts = WholeAndExponent::of(cost);
      least = std::min(least, parts.exponent + parts.num_zeros());
      most = std::max(most, parts.exponent + parts.num_bits());
    };
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double* costs = scan(row);
      for (Vertex j = 0; j < num_columns_; ++j) {
        if (is_allowed(costs[j])) add(costs[j]);
      }
    }
    if (has_limit()) add(limit_);
    if (least > most) least = most = 0;  // all costs are 0
    unit_ = least;
    cost_bits_ = most - least;
    // Duals may spread along a path of all pairs, which adds as many costs and duals.
    const int bits_of_sums = std::ilogb(32 + 8.0 * (Count{num_rows_} + num_columns_)) + 1;
    dual_bits_ = cost_bits_ + bits_of_sums;
    return dual_bits_ + bits_of_sums < BITS;
  }

  // A number in the unit, rounded down; its magnitude is at most 2**bits.
  Wide in_unit(double number, int bits) const {
    const WholeAndExponent parts = WholeAndExponent::of(number);
    if (parts.whole == 0) return 0;
    const int shift = parts.exponent - unit_;
    if (shift < 0) return parts.whole >> std::min(-shift, 63);
    if (parts.num_bits() + shift <= bits) return parts.whole * (Wide{1} << shift);
    return parts.whole < 0 ? -(Wide{1} << bits) : Wide{1} << bits;
  }
  Wide wide(double cost) const { return in_unit(cost, cost_bits_); }

  // The nearest float. By halves, since not all compilers have the function that converts 128 bits.
  double nearest(Wide number) const {
    const bool is_negative = number < 0;
    if (is_negative) number = -number;
    int exponent = unit_;
    // The lowest bit stands for all bits that are cut off.
    while (number >> 63 != 0) {
      const int shift = number >> 95 != 0 ? 32 : 1;
      number = number >> shift | static_cast<Wide>((number & ((Wide{1} << shift) - 1)) != 0);
      exponent += shift;
    }
    const double magnitude = std::ldexp(static_cast<double>(static_cast<Count>(number)), exponent);
    return is_negative ? -magnitude : magnitude;
  }

  void start_from(const ShortestPathResult<double>& result) {
    u_.assign(num_rows_, 0);
    v_.assign(num_columns_, 0);
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (!std::isfinite(result.v[j])) continue;
      const Wide v = in_unit(result.v[j], dual_bits_);
      v_[j] = columns_may_stay_free() ? std::min(v, Wide{0}) : v;
    }
    row_match_.assign(num_rows_, NONE);
    col_match_.assign(num_columns_, NONE);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Vertex column = result.row_match[row];
      if (column < 0 || column >= num_columns_ || col_match_[column] != NONE) continue;
      row_match_[row] = column;
      col_match_[column] = row;
    }
  }

  // Frees rows whose pair is not the best by v. If columns may stay free, v of free columns must be 0. So v of a column that is
  // freed is raised to 0, once, and other pairs may then no longer be the best.
  void free_what_is_not_tight() {
    bool is_done = false;
    while (!is_done) {
      is_done = true;
      for (Vertex j = 0; j < num_columns_ && columns_may_stay_free(); ++j) {
        if (col_match_[j] == NONE) v_[j] = 0;
      }
      for (Vertex row = 0; row < num_rows_; ++row) {
        u_[row] = best_of(row);
        const Vertex column = row_match_[row];
        if (column == NONE || of_pair(row, column) == u_[row]) continue;
        row_match_[row] = col_match_[column] = NONE;
        is_done = is_done && !(columns_may_stay_free() && v_[column] < 0);
      }
    }
  }
  Wide best_of(Vertex row) {
    const double* costs = scan(row);
    Wide best = has_limit() ? wide(limit_) : FAR;
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (is_allowed(costs[j])) best = std::min(best, wide(costs[j]) - v_[j]);
    }
    return best;
  }
  // The cost - v of a pair; FAR if it is forbidden.
  Wide of_pair(Vertex row, Vertex column) {
    const double cost = rows_.at(row, column);
    return is_allowed(cost) ? wide(cost) - v_[column] : FAR;
  }

  // Dijkstra's method from a free row, then the path is flipped. False if there is no path.
  bool augment(Vertex root) {
    distance_.assign(num_columns_, FAR);
    before_.assign(num_columns_, NONE);
    is_in_tree_.assign(num_columns_, false);
    tree_.clear();
    Wide level = 0, out_distance = FAR;
    Vertex row_out = root, end = NONE;
    for (Vertex row = root; end == NONE;) {
      const Wide offset = row == root ? 0 : of_pair(row, row_match_[row]) - level;
      if (row != root && of_pair(row, row_match_[row]) == FAR) return false;  // only if costs have changed
      if (has_limit() && wide(limit_) - offset < out_distance) {
        out_distance = wide(limit_) - offset;
        row_out = row;
      }
      relax(row, offset);
      const Vertex nearest = find_nearest();
      const Wide distance = nearest == NONE ? FAR : distance_[nearest];
      if (out_distance < distance) {
        level = out_distance;
        end = WAY_OUT;
      } else if (nearest == NONE) {
        return false;
      } else {
        level = distance;
        is_in_tree_[nearest] = true;
        if (col_match_[nearest] == NONE) end = nearest;
        else tree_.push_back(nearest);
        row = col_match_[nearest];
      }
    }
    for (const Vertex column : tree_) v_[column] -= level - distance_[column];
    if (end != WAY_OUT) {
      hand_on(end, before_[end]);
    } else {
      const Vertex column = std::exchange(row_match_[row_out], NONE);
      if (column != NONE) hand_on(column, before_[column]);
    }
    return true;
  }
  void relax(Vertex row, Wide offset) {
    const double* costs = scan(row);
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (is_in_tree_[j] || !is_allowed(costs[j])) continue;
      const Wide distance = wide(costs[j]) - v_[j] - offset;
      if (distance < distance_[j]) {
        distance_[j] = distance;
        before_[j] = row;
      }
    }
  }
  // The nearest column outside the tree; a free one if several are nearest, and NONE if none can be reached.
  Vertex find_nearest() const {
    Vertex nearest = NONE;
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (is_in_tree_[j] || distance_[j] == FAR) continue;
      const bool is_nearer = nearest == NONE || distance_[j] < distance_[nearest];
      if (is_nearer || (distance_[j] == distance_[nearest] && col_match_[j] == NONE)) nearest = j;
    }
    return nearest;
  }
  void hand_on(Vertex column, Vertex row) {
    while (column != NONE) {
      col_match_[column] = row;
      column = std::exchange(row_match_[row], column);
      if (column != NONE) row = before_[column];
    }
  }

  // Rows that are out take any free column.
  void write(const ShortestPathResult<double>& result) {
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Vertex column = row_match_[row];
      u_[row] = column == NONE ? wide(limit_) : of_pair(row, column);
      result.u[row] = nearest(u_[row]);
    }
    for (Vertex j = 0; j < num_columns_; ++j) result.v[j] = nearest(v_[j]);
    Vertex free = 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (row_match_[row] != NONE) continue;
      while (col_match_[free] != NONE) ++free;
      row_match_[row] = free;
      col_match_[free] = row;
    }
    std::copy_n(row_match_.data(), num_rows_, result.row_match);
    std::copy_n(col_match_.data(), num_columns_, result.col_match);
  }

  const Vertex num_rows_, num_columns_;
  Rows rows_;
  const double limit_;
  int unit_ = 0, cost_bits_ = 0, dual_bits_ = 0;
  std::vector<Wide> u_, v_, distance_;
  std::vector<Vertex> row_match_, col_match_, before_, tree_;
  std::vector<bool> is_in_tree_;
  Poll poll_;
};
