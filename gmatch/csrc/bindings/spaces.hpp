// spaces.hpp: spaces of points by the names of their metrics. Each number of coordinates is compiled by itself.
#pragma once
#include <memory>
#include <string>

#include "points/tree.hpp"

// Only Minkowski's distances use `p`.
template <int D>
std::unique_ptr<points::Space> space_of(const std::string& metric, double p);

extern template std::unique_ptr<points::Space> space_of<2>(const std::string&, double);
extern template std::unique_ptr<points::Space> space_of<3>(const std::string&, double);
extern template std::unique_ptr<points::Space> space_of<4>(const std::string&, double);
extern template std::unique_ptr<points::Space> space_of<8>(const std::string&, double);
