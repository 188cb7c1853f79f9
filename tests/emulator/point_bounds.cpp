// point_bounds.cpp: passes over pairs of points by bounds, for one kind of TERMS, beside plain loops over what each pair costs.
#include <algorithm>
#include <vector>

#include "points.h"

template <class Terms>
constexpr bool IS_SQUARE = std::is_base_of_v<SquaredTerms, Terms>;
template <class Terms>
constexpr bool IS_PRODUCT = IS_SQUARE<Terms> || std::is_same_v<Terms, Products<0>> || std::is_same_v<Terms, Products<1>>;

constexpr double LEAST_SQUARE = 1.0 / (1 << 16);  // as in gmatch/backends/point_bounds.py

struct Given {
  std::vector<double> x, y, u, v, centre, costs;
  std::vector<float> window, of_rows, of_columns, rounded;
  int dimension, most;
  double per_unit;
  bool in_halves;
  PointPairs pairs;
  emulator::Launch launch;

  double reduced(Vertex row, Vertex column) const { return costs[Count{row} * pairs.num_columns + column] - v[column]; }
  float bound(Vertex row, Vertex column) const {
    const float entry = window[Count{row} * pairs.num_columns + column];
    const float cost = TERMS::bound(entry + of_columns[column] + of_rows[row], static_cast<float>(pairs.sign));
    const float limit = pairs.limit < HUGE_VAL ? float_below(pairs.limit * per_unit) : HUGE_VALF;
    return std::min(cost, limit) - rounded[column];
  }
};

static std::vector<double> draw_numbers(Random& random, Count length) {
  std::vector<double> numbers(length);
  for (double& number : numbers) number = static_cast<double>(random() % 2000) / 1000 - 1;
  return numbers;
}

static double largest_of(const Given& given, const std::vector<double>& points) {
  double largest = 0;
  const PointPairs cloud{points.data(), nullptr, static_cast<Vertex>(points.size()) / given.dimension, 0, 0, 1, 0};
  emulator::launch(given.launch, [&] { largest_grid(cloud, given.dimension, given.centre.data(), &largest, arrivals); });
  return largest;
}

// The number that the bits of a half float mean.
static float of_half(unsigned short bits) {
  const int exponent = bits >> 10 & 31, digits = bits & 1023;
  const double size = exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25);
  return static_cast<float>(bits >> 15 ? -size : size);
}

// Factors that are half floats. Returns the largest share of a point that they lose.
static double make_halves(const Given& given, const int* exponents, int width, std::vector<double>& sums,
                          std::vector<float>* factors) {
  double lost = 0, expected = 0;
  for (int side = 0; side < 2; ++side) {
    const std::vector<double>& points = side == 0 ? given.x : given.y;
    const Count number = static_cast<Count>(points.size()) / given.dimension;
    const PointPairs cloud{points.data(), nullptr, static_cast<Vertex>(number), 0, 0, 1, 0};
    const double factor = (side == 1 ? 1 : (IS_SQUARE<TERMS> ? -2 : -1) * given.pairs.sign) * std::ldexp(1, -exponents[side]);
    std::vector<unsigned short> halves(number * width, 7);
    emulator::launch(given.launch, [&] {
      halves_grid(cloud, given.dimension, width, given.centre.data(), factor, given.dimension * LEAST_SQUARE, sums.data(),
                  halves.data(), &lost, arrivals);
    });
    for (const unsigned short half : halves) factors[side].push_back(of_half(half));
    for (Count i = 0; i < number; ++i) {
      double square = 0, square_lost = 0;
      for (int k = 0; k < width; ++k) {
        const double x = k < given.dimension ? (points[i * given.dimension + k] - given.centre[k]) * factor : 0;
        const double off = x - factors[side][i * width + k];
        if (std::abs(off) > std::max(std::abs(x) * std::ldexp(1, -11), std::ldexp(1, -25))) {
          emulator::fail("a half float that is not the nearest");
        }
        square += x * x;
        square_lost += off * off;
      }
      expected = std::max(expected, std::sqrt(square_lost / (square + given.dimension * LEAST_SQUARE)));
    }
  }
  if (std::abs(lost - expected) > 1e-12) emulator::fail("another loss than that of the half floats");
  return lost;
}

