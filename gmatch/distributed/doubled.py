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

from ..assignment.programs import Solution
from ..backends.protocol import AssignmentStart, Start
from ..problems.sparse import SparseCosts


class Doubled(NamedTuple):
    """The doubled core of n rows and m columns."""

    costs: SparseCosts
    shape: tuple[int, int]

    @classmethod
    def of(cls, core: SparseCosts, columns: int) -> Doubled:
        """`core` has `columns` columns. With a limit the ways out follow them, one for each row."""
        n, m = core.shape[0], columns
        rows = np.repeat(np.arange(n), np.diff(core.indptr))
        is_pair = core.indices < m
        pairs = rows[is_pair], core.indices[is_pair].astype(np.int64), core.data[is_pair]
        by_column = pairs[1].argsort(kind="stable")
        copies = [array[by_column] for array in pairs]
        of_columns = np.bincount(copies[1], minlength=m)
        # Each copy of a column has the column itself, and then the copies of its rows.
        ends = np.cumsum(of_columns + 1)
        indptr = np.concatenate([core.indptr, core.indptr[-1] + ends])
        indices = np.empty(indptr[-1], np.int32)
        data = np.zeros(indptr[-1], core.data.dtype)
        first = len(core.data)
        indices[:first] = core.indices
        data[:first] = np.where(is_pair, core.data, 2 * core.data)
        own = first + ends - of_columns - 1
        indices[own] = np.arange(m)
        is_copy = np.ones(len(data) - first, np.bool_)
        is_copy[own - first] = False
        indices[first:][is_copy] = m + copies[0]
        data[first:][is_copy] = copies[2]
        index_type = np.int32 if len(data) < 2**31 else np.int64
        lowest, highest = min(2 * core.lowest, 0), max(2 * core.highest, 0)
        arrays = indptr.astype(index_type), indices, data
        return cls(SparseCosts.of_checked(arrays, (n + m, n + m), lowest, highest), (n, m))

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

    def duals(self, u: Any, v: Any) -> tuple[Any, Any]:
        """Duals of the core's rows and columns. Integer duals are rounded up for rows, and down for columns."""
        n, m = self.shape
        of_rows, of_columns = u[:n] + v[m:], np.minimum(v[:m] + u[n:], 0)  # above 0 only by rounding
        if u.dtype.kind == "i":
            return -(-of_rows // 2), of_columns // 2
        return of_rows / 2, of_columns / 2
