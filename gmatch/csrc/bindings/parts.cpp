// parts.cpp: for Python, the smallest vertex cover (König 1931) of the allowed pairs of costs without an assignment, and the two
// parts into which the cover divides the costs.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings/module.hpp"
#include "bindings/numpy_arrays.hpp"
#include "bindings/sparse_arrays.hpp"
#include "bindings/type_names.hpp"
#include "cardinality/listed_pairs.hpp"
#include "cardinality/mixed.hpp"
#include "serial/rows/row_copies.hpp"

namespace {

// Which rows and columns are in the cover: the columns that alternating paths from the free rows of a largest matching reach,
// and the matched rows that no such path reaches. Every largest matching gives this cover.
struct Cover {
  std::vector<unsigned char> rows, columns;
};

Cover smallest_cover(const CsrEdges<Count, Vertex>& edges, int threads) {
  const Count rows = edges.num_rows, columns = edges.num_columns, phases = std::min(rows, columns) + 1;
  const auto memory = in_large_pages((rows + columns + 2 * phases) * sizeof(Vertex));
  auto* const row_match = reinterpret_cast<Vertex*>(memory.get());
  Vertex *const col_match = row_match + rows, *const levels = col_match + columns;
  Cover cover{std::vector<unsigned char>(rows), std::vector<unsigned char>(columns)};
  Progress progress{};
  Report report{};
  Task task{{edges.num_rows, edges.num_columns, row_match, col_match},
            cover.columns.data(),
            {levels, levels + phases},
            nullptr,
            &progress,
            &report,
            Start::cheap,
            false};
  const auto workspace = in_large_pages(mixed_workspace_size(edges, task));
  task.workspace = workspace.get();
  run_on_host(threads, [&](HostTeam& team) { match_in_turns(team, edges, task); });
  for (Count row = 0; row < rows; ++row) cover.rows[row] = row_match[row] != NONE && !cover.columns[row_match[row]];
  return cover;
}

// The vertices of a side that are in the cover (if `wanted`) or outside it, as an array of NumPy.
nb::object numbers_of(const std::vector<unsigned char>& in_cover, bool wanted) {
  const Py_ssize_t length = std::count_if(in_cover.begin(), in_cover.end(), [&](bool is_in) { return is_in == wanted; });
  long long* next;
  nb::object numbers = numpy::Table::get().array(1, &length, &next);
  for (std::size_t vertex = 0; vertex < in_cover.size(); ++vertex) {
    if ((in_cover[vertex] != 0) == wanted) *next++ = static_cast<long long>(vertex);
  }
  return numbers;
}

// The rows and the columns of the cover, then the other rows and columns. `list` lists the pairs. `threads_for` returns the
// number of threads for a number of pairs.
template <class List>
nb::tuple cover_of(const List& list, const nb::callable& threads_for) {
  std::unique_ptr<const ListedPairs> pairs;
  {
    const OthersMayRun others_may_run;
    pairs.reset(new ListedPairs(list()));
  }
  const int threads = nb::cast<int>(threads_for(pairs->size()));
  Cover cover;
  {
    const OthersMayRun others_may_run;
    cover = smallest_cover(pairs->edges(), threads);
  }
  return nb::make_tuple(numbers_of(cover.rows, true), numbers_of(cover.columns, true), numbers_of(cover.rows, false),
                        numbers_of(cover.columns, false));
}

// For floats without a limit: integers forbid no pair, and costs with a limit always have an assignment.
nb::tuple cover_of_dense(AnyMatrix costs, const std::string& stored, bool maximize, nb::callable threads_for) {
  return with_stored<double>(stored, [&](auto entry) {
    const auto problem = dense_costs<decltype(entry)>(costs, maximize, nb::none());
    const auto list = [&] {
      return with_rows_side_by_side(problem, 1, [](const auto& side_by_side) { return allowed_pairs(side_by_side); });
    };
    return cover_of(list, threads_for);
  });
}

template <class Offset, class Column, class Cost>
nb::tuple cover_of_sparse(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs, bool maximize,
                          int num_columns, nb::callable threads_for) {
  const SparseCosts<Cost, Offset, Column> problem{static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, offsets.data(),
                                                  columns.data(), costs.data(), maximize};
  return cover_of([&] { return allowed_pairs(problem); }, threads_for);
}

// The range of the finite costs. Both ends are 0 if there are none.
template <class Dual>
class FiniteRange {
 public:
  void add(Dual cost) {
    if (is_forbidden(cost)) return;
    lowest_ = is_empty_ || cost < lowest_ ? cost : lowest_;
    highest_ = is_empty_ || cost > highest_ ? cost : highest_;
    is_empty_ = false;
  }
  Dual lowest() const { return lowest_; }
  Dual highest() const { return highest_; }

