// serial_float64.cpp: the serial solvers of costs of type float64.
#include <cstdint>

#include "bindings/serial_solvers_of.hpp"

GMATCH_SERIAL_SOLVERS_OF(template, double, double)
