// serial_float32.cpp: the serial solvers of costs of type float32.
#include <cstdint>

#include "bindings/serial_solvers_of.hpp"

GMATCH_SERIAL_SOLVERS_OF(template, float, double)
