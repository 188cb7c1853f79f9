// munkres.cuh: Munkres' method on a matrix of slacks that is rewritten in place by every dual step.
//
// Lopes, Yadav, Ilic, Patra, "Fast block distributed CUDA implementation of the Hungarian algorithm", J. Parallel Distrib.
// Comput. 130 (2019), and the ladder of improvements to it by Kawtikwar, Chang, Govind, "Improvements to the Hungarian LAP
// Solver", as forms of one program:
//
//   baseline      a launch for each pass: least slack, add and subtract, compress; a counter of all zeros is
//                 added to atomically, beside the counters of the rows
//   reductions    that counter is the sum of the rows' counters (Optimization 0)
//   fused         add, subtract and compress in one pass (Optimization 1)
//   cooperative   one launch; a search goes on after a dual step where it stood (Optimization 2)
//   registers     a slack is read once, and only if the step changes it (Optimization 3)
//
// The search is run_phases along the zeros, in every form. A covered row of the papers is a row outside the forest here, a
// covered column is a column in it.
#pragma once
#include "assignment/assign.cuh"

MIRRORED_ENUM(MunkresForm, baseline, reductions, fused, cooperative, registers);

template <class Cost, class Slack>
struct SlackEdges {
  using Dual = typename DenseCosts<Cost>::Dual;

  DenseCosts<Cost> costs;
  Dual* u;             // [num_rows]
  Dual* v;             // [num_columns]
  MunkresForm form;
  Slack* slacks;       // [num_rows][num_columns]
  TightLists lists;    // of the zeros
  Dual* least;         // [1] uncovered slack; infinite() before the first step
  Vertex* num_zeros;   // [1]
  Count dual_steps;    // this thread's copies; all agree
  Count rows_scanned;
  bool is_changed;     // a dual step was made in this phase

  DEVICE void carve(Workspace& workspace, Count) {
    lists.num_rows = costs.num_rows;
    lists.num_columns = costs.num_columns;
    lists.carve(workspace);
    num_zeros = workspace.take<Vertex>(1);
  }

  DEVICE bool in_one_launch() const { return form >= MunkresForm::cooperative; }
  DEVICE bool has_edges(Vertex) const { return true; }
  static constexpr DEVICE bool keeps_trees() { return false; }
  DEVICE Slack* slack_at(Vertex row, Vertex column) const {
    return slacks + row * static_cast<Count>(costs.num_columns) + column;
  }

  template <class Team>
  DEVICE void begin(const Team& team) {
    lists.mark_all_stale(team);
    if (team.rank() == 0) *num_zeros = 0;
    lists.each_part(team, costs.num_rows, [&](Vertex row, Vertex first, Vertex end) {
      lists.each_column(
          team, first, end, [&](Vertex column) { return costs.at(row, column) - u[row] - v[column]; },
          [&](Vertex column, Dual slack) { *slack_at(row, column) = static_cast<Slack>(slack > 0 ? slack : 0); });
    });
  }

  // Makes anew the lists of the rows that the last phase changed. With several launches a launch of its own has done so.
  template <class Team>
  DEVICE void begin_phase(const Steps<Team>& steps) {
    is_changed = false;
    steps.team.each(costs.num_rows, [&](Count row) { lists.root_of[row] = NONE; });
    if (!in_one_launch()) return;
    const Vertex count = steps.team.read(lists.num_stale);
    lists.each_part(steps.team, count, [&](Vertex i, Vertex first, Vertex end) {
      list_zeros(steps.team, lists.stale[i], first, end);
    });
    rows_scanned += count;
  }