// The window, and what belongs to points in a bound, as gmatch/backends/point_bounds.py has them made.
static void make_bounds(Given& given) {
  const Vertex rows = given.pairs.num_rows, columns = given.pairs.num_columns, d = given.dimension;
  given.window.resize(Count{rows} * columns);
  given.of_rows.assign(rows, 0);
  given.of_columns.assign(columns, 0);
  if (!IS_PRODUCT<TERMS>) {
    given.per_unit = 1.0 / 64;
    std::vector<double> turned(given.y.size());
    for (int column = 0; column < columns; ++column) {
      for (int k = 0; k < d; ++k) turned[k * columns + column] = given.y[column * d + k];
    }
    const PointWindow points{given.x.data(), turned.data(), nullptr, rows, columns, d, given.pairs.p};
    emulator::launch(given.launch, [&] {
      bounds_of_window_grid(points, given.pairs.sign * given.per_unit, given.window.data(), arrivals);
    });
    return;
  }
  int exponents[2];
  std::frexp(largest_of(given, given.x), &exponents[0]);
  std::frexp(largest_of(given, given.y), &exponents[1]);
  if (IS_SQUARE<TERMS>) exponents[0] = exponents[1] = std::max(exponents[0], exponents[1]);
  const bool is_root = std::is_same_v<TERMS, RootOfSquaredTerms>;
  given.per_unit = std::ldexp(1, -(is_root ? exponents[0] : exponents[0] + exponents[1]));
  std::vector<float> factors[2];
  const double sign = given.pairs.sign;
  const int width = given.in_halves ? (d + 7) / 8 * 8 : (d + 3) / 4 * 4;
  std::vector<double> sums(given.launch.blocks * given.launch.threads);
  double off = (12.0 * d + 64) / (1 << 24), least = 0;
  if (given.in_halves) {
    const double lost = make_halves(given, exponents, width, sums, factors);
    if (lost > std::ldexp(1, -11)) emulator::fail("half floats that lose too much");
    least = d * LEAST_SQUARE;
    off = lost * (2 + lost) + (4.0 * d + 64) / (1 << 24);
  }
  for (int side = 0; side < 2; ++side) {
    const std::vector<double>& points = side == 0 ? given.x : given.y;
    const PointPairs cloud{points.data(), nullptr, side == 0 ? rows : columns, 0, 0, 1, 0};
    const double base = side == 0 && std::is_same_v<TERMS, Products<1>> ? sign * given.per_unit : 0;
    const double factor = side == 0 ? (IS_SQUARE<TERMS> ? -2 : -1) * sign : 1;
    if (!given.in_halves) factors[side].resize(3 * points.size() / d * width);
    emulator::launch(given.launch, [&] {
      factors_grid(cloud, d, width, given.centre.data(), std::ldexp(1, -exponents[side]), factor, IS_SQUARE<TERMS> ? sign : 0,
                   base, off, least, 2 - side, sums.data(), given.in_halves ? nullptr : factors[side].data(),
                   side == 0 ? given.of_rows.data() : given.of_columns.data(), arrivals);
    });
  }
  const int length = given.in_halves ? width : 3 * width;
  for (Vertex row = 0; row < rows; ++row) {
    for (Vertex column = 0; column < columns; ++column) {
      float sum = 0;
      for (int k = length - 1; k >= 0; --k) {
        const float x = factors[0][row * length + k], y = factors[1][column * length + k];
        if (short_float(x) != x || short_float(y) != y) emulator::fail("a factor of more than 11 digits");
        sum += x * y;
      }
      given.window[Count{row} * columns + column] = sum;
    }
  }
}

static Given draw(Random& random) {
  const Vertex rows = 1 + random() % 9, columns = 1 + random() % (random() % 3 == 0 ? 2500 : 80), d = 1 + random() % 20;
  Given given{draw_numbers(random, rows * d), draw_numbers(random, columns * d), draw_numbers(random, rows),
              draw_numbers(random, columns), std::vector<double>(d), {}, {}, {}, {}, std::vector<float>(columns), d,
              1 + static_cast<int>(random() % 40), 1, random() % 2 == 0, {}, draw_launch(random)};
  for (auto* points : {&given.x, &given.y}) {  // some numbers are smaller than half floats have 11 digits of
    for (double& number : *points) number *= random() % 8 == 0 ? 1.0 / (1 << 15) : 1;
  }
  if (IS_SQUARE<TERMS> && random() % 2 == 0) {  // an offset that the centre takes away, up to its own roundings
    for (double& number : given.centre) number = 1e3;
    for (auto* points : {&given.x, &given.y}) {
      for (double& number : *points) number += 1000.25;
    }
  }
  if (random() % 2 == 0) {
    for (double& dual : given.u) dual *= d;
  }
  if (random() % 4 == 0) given.v[random() % columns] = -HUGE_VAL;  // no pair of this column is wanted
  const double sign = random() % 2 == 0 ? 1 : -1, limit = random() % 2 == 0 ? HUGE_VAL : 0.5, p = 2.5;
  given.pairs = {given.x.data(), given.y.data(), rows, columns, p, sign, limit};
  for (Vertex row = 0; row < rows; ++row) {
    for (Vertex column = 0; column < columns; ++column) {
      double sum = 0;
      for (int k = 0; k < d; ++k) sum = TERMS::add(sum, given.x[row * d + k], given.y[column * d + k], p);
      given.costs.push_back(std::min(sign * TERMS::end(sum, p), limit));
    }
  }
  make_bounds(given);
  emulator::launch(given.launch, [&] {
    round_duals_grid(given.pairs, given.v.data(), given.per_unit, given.rounded.data(), arrivals);
  });
  return given;
}

