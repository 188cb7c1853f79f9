// small_batches.cpp: the short way of small batches, for Python.
#include "bindings/small_batches.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "bindings/small_arrays.hpp"
#include "bindings/small_results.hpp"
#include "bindings/tiers.hpp"

namespace {

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

  // Whether there is a problem, and all problems are small. A problem without rows or columns may be small, too.
  bool is_small() const {
    for (const ArrayMemory& memory : memories_) {
      if (memory.num_dimensions() != (is_list_ ? 2 : 3) || !memory.lies_on_entries()) return false;
      const Py_ssize_t rows = memory.length(is_list_ ? 0 : 1), columns = memory.length(is_list_ ? 1 : 2);
      if (std::min(rows, columns) > SMALL_SIDE || rows + columns > 4 * SMALL_SIDE) return false;
    }
    return is_list_ ? !memories_.empty() : memories_.front().length(0) > 0;
  }
  // The letter of NumPy's common type of the types in which the matrices are solved.
  char type() const {
    char common = memories_.front().solved_as();
    for (const ArrayMemory& memory : memories_) {
      const char type = memory.solved_as();
      if (type != common) common = is_whole(type) && is_whole(common) ? 'q' : 'd';
    }
    return common;
  }
  static bool is_whole(char type) { return type == 'i' || type == 'q'; }

  // The matrices as costs of a type: views of the arrays that have the type, and `copies` of the others. Returns no matrices if
  // the type does not hold an entry.
  template <class Cost>
  std::vector<SmallMatrix<Cost>> matrices(std::vector<Cost>& copies) const {
    copies.resize(entries_to_copy<Cost>());
    Cost* next = copies.data();
    std::vector<SmallMatrix<Cost>> all;
    const Py_ssize_t problems = is_list_ ? static_cast<Py_ssize_t>(memories_.size()) : memories_.front().length(0);
    all.reserve(problems);
    for (Py_ssize_t p = 0; p < problems; ++p) {
      const ArrayMemory& memory = memories_[is_list_ ? p : 0];
      const bool is_held = memory.with_stored([&](auto entry) {
        using Stored = decltype(entry);
        const SmallMatrix<Stored> stored = is_list_ ? memory.matrix<Stored>() : memory.matrix<Stored>(p);
        if constexpr (std::is_same_v<Stored, Cost>) {
          all.push_back(stored);
        } else {
          all.push_back(copied_with_long_lines(stored, next));
          next += Count{stored.shape[0]} * stored.shape[1];
        }
        return holds<Cost>(stored);
      });
      if (!is_held) return {};
    }
    return all;
  }

 private:
  template <class Cost>
  std::size_t entries_to_copy() const {
    std::size_t entries = 0;
    for (const ArrayMemory& memory : memories_) {
      const bool is_copied = memory.with_stored([](auto entry) { return !std::is_same_v<decltype(entry), Cost>; });
      std::size_t size = is_copied;
      for (int k = 0; k < memory.num_dimensions(); ++k) size *= memory.length(k);
      entries += size;
    }
    return entries;
  }

  const bool is_list_;
  const nb::object kept_;
  std::vector<ArrayMemory> memories_;
};

