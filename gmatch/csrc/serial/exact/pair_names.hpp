// pair_names.hpp: names of pairs, and marks that are made of them; see gmatch/assignment/ties.py.
#pragma once
#include <algorithm>
#include <vector>

#include "serial/exact/marked_pairs.hpp"
#include "serial/rows/lanes.hpp"
#include "serial/rows/row_picks.hpp"

// The name of a pair is the sum of its row's and its column's name. Columns without names are ways out, whose marks are 0.
struct PairNames {
  std::vector<Count> rows, columns;

  // Of a matrix of `width` columns as it was given, in which the rows of a solver may be columns.
  static PairNames of(Vertex num_rows, Vertex num_columns, Vertex width, bool transposed) {
    PairNames names;
    const auto count = [](Vertex size, Count step) {
      std::vector<Count> numbers(size);
      for (Vertex k = 0; k < size; ++k) numbers[k] = k * step;
      return numbers;
    };
    names.rows = count(num_rows, transposed ? 1 : width);
    names.columns = count(num_columns, transposed ? width : 1);
    return names;
  }
};

// The marks of one turn, as weights.
class MarkWeights {
 public:
  static constexpr Vertex WORD = 64;

  MarkWeights(const PairNames& names, int turn) : names_(names), turn_(turn) {}

  Count operator()(Vertex row, Vertex column) const {
    if (column >= static_cast<Vertex>(names_.columns.size())) return 0;
    return mark_of(names_.rows[row] + names_.columns[column], turn_);
  }
  // Writes the weights of a row of `size` columns: `forbidden` for columns whose bit is 0.
  void write(Vertex row, Vertex size, const Marks* bits, double forbidden, double* to) const {
    const Vertex num_named = std::min(size, static_cast<Vertex>(names_.columns.size()));
    const Row named{names_.columns.data(), names_.rows[row], num_named, bits};
    run_in_lanes<Write>(num_named * sizeof(double), named, turn_, forbidden, to);
    for (Vertex j = num_named; j < size; ++j) to[j] = bits[j / WORD] >> j % WORD & 1 ? 0 : forbidden;
  }

 private:
  // Columns with names, and the bits of those that have weights.
  struct Row {
    const Count* names;
    Count name;
    Vertex size;
    const Marks* bits;
  };

  struct Write {
    template <int BYTES>
    static ALWAYS_INLINE void run(const Row row, int turn, double forbidden, double* to) {
      constexpr int LANES = BYTES / sizeof(double);
      using Words = Lanes<unsigned long long, LANES>;
      Vertex j = 0;
      for (; j + LANES <= row.size; j += LANES) {
        const Marks bits = row.bits[j / WORD] >> j % WORD;
        const Words marks = marks_of(load_as<unsigned long long, LANES>(row.names + j) + row.name, turn, MARK_BITS);
        const auto is_tied = (all<unsigned long long, LANES>(bits) >> numbered<unsigned long long, LANES>() & 1) != 0;
        // 2^52 + mark has the mark as its last bits.
        const Words with_exponent = marks | 0x4330000000000000ULL;
        Lanes<double, LANES> numbers;
        __builtin_memcpy(&numbers, &with_exponent, sizeof numbers);
        numbers -= 0x1p52;
        store(to + j, is_tied ? numbers : all<double, LANES>(forbidden));
      }
      for (; j < row.size; ++j) {
        const bool is_tied = row.bits[j / WORD] >> j % WORD & 1;
        to[j] = is_tied ? static_cast<double>(mark_of(row.names[j] + row.name, turn)) : forbidden;
      }
    }
  };

  const PairNames& names_;
  const int turn_;
};
