// monge.hpp: square costs of which a diagonal is a cheapest assignment, on one core of the host.
//
// If all neighbouring rows i, i + 1 and columns j, j + 1 have
//
//   c[i][j] + c[i+1][j+1] <= c[i][j+1] + c[i+1][j]                                                        (Monge)
//
// then all other rows and columns have it, too, so that no two pairs of the main diagonal are worth exchanging: it is a cheapest
// assignment. With >= instead of <= this holds for the other diagonal. Maxima, minima, products and distances of numbers in order
// are costs of one of the two kinds. The first two rows refuse most other costs.
//
// Duals are read off the diagonal and the entries beside it. They prove the answer as duals of a search do.
//
// Hoffman, "On simple linear programming problems", Proceedings of Symposia in Pure Mathematics 7 (1963).
#pragma once
#include <limits>
#include <type_traits>
#include <utility>

#include "costs/dense.cuh"
#include "serial/rows/row_scan.hpp"
#include "serial/shortest_path.hpp"

// A pass over two neighbouring rows that proves the property, or says nothing. The property is that the differences of the rows
// do not rise. Rounding does not change differences of whole numbers, or of floats of one scale.
template <class Entry>
struct DifferencesFall {
  static bool hold(const Entry* row, const Entry* next, Vertex num_columns) {
    if (num_columns <= static_cast<Vertex>(SHORTEST_ROW / sizeof(Entry))) return false;
    return lost<1>(next[num_columns - 1], row[num_columns - 1]) == 0 &&
           run_in_lanes<DifferencesFall>(sizeof(Entry) * num_columns, row, next, num_columns);
  }

  // What rounding loses of a - b; not a number if that is infinite.
  template <int LANES>
  static ALWAYS_INLINE Lanes<Entry, LANES> lost(const Lanes<Entry, LANES>& a, const Lanes<Entry, LANES>& b) {
    const Lanes<Entry, LANES> difference = a - b, back = difference - a;
    return (a - (difference - back)) - (b + back);
  }

  template <int BYTES>
  static ALWAYS_INLINE bool run(const Entry* row, const Entry* next, Vertex num_columns) {
    constexpr int LANES = BYTES / sizeof(Entry);
    using Vector = Lanes<Entry, LANES>;
    using Bits = Lanes<WordLike<Entry>, LANES>;
    const Vector zero = all<Entry, LANES>(0);
    Vector rises = zero;
    Bits losses = (Bits)zero;
    for (Vertex j = 0; j + 1 < num_columns; j += LANES) {
      const Vertex at = j + LANES < num_columns ? j : num_columns - 1 - LANES;
      const Vector a = load<Entry, LANES>(next + at), b = load<Entry, LANES>(row + at);
      const Vector after = load<Entry, LANES>(next + at + 1) - load<Entry, LANES>(row + at + 1);
      rises = greater(rises, after - (a - b));
      losses |= (Bits)lost<LANES>(a, b);
    }
    return any_of<LANES>(losses << 1 | (Bits)(rises > zero)) == 0;  // without the signs of zeros
  }
};

// A pass over two neighbouring rows. Sums are exact: equal ones are told apart by what rounding has lost of them.
template <class Entry, class Work>
struct MongeScan {
  // Whether all neighbouring columns have the property, and no entry is infinite.
  static bool holds(const Entry* row, const Entry* next, Vertex num_columns) {
    if constexpr (std::is_floating_point_v<Entry>) {
      if (DifferencesFall<Entry>::hold(row, next, num_columns)) return true;
    }
    if (num_columns <= static_cast<Vertex>(SHORTEST_ROW / sizeof(Work))) return run<sizeof(Work)>(row, next, num_columns);
    return run_in_lanes<MongeScan>(sizeof(Work) * num_columns, row, next, num_columns);
  }

  // A sum of two numbers, and what rounding has lost of it (Knuth's TwoSum): nothing of integers.
  template <int LANES>
  struct Sum {
    Lanes<Work, LANES> rounded, lost;
  };
  template <int LANES>
  static ALWAYS_INLINE Sum<LANES> sum(const Lanes<Work, LANES>& a, const Lanes<Work, LANES>& b) {
    const Lanes<Work, LANES> rounded = a + b, back = rounded - a;
    return {rounded, (a - (rounded - back)) + (b - back)};
  }

