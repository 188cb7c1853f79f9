// inspection.cuh: the check of a matrix of costs, which is not trusted yet; in one pass, on a GPU.
#pragma once
#include "costs/dense.cuh"

// The facts of all entries, as Python reads them.
struct CostInspection {
  Count lowest, minus_highest;  // of the finite ones, as order_of says; of the highest the bitwise complement
  Count nans, plus_infs, minus_infs, fractions;  // not 0 if there are any; fractions: finite numbers that are not whole
  Count bound, expensive, below;  // see ExpensiveEntries

  FIELDS(CostInspection, lowest, minus_highest, nans, plus_infs, minus_infs, fractions, bound, expensive, below)
};

// Numbers in their order, as integers.
DEVICE Count order_of(long long number) { return number; }
DEVICE Count order_of(double number) {
  union {
    double number;
    Count bits;
  } same = {number};
  return same.bits < 0 ? same.bits ^ 0x7fffffffffffffff : same.bits;
}
// The number that order_of has put in its order.
DEVICE long long number_in_order(Count order, long long) { return order; }
DEVICE double number_in_order(Count order, double) {
  union {
    Count bits;
    double number;
  } same = {order < 0 ? order ^ 0x7fffffffffffffff : order};
  return same.number;
}

// What a thread has seen.
struct SeenCosts {
  Count lowest = 0x7fffffffffffffff, minus_highest = 0x7fffffffffffffff;
  Count nans = 0, plus_infs = 0, minus_infs = 0, fractions = 0;

  DEVICE void add(long long entry) { add_finite(entry); }
  DEVICE void add(double entry) {
    const double infinite = beyond_all(entry);
    nans += entry != entry;
    plus_infs += entry == infinite;
    minus_infs += entry == -infinite;
    if (!(entry < infinite && entry > -infinite)) return;
    fractions += entry != floor(entry);
    add_finite(entry);
  }

 private:
  template <class Number>
  DEVICE void add_finite(Number entry) {
    const Count here = order_of(entry), minus_here = ~here;
    lowest = here < lowest ? here : lowest;
    minus_highest = minus_here < minus_highest ? minus_here : minus_highest;
  }
};

// A matrix with any strides. Of sparse costs all entries are one row, longer than a Vertex can say.
template <class Stored>
struct Entries {
  const Stored* first;
  Count num_rows, num_columns;
  Count row_stride, column_stride;  // in entries

  FIELDS(Entries, first, num_rows, num_columns, row_stride, column_stride)
};

// Counts the expensive entries: they cost at least a bound. They are compared by order_of. If sign is 1, they are entries
// from the bound on. If sign is -1, entries are maximized, and these are entries up to the bound. The bound is the highest cost
// of a sample, or a given one that is less. `below` keeps the highest cost among all other entries. If there is no other entry,
// it keeps a number that no entry has.
struct ExpensiveEntries {
  Count bound;
  int sign;
  Count number = 0, below = 0x7fffffffffffffff;  // the least of ~order, or of order if sign is -1

  // All lanes of a group read the sample.
  template <class Team, class Stored>
  DEVICE void look_at_sample(const Team& team, const Entries<Stored>& entries) {
    using Dual = typename DualOf<typename ValueOf<Stored>::type>::type;
    const Count size = entries.num_rows * entries.num_columns, place = size / team.lanes() * team.lane();
    const Count at = place / entries.num_columns * entries.row_stride + place % entries.num_columns * entries.column_stride;
    const Count order = order_of(static_cast<Dual>(value_of(entries.first[at])));
    const Count sampled = team.min_group(sign > 0 ? ~order : order), greatest = sign > 0 ? ~sampled : sampled;
    if (sign > 0 ? greatest < bound : greatest > bound) bound = greatest;
  }
  DEVICE void add(Count order) {
    const bool is_expensive = sign > 0 ? order >= bound : order <= bound;
    const Count here = sign > 0 ? ~order : order;
    number += is_expensive;
    below = !is_expensive && here < below ? here : below;
  }
};
// Counts nothing: for launches that do not ask for expensive entries.
struct NoExpensiveEntries {
  DEVICE void add(Count) {}
};

template <class Team, class Stored, class Expensive>
DEVICE void inspect_costs(Team& team, const Entries<Stored>& entries, CostInspection& inspection, Expensive& expensive) {
  const Count num_rows = entries.num_rows, num_columns = entries.num_columns;
  using Dual = typename DualOf<typename ValueOf<Stored>::type>::type;
  constexpr int AT_ONCE = Team::AT_ONCE;
  if (team.rank() == 0) inspection = {0x7fffffffffffffff, 0x7fffffffffffffff, 0, 0, 0, 0, 0, 0, 0x7fffffffffffffff};
  team.sync();
  SeenCosts seen;
  if (entries.column_stride == 1 && (num_rows == 1 || entries.row_stride == num_columns)) {
    const Count end = num_rows * num_columns;
    for (Count first = team.rank(); first < end; first += static_cast<Count>(team.size()) * AT_ONCE) {
      Stored entry[AT_ONCE];
      for (int k = 0; k < AT_ONCE; ++k) {
        const Count at = first + static_cast<Count>(team.size()) * k;
        entry[k] = team.read_once(entries.first + (at < end ? at : first));  // reading an entry again changes nothing
      }
      for (int k = 0; k < AT_ONCE; ++k) {
        const Dual here = static_cast<Dual>(value_of(entry[k]));
        seen.add(here);
        if (first + static_cast<Count>(team.size()) * k < end) expensive.add(order_of(here));
      }
    }
  } else {
    team.each_group(num_rows, [&](Count row) {
      for (Count column = team.lane(); column < num_columns; column += team.lanes()) {
        const Stored* const place = entries.first + row * entries.row_stride + column * entries.column_stride;
        const Dual here = static_cast<Dual>(value_of(*place));
        seen.add(here);
        expensive.add(order_of(here));
      }
    });
  }
  team.min_all(&inspection.lowest, seen.lowest);
  team.min_all(&inspection.minus_highest, seen.minus_highest);
  team.add_all(&inspection.nans, seen.nans);
  team.add_all(&inspection.plus_infs, seen.plus_infs);
  team.add_all(&inspection.minus_infs, seen.minus_infs);
  team.add_all(&inspection.fractions, seen.fractions);
}
