// row_scan.hpp: passes over one row of dense costs, on one core of the host: where the serial methods spend their time.
//
// A row has at least as many columns as a register has lanes. The columns after the last whole register are read as the last
// register of the row, whose other columns do not count again. Passes that write, or that read what a pass has just written,
// read them otherwise: see `each`.
#pragma once
#include <cstddef>
#include <limits>

#include "serial/rows/lanes.hpp"

// Distances, and what stands for none. FAR is above every distance. A column whose v is MASKED is FAR from every row:
// so the columns of the tree drop out of the scans without a branch.
//
// Integers of b bits, when the costs are of range R (plus the range of v, on a start from duals): as long as a column f
// is free, v[f] is what it was at the start, and a matched pair (i, j) has v[j] = cost(i, j) - u[i] >= v[f] - R, since
// u[i] <= cost(i, f) - v[f]. No search goes farther than to f. From this, u, v, distances and offsets stay within 4 R
// of where the costs are, however many rows there are. So if costs (and v) are within +-2^(b-4) and R <= 2^(b-6), then
// every distance is below FAR = 2^(b-3), and cost - MASKED - offset is between FAR and 2^(b-1).
template <class Work>
struct Distance {
  static constexpr int BITS = std::numeric_limits<Work>::digits + 1;
  static constexpr Work FAR = Work{1} << (BITS - 3);
  static constexpr Work MASKED = -(Work{1} << (BITS - 2));
  static constexpr Work MAX_COST = Work{1} << (BITS - 4);
  static constexpr Work MAX_RANGE = Work{1} << (BITS - 6);
};
template <>
struct Distance<double> {
  static constexpr double FAR = std::numeric_limits<double>::infinity();
  static constexpr double MASKED = -FAR;
  static constexpr double MAX_COST = FAR;
};

template <class Entry, class Work, bool NEGATED>
struct RowScan {
  static constexpr bool IS_NEGATED = NEGATED;
  static constexpr Work FAR = Distance<Work>::FAR;
  static constexpr Vertex BLOCK = 128;  // columns for which `relax` notes the least distance
  // The fewest columns of a row, and the most of a word.
  static constexpr Vertex FEWEST_COLUMNS = SHORTEST_ROW / sizeof(Work), WORD = 8 * sizeof(Work);
  using Index = IndexLike<Work>;  // of rows, beside numbers for columns
  using Word = WordLike<Work>;    // a bit for each of WORD columns that follow one another

  static ALWAYS_INLINE Work cost(Entry entry) {
    const Work value = static_cast<Work>(entry);
    return NEGATED ? -value : value;
  }

  // Two rows that follow one another, and what is taken off the costs of each.
  struct TwoRows {
    const Entry* entries[2];
    Work u[2];
  };
  // The least cost of each of two rows.
  struct LeastOfTwo {
    Work of[2];
  };
  static LeastOfTwo find_least(const TwoRows& rows, Vertex num_columns) {
    return run_in_lanes<FindLeast>(sizeof(Work) * num_columns, rows, num_columns);
  }

  // Lowers v to the costs - u of two rows, `row` and the row after it. Notes which row is less, the first if they are equal.
  // Returns the least costs of the next two rows, which come from memory while the first two, in the cache, are read.
  static LeastOfTwo lower_columns(const TwoRows& rows, const TwoRows& next, Vertex row, Vertex num_columns, Work* v,
                                  Index* least_row) {
    // Few values of lanes are combined at the end, so the widest registers are faster from a fourth of the length on.
    return run_in_lanes<LowerColumns>(sizeof(Work) * 4 * num_columns, rows, next, row, num_columns, v, least_row);
  }

  // The least cost of a row, and the greatest below FAR; -FAR if there is none.
  struct Range {
    Work least, greatest;
  };
  static Range find_range(const Entry* entries, Vertex num_columns) {
    return run_in_lanes<FindRange>(sizeof(Work) * num_columns, entries, num_columns);
  }

