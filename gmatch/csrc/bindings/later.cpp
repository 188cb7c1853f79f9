// later.cpp: the type of results that have their pairs and make their fields later, for Python. What it is made of lies in a place
// of its own, so that a small call makes no dictionary and its pairs are unpacked without Python.
#include "bindings/later.hpp"

#include <structmember.h>

#include <cstddef>

namespace {

int visit_later(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Later*>(self)->later);
  return 0;
}

int clear_later(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Later*>(self)->later);
  return 0;
}

void delete_later(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_later(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// Over the pairs, if there are some already; else over what `_made_pairs` returns.
PyObject* iterate(PyObject* self) {
  PyObject* const later = reinterpret_cast<Later*>(self)->later;
  if (later != nullptr && PyTuple_CheckExact(later) && PyTuple_Size(later) == 3) {
    PyObject* const pairs = PyTuple_GetItem(later, 1);
    if (PyTuple_CheckExact(pairs)) return PyObject_GetIter(pairs);
  }
  const nb::object made = nb::steal(PyObject_CallMethod(self, "_made_pairs", nullptr));
  return made.is_valid() ? PyObject_GetIter(made.ptr()) : nullptr;
}

}  // namespace

PyTypeObject* later_type() {
  static PyObject* const type = [] {
    static PyMemberDef members[] = {
        {"_later", T_OBJECT, offsetof(Later, later), 0, "What the fields are made of, or None."}, {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&delete_later)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&visit_later)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&clear_later)},
                                  {Py_tp_iter, reinterpret_cast<void*>(&iterate)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec = {"gmatch._native.Later", sizeof(Later), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    return PyType_FromSpec(&spec);
  }();
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

void define_later(nb::module_& m) { m.attr("Later") = nb::handle(reinterpret_cast<PyObject*>(later_type())); }
