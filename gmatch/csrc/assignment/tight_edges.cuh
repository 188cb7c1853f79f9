// tight_edges.cuh: the tight edges of a dense matrix of costs, and the duals that make them so.
//
// An edge is tight when its slack, cost - u - v, is zero. The search grows its trees along tight edges; when no tree can
// grow, the duals are shifted until an edge becomes tight.
//
// Date, Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57 (2016),
// the alternating tree variant: a slack and a predecessor for each column (Algorithm 4), dual step of O(n) (Algorithm 9).
// The duals do not change during a phase. Every column knows its distance from the roots instead, and the radius grows to the
// next distance: a dual step is one pass over the columns. The duals follow at the end of the phase.
//
// Races decide only ties: one thread lowers the distance of a column, or the parts of a step do, which are combined behind a
// barrier. A column joins the forest when its distance lies within the radius. The column with the smallest distance does, bit
// for bit. So every dual step makes progress, for floats as for integers.
#pragma once
#include "costs/dense.cuh"
#include "search/claimed_forest.cuh"

template <class Stored>
struct TightEdges {
  using Dual = typename DenseCosts<Stored>::Dual;
  static constexpr Vertex ROWS_PER_PART = 4;  // rows of a frontier at least, to be worth another thread and a barrier

  DenseCosts<Stored> costs;
  bool many_paths;        // a phase goes on until half of its trees have a path; square problems only
  Dual* u;                // [num_rows]
  Dual* v;                // [num_columns]
  Dual* distance;         // [num_columns] from the nearest root, as far as known; settled inside the radius
  Sprout* nearest;        // [num_columns] the row it is reached from, and its root
  Dual* part_distance;    // [team_columns]   what each part of a step found
  Vertex* part_nearest;   // [team_columns]
  Dual* radii;            // [3]             the next radius; three cells take turns, as in Progress
  Dual radius;            // this thread's copies; all agree
  Vertex num_roots;
  Count dual_steps, rows_scanned;

  // `team_columns` is the size of the team times its COLUMNS_AT_ONCE: more columns than that are never cut into parts.
  DEVICE void carve(Workspace& workspace, Count team_columns) {
    distance = workspace.take<Dual>(costs.num_columns);
    nearest = workspace.take<Sprout>(costs.num_columns);
    part_distance = workspace.take<Dual>(team_columns);
    part_nearest = workspace.take<Vertex>(team_columns);
    radii = workspace.take<Dual>(3);
  }

  template <class Task>
  DEVICE void set_up(const DenseCosts<Stored>& of, const Task& task) {
    costs = of;
    u = task.u;
    v = task.v;
    many_paths = has_many_paths(task);
  }

  // The start, see start.cuh and dense_start.cuh. It leaves the edges as the first phase needs them. `workspace` begins where
  // the memory of the edges begins.
  template <bool HAS_REGRET, class Team, class Task>
  DEVICE void start(Steps<Team>& steps, const ClaimedForest<true>& forest, const Task& task, Workspace workspace);
  // The least of cost - v that this lane of a group sees in a row.
  template <class Team>
  DEVICE Dual least_reduced_cost(const Team& team, Vertex row) const;
  template <class Team>
  DEVICE void reduce_rows(const Team& team) const;
  template <class Team>
  DEVICE void reduce_columns(Steps<Team>& steps, const ClaimedForest<true>& forest);
  DEVICE bool is_tight(Vertex row, Vertex column) const;
  template <bool HAS_REGRET, class Team, class Task>
  DEVICE void take_tight_columns(Steps<Team>& steps, const Task& task, Workspace workspace) const;
  // Every wanted row without a column takes its first tight column that no row has.
  template <class Team, class IsWanted>
  DEVICE void take_first_tight(const Team& team, const Matching& matching, IsWanted is_wanted) const;

  DEVICE bool has_edges(Vertex) const { return true; }
  static constexpr DEVICE bool keeps_trees() { return false; }

  template <class Team>
  DEVICE void begin_phase(const Steps<Team>& steps) {
    radius = 0;
    num_roots = NONE;
    steps.team.each(costs.num_columns, [&](Count column) { distance[column] = costs.infinite(); });
    if (steps.team.rank() == 0) radii[steps.next()] = radii[steps.before()] = costs.infinite();
  }

