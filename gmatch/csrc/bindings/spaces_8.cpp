// spaces_8.cpp: spaces of points of 8 coordinates.
#include "bindings/spaces_of.hpp"

template std::unique_ptr<points::Space> space_of<8>(const std::string&, double);
