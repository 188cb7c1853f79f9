// sums.cuh: sums over the lanes of a group.
#pragma once
#include "team/team.cuh"

// The sum of a number of each lane, added up in one order on all of them. `sums` is memory for a number of each lane.
template <class Team>
DEVICE double sum_of_group(const Team& team, double* sums, double mine) {
  sums[team.lane()] = mine;
  team.sync_group();
  double sum = 0;
  for (int lane = 0; lane < team.lanes(); ++lane) sum += sums[lane];
  team.sync_group();
  return sum;
}
