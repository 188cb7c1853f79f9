// races.cpp: every forest and every start with many threads, under ThreadSanitizer.
//
//   g++ -std=c++17 -O1 -g -fsanitize=thread -pthread -I gmatch/csrc tests/races.cpp -o races && ./races
//
// ThreadSanitizer stops the program at the first data race; the sizes are compared with Kuhn's algorithm.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "programs.cuh"

struct Graph {
  Vertex rows, columns;
  std::vector<int> offsets, indices;
};

// Few columns and duplicate entries, so that threads meet.
static Graph random_graph(std::mt19937& random, int largest) {
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

static bool augment(const Graph& graph, Vertex row, std::vector<int>& mate, std::vector<char>& seen) {
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

static Count kuhn(const Graph& graph) {
  std::vector<int> mate(graph.columns, NONE);
  Count size = 0;
  for (Vertex row = 0; row < graph.rows; ++row) {
    std::vector<char> seen(graph.columns, 0);
    size += augment(graph, row, mate, seen);
  }
  return size;
}

template <class Forest>
static Count solve(const Graph& graph, Start start, bool shortest_only, int threads) {
  using Edges = CsrEdges<int, int>;
  const Edges edges{graph.rows, graph.columns, graph.offsets.data(), graph.indices.data()};
  const Vertex phases = std::min(graph.rows, graph.columns) + 1;
  std::vector<Vertex> row_match(graph.rows), col_match(graph.columns), levels(phases), augmentations(phases);
  std::vector<unsigned char> reached(graph.columns);
  Progress progress{};
  Report report{};
  Task task{{graph.rows, graph.columns, row_match.data(), col_match.data()},
            reached.data(),
            {levels.data(), augmentations.data()},
            nullptr,
            &progress,
            &report,
            start,
            shortest_only};
  std::vector<char> workspace(workspace_size<Forest, Edges>(start, task.matching, edges.num_edges()));
  task.workspace = workspace.data();
  Barrier barrier(threads);
  std::vector<std::thread> team;
  for (int rank = 0; rank < threads; ++rank) {
    team.emplace_back([&, rank] {
      HostTeam member(rank, threads, &barrier);
      match_cardinality<Forest>(member, edges, task);
    });
  }
  for (std::thread& thread : team) thread.join();
  return report.size;
}

template <class Forest>
static void check(const Graph& graph, const char* name) {
  const Count size = kuhn(graph);
  for (const Start start : {Start::none, Start::cheap, Start::shuffled, Start::karp_sipser, Start::automatic}) {
    for (const bool shortest_only : {false, true}) {
      for (const int threads : {2, 8}) {
        const Count found = solve<Forest>(graph, start, shortest_only, threads);
        if (found == size) continue;
        std::printf("%s: start %d, shortest_only %d, %d threads: size %lld, not %lld\n", name, static_cast<int>(start),
                    shortest_only, threads, found, size);
        std::exit(1);
      }
    }
  }
}

int main() {
  std::mt19937 random(1);
  int graphs = 0;
  for (const int largest : {12, 12, 12, 12, 12, 12, 12, 12, 60, 60, 300, 300, 1500}) {
    const Graph graph = random_graph(random, largest);
    check<SpeculativeForest<false>>(graph, "speculative");
    check<SpeculativeForest<true>>(graph, "speculative with roots");
    check<ClaimedForest<false>>(graph, "claimed");
    check<ClaimedForest<true>>(graph, "claimed with roots");
    ++graphs;
  }
  std::printf("%d graphs, no race, every size right\n", graphs);
}
