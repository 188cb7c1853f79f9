// pricing.cuh: a sparse core of a dense matrix of costs, chosen and grown by reduced costs, cost - v.
//
// An optimal assignment uses few of the entries of a matrix: nearly always among the cheapest of their rows. The core
// holds these, and is solved instead. Its duals are then held against the whole matrix, in one pass: an entry with cost
// < u + v would have to be in the core, and joins it; if there is none, the duals prove the core's assignment optimal for
// the whole matrix.
//
// The best of a row are chosen stratum by stratum, so that each lane looks after its own. Costs that are equal are met in
// an order that differs from row to row: chosen by position, all rows would take the same columns, and no assignment
// would be left in the core.
#pragma once
#include "dense_costs.cuh"
#include "matching.cuh"

// The core, as the search reads it: a row of `sizes[row]` entries, in any order.
template <class Cost_>
struct Core {
  using Cost = Cost_;
  using Offset = Count;
  using Dual = typename DenseCosts<Cost>::Dual;

  static constexpr bool FEW_COLUMNS = true;
  static constexpr Vertex STRATA = 32;  // a column is in stratum column % STRATA
  static constexpr Vertex ROOM = 128;   // entries of a row at most; it begins with the best two of every stratum

  // What all rows say together.
  struct Totals {
    Count rows_with_spread, exponents;  // rows whose entries differ; the sum of the binary exponents by how much
    Count found, added;                 // by repricing: entries that the duals overprice; those the core had room for
  };

  DenseCosts<Cost> dense;
  Vertex num_rows, num_columns;
  Vertex* sizes;    // [num_rows]
  Vertex* columns;  // [num_rows][ROOM]
  Cost* entries;    // [num_rows][ROOM] as in the matrix
  Totals* totals;   // [1]
  Dual* discount;   // [1] by how much the highest v lies below zero

  DEVICE void carve(Workspace& workspace) {
    sizes = workspace.take<Vertex>(num_rows);
    columns = workspace.take<Vertex>(static_cast<Count>(num_rows) * ROOM);
    entries = workspace.take<Cost>(static_cast<Count>(num_rows) * ROOM);
    totals = workspace.take<Totals>(1);
    discount = workspace.take<Dual>(1);
  }

  // As SparseCosts.
  static DEVICE Dual infinite() { return DenseCosts<Cost>::infinite(); }
  DEVICE Offset begin(Vertex row) const { return static_cast<Count>(row) * ROOM; }
  DEVICE Offset end(Vertex row) const { return begin(row) + (sizes[row] < ROOM ? sizes[row] : ROOM); }
  DEVICE bool has_edges(Vertex row) const { return sizes[row] > 0; }
  DEVICE Vertex column(Count edge) const { return columns[edge]; }
  DEVICE Dual at(Count edge) const { return dense.of_entry(entries[edge]); }

  // By how much the entries of a row differ, as a power of two; 0 if they do not.
  DEVICE double typical_spread() const {
    if (totals->rows_with_spread == 0) return 0;
    return ldexp(1.0, static_cast<int>(totals->exponents / totals->rows_with_spread));
  }

