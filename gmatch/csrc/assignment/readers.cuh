// readers.cuh: rows that read the matrix, since they leave out a pair that may be nearer than a free column.
//
// They exist only for costs that leave pairs out (Core). These know the least cost of the pairs that a row leaves out. A reader
// lowers all columns up to a radius. Each column that fell then finds the reader that gave it its distance, since no row may have
// the column in its list. The reader whose left-out pair is nearest has its final distance. A reader may lower the distance of
// another reader, which then reads again. So readers lead back to roots, as rows do that have the column in their lists.
#pragma once
#include "assignment/distances.cuh"

template <class Costs>
struct Readers {
  using Dual = typename Costs::Dual;
  using Distances = ::Distances<Costs>;
  // How often rows that leave pairs out may read the matrix for one radius. After that the radius ends at the nearest pair that
  // is left out, if a free column lies nearer. 2 and 8 are as fast: benchmarks/log/core_gpu.md, "Thresholds measured again".
  static constexpr int MOST_READS = 4;

  Dual* whole_from;  // [num_rows] the distance from which all pairs of a row lowered columns, or infinity
  Vertex* readers;   // [num_rows] the rows that read now
  Vertex* num_readers;  // [1]
  Vertex* fell_in;   // [num_columns] the last number of `reads` in which a reader lowered it
  Vertex* via;       // [num_columns] a row that read, and gave the column its distance; or NONE
  Vertex* num_children; // [num_rows] columns that have their distance via the row
  Vertex* past_children;  // [num_rows] where they end in `children`
  Vertex* children;  // [num_columns]
  Vertex* num_placed;  // [1] entries of `children`
  Vertex reads;        // this thread's copies; all agree. How often rows read the matrix in this phase
  Dual farthest_read;  // readers lowered no columns beyond it in this phase

  DEVICE void carve(Workspace& workspace, const Costs& costs) {
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
  }

  template <class Team>
  DEVICE void begin_phase(const Team& team, const Costs& costs) {
    farthest_read = costs.infinite();
    if constexpr (Costs::LEAVES_OUT) {
      reads = 0;
      team.each(costs.num_rows, [&](Count row) {
        whole_from[row] = costs.infinite();
        num_children[row] = 0;
      });
      team.each(costs.num_columns, [&](Count column) {
        fell_in[column] = 0;
        via[column] = NONE;
      });
      if (team.rank() == 0) *num_placed = *num_readers = 0;
    }
  }

  DEVICE bool may_read() const { return reads < MOST_READS; }

  // The distance of the nearest pair that the costs leave out of a row.
  template <class Team>
  DEVICE Dual distance_left(const Team& team, const ClaimedForest<true>& forest, const Distances& known, Vertex row) const {
    const Costs& costs = known.costs;
    const Dual from = known.distance_of(team, forest, row), rest = costs.rest[row];
    if (from == costs.infinite() || rest == costs.infinite() || from >= whole_from[row]) return costs.infinite();
    return rest > known.u[row] ? from + (rest - known.u[row]) : from;
  }

  // All rows that left out a pair nearer than the radius read the matrix.
  template <class Team>
  DEVICE void read_rows(Steps<Team>& steps, const ClaimedForest<true>& forest, Distances& known, Dual radius) {
    if constexpr (Costs::LEAVES_OUT) {
      Team& team = steps.team;
      const Costs& costs = known.costs;
      const Vertex now = ++reads;
      farthest_read = radius;
      // All readers use the distances before this step: of two equally near rows, neither has its column from the other.
      team.each(costs.num_rows, [&](Count i) {
        const Vertex row = static_cast<Vertex>(i);
        if (distance_left(team, forest, known, row) >= radius) return;
        whole_from[row] = known.distance_of(team, forest, row);
        readers[team.append(num_readers)] = row;
      });
      team.sync();
      const Vertex num_now = *num_readers;
      team.each_group(num_now, [&](Count i) { read_row(steps, forest, known, readers[i]); });
      team.sync();
      if (team.rank() == 0) *num_readers = 0;
      // `via` is the row that lowered a column last, unless several rows lowered it at the same time.
      team.template each_chosen<Vertex>(
          costs.num_columns,
          [&](Count column, Vertex& fallen) {
            fallen = static_cast<Vertex>(column);
            return fell_in[column] == now && !is_via(known, fallen, via[column]);
          },
          [&](Count, Vertex column) { find_reader(team, known, column, num_now); });
      steps.end();
      known.settle(steps, forest);
    }
  }

