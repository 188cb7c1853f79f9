// blocks.hpp: the Dulmage-Mendelsohn decomposition from a maximum matching, on one core of the host.
//
// The coarse parts are two alternating forests and a square part (Dulmage and Mendelsohn 1958). One forest grows from the free
// rows; the search for the matching has found its columns. The other forest grows from the free columns. Neither forest reaches
// the square part. Its fine blocks are strongly connected components (Pothen and Fan 1990): the vertices are the pairs, and a
// row has an edge to the mate of each of its columns. Tarjan's search ("Depth-first search and linear graph algorithms", SIAM J.
// Computing 1, 1972) finds a component after all components to which its edges lead.
#pragma once
#include <algorithm>
#include <vector>

#include "cardinality/csr_edges.cuh"
#include "team/interrupt.hpp"

struct Decomposition {
  std::vector<Vertex> row_order, col_order, row_blocks, col_blocks;
  Vertex coarse_cols[5], coarse_rows[5];
};

template <class Offset, class Column>
class BlockFinder {
 public:
  using Edges = CsrEdges<Offset, Column>;

  // The matching is maximum; `reached` says which columns alternating paths from its free rows reach.
  BlockFinder(const Edges& edges, const Vertex* row_match, const Vertex* col_match, const unsigned char* reached)
      : edges_(edges), row_match_(row_match), col_match_(col_match), part_(edges.num_rows, SQUARE) {
    for (Vertex row = 0; row < edges_.num_rows; ++row) {
      const Vertex mate = row_match_[row];
      if (mate == NONE) part_[row] = FREE;
      else if (reached[mate]) part_[row] = VERTICAL;
    }
  }

  // Finds the horizontal rows, which alternating paths from the free columns reach.
  void grow_from_free_columns() {
    std::vector<Vertex> columns;
    for (Vertex column = 0; column < edges_.num_columns; ++column) {
      if (col_match_[column] == NONE) columns.push_back(column);
    }
    if (columns.empty()) return;
    const auto [begins, rows] = transposed();
    while (!columns.empty()) {
      const Vertex column = columns.back();
      columns.pop_back();
      poll_.spend(begins[column + 1] - begins[column]);
      for (Count edge = begins[column]; edge < begins[column + 1]; ++edge) {
        const Vertex row = rows[edge];
        if (part_[row] == HORIZONTAL || row_match_[row] == NONE) continue;
        part_[row] = HORIZONTAL;
        columns.push_back(row_match_[row]);
      }
    }
  }

  Decomposition decompose() {
    find_components();
    Decomposition form{};
    const std::vector<Vertex> ends = add_rows(form);
    for (Vertex column = 0; column < edges_.num_columns; ++column) {
      if (col_match_[column] == NONE) form.col_order.push_back(column);
    }
    const auto free_columns = static_cast<Vertex>(form.col_order.size());
    for (Vertex i = 0; i < form.coarse_rows[3]; ++i) form.col_order.push_back(row_match_[form.row_order[i]]);
    form.coarse_cols[0] = 0;
    for (int part = 0; part < 4; ++part) form.coarse_cols[part + 1] = free_columns + form.coarse_rows[part];
    // As in dmperm, the horizontal part is one block, and the vertical part with the free rows another.
    form.row_blocks.push_back(0);
    form.col_blocks.push_back(0);
    const auto add_block = [&](Vertex end_row, Vertex end_column) {
      if (end_row == form.row_blocks.back() && end_column == form.col_blocks.back()) return;
      form.row_blocks.push_back(end_row);
      form.col_blocks.push_back(end_column);
    };
    add_block(form.coarse_rows[1], form.coarse_cols[2]);
    for (const Vertex end : ends) add_block(form.coarse_rows[1] + end, form.coarse_cols[2] + end);
    add_block(edges_.num_rows, edges_.num_columns);
    return form;
  }

 private:
  enum Part : unsigned char { HORIZONTAL, SQUARE, VERTICAL, FREE };
  struct Transposed {
    std::vector<Count> begins;
    std::vector<Vertex> rows;
  };
  // A row on the path of the search, and its next edge.
  struct Place {
    Vertex row;
    Offset next;
  };

