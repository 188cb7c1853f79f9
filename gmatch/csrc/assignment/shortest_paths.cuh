// shortest_paths.cuh: dense assignment by shortest augmenting paths, one after the other, for problems that one block solves. All
// threads of the block look for one path together.
//
//   start         square problems: u is the least cost of each row, v the least cost - u of each column. A row takes the first
//                 column that has its v from it. Rectangular problems: v is 0. A column takes the first row that it is best for
//   augmentation  a shortest augmenting path (Dijkstra) for every row that is still free
//
// Between the two the paper lets free rows bid. Here a bid takes two barriers, and a step of a search one. Rows do not bid, since
// bids save few steps: benchmarks/log/batches.md, "A block finds one shortest path after the other".
//
// A thread has every size()-th column. So v, distances and predecessors of a column are touched by one thread, and a step of a
// search needs one barrier: the one that finds the nearest column. Among equally near columns the first free one is taken, or
// the first. So the answer depends on the costs alone.
//
// The invariant, with u[i] = cost - v of the pair of row i: no pair costs less than u + v. After the start v only falls, and a
// matched column never becomes free again. So v of columns that stay free is 0.
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
    nearest_row_ = workspace.take<Vertex>(costs_.num_columns);
  }

  // Writes the matching, u and v. A row that cannot be matched ends the search. `team` is a block.
  template <class Team>
  DEVICE void run(Team& team, Report& report) {
    Count now = team.nanoseconds();
    start(team);
    Count start_size = 0;
    for (Vertex row = 0; row < costs_.num_rows; ++row) start_size += matching_.row_match[row] != NONE;
    const Count start_ns = lap(team, now);
    auto block = team.in_blocks();
    Count paths = 0;
    bool goes_on = true;
    for (Vertex row = 0; row < costs_.num_rows && goes_on; ++row) {
      if (matching_.row_match[row] != NONE) continue;
      goes_on = augment_from(block, row);
      paths += goes_on;
    }
    team.each(costs_.num_rows, [&](Count row) {
      const Vertex column = matching_.row_match[row];
      u_[row] = column == NONE ? 0 : costs_.at(static_cast<Vertex>(row), column) - v_[column];
    });
    if (team.rank() == 0) {
      Count size = 0;
      for (Vertex row = 0; row < costs_.num_rows; ++row) size += matching_.row_match[row] != NONE;
      report.start_size = start_size;
      report.size = size;
      report.phases = paths;
      report.rows_scanned = rows_scanned_;
      report.edges_inspected = rows_scanned_ * costs_.num_columns;
      report.start_ns = start_ns;
      report.search_ns = lap(team, now);
    }
    team.sync();
  }

 private:
  // Reads that are under way together. A block has a thread for each two columns: see COLUMNS_OF_A_THREAD of backends/gpu.py.
  static constexpr int IN_A_BLOCK = 2, IN_A_WARP = 4, IN_A_COLUMN = 8;

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
  // use(column, cost) for the columns of this lane.
  template <class Team, class Use>
  DEVICE void each_of_warp(const Team& team, Vertex row, Use use) const {
    each_cost<IN_A_WARP>(costs_.place(row, 0), costs_.column_stride, team.lane(), team.lanes(), costs_.num_columns, use);
  }

  template <class Team>
  DEVICE void start(Team& team) {
    team.each(costs_.num_rows, [&](Count row) { matching_.row_match[row] = LAST_VERTEX; });
    team.each(costs_.num_columns, [&](Count column) {
      v_[column] = 0;
      matching_.col_match[column] = LAST_VERTEX;
    });
    team.sync();
    if (costs_.num_rows == costs_.num_columns) start_from_reduction(team);
    else start_from_zero(team);
    team.sync();
    team.each(costs_.num_columns, [&](Count i) {
      const Vertex column = static_cast<Vertex>(i), row = matching_.col_match[column];
      if (row == LAST_VERTEX || matching_.row_match[row] != column) matching_.col_match[column] = NONE;
      else note_pair_cost(column);
    });
    team.each(costs_.num_rows, [&](Count row) {
      if (matching_.row_match[row] == LAST_VERTEX) matching_.row_match[row] = NONE;
    });
    team.sync();
  }

  template <class Team>
  DEVICE void start_from_reduction(Team& team) {
    reduce_each_row(team);
    team.sync();
    each_column(team, [&](Vertex column) {
      Dual least = costs_.infinite();
      Vertex first = LAST_VERTEX;
      each_cost<IN_A_COLUMN>(costs_.place(0, column), costs_.row_stride, 0, 1, costs_.num_rows, [&](Vertex row, Dual cost) {
        const Dual reduced = cost - u_[row];
        if (!(reduced < least)) return;
        least = reduced;
        first = row;
      });
      if (first == LAST_VERTEX) return;  // forbidden for all rows
      v_[column] = least;
      matching_.col_match[column] = first;
      team.fetch_min(&matching_.row_match[first], column);
    });
  }
  template <class Team>
  DEVICE void reduce_each_row(const Team& team) const {
    team.each_group(costs_.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      Dual least = costs_.infinite();
      each_of_warp(team, row, [&](Vertex, Dual cost) { least = cost < least ? cost : least; });
      least = team.min_group(least);
      if (team.lane() == 0) u_[row] = least == costs_.infinite() ? 0 : least;
    });
  }

  template <class Team>
  DEVICE void start_from_zero(Team& team) {
    // row_match has the best column of each row until each column has chosen a row.
    team.each_group(costs_.num_rows, [&](Count i) {
      const Vertex row = static_cast<Vertex>(i);
      Dual least = costs_.infinite();
      Vertex best = LAST_VERTEX;
      each_of_warp(team, row, [&](Vertex column, Dual cost) {
        if (!(cost < least)) return;
        least = cost;
        best = column;
      });
      const Dual least_of_row = team.min_group(least);
      best = team.min_group(least == least_of_row ? best : LAST_VERTEX);
      if (team.lane() != 0 || best == LAST_VERTEX) return;
      matching_.row_match[row] = best;
      team.fetch_min(&matching_.col_match[best], row);
    });
    team.sync();
    team.each(costs_.num_rows, [&](Count row) {
      const Vertex best = matching_.row_match[row];
      if (best != LAST_VERTEX && matching_.col_match[best] != row) matching_.row_match[row] = LAST_VERTEX;
    });
  }

  // The least key decides between equally near columns: a free column first, then the first column.
  DEVICE int key_of(Vertex column, Vertex mate) const { return mate == NONE ? column : column + costs_.num_columns; }
  DEVICE Vertex column_of(int key) const { return key < costs_.num_columns ? key : key - costs_.num_columns; }

  // Finds and flips a path. Returns false if there is none.
  template <class Team>
  DEVICE bool augment_from(Team& team, Vertex root) {
    each_column(team, [&](Vertex column) {
      distance_[column] = costs_.infinite();
      nearest_row_[column] = 0;
    });
    Dual radius = 0, offset = 0;
    Vertex row = root, end;
    while (true) {
      const auto nearest = lower_columns(team, row, offset);
      if (!(nearest.value < costs_.infinite())) return false;
      radius = nearest.value;
      end = column_of(nearest.key);
      if (nearest.key < costs_.num_columns) break;
      if (end % team.size() == team.rank()) nearest_row_[end] = ~nearest_row_[end];
      row = nearest.note;
      offset = radius - (pair_cost_[end] - v_[end]);
    }
    each_column(team, [&](Vertex column) {
      if (nearest_row_[column] < 0) v_[column] += distance_[column] - radius;
    });
    team.sync();
    if (team.rank() == 0) flip(root, end);
    team.sync();
    each_column(team, [&](Vertex column) {
      if (nearest_row_[column] < 0 || column == end) note_pair_cost(column);
    });
    team.sync();
    return true;
  }
  DEVICE void note_pair_cost(Vertex column) { pair_cost_[column] = costs_.at(matching_.col_match[column], column); }

  // A row of the tree lowers the distances of columns outside it, to `offset` + cost - v. All reads are under way together.
  template <class Team>
  DEVICE auto lower_columns(Team& team, Vertex row, Dual offset) {
    ++rows_scanned_;
    Dual least = costs_.infinite();
    int key = LAST_VERTEX;
    Vertex least_mate = NONE;
    const Cost* entries = costs_.place(row, 0);
    for (Vertex first = team.rank(); first < costs_.num_columns; first += IN_A_BLOCK * team.size()) {
      Cost entry[IN_A_BLOCK];
      Dual v[IN_A_BLOCK], distance[IN_A_BLOCK];
      Vertex nearest[IN_A_BLOCK], mate[IN_A_BLOCK];
      for (int k = 0; k < IN_A_BLOCK; ++k) {
        const Vertex column = first + k * team.size(), safe = column < costs_.num_columns ? column : first;
        entry[k] = cached(entries + safe * costs_.column_stride);
        v[k] = v_[safe];
        distance[k] = distance_[safe];
        nearest[k] = nearest_row_[safe];
        mate[k] = matching_.col_match[safe];
      }
      for (int k = 0; k < IN_A_BLOCK; ++k) {
        const Vertex column = first + k * team.size();
        const bool is_outside = column < costs_.num_columns && nearest[k] >= 0;
        const Dual cost = costs_.of_entry(entry[k]), here = is_forbidden(cost) ? cost : offset + (cost - v[k]);
        const bool falls = is_outside && here < distance[k];
        if (falls) {
          distance_[column] = here;
          nearest_row_[column] = row;
        }
        const Dual now = falls ? here : distance[k];
        const int key_here = key_of(column, mate[k]);
        const bool is_least = is_outside && (now < least || (now == least && key_here < key));
        least = is_least ? now : least;
        key = is_least ? key_here : key;
        least_mate = is_least ? mate[k] : least_mate;
      }
    }
    return team.least_keyed(least, key, least_mate);
  }

  DEVICE void flip(Vertex root, Vertex column) {
    for (Vertex row = NONE; row != root;) {
      row = nearest_row_[column] < 0 ? ~nearest_row_[column] : nearest_row_[column];
      const Vertex before = matching_.row_match[row];
      matching_.row_match[row] = column;
      matching_.col_match[column] = row;
      column = before;
    }
  }

  const DenseCosts<Cost>& costs_;
  Matching matching_;
  Dual* u_;              // [num_rows]
  Dual* v_;              // [num_columns]
  Dual* distance_;       // [num_columns] from the root, as far as known
  Dual* pair_cost_;      // [num_columns] of matched columns
  Vertex* nearest_row_;  // [num_columns] the row that lowered the distance; its complement once the column is in the tree
  Count rows_scanned_ = 0;
};
