"""Passes of a rank over its block on a GPU: see `BlockPasses`. One launch each; the GPU of the block is current."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .. import _native
from .block_passes import MOST_SHARES, STRATA, Closed, Depth, ForestState, HeldRows, Near, Picks, listed
from .catalogue import BLOCK_PASSES
from .gpu import DENSE_COSTS, GRID_BLOCK_SIZE, INFINITE, Words, c_type, cupy, entry_point, strides_of
from .layouts import Layout

BLOCK_PASS, FOREST_COLUMNS = Layout("BlockPass"), Layout("ForestColumns")


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
        places = listed(sizes, columns, most, width)
        places.sort()
        return places

    def close(self, rows: Any, u: Any, forest: ForestState, theta: Any) -> Closed:
        closing = self._closing
        listed, columns = closing.listed(rows), closing.columns(forest)
        frontier = BLOCK_PASS.pack(
            rows=listed, num_listed=len(rows), u=u.data.ptr, v=forest.v.data.ptr, covered=forest.covered.data.ptr
        )
        self._run("close", frontier, columns, self._dual_type(theta), *closing.told_and_next)
        return closing.read()

    @cached_property
    def _closing(self) -> _Closing:
        return _Closing(self._shape, self._dual_type)


class _Closing:
    """Memory that `close` works in, and what it tells the host in one copy. Kept from call to call."""

    def __init__(self, shape: tuple[int, int], dual_type: Any) -> None:
        self._rows, columns = shape
        self._dual_type = dual_type
        self._words = words = -(-self._rows // 8)
        self._told, self._reached = cupy.empty(words + 2, np.int64), cupy.empty(self._rows, np.uint8)
        next_rows, lengths = cupy.empty(self._rows, np.int32), cupy.empty(2, np.int32)
        self._shares = cupy.empty(MOST_SHARES * columns, dual_type), cupy.empty(MOST_SHARES * columns, np.int32)
        # The GPU reads the frontier in memory of the host, since mostly it has a few rows.
        self._frontier = _pinned(max(1, self._rows), np.int32)
        self._on_host = _pinned(words + 2, np.int64)
        self.told_and_next = self._told, np.uint64(self._told.data.ptr + 8 * (words + 1)), next_rows, lengths
        """The last arguments of the program."""
        self._of: tuple[Any, Any] = (None, None)  # a forest, and its columns as the program reads them

    def listed(self, rows: Any) -> int:
        """The address of a copy of some rows."""
        self._frontier[: len(rows)] = rows
        return int(self._frontier.ctypes.data)

    def columns(self, forest: ForestState) -> Any:
        """A `ForestColumns` of csrc."""
        if self._of[0] is not forest:
            least, at_least = self._shares
            packed = FOREST_COLUMNS.pack(
                num_rows=self._rows, mate=forest.mate.data.ptr, v=forest.v.data.ptr, slack=forest.slack.data.ptr,
                predecessor=forest.predecessor.data.ptr, covered=forest.covered.data.ptr,
                reached=self._reached.data.ptr, ends=self._told.data.ptr + 8 * self._words, least=least.data.ptr,
                at_least=at_least.data.ptr, shares=MOST_SHARES,
            )  # fmt: skip
            self._of = forest, packed
        return self._of[1]

    def read(self) -> Closed:
        """Waits for the program."""
        copy, stream = cupy.cuda.runtime.memcpyAsync, cupy.cuda.get_current_stream()
        to_host = cupy.cuda.runtime.memcpyDeviceToHost
        copy(self._on_host.ctypes.data, self._told.data.ptr, self._told.nbytes, to_host, stream.ptr)
        stream.synchronize()
        brought = self._on_host.view(np.uint8)[: self._rows].copy()
        return Closed(brought, int(self._on_host[-2]), self._on_host[-1:].view(self._dual_type)[0])


def _pinned(length: int, dtype: Any) -> Any:
    """An array on the host that GPUs can read and write."""
    return np.frombuffer(cupy.cuda.alloc_pinned_memory(length * np.dtype(dtype).itemsize), dtype, length)
