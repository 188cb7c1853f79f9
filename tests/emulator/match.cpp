// match.cpp: match_grid and match_block, for one FOREST and one type of EDGES, on random graphs.
#include <algorithm>
#include <numeric>

#include "fuzz.h"

#include "../graphs.h"

// Some edges of the graph, no two of a row or a column.
static std::vector<Vertex> draw_matching(Random& random, const Graph& graph) {
  std::vector<Vertex> row_match(graph.rows, NONE);
  std::vector<char> taken(graph.columns, 0);
  for (Vertex row = 0; row < graph.rows; ++row) {
    const int degree = graph.offsets[row + 1] - graph.offsets[row];
    if (degree == 0) continue;
    const Vertex column = graph.indices[graph.offsets[row] + random() % degree];
    if (taken[column]) continue;
    taken[column] = 1;
    row_match[row] = column;
  }
  return row_match;
}

// As the programs take it.
struct Arrays {
  std::vector<Pointee<decltype(EDGES::offsets)>> offsets;
  std::vector<Pointee<decltype(EDGES::columns)>> columns;

  explicit Arrays(const Graph& graph)
      : offsets(graph.offsets.begin(), graph.offsets.end()), columns(graph.indices.begin(), graph.indices.end()) {}
  EDGES edges(const Graph& graph) const { return {graph.rows, graph.columns, offsets.data(), columns.data()}; }
};

struct Answer {
  std::vector<Vertex> row_match, col_match;
  std::vector<unsigned char> reached;
  Count size;
};

static bool has_edge(const Graph& graph, Vertex row, Vertex column) {
  const auto begin = graph.indices.begin() + graph.offsets[row], end = graph.indices.begin() + graph.offsets[row + 1];
  return std::find(begin, end, column) != end;
}

static std::string judge(const Graph& graph, const Answer& answer) {
  Count size = 0, mates = 0;
  for (Vertex row = 0; row < graph.rows; ++row) {
    const Vertex column = answer.row_match[row];
    if (column == NONE) continue;
    ++size;
    if (column < 0 || column >= graph.columns || !has_edge(graph, row, column)) return "a pair that is no edge";
    if (answer.col_match[column] != row) return "the sides of the matching disagree";
  }
  for (const Vertex row : answer.col_match) mates += row != NONE;
  if (mates != size) return "a column whose mate has another";
  if (answer.size != size) return "the report's size is not that of the matching";
  const Count most = kuhn(graph);
  if (size != most) return "size " + std::to_string(size) + ", not " + std::to_string(most);
  // The proof: from free rows, and from mates of reached columns, no edge leads to a column that is not reached.
  for (Vertex row = 0; row < graph.rows; ++row) {
    if (answer.row_match[row] != NONE && !answer.reached[answer.row_match[row]]) continue;
    for (int edge = graph.offsets[row]; edge < graph.offsets[row + 1]; ++edge) {
      if (!answer.reached[graph.indices[edge]]) return "a column that the last forest should have reached";
    }
  }
  return "";
}

// Makes a matching what one of an earlier graph may be, or worse.
static void spoil(Random& random, const Graph& graph, std::vector<Vertex>& row_match) {
  for (Vertex& mate : row_match) {
    if (random() % 3 == 0) mate = static_cast<Vertex>(random() % 3 == 0 ? random() : random() % (graph.columns + 2));
  }
}

// How many rows of a spoilt matching can keep their column.
static Count keepable(const Graph& graph, const std::vector<Vertex>& row_match) {
  std::vector<char> kept(graph.columns, 0);
  for (Vertex row = 0; row < graph.rows; ++row) {
    const auto begin = graph.indices.begin() + graph.offsets[row], end = graph.indices.begin() + graph.offsets[row + 1];
    if (row_match[row] != NONE && std::find(begin, end, row_match[row]) != end) kept[row_match[row]] = 1;
  }
  return std::count(kept.begin(), kept.end(), 1);
}

static bool is_diagonal(const Graph& graph) {
  std::vector<Vertex> sorted(graph.indices.begin(), graph.indices.end());
  std::sort(sorted.begin(), sorted.end());
  for (Vertex row = 0; row < graph.rows; ++row) {
    if (graph.offsets[row + 1] != row + 1 || sorted[row] != row) return false;
  }
  return true;
}

static std::string match(Random& random, const Graph& graph) {
  constexpr int STARTS = 8;
  const auto start = static_cast<Start>(random() % STARTS);
  const bool shortest_only = random() % 2, one_block = random() % 3 == 0;
  const auto launch = draw_launch(random, one_block);
  emulator::instance += ", start " + std::to_string(static_cast<int>(start)) + (shortest_only ? ", shortest" : "") +
                        ", " + name_of(launch);

  std::vector<Vertex> given = draw_matching(random, graph);
  if (start != Start::given) spoil(random, graph, given);
  Answer answer{given, std::vector<Vertex>(graph.columns, 777),
                std::vector<unsigned char>(graph.columns, 9), 0};
  std::vector<Vertex> levels(std::min(graph.rows, graph.columns) + 1), augmentations(levels);
  const Matching shape{graph.rows, graph.columns, nullptr, nullptr};
  const Noise workspace(random, workspace_size<FOREST, EDGES>(start, shape, graph.indices.size()));
  Progress progress{};
  Report report{};
  const Arrays arrays(graph);
  const Task task{{graph.rows, graph.columns, answer.row_match.data(), answer.col_match.data()},
                  answer.reached.data(),
                  {levels.data(), augmentations.data()},
                  workspace.data(),
                  &progress,
                  &report,
                  start,
                  shortest_only};
  emulator::launch(launch, [&] {
    (one_block ? match_block : match_grid)(arrays.edges(graph), task, arrivals);
  });
  answer.size = report.size;
  if (start == Start::earlier) {
    const Count matched = graph.rows - std::count(given.begin(), given.end(), NONE);
    if (report.start_size != keepable(graph, given)) return "a start that keeps too many pairs, or too few";
    if (report.dropped != matched - report.start_size) return "pairs dropped that are not counted";
  }
  const auto phases = augmentations.begin() + report.phases;
  if (std::accumulate(augmentations.begin(), phases, Count{0}) != report.size - report.start_size) {
    return "augmentations that do not add up";
  }
  if (is_diagonal(graph) && report.phases > 2) return "paths that a phase found and did not flip";
  return judge(graph, answer);
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 500, [](Random& random) {
    const int kind = random() % 16;
    const Graph graph = kind < 2    ? permuted_staircase(random, 2 + random() % 12)
                        : kind == 2 ? permuted_diagonal(random, 1 + random() % 60)
                                    : random_graph(random, kind < 6 ? 60 : 20);
    emulator::instance += ": " + std::to_string(graph.rows) + " x " + std::to_string(graph.columns) +
                          (kind < 2 ? " staircase" : kind == 2 ? " diagonal" : " graph");
    return match(random, graph);
  });
}
