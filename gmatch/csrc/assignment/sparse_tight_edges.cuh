// sparse_tight_edges.cuh: the tight edges of a sparse matrix of costs, and the duals that make them so.
//
// As in tight_edges.cuh the duals do not change during a phase, and every column knows its distance from the roots, over
// slacks. But a sparse row reaches only few columns, and a dual step for every distinct distance would be a barrier for
// every few entries. So distances are found first, then used:
//
//   widen   finds all distances up to a radius within which free columns lie, by steps (distances.cuh). Rows that leave out a
//           pair that may be nearer read the matrix (readers.cuh)
//   expand  grows the trees, breadth first, along the edges that give a column its distance
//
// Why races do no harm: distances only fall, and the least wins, in any order. They are final before the first column joins a
// tree. So no race for distances chooses the predecessor of a column. The forest's claim does, among the rows that give the
// column its distance, bit for bit. Some row in a tree does so: a final distance came from a distance that is smaller, or that
// was final before it, and so on back to a root.
//
// A tree that found no path stays for the next phase: its edges are tight by then, and all its vertices are at distance zero.
// So distances and trees do not begin anew if a phase finds few of many paths.
//
// Every cut of the distances is a dual step that keeps slacks from being negative: u + (radius - distance), v - (radius -
// distance). In a square problem the radius takes in half as many free columns as there are roots. If columns may stay free,
// their v must stay, and the radius is the distance of the nearest free column.
#pragma once
#include "assignment/distances.cuh"
#include "assignment/readers.cuh"
#include "assignment/start.cuh"
#include "search/near_levels.cuh"

template <class Costs>
struct SparseTightEdges {
  using Dual = typename Costs::Dual;

  Distances<Costs> distances;
  Readers<Costs> readers;
  Dual radius;       // this thread's copies; all agree
  bool has_trees;    // of an earlier phase
  Count num_roots, dual_steps;

  DEVICE void carve(Workspace& workspace) {
    distances.carve(workspace);
    readers.carve(workspace, distances.costs);
  }

  template <class Task>
  DEVICE void set_up(const Costs& of, const Task& task) {
    distances.costs = of;
    distances.u = task.u;
    distances.v = task.v;
    distances.many_paths = has_many_paths(task);
  }

