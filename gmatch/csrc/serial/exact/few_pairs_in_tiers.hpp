// few_pairs_in_tiers.hpp: few pairs whose common cost is a big number that stands for "not", and that some rows must use, on one
// core.
//
// The duals are in tiers, as serial/exact/tiers.hpp explains. They need no pass over the matrix. First all few pairs cost 0 and
// all others 1. The duals of this problem are the duals of the tier. They are whole: 0 or 1 for rows, 0 or -1 for columns. Two
// kinds of listed pairs may still be used. Rows with 0 may have columns with 0, and each of these rows must have one. Rows with 1
// may have columns with -1, and each of these columns must have one. These are two problems without the big number, so no dual is
// rounded beside it. A row that takes its way out has the rest 0, and so has each pair that is not listed. In both problems the
// duals of the side that may stay free are at most 0. So no other pair is cheaper.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "costs/magnitudes.hpp"
#include "serial/few_pairs.hpp"

// Whether duals hide the costs of the rows' pairs: see costs/magnitudes.hpp. `costs` [num_rows] are the costs of these pairs.
inline bool hides_costs(const FewPairs<double>& pairs, const ShortestPathResult<double>& result, const double* costs) {
  const double largest =
      std::max(largest_magnitude(result.u, pairs.num_rows), largest_magnitude(result.v, pairs.num_columns));
  const double within = hiding_if_negative_within(pairs.num_rows, largest, pairs.least, [=](Vertex row) { return costs[row]; });
  return within == IN_ANY_CASE || (within > 0 && pairs.has_negative_within(within));
}

class FewPairsInTiers {
 public:
  FewPairsInTiers(const FewPairs<double>& pairs, SparseShortestPathCounters& counters)
      : pairs_(pairs),
        counters_(counters),
        of_tier_(pairs.num_rows, pairs.num_columns),
        of_rests_(pairs.num_rows, pairs.num_columns) {}

  // Returns false if the common cost does not stand for "not", or if the duals of the rests hide costs.
  bool solve() {
    double largest = 0;
    each([&](Vertex, Vertex, double cost) { largest = std::max(largest, std::abs(cost)); });
    if (!stands_for_not(pairs_.common, largest, pairs_.num_rows)) return false;
    std::vector<double> entries(pairs_.costs.size(), 0);
    for (Vertex row = 0; row < pairs_.num_rows; ++row) entries[pairs_.offsets[row + 1] - 1] = 1;
    solve_few_pairs(pairs_, 1.0, entries.data(), of_tier_.result(), counters_);
    return solve_parts() && !hides();
  }

  const FoundPairs& of_tier() const { return of_tier_; }
  const FoundPairs& of_rests() const { return of_rests_; }

 private:
  template <class Visit>
  void each(const Visit& visit) const {
    for (Vertex row = 0; row < pairs_.num_rows; ++row) {
      for (Count k = pairs_.offsets[row]; k < pairs_.offsets[row + 1] - 1; ++k) visit(row, pairs_.columns[k], pairs_.costs[k]);
    }
  }
  // Whether one of the two problems may use a listed pair: in the tier its row has the dual `times`, and its column -times.
  bool is_left(Vertex row, Vertex column, double times) const {
    return of_tier_.u[row] == times && of_tier_.v[column] == -times;
  }

  bool solve_parts() {
    FoundPairs& found = of_rests_;
    std::fill(found.row_match.begin(), found.row_match.end(), NONE);
    std::fill(found.col_match.begin(), found.col_match.end(), NONE);
    if (!Part(*this, 0).solve(found.row_match, found.col_match, found.u, found.v)) return false;
    if (!Part(*this, 1).solve(found.col_match, found.row_match, found.v, found.u)) return false;
    match_rows_that_are_out(found.result(), pairs_.num_rows);
    return true;
  }

  // One of the two problems. Its lines are the rows with 0, or the columns with -1. Each line must have a pair.
  class Part {
   public:
    Part(const FewPairsInTiers& all, double times) : counters_(all.counters_) {
      const bool by_columns = times == 1;
      const FoundPairs& tier = all.of_tier_;
      const std::vector<double>& side = by_columns ? tier.v : tier.u;
      std::vector<Vertex> line_of(side.size(), NONE);
      for (Vertex k = 0; k < static_cast<Vertex>(side.size()); ++k) {
        if (side[k] != -times) continue;
        line_of[k] = static_cast<Vertex>(lines_.size());
        lines_.push_back(k);
      }
      num_places_ = static_cast<Vertex>((by_columns ? tier.u : tier.v).size());
      std::vector<Count> next(lines_.size() + 2, 0);
      const auto each_left = [&](const auto& visit) {
        all.each([&](Vertex row, Vertex column, double cost) {
          if (all.is_left(row, column, times)) visit(line_of[by_columns ? column : row], by_columns ? row : column, cost);
        });
      };
      each_left([&](Vertex line, Vertex, double) { ++next[line + 2]; });
      for (std::size_t k = 2; k < next.size(); ++k) next[k] += next[k - 1];
      places_.resize(next.back());
      costs_.resize(next.back());
      each_left([&](Vertex line, Vertex place, double cost) {
        places_[next[line + 1]] = place;
        costs_[next[line + 1]++] = cost;
      });
      offsets_ = std::move(next);
    }

    // Writes the pairs and duals of these lines, and the duals of the places that have a pair. Duals of other places stay 0.
    bool solve(std::vector<Vertex>& line_match, std::vector<Vertex>& place_match, std::vector<double>& u,
               std::vector<double>& v) {
      const auto num_lines = static_cast<Vertex>(lines_.size());
      if (num_lines == 0) return true;
      using Costs = const SparseCosts<double, Count, Vertex>;
      // One more place, which no line may have, lets places stay free. Their duals are then at most 0.
      Costs costs{num_lines, num_places_ + 1, offsets_.data(), places_.data(), costs_.data(), false};
      FoundPairs found(num_lines, num_places_ + 1);
      const ShortestPathResult<double> result = found.result();
      SparseShortestPathSolver<Costs> solver(costs, counters_);
      if (solver.solve(false, result.row_match, result.col_match, result.u, result.v) < num_lines) return false;
      for (Vertex line = 0; line < num_lines; ++line) {
        const Vertex place = found.row_match[line];
        line_match[lines_[line]] = place;
        place_match[place] = lines_[line];
        u[lines_[line]] = found.u[line];
        v[place] = found.v[place];
      }
      return true;
    }

   private:
    SparseShortestPathCounters& counters_;
    Vertex num_places_;
    std::vector<Vertex> lines_;
    std::vector<Count> offsets_;  // [lines + 1], and one more
    std::vector<Vertex> places_;
    std::vector<double> costs_;
  };

  bool hides() {
    std::vector<double> rests(pairs_.num_rows, 0);
    each([&](Vertex row, Vertex column, double cost) {
      if (of_rests_.row_match[row] == column) rests[row] = cost;
    });
    return hides_costs(pairs_, of_rests_.result(), rests.data());
  }

  const FewPairs<double>& pairs_;
  SparseShortestPathCounters& counters_;
  FoundPairs of_tier_, of_rests_;
};
