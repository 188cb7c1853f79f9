// hidden.cuh: when the rounding of duals hides what pairs cost. See costs/magnitudes.hpp.
#pragma once
#include "team/team.cuh"

// How much larger than a cost, for each row, a dual must be to hide it. Costs that are all of one kind stay below: of
// uniform costs one in a thousand is smaller than the largest dual by a factor of the number of rows. 32 to
// 8,192 are as fast: benchmarks/log/sentinels.md, "Thresholds measured again".
constexpr double HIDES = 512;
// The share that must be hidden of the pairs that cost neither nothing nor the most. One is enough if at least half of
// the pairs cost the most. 1 in 2 to 1 in 32 are as fast.
constexpr Count HIDDEN_SHARE = 8;

// Whether too many pairs are hidden, of `rows` pairs. `greatest` counts the pairs that cost at least half as much as the most
// expensive pair, and `nothing` counts the pairs that cost nothing. One hidden pair is too many if the next more expensive pair
// stands for "not": see stands_for_not.
DEVICE bool too_many_hidden(Count rows, Count hidden, Count greatest, Count nothing) {
  return hidden * HIDDEN_SHARE > rows - greatest - nothing || (hidden > 0 && greatest * 2 >= rows);
}
// Whether a magnitude leaves room for all pairs that cost no more than `below`. ROOM is the one of gmatch/problems/splits.py.
DEVICE bool stands_for_not(double magnitude, double below, Count rows) {
  constexpr double ROOM = 32;
  return magnitude > ROOM * (rows + 1.0) * below;
}
