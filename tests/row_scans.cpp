// row_scans.cpp: passes over rows of costs, in registers of every width that this processor has, beside plain loops.
// Rows end where their memory ends. Then the solver that makes these passes, with costs outside the range it was told.
//
//   g++ -std=c++17 -O1 -g -fsanitize=address -I gmatch/csrc tests/row_scans.cpp -o row_scans && ./row_scans
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "serial/core_search.hpp"
#include "serial/exact/tiers.hpp"
#include "serial/exact/two_parts.hpp"
#include "serial/monge.hpp"
#include "serial/stored_shortest_paths.hpp"

static void expect(bool holds, const char* what, Vertex num_columns, int bytes) {
  if (holds) return;
  std::printf("%s: wrong for %d columns, in registers of %d bytes\n", what, num_columns, bytes);
  std::exit(1);
}

template <class Pass, class... Arguments>
static auto run_in([[maybe_unused]] int bytes, Arguments... arguments) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (bytes == 64) return run_in_64_bytes<Pass>(arguments...);
  if (bytes == 32) return run_in_32_bytes<Pass>(arguments...);
#endif
  return Pass::template run<16>(arguments...);
}

static std::vector<int> widths() {
  std::vector<int> found{16};
#if defined(__x86_64__) && defined(__GNUC__)
  for (const int bytes : {32, 64}) {
    if (bytes <= WIDEST_LANES) found.push_back(bytes);
  }
#endif
  return found;
}

// A row of a matrix with the state of a search, all of few values, so that they tie.
template <class Entry, class Work, bool NEGATED>
struct Row {
  using Scan = RowScan<Entry, Work, NEGATED>;
  using Index = typename Scan::Index;
  using Word = typename Scan::Word;

  Vertex size;
  std::unique_ptr<Entry[]> entries, next;
  std::vector<Work> v, distance;
  std::vector<Index> predecessor;
  std::vector<Word> is_free;

  Row(std::mt19937& random, Vertex num_columns)
      : size(num_columns),
        entries(new Entry[num_columns]),
        next(new Entry[num_columns]),
        v(num_columns),
        distance(num_columns),
        predecessor(num_columns),
        is_free((num_columns + Scan::WORD - 1) / Scan::WORD, 0) {
    const unsigned values = random() % 2 ? 3 : 1000;
    for (Vertex j = 0; j < size; ++j) {
      entries[j] = static_cast<Entry>(random() % values);
      next[j] = static_cast<Entry>(random() % values);
      if constexpr (!std::numeric_limits<Entry>::is_integer) {
        if (random() % 5 == 0) entries[j] = static_cast<Entry>(NEGATED ? -INFINITE : INFINITE);
      }
      v[j] = random() % 4 == 0 ? Distance<Work>::MASKED : static_cast<Work>(random() % values);
      distance[j] = random() % 4 == 0 ? Scan::FAR : static_cast<Work>(random() % values);
      predecessor[j] = static_cast<Index>(random() % 50);
      if (random() % 3 == 0) is_free[j / Scan::WORD] |= Word{1} << j % Scan::WORD;
    }
  }
  Work cost(Vertex j) const { return Scan::cost(entries[j]); }

 private:
  static constexpr double INFINITE = std::numeric_limits<double>::infinity();
};

