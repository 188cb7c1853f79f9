// serial.cpp: dense assignment by serial shortest paths, small problems, and batches, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "assignment/batch.cuh"
#include "bindings/errors.hpp"
#include "bindings/in_front.hpp"
#include "bindings/later.hpp"
#include "bindings/mirror.hpp"
#include "bindings/module.hpp"
#include "bindings/numpy_arrays.hpp"
#include "bindings/type_names.hpp"
#include "costs/magnitudes.hpp"
#include "costs/sparse.cuh"
#include "serial/core_search.hpp"
#include "serial/named_optimum.hpp"
#include "serial/only_optimum.hpp"
#include "serial/shortest_path.hpp"
#include "serial/sparse_shortest_path.hpp"
#include "serial/stored_matrix.hpp"
#include "serial/tiers.hpp"

namespace {

// Integer costs too far from zero for the marks of the serial method, moved to where the least of them is zero.
struct MovedCosts {
  const std::unique_ptr<Count[]> entries;
  DenseCosts<Count> costs;
  Count offset;

  MovedCosts(const DenseCosts<Count>& from, Count least)
      : entries(new Count[static_cast<std::size_t>(from.num_rows) * from.num_columns]), costs(from), offset(least) {
    Count* entry = entries.get();
    Poll poll;
    for (Vertex row = 0; row < from.num_rows; ++row) {
      for (Vertex column = 0; column < from.num_columns; ++column) *entry++ = from.at(row, column) - offset;
      poll.spend(from.num_columns);
    }
    costs = {from.num_rows, from.num_columns, entries.get(), from.num_columns, 1, false, from.infinite()};
  }
};

template <class Stored>
Vertex solve_serially(const DenseCosts<Stored>& costs, const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                      const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                      ShortestPathCounters& counters) {
  if constexpr (std::is_same_v<Stored, Count>) {
    if (options.least_cost < -Distance<Count>::MAX_COST || options.greatest_cost > Distance<Count>::MAX_COST) {
      const MovedCosts moved(costs, options.least_cost);
      const Count spread = options.greatest_cost - options.least_cost;
      const Vertex size = solve_by_shortest_paths(moved.costs, {0, spread, false}, result, counters);
      for (Vertex row = 0; row < costs.num_rows; ++row) result.u[row] += moved.offset;
      return size;
    }
  }
  return solve_by_shortest_paths(costs, options, result, counters);
}

template <class Dual>
nb::dict assign_jv(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Dual least_cost,
                   Dual greatest_cost, Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u, Array<Dual> v,
                   bool has_duals) {
  ShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const Vertex size = with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return solve_serially(problem, {least_cost, greatest_cost, has_duals},
                          {u.data(), v.data(), row_match.data(), col_match.data()}, counted);
  });
  return to_dict(size, 0, counted, lap(clock, now));
}

// Solves by the core on one processor; if the core gives up, in the whole matrix, from the present duals. The whole matrix is
// tried first, if that is allowed, where searches may be few and short: from given duals, since costs have often changed
// little, and if columns may stay free, since most rows then have their best column. Returns how many rows are matched.
template <class Stored>
Vertex solve_by_core_or_matrix(const DenseCosts<Stored>& costs,
                               const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options, bool may_begin_in_matrix,
                               int threads, const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                               CoreCounters& counted) {
  if (costs.column_stride != 1) {
    return with_rows_side_by_side(costs, threads, [&](const auto& side_by_side) {
      return solve_by_core_or_matrix(side_by_side, options, may_begin_in_matrix, threads, result, counted);
    });
  }
  const bool columns_may_stay_free = costs.num_rows < costs.num_columns || costs.limit < costs.infinite();
  const bool begins_in_matrix =
      may_begin_in_matrix && (options.start_from_duals || (columns_may_stay_free && threads == 1));
  const bool has_duals = options.start_from_duals || begins_in_matrix;
  if (begins_in_matrix) {
    ShortestPathOptions<typename DenseCosts<Stored>::Dual> while_short = options;
    while_short.may_give_up = true;
    counted.trace.add(CoreStep::search_matrix);
    const Vertex size = solve_serially(costs, while_short, result, counted.dense);
    if (size != NONE) return size;
  }
  // With most pairs at the greatest cost, the whole matrix takes the fewest passes.
  const bool has_core = has_duals || costs.num_rows < costs.num_columns ||
                        !mostly_costs(costs, costs.num_rows, options.greatest_cost);
  if (!has_core) counted.trace.add(CoreStep::sample);
  // Free columns must have v = 0 at the end. The core begins with v = 0, unless all columns are taken.
  const bool goes_on = has_duals && costs.num_rows == costs.num_columns;
  const Vertex size = has_core ? solve_by_core(costs, goes_on, threads, result, counted) : NONE;
  if (size != NONE) return size;
  counted.trace.add(CoreStep::search_matrix);
  const bool from_duals = has_duals || counted.sparse.augmentations > 0;
  return solve_serially(costs, {options.least_cost, options.greatest_cost, from_duals}, result, counted.dense);
}

template <class Dual>
nb::dict assign_core_jv(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Dual least_cost,
                        Dual greatest_cost, Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u, Array<Dual> v,
                        bool has_duals, bool may_begin_in_matrix, int threads) {
  CoreCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const Vertex size = with_stored<Dual>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return solve_by_core_or_matrix(problem, {least_cost, greatest_cost, has_duals}, may_begin_in_matrix, threads,
                                   {u.data(), v.data(), row_match.data(), col_match.data()}, counted);
  });
  nb::dict report = to_dict(size, counted.sparse.start_size, counted.sparse, lap(clock, now));
  report["phases"] = counted.sparse.augmentations + counted.dense.augmentations;
  report["levels"] = report["rows_scanned"] = counted.sparse.rows_scanned + counted.dense.rows_scanned;
  report["dual_steps"] = counted.sparse.dual_updates + counted.dense.dual_updates;
  report["edges_inspected"] = counted.sparse.entries_read + counted.dense.entries_read;
  report["repricings"] = counted.times_learned;
  report["price_ns"] = counted.price_ns;
  report["search_ns"] = nb::cast<Count>(report["search_ns"]) - counted.price_ns;
  report["gave_up"] = counted.trace.ends_with(CoreStep::search_matrix);
  report["trace"] = to_tuple(counted.trace);
  return report;
}

// Duals in tiers as words of 8 bytes: of each tier its value and the duals of rows and of columns in it; then the rests u and
// v. `turned`: rows are the columns of the solver.
std::vector<Count> words_of(const TierSolver& solver, const ShortestPathResult<double>& result, Vertex rows, Vertex columns,
                            bool turned) {
  std::vector<Count> words(solver.tiers().size() * (1 + rows + columns) + rows + columns);
  Count* next = words.data();
  const auto add_bits = [&](const double* numbers, Vertex length) {
    std::memcpy(next, numbers, length * sizeof(double));
    next += length;
  };
  const auto add_whole = [&](const ShortVector<double>& numbers, Vertex length) {
    for (Vertex k = 0; k < length; ++k) *next++ = static_cast<Count>(numbers[k]);
  };
  const auto add_sides = [&](auto add_row_side, auto add_column_side) {
    if (turned) add_column_side();
    add_row_side();
    if (!turned) add_column_side();
  };
  for (const Tier& tier : solver.tiers()) {
    add_bits(&tier.value, 1);
    add_sides([&] { add_whole(tier.rows, rows); }, [&] { add_whole(tier.columns, columns); });
  }
  add_sides([&] { add_bits(result.u, rows); }, [&] { add_bits(result.v, columns); });
  return words;
}

// The sum of a dual's parts.
double nearest(double total, const ShortVector<Tier>& tiers, ShortVector<double> Tier::* side, Vertex number) {
  for (auto tier = tiers.rbegin(); tier != tiers.rend(); ++tier) total += tier->value * ((*tier).*side)[number];
  constexpr double LARGEST = std::numeric_limits<double>::max();
  return std::clamp(total, -LARGEST, LARGEST);
}

// Solves costs in tiers, of which the duals of a solution hide some, or from the solution of `lowered` costs; see
// serial/tiers.hpp. If that is done, u and v become the nearest to the duals in tiers, which `words` holds. settle(rests,
// solver) is called in between; if it returns false, all is open.
template <class Stored, class Settle>
TierOutcome solve_in_tiers(const DenseCosts<Stored>& costs, double lowest, double highest, bool turned,
                           const ShortestPathResult<double>& result, ShortestPathCounters& counters,
                           std::vector<Count>& words, const Settle& settle, const LoweredCosts* lowered = nullptr) {
  return with_rows_side_by_side(costs, 1, [&](const auto& side_by_side) {
    const Vertex rows = costs.num_rows, columns = costs.num_columns;
    TierSolver solver(CopiedRows<double>(side_by_side), lowest, highest, result, counters);
    const TierOutcome outcome = lowered != nullptr ? solver.solve_lowered(*lowered) : solver.solve();
    if (outcome != TierOutcome::solved) return outcome;
    words = words_of(solver, result, rows, columns, turned);
    if (!settle(solver.rests(), solver)) return TierOutcome::open;
    for (Vertex row = 0; row < rows; ++row) result.u[row] = nearest(result.u[row], solver.tiers(), &Tier::rows, row);
    for (Vertex j = 0; j < columns; ++j) result.v[j] = nearest(result.v[j], solver.tiers(), &Tier::columns, j);
    return outcome;
  });
}

nb::object bytes_of(const std::vector<Count>& words) {
  return nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Count)));
}

// None if there are no words.
nb::object duals_in_tiers(const std::vector<Count>& words) { return words.empty() ? nb::none() : bytes_of(words); }

// The outcome, the words of the duals in tiers, and what was counted.
nb::tuple assign_in_tiers(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, double lowest,
                          double highest, Array<Vertex> row_match, Array<Vertex> col_match, Array<double> u,
                          Array<double> v,
                          std::optional<nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>> rests) {
  ShortestPathCounters counted{};
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  std::vector<Count> words;
  const TierOutcome outcome = with_stored<double>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    const auto write_rests = [&](RestRows& rows, const TierSolver&) {
      for (Vertex row = 0; row < rows.num_rows() && rests; ++row) {
        std::copy_n(rows.entries(row), rows.num_columns(), rests->data() + row * Count{rows.num_columns()});
      }
      return true;
    };
    return solve_in_tiers(problem, lowest, highest, false, {u.data(), v.data(), row_match.data(), col_match.data()}, counted,
                          words, write_rests);
  });
  return nb::make_tuple(static_cast<int>(outcome), duals_in_tiers(words),
                        to_dict(static_cast<Vertex>(row_match.shape(0)), 0, counted, lap(clock, now)));
}

