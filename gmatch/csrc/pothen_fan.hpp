// pothen_fan.hpp: the Pothen-Fan method for maximum cardinality, on one core of the host.
//
// A phase searches depth first from every free row. A column is visited at most once in a phase, so the paths of a
// phase are disjoint, and each is flipped when it is found. Three things make it fast:
//
//   lookahead  a row that is visited first looks for a free column. A matched column never becomes free again, so each
//              row goes on where its last look ended: every edge is looked at once, over the whole run
//   fairness   the columns of a row are scanned forwards and backwards in alternate phases, so that a search that was
//              led astray by the first columns is led elsewhere in the next phase
//   dead trees a search that failed, and saw no column that an earlier search of the same phase had visited, leaves a
//              tree from whose rows every edge leads to a column of the tree or of a tree that died before
//
// The invariant: edges of dead rows (those of dead trees) lead to dead columns only, and dead columns are matched, to
// dead rows. So an alternating path that enters them never leaves them and never ends at a free column: no search has
// to look at them again, and no flip ever changes them (Berge; Hungarian trees). In a phase that finds no path every
// search finds only dead columns beside its own, so all trees die. At the end, then, the dead columns are just those
// that alternating paths from the free rows reach, and they are the proof.
//
// Pothen, Fan, "Computing the block triangular form of a sparse matrix", ACM TOMS 16 (1990). Lookahead: Duff, "On
// algorithms for obtaining a maximum transversal", ACM TOMS 7 (1981). Fairness: Duff, Kaya, Ucar, "Design,
// implementation, and analysis of maximum transversal algorithms", ACM TOMS 38 (2011), PFP+.
#pragma once
#include <memory>
#include <vector>

#include "csr_edges.cuh"
#include "matching.cuh"
#include "phases.cuh"
#include "programs.cuh"

template <class Offset, class Column>
class PothenFan {
 public:
  using Edges = CsrEdges<Offset, Column>;

  PothenFan(const Edges& edges, const Matching& matching)
      : edges_(edges),
        matching_(matching),
        looked_at_(new Offset[matching.num_rows]),
        tree_(new Vertex[matching.num_columns]),
        visit_(matching.num_columns, NEVER) {
    for (Vertex row = 0; row < matching.num_rows; ++row) {
      looked_at_[row] = edges.begin(row);
      if (matching.row_match[row] == NONE && edges.has_edges(row)) roots_.push_back(row);
    }
  }

  // Completes the matching.
  void run(const Journal& journal, Report& report) {
    const HostTeam clock(0, 1, nullptr);
    Count now = clock.nanoseconds();
    for (bool found = true; found; ++report.phases) {
      const Vertex augmentations = run_phase(report.phases % 2 == 0);
      found = augmentations > 0;
      journal.levels[report.phases] = deepest_;
      journal.augmentations[report.phases] = augmentations;
      report.levels += deepest_;
      report.size += augmentations;
    }
    report.edges_inspected += inspected_;
    report.search_ns += lap(clock, now);
  }

  // After the run: is this column on an alternating path from a free row?
  bool reached(Vertex column) const { return visit_[column] == DEAD; }

 private:
  // What a column's visit_ holds: the number of the search that visited it last, or one of these.
  static constexpr Vertex NEVER = 0, DEAD = LAST_VERTEX;

  // A row of the path that is searched, and where its scan stands; `column` leads to the row above it.
  struct Place {
    Vertex row;
    Vertex column;
    Offset next;
    Offset end;
  };

  // Searches from every free row that may still be matched; returns how many were.
  Vertex run_phase(bool forwards) {
    step_ = forwards ? 1 : -1;
    deepest_ = 0;
    if (static_cast<Count>(search_) + static_cast<Count>(roots_.size()) >= DEAD) forget_visits();
    first_search_ = search_ + 1;
    Vertex augmentations = 0;
    std::size_t kept = 0;
    for (const Vertex root : roots_) {
      ++search_;
      if (search_from(root)) ++augmentations;
      else if (met_others_) roots_[kept++] = root;
      else bury_tree();
    }
    roots_.resize(kept);
    return augmentations;
  }

