// sparse_tight_edges.cuh: the tight edges of a sparse matrix of costs, and the duals that make them so.
//
// As in tight_edges.cuh the duals do not change during a phase, and every column knows its distance from the roots, over
// slacks. But a sparse row reaches only few columns, and a dual step for every distinct distance would be a barrier for
// every few entries. So distances are found first, then used:
//
//   widen   finds all distances up to a radius within which free columns lie. Rows whose distance fell lower the columns of
//           their entries, in rounds, near rows before far ones. The blocks of a grid take some rounds by themselves
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
//
// Meyer, Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of Algorithms 49 (2003); with the
// width of a step fitted to the rounds that it takes.
#pragma once
#include "costs/spreads.cuh"
#include "search/near_levels.cuh"

template <class Costs>
struct SparseTightEdges {
  using Dual = typename Costs::Dual;
  using Offset = typename Costs::Offset;
  // A step of more than MOST_ROUNDS rounds is made narrower, since rows are scanned again and again in it. So is a step whose
  // rounds have a row for more than 1 lane group in BUSY, since some groups have two rows then. A step of fewer than
  // FEWEST_ROUNDS rounds is made wider, and so is one whose rounds have a row for fewer than 1 lane group in IDLE: a barrier
  // costs more than another scan. A fourth to 4 times of each number is within the noise on a GPU and on a host:
  // benchmarks/log/sparse.md, "Thresholds measured again".
  static constexpr Vertex MOST_ROUNDS = 48, FEWEST_ROUNDS = 6, IDLE = 16, BUSY = 4;
  // Rows for each lane group in a step of a grid, or of a team that passes over all columns. With fewer the step is made wider,
  // with more narrower. Half, 2 and 4 times these are as fast for cores: benchmarks/log/core_gpu.md, "Thresholds measured again".
  static constexpr Vertex FEWEST_ROWS = 2, MOST_ROWS = 16;
  // A part of a grid takes at most ROUNDS_AHEAD rounds by itself, from at most ROOM_AHEAD rows. If the list of the grid has more
  // than FULL_SHARE rows for each part, the parts take one round. The numbers of NearWork, not measured for rounds.
  static constexpr int ROUNDS_AHEAD = SHORT_LISTS ? 5 : 24;
  static constexpr Vertex ROOM_AHEAD = SHORT_LISTS ? 6 : 512, FULL_SHARE = SHORT_LISTS ? 8 : 64;
  // How often rows that leave pairs out may read the matrix for one radius. After that the radius ends at the nearest pair that
  // is left out, if a free column lies nearer. 2 and 8 are as fast: benchmarks/log/core_gpu.md, "Thresholds measured again".
  static constexpr int MOST_READS = 4;
  // Passes of a round. A pass without a row costs a tenth of a barrier. See benchmarks/log/core_gpu.md, "8, then 64 passes
  // between two barriers".
  static constexpr int PASSES_OF_A_ROUND = 64;

  // Sums and minima over all columns. Three of them take turns, as the counters of Progress do.
  struct Census {
    Dual least_far, farthest;          // distances: the least beyond the reach of this step, and the largest
    Dual nearest_free, farthest_free;  // of free columns within it
    Dual nearest_left;                 // of pairs that the costs leave out
    Count num_free;                    // of free columns within reach
    Count rows_scanned, roots;         // since the census before
  };
  // A row that lowers columns, and the distance of its own column.
  struct alignas(8) NearRow {
    Dual distance;
    Vertex row, unused;
  };