// Whether no other assignment is as cheap as this one, which is complete. Only assignments that use the columns that must be
// used count. A pair above the limit is no pair.
template <class Dual>
bool is_only_optimum_of(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit,
                        Array<Vertex> row_match, Array<Vertex> col_match, Array<Dual> u, Array<Dual> v,
                        std::optional<Array<const bool>> must_be_used) {
  std::vector<bool> must;
  if (must_be_used) must.assign(must_be_used->data(), must_be_used->data() + must_be_used->shape(0));
  return with_stored<Dual>(stored, [&](auto entry) {
    using Stored = decltype(entry);
    const auto problem = dense_costs<Stored>(costs, maximize, limit);
    const ShortestPathResult<Dual> result{u.data(), v.data(), row_match.data(), col_match.data()};
    const OthersMayRun others_may_run;
    if constexpr (!IS_NARROW<Stored>) {
      if (problem.column_stride == 1) return is_only_optimum(problem, result, must);
    }
    DenseCosts<Stored> not_cut_off = problem;  // copies would be cut off at the limit
    not_cut_off.limit = problem.infinite();
    return OnlyOptimum<CopiedRows<Dual>, Dual>(CopiedRows<Dual>(not_cut_off), problem.limit, result, must).is_only();
  });
}

// The most vertices on the shorter side of a small problem; and of one during which other Python threads wait.
constexpr Vertex SMALL_SIDE = 512, VERY_SMALL_SIDE = 64;
// The most vertices on the shorter side of a small sparse problem.
constexpr Vertex SMALL_SPARSE_SIDE = 999;

// The range of the finite entries of a matrix, and which other entries it has.
template <class Cost>
struct CostRange {
  Cost lowest, highest;
  bool nan, plus_inf, minus_inf;

  void add(Cost entry) {
    lowest = entry < lowest ? entry : lowest;
    highest = entry > highest ? entry : highest;
  }
};

template <class Cost>
CostRange<Cost> empty_range() {
  using Limits = std::numeric_limits<Cost>;
  return {Limits::has_infinity ? Limits::infinity() : Limits::max(),
          Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), false, false, false};
}

// Passes over costs that lie side by side, which add them to a range; see run_in_lanes.

// For floats, if all are finite: 0 times infinity is not a number.
template <class Cost>
struct AddFinite {
  template <int BYTES>
  static ALWAYS_INLINE bool run(CostRange<Cost>* range, const Cost* row, Count columns) {
    constexpr int LANES = BYTES / sizeof(Cost);
    if (columns < LANES) return LANES == 1 || run<sizeof(Cost)>(range, row, columns);
    // Four at a time, since each sum waits for its last addition.
    Seen<LANES> a(*range), b = a, c = a, d = a;
    Count j = 0;
    for (; j + 4 * LANES <= columns; j += 4 * LANES) {
      a.add(row + j);
      b.add(row + j + LANES);
      c.add(row + j + 2 * LANES);
      d.add(row + j + 3 * LANES);
    }
    for (; j + LANES <= columns; j += LANES) a.add(row + j);
    if (j < columns) a.add(row + columns - LANES);
    a.add(b);
    c.add(d);
    a.add(c);
    if (!a.are_finite()) return false;
    range->lowest = least_of<LANES>(a.lowest);
    range->highest = -least_of<LANES>(-a.highest);
    return true;
  }

 private:
  template <int LANES>
  struct Seen {
    using Vector = Lanes<Cost, LANES>;
    Vector lowest, highest, nothing;

    ALWAYS_INLINE explicit Seen(const CostRange<Cost>& range)
        : lowest(Vector{} + range.lowest), highest(Vector{} + range.highest), nothing(Vector{}) {}
    ALWAYS_INLINE void add(const Cost* entries) {
      const Vector here = load<Cost, LANES>(entries);
      lowest = lesser(lowest, here);
      highest = greater(highest, here);
      nothing += here * 0;
    }
    ALWAYS_INLINE void add(const Seen& other) {
      lowest = lesser(lowest, other.lowest);
      highest = greater(highest, other.highest);
      nothing += other.nothing;
    }
    ALWAYS_INLINE bool are_finite() const {
      if constexpr (LANES == 1) return nothing == 0;
      else return any_of<LANES>((Lanes<IndexLike<Cost>, LANES>)(nothing != 0)) == 0;
    }
  };
};

// For any floats, in lanes.
template <class Cost>
struct AddFloats {
  template <int>
  static ALWAYS_INLINE void run(CostRange<Cost>* range, const Cost* row, Count columns) {
    constexpr int LANES = 16;
    constexpr Cost INFINITE = std::numeric_limits<Cost>::infinity();
    Cost lowest[LANES], highest[LANES], least[LANES], most[LANES], odd[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
      lowest[lane] = least[lane] = INFINITE;
      highest[lane] = most[lane] = -INFINITE;
      odd[lane] = 0;
    }
    const auto add = [&](int lane, Cost entry) {
      const Cost above = entry > -INFINITE ? entry : INFINITE, below = entry < INFINITE ? entry : -INFINITE;
      lowest[lane] = above < lowest[lane] ? above : lowest[lane];
      highest[lane] = below > highest[lane] ? below : highest[lane];
      least[lane] = entry < least[lane] ? entry : least[lane];
      most[lane] = entry > most[lane] ? entry : most[lane];
      odd[lane] = entry == entry ? odd[lane] : 1;
    };
    const Count whole = columns / LANES * LANES;
    for (Count begin = 0; begin < whole; begin += LANES) {
      for (int lane = 0; lane < LANES; ++lane) add(lane, row[begin + lane]);
    }
    for (Count column = whole; column < columns; ++column) add(static_cast<int>(column - whole), row[column]);
    for (int lane = 0; lane < LANES; ++lane) {
      range->lowest = std::min(range->lowest, lowest[lane]);
      range->highest = std::max(range->highest, highest[lane]);
      range->minus_inf |= least[lane] == -INFINITE;
      range->plus_inf |= most[lane] == INFINITE;
      range->nan |= odd[lane] != 0;
    }
  }
};

template <class Cost>
struct AddIntegers {
  template <int>
  static ALWAYS_INLINE void run(CostRange<Cost>* range, const Cost* row, Count columns) {
    CostRange<Cost> here = *range;
    for (Count column = 0; column < columns; ++column) here.add(row[column]);
    *range = here;
  }
};

template <class Cost>
void add_row(CostRange<Cost>& range, const Cost* row, Count columns, Count stride) {
  if (stride == 1) {
    const std::size_t bytes = columns * sizeof(Cost);
    if constexpr (!std::numeric_limits<Cost>::has_infinity) {
      run_in_lanes<AddIntegers<Cost>>(bytes, &range, row, columns);
    } else if (range.plus_inf || range.minus_inf || !run_in_lanes<AddFinite<Cost>>(bytes, &range, row, columns)) {
      run_in_lanes<AddFloats<Cost>>(bytes, &range, row, columns);
    }
    return;
  }
  CostRange<Cost> here = range;
  if constexpr (std::numeric_limits<Cost>::has_infinity) {
    const Cost infinity = std::numeric_limits<Cost>::infinity();
    bool nan = false, plus_inf = false, minus_inf = false;
    for (Count column = 0; column < columns; ++column) {
      const Cost entry = row[column * stride];
      nan |= entry != entry;
      plus_inf |= entry == infinity;
      minus_inf |= entry == -infinity;
      here.lowest = entry < here.lowest && entry != -infinity ? entry : here.lowest;
      here.highest = entry > here.highest && entry != infinity ? entry : here.highest;
    }
    here.nan |= nan;
    here.plus_inf |= plus_inf;
    here.minus_inf |= minus_inf;
  } else {
    for (Count column = 0; column < columns; ++column) here.add(row[column * stride]);
  }
  range = here;
}

// A matrix in one piece is one long row.
template <class Cost>
void add_rows(CostRange<Cost>& range, const Cost* entries, Count rows, Count columns, Count row_stride,
              Count column_stride) {
  const bool by_rows = column_stride == 1 && row_stride == columns;
  const bool by_columns = row_stride == 1 && column_stride == rows;
  if (by_rows || by_columns) return add_row(range, entries, rows * columns, 1);
  for (Count row = 0; row < rows; ++row) add_row(range, entries + row * row_stride, columns, column_stride);
}

// The counters of a small call, and the shape and type of its costs.
struct SmallCounters {
  Count augmentations, rows_scanned, dual_updates, entries_read, nanoseconds, start_size, size;
  Count rows, columns, type_of_costs;  // of the costs; a letter
  Count rows_with_choice;
  Count whole_duals;  // whether duals are integers

  FIELDS(SmallCounters, augmentations, rows_scanned, dual_updates, entries_read, nanoseconds, start_size, size, rows, columns,
         type_of_costs, rows_with_choice, whole_duals)
};

// A small matrix where it lies; rows first, strides in entries.
template <class Cost>
struct SmallMatrix {
  const Cost* entries;
  Vertex shape[2];
  Count stride[2];

  Vertex fewer() const { return std::min(shape[0], shape[1]); }
  Vertex more() const { return std::max(shape[0], shape[1]); }
};

// A limit that a small call was given: a number, also as an integer if it is whole and no float has more bits.
struct SmallLimit {
  double number;
  Count whole;
  bool is_whole;

  // The limit of the minimisation form, for duals of either type.
  Count of(Count, bool maximize) const { return maximize ? -whole : whole; }
  double of(double, bool maximize) const { return maximize ? -number : number; }
};

// The options of a small call.
struct SmallCall {
  bool maximize, may_be_equal;
  const SmallLimit* limit = nullptr;
  bool deterministic = false;  // whether ties are decided by the rule
  bool overflows = false;      // whether sums of costs may overflow
};

// Costs up to this magnitude need no second look: their sums are far from every overflow. Sums of floats are in the doubles of
// the duals.
template <class Cost>
constexpr double FAR_FROM_OVERFLOW = std::numeric_limits<Cost>::is_integer ? 0x1p56
                                     : std::is_same_v<Cost, float>         ? std::numeric_limits<float>::max()
                                                                           : 1e290;
template <class Cost>
bool is_plain(const CostRange<Cost>& range, const SmallCall& call) {
  const double far = call.overflows ? std::numeric_limits<double>::max() : FAR_FROM_OVERFLOW<Cost>;
  const bool is_refused = range.nan || (call.maximize ? range.plus_inf : range.minus_inf);
  if (call.limit != nullptr) {
    const bool fits = !std::numeric_limits<Cost>::is_integer || call.limit->is_whole;
    if (!fits || !(std::abs(call.limit->number) <= far) || range.lowest > range.highest) return false;
  }
  return !is_refused && range.lowest >= -far && range.highest <= far && (call.may_be_equal || range.lowest != range.highest);
}

// The range of the costs of the minimisation form, cut off at the limit.
template <class Dual>
struct SmallRange {
  Dual lowest, highest, greatest_entry, limit;
};
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

// Whether the duals need the second look of gmatch/tiers.py.
template <class Cost, class Dual>
bool hides_costs(const DenseCosts<Cost>& costs, const ShortestPathResult<Dual>& result, Dual lowest, Dual highest) {
  const double largest =
      std::max(largest_magnitude(result.u, costs.num_rows), largest_magnitude(result.v, costs.num_columns));
  return duals_hide_costs(costs.num_rows, largest, lowest, highest, [&](Vertex row) {
    return costs.costs[row * costs.row_stride + result.row_match[row] * costs.column_stride];
  });
}