  Transposed transposed() {
    Transposed found{std::vector<Count>(edges_.num_columns + Count{2}), std::vector<Vertex>(edges_.num_edges())};
    auto& [begins, rows] = found;
    for (Offset edge = 0; edge < edges_.num_edges(); ++edge) ++begins[edges_.column(edge) + Count{2}];
    for (Vertex column = 0; column < edges_.num_columns; ++column) begins[column + Count{1}] += begins[column];
    for (Vertex row = 0; row < edges_.num_rows; ++row) {
      for (Offset edge = edges_.begin(row); edge < edges_.end(row); ++edge) rows[begins[edges_.column(edge) + Count{1}]++] = row;
      poll_.spend(edges_.end(row) - edges_.begin(row));
    }
    return found;
  }

  // Numbers the components of square rows. A component has a larger number than all components to which its edges lead.
  void find_components() {
    component_.assign(edges_.num_rows, NONE);
    turn_.assign(edges_.num_rows, NONE);
    for (Vertex row = 0; row < edges_.num_rows; ++row) {
      if (part_[row] == SQUARE && turn_[row] == NONE) search_from(row);
    }
  }

  // low(row) is the least turn among rows without a component to which the row, or a row found from it, has an edge.
  void search_from(Vertex root) {
    enter(root);
    while (!path_.empty()) {
      Place& place = path_.back();
      const Vertex row = place.row;
      const Vertex next = next_row(place);
      if (next == NONE) {
        path_.pop_back();
        if (!path_.empty()) low(path_.back().row) = std::min(low(path_.back().row), low(row));
        if (low(row) == turn_[row]) close_component(row);
      } else if (turn_[next] == NONE) {
        enter(next);
      } else if (component_[next] == NONE) {
        low(row) = std::min(low(row), turn_[next]);
      }
    }
  }

  void enter(Vertex row) {
    turn_[row] = static_cast<Vertex>(lowest_.size());
    lowest_.push_back(turn_[row]);
    open_.push_back(row);
    path_.push_back({row, edges_.begin(row)});
    poll_.spend(edges_.end(row) - edges_.begin(row));
  }
  Vertex& low(Vertex row) { return lowest_[turn_[row]]; }

  // The next square row to which the row has an edge; NONE if there is no other.
  Vertex next_row(Place& place) const {
    while (place.next < edges_.end(place.row)) {
      const Vertex row = col_match_[edges_.column(place.next++)];
      if (row != NONE && part_[row] == SQUARE) return row;
    }
    return NONE;
  }

  void close_component(Vertex first) {
    Vertex row;
    do {
      row = open_.back();
      open_.pop_back();
      component_[row] = num_components_;
    } while (row != first);
    ++num_components_;
  }

  // Orders the rows by parts, and the square rows by blocks. Rows increase within a block. Returns the ends of the blocks,
  // counted from the first square row.
  std::vector<Vertex> add_rows(Decomposition& form) const {
    std::vector<Vertex> ends(num_components_);
    Vertex sizes[4] = {};
    for (Vertex row = 0; row < edges_.num_rows; ++row) {
      ++sizes[part_[row]];
      if (part_[row] == SQUARE) ++ends[block_of(row)];
    }
    form.coarse_rows[0] = 0;
    for (int part = 0; part < 4; ++part) form.coarse_rows[part + 1] = form.coarse_rows[part] + sizes[part];
    Vertex end = 0;
    std::vector<Vertex> next_in_block(num_components_);
    for (Vertex block = 0; block < num_components_; ++block) {
      next_in_block[block] = form.coarse_rows[1] + end;
      ends[block] = end += ends[block];
    }
    Vertex next_of_part[4];
    std::copy_n(form.coarse_rows, 4, next_of_part);
    form.row_order.resize(edges_.num_rows);
    for (Vertex row = 0; row < edges_.num_rows; ++row) {
      Vertex& place = part_[row] == SQUARE ? next_in_block[block_of(row)] : next_of_part[part_[row]];
      form.row_order[place++] = row;
    }
    return ends;
  }
  // The block of a square row. No edge leads to an earlier block.
  Vertex block_of(Vertex row) const { return num_components_ - 1 - component_[row]; }

  const Edges edges_;
  const Vertex* const row_match_;
  const Vertex* const col_match_;
  std::vector<unsigned char> part_;  // [num_rows]
  std::vector<Vertex> component_;    // [num_rows] NONE if the row has none yet
  std::vector<Vertex> turn_;         // [num_rows] when the search came to the row; NONE if it has not yet
  std::vector<Vertex> lowest_;       // [number of turns] see low
  std::vector<Vertex> open_;         // rows to which the search came, without a component yet
  std::vector<Place> path_;
  Vertex num_components_ = 0;
  Poll poll_;
};
