// auction.cuh: an auction of columns among the rows of a problem, dense or sparse, without a barrier.
//
// A row bids for its best column. It bids by how much that column is better than its second best, and epsilon more. The row
// that it outbids bids next. The price and the owner of a column are one word, so that one atomic minimum places a bid and
// says which row was displaced. The lane group that displaced a row goes on for it. A price is what v has fallen by.
//
// The invariant: a row that owns a column finds no column better by more than epsilon. It holds whatever the races, because
// v only falls, and a fall makes a column worse for all other rows. So epsilon may start large, for speed, and shrink. The
// last epsilon is so small that the pairs are nearly always the best ones; refine_prices then makes them tight. Rows whose
// chain gets too long are left to the search.
//
// Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of Operations
// Research 14 (1988).
#pragma once
#include "costs/spreads.cuh"

// Bids of a chain if rows have few entries: 32 below 4096 rows, since a small problem is solved before a long chain ends.
DEVICE Vertex bids_of_chain(Vertex num_rows) { return num_rows < 4096 ? 32 : 64; }

// The problem is square, unless epsilon is zero.
template <class Costs>
struct Auction {
  using Dual = typename Costs::Dual;

  // Epsilon, in spreads of a row: powers of two, from 2 ** first down to 2 ** last, by factors of 2 ** STEP.
  static constexpr int STEP = 2, LAST_TO_SPREAD = -7;
  // The first epsilon if rows want different columns. In a round all prices fall by about its epsilon, while the bounds of what
  // rows left out stay. So a larger first epsilon makes rows read in vain. The numbers from CALM_FIRST to WIDER,
  // BIDS_OF_A_READ and COLUMNS_OF_A_BID were measured together: benchmarks/log/core_gpu.md, "Auctions that begin with smaller
  // epsilons".
  static constexpr int CALM_FIRST = -5;
  // A round cuts off few chains if it cuts off at most 1 for CALM rows. After other rounds chains become GROWTH times as long.
  static constexpr Vertex CALM = 64, GROWTH = 4;
  // In a core a round is calm only if it also cuts off at most FELL chains for OF_BEFORE that the round before it cut off. With 4
  // times the epsilon, points of 32 features cut off 0.3 times as many chains: their epsilon was too small. Points in the plane
  // or in space cut off 0.4 to 0.6 times as many: a region has more rows than columns. See benchmarks/log/core_gpu.md,
  // "Long chains while epsilon is large, in cores".
  static constexpr Count FELL = 2, OF_BEFORE = 5;
  // An auction that may stop early stops if its last round cut off at most SMOOTH chains for every OF_THOSE chains of the round
  // before it, which had a fourth of the epsilon. Then the prices of regions are wrong by a few spreads at most, and
  // smooth_prices.cuh mends them. For points in the plane a round cuts off 0.5 to 0.6 times as many chains as the round before
  // it, for a cloud and a ring 0.8 times, for clusters 0.9 times. Smooth prices make rings and clusters slower:
  // benchmarks/log/core_gpu.md, "Prices are smoothed where rows want the same columns".
  static constexpr Count SMOOTH = 7, OF_THOSE = 10;
  // Epsilon becomes 2^WIDER times as large after a round that cuts off chains for more than 1 row in MANY.
  static constexpr Vertex MANY = 8;
  static constexpr int WIDER = 6;
  // Chains become twice as long if that saves 2 rows for each short chain's length that is added. 1 and 16 in place of 4 are
  // slower for random costs, or for points: benchmarks/log/sparse.md, "Chains as long as they are worth".
  static constexpr Count WORTH = 4;
  // In the first round after the rounds that look for the first epsilon, chains get a short chain's length for each OF_FAR rows
  // that were cut off, and at most FAR lengths. In each round after that they are NEARER times shorter. If a region has more rows
  // than columns, prices must fall all the way to the next free columns. Large epsilons do that in few bids, and small ones do
  // not undo it. A row that is cut off costs the search a path across the region: benchmarks/log/points.md, "Long chains while
  // epsilon is large", and benchmarks/log/core_gpu.md, "Long chains while epsilon is large, in cores". A row may be cut off by
  // chains that are as long as later ones can get. Then it does not make these longer: benchmarks/log/points.md, "Rows that long
  // chains leave free".
  static constexpr Count OF_FAR = 2, FAR = 64;
  static constexpr Vertex NEARER = 4;
  // A row that reads the matrix counts as BIDS_OF_A_READ bids of its chain, and one more for each COLUMNS_OF_A_BID columns. A
  // read takes longer than these bids, but chains that end after few reads leave more rows free.
  static constexpr Vertex BIDS_OF_A_READ = 2, COLUMNS_OF_A_BID = 1024;
  // Epsilons that an offer may be worse than one left out. With 12 points are faster, but where many rows want few columns they
  // bid twice as often, and too many stay free: benchmarks/log/core_gpu.md, "Slack is 4 again".
  static constexpr Count SLACK = 4;
  static constexpr int FINER = 5;              // a unit of a price is the last epsilon over 2 ** FINER
  // Prices of an auction alone may fall by 2 ** FALL widest spreads. With FALL = 10 a word has 4 bits less for parts of a spread,
  // so the last epsilon is larger. 12 % of the pairs of a ring of 100,000 points are then not tight: benchmarks/log/points.md, "A
  // finer last epsilon".
  static constexpr int FALL = 6;