// The answer of a small call, in one piece of memory, which is the cheapest to make. Python takes it apart when a field is asked
// for. Pairs are in the order of the rows. Their columns come again at the very end, as numbers of 32 bits.
template <class Dual>
struct SmallCells {
  Count* counters;  // SmallCounters
  Count *pair_rows, *pair_columns;
  Dual *pair_costs, *u, *v;
  Vertex *row_match, *col_match, *pair_columns_32;

  // Visits each array in its order: its name, its member, and how many entries it has.
  template <class Visit>
  static void each(Count pairs, Count rows, Count columns, Visit visit) {
    visit("counters", &SmallCells::counters, static_cast<Count>(sizeof(SmallCounters) / sizeof(Count)));
    visit("pair_rows", &SmallCells::pair_rows, pairs);
    visit("pair_columns", &SmallCells::pair_columns, pairs);
    visit("pair_costs", &SmallCells::pair_costs, pairs);
    visit("u", &SmallCells::u, rows);
    visit("v", &SmallCells::v, columns);
    visit("row_match", &SmallCells::row_match, rows);
    visit("col_match", &SmallCells::col_match, columns);
    visit("pair_columns_32", &SmallCells::pair_columns_32, pairs);
  }

  // The number of pairs: fewer than there is room for, if a limit left some out.
  Count& size() const { return reinterpret_cast<SmallCounters*>(counters)->size; }

  SmallCells(Count* cells, Vertex rows, Vertex columns) { mirror::lay_out(*this, cells, rows, columns); }

  // The arrays that a solver writes. Its rows are the columns if the problem is transposed.
  ShortestPathResult<Dual> result(bool transposed) const {
    if (transposed) return {v, u, col_match, row_match};
    return {u, v, row_match, col_match};
  }

  // Frees the pairs that cost more than the limit.
  template <class EntryOf>
  void drop_dear_pairs(Vertex rows, bool maximize, Dual limit, const EntryOf& entry) {
    for (Vertex row = 0; row < rows; ++row) {
      const Vertex column = row_match[row];
      if (column == NONE) continue;
      const Dual value = static_cast<Dual>(entry(row, column));
      if ((maximize ? -value : value) > limit) row_match[row] = col_match[column] = NONE;
    }
  }

  // The pairs in the order of the rows. entry(row, column) is the entry of a pair.
  template <class EntryOf>
  void note_pairs(Vertex rows, const EntryOf& entry) {
    Count* to = pair_rows;
    for (Vertex row = 0; row < rows; ++row) {
      const Vertex column = row_match[row];
      if (column == NONE) continue;
      const Count k = to - pair_rows;
      *to++ = row;
      pair_columns[k] = pair_columns_32[k] = column;
      pair_costs[k] = static_cast<Dual>(entry(row, column));
    }
    size() = to - pair_rows;
  }

  template <class Counters>
  void note_counters(const Counters& counted, Count start_size, Count ns) {
    const Count pairs = size();
    auto* const noted = new (counters) SmallCounters{counted.augmentations, counted.rows_scanned, counted.dual_updates,
                                                     counted.entries_read,  ns,                   start_size,
                                                     pairs};
    noted->whole_duals = std::numeric_limits<Dual>::is_integer;
  }
};

template <class Cost, class NameOf, class Dual = typename DenseCosts<Cost>::Dual>
bool settle_ties_of(const DenseCosts<Cost>& costs, const ShortestPathResult<Dual>& result, const NameOf& name_of,
                    Count& with_choice) {
  if (costs.maximize) return settle_ties(StoredRows<Cost, Dual, true>{costs}, result, {}, name_of, with_choice);
  return settle_ties(StoredRows<Cost, Dual, false>{costs}, result, {}, name_of, with_choice);
}

// Fills the cells; false if there is no assignment. The costs are plain. Unless they are exact, as integers are, duals may
// hide some of them: then there are words of duals in tiers, too.
template <class Cost>
bool solve_plain(const SmallMatrix<Cost>& given, const CostRange<Cost>& range, const SmallCall& call, bool exact, Count* cells,
                 std::vector<Count>& words) {
  using Dual = typename DenseCosts<Cost>::Dual;
  const auto [rows, columns] = given.shape;
  const HostTeam clock(0, 1, nullptr);
  Count now = clock.nanoseconds();
  const bool transposed = rows > columns || (rows == columns && std::abs(given.stride[0]) < std::abs(given.stride[1]));
  const Vertex fewer = given.fewer();
  const SmallRange<Dual> of_costs = minimised(range, call);
  const DenseCosts<Cost> stored{fewer, given.more(), given.entries, given.stride[transposed], given.stride[!transposed],
                                call.maximize, of_costs.limit};
  SmallCells<Dual> found(cells, rows, columns);
  ShortestPathCounters counted{};
  const ShortestPathResult<Dual> result = found.result(transposed);
  const auto name_of = [=](Vertex row, Vertex column) -> Count {
    return transposed ? Count{column} * columns + row : Count{row} * columns + column;
  };
  Count with_choice = 0;
  // If the largest cost is far above all others, a smaller number takes its place; see LoweredCosts.
  const auto solve = [&](const DenseCosts<Cost>& costs) {
    const ShortestPathOptions<Dual> options{of_costs.lowest, of_costs.highest, false, of_costs.greatest_entry};
    LoweredCosts lowered;
    bool is_lowered = false;
    if constexpr (std::is_floating_point_v<Cost>) {
      is_lowered = !exact && !(of_costs.limit < costs.infinite()) && lowered.lower(costs, of_costs.lowest, of_costs.highest);
    }
    if (call.overflows && !is_lowered) return false;
    if constexpr (std::is_floating_point_v<Cost>) {
      const auto settle = [&](const RestRows& rests, const TierSolver& solver) {
        if (!call.deterministic) return true;
        const std::vector<bool> must = solver.must_be_used();
        return OnlyOptimum<RestRows, Dual>(rests, costs.infinite(), result, must).is_only() ||
               (call.limit == nullptr && settle_ties(rests, result, must, name_of, with_choice));
      };
      const auto solve_tiers = [&](const LoweredCosts* from) {
        return solve_in_tiers(costs, of_costs.lowest, of_costs.highest, transposed, result, counted, words, settle, from);
      };
      if (is_lowered) {
        if (solve_by_shortest_paths(lowered.costs(), lowered.options(), result, counted) < fewer) return false;
        is_lowered = solve_tiers(&lowered) != TierOutcome::open;
        if (call.overflows && !is_lowered) return false;
      }
      if (!is_lowered) {
        words.clear();  // the solution of the lowered costs is none of these costs
        with_choice = 0;
        if (solve_by_shortest_paths(costs, options, result, counted) < fewer) return false;
        if (!exact && hides_costs(costs, result, of_costs.lowest, of_costs.highest) &&
            solve_tiers(nullptr) == TierOutcome::open) {
          return false;
        }
      }
    } else if (solve_by_shortest_paths(costs, options, result, counted) < fewer) {
      return false;
    }
    const bool are_settled = !words.empty();
    if constexpr (std::is_floating_point_v<Cost>) {
      // Duals have parts only if one number hides costs, or if sums could overflow. That holds without lowered costs, too.
      const bool may_go = is_lowered && are_settled && lowered.sums_are_finite();
      if (may_go && !hides_costs(costs, result, of_costs.lowest, of_costs.highest)) words.clear();
    }
    return !call.deterministic || are_settled || is_only_optimum(costs, result) ||
           (call.limit == nullptr && settle_ties_of(costs, result, name_of, with_choice));
  };
  if (!with_rows_side_by_side(stored, 1, solve)) return false;
  const auto entry = [&](Vertex row, Vertex column) {
    return given.entries[row * given.stride[0] + column * given.stride[1]];
  };
  if (of_costs.limit < stored.infinite()) found.drop_dear_pairs(rows, call.maximize, of_costs.limit, entry);
  found.note_pairs(rows, entry);
  found.note_counters(counted, 0, lap(clock, now));
  reinterpret_cast<SmallCounters*>(cells)->rows_with_choice = with_choice;
  return true;
}

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

// Fills the cells for any costs. False also for costs that need a second look, and for equal costs, unless these are allowed.
template <class Cost>
bool solve_small(const SmallMatrix<Cost>& given, SmallCall call, Count* cells, std::vector<Count>& words) {
  CostRange<Cost> range = empty_range<Cost>();
  add_rows(range, given.entries, given.shape[0], given.shape[1], given.stride[0], given.stride[1]);
  if constexpr (std::numeric_limits<Cost>::is_integer) {
    if (call.limit != nullptr && !call.limit->is_whole) return solve_with_fraction(given, range, call, cells, words);
  } else {
    const double largest = std::max(-static_cast<double>(range.lowest), static_cast<double>(range.highest));
    call.overflows = call.limit == nullptr && !call.deterministic && largest > FAR_FROM_OVERFLOW<Cost>;
  }
  return is_plain(range, call) && solve_plain(given, range, call, false, cells, words);
}

// The memory of an array of NumPy: read once, since another thread may change its shape.
class ArrayMemory {
 public:
  explicit ArrayMemory(nb::handle object) {
    if (Py_TYPE(object.ptr()) != numpy::Table::get().array_type()) return;
    const auto& array = *reinterpret_cast<const numpy::Array*>(object.ptr());
    // An array of another byte order than this machine's is not solved here.
    entry_size_ = array.type->byte_order == '=' ? size_of(array.type->letter) : 0;
    if (entry_size_ == 0 || array.num_dimensions < 1 || array.num_dimensions > MOST_DIMENSIONS) return;
    data_ = array.data;
    type_ = array.type->letter;
    num_dimensions_ = array.num_dimensions;
    auto of_whole = reinterpret_cast<std::uintptr_t>(data_);
    Py_ssize_t in_one_piece = entry_size_;
    for (int k = num_dimensions_ - 1; k >= 0; --k) {
      length_[k] = array.shape[k];
      stride_[k] = length_[k] > 1 ? array.strides[k] : in_one_piece;  // a stride of one entry can be anything
      in_one_piece *= length_[k];
      of_whole |= static_cast<std::uintptr_t>(stride_[k]);
    }
    lies_on_entries_ = of_whole % static_cast<std::uintptr_t>(entry_size_) == 0;
  }

