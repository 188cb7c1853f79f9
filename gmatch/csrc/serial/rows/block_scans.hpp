// block_scans.hpp: the passes of core/block_passes.cuh on threads of the host, in vectors. For HostTeam they take the place of
// those for any team, and find the same. Entries for a core are picked by serial/rows/block_picks.hpp instead.
//
// Rows are read as they lie, or, where they are narrow, negated, cut off at a limit or lie apart, as copies of one row.
#pragma once
#include <algorithm>
#include <vector>

#include "core/block_passes.cuh"
#include "serial/rows/rows.hpp"

namespace block_scans {

constexpr Vertex MOST_TOGETHER = 32;  // columns that FindUpTo may return as one hit

// Passes over one row of entries, each for registers of any width.
template <class Entry, class Dual>
struct Scan {
  using Index = IndexLike<Dual>;
  template <int BYTES>
  static constexpr int COUNT = BYTES / sizeof(Dual);

  template <int LANES>
  static ALWAYS_INLINE Lanes<Dual, LANES> reduced(const Entry* entries, const Dual* v) {
    return load_as<Dual, LANES>(entries) - load<Dual, LANES>(v);
  }

  // The least of cost - v, and the first column that has it; infinite, and column 0, if there is none below.
  struct Least {
    Dual least;
    Vertex column;
  };
  struct FindLeast {
    template <int BYTES>
    static ALWAYS_INLINE Least run(const Entry* entries, const Dual* v, Vertex num_columns, Dual infinite) {
      constexpr int LANES = COUNT<BYTES>;
      Lanes<Dual, LANES> least = Lanes<Dual, LANES>{} + infinite;
      Lanes<Index, LANES> column = all<Index, LANES>(0), here_column = numbered<Index, LANES>();
      Vertex j = 0;
      for (; j + LANES <= num_columns; j += LANES, here_column += LANES) {
        const Lanes<Dual, LANES> here = reduced<LANES>(entries + j, v + j);
        column = here < least ? here_column : column;
        least = lesser(least, here);
      }
      Least found{infinite, 0};
      for (int lane = 0; lane < LANES; ++lane) {
        const Dual here = of_lane<LANES>(least, lane);
        const Vertex at = static_cast<Vertex>(of_lane<LANES>(column, lane));
        if (here < found.least || (here == found.least && here < infinite && at < found.column)) found = {here, at};
      }
      for (; j < num_columns; ++j) {
        const Dual here = static_cast<Dual>(entries[j]) - v[j];
        if (here < found.least) found = {here, j};
      }
      return found;
    }
  };

  // Lowers the least of each column to cost - u of four rows, of which some may be the same.
  struct LowerColumns {
    template <int BYTES>
    static ALWAYS_INLINE void run(const Entry* const* rows, const Dual* u, Vertex begin, Vertex end, Dual* least) {
      constexpr int LANES = COUNT<BYTES>;
      Vertex j = begin;
      for (; j + LANES <= end; j += LANES) {
        Lanes<Dual, LANES> here = load<Dual, LANES>(least + j);
        for (int k = 0; k < 4; ++k) here = lesser(here, load_as<Dual, LANES>(rows[k] + j) - u[k]);
        store(least + j, here);
      }
      for (; j < end; ++j) {
        for (int k = 0; k < 4; ++k) least[j] = std::min(least[j], static_cast<Dual>(rows[k][j]) - u[k]);
      }
    }
  };

  // The first column from `begin` on with cost - v <= bound, or the begin of at most MOST_TOGETHER columns with it. `end` if
  // there is none.
  struct FindUpTo {
    template <int BYTES>
    static ALWAYS_INLINE Vertex run(const Entry* entries, const Dual* v, Vertex begin, Vertex end, Dual bound) {
      constexpr int LANES = COUNT<BYTES>;
      constexpr Vertex GROUP = 8 * MOST_TOGETHER;  // the lanes are put together once for this many columns
      const auto least_of_some = [&](Vertex first, Vertex some) __attribute__((always_inline)) {
        Lanes<Dual, LANES> least = reduced<LANES>(entries + first, v + first);
        for (Vertex k = LANES; k < some; k += LANES) least = lesser(least, reduced<LANES>(entries + first + k, v + first + k));
        return least_of<LANES>(least);
      };
      Vertex j = begin;
      for (; j + GROUP <= end; j += GROUP) {
        if (least_of_some(j, GROUP) > bound) continue;
        // No farther than the group: others may change the costs between the two looks.
        const Vertex last = j + GROUP - MOST_TOGETHER;
        while (j < last && least_of_some(j, MOST_TOGETHER) > bound) j += MOST_TOGETHER;
        return j;
      }
      for (; j + MOST_TOGETHER <= end; j += MOST_TOGETHER) {
        if (least_of_some(j, MOST_TOGETHER) <= bound) return j;
      }
      for (; j < end; ++j) {
        if (static_cast<Dual>(entries[j]) - v[j] <= bound) return j;
      }
      return end;
    }
  };

