// row_picks.hpp: the least entries of a row, and a bound on all others, for solvers that know a part of each row.
#pragma once
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "serial/lanes.hpp"
#include "serial/rows.hpp"

// Passes over a row that pick its least entries: all that are not above the so manieth of a few minima, each of every
// MINIMA-th column, some more than the minima to it.
template <class Entry, class Work, bool NEGATED, bool PRICED>
struct PricingScan {
  static constexpr Vertex MINIMA = 32, WORD = 8 * sizeof(Work);
  static constexpr Work FAR = std::numeric_limits<Work>::has_infinity ? std::numeric_limits<Work>::infinity()
                                                                      : std::numeric_limits<Work>::max();

  static void find_minima(const Entry* entries, const Work* v, Vertex num_columns, Work* minima) {
    run_in_lanes<FindMinima>(num_columns * sizeof(Work), entries, v, num_columns, minima);
    const Vertex whole = num_columns / MINIMA * MINIMA;
    for (Vertex j = whole; j < num_columns; ++j) minima[j - whole] = std::min(minima[j - whole], reduced<1>(entries, v, j));
  }

  // Lists the columns with cost - v not above `most`, from the word `first` on, and around; the last one may not be whole.
  // Returns how many they are; there is room for one more.
  static Vertex list_least(const Entry* entries, const Work* v, Vertex num_columns, Vertex first, Work most, Vertex* list) {
    const Vertex words = num_columns / WORD;
    const auto list_words = [&](Vertex begin, Vertex end, Vertex* to) {
      return run_in_lanes<ListLeast>(num_columns * sizeof(Work), entries, v, begin, end, most, to);
    };
    Vertex size = list_words(first, words, list);
    for (Vertex j = words * WORD; j < num_columns; ++j) {
      list[size] = j;
      size += reduced<1>(entries, v, j) <= most;
    }
    return size + list_words(0, first, list + size);
  }

  // The passes, each for registers of any width.
  struct FindMinima {
    template <int BYTES>
    static ALWAYS_INLINE void run(const Entry* entries, const Work* v, Vertex num_columns, Work* minima) {
      constexpr int LANES = BYTES / sizeof(Work), REGISTERS = MINIMA / LANES;
      Lanes<Work, LANES> least[REGISTERS];
      for (int k = 0; k < REGISTERS; ++k) least[k] = all<Work, LANES>(FAR);
      for (Vertex j = 0; j + MINIMA <= num_columns; j += MINIMA) {
        for (int k = 0; k < REGISTERS; ++k) least[k] = lesser(least[k], reduced<LANES>(entries, v, j + k * LANES));
      }
      for (int k = 0; k < REGISTERS; ++k) store(minima + k * LANES, least[k]);
    }
  };

  struct ListLeast {
    template <int BYTES>
    static ALWAYS_INLINE Vertex run(const Entry* entries, const Work* v, Vertex first, Vertex end, Work most, Vertex* list) {
      constexpr int LANES = BYTES / sizeof(Work);
      using Word = WordLike<Work>;
      Vertex size = 0;
      for (Vertex begin = first * WORD; begin < end * WORD; begin += WORD) {
        Lanes<Word, LANES> hits = all<Word, LANES>(0);
        for (int k = 0; k < WORD; k += LANES) {
          const Lanes<IndexLike<Work>, LANES> hit = reduced<LANES>(entries, v, begin + k) <= most;
          hits |= bits_of<Word, LANES>(hit, k);
        }
        for (Word word = any_of<LANES>(hits); word != 0; word &= word - 1) list[size++] = begin + first_bit(word);
      }
      return size;
    }
  };

 private:
  template <int LANES>
  static ALWAYS_INLINE Lanes<Work, LANES> reduced(const Entry* entries, const Work* v, Vertex column) {
    Lanes<Work, LANES> cost = load_as<Work, LANES>(entries + column);
    if (NEGATED) cost = -cost;
    if constexpr (PRICED) return cost - load<Work, LANES>(v + column);
    else return cost;
  }
};

// How deep a row is picked: up to the `chosen`-th of `minima` minima, and of ties not more than there is room for.
struct PickDepth {
  static constexpr Vertex FEWEST_MINIMA = 32, MOST_MINIMA = 256;
  Vertex minima, chosen, room;
};

// Picks entries of rows, by cost - v.
template <class Rows, class Dual>
class RowPicks {
 public:
  // How many columns there are; no other has less cost - v than `bound`; whether some were left out for want of room.
  struct Found {
    Vertex size;
    Dual bound;
    bool overflows;
  };

  explicit RowPicks(const Rows& rows) : rows_(rows), columns_(rows.num_columns() + 1) {}

  const Rows& rows() const { return rows_; }
  // Those of the last row.
  Vertex* columns() { return columns_.data(); }

