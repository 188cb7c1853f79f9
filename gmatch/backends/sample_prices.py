"""Passes over a sample of rows on the current GPU that prices of columns come from: see csrc/points/prices.cuh.

Samples are float32 arrays of the GPU whose rows are contiguous. All other arrays are of the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import to_host
from ..programs.catalogue import SAMPLE_PRICES
from ..programs.entry_points import GRID_BLOCK_SIZE, cupy, entry_points, resident_blocks
from ..programs.launch import Words

PROGRAMS = "wanted_grid", "above_the_least_grid", "shares_grid"


def _run(name: str, costs: Any, *arguments: Any) -> None:
    device = cupy.cuda.Device()
    kernel = entry_points(SAMPLE_PRICES, PROGRAMS, device.id)[PROGRAMS.index(name)]
    words, (rows, columns) = Words(0), costs.shape
    shape = np.int64(rows), np.int64(costs.strides[0] // costs.itemsize), np.int64(columns)
    blocks = resident_blocks(kernel, GRID_BLOCK_SIZE, device)
    kernel((blocks,), (GRID_BLOCK_SIZE,), (costs, *shape, *arguments, words.arrivals))


def wanted(costs: Any) -> Any:
    """The best column of each row. Each row looks for ties from a column of its own on."""
    columns = cupy.empty(len(costs), np.int64)
    _run("wanted_grid", costs, columns)
    return to_host(columns)


def above_the_least(costs: Any) -> Any:
    """The sum of what allowed pairs cost above the least of their row, and how many pairs there are."""
    sums, found = cupy.empty((len(costs), 32), np.float64), cupy.empty((2, len(costs)), np.float64)
    _run("above_the_least_grid", costs, sums, found[0], found[1])
    return to_host(found).sum(axis=1)


def shares(costs: Any, v: Any, eps: float, free: float) -> Any:
    """How much of the rows each column gets, by exp((v - cost) / eps). A free row costs minus `free`.

    With -inf no row stays free.
    """
    rows, columns = costs.shape
    sums, of_rows, made = (
        cupy.empty((rows, 32), np.float64), cupy.empty((2, rows), np.float32), cupy.empty(columns, np.float32)
    )  # fmt: skip
    numbers = np.float32(1 / eps), np.float32(free)
    _run("shares_grid", costs, cupy.asarray(v), *numbers, sums, of_rows[0], of_rows[1], made)
    return to_host(made)