  // The two least of cost - v, and the first column that has the least.
  struct LeastTwo {
    Work least, second;
    Vertex column;
  };
  static LeastTwo find_least_two(const Entry* entries, const Work* v, Vertex num_columns) {
    return run_in_lanes<FindLeastTwo>(sizeof(Work) * num_columns, entries, v, num_columns);
  }

  // The first free column with cost - v not above `value`, NONE if there is none.
  static Vertex find_free_column(const Entry* entries, const Work* v, const Word* is_free, Vertex num_columns, Work value) {
    return run_in_lanes<FindFreeColumn>(sizeof(Work) * num_columns, entries, v, is_free, num_columns, value);
  }

  // Which columns have cost - v below `value`: a bit for each, in words.
  static void find_below(const Entry* entries, const Work* v, Vertex num_columns, Work value, Word* below) {
    run_in_lanes<FindBelow>(sizeof(Work) * num_columns, entries, v, num_columns, value, below);
  }

  // Lowers the distances of the columns to those through `row`, cost - v - offset. Notes the least distance of every
  // block of columns, and returns the least of all. The first row of a tree sets them all.
  static Work relax(const Entry* entries, const Work* v, Work offset, Vertex row, Vertex num_columns, Work* distance,
                    Index* predecessor, Work* block_least) {
    return run_in_lanes<Relax>(sizeof(Work) * num_columns, entries, v, offset, row, num_columns, distance, predecessor,
                               block_least);
  }
  static Work relax_first(const Entry* entries, const Work* v, Vertex row, Vertex num_columns, Work* distance,
                          Index* predecessor, Work* block_least) {
    return run_in_lanes<RelaxFirst>(sizeof(Work) * num_columns, entries, v, row, num_columns, distance, predecessor,
                                    block_least);
  }

  // Which distances are not above `level`, of the columns of a word; num_columns of them are left, or more.
  static Word find_nearest(const Work* distance, Vertex num_columns, Work level) {
    return run_in_lanes<FindNearest>(SHORTEST_ROW, distance, num_columns, level);
  }

  // The passes, each for registers of any width.
  struct FindLeast {
    template <int BYTES>
    static ALWAYS_INLINE LeastOfTwo run(TwoRows rows, Vertex num_columns) {
      Minima<BYTES> minima;
      each<BYTES>(0, num_columns, [&](Vertex j, auto bytes) __attribute__((always_inline)) { minima.add(bytes, rows, j); });
      return minima.of_both();
    }
  };

  struct LowerColumns {
    template <int BYTES>
    static ALWAYS_INLINE LeastOfTwo run(TwoRows rows, TwoRows next, Vertex row, Vertex num_columns, Work* v,
                                        Index* least_row) {
      Minima<BYTES> minima;
      each<BYTES>(0, num_columns, [&](Vertex j, auto bytes) __attribute__((always_inline)) {
        constexpr int HERE = decltype(bytes)::value, LANES = COUNT<HERE>;
        const Vector<HERE> first = costs<HERE>(rows.entries[0] + j) - rows.u[0];
        const Vector<HERE> second = costs<HERE>(rows.entries[1] + j) - rows.u[1];
        const Vector<HERE> before = load<Work, LANES>(v + j), lower = lesser(first, second);
        const auto is_lower = lower < before, is_second = second < first;
        const Lanes<Index, LANES> here = is_second ? Lanes<Index, LANES>{} + (row + 1) : Lanes<Index, LANES>{} + row;
        store(v + j, lesser(before, lower));
        store(least_row + j, is_lower ? here : load<Index, LANES>(least_row + j));
        minima.add(bytes, next, j);
      });
      return minima.of_both();
    }
  };

  struct FindRange {
    template <int BYTES>
    static ALWAYS_INLINE Range run(const Entry* entries, Vertex num_columns) {
      constexpr int LANES = COUNT<BYTES>;
      const Vector<BYTES> far = all<Work, LANES>(FAR);
      Vector<BYTES> least = far, less = far;  // of costs, and of minus the costs
      for (Vertex j = 0; j < num_columns; j += LANES) {
        const Vector<BYTES> here = costs<BYTES>(entries + (j + LANES <= num_columns ? j : num_columns - LANES));
        least = lesser(least, here);
        less = lesser(less, here < far ? -here : far);
      }
      return {least_of<LANES>(least), -least_of<LANES>(less)};
    }
  };

