"""Passes of a rank over its block on a GPU: see `BlockPasses`. One launch each; the GPU of the block is current."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .block_passes import STRATA, Depth, ForestState, HeldRows, Picks, closed_by_levels, listed
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

    def _run(self, name: str, *arguments: Any) -> None:
        with self._array.device as device:
            kernel = entry_point(BLOCK_PASSES, f"{name}_grid", device.id, cost=c_type(self._array))
            blocks = device.attributes["MultiProcessorCount"]
            words = Words(0)  # until the launch, or the thread of another rank could have their memory first
            kernel((blocks,), (GRID_BLOCK_SIZE,), (self._costs, *arguments, words.arrivals))

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

    def entries_up_to(self, most: Any, held: HeldRows, least_too: bool) -> Any:
        room, given = 4 * len(held.rows), self._pass(*held)
        count = cupy.empty(1, np.int64)
        while True:  # twice at most: then there is room for all
            keys = cupy.empty(room, np.int64)
            self._run("entries_up_to", given, self._dual_type(most), np.int32(least_too), keys, np.int64(room), count)
            found = int(count.item())
            if found <= room:
                return keys[:found]
            room = found

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

    def close(self, rows: Any, u: Any, forest: ForestState) -> tuple[Any, int]:
        return closed_by_levels(self.expand, rows, u, forest)

    def expand(self, rows: Any, u: Any, forest: ForestState) -> tuple[Any, int]:
        """One level: see `closed_by_levels`."""
        num_rows = self._shape[0]
        words = -(-num_rows // 8)
        found = cupy.empty(words + 1, np.int64)  # the rows, and then the number of ends: one copy to the host
        columns = FOREST_COLUMNS.pack(
            num_rows=num_rows, mate=forest.mate.data.ptr, v=forest.v.data.ptr, slack=forest.slack.data.ptr,
            predecessor=forest.predecessor.data.ptr, covered=forest.covered.data.ptr, reached=found.data.ptr,
            ends=found.data.ptr + 8 * words, least=forest.least.data.ptr, at_least=forest.at_least.data.ptr,
            shares=len(forest.least) // max(1, self._shape[1]),
        )  # fmt: skip
        self._run("expand", self._pass(rows, u, forest.v, forest.covered), columns)
        on_host = found.get()
        return on_host.view(np.uint8)[:num_rows], int(on_host[words])
