"""Costs whose rows or columns may stay free, doubled into a square problem.

In a square problem an auction gives a start, a search can start from any duals, and a phase of a search finds many
paths. If columns may stay free, the duals of free columns must be 0. A row that loses its pair would leave a column
free whose dual is not 0. So the problem is doubled, as points are (csrc/points/graph.hpp):

- The rows are all rows, then copies of all columns. The columns are all columns, then copies of all rows.
- A pair of copies costs what the pair of its originals costs.
- A column and its own copy cost nothing.
- A row and its own copy cost twice as much as a free row.

Both halves are matched at the least cost, with the same columns free. A dual of the problem is half the sum of two
duals: of the row or column itself, and of its copy.

Sparse costs are doubled as sparse costs. A matrix is doubled where it lies: see csrc/core/core.cuh. There a column and
its own copy have an entry 0. If the limit is below 0, it cuts this entry off, too: they then cost the limit.

A matrix with up to MOST_PADS more columns than rows is not doubled, but padded with rows of zeros. All rows of zeros
want the column of the highest dual, so most of these rows get their pairs in a phase of their own. But the problem is
half as large. If few columns are paired with their own copies, a phase of the doubled problem finds one path, since
paths lead from half to half through these columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import beside, namespace, row_of_each_entry
from ..problems.limits import TIMES_OF_HALVES
from ..problems.sparse import SparseCosts
from .protocol import Assigned, AssignmentStart, Start, add_counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..problems.dense import DenseCosts

# With fewer rows, a phase for each path takes less time than doubling the problem. Doubling takes an H200 and its host
# 3 ms: benchmarks/log/sparse.md, "Costs whose columns may stay free are doubled".
FEWEST_ROWS = 400


# A matrix with up to this number of more columns than rows is padded. With 32 a plane of 4,096 rows takes 27 ms padded,
# and 69 doubled, and uniform costs 11.4 and 9.3: benchmarks/log/core_gpu.md, "A matrix with more columns than rows is
# doubled".
MOST_PADS = 32
# A core of a matrix that is not square is given up if the rest of its search would have more levels than this, and one
# more for every ROWS_OF_A_LEVEL rows. The doubled problem then takes less time: benchmarks/log/core_gpu.md, "A matrix
# with more columns than rows is doubled".
LEVELS, ROWS_OF_A_LEVEL = 128, 32


class Halves(NamedTuple):
    """The solution of a matrix, and what tells whether its duals are exact enough."""

    found: Assigned
    duals: Any  # of the columns, then of the rows: v of the doubled problem, equal in both halves; None if padded
    is_rounded: bool  # whether duals of the doubled problem are so large that their roundings hide their halves


class Doubled(NamedTuple):
    """The doubled problem of n rows and m columns."""

    costs: Any  # doubled SparseCosts, or DenseCosts of a matrix that is doubled where it lies
    shape: tuple[int, int]

    @classmethod
    def of(cls, core: SparseCosts) -> Doubled:
        """The costs are minimised, on their device. A way out becomes the entry of a row and its own copy."""
        n, most = sorted(core.shape)
        m, xp = most - core.ways_out, namespace(core.data)
        first, values = core.entries, core.minimised()
        rows, is_pair = row_of_each_entry(core.indptr, first), core.indices < m
        pairs = rows[is_pair], core.indices[is_pair], values[is_pair]
        by_column = (pairs[1].astype(np.int64) * n + pairs[0]).argsort()
        rows_of_copies, columns_of_copies, data_of_copies = (array[by_column] for array in pairs)
        # Each copy of a column has the column itself, and then the copies of its rows.
        all_columns = xp.arange(m, dtype=np.int32)
        begins, ends = (xp.searchsorted(columns_of_copies, all_columns, side=side) for side in ("left", "right"))
        indptr = xp.concatenate([core.indptr.astype(np.int64), first + ends + all_columns + 1])
        length = first + m + len(by_column)
        indices, data = xp.empty(length, np.int32), xp.zeros(length, values.dtype)
        indices[:first] = core.indices
        data[:first] = xp.where(is_pair, values, 2 * values)
        indices[first + begins + all_columns] = all_columns
        copies = first + 1 + xp.arange(len(by_column)) + columns_of_copies
        indices[copies] = m + rows_of_copies
        data[copies] = data_of_copies
        index_type = np.int32 if length < 2**31 else np.int64
        lowest, highest = min(2 * core.lowest, 0), max(2 * core.highest, 0)
        arrays = indptr.astype(index_type), indices, data
        return cls(SparseCosts.of_checked(arrays, (n + m, n + m), lowest, highest), (n, m))

    def start(self, core: SparseCosts, v: Any) -> Start:
        """The start from duals of the core's columns. The dual of a row's copy is what these leave the row."""
        n, m = self.shape
        least = core.data - np.concatenate([v, np.zeros(core.shape[1] - m, v.dtype)])[core.indices]
        has_entries = core.indptr[1:] > core.indptr[:-1]
        u = np.zeros(n, v.dtype)
        if has_entries.any():
            u[has_entries] = np.minimum.reduceat(least, core.indptr[:-1][has_entries])
        return Start(AssignmentStart.REDUCE, None, np.concatenate([v, u]))

    def start_from(self, last: Any) -> Start:
        """The start from a solution (`Solution`) of a core of equal shape with fewer pairs."""
        n, m = self.shape
        if len(last.row_match) == n + m:
            return Start(AssignmentStart.GIVEN, last.row_match, last.v)
        row_match = np.full(n + m, -1, np.int32)
        row_match[:n] = last.row_match
        row_match[n:] = np.arange(m)
        rows = (last.row_match < m).nonzero()[0]
        row_match[n + last.row_match[rows]] = m + rows
        return Start(AssignmentStart.GIVEN, row_match, np.concatenate([last.v[:m], last.u]))

    def start_from_pairs(self, row_match: Any) -> Start:
        """The start from pairs of the problem. The copies of a pair are a pair. So are a free column and its copy."""
        n, m = self.shape
        both = np.full_like(row_match, -1, shape=n + m)
        both[:n] = row_match
        both[n:] = np.ones_like(row_match, shape=m).cumsum() - 1
        rows = ((row_match >= 0) & (row_match < m)).nonzero()[0]
        both[n + row_match[rows]] = m + rows
        return Start(AssignmentStart.GIVEN, both)

    def start_from_halves(self, found: Assigned) -> Start:
        """The start from a solution, with equal duals in both halves."""
        u, v = self.duals(found.u, found.v)
        return Start(AssignmentStart.GIVEN, found.row_match, np.concatenate([v, u]))

    def halved(self, found: Assigned, ways_out: int) -> Assigned:
        """The solution of the problem, from the solution of the doubled problem."""
        n, m = self.shape
        row_match, of_columns = found.row_match[:n], found.col_match[:m]
        col_match = np.full_like(row_match, -1, shape=m + ways_out)
        col_match[:m] = np.where(of_columns < n, of_columns, -1)
        rows = (row_match >= m).nonzero()[0]
        col_match[row_match[rows]] = rows
        u, of_columns = self.duals(found.u, found.v)
        v = np.zeros_like(of_columns, shape=m + ways_out)
        v[:m] = of_columns
        # Each row that was free at the start, in either half, counts as a free row of the problem.
        start_size = max(0, found.counters["start_size"] - m)
        counters = found.counters | {"size": int((row_match >= 0).sum()), "start_size": start_size}
        counters.pop("entries", None)  # a way out costs twice as much in the doubled problem
        return Assigned(row_match, col_match, u, v, counters)

    def rounds_away(self, u: Any, v: Any) -> bool:
        """Whether the halves of these duals are so much smaller that roundings of the duals hide them."""
        if u.dtype.kind == "i":
            return False
        return _largest(u, v) > TIMES_OF_HALVES * _largest(*self.duals(u, v))

    def duals(self, u: Any, v: Any) -> tuple[Any, Any]:
        """Duals of the problem's rows and columns. Inexact halves are rounded up for rows, and down for columns."""
        n, m = self.shape
        of_rows, of_columns = u[:n] + v[m:], np.minimum(v[:m] + u[n:], 0)  # above 0 only by rounding
        if u.dtype.kind == "i":
            return -(-of_rows // 2), of_columns // 2
        rows, columns = of_rows / 2, of_columns / 2  # exact, except for the smallest numbers of all
        rows = np.where(2 * rows < of_rows, np.nextafter(rows, np.inf), rows)
        return rows, np.where(2 * columns > of_columns, np.nextafter(columns, -np.inf), columns)


def _largest(*arrays: Any) -> float:
    """The largest magnitude in arrays of a host or of a GPU."""
    return max((float(abs(array).max()) for array in arrays if array.size), default=0.0)


def assign_squared_in_time(
    costs: DenseCosts,
    start: Start,
    run: Callable[[DenseCosts, Start, int], Assigned],
    halve: Callable[[DenseCosts, Assigned], Halves],
) -> Assigned:
    """Walks the plan of csrc/core/plan.cuh for a matrix with more columns than rows.

    If it ends with the step `coarsen`, walks it again for a square problem, from the duals that were found. If the
    solution of that problem is not proven, the matrix is searched to the end. `run` walks the plan once, for costs, a
    start and the most levels that the rest of a search may have. 0 means any number. `halve` makes a solution of the
    matrix from a solution of the doubled problem.
    """
    rows, columns = costs.array.shape
    pads = columns - rows <= MOST_PADS
    square = costs.squared(columns if pads else rows + columns)
    if not square.fits_core:
        return run(costs, start, 0)
    walks = [run(costs, start, LEVELS + rows // ROWS_OF_A_LEVEL)]
    if walks[0].counters["trace"][-1] != "coarsen":
        return walks[0]
    free = 0 if costs.limit is None else min(costs.limit, 0)  # what a column and its own copy cost

    def duals(v: Any, u: Any) -> Any:
        return v if pads else namespace(v).concatenate([v, u - free])

    with beside(costs.array):
        begun = Start(AssignmentStart.BIDS, v=_with_highest_zero(duals(walks[0].v, walks[0].u)))
        for _ in range(2):  # again from the duals of the matrix, if roundings hide them
            found = run(square, begun, 0)
            walks.append(found)
            if found.counters["size"] < max(square.shape) or found.counters["trace"][-1] != "reprice":
                break
            if not pads and free:
                found.u[rows:] -= free
                found.v[columns:] += free
            halves = (_without_pads if pads else halve)(costs, found)
            if not halves.is_rounded:
                counters = add_counters(*(walk.counters for walk in walks))
                of_last = {name: halves.found.counters[name] for name in ("size", "start_size")}
                kept = {name: found.counters[name] for name in ("entries", "code") if name in found.counters}
                return halves.found._replace(counters=counters | of_last | kept)
            begun = Start(AssignmentStart.GIVEN, found.row_match, duals(halves.found.v, halves.found.u))
    return run(costs, start, 0)


def _with_highest_zero(duals: Any) -> Any:
    return duals - duals.max()


def _without_pads(costs: DenseCosts, found: Assigned) -> Halves:
    """The solution of a matrix, from a solution of the padded problem that matches all rows."""
    xp, rows = namespace(found.v), len(costs.array)
    is_matched = found.col_match < rows
    highest = found.v.max()  # up to roundings, the v of each column that stays free
    u, v = found.u[:rows] + highest, xp.where(is_matched, found.v - highest, 0).astype(found.v.dtype)
    col_match = xp.where(is_matched, found.col_match, -1).astype(np.int32)
    start_size = max(0, found.counters["start_size"] - (len(found.row_match) - rows))
    counters = found.counters | {"size": rows, "start_size": start_size}
    is_rounded = u.dtype.kind == "f" and _largest(found.u, found.v) > TIMES_OF_HALVES * _largest(u, v)
    return Halves(Assigned(found.row_match[:rows], col_match, u, v, counters), None, is_rounded)


def halve(costs: DenseCosts, both: Assigned) -> Halves:
    """The solution of a matrix on a host, from a solution of the doubled problem that matches all rows."""
    doubled = Doubled(costs, costs.array.shape)
    found = doubled.halved(both, 0)
    duals = np.concatenate([found.v, found.u])
    return Halves(found, duals, doubled.rounds_away(both.u, both.v))
