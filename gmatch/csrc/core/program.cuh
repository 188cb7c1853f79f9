// program.cuh: the program of linear assignment by pricing. It solves a sparse core of a dense matrix, and only checks all
// other entries against the duals.
//
//   1 price    one pass over the matrix picks a sparse core: the best entries of each row
//   2 auction  pairs most rows of the core, and leaves duals that make these pairs tight, or nearly. Its prices are refined
//              then. If the core lacks columns, it learns of them, and the auction is held again. If all rows want the same
//              columns, the auction is held in the whole matrix, and the core is picked anew by its prices. The search is
//              held in the matrix at once if half of the core's entries tie for best in their row, or if most rows and
//              columns are each other's best
//   3 search   matches the other rows of the core, exactly
//   4 reprice  one pass over the matrix finds the entries that violate the duals. They join the core, and step 3 follows.
//              A core without room for them is picked anew, by the current duals
//   5 dense    if no core is good enough, the search is held in the whole matrix, after an auction there
//
// The answer is exact, whatever steps 1 and 2 leave: it is the search's, with duals that hold for the whole matrix.
#pragma once
#include "assignment/assign_sparse.cuh"
#include "core/free_columns.cuh"
#include "core/trace.cuh"

// After 16 repricings or 4 rebuilt cores, a search in the matrix costs less than another core.
constexpr int MOST_REPRICINGS = 16, MOST_REBUILDS = 4;
// The auction is held again if the core gained more than 1 entry for every 64 rows.
constexpr Vertex ROWS_FOR_AN_ENTRY = 64;
// Exponents of the first and the last epsilon, in spreads of a row: of an auction in the core, and of one in the whole
// matrix. In the matrix the spread is the spread of all entries of a row, and free rows go to a more expensive search.
constexpr int FIRST_EPSILON = 1, LAST_EPSILON = -15, FIRST_DENSE_EPSILON = -3, LAST_DENSE_EPSILON = -31;
// A core is full if it had room for at most 1 in 8 of the entries that repricing found.
constexpr Count FULL = 8;
// An auction that leaves more than 1 row in 64 free shows that the core lacks columns. If it leaves more than 1 in 16, its
// prices mislead.
constexpr Vertex ROWS_OF_A_LACK = 64, ROWS_MISLED = 16;
// The core learns at most 2 times of columns that it lacks. Their v is raised by half a spread meanwhile, so that more than
// one row learns of each.
constexpr int MOST_LESSONS = 2, PARTS_OF_A_SPREAD = 2;
// An auction was useful if at most 1 row in 8 is loose after it. It was useless if fewer than 1 row in 8 is tight.
constexpr Vertex ROWS_OF_AN_AUCTION = 8;
// A chain of bids in a core may be 4 times as long; see Auction::run.
constexpr Vertex LONGER_CHAINS = 4;
// A sample of 128 rows is asked whether each is also the best row of its best column. Uniform costs answer yes for 64, with
// a standard deviation of 6. If more than 104 answer yes, minima of rows and columns match most other rows, too.
constexpr Vertex ROWS_OF_A_SAMPLE = 128, MOST_MUTUAL = 104;
// The most bids of a chain in the whole matrix.
constexpr Vertex MOST_DENSE_BIDS = 256;

// The start; then for each repricing a search, and bids or a price for the rows that it left free; then the dense search.
static_assert(6 + MOST_LESSONS + 2 + 3 * MOST_REPRICINGS + MOST_REBUILDS + 2 <= CoreTrace::ROOM);

// What the program reports. The task knows only the first member, so that the trace takes no register from the steps.
struct CoreReport {
  Report counters;
  CoreTrace trace;
};

// Each step notes itself first, except two: noting in the small functions of `reprice` and `bound` would cost the whole
// program 8 bytes more stack.
template <class Team, class Dual>
DEVICE void note(const Team& team, const AssignmentTask<Dual>& task, CoreStep step) {
  if (team.rank() == 0) reinterpret_cast<CoreReport*>(task.report)->trace.add(step);
}

