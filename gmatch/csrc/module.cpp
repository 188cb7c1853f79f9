// module.cpp: the programs on host threads, for Python.
#include "batch.cuh"
#include "core_assignment.cuh"
#include "inspection.cuh"
#include "module.hpp"
#include "module_mirror.hpp"
#include "munkres.cuh"
#include "programs.cuh"
#include "sparse_costs.cuh"

namespace {

// What Python lays out for programs, or reads of what they found; those with duals, for each type of dual.
void define_mirror(nb::module_& m) {
  mirror::add_struct<CsrEdges<int, int>, CsrEdges<Count, Count>>(m, "CsrEdges");
  mirror::add_struct<SparseCosts<int, int, int>, SparseCosts<double, Count, Count>>(m, "SparseCosts");
  mirror::add_struct<Entries<int>, Entries<double>>(m, "Entries");
  mirror::add_struct<DenseCosts<Count>, DenseCosts<int>>(m, "DenseCosts<long long>");
  mirror::add_struct<DenseCosts<double>, DenseCosts<float>>(m, "DenseCosts<double>");
  mirror::add_struct<Batch<Count>, Batch<int>>(m, "Batch<long long>");
  mirror::add_struct<Batch<double>, Batch<float>>(m, "Batch<double>");
  mirror::add_struct<BatchProblem>(m, "BatchProblem");
  mirror::add_struct<Task>(m, "Task");
  mirror::add_struct<AssignmentTask<Count>, AssignmentTask<double>>(m, "AssignmentTask");
  mirror::add_struct<Progress>(m, "Progress");
  mirror::add_struct<Report>(m, "Report");
  mirror::add_struct<CoreTrace>(m, "CoreTrace");
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

NB_MODULE(_native, m) {
  define_mirror(m);
  define_bottleneck(m);
  define_magnitudes(m);
  define_matching(m);
  define_ranked_assignments(m);
  define_search(m);
  define_shortest_paths(m);
  define_sparse_assignment(m);
}
