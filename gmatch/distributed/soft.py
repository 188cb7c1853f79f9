"""Prices of the columns from soft minima (Sinkhorn 1967, while epsilon shrinks), in passes that all ranks share.

Where minima of columns mislead, as where all rows want the same columns, a few passes find what columns are worth: each
row is shared among the columns by exp((u + v - cost) / eps), each column changes its price until it gets one row in
all, and eps shrinks. Nothing of this is exact: such prices choose which entries join the core.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..arrays import to_host
from .part import Part
from .ranks import Ranks, reduced

# From half of the mean that entries cost above the least of their row, eight times by 0.45: to 1/600 of it.
LEVELS, FACTOR = 8, 0.45


def soft_prices(ranks: Ranks, part: Part) -> Any:
    """Duals of the columns of a square problem in which each rank has whole rows.

    O(n**2 / ranks) work on each rank, and two meetings a level.
    """
    m = part.shape[1]
    v = np.zeros(m)
    above, allowed = reduced(ranks, "sum", np.zeros(2), partial(_above_the_least, part))
    eps = above / max(allowed, 1) / 2
    for _ in range(LEVELS if eps > 0 else 0):
        rows = _SoftRows(part, eps)
        least = reduced(ranks, "min", np.full(m, np.inf), partial(rows.least_of_columns, v))
        known = least < np.inf
        least[~known] = 0
        mass = reduced(ranks, "sum", np.zeros(m), partial(rows.mass_of_columns, least))
        v[known] = least[known] - eps * np.log(mass[known])
        eps *= FACTOR
    v -= v.max()
    return np.rint(v).astype(np.int64) if part.dual_type is np.int64 else v


def _above_the_least(part: Part) -> Any:
    """What the allowed pairs of this rank cost above the least of their row, in sum; and how many they are."""
    totals = np.zeros(2)
    for some in part.slices():
        costs = part.values(some).astype(np.float64)
        costs -= _finite(part, costs.min(axis=1))[:, None]
        allowed = costs < np.inf
        totals += part.xp.where(allowed, costs, 0).sum().item(), int(allowed.sum())
    return totals


class _SoftRows:
    """The rows of this rank, with duals from soft minima."""

    def __init__(self, part: Part, eps: float) -> None:
        self._part, self._eps = part, eps
        self._u = part.xp.zeros(part.costs.shape[0])

    def least_of_columns(self, v: Any) -> Any:
        """Of each column the least that it costs beyond the duals of the rows, which this finds first."""
        part, xp = self._part, self._part.xp
        least, own_v = xp.full(part.shape[1], np.inf), part.here(v)
        for some in part.slices():
            costs = part.values(some).astype(np.float64)
            beyond = costs - own_v
            nearest = _finite(part, beyond.min(axis=1))
            mass = xp.exp((nearest[:, None] - beyond) / self._eps).sum(axis=1)
            self._u[some] = nearest - self._eps * xp.log(xp.where(mass > 0, mass, 1))
            costs -= self._u[some, None]
            least = xp.minimum(least, costs.min(axis=0))
        return to_host(least)

    def mass_of_columns(self, least: Any) -> Any:
        """Of each column what the rows give to it, where its nearest row gives one."""
        part, xp = self._part, self._part.xp
        mass, own_least = xp.zeros(len(least)), part.here(least)
        for some in part.slices():
            beyond = part.values(some) - self._u[some, None]
            mass += xp.exp((own_least - beyond) / self._eps).sum(axis=0)
        return to_host(mass)


def _finite(part: Part, numbers: Any) -> Any:
    """Zero where there is no number: of rows without pairs."""
    return part.xp.where(part.xp.isfinite(numbers), numbers, 0)