  template <int BYTES>
  static ALWAYS_INLINE bool run(const Entry* row, const Entry* next, Vertex num_columns) {
    constexpr int LANES = BYTES / sizeof(Work);
    using Vector = Lanes<Work, LANES>;
    const Vector zero = all<Work, LANES>(0), one = all<Work, LANES>(1);
    Vector above = zero;  // by how much sums along are above sums across; not a number if an entry is infinite
    for (Vertex j = 0; j + 1 < num_columns; j += LANES) {
      const Vertex at = j + LANES < num_columns ? j : num_columns - 1 - LANES;
      const Sum<LANES> along = sum<LANES>(load_as<Work, LANES>(row + at), load_as<Work, LANES>(next + at + 1));
      const Sum<LANES> across = sum<LANES>(load_as<Work, LANES>(row + at + 1), load_as<Work, LANES>(next + at));
      const Vector rounded = along.rounded - across.rounded, exact = rounded + (along.lost - across.lost);
      above += greater(rounded, zero) + greater(exact, zero);
    }
    const Vector others = above <= zero ? zero : one;
    return -least_of<LANES>(-others) == 0;
  }
};

// Matches a square matrix by one of its diagonals, if that is a cheapest assignment by the property of Monge. Entries of a row
// lie side by side.
template <class Stored>
class Diagonal {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  explicit Diagonal(const DenseCosts<Stored>& costs)
      : costs_(costs), last_(costs.num_columns - 1), in_order_(along(0, 0, last_, last_) <= across(0, 0, last_, last_)) {}

  // A few sums of neighbours refuse most costs before a register is filled. Rounding keeps the order of sums.
  bool is_cheapest(ShortestPathCounters& counters) const {
    for (const Vertex column : {Vertex{0}, last_ - 1}) {
      const Dual one = along(0, column, 1, column + 1), other = across(0, column, 1, column + 1);
      if (in_order_ ? one > other : one < other) return false;
    }
    Poll poll;
    for (Vertex row = 0; row < last_; ++row) {
      const Stored *one = costs_.place(row, 0), *other = costs_.place(row + 1, 0);
      if (!in_order_) std::swap(one, other);
      poll.spend(costs_.num_columns);
      ++counters.rows_scanned;
      counters.entries_read += costs_.num_columns;
      if (!MongeScan<Stored, Dual>::holds(one, other, costs_.num_columns)) return false;
    }
    return true;
  }

  // v of a column is v of the column before it and the difference of their costs in the row of that one, in twice the digits.
  void write(const ShortestPathResult<Dual>& result) const {
    using Sums = MongeScan<Stored, Dual>;
    Dual v = 0, lost = 0;
    for (Vertex row = 0; row <= last_; ++row) {
      const Vertex column = column_of(row);
      result.row_match[row] = column;
      result.col_match[column] = row;
      result.v[column] = v + lost;
      result.u[row] = cost(row, column) - result.v[column];
      if (row == last_) break;
      const auto step = Sums::template sum<1>(cost(row, column_of(row + 1)), -cost(row, column));
      const auto next = Sums::template sum<1>(v, step.rounded);
      v = next.rounded;
      lost += next.lost + step.lost;
    }
  }

 private:
  // Sums of entries on either diagonal between two rows and two columns.
  Dual entry(Vertex row, Vertex column) const { return static_cast<Dual>(costs_.costs[row * costs_.row_stride + column]); }
  Dual along(Vertex row, Vertex column, Vertex end_row, Vertex end) const { return entry(row, column) + entry(end_row, end); }
  Dual across(Vertex row, Vertex column, Vertex end_row, Vertex end) const { return entry(row, end) + entry(end_row, column); }

  // Costs that are maximized have the property if their entries have the other one.
  Vertex column_of(Vertex row) const { return in_order_ != costs_.maximize ? row : last_ - row; }
  Dual cost(Vertex row, Vertex column) const { return static_cast<Dual>(costs_.at(row, column)); }

  const DenseCosts<Stored>& costs_;
  const Vertex last_;
  const bool in_order_;  // whether entries have the property as it is written above, if they have one
};

// Whether a diagonal was a cheapest assignment, by the property of Monge. Then it is the solution.
template <class Stored>
bool solve_by_diagonal(const DenseCosts<Stored>& costs, const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                       const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result, ShortestPathCounters& counters) {
  if constexpr (!IS_NARROW<Stored>) {
    if (costs.num_rows != costs.num_columns || costs.num_rows < 2 || costs.column_stride != 1) return false;
    if (costs.limit < costs.infinite() || options.start_from_duals) return false;
    if constexpr (std::numeric_limits<Stored>::is_integer) {
      constexpr Count MOST = Count{1} << 40;  // a pass adds up four times as much for each of at most 2^20 registers
      if (options.least_cost < -MOST || options.greatest_cost > MOST) return false;
    }
    const Diagonal<Stored> diagonal(costs);
    if (!diagonal.is_cheapest(counters)) return false;
    diagonal.write(result);
    return true;
  }
  return false;
}
