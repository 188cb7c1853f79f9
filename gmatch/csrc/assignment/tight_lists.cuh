// tight_lists.cuh: the tight edges of a dense matrix, compressed to a list for each row, and the search along them.
//
// Date, Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57 (2016),
// Section 4.3: zero slacks are compressed to sparse rows, after a dual step only; then the search is that of a graph.
#pragma once
#include "search/near_levels.cuh"

// Whether the row got one of the columns that its lanes hold (each a column or NONE). One lane claims at a time: if a row gave
// a column back, rows that passed it before could be left without one.
template <int N, class Team>
DEVICE bool take_column(const Team& team, const Matching& matching, Vertex row, Vertex (&columns)[N]) {
  const Vertex lanes = team.lanes(), turn = (team.lane() + row) % lanes;
  const auto next_free = [&]() -> Vertex {
    for (Vertex& column : columns) {
      if (column != NONE && team.read(&matching.col_match[column]) == NONE) return column;
      column = NONE;
    }
    return NONE;
  };
  while (true) {
    const Vertex column = next_free(), place = column == NONE ? lanes : turn, least = team.min_group(place);
    if (least == lanes) return false;
    const bool takes = place == least && team.claim(&matching.col_match[column], NONE, row);
    if (takes) matching.row_match[row] = column;
    if (team.min_group(takes ? 0 : 1) == 0) return true;
  }
}

struct TightLists {
  static constexpr Vertex CAPACITY = SHORT_LISTS ? 3 : 32;  // a row with more is read in the matrix itself: O(rows) memory
  static constexpr Vertex CHUNK = SHORT_LISTS ? 16 : 1024;  // columns of a row that a lane group reads at once
  static constexpr Vertex FEW_ROWS = SHORT_LISTS ? 4 : 64;  // rows of a column that a lane reads at once

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
  // Whether the list of a row holds all that was added.
  DEVICE bool is_whole(Vertex row) const { return sizes[row] <= CAPACITY; }

  // Called before the first phase: all lists are to be made.
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

  // Returns its place in the list; from CAPACITY on it has none.
  template <class Team>
  DEVICE Vertex add(const Team& team, Vertex row, Vertex column) const {
    const Vertex place = team.fetch_add(&sizes[row], 1);
    if (place < CAPACITY) columns[row * static_cast<Count>(CAPACITY) + place] = column;
    return place;
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

  // use(column, first, end) for all rows of some columns, in parts, one lane each: neighbours read neighbouring columns.
  template <class Team, class Use>
  DEVICE void each_part_of_columns(const Team& team, const Vertex* columns_read, Vertex count, Use use) const {
    const Vertex tiles = (count + team.lanes() - 1) / team.lanes(), parts = (num_rows + FEW_ROWS - 1) / FEW_ROWS;
    team.each_group(static_cast<Count>(tiles) * parts, [&](Count item) {
      const Vertex at = static_cast<Vertex>(item % tiles) * team.lanes() + team.lane();
      const Vertex first = static_cast<Vertex>(item / tiles) * FEW_ROWS;
      if (at < count) use(columns_read[at], first, first + FEW_ROWS < num_rows ? first + FEW_ROWS : num_rows);
    });
  }

  // Every row takes a column of its list that no row has.
  template <class Team>
  DEVICE void match_pairs(const Team& team, const Matching& matching) const {
    team.each_group(num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i), size = is_whole(row) ? sizes[row] : CAPACITY;
      const Vertex* listed = columns + i * CAPACITY;
      for (Vertex first = 0; first < size; first += team.lanes()) {
        Vertex mine[] = {first + team.lane() < size ? listed[first + team.lane()] : NONE};
        if (take_column(team, matching, row, mine)) break;
      }
    });
  }

  // use(column, load(column)) for the columns from first to end, shared out over the lanes of a group.
  template <class Team, class Load, class Use>
  static DEVICE void each_column(const Team& team, Vertex first, Vertex end, Load load, Use use) {
    each_in_turn<Team>(first + team.lane(), end, load, use, team.lanes());
  }
  // use(i, load(i)) for i from first to end, some loads at once.
  template <class Team, class Load, class Use>
  static DEVICE void each_in_turn(Vertex first, Vertex end, Load load, Use use, Vertex stride = 1) {
    for (Vertex i = first; i < end; i += stride * Team::AT_ONCE) {
      decltype(load(i)) loaded[Team::AT_ONCE];
      for (int q = 0; q < Team::AT_ONCE; ++q) loaded[q] = load(i + q * stride < end ? i + q * stride : i);
      for (int q = 0; q < Team::AT_ONCE; ++q) {
        if (i + q * stride < end) use(i + q * stride, loaded[q]);
      }
    }
  }

  // Lets the rows of the frontier reach the columns of their lists that are still tight:
  // is_tight(row, column, is_new, look(team, row, column)). Calls enter(row) for rows that are new in the forest.
  template <class Team, class Enter, class Look, class IsTight>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex& level, Enter enter, Look look,
                      IsTight is_tight) const {
    return expand_rows(steps, forest, level, [&](const auto& near, const auto& near_forest, const Sprout& sprout) {
      return reach_columns(near, near_forest, sprout, enter, look, is_tight);
    });
  }

 private:
  template <class Team, class Forest, class Enter, class Look, class IsTight>
  DEVICE Count reach_columns(const Steps<Team>& steps, const Forest& forest, const Sprout& sprout, Enter enter, Look look,
                             IsTight is_tight) const {
    const Team& team = steps.team;
    const Vertex row = sprout.row, lane = team.lane();
    const Vertex* listed = columns + row * static_cast<Count>(CAPACITY);
    const Vertex root = team.read(&root_of[row]), size = team.read(&sizes[row]);
    const Vertex mate = team.read(&forest.matching.row_match[row]);
    const Vertex first_listed = team.read(&listed[lane < CAPACITY ? lane : 0]);
    const bool grows = forest.grows(team, sprout.root);
    // All lanes of the group have looked before one of them writes.
    const bool is_new = team.min_group(root == NONE ? 0 : 1) == 0;
    if (is_new && lane == 0) {
      root_of[row] = sprout.root;
      enter(row);
    }
    if (!grows) return 0;
    Count inspected = 0;
    const bool is_listed = size <= CAPACITY;
    for (Vertex i = lane; i < (is_listed ? size : num_columns); i += team.lanes()) {
      const Vertex column = !is_listed ? i : i == lane ? first_listed : listed[i];
      ++inspected;
      const Vertex by = team.read(&forest.predecessor[column]);
      // A list is read at once. If the row is read in the matrix, most of its columns have been reached, and reading their
      // entries would be in vain.
      if (by != NONE && !(Team::IS_FAR && is_listed)) continue;
      const auto seen = look(team, row, column);
      if (by != NONE || !is_tight(row, column, is_new, seen)) continue;
      if (!forest.visit(steps, forest.anchor(row, mate), sprout.root, column, 0)) break;
    }
    return inspected;
  }
};
