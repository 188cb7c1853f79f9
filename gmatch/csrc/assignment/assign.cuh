// assign.cuh: the program of linear assignment: a start, and the search along tight edges.
#pragma once
#include "assignment/classical_edges.cuh"
#include "assignment/row_bids.cuh"
#include "assignment/tight_edges.cuh"
#include "cardinality/starts.cuh"
#include "costs/pass.cuh"
#include "search/phases.cuh"

// Numbered as in gmatch/assignment/lap.py.
MIRRORED_ENUM(AssignmentStart, none, reduce, given, regret, bids);

// Everything that a call of assign works on, except the costs.
template <class Dual>
struct AssignmentTask {
  Matching matching;   // row_match is also in, if start is given
  Dual* u;             // [num_rows]
  Dual* v;             // [num_columns]  also in, if has_duals
  Journal journal;
  char* workspace;     // [assignment_workspace_size(...)]
  Progress* progress;  // [1] zero
  Report* report;      // [1] zero
  AssignmentStart start;
  bool has_duals;
  bool many_paths;

  FIELDS(AssignmentTask, matching, u, v, journal, workspace, progress, report, start, has_duals, many_paths)
};

DEVICE ClaimedForest<true> carve_forest(Workspace& workspace, const Matching& matching, bool keeps_trees = false) {
  ClaimedForest<true> forest{};
  forest.matching = matching;
  forest.carve(workspace, keeps_trees);
  return forest;
}

// The least of cost - v that this lane of a group sees in a row.
template <class Team, class Stored>
DEVICE auto least_reduced_cost(const Team& team, const TightEdges<Stored>& edges, Vertex row) {
  using Dual = typename TightEdges<Stored>::Dual;
  const DenseCosts<Stored>& costs = edges.costs;
  Dual least = costs.infinite();
  TightLists::each_column(
      team, 0, costs.num_columns, [&](Vertex column) { return costs.at(row, column) - edges.v[column]; },
      [&](Vertex, Dual reduced) { least = reduced < least ? reduced : least; });
  return least;
}

template <class Stored>
DEVICE bool is_tight(const TightEdges<Stored>& edges, Vertex row, Vertex column) {
  const auto slack = edges.slack(edges.costs.at(row, column), edges.u[row], edges.v[column]);
  return is_rounding(slack, edges.u[row], edges.v[column]);
}

// As reduce_rows, row by row.
template <class Team, class Edges>
DEVICE void reduce_each_row(const Team& team, const Edges& edges) {
  team.each_group(edges.costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    const auto least = team.min_group(least_reduced_cost(team, edges, row));
    // A row without an allowed pair has no tight edge, whatever its dual.
    if (team.lane() == 0) edges.u[row] = least == edges.costs.infinite() ? 0 : least;
  });
}

// As reduce_rows, in one pass over the matrix.
template <class Team, class Stored>
DEVICE void reduce_rows_together(const Team& team, const TightEdges<Stored>& edges) {
  using Pass = RowPass<Stored>;
  using Rough = typename Pass::Rough;
  constexpr Vertex MINE = Pass::STRATA / Team::LANES;
  const DenseCosts<Stored>& costs = edges.costs;
  const Pass pass{costs};
  pass.each_few_rows(team, [&](Vertex first_row) {
    typename Pass::Dual least[Team::ROWS_AT_ONCE];
    Rough bound[Team::ROWS_AT_ONCE][MINE];
    for (Vertex r = 0; r < Team::ROWS_AT_ONCE; ++r) {
      least[r] = costs.infinite();
      for (Rough& bound_here : bound[r]) bound_here = roughly_above<Rough>(costs.infinite());
    }
    pass.each_below(team, first_row, edges.v, bound, [&](Vertex r, Vertex, Vertex, typename Pass::Dual reduced) {
      if (!(reduced < least[r])) return;
      least[r] = reduced;
      for (Rough& bound_here : bound[r]) bound_here = roughly_above<Rough>(reduced);
    });
    for (Vertex r = 0; r < Team::ROWS_AT_ONCE && first_row + r < costs.num_rows; ++r) {
      const auto u = team.min_group(least[r]);
      // A row without an allowed pair has no tight edge, whatever its dual.
      if (team.lane() == 0) edges.u[first_row + r] = u == costs.infinite() ? 0 : u;
    }
  });
}

