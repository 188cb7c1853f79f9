// metrics.hpp: what a pair of points costs, and what it costs at least for all points of a box.
//
// The cost of a pair is stated to the bit, and NumPy finds the same: coordinates are doubles, terms are added in the order of
// the coordinates, and each operation is rounded once. So these files are compiled without contraction (-ffp-contract=off).
//
//   SquaredEuclidean  t = x - y; s = s + t * t          Cityblock  s = s + |x - y|          Dot  s = s + x * y; base - s
//   Euclidean         the same, and the root of s       Chebyshev  s = max(s, |x - y|)
//   Minkowski         s = s + |x - y|^p; s^(1/p), by pow() of the C library. NumPy's differs by some roundings
//   MinusSquaredEuclidean, MinusEuclidean, MinusMinkowski, MinusCityblock, MinusChebyshev  the negative, for what is to be
//                     maximized
//
// A box has a centre and half widths, and slopes g follow the duals of its points: at_least() bounds c(x, y) - g (y -
// centre) from below. Without slopes a bound would miss by what the duals differ within the box, which is far where points
// travel far. Costs to be minimized are convex in y: c(x, y) is not below its tangent at the centre. Negatives of costs to be
// maximized are least at a corner of a box. If they have a root, the tangent of the root gives a sum over the coordinates that
// bounds them. Each term of that sum is least at an end. Bounds are rounded: size() is the sum of the magnitudes that enter a
// bound, and the tree subtracts a small part of it. Four boxes, or four points, are read together.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "serial/rows/lanes.hpp"

namespace points {

// One number for each of four children.
using Four = Lanes<double, 4>;

ALWAYS_INLINE Four four(const double* from) { return load<double, 4>(from); }
ALWAYS_INLINE Four magnitude(const Four& numbers) { return greater(numbers, Four(-numbers)); }
ALWAYS_INLINE Four root(const Four& numbers) {
  Four roots;
  for (int q = 0; q < 4; ++q) roots[q] = std::sqrt(numbers[q]);
  return roots;
}

// The boxes of four children: [coordinate][child].
template <int D>
struct Boxes {
  double low[D][4], high[D][4], centre[D][4], half[D][4];
};
// The slopes of four boxes, in the order of the boxes.
template <int D>
using Slopes = double[D][4];

// How far x is from the boxes, for each coordinate.
template <int D>
ALWAYS_INLINE Four beyond(const double* x, const Boxes<D>& box, int k) {
  return greater(greater(Four(four(box.low[k]) - x[k]), Four(x[k] - four(box.high[k]))), Four{});
}

struct SquaredEuclidean {
  template <int D>
  double cost(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) {
      const double t = x[k] - y[k];
      sum += t * t;
    }
    return sum;
  }
  // The costs of four points y, coordinate by coordinate.
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    Four sum{};
    for (int k = 0; k < D; ++k) {
      const Four t = x[k] - four(y[k]);
      sum += t * t;
    }
    return sum;
  }
  // By y.
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = 2 * (y[k] - x[k]);
  }
  // (x - y)^2 - g (y - centre) = (y - (x + g / 2))^2 - g (x - centre + g / 4), coordinate by coordinate.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four sum{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), from_centre = x[k] - four(box.centre[k]);
      const Four below = (four(box.low[k]) - x[k]) - g / 2, above = (x[k] - four(box.high[k])) + g / 2;
      const Four t = greater(greater(below, above), Four{});
      sum += t * t - g * (from_centre + g / 4);
    }
    return sum;
  }
  template <int D>
  ALWAYS_INLINE Four size(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four size{};
    for (int k = 0; k < D; ++k) {
      const Four all = magnitude(Four(x[k] - four(box.centre[k]))) + magnitude(four(slope[k])) + four(box.half[k]);
      size += all * all;
    }
    return size;
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += beyond<D>(x, box, k) * beyond<D>(x, box, k);
    return sum;
  }
};

// The part that bounds of distances share: sums of the distances to the ends of a box.
struct Distances {
  template <int D>
  ALWAYS_INLINE Four size(const double* x, const Boxes<D>& box, const Slopes<D>&) const {
    Four size{};
    for (int k = 0; k < D; ++k) size += magnitude(Four(x[k] - four(box.centre[k]))) + four(box.half[k]);
    return size;
  }
};

