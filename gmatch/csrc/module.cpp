// module.cpp: the programs on host threads, for Python.
#include "module.hpp"

NB_MODULE(_native, m) {
  define_matching(m);
  define_search(m);
  define_shortest_paths(m);
  define_sparse_assignment(m);
  nb::list report_fields;
  for (const char* name : REPORT_FIELDS) report_fields.append(name);
  m.attr("REPORT_FIELDS") = nb::tuple(report_fields);
  m.attr("PROGRESS_SIZE") = sizeof(Progress);
}