  // Lets the rows of the frontier lower the distances of all columns; those within the radius join the forest.
  template <class Team>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex level, bool) {
    const Sprout* rows = forest.frontier_rows(steps);
    if (level == 0) num_roots = steps.todo();
    Dual next_radius = costs.infinite();
    const Count inspected = lower_distances(
        steps.team, rows, steps.todo(),
        [&](Vertex column, Dual here, const Sprout* by) { settle(steps, forest, column, here, by, next_radius); });
    propose_radius(steps, next_radius);
    rows_scanned += steps.todo();
    return inspected;
  }

  // The dual step: the radius grows to the next distance. Returns false if this phase is over, or no column can be reached.
  template <class Team>
  DEVICE bool widen(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    const Vertex found = steps.found();
    if (found > 0 && !(many_paths && 2 * found < num_roots)) return false;
    const Dual next = steps.team.read(&radii[steps.current()]);
    if (next == costs.infinite()) return false;
    radius = next;
    ++dual_steps;
    Dual next_radius = costs.infinite();
    steps.team.each(costs.num_columns, [&](Count column) {
      if (!forest.reached(column)) settle(steps, forest, column, distance[column], &nearest[column], next_radius);
    });
    propose_radius(steps, next_radius);
    steps.end();
    return true;
  }

  // Shifts the duals by radius - distance: no slack becomes negative, and the paths become tight.
  template <class Team>
  DEVICE void end_phase(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    if (radius == 0) return;  // no dual changes
    steps.team.each(costs.num_rows, [&](Count row) {
      const Vertex column = forest.matching.row_match[row];
      if (column == NONE) u[row] += radius;
      else if (forest.reached(column)) u[row] += radius - distance[column];
    });
    steps.team.each(costs.num_columns, [&](Count column) {
      if (forest.reached(column)) v[column] -= radius - distance[column];
    });
    steps.end();
  }

  // distance[j] = min(distance[j], radius + slack of (i, j)) for all rows i of a list, and nearest[j] with it, for the
  // columns outside the forest. The thread that finds them then calls then(j, distance[j], &nearest[j]), or with a place that
  // holds equal values. Returns the entries that this thread read.
  template <class Team, class Then>
  DEVICE Count lower_distances(Team& team, const Sprout* rows, Vertex count, Then then) {
    const Vertex parts = parts_for(team, count);
    const Vertex width = Team::COLUMNS_AT_ONCE * team.lanes();
    const Vertex tiles = (costs.num_columns + width - 1) / width;
    Count inspected = 0;
    team.each_tile(static_cast<Count>(tiles) * parts, [&](Count item) {
      const Vertex part = static_cast<Vertex>(item / tiles);
      const Vertex first = static_cast<Vertex>(item % tiles) * width + team.lane();
      Dual best[Team::COLUMNS_AT_ONCE];
      Vertex from[Team::COLUMNS_AT_ONCE];
      if constexpr (Team::COLUMNS_AT_ONCE == 1) {
        inspected += scan_column(team, rows, count, part, parts, first, best[0], from[0]);
      } else {
        inspected += scan_tile(team, rows, count, part, parts, first, best, from);
      }
      for (int k = 0; k < Team::COLUMNS_AT_ONCE; ++k) {
        const Vertex column = first + k * team.lanes();
        if (column >= costs.num_columns) break;
        if (parts > 1) {
          part_distance[part * static_cast<Count>(costs.num_columns) + column] = best[k];
          part_nearest[part * static_cast<Count>(costs.num_columns) + column] = from[k];
        } else {
          const Sprout* by = from[k] == NONE ? &nearest[column] : rows + from[k];
          if (from[k] != NONE) lower(column, best[k], *by);
          then(column, best[k], by);
        }
      }
    });
    if (parts > 1) {
      team.sync();
      team.each(costs.num_columns, [&](Count column) {
        Dual here = distance[column];
        Vertex from = NONE;
        for (Vertex part = 0; part < parts; ++part) {
          const Count cell = part * static_cast<Count>(costs.num_columns) + column;
          const Dual of_part = part_distance[cell];  // no more than it was
          if (of_part >= here) continue;
          here = of_part;
          from = part_nearest[cell];
        }
        const Sprout* by = from == NONE ? &nearest[column] : rows + from;
        if (from != NONE) lower(static_cast<Vertex>(column), here, *by);
        then(static_cast<Vertex>(column), here, by);
      });
    }
    return inspected;
  }

 private:
  template <class Team>
  DEVICE void reduce_rows_together(const Team& team) const;

  // Into how many parts a step cuts its rows, so that every thread of the team has something to do.
  template <class Team>
  DEVICE Vertex parts_for(const Team& team, Vertex count) const {
    const Vertex width = Team::COLUMNS_AT_ONCE * team.lanes();
    const Vertex tiles = (costs.num_columns + width - 1) / width;
    const Vertex groups = team.size() / team.lanes();
    if (tiles == 0) return 1;
    const Vertex fewest = Team::AT_ONCE > ROWS_PER_PART ? Team::AT_ONCE : ROWS_PER_PART;
    const Vertex wanted = count / fewest, possible = groups / tiles;
    const Vertex parts = wanted < possible ? wanted : possible;
    return parts > 1 ? parts : 1;
  }

  // The best of the rows part, part + parts, ... for the columns first, first + lanes, ...
  template <class Team>
  DEVICE Count scan_tile(const Team& team, const Sprout* rows, Vertex count, Vertex part, Vertex parts, Vertex first,
                         Dual (&best)[Team::COLUMNS_AT_ONCE], Vertex (&from)[Team::COLUMNS_AT_ONCE]) const {
    const Vertex in_tile = columns_in_tile(team, first);
    Dual v_of_column[Team::COLUMNS_AT_ONCE];
    for (Vertex k = 0; k < in_tile; ++k) {
      from[k] = NONE;
      best[k] = distance[first + k * team.lanes()];
      v_of_column[k] = v[first + k * team.lanes()];
    }
    for (Vertex i = part; i < count; i += parts) {
      const Vertex row = rows[i].row;
      const Dual u_of_row = u[row];
      for (Vertex k = 0; k < in_tile; ++k) {
        const Dual reach = radius + slack_of<Dual>(costs.at(row, first + k * team.lanes()), u_of_row, v_of_column[k]);
        if (reach >= best[k]) continue;
        best[k] = reach;
        from[k] = i;
      }
    }
    return static_cast<Count>(in_tile) * ((count - part + parts - 1) / parts);
  }

  // The best of these rows for one column, some entries together. A team that streams first compares rounded entries: most
  // are far too large, and are not computed exactly.
  template <class Team>
  DEVICE Count scan_column(const Team&, const Sprout* rows, Vertex count, Vertex part, Vertex parts, Vertex column,
                           Dual& best, Vertex& from) const {
    using Rough = typename DenseCosts<Stored>::Rough;
    from = NONE;
    if (column >= costs.num_columns) return 0;
    best = distance[column];
    const Dual v_of_column = v[column];
    const Rough limit = static_cast<Rough>(costs.limit);
    // A bound for cost - u, rounded up.
    const auto bound_now = [&] {
      return roughly_above<Rough>(best) + roughly_above<Rough>(-radius) + roughly_above<Rough>(v_of_column);
    };
    Rough bound = bound_now();
    // The rows of the next batch of entries are read while this batch is compared.
    Vertex row[Team::AT_ONCE];
    const auto find_rows = [&](Vertex i) {
      // Past the end of the list a row is compared again, which changes nothing.
      for (int q = 0; q < Team::AT_ONCE; ++q) row[q] = rows[i + q * parts < count ? i + q * parts : i].row;
    };
    const Vertex step = parts * Team::AT_ONCE;
    if (part < count) find_rows(part);
    for (Vertex i = part; i < count; i += step) {
      Stored entry[Team::AT_ONCE];
      Dual u_of_row[Team::AT_ONCE];
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        u_of_row[q] = u[row[q]];
        entry[q] = *costs.place(row[q], column);
      }
      find_rows(i + step < count ? i + step : i);
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        const Rough rough_u = roughly_above<Rough>(u_of_row[q]);
        if (Team::STREAMS && costs.roughly_of_entry(value_of(entry[q]), limit) - rough_u > bound) continue;
        const Dual reach = radius + slack_of<Dual>(costs.of_entry(value_of(entry[q])), u_of_row[q], v_of_column);
        if (reach >= best) continue;
        best = reach;
        from = i + q * parts;
        bound = bound_now();
      }
    }
    return (count - part + parts - 1) / parts;
  }

  template <class Team>
  DEVICE Vertex columns_in_tile(const Team& team, Vertex first) const {
    if (first >= costs.num_columns) return 0;
    const Vertex left = (costs.num_columns - first + team.lanes() - 1) / team.lanes();
    return left < Team::COLUMNS_AT_ONCE ? left : Team::COLUMNS_AT_ONCE;
  }

  DEVICE void lower(Vertex column, Dual reach, Sprout from) const {
    distance[column] = reach;
    nearest[column] = from;
  }

  template <class Team>
  DEVICE void settle(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex column, Dual here,
                     const Sprout* by, Dual& next_radius) const {
    if (here > radius) {
      if (here < next_radius) next_radius = here;
    } else if (!forest.reached(column)) {
      forest.visit(steps, forest.anchor(by->row), by->root, column, 0);
    }
  }

  template <class Team>
  DEVICE void propose_radius(const Steps<Team>& steps, Dual next_radius) const {
    if (steps.team.rank() == 0) radii[steps.before()] = costs.infinite();
    steps.team.min_all(&radii[steps.next()], next_radius);
  }
};
