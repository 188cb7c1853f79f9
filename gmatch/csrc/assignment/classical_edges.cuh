// classical_edges.cuh: the tight edges of a dense matrix of costs, compressed row by row.
//
// Date, Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57 (2016), the
// classical variant: the least uncovered slack of every row (Algorithm 7), the dual step (Algorithm 8), compression.
//
// The paper adds and subtracts half the least slack on the two sides of the cover. Here the side of the forest gets all of
// it. The two ways differ by a constant that moves from all u to all v, and integers stay integers. As in tight_edges.cuh,
// duals do not change during a phase: a row that entered the forest at radius d has used up radius - d of its slacks. Each row
// remembers its least slack, so that a dual step reads only rows in which an edge becomes tight.
#pragma once
#include "assignment/tight_lists.cuh"
#include "costs/dense.cuh"

template <class Stored>
struct ClassicalEdges {
  using Dual = typename DenseCosts<Stored>::Dual;

  DenseCosts<Stored> costs;
  Dual* u;              // [num_rows]
  Dual* v;              // [num_columns]
  TightLists lists;
  Dual* entered;        // [num_rows] the radius at which a row entered the forest
  Dual* least;          // [num_rows] a bound below the slacks of the row that are not listed, to columns outside the forest
  Dual* next_radius;    // [1]
  Dual radius;          // this thread's copies; all agree
  Count dual_steps, rows_scanned;

  DEVICE void carve(Workspace& workspace, Count) {
    lists.num_rows = costs.num_rows;
    lists.num_columns = costs.num_columns;
    lists.carve(workspace);
    entered = workspace.take<Dual>(costs.num_rows);
    least = workspace.take<Dual>(costs.num_rows);
    next_radius = workspace.take<Dual>(1);
  }

  template <class Task>
  DEVICE void set_up(const DenseCosts<Stored>& of, const Task& task) {
    costs = of;
    u = task.u;
    v = task.v;
  }

  // As `start` of TightEdges; see dense_start.cuh.
  template <bool HAS_REGRET, class Team, class Task>
  DEVICE void start(Steps<Team>& steps, const ClaimedForest<true>& forest, const Task& task, Workspace workspace);

  // No list is made yet.
  template <class Team>
  DEVICE void begin(const Team& team) {
    lists.mark_all_stale(team);
    team.each(costs.num_rows, [&](Count row) { least[row] = costs.infinite(); });
  }

  // Before the first phase: makes the lists of all rows; on_tight(column) for every tight edge.
  template <class Team, class OnTight>
  DEVICE void list_all(Team& team, OnTight on_tight) {
    begin(team);
    team.sync();
    compress(team, [](Vertex) { return Dual{0}; }, [](Vertex) { return true; },
             [&](Vertex, Vertex column, Vertex) { on_tight(column); });
    team.sync();
    if (team.rank() == 0) *lists.num_stale = 0;
  }

  // Lists the new tight edges of columns whose v has risen since the lists were made.
  template <class Team>
  DEVICE void list_columns(const Team& team, const Vertex* columns, Vertex count) const {
    lists.each_part_of_columns(team, columns, count, [&](Vertex column, Vertex first, Vertex end) {
      TightLists::each_in_turn<Team>(
          first, end, [&](Vertex row) { return with_dual(team, row, column, &u[row]); },
          [&](Vertex row, const EntryAndDual& seen) {
            const Dual slack_now = slack_of<Dual>(costs.of_entry(value_of(seen.entry)), seen.dual, v[column]);
            if (!(slack_now > 0)) lists.add(team, row, column);
            else if (slack_now < team.read(&least[row])) team.lower(&least[row], slack_now);
          });
    });
  }

  DEVICE bool has_edges(Vertex) const { return true; }
  static constexpr DEVICE bool keeps_trees() { return false; }

  // Compresses the rows whose duals the last phase changed. The slacks of the other rows have not become less.
  template <class Team>
  DEVICE void begin_phase(const Steps<Team>& steps) {
    radius = 0;
    if (steps.team.rank() == 0) *next_radius = costs.infinite();
    steps.team.each(costs.num_rows, [&](Count row) { lists.root_of[row] = NONE; });
    compress(steps.team, [](Vertex) { return Dual{0}; }, [](Vertex) { return true; }, [](Vertex, Vertex, Vertex) {});
  }

