// bounds.cuh: passes over all pairs of points of many coordinates on a GPU, by bounds in float32.
//
// A window has a number for each pair of some rows and all columns: a product of two points, from a product of matrices, or what
// the pair costs, rounded down. This number, a number of its row and a number of its column add up to a bound of the cost from
// below: gmatch/backends/point_bounds.py says how far off bounds are. What a pair costs is computed only if its bound does not
// show that the pair is too expensive. It is summed in the order of metrics.hpp.
#pragma once
#include "core/block_passes.cuh"
#include "points/sums.cuh"
#include "points/window.cuh"

// A stratum has every 512th column. 16 lane groups share the strata of a row: each lane has one.
constexpr Vertex SHARES = 16, STRATA_OF_ROW = 32 * SHARES;

// Somewhat more than x, by more than the roundings of a comparison. No bound is -inf, or a difference of two could be NaN.
DEVICE float float_above(double x) {
  constexpr double LEAST = -3e38;
  return roughly_above<float>(x < LEAST ? LEAST : x);
}
DEVICE float float_below(double x) {
  const float near = static_cast<float>(x);
  return near <= x ? near : nextafterf(near, -static_cast<float>(beyond_all(double{})));
}

// Bounds of the pairs of some rows, divided by a unit that is a power of two.
struct PairBounds {
  const float* window;      // [num_rows][num_columns]
  const Vertex* rows;       // [num_rows] numbers of the rows in the whole problem, increasing
  const float* of_rows;     // [rows of the whole problem]
  const float* of_columns;  // [num_columns]
  const float* v;           // [num_columns] duals divided by the unit, rounded up
  double per_unit;          // 1 / unit
};

// What is found in each stratum of each row, and where it goes.
struct StrataOfRows {
  double* keys;     // [num_rows][STRATA_OF_ROW]
  Vertex* columns;  // [num_rows][STRATA_OF_ROW]

  DEVICE Count place(Count row, Count share, Count lane) const { return row * STRATA_OF_ROW + share * 32 + lane; }
};

// Few pairs come here, from many places of a pass.
template <class Terms>
DEVICE_APART double sum_of_pair(const double* x, const double* y, Count dimension, double p) {
  double sum = 0;
  for (Count k = 0; k < dimension; ++k) sum = Terms::add(sum, x[k], y[k], p);
  return Terms::end(sum, p);
}

template <class Terms>
struct BoundedPass {
  static constexpr Vertex ROWS = 4;

  PointPairs costs;  // x has all rows of the problem; num_rows counts the window's rows. y lies as x: [num_columns][dimension]
  Count dimension;
  PairBounds bounds;

  // use(first_row, share) for every ROWS rows by every share of the columns, each for a lane group.
  template <class Team, class Use>
  DEVICE void each_task(const Team& team, Use use) const {
    const Count groups = (costs.num_rows + ROWS - 1) / ROWS;
    team.each_group(groups * SHARES,
                    [&](Count i) { use(static_cast<Vertex>(i / SHARES) * ROWS, static_cast<Vertex>(i % SHARES)); });
  }

