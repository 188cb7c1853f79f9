// made_by.hpp: functions of C++ that make objects, for the C interface of Python.
#pragma once
#include <exception>
#include <new>

#include "bindings/errors.hpp"
#include "bindings/module.hpp"

// The object that a function makes, for Python. An exception of C++ becomes an exception of Python, and the object nullptr.
template <class Function>
PyObject* made_by(const Function& function) {
  try {
    return function().release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const TooFewThreads&) {
    raise_too_few_threads(std::current_exception(), nullptr);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}
