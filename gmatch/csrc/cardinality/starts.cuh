// starts.cuh: matchings to start from.
//
//   cheap         the sequential first fit, found by threads in any order (deferred acceptance). The rows and columns are
//                 in stored order, or shuffled, or rows of the fewest entries come first
//   karp_sipser   vertices with one free neighbour are matched first, and at once the pairs that follow from them
#pragma once
#include "cardinality/csr_edges.cuh"
#include "team/memory.cuh"
#include "team/steps.cuh"

template <class Team>
DEVICE void clear_matching(const Team& team, const Matching& matching) {
  team.each(matching.num_rows, [&](Count row) { matching.row_match[row] = NONE; });
  team.each(matching.num_columns, [&](Count column) { matching.col_match[column] = NONE; });
}

template <class Team, class Edges>
DEVICE void count_free_rows(const Team& team, const Matching& matching, const Edges& edges, Count* free_rows) {
  Count found = 0;
  team.each(matching.num_rows, [&](Count row) {
    found += matching.row_match[row] == NONE && edges.has_edges(static_cast<Vertex>(row));
  });
  team.add_all(free_rows, found);
}

// Completes a matching of which only the rows' side is given.
template <class Team>
DEVICE void mirror_rows(Team& team, const Matching& matching) {
  team.each(matching.num_columns, [&](Count column) { matching.col_match[column] = NONE; });
  team.sync();
  team.each(matching.num_rows, [&](Count row) {
    if (matching.row_match[row] != NONE) matching.col_match[matching.row_match[row]] = row;
  });
}

// As mirror_rows, for a given matching, perhaps of another graph. Drops pairs that are no edges of this graph. If several
// rows have one column, one of them keeps it. `dropped` is shared by the team.
template <class Team, class Edges>
DEVICE void keep_edges(Team& team, const Matching& matching, const Edges& edges, Count* dropped) {
  team.each(matching.num_columns, [&](Count column) { matching.col_match[column] = NONE; });
  team.sync();
  Count dropped_here = 0;
  team.each_group(matching.num_rows, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), mate = matching.row_match[row];
    if (mate == NONE) return;
    int missing = 1;
    edges.scan(team, edges.columns_of(row), [&](Vertex column) { return (missing = column == mate ? 0 : missing) != 0; });
    missing = team.min_group(missing);  // after this all lanes have read the cells that one of them may change
    if (team.lane() != 0 || (missing == 0 && team.claim(&matching.col_match[mate], NONE, row))) return;
    matching.row_match[row] = NONE;
    ++dropped_here;
  });
  team.add_all(dropped, dropped_here);
}

// The order in which rows choose (by their classes, then their turns), and the order in which a row looks at its columns.
//
// In stored order the first fit is hard to beat if rows and columns are numbered alike along a mesh. It drifts if only one
// side follows the mesh: every row takes a column on one side, free rows pile up far from free columns, and the search
// needs ten times the phases. With both sides shuffled it cannot drift, whatever the numbering.
constexpr int LAST_CLASS = 15;
struct StoredOrder {
  static constexpr bool IS_STORED = true;
  // The rows of a thread follow one another, so that few of their proposals meet at a column.
  template <class Team, class Body>
  static DEVICE void each_row(const Team& team, Count num_rows, Body body) { team.each_in_turn(num_rows, body); }
  static DEVICE int class_of(Count) { return 0; }
  static DEVICE Vertex turn_of(Vertex row) { return row; }
  static DEVICE Vertex row_at(Vertex turn) { return turn; }
  static DEVICE Count column_at(Vertex, Count tried, Count) { return tried; }
};
struct ShuffledOrder {
  static constexpr bool IS_STORED = false;
  template <class Team, class Body>
  static DEVICE void each_row(const Team& team, Count num_rows, Body body) { team.each(num_rows, body); }
  static DEVICE int class_of(Count) { return 0; }
  // Permutes the 31-bit numbers: odd factors have an inverse modulo 2^31, and the shift undoes itself.
  static DEVICE Vertex turn_of(Vertex row) {
    return multiply(halves_folded(multiply(row, 0x2c1b3c6du)), 0x297a2d39u);
  }
  static DEVICE Vertex row_at(Vertex turn) {
    return multiply(halves_folded(multiply(turn, 0xcf0b109u)), 0x64ea2d65u);
  }
  // A row begins at any of its columns. Half of the rows then look upwards, the others downwards. The columns of a row may follow
  // a mesh although the rows do not. If all rows looked upwards, they would drift.
  static DEVICE Count column_at(Vertex turn, Count tried, Count degree) {
    const Count first = (turn >> 7) % degree;
    if (turn >> 6 & 1) return first + tried < degree ? first + tried : first + tried - degree;
    return first >= tried ? first - tried : first - tried + degree;
  }