  Costs costs;
  const Spreads<Dual>* spreads;
  int first, last;   // epsilon
  Vertex most_bids;  // of a chain, one after the other
  Matching matching;
  Dual* v;           // [num_columns]
  Dual spread;       // how far v may lie apart
  bool is_alone;     // its launch has no search
  bool begins_at_v;  // prices begin at v (at most zero, at least half of the lowest price); otherwise they begin at zero
  bool may_stop;     // may stop early if near rows want the same columns. It then leaves free rows, after rounds of short chains
  Count* words;      // [num_columns] a price, and below it an owner
  Vertex* next_row;  // [1] that has not bid yet in this round
  Count* num_bids;   // [1]
  Count* num_cut_off;  // [1] chains
  Count* num_read;   // [1] rows that read the matrix again
  Count* rest;       // [num_rows] of costs that leave pairs out: no left-out pair offers more
  Count* discount;   // [1] how far the highest price lies below zero
  int owner_bits;
  int cost_bits;     // bits by which costs are made longer, so that epsilon can be less than one
  int price_bits;    // bits by which units are longer than costs
  double unit, units_in_one;  // of floats: what a unit is, and the other way round
  double worth_of_unit;       // of all costs

  DEVICE void carve(Workspace& workspace) {
    words = workspace.take<Count>(costs.num_columns);
    next_row = workspace.take<Vertex>(1);
    num_bids = workspace.take<Count>(1);
    num_cut_off = workspace.take<Count>(1);
    num_read = workspace.take<Count>(1);
    if constexpr (Costs::LEAVES_OUT) rest = workspace.take<Count>(costs.num_rows);
    discount = workspace.take<Count>(1);
  }

  // Whether bids need an epsilon: entries differ, the problem is square, and all sums and prices stay in range.
  DEVICE bool has_epsilon() const {
    return spreads->num_rows > 0 && costs.num_rows == costs.num_columns && finest() < first &&
           (is_alone || finest() == last || has_room()) &&
           room_above(Dual{}) >= -1;
  }

