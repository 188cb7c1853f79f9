// ranked_assignments.hpp: the cheapest assignments in order, on the host. Threads list the pairs; one thread searches.
//
// Murty's partition. A node is a set of assignments: the pairs of the rows before `row` are given, and some pairs of `row`
// are forbidden. Its cheapest assignment splits the others into children, one for each row from `row` on: the pairs before
// that row are given, and the pair of that row is forbidden. The open children wait in a queue. The cheapest child has the
// next assignment.
//
// The best assignment of a child differs from its parent's by one alternating cycle through the child's row: the pair of that
// row is broken, and the shortest augmenting path (Dijkstra) leads from the row to the column that it left. With the duals of
// the parent no pair that the child may use has a negative slack. The path is found in three steps, and fewer children come to
// each. First a child waits with a bound, the least slack of its row. If that is the least in the queue, the child waits with
// the length of its path. If that is the least, the path is found once more, and flipped.
//
// If columns may stay free, one more row, the vacancy, has all free columns. It gives up a free column, and takes a column that
// becomes free, for minus its dual. So cycles go through it, and no assignment is counted twice.
//
// The input are slacks: costs less the duals of the best assignment of all, which are at least 0. Duals of columns are stored
// as what they have fallen since, and they only fall. So the entries of a row are read in order of these slacks, until the
// path is as long as a known one. They are put in order only as far as they are read.
//
// K. G. Murty, "An algorithm for ranking all the assignments in order of increasing cost", Operations Research 16 (1968).
// M. L. Miller, H. S. Stone, I. J. Cox, "Optimizing Murty's ranked assignment method", IEEE Transactions on Aerospace and
// Electronic Systems 33 (1997).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "team/host_threads.hpp"
#include "team/interrupt.hpp"
#include "team/memory.cuh"

// The arrays of a problem whose best assignment is known: rows are on the side with fewer vertices, and all matched.
template <class Dual>
struct RankedProblem {
  Vertex num_rows, num_columns;
  const Count* offsets;      // [num_rows + 1]
  const Vertex* columns;     // [entries] of the allowed pairs
  const Dual* slacks;        // [entries] at least 0, and 0 for the pairs of the best assignment
  const Dual* leave;         // [num_columns] minus v: at least 0 where columns may stay free
  const Vertex* row_match;   // [num_rows]
};

template <class Dual>
class RankedAssignments {
 public:
  // `threads` list the pairs of the rows.
  explicit RankedAssignments(const RankedProblem<Dual>& problem, int threads = 1)
      : num_rows_(problem.num_rows),
        num_columns_(problem.num_columns),
        leave_(problem.leave, problem.leave + problem.num_columns),
        rows_(problem.num_rows),
        col_match_(problem.num_columns),
        distance_(problem.num_columns + 1, FAR),
        arrivals_(problem.num_columns),
        is_forbidden_(problem.num_columns, false) {
    Node best{std::vector<Pair>(num_rows_), std::vector<Dual>(num_columns_, 0), {}, 0, 0, 0};
    run_on_host(threads, [&](const HostTeam& team) {
      team.each_group(num_rows_, [&](Count number) {
        const auto row = static_cast<Vertex>(number);
        list_entries(problem, row);
        best.pairs[row] = {Dual{0}, problem.row_match[row]};
      });
    });
    first_.push_back(std::move(best));
  }

  // The next assignment, or none if there are no more. What it returns is valid until the next call.
  struct Node;
  const Node* next() {
    if (!first_.empty()) {
      nodes_.push_back(std::move(first_.back()));
      first_.pop_back();
    } else {
      Child child;
      do {
        if (open_.empty()) return nullptr;
        std::pop_heap(open_.begin(), open_.end());
        child = open_.back();
        open_.pop_back();
        if (!child.is_exact) measure(child);
      } while (!child.is_exact);
      nodes_.push_back(best_of(child));
    }
    split(static_cast<Count>(nodes_.size()) - 1);
    return &nodes_.back();
  }