  // Lowers labels to the labels after edges from a row, and notes the row where they fall: see Forest.
  struct Relax {
    template <int BYTES>
    static ALWAYS_INLINE void run(const Entry* entries, const Dual* v, Dual u, Dual label_of_row, Vertex row, Vertex begin,
                                  Vertex end, Dual* label, Vertex* predecessor) {
      constexpr int LANES = COUNT<BYTES>;
      Vertex j = begin;
      for (; j + LANES <= end; j += LANES) {
        const Lanes<Dual, LANES> slack = reduced<LANES>(entries + j, v + j) - u, before = load<Dual, LANES>(label + j);
        const Lanes<Dual, LANES> here = greater(slack, Lanes<Dual, LANES>{}) + label_of_row;
        const auto is_nearer = here < before;
        if (any_of<LANES>((Lanes<Index, LANES>)is_nearer) == 0) continue;
        store(label + j, is_nearer ? here : before);
        for (int lane = 0; lane < LANES; ++lane) {
          if (of_lane<LANES>((Lanes<Index, LANES>)is_nearer, lane) != 0) predecessor[j + lane] = row;
        }
      }
      for (; j < end; ++j) {
        const Dual here = std::max(static_cast<Dual>(entries[j]) - v[j] - u, Dual{0}) + label_of_row;
        if (!(here < label[j])) continue;
        label[j] = here;
        predecessor[j] = row;
      }
    }
  };

 private:
  template <int LANES, class Vector>
  static ALWAYS_INLINE auto of_lane(const Vector& lanes, [[maybe_unused]] int lane) {
    if constexpr (LANES == 1) return lanes;
    else return lanes[lane];
  }
};

// Calls use(rows, scan) with the rows of a block as vectors read them.
template <class Stored, class Use>
void with_rows(const DenseCosts<Stored>& costs, Use use) {
  using Dual = typename DenseCosts<Stored>::Dual;
  if constexpr (!IS_NARROW<Stored>) {
    if (costs.column_stride == 1 && !costs.maximize && !(costs.limit < costs.infinite())) {
      StoredRows<Stored, Dual, false> rows{costs};
      return use(rows, Scan<Stored, Dual>{});
    }
  }
  CopiedRows<Dual> rows(costs);
  use(rows, Scan<Dual, Dual>{});
}

template <class Dual>
std::size_t bytes_of(Vertex columns) { return sizeof(Dual) * static_cast<std::size_t>(columns); }

// v, except that the v of covered columns makes their slacks far larger than all others. Integers stay far from the end of
// their type.
template <class Dual>
struct MaskedDuals {
  static constexpr Dual MASKED = Distance<Dual>::MASKED / 2;
  static constexpr Dual FAR = -MASKED / 2;  // what cost - v and slacks of other columns stay below

  explicit MaskedDuals(const BlockPass<Dual>& pass, Vertex num_columns) : v_(pass.v) {
    if (pass.covered == nullptr) return;
    masked_.assign(pass.v, pass.v + num_columns);
    for (Vertex column = 0; column < num_columns; ++column) {
      if (pass.covered[column] != 0) masked_[column] = MASKED;
    }
    v_ = masked_.data();
  }
  const Dual* data() const { return v_; }

 private:
  std::vector<Dual> masked_;
  const Dual* v_;
};

}  // namespace block_scans

template <class Stored>
void find_least_of_rows(HostTeam& team, const DenseCosts<Stored>& costs,
                        const BlockPass<typename DenseCosts<Stored>::Dual>& pass,
                        typename DenseCosts<Stored>::Dual* least, Vertex* nearest) {
  using Dual = typename DenseCosts<Stored>::Dual;
  using namespace block_scans;
  const MaskedDuals<Dual> v(pass, costs.num_columns);
  with_rows(costs, [&](auto& rows, auto scan) {
    using Scan = decltype(scan);
    team.each_group(pass.num_listed, [&](Count i) {
      const auto found = run_in_lanes<typename Scan::FindLeast>(bytes_of<Dual>(costs.num_columns), rows.entries(pass.rows[i]),
                                                                v.data(), costs.num_columns, costs.infinite());
      const bool is_covered = pass.covered != nullptr && !(found.least < MaskedDuals<Dual>::FAR);
      least[i] = is_covered ? costs.infinite() : found.least;
      nearest[i] = is_covered ? 0 : found.column;
      team.spend(costs.num_columns);
    });
  });
  team.sync();
}