  // The least of a row so deep, all of them without a depth; and as many as there is room for of those not above `enough`.
  // All v are 0 unless it is PRICED, and then nothing is enough.
  template <bool PRICED>
  Found pick(Vertex row, const Dual* v, const PickDepth* depth, Dual enough = std::numeric_limits<Dual>::lowest()) {
    // Without v costs are compared as they are stored, except integers whose negative may not exist.
    constexpr bool AS_STORED = !PRICED && !(std::numeric_limits<Entry>::is_integer && Rows::Scan::IS_NEGATED);
    using Work = std::conditional_t<AS_STORED, Entry, Dual>;
    using WorkScan = Scan<Work, PRICED>;
    const Work* duals = nullptr;
    if constexpr (PRICED) duals = v;
    const Entry* entries = rows_.entries(row);
    const Vertex num_columns = rows_.num_columns();
    Work most = depth == nullptr ? WorkScan::FAR : find_most<Work, PRICED>(entries, duals, *depth);
    if constexpr (PRICED) most = std::max(most, enough);
    const Vertex first = first_column(row, num_columns);
    const Vertex size = WorkScan::list_least(entries, duals, num_columns, first / WorkScan::WORD,
                                             std::min(most, std::numeric_limits<Work>::max()), columns());
    const Vertex room = depth == nullptr ? num_columns : std::min(depth->room, num_columns);
    if (size <= room) return {size, above(most), false};
    // The word of the first column begins before it.
    const auto is_in_turn = [&, word = first / WorkScan::WORD * WorkScan::WORD](Vertex column) {
      return column < word || column >= first;
    };
    std::rotate(columns(), std::find_if(columns(), columns() + size, is_in_turn), columns() + size);
    return {room, keep_least(entries, v, size, room), true};
  }

 private:
  using Entry = typename Rows::Entry;
  template <class Work, bool PRICED>
  using Scan = PricingScan<Entry, Work, Rows::Scan::IS_NEGATED, PRICED>;

  // A column of a row, and its cost - v: read once, for it may change, and what is compared must not.
  struct Picked {
    Dual reduced;
    Vertex column;
  };

  template <class Work, bool PRICED>
  Work find_most(const Entry* entries, const Work* v, const PickDepth& depth) const {
    const Vertex num_columns = rows_.num_columns();
    Work minima[PickDepth::MOST_MINIMA];
    const Vertex parts = depth.minima / Scan<Work, PRICED>::MINIMA;
    for (Vertex part = 0; part < parts; ++part) {
      const Vertex begin = num_columns / parts * part, end = part + 1 < parts ? num_columns / parts * (part + 1) : num_columns;
      Scan<Work, PRICED>::find_minima(entries + begin, v + (PRICED ? begin : 0), end - begin,
                                      minima + part * Scan<Work, PRICED>::MINIMA);
    }
    std::nth_element(minima, minima + depth.chosen, minima + depth.minima);
    return minima[depth.chosen];
  }

  // Moves the least of what is picked to the front; of ties half those that were met first, which all rows together take evenly
  // from all columns, and half others from all over the row, for paths between far columns. Returns what the others have at
  // least: not less than any in front, so that the least of a row is known whatever there is room for.
  Dual keep_least(const Entry* entries, const Dual* v, Vertex size, Vertex room) {
    reduced_.resize(size);
    Dual most = std::numeric_limits<Dual>::lowest();
    for (Vertex i = 0; i < size; ++i) {
      const Dual reduced = Rows::Scan::cost(entries[columns_[i]]) - v[columns_[i]];
      reduced_[i] = reduced < infinite() ? reduced : infinite();
      most = std::max(most, reduced_[i]);
    }
    below_.clear();
    Vertex ties = 0;
    for (Vertex i = 0; i < size; ++i) {
      if (reduced_[i] < most) below_.push_back({reduced_[i], columns_[i]});
      else columns_[ties++] = columns_[i];
    }
    const auto num_below = static_cast<Vertex>(below_.size());
    if (num_below > room) {
      const auto is_less = [](const Picked& a, const Picked& b) { return a.reduced < b.reduced; };
      std::nth_element(below_.begin(), below_.begin() + room, below_.end(), is_less);
      most = below_[room].reduced;
    } else {
      mix(ties, room - num_below);
      std::copy_backward(columns_.begin(), columns_.begin() + (room - num_below), columns_.begin() + room);
    }
    const Vertex kept = std::min(num_below, room);
    std::transform(below_.begin(), below_.begin() + kept, columns_.begin(), [](const Picked& one) { return one.column; });
    return most;
  }

  // Leaves the first half of the wanted ones in place; the other half comes from places far from each other.
  void mix(Vertex ties, Vertex wanted) {
    const Count first = wanted / 2;
    for (Count k = first; k < wanted; ++k) columns_[k] = columns_[first + (k - first) * (ties - first) / (wanted - first)];
  }

  // What is above `most` is at least that.
  static Dual infinite() { return beyond_all(Dual{}); }
  static Dual above(int most) { return most == std::numeric_limits<int>::max() ? infinite() : Dual(most) + 1; }
  static Dual above(Count most) { return most == std::numeric_limits<Count>::max() ? infinite() : Dual(most + 1); }
  static Dual above(double most) { return static_cast<Dual>(most); }

  // Where a row begins: any rows in turn far from each other.
  static Vertex first_column(Vertex row, Vertex num_columns) {
    constexpr unsigned GOLDEN = 2654435769u;
    const unsigned place = static_cast<unsigned>(row) * GOLDEN;
    return static_cast<Vertex>(static_cast<unsigned long long>(place) * static_cast<unsigned>(num_columns) >> 32);
  }

  Rows rows_;
  std::vector<Vertex> columns_;  // [num_columns + 1]
  std::vector<Dual> reduced_;    // [num_columns at most] of more columns than there is room for: cost - v
  std::vector<Picked> below_;    // [num_columns at most] those that are below the largest of these
};