  // A pair of a row, and the slack that it has with the duals of the best assignment of all.
  struct Pair {
    Dual slack;
    Vertex column;
  };
  struct Node {
    std::vector<Pair> pairs;         // [num_rows] of its cheapest assignment
    std::vector<Dual> v;             // [num_columns] what the duals of columns have fallen: at most 0
    std::vector<Vertex> forbidden;   // columns, for `row`
    Dual vacancy;                    // its dual, at least 0
    Dual gap;                        // what its cheapest assignment costs more than the best of all
    Vertex row;

    // What the dual of a row has risen: its pair has no slack left.
    Dual u(Vertex i) const { return pairs[i].slack - v[pairs[i].column]; }
  };

 private:
  static constexpr Dual FAR = std::numeric_limits<Dual>::has_infinity ? std::numeric_limits<Dual>::infinity()
                                                                      : std::numeric_limits<Dual>::max() / 2;
  static constexpr Count NO_NODE = -1;
  // How many times as far as the next child a search goes, so that few children are searched often.
  static constexpr int AHEAD = 2;
  // Entries of a row that are put in order at first. Each time more are needed, the ordered part is doubled.
  static constexpr std::size_t FIRST_ENTRIES = 8;

  struct Entry {
    Dual slack;
    Vertex column;
    bool operator<(const Entry& other) const {
      return slack != other.slack ? slack < other.slack : column < other.column;
    }
  };
  // The entries up to `ordered` are the least, in order.
  struct Row {
    std::vector<Entry> entries;
    std::size_t ordered = 0;
  };
  // Among children of equal cost the first one found comes first.
  struct Child {
    Dual gap;       // of its cheapest assignment, or a bound
    Dual length;    // of its path: what the gap is more than the gap of its parent, without rounding
    bool is_exact;
    Count number;
    Count parent;
    Vertex row;
    bool operator<(const Child& other) const {  // the heap's top is least
      return gap != other.gap ? gap > other.gap : number > other.number;
    }
  };
  struct Candidate {
    Dual distance;
    Vertex column;
    bool operator<(const Candidate& other) const {
      return distance != other.distance ? distance > other.distance : column > other.column;
    }
  };
  // How a column is reached: from a row, or from the vacancy.
  struct Arrival {
    Vertex row;
    Dual slack;
  };

  // Its column among the candidates, and its row among the arrivals.
  Vertex vacancy_column() const { return num_columns_; }
  Vertex vacancy_row() const { return num_rows_; }

  // Copies the pairs of a row, and puts the least of them in order, since each row is a root of the first search.
  void list_entries(const RankedProblem<Dual>& problem, Vertex number) {
    Row& row = rows_[number];
    const Count begin = problem.offsets[number], end = problem.offsets[number + 1];
    row.entries.reserve(end - begin);
    for (Count edge = begin; edge < end; ++edge) row.entries.push_back({problem.slacks[edge], problem.columns[edge]});
    order_more(row);
  }
  void order_more(Row& row) {
    const std::size_t more = row.ordered == 0 ? FIRST_ENTRIES : row.ordered;
    const auto begin = row.entries.begin() + row.ordered;
    const std::size_t left = row.entries.size() - row.ordered;
    if (more < left) std::nth_element(begin, begin + more, row.entries.end());
    row.ordered += std::min(more, left);
    std::sort(begin, row.entries.begin() + row.ordered);
  }

  static Count just_above(Count distance) { return distance + 1; }
  static double just_above(double distance) { return std::nextafter(distance, FAR); }

  const Node& enter(Count number) {
    const Node& node = nodes_[number];
    if (std::exchange(entered_, number) == number) return node;
    poll_.spend(num_columns_);
    std::fill(col_match_.begin(), col_match_.end(), NONE);
    for (Vertex row = 0; row < num_rows_; ++row) col_match_[node.pairs[row].column] = row;
    return node;
  }

