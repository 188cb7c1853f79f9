// assign_batch.cpp: assign_batch, for one type of COSTS and its EDGES: problems of several shapes in one array, or of
// one.
#include "matrices.h"

using Cost = CostOf<COSTS>::type;
using DualOfCost = COSTS::Dual;

struct Problems {
  Vertex most_rows, most_columns;
  bool maximize;
  DualOfCost limit;  // of costs to be minimized; infinite() if there is none
  Count step;
  std::vector<Cost> entries;
  std::vector<BatchProblem> layout;
  std::vector<Matrix<Cost>> matrices;  // turned as in the layout
  std::vector<char> is_left;           // whether the host has to look at it
};

// Makes one problem in three a problem that the program must leave to the host: with an entry that is no cost, a row
// that forbids all pairs, sums that overflow, or a row of big costs, whose dual hides what the other pairs cost.
static bool spoil(Random& random, Matrix<Cost>& matrix, std::vector<Cost>& entries, Count offset) {
  if (random() % 3 != 0) return false;
  const Count column = random() % matrix.columns, row = random() % matrix.rows;
  const auto place_in = [&](Count i, Count j) { return offset + i * matrix.row_stride + j * matrix.column_stride; };
  const auto place = [&](Count j) { return place_in(row, j); };
  if constexpr (std::is_integral_v<Cost>) {
    if (sizeof(Cost) < sizeof(DualOfCost)) return false;
    entries[place(column)] = std::numeric_limits<Cost>::min();
  } else {
    const Cost infinite = std::numeric_limits<Cost>::infinity(), forbidden = matrix.maximize ? -infinite : infinite;
    const Cost BIG = static_cast<Cost>(0x1p50);
    const int how = random() % 4;
    if (how == 0) entries[place(column)] = std::numeric_limits<Cost>::quiet_NaN();
    if (how == 1) entries[place(column)] = -forbidden;
    for (Count j = 0; how == 2 && j < matrix.columns; ++j) entries[place(j)] = forbidden;
    for (Count i = 0; how == 3 && i < matrix.rows; ++i) {
      for (Count j = 0; j < matrix.columns; ++j) {
        entries[place_in(i, j)] = i != row ? static_cast<Cost>(1 + random() % 9) : matrix.maximize ? -BIG : BIG;
      }
    }
    if (how == 3) return matrix.rows > 1;
  }
  return true;
}

static void add_problem(Random& random, Problems& problems, bool alike) {
  const Count columns = problems.most_columns, area = problems.most_rows * columns;
  const Count height = alike ? problems.most_rows : 1 + random() % problems.most_rows;
  const Count width = alike ? columns : 1 + random() % columns;
  const bool is_turned = height > width;
  const Count offset = area * static_cast<Count>(problems.layout.size());
  const BatchProblem problem{offset, is_turned ? 1 : columns, is_turned ? columns : 1, std::min(height, width),
                             std::max(height, width), is_turned};
  problems.layout.push_back(problem);
  Matrix<Cost> matrix{};
  matrix.rows = static_cast<Vertex>(problem.num_rows);
  matrix.columns = static_cast<Vertex>(problem.num_columns);
  matrix.row_stride = problem.row_stride;
  matrix.column_stride = problem.column_stride;
  matrix.maximize = problems.maximize;
  // Beside a limit no pair is forbidden, and no cost is too high.
  const bool has_limit = problems.limit != DenseCosts<Cost>::infinite();
  if (has_limit) matrix.limit = problems.limit;
  problems.is_left.push_back(!has_limit && spoil(random, matrix, problems.entries, offset));
  const auto begin = problems.entries.begin() + offset;
  matrix.entries.assign(begin, begin + area);
  problems.matrices.push_back(std::move(matrix));
}

// Few small costs and many large ones, which differ by little: paths are long, and their lengths are roughly equal.
static Cost draw_far_entry(Random& random) {
  const bool is_far = random() % 16 != 0;
  const int little = random() % 1000;
  if constexpr (std::is_integral_v<Cost>) return 1000000000 * is_far + little;
  else return static_cast<Cost>(500000 * is_far + little / 1024.0);  // duals do not hide these
}

// Most pairs have one common cost, and 1 in `columns` costs less: distances that are cut off, 1 - IoU.
static Cost draw_gated_entry(Random& random, Vertex columns) {
  const int often = 100, cost = random() % columns == 0 ? static_cast<int>(random() % often) : often;
  return static_cast<Cost>(cost);
}

