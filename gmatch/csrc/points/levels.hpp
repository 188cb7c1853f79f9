// levels.hpp: the cheapest assignment of two clouds of points, without the matrix of their costs. Exact.
//
//   coarsen   the centroids of four consecutive points are the points of the next coarser level, down to a small problem
//   extend    v of a point is the least cost - u of the coarse points: a query of a tree
//   core      for each row its best few columns by cost - v, for each column its best few rows; the pairs of the coarse
//             matching, so that all can be matched; and some pairs of the coarse core that lie far apart
//   auction   on the core, from these duals, epsilon from the gap that they leave
//   search    shortest paths on the core, in blocks (block_search.hpp), then in all of it (sparse_shortest_path.hpp): exact for
//             the core
//   price     each row asks its tree for columns with cost - v below its u; these join the core, until few rows find any
//   finish    the search once more, over partly known rows that ask their trees again when the search needs more (LazyRows):
//             exact for all pairs. If ties make that long, more rounds come first
//
// The solvers know nothing of points.
//
// Schmitzer, "A sparse multiscale algorithm for dense optimal transport", Journal of Mathematical Imaging and Vision 56
// (2016). Merigot, "A multiscale approach to optimal transport", Computer Graphics Forum 30 (2011).
#pragma once
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "points/block_search.hpp"
#include "points/graph.hpp"
#include "points/kept_auction.hpp"

namespace points {

struct Options {
  bool doubled;
  double free_cost, limit;  // see Clouds
  bool whole;       // all costs are whole numbers
  double unit;      // costs are differences of numbers of this size, and rounded as these are
  Vertex smallest;  // a level with at most this many points on a side is the coarsest
  int threads;
  double gap;  // the share of what a cheapest matching costs that this one may cost more
};

// Times in nanoseconds, and sums over all levels; rounds, first_found and pairs are of the finest level only.
struct Counters {
  Count levels, rounds, first_found, pairs, bids, times_learned, stopped;
  Count order_ns, extend_ns, core_ns, auction_ns, search_ns, price_ns, finish_ns;
  SparseShortestPathCounters search;
};

// More memory would be needed than a problem of points ought to take.
struct NoRoom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The matching of a level, NONE for points that stay free, and a dual of each point.
struct Solution {
  std::vector<Vertex> y_of, x_of;
  std::vector<double> x_dual, y_dual;
};

class Stopwatch {
 public:
  void take(Count& total) { total += lap(clock_, now_); }

 private:
  HostTeam clock_{0, 1, nullptr};
  Count now_ = clock_.nanoseconds();
};

// Two gradients of the duals for each four points of one side, as their mates `others` tell them. If near points have mates far
// apart, the duals bend between them.
inline std::vector<double> slopes_of(const Space& space, const double* points, Vertex num_points, const double* others,
                                     const std::vector<Vertex>& mates, int threads) {
  const std::size_t dimension = space.dimension();
  const Vertex num_fours = (num_points + 3) / 4;
  std::vector<double> slopes(num_fours * 2 * dimension, 0.0);
  share_out(num_fours, threads, [&](Vertex begin, Vertex end, int) {
    std::vector<double> gradients(4 * dimension);
    Poll poll;
    for (Vertex four = begin; four < end; ++four) {
      poll.spend(OF_A_POINT / 4);
      int size = 0;
      for (Vertex i = 4 * four; i < std::min(4 * four + 4, num_points); ++i) {
        if (mates[i] == NONE) continue;
        space.gradient(others + mates[i] * dimension, points + i * dimension, &gradients[size++ * dimension]);
      }
      double* const two = &slopes[four * 2 * dimension];
      split_in_two(space.dimension(), size, [&](int g) { return &gradients[g * dimension]; }, two, two + dimension);
    }
  });
  return slopes;
}

class Level {
 public:
  Level(const Clouds& clouds, const Options& options, Counters& counters)
      : clouds_(clouds), options_(options), counters_(counters), pairs_(clouds_), found_(std::max(1, options.threads)),
        gaps_(clouds.num_rows()), priced_(clouds.num_rows()), v_(clouds.num_rows()), u_(clouds.num_rows()),
        row_match_(clouds.num_rows()), col_match_(clouds.num_rows()) {}
  Level(const Level&) = delete;

  const Solution& solution() const { return solution_; }

  // The coarsest level. Each point of the smaller side needs only its nearest points, as many as that side has.
  void solve_alone() {
    Stopwatch watch;
    std::fill(v_.begin(), v_.begin() + clouds_.num_y, 0.0);
    std::fill(v_.begin() + clouds_.num_y, v_.end(), clouds_.free_cost < FAR ? clouds_.free_cost : 0);
    nearest_ = std::make_unique<Nearest>(clouds_, tree_of_x(nullptr, clouds_.doubled ? v_.data() + clouds_.num_y : gaps_.data()),
                                         tree_of_y(nullptr, v_.data()));
    const bool by_x = clouds_.num_x <= clouds_.num_y;
    const Vertex first = by_x ? 0 : clouds_.num_x, last = by_x ? clouds_.num_x : clouds_.num_rows();
    for_hits(first, last, std::min(clouds_.num_x, clouds_.num_y), [&](Vertex row, int k, Hit* hits) {
      return nearest_->least(row, k, hits);
    }, [&](Vertex row, const Hit* hits, int size, std::vector<Pair>& found) {
      for (int q = 0; q < size; ++q) found.push_back(nearest_->pair(row, hits[q].point));
    });
    watch.take(counters_.core_ns);
    solve_rounds(false, 0);
  }

  // From a matching and duals, which may come from another problem. All points that must be matched are.
  void solve_from(Solution start, const Level* coarse) {
    Stopwatch watch;
    solution_ = std::move(start);
    make_core();
    if (coarse != nullptr) add_from(*coarse);
    const double gap = mean_gap();
    watch.take(counters_.core_ns);
    solve_rounds(true, gap);
  }

