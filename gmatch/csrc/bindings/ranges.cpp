// ranges.cpp: the range of costs, for Python and for the solvers of small problems.
#include "bindings/ranges.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bindings/module.hpp"
#include "bindings/type_names.hpp"
#include "serial/rows/lanes.hpp"

namespace {

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

}  // namespace

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

template void add_row(CostRange<std::int32_t>&, const std::int32_t*, Count, Count);
template void add_row(CostRange<Count>&, const Count*, Count, Count);
template void add_row(CostRange<float>&, const float*, Count, Count);
template void add_row(CostRange<double>&, const double*, Count, Count);

namespace {

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

// The number of threads to start: `asked`, if it is given. Otherwise one for each unit of work, at most one for each processor.
int thread_count(nb::callable processors, nb::object asked, Count work) {
  if (!asked.is_none()) return nb::cast<int>(nb::int_(asked));
  return work < 2 ? 1 : static_cast<int>(std::min<Count>(nb::len(processors()), work));
}

}  // namespace

void define_ranges(nb::module_& m) {
  m.def("thread_count", &thread_count, "processors"_a, "asked"_a.none(), "work"_a);
  m.def("inspect_costs", &inspect_costs, "costs"_a.noconvert(), "stored"_a, "threads"_a);
}