struct Euclidean : Distances {
  template <int D>
  double cost(const double* x, const double* y) const {
    return std::sqrt(SquaredEuclidean().cost<D>(x, y));
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    return root(SquaredEuclidean().costs<D>(x, y));
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    const double length = cost<D>(x, y);
    for (int k = 0; k < D; ++k) g[k] = length > 0 ? (y[k] - x[k]) / length : 0;
  }
  // The larger of two bounds: the distance of the box, and the tangent at its centre.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four square{}, near{}, off{};
    for (int k = 0; k < D; ++k) {
      const Four t = four(box.centre[k]) - x[k];
      square += t * t;
    }
    const Four far = root(square), inverse = far > 0 ? 1 / far : Four{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), half = four(box.half[k]), t = four(box.centre[k]) - x[k];
      near += magnitude(g) * half;
      off += magnitude(Four(t * inverse - g)) * half;
    }
    return greater(Four(cheapest<D>(x, box) - near), Four(far - off));
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    return root(SquaredEuclidean().cheapest<D>(x, box));
  }
};

struct Minkowski : Distances {
  double p;
  double of_root;  // no distance is less than the Euclidean one times this

  Minkowski(double p, int dimension) : p(p), of_root(p > 2 ? std::pow(dimension, 1 / p - 0.5) : 1) {}

  template <int D>
  double cost(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += std::pow(std::abs(x[k] - y[k]), p);
    return std::pow(sum, 1 / p);
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += powers(magnitude(Four(x[k] - four(y[k]))), p);
    return powers(sum, 1 / p);
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    const double length = cost<D>(x, y);
    for (int k = 0; k < D; ++k) {
      const double t = y[k] - x[k];
      g[k] = length > 0 ? std::copysign(std::pow(std::abs(t) / length, p - 1), t) : 0;
    }
  }
  // The tangent, as for the Euclidean distance. If the sum of powers is below SMALL, the distance counts as 0 without a tangent.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four powers_less[D], sum{}, near{}, off{};
    for (int k = 0; k < D; ++k) {
      const Four t = magnitude(Four(four(box.centre[k]) - x[k]));
      powers_less[k] = powers(t, p - 1);
      sum += powers_less[k] * t;
    }
    const Four far = sum > SMALL ? powers(sum, 1 / p) : Four{}, scale = sum > SMALL ? far / sum : Four{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), half = four(box.half[k]), t = four(box.centre[k]) - x[k];
      const Four along = powers_less[k] * scale;
      near += magnitude(g) * half;
      off += magnitude(Four((t < 0 ? Four(-along) : along) - g)) * half;
    }
    return greater(Four(cheapest<D>(x, box) - near), Four(far - off));
  }
  // A bound by other distances, which take no powers.
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four most{};
    for (int k = 0; k < D; ++k) most = greater(most, beyond<D>(x, box, k));
    return greater(most, Four(Euclidean().cheapest<D>(x, box) * of_root));
  }

  static constexpr double SMALL = 0x1p-960;

  static ALWAYS_INLINE Four powers(const Four& numbers, double exponent) {
    Four powers;
    for (int q = 0; q < 4; ++q) powers[q] = std::pow(numbers[q], exponent);
    return powers;
  }
};

struct Cityblock : Distances {
  template <int D>
  double cost(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += std::abs(x[k] - y[k]);
    return sum;
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += magnitude(Four(x[k] - four(y[k])));
    return sum;
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = (y[k] > x[k]) - (y[k] < x[k]);
  }
  // Slopes are within [-1, 1], so each coordinate is least where y is nearest.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four sum{};
    for (int k = 0; k < D; ++k) {
      const Four y = lesser(greater(Four(Four{} + x[k]), four(box.low[k])), four(box.high[k]));
      sum += magnitude(Four(x[k] - y)) - four(slope[k]) * (y - four(box.centre[k]));
    }
    return sum;
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += beyond<D>(x, box, k);
    return sum;
  }
};

