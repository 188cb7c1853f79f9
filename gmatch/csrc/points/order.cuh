// order.cuh: an order of points on a GPU in which the points of each group are near each other.
//
// A tree halves the points along the coordinate in which they reach farthest, until its leaves are groups. A node is points that
// follow one another in the order. Between two levels a library sorts each node by the keys that are written here.
#pragma once
#include "team/team.cuh"

// The groups of points that follow one another, and how many nodes share them.
struct NodesOfTree {
  Count num_points, size_of_group, num_nodes;

  DEVICE Count num_groups() const { return (num_points + size_of_group - 1) / size_of_group; }
  // Where a node begins.
  DEVICE Count begin_of(Count node) const {
    const Count place = (node * num_groups() + num_nodes - 1) / num_nodes * size_of_group;
    return place < num_points ? place : num_points;
  }
};

// Writes two keys for each place of the order, by which it is to be sorted: the number of its node, and behind these the
// coordinate of its point in which the node reaches farthest.
template <class Team>
DEVICE void find_keys_of_nodes(Team& team, const double* points, int dimension, const NodesOfTree& nodes, const Count* order,
                               double* keys) {
  team.each_group_apart(nodes.num_nodes, [&](Count node) {
    const Count begin = nodes.begin_of(node), end = nodes.begin_of(node + 1);
    double farthest = -1;
    int widest = 0;
    for (int k = 0; k < dimension; ++k) {
      double least = points[order[begin] * dimension + k], minus_most = -least;
      for (Count place = begin + team.lane(); place < end; place += team.lanes()) {
        const double here = points[order[place] * dimension + k];
        least = here < least ? here : least;
        minus_most = -here < minus_most ? -here : minus_most;
      }
      const double reach = -team.min_group(minus_most) - team.min_group(least);
      widest = reach > farthest ? k : widest;
      farthest = reach > farthest ? reach : farthest;
    }
    for (Count place = begin + team.lane(); place < end; place += team.lanes()) {
      keys[place] = points[order[place] * dimension + widest];
      keys[nodes.num_points + place] = static_cast<double>(node);
    }
  });
}

// The order after it was sorted: `sorted` are the places of the old one.
template <class Team>
DEVICE void take_places(Team& team, const Count* order, const Count* sorted, Count num_points, Count* taken) {
  team.each(num_points, [&](Count place) { taken[place] = order[sorted[place]]; });
}