// The largest u for the current v: no slack is negative, and every row has a tight edge.
template <class Team, class Edges>
DEVICE void reduce_rows(const Team& team, const Edges& edges) {
  reduce_each_row(team, edges);
}
template <class Team, class Stored>
DEVICE void reduce_rows(const Team& team, const TightEdges<Stored>& edges) {
  if constexpr (Team::STREAMS) {
    // If each row has a lane group, row by row is faster than four rows together on a fourth of the groups.
    if (edges.costs.num_rows > team.size() / team.lanes()) return reduce_rows_together(team, edges);
  }
  reduce_each_row(team, edges);
}

// The largest v for the current u; for square problems, where every column will be matched.
template <class Team, class Stored>
DEVICE void reduce_columns(Steps<Team>& steps, const ClaimedForest<true>& forest, TightEdges<Stored>& edges) {
  forest.plant(steps, edges);  // nothing is matched yet: every row is a root, at distance zero
  edges.begin_phase(steps);
  steps.end();
  edges.lower_distances(
      steps.team, forest.frontier_rows(steps), steps.todo(),
      [&](Vertex column, typename DenseCosts<Stored>::Dual here, const Sprout*) {
        if (here != edges.costs.infinite()) edges.v[column] = here;
      });
  steps.end();
}

// Every wanted row without a column takes a tight column that no row has.
template <class Team, class Stored, class IsWanted>
DEVICE void match_tight_pairs(const Team& team, const Matching& matching, const TightEdges<Stored>& edges,
                              IsWanted is_wanted) {
  const DenseCosts<Stored>& costs = edges.costs;
  const Vertex width = team.lanes() * Team::AT_ONCE, chunks = (costs.num_columns + width - 1) / width;
  team.each_group(costs.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i);
    if (!is_wanted(row)) return;
    const auto u_of_row = edges.u[row];
    // Rows begin in different places: if many edges tie, all rows would otherwise want the same columns.
    Vertex chunk = row % chunks;
    for (Vertex k = 0; k < chunks; ++k, chunk = chunk + 1 < chunks ? chunk + 1 : 0) {
      const Vertex first = chunk * width + team.lane();
      Vertex tight[Team::AT_ONCE];
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        const Vertex column = first + q * team.lanes();
        const Vertex safe = column < costs.num_columns ? column : 0;
        const bool is_tight = safe == column && !(edges.slack(costs.at(row, safe), u_of_row, edges.v[safe]) > 0);
        tight[q] = is_tight ? column : NONE;
      }
      if (take_column(team, matching, row, tight)) break;
    }
  });
}

// Vogel's rule: a column goes to the row that would lose most by its second best column. As tried by Kawtikwar, Cravens,
// Yang, "Improvements to Hungarian Solver", Improvement Attempt 1.
template <class Stored>
class RegretStart {
 public:
  using Dual = typename TightEdges<Stored>::Dual;

  DEVICE RegretStart(const Matching& matching, const TightEdges<Stored>& edges) : matching_(matching), edges_(edges) {}
  DEVICE void carve(Workspace& workspace) {
    bids_ = workspace.take<Count>(matching_.num_columns);
    keys_ = workspace.take<Count>(matching_.num_rows);
    wanted_ = workspace.take<Vertex>(matching_.num_rows);
  }

  // Rounds of bids for tight columns, until no row finds a free one.
  template <class Team>
  DEVICE void run(Steps<Team>& steps) const {
    Team& team = steps.team;
    team.each(matching_.num_columns, [&](Count column) { bids_[column] = NO_BID; });
    team.each_group(matching_.num_rows, [&](Count row) { find_key(team, static_cast<Vertex>(row)); });
    steps.end();
    while (true) {
      team.each_group(matching_.num_rows, [&](Count row) { bid(steps, static_cast<Vertex>(row)); });
      steps.end();
      if (steps.todo() == 0) break;
      team.each(matching_.num_rows, [&](Count i) {
        const Vertex row = static_cast<Vertex>(i), column = wanted_[row];
        if (column == NONE || bids_[column] != keys_[row]) return;
        matching_.row_match[row] = column;
        matching_.col_match[column] = row;
      });
      steps.end();
    }
  }