template <class Team, class Stored>
DEVICE void count_free_rows(Team& team, const Core<Stored>& core, const Matching& matching) {
  if (team.rank() == 0) core.totals->free_rows = 0;
  team.sync();
  Count free_rows = 0;
  team.each(core.num_rows, [&](Count row) { free_rows += matching.row_match[row] == NONE; });
  team.add_all(&core.totals->free_rows, free_rows);
  team.sync();
}

// Refines the prices of an auction in a core or its matrix. If the refinement does not end, counts the tight rows.
template <class Team, class Costs, class Stored, class Dual>
DEVICE void refine_and_count(Team& team, const Costs& costs, const Core<Stored>& core, const AssignmentTask<Dual>& task) {
  const bool ended = refine_prices(team, costs, task.matching, task.v);
  if (team.rank() == 0) core.totals->tight_rows = ended ? core.num_rows : 0;
  team.sync();
  if (ended) return;
  Count tight_rows = 0;
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    const bool is_tight = !is_loose(team, costs, row, task.matching.row_match[row], task.v);  // asks all lanes
    tight_rows += is_tight && team.lane() == 0;
  });
  team.add_all(&core.totals->tight_rows, tight_rows);
  team.sync();
}

// Whether the auction of a square problem left more than 1 row in `one_of` free. With a good core it leaves at most 1 in 100.
// It leaves more if rows find the same few columns best, as for costs (i + 1) (j + 1), or if some columns are among the best
// of no row.
template <class Stored>
DEVICE bool leaves_more(const Core<Stored>& core, Vertex one_of) {
  return core.num_rows == core.num_columns && core.totals->free_rows > core.num_rows / one_of;
}

// Whether the last auction since the core was picked made most pairs tight, or few. Without an auction all count as tight.
template <class Stored>
DEVICE bool made_most_tight(const Core<Stored>& core) {
  return core.num_rows - core.totals->tight_rows <= core.num_rows / ROWS_OF_AN_AUCTION;
}
template <class Stored>
DEVICE bool made_few_tight(const Core<Stored>& core) {
  return core.totals->tight_rows < core.num_rows / ROWS_OF_AN_AUCTION;
}

template <class Stored, class Dual>
DEVICE Auction<Core<Stored>> auction_of(const Core<Stored>& core, const AssignmentTask<Dual>& task, Dual spread) {
  return {core,          &core.totals->spreads, FIRST_EPSILON, LAST_EPSILON, bids_of_chain(core.num_rows),
          task.matching, task.v,                spread};
}

// Whether half of the entries that begin the core are the best of their rows. Then more offers are equal than a core has
// room for beside others, and an auction of them leads nowhere.
template <class Stored>
DEVICE bool is_tied(const Core<Stored>& core) {
  return core.totals->best_offers > static_cast<Count>(core.num_rows) * Core<Stored>::STRATA;
}

// Asks some rows whether they alone are the best row of the one column that is best for them. If several rows were the best
// of a column, all of them except one would stay without it. From v = 0.
template <class Team, class Stored>
DEVICE void count_mutual_rows(Team& team, const Core<Stored>& core) {
  const auto blocks = team.in_blocks();
  blocks.each_group(ROWS_OF_A_SAMPLE, [&](Count i) {
    const Vertex row = static_cast<Vertex>(core.num_rows * i / ROWS_OF_A_SAMPLE);
    const Count first = core.begin(row) + blocks.lane(), end = core.end(row);
    auto least = core.infinite();
    for (Count edge = first; edge < end; edge += blocks.lanes()) least = core.at(edge) < least ? core.at(edge) : least;
    const auto best = blocks.min_group(least);
    Vertex column = LAST_VERTEX, minus_last = LAST_VERTEX;
    for (Count edge = first; edge < end; edge += blocks.lanes()) {
      if (core.at(edge) != best) continue;
      column = core.column(edge) < column ? core.column(edge) : column;
      minus_last = -core.column(edge) < minus_last ? -core.column(edge) : minus_last;
    }
    column = blocks.min_group(column);
    if (blocks.min_group(minus_last) != -column || best == core.infinite()) return;
    least = core.infinite();
    for (Vertex other = blocks.lane(); other < core.num_rows; other += blocks.lanes()) {
      const auto cost = core.dense.at(other, column);
      if (other != row && cost < least) least = cost;
    }
    const bool is_best = best < blocks.min_group(least);
    if (is_best && blocks.lane() == 0) blocks.fetch_add(&core.totals->mutual_rows, Count{1});
  });
  team.sync();
}


