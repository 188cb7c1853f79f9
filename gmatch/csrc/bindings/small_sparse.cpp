// small_sparse.cpp: the short way of small sparse matrices, for Python.
#include "bindings/small_sparse.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/small_arrays.hpp"
#include "bindings/small_results.hpp"
#include "bindings/ticks.hpp"
#include "bindings/tiers.hpp"
#include "costs/magnitudes.hpp"
#include "costs/sparse.cuh"
#include "serial/exact/named_rows.hpp"
#include "serial/sparse_shortest_path.hpp"
#include "serial/stored_matrix.hpp"

namespace {

// How a sparse matrix is stored.
MIRRORED_ENUM(Storage, rows, columns, coordinates);

// A small sparse problem, and its options.
struct SmallSparseCall {
  Vertex rows, columns;
  bool lines_are_columns, maximize;
  const SmallLimit* limit;  // or nullptr
  bool deterministic, may_be_partial;
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
    const bool may_leave_rows = call_.limit != nullptr || (call_.may_be_partial && stored.length > 0);
    if ((stored.length < fewer_ && !may_leave_rows) || stored.length > pairs) return SmallSolution::NONE_FOUND;
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
    SmallCall call{call_.maximize, true, call_.limit, call_.deterministic, false, true};
    call.may_be_partial = call_.may_be_partial;
    if (!solve_plain(matrix, same, call, IS_INTEGER, cells_, words_)) return false;
    if (call_.limit != nullptr && !words_.empty()) return false;  // a result with a limit has no duals in tiers
    if constexpr (!std::is_same_v<Dual, typename DenseCosts<Entry>::Dual>) make_integers();
    if (IS_INTEGER && SmallCells<Dual>(cells_, call_.rows, call_.columns).size() == std::max(call_.rows, call_.columns)) {
      lower_column_duals();
    }
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

    const Count begin = ticks();
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
      const double largest =
          std::max(largest_magnitude(result.u, lines.num_lines), largest_magnitude(result.v, lines.num_places));
      const auto cost_of = [&](Vertex row) { return lines.entry(row, result.row_match[row]); };
      const double within = hiding_if_negative_within(lines.num_lines, largest, lowest, cost_of);
      const auto is_negative_within = [&](Cost entry) {
        const double cost = call_.maximize ? -static_cast<double>(entry) : static_cast<double>(entry);
        return -within < cost && cost < 0;
      };
      const bool hides = within == IN_ANY_CASE ||
                         (within > 0 && std::any_of(lines.entries.begin(), lines.entries.end(), is_negative_within));
      if (hides) return false;
    }
    Count with_choice = 0;
    if (call_.deterministic) {
      if (!settle_ties(ListedRows<Costs>{costs}, result, {}, transposed, with_choice)) return false;
    }
    found.note_pairs(call_.rows, [&](Vertex row, Vertex column) {
      return transposed ? lines.entry(column, row) : lines.entry(row, column);
    });
    found.note_counters(counted, counted.start_size, ticks() - begin);
    reinterpret_cast<SmallCounters*>(cells_)->rows_with_choice = with_choice;
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
  bool maximize, deterministic, may_be_partial;

  explicit SmallSparseSolving(PyObject* parts)
      : kind(PyTuple_GetItem(parts, 0)),
        make_field(PyTuple_GetItem(parts, 1)),
        make_field_of_laid_out(PyTuple_GetItem(parts, 2)),
        storage(static_cast<int>(PyLong_AsLong(PyTuple_GetItem(parts, 3)))),
        maximize(PyTuple_GetItem(parts, 4) == Py_True),
        deterministic(PyTuple_GetItem(parts, 5) == Py_True),
        may_be_partial(PyTuple_GetItem(parts, 6) == Py_True) {}

  nb::object solve(nb::handle cost_limit, nb::handle costs) const {
    // `shape` is a property in Python, which takes 45 ns more than this attribute behind it.
    static PyObject* const shape_name = PyUnicode_InternFromString("_shape");
    static PyObject* const data_name = PyUnicode_InternFromString("data");
    static PyObject* const coords_name = PyUnicode_InternFromString("coords");
    static PyObject* const indptr_name = PyUnicode_InternFromString("indptr");
    static PyObject* const indices_name = PyUnicode_InternFromString("indices");
    const bool has_limit = cost_limit.is_valid(), compressed = storage != static_cast<int>(Storage::coordinates);
    SmallLimit limit;
    if (has_limit && !read_limit(cost_limit, &limit)) return nb::none();
    SmallSparseCall call{0, 0, storage == static_cast<int>(Storage::columns), maximize, has_limit ? &limit : nullptr,
                         deterministic, may_be_partial};
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
    return later_result(kind, solved == SmallSolution::LAID_OUT ? make_field_of_laid_out : make_field, cells,
                        {call.rows, call.columns, memory.data.type(), maximize, call.limit}, words);
  }
};

nb::object small_sparse_solver(nb::handle kind, nb::handle make_field, nb::handle make_field_of_laid_out, int storage,
                               bool maximize, bool deterministic, bool may_be_partial) {
  return small_solver_of<SmallSparseSolving>(
      nb::make_tuple(kind, make_field, make_field_of_laid_out, storage, maximize, deterministic, may_be_partial));
}

}  // namespace

nb::object solve_sparse_matrix(PyObject* parts, nb::handle cost_limit, nb::handle costs) {
  return SmallSparseSolving(parts).solve(cost_limit, costs);
}

void define_small_sparse(nb::module_& m) {
  m.def("small_sparse_solver", &small_sparse_solver);
  mirror::add_enum<Storage>(m, "Storage");
}
