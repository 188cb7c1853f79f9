// point_terms.hpp: the terms of what points cost (points/rows.hpp), by the names of their metrics.
#pragma once
#include <stdexcept>
#include <string>

#include "points/rows.hpp"

template <class Call>
auto with_terms(const std::string& metric, const Call& call) {
  if (metric == "sqeuclidean") return call(points::SquaredTerms{});
  if (metric == "euclidean") return call(points::RootOfSquaredTerms{});
  if (metric == "cityblock") return call(points::AbsoluteTerms{});
  if (metric == "chebyshev") return call(points::LargestTerm{});
  if (metric == "dot") return call(points::Products<0>{});
  if (metric == "cosine") return call(points::Products<1>{});
  throw std::invalid_argument("unknown metric " + metric);
}