// Whether the search in the matrix itself, from minima of rows and columns, takes least work.
template <class Stored>
DEVICE bool needs_no_auction(const Core<Stored>& core) {
  return is_tied(core) || core.totals->mutual_rows > MOST_MUTUAL;
}

// Whether the program makes its own start: no assignment and no duals are given, and it is not told to start from nothing.
template <class Dual>
DEVICE bool starts_anew(const AssignmentTask<Dual>& task) {
  return !task.has_duals && task.start != AssignmentStart::given && task.start != AssignmentStart::none;
}

// One copy of each function for all steps that need it. With three copies, the compiler makes each far slower.
template <class Team, class Stored, class Dual>
DEVICE_APART Team hold_against_matrix(Team team, Core<Stored> core, const Dual* v) {
  core.reprice(team, v);
  return team;
}
template <class Team, class Stored, class Dual>
DEVICE_APART Team build_core(Team team, Core<Stored> core, const Dual* v) {
  core.build(team, v);
  return team;
}
template <class Team, class Stored>
DEVICE_APART Team bid_from_duals(Team team, Auction<Core<Stored>> auction, int first_epsilon) {
  auction.run_from_duals(team, first_epsilon, LONGER_CHAINS);
  return team;
}

// After an auction that left columns free because they are among the best of too few rows. The core learns of these
// columns, and the auction is held again.
template <class Team, class Stored, class Dual>
DEVICE void learn_of_columns(Team& team, const Core<Stored>& core, const AssignmentTask<Dual>& task,
                             const Auction<Core<Stored>>& auction) {
  const FreeColumns<Dual> columns{task.u, task.v, auction.words, auction.next_row};
  const Dual more = static_cast<Dual>(core.totals->spreads.typical() / PARTS_OF_A_SPREAD);
  price_free_columns(team, core, task.matching, columns);
  for (int lesson = 0; lesson < MOST_LESSONS && leaves_more(core, ROWS_OF_A_LACK); ++lesson) {
    note(team, task, CoreStep::learn);
    raise_columns(team, columns, more);
    team = hold_against_matrix(team, core, task.v);
    const bool learnt = core.totals->added > 0;
    raise_columns(team, columns, -more);
    if (!learnt) return;
    team = bid_from_duals(team, auction, FIRST_EPSILON);
    count_free_rows(team, core, task.matching);
    price_free_columns(team, core, task.matching, columns);
  }
}

// Steps 1 and 2. Leaves row_match and v. A given assignment or given duals take the place of an auction.
template <class Team, class Stored, class Dual>
DEVICE_APART Team start_core(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual spread, Workspace workspace,
                             bool* lacked_columns) {
  Count now = team.nanoseconds();
  if (!task.has_duals) team.each(core.num_columns, [&](Count column) { task.v[column] = 0; });
  team.sync();
  note(team, task, CoreStep::price);
  team = build_core(team, core, task.v);
  if (team.rank() == 0) task.report->price_ns += lap(team, now);
  if (task.start == AssignmentStart::given) return team;
  if (task.start == AssignmentStart::none || task.has_duals) {
    team.each(core.num_rows, [&](Count row) { task.matching.row_match[row] = NONE; });
    return team;
  }
  if (core.num_rows == core.num_columns) {
    note(team, task, CoreStep::sample);
    count_mutual_rows(team, core);
  }
  if (needs_no_auction(core)) return team;
  note(team, task, CoreStep::auction);
  auto auction = auction_of(core, task, spread);
  auction.carve(workspace);
  if (!auction.run(team, LONGER_CHAINS)) {
    team.each(core.num_rows, [&](Count row) { task.matching.row_match[row] = NONE; });
  }
  count_free_rows(team, core, task.matching);
  *lacked_columns = leaves_more(core, ROWS_OF_A_LACK) && !leaves_more(core, ROWS_MISLED);
  if (*lacked_columns) learn_of_columns(team, core, task, auction);
  if (!leaves_more(core, ROWS_MISLED)) {
    // The auction's prices say most about the entries that the core lacks. Once the core has learnt of columns, the prices
    // are no longer in the auction's words.
    note(team, task, CoreStep::hold);
    team = hold_against_matrix(team, core, task.v);
    if (core.totals->added > 0 && !*lacked_columns) {
      note(team, task, CoreStep::bid_again);
      auction.run_again(team);
    }
    note(team, task, CoreStep::refine);
    refine_and_count(team, core, core, task);
  }
  if (team.rank() == 0) {
    task.report->bids = *auction.num_bids;
    task.report->start_ns += lap(team, now);
  }
  return team;
}

