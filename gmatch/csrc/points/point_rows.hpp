// point_rows.hpp: rows of what points of any number of coordinates cost, for the serial solvers of serial/: computed when they
// are asked for, so that nobody holds the matrix.
//
//   PointRows   what pairs cost, to the bit as metrics.hpp states it; of the problem itself, or doubled into a square one
//   BoundRows   bounds of that from below, from products of float32: for solvers that compute what few pairs cost
//
// To compute a row of 6,000 points of 16 coordinates takes 8 us, and to read it from memory 5. So rows that were computed are
// kept, in a bounded number of bytes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "points/rows.hpp"
#include "serial/rows/reserved_picks.hpp"
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
  void (*fill)(const PointsInPanels& all, const double* const* points, Vertex number, double* const* to);
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
  // Fills at most ROWS_TOGETHER rows, or columns if `turned`.
  void fill_these(bool turned, const Vertex* rows, Vertex number, double* const* to) const {
    const PointsInPanels &own = turned ? *y : *x, &others = turned ? *x : *y;
    const double* points[ROWS_TOGETHER];
    for (Vertex k = 0; k < number; ++k) points[k] = own.of(rows[k]);
    fill(others, points, number, to);
    if (!maximize && !(limit < std::numeric_limits<double>::infinity())) return;
    for (Vertex k = 0; k < number; ++k) {
      for (Vertex j = 0; j < others.number; ++j) to[k][j] = finished(to[k][j]);
    }
  }

 private:
  template <class Terms>
  static void fill_rows(const PointsInPanels& all, const double* const* points, Vertex number, double* const* to) {
    for (Vertex first = 0; first < all.number; first += static_cast<Vertex>(PANEL)) {
      run_in_lanes<CostsOfPanel<Terms>>(all.dimension * sizeof(double) * PANEL, points, all.panels.data() + first * all.dimension,
                                        all.dimension, static_cast<std::size_t>(number), static_cast<std::size_t>(first),
                                        std::min<std::size_t>(PANEL, all.number - first), to);
    }
  }
  template <class Terms>
  static double cost(const double* x, const double* y, std::size_t dimension) {
    double sum = 0;
    for (std::size_t k = 0; k < dimension; ++k) sum = Terms::add(sum, x[k], y[k]);
    return Terms::end(sum);
  }
};

// Rows that were computed last. If rows are asked for one after the other, the next ones are computed together. Rows that are
// expected are computed together, too.
class KeptRows {
 public:
  // Keeps at most `kept` rows.
  KeptRows(Vertex num_rows, Vertex width, Vertex kept)
      : num_rows_(num_rows),
        width_(width),
        kept_(std::min(std::max(kept, FEWEST), std::max(num_rows, FEWEST))),
        rows_(Count{kept_} * width),
        in_(kept_, NONE) {}
  static Vertex fitting(Count bytes, Vertex width) {
    return static_cast<Vertex>(std::min<Count>(bytes / (Count{sizeof(double)} * width), 1 << 30));
  }

  // fill(rows, number, to) writes each of some rows to a place of its own.
  template <class Fill>
  const double* find(Vertex row, const Fill& fill) {
    const Vertex place = row % kept_;
    const bool follows = row > last_ && row <= last_ + ROWS_TOGETHER;
    last_ = row;
    if (!has(row)) {
      Vertex rows[ROWS_TOGETHER];
      const Vertex number = follows ? std::min({ROWS_TOGETHER, kept_ - place, num_rows_ - row}) : 1;
      std::iota(rows, rows + number, row);
      expect(rows, number, fill);
    }
    return rows_.data() + place * Count{width_};
  }

  bool has(Vertex row) const { return in_[row % kept_] == row; }

  // Takes at most ROWS_TOGETHER rows, and computes the ones that are not kept.
  template <class Fill>
  void expect(const Vertex* rows, Vertex number, const Fill& fill) {
    Vertex missing[ROWS_TOGETHER], num_missing = 0;
    double* to[ROWS_TOGETHER];
    for (Vertex k = 0; k < number; ++k) {
      const Vertex place = rows[k] % kept_;
      const bool is_taken = std::any_of(missing, missing + num_missing, [&](Vertex row) { return row % kept_ == place; });
      if (has(rows[k]) || is_taken) continue;
      to[num_missing] = rows_.data() + place * Count{width_};
      missing[num_missing++] = rows[k];
    }
    fill(missing, num_missing, to);
    for (Vertex k = 0; k < num_missing; ++k) in_[missing[k] % kept_] = missing[k];
  }
  // If rows are asked for in order, the last ROWS_KEPT stay while ROWS_TOGETHER more are computed.
  static constexpr Vertex FEWEST = ROWS_KEPT + 2 * ROWS_TOGETHER;