  // visit(r, column, bound of cost - v) for the columns of this lane whose bound is below most[r]. visit may lower that.
  template <class Team, class Visit>
  DEVICE void each_below(const Team& team, Vertex first_row, Vertex share, const float* most, Visit visit) const {
    constexpr Vertex TOGETHER = 4;
    const Count columns = costs.num_columns;
    const float infinite = static_cast<float>(beyond_all(double{}));
    const float limit = costs.limit < beyond_all(double{}) ? float_below(costs.limit * bounds.per_unit) : infinite;
    const float* entries[ROWS];
    float of_row[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      const Count row = first_row + r < costs.num_rows ? first_row + r : first_row;
      entries[r] = bounds.window + row * columns;
      of_row[r] = bounds.of_rows[bounds.rows[row]];
    }
    for (Count begin = share * 32 + team.lane(); begin < columns; begin += TOGETHER * STRATA_OF_ROW) {
      float entry[TOGETHER][ROWS], of_column[TOGETHER], v[TOGETHER];
      for (Vertex k = 0; k < TOGETHER; ++k) {
        const Count column = begin + k * STRATA_OF_ROW < columns ? begin + k * STRATA_OF_ROW : begin;
        for (Vertex r = 0; r < ROWS; ++r) entry[k][r] = team.read_once(entries[r] + column);
        of_column[k] = bounds.of_columns[column];
        v[k] = bounds.v[column];
      }
      for (Vertex k = 0; k < TOGETHER; ++k) {
        if (begin + k * STRATA_OF_ROW >= columns) break;
        for (Vertex r = 0; r < ROWS; ++r) {
          const float cost = of_sum(entry[k][r] + of_column[k] + of_row[r]);
          const float bound = (cost < limit ? cost : limit) - v[k];
          if (bound < most[r]) visit(r, static_cast<Vertex>(begin + k * STRATA_OF_ROW), bound);
        }
      }
    }
  }

  // The bound of a cost, without the limit.
  DEVICE float of_sum(float sum) const { return Terms::bound(sum, static_cast<float>(costs.sign)); }
  // The cost of a pair. `row` is a number in the whole problem.
  DEVICE double at(Vertex row, Vertex column) const {
    return costs.of_cost(sum_of_pair<Terms>(costs.x + row * dimension, costs.y + column * dimension, dimension, costs.p));
  }

  DEVICE bool is_row(Vertex first_row, Vertex r) const { return first_row + r < costs.num_rows; }
  // The number of row first_row + r in the whole problem. Beyond the last row of the window it is the number of first_row.
  DEVICE Vertex number(Vertex first_row, Vertex r) const { return bounds.rows[is_row(first_row, r) ? first_row + r : first_row]; }
};

// Where the picked pairs go: their places row * num_columns + column in the whole problem, in any order.
struct PickedPairs {
  Vertex most;         // of a row
  const Vertex* rows;  // [num_rows] numbers of the rows in the whole problem
  Count* places;       // room for `most` of each row
  Count* number;       // [1] how many pairs there are, of all windows so far
};

// Picks the least keys of each row, among its strata that have a column.
template <class Team>
DEVICE void pick_least(Team& team, Count num_rows, Count num_columns, const StrataOfRows& strata, const PickedPairs& picked) {
  team.each_group(num_rows, [&](Count row) {
    const double infinite = beyond_all(double{});
    double keys[SHARES];
    Vertex number = 0;
    for (Vertex share = 0; share < SHARES; ++share) {
      const Count place = strata.place(row, share, team.lane());
      keys[share] = strata.columns[place] == NONE ? infinite : strata.keys[place];
      number += team.count(team.vote(keys[share] < infinite));
    }
    if (number > picked.most) number = picked.most;
    Count begin = 0;
    if (team.lane() == 0) begin = team.fetch_add(picked.number, Count{number});
    begin = -team.min_group(-begin);
    for (Vertex k = 0; k < number; ++k) {
      double least = keys[0];
      for (Vertex share = 1; share < SHARES; ++share) least = keys[share] < least ? keys[share] : least;
      const bool is_least = least == team.min_group(least);
      const unsigned before = (1u << team.lane()) - 1, votes = team.vote(is_least);
      if (!is_least || (votes & before) != 0) continue;
      bool is_taken = false;
      for (Vertex share = 0; share < SHARES; ++share) {
        if (is_taken || keys[share] != least) continue;
        is_taken = true;
        keys[share] = infinite;
        picked.places[begin + k] =
            Count{picked.rows[row]} * num_columns + strata.columns[strata.place(row, share, team.lane())];
      }
    }
  });
}

