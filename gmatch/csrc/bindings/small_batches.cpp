// small_batches.cpp: the short way of small batches, for Python.
#include "bindings/small_batches.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
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

// A problem of a batch: the word where its cells begin, its rows, columns and pairs, and the words of its duals in tiers or of
// its cover.
struct CellsOfProblem {
  Count begin, rows, columns, pairs;
  std::vector<Count> words = {};

  SmallCells<Count> cells(Count* first) const {
    return {first + begin, static_cast<Vertex>(rows), static_cast<Vertex>(columns)};
  }
  // Called when it is solved: the cells note the call.
  void note(Count* first, char type_of_costs, const SmallCall& call) {
    note_call(first + begin, noted(type_of_costs, call));
    pairs = cells(first).size();
  }
  NotedCall noted(char type_of_costs, const SmallCall& call) const {
    return {static_cast<Vertex>(rows), static_cast<Vertex>(columns), type_of_costs, call.maximize, call.limit};
  }
};

// Solves small problems one after the other, on one thread.
template <class Cost>
class SmallInTurn {
 public:
  explicit SmallInTurn(const SmallCall& call) : call_(call) {}

  // Fills the cells; false if the problem needs another way. There are words if it has duals in tiers or a cover.
  bool solve(const SmallMatrix<Cost>& given, Count* cells, std::vector<Count>& words) {
    if (given.fewer() == 0) {
      leave_free(given, cells);
      return true;
    }
    return solve_small(with_long_lines(given, copy_), call_, cells, words);
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
        if (solver.solve(matrices[p], cells + problems[p].begin, problems[p].words)) problems[p].note(cells, type, call);
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
    const NotedCall noted = problem.noted(memory.type(), call);
    const bool has_cover = are_cover(problem.words, noted, problem.pairs);
    const nb::object last = has_cover ? cover_of(problem.words, noted.rows, noted.columns) : duals_in_tiers(problem.words);
    table.append(nb::make_tuple(problem.begin, problem.rows, problem.columns, problem.pairs, last));
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
// columns, pairs, and duals in tiers or a cover, if it has any; the type of the costs, and the number of threads. None if a
// problem needs another way.
nb::object lap_small_batch(nb::handle costs, bool maximize, bool deterministic, bool may_be_partial, nb::handle cost_limit,
                           nb::handle most_threads) {
  SmallLimit limit;
  const bool has_limit = !cost_limit.is_none();
  if (has_limit && !read_limit(cost_limit, &limit)) return nb::none();
  const BatchMemory memory(costs);
  if (!memory.is_small()) return nb::none();
  SmallCall call{maximize, true, has_limit ? &limit : nullptr, deterministic};
  call.may_be_partial = may_be_partial;
  return solve_batch(memory, call, most_threads);
}

}  // namespace

nb::object SmallBatchSolver::solve(const SmallOptions& options, SmallCall call) const {
  const nb::handle make_field_of_one = PyTuple_GetItem(makers.ptr(), options.bits);
  SmallLimit limit;
  const bool has_limit = options.cost_limit != nullptr;
  if (has_limit && !read_limit(options.cost_limit, &limit)) return nb::none();
  const BatchMemory memory(options.costs);
  if (!memory.is_small() || memory.looks_like_points()) return nb::none();
  const nb::handle threads = options.threads == nullptr || options.threads == Py_None ? most_threads : options.threads;
  if (has_limit) call.limit = &limit;
  const nb::object found = solve_batch(memory, call, threads);
  if (found.is_none()) return found;
  const nb::object made = items(found, make_field_of_one, call.maximize, has_limit ? nb::handle(options.cost_limit) : Py_None);
  return later_result(kind, make_field, nb::none(), nb::make_tuple(made), nullptr);
}

namespace {

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
// problem's line in the table.
struct ResultsOfBatch {
  nb::handle kind, make_field, cells;

  nb::object of(const nb::tuple& line) const {
    const CellsOfProblem problem = problem_of(line);
    const Vertex rows = static_cast<Vertex>(problem.rows), columns = static_cast<Vertex>(problem.columns);
    const nb::tuple pairs = pairs_in(cells, first_of(cells) + problem.begin, rows, columns, &SmallCells<Count>::pair_columns_32);
    nb::object result = later_result(kind, make_field, pairs, cells, line);
    const nb::handle last = PyTuple_GetItem(line.ptr(), 4);
    if (PyTuple_CheckExact(last.ptr())) set_cover(result, last);
    return result;
  }
};

nb::object result_of_small_batch(nb::handle kind, nb::handle make_field, nb::handle cells, const nb::tuple& line) {
  return ResultsOfBatch{kind, make_field, cells}.of(line);
}

// The results of all problems, in their order.
nb::list results_of_small_batch(nb::handle kind, nb::handle make_field, nb::handle cells, const nb::list& table) {
  const ResultsOfBatch results{kind, make_field, cells};
  nb::list all;
  for (const nb::handle line : table) all.append(results.of(nb::borrow<nb::tuple>(line)));
  return all;
}

// As results_of_small_batch, with pairs that are tensors in the memory of the cells. Their fields are made of `problems` and the
// number of the problem.
nb::list results_as_tensors(nb::handle kind, nb::handle make_field, nb::handle from_numpy, nb::handle cells,
                            const nb::list& table, nb::handle problems) {
  nb::list all;
  for (const nb::handle line : table) {
    const nb::tuple pairs = pairs_of_small_batch(cells, nb::borrow<nb::tuple>(line));
    const nb::object tensors = nb::make_tuple(from_numpy(pairs[0]), from_numpy(pairs[1]));
    all.append(later_result(kind, make_field, tensors, nb::make_tuple(problems, nb::len(all)), nullptr));
  }
  return all;
}

}  // namespace

void define_small_batches(nb::module_& m) {
  m.def("lap_small_batch", &lap_small_batch, "costs"_a, "maximize"_a, "deterministic"_a, "may_be_partial"_a,
        "cost_limit"_a.none(), "most_threads"_a);
  m.def("pairs_of_small_batch", &pairs_of_small_batch);
  m.def("result_of_small_batch", &result_of_small_batch);
  m.def("results_of_small_batch", &results_of_small_batch);
  m.def("results_as_tensors", &results_as_tensors);
}
