// few_pairs.cuh: a matrix in which nearly all pairs cost the same, as sparse costs of the few cheaper pairs; on a GPU.
//
// A row takes one of its cheaper pairs, or stays free at the common cost. In the end free rows and free columns are paired in any
// order: a free row and a free column have no cheaper pair. A phase of a search finds many paths in square problems only. So the
// sparse costs are doubled, as in gmatch/backends/doubled.py:
//
//   rows       all rows, then copies of all columns
//   columns    all columns, then copies of all rows
//   entries    a row and its own copy: twice the common cost; a column and its own copy: 0; cheaper pairs and their copies
//
// serial/few_pairs.hpp finds the pairs on a host.
#pragma once
#include "costs/dense.cuh"

// The doubled problem of n rows and m columns, in compressed rows.
template <class Dual>
struct DoubledPairs {
  int* offsets;     // [n + m + 1]
  Vertex* columns;  // [offsets[n + m]]
  Dual* entries;    // [offsets[n + m]]
  int* next;        // [n + m] where the next entry of a row goes
  int* sums;        // [n + m] of groups of `offsets`
};

// Replaces counts by the sums of the counts before them.
template <class Team>
DEVICE void sum_up(Team& team, int* counts, Count length, int* sums) {
  constexpr Count GROUP = 1024;
  const Count groups = (length + GROUP - 1) / GROUP;
  const auto sum_of_lanes = [&](int before, int mine) {
    return team.min_group(team.lane() == team.lanes() - 1 ? before + mine : 0x7fffffff);
  };
  // Replaces some numbers by sums, from `carried` on. Returns the sum of all.
  const auto sum_some = [&](int* numbers, Count begin, Count end, int carried) {
    for (Count first = begin; first < end; first += team.lanes()) {
      const Count k = first + team.lane();
      const int mine = k < end ? numbers[k] : 0, before = team.sum_before(mine);
      if (k < end) numbers[k] = carried + before;
      carried += sum_of_lanes(before, mine);
    }
    return carried;
  };
  const auto end_of = [&](Count group) { return (group + 1) * GROUP < length ? (group + 1) * GROUP : length; };
  team.each_group(groups, [&](Count group) {
    int mine = 0;
    for (Count k = group * GROUP + team.lane(); k < end_of(group); k += team.lanes()) mine += counts[k];
    const int sum = sum_of_lanes(team.sum_before(mine), mine);
    if (team.lane() == 0) sums[group] = sum;
  });
  team.sync();
  team.each_group(1, [&](Count) { sum_some(sums, 0, groups, 0); });
  team.sync();
  team.each_group(groups, [&](Count group) { sum_some(counts, group * GROUP, end_of(group), sums[group]); });
  team.sync();
}

// Makes the doubled problem. No entry of `costs` costs more than `common`.
template <class Team, class Stored, class Dual>
DEVICE void double_few_pairs(Team& team, const DenseCosts<Stored>& costs, Dual common, const DoubledPairs<Dual>& made) {
  const Vertex n = costs.num_rows, m = costs.num_columns;
  const Count length = static_cast<Count>(n) + m;
  const auto each_cheaper = [&](auto use) {
    team.each_group(n, [&](Count row) {
      each_fetched<Team::AT_ONCE>(
          team.lane(), team.lanes(), m,
          [&](Vertex column) { return team.read_once(costs.place(static_cast<Vertex>(row), column)); },
          [&](Vertex column, Stored entry) {
            const Dual cost = costs.of_entry(value_of(entry));
            if (cost < common) use(static_cast<Vertex>(row), column, cost);
          });
    });
  };
  // Each row and each column has its own copy.
  team.each(length + 1, [&](Count k) { made.offsets[k] = k < length; });
  team.sync();
  each_cheaper([&](Vertex row, Vertex column, Dual) {
    team.fetch_add(&made.offsets[row], 1);
    team.fetch_add(&made.offsets[static_cast<Count>(n) + column], 1);
  });
  team.sync();
  sum_up(team, made.offsets, length + 1, made.sums);
  const auto put = [&](int place, Vertex column, Dual cost) {
    made.columns[place] = column;
    made.entries[place] = cost;
  };
  team.each(length, [&](Count k) {
    const int place = made.offsets[k];
    if (k < n) put(place, m + static_cast<Vertex>(k), 2 * common);
    else put(place, static_cast<Vertex>(k - n), 0);
    made.next[k] = place + 1;
  });
  team.sync();
  each_cheaper([&](Vertex row, Vertex column, Dual cost) {
    put(team.fetch_add(&made.next[row], 1), column, cost);
    put(team.fetch_add(&made.next[static_cast<Count>(n) + column], 1), m + row, cost);
  });
}

