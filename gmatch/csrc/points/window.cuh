// window.cuh: what all pairs of some rows x and all y cost, on a GPU, to the bit as metrics.hpp states it. Only the powers of
// Minkowski's distances may differ from the host's by some roundings.
#pragma once
#include "points/pairs.cuh"

// A product that is rounded by itself. A compiler for GPUs would otherwise round a product and a sum together.
DEVICE double rounded_product(double a, double b) { return __dmul_rn(a, b); }

// The number from `low` to `high` that is nearest to x, or the one that is farthest from it.
DEVICE double nearest_number(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
DEVICE double farthest_number(double x, double low, double high) { return x - low > high - x ? low : high; }

// One term of a sum, and what becomes of the sum, as the types of these names in points/rows.hpp. `least_at` is the y of an
// interval whose term is least, or largest if `most` is true. Roundings keep the order of numbers. So computed terms
// and sums keep to these bounds. Powers may miss them by some roundings. `bound` turns a bound of a sum into a bound of what the
// pair costs, both in float32 and times the sign: for products of matrices, which know nothing of `end`.
struct Differences {
  static DEVICE float bound(float cost, float) { return cost; }
  static DEVICE double least_at(double x, double low, double high, bool most) {
    return most ? farthest_number(x, low, high) : nearest_number(x, low, high);
  }
};
struct SquaredTerms : Differences {
  static DEVICE double add(double sum, double x, double y, double) {
    const double t = x - y;
    return sum + rounded_product(t, t);
  }
  static DEVICE double end(double sum, double) { return sum; }
};
struct RootOfSquaredTerms : SquaredTerms {
  // The bound of a square times the sign. The root of its magnitude is lowered by more than its roundings.
  static DEVICE float bound(float square, float sign) {
    constexpr float ROUNDINGS = 4.0f / (1 << 24);
    const float magnitude = square * sign;
    return sqrtf(magnitude > 0 ? magnitude : 0) * (sign * (1 - sign * ROUNDINGS));
  }
  static DEVICE double end(double sum, double) { return sqrt(sum); }
};
struct AbsoluteTerms : Differences {
  static DEVICE double add(double sum, double x, double y, double) { return sum + fabs(x - y); }
  static DEVICE double end(double sum, double) { return sum; }
};
struct LargestTerm : Differences {
  static DEVICE double add(double sum, double x, double y, double) {
    const double t = fabs(x - y);
    return t > sum ? t : sum;
  }
  static DEVICE double end(double sum, double) { return sum; }
};
struct Powers : Differences {
  static DEVICE double add(double sum, double x, double y, double p) { return sum + pow(fabs(x - y), p); }
  static DEVICE double end(double sum, double p) { return pow(sum, 1 / p); }
};
template <int BASE>
struct Products {
  static DEVICE float bound(float cost, float) { return cost; }
  // The sum counts negatively. So the y of the largest product is asked for.
  static DEVICE double least_at(double x, double low, double high, bool most) { return (x < 0) != most ? low : high; }
  static DEVICE double add(double sum, double x, double y, double) { return sum + rounded_product(x, y); }
  static DEVICE double end(double sum, double) { return BASE - sum; }
};

// A thread sums ROWS pairs of one column at a time: it reads each coordinate of y once for all of them, and the sums do not
// wait for each other. Neighbours have neighbouring columns. Calls use(place, cost) for all pairs.
template <class Terms, class Team, class Use>
DEVICE void each_cost_of_window(Team& team, const PointWindow& window, Use use) {
  constexpr Count ROWS = 8;
  const Count columns = window.num_columns, dimension = window.dimension, last = window.num_rows - 1;
  team.each((window.num_rows + ROWS - 1) / ROWS * columns, [&](Count i) {
    const Count first = i / columns * ROWS, column = i % columns;
    double sums[ROWS];
    const double* xs[ROWS];
    for (Count r = 0; r < ROWS; ++r) {
      sums[r] = 0;
      xs[r] = window.x + (first + r < last ? first + r : last) * dimension;
    }
    for (Count k = 0; k < dimension; ++k) {
      const double y = window.y[k * columns + column];
      for (Count r = 0; r < ROWS; ++r) sums[r] = Terms::add(sums[r], xs[r][k], y, window.p);
    }
    for (Count r = 0; r < ROWS && first + r <= last; ++r) {
      use((first + r) * columns + column, Terms::end(sums[r], window.p));
    }
  });
}
template <class Terms, class Team>
DEVICE void find_costs_of_window(Team& team, const PointWindow& window) {
  each_cost_of_window<Terms>(team, window, [&](Count place, double cost) { window.costs[place] = cost; });
}