  // Each lane keeps the two least of its columns.
  struct FindLeastTwo {
    template <int BYTES>
    static ALWAYS_INLINE LeastTwo run(const Entry* entries, const Work* v, Vertex num_columns) {
      constexpr int LANES = COUNT<BYTES>;
      Vector<BYTES> least = all<Work, LANES>(FAR), second = least;
      Indices<BYTES> column = all<Index, LANES>(0), here_column = numbered<Index, LANES>();
      const auto add = [&](const Vector<BYTES>& here) __attribute__((always_inline)) {
        second = lesser(second, greater(least, here));
        column = here < least ? here_column : column;
        least = lesser(least, here);
      };
      Vertex j = 0;
      for (; j + LANES <= num_columns; j += LANES) {
        add(reduced<BYTES>(entries + j, v + j));
        here_column += LANES;
      }
      if (j < num_columns) {
        const Vertex last = num_columns - LANES;
        here_column += last - j;
        add(here_column < Index{j} ? all<Work, LANES>(FAR) : reduced<BYTES>(entries + last, v + last));
      }
      const Vector<BYTES> least_here = least;
      merge_least_two<LANES>(least, second);
      const Indices<BYTES> first = least_here == least ? column : all<Index, LANES>(LAST_VERTEX);
      return {least[0], second[0], static_cast<Vertex>(least_of<LANES>(first))};
    }
  };

  struct FindBelow {
    template <int BYTES>
    static ALWAYS_INLINE void run(const Entry* entries, const Work* v, Vertex num_columns, Work value, Word* below) {
      constexpr int LANES = COUNT<BYTES>;
      for (Vertex begin = 0; begin < num_columns; begin += WORD) {
        Lanes<Word, LANES> hits = all<Word, LANES>(0);
        for (Vertex j = begin; j < begin + WORD && j < num_columns; j += LANES) {
          const Vertex at = j + LANES <= num_columns ? j : num_columns - LANES;
          const Indices<BYTES> hit = reduced<BYTES>(entries + at, v + at) < value;
          hits |= bits_of<Word, LANES>(hit, j - begin) >> (j - at);
        }
        below[begin / WORD] = any_of<LANES>(hits);
      }
    }
  };

  struct FindFreeColumn {
    template <int BYTES>
    static ALWAYS_INLINE Vertex run(const Entry* entries, const Work* v, const Word* is_free, Vertex num_columns,
                                    Work value) {
      constexpr int LANES = COUNT<BYTES>;
      for (Vertex begin = 0; begin < num_columns; begin += WORD) {
        const Word free_here = is_free[begin / WORD];
        if (free_here == 0) continue;
        Lanes<Word, LANES> hits = all<Word, LANES>(0);
        for (Vertex j = begin; j < begin + WORD && j < num_columns; j += LANES) {
          const Vertex at = j + LANES <= num_columns ? j : num_columns - LANES;
          const Indices<BYTES> hit = reduced<BYTES>(entries + at, v + at) <= value;
          hits |= bits_of<Word, LANES>(hit, j - begin) >> (j - at);
        }
        const Word found = any_of<LANES>(hits) & free_here;
        if (found != 0) return begin + first_bit(found);
      }
      return NONE;
    }
  };

  struct Relax {
    template <int BYTES>
    static ALWAYS_INLINE Work run(const Entry* entries, const Work* v, Work offset, Vertex row, Vertex num_columns,
                                  Work* distance, Index* predecessor, Work* block_least) {
      return relax_in<BYTES, false>(entries, v, offset, row, num_columns, distance, predecessor, block_least);
    }
  };
  struct RelaxFirst {
    template <int BYTES>
    static ALWAYS_INLINE Work run(const Entry* entries, const Work* v, Vertex row, Vertex num_columns, Work* distance,
                                  Index* predecessor, Work* block_least) {
      return relax_in<BYTES, true>(entries, v, Work{0}, row, num_columns, distance, predecessor, block_least);
    }
  };

