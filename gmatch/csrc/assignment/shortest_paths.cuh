// shortest_paths.cuh: dense assignment by shortest augmenting paths, one after the other, for problems that one block solves. All
// threads of the block look for one path together.
//
//   bids          from v = 0, rounds in which a free row for each warp bids for its best column: augmenting row reduction of
//                 several rows at once. After some rounds, v of each free column of a square problem rises to its least cost - u
//   augmentation  a shortest augmenting path for every row that is still free
//
// The paper's search takes the nearest column, and reads its row: Dijkstra's algorithm. Here a step reads several rows: each
// group of threads chooses the nearest of its own columns. A row that is read too early is read again if its distance falls
// later. So there are a third of the steps, and each waits once for the memory and once at a barrier. The search ends when no
// column whose row has to be read is nearer than the nearest free column. Then distances up to there are shortest distances.
//
// A thread has every size()-th column. So v, distances and predecessors of a column are touched by one thread. Among equally
// near free columns that a step finds the first is taken. If rows bid for one column in a round, the first gets it. So the
// answer depends on the costs and on the number of threads alone.
//
// The invariant, with u[i] = cost - v of the pair of row i: no pair costs less than u + v. v of a matched column only falls, and
// a matched column never becomes free again. So v of columns that stay free is 0.
//
// Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing 38 (1987).
#pragma once
#include "assignment/assign.cuh"

template <class Cost>
class ShortestPaths {
 public:
  using Dual = typename DenseCosts<Cost>::Dual;

  DEVICE ShortestPaths(const DenseCosts<Cost>& costs, const AssignmentTask<Dual>& task)
      : costs_(costs), matching_(task.matching), u_(task.u), v_(task.v) {}

  DEVICE void carve(Workspace& workspace) {
    distance_ = workspace.take<Dual>(costs_.num_columns);
    pair_cost_ = workspace.take<Dual>(costs_.num_columns);
    nearest_cost_ = workspace.take<Dual>(costs_.num_columns);
    nearest_row_ = workspace.take<Vertex>(costs_.num_columns);
    // There are no more rows than columns. The search needs its memory after the bids.
    sold_to_ = reinterpret_cast<Vertex*>(pair_cost_);
    bidders_ = reinterpret_cast<Vertex*>(nearest_cost_);
  }

  // Writes the matching, u and v. A row that cannot be matched ends the search. `team` is a block.
  template <class Team>
  DEVICE void run(Team& team, Report& report) {
    SHARED_BY_BLOCK(Boards, boards);
    Count now = team.nanoseconds();
    hold_bids(team, boards);
    prepare_search(team, boards);
    Count start_size = 0;
    team.each(costs_.num_rows, [&](Count row) { start_size += matching_.row_match[row] != NONE; });
    team.add_all(&report.start_size, start_size);
    const Count start_ns = lap(team, now);
    Count paths = 0;
    while (boards.root != NONE && augment(team, boards)) ++paths;
    team.each(costs_.num_rows, [&](Count row) {
      const Vertex column = matching_.row_match[row];
      u_[row] = column == NONE ? 0 : costs_.at(static_cast<Vertex>(row), column) - v_[column];
    });
    team.sync();  // all threads have added to start_size, even if there was no path to find
    if (team.rank() == 0) {
      report.size = report.start_size + paths;
      report.phases = paths;
      report.rows_scanned = rows_scanned_;
      report.levels = steps_;
      report.edges_inspected = rows_scanned_ * costs_.num_columns;
      report.start_ns = start_ns;
      report.search_ns = lap(team, now);
    }
    team.sync();
  }

 private:
  // Reads that are under way together: fours of rows in a step, and entries of a row or a column in a lane.
  static constexpr int FOURS = 3, IN_A_WARP = 10;
  static constexpr int MOST_GROUPS = 4 * FOURS;
  // Bids for each row, on average, if each warp has a row in each round. Half of them come before free columns rise, and each row
  // bids before that. Few warps bid less: a round serves one row for each warp, and a step of a search reads up to 12 rows with
  // any number of warps. See benchmarks/log/batches.md, "Bids for each row, timed again, with integers".
  static DEVICE int most_bids(int warps) { return 2 + warps / 4; }

