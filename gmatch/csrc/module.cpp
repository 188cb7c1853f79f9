// module.cpp: the programs on host threads, for Python.
#include "batch.cuh"
#include "inspection.cuh"
#include "module.hpp"
#include "programs.cuh"
#include "sparse_costs.cuh"

NB_MODULE(_native, m) {
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
