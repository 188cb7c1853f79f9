// matrices.h: random matrices of costs, of every kind that has made trouble; and the judge of an answer, which shares no
// code with the programs.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "fuzz.h"

#include "costs/dense.cuh"

// The type of the entries of DenseCosts, Entries, a Batch or SparseCosts.
template <class Costs>
struct CostOf;
template <template <class...> class Costs, class Cost, class... Indices>
struct CostOf<Costs<Cost, Indices...>> {
  using type = Cost;
};

// Wide enough for any sum of costs and duals.
template <class Cost>
using WideOf = std::conditional_t<std::is_integral_v<Cost>, __int128, long double>;

template <class Cost>
struct Matrix {
  using Wide = WideOf<Cost>;
  using Dual = typename DualOf<Cost>::type;

  Vertex rows, columns;  // rows <= columns
  std::vector<Cost> entries;
  Count row_stride, column_stride, origin;
  bool maximize;
  std::optional<Dual> limit;
  std::vector<char> absent;  // [rows * columns] of a sparse matrix, else empty
  std::string name;

  Cost& entry(Vertex row, Vertex column) { return entries[origin + row * row_stride + column * column_stride]; }
  Cost entry(Vertex row, Vertex column) const { return entries[origin + row * row_stride + column * column_stride]; }
  Wide unlimited(Vertex row, Vertex column) const {
    const Wide here = entry(row, column);
    return maximize ? -here : here;
  }
  Wide cost(Vertex row, Vertex column) const {
    const Wide here = unlimited(row, column);
    return limit && here > *limit ? Wide{*limit} : here;
  }
  bool is_allowed(Vertex row, Vertex column) const {
    if (!absent.empty() && absent[row * columns + column]) return false;
    if constexpr (std::is_integral_v<Cost>) return true;
    else return std::isfinite(cost(row, column));
  }
  // As the programs take it.
  Dual limit_or_none() const { return limit ? *limit : DenseCosts<Cost>::infinite(); }
  const Cost* first() const { return entries.data() + origin; }

  template <class Visit>
  void each(Visit visit) const {
    for (Vertex row = 0; row < rows; ++row) {
      for (Vertex column = 0; column < columns; ++column) visit(row, column);
    }
  }
};

// Drawing.

