// module.cpp: the programs on host threads, for Python.
#include "assignment/batch.cuh"
#include "assignment/munkres.cuh"
#include "bindings/errors.hpp"
#include "bindings/mirror.hpp"
#include "bindings/module.hpp"
#include "cardinality/match.cuh"
#include "cardinality/sparse_rows.cuh"
#include "core/block_passes.cuh"
#include "core/program.cuh"
#include "costs/inspection.cuh"
#include "costs/sparse.cuh"
#include "points/pairs.cuh"

namespace {

// The name of a type of numbers for NumPy.
template <class Number>
const char* name_of() {
#define GMATCH_NAME(name, Wide) \
  if (std::is_same_v<Number, Wide>) return #name;
  WIDE_TYPES(GMATCH_NAME)
#undef GMATCH_NAME
  return nullptr;
}

// The types of entries that become numbers of another type.
void define_narrow_types(nb::module_& m) {
  nb::dict narrow;
#define GMATCH_ADD(name, Stored) narrow[#name] = name_of<typename ValueOf<Stored>::type>();
  NARROW_TYPES(GMATCH_ADD)
#undef GMATCH_ADD
  m.attr("NARROW_TYPES") = narrow;
}

// The structs that Python writes for programs or reads after them; structs with duals for each type of dual.
void define_mirror(nb::module_& m) {
  mirror::add_struct<CsrEdges<int, int>, CsrEdges<Count, Count>>(m, "CsrEdges");
  mirror::add_struct<SparseCosts<int, int, int>, SparseCosts<double, Count, Count>>(m, "SparseCosts");
  mirror::add_struct<Entries<int>, Entries<double>>(m, "Entries");
  mirror::add_struct<DenseCosts<Count>, DenseCosts<int>>(m, "DenseCosts<long long>");
  mirror::add_struct<DenseCosts<double>, DenseCosts<float>>(m, "DenseCosts<double>");
  mirror::add_struct<Batch<Count>, Batch<int>>(m, "Batch<long long>");
  mirror::add_struct<Batch<double>, Batch<float>>(m, "Batch<double>");
  mirror::add_struct<BlockPass<Count>, BlockPass<double>>(m, "BlockPass");
  mirror::add_struct<Forest<Count>, Forest<double>>(m, "Forest");
  mirror::add_struct<PointWindow>(m, "PointWindow");
  mirror::add_struct<PointPairs>(m, "PointPairs");
  mirror::add_struct<BatchProblem>(m, "BatchProblem");
  mirror::add_struct<Task>(m, "Task");
  mirror::add_struct<AssignmentTask<Count>, AssignmentTask<double>>(m, "AssignmentTask");
  mirror::add_struct<Progress>(m, "Progress");
  mirror::add_struct<Report>(m, "Report");
  mirror::add_struct<CoreTrace>(m, "CoreTrace");
  mirror::add_struct<CoreFacts>(m, "CoreFacts");
  mirror::add_struct<CoreLimits>(m, "CoreLimits");
  static_assert(sizeof(CoreReport) == sizeof(Report) + sizeof(CoreTrace), "Python reads one after the other");
  mirror::add_struct<Inspection>(m, "Inspection");
  mirror::add_struct<CostInspection>(m, "CostInspection");
  mirror::add_enum<ForestKind>(m, "ForestKind");
  mirror::add_enum<Start>(m, "Start");
  mirror::add_enum<AssignmentStart>(m, "AssignmentStart");
  mirror::add_enum<MunkresForm>(m, "MunkresForm");
  mirror::add_enum<CoreStep>(m, "CoreStep");
}

}  // namespace

// Raises gmatch's own error, with the system's error as its cause.
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

NB_MODULE(_native, m) {
  define_mirror(m);
  define_narrow_types(m);
  nb::register_exception_translator(raise_too_few_threads);
  define_blocks(m);
  define_bottleneck(m);
  define_changed(m);
  define_changed_sparse(m);
  define_later(m);
  define_magnitudes(m);
  define_nested(m);
  define_matching(m);
  define_mixed(m);
  define_ranked_assignments(m);
  define_ties(m);
  define_networkx(m);
  define_rows(m);
  define_search(m);
  define_shortest_paths(m);
  define_batches(m);
  define_tiers(m);
  define_ranges(m);
  define_few_pairs(m);
  define_small(m);
  define_small_batches(m);
  define_small_results(m);
  define_small_sparse(m);
  define_sparse(m);
  define_sparse_jv(m);
  define_sparse_tree(m);
  define_parts(m);
  define_points(m);
  define_point_rows(m);
  define_block_scans(m);
  define_block_picks(m);
  define_forests(m);
}