  // The pairs of a matching join the core.
  void add_pairs(const std::vector<Vertex>& y_of) {
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      if (y_of[i] != NONE) found_[0].push_back({i, y_of[i]});
    }
  }

  // Makes the duals of x what the duals of y leave them, to the bit: so they are feasible. Then a matched pair may cost some
  // roundings of its own numbers more than its duals. Where one costs more, another pair of its x says so. If that is a
  // rounding of larger numbers there, the dual of its y is lowered, which its mate bears. Else the search has gone through
  // larger numbers than any of these: that pair joins the core, and false is returned. Or the dual of the y that is matched
  // is raised, and so on until a pair of large numbers bears it.
  bool settle(bool raises) {
    Stopwatch watch;
    bool moves = true;
    for (int times = 1; moves; ++times) moves = settle_once(raises, times < MOST_SETTLINGS);
    watch.take(counters_.price_ns);
    return std::all_of(found_.begin(), found_.end(), [](const auto& list) { return list.empty(); });
  }

  // The duals of y are what a search has left of them: off by roundings of the largest numbers on its paths. They are lowered
  // one after the other, as the numbers of their own pairs ask for (Bellman and Ford): that ends if the matching is a
  // cheapest one up to what each of its pairs may be rounded; else they stay as they were. Points that stay free keep the
  // dual 0, and then other duals may be too low: they are raised before, by `raised` times the largest number.
  void lower_duals(double raised) {
    Stopwatch watch;
    for (auto& list : found_) list.clear();
    Solution& s = solution_;
    const std::vector<double> before = s.y_dual;
    if (clouds_.doubled && raised > 0) raise_duals(raised);
    start_from(s);
    nearest_->set_all(v_.data());
    std::vector<Vertex> rows(clouds_.num_x), next;
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<char> waits(clouds_.num_x, false);
    Poll poll;
    for (Count left = Count{MOST_LOWERINGS} * clouds_.num_x; !rows.empty() && left > 0; rows.swap(next)) {
      left -= static_cast<Count>(rows.size());
      next.clear();
      for (const Vertex i : rows) {
        poll.spend(OF_A_POINT);
        waits[i] = false;
        lower_duals_of(i, [&](Vertex row) {
          if (!waits[row]) next.push_back(row);
          waits[row] = true;
        });
      }
    }
    if (!rows.empty()) s.y_dual = before;
    watch.take(counters_.price_ns);
  }

  // Once more from the duals found. Now no path is long, and what it adds to them is not rounded by more than they are.
  void solve_again() {
    start_from(solution_);
    solve_rounds(true, 0, true);
  }

