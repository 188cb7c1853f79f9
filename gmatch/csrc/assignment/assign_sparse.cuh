// assign_sparse.cuh: the program of sparse linear assignment: a start, and the search along tight edges.
#pragma once
#include "assignment/assign.cuh"
#include "assignment/auction.cuh"
#include "assignment/sparse_tight_edges.cuh"

// Epsilons of an auction among all rows, in spreads of a row: powers of two.
constexpr int FIRST_SPARSE_EPSILON = 1, LAST_SPARSE_EPSILON = -21;
// The last epsilon of an auction alone. Rows that draw far pairs have wide spreads: with -21 the pairs of 4,103 of 100,000 points
// in clusters, d = 16, were not tight (benchmarks/log/points.md, "Rows of many coordinates draw far pairs").
constexpr int LAST_EPSILON_ALONE = -29;
// How many times as long chains may get, see Auction::times_after. 64 is no better: benchmarks/log/sparse.md, "Chains as
// long as they are worth".
constexpr Vertex MOST_TIMES = 16;

// For run_phases. A search is at its end if every row is matched. It is given up if its rest would have more levels than the
// `most_levels` of its task. The rest is taken to have 1 phase for each free row, with the mean number of levels of the phases
// so far.
template <class Dual>
struct IsAtEndOrGivenUp {
  const AssignmentTask<Dual>& task;

  DEVICE bool operator()(Vertex) const { return num_free() == 0 || is_given_up(); }
  DEVICE bool is_given_up() const {
    const Report& report = *task.report;
    return task.most_levels > 0 && num_free() * report.levels > task.most_levels * report.phases;
  }

 private:
  DEVICE Count num_free() const {
    return task.matching.num_rows - task.report->start_size - task.progress->augmented;
  }
};

template <class Team, class Costs>
DEVICE void assign_sparse(Team& team, const Costs& costs, const AssignmentTask<typename Costs::Dual>& task) {
  const Matching& matching = task.matching;
  Report& report = *task.report;
  Steps<Team> steps(team, *task.progress);
  Count now = team.nanoseconds();

  Workspace workspace(task.workspace);
  const auto forest = carve_forest(workspace, matching, true);
  auto edges = edges_of<SparseTightEdges<Costs>>(costs, task);
  edges.carve(workspace);
  edges.begin(team);

  run_assignment_start<false>(steps, forest, edges, task, workspace);
  // An entry that a free row left out may be better than all its entries.
  if constexpr (Costs::LEAVES_OUT) {
    team.each(matching.num_rows, [&](Count row) {
      if (matching.row_match[row] == NONE && costs.rest[row] < task.u[row]) task.u[row] = costs.rest[row];
    });
  }
  Count start_size = 0;
  team.each(matching.num_rows, [&](Count row) { start_size += matching.row_match[row] != NONE; });
  team.add_all(&report.start_size, start_size);
  if (team.rank() == 0) report.start_ns += lap(team, now);
  steps.end();

  run_phases(steps, forest, edges, false, task.journal, report, IsAtEndOrGivenUp<typename Costs::Dual>{task});

  team.sync();  // others may still read the levels, to know whether the search is given up
  team.add_all(&report.edges_inspected, edges.distances.entries_read);
  team.add_all(&report.rows_scanned, edges.distances.rows_scanned);
  if (team.rank() == 0) {
    report.start = static_cast<Count>(task.start);
    report.size = report.start_size + steps.progress.augmented;
    report.dual_steps += edges.dual_steps;
    report.levels += edges.distances.rounds;
  }
}

// An auction, if all columns are to be matched and costs differ. The search of this launch starts from its pairs and its v. If
// the auction is alone, the launch has no search.
template <class Team, class Costs, class Dual>
DEVICE_APART Team start_from_auction(Team team, Costs costs, AssignmentTask<Dual> task, Dual spread, bool is_alone,
                                    bool* was_held) {
  Count now = team.nanoseconds();
  Workspace workspace(task.workspace);
  auto* spreads = workspace.take<Spreads<Dual>>(1);
  const int last = is_alone ? LAST_EPSILON_ALONE : LAST_SPARSE_EPSILON;
  Auction<Costs> auction{costs,         spreads, FIRST_SPARSE_EPSILON, last, bids_of_chain(costs.num_rows),
                         task.matching, task.v,  spread,               is_alone};
  auction.carve(workspace);
  measure_spreads(team, costs, spreads);
  *was_held = auction.has_epsilon();
  if (*was_held) {
    auction.run(team, 1, MOST_TIMES);
    refine_prices(team, costs, task.matching, task.v);
    if (team.rank() == 0) {
      task.report->bids = *auction.num_bids;
      task.report->start_ns = lap(team, now);
    }
  }
  team.sync();
  return team;
}

// The whole program. `spread` is how far v may lie apart at the start.
template <class Team, class Costs>
DEVICE void assign_stored(Team& team, const Costs& costs, AssignmentTask<typename Costs::Dual> task,
                          typename Costs::Dual spread) {
  const bool is_square = costs.num_rows == costs.num_columns;
  if (task.start == AssignmentStart::reduce && !task.has_duals && task.many_paths && is_square) {
    bool has_v = false;
    team = start_from_auction(team, costs, task, spread, false, &has_v);
    task.has_duals = has_v;
    if (has_v) task.start = AssignmentStart::given;
  }
  assign_sparse(team, costs, task);
}

template <class Costs>
DEVICE Count search_workspace_size(const Costs& costs) {
  Workspace workspace(nullptr);
  carve_forest(workspace, {costs.num_rows, costs.num_columns, nullptr, nullptr}, true);
  SparseTightEdges<Costs> edges{};
  edges.distances.costs = costs;
  edges.carve(workspace);
  return workspace.used();
}

template <class Costs>
DEVICE Count sparse_assignment_workspace_size(const Costs& costs) {
  Workspace for_auction(nullptr);
  for_auction.take<Spreads<typename Costs::Dual>>(1);
  Auction<Costs> auction{costs};
  auction.carve(for_auction);
  const Count for_search = search_workspace_size(costs);
  return for_auction.used() > for_search ? for_auction.used() : for_search;
}
