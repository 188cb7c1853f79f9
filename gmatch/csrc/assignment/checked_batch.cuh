// checked_batch.cuh: many small assignment problems on a GPU, whose costs nobody has read. The block that solves a problem
// also checks it, so the host need not wait. The host solves the problems that the GPU leaves.
#pragma once
#include "assignment/batch.cuh"
#include "costs/hidden.cuh"
#include "costs/inspection.cuh"

// Cells that a team shares while it checks a problem.
struct BatchCheck {
  CostInspection seen;
  double largest_dual, greatest_cost;  // magnitudes; the cost is one of a pair
  Count hidden, greatest, nothing;  // pairs whose costs the duals hide, that cost the most, that cost nothing
  Count gaps;      // hidden pairs below a number that stands for "not"
  Count negative;  // costs so near to 0 that the duals hide them
};

// SPREADS and LARGE_ON_GPU of gmatch/problems/limits.py, which has the rules that the next functions apply.
constexpr int SPREADS = 32;
constexpr double LARGE_ON_GPU = 0x1p20;

// The finite costs of a problem in the minimisation form, cut off at the limit; 0 and 0 if there are none.
template <class Dual>
struct CostRange {
  Dual lowest, highest;
};

DEVICE double negated(double number) { return -number; }
// 64 bits do not hold the negation of the lowest number. The highest number stands for it: sums_fit refuses both.
DEVICE long long negated(long long number) {
  constexpr long long HIGHEST = 0x7fffffffffffffff;
  return number < -HIGHEST ? HIGHEST : -number;
}

template <class Dual>
DEVICE CostRange<Dual> range_of(const CostInspection& seen, bool maximize, Dual limit) {
  const Count order_of_highest = ~seen.minus_highest;
  const bool forbids = (maximize ? seen.minus_infs : seen.plus_infs) != 0, is_limited = limit != beyond_all(limit);
  CostRange<Dual> range{};
  if (seen.lowest <= order_of_highest) {
    const Dual lowest = number_in_order(seen.lowest, Dual{}), highest = number_in_order(order_of_highest, Dual{});
    range = maximize ? CostRange<Dual>{negated(highest), negated(lowest)} : CostRange<Dual>{lowest, highest};
  }
  if (is_limited && (forbids || limit < range.highest)) range.highest = limit;
  if (is_limited && limit < range.lowest) range.lowest = limit;
  return range;
}

DEVICE bool sums_fit(const CostRange<double>& range, Count pairs) {
  const double spread = range.highest - range.lowest;
  const double largest = -range.lowest > range.highest ? -range.lowest : range.highest;
  return (SPREADS + 8.0 * pairs) * spread + pairs * largest < beyond_all(spread);
}
DEVICE bool sums_fit(const CostRange<long long>& range, Count) {
  using Magnitude = unsigned long long;
  constexpr Magnitude MOST = 0x7fffffffffffffff;
  const auto lowest = static_cast<Magnitude>(range.lowest), highest = static_cast<Magnitude>(range.highest);
  const Magnitude spread = highest - lowest, below = range.lowest < 0 ? 0 - lowest : 0;
  const Magnitude above = range.highest > 0 ? highest : 0, largest = below > above ? below : above;
  return spread <= MOST / SPREADS && SPREADS * spread + largest < MOST;
}

// Whether all entries of a problem are costs, and sums of them stay in range. All threads get the answer, and the range.
template <class Team, class Cost>
DEVICE bool check_costs(Team& team, const DenseCosts<Cost>& costs, BatchCheck& check,
                        CostRange<typename DenseCosts<Cost>::Dual>& range) {
  using Dual = typename DenseCosts<Cost>::Dual;
  constexpr bool IS_WHOLE = Dual(1) / 2 == 0;
  if (IS_WHOLE && sizeof(Cost) < sizeof(Dual)) return true;  // all numbers are costs, and the host knows their range
  Entries<Cost> entries{costs.costs, costs.num_rows, costs.num_columns, costs.row_stride, costs.column_stride};
  if (entries.row_stride < entries.column_stride) {  // read in the order of the memory
    entries = {costs.costs, costs.num_columns, costs.num_rows, costs.column_stride, costs.row_stride};
  }
  NoExpensiveEntries nobody_asks;
  inspect_costs(team, entries, check.seen, nobody_asks);
  team.sync();
  const CostInspection seen = check.seen;
  if (seen.nans != 0 || (costs.maximize ? seen.plus_infs : seen.minus_infs) != 0) return false;
  range = range_of(seen, costs.maximize, costs.limit);
  return sums_fit(range, costs.num_rows);
}

