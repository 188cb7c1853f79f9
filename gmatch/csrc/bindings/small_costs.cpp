// small_costs.cpp: small dense problems, solved where they lie.
#include "bindings/small_costs.hpp"

#include <cstring>

#include "bindings/plain_solver.hpp"
#include "bindings/small_cells.hpp"
#include "bindings/ticks.hpp"

namespace {

// Cut off at the limit.
template <class Cost, class Dual = typename DenseCosts<Cost>::Dual>
SmallRange<Dual> minimised(const CostRange<Cost>& range, const SmallCall& call) {
  const Dual least = static_cast<Dual>(range.lowest), most = static_cast<Dual>(range.highest);
  SmallRange<Dual> costs{call.maximize ? -most : least, call.maximize ? -least : most, 0, DenseCosts<Cost>::infinite()};
  costs.greatest_entry = costs.highest;
  if (call.limit == nullptr) return costs;
  const Dual limit = call.limit->of(Dual{}, call.maximize);
  const bool forbids = range.plus_inf || range.minus_inf;
  if (!forbids && limit >= costs.highest) return costs;  // no cost is above the limit
  costs.limit = limit;
  costs.lowest = std::min(costs.lowest, limit);
  costs.highest = forbids ? limit : std::min(costs.highest, limit);
  return costs;
}

}  // namespace

template <class Cost>
bool solve_plain(const SmallMatrix<Cost>& given, const CostRange<Cost>& range, const SmallCall& call, bool exact, Count* cells,
                 std::vector<Count>& words) {
  using Dual = typename DenseCosts<Cost>::Dual;
  const auto [rows, columns] = given.shape;
  const Count begin = ticks();
  const bool transposed = rows > columns || (rows == columns && std::abs(given.stride[0]) < std::abs(given.stride[1]));
  const Vertex fewer = given.fewer();
  const SmallRange<Dual> of_costs = minimised(range, call);
  const DenseCosts<Cost> stored{fewer, given.more(), given.entries, given.stride[transposed], given.stride[!transposed],
                                call.maximize, of_costs.limit};
  SmallCells<Dual> found(cells, rows, columns);
  const ShortestPathResult<Dual> result = found.result(transposed);
  PlainSolver<Cost> solver(call, of_costs, exact, transposed, result, words);
  if (!with_rows_side_by_side(stored, 1, [&](const auto& costs) { return solver.solve(costs); })) return false;
  const auto entry = [&](Vertex row, Vertex column) {
    return given.entries[row * given.stride[0] + column * given.stride[1]];
  };
  if (of_costs.limit < stored.infinite()) found.drop_dear_pairs(rows, call.maximize, of_costs.limit, entry);
  found.note_pairs(rows, entry);
  found.note_counters(solver.counted(), 0, ticks() - begin);
  reinterpret_cast<SmallCounters*>(cells)->rows_with_choice = solver.with_choice();
  return true;
}

namespace {

// Fills the cells for integers with a limit that has a fraction: by floats, unless no cost is above the limit.
template <class Cost>
bool solve_with_fraction(const SmallMatrix<Cost>& given, const CostRange<Cost>& range, SmallCall call, Count* cells,
                         std::vector<Count>& words) {
  const double limit = call.limit->number;
  const double lowest = static_cast<double>(range.lowest), highest = static_cast<double>(range.highest);
  constexpr double EXACT = 0x1p53;
  if (!(std::abs(limit) < EXACT)) return false;  // a large float is whole, or no number
  if (call.maximize ? limit <= lowest : limit >= highest) {
    call.limit = nullptr;
    return is_plain(range, call) && solve_plain(given, range, call, true, cells, words);
  }
  if (!(-EXACT < lowest && highest < EXACT)) return false;
  const auto [rows, columns] = given.shape;
  std::vector<double> entries(static_cast<std::size_t>(rows) * columns);
  double* entry = entries.data();
  for (Vertex row = 0; row < rows; ++row) {
    const Cost* from = given.entries + row * given.stride[0];
    for (Vertex column = 0; column < columns; ++column) *entry++ = static_cast<double>(from[column * given.stride[1]]);
  }
  const CostRange<double> same{lowest, highest, false, false, false};
  if (!is_plain(same, call)) return false;
  return solve_plain(SmallMatrix<double>{entries.data(), {rows, columns}, {columns, 1}}, same, call, false, cells, words);
}

// The answer for a matrix without rows or columns: all vertices are free, and all duals are 0. Duals are integers, or floats, as
// for a matrix of zeros.
template <class Cost>
void leave_free(const SmallMatrix<Cost>& given, const SmallCall& call, Count* cells) {
  using Cells = SmallCells<typename DenseCosts<Cost>::Dual>;
  std::memset(cells, 0, mirror::bytes<Cells>(given.shape[0], given.shape[1]));
  const Cells found(cells, given.shape[0], given.shape[1]);
  std::fill_n(found.row_match, given.shape[0], NONE);
  std::fill_n(found.col_match, given.shape[1], NONE);
  const bool has_fraction = call.limit != nullptr && !call.limit->is_whole && call.limit->of(0.0, call.maximize) < 0;
  reinterpret_cast<SmallCounters*>(cells)->whole_duals = std::numeric_limits<Cost>::is_integer && !has_fraction;
}

// Fills the cells for costs in which NaN forbids pairs, from a copy in which an infinity stands for NaN.
template <class Cost>
bool solve_without_nan(const SmallMatrix<Cost>& given, const SmallCall& call, Count* cells, std::vector<Count>& words) {
  std::vector<Cost> entries;
  const SmallMatrix<Cost> copy = copied_with_long_lines(given, entries);
  const Cost never = std::copysign(std::numeric_limits<Cost>::infinity(), call.maximize ? Cost{-1} : Cost{1});
  std::replace_if(entries.begin(), entries.end(), [](Cost entry) { return std::isnan(entry); }, never);
  if (!solve_small(copy, call, cells, words)) return false;
  reinterpret_cast<SmallCounters*>(cells)->has_nan = true;
  return true;
}

}  // namespace

template <class Cost>
bool solve_small(const SmallMatrix<Cost>& given, SmallCall call, Count* cells, std::vector<Count>& words) {
  if (given.fewer() == 0) {
    leave_free(given, call, cells);
    return true;
  }
  CostRange<Cost> range = empty_range<Cost>();
  add_rows(range, given.entries, given.shape[0], given.shape[1], given.stride[0], given.stride[1]);
  if constexpr (std::numeric_limits<Cost>::is_integer) {
    if (call.limit != nullptr && !call.limit->is_whole) return solve_with_fraction(given, range, call, cells, words);
  } else {
    if (range.nan && call.forbids_nan) return solve_without_nan(given, call, cells, words);
    const double largest = std::max(-static_cast<double>(range.lowest), static_cast<double>(range.highest));
    call.overflows = call.limit == nullptr && largest > FAR_FROM_OVERFLOW<Cost>;
  }
  return is_plain(range, call) && solve_plain(given, range, call, false, cells, words);
}

#define GMATCH_SMALL_SOLVERS(Cost)                                                                            \
  template bool solve_plain(const SmallMatrix<Cost>&, const CostRange<Cost>&, const SmallCall&, bool, Count*, \
                            std::vector<Count>&);                                                             \
  template bool solve_small(const SmallMatrix<Cost>&, SmallCall, Count*, std::vector<Count>&);
GMATCH_SMALL_SOLVERS(std::int32_t)
GMATCH_SMALL_SOLVERS(Count)
GMATCH_SMALL_SOLVERS(float)
GMATCH_SMALL_SOLVERS(double)
