// pair_lists.cpp: programs of lists of pairs, beside plain loops.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "fuzz.h"

struct List {
  std::vector<Count> places;
  std::vector<double> costs;
  Count length() const { return static_cast<Count>(places.size()); }
};

static List draw_list(Random& random, Count most, Count pairs, bool has_twins) {
  List list;
  for (Count number = random() % most; number > 0; --number) list.places.push_back(random() % pairs);
  std::sort(list.places.begin(), list.places.end());
  if (!has_twins) list.places.erase(std::unique(list.places.begin(), list.places.end()), list.places.end());
  for (const Count place : list.places) list.costs.push_back(static_cast<double>(place * 7 % 10));
  return list;
}

static std::string judge_merged(Random& random, const emulator::Launch& launch, const List& first, const List& second) {
  std::set<Count> expected(first.places.begin(), first.places.end());
  expected.insert(second.places.begin(), second.places.end());
  const Count room = first.length() + second.length();
  std::vector<Count> places(room + 1, -7), fresh(second.length() + 1), counts(2048);
  std::vector<double> costs(room + 1, 77);
  Count number = -1;
  const bool with_costs = random() % 2 == 0;
  emulator::launch(launch, [&] {
    merge_pairs_grid(first.places.data(), first.costs.data(), first.length(), second.places.data(), second.costs.data(),
                     second.length(), places.data(), with_costs ? costs.data() : nullptr, fresh.data(), counts.data(), &number,
                     arrivals);
  });
  if (number != static_cast<Count>(expected.size()) || places[number] != -7) return "another number of pairs";
  if (!std::equal(expected.begin(), expected.end(), places.begin())) return "other pairs";
  for (Count i = 0; i < number && with_costs; ++i) {
    if (costs[i] != static_cast<double>(places[i] * 7 % 10)) return "another cost";
  }
  return costs[number] == 77 ? "" : "a cost too many";
}

template <class Offset, class Make>
static std::string judge_rows(Random& random, const emulator::Launch& launch, const List& list, Count rows, Count columns, Make make) {
  std::vector<Offset> offsets(rows + 1, -7);
  std::vector<Vertex> found(list.length() + 1, -7);
  std::vector<double> v(columns), above(list.length() + 1);
  for (double& dual : v) dual = static_cast<double>(random() % 100);
  Count range[2] = {order_of(HUGE_VAL), order_of(HUGE_VAL)};
  double expected[2] = {HUGE_VAL, HUGE_VAL};
  const bool has_v = random() % 2 == 0;
  emulator::launch(launch, [&] {
    make(list.places.data(), list.costs.data(), list.length(), rows, columns, has_v ? v.data() : nullptr, offsets.data(),
         found.data(), above.data(), range, arrivals);
  });
  for (Count row = 0; row <= rows; ++row) {
    const auto begin = std::lower_bound(list.places.begin(), list.places.end(), row * columns);
    if (offsets[row] != begin - list.places.begin()) return "another begin of a row";
  }
  for (Count i = 0; i < list.length(); ++i) {
    if (found[i] != list.places[i] % columns) return "another column";
    const double here = list.costs[i] - v[found[i]];
    if (has_v && above[i] != here) return "another cost - v";
    expected[0] = std::min(expected[0], here);
    expected[1] = std::min(expected[1], -here);
  }
  if (has_v && (range[0] != order_of(expected[0]) || range[1] != order_of(expected[1]))) return "another range";
  return "";
}

