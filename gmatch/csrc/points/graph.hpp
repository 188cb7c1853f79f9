// graph.hpp: the assignment problem of two clouds as square costs: its rows and columns, and the pairs that are known.
//
// If both clouds have equally many points and all are matched, rows are the points x, and columns are the points y. Otherwise
// some points stay free, and the problem is doubled: rows are all x and copies of all y, columns are all y and copies of all x.
// A copy of y and a copy of x cost what x and y cost. x and its own copy cost twice what it costs that x stays free. y and its
// own copy cost nothing. Then all rows and columns are matched, and any duals are a start. In the cheapest assignment both
// halves match at the least cost, with the same points free. A dual of a point is half the sum of its own and its copy's.
//
// A core is a set of pairs (x, y). Both halves know the same pairs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "points/shares.hpp"
#include "points/tree.hpp"
#include "serial/sparse_shortest_path.hpp"

namespace points {

// Two clouds, each in the order of its tree.
struct Clouds {
  const Space& space;
  Vertex num_x, num_y;
  const double *x, *y;
  bool doubled;
  double free_cost;  // of an x that stays free; FAR where none may
  double limit;      // pairs that cost more are not allowed

  Vertex num_rows() const { return doubled ? num_x + num_y : num_x; }
  bool is_copy(Vertex row) const { return row >= num_x; }
  const double* x_at(Vertex i) const { return x + static_cast<std::size_t>(i) * space.dimension(); }
  const double* y_at(Vertex j) const { return y + static_cast<std::size_t>(j) * space.dimension(); }
  double cost(Vertex i, Vertex j) const { return space.cost(x_at(i), y_at(j)); }
  // For each row: the first column of the points that it may have, the column of its way out, and what that costs.
  Vertex first_column(Vertex row) const { return is_copy(row) ? num_y : 0; }
  Vertex out_column(Vertex row) const { return is_copy(row) ? row - num_x : num_y + row; }
  double out_cost(Vertex row) const { return !doubled ? FAR : is_copy(row) ? 0 : 2 * free_cost; }
};

struct Pair {
  Vertex x, y;
};

// What a way through a tree spends, see Poll.
constexpr Count OF_A_POINT = 1 << 10;

// The pairs of a core by their x, each once, with their costs.
class PairLists {
 public:
  explicit PairLists(const Clouds& clouds) : clouds_(clouds), begin_(clouds.num_x + 1, 0) {}

  Count size() const { return begin_.back(); }
  Count begin(Vertex i) const { return begin_[i]; }
  Count end(Vertex i) const { return begin_[i + 1]; }
  Vertex y(Count pair) const { return y_[pair]; }
  double cost(Count pair) const { return cost_[pair]; }

  // Takes the lists of all shares, and leaves them empty.
  void add(std::vector<std::vector<Pair>>& found, int threads) {
    const Vertex num_x = clouds_.num_x;
    std::vector<Count> begin(begin_.size(), 0);
    share_out(num_x, threads, [&](Vertex first, Vertex last, int) {
      Poll poll;
      for (const auto& list : found) {
        for (const Pair& pair : list) {
          poll.spend(1);
          if (is_between(first, pair.x, last)) ++begin[pair.x + 1];
        }
      }
    });
    for (Vertex i = 0; i < num_x; ++i) begin[i + 1] += begin[i] + (end(i) - this->begin(i));
    std::vector<Vertex> y(begin.back());
    std::vector<Count> next(begin.begin(), begin.end() - 1);  // where the row's next pair goes; then how many it has
    share_out(num_x, threads, [&](Vertex first, Vertex last, int) {
      Poll poll;
      for (Vertex i = first; i < last; ++i) {
        poll.spend(end(i) - this->begin(i));
        for (Count pair = this->begin(i); pair < end(i); ++pair) y[next[i]++] = y_[pair];
      }
      for (const auto& list : found) {
        for (const Pair& pair : list) {
          poll.spend(1);
          if (is_between(first, pair.x, last)) y[next[pair.x]++] = pair.y;
        }
      }
      for (Vertex i = first; i < last; ++i) {
        poll.spend(8 * (begin[i + 1] - begin[i]));
        const auto first_y = y.begin() + begin[i], last_y = y.begin() + begin[i + 1];
        std::sort(first_y, last_y);
        next[i] = std::remove_if(first_y, std::unique(first_y, last_y),
                                 [&](Vertex j) { return clouds_.limit < FAR && clouds_.cost(i, j) > clouds_.limit; }) -
                  first_y;
      }
    });
    for (auto& list : found) std::vector<Pair>().swap(list);
    for (Vertex i = 0; i < num_x; ++i) begin_[i + 1] = begin_[i] + next[i];
    y_.resize(begin_.back());
    y_.shrink_to_fit();
    cost_.resize(begin_.back());
    share_out(num_x, threads, [&](Vertex first, Vertex last, int) {
      Poll poll;
      for (Vertex i = first; i < last; ++i) {
        poll.spend(4 * next[i]);
        std::copy_n(y.begin() + begin[i], next[i], y_.begin() + begin_[i]);
        for (Count pair = this->begin(i); pair < end(i); ++pair) cost_[pair] = clouds_.cost(i, y_[pair]);
      }
    });
  }

