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
                           const Array<const bool>& may_leave, const Array<Vertex>& row_match) {
  const auto size = static_cast<Count>(rows.shape(0));
  const auto num_rows = static_cast<Vertex>(row_match.shape(0)), num_columns = static_cast<Vertex>(may_leave.shape(0));
  PairList pairs;
  pairs.rows.assign(rows.data(), rows.data() + size);
  pairs.columns.assign(columns.data(), columns.data() + size);
  std::vector<bool> may_be_free(may_leave.data(), may_leave.data() + num_columns);
  return {num_rows, num_columns, std::move(pairs), std::move(may_be_free), row_match.data()};
}

// Whether each of the pairs is one that another assignment may need; returns whether there are any.
bool find_choices(Array<const Vertex> rows, Array<const Vertex> columns, Array<const bool> may_leave, Array<Vertex> row_match,
                  Array<bool> is_kept) {
  const OthersMayRun others_may_run;
  return named_optimum(rows, columns, may_leave, row_match).drop_what_is_sure(is_kept.data()) > 0;
}

// Makes an assignment along pairs the first one. Returns how many rows had a choice. `columns_first` says that the columns are
// the rows of the matrix as given.
Vertex take_first(Array<const Vertex> rows, Array<const Vertex> columns, Array<const bool> may_leave, Array<Vertex> row_match,
                  bool columns_first) {
  const OthersMayRun others_may_run;
  return named_optimum(rows, columns, may_leave, row_match).decide(columns_first);
}

// As take_first. Pairs are bits of rows, in whole words.
Vertex take_first_of_bits(Array<const unsigned long long> bits, Array<const bool> may_leave, Array<Vertex> row_match,
                          bool columns_first) {
  const auto num_rows = static_cast<Vertex>(row_match.shape(0)), num_columns = static_cast<Vertex>(may_leave.shape(0));
  const OthersMayRun others_may_run;
  TiedRows tied(num_rows, num_columns, row_match.data());
  const std::size_t words = tied.pairs().words();
  for (Vertex row = 0; row < num_rows; ++row) std::copy_n(bits.data() + row * words, words, tied.of_row(row));
  for (Vertex column = 0; column < num_columns; ++column) {
    if (may_leave.data()[column]) tied.let_leave(column);
  }
  return NamedRows(tied, num_columns, row_match.data()).decide(columns_first);
}

// Makes a cheapest assignment the one that the rule names. Returns how many rows had a choice; NONE if these duals do not tell
// which assignments are as cheap, or if more than MOST_LISTED pairs tie up to rounding. The pairs of rows are a cheapest
// assignment even then.
template <class Dual>
Count settle_ties_of(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> row_match,
                     Array<Vertex> col_match, Array<Dual> u, Array<Dual> v, std::optional<Array<const bool>> must_be_used,
                     bool columns_first, int threads) {
  std::vector<bool> must;
  if (must_be_used) must.assign(must_be_used->data(), must_be_used->data() + must_be_used->shape(0));
  return with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const ShortestPathResult<Dual> result{u.data(), v.data(), row_match.data(), col_match.data()};
    const OthersMayRun others_may_run;
    Count with_choice = 0;
    if (problem.limit < problem.infinite()) {
      DenseCosts<decltype(entry)> not_cut_off = problem;
      not_cut_off.limit = problem.infinite();
      const CopiedRows<Dual> rows(not_cut_off), cut_off(problem);
      const bool is_settled = settle_ties_cut_off(rows, cut_off, problem.limit, result, columns_first, with_choice, threads);
      return is_settled ? with_choice : Count{NONE};
    }
    const bool is_settled =
        settle_ties(CopiedRows<Dual>(problem), result, must, columns_first, with_choice, beyond_all(Dual{}), threads);
    return is_settled ? with_choice : Count{NONE};
  });
}

template <class Dual>
void define_settle_ties(nb::module_& m) {
  m.def("settle_ties", &settle_ties_of<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "must_be_used"_a.noconvert().none(), "columns_first"_a, "threads"_a);
}

}  // namespace

void define_ties(nb::module_& m) {
  define_settle_ties<Count>(m);
  define_settle_ties<double>(m);
  m.def("find_choices", &find_choices, "rows"_a.noconvert(), "columns"_a.noconvert(), "may_leave"_a.noconvert(),
        "row_match"_a.noconvert(), "is_kept"_a.noconvert());
  m.def("take_first", &take_first, "rows"_a.noconvert(), "columns"_a.noconvert(), "may_leave"_a.noconvert(),
        "row_match"_a.noconvert(), "columns_first"_a);
  m.def("take_first_of_bits", &take_first_of_bits, "bits"_a.noconvert(), "may_leave"_a.noconvert(), "row_match"_a.noconvert(),
        "columns_first"_a);
}
