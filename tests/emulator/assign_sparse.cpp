// assign_sparse.cpp: assign_sparse_grid, assign_sparse_block, bid_sparse_grid and find_stored_costs_grid, for one type of COSTS,
// with ROW_LANES threads a row.
#include "assignment.h"

#include <cstring>

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

// An auction alone: its pairs are allowed, and mostly no column is much better for a row than its own. If the pairs are not the
// cheapest ones, refine_prices raises some v until it gives up, and many pairs are bad then: 1 auction in 100.
static std::string judge_bids(const Call<Cost>& call, double range) {
  static int auctions = 0, bad_auctions = 0;
  const auto& matrix = call.matrix;
  bool is_bad = false;
  for (Vertex row = 0; row < matrix.rows; ++row) {
    const Vertex own = call.answer.row_match[row];
    if (own == NONE) continue;
    if (own < 0 || own >= matrix.columns || call.answer.col_match[own] != row) return "a pair that is none";
    if (!matrix.is_allowed(row, own)) return "a pair that is not allowed";
    const auto reduced = [&](Vertex column) {
      const double cost = static_cast<double>(matrix.entry(row, column));
      return (matrix.maximize ? -cost : cost) - static_cast<double>(call.answer.v[column]);
    };
    for (Vertex column = 0; column < matrix.columns; ++column) {
      is_bad |= matrix.is_allowed(row, column) && reduced(column) < reduced(own) - 0.01 * range - 2;
    }
  }
  ++auctions;
  bad_auctions += is_bad;
  return bad_auctions > 2 + auctions / 20 ? "bad pairs too often" : "";
}

static std::string judge_pair_costs(const Call<Cost>& call, const std::vector<Cost>& pair_costs) {
  for (Vertex row = 0; row < call.matrix.rows; ++row) {
    const Vertex column = call.answer.row_match[row];
    if (column == NONE) continue;
    const Cost entry = call.matrix.entry(row, column);
    if (std::memcmp(&pair_costs[row], &entry, sizeof entry) != 0) return "the cost of another pair";
  }
  return "";
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
    if (random() % 4 == 0 && matrix.rows == matrix.columns && !one_block) {
      call.answer.row_match.assign(matrix.rows, NONE);  // as gmatch/backends/gpu.py
      call.answer.col_match.assign(matrix.columns, NONE);
      call.answer.v.assign(matrix.columns, 0);
      emulator::launch(call.launch, [&] { bid_sparse_grid(costs, task, spread, arrivals); });
      return judge_bids(call, static_cast<double>(range.highest - range.lowest));
    }
    emulator::launch(call.launch, [&] {
      (one_block ? assign_sparse_block : assign_sparse_grid)(costs, task, spread, arrivals);
    });
    std::vector<Cost> pair_costs(matrix.rows);
    emulator::launch(call.launch, [&] {
      find_stored_costs_grid(costs, call.answer.row_match.data(), pair_costs.data(), arrivals);
    });
    const std::string fault = call.judge();
    return fault.empty() ? judge_pair_costs(call, pair_costs) : fault;
  });
}