  // All prices start at zero, or at v. Leaves v, and pairs that are tight within epsilon. If columns may stay free, only
  // one round is held, with epsilon = 0, so that columns without a bid keep v = 0.
  //
  // `longer` is for costs of which nothing is known yet. If rows want different columns, a first round with a small epsilon is
  // calm, and saves the rounds before it. Otherwise near rows want the same columns, as points in the plane do. The spread of a
  // row does not say how far prices must then go apart: for (i - j + n / 3)^2 it is a millionth of that, and rows would bid a
  // thousand times. So epsilon grows until a round is calm, or until epsilon is at least `first` and the round does not cut off
  // many chains. In the second case chains become GROWTH times as long, and again after each round that cuts off more than 1 row
  // in CALM, until they are `longer` times as long. A round with the largest epsilon that lets chains grow is held again. The
  // last rounds have short chains again, since prices then hardly change. Prices only fall in all rounds, so the bounds of what
  // rows left out still hold. On an H200 growth by 4 took a tenth less time than growth by 16 at once, n = 20,000.
  //
  // Chains may get up to `most_times` times as long again, as `times_after` says: a row that the last round cuts off needs a path
  // of a search.
  //
  // An auction that may stop early stops if no round was calm, but larger epsilons help (SMOOTH). Rounds of short chains first
  // make epsilon small again. Returns whether the auction was held to its end.
  //
  // An auction alone is all that its launch does. It starts from entries less good duals, so its first epsilon is small, and
  // grows until a round is calm. Clusters far from each other, one of which has more rows than columns, need prices that go
  // farther apart than the entries of most rows.
  template <class Team>
  DEVICE bool run(Team& team, Vertex longer = 1, Vertex most_times = 1) {
    if (has_epsilon()) last = finest();
    choose_units();
    if (team.rank() == 0) *num_bids = *num_cut_off = *num_read = 0;
    begin_prices(team);
    begin_rest(team);
    Vertex times = 1;
    if (has_epsilon()) {
      int bits = first;
      Vertex bids = most_bids, far = 0;
      Count left_by_far = 0;
      if (is_alone || longer > 1) {
        Count cut_off = 0, before = 0;
        if (find_first(team, &bits, &before, &cut_off)) longer = 1;
        else if (may_stop && before <= costs.num_rows / MANY && cut_off * OF_THOSE <= before * SMOOTH) {
          for (; bits >= CALM_FIRST; bits -= STEP) hold_round(team, epsilon_of(bits), most_bids);
          team = read_off_apart(team, *this);
          return false;
        }
        if (longer > 1) bids *= GROWTH;
        if (longer > 1 || is_alone) far = most_bids * static_cast<Vertex>(cut_off / OF_FAR < FAR ? cut_off / OF_FAR : FAR);
      }
      for (const int largest = bits; bits > last; far /= NEARER) {
        const bool spreads = bits >= LAST_TO_SPREAD;
        const Vertex usual = times * (spreads ? bids : most_bids);
        const Count cut_off = hold_round(team, epsilon_of(bits), usual < far ? far : usual);
        const bool cuts_off = cut_off > costs.num_rows / CALM;
        if (far >= most_bids * most_times) left_by_far = cut_off;
        times = times_after(cut_off > left_by_far ? cut_off - left_by_far : 0, times, most_times);
        const bool grows = spreads && cuts_off && bids < most_bids * longer;
        if (grows) bids *= GROWTH;
        if (!grows || bits < largest) bits -= STEP;
      }
    }
    hold_round(team, has_epsilon() ? epsilon_of(last) : 0, times * most_bids);
    team = read_off_apart(team, *this);
    return true;
  }

 private:
  static constexpr Vertex STOP = LAST_VERTEX;

  // Holds rounds with larger and larger epsilons, from CALM_FIRST on, until one of them is calm: it cuts off few chains, and, if
  // the auction is not alone, far fewer than the round before it. An auction alone also stops at an epsilon as large as the
  // widest spread. Other auctions also stop from `first` on: after a round that does not cut off many chains, or at an epsilon as
  // large as prices may lie apart. Returns whether the last round was calm. Leaves how many chains that round and the round
  // before it cut off, and the epsilon of the next round.
  template <class Team>
  DEVICE bool find_first(Team& team, int* bits, Count* before, Count* cut_off) const {
    *before = costs.num_rows;
    for (int here = CALM_FIRST;; *before = *cut_off) {
      *cut_off = hold_round(team, epsilon_of(here), most_bids);
      const bool fell = is_alone || *cut_off * OF_BEFORE <= *before * FELL;
      const bool is_calm = *cut_off <= costs.num_rows / CALM && fell, cuts_many = *cut_off > costs.num_rows / MANY;
      *bits = is_calm ? here - STEP : here;
      if (is_calm) return true;
      const bool is_widest = ldexp(spreads->typical(), here) >= static_cast<double>(is_alone ? spreads->widest : spread);
      if (is_alone ? is_widest : here >= first && (is_widest || !cuts_many)) return false;
      here += cuts_many ? WIDER : STEP;
    }
  }