  // What a row that the next step reads adds to cost - v of a column, and how far the row is. A group of threads without a row
  // chooses one that is infinitely far.
  struct Choice {
    Dual offset, distance;
  };
  struct alignas(16) FourRows {
    Vertex rows[4];
  };
  struct FreeColumn {
    Dual distance;
    Vertex column;
  };
  // What the threads of a block tell each other.
  struct Board {
    FourRows rows[FOURS];
    Choice choices[MOST_GROUPS];
    FreeColumn free_columns[MOST_GROUPS];
  };
  // Two boards take turns, so that a step needs one barrier.
  struct Boards {
    Board of_turn[2];
    Vertex root;                 // of the next search, or NONE
    Vertex losers[MOST_GROUPS];  // of a round of bids: for each warp a row that has to bid again, or NONE
  };
  // The nearest columns of a thread, NONE if they are not nearer than a free column that is known: one whose row has not been
  // read since its distance fell, and a free one.
  struct Nearest {
    Vertex column;
    Dual distance;
    FreeColumn free;
  };
  // A column of a thread in a step.
  struct Mine {
    const Cost* entries;
    Dual distance, v;
    Vertex from;  // the row that lowers the distance, and what the pair costs
    Dual cost;
  };
  // Lanes that follow one another and choose a row together: 6 to 12 groups, for at most 384 threads.
  struct Group {
    int width, number, first_lane, groups;
  };
  template <class Team>
  static DEVICE Group group_of(const Team& team) {
    int width = team.lanes();
    while (6 * width > team.size()) width /= 2;
    return {width, team.rank() / width, team.lane() / width * width, team.size() / width};
  }
  // A sum that may leave the range of 64 bits on the way to a sum that fits.
  static DEVICE double around(double a, double b) { return a + b; }
  static DEVICE long long around(long long a, long long b) {
    return static_cast<long long>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
  }
  // Distances in their order, roughly, with room for a lane.
  static DEVICE int rough(Dual distance) {
    union {
      float number;
      int bits;
    } same = {static_cast<float>(distance)};
    return same.bits & ~31;
  }
  // Whether the column that a group has chosen, or another one of the group, may be nearer than a free column: lanes are compared
  // roughly, so the group may have chosen the farther one.
  DEVICE bool may_be_within(Dual distance, Dual radius) const {
    return distance < costs_.infinite() && rough(distance) <= rough(radius);
  }

  // The columns of this thread.
  template <class Team, class Use>
  DEVICE void each_column(const Team& team, Use use) const {
    for (Vertex column = team.rank(); column < costs_.num_columns; column += team.size()) use(column);
  }
  // use(k, cost) for all k = first, first + step, ... below `end`, of costs that lie `stride` entries apart.
  template <int AT_ONCE, class Use>
  DEVICE void each_cost(const Cost* entries, Count stride, Vertex first, Vertex step, Vertex end, Use use) const {
    each_fetched<AT_ONCE>(
        first, step, end, [&](Vertex k) { return cached(entries + k * stride); },
        [&](Vertex k, Cost entry) { use(k, costs_.of_entry(entry)); });
  }

  // Free rows wait in a ring: where the first one is, how many wait, and how many of these all threads can read already.
  struct Queue {
    Vertex begin, length, readable;
  };
  // A row and the first entries of this lane. After the bid one lane has the column that the row bids for, and by how much v of
  // the column falls. All other lanes have NONE.
  struct Bidder {
    Vertex row, column;
    Dual more;
    Cost entry[IN_A_WARP];
  };

