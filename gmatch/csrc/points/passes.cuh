// passes.cuh: passes over all pairs of points on a GPU that compute what each pair costs, to the bit as window.cuh does.
//
// For few coordinates a sum takes less time than to read it from memory. So no window of costs is ever written. No sum is
// computed for most tiles of columns: what a pair costs with the box of a tile, less the largest v of its columns, is no more
// than any cost - v there. A row skips the tile if it wants less than that. It skips a bundle of tiles alike. The order of the
// points decides how small boxes are, and so how many tiles are skipped, but nothing else.
#pragma once
#include "core/block_passes.cuh"
#include "points/window.cuh"

// Points of D coordinates. A lane has one column of each tile.
template <class Terms, int D>
struct PointPass {
  static constexpr Vertex STRATA = Tiles::COLUMNS;

  PointPairs costs;
  Tiles tiles;

  // The rows that a lane group has, and what they cost with a column.
  template <int ROWS>
  struct Rows {
    double x[ROWS][D];
  };

  template <class Team, class Use>
  DEVICE void each_few_rows(const Team& team, Use use) const {
    constexpr Vertex ROWS = Team::ROWS_AT_ONCE;
    team.each_group_apart((costs.num_rows + ROWS - 1) / ROWS, [&](Count i) {
      const Vertex first_row = static_cast<Vertex>(i) * ROWS;
      Rows<ROWS> rows;
      for (Vertex r = 0; r < ROWS; ++r) {
        const Count row = first_row + r < costs.num_rows ? first_row + r : first_row;
        for (int k = 0; k < D; ++k) rows.x[r][k] = costs.x[row * D + k];
      }
      use(first_row, rows);
    });
  }

  DEVICE Vertex num_tiles() const { return Tiles::number_of(costs.num_columns); }
  DEVICE Vertex num_bundles() const { return Tiles::number_of(num_tiles()); }

  // A tile near a row: of the bundle with the least bound the tile with the least bound; the first ones of equal bounds.
  template <class Team>
  DEVICE Vertex near_tile(const Team& team, const double* x) const {
    const Vertex bundle = best_of(team, 0, num_bundles(), [&](Vertex here) { return bound_of_bundle(x, here); });
    const Vertex first = bundle * STRATA, end = first + STRATA < num_tiles() ? first + STRATA : num_tiles();
    return best_of(team, first, end, [&](Vertex tile) { return bound_of(x, tile); });
  }

  // visit(r, column, cost - v) for all columns of a tile; a lane has one of them.
  template <class Team, int ROWS, class Visit>
  DEVICE void visit_tile(const Team& team, const Rows<ROWS>& rows, Vertex tile, Visit visit) const {
    const Vertex column = tile * STRATA + team.lane();
    if (column >= costs.num_columns) return;
    double y[D];
    for (int k = 0; k < D; ++k) y[k] = costs.y[static_cast<Count>(k) * costs.num_columns + column];
    for (Vertex r = 0; r < ROWS; ++r) visit(r, column, of_pair(rows.x[r], y) - tiles.v[column]);
  }

  // Visits the tiles, except `done`, that may have a cost - v below wanted[r] of a row: first the tiles of the bundle of `done`,
  // then the others. After each bundle that was looked at, next(visited) may lower wanted[r]. Different rows begin at different
  // bundles.
  template <class Team, int ROWS, class Visit, class Next>
  DEVICE void each_below(const Team& team, Vertex first_row, const Rows<ROWS>& rows, const double* wanted, Vertex done,
                         Visit visit, Next next) const {
    static_assert(Team::LANES == STRATA, "a lane has one column of a tile");
    const Vertex own = done == NONE ? NONE : done / STRATA, parts = Tiles::number_of(num_bundles());
    const auto look_into = [&](Vertex bundle) {
      const Vertex first = bundle * STRATA, mine = first + team.lane();
      const bool may_be = mine < num_tiles() && mine != done &&
                          any_below(rows, wanted, [&](const double* x) { return bound_of(x, mine); });
      const unsigned votes = team.vote(may_be);
      each_vote(votes, [&](Vertex lane) { visit_tile(team, rows, first + lane, visit); });
      next(team.count(votes));
    };
    if (own != NONE) look_into(own);
    const Vertex turn = static_cast<Vertex>(RowPass<double>::scattered(first_row) % static_cast<unsigned>(parts));
    for (Vertex i = 0; i < parts; ++i) {
      const Vertex first = (i < parts - turn ? i + turn : i + turn - parts) * STRATA, mine = first + team.lane();
      const bool may_be = mine < num_bundles() && mine != own &&
                          any_below(rows, wanted, [&](const double* x) { return bound_of_bundle(x, mine); });
      each_vote(team.vote(may_be), [&](Vertex lane) { look_into(first + lane); });
    }
  }

