"""Passes of a rank over its block on a GPU: see `BlockPasses`. One launch each; the GPU of the block is current."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..devices.gpu import strides_of
from ..layouts import Layout
from ..programs.catalogue import BLOCK_PASSES
from ..programs.entry_points import GRID_BLOCK_SIZE, c_type, cupy, entry_point
from ..programs.launch import Words
from .block_passes import MOST_SHARES, STRATA, Depth, ForestState, HeldRows, Near, Picks
from .gpu import DENSE_COSTS, INFINITE
from .pair_lists_gpu import listed

BLOCK_PASS, FOREST = Layout("BlockPass"), Layout("Forest")


class GpuPasses:
    """See `BlockPasses`."""

    def __init__(self, array: Any, dual_type: Any, maximize: bool, limit: int | float | None) -> None:
        self._array, self._dual_type = array, dual_type
        rows, columns = self._shape = array.shape
        row_stride, column_stride = strides_of(array)
        self._costs = DENSE_COSTS[dual_type].pack(
            num_rows=rows, num_columns=columns, costs=array.data.ptr, row_stride=row_stride,
            column_stride=column_stride, maximize=maximize, limit=INFINITE[dual_type] if limit is None else limit,
        )  # fmt: skip

        self._words = Words(0)  # launches follow one another, so all can count in these words
        self._blocks = array.device.attributes["MultiProcessorCount"]
        self._cost = c_type(array)

    def _run(self, name: str, *arguments: Any) -> None:
        kernel = entry_point(BLOCK_PASSES, f"{name}_grid", self._array.device.id, cost=self._cost)
        kernel((self._blocks,), (GRID_BLOCK_SIZE,), (self._costs, *arguments, self._words.arrivals))

    def _pass(self, rows: Any, u: Any, v: Any, covered: Any) -> Any:
        return BLOCK_PASS.pack(
            rows=rows.data.ptr, num_listed=len(rows), u=u.data.ptr, v=v.data.ptr,
            covered=0 if covered is None else covered.data.ptr,
        )  # fmt: skip

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]:
        least, nearest = cupy.empty(len(rows), self._dual_type), cupy.empty(len(rows), np.int32)
        self._run("least_of_rows", self._pass(rows, v, v, covered), least, nearest)
        return least, nearest

    def least_of_columns(self, u: Any) -> Any:
        least, places = cupy.empty(self._shape[1], self._dual_type), cupy.empty(self._shape[1], np.int64)
        self._run("least_of_columns", u, least, places)
        return least

    def entries_up_to(self, most: Any, held: HeldRows, room: int) -> Near:
        places, slacks = cupy.empty(room, np.int64), cupy.empty(room, self._dual_type)
        count = cupy.empty(1, np.int64)
        self._run("entries_up_to", self._pass(*held), self._dual_type(most), places, slacks, np.int64(room), count)
        found = int(count.item())
        return Near(places[:found], slacks[:found], found)

    def price(self, rows: Any, v: Any, depth: Depth) -> Picks:
        return Picks(self._lists("price_rows", STRATA * _native.PICKED_ON_GPU, v), 0, None)

    def overpriced(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        """The worst entry of each stratum of each row. All rows are read, since no bounds are known here."""
        places = self._lists("overpriced", STRATA, u, v)
        return Picks(places, len(places), None)

    def _lists(self, name: str, most: int, *duals: Any) -> Any:
        height, width = self._shape
        sizes, columns = cupy.empty(height, np.int32), cupy.empty(height * most, np.int32)
        self._run(name, *duals, sizes, columns)
        return listed((sizes, columns), most, 0, width)

    def close(self, rows: Any, forest: ForestState, bound: Any, wanted: int) -> Any:
        memory = self._memory_to_close
        memory.next[: len(rows)] = cupy.asarray(rows)
        far, (least, at_least) = forest.far, memory.shares
        packed = FOREST.pack(
            num_rows=len(forest.u), num_columns=len(forest.v), first_column=forest.first_column,
            mate=forest.mate.data.ptr, u=forest.u.data.ptr, v=forest.v.data.ptr, label=forest.label.data.ptr,
            predecessor=forest.predecessor.data.ptr, expanded=forest.expanded.data.ptr, begins=far.begins.data.ptr,
            far_columns=far.columns.data.ptr, far_costs=far.costs.data.ptr, least=least.data.ptr,
            at_least=at_least.data.ptr, shares=MOST_SHARES,
        )  # fmt: skip
        self._run(
            "close", packed, memory.next, np.int64(len(rows)), self._dual_type(bound), np.int64(wanted),
            memory.limits, memory.within, memory.lengths, memory.threshold,
        )  # fmt: skip
        return memory.threshold.get()[0]

    @cached_property
    def _memory_to_close(self) -> _MemoryToClose:
        (rows, columns), dual_type = self._shape, self._dual_type
        shares = cupy.empty(MOST_SHARES * columns, dual_type), cupy.empty(MOST_SHARES * columns, np.int32)
        limits, within, lengths = cupy.empty(4, dual_type), cupy.empty(2, np.int64), cupy.empty(2, np.int32)
        return _MemoryToClose(cupy.empty(rows, np.int32), shares, limits, within, lengths, cupy.empty(1, dual_type))


class _MemoryToClose(NamedTuple):
    """Memory that `close` works in, kept from call to call: see `Closing` in csrc/core/block_passes.cuh."""

    next: Any
    shares: tuple[Any, Any]
    limits: Any
    within: Any
    lengths: Any
    threshold: Any
