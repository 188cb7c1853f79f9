// auction.cuh: an auction of columns among the rows of a sparse core, without a barrier.
//
// A row bids for the column that is best for it, as much as it is better than its second best, and a little more,
// epsilon; the row that it outbids bids next. A column's price and its owner are one word, so that one atomic minimum
// places a bid and says who was displaced; the lane group that displaced a row carries it on. Prices are what v falls by.
//
// The invariant: a row that owns a column finds nothing better by more than epsilon. It holds whatever the races, because
// a price only falls, and falling makes a column worse for all others. So epsilon may start large, for speed, and shrink.
// The last one is so small that the pairs are nearly always the best ones; refine_prices makes them tight then.
// Rows whose chain goes on for too long are left to the search.
//
// Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of Operations
// Research 14 (1988).
#pragma once
#include "pricing.cuh"

template <class Cost>
struct Auction {
  using Dual = typename Core<Cost>::Dual;

  // Bids of a chain, one after the other: a small problem is solved while a long one goes on.
  static constexpr Vertex MOST_BIDS = 64, FEW_BIDS = 32, FEW_ROWS = 4096;
  static constexpr int FINENESS = 20;          // units of a price are finer than the spread of a row by so many bits
  // Epsilon, in spreads of a row: powers of two, from 2 ** FIRST to 2 ** LAST.
  static constexpr int FIRST = 1, LAST = -15, STEP = 2;

  Core<Cost> core;
  Matching matching;
  Dual* v;           // [num_columns]
  Dual spread;       // how far v may lie apart
  Count* words;      // [num_columns] a price, and below it an owner
  Vertex* next_row;  // [1] that has not bid yet in this round
  Count* num_bids;   // [1]
  Count* discount;   // [1] by how much the highest price lies below zero
  Dual* highest;     // [1] the same of v
  int owner_bits;
  int cost_bits;     // costs are made longer by so many bits, so that epsilon can be less than one
  int price_bits;    // prices are shorter than costs by so many bits
  double unit, units_in_one;  // of floats: what a price of one is, and the other way round

  DEVICE void carve(Workspace& workspace) {
    words = workspace.take<Count>(core.num_columns);
    next_row = workspace.take<Vertex>(1);
    num_bids = workspace.take<Count>(1);
    discount = workspace.take<Count>(1);
    highest = workspace.take<Dual>(1);
  }

  // From all prices at zero: leaves v, and the rows of pairs that are tight within epsilon. Where columns may stay free
  // only one round is held, with epsilon = 0, so that those that nobody bid for keep v = 0.
  template <class Team>
  DEVICE void run(Team& team) {
    choose_units();
    team.each(core.num_columns, [&](Count column) { words[column] = word(0, no_owner()); });
    if (team.rank() == 0) *num_bids = 0;
    team.sync();
    if (core.has_epsilon()) {
      for (int bits = FIRST; bits > LAST; bits -= STEP) hold_round(team, epsilon(bits));
    }
    run_again(team);
  }

  // From v, when the core has grown after a search. Duals that were given may lie above zero; then others are the highest
  // here, and some prices are too high, no more.
  template <class Team>
  DEVICE void run_from_duals(Team& team) {
    choose_units();
    if (team.rank() == 0) {
      *num_bids = 0;
      *highest = core.infinite();
    }
    team.sync();
    Dual least = core.infinite();
    team.each(core.num_columns, [&](Count column) { least = -v[column] < least ? -v[column] : least; });
    team.min_all(highest, least);
    team.sync();
    team.each(core.num_columns, [&](Count column) {
      const Dual below = -v[column] - *highest;
      const Count price = below > 0 ? -in_units(lengthened(below < spread ? below : spread)) : 0;
      words[column] = word(price < lowest_price() ? lowest_price() : price, no_owner());
    });
    team.sync();
    run_again(team);
  }

  // From the prices there are, when the core has grown.
  template <class Team>
  DEVICE void run_again(Team& team) {
    hold_round(team, core.has_epsilon() ? epsilon(LAST) : 0);
    read_off(team);
  }