 private:
  Dual lowest_{}, highest_{};
  bool is_empty_ = true;
};

// Copies some rows and columns of a matrix, and returns the range of their costs.
nb::tuple copy_part(AnyMatrix costs, const std::string& stored, bool maximize, Array<const Count> rows,
                    Array<const Count> columns, nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu> to) {
  return with_stored<double>(stored, [&](auto entry) {
    using Stored = decltype(entry);
    constexpr Count TILE = 64;  // rows and columns copied together: the matrix may lie by columns
    const auto problem = dense_costs<Stored>(costs, maximize, nb::none());
    const auto height = static_cast<Count>(rows.shape(0)), width = static_cast<Count>(columns.shape(0));
    auto* const copies = static_cast<Stored*>(to.data());
    if (to.itemsize() != sizeof(Stored) || Count(to.shape(0)) != height || Count(to.shape(1)) != width) {
      throw std::invalid_argument("the copy has another type or shape");
    }
    FiniteRange<double> range;
    {
      const OthersMayRun others_may_run;
      Poll poll;
      for (Count first = 0; first < height; first += TILE) {
        for (Count left = 0; left < width; left += TILE) {
          for (Count i = first; i < std::min(height, first + TILE); ++i) {
            for (Count j = left; j < std::min(width, left + TILE); ++j) {
              const Stored copied = *problem.place(static_cast<Vertex>(rows.data()[i]), static_cast<Vertex>(columns.data()[j]));
              copies[i * width + j] = copied;
              range.add(problem.of_entry(value_of(copied)));
            }
          }
        }
        poll.spend(TILE * width);
      }
    }
    return nb::make_tuple(range.lowest(), range.highest());
  });
}

template <class Cost>
struct StoredCost {
  Vertex row, column;
  Cost cost;
};

// Compressed rows of entries: offsets, columns and costs. The entries of a row keep their order.
template <class Cost>
nb::tuple compressed(const std::vector<StoredCost<Cost>>& entries, Count num_rows) {
  const Py_ssize_t num_offsets = num_rows + 1, num_entries = entries.size();
  Count* offsets;
  Vertex* columns;
  Cost* costs;
  const numpy::Table& numpy = numpy::Table::get();
  nb::tuple arrays = nb::make_tuple(numpy.array(1, &num_offsets, &offsets), numpy.array(1, &num_entries, &columns),
                                    numpy.array(1, &num_entries, &costs));
  std::fill_n(offsets, num_offsets, Count{0});
  for (const auto& entry : entries) ++offsets[entry.row + 1];
  for (Count row = 0; row < num_rows; ++row) offsets[row + 1] += offsets[row];
  std::vector<Count> next(offsets, offsets + num_rows);
  for (const auto& entry : entries) {
    const Count place = next[entry.row]++;
    columns[place] = entry.column;
    costs[place] = entry.cost;
  }
  return arrays;
}

// Copies the entries of some rows in some columns. If `turned`, the columns become the rows of the part. Returns the compressed
// rows of the part, and the range of its costs.
template <class Offset, class Column, class Cost>
nb::tuple part_of_sparse(Array<const Offset> offsets, Array<const Column> columns, Array<const Cost> costs, bool maximize,
                         int num_columns, Array<const Count> kept_rows, Array<const Count> kept_columns, bool turned) {
  const SparseCosts<Cost, Offset, Column> problem{static_cast<Vertex>(offsets.shape(0)) - 1, num_columns, offsets.data(),
                                                  columns.data(), costs.data(), maximize};
  const CsrEdges<Offset, Column> edges{problem.num_rows, num_columns, problem.offsets, problem.columns};
  const auto height = static_cast<Vertex>(kept_rows.shape(0)), width = static_cast<Vertex>(kept_columns.shape(0));
  std::vector<StoredCost<Cost>> kept;
  FiniteRange<typename DualOf<Cost>::type> range;
  {
    const OthersMayRun others_may_run;
    Poll poll;
    std::vector<Vertex> number(num_columns, NONE);
    for (Vertex j = 0; j < width; ++j) number[kept_columns.data()[j]] = j;
    for (Vertex i = 0; i < height; ++i) {
      const auto row = static_cast<Vertex>(kept_rows.data()[i]);
      for (Offset edge = edges.begin(row); edge < edges.end(row); ++edge) {
        const Vertex j = number[edges.column(edge)];
        if (j == NONE) continue;
        const Cost cost = costs.data()[edge];
        kept.push_back(turned ? StoredCost<Cost>{j, i, cost} : StoredCost<Cost>{i, j, cost});
        range.add(problem.of_entry(cost));
      }
      poll.spend(edges.end(row) - edges.begin(row));
    }
  }
  return nb::make_tuple(compressed(kept, turned ? width : height), range.lowest(), range.highest());
}

template <class Offset, class Column, class Cost>
void define_for(nb::module_& m) {
  m.def("cover_of_sparse", &cover_of_sparse<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "maximize"_a, "num_columns"_a, "threads_for"_a);
  m.def("part_of_sparse", &part_of_sparse<Offset, Column, Cost>, "offsets"_a.noconvert(), "columns"_a.noconvert(),
        "costs"_a.noconvert(), "maximize"_a, "num_columns"_a, "kept_rows"_a.noconvert(), "kept_columns"_a.noconvert(),
        "turned"_a);
}

}  // namespace

void define_parts(nb::module_& m) {
  each_type_of_sparse([&](auto offset, auto column, auto cost) {
    define_for<decltype(offset), decltype(column), decltype(cost)>(m);
  });
  m.def("cover_of_dense", &cover_of_dense, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "threads_for"_a);
  m.def("copy_part", &copy_part, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "rows"_a.noconvert(),
        "columns"_a.noconvert(), "to"_a.noconvert());
}