 private:
  static DEVICE Vertex multiply(Vertex number, unsigned factor) {
    return static_cast<Vertex>(static_cast<unsigned>(number) * factor & LAST_VERTEX);
  }
  static DEVICE Vertex halves_folded(Vertex number) { return number ^ number >> 16; }
};
// Rows of few entries choose before rows of many, which find other columns. If degrees are skewed, this order misses a fourth
// as many pairs as other orders. It is the static mindegree of Langguth, Manne, Sanders, "Heuristic initialization for
// bipartite matching problems", ACM JEA 15 (2010), except that a row takes its columns in stored order.
struct MinDegreeOrder : ShuffledOrder {
  // The number of bits of the degree.
  static DEVICE int class_of(Count degree) {
    int places = 0;
    for (; degree > 0 && places < LAST_CLASS; degree >>= 1) ++places;
    return places;
  }
};

// The cheap matching (first fit: every row in its turn takes its first free column), as a stable matching. Rows propose
// to their columns in order; a column holds the row with the earliest turn that proposed. Deferred acceptance ends in
// the same matching whatever the order of the proposals (Gale, Shapley 1962), and in order of turns it is the first
// fit: so the result does not depend on the races.
//
// A proposal is one word: the class and the turn of the row, then the number of columns that it has tried. A thread that
// displaces a row goes on for it from this word alone, so no other cell has to be read in order.
template <class Edges, class Order>
struct CheapMatching {
  Matching matching;
  Edges edges;
  Count* held;      // [num_columns] the proposal that a column holds, or NOBODY's
  Count* given_up;  // [1]           whether a thread has given up

  DEVICE void carve(Workspace& workspace) {
    held = workspace.take<Count>(matching.num_columns);
    given_up = workspace.take<Count>(1);
  }

  template <class Team>
  DEVICE void run(Steps<Team>& steps) const {
    Team& team = steps.team;
    if constexpr (Order::IS_STORED && Team::SMALL_STEP > 0) {
      // One thread without proposals is faster than few threads with proposals. It is also faster than threads whose rows
      // displace each other many times.
      if (team.size() <= FEW_THREADS || !settle_all(team, FewProposals{})) {
        if (team.rank() == 0) fit_one_by_one(team.team_of_one());
        return team.sync();
      }
    } else {
      settle_all(team, AnyProposals{});
    }
    team.each(matching.num_columns, [&](Count column) {
      const Vertex turn = turn_of(held[column]);
      const Vertex row = turn == LAST_VERTEX ? NONE : Order::row_at(turn);
      matching.col_match[column] = row;
      if (row != NONE) matching.row_match[row] = static_cast<Vertex>(column);
    });
    team.sync();
  }

 private:
  // In a team of up to 4 threads one thread fits all rows, without proposals. Two threads with proposals took 3 to 6 times as
  // long: benchmarks/log/cardinality_host.md, "One thread of up to four does the first fit".
  static constexpr int FEW_THREADS = 4;
  static constexpr int TURN_BITS = 31, TRIES_BITS = 28;
  // A row that has tried this many columns stays free, and the search will match it.
  static constexpr Count MOST_TRIES = (Count{1} << TRIES_BITS) - 1;
  static constexpr Count NOBODY = (Count{LAST_CLASS} << TURN_BITS | LAST_VERTEX) << TRIES_BITS;
  // A row mostly finds a column soon: it looks at the first 4 columns one by one, and then at 8 at once. Other numbers were
  // not tried: benchmarks/log/cardinality_gpu.md, "`auto` starts from the fit in order of degrees on skewed graphs".
  static constexpr Count FIRST_LOOKS = 4;