 private:
  Vertex num_rows_, width_, kept_;
  LineVector<double> rows_;  // pages of memory are taken when rows are written
  std::vector<Vertex> in_;   // which row lies there
  Vertex last_ = NONE - ROWS_TOGETHER;
};

// Rows that the copies of an object share. Other threads than the one that made the object keep rows of their own.
class SharedRows {
 public:
  SharedRows(Vertex num_rows, Vertex width)
      : owner_(std::this_thread::get_id()),
        shared_(std::make_shared<KeptRows>(num_rows, width, KeptRows::fitting(SHARED, width))),
        own_(num_rows, width, 0) {}

  template <class Fill>
  const double* find(Vertex row, const Fill& fill) {
    return of_thread().find(row, fill);
  }
  bool has(Vertex row) { return of_thread().has(row); }
  template <class Fill>
  void expect(const Vertex* rows, Vertex number, const Fill& fill) {
    of_thread().expect(rows, number, fill);
  }

 private:
  // Bytes of rows. To read a row of 6,000 points from memory takes 5 us. To compute it takes 8 us with 16 coordinates, and 35
  // with 64: benchmarks/log/points.md, "One core searches rows of points".
  static constexpr Count SHARED = 1 << 28;

  KeptRows& of_thread() { return std::this_thread::get_id() == owner_ ? *shared_ : own_; }

  std::thread::id owner_;
  std::shared_ptr<KeptRows> shared_;
  KeptRows own_;
};

