// program.cuh: the program of linear assignment by pricing. It solves a sparse core of a dense matrix, and only checks all
// other entries against the duals. The steps, in the order of plan.cuh:
//
//   look           finds an order in which the diagonal may be a cheapest assignment, if there is one: diagonal.cuh. Then it is
//                  the start, and no auction is held. Otherwise it asks whether rows want the same few columns, and whether
//                  prices of columns help: column_minima.cuh. If so, the auction begins with these prices
//   price          one pass over the matrix picks a sparse core, the best of every row
//   auction        pairs most rows of the core, and leaves duals that make these pairs tight, or nearly. A row reads the matrix
//                  again before its bid is worse than a pair that the core left out
//   smooth         follows an auction that stopped early, since near rows want the same columns. The core is picked anew, and all
//                  its prices are mended at once: smooth_prices.cuh. By these prices `price` picks the core once more, and
//                  another auction begins with them
//   refine         makes these pairs tight
//   search         matches the other rows of the core, exactly. A row reads the matrix again before paths become longer than a
//                  path by a pair that the core left out
//   reprice        one pass over the matrix finds the entries that the duals overprice. They join the core, whose rows are
//                  searched again
//   coarsen        the rest of the search would take long: the plan ends here. gmatch/backends/coarse_duals.py finds duals of a
//                  coarse matrix, and walks the plan again. The auction begins with these duals. If there are more columns than
//                  rows, gmatch/backends/doubled.py walks the plan again for a square problem
//   bound          no core suffices: duals may have gone farther apart along its few entries than the whole matrix needs
//   search_matrix  the whole matrix is searched
//
// The answer is exact, whatever the first steps leave: the search finds it, with duals that hold for the whole matrix.
#pragma once
#include "assignment/assign_sparse.cuh"
#include "core/column_minima.cuh"
#include "core/core.cuh"
#include "core/diagonal.cuh"
#include "core/plan.cuh"
#include "core/smooth_prices.cuh"

// Epsilons of an auction in the core. With a last epsilon of 2^-15 spreads, 100 pairs of 20,000 are not the best ones, and the
// search mends them. Two more rounds cost less. If sums would lose the last epsilon, the auction ends earlier: Auction::finest.
constexpr int FIRST_EPSILON = -1, LAST_EPSILON = -19;
// How many times as long chains may become in a core, see Auction::run. The costs (i + 1) (j + 1), n = 2,048, leave 28 rows to
// the search with 16, and 92 with 4.
constexpr Vertex LONGER_CHAINS = 16;
// The start, then for each pass a search, and then the dense search.
static_assert(7 + 2 * MOST_REPRICINGS + 2 <= CoreTrace::ROOM);

// What the program reports. The task knows only the first member, so that the trace takes no register from the steps.
struct CoreReport {
  Report counters;
  CoreTrace trace;
};

template <class Stored, class Dual>
DEVICE Auction<Core<Stored>> auction_of(const Core<Stored>& core, const AssignmentTask<Dual>& task, Dual spread) {
  return {core,          &core.totals->spreads, FIRST_EPSILON, LAST_EPSILON, bids_of_chain(core.num_rows),
          task.matching, task.v,                spread,        false,        true};
}

// Each step is a function of its own, which returns the team: in one function the compiler makes each step far slower.

// What a look has found: nothing, prices of columns in v, or pairs and v.
enum class Look { nothing, prices, pairs };

template <class Team, class Stored, class Dual>
DEVICE_APART Team look_at_matrix(Team team, DenseCosts<Stored> costs, AssignmentTask<Dual> task, Dual spread,
                                 Workspace workspace, Look& found) {
  Count now = team.nanoseconds();
  Workspace for_prices = workspace;
  DiagonalStart<Stored> diagonal(costs, spread);
  diagonal.carve(workspace);
  ColumnMinima<Stored> minima(costs, spread);
  minima.carve(for_prices);
  found = diagonal.take(team, task.matching, task.v) ? Look::pairs : minima.take(team, task.v) ? Look::prices : Look::nothing;
  if (team.rank() == 0) task.report->start_ns += lap(team, now);
  return team;
}

// Leaves the core, with the pairs that are given, and v. If none are given, it leaves rows without pairs.
template <class Team, class Stored, class Dual>
DEVICE_APART Team price_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  Count now = team.nanoseconds();
  if (!task.has_duals) team.each(core.num_columns, [&](Count column) { task.v[column] = 0; });
  team.sync();
  core.build(team, task.v);
  const bool is_given = task.start == AssignmentStart::given;
  team.each(core.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    if (is_given) core.keep_pair(team, row, task.matching.row_match[row]);
    else task.matching.row_match[row] = NONE;
  });
  if (team.rank() == 0) task.report->price_ns += lap(team, now);
  return team;
}

