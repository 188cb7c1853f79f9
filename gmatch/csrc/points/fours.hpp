// fours.hpp: centroids of fours of near points: a cloud of a quarter of the points, in any number of coordinates.
#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "team/interrupt.hpp"
#include "team/team.cuh"

namespace points {

// Up to three points are in no four.
struct Fours {
  static constexpr Vertex SIZE = 4;

  std::vector<Vertex> members;  // [SIZE * number] the points of each four
  std::vector<double> centroids;
  Vertex number;

  // Points lie row by row. Parts are halved along their widest coordinate.
  Fours(const double* points, Vertex size, std::size_t dimension) : members(size), number(size / SIZE) {
    std::iota(members.begin(), members.end(), 0);
    std::vector<std::pair<Vertex, Vertex>> parts{{0, size}};
    Poll poll;
    while (!parts.empty()) {
      const auto [first, last] = parts.back();
      parts.pop_back();
      const Vertex fours = (last - first) / SIZE;
      if (fours < 2) continue;
      poll.spend(Count{last - first} * static_cast<Count>(dimension));
      const Vertex middle = first + fours / 2 * SIZE;
      const std::size_t widest = widest_of(points, dimension, first, last);
      const auto begin = members.begin();
      std::nth_element(begin + first, begin + middle, begin + last,
                       [&](Vertex i, Vertex j) { return points[i * dimension + widest] < points[j * dimension + widest]; });
      parts.push_back({first, middle});
      parts.push_back({middle, last});
    }
    find_centroids(points, dimension);
  }

 private:
  std::size_t widest_of(const double* points, std::size_t dimension, Vertex first, Vertex last) const {
    const double* const one = points + members[first] * dimension;
    std::vector<double> low(one, one + dimension), high = low;
    for (Vertex i = first; i < last; ++i) {
      const double* const point = points + members[i] * dimension;
      for (std::size_t k = 0; k < dimension; ++k) {
        low[k] = std::min(low[k], point[k]);
        high[k] = std::max(high[k], point[k]);
      }
    }
    std::size_t widest = 0;
    for (std::size_t k = 1; k < dimension; ++k) {
      if (high[k] - low[k] > high[widest] - low[widest]) widest = k;
    }
    return widest;
  }
  void find_centroids(const double* points, std::size_t dimension) {
    centroids.assign(number * dimension, 0);
    for (Vertex i = 0; i < number * SIZE; ++i) {
      const double* const point = points + members[i] * dimension;
      for (std::size_t k = 0; k < dimension; ++k) centroids[i / SIZE * dimension + k] += point[k] / SIZE;
    }
  }
};

}  // namespace points
