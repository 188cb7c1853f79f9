// serial_int32.cpp: the serial solvers of costs of type int32.
#include <cstdint>

#include "bindings/serial_solvers_of.hpp"

GMATCH_SERIAL_SOLVERS_OF(template, std::int32_t, Count)