// A thread has some columns of all rows. Rows that are copied are copied by each.
template <class Stored>
void find_least_of_columns(HostTeam& team, const DenseCosts<Stored>& costs, const typename DenseCosts<Stored>::Dual* u,
                           typename DenseCosts<Stored>::Dual* least, Count*) {
  using Dual = typename DenseCosts<Stored>::Dual;
  using namespace block_scans;
  const Count columns = costs.num_columns;
  const auto begin = static_cast<Vertex>(columns * team.rank() / team.size());
  const auto end = static_cast<Vertex>(columns * (team.rank() + 1) / team.size());
  std::fill(least + begin, least + end, costs.infinite());
  with_rows(costs, [&](auto& rows, auto scan) {
    using Scan = decltype(scan);
    const auto lower = [&](const auto* const* of_rows, const Dual* u_of, Vertex first, Vertex past) {
      run_in_lanes<typename Scan::LowerColumns>(bytes_of<Dual>(past - first), of_rows, u_of, first, past, least);
    };
    for (Vertex row = 0; row < costs.num_rows; row += 4) {
      using Entry = std::decay_t<decltype(*rows.entries(0))>;
      constexpr bool IS_COPIED = !std::is_same_v<Entry, Stored> || std::is_same_v<std::decay_t<decltype(rows)>, CopiedRows<Dual>>;
      const Entry* of_rows[4];
      Dual u_of[4];
      for (int k = 0; k < 4; ++k) {
        const Vertex here = std::min(row + k, costs.num_rows - 1);
        of_rows[k] = rows.entries(here);
        u_of[k] = u[here];
        if constexpr (IS_COPIED) {  // a copy is there until the row after the next one
          const Entry* const again[4] = {of_rows[k], of_rows[k], of_rows[k], of_rows[k]};
          const Dual u_again[4] = {u_of[k], u_of[k], u_of[k], u_of[k]};
          lower(again, u_again, begin, end);
        }
      }
      if constexpr (!IS_COPIED) lower(of_rows, u_of, begin, end);
      team.spend(4 * Count{end - begin});
    }
  });
  team.sync();
}

template <class Stored>
void list_entries_up_to(HostTeam& team, const DenseCosts<Stored>& costs,
                        const BlockPass<typename DenseCosts<Stored>::Dual>& pass,
                        typename DenseCosts<Stored>::Dual most,
                        const ListedEntries<typename DenseCosts<Stored>::Dual>& listed) {
  using Dual = typename DenseCosts<Stored>::Dual;
  using namespace block_scans;
  if (team.rank() == 0) *listed.found = 0;
  const MaskedDuals<Dual> v(pass, costs.num_columns);
  Dual largest = 0;  // of all duals of columns
  for (Vertex column = 0; column < costs.num_columns; ++column) {
    largest = std::max(largest, pass.v[column] < 0 ? -pass.v[column] : pass.v[column]);
  }
  team.sync();
  with_rows(costs, [&](auto& rows, auto scan) {
    using Scan = decltype(scan);
    team.each_group(pass.num_listed, [&](Count i) {
      const Vertex row = pass.rows[i];
      const auto* entries = rows.entries(row);
      const Dual u = pass.u[row];
      // Somewhat more than enough; what lies below is looked at exactly.
      const Dual above = most + u + 4 * rounding_of(most < 0 ? most : most + (u < 0 ? -u : u), largest);
      Vertex column = 0;
      while (column < costs.num_columns) {
        column = run_in_lanes<typename Scan::FindUpTo>(bytes_of<Dual>(costs.num_columns), entries, v.data(),
                                                                        column, costs.num_columns, above);
        const Vertex past = std::min(column + MOST_TOGETHER, costs.num_columns);
        for (; column < past; ++column) {
          const Dual slack = static_cast<Dual>(entries[column]) - v.data()[column] - u;
          if (pass.is_covered(column) || !(slack <= most + rounding_of(u, pass.v[column]))) continue;
          if (!(slack < costs.infinite())) continue;
          const Count place = team.fetch_add(listed.found, Count{1});
          if (place >= listed.room) continue;
          listed.places[place] = static_cast<Count>(row) * costs.num_columns + column;
          listed.slacks[place] = slack;
        }
      }
      team.spend(costs.num_columns);
    });
  });
  team.sync();
}

// A thread has some columns of the block, and all rows of the frontier.
template <class Stored>
Count expand_frontier(HostTeam& team, const DenseCosts<Stored>& costs, const Vertex* frontier, Count length,
                     const Forest<typename DenseCosts<Stored>::Dual>& forest) {
  using Dual = typename DenseCosts<Stored>::Dual;
  using namespace block_scans;
  const Count columns = costs.num_columns, first = forest.first_column;
  const auto begin = static_cast<Vertex>(columns * team.rank() / team.size());
  const auto end = static_cast<Vertex>(columns * (team.rank() + 1) / team.size());
  lower_far_labels(team, frontier, length, forest);
  with_rows(costs, [&](auto& rows, auto scan) {
    using Scan = decltype(scan);
    for (Count i = 0; i < length; ++i) {
      const Vertex row = frontier[i];
      run_in_lanes<typename Scan::Relax>(bytes_of<Dual>(end - begin), rows.entries(row), forest.v + first, forest.u[row],
                                         forest.expanded[row], row, begin, end, forest.label + first,
                                         forest.predecessor + first);
      team.spend(end - begin);
    }
  });
  team.sync();
  note_far_predecessors(team, frontier, length, forest);
  return 0;  // labels are lowered at once
}