  void push(const Child& child) {
    open_.push_back(child);
    std::push_heap(open_.begin(), open_.end());
  }

  // All children of a node, with the least slack that their row has now for a bound.
  void split(Count number) {
    const Node& node = enter(number);
    for (root_ = node.row; root_ < num_rows_; ++root_) {
      forbid(node, true);
      const Dual least = least_slack(node);
      forbid(node, false);
      const Count name = children_++;
      if (least < FAR) push({node.gap + least, least, false, name, number, root_});
    }
  }

  // Finds the cost of a child's cheapest assignment, if it is not much more than its bound or the next in the queue; otherwise a
  // better bound. Puts the child back, if it has an assignment.
  void measure(const Child& child) {
    const Node& node = enter(child.parent);
    const Dual next = open_.empty() ? 0 : open_.front().gap - node.gap;
    const Dual most = just_above(AHEAD * std::max(child.length, next));
    const Dual length = find_path(node, child.row, most);
    const Dual more = beyond_;
    clear_search();
    if (length < FAR) push({node.gap + length, length, true, child.number, child.parent, child.row});
    else if (more < FAR) push({node.gap + more, more, false, child.number, child.parent, child.row});
  }

  // The pairs that the root may not use: with the column that it leaves, and others if the node's pairs are forbidden.
  void forbid(const Node& node, bool is) {
    is_forbidden_[node.pairs[root_].column] = is;
    if (root_ != node.row) return;
    for (const Vertex column : node.forbidden) is_forbidden_[column] = is;
  }

  bool may_take(Vertex row, Vertex column) const {
    const Vertex mate = col_match_[column];
    return (mate == NONE || mate >= root_) && !(row == root_ && is_forbidden_[column]);
  }

  // The least slack of the pairs that the root may use; FAR if there are none.
  Dual least_slack(const Node& node) {
    Row& row = rows_[root_];
    const Dual u = node.u(root_);
    Dual least = FAR;
    for (std::size_t i = 0; i < row.entries.size(); ++i) {
      if (i == row.ordered) order_more(row);
      const Entry& entry = row.entries[i];
      if (!(entry.slack - u < least)) break;  // v is at most 0
      if (may_take(root_, entry.column)) least = std::min(least, entry.slack - u - node.v[entry.column]);
    }
    return std::max(least, Dual{0});  // a float may be below 0 by a rounding
  }

