// distances.cuh: distances of columns from roots along the entries of sparse costs, over slacks, by delta-stepping.
//
// The reach grows by a step. Rows within it lower the columns of their entries, in rounds, until no distance within it falls:
// near rows before far ones. Rows lower columns beyond the reach, too, but the mates of these wait for their step. Distances only
// fall, and the least wins, in any order. The blocks of a grid take some rounds by themselves.
//
// Meyer, Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of Algorithms 49 (2003); with the
// width of a step fitted to the rounds that it takes.
#pragma once
#include "costs/spreads.cuh"
#include "search/claimed_forest.cuh"
#include "team/steps.cuh"

template <class Costs>
struct Distances {
  using Dual = typename Costs::Dual;
  // For a host, and for one block with lists: a grid goes by FEWEST_ROWS and MOST_ROWS. A step of more than MOST_ROUNDS rounds is
  // made narrower, since rows are scanned again and again in it. So is a step whose
  // rounds have a row for more than 1 lane group in BUSY, since some groups have two rows then. A step of fewer than
  // FEWEST_ROUNDS rounds is made wider, and so is one whose rounds have a row for fewer than 1 lane group in IDLE: a barrier
  // costs more than another scan. A fourth to 4 times of each number is within the noise on a host:
  // benchmarks/log/sparse.md, "Thresholds measured again".
  static constexpr Vertex MOST_ROUNDS = 48, FEWEST_ROUNDS = 6, IDLE = 16, BUSY = 4;
  // Rows for each lane group in a step of a grid, or of a team that passes over all columns. With fewer rows the step is made
  // wider, with more it is made narrower. Half, 2 and 4 times these numbers are as fast for cores (benchmarks/log/core_gpu.md,
  // "Thresholds measured again"). They were not measured for other sparse costs.
  static constexpr Vertex FEWEST_ROWS = 2, MOST_ROWS = 16;
  // Rows for each lane group in one round of a grid with a list. If a round has more, the reach comes back: see come_back.
  static constexpr Vertex MOST_OF_A_ROUND = SHORT_LISTS ? 0 : 1;
  // The first step of a launch is this part of how far the columns of the first rows lie apart. After a step that is too narrow
  // the next one is twice as wide. In a step that is too wide rows lower columns again and again, and the next step is half as
  // wide: benchmarks/log/sparse.md, "The first step of a search is narrow". A team that passes over all columns takes longer for
  // any step, and keeps a wide first step: other widths were not measured for it.
  static constexpr int FIRST_PART = SHORT_LISTS ? 2 : 1 << 16, FIRST_PART_OF_PASSES = 8;
  // A part of a grid takes at most ROUNDS_AHEAD rounds by itself, from at most ROOM_AHEAD rows. If the list of the grid has more
  // than FULL_SHARE rows for each part, the parts take one round. These are the numbers for levels of trees (near_levels.cuh).
  // They were not measured for rounds.
  static constexpr int ROUNDS_AHEAD = SHORT_LISTS ? 5 : 24;
  static constexpr Vertex ROOM_AHEAD = SHORT_LISTS ? 6 : 512, FULL_SHARE = SHORT_LISTS ? 8 : 64;
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
  bool many_paths;     // a phase goes on until it reaches half as many free columns as roots; square problems only
  Dual* u;             // [num_rows]
  Dual* v;             // [num_columns]
  Dual* distance;      // [num_columns] from the nearest root, as far as known; final within the reach
  Dual* scanned;       // [num_columns] a distance from which its mate lowered columns in this phase. A host, or one block with
                       //               lists, notes it only for mates in trees that were kept
  Vertex* near_rows;   // [2][num_rows] for teams with lists: rows of this round and of the next, whose distance fell within reach
  Vertex* listed;      // [num_columns] for teams with lists: minus the number of the round that its mate was last listed for
  Census* censuses;    // [3]
  Dual* nearest_end;   // [1]           the least distance of a free column so far
  Dual reach;          // this thread's copies; all agree. Distances up to here are lowered further
  Dual begun_at;       // the least distance beyond the reach before this step
  Dual step;
  Vertex round, turn;
  Count rounds;
  Count rows_scanned, entries_read;  // by this thread
  Count counted;       // rows of the censuses so far
  Count roots_seen;    // by this thread, since the census before

  DEVICE void carve(Workspace& workspace) {
    distance = workspace.take<Dual>(costs.num_columns);
    scanned = workspace.take<Dual>(costs.num_columns);
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
    team.each(costs.num_columns, [&](Count column) { listed[column] = 0; });
    if (team.rank() == 0) clear(censuses[0]);
  }

  template <class Team>
  DEVICE void begin_phase(const Team& team) {
    reach = begun_at = UNKNOWN;
    team.each(costs.num_columns, [&](Count column) { distance[column] = scanned[column] = costs.infinite(); });
    if (team.rank() == 0) *nearest_end = costs.infinite();
  }

  // A row at distance zero, and the column by which it is.
  template <class Team>
  DEVICE void begin_from(const Team& team, Vertex column) {
    roots_seen += column == NONE;
    if (column == NONE) return;
    scanned[column] = 0;
    team.lower(&distance[column], Dual{0});
  }

