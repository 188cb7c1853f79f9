// two_parts.hpp: costs in which one number stands for "not", and some rows must use it, on one core.
//
// The number is so large that as few rows as possible use it. The pairs alone tell which rows these may be, without costs
// (Dulmage and Mendelsohn). A largest matching of the other pairs leaves rows free. The rows that alternating paths reach from
// them are the crowded rows. They compete for the columns that the paths reach, all of which are used. So the problem falls into
// two ordinary ones, which never meet the number:
//
//   crowded rows and reached columns   each column gets a row; rows that get no column use the number with any other column
//   all other rows and columns         each row gets a column
//
// A dual is a multiple of the number, and the dual of its own part: crowded rows have the number once, reached columns -1 times.
// So no rounding hides what the other pairs cost, and no duals have to be taken apart: see tiers.hpp.
//
// Dulmage, Mendelsohn, "Coverings of bipartite graphs", Canadian Journal of Mathematics 10 (1958).
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "costs/magnitudes.hpp"
#include "serial/exact/lowered_costs.hpp"
#include "serial/exact/tier_scan.hpp"
#include "serial/rows/short_vector.hpp"
#include "serial/stored_shortest_paths.hpp"

// A pass over a row: which costs are less than a number, as bits of columns, and the largest magnitude of these. It is infinite
// if a cost is larger than the number, as the cost of a forbidden pair is.
template <class Entry, bool NEGATED>
struct LessScan {
  using Word = WordLike<double>;
  static constexpr Vertex WORD = 64;

  template <int BYTES>
  static ALWAYS_INLINE double run(const Entry* entries, double number, Vertex width, Word* less) {
    constexpr int LANES = BYTES / sizeof(double);
    using Vector = Lanes<double, LANES>;
    const Vector zero = all<double, LANES>(0), far = all<double, LANES>(Distance<double>::FAR);
    Vector largest = zero;
    const auto look = [&](const Entry* from) __attribute__((always_inline)) {
      const Vector entry = load_as<double, LANES>(from), cost = NEGATED ? -entry : entry;
      const auto hit = cost < number;
      const Vector small = hit ? cost : zero, others = cost > number ? far : small;
      largest = greater(largest, greater(others, -others));
      return hit;
    };
    for (Vertex begin = 0; begin < width; begin += WORD) {
      Lanes<Word, LANES> hits = all<Word, LANES>(0);
      Vertex j = begin;
      for (; j < begin + WORD && j + LANES <= width; j += LANES) hits |= bits_of<Word, LANES>(look(entries + j), j - begin);
      const Vertex last = width - LANES;
      if (j < begin + WORD && j < width) hits |= bits_of<Word, LANES>(look(entries + last), j - begin) >> (j - last);
      less[begin / WORD] = any_of<LANES>(hits);
    }
    return -least_of<LANES>(-largest);
  }
};

// Costs without a limit. `number` is the largest that is not infinite. Entries of a row lie side by side.
template <class Cost>
class TwoParts {
 public:
  TwoParts(const DenseCosts<Cost>& costs, double number)
      : costs_(costs),
        number_(number),
        words_((costs.num_columns + Scan::WORD - 1) / Scan::WORD),
        tiers_(&memory_),
        bits_((Count{costs.num_rows} + 3) * words_, Word{0}, &memory_),
        vertices_(2 * costs.num_rows + 4 * costs.num_columns, NONE, &memory_),
        list_(&memory_),
        is_crowded_(costs.num_rows, 0, &memory_) {
    Word* next_word = bits_.data();
    for (Word** const part : {&free_, &reached_, &wanted_, &less_}) *part = std::exchange(next_word, next_word + words_);
    std::fill_n(free_, words_, ~Word{0});
    Vertex* next = vertices_.data();
    for (Vertex** const part : {&row_match_, &rows_}) *part = std::exchange(next, next + costs.num_rows);
    for (Vertex** const part : {&col_match_, &before_, &columns_, &place_}) *part = std::exchange(next, next + costs.num_columns);
  }

  // Whether the number may stand for "not". Most often the least or the first cost tells that the number leaves no room for it.
  static bool may_be(const DenseCosts<Cost>& costs, double least, double number) {
    const auto has_room = [=](double cost) { return !(cost < number) || leaves_room(number, costs.num_rows, std::abs(cost)); };
    return has_room(least) && has_room(static_cast<double>(costs.at(0, 0)));
  }

