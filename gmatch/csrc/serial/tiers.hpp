// tiers.hpp: costs of several magnitudes, such as a big number that stands for "not" among ordinary costs, on one core.
//
// Where a few rows must use the big number, duals are as large as it, and rounding hides the ordinary costs in them. So each
// cost is split into a whole multiple of the big number, its tier, and an exact rest, as gmatch/assignment/tiers.py says:
//
//   cost = value * tier + rest,    with value > 32 * (rows + 1) * |rest| for all pairs
//
// Optimal duals of the tiers need no search: they are read off the duals of the costs that are known. For numbers that add up
// to whole ones but for little, all rounded at the same place, u down and v up, still do: with x = u / value and y = -v / value
//
//   u + v <= cost   says that   x <= tier + y + rest / value,   so that   floor(x + shift) <= tier + floor(y + shift)
//
// and both are equal for a pair, as long as x and y, whose fractions differ by less than 1 / (32 * (rows + 1)) there, lie on the same
// side of the place. There are no more fractions than rows, and 0, so one of the gaps between them is wide enough. A pass over the
// matrix proves the duals that come of it, and tells which pairs are left: those of which the tier is that of their duals. Among
// these the shortest paths find the least rest; rests may be split again. They are never written, but made anew for each
// scan of a row, in the cache.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "costs/magnitudes.hpp"
#include "serial/rows.hpp"
#include "serial/shortest_path.hpp"

// A big number, and optimal duals in multiples of it. With as many columns as rows may leave free, those below 0 are of columns
// that must be used.
struct Tier {
  double value;
  std::vector<double> rows, columns;  // whole numbers; columns for as many as scans read
};

// Passes over a row of costs that take them apart.
class TierScan {
 public:
  // Nearest multiples are no larger, so that products with either part of a value are exact.
  static constexpr double MOST_TIERS = 1 << 20;

  // One tier of one row.
  struct OfRow {
    double inverse, high, low;  // the value is high + low
    double row;
    const double* columns;
  };
  static OfRow of_row(const Tier& tier, Vertex row) {
    constexpr std::uint64_t HIGH = ~((std::uint64_t{1} << 22) - 1);
    std::uint64_t bits;
    std::memcpy(&bits, &tier.value, sizeof bits);
    bits &= HIGH;
    double high;
    std::memcpy(&high, &bits, sizeof high);
    return {1 / tier.value, high, tier.value - high, tier.rows[row], tier.columns.data()};
  }

  // The rests of the pairs whose tiers are those of their duals; FAR for all others.
  static void find_rests(const double* costs, const OfRow* tiers, int num_tiers, Vertex width, double* rests) {
    run_in_lanes<FindRests>(sizeof(double) * width, costs, tiers, num_tiers, width, rests);
  }
  static double find_rest(double cost, const OfRow* tiers, int num_tiers, Vertex column) {
    for (int k = 0; k < num_tiers; ++k) {
      const Parts<1> parts = taken_apart<1>(cost, tiers[k], column);
      cost = parts.above == 0 ? parts.rest : FAR;
    }
    return cost;
  }

  // Of finite costs: how far their tiers are above those of duals, at least; and the range of all rests, and of those where they
  // are not above.
  struct Seen {
    double least_above = FAR, least = 0, most = 0, least_left = FAR, most_left = -FAR;

    void add(const Seen& other) {
      least_above = std::min(least_above, other.least_above);
      least = std::min(least, other.least);
      most = std::max(most, other.most);
      least_left = std::min(least_left, other.least_left);
      most_left = std::max(most_left, other.most_left);
    }
  };
  static Seen look(const double* costs, const OfRow& tier, Vertex width) {
    return run_in_lanes<Look>(sizeof(double) * width, costs, tier, width);
  }

  // Whether all costs times a power of two are whole; what is FAR is.
  static bool are_whole(const double* costs, double factor, Vertex width) {
    return run_in_lanes<AreWhole>(sizeof(double) * width, costs, factor, width);
  }

 private:
  static constexpr double FAR = Distance<double>::FAR;

  static constexpr double WHOLE = 0x1p52, ROUNDS = 1.5 * WHOLE;  // from there on all numbers are; beside that there are no fractions

