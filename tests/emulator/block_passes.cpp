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
  const int least_too = random() % 2;
  const Count room = static_cast<Count>(random() % 200);
  std::vector<Count> keys(room + 1, -1);
  Count found = 77;
  emulator::launch(given.launch, [&] {
    entries_up_to_grid(given.costs, given.pass, most, least_too, keys.data(), room, &found, arrivals);
  });
  std::set<Count> expected;
  for (const Vertex row : given.rows) {
    Dual bound = most;
    if (least_too) {
      Dual least = given.costs.infinite();
      for (Vertex column = 0; column < given.matrix.columns; ++column) {
        if (!given.covered[column]) least = std::min(least, given.slack(row, column));
      }
      bound = std::max(bound, least);
    }
    for (Vertex column = 0; column < given.matrix.columns; ++column) {
      const Dual slack = given.slack(row, column);
      if (given.covered[column] || slack > bound + rounding_of(given.u[row], given.v[column])) continue;
      if (slack < given.costs.infinite()) expected.insert(Count{row} * given.matrix.columns + column);
    }
  }
  if (found != static_cast<Count>(expected.size())) return "another number of entries";
  if (keys[room] != -1) return "a key beyond the room";
  const std::set<Count> listed(keys.begin(), keys.begin() + std::min(room, found));
  if (static_cast<Count>(listed.size()) != std::min(room, found)) return "a key twice";
  return std::includes(expected.begin(), expected.end(), listed.begin(), listed.end()) ? "" : "another key";
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

static std::string judge_level(const Given& given, Random& random) {
  const Vertex rows = given.matrix.rows, columns = given.matrix.columns;
  const Count shares = 1 + static_cast<Count>(random() % 5);
  std::vector<Vertex> mate(columns), predecessor(columns, NONE), at_least(shares * columns);
  std::vector<Dual> slack(columns, given.costs.infinite()), least(shares * columns);
  std::vector<unsigned char> covered = given.covered, reached(rows, 9);
  for (Vertex& row : mate) row = random() % 3 == 0 ? NONE : static_cast<Vertex>(random() % rows);
  for (Dual& here : slack) {
    if (random() % 3 == 0) here = static_cast<Dual>(random() % 9);
  }
  const std::vector<Dual> before = slack;
  Count ends = 77;
  const ForestColumns<Dual> forest{rows, mate.data(), given.v.data(), slack.data(), predecessor.data(), covered.data(),
                                   reached.data(), &ends, least.data(), at_least.data(), shares};
  emulator::launch(given.launch, [&] { expand_grid(given.costs, given.pass, forest, arrivals); });
  Count expected_ends = 0;
  std::vector<unsigned char> expected_reached(rows, 0);
  for (Vertex column = 0; column < columns; ++column) {
    Dual expected = before[column];
    if (!given.covered[column]) {
      for (const Vertex row : given.rows) expected = std::min(expected, std::max(given.slack(row, column), Dual{0}));
    }
    if (slack[column] != expected) return "another slack";
    if (slack[column] < before[column]) {
      const Vertex row = predecessor[column];
      if (std::find(given.rows.begin(), given.rows.end(), row) == given.rows.end() ||
          std::max(given.slack(row, column), Dual{0}) != expected) {
        return "another predecessor";
      }
    } else if (predecessor[column] != NONE) return "a predecessor without need";
    const bool joins = !given.covered[column] && expected == 0 && mate[column] != NONE;
    if ((covered[column] != 0) != (joins || given.covered[column])) return "another cover";
    if (joins) expected_reached[mate[column]] = 1;
    expected_ends += !given.covered[column] && expected == 0 && mate[column] == NONE;
  }
  if (ends != expected_ends) return "another number of ends";
  return reached == expected_reached ? "" : "other rows reached";
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
    if (wrong.empty()) wrong = judge_level(given, random);
    return wrong;
  });
}
