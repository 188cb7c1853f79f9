// spaces_2.cpp: spaces of points of 2 coordinates.
#include "bindings/spaces_of.hpp"

template std::unique_ptr<points::Space> space_of<2>(const std::string&, double);
