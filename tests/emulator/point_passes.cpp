// point_passes.cpp: the passes over all pairs of points, for one kind of TERMS and one number of COORDINATES, beside plain
// loops over what each pair costs.
#include <algorithm>
#include <vector>

#include "points.h"

struct Given {
  std::vector<double> x, y, u, v, boxes, costs;
  mutable std::vector<double> tops;  // which each pass finds
  int chosen;
  PointPairs pairs;
  emulator::Launch launch;

  double reduced(Vertex row, Vertex column) const { return costs[Count{row} * pairs.num_columns + column] - v[column]; }
};

static std::vector<double> draw_numbers(Random& random, Count length) {
  std::vector<double> numbers(length);
  for (double& number : numbers) number = static_cast<double>(random() % 2000) / 1000 - 1;
  return numbers;
}

static Given draw(Random& random) {
  const bool is_wide = random() % 4 == 0;  // often more than 1,024 columns: a pass looks at 32 tiles at a time
  const Vertex rows = 1 + random() % (is_wide ? 5 : 20), columns = 1 + random() % (is_wide ? 2500 : 150);
  Given given{draw_numbers(random, rows * COORDINATES), draw_numbers(random, columns * COORDINATES), draw_numbers(random, rows),
              draw_numbers(random, columns), {}, {}, {}, 1 + static_cast<int>(random() % 31), {}, draw_launch(random)};
  if (random() % 2 == 0) {  // points that follow one another are near each other, so that bounds rule out tiles
    for (int k = 0; k < COORDINATES; ++k) std::sort(&given.y[k * columns], &given.y[k * columns] + columns);
    for (double& dual : given.v) dual /= 100;
    for (double& dual : given.u) dual -= 1;
  }
  const double sign = random() % 2 == 0 ? 1 : -1, limit = random() % 2 == 0 ? HUGE_VAL : 0.5, p = 2.5;
  given.pairs = {given.x.data(), given.y.data(), rows, columns, p, sign, limit};
  for (Vertex row = 0; row < rows; ++row) {
    for (Vertex column = 0; column < columns; ++column) {
      double sum = 0;
      for (int k = 0; k < COORDINATES; ++k) {
        sum = TERMS::add(sum, given.x[row * COORDINATES + k], given.y[k * columns + column], p);
      }
      given.costs.push_back(std::min(sign * TERMS::end(sum, p), limit));
    }
  }
  for (const Vertex size : {Tiles::COLUMNS, Tiles::COLUMNS * Tiles::COLUMNS}) {  // of a tile, and of a bundle
    for (int k = 0; k < COORDINATES; ++k) {
      std::vector<double> ends[2];
      for (Vertex first = 0; first < columns; first += size) {
        const double* const begin = &given.y[k * columns] + first;
        const auto [least, most] = std::minmax_element(begin, begin + std::min(size, columns - first));
        ends[0].push_back(*least);
        ends[1].push_back(*most);
      }
      for (const auto& numbers : ends) given.boxes.insert(given.boxes.end(), numbers.begin(), numbers.end());
    }
  }
  given.tops.assign(given.boxes.size() / (2 * COORDINATES), -77);
  std::vector<double> found(given.boxes.size(), 77);
  emulator::launch(given.launch, [&] { boxes_of_points_grid(given.pairs, found.data(), arrivals); });
  if (found != given.boxes) emulator::fail("other boxes");
  return given;
}

// The reduced costs of the columns of a stratum of a row, in their order.
static std::vector<double> stratum_of(const Given& given, Vertex row, Vertex stratum) {
  std::vector<double> all;
  for (Vertex column = stratum; column < given.pairs.num_columns; column += 32) all.push_back(given.reduced(row, column));
  std::sort(all.begin(), all.end());
  return all;
}

