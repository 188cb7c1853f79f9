// later.cpp: the type of results that have their pairs and make their fields later, for Python. Its members lie in the object
// itself, so that a small call makes no dictionary, and its pairs are unpacked without Python code.
#include "bindings/later.hpp"

#include <cstddef>

#include "bindings/made_by.hpp"

namespace {

Later* later_of(PyObject* self) { return reinterpret_cast<Later*>(self); }

int visit_later(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(later_of(self)->make_field);
  Py_VISIT(later_of(self)->pairs);
  Py_VISIT(later_of(self)->first);
  Py_VISIT(later_of(self)->second);
  return 0;
}

int clear_later(PyObject* self) {
  Py_CLEAR(later_of(self)->make_field);
  Py_CLEAR(later_of(self)->pairs);
  Py_CLEAR(later_of(self)->first);
  Py_CLEAR(later_of(self)->second);
  return 0;
}

void delete_later(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_later(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

bool is_new_batch(const Later& later) { return later.second != nullptr && PyList_CheckExact(later.second); }
PyObject* table_of(const Later& batch) { return PyList_GetItem(batch.second, 1); }

// Makes the sequence of a new batch. Returns false if there is an exception of Python. Another thread may make one at the same
// time: the first one stays.
bool make_sequence(PyObject* self) {
  const nb::object list = nb::borrow(later_of(self)->second);
  const nb::object cells = nb::borrow(later_of(self)->first);
  const nb::object made = nb::steal(made_by([&] {
    nb::list arguments;
    arguments.append(cells);
    for (Py_ssize_t k = 1; k < PyList_Size(list.ptr()); ++k) arguments.append(nb::handle(PyList_GetItem(list.ptr(), k)));
    return nb::handle(PyList_GetItem(list.ptr(), 0))(*arguments);
  }));
  if (!made.is_valid()) return false;
  if (!is_new_batch(*later_of(self))) return true;
  PyObject* const sequence = PyTuple_Pack(1, made.ptr());
  if (sequence == nullptr) return false;
  Later before = *later_of(self);
  later_of(self)->first = sequence;
  later_of(self)->second = nullptr;
  Py_DECREF(before.first);
  Py_DECREF(before.second);
  return true;
}

// A new reference to the tuple, or to None.
PyObject* get_later(PyObject* self, void*) {
  const Later& later = *later_of(self);
  if (later.make_field == nullptr) Py_RETURN_NONE;
  if (is_new_batch(later) && !make_sequence(self)) return nullptr;
  const nb::object arguments =
      later.second == nullptr ? nb::borrow(later.first) : nb::steal(PyTuple_Pack(2, later.first, later.second));
  return arguments.is_valid() ? PyTuple_Pack(3, later.make_field, later.pairs, arguments.ptr()) : nullptr;
}

int set_later(PyObject* self, PyObject* parts, void*) {
  if (parts == nullptr || !PyTuple_CheckExact(parts) || PyTuple_Size(parts) != 3) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of make_field, pairs and arguments");
    return -1;
  }
  Later before = *later_of(self);
  later_of(self)->make_field = Py_NewRef(PyTuple_GetItem(parts, 0));
  later_of(self)->pairs = Py_NewRef(PyTuple_GetItem(parts, 1));
  later_of(self)->first = Py_NewRef(PyTuple_GetItem(parts, 2));
  later_of(self)->second = nullptr;
  for (PyObject* part : {before.make_field, before.pairs, before.first, before.second}) Py_XDECREF(part);
  return 0;
}

// Iterates over the pairs, if they are made already, or over the results of a new batch. Otherwise over what `_items` returns.
PyObject* iterate(PyObject* self) {
  const Later& later = *later_of(self);
  if (later.pairs != nullptr && PyTuple_CheckExact(later.pairs)) return PyObject_GetIter(later.pairs);
  if (is_new_batch(later)) {
    // Another thread may make the sequence meanwhile, and drop the references of the batch to both members.
    const nb::object cells = nb::borrow(later.first), parts = nb::borrow(later.second);
    return made_by([&] { return nb::steal(PyObject_GetIter(results_of_batch(cells, parts).ptr())); });
  }
  const nb::object made = nb::steal(PyObject_CallMethod(self, "_items", nullptr));
  return made.is_valid() ? PyObject_GetIter(made.ptr()) : nullptr;
}

// How many objects `iterate` goes over. `tuple` asks for a length. Without one it makes a tuple of ten, and cuts it. If there are
// no pairs, `_length` of Python says it.
Py_ssize_t length_of_items(PyObject* self) {
  const Later& later = *later_of(self);
  if (is_new_batch(later)) return PyList_Size(table_of(later));
  if (later.pairs != nullptr && later.pairs != Py_None) return 2;
  const nb::object length = nb::steal(PyObject_CallMethod(self, "_length", nullptr));
  return length.is_valid() ? PyLong_AsSsize_t(length.ptr()) : -1;
}

// The rows (0) or the columns (1) of an object's pairs, if there are some already. They are objects of one tuple, so that they
// need no place in the object's dictionary. If there are none, the property of Python that comes second in the type makes them.
template <Py_ssize_t SIDE>
PyObject* get_side_of_pairs(PyObject* self, PyObject* object, PyObject* kind) {
  const bool has_object = object != nullptr && PyType_IsSubtype(Py_TYPE(object), later_type());
  PyObject* const pairs = has_object ? later_of(object)->pairs : nullptr;
  if (pairs != nullptr && PyTuple_CheckExact(pairs)) return Py_NewRef(PyTuple_GetItem(pairs, SIDE));
  static PyObject* const property = PyObject_GetAttrString(nb::module_::import_("functools").ptr(), "cached_property");
  return PyObject_CallMethod(property, "__get__", "OOO", self, object == nullptr ? Py_None : object,
                             kind == nullptr ? Py_None : kind);
}

template <Py_ssize_t SIDE>
nb::object side_of_pairs_type(const char* name) {
  static PyType_Slot slots[] = {{Py_tp_descr_get, reinterpret_cast<void*>(&get_side_of_pairs<SIDE>)}, {0, nullptr}};
  PyType_Spec spec = {name, sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  return type;
}

struct Words {
  PyObject_VAR_HEAD
  Count first[1];
};
Words* words_in(PyObject* self) { return reinterpret_cast<Words*>(self); }

void delete_words(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

int give_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Py_ssize_t bytes = Py_SIZE(self) * static_cast<Py_ssize_t>(sizeof(Count));
  return PyBuffer_FillInfo(view, self, words_in(self)->first, bytes, 0, flags);
}

PyTypeObject* words_type() {
  static PyObject* const type = [] {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&delete_words)},
                                  {Py_bf_getbuffer, reinterpret_cast<void*>(&give_buffer)},
                                  {0, nullptr}};
    static PyType_Spec spec = {"gmatch._native.Words", offsetof(Words, first), sizeof(Count), Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
  }();
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

nb::object new_words(Count number) {
  static PyTypeObject* const type = words_type();
  nb::object words = nb::steal(reinterpret_cast<PyObject*>(PyObject_NewVar(Words, type, number)));
  if (!words.is_valid()) throw nb::python_error();
  return words;
}

bool is_words(nb::handle object) { return Py_TYPE(object.ptr()) == words_type(); }
Count* first_word(nb::handle words) { return words_in(words.ptr())->first; }

PyTypeObject* later_type() {
  static PyObject* const type = [] {
    static PyGetSetDef attributes[] = {{"_later", &get_later, &set_later, "What the fields are made of, or None.", nullptr},
                                       {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&delete_later)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&visit_later)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&clear_later)},
                                  {Py_tp_iter, reinterpret_cast<void*>(&iterate)},
                                  {Py_sq_length, reinterpret_cast<void*>(&length_of_items)},
                                  {Py_tp_getset, attributes},
                                  {0, nullptr}};
    static PyType_Spec spec = {"gmatch._native.Later", sizeof(Later), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    return PyType_FromSpec(&spec);
  }();
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

void define_later(nb::module_& m) {
  m.attr("Later") = nb::handle(reinterpret_cast<PyObject*>(later_type()));
  m.attr("RowsOfPairs") = side_of_pairs_type<0>("gmatch._native.RowsOfPairs");
  m.attr("ColumnsOfPairs") = side_of_pairs_type<1>("gmatch._native.ColumnsOfPairs");
}