static std::string judge_unknown(Random& random, const emulator::Launch& launch, const List& list, const List& known, Count rows,
                                 Count columns) {
  std::vector<double> v(columns);
  for (double& dual : v) dual = static_cast<double>(random() % 5);
  std::map<Count, double> least;
  const auto reduced = [&](Count i) { return list.costs[i] - v[list.places[i] % columns]; };
  for (Count i = 0; i < list.length(); ++i) {
    const auto [at, is_first] = least.try_emplace(list.places[i] / columns, reduced(i));
    if (!is_first) at->second = std::min(at->second, reduced(i));
  }
  std::set<Count> of_rows;
  for (Count i = 0; i < list.length(); ++i) {
    const bool is_known = std::binary_search(known.places.begin(), known.places.end(), list.places[i]);
    if (is_known && reduced(i) == least[list.places[i] / columns]) of_rows.insert(list.places[i] / columns);
  }
  for (const bool has_v : {false, true}) {
    std::vector<double> found(rows), expected(rows, HUGE_VAL);
    for (Count i = 0; i < list.length(); ++i) {
      double& here = expected[list.places[i] / columns];
      here = std::min(here, has_v ? reduced(i) : list.costs[i]);
    }
    emulator::launch(launch, [&] {
      least_of_lists_grid(list.places.data(), list.costs.data(), list.length(), has_v ? v.data() : nullptr, rows, columns,
                          found.data(), arrivals);
    });
    if (found != expected) return "another least of a list";
  }
  Count number = 5;
  emulator::launch(launch, [&] {
    count_unknown_grid(list.places.data(), list.costs.data(), list.length(), v.data(), rows, columns, known.places.data(),
                       known.length(), &number, arrivals);
  });
  return number == 5 + rows - static_cast<Count>(of_rows.size()) ? "" : "another number of unknown pairs";
}

static std::string judge_places(Random& random, const emulator::Launch& launch) {
  const Count rows = random() % 30, most = 1 + random() % 70, columns = 1000, first_row = 4;
  std::vector<Vertex> sizes(rows), lists(rows * most);
  std::multiset<Count> expected;
  for (Count row = 0; row < rows; ++row) {
    sizes[row] = static_cast<Vertex>(random() % (most + 1));
    for (Count k = 0; k < most; ++k) {
      lists[row * most + k] = static_cast<Vertex>(random() % columns);
      if (k < sizes[row]) expected.insert((first_row + row) * columns + lists[row * most + k]);
    }
  }
  Count number = 1;
  std::vector<Count> places(expected.size() + 2, -7);
  emulator::launch(launch, [&] {
    place_pairs_grid(sizes.data(), lists.data(), rows, most, first_row, columns, places.data(), &number, arrivals);
  });
  if (number != static_cast<Count>(expected.size()) + 1 || places[0] != -7 || places[number] != -7) return "another number of places";
  if (std::multiset<Count>(&places[1], &places[0] + number) != expected) return "other places";
  std::vector<Count> turned(number + 1, -7);
  emulator::launch(launch, [&] { turn_pairs_grid(&places[1], number - 1, 5, 100, columns, turned.data(), arrivals); });
  for (Count i = 0; i < number - 1; ++i) {
    if (turned[i] != places[i + 1] % columns * 100 + places[i + 1] / columns + 5) return "another turned pair";
  }
  return turned[number - 1] == -7 ? "" : "a turned pair too many";
}

static std::string judge_copied(Random& random, const emulator::Launch& launch) {
  const Count words = 1 + random() % 70, rows = 1 + random() % 30;
  std::vector<unsigned> from(rows * words);
  for (unsigned& word : from) word = static_cast<unsigned>(random());
  std::vector<Vertex> numbers;
  for (Vertex row = 0; row < rows; ++row) {
    if (random() % 2 == 0) numbers.push_back(row);
  }
  const Count number = static_cast<Count>(numbers.size());
  std::vector<unsigned> to(number * words + 1, 7);
  emulator::launch(launch, [&] { copy_rows_grid(from.data(), words, numbers.data(), number, to.data(), arrivals); });
  for (Count i = 0; i < number * words; ++i) {
    if (to[i] != from[numbers[i / words] * words + i % words]) return "another copied row";
  }
  return to.back() == 7 ? "" : "a copied row too many";
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 200, [](Random& random) -> std::string {
    const emulator::Launch launch = draw_launch(random);
    const Count rows = 1 + random() % 20, columns = 1 + random() % 60, most = 1 + random() % 400;
    emulator::instance += ": " + std::to_string(rows) + " x " + std::to_string(columns) + ", " + name_of(launch);
    const List first = draw_list(random, most, rows * columns, false), second = draw_list(random, most, rows * columns, true);
    std::string wrong = judge_merged(random, launch, first, second);
    if (wrong.empty()) wrong = judge_rows<int>(random, launch, first, rows, columns, make_rows_grid);
    if (wrong.empty()) wrong = judge_rows<Count>(random, launch, first, rows, columns, make_long_rows_grid);
    if (wrong.empty()) wrong = judge_unknown(random, launch, first, second, rows, columns);
    if (wrong.empty()) wrong = judge_copied(random, launch);
    return wrong.empty() ? judge_places(random, launch) : wrong;
  });
}
