"""Prices of columns from a sample on a GPU: `sampled.Sample`, whose rows lie on a GPU, and whose prices on the host."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

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

    @property
    def _programs(self) -> Any:
        return import_module("..backends.sample_prices", __package__)

    def _wanted(self) -> Any:
        return self._programs.wanted(self.costs)

    def _above_the_least(self) -> Any:
        return self._programs.above_the_least(self.costs)

    def _shares(self, v: Any, eps: float) -> Any:
        return self._programs.shares(self.costs, v, eps, -np.inf if self.limit is None else -self.limit)