static double far_off(const Given& given) { return given.in_halves ? 0.05 : 0.01; }

static std::string judge_bounds(const Given& given) {
  double error = 0;
  for (Vertex row = 0; row < given.pairs.num_rows; ++row) {
    for (Vertex column = 0; column < given.pairs.num_columns; ++column) {
      if (given.v[column] == -HUGE_VAL) continue;
      const double reduced = given.reduced(row, column) * given.per_unit;
      if (given.bound(row, column) >= float_above(reduced) && reduced != 0) return "a bound above what a pair costs";
      error = std::max(error, reduced - given.bound(row, column));
    }
  }
  return error < far_off(given) ? "" : "a bound that is far off";
}

struct Picked {
  std::vector<Count> places;
  std::vector<double> least;
};

// The numbers of the window's rows in a whole problem, which has other rows between them.
static std::vector<Vertex> numbers_of(const Given& given) {
  std::vector<Vertex> numbers;
  for (Vertex row = 0; row < given.pairs.num_rows; ++row) numbers.push_back(2 * row + 1);
  return numbers;
}

// Spreads `width` numbers of each row of the window over the rows of the whole problem.
template <class Number>
static std::vector<Number> in_whole(const std::vector<Number>& of_rows, Count width) {
  const Count rows = static_cast<Count>(of_rows.size()) / width;
  std::vector<Number> whole(2 * rows * width, Number{77});
  for (Count i = 0; i < rows * width; ++i) whole[(2 * (i / width) + 1) * width + i % width] = of_rows[i];
  return whole;
}

static Picked run(const Given& given, bool overpriced) {
  const Vertex rows = given.pairs.num_rows;
  const std::vector<Vertex> numbers = numbers_of(given);
  const std::vector<double> x = in_whole(given.x, given.dimension), u = in_whole(given.u, 1);
  const std::vector<float> of_rows = in_whole(given.of_rows, 1);
  PointPairs pairs = given.pairs;
  pairs.x = x.data();
  std::vector<double> keys(rows * STRATA_OF_ROW), least(2 * rows, 77);
  std::vector<Vertex> columns(rows * STRATA_OF_ROW);
  Count number = 3;  // pairs of an earlier window
  std::vector<Count> places(number + rows * given.most + 1, -77);
  emulator::launch(given.launch, [&] {
    if (overpriced) {
      overpriced_bounds_grid(pairs, given.dimension, given.window.data(), numbers.data(), of_rows.data(), given.of_columns.data(),
                             given.rounded.data(), given.per_unit, keys.data(), columns.data(), given.most, places.data(),
                             &number, u.data(), given.v.data(), least.data(), arrivals);
    } else {
      price_bounds_grid(pairs, given.dimension, given.window.data(), numbers.data(), of_rows.data(), given.of_columns.data(),
                        given.rounded.data(), given.per_unit, keys.data(), columns.data(), given.most, places.data(), &number,
                        arrivals);
    }
  });
  if (places[0] != -77 || places[2] != -77 || places[number] != -77) emulator::fail("pairs outside their room");
  std::vector<Count> own(&places[3], &places[0] + number);
  for (Count& place : own) {
    const Count row = place / given.pairs.num_columns;
    if (row % 2 == 0) emulator::fail("a pair of a row that is not listed");
    place -= (row - row / 2) * given.pairs.num_columns;
  }
  std::sort(own.begin(), own.end());
  if (std::adjacent_find(own.begin(), own.end()) != own.end()) emulator::fail("a pair that is picked twice");
  std::vector<double> of_listed;
  for (const Vertex row : numbers) of_listed.push_back(least[row]);
  return {own, of_listed};
}

