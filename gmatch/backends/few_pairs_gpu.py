"""A matrix on a GPU in which nearly all pairs cost the same: the few cheaper pairs as sparse costs, doubled.

`csrc/costs/few_pairs.cuh` makes these costs, and makes the solution of the matrix from their solution.
`backends/doubled.py` says what doubled costs are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices.gpu import strides_of
from ..layouts import Layout
from ..problems.dense import DenseCosts
from ..problems.limits import TIMES_OF_HALVES
from ..problems.sparse import SparseCosts
from ..programs.catalogue import FEW_PAIRS
from ..programs.entry_points import GRID_BLOCK_SIZE, c_type, cupy, entry_points
from ..programs.launch import Vectors, Words
from .doubled import Halves
from .protocol import Assigned

LAYOUTS = {np.int64: Layout("DenseCosts<long long>"), np.float64: Layout("DenseCosts<double>")}
ENTRY_POINTS = "double_few_pairs_grid", "halve_few_pairs_grid"
# No limit.
INFINITE = {np.int64: 2**63 - 1, np.float64: np.inf}


def double(costs: DenseCosts) -> SparseCosts:
    """The doubled problem of the pairs that cost less than the common cost."""
    rows, columns = costs.array.shape
    dual, length = costs.dual_type, rows + columns
    with costs.array.device as device:
        kernel, _ = entry_points(FEW_PAIRS, ENTRY_POINTS, device.id, cost=c_type(costs.array))
        offsets, following, sums = (cupy.empty(size, np.int32) for size in (length + 1, length, length))
        entries = 2 * costs.few_pairs + length
        indices, data = cupy.empty(entries, np.int32), cupy.empty(entries, dual)
        words = Words(0)
        blocks = device.attributes["MultiProcessorCount"]
        kernel(
            (blocks,), (GRID_BLOCK_SIZE,),
            (_packed(costs), dual(costs.highest), offsets, indices, data, following, sums, words.arrivals),
        )  # fmt: skip
    lowest, highest = min(2 * costs.lowest, 0), max(2 * costs.highest, 0)
    return SparseCosts.of_checked((offsets, indices, data), (length, length), lowest, highest)


def _packed(costs: DenseCosts) -> Any:
    """A `DenseCosts` of csrc."""
    rows, columns = costs.array.shape
    row_stride, column_stride = strides_of(costs.array)
    return LAYOUTS[costs.dual_type].pack(
        num_rows=rows, num_columns=columns, costs=costs.array.data.ptr, row_stride=row_stride,
        column_stride=column_stride, maximize=costs.maximize,
        limit=INFINITE[costs.dual_type] if costs.limit is None else costs.limit,
    )  # fmt: skip


def halve(costs: DenseCosts, doubled: Assigned) -> Halves:
    """The solution of the matrix, from the solution of the doubled problem."""
    rows, columns = costs.array.shape
    dual = costs.dual_type
    with costs.array.device as device:
        _, kernel = entry_points(FEW_PAIRS, ENTRY_POINTS, device.id, cost=c_type(costs.array))
        duals = cupy.empty(columns + rows, dual)
        v, u = duals[:columns], duals[columns:]
        vectors = Vectors(*((None, length, np.int32) for length in (rows, columns, rows, columns)))
        row_match, col_match, free_rows, free_columns = vectors.addresses
        words = Words(3)
        kernel(
            (device.attributes["MultiProcessorCount"],), (GRID_BLOCK_SIZE,),
            (
                _packed(costs), doubled.row_match, doubled.col_match, doubled.u, doubled.v,
                np.uint64(row_match), np.uint64(col_match), u, v, np.uint64(free_rows), np.uint64(free_columns),
                words.begin, np.uint64(int(words.begin) + 8), words.arrivals,
            ),
        )  # fmt: skip
        _, largest, largest_half = words.read()
    is_rounded = False
    if dual is np.float64:
        most, most_of_halves = np.array([largest, largest_half]).view(np.float64)
        is_rounded = bool(most > TIMES_OF_HALVES * most_of_halves)
    counters = doubled.counters | {"size": rows, "start_size": max(0, doubled.counters["start_size"] - columns)}
    counters.pop("entries")
    of_rows, of_columns, *_ = vectors.arrays()
    return Halves(Assigned(of_rows, of_columns, u, v, counters), duals, is_rounded)