template <class Entry, class Work, bool NEGATED>
static void check_passes(std::mt19937& random, Vertex num_columns, int bytes) {
  using Scan = RowScan<Entry, Work, NEGATED>;
  using Index = typename Scan::Index;
  using Word = typename Scan::Word;
  const Row<Entry, Work, NEGATED> row(random, num_columns);
  const Entry* const entries = row.entries.get();
  const Entry* const next_entries = row.next.get();
  const auto must = [&](bool holds, const char* what) { expect(holds, what, num_columns, bytes); };

  const auto found = run_in<typename Scan::FindLeastTwo>(bytes, entries, row.v.data(), num_columns);
  Work least = Scan::FAR, second = Scan::FAR;
  Vertex column = NONE;
  for (Vertex j = 0; j < num_columns; ++j) {
    const Work here = row.cost(j) - row.v[j];
    if (here < least) {
      second = least;
      least = here;
      column = j;
    } else if (here < second) {
      second = here;
    }
  }
  must(found.least == least && found.second == second && (column == NONE || found.column == column), "find_least_two");

  for (const Work value : {Work{-5}, Work{0}, Work{2}, Work{500}}) {
    Vertex free_column = NONE;
    for (Vertex j = num_columns - 1; j >= 0; --j) {
      const bool is_free = row.is_free[j / Scan::WORD] >> j % Scan::WORD & 1;
      if (is_free && row.cost(j) - row.v[j] <= value) free_column = j;
    }
    const Vertex found_free = run_in<typename Scan::FindFreeColumn>(bytes, entries, row.v.data(), row.is_free.data(),
                                                                    num_columns, value);
    must(found_free == free_column, "find_free_column");
    std::vector<Word> below(row.is_free.size());
    run_in<typename Scan::FindBelow>(bytes, entries, row.v.data(), num_columns, value, below.data());
    for (Vertex j = 0; j < num_columns; ++j) {
      const bool is_below = below[j / Scan::WORD] >> j % Scan::WORD & 1;
      must(is_below == (row.cost(j) - row.v[j] < value), "find_below");
    }
    for (std::size_t word = 0; word < row.is_free.size(); ++word) {
      const Work* distance = row.distance.data() + word * Scan::WORD;
      const Vertex left = num_columns - static_cast<Vertex>(word) * Scan::WORD;
      Word near = 0;
      for (Vertex k = 0; k < std::min(left, Scan::WORD); ++k) near |= static_cast<Word>(distance[k] <= value) << k;
      must(run_in<typename Scan::FindNearest>(bytes, distance, left, value) == near, "find_nearest");
      if (near != 0) must((near & -near) == Word{1} << first_bit(near), "first_bit");
    }
  }

  const Work offset = static_cast<Work>(random() % 7) - 3;
  std::vector<Work> distance = row.distance, first_distance = row.distance, block_least(num_columns / Scan::BLOCK + 1);
  std::vector<Index> predecessor = row.predecessor, first_predecessor = row.predecessor;
  const Work nearest = run_in<typename Scan::Relax>(bytes, entries, row.v.data(), offset, Vertex{77}, num_columns,
                                                    distance.data(), predecessor.data(), block_least.data());
  std::vector<Work> blocks(block_least.size(), Scan::FAR);
  Work all = Scan::FAR;
  for (Vertex j = 0; j < num_columns; ++j) {
    const Work here = row.cost(j) - row.v[j] - offset, before = row.distance[j];
    must(distance[j] == (here < before ? here : before), "relax, distance");
    must(predecessor[j] == (here < before ? Index{77} : row.predecessor[j]), "relax, predecessor");
    blocks[j / Scan::BLOCK] = std::min(blocks[j / Scan::BLOCK], distance[j]);
    all = std::min(all, distance[j]);
  }
  must(nearest == all, "relax, least");
  for (Vertex block = 0; block * Scan::BLOCK < num_columns; ++block) {
    must(block_least[block] == blocks[block], "relax, blocks");
  }

  const Work first =
      run_in<typename Scan::RelaxFirst>(bytes, entries, row.v.data(), Vertex{78}, num_columns, first_distance.data(),
                                        first_predecessor.data(), block_least.data());
  all = Scan::FAR;
  for (Vertex j = 0; j < num_columns; ++j) {
    must(first_distance[j] == row.cost(j) - row.v[j] && first_predecessor[j] == 78, "relax_first");
    all = std::min(all, first_distance[j]);
  }
  must(first == all, "relax_first, least");

  std::vector<Work> v = row.v;
  std::vector<Index> least_row = row.predecessor;
  const Work u = row.cost(0), next_u = row.cost(num_columns - 1);
  const typename Scan::TwoRows rows{{entries, next_entries}, {u, next_u}}, next_rows{{next_entries, entries}, {Work{0}, Work{0}}};
  const auto least_of_rows = run_in<typename Scan::FindLeast>(bytes, rows, num_columns);
  const auto least_of_next = run_in<typename Scan::LowerColumns>(bytes, rows, next_rows, Vertex{90}, num_columns, v.data(),
                                                                 least_row.data());
  all = Scan::FAR;
  Work all_of_next = Scan::FAR, greatest = -Scan::FAR;
  for (Vertex j = 0; j < num_columns; ++j) {
    all = std::min(all, row.cost(j));
    all_of_next = std::min(all_of_next, Scan::cost(row.next[j]));
    if (row.cost(j) < Scan::FAR) greatest = std::max(greatest, row.cost(j));
    const Work here = row.cost(j) - u, next = Scan::cost(row.next[j]) - next_u;
    const Work lower = next < here ? next : here;
    must(v[j] == std::min(row.v[j], lower), "lower_columns");
    must(least_row[j] == (lower < row.v[j] ? next < here ? 91 : 90 : row.predecessor[j]), "lower_columns, row");
  }
  must(least_of_rows.of[0] == all && least_of_rows.of[1] == all_of_next, "find_least");
  must(least_of_next.of[0] == all_of_next && least_of_next.of[1] == all, "lower_columns, least of the next rows");
  const auto range = run_in<typename Scan::FindRange>(bytes, entries, num_columns);
  must(range.least == all && range.greatest == greatest, "find_range");
}

