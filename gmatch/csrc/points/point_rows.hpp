// point_rows.hpp: rows of what points of any number of coordinates cost, for the serial solvers of serial/: computed when they
// are asked for, so that nobody holds the matrix.
//
//   PointRows   what pairs cost, to the bit as metrics.hpp states it; of the problem itself, or doubled into a square one
//   BoundRows   bounds of that from below, from products of float32: for solvers that compute what few pairs cost
//
// A row of 6,000 points of 16 coordinates takes 8 us, twice as long as to read it from memory.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "points/rows.hpp"
#include "serial/rows/rows.hpp"

namespace points {

// Points lie row by row, and again in panels: PANEL points each, coordinate by coordinate.
struct PointsInPanels {
  const double* points;
  Vertex number;
  std::size_t dimension;
  LineVector<double> panels;

  PointsInPanels(const double* points, Vertex number, std::size_t dimension)
      : points(points), number(number), dimension(dimension), panels((number + PANEL - 1) / PANEL * PANEL * dimension, 0) {
    for (Vertex i = 0; i < number; ++i) {
      double* const to = panels.data() + i / PANEL * PANEL * dimension + i % PANEL;
      for (std::size_t k = 0; k < dimension; ++k) to[k * PANEL] = of(i)[k];
    }
  }
  const double* of(Vertex i) const { return points + i * dimension; }
};

// What pairs of two clouds cost in the minimisation form. `limit` is infinite, or cuts costs off.
struct PairCosts {
  const PointsInPanels *x, *y;
  bool maximize;
  double limit;
  void (*fill)(const PointsInPanels& all, const double* points, Vertex number, double* to, Count stride);
  double (*at)(const double* x, const double* y, std::size_t dimension);

  template <class Terms>
  static PairCosts of(const PointsInPanels& x, const PointsInPanels& y, bool maximize, double limit, Terms) {
    return {&x, &y, maximize, limit, &fill_rows<Terms>, &cost<Terms>};
  }
  PairCosts between(const PointsInPanels& others, const PointsInPanels& columns) const {
    PairCosts costs = *this;
    costs.x = &others;
    costs.y = &columns;
    return costs;
  }

  double of_pair(Vertex row, Vertex column) const { return finished(at(x->of(row), y->of(column), x->dimension)); }
  double finished(double cost) const {
    const double least = maximize ? -cost : cost;
    return least < limit ? least : limit;
  }
  // Fills rows that follow one another, or columns if `turned`.
  void fill_from(bool turned, Vertex first, Vertex number, double* to, Count stride) const {
    const PointsInPanels &own = turned ? *y : *x, &others = turned ? *x : *y;
    fill(others, own.of(first), number, to, stride);
    if (!maximize && !(limit < std::numeric_limits<double>::infinity())) return;
    for (Vertex row = 0; row < number; ++row) {
      for (Vertex j = 0; j < others.number; ++j) to[row * stride + j] = finished(to[row * stride + j]);
    }
  }

 private:
  template <class Terms>
  static void fill_rows(const PointsInPanels& all, const double* points, Vertex number, double* to, Count stride) {
    for (Vertex first = 0; first < all.number; first += static_cast<Vertex>(PANEL)) {
      run_in_lanes<CostsOfPanel<Terms>>(all.dimension * sizeof(double) * PANEL, points, all.panels.data() + first * all.dimension,
                                        all.dimension, static_cast<std::size_t>(number),
                                        std::min<std::size_t>(PANEL, all.number - first), static_cast<std::size_t>(stride),
                                        to + first);
    }
  }
  template <class Terms>
  static double cost(const double* x, const double* y, std::size_t dimension) {
    double sum = 0;
    for (std::size_t k = 0; k < dimension; ++k) sum = Terms::add(sum, x[k], y[k]);
    return Terms::end(sum);
  }
};

// Rows that were computed last. A row that follows the row asked for last is computed together with the rows after it: then the
// other cloud is read from memory once for several rows.
class LastRows {
 public:
  LastRows(Vertex num_rows, Vertex width)
      : num_rows_(num_rows),
        width_(width),
        rows_(KEPT * Count{width}, std::numeric_limits<double>::infinity()),
        in_(KEPT, NONE) {}

  // fill(first, number, to): rows that follow one another, `width` apart.
  template <class Fill>
  const double* find(Vertex row, const Fill& fill) {
    double* const here = rows_.data() + row % KEPT * Count{width_};
    const bool follows = row == last_ + 1;
    last_ = row;
    if (in_[row % KEPT] == row) return here;
    const Vertex first = row % KEPT;
    const Vertex number = follows ? std::min({TOGETHER, KEPT - first, num_rows_ - row}) : 1;
    fill(row, number, here);
    for (Vertex k = 0; k < number; ++k) in_[first + k] = row + k;
    return here;
  }
  Count width() const { return width_; }

 private:
  // Rows that are computed together, and rows that are kept: ROWS_KEPT of them stay while another ROWS_KEPT are asked for.
  static constexpr Vertex TOGETHER = 4, KEPT = 2 * ROWS_KEPT;

  Vertex num_rows_, width_;
  LineVector<double> rows_;
  std::vector<Vertex> in_;  // which row lies there
  Vertex last_ = NONE - 1;
};

// As the serial solvers ask for rows: see serial/rows/rows.hpp.
//
// Doubled, n rows and m columns become n + m of both: copies of the columns follow the rows, and copies of the rows the columns.
// A pair of copies costs what the pair of its originals costs, a column and its own copy nothing, and a row and its own copy
// `own`. So all may stay free, and a search may still start from any duals: gmatch/distributed/doubled.py says more.
class PointRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;