  // The best of every row, by cost - v. The lane groups of the team are warps, or threads of a host.
  template <class Team>
  DEVICE void build(Team& team, const Dual* v) const {
    team.each(num_rows, [&](Count row) { sizes[row] = 0; });
    if (team.rank() == 0) *totals = Totals{};
    team.sync();
    Count exponents = 0, rows_with_spread = 0;
    each_few_rows(team, [&](Vertex first_row) {
      BestTwo best[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      for (auto& of_row : best) {
        for (BestTwo& of_stratum : of_row) of_stratum = {infinite(), infinite(), NONE, NONE};
      }
      each_reduced(team, first_row, v, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
        best[r][s].add(reduced, column);
      });
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < num_rows; ++r) {
        const Dual spread = add_best(team, first_row + r, best[r]);
        if (team.lane() != 0 || !(spread > 0)) continue;
        ++rows_with_spread;
        exponents += ilogb(static_cast<double>(spread));
      }
    });
    team.add_all(&totals->rows_with_spread, rows_with_spread);
    team.add_all(&totals->exponents, exponents);
    team.sync();
  }

  // Holds v, and the u that follow from it in the core, against the whole matrix. In every stratum of a row the entry that
  // they overprice most joins the core. See Totals for what was found.
  template <class Team>
  DEVICE void reprice(Team& team, const Dual* v) const {
    if (team.rank() == 0) totals->found = totals->added = 0;
    team.sync();
    Count found = 0, added = 0;
    each_few_rows(team, [&](Vertex first_row) {
      Dual u[Team::ROWS_AT_ONCE];
      Dual least[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      Vertex at_least[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
        u[r] = least_in_core(team, first_row + r < num_rows ? first_row + r : first_row, v);
        for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
          least[r][s] = u[r];
          at_least[r][s] = NONE;
        }
      }
      each_reduced(team, first_row, v, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
        const bool is_least = reduced < least[r][s];
        least[r][s] = is_least ? reduced : least[r][s];
        at_least[r][s] = is_least ? column : at_least[r][s];
      });
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < num_rows; ++r) {
        const Vertex row = first_row + r;
        for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
          const Vertex column = at_least[r][s];
          if (column == NONE || is_rounding(least[r][s] - u[r], u[r], v[column]) || contains(row, column)) continue;
          ++found;
          added += add(team, row, column);
        }
      }
    });
    team.add_all(&totals->found, found);
    team.add_all(&totals->added, added);
    team.sync();
  }

 private:
  struct BestTwo {
    Dual least, second;
    Vertex at_least, at_second;

    DEVICE void add(Dual reduced, Vertex column) {
      const bool is_least = reduced < least, is_second = reduced < second;
      second = is_least ? least : is_second ? reduced : second;
      at_second = is_least ? at_least : is_second ? column : at_second;
      least = is_least ? reduced : least;
      at_least = is_least ? column : at_least;
    }
  };

  template <class Team>
  DEVICE Dual least_in_core(const Team& team, Vertex row, const Dual* v) const {
    Dual least = infinite();
    for (Offset edge = begin(row) + team.lane(); edge < end(row); edge += team.lanes()) {
      const Dual reduced = at(edge) - v[columns[edge]];
      least = reduced < least ? reduced : least;
    }
    return team.min_group(least);
  }

  // Rows are read a few at a time, so that v is read once for all of them.
  template <class Team, class Use>
  DEVICE void each_few_rows(const Team& team, Use use) const {
    team.each_group((num_rows + Team::ROWS_AT_ONCE - 1) / Team::ROWS_AT_ONCE,
                    [&](Count i) { use(static_cast<Vertex>(i) * Team::ROWS_AT_ONCE); });
  }

  // Returns how far the entries of the row lie apart; not more than 0 if it has none.
  template <class Team, class Strata>
  DEVICE Dual add_best(const Team& team, Vertex row, const Strata& best) const {
    Dual least = infinite(), minus_worst = infinite();
    for (const BestTwo& of_stratum : best) {
      if (of_stratum.at_least != NONE) {
        add(team, row, of_stratum.at_least);
        least = of_stratum.least < least ? of_stratum.least : least;
        minus_worst = -of_stratum.least < minus_worst ? -of_stratum.least : minus_worst;
      }
      if (of_stratum.at_second != NONE) {
        add(team, row, of_stratum.at_second);
        minus_worst = -of_stratum.second < minus_worst ? -of_stratum.second : minus_worst;
      }
    }
    least = team.min_group(least);
    return least == infinite() ? 0 : -team.min_group(minus_worst) - least;
  }

  // visit(r, s, column, cost - v) for the rows first_row + r and the columns of the strata of this lane, numbered s.
  template <class Team, class Visit>
  DEVICE void each_reduced(const Team& team, Vertex first_row, const Dual* v, Visit visit) const {
    if (dense.column_stride == 1) each_reduced<true>(team, first_row, v, visit);
    else each_reduced<false>(team, first_row, v, visit);
  }
  template <bool CONTIGUOUS, class Team, class Visit>
  DEVICE void each_reduced(const Team& team, Vertex first_row, const Dual* v, Visit visit) const {
    constexpr Vertex MINE = STRATA / Team::LANES, ROWS = Team::ROWS_AT_ONCE, AT_ONCE = Team::AT_ONCE > 1 ? 4 : 1;
    const Vertex blocks = (num_columns + STRATA - 1) / STRATA;
    const Vertex shift = static_cast<Vertex>(scattered(first_row) % static_cast<unsigned>(blocks));
    const Cost* entries_of[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      // Past the last row the first one is read again.
      entries_of[r] = dense.costs + (first_row + r < num_rows ? first_row + r : first_row) * dense.row_stride;
    }
    for (Vertex q = 0; q < blocks; q += AT_ONCE) {
      Cost entry[AT_ONCE][ROWS][MINE];
      Dual v_of[AT_ONCE][MINE];
      for (int k = 0; k < AT_ONCE; ++k) {
        for (Vertex s = 0; s < MINE; ++s) {
          const Vertex column = column_at(team, q + k, s, blocks, shift);
          const Vertex safe = column < num_columns ? column : 0;
          v_of[k][s] = v[safe];
          for (Vertex r = 0; r < ROWS; ++r) entry[k][r][s] = entries_of[r][CONTIGUOUS ? safe : safe * dense.column_stride];
        }
      }
      for (int k = 0; k < AT_ONCE; ++k) {
        if (q + k >= blocks) break;
        for (Vertex s = 0; s < MINE; ++s) {
          const Vertex column = column_at(team, q + k, s, blocks, shift);
          if (column >= num_columns) break;
          for (Vertex r = 0; r < ROWS; ++r) visit(r, s, column, dense.of_entry(entry[k][r][s]) - v_of[k][s]);
        }
      }
    }
  }
  // The columns of a lane, block after block, from one that differs from row to row; past the last block any.
  template <class Team>
  static DEVICE Vertex column_at(const Team& team, Vertex block, Vertex s, Vertex blocks, Vertex shift) {
    const Vertex turned = block + shift < blocks ? block + shift : block < blocks ? block + shift - blocks : 0;
    return turned * STRATA + team.lane() * (STRATA / Team::LANES) + s;
  }

  static DEVICE unsigned scattered(unsigned x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
  }

  DEVICE bool contains(Vertex row, Vertex column) const {
    for (Offset edge = begin(row); edge < end(row); ++edge) {
      if (columns[edge] == column) return true;
    }
    return false;
  }

  // Whether there was room.
  template <class Team>
  DEVICE bool add(const Team& team, Vertex row, Vertex column) const {
    // Lanes that are here together may add to different rows, unless the compiler unrolls the loop of the caller.
    const Vertex place = team.fetch_add(&sizes[row], 1);
    if (place >= ROOM) return false;
    columns[begin(row) + place] = column;
    entries[begin(row) + place] = dense.entry(row, column);
    return true;
  }
};

template <class Cost>
DEVICE Core<Cost> core_of(const DenseCosts<Cost>& costs) {
  return {costs, costs.num_rows, costs.num_columns};
}
