// block_picks.hpp: the entries that one of several ranks offers to the core of the root: the least entries of each row of its
// block, and a bound on all others. Threads of the host find them. A row is read again only once its dual has come to its bound.
#pragma once
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "serial/rows/row_picks.hpp"
#include "serial/rows/tiled_rows.hpp"

// Some rows of a block, and the numbers by which their entries are picked.
template <class Dual_>
struct BlockPicks {
  using Dual = Dual_;

  const Vertex* rows;  // [num_listed]
  Vertex num_listed;
  const Dual* u;       // [rows of the block] or null. Entries that cost at most u + v are picked, as far as there is room
  const Dual* v;       // [columns of the block]
  PickDepth depth;
  Dual limit;          // no entry is picked whose cost - v is at least this
  Dual* bounds;        // [num_listed] cost - v of all other entries of the row is at least this
};

// The picked entries: their places, row * columns + column, which increase if the listed rows do; their costs; and how many of
// them cost less than u + v by more than rounding.
template <class Dual>
struct PickedPlaces {
  std::vector<Count> places;
  std::vector<Dual> costs;
  Count overpriced = 0;
};

namespace block_picks {

template <class Rows, class Dual>
void pick_share(const Rows& rows, const BlockPicks<Dual>& asked, bool is_priced, Vertex begin, Vertex end, HostTeam& team,
                PickedPlaces<Dual>& found) {
  RowPicks<Rows, Dual> picks(rows, false);
  const Count num_columns = picks.rows().num_columns();
  const Count most = (end - begin) * std::min<Count>(asked.depth.room, num_columns);
  found.places.reserve(most);
  found.costs.reserve(most);
  for (Vertex i = begin; i < end; ++i) {
    const Vertex row = asked.rows[i];
    typename RowPicks<Rows, Dual>::Wanted wanted;
    if (asked.u != nullptr) wanted.enough = asked.u[row];
    wanted.limit = asked.limit;
    const auto picked = is_priced || asked.u != nullptr ? picks.template pick<true>(row, asked.v, &asked.depth, wanted)
                                                        : picks.template pick<false>(row, asked.v, &asked.depth, wanted);
    asked.bounds[i] = picked.bound;
    const Vertex* const columns = picks.columns();
    for (Vertex k = 0; k < picked.size; ++k) {
      const Dual cost = picks.rows().at(row, columns[k]);
      if (!(cost < beyond_all(Dual{}))) continue;
      found.places.push_back(row * num_columns + columns[k]);
      found.costs.push_back(cost);
      if (asked.u == nullptr) continue;
      const Dual slack = cost - asked.v[columns[k]] - asked.u[row];
      found.overpriced += slack < 0 && !is_rounding(slack, asked.u[row], asked.v[columns[k]]);
    }
    team.spend(num_columns);
  }
}

// Calls use(rows) with the rows of a block as picks read them.
template <class Stored, class Use>
void with_rows(const DenseCosts<Stored>& costs, Use use) {
  using Dual = typename DenseCosts<Stored>::Dual;
  if (costs.column_stride != 1) return use(TiledRows<Dual>(costs));
  if constexpr (IS_NARROW<Stored>) {
    // Integers of 8 and 16 bits are read as integers of 32 bits.
    using Cost = typename DenseCosts<Stored>::Cost;
    use(CopiedRows<std::conditional_t<std::is_same_v<Cost, int>, int, Dual>>(costs));
  } else {
    if (costs.limit < costs.infinite()) return use(CopiedRows<Dual>(costs));
    if (costs.maximize) return use(StoredRows<Stored, Dual, true>{costs});
    use(StoredRows<Stored, Dual, false>{costs});
  }
}

}  // namespace block_picks

template <class Stored>
PickedPlaces<typename DenseCosts<Stored>::Dual> pick_from_block(
    const DenseCosts<Stored>& costs, const BlockPicks<typename DenseCosts<Stored>::Dual>& asked, int threads) {
  using Dual = typename DenseCosts<Stored>::Dual;
  const bool is_priced = std::any_of(asked.v, asked.v + costs.num_columns, [](Dual v) { return v != 0; });
  std::vector<PickedPlaces<Dual>> shares(threads);
  run_on_host(threads, [&](HostTeam& team) {
    const auto first = [&](int share) { return static_cast<Vertex>(Count{asked.num_listed} * share / team.size()); };
    block_picks::with_rows(costs, [&](const auto& rows) {
      block_picks::pick_share(rows, asked, is_priced, first(team.rank()), first(team.rank() + 1), team, shares[team.rank()]);
    });
  });
  PickedPlaces<Dual> all = std::move(shares[0]);
  for (int share = 1; share < threads; ++share) {
    all.places.insert(all.places.end(), shares[share].places.begin(), shares[share].places.end());
    all.costs.insert(all.costs.end(), shares[share].costs.begin(), shares[share].costs.end());
    all.overpriced += shares[share].overpriced;
  }
  return all;
}