static Problems draw_problems(Random& random) {
  constexpr int MOST_PROBLEMS = 6, MOST_ROWS = 50, MOST_COLUMNS = 60, MODEST_KINDS[] = {1, 3, 7, 8};
  Problems problems{};
  problems.most_rows = 1 + random() % MOST_ROWS;
  const int family = random() % 4;
  const bool is_far = family == 0, is_gated = family == 1, is_square = is_far || is_gated;
  problems.most_columns = is_square ? problems.most_rows : 1 + random() % MOST_COLUMNS;
  problems.maximize = random() % 2;
  const int count = 1 + random() % MOST_PROBLEMS, kind = MODEST_KINDS[random() % 4];
  problems.entries.resize(static_cast<std::size_t>(count) * problems.most_rows * problems.most_columns);
  for (Cost& entry : problems.entries) {
    if (is_far) entry = draw_far_entry(random);
    else if (is_gated) entry = draw_gated_entry(random, problems.most_columns);
    else entry = draw_entry(random, kind, Cost{});
  }
  const Cost some_cost = problems.entries[random() % problems.entries.size()];
  problems.limit = random() % 3 != 0 ? DenseCosts<Cost>::infinite() : problems.maximize ? -some_cost : some_cost;
  const bool alike = is_square || random() % 3 == 0;
  for (int p = 0; p < count; ++p) add_problem(random, problems, alike);
  problems.step = alike ? problems.most_rows * static_cast<Count>(problems.most_columns) : 0;
  return problems;
}

// What all problems write, one after the other.
struct Answers {
  std::vector<Vertex> row_match, col_match;
  std::vector<DualOfCost> u, v;
  std::vector<Cost> pair_costs;
  std::vector<Report> reports;
};

template <class T>
static std::vector<T> part(const std::vector<T>& all, Count begin, Count length) {
  return {all.begin() + begin, all.begin() + begin + length};
}

// The answer of problem p, turned as its matrix.
static Answer<DualOfCost> answer_of(const Problems& problems, const Answers& answers, int p) {
  const auto& matrix = problems.matrices[p];
  const bool is_turned = problems.layout[p].transposed;
  const Count rows = p * problems.most_rows, columns = p * problems.most_columns;
  const Count height = is_turned ? matrix.columns : matrix.rows, width = is_turned ? matrix.rows : matrix.columns;
  Answer<DualOfCost> answer{part(answers.row_match, rows, height), part(answers.col_match, columns, width),
                            part(answers.u, rows, height), part(answers.v, columns, width), answers.reports[p].size};
  if (is_turned) {
    std::swap(answer.row_match, answer.col_match);
    std::swap(answer.u, answer.v);
  }
  return answer;
}

// What is wrong with the answer of a problem that the host has to look at.
static std::string judge_left(const Problems& problems, const Answers& answers, int p) {
  const auto answer = answer_of(problems, answers, p);
  if (answer.size >= problems.matrices[p].rows) return "a problem that is not left to the host";
  for (const Vertex mate : answer.row_match) if (mate != NONE) return "the column of a row of a problem that is left";
  for (const Vertex mate : answer.col_match) if (mate != NONE) return "the row of a column of a problem that is left";
  for (const auto dual : answer.u) if (dual != 0) return "the dual of a row of a problem that is left";
  const bool is_turned = problems.layout[p].transposed;
  const Count height = is_turned ? problems.matrices[p].columns : problems.matrices[p].rows;
  for (Count row = 0; row < height; ++row) {
    const Cost cost = answers.pair_costs[p * problems.most_rows + row];
    if (std::is_integral_v<Cost> ? cost != 0 : !std::isnan(static_cast<double>(cost))) return "the cost of no pair";
  }
  return "";
}

// What is wrong with an answer whose pairs above the limit were dropped. After the cut at the limit all pairs of a free row and a
// free column cost equally much. So any of them make the answer an assignment again.
static std::string judge_with_limit(const Matrix<Cost>& matrix, Answer<DualOfCost> answer, Count dropped) {
  Vertex free_column = 0;
  for (Vertex row = 0; row < matrix.rows; ++row) {
    Vertex& column = answer.row_match[row];
    if (column != NONE && matrix.limit && matrix.unlimited(row, column) > *matrix.limit) return "a pair above the limit";
    if (column != NONE) continue;
    while (free_column < matrix.columns && answer.col_match[free_column] != NONE) ++free_column;
    if (free_column == matrix.columns) return "a row without a column";
    column = free_column;
    answer.col_match[column] = row;
    --dropped;
  }
  return dropped != 0 ? "how many pairs were dropped" : judge(matrix, answer);
}