 private:
  static constexpr Count NO_BID = 0x7fffffffffffffff;

  // The least key wins: the largest regret, then the first row.
  template <class Team>
  DEVICE void find_key(const Team& team, Vertex row) const {
    Dual least = edges_.costs.infinite(), second = least;
    TightLists::each_column(
        team, 0, matching_.num_columns, [&](Vertex column) { return slack(row, column); },
        [&](Vertex, Dual slack) {
          second = slack < least ? least : slack < second ? slack : second;
          least = slack < least ? slack : least;
        });
    const Dual best = team.min_group(least);
    const int winner = team.min_group(least == best ? team.lane() : team.lanes());
    const Dual next = team.min_group(team.lane() == winner ? second : least);
    if (team.lane() != 0) return;
    const Count regret = in_31_bits(static_cast<float>(next - best));
    keys_[row] = (0x7fffffff - regret) * (Count{1} << 32) + row;
  }

  // The first free tight column at or after the row's own place, so that equal rows do not all want one column.
  template <class Team>
  DEVICE void bid(const Steps<Team>& steps, Vertex row) const {
    const Team& team = steps.team;
    if (matching_.row_match[row] != NONE) {
      if (team.lane() == 0) wanted_[row] = NONE;
      return;
    }
    const Vertex start = static_cast<Vertex>(row * 0x9e3779b1ll % matching_.num_columns);
    Vertex nearest = LAST_VERTEX;
    TightLists::each_column(
        team, 0, matching_.num_columns, [&](Vertex column) { return slack(row, column); },
        [&](Vertex column, Dual slack) {
          const Vertex away = column < start ? column - start + matching_.num_columns : column - start;
          if (slack == 0 && away < nearest && matching_.col_match[column] == NONE) nearest = away;
        });
    nearest = team.min_group(nearest);
    if (team.lane() != 0) return;
    wanted_[row] = nearest == LAST_VERTEX ? NONE : static_cast<Vertex>((start + Count{nearest}) % matching_.num_columns);
    if (nearest == LAST_VERTEX) return;
    team.lower(&bids_[wanted_[row]], keys_[row]);
    steps.mark_todo();
  }

  DEVICE Dual slack(Vertex row, Vertex column) const {
    return edges_.slack(edges_.costs.at(row, column), edges_.u[row], edges_.v[column]);
  }
  // Numbers that are not negative, in their order; infinite minus infinite counts as no regret.
  static DEVICE Count in_31_bits(float number) {
    if (!(number > 0)) return 0;
    union {
      float number;
      int bits;
    } same = {number};
    return same.bits;
  }

  const Matching& matching_;
  const TightEdges<Stored>& edges_;
  Count* bids_;     // [num_columns] the least key of the rows that want a column
  Count* keys_;     // [num_rows]
  Vertex* wanted_;  // [num_rows]
};

// Matches by Vogel's rule, if the program has it, or by the first tight column; then by bids, if they are asked for.
template <bool HAS_REGRET, class Team, class Stored, class Dual>
DEVICE void match_tight_pairs(Steps<Team>& steps, const TightEdges<Stored>& edges, const AssignmentTask<Dual>& task,
                              Workspace workspace) {
  if constexpr (HAS_REGRET) {
    if (task.start == AssignmentStart::regret) {
      RegretStart<Stored> regret(task.matching, edges);
      regret.carve(workspace);
      return regret.run(steps);
    }
  }
  match_tight_pairs(steps.team, task.matching, edges, [](Vertex) { return true; });
  if (task.start != AssignmentStart::bids) return;
  steps.team.sync();
  RowBids<Stored> bids(task.matching, edges);
  bids.carve(workspace);
  bids.run(steps);
}

// Drops the pairs of a given matching that are not tight.
template <class Team, class Edges>
DEVICE void keep_tight_pairs(const Team& team, const Matching& matching, const Edges& edges) {
  team.each(matching.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), column = matching.row_match[row];
    if (column != NONE && !is_tight(edges, row, column)) matching.row_match[row] = NONE;
  });
}