inline double unit(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

constexpr int KINDS = 9;

inline int draw_entry(Random& random, int kind, int) {
  constexpr int LEAST = std::numeric_limits<int>::min(), MOST = std::numeric_limits<int>::max();
  switch (kind) {
    case 0: return 7;
    case 1: return random() % 2;
    case 2: return random() % 10;
    case 3: return random() % 100000;
    case 4: return static_cast<int>(random());
    case 5: return random() % 2 ? LEAST : MOST;
    case 6: return LEAST + static_cast<int>(random() % 3);
    case 7: return static_cast<int>(random() % 256) - 128;
    default: return static_cast<int>(random() % 1000) * (random() % 20 == 0 ? 1000 : 1);
  }
}
// Entries up to the size that Python refuses, which depends on the spread and the rows.
inline long long draw_entry(Random& random, int kind, long long) {
  const auto below = [&](long long end) { return static_cast<long long>(random() % end); };
  switch (kind) {
    case 0: return 1ll << 62;
    case 1: return below(2);
    case 2: return (1ll << 62) - 1000 + below(10);
    case 3: return below(100000) - 50000;
    case 4: return below(1ll << 51);
    case 5: return -(1ll << 62) + below(1000);
    case 6: return below(1ll << 56);
    case 7: return below(2) << 55;
    default: return std::numeric_limits<long long>::max() - 300000 + below(1000);
  }
}
template <class Float>
Float draw_float(Random& random, int kind) {
  using Limits = std::numeric_limits<Float>;
  const double large = Limits::max() / 1e8;
  switch (kind) {
    case 0: return static_cast<Float>(-7.5);
    case 1: return static_cast<Float>(random() % 2);
    case 2: return static_cast<Float>(unit(random) * Limits::min());
    case 3: return static_cast<Float>(unit(random));
    case 4: return static_cast<Float>(unit(random) * large);
    case 5: return Limits::denorm_min() * static_cast<Float>(random() % 5);
    case 6: return static_cast<Float>(std::exp((2 * unit(random) - 1) * std::log(large)));
    case 7: return static_cast<Float>(0.1 * static_cast<double>(random() % 7));
    default: return static_cast<Float>((2 * unit(random) - 1) * 100);
  }
}
inline float draw_entry(Random& random, int kind, float) { return draw_float<float>(random, kind); }
inline double draw_entry(Random& random, int kind, double) { return draw_float<double>(random, kind); }

template <class Cost>
void draw_size(Random& random, int largest, Matrix<Cost>& matrix) {
  matrix.rows = random() % 12 == 0 ? 1 : 1 + random() % largest;
  matrix.columns = matrix.rows;
  if (random() % 3 == 0) matrix.columns += random() % 4;
  else if (random() % 3 == 0) matrix.columns += random() % largest;
}

// Any order in memory, backwards and with gaps too.
template <class Cost>
void draw_layout(Random& random, Matrix<Cost>& matrix) {
  const Count rows = matrix.rows, columns = matrix.columns;
  const auto lay = [&](Count row_stride, Count column_stride, Count origin) {
    matrix.row_stride = row_stride;
    matrix.column_stride = column_stride;
    matrix.origin = origin;
  };
  switch (random() % 4) {
    case 0: lay(columns, 1, 0); break;
    case 1: lay(1, rows, 0); break;
    case 2: lay(-columns, -1, rows * columns - 1); break;
    default: lay(2 * columns, 2, 0);
  }
  matrix.entries.assign(2 * rows * columns, Cost{});
}

// Matrices with many ties, or with rows that want the same columns.
template <class Cost>
void draw_structure(Random& random, int kind, int structure, Matrix<Cost>& matrix) {
  const bool is_small = kind == 1 || kind == 3 || kind == 7;
  std::vector<Cost> usual(matrix.rows);
  for (Cost& entry : usual) entry = draw_entry(random, kind, Cost{});
  const auto draw_numbers = [&](Vertex size) {
    std::vector<int> numbers(size);
    for (int& number : numbers) number = static_cast<int>(random() % 1000);
    return numbers;
  };
  const std::vector<int> of_rows = draw_numbers(matrix.rows), of_columns = draw_numbers(matrix.columns);
  matrix.each([&](Vertex row, Vertex column) {
    Cost& entry = matrix.entry(row, column);
    switch (structure) {
      case 0: entry = matrix.entry(0, column); break;
      case 1: entry = matrix.entry(row, 0); break;
      case 2: if (is_small) entry = static_cast<Cost>((row + 1) * (column + 1)); break;
      case 3: if (3 * column >= matrix.rows) entry = draw_entry(random, (kind + 1) % KINDS, Cost{}); break;
      case 4: if (random() % 4 != 0) entry = usual[row]; break;
      case 5: if (is_small) entry = static_cast<Cost>(std::hypot(row * 37 % 101, column * 53 % 103)); break;
      // Rows are equal in groups of 24, so some columns are among the best of no row.
      case 6: entry = matrix.entry(row - row % 24, column); break;
      case 7: if (is_small) entry = static_cast<Cost>(std::pow(unit(random), 10) * 1e6); break;
      // Most rows and columns find each other best.
      case 8: if (is_small && row == column && row % 8 != 0) entry = static_cast<Cost>(matrix.maximize ? 2e5 : -2e5); break;
      // As good as forbidden.
      case 9: if (is_small && random() % 5 != 0) entry = static_cast<Cost>(matrix.maximize ? -1e8 : 1e8); break;
      // Products and distances of numbers in any order: diagonal.cuh.
      case 10: if (is_small) entry = static_cast<Cost>(of_rows[row] * of_columns[column]); break;
      case 11: if (is_small) entry = static_cast<Cost>(std::abs(of_rows[row] - of_columns[column])); break;
      default: break;
    }
  });
}

// Infinities. All kinds except the third leave the diagonal allowed.
template <class Cost>
void forbid_some(Random& random, int choice, Matrix<Cost>& matrix) {
  const Cost forbidden = static_cast<Cost>(matrix.maximize ? -INFINITY : INFINITY);
  const Vertex hopeless = choice == 3 && random() % 4 == 0 ? random() % matrix.rows : NONE;
  matrix.each([&](Vertex row, Vertex column) {
    bool forbids = row == hopeless;
    switch (choice) {
      case 1: forbids |= row != column && random() % 2 == 0; break;
      case 2: forbids |= row != column && random() % 10 != 0; break;
      case 3: forbids |= random() % 10 > 2; break;
      default: forbids |= row != column && column % 32 != row * 5 % 32 && random() % 50 != 0;
    }
    if (forbids) matrix.entry(row, column) = forbidden;
  });
}

template <class Cost>
void draw_limit(Random& random, Matrix<Cost>& matrix) {
  const auto limit = matrix.cost(random() % matrix.rows, random() % matrix.columns);
  const auto lower = limit - static_cast<WideOf<Cost>>(random() % 2);
  if constexpr (std::is_integral_v<Cost>) {
    if (lower < std::numeric_limits<long long>::min() || lower > std::numeric_limits<long long>::max()) return;
  } else {
    if (!std::isfinite(static_cast<double>(lower))) return;
  }
  matrix.limit = static_cast<typename Matrix<Cost>::Dual>(lower);
}

template <class Cost>
Matrix<Cost> draw_any_matrix(Random& random, int largest) {
  constexpr int STRUCTURES = 14, WAYS_TO_FORBID = 4;
  Matrix<Cost> matrix{};
  draw_size(random, largest, matrix);
  draw_layout(random, matrix);
  matrix.maximize = random() % 3 == 0;
  const int kind = random() % KINDS, structure = random() % STRUCTURES;
  matrix.each([&](Vertex row, Vertex column) { matrix.entry(row, column) = draw_entry(random, kind, Cost{}); });
  draw_structure(random, kind, structure, matrix);
  int forbids = 0;
  if constexpr (!std::is_integral_v<Cost>) {
    if (random() % 3 == 0) forbid_some(random, forbids = 1 + random() % WAYS_TO_FORBID, matrix);
  }
  if (random() % 5 == 0) draw_limit(random, matrix);
  matrix.name = std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) + " of kind " +
                std::to_string(kind) + ", structure " + std::to_string(structure) + ", forbids " +
                std::to_string(forbids) + (matrix.maximize ? ", maximize" : "") + (matrix.limit ? ", limit" : "");
  return matrix;
}

