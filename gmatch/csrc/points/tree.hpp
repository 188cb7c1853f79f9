// tree.hpp: points of one side in a tree of fours, asked for the least of cost - v.
//
//   order   both clouds by a k-d tree of equal counts, cut at multiples of 4, 16, 64 ...: as many consecutive points are
//           compact, and the tree needs no pointers. Node i of a level has the nodes 4 i to 4 i + 3 of the level below
//   leaf    16 points. A query reads all of them
//   node    the box of its points and two planes: a slope g and `most`, the largest v - g (y - centre) of its points. No point
//           of the box has less cost - v than the metric's at_least() - most, by either plane. Where points side by side have
//           mates far apart, the duals bend; two planes follow both sides of a bend, also beside it
//   query   branch and bound, the most promising child first. Queries meet ties in different orders, so that many rows
//           with equal costs do not all choose the same columns
//
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "points/metrics.hpp"
#include "points/shares.hpp"
#include "team/team.cuh"

namespace points {

constexpr double FAR = std::numeric_limits<double>::infinity();

struct Hit {
  double reduced;  // cost - v
  Vertex point;
};

// Points of a side with their duals; the metric and the dimension are inside.
class Tree {
 public:
  virtual ~Tree() = default;
  // Lists the k least values of cost - v that are below `below`, sorted, and returns how many. Pairs that cost more than `limit`
  // do not count. Bounds are rounded: values that are less only by rounding may be missed, unless the query is strict. A strict
  // query visits all ties.
  virtual int least(const double* x, int k, Hit* hits, double below, double limit, unsigned turn, bool strict = false) const = 0;
  // O(1). The bounds of nodes stay true, though they could be tighter.
  virtual void lower(Vertex point, double v) = 0;
  virtual void set_all(const double* v) = 0;
};

// The means of two groups of vectors. The two vectors that are farthest apart found the groups; each other joins the nearer one.
template <class At>
void split_in_two(int dimension, int size, const At& at, double* first, double* second) {
  const auto apart = [&](int a, int b) {
    double square = 0;
    for (int k = 0; k < dimension; ++k) square += (at(a)[k] - at(b)[k]) * (at(a)[k] - at(b)[k]);
    return square;
  };
  int one = 0, other = 0;
  double widest = 0;
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      if (!(apart(a, b) > widest)) continue;
      widest = apart(a, b);
      one = a;
      other = b;
    }
  }
  double* const means[] = {first, second};
  int sizes[2] = {};
  for (double* mean : means) std::fill_n(mean, dimension, 0.0);
  for (int a = 0; a < size; ++a) {
    const bool far = apart(a, other) < apart(a, one);
    ++sizes[far];
    for (int k = 0; k < dimension; ++k) means[far][k] += (at(a)[k] - means[far][k]) / sizes[far];
  }
  if (sizes[1] == 0) std::copy_n(first, dimension, second);
}

class Space {
 public:
  virtual ~Space() = default;
  virtual int dimension() const = 0;
  virtual double cost(const double* x, const double* y) const = 0;
  // The gradient by y. By x it is the negative, except for Dot.
  virtual void gradient(const double* x, const double* y, double* g) const = 0;
  // `slopes`: two for each four points, or none.
  virtual std::unique_ptr<Tree> tree(Vertex num_points, const double* points, const double* slopes, const double* v,
                                     int threads) const = 0;
  virtual void order(const double* points, Vertex* numbers, Vertex num_points) const = 0;
};

template <class Metric, int D>
class MetricTree final : public Tree {
 public:
  MetricTree(const Metric& metric, Vertex num_points, const double* points, const double* slopes, const double* v,
             int threads)
      : metric_(metric), num_points_(num_points), threads_(threads), fours_((num_points + LEAF - 1) / LEAF * (LEAF / 4)) {
    for (Vertex i = 0; i < 4 * static_cast<Vertex>(fours_.size()); ++i) {
      FourPoints& four = fours_[i / 4];
      for (int k = 0; k < D; ++k) four.point[k][i % 4] = i < num_points ? points[static_cast<std::size_t>(i) * D + k] : 0;
      four.v[i % 4] = i < num_points ? v[i] : -FAR;
    }
    do {
      levels_.emplace_back((width(num_levels()) + 3) / 4);
      each_node(num_levels() - 1, [&](int level, Vertex i) { make_node(level, i, slopes); });
    } while (levels_.back().size() > 1);
    for (int level = num_levels() - 1; level-- > 0;) {
      each_node(level, [&](int here, Vertex i) { inherit(here, i); });
    }
    weigh_all();
  }

