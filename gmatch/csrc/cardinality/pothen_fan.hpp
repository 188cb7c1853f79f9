// pothen_fan.hpp: the Pothen-Fan method for maximum cardinality, on one core of the host.
//
// A phase searches depth first from every free row. A column is visited at most once in a phase, so the paths of a
// phase are disjoint, and each is flipped when it is found. Three things make it fast:
//
//   lookahead  a row that is visited first looks for a free column. A matched column never becomes free again, so each
//              row goes on where its last look ended: every edge is looked at once, over the whole run
//   fairness   the columns of a row are scanned forwards and backwards in alternate phases, so that a search that was
//              led astray by the first columns is led elsewhere in the next phase
//   dead trees a tree dies if its search failed and saw no column that an earlier search of the phase had visited. Every
//              edge of its rows leads to a column of the tree, or of a tree that died before
//
// The invariant: edges of dead rows (the rows of dead trees) lead to dead columns only, and dead columns are matched, to
// dead rows. So an alternating path that enters them never leaves them and never ends at a free column: no search has
// to look at them again, and no flip ever changes them (Berge; Hungarian trees). In a phase that finds no path every
// search finds only dead columns beside its own, so all trees die. At the end, then, the dead columns are just those
// that alternating paths from the free rows reach, and they are the proof.
//
// Pothen, Fan, "Computing the block triangular form of a sparse matrix", ACM TOMS 16 (1990). Lookahead: Duff, "On
// algorithms for obtaining a maximum transversal", ACM TOMS 7 (1981). Fairness: Duff, Kaya, Ucar, "Design,
// implementation, and analysis of maximum transversal algorithms", ACM TOMS 38 (2011), PFP+.
#pragma once
#include "cardinality/csr_edges.cuh"
#include "cardinality/match.cuh"
#include "search/phases.cuh"
#include "team/interrupt.hpp"
#include "team/memory.cuh"

// A number of entries that depth first may inspect: no limit.
constexpr Count NO_BUDGET = 0x7fffffffffffffff;

template <class Offset, class Column>
class PothenFan {
 public:
  using Edges = CsrEdges<Offset, Column>;

  PothenFan(const Edges& edges, const Matching& matching, Workspace& workspace) : edges_(edges), matching_(matching) {
    const Count num_rows = matching.num_rows, num_columns = matching.num_columns;
    looked_at_ = workspace.take<Offset>(num_rows);
    roots_ = workspace.take<Vertex>(num_rows);
    visit_ = workspace.take<Vertex>(num_columns);
    tree_ = workspace.take<Vertex>(num_columns);
    path_ = workspace.take<Place>((num_rows < num_columns ? num_rows : num_columns) + 1);
  }

  // Before the first run.
  void begin() {
    num_roots_ = 0;
    for (Vertex row = 0; row < matching_.num_rows; ++row) {
      looked_at_[row] = edges_.begin(row);
      if (matching_.row_match[row] == NONE && edges_.has_edges(row)) roots_[num_roots_++] = row;
    }
    for (Vertex column = 0; column < matching_.num_columns; ++column) visit_[column] = NEVER;
    search_ = 0;
  }

  // Searches until a phase finds no path, or stop(paths) ends the run after a phase that found some, or more than `budget`
  // entries were inspected, which cuts a phase short. Returns whether the matching is proven. Other searches may match more
  // rows and columns between two runs.
  template <class Stop = NeverStop>
  bool run(const Task& task, Stop stop = {}, Count budget = NO_BUDGET) {
    Report& report = *task.report;
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    inspected_ = 0;
    budget_ = budget;
    Vertex found;
    do {
      found = run_phase();
      if (found == 0 && was_cut_) break;
      task.journal.levels[report.phases] = deepest_;
      task.journal.augmentations[report.phases] = found;
      task.progress->augmented += found;
      report.levels += deepest_;
      ++report.phases;
      ++report.depth_first;
    } while (found > 0 && !was_cut_ && !stop(found));
    report.edges_inspected += inspected_;
    report.search_ns += lap(clock, now);
    return found == 0 && !was_cut_;
  }

  // After the proof: is this column on an alternating path from a free row?
  bool reached(Vertex column) const { return visit_[column] == DEAD; }

 private:
  static constexpr Count OF_ROW = 16;  // entries that entering a row counts for, beside its own
  // visit_ of a column is the number of the search that visited it last, or one of these.
  static constexpr Vertex NEVER = 0, DEAD = LAST_VERTEX;

  // A row on the path from the root, and how far its columns are scanned. `column` leads to the next row.
  struct Place {
    Vertex row;
    Vertex column;
    Offset next;
    Offset end;
  };