// As the serial solvers ask for rows: see serial/rows/rows.hpp.
//
// Doubled, n rows and m columns become n + m of both: copies of the columns follow the rows, and copies of the rows the columns.
// A pair of copies costs what the pair of its originals costs, a column and its own copy nothing, and a row and its own copy
// `own`. So all may stay free, and a search may still start from any duals: gmatch/backends/doubled.py says more.
class PointRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;

  explicit PointRows(const PairCosts& costs) : PointRows(costs, false, 0) {}
  PointRows(const PairCosts& costs, double own) : PointRows(costs, true, own) {}

  Vertex num_rows() const { return doubled_ ? n_ + m_ : n_; }
  Vertex num_columns() const { return doubled_ ? n_ + m_ : m_; }
  Vertex width() const { return std::max(num_columns(), Scan::FEWEST_COLUMNS); }
  const Entry* entries(Vertex row) {
    return kept_.find(row, [&](auto... these) { fill(these...); });
  }
  // See serial/rows/reserved_picks.hpp.
  bool has(Vertex row) { return kept_.has(row); }
  void expect(const Vertex* rows, Vertex number) {
    kept_.expect(rows, number, [&](auto... these) { fill(these...); });
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

  PointRows(const PairCosts& costs, bool doubled, double own)
      : costs_(costs),
        n_(costs.x->number),
        m_(costs.y->number),
        doubled_(doubled),
        own_(own),
        kept_(num_rows(), width()) {}

  void fill(const Vertex* rows, Vertex number, double* const* to) const {
    Vertex of_x[ROWS_TOGETHER], of_y[ROWS_TOGETHER], num_x = 0, num_y = 0;
    double *to_x[ROWS_TOGETHER], *to_y[ROWS_TOGETHER];
    for (Vertex k = 0; k < number; ++k) {
      double* const here = to[k];
      std::fill(here + num_columns(), here + width(), FAR);
      if (rows[k] < n_) {
        if (doubled_) std::fill_n(here + m_, n_, FAR), here[m_ + rows[k]] = own_;
        to_x[num_x] = here;
        of_x[num_x++] = rows[k];
      } else {
        std::fill_n(here, m_, FAR), here[rows[k] - n_] = 0;
        to_y[num_y] = here + m_;
        of_y[num_y++] = rows[k] - n_;
      }
    }
    costs_.fill_these(false, of_x, num_x, to_x);
    costs_.fill_these(true, of_y, num_y, to_y);
  }

  PairCosts costs_;
  Vertex n_, m_;
  bool doubled_;
  double own_;
  SharedRows kept_;
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
      : costs_(costs), bounds_(bounds), kept_(num_rows(), width()) {}

  Vertex num_rows() const { return costs_.x->number; }
  Vertex num_columns() const { return costs_.y->number; }
  Vertex width() const { return std::max(num_columns(), Scan::FEWEST_COLUMNS); }
  const Entry* entries(Vertex row) {
    return kept_.find(row, [&](auto... these) { fill(these...); });
  }
  // See serial/rows/reserved_picks.hpp.
  bool has(Vertex row) { return kept_.has(row); }
  void expect(const Vertex* rows, Vertex number) {
    kept_.expect(rows, number, [&](auto... these) { fill(these...); });
  }
  double at(Vertex row, Vertex column) const { return costs_.of_pair(row, column); }

 private:
  static constexpr double FAR = std::numeric_limits<double>::infinity();
  static constexpr std::size_t WIDE = PairBounds::WIDE_PANEL, LONG = 1024;  // bytes: for the widest registers

  void fill(const Vertex* rows, Vertex number, double* const* to) const {
    for (Vertex k = 0; k < number; ++k) std::fill(to[k] + num_columns(), to[k] + width(), FAR);
    run_in_lanes<Bounds>(LONG, bounds_, costs_, rows, number, to);
  }

  struct Bounds {
    // How many rows share what is read of a panel. In the widest registers, the sums of 4 rows fill half of all registers.
    template <int BYTES>
    static constexpr Vertex SIDE_BY_SIDE = BYTES == 64 ? 4 : 1;

    template <int BYTES>
    static ALWAYS_INLINE void run(PairBounds bounds, PairCosts costs, const Vertex* rows, Vertex number, double* const* to) {
      constexpr Vertex MANY = SIDE_BY_SIDE<BYTES>;
      for (Vertex panel = 0; panel < costs.y->number; panel += static_cast<Vertex>(WIDE)) {
        Vertex k = 0;
        for (; k + MANY <= number; k += MANY) of_panel<BYTES, MANY>(bounds, costs, rows + k, panel, to + k);
        for (; k < number; ++k) of_panel<BYTES, 1>(bounds, costs, rows + k, panel, to + k);
      }
    }
    template <int BYTES, Vertex ROWS>
    static ALWAYS_INLINE void of_panel(const PairBounds& bounds, const PairCosts& costs, const Vertex* rows, Vertex panel,
                                       double* const* to) {
      const std::size_t dimension = costs.x->dimension;
      const float* x[ROWS];
      for (Vertex k = 0; k < ROWS; ++k) x[k] = bounds.x + rows[k] * dimension;
      float sums[ROWS][WIDE];
      multiply<BYTES, ROWS>(x, bounds.y + panel * dimension, dimension, sums);
      const Vertex size = std::min(static_cast<Vertex>(WIDE), costs.y->number - panel);
      for (Vertex k = 0; k < ROWS; ++k) {
        double* const here = to[k] + panel;
        for (Vertex q = 0; q < size; ++q) here[q] = sums[k][q] + (bounds.of_rows[rows[k]] + bounds.of_columns[panel + q]);
        if (bounds.root) for (Vertex q = 0; q < size; ++q) here[q] = root_of(here[q], bounds.maximize);
        for (Vertex q = 0; q < size; ++q) here[q] = std::min(here[q] * bounds.unit, costs.limit);
      }
    }
    // The root of a square that is not below the bound, or is not above it if both are negative; lowered by some roundings.
    static ALWAYS_INLINE double root_of(double bound, bool maximize) {
      constexpr double ROUNDINGS = 0x1p-50;
      const double root = std::sqrt(std::max(maximize ? -bound : bound, 0.0));
      return maximize ? -root * (1 + ROUNDINGS) : root * (1 - ROUNDINGS);
    }
    template <int BYTES, Vertex ROWS>
    static ALWAYS_INLINE void multiply(const float* const (&x)[ROWS], const float* y, std::size_t dimension,
                                       float (&to)[ROWS][WIDE]) {
      constexpr int LANES = BYTES / sizeof(float), TOGETHER = static_cast<int>(WIDE) / LANES;
      Lanes<float, LANES> sums[ROWS][TOGETHER] = {};
      for (std::size_t k = 0; k < dimension; ++k) {
        Lanes<float, LANES> of_y[TOGETHER];
        for (int q = 0; q < TOGETHER; ++q) of_y[q] = load<float, LANES>(y + k * WIDE + q * LANES);
        for (Vertex row = 0; row < ROWS; ++row) {
          const Lanes<float, LANES> here = all<float, LANES>(x[row][k]);
          for (int q = 0; q < TOGETHER; ++q) sums[row][q] += here * of_y[q];
        }
      }
      for (Vertex row = 0; row < ROWS; ++row) {
        for (int q = 0; q < TOGETHER; ++q) store(to[row] + q * LANES, sums[row][q]);
      }
    }
  };

  PairCosts costs_;
  PairBounds bounds_;
  SharedRows kept_;
};

}  // namespace points
