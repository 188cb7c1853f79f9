// core.cuh: a sparse core of a dense matrix of costs, chosen and grown by reduced costs, cost - v.
//
// An optimal assignment uses few entries of a matrix, nearly always among the cheapest of their rows. The core holds the
// cheapest entries of each row, and is solved instead. One pass then holds its duals against the whole matrix. An entry with
// cost < u + v violates them, and joins the core. If there is none, the duals prove the core's assignment optimal for the
// whole matrix.
//
// The best entries of a row are chosen stratum by stratum, so that each lane looks after its own strata. Equal costs are met
// in an order that differs from row to row. If they were chosen by position, all rows would take one set of columns, and the
// core would have no assignment.
#pragma once
#include "costs/pass.cuh"
#include "costs/spreads.cuh"
#include "team/memory.cuh"

// The core, as the search reads it: a row of `sizes[row]` entries, in any order.
template <class Stored>
struct Core {
  using Cost = typename DenseCosts<Stored>::Cost;
  using Offset = Count;
  using Dual = typename DenseCosts<Stored>::Dual;
  using Rough = typename DenseCosts<Stored>::Rough;

  static constexpr bool FEW_COLUMNS = true;
  static constexpr Vertex STRATA = RowPass<Stored>::STRATA;
  static constexpr Vertex ROOM = SHORT_LISTS ? 66 : 128;  // entries of a row at most; it begins with the best two of a stratum

  // Sums over all rows.
  struct Totals {
    Spreads<Dual> spreads;
    Count found, added;  // by repricing: entries that violate the duals; entries of these for which the core had room
    Count free_rows;     // that the last auction in the core left
    Count tight_rows;    // that an auction made tight, if refining its prices did not end; otherwise all
    Count best_offers;   // entries that began the core and tie for best in their row
    Count mutual_rows;   // of a sample: rows that are the best row of their best column
  };

  DenseCosts<Stored> dense;
  Vertex num_rows, num_columns;
  Vertex* sizes;    // [num_rows]
  Vertex* columns;  // [num_rows][ROOM]
  Cost* entries;    // [num_rows][ROOM] the numbers of the matrix
  Totals* totals;   // [1]

  DEVICE void carve(Workspace& workspace) {
    sizes = workspace.take<Vertex>(num_rows);
    columns = workspace.take<Vertex>(static_cast<Count>(num_rows) * ROOM);
    entries = workspace.take<Cost>(static_cast<Count>(num_rows) * ROOM);
    totals = workspace.take<Totals>(1);
  }

  // As SparseCosts.
  static DEVICE Dual infinite() { return DenseCosts<Stored>::infinite(); }
  DEVICE Offset begin(Vertex row) const { return static_cast<Count>(row) * ROOM; }
  DEVICE Offset end(Vertex row) const { return begin(row) + (sizes[row] < ROOM ? sizes[row] : ROOM); }
  static DEVICE Vertex room(Vertex) { return ROOM; }
  template <class Team>
  DEVICE Vertex size(const Team& team, Vertex row) const { return team.read(&sizes[row]); }  // while no row grows
  DEVICE bool has_edges(Vertex row) const { return sizes[row] > 0; }
  DEVICE Vertex column(Count edge) const { return columns[edge]; }
  DEVICE Dual of_entry(Cost entry) const { return dense.of_entry(entry); }
  DEVICE Dual at(Count edge) const { return of_entry(entries[edge]); }

