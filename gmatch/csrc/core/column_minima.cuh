// column_minima.cuh: prices of columns to start from, if all rows want the same few columns.
//
// If some columns cost all rows more than others do, the least cost of a column is its price. Some rows are asked for their
// best columns, without prices and with them. Prices that do not make rows want far more columns are of no use: from points on a
// ring to points inside it, they make rows want fewer.
//
// Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing 38 (1987),
// column reduction.
#pragma once
#include "assignment/start.cuh"
#include "costs/dense.cuh"

template <class Stored>
class ColumnMinima {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  // `spread` is how far costs lie apart.
  DEVICE ColumnMinima(const DenseCosts<Stored>& costs, Dual spread) : costs_(costs), size_(costs.num_columns), spread_(spread) {}

  DEVICE void carve(Workspace& workspace) {
    is_wanted_ = workspace.take<Vertex>(size_);
    found_ = workspace.take<Found>(1);
  }

  // Leaves prices in v, none above zero, if they make rows want far more columns. All threads of the team learn whether they do.
  template <class Team>
  DEVICE bool take(Team& team, Dual* v) const {
    team.each(size_, [&](Count column) { v[column] = 0; });
    if (team.rank() == 0) *found_ = Found{};
    count_wanted(team, v, 0);
    if (found_->wanted[0] >= WANTED * num_asked()) return false;
    find_least(team, v);
    count_wanted(team, v, 1);
    return found_->wanted[1] >= MORE * found_->wanted[0];
  }

 private:
  // How many rows are asked, and the share of them that want different columns if no prices are needed: of independent rows more
  // than 0.63 do. Column prices make rows want 30 times as many columns, low ranks and hubs at most three times.
  static constexpr int ASKED = 256;
  static constexpr double WANTED = 0.6;
  static constexpr int MORE = 2;
  static constexpr Vertex TILE = 256;  // rows of a lane group: enough groups for a GPU from 2,048 columns on

  struct Found {
    Count wanted[2];
    Dual greatest;
  };

  DEVICE Vertex num_asked() const { return size_ < ASKED ? size_ : ASKED; }

  // How many columns are the best ones of the rows that are asked. Without prices a row counts with all columns that its lanes
  // find equally good, and with prices with one of them: equal rows that prices give many equal columns gain nothing.
  template <class Team>
  DEVICE void count_wanted(Team& team, const Dual* v, int turn) const {
    struct Pair {
      Stored entry;
      Dual v;
    };
    team.each(size_, [&](Count column) { is_wanted_[column] = 0; });
    team.sync();
    Count wanted = 0;
    team.each_group_apart(num_asked(), [&](Count i) {
      const Vertex row = static_cast<Vertex>(i * size_ / num_asked());
      Dual least = costs_.infinite();
      Vertex best = 0;
      each_fetched<Team::AT_ONCE>(
          team.lane(), team.lanes(), size_,
          [&](Vertex column) { return Pair{team.read_once(costs_.place(row, column)), v[column]}; },
          [&](Vertex column, const Pair& pair) {
            const Dual reduced = costs_.of_entry(value_of(pair.entry)) - pair.v;
            if (!(reduced < least)) return;
            least = reduced;
            best = column;
          });
      const bool is_best = least == team.min_group(least);
      const int speaker = team.min_group(is_best ? team.lane() : team.lanes());
      wanted += is_best && (turn == 0 || team.lane() == speaker) && team.claim(&is_wanted_[best], 0, 1);
    });
    team.add_all(&found_->wanted[turn], wanted);
    team.sync();
  }

  // The least cost of each column, less the greatest of these. Costs are lifted first: cells that many threads lower hold no
  // negative floats.
  template <class Team>
  DEVICE void find_least(Team& team, Dual* v) const {
    const Dual lift = 2 * spread_ - costs_.at(0, 0);
    team.each(size_, [&](Count column) { v[column] = costs_.infinite(); });
    team.sync();
    const Vertex strips = (size_ + team.lanes() - 1) / team.lanes(), tiles = (size_ + TILE - 1) / TILE;
    team.each_group(static_cast<Count>(strips) * tiles, [&](Count i) {
      const Vertex column = static_cast<Vertex>(i % strips) * team.lanes() + team.lane();
      const Vertex first = static_cast<Vertex>(i / strips) * TILE, end = first + TILE < size_ ? first + TILE : size_;
      const Vertex safe = column < size_ ? column : size_ - 1;
      Dual least = costs_.infinite();
      each_fetched<Team::AT_ONCE>(
          first, 1, end, [&](Vertex row) { return team.read_once(costs_.place(row, safe)); },
          [&](Vertex, Stored entry) {
            const Dual cost = costs_.of_entry(value_of(entry));
            least = cost < least ? cost : least;
          });
      if (column >= size_ || is_forbidden(least)) return;
      least += lift;
      team.lower(&v[column], least > 0 ? least : 0);
    });
    team.sync();
    Dual greatest = 0;
    team.each(size_, [&](Count column) {
      if (v[column] == costs_.infinite()) v[column] = 0;  // no pair of this column is allowed
      greatest = v[column] > greatest ? v[column] : greatest;
    });
    team.max_all(&found_->greatest, greatest);
    team.sync();
    team.each(size_, [&](Count column) { v[column] -= found_->greatest; });
    team.sync();
  }

  const DenseCosts<Stored>& costs_;
  const Vertex size_;
  const Dual spread_;
  Vertex* is_wanted_;  // [size]
  Found* found_;       // [1]
};