static std::string judge_prices(const Given& given) {
  const Vertex rows = given.pairs.num_rows;
  std::vector<Vertex> sizes(rows, 77), columns(rows * 32 * PICKED_ON_GPU);
  emulator::launch(given.launch, [&] {
    price_points_grid(given.pairs, given.boxes.data(), given.v.data(), given.tops.data(), given.chosen, sizes.data(),
                      columns.data(), arrivals);
  });
  for (Vertex row = 0; row < rows; ++row) {
    std::vector<double> found[32], minima;
    for (Vertex i = 0; i < sizes[row]; ++i) {
      const Vertex column = columns[row * 32 * PICKED_ON_GPU + i];
      found[column % 32].push_back(given.reduced(row, column));
    }
    for (Vertex stratum = 0; stratum < 32; ++stratum) {
      const std::vector<double> all = stratum_of(given, row, stratum);
      minima.push_back(all.empty() ? HUGE_VAL : all[0]);
    }
    std::sort(minima.begin(), minima.end());
    std::size_t number = 0;
    for (Vertex stratum = 0; stratum < 32; ++stratum) {
      std::vector<double> best = stratum_of(given, row, stratum);
      best.resize(std::min<std::size_t>(best.size(), PICKED_ON_GPU));
      const double last = minima[given.chosen - 1];
      best.erase(std::lower_bound(best.begin(), best.end(), last), best.end());
      std::sort(found[stratum].begin(), found[stratum].end());
      number += found[stratum].size();
      // Pairs that equal the last one may be left out.
      while (found[stratum].size() > best.size() && found[stratum].back() == last) found[stratum].pop_back();
      if (found[stratum] != best) return "other pairs than the best of a stratum";
    }
    if (number < std::min<std::size_t>(given.chosen, given.pairs.num_columns)) return "too few pairs";
  }
  return "";
}

static std::string judge_overpriced(const Given& given) {
  const Vertex rows = given.pairs.num_rows;
  std::vector<Vertex> sizes(rows, 77), columns(rows * 32);
  std::vector<double> least(rows, 77);
  emulator::launch(given.launch, [&] {
    overpriced_points_grid(given.pairs, given.boxes.data(), given.u.data(), given.v.data(), given.tops.data(), least.data(),
                           sizes.data(), columns.data(), arrivals);
  });
  for (Vertex row = 0; row < rows; ++row) {
    double best = given.u[row];
    int expected = 0;
    for (Vertex stratum = 0; stratum < 32; ++stratum) {
      const std::vector<double> all = stratum_of(given, row, stratum);
      if (all.empty()) continue;
      best = std::min(best, all[0]);
      expected += all[0] < given.u[row] - 1e-12;
      const bool is_listed = std::any_of(&columns[row * 32], &columns[row * 32] + sizes[row], [&](Vertex column) {
        return column % 32 == stratum && given.reduced(row, column) == all[0];
      });
      if (is_listed != (all[0] < given.u[row] - 1e-12)) return "another worst pair of a stratum";
    }
    if (least[row] != best) return "another least of a row";
    if (sizes[row] != expected) return "another number of pairs";
  }
  return "";
}

static std::string judge_least(const Given& given) {
  const Vertex rows = given.pairs.num_rows;
  std::vector<Vertex> nearest(rows, 77);
  std::vector<double> least(rows, 77);
  emulator::launch(given.launch, [&] {
    least_of_points_grid(given.pairs, given.boxes.data(), given.v.data(), given.tops.data(), least.data(), nearest.data(),
                         arrivals);
  });
  for (Vertex row = 0; row < rows; ++row) {
    double best = HUGE_VAL;
    for (Vertex column = 0; column < given.pairs.num_columns; ++column) best = std::min(best, given.reduced(row, column));
    if (least[row] != best || nearest[row] < 0 || nearest[row] >= given.pairs.num_columns) return "another least cost - v";
    if (given.reduced(row, nearest[row]) != best) return "a column that is not the nearest one";
  }
  return "";
}

static std::string judge_places(const Given& given, Random& random) {
  return judge_places(given.costs, random, [&](const Count* places, Count number, double* found) {
    emulator::launch(given.launch, [&] {
      costs_of_places_grid(given.pairs, places, number, found, arrivals);
    });
  });
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 200, [](Random& random) -> std::string {
    const Given given = draw(random);
    emulator::instance += ": " + std::to_string(given.pairs.num_rows) + " x " + std::to_string(given.pairs.num_columns) + ", " +
                          name_of(given.launch);
    std::string wrong = judge_prices(given);
    if (wrong.empty()) wrong = judge_overpriced(given);
    if (wrong.empty()) wrong = judge_least(given);
    return wrong.empty() ? judge_places(given, random) : wrong;
  });
}
