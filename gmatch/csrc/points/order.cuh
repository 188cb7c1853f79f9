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
  DEVICE Count of_place(Count place) const { return place / size_of_group * num_nodes / num_groups(); }
  // Where a node begins.
  DEVICE Count begin_of(Count node) const {
    const Count place = (node * num_groups() + num_nodes - 1) / num_nodes * size_of_group;
    return place < num_points ? place : num_points;
  }
};

// A node looks at no more than SEEN of its points, at equal distances, to find the coordinate in which it reaches farthest. One
// lane group looks at a node, so the first nodes would take longest.
constexpr Count SEEN = 1024;

// Writes two keys for each place of the order: the coordinate of its point in which its node reaches farthest, and behind these
// the number of its node. The order is to be sorted by the number first. `widest` [num_nodes] is memory.
template <class Team>
DEVICE void find_keys_of_nodes(Team& team, const double* points, int dimension, const NodesOfTree& nodes, const Count* order,
                               int* widest, double* keys) {
  team.each_group_apart(nodes.num_nodes, [&](Count node) {
    const Count begin = nodes.begin_of(node), end = nodes.begin_of(node + 1), step = (end - begin + SEEN - 1) / SEEN;
    double farthest = -1;
    int found = 0;
    for (int k = 0; k < dimension; ++k) {
      double least = points[order[begin] * dimension + k], minus_most = -least;
      for (Count place = begin + team.lane() * step; place < end; place += team.lanes() * step) {
        const double here = points[order[place] * dimension + k];
        least = here < least ? here : least;
        minus_most = -here < minus_most ? -here : minus_most;
      }
      const double reach = -team.min_group(minus_most) - team.min_group(least);
      found = reach > farthest ? k : found;
      farthest = reach > farthest ? reach : farthest;
    }
    if (team.lane() == 0) widest[node] = found;
  });
  team.sync();
  team.each(nodes.num_points, [&](Count place) {
    const Count node = nodes.of_place(place);
    keys[place] = points[order[place] * dimension + widest[node]];
    keys[nodes.num_points + place] = static_cast<double>(node);
  });
}

// The order after it was sorted: `sorted` are the places of the old one.
template <class Team>
DEVICE void take_places(Team& team, const Count* order, const Count* sorted, Count num_points, Count* taken) {
  team.each(num_points, [&](Count place) { taken[place] = order[sorted[place]]; });
}
