"""A limit on costs: pairs above it are left out, and each vertex that stays free costs half of it."""

from __future__ import annotations

import numpy as np

from ..backends.protocol import Start
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..result import Status
from .programs import Solution


def with_ways_out(costs: SparseCosts, start: Start) -> tuple[SparseCosts, Start]:
    """Costs with a limit as a problem without one, in which every row may also take a way out that costs the limit.

    The sums of both problems differ by a constant, as in `free_pairs_above_limit`.
    """
    rows, columns = sorted(costs.shape)
    problem = costs.with_ways_out()
    row_match = None if start.row_match is None else problem.stored_pairs(start.row_match)
    v = None
    if start.v is not None:
        v = np.zeros_like(start.v, shape=columns + rows)
        v[:columns] = start.v
    return problem, Start(start.kind, row_match, v)


def without_ways_out(costs: SparseCosts, found: Solution) -> Solution:
    """The solution of costs with a limit, from the solution of the problem with ways out.

    A way out that is taken may have a dual below 0, which the result lacks. So u of its row is lowered to the limit,
    and no pair has a u + v above the limit.
    """
    columns = max(costs.shape)
    out = found.row_match >= columns
    found.row_match[out] = -1
    num_out = int(out.sum())
    status = Status.LIMITED if num_out else Status.OPTIMAL
    # Exact duals are left out: their proof needs the duals of the ways out, which the result does not have.
    return found._replace(
        size=found.size - num_out, col_match=found.col_match[:columns], u=found.u.clip(None, costs.limit),
        v=found.v[:columns], entries=None if num_out else found.entries, exact=None, status=status,
    )  # fmt: skip


def free_pairs_above_limit(costs: DenseCosts, solution: Solution) -> bool:
    """Frees the pairs that cost more than the limit. Returns whether there were any.

    Why that is right: k pairs of n rows and m >= n columns leave n + m - 2 k vertices free, at half the limit L each.
    Together they cost sum(c) + L (n - k) + L (m - n) / 2. The last term is a constant. The first two are the cost of
    any assignment that completes the pairs, with costs cut off at L. No other assignment costs less.
    """
    row_match, col_match = solution.row_match, solution.col_match
    rows = (row_match >= 0).nonzero()[0]
    entries = costs.array[rows, row_match].astype(costs.dual_type)
    above = rows[-entries > costs.limit] if costs.maximize else rows[entries > costs.limit]
    col_match[row_match[above]] = -1
    row_match[above] = -1
    return len(above) > 0