template <class Entry, class Work, bool NEGATED, bool PRICED>
static void check_pricing(std::mt19937& random, Vertex num_columns, int bytes) {
  using Scan = PricingScan<Entry, Work, NEGATED, PRICED>;
  const Row<Entry, Work, NEGATED> row(random, num_columns);
  const Entry* const entries = row.entries.get();
  const auto must = [&](bool holds, const char* what) { expect(holds, what, num_columns, bytes); };
  const auto reduced = [&](Vertex j) { return PRICED ? row.cost(j) - row.v[j] : row.cost(j); };

  std::vector<Work> minima(Scan::MINIMA), expected(Scan::MINIMA, Scan::FAR);
  run_in<typename Scan::FindMinima>(bytes, entries, row.v.data(), num_columns, minima.data());
  for (Vertex j = 0; j < num_columns / Scan::MINIMA * Scan::MINIMA; ++j) {
    expected[j % Scan::MINIMA] = std::min(expected[j % Scan::MINIMA], reduced(j));
  }
  must(minima == expected, "find_minima");

  const auto is_marked = [](const std::vector<Marks>& marks, Vertex j) {
    return (marks[j / Scan::WORD] >> j % Scan::WORD & 1) != 0;
  };
  const Vertex words = num_columns / Scan::WORD;
  const std::vector<Marks> none(words + 1, 0);
  std::vector<Marks> whole = none, marks = none, below = none;
  run_in<typename Scan::template Mark<true>>(bytes, entries, row.v.data(), words, Work{1}, whole.data());
  Scan::template mark<true>(entries, row.v.data(), num_columns, Work{1}, marks.data());
  Scan::template mark<false>(entries, row.v.data(), num_columns, Work{1}, below.data());
  std::vector<Vertex> list(num_columns), listed;
  Count bits = 0;
  for (Vertex j = 0; j < num_columns; ++j) {
    must(j >= words * Scan::WORD || is_marked(whole, j) == (reduced(j) <= Work{1}), "marks of whole words");
    must(is_marked(marks, j) == (reduced(j) <= Work{1}), "mark, or equal");
    must(is_marked(below, j) == (reduced(j) < Work{1}), "mark");
    if (reduced(j) <= Work{1}) listed.push_back(j);
  }
  for (const Marks word : marks) bits += ones_of(word);
  must(bits == static_cast<Count>(listed.size()), "ones_of, and no mark beyond the last column");
  list.resize(Scan::list_least(entries, row.v.data(), num_columns, Work{1}, marks.data(), list.data()));
  must(list == listed, "list_least");
}

// Whole numbers; at times one that is not whole, or does not fit 32 bits.
template <class Entry>
static void check_copy(std::mt19937& random, Vertex num_columns, int bytes) {
  std::unique_ptr<Entry[]> entries(new Entry[num_columns]);
  for (Vertex j = 0; j < num_columns; ++j) entries[j] = static_cast<Entry>(static_cast<int>(random() % (1u << 24)) - (1 << 23));
  bool is_whole = true;
  if constexpr (!std::numeric_limits<Entry>::is_integer) {
    const Entry others[] = {Entry(0.5), Entry(-1e300 * 1e300), Entry(1e300 * 1e300), Entry(1u << 31), Entry(-0.0)};
    const unsigned which = random() % 10;
    if (which < std::size(others)) entries[random() % num_columns] = others[which];
    is_whole = which >= 4;
  }
  std::unique_ptr<int[]> copy(new int[num_columns]);
  const bool found = run_in<typename WholeScan<Entry>::Copy>(bytes, entries.get(), num_columns, copy.get());
  expect(found == is_whole, "copy, whether all is whole", num_columns, bytes);
  for (Vertex j = 0; found && j < num_columns; ++j) {
    expect(static_cast<Entry>(copy[j]) == entries[j], "copy", num_columns, bytes);
  }
}