// A column that stays free must have v = 0, the largest possible v. Raises v of free columns, or of all columns. Returns
// whether any v was below 0.
template <class Team, class Edges>
DEVICE bool raise_free_columns(Steps<Team>& steps, const Matching& matching, const Edges& edges, bool all) {
  steps.team.each(matching.num_columns, [&](Count column) {
    if (edges.v[column] == 0 || (!all && matching.col_match[column] != NONE)) return;
    edges.v[column] = 0;
    steps.mark_todo();
  });
  steps.end();
  return steps.todo() > 0;
}

// Matches along tight edges, for the current duals v.
template <bool HAS_REGRET, class Team, class Edges, class Dual>
DEVICE void match_tightly(Steps<Team>& steps, const ClaimedForest<true>& forest, Edges& edges,
                          const AssignmentTask<Dual>& task, Workspace workspace) {
  Team& team = steps.team;
  const Matching& matching = task.matching;
  reduce_rows(team, edges);
  team.sync();
  if (task.start == AssignmentStart::given) {
    keep_tight_pairs(team, matching, edges);
    team.sync();
    mirror_rows(team, matching);
    team.sync();
    return;
  }
  clear_matching(team, matching);
  team.sync();
  if (task.start == AssignmentStart::none) return;
  if (matching.num_rows == matching.num_columns && !task.has_duals) reduce_columns(steps, forest, edges);
  match_tight_pairs<HAS_REGRET>(steps, edges, task, workspace);
  team.sync();
}

template <bool HAS_REGRET, class Team, class Edges, class Dual>
DEVICE void run_assignment_start(Steps<Team>& steps, const ClaimedForest<true>& forest, Edges& edges,
                                 const AssignmentTask<Dual>& task, Workspace workspace) {
  // Given duals of a rectangular problem: v of free columns rises to 0 in up to 8 rounds. Then v of all columns does. 16 and 64
  // rounds change nothing, 1 and 2 take 1.15 times as long: benchmarks/log/trees.md, "Thresholds measured again".
  constexpr int MAX_ROUNDS = 8;
  const Matching& matching = task.matching;
  if (!task.has_duals) steps.team.each(matching.num_columns, [&](Count column) { task.v[column] = 0; });
  steps.team.sync();
  // There is one call in the text: a compiler puts a copy of the function wherever it is called.
  for (int round = 0;; ++round) {
    match_tightly<HAS_REGRET>(steps, forest, edges, task, workspace);
    if (!task.has_duals || matching.num_rows == matching.num_columns) return;
    if (!raise_free_columns(steps, matching, edges, round == MAX_ROUNDS)) return;
  }
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
    reduce_rows(team, tight_);
    edges_.list_all(team, [&](Vertex column) {
      if (team.read(&is_tight_[column]) == 0) team.write(&is_tight_[column], 1);
    });
    if (matching_.num_rows == matching_.num_columns) raise_loose_columns(steps);
    edges_.lists.match_pairs(team, matching_);
    team.sync();
    match_tight_pairs(team, matching_, tight_, [&](Vertex row) {
      return !edges_.lists.is_whole(row) && matching_.row_match[row] == NONE;
    });
    team.sync();
  }

 private:
  // As reduce_columns.
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

template <class Edges, class Dual>
DEVICE void set_up(Edges& edges, const AssignmentTask<Dual>& task) {
  edges.many_paths = task.many_paths && task.matching.num_rows == task.matching.num_columns;
}
template <class Stored, class Dual>
DEVICE void set_up(ClassicalEdges<Stored>&, const AssignmentTask<Dual>&) {}

template <class Edges, class Costs, class Dual>
DEVICE Edges edges_of(const Costs& costs, const AssignmentTask<Dual>& task) {
  Edges edges{};
  edges.costs = costs;
  edges.u = task.u;
  edges.v = task.v;
  set_up(edges, task);
  return edges;
}