// A problem of a batch: the word where its cells begin, and the words of its duals in tiers or of its cover.
struct CellsOfProblem {
  Count begin;
  std::vector<Count> words = {};
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

// Whether other threads of Python may run while the problems are solved: if these have more entries than a very small matrix.
template <class Cost>
bool has_work(const std::vector<SmallMatrix<Cost>>& matrices) {
  Count entries = 0;
  for (const SmallMatrix<Cost>& matrix : matrices) entries += Count{matrix.shape[0]} * matrix.shape[1];
  return entries > Count{VERY_SMALL_SIDE} * VERY_SMALL_SIDE;
}

// Solves all problems; false if one needs another way. The cells of each note the call.
template <class Cost>
bool solve_small_batch(const std::vector<SmallMatrix<Cost>>& matrices, const SmallCall& call, const NotedCall& noted,
                       std::vector<CellsOfProblem>& problems, Count* cells, int threads) {
  const Count count = static_cast<Count>(matrices.size());
  constexpr Count TURNS_OF_A_THREAD = 8;  // a thread takes an eighth of its share at a time, since problems differ
  const Count at_a_time = 1 + count / (TURNS_OF_A_THREAD * threads);
  std::atomic<Count> next{0};
  std::atomic<bool> has_solved{true};
  std::optional<OthersMayRun> others_may_run;
  if (has_work(matrices)) others_may_run.emplace();
  run_on_host(threads, [&](HostTeam&) {
    std::vector<Cost> copy;
    Poll poll;
    for (Count first = next.fetch_add(at_a_time); first < count && has_solved; first = next.fetch_add(at_a_time)) {
      for (Count p = first; p < std::min(count, first + at_a_time); ++p) {
        poll.spend(Count{matrices[p].shape[0]} * matrices[p].shape[1]);
        Count* const begin = cells + problems[p].begin;
        if (solve_small(with_long_lines(matrices[p], copy), call, begin, problems[p].words)) {
          note_call(begin, noted.of(matrices[p].shape));
        } else {
          has_solved = false;
        }
      }
    }
  });
  return has_solved;
}

// The answer of a batch: the cells of all problems, a line for each problem, the number of threads, and whether NaN has forbidden
// pairs. A line is the number of the word where the cells of a problem begin. If the problem has duals in tiers or a cover, the
// line is a tuple of that number and the duals or the cover. There are no lines if a problem needs another way.
struct SolvedBatch {
  nb::object cells, lines;
  int threads;
  bool has_nan;
};

template <class Cost>
SolvedBatch solved_as(const std::vector<SmallMatrix<Cost>>& matrices, const SmallCall& call, const NotedCall& noted,
                      nb::handle most_threads) {
  const int threads = threads_for(matrices, most_threads);
  std::vector<CellsOfProblem> problems;
  problems.reserve(matrices.size());
  Count words = 0;
  for (const SmallMatrix<Cost>& matrix : matrices) {
    problems.push_back({words});
    words += words_of_cells(matrix.shape[0], matrix.shape[1]);
  }
  SolvedBatch solved{new_words(words), {}, threads, false};
  if (matrices.empty() || !solve_small_batch(matrices, call, noted, problems, first_of(solved.cells), threads)) return solved;
  nb::list lines;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto& [begin, words_of_problem] = problems[p];
    const auto& counters = *reinterpret_cast<const SmallCounters*>(first_of(solved.cells) + begin);
    solved.has_nan |= counters.has_nan != 0;
    if (words_of_problem.empty()) {
      lines.append(begin);
      continue;
    }
    const NotedCall of_problem = noted.of(matrices[p].shape);
    const bool has_cover = are_cover(words_of_problem, of_problem, counters.size);
    lines.append(nb::make_tuple(begin, has_cover ? cover_of(words_of_problem, of_problem.rows, of_problem.columns)
                                                 : duals_in_tiers(words_of_problem)));
  }
  solved.lines = std::move(lines);
  return solved;
}

// Whether the limit forbids a pair. If no problem has costs, the limit is compared with 0.
template <class Cost>
bool is_exceeded(const std::vector<SmallMatrix<Cost>>& matrices, const SmallCall& call) {
  CostRange<Cost> range = empty_range<Cost>();
  for (const SmallMatrix<Cost>& matrix : matrices) {
    add_rows(range, matrix.entries, matrix.shape[0], matrix.shape[1], matrix.stride[0], matrix.stride[1]);
  }
  if (range.lowest > range.highest) range.lowest = range.highest = 0;
  const double limit = call.limit->number;
  return call.maximize ? static_cast<double>(range.lowest) < limit : static_cast<double>(range.highest) > limit;
}

template <class Cost>
SolvedBatch solved_as(const BatchMemory& memory, SmallCall call, const NotedCall& noted, nb::handle most_threads) {
  std::vector<Cost> copies;
  const std::vector<SmallMatrix<Cost>> matrices = memory.matrices(copies);
  if constexpr (std::numeric_limits<Cost>::is_integer) {
    // Duals are integers unless the limit has a fraction, and forbids a pair of any problem.
    if (call.limit != nullptr && !call.limit->is_whole) {
      if (is_exceeded(matrices, call)) return solved_as<double>(memory, call, noted, most_threads);
      call.limit = nullptr;
    }
  }
  return solved_as(matrices, call, noted, most_threads);
}

SolvedBatch solved_batch(const BatchMemory& memory, const SmallCall& call, nb::handle most_threads) {
  const char type = memory.type();
  const NotedCall noted{0, 0, type, call.maximize, call.limit};
  switch (type) {
    case 'd': return solved_as<double>(memory, call, noted, most_threads);
    case 'f': return solved_as<float>(memory, call, noted, most_threads);
    case 'i': return solved_as<std::int32_t>(memory, call, noted, most_threads);
    default: return solved_as<Count>(memory, call, noted, most_threads);
  }
}

}  // namespace