  explicit PointRows(const PairCosts& costs)
      : costs_(costs), n_(costs.x->number), m_(costs.y->number), doubled_(false), own_(0), last_(num_rows(), width()) {}
  PointRows(const PairCosts& costs, double own)
      : costs_(costs), n_(costs.x->number), m_(costs.y->number), doubled_(true), own_(own), last_(num_rows(), width()) {}

  Vertex num_rows() const { return doubled_ ? n_ + m_ : n_; }
  Vertex num_columns() const { return doubled_ ? n_ + m_ : m_; }
  Vertex width() const { return std::max(num_columns(), Scan::FEWEST_COLUMNS); }
  const Entry* entries(Vertex row) {
    return last_.find(row, [&](Vertex first, Vertex number, double* to) { fill(first, number, to); });
  }
  double at(Vertex row, Vertex column) const {
    const bool is_copy = row >= n_, in_copies = column >= m_;
    if (!is_copy && !in_copies) return costs_.of_pair(row, column);
    if (is_copy && in_copies) return costs_.of_pair(column - m_, row - n_);
    if (is_copy) return row - n_ == column ? 0 : FAR;
    return column - m_ == row ? own_ : FAR;
  }

 private:
  static constexpr double FAR = std::numeric_limits<double>::infinity();

  void fill(Vertex first, Vertex number, double* to) const {
    const Vertex rows = std::clamp(n_ - first, 0, number);
    if (rows > 0) costs_.fill_from(false, first, rows, to, last_.width());
    if (rows < number) costs_.fill_from(true, first + rows - n_, number - rows, to + rows * last_.width() + m_, last_.width());
    for (Vertex k = 0; doubled_ && k < number; ++k) {
      double* const here = to + k * last_.width();
      if (k < rows) std::fill_n(here + m_, n_, FAR), here[m_ + first + k] = own_;
      else std::fill_n(here, m_, FAR), here[first + k - n_] = 0;
    }
  }

  PairCosts costs_;
  Vertex n_, m_;
  bool doubled_;
  double own_;
  LastRows last_;
};

// Products of float32 whose sums, with a number for each row and each column, are bounds from below of what pairs cost:
//
//   bound = x y + of_row + of_column, or its root; times the unit
struct PairBounds {
  static constexpr std::size_t WIDE_PANEL = 64;  // points y of a panel

  const float *x, *y;
  const double *of_rows, *of_columns;
  double unit;
  bool root, maximize;  // what is to be maximized has negative bounds
};

// As PointRows, with bounds as entries. at() is what a pair costs.
class BoundRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;

  BoundRows(const PairCosts& costs, const PairBounds& bounds)
      : costs_(costs), bounds_(bounds), last_(num_rows(), width()) {}

  Vertex num_rows() const { return costs_.x->number; }
  Vertex num_columns() const { return costs_.y->number; }
  Vertex width() const { return std::max(num_columns(), Scan::FEWEST_COLUMNS); }
  const Entry* entries(Vertex row) {
    return last_.find(row, [&](Vertex first, Vertex number, double* to) {
      run_in_lanes<Bounds>(LONG, bounds_, costs_, first, number, to, last_.width());
    });
  }
  double at(Vertex row, Vertex column) const { return costs_.of_pair(row, column); }

 private:
  static constexpr std::size_t WIDE = PairBounds::WIDE_PANEL, LONG = 1024;  // bytes: for the widest registers

  struct Bounds {
    template <int BYTES>
    static ALWAYS_INLINE void run(PairBounds bounds, PairCosts costs, Vertex first, Vertex number, double* to, Count stride) {
      const Vertex columns = costs.y->number;
      const std::size_t dimension = costs.x->dimension;
      for (Vertex panel = 0; panel < columns; panel += static_cast<Vertex>(WIDE)) {
        for (Vertex row = first; row < first + number; ++row) {
          float sums[WIDE];
          of_panel<BYTES>(bounds.x + row * dimension, bounds.y + panel * dimension, dimension, sums);
          const Vertex size = std::min(static_cast<Vertex>(WIDE), columns - panel);
          double* const here = to + (row - first) * stride + panel;
          for (Vertex q = 0; q < size; ++q) here[q] = sums[q] + (bounds.of_rows[row] + bounds.of_columns[panel + q]);
          if (bounds.root) for (Vertex q = 0; q < size; ++q) here[q] = root_of(here[q], bounds.maximize);
          for (Vertex q = 0; q < size; ++q) here[q] = std::min(here[q] * bounds.unit, costs.limit);
        }
      }
    }
    // The root of a square that is not below the bound, or is not above it if both are negative; lowered by some roundings.
    static ALWAYS_INLINE double root_of(double bound, bool maximize) {
      constexpr double ROUNDINGS = 0x1p-50;
      const double root = std::sqrt(std::max(maximize ? -bound : bound, 0.0));
      return maximize ? -root * (1 + ROUNDINGS) : root * (1 - ROUNDINGS);
    }
    template <int BYTES>
    static ALWAYS_INLINE void of_panel(const float* x, const float* y, std::size_t dimension, float* to) {
      constexpr int LANES = BYTES / sizeof(float), TOGETHER = static_cast<int>(WIDE) / LANES;
      Lanes<float, LANES> sums[TOGETHER] = {};
      for (std::size_t k = 0; k < dimension; ++k) {
        const Lanes<float, LANES> here = all<float, LANES>(x[k]);
        for (int q = 0; q < TOGETHER; ++q) sums[q] += here * load<float, LANES>(y + k * WIDE + q * LANES);
      }
      for (int q = 0; q < TOGETHER; ++q) store(to + q * LANES, sums[q]);
    }
  };

  PairCosts costs_;
  PairBounds bounds_;
  LastRows last_;
};

}  // namespace points
