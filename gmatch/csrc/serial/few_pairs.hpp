// few_pairs.hpp: a matrix in which nearly all pairs have one common cost, and the few other pairs cost less, on the host.
//
// The cheaper pairs are a core. All pairs that it leaves out have the common cost. So each row has a way out at this cost: a row
// that takes it gets any column that stays free. Free columns have v = 0, and no v is above 0. So no pair outside the core has a
// lower cost - v. The sparse method solves the core and the ways out. Its time depends only on the number of cheaper pairs.
//
// The pass that checks the costs also lists the pairs. Examples are 1 - IoU, distances that are cut off at a gate, few
// similarities, and numbers that stand for "not".
#pragma once
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "costs/dense.cuh"
#include "costs/sparse.cuh"
#include "serial/rows/lanes.hpp"
#include "serial/shortest_path.hpp"
#include "serial/sparse_shortest_path.hpp"
#include "team/host_threads.hpp"
#include "team/interrupt.hpp"

// Finds the entries of a line that differ from one number: a bit of a word for each entry. NaN differs.
template <class Entry>
struct FindOthers {
  using Word = WordLike<Entry>;
  static constexpr Vertex WORD = 8 * sizeof(Entry);

  template <int BYTES>
  static ALWAYS_INLINE void run(const Entry* entries, Entry number, Vertex length, Word* others) {
    constexpr int LANES = BYTES / sizeof(Entry);
    using Bits = Lanes<Word, LANES>;
    const Lanes<Entry, LANES> same = Lanes<Entry, LANES>{} + number;
    const auto load_at = [=](Vertex j) __attribute__((always_inline)) {
      return load<Entry, LANES>(entries + (j + LANES <= length ? j : length - LANES));
    };
    for (Vertex begin = 0; begin < length; begin += WORD) {
      const Vertex end = std::min(begin + WORD, length);
      Bits differs{};  // in any bit: 0 and -0 differ here, so entries are then compared as numbers
      for (Vertex j = begin; j < end; j += LANES) differs |= (Bits)load_at(j) ^ (Bits)same;
      Bits hits{};
      if (any_of<LANES>(differs) != 0) {
        for (Vertex j = begin; j < end; j += LANES) {
          const Vertex beyond = j + LANES <= length ? 0 : j + LANES - length;
          hits |= bits_of<Word, LANES>(load_at(j) != same, j - begin) >> beyond;
        }
      }
      others[begin / WORD] = any_of<LANES>(hits);
    }
  }
};

// Pairs that cost less than `common`. All other pairs cost `common`. The last pair of a row is its way out.
template <class Dual>
struct FewPairs {
  Vertex num_rows, num_columns;
  Dual common, least;           // of all pairs
  std::vector<Count> offsets;   // [num_rows + 1]
  std::vector<Vertex> columns;  // of ways out: num_columns + row
  std::vector<Dual> costs;      // of ways out: the common cost

  // Writes the cost of each row's pair.
  void find_costs(const Vertex* row_match, Dual* found) const {
    for (Vertex row = 0; row < num_rows; ++row) {
      Count k = offsets[row];
      while (k < offsets[row + 1] - 1 && columns[k] != row_match[row]) ++k;  // other pairs cost what the way out does
      found[row] = costs[k];
    }
  }

  // Whether a cost is negative, but above -bound.
  bool has_negative_within(double bound) const {
    return std::any_of(costs.begin(), costs.end(), [=](Dual cost) { return cost < 0 && static_cast<double>(cost) > -bound; });
  }
};

// Lists the cheaper pairs of a matrix, and checks its costs.
template <class Stored>
class FewPairsFinder {
 public:
  using Dual = typename DenseCosts<Stored>::Dual;

  // Entries of a row lie side by side, or entries of a column. There is no limit.
  explicit FewPairsFinder(const DenseCosts<Stored>& costs)
      : costs_(costs),
        by_columns_(costs.column_stride != 1),
        num_lines_(by_columns_ ? costs.num_columns : costs.num_rows),
        length_(by_columns_ ? costs.num_rows : costs.num_columns),
        line_stride_(by_columns_ ? costs.column_stride : costs.row_stride) {}

