// graphs.h: random graphs, and how many of their rows can be matched, by Kuhn's algorithm.
#pragma once
#include <algorithm>
#include <vector>

#include "team/team.cuh"

struct Graph {
  Vertex rows, columns;
  std::vector<int> offsets, indices;
};

// Few columns and duplicate entries, so that threads meet.
template <class Random>
Graph random_graph(Random& random, int largest) {
  Graph graph;
  graph.rows = random() % (largest + 1);
  graph.columns = random() % (largest + 1);
  graph.offsets.push_back(0);
  for (Vertex row = 0; row < graph.rows; ++row) {
    const int degree = graph.columns == 0 ? 0 : random() % 5;
    for (int i = 0; i < degree; ++i) graph.indices.push_back(random() % graph.columns);
    graph.offsets.push_back(static_cast<int>(graph.indices.size()));
  }
  return graph;
}

// As many edges as rows, and no two of them meet: from no matching, the first phase finds a path from every row.
template <class Random>
Graph permuted_diagonal(Random& random, Vertex rows) {
  Graph graph{rows, rows, {0}, {}};
  for (Vertex row = 0; row < rows; ++row) {
    graph.indices.push_back(row);
    graph.offsets.push_back(row + 1);
  }
  std::shuffle(graph.indices.begin(), graph.indices.end(), random);
  return graph;
}

// Row i has the first columns of a random order, up to i, in random order. Neither search makes progress, so there are many
// turns.
template <class Random>
Graph permuted_staircase(Random& random, Vertex steps) {
  std::vector<Vertex> lengths(steps), order(steps);
  for (Vertex i = 0; i < steps; ++i) lengths[i] = 1 + (order[i] = i);
  std::shuffle(lengths.begin(), lengths.end(), random);
  std::shuffle(order.begin(), order.end(), random);
  Graph graph{steps, steps, {0}, {}};
  for (const Vertex length : lengths) {
    std::vector<Vertex> columns(order.begin(), order.begin() + length);
    std::shuffle(columns.begin(), columns.end(), random);
    graph.indices.insert(graph.indices.end(), columns.begin(), columns.end());
    graph.offsets.push_back(static_cast<int>(graph.indices.size()));
  }
  return graph;
}

inline bool augment(const Graph& graph, Vertex row, std::vector<int>& mate, std::vector<char>& seen) {
  for (int edge = graph.offsets[row]; edge < graph.offsets[row + 1]; ++edge) {
    const int column = graph.indices[edge];
    if (seen[column]) continue;
    seen[column] = 1;
    if (mate[column] == NONE || augment(graph, mate[column], mate, seen)) {
      mate[column] = row;
      return true;
    }
  }
  return false;
}

inline Count kuhn(const Graph& graph) {
  std::vector<int> mate(graph.columns, NONE);
  Count size = 0;
  for (Vertex row = 0; row < graph.rows; ++row) {
    std::vector<char> seen(graph.columns, 0);
    size += augment(graph, row, mate, seen);
  }
  return size;
}