// A matrix whose rows are columns of memory, in squares of registers and a rest.
template <class Entry>
static void check_transposed(std::mt19937& random, Vertex rows, Vertex columns) {
  const Count stride = rows + static_cast<Count>(random() % 3);
  const std::unique_ptr<Entry[]> entries(new Entry[(columns - 1) * stride + rows]);
  const std::unique_ptr<Entry[]> copies(new Entry[rows * columns]);
  for (Vertex j = 0; j < columns; ++j) {
    for (Vertex row = 0; row < rows; ++row) entries[row + j * stride] = static_cast<Entry>(random());
  }
  const DenseCosts<Entry> costs{rows, columns, entries.get(), 1, stride, false, DenseCosts<Entry>::infinite()};
  copy_rows(costs, copies.get(), 1);
  for (Vertex row = 0; row < rows; ++row) {
    for (Vertex j = 0; j < columns; ++j) {
      const bool is_same = copies[row * columns + j] == entries[row + j * stride];
      expect(is_same, "copy_rows", columns, static_cast<int>(sizeof(Entry)));
    }
  }
}

// Multiples of a value and rests, zero and forbidden pairs among them; the passes choose their registers.
static void check_tiers(std::mt19937& random, Vertex num_columns) {
  constexpr double FAR = std::numeric_limits<double>::infinity(), VALUE = 3e15;
  const auto must = [&](bool holds, const char* what) { expect(holds, what, num_columns, widths().back()); };
  const std::unique_ptr<double[]> costs(new double[num_columns]), v(new double[num_columns]), rests(new double[num_columns]);
  Tier tier{VALUE, {double(random() % 3)}, ShortVector<double>(num_columns)};
  for (Vertex j = 0; j < num_columns; ++j) {
    costs[j] = VALUE * (int(random() % 5) - 2) + std::ldexp(int(random() % 9) - 4, int(random() % 40) - 20);
    if (random() % 6 == 0) costs[j] = random() % 2 ? 0 : FAR;
    v[j] = -double(random() % 3);
    tier.columns[j] = int(random() % 3) - 1;
  }
  const TierScan::OfRow of_row = TierScan::of_row(tier, 0);

  TierScan::SeenInLanes in_lanes;
  const double least_reduced = TierScan::look(costs.get(), of_row, v.get(), num_columns, rests.get(), in_lanes);
  const TierScan::Seen seen = in_lanes.of_all();
  TierScan::Seen expected;
  double reduced = FAR;
  for (Vertex j = 0; j < num_columns; ++j) {
    const double times = std::nearbyint(costs[j] / VALUE), above = times - tier.rows[0] - tier.columns[j];
    const double rest = costs[j] < FAR ? costs[j] - times * VALUE : 0;  // times of few bits: exact
    const bool is_left = costs[j] < FAR && above == 0;
    must(rests[j] == (is_left ? rest : FAR), "look, rests");
    must(TierScan::find_rest(costs[j], &of_row, 1, j) == rests[j], "find_rest");
    expected.least = std::min(expected.least, rest);
    expected.most = std::max(expected.most, rest);
    if (costs[j] < FAR) expected.least_above = std::min(expected.least_above, above);
    if (!is_left) continue;
    reduced = std::min(reduced, rest - v[j]);
  }
  must(least_reduced == reduced && seen.least_above == expected.least_above, "look, least");
  must(seen.least == expected.least && seen.most == expected.most, "look, range");
  must(TierScan::largest_rest(costs.get(), VALUE, num_columns) == expected.largest(), "largest_rest");

  // All numbers are multiples of 2^-24, so that integers hold all differences. Beside these v a double loses the costs.
  const auto whole = [](double number) { return static_cast<__int128>(std::ldexp(number, 24)); };
  for (Vertex j = 0; j < num_columns; ++j) v[j] = VALUE - double(random() % 3);
  const double of_pair = std::ldexp(1, -20), v_of_pair = VALUE - 1;
  const double gap = TierScan::largest_gap(costs.get(), v.get(), TierScan::difference<1>(of_pair, v_of_pair), num_columns);
  __int128 widest = 0;
  for (Vertex j = 0; j < num_columns; ++j) {
    if (costs[j] < FAR) widest = std::max(widest, whole(of_pair) - whole(v_of_pair) - (whole(costs[j]) - whole(v[j])));
  }
  const double expected_gap = std::ldexp(static_cast<double>(widest), -24);
  must(std::abs(gap - expected_gap) <= std::ldexp(expected_gap, -51), "largest_gap");

  double largest = 0;
  const double greatest_rest = TierScan::lower<double, true>(costs.get(), 2 * VALUE, 8, num_columns, rests.get());
  for (Vertex j = 0; j < num_columns; ++j) {
    const double rest = TierScan::rest_beside_largest(-costs[j], 2 * VALUE), times = (-costs[j] - rest) / (2 * VALUE);
    must(rests[j] == (costs[j] < FAR ? rest + 8 * times : -FAR), "lower");
    if (costs[j] < FAR) largest = std::max(largest, std::abs(rest));
  }
  must(greatest_rest == largest, "lower, largest rest");

  const Count top = TierScan::exponent_of(2 * VALUE);
  TierScan::Exponents exponents = 0;
  double least_magnitude = FAR;
  for (Vertex j = 0; j < num_columns; ++j) {
    const double magnitude = std::abs(costs[j]);
    const Count below = top - TierScan::exponent_of(magnitude);
    exponents |= TierScan::Exponents{1} << (below < 0 ? 63 : std::min(below, Count{63}));
    if (TierScan::exponent_of(magnitude) >= top - 50) least_magnitude = std::min(least_magnitude, magnitude);
  }
  must(TierScan::find_exponents(costs.get(), top, num_columns) == exponents, "find_exponents");
  must(TierScan::least_of_exponent(costs.get(), top - 50, num_columns) == least_magnitude, "least_of_exponent");

  TierScan::round_down(costs.get(), num_columns, VALUE, 0.25, -1, rests.get());
  for (Vertex j = 0; j < num_columns; ++j) must(rests[j] == -std::floor(-costs[j] / VALUE + 0.25), "round_down");
}