// The checks of gmatch/problems/dense.py and gmatch/problems/sparse.py.

template <class Cost>
struct Range {
  WideOf<Cost> lowest = 0, highest = 0;
  bool forbids = false;
};

template <class Cost>
Range<Cost> range_of(const Matrix<Cost>& matrix) {
  Range<Cost> range;
  bool is_first = true;
  matrix.each([&](Vertex row, Vertex column) {
    if (!matrix.is_allowed(row, column)) {
      range.forbids = true;
      return;
    }
    const auto cost = matrix.cost(row, column);
    range.lowest = is_first || cost < range.lowest ? cost : range.lowest;
    range.highest = is_first || cost > range.highest ? cost : range.highest;
    is_first = false;
  });
  return range;
}

// Whether duals along a path of all pairs, and sums of floats, stay in the range of their type.
template <class Cost>
bool has_room(const Matrix<Cost>& matrix) {
  using Wide = WideOf<Cost>;
  const auto range = range_of(matrix);
  const Wide spread = range.highest - range.lowest, largest = std::max(-range.lowest, range.highest);
  const Wide of_sums = std::is_integral_v<Cost> ? 1 : matrix.rows;
  const Wide most = std::numeric_limits<typename Matrix<Cost>::Dual>::max();
  return (32 + 8 * static_cast<Wide>(matrix.rows)) * spread + of_sums * largest < most;
}

// How far duals of columns may lie apart at the start; for integers no farther than leaves room for what comes.
template <class Cost>
typename Matrix<Cost>::Dual dual_spread(const Matrix<Cost>& matrix) {
  using Dual = typename Matrix<Cost>::Dual;
  const auto range = range_of(matrix);
  const auto spread = range.highest - range.lowest, largest = std::max(-range.lowest, range.highest);
  if constexpr (std::is_integral_v<Cost>) {
    const auto most = (std::numeric_limits<Dual>::max() - largest) / 32;
    return static_cast<Dual>(std::min(spread, most - spread));
  } else {
    return static_cast<Dual>(range.forbids ? spread * matrix.rows : spread);
  }
}

template <class Cost>
Matrix<Cost> draw_matrix(Random& random, int largest) {
  while (true) {
    Matrix<Cost> matrix = draw_any_matrix<Cost>(random, largest);
    if (has_room(matrix)) return matrix;
  }
}

// Judging.

