// block_search.cpp: tests the claims of a search in blocks right after it, before another step looks at its duals.
//
//   g++ -std=c++17 -O1 -g -fsanitize=address -pthread -I gmatch/csrc tests/block_search.cpp -o block_search && ./block_search
//
// Costs and duals are whole numbers, so that all claims hold to the bit. No pair costs less than its duals. Matched pairs cost
// exactly their duals. Duals of columns have not risen, and free columns have kept their duals. Matched columns stay matched.
// Later steps repair errors of this search, so that no answer shows them.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "points/block_search.hpp"

static void expect(bool holds, const char* what, int instance, int threads) {
  if (holds) return;
  std::printf("%s: wrong in instance %d, by %d threads\n", what, instance, threads);
  std::exit(1);
}

// Each row has a few near columns and one far column. The first `first_copy` columns are originals, and their copies follow.
// A block holds originals and the copies beside them.
struct Core {
  Vertex size, first_copy;
  std::vector<Count> offsets{0};
  std::vector<Vertex> columns;
  std::vector<double> entries;

  Core(std::mt19937& random, Vertex size, Vertex first_copy, int reach) : size(size), first_copy(first_copy) {
    for (Vertex row = 0; row < size; ++row) {
      std::vector<Vertex> own;
      for (int k = 0; k < 6; ++k) {
        const int far = k == 5 ? size : reach;
        const Vertex column = (row + static_cast<Vertex>(random() % (2 * far + 1)) - far + 2 * size) % size;
        if (std::find(own.begin(), own.end(), column) == own.end()) own.push_back(column);
      }
      if (std::find(own.begin(), own.end(), row) == own.end()) own.push_back(row);  // so that all can be matched
      for (const Vertex column : own) {
        columns.push_back(column);
        entries.push_back(std::abs(row - column) + static_cast<double>(random() % 200));
      }
      offsets.push_back(static_cast<Count>(columns.size()));
    }
  }
  points::BlockSearch::Costs costs() const { return {size, size, offsets.data(), columns.data(), entries.data(), false}; }
};

struct Found {
  std::vector<Vertex> row_match, col_match;
  std::vector<double> u, v;
  bool all;

  bool operator==(const Found& other) const {
    return row_match == other.row_match && col_match == other.col_match && u == other.u && v == other.v && all == other.all;
  }
};

static Found search(const Core& core, const std::vector<double>& v, const std::vector<Vertex>* mates, int threads) {
  const auto size = static_cast<std::size_t>(core.size);
  Found found{std::vector<Vertex>(size), std::vector<Vertex>(size), std::vector<double>(size), v, false};
  SparseShortestPathCounters counters{};
  points::BlockSearch blocks(core.costs(), core.first_copy, v, threads);
  blocks.begin(mates, 0);
  found.all = blocks.match_most();
  blocks.write(found.row_match, found.col_match, found.u, found.v, counters);
  return found;
}

static Vertex check(const Core& core, const std::vector<double>& before, const Found& found, int instance, int threads) {
  Vertex matched = 0;
  for (Vertex row = 0; row < core.size; ++row) {
    const Vertex mate = found.row_match[row];
    if (mate == NONE) continue;
    ++matched;
    expect(found.col_match[mate] == row, "mates", instance, threads);
    bool is_tight = false;
    for (Count edge = core.offsets[row]; edge < core.offsets[row + 1]; ++edge) {
      const double slack = core.entries[edge] - found.u[row] - found.v[core.columns[edge]];
      expect(slack >= 0, "a pair that costs less than its duals", instance, threads);
      is_tight |= core.columns[edge] == mate && slack == 0;
    }
    expect(is_tight, "a matched pair that does not cost its duals", instance, threads);
  }
  for (Vertex column = 0; column < core.size; ++column) {
    const bool is_free = found.col_match[column] == NONE;
    if (!is_free) expect(found.row_match[found.col_match[column]] == column, "mates of columns", instance, threads);
    expect(found.v[column] <= before[column], "a dual that has risen", instance, threads);
    expect(!is_free || found.v[column] == before[column], "the dual of a free column", instance, threads);
  }
  expect(found.all == (matched == core.size), "whether all are matched", instance, threads);
  return matched;
}

int main() {
  std::mt19937 random(7);
  Vertex most = 0;
  for (int instance = 0; instance < 24; ++instance) {
    const Vertex size = 300 + static_cast<Vertex>(random() % 20000);
    const Vertex first_copy = instance % 3 == 0 ? size / 3 + 1 : size;
    const Core core(random, size, first_copy, instance % 2 ? 5 : 3000);
    std::vector<double> v(size);
    for (double& dual : v) dual = -static_cast<double>(random() % 100);
    const Found once = search(core, v, nullptr, 1);
    const Vertex matched = check(core, v, once, instance, 1);
    most = std::max(most, matched * 100 / size);
    for (int threads = 2; threads <= 3; ++threads) {
      expect(search(core, v, nullptr, threads) == once, "what several threads find", instance, threads);
    }
    // The pairs are kept if the duals stay, and columns that they match stay matched if some duals fall.
    const Found again = search(core, once.v, &once.row_match, 2);
    check(core, once.v, again, instance, 2);
    for (Vertex column = 0; column < size; ++column) {
      expect(once.col_match[column] == NONE || again.col_match[column] != NONE, "a column that was matched", instance, 2);
    }
    std::vector<double> fallen = once.v;
    for (int k = 0; k < 50; ++k) fallen[random() % fallen.size()] -= 30;
    check(core, fallen, search(core, fallen, &once.row_match, 2), instance, 2);
  }
  expect(most > 90, "how many rows a search matches", 24, 1);
  std::printf("searches in blocks: right\n");
}
