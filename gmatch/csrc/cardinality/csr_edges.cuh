// csr_edges.cuh: the edges of a graph in compressed sparse rows. Every stored entry is an edge.
#pragma once
#include "search/near_levels.cuh"

// Offsets may be 64-bit; a column number always fits a Vertex, whatever type it is stored in. On a host the offsets are our
// own, but columns may change while they are read: see vertex_at. So code that needs a column twice keeps a copy.
template <class Offset, class Column>
struct CsrEdges {
  Vertex num_rows;
  Vertex num_columns;
  const Offset* offsets;  // [num_rows + 1]
  const Column* columns;  // [offsets[num_rows]]

  FIELDS(CsrEdges, num_rows, num_columns, offsets, columns)

  DEVICE Offset begin(Vertex row) const { return offsets[row]; }
  DEVICE Offset end(Vertex row) const { return offsets[row + 1]; }
  DEVICE Vertex column(Offset edge) const { return vertex_at(columns + edge, num_columns); }
  DEVICE bool has_edges(Vertex row) const { return begin(row) < end(row); }
  static constexpr DEVICE bool keeps_trees() { return false; }
  DEVICE Count num_edges() const { return offsets[num_rows]; }

  // The places of the columns of a row in `columns`.
  struct Range {
    Offset begin, end;
  };
  DEVICE Range columns_of(Vertex row) const { return {begin(row), end(row)}; }

  // Several warps read a longer row, in pieces of this size. Pieces of 64 and 128 edges are as fast, and pieces of 1024 slower.
  // Shares of 128 to 1024 rows are as fast: benchmarks/log/cardinality_gpu.md, "Sizes of levels, blocks, shares and pieces".
  static constexpr int EDGES_OF_PIECE = SHORT_LISTS ? 4 : 256;
  static constexpr Vertex FULL_SHARE = SHORT_LISTS ? 8 : 256;  // rows of a frontier that keep a part of a team busy

  // A thread of a host looks ahead if the frontier has at least WIDE rows and the graph MANY_COLUMNS columns.
  // Less stands in the cache. It looks at FORESEEN edges of each row: a processor waits for a limited number of loads. Measured
  // in benchmarks/log/cardinality_host.md, "The host looks ahead along wide frontiers".
  static constexpr Vertex WIDE = SHORT_LISTS ? 1 : 1024, MANY_COLUMNS = SHORT_LISTS ? 1 : 1 << 17;
  static constexpr int FORESEEN = 8;

  // The search may use every edge, so there are none to add when no tree can grow.
  template <class Team>
  DEVICE void begin_phase(const Steps<Team>&) const {}
  template <class Team, class Forest>
  DEVICE bool widen(const Steps<Team>&, const Forest&) const { return false; }
  template <class Team, class Forest>
  DEVICE void end_phase(const Steps<Team>&, const Forest&) const {}

  // A level costs a barrier. Rank 0 does levels of few rows alone, since they are shorter than a barrier.
  template <class Team, class Forest>
  DEVICE Count expand(const Steps<Team>& steps, const Forest& forest, Vertex& level, bool shortest_only) const {
    if constexpr (Forest::LISTS_FRONTIER && Team::SMALL_STEP > 0) {
      if (steps.todo() <= Team::SMALL_STEP && !steps.team.alone()) {
        return steps.team.rank() == 0 ? expand_small_levels(steps, forest, level, shortest_only) : 0;
      }
    }
    if constexpr (Forest::GROWS_UNEVENLY && Team::HAS_PARTS) {
      if (!shortest_only) {
        return expand_ahead<NearWork<2048, 1024>>(
            steps, forest, level, FULL_SHARE,
            [&](const auto& near_steps, const auto& near_forest, const Sprout* sprouts, Vertex count, Vertex stride) {
              return expand_list(near_steps, near_forest, steps, forest, sprouts, count, stride);
            });
      }
    }
    return expand_level(steps, forest, level);
  }

  // Levels one after the other, without barriers. The other threads count them as one step. So their number is odd: the
  // last level then leaves its list where the next step of the team looks for it. The number may be even if the phase ends.
  template <class Team, class Forest>
  DEVICE Count expand_small_levels(const Steps<Team>& steps, const Forest& forest, Vertex& level,
                                   bool shortest_only) const {
    Team team = steps.team.team_of_one();
    Progress progress{};
    progress.num_ends = steps.progress.num_ends;
    Steps<Team> small(team, progress);
    small.begin_as(steps);
    Count inspected = 0;
    bool is_over = false;  // the phase
    for (bool odd = true;; odd = !odd, ++level) {
      inspected += expand_level(small, forest, level);
      small.end();
      is_over = small.todo() == 0 || (shortest_only && small.found() > 0) || forest.is_spent(small);
      if (is_over || (odd && small.todo() > Team::SMALL_STEP)) break;
    }
    steps.progress.num_ends = progress.num_ends;
    // The other threads do not know how wide the frontier was meanwhile, so rank 0 decides whether the phase is over.
    steps.progress.todo[steps.next()] = is_over ? 0 : small.todo();
    steps.progress.found[steps.next()] = small.found() - steps.found();
    return inspected;
  }