// Step 3, from row_match and v.
template <class Team, class Stored, class Dual>
DEVICE_APART Team search_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  note(team, task, CoreStep::search);
  if (team.rank() == 0) {
    *task.progress = Progress{};
    task.report->start_size = 0;
  }
  team.sync();
  assign_sparse(team, core, task);
  team.sync();
  return team;
}

// After a search that left rows free. Entries outside the core become better for these rows, and for all rows in reach.
template <class Team, class Stored, class Dual>
DEVICE_APART Team outprice_core(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual margin) {
  note(team, task, CoreStep::outprice);
  Steps<Team> steps(team, *task.progress);
  Workspace workspace(task.workspace);  // as the search left it
  const auto forest = carve_forest(workspace, task.matching, true);
  auto edges = edges_of<SparseTightEdges<Core<Stored>>>(core, task);
  edges.carve(workspace);
  edges.outprice(steps, forest, margin);
  return team;
}

// Step 4: holds the matrix against v. Entries that violate the duals join the core; core.totals counts them.
template <class Team, class Stored, class Dual>
DEVICE_APART Team reprice_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  Count now = team.nanoseconds();
  team = hold_against_matrix(team, core, task.v);
  if (team.rank() == 0) {
    note(team, task, CoreStep::reprice);
    ++task.report->repricings;
    task.report->price_ns += lap(team, now);
  }
  return team;
}

// Step 1 again, from v and the pairs there are.
template <class Team, class Stored, class Dual>
DEVICE_APART Team rebuild_core(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  note(team, task, CoreStep::rebuild);
  Count now = team.nanoseconds();
  team.sync();  // others may still read what the core told
  team = build_core(team, core, task.v);
  core.add_pairs(team, task.matching);
  if (team.rank() == 0) task.report->price_ns += lap(team, now);
  return team;
}

// Step 2 again, from v. If the core has grown by much, it leaves fewer rows free than there are rows that found something
// better.
template <class Team, class Stored, class Dual>
DEVICE_APART Team bid_again(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual spread, int first_epsilon,
                            Workspace workspace) {
  note(team, task, CoreStep::bid_again);
  Count now = team.nanoseconds();
  auto auction = auction_of(core, task, spread);
  auction.carve(workspace);
  if (team.rank() == 0) *auction.num_bids = *auction.num_cut_off = 0;
  team.sync();
  team = bid_from_duals(team, auction, first_epsilon);
  refine_prices(team, core, task.matching, task.v);
  if (team.rank() == 0) {
    task.report->bids += *auction.num_bids;
    task.report->start_ns += lap(team, now);
  }
  team.sync();
  return team;
}

// Step 2 in the whole matrix, if all columns are to be matched. It starts from the beginning, since a core that misled its
// auction or the search has misled the duals.
template <class Team, class Stored, class Dual>
DEVICE_APART Team bid_in_matrix(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual spread, Workspace workspace) {
  note(team, task, CoreStep::auction_matrix);
  Count now = team.nanoseconds();
  Spreads<Dual>* spreads = &core.totals->spreads;
  measure_spreads(team, core.dense, spreads);
  Auction<DenseCosts<Stored>> auction{core.dense,        spreads,       FIRST_DENSE_EPSILON, LAST_DENSE_EPSILON,
                                    MOST_DENSE_BIDS,   task.matching, task.v,              spread};
  auction.carve(workspace);
  auction.last = auction.finest_epsilon();
  if (auction.has_epsilon()) {
    auction.run(team);
    refine_and_count(team, core.dense, core, task);
    if (team.rank() == 0) task.report->bids += *auction.num_bids;
  } else {
    team.each(core.num_columns, [&](Count column) { task.v[column] = 0; });
  }
  if (team.rank() == 0) task.report->start_ns += lap(team, now);
  team.sync();
  return team;
}

