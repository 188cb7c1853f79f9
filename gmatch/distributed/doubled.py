"""A core of which some rows or columns may stay free, as a square problem of twice the size.

A search can start from any duals if the problem is square. If columns may stay free, the duals of free columns must be
0, and rows that lose their pairs would leave columns free whose duals are not. So the core is doubled, as points are
(csrc/points/graph.hpp). Rows are all rows and copies of all columns. Columns are all columns and copies of all rows. A
pair of copies costs what its originals cost. A column and its own copy cost nothing. A row and its own copy cost twice
what it costs that the row stays free. Both halves match at the least cost, with the same columns free. A dual of the
core is half the sum of its own and its copy's.
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
        """`core` has `columns` columns; what follows them are ways out, one of each row."""
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
        lowest, highest = min(core.lowest, 0), max(2 * core.highest, core.highest, 0)
        arrays = indptr.astype(index_type), indices, data
        return cls(SparseCosts.of_checked(arrays, (n + m, n + m), lowest, highest), (n, m))

    def start_from(self, last: Solution) -> Start:
        """From a solution of a core of the same shape with fewer pairs."""
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
        """Duals of the core's rows and columns. Of integers the rows' are rounded up, and the columns' down."""
        n, m = self.shape
        of_rows, of_columns = u[:n] + v[m:], np.minimum(v[:m] + u[n:], 0)  # above 0 only by rounding
        if u.dtype.kind == "i":
            return -(-of_rows // 2), of_columns // 2
        return of_rows / 2, of_columns / 2
