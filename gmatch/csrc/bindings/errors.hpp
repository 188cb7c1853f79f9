// errors.hpp: errors of C++ that become errors of gmatch.
#pragma once
#include <exception>

// Sets Python's error where the exception is TooFewThreads, and throws all others again.
void raise_too_few_threads(const std::exception_ptr& thrown, void*);