  // What a pair costs, by numbers.
  DEVICE double at(Vertex row, Vertex column) const {
    double y[D];
    for (int k = 0; k < D; ++k) y[k] = costs.y[static_cast<Count>(k) * costs.num_columns + column];
    return of_pair(costs.x + static_cast<Count>(row) * D, y);
  }

 private:
  // The number from `first` on with the least bound(number), the first one of equal bounds.
  template <class Team, class Bound>
  static DEVICE Vertex best_of(const Team& team, Vertex first, Vertex end, Bound bound) {
    double least = beyond_all(double{});
    Vertex at_least = first;
    for (Vertex here = first + team.lane(); here < end; here += STRATA) {
      const double bound_here = bound(here);
      at_least = bound_here < least ? here : at_least;
      least = bound_here < least ? bound_here : least;
    }
    return team.min_group(least == team.min_group(least) ? at_least : LAST_VERTEX);
  }
  // Whether bound(x) is below what a row wants.
  template <int ROWS, class Bound>
  static DEVICE bool any_below(const Rows<ROWS>& rows, const double* wanted, Bound bound) {
    bool may_be = false;
    for (Vertex r = 0; r < ROWS; ++r) may_be = may_be || bound(rows.x[r]) < wanted[r];
    return may_be;
  }
  template <class Use>
  static DEVICE void each_vote(unsigned votes, Use use) {
    for (Vertex lane = 0; lane < STRATA && votes >> lane != 0; ++lane) {
      if (votes >> lane & 1) use(lane);
    }
  }

  // No cost - v of the tile, or of the bundle, is less than this.
  DEVICE double bound_of(const double* x, Vertex tile) const {
    return bound_in(x, tiles.boxes + tile, num_tiles(), tiles.tops[tile]);
  }
  DEVICE double bound_of_bundle(const double* x, Vertex bundle) const {
    return bound_in(x, tiles.boxes + 2 * D * Count{num_tiles()} + bundle, num_bundles(), tiles.tops[num_tiles() + bundle]);
  }
  DEVICE double bound_in(const double* x, const double* boxes, Count stride, double top) const {
    double y[D];
    for (int k = 0; k < D; ++k) {
      const double* const box = boxes + 2 * k * stride;
      y[k] = Terms::least_at(x[k], box[0], box[stride], costs.sign < 0);
    }
    return of_pair(x, y) - top;
  }
  DEVICE double of_pair(const double* x, const double* y) const {
    double sum = 0;
    for (int k = 0; k < D; ++k) sum = Terms::add(sum, x[k], y[k], costs.p);
    return costs.of_cost(Terms::end(sum, costs.p));
  }
};

// The k-th smallest number of the lanes of a group.
template <class Team>
DEVICE double smallest_of_group(const Team& team, double mine, int k) {
  const unsigned before = (1u << team.lane()) - 1;
  for (;;) {
    const double least = team.min_group(mine);
    if (--k == 0) return least;
    const unsigned votes = team.vote(mine == least);
    if (mine == least && (votes & before) == 0) mine = beyond_all(double{});
  }
}