  // What a finer level starts from.
  Solution extended_to(const Clouds& fine) const {
    Stopwatch watch;
    Solution start;
    start.y_of.assign(fine.num_x, NONE);
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      for (int r = 0; r < 4 && solution_.y_of[i] != NONE; ++r) start.y_of[4 * i + r] = 4 * solution_.y_of[i] + r;
    }
    const auto slopes = slopes_of(clouds_.space, clouds_.x, clouds_.num_x, clouds_.y, solution_.y_of, options_.threads);
    const auto tree = clouds_.space.tree(clouds_.num_x, clouds_.x, slopes.data(), solution_.x_dual.data(), options_.threads);
    start.y_dual.resize(fine.num_y);
    share_out(fine.num_y, options_.threads, [&](Vertex begin, Vertex end, int) {
      Poll poll;
      for (Vertex j = begin; j < end; ++j) {
        poll.spend(OF_A_POINT);
        Hit hit{FAR, NONE};
        tree->least(fine.y_at(j), 1, &hit, FAR, FAR, static_cast<unsigned>(j));
        start.y_dual[j] = clouds_.doubled ? std::min(hit.reduced, 0.0) : hit.reduced;
      }
    });
    watch.take(counters_.extend_ns);
    return start;
  }

 private:
  // Headings named below are in benchmarks/log/points.md. Numbers of speed without a heading are of "Thresholds measured again"
  // there. Numbers of roundings are bounds of errors.
  //
  // The first pairs of the core: for each row, and for each column. 4 of a row take 1.3 times as long as 8, 16 are as fast.
  static constexpr int BEST_COLUMNS = 8, BEST_ROWS = 4;
  // Far pairs of a coarse row that are kept for each doubling of the distance. 3 take 1.1 times as long. Without far pairs a ring
  // takes 1.3 times as long.
  static constexpr int FAR_PAIRS = 1;
  // Epsilon of the first auction as a multiple of the gap: it begins at 1, is divided by STEP after each phase, and ends at LAST.
  // STEP of 2 and 25 takes 1.15 times as long.
  static constexpr double STEP = 6, LAST = 1e-6;
  // Epsilon of an auction after a search begins at the mean of what the rows have found, and ends at this share of that: "A short
  // auction after the first search".
  static constexpr double LAST_AGAIN = 0.02;
  // With a gap the trees are asked up to ASKS times before the core says that the gap is met. That begins once epsilon is at most
  // ASKED_FROM times the first epsilon: "Within a gap: the trees are asked twice while epsilon is large, the last rows are
  // matched by paths".
  static constexpr int ASKS = 2;
  static constexpr double ASKED_FROM = 0.05;
  // The least epsilon for whole costs. A smaller one would only exchange tied pairs.
  static constexpr double LEAST_OF_WHOLE = 0.125;
  // The finish begins once fewer than 1 row in 1,000 finds new pairs. 1 in 4,000 and 1 in 10,000 are as fast, 1 in 100 takes
  // 1.1 times as long.
  static constexpr Vertex FEW_FIND = 1000;
  // After the finish has given up, it is tried again once 1/8 as many rows find new pairs. 1/2 and 1/32 are as fast.
  static constexpr Vertex LESS = 8;
  // The auction is held again if more than this share of the rows found new pairs: "A short auction after the first search".
  static constexpr double MANY_FIND = 0.07;
  static constexpr int MOST_ROUNDS = 1000;
  // The finish gives up if it knows more than 200 entries for each row and 2^24 beside.
  static constexpr Count ROOM = 200, MORE_ROOM = 1 << 24;
  // It also gives up if it has asked the trees for more than 33 entries for each row and 2^16 beside.
  static constexpr Count HITS = 33, MORE_HITS = 1 << 16;

  std::unique_ptr<Tree> tree_of_x(const double* slopes, const double* v) const {
    return clouds_.space.tree(clouds_.num_x, clouds_.x, slopes, v, options_.threads);
  }
  std::unique_ptr<Tree> tree_of_y(const double* slopes, const double* v) const {
    return clouds_.space.tree(clouds_.num_y, clouds_.y, slopes, v, options_.threads);
  }

  // Calls ask(row, k, hits) for each row, which lists up to k hits, and then use(row, hits, size, list of pairs). In shares.
  template <class Ask, class Use>
  void for_hits(Vertex first, Vertex last, int k, const Ask& ask, const Use& use) {
    share_out(last - first, options_.threads, [&](Vertex begin, Vertex end, int share) {
      std::vector<Hit> hits(k);
      Poll poll;
      for (Vertex row = first + begin; row < first + end; ++row) {
        poll.spend(OF_A_POINT);
        use(row, hits.data(), ask(row, k, hits.data()), found_[share]);
      }
    });
  }

  // Whether only duals of y were changed, if these may be.
  bool settle_once(bool raises, bool may_change) {
    Solution& s = solution_;
    start_from(s);
    nearest_->set_all(v_.data());
    const auto left = [&](Vertex i) { return own(i) - (s.y_of[i] == NONE ? 0 : s.y_dual[s.y_of[i]]); };
    std::vector<std::vector<Hit>> changed(found_.size());  // y and what its dual is to be
    for_hits(0, clouds_.num_x, BEST_COLUMNS, [&](Vertex i, int k, Hit* hits) {
      s.x_dual[i] = std::min(left(i), clouds_.free_cost);
      return nearest_->least(i, k, hits, s.x_dual[i], true);
    }, [&](Vertex i, const Hit* hits, int size, std::vector<Pair>& found) {
      if (size > 0) s.x_dual[i] = hits[0].reduced;
      const double magnitude = std::abs(own(i)) + std::abs(s.x_dual[i]) + std::abs(own(i) - left(i)) + options_.unit;
      // It may also cost less that x stays free. Only a higher dual of its y mends that.
      if (may_change && s.y_of[i] != NONE && left(i) - clouds_.free_cost > SETTLED * magnitude) {
        changed[&found - found_.data()].push_back({own(i) - clouds_.free_cost, s.y_of[i]});
        return;
      }
      for (int q = 0; q < size; ++q) {
        const double by = left(i) - hits[q].reduced, v = s.y_dual[hits[q].point];
        if (!(by > SETTLED * magnitude)) break;
        auto& here = changed[&found - found_.data()];
        if (!may_change) {
          found.push_back({i, hits[q].point});
        } else if (by <= SETTLED * (std::abs(hits[q].reduced) + std::abs(v))) {
          here.push_back({std::nextafter(v - by, -FAR), hits[q].point});
        } else if (raises && s.y_of[i] != NONE && may_be(own(i) - left(i) + by)) {
          here.push_back({own(i) - left(i) + by, s.y_of[i]});
          break;
        } else {
          found.push_back({i, hits[q].point});
        }
      }
    });
    bool changes = false;
    for (const auto& list : changed) {
      for (const Hit& hit : list) s.y_dual[hit.point] = hit.reduced;
      changes |= !list.empty();
    }
    return changes && std::all_of(found_.begin(), found_.end(), [](const auto& list) { return list.empty(); });
  }

  void raise_duals(double part) {
    Solution& s = solution_;
    double largest = options_.unit;
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      if (s.y_of[i] != NONE) largest = std::max({largest, std::abs(own(i)), std::abs(s.y_dual[s.y_of[i]])});
      else largest = std::max(largest, std::abs(clouds_.free_cost));
    }
    for (Vertex j = 0; j < clouds_.num_y; ++j) {
      s.y_dual[j] = s.x_of[j] == NONE ? 0 : std::min(0.0, s.y_dual[j] + part * largest);
    }
  }

  // Lowers duals of y until no pair of a point x costs less than its duals by more than half of what settle() tolerates. Asks for
  // the mates of these y to be next, and for the point itself if it may have more such pairs.
  template <class AskFor>
  void lower_duals_of(Vertex i, const AskFor& ask_for) {
    Solution& s = solution_;
    const double v = s.y_of[i] == NONE ? 0 : s.y_dual[s.y_of[i]];
    const double u = std::min(own(i) - v, clouds_.free_cost);
    const double below = u - SETTLED / 2 * (std::abs(own(i)) + std::abs(u) + std::abs(v) + options_.unit);
    Hit hits[BEST_COLUMNS];
    const int size = nearest_->least(i, BEST_COLUMNS, hits, below, true);
    for (int q = 0; q < size; ++q) {
      const Vertex j = hits[q].point, mate = s.x_of[j];
      if (mate == NONE || mate == i) continue;
      const double lower = std::min(s.y_dual[j] - (below - hits[q].reduced), std::nextafter(s.y_dual[j], -FAR));
      s.y_dual[j] = lower;
      nearest_->lower(j, lower);
      ask_for(mate);
    }
    if (size == BEST_COLUMNS) ask_for(i);
  }

  // Whether a y may have this dual.
  bool may_be(double dual) const { return !clouds_.doubled || dual <= 0; }

  // What the pair of a point x costs, or what it costs that x stays free.
  double own(Vertex i) const {
    return solution_.y_of[i] == NONE ? clouds_.free_cost : clouds_.cost(i, solution_.y_of[i]);
  }

  // Also sets the duals of x in the solution.
  void make_core() {
    Solution& start = solution_;
    complete(start);
    const auto y_slopes = slopes_of(clouds_.space, clouds_.y, clouds_.num_y, clouds_.x, start.x_of, options_.threads);
    auto y_tree = tree_of_y(y_slopes.data(), start.y_dual.data());
    start.x_dual.resize(clouds_.num_x);
    for_hits(0, clouds_.num_x, BEST_COLUMNS, [&](Vertex i, int k, Hit* hits) {
      return y_tree->least(clouds_.x_at(i), k, hits, FAR, clouds_.limit, static_cast<unsigned>(i));
    }, [&](Vertex i, const Hit* hits, int size, std::vector<Pair>& found) {
      start.x_dual[i] = std::min(size > 0 ? hits[0].reduced : FAR, clouds_.free_cost);
      for (int q = 0; q < size; ++q) found.push_back({i, hits[q].point});
    });
    const auto x_slopes = slopes_of(clouds_.space, clouds_.x, clouds_.num_x, clouds_.y, start.y_of, options_.threads);
    auto x_tree = tree_of_x(x_slopes.data(), start.x_dual.data());
    for_hits(0, clouds_.num_y, BEST_ROWS, [&](Vertex j, int k, Hit* hits) {
      return x_tree->least(clouds_.y_at(j), k, hits, FAR, clouds_.limit, static_cast<unsigned>(j));
    }, [&](Vertex j, const Hit* hits, int size, std::vector<Pair>& found) {
      for (int q = 0; q < size; ++q) found.push_back({hits[q].point, j});
    });
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      if (start.y_of[i] != NONE) found_[0].push_back({i, start.y_of[i]});
    }
    start_from(start);
    nearest_ = std::make_unique<Nearest>(clouds_, std::move(x_tree), std::move(y_tree));
  }

  void start_from(const Solution& start) {
    std::copy(start.y_dual.begin(), start.y_dual.end(), v_.begin());
    if (clouds_.doubled) std::copy(start.x_dual.begin(), start.x_dual.end(), v_.begin() + clouds_.num_y);
  }

  // Rows that must be matched and are not get any free columns.
  void complete(Solution& start) const {
    start.x_of.assign(clouds_.num_y, NONE);
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      if (start.y_of[i] != NONE) start.x_of[start.y_of[i]] = i;
    }
    if (clouds_.free_cost < FAR) return;
    Vertex next = 0;
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      if (start.y_of[i] != NONE) continue;
      while (start.x_of[next] != NONE) ++next;
      start.y_of[i] = next;
      start.x_of[next] = i;
    }
  }

  double mean_gap() const {
    const double free_y = clouds_.doubled ? 0 : FAR;
    double gap = sum_in_shares(clouds_.num_x, [&](Vertex i) {
      const Vertex j = solution_.y_of[i];
      const double free = clouds_.free_cost - solution_.x_dual[i];
      if (j == NONE) return free;
      return std::min(clouds_.cost(i, j) - solution_.x_dual[i] - solution_.y_dual[j], free + free_y - solution_.y_dual[j]);
    });
    for (Vertex j = 0; clouds_.doubled && j < clouds_.num_y; ++j) {
      if (solution_.x_of[j] == NONE) gap -= solution_.y_dual[j];
    }
    return gap / clouds_.num_x;
  }

  // A coarse pair stands for the best columns of its children.
  void add_from(const Level& coarse) {
    share_out(coarse.clouds_.num_x, options_.threads, [&](Vertex begin, Vertex end, int share) {
      std::vector<Vertex> kept;
      Poll poll;
      for (Vertex i = begin; i < end; ++i) {
        poll.spend(OF_A_POINT);
        coarse.list_far(i, kept);
        const Vertex mate = coarse.solution_.y_of[i];
        for (Vertex x = 4 * i; x < 4 * i + 4; ++x) {
          for (int r = 0; r < 4 && mate != NONE; ++r) found_[share].push_back({x, 4 * mate + r});
          for (const Vertex j : kept) found_[share].push_back({x, best_of_four(x, 4 * j)});
        }
      }
    });
  }

  Vertex best_of_four(Vertex x, Vertex first) const {
    double least = FAR;
    Vertex best = first;
    for (Vertex y = first; y < first + 4; ++y) {
      const double here = clouds_.cost(x, y) - solution_.y_dual[y];
      if (here < least) {
        least = here;
        best = y;
      }
    }
    return best;
  }

  // The core's columns of a row that lie apart, in the order of their slacks: from each other by at least half of their distance
  // from the mate, and at most FAR_PAIRS for each doubling of that distance.
  void list_far(Vertex i, std::vector<Vertex>& kept) const {
    kept.clear();
    std::vector<std::pair<double, Vertex>> by_slack;
    Vertex mate = solution_.y_of[i];
    for (Count pair = pairs_.begin(i); pair < pairs_.end(i); ++pair) {
      const Vertex j = pairs_.y(pair);
      if (j != mate) by_slack.push_back({pairs_.cost(pair) - solution_.y_dual[j], j});
    }
    std::sort(by_slack.begin(), by_slack.end());
    if (mate == NONE && !by_slack.empty()) {
      mate = by_slack.front().second;
      kept.push_back(mate);
    }
    int count[2 * OCTAVES] = {};
    for (const auto& entry : by_slack) {
      const Vertex j = entry.second;
      const double square = apart(j, mate);
      int& here = count[square > 0 ? std::max(0, std::min(2 * OCTAVES - 1, std::ilogb(square) / 2 + OCTAVES)) : 0];
      if (here >= FAR_PAIRS) continue;
      if (std::any_of(kept.begin(), kept.end(), [&](Vertex other) { return apart(j, other) < square / 4; })) continue;
      ++here;
      kept.push_back(j);
    }
  }
  static constexpr int OCTAVES = 32;  // doublings of the distance that are told apart, below 1 and above

  double apart(Vertex a, Vertex b) const {
    double square = 0;
    for (int k = 0; k < clouds_.space.dimension(); ++k) {
      const double t = clouds_.y_at(a)[k] - clouds_.y_at(b)[k];
      square += t * t;
    }
    return square;
  }

  // `has_pairs`: row_match_ is a matching that these duals prove up to rounding.
  void solve_rounds(bool has_duals, double epsilon, bool has_pairs = false) {
    Stopwatch watch;
    double gap = epsilon;
    first_epsilon_ = epsilon;
    asks_left_ = ASKS;
    const Vertex num_rows = clouds_.num_rows();
    std::fill(priced_.begin(), priced_.end(), -FAR);
    bool hold = has_duals, finished = false, is_solved = false;
    Vertex few = num_rows / FEW_FIND;
    for (int round = 0; !finished; ++round) {
      if (round == MOST_ROUNDS) throw NoRoom("the pairs that tie do not fit into the room there is for these points");
      const Count before = pairs_.size();
      pairs_.add(found_, options_.threads);
      if (is_solved && pairs_.size() == before) break;  // what the core knows differs by more roundings than usual
      Core core(clouds_, pairs_, options_.threads);
      watch.take(counters_.core_ns);
      const Count priced_ns = counters_.price_ns;
      const Held held = hold ? hold_auction(core, epsilon, gap, round > 0, !is_solved) : Held::NOT_YET;
      watch.take(counters_.auction_ns);
      counters_.auction_ns -= counters_.price_ns - priced_ns;  // what it has asked the trees
      counters_.stopped = held == Held::ENOUGH;
      if (counters_.stopped) break;
      if (held == Held::LACKS_PAIRS) {
        counters_.rounds = round + 1;
        continue;
      }
      // Whole duals keep all sums of whole costs exact. Means of whole duals keep them exact, too.
      if (options_.whole && (hold || round == 0)) std::for_each(v_.begin(), v_.end(), [](double& v) { v = std::floor(v); });
      search(core, has_duals, has_pairs);
      has_duals = has_pairs = is_solved = true;
      if (clouds_.doubled) make_halves_alike();
      watch.take(counters_.search_ns);
      const Vertex rows = price(gap);
      epsilon = gap * num_rows / std::max<Vertex>(1, rows);
      watch = Stopwatch();
      counters_.rounds = round + 1;
      hold = rows > num_rows * MANY_FIND;
      counters_.stopped = rows > 0 && is_near_enough(sum_of_duals(), gap);
      finished = rows == 0 || counters_.stopped;
      if (finished || rows > few) continue;
      finished = is_solved = has_pairs = finish(std::move(core));
      few = rows / LESS;  // read only if the finish gave up
      watch.take(counters_.finish_ns);
    }
    for (auto& list : found_) list.clear();
    counters_.pairs = pairs_.size();
    take_solution();
  }

  // Gives both halves of a doubled problem the means of their duals. These prove the matchings of both halves, and overprice a
  // pair only if both halves together do. Some v rise, so all rows must be priced again.
  void make_halves_alike() {
    for (Vertex i = 0; i < clouds_.num_x; ++i) u_[i] = v_[clouds_.num_y + i] = (u_[i] + v_[clouds_.num_y + i]) / 2;
    for (Vertex j = 0; j < clouds_.num_y; ++j) v_[j] = u_[clouds_.num_x + j] = (v_[j] + u_[clouds_.num_x + j]) / 2;
    std::fill(priced_.begin(), priced_.end(), -FAR);
  }

  double sum_of_duals() const {
    return std::accumulate(u_.begin(), u_.end(), std::accumulate(v_.begin(), v_.end(), 0.0));
  }

  // Whether a matching is within the gap of the optimum. `mean` is by how much duals of rows are too large on average. Lowered
  // by that, the duals prove a bound. All that the matching costs too much may lie in one half of a doubled problem.
  bool is_near_enough(double cost, double mean) const {
    if (options_.gap == 0) return false;
    const double bound = sum_of_duals() - mean * clouds_.num_rows(), gap = options_.gap / (clouds_.doubled ? 2 : 1);
    return cost * bound > 0 && cost - bound <= gap * std::min(std::abs(cost), std::abs(bound));
  }

  // The result of an auction: a matching within the gap, a matching that would be if the core had all pairs, or neither.
  enum class Held { ENOUGH, LACKS_PAIRS, NOT_YET };

  // Leaves in `epsilon` the epsilon to go on from, and in `gap`, if the core lacks pairs, by how much duals are too large on
  // average.
  Held hold_auction(const Core& core, double& epsilon, double& gap, bool has_mates, bool is_first) {
    KeptAuction auction(core.costs(), v_.data(), has_mates ? row_match_.data() : nullptr, options_.threads);
    const double last = std::max(epsilon * (is_first ? LAST : LAST_AGAIN), options_.whole ? LEAST_OF_WHOLE : 0);
    Held held = Held::NOT_YET;
    for (; epsilon > last && held == Held::NOT_YET; epsilon /= STEP) {
      auction.hold(epsilon, options_.gap == 0);
      if (options_.gap > 0) held = look_at_gap(core, auction, epsilon, gap);
    }
    counters_.bids += auction.num_bids();
    return held;
  }

  // Runs after a phase. The core tells whether asking the trees is worthwhile, and the trees tell whether matching the last rows
  // is. Pairs that the core lacks are expensive to add once epsilon is small, so the trees are asked a few times before.
  Held look_at_gap(const Core& core, const KeptAuction& auction, double& epsilon, double& gap) {
    take(auction);
    const double cost = cost_on(core);
    if (!is_near_enough(cost, 0)) {
      if (asks_left_ == 0 || epsilon > first_epsilon_ * ASKED_FROM) return Held::NOT_YET;
      --asks_left_;
      price(gap);
      return Held::LACKS_PAIRS;
    }
    price(gap);
    if (!is_near_enough(cost, gap)) {
      epsilon = gap * STEP;
      return Held::LACKS_PAIRS;
    }
    return is_near_enough(cost_of_rest(core), gap) ? Held::ENOUGH : Held::NOT_YET;
  }

  // The auction's matching becomes the matching of the level.
  void take(const KeptAuction& auction) {
    for (Vertex row = 0; row < clouds_.num_rows(); ++row) row_match_[row] = auction.mate(row);
  }

  // What the matching of the level costs. A free row or column counts its dual. Sets duals of rows to what the core leaves them.
  double cost_on(const Core& core) {
    const SparseCosts<double, Count, Vertex> costs = core.costs();
    std::vector<char> is_matched(costs.num_rows, false);
    const double of_rows = sum_in_shares(costs.num_rows, [&](Vertex row) {
      const Vertex mate = row_match_[row];
      double own = FAR;
      u_[row] = FAR;
      for (Count edge = costs.begin(row); edge < costs.end(row); ++edge) {
        u_[row] = std::min(u_[row], costs.at(edge) - v_[costs.column(edge)]);
        if (costs.column(edge) == mate) own = costs.at(edge);
      }
      if (mate != NONE) is_matched[mate] = true;
      return mate == NONE ? u_[row] : own;
    });
    return of_rows + sum_in_shares(costs.num_rows, [&](Vertex column) { return is_matched[column] ? 0 : v_[column]; });
  }

  // The sum of term(0) to term(size - 1), in an order that does not depend on the threads.
  template <class Term>
  double sum_in_shares(Vertex size, const Term& term) const {
    constexpr Vertex TOGETHER = 1024;
    std::vector<double> sums((size + TOGETHER - 1) / TOGETHER, 0.0);
    share_out(static_cast<Vertex>(sums.size()), options_.threads, [&](Vertex begin, Vertex end, int) {
      for (Vertex part = begin; part < end; ++part) {
        const Count end = std::min<Count>(size, (Count{part} + 1) * TOGETHER);
        for (Vertex i = part * TOGETHER; i < end; ++i) sums[part] += term(i);
      }
    }, 1);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  // Matches the few rows that are still free by shortest paths, along slacks that are off by epsilon. Returns what all pairs cost
  // then, or FAR if some rows stay free. The duals stay as they were: these are known to prove a bound.
  double cost_of_rest(const Core& core) {
    std::vector<double> u = u_, v = v_;
    if (!match_rest(core, u, v)) return FAR;
    return std::accumulate(u.begin(), u.end(), std::accumulate(v.begin(), v.end(), 0.0));
  }

  // Matches the rows that are still free by shortest paths through all of the core. Returns whether that matches all rows.
  bool match_rest(const Core& core, std::vector<double>& u, std::vector<double>& v) {
    std::vector<Vertex> rest;
    for (Vertex row = 0; row < clouds_.num_rows(); ++row) {
      if (row_match_[row] == NONE) rest.push_back(row);
    }
    using Costs = const SparseCosts<double, Count, Vertex>;
    Costs costs = core.costs();
    SparseShortestPathSolver<Costs> solver(costs, counters_.search);
    const auto number = static_cast<Vertex>(rest.size());
    return clouds_.num_rows() ==
           solver.go_on(rest.data(), number, row_match_.data(), col_match_.data(), u.data(), v.data(), true);
  }

  void search(const Core& core, bool has_duals, bool has_pairs) {
    const bool all = has_duals ? search_from_duals(core, has_pairs) : search_from_nothing(core);
    if (!all) throw std::logic_error("the core of the points has no assignment");
  }

  bool search_from_duals(const Core& core, bool has_pairs) {
    {
      BlockSearch search(core.costs(), clouds_.num_y, v_, options_.threads);
      search.begin(has_pairs ? &row_match_ : nullptr, TIGHT);
      const bool all = search.match_most();
      search.write(row_match_, col_match_, u_, v_, counters_.search);
      if (all) return true;
    }
    return match_rest(core, u_, v_);
  }

  bool search_from_nothing(const Core& core) {
    using Costs = const SparseCosts<double, Count, Vertex>;
    Costs costs = core.costs();
    SparseShortestPathSolver<Costs> solver(costs, counters_.search);
    return clouds_.num_rows() == solver.solve(false, row_match_.data(), col_match_.data(), u_.data(), v_.data());
  }

  // Returns how many rows found columns. Leaves in `gap` by how much their u was too large, on average.
  Vertex price(double& gap) {
    Stopwatch watch;
    nearest_->set_all(v_.data());
    std::fill(gaps_.begin(), gaps_.end(), 0.0);
    for_hits(0, clouds_.num_rows(), BEST_COLUMNS, [&](Vertex row, int k, Hit* hits) {
      if (u_[row] <= priced_[row]) return 0;
      return nearest_->least(row, k, hits, u_[row] - ROUNDING * std::abs(u_[row]));
    }, [&](Vertex row, const Hit* hits, int size, std::vector<Pair>& found) {
      priced_[row] = std::max(priced_[row], size > 0 ? hits[0].reduced : u_[row]);
      for (int q = 0; q < size; ++q) {
        const double by = u_[row] - hits[q].reduced;
        if (!(by > ROUNDING * (std::abs(u_[row]) + std::abs(v_[hits[q].point])))) continue;
        gaps_[row] = std::max(gaps_[row], by);
        found.push_back(nearest_->pair(row, hits[q].point));
      }
    });
    Count found = 0;
    for (const auto& list : found_) found += static_cast<Count>(list.size());
    if (counters_.rounds == 0) counters_.first_found = found;
    if (!clouds_.doubled && found > CROWDED * different_columns_found()) price_columns();
    gap = std::accumulate(gaps_.begin(), gaps_.end(), 0.0) / clouds_.num_rows();
    watch.take(counters_.price_ns);
    return static_cast<Vertex>(std::count_if(gaps_.begin(), gaps_.end(), [](double by) { return by > 0; }));
  }
  // How many columns have a pair that was found.
  Count different_columns_found() const {
    std::vector<char> is_found(clouds_.num_y, false);
    for (const auto& list : found_) {
      for (const Pair& pair : list) is_found[pair.y] = true;
    }
    return std::count(is_found.begin(), is_found.end(), true);
  }

  // Each column asks for its best rows, too. Rows that are near each other have found the same few columns. A round would add
  // only pairs of these columns to the core, although the duals overprice pairs of other columns, too.
  void price_columns() {
    nearest_->set_all_x(u_.data());
    for_hits(0, clouds_.num_y, BEST_ROWS, [&](Vertex j, int k, Hit* hits) {
      return nearest_->least_of_y(j, k, hits, v_[j] - ROUNDING * std::abs(v_[j]));
    }, [&](Vertex j, const Hit* hits, int size, std::vector<Pair>& found) {
      for (int q = 0; q < size; ++q) {
        const double by = v_[j] - hits[q].reduced;
        if (by > ROUNDING * (std::abs(v_[j]) + std::abs(u_[hits[q].point]))) found.push_back({hits[q].point, j});
      }
    });
  }
  // Columns ask, too, if rows have found more than 8 pairs for each column that they found: benchmarks/log/points.md, "Columns
  // are asked, too, where rows find the same columns".
  static constexpr Count CROWDED = 8;

  // A pair is kept if it costs more than the best of its row by at most this share of the duals.
  static constexpr double TIGHT = 0x1p-50;
  // The rounding error of a slack, as a share of the duals that enter it.
  static constexpr double ROUNDING = 0x1p-48;
  // A matched pair may cost more than its duals by this share of the cost and the duals: a quarter of what the proof allows.
  static constexpr double SETTLED = 0x1p-48;
  static constexpr int MOST_SETTLINGS = 32;
  // Rows may be asked this many times on average while duals are lowered.
  static constexpr int MOST_LOWERINGS = 64;

  // Returns false if it gave up. Then v are duals to go on from.
  bool finish(Core&& core) {
    const Count size = clouds_.num_rows();
    LazyRows rows(clouds_, *nearest_, std::move(core), u_.data(), [&](Vertex row) { return gaps_[row] > 0; }, BEST_COLUMNS,
                  ROOM * size + MORE_ROOM, HITS * size + MORE_HITS);
    SparseShortestPathSolver<LazyRows> solver(rows, counters_.search);
    const Vertex matched = solver.solve(true, row_match_.data(), col_match_.data(), u_.data(), v_.data(), true);
    counters_.times_learned += rows.times_learned();
    return !rows.gives_up() && matched == size;
  }

  void take_solution() {
    Solution& s = solution_;
    s.y_of.resize(clouds_.num_x);
    s.x_of.assign(clouds_.num_y, NONE);
    s.x_dual.resize(clouds_.num_x);
    s.y_dual.resize(clouds_.num_y);
    for (Vertex i = 0; i < clouds_.num_x; ++i) {
      s.y_of[i] = row_match_[i] < clouds_.num_y ? row_match_[i] : NONE;
      if (s.y_of[i] != NONE) s.x_of[s.y_of[i]] = i;
      s.x_dual[i] = clouds_.doubled ? std::min((u_[i] + v_[clouds_.num_y + i]) / 2, clouds_.free_cost) : u_[i];
    }
    for (Vertex j = 0; j < clouds_.num_y; ++j) {
      if (!clouds_.doubled) s.y_dual[j] = v_[j];
      else s.y_dual[j] = s.x_of[j] == NONE && !counters_.stopped ? 0 : std::min((v_[j] + u_[clouds_.num_x + j]) / 2, 0.0);
    }
    if (!clouds_.doubled) shift_to_small(s);
  }

  // If all points are matched, a constant may move from all duals of one side to the other. The median dual of y becomes 0, so
  // that costs of a few points far away do not round the duals of the others.
  static void shift_to_small(Solution& s) {
    std::vector<double> sorted = s.y_dual;
    const auto middle = sorted.begin() + sorted.size() / 2;
    std::nth_element(sorted.begin(), middle, sorted.end());
    for (double& dual : s.y_dual) dual -= *middle;
    for (double& dual : s.x_dual) dual += *middle;
  }

  const Clouds clouds_;
  const Options options_;
  Counters& counters_;
  PairLists pairs_;
  std::unique_ptr<Nearest> nearest_;
  std::vector<std::vector<Pair>> found_;  // pairs that are to join the core, of each thread
  std::vector<double> gaps_;
  std::vector<double> priced_;  // a bound on cost - v of each row's pairs when it was priced; no v has risen since
  std::vector<double> v_, u_;
  std::vector<Vertex> row_match_, col_match_;
  Solution solution_;
  double first_epsilon_ = 0;
  int asks_left_ = 0;
};