  // How many times as long chains are to be in the next round, at most `most`. A chain t times as long takes t times as long,
  // and one t-th as many are cut off: t grows with the root of the number that short chains cut off.
  static DEVICE Vertex times_after(Count cut_off, Vertex times, Vertex most) {
    Vertex longer = 1;
    while (longer < most && WORTH * longer * longer <= cut_off * times) longer *= 2;
    return longer;
  }
  // The last epsilon, or the least that is not lost in a sum with the largest entry. An auction alone starts from entries less
  // good duals. So its prices are taken to fall by at most 2^FALL widest spreads, and epsilon is as fine as words for them allow.
  DEVICE int finest() const {
    const int told_apart = -spreads->bits_of_a_dual(), finest = last < told_apart ? told_apart : last;
    const int with_room = spreads->bits_of_widest() + FINER + FALL + bits_of_an_owner() - 62;
    return is_alone && finest < with_room ? with_room : finest;
  }
  // Whether half of a word holds the prices of n rows, which lie at most n times the widest spread apart. Prices for costs of
  // many magnitudes do not fit, such as x^8 for x drawn evenly.
  DEVICE bool has_room() const { return spreads->bits_of_widest() + FINER + 2 * bits_of_an_owner() - last <= 61; }
  DEVICE int typical_exponent() const { return spreads->typical_exponent(); }
  // 2 ** bits spreads of a row, in units.
  DEVICE Count epsilon_of(int bits) const {
    return static_cast<Count>(ldexp(1.0, typical_exponent() + bits + cost_bits - price_bits));
  }
  DEVICE int bits_of_an_owner() const {
    int bits = 1;
    while ((Count{1} << bits) - 1 <= costs.num_rows) ++bits;
    return bits;
  }
  DEVICE void choose_units() {
    owner_bits = bits_of_an_owner();
    const int finer = spreads->num_rows > 0 ? FINER - last - typical_exponent() : 0, room = room_above(Dual{});
    cost_bits = room < finer ? room : finer;
    if (cost_bits < 0) cost_bits = 0;
    price_bits = least_price_bits(Dual{}, room < -1 && -finer < -1 - room ? -1 - room : -finer);
    unit = ldexp(1.0, price_bits);
    units_in_one = ldexp(1.0, -price_bits);
    worth_of_unit = ldexp(1.0, price_bits - cost_bits);
  }
  // Integer costs are made longer if no sum can overflow. They are made shorter if an offer would leave 64 bits; see
  // offer_of. Floats are left as they are. A price of integers is whole.
  DEVICE int room_above(long long) const {
    // Entries that a core gains later lie within two spreads of its present entries.
    return 58 - ilogb(1 + static_cast<double>(spreads->largest) + 2 * static_cast<double>(spread));
  }
  DEVICE int room_above(double) const { return 0; }
  static DEVICE int least_price_bits(long long, int bits) { return bits > 0 ? bits : 0; }
  static DEVICE int least_price_bits(double, int bits) { return bits < -1000 ? -1000 : bits; }

  // A word holds how far a price lies above the lowest possible price, and the owner.
  DEVICE Count no_owner() const { return (Count{1} << owner_bits) - 1; }
  DEVICE Count lowest_price() const { return 1 - (Count{1} << bits_of_prices(Dual{})); }
  DEVICE int bits_of_prices(double) const { return 62 - owner_bits; }
  DEVICE int bits_of_prices(long long) const { return 62 - (price_bits > owner_bits ? price_bits : owner_bits); }
  DEVICE Count word(Count price, Count owner) const { return (price - lowest_price()) << owner_bits | owner; }
  DEVICE Count height_of(Count word) const { return word >> owner_bits; }
  DEVICE Count price_of(Count word) const { return height_of(word) + lowest_price(); }
  DEVICE Count owner_of(Count word) const { return word & no_owner(); }

