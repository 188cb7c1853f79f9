// pothen_fan.hpp: the Pothen-Fan method for maximum cardinality, on threads of the host.
//
// A phase searches depth first from every free row. A column is visited at most once in a phase, so the paths of a
// phase are disjoint, and each is flipped when it is found. Three things make it fast:
//
//   lookahead  a row that is visited first looks for a free column. A matched column never becomes free again, so each
//              row goes on where its last look ended: every edge is looked at once, over the whole run
//   fairness   the columns of a row are scanned forwards and backwards in alternate phases, so that a search that was
//              led astray by the first columns is led elsewhere in the next phase
//   dead trees a tree dies if its search failed and saw no column that another search of the phase had visited. Every
//              edge of its rows leads to a column of the tree, or of a tree that died before
//
// The invariant: edges of dead rows (the rows of dead trees) lead to dead columns only, and dead columns are matched, to
// dead rows. So an alternating path that enters them never leaves them and never ends at a free column: no search has
// to look at them again, and no flip ever changes them (Berge; Hungarian trees). A phase that finds no path has visited all
// columns that alternating paths from the free rows reach, beside the dead ones: they are the proof.
//
// Threads take free rows, one after the other. A search claims each column that it visits, and a free one until its path is
// flipped. The row that a column is matched to belongs to the search that has claimed the column: so only the claims race.
//
// Pothen, Fan, "Computing the block triangular form of a sparse matrix", ACM TOMS 16 (1990). Lookahead: Duff, "On
// algorithms for obtaining a maximum transversal", ACM TOMS 7 (1981). Fairness: Duff, Kaya, Ucar, "Design,
// implementation, and analysis of maximum transversal algorithms", ACM TOMS 38 (2011), PFP+. Threads: Azad,
// Halappanavar, Rajamanickam, Boman, Khan, Pothen, "Multithreaded algorithms for maximum matching in bipartite graphs",
// IPDPS 2012, PPF+.
#pragma once
#include <utility>
#include <vector>

#include "cardinality/csr_edges.cuh"
#include "cardinality/match.cuh"
#include "search/phases.cuh"
#include "team/memory.cuh"

// A number of entries that depth first may inspect: no limit.
constexpr Count NO_BUDGET = 0x7fffffffffffffff;

// Each thread of the team has one. They share what lies in the workspace.
template <class Offset, class Column>
class PothenFan {
 public:
  using Edges = CsrEdges<Offset, Column>;

  PothenFan(const Edges& edges, const Matching& matching, Workspace& workspace) : edges_(edges), matching_(matching) {
    const Count num_rows = matching.num_rows, num_columns = matching.num_columns;
    looked_at_ = workspace.take<Offset>(num_rows);
    roots_ = workspace.take<Vertex>(num_rows);
    kept_ = workspace.take<Vertex>(num_rows);
    visit_ = workspace.take<Vertex>(num_columns);
    phases_ = workspace.take<Phase>(NUM_PHASES);
  }

