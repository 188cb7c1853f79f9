// in_front.cpp: the type of functions that have a short way in front of a function of Python. A frame of Python and a dictionary
// of options take a tenth of the time of the smallest problems. functools.update_wrapper gives these functions their attributes,
// as it does for results of functools.lru_cache.
#include "bindings/in_front.hpp"

#include <structmember.h>

#include <cstddef>

namespace {

struct InFront {
  PyObject_HEAD
  vectorcallfunc call;
  PyObject *dictionary, *weak_references;
  ShortWay short_way;
  PyObject *parts, *otherwise;
};

InFront* in_front_of(PyObject* self) { return reinterpret_cast<InFront*>(self); }

PyObject* call_in_front(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  const InFront& function = *in_front_of(self);
  PyObject* const found = function.short_way(function.parts, arguments, PyVectorcall_NARGS(flags), names);
  if (found != Py_None) return found;
  Py_DECREF(found);
  return PyObject_Vectorcall(function.otherwise, arguments, flags, names);
}

int visit_in_front(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(in_front_of(self)->dictionary);
  Py_VISIT(in_front_of(self)->parts);
  Py_VISIT(in_front_of(self)->otherwise);
  return 0;
}

int clear_in_front(PyObject* self) {
  Py_CLEAR(in_front_of(self)->dictionary);
  Py_CLEAR(in_front_of(self)->parts);
  Py_CLEAR(in_front_of(self)->otherwise);
  return 0;
}

void delete_in_front(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (in_front_of(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear_in_front(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// Shown as the function of Python behind it.
PyObject* show_in_front(PyObject* self) {
  const nb::object wrapped = nb::steal(PyObject_GetAttrString(self, "__wrapped__"));
  return wrapped.is_valid() ? PyObject_Repr(wrapped.ptr()) : nullptr;
}

// Pickled by its name, as functions are.
PyObject* reduce_in_front(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

// Bound to the objects of a class that has it, as functions are.
PyObject* bind_in_front(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  const nb::object types = nb::steal(PyImport_ImportModule("types"));
  return types.is_valid() ? PyObject_CallMethod(types.ptr(), "MethodType", "OO", self, object) : nullptr;
}

PyTypeObject* in_front_type() {
  static PyObject* const type = [] {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(InFront, call), READONLY, nullptr},
        {"__dictoffset__", T_PYSSIZET, offsetof(InFront, dictionary), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(InFront, weak_references), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static PyGetSetDef attributes[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                       {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMethodDef methods[] = {{"__reduce__", &reduce_in_front, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&delete_in_front)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(&visit_in_front)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&clear_in_front)},
                                  {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                  {Py_tp_repr, reinterpret_cast<void*>(&show_in_front)},
                                  {Py_tp_descr_get, reinterpret_cast<void*>(&bind_in_front)},
                                  {Py_tp_members, members},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, attributes},
                                  {0, nullptr}};
    static PyType_Spec spec = {"gmatch._native.InFront", sizeof(InFront), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    return PyType_FromSpec(&spec);
  }();
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

nb::object in_front(ShortWay short_way, nb::handle parts, nb::handle otherwise) {
  nb::object made = nb::steal(PyType_GenericAlloc(in_front_type(), 0));
  if (!made.is_valid()) throw nb::python_error();
  InFront& function = *in_front_of(made.ptr());
  function.call = &call_in_front;
  function.short_way = short_way;
  function.parts = parts.inc_ref().ptr();
  function.otherwise = otherwise.inc_ref().ptr();
  return made;
}
