// later.hpp: the type of results that have their pairs and make their fields later; see gmatch/result.py.
#pragma once
#include "bindings/module.hpp"

// The members of Python's tuple `_later`: (make_field, pairs, (first, second)), or without a second (make_field, pairs, first).
// Without make_field no field is made later. The second member of a new batch is a list: a function, a table with a line for each
// problem, and more arguments. The function makes a sequence of the assignments of the batch, from the first member, the table
// and the other arguments. When Python asks for `_later`, the sequence is made. It becomes the first member, without a second.
struct Later {
  PyObject_HEAD
  PyObject *make_field, *pairs, *first, *second;
};

PyTypeObject* later_type();

// The results of a new batch as a list of Python, from the first and the second member of the batch: see small_batches.cpp.
nb::list results_of_batch(nb::handle cells, nb::handle parts);

// Memory for fields, which are views of it: an object with the protocol of buffers. The object and its words are one piece of
// memory; a bytearray would be two pieces. The words have no values yet.
nb::object new_words(Count number);
bool is_words(nb::handle object);
Count* first_word(nb::handle words);
