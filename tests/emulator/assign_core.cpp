// assign_core.cpp: the launches of a core as the host starts them, for one type of COSTS; and steps whose loss only costs time.
#include "assignment.h"

#include "costs/few_pairs.cuh"

using Cost = COSTS::Cost;
using Dual = COSTS::Dual;

// Runs the launches, and says what is wrong with their answer.
std::string judge_call(Random& random, Call<Cost>& call) {
  const Noise workspace(random, core_workspace_size(dense_costs(call.matrix), call.team_columns()));
  CoreReport report{};
  auto task = call.task(workspace.data(), true);
  task.report = &report.counters;
  const auto spread = dual_spread(call.matrix);
  const auto costs = dense_costs(call.matrix);
  emulator::launch(call.launch, [&] { core_start_grid(costs, task, spread, arrivals); });
  emulator::launch(call.launch, [&] { core_search_grid(costs, task, spread, arrivals); });
  if (report.trace.ends_with(CoreStep::bound)) {
    emulator::launch(call.launch, [&] { core_matrix_grid(costs, task, spread, arrivals); });
  }
  if (report.trace.size < 1 || report.trace.size > CoreTrace::ROOM) return "a trace of no length that can be";
  call.report = report.counters;
  if (report.trace.ends_with(CoreStep::coarsen)) {
    return call.most_levels == 0 ? "a search that was given up for nothing" : judge_part(call);
  }
  if (!report.trace.ends_with(CoreStep::reprice) && !report.trace.ends_with(CoreStep::search_matrix)) {
    return "launches that left the plan before its end";
  }
  return call.judge();
}

std::string judge_any(Random& random) {
  constexpr int STARTS = 5;
  const int largest = random() % 3 == 0 ? 240 : 40;  // a row of the core has no room for 240 columns
  auto call = draw_call(random, draw_matrix<Cost>(random, largest), STARTS, false, MOST_REPRICINGS + 2);
  if (random() % 4 == 0) call.most_levels = 1 + random() % 8;
  return judge_call(random, call);
}

// A matrix with more columns than rows, padded or doubled into a square problem. The pairs and duals of that problem must solve
// the matrix.
std::string judge_squared(Random& random) {
  const int largest = random() % 3 == 0 ? 100 : 30;
  auto call = draw_call(random, draw_matrix<Cost>(random, largest), 2, false, MOST_REPRICINGS + 2);
  const auto& matrix = call.matrix;
  const bool doubles = random() % 2 == 0;
  const Vertex rows = matrix.rows, columns = matrix.columns, length = doubles ? rows + columns : columns;
  const auto costs = dense_costs(matrix);
  auto shape = costs;
  shape.num_rows = shape.num_columns = length;
  const Dual range = dual_spread(matrix), free = costs.of_entry(0);
  if (rows == columns || range > std::numeric_limits<Dual>::max() / 1000) return "";

  const Noise workspace(random, core_workspace_size(shape, call.team_columns()));
  std::vector<Vertex> row_match(length, 7), col_match(length, 7), levels((MOST_REPRICINGS + 2) * (length + 1)), augmented = levels;
  std::vector<Dual> u(length, 7), v(length, 0);
  Progress progress{};
  CoreReport report{};
  if (call.has_duals) draw_duals(random, range, v);
  AssignmentTask<Dual> task{{length, length, row_match.data(), col_match.data()},
                            u.data(),
                            v.data(),
                            {levels.data(), augmented.data()},
                            workspace.data(),
                            &progress,
                            &report.counters,
                            call.has_duals ? AssignmentStart::bids : AssignmentStart::reduce,
                            call.has_duals,
                            true,
                            0};
  const Dual spread = 2 * (range + (free < 0 ? -free : free));
  emulator::launch(call.launch, [&] { core_start_grid(costs, task, spread, arrivals); });
  emulator::launch(call.launch, [&] { core_search_grid(costs, task, spread, arrivals); });
  if (report.trace.ends_with(CoreStep::bound)) return "";  // the matrix is then solved by itself
  if (!report.trace.ends_with(CoreStep::reprice)) return "launches that left the plan of a square core before its end";

  auto& answer = call.answer;
  answer.size = rows;
  for (Vertex row = 0; row < rows; ++row) answer.row_match[row] = row_match[row];
  for (Vertex column = 0; column < columns; ++column) {
    answer.col_match[column] = col_match[column] < rows ? col_match[column] : NONE;
    answer.v[column] = 0;
    if (answer.col_match[column] == NONE) continue;
    const Dual twice = doubles ? v[column] + u[rows + column] - free : 0;
    answer.v[column] = doubles ? half_below(twice < 0 ? twice : 0) : v[column] - *std::max_element(v.begin(), v.end());
  }
  std::fill(answer.u.begin(), answer.u.end(), costs.infinite());
  matrix.each([&](Vertex row, Vertex column) {
    answer.u[row] = std::min(answer.u[row], costs.at(row, column) - answer.v[column]);
  });
  return judge(matrix, answer);
}