  // 0 if it is no array of a type that is solved here.
  int num_dimensions() const { return num_dimensions_; }
  bool lies_on_entries() const { return lies_on_entries_; }
  bool is_small_matrix() const {
    if (num_dimensions_ != 2 || !lies_on_entries_) return false;
    const auto [fewer, more] = std::minmax(length_[0], length_[1]);
    return fewer > 0 && fewer <= SMALL_SIDE && fewer + more <= 4 * SMALL_SIDE;
  }
  bool is_list() const { return num_dimensions_ == 1 && lies_on_entries_; }
  // In entries.
  Py_ssize_t stride(int dimension = 0) const { return stride_[dimension] / entry_size_; }
  template <class T>
  const T* data() const { return static_cast<const T*>(data_); }
  // A letter of Python's struct.
  char type() const { return type_; }
  Py_ssize_t entry_size() const { return entry_size_; }
  Py_ssize_t length(int dimension) const { return length_[dimension]; }
  template <class Cost>
  SmallMatrix<Cost> matrix() const { return matrix_from(data<Cost>(), 0); }
  // A matrix of an array of three dimensions.
  template <class Cost>
  SmallMatrix<Cost> matrix(Py_ssize_t number) const { return matrix_from(data<Cost>() + number * stride(), 1); }

 private:
  static constexpr int MOST_DIMENSIONS = 3;

  // The matrix of the dimension of its rows, and the next one.
  template <class Cost>
  SmallMatrix<Cost> matrix_from(const Cost* entries, int rows) const {
    return {entries,
            {static_cast<Vertex>(length_[rows]), static_cast<Vertex>(length_[rows + 1])},
            {stride(rows), stride(rows + 1)}};
  }
  // The size of a type that is solved here; 0 for others.
  static Py_ssize_t size_of(char letter) {
    switch (letter) {
      case 'd': return sizeof(double);
      case 'f': return sizeof(float);
      case 'i': return sizeof(int);
      case 'l': return sizeof(long);
      case 'q': return sizeof(long long);
      default: return 0;
    }
  }

  const void* data_ = nullptr;
  Py_ssize_t entry_size_ = 0, length_[MOST_DIMENSIONS] = {}, stride_[MOST_DIMENSIONS] = {};
  int num_dimensions_ = 0;
  bool lies_on_entries_ = false;
  char type_ = 0;
};

// The number of words that the cells of a matrix take. It is equal for both types of duals.
Count words_of_cells(Count rows, Count columns) {
  return (mirror::bytes<SmallCells<Count>>(rows, columns) + sizeof(Count) - 1) / sizeof(Count);
}
nb::object new_cells(Count rows, Count columns) { return new_words(words_of_cells(rows, columns)); }
Count* first_of(nb::handle cells) { return first_word(cells); }

// The rows and the columns of the pairs in cells, which lie in the memory of `base`.
template <class Index>
nb::tuple pairs_in(nb::handle base, Count* cells, Vertex rows, Vertex columns, Index* SmallCells<Count>::* columns_of_pairs) {
  const SmallCells<Count> found(cells, rows, columns);
  const numpy::Table& numpy = numpy::Table::get();
  return nb::make_tuple(numpy.view(base, found.pair_rows, found.size()),
                        numpy.view(base, found.*columns_of_pairs, found.size()));
}

// A matrix cut out of a wider one has short lines far apart. It is copied so that the longer lines lie in one piece.
template <class Cost>
SmallMatrix<Cost> with_long_lines(const SmallMatrix<Cost>& given, std::vector<Cost>& memory) {
  const auto [rows, columns] = given.shape;
  const auto [row_stride, column_stride] = given.stride;
  const bool by_rows = rows <= columns;
  const bool is_one_piece = (column_stride == 1 && row_stride == columns) || (row_stride == 1 && column_stride == rows);
  if (is_one_piece || (by_rows ? column_stride : row_stride) == 1) return given;
  memory.resize(static_cast<std::size_t>(rows) * columns);
  const SmallMatrix<Cost> copy{memory.data(), {rows, columns}, {by_rows ? columns : 1, by_rows ? 1 : rows}};
  for (Vertex row = 0; row < rows; ++row) {
    const Cost* const from = given.entries + row * row_stride;
    Cost* const to = memory.data() + row * copy.stride[0];
    for (Vertex column = 0; column < columns; ++column) to[column * copy.stride[1]] = from[column * column_stride];
  }
  return copy;
}

template <class Cost>
nb::object cells_of(const SmallMatrix<Cost>& given, const SmallCall& call, std::vector<Count>& words) {
  nb::object cells = new_cells(given.shape[0], given.shape[1]);
  std::optional<OthersMayRun> others_may_run;
  if (given.fewer() > VERY_SMALL_SIDE) others_may_run.emplace();
  std::vector<Cost> memory;
  const bool solved = solve_small(with_long_lines(given, memory), call, first_of(cells), words);
  others_may_run.reset();
  return solved ? cells : nb::none();
}

// The cells of a matrix of costs. None if the costs are large, of another type, or equal (unless that is allowed), or if they
// need another way, or have no assignment.
nb::object assign_small_for(const ArrayMemory& memory, const SmallCall& call, std::vector<Count>& words) {
  if (!memory.is_small_matrix()) return nb::none();
  const char type = memory.type();
  if (type == 'd') return cells_of(memory.matrix<double>(), call, words);
  if (type == 'f') return cells_of(memory.matrix<float>(), call, words);
  if (type != 'i' && type != 'l' && type != 'q') return nb::none();
  if (memory.entry_size() == 4) return cells_of(memory.matrix<std::int32_t>(), call, words);
  return cells_of(memory.matrix<Count>(), call, words);
}
// The pairs alone, with numbers of 64 bits for both sides.
nb::object pairs_small(nb::handle costs, bool maximize) {
  std::vector<Count> words;
  const ArrayMemory memory(costs);
  const nb::object cells = assign_small_for(memory, {maximize, false}, words);
  if (cells.is_none()) return cells;
  return pairs_in(cells, first_of(cells), static_cast<Vertex>(memory.length(0)), static_cast<Vertex>(memory.length(1)),
                  &SmallCells<Count>::pair_columns);
}

// Writes to the counters, which cells begin with.
void note_costs(Count* cells, Vertex rows, Vertex columns, char type_of_costs) {
  auto& counters = *reinterpret_cast<SmallCounters*>(cells);
  counters.rows = rows;
  counters.columns = columns;
  counters.type_of_costs = type_of_costs;
}

// A result of Python's type `kind` that has its pairs and makes its fields of `first` and `second` later; see gmatch/result.py.
nb::object later_result(nb::handle kind, nb::handle make_field, nb::handle pairs, nb::handle first, nb::handle second) {
  nb::object result = nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(kind.ptr()), 0));
  if (!result.is_valid()) throw nb::python_error();
  Later& later = *reinterpret_cast<Later*>(result.ptr());
  later.make_field = make_field.inc_ref().ptr();
  later.pairs = pairs.inc_ref().ptr();
  later.first = first.inc_ref().ptr();
  later.second = second.is_valid() ? second.inc_ref().ptr() : nullptr;
  return result;
}

// Notes in a result that it maximizes. Its type is frozen for other code, and minimizes by default.
void note_maximize(nb::handle result) {
  static PyObject* const maximize_name = PyUnicode_InternFromString("maximize");
  if (PyObject_GenericSetAttr(result.ptr(), maximize_name, Py_True) != 0) throw nb::python_error();
}

// A result of the cells of one problem.
nb::object later_result(nb::handle kind, nb::handle make_field, bool maximize, nb::handle cells, Vertex rows, Vertex columns,
                        char type_of_costs, const std::vector<Count>& words) {
  note_costs(first_of(cells), rows, columns, type_of_costs);
  const nb::tuple pairs = pairs_in(cells, first_of(cells), rows, columns, &SmallCells<Count>::pair_columns_32);
  nb::object result = later_result(kind, make_field, pairs, cells, duals_in_tiers(words));
  if (maximize) note_maximize(result);
  return result;
}

// A limit as it was given, if it is a number of Python's own types; others need the long way.
bool read_limit(nb::handle given, SmallLimit* limit) {
  if (PyFloat_Check(given.ptr())) {
    const double number = PyFloat_AsDouble(given.ptr());
    const bool is_whole = std::abs(number) < 0x1p53 && number == std::floor(number);
    *limit = {number, is_whole ? static_cast<Count>(number) : 0, is_whole};
    return true;
  }
  if (!PyLong_CheckExact(given.ptr())) return false;
  const long long whole = PyLong_AsLongLong(given.ptr());
  if (whole == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  *limit = {static_cast<double>(whole), whole, true};
  return std::abs(limit->number) < 0x1p53;
}

// Sets the limit of a result: an integer beside integers if it is whole, a float beside floats.
void note_limit(nb::handle result, char type_of_costs, const SmallLimit& limit) {
  static PyObject* const limit_name = PyUnicode_InternFromString("cost_limit");
  const bool floats = type_of_costs == 'd' || type_of_costs == 'f' || !limit.is_whole;
  const nb::object number = nb::steal(floats ? PyFloat_FromDouble(limit.number) : PyLong_FromLongLong(limit.whole));
  if (PyObject_GenericSetAttr(result.ptr(), limit_name, number.ptr()) != 0) throw nb::python_error();
}

// The object that a function makes, for Python. An exception of C++ becomes an exception of Python, and the object nullptr.
template <class Function>
PyObject* made_by(const Function& function) {
  try {
    return function().release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const TooFewThreads&) {
    raise_too_few_threads(std::current_exception(), nullptr);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// Functions of costs, after a limit if there is one. Python calls them faster than the functions that nanobind makes. `Solver`
// reads the options that all its calls share from a tuple.
template <class Solver>
PyObject* call_small_solver(PyObject* parts, PyObject* const* arguments, Py_ssize_t number) {
  if (number != 1 && number != 2) {
    PyErr_SetString(PyExc_TypeError, "expected costs, or a limit and costs");
    return nullptr;
  }
  return made_by([&] { return Solver(parts).solve(number == 2 ? arguments[0] : nullptr, arguments[number - 1]); });
}

template <class Solver>
nb::object small_solver_of(const nb::tuple& parts) {
  static PyMethodDef method = {"lap_small",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_small_solver<Solver>)),
                               METH_FASTCALL, "The assignment of costs, after a limit if there is one; or None."};
  const bool is_later = PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(parts[0].ptr()), later_type()) != 0;
  if (!is_later) throw nb::type_error("results must be of a type of Later");
  return nb::steal(PyCFunction_NewEx(&method, parts.ptr(), nullptr));
}

struct SmallSolver {
  nb::handle kind, make_field;
  bool maximize, deterministic;

