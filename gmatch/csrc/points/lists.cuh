// lists.cuh: lists of pairs in the memory of a GPU. A pair is its place, row * num_columns + column. Lists are increasing.
#pragma once
#include "costs/inspection.cuh"

// How many numbers of an increasing list are less than x.
DEVICE Count number_less(const Count* list, Count length, Count x) {
  Count begin = 0;
  while (length > 0) {
    const Count half = length / 2;
    const bool is_less = list[begin + half] < x;
    begin = is_less ? begin + half + 1 : begin;
    length = is_less ? length - half - 1 : half;
  }
  return begin;
}
DEVICE bool is_in(const Count* list, Count length, Count x) {
  const Count at = number_less(list, length, x);
  return at < length && list[at] == x;
}

// Pairs, and what they cost; or pairs alone, without costs.
struct PairList {
  const Count* places;
  const double* costs;  // or null
  Count length;
};

// The most shares of a list that are counted apart: about as many as a GPU has lane groups.
constexpr Count MOST_SHARES = 2048;

// Merges two lists. A pair of both, or a pair that is in the second one twice, comes once. `fresh` [second.length] and `counts`
// [MOST_SHARES] are memory to work in. `number` is how many pairs there are.
template <class Team>
DEVICE void merge_pairs(Team& team, const PairList& first, const PairList& second, const PairList& merged, Count* fresh,
                        Count* counts, Count* number) {
  static_assert(Team::LANES == 32, "all lanes of a group vote");
  Count* const places = const_cast<Count*>(merged.places);
  double* const costs = const_cast<double*>(merged.costs);
  const Count share = ((second.length + MOST_SHARES - 1) / MOST_SHARES + 31) / 32 * 32;
  const Count shares = second.length == 0 ? 1 : (second.length + share - 1) / share;
  const auto is_fresh = [&](Count i) {
    if (i >= second.length || (i > 0 && second.places[i - 1] == second.places[i])) return false;
    return !is_in(first.places, first.length, second.places[i]);
  };
  const auto each_of_share = [&](Count number_of_share, auto use) {
    const Count begin = number_of_share * share, end = begin + share < second.length ? begin + share : second.length;
    for (Count i = begin; i < end; i += 32) {
      const bool mine = is_fresh(i + team.lane());
      use(i + team.lane(), mine, team.vote(mine));
    }
  };
  team.each_group(shares, [&](Count number_of_share) {
    Count found = 0;
    each_of_share(number_of_share, [&](Count, bool, unsigned votes) { found += team.count(votes); });
    if (team.lane() == 0) counts[number_of_share] = found;
  });
  team.sync();
  team.each_group(shares, [&](Count number_of_share) {
    Count before = 0;
    for (Count i = 0; i < number_of_share; ++i) before += counts[i];
    each_of_share(number_of_share, [&](Count i, bool mine, unsigned votes) {
      const Count own = before + team.count(votes & ((1u << team.lane()) - 1));
      before += team.count(votes);
      if (!mine) return;
      fresh[own] = second.places[i];
      const Count at = own + number_less(first.places, first.length, second.places[i]);
      places[at] = second.places[i];
      if (costs != nullptr) costs[at] = second.costs[i];
    });
    if (number_of_share == shares - 1 && team.lane() == 0) *number = first.length + before;
  });
  team.sync();
  const Count num_fresh = *number - first.length;
  team.each(first.length, [&](Count i) {
    const Count at = i + number_less(fresh, num_fresh, first.places[i]);
    places[at] = first.places[i];
    if (costs != nullptr) costs[at] = first.costs[i];
  });
}

// Compressed sparse rows of a list: where each row begins, the columns, and what pairs cost less the v of their columns, if
// there are v. `range` [2] gets the order of the least of these, and of minus the largest. It holds the order of inf before.
template <class Team, class Offset>
DEVICE void make_rows(Team& team, const PairList& list, Count num_rows, Count num_columns, const double* v, Offset* offsets,
                      Vertex* columns, double* above, Count* range) {
  team.each(num_rows + 1, [&](Count row) {
    offsets[row] = static_cast<Offset>(number_less(list.places, list.length, row * num_columns));
  });
  double least = beyond_all(double{}), most = -beyond_all(double{});
  team.each(list.length, [&](Count i) {
    columns[i] = static_cast<Vertex>(list.places[i] % num_columns);
    if (v == nullptr) return;
    const double here = list.costs[i] - v[columns[i]];
    above[i] = here;
    least = here < least ? here : least;
    most = here > most ? here : most;
  });
  if (v == nullptr) return;
  team.min_all(&range[0], order_of(least));
  team.min_all(&range[1], order_of(-most));
}

