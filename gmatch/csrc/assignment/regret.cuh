// regret.cuh: a start of dense assignment by Vogel's rule.
#pragma once
#include "assignment/tight_edges.cuh"
#include "assignment/tight_lists.cuh"

// Vogel's rule: a column goes to the row that would lose most by its second best column. As tried by Kawtikwar, Cravens,
// Yang, "Improvements to Hungarian Solver", Improvement Attempt 1.
template <class Stored>
class RegretStart {
 public:
  using Dual = typename TightEdges<Stored>::Dual;

  DEVICE RegretStart(const Matching& matching, const TightEdges<Stored>& edges) : matching_(matching), edges_(edges) {}
  DEVICE void carve(Workspace& workspace) {
    bids_ = workspace.take<Count>(matching_.num_columns);
    keys_ = workspace.take<Count>(matching_.num_rows);
    wanted_ = workspace.take<Vertex>(matching_.num_rows);
  }

  // Rounds of bids for tight columns, until no row finds a free one.
  template <class Team>
  DEVICE void run(Steps<Team>& steps) const {
    Team& team = steps.team;
    team.each(matching_.num_columns, [&](Count column) { bids_[column] = NO_BID; });
    team.each_group(matching_.num_rows, [&](Count row) { find_key(team, static_cast<Vertex>(row)); });
    steps.end();
    while (true) {
      team.each_group(matching_.num_rows, [&](Count row) { bid(steps, static_cast<Vertex>(row)); });
      steps.end();
      if (steps.todo() == 0) break;
      team.each(matching_.num_rows, [&](Count i) {
        const Vertex row = static_cast<Vertex>(i), column = wanted_[row];
        if (column == NONE || bids_[column] != keys_[row]) return;
        matching_.row_match[row] = column;
        matching_.col_match[column] = row;
      });
      steps.end();
    }
  }

 private:
  static constexpr Count NO_BID = 0x7fffffffffffffff;

  // The least key wins: the largest regret, then the first row.
  template <class Team>
  DEVICE void find_key(const Team& team, Vertex row) const {
    Dual least = edges_.costs.infinite(), second = least;
    TightLists::each_column(
        team, 0, matching_.num_columns, [&](Vertex column) { return slack(row, column); },
        [&](Vertex, Dual slack) {
          second = slack < least ? least : slack < second ? slack : second;
          least = slack < least ? slack : least;
        });
    const Dual best = team.min_group(least);
    const int winner = team.min_group(least == best ? team.lane() : team.lanes());
    const Dual next = team.min_group(team.lane() == winner ? second : least);
    if (team.lane() != 0) return;
    const Count regret = in_31_bits(static_cast<float>(next - best));
    keys_[row] = (0x7fffffff - regret) * (Count{1} << 32) + row;
  }

  // The first free tight column at or after the row's own place, so that equal rows do not all want one column.
  template <class Team>
  DEVICE void bid(const Steps<Team>& steps, Vertex row) const {
    const Team& team = steps.team;
    if (matching_.row_match[row] != NONE) {
      if (team.lane() == 0) wanted_[row] = NONE;
      return;
    }
    const Vertex start = static_cast<Vertex>(row * 0x9e3779b1ll % matching_.num_columns);
    Vertex nearest = LAST_VERTEX;
    TightLists::each_column(
        team, 0, matching_.num_columns, [&](Vertex column) { return slack(row, column); },
        [&](Vertex column, Dual slack) {
          const Vertex away = column < start ? column - start + matching_.num_columns : column - start;
          if (slack == 0 && away < nearest && matching_.col_match[column] == NONE) nearest = away;
        });
    nearest = team.min_group(nearest);
    if (team.lane() != 0) return;
    wanted_[row] = nearest == LAST_VERTEX ? NONE : static_cast<Vertex>((start + Count{nearest}) % matching_.num_columns);
    if (nearest == LAST_VERTEX) return;
    team.lower(&bids_[wanted_[row]], keys_[row]);
    steps.mark_todo();
  }

  DEVICE Dual slack(Vertex row, Vertex column) const {
    return slack_of<Dual>(edges_.costs.at(row, column), edges_.u[row], edges_.v[column]);
  }
  // Numbers that are not negative, in their order; infinite minus infinite counts as no regret.
  static DEVICE Count in_31_bits(float number) {
    if (!(number > 0)) return 0;
    union {
      float number;
      int bits;
    } same = {number};
    return same.bits;
  }

  const Matching& matching_;
  const TightEdges<Stored>& edges_;
  Count* bids_;     // [num_columns] the least key of the rows that want a column
  Count* keys_;     // [num_rows]
  Vertex* wanted_;  // [num_rows]
};
