// tiers.hpp: costs of several magnitudes, such as a big number that stands for "not" among ordinary costs, on one core.
//
// If a few rows must use the big number, duals are as large as it, and rounding hides the ordinary costs in them. So each cost
// is split into a whole multiple of the big number, its tier, and an exact rest, as gmatch/assignment/tiers.py says:
//
//   cost = value * tier + rest,    with value > 32 * (rows + 1) * |rest| for all pairs
//
// Optimal duals of the tiers need no search: they are read off the known duals of the costs. Numbers that add up to nearly
// whole numbers still do if all are rounded at one place, u down and v up: with x = u / value and y = -v / value
//
//   u + v <= cost   says that   x <= tier + y + rest / value,   so that   floor(x + shift) <= tier + floor(y + shift)
//
// and both are equal for a pair, if x and y lie on one side of the place; their fractions differ by less than
// 1 / (32 * (rows + 1)) for a pair. There are at most as many fractions as rows, and 0, so one of the gaps between them is wide
// enough for the place. A pass over the matrix proves the resulting duals, and tells which pairs remain: pairs whose tier is the
// tier of their duals. Among these, shortest paths find the least rest. Rests may be split again. Rests are not stored, but made
// anew for each scan of a row, in the cache.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "costs/magnitudes.hpp"
#include "serial/dual_repair.hpp"
#include "serial/exact/lowered_costs.hpp"
#include "serial/exact/slack_search.hpp"
#include "serial/exact/tier_rows.hpp"
#include "serial/rows/rows.hpp"
#include "serial/rows/short_vector.hpp"
#include "serial/shortest_path.hpp"

// Whether a solution stands as it is, was found anew in tiers, was refined by a search of its slacks, or must be found in another
// way.
MIRRORED_ENUM(TierOutcome, stands, solved, refined, open);

// Costs whose duals hide some of them, with a solution in which all rows have a pair.
class TierSolver {
 public:
  // `numbers`, if given, are all numbers of the matrix. Each is listed as often as it stands there, or at least twice.
  TierSolver(CopiedRows<double> costs, bool has_limit, double lowest, double highest, const ShortestPathResult<double>& result,
             ShortestPathCounters& counters, const std::vector<double>* numbers = nullptr)
      : num_rows_(costs.num_rows()),
        num_columns_(costs.num_columns()),
        tiers_(&memory_),
        has_limit_(has_limit),
        rows_(std::move(costs), tiers_),
        lowest_(lowest),
        highest_(highest),
        numbers_(numbers),
        result_(result),
        counters_(counters),
        pair_rests_(num_rows_, &memory_) {
    find_pair_rests();
    find_largest_dual();
  }

  // At the end u and v of the solution are the duals of the last rests.
  TierOutcome solve() {
    const auto magnitude_of = [&](Vertex row) { return std::abs(pair_rests_[row]); };
    if (tiers_.empty() && outweigh_duals(num_rows_, largest_dual_, magnitude_of)) {
      if (!has_range_) find_range();
      if (exponents_above_gaps() == 0) return TierOutcome::stands;  // no number can be split off
    }
    while (!is_exact()) {
      const Added added = add_tier();
      if (added == Added::NO_VALUE) {
        const double sum = sum_of_pairs();
        if (is_proven(sum)) break;
        if (refine(sum)) return tiers_.empty() ? TierOutcome::refined : TierOutcome::solved;
        if (tiers_.empty()) unproven_sum_ = sum;
        return TierOutcome::open;
      }
      if (added == Added::NO_DUALS) return TierOutcome::open;
      if (!hides()) break;
    }
    return tiers_.empty() ? TierOutcome::stands : TierOutcome::solved;
  }

  // As solve, from the solution of `lowered`: these costs with a smaller number in the place of the largest. If the outcome is
  // open, that solution is none of these costs.
  TierOutcome solve_lowered(const LoweredCosts& lowered) {
    Tier tier = tier_of(lowered.value());
    find_duals(tier, lowered.unit());
    if (lowered.is_solution_of_costs() && is_all_zero(tier)) return hides() ? solve() : TierOutcome::stands;
    if (add_lowered(tier, lowered.unit()) != Added::TIER) return TierOutcome::open;
    return hides() ? solve() : TierOutcome::solved;
  }