template <class CostOf>
Matrix<Cost> square(Vertex size, CostOf cost_of) {
  Matrix<Cost> matrix{size, size, std::vector<Cost>(size * size), size, 1, 0, false, {}, {}, "square"};
  matrix.each([&](Vertex row, Vertex column) { matrix.entry(row, column) = static_cast<Cost>(cost_of(row, column)); });
  return matrix;
}

// If many costs are equal, a core holds few of them. Pairs that are given stay pairs nevertheless.
std::string judge_given_pairs(Random& random) {
  constexpr Vertex SIZE = 200;
  auto call = draw_call(random, square(SIZE, [](Vertex, Vertex) { return 3; }), 1, false, MOST_REPRICINGS + 2);
  call.start = AssignmentStart::given;
  call.has_duals = false;
  auto& row_match = call.answer.row_match;
  for (Vertex row = 0; row < SIZE; ++row) row_match[row] = row;
  std::shuffle(row_match.begin(), row_match.end(), random);
  const std::string wrong = judge_call(random, call);
  if (!wrong.empty()) return wrong;
  return call.report.start_size == SIZE ? "" : "only " + std::to_string(call.report.start_size) + " given pairs were kept";
}

bool takes_column_prices(Random& random, const Matrix<Cost>& matrix) {
  const auto costs = dense_costs(matrix);
  const auto spread = dual_spread(matrix);
  const Noise memory(random, core_workspace_size(costs, 0));
  std::vector<Dual> v(matrix.columns);
  bool takes = false;
  emulator::launch(draw_launch(random), [&] {
    GridTeam<32> team(arrivals);
    ColumnMinima<Cost> minima(costs, spread);
    Workspace workspace(memory.data());
    minima.carve(workspace);
    const bool all_know = minima.take(team, v.data());
    if (team.rank() == 0) takes = all_know;
  });
  return takes;
}

// Column prices help if some columns cost all rows more. They do not help if rows are equal in groups: prices make many columns
// equally good for a group, but its rows still want one column.
std::string judge_column_prices(Random& random) {
  constexpr Vertex SIZE = 96, GROUP = 8;
  std::vector<int> draws(SIZE * SIZE);
  for (int& draw : draws) draw = static_cast<int>(random() % 1000);
  const auto expensive = square(SIZE, [&](Vertex row, Vertex column) { return 1000 * column + draws[row * SIZE + column]; });
  const auto groups = square(SIZE, [&](Vertex row, Vertex column) { return draws[row / GROUP * SIZE + column]; });
  if (!takes_column_prices(random, expensive)) return "no prices although some columns cost all rows more";
  return takes_column_prices(random, groups) ? "prices although rows are equal in groups" : "";
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 40, [](Random& random) {
    std::string wrong = judge_any(random);
    if (wrong.empty() && random() % 2 == 0) wrong = judge_squared(random);
    if (wrong.empty() && random() % 4 == 0) wrong = judge_given_pairs(random);
    if (wrong.empty() && random() % 4 == 0) wrong = judge_column_prices(random);
    return wrong;
  });
}
