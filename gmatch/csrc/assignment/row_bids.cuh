// row_bids.cuh: bids of the rows that found no column by the minima of rows and columns.
//
// A row takes its best column from the row that has it. v of the column falls by how much it is better than the bidder's
// second best: the new pair is tight, and no slack becomes negative. The displaced row bids next. The search then begins with
// a quarter of the free rows. If two rows bid for a column in a round, one of them bids again.
//
// Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing 38
// (1987), augmenting row reduction: an auction with epsilon zero, here for all free rows at once.
#pragma once
#include "assignment/tight_edges.cuh"
#include "assignment/tight_lists.cuh"

template <class Stored>
class RowBids {
 public:
  using Dual = typename TightEdges<Stored>::Dual;

  DEVICE RowBids(const Matching& matching, const TightEdges<Stored>& edges) : matching_(matching), edges_(edges) {}
  DEVICE void carve(Workspace& workspace) {
    for (Vertex*& rows : bidders_) rows = workspace.take<Vertex>(matching_.num_rows);
    sold_in_ = workspace.take<Vertex>(matching_.num_columns);
    bought_ = workspace.take<Vertex>(matching_.num_rows);
    more_ = workspace.take<Dual>(matching_.num_rows);
  }

  // Rows that stay free have the largest possible u.
  template <class Team>
  DEVICE void run(Steps<Team>& steps) const {
    Team& team = steps.team;
    team.each(matching_.num_columns, [&](Count column) { sold_in_[column] = 0; });
    // A later turn has fewer ties, since other rows have bid.
    for (int turn = 0; turn < TURNS; ++turn) hold_rounds(steps, turn * MOST_ROUNDS);
    team.each_group(matching_.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      if (matching_.row_match[row] != NONE) return;
      const Dual least = team.min_group(find_offer(team, row).least);
      if (team.lane() == 0 && least != edges_.costs.infinite()) edges_.u[row] = least;
    });
    team.sync();
  }

 private:
  // The search matches the rows that are free after 2 turns. 1 and 4 turns take 0.97 to 1.07 times as long, 64 rounds of a turn
  // 0.89 to 1.02 times, and 4 rounds 1.03 to 1.12 times: benchmarks/log/trees.md, "Thresholds measured again".
  static constexpr int TURNS = 2;
  static constexpr Vertex MOST_ROUNDS = 16;  // of a turn

  // The best column that a lane finds; among equal ones a free column.
  struct Offer {
    Dual least, second;
    Vertex column;
    bool is_free;
  };

  // All free rows bid, then the displaced rows, until no row is left or the rounds are over.
  template <class Team>
  DEVICE void hold_rounds(Steps<Team>& steps, Vertex rounds_before) const {
    Team& team = steps.team;
    team.each(matching_.num_rows, [&](Count row) {
      if (matching_.row_match[row] == NONE) enlist(steps, static_cast<Vertex>(row));
    });
    steps.end();
    const auto groups = groups_for_a_row(team);
    for (Vertex round = 1; round <= MOST_ROUNDS && steps.todo() > 0; ++round) {
      const Vertex* rows = bidders_[steps.parity()];
      groups.each_group(steps.todo(), [&](Count i) { bid(groups, steps, i, rows[i], rounds_before + round); });
      team.sync();
      team.each(steps.todo(), [&](Count i) {
        if (bought_[i] != NONE) take(steps, rows[i], bought_[i], more_[i]);
      });
      steps.end();
    }
  }

  template <class Team>
  DEVICE void enlist(const Steps<Team>& steps, Vertex row) const {
    bidders_[1 - steps.parity()][steps.append()] = row;
  }

  // A bid waits for its row to be read. On a grid, which has few bids, all threads of a block read a row.
  template <class Team>
  DEVICE auto groups_for_a_row(const Team& team) const {
    if constexpr (Team::IS_GRID) return team.in_blocks();
    else return team;
  }

  // The values of an entry of a row.
  struct Seen {
    Stored entry;
    Dual v;
  };

  template <class Group>
  DEVICE Offer find_offer(const Group& group, Vertex row) const {
    Offer offer{edges_.costs.infinite(), edges_.costs.infinite(), NONE, false};
    TightLists::each_column(
        group, 0, matching_.num_columns,
        [&](Vertex column) {
          return Seen{group.read_once(edges_.costs.place(row, column)), group.read(&edges_.v[column])};
        },
        [&](Vertex column, const Seen& seen) {
          const Dual reduced = edges_.costs.of_entry(value_of(seen.entry)) - seen.v;
          if (reduced < offer.least || (reduced == offer.least && !offer.is_free && is_free(column))) {
            offer = {reduced, offer.least, column, is_free(column)};
          } else if (reduced < offer.second) {
            offer.second = reduced;
          }
        });
    return offer;
  }
  DEVICE bool is_free(Vertex column) const { return matching_.col_match[column] == NONE; }

  // Bidder i of a round. v does not change until all rows have bid, and a column is sold once.
  template <class Group, class Team>
  DEVICE void bid(const Group& group, const Steps<Team>& steps, Count i, Vertex row, Vertex round) const {
    const Offer offer = find_offer(group, row);
    const Dual least = group.min_group(offer.least);
    const int place = (offer.least > least ? 2 : offer.is_free ? 0 : 1) * group.lanes() + group.lane();
    const int winner = group.min_group(place);
    Dual second = group.min_group(place == winner ? offer.second : offer.least);
    if (place != winner) return;
    // How much a row with one column can pay for it is not known here, perhaps nothing.
    if (second == edges_.costs.infinite()) second = least;
    bought_[i] = NONE;
    // An owner who offers as much keeps the column. The search decides such a tie.
    if (least == edges_.costs.infinite() || (second == least && !offer.is_free)) return;
    const Vertex last_round = group.read(&sold_in_[offer.column]);
    if (last_round == round || !group.claim(&sold_in_[offer.column], last_round, round)) return enlist(steps, row);
    bought_[i] = offer.column;
    more_[i] = second - least;
    edges_.u[row] = second;
  }

  // The column changes hands.
  template <class Team>
  DEVICE void take(const Steps<Team>& steps, Vertex row, Vertex column, Dual more) const {
    const Vertex owner = matching_.col_match[column];
    edges_.v[column] -= more;
    matching_.col_match[column] = row;
    matching_.row_match[row] = column;
    if (owner == NONE) return;
    matching_.row_match[owner] = NONE;
    enlist(steps, owner);
  }

  const Matching& matching_;
  const TightEdges<Stored>& edges_;
  Vertex* bidders_[2];  // [num_rows] each: of this round and of the next
  Vertex* sold_in_;     // [num_columns] the last round in which the column was sold
  Vertex* bought_;      // [num_rows] the column that a bidder of this round won, or NONE
  Dual* more_;          // [num_rows] by how much v of that column falls
};