  // The start, see start.cuh.
  template <class Team>
  DEVICE void reduce_rows(const Team& team) const {
    reduce_each_row(team, distances);
  }
  template <class Team>
  DEVICE void reduce_columns(Steps<Team>& steps, const ClaimedForest<true>&) const {
    Team& team = steps.team;
    const Costs& costs = distances.costs;
    Dual* distance = distances.distance;
    team.each(costs.num_columns, [&](Count column) { distance[column] = costs.infinite(); });
    team.sync();
    team.each_group(costs.num_rows, [&](Count row) {
      distances.each_entry(team, static_cast<Vertex>(row), [&](Vertex column, Dual slack) {
        if (slack < team.read(&distance[column])) team.lower(&distance[column], slack);
        return true;
      });
    });
    team.sync();
    team.each(costs.num_columns, [&](Count column) {
      if (distance[column] != costs.infinite()) distances.v[column] += distance[column];
    });
    team.sync();
  }
  DEVICE bool is_tight(Vertex row, Vertex column) const {
    const Costs& costs = distances.costs;
    const Dual u_of_row = distances.u[row], v_of_column = distances.v[column];
    for (auto edge = costs.begin(row); edge < costs.end(row); ++edge) {
      if (costs.column(edge) != column) continue;
      if (is_rounding(slack_of<Dual>(costs.at(edge), u_of_row, v_of_column), u_of_row, v_of_column)) return true;
    }
    return false;
  }
  // There is no start by regret.
  template <bool HAS_REGRET, class Team, class Task>
  DEVICE void take_tight_columns(Steps<Team>& steps, const Task& task, Workspace) const {
    const Team& team = steps.team;
    const Matching& matching = task.matching;
    team.each_group(matching.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      distances.each_entry(team, row, [&](Vertex column, Dual slack) {
        if (slack > 0 || !team.claim(&matching.col_match[column], NONE, row)) return true;
        // Another lane of the group may have found one, too.
        if (!team.claim(&matching.row_match[row], NONE, column)) team.write(&matching.col_match[column], NONE);
        return false;
      });
    });
  }

  // Called once, before the first phase.
  template <class Team>
  DEVICE void begin(const Team& team) {
    has_trees = false;
    distances.begin(team);
  }

  DEVICE bool has_edges(Vertex row) const { return distances.costs.has_edges(row); }
  DEVICE bool keeps_trees() const { return has_trees; }

  template <class Team>
  DEVICE void begin_phase(const Steps<Team>& steps) {
    radius = UNKNOWN;
    num_roots = 0;
    distances.begin_phase(steps.team);
    readers.begin_phase(steps.team, distances.costs);
  }

  // Grows the trees along the edges that give a column its distance. In the first call of a phase the first rows lower
  // columns: roots, and rows of trees that were kept.
  template <class Team>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex& level, bool) {
    if (radius == UNKNOWN) {
      forest.each_frontier_row(steps, level, [&](Vertex row, Vertex) {
        if (steps.team.lane() == 0) distances.begin_from(steps.team, forest.matching.row_match[row]);
        distances.lower_columns(steps, forest, {0, row});
      });
      return 0;
    }
    return expand_rows(steps, forest, level, [&](const auto& near, const auto& near_forest, const Sprout& sprout) {
      return reach_columns(near, near_forest, sprout);
    });
  }

  // Lets a row of a tree reach columns, along edges that give them their distance.
  template <class Team, class Forest>
  DEVICE Count reach_columns(const Steps<Team>& steps, const Forest& forest, const Sprout& sprout) const {
    using Few = typename Distances<Costs>::template Few<Team>;
    const Team& team = steps.team;
    if (!forest.grows(team, sprout.root)) return 0;
    const Vertex mate = team.read(&forest.matching.row_match[sprout.row]);
    const Dual* distance = distances.distance;
    Dual from = 0, there[Few::SIZE];
    const auto look = [&](int k, Vertex column) {
      there[k] = team.read(&distance[column]);
      if (k == 0) from = team.read(&distance[mate == NONE ? 0 : mate]);
    };
    const Count inspected = distances.each_few(team, sprout.row, look, [&](const Few& few) {
      if (mate == NONE) from = 0;
      for (int k = 0; k < Few::SIZE; ++k) {
        if (few.column[k] == NONE || there[k] > radius || from + few.slack(k) != there[k]) continue;
        if (!forest.visit(steps, forest.anchor(sprout.row, mate), sprout.root, few.column[k], 0)) return false;
      }
      return true;
    });
    readers.each_child(team, sprout.row, [&](Vertex column) {
      return forest.visit(steps, forest.anchor(sprout.row, mate), sprout.root, column, 0);
    });
    return inspected;
  }

  // Finds the distances up to a radius with free columns, and plants the trees again. Returns false if this phase is over, or
  // no free column can be reached. After that the trees find a free column, unless costs changed or are not as they were
  // inspected. Then distances need not follow from each other, and only the bounds of the loops end the search.
  template <class Team>
  DEVICE bool widen(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    if (steps.found() > 0 || steps.roots() == 0) return false;
    if (radius != UNKNOWN) return false;
    const Costs& costs = distances.costs;
    const bool many_paths = distances.many_paths;
    Vertex rounds_before = 0;
    for (Count settled = 0;; ++settled) {  // a step settles a column, or more, or a row reads the matrix
      if (Team::INPUT_CHANGES && settled > costs.num_columns + static_cast<Count>(costs.num_rows)) return false;
      const auto all = distances.take_census(steps.team, forest, readers);
      num_roots += all.roots;
      if (rounds_before > 0) distances.fit_step(steps.team, all, rounds_before);
      const bool beyond = all.least_far < costs.infinite();
      if (beyond && (all.num_free == 0 || (many_paths && 2 * all.num_free < num_roots))) {
        rounds_before = distances.settle_step(steps, forest, all);
        continue;
      }
      const Dual to_free = many_paths && all.num_free > 0 ? all.farthest_free : all.nearest_free;
      const Dual wanted = readers.farthest_read < to_free ? readers.farthest_read : to_free;
      if (all.nearest_left < wanted && (readers.may_read() || all.nearest_left < all.nearest_free)) {
        readers.read_rows(steps, forest, distances, readers.may_read() ? wanted : all.nearest_free);
        rounds_before = 0;
        continue;
      }
      if (all.num_free == 0) return false;
      radius = all.nearest_left < wanted ? all.nearest_left : wanted;
      break;
    }
    ++dual_steps;
    readers.collect_children(steps.team, distances, radius);
    forest.plant(steps, *this);
    steps.end();
    return true;
  }

  // Shifts the duals by radius - distance: no slack becomes negative, and the paths become tight.
  template <class Team>
  DEVICE void end_phase(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    const Dual* distance = distances.distance;
    steps.team.each(distances.costs.num_rows, [&](Count row) {
      const Vertex column = forest.matching.row_match[row];
      const Dual from = column == NONE ? 0 : distance[column];
      if (from < radius) distances.u[row] += radius - from;
    });
    steps.team.each(distances.costs.num_columns, [&](Count column) {
      if (distance[column] < radius) distances.v[column] -= radius - distance[column];
    });
    has_trees = true;
    steps.end();
  }

 private:
  static constexpr Dual UNKNOWN = -1;  // below every distance
};