  template <class Team>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex& level, bool) {
    if (steps.team.rank() == 0) {
      *lists.num_stale = 0;
      *least = costs.infinite();
    }
    return lists.expand(
        steps, forest, level, [](Vertex) {},
        [&](const auto& team, Vertex row, Vertex column) { return team.read(slack_at(row, column)); },
        [](Vertex, Vertex, bool, Slack slack) { return slack == 0; });
  }

  template <class Team>
  DEVICE bool widen(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    if (steps.found() > 0 || !in_one_launch()) return false;
    Team& team = steps.team;
    find_least(team, forest);
    // The lists of the forest's rows from here on hold the zeros that are new.
    team.each(costs.num_rows, [&](Count row) {
      if (lists.in_forest(static_cast<Vertex>(row))) lists.sizes[row] = 0;
    });
    steps.end();
    const Dual theta = team.read(least);
    if (theta == costs.infinite()) return false;
    ++dual_steps;
    is_changed = true;
    const auto rejoin = [&](Vertex row) { forest.rejoin(steps, row, lists.root_of[row]); };
    if (form == MunkresForm::registers) {
      shift_in_registers(team, forest, static_cast<Slack>(theta), rejoin);
    } else {
      shift_slacks(team, forest, static_cast<Slack>(theta), [&](Vertex row, Vertex column) {
        if (*slack_at(row, column) != 0 || !lists.in_forest(row) || forest.reached(column)) return;
        if (lists.add(team, row, column) == 0) rejoin(row);
      });
    }
    shift_duals(team, forest, theta);
    rows_scanned += costs.num_rows;
    steps.end();
    return true;
  }

  template <class Team>
  DEVICE void end_phase(Steps<Team>& steps, const ClaimedForest<true>&) {
    if (is_changed) {
      steps.team.each(costs.num_rows, [&](Count row) {
        if (lists.in_forest(static_cast<Vertex>(row))) lists.mark_stale(steps.team, static_cast<Vertex>(row));
      });
    }
    steps.end();
  }

  // The passes of a dual step.

  template <class Team>
  DEVICE void find_least(const Team& team, const ClaimedForest<true>& forest) const {
    Dual smallest = costs.infinite();
    lists.each_part(team, costs.num_rows, [&](Vertex row, Vertex first, Vertex end) {
      if (!lists.in_forest(row)) return;
      lists.each_column(
          team, first, end, [&](Vertex column) { return *slack_at(row, column); },
          [&](Vertex column, Slack slack) {
            if (static_cast<Dual>(slack) < smallest && !forest.reached(column)) smallest = static_cast<Dual>(slack);
          });
    });
    team.min_all(least, smallest);
  }

  // Then calls then(row, column) for every entry, which reads its slack again.
  template <class Team, class Then>
  DEVICE void shift_slacks(const Team& team, const ClaimedForest<true>& forest, Slack theta, Then then) const {
    lists.each_part(team, costs.num_rows, [&](Vertex row, Vertex first, Vertex end) {
      const bool in_forest = lists.in_forest(row);
      for (Vertex column = first + team.lane(); column < end; column += team.lanes()) {
        Slack* slack = slack_at(row, column);
        const bool reached = forest.reached(column);
        if (in_forest && !reached) team.write(slack, static_cast<Slack>(team.read(slack) - theta));
        if (!in_forest && reached) team.write(slack, static_cast<Slack>(team.read(slack) + theta));
        then(row, column);
      }
    });
  }

  template <class Team, class First>
  DEVICE void shift_in_registers(const Team& team, const ClaimedForest<true>& forest, Slack theta, First on_first) const {
    lists.each_part(team, costs.num_rows, [&](Vertex row, Vertex first, Vertex end) {
      const bool in_forest = lists.in_forest(row);
      lists.each_column(
          team, first, end,
          [&](Vertex column) { return forest.reached(column) != in_forest ? *slack_at(row, column) : Slack{0}; },
          [&](Vertex column, Slack slack) {
            if (forest.reached(column) == in_forest) return;
            slack = static_cast<Slack>(in_forest ? slack - theta : slack + theta);
            *slack_at(row, column) = slack;
            if (slack == 0 && in_forest && lists.add(team, row, column) == 0) on_first(row);
          });
    });
  }

  template <class Team>
  DEVICE void shift_duals(const Team& team, const ClaimedForest<true>& forest, Dual theta) const {
    team.each(costs.num_rows, [&](Count row) {
      if (lists.in_forest(static_cast<Vertex>(row))) u[row] += theta;
    });
    team.each(costs.num_columns, [&](Count column) {
      if (forest.reached(static_cast<Vertex>(column))) v[column] -= theta;
    });
  }

  template <class Team>
  DEVICE void clear_lists(const Team& team) const {
    team.each(costs.num_rows, [&](Count row) { lists.sizes[row] = 0; });
    if (team.rank() == 0) *num_zeros = 0;
  }
  template <class Team>
  DEVICE void compress(const Team& team) const {
    lists.each_part(team, costs.num_rows, [&](Vertex row, Vertex first, Vertex end) {
      list_zeros(team, row, first, end);
    });
  }
  // The number of all zeros: the sum of the rows' counters.
  template <class Team>
  DEVICE void sum_zeros(const Team& team) const {
    Vertex zeros = 0;
    team.each(costs.num_rows, [&](Count row) { zeros += lists.sizes[row]; });
    if (zeros > 0) team.fetch_add(num_zeros, zeros);
  }

  template <class Team>
  DEVICE void list_zero(const Team& team, Vertex row, Vertex column) const {
    if (form == MunkresForm::baseline) team.fetch_add(num_zeros, 1);
    lists.add(team, row, column);
  }

 private:
  template <class Team>
  DEVICE void list_zeros(const Team& team, Vertex row, Vertex first, Vertex end) const {
    lists.each_column(
        team, first, end, [&](Vertex column) { return *slack_at(row, column); },
        [&](Vertex column, Slack slack) {
          if (slack == 0) list_zero(team, row, column);
        });
  }
};