  explicit SmallSolver(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        maximize(PyTuple_GetItem(parts, 2) == Py_True),
        deterministic(PyTuple_GetItem(parts, 3) == Py_True) {}

  nb::object solve(nb::handle cost_limit, nb::handle costs) const {
    SmallLimit limit;
    const bool has_limit = cost_limit.is_valid();
    if (has_limit && !read_limit(cost_limit, &limit)) return nb::none();
    const ArrayMemory memory(costs);
    std::vector<Count> words;
    nb::object cells = assign_small_for(memory, {maximize, true, has_limit ? &limit : nullptr, deterministic}, words);
    if (cells.is_none()) return cells;
    const nb::object result = later_result(kind, make_field, maximize, cells, static_cast<Vertex>(memory.length(0)),
                                           static_cast<Vertex>(memory.length(1)), memory.type(), words);
    if (has_limit) note_limit(result, memory.type(), limit);
    return result;
  }
};

nb::object small_solver(nb::handle kind, nb::handle make_field, bool maximize, bool deterministic) {
  return small_solver_of<SmallSolver>(nb::make_tuple(kind, make_field, maximize, deterministic));
}

// Options of `lap` by name, as Python gives them. The table has, for each name, the objects with which small costs take the
// short way, and the bits of each object. Options are not compared by ==, since it may return an array. An option must be one of
// these objects, or a string of equal letters, or an object of the type that stands for a method, or a number in a range: the
// number of threads. The costs may be given by name, too.
struct SmallOptions {
  PyObject* costs = nullptr;
  PyObject* cost_limit = nullptr;
  PyObject* threads = nullptr;
  int bits = 0;

  // Reads options. Returns false if one of them needs the long way. No code of Python runs.
  bool read(PyObject* table, PyObject* options) {
    Py_ssize_t place = 0;
    PyObject *name, *option;
    while (PyDict_Next(options, &place, &name, &option)) {
      if (!read(table, name, option)) return false;
    }
    return true;
  }
  // Reads the arguments of a call. The costs may be the first argument. All other arguments have names.
  bool read(PyObject* table, PyObject* const* arguments, Py_ssize_t number, PyObject* names) {
    if (number > 1) return false;
    if (number == 1) costs = arguments[0];
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t k = 0; k < named; ++k) {
      if (!read(table, PyTuple_GetItem(names, k), arguments[number + k])) return false;
    }
    return costs != nullptr;
  }

 private:
  bool read(PyObject* table, PyObject* name, PyObject* option) {
    PyObject* const taken = PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(table, name) : nullptr;  // borrowed
    if (taken == nullptr) return false;
    if (taken == Py_None) return read_once(&cost_limit, option == Py_None ? nullptr : option);
    if (taken == Py_Ellipsis) return read_once(&costs, option);
    return add_bits(taken, option);
  }
  static bool read_once(PyObject** to, PyObject* option) {
    if (*to != nullptr) return false;
    *to = option;
    return true;
  }
  bool is_taken(PyObject* taken, PyObject* option) {
    if (Py_TYPE(taken) == &PyRange_Type) {
      threads = option;
      return PyLong_CheckExact(option) && PySequence_Contains(taken, option) == 1;
    }
    if (PyType_Check(taken)) return reinterpret_cast<PyObject*>(Py_TYPE(option)) == taken;
    return taken == option ||
           (PyUnicode_CheckExact(taken) && PyUnicode_CheckExact(option) && PyUnicode_Compare(taken, option) == 0);
  }
  bool add_bits(PyObject* taken, PyObject* option) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(taken); k += 2) {
      if (!is_taken(PyTuple_GetItem(taken, k), option)) continue;
      bits |= static_cast<int>(PyLong_AsLong(PyTuple_GetItem(taken, k + 1)));
      return true;
    }
    return false;
  }
};

// The bits that options stand for; None if one of them needs the long way.
nb::object bits_of_options(const nb::dict& table, const nb::dict& options) {
  SmallOptions read;
  return read.read(table.ptr(), options.ptr()) ? nb::int_(read.bits) : nb::object(nb::none());
}

// The matrices of a batch of small problems: a list or a tuple of arrays, or an array of three dimensions. A tuple keeps the
// arrays of a list, since another thread may take them out of the list while they are solved.
class BatchMemory {
 public:
  explicit BatchMemory(nb::handle given)
      : is_list_(PyList_Check(given.ptr()) || PyTuple_Check(given.ptr())),
        kept_(PyList_Check(given.ptr()) ? nb::steal(PyList_AsTuple(given.ptr())) : nb::borrow(given)) {
    if (!kept_.is_valid()) throw nb::python_error();
    if (!is_list_) {
      memories_.emplace_back(kept_);
      return;
    }
    const Py_ssize_t problems = PyTuple_Size(kept_.ptr());
    memories_.reserve(problems);
    for (Py_ssize_t p = 0; p < problems; ++p) memories_.emplace_back(nb::handle(PyTuple_GetItem(kept_.ptr(), p)));
  }

  // Whether the user of `lap` may mean two clouds of points, as look_like_points in gmatch/problems/points.py decides.
  bool looks_like_points() const {
    if (!is_list_ || memories_.size() != 2) return false;
    const ArrayMemory &x = memories_[0], &y = memories_[1];
    return x.length(1) == y.length(1) && std::min(x.length(0), y.length(0)) >= 8 * x.length(1);
  }

  // Whether all are of one type, and small or without pairs; at least one has pairs.
  bool is_small() const {
    bool has_pairs = false;
    for (const ArrayMemory& memory : memories_) {
      if (memory.num_dimensions() != (is_list_ ? 2 : 3) || !memory.lies_on_entries()) return false;
      if (memory.type() != type() || memory.entry_size() != entry_size()) return false;
      const Py_ssize_t rows = memory.length(is_list_ ? 0 : 1), columns = memory.length(is_list_ ? 1 : 2);
      if (std::min(rows, columns) > SMALL_SIDE || rows + columns > 4 * SMALL_SIDE) return false;
      has_pairs |= std::min(rows, columns) > 0 && (is_list_ || memory.length(0) > 0);
    }
    return has_pairs;
  }
  char type() const { return memories_.front().type(); }
  Py_ssize_t entry_size() const { return memories_.front().entry_size(); }

  template <class Cost>
  std::vector<SmallMatrix<Cost>> matrices() const {
    std::vector<SmallMatrix<Cost>> all;
    const ArrayMemory& first = memories_.front();
    const Py_ssize_t problems = is_list_ ? static_cast<Py_ssize_t>(memories_.size()) : first.length(0);
    all.reserve(problems);
    for (Py_ssize_t p = 0; p < problems; ++p) all.push_back(is_list_ ? memories_[p].matrix<Cost>() : first.matrix<Cost>(p));
    return all;
  }

 private:
  const bool is_list_;
  const nb::object kept_;
  std::vector<ArrayMemory> memories_;
};

// A problem of a batch: the word where its cells begin, and its rows, columns and pairs.
struct CellsOfProblem {
  Count begin, rows, columns, pairs;

  SmallCells<Count> cells(Count* first) const {
    return {first + begin, static_cast<Vertex>(rows), static_cast<Vertex>(columns)};
  }
  // Called when it is solved: the cells note their costs.
  void note(Count* first, char type_of_costs) {
    note_costs(first + begin, static_cast<Vertex>(rows), static_cast<Vertex>(columns), type_of_costs);
    pairs = cells(first).size();
  }
};

// Solves small problems one after the other, on one thread.
template <class Cost>
class SmallInTurn {
 public:
  explicit SmallInTurn(const SmallCall& call) : call_(call) {}

  // Fills the cells; false if the problem needs another way, or has duals in tiers.
  bool solve(const SmallMatrix<Cost>& given, Count* cells) {
    if (given.fewer() == 0) {
      leave_free(given, cells);
      return true;
    }
    return solve_small(with_long_lines(given, copy_), call_, cells, words_) && words_.empty();
  }

 private:
  void leave_free(const SmallMatrix<Cost>& given, Count* cells) const {
    std::memset(cells, 0, mirror::bytes<SmallCells<Count>>(given.shape[0], given.shape[1]));
    const SmallCells<Count> found(cells, given.shape[0], given.shape[1]);
    std::fill_n(found.row_match, given.shape[0], NONE);
    std::fill_n(found.col_match, given.shape[1], NONE);
    reinterpret_cast<SmallCounters*>(cells)->whole_duals = std::numeric_limits<Cost>::is_integer;
  }

  const SmallCall call_;
  std::vector<Cost> copy_;
  std::vector<Count> words_;
};

// Entries for each thread. Fewer are solved before a thread has started (2 processors of an EPYC).
constexpr Count ENTRIES_OF_A_THREAD = 1 << 16;

// The number of threads that there is work for. `most` is a number, or a function that takes longer than a few problems.
template <class Cost>
int threads_for(const std::vector<SmallMatrix<Cost>>& matrices, nb::handle most) {
  Count entries = 0;
  for (const SmallMatrix<Cost>& matrix : matrices) entries += Count{matrix.shape[0]} * matrix.shape[1];
  const Count wanted = std::min(entries / ENTRIES_OF_A_THREAD, static_cast<Count>(matrices.size()));
  if (wanted <= 1) return 1;
  const nb::object number = PyLong_Check(most.ptr()) ? nb::borrow(most) : most();
  return static_cast<int>(std::clamp<Count>(nb::cast<Count>(number), 1, wanted));
}

// Solves all problems; false if one needs another way. Tells of their pairs.
template <class Cost>
bool solve_small_batch(const std::vector<SmallMatrix<Cost>>& matrices, const SmallCall& call, char type,
                       std::vector<CellsOfProblem>& problems, Count* cells, int threads) {
  const Count count = static_cast<Count>(matrices.size());
  constexpr Count TURNS_OF_A_THREAD = 8;  // a thread takes an eighth of its share at a time, since problems differ
  const Count at_a_time = 1 + count / (TURNS_OF_A_THREAD * threads);
  std::atomic<Count> next{0};
  std::atomic<bool> has_solved{true};
  const OthersMayRun others_may_run;
  run_on_host(threads, [&](HostTeam&) {
    SmallInTurn<Cost> solver(call);
    Poll poll;
    for (Count first = next.fetch_add(at_a_time); first < count && has_solved; first = next.fetch_add(at_a_time)) {
      for (Count p = first; p < std::min(count, first + at_a_time); ++p) {
        poll.spend(Count{matrices[p].shape[0]} * matrices[p].shape[1]);
        if (solver.solve(matrices[p], cells + problems[p].begin)) problems[p].note(cells, type);
        else has_solved = false;
      }
    }
  });
  return has_solved;
}

template <class Cost>
nb::object lap_small_batch_of(const BatchMemory& memory, const SmallCall& call, nb::handle most_threads) {
  const std::vector<SmallMatrix<Cost>> matrices = memory.matrices<Cost>();
  const int threads = threads_for(matrices, most_threads);
  std::vector<CellsOfProblem> problems;
  problems.reserve(matrices.size());
  Count words = 0;
  for (const SmallMatrix<Cost>& matrix : matrices) {
    problems.push_back({words, matrix.shape[0], matrix.shape[1], 0});
    words += words_of_cells(matrix.shape[0], matrix.shape[1]);
  }
  nb::object cells = new_words(words);
  if (!solve_small_batch(matrices, call, memory.type(), problems, first_of(cells), threads)) return nb::none();
  const char type[] = {memory.type(), 0};
  nb::list table;
  for (const CellsOfProblem& problem : problems) {
    table.append(nb::make_tuple(problem.begin, problem.rows, problem.columns, problem.pairs));
  }
  return nb::make_tuple(cells, table, type, threads);
}