  // A cost in units, rounded down if a unit is more than one; and the worth of a price.
  DEVICE Count in_units(long long cost) const { return cost * (1LL << cost_bits) >> price_bits; }
  DEVICE Count in_units(double cost) const {
    constexpr double MOST = 0x1p60;
    const double units = cost * units_in_one;
    return static_cast<Count>(units < MOST ? units > -MOST ? units : -MOST : MOST);
  }
  DEVICE Dual value_of(Count price) const { return value(price, Dual{}); }
  DEVICE long long value(Count price, long long) const { return price * (1LL << price_bits) / (1LL << cost_bits); }
  DEVICE double value(Count price, double) const { return static_cast<double>(price) * unit; }
  // The least worth of units, whatever was rounded: of a cost less a price.
  DEVICE long long value_below(Count units, long long) const { return units * (1LL << price_bits) >> cost_bits; }
  DEVICE double value_below(Count units, double) const { return static_cast<double>(units - 1) * unit; }

  // The best pair that each row of a core leaves out, at the first prices.
  template <class Team>
  DEVICE void begin_rest(Team& team) const {
    if constexpr (Costs::LEAVES_OUT) {
      team.each(costs.num_rows, [&](Count row) {
        const Dual least = costs.rest[row];
        rest[row] = least == costs.infinite() ? NO_OFFER : 2 * (in_units(least) + lowest_price());
      });
      team.sync();
    }
  }

  // No column has an owner.
  template <class Team>
  DEVICE void begin_prices(Team& team) const {
    team.each(costs.num_columns, [&](Count column) {
      const Count price = begins_at_v ? in_units(v[column]) : 0;
      words[column] = word(price > lowest_price() / 2 ? price : lowest_price() / 2, no_owner());
    });
    team.sync();
  }

  // All rows bid, with no column owned at first, and a chain has at most `most` bids. Returns how many chains were cut off.
  template <class Team>
  DEVICE Count hold_round(Team& team, Count epsilon, Vertex most) const {
    const Count cut_off_before = *num_cut_off;
    team = hold_round_apart(team, *this, epsilon, most);
    return *num_cut_off - cut_off_before;
  }
  // One copy for all rounds: a compiler would otherwise make a copy for each.
  template <class Team>
  static DEVICE_APART Team hold_round_apart(Team team, Auction auction, Count epsilon, Vertex most) {
    auction.let_all_bid(team, epsilon, most);
    return team;
  }
  template <class Team>
  DEVICE void let_all_bid(Team& team, Count epsilon, Vertex most) const {
    team.each(costs.num_columns, [&](Count column) { words[column] |= no_owner(); });
    if (team.rank() == 0) *next_row = 0;
    team.sync();
    const auto bidders = groups_for_a_row(team);
    Vertex bids = 0, cut_off = 0, read = 0;
    for (Vertex row = take_row(bidders); row < costs.num_rows; row = take_row(bidders)) {
      Vertex of_chain = 0;
      bool may_read = Costs::LEAVES_OUT;
      while (!follow_chain(bidders, row, of_chain, epsilon, most, may_read)) {
        read_again_apart(bidders, *this, row, static_cast<unsigned>(of_chain));
        of_chain += BIDS_OF_A_READ + costs.num_columns / COLUMNS_OF_A_BID;
        may_read = false;
        ++read;
      }
      bids += of_chain;
      cut_off += of_chain >= most;
    }
    team.add_all(num_bids, bidders.lane() == 0 ? bids : Count{0});
    team.add_all(num_cut_off, bidders.lane() == 0 ? cut_off : Count{0});
    if constexpr (Costs::LEAVES_OUT) team.add_all(num_read, bidders.lane() == 0 ? read : Count{0});
    team.sync();
  }

