// assign_sparse.cpp: assign_sparse_grid and assign_sparse_block, for one type of COSTS, with ROW_LANES threads a row.
#include "assignment.h"

using Cost = COSTS::Cost;

// A row with as many entries as it has columns, one in two of them, and so on; the diagonal stays.
static Matrix<Cost> draw_sparse_matrix(Random& random) {
  constexpr int LARGEST = 40;
  while (true) {
    auto matrix = draw_any_matrix<Cost>(random, LARGEST);
    matrix.limit.reset();
    const int one_in = 1 + random() % 6;
    matrix.absent.assign(static_cast<std::size_t>(matrix.rows) * matrix.columns, 0);
    matrix.each([&](Vertex row, Vertex column) {
      matrix.absent[row * matrix.columns + column] = row != column && random() % one_in != 0;
    });
    if (has_room(matrix)) return matrix;
  }
}

struct Rows {
  std::vector<COSTS::Offset> offsets{0};
  std::vector<Pointee<decltype(COSTS::columns)>> columns;
  std::vector<Cost> costs;
};

// Forbidden entries are stored too.
static Rows rows_of(const Matrix<Cost>& matrix) {
  Rows rows;
  for (Vertex row = 0; row < matrix.rows; ++row) {
    for (Vertex column = 0; column < matrix.columns; ++column) {
      if (matrix.absent[row * matrix.columns + column]) continue;
      rows.columns.push_back(column);
      rows.costs.push_back(matrix.entry(row, column));
    }
    rows.offsets.push_back(static_cast<COSTS::Offset>(rows.columns.size()));
  }
  return rows;
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 100, [](Random& random) {
    constexpr int STARTS = 3;
    const bool one_block = random() % 3 == 0, many_paths = random() % 2;
    auto call = draw_call(random, draw_sparse_matrix(random), STARTS, one_block);
    const auto& matrix = call.matrix;
    if (matrix.rows != matrix.columns) call.has_duals = false;  // as gmatch/backends/gpu.py
    const auto range = range_of(matrix);
    const Rows rows = rows_of(matrix);
    const COSTS costs{matrix.rows,         matrix.columns,    rows.offsets.data(),
                      rows.columns.data(), rows.costs.data(), matrix.maximize};
    const Noise workspace(random, sparse_assignment_workspace_size(costs));
    const auto task = call.task(workspace.data(), many_paths);
    const auto spread = matrix.rows * (range.highest - range.lowest);
    emulator::launch(call.launch, [&] {
      (one_block ? assign_sparse_block : assign_sparse_grid)(costs, task, spread, arrivals);
    });
    return call.judge();
  });
}
