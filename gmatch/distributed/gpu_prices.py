"""Prices of columns from a sample on a GPU: `sampled.Sample`, whose rows lie on a GPU, and whose prices on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import namespace, to_host
from ..problems.limits import blocks_of
from .ranks import one_rank
from .sampled import FEW, PART, Sample


def prices_on_gpu(sample: Any, limit: float | None, rows: int, have_misled: bool) -> Any:
    """The duals of `sampled.prices_of`, on the host."""
    ranks = one_rank()
    some = sample[:: max(1, min(PART, len(sample) // FEW))]
    coarse = SampleOnGPU(ranks, some, 0, len(some), limit, rows)
    return SampleOnGPU(ranks, sample, 0, len(sample), limit, rows).prices(coarse, have_misled).v


class SampleOnGPU(Sample):
    """See `Sample`. All sampled rows are here."""

    def _wanted(self) -> Any:
        xp, columns = namespace(self.costs), self.costs.shape[1]
        wanted = np.full(self.size, -1, np.int64)
        for some in blocks_of(self.costs.shape, "gpu"):
            block = self.costs[some]
            begins = xp.arange(some.start, some.start + len(block)) * columns // self.size
            is_best = block == block.min(axis=1)[:, None]
            is_after = is_best & (xp.arange(columns) >= begins[:, None])
            first = xp.where(is_after.any(axis=1), is_after.argmax(axis=1), is_best.argmax(axis=1))
            wanted[some] = to_host(first)
        return wanted

    def _above_the_least(self) -> Any:
        xp, totals = namespace(self.costs), np.zeros(2)
        for some in blocks_of(self.costs.shape, "gpu"):
            block = self.costs[some].astype(np.float64)
            is_allowed = block < np.inf
            least = block.min(axis=1)
            least[least == np.inf] = 0
            above = xp.where(is_allowed, block - least[:, None], 0.0)
            totals += float(above.sum()), int(is_allowed.sum())
        return totals

    def _shares(self, v: Any, eps: float) -> Any:
        xp = namespace(self.costs)
        shares, v = xp.zeros(len(v), np.float32), xp.asarray(v)
        for some in blocks_of(self.costs.shape, "gpu"):
            weights = v - self.costs[some]
            most = weights.max(axis=1)
            if self.limit is not None:
                most = xp.maximum(most, np.float32(-self.limit))
            most[most == -np.inf] = 0  # no column is allowed
            weights -= most[:, None]
            weights *= np.float32(1 / eps)
            xp.exp(weights, out=weights)
            of_rows = weights.sum(axis=1)
            if self.limit is not None:
                of_rows += xp.exp((np.float32(-self.limit) - most) * np.float32(1 / eps))
            of_rows[of_rows == 0] = 1
            shares += (np.float32(1) / of_rows) @ weights
        return to_host(shares)