  // The length of the shortest path from `root` to the column that it leaves; FAR if none is shorter than `most`: then all
  // have `beyond_` or more. Rows before the root keep their pairs.
  Dual find_path(const Node& node, Vertex root, Dual most) {
    const Vertex target = node.pairs[root].column;
    most_distance_ = most;
    beyond_ = FAR;
    root_ = root;
    forbid(node, true);
    relax(node, root, 0);
    forbid(node, false);
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end());
      const Candidate nearest = candidates_.back();
      candidates_.pop_back();
      if (nearest.distance > distance_[nearest.column]) continue;
      if (nearest.column == target) return nearest.distance;
      settled_.push_back(nearest);
      if (nearest.column == vacancy_column()) relax_vacancy(node, nearest.distance);
      else relax(node, col_match_[nearest.column], nearest.distance);
    }
    return FAR;
  }

  void relax(const Node& node, Vertex from, Dual distance) {
    Row& row = rows_[from];
    poll_.spend(static_cast<Count>(row.ordered) + 1);
    const Dual offset = distance - node.u(from);
    for (std::size_t i = 0; i < row.entries.size(); ++i) {
      if (i == row.ordered) order_more(row);
      const Entry& entry = row.entries[i];
      if (!(offset + entry.slack < most_distance_)) {  // v is at most 0
        beyond_ = std::min(beyond_, offset + entry.slack);
        return;
      }
      if (!may_take(from, entry.column)) continue;
      const Vertex mate = col_match_[entry.column];
      const Dual here = std::max(distance, offset + entry.slack - node.v[entry.column]);  // rounding must not turn back
      const Vertex column = mate == NONE ? vacancy_column() : entry.column;
      if (!reach(node, column, here)) continue;
      arrivals_[entry.column] = {from, entry.slack};
      if (mate == NONE) free_column_ = entry.column;
    }
  }

  // The vacancy takes a column of some row, which is free then.
  void relax_vacancy(const Node& node, Dual distance) {
    for (Vertex row = root_; row < num_rows_; ++row) {
      const Vertex column = node.pairs[row].column;
      const Dual slack = leave_[column] - node.v[column] - node.vacancy;
      if (reach(node, column, std::max(distance, distance + slack))) arrivals_[column] = {vacancy_row(), slack};
    }
  }

  bool reach(const Node& node, Vertex column, Dual distance) {
    if (!(distance < most_distance_)) {
      beyond_ = std::min(beyond_, distance);
      return false;
    }
    if (!(distance < distance_[column])) return false;
    if (!(distance_[column] < FAR)) touched_.push_back(column);
    distance_[column] = distance;
    candidates_.push_back({distance, column});
    std::push_heap(candidates_.begin(), candidates_.end());
    if (column == node.pairs[root_].column) most_distance_ = distance;  // no other path need be longer
    return true;
  }

  void clear_search() {
    for (const Vertex column : touched_) distance_[column] = FAR;
    touched_.clear();
    candidates_.clear();
    settled_.clear();
  }

  // The cheapest assignment of a child, with its duals.
  Node best_of(const Child& child) {
    const Node& parent = enter(child.parent);
    const Dual length = find_path(parent, child.row, FAR);
    Node node{parent.pairs, parent.v, {}, parent.vacancy, child.gap, child.row};
    if (child.row == parent.row) node.forbidden = parent.forbidden;
    node.forbidden.push_back(parent.pairs[child.row].column);
    for (const Candidate& nearer : settled_) {
      const Dual amount = length - nearer.distance;
      if (nearer.column == vacancy_column()) lower_free_columns(node, amount);
      else node.v[nearer.column] -= amount;
    }
    flip_path(node, parent.pairs[child.row].column);
    clear_search();
    return node;
  }

  void lower_free_columns(Node& node, Dual amount) const {
    node.vacancy += amount;
    for (Vertex column = 0; column < num_columns_; ++column) {
      if (col_match_[column] == NONE) node.v[column] -= amount;
    }
  }

  void flip_path(Node& node, Vertex column) const {
    while (true) {
      if (arrivals_[column].row == vacancy_row()) column = free_column_;
      const auto [row, slack] = arrivals_[column];
      const Vertex left = std::exchange(node.pairs[row], Pair{slack, column}).column;
      if (row == node.row) return;
      column = left;
    }
  }

  const Vertex num_rows_, num_columns_;
  const std::vector<Dual> leave_;
  std::vector<Row> rows_;
  std::vector<Node> first_;         // the best of all, until it was returned
  std::vector<Node> nodes_;         // of the assignments that were returned
  std::vector<Child> open_;         // a heap
  Count children_ = 0;              // that were ever open

  // A search in the node that was entered last, with one more column for the vacancy.
  Count entered_ = NO_NODE;
  std::vector<Vertex> col_match_;
  std::vector<Dual> distance_;      // FAR, except of touched ones
  std::vector<Arrival> arrivals_;
  std::vector<char> is_forbidden_;  // for the root
  std::vector<Vertex> touched_;
  std::vector<Candidate> candidates_;  // a heap
  std::vector<Candidate> settled_;  // nearer than the target, in order
  Vertex root_ = 0;
  Vertex free_column_ = NONE;       // by which the vacancy is reached
  Dual most_distance_{};            // paths must be shorter than this
  Dual beyond_{};                   // the least distance of a path that was not
  Poll poll_;
};