template <class Cost, class Slack>
struct Munkres {
  using Edges = SlackEdges<Cost, Slack>;
  using Dual = typename Edges::Dual;

  DenseCosts<Cost> costs;
  AssignmentTask<Dual> task;
  ClaimedForest<true> forest;
  Edges edges;

  DEVICE void set_up(MunkresForm form, Slack* slacks, Dual* least) {
    Workspace workspace(task.workspace);
    forest = carve_forest(workspace, task.matching);
    edges.costs = costs;
    edges.u = task.u;
    edges.v = task.v;
    edges.form = form;
    edges.slacks = slacks;
    edges.least = least;
    edges.carve(workspace, 0);
  }

  // The start, and the slacks after it.
  template <class Team>
  DEVICE void start(Team& team) {
    team = start_assignment<TightEdges<Cost>>(team, costs, task);
    edges.begin(team);
    team.sync();
  }

  // Searches along the zeros, in one launch with all dual steps.
  template <class Team>
  DEVICE void search(Team& team) {
    Report& report = *task.report;
    const Count earlier_phases = report.phases;
    team.sync();
    if (team.rank() == 0) {
      *task.progress = Progress{};
      report.phases = 0;  // the journal has room for the phases of one search
    }
    team.sync();
    Steps<Team> steps(team, *task.progress);
    run_phases(steps, forest, edges, false, task.journal, report);
    if (team.rank() != 0) return;
    report.phases += earlier_phases;
    report.size = (earlier_phases == 0 ? report.start_size : report.size) + steps.progress.augmented;
    report.dual_steps += edges.dual_steps;
    report.rows_scanned += edges.rows_scanned;
  }

  template <class Team>
  DEVICE void find_least(Team& team) { edges.find_least(team, forest); }

  template <class Team>
  DEVICE void add_subtract(Team& team) {
    edges.shift_slacks(team, forest, static_cast<Slack>(*edges.least), [](Vertex, Vertex) {});
    finish_step(team);
  }
  template <class Team>
  DEVICE void add_subtract_compress(Team& team) {
    edges.shift_slacks(team, forest, static_cast<Slack>(*edges.least), [&](Vertex row, Vertex column) {
      if (team.read(edges.slack_at(row, column)) == 0) edges.list_zero(team, row, column);
    });
    finish_step(team);
  }

 private:
  template <class Team>
  DEVICE void finish_step(Team& team) {
    edges.shift_duals(team, forest, *edges.least);
    if (team.rank() == 0) {
      ++task.report->dual_steps;
      task.report->rows_scanned += costs.num_rows;
    }
  }
};

// The whole method on one team. On a GPU the forms before the cooperative one have a launch for each line of the loop.
template <class Team, class Cost, class Slack>
DEVICE void run_munkres(Team& team, Munkres<Cost, Slack>& munkres) {
  auto& edges = munkres.edges;
  munkres.start(team);
  if (edges.in_one_launch()) return munkres.search(team);
  edges.compress(team);
  team.sync();
  while (true) {
    munkres.search(team);
    team.sync();
    if (team.read(&munkres.task.report->size) == munkres.costs.num_rows) return;
    munkres.find_least(team);
    team.sync();
    if (*edges.least == munkres.costs.infinite()) return;
    edges.clear_lists(team);
    team.sync();
    if (edges.form == MunkresForm::fused) {
      munkres.add_subtract_compress(team);
    } else {
      munkres.add_subtract(team);
      team.sync();
      edges.compress(team);
    }
    team.sync();
    if (edges.form != MunkresForm::baseline) edges.sum_zeros(team);
    team.sync();
  }
}

template <class Cost>
DEVICE Count munkres_workspace_size(const DenseCosts<Cost>& costs, Count team_columns) {
  Workspace workspace(nullptr);
  carve_forest(workspace, {costs.num_rows, costs.num_columns, nullptr, nullptr});
  SlackEdges<Cost, Cost> edges{};
  edges.costs = costs;
  edges.carve(workspace, 0);
  const Count for_start = assignment_workspace_size<TightEdges<Cost>>(costs, team_columns);
  return workspace.used() > for_start ? workspace.used() : for_start;
}
