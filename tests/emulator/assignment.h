// assignment.h: the arguments of all programs of linear assignment, drawn at random.
#pragma once
#include "matrices.h"

#include "assignment/assign.cuh"

template <class Cost>
DenseCosts<Cost> dense_costs(const Matrix<Cost>& matrix) {
  return {matrix.rows,          matrix.columns,  matrix.first(),        matrix.row_stride,
          matrix.column_stride, matrix.maximize, matrix.limit_or_none()};
}

template <class Cost>
struct Call {
  using Dual = typename DualOf<Cost>::type;

  Matrix<Cost> matrix;
  AssignmentStart start;
  bool has_duals;
  Count most_levels = 0;
  emulator::Launch launch;
  Answer<Dual> answer;
  std::vector<Vertex> levels, augmentations;
  Progress progress{};
  Report report{};

  Count team_columns() const { return static_cast<Count>(launch.blocks) * launch.threads * DEVICE_COLUMNS_AT_ONCE; }

  AssignmentTask<Dual> task(char* workspace, bool many_paths) {
    return {{matrix.rows, matrix.columns, answer.row_match.data(), answer.col_match.data()},
            answer.u.data(),
            answer.v.data(),
            {levels.data(), augmentations.data()},
            workspace,
            &progress,
            &report,
            start,
            has_duals,
            many_paths,
            most_levels};
  }

  std::string judge() {
    answer.size = report.size;
    return ::judge(matrix, answer);
  }
};

// Some allowed pairs.
template <class Cost>
void draw_pairs(Random& random, const Matrix<Cost>& matrix, std::vector<Vertex>& row_match) {
  std::vector<Vertex> columns(matrix.columns);
  for (Vertex column = 0; column < matrix.columns; ++column) columns[column] = column;
  if (random() % 2 == 0) std::shuffle(columns.begin(), columns.end(), random);
  for (Vertex row = 0; row < matrix.rows; ++row) {
    if (random() % 4 != 0 && matrix.is_allowed(row, columns[row])) row_match[row] = columns[row];
  }
}

// A search that leaves free rows: the pairs that it has found are allowed ones, and no two share a column.
template <class Cost>
std::string judge_part(const Call<Cost>& call) {
  Vertex pairs = 0;
  for (Vertex row = 0; row < call.matrix.rows; ++row) {
    const Vertex column = call.answer.row_match[row];
    if (column == NONE) continue;
    ++pairs;
    if (!call.matrix.is_allowed(row, column) || call.answer.col_match[column] != row) return "a pair that is none";
  }
  return pairs == call.report.size ? "" : "another number of pairs than the report says";
}

// Duals between 0 and minus the spread: anywhere, or near one end.
template <class Dual>
void draw_duals(Random& random, Dual spread, std::vector<Dual>& v) {
  const bool at_ends = random() % 4 == 0;
  const double part = random() % 3 == 0 ? 1e-3 : 0.99;
  for (Dual& dual : v) {
    dual = -static_cast<Dual>(unit(random) * part * static_cast<double>(spread));
    if (at_ends) dual = random() % 2 == 0 ? 0 : -spread;
  }
}

// `searches` is how many searches a program may run, which is the length of its journal.
template <class Cost>
Call<Cost> draw_call(Random& random, Matrix<Cost> matrix, int starts, bool one_block = false, int searches = 1) {
  Call<Cost> call{};
  call.matrix = std::move(matrix);
  const Vertex rows = call.matrix.rows, columns = call.matrix.columns;
  call.start = static_cast<AssignmentStart>(random() % starts);
  call.has_duals = random() % 3 == 0;
  call.launch = draw_launch(random, one_block);
  using Duals = std::vector<typename Call<Cost>::Dual>;
  using Vertices = std::vector<Vertex>;
  call.answer = {Vertices(rows, NONE), Vertices(columns, 777), Duals(rows, 77), Duals(columns, 0), 0};
  call.levels.resize(searches * (rows + 1));
  call.augmentations = call.levels;
  if (call.start == AssignmentStart::given) draw_pairs(random, call.matrix, call.answer.row_match);
  else for (Vertex& mate : call.answer.row_match) mate = static_cast<Vertex>(random());  // as memory is found
  if (call.has_duals) draw_duals(random, dual_spread(call.matrix), call.answer.v);
  else for (auto& dual : call.answer.v) dual = static_cast<int>(random());
  emulator::instance += ": " + call.matrix.name + ", start " + std::to_string(static_cast<int>(call.start)) +
                        (call.has_duals ? ", duals" : "") + ", " + name_of(call.launch);
  return call;
}