// Leaves row_match and v, and in `was_held` whether the auction was held to its end. `may_stop`: see Auction.
template <class Team, class Stored, class Dual>
DEVICE_APART Team hold_auction(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual spread, Workspace workspace,
                               bool may_stop, bool& was_held) {
  Count now = team.nanoseconds();
  auto auction = auction_of(core, task, spread);
  auction.may_stop = may_stop;
  auction.carve(workspace);
  was_held = auction.run(team, LONGER_CHAINS);
  if (team.rank() == 0) {
    task.report->bids += *auction.num_bids;
    task.report->rows_read += *auction.num_read;
    task.report->start_ns += lap(team, now);
  }
  return team;
}

// Picks the core anew by v, and leaves its smooth prices in v.
template <class Team, class Stored, class Dual>
DEVICE_APART Team smooth_prices(Team team, Core<Stored> core, AssignmentTask<Dual> task, Workspace workspace) {
  Count now = team.nanoseconds();
  core.build(team, task.v);
  SmoothPrices<Stored> prices{core, task.v};
  prices.carve(workspace);
  prices.run(team);
  if (team.rank() == 0) task.report->start_ns += lap(team, now);
  return team;
}

template <class Team, class Stored, class Dual>
DEVICE_APART Team refine_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  Count now = team.nanoseconds();
  refine_prices(team, core, task.matching, task.v);
  if (team.rank() == 0) task.report->start_ns += lap(team, now);
  return team;
}

// From row_match and v.
template <class Team, class Stored, class Dual>
DEVICE_APART Team search_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  if (team.rank() == 0) {
    *task.progress = Progress{};
    task.report->start_size = 0;
  }
  team.sync();
  assign_sparse(team, core, task);
  team.sync();
  return team;
}

template <class Team, class Stored, class Dual>
DEVICE_APART Team reprice_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  Count now = team.nanoseconds();
  core.reprice(team, task.matching, task.u, task.v);
  if (team.rank() == 0) {
    ++task.report->repricings;
    task.report->price_ns += lap(team, now);
  }
  return team;
}

// v stays at most `spread` below 0.
template <class Team, class Stored, class Dual>
DEVICE_APART Team bound_duals(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual spread) {
  team.sync();
  team.each(core.num_columns, [&](Count column) {
    if (task.v[column] < -spread) task.v[column] = -spread;
  });
  team.sync();
  return team;
}

template <class Team, class Stored, class Dual>
DEVICE_APART Team search_matrix(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  if (team.rank() == 0) {
    ++task.report->dense_searches;
    *task.progress = Progress{};
    task.report->start_size = 0;
  }
  team.sync();
  assign<TightEdges<Stored>, false>(team, core.dense, task);
  return team;
}

// The steps of one problem. The journal has room for MOST_REPRICINGS + 2 searches.
template <class Stored>
class AssignmentByCore {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  // `spread` is how far v may lie apart at the start.
  DEVICE AssignmentByCore(const DenseCosts<Stored>& costs, const AssignmentTask<Dual>& task, Dual spread)
      : core_(core_of(costs, task.matching.num_rows, task.matching.num_columns)),
        workspace_(task.workspace),
        task_(task),
        from_duals_(task),
        spread_(spread) {
    core_.carve(workspace_);
    from_duals_.start = AssignmentStart::given;
    from_duals_.has_duals = true;
    from_duals_.many_paths = true;
    from_duals_.workspace = workspace_.rest();
  }

  // Takes the steps of a launch.
  template <CoreLaunch LAUNCH, class Team>
  DEVICE void run(Team& team) {
    const bool has_pairs = task_.start == AssignmentStart::given || task_.start == AssignmentStart::none;
    CoreFacts facts{};
    facts.last = before(LAUNCH);
    // A start by bids may have duals that are nearly optimal: an auction goes on from them.
    facts.is_fresh = !has_pairs && (!task_.has_duals || task_.start == AssignmentStart::bids);
    facts.is_new = true;
    // If duals are given, no look is needed. A square problem in place of a matrix has no diagonal to look for.
    if ((task_.has_duals || core_.is_extended()) && facts.last == CoreStep::sample) facts.last = CoreStep::look;
    facts.rows = core_.num_rows;
    facts.columns = core_.num_columns;
    while (true) {
      const CoreStep step = next_step(facts, limits_of_one_device());
      if (step == CoreStep::done || !takes(LAUNCH, step)) return;
      if (team.rank() == 0) reinterpret_cast<CoreReport*>(task_.report)->trace.add(step);
      if (step == CoreStep::coarsen || (step == CoreStep::bound && core_.is_extended())) return;
      take<LAUNCH>(team, step, facts);
      facts.last = step;
    }
  }

