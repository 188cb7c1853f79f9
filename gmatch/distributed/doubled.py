"""A core whose rows or columns may stay free, doubled into a square problem.

A search of a square problem can start from any duals. If columns may stay free, the duals of free columns must be 0. A
row that loses its pair would leave a column free whose dual is not 0. So the core is doubled, as points are
(csrc/points/graph.hpp):

- The rows are all rows, then copies of all columns. The columns are all columns, then copies of all rows.
- A pair of copies costs what the pair of its originals costs.
- A column and its own copy cost nothing.
- A row and its own copy cost twice as much as a free row.

Both halves are matched at the least cost, with the same columns free. The dual of a row or column of the core is half
the sum of two duals: its own, and the dual of its copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import namespace, row_of_each_entry
from ..assignment.programs import Solution
from ..backends.protocol import AssignmentStart, Start
from ..problems.sparse import SparseCosts

# Duals of a doubled core may be this many times as large as their halves. A pair has four roundings of them, and
# `verify` allows each vertex 64 roundings of the largest dual of the core.
MOST_TIMES = 16


class Doubled(NamedTuple):
    """The doubled core of n rows and m columns."""

    costs: SparseCosts
    shape: tuple[int, int]

    @classmethod
    def of(cls, core: SparseCosts, columns: int) -> Doubled:
        """`core` has `columns` columns. With a limit a way out for each row follows them. On the device of the core."""
        (n, _), m, xp = core.shape, columns, namespace(core.data)
        first = len(core.data)
        rows, is_pair = row_of_each_entry(core.indptr, first), core.indices < m
        pairs = rows[is_pair], core.indices[is_pair], core.data[is_pair]
        by_column = (pairs[1].astype(np.int64) * n + pairs[0]).argsort()
        rows_of_copies, columns_of_copies, data_of_copies = (array[by_column] for array in pairs)
        # Each copy of a column has the column itself, and then the copies of its rows.
        all_columns = xp.arange(m, dtype=np.int32)
        begins, ends = (xp.searchsorted(columns_of_copies, all_columns, side=side) for side in ("left", "right"))
        indptr = xp.concatenate([core.indptr.astype(np.int64), first + ends + all_columns + 1])
        length = first + m + len(by_column)
        indices, data = xp.empty(length, np.int32), xp.zeros(length, core.data.dtype)
        indices[:first] = core.indices
        data[:first] = xp.where(is_pair, core.data, 2 * core.data)
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

    def start_from(self, last: Solution) -> Start:
        """The start from a solution of a core of equal shape with fewer pairs."""
        n, m = self.shape
        if len(last.row_match) == n + m:
            return Start(AssignmentStart.GIVEN, last.row_match, last.v)
        row_match = np.full(n + m, -1, np.int32)
        row_match[:n] = last.row_match
        row_match[n:] = np.arange(m)
        rows = (last.row_match < m).nonzero()[0]
        row_match[n + last.row_match[rows]] = m + rows
        return Start(AssignmentStart.GIVEN, row_match, np.concatenate([last.v[:m], last.u]))

    def rounds_away(self, u: Any, v: Any) -> bool:
        """Whether the halves of these duals are so much smaller that roundings of the duals hide them."""
        if u.dtype.kind == "i":
            return False
        largest = max(abs(u).max(initial=0), abs(v).max(initial=0))
        return bool(largest > MOST_TIMES * max(abs(half).max(initial=0) for half in self.duals(u, v)))

    def duals(self, u: Any, v: Any) -> tuple[Any, Any]:
        """Duals of the core's rows and columns. Inexact halves are rounded up for rows, and down for columns."""
        n, m = self.shape
        of_rows, of_columns = u[:n] + v[m:], np.minimum(v[:m] + u[n:], 0)  # above 0 only by rounding
        if u.dtype.kind == "i":
            return -(-of_rows // 2), of_columns // 2
        rows, columns = of_rows / 2, of_columns / 2  # exact, except for the smallest numbers of all
        rows = np.where(2 * rows < of_rows, np.nextafter(rows, np.inf), rows)
        return rows, np.where(2 * columns > of_columns, np.nextafter(columns, -np.inf), columns)