// A cloud in the order of its tree, and what its points were called.
struct Cloud {
  std::vector<Vertex> numbers;
  std::vector<std::vector<double>> levels;  // the finest first

  explicit Cloud(Vertex num_points) : numbers(num_points), levels(1) {}

  void order(const Space& space, const double* given) {
    const auto num_points = static_cast<Vertex>(numbers.size());
    const std::size_t dimension = space.dimension();
    std::iota(numbers.begin(), numbers.end(), 0);
    space.order(given, numbers.data(), num_points);
    levels[0].resize(num_points * dimension);
    for (Vertex i = 0; i < num_points; ++i) std::copy_n(given + numbers[i] * dimension, dimension, &levels[0][i * dimension]);
  }
  void coarsen(std::size_t dimension) {
    const std::vector<double>& fine = levels.back();
    const std::size_t size = fine.size() / dimension / 4;
    std::vector<double> coarse(size * dimension);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < dimension; ++k) {
        double sum = 0;
        for (int r = 0; r < 4; ++r) sum += fine[(4 * i + r) * dimension + k] / 4;
        coarse[i * dimension + k] = sum;
      }
    }
    levels.push_back(std::move(coarse));
  }
};

// As given: a former matching or none (nullptr), a former y_dual or none. With both there are no coarser levels. Writes what was
// found, in the order of the points as given. The duals are as in Solution.
struct Arrays {
  Vertex num_x, num_y;
  const double *x, *y;
  const Vertex* start_y_of;
  const double* start_y_dual;
  Vertex *y_of, *x_of;
  double *x_dual, *y_dual;
};