  DEVICE Count first_proposal(Vertex row) const {
    const auto range = edges.columns_of(row);
    const Count row_class = Order::class_of(range.end - range.begin);
    return (row_class << TURN_BITS | Order::turn_of(row)) << TRIES_BITS;
  }
  static DEVICE Count place_of(Count proposal) { return proposal >> TRIES_BITS; }  // of its row in the order of rows
  static DEVICE Vertex turn_of(Count proposal) { return static_cast<Vertex>(place_of(proposal) & LAST_VERTEX); }
  static DEVICE Count tries_of(Count proposal) { return proposal & MOST_TRIES; }

  // How many proposals a thread makes before it gives up. Where rows are numbered along a mesh of many entries a row, a displaced
  // row displaces the next one, and so on, through the rows of other threads: a thread made 33 proposals for each row of its
  // share. On the other graphs that were measured it made at most 3.3: benchmarks/log/cardinality_host.md, "All processors of a
  // host".
  struct FewProposals {
    static constexpr bool END = true;
    static constexpr Count OF_A_ROW = 4, AT_FIRST = 4096;

    Count left = AT_FIRST;

    DEVICE void begin_row() { left += OF_A_ROW; }
    DEVICE bool are_made() { return left-- <= 0; }
  };
  struct AnyProposals {
    static constexpr bool END = false;

    DEVICE void begin_row() {}
    DEVICE bool are_made() { return false; }
  };

  // All rows find their columns, unless a thread gives up. Returns whether they have.
  template <class Team, class Proposals>
  DEVICE bool settle_all(Team& team, Proposals proposals) const {
    team.each(matching.num_columns, [&](Count column) { held[column] = NOBODY; });
    team.each(matching.num_rows, [&](Count row) { matching.row_match[row] = NONE; });
    if (team.rank() == 0) *given_up = 0;
    team.sync();
    Order::each_row(team, matching.num_rows, [&](Count row) {
      if (Proposals::END && team.read(given_up) != 0) return;
      proposals.begin_row();
      if (!settle(team, first_proposal(static_cast<Vertex>(row)), proposals)) team.write(given_up, Count{1});
    });
    team.sync();
    return !Proposals::END || team.read(given_up) == 0;
  }

  // One thread that takes the rows in their turns displaces no row.
  template <class Team>
  DEVICE void fit_one_by_one(const Team& team) const {
    clear_matching(team, matching);
    constexpr Vertex AT_ONCE = 1024;  // rows between two reports: a report after each row doubled the time of the first fit
    for (Count begin = 0; begin < matching.num_rows; begin += AT_ONCE) {
      const Count end = begin + AT_ONCE < matching.num_rows ? begin + AT_ONCE : matching.num_rows;
      for (Vertex row = static_cast<Vertex>(begin); row < end; ++row) take_first_free(row);
      team.spend(Count{AT_ONCE} * MOST_TRIES);
    }
  }
  DEVICE void take_first_free(Vertex row) const {
    const auto range = edges.columns_of(row);
    const Count degree = range.end - range.begin;
    const auto end = range.begin + static_cast<decltype(range.begin)>(degree < MOST_TRIES ? degree : MOST_TRIES);
    for (auto edge = range.begin; edge < end; ++edge) {
      const Vertex column = edges.column(edge);
      if (matching.col_match[column] != NONE) continue;
      matching.row_match[row] = column;
      matching.col_match[column] = row;
      return;
    }
  }

  // Finds a column for a row, then for the row that it displaced, and so on; returns false if it gives up. (A row whose
  // turn is nobody's is left out: it stays free, and the search will match it.)
  template <class Team, class Proposals>
  DEVICE bool settle(const Team& team, Count last, Proposals& proposals) const {
    while (turn_of(last) != LAST_VERTEX) {
      if (proposals.are_made()) return false;
      last = propose(team, last);
    }
    return true;
  }