  void lower(Vertex point, double v) override { fours_[point / 4].v[point % 4] = v; }

  void set_all(const double* v) override {
    for (Vertex i = 0; i < num_points_; ++i) fours_[i / 4].v[i % 4] = v[i];
    weigh_all();
  }

  int least(const double* x, int k, Hit* hits, double below, double limit, unsigned turn, bool strict) const override {
    return run_in_lanes<Search>(SHORTEST_ROW, this, x, k, hits, below, limit, turn, strict);
  }

 private:
  // Points of a leaf. Reading all of them costs less than bounds for each four of them, which would be most nodes of the tree.
  static constexpr Vertex LEAF = 16;
  static constexpr int STACK = 4 * 16 + 4;  // 16 levels hold 2^32 points
  static constexpr Count OF_A_NODE = 1 << 8;  // what a node spends, see Poll
  // A bound is a sum of some 10 D rounded terms.
  static constexpr double ROUNDING = 0x1p-47;

  // A query, for registers of each width.
  struct Search {
    template <int BYTES>
    static ALWAYS_INLINE int run(const MetricTree* tree, const double* given, int k, Hit* hits, double below, double limit,
                                 unsigned turn, bool strict) {
      struct Visit {
        double bound;
        int level;
        Vertex node;
      } stack[STACK];
      double x[D], values[4];
      std::copy_n(given, D, x);
      turn *= 2654435761u;
      turn ^= turn >> 15;
      int depth = 0, size = 0;
      stack[depth++] = {-FAR, tree->num_levels(), 0};
      while (depth > 0) {
        const Visit visit = stack[--depth];
        if (!(visit.bound < below)) continue;
        if (visit.level == 0) {
          for (unsigned f = 0; f < LEAF / 4; ++f) {
            const Vertex number = visit.node * (LEAF / 4) + ((f + (turn >> 2)) & (LEAF / 4 - 1));
            const Four reduced = tree->of_points(tree->fours_[number], x, limit);
            if (any_of<4>(reduced < below) == 0) continue;
            store(values, reduced);
            for (unsigned z = 0; z < 4; ++z) {
              const int q = (z + turn) & 3;
              if (!(values[q] < below)) continue;
              int place = size < k ? size++ : k - 1;
              for (; place > 0 && hits[place - 1].reduced > values[q]; --place) hits[place] = hits[place - 1];
              hits[place] = {values[q], 4 * number + q};
              if (size == k) below = hits[k - 1].reduced;
            }
          }
          continue;
        }
        const Four reduced = tree->of_boxes(tree->levels_[visit.level - 1][visit.node], x, limit, strict);
        if (any_of<4>(reduced < below) == 0) continue;
        store(values, reduced);
        int order[4], children = 0;
        for (unsigned z = 0; z < 4; ++z) {
          const int q = (z + (turn >> (2 * visit.level + 2))) & 3;
          if (!(values[q] < below)) continue;
          int place = children++;
          for (; place > 0 && values[order[place - 1]] < values[q]; --place) order[place] = order[place - 1];
          order[place] = q;
        }
        for (int c = 0; c < children; ++c) stack[depth++] = {values[order[c]], visit.level - 1, 4 * visit.node + order[c]};
      }
      return size;
    }
  };

  struct FourPoints {
    double point[D][4], v[4];
  };
  // No point of a node has more v than `most` + slope (y - centre).
  struct Planes {
    Slopes<D> slope;
    double most[4] = {-FAR, -FAR, -FAR, -FAR};
  };
  struct Nodes {
    Boxes<D> boxes;
    Planes planes[2];
  };

  ALWAYS_INLINE Four of_points(const FourPoints& points, const double* x, double limit) const {
    const Four costs = metric_.template costs<D>(x, points.point);
    return costs <= limit ? costs - four(points.v) : Four{} + FAR;
  }
  ALWAYS_INLINE Four of_boxes(const Nodes& nodes, const double* x, double limit, bool strict) const {
    const Four reduced = greater(of_planes(nodes.boxes, nodes.planes[0], x, strict),
                                 of_planes(nodes.boxes, nodes.planes[1], x, strict));
    if (!(limit < FAR)) return reduced;
    const Four cheapest = metric_.template cheapest<D>(x, nodes.boxes);
    return cheapest - magnitude(cheapest) * ROUNDING > limit ? Four{} + FAR : reduced;
  }
  ALWAYS_INLINE Four of_planes(const Boxes<D>& boxes, const Planes& planes, const double* x, bool strict) const {
    const Four most = four(planes.most);
    Four reduced = metric_.template at_least<D>(x, boxes, planes.slope) - most;
    if (strict) reduced -= (metric_.template size<D>(x, boxes, planes.slope) + magnitude(most)) * ROUNDING;
    return reduced;
  }

