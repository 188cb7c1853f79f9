// first_assignment.hpp: the first one of several cheapest assignments, on one core; see gmatch/assignment/ties.py.
//
// The input is pairs that tie, and an assignment along some of them. Rows are vertices, with an edge from each to the mates of
// its columns. All free rows and columns are one more vertex, with edges to the rows whose columns may stay free. A row may take
// another column if a path leads from the mate of that column back to the row: along the path each vertex takes the column of
// the next one. So each row takes the first column that it may take. Then row and column are settled, and leave the graph.
//
// A path is searched from both ends. The end with fewer vertices to go on from goes on. One end stays while a row is settled, so
// what was found from it serves the next search, too. What was found in vain from other ends is not searched again.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "serial/exact/bit_rows.hpp"
#include "serial/rows/short_vector.hpp"
#include "team/interrupt.hpp"

// Pairs as bits, by rows and by columns. A function that is called for pairs returns true if it needs no more pairs.
class PairsInBits {
 public:
  PairsInBits(const BitRows& by_rows, BitRows by_columns) : by_rows_(by_rows), by_columns_(std::move(by_columns)) {}

  bool has(Vertex row, Vertex column) const { return by_rows_.has(row, column); }
  template <class Function>
  bool any_of_row(Vertex row, const Marks* among, const Function& function) const {
    return BitRows::any_in(by_rows_.row(row), among, by_rows_.words(), function);
  }
  template <class Function>
  bool any_of_column(Vertex column, const Marks* among, const Function& function) const {
    return BitRows::any_in(by_columns_.row(column), among, by_columns_.words(), function);
  }

 private:
  const BitRows& by_rows_;
  const BitRows by_columns_;
};

// Lists of pairs, by rows and by columns.
class PairsInLists {
 public:
  PairsInLists(Vertex num_rows, Vertex num_columns, const std::vector<Vertex>& rows, const std::vector<Vertex>& columns)
      : by_columns_(num_columns, columns, rows), by_rows_(num_rows, by_columns_.ends, by_columns_.owners()) {
    // Columns of a row rise, and so do rows of a column, since a list keeps the order of what it is made of.
    by_columns_ = List(num_columns, by_rows_.ends, by_rows_.owners());
  }

  bool has(Vertex row, Vertex column) const {
    return std::binary_search(by_rows_.begin(row), by_rows_.end(row), column);
  }
  template <class Function>
  bool any_of_row(Vertex row, const Marks* among, const Function& function) const {
    return by_rows_.any_of(row, among, function);
  }
  template <class Function>
  bool any_of_column(Vertex column, const Marks* among, const Function& function) const {
    return by_columns_.any_of(column, among, function);
  }

 private:
  struct List {
    std::vector<Count> offsets;
    std::vector<Vertex> ends;

    List(Vertex size, const std::vector<Vertex>& begins_of, const std::vector<Vertex>& ends_of)
        : offsets(Count{size} + 1), ends(ends_of.size()) {
      for (const Vertex begin : begins_of) ++offsets[begin + 1];
      std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
      std::vector<Count> next(offsets.begin(), offsets.end() - 1);
      for (std::size_t k = 0; k < ends_of.size(); ++k) ends[next[begins_of[k]]++] = ends_of[k];
    }
    std::vector<Vertex> owners() const {
      std::vector<Vertex> found;
      found.reserve(ends.size());
      for (std::size_t one = 0; one + 1 < offsets.size(); ++one) {
        found.insert(found.end(), offsets[one + 1] - offsets[one], static_cast<Vertex>(one));
      }
      return found;
    }
    const Vertex* begin(Vertex one) const { return ends.data() + offsets[one]; }
    const Vertex* end(Vertex one) const { return ends.data() + offsets[one + 1]; }
    template <class Function>
    bool any_of(Vertex one, const Marks* among, const Function& function) const {
      return std::any_of(begin(one), end(one), [&](Vertex other) {
        return (among[other / BitRows::WORD] >> other % BitRows::WORD & 1) != 0 && function(other);
      });
    }
  };

  List by_columns_, by_rows_;
};

template <class Pairs>
class FirstAssignment {
 public:
  // Columns with may_leave(column) may stay free. row_match is an assignment along pairs; it becomes the first one.
  template <class MayLeave>
  FirstAssignment(const Pairs& pairs, Vertex num_rows, Vertex num_columns, const MayLeave& may_leave, Vertex* row_match,
                  ShortMemory* memory)
      : pairs_(pairs),
        num_rows_(num_rows),
        num_columns_(num_columns),
        row_match_(row_match),
        mates_(num_columns, num_rows, memory),
        before_(Count{num_rows} + 1, NONE, memory),
        after_(Count{num_rows} + 1, NONE, memory),
        num_free_(num_rows, 0, memory),
        ahead_(memory),
        behind_(memory),
        path_(memory),
        columns_(NUM_COLUMN_SETS, num_columns, memory),
        rows_(NUM_ROW_SETS, num_rows + 1, memory) {
    for (Vertex column = 0; column < num_columns; ++column) {
      if (may_leave(column)) columns_.set(MAY_LEAVE, column);
    }
    for (const RowSet set : {OPEN, NOT_BEHIND}) {
      rows_.fill(set);
      rows_.clear(set, free());
    }
    columns_.fill(OPEN_COLUMNS);
    for (Vertex row = 0; row < num_rows; ++row) match(row, row_match[row]);
    for (Vertex column = 0; column < num_columns; ++column) {
      if (mates_[column] == free()) let_go(column);
    }
  }

