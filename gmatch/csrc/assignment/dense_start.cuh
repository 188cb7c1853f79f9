// dense_start.cuh: the start of linear assignment along the tight edges of a dense matrix; see start.cuh.
#pragma once
#include "assignment/classical_edges.cuh"
#include "assignment/regret.cuh"
#include "assignment/row_bids.cuh"
#include "assignment/start.cuh"
#include "assignment/tight_edges.cuh"
#include "costs/pass.cuh"

template <class Stored>
template <class Team>
DEVICE typename TightEdges<Stored>::Dual TightEdges<Stored>::least_reduced_cost(const Team& team, Vertex row) const {
  Dual least = costs.infinite();
  TightLists::each_column(
      team, 0, costs.num_columns, [&](Vertex column) { return costs.at(row, column) - v[column]; },
      [&](Vertex, Dual reduced) { least = reduced < least ? reduced : least; });
  return least;
}

template <class Stored>
template <class Team>
DEVICE void TightEdges<Stored>::reduce_rows(const Team& team) const {
  if constexpr (Team::STREAMS) {
    // If each row has a lane group, row by row is faster than four rows together on a fourth of the groups.
    if (costs.num_rows > team.size() / team.lanes()) return reduce_rows_together(team);
  }
  reduce_each_row(team, *this);
}

// As reduce_rows, in one pass over the matrix.
template <class Stored>
template <class Team>
DEVICE void TightEdges<Stored>::reduce_rows_together(const Team& team) const {
  using Pass = RowPass<Stored>;
  using Rough = typename Pass::Rough;
  constexpr Vertex MINE = Pass::STRATA / Team::LANES;
  const Pass pass{costs};
  pass.each_few_rows(team, [&](Vertex first_row) {
    typename Pass::Dual least[Team::ROWS_AT_ONCE];
    Rough bound[Team::ROWS_AT_ONCE][MINE];
    for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
      least[r] = costs.infinite();
      for (Rough& bound_here : bound[r]) bound_here = roughly_above<Rough>(costs.infinite());
    }
    pass.each_below(team, first_row, v, bound, [&](Vertex r, Vertex, Vertex, typename Pass::Dual reduced) {
      if (!(reduced < least[r])) return;
      least[r] = reduced;
      for (Rough& bound_here : bound[r]) bound_here = roughly_above<Rough>(reduced);
    });
    for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < costs.num_rows; ++r) {
      const auto least_of_row = team.min_group(least[r]);
      // A row without an allowed pair has no tight edge, whatever its dual.
      if (team.lane() == 0) u[first_row + r] = least_of_row == costs.infinite() ? 0 : least_of_row;
    }
  });
}

template <class Stored>
template <class Team>
DEVICE void TightEdges<Stored>::reduce_columns(Steps<Team>& steps, const ClaimedForest<true>& forest) {
  forest.plant(steps, *this);  // nothing is matched yet: every row is a root, at distance zero
  begin_phase(steps);
  steps.end();
  lower_distances(
      steps.team, forest.frontier_rows(steps), steps.todo(),
      [&](Vertex column, Dual here, const Sprout*) {
        if (here != costs.infinite()) v[column] = here;
      });
  steps.end();
}

template <class Stored>
DEVICE bool TightEdges<Stored>::is_tight(Vertex row, Vertex column) const {
  return is_rounding(slack_of<Dual>(costs.at(row, column), u[row], v[column]), u[row], v[column]);
}

// Every wanted row without a column takes a tight column that no row has.
template <class Stored>
template <class Team, class IsWanted>
DEVICE void TightEdges<Stored>::take_first_tight(const Team& team, const Matching& matching, IsWanted is_wanted) const {
  const Vertex width = team.lanes() * Team::AT_ONCE, chunks = (costs.num_columns + width - 1) / width;
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    if (!is_wanted(row)) return;
    const auto u_of_row = u[row];
    // Rows begin in different places: if many edges tie, all rows would otherwise want the same columns.
    Vertex chunk = row % chunks;
    for (Vertex k = 0; k < chunks; ++k, chunk = chunk + 1 < chunks ? chunk + 1 : 0) {
      const Vertex first = chunk * width + team.lane();
      Vertex tight[Team::AT_ONCE];
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        const Vertex column = first + q * team.lanes();
        const Vertex safe = column < costs.num_columns ? column : 0;
        const bool is_tight = safe == column && !(slack_of<Dual>(costs.at(row, safe), u_of_row, v[safe]) > 0);
        tight[q] = is_tight ? column : NONE;
      }
      if (take_column(team, matching, row, tight)) break;
    }
  });
}