// Picks pairs of each row: of least bounds of cost - v, each the least one of a stratum.
template <class Team, class Pass>
DEVICE void price_by_bounds(Team& team, const Pass& pass, const StrataOfRows& strata, const PickedPairs& picked) {
  constexpr Vertex ROWS = Pass::ROWS;
  pass.each_task(team, [&](Vertex first_row, Vertex share) {
    float least[ROWS];
    Vertex at[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      least[r] = static_cast<float>(beyond_all(double{}));
      at[r] = NONE;
    }
    pass.each_below(team, first_row, share, least, [&](Vertex r, Vertex column, float bound) {
      least[r] = bound;
      at[r] = column;
    });
    for (Vertex r = 0; r < ROWS && pass.is_row(first_row, r); ++r) {
      const Count place = strata.place(first_row + r, share, team.lane());
      strata.keys[place] = least[r];
      strata.columns[place] = at[r];
    }
  });
  team.sync();
  pick_least(team, pass.costs.num_rows, pass.costs.num_columns, strata, picked);
}

// Pairs that a row draws.
constexpr Count DRAWN = 3;

// A pseudo-random number of a place in a turn.
DEVICE unsigned scattered(Count place, unsigned turn) {
  unsigned x = static_cast<unsigned>(place) * 2654435761u + static_cast<unsigned>(place >> 32) + turn * 0x9e3779b9u;
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

// Draws 32 columns for each row, one for a lane, and others in each `turn`. Picks three: the best by cost - v of all 32, the best
// of the first 8, and the first. So each row has far pairs, and a cluster of columns gets them in proportion to its size.
// `places` gets DRAWN pairs of each row. A pair may come twice.
template <class Team, class Pass>
DEVICE void draw_pairs(Team& team, const Pass& pass, const double* v, unsigned turn, Count* places) {
  static_assert(Team::LANES == 32, "all lanes of a group vote");
  const Count columns = pass.costs.num_columns;
  team.each_group(pass.costs.num_rows, [&](Count row) {
    const Count column = scattered(row * 32 + team.lane(), turn) % static_cast<unsigned>(columns);
    const double reduced = pass.at(static_cast<Vertex>(row), static_cast<Vertex>(column)) - v[column];
    Vertex some = 32;
    for (Count k = 0; k < DRAWN; ++k, some = k == 1 ? 8 : 1) {
      const bool is_one = team.lane() < some;
      const double least = team.min_group(is_one ? reduced : beyond_all(double{}));
      const unsigned votes = team.vote(is_one && reduced == least), before = (1u << team.lane()) - 1;
      if ((votes >> team.lane() & 1) != 0 && (votes & before) == 0) places[DRAWN * row + k] = row * columns + column;
    }
  });
}

// Picks pairs of each row that cost less than u + v by more than rounding: each the worst one of its stratum. Also writes the
// least cost - v of each row, or u if none is less. A pair whose bound is not below u is not computed.
template <class Team, class Pass>
DEVICE void find_overpriced_by_bounds(Team& team, const Pass& pass, const double* u, const double* v, double* least_of_rows,
                                      const StrataOfRows& strata, const PickedPairs& picked) {
  constexpr Vertex ROWS = Pass::ROWS;
  const double per_unit = pass.bounds.per_unit;
  pass.each_task(team, [&](Vertex first_row, Vertex share) {
    double least[ROWS];
    float most[ROWS];
    Vertex at[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      least[r] = u[pass.number(first_row, r)];
      most[r] = float_above(least[r] * per_unit);
      at[r] = NONE;
    }
    pass.each_below(team, first_row, share, most, [&](Vertex r, Vertex column, float) {
      const double reduced = pass.at(pass.number(first_row, r), column) - v[column];
      if (!(reduced < least[r])) return;
      least[r] = reduced;
      most[r] = float_above(reduced * per_unit);
      at[r] = column;
    });
    for (Vertex r = 0; r < ROWS && pass.is_row(first_row, r); ++r) {
      const Count place = strata.place(first_row + r, share, team.lane());
      const double dual = u[pass.number(first_row, r)];
      const bool is_none = at[r] == NONE || is_rounding(least[r] - dual, dual, v[at[r]]);
      strata.keys[place] = least[r];
      strata.columns[place] = is_none ? NONE : at[r];
    }
  });
  team.sync();
  team.each_group(pass.costs.num_rows, [&](Count row) {
    const Vertex number = pass.bounds.rows[row];
    double least = u[number];
    for (Vertex share = 0; share < SHARES; ++share) {
      const double key = strata.keys[strata.place(row, share, team.lane())];
      least = key < least ? key : least;
    }
    least = team.min_group(least);
    if (team.lane() == 0) least_of_rows[number] = least;
  });
  pick_least(team, pass.costs.num_rows, pass.costs.num_columns, strata, picked);
}

// The costs of some pairs of the whole problem, given by their places row * num_columns + column.
template <class Team, class Pass>
DEVICE void find_costs_by_places(Team& team, const Pass& pass, const Count* places, Count num_places, double* found) {
  team.each(num_places, [&](Count i) {
    const Count columns = pass.costs.num_columns;
    found[i] = pass.at(static_cast<Vertex>(places[i] / columns), static_cast<Vertex>(places[i] % columns));
  });
}

// Duals of columns as bounds need them: divided by the unit, and rounded up by more than the roundings of a comparison.
template <class Team>
DEVICE void round_duals(Team& team, const double* v, Count num_columns, double per_unit, float* rounded) {
  team.each(num_columns, [&](Count column) {
    const double dual = v[column] * per_unit;
    const bool is_hidden = dual == -beyond_all(dual);  // no pair of such a column is looked at
    constexpr double ROUNDINGS = 4.0 / (1 << 24);
    rounded[column] = is_hidden ? static_cast<float>(dual) : -float_below(-dual - ROUNDINGS * (dual < 0 ? -dual : dual));
  });
}

// The largest distance of a coordinate from the centre. `largest` is 0 before.
template <class Team>
DEVICE void find_largest(Team& team, const double* points, Count num_points, Count dimension, const double* centre,
                         double* largest) {
  double mine = 0;
  team.each_group(num_points, [&](Count point) {
    for (Count k = team.lane(); k < dimension; k += team.lanes()) {
      const double here = fabs(points[point * dimension + k] - centre[k]);
      mine = here > mine ? here : mine;
    }
  });
  team.max_all(largest, mine);
}

// How points become factors of a product of matrices, and what belongs to a point in a bound.
struct Factors {
  double scale;      // coordinates, moved to the centre, are multiplied by this
  double factor;     // then, in the product, by this
  double of_square;  // the square of the length counts this many times in a bound
  double base;       // added to it
  double off;        // the error, as a share of the square and `least`
  double least;
  int part_of_low;   // the part of a row of factors that has the lower digits: 1 or 2
};

// A number of 11 binary digits near x, as tensor cores read it.
DEVICE float short_float(double x) {
  union {
    float number;
    unsigned bits;
  } same = {static_cast<float>(x)};
  same.bits = (same.bits + 0x1000u) & ~0x1fffu;
  return same.number;
}

// A number of 11 binary digits, none of them below 2**-24: half floats hold such numbers.
DEVICE float half_float(double x) {
  constexpr double LEAST = 1.0 / (1 << 14), DIGIT = 1.0 / (1 << 24);
  return x < LEAST && x > -LEAST ? static_cast<float>(floor(x / DIGIT + 0.5) * DIGIT) : short_float(x);
}
// The bits of such a number as a half float. The bits of a float have more digits, and exponents that count from another number.
DEVICE unsigned short bits_of_half(float x) {
  union {
    float number;
    unsigned bits;
  } same = {x};
  constexpr float LEAST = 1.0f / (1 << 14), DIGIT = 1.0f / (1 << 24);
  const unsigned sign = same.bits >> 16 & 0x8000u;
  const float size = x < 0 ? -x : x;
  const unsigned rest = size < LEAST ? static_cast<unsigned>(size / DIGIT) : ((same.bits & 0x7fffffffu) >> 13) - (112u << 10);
  return static_cast<unsigned short>(sign | rest);
}

// Coordinates as half floats, `width` for each point, filled up with zeros. `lost` becomes the largest length of what rounding
// takes from a point, as a share of its length; it is 0 before. `least` is added to the square of each length, since small
// numbers lose more. `sums` is memory as for make_factors.
template <class Team>
DEVICE void make_halves(Team& team, const double* points, Count num_points, Count dimension, Count width, const double* centre,
                        double factor, double least, double* sums, unsigned short* made, double* lost) {
  double largest = 0;
  team.each_group(num_points, [&](Count point) {
    double mine = 0, mine_lost = 0;
    for (Count k = team.lane(); k < width; k += team.lanes()) {
      const double x = k < dimension ? (points[point * dimension + k] - centre[k]) * factor : 0;
      const float half = half_float(x);
      made[point * width + k] = bits_of_half(half);
      mine += x * x;
      mine_lost += (x - half) * (x - half);
    }
    double* const of_group = sums + team.rank() / team.lanes() * team.lanes();
    const double square = sum_of_group(team, of_group, mine), square_lost = sum_of_group(team, of_group, mine_lost);
    const double share = sqrt(square_lost / (square + least));
    largest = share > largest ? share : largest;
  });
  team.max_all(lost, largest);
}

// A row of factors has three parts of `width` numbers, filled up with zeros. Two parts have the first digits of the coordinates,
// and one has the next digits. x and y have the next digits in different parts. So the product of a row of x and a row of y
// lacks the product of their next digits. `sums` [team.size()] is memory to work in. If `made` is null, only `of_points` is
// written: half floats are the factors.
template <class Team>
DEVICE void make_factors(Team& team, const double* points, Count num_points, Count dimension, Count width,
                         const double* centre, const Factors& factors, double* sums, float* made, float* of_points) {
  constexpr double LEAST_NUMBER = 1.0 / (1LL << 60) / (1LL << 58);  // smaller products are rounded by more than a share
  team.each_group(num_points, [&](Count point) {
    double mine = 0;
    for (Count k = team.lane(); k < width; k += team.lanes()) {
      const double x = k < dimension ? (points[point * dimension + k] - centre[k]) * factors.scale : 0;
      mine += x * x;
      if (made == nullptr) continue;
      float* const to = made + 3 * point * width;
      const double factor = x * factors.factor;
      const float high = short_float(factor), low = short_float(factor - high);
      to[k] = high;
      to[width + k] = factors.part_of_low == 1 ? low : high;
      to[2 * width + k] = factors.part_of_low == 2 ? low : high;
    }
    const double square = sum_of_group(team, sums + team.rank() / team.lanes() * team.lanes(), mine);
    if (team.lane() != 0) return;
    const double error = factors.off * (square + factors.least) + LEAST_NUMBER * static_cast<double>(dimension);
    of_points[point] = float_below(factors.of_square * square + factors.base - error);
  });
}

// What pairs cost, rounded, divided by the unit: in place of the numbers of a window.
template <class Team, class Pass>
DEVICE void finish_window(Team& team, const Pass& pass, float* window) {
  const Count columns = pass.costs.num_columns;
  team.each(pass.costs.num_rows * columns, [&](Count i) {
    window[i] = pass.of_sum(window[i] + pass.bounds.of_columns[i % columns] + pass.bounds.of_rows[i / columns]);
  });
}

// A window for metrics that are no products: what pairs cost, times the sign, divided by the unit and rounded down.
template <class Terms, class Team>
DEVICE void find_bounds_of_window(Team& team, const PointWindow& window, double per_unit, float* bounds) {
  each_cost_of_window<Terms>(team, window, [&](Count place, double cost) { bounds[place] = float_below(cost * per_unit); });
}