  Costs costs;
  bool many_paths;   // a phase goes on until it reaches half as many free columns as roots; square problems only
  Dual* u;           // [num_rows]
  Dual* v;           // [num_columns]
  Dual* distance;    // [num_columns] from the nearest root, as far as known; final within the radius
  Dual* scanned;     // [num_columns] a distance from which its mate lowered columns in this phase; for teams that keep a
                     //               list, and are no grid, only if the mate was in a tree that was kept
  // Only for costs that leave pairs out, whose rows may read the matrix:
  Dual* whole_from;  // [num_rows] the distance from which all pairs of a row lowered columns, or infinity
  Vertex* readers;   // [num_rows] the rows that read now
  Vertex* num_readers;  // [1]
  Vertex* fell_in;   // [num_columns] the last number of `reads` in which a reader lowered it
  Vertex* via;       // [num_columns] a row that read, and gave the column its distance; or NONE
  Vertex* num_children; // [num_rows] columns that have their distance via the row
  Vertex* past_children;  // [num_rows] where they end in `children`
  Vertex* children;  // [num_columns]
  Vertex* num_placed;  // [1] entries of `children`
  Vertex* near_rows; // [2][num_rows] other teams: rows whose distance fell within the reach, in this round and the next
  Vertex* listed;    // [num_columns] other teams: minus the number of the round that its mate was last listed for
  Census* censuses;  // [3]
  Dual* nearest_end; // [1]           the least distance of a free column so far
  Dual radius;       // this thread's copies; all agree
  Dual reach;        // distances up to here are lowered further
  Dual step;
  Vertex round, turn;
  Vertex reads;                      // how often rows read the matrix in this phase
  Dual farthest_read;                // readers lowered no columns beyond it in this phase
  bool has_trees;                    // of an earlier phase
  Count num_roots, dual_steps, rounds;
  Count rows_scanned, entries_read;  // by this thread
  Count counted;                     // rows of the censuses so far
  Count roots_seen;                  // by this thread, since the census before

  DEVICE void carve(Workspace& workspace) {
    distance = workspace.take<Dual>(costs.num_columns);
    scanned = workspace.take<Dual>(costs.num_columns);
    if constexpr (Costs::LEAVES_OUT) {
      whole_from = workspace.take<Dual>(costs.num_rows);
      readers = workspace.take<Vertex>(costs.num_rows);
      num_readers = workspace.take<Vertex>(1);
      fell_in = workspace.take<Vertex>(costs.num_columns);
      via = workspace.take<Vertex>(costs.num_columns);
      num_children = workspace.take<Vertex>(costs.num_rows);
      past_children = workspace.take<Vertex>(costs.num_rows);
      children = workspace.take<Vertex>(costs.num_columns);
      num_placed = workspace.take<Vertex>(1);
    }
    near_rows = workspace.take<Vertex>(2 * static_cast<Count>(costs.num_rows));
    listed = workspace.take<Vertex>(costs.num_columns);
    censuses = workspace.take<Census>(3);
    nearest_end = workspace.take<Dual>(1);
  }

  // Called once, before the first phase.
  template <class Team>
  DEVICE void begin(const Team& team) {
    step = 0;
    round = 1;  // no column is listed for it yet, see lower
    turn = 0;
    rounds = roots_seen = 0;
    has_trees = false;
    team.each(costs.num_columns, [&](Count column) { listed[column] = 0; });
    if (team.rank() == 0) clear(censuses[0]);
  }

  DEVICE bool has_edges(Vertex row) const { return costs.has_edges(row); }
  DEVICE bool keeps_trees() const { return has_trees; }

  template <class Team>
  DEVICE void begin_phase(const Steps<Team>& steps) {
    radius = reach = UNKNOWN;
    farthest_read = costs.infinite();
    num_roots = 0;
    steps.team.each(costs.num_columns, [&](Count column) { distance[column] = scanned[column] = costs.infinite(); });
    if constexpr (Costs::LEAVES_OUT) {
      reads = 0;
      steps.team.each(costs.num_rows, [&](Count row) {
        whole_from[row] = costs.infinite();
        num_children[row] = 0;
      });
      steps.team.each(costs.num_columns, [&](Count column) {
        fell_in[column] = 0;
        via[column] = NONE;
      });
      if (steps.team.rank() == 0) *num_placed = *num_readers = 0;
    }
    if (steps.team.rank() == 0) *nearest_end = costs.infinite();
  }

