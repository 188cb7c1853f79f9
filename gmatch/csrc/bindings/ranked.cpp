// ranked.cpp: the cheapest assignments in order, of one problem or of several, for Python.
#include <atomic>
#include <vector>

#include "bindings/module.hpp"
#include "serial/ranked_assignments.hpp"

namespace {

template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The next assignments of a problem: the tables that they are written to, a row each, and their number so far.
template <class Dual>
struct Wanted {
  RankedAssignments<Dual>* ranking;
  Table<Vertex> row_match;
  Table<Dual> u, v;
  Dual gap;  // the search ends with the first assignment that costs at least this much more than the best of all
  Count found = 0;
  bool are_all = false;  // whether there are no more

  // Finds assignments until the tables are full or there are no more. u and v are the changes of the duals of the best assignment
  // of all, so that free columns keep their duals.
  void find() {
    const auto number = static_cast<Count>(row_match.shape(0));
    const auto rows = static_cast<Vertex>(u.shape(1)), columns = static_cast<Vertex>(v.shape(1));
    while (found < number) {
      const auto* node = ranking->next();
      if (node == nullptr) {
        are_all = true;
        return;
      }
      for (Vertex row = 0; row < rows; ++row) {
        row_match.data()[found * rows + row] = node->pairs[row].column;
        u.data()[found * rows + row] = node->u(row) - node->vacancy;
      }
      for (Vertex column = 0; column < columns; ++column) {
        v.data()[found * columns + column] = node->v[column] + node->vacancy;
      }
      ++found;
      if (!(node->gap < gap)) return;
    }
  }
};

// The next assignments of several problems, each of which is one thread's. Returns how many each has, and whether there are
// no more.
template <class Dual>
nb::list rank(nb::list rankings, nb::list row_matches, nb::list us, nb::list vs, Array<const Dual> gaps, int threads) {
  std::vector<Wanted<Dual>> wanted;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    wanted.push_back({nb::cast<RankedAssignments<Dual>*>(rankings[i]), nb::cast<Table<Vertex>>(row_matches[i]),
                      nb::cast<Table<Dual>>(us[i]), nb::cast<Table<Dual>>(vs[i]), gaps.data()[i]});
  }
  {
    const OthersMayRun others_may_run;
    std::atomic<std::size_t> next{0};
    run_on_host(threads, [&](HostTeam&) {
      for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < wanted.size();) wanted[i].find();
    });
  }
  nb::list found;
  for (const Wanted<Dual>& one : wanted) found.append(nb::make_tuple(one.found, one.are_all));
  return found;
}

template <class Dual>
void define_ranking(nb::module_& m, const char* name) {
  using Ranking = RankedAssignments<Dual>;
  nb::class_<Ranking>(m, name)
      .def(
          "__init__",
          [](Ranking* self, Array<const Count> offsets, Array<const Vertex> columns, Array<const Dual> slacks,
             Array<const Dual> leave, Array<const Vertex> row_match, int threads) {
            const RankedProblem<Dual> problem{static_cast<Vertex>(row_match.shape(0)), static_cast<Vertex>(leave.shape(0)),
                                              offsets.data(), columns.data(), slacks.data(), leave.data(),
                                              row_match.data()};
            const OthersMayRun others_may_run;
            new (self) Ranking(problem, threads);
          },
          "offsets"_a.noconvert(), "columns"_a.noconvert(), "slacks"_a.noconvert(), "leave"_a.noconvert(),
          "row_match"_a.noconvert(), "threads"_a);
  m.def("rank", &rank<Dual>, "rankings"_a, "row_matches"_a, "us"_a, "vs"_a, "gaps"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_ranked_assignments(nb::module_& m) {
  define_ranking<Count>(m, "RankedIntegers");
  define_ranking<double>(m, "RankedFloats");
}
