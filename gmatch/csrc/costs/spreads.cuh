// spreads.cuh: rows of entries, wherever they are stored, and how far the entries of a row lie apart.
#pragma once
#include "costs/sparse.cuh"

// The entries of a row, numbered from 0: of costs that store them one after the other, or of a dense matrix.
//
// Most of the time for a short row is waiting for memory, so all loads should be under way before the first is used. But a
// GPU's compiler keeps loads behind a branch, and puts each right before its use. So all lanes read, at safe places, before
// they ask for the size; an entry past the end means nothing. They read by Team::read, which keeps the order of reads, so
// these functions take a team.
template <class Costs>
struct StoredRow {
  static constexpr Vertex AT_ONCE = 2;  // entries that a lane reads together
  static constexpr bool IS_LONG = false;  // many more than these for each lane of a warp

  const Costs& costs;
  Vertex row, size;
  typename Costs::Offset begin;

  DEVICE Vertex column(Vertex place) const { return costs.column(begin + place); }
  DEVICE typename Costs::Dual at(Vertex place) const { return costs.at(begin + place); }

  DEVICE bool has_places() const { return costs.room(row) > 0; }
  DEVICE Vertex safe(Vertex place) const { return place < costs.room(row) ? place : 0; }
  template <class Team>
  DEVICE Vertex column(const Team& team, Vertex place) const {
    return static_cast<Vertex>(team.read(&costs.columns[begin + place]));
  }
  template <class Team>
  DEVICE typename Costs::Cost entry(const Team& team, Vertex place) const {
    return team.read(&costs.entries[begin + place]);
  }
  template <class Team>
  DEVICE Vertex size_of(const Team& team) const { return costs.size(team, row); }
};
template <class Costs>
DEVICE StoredRow<Costs> row_of(const Costs& costs, Vertex row) {
  return {costs, row, static_cast<Vertex>(costs.end(row) - costs.begin(row)), costs.begin(row)};
}

template <class Stored>
struct DenseRow {
  static constexpr Vertex AT_ONCE = 8;
  static constexpr bool IS_LONG = true;

  const DenseCosts<Stored>& costs;
  Vertex row, size;

  DEVICE bool has_places() const { return true; }
  DEVICE Vertex safe(Vertex place) const { return place < size ? place : 0; }
  DEVICE Vertex column(Vertex place) const { return place; }
  template <class Team>
  DEVICE Vertex column(const Team&, Vertex place) const { return place; }
  template <class Team>
  DEVICE typename DenseCosts<Stored>::Cost entry(const Team&, Vertex place) const { return costs.entry(row, place); }
  template <class Team>
  DEVICE Vertex size_of(const Team&) const { return size; }
  DEVICE typename DenseCosts<Stored>::Dual at(Vertex place) const { return costs.at(row, place); }
};
template <class Stored>
DEVICE DenseRow<Stored> row_of(const DenseCosts<Stored>& costs, Vertex row) {
  return {costs, row, costs.num_columns};
}

// How far the entries of rows lie apart: sums over all rows.
template <class Dual>
struct Spreads {
  Count num_rows;      // whose entries differ
  Count exponents;     // of these rows: the sum of the binary exponents of their spreads
  Dual largest;        // magnitude of an entry of any row
  Dual widest;         // by how much entries of one row differ, at most
  Count minus_places;  // the most binary places of an entry, negative: see rounded_down

  // To the nearest number. A division of integers would cut off towards zero: costs below one had epsilons up to four times as
  // large, measured in spreads, as these costs times a million.
  DEVICE int typical_exponent() const {
    return static_cast<int>(floor(static_cast<double>(exponents) / static_cast<double>(num_rows) + 0.5));
  }
  // How many bits smaller a spread can be made, so that the largest entry plus it is still more than the largest entry.
  DEVICE int bits_of_a_dual() const { return 50 - bits_apart(largest); }
  // By how many bits the widest row is wider than is typical.
  DEVICE int bits_of_widest() const { return ilogb(static_cast<double>(widest)) - typical_exponent(); }
  // As a power of two; 0 if no entries differ.
  DEVICE double typical() const { return num_rows == 0 ? 0 : ldexp(1.0, typical_exponent()); }

 private:
  DEVICE int bits_apart(double number) const { return number > 0 ? ilogb(number) - typical_exponent() : 0; }
  static DEVICE int bits_apart(long long) { return 0; }  // sums of integers are exact
};

// The sums of one thread.
template <class Dual>
struct SpreadsOfSome : Spreads<Dual> {
  DEVICE SpreadsOfSome() : Spreads<Dual>{0, 0, 0, 0, 0} {}

  // Adds a row whose entries differ by `width`, and by `spread` where it matters.
  DEVICE void add_spread(Dual spread, Dual width) {
    if (!(spread > 0)) return;
    this->widest = width > this->widest ? width : this->widest;
    ++this->num_rows;
    this->exponents += ilogb(static_cast<double>(spread));
  }
  DEVICE void add_entry(Dual cost) {
    const Dual magnitude = cost < 0 ? -cost : cost;
    this->largest = magnitude > this->largest ? magnitude : this->largest;
    if (this->minus_places < -MOST_PLACES) return;
    const int places = binary_places(cost);
    this->minus_places = -places < this->minus_places ? -places : this->minus_places;
  }
  // `all` is zero before; it is whole after a sync.
  template <class Team>
  DEVICE void add_to(const Team& team, Spreads<Dual>* all) const {
    team.add_all(&all->num_rows, this->num_rows);
    team.add_all(&all->exponents, this->exponents);
    team.max_all(&all->largest, this->largest);
    team.max_all(&all->widest, this->widest);
    team.min_all(&all->minus_places, this->minus_places);
  }
};

// The spreads of all rows, in one pass over the costs. Forbidden pairs do not count.
template <class Team, class Costs>
DEVICE void measure_spreads(Team& team, const Costs& costs, Spreads<typename Costs::Dual>* all) {
  using Dual = typename Costs::Dual;
  if (team.rank() == 0) *all = {};
  team.sync();
  SpreadsOfSome<Dual> here;
  team.each_group(costs.num_rows, [&](Count i) {
    const auto entries = row_of(costs, static_cast<Vertex>(i));
    Dual least = costs.infinite(), minus_greatest = costs.infinite();
    for (Vertex place = team.lane(); place < entries.size; place += team.lanes()) {
      const Dual cost = entries.at(place);
      if (cost == costs.infinite()) continue;
      here.add_entry(cost);
      least = cost < least ? cost : least;
      minus_greatest = -cost < minus_greatest ? -cost : minus_greatest;
    }
    least = team.min_group(least);
    minus_greatest = team.min_group(minus_greatest);
    const Dual spread = -minus_greatest - least;
    if (team.lane() == 0 && least != costs.infinite()) here.add_spread(spread, spread);
  });
  here.add_to(team, all);
  team.sync();
}