  // Before the first run.
  void begin(const HostTeam& team) {
    if (team.rank() == 0) {
      for (int i = 0; i < NUM_PHASES; ++i) phases_[i] = Phase{};
    }
    team.sync();
    team.each(matching_.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      looked_at_[row] = edges_.begin(row);
      if (matching_.row_match[row] == NONE && edges_.has_edges(row)) roots_[team.fetch_add(&phases_[0].kept, Count{1})] = row;
    });
    team.each(matching_.num_columns, [&](Count column) { visit_[column] = NEVER; });
    team.sync();
    num_roots_ = static_cast<Vertex>(team.read(&phases_[0].kept));
    phase_ = 1;
    searches_ = 0;
  }

  // Searches until a phase finds no path, or stop(paths) ends the run after a phase that found some, or more than `budget`
  // entries were inspected, which cuts a phase short. Returns whether the matching is proven. Other searches may match more
  // rows and columns between two runs.
  template <class Stop = NeverStop>
  bool run(const HostTeam& team, const Task& task, Stop stop = {}, Count budget = NO_BUDGET) {
    Report& report = *task.report;
    Count now = team.nanoseconds();
    inspected_ = 0;
    Phase phase;
    do {
      phase = run_phase(team, budget);
      inspected_ += phase.inspected;
      if (phase.found == 0 && phase.cut > 0) break;
      if (team.rank() != 0) continue;
      task.journal.levels[report.phases] = static_cast<Vertex>(phase.deepest);
      task.journal.augmentations[report.phases] = static_cast<Vertex>(phase.found);
      task.progress->augmented += phase.found;
      report.levels += phase.deepest;
      ++report.phases;
      ++report.depth_first;
    } while (phase.found > 0 && phase.cut == 0 && !stop(static_cast<Vertex>(phase.found)));
    if (team.rank() == 0) {
      report.edges_inspected += inspected_;
      report.search_ns += lap(team, now);
    }
    return phase.found == 0 && phase.cut == 0;
  }

  // After the proof: is this column on an alternating path from a free row?
  bool reached(Vertex column) const { return visit_[column] >= first_search_; }

 private:
  static constexpr Count OF_ROW = 16;  // entries that entering a row counts for, beside its own
  // visit_ of a column is the number of the search that visited it last, or one of these.
  static constexpr Vertex NEVER = 0, DEAD = LAST_VERTEX;

  // What the threads share of a phase. Three take turns: the next one is cleared while this one is used, and the one before
  // may still be read.
  struct Phase {
    Count begun = 0;      // roots that threads have taken
    Count kept = 0;       // roots whose trees are not dead
    Count found = 0;      // paths
    Count deepest = 0;    // rows on the longest path
    Count cut = 0;        // roots that the budget left out
    Count inspected = 0;  // entries
  };
  static constexpr int NUM_PHASES = 3;

  // A row on the path from the root, and how far its columns are scanned. `column` leads to the next row.
  struct Place {
    Vertex row;
    Vertex column;
    Offset next;
    Offset end;
  };

  // Searches from every free row that may still be matched.
  Phase run_phase(const HostTeam& team, Count budget) {
    step_ = -step_;
    if (static_cast<Count>(searches_) + num_roots_ >= DEAD) forget_visits(team);
    first_search_ = searches_ + 1;
    searches_ += num_roots_;
    Phase& phase = phases_[phase_];
    phase_ = (phase_ + 1) % NUM_PHASES;
    if (team.rank() == 0) phases_[phase_] = Phase{};
    deepest_ = 0;
    Count found = 0, cut = 0;
    for (Count i = take_root(team, phase); i < num_roots_; i = take_root(team, phase)) {
      const Vertex root = roots_[i];
      if (team.read(&matching_.row_match[root]) != NONE) continue;  // another turn matched it, and a search may change its mate
      bool is_kept = inspected_ + team.read(&phase.inspected) > budget;
      if (is_kept) {
        ++cut;
      } else {
        search_ = first_search_ + static_cast<Vertex>(i);
        looks_ = 0;
        const bool is_matched = search_from(team, root);
        team.fetch_add(&phase.inspected, looks_);
        found += is_matched;
        is_kept = !is_matched && met_others_;
        if (!is_matched && !met_others_) bury_tree(team);
      }
      if (is_kept) kept_[team.fetch_add(&phase.kept, Count{1})] = root;
    }
    team.add_all(&phase.found, found);
    team.add_all(&phase.cut, cut);
    team.max_all(&phase.deepest, deepest_);
    team.sync();
    std::swap(roots_, kept_);
    num_roots_ = static_cast<Vertex>(phase.kept);
    return phase;
  }

  static Count take_root(const HostTeam& team, Phase& phase) { return team.fetch_add(&phase.begun, Count{1}); }

  // Finds an augmenting path and flips it, or returns false.
  bool search_from(const HostTeam& team, Vertex root) {
    met_others_ = false;
    tree_.clear();
    path_.clear();
    for (Vertex row = root;;) {
      Place& place = enter(team, row);
      place.column = look_ahead(team, row);
      if (place.column != NONE) {
        flip_path(team);
        leave(team, place.column);
        return true;
      }
      while (!advance(team, path_.back())) {
        path_.pop_back();
        if (path_.empty()) return false;
      }
      row = team.read(&matching_.col_match[path_.back().column]);
      if (row == NONE) return flip_path(team), true;  // columns changed after the row looked at them: see vertex_at
    }
  }

  Place& enter(const HostTeam& team, Vertex row) {
    const Offset begin = edges_.begin(row), end = edges_.end(row);
    if (step_ > 0) path_.push_back({row, NONE, begin, end});
    else path_.push_back({row, NONE, end - 1, begin - 1});
    const Count depth = static_cast<Count>(path_.size());
    if (depth > deepest_) deepest_ = depth;
    team.spend(OF_ROW + (end - begin));
    return path_.back();
  }

  // A free column of the row that no other search has claimed, or NONE. The other search will match the column.
  Vertex look_ahead(const HostTeam& team, Vertex row) {
    const Offset begin = looked_at_[row], end = edges_.end(row);
    Offset edge = begin;
    Vertex found = NONE;
    while (edge < end && found == NONE) {
      const Vertex column = edges_.column(edge++);
      if (team.read(&matching_.col_match[column]) != NONE || !visits(team, column)) continue;
      if (team.read(&matching_.col_match[column]) == NONE) found = column;
      else leave(team, column);  // another search has matched it, and left it, in between
    }
    looked_at_[row] = edge;
    looks_ += edge - begin;
    return found;
  }

  // Whether this search now visits the column: not if a search of this phase has done so, or if it is dead.
  bool visits(const HostTeam& team, Vertex column) {
    Vertex visit = team.read(&visit_[column]);
    if (visit >= first_search_) return false;
    visit_before_ = visit;
    if (team.alone()) return visit_[column] = search_, true;
    return __atomic_compare_exchange_n(&visit_[column], &visit, search_, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }
  // Other searches may visit the column that was free until now, and go on from its row.
  void leave(const HostTeam& team, Vertex column) {
    if (team.alone()) visit_[column] = visit_before_;
    else __atomic_store_n(&visit_[column], visit_before_, __ATOMIC_RELEASE);
  }

  // Goes to the next column of the row that this phase has not visited; false if there is none. That column is matched,
  // since the row has looked at all its columns.
  bool advance(const HostTeam& team, Place& place) {
    while (place.next != place.end) {
      const Vertex column = edges_.column(place.next);
      place.next += step_;
      ++looks_;
      if (visits(team, column)) {
        tree_.push_back(column);
        place.column = column;
        return true;
      }
      const Vertex visit = team.read(&visit_[column]);
      met_others_ |= visit != search_ && visit != DEAD;
    }
    return false;
  }

  void flip_path(const HostTeam& team) {
    for (const Place& place : path_) {
      team.write(&matching_.row_match[place.row], place.column);
      team.write(&matching_.col_match[place.column], place.row);
    }
  }

  void bury_tree(const HostTeam& team) {
    for (const Vertex column : tree_) team.write(&visit_[column], DEAD);
  }

  // Makes room for the numbers of searches to begin at one again.
  void forget_visits(const HostTeam& team) {
    team.each(matching_.num_columns, [&](Count column) {
      if (visit_[column] != DEAD) visit_[column] = NEVER;
    });
    team.sync();
    searches_ = 0;
  }

  const Edges edges_;
  const Matching matching_;
  Offset* looked_at_;  // [num_rows]    the first edge that the row has not looked at
  Vertex* roots_;      // [num_rows]    free rows whose trees are not dead
  Vertex* kept_;       // [num_rows]    the roots of the next phase
  Vertex* visit_;      // [num_columns]
  Phase* phases_;      // [NUM_PHASES]
  std::vector<Vertex> tree_;  // the columns that this search visited
  std::vector<Place> path_;
  int phase_ = 0;
  Vertex num_roots_ = 0;
  Vertex search_ = 0, first_search_ = 0;  // the number of this search, and of the first one of this phase
  Vertex searches_ = 0;                   // the last number of this phase
  Offset step_ = -1;                      // how this phase goes through the columns of a row: 1 or -1
  Count deepest_ = 0;                     // rows on the longest path of this thread's searches
  bool met_others_ = false;               // did this search see a column that another one of this phase had visited?
  Vertex visit_before_ = NEVER;           // the number that the column visited last had before
  Count looks_ = 0;                       // entries that this search has inspected
  Count inspected_ = 0;                   // entries that the phases of this run before this one have inspected
};

// Maximum cardinality matching: a start, the searches, and the proof.
template <class Offset, class Column>
void match_by_pothen_fan(HostTeam& team, const CsrEdges<Offset, Column>& edges, const Task& task) {
  Steps<HostTeam> steps(team, *task.progress);
  if (!begin_matching(steps, edges, task)) return;
  team.sync();  // all counts of the start are in
  Workspace workspace(task.workspace);
  PothenFan<Offset, Column> searches(edges, task.matching, workspace);
  searches.begin(team);
  searches.run(team, task);
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