  // A bid reads a whole row. All threads of a block read a long row: the fewer rows bid at once, the fewer bid in vain.
  template <class Team>
  DEVICE auto groups_for_a_row(const Team& team) const {
    if constexpr (decltype(row_of(costs, 0))::IS_LONG) return team.in_blocks();
    else return team;
  }

  template <class Team>
  DEVICE Vertex take_row(const Team& team) const {
    return team.min_group(team.lane() == 0 ? team.fetch_add(next_row, 1) : LAST_VERTEX);
  }

  // The offer of a column to a row: twice the cost less the price (counted from the lowest price), in units, and one more if
  // the column has an owner. So a free column is the best of equal offers.
  static constexpr Count NO_OFFER = 0x7fffffffffffffff;
  DEVICE Count offer_of(Dual cost, Count word) const {
    return is_forbidden(cost) ? NO_OFFER : 2 * (in_units(cost) - height_of(word)) + (owner_of(word) != no_owner());
  }

  // The best offer that a lane finds, with the column and its word, and the second best offer.
  struct Best {
    Count offer = NO_OFFER, second = NO_OFFER, word = 0;
    Vertex column = NONE;

    DEVICE void add(Count here, Count word_there, Vertex there) {
      const bool is_best = here < offer;
      second = is_best ? offer : here < second ? here : second;
      offer = is_best ? here : offer;
      word = is_best ? word_there : word;
      column = is_best ? there : column;
    }
  };

  // `row` bids, then the row that it displaces, and so on. Returns false if a row must read the matrix before it bids; the first
  // row may have read it. Counts bids. A long row is seldom too late, and only its successful bids count. A short row's vain bids
  // count, too: a chain that is always too late would hold up its round.
  template <class Team>
  DEVICE bool follow_chain(const Team& team, Vertex& row, Vertex& bids, Count epsilon, Vertex most, bool may_read) const {
    constexpr bool COUNTS_ALL = !decltype(row_of(costs, row))::IS_LONG;
    while (bids < most && row != STOP) {
      Count left_out = NO_OFFER;
      if constexpr (Costs::LEAVES_OUT) left_out = team.read(&rest[row]);  // first, so that it is under way with the entries
      const Best best = find_best(team, row);
      const Count offer = team.min_group(best.offer);
      if constexpr (Costs::LEAVES_OUT) {
        if (may_read && left_out != NO_OFFER && offer > left_out + 2 * SLACK * epsilon) return false;
        may_read = true;
      }
      if (offer == NO_OFFER) return true;
      // Equal offers are chosen in turns.
      const unsigned lanes = team.lanes(), turn = static_cast<unsigned>(team.lane() + row + bids) % lanes;
      const int place = static_cast<int>(best.offer == offer ? turn : lanes);
      const bool wins = place == team.min_group(place);
      Count second = team.min_group(wins ? best.second : best.offer);
      if constexpr (Costs::LEAVES_OUT) second = second < left_out ? second : left_out < offer ? offer : left_out;
      const Vertex next = team.min_group(wins ? bid(team, row, best, second, epsilon) : STOP);
      bids += COUNTS_ALL || next != row;
      row = next;
    }
    return true;
  }

  template <class Team>
  static DEVICE_APART void read_again_apart(Team team, Auction auction, Vertex row, unsigned turn) {
    auction.read_again(team, row, turn);
  }
  // The entries of a row are worse than a pair that it left out: the row reads the matrix at the present prices.
  template <class Team>
  DEVICE void read_again(const Team& team, Vertex row, unsigned turn) const {
    if constexpr (Costs::LEAVES_OUT) {
      const Count left_out = costs.read_in_auction(team, row, turn, Offers<Team>{*this, team});
      if (team.lane() == 0) team.write(&rest[row], left_out);
      team.sync_group();
    }
  }
  // How a row that reads judges pairs: see Core.
  template <class Team>
  struct Offers {
    static constexpr Count near = -NO_OFFER;
    const Auction& auction;
    const Team& team;