// Picks pairs of least cost - v of each row: all below the `chosen`-th least of the minima of its strata, but at most
// PICKED_ON_GPU of a stratum. Some pairs that equal that minimum join, so that a row has `chosen` or more. A stratum has every
// 32nd column. Writes their columns, at most PICKED_ON_GPU * STRATA a row, and their number.
template <class Team, class Pass>
DEVICE void price_points(Team& team, const Pass& pass, int chosen, Vertex* sizes, Vertex* columns) {
  constexpr Vertex STRATA = Pass::STRATA, ROWS = Team::ROWS_AT_ONCE;
  constexpr int MANY = 16;  // visited tiles after which `wanted` is found again, which takes about as long as the visits
  const PointPairs& costs = pass.costs;
  team.each(costs.num_rows, [&](Count row) { sizes[row] = 0; });
  team.sync();
  pass.each_few_rows(team, [&](Vertex first_row, const auto& rows) {
    double least[ROWS][PICKED_ON_GPU], wanted[ROWS];  // of this lane: increasing
    Vertex at[ROWS][PICKED_ON_GPU];
    for (Vertex r = 0; r < ROWS; ++r) {
      for (Vertex k = 0; k < PICKED_ON_GPU; ++k) {
        least[r][k] = costs.infinite();
        at[r][k] = NONE;
      }
    }
    const auto visit = [&](Vertex r, Vertex column, double reduced) {
      if (!(reduced < least[r][PICKED_ON_GPU - 1])) return;
      for (Vertex k = 0; k < PICKED_ON_GPU; ++k) {
        const double least_here = least[r][k];
        const Vertex at_here = at[r][k];
        const bool is_less = reduced < least_here;
        least[r][k] = is_less ? reduced : least_here;
        at[r][k] = is_less ? column : at_here;
        reduced = is_less ? least_here : reduced;
        column = is_less ? at_here : column;
      }
    };
    const auto find_wanted = [&] {
      for (Vertex r = 0; r < ROWS; ++r) wanted[r] = smallest_of_group(team, least[r][0], chosen);
    };
    const Vertex near = pass.near_tile(team, rows.x[0]);
    pass.visit_tile(team, rows, near, visit);
    find_wanted();
    int visited = 0;
    pass.each_below(team, first_row, rows, wanted, near, visit, [&](int number) {
      visited += number;
      if (visited < MANY) return;
      visited = 0;
      find_wanted();
    });
    find_wanted();
    for (Vertex r = 0; r < ROWS && first_row + r < costs.num_rows; ++r) {
      const Vertex row = first_row + r;
      for (Vertex k = 0; k < PICKED_ON_GPU; ++k) {
        if (at[r][k] == NONE || !(least[r][k] <= wanted[r])) continue;
        columns[Count{PICKED_ON_GPU} * STRATA * row + team.fetch_add(&sizes[row], 1)] = at[r][k];
      }
    }
  });
  team.sync();
}

// The largest of each 32 of some numbers that follow one another.
template <class Team>
DEVICE void find_largest_of_tiles(Team& team, const double* numbers, Vertex size, double* largest) {
  constexpr Vertex TILE = Tiles::COLUMNS;
  team.each(Tiles::number_of(size), [&](Count tile) {
    const Count first = tile * TILE, end = first + TILE < size ? first + TILE : size;
    double most = numbers[first];
    for (Count i = first + 1; i < end; ++i) most = numbers[i] > most ? numbers[i] : most;
    largest[tile] = most;
  });
  team.sync();
}

// The largest v of each tile and of each bundle, before a pass.
template <class Team>
DEVICE void find_tops(Team& team, const double* v, Vertex num_columns, double* tops) {
  const Vertex tiles = Tiles::number_of(num_columns);
  find_largest_of_tiles(team, v, num_columns, tops);
  find_largest_of_tiles(team, tops, tiles, tops + tiles);
}

// The boxes of each 32 of some boxes, or points, that follow one another. `least` and `most` are [coordinates] vectors of `size`
// numbers each, at the distance `stride`. `boxes` is [coordinates][2][tiles].
template <class Team>
DEVICE void find_boxes_of(Team& team, const double* least, const double* most, Count stride, int coordinates, Vertex size,
                          double* boxes) {
  constexpr Vertex TILE = Tiles::COLUMNS;
  const Count tiles = Tiles::number_of(size);
  team.each(coordinates * tiles, [&](Count i) {
    const Count k = i / tiles, first = i % tiles * TILE, end = first + TILE < size ? first + TILE : size;
    double least_here = least[k * stride + first], most_here = most[k * stride + first];
    for (Count place = k * stride + first + 1; place < k * stride + end; ++place) {
      least_here = least[place] < least_here ? least[place] : least_here;
      most_here = most[place] > most_here ? most[place] : most_here;
    }
    boxes[2 * k * tiles + i % tiles] = least_here;
    boxes[(2 * k + 1) * tiles + i % tiles] = most_here;
  });
  team.sync();
}