// The duals may be lowered this many times to round them less. A search runs before each time except the first.
constexpr int MOST_AGAIN = 5;
// Before the second time duals are raised by this share of the largest number, and by four times as much each time after that.
constexpr double RAISED = 0x1p-52;

inline Counters solve(const Space& space, const Options& options, const Arrays& arrays) {
  Counters counters{};
  Stopwatch watch;
  Cloud x(arrays.num_x), y(arrays.num_y);
  share_out(2, options.threads, [&](Vertex begin, Vertex end, int) {
    for (Vertex side = begin; side < end; ++side) side == 0 ? x.order(space, arrays.x) : y.order(space, arrays.y);
  }, 1);
  const auto clouds_at = [&](std::size_t level) {
    const auto size = [&](const Cloud& cloud) { return static_cast<Vertex>(cloud.levels[level].size() / space.dimension()); };
    return Clouds{space, size(x), size(y), x.levels[level].data(), y.levels[level].data(), options.doubled, options.free_cost,
                  level == 0 ? options.limit : FAR};
  };
  // A matching without duals is no start: its pairs join the core of the finest level.
  const bool has_start = arrays.start_y_of != nullptr && arrays.start_y_dual != nullptr;
  while (!has_start &&
         std::min(x.levels.back().size(), y.levels.back().size()) / space.dimension() > std::size_t(options.smallest)) {
    x.coarsen(space.dimension());
    y.coarsen(space.dimension());
  }
  watch.take(counters.order_ns);

  std::unique_ptr<Level> coarse;
  for (std::size_t number = x.levels.size(); number-- > 0;) {
    Options here = options;
    here.whole = options.whole && number == 0;
    counters.rounds = 0;
    ++counters.levels;
    const Clouds clouds = clouds_at(number);
    auto level = std::make_unique<Level>(clouds, here, counters);
    Solution start;
    if (coarse) start = coarse->extended_to(clouds);
    if (number == 0 && arrays.start_y_of != nullptr) {
      std::vector<Vertex> place(arrays.num_y);
      for (Vertex j = 0; j < arrays.num_y; ++j) place[y.numbers[j]] = j;
      std::vector<Vertex> given(arrays.num_x);
      for (Vertex i = 0; i < arrays.num_x; ++i) {
        const Vertex mate = arrays.start_y_of[x.numbers[i]];
        given[i] = mate == NONE ? NONE : place[mate];
      }
      if (has_start) start.y_of = std::move(given);
      else level->add_pairs(given);
    }
    if (number == 0 && arrays.start_y_dual != nullptr) {
      start.y_dual.resize(arrays.num_y);
      for (Vertex j = 0; j < arrays.num_y; ++j) start.y_dual[j] = arrays.start_y_dual[y.numbers[j]];
    }
    if (start.y_of.empty() || start.y_dual.empty()) level->solve_alone();
    else level->solve_from(std::move(start), coarse.get());
    coarse = std::move(level);
  }

  bool is_settled = coarse->settle(false) || counters.stopped;
  double raised = 0;
  for (int times = 0; !is_settled && times < MOST_AGAIN; ++times) {
    if (times > 0) {
      coarse->solve_again();
      is_settled = coarse->settle(true);
      raised = times == 1 ? RAISED : raised * 4;
    }
    if (is_settled) break;
    coarse->lower_duals(raised);
    is_settled = coarse->settle(times > 0);
  }
  const Solution& found = coarse->solution();
  std::fill_n(arrays.x_of, arrays.num_y, NONE);
  for (Vertex i = 0; i < arrays.num_x; ++i) {
    const Vertex row = x.numbers[i];
    arrays.y_of[row] = found.y_of[i] == NONE ? NONE : y.numbers[found.y_of[i]];
    if (found.y_of[i] != NONE) arrays.x_of[arrays.y_of[row]] = row;
    arrays.x_dual[row] = found.x_dual[i];
  }
  for (Vertex j = 0; j < arrays.num_y; ++j) arrays.y_dual[y.numbers[j]] = found.y_dual[j];
  return counters;
}

}  // namespace points
