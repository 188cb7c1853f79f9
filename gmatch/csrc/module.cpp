// module.cpp: the programs on host threads, for Python.
#include "batch.cuh"
#include "inspection.cuh"
#include "module.hpp"
#include "programs.cuh"
#include "sparse_costs.cuh"

namespace {

// gmatch's own error, which the system's has caused.
void raise_too_few_threads(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const TooFewThreads& error) {
    const nb::object raised = nb::module_::import_("gmatch.errors").attr("BackendUnavailable")(error.what());
    nb::object cause = nb::handle(PyExc_OSError)(error.code.value(), error.code.message().c_str());
    PyException_SetCause(raised.ptr(), cause.release().ptr());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  }
}

}  // namespace

NB_MODULE(_native, m) {
  nb::register_exception_translator(raise_too_few_threads);
  define_magnitudes(m);
  define_matching(m);
  define_search(m);
  define_shortest_paths(m);
  define_sparse_assignment(m);
  nb::list report_fields;
  for (const char* name : REPORT_FIELDS) report_fields.append(name);
  m.attr("REPORT_FIELDS") = nb::tuple(report_fields);
  m.attr("PROGRESS_SIZE") = sizeof(Progress);
  // Of what Python lays out for programs on a GPU; those with duals, for each type of dual.
  nb::dict sizes;
  sizes["EDGES"] = sizeof(CsrEdges<int, int>);
  sizes["TASK"] = sizeof(Task);
  sizes["ASSIGNMENT_TASK"] = sizeof(AssignmentTask<Count>);
  sizes["SPARSE_COSTS"] = sizeof(SparseCosts<int, int, int>);
  sizes["ENTRIES"] = sizeof(Entries<int>);
  sizes["DENSE_COSTS"] = nb::make_tuple(sizeof(DenseCosts<int>), sizeof(DenseCosts<float>));
  sizes["BATCH"] = nb::make_tuple(sizeof(Batch<int>), sizeof(Batch<float>));
  m.attr("STRUCT_SIZES") = sizes;
}