 private:
  template <CoreLaunch LAUNCH, class Team>
  DEVICE void take(Team& team, CoreStep step, CoreFacts& facts) {
    if constexpr (takes(LAUNCH, CoreStep::price)) {
      if (step == CoreStep::look) {
        Look found;
        team = look_at_matrix(team, core_.dense, task_, spread_, workspace_, found);
        facts.is_fresh = found != Look::pairs;
        task_.has_duals = found != Look::nothing;
        if (found == Look::pairs) task_.start = AssignmentStart::given;
      }
      if (step == CoreStep::price) team = price_core(team, core_, task_);
      if (step == CoreStep::auction) {
        bool was_held;
        team = hold_auction(team, core_, task_, spread_, workspace_, !facts.is_smooth, was_held);
        facts.is_misled = !was_held;
      }
      if (step == CoreStep::smooth) {
        team = smooth_prices(team, core_, task_, workspace_);
        facts.is_smooth = task_.has_duals = true;
      }
      if (step == CoreStep::refine) team = refine_core(team, core_, task_);
    }
    if constexpr (takes(LAUNCH, CoreStep::search)) {
      if (step == CoreStep::search) {
        team = search_core(team, core_, from_duals_);
        facts.is_matched = task_.report->size == core_.num_rows;
        facts.is_given_up = IsAtEndOrGivenUp<Dual>{from_duals_}.is_given_up();
        // Later searches of a square core mend what the first one has found, and are never given up. If columns may stay free,
        // any search may be given up.
        if (core_.num_rows == core_.num_columns) from_duals_.most_levels = 0;
        ++facts.searches;
      }
      if (step == CoreStep::reprice) {
        team = reprice_core(team, core_, from_duals_);
        facts.found = core_.totals->found;
      }
      // v of columns that are free after an auction may lie above zero.
      const bool is_square = core_.num_rows == core_.num_columns;
      if (step == CoreStep::bound) team = bound_duals(team, core_, from_duals_, is_square ? 2 * spread_ : spread_);
    }
    if constexpr (takes(LAUNCH, CoreStep::search_matrix)) {
      if (step == CoreStep::search_matrix) {
        from_duals_.most_levels = 0;  // no other search follows
        team = search_matrix(team, core_, from_duals_);
      }
    }
  }

  Core<Stored> core_;
  Workspace workspace_;  // beyond the core
  AssignmentTask<Dual> task_, from_duals_;
  Dual spread_;
};

template <CoreLaunch LAUNCH = CoreLaunch::whole, class Team, class Stored>
DEVICE void assign_by_core(Team& team, const DenseCosts<Stored>& costs,
                           const AssignmentTask<typename DenseCosts<Stored>::Dual>& task,
                           typename DenseCosts<Stored>::Dual spread) {
  AssignmentByCore<Stored>(costs, task, spread).template run<LAUNCH>(team);
}

template <class Stored>
DEVICE Count core_workspace_size(const DenseCosts<Stored>& costs, Count team_columns) {
  Workspace workspace(nullptr);
  Core<Stored> core = core_of(costs);
  core.carve(workspace);
  Workspace for_auction(nullptr);
  Auction<Core<Stored>> auction{core};
  auction.carve(for_auction);
  Workspace for_look(nullptr);
  DiagonalStart<Stored> diagonal(costs, 0);
  diagonal.carve(for_look);
  Workspace for_prices(nullptr);
  ColumnMinima<Stored> minima(costs, 0);
  minima.carve(for_prices);
  Workspace for_smooth(nullptr);
  SmoothPrices<Stored> smooth{core};
  smooth.carve(for_smooth);
  Count most = for_auction.used();
  most = for_smooth.used() > most ? for_smooth.used() : most;
  most = for_look.used() > most ? for_look.used() : most;
  most = for_prices.used() > most ? for_prices.used() : most;
  const Count for_core = search_workspace_size(core);
  most = for_core > most ? for_core : most;
  const Count for_dense = assignment_workspace_size<TightEdges<Stored>>(costs, team_columns);
  most = for_dense > most ? for_dense : most;
  return workspace.used() + most;
}