// The boxes of all tiles and of all bundles, as Tiles has them.
template <class Team>
DEVICE void find_boxes(Team& team, const double* y, int coordinates, Vertex num_columns, double* boxes) {
  const Count tiles = Tiles::number_of(num_columns);
  find_boxes_of(team, y, y, num_columns, coordinates, num_columns, boxes);
  find_boxes_of(team, boxes, boxes + tiles, 2 * tiles, coordinates, static_cast<Vertex>(tiles), boxes + 2 * coordinates * tiles);
}

// The costs of some pairs, given by their places row * num_columns + column.
template <class Team, class Pass>
DEVICE void find_costs_of_places(Team& team, const Pass& pass, const Count* places, Count num_places, double* found) {
  team.each(num_places, [&](Count i) {
    const Count columns = pass.costs.num_columns;
    found[i] = pass.at(static_cast<Vertex>(places[i] / columns), static_cast<Vertex>(places[i] % columns));
  });
}

// The least cost - v of each row, and a column that has it.
template <class Team, class Pass>
DEVICE void find_least_of_points(Team& team, const Pass& pass, double* least_of_rows, Vertex* nearest) {
  constexpr Vertex ROWS = Team::ROWS_AT_ONCE;
  pass.each_few_rows(team, [&](Vertex first_row, const auto& rows) {
    double wanted[ROWS], least[ROWS];
    Vertex at_least[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      wanted[r] = least[r] = pass.costs.infinite();
      at_least[r] = 0;
    }
    const auto visit = [&](Vertex r, Vertex column, double reduced) {
      at_least[r] = reduced < least[r] ? column : at_least[r];
      least[r] = reduced < least[r] ? reduced : least[r];
    };
    const auto next = [&](int visited) {
      for (Vertex r = 0; r < ROWS && visited > 0; ++r) wanted[r] = team.min_group(least[r]);
    };
    const Vertex near = pass.near_tile(team, rows.x[0]);
    pass.visit_tile(team, rows, near, visit);
    next(1);
    pass.each_below(team, first_row, rows, wanted, near, visit, next);
    for (Vertex r = 0; r < ROWS && first_row + r < pass.costs.num_rows; ++r) {
      const Vertex first = team.min_group(least[r] == wanted[r] ? at_least[r] : LAST_VERTEX);
      if (team.lane() != 0) continue;
      least_of_rows[first_row + r] = wanted[r];
      nearest[first_row + r] = first;
    }
  });
  team.sync();
}

// As find_overpriced. It also writes the least cost - v of each row, or u if none is less.
template <class Team, class Pass>
DEVICE void find_overpriced_pairs(Team& team, const Pass& pass, const double* u, double* least_of_rows, Vertex* sizes,
                                  Vertex* columns) {
  constexpr Vertex ROWS = Team::ROWS_AT_ONCE;
  const PointPairs& costs = pass.costs;
  team.each(costs.num_rows, [&](Count row) { sizes[row] = 0; });
  team.sync();
  pass.each_few_rows(team, [&](Vertex first_row, const auto& rows) {
    double wanted[ROWS], least[ROWS];
    Vertex at_least[ROWS];
    for (Vertex r = 0; r < ROWS; ++r) {
      wanted[r] = least[r] = u[first_row + r < costs.num_rows ? first_row + r : first_row];
      at_least[r] = NONE;
    }
    const auto visit = [&](Vertex r, Vertex column, double reduced) {
      at_least[r] = reduced < least[r] ? column : at_least[r];
      least[r] = reduced < least[r] ? reduced : least[r];
    };
    // Each lane looks for its own worst pair. So what a row wants is the largest of its lanes' numbers.
    const auto next = [&](int visited) {
      for (Vertex r = 0; r < ROWS && visited > 0; ++r) wanted[r] = -team.min_group(-least[r]);
    };
    pass.each_below(team, first_row, rows, wanted, NONE, visit, next);
    for (Vertex r = 0; r < ROWS && first_row + r < costs.num_rows; ++r) {
      const Vertex row = first_row + r, column = at_least[r];
      const double least_of_all = team.min_group(least[r]);
      if (team.lane() == 0) least_of_rows[row] = least_of_all;
      if (column == NONE || is_rounding(least[r] - u[row], u[row], pass.tiles.v[column])) continue;
      columns[static_cast<Count>(row) * Pass::STRATA + team.fetch_add(&sizes[row], 1)] = column;
    }
  });
  team.sync();
}
