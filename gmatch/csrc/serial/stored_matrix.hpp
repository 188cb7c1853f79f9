// stored_matrix.hpp: a sparse matrix as Python has it, not trusted: checked while it is laid out for a solver.
//
// Another thread may change the arrays meanwhile. So each number of a row or a column is read once, and held against its
// bounds before it is used. Costs are not used for addresses.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "costs/dense.cuh"
#include "team/interrupt.hpp"

// What the arrays are: in order where each entry comes after the one before, so that there are no duplicates.
enum class Found { NO_MATRIX, UNSORTED, IN_ORDER };

// Lines are the rows, or the columns, of a matrix; places are the others. As compressed lines, or as coordinates.
template <class Cost, class Index, class Offset = Index>
struct StoredMatrix {
  Vertex num_lines, num_places;
  const Offset* offsets;  // [num_lines + 1] or nullptr: then these are coordinates
  const Index* lines;    // [length] of coordinates
  const Index* places;   // [length]
  Count stride;          // of lines and places: coordinates may lie side by side
  const Cost* entries;   // [length]
  Count length;          // offsets may end before it

  // Calls begin_line(line) for each line, or for none of coordinates, and visit(line, place, entry) for each entry.
  template <class BeginLine, class Visit>
  Found visit_all(const BeginLine& begin_line, const Visit& visit) const {
    return offsets != nullptr ? visit_lines(begin_line, visit) : visit_coordinates(visit);
  }

  // Whether all pairs are stored, in the order of a dense matrix. Nothing that is read here is used for an address.
  bool is_dense() const {
    if (length < Count{num_lines} * num_places || stride != 1) return false;
    if (offsets != nullptr && offsets[0] != 0) return false;
    bool in_order = true;
    Poll poll;
    for (Vertex line = 0; line < num_lines && in_order; ++line) {
      const Count begin = Count{line} * num_places;
      poll.spend(num_places);
      if (offsets != nullptr) in_order = offsets[line + 1] == begin + num_places;
      Index differing = 0;
      for (Vertex place = 0; place < num_places; ++place) differing |= places[begin + place] ^ place;
      if (offsets == nullptr) {
        for (Vertex place = 0; place < num_places; ++place) differing |= lines[begin + place] ^ line;
      }
      in_order &= differing == 0;
    }
    return in_order;
  }

 private:
  static bool is_in(Index number, Vertex size) { return number >= 0 && number < size; }

  template <class BeginLine, class Visit>
  Found visit_lines(const BeginLine& begin_line, const Visit& visit) const {
    Count begin = read_once(offsets);
    if (begin != 0) return Found::NO_MATRIX;
    bool in_order = true;
    Poll poll;
    for (Vertex line = 0; line < num_lines; ++line) {
      poll.spend(num_places);
      const Count end = read_once(offsets + line + 1);
      if (end < begin || end > length) return Found::NO_MATRIX;
      begin_line(line);
      Index before = -1;
      for (; begin < end; ++begin) {
        const Index place = read_once(places + begin);
        if (!is_in(place, num_places)) return Found::NO_MATRIX;
        in_order &= place > before;
        before = place;
        visit(line, static_cast<Vertex>(place), entries[begin]);
      }
    }
    return in_order ? Found::IN_ORDER : Found::UNSORTED;
  }

  template <class Visit>
  Found visit_coordinates(const Visit& visit) const {
    Count before = -1;
    bool in_order = true;
    for (Count k = 0; k < length; ++k) {
      const Index line = read_once(lines + k * stride), place = read_once(places + k * stride);
      if (!is_in(line, num_lines) || !is_in(place, num_places)) return Found::NO_MATRIX;
      const Count number = Count{line} * num_places + place;
      in_order &= number > before;
      before = number;
      visit(static_cast<Vertex>(line), static_cast<Vertex>(place), entries[k]);
    }
    return in_order ? Found::IN_ORDER : Found::UNSORTED;
  }
};

