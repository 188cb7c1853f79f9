// serial_solvers.hpp: the serial solvers of dense costs that several parts of the module call. They are compiled once.
#pragma once
#include <optional>
#include <vector>

#include "serial/core_search.hpp"
#include "serial/stored_shortest_paths.hpp"

// Matches all rows at the least cost, also of integers that are too far from zero for the marks of the serial method.
template <class Stored>
Vertex solve_serially(const DenseCosts<Stored>& costs, const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options,
                      const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                      ShortestPathCounters& counters);

// Solves by the core; if the core gives up, in the whole matrix, from the present duals. The whole matrix is tried first, if that
// is allowed, where searches may be few and short: from given duals, since costs have often changed little, and on one processor
// if there are more columns than rows, since most rows then have their best column. If a core of a square problem with a limit
// gives up, the matrix is searched while searches are short. Another core goes on from its duals. Returns how many rows are
// matched.
template <class Stored>
Vertex solve_by_core_or_matrix(const DenseCosts<Stored>& costs,
                               const ShortestPathOptions<typename DenseCosts<Stored>::Dual>& options, bool may_begin_in_matrix,
                               int threads, const ShortestPathResult<typename DenseCosts<Stored>::Dual>& result,
                               CoreCounters& counted);

// The wide types of costs. The solvers of each type are compiled once, in a unit of their own such as serial_int32.cpp.
// `compiled` is `template` there, and `extern template` elsewhere.
#define GMATCH_SERIAL_SOLVERS(compiled)                   \
  GMATCH_SERIAL_SOLVERS_OF(compiled, std::int32_t, Count) \
  GMATCH_SERIAL_SOLVERS_OF(compiled, Count, Count)        \
  GMATCH_SERIAL_SOLVERS_OF(compiled, float, double)       \
  GMATCH_SERIAL_SOLVERS_OF(compiled, double, double)
#define GMATCH_SERIAL_SOLVERS_OF(compiled, Stored, Dual)                                                          \
  compiled void copy_rows(const DenseCosts<Stored>&, Stored*, int);                                               \
  compiled Vertex solve_by_shortest_paths(const DenseCosts<Stored>&, const ShortestPathOptions<Dual>&,            \
                                          const ShortestPathResult<Dual>&, ShortestPathCounters&);                \
  compiled Vertex solve_as_stored(const DenseCosts<Stored>&, const ShortestPathOptions<Dual>&,                    \
                                  const ShortestPathResult<Dual>&, ShortestPathCounters&);                        \
  compiled std::optional<Vertex> solve_if_whole(const DenseCosts<Stored>&, const ShortestPathOptions<Dual>&,      \
                                                const ShortestPathResult<Dual>&, ShortestPathCounters&);          \
  compiled Vertex solve_serially(const DenseCosts<Stored>&, const ShortestPathOptions<Dual>&,                     \
                                 const ShortestPathResult<Dual>&, ShortestPathCounters&);                         \
  compiled Vertex solve_by_core_or_matrix(const DenseCosts<Stored>&, const ShortestPathOptions<Dual>&, bool, int, \
                                          const ShortestPathResult<Dual>&, CoreCounters&);
GMATCH_SERIAL_SOLVERS(extern template)