  // Searches from every free row that may still be matched; returns how many were.
  Vertex run_phase() {
    step_ = -step_;
    deepest_ = 0;
    was_cut_ = false;
    if (static_cast<Count>(search_) + num_roots_ >= DEAD) forget_visits();
    first_search_ = search_ + 1;
    Vertex found = 0, kept = 0;
    for (Vertex i = 0; i < num_roots_; ++i) {
      const Vertex root = roots_[i];
      if (matching_.row_match[root] != NONE) continue;
      if (inspected_ > budget_) {
        was_cut_ = true;
        roots_[kept++] = root;
        continue;
      }
      ++search_;
      if (search_from(root)) ++found;
      else if (met_others_) roots_[kept++] = root;
      else bury_tree();
    }
    num_roots_ = kept;
    return found;
  }

  // Finds an augmenting path and flips it, or returns false.
  bool search_from(Vertex root) {
    met_others_ = false;
    tree_size_ = path_size_ = 0;
    for (Vertex row = root;;) {
      Place& place = enter(row);
      place.column = look_ahead(row);
      if (place.column != NONE) return flip_path(), true;
      while (!advance(path_[path_size_ - 1])) {
        if (--path_size_ == 0) return false;
      }
      row = matching_.col_match[path_[path_size_ - 1].column];
      if (row == NONE) return flip_path(), true;  // columns changed after the row looked at them: see vertex_at
    }
  }

  Place& enter(Vertex row) {
    Place& place = path_[path_size_++];
    const Offset begin = edges_.begin(row), end = edges_.end(row);
    if (step_ > 0) place = {row, NONE, begin, end};
    else place = {row, NONE, end - 1, begin - 1};
    if (path_size_ > deepest_) deepest_ = path_size_;
    poll_.spend(OF_ROW + (end - begin));
    return place;
  }

  // A free column of the row, or NONE.
  Vertex look_ahead(Vertex row) {
    const Offset begin = looked_at_[row], end = edges_.end(row);
    Offset edge = begin;
    Vertex column = NONE;
    while (edge < end && matching_.col_match[column = edges_.column(edge)] != NONE) ++edge;
    const bool found = edge < end;
    looked_at_[row] = edge + found;
    inspected_ += edge + found - begin;
    return found ? column : NONE;
  }

  // Goes to the next column of the row that this phase has not visited; false if there is none. That column is matched,
  // since the row has looked at all its columns.
  bool advance(Place& place) {
    while (place.next != place.end) {
      const Vertex column = edges_.column(place.next);
      place.next += step_;
      ++inspected_;
      const Vertex visit = visit_[column];
      if (visit >= first_search_) {
        met_others_ |= visit != search_ && visit != DEAD;
        continue;
      }
      visit_[column] = search_;
      tree_[tree_size_++] = column;
      place.column = column;
      return true;
    }
    return false;
  }

  void flip_path() {
    for (Vertex i = 0; i < path_size_; ++i) {
      matching_.row_match[path_[i].row] = path_[i].column;
      matching_.col_match[path_[i].column] = path_[i].row;
    }
  }

  void bury_tree() {
    for (Vertex i = 0; i < tree_size_; ++i) visit_[tree_[i]] = DEAD;
  }

  // Makes room for the numbers of searches to begin at one again.
  void forget_visits() {
    for (Vertex column = 0; column < matching_.num_columns; ++column) {
      if (visit_[column] != DEAD) visit_[column] = NEVER;
    }
    search_ = 0;
  }

  const Edges edges_;
  const Matching matching_;
  Offset* looked_at_;  // [num_rows]    the first edge that the row has not looked at
  Vertex* roots_;      // [num_rows]    free rows whose trees are not dead
  Vertex* visit_;      // [num_columns]
  Vertex* tree_;       // [num_columns] the columns that this search visited
  Place* path_;        // [min(num_rows, num_columns) + 1]
  Vertex num_roots_ = 0, tree_size_ = 0, path_size_ = 0;
  Vertex search_ = 0, first_search_ = 0;  // the number of this search, and of the first one of this phase
  Offset step_ = -1;                      // how this phase goes through the columns of a row: 1 or -1
  Vertex deepest_ = 0;                    // rows on the longest path of this phase
  bool was_cut_ = false;                  // did the budget end this phase?
  bool met_others_ = false;               // did this search see a column that another one of this phase had visited?
  Count inspected_ = 0, budget_ = NO_BUDGET;
  Poll poll_;
};

// Maximum cardinality matching: a start, the searches, and the proof. For a team of one.
template <class Offset, class Column>
void match_by_pothen_fan(HostTeam& team, const CsrEdges<Offset, Column>& edges, const Task& task) {
  Steps<HostTeam> steps(team, *task.progress);
  if (!begin_matching(steps, edges, task)) return;
  Workspace workspace(task.workspace);
  PothenFan<Offset, Column> searches(edges, task.matching, workspace);
  searches.begin();
  searches.run(task);
  report_matching(team, searches, task);
}

template <class Offset, class Column>
Count pothen_fan_workspace_size(const CsrEdges<Offset, Column>& edges, const Task& task) {
  Workspace workspace(nullptr);
  const PothenFan<Offset, Column> searches(edges, task.matching, workspace);
  const Count for_start =
      start_workspace_size<CsrEdges<Offset, Column>>(task.start, task.matching, edges.num_edges());
  return for_start > workspace.used() ? for_start : workspace.used();
}
