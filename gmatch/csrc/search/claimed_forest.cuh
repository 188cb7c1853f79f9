// claimed_forest.cuh: disjoint alternating trees, by claims.
//
// The roots are the free rows. A column joins at most one tree, because predecessor[column] is claimed once, and with
// it its mate: that is what makes the races harmless. Whoever wins, the trees are disjoint, so their augmenting paths
// can be flipped at the same time.
//
// Date, Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57 (2016):
// forward pass (Algorithm 3), reverse pass (Algorithm 5), augmentation pass (Algorithm 6), and Propositions 1 and 2.
#pragma once
#include "team/memory.cuh"
#include "team/steps.cuh"

// Some edges of a long row, from edge number `first` on.
struct Piece {
  Vertex row;
  Count first;
};

// A free column that a tree reached, and the root of the tree.
struct alignas(8) PathEnd {
  Vertex column;
  Vertex root;
};

// The frontiers of a team: lists in memory, of the rows to expand in this step and in the next.
struct Frontiers {
  Sprout* sprouts;  // [2][room]
  Count room;

  template <class Team>
  DEVICE const Sprout* now(const Steps<Team>& steps) const { return list(steps.parity()); }
  template <class Team>
  DEVICE Sprout* next(const Steps<Team>& steps) const { return list(steps.parity() ^ 1); }

  template <class Team>
  DEVICE void append(const Steps<Team>& steps, Sprout sprout) const { steps.append_to(next(steps), sprout); }
  // `ends` is the list of the forest.
  template <class Team>
  DEVICE void append_end(const Steps<Team>& steps, PathEnd* ends, PathEnd end) const {
    ends[steps.team.append(&steps.progress.num_ends)] = end;
    steps.count_found();
  }
  // Makes `column` the end of the tree's path if the tree has none yet; otherwise the column is no path end.
  template <class Team>
  DEVICE bool end_tree(const Steps<Team>& steps, Vertex* path_end, Vertex column) const {
    return steps.team.claim(path_end, NONE, column);
  }

 private:
  // By arithmetic, not as an array of two pointers: that would put the forest into a GPU's local memory.
  DEVICE Sprout* list(int parity) const { return sprouts + parity * room; }
};

// The frontiers of a part of a team, which takes some steps by itself: lists in near memory. Rows without room there join
// the next frontier of the whole team. Path ends are counted one by one only in near memory: thousands of additions to one
// counter in memory would wait for each other.
template <class Team>
struct NearFrontiers {
  Frontiers near;
  PathEnd* near_ends;
  Vertex room_for_ends;
  Frontiers far;
  const Steps<Team>& far_steps;

  template <class Part>
  DEVICE void append(const Steps<Part>& steps, Sprout sprout) const {
    const Vertex place = steps.append();
    if (place < near.room) near.next(steps)[place] = sprout;
    else far.append(far_steps, sprout);
  }
  template <class Part>
  DEVICE void append_end(const Steps<Part>& steps, PathEnd* ends, PathEnd end) const {
    const Vertex place = steps.team.append(&steps.progress.num_ends);
    if (place < room_for_ends) near_ends[place] = end;
    else far.append_end(far_steps, ends, end);
  }
  // Nobody waits for an answer. If a tree finds several ends at the same time, its path is the one to the end that is noted
  // last, which augment asks for.
  template <class Part>
  DEVICE bool end_tree(const Steps<Part>& steps, Vertex* path_end, Vertex column) const {
    steps.team.write(path_end, column);
    return true;
  }
};

// The memory of a forest, without its frontiers.
struct Trees {
  Matching matching;
  Vertex* predecessor;  // [num_columns] the column before it on its path, or that it comes next to a root: see anchor;
                        //               NONE outside the forest
  Vertex* root_of;      // [num_columns] the root of the tree that a column is in; nullptr unless edges keep trees
  Piece* pieces;        // [room_for_pieces] of long rows, without the first piece of each
  Count room_for_pieces;
  bool leaves_stragglers;  // see is_spent; WITH_ROOTS
  PathEnd* ends;        // [num_columns] free columns that were reached
  Vertex* path_end;     // [num_rows]    WITH_ROOTS: at a root, the end of its tree's path, one of `ends`, or NONE
  Vertex* successor;    // [num_rows]    without: the next column on the path through this row, or NONE
  Vertex* path_roots;   // [num_rows]    without: roots whose path the reverse pass kept
};

// WITH_ROOTS: a tree that has found a path end stops growing (the early exit of GPUBFS-WR in Deveci et al. 2013). If it
// found several ends at the same time, one counts. Without it, a tree can find many ends, and the reverse pass keeps one.
template <bool WITH_ROOTS, class Lists = Frontiers>
struct ClaimedForest : Trees {
  static constexpr bool LISTS_FRONTIER = true;              // a step has as many rows to expand as its to-do list says
  static constexpr bool GROWS_UNEVENLY = true;              // parts of a team may do levels by themselves
  static constexpr Vertex FEW_ROWS = SHORT_LISTS ? 1 : 64;  // a wide frontier is sixteen times as wide, see is_spent

