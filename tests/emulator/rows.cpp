// rows.cpp: inspect_grid, count_unsorted_grid and find_entries_grid, for one type of EDGES, with ROW_LANES threads for a row.
#include <algorithm>
#include <vector>

#include "fuzz.h"

struct Rows {
  Vertex columns;
  std::vector<Pointee<decltype(EDGES::offsets)>> offsets{0};
  std::vector<Pointee<decltype(EDGES::columns)>> indices;

  Vertex rows() const { return static_cast<Vertex>(offsets.size()) - 1; }
  EDGES edges() const { return {rows(), columns, offsets.data(), indices.data()}; }
};

// Draws rows of any lengths, most of them sorted. An unsorted row may have a column twice.
static Rows draw_rows(Random& random) {
  constexpr int MOST_ROWS = 60, MOST_COLUMNS = 90;
  Rows drawn{static_cast<Vertex>(1 + random() % MOST_COLUMNS)};
  const int rows = random() % MOST_ROWS, one_in = 1 + random() % 8;
  for (int row = 0; row < rows; ++row) {
    const auto begin = drawn.indices.size();
    for (Vertex column = 0; column < drawn.columns; ++column) {
      if (random() % one_in == 0) drawn.indices.push_back(column);
    }
    if (random() % 8 == 0) std::shuffle(drawn.indices.begin() + begin, drawn.indices.end(), random);
    if (random() % 16 == 0 && drawn.indices.size() > begin) drawn.indices.push_back(drawn.indices.back());
    drawn.offsets.push_back(static_cast<Pointee<decltype(EDGES::offsets)>>(drawn.indices.size()));
  }
  return drawn;
}

// Inspects rows that may be spoilt: by entries that name no column, and by a row that ends before it begins.
static std::string inspect(Random& random, Rows rows) {
  Count bad_columns = 0, falling_offsets = 0;
  for (auto& column : rows.indices) {
    if (random() % 20 != 0) continue;
    column = random() % 2 == 0 ? -1 : rows.columns;
    ++bad_columns;
  }
  if (rows.rows() > 1 && random() % 4 == 0) rows.offsets[1 + random() % (rows.rows() - 1)] = -1;
  for (Vertex row = 0; row < rows.rows(); ++row) falling_offsets += rows.offsets[row + 1] < rows.offsets[row];
  if (falling_offsets > 0) bad_columns = 0;  // they are not counted then
  Inspection found{};
  emulator::launch(draw_launch(random), [&] {
    inspect_grid(rows.edges(), rows.indices.size(), &found, arrivals);
  });
  if (found.falling_offsets != falling_offsets) return "an inspection that miscounts offsets";
  if (found.bad_columns != bad_columns) return "an inspection that miscounts columns";
  return found.last_offset == rows.offsets.back() ? "" : "an inspection with another last offset";
}

static std::string count(Random& random, const Rows& rows) {
  Count found = 0, unsorted = 0;
  for (Vertex row = 0; row < rows.rows(); ++row) {
    for (auto entry = rows.offsets[row] + 1; entry < rows.offsets[row + 1]; ++entry) {
      unsorted += rows.indices[entry] <= rows.indices[entry - 1];
    }
  }
  emulator::launch(draw_launch(random), [&] { count_unsorted_grid(rows.edges(), &found, arrivals); });
  return found == unsorted ? "" : std::to_string(found) + " unsorted entries, not " + std::to_string(unsorted);
}

// If a row has several entries in a column, any of them is right.
static std::string find(Random& random, const Rows& rows) {
  std::vector<Vertex> wanted(rows.rows());
  for (Vertex& column : wanted) column = random() % 4 == 0 ? NONE : static_cast<Vertex>(random() % rows.columns);
  std::vector<Count> places(rows.rows(), 77);
  emulator::launch(draw_launch(random), [&] {
    find_entries_grid(rows.edges(), wanted.data(), places.data(), arrivals);
  });
  for (Vertex row = 0; row < rows.rows(); ++row) {
    const auto begin = rows.indices.begin() + rows.offsets[row], end = rows.indices.begin() + rows.offsets[row + 1];
    const bool is_stored = std::find(begin, end, wanted[row]) != end, is_found = places[row] != NONE;
    if (is_stored != is_found) return is_stored ? "a pair that is stored, and not found" : "a pair that is not stored";
    if (!is_found) continue;
    const bool is_of_row = rows.offsets[row] <= places[row] && places[row] < rows.offsets[row + 1];
    if (!is_of_row || rows.indices[places[row]] != wanted[row]) return "the place of another pair";
  }
  return "";
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 500, [](Random& random) {
    const Rows rows = draw_rows(random);
    emulator::instance += ": " + std::to_string(rows.rows()) + " x " + std::to_string(rows.columns) + ", " +
                          std::to_string(rows.indices.size()) + " entries";
    for (const auto look : {count, find}) {
      const std::string wrong = look(random, rows);
      if (!wrong.empty()) return wrong;
    }
    return inspect(random, rows);
  });
}