// The start, which leaves the edges of the search as the first phase needs them. `workspace` begins where the memory of the
// edges begins.
template <bool HAS_REGRET, class Team, class Stored, class Dual>
DEVICE void start_edges(Steps<Team>& steps, const ClaimedForest<true>& forest, TightEdges<Stored>& edges,
                        const AssignmentTask<Dual>& task, Workspace workspace) {
  edges.carve(workspace, static_cast<Count>(steps.team.size()) * Team::TILE);
  run_assignment_start<HAS_REGRET>(steps, forest, edges, task, workspace);
}
template <bool HAS_REGRET, class Team, class Stored, class Dual>
DEVICE void start_edges(Steps<Team>& steps, const ClaimedForest<true>& forest, ClassicalEdges<Stored>& edges,
                        const AssignmentTask<Dual>& task, Workspace workspace) {
  auto tight = edges_of<TightEdges<Stored>>(edges.costs, task);
  if (task.start == AssignmentStart::reduce && !task.has_duals) {
    edges.carve(workspace, 0);
    ListedStart<Stored> listed(forest, tight, edges);
    return listed.run(steps);
  }
  Workspace of_edges = workspace;
  start_edges<HAS_REGRET>(steps, forest, tight, task, workspace);
  steps.team.sync();  // the memory of the start becomes the memory of the edges
  edges.carve(of_edges, 0);
  edges.begin(steps.team);
  steps.team.sync();
}

// Runs the start, in a function of its own with its own copies, so that a GPU's registers are shared out for the search
// alone. So it returns the team.
template <class Edges, bool HAS_REGRET = true, class Team, class Stored, class Dual>
DEVICE_APART Team start_assignment(Team team, DenseCosts<Stored> costs, AssignmentTask<Dual> task) {
  Steps<Team> steps(team, *task.progress);
  Count now = team.nanoseconds();
  Workspace workspace(task.workspace);
  const auto forest = carve_forest(workspace, task.matching);
  auto edges = edges_of<Edges>(costs, task);
  start_edges<HAS_REGRET>(steps, forest, edges, task, workspace);
  Count start_size = 0;
  team.each(costs.num_rows, [&](Count row) { start_size += task.matching.row_match[row] != NONE; });
  team.add_all(&task.report->start_size, start_size);
  team.sync();  // the last step of the start has been read by all
  if (team.rank() == 0) {
    *task.progress = Progress{};
    task.report->start = static_cast<Count>(task.start);
    task.report->start_ns += lap(team, now);
  }
  team.sync();
  return team;
}

// For run_phases. If every row is matched, the duals are the proof, and no further search is needed.
template <class Dual>
struct AllMatched {
  const AssignmentTask<Dual>& task;

  DEVICE bool operator()(Vertex) const {
    return task.report->start_size + task.progress->augmented == task.matching.num_rows;
  }
};

// Date and Nagi's variants: the classical one with ClassicalEdges, the alternating trees with TightEdges. HAS_REGRET: whether
// the task may ask for the start by regret, which takes long to compile.
template <class Edges, bool HAS_REGRET = true, class Team, class Stored>
DEVICE void assign(Team& team, const DenseCosts<Stored>& costs,
                   const AssignmentTask<typename DenseCosts<Stored>::Dual>& task) {
  Report& report = *task.report;
  team = start_assignment<Edges, HAS_REGRET>(team, costs, task);

  Steps<Team> steps(team, *task.progress);
  Workspace workspace(task.workspace);
  const auto forest = carve_forest(workspace, task.matching);
  auto edges = edges_of<Edges>(costs, task);
  edges.carve(workspace, static_cast<Count>(team.size()) * Team::TILE);
  run_phases(steps, forest, edges, false, task.journal, report, AllMatched<typename DenseCosts<Stored>::Dual>{task});

  if (team.rank() == 0) {
    report.size = report.start_size + steps.progress.augmented;
    report.dual_steps += edges.dual_steps;
    report.rows_scanned += edges.rows_scanned;
  }
}

template <class Edges, class Stored>
DEVICE Count assignment_workspace_size(const DenseCosts<Stored>& costs, Count team_tile) {
  Workspace workspace(nullptr);
  const auto forest = carve_forest(workspace, {costs.num_rows, costs.num_columns, nullptr, nullptr});
  Workspace for_search = workspace;
  Edges edges{};
  edges.costs = costs;
  edges.carve(for_search, team_tile);
  TightEdges<Stored> start_edges{};
  start_edges.costs = costs;
  start_edges.carve(workspace, team_tile);
  Workspace for_regret = workspace;
  RegretStart<Stored>(forest.matching, start_edges).carve(for_regret);
  RowBids<Stored>(forest.matching, start_edges).carve(workspace);
  Count most = for_search.used();
  for (const Count used : {for_regret.used(), workspace.used()}) most = used > most ? used : most;
  return most;
}