  // Free rows bid in rounds, one for each warp, in the order in which they became free. A row takes its best column from the row
  // that has it. v of the column falls by how much it is better than the bidder's second best. Of the rows that bid for one
  // column the first warp's row gets it. The others, and the rows that lose a column, bid again later. The entries of the next
  // row come while this one bids.
  template <class Team>
  DEVICE void hold_bids(Team& team, Boards& boards) const {
    free_all(team);
    const int warps = team.size() / team.lanes(), warp = team.rank() / team.lanes();
    bool may_rise = costs_.num_rows == costs_.num_columns;
    Queue queue{0, costs_.num_rows, costs_.num_rows};
    Bidder bidder = bidder_of(team, waiting(queue, warp));
    const Count from_zero = most_bids(warps) / 2 * Count{costs_.num_rows}, most = most_bids(warps) * Count{costs_.num_rows};
    Count bids = 0;
    for (int first_number = -warps;; first_number -= warps) {
      if (may_rise && (queue.length == 0 || bids >= from_zero)) {
        raise_free_columns(team);
        team.sync();
        may_rise = false;
      }
      if (queue.length == 0 || bids >= most) return;
      const int served = warps < queue.length ? warps : queue.length;
      const Bidder next = bidder_of(team, waiting(queue, served + warp));
      const int number = first_number + warp;  // the least number that a column gets counts
      if (bidder.row != NONE) bid(team, bidder, number);
      team.sync();
      settle(team, bidder, number, boards.losers[warp]);
      team.sync();
      bids += warps;
      queue = {in_ring(queue.begin + served), queue.length - served, queue.length - served};
      const Vertex row = append_losers(team, boards.losers, queue);
      bidder = next.row != NONE ? next : bidder_of(team, row);
    }
  }
  template <class Team>
  DEVICE void free_all(Team& team) const {
    team.each(costs_.num_rows, [&](Count row) {
      matching_.row_match[row] = NONE;
      bidders_[row] = static_cast<Vertex>(row);
    });
    team.each(costs_.num_columns, [&](Count column) {
      v_[column] = 0;
      matching_.col_match[column] = NONE;
      sold_to_[column] = 0;
    });
    team.sync();
  }
  DEVICE Vertex in_ring(Vertex place) const {
    const Vertex room = 2 * costs_.num_columns;
    return place < room ? place : place - room;
  }
  // A row of the queue, or NONE.
  DEVICE Vertex waiting(const Queue& queue, int place) const {
    return place < queue.readable ? bidders_[in_ring(queue.begin + place)] : NONE;
  }
  // The losers of a round wait behind all other rows. Returns the row that bids next in this warp, or NONE.
  template <class Team>
  DEVICE Vertex append_losers(const Team& team, const Vertex* losers, Queue& queue) const {
    const int warps = team.size() / team.lanes(), warp = team.rank() / team.lanes();
    const Vertex loser = team.lane() < warps ? losers[team.lane()] : NONE;
    const unsigned all = team.vote(loser != NONE);
    const int place = queue.length + team.count(all & ((1u << team.lane()) - 1));
    if (warp == 0 && loser != NONE) bidders_[in_ring(queue.begin + place)] = loser;
    queue.length += team.count(all);
    const Vertex row = team.min_group(loser != NONE && place == warp ? loser : LAST_VERTEX);
    return row == LAST_VERTEX ? waiting(queue, warp) : row;
  }
  // v of a free column becomes its least cost - u. It was 0, and no pair costs less than u + v.
  template <class Team>
  DEVICE void raise_free_columns(const Team& team) const {
    team.each_group(costs_.num_columns, [&](Count j) {
      const Vertex column = static_cast<Vertex>(j);
      if (matching_.col_match[column] != NONE) return;
      Dual least = costs_.infinite();
      each_cost<IN_A_WARP>(costs_.place(0, column), costs_.row_stride, team.lane(), team.lanes(), costs_.num_rows,
                           [&](Vertex row, Dual cost) {
                             const Dual reduced = cost - u_[row];
                             least = reduced < least ? reduced : least;
                           });
      least = team.min_group(least);
      if (team.lane() == 0 && least != costs_.infinite()) v_[column] = least;
    });
  }

