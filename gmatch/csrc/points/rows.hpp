// rows.hpp: what pairs of points of any number of coordinates cost, one by one or a row at a time, to the bit as metrics.hpp
// states it; and the best entries of a row of keys.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "serial/rows/lanes.hpp"

namespace points {

// One term of a sum, and what becomes of the sum.
struct SquaredTerms {
  template <class Number>
  static ALWAYS_INLINE Number add(const Number& sum, const Number& x, const Number& y) {
    const Number t = x - y;
    return sum + t * t;
  }
  static double end(double sum) { return sum; }
};
struct RootOfSquaredTerms : SquaredTerms {
  static double end(double sum) { return std::sqrt(sum); }
};
struct AbsoluteTerms {
  template <class Number>
  static ALWAYS_INLINE Number add(const Number& sum, const Number& x, const Number& y) {
    const Number t = x - y;
    return sum + greater(t, Number(-t));
  }
  static double end(double sum) { return sum; }
};
struct LargestTerm {
  template <class Number>
  static ALWAYS_INLINE Number add(const Number& sum, const Number& x, const Number& y) {
    const Number t = x - y;
    return greater(sum, greater(t, Number(-t)));
  }
  static double end(double sum) { return sum; }
};
template <int BASE>
struct Products {
  template <class Number>
  static ALWAYS_INLINE Number add(const Number& sum, const Number& x, const Number& y) {
    return sum + x * y;
  }
  static double end(double sum) { return BASE - sum; }
};

// What pairs cost; x and y lie row by row. Several pairs are summed at a time, since each sum waits for its last term.
template <class Terms>
void costs_of_pairs(const double* x, const double* y, std::size_t dimension, const long long* rows, const long long* columns,
                    std::size_t num_pairs, double* costs) {
  constexpr std::size_t TOGETHER = 8;
  for (std::size_t first = 0; first < num_pairs; first += TOGETHER) {
    const std::size_t size = std::min(TOGETHER, num_pairs - first);
    const double *xs[TOGETHER], *ys[TOGETHER];
    double sums[TOGETHER] = {};
    for (std::size_t p = 0; p < TOGETHER; ++p) {
      const std::size_t pair = first + std::min(p, size - 1);
      xs[p] = x + rows[pair] * dimension;
      ys[p] = y + columns[pair] * dimension;
    }
    for (std::size_t k = 0; k < dimension; ++k) {
      for (std::size_t p = 0; p < TOGETHER; ++p) sums[p] = Terms::add(sums[p], xs[p][k], ys[p][k]);
    }
    for (std::size_t p = 0; p < size; ++p) costs[first + p] = Terms::end(sums[p]);
  }
}

// What some x cost with the PANEL points y of a panel, which lie coordinate by coordinate; the panel begins at column `first`.
constexpr std::size_t PANEL = 16;
template <class Terms>
struct CostsOfPanel {
  template <int BYTES>
  static ALWAYS_INLINE void run(const double* const* x, const double* panel, std::size_t dimension, std::size_t num_rows,
                                std::size_t first, std::size_t size, double* const* costs) {
    constexpr std::size_t LANES = BYTES / sizeof(double), TOGETHER = PANEL / LANES;
    for (std::size_t row = 0; row < num_rows; ++row) {
      Lanes<double, LANES> sums[TOGETHER] = {};
      for (std::size_t k = 0; k < dimension; ++k) {
        const Lanes<double, LANES> here = all<double, LANES>(x[row][k]);
        for (std::size_t q = 0; q < TOGETHER; ++q) {
          sums[q] = Terms::add(sums[q], here, load<double, LANES>(panel + k * PANEL + q * LANES));
        }
      }
      double ends[PANEL];
      for (std::size_t q = 0; q < TOGETHER; ++q) store(ends + q * LANES, sums[q]);
      for (std::size_t q = 0; q < size; ++q) costs[row][first + q] = Terms::end(ends[q]);
    }
  }
};

// The two least keys below `far` of a row in each of STRATA strata; stratum j has the columns of number j modulo STRATA. The
// least of all strata come first, then the second ones; NONE if there are fewer. Columns are met from number `begin` on, so
// that rows whose keys tie do not all have equal columns.
constexpr int STRATA = 32;
template <class Key>
struct BestOfStrata {
  template <int BYTES>
  static ALWAYS_INLINE void run(const Key* keys, Vertex num_columns, Vertex begin, Key far, Vertex* best, Vertex* second) {
    constexpr int LANES = BYTES / sizeof(Key), HERE = LANES < STRATA ? LANES : STRATA;
    for (int first = 0; first < STRATA; first += HERE) of_lanes<HERE>(keys, num_columns, begin, far, first, best, second);
  }

  template <int LANES>
  static ALWAYS_INLINE void of_lanes(const Key* keys, Vertex num_columns, Vertex begin, Key far, int first, Vertex* best,
                                     Vertex* second) {
    using Keys = Lanes<Key, LANES>;
    using Numbers = Lanes<IndexLike<Key>, LANES>;
    Keys least = all<Key, LANES>(far), next = least;
    Numbers at = Numbers{} + NONE, next_at = at;
    const auto meet = [&](const Keys& here, Vertex chunk) __attribute__((always_inline)) {
      const auto is_next = here < next;
      if (any_of<LANES>(is_next) == 0) return;
      const auto is_least = here < least;
      const Numbers number = Numbers{} + chunk;
      next = is_least ? least : is_next ? here : next;
      next_at = is_least ? at : is_next ? number : next_at;
      least = is_least ? here : least;
      at = is_least ? number : at;
    };
    const Vertex whole = num_columns / STRATA, middle = begin / STRATA;
    for (Vertex chunk = middle; chunk < whole; ++chunk) meet(load<Key, LANES>(keys + Count{chunk} * STRATA + first), chunk);
    if (whole * STRATA < num_columns) {
      Key rest[LANES];
      for (int lane = 0; lane < LANES; ++lane) {
        const Vertex column = whole * STRATA + first + lane;
        rest[lane] = column < num_columns ? keys[column] : far;
      }
      meet(load<Key, LANES>(rest), whole);
    }
    for (Vertex chunk = 0; chunk < std::min(middle, whole); ++chunk) {
      meet(load<Key, LANES>(keys + Count{chunk} * STRATA + first), chunk);
    }
    for (int lane = 0; lane < LANES; ++lane) {
      const auto column = [&](auto chunk) { return chunk == NONE ? NONE : static_cast<Vertex>(chunk) * STRATA + first + lane; };
      best[first + lane] = column(at[lane]);
      if (second != nullptr) second[first + lane] = column(next_at[lane]);
    }
  }
};

}  // namespace points