// Whether a magnitude stands in more than one entry.
template <class Cost>
DEVICE bool is_repeated(const DenseCosts<Cost>& costs, double magnitude) {
  Count found = 0;
  for (Vertex row = 0; row < costs.num_rows && found < 2; ++row) {
    for (Vertex column = 0; column < costs.num_columns && found < 2; ++column) {
      const double cost = costs.at(row, column);
      found += cost == magnitude || cost == -magnitude;
    }
  }
  return found > 1;
}

// Whether the duals of a problem, which was solved, hide what its pairs cost. All threads get the answer.
template <class Team, class Cost>
DEVICE bool duals_hide_costs(Team&, const Batch<Cost>&, int, Count, const CostRange<long long>&, BatchCheck&) {
  return false;
}
template <class Team, class Cost>
DEVICE bool duals_hide_costs(Team& team, const Batch<Cost>& batch, int p, Count pairs, const CostRange<double>& range,
                             BatchCheck& check) {
  const double most = -range.lowest > range.highest ? -range.lowest : range.highest;
  if (most < LARGE_ON_GPU) return false;
  const auto magnitude = [](double number) { return number < 0 ? -number : number; };
  if (team.rank() == 0) {
    check.largest_dual = check.greatest_cost = 0;
    check.hidden = check.greatest = check.nothing = check.gaps = check.negative = 0;
  }
  team.sync();
  const Count rows = p * static_cast<Count>(batch.most_rows), columns = p * static_cast<Count>(batch.most_columns);
  double largest = 0, greatest_cost = 0;
  const auto look_at = [&](double& most_here, double number) {
    most_here = magnitude(number) > most_here ? magnitude(number) : most_here;
  };
  const auto cost_of = [&](Count row) { return static_cast<double>(batch.pair_costs[rows + row]); };
  team.each(batch.most_rows, [&](Count row) {
    look_at(largest, batch.u[rows + row]);
    if (batch.row_match[rows + row] != NONE) look_at(greatest_cost, cost_of(row));
  });
  team.each(batch.most_columns, [&](Count column) { look_at(largest, batch.v[columns + column]); });
  team.max_all(&check.largest_dual, largest);
  team.max_all(&check.greatest_cost, greatest_cost);
  team.sync();
  const double hidden_below = team.read(&check.largest_dual) / (HIDES * (pairs + 1.0));
  // A hidden pair is none of the greatest.
  const double great = team.read(&check.greatest_cost) / 2, greatest_from = great < hidden_below ? hidden_below : great;
  Count hidden = 0, greatest = 0, nothing = 0;
  team.each(batch.most_rows, [&](Count row) {
    if (batch.row_match[rows + row] == NONE) return;
    const double cost = magnitude(cost_of(row));
    hidden += cost < hidden_below && cost > 0;
    greatest += cost >= greatest_from;
    nothing += cost == 0;
  });
  team.add_all(&check.hidden, hidden);
  team.add_all(&check.greatest, greatest);
  team.add_all(&check.nothing, nothing);
  team.sync();
  if (too_many_hidden(pairs, check.hidden, check.greatest, check.nothing)) return true;
  const DenseCosts<Cost> costs = batch.costs(p);
  if (check.hidden > 0) {
    Count gaps = 0;
    team.each(batch.most_rows, [&](Count row) {
      const double cost = magnitude(cost_of(row));
      if (batch.row_match[rows + row] == NONE || !(cost > 0 && cost < hidden_below)) return;
      double next = beyond_all(cost);
      for (Count other = 0; other < batch.most_rows; ++other) {
        const double above = magnitude(cost_of(other));
        if (batch.row_match[rows + other] != NONE && above > cost && above < next) next = above;
      }
      gaps += next < beyond_all(cost) && stands_for_not(next, cost, pairs) && is_repeated(costs, next);
    });
    team.add_all(&check.gaps, gaps);
    team.sync();
    if (check.gaps > 0) return true;
  }
  if (range.lowest >= 0 || check.nothing == 0) return false;
  // Pairs that cost 0 count as hidden if there are negative costs as near to 0: see costs/magnitudes.hpp.
  Count negative = 0;
  team.each(static_cast<Count>(costs.num_rows) * costs.num_columns, [&](Count place) {
    const double cost = costs.at(static_cast<Vertex>(place / costs.num_columns), static_cast<Vertex>(place % costs.num_columns));
    negative += -hidden_below < cost && cost < 0;
  });
  team.add_all(&check.negative, negative);
  team.sync();
  return check.negative > 0;
}

