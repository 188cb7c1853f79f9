"""A limit on costs: pairs above it are left out, for half of it for each vertex that stays free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..backends.protocol import Start
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..result import Status
from .optimum import optimum
from .programs import Plan, Solution
from .ties import Names


def optimum_with_ways_out(costs: SparseCosts, plan: Plan, start: Start, names: Names | None) -> Solution:
    """The solution of sparse costs with a limit: of a problem in which every row may also take a way out at its price.

    As in `free_pairs_above_limit` the prices differ by a constant. A way out that is taken has a dual of its own, which
    may be below 0; u of its row is lowered to the limit instead, so that u + v is not above it for any pair.
    """
    rows, columns = sorted(costs.shape)
    kind, row_match, v = start
    if v is not None:
        longer = np.zeros_like(v, shape=columns + rows)
        longer[:columns] = v
        v = longer
    problem = costs.with_ways_out()
    row_match = row_match if row_match is None else problem.stored_pairs(row_match)
    found = optimum(problem, plan, Start(kind, row_match, v), names)
    out = found.row_match >= columns
    found.row_match[out] = -1
    num_out = int(out.sum())
    status = Status.LIMITED if num_out else Status.OPTIMAL
    # Exact duals are left out: their proof needs the duals of the ways out, which the result does not have.
    return replace(
        found, size=found.size - num_out, col_match=found.col_match[:columns], u=found.u.clip(None, costs.limit),
        v=found.v[:columns], entries=None if num_out else found.entries, exact=None, status=status,
    )  # fmt: skip


def free_pairs_above_limit(costs: DenseCosts, solution: Solution) -> bool:
    """Frees the pairs that cost more than the limit. Returns whether there were any.

    Why that is right: of k pairs of n rows and m >= n columns, with n + m - 2 k vertices free at half the limit L, the
    price is sum(c) + L (n - k) + L (m - n) / 2. Its last term is a constant. The others are the cost of any assignment
    that completes the pairs where costs are cut off at L, and no other assignment costs less.
    """
    row_match, col_match = solution.row_match, solution.col_match
    rows = (row_match >= 0).nonzero()[0]
    entries = costs.array[rows, row_match].astype(costs.dual_type)
    above = rows[-entries > costs.limit] if costs.maximize else rows[entries > costs.limit]
    col_match[row_match[above]] = -1
    row_match[above] = -1
    return len(above) > 0
