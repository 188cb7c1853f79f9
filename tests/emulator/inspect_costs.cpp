// inspect_costs.cpp: inspect_costs_grid and find_pair_costs_grid, for one type of COSTS.
#include "matrices.h"

using Cost = CostOf<COSTS>::type;

// The inspection by a plain loop.
static CostInspection seen_in(const Matrix<Cost>& matrix) {
  using Dual = DualOf<Cost>::type;
  CostInspection seen{std::numeric_limits<Count>::max(), std::numeric_limits<Count>::max()};
  bool any = false;
  Dual lowest{}, highest{};
  matrix.each([&](Vertex row, Vertex column) {
    const auto entry = static_cast<Dual>(matrix.entry(row, column));
    if constexpr (std::is_floating_point_v<Cost>) {
      seen.nans += std::isnan(entry);
      seen.plus_infs += entry > 0 && std::isinf(entry);
      seen.minus_infs += entry < 0 && std::isinf(entry);
      if (!std::isfinite(entry)) return;
      seen.fractions += std::fmod(entry, 1) != 0;
    }
    // Minus zero is below plus zero.
    const auto is_below = [](Dual a, Dual b) {
      return a < b || (a == b && std::signbit(static_cast<double>(a)) > std::signbit(static_cast<double>(b)));
    };
    if (!any || is_below(entry, lowest)) lowest = entry;
    if (!any || is_below(highest, entry)) highest = entry;
    any = true;
  });
  if (any) {
    seen.lowest = order_of(lowest);
    seen.minus_highest = ~order_of(highest);
  }
  return seen;
}

// How many entries cost at least the bound that was found. The bound is one of the entries, or the given one.
static std::string judge_expensive(const Matrix<Cost>& matrix, Count given, int sign, const CostInspection& found) {
  using Dual = DualOf<Cost>::type;
  if (sign == 0) return found.expensive == 0 && found.bound == 0 ? "" : "expensive entries that nobody asked for";
  Count expensive = 0, below = std::numeric_limits<Count>::max();
  bool is_entry = found.bound == given, is_nan = false;
  matrix.each([&](Vertex row, Vertex column) {
    const auto entry = static_cast<Dual>(matrix.entry(row, column));
    const Count order = order_of(entry);
    if constexpr (std::is_floating_point_v<Cost>) is_nan |= std::isnan(entry);
    is_entry |= order == found.bound;
    const bool is_expensive = sign > 0 ? order >= found.bound : order <= found.bound;
    expensive += is_expensive;
    if (!is_expensive) below = std::min(below, sign > 0 ? ~order : order);
  });
  if (is_nan) return "";  // no costs
  if (!is_entry || (sign > 0 ? found.bound > given : found.bound < given)) return "a bound that is no entry";
  if (below != found.below) return "another greatest entry of the others";
  return expensive == found.expensive ? "" : "another number of expensive entries";
}

template <class Float>
static void spoil(Random& random, Matrix<Float>& matrix) {
  if constexpr (std::is_floating_point_v<Float>) {
    using Limits = std::numeric_limits<Float>;
    for (const Float odd : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Float{-0.0}}) {
      if (random() % 2 == 0) matrix.entry(random() % matrix.rows, random() % matrix.columns) = odd;
    }
  }
}

static std::string find(const emulator::Launch& launch, Random& random, const Matrix<Cost>& matrix) {
  std::vector<Vertex> row_match(matrix.rows);
  for (Vertex& column : row_match) column = random() % 4 == 0 ? NONE : static_cast<Vertex>(random() % matrix.columns);
  std::vector<Cost> found(matrix.rows);
  emulator::launch(launch, [&] {
    find_pair_costs_grid({matrix.first(), matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride},
                         row_match.data(), found.data(), arrivals);
  });
  for (Vertex row = 0; row < matrix.rows; ++row) {
    if (row_match[row] == NONE) continue;
    const Cost entry = matrix.entry(row, row_match[row]);
    if (std::memcmp(&found[row], &entry, sizeof entry) != 0) return "the cost of another pair";  // of NaN, too
  }
  return "";
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 300, [](Random& random) -> std::string {
    Matrix<Cost> matrix = draw_matrix<Cost>(random, 40);
    spoil(random, matrix);
    const emulator::Launch launch = draw_launch(random);
    emulator::instance += ": " + matrix.name + ", " + name_of(launch);
    const int sign = static_cast<int>(random() % 3) - 1;
    Count given = sign > 0 ? std::numeric_limits<Count>::max() : std::numeric_limits<Count>::min();
    if (random() % 2 == 0) given = order_of(static_cast<DualOf<Cost>::type>(matrix.entry(0, 0)));
    CostInspection found{};  // as words are: zero
    emulator::launch(launch, [&] {
      inspect_costs_grid({matrix.first(), matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride}, given, sign,
                         &found, arrivals);
    });
    const std::string wrong = judge_expensive(matrix, given, sign, found);
    if (!wrong.empty()) return wrong;
    const CostInspection seen = seen_in(matrix);
    if (found.lowest != seen.lowest || found.minus_highest != seen.minus_highest) return "another range";
    const auto differs = [](Count a, Count b) { return (a > 0) != (b > 0); };
    if (differs(found.nans, seen.nans) || differs(found.plus_infs, seen.plus_infs) ||
        differs(found.minus_infs, seen.minus_infs)) {
      return "other numbers that are not finite";
    }
    if (differs(found.fractions, seen.fractions)) return "other fractions";
    return find(launch, random, matrix);
  });
}