  template <int LANES>
  struct Parts {
    Lanes<double, LANES> above, rest;
  };
  // Of what is FAR neither is a number.
  template <int LANES>
  static ALWAYS_INLINE Parts<LANES> taken_apart(const Lanes<double, LANES>& cost, const OfRow& tier, Vertex column) {
    const Lanes<double, LANES> times = (cost * tier.inverse + ROUNDS) - ROUNDS;
    return {(times - tier.row) - load<double, LANES>(tier.columns + column), (cost - times * tier.high) - times * tier.low};
  }

  struct FindRests {
    template <int BYTES>
    static ALWAYS_INLINE void run(const double* costs, const OfRow* tiers, int num_tiers, Vertex width, double* rests) {
      constexpr int LANES = BYTES / sizeof(double);
      const auto add = [&](Vertex j) __attribute__((always_inline)) {
        Lanes<double, LANES> cost = load<double, LANES>(costs + j);
        for (int k = 0; k < num_tiers; ++k) {
          const Parts<LANES> parts = taken_apart<LANES>(cost, tiers[k], j);
          cost = parts.above == 0 ? parts.rest : all<double, LANES>(FAR);
        }
        store(rests + j, cost);
      };
      Vertex j = 0;
      for (; j + LANES <= width; j += LANES) add(j);
      if (j < width) add(width - LANES);
    }
  };

  struct Look {
    template <int BYTES>
    static ALWAYS_INLINE Seen run(const double* costs, OfRow tier, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      using Vector = Lanes<double, LANES>;
      const Vector far = all<double, LANES>(FAR), zero = all<double, LANES>(0);
      Vector least_above = far, least = zero, least_negated = zero, least_left = far, least_left_negated = far;
      const auto add = [&](Vertex j) __attribute__((always_inline)) {
        const Vector cost = load<double, LANES>(costs + j);
        const Parts<LANES> parts = taken_apart<LANES>(cost, tier, j);
        const auto counts = cost < far;
        const Vector above = counts ? parts.above : far, rest = counts ? parts.rest : zero;
        const auto is_left = above == zero;
        least_above = lesser(least_above, above);
        least = lesser(least, rest);
        least_negated = lesser(least_negated, -rest);
        least_left = lesser(least_left, is_left ? rest : far);
        least_left_negated = lesser(least_left_negated, is_left ? -rest : far);
      };
      Vertex j = 0;
      for (; j + LANES <= width; j += LANES) add(j);
      if (j < width) add(width - LANES);
      return {least_of<LANES>(least_above), least_of<LANES>(least), -least_of<LANES>(least_negated),
              least_of<LANES>(least_left), -least_of<LANES>(least_left_negated)};
    }
  };

  struct AreWhole {
    template <int BYTES>
    static ALWAYS_INLINE bool run(const double* costs, double factor, Vertex width) {
      constexpr int LANES = BYTES / sizeof(double);
      Lanes<Count, LANES> others = all<Count, LANES>(0);
      const auto add = [&](Vertex j) __attribute__((always_inline)) {
        const Lanes<double, LANES> number = load<double, LANES>(costs + j) * factor;
        const Lanes<double, LANES> magnitude = number < 0 ? -number : number;
        const auto is_whole = ((magnitude + ROUNDS) - ROUNDS == magnitude) | (magnitude >= WHOLE);
        others |= ~(Lanes<Count, LANES>)is_whole;
      };
      Vertex j = 0;
      for (; j + LANES <= width; j += LANES) add(j);
      if (j < width) add(width - LANES);
      return any_of<LANES>(others) == 0;
    }
  };
};

// The rests of the pairs that are left, as the serial solvers scan rows.
class RestRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;

  RestRows(const CopiedRows<double>& costs, const std::vector<Tier>& tiers)
      : costs_(costs), tiers_(&tiers), rests_(2 * Count{costs.width()}) {}

  Vertex num_rows() const { return costs_.num_rows(); }
  Vertex num_columns() const { return costs_.num_columns(); }
  Vertex width() const { return costs_.width(); }
  const double* entries(Vertex row) {
    const double* costs = costs_.entries(row);
    if (tiers_->empty()) return costs;
    double* rests = rests_.data() + row % 2 * Count{width()};
    set_tiers_of(row);
    TierScan::find_rests(costs, of_row_.data(), static_cast<int>(of_row_.size()), width(), rests);
    return rests;
  }
  double at(Vertex row, Vertex column) const {
    set_tiers_of(row);
    return TierScan::find_rest(costs_.at(row, column), of_row_.data(), static_cast<int>(of_row_.size()), column);
  }

 private:
  void set_tiers_of(Vertex row) const {
    of_row_.clear();
    for (const Tier& tier : *tiers_) of_row_.push_back(TierScan::of_row(tier, row));
  }

  CopiedRows<double> costs_;
  const std::vector<Tier>* tiers_;
  std::vector<double> rests_;
  mutable std::vector<TierScan::OfRow> of_row_;
};