  // What the pairs cost in sum, without numbers that stand for "not", if all is open because the costs have no tiers and v do not
  // prove these pairs cheapest. Otherwise below 0.
  double unproven_sum() const { return unproven_sum_; }
  const ShortVector<Tier>& tiers() const { return tiers_; }
  RestRows& rests() { return rows_; }
  std::vector<bool> must_be_used() const {
    std::vector<bool> must(num_columns_);
    for (Vertex j = 0; j < num_columns_; ++j) must[j] = num_rows_ < num_columns_ && !may_stay_free(j);
    return must;
  }

 private:
  static constexpr double FAR = Distance<double>::FAR;
  static constexpr double ROOM = LoweredCosts::ROOM;
  static constexpr double EPSILON = std::numeric_limits<double>::epsilon(), ROUNDINGS = 64;
  // Three differences of numbers of a scale, each rounded by half a unit of twice the scale; a strict proof allows four.
  static constexpr double CONTRADICTS = 3 * EPSILON;
  // The gap that a proof may leave, as a part of a sum: as in gmatch/assignment/exact.py.
  static constexpr double LAST_DIGITS = 4 * EPSILON;

  // The largest dual of the present solution.
  void find_largest_dual() {
    largest_dual_ = std::max(largest_magnitude(result_.u, num_rows_), largest_magnitude(result_.v, num_columns_));
  }
  bool may_stay_free(Vertex column) const {
    return std::all_of(tiers_.begin(), tiers_.end(), [=](const Tier& tier) { return tier.columns[column] >= 0; });
  }
  void find_pair_rests() {
    for (Vertex row = 0; row < num_rows_; ++row) pair_rests_[row] = rows_.at(row, result_.row_match[row]);
  }

  // Whether duals hide a cost. Most often they do not, which the pairs tell.
  bool hides() {
    const double within =
        hiding_if_negative_within(num_rows_, largest_dual_, lowest_, [&](Vertex row) { return pair_rests_[row]; });
    if (within == IN_ANY_CASE) return true;
    for (Vertex row = 0; row < num_lines() && within > 0; ++row) {
      const Line line = this->line(row);
      if (TierScan::has_negative_within(line.entries, within, line.length)) return true;
    }
    return false;
  }
  // A line of numbers, for questions in which columns do not matter: a row, or all numbers of the matrix if they are known.
  struct Line {
    const double* entries;
    Vertex length;
  };
  bool knows_numbers() const { return numbers_ != nullptr && tiers_.empty(); }
  Vertex num_lines() const { return knows_numbers() ? 1 : num_rows_; }
  Line line(Vertex row) {
    if (!knows_numbers()) return {scan(row), rows_.width()};
    poll_.spend(static_cast<Count>(numbers_->size()));
    return {numbers_->data(), static_cast<Vertex>(numbers_->size())};
  }
  // The rests of all pairs, also of pairs that the tiers leave out.
  Line line_of_all(Vertex row) {
    if (knows_numbers()) return line(row);
    note_scan();
    return {rows_.all_rests(row), num_columns_};
  }
  void find_range() {
    lowest_ = FAR;
    highest_ = -FAR;
    for (Vertex row = 0; row < num_lines(); ++row) {
      const Line line = this->line(row);
      const auto range = RowScan<double, double, false>::find_range(line.entries, line.length);
      lowest_ = std::min(lowest_, range.least);
      highest_ = std::max(highest_, range.greatest);
    }
    has_range_ = true;
  }