  // The best of the columns that a lane looks at, and the second best.
  struct Offer {
    Dual least, second;
    Vertex column;
  };
  template <class Team>
  DEVICE Bidder bidder_of(const Team& team, Vertex row) const {
    Bidder bidder{row, NONE, 0, {}};
    if (row != NONE) read(team, row, 0, bidder.entry);
    return bidder;
  }
  // A lane looks at every lanes()-th column.
  template <class Team>
  DEVICE void read(const Team& team, Vertex row, Vertex begin, Cost (&entry)[IN_A_WARP]) const {
    const Vertex first = begin + team.lane();
    const Cost* entries = costs_.place(row, first);
    const Count step = team.lanes() * costs_.column_stride;
    each_pair_of_places(team, begin, [&](int k) {
      entry[k] = first + k * team.lanes() < costs_.num_columns ? cached(entries) : Cost{0};
      entries += step;
    });
  }
  // use(k) for the places of a lane from `begin` on, two at a time: few columns leave most of the places out.
  template <class Team, class Use>
  DEVICE void each_pair_of_places(const Team& team, Vertex begin, Use use) const {
    UNROLLED
    for (int k = 0; k < IN_A_WARP; k += 2) {
      if (begin + k * team.lanes() >= costs_.num_columns) continue;
      use(k);
      use(k + 1);
    }
  }
  // use(column, cost - v) for all columns of a lane; infinite beyond the last column. No column has a branch of its own, since
  // lanes would take both ways of nearly every branch.
  template <class Team, class Use>
  DEVICE void each_reduced(const Team& team, Bidder& bidder, Use use) const {
    const Vertex at_once = IN_A_WARP * team.lanes();
    const bool is_plain = !costs_.maximize && costs_.limit == costs_.infinite();
    for (Vertex begin = 0; begin < costs_.num_columns; begin += at_once) {
      if (costs_.num_columns > at_once) read(team, bidder.row, begin, bidder.entry);
      const auto use_all = [&](auto cost_of) {
        each_pair_of_places(team, begin, [&](int k) {
          const Vertex column = begin + k * team.lanes() + team.lane();
          const bool is_column = column < costs_.num_columns;
          const Dual reduced = cost_of(bidder.entry[k]) - v_[is_column ? column : 0];
          use(column, is_column ? reduced : costs_.infinite());
        });
      };
      if (is_plain) use_all([](Cost entry) { return static_cast<Dual>(entry); });
      else use_all([&](Cost entry) { return costs_.of_entry(entry); });
    }
  }
  template <class Team>
  DEVICE void bid(const Team& team, Bidder& bidder, int number) const {
    Offer offer{costs_.infinite(), costs_.infinite(), NONE};
    each_reduced(team, bidder, [&](Vertex column, Dual reduced) {
      const bool is_less = reduced < offer.least;
      const Dual other = is_less ? offer.least : reduced;
      offer.second = other < offer.second ? other : offer.second;
      offer.least = is_less ? reduced : offer.least;
      offer.column = is_less ? column : offer.column;
    });
    const Dual least = team.min_group(offer.least);
    const bool has_least = offer.least == least;
    Dual second = team.min_group(has_least ? offer.second : offer.least);
    // How much a row with one column can pay for it is not known here, perhaps nothing.
    if (team.count(team.vote(has_least)) > 1 || second == costs_.infinite()) second = least;
    if (team.lane() == 0) u_[bidder.row] = least == costs_.infinite() ? 0 : least;
    if (least == costs_.infinite()) return;
    const Vertex column = second != least ? offer.column : free_column(team, bidder, least);
    if (column == NONE || !(second != least ? has_least : team.lane() == 0)) return;
    bidder.column = column;
    bidder.more = second - least;
    team.lower(&sold_to_[column], number);
  }
  // A free column among the best ones of a row, or NONE. Rows prefer different ones, so that equal rows do not all want one.
  template <class Team>
  DEVICE Vertex free_column(const Team& team, Bidder& bidder, Dual least) const {
    Vertex nearest = LAST_VERTEX;  // how many columns after the row's own number the column comes
    each_reduced(team, bidder, [&](Vertex column, Dual reduced) {
      if (reduced != least || matching_.col_match[column] != NONE) return;
      const Vertex after = column - bidder.row < 0 ? column - bidder.row + costs_.num_columns : column - bidder.row;
      nearest = after < nearest ? after : nearest;
    });
    nearest = team.min_group(nearest);
    if (nearest == LAST_VERTEX) return NONE;
    return nearest + bidder.row < costs_.num_columns ? nearest + bidder.row : nearest + bidder.row - costs_.num_columns;
  }
  // A column changes hands if the bidder of this warp has won it. Notes the row that has to bid again, or NONE.
  template <class Team>
  DEVICE void settle(const Team& team, const Bidder& bidder, int number, Vertex& loser) const {
    const Vertex column = bidder.column;
    const bool is_nobody = team.vote(column != NONE) == 0;
    if (is_nobody && team.lane() == 0) loser = NONE;
    if (column == NONE) return;
    if (sold_to_[column] != number) {
      loser = bidder.row;
      return;
    }
    const Vertex before = matching_.col_match[column];
    u_[bidder.row] += bidder.more;
    v_[column] -= bidder.more;
    matching_.col_match[column] = bidder.row;
    matching_.row_match[bidder.row] = column;
    if (before != NONE) matching_.row_match[before] = NONE;
    loser = before;
  }

  template <class Team>
  DEVICE void prepare_search(Team& team, Boards& boards) {
    group_ = group_of(team);
    far_ = around(costs_.infinite() / 2, -u_[0]);
    for (Board& board : boards.of_turn) {
      team.each(MOST_GROUPS, [&](Count i) {
        board.rows[i / 4].rows[i % 4] = 0;
        board.choices[i] = no_choice();
      });
    }
    team.sync();
    each_column(team, [&](Vertex column) {
      const Vertex row = matching_.col_match[column];
      if (row != NONE) pair_cost_[column] = costs_.at(row, column);
      distance_[column] = costs_.infinite();
    });
    if (team.rank() == 0) open(boards, 0);
    team.sync();
  }

