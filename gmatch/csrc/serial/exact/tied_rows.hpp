// tied_rows.hpp: pairs along which assignments are equally cheap, as bits, and the components that they make.
//
// Rows are vertices, with an edge from each to the mates of its columns. All free rows and columns are one more vertex, with
// edges to the rows whose columns may stay free. Other assignments differ from the present one along cycles, so only pairs
// within a strong component matter. Two searches find the components: one along the edges, and one against them, from the vertex
// at which the first search ended last (Sharir 1981). Each search looks at 64 columns at once.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>

#include "serial/exact/bit_rows.hpp"
#include "serial/rows/short_vector.hpp"
#include "serial/shortest_path.hpp"

class TiedRows {
 public:
  // Some rows with a choice, and the columns that they may take. If not all columns must be used, `has_free`.
  struct Component {
    const Vertex *rows, *end;
    ShortVector<Vertex> columns;
    bool has_free;

    Vertex num_rows() const { return static_cast<Vertex>(end - rows); }
    Vertex num_columns() const { return static_cast<Vertex>(columns.size()); }
  };

  TiedRows(Vertex num_rows, Vertex num_columns, const Vertex* row_match)
      : num_rows_(num_rows),
        num_columns_(num_columns),
        row_match_(row_match),
        pairs_(num_rows + 1, num_columns, &memory_),
        sides_(3, num_columns, &memory_),
        mates_(numbers(num_columns)),
        order_(numbers(0)),
        component_(numbers(0)),
        members_(numbers(0)),
        begins_(numbers(0)) {}

  // Vectors of one small problem: see short_vector.hpp.
  ShortMemory* memory() const { return &memory_; }
  ShortVector<Vertex> numbers(Vertex length, Vertex number = 0) const { return ShortVector<Vertex>(length, number, &memory_); }

  Vertex num_rows() const { return num_rows_; }
  // The bits of the columns of a row.
  Marks* of_row(Vertex row) { return pairs_.row(row); }
  const BitRows& pairs() const { return pairs_; }
  void let_leave(Vertex column) { sides_.set(MAY_LEAVE, column); }
  void forbid_leaving(Vertex column) { sides_.clear(MAY_LEAVE, column); }
  bool may_leave(Vertex column) const { return sides_.has(MAY_LEAVE, column); }
  void add(Vertex row, Vertex column) { pairs_.set(row, column); }
  void remove(Vertex row, Vertex column) { pairs_.clear(row, column); }
  void clear(Vertex row) { pairs_.clear(row); }

  // Keeps the pairs within components, of rows that have a choice. Returns how many rows have one.
  Vertex drop_what_is_sure() {
    find_mates();
    component_.clear();
    if (!can_be_taken_away()) {
      order_by_ends();
      if (has_cycle()) find_components();
    }
    return keep_components();
  }
  Vertex num_components() const { return static_cast<Vertex>(begins_.size()) - 1; }
  // After drop_what_is_sure.
  Component component(Vertex number) const {
    const Vertex *const rows = members_.data() + begins_[number], *const end = members_.data() + begins_[number + 1];
    Component found{rows, end, numbers(0), number == of_free_};
    BitRows used(1, num_columns_, &memory_);
    for (const Vertex* row = rows; row != end; ++row) {
      for (Vertex word = 0; word < pairs_.words(); ++word) used.row(0)[word] |= pairs_.row(*row)[word];
    }
    found.columns.reserve(used.size_of(0));
    used.each_in(0, [&](Vertex column) { found.columns.push_back(column); });
    return found;
  }

 private:
  enum Side : Vertex { MAY_LEAVE, FREE, UNSEEN };  // bits of columns

  Vertex free() const { return num_rows_; }

  void find_mates() {
    std::fill(mates_.begin(), mates_.end(), free());
    sides_.fill(FREE);
    for (Vertex row = 0; row < num_rows_; ++row) {
      mates_[row_match_[row]] = row;
      sides_.clear(FREE, row_match_[row]);
    }
    for (Vertex word = 0; word < pairs_.words(); ++word) {
      pairs_.row(free())[word] = sides_.row(MAY_LEAVE)[word] & ~sides_.row(FREE)[word];
    }
  }

