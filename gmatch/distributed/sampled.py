"""Prices of columns from some of the rows of a square problem, by soft minima (Sinkhorn 1967, while epsilon shrinks).

Where all rows want the same columns, minima of columns do not tell what columns are worth. Some rows do, each shared
among the columns by exp((v - cost) / eps): a column gets as much of them as they are of all rows. Nothing of this is
exact: such prices choose which entries are looked at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# From half of the mean that entries cost above the least of their row, eight times by so much: to 1/200 of it.
LEVELS, FACTOR = 8, 0.56
# Of the columns that independent rows would want; where rows want so many, prices would only repeat chances.
WANTED = 0.9
# Entries that a cache holds.
BLOCK = 1 << 17
# Of what it should get a column gets no less, for a price that is not infinite.
LEAST_SHARE = 1e-30


def prices_of(sample: Any, rows: int) -> Any:
    """Duals of the columns, float64, at most 0. O(rows of the sample * columns) time.

    `sample` has some of so many rows, float32, and is written to. Pairs that cost inf are forbidden.
    """
    size, columns = sample.shape
    v = np.zeros(columns, np.float32)
    if _want_different_columns(sample):
        return v.astype(np.float64)
    eps = _mean_above_the_least(sample) / 2
    for _ in range(LEVELS if eps > 0 else 0):
        shares = _shares(sample, v, eps) * (rows / size)
        v -= (eps * np.log(np.maximum(shares, LEAST_SHARE))).astype(np.float32)
        eps *= FACTOR
    prices = v.astype(np.float64)
    return prices - prices.max(initial=0) if columns else prices


def _want_different_columns(sample: Any) -> bool:
    """Whether as many columns are the best of some row as if each row had any for its best one."""
    size, columns = sample.shape
    if not size or not columns:
        return True
    wanted = len(np.unique(np.concatenate([sample[some].argmin(axis=1) for some in _blocks(sample)])))
    return bool(wanted >= WANTED * -columns * np.expm1(size * np.log1p(-1 / max(columns, 2))))


def _mean_above_the_least(sample: Any) -> float:
    """What the allowed pairs cost above the least of their row, in the mean; from here on that is what they cost."""
    total, allowed = 0.0, 0
    for some in _blocks(sample):
        block = sample[some]
        least = block.min(axis=1, initial=np.inf)
        least[least == np.inf] = 0
        block -= least[:, None]
        is_allowed = block < np.inf
        allowed += int(np.count_nonzero(is_allowed))
        total += float(block.sum(dtype=np.float64, where=is_allowed))
    return total / max(allowed, 1)


def _shares(sample: Any, v: Any, eps: float) -> Any:
    """How much of the rows each column gets."""
    shares = np.zeros(len(v), np.float32)
    for some in _blocks(sample):
        weights = v - sample[some]
        most = weights.max(axis=1)
        most[most == -np.inf] = 0  # no column is allowed
        weights -= most[:, None]
        weights *= np.float32(1 / eps)
        np.exp(weights, out=weights)
        of_rows = weights.sum(axis=1)
        of_rows[of_rows == 0] = 1
        shares += (1 / of_rows) @ weights
    return shares


def _blocks(sample: Any) -> Iterator[slice]:
    """Its rows, as many together as a cache holds."""
    step = max(1, BLOCK // max(sample.shape[1], 1))
    return (slice(first, first + step) for first in range(0, len(sample), step))