  // Finds and flips a path from the root. Returns false if there is none. Otherwise the next free row becomes the root.
  template <class Team>
  DEVICE bool augment(Team& team, Boards& boards) {
    const Vertex root = boards.root;
    FreeColumn end{costs_.infinite(), NONE};
    for (unsigned chosen = 1; chosen != 0;) {
      const Nearest nearest = lower_columns(team, boards.of_turn[turn_], chosen, end.distance);
      turn_ = 1 - turn_;
      Board& board = boards.of_turn[turn_];
      const bool is_chosen = choose(team, board, nearest);
      team.sync();
      end = nearest_free(team, board.free_columns, end);
      chosen = choices_within(team, board.choices, end.distance);
      const bool is_read = is_chosen && may_be_within(nearest.distance, end.distance);
      if (is_read) nearest_row_[nearest.column] = ~nearest_row_[nearest.column];
    }
    if (end.column == NONE) return false;
    turn_ = 1 - turn_;
    each_column(team, [&](Vertex column) {
      const Dual distance = distance_[column];
      distance_[column] = costs_.infinite();
      if (distance < end.distance) v_[column] += distance - end.distance;
    });
    if (team.rank() == 0) {
      flip(root, end.column);
      open(boards, root + 1);
    }
    team.sync();
    return true;
  }
  // The next search starts from the first free row from `row` on.
  DEVICE void open(Boards& boards, Vertex row) const {
    while (row < costs_.num_rows && matching_.row_match[row] != NONE) ++row;
    boards.root = row < costs_.num_rows ? row : NONE;
    if (boards.root == NONE) return;
    Board& board = boards.of_turn[turn_];
    for (int r = 1; r < 4; ++r) board.choices[r] = no_choice();
    board.rows[0].rows[0] = row;
    board.choices[0] = {-u_[row], 0};
  }
  DEVICE Choice no_choice() const { return {far_, costs_.infinite()}; }

  // Rows of the tree lower the distances of this thread's columns, to distance + cost - v - u. Returns the nearest columns.
  template <class Team>
  DEVICE Nearest lower_columns(const Team& team, const Board& board, unsigned chosen, Dual radius) {
    Nearest nearest{NONE, costs_.infinite(), {costs_.infinite(), NONE}};
    each_column(team, [&](Vertex column) {
      Mine mine{costs_.place(0, column), distance_[column], v_[column], NONE, 0};
      const bool is_free = matching_.col_match[column] == NONE, waits = nearest_row_[column] < 0;
      lower(board, chosen, mine);
      if (mine.from != NONE) {
        distance_[column] = mine.distance;
        nearest_row_[column] = ~mine.from;
        nearest_cost_[column] = mine.cost;
      }
      if (is_free) {
        if (mine.distance < nearest.free.distance) nearest.free = {mine.distance, column};
      } else if ((waits || mine.from != NONE) && mine.distance < nearest.distance) {
        nearest.distance = mine.distance;
        nearest.column = column;
      }
    });
    if (!(nearest.distance < radius)) nearest.column = NONE;
    if (!(nearest.free.distance < radius)) nearest.free.column = NONE;
    rows_scanned_ += team.count(chosen);
    ++steps_;
    return nearest;
  }
  // All entries of a step are under way together. Rows are taken in fours, and fours without a chosen row are left out.
  DEVICE void lower(const Board& board, unsigned chosen, Mine& mine) const {
    Cost entry[FOURS][4];
    UNROLLED
    for (int q = 0; q < FOURS; ++q) {
      if ((chosen >> 4 * q & 15) == 0) continue;
      const FourRows four = board.rows[q];
      UNROLLED
      for (int r = 0; r < 4; ++r) entry[q][r] = cached(mine.entries + static_cast<unsigned>(four.rows[r]) * costs_.row_stride);
    }
    UNROLLED
    for (int q = 0; q < FOURS; ++q) {
      if ((chosen >> 4 * q & 15) != 0) lower_by_four(board.choices + 4 * q, board.rows[q], entry[q], mine);
    }
  }
  DEVICE void lower_by_four(const Choice* choices, const FourRows& four, const Cost (&entry)[4], Mine& mine) const {
    Dual here[4];
    UNROLLED
    for (int r = 0; r < 4; ++r) here[r] = around(costs_.of_entry(entry[r]), around(choices[r].offset, -mine.v));
    const Dual a = here[1] < here[0] ? here[1] : here[0], b = here[3] < here[2] ? here[3] : here[2], least = b < a ? b : a;
    if (!(least < mine.distance)) return;
    int nearest = 0;
    Cost entry_of_nearest = entry[0];
    UNROLLED
    for (int r = 1; r < 4; ++r) {
      nearest = here[r] == least ? r : nearest;
      entry_of_nearest = here[r] == least ? entry[r] : entry_of_nearest;
    }
    // Rounding does not make a way shorter than its beginning, so that no row follows itself.
    const Dual beginning = choices[nearest].distance, distance = least < beginning ? beginning : least;
    if (!(distance < mine.distance)) return;
    mine.distance = distance;
    mine.from = four.rows[nearest];
    mine.cost = costs_.of_entry(entry_of_nearest);
  }

