// diagonal.cuh: a diagonal of a square matrix as the pairs to start from, where it may be a cheapest assignment.
//
// If all neighbouring rows i, i + 1 and columns j, j + 1 have
//
//   c[i][j] + c[i+1][j+1] <= c[i][j+1] + c[i+1][j]                                                        (Monge)
//
// then the main diagonal is a cheapest assignment, and with >= the other one. serial/monge.hpp says why. Here a difference
// that rounding explains is let pass. Pairs and duals are only a start: the search mends them, and repricing proves them.
//
// Hoffman, "On simple linear programming problems", Proceedings of Symposia in Pure Mathematics 7 (1963).
#pragma once
#include "assignment/start.cuh"
#include "costs/dense.cuh"

template <class Stored>
class DiagonalStart {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  explicit DEVICE DiagonalStart(const DenseCosts<Stored>& costs)
      : costs_(costs), last_(costs.num_columns - 1), in_order_(!is_above(sums_of(0, last_, 0, last_))) {}

  // Writes the pairs and v, if neighbours have the property of Monge. All threads of the team learn whether they have.
  template <class Team>
  DEVICE bool take(Team& team, const Matching& matching, Dual* v) const {
    if (team.any(!holds_at_places(team)) || team.any(!holds(team))) return false;
    team.each(last_ + Count{1}, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i), column = column_of(row);
      matching.row_match[row] = column;
      matching.col_match[column] = row;
      v[column] = row == 0 ? 0 : costs_.at(row - 1, column) - costs_.at(row - 1, column_of(row - 1));
    });
    team.sync();
    if (team.rank() == 0) add_up(v);
    team.sync();
    return true;
  }

 private:
  // Nearly all costs without the property lack it at one of 256 places. A pass over the matrix refuses the others:
  // benchmarks/log/core_gpu.md, "A diagonal to start from".
  static constexpr int PLACES = 256;

  struct Sums {
    Dual along, across;
  };
  DEVICE Sums sums_of(Vertex row, Vertex end_row, Vertex column, Vertex end) const {
    return {costs_.at(row, column) + costs_.at(end_row, end), costs_.at(row, end) + costs_.at(end_row, column)};
  }
  static DEVICE bool is_above(const Sums& sums) { return sums.along > sums.across; }

  // Whether the four pairs of this row, this column and the next ones have the property, and none of them is forbidden.
  DEVICE bool holds_at(Vertex row, Vertex column) const {
    const Sums sums = sums_of(row, row + 1, column, column + 1);
    if (is_forbidden(sums.along) || is_forbidden(sums.across)) return false;
    return is_above(sums) != in_order_ || is_rounding(sums.along - sums.across, sums.along, sums.across);
  }

  template <class Team>
  DEVICE bool holds_at_places(const Team& team) const {
    bool all = true;
    for (unsigned place = team.rank(); place < PLACES; place += team.size()) {
      // Odd factors spread the numbers of places over 32 bits.
      const unsigned for_row = place * 0x9e3779b9u, for_column = (place + PLACES) * 0x85ebca6bu;
      all &= holds_at(static_cast<Vertex>(for_row % last_), static_cast<Vertex>(for_column % last_));
    }
    return all;
  }

  template <class Team>
  DEVICE bool holds(const Team& team) const {
    bool all = true;
    team.each_group(last_, [&](Count row) {
      for (Count column = team.lane(); all && column < last_; column += team.lanes()) {
        all = holds_at(static_cast<Vertex>(row), static_cast<Vertex>(column));
      }
    });
    return all;
  }

  // Makes v of steps, by sums. What rounding loses is added up, too (Knuth's TwoSum).
  DEVICE void add_up(Dual* v) const {
    Dual sum = 0, lost = 0;
    for (Vertex row = 1; row <= last_; ++row) {
      Dual& cell = v[column_of(row)];
      const Dual step = cell, next = sum + step, back = next - sum;
      lost += (sum - (next - back)) + (step - back);
      sum = next;
      cell = sum + lost;
    }
  }

  DEVICE Vertex column_of(Vertex row) const { return in_order_ ? row : last_ - row; }

  const DenseCosts<Stored>& costs_;
  const Vertex last_;
  const bool in_order_;  // if a diagonal is a cheapest assignment, whether it is the main one
};
