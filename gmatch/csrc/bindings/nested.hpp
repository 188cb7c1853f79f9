// nested.hpp: NumPy arrays from nested lists and tuples of numbers.
#pragma once
#include "bindings/module.hpp"

// An array of two or three dimensions; None if the lists are not as NestedNumbers says.
nb::object array_of_lists(nb::handle lists);