// Matches by Vogel's rule, if the program has it, or by the first tight column; then by bids, if they are asked for.
template <class Stored>
template <bool HAS_REGRET, class Team, class Task>
DEVICE void TightEdges<Stored>::take_tight_columns(Steps<Team>& steps, const Task& task, Workspace workspace) const {
  if constexpr (HAS_REGRET) {
    if (task.start == AssignmentStart::regret) {
      RegretStart<Stored> regret(task.matching, *this);
      regret.carve(workspace);
      return regret.run(steps);
    }
  }
  take_first_tight(steps.team, task.matching, [](Vertex) { return true; });
  if (task.start != AssignmentStart::bids) return;
  steps.team.sync();
  RowBids<Stored> bids(task.matching, *this);
  bids.carve(workspace);
  bids.run(steps);
}

// The start of the classical variant. The lists are made first, and the rest follows from them without another pass over the
// matrix. Only columns without a tight edge are read again. All other columns have the largest possible v, zero.
template <class Stored>
class ListedStart {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  // Only the costs and the duals of `tight` are used. Memory that the search needs later is free until then.
  DEVICE ListedStart(const ClaimedForest<true>& forest, const TightEdges<Stored>& tight, ClassicalEdges<Stored>& edges)
      : matching_(forest.matching), tight_(tight), edges_(edges), is_tight_(forest.predecessor), loose_(edges.lists.stale) {}

  template <class Team>
  DEVICE void run(Steps<Team>& steps) {
    Team& team = steps.team;
    clear_matching(team, matching_);
    team.each(matching_.num_columns, [&](Count column) { edges_.v[column] = is_tight_[column] = 0; });
    team.sync();
    tight_.reduce_rows(team);
    edges_.list_all(team, [&](Vertex column) {
      if (team.read(&is_tight_[column]) == 0) team.write(&is_tight_[column], 1);
    });
    if (matching_.num_rows == matching_.num_columns) raise_loose_columns(steps);
    edges_.lists.match_pairs(team, matching_);
    team.sync();
    tight_.take_first_tight(team, matching_, [&](Vertex row) {
      return !edges_.lists.is_whole(row) && matching_.row_match[row] == NONE;
    });
    team.sync();
  }

 private:
  // As reduce_columns of TightEdges.
  template <class Team>
  DEVICE void raise_loose_columns(Steps<Team>& steps) {
    Team& team = steps.team;
    team.each(matching_.num_columns, [&](Count column) {
      if (!is_tight_[column]) loose_[steps.append()] = static_cast<Vertex>(column);
    });
    steps.end();
    const Vertex count = steps.todo();
    if (count == 0) return;
    team.each(count, [&](Count i) { edges_.v[loose_[i]] = edges_.costs.infinite(); });
    team.sync();
    edges_.lists.each_part_of_columns(team, loose_, count, [&](Vertex column, Vertex first, Vertex end) {
      Dual least = edges_.costs.infinite();
      TightLists::each_in_turn<Team>(
          first, end, [&](Vertex row) { return edges_.costs.at(row, column) - edges_.u[row]; },
          [&](Vertex, Dual reduced) { least = reduced < least ? reduced : least; });
      if (least < team.read(&edges_.v[column])) team.lower(&edges_.v[column], least);
    });
    team.sync();
    // A column without an allowed pair has no tight edge, whatever its dual.
    team.each(count, [&](Count i) {
      if (edges_.v[loose_[i]] == edges_.costs.infinite()) edges_.v[loose_[i]] = 0;
    });
    team.sync();
    edges_.list_columns(team, loose_, count);
    team.sync();
  }

  const Matching& matching_;
  const TightEdges<Stored>& tight_;
  ClassicalEdges<Stored>& edges_;
  Vertex* is_tight_;  // [num_columns] whether the column has a tight edge: 0 or 1
  Vertex* loose_;     // [num_columns] the columns without a tight edge; square problems only
};

template <class Stored>
template <bool HAS_REGRET, class Team, class Task>
DEVICE void TightEdges<Stored>::start(Steps<Team>& steps, const ClaimedForest<true>& forest, const Task& task,
                                      Workspace workspace) {
  carve(workspace, static_cast<Count>(steps.team.size()) * Team::COLUMNS_AT_ONCE);
  run_assignment_start<HAS_REGRET>(steps, forest, *this, task, workspace);
}

template <class Stored>
template <bool HAS_REGRET, class Team, class Task>
DEVICE void ClassicalEdges<Stored>::start(Steps<Team>& steps, const ClaimedForest<true>& forest, const Task& task,
                                          Workspace workspace) {
  auto tight = edges_of<TightEdges<Stored>>(costs, task);
  if (task.start == AssignmentStart::reduce && !task.has_duals) {
    carve(workspace, 0);
    ListedStart<Stored> listed(forest, tight, *this);
    return listed.run(steps);
  }
  Workspace of_edges = workspace;
  tight.template start<HAS_REGRET>(steps, forest, task, workspace);
  steps.team.sync();  // the memory of the start becomes the memory of the edges
  carve(of_edges, 0);
  begin(steps.team);
  steps.team.sync();
}
