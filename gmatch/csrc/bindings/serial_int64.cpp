// serial_int64.cpp: the serial solvers of costs of type int64.
#include <cstdint>

#include "bindings/serial_solvers_of.hpp"

GMATCH_SERIAL_SOLVERS_OF(template, Count, Count)
