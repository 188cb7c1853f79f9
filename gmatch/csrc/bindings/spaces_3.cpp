// spaces_3.cpp: spaces of points of 3 coordinates.
#include "bindings/spaces_of.hpp"

template std::unique_ptr<points::Space> space_of<3>(const std::string&, double);
