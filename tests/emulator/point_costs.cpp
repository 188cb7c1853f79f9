// point_costs.cpp: point_costs_grid, for one kind of TERMS, against sums by a plain loop.
#include <vector>

#include "fuzz.h"

// What a pair costs, as gmatch/problems/points.py states it for the metric of these terms.
[[maybe_unused]] double cost_of(const double* x, const double* y, int dimension, double p, SquaredTerms*) {
  double sum = 0;
  for (int k = 0; k < dimension; ++k) sum += (x[k] - y[k]) * (x[k] - y[k]);
  return p * 0 + sum;
}
[[maybe_unused]] double cost_of(const double* x, const double* y, int dimension, double p, RootOfSquaredTerms*) {
  return std::sqrt(cost_of(x, y, dimension, p, static_cast<SquaredTerms*>(nullptr)));
}
[[maybe_unused]] double cost_of(const double* x, const double* y, int dimension, double, AbsoluteTerms*) {
  double sum = 0;
  for (int k = 0; k < dimension; ++k) sum += std::abs(x[k] - y[k]);
  return sum;
}
[[maybe_unused]] double cost_of(const double* x, const double* y, int dimension, double, LargestTerm*) {
  double most = 0;
  for (int k = 0; k < dimension; ++k) most = std::max(most, std::abs(x[k] - y[k]));
  return most;
}
[[maybe_unused]] double cost_of(const double* x, const double* y, int dimension, double p, Powers*) {
  double sum = 0;
  for (int k = 0; k < dimension; ++k) sum += std::pow(std::abs(x[k] - y[k]), p);
  return std::pow(sum, 1 / p);
}
template <int BASE>
double cost_of(const double* x, const double* y, int dimension, double, Products<BASE>*) {
  double sum = 0;
  for (int k = 0; k < dimension; ++k) sum += x[k] * y[k];
  return BASE - sum;
}

static std::vector<double> draw_points(Random& random, int number, int dimension) {
  std::vector<double> points(number * dimension);
  for (double& coordinate : points) coordinate = std::ldexp(static_cast<double>(random()), -62) - 2;
  return points;
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 300, [](Random& random) -> std::string {
    const int rows = 1 + random() % 20, columns = 1 + random() % 70, dimension = 1 + random() % 5;
    const double p = 1.5 + static_cast<double>(random() % 4);
    const std::vector<double> x = draw_points(random, rows, dimension), y = draw_points(random, columns, dimension);
    std::vector<double> turned(y.size());
    for (int column = 0; column < columns; ++column) {
      for (int k = 0; k < dimension; ++k) turned[k * columns + column] = y[column * dimension + k];
    }
    Noise costs(random, sizeof(double) * rows * columns);
    const auto found = reinterpret_cast<double*>(costs.data());
    const emulator::Launch launch = draw_launch(random);
    emulator::instance += ": " + std::to_string(rows) + " x " + std::to_string(columns) + ", " + name_of(launch);
    emulator::launch(launch, [&] {
      point_costs_grid({x.data(), turned.data(), found, rows, columns, dimension, p}, arrivals);
    });
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const double wanted = cost_of(&x[row * dimension], &y[column * dimension], dimension, p, static_cast<TERMS*>(nullptr));
        if (std::memcmp(&found[row * columns + column], &wanted, sizeof wanted) != 0) return "a pair that costs another sum";
      }
    }
    return "";
  });
}