// Which costs are less than a number: a few are, most are equal to it, and now and then one is infinite.
template <class Entry, bool NEGATED>
static void check_less(std::mt19937& random, Vertex num_columns, int bytes) {
  using Pass = LessScan<Entry, NEGATED>;
  constexpr double FAR = std::numeric_limits<double>::infinity(), NUMBER = 1024;
  const std::unique_ptr<Entry[]> entries(new Entry[num_columns]);
  std::vector<typename Pass::Word> less((num_columns + Pass::WORD - 1) / Pass::WORD), expected(less.size());
  double largest = 0;
  for (Vertex j = 0; j < num_columns; ++j) {
    const double small = int(random() % 99) - 49, cost = random() % 3 == 0 ? small : random() % 200 == 0 ? FAR : NUMBER;
    entries[j] = static_cast<Entry>(NEGATED ? -cost : cost);
    if (cost != NUMBER) largest = std::max(largest, std::abs(cost));
    expected[j / Pass::WORD] |= typename Pass::Word{cost < NUMBER} << j % Pass::WORD;
  }
  const double found = run_in<Pass>(bytes, entries.get(), NUMBER, num_columns, less.data());
  expect(found == largest && less == expected, "less", num_columns, bytes);
}

// Sums that are equal up to the last bits, and one infinite entry now and then.
template <class Entry, class Work>
static void check_monge(std::mt19937& random, Vertex num_columns, int bytes) {
  const std::unique_ptr<Entry[]> row(new Entry[num_columns]), next(new Entry[num_columns]);
  const int last_bit = std::is_same_v<Entry, double> ? -52 : std::is_same_v<Entry, float> ? -23 : 0;
  const auto number = [&](Count whole) { return static_cast<Entry>(std::ldexp(static_cast<double>(whole), last_bit)); };
  Count first = 1 << 20, second = Count(random() % (1 << 21));
  std::vector<Count> of_row(num_columns), of_next(num_columns);
  for (Vertex j = 0; j < num_columns; ++j) {
    row[j] = number(of_row[j] = first);
    next[j] = number(of_next[j] = second);
    const Count step = int(random() % 9) - 4;
    first += step;
    second += step - (random() % 3 == 0);
  }
  const auto changed = static_cast<Vertex>(random() % num_columns);
  if (random() % 2 == 0) next[changed] = number(of_next[changed] += int(random() % 3) - 1);
  bool holds = true;
  for (Vertex j = 0; j + 1 < num_columns; ++j) holds = holds && of_row[j] + of_next[j + 1] <= of_row[j + 1] + of_next[j];
  if constexpr (!std::numeric_limits<Entry>::is_integer) {
    if (random() % 8 == 0) row[changed] = std::numeric_limits<Entry>::infinity(), holds = false;
  }
  expect((run_in<MongeScan<Entry, Work>>(bytes, row.get(), next.get(), num_columns)) == holds, "monge", num_columns, bytes);
}

