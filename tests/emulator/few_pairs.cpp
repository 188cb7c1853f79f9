// few_pairs.cpp: double_few_pairs_grid and halve_few_pairs_grid, for one type of COSTS, beside plain loops.
#include <algorithm>
#include <array>

#include "assignment.h"

using Cost = COSTS::Cost;
using Dual = COSTS::Dual;

static std::string judge_doubled(const Matrix<Cost>& matrix, Dual common, const DoubledPairs<Dual>& made) {
  const Vertex n = matrix.rows, m = matrix.columns;
  std::vector<std::vector<std::pair<Vertex, Dual>>> rows(n + m);
  for (Vertex row = 0; row < n; ++row) rows[row].push_back({m + row, 2 * common});
  for (Vertex column = 0; column < m; ++column) rows[n + column].push_back({column, 0});
  matrix.each([&](Vertex row, Vertex column) {
    if (!(matrix.cost(row, column) < common)) return;
    const auto cost = static_cast<Dual>(matrix.cost(row, column));
    rows[row].push_back({column, cost});
    rows[n + column].push_back({m + row, cost});
  });
  int place = 0;
  for (Vertex row = 0; row < n + m; ++row) {
    if (made.offsets[row] != place) return "a row that begins elsewhere";
    std::vector<std::pair<Vertex, Dual>> found;
    for (; place < made.offsets[row + 1]; ++place) found.push_back({made.columns[place], made.entries[place]});
    std::sort(found.begin(), found.end());
    std::sort(rows[row].begin(), rows[row].end());
    if (found != rows[row]) return "other entries";
  }
  return "";
}

// Pairs of some rows and columns, and any duals.
static std::string halve(const emulator::Launch& launch, Random& random, const DenseCosts<Cost>& costs) {
  const Vertex n = costs.num_rows, m = costs.num_columns;
  std::vector<Vertex> columns(m), row_match(n + m, NONE), col_match(n + m, NONE);
  for (Vertex column = 0; column < m; ++column) columns[column] = column;
  std::shuffle(columns.begin(), columns.end(), random);
  const Vertex pairs = random() % (n + 1);
  for (Vertex row = 0; row < n; ++row) row_match[row] = row < pairs ? columns[row] : m + row;
  for (Vertex column = 0; column < m; ++column) row_match[n + column] = column;
  for (Vertex row = 0; row < pairs; ++row) row_match[n + columns[row]] = m + row;
  for (Vertex row = 0; row < n + m; ++row) col_match[row_match[row]] = row;
  std::vector<Dual> u(n + m), v(n + m), halves_u(n), halves_v(m);
  for (auto* duals : {&u, &v}) {
    for (Dual& dual : *duals) dual = static_cast<Dual>(static_cast<int>(random() % 2000) - 1000) / 3;
  }
  std::vector<Vertex> rows(n, 77), mates(m, 77), free_rows(n), free_columns(m), numbers(2);
  std::array<Dual, 2> largest{};
  emulator::launch(launch, [&] {
    halve_few_pairs_grid(costs, row_match.data(), col_match.data(), u.data(), v.data(), rows.data(), mates.data(),
                         halves_u.data(), halves_v.data(), free_rows.data(), free_columns.data(), numbers.data(), largest.data(),
                         arrivals);
  });
  Dual most = 0, most_of_halves = 0;
  for (Vertex row = 0; row < n; ++row) {
    if (rows[row] < 0 || rows[row] >= m || mates[rows[row]] != row) return "a row without a mate";
    if (row < pairs && rows[row] != columns[row]) return "another mate";
    const Dual sum = u[row] + v[m + row];
    if (2 * halves_u[row] < sum || 2 * halves_u[row] > sum + 1) return "another dual of a row";
    if constexpr (!std::is_integral_v<Dual>) if (2 * halves_u[row] != sum) return "a rounded half";
    most_of_halves = std::max(most_of_halves, std::abs(halves_u[row]));
  }
  Vertex free = 0;
  for (Vertex column = 0; column < m; ++column) {
    free += mates[column] == NONE;
    if (mates[column] != NONE && rows[mates[column]] != column) return "the sides of the matching disagree";
    const Dual sum = std::min<Dual>(v[column] + u[n + column], 0);
    if (2 * halves_v[column] > sum || 2 * halves_v[column] < sum - 1) return "another dual of a column";
    most_of_halves = std::max(most_of_halves, std::abs(halves_v[column]));
  }
  for (Vertex k = 0; k < n + m; ++k) most = std::max({most, std::abs(u[k]), std::abs(v[k])});
  if (largest[0] != most || largest[1] != most_of_halves) return "other largest duals";
  return free == m - n ? "" : "free columns beside free rows";
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 150, [](Random& random) -> std::string {
    const Matrix<Cost> matrix = draw_matrix<Cost>(random, random() % 20 == 0 ? 600 : 40);
    const emulator::Launch launch = draw_launch(random);
    emulator::instance += ": " + matrix.name + ", " + name_of(launch);
    const Vertex n = matrix.rows, m = matrix.columns;
    const auto costs = dense_costs(matrix);
    const auto range = range_of(matrix);
    const auto common = static_cast<Dual>(range.highest);
    if (std::max(-range.lowest, range.highest) > 1e18) return "";  // twice as much has no room
    const Count room = 2 * static_cast<Count>(n) * m + n + m;
    std::vector<int> offsets(n + m + 1, 77), next(n + m), sums(n + m);
    std::vector<Vertex> columns(room);
    std::vector<Dual> entries(room);
    const DoubledPairs<Dual> made{offsets.data(), columns.data(), entries.data(), next.data(), sums.data()};
    emulator::launch(launch, [&] {
      double_few_pairs_grid(costs, common, made.offsets, made.columns, made.entries, made.next, made.sums, arrivals);
    });
    const std::string wrong = judge_doubled(matrix, common, made);
    return wrong.empty() ? halve(launch, random, costs) : wrong;
  });
}
