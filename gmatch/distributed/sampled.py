"""Prices of columns from some of the rows, by soft minima (Sinkhorn 1967, while epsilon shrinks).

If all rows want the same columns, minima of columns do not tell what columns are worth. A sample of the rows does. Each
sampled row is shared among the columns by exp((v - cost) / eps). Each column should get an equal part of the sample, or
at most that if columns may stay free, and prices move until it does. Each step moves them 1.5 times as far as that, as
in Thibault, Chizat, Dossal, Papadakis, "Overrelaxed Sinkhorn-Knopp algorithm for regularized optimal transport",
Algorithms 14 (2021). The prices are not exact: they only choose which entries are looked at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .ranks import Ranks, one_rank, reduced

# Epsilon begins at half of what entries cost above the least of their row on average. Each of 14 levels multiplies it
# by 0.56, and the prices change twice at each level. With 12 levels, or with one change, the cores of products leave 6
# to 10 of 2000 rows free.
FACTOR, LEVELS, STEPS = 0.56, 14, 2
# Steps of a level for prices after the first duals have misled. 8 steps take 1.1 times as long. 2 steps are as fast as
# 4 for most costs, and take 1.8 times as long for clusters: benchmarks/log/points.md, "Steps of prices after duals that
# misled".
MORE_STEPS = 4
# A price moves this many times as far as would give its column the part that it should get. With 1, equally good
# prices take four steps a level.
OVER = 1.5
# The first 6 levels take 1 row in 8 of the sample, which does as well as all. A sample has at least 64 rows.
COARSE, PART, FEW = 6, 8, 64
# Rows that want at least this share of the columns that independent rows would want need no prices: their differences
# are chance.
WANTED = 0.9
# Entries that are read together: a cache holds them.
BLOCK = 1 << 17
# A column counts as if it got at least this share of what it should get, so that no price is infinite.
LEAST_SHARE = 1e-30


class Prices(NamedTuple):
    """Duals of the columns, float64, at most 0."""

    v: Any
    epsilon: float
    """The last epsilon: prices tell pairs apart that differ by about as much. 0 if all duals are 0 or exact."""


def prices_of(sample: Any, limit: float | None = None, rows: int | None = None, have_misled: bool = False) -> Prices:
    """Prices of the columns from some rows (float32).

    `limit` and `rows` are as in `Sample`, `have_misled` as in `Sample.prices`.
    """
    ranks = one_rank()
    some = sample[:: max(1, min(PART, len(sample) // FEW))]
    coarse = Sample(ranks, some, 0, len(some), limit, rows)
    return Sample(ranks, sample, 0, len(sample), limit, rows).prices(coarse, have_misled)


class Sample(NamedTuple):
    """A sample of the rows of a problem, at equal distances; each rank has some of the sampled rows."""

    ranks: Ranks
    costs: Any
    """The costs of this rank's sampled rows, in float32. Pairs that cost inf are forbidden."""
    first: int
    """The number of this rank's first sampled row among the sampled rows of all ranks."""
    size: int
    """The number of sampled rows of all ranks."""
    limit: float | None = None
    """The cost of a free row; None if rows must be matched. All pairs cost less. With a limit columns may stay free."""
    rows: int | None = None
    """The number of rows of the problem; None if it is the number of columns. With fewer rows columns may stay free."""

    @property
    def _columns(self) -> int:
        return int(self.costs.shape[1])

    @property
    def _rows(self) -> int:
        return self._columns if self.rows is None else self.rows

    @property
    def _may_stay_free(self) -> bool:
        """Whether columns may stay free."""
        return self.limit is not None or self._rows < self._columns

    def prices(self, coarse: Sample | None = None, have_misled: bool = False) -> Prices:
        """Prices of the columns. O(rows of the sample * columns) time and a meeting for each step.

        A coarser sample, if there is one, computes the first levels: they need fewer rows. All duals are 0 if the rows
        want different columns anyway. If these duals `have_misled`, there are more steps, and that is not asked.
        """
        v, last = np.zeros(self._columns, np.float32), None
        if not have_misled and self.want_different_columns(WANTED):
            return Prices(v.astype(np.float64), 0.0)
        steps = MORE_STEPS if have_misled else STEPS
        above, allowed = reduced(self.ranks, "sum", np.zeros(2), self._above_the_least)
        eps = above / max(allowed, 1) / 2
        # There are no prices if float32 does not hold the last epsilon: it loses the differences that matter.
        held = eps * FACTOR**LEVELS >= np.finfo(np.float32).tiny
        for step in range(LEVELS * steps if held else 0):
            sample = coarse if coarse is not None and step < COARSE * steps else self
            shares = reduced(self.ranks, "sum", np.zeros_like(v), partial(sample._shares, v, eps))
            shares *= self._rows / sample.size
            v -= (OVER * eps * np.log(np.maximum(shares, LEAST_SHARE))).astype(np.float32)
            v = self._allowed(v)
            if (step + 1) % steps == 0:
                # Prices change nearly linearly with epsilon. Its next change is FACTOR times the last one.
                v, last = v if last is None else self._allowed(v + np.float32(FACTOR) * (v - last)), v.copy()
                eps *= FACTOR
        prices = v.astype(np.float64)
        if not self._may_stay_free:
            prices -= prices.max(initial=0)
        return Prices(prices, float(eps / FACTOR) if held else 0.0)

    def _allowed(self, v: Any) -> Any:
        return np.minimum(v, 0) if self._may_stay_free else v

    def want_different_columns(self, share: float) -> bool:
        """Whether the rows' best columns number at least this share of what independent rows would want."""
        size, columns = self.size, self._columns
        if not size or not columns:
            return True
        wanted = reduced(self.ranks, "max", np.full(size, -1, np.int64), self._wanted)
        return bool(len(np.unique(wanted)) >= share * -columns * np.expm1(size * np.log1p(-1 / max(columns, 2))))

    def _wanted(self) -> Any:
        """The best column of each of this rank's rows. Each row looks for ties from a column of its own on."""
        wanted = np.full(self.size, -1, np.int64)
        for some in self._blocks():
            block = self.costs[some]
            rows = np.arange(len(block))
            begins = (self.first + some.start + rows) * self._columns // self.size
            is_best = block == block.min(axis=1, initial=np.inf)[:, None]
            is_after = is_best & (np.arange(self._columns) >= begins[:, None])
            first = is_after.argmax(axis=1)
            first = np.where(is_after[rows, first], first, is_best.argmax(axis=1))
            wanted[self.first + some.start + rows] = first
        return wanted

    def _above_the_least(self) -> Any:
        """The sum of what allowed pairs cost above the least of their row, and how many pairs there are."""
        totals = np.zeros(2)
        for some in self._blocks():
            block = self.costs[some]
            is_allowed = block < np.inf
            least = block.min(axis=1, initial=np.inf)
            least[least == np.inf] = 0
            number = is_allowed.sum(axis=1)
            totals += block.sum(dtype=np.float64, where=is_allowed) - number @ least.astype(np.float64), number.sum()
        return totals

    def _shares(self, v: Any, eps: float) -> Any:
        """How much of this rank's rows each column gets."""
        shares = np.zeros(len(v), np.float32)
        free = -np.inf if self.limit is None else -self.limit
        for some in self._blocks():
            weights = v - self.costs[some]
            most = weights.max(axis=1, initial=free)
            most[most == -np.inf] = 0  # no column is allowed
            weights -= most[:, None]
            weights *= np.float32(1 / eps)
            np.exp(weights, out=weights)
            of_rows = weights.sum(axis=1) + np.exp((free - most) / eps)
            of_rows[of_rows == 0] = 1
            shares += (1 / of_rows) @ weights
        return shares

    def _blocks(self) -> Iterator[slice]:
        """Slices of this rank's rows, each of at most BLOCK entries."""
        step = max(1, BLOCK // max(self._columns, 1))
        return (slice(first, first + step) for first in range(0, len(self.costs), step))
