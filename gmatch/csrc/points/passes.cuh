// passes.cuh: passes over all pairs of points on a GPU that compute what each pair costs, to the bit as window.cuh does.
//
// For few coordinates a sum takes less time than to read it from memory. So no window of costs is ever written.
#pragma once
#include "core/block_passes.cuh"
#include "points/window.cuh"

// As RowPass, for points of D coordinates. A lane has one column of each 32.
template <class Terms, int D>
struct PointPass {
  using Dual = double;
  using Rough = double;

  static constexpr Vertex STRATA = 32;

  PointPairs costs;

  template <class Team, class Use>
  DEVICE void each_few_rows(const Team& team, Use use) const {
    team.each_group_apart((costs.num_rows + Team::ROWS_AT_ONCE - 1) / Team::ROWS_AT_ONCE,
                          [&](Count i) { use(static_cast<Vertex>(i) * Team::ROWS_AT_ONCE); });
  }

  // As RowPass::each_below. Columns come round from a block that differs from row to row.
  template <class Team, class Bounds, class Visit>
  DEVICE void each_below(const Team& team, Vertex first_row, const double* v, const Bounds& bound, Visit visit) const {
    static_assert(Team::LANES == STRATA, "a lane has one stratum");
    constexpr Vertex ROWS = Team::ROWS_AT_ONCE;
    double x[ROWS][D];
    for (Vertex r = 0; r < ROWS; ++r) {
      const Count row = first_row + r < costs.num_rows ? first_row + r : first_row;
      for (int k = 0; k < D; ++k) x[r][k] = costs.x[row * D + k];
    }
    const Vertex blocks = (costs.num_columns + STRATA - 1) / STRATA;
    const Vertex turn = static_cast<Vertex>(RowPass<double>::scattered(first_row) % static_cast<unsigned>(blocks));
    NOT_UNROLLED
    for (int part = 0; part < 2; ++part) {
      const Vertex end = part == 0 ? blocks : turn;
      for (Vertex block = part == 0 ? turn : 0; block < end; ++block) {
        const Vertex column = block * STRATA + team.lane();
        if (column >= costs.num_columns) continue;
        double y[D];
        for (int k = 0; k < D; ++k) y[k] = costs.y[static_cast<Count>(k) * costs.num_columns + column];
        const double v_here = v[column];
        for (Vertex r = 0; r < ROWS; ++r) {
          const double reduced = of_pair(x[r], y) - v_here;
          if (reduced < bound[r][0]) visit(r, 0, column, reduced);
        }
      }
    }
  }

  // What a pair costs, by numbers.
  DEVICE double at(Vertex row, Vertex column) const {
    double y[D];
    for (int k = 0; k < D; ++k) y[k] = costs.y[static_cast<Count>(k) * costs.num_columns + column];
    return of_pair(costs.x + static_cast<Count>(row) * D, y);
  }

 private:
  DEVICE double of_pair(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum = Terms::add(sum, x[k], y[k], costs.p);
    return costs.of_cost(Terms::end(sum, costs.p));
  }
};

// The costs of some pairs, given by their places row * num_columns + column.
template <class Team, class Pass>
DEVICE void find_costs_of_places(Team& team, const Pass& pass, const Count* places, Count num_places, double* found) {
  team.each(num_places, [&](Count i) {
    const Count columns = pass.costs.num_columns;
    found[i] = pass.at(static_cast<Vertex>(places[i] / columns), static_cast<Vertex>(places[i] % columns));
  });
}

// As find_overpriced; and the least cost - v of each row.
template <class Team, class Pass>
DEVICE void find_overpriced_pairs(Team& team, const Pass& pass, const double* u, const double* v, double* least_of_rows,
                                  Vertex* sizes, Vertex* columns) {
  constexpr Vertex ROWS = Team::ROWS_AT_ONCE;
  const PointPairs& costs = pass.costs;
  team.each(costs.num_rows, [&](Count row) { sizes[row] = 0; });
  team.sync();
  pass.each_few_rows(team, [&](Vertex first_row) {
    double least[ROWS][1];
    Vertex at_least[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      least[r][0] = costs.infinite();
      at_least[r] = NONE;
    }
    pass.each_below(team, first_row, v, least, [&](Vertex r, Vertex, Vertex column, double reduced) {
      least[r][0] = reduced;
      at_least[r] = column;
    });
    for (Vertex r = 0; r < ROWS && first_row + r < costs.num_rows; ++r) {
      const Vertex row = first_row + r, column = at_least[r];
      const double least_of_all = team.min_group(least[r][0]);
      if (team.lane() == 0) least_of_rows[row] = least_of_all;
      if (column == NONE || !(least[r][0] < u[row]) || is_rounding(least[r][0] - u[row], u[row], v[column])) continue;
      columns[static_cast<Count>(row) * Pass::STRATA + team.fetch_add(&sizes[row], 1)] = column;
    }
  });
  team.sync();
}