  // Whether the number stands for "not", and some rows must use it.
  bool find() {
    double largest = 0;
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      largest = std::max(largest, scan(row));
      if (!leaves_room(number_, costs_.num_rows, largest)) return false;
    }
    largest_ = largest;
    return !match_all();
  }

  // Solves both parts. u and v are the duals beside the multiples of the number, which `tiers` has. False if it is no solution,
  // since another thread has changed the costs.
  bool solve(const ShortestPathResult<double>& result, ShortestPathCounters& counters) {
    divide();
    std::fill_n(result.u, costs_.num_rows, 0);
    std::fill_n(result.v, costs_.num_columns, 0);
    std::fill_n(result.row_match, costs_.num_rows, NONE);
    std::fill_n(result.col_match, costs_.num_columns, NONE);
    const Part crowded{rows_, num_crowded_, columns_, num_reached_};
    const ShortestPathResult<double> turned{result.v, result.u, result.col_match, result.row_match};
    if (!solve_part(crowded.turned(), true, turned, counters)) return false;
    const Part others{rows_ + num_crowded_, costs_.num_rows - num_crowded_, columns_ + num_reached_,
                      num_wanted_};
    if (!solve_part(others, false, result, counters)) return false;
    match_rows_without_column(result);
    note_tiers();
    return true;
  }

  const ShortVector<Tier>& tiers() const { return tiers_; }
  // Which columns no cheapest assignment leaves free: crowded rows reach them. Empty if there are as many rows as columns.
  std::vector<bool> must_be_used() const {
    std::vector<bool> must(costs_.num_rows < costs_.num_columns ? costs_.num_columns : 0);
    for (std::size_t j = 0; j < must.size(); ++j) must[j] = tiers_[0].columns[j] < 0;
    return must;
  }
  // Frees the crowded rows that use the number, after `solve`. There is at least one of these rows.
  void free_rows_without_column(const ShortestPathResult<double>& result) const {
    for (Vertex k = 0; k < num_crowded_; ++k) {
      Vertex& column = result.row_match[rows_[k]];
      if (less_of(rows_[k])[column / Scan::WORD] >> column % Scan::WORD & 1) continue;
      result.col_match[column] = NONE;
      column = NONE;
    }
  }
  // Whether each row and each column is in a smallest cover of the pairs below the number (König 1931): the rows that are not
  // crowded, and the columns that are reached. The columns come first if the rows are columns of the caller.
  std::vector<Count> cover(bool columns_first) const {
    std::vector<Count> is_in_cover(costs_.num_rows + costs_.num_columns, 0);
    Count* const of_rows = is_in_cover.data() + (columns_first ? costs_.num_columns : 0);
    Count* const of_columns = is_in_cover.data() + (columns_first ? 0 : costs_.num_rows);
    for (Vertex k = num_crowded_; k < costs_.num_rows; ++k) of_rows[rows_[k]] = 1;
    for (Vertex k = 0; k < num_reached_; ++k) of_columns[columns_[k]] = 1;
    return is_in_cover;
  }
  // What the pair of a row costs beside the multiples of the number.
  double rest_of_pair(Vertex row, const ShortestPathResult<double>& result) const {
    const double whole = cost(row, result.row_match[row]);
    return whole < number_ ? whole : 0;
  }
  // Whether rounding loses digits of the duals as a whole.
  bool loses_digits(const ShortestPathResult<double>& result) const {
    const auto loses = [&](double rest) { return TierScan::difference<1>(number_, rest).lost != 0; };
    return std::any_of(rows_, rows_ + num_crowded_, [&](Vertex row) { return loses(-result.u[row]); }) ||
           std::any_of(columns_, columns_ + num_reached_, [&](Vertex j) { return loses(result.v[j]); });
  }

 private:
  using Scan = LessScan<Cost, false>;
  using Word = typename Scan::Word;
  using Vertices = ShortVector<Vertex>;
  // Some rows and columns of the costs.
  struct Part {
    const Vertex* rows;
    Vertex num_rows;
    const Vertex* columns;
    Vertex num_columns;

    Part turned() const { return {columns, num_columns, rows, num_rows}; }
  };

  static bool leaves_room(double number, Vertex rows, double rest) { return number > LoweredCosts::ROOM * (rows + 1.0) * rest; }
  double cost(Vertex row, Vertex column) const { return static_cast<double>(costs_.at(row, column)); }
  Word* less_of(Vertex row) const { return less_ + Count{row} * words_; }

  double scan(Vertex row) {
    Word* const less = less_of(row);
    poll_.spend(costs_.num_columns);
    if (costs_.num_columns >= static_cast<Vertex>(SHORTEST_ROW / sizeof(double))) {
      const std::size_t bytes = sizeof(double) * costs_.num_columns;
      const Cost* const entries = costs_.place(row, 0);
      if (costs_.maximize) return run_in_lanes<LessScan<Cost, true>>(bytes, entries, number_, costs_.num_columns, less);
      return run_in_lanes<LessScan<Cost, false>>(bytes, entries, number_, costs_.num_columns, less);
    }
    double largest = 0;
    for (Vertex j = 0; j < costs_.num_columns; ++j) {
      if (cost(row, j) < number_) *less |= Word{1} << j;
      if (cost(row, j) != number_) largest = std::max(largest, std::abs(cost(row, j)));
    }
    return largest;
  }

  // A largest matching of the pairs below the number. Returns whether it matches all rows; else notes which rows are crowded.
  bool match_all() {
    list_.reserve(costs_.num_rows);
    Vertices left(&memory_);
    left.reserve(costs_.num_rows);
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      if (!take_free_column(row)) left.push_back(row);
    }
    bool all = true;
    for (const Vertex row : left) all = augment(row) && all;
    return all;
  }
  bool take_free_column(Vertex row) {
    for (Vertex k = 0; k < words_; ++k) {
      const Word both = less_of(row)[k] & free_[k];
      if (both == 0) continue;
      const Vertex column = k * Scan::WORD + first_bit(both);
      before_[column] = row;
      flip(column);
      return true;
    }
    return false;
  }
  // No column that was reached in vain leads to a free one ever after.
  bool augment(Vertex root) {
    Word* const reached_before = wanted_;  // memory that is free until the parts are listed
    std::copy_n(reached_, words_, reached_before);
    list_.assign(1, root);
    for (std::size_t next = 0; next < list_.size(); ++next) {
      const Vertex end = reach_from(list_[next]);
      if (end == NONE) continue;
      flip(end);
      std::copy_n(reached_before, words_, reached_);
      return true;
    }
    for (const Vertex row : list_) is_crowded_[row] = 1;
    return false;
  }
  // Returns a free column, or lists the rows of the columns that are reached.
  Vertex reach_from(Vertex row) {
    for (Vertex k = 0; k < words_; ++k) {
      Word fresh = less_of(row)[k] & ~reached_[k];
      reached_[k] |= fresh;
      const Word ends = fresh & free_[k];
      for (fresh = ends != 0 ? ends & -ends : fresh; fresh != 0; fresh &= fresh - 1) {
        const Vertex column = k * Scan::WORD + first_bit(fresh);
        before_[column] = row;
        if (ends != 0) return column;
        list_.push_back(col_match_[column]);
      }
    }
    return NONE;
  }
  void flip(Vertex column) {
    free_[column / Scan::WORD] &= ~(Word{1} << column % Scan::WORD);
    while (column != NONE) {
      const Vertex row = before_[column];
      col_match_[column] = row;
      column = std::exchange(row_match_[row], column);
    }
  }

  // Lists crowded rows before the others, and reached columns before the columns that other rows want. There is at least one more
  // wanted column than other rows, so that one may stay free.
  void divide() {
    std::fill_n(wanted_, words_, Word{0});
    num_crowded_ = static_cast<Vertex>(std::count(is_crowded_.begin(), is_crowded_.end(), 1));
    Vertex crowded = 0, others = num_crowded_;
    for (Vertex row = 0; row < costs_.num_rows; ++row) {
      rows_[is_crowded_[row] ? crowded++ : others++] = row;
      for (Vertex k = 0; k < words_ && !is_crowded_[row]; ++k) wanted_[k] |= less_of(row)[k] & ~reached_[k];
    }
    Vertex end = 0;
    const auto list = [&](const auto& is_listed) {
      for (Vertex j = 0; j < costs_.num_columns; ++j) {
        if (is_listed(j)) columns_[end++] = j;
      }
    };
    const auto has = [](const Word* bits, Vertex j) { return bits[j / Scan::WORD] >> j % Scan::WORD & 1; };
    list([&](Vertex j) { return has(reached_, j); });
    num_reached_ = end;
    list([&](Vertex j) { return has(wanted_, j); });
    num_wanted_ = end - num_reached_;
    list([&](Vertex j) { return !has(reached_, j) && !has(wanted_, j); });
    const Vertex other_rows = costs_.num_rows - num_crowded_;
    if (num_wanted_ == other_rows) ++num_wanted_;
    for (Vertex k = 0; k < costs_.num_columns; ++k) place_[columns_[k]] = k < num_reached_ ? k : k - num_reached_;
  }

  // Matches all rows of a part, which are columns of the costs if it is turned. They are fewer than its columns.
  bool solve_part(const Part& part, bool turned, const ShortestPathResult<double>& result, ShortestPathCounters& counters) {
    const auto [rows, num_rows, columns, num_columns] = part;
    if (num_rows == 0) return true;
    ShortVector<double> numbers(Count{num_rows} * num_columns + num_rows + num_columns, Distance<double>::FAR, &memory_);
    Vertices mates(num_rows + num_columns, &memory_);
    double *const u = numbers.data(), *const v = u + num_rows, *const entries = v + num_columns;
    if (turned) copy(part.turned(), entries, 1, num_columns);
    else copy(part, entries, num_columns, 1);
    const ShortestPathResult<double> found{u, v, mates.data(), mates.data() + num_rows};
    const DenseCosts<double> costs{num_rows, num_columns, entries, num_columns, 1, false, DenseCosts<double>::infinite()};
    if (solve_as_stored(costs, {-largest_, largest_, false}, found, counters) < num_rows) return false;
    for (Vertex k = 0; k < num_columns; ++k) result.v[columns[k]] = found.v[k];
    for (Vertex k = 0; k < num_rows; ++k) {
      const Vertex column = columns[found.row_match[k]];
      result.u[rows[k]] = found.u[k];
      result.row_match[rows[k]] = column;
      result.col_match[column] = rows[k];
    }
    return true;
  }
  // Copies the pairs below the number.
  void copy(const Part& part, double* to, Count row_stride, Count column_stride) {
    const Count first = part.columns - columns_;
    for (Vertex k = 0; k < part.num_rows; ++k) {
      const Vertex row = part.rows[k];
      for (Vertex word = 0; word < words_; ++word) {
        Word pairs = less_of(row)[word];
        if (first > 0) pairs &= ~reached_[word];
        for (; pairs != 0; pairs &= pairs - 1) {
          const Vertex column = word * Scan::WORD + first_bit(pairs);
          to[k * row_stride + place_[column] * column_stride] = cost(row, column);
        }
      }
    }
  }
  void match_rows_without_column(const ShortestPathResult<double>& result) {
    const Vertex* column = columns_ + num_reached_;
    for (Vertex k = 0; k < num_crowded_; ++k) {
      if (result.row_match[rows_[k]] != NONE) continue;
      while (result.col_match[*column] != NONE) ++column;
      result.row_match[rows_[k]] = *column;
      result.col_match[*column] = rows_[k];
    }
  }
  void note_tiers() {
    Tier tier{number_, ShortVector<double>(costs_.num_rows, &memory_), ShortVector<double>(costs_.num_columns, &memory_)};
    std::copy(is_crowded_.begin(), is_crowded_.end(), tier.rows.begin());
    for (Vertex k = 0; k < num_reached_; ++k) tier.columns[columns_[k]] = -1;
    tiers_.reserve(1);
    tiers_.push_back(std::move(tier));
  }

  const DenseCosts<Cost>& costs_;
  const double number_;
  const Vertex words_;  // of a row's bits
  ShortMemory memory_;
  ShortVector<Tier> tiers_;
  ShortVector<Word> bits_;      // memory of the next four
  Word* less_;                  // [rows * words] which pairs cost less than the number
  Word* free_;                  // [words] columns that the matching leaves free; bits after the last column stay
  Word* reached_;               // [words] columns that paths from free rows reach
  Word* wanted_;                // [words] other columns, with a pair of a row that is not crowded
  ShortVector<Vertex> vertices_;  // memory of the next six
  Vertex *row_match_, *col_match_;
  Vertex* before_;              // [columns] the row from which a column was reached
  Vertex *rows_, *columns_;     // part by part
  Vertex* place_;               // [columns] the place of a column in its part
  Vertices list_;               // rows of a search
  ShortVector<char> is_crowded_;
  Vertex num_crowded_ = 0, num_reached_ = 0, num_wanted_ = 0;
  double largest_ = 0;
  Poll poll_;
};