 private:
  static constexpr Vertex STOP = LAST_VERTEX;

  DEVICE int typical_exponent() const {
    return static_cast<int>(core.totals->exponents / core.totals->rows_with_spread);
  }
  // So many spreads of a row, as a power of two.
  DEVICE Dual epsilon(int bits) const { return static_cast<Dual>(ldexp(1.0, typical_exponent() + cost_bits + bits)); }
  DEVICE void choose_units() {
    for (owner_bits = 1; (Count{1} << owner_bits) - 1 <= core.num_rows; ++owner_bits) {}
    const int finer = core.totals->rows_with_spread > 0 ? FINENESS - typical_exponent() : 0;
    cost_bits = room_above(Cost{}) < finer ? room_above(Cost{}) : finer;
    if (cost_bits < 0) cost_bits = 0;
    price_bits = least_price_bits(Dual{}, -finer);
    unit = ldexp(1.0, price_bits);
    units_in_one = ldexp(1.0, -price_bits);
  }
  // Integers are made longer where that cannot overflow; floats need not be. A price of integers is whole.
  static DEVICE int room_above(int) { return 24; }
  static DEVICE int room_above(long long) { return 0; }
  static DEVICE int room_above(double) { return 0; }
  static DEVICE int least_price_bits(long long, int bits) { return bits > 0 ? bits : 0; }
  static DEVICE int least_price_bits(double, int bits) { return bits < -1000 ? -1000 : bits; }

  DEVICE Count no_owner() const { return (Count{1} << owner_bits) - 1; }
  DEVICE Count lowest_price() const { return 1 - (Count{1} << bits_of_prices(Dual{})); }
  DEVICE int bits_of_prices(double) const { return 62 - owner_bits; }
  DEVICE int bits_of_prices(long long) const { return 62 - (price_bits > owner_bits ? price_bits : owner_bits); }
  DEVICE Count word(Count price, Count owner) const { return (price - lowest_price()) << owner_bits | owner; }
  DEVICE Count price_of(Count word) const { return (word >> owner_bits) + lowest_price(); }
  DEVICE Count owner_of(Count word) const { return word & no_owner(); }

  DEVICE long long lengthened(long long cost) const { return cost * (1LL << cost_bits); }
  DEVICE double lengthened(double cost) const { return cost; }
  DEVICE Dual value_of(Count price) const { return value(price, Dual{}); }
  DEVICE long long value(Count price, long long) const { return price * (1LL << price_bits); }
  DEVICE double value(Count price, double) const { return static_cast<double>(price) * unit; }
  DEVICE Count in_units(long long amount) const { return amount >> price_bits; }
  DEVICE Count in_units(double amount) const {
    const double units = amount * units_in_one, most = 0x1p60;
    return static_cast<Count>(units < most ? units : most);
  }

  // All rows bid, with no column owned at first.
  template <class Team>
  DEVICE void hold_round(Team& team, Dual epsilon) const {
    team.each(core.num_columns, [&](Count column) { words[column] |= no_owner(); });
    if (team.rank() == 0) *next_row = 0;
    team.sync();
    Count bids = 0;
    for (Vertex row = take_row(team); row < core.num_rows; row = take_row(team)) {
      bids += follow_chain(team, row, epsilon);
    }
    team.add_all(num_bids, team.lane() == 0 ? bids : 0);
    team.sync();
  }

  template <class Team>
  DEVICE Vertex take_row(const Team& team) const {
    return team.min_group(team.lane() == 0 ? team.fetch_add(next_row, 1) : LAST_VERTEX);
  }

  // What a lane finds best.
  struct Offer {
    Dual least, second;
    Count word;
    Vertex column;
  };