nb::object solve_batch(const BatchMemory& memory, const SmallCall& call, nb::handle most_threads) {
  const char type = memory.type();
  if (type == 'd') return lap_small_batch_of<double>(memory, call, most_threads);
  if (type == 'f') return lap_small_batch_of<float>(memory, call, most_threads);
  if (call.limit != nullptr && !call.limit->is_whole) return nb::none();  // duals would be floats
  if (type != 'i' && type != 'l' && type != 'q') return nb::none();
  if (memory.entry_size() == 4) return lap_small_batch_of<std::int32_t>(memory, call, most_threads);
  return lap_small_batch_of<Count>(memory, call, most_threads);
}

// The answers of a small solver for a batch: the cells of all problems; for each the word where its cells begin, its rows,
// columns and pairs; the type of the costs, and the number of threads. None if a problem needs another way.
nb::object lap_small_batch(nb::handle costs, bool maximize, nb::handle cost_limit, nb::handle most_threads) {
  SmallLimit limit;
  const bool has_limit = !cost_limit.is_none();
  if (has_limit && !read_limit(cost_limit, &limit)) return nb::none();
  const BatchMemory memory(costs);
  if (!memory.is_small()) return nb::none();
  return solve_batch(memory, {maximize, true, has_limit ? &limit : nullptr}, most_threads);
}

// Solves batches, with five parts from gmatch/small.py: the type of the result of a batch, the function that makes its fields,
// the type of its sequence of assignments, the functions that make the fields of an assignment (by the bits of the options), and
// the function that returns the most threads.
struct SmallBatchSolver {
  nb::handle kind, make_field, items, makers, most_threads;

  explicit SmallBatchSolver(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        items(PyTuple_GetItem(parts, 2)),
        makers(PyTuple_GetItem(parts, 3)),
        most_threads(PyTuple_GetItem(parts, 4)) {}

  // Returns None also if Python must warn the user.
  nb::object solve(const SmallOptions& options, bool maximize) const {
    const nb::handle make_field_of_one = PyTuple_GetItem(makers.ptr(), options.bits);
    if (make_field_of_one.is_none()) return nb::none();
    SmallLimit limit;
    const bool has_limit = options.cost_limit != nullptr;
    if (has_limit && !read_limit(options.cost_limit, &limit)) return nb::none();
    const BatchMemory memory(options.costs);
    if (!memory.is_small() || memory.looks_like_points()) return nb::none();
    const nb::handle threads = options.threads == nullptr || options.threads == Py_None ? most_threads : options.threads;
    const nb::object found = solve_batch(memory, {maximize, true, has_limit ? &limit : nullptr}, threads);
    if (found.is_none()) return found;
    const nb::object made = items(found, make_field_of_one, maximize, has_limit ? nb::handle(options.cost_limit) : Py_None);
    const nb::object batch = later_result(kind, make_field, nb::none(), nb::make_tuple(made), nullptr);
    if (maximize) note_maximize(batch);
    if (has_limit) note_limit(batch, memory.type(), limit);
    return batch;
  }
};

// Whether costs are a list or a tuple whose first item is an array.
bool is_sequence_of_arrays(PyObject* costs, PyTypeObject* array) {
  const bool is_list = PyList_CheckExact(costs);
  if (!is_list && !PyTuple_CheckExact(costs)) return false;
  if ((is_list ? PyList_Size(costs) : PyTuple_Size(costs)) == 0) return false;
  return Py_TYPE(is_list ? PyList_GetItem(costs, 0) : PyTuple_GetItem(costs, 0)) == array;
}

// `parts` are the table of options, the solvers that small_solver makes (by the bits), and the parts of SmallBatchSolver.
PyObject* lap_by_short_way(PyObject* parts, PyObject* const* arguments, Py_ssize_t number, PyObject* names) {
  SmallOptions options;
  PyObject* const solvers = PyTuple_GetItem(parts, 1);
  if (!options.read(PyTuple_GetItem(parts, 0), arguments, number, names)) Py_RETURN_NONE;
  if (options.bits >= PyTuple_Size(solvers)) Py_RETURN_NONE;
  PyTypeObject* const array = numpy::Table::get().array_type();
  const bool is_array = Py_TYPE(options.costs) == array;
  PyObject* const solver = PyCFunction_GetSelf(PyTuple_GetItem(solvers, options.bits));
  if (is_array && reinterpret_cast<const numpy::Array*>(options.costs)->num_dimensions == 2) {
    return made_by([&] { return SmallSolver(solver).solve(options.cost_limit, options.costs); });
  }
  if (!is_array && !is_sequence_of_arrays(options.costs, array)) Py_RETURN_NONE;
  return made_by([&] { return SmallBatchSolver(PyTuple_GetItem(parts, 2)).solve(options, SmallSolver(solver).maximize); });
}

// `lap`: the short way for small arrays, in front of a function of Python for all other calls.
nb::object small_lap(const nb::dict& table, const nb::tuple& solvers, const nb::tuple& of_batches, nb::handle otherwise) {
  return in_front(&lap_by_short_way, nb::make_tuple(table, solvers, of_batches), otherwise);
}

// A line of the table of a batch.
CellsOfProblem problem_of(const nb::tuple& line) {
  const auto number = [&](Py_ssize_t k) { return static_cast<Count>(PyLong_AsLongLong(PyTuple_GetItem(line.ptr(), k))); };
  return {number(0), number(1), number(2), number(3)};
}

// The rows and the columns of the pairs of a problem of a batch, with numbers of 64 bits for both sides: views of the cells.
nb::tuple pairs_of_small_batch(nb::handle cells, const nb::tuple& line) {
  const CellsOfProblem problem = problem_of(line);
  return pairs_in(cells, first_of(cells) + problem.begin, static_cast<Vertex>(problem.rows),
                  static_cast<Vertex>(problem.columns), &SmallCells<Count>::pair_columns);
}

// Makes results of problems of a batch, of Python's type `kind`. Their fields are made from the cells of the batch and from the
// problem's line in the table. `asked` has the options that a result holds, by the names of fields.
struct ResultsOfBatch {
  nb::handle kind, make_field, cells;
  const nb::dict& asked;

  nb::object of(const nb::tuple& line) const {
    const CellsOfProblem problem = problem_of(line);
    const Vertex rows = static_cast<Vertex>(problem.rows), columns = static_cast<Vertex>(problem.columns);
    const nb::tuple pairs = pairs_in(cells, first_of(cells) + problem.begin, rows, columns, &SmallCells<Count>::pair_columns_32);
    const nb::object result = later_result(kind, make_field, pairs, cells, line);
    for (const auto [name, value] : asked) {
      if (PyObject_GenericSetAttr(result.ptr(), name.ptr(), value.ptr()) != 0) throw nb::python_error();
    }
    return result;
  }
};

nb::object result_of_small_batch(nb::handle kind, nb::handle make_field, nb::handle cells, const nb::dict& asked,
                                 const nb::tuple& line) {
  return ResultsOfBatch{kind, make_field, cells, asked}.of(line);
}

// The results of all problems, in their order.
nb::list results_of_small_batch(nb::handle kind, nb::handle make_field, nb::handle cells, const nb::dict& asked,
                                const nb::list& table) {
  const ResultsOfBatch results{kind, make_field, cells, asked};
  nb::list all;
  for (const nb::handle line : table) all.append(results.of(nb::borrow<nb::tuple>(line)));
  return all;
}

// How a sparse matrix is stored.
MIRRORED_ENUM(Storage, rows, columns, coordinates);

// A small sparse problem, and its options.
struct SmallSparseCall {
  Vertex rows, columns;
  bool lines_are_columns, maximize;
  const SmallLimit* limit;  // or nullptr
};

// The method that solved it: none, the sparse method, or the dense one.
enum class SmallSolution { NONE_FOUND, SPARSE, LAID_OUT };

// Whether integers of this range, and sums along a path of all pairs, stay below a bound.
template <class Cost>
bool sums_stay_below(double bound, const CostRange<Cost>& range, Vertex pairs) {
  const double lowest = static_cast<double>(range.lowest), highest = static_cast<double>(range.highest);
  return (32 + 8.0 * pairs) * (highest - lowest) + std::max(-lowest, highest) < bound;
}

// Each solver fills the cells. It returns false for problems that need the long way, which says what is wrong with them, if
// anything is.
template <class Cost>
class SmallSparseSolver {
 public:
  SmallSparseSolver(const SmallSparseCall& call, Count* cells, std::vector<Count>& words)
      : call_(call), cells_(cells), words_(words), fewer_(std::min(call.rows, call.columns)) {}

  template <class Index>
  SmallSolution solve(StoredMatrix<Cost, Index> stored) const {
    const Count pairs = Count{call_.rows} * call_.columns;
    if (stored.offsets != nullptr) {
      const Count length = read_once(stored.offsets + stored.num_lines);
      if (length > stored.length) return SmallSolution::NONE_FOUND;
      stored.length = length;
    }
    // With a limit rows may stay free, and pairs that are not stored cost more than the limit.
    if ((stored.length < fewer_ && call_.limit == nullptr) || stored.length > pairs) return SmallSolution::NONE_FOUND;
    CostRange<Cost> range = empty_range<Cost>();
    add_row(range, stored.entries, stored.length, 1);
    if (!is_plain_here(range)) return SmallSolution::NONE_FOUND;

    const bool has_all = stored.length == pairs, turned = stored.num_lines > stored.num_places;
    const bool fits = has_all || !IS_INTEGER || sums_stay_below(0x1p53, range, fewer_);
    if (!fits || !is_best_laid_out(call_.rows, call_.columns, stored.length)) {
      if (call_.limit != nullptr) return SmallSolution::NONE_FOUND;
      return solve_sparse(stored, turned) ? SmallSolution::SPARSE : SmallSolution::NONE_FOUND;
    }
    const bool solved = has_all && !turned && stored.is_dense() ? solve_dense(stored.entries, false, range)
                        : has_all                               ? solve_laid_out<Cost>(stored, turned, range)
                                                                : solve_laid_out<Marked>(stored, turned, range);
    return solved ? SmallSolution::LAID_OUT : SmallSolution::NONE_FOUND;
  }

 private:
  using Dual = typename DenseCosts<Cost>::Dual;
  static constexpr bool IS_INTEGER = std::numeric_limits<Cost>::is_integer;
  // Entries of a type that marks pairs that are not stored.
  using Marked = std::conditional_t<IS_INTEGER, double, Cost>;

  bool is_plain_here(const CostRange<Cost>& range) const {
    return is_plain(range, {call_.maximize, true, call_.limit}) && (!IS_INTEGER || sums_stay_below(0x1p62, range, fewer_));
  }

