// ordered_forest.cuh: disjoint alternating trees whose races are decided by order, not by who is first.
//
// The roots are the free rows. If several rows reach a column in one level, the smallest row has it. If a tree reaches
// several free columns in one level, it takes the smallest, and stops growing. Nothing else is chosen, and no choice depends
// on time. So the forest and the matching are equal for any number of threads, lanes and blocks, on a GPU and on a host.
//
// Threads compute this in any order, since a level is two steps. In the first step rows bid for columns, and a column keeps
// the smallest bid. The first bidder, whoever that is, puts the column on a list. In the second step the bids are final, and
// each column of the list is settled: it joins the tree of its row, and its mate joins the next frontier. A free column is a
// path end; its tree keeps the smallest one. A cell that is lowered in one step is acted upon only in the next, when nobody
// lowers it. Lists hold equal vertices on every run, in any order, and nothing depends on the order.
//
// As with claims, a column joins one tree, so all paths can be flipped at the same time (see search/claimed_forest.cuh).
#pragma once
#include "team/memory.cuh"
#include "team/steps.cuh"

struct OrderedForest {
  static constexpr bool LISTS_FRONTIER = true;      // a step has as many to do as its to-do list says
  static constexpr bool GROWS_UNEVENLY = false;     // a level of the forest is one of the team
  static constexpr Vertex UNREACHED = LAST_VERTEX;  // predecessor of a column: above all bids

  Matching matching;
  Vertex* predecessor;  // [num_columns] UNREACHED; the smallest row that bids, in the level that reaches the column;
                        //               then ~row: below all bids
  Vertex* root_of;      // [num_rows]    the root of the tree of a row in the forest
  Vertex* path_end;     // [num_rows]    at a root, the smallest free column that its tree reached, or LAST_VERTEX
  Vertex* frontier;     // [num_rows]    the rows to expand in an even step
  Vertex* contested;    // [num_columns] the columns to settle in an odd step
  Vertex* ended;        // [num_rows]    roots whose tree found a path

  // Before it is carved.
  template <class Edges>
  DEVICE void set_up(Count, bool) {}

  DEVICE void carve(Workspace& workspace) {
    predecessor = workspace.take<Vertex>(matching.num_columns);
    root_of = workspace.take<Vertex>(matching.num_rows);
    path_end = workspace.take<Vertex>(matching.num_rows);
    frontier = workspace.take<Vertex>(matching.num_rows);
    contested = workspace.take<Vertex>(matching.num_columns);
    ended = workspace.take<Vertex>(matching.num_rows);
  }

  // Makes every free row that has an edge the root of a tree.
  template <class Team, class Edges>
  DEVICE void plant(const Steps<Team>& steps, const Edges& edges) const {
    if (steps.team.rank() == 0) steps.progress.num_ends = 0;
    steps.team.each(matching.num_columns, [&](Count column) { predecessor[column] = UNREACHED; });
    steps.team.each(matching.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      if (matching.row_match[row] != NONE || !edges.has_edges(row)) return;
      path_end[row] = LAST_VERTEX;
      join(steps, row, row);
    });
  }

  // Even steps expand rows, odd steps settle the columns that these rows reached. (Rank 0 may have done more steps than the
  // other threads know of; it is always an even number more.)
  template <class Team, class Expand>
  DEVICE void each_frontier_row(const Steps<Team>& steps, Vertex step, Expand expand) const {
    if (step % 2 == 1) {
      steps.team.each(steps.todo(), [&](Count i) { settle(steps, contested[i]); });
    } else {
      steps.team.each_group(steps.todo(), [&](Count i) {
        const Vertex row = frontier[i];
        expand(row, root_of[row]);
      });
    }
  }

  // The mark that a row leaves at the columns that it visits: see ClaimedForest::anchor.
  DEVICE Vertex anchor(Vertex row, Vertex) const { return row; }

  // Whether a phase ends before no tree can grow.
  template <class Team>
  DEVICE bool is_spent(const Steps<Team>&) const { return false; }

  // Whether a tree goes on growing.
  template <class Team>
  DEVICE bool grows(const Team&, Vertex root) const { return path_end[root] == LAST_VERTEX; }

  // Lets `row` bid for `column`. The row goes on to its next column in any case.
  template <class Team>
  DEVICE bool visit(const Steps<Team>& steps, Vertex row, Vertex, Vertex column, Vertex) const {
    const bool is_first = steps.team.lower(&predecessor[column], row) == UNREACHED;
    if (is_first) contested[steps.append()] = column;
    return true;
  }

  // Flips the augmenting path of every tree that found one.
  template <class Team>
  DEVICE void augment(Steps<Team>& steps) const {
    const Vertex num_ends = steps.progress.num_ends;
    steps.team.each(num_ends, [&](Count i) { flip_upwards(path_end[ended[i]]); });
    if (steps.team.rank() == 0) steps.progress.augmented += num_ends;
  }

  // After a search that found no path: is this column in the forest?
  DEVICE bool reached(Vertex column) const { return predecessor[column] != UNREACHED; }

 private:
  template <class Team>
  DEVICE void join(const Steps<Team>& steps, Vertex row, Vertex root) const {
    root_of[row] = root;
    frontier[steps.append()] = row;
  }

  template <class Team>
  DEVICE void settle(const Steps<Team>& steps, Vertex column) const {
    const Vertex row = predecessor[column], mate = matching.col_match[column];
    predecessor[column] = ~row;
    if (mate == NONE) end_path(steps, root_of[row], column);
    else join(steps, mate, root_of[row]);
  }

  template <class Team>
  DEVICE void end_path(const Steps<Team>& steps, Vertex root, Vertex column) const {
    if (steps.team.lower(&path_end[root], column) != LAST_VERTEX) return;
    ended[steps.team.append(&steps.progress.num_ends)] = root;
    steps.count_found();
  }

  DEVICE void flip_upwards(Vertex column) const {
    while (column != NONE) {
      const Vertex row = ~predecessor[column];
      const Vertex next = matching.row_match[row];
      matching.row_match[row] = column;
      matching.col_match[column] = row;
      column = next;
    }
  }
};