  // Goes on for a row from its last proposal, and reads several columns at once. Returns the last proposal of the row that
  // is without a column then, or NOBODY's.
  template <class Team>
  DEVICE Count propose(const Team& team, Count last) const {
    const Vertex turn = turn_of(last);
    const auto range = edges.columns_of(Order::row_at(turn));
    const Count degree = range.end - range.begin, most = degree < MOST_TRIES ? degree : MOST_TRIES;
    if (degree == 0) return NOBODY;
    for (Count tried = tries_of(last); tried < most;) {
      const int looks = tried < FIRST_LOOKS || most - tried < Team::AT_ONCE ? 1 : Team::AT_ONCE;
      Count* holders[Team::AT_ONCE];
      Count places[Team::AT_ONCE];
      for (int k = 0; k < Team::AT_ONCE; ++k) {
        if (k == looks) break;
        holders[k] = &held[edges.column(range.begin + Order::column_at(turn, tried + k, degree))];
        places[k] = place_of(team.read(holders[k]));
      }
      for (int k = 0; k < Team::AT_ONCE; ++k) {
        if (k == looks) break;
        ++tried;
        if (places[k] <= place_of(last)) continue;
        const Count displaced = team.lower(holders[k], last - tries_of(last) + tried);
        if (place_of(displaced) > place_of(last)) return displaced;
      }
    }
    return NOBODY;
  }
};

// Karp, Sipser, "Maximum matchings in sparse random graphs", FOCS 1981. A vertex with one free neighbour is matched to
// it: that is never wrong. When there is none, rows pick a free column, a few at a time, because every pick makes new
// vertices with one neighbour, and matching them first is what makes the start good.
//
// On a host all columns are our own copy: the transpose is made in two passes, which must read equal columns.
//
// An edge is matched by claiming its row, then its column. A thread that fails at the column lets the row go. So every
// claim holds one row and one column, whatever the races. Races only decide which vertices are still seen as free.
template <class Edges>
struct KarpSipser {
  static constexpr Vertex PENDING = -2;  // row_match of a row that a thread tries to match
  static constexpr Count BATCHES = 64;   // picking in fewer, larger batches costs thousands of edges on random graphs

  Matching matching;
  Edges edges;
  Count* col_begin;    // [num_columns] the transpose: where the rows of a column begin in col_rows
  Vertex* col_size;    // [num_columns] and how many they are
  Vertex* col_rows;    // [num_edges]
  Vertex* row_degree;  // [num_rows]    free neighbours, counted with their multiplicity
  Vertex* col_degree;  // [num_columns]
  Vertex* queue;       // [num_rows + num_columns] vertices that came down to one free neighbour: a row, or ~column
  Count* col_rows_used;  // [1]

  DEVICE void carve(Workspace& workspace, Count num_edges) {
    col_begin = workspace.take<Count>(matching.num_columns);
    col_size = workspace.take<Vertex>(matching.num_columns);
    col_rows = workspace.take<Vertex>(num_edges);
    row_degree = workspace.take<Vertex>(matching.num_rows);
    col_degree = workspace.take<Vertex>(matching.num_columns);
    queue = workspace.take<Vertex>(static_cast<Count>(matching.num_rows) + matching.num_columns);
    col_rows_used = workspace.take<Count>(1);
  }

  template <class Team>
  DEVICE void run(Steps<Team>& steps) const {
    transpose(steps);
    Count queued = 0;
    queue_single_vertices(steps);
    steps.end();
    drain(steps, queued);
    // Rows of a batch stand far apart. One thread alone sees every consequence before it picks again.
    const Count batches = steps.team.alone() ? matching.num_rows : BATCHES;
    for (Count batch = 0; batch < batches; ++batch) {
      const Count rows_of_batch = (matching.num_rows - batch + batches - 1) / batches;
      steps.team.each(rows_of_batch, [&](Count i) { match_row(steps, batch + i * batches, queued); });
      steps.end();
      drain(steps, queued);
    }
    // Claims that failed may have passed over a free pair.
    steps.team.each(matching.num_rows, [&](Count row) { match_row(steps, row, queued); });
    steps.end();
  }

 private:
  template <class Team>
  DEVICE void transpose(Steps<Team>& steps) const {
    Team& team = steps.team;
    clear_matching(team, matching);
    team.each(matching.num_columns, [&](Count column) { col_size[column] = 0; });
    if (team.rank() == 0) *col_rows_used = 0;
    steps.end();
    team.each(matching.num_rows, [&](Count row) {
      row_degree[row] = static_cast<Vertex>(edges.end(row) - edges.begin(row));
    });
    team.each_group(matching.num_rows, [&](Count row) {
      edges.scan(team, edges.columns_of(row), [&](Vertex column) { return team.fetch_add(&col_size[column], 1), true; });
    });
    steps.end();
    // The lists of columns may stand in any order, so one addition gives each list its place.
    team.each(matching.num_columns, [&](Count column) {
      col_begin[column] = team.fetch_add(col_rows_used, static_cast<Count>(col_size[column]));
      col_degree[column] = 0;
    });
    steps.end();
    team.each_group(matching.num_rows, [&](Count row) {
      edges.scan(team, edges.columns_of(row), [&](Vertex column) {
        col_rows[col_begin[column] + team.fetch_add(&col_degree[column], 1)] = row;
        return true;
      });
    });
    steps.end();
  }