// The cost of an optimal assignment, by shortest paths with potentials, one row at a time; nothing if there is none.
// Vertices count from 1 here, and row and column 0 are where a path starts.
template <class Cost>
std::optional<WideOf<Cost>> least_total(const Matrix<Cost>& matrix) {
  using Wide = WideOf<Cost>;
  const Vertex rows = matrix.rows, columns = matrix.columns;
  std::vector<Wide> u(rows + 1, 0), v(columns + 1, 0);
  std::vector<Vertex> mate(columns + 1, 0), before(columns + 1, 0);
  for (Vertex root = 1; root <= rows; ++root) {
    std::vector<Wide> slack(columns + 1, 0);
    std::vector<char> done(columns + 1, 0), reached(columns + 1, 0);
    Vertex here = 0;
    for (mate[0] = root; mate[here] != 0;) {
      done[here] = 1;
      const Vertex row = mate[here];
      Vertex nearest = 0;
      for (Vertex column = 1; column <= columns; ++column) {
        if (done[column]) continue;
        if (matrix.is_allowed(row - 1, column - 1)) {
          const Wide found = matrix.cost(row - 1, column - 1) - u[row] - v[column];
          if (!reached[column] || found < slack[column]) {
            slack[column] = found;
            before[column] = here;
            reached[column] = 1;
          }
        }
        if (reached[column] && (nearest == 0 || slack[column] < slack[nearest])) nearest = column;
      }
      if (nearest == 0) return std::nullopt;
      const Wide step = slack[nearest];
      for (Vertex column = 0; column <= columns; ++column) {
        if (done[column]) {
          u[mate[column]] += step;
          v[column] -= step;
        } else {
          slack[column] -= step;
        }
      }
      here = nearest;
    }
    for (; here != 0; here = before[here]) mate[here] = mate[before[here]];
  }
  Wide total = 0;
  for (Vertex column = 1; column <= columns; ++column) {
    if (mate[column] != 0) total += matrix.cost(mate[column] - 1, column - 1);
  }
  return total;
}

template <class Dual>
struct Answer {
  std::vector<Vertex> row_match, col_match;
  std::vector<Dual> u, v;
  Count size;
};

template <class Cost, class Dual>
std::string judge_matching(const Matrix<Cost>& matrix, const Answer<Dual>& answer) {
  Count pairs = 0, mates = 0;
  for (Vertex row = 0; row < matrix.rows; ++row) {
    const Vertex column = answer.row_match[row];
    if (column == NONE) continue;
    ++pairs;
    if (column < 0 || column >= matrix.columns) return "a mate that is no column";
    if (answer.col_match[column] != row) return "the sides of the matching disagree";
    if (!matrix.is_allowed(row, column)) return "a pair that is forbidden";
  }
  for (const Vertex row : answer.col_match) mates += row != NONE;
  if (mates != pairs) return "a column whose mate has another";
  return pairs == answer.size ? "" : "the report's size is not that of the matching";
}

// Duals that prove the total. Floats are right up to what roundings make of the largest cost or dual: duals that are given
// may lie apart by the spread of the costs times the number of rows.
template <class Cost, class Dual>
std::string judge_duals(const Matrix<Cost>& matrix, const Answer<Dual>& answer, WideOf<Cost> least) {
  using Wide = WideOf<Cost>;
  Wide total = 0, proof = 0, rounding = 0;
  if constexpr (!std::is_integral_v<Cost>) {
    const auto range = range_of(matrix);
    Wide largest = std::max(-range.lowest, range.highest);
    for (const Dual dual : answer.u) largest = std::max(largest, std::abs(Wide{dual}));
    for (const Dual dual : answer.v) largest = std::max(largest, std::abs(Wide{dual}));
    rounding = 1e-13L * largest;
  }
  for (Vertex row = 0; row < matrix.rows; ++row) {
    total += matrix.cost(row, answer.row_match[row]);
    proof += answer.u[row];
  }
  for (Vertex column = 0; column < matrix.columns; ++column) {
    const Dual dual = answer.v[column];
    proof += dual;
    if (matrix.rows == matrix.columns) continue;
    if (dual > 0) return "v above 0";
    if (dual != 0 && answer.col_match[column] == NONE) return "a free column whose v is not 0";
  }
  const Wide most = least + matrix.rows * rounding, fewest = least - matrix.rows * rounding;
  if (total > most) return "a total above the least";
  if (proof > most || proof < fewest) return "duals with a gap";
  bool holds = true;
  matrix.each([&](Vertex row, Vertex column) {
    if (!matrix.is_allowed(row, column)) return;
    holds &= matrix.cost(row, column) - answer.u[row] - answer.v[column] >= -rounding;
  });
  return holds ? "" : "a slack below 0";
}

// What is wrong, or nothing.
template <class Cost, class Dual>
std::string judge(const Matrix<Cost>& matrix, const Answer<Dual>& answer) {
  const std::string wrong = judge_matching(matrix, answer);
  if (!wrong.empty()) return wrong;
  const auto least = least_total(matrix);
  if (!least) return answer.size < matrix.rows ? "" : "all rows matched where that cannot be";
  if (answer.size < matrix.rows) return "rows left free";
  return judge_duals(matrix, answer, *least);
}
