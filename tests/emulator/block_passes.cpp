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

// What a rank knows of a forest: of its columns, and which rows they have brought.
struct Forest {
  std::vector<Vertex> mate, predecessor;
  std::vector<Dual> v, slack;
  std::vector<unsigned char> covered, brought;
  Count ends;
  Dual least;
};

// Column after column, row after row.
static void close_plainly(const Given& given, Dual theta, Forest& forest) {
  std::vector<Vertex> frontier = given.rows;
  const Vertex columns = given.matrix.columns;
  for (Vertex column = 0; column < columns; ++column) {
    if (forest.covered[column]) forest.v[column] -= theta;
    else if (forest.slack[column] < given.costs.infinite()) forest.slack[column] = std::max(forest.slack[column] - theta, Dual{0});
  }
  forest.brought.assign(given.matrix.rows, 0);
  do {
    std::set<Vertex> next;
    forest.ends = 0;
    for (Vertex column = 0; column < columns; ++column) {
      if (forest.covered[column]) continue;
      for (const Vertex row : frontier) {
        const Dual slack = given.costs.at(row, column) - forest.v[column] - given.u[row];
        forest.slack[column] = std::min(forest.slack[column], std::max(slack, Dual{0}));
      }
      if (forest.slack[column] != 0) continue;
      if (forest.mate[column] == NONE) ++forest.ends;
      else forest.covered[column] = 1, next.insert(forest.mate[column]);
    }
    for (const Vertex row : next) forest.brought[row] = 1;
    frontier.assign(next.begin(), next.end());
  } while (!frontier.empty());
  forest.least = given.costs.infinite();
  for (Vertex column = 0; column < columns; ++column) {
    if (!forest.covered[column]) forest.least = std::min(forest.least, forest.slack[column]);
  }
}

static std::string judge_closing(const Given& given, Random& random) {
  const Vertex rows = given.matrix.rows, columns = given.matrix.columns;
  const Count shares = 1 + static_cast<Count>(random() % 5);
  const Dual theta = static_cast<Dual>(random() % 3);
  std::vector<Vertex> at_least(shares * columns), next(rows), lengths(2, 77);
  std::vector<Dual> least(shares * columns);
  std::vector<unsigned char> reached(rows, 9);
  Forest expected{std::vector<Vertex>(columns, NONE), std::vector<Vertex>(columns, NONE), given.v,
                  std::vector<Dual>(columns, given.costs.infinite()), given.covered, std::vector<unsigned char>(rows, 9), 77, 77};
  for (Vertex row = 0; row < std::min(rows, columns); ++row) {  // each row is the mate of one column at most
    if (random() % 3 != 0) expected.mate[(row + 5) % columns] = row;
  }
  for (Dual& here : expected.slack) {
    if (random() % 3 == 0) here = static_cast<Dual>(random() % 9);
  }
  Forest found = expected;
  const ForestColumns<Dual> columns_of_forest{
      rows, found.mate.data(), found.v.data(), found.slack.data(), found.predecessor.data(), found.covered.data(),
      reached.data(), &found.ends, least.data(), at_least.data(), shares};
  BlockPass<Dual> pass = given.pass;
  pass.v = found.v.data();
  pass.covered = found.covered.data();
  emulator::launch(given.launch, [&] {
    close_grid(given.costs, pass, columns_of_forest, theta, found.brought.data(), &found.least, next.data(), lengths.data(),
               arrivals);
  });
  close_plainly(given, theta, expected);
  if (found.v != expected.v) return "another dual of a column";
  if (found.slack != expected.slack) return "another slack";
  if (found.covered != expected.covered) return "another cover";
  if (found.brought != expected.brought) return "other rows brought";
  if (found.ends != expected.ends) return "another number of ends";
  if (found.least != expected.least) return "another least slack";
  for (Vertex column = 0; column < columns; ++column) {
    const Vertex row = found.predecessor[column];
    if (row == NONE) continue;
    if (std::max(given.costs.at(row, column) - found.v[column] - given.u[row], Dual{0}) > found.slack[column]) {
      return "another predecessor";
    }
  }
  return "";
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