  // `row` bids, then the row that it displaces, and so on. Returns how many bids there were.
  template <class Team>
  DEVICE Vertex follow_chain(Team& team, Vertex row, Dual epsilon) const {
    Vertex bids = 0;
    const Vertex most = core.num_rows < FEW_ROWS ? FEW_BIDS : MOST_BIDS;
    for (; bids < most && row != STOP; ++bids) {
      const Offer offer = find_offer(team, row);
      const Dual least = team.min_group(offer.least);
      if (least == core.infinite()) break;
      // Of equal offers a free column, and else each time another one.
      const int turn = (team.lane() + row + bids) % team.lanes();
      const int place = offer.least > least ? 2 * team.lanes()
                        : owner_of(offer.word) == no_owner() ? turn : team.lanes() + turn;
      const int winner = team.min_group(place);
      const Dual second = team.min_group(place == winner ? offer.second : offer.least);
      row = team.min_group(place == winner ? bid(team, row, offer, second, epsilon) : STOP);
    }
    return bids;
  }

  template <class Team>
  DEVICE Offer find_offer(const Team& team, Vertex row) const {
    constexpr Vertex MINE = Core<Cost>::ROOM / Team::LANES;
    const Count begin = core.begin(row) + team.lane(), end = core.end(row);
    Offer offer{core.infinite(), core.infinite(), 0, NONE};
    Vertex column[MINE];
    Count word[MINE];
    for (Vertex k = 0; k < MINE; ++k) {
      const Count edge = begin + k * team.lanes();
      column[k] = edge < end ? core.column(edge) : NONE;
    }
    for (Vertex k = 0; k < MINE; ++k) word[k] = column[k] == NONE ? 0 : team.read(&words[column[k]]);
    for (Vertex k = 0; k < MINE; ++k) {
      if (column[k] == NONE) continue;
      const Dual here = lengthened(core.at(begin + k * team.lanes())) - value_of(price_of(word[k]));
      const bool is_free = owner_of(word[k]) == no_owner() && owner_of(offer.word) != no_owner();
      if (here < offer.least || (here == offer.least && is_free)) {
        offer = {here, offer.least, word[k], column[k]};
      } else if (here < offer.second) {
        offer.second = here;
      }
    }
    return offer;
  }

  // The row to bid next: the one that was displaced, or again this one, where another group was faster.
  template <class Team>
  DEVICE Vertex bid(const Team& team, Vertex row, const Offer& offer, Dual second, Dual epsilon) const {
    // A row with one column need not be able to pay anything for it; what it can is not known here.
    const Dual more = second == core.infinite() ? epsilon : second - offer.least + epsilon;
    const Count price = price_of(offer.word) - in_units(more);
    if (price < lowest_price()) return STOP;
    const Count desired = word(price, row);
    if (desired >= offer.word) return STOP;  // a bid of nothing, against an owner who would win it
    const Count found = team.lower(&words[offer.column], desired);
    if (desired >= found) return row;
    return owner_of(found) == no_owner() ? STOP : static_cast<Vertex>(owner_of(found));
  }

  // A square problem does not change when all v do; so that they stay small, the highest is made zero, or a little less,
  // so that prices can be refined.
  template <class Team>
  DEVICE void read_off(Team& team) const {
    if (team.rank() == 0) *discount = 0x7fffffffffffffff;
    team.each(core.num_rows, [&](Count row) { matching.row_match[row] = NONE; });
    team.sync();
    Count least = 0x7fffffffffffffff;
    team.each(core.num_columns, [&](Count column) {
      const Count below = -price_of(words[column]);
      least = below < least ? below : least;
    });
    team.min_all(discount, least);
    team.sync();
    const Count above = core.num_rows == core.num_columns ? *discount : 0;
    const Dual room = core.has_epsilon() ? static_cast<Dual>(core.typical_spread()) : 0;
    team.each(core.num_columns, [&](Count i) {
      const Vertex column = static_cast<Vertex>(i);
      const Dual here = shortened(value_of(price_of(words[column]) + above)) - room;
      v[column] = here > -spread ? here : -spread;
      const Count owner = owner_of(words[column]);
      if (owner != no_owner()) matching.row_match[owner] = column;
    });
    team.sync();
  }
  DEVICE long long shortened(long long value) const { return value / (1LL << cost_bits); }
  DEVICE double shortened(double value) const { return value; }
};