template <class Entry, class Work>
static int check(std::mt19937& random) {
  int rows = 0;
  for (const int bytes : widths()) {
    for (Vertex num_columns = std::max<Vertex>(bytes, SHORTEST_ROW) / sizeof(Work); num_columns < 300; ++num_columns) {
      check_passes<Entry, Work, false>(random, num_columns, bytes);
      check_passes<Entry, Work, true>(random, num_columns, bytes);
      check_pricing<Entry, Work, false, true>(random, num_columns, bytes);
      check_pricing<Entry, Work, true, false>(random, num_columns, bytes);
      rows += 2;
    }
  }
  return rows;
}

// Costs far outside the range that the solver was told, as another thread may leave them after the inspection. The solver must
// write only within its arrays, and give no two rows one column.
template <class Cost>
static void check_changed_costs(std::mt19937& random, Vertex rows, Vertex columns) {
  using Dual = typename DenseCosts<Cost>::Dual;
  using Limits = std::numeric_limits<Cost>;
  const Cost infinity = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const Cost far[] = {Limits::lowest(), Limits::max(), infinity, Limits::has_infinity ? -infinity : Limits::max() / 2};
  const std::unique_ptr<Cost[]> entries(new Cost[rows * columns]);
  for (Vertex k = 0; k < rows * columns; ++k) entries[k] = random() % 4 == 0 ? far[random() % 4] : Cost(random() % 8);
  const std::unique_ptr<Dual[]> u(new Dual[rows]), v(new Dual[columns]);
  const std::unique_ptr<Vertex[]> row_match(new Vertex[rows]), col_match(new Vertex[columns]);
  const DenseCosts<Cost> costs{rows, columns, entries.get(), columns, 1, false, DenseCosts<Cost>::infinite()};
  ShortestPathCounters counters{};
  const auto check_mates = [&] {
    for (Vertex row = 0; row < rows; ++row) {
      const Vertex column = row_match[row];
      const bool agree = column == NONE || (0 <= column && column < columns && col_match[column] == row);
      expect(agree, "changed costs, mates", columns, static_cast<int>(sizeof(Cost)));
    }
  };
  solve_by_shortest_paths(costs, {0, 7, false, 7}, {u.get(), v.get(), row_match.get(), col_match.get()}, counters);
  check_mates();
  if constexpr (Limits::has_infinity) {
    for (Vertex k = 0; k < rows * columns; ++k) entries[k] = random() % 3 == 0 ? Cost(random() % 8) : Cost(1e6);
    TwoParts<Cost> parts(costs, 1e6);
    if (!parts.find()) return;
    for (Vertex k = 0; k < rows * columns; ++k) entries[k] = random() % 8 == 0 ? far[random() % 4] : entries[k];
    if (parts.solve({u.get(), v.get(), row_match.get(), col_match.get()}, counters)) check_mates();
  }
}

// Rows that hold bounds of what pairs cost, as if they were computed.
struct BoundedRows {
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;
  Vertex columns;
  const std::vector<double>*bounds, *costs;

  Vertex num_rows() const { return static_cast<Vertex>(costs->size()) / columns; }
  Vertex num_columns() const { return columns; }
  const double* entries(Vertex row) { return bounds->data() + row * Count{columns}; }
  double at(Vertex row, Vertex column) const { return (*costs)[row * Count{columns} + column]; }
  bool has(Vertex) { return true; }
  void expect(const Vertex*, Vertex) {}
};