    static DEVICE Count nothing() { return NO_OFFER; }
    DEVICE Count see(Vertex column) const { return team.read(&auction.words[column]); }
    DEVICE Count worth(Dual cost, Count word) const { return auction.offer_of(cost, word); }
    template <class Rough>
    DEVICE Rough roughly_v(Count word) const { return auction.template roughly_v_of<Rough>(word); }
    template <class Rough>
    DEVICE Rough roughly_reduced(Count offer) const {
      return offer == NO_OFFER ? static_cast<Rough>(Costs::infinite())
                               : auction.template roughly_worth<Rough>((offer >> 1) - auction.lowest_price() + 1);
    }
  };
  // The worth of units, rounded up, in as short a type as the result: each entry of a row that reads the matrix is compared.
  template <class Rough>
  DEVICE Rough roughly_worth(Count units) const {
    return roughly_above<Rough>(static_cast<Rough>(units) * static_cast<Rough>(worth_of_unit));
  }
  // The worth of a price, rounded up: of the whole word, whose owner is less than a unit.
  template <class Rough>
  DEVICE Rough roughly_v_of(Count here) const {
    const Rough worth_of_an_owner = static_cast<Rough>(ldexp(worth_of_unit, -owner_bits));
    return roughly_above<Rough>(static_cast<Rough>(here - word(0, 0)) * worth_of_an_owner);
  }

  template <class Team>
  DEVICE Best find_best(const Team& team, Vertex row) const {
    const auto entries = row_of(costs, row);
    constexpr Vertex MINE = Team::AT_ONCE > 1 ? decltype(row_of(costs, row))::AT_ONCE : 1;
    Best best;
    if (!entries.has_places()) return best;
    Vertex first = team.lane(), size;
    NOT_UNROLLED
    do {
      Vertex column[MINE];
      typename Costs::Cost entry[MINE];
      Count word[MINE];
      for (Vertex k = 0; k < MINE; ++k) {
        const Vertex place = entries.safe(first + k * team.lanes());
        column[k] = entries.column(team, place);
        entry[k] = entries.entry(team, place);
      }
      size = entries.size_of(team);
      for (Vertex k = 0; k < MINE; ++k) {
        word[k] = first + k * team.lanes() < size ? team.read(&words[column[k]]) : 0;
      }
      for (Vertex k = 0; k < MINE; ++k) {
        const Count offer = offer_of(costs.of_entry(entry[k]), word[k]);
        best.add(first + k * team.lanes() < size ? offer : NO_OFFER, word[k], column[k]);
      }
      first += MINE * team.lanes();
    } while (first < size);
    return best;
  }

  // Places a bid. Returns the row to bid next: the displaced row, or this row again if another group was faster; or STOP.
  template <class Team>
  DEVICE Vertex bid(const Team& team, Vertex row, const Best& best, Count second, Count epsilon) const {
    // How much a row with one column can pay for it is not known here, perhaps nothing.
    const Count more = second == NO_OFFER ? epsilon : (second >> 1) - (best.offer >> 1) + epsilon;
    const Count height = height_of(best.word) - more;
    if (height < 0) return STOP;
    const Count desired = height << owner_bits | row;
    if (desired >= best.word) return STOP;  // a bid of zero, which the present owner would win
    const Count found = team.lower(&words[best.column], desired);
    if (desired >= found) return row;
    return owner_of(found) == no_owner() ? STOP : static_cast<Vertex>(owner_of(found));
  }

