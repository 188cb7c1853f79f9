"""Prices of columns from a sample on a GPU: `sampled.Sample`, whose rows lie on a GPU, and whose prices on the host."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..arrays import namespace
from .ranks import one_rank
from .sampled import FEW, PART, Sample

# Rows of points that are computed at a time: 1 kB a column, twice, since they stay while the next ones are computed.
TOGETHER = 256


class StoredRows(NamedTuple):
    """Sampled rows that lie on the GPU, in float32."""

    costs: Any

    @property
    def shape(self) -> tuple[int, int]:
        shape: tuple[int, int] = self.costs.shape
        return shape

    def every(self, step: int) -> StoredRows:
        """Every `step`-th row."""
        return StoredRows(self.costs[::step])

    def parts(self) -> Iterator[Any]:
        return iter([self.costs])


class RowsOfPoints(NamedTuple):
    """Sampled rows of points, at equal distances. Some are computed at a time, again in each pass."""

    bounds: Any  # the passes over pairs, which also tell what rows cost
    columns: int
    rows: range
    limit: float | None  # pairs that do not cost less cost `free`
    free: float

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.columns

    def every(self, step: int) -> RowsOfPoints:
        """Every `step`-th row."""
        return self._replace(rows=self.rows[::step])

    def parts(self) -> Iterator[Any]:
        for first in range(0, len(self.rows), TOGETHER):
            some = self.rows[first : first + TOGETHER]
            costs = self.bounds.rough(slice(some.start, some.stop, some.step))
            if self.limit is not None:
                costs = namespace(costs).where(costs < self.limit, costs, np.float32(self.free))
            yield costs


def prices_on_gpu(sample: StoredRows | RowsOfPoints, limit: float | None, rows: int, have_misled: bool) -> Any:
    """The duals of `sampled.prices_of`, on the host."""
    ranks, number = one_rank(), sample.shape[0]
    some = sample.every(max(1, min(PART, number // FEW)))
    coarse = SampleOnGPU(ranks, some, 0, some.shape[0], limit, rows)
    return SampleOnGPU(ranks, sample, 0, number, limit, rows).prices(coarse, have_misled).v


class SampleOnGPU(Sample):
    """See `Sample`. All sampled rows are here: `costs` are `StoredRows` or `RowsOfPoints`."""

    @property
    def _programs(self) -> Any:
        return import_module("..backends.sample_prices", __package__)

    def _wanted(self) -> Any:
        return np.concatenate([self._programs.wanted(part) for part in self.costs.parts()])

    def _above_the_least(self) -> Any:
        return sum(self._programs.above_the_least(part) for part in self.costs.parts())

    def _shares(self, v: Any, eps: float) -> Any:
        free = -np.inf if self.limit is None else -self.limit
        return sum(self._programs.shares(part, v, eps, free) for part in self.costs.parts())
