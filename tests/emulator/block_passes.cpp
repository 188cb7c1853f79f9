// block_passes.cpp: the passes of a rank over its block, for one type of COSTS, beside plain loops.
#include "assignment.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

using Cost = CostOf<COSTS>::type;
using Dual = DualOf<Cost>::type;

struct Given {
  Matrix<Cost> matrix;
  DenseCosts<Cost> costs;
  std::vector<Vertex> rows;
  std::vector<Dual> u, v;
  std::vector<unsigned char> covered;
  BlockPass<Dual> pass;
  emulator::Launch launch;

  Dual slack(Vertex row, Vertex column) const { return costs.at(row, column) - v[column] - u[row]; }
};

static std::vector<Dual> draw_numbers(Random& random, Count length) {
  std::vector<Dual> numbers(length);
  for (Dual& number : numbers) number = static_cast<Dual>(random() % 41) - 20;
  return numbers;
}

static std::string judge_rows(const Given& given) {
  std::vector<Dual> least(given.rows.size());
  std::vector<Vertex> nearest(given.rows.size(), 77);
  emulator::launch(given.launch, [&] { least_of_rows_grid(given.costs, given.pass, least.data(), nearest.data(), arrivals); });
  for (std::size_t i = 0; i < given.rows.size(); ++i) {
    Dual best = given.costs.infinite();
    Vertex at_best = 0;
    for (Vertex column = 0; column < given.matrix.columns; ++column) {
      const Dual reduced = given.costs.at(given.rows[i], column) - given.v[column];
      if (given.covered[column] || !(reduced < best)) continue;
      best = reduced;
      at_best = column;
    }
    if (least[i] != best) return "another least of a row";
    if (nearest[i] != at_best) return "another nearest column";
  }
  return "";
}

static std::string judge_columns(const Given& given) {
  std::vector<Dual> least(given.matrix.columns);
  std::vector<Count> places(given.matrix.columns);
  emulator::launch(given.launch,
                   [&] { least_of_columns_grid(given.costs, given.u.data(), least.data(), places.data(), arrivals); });
  for (Vertex column = 0; column < given.matrix.columns; ++column) {
    Dual best = given.costs.infinite();
    for (Vertex row = 0; row < given.matrix.rows; ++row) best = std::min(best, given.costs.at(row, column) - given.u[row]);
    if (least[column] != best) return "another least of a column";
  }
  return "";
}

static std::string judge_list(const Given& given, Random& random) {
  const Dual most = static_cast<Dual>(random() % 5);
  const Count room = static_cast<Count>(random() % 200);
  std::vector<Count> places(room + 1, -1);
  std::vector<Dual> slacks(room + 1, -1);
  Count found = 77;
  emulator::launch(given.launch, [&] {
    entries_up_to_grid(given.costs, given.pass, most, places.data(), slacks.data(), room, &found, arrivals);
  });
  std::set<Count> expected;
  for (const Vertex row : given.rows) {
    for (Vertex column = 0; column < given.matrix.columns; ++column) {
      const Dual slack = given.slack(row, column);
      if (given.covered[column] || slack > most + rounding_of(given.u[row], given.v[column])) continue;
      if (slack < given.costs.infinite()) expected.insert(Count{row} * given.matrix.columns + column);
    }
  }
  if (found != static_cast<Count>(expected.size())) return "another number of entries";
  if (places[room] != -1 || slacks[room] != -1) return "an entry beyond the room";
  const Count kept = std::min(room, found);
  const std::set<Count> listed(places.begin(), places.begin() + kept);
  if (static_cast<Count>(listed.size()) != kept) return "an entry twice";
  for (Count i = 0; i < kept; ++i) {
    const auto row = static_cast<Vertex>(places[i] / given.matrix.columns);
    const auto column = static_cast<Vertex>(places[i] % given.matrix.columns);
    if (expected.count(places[i]) == 0) return "another entry";
    if (slacks[i] != given.slack(row, column)) return "another slack of an entry";
  }
  return "";
}