// Halves of sums, rounded towards a dual that is too large or too small.
DEVICE long long half_below(long long sum) { return sum >> 1; }
DEVICE long long half_above(long long sum) { return (sum >> 1) + (sum & 1); }
DEVICE double half_below(double sum) { return 2 * (sum / 2) > sum ? nextafter(sum / 2, -beyond_all(sum)) : sum / 2; }
DEVICE double half_above(double sum) { return 2 * (sum / 2) < sum ? nextafter(sum / 2, beyond_all(sum)) : sum / 2; }

// A solution of n rows and m columns, or of the doubled problem.
template <class Dual>
struct PairsAndDuals {
  Vertex* row_match;
  Vertex* col_match;
  Dual* u;
  Dual* v;
};

// What threads note as they halve a solution. `numbers` and `largest` are zero before.
template <class Dual>
struct Halving {
  Vertex* free_rows;     // [n] rows that are matched with no cheaper pair
  Vertex* free_columns;  // [m]
  Vertex* numbers;       // [2] of free rows and of free columns
  Dual* largest;         // [2] magnitude of a dual of the doubled problem, and of a half
};

// The solution of the matrix, from a solution of the doubled problem in which all rows are matched. A dual is half the sum of two
// duals: of the row or column itself, and of its copy.
template <class Team, class Dual>
DEVICE void halve_few_pairs(Team& team, Vertex n, Vertex m, const PairsAndDuals<Dual>& doubled, const PairsAndDuals<Dual>& made,
                            const Halving<Dual>& halving) {
  const auto magnitude = [](Dual dual) { return dual < 0 ? -dual : dual; };
  Dual largest = 0, largest_half = 0;
  const auto note = [&](Dual own, Dual of_copy, Dual half) {
    largest = magnitude(own) > largest ? magnitude(own) : largest;
    largest = magnitude(of_copy) > largest ? magnitude(of_copy) : largest;
    largest_half = magnitude(half) > largest_half ? magnitude(half) : largest_half;
  };
  team.each(n, [&](Count i) {
    const Vertex row = static_cast<Vertex>(i), mate = doubled.row_match[row];
    const Dual own = doubled.u[row], of_copy = doubled.v[static_cast<Count>(m) + row], half = half_above(own + of_copy);
    made.u[row] = half;
    note(own, of_copy, half);
    if (mate != NONE && mate < m) made.row_match[row] = mate;
    else halving.free_rows[team.append(&halving.numbers[0])] = row;
  });
  team.each(m, [&](Count i) {
    const Vertex column = static_cast<Vertex>(i), mate = doubled.col_match[column];
    const Dual own = doubled.v[column], of_copy = doubled.u[static_cast<Count>(n) + column], sum = own + of_copy;
    const Dual half = half_below(sum < 0 ? sum : 0);  // above 0 only by rounding
    made.v[column] = half;
    note(own, of_copy, half);
    if (mate != NONE && mate < n) made.col_match[column] = mate;
    else halving.free_columns[team.append(&halving.numbers[1])] = column;
  });
  team.max_all(&halving.largest[0], largest);
  team.max_all(&halving.largest[1], largest_half);
  team.sync();
  const Vertex num_free = halving.numbers[0];
  team.each(halving.numbers[1], [&](Count k) {
    const Vertex column = halving.free_columns[k], row = k < num_free ? halving.free_rows[k] : NONE;
    made.col_match[column] = row;
    if (row != NONE) made.row_match[row] = column;
  });
}