// Writes the whole matrix, `missing` for the pairs that are not stored: line by line, or place by place if it is `turned`. Of
// duplicates any one is written.
template <class Cost, class Index, class Offset, class Entry>
Found lay_out(const StoredMatrix<Cost, Index, Offset>& stored, bool turned, Entry missing, Entry* to) {
  const auto nothing = [](Vertex) {};
  if (turned) {
    std::fill_n(to, Count{stored.num_lines} * stored.num_places, missing);
    return stored.visit_all(nothing, [=, lines = Count{stored.num_lines}](Vertex line, Vertex place, Cost entry) {
      to[place * lines + line] = static_cast<Entry>(entry);
    });
  }
  const Count places = stored.num_places;
  const auto put = [=](Vertex line, Vertex place, Cost entry) { to[line * places + place] = static_cast<Entry>(entry); };
  const auto fill = [=](Vertex line) { std::fill_n(to + line * places, places, missing); };
  if (stored.offsets != nullptr) return stored.visit_all(fill, put);
  std::fill_n(to, stored.num_lines * places, missing);
  return stored.visit_all(nothing, put);
}

// Compressed lines of our own, which can be trusted.
template <class Cost>
struct OwnLines {
  Vertex num_lines, num_places;
  std::vector<Vertex> offsets, places;
  std::vector<Cost> entries;

  // Copies a matrix, `turned` with lines and places in each other's place. False if it is none, or has duplicates.
  template <class Index>
  bool copy(const StoredMatrix<Cost, Index>& stored, bool turned) {
    num_lines = turned ? stored.num_places : stored.num_lines;
    num_places = turned ? stored.num_lines : stored.num_places;
    offsets.assign(static_cast<std::size_t>(num_lines) + 1, 0);
    std::vector<Entry> copies;
    copies.reserve(stored.length);
    const Found found = stored.visit_all([](Vertex) {}, [&](Vertex line, Vertex place, Cost entry) {
      if (turned) std::swap(line, place);
      ++offsets[line + 1];
      copies.push_back({line, place, entry});
    });
    if (found == Found::NO_MATRIX) return false;
    for (Vertex line = 0; line < num_lines; ++line) offsets[line + 1] += offsets[line];
    places.resize(copies.size());
    entries.resize(copies.size());
    std::vector<Vertex> next(offsets.begin(), offsets.end() - 1);
    for (const Entry& copy : copies) {
      const Vertex to = next[copy.line]++;
      places[to] = copy.place;
      entries[to] = copy.cost;
    }
    return found == Found::IN_ORDER || !has_duplicates();
  }

  // That of a pair, which is stored.
  Cost entry(Vertex line, Vertex place) const {
    return entries[std::find(places.begin() + offsets[line], places.begin() + offsets[line + 1], place) - places.begin()];
  }

  StoredMatrix<Cost, Vertex> stored() const {
    return {num_lines,     num_places, offsets.data(), nullptr, places.data(), 1, entries.data(),
            offsets.back()};
  }

 private:
  struct Entry {
    Vertex line, place;
    Cost cost;
  };

  bool has_duplicates() const {
    std::vector<Vertex> last_line(num_places, NONE);
    for (Vertex line = 0; line < num_lines; ++line) {
      for (Vertex k = offsets[line]; k < offsets[line + 1]; ++k) {
        if (std::exchange(last_line[places[k]], line) == line) return true;
      }
    }
    return false;
  }
};

// Whether a sparse problem is solved faster as a dense one, in little more memory. A dense search reads many pairs at once, so
// it may also read some that are not stored; in a small square problem, all of them. If columns may stay free, a sparse search
// reads few pairs.
inline bool is_best_laid_out(Count rows, Count columns, Count entries) {
  // Pairs of a problem that is always laid out. Above that it is laid out if it has a stored entry for every 24 pairs, or for
  // every 4 pairs of a problem of more than 2^25, whose matrix is larger than caches. Both ways take equally long at about these
  // numbers: benchmarks/log/sparse.md, "Thresholds measured again".
  constexpr Count FEW_PAIRS = 1 << 11, FEW_PAIRS_OF_SQUARE = 1 << 17, MANY_PAIRS = 1 << 25;
  constexpr Count FOR_EACH = 24, FOR_EACH_OF_MANY = 4;
  const Count pairs = rows * columns;
  return pairs <= (rows == columns ? FEW_PAIRS_OF_SQUARE : FEW_PAIRS) ||
         pairs <= (pairs <= MANY_PAIRS ? FOR_EACH : FOR_EACH_OF_MANY) * entries;
}