// Before step 5. Along the few entries of a core, duals may have gone farther apart than duals of the matrix need to.
template <class Team, class Stored, class Dual>
DEVICE_APART Team bound_duals(Team team, Core<Stored> core, AssignmentTask<Dual> task, Dual spread) {
  team.each(core.num_columns, [&](Count column) {
    if (task.v[column] < -spread) task.v[column] = -spread;
  });
  team.sync();
  return team;
}

template <class Team, class Stored, class Dual>
DEVICE_APART Team search_matrix(Team team, Core<Stored> core, AssignmentTask<Dual> task) {
  note(team, task, CoreStep::search_matrix);
  if (team.rank() == 0) {
    ++task.report->dense_searches;
    *task.progress = Progress{};
    task.report->start_size = 0;
  }
  team.sync();
  assign<TightEdges<Stored>, false>(team, core.dense, task);
  return team;
}

// The five steps. The journal has room for MOST_REPRICINGS + 2 searches.
template <class Stored>
class AssignmentByCore {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  // `spread` is how far v may lie apart at the start.
  DEVICE AssignmentByCore(const DenseCosts<Stored>& costs, const AssignmentTask<Dual>& task, Dual spread)
      : core_(core_of(costs)), workspace_(task.workspace), task_(task), from_duals_(task), spread_(spread),
        is_square_(costs.num_rows == costs.num_columns) {
    core_.carve(workspace_);
    from_duals_.start = AssignmentStart::given;
    from_duals_.has_duals = true;
    from_duals_.many_paths = true;
    from_duals_.workspace = workspace_.rest();
    from_minima_ = from_duals_;
    from_minima_.start = AssignmentStart::reduce;
    from_minima_.has_duals = false;
  }

  template <class Team>
  DEVICE void run(Team& team) {
    bool lacked_columns = false;
    team = start_core(team, core_, task_, spread_, workspace_, &lacked_columns);
    lacked_columns_ = lacked_columns;
    if (starts_anew(task_) && needs_no_auction(core_)) {
      // Bids win little if entries tie.
      if (!is_tied(core_)) from_minima_.start = AssignmentStart::bids;
      team = search_matrix(team, core_, from_minima_);
      return;
    }
    mend_start(team);
    if (search_and_reprice(team)) return;
    team.sync();
    bound_or_bid(team);
    team = search_matrix(team, core_, next_search());
  }

 private:
  // After an auction that misled, or was of no use.
  template <class Team>
  DEVICE void mend_start(Team& team) {
    // An auction is of no use if no epsilon is small enough, as for costs of many magnitudes.
    made_few_tight_ = made_few_tight(core_);
    was_misled_ = leaves_more(core_, ROWS_MISLED) || (lacked_columns_ && !made_few_tight_ && !made_most_tight(core_));
    if (was_misled_) {
      team = bid_in_matrix(team, core_, from_duals_, spread_, workspace_);
      made_few_tight_ = made_few_tight(core_);
    }
    starts_from_minima_ = made_few_tight_;
    if (made_few_tight_) {
      team.each(core_.num_columns, [&](Count column) { task_.v[column] = 0; });
      team.sync();
    }
    if (was_misled_) team = rebuild_core(team, core_, from_duals_);
  }

