// metrics.hpp: what a pair of points costs, and what it costs at least for all points of a box.
//
// The cost of a pair is stated to the bit, and NumPy finds the same: coordinates are doubles, terms are added in the order of
// the coordinates, and each operation is rounded once. So these files are compiled without contraction (-ffp-contract=off).
//
//   SquaredEuclidean  t = x - y; s = s + t * t          Cityblock  s = s + |x - y|          Dot  s = s + x * y; base - s
//   Euclidean         the same, and the root of s       Chebyshev  s = max(s, |x - y|)
//   MinusSquaredEuclidean  - s, for what is to be maximized
//
// A box has a centre, half widths and a slope g, which follows the duals of its points: at_least() bounds c(x, y) - g (y -
// centre) from below. Without slopes a bound would miss by what the duals differ within the box, which is far where points
// travel far. All these costs but one are convex in y: c(x, y) is not below its tangent at the centre. Bounds are rounded; `size` is
// the sum of the magnitudes that enter one, and the tree takes a small part of it off.
#pragma once
#include <algorithm>
#include <cmath>

namespace points {

// Of the boxes of four children: [coordinate][child].
template <int D>
struct Boxes {
  double low[D][4], high[D][4], centre[D][4], half[D][4], slope[D][4];
};

struct Bound {
  double least, size;
};

// How far x is from the box, for each coordinate.
template <int D>
double beyond(const double* x, const Boxes<D>& box, int k, int q) {
  return std::max(std::max(box.low[k][q] - x[k], x[k] - box.high[k][q]), 0.0);
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
  // By y.
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = 2 * (y[k] - x[k]);
  }
  // (x - y)^2 - g (y - centre) = (y - (x + g / 2))^2 - g (x - centre + g / 4), coordinate by coordinate.
  template <int D>
  Bound at_least(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0, size = 0;
    for (int k = 0; k < D; ++k) {
      const double g = box.slope[k][q], from_centre = x[k] - box.centre[k][q];
      const double t = std::max(std::max((box.low[k][q] - x[k]) - g / 2, (x[k] - box.high[k][q]) + g / 2), 0.0);
      const double magnitude = std::abs(from_centre) + std::abs(g) + box.half[k][q];
      sum += t * t - g * (from_centre + g / 4);
      size += magnitude * magnitude;
    }
    return {sum, size};
  }
  template <int D>
  double cheapest(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += beyond<D>(x, box, k, q) * beyond<D>(x, box, k, q);
    return sum;
  }
};

struct Euclidean {
  template <int D>
  double cost(const double* x, const double* y) const {
    return std::sqrt(SquaredEuclidean().cost<D>(x, y));
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    const double length = cost<D>(x, y);
    for (int k = 0; k < D; ++k) g[k] = length > 0 ? (y[k] - x[k]) / length : 0;
  }
  // The better of two: the distance of the box, and the tangent at its centre.
  template <int D>
  Bound at_least(const double* x, const Boxes<D>& box, int q) const {
    double square = 0, size = 0, near = 0, off = 0;
    for (int k = 0; k < D; ++k) {
      const double t = box.centre[k][q] - x[k];
      square += t * t;
    }
    const double far = std::sqrt(square), inverse = far > 0 ? 1 / far : 0;
    for (int k = 0; k < D; ++k) {
      const double g = box.slope[k][q], half = box.half[k][q], t = box.centre[k][q] - x[k];
      near += std::abs(g) * half;
      off += std::abs(t * inverse - g) * half;
      size += std::abs(t) + half;
    }
    return {std::max(cheapest<D>(x, box, q) - near, far - off), size};
  }
  template <int D>
  double cheapest(const double* x, const Boxes<D>& box, int q) const {
    return std::sqrt(SquaredEuclidean().cheapest<D>(x, box, q));
  }
};

