// changed_rows.hpp: dense assignment from a former one, by work for the changes only.
//
// Rows and columns that stay keep their pairs and their duals, which prove them. Each row that is new, has new costs, or has
// lost its column is one shortest path of serial/shortest_path.hpp. So only the rows that a path meets are read,
// and nobody knows the range of all costs. Integers of 64 bits are held against a bound as they are read.
#pragma once
#include <algorithm>
#include <stdexcept>

#include "serial/shortest_path.hpp"

// Rows whose entries, if they are read, leave room for the sums of a search: see Distance.
class BoundedRows : public CopiedRows<Count> {
 public:
  // Beside duals of at most four times as much.
  static constexpr Count MOST = Distance<Count>::MAX_RANGE / 8;

  template <class Stored>
  explicit BoundedRows(const DenseCosts<Stored>& costs) : CopiedRows<Count>(costs), is_bounded_(sizeof(Stored) < sizeof(Count)) {}

  const Count* entries(Vertex row) {
    const Count* const found = CopiedRows<Count>::entries(row);
    if (is_bounded_) return found;
    Count least = 0, most = 0;
    for (Vertex j = 0; j < num_columns(); ++j) {
      least = std::min(least, found[j]);
      most = std::max(most, found[j]);
    }
    if (least < -MOST || most > MOST) throw std::overflow_error("costs are too large");
    return found;
  }

 private:
  const bool is_bounded_;
};

template <class Dual>
using ChangedRows = std::conditional_t<std::numeric_limits<Dual>::is_integer, BoundedRows, CopiedRows<double>>;

// Matches these rows. A path may also end at a row that stays out at that price. Returns how many rows are matched then.
template <class Stored, class Dual = typename DenseCosts<Stored>::Dual>
Vertex match_changed_rows(const DenseCosts<Stored>& costs, Dual way_out, const Vertex* rows, Vertex number,
                          const ShortestPathResult<Dual>& result, ShortestPathCounters& counters) {
  ShortestPathOptions<Dual> options{};
  options.start_from_duals = true;
  options.rows_to_match = rows;
  options.num_rows_to_match = number;
  return ShortestPathSolver<ChangedRows<Dual>, Dual>(ChangedRows<Dual>(costs), way_out, options, result, counters).solve();
}