// Picks rows again and again while v of most columns fall. Returns how often a row was read.
static int check_reserves(std::mt19937& random, Vertex columns, bool ties) {
  const Vertex rows = 3;
  std::vector<double> costs(Count{rows} * columns), bounds, v(columns, 0);
  for (double& cost : costs) cost = ties ? random() % 9 : random() / 1e6;
  bounds = costs;
  for (double& bound : bounds) bound -= random() % 3 == 0 ? 1 : 0;
  ReservedPicks<BoundedRows, double> picks({columns, &bounds, &costs});
  constexpr PickDepth DEPTHS[] = {{32, 15, 48}, {32, 25, 128}, {256, 250, 2048}};
  for (Vertex row = 0; row < rows; ++row) picks.pick<false>(row, v.data(), &DEPTHS[0]);
  int times_read = 0;
  for (int step = 0; step < 60; ++step) {
    const unsigned few = random() % 20;
    for (double& one : v) one -= random() % 20 < few ? 0 : ties ? random() % 3 : random() / 2e8;
    const Vertex row = static_cast<Vertex>(random() % rows);
    const PickDepth& depth = DEPTHS[random() % 8 == 0 ? random() % 3 : 0];
    const auto found = picks.pick_again(row, v.data(), &depth);
    times_read += found.is_read;
    std::vector<char> is_picked(columns, false);
    expect(0 <= found.size && found.size <= depth.room, "reserves, room", columns, found.size);
    for (Vertex i = 0; i < found.size; ++i) {
      const Vertex column = picks.columns()[i];
      expect(!std::exchange(is_picked[column], true), "reserves, columns picked once", columns, found.size);
      expect(picks.cost(row, i) == costs[row * Count{columns} + column], "reserves, costs", columns, found.size);
    }
    for (Vertex j = 0; j < columns; ++j) {
      expect(is_picked[j] || costs[row * Count{columns} + j] - v[j] >= found.bound, "reserves, bounds", columns, found.size);
    }
  }
  return times_read;
}

int main() {
  std::mt19937 random(1);
  int rows = check<double, double>(random) + check<float, double>(random);
  rows += check<std::int32_t, std::int32_t>(random) + check<Count, Count>(random) + check<std::int32_t, double>(random);
  for (const int bytes : widths()) {
    for (Vertex num_columns = 1; num_columns < 100; ++num_columns) {
      for (int times = 0; times < 10; ++times) {
        check_copy<double>(random, num_columns, bytes);
        check_copy<float>(random, num_columns, bytes);
        check_copy<Count>(random, num_columns, bytes);
      }
    }
  }
  for (const int bytes : widths()) {
    for (Vertex num_columns = 1 + std::max(bytes, SHORTEST_ROW) / int(sizeof(double)); num_columns < 300; ++num_columns) {
      for (int times = 0; times < 5; ++times) {
        check_less<double, false>(random, num_columns, bytes);
        check_less<float, true>(random, num_columns, bytes);
        check_monge<double, double>(random, num_columns, bytes);
        check_monge<float, double>(random, num_columns, bytes);
        check_monge<std::int32_t, Count>(random, num_columns, bytes);
        check_monge<Count, Count>(random, num_columns, bytes);
      }
    }
  }
  for (Vertex num_columns = SHORTEST_ROW / sizeof(double); num_columns < 300; ++num_columns) {
    for (int times = 0; times < 10; ++times) check_tiers(random, num_columns);
  }
  for (int times = 0; times < 300; ++times) {
    const auto rows = static_cast<Vertex>(1 + random() % 140), columns = static_cast<Vertex>(1 + random() % 140);
    check_transposed<double>(random, rows, columns);
    check_transposed<float>(random, rows, columns);
    check_transposed<std::int32_t>(random, rows, columns);
    check_transposed<Count>(random, rows, columns);
  }
  int times_read = 0;
  for (int times = 0; times < 60; ++times) {
    times_read += check_reserves(random, static_cast<Vertex>(1 + random() % 300), times % 2 == 0);
    times_read += check_reserves(random, static_cast<Vertex>(1 + random() % 4000), times % 2 == 0);
  }
  expect(times_read < 60 * 2 * 60 / 2, "rows are read although there are reserves", 0, times_read);
  for (int times = 0; times < 20000; ++times) {
    const Vertex rows = 1 + static_cast<Vertex>(random() % 12);
    const Vertex columns = rows + static_cast<Vertex>(random() % 2 * (random() % 6));
    check_changed_costs<std::int32_t>(random, rows, columns);
    check_changed_costs<Count>(random, rows, columns);
    check_changed_costs<float>(random, rows, columns);
    check_changed_costs<double>(random, rows, columns);
  }
  std::printf("%d rows in registers of up to %d bytes, every pass right\n", rows, widths().back());
}
