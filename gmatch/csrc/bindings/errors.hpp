// errors.hpp: errors of C++ that become errors of gmatch.
#pragma once
#include <exception>

// Sets Python's error if the exception is TooFewThreads. Throws all other exceptions again.
void raise_too_few_threads(const std::exception_ptr& thrown, void*);