  template <class Team>
  DEVICE void queue_single_vertices(const Steps<Team>& steps) const {
    steps.team.each(matching.num_rows, [&](Count row) {
      if (row_degree[row] == 1) queue[steps.append()] = row;
    });
    steps.team.each(matching.num_columns, [&](Count column) {
      if (col_size[column] == 1) queue[steps.append()] = ~static_cast<Vertex>(column);
    });
  }

  // Matches the queued vertices, and the vertices that these matches leave with one neighbour, until there are none.
  // `queued` counts the vertices that were taken from the queue before this step; all threads count alike.
  template <class Team>
  DEVICE void drain(Steps<Team>& steps, Count& queued) const {
    while (const Vertex todo = steps.todo()) {
      const Vertex* singles = queue + queued;
      queued += todo;
      steps.team.each(todo, [&](Count i) {
        // A chain is followed at once. If it branches, the other branches wait for the next step.
        Vertex single = singles[i];
        while (single != LAST_VERTEX) single = match_single(steps, single, queued);
      });
      steps.end();
    }
  }

  template <class Team>
  DEVICE Vertex match_single(const Steps<Team>& steps, Vertex single, Count queued) const {
    Vertex next = LAST_VERTEX;
    const auto follow = [&](Vertex vertex) {
      if (next == LAST_VERTEX) next = vertex;
      else queue[queued + steps.append()] = vertex;
    };
    if (single >= 0) match_free_column(steps, single, follow);
    else match_free_row(steps, ~single, follow);
    return next;
  }

  template <class Team>
  DEVICE void match_row(const Steps<Team>& steps, Vertex row, Count queued) const {
    match_free_column(steps, row, [&](Vertex vertex) { queue[queued + steps.append()] = vertex; });
  }

  template <class Team, class Follow>
  DEVICE void match_free_column(const Steps<Team>& steps, Vertex row, Follow follow) const {
    const Team& team = steps.team;
    if (team.read(&matching.row_match[row]) != NONE) return;
    for (auto edge = edges.begin(row); edge < edges.end(row); ++edge) {
      const Vertex column = edges.column(edge);
      if (team.read(&matching.col_match[column]) != NONE) continue;
      if (match(team, row, column)) return update_degrees(team, row, column, follow);
      if (team.read(&matching.row_match[row]) != NONE) return;
    }
  }

  template <class Team, class Follow>
  DEVICE void match_free_row(const Steps<Team>& steps, Vertex column, Follow follow) const {
    const Team& team = steps.team;
    const Vertex* rows = col_rows + col_begin[column];
    for (Vertex i = 0; i < col_size[column] && team.read(&matching.col_match[column]) == NONE; ++i) {
      if (match(team, rows[i], column)) return update_degrees(team, rows[i], column, follow);
    }
  }

  template <class Team>
  DEVICE bool match(const Team& team, Vertex row, Vertex column) const {
    if (!team.claim(&matching.row_match[row], NONE, PENDING)) return false;
    const bool matched = team.claim(&matching.col_match[column], NONE, row);
    team.write(&matching.row_match[row], matched ? column : NONE);
    return matched;
  }

  // Both ends of a new pair are no longer free neighbours. Calls follow(vertex) for neighbours that have one left.
  template <class Team, class Follow>
  DEVICE void update_degrees(const Team& team, Vertex row, Vertex column, Follow follow) const {
    for (Vertex i = 0; i < col_size[column]; ++i) {
      const Vertex other = col_rows[col_begin[column] + i];
      if (team.fetch_add(&row_degree[other], -1) == 2 && team.read(&matching.row_match[other]) == NONE) follow(other);
    }
    for (auto edge = edges.begin(row); edge < edges.end(row); ++edge) {
      const Vertex other = edges.column(edge);
      if (team.fetch_add(&col_degree[other], -1) == 2 && team.read(&matching.col_match[other]) == NONE) follow(~other);
    }
  }
};