// Leaves problem p to the host: its size is 0, and nothing is matched. The costs of its pairs are NaN if they are floats, so that
// nobody takes their sum for the cost of an assignment.
template <class Team, class Cost>
DEVICE void leave_problem(const Team& team, const Batch<Cost>& batch, int p, const DenseCosts<Cost>& costs) {
  using Dual = typename DenseCosts<Cost>::Dual;
  const Count rows = p * static_cast<Count>(batch.most_rows), columns = p * static_cast<Count>(batch.most_columns);
  const Vertex* no_mates = nullptr;
  const Dual* no_duals = nullptr;
  note_side(team, 0, batch.most_rows, no_mates, no_duals, batch.row_match + rows, batch.u + rows);
  note_side(team, 0, batch.most_columns, no_mates, no_duals, batch.col_match + columns, batch.v + columns);
  const Count height = batch.is_turned(p) ? costs.num_columns : costs.num_rows;
  const Dual infinite = costs.infinite();
  team.each(batch.most_rows, [&](Count row) {
    batch.pair_costs[rows + row] = row < height ? static_cast<Cost>(infinite - infinite) : 0;
  });
  if (team.rank() == 0) batch.reports[p].size = 0;
}

// Drops the pairs of problem p that cost more than the limit. The report of the problem counts them.
template <class Team, class Cost>
DEVICE void drop_pairs_above_limit(Team& team, const Batch<Cost>& batch, int p) {
  using Dual = typename DenseCosts<Cost>::Dual;
  Vertex* row_match = batch.row_match + p * static_cast<Count>(batch.most_rows);
  Vertex* col_match = batch.col_match + p * static_cast<Count>(batch.most_columns);
  Cost* pair_costs = batch.pair_costs + p * static_cast<Count>(batch.most_rows);
  Count dropped = 0;
  team.each(batch.most_rows, [&](Count row) {
    const Vertex column = row_match[row];
    if (column == NONE) return;
    const Dual price = pair_costs[row];
    if ((batch.maximize ? negated(price) : price) <= batch.limit) return;
    row_match[row] = col_match[column] = NONE;
    pair_costs[row] = 0;
    ++dropped;
  });
  team.add_all(&batch.reports[p].dropped, dropped);
}

// Checks and solves problem p. Leaves it to the host in four cases: an entry is no cost, sums could overflow, forbidden pairs
// leave no assignment, or duals hide costs.
template <class Edges, class Team, class Cost>
DEVICE void check_and_assign_problem(Team& team, const Batch<Cost>& batch, int p, char* memory) {
  SHARED_BY_BLOCK(BatchCheck, check);
  const DenseCosts<Cost> costs = batch.costs(p);
  CostRange<typename DenseCosts<Cost>::Dual> range{};
  if (!check_costs(team, costs, check, range)) {
    if (team.rank() == 0) batch.reports[p] = Report{};
    leave_problem(team, batch, p, costs);
    return;
  }
  assign_problem<Edges>(team, batch, p, memory);
  const bool is_complete = batch.reports[p].size >= costs.num_rows;
  if (is_complete && !duals_hide_costs(team, batch, p, costs.num_rows, range, check)) {
    if (batch.drops) drop_pairs_above_limit(team, batch, p);
    return;
  }
  team.sync();  // all threads have read the size before it becomes 0
  leave_problem(team, batch, p, costs);
}