  // The nearest free column of each warp and the nearest matched column of each group go on the board. Returns whether a column
  // of this thread was chosen.
  template <class Team>
  DEVICE bool choose(const Team& team, Board& board, const Nearest& nearest) const {
    FreeColumn free{costs_.infinite(), NONE};
    if (team.vote(nearest.free.column != NONE) != 0) free = least_of_warp(team, nearest.free);
    if (team.lane() == 0) board.free_columns[team.rank() / team.lanes()] = free;
    const int key = nearest.column == NONE ? LAST_VERTEX : rough(nearest.distance) | team.lane();
    const int least = team.min_part(key, group_.width);
    const bool is_chosen = key == least && least != LAST_VERTEX;
    if (least == LAST_VERTEX && team.lane() == group_.first_lane) board.choices[group_.number] = no_choice();
    if (is_chosen) {
      const Vertex column = nearest.column;
      board.rows[group_.number / 4].rows[group_.number % 4] = matching_.col_match[column];
      board.choices[group_.number] = {nearest.distance - (pair_cost_[column] - v_[column]), nearest.distance};
    }
    return is_chosen;
  }
  template <class Team>
  DEVICE FreeColumn least_of_warp(const Team& team, const FreeColumn& mine) const {
    const Dual distance = team.min_group(mine.column == NONE ? costs_.infinite() : mine.distance);
    const bool has_it = mine.column != NONE && mine.distance == distance;
    const Vertex column = team.min_group(has_it ? mine.column : LAST_VERTEX);
    return {distance, column == LAST_VERTEX ? NONE : column};
  }
  // As `end`, or a nearer one that a warp has found.
  template <class Team>
  DEVICE FreeColumn nearest_free(const Team& team, const FreeColumn* found, const FreeColumn& end) const {
    const Vertex warp = team.lane() < team.size() / team.lanes() ? team.lane() : 0;
    const FreeColumn mine = found[warp];
    return team.vote(mine.column != NONE) == 0 ? end : least_of_warp(team, mine);
  }
  // Which choices have to be read.
  template <class Team>
  DEVICE unsigned choices_within(const Team& team, const Choice* choices, Dual radius) const {
    const int group = team.lane() < group_.groups ? team.lane() : 0;
    return team.vote(group == team.lane() && may_be_within(choices[group].distance, radius));
  }

  DEVICE void flip(Vertex root, Vertex column) const {
    for (Vertex row = NONE; row != root;) {
      row = nearest_row_[column] < 0 ? ~nearest_row_[column] : nearest_row_[column];
      const Vertex before = matching_.row_match[row];
      matching_.row_match[row] = column;
      matching_.col_match[column] = row;
      pair_cost_[column] = nearest_cost_[column];
      column = before;
    }
  }

  const DenseCosts<Cost>& costs_;
  Matching matching_;
  Dual* u_;              // [num_rows]
  Dual* v_;              // [num_columns]
  Dual* distance_;       // [num_columns] from the root, as far as known
  Dual* pair_cost_;      // [num_columns] of matched columns
  Dual* nearest_cost_;   // [num_columns] of the pair with nearest_row
  Vertex* nearest_row_;  // [num_columns] the row that lowered the distance; its complement until the column's own row is read
  Vertex* sold_to_;      // [num_columns] the least number of a bid
  Vertex* bidders_;      // [2 * num_columns] a ring of free rows
  Count rows_scanned_ = 0, steps_ = 0;
  unsigned turn_ = 0;    // of the board
  Group group_{};        // of this thread
  Dual far_ = 0;         // what makes cost - v of any pair very large, and no sum overflow: cost - v is about u of any row
};