struct Chebyshev : Distances {
  template <int D>
  double cost(const double* x, const double* y) const {
    double most = 0;
    for (int k = 0; k < D; ++k) most = std::max(most, std::abs(x[k] - y[k]));
    return most;
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    Four most{};
    for (int k = 0; k < D; ++k) most = greater(most, magnitude(Four(x[k] - four(y[k]))));
    return most;
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    int widest = 0;
    for (int k = 1; k < D; ++k) {
      if (std::abs(y[k] - x[k]) > std::abs(y[widest] - x[widest])) widest = k;
    }
    for (int k = 0; k < D; ++k) g[k] = k == widest ? (y[k] > x[k]) - (y[k] < x[k]) : 0;
  }
  // The tangent falls along the widest coordinate only. The bound loses that fall there, and the slope's part in the others.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four near{}, far = Four{} - 1, lost{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), half = four(box.half[k]), away = four(box.centre[k]) - x[k];
      const Four of_slope = magnitude(g) * half;
      const Four sign = away > 0 ? Four{} + 1 : away < 0 ? Four{} - 1 : Four{};
      const auto is_widest = magnitude(away) > far;
      far = is_widest ? magnitude(away) : far;
      lost = is_widest ? magnitude(Four(sign - g)) * half - of_slope : lost;
      near += of_slope;
    }
    return greater(Four(cheapest<D>(x, box) - near), Four(far - (near + lost)));
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four most{};
    for (int k = 0; k < D; ++k) most = greater(most, beyond<D>(x, box, k));
    return most;
  }
};

constexpr double FARTHEST = std::numeric_limits<double>::infinity();

// What is to be maximized: least, for each coordinate, where a point y of a box is farthest.
template <class Metric>
struct MinusDistances : Distances {
  Metric metric;

  explicit MinusDistances(const Metric& metric = {}) : metric(metric) {}

  template <int D>
  double cost(const double* x, const double* y) const {
    return -metric.template cost<D>(x, y);
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    return -metric.template costs<D>(x, y);
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    metric.template gradient<D>(y, x, g);
  }

 protected:
  // The least of - |x - y| - g (y - centre) along a coordinate.
  template <int D>
  static ALWAYS_INLINE Four least_at_ends(const double* x, const Boxes<D>& box, const Slopes<D>& slope, int k) {
    const Four g = four(slope[k]), centre = four(box.centre[k]), low = four(box.low[k]), high = four(box.high[k]);
    return lesser(Four(-magnitude(Four(x[k] - low)) - g * (low - centre)),
                  Four(-magnitude(Four(x[k] - high)) - g * (high - centre)));
  }
  template <int D>
  static ALWAYS_INLINE Four farthest(const double* x, const Boxes<D>& box, int k) {
    return greater(magnitude(Four(x[k] - four(box.low[k]))), magnitude(Four(x[k] - four(box.high[k]))));
  }
};

struct MinusEuclidean : MinusDistances<Euclidean> {
  // With t = y - centre, the root is at most its tangent where y is the centre: |centre - x| + (n t + t^2 / 2 / |centre - x|),
  // where n is the gradient there. The other bound is the cost of the farthest point of the box.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four square{}, near{}, off{};
    for (int k = 0; k < D; ++k) {
      const Four t = four(box.centre[k]) - x[k];
      square += t * t;
    }
    const Four far = root(square), inverse = far > 0 ? 1 / far : Four{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), half = four(box.half[k]), t = four(box.centre[k]) - x[k];
      near += magnitude(g) * half;
      off += (magnitude(Four(t * inverse + g)) + half * inverse / 2) * half;
    }
    const Four tangent = far > 0 ? Four(-far - off) : Four{} - FARTHEST;
    return greater(Four(cheapest<D>(x, box) - near), tangent);
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += farthest<D>(x, box, k) * farthest<D>(x, box, k);
    return -root(sum);
  }
};

struct MinusMinkowski : MinusDistances<Minkowski> {
  double of_root;  // no distance is more than the Euclidean one times this

  MinusMinkowski(double p, int dimension)
      : MinusDistances(Minkowski(p, dimension)), of_root(p < 2 ? std::pow(dimension, 1 / p - 0.5) : 1) {}

  // As for the Euclidean distance: a root of a sum of powers is at most its tangent in that sum. Differences of powers are
  // rounded as the powers are.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four to_centre[D], sum{}, near{}, off{}, size{};
    for (int k = 0; k < D; ++k) {
      to_centre[k] = Minkowski::powers(magnitude(Four(x[k] - four(box.centre[k]))), metric.p);
      sum += to_centre[k];
    }
    const Four far = Minkowski::powers(sum, 1 / metric.p), scale = sum > Minkowski::SMALL ? far / sum / metric.p : Four{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), centre = four(box.centre[k]), low = four(box.low[k]), high = four(box.high[k]);
      const Four to_low = Minkowski::powers(magnitude(Four(x[k] - low)), metric.p);
      const Four to_high = Minkowski::powers(magnitude(Four(x[k] - high)), metric.p);
      near += magnitude(g) * four(box.half[k]);
      off += greater(Four((to_low - to_centre[k]) * scale + g * (low - centre)),
                     Four((to_high - to_centre[k]) * scale + g * (high - centre)));
      size += to_low + to_high + to_centre[k];
    }
    const Four tangent = -far - off - size * scale * (metric.p * ROUNDING_OF_POWERS);
    return greater(Four(cheapest<D>(x, box) - near), sum > Minkowski::SMALL ? tangent : Four{} - FARTHEST);
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    return MinusEuclidean().cheapest<D>(x, box) * of_root;
  }

 private:
  static constexpr double ROUNDING_OF_POWERS = 0x1p-47;
};

