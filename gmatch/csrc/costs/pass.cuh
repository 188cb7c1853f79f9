// pass.cuh: passes over whole rows of a matrix of costs that look for the entries of the least cost - v.
//
// Nearly all entries are far above the least. So each entry is first compared with a bound, rounded, in few instructions.
// Only an entry that may lie below the bound is computed exactly. A pass then takes little longer than reading the memory.
#pragma once
#include "costs/dense.cuh"

template <class Stored>
struct RowPass {
  using Dual = typename DenseCosts<Stored>::Dual;
  using Rough = typename DenseCosts<Stored>::Rough;

  static constexpr Vertex STRATA = 32;  // a column is in stratum column % STRATA; a lane has all columns of some strata

  DenseCosts<Stored> costs;

  // use(first_row) for every Team::ROWS_AT_ONCE rows: read together, so that v is read once for all of them.
  template <class Team, class Use>
  DEVICE void each_few_rows(const Team& team, Use use) const {
    team.each_group_apart((costs.num_rows + Team::ROWS_AT_ONCE - 1) / Team::ROWS_AT_ONCE,
                          [&](Count i) { use(static_cast<Vertex>(i) * Team::ROWS_AT_ONCE); });
  }

  // Neighbours come out far apart.
  static DEVICE unsigned scattered(unsigned x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
  }

  // visit(r, s, column, cost - v) for the rows first_row + r and the columns of this lane's strata, numbered s, if cost - v may
  // be less than bound[r][s]. visit may lower the bound. Columns come round from a block that differs from row to row.
  template <class Team, class Bounds, class Visit>
  DEVICE void each_below(const Team& team, Vertex first_row, const Dual* v, const Bounds& bound, Visit visit) const {
    const Vertex blocks = costs.num_columns / STRATA;
    const Vertex turn = blocks == 0 ? 0 : static_cast<Vertex>(scattered(first_row) % static_cast<unsigned>(blocks));
    NOT_UNROLLED
    for (int part = 0; part < 2; ++part) {
      const Vertex begin = part == 0 ? turn : 0, end = part == 0 ? blocks : turn;
      if (costs.column_stride == 1) each_in_blocks<true>(team, first_row, begin, end, v, bound, visit);
      else each_in_blocks<false>(team, first_row, begin, end, v, bound, visit);
      if (part == 0) each_past_blocks(team, first_row, v, visit);
    }
  }

 private:
  // The pass over the blocks of columns from `block` to `end`, some together.
  template <bool CONTIGUOUS, class Team, class Bounds, class Visit>
  DEVICE void each_in_blocks(const Team& team, Vertex first_row, Vertex block, Vertex end, const Dual* v,
                             const Bounds& bound, Visit visit) const {
    constexpr Vertex TOGETHER = Team::AT_ONCE > 1 ? 4 : 1;
    const Count stride = CONTIGUOUS ? 1 : costs.column_stride;
    Vertex column = block * STRATA + team.lane() * (STRATA / Team::LANES);
    const Stored* entries_of[Team::ROWS_AT_ONCE];
    for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
      entries_of[r] = costs.costs + safe_row(first_row, r) * costs.row_stride + column * stride;
    }
    const auto move_on = [&](Vertex blocks) {
      block += blocks;
      column += blocks * STRATA;
      for (const Stored*& entries_here : entries_of) entries_here += blocks * STRATA * stride;
    };
    while (block + TOGETHER <= end) {
      each_together<TOGETHER>(team, entries_of, stride, column, v, bound, visit);
      move_on(TOGETHER);
    }
    while (block < end) {
      each_together<1>(team, entries_of, stride, column, v, bound, visit);
      move_on(1);
    }
  }
  template <Vertex BLOCKS, class Team, class Entries, class Bounds, class Visit>
  DEVICE void each_together(const Team& team, const Entries& entries_of, Count stride, Vertex first_column,
                            const Dual* v, const Bounds& bound, Visit visit) const {
    constexpr Vertex MINE = STRATA / Team::LANES, ROWS = Team::ROWS_AT_ONCE;
    const Rough limit = static_cast<Rough>(costs.limit);
    // All loads are under way before the first entry is compared.
    Stored entry[BLOCKS][ROWS][MINE];
    Dual v_of[BLOCKS][MINE];
    for (Vertex k = 0; k < BLOCKS; ++k) {
      for (Vertex s = 0; s < MINE; ++s) {
        for (Vertex r = 0; r < ROWS; ++r) entry[k][r][s] = team.read_once(entries_of[r] + (k * STRATA + s) * stride);
        v_of[k][s] = v[first_column + k * STRATA + s];
      }
    }
    for (Vertex k = 0; k < BLOCKS; ++k) {
      Rough rough_v[MINE];
      for (Vertex s = 0; s < MINE; ++s) rough_v[s] = roughly_above<Rough>(v_of[k][s]);
      for (Vertex r = 0; r < ROWS; ++r) {
        const auto is_far = [&](Vertex s) {
          return costs.roughly_of_entry(value_of(entry[k][r][s]), limit) - rough_v[s] > bound[r][s];
        };
        bool all_far = true;
        for (Vertex s = 0; s < MINE; ++s) all_far &= is_far(s);
        if (all_far) continue;
        for (Vertex s = 0; s < MINE; ++s) {
          if (MINE > 1 && is_far(s)) continue;
          visit(r, s, first_column + k * STRATA + s, costs.of_entry(value_of(entry[k][r][s])) - v_of[k][s]);
        }
      }
    }
  }
  // The last columns, if they fill no block.
  template <class Team, class Visit>
  DEVICE void each_past_blocks(const Team& team, Vertex first_row, const Dual* v, Visit visit) const {
    constexpr Vertex MINE = STRATA / Team::LANES;
    const Vertex first = costs.num_columns / STRATA * STRATA + team.lane() * MINE;
    for (Vertex s = 0; s < MINE && first + s < costs.num_columns; ++s) {
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
        visit(r, s, first + s, costs.at(safe_row(first_row, r), first + s) - v[first + s]);
      }
    }
  }
  // The first row stands for rows past the last one.
  DEVICE Vertex safe_row(Vertex first_row, Vertex r) const {
    return first_row + r < costs.num_rows ? first_row + r : first_row;
  }
};