// The `most` least of each stratum, up to a bound of the row: sizes, and values of the columns, since ties may go either way.
template <class Value, class Bound>
std::string judge_strata(const Given& given, const std::vector<Vertex>& sizes, const std::vector<Vertex>& columns, Vertex most,
                         Value value, Bound is_wanted) {
  constexpr Vertex STRATA = RowPass<Cost>::STRATA;
  for (Vertex row = 0; row < given.matrix.rows; ++row) {
    std::vector<Dual> expected, found;
    for (Vertex stratum = 0; stratum < STRATA; ++stratum) {
      std::vector<Dual> here;
      for (Vertex column = stratum; column < given.matrix.columns; column += STRATA) {
        if (is_wanted(row, column)) here.push_back(value(row, column));
      }
      std::sort(here.begin(), here.end());
      if (static_cast<Vertex>(here.size()) > most) here.resize(most);
      expected.insert(expected.end(), here.begin(), here.end());
    }
    std::set<Vertex> different;
    if (sizes[row] < 0 || sizes[row] > most * STRATA) return "a size beyond the room";
    for (Vertex k = 0; k < sizes[row]; ++k) {
      const Vertex column = columns[Count{row} * most * STRATA + k];
      if (column < 0 || column >= given.matrix.columns || !different.insert(column).second) return "a column that is none";
      found.push_back(value(row, column));
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    if (found != expected) return "other entries of a row";
  }
  return "";
}

static std::string judge_prices(const Given& given) {
  std::vector<Vertex> sizes(given.matrix.rows, 7), columns(PICKED_ON_GPU * 32 * Count{given.matrix.rows}, 7);
  emulator::launch(given.launch,
                   [&] { price_rows_grid(given.costs, given.v.data(), sizes.data(), columns.data(), arrivals); });
  return judge_strata(
      given, sizes, columns, PICKED_ON_GPU,
      [&](Vertex row, Vertex column) { return given.costs.at(row, column) - given.v[column]; },
      [&](Vertex row, Vertex column) { return given.costs.at(row, column) < given.costs.infinite(); });
}

static std::string judge_overpriced(const Given& given) {
  std::vector<Vertex> sizes(given.matrix.rows, 7), columns(32 * Count{given.matrix.rows}, 7);
  emulator::launch(given.launch, [&] {
    overpriced_grid(given.costs, given.u.data(), given.v.data(), sizes.data(), columns.data(), arrivals);
  });
  // Numbers drawn here are whole, or of few places: nothing is near a rounding.
  const auto slack = [&](Vertex row, Vertex column) { return given.slack(row, column); };
  return judge_strata(given, sizes, columns, 1, slack, [&](Vertex row, Vertex column) {
    return slack(row, column) < 0 && !is_rounding(slack(row, column), given.u[row], given.v[column]);
  });
}

// A forest in which the block has the middle columns, and far edges lead to all others.
struct State {
  std::vector<Vertex> mate, predecessor, far_columns;
  std::vector<Dual> v, label, expanded, far_costs;
  std::vector<Count> begins;
};

static State draw_state(const Given& given, Random& random, Vertex first, Vertex columns) {
  const Vertex rows = given.matrix.rows;
  const Dual infinite = given.costs.infinite();
  State state{std::vector<Vertex>(columns, NONE), std::vector<Vertex>(columns, NONE), {}, draw_numbers(random, columns),
              std::vector<Dual>(columns, infinite), std::vector<Dual>(rows, 0), {}, {0}};
  std::copy(given.v.begin(), given.v.end(), state.v.begin() + first);
  for (Vertex row = 0; row < rows; ++row) {
    if (row < columns && random() % 3 != 0) {  // each row is the mate of one column at most
      state.mate[(row + 5) % columns] = row;
      state.expanded[row] = infinite;
    }
    for (Vertex column = 0; column < columns; ++column) {
      if ((column >= first && column < first + given.matrix.columns) || random() % 3 == 0) continue;
      state.far_columns.push_back(column);
      state.far_costs.push_back(static_cast<Dual>(random() % 40));
    }
    state.begins.push_back(static_cast<Count>(state.far_columns.size()));
  }
  for (Dual& label : state.label) {  // as other ranks have told them
    if (random() % 6 == 0) label = static_cast<Dual>(random() % 90);
  }
  return state;
}

// The labels without any bound, edge after edge until none falls; and calls use(row, column, cost) for each edge.
template <class Use>
static void each_edge(const Given& given, const State& state, Vertex first, Use use) {
  for (Vertex row = 0; row < given.matrix.rows; ++row) {
    for (Vertex column = 0; column < given.matrix.columns; ++column) use(row, first + column, given.costs.at(row, column));
    for (Count at = state.begins[row]; at < state.begins[row + 1]; ++at) use(row, state.far_columns[at], state.far_costs[at]);
  }
}

static std::vector<Dual> labels_plainly(const Given& given, const State& state, Vertex first) {
  std::vector<Dual> label = state.label, of_row = state.expanded;
  for (bool falls = true; falls;) {
    falls = false;
    for (Vertex column = 0; column < static_cast<Vertex>(label.size()); ++column) {
      if (state.mate[column] != NONE) of_row[state.mate[column]] = label[column];
    }
    each_edge(given, state, first, [&](Vertex row, Vertex column, Dual cost) {
      if (!(of_row[row] < given.costs.infinite()) || !(cost < given.costs.infinite())) return;
      const Dual here = std::max(cost - state.v[column] - given.u[row], Dual{0}) + of_row[row];
      if (!(here < label[column])) return;
      label[column] = here;
      falls = true;
    });
  }
  return label;
}

static std::string judge_labels(const Given& given, const State& before, const State& after, Vertex first, Dual threshold) {
  const std::vector<Dual> exact = labels_plainly(given, before, first);
  const Vertex columns = static_cast<Vertex>(exact.size());
  for (Vertex column = 0; column < columns; ++column) {
    if (after.label[column] < exact[column]) return "a label below the shortest path";
    if (exact[column] <= threshold && after.label[column] != exact[column]) return "a label above the shortest path";
    const Vertex mate = before.mate[column], row = after.predecessor[column];
    if (mate != NONE && after.label[column] <= threshold && after.label[column] < given.costs.infinite() &&
        after.expanded[mate] != after.label[column]) {
      return "a row that was not expanded";
    }
    if ((row != NONE) != (after.label[column] < before.label[column])) return "a predecessor of a label that did not fall";
    if (row == NONE) continue;
    bool is_edge = false;
    each_edge(given, before, first, [&](Vertex from, Vertex to, Dual cost) {
      if (from != row || to != column) return;
      is_edge |= std::max(cost - before.v[column] - given.u[row], Dual{0}) + after.expanded[row] <= after.label[column];
    });
    if (!is_edge) return "a predecessor that is none";
    Vertex steps = 0;
    for (Vertex here = column; here != NONE && after.predecessor[here] != NONE; ++steps) {
      if (steps > columns) return "predecessors in a circle";
      const auto at = std::find(before.mate.begin(), before.mate.end(), after.predecessor[here]);
      here = at == before.mate.end() ? NONE : static_cast<Vertex>(at - before.mate.begin());
    }
  }
  return "";
}

static std::string judge_closing(const Given& given, Random& random) {
  const Vertex rows = given.matrix.rows, first = static_cast<Vertex>(random() % 4);
  const Vertex columns = first + given.matrix.columns + static_cast<Vertex>(random() % 4);
  const State before = draw_state(given, random, first, columns);
  State after = before;
  const Count shares = 1 + static_cast<Count>(random() % 5), wanted = 1 + static_cast<Count>(random() % 4);
  Dual largest = 0;
  for (Vertex row = 0; row < rows; ++row) {
    for (Vertex column = 0; column < given.matrix.columns; ++column) {
      const Dual cost = given.costs.at(row, column);
      if (cost < given.costs.infinite()) largest = std::max(largest, cost < 0 ? -cost : cost);
    }
  }
  if (largest > given.costs.infinite() / (4 * rows)) return "";  // paths could be longer than numbers are, which lap refuses
  const Dual bound = random() % 3 == 0 ? given.costs.infinite() : static_cast<Dual>(random() % 60);
  std::vector<Vertex> at_least(shares * given.matrix.columns), next, lengths(2, 77);
  std::vector<Dual> least(shares * given.matrix.columns), limits(4, 77);
  std::vector<Count> within_turns(2, 77);
  for (Vertex row = 0; row < rows; ++row) {
    if (before.expanded[row] == 0) next.push_back(row);
  }
  const Count length = static_cast<Count>(next.size());
  next.resize(rows);
  Dual threshold = 77;
  const Forest<Dual> forest{rows, columns, first, after.mate.data(), given.u.data(), after.v.data(), after.label.data(),
                            after.predecessor.data(), after.expanded.data(), after.begins.data(), after.far_columns.data(),
                            after.far_costs.data(), least.data(), at_least.data(), shares};
  emulator::launch(given.launch, [&] {
    close_grid(given.costs, forest, next.data(), length, bound, wanted, limits.data(), within_turns.data(), lengths.data(), &threshold,
               arrivals);
  });
  Count within = 0;
  for (Vertex column = 0; column < columns; ++column) within += after.mate[column] == NONE && after.label[column] <= threshold;
  if (threshold < bound && within < wanted) return "an end before the bound";
  if (threshold > bound && threshold < given.costs.infinite()) return "a threshold beyond the bound";
  return judge_labels(given, before, after, first, threshold);
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 120, [](Random& random) -> std::string {
    Given given;
    given.matrix = draw_matrix<Cost>(random, random() % 3 == 0 ? 150 : 24);
    given.costs = dense_costs(given.matrix);
    const Vertex rows = given.matrix.rows, columns = given.matrix.columns;
    for (Vertex row = 0; row < rows; ++row) {
      if (random() % 3 != 0) given.rows.push_back(row);
    }
    given.u = draw_numbers(random, rows);
    given.v = draw_numbers(random, columns);
    given.covered.assign(columns, 0);
    for (unsigned char& is : given.covered) is = random() % 4 == 0;
    given.pass = {given.rows.data(), static_cast<Count>(given.rows.size()), given.u.data(), given.v.data(),
                  given.covered.data()};
    given.launch = draw_launch(random);
    emulator::instance += ": " + given.matrix.name + ", " + name_of(given.launch);
    std::string wrong = judge_rows(given);
    if (wrong.empty()) wrong = judge_columns(given);
    if (wrong.empty()) wrong = judge_list(given, random);
    if (wrong.empty()) wrong = judge_prices(given);
    if (wrong.empty()) wrong = judge_overpriced(given);
    if (wrong.empty()) wrong = judge_closing(given, random);
    return wrong;
  });
}