  // `entries` are the entries of all pairs, line by line of the matrix as it is stored, or place by place if it is turned.
  template <class Entry>
  bool solve_dense(const Entry* entries, bool turned, const CostRange<Cost>& range) const {
    const bool by_columns = call_.lines_are_columns != turned;
    const SmallMatrix<Entry> matrix{entries,
                                    {call_.rows, call_.columns},
                                    {by_columns ? 1 : call_.columns, by_columns ? call_.rows : 1}};
    const bool forbids = call_.limit != nullptr;  // then there may be pairs that are not stored
    const CostRange<Entry> same{static_cast<Entry>(range.lowest), static_cast<Entry>(range.highest), false, forbids, false};
    if (!solve_plain(matrix, same, {call_.maximize, true, call_.limit}, IS_INTEGER, cells_, words_)) return false;
    if (call_.limit != nullptr && !words_.empty()) return false;  // a result with a limit has no duals in tiers
    if constexpr (!std::is_same_v<Dual, typename DenseCosts<Entry>::Dual>) make_integers();
    if (IS_INTEGER && call_.rows == call_.columns) lower_column_duals();
    return true;
  }

  // Makes integers of an answer in doubles.
  void make_integers() const {
    const SmallCells<double> found(cells_, call_.rows, call_.columns);
    const auto make = [](double* number, const double* end) {
      for (; number != end; ++number) {
        const Count whole = static_cast<Count>(*number);
        std::memcpy(number, &whole, sizeof whole);
      }
    };
    make(found.pair_costs, found.pair_costs + found.size());  // the places of pairs that are left out are not written
    make(found.u, found.u + call_.rows);
    make(found.v, found.v + call_.columns);
    reinterpret_cast<SmallCounters*>(cells_)->whole_duals = true;
  }

  // Lowers v to at most 0, as serial/sparse_shortest_path.hpp leaves them.
  void lower_column_duals() const {
    const SmallCells<Dual> found(cells_, call_.rows, call_.columns);
    const Dual most = *std::max_element(found.v, found.v + call_.columns);
    for (Vertex j = 0; j < call_.columns; ++j) found.v[j] -= most;
    for (Vertex row = 0; row < call_.rows; ++row) found.u[row] += most;
  }

  template <class Entry, class Index>
  bool solve_laid_out(const StoredMatrix<Cost, Index>& stored, bool turned, const CostRange<Cost>& range) const {
    Entry missing = 0;
    if constexpr (!std::numeric_limits<Entry>::is_integer) {
      missing = (call_.maximize ? -1 : 1) * std::numeric_limits<Entry>::infinity();
    }
    const auto memory = in_large_pages(Count{call_.rows} * call_.columns * sizeof(Entry));
    auto* const entries = reinterpret_cast<Entry*>(memory.get());
    const Found laid_out = lay_out(stored, turned, missing, entries);
    if (laid_out == Found::NO_MATRIX) return false;
    if (laid_out == Found::UNSORTED) {
      OwnLines<Cost> lines;
      if (!lines.copy(stored, turned)) return false;
      lay_out(lines.stored(), false, missing, entries);
    }
    return solve_dense<Entry>(entries, turned, range);
  }

  template <class Index>
  bool solve_sparse(const StoredMatrix<Cost, Index>& stored, bool turned) const {
    OwnLines<Cost> lines;
    if (!lines.copy(stored, turned)) return false;
    CostRange<Cost> range = empty_range<Cost>();
    add_row(range, lines.entries.data(), static_cast<Count>(lines.entries.size()), 1);
    if (!is_plain_here(range)) return false;

    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    using Costs = const SparseCosts<Cost, Vertex, Vertex>;
    Costs costs{lines.num_lines,      lines.num_places,     lines.offsets.data(),
                lines.places.data(), lines.entries.data(), call_.maximize};
    const bool transposed = call_.lines_are_columns != turned;
    SmallCells<Dual> found(cells_, call_.rows, call_.columns);
    const ShortestPathResult<Dual> result = found.result(transposed);
    SparseShortestPathCounters counted{};
    SparseShortestPathSolver<Costs> solver(costs, counted);
    if (solver.solve(false, result.row_match, result.col_match, result.u, result.v) < fewer_) return false;
    if constexpr (!IS_INTEGER) {
      const double lowest = call_.maximize ? -range.highest : range.lowest;
      const double highest = call_.maximize ? -range.lowest : range.highest;
      const double largest =
          std::max(largest_magnitude(result.u, lines.num_lines), largest_magnitude(result.v, lines.num_places));
      const auto cost_of = [&](Vertex row) { return lines.entry(row, result.row_match[row]); };
      if (duals_hide_costs(lines.num_lines, largest, lowest, highest, cost_of)) return false;
    }
    found.note_pairs(call_.rows, [&](Vertex row, Vertex column) {
      return transposed ? lines.entry(column, row) : lines.entry(row, column);
    });
    found.note_counters(counted, counted.start_size, lap(clock, now));
    return true;
  }

  const SmallSparseCall& call_;
  Count* const cells_;
  std::vector<Count>& words_;
  const Vertex fewer_;
};

// The arrays of a sparse matrix, in the order of its constructor.
struct SparseMemory {
  const ArrayMemory first, second, data;

  bool is_list() const { return first.is_list() && second.is_list() && data.is_list(); }
  bool has_indices_of(Py_ssize_t size) const {
    const auto is_index = [=](const ArrayMemory& memory) {
      const char type = memory.type();
      return (type == 'i' || type == 'l' || type == 'q') && memory.entry_size() == size;
    };
    return is_index(first) && is_index(second);
  }
};

template <class Cost, class Index>
SmallSolution solve_small_sparse(const SparseMemory& memory, const SmallSparseCall& call, bool compressed, Count* cells,
                                 std::vector<Count>& words) {
  const auto [lines, places] = call.lines_are_columns ? std::pair(call.columns, call.rows) : std::pair(call.rows, call.columns);
  const ArrayMemory &first = memory.first, &second = memory.second, &data = memory.data;
  const Py_ssize_t length = std::min(second.length(0), data.length(0));
  if (data.stride() != 1 || first.stride() != (compressed ? 1 : second.stride())) return SmallSolution::NONE_FOUND;
  const bool fits = compressed ? first.length(0) == lines + 1
                               : first.length(0) == length && std::max(second.length(0), data.length(0)) == length;
  if (!fits) return SmallSolution::NONE_FOUND;
  StoredMatrix<Cost, Index> stored{lines,           places,          nullptr,           nullptr, second.data<Index>(),
                                   second.stride(), data.data<Cost>(), length};
  (compressed ? stored.offsets : stored.lines) = first.data<Index>();
  std::optional<OthersMayRun> others_may_run;
  if (std::min(lines, places) > VERY_SMALL_SIDE) others_may_run.emplace();
  return SmallSparseSolver<Cost>(call, cells, words).solve(stored);
}

template <class Cost>
SmallSolution solve_small_sparse(const SparseMemory& memory, const SmallSparseCall& call, bool compressed, Count* cells,
                                 std::vector<Count>& words) {
  if (memory.has_indices_of(4)) return solve_small_sparse<Cost, std::int32_t>(memory, call, compressed, cells, words);
  if (memory.has_indices_of(8)) return solve_small_sparse<Cost, Count>(memory, call, compressed, cells, words);
  return SmallSolution::NONE_FOUND;
}

SmallSolution solve_small_sparse(const SparseMemory& memory, const SmallSparseCall& call, bool compressed, Count* cells,
                                 std::vector<Count>& words) {
  const char type = memory.data.type();
  if (type == 'd') return solve_small_sparse<double>(memory, call, compressed, cells, words);
  if (type == 'f') return solve_small_sparse<float>(memory, call, compressed, cells, words);
  if (type != 'i' && type != 'l' && type != 'q') return SmallSolution::NONE_FOUND;
  if (memory.data.entry_size() == 4) return solve_small_sparse<std::int32_t>(memory, call, compressed, cells, words);
  return solve_small_sparse<Count>(memory, call, compressed, cells, words);
}

// An attribute of a Python object, which can be anything; not valid if there is none.
nb::object attribute(nb::handle object, PyObject* name) {
  nb::object found = nb::steal(PyObject_GetAttr(object.ptr(), name));
  if (!found.is_valid()) PyErr_Clear();
  return found;
}

bool read_shape(nb::handle shape, Vertex* rows, Vertex* columns) {
  if (!shape.is_valid() || !PyTuple_Check(shape.ptr()) || PyTuple_Size(shape.ptr()) != 2) return false;
  Vertex* const to[] = {rows, columns};
  for (int side = 0; side < 2; ++side) {
    PyObject* const given = PyTuple_GetItem(shape.ptr(), side);
    if (!PyLong_Check(given)) return false;
    const long long length = PyLong_AsLongLong(given);
    if (length == -1) PyErr_Clear();
    if (length < 1 || length > 4 * SMALL_SPARSE_SIDE) return false;
    *to[side] = static_cast<Vertex>(length);
  }
  return std::min(*rows, *columns) <= SMALL_SPARSE_SIDE;
}

// Solves a sparse matrix of SciPy. The fields are made in another way if it was laid out.
struct SmallSparseSolving {
  nb::handle kind, make_field, make_field_of_laid_out;
  int storage;
  bool maximize;