  // Whether all vertices can be taken away, one after the other. A vertex is taken away if no edge leads from it to another
  // vertex that is still there. If all are taken away, there is no cycle. The duals of a search make no cycle unless costs tie.
  // The last pass is the first one that takes away fewer than 1 vertex in 4: with ties more passes would be vain. See
  // benchmarks/log/ties.md, "Whether ties make a choice, by taking vertices away".
  bool can_be_taken_away() {
    ShortVector<Vertex> left = numbers(num_rows_ + 1);
    std::iota(left.begin(), left.end(), Vertex{0});
    sides_.fill(UNSEEN);
    const Marks* const unseen = sides_.row(UNSEEN);
    const auto leads_on = [&](Vertex vertex) {
      const Marks* const columns = pairs_.row(vertex);
      const Vertex own = vertex == free() ? NONE : row_match_[vertex];
      for (Vertex k = 0; k < pairs_.words(); ++k) {
        const Marks own_bit = own / BitRows::WORD == k && own != NONE ? Marks{1} << own % BitRows::WORD : 0;
        if ((columns[k] & unseen[k] & ~own_bit) != 0) return true;
      }
      return false;
    };
    for (std::size_t size = left.size(); size > 0;) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < size; ++k) {
        left[kept] = left[k];
        if (leads_on(left[k])) ++kept;
        else hide(left[k]);
      }
      if (4 * (size - kept) < size) return false;
      size = kept;
    }
    return true;
  }
  // Takes the columns of a vertex out of the unseen columns.
  void hide(Vertex vertex) {
    if (vertex != free()) return sides_.clear(UNSEEN, row_match_[vertex]);
    for (Vertex k = 0; k < pairs_.words(); ++k) sides_.row(UNSEEN)[k] &= ~sides_.row(FREE)[k];
  }

  // Lists the vertices in the order in which a search leaves them. A word of a row is not looked at again once all its columns
  // have been seen.
  void order_by_ends() {
    ShortVector<Vertex> path = numbers(0), word = numbers(num_rows_ + 1);
    path.reserve(num_rows_ + 1);
    order_.clear();
    order_.reserve(num_rows_ + 1);
    sides_.fill(UNSEEN);
    const Marks* const unseen = sides_.row(UNSEEN);
    ShortVector<char> is_seen(num_rows_ + 1, 0, &memory_);
    const auto see = [&](Vertex vertex) {
      is_seen[vertex] = 1;
      path.push_back(vertex);
      hide(vertex);
    };
    for (Vertex root = 0; root <= num_rows_; ++root) {
      if (!is_seen[root]) see(root);
      while (!path.empty()) {
        const Vertex vertex = path.back();
        const Marks* const columns = pairs_.row(vertex);
        Vertex& k = word[vertex];
        while (k < pairs_.words() && (columns[k] & unseen[k]) == 0) ++k;
        if (k < pairs_.words()) {
          see(mates_[k * BitRows::WORD + first_bit(columns[k] & unseen[k])]);
        } else {
          order_.push_back(vertex);
          path.pop_back();
        }
      }
    }
  }

  // Each edge of a graph without a cycle leads to a vertex that the search has left before. Most often the first edges tell that
  // there is a cycle, or there are few edges.
  bool has_cycle() const {
    ShortVector<Vertex> end = numbers(num_rows_ + 1);
    for (Vertex k = 0; k <= num_rows_; ++k) end[order_[k]] = k;
    for (Vertex vertex = 0; vertex <= num_rows_; ++vertex) {
      const Marks* const columns = pairs_.row(vertex);
      for (Vertex word = 0; word < pairs_.words(); ++word) {
        for (Marks here = columns[word]; here != 0; here &= here - 1) {
          const Vertex mate = mates_[word * BitRows::WORD + first_bit(here)];
          if (mate != vertex && end[mate] > end[vertex]) return true;
        }
      }
    }
    return false;
  }

  void find_components() {
    const BitRows rows_of = pairs_.transposed();
    BitRows sides(2, num_rows_ + 1, &memory_);  // vertices that a search has left, and vertices with an edge to the free one
    constexpr Vertex LEFT = 0, BEFORE_FREE = 1;
    sides.fill(LEFT);
    component_.assign(num_rows_ + 1, NONE);
    ShortVector<Vertex> found = numbers(0);
    found.reserve(num_rows_ + 1);
    Vertex number = 0;
    const auto take = [&](Vertex vertex) {
      component_[vertex] = number;
      sides.clear(LEFT, vertex);
      found.push_back(vertex);
    };
    for (auto last = order_.rbegin(); last != order_.rend(); ++last) {
      if (component_[*last] != NONE) continue;
      for (take(*last); !found.empty();) {
        const Vertex vertex = found.back();
        found.pop_back();
        const Marks* before = sides.row(BEFORE_FREE);
        if (vertex != free()) {
          before = rows_of.row(row_match_[vertex]);
        } else {
          sides_.each_in(FREE, [&](Vertex column) {
            for (Vertex k = 0; k < sides.words(); ++k) sides.row(BEFORE_FREE)[k] |= rows_of.row(column)[k];
          });
        }
        for (Vertex k = 0; k < sides.words(); ++k) {
          Marks here = before[k] & sides.row(LEFT)[k];
          for (; here != 0; here &= here - 1) take(k * BitRows::WORD + first_bit(here));
        }
      }
      ++number;
    }
    num_found_ = number;
  }

  // Numbers the components of more than one vertex, and lists their rows, in order.
  Vertex keep_components() {
    begins_.assign(1, 0);
    of_free_ = NONE;
    if (component_.empty()) return 0;
    ShortVector<Vertex> size = numbers(num_found_), number = numbers(num_found_, NONE);
    for (const Vertex component : component_) ++size[component];
    Vertex with_choice = 0;
    for (Vertex k = 0; k < num_found_; ++k) {
      if (size[k] == 1) continue;
      number[k] = num_components();
      const bool has_free = component_[free()] == k;
      if (has_free) of_free_ = number[k];
      with_choice += size[k] - has_free;
      begins_.push_back(with_choice);
    }
    members_.resize(with_choice);
    ShortVector<Vertex> next = begins_;
    BitRows columns(num_components(), num_columns_, &memory_);
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Vertex k = number[component_[row]];
      if (k == NONE) continue;
      members_[next[k]++] = row;
      columns.set(k, row_match_[row]);
    }
    for (Vertex word = 0; word < pairs_.words() && of_free_ != NONE; ++word) {
      columns.row(of_free_)[word] |= sides_.row(FREE)[word];
    }
    for (Vertex row = 0; row < num_rows_; ++row) {
      const Vertex k = number[component_[row]];
      if (k == NONE) pairs_.clear(row);
      else for (Vertex word = 0; word < pairs_.words(); ++word) pairs_.row(row)[word] &= columns.row(k)[word];
    }
    // A column that is used by all assignments never stays free.
    for (Vertex word = 0; word < pairs_.words(); ++word) {
      sides_.row(MAY_LEAVE)[word] &= of_free_ == NONE ? 0 : columns.row(of_free_)[word];
    }
    return with_choice;
  }

  mutable ShortMemory memory_;
  const Vertex num_rows_, num_columns_;
  const Vertex* const row_match_;
  BitRows pairs_;                    // of rows; and, in the row of the free vertex, the used columns that may stay free
  BitRows sides_;                    // see Side
  ShortVector<Vertex> mates_;        // [num_columns] the row; num_rows for free columns
  ShortVector<Vertex> order_, component_;
  ShortVector<Vertex> members_, begins_;  // rows of components
  Vertex num_found_ = 0, of_free_ = NONE;
};