// How many rows have their pair of least cost - v, among the pairs of a list, outside another list. Pairs of equal cost - v
// tie: one of them in the other list is enough.
template <class Team>
DEVICE void count_unknown(Team& team, const PairList& list, const double* v, Count num_rows, Count num_columns,
                          const Count* known, Count num_known, Count* number) {
  Count mine = 0;
  team.each_group(num_rows, [&](Count row) {
    const Count begin = number_less(list.places, list.length, row * num_columns);
    const Count end = number_less(list.places, list.length, (row + 1) * num_columns);
    double least = beyond_all(double{});
    const auto reduced = [&](Count i) { return list.costs[i] - v[list.places[i] % num_columns]; };
    for (Count i = begin + team.lane(); i < end; i += team.lanes()) {
      const double here = reduced(i);
      least = here < least ? here : least;
    }
    least = team.min_group(least);
    bool is_known = false;
    for (Count i = begin + team.lane(); i < end; i += team.lanes()) {
      is_known = is_known || (reduced(i) == least && is_in(known, num_known, list.places[i]));
    }
    if (team.vote(is_known) == 0 && team.lane() == 0) ++mine;
  });
  team.add_all(number, mine);
}

// The least cost - v of each row among the pairs of a list; inf for a row without pairs. Null stands for v = 0.
template <class Team>
DEVICE void find_least_of_lists(Team& team, const PairList& list, const double* v, Count num_rows, Count num_columns,
                                double* least_of_rows) {
  team.each_group(num_rows, [&](Count row) {
    const Count begin = number_less(list.places, list.length, row * num_columns);
    const Count end = number_less(list.places, list.length, (row + 1) * num_columns);
    double least = beyond_all(double{});
    for (Count i = begin + team.lane(); i < end; i += team.lanes()) {
      const double here = v == nullptr ? list.costs[i] : list.costs[i] - v[list.places[i] % num_columns];
      least = here < least ? here : least;
    }
    least = team.min_group(least);
    if (team.lane() == 0) least_of_rows[row] = least;
  });
}

// The pairs of lists of columns, in any order. Each row has a list with room for `most`, which holds sizes[row] columns.
// `number` is 0 before.
template <class Team>
DEVICE void place_pairs(Team& team, const Vertex* sizes, const Vertex* columns, Count num_rows, Count most, Count first_row,
                        Count num_columns, Count* places, Count* number) {
  team.each_group(num_rows, [&](Count row) {
    Count begin = 0;
    if (team.lane() == 0) begin = team.fetch_add(number, Count{sizes[row]});
    begin = -team.min_group(-begin);
    for (Count k = team.lane(); k < sizes[row]; k += team.lanes()) {
      places[begin + k] = (first_row + row) * num_columns + columns[row * most + k];
    }
  });
}

// Pairs of some rows, with rows and columns in each other's place, in any order. The given pairs have `first_row` as number 0.
template <class Team>
DEVICE void turn_pairs(Team& team, const Count* places, Count length, Count first_row, Count num_rows, Count num_columns,
                       Count* turned) {
  team.each(length, [&](Count i) {
    turned[i] = places[i] % num_columns * num_rows + places[i] / num_columns + first_row;
  });
}

// Copies rows of an array, by their numbers. A row has `words` words of 4 bytes.
template <class Team>
DEVICE void copy_rows(Team& team, const unsigned* from, Count words, const Vertex* rows, Count num_rows, unsigned* to) {
  team.each_group(num_rows, [&](Count row) {
    const unsigned* own = from + Count{rows[row]} * words;
    for (Count k = team.lane(); k < words; k += team.lanes()) to[row * words + k] = own[k];
  });
}