static std::string judge(const Problems& problems, const Answers& answers, int p) {
  if (problems.is_left[p]) return judge_left(problems, answers, p);
  const auto& matrix = problems.matrices[p];
  const auto answer = answer_of(problems, answers, p);
  const std::string wrong = judge_with_limit(matrix, answer, answers.reports[p].dropped);
  if (!wrong.empty()) return wrong;
  for (Vertex row = 0; row < matrix.rows; ++row) {
    const Vertex column = answer.row_match[row], given = problems.layout[p].transposed ? column : row;
    if (column == NONE) continue;
    if (answers.pair_costs[p * problems.most_rows + given] != matrix.entry(row, column)) return "the cost of a pair";
  }
  const bool is_turned = problems.layout[p].transposed;
  const Count height = is_turned ? matrix.columns : matrix.rows, width = is_turned ? matrix.rows : matrix.columns;
  for (Count row = p * problems.most_rows; row < (p + 1) * problems.most_rows; ++row) {
    const bool is_padding = row - p * problems.most_rows >= height;
    if (is_padding && (answers.row_match[row] != NONE || answers.u[row] != 0)) return "a row that there is not";
    if ((is_padding || answers.row_match[row] == NONE) && answers.pair_costs[row] != 0) return "the cost of no pair";
  }
  for (Count column = p * problems.most_columns + width; column < (p + 1) * problems.most_columns; ++column) {
    if (answers.col_match[column] != NONE || answers.v[column] != 0) return "a column that there is not";
  }
  return "";
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 100, [](Random& random) -> std::string {
    constexpr int STARTS[] = {0, 1, 3, 4};  // nothing is given to a batch
    constexpr int WIDE_BLOCK = 320;         // MOST_SEARCHERS of backends/gpu.py
    const Problems problems = draw_problems(random);
    const int count = static_cast<int>(problems.layout.size());
    int start = STARTS[random() % 4], next = 0, fewer = 0, more = 0;
    for (const auto& matrix : problems.matrices) {
      fewer = std::max(fewer, matrix.rows);
      more = std::max(more, matrix.columns);
    }
    auto launch = draw_launch(random);
    if (random() % 8 == 0) launch.threads = WIDE_BLOCK;
    emulator::instance += ": " + std::to_string(count) + " problems of at most " + std::to_string(fewer) + " x " +
                          std::to_string(more) + ", start " + std::to_string(start) + ", " + name_of(launch);
    const Count bytes = batch_workspace_size<EDGES>(
        DenseCosts<Cost>{fewer, more, nullptr, 0, 0, false, 0}, launch.threads * DEVICE_COLUMNS_AT_ONCE);
    const bool is_near = bytes <= emulator::NEAR_BYTES && random() % 2, many_paths = random() % 2;
    const Noise workspace(random, is_near ? 1 : bytes * launch.blocks);
    const std::size_t rows = count * problems.most_rows, columns = count * problems.most_columns;
    Report noise{};
    noise.size = noise.start_size = noise.phases = noise.dual_steps = 77;
    Answers answers{std::vector<Vertex>(rows, 77), std::vector<Vertex>(columns, 77), std::vector<DualOfCost>(rows, 77),
                    std::vector<DualOfCost>(columns, 77), std::vector<Cost>(rows, 77), std::vector<Report>(count, noise)};
    const COSTS batch{problems.layout.data(),    problems.step,           count,
                            problems.most_rows,        problems.most_columns,   problems.entries.data(),
                            problems.maximize,         problems.limit,           true,
                            answers.row_match.data(),  answers.col_match.data(), answers.u.data(),
                            answers.v.data(),          answers.pair_costs.data(), answers.reports.data(),
                            static_cast<AssignmentStart>(start), many_paths};
    emulator::launch(launch, [&] { assign_batch(batch, workspace.data(), bytes, is_near ? bytes : 0, &next); });
    for (int p = 0; p < count; ++p) {
      const std::string wrong = judge(problems, answers, p);
      if (!wrong.empty()) return "problem " + std::to_string(p) + ": " + wrong;
    }
    return "";
  });
}
