// tree_paths.hpp: the reverse and augmentation passes along the alternating trees of several ranks (Date and Nagi 2016).
#pragma once
#include <algorithm>
#include <vector>

#include "team/team.cuh"

// Alternating trees from the free rows of a matching. A column that is reached has a label and a predecessor, a row of its tree.
// Labels do not fall along a path.
template <class Dual>
struct PredecessorTrees {
  Vertex num_rows, num_columns;
  Vertex* row_match;           // [num_rows] NONE for free rows
  const Dual* label;           // [num_columns]
  const Vertex* predecessor;   // [num_columns] NONE for columns that are not reached
};

// The free columns up to a label, the nearest ones first.
template <class Dual>
std::vector<Vertex> free_columns_of(const PredecessorTrees<Dual>& trees, Dual most) {
  std::vector<char> is_matched(trees.num_columns, 0);
  for (Vertex row = 0; row < trees.num_rows; ++row) {
    if (trees.row_match[row] != NONE) is_matched[trees.row_match[row]] = 1;
  }
  std::vector<Vertex> free;
  for (Vertex column = 0; column < trees.num_columns; ++column) {
    if (!is_matched[column] && trees.predecessor[column] != NONE && trees.label[column] <= most) free.push_back(column);
  }
  std::stable_sort(free.begin(), free.end(), [&](Vertex a, Vertex b) { return trees.label[a] < trees.label[b]; });
  return free;
}

// The free row at the root of a column's tree. Rows on the way are noted, so that no row is walked along twice.
template <class Dual>
Vertex root_of(const PredecessorTrees<Dual>& trees, Vertex column, std::vector<Vertex>& roots) {
  Vertex root = trees.predecessor[column];
  while (roots[root] == NONE && trees.row_match[root] != NONE) root = trees.predecessor[trees.row_match[root]];
  if (roots[root] != NONE) root = roots[root];
  for (Vertex row = trees.predecessor[column]; roots[row] == NONE;) {
    roots[row] = root;
    if (trees.row_match[row] == NONE) break;
    row = trees.predecessor[trees.row_match[row]];
  }
  return root;
}

// Augments along one path of each tree, to its nearest free column with a label of at most theta. Returns theta. If free
// columns must keep their duals, theta is at most the label of the first column that is left free.
template <class Dual>
Dual augment_trees(const PredecessorTrees<Dual>& trees, Dual theta, bool free_keep_duals) {
  std::vector<Vertex> roots(trees.num_rows, NONE), ends;
  std::vector<char> is_taken(trees.num_rows, 0);
  for (const Vertex column : free_columns_of(trees, theta)) {
    if (trees.label[column] > theta) break;
    const Vertex root = root_of(trees, column, roots);
    if (!is_taken[root]) ends.push_back(column);
    else if (free_keep_duals) theta = trees.label[column];
    is_taken[root] = 1;
  }
  for (const Vertex end : ends) {
    for (Vertex column = end; column != NONE;) {
      const Vertex row = trees.predecessor[column];
      std::swap(column, trees.row_match[row]);
    }
  }
  return theta;
}
