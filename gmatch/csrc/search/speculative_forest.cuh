// speculative_forest.cuh: the paper's forest, without claims. Races are allowed, and their damage is mended.
//
// Deveci, Kaya, Ucar, Catalyurek, "GPU Accelerated Maximum Cardinality Matching Algorithms for Bipartite Graphs",
// Euro-Par 2013. The paper searches from columns along the CSC arrays; we search from rows along the CSR arrays, so
// its cmatch is our row_match, its rmatch our col_match, and its bfs_array, one entry a row here, is `level`.
//
// Why the races do no harm. In one step all threads that reach a column write a predecessor of the same level, so
// predecessors always lead upwards, level by level, to a root. ALTERNATE walks from path ends to roots. Where walks
// meet, the last write to row_match wins, and the walk that finds its row already turned (line 8) stops. A row that was
// matched stays matched, whoever wrote last; a column that lost its row is freed by FIXMATCHING. The walk that got
// highest has nobody above it to stop it and matches a root: each phase matches at least one more row, so the phases
// end. The last search finds nothing, marks nothing, and explores all that can be reached: it is the proof.
#pragma once
#include "team/memory.cuh"
#include "team/steps.cuh"

// WITH_ROOTS: GPUBFS-WR (Algorithm 4), else GPUBFS (Algorithm 2).
template <bool WITH_ROOTS>
struct SpeculativeForest {
  static constexpr bool LISTS_FRONTIER = false;
  static constexpr bool GROWS_UNEVENLY = false;     // a level of the forest is one of the team
  static constexpr Vertex END = -2;        // col_match of a free column that was reached
  static constexpr Vertex UNREACHED = 1;   // `level` of a row outside the forest
  static constexpr Vertex START = 2;       // `level` of a root; L0 in the paper
                                           // 0 or less: a root whose tree has a path, which ends at column -level
  Matching matching;
  bool from_noted_ends;  // the paper's improvement of APsB-GPUBFS-WR: alternate only from the end that a root noted
  Vertex* level;         // [num_rows]
  Vertex* root;          // [num_rows]    WITH_ROOTS
  Vertex* predecessor;   // [num_columns]

  // Before it is carved. From noted ends it is the paper's APsB-GPUBFS-WR.
  template <class Edges>
  DEVICE void set_up(Count, bool shortest_only) {
    from_noted_ends = shortest_only;
  }

  DEVICE void carve(Workspace& workspace) {
    level = workspace.take<Vertex>(matching.num_rows);
    if constexpr (WITH_ROOTS) root = workspace.take<Vertex>(matching.num_rows);
    predecessor = workspace.take<Vertex>(matching.num_columns);
  }

  // INITBFSARRAY.
  template <class Team, class Edges>
  DEVICE void plant(const Steps<Team>& steps, const Edges& edges) const {
    steps.team.each(matching.num_rows, [&](Count row) {
      const bool is_root = matching.row_match[row] == NONE && edges.has_edges(row);
      level[row] = is_root ? START : UNREACHED;
      if constexpr (WITH_ROOTS) root[row] = row;
      if (is_root) steps.mark_todo();
    });
  }

  // A pass over all rows a level, as in the paper.
  template <class Team, class Expand>
  DEVICE void each_frontier_row(const Steps<Team>& steps, Vertex depth, Expand expand) const {
    const Team& team = steps.team;
    team.each(matching.num_rows, [&](Count row) {
      if (team.read(&level[row]) == START + depth) expand(row, WITH_ROOTS ? team.read(&root[row]) : NONE);
    });
  }

  // The mark that a row leaves at the columns that it visits: see ClaimedForest::anchor.
  DEVICE Vertex anchor(Vertex row, Vertex) const { return row; }

  // Whether a phase ends before no tree can grow.
  template <class Team>
  DEVICE bool is_spent(const Steps<Team>&) const { return false; }

  // Whether a tree goes on growing; lines 6 and 7 of Algorithm 4.
  template <class Team>
  DEVICE bool grows(const Team& team, Vertex my_root) const {
    return !WITH_ROOTS || team.read(&level[my_root]) >= UNREACHED;
  }

  // Lines 6 to 17 of Algorithm 2, 9 to 22 of Algorithm 4.
  template <class Team>
  DEVICE bool visit(const Steps<Team>& steps, Vertex row, Vertex my_root, Vertex column, Vertex depth) const {
    const Team& team = steps.team;
    const Vertex mate = team.read(&matching.col_match[column]);
    if (mate >= 0) {
      if (team.read(&level[mate]) != UNREACHED) return true;
      team.write(&level[mate], START + depth + 1);
      if constexpr (WITH_ROOTS) team.write(&root[mate], my_root);
      team.write(&predecessor[column], row);
      steps.mark_todo();
    } else if (mate == NONE) {
      if constexpr (WITH_ROOTS) team.write(&level[my_root], -column);
      team.write(&matching.col_match[column], END);
      team.write(&predecessor[column], row);
      steps.mark_found();
    }
    return true;
  }

  template <class Team>
  DEVICE void augment(Steps<Team>& steps) const {
    const Team& team = steps.team;
    if (WITH_ROOTS && from_noted_ends) {
      team.each(matching.num_rows, [&](Count row) {
        if (level[row] < UNREACHED) alternate(team, -level[row]);
      });
    } else {
      team.each(matching.num_columns, [&](Count column) {
        if (team.read(&matching.col_match[column]) == END) alternate(team, column);
      });
    }
    steps.end();
    fix_matching(steps);
  }

  // After a search that found no path: is this column in the forest? Then it is matched, and its mate is.
  DEVICE bool reached(Vertex column) const {
    const Vertex mate = matching.col_match[column];
    return mate != NONE && level[mate] > START;
  }

 private:
  // ALTERNATE (Algorithm 3), from one path end.
  template <class Team>
  DEVICE void alternate(const Team& team, Vertex column) const {
    while (column != NONE) {
      const Vertex row = team.read(&predecessor[column]);
      const Vertex next = team.read(&matching.row_match[row]);
      if (next != NONE && team.read(&predecessor[next]) == row) break;
      team.write(&matching.row_match[row], column);
      team.write(&matching.col_match[column], row);
      column = next;
    }
  }

  // FIXMATCHING: frees the columns whose row belongs to another; and counts the roots that were matched.
  template <class Team>
  DEVICE void fix_matching(const Steps<Team>& steps) const {
    steps.team.each(matching.num_columns, [&](Count column) {
      const Vertex mate = matching.col_match[column];
      if (mate == END || (mate != NONE && matching.row_match[mate] != column)) matching.col_match[column] = NONE;
    });
    Count matched_roots = 0;
    steps.team.each(matching.num_rows, [&](Count row) {
      if (level[row] <= START && level[row] != UNREACHED && matching.row_match[row] != NONE) ++matched_roots;
    });
    steps.team.add_all(&steps.progress.augmented, matched_roots);
  }
};
