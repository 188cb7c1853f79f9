// tight_lists.cuh: the tight edges of a dense matrix, compressed to a list for each row, and the search along them.
//
// Date, Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57 (2016),
// Section 4.3: zero slacks are compressed to sparse rows, after a dual step only; then the search is that of a graph.
#pragma once
#include "claimed_forest.cuh"

struct TightLists {
  static constexpr Vertex CAPACITY = 32;   // a row with more is read in the matrix itself: memory stays O(rows)
  static constexpr Vertex CHUNK = 1024;    // columns that a lane group reads at once

  Vertex num_rows, num_columns;
  Vertex* sizes;      // [num_rows]
  Vertex* columns;    // [num_rows][CAPACITY]
  Vertex* root_of;    // [num_rows] of the row's tree in this phase, or NONE
  Vertex* stale;      // [num_rows] rows whose lists must be made anew
  Vertex* num_stale;  // [1]

  DEVICE void carve(Workspace& workspace) {
    sizes = workspace.take<Vertex>(num_rows);
    columns = workspace.take<Vertex>(num_rows * static_cast<Count>(CAPACITY));
    root_of = workspace.take<Vertex>(num_rows);
    stale = workspace.take<Vertex>(num_rows);
    num_stale = workspace.take<Vertex>(1);
  }

  DEVICE bool in_forest(Vertex row) const { return root_of[row] != NONE; }

  // Before the first phase: all lists are to be made.
  template <class Team>
  DEVICE void mark_all_stale(const Team& team) const {
    team.each(num_rows, [&](Count row) {
      stale[row] = static_cast<Vertex>(row);
      sizes[row] = 0;
      root_of[row] = NONE;
    });
    if (team.rank() == 0) *num_stale = num_rows;
  }
  template <class Team>
  DEVICE void mark_stale(const Team& team, Vertex row) const {
    stale[team.append(num_stale)] = row;
    sizes[row] = 0;
  }

  // Returns whether it is the first of its list.
  template <class Team>
  DEVICE bool add(const Team& team, Vertex row, Vertex column) const {
    const Vertex place = team.fetch_add(&sizes[row], 1);
    if (place < CAPACITY) columns[row * static_cast<Count>(CAPACITY) + place] = column;
    return place == 0;
  }

  // use(row, first, end) for all columns of some rows, in parts, one lane group each.
  template <class Team, class Use>
  DEVICE void each_part(const Team& team, Vertex count, Use use) const {
    const Vertex parts = (num_columns + CHUNK - 1) / CHUNK;
    team.each_group(static_cast<Count>(count) * parts, [&](Count item) {
      const Vertex first = static_cast<Vertex>(item % parts) * CHUNK;
      use(static_cast<Vertex>(item / parts), first, first + CHUNK < num_columns ? first + CHUNK : num_columns);
    });
  }

  // use(column, load(column)) for the columns from first to end, shared out over the lanes of a group.
  template <class Team, class Load, class Use>
  static DEVICE void each_column(const Team& team, Vertex first, Vertex end, Load load, Use use) {
    for (Vertex column = first + team.lane(); column < end; column += team.lanes() * Team::AT_ONCE) {
      decltype(load(column)) loaded[Team::AT_ONCE];
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        const Vertex at = column + q * team.lanes();
        loaded[q] = load(at < end ? at : column);
      }
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        const Vertex at = column + q * team.lanes();
        if (at < end) use(at, loaded[q]);
      }
    }
  }

  // Lets the rows of the frontier reach the columns of their lists that is_tight(row, column) still says are tight.
  // enter(row) for those that are in the forest for the first time, before it is asked for their columns.
  template <class Team, class Enter, class IsTight>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex level, Enter enter,
                      IsTight is_tight) const {
    const Team& team = steps.team;
    Count inspected = 0;
    forest.each_frontier_row(steps, level, [&](Vertex row, Vertex root) {
      // All lanes of the group have looked before one of them writes.
      const bool is_new = team.min_group(root_of[row] == NONE ? 0 : 1) == 0;
      if (is_new && team.lane() == 0) {
        root_of[row] = root;
        enter(row);
      }
      if (!forest.grows(team, root)) return;
      const Vertex size = sizes[row];
      const bool is_listed = size <= CAPACITY;
      for (Vertex i = team.lane(); i < (is_listed ? size : num_columns); i += team.lanes()) {
        const Vertex column = is_listed ? columns[row * static_cast<Count>(CAPACITY) + i] : i;
        ++inspected;
        if (team.read(&forest.predecessor[column]) != NONE || !is_tight(row, column, is_new)) continue;
        if (!forest.visit(steps, forest.anchor(row), root, column, level)) break;
      }
    });
    return inspected;
  }
};