  // Returns the pairs. Returns none if the other pairs differ in cost, if more than about 1 pair in MOST is cheaper, or if an
  // entry is no finite number.
  std::optional<FewPairs<Dual>> find(int threads) {
    if (length_ < Others::WORD || (by_columns_ && costs_.row_stride != 1) || !speaks_for_few()) return std::nullopt;
    std::vector<Share> shares(std::min<Count>(threads, num_lines_));
    const auto first_line = [&](int share) { return static_cast<Vertex>(Count{num_lines_} * share / shares.size()); };
    run_on_host(static_cast<int>(shares.size()), [&](HostTeam& team) {
      const int share = team.rank();
      shares[share].is_listed = list(shares[share], first_line(share), first_line(share + 1));
    });
    if (!std::all_of(shares.begin(), shares.end(), [](const Share& share) { return share.is_listed; })) return std::nullopt;
    return by_rows(shares);
  }

 private:
  using Others = FindOthers<Stored>;
  // At most 1 pair in MOST may be cheaper. This is tested after each line, as if there were FIRST_LINES more lines, so that the
  // first lines may have more. The sparse method takes 6 ns for a pair. In this time the dense method reads 80 entries from the
  // cache, or 32 from memory: benchmarks/log/ties_and_gates.md, "The cheaper pairs are a core".
  static constexpr Count MOST = 64, FIRST_LINES = 16;

  // The cheaper pairs of some lines, and room for another line.
  struct Share {
    std::vector<Count> ends;  // of each line
    std::vector<Vertex> places;
    std::vector<Dual> costs;
    bool is_listed = false;

    void make_room(std::size_t size) {
      if (size <= places.size()) return;
      places.resize(2 * size);
      costs.resize(2 * size);
    }
  };

  // What a pair costs. Costs are not checked yet. If they are maximized, -2**63 stays -2**63, which is no cost.
  Dual cost_of(Stored stored) const {
    const auto entry = static_cast<Dual>(value_of(stored));
    if (!costs_.maximize) return entry;
    if constexpr (std::is_floating_point_v<Dual>) return -entry;
    else return static_cast<Dual>(0 - static_cast<unsigned long long>(entry));
  }

  // Whether three pairs in four of a sample have the greatest cost of the sample.
  bool speaks_for_few() {
    constexpr int PAIRS = 64;
    constexpr unsigned SCATTER = 2654435761u;
    Dual seen[PAIRS];
    for (int k = 0; k < PAIRS; ++k) {
      seen[k] = cost_of(*costs_.place(static_cast<Vertex>(Count{costs_.num_rows} * k / PAIRS),
                                      static_cast<Vertex>(k * SCATTER % costs_.num_columns)));
    }
    common_ = *std::max_element(seen, seen + PAIRS);
    const bool is_cost = -costs_.infinite() < common_ && common_ < costs_.infinite();
    return is_cost && std::count(seen, seen + PAIRS, common_) * 4 >= PAIRS * 3;
  }

  bool list(Share& share, Vertex begin, Vertex end) const {
    const Stored number = static_cast<Stored>(costs_.maximize ? -common_ : common_);
    std::vector<typename Others::Word> others(length_ / Others::WORD + 1);
    Poll poll;
    Count size = 0;
    bool are_costs = true;
    for (Vertex line = begin; line < end; ++line) {
      poll.spend(length_);
      const Stored* const entries = costs_.costs + line * line_stride_;
      run_in_lanes<Others>(sizeof(Stored) * length_, entries, number, length_, others.data());
      share.make_room(static_cast<std::size_t>(size + length_));
      Vertex* const places = share.places.data();
      Dual* const costs = share.costs.data();
      for (Vertex first = 0; first < length_; first += Others::WORD) {
        for (auto word = others[first / Others::WORD]; word != 0; word &= word - 1) {
          const Vertex place = first + first_bit(word);
          const Dual cost = cost_of(entries[place]);
          are_costs = are_costs && cost < common_ && cost > -costs_.infinite();
          places[size] = place;
          costs[size++] = cost;
        }
      }
      share.ends.push_back(size);
      if (!are_costs || size * MOST > (line - begin + FIRST_LINES) * Count{length_}) return false;
    }
    return true;
  }

