"""A cheapest assignment along few pairs, proven in floats: a turn finds what rounding has hidden from the turn before.

A turn solves the slacks of the pairs. They are as small as the roundings of the duals so far, so that the next duals
round by far less. Each slack is a sum of two floats. A bound of what this sum loses counts as a gap. One or two turns
prove nearly all answers. The integers of `exact.py` prove the others.

Gleixner, Steffy, Wolter, "Iterative refinement for linear programming", INFORMS Journal on Computing 28 (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from ..backends import cpu
from ..backends.protocol import AssignmentStart, Start
from ..methods import SparseJV
from ..problems.sparse import SparseCosts

if TYPE_CHECKING:
    from ..backends.protocol import Assigned
    from .programs import Solution

# Each turn adds about 50 bits to the duals. Costs of more magnitudes than three turns reach need integers.
MOST_TURNS = 3


class Proven(NamedTuple):
    """Pairs, as the column of each row, and the floats nearest to duals that prove them."""

    row_match: Any
    u: Any
    v: Any
    moved: float  # a bound of the change of u + v, for any row and column


def solve_in_turns(pairs: tuple[Any, Any, Any], solution: Solution, most_gap: float) -> Proven | None:
    """The cheapest assignment of all rows and columns, up to a gap; None if the turns do not prove it.

    The pairs are rows, columns and costs. Each row has at least one.
    """
    rows, columns, costs = _row_by_row(pairs)
    row_match, u, v = solution.row_match, solution.u, solution.v
    moved = 0.0
    slacks = _Slacks(costs, np.zeros_like(costs)).less(u[rows]).less(v[columns])
    for _ in range(MOST_TURNS):
        if not slacks.are_finite():
            return None
        found = _least(slacks.high, rows, columns, row_match)
        row_match, u, v = found.row_match, u + found.u, v + found.v
        if (row_match < 0).any():
            return None
        moved += float(abs(found.u).max() + abs(found.v).max())
        slacks = slacks.less(found.u[rows]).less(found.v[columns])
        if slacks.gap(rows, row_match[rows] == columns) <= most_gap:
            return Proven(row_match, u, v, moved)
    return None


def _row_by_row(pairs: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    rows, columns, costs = pairs
    if (rows[1:] >= rows[:-1]).all():
        return pairs
    order = np.argsort(rows, kind="stable")
    return rows[order], columns[order], costs[order]


def _least(weights: Any, rows: Any, columns: Any, row_match: Any) -> Assigned:
    """The cheapest assignment by weights, and duals that are as near to 0 as the search leaves them."""
    length = len(row_match)
    indptr = np.searchsorted(rows, np.arange(length + 1))
    costs = SparseCosts(scipy.sparse.csr_array((weights, columns, indptr), shape=(length, length)))
    start = Start(AssignmentStart.REDUCE, row_match.copy(), np.zeros(length))
    return cpu.assign_sparse(costs, SparseJV(), start, 1)


class _Slacks(NamedTuple):
    """Sums of two floats, and a bound of what the sums have lost."""

    high: Any
    low: Any
    lost: float = 0.0

    def less(self, duals: Any) -> _Slacks:
        high, more = difference(self.high, duals)
        low, lost = difference(self.low, -more)
        high, low = difference(high, -low)
        return _Slacks(high, low, self.lost + float(abs(lost).max(initial=0)))

    def are_finite(self) -> bool:
        return bool(np.isfinite(self.high).all() and np.isfinite(self.low).all())

    def gap(self, rows: Any, are_own: Any) -> float:
        """A bound of the sum over all rows: the slack of the row's own pair, less the least slack of the row."""
        own_high, own_low = self.high[are_own][rows], self.low[are_own][rows]
        high, more = difference(own_high, self.high)
        low, lost = difference(own_low, self.low)
        low, more_lost = difference(low, -more)
        over = np.maximum(high + low, 0)
        unsure = 2 * self.lost + float((abs(lost) + abs(more_lost)).max(initial=0))
        begins = np.searchsorted(rows, np.arange(rows[-1] + 1))
        return (1 + 2.0**-32) * (float(np.maximum.reduceat(over, begins).sum()) + unsure * len(begins))


def difference(left: Any, right: Any) -> tuple[Any, Any]:
    """left - right rounded, and the exact difference less that (Knuth's TwoSum)."""
    with np.errstate(invalid="ignore"):  # forbidden pairs are infinite
        rounded = left - right
        back = rounded - left
        return rounded, (left - (rounded - back)) - (right + back)