  // What the pairs cost in sum, without their signs and without numbers that stand for "not": see sum_of_pairs in
  // gmatch/assignment/exact.py.
  double sum_of_pairs() {
    std::vector<double> numbers(num_rows_);
    std::transform(pair_rests_.begin(), pair_rests_.end(), numbers.begin(), [](double rest) { return std::abs(rest); });
    std::sort(numbers.begin(), numbers.end(), std::greater<>());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const auto has_gap = [&](Count k) { return leaves_room(numbers[k], numbers[k + 1]); };
    Count candidates = static_cast<Count>(numbers.size()) - 1;  // down to the last gap
    while (candidates > 0 && !has_gap(candidates - 1)) --candidates;
    double least_for_not = FAR;
    // A pass counts GROWTH times as many numbers as the passes before it: the first number that stands once ends this.
    constexpr Count GROWTH = 16;
    for (Count begin = 0, end = 0; begin < candidates; begin = end) {
      end = std::min(candidates, GROWTH * begin + 1);
      const std::vector<Count> found = times_found(numbers.data() + begin, numbers.data() + end);
      for (Count k = begin; k < end; ++k) {
        if (found[k - begin] < 2) candidates = 0;
        if (candidates > 0 && has_gap(k)) least_for_not = numbers[k];
      }
    }
    double sum = 0;
    for (const double rest : pair_rests_) sum += std::abs(rest) < least_for_not ? std::abs(rest) : 0;
    return sum;
  }
  // In how many entries each of some magnitudes stands. The magnitudes fall. Rows are read until each has been found twice.
  // Pairs that the tiers leave out count, too.
  std::vector<Count> times_found(const double* begin, const double* end) {
    std::vector<Count> found(end - begin);
    Count missing = end - begin;
    for (Vertex row = 0; row < num_lines() && missing > 0; ++row) {
      const Line rests = line_of_all(row);
      for (Vertex j = 0; j < rests.length; ++j) {
        const double magnitude = std::abs(rests.entries[j]);
        if (!(magnitude >= end[-1] && magnitude <= begin[0])) continue;
        const double* const at = std::lower_bound(begin, end, magnitude, std::greater<>());
        if (*at == magnitude) missing -= ++found[at - begin] == 2;
      }
    }
    return found;
  }

  // Whether all costs are multiples of a number above the rounding of the duals: then no digit is lost.
  bool is_exact() {
    const double lost = ROUNDINGS * EPSILON * (Count{num_rows_} + num_columns_) * largest_dual_;
    const double factor = lost > 0 ? std::exp2(-1 - std::ilogb(lost)) : FAR;
    if (!(factor < FAR)) return lost == 0;
    for (Vertex row = 0; row < num_lines(); ++row) {
      const Line line = this->line(row);
      if (!TierScan::are_whole(line.entries, factor, line.length)) return false;
    }
    return true;
  }

  // Makes the solution the cheapest up to the last digits of the sum, by a search of its slacks. There is no search if there is a
  // limit: duals of rows that stay free round by more than small costs allow (benchmarks/log/sentinels.md, "Slacks of a matrix
  // are searched in the matrix"). There is none if there are more than twice as many columns as rows, either: the slacks would
  // take more than twice the memory of the costs.
  bool refine(double sum) {
    if (has_limit_ || num_columns_ / 2 > num_rows_) return false;
    std::vector<bool> may(num_columns_);
    for (Vertex j = 0; j < num_columns_; ++j) may[j] = may_stay_free(j);
    return SlackSearch<RestRows>(rows_, may, result_, counters_).solve(LAST_DIGITS * sum);
  }