// Whether a solution stands as it is, was found anew in tiers, or has to be found in another way.
MIRRORED_ENUM(TierOutcome, stands, solved, open);

// Costs whose duals hide some of them, with a solution in which all rows have a pair.
class TierSolver {
 public:
  TierSolver(const CopiedRows<double>& costs, double lowest, double highest, const ShortestPathResult<double>& result,
             ShortestPathCounters& counters)
      : num_rows_(costs.num_rows()),
        num_columns_(costs.num_columns()),
        costs_(costs),
        rows_(costs, tiers_),
        lowest_(lowest),
        highest_(highest),
        result_(result),
        counters_(counters),
        must_(num_columns_, false) {}

  // In the end u and v of the solution are those of the last rests.
  TierOutcome solve() {
    while (!is_exact()) {
      const Added added = add_tier();
      if (added == Added::NO_VALUE) break;
      if (added == Added::NO_DUALS || !solve_rests()) return TierOutcome::open;
      if (!hides()) break;
    }
    return tiers_.empty() ? TierOutcome::stands : TierOutcome::solved;
  }

  const std::vector<Tier>& tiers() const { return tiers_; }

 private:
  static constexpr double FAR = Distance<double>::FAR;
  // See gmatch/problems/splits.py, and of rewards gmatch/assignment/tiers.py.
  static constexpr double ROOM = 32, REWARD = 8, MORE_REWARD = 16;
  static constexpr double EPSILON = std::numeric_limits<double>::epsilon(), ROUNDINGS = 64;

  double largest_dual() const {
    return std::max(largest_magnitude(result_.u, num_rows_), largest_magnitude(result_.v, num_columns_));
  }
  bool hides() const {
    return duals_hide_costs(num_rows_, largest_dual(), lowest_, highest_,
                            [&](Vertex row) { return rows_.at(row, result_.row_match[row]); });
  }