  // Picks the best entries of every row, by cost - v. The lane groups of the team are warps, or threads of a host.
  template <class Team>
  DEVICE void build(Team& team, const Dual* v) const {
    team.each(num_rows, [&](Count row) { sizes[row] = 0; });
    if (team.rank() == 0) {
      *totals = Totals{};
      totals->tight_rows = num_rows;
    }
    team.sync();
    SpreadsOfSome<Dual> spreads;
    Count best_offers = 0;
    const RowPass<Stored> pass{dense};
    pass.each_few_rows(team, [&](Vertex first_row) {
      BestTwo best[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      Rough bound[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
        for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
          best[r][s] = {infinite(), infinite(), NONE, NONE};
          bound[r][s] = roughly_above<Rough>(infinite());
        }
      }
      pass.each_below(team, first_row, v, bound, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
        best[r][s].add(reduced, column);
        bound[r][s] = roughly_above<Rough>(best[r][s].second);
      });
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < num_rows; ++r) {
        best_offers += add_best(team, first_row + r, best[r], v, spreads);
      }
    });
    spreads.add_to(team, &totals->spreads);
    team.add_all(&totals->best_offers, best_offers);
    team.sync();
  }

  // The columns of a matching join it.
  template <class Team>
  DEVICE void add_pairs(Team& team, const Matching& matching) const {
    team.each(num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i), column = matching.row_match[row];
      if (column != NONE && !contains(row, column)) add(team, row, column);
    });
    team.sync();
  }

  // Holds v, and the u that follow from it in the core, against the whole matrix. In every stratum of a row the entry that
  // they overprice most joins the core. See Totals for what was found.
  template <class Team>
  DEVICE void reprice(Team& team, const Dual* v) const {
    if (team.rank() == 0) totals->found = totals->added = 0;
    team.sync();
    Count found = 0, added = 0;
    const RowPass<Stored> pass{dense};
    pass.each_few_rows(team, [&](Vertex first_row) {
      Dual u[Team::ROWS_AT_ONCE];
      Rough bound[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      Dual least[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      Vertex at_least[Team::ROWS_AT_ONCE][STRATA / Team::LANES];
      for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
        u[r] = least_in_core(team, first_row + r < num_rows ? first_row + r : first_row, v);
        for (Vertex s = 0; s < STRATA / Team::LANES; ++s) {
          least[r][s] = u[r];
          at_least[r][s] = NONE;
          bound[r][s] = roughly_above<Rough>(u[r]);
        }
      }
      pass.each_below(team, first_row, v, bound, [&](Vertex r, Vertex s, Vertex column, Dual reduced) {
        if (!(reduced < least[r][s])) return;
        least[r][s] = reduced;
        at_least[r][s] = column;
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

  // Returns how many of those that this lane adds are the best of the row.
  template <class Team, class Strata>
  DEVICE Vertex add_best(const Team& team, Vertex row, const Strata& best, const Dual* v,
                         SpreadsOfSome<Dual>& spreads) const {
    Dual least = infinite(), minus_worst = infinite(), near = infinite();
    for (const BestTwo& of_stratum : best) near = of_stratum.second < near ? of_stratum.second : near;
    const auto add_one = [&](Dual reduced, Vertex column) {
      if (column == NONE) return;
      add(team, row, column);
      spreads.add_entry(reduced + v[column]);
      least = reduced < least ? reduced : least;
      minus_worst = -reduced < minus_worst ? -reduced : minus_worst;
    };
    for (const BestTwo& of_stratum : best) {
      add_one(of_stratum.least, of_stratum.at_least);
      add_one(of_stratum.second, of_stratum.at_second);
    }
    least = team.min_group(least);
    minus_worst = team.min_group(minus_worst);
    near = team.min_group(near);
    // With so few columns that no stratum has two, `near` is infinite, and less `least` it could overflow.
    const Dual nearest = near == infinite() ? near : near - least;
    if (team.lane() == 0 && least != infinite()) spreads.add_spread(spread_of(-minus_worst - least, nearest));
    Vertex best_offers = 0;
    for (const BestTwo& of_stratum : best) {
      best_offers += of_stratum.at_least != NONE && of_stratum.least == least;
      best_offers += of_stratum.at_second != NONE && of_stratum.second == least;
    }
    return best_offers;
  }

  // How far apart the entries of a row lie that matter, from how far the worst one is from the best, and the nearest second one
  // of a stratum. Of even costs the worst is twenty times as far; one that is much farther is as good as forbidden.
  static DEVICE Dual spread_of(Dual worst, Dual near) {
    constexpr Dual FAR = 1 << 9, MOST = 1 << 12;
    if (!(near > 0) || worst / FAR <= near) return worst;
    return near * FAR < worst / MOST ? worst / MOST : near * FAR;
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
    if (place >= ROOM) {
      team.fetch_add(&sizes[row], -1);
      return false;
    }
    columns[begin(row) + place] = column;
    entries[begin(row) + place] = dense.entry(row, column);
    return true;
  }
};

template <class Stored>
DEVICE Core<Stored> core_of(const DenseCosts<Stored>& costs) {
  return {costs, costs.num_rows, costs.num_columns};
}