 private:
  static bool is_between(Vertex first, Vertex i, Vertex last) { return first <= i && i < last; }

  const Clouds& clouds_;
  std::vector<Count> begin_;  // [num_x + 1]
  std::vector<Vertex> y_;
  std::vector<double> cost_;
};

// A core as the sparse solver reads it.
class Core {
 public:
  Core(const Clouds& clouds, const PairLists& pairs, int threads)
      : num_rows_(clouds.num_rows()), begin_(clouds.num_rows() + 1, 0) {
    const bool x_out = clouds.doubled && clouds.free_cost < FAR, y_out = clouds.doubled;
    for (Vertex i = 0; i < clouds.num_x; ++i) begin_[i + 1] = begin_[i] + pairs.end(i) - pairs.begin(i) + x_out;
    if (clouds.doubled) {
      for (Count pair = 0; pair < pairs.size(); ++pair) ++begin_[clouds.num_x + pairs.y(pair) + 1];
      for (Vertex row = clouds.num_x; row < num_rows_; ++row) begin_[row + 1] += begin_[row] + y_out;
    }
    column_.resize(begin_.back());
    cost_.resize(begin_.back());
    std::vector<Count> next(begin_.begin(), begin_.end() - 1);
    const auto put = [&](Vertex row, Vertex column, double cost) {
      column_[next[row]] = column;
      cost_[next[row]++] = cost;
    };
    Poll poll;
    share_out(clouds.num_x, threads, [&](Vertex first, Vertex last, int) {
      Poll of_share;
      for (Vertex i = first; i < last; ++i) {
        of_share.spend(pairs.end(i) - pairs.begin(i));
        for (Count pair = pairs.begin(i); pair < pairs.end(i); ++pair) put(i, pairs.y(pair), pairs.cost(pair));
        if (x_out) put(i, clouds.out_column(i), clouds.out_cost(i));
      }
    });
    for (Vertex i = 0; clouds.doubled && i < clouds.num_x; ++i) {
      poll.spend(4 * (pairs.end(i) - pairs.begin(i)));
      for (Count pair = pairs.begin(i); pair < pairs.end(i); ++pair) {
        put(clouds.num_x + pairs.y(pair), clouds.num_y + i, pairs.cost(pair));
      }
    }
    for (Vertex row = clouds.num_x; y_out && row < num_rows_; ++row) put(row, clouds.out_column(row), clouds.out_cost(row));
  }

  SparseCosts<double, Count, Vertex> costs() const {
    return {num_rows_, num_rows_, begin_.data(), column_.data(), cost_.data(), false};
  }

 private:
  friend class LazyRows;  // takes the lists over

  const Vertex num_rows_;
  std::vector<Count> begin_;  // [num_rows + 1]
  std::vector<Vertex> column_;
  std::vector<double> cost_;
};

// Both sides' trees, and the rows' queries.
class Nearest {
 public:
  Nearest(const Clouds& clouds, std::unique_ptr<Tree> x_tree, std::unique_ptr<Tree> y_tree)
      : clouds_(clouds), x_tree_(std::move(x_tree)), y_tree_(std::move(y_tree)) {}

  // The points that suit a row best, numbered as columns; not the way out.
  int least(Vertex row, int k, Hit* hits, double below = FAR, bool strict = false) const {
    const bool copy = clouds_.is_copy(row);
    const double* point = copy ? clouds_.y_at(row - clouds_.num_x) : clouds_.x_at(row);
    const Tree& tree = copy ? *x_tree_ : *y_tree_;
    const int size = tree.least(point, k, hits, below, clouds_.limit, static_cast<unsigned>(row), strict);
    if (copy) {
      for (int q = 0; q < size; ++q) hits[q].point += clouds_.num_y;
    }
    return size;
  }
  // The points x of the least cost - u for a y. Only for problems that are not doubled.
  int least_of_y(Vertex y, int k, Hit* hits, double below) const {
    return x_tree_->least(clouds_.y_at(y), k, hits, below, clouds_.limit, static_cast<unsigned>(y));
  }
  void set_all_x(const double* u) { x_tree_->set_all(u); }
  Vertex num_points(Vertex row) const { return clouds_.is_copy(row) ? clouds_.num_x : clouds_.num_y; }
  Pair pair(Vertex row, Vertex column) const {
    return clouds_.is_copy(row) ? Pair{column - clouds_.num_y, row - clouds_.num_x} : Pair{row, column};
  }
  void lower(Vertex column, double v) {
    if (column < clouds_.num_y) y_tree_->lower(column, v);
    else x_tree_->lower(column - clouds_.num_y, v);
  }
  void set_all(const double* v) {
    y_tree_->set_all(v);
    if (clouds_.doubled) x_tree_->set_all(v + clouds_.num_y);
  }

