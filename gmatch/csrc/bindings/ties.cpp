// ties.cpp: which of several cheapest assignments a rule names, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/module.hpp"
#include "bindings/serial_solvers.hpp"
#include "bindings/type_names.hpp"
#include "serial/exact/named_optimum.hpp"
#include "serial/exact/named_rows.hpp"

namespace {

NamedOptimum named_optimum(const Array<const Vertex>& rows, const Array<const Vertex>& columns,
                           const Array<const bool>& may_leave, const Array<Vertex>& row_match, int mark_bits) {
  const auto size = static_cast<Count>(rows.shape(0));
  const auto num_rows = static_cast<Vertex>(row_match.shape(0)), num_columns = static_cast<Vertex>(may_leave.shape(0));
  PairList pairs;
  pairs.rows.assign(rows.data(), rows.data() + size);
  pairs.columns.assign(columns.data(), columns.data() + size);
  std::vector<bool> may_be_free(may_leave.data(), may_leave.data() + num_columns);
  return {num_rows, num_columns, std::move(pairs), std::move(may_be_free), row_match.data(), mark_bits};
}

// Whether each of the pairs is one that another assignment may need; returns whether there are any.
bool find_choices(Array<const Vertex> rows, Array<const Vertex> columns, Array<const bool> may_leave, Array<Vertex> row_match,
                  Array<bool> is_kept) {
  const OthersMayRun others_may_run;
  return named_optimum(rows, columns, may_leave, row_match, MARK_BITS).drop_what_is_sure(is_kept.data()) > 0;
}

// Columns beyond those with names are none of the matrix.
Vertex decide_by_marks(Array<const Vertex> rows, Array<const Vertex> columns, Array<const bool> may_leave,
                       Array<Vertex> row_match, Array<const Count> row_names, Array<const Count> column_names,
                       int first_turn, int mark_bits) {
  const OthersMayRun others_may_run;
  const auto named_columns = static_cast<Vertex>(column_names.shape(0));
  const auto name_of = [&](Vertex row, Vertex column) -> Count {
    return column < named_columns ? row_names.data()[row] + column_names.data()[column] : -1;
  };
  return named_optimum(rows, columns, may_leave, row_match, mark_bits).decide(name_of, first_turn);
}

// Makes a cheapest assignment the one that the rule names. Returns how many rows had a choice; NONE if these duals do not tell
// which assignments are as cheap, or if more than MOST_LISTED pairs tie. The pairs of rows are a cheapest assignment even then.
template <class Dual>
Count settle_ties_of(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> row_match,
                     Array<Vertex> col_match, Array<Dual> u, Array<Dual> v, std::optional<Array<const bool>> must_be_used,
                     Array<const Count> row_names, Array<const Count> column_names) {
  std::vector<bool> must;
  if (must_be_used) must.assign(must_be_used->data(), must_be_used->data() + must_be_used->shape(0));
  const PairNames names{{row_names.data(), row_names.data() + row_names.shape(0)},
                        {column_names.data(), column_names.data() + column_names.shape(0)}};
  return with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const ShortestPathResult<Dual> result{u.data(), v.data(), row_match.data(), col_match.data()};
    const OthersMayRun others_may_run;
    Count with_choice = 0;
    if (problem.limit < problem.infinite()) {
      DenseCosts<decltype(entry)> not_cut_off = problem;
      not_cut_off.limit = problem.infinite();
      const CopiedRows<Dual> rows(not_cut_off), cut_off(problem);
      const bool is_settled = settle_ties_cut_off(rows, cut_off, problem.limit, result, names, with_choice);
      return is_settled ? with_choice : Count{NONE};
    }
    return settle_ties(CopiedRows<Dual>(problem), result, must, names, with_choice) ? with_choice : Count{NONE};
  });
}

template <class Dual>
void define_settle_ties(nb::module_& m) {
  m.def("settle_ties", &settle_ties_of<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "must_be_used"_a.noconvert().none(), "row_names"_a.noconvert(), "column_names"_a.noconvert());
}

}  // namespace

void define_ties(nb::module_& m) {
  define_settle_ties<Count>(m);
  define_settle_ties<double>(m);
  m.def("find_choices", &find_choices, "rows"_a.noconvert(), "columns"_a.noconvert(), "may_leave"_a.noconvert(),
        "row_match"_a.noconvert(), "is_kept"_a.noconvert());
  m.def("decide_by_marks", &decide_by_marks, "rows"_a.noconvert(), "columns"_a.noconvert(), "may_leave"_a.noconvert(),
        "row_match"_a.noconvert(), "row_names"_a.noconvert(), "column_names"_a.noconvert(), "first_turn"_a, "mark_bits"_a);
  m.attr("MARK_BITS") = MARK_BITS;
}