  FewPairs<Dual> by_rows(const std::vector<Share>& shares) const {
    FewPairs<Dual> pairs{costs_.num_rows, costs_.num_columns, common_, common_, {}, {}, {}};
    std::vector<Count>& offsets = pairs.offsets;
    offsets.assign(costs_.num_rows + 1, 0);
    each(shares, [&](Vertex row, Vertex, Dual) { ++offsets[row + 1]; });
    for (Vertex row = 0; row < costs_.num_rows; ++row) offsets[row + 1] += offsets[row] + 1;
    pairs.columns.resize(offsets.back());
    pairs.costs.resize(offsets.back());
    std::vector<Count> next(offsets.begin(), offsets.end() - 1);
    const auto add = [&](Vertex row, Vertex column, Dual cost) {
      pairs.columns[next[row]] = column;
      pairs.costs[next[row]++] = cost;
      pairs.least = std::min(pairs.least, cost);
    };
    each(shares, add);
    for (Vertex row = 0; row < costs_.num_rows; ++row) add(row, costs_.num_columns + row, common_);
    return pairs;
  }
  // Calls visit(row, column, cost) for each pair, by lines.
  template <class Visit>
  void each(const std::vector<Share>& shares, const Visit& visit) const {
    Vertex line = 0;
    for (const Share& share : shares) {
      Count k = 0;
      for (const Count end : share.ends) {
        for (; k < end; ++k) {
          if (by_columns_) visit(share.places[k], line, share.costs[k]);
          else visit(line, share.places[k], share.costs[k]);
        }
        ++line;
      }
    }
  }

  const DenseCosts<Stored>& costs_;
  const bool by_columns_;
  const Vertex num_lines_, length_;
  const Count line_stride_;
  Dual common_{};
};

// Vectors of a solution.
struct FoundPairs {
  std::vector<Vertex> row_match, col_match;
  std::vector<double> u, v;

  FoundPairs(Vertex num_rows, Vertex num_columns) : row_match(num_rows), col_match(num_columns), u(num_rows), v(num_columns) {}
  ShortestPathResult<double> result() { return {u.data(), v.data(), row_match.data(), col_match.data()}; }
  void copy_to(const ShortestPathResult<double>& to) const {
    std::copy(row_match.begin(), row_match.end(), to.row_match);
    std::copy(col_match.begin(), col_match.end(), to.col_match);
    std::copy(u.begin(), u.end(), to.u);
    std::copy(v.begin(), v.end(), to.v);
  }
};

// Rows that take their way out get the free columns, in order.
template <class Dual>
void match_rows_that_are_out(const ShortestPathResult<Dual>& result, Vertex num_rows) {
  Vertex free = 0;
  for (Vertex row = 0; row < num_rows; ++row) {
    if (result.row_match[row] != NONE) continue;
    while (result.col_match[free] != NONE) ++free;
    result.row_match[row] = free;
    result.col_match[free] = row;
  }
}

// Matches all rows at the least cost. `entries` are used instead of the costs of the listed pairs. Ways out cost `way_out`, and
// no pair costs more.
template <class Dual>
void solve_few_pairs(const FewPairs<Dual>& pairs, Dual way_out, const Dual* entries, const ShortestPathResult<Dual>& result,
                     SparseShortestPathCounters& counters) {
  const Vertex num_rows = pairs.num_rows, num_columns = pairs.num_columns, num_ends = num_columns + num_rows;
  using Costs = const SparseCosts<Dual, Count, Vertex>;
  Costs costs{num_rows, num_ends, pairs.offsets.data(), pairs.columns.data(), entries, false};
  std::vector<Vertex> col_match(num_ends);
  std::vector<Dual> v(num_ends);
  SparseShortestPathSolver<Costs>(costs, counters).solve(false, result.row_match, col_match.data(), result.u, v.data());
  std::copy_n(col_match.begin(), num_columns, result.col_match);
  std::copy_n(v.begin(), num_columns, result.v);
  for (Vertex row = 0; row < num_rows; ++row) {
    if (result.row_match[row] < num_columns) continue;
    result.row_match[row] = NONE;
    result.u[row] = way_out;  // the way out itself may have a dual below 0
  }
  match_rows_that_are_out(result, num_rows);
}

// Matches all rows at the least cost, cut off at a limit.
template <class Dual>
void solve_few_pairs(const FewPairs<Dual>& pairs, Dual limit, const ShortestPathResult<Dual>& result,
                     SparseShortestPathCounters& counters) {
  if (pairs.common <= limit) return solve_few_pairs(pairs, pairs.common, pairs.costs.data(), result, counters);
  std::vector<Dual> cut_off(pairs.costs.size());
  std::transform(pairs.costs.begin(), pairs.costs.end(), cut_off.begin(), [=](Dual cost) { return std::min(cost, limit); });
  solve_few_pairs(pairs, limit, cut_off.data(), result, counters);
}
