// sample_prices.cpp: passes over a sample of rows, beside plain loops.
#include <algorithm>
#include <vector>

#include "fuzz.h"

int main(int argc, char** argv) {
  return fuzz(argc, argv, 150, [](Random& random) -> std::string {
    const emulator::Launch launch = draw_launch(random);
    const Count rows = 1 + random() % 12, columns = 1 + random() % 90, stride = columns + random() % 3;
    emulator::instance += ": " + std::to_string(rows) + " x " + std::to_string(columns) + ", " + name_of(launch);
    std::vector<float> costs(rows * stride), v(columns), shares(columns + 1, 77), most(rows), of_rows(rows);
    const int forbidden = random() % 3 == 0 ? 2 : 1000;
    for (float& cost : costs) cost = random() % forbidden == 1 ? HUGE_VALF : static_cast<float>(random() % 20) / 8;
    for (float& dual : v) dual = -static_cast<float>(random() % 20) / 16;
    std::vector<double> sums(rows * 32), above(rows), allowed(rows);
    std::vector<Count> wanted(rows + 1, -7);
    emulator::launch(launch, [&] { wanted_grid(costs.data(), rows, stride, columns, wanted.data(), arrivals); });
    emulator::launch(launch, [&] {
      above_the_least_grid(costs.data(), rows, stride, columns, sums.data(), above.data(), allowed.data(), arrivals);
    });
    const float per_epsilon = 3, free = random() % 2 == 0 ? -HUGE_VALF : -0.5f;
    emulator::launch(launch, [&] {
      shares_grid(costs.data(), rows, stride, columns, v.data(), per_epsilon, free, sums.data(), most.data(), of_rows.data(),
                  shares.data(), arrivals);
    });
    std::vector<double> expected(columns);
    for (Count row = 0; row < rows; ++row) {
      const float* const here = &costs[row * stride];
      const float least = *std::min_element(here, here + columns);
      double sum = 0, number = 0, total = free > -HUGE_VALF ? std::exp(free * per_epsilon) : 0;
      for (Count column = 0; column < columns; ++column) {
        if (here[column] < HUGE_VALF) {
          sum += here[column] - least;
          number += 1;
        }
        total += std::exp((v[column] - here[column]) * per_epsilon);
      }
      if (std::abs(above[row] - sum) > 1e-4 || allowed[row] != number) return "another sum above the least";
      const Count begin = row * columns / rows;
      if (wanted[row] < 0 || wanted[row] >= columns || here[wanted[row]] != least) return "a column that is not the best";
      for (Count i = 0; i < columns && least < HUGE_VALF; ++i) {
        const Count column = (begin + i) % columns;
        if (here[column] == least && column != wanted[row]) return "another one of the best columns";
        if (column == wanted[row]) break;
      }
      for (Count column = 0; column < columns && total > 0; ++column) {
        expected[column] += std::exp((v[column] - here[column]) * per_epsilon) / total;
      }
    }
    for (Count column = 0; column < columns; ++column) {
      if (std::abs(shares[column] - expected[column]) > 1e-4) return "another share of a column";
    }
    return shares[columns] == 77 ? "" : "a share too many";
  });
}