struct MinusCityblock : MinusDistances<Cityblock> {
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += least_at_ends<D>(x, box, slope, k);
    return sum;
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four sum{};  // rounded as cost() rounds it: never above that
    for (int k = 0; k < D; ++k) sum += farthest<D>(x, box, k);
    return -sum;
  }
};

struct MinusChebyshev : MinusDistances<Chebyshev> {
  // The least over the coordinates of what one of them and the slopes of the others say.
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four least = Four{} + FARTHEST, of_slopes{};
    for (int k = 0; k < D; ++k) {
      const Four of_slope = magnitude(four(slope[k])) * four(box.half[k]);
      least = lesser(least, Four(least_at_ends<D>(x, box, slope, k) + of_slope));
      of_slopes += of_slope;
    }
    return least - of_slopes;
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four most{};
    for (int k = 0; k < D; ++k) most = greater(most, farthest<D>(x, box, k));
    return -most;
  }
};

// To be maximized. Not convex in y but concave: with any slope each coordinate is least at an end of the box.
struct MinusSquaredEuclidean {
  template <int D>
  double cost(const double* x, const double* y) const {
    return -SquaredEuclidean().cost<D>(x, y);
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    return -SquaredEuclidean().costs<D>(x, y);
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = 2 * (x[k] - y[k]);
  }
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four sum{};
    for (int k = 0; k < D; ++k) {
      const Four g = four(slope[k]), centre = four(box.centre[k]), low = four(box.low[k]), high = four(box.high[k]);
      const Four to_low = x[k] - low, to_high = x[k] - high;
      sum += lesser(Four(-to_low * to_low - g * (low - centre)), Four(-to_high * to_high - g * (high - centre)));
    }
    return sum;
  }
  template <int D>
  ALWAYS_INLINE Four size(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four size{};
    for (int k = 0; k < D; ++k) {
      const Four away = magnitude(Four(x[k] - four(box.centre[k]))) + four(box.half[k]);
      size += away * away + magnitude(four(slope[k])) * four(box.half[k]);
    }
    return size;
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four sum{};  // rounded as cost() rounds it: never above that
    for (int k = 0; k < D; ++k) {
      const Four t = greater(magnitude(Four(x[k] - four(box.low[k]))), magnitude(Four(x[k] - four(box.high[k]))));
      sum += t * t;
    }
    return -sum;
  }
};

// The base is 0, or 1 for the cosine distance of points of length 1, and -1 for what is to be maximized of it.
struct Dot {
  double base;

  template <int D>
  double cost(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += x[k] * y[k];
    return base - sum;
  }
  template <int D>
  ALWAYS_INLINE Four costs(const double* x, const double (*y)[4]) const {
    Four sum{};
    for (int k = 0; k < D; ++k) sum += x[k] * four(y[k]);
    return base - sum;
  }
  template <int D>
  void gradient(const double* x, const double*, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = -x[k];
  }
  template <int D>
  ALWAYS_INLINE Four at_least(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four sum = Four{} + base;
    for (int k = 0; k < D; ++k) {
      sum -= x[k] * four(box.centre[k]) + magnitude(Four(x[k] + four(slope[k]))) * four(box.half[k]);
    }
    return sum;
  }
  template <int D>
  ALWAYS_INLINE Four size(const double* x, const Boxes<D>& box, const Slopes<D>& slope) const {
    Four size = Four{} + std::abs(base);
    for (int k = 0; k < D; ++k) {
      const Four half = four(box.half[k]);
      size += std::abs(x[k]) * (magnitude(four(box.centre[k])) + half) + magnitude(four(slope[k])) * half;
    }
    return size;
  }
  template <int D>
  ALWAYS_INLINE Four cheapest(const double* x, const Boxes<D>& box) const {
    Four sum{};  // rounded as cost() rounds it: never above that
    for (int k = 0; k < D; ++k) sum += greater(Four(x[k] * four(box.low[k])), Four(x[k] * four(box.high[k])));
    return base - sum;
  }
};

}  // namespace points