  Lists frontiers;

  // For matchings, before it is carved. A row of d edges makes at most d / EDGES_OF_PIECE pieces beside the first.
  template <class Edges>
  DEVICE void set_up(Count num_edges, bool) {
    room_for_pieces = num_edges / Edges::EDGES_OF_PIECE;
    leaves_stragglers = WITH_ROOTS;
  }

  // keeps_trees: see plant.
  DEVICE void carve(Workspace& workspace, bool keeps_trees = false) {
    predecessor = workspace.take<Vertex>(matching.num_columns);
    if (keeps_trees) root_of = workspace.take<Vertex>(matching.num_columns);
    frontiers.room = matching.num_rows + room_for_pieces;
    frontiers.sprouts = workspace.take<Sprout>(2 * frontiers.room);
    pieces = workspace.take<Piece>(room_for_pieces);
    ends = workspace.take<PathEnd>(matching.num_columns);
    if constexpr (WITH_ROOTS) {
      path_end = workspace.take<Vertex>(matching.num_rows);
    } else {
      successor = workspace.take<Vertex>(matching.num_rows);
      path_roots = workspace.take<Vertex>(matching.num_rows);
    }
  }

  // Makes every free row that has an edge the root of a tree. Trees without a path may be kept if the edges along which they
  // grew are still usable. All their rows are then part of the first frontier, too.
  template <class Team, class Edges>
  DEVICE void plant(const Steps<Team>& steps, const Edges& edges) const {
    if (steps.team.rank() == 0) steps.progress.num_ends = steps.progress.num_paths = steps.progress.num_pieces = 0;
    steps.team.each(matching.num_columns, [&](Count column) {
      if (edges.keeps_trees() && is_kept(column)) join(steps, matching.col_match[column], root_of[column]);
      else predecessor[column] = NONE;
    });
    steps.team.each(matching.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      if (matching.row_match[row] != NONE || !edges.has_edges(row)) return;
      if constexpr (WITH_ROOTS) path_end[row] = NONE;
      join(steps, row, row);
    });
  }

  // Whether the column is in a tree whose root is free, after the paths of a phase were flipped.
  DEVICE bool is_kept(Count column) const {
    return predecessor[column] != NONE && matching.row_match[root_of[column]] == NONE;
  }

  template <class Team, class Expand>
  DEVICE void each_frontier_row(const Steps<Team>& steps, Vertex, Expand expand) const {
    const Sprout* sprouts = frontier_rows(steps);
    steps.team.each_group(steps.todo(), [&](Count i) {
      const Sprout sprout = sprouts[i];
      expand(sprout.row, sprout.root);
    });
  }
  // As each_frontier_row, and calls foresee(row, turns) with turns = 3, 2, 1: turns * Team::AHEAD rows before the row's turn.
  template <class Team, class Foresee, class Expand>
  DEVICE void each_foreseen_row(const Steps<Team>& steps, Foresee foresee, Expand expand) const {
    const Sprout* sprouts = frontier_rows(steps);
    const Count todo = steps.todo();
    steps.team.each_group(todo, [&](Count i) {
      for (int turns = 3; turns > 0; --turns) {
        if (i + turns * Team::AHEAD < todo) foresee(sprouts[i + turns * Team::AHEAD].row, turns);
      }
      expand(sprouts[i].row, sprouts[i].root);
    });
  }

  // The frontier of this step, steps.todo() rows.
  template <class Team>
  DEVICE const Sprout* frontier_rows(const Steps<Team>& steps) const { return frontiers.now(steps); }

  // This forest, for a part of the team.
  template <class Team>
  DEVICE ClaimedForest<WITH_ROOTS, NearFrontiers<Team>> part(const Steps<Team>& steps, Frontiers near, PathEnd* near_ends,
                                                             Vertex room_for_ends) const {
    return {static_cast<const Trees&>(*this), {near, near_ends, room_for_ends, frontiers, steps}};
  }

  DEVICE Piece piece_of(const Sprout& sprout) const {
    return sprout.row < 0 ? pieces[~sprout.row] : Piece{sprout.row, 0};
  }

  // Leaves all edges of a row except the first `edges_of_piece` to the next step of the whole team, in pieces of this size.
  template <class Team>
  DEVICE void break_up(const Steps<Team>& steps, const Sprout& sprout, Count degree, int edges_of_piece) const {
    const Vertex count = static_cast<Vertex>((degree - 1) / edges_of_piece);
    const Vertex first = steps.team.fetch_add(&steps.progress.num_pieces, count), place = steps.append(count);
    for (Vertex i = 0; i < count; ++i) {
      pieces[first + i] = {sprout.row, static_cast<Count>(i + 1) * edges_of_piece};
      frontiers.next(steps)[place + i] = {~(first + i), sprout.root};
    }
  }

  // The forest is spent if half of the trees have a path end, and the frontier is at most a sixteenth of its widest. The other
  // trees would go for hundreds of levels round the trees that have ended, to free columns that the next phase finds near by.
  // If most rows stay free, trees end because no column is in reach, and are not stopped.
  template <class Team>
  DEVICE bool is_spent(const Steps<Team>& steps) const {
    if (!leaves_stragglers || steps.found() == 0) return false;
    return steps.found() >= steps.roots() - steps.found() && steps.widest() >= 16 * FEW_ROWS &&
           steps.todo() <= steps.widest() / 16;
  }

  // The end at which a tree has stopped growing; NONE if it goes on.
  template <class Team>
  DEVICE Vertex end_of_tree(const Team& team, Vertex root) const {
    if constexpr (WITH_ROOTS) return team.read(&path_end[root]);
    return NONE;
  }
  template <class Team>
  DEVICE bool grows(const Team& team, Vertex root) const { return end_of_tree(team, root) == NONE; }

  // The mark that a row leaves at the columns that it claims: the mate by which it joined the tree; or, if the row is the root,
  // the root itself. So the way back takes one load a column, not two that wait for each other.
  DEVICE Vertex anchor(Vertex row) const { return anchor(row, matching.row_match[row]); }
  DEVICE Vertex anchor(Vertex row, Vertex mate) const { return mate == NONE ? BELOW_NONE - row : mate; }

  // Lets the row of this anchor reach `column`. Returns whether it should go on to its next column.
  template <class Team>
  DEVICE bool visit(const Steps<Team>& steps, Vertex anchor, Vertex root, Vertex column, Vertex) const {
    const Vertex mate = matching.col_match[column];  // before the claim, so that both are under way at once
    if (!steps.team.claim(&predecessor[column], NONE, anchor)) return true;
    if (root_of != nullptr) steps.team.write(&root_of[column], root);
    if (mate == NONE) return end_path(steps, root, column);
    join(steps, mate, root);
    return true;
  }

  // Makes a row of the forest part of the next frontier once more.
  template <class Team>
  DEVICE void rejoin(const Steps<Team>& steps, Vertex row, Vertex root) const { join(steps, row, root); }

  // Flips one augmenting path of every tree that found one.
  template <class Team>
  DEVICE void augment(Steps<Team>& steps) const {
    if constexpr (WITH_ROOTS) {
      // One end a tree: the two passes are one.
      Count flipped = 0;
      steps.team.each(steps.progress.num_ends, [&](Count i) {
        const PathEnd end = ends[i];
        if (path_end[end.root] != end.column) return;
        flip_upwards(end.column);
        ++flipped;
      });
      steps.team.add_all(&steps.progress.augmented, flipped);
    } else {
      steps.team.each(steps.progress.num_ends, [&](Count i) { reverse(steps, ends[i].column); });
      steps.end();
      const Vertex num_paths = steps.progress.num_paths;
      steps.team.each(num_paths, [&](Count i) { flip_downwards(path_roots[i]); });
      if (steps.team.rank() == 0) steps.progress.augmented += num_paths;
    }
  }

  // After a search that found no path: is this column in the forest?
  DEVICE bool reached(Vertex column) const { return predecessor[column] != NONE; }

 private:
  static constexpr Vertex BELOW_NONE = NONE - 1;

  template <class Team>
  DEVICE void join(const Steps<Team>& steps, Vertex row, Vertex root) const {
    if constexpr (!WITH_ROOTS) successor[row] = NONE;
    frontiers.append(steps, Sprout{row, root});
  }

  template <class Team>
  DEVICE bool end_path(const Steps<Team>& steps, Vertex root, Vertex column) const {
    if constexpr (WITH_ROOTS) {
      if (!frontiers.end_tree(steps, &path_end[root], column)) return false;
    }
    frontiers.append_end(steps, ends, {column, root});
    return !WITH_ROOTS;
  }

  // The row that claimed the columns with this predecessor.
  DEVICE Vertex row_of(Vertex predecessor) const {
    return predecessor < NONE ? BELOW_NONE - predecessor : matching.col_match[predecessor];
  }

  // Date, Nagi, Algorithm 5: walks from a path end up to the root and notes the way back. Where two paths of a tree
  // meet, the first one goes on; so the way down from the root is one whole path.
  template <class Team>
  DEVICE void reverse(const Steps<Team>& steps, Vertex column) const {
    while (true) {
      const Vertex before = predecessor[column], row = row_of(before);
      if (!steps.team.claim(&successor[row], NONE, column)) return;
      if (before < NONE) {
        path_roots[steps.team.append(&steps.progress.num_paths)] = row;
        return;
      }
      column = before;
    }
  }

  // Date, Nagi, Algorithm 6.
  DEVICE void flip_downwards(Vertex row) const {
    while (row != NONE) {
      const Vertex column = successor[row], next = matching.col_match[column];
      pair(row, column);
      row = next;
    }
  }

  DEVICE void flip_upwards(Vertex column) const {
    Vertex before = predecessor[column];
    while (before > NONE) {
      const Vertex next = predecessor[before], row = matching.col_match[before];  // both under way at once
      pair(row, column);
      column = before;
      before = next;
    }
    pair(BELOW_NONE - before, column);
  }

  DEVICE void pair(Vertex row, Vertex column) const {
    matching.row_match[row] = column;
    matching.col_match[column] = row;
  }
};
