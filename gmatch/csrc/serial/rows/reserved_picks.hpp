// reserved_picks.hpp: RowPicks for rows that take long to read. When a row is read again, entries that are near its best are kept
// in reserve. The row is then picked from these for as long as no other entry may be better.
//
// The invariant: from the first reserve on no v rises. So no entry outside a reserve ever has less cost - v than the bound that
// was found when the row was read.
#pragma once
#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "serial/rows/row_picks.hpp"

// Rows that are computed when they are asked for have two more functions: expect(rows, number) says which rows will be asked
// for, ROWS_TOGETHER at most, and has(row) whether a row is computed already.
template <class Rows, class = void>
struct AreComputed : std::false_type {};
template <class Rows>
struct AreComputed<Rows, std::void_t<decltype(&Rows::expect)>> : std::true_type {};

template <class Rows, class Dual>
class ReservedPicks {
 public:
  using Found = typename RowPicks<Rows, Dual>::Found;

  explicit ReservedPicks(const Rows& rows)
      : picks_(rows),
        reserves_(rows.num_rows()),
        costs_(std::min(rows.num_columns(), DEPTH.room)),
        v_(costs_.size()),
        of_reserve_(Spares{&costs_}),
        columns_(costs_.size() + 1) {}

  const Rows& rows() const { return picks_.rows(); }
  const Vertex* columns() const { return reserve_ == nullptr ? picks_.columns() : columns_.data(); }

  // What the picked entry of number `i` costs.
  Dual cost(Vertex row, Vertex i) {
    if (reserve_ == nullptr) return picks_.cost(row, i);
    const Vertex place = of_reserve_.columns()[i];
    Entry& entry = reserve_->entries[place];
    if (!std::exchange(entry.is_exact, true)) reserve_->costs[place] = rows().at(row, entry.column);
    return reserve_->costs[place];
  }

  // As RowPicks.
  template <bool PRICED>
  Found pick(Vertex row, const Dual* v, const PickDepth* depth) {
    reserve_ = nullptr;
    return picks_.template pick<PRICED>(row, v, depth);
  }

  // Picks a row that has been picked before.
  Found pick_again(Vertex row, const Dual* v, const PickDepth* depth) {
    Reserve& reserve = reserves_[row];
    if (depth == nullptr || depth->room >= DEPTH.room) {
      reserve = {};
      reserve.is_deep = true;
      return pick<true>(row, v, depth);
    }
    const bool is_read = must_be_read(row);
    if (is_read) read(row, v);
    reserve_ = &reserve;
    const Vertex size = static_cast<Vertex>(reserve.entries.size());
    costs_ = reserve.costs;
    v_.resize(size);
    for (Vertex i = 0; i < size; ++i) v_[i] = v[reserve.entries[i].column];
    const typename RowPicks<Spares, Dual>::Wanted wanted{std::numeric_limits<Dual>::lowest(), reserve.bound};
    const auto found = of_reserve_.template pick<true>(row, v_.data(), depth, wanted);
    for (Vertex i = 0; i < found.size; ++i) columns_[i] = reserve.entries[of_reserve_.columns()[i]].column;
    reserve.given = found.bound;
    return {found.size, found.bound, found.overflows, is_read};
  }

  // Whether a row must be computed before it is picked again.
  bool must_be_computed(Vertex row) { return must_be_read(row) && !picks_.source().has(row); }
  // Computes some rows together. They are picked again soon.
  void expect(const Vertex* rows, Vertex number) { picks_.source().expect(rows, number); }

 private:
  // A reserve holds 390 entries on average. With reserves of 130 entries, Gaussian points of 512 coordinates read a fifth more
  // rows: benchmarks/log/points.md, "Rows of many coordinates, several at a time".
  static constexpr PickDepth DEPTH{PickDepth::MOST_MINIMA, 200, 1024};

  struct Entry {
    Vertex column;
    bool is_exact;  // if not, the cost is what the row holds, which may be a bound from below
  };
  struct Reserve {
    std::vector<Entry> entries;
    std::vector<Dual> costs;
    // `bound` is of all other entries, `given` is of the last pick.
    Dual bound = std::numeric_limits<Dual>::lowest(), given = std::numeric_limits<Dual>::lowest();
    bool is_deep = false;  // the row is picked deeper than any reserve
  };
  // The costs of a reserve, as a row.
  struct Spares {
    using Entry = Dual;
    using Scan = RowScan<Dual, Dual, false>;
    const std::vector<Dual>* costs;

    Vertex num_columns() const { return static_cast<Vertex>(costs->size()); }
    const Dual* entries(Vertex) const { return costs->data(); }
  };

  // Whether the reserve cannot raise the bound of a row.
  bool must_be_read(Vertex row) const { return !reserves_[row].is_deep && reserves_[row].bound <= reserves_[row].given; }

  void read(Vertex row, const Dual* v) {
    const auto found = picks_.template pick<true>(row, v, &DEPTH);
    const auto* entries = picks_.source().entries(row);
    Reserve& reserve = reserves_[row];
    reserve.bound = found.bound;
    reserve.entries.resize(found.size);
    reserve.costs.resize(found.size);
    for (Vertex i = 0; i < found.size; ++i) {
      const Vertex column = picks_.columns()[i];
      reserve.entries[i] = {column, false};
      reserve.costs[i] = static_cast<Dual>(Rows::Scan::cost(entries[column]));
    }
  }

  RowPicks<Rows, Dual> picks_;
  std::vector<Reserve> reserves_;  // [num_rows]
  std::vector<Dual> costs_, v_;    // costs and v of the reserve that is picked from
  RowPicks<Spares, Dual> of_reserve_;
  std::vector<Vertex> columns_;    // the columns that were picked from it
  Reserve* reserve_ = nullptr;     // the one that was picked from last, if the last pick was from a reserve
};

// Rows that lie in memory take less time to read than a reserve does.
template <class Rows, class Dual>
using PicksOf = std::conditional_t<AreComputed<Rows>::value, ReservedPicks<Rows, Dual>, RowPicks<Rows, Dual>>;