  template <class Team>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex& level, bool) {
    if (steps.team.rank() == 0) *lists.num_stale = 0;
    return lists.expand(
        steps, forest, level, [&](Vertex row) { entered[row] = radius; },
        [&](const auto& team, Vertex row, Vertex column) {
          return Seen{team.read_once(costs.place(row, column)), team.read(&u[row]), team.read(&v[column]),
                      team.read(&entered[row])};
        },
        [&](Vertex row, Vertex, bool is_new, const Seen& seen) {
          const Dual slack_now = slack_of<Dual>(costs.of_entry(value_of(seen.entry)), seen.u_of_row, seen.v_of_column);
          if ((is_new ? radius : seen.entered) + slack_now <= radius) return true;
          // It was tight when the row was compressed, before the column's dual fell.
          if (slack_now < steps.team.read(&least[row])) steps.team.lower(&least[row], slack_now);
          return false;
        });
  }

  // The dual step. The forest's rows that have a new tight edge are its frontier again.
  template <class Team>
  DEVICE bool widen(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    if (steps.found() > 0) return false;
    Team& team = steps.team;
    Dual nearest = costs.infinite();
    team.each(costs.num_rows, [&](Count row) {
      if (lists.in_forest(row) && reach_of(row) < nearest) nearest = reach_of(row);
    });
    team.min_all(next_radius, nearest);
    steps.end();

    const Dual next = team.read(next_radius);
    if (next == costs.infinite()) return false;
    radius = next;
    ++dual_steps;
    team.each(costs.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      if (!lists.in_forest(row) || reach_of(row) > radius) return;
      lists.mark_stale(team, row);
      least[row] = costs.infinite();
    });
    steps.end();

    if (team.rank() == 0) *next_radius = costs.infinite();
    compress(
        team, [&](Vertex row) { return entered[row]; }, [&](Vertex column) { return !forest.reached(column); },
        [&](Vertex row, Vertex, Vertex place) {
          if (place == 0) forest.rejoin(steps, row, lists.root_of[row]);
        });
    steps.end();
    if (team.rank() == 0) *lists.num_stale = 0;
    return true;
  }

  template <class Team>
  DEVICE void end_phase(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    if (radius == 0) return;  // no dual changes
    Team& team = steps.team;
    team.each(costs.num_columns, [&](Count column) {
      const Vertex mate = forest.matching.col_match[column];
      if (mate != NONE && forest.reached(column)) v[column] -= radius - entered[mate];
    });
    team.each(costs.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      if (!lists.in_forest(row) || radius == entered[row]) return;
      u[row] += radius - entered[row];
      lists.mark_stale(team, row);
      least[row] = costs.infinite();
    });
    steps.end();
  }

 private:
  // The values that tell whether an edge is tight.
  struct Seen {
    Stored entry;
    Dual u_of_row, v_of_column, entered;
  };

  // The values that a pass over a row or a column reads of an edge.
  struct EntryAndDual {
    Stored entry;
    Dual dual;
  };
  template <class Team>
  DEVICE EntryAndDual with_dual(const Team& team, Vertex row, Vertex column, const Dual* dual) const {
    return {team.read_once(costs.place(row, column)), team.read_once(dual)};
  }

  // No edge of a row outside its list becomes tight at a smaller radius.
  DEVICE Dual reach_of(Vertex row) const {
    return least[row] == costs.infinite() ? least[row] : entered[row] + least[row];
  }

  // Lists the tight edges of the stale rows to wanted columns, and notes the least slack of the other edges. Calls
  // on_tight(row, column, place) for each tight edge, with its place in the list. All columns are wanted for a row that
  // entered at this very radius. Integers have no such row. A float's slack may be lost in the radius by rounding. If the phase
  // ends now, the u of this row does not change, and the next phase uses its list.
  template <class Team, class Entered, class IsWanted, class OnTight>
  DEVICE void compress(const Team& team, Entered entered_at, IsWanted is_wanted, OnTight on_tight) {
    const Vertex count = team.read(lists.num_stale);
    lists.each_part(team, count, [&](Vertex i, Vertex first, Vertex end) {
      const Vertex row = lists.stale[i];
      const Dual offset = entered_at(row);
      const bool is_full = team.read(&lists.sizes[row]) > TightLists::CAPACITY;  // a further edge changes nothing
      Dual smallest = costs.infinite();
      lists.each_column(
          team, first, end, [&](Vertex column) { return with_dual(team, row, column, &v[column]); },
          [&](Vertex column, const EntryAndDual& seen) {
            if (offset < radius && !is_wanted(column)) return;
            const Dual slack_now = slack_of<Dual>(costs.of_entry(value_of(seen.entry)), u[row], seen.dual);
            if (offset + slack_now <= radius) {
              on_tight(row, column, is_full ? TightLists::CAPACITY : lists.add(team, row, column));
            } else if (slack_now < smallest) {
              smallest = slack_now;
            }
          });
      smallest = team.min_group(smallest);
      if (team.lane() == 0 && smallest < team.read(&least[row])) team.lower(&least[row], smallest);
    });
    rows_scanned += count;
  }
};