  // One copy, as for rounds.
  template <class Team>
  static DEVICE_APART Team read_off_apart(Team team, Auction auction) {
    auction.read_off(team);
    return team;
  }
  // Leaves the pairs, and v. A square problem does not change if all v change alike. The highest v becomes zero, so that v stays
  // small; or a little less, so that prices can be refined.
  template <class Team>
  DEVICE void read_off(Team& team) const {
    if (team.rank() == 0) *discount = 0x7fffffffffffffff;
    team.each(costs.num_rows, [&](Count row) { matching.row_match[row] = NONE; });
    team.sync();
    Count least = 0x7fffffffffffffff;
    team.each(costs.num_columns, [&](Count column) {
      const Count below = -price_of(words[column]);
      least = below < least ? below : least;
    });
    team.min_all(discount, least);
    team.sync();
    const Count above = costs.num_rows == costs.num_columns ? *discount : 0;
    const int places = static_cast<int>(-spreads->minus_places);
    Dual room = has_epsilon() ? static_cast<Dual>(spreads->typical()) : 0;
    room = room < spread ? room : spread;
    team.each(costs.num_columns, [&](Count i) {
      const Vertex column = static_cast<Vertex>(i);
      const Dual exact = value_of(price_of(words[column]) + above);
      v[column] = rounded_down((exact > -spread ? exact : -spread) - room, places);
      const Count owner = owner_of(words[column]);
      matching.col_match[column] = owner == no_owner() ? NONE : static_cast<Vertex>(owner);
      if (owner != no_owner()) matching.row_match[owner] = column;
    });
    if constexpr (Costs::LEAVES_OUT) {
      team.each(costs.num_rows, [&](Count row) {
        const Count left_out = rest[row];
        costs.rest[row] =
            left_out == NO_OFFER ? costs.infinite() : value_below((left_out >> 1) - lowest_price() - above, Dual{}) + room;
      });
    }
    team.sync();
  }
};

// Makes nearly tight pairs tight: v of a pair rises until its row finds nothing better, so the v of others may have to rise,
// too. If the pairs are the best ones, this ends with all pairs tight. Otherwise some v would rise for ever. Only the row of a
// pair changes its v. Other rows may read an old value, and look again. Returns whether it ended.
//
// Goldberg, Kennedy, "An efficient cost scaling algorithm for the assignment problem", Mathematical Programming 71 (1995),
// price refinement.
template <class Team, class Costs, class Dual>
DEVICE bool refine_prices(Team& team, const Costs& costs, const Matching& matching, Dual* v) {
  // A round is 3 passes over all rows and a barrier. After 12 rounds the prices stay as they are, even if some pairs are not
  // tight. 3 to 48 rounds, and 1 to 6 passes, are as fast on a GPU: benchmarks/log/core_gpu.md, "Thresholds measured again".
  constexpr int MOST_ROUNDS = 12, PASSES = 3;
  NOT_UNROLLED
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    bool rises = false;
    NOT_UNROLLED
    for (int pass = 0; pass < PASSES; ++pass) {
      rises = false;
      team.each_group(costs.num_rows, [&](Count row) {
        rises |= refine_price(team, costs, static_cast<Vertex>(row), matching.row_match[row], v);
      });
    }
    if (!team.any(rises)) return true;
  }
  return false;
}

// The best cost - v of a row, and the cost - v of its own column.
template <class Dual>
struct OwnAndBest {
  Dual own, best;
};
template <class Team, class Costs, class Dual>
DEVICE OwnAndBest<Dual> own_and_best(const Team& team, const Costs& costs, Vertex row, Vertex column, const Dual* v) {
  Dual least = costs.infinite(), own = least;
  const auto entries = row_of(costs, row);
  for (Vertex place = team.lane(); place < entries.size; place += team.lanes()) {
    const Vertex there = entries.column(place);
    const Dual reduced = entries.at(place) - team.read(&v[there]);
    least = reduced < least ? reduced : least;
    own = there == column ? reduced : own;
  }
  return {team.min_group(own), team.min_group(least)};
}

// Returns whether v of the pair rose.
template <class Team, class Costs, class Dual>
DEVICE bool refine_price(const Team& team, const Costs& costs, Vertex row, Vertex column, Dual* v) {
  if (column == NONE) return false;
  const auto found = own_and_best(team, costs, row, column, v);
  const Dual here = team.read(&v[column]), risen = here + (found.own - found.best);
  if (is_rounding(found.own - found.best, found.best, here) || risen > 0) return false;
  if (team.lane() == 0) team.write(&v[column], risen);
  return true;
}
