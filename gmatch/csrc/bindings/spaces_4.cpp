// spaces_4.cpp: spaces of points of 4 coordinates.
#include "bindings/spaces_of.hpp"

template std::unique_ptr<points::Space> space_of<4>(const std::string&, double);