  explicit SmallSparseSolving(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        make_field_of_laid_out(PyTuple_GetItem(parts, 2)),
        storage(static_cast<int>(PyLong_AsLong(PyTuple_GetItem(parts, 3)))),
        maximize(PyTuple_GetItem(parts, 4) == Py_True) {}

  nb::object solve(nb::handle cost_limit, nb::handle costs) const {
    static PyObject* const shape_name = PyUnicode_InternFromString("shape");
    static PyObject* const data_name = PyUnicode_InternFromString("data");
    static PyObject* const coords_name = PyUnicode_InternFromString("coords");
    static PyObject* const indptr_name = PyUnicode_InternFromString("indptr");
    static PyObject* const indices_name = PyUnicode_InternFromString("indices");
    const bool has_limit = cost_limit.is_valid(), compressed = storage != static_cast<int>(Storage::coordinates);
    SmallLimit limit;
    if (has_limit && !read_limit(cost_limit, &limit)) return nb::none();
    SmallSparseCall call{0, 0, storage == static_cast<int>(Storage::columns), maximize, has_limit ? &limit : nullptr};
    if (!read_shape(attribute(costs, shape_name), &call.rows, &call.columns)) return nb::none();
    nb::object first, second;
    if (compressed) {
      first = attribute(costs, indptr_name);
      second = attribute(costs, indices_name);
    } else {
      const nb::object coords = attribute(costs, coords_name);
      if (!coords.is_valid() || !PyTuple_Check(coords.ptr()) || PyTuple_Size(coords.ptr()) != 2) return nb::none();
      first = nb::borrow(PyTuple_GetItem(coords.ptr(), 0));
      second = nb::borrow(PyTuple_GetItem(coords.ptr(), 1));
    }
    const nb::object data = attribute(costs, data_name);
    if (!first.is_valid() || !second.is_valid() || !data.is_valid()) return nb::none();
    const SparseMemory memory{ArrayMemory(first), ArrayMemory(second), ArrayMemory(data)};
    if (!memory.is_list()) return nb::none();
    const nb::object cells = new_cells(call.rows, call.columns);
    std::vector<Count> words;
    const SmallSolution solved = solve_small_sparse(memory, call, compressed, first_of(cells), words);
    if (solved == SmallSolution::NONE_FOUND) return nb::none();
    const nb::object result = later_result(kind, solved == SmallSolution::LAID_OUT ? make_field_of_laid_out : make_field,
                                           maximize, cells, call.rows, call.columns, memory.data.type(), words);
    if (has_limit) note_limit(result, memory.data.type(), limit);
    return result;
  }
};

nb::object small_sparse_solver(nb::handle kind, nb::handle make_field, nb::handle make_field_of_laid_out, int storage,
                               bool maximize) {
  return small_solver_of<SmallSparseSolving>(nb::make_tuple(kind, make_field, make_field_of_laid_out, storage, maximize));
}

// Independent problems, each by one thread: the threads take the next one in turn. Problems of `core_rows` rows or more are
// solved by "core", and others by "jv".
template <class Cost>
nb::list assign_batch(nb::ndarray<const Count, nb::ndim<2>, nb::c_contig, nb::device::cpu> problems,
                      nb::ndarray<const Cost, nb::device::cpu> entries, bool maximize, nb::handle limit,
                      typename DenseCosts<Cost>::Dual least_cost, typename DenseCosts<Cost>::Dual greatest_cost,
                      nb::ndarray<Vertex, nb::ndim<2>, nb::c_contig, nb::device::cpu> row_match,
                      nb::ndarray<Vertex, nb::ndim<2>, nb::c_contig, nb::device::cpu> col_match,
                      nb::ndarray<typename DenseCosts<Cost>::Dual, nb::ndim<2>, nb::c_contig, nb::device::cpu> u,
                      nb::ndarray<typename DenseCosts<Cost>::Dual, nb::ndim<2>, nb::c_contig, nb::device::cpu> v,
                      nb::ndarray<Cost, nb::ndim<2>, nb::c_contig, nb::device::cpu> pair_costs,
                      const std::string& method, int start, bool many_paths, Vertex core_rows, int threads) {
  using Dual = typename DenseCosts<Cost>::Dual;
  std::vector<Report> reports(problems.shape(0));
  const Batch<Cost> batch{reinterpret_cast<const BatchProblem*>(problems.data()),
                          0,
                          static_cast<int>(problems.shape(0)),
                          static_cast<Vertex>(row_match.shape(1)),
                          static_cast<Vertex>(col_match.shape(1)),
                          entries.data(),
                          maximize,
                          limit.is_none() ? DenseCosts<Cost>::infinite() : nb::cast<Dual>(limit),
                          row_match.data(),
                          col_match.data(),
                          u.data(),
                          v.data(),
                          pair_costs.data(),
                          reports.data(),
                          static_cast<AssignmentStart>(start),
                          many_paths};
  const auto solve_by_search = [&](int p, auto edges) {
    using Edges = decltype(edges);
    const std::unique_ptr<char[]> memory(new char[batch_workspace_size<Edges>(batch.costs(p), HostTeam::TILE)]);
    HostTeam team(0, 1, nullptr);
    assign_problem<Edges>(team, batch, p, memory.get());
  };
  const auto solve_serially_in_batch = [&](int p) {
    const DenseCosts<Cost> costs = batch.costs(p);
    CoreCounters counted{};
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    Report& report = reports[p];
    const ShortestPathOptions<Dual> options{least_cost, greatest_cost, false};
    const ShortestPathResult<Dual> result{batch.of_rows(p, batch.u, batch.v), batch.of_columns(p, batch.u, batch.v),
                                          batch.of_rows(p, batch.row_match, batch.col_match),
                                          batch.of_columns(p, batch.row_match, batch.col_match)};
    report.size = method == "core" && costs.num_rows >= core_rows
                      ? solve_by_core_or_matrix(costs, options, true, 1, result, counted)
                      : solve_serially(costs, options, result, counted.dense);
    note_pair_costs(clock, batch, p, costs,
                    {costs.num_rows, costs.num_columns, batch.of_rows(p, batch.row_match, batch.col_match), nullptr});
    report.start_size = counted.sparse.start_size;
    report.phases = counted.sparse.augmentations + counted.dense.augmentations;
    report.levels = report.rows_scanned = counted.sparse.rows_scanned + counted.dense.rows_scanned;
    report.dual_steps = counted.sparse.dual_updates + counted.dense.dual_updates;
    report.edges_inspected = counted.sparse.entries_read + counted.dense.entries_read;
    report.price_ns = counted.price_ns;
    report.search_ns = lap(clock, now) - counted.price_ns;
  };
  {
    const OthersMayRun others_may_run;
    std::atomic<int> next{0};
    run_on_host(threads, [&](HostTeam&) {
      Poll poll;
      for (int p = next++; p < batch.num_problems; p = next++) {
        poll.spend(batch.problem(p).num_rows * batch.problem(p).num_columns);
        if (method == "jv" || method == "core") solve_serially_in_batch(p);
        else if (method == "classical") solve_by_search(p, ClassicalEdges<Cost>{});
        else solve_by_search(p, TightEdges<Cost>{});
      }
    });
  }
  nb::list answers;
  for (const Report& report : reports) answers.append(to_tuple(report));
  return answers;
}

// Some entries of a line, which lie `stride` apart; narrow ones as numbers, which `numbers` has room for.
template <class Stored, class Cost>
void add_line(CostRange<Cost>& range, const Stored* entries, Count length, Count stride, std::vector<Cost>& numbers) {
  if constexpr (IS_NARROW<Stored>) {
    numbers.resize(length);
    for (Count k = 0; k < length; ++k) numbers[k] = value_of(entries[k * stride]);
    add_row(range, numbers.data(), length, 1);
  } else {
    add_row(range, entries, length, stride);
  }
}

template <class Stored>
nb::tuple inspect_stored(const AnyMatrix& costs, int threads) {
  using Cost = typename ValueOf<Stored>::type;
  const Stored* const entries = entries_of<Stored>(costs);
  std::vector<CostRange<Cost>> ranges(threads, empty_range<Cost>());
  {
    const OthersMayRun others_may_run;
    // Along the rows as they lie in memory, in tiles that are worth a call; a matrix in one piece is one long row.
    constexpr Count TILE = 1 << 16;
    // A row that NumPy made of a list has no stride.
    const bool by_columns = costs.shape(0) > 1 && std::abs(costs.stride(0)) < std::abs(costs.stride(1));
    const int row = by_columns ? 1 : 0, column = 1 - row;
    Count rows = costs.shape(row), columns = costs.shape(column);
    if (costs.stride(column) == 1 && costs.stride(row) == columns) {
      columns *= rows;
      rows = 1;
    }
    const Count rows_of_tile = std::max<Count>(1, TILE / std::max<Count>(1, columns));
    const Count row_tiles = (rows + rows_of_tile - 1) / rows_of_tile, column_tiles = (columns + TILE - 1) / TILE;
    run_on_host(threads, [&](HostTeam& team) {
      CostRange<Cost> range = empty_range<Cost>();
      std::vector<Cost> numbers;
      team.each_tile(row_tiles * column_tiles, [&](Count i) {
        const Count first_row = i / column_tiles * rows_of_tile, first = i % column_tiles * TILE;
        for (Count k = first_row; k < std::min(rows, first_row + rows_of_tile); ++k) {
          add_line(range, entries + k * costs.stride(row) + first * costs.stride(column), std::min(TILE, columns - first),
                   costs.stride(column), numbers);
        }
      });
      ranges[team.rank()] = range;
    });
  }
  CostRange<Cost> all = empty_range<Cost>();
  for (const CostRange<Cost>& range : ranges) {
    all.lowest = std::min(all.lowest, range.lowest);
    all.highest = std::max(all.highest, range.highest);
    all.nan |= range.nan;
    all.plus_inf |= range.plus_inf;
    all.minus_inf |= range.minus_inf;
  }
  return nb::make_tuple(all.lowest, all.highest, all.nan, all.plus_inf, all.minus_inf);
}

nb::tuple inspect_costs(AnyMatrix costs, const std::string& stored, int threads) {
  if (stored.find("int") != std::string::npos) {
    return with_stored<Count>(stored, [&](auto entry) { return inspect_stored<decltype(entry)>(costs, threads); });
  }
  return with_stored<double>(stored, [&](auto entry) { return inspect_stored<decltype(entry)>(costs, threads); });
}

template <class Cost>
void define_batch_for(nb::module_& m) {
  m.def("assign_batch", &assign_batch<Cost>, "problems"_a.noconvert(), "entries"_a.noconvert(), "maximize"_a,
        "limit"_a.none(), "least_cost"_a, "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "pair_costs"_a.noconvert(), "method"_a, "start"_a, "many_paths"_a,
        "core_rows"_a, "threads"_a);
}

template <class Dual>
void define_shortest_paths_for(nb::module_& m) {
  m.def("assign_jv", &assign_jv<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "least_cost"_a,
        "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "has_duals"_a);
  m.def("assign_core_jv", &assign_core_jv<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "least_cost"_a, "greatest_cost"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "has_duals"_a, "may_begin_in_matrix"_a, "threads"_a);
  m.def("is_only_optimum", &is_only_optimum_of<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(),
        "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "must_be_used"_a.noconvert().none());
}

}  // namespace

void define_shortest_paths(nb::module_& m) {
  define_batch_for<std::int32_t>(m);
  define_batch_for<Count>(m);
  define_batch_for<float>(m);
  define_batch_for<double>(m);
  define_shortest_paths_for<Count>(m);
  define_shortest_paths_for<double>(m);
  m.def("assign_in_tiers", &assign_in_tiers, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "lowest"_a,
        "highest"_a, "row_match"_a.noconvert(), "col_match"_a.noconvert(), "u"_a.noconvert(), "v"_a.noconvert(),
        "rests"_a.noconvert().none());
  mirror::add_enum<TierOutcome>(m, "TierOutcome");
  m.def("inspect_costs", &inspect_costs, "costs"_a.noconvert(), "stored"_a, "threads"_a);
  m.def("pairs_small", &pairs_small);
  m.def("small_solver", &small_solver);
  m.def("bits_of_options", &bits_of_options);
  m.def("small_lap", &small_lap);
  m.def("small_sparse_solver", &small_sparse_solver);
  m.def("lap_small_batch", &lap_small_batch, "costs"_a, "maximize"_a, "cost_limit"_a.none(), "most_threads"_a);
  m.def("pairs_of_small_batch", &pairs_of_small_batch);
  m.def("result_of_small_batch", &result_of_small_batch);
  m.def("results_of_small_batch", &results_of_small_batch);
  mirror::add_struct<SmallCounters>(m, "SmallCounters");
  mirror::add_arrays<SmallCells<Count>>(m, "SmallCells<long long>");
  mirror::add_arrays<SmallCells<double>>(m, "SmallCells<double>");
  mirror::add_enum<Storage>(m, "Storage");
  m.attr("SMALL_SIDE") = SMALL_SIDE;
}