  int num_levels() const { return static_cast<int>(levels_.size()); }
  // Nodes of a level; below the first one lie the leaves.
  Vertex width(int level) const {
    return static_cast<Vertex>(level == 0 ? fours_.size() / (LEAF / 4) : levels_[level - 1].size());
  }

  void make_node(int level, Vertex i, const double* slopes) {
    Nodes& nodes = levels_[level][i / 4];
    const int q = i % 4;
    Boxes<D>& boxes = nodes.boxes;
    for (int k = 0; k < D; ++k) {
      const auto [low, high] = level == 0 ? ends_of_leaf(i, k) : ends_of_nodes(level - 1, i, k);
      boxes.low[k][q] = low;
      boxes.high[k][q] = high;
      boxes.centre[k][q] = low + (high - low) / 2;
      boxes.half[k][q] = std::max(high - boxes.centre[k][q], boxes.centre[k][q] - low) * (1 + ROUNDING);
    }
    double two[2][D] = {};
    if (level == 0 && slopes != nullptr) {
      const double* const first = slopes + static_cast<std::size_t>(i) * (LEAF / 4) * 2 * D;
      const int fours = static_cast<int>(std::min<Vertex>(LEAF / 4, (num_points_ + 3) / 4 - i * (LEAF / 4)));
      split_in_two(D, 2 * fours, [&](int c) { return first + c * D; }, two[0], two[1]);
    } else if (level > 0) {
      const int children = children_of(level, i);
      double below[8][D];
      for (int c = 0; c < 2 * children; ++c) {
        for (int k = 0; k < D; ++k) below[c][k] = levels_[level - 1][i].planes[c % 2].slope[k][c / 2];
      }
      split_in_two(D, 2 * children, [&](int c) { return below[c]; }, two[0], two[1]);
    }
    for (int p = 0; p < 2; ++p) {
      for (int k = 0; k < D; ++k) nodes.planes[p].slope[k][q] = two[p][k];
    }
  }

  int children_of(int level, Vertex i) const { return static_cast<int>(std::min<Vertex>(4, width(level - 1) - 4 * i)); }

  // The least and the largest value of a coordinate, over the points of a leaf, or over the four nodes below a node.
  std::pair<double, double> ends_of_leaf(Vertex i, int k) const {
    double low = FAR, high = -FAR;
    const Count end = std::min<Count>((Count{i} + 1) * LEAF, num_points_);
    for (Vertex j = i * LEAF; j < end; ++j) {
      low = std::min(low, fours_[j / 4].point[k][j % 4]);
      high = std::max(high, fours_[j / 4].point[k][j % 4]);
    }
    return {low, high};
  }
  std::pair<double, double> ends_of_nodes(int level, Vertex above, int k) const {
    const Boxes<D>& boxes = levels_[level][above].boxes;
    double low = FAR, high = -FAR;
    for (int r = 0; r < children_of(level + 1, above); ++r) {
      low = std::min(low, boxes.low[k][r]);
      high = std::max(high, boxes.high[k][r]);
    }
    return {low, high};
  }

  // Where the duals of the node above bend and the duals of a node do not, its second slope is the slope of the other side: its
  // box may reach beyond the bend though none of its points does.
  void inherit(int level, Vertex i) {
    Nodes& nodes = levels_[level][i / 4];
    const Nodes& above = levels_[level + 1][i / 16];
    const int q = i % 4, r = i / 4 % 4;
    const auto apart = [&](const Planes& a, int at, const Planes& b, int other) {
      double square = 0;
      for (int k = 0; k < D; ++k) square += (a.slope[k][at] - b.slope[k][other]) * (a.slope[k][at] - b.slope[k][other]);
      return square;
    };
    const double here = apart(nodes.planes[0], q, nodes.planes[1], q);
    const double to[] = {apart(nodes.planes[0], q, above.planes[0], r), apart(nodes.planes[0], q, above.planes[1], r)};
    const int far = to[1] > to[0];
    if (here > to[far] / BENDS) return;
    for (int k = 0; k < D; ++k) {
      nodes.planes[0].slope[k][q] += (nodes.planes[1].slope[k][q] - nodes.planes[0].slope[k][q]) / 2;
      nodes.planes[1].slope[k][q] = above.planes[far].slope[k][r];
    }
  }
  // Two slopes that differ by less than 1/8 of the difference above count as one. This is the square of 1/8.
  static constexpr double BENDS = 64;