  void settle(bool columns_first) {
    if (columns_first) settle_columns();
    else settle_rows();
  }

 private:
  // Rows are settled one after the other. Each takes the first column that it may take.
  void settle_rows() {
    for (Vertex row = 0; row < num_rows_; ++row) {
      pairs_.any_of_row(row, columns_.row(OPEN_COLUMNS), [&](Vertex column) {
        return column >= row_match_[row] || takes(row, column);
      });
      forget();
      settle(row, row_match_[row]);
    }
  }
  // As settle_rows, by columns. A column stays free only if it may take no row.
  void settle_columns() {
    for (Vertex column = 0; column < num_columns_; ++column) {
      pairs_.any_of_column(column, rows_.row(OPEN), [&](Vertex row) {
        return row >= mates_[column] || takes(row, column);
      });
      forget();
      settle(mates_[column], column);
    }
  }

  // Sets of columns: not settled; free and not settled; the mate has not been reached from the begin of a path; may stay free.
  enum ColumnSet : Vertex { OPEN_COLUMNS, FREE, NOT_AHEAD, MAY_LEAVE, NUM_COLUMN_SETS };
  // Sets of rows: not settled; no path from the row to the end of a path is known; the row has a free column.
  enum RowSet : Vertex { OPEN, NOT_BEHIND, HAS_FREE, NUM_ROW_SETS };

  // Vertices in the order in which they were found. The search has gone on from the first `done` of them.
  struct Found {
    ShortVector<Vertex> vertices;
    std::size_t done = 0;
    bool has_free = false;

    explicit Found(ShortMemory* memory) : vertices(memory) {}
    std::size_t left() const { return vertices.size() - done; }
    void clear() {
      vertices.clear();
      done = 0;
      has_free = false;
    }
  };

  Vertex free() const { return num_rows_; }

  void match(Vertex row, Vertex column) {
    if (columns_.has(FREE, column)) hold(column);
    row_match_[row] = column;
    mates_[column] = row;
    columns_.set(NOT_AHEAD, column);
  }
  // Takes a column from the free ones.
  void hold(Vertex column) {
    columns_.clear(FREE, column);
    pairs_.any_of_column(column, rows_.row(HAS_FREE), [&](Vertex row) {
      if (--num_free_[row] == 0) rows_.clear(HAS_FREE, row);
      return false;
    });
  }
  void let_go(Vertex column) {
    mates_[column] = free();
    columns_.clear(NOT_AHEAD, column);
    columns_.set(FREE, column);
    pairs_.any_of_column(column, rows_.row(OPEN), [&](Vertex row) {
      if (num_free_[row]++ == 0) rows_.set(HAS_FREE, row);
      return false;
    });
  }
  void settle(Vertex row, Vertex column) {
    if (row == free()) {
      hold(column);
    } else {
      rows_.clear(OPEN, row);
      rows_.clear(NOT_BEHIND, row);
      rows_.clear(HAS_FREE, row);
      columns_.clear(NOT_AHEAD, column);
    }
    columns_.clear(OPEN_COLUMNS, column);
  }

  bool may_leave(Vertex row) const { return columns_.has(MAY_LEAVE, row_match_[row]); }
  bool is_ahead(Vertex vertex) const {
    return vertex == free() ? ahead_.has_free : !columns_.has(NOT_AHEAD, row_match_[vertex]);
  }
  bool is_behind(Vertex vertex) const { return vertex == free() ? behind_.has_free : !rows_.has(NOT_BEHIND, vertex); }
  bool has_edge(Vertex vertex, Vertex row) const {
    return vertex == free() ? may_leave(row) : pairs_.has(vertex, row_match_[row]);
  }

  // Whether the row may take the column, along pairs that are not settled. If so, the assignment becomes one in which it does.
  bool takes(Vertex row, Vertex column) {
    if (!find_path(mates_[column], row)) return false;
    forget();
    Vertex given = column;
    for (std::size_t k = path_.size(); k-- > 0;) {
      const Vertex vertex = path_[k];
      if (vertex == free()) {
        const Vertex taken = k == 0 ? NONE : free_column_of(path_[k - 1]);
        let_go(std::exchange(given, taken));
      } else {
        const Vertex left = row_match_[vertex];
        match(vertex, std::exchange(given, left));
      }
    }
    return true;
  }
  Vertex free_column_of(Vertex row) const {
    Vertex found = NONE;
    pairs_.any_of_row(row, columns_.row(FREE), [&](Vertex column) {
      found = column;
      return true;
    });
    return found;
  }