  // A row and its mate, read before it is known whether the tree grows, so that all loads are under way at once. They are
  // read by Team::read: a compiler would move plain loads behind the question.
  struct RowAndMate {
    Range range;
    Vertex mate;
  };
  template <class Team>
  DEVICE RowAndMate look_at(const Team& team, const Matching& matching, Vertex row) const {
    return {{team.read(&offsets[row]), team.read(&offsets[row + 1])}, team.read(&matching.row_match[row])};
  }

  // Lets the rows of a list, of which a part of the team takes care, reach columns.
  template <class Part, class NearForest, class Team, class Forest>
  DEVICE Count expand_list(const Steps<Part>& near_steps, const NearForest& near_forest, const Steps<Team>& steps,
                           const Forest& forest, const Sprout* sprouts, Vertex count, Vertex stride) const {
    struct Row {
      Vertex anchor, root;
      Offset begin;
    };
    struct Reached {
      Column column;
      Vertex path_end;  // of the tree, NONE if it grows
    };
    const Part& team = near_steps.team;
    Count inspected = 0;
    team.template each_item<Row>(
        count,
        [&](int i, Row& row) -> int {
          const Sprout sprout = sprouts[static_cast<Count>(i) * stride];
          const Piece piece = forest.piece_of(sprout);
          const RowAndMate seen = look_at(team, forest.matching, piece.row);
          if (!forest.grows(team, sprout.root)) return 0;
          const Range range = seen.range;
          row = {forest.anchor(piece.row, seen.mate), sprout.root, range.begin + static_cast<Offset>(piece.first)};
          const Count degree = range.end - row.begin;
          if (degree <= EDGES_OF_PIECE) return static_cast<int>(degree);
          if (sprout.row >= 0) forest.break_up(steps, sprout, degree, EDGES_OF_PIECE);
          return EDGES_OF_PIECE;
        },
        [&](const Row& row, int item) {
          return Reached{team.read(&columns[row.begin + item]), forest.end_of_tree(team, row.root)};
        },
        [&](const Row& row, const Reached& reached) {
          if (reached.path_end != NONE) return;  // a tree may end while the edges of a row are read
          ++inspected;
          near_forest.visit(near_steps, row.anchor, row.root, static_cast<Vertex>(reached.column), 0);
        });
    return inspected;
  }

  template <class Team, class Forest>
  DEVICE Count expand_level(const Steps<Team>& steps, const Forest& forest, Vertex level) const {
    Count inspected = 0;
    // In line: a call for each row takes a tenth of the time of a search on a host.
    const auto expand_row = [&](Vertex row, Vertex root) INLINED {
      const RowAndMate seen = look_at(steps.team, forest.matching, row);
      if (!forest.grows(steps.team, root)) return;
      const Vertex anchor = forest.anchor(row, seen.mate);
      inspected += scan(steps.team, seen.range, [&](Vertex column) {
        return forest.visit(steps, anchor, root, column, level);
      });
    };
    if constexpr (Forest::GROWS_UNEVENLY && Team::AHEAD > 0) {
      if (steps.todo() >= WIDE && num_columns >= MANY_COLUMNS) {
        const auto foresee_row = [&](Vertex row, int turns) { foresee(steps.team, forest, row, turns); };
        forest.each_foreseen_row(steps, foresee_row, expand_row);
        return inspected;
      }
    }
    forest.each_frontier_row(steps, level, expand_row);
    return inspected;
  }

  // Prefetches the cells that a row of the frontier will need, some turns before its own turn. Each turn prefetches the
  // cells whose addresses the turn before brought. No thread waits for them.
  template <class Team, class Forest>
  DEVICE void foresee(const Team& team, const Forest& forest, Vertex row, int turns) const {
    if (turns == 3) {
      team.prefetch(offsets + row);
      team.prefetch(forest.matching.row_match + row);
    } else if (turns == 2) {
      team.prefetch(columns + begin(row));
    } else {
      const Offset first = begin(row), behind = end(row);
      for (Offset edge = first; edge < behind && edge < first + FORESEEN; ++edge) {
        team.prefetch(forest.predecessor + column(edge));
        team.prefetch(forest.matching.col_match + column(edge));
      }
    }
  }

  // visit(column) for the columns of a row, shared out over the lanes of a group, until it returns false.
  // Returns how many this lane looked at.
  template <class Team, class Visit>
  DEVICE Count scan(const Team& team, Range range, Visit visit) const {
    Count inspected = 0;
    for (Offset edge = range.begin + team.lane(); edge < range.end; edge += team.lanes()) {
      ++inspected;
      if (!visit(column(edge))) break;
    }
    return inspected;
  }
};
