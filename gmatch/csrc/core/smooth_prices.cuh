// smooth_prices.cuh: prices of a core at which the shares of each column add up to one row.
//
// If near rows want the same columns, an auction leaves rows free in one region and columns in another. Then the prices of whole
// regions are wrong, and a search mends them path by path. Here all prices are mended at once. Each row gives a share of itself
// to each of its columns, in proportion to exp(-(cost - v) / width). A column whose shares add up to less than one row gets a
// higher v, and a column whose shares add up to more a lower v: v - width * log(sum). That is a step of Sinkhorn's method for the
// problem with entropy. The optimal v of that problem are unique up to one number that all v may gain. They lie about in the
// middle of the v that are optimal without entropy.
//
// Steps have momentum, so that about sqrt(n) of them take a price across a region. The first step that goes downhill is the last.
//
// Cuturi, "Sinkhorn distances: lightspeed computation of optimal transport", NIPS 26 (2013); Nesterov, "A method of solving a
// convex programming problem with convergence rate O(1/k^2)", Soviet Mathematics Doklady 27 (1983).
#pragma once
#include "core/core.cuh"

template <class Stored>
struct SmoothPrices {
  using Dual = typename Core<Stored>::Dual;

  // The width is 2^WIDTH spreads of a row. With 2^-4 a search of 4,000 points in the plane has 12 phases, with 2^-5 10, with 2^-6
  // to 2^-8 5, and from v = 0 13: benchmarks/log/core_gpu.md, "Prices are smoothed where rows want the same columns".
  static constexpr int WIDTH = -6;
  // There are at most MOST_STEPS * sqrt(n) steps. Points in the plane take 2.5 to 3.6 times sqrt(n), n = 4,000 to 20,000.
  static constexpr int MOST_STEPS = 8;
  // Shares are whole numbers, so that threads may add them up in any order. The shares of a row add up to ONE, or a little less.
  // They are in proportion to its weights, which add up to less than 2^31.
  static constexpr Count ONE = Count{1} << 40;
  static constexpr int MOST_WEIGHT = 1 << 22;
  static constexpr double LEAST_WIDTH = 0x1p-1022;  // the least normal number

  Core<Stored> core;
  Dual* v;         // [num_columns]
  Count* sums;     // [num_columns] of shares
  double* price;   // [num_columns] v after the last step
  double* ahead;   // [num_columns] v from which the next step begins: moved on by the momentum
  Count* uphill;   // [3] of three steps, one after the other: by how much a step went uphill
  Dual* highest;   // [1]

  DEVICE void carve(Workspace& workspace) {
    sums = workspace.take<Count>(core.num_columns);
    price = workspace.take<double>(core.num_columns);
    ahead = workspace.take<double>(core.num_columns);
    uphill = workspace.take<Count>(3);
    highest = workspace.take<Dual>(1);
  }

  // Leaves v, which are at most 0. Does nothing if no row has entries that differ.
  template <class Team>
  DEVICE void run(Team& team) const {
    const double width = ldexp(core.totals->spreads.typical(), WIDTH);
    if (!(width >= LEAST_WIDTH)) return;  // no row has entries that differ, or by so little that 1 / width may be infinite
    begin(team);
    const int most_steps = static_cast<int>(MOST_STEPS * sqrt(static_cast<double>(core.num_rows)));
    NOT_UNROLLED
    for (int step = 0; step < most_steps; ++step) {
      share_rows_out(team, width);
      team.sync();
      if (team.rank() == 0) uphill[(step + 1) % 3] = 0;
      team.add_all(&uphill[step % 3], change_prices(team, width, step));
      team.sync();
      if (uphill[step % 3] < 0) break;
    }
    read_off(team);
  }

 private:
  template <class Team>
  DEVICE void begin(Team& team) const {
    team.each(core.num_columns, [&](Count column) {
      price[column] = ahead[column] = static_cast<double>(v[column]);
      sums[column] = 0;
    });
    if (team.rank() == 0) {
      uphill[0] = 0;
      *highest = 0;
    }
    team.sync();
  }

  template <class Team>
  DEVICE void share_rows_out(const Team& team, double width) const {
    constexpr Vertex MINE = (Core<Stored>::ROOM + Team::LANES - 1) / Team::LANES;
    constexpr double NOT_WANTED = 1e300;
    const double per_width = 1 / width;  // a float may be 0 or infinite
    team.each_group(core.num_rows, [&](Count row) {
      const Count begin = core.begin(static_cast<Vertex>(row));
      const Vertex size = core.sizes[row];
      if (size == 0) return;
      Vertex column[MINE];
      double reduced[MINE], least = NOT_WANTED;
      for (Vertex k = 0; k < MINE; ++k) {
        const Vertex place = team.lane() + k * team.lanes();
        const bool is_entry = place < size;
        column[k] = core.column(begin + (is_entry ? place : 0));
        reduced[k] = is_entry ? static_cast<double>(core.at(begin + place)) - ahead[column[k]] : NOT_WANTED;
        least = reduced[k] < least ? reduced[k] : least;
      }
      least = team.min_group(least);
      // An entry has a weight of at least 1, so that a column that is far too expensive gets cheaper.
      int weight[MINE], of_lane = 0;
      for (Vertex k = 0; k < MINE; ++k) {
        const float worse = static_cast<float>((reduced[k] - least) * per_width);
        weight[k] = reduced[k] == NOT_WANTED ? 0 : 1 + static_cast<int>(expf(-worse) * MOST_WEIGHT);
        of_lane += weight[k];
      }
      const int up_to_lane = team.sum_before(of_lane) + of_lane;
      const int all = team.min_group(team.lane() == team.lanes() - 1 ? up_to_lane : LAST_VERTEX);
      for (Vertex k = 0; k < MINE; ++k) {
        if (weight[k] > 0) team.fetch_add(&sums[column[k]], weight[k] * (ONE / all));
      }
    });
  }

  // Returns by how much this thread's part of the step goes uphill, in 2^-20 of a width: the change of each price times what its
  // column lacks.
  template <class Team>
  DEVICE Count change_prices(const Team& team, double width, int step) const {
    const double momentum = step / (step + 3.0);
    Count up = 0;
    team.each(core.num_columns, [&](Count column) {
      const double sum = static_cast<double>(sums[column]) / ONE;
      sums[column] = 0;
      if (sum == 0) return;  // no row has this column in the core
      const double changed = ahead[column] - width * logf(static_cast<float>(sum)), change = changed - price[column];
      up += static_cast<Count>((1 - sum) * (change / width) * (1 << 20));
      price[column] = changed;
      ahead[column] = changed + momentum * change;
    });
    return up;
  }

  template <class Team>
  DEVICE void read_off(Team& team) const {
    Dual above = 0;
    team.each(core.num_columns, [&](Count column) {
      const Dual here = to_dual(price[column]);
      above = here > above ? here : above;
    });
    team.max_all(highest, above);
    team.sync();
    team.each(core.num_columns, [&](Count column) { v[column] = to_dual(price[column]) - *highest; });
    team.sync();
  }
  static DEVICE Dual to_dual(double price) { return static_cast<Dual>(is_whole(Dual{}) ? floor(price) : price); }
  static constexpr DEVICE bool is_whole(long long) { return true; }
  static constexpr DEVICE bool is_whole(double) { return false; }
};