  struct FindNearest {
    template <int BYTES>
    static ALWAYS_INLINE Word run(const Work* distance, Vertex num_columns, Work level) {
      constexpr int LANES = COUNT<BYTES>;
      Lanes<Word, LANES> hits = all<Word, LANES>(0);
      const auto add = [&](Vertex k) __attribute__((always_inline)) {
        const Indices<BYTES> hit = load<Work, LANES>(distance + k) <= level;
        hits |= bits_of<Word, LANES>(hit, k);
      };
      if (num_columns >= WORD) {
        for (Vertex k = 0; k < WORD; k += LANES) add(k);
        return any_of<LANES>(hits);
      }
      Word of_rest = 0;
      each<BYTES>(0, num_columns, [&](Vertex k, auto bytes) __attribute__((always_inline)) {
        constexpr int HERE = decltype(bytes)::value, LANES_HERE = COUNT<HERE>;
        if constexpr (HERE == BYTES) {
          add(k);
        } else if constexpr (LANES_HERE > 1) {
          const Indices<HERE> hit = load<Work, LANES_HERE>(distance + k) <= level;
          of_rest |= any_of<LANES_HERE>(bits_of<Word, LANES_HERE>(hit, k));
        } else {
          of_rest |= static_cast<Word>(distance[k] <= level) << k;
        }
      });
      return any_of<LANES>(hits) | of_rest;
    }
  };

 private:
  template <int BYTES>
  static constexpr int COUNT = BYTES / sizeof(Work);
  template <int BYTES>
  using Vector = Lanes<Work, COUNT<BYTES>>;
  template <int BYTES>
  using Indices = Lanes<Index, COUNT<BYTES>>;

  template <int BYTES>
  static ALWAYS_INLINE Vector<BYTES> costs(const Entry* entries) {
    const Vector<BYTES> value = load_as<Work, COUNT<BYTES>>(entries);
    return NEGATED ? -value : value;
  }
  template <int BYTES>
  static ALWAYS_INLINE Vector<BYTES> reduced(const Entry* entries, const Work* v) {
    return costs<BYTES>(entries) - load<Work, COUNT<BYTES>>(v);
  }

  // The least costs of two rows so far, by lanes of whole registers, and then by the columns after them.
  template <int BYTES>
  struct Minima {
    Vector<BYTES> in_lanes[2] = {all<Work, COUNT<BYTES>>(FAR), all<Work, COUNT<BYTES>>(FAR)};
    Work after[2] = {FAR, FAR};

    template <class Bytes>
    ALWAYS_INLINE void add(Bytes, const TwoRows& rows, Vertex j) {
      constexpr int HERE = Bytes::value;
      for (int k = 0; k < 2; ++k) {
        const Vector<HERE> here = costs<HERE>(rows.entries[k] + j);
        if constexpr (HERE == BYTES) in_lanes[k] = lesser(in_lanes[k], here);
        else after[k] = lesser(after[k], least_of<COUNT<HERE>>(here));
      }
    }
    ALWAYS_INLINE LeastOfTwo of_both() const {
      return {{lesser(after[0], least_of<COUNT<BYTES>>(in_lanes[0])), lesser(after[1], least_of<COUNT<BYTES>>(in_lanes[1]))}};
    }
  };

  // The columns from `begin` to `end` by whole registers, then by halves of them, and one by one: a pass that writes what the
  // next one reads must not read across what was written, for that waits.
  template <int BYTES, class Visit>
  static ALWAYS_INLINE void each(Vertex begin, Vertex end, const Visit& visit) {
    constexpr int LANES = COUNT<BYTES>;
    Vertex j = begin;
    for (; j + LANES <= end; j += LANES) visit(j, std::integral_constant<int, BYTES>{});
    if constexpr (BYTES > 16) each<BYTES / 2>(j, end, visit);
    else if constexpr (LANES > 1) each<sizeof(Work)>(j, end, visit);
  }