  // Whether v prove the pairs the cheapest up to the last digits of the sum of what they cost: is_proven of
  // gmatch/assignment/exact.py, in numbers of twice the digits. The proof cannot fail unless a dual is more than the sum.
  bool is_proven(double sum) {
    if (largest_dual_ <= sum) return true;
    const double* v = result_.v;
    double gap = 0;
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double* rests = scan(row);
      const auto of_pair = TierScan::difference<1>(pair_rests_[row], v[result_.row_match[row]]);
      if (!(std::abs(of_pair.rounded) < FAR)) return false;  // another thread has changed the costs
      gap += TierScan::largest_gap(rests, v, of_pair, num_columns_);
    }
    for (Vertex j = 0; j < num_columns_ && num_rows_ < num_columns_; ++j) {
      if (result_.col_match[j] == NONE) gap += std::abs(v[j]);
      if (may_stay_free(j)) gap += std::max(v[j], 0.0);
    }
    return gap <= LAST_DIGITS * sum;
  }
  enum class Added { NO_VALUE, NO_DUALS, TIER };

  static bool is_all_zero(const Tier& tier) {
    const auto is_zero = [](double times) { return times == 0; };
    return std::all_of(tier.rows.begin(), tier.rows.end(), is_zero) &&
           std::all_of(tier.columns.begin(), tier.columns.end(), is_zero);
  }

  // Adds a tier. Most often all large costs are one number, or nearly so.
  Added add_tier() {
    if (!has_range_) find_range();
    const Added added = try_value(std::max(-lowest_, highest_));
    if (added != Added::NO_VALUE) return added;
    for (const double value : values_above_gaps()) {
      const Added next = try_value(value);
      if (next != Added::NO_VALUE) return next;
    }
    return Added::NO_VALUE;
  }

  // The exponents of magnitudes that have a gap below them, which may leave room. They are bits, from the largest exponent on.
  // Magnitudes that are too small beside the largest are left out.
  TierScan::Exponents exponents_above_gaps() {
    constexpr TierScan::Exponents LARGE = 2 * static_cast<TierScan::Exponents>(TierScan::MOST_TIERS) - 1;
    const Count top = TierScan::exponent_of(std::max(-lowest_, highest_));
    const auto gap = static_cast<int>(std::log2(ROOM * (num_rows_ + 1.0)) - 1);
    TierScan::Exponents seen = 0, above = LARGE;  // a gap so far
    for (Vertex row = 0; row < num_lines() && above != 0; ++row) {
      const Line line = this->line(row);
      seen |= TierScan::find_exponents(line.entries, top, line.length);
      for (int k = 1; k <= gap; ++k) above &= ~(seen >> k);
    }
    return above & seen;
  }
  // For each gap between magnitudes that may leave room: the least magnitude above it, the largest first.
  std::vector<double> values_above_gaps() {
    const Count top = TierScan::exponent_of(std::max(-lowest_, highest_));
    std::vector<double> values;
    for (TierScan::Exponents above = exponents_above_gaps(); above != 0; above &= above - 1) {
      values.push_back(least_of_exponent(top - first_bit(above)));
    }
    return values;
  }
  double least_of_exponent(Count exponent) {
    double least = FAR;
    for (Vertex row = 0; row < num_lines(); ++row) {
      const Line line = this->line(row);
      least = std::min(least, TierScan::least_of_exponent(line.entries, exponent, line.length));
    }
    return least;
  }

  Tier tier_of(double value) { return {value, numbers(num_rows_), numbers(rows_.width())}; }
  ShortVector<double> numbers(Vertex length) { return ShortVector<double>(length, &memory_); }

  bool leaves_room(double value, double largest_rest) const { return value > ROOM * (num_rows_ + 1.0) * largest_rest; }

  // Adds a tier of this value and solves the rests, if the value leaves room for all rests and has optimal duals.
  Added try_value(double value) {
    const bool may_be = value > 0 && 1 / value < FAR && std::max(-lowest_, highest_) / value <= TierScan::MOST_TIERS;
    if (!may_be) return Added::NO_VALUE;
    // Most values that leave no room leave none in the first row. Duals whose rounding is more than the differences of rests tell
    // nothing about rests. If the rests of the first row are that small, all rests may be.
    const double rounding = EPSILON * largest_dual_;
    double largest = 0;
    for (Vertex row = 0; row < num_lines() && (row == 0 || rounding > largest); ++row) {
      const Line line = this->line(row);
      largest = std::max(largest, TierScan::largest_rest(line.entries, value, line.length));
      if (!leaves_room(value, largest)) return Added::NO_VALUE;
    }
    Tier tier = tier_of(value);
    TierScan::Seen seen;
    Added added = rounding > largest ? Added::NO_DUALS : try_duals(tier, value, seen);
    if (added == Added::NO_DUALS) {
      // The least number that no sum of rests outweighs is rounded less.
      const double less = LoweredCosts::least_unit(num_rows_, std::max(largest, seen.largest()));
      if (less > 0 && less < value && solve_with(tier, less)) added = try_duals(tier, less, seen);
    }
    return added;
  }

  // Adds a tier, from duals of costs in which `unit` stands for the value.
  Added try_duals(Tier& tier, double unit, TierScan::Seen& seen) {
    find_duals(tier, unit);
    return add_by_duals(tier, unit, seen);
  }
  Added add_lowered(Tier& tier, double unit) {
    TierScan::Seen seen;
    return add_by_duals(tier, unit, seen);
  }
  Added add_by_duals(Tier& tier, double unit, TierScan::Seen& seen) {
    DualRepair<RestRows> repair = repair_of(tier, unit);
    ShortVector<double> rests = numbers(rows_.width()), pair_rests = numbers(num_rows_);
    TierScan::SeenInLanes in_lanes;
    TierScan::OfRow of_row = TierScan::of_row(tier, 0);
    bool are_left = true;  // all pairs of the solution
    for (Vertex row = 0; row < num_rows_; ++row) {
      of_row.row = tier.rows[row];
      const double least = TierScan::look(scan(row), of_row, repair.v(), rows_.width(), rests.data(), in_lanes);
      const double of_pair = rests[result_.row_match[row]];
      are_left = are_left && of_pair < FAR;
      pair_rests[row] = of_pair;
      if (are_left) repair.look_at(row, rests.data(), least);
    }
    seen = in_lanes.of_all();
    if (!leaves_room(tier.value, seen.largest())) return Added::NO_VALUE;
    const bool are_optimal = are_left && seen.least_above >= 0;
    if (!are_optimal) return Added::NO_DUALS;
    tiers_.push_back(std::move(tier));
    if (!repair.finish([&](Vertex row) { return scan(row); })) {
      tier = std::move(tiers_.back());
      tiers_.pop_back();
      return Added::NO_DUALS;
    }
    std::copy_n(repair.v(), num_columns_, result_.v);
    pair_rests_ = std::move(pair_rests);
    for (Vertex row = 0; row < num_rows_; ++row) result_.u[row] = pair_rests_[row] - result_.v[result_.row_match[row]];
    find_largest_dual();
    lowest_ = seen.least;
    has_range_ = false;
    return Added::TIER;
  }

  bool solve_with(const Tier& tier, double value) {
    const double times = std::max(-lowest_, highest_) / tier.value + 1;
    const ShortestPathOptions<double> options{-times * value, times * value, false};
    ShortestPathSolver<ReplacedRows, double> solver(ReplacedRows(rows_, tier, value), FAR, options, result_, counters_);
    if (solver.solve() != num_rows_ || !uses_what_must_be()) return false;
    find_pair_rests();
    find_largest_dual();
    return true;
  }

  // The solver does not know which columns the tiers say must be used, and may have left one free.
  bool uses_what_must_be() const {
    const std::vector<bool> must = must_be_used();
    for (Vertex j = 0; j < num_columns_; ++j) {
      if (must[j] && result_.col_match[j] == NONE) return false;
    }
    return true;
  }

  // The duals of rests: the present duals less the tier. Columns whose duals are below 0 in a tier must be used.
  DualRepair<RestRows> repair_of(const Tier& tier, double unit) {
    // A v within the rounding of 0 is most often 0: the v of free columns, and of columns that are as good.
    const double rounding = ROUNDINGS * EPSILON * largest_dual_;
    ShortVector<double> v = numbers(rows_.width());
    for (Vertex j = 0; j < num_columns_; ++j) {
      const double rest = TierScan::rest_of_dual(result_.v[j], unit, tier.columns[j]), magnitude = std::abs(rest);
      v[j] = rounding < magnitude && magnitude < FAR ? rest : 0;
    }
    gather(v, unit);
    ShortVector<char> may_stay_free(num_rows_ < num_columns_ ? num_columns_ : 0, &memory_);
    for (std::size_t j = 0; j < may_stay_free.size(); ++j) {
      const bool may = tier.columns[j] >= 0 && this->may_stay_free(static_cast<Vertex>(j));
      may_stay_free[j] = may;
      v[j] = may ? std::min(v[j], 0.0) : v[j];
    }
    double scale = largest_magnitude(v.data(), num_columns_);
    TierScan::OfRow of_row = TierScan::of_row(tier, 0);
    for (Vertex row = 0; row < num_rows_; ++row) {
      of_row.row = tier.rows[row];
      const double rest = TierScan::find_rest(pair_rests_[row], &of_row, 1, result_.row_match[row]);
      if (rest < FAR) scale = std::max(scale, std::abs(rest));
    }
    const double tolerance = CONTRADICTS * scale;
    return {num_rows_,    num_columns_,            result_.row_match, result_.col_match,
            std::move(v), std::move(may_stay_free), tolerance};
  }

  // Some v may lie anywhere between two multiples, since no pair ties them to other v, as after an auction. Tied v lie near each
  // other. Loose ones are lowered to 0, or raised: no v needs to be farther from it than rests are.
  void gather(ShortVector<double>& v, double unit) {
    if (largest_magnitude(v.data(), num_columns_) < unit / ROOM) return;
    ShortVector<Vertex> order(num_columns_, &memory_);
    for (Vertex j = 0; j < num_columns_; ++j) order[j] = j;
    std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return v[a] > v[b]; });
    const double apart = 2 * unit / (ROOM * (num_rows_ + 1.0));
    for (Vertex begin = 0, end; begin < num_columns_; begin = end) {
      bool has_zero = false;
      double before = v[order[begin]];
      const double most = before;
      for (end = begin; end < num_columns_ && before - v[order[end]] <= apart; ++end) {
        before = v[order[end]];
        has_zero = has_zero || std::abs(before) <= apart;
      }
      for (Vertex k = begin; k < end && !has_zero; ++k) v[order[k]] -= most;
    }
  }

  void find_duals(Tier& tier, double unit) {
    const double shift = 1 - place_without_fractions(unit);
    TierScan::round_down(result_.u, num_rows_, unit, shift, 1, tier.rows.data());
    TierScan::round_down(result_.v, num_columns_, unit, shift, -1, tier.columns.data());
  }

  // The middle of the widest gap between 0 (for free columns), the fractions of u / unit, and 1. [0, 1] has as many shares as
  // there are gaps, so the widest gap lies between numbers of different shares.
  double place_without_fractions(double unit) {
    const Vertex shares = num_rows_ + 1;
    ShortVector<double> fractions = numbers(2 * shares);
    double *const least = fractions.data(), *const most = least + shares;
    std::fill_n(least, shares, 1);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const double times = result_.u[row] / unit, over = times - TierScan::nearest_whole(times);
      const double fraction = over < 0 ? over + 1 : over;
      if (!(fraction >= 0)) continue;  // changed costs may have left NaN
      const Vertex share = std::min(static_cast<Vertex>(fraction * shares), num_rows_);
      least[share] = std::min(least[share], fraction);
      most[share] = std::max(most[share], fraction);
    }
    double place = 0, width = 0, before = 0;
    const auto end_gap = [&](double fraction) {
      if (fraction - before > width) {
        width = fraction - before;
        place = (fraction + before) / 2;
      }
    };
    for (Vertex share = 0; share < shares; ++share) {
      if (least[share] == 1) continue;
      end_gap(least[share]);
      before = most[share];
    }
    end_gap(1);
    return place;
  }

  const double* scan(Vertex row) {
    note_scan();
    return rows_.entries(row);
  }
  void note_scan() {
    ++counters_.rows_scanned;
    counters_.entries_read += num_columns_;
    poll_.spend(num_columns_);
  }

  const Vertex num_rows_, num_columns_;
  ShortMemory memory_;
  ShortVector<Tier> tiers_;
  const bool has_limit_;
  RestRows rows_;
  double lowest_, highest_;  // of the last rests; if has_range_ is false, none is below the lowest
  bool has_range_ = true;
  const std::vector<double>* const numbers_;  // all numbers of the matrix, if they are known
  const ShortestPathResult<double>& result_;
  ShortestPathCounters& counters_;
  ShortVector<double> pair_rests_;  // [num_rows] the last rests of the present pairs
  double largest_dual_ = 0;
  double unproven_sum_ = -1;
  Poll poll_;
};