struct Cityblock {
  template <int D>
  double cost(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += std::abs(x[k] - y[k]);
    return sum;
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = (y[k] > x[k]) - (y[k] < x[k]);
  }
  // Slopes are within [-1, 1], so each coordinate is least where y is nearest.
  template <int D>
  Bound at_least(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0, size = 0;
    for (int k = 0; k < D; ++k) {
      const double y = std::min(std::max(x[k], box.low[k][q]), box.high[k][q]);
      sum += std::abs(x[k] - y) - box.slope[k][q] * (y - box.centre[k][q]);
      size += std::abs(x[k] - box.centre[k][q]) + box.half[k][q];
    }
    return {sum, size};
  }
  template <int D>
  double cheapest(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += beyond<D>(x, box, k, q);
    return sum;
  }
};

struct Chebyshev {
  template <int D>
  double cost(const double* x, const double* y) const {
    double most = 0;
    for (int k = 0; k < D; ++k) most = std::max(most, std::abs(x[k] - y[k]));
    return most;
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    const int widest = widest_of<D>([&](int k) { return y[k] - x[k]; });
    for (int k = 0; k < D; ++k) g[k] = k == widest ? (y[k] > x[k]) - (y[k] < x[k]) : 0;
  }
  template <int D>
  Bound at_least(const double* x, const Boxes<D>& box, int q) const {
    const auto away = [&](int k) { return box.centre[k][q] - x[k]; };
    const int widest = widest_of<D>(away);
    double size = 0, near = 0, off = 0;
    for (int k = 0; k < D; ++k) {
      const double g = box.slope[k][q], half = box.half[k][q], tangent = k == widest ? (away(k) > 0) - (away(k) < 0) : 0;
      near += std::abs(g) * half;
      off += std::abs(tangent - g) * half;
      size += std::abs(away(k)) + half;
    }
    return {std::max(cheapest<D>(x, box, q) - near, std::abs(away(widest)) - off), size};
  }
  template <int D>
  double cheapest(const double* x, const Boxes<D>& box, int q) const {
    double most = 0;
    for (int k = 0; k < D; ++k) most = std::max(most, beyond<D>(x, box, k, q));
    return most;
  }

 private:
  template <int D, class Away>
  static int widest_of(const Away& away) {
    int widest = 0;
    for (int k = 1; k < D; ++k) {
      if (std::abs(away(k)) > std::abs(away(widest))) widest = k;
    }
    return widest;
  }
};

// To be maximized. Not convex in y but concave: with any slope each coordinate is least at an end of the box.
struct MinusSquaredEuclidean {
  template <int D>
  double cost(const double* x, const double* y) const {
    return -SquaredEuclidean().cost<D>(x, y);
  }
  template <int D>
  void gradient(const double* x, const double* y, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = 2 * (x[k] - y[k]);
  }
  template <int D>
  Bound at_least(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0, size = 0;
    for (int k = 0; k < D; ++k) {
      const double g = box.slope[k][q], centre = box.centre[k][q];
      const auto at = [&](double y) { return -(x[k] - y) * (x[k] - y) - g * (y - centre); };
      const double magnitude = std::abs(x[k] - centre) + box.half[k][q];
      sum += std::min(at(box.low[k][q]), at(box.high[k][q]));
      size += magnitude * magnitude + std::abs(g) * box.half[k][q];
    }
    return {sum, size};
  }
  template <int D>
  double cheapest(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0;  // rounded as cost() rounds it: never above that
    for (int k = 0; k < D; ++k) {
      const double t = std::max(std::abs(x[k] - box.low[k][q]), std::abs(x[k] - box.high[k][q]));
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
  void gradient(const double* x, const double*, double* g) const {
    for (int k = 0; k < D; ++k) g[k] = -x[k];
  }
  template <int D>
  Bound at_least(const double* x, const Boxes<D>& box, int q) const {
    double sum = base, size = base;
    for (int k = 0; k < D; ++k) {
      const double g = box.slope[k][q], half = box.half[k][q];
      sum -= x[k] * box.centre[k][q] + std::abs(x[k] + g) * half;
      size += std::abs(x[k]) * (std::abs(box.centre[k][q]) + half) + std::abs(g) * half;
    }
    return {sum, size};
  }
  template <int D>
  double cheapest(const double* x, const Boxes<D>& box, int q) const {
    double sum = 0;  // rounded as cost() rounds it: never above that
    for (int k = 0; k < D; ++k) sum += std::max(x[k] * box.low[k][q], x[k] * box.high[k][q]);
    return base - sum;
  }
};

}  // namespace points