// The picked pairs of a row, by keys, must be the least of the strata that have any.
static std::string judge_row(const Given& given, const std::vector<Count>& places, Vertex row, std::vector<double> minima,
                             const std::function<double(Vertex)>& key) {
  std::vector<double> found;
  for (const Count place : places) {
    if (place / given.pairs.num_columns == row) found.push_back(key(static_cast<Vertex>(place % given.pairs.num_columns)));
  }
  std::sort(found.begin(), found.end());
  std::sort(minima.begin(), minima.end());
  minima.resize(std::min<std::size_t>(minima.size(), given.most));
  return found == minima ? "" : "other pairs than the best of the strata";
}

static std::string judge_prices(const Given& given) {
  const Picked picked = run(given, false);
  for (Vertex row = 0; row < given.pairs.num_rows; ++row) {
    std::vector<double> minima;
    for (Vertex stratum = 0; stratum < STRATA_OF_ROW; ++stratum) {
      double least = HUGE_VAL;
      for (Vertex column = stratum; column < given.pairs.num_columns; column += STRATA_OF_ROW) {
        least = std::min<double>(least, given.bound(row, column));
      }
      if (least < HUGE_VAL) minima.push_back(least);
    }
    const std::string wrong = judge_row(given, picked.places, row, minima, [&](Vertex column) { return given.bound(row, column); });
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// Each row has drawn the best of some columns, of fewer, and of one. Another turn draws other columns.
static std::string judge_drawn(const Given& given) {
  const Vertex rows = given.pairs.num_rows, columns = given.pairs.num_columns;
  std::vector<Count> places[2];
  for (int turn = 0; turn < 2; ++turn) {
    places[turn].assign(DRAWN * rows + 1, -77);
    emulator::launch(given.launch, [&] {
      draw_pairs_grid(given.pairs, given.dimension, given.v.data(), turn, places[turn].data(), arrivals);
    });
    if (places[turn].back() != -77) emulator::fail("pairs outside their room");
    for (Count row = 0; row < rows; ++row) {
      const Count* const drawn = &places[turn][DRAWN * row];
      for (Count k = 0; k < DRAWN; ++k) {
        if (drawn[k] / columns != row) return "a pair of another row";
      }
      const auto reduced = [&](Count k) { return given.reduced(row, static_cast<Vertex>(drawn[k] % columns)); };
      if (reduced(0) > reduced(1) || reduced(1) > reduced(2)) return "a draw of more columns that is worse";
    }
  }
  return rows * columns > 1000 && places[0] == places[1] ? "two turns that draw equal pairs" : "";
}

static std::string judge_overpriced(const Given& given) {
  const Picked picked = run(given, true);
  for (Vertex row = 0; row < given.pairs.num_rows; ++row) {
    std::vector<double> minima;
    double least = given.u[row];
    for (Vertex stratum = 0; stratum < STRATA_OF_ROW; ++stratum) {
      double here = HUGE_VAL;
      for (Vertex column = stratum; column < given.pairs.num_columns; column += STRATA_OF_ROW) {
        here = std::min(here, given.reduced(row, column));
      }
      least = std::min(least, here);
      if (here < given.u[row] - 1e-12) minima.push_back(here);
    }
    if (picked.least[row] != least) return "another least of a row";
    const std::string wrong =
        judge_row(given, picked.places, row, minima, [&](Vertex column) { return given.reduced(row, column); });
    if (!wrong.empty()) return wrong;
  }
  return "";
}

static std::string judge_finished(const Given& given) {
  std::vector<float> window = given.window;
  emulator::launch(given.launch, [&] {
    finish_window_grid(given.pairs, given.of_rows.data(), given.of_columns.data(), window.data(), arrivals);
  });
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double cost = given.costs[i] * given.per_unit, far = far_off(given);
    if (given.costs[i] < given.pairs.limit ? std::abs(window[i] - cost) > far : window[i] < cost - far) {
      return "a finished window that is far off";
    }
  }
  return "";
}

static std::string judge_places(const Given& given, Random& random) {
  return judge_places(given.costs, random, [&](const Count* places, Count number, double* found) {
    emulator::launch(given.launch, [&] {
      costs_by_places_grid(given.pairs, given.dimension, places, number, found, arrivals);
    });
  });
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 100, [](Random& random) -> std::string {
    const Given given = draw(random);
    emulator::instance += ": " + std::to_string(given.pairs.num_rows) + " x " + std::to_string(given.pairs.num_columns) + ", " +
                          name_of(given.launch);
    std::string wrong = judge_bounds(given);
    if (wrong.empty()) wrong = judge_prices(given);
    if (wrong.empty()) wrong = judge_drawn(given);
    if (wrong.empty()) wrong = judge_overpriced(given);
    if (wrong.empty()) wrong = judge_finished(given);
    return wrong.empty() ? judge_places(given, random) : wrong;
  });
}