  template <class Work>
  void each_node(int level, const Work& work) {
    share_out(width(level), threads_, [&](Vertex begin, Vertex end, int) {
      Poll poll;
      for (Vertex i = begin; i < end; ++i) {
        poll.spend(OF_A_NODE);
        work(level, i);
      }
    });
  }

  void weigh_all() {
    for (int level = 0; level < num_levels(); ++level) {
      share_out(width(level), threads_, [&](Vertex begin, Vertex end, int) {
        Poll poll;
        for (Vertex i = begin; i < end; ++i) {
          poll.spend(Count{LEAF} << 2 * level);
          for (Planes& planes : levels_[level][i / 4].planes) planes.most[i % 4] = most_of(level, i, planes.slope);
        }
      }, std::max<Vertex>(1, (256 / LEAF) >> 2 * std::min(level, 8)));  // nodes of 256 points
    }
  }

  // Reads all points of a node: bounds from the nodes below would be larger. O(n log n) for all nodes.
  double most_of(int level, Vertex i, const Slopes<D>& slopes) const {
    const Boxes<D>& boxes = levels_[level][i / 4].boxes;
    double slope[D], centre[D];
    for (int k = 0; k < D; ++k) {
      slope[k] = slopes[k][i % 4];
      centre[k] = boxes.centre[k][i % 4];
    }
    const Count size = Count{LEAF / 4} << 2 * level, first = i * size, last = std::min<Count>(first + size, fours_.size());
    Four most = Four{} - FAR;
    for (Count f = first; f < last; ++f) {
      Four here = four(fours_[f].v);
      for (int k = 0; k < D; ++k) here -= slope[k] * (four(fours_[f].point[k]) - centre[k]);
      most = greater(most, here);
    }
    return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
  }

  const Metric metric_;
  const Vertex num_points_;
  const int threads_;
  std::vector<FourPoints> fours_;           // of whole leaves
  std::vector<std::vector<Nodes>> levels_;  // the nodes of each level by fours; the node of the last level is the root
};

template <class Metric, int D>
class MetricSpace final : public Space {
 public:
  explicit MetricSpace(const Metric& metric) : metric_(metric) {}
  int dimension() const override { return D; }
  double cost(const double* x, const double* y) const override { return metric_.template cost<D>(x, y); }
  void gradient(const double* x, const double* y, double* g) const override { metric_.template gradient<D>(x, y, g); }
  std::unique_ptr<Tree> tree(Vertex num_points, const double* points, const double* slopes, const double* v,
                             int threads) const override {
    return std::make_unique<MetricTree<Metric, D>>(metric_, num_points, points, slopes, v, threads);
  }
  // Each part is cut where it is widest, near its middle, at a multiple of a power of four.
  void order(const double* points, Vertex* numbers, Vertex num_points) const override {
    constexpr Vertex MANY = 4096;  // a look takes no time beside as many points
    if (num_points <= 4) return;
    if (num_points >= MANY) look_around();
    Vertex unit = 4;
    while (unit < (num_points + 3) / 4) unit *= 4;
    const Vertex middle = std::max<Vertex>(1, static_cast<Vertex>(num_points * 0.5 / unit + 0.5)) * unit;
    split(points, numbers, middle, num_points);
    order(points, numbers, middle);
    order(points, numbers + middle, num_points - middle);
  }

 private:
  static void split(const double* points, Vertex* numbers, Vertex middle, Vertex end) {
    int widest = 0;
    double width = -1;
    const auto at = [&](Vertex number, int k) { return points[static_cast<std::size_t>(number) * D + k]; };
    for (int k = 0; k < D; ++k) {
      const auto less = [&](Vertex a, Vertex b) { return at(a, k) < at(b, k); };
      const auto ends = std::minmax_element(numbers, numbers + end, less);
      const double here = at(*ends.second, k) - at(*ends.first, k);
      if (here > width) {
        width = here;
        widest = k;
      }
    }
    std::nth_element(numbers, numbers + middle, numbers + end, [&](Vertex a, Vertex b) {
      const double x = at(a, widest), y = at(b, widest);
      return x < y || (x == y && a < b);
    });
  }

  const Metric metric_;
};

}  // namespace points
