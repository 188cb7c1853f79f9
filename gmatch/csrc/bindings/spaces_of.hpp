// spaces_of.hpp: what spaces_2.cpp to spaces_8.cpp compile.
#pragma once
#include <stdexcept>

#include "bindings/spaces.hpp"

template <int D>
std::unique_ptr<points::Space> space_of(const std::string& metric, double p) {
  const auto space = [](auto given) -> std::unique_ptr<points::Space> {
    return std::make_unique<points::MetricSpace<decltype(given), D>>(given);
  };
  if (metric == "minkowski") return space(points::Minkowski(p, D));
  if (metric == "sqeuclidean") return space(points::SquaredEuclidean{});
  if (metric == "minus sqeuclidean") return space(points::MinusSquaredEuclidean{});
  if (metric == "euclidean") return space(points::Euclidean{});
  if (metric == "cityblock") return space(points::Cityblock{});
  if (metric == "chebyshev") return space(points::Chebyshev{});
  if (metric == "minus euclidean") return space(points::MinusEuclidean());
  if (metric == "minus minkowski") return space(points::MinusMinkowski(p, D));
  if (metric == "minus cityblock") return space(points::MinusCityblock());
  if (metric == "minus chebyshev") return space(points::MinusChebyshev());
  if (metric == "dot") return space(points::Dot{0});
  if (metric == "cosine") return space(points::Dot{1});
  // With -x for x it is x y - 1: the cost of "cosine" with its sign changed.
  if (metric == "dot less 1") return space(points::Dot{-1});
  throw std::invalid_argument("unknown metric " + metric);
}