nb::object SmallBatchSolver::solve(const SmallOptions& options, SmallCall call) const {
  SmallLimit limit;
  const bool has_limit = options.cost_limit != nullptr;
  if (has_limit && !read_limit(options.cost_limit, &limit)) return nb::none();
  const BatchMemory memory(options.costs);
  if (!memory.is_small() || (!is_sure(options.costs) && memory.looks_like_points())) return nb::none();
  const nb::handle threads = options.threads == nullptr || options.threads == Py_None ? most_threads : options.threads;
  if (has_limit) call.limit = &limit;
  call.forbids_nan = options.forbids_nan;
  const SolvedBatch found = solved_batch(memory, call, threads);
  if (!found.lines.is_valid()) return nb::none();
  nb::list later;
  later.append(items);
  later.append(found.lines);
  later.append(kind_of_item);
  later.append(nb::handle(PyTuple_GetItem(makers.ptr(), options.bits)));
  later.append(found.threads);
  nb::object result = later_result(kind, make_field, nb::none(), found.cells, later);
  if (found.has_nan) set_forbid_nan(result);
  return result;
}

namespace {

// The rows and the columns of the pairs of a problem.
template <class Index>
nb::tuple pairs_of_problem(nb::handle cells, nb::handle line, Index* SmallCells<Count>::* columns_of_pairs) {
  Count* const begin = first_of(cells) + begin_in_batch(line);
  const auto& counters = *reinterpret_cast<const SmallCounters*>(begin);
  return pairs_in(cells, begin, static_cast<Vertex>(counters.rows), static_cast<Vertex>(counters.columns), columns_of_pairs);
}

// As pairs_of_problem, with numbers of 64 bits for both sides: views of the cells.
nb::tuple pairs_of_small_batch(nb::handle cells, nb::handle line) {
  return pairs_of_problem(cells, line, &SmallCells<Count>::pair_columns);
}

// The numbers of rows, columns and pairs of each problem.
nb::list sizes_of_small_batch(nb::handle cells, const nb::list& lines) {
  nb::list sizes;
  for (const nb::handle line : lines) {
    const auto& counters = *reinterpret_cast<const SmallCounters*>(first_of(cells) + begin_in_batch(line));
    sizes.append(nb::make_tuple(counters.rows, counters.columns, counters.size));
  }
  return sizes;
}

// Makes results of problems of a batch, of Python's type `kind`. Their fields are made from the cells of the batch and from the
// problem's line.
struct ResultsOfBatch {
  nb::handle kind, make_field, cells;

  nb::object of(nb::handle line) const {
    const nb::tuple pairs = pairs_of_problem(cells, line, &SmallCells<Count>::pair_columns_32);
    nb::object result = later_result(kind, make_field, pairs, cells, line);
    const nb::handle last = PyTuple_CheckExact(line.ptr()) ? nb::handle(PyTuple_GetItem(line.ptr(), 1)) : nb::handle();
    if (last.is_valid() && PyTuple_CheckExact(last.ptr())) set_cover(result, last);
    note_nan(result, first_of(cells) + begin_in_batch(line));
    return result;
  }
  nb::list of_all(nb::handle lines) const {
    nb::list all;
    for (Py_ssize_t p = 0; p < PyList_Size(lines.ptr()); ++p) all.append(of(PyList_GetItem(lines.ptr(), p)));
    return all;
  }
};

nb::object result_of_small_batch(nb::handle kind, nb::handle make_field, nb::handle cells, nb::handle line) {
  return ResultsOfBatch{kind, make_field, cells}.of(line);
}

// The results of all problems, in their order.
nb::list results_of_small_batch(nb::handle kind, nb::handle make_field, nb::handle cells, const nb::list& lines) {
  return ResultsOfBatch{kind, make_field, cells}.of_all(lines);
}

// As results_of_small_batch, with pairs that are tensors in the memory of the cells. Their fields are made of `problems` and the
// number of the problem.
nb::list results_as_tensors(nb::handle kind, nb::handle make_field, nb::handle from_numpy, nb::handle cells,
                            const nb::list& lines, nb::handle problems) {
  nb::list all;
  for (const nb::handle line : lines) {
    const nb::tuple pairs = pairs_of_small_batch(cells, line);
    const nb::object tensors = nb::make_tuple(from_numpy(pairs[0]), from_numpy(pairs[1]));
    all.append(later_result(kind, make_field, tensors, nb::make_tuple(problems, nb::len(all)), nullptr));
  }
  return all;
}

}  // namespace

nb::list results_of_batch(nb::handle cells, nb::handle parts) {
  const auto part = [&](Py_ssize_t place) { return nb::handle(PyList_GetItem(parts.ptr(), place)); };
  return ResultsOfBatch{part(2), part(3), cells}.of_all(part(1));
}

void define_small_batches(nb::module_& m) {
  m.def("pairs_of_small_batch", &pairs_of_small_batch);
  m.def("sizes_of_small_batch", &sizes_of_small_batch);
  m.def("result_of_small_batch", &result_of_small_batch);
  m.def("results_of_small_batch", &results_of_small_batch);
  m.def("results_as_tensors", &results_as_tensors);
}