  // Steps 3 and 4 in turns. Returns whether that solved the problem. If the core does not match all rows, other entries must
  // join it, by a margin that grows until they do. But after an auction of the matrix only few rows are free, far from free
  // columns: entries that join the core would bring them nearer only step by step.
  template <class Team>
  DEVICE bool search_and_reprice(Team& team) {
    auto margin = static_cast<Dual>(core_.totals->spreads.typical());
    if (!(margin > 0)) margin = 1;
    const int most_repricings = was_misled_ && is_tied(core_) ? 0 : MOST_REPRICINGS;
    for (int repricing = 0, rebuilds = 0; repricing < most_repricings; ++repricing) {
      team = search_core(team, core_, next_search());
      starts_from_minima_ = false;
      const bool all_matched = task_.report->size == core_.num_rows;
      if (!all_matched && was_misled_ && !made_few_tight_) return false;
      if (!all_matched) team = outprice_core(team, core_, from_duals_, margin);
      team = reprice_core(team, core_, from_duals_);
      if (core_.totals->found == 0) {
        if (all_matched) return true;
        if (margin > spread_) return false;
        margin *= 8;
      } else if (!grow(team, all_matched, &rebuilds)) {
        return false;
      }
    }
    return false;
  }

  // After repricing found something: whether the core has room for it, or can be picked anew.
  template <class Team>
  DEVICE bool grow(Team& team, bool all_matched, int* rebuilds) {
    const Count found = core_.totals->found, added = core_.totals->added;
    const bool is_full = added == 0 || (is_square_ && all_matched && FULL * added <= found);
    const bool is_picked_anew = is_full && *rebuilds < MOST_REBUILDS;
    if (is_picked_anew) {
      ++*rebuilds;
      team = rebuild_core(team, core_, from_duals_);
    } else if (added == 0) {
      return false;
    }
    const bool has_grown = (is_picked_anew ? found : added) > core_.num_rows / ROWS_FOR_AN_ENTRY;
    if (all_matched && is_square_ && has_grown && !made_few_tight_) {
      const int first_epsilon = lacked_columns_ && !was_misled_ ? FIRST_EPSILON : LAST_EPSILON;
      team = bid_again(team, core_, from_duals_, spread_, first_epsilon, workspace_);
    }
    return true;
  }

  // Before step 5.
  template <class Team>
  DEVICE void bound_or_bid(Team& team) {
    if (is_square_ && !was_misled_) {
      team = bid_in_matrix(team, core_, from_duals_, spread_, workspace_);
      if (made_few_tight(core_)) starts_from_minima_ = true;
      return;
    }
    note(team, task_, CoreStep::bound);
    // What is free after an auction may lie above zero.
    team = bound_duals(team, core_, from_duals_, is_square_ ? 2 * spread_ : spread_);
  }

  DEVICE const AssignmentTask<Dual>& next_search() const { return starts_from_minima_ ? from_minima_ : from_duals_; }

  Core<Stored> core_;
  Workspace workspace_;  // beyond the core
  AssignmentTask<Dual> task_, from_duals_, from_minima_;
  Dual spread_;
  bool is_square_;
  bool lacked_columns_ = false;  // the core, at first: it has learnt of them
  bool was_misled_ = false;      // the core's first auction: it was held in the matrix
  bool made_few_tight_ = false;  // the last auction of the start
  bool starts_from_minima_ = false;  // the next search
};

template <class Team, class Stored>
DEVICE void assign_by_core(Team& team, const DenseCosts<Stored>& costs,
                           const AssignmentTask<typename DenseCosts<Stored>::Dual>& task,
                           typename DenseCosts<Stored>::Dual spread) {
  AssignmentByCore<Stored>(costs, task, spread).run(team);
}

template <class Stored>
DEVICE Count core_workspace_size(const DenseCosts<Stored>& costs, Count team_tile) {
  Workspace workspace(nullptr);
  Core<Stored> core = core_of(costs);
  core.carve(workspace);
  Workspace for_auction(nullptr);
  Auction<Core<Stored>> auction{core};
  auction.carve(for_auction);
  Count most = for_auction.used();
  const Count for_core = search_workspace_size(core);
  most = for_core > most ? for_core : most;
  const Count for_dense = assignment_workspace_size<TightEdges<Stored>>(costs, team_tile);
  most = for_dense > most ? for_dense : most;
  return workspace.used() + most;
}