  template <int BYTES, bool FIRST>
  static ALWAYS_INLINE Work relax_in(const Entry* entries, const Work* v, Work offset, Vertex row, Vertex num_columns,
                                     Work* distance, Index* predecessor, Work* block_least) {
    Work least = FAR;
    for (Vertex begin = 0; begin < num_columns; begin += BLOCK) {
      const Vertex end = num_columns - begin < BLOCK ? num_columns : begin + BLOCK;
      Vector<BYTES> nearest = all<Work, COUNT<BYTES>>(FAR);
      Work least_here = FAR;
      each<BYTES>(begin, end, [&](Vertex j, auto bytes) __attribute__((always_inline)) {
        constexpr int HERE = decltype(bytes)::value, LANES = COUNT<HERE>;
        Vector<HERE> now = reduced<HERE>(entries + j, v + j) - offset;
        if constexpr (FIRST) {
          store(predecessor + j, Lanes<Index, LANES>{} + row);
        } else {
          const Vector<HERE> before = load<Work, LANES>(distance + j);
          const auto is_nearer = now < before;
          now = is_nearer ? now : before;
          store(predecessor + j, is_nearer ? Lanes<Index, LANES>{} + row : load<Index, LANES>(predecessor + j));
        }
        store(distance + j, now);
        if constexpr (HERE == BYTES) nearest = lesser(nearest, now);
        else least_here = lesser(least_here, least_of<LANES>(now));
      });
      least_here = lesser(least_here, least_of<COUNT<BYTES>>(nearest));
      block_least[begin / BLOCK] = least_here;
      least = lesser(least, least_here);
    }
    return least;
  }
};

// A pass that copies entries that lie side by side to integers of 32 bits.
template <class Entry>
struct WholeScan {
  static constexpr int MOST = 1 << 30;

  // Whether all entries are whole and, if they are floats, within MOST of zero. Integers must be within MOST of zero. The copy
  // ends at the first block with another entry.
  static bool copy(const Entry* entries, Count number, int* to) {
    for (Count begin = 0; begin < number; begin += BLOCK) {
      const Count length = number - begin < BLOCK ? number - begin : BLOCK;
      if (!run_in_lanes<Copy>(SHORTEST_ROW, entries + begin, static_cast<Vertex>(length), to + begin)) return false;
    }
    return true;
  }

  struct Copy {
    template <int BYTES>
    static ALWAYS_INLINE bool run(const Entry* entries, Vertex length, int* to) {
      constexpr int LANES = BYTES / sizeof(Entry);
      using Index = IndexLike<Entry>;
      Lanes<Index, LANES> others = all<Index, LANES>(0);
      Vertex j = 0;
      for (; j + LANES <= length; j += LANES) others |= copy_lanes<LANES>(entries + j, to + j);
      bool is_whole = any_of<LANES>(others) == 0;
      for (; j < length; ++j) is_whole &= copy_lanes<1>(entries + j, to + j) == 0;
      return is_whole;
    }
  };

 private:
  static constexpr Count BLOCK = 256;  // entries. The test at the end of a block takes a tenth of its time

  // Returns 0 for lanes that are whole.
  template <int LANES>
  static ALWAYS_INLINE Lanes<IndexLike<Entry>, LANES> copy_lanes(const Entry* entries, int* to) {
    const Lanes<Entry, LANES> entry = load<Entry, LANES>(entries);
    if constexpr (std::numeric_limits<Entry>::is_integer) {
      store(to, as_numbers<int, LANES>(entry));
      return all<IndexLike<Entry>, LANES>(0);
    } else {
      const Lanes<Entry, LANES> most = all<Entry, LANES>(MOST), least = -most;
      const Lanes<Entry, LANES> near = lesser(greater(entry, least), most);  // other floats have no int
      const Lanes<int, LANES> whole = as_numbers<int, LANES>(near);
      store(to, whole);
      return (Lanes<IndexLike<Entry>, LANES>)(as_numbers<Entry, LANES>(whole) != entry);
    }
  }
};