  // Finds an augmenting path and flips it; or returns false.
  bool search_from(Vertex root) {
    met_others_ = false;
    tree_size_ = 0;
    path_.clear();
    for (Vertex row = root;;) {
      const Vertex free_column = look_ahead(row);
      enter(row);
      if (free_column != NONE) {
        path_.back().column = free_column;
        flip_path();
        return true;
      }
      while (!advance(path_.back())) {
        path_.pop_back();
        if (path_.empty()) return false;
      }
      row = matching_.col_match[path_.back().column];
    }
  }

  Vertex look_ahead(Vertex row) {
    const Offset end = edges_.end(row), begin = looked_at_[row];
    for (Offset edge = begin; edge < end; ++edge) {
      const Vertex column = edges_.column(edge);
      if (matching_.col_match[column] != NONE) continue;
      looked_at_[row] = edge + 1;
      inspected_ += edge + 1 - begin;
      return column;
    }
    looked_at_[row] = end;
    inspected_ += end - begin;
    return NONE;
  }

  void enter(Vertex row) {
    const Offset begin = edges_.begin(row), end = edges_.end(row);
    if (step_ > 0) path_.push_back({row, NONE, begin, end});
    else path_.push_back({row, NONE, end - 1, begin - 1});
    if (static_cast<Vertex>(path_.size()) > deepest_) deepest_ = static_cast<Vertex>(path_.size());
  }

  // To the next column of a row that this phase has not visited; false if there is none. The row has looked at all its
  // columns, so they are matched.
  bool advance(Place& place) {
    for (; place.next != place.end; place.next += step_) {
      const Vertex column = edges_.column(place.next);
      const Vertex visit = visit_[column];
      ++inspected_;
      if (visit >= first_search_) {
        met_others_ |= visit != search_ && visit != DEAD;
        continue;
      }
      visit_[column] = search_;
      tree_[tree_size_++] = column;
      place.column = column;
      place.next += step_;
      return true;
    }
    return false;
  }

  void flip_path() {
    for (const Place& place : path_) {
      matching_.row_match[place.row] = place.column;
      matching_.col_match[place.column] = place.row;
    }
  }

  void bury_tree() {
    for (Vertex i = 0; i < tree_size_; ++i) visit_[tree_[i]] = DEAD;
  }

  // Searches are counted from one again.
  void forget_visits() {
    for (Vertex& visit : visit_) visit = visit == DEAD ? DEAD : NEVER;
    search_ = 0;
  }

  const Edges edges_;
  const Matching matching_;
  const std::unique_ptr<Offset[]> looked_at_;  // [num_rows] the first edge that the row has not looked at
  const std::unique_ptr<Vertex[]> tree_;       // [num_columns] the columns that this search visited
  std::vector<Vertex> visit_;                  // [num_columns]
  std::vector<Vertex> roots_;                  // free rows whose tree is not dead
  std::vector<Place> path_;
  Vertex tree_size_ = 0;
  Vertex search_ = 0, first_search_ = 0;  // the number of this search, and of the first one of this phase
  Offset step_ = 1;
  Vertex deepest_ = 0;       // rows on the longest path of this phase
  bool met_others_ = false;  // whether this search saw a column that an earlier one of the phase had visited
  Count inspected_ = 0;
};

// Maximum cardinality matching: a start, the searches, and the proof.
template <class Offset, class Column>
void match_by_pothen_fan(const CsrEdges<Offset, Column>& edges, Task task) {
  HostTeam team(0, 1, nullptr);
  Steps<HostTeam> steps(team, *task.progress);
  const std::unique_ptr<char[]> workspace(
      new char[start_workspace_size<CsrEdges<Offset, Column>>(task.start, task.matching, edges.num_edges())]);
  task.workspace = workspace.get();
  begin_matching(steps, edges, task);
  task.report->size = task.report->start_size;
  PothenFan<Offset, Column> searches(edges, task.matching);
  searches.run(task.journal, *task.report);
  for (Vertex column = 0; column < task.matching.num_columns; ++column) task.reached[column] = searches.reached(column);
}
