// sparse.cpp: assign_sparse_grid and assign_sparse_block, for one SPARSE_COST, with ROW_LANES threads for a row.
#include "assignment.h"
#include "sparse_assignment.cuh"

// A row with as many entries as it has columns, one in two of them, and so on; the diagonal stays.
static Matrix<SPARSE_COST> draw_sparse_matrix(Random& random) {
  constexpr int LARGEST = 40;
  while (true) {
    auto matrix = draw_any_matrix<SPARSE_COST>(random, LARGEST);
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
  std::vector<SPARSE_OFFSET> offsets{0};
  std::vector<SPARSE_COLUMN> columns;
  std::vector<SPARSE_COST> costs;
};

// Forbidden entries are stored too.
static Rows rows_of(const Matrix<SPARSE_COST>& matrix) {
  Rows rows;
  for (Vertex row = 0; row < matrix.rows; ++row) {
    for (Vertex column = 0; column < matrix.columns; ++column) {
      if (matrix.absent[row * matrix.columns + column]) continue;
      rows.columns.push_back(column);
      rows.costs.push_back(matrix.entry(row, column));
    }
    rows.offsets.push_back(static_cast<SPARSE_OFFSET>(rows.columns.size()));
  }
  return rows;
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, [](Random& random) {
    constexpr int STARTS = 3;
    const bool one_block = random() % 3 == 0, many_paths = random() % 2;
    auto call = draw_call(random, draw_sparse_matrix(random), STARTS, one_block);
    const auto& matrix = call.matrix;
    if (matrix.rows != matrix.columns) call.has_duals = false;  // as gmatch/backends/gpu.py
    const auto range = range_of(matrix);
    const Rows rows = rows_of(matrix);
    const Noise workspace(random, sparse_assignment_workspace_size(SparseCosts<double, Count, Count>{
                                      matrix.rows, matrix.columns, nullptr, nullptr, nullptr, false}));
    const SparseDeviceCosts costs{matrix.rows,         matrix.columns,    rows.offsets.data(),
                                  rows.columns.data(), rows.costs.data(), matrix.maximize};
    const auto task = call.task(workspace.data(), many_paths);
    const auto spread = matrix.rows * (range.highest - range.lowest);
    emulator::launch(call.launch, [&] {
      (one_block ? assign_sparse_block : assign_sparse_grid)(costs, task, spread, arrivals);
    });
    return call.judge();
  });
}