  // Writes the path. From an end that was searched before, no path leads to what was found from other ends in vain.
  bool find_path(Vertex begin, Vertex end) {
    Vertex middle = is_behind(begin) ? begin : is_ahead(end) ? end : NONE;
    if (middle == NONE) middle = search(begin, end);
    if (middle == NONE) return false;
    path_.clear();
    for (Vertex vertex = middle; vertex != begin; vertex = before_[vertex]) path_.push_back(vertex);
    path_.push_back(begin);
    std::reverse(path_.begin(), path_.end());
    for (Vertex vertex = middle; vertex != end;) path_.push_back(vertex = after_[vertex]);
    return true;
  }
  // Returns a vertex of a path; NONE if there is no path.
  Vertex search(Vertex begin, Vertex end) {
    if (!is_behind(end)) see_behind(end, NONE);
    if (!is_ahead(begin)) {
      const Vertex middle = meet(begin, NONE, end);
      if (middle != NONE) return middle;
    }
    while (ahead_.left() > 0 && behind_.left() > 0) {
      poll_.spend(columns_.words());
      const Vertex middle = ahead_.left() <= behind_.left() ? go_ahead(end) : go_back();
      if (middle != NONE) return middle;
    }
    return NONE;
  }
  void see_ahead(Vertex vertex, Vertex from) {
    before_[vertex] = from;
    ahead_.vertices.push_back(vertex);
    if (vertex == free()) ahead_.has_free = true;
    else columns_.clear(NOT_AHEAD, row_match_[vertex]);
  }
  void see_behind(Vertex vertex, Vertex to) {
    after_[vertex] = to;
    behind_.vertices.push_back(vertex);
    if (vertex == free()) behind_.has_free = true;
    else rows_.clear(NOT_BEHIND, vertex);
  }
  // Sees a vertex that is reached from the begin. Returns where the path to the end is known from; NONE if nowhere yet.
  Vertex meet(Vertex vertex, Vertex from, Vertex end) {
    see_ahead(vertex, from);
    if (is_behind(vertex)) return vertex;
    if (!has_edge(vertex, end)) return NONE;
    see_ahead(end, vertex);
    return end;
  }
  Vertex go_ahead(Vertex end) {
    const Vertex vertex = ahead_.vertices[ahead_.done++];
    Vertex middle = NONE;
    const auto goes_to = [&](Vertex column) { return (middle = meet(mates_[column], vertex, end)) != NONE; };
    if (vertex == free()) {
      BitRows::any_in(columns_.row(MAY_LEAVE), columns_.row(NOT_AHEAD), columns_.words(), goes_to);
      return middle;
    }
    if (rows_.has(HAS_FREE, vertex) && !ahead_.has_free) middle = meet(free(), vertex, end);
    if (middle == NONE) pairs_.any_of_row(vertex, columns_.row(NOT_AHEAD), goes_to);
    return middle;
  }
  Vertex go_back() {
    const Vertex vertex = behind_.vertices[behind_.done++];
    Vertex middle = NONE;
    const auto comes_from = [&](Vertex other) {
      see_behind(other, vertex);
      if (is_ahead(other)) middle = other;
      return middle != NONE;
    };
    if (vertex == free()) {
      BitRows::any_in(rows_.row(HAS_FREE), rows_.row(NOT_BEHIND), rows_.words(), comes_from);
      return middle;
    }
    if (may_leave(vertex) && !behind_.has_free && comes_from(free())) return middle;
    pairs_.any_of_column(row_match_[vertex], rows_.row(NOT_BEHIND), comes_from);
    return middle;
  }
  void forget() {
    for (const Vertex vertex : ahead_.vertices) {
      if (vertex != free()) columns_.set(NOT_AHEAD, row_match_[vertex]);
    }
    for (const Vertex vertex : behind_.vertices) {
      if (vertex != free()) rows_.set(NOT_BEHIND, vertex);
    }
    ahead_.clear();
    behind_.clear();
  }

  const Pairs& pairs_;
  const Vertex num_rows_, num_columns_;
  Vertex* const row_match_;
  ShortVector<Vertex> mates_;            // [num_columns] num_rows for free columns
  ShortVector<Vertex> before_, after_;   // [num_rows + 1] on a path
  ShortVector<Vertex> num_free_;         // [num_rows] columns that are free
  Found ahead_, behind_;
  ShortVector<Vertex> path_;
  BitRows columns_, rows_;  // see ColumnSet and RowSet
  Poll poll_;
};