 private:
  const Clouds& clouds_;
  std::unique_ptr<Tree> x_tree_, y_tree_;
};

// Rows whose few best pairs are known, with a bound on all others, as SparseShortestPathSolver asks for them. No v rises.
class LazyRows {
 public:
  using Dual = double;
  const Vertex num_rows, num_columns;

  // The core knows enough of a row to begin with if no pair has a cost - v below the row's u: u is its bound. `is_short` says
  // for which rows the core lacks pairs.
  template <class IsShort>
  LazyRows(const Clouds& clouds, Nearest& nearest, Core&& core, const double* u, const IsShort& is_short, int k, Count room,
           Count most_hits)
      : num_rows(clouds.num_rows()), num_columns(num_rows), clouds_(clouds), nearest_(nearest), k_(k), room_(room),
        most_hits_(most_hits), about_(num_rows), column_(std::move(core.column_)), cost_(std::move(core.cost_)) {
    for (Vertex row = 0; row < num_rows; ++row) {
      const Count begin = core.begin_[row], end = core.begin_[row + 1];
      about_[row] = {begin, end, is_short(row) ? -FAR : u[row], static_cast<Vertex>(end - begin), k};
    }
  }

  // Rows for which the core lacks pairs.
  void price() {
    for (Vertex row = 0; row < num_rows; ++row) {
      if (about_[row].bound == -FAR) pick(row);
    }
  }
  // Asks the trees for the row's best pairs by the present v, and for more of them if that does not raise the bound.
  void learn(Vertex row) {
    About& about = about_[row];
    const double before = about.bound;
    const Vertex k = about.k;
    ++times_learned_;
    about.k = k_;
    pick(row);
    if (about.bound > before) return;
    about.k = std::min<Count>(Count{2} * k, nearest_.num_points(row));
    pick(row);
  }
  void note_start(Count) {}
  template <class Counters>
  bool hold_auction(Counters&, std::vector<double>&) { return false; }
  // If many pairs tie, rows would come to know most of them, one after the other.
  bool gives_up() const { return hits_asked_ > most_hits_ || static_cast<Count>(column_.size()) > room_; }
  Count times_learned() const { return times_learned_; }
  void set_v(Vertex column, double v) { nearest_.lower(column, v); }
  static double infinite() { return FAR; }
  Count begin(Vertex row) const { return about_[row].begin; }
  Count end(Vertex row) const { return about_[row].end; }
  Vertex column(Count edge) const { return column_[edge]; }
  double at(Count edge) const { return cost_[edge]; }
  double bound(Vertex row) const { return about_[row].bound; }

 private:
  struct About {
    Count begin, end;
    double bound;
    Vertex room, k;
  };

  Vertex most(Vertex row, Vertex k) const { return std::min(k, nearest_.num_points(row)); }

  void pick(Vertex row) {
    const Vertex k = most(row, about_[row].k);
    hits_asked_ += k;
    if (static_cast<std::size_t>(k) > hits_.size()) hits_.resize(k);
    store(row, hits_.data(), nearest_.least(row, k, hits_.data()));
  }

  // Writes the pairs to the row's place, or to a new place at the end if they need more room.
  void store(Vertex row, const Hit* hits, int size) {
    About& about = about_[row];
    const bool has_out = clouds_.out_cost(row) < FAR;
    if (size + has_out > about.room) {
      about.room = size + has_out;
      about.begin = static_cast<Count>(column_.size());
      column_.resize(column_.size() + about.room);
      cost_.resize(column_.size());
    }
    about.end = about.begin;
    const auto put = [&](Vertex column, double cost) {
      column_[about.end] = column;
      cost_[about.end++] = cost;
    };
    for (int q = 0; q < size; ++q) {
      const Pair pair = nearest_.pair(row, hits[q].point);
      put(hits[q].point, clouds_.cost(pair.x, pair.y));
    }
    if (has_out) put(clouds_.out_column(row), clouds_.out_cost(row));
    const Vertex k = most(row, about.k);
    about.bound = k < nearest_.num_points(row) && size == k ? hits[size - 1].reduced : FAR;
  }

  const Clouds& clouds_;
  Nearest& nearest_;
  const int k_;
  const Count room_, most_hits_;
  std::vector<About> about_;  // [num_rows]
  std::vector<Vertex> column_;
  std::vector<double> cost_;
  std::vector<Hit> hits_;
  Count times_learned_ = 0, hits_asked_ = 0;
};

}  // namespace points