  // The distance of a row. Other threads may have lowered it in this round.
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
    if (step == 0) step = first_step((all.farthest - all.least_far) /
                                      (in_passes<Team>() ? FIRST_PART_OF_PASSES : FIRST_PART));
    begun_at = all.least_far;
    reach = all.farthest - begun_at < step ? all.farthest : begun_at + step;
    if constexpr (!in_passes<Team>()) list_near(steps, forest, before);
    return settle(steps, forest);
  }
  template <class Team>
  DEVICE Vertex settle(Steps<Team>& steps, const ClaimedForest<true>& forest) {
    Vertex rounds_here = 0;
    if constexpr (in_passes<Team>()) {
      // If no distance fell in the second half of a round, probably none falls any more. One pass is enough to see that.
      for (int passes = PASSES_OF_A_ROUND, last_passes = 0; last_passes != 1 || passes != 1;) {
        last_passes = passes;
        passes = steps.team.any(lower_near_columns(steps, forest, passes)) ? PASSES_OF_A_ROUND : 1;
        ++rounds_here;
      }
    } else {
      for (; steps.todo() > 0; ++rounds_here) {
        if constexpr (Team::IS_GRID) come_back(steps);
        lower_listed(steps, forest);
        if (Team::INPUT_CHANGES && rounds_here > costs.num_rows) break;  // no shortest path has more rows
      }
    }
    rounds += rounds_here;
    return rounds_here;
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

  // A row is in the next list at most once.
  template <class Team>
  DEVICE void list_once(const Steps<Team>& steps, Vertex column, Vertex row) const {
    if (steps.team.fetch_min(&listed[column], -round) > -round) list(steps, row);
  }

  // Makes the next step wider or narrower, by the census after a step.
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

  // `readers` know the distance of the nearest pair that the costs leave out of a row; see readers.cuh.
  template <class Team, class Readers>
  DEVICE Census take_census(Team& team, const ClaimedForest<true>& forest, const Readers& readers) {
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
        const Dual left = readers.distance_left(team, forest, *this, static_cast<Vertex>(row));
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

  // Some allowed pairs of a row, so that all loads for them are under way at once. NONE past the end.
  template <class Team>
  struct Few {
    static constexpr int SIZE = Team::AT_ONCE > 1 ? StoredRow<Costs>::AT_ONCE : 1;
    Vertex column[SIZE];
    Dual cost[SIZE], v_of_column[SIZE], u_of_row;

    DEVICE Dual slack(int k) const { return slack_of(cost[k], u_of_row, v_of_column[k]); }
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

  // The least of cost - v that this lane of a group sees in a row.
  template <class Team>
  DEVICE Dual least_reduced_cost(const Team& team, Vertex row) const {
    Dual least = costs.infinite();
    const auto end = costs.end(row);
    for (auto edge = costs.begin(row) + team.lane(); edge < end; edge += team.lanes()) {
      const auto cost = costs.at(edge);
      if (cost == costs.infinite()) continue;
      const auto reduced = cost - v[costs.column(edge)];
      least = reduced < least ? reduced : least;
    }
    return least;
  }

 private:
  static constexpr Dual UNKNOWN = -1;  // below every distance

  // A step of integers is at least 1: a step of 0 would never become wider.
  static DEVICE long long first_step(long long width) { return width > 0 ? width : 1; }
  static DEVICE double first_step(double width) { return width; }

  // Whether a round passes over all columns, instead of keeping a list of the columns that fell.
  template <class Team>
  static constexpr DEVICE bool in_passes() { return Team::PASSES && Costs::FEW_COLUMNS; }

  // One round of a team that passes over all columns: the next pass sees what fell in this one, without a barrier. Returns
  // whether this thread saw a distance fall in the second half of the passes.
  template <class Team>
  DEVICE bool lower_near_columns(const Steps<Team>& steps, const ClaimedForest<true>& forest, int passes) {
    Team& team = steps.team;
    bool fell = false;
    for (int pass = 0; pass < passes; ++pass) {
      if (pass == passes / 2) fell = false;
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

  // A round with many rows shows that the step is too wide: these rows would lower columns again and again. So the step becomes
  // half as wide at once. Listed rows beyond its reach are passed over, and wait for a later step.
  template <class Team>
  DEVICE void come_back(const Steps<Team>& steps) {
    if (steps.todo() <= MOST_OF_A_ROUND * (static_cast<Count>(steps.team.size()) / steps.team.lanes())) return;
    step = (reach - begun_at) / 2;
    reach = begun_at + step;
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
  // of a distance is missed: a thread that lowers a column lists its mate afterwards, and the mate reads its distance after that.
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
    if (near.distance > reach || near.distance >= part.min_group(before)) return;
    if (part.lane() == 0) part.write(&scanned[column], near.distance);
    lower_columns(steps, forest, near, list);
  }

  DEVICE Vertex* near_rows_of(int parity) const { return near_rows + parity * static_cast<Count>(costs.num_rows); }
  template <class Team>
  DEVICE void list(const Steps<Team>& steps, Vertex row) const {
    near_rows_of(steps.parity() ^ 1)[steps.append()] = row;
  }

  DEVICE void clear(Census& census) const {
    census = {costs.infinite(), 0, costs.infinite(), 0, costs.infinite(), 0, 0, 0};
  }
};
