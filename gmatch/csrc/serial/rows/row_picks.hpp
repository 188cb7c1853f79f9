// row_picks.hpp: the least entries of a row, and a bound on all others, for solvers that know a part of each row.
#pragma once
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "serial/rows/lanes.hpp"
#include "serial/rows/rows.hpp"

// A bit for each of some columns, from the lowest bit on.
using Marks = unsigned long long;

// The number of bits that are set. gmatch is compiled for processors that may lack an instruction for it, and a call would take
// longer than this.
inline Vertex ones_of(Marks marks) {
  marks -= marks >> 1 & 0x5555555555555555u;
  marks = (marks & 0x3333333333333333u) + (marks >> 2 & 0x3333333333333333u);
  marks = (marks + (marks >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<Vertex>(marks * 0x0101010101010101u >> 56);
}

// Passes over a row that pick its least entries. First they find MINIMA minima, each over every MINIMA-th column. Then they mark
// all entries up to the k-th least of these minima: at least k entries, and mostly few more.
template <class Entry, class Work, bool NEGATED, bool PRICED>
struct PricingScan {
  using Word = WordLike<Work>;
  static constexpr Vertex MINIMA = 32, WORD = 8 * sizeof(Work);
  static constexpr Work FAR = std::numeric_limits<Work>::has_infinity ? std::numeric_limits<Work>::infinity()
                                                                      : std::numeric_limits<Work>::max();

  static void find_minima(const Entry* entries, const Work* v, Vertex num_columns, Work* minima) {
    run_in_lanes<FindMinima>(num_columns * sizeof(Work), entries, v, num_columns, minima);
    const Vertex whole = num_columns / MINIMA * MINIMA;
    for (Vertex j = whole; j < num_columns; ++j) minima[j - whole] = std::min(minima[j - whole], reduced<1>(entries, v, j));
  }

  // Marks the columns whose cost - v is at most `most` (OR_EQUAL) or below it, in words of WORD columns. Bits beyond the last
  // column are 0.
  template <bool OR_EQUAL>
  static void mark(const Entry* entries, const Work* v, Vertex num_columns, Work most, Marks* marks) {
    const Vertex whole = num_columns / WORD;
    run_in_lanes<Mark<OR_EQUAL>>(num_columns * sizeof(Work), entries, v, whole, most, marks);
    if (num_columns % WORD == 0) return;
    Marks last = 0;
    for (Vertex j = whole * WORD; j < num_columns; ++j) {
      last |= static_cast<Marks>(is_hit<1, OR_EQUAL>(entries, v, j, most) & 1) << (j - whole * WORD);
    }
    marks[whole] = last;
  }

  // Lists the columns whose cost - v is at most `most`, in order. Returns their number. `marks` is memory to work in: one number
  // for each word.
  static Vertex list_least(const Entry* entries, const Work* v, Vertex num_columns, Work most, Marks* marks, Vertex* list) {
    mark<true>(entries, v, num_columns, most, marks);
    Vertex* end = list;
    for (Vertex word = 0; word * WORD < num_columns; ++word) {
      for (Marks here = marks[word]; here != 0; here &= here - 1) *end++ = word * WORD + first_bit(here);
    }
    return static_cast<Vertex>(end - list);
  }

  // The greatest cost - v of some columns.
  static Work greatest(const Entry* entries, const Work* v, const Vertex* columns, Vertex size) {
    Work most = reduced<1>(entries, v, columns[0]);
    for (Vertex i = 1; i < size; ++i) most = std::max(most, reduced<1>(entries, v, columns[i]));
    return most;
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

  template <bool OR_EQUAL>
  struct Mark {
    template <int BYTES>
    static ALWAYS_INLINE void run(const Entry* entries, const Work* v, Vertex num_words, Work most, Marks* marks) {
      constexpr int LANES = BYTES / sizeof(Work);
      for (Vertex word = 0; word < num_words; ++word) {
        Lanes<Word, LANES> hits = all<Word, LANES>(0);
        for (int k = 0; k < WORD; k += LANES) {
          hits |= bits_of<Word, LANES>(is_hit<LANES, OR_EQUAL>(entries, v, word * WORD + k, most), k);
        }
        marks[word] = any_of<LANES>(hits);
      }
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
  template <int LANES, bool OR_EQUAL>
  static ALWAYS_INLINE auto is_hit(const Entry* entries, const Work* v, Vertex column, Work most) {
    const Lanes<Work, LANES> here = reduced<LANES>(entries, v, column);
    using Hit = Lanes<IndexLike<Work>, LANES>;
    if constexpr (LANES == 1) return static_cast<IndexLike<Work>>(OR_EQUAL ? here <= most : here < most);
    else if constexpr (OR_EQUAL) return static_cast<Hit>(here <= most);
    else return static_cast<Hit>(here < most);
  }
};

// How deep a row is picked: up to the `chosen`-th of `minima` minima, and at most `room` entries, since many may tie.
struct PickDepth {
  static constexpr Vertex FEWEST_MINIMA = 32, MOST_MINIMA = 256;
  Vertex minima, chosen, room;
};

// Picks entries of rows, by cost - v.
template <class Rows, class Dual>
class RowPicks {
 public:
  // The number of picked columns; a bound on all others, whose cost - v is at least that; whether there was no room for some.
  struct Found {
    Vertex size;
    Dual bound;
    bool overflows;
    bool is_read = true;  // from the row itself
  };

  // Which entries of a row are picked whatever its depth is: all whose cost - v is at most `enough`. No entry is picked whose
  // cost - v is `limit` or more.
  struct Wanted {
    Dual enough = std::numeric_limits<Dual>::lowest();
    Dual limit = infinite();
  };

  // If in_turn, each row lists its columns from another column on, and around. Otherwise columns are listed in order.
  explicit RowPicks(const Rows& rows, bool in_turn = true)
      : rows_(rows),
        in_turn_(in_turn),
        columns_(rows.num_columns() + 1),
        marks_(rows.num_columns() / 32 + 1),
        below_(marks_.size()) {}

  const Rows& rows() const { return rows_; }
  // The picked columns of the row that was read last.
  Vertex* columns() { return columns_.data(); }
  const Vertex* columns() const { return columns_.data(); }
  // What the picked entry of number `i` costs.
  Dual cost(Vertex row, Vertex i) const { return static_cast<Dual>(rows_.at(row, columns_[i])); }

  // See ReservedPicks.
  Found pick_again(Vertex row, const Dual* v, const PickDepth* depth) { return pick<true>(row, v, depth); }
  static bool must_be_computed(Vertex) { return false; }
  void expect(const Vertex*, Vertex) {}
  Rows& source() { return rows_; }

  // Picks the least entries of a row down to `depth`, and the other wanted entries, but at most `depth->room` in all. Without a
  // depth all entries below the limit are picked. If not PRICED, all v are 0 and `wanted.enough` is not read.
  template <bool PRICED>
  Found pick(Vertex row, const Dual* v, const PickDepth* depth, const Wanted& wanted = {}) {
    // Without v costs are compared as they are stored, except integers whose negative may not exist.
    constexpr bool AS_STORED = !PRICED && !(std::numeric_limits<Entry>::is_integer && Rows::Scan::IS_NEGATED);
    using Work = std::conditional_t<AS_STORED, Entry, Dual>;
    using WorkScan = Scan<Work, PRICED>;
    const Work* duals = nullptr;
    if constexpr (PRICED) duals = v;
    const Entry* entries = rows_.entries(row);
    const Vertex num_columns = rows_.num_columns();
    Work most = depth == nullptr ? WorkScan::FAR : find_most<Work, PRICED>(entries, duals, *depth);
    bool is_of_an_entry = most < WorkScan::FAR, is_below = false;
    if constexpr (PRICED) {
      is_of_an_entry &= !(most < wanted.enough);
      most = std::max(most, wanted.enough);
    }
    Dual bound = above(most);
    most = std::min(most, std::numeric_limits<Work>::max());
    if (!(static_cast<Dual>(most) < wanted.limit)) {
      bound = wanted.limit;
      if (wanted.limit < static_cast<Dual>(std::numeric_limits<Work>::lowest())) return {0, bound, false};
      most = static_cast<Work>(wanted.limit);
      is_below = !(static_cast<Dual>(most) < wanted.limit);
      is_of_an_entry = false;
    }
    if (is_below) WorkScan::template mark<false>(entries, duals, num_columns, most, marks_.data());
    else WorkScan::template mark<true>(entries, duals, num_columns, most, marks_.data());
    const Vertex words = (num_columns + WorkScan::WORD - 1) / WorkScan::WORD, size = count(marks_, words);
    const Vertex room = depth == nullptr ? num_columns : std::min(depth->room, num_columns);
    const Turn<WorkScan::WORD> turn{first_column(row, num_columns), words}, in_order{0, words};
    if (size <= room) {
      (in_turn_ ? turn : in_order).list_by_words(marks_, columns());
      return {size, bound, false};
    }
    if (!is_of_an_entry) {
      in_order.list_by_words(marks_, columns());
      most = WorkScan::greatest(entries, duals, columns(), size);
    }
    WorkScan::template mark<false>(entries, duals, num_columns, most, below_.data());
    bound = std::min(static_cast<Dual>(most), infinite());
    keep_some(turn, size, room);
    if (num_below_ > room) bound = keep_least(entries, v, room);
    if (!in_turn_) sort(room);
    return {room, bound, true};
  }

 private:
  using Entry = typename Rows::Entry;
  template <class Work, bool PRICED>
  using Scan = PricingScan<Entry, Work, Rows::Scan::IS_NEGATED, PRICED>;

  // Lists the columns below the greatest of the marked ones, then as many of the ties at the greatest as there is room for.
  template <class Turn>
  void keep_some(const Turn& turn, Vertex size, Vertex room) {
    for (Vertex word = 0; word < turn.words; ++word) {
      below_[word] &= marks_[word];
      marks_[word] ^= below_[word];
    }
    num_below_ = turn.list(below_, columns());
    if (num_below_ <= room) turn.list_some(marks_, size - num_below_, room - num_below_, columns() + num_below_);
  }

  // Sorts the first `size` columns of the list.
  void sort(Vertex size) {
    constexpr int WORD = 8 * sizeof(Marks);
    const Vertex words = rows_.num_columns() / WORD + 1;
    std::fill_n(marks_.begin(), words, Marks{0});
    for (Vertex i = 0; i < size; ++i) marks_[columns_[i] / WORD] |= Marks{1} << columns_[i] % WORD;
    Turn<WORD>{0, words}.list_by_words(marks_, columns());
  }

  // A column of a row, and its cost - v. The cost is read once: other threads may change it while columns are compared.
  struct Picked {
    Dual reduced;
    Vertex column;
  };

  // The order of columns, in words: from column `first` to the last column, then from column 0 on.
  template <int WORD>
  struct Turn {
    const Vertex first, words;

    // Lists by whole words: columns before `first` in its word come at the beginning, too.
    void list_by_words(const std::vector<Marks>& marks, Vertex* list) const {
      for (Vertex k = 0; k < words; ++k) list = list_word(at(k), marks[at(k)], list);
    }
    // Lists the marked columns. Returns their number.
    Vertex list(const std::vector<Marks>& marks, Vertex* list) const {
      Vertex* end = list;
      each(marks, [&](Vertex word, Marks here) { end = list_word(word, here, end); });
      return static_cast<Vertex>(end - list);
    }
    // Lists `wanted` of the `all` marked columns. Half of them are the first ones: rows begin at different columns, so together
    // they take all columns evenly. The other half lie far from each other, for paths between far columns.
    void list_some(const std::vector<Marks>& marks, Vertex all, Vertex wanted, Vertex* list) const {
      const Count half = wanted / 2;
      Count listed = 0, next = 0, passed = 0;  // `next` and `passed` count among all marked columns
      each(marks, [&](Vertex word, Marks here) {
        const Count end = passed + ones_of(here);
        while (listed < wanted && next < end) {
          for (; passed < next; ++passed) here &= here - 1;
          list[listed++] = word * WORD + first_bit(here);
          next = listed < half ? listed : half + (listed - half) * (all - half) / (wanted - half);
        }
        passed = end;
      });
    }

   private:
    Vertex at(Vertex k) const { return (first / WORD + k) % words; }
    static Vertex* list_word(Vertex word, Marks here, Vertex* list) {
      for (; here != 0; here &= here - 1) *list++ = word * WORD + first_bit(here);
      return list;
    }
    template <class Visit>
    void each(const std::vector<Marks>& marks, const Visit& visit) const {
      const Marks before = (Marks{1} << first % WORD) - 1;
      visit(at(0), marks[at(0)] & ~before);
      for (Vertex k = 1; k < words; ++k) visit(at(k), marks[at(k)]);
      visit(at(0), marks[at(0)] & before);
    }
  };

  static Vertex count(const std::vector<Marks>& marks, Vertex words) {
    Vertex number = 0;
    for (Vertex word = 0; word < words; ++word) number += ones_of(marks[word]);
    return number;
  }

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

  // Moves the `room` least of the listed columns to the front. Returns the least cost - v of the others. No column in front has
  // more, so the least entry of a row is always picked.
  Dual keep_least(const Entry* entries, const Dual* v, Vertex room) {
    picked_.clear();
    for (Vertex i = 0; i < num_below_; ++i) {
      const Dual reduced = Rows::Scan::cost(entries[columns_[i]]) - v[columns_[i]];
      picked_.push_back({reduced < infinite() ? reduced : infinite(), columns_[i]});
    }
    const auto is_less = [](const Picked& a, const Picked& b) { return a.reduced < b.reduced; };
    std::nth_element(picked_.begin(), picked_.begin() + room, picked_.end(), is_less);
    std::transform(picked_.begin(), picked_.begin() + room, columns_.begin(), [](const Picked& one) { return one.column; });
    return picked_[room].reduced;
  }

  // A number above `most` is at least above(most).
  static Dual infinite() { return beyond_all(Dual{}); }
  static Dual above(int most) { return most == std::numeric_limits<int>::max() ? infinite() : Dual(most) + 1; }
  static Dual above(Count most) { return most == std::numeric_limits<Count>::max() ? infinite() : Dual(most + 1); }
  static Dual above(double most) { return static_cast<Dual>(most); }

  // The column where a row begins. Consecutive rows begin far from each other.
  static Vertex first_column(Vertex row, Vertex num_columns) {
    constexpr unsigned GOLDEN = 2654435769u;
    const unsigned place = static_cast<unsigned>(row) * GOLDEN;
    return static_cast<Vertex>(static_cast<unsigned long long>(place) * static_cast<unsigned>(num_columns) >> 32);
  }

  Rows rows_;
  const bool in_turn_;
  std::vector<Vertex> columns_;  // [num_columns + 1]
  std::vector<Marks> marks_;     // the columns up to the greatest cost - v that is wanted
  std::vector<Marks> below_;     // the columns below it
  Vertex num_below_ = 0;
  std::vector<Picked> picked_;   // [num_columns at most] the columns that keep_least compares
};