  // Grows the trees along the edges that give a column its distance. In the first call of a phase the first rows lower
  // columns: roots, and rows of trees that were kept.
  template <class Team>
  DEVICE Count expand(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex& level, bool) {
    if (radius == UNKNOWN) {
      forest.each_frontier_row(steps, level, [&](Vertex row, Vertex) {
        if (steps.team.lane() == 0) begin_from(steps.team, forest.matching.row_match[row]);
        lower_columns(steps, forest, {0, row});
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
    const Team& team = steps.team;
    if (!forest.grows(team, sprout.root)) return 0;
    const Vertex mate = team.read(&forest.matching.row_match[sprout.row]);
    Dual from = 0, there[Few<Team>::SIZE];
    const auto look = [&](int k, Vertex column) {
      there[k] = team.read(&distance[column]);
      if (k == 0) from = team.read(&distance[mate == NONE ? 0 : mate]);
    };
    const Count inspected = each_few(team, sprout.row, look, [&](const Few<Team>& few) {
      if (mate == NONE) from = 0;
      for (int k = 0; k < Few<Team>::SIZE; ++k) {
        if (few.column[k] == NONE || there[k] > radius || from + few.slack(k) != there[k]) continue;
        if (!forest.visit(steps, forest.anchor(sprout.row, mate), sprout.root, few.column[k], 0)) return false;
      }
      return true;
    });
    if constexpr (Costs::LEAVES_OUT) {
      if (reads == 0) return inspected;
      const Vertex size = num_children[sprout.row], begin = past_children[sprout.row] - size;
      for (Vertex k = team.lane(); k < size; k += team.lanes()) {
        if (!forest.visit(steps, forest.anchor(sprout.row, mate), sprout.root, children[begin + k], 0)) break;
      }
    }
    return inspected;
  }

  // Finds the distances up to a radius with free columns, and plants the trees again. Returns false if this phase is over, or
  // no free column can be reached. After that the trees find a free column, unless costs changed or are not as they were
  // inspected. Then distances need not follow from each other, and only the bounds of the loops end the search.
  template <class Team>
  DEVICE bool widen(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    if (steps.found() > 0 || steps.roots() == 0) return false;
    if (radius != UNKNOWN) return false;
    Vertex rounds_before = 0;
    for (Count settled = 0;; ++settled) {  // a step settles a column, or more, or a row reads the matrix
      if (Team::INPUT_CHANGES && settled > costs.num_columns + static_cast<Count>(costs.num_rows)) return false;
      const Census all = take_census(steps.team, forest);
      num_roots += all.roots;
      if (rounds_before > 0) fit_step(steps.team, all, rounds_before);
      const bool beyond = all.least_far < costs.infinite();
      if (beyond && (all.num_free == 0 || (many_paths && 2 * all.num_free < num_roots))) {
        rounds_before = settle_step(steps, forest, all);
        continue;
      }
      const Dual to_free = many_paths && all.num_free > 0 ? all.farthest_free : all.nearest_free;
      const Dual wanted = farthest_read < to_free ? farthest_read : to_free;
      if (all.nearest_left < wanted && (reads < MOST_READS || all.nearest_left < all.nearest_free)) {
        read_rows(steps, forest, reads < MOST_READS ? wanted : all.nearest_free);
        rounds_before = 0;
        continue;
      }
      if (all.num_free == 0) return false;
      radius = all.nearest_left < wanted ? all.nearest_left : wanted;
      break;
    }
    ++dual_steps;
    collect_children(steps);
    forest.plant(steps, *this);
    steps.end();
    return true;
  }

  // Shifts the duals by radius - distance: no slack becomes negative, and the paths become tight.
  template <class Team>
  DEVICE void end_phase(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    steps.team.each(costs.num_rows, [&](Count row) {
      const Vertex column = forest.matching.row_match[row];
      const Dual from = column == NONE ? 0 : distance[column];
      if (from < radius) u[row] += radius - from;
    });
    steps.team.each(costs.num_columns, [&](Count column) {
      if (distance[column] < radius) v[column] -= radius - distance[column];
    });
    has_trees = true;
    steps.end();
  }

  // Rounding may leave the slack of a float below zero.
  static DEVICE Dual slack(Dual cost, Dual u_of_row, Dual v_of_column) {
    const Dual slack = cost - u_of_row - v_of_column;
    return slack > 0 ? slack : 0;
  }

  // Some allowed pairs of a row, so that all loads for them are under way at once. NONE past the end.
  template <class Team>
  struct Few {
    static constexpr int SIZE = Team::AT_ONCE > 1 ? StoredRow<Costs>::AT_ONCE : 1;
    Vertex column[SIZE];
    Dual cost[SIZE], v_of_column[SIZE], u_of_row;

    DEVICE Dual slack(int k) const { return SparseTightEdges::slack(cost[k], u_of_row, v_of_column[k]); }
  };

  // Calls use(few) for the allowed pairs of a row, shared out over the lanes of a group, until it returns false. Before that
  // it calls look(k, column), which reads further cells by Team::read, so that all loads are under way at once: see StoredRow.
  // A place without a pair reads the cells of the first column, which mean nothing. Returns the entries that this lane read.
  template <class Team, class Look, class Use>
  DEVICE Count each_few(const Team& team, Vertex row, Look look, Use use) const {
    constexpr int SIZE = Few<Team>::SIZE;
    const auto entries = row_of(costs, row);
    if (!entries.has_places()) return 0;
    Count inspected = 0;
    Vertex first = team.lane(), size;
    bool goes_on = true;
    NOT_UNROLLED
    do {
      Few<Team> few;
      typename Costs::Cost entry[SIZE];
      for (int k = 0; k < SIZE; ++k) {
        const Vertex place = entries.safe(first + k * team.lanes());
        few.column[k] = entries.column(team, place);
        entry[k] = entries.entry(team, place);
      }
      size = entries.size_of(team);
      for (int k = 0; k < SIZE; ++k) {
        const bool is_entry = first + k * team.lanes() < size;
        few.cost[k] = costs.of_entry(entry[k]);
        if (!is_entry || is_forbidden(few.cost[k])) few.column[k] = NONE;
        inspected += is_entry;
      }
      for (int k = 0; k < SIZE; ++k) look(k, few.column[k] == NONE ? 0 : few.column[k]);
      few.u_of_row = team.read(&u[row]);
      for (int k = 0; k < SIZE; ++k) few.v_of_column[k] = team.read(&v[few.column[k] == NONE ? 0 : few.column[k]]);
      goes_on = use(few);
      first += SIZE * team.lanes();
    } while (goes_on && first < size);
    return inspected;
  }

  // visit(column, slack), one after the other.
  template <class Team, class Visit>
  DEVICE Count each_entry(const Team& team, Vertex row, Visit visit) const {
    return each_few(team, row, [](int, Vertex) {}, [&](const Few<Team>& few) {
      for (int k = 0; k < Few<Team>::SIZE; ++k) {
        if (few.column[k] != NONE && !visit(few.column[k], few.slack(k))) return false;
      }
      return true;
    });
  }

 private:
  static constexpr Dual UNKNOWN = -1;  // below every distance

  // Whether a round passes over all columns, instead of keeping a list of the columns that fell.
  template <class Team>
  static constexpr DEVICE bool in_passes() { return Team::PASSES && Costs::FEW_COLUMNS; }

  // The distance of the nearest pair that the costs leave out of a row.
  template <class Team>
  DEVICE Dual distance_left(const Team& team, const ClaimedForest<true>& forest, Vertex row) const {
    const Dual from = distance_of(team, forest, row), rest = costs.rest[row];
    if (from == costs.infinite() || rest == costs.infinite() || from >= whole_from[row]) return costs.infinite();
    return rest > u[row] ? from + (rest - u[row]) : from;
  }

  // Rows read the matrix if they left out a pair nearer than the radius, and lower all columns up to the radius. Each column
  // that fell then finds the reader that gave it its distance, since no row may have the column in its list. The reader whose
  // left-out pair is nearest has its final distance. A reader may lower the distance of another reader, which then reads again.
  // So readers lead back to roots, as rows do that have the column in their lists.
  template <class Team>
  DEVICE void read_rows(Steps<Team>& steps, const ClaimedForest<true>& forest, Dual radius_wanted) {
    if constexpr (Costs::LEAVES_OUT) {
      Team& team = steps.team;
      const Vertex now = ++reads;
      farthest_read = radius_wanted;
      // All readers use the distances before this step: of two equally near rows, neither has its column from the other.
      team.each(costs.num_rows, [&](Count i) {
        const Vertex row = static_cast<Vertex>(i);
        if (distance_left(team, forest, row) >= radius_wanted) return;
        whole_from[row] = distance_of(team, forest, row);
        readers[team.append(num_readers)] = row;
      });
      team.sync();
      const Vertex num_now = *num_readers;
      team.each_group(num_now, [&](Count i) { read_row(steps, forest, readers[i], now); });
      team.sync();
      if (team.rank() == 0) *num_readers = 0;
      // `via` is the row that lowered a column last, unless several rows lowered it at the same time.
      team.template each_chosen<Vertex>(
          costs.num_columns,
          [&](Count column, Vertex& fallen) {
            fallen = static_cast<Vertex>(column);
            return fell_in[column] == now && !is_via(fallen, via[column]);
          },
          [&](Count, Vertex column) { find_reader(team, column, num_now); });
      steps.end();
      settle(steps, forest);
    }
  }

  template <class Team>
  DEVICE void read_row(const Steps<Team>& steps, const ClaimedForest<true>& forest, Vertex row, Vertex now) {
    Team& team = steps.team;
    const Dual from = whole_from[row], u_of_row = u[row];
    const auto distance_by = [&](Dual cost, Dual v_there) { return from + slack(cost, u_of_row, v_there); };
    costs.read_in_search(
        team, row, forest.matching.row_match[row], NearPairs{v, reduced_up_to(from, u_of_row)},
        [&](Vertex column, Dual cost, Dual v_there) {
          const Dual here = distance_by(cost, v_there);
          if (here > farthest_read || here >= team.read(&distance[column])) return;
          lower(team, column, forest.matching.col_match[column], here,
                [&](Vertex there, Vertex mate) { list_once(steps, there, mate); });
          team.write(&via[column], row);
          team.write(&fell_in[column], now);
        },
        [&](Vertex column, Dual cost) { return distance_by(cost, v[column]) == team.read(&distance[column]); });
    entries_read += costs.num_columns / team.lanes();
  }
  // The largest cost - v of a pair of a row that is of use.
  DEVICE Dual reduced_up_to(Dual from, Dual u_of_row) const {
    return farthest_read == costs.infinite() ? farthest_read : u_of_row + (farthest_read - from);
  }
  // How a row that reads judges pairs: see Core.
  struct NearPairs {
    const Dual* v;
    Dual near;

    static DEVICE Dual nothing() { return Costs::infinite(); }
    DEVICE Dual see(Vertex column) const { return v[column]; }
    DEVICE Dual worth(Dual cost, Dual v_there) const { return is_forbidden(cost) ? cost : cost - v_there; }
    template <class Rough>
    DEVICE Rough roughly_v(Dual v_there) const { return roughly_above<Rough>(v_there); }
    template <class Rough>
    DEVICE Rough roughly_reduced(Dual worth) const { return roughly_above<Rough>(worth); }
  };

  // Finds a reader that gave the column its distance: the lowest row of the lanes that first find one; NONE if there is none.
  template <class Team>
  DEVICE void find_reader(const Team& team, Vertex column, Vertex num_now) const {
    Vertex found = LAST_VERTEX;
    for (Vertex first = 0; first < num_now && found == LAST_VERTEX; first += team.lanes()) {
      const Vertex k = first + team.lane();
      found = team.min_group(k < num_now && is_via(column, readers[k]) ? readers[k] : LAST_VERTEX);
    }
    if (team.lane() == 0) via[column] = found == LAST_VERTEX ? NONE : found;
  }

  // Whether a column has its distance from this reader.
  DEVICE bool is_via(Vertex column, Vertex row) const {
    return whole_from[row] + slack(costs.dense.at(row, column), u[row], v[column]) == distance[column];
  }

  // Lists for each row the columns that have their distance via the row.
  template <class Team>
  DEVICE void collect_children(const Steps<Team>& steps) {
    if constexpr (Costs::LEAVES_OUT) {
      if (reads == 0) return;
      Team& team = steps.team;
      team.each(costs.num_columns, [&](Count i) {
        const Vertex column = static_cast<Vertex>(i), row = via[column];
        if (row == NONE) return;
        // Other rows may have lowered it since.
        if (distance[column] <= radius && is_via(column, row)) team.fetch_add(&num_children[row], 1);
        else via[column] = NONE;
      });
      team.sync();
      team.each(costs.num_rows, [&](Count row) {
        if (num_children[row] > 0) past_children[row] = team.fetch_add(num_placed, num_children[row]);
      });
      team.sync();
      team.each(costs.num_columns, [&](Count column) {
        if (via[column] != NONE) children[team.fetch_add(&past_children[via[column]], 1)] = static_cast<Vertex>(column);
      });
      team.sync();
    }
  }

  // A row at distance zero, and the column by which it is.
  template <class Team>
  DEVICE void begin_from(const Team& team, Vertex column) {
    roots_seen += column == NONE;
    if (column == NONE) return;
    scanned[column] = 0;
    team.lower(&distance[column], Dual{0});
  }

  // Other threads may have lowered it in this round.
  template <class Team>
  DEVICE Dual distance_of(const Team& team, const ClaimedForest<true>& forest, Vertex row) const {
    const Vertex column = forest.matching.row_match[row];
    return column == NONE ? 0 : team.read(&distance[column]);
  }

  // The reach grows by a step, and rows within it lower the columns of their entries until no distance within it falls.
  // Returns how many rounds it took.
  template <class Team>
  DEVICE Vertex settle_step(Steps<Team>& steps, const ClaimedForest<true>& forest, const Census& all) {
    const Dual before = reach;
    if (step == 0) step = (all.farthest - all.least_far) / 8;
    reach = all.farthest - all.least_far < step ? all.farthest : all.least_far + step;
    if constexpr (!in_passes<Team>()) list_near(steps, forest, before);
    return settle(steps, forest);
  }
  template <class Team>
  DEVICE Vertex settle(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    Vertex rounds_here = 0;
    if constexpr (in_passes<Team>()) {
      do ++rounds_here;
      while (steps.team.any(lower_near_columns(steps, forest)));
    } else {
      for (; steps.todo() > 0; ++rounds_here) {
        lower_listed(steps, forest);
        if (Team::INPUT_CHANGES && rounds_here > costs.num_rows) break;  // no shortest path has more rows
      }
    }
    rounds += rounds_here;
    return rounds_here;
  }

  // One round of a team that passes over all columns: the next pass sees what fell in this one, without a barrier. Returns
  // whether this thread saw a distance fall.
  template <class Team>
  DEVICE bool lower_near_columns(const Steps<Team>& steps, const ClaimedForest<true>& forest) {
    Team& team = steps.team;
    bool fell = false;
    for (int pass = 0; pass < PASSES_OF_A_ROUND; ++pass) {
      team.template each_chosen<NearRow>(
          costs.num_columns,
          [&](Count column, NearRow& near) {
            near = {team.read(&distance[column]), forest.matching.col_match[column]};
            if (near.row == NONE || near.distance > reach || near.distance >= scanned[column]) return false;
            scanned[column] = near.distance;
            return true;
          },
          [&](Count, const NearRow& near) { fell |= lower_columns(steps, forest, near); });
    }
    return fell;
  }

  // Lists the first rows: all that the step has come to reach.
  template <class Team>
  DEVICE void list_near(Steps<Team>& steps, const ClaimedForest<true>& forest, Dual before) const {
    steps.team.each(costs.num_columns, [&](Count i) {
      const Vertex column = static_cast<Vertex>(i), mate = forest.matching.col_match[column];
      if (mate != NONE && distance[column] > before && distance[column] <= reach && distance[column] < scanned[column]) {
        list(steps, mate);
      }
    });
    steps.end();
  }

  // One round of a team that keeps a list; or some rounds of each part of a grid.
  template <class Team>
  DEVICE void lower_listed(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    ++round;
    if constexpr (Team::IS_GRID) {
      lower_ahead(steps, forest);
    } else {
      const Vertex* rows = near_rows_of(steps.parity());
      steps.team.each_group(steps.todo(), [&](Count i) {
        lower_columns(steps, forest, {distance_of(steps.team, forest, rows[i]), rows[i]});
      });
    }
    steps.end();
  }

  // The list that a part of a grid works on by itself.
  struct RowsAhead {
    Progress progress;
    Vertex rows[2 * ROOM_AHEAD];
    int num_waiting[2];  // in turns, like the lists
  };

  // Each part takes its share of the list. A row that a part lists goes to the part itself, which waits for its own threads only.
  // If its list is full, the row goes to the next list of the grid, and so do the rows that are listed at the end.
  //
  // A row is in the list of each part that lowered its column, so it may be in many lists, or in one list many times. It lowers
  // columns only if its distance is less than any from which a lane group has lowered columns for it, or is about to. So no fall
  // of a distance is missed: who lowers a column lists its mate afterwards, and the mate reads its distance after that.
  template <class Team>
  DEVICE void lower_ahead(const Steps<Team>& steps, const ClaimedForest<true>& forest) {
    SHARED_BY_BLOCK(RowsAhead, near);
    auto part = steps.team.part();
    if (part.rank() == 0) near.progress = Progress{};
    part.sync();
    Steps<decltype(part)> near_steps(part, near.progress);
    const auto list_ahead = [&](Vertex column, Vertex row) {
      const Vertex place = near_steps.append();
      if (place < ROOM_AHEAD) near.rows[(near_steps.parity() ^ 1) * ROOM_AHEAD + place] = row;
      else list_once(steps, column, row);
    };
    // Shares are dealt out in turn, since neighbours in the list are alike.
    const Vertex todo = steps.todo(), parts = steps.team.parts(), mine = steps.team.part_number();
    const Vertex* rows = near_rows_of(steps.parity()) + mine;
    Vertex count = mine < todo ? (todo - 1 - mine) / parts + 1 : 0, stride = parts;
    const int most = todo > FULL_SHARE * static_cast<Count>(parts) ? 1 : ROUNDS_AHEAD;
    int done = 0;
    bool is_awaited;
    do {
      // If half of the parts wait, a part with more rows than lane groups shares them out again.
      const bool may_share = count > part.size() / part.lanes();
      if (part.rank() == 0) near.num_waiting[near_steps.parity() ^ 1] = may_share ? steps.team.num_waiting() : 0;
      part.each_group(count, [&](Count i) { lower_if_nearer(near_steps, forest, rows[i * stride], list_ahead); });
      near_steps.end();
      is_awaited = 2 * near.num_waiting[near_steps.parity()] >= parts;
      count = near_steps.todo() < ROOM_AHEAD ? near_steps.todo() : ROOM_AHEAD;
      rows = near.rows + near_steps.parity() * ROOM_AHEAD;
      stride = 1;
    } while (++done < most && count > 0 && !is_awaited);
    part.each(count, [&](Count i) { list_once(steps, forest.matching.row_match[rows[i]], rows[i]); });
  }

  // A matched row lowers columns, unless it has done so from this distance. All lanes of its group go by one distance.
  template <class Part, class List>
  DEVICE void lower_if_nearer(const Steps<Part>& steps, const ClaimedForest<true>& forest, Vertex row, List list) {
    Part& part = steps.team;
    const Vertex column = forest.matching.row_match[row];
    const Dual from = part.read(&distance[column]), before = part.read(&scanned[column]);
    const NearRow near{part.min_group(from), row};
    if (near.distance >= part.min_group(before)) return;
    if (part.lane() == 0) part.write(&scanned[column], near.distance);
    lower_columns(steps, forest, near, list);
  }

  // Returns whether a column fell whose mate is to be listed or passed.
  template <class Team>
  DEVICE bool lower_columns(const Steps<Team>& steps, const ClaimedForest<true>& forest, const NearRow& near) {
    return lower_columns(steps, forest, near, [&](Vertex column, Vertex mate) { list_once(steps, column, mate); });
  }
  // Calls list(column, mate) for the columns that it lowers within reach, if the team keeps a list.
  template <class Team, class List>
  DEVICE bool lower_columns(const Steps<Team>& steps, const ClaimedForest<true>& forest, const NearRow& near, List list) {
    Team& team = steps.team;
    const Dual bound = many_paths ? costs.infinite() : team.read(nearest_end);
    rows_scanned += team.lane() == 0;
    bool fell = false;
    constexpr int SIZE = Few<Team>::SIZE;
    Dual there[SIZE];
    Vertex mate[SIZE];
    const auto look = [&](int k, Vertex column) {
      there[k] = team.read(&distance[column]);
      mate[k] = team.read(&forest.matching.col_match[column]);
    };
    entries_read += each_few(team, near.row, look, [&](const Few<Team>& few) {
      if constexpr (in_passes<Team>()) {
        // Distances within reach are lowered at once, before this thread knows whether they fall: other rows wait for them.
        for (int k = 0; k < SIZE; ++k) {
          if (few.column[k] == NONE) continue;
          const Dual here = near.distance + few.slack(k);
          if (here <= reach && here <= bound) team.lower(&distance[few.column[k]], here);
        }
      }
      for (int k = 0; k < SIZE; ++k) {
        if (few.column[k] == NONE) continue;
        const Dual here = near.distance + few.slack(k);
        if (here >= there[k] || here > bound) continue;
        fell |= lower(team, few.column[k], mate[k], here, list);
      }
      return true;
    });
    return fell;
  }

  template <class Team, class List>
  DEVICE bool lower(const Team& team, Vertex column, Vertex mate, Dual here, List list) {
    const bool first = here < team.lower(&distance[column], here);
    if (mate == NONE) {
      if (!many_paths) team.lower(nearest_end, here);
      return false;
    }
    if (here > reach) return false;
    if constexpr (!in_passes<Team>()) {
      if (first) list(column, mate);
    }
    return true;
  }

  DEVICE Vertex* near_rows_of(int parity) const { return near_rows + parity * static_cast<Count>(costs.num_rows); }
  // A row is in the next list at most once.
  template <class Team>
  DEVICE void list_once(const Steps<Team>& steps, Vertex column, Vertex row) const {
    if (steps.team.fetch_min(&listed[column], -round) > -round) list(steps, row);
  }
  template <class Team>
  DEVICE void list(const Steps<Team>& steps, Vertex row) const {
    near_rows_of(steps.parity() ^ 1)[steps.append()] = row;
  }

  template <class Team>
  DEVICE void fit_step(const Team& team, const Census& all, Vertex rounds_before) {
    const Count groups = team.size() / team.lanes();
    bool narrow, wide;
    if constexpr (in_passes<Team>() || Team::IS_GRID) {
      narrow = all.rows_scanned < FEWEST_ROWS * groups;
      wide = all.rows_scanned > MOST_ROWS * groups;
    } else {
      const Count rows = all.rows_scanned / rounds_before;
      narrow = rounds_before < FEWEST_ROUNDS || rows * IDLE < groups;
      wide = rounds_before > MOST_ROUNDS || rows * BUSY > groups;
    }
    if (narrow) {
      if (step <= all.farthest) step += step;
    } else if (wide) {
      step /= 2;
    }
  }

  DEVICE void clear(Census& census) const {
    census = {costs.infinite(), 0, costs.infinite(), 0, costs.infinite(), 0, 0, 0};
  }

  template <class Team>
  DEVICE Census take_census(Team& team, const ClaimedForest<true>& forest) {
    Census here;
    clear(here);
    team.each(costs.num_columns, [&](Count column) {
      const Dual length = distance[column];
      if (length == costs.infinite()) return;
      if (length > here.farthest) here.farthest = length;
      if (length > reach) {
        if (length < here.least_far) here.least_far = length;
      } else if (forest.matching.col_match[column] == NONE) {
        if (length < here.nearest_free) here.nearest_free = length;
        if (length > here.farthest_free) here.farthest_free = length;
        ++here.num_free;
      }
    });
    if constexpr (Costs::LEAVES_OUT) {
      team.each(costs.num_rows, [&](Count row) {
        const Dual left = distance_left(team, forest, static_cast<Vertex>(row));
        if (left < here.nearest_left) here.nearest_left = left;
      });
    }
    // Cleared after all threads have left it, and before any thread comes to it.
    if (team.rank() == 0) clear(censuses[(turn + 1) % 3]);
    Census& all = censuses[turn % 3];
    team.min_all(&all.least_far, here.least_far);
    team.max_all(&all.farthest, here.farthest);
    team.min_all(&all.nearest_free, here.nearest_free);
    team.max_all(&all.farthest_free, here.farthest_free);
    if constexpr (Costs::LEAVES_OUT) team.min_all(&all.nearest_left, here.nearest_left);
    team.add_all(&all.num_free, here.num_free);
    team.add_all(&all.rows_scanned, rows_scanned - counted);
    counted = rows_scanned;
    team.add_all(&all.roots, roots_seen);
    roots_seen = 0;
    turn = (turn + 1) % 3;
    team.sync();
    return all;
  }
};