  // Whether all costs are multiples of a number that the rounding of the duals does not reach: then none is lost.
  bool is_exact() {
    const double lost = ROUNDINGS * EPSILON * (Count{num_rows_} + num_columns_) * largest_dual();
    const double factor = lost > 0 ? std::exp2(-1 - std::ilogb(lost)) : FAR;
    if (!(factor < FAR)) return lost == 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      if (!TierScan::are_whole(scan(row), factor, rows_.width())) return false;
    }
    return true;
  }

  enum class Added { NO_VALUE, NO_DUALS, TIER };

  // Most often all that is large is the same number, or nearly so.
  Added add_tier() {
    const Added added = try_value(std::max(-lowest_, highest_));
    if (added != Added::NO_VALUE) return added;
    for (const double value : values_above_gaps()) {
      const Added next = try_value(value);
      if (next != Added::NO_VALUE) return next;
    }
    return Added::NO_VALUE;
  }

  // Of the magnitudes above each gap that may leave room the least, from the top.
  std::vector<double> values_above_gaps() {
    constexpr int EXPONENTS = 1 << 11;  // of subnormal numbers one for all
    std::vector<double> least(EXPONENTS, FAR);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double* costs = scan(row);
      for (Vertex j = 0; j < num_columns_; ++j) {
        const double magnitude = std::abs(costs[j]);
        std::uint64_t bits;
        std::memcpy(&bits, &magnitude, sizeof bits);
        if (magnitude > 0 && magnitude < FAR) least[bits >> 52] = std::min(least[bits >> 52], magnitude);
      }
    }
    const double gap = std::log2(ROOM * (num_rows_ + 1.0)) - 1;
    std::vector<double> values;
    int upper = -1;
    for (int exponent = EXPONENTS - 1; exponent >= -1; --exponent) {
      if (exponent >= 0 && least[exponent] == FAR) continue;
      if (upper >= 0 && (exponent < 0 || upper - exponent > gap)) values.push_back(least[upper]);
      upper = exponent;
    }
    return values;
  }

  // Adds a tier of that value, if it leaves room for all rests and the duals in it are optimal.
  Added try_value(double value) {
    const bool may_be = value > 0 && 1 / value < FAR && std::max(-lowest_, highest_) / value <= TierScan::MOST_TIERS;
    if (!may_be) return Added::NO_VALUE;
    Tier tier{value, std::vector<double>(num_rows_), std::vector<double>(rows_.width())};
    find_duals(tier);
    const TierScan::Seen seen = look_at(tier);
    if (!(value > ROOM * (num_rows_ + 1.0) * std::max(-seen.least, seen.most))) return Added::NO_VALUE;
    tiers_.push_back(std::move(tier));
    bool is_optimal = seen.least_above >= 0;
    for (Vertex row = 0; row < num_rows_ && is_optimal; ++row) is_optimal = rows_.at(row, result_.row_match[row]) < FAR;
    if (!is_optimal) return Added::NO_DUALS;
    lowest_ = seen.least_left;
    highest_ = seen.most_left;
    for (Vertex j = 0; j < num_columns_; ++j) must_[j] = must_[j] || (num_rows_ < num_columns_ && tiers_.back().columns[j] < 0);
    return Added::TIER;
  }

  void find_duals(Tier& tier) const {
    std::vector<double> fractions{0, 1};  // of columns that stay free, too
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double times = result_.u[row] / tier.value;
      fractions.push_back(times - std::floor(times));
    }
    std::sort(fractions.begin(), fractions.end());
    double place = 0, width = 0;
    for (std::size_t k = 1; k < fractions.size(); ++k) {
      if (fractions[k] - fractions[k - 1] <= width) continue;
      width = fractions[k] - fractions[k - 1];
      place = (fractions[k] + fractions[k - 1]) / 2;
    }
    for (Vertex row = 0; row < num_rows_; ++row) tier.rows[row] = std::floor(result_.u[row] / tier.value + (1 - place));
    for (Vertex j = 0; j < num_columns_; ++j) tier.columns[j] = -std::floor((1 - place) - result_.v[j] / tier.value);
  }

  TierScan::Seen look_at(const Tier& tier) {
    TierScan::Seen seen;
    for (Vertex row = 0; row < num_rows_; ++row) {
      seen.add(TierScan::look(scan(row), TierScan::of_row(tier, row), rows_.width()));
    }
    return seen;
  }

  // The least rest of the pairs that are left, by an assignment that uses all columns that must be used. These start with a reward
  // that is as small as will do, for it costs duals some bits.
  bool solve_rests() {
    const bool has_must = std::any_of(must_.begin(), must_.end(), [](bool must) { return must; });
    const double span = std::max(-lowest_, highest_), most = span > 0 ? span : tiers_.back().value / (ROOM * (num_rows_ + 1.0));
    const double enough = 2 * (num_rows_ + 1.0) * most;
    if (!(enough * 2 * ROOM < FAR)) return false;  // sums could overflow
    double reward = 0;
    while (true) {
      if (has_must) {
        reward = std::exp2(std::ceil(std::log2(std::min(std::max(REWARD * most, MORE_REWARD * reward), enough))));
        for (Vertex j = 0; j < num_columns_; ++j) result_.v[j] = must_[j] ? reward : 0;
      }
      const ShortestPathOptions<double> options{lowest_, highest_, false, highest_, has_must};
      ShortestPathSolver<RestRows, double> solver(rows_, FAR, options, result_, counters_);
      if (solver.solve() < num_rows_) return false;  // only where costs have changed
      bool all_used = true;
      for (Vertex j = 0; j < num_columns_; ++j) all_used = all_used && !(must_[j] && result_.col_match[j] == NONE);
      if (all_used) return true;
      if (reward >= enough) return false;
    }
  }

  const double* scan(Vertex row) {
    ++counters_.rows_scanned;
    counters_.entries_read += num_columns_;
    poll_.spend(num_columns_);
    return rows_.entries(row);
  }

  const Vertex num_rows_, num_columns_;
  const CopiedRows<double>& costs_;
  std::vector<Tier> tiers_;
  RestRows rows_;
  double lowest_, highest_;  // of what is left
  const ShortestPathResult<double>& result_;
  ShortestPathCounters& counters_;
  Poll poll_;
  std::vector<bool> must_;  // [num_columns] which must be used
};