  // Lists for each row the columns within the radius that have their distance via the row.
  template <class Team>
  DEVICE void collect_children(Team& team, const Distances& known, Dual radius) {
    if constexpr (Costs::LEAVES_OUT) {
      if (reads == 0) return;
      const Costs& costs = known.costs;
      team.each(costs.num_columns, [&](Count i) {
        const Vertex column = static_cast<Vertex>(i), row = via[column];
        if (row == NONE) return;
        // Other rows may have lowered it since.
        if (known.distance[column] <= radius && is_via(known, column, row)) team.fetch_add(&num_children[row], 1);
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

  // visit(column) for the columns that have their distance via a row, shared out over the lanes of a group, until it returns
  // false.
  template <class Team, class Visit>
  DEVICE void each_child(const Team& team, Vertex row, Visit visit) const {
    if constexpr (Costs::LEAVES_OUT) {
      if (reads == 0) return;
      const Vertex size = num_children[row], begin = past_children[row] - size;
      for (Vertex k = team.lane(); k < size; k += team.lanes()) {
        if (!visit(children[begin + k])) break;
      }
    }
  }

 private:
  template <class Team>
  DEVICE void read_row(const Steps<Team>& steps, const ClaimedForest<true>& forest, Distances& known, Vertex row) {
    Team& team = steps.team;
    const Costs& costs = known.costs;
    const Dual from = whole_from[row], u_of_row = known.u[row];
    const auto distance_by = [&](Dual cost, Dual v_there) { return from + slack_of<Dual>(cost, u_of_row, v_there); };
    costs.read_in_search(
        team, row, forest.matching.row_match[row], NearPairs{known.v, reduced_up_to(from, u_of_row)},
        [&](Vertex column, Dual cost, Dual v_there) {
          const Dual here = distance_by(cost, v_there);
          if (here > farthest_read || here >= team.read(&known.distance[column])) return;
          known.lower(team, column, forest.matching.col_match[column], here,
                      [&](Vertex there, Vertex mate) { known.list_once(steps, there, mate); });
          team.write(&via[column], row);
          team.write(&fell_in[column], reads);
        },
        [&](Vertex column, Dual cost) { return distance_by(cost, known.v[column]) == team.read(&known.distance[column]); });
    known.entries_read += costs.num_columns / team.lanes();
  }
  // The largest cost - v of a pair of a row that is of use.
  DEVICE Dual reduced_up_to(Dual from, Dual u_of_row) const {
    return farthest_read == Costs::infinite() ? farthest_read : u_of_row + (farthest_read - from);
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
  DEVICE void find_reader(const Team& team, const Distances& known, Vertex column, Vertex num_now) const {
    Vertex found = LAST_VERTEX;
    for (Vertex first = 0; first < num_now && found == LAST_VERTEX; first += team.lanes()) {
      const Vertex k = first + team.lane();
      found = team.min_group(k < num_now && is_via(known, column, readers[k]) ? readers[k] : LAST_VERTEX);
    }
    if (team.lane() == 0) via[column] = found == LAST_VERTEX ? NONE : found;
  }

  // Whether a column has its distance from this reader.
  DEVICE bool is_via(const Distances& known, Vertex column, Vertex row) const {
    const Costs& costs = known.costs;
    return costs.is_in_part(row, column) &&
           whole_from[row] + slack_of<Dual>(costs.cost_of(row, column), known.u[row], known.v[column]) == known.distance[column];
  }
};
