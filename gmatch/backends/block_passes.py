"""Passes of a rank over the block of a matrix that it holds; here on the host, in `block_passes_gpu` on a GPU."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import _native
from ..arrays import device_of
from ..types import stored_as

# Windows pick the best two entries of a row over every 32nd column; a GPU picks PICKED_ON_GPU, see
# csrc/core/block_passes.cuh. Both pick the worst one of the overpriced entries there.
STRATA, OF_A_STRATUM = 32, 2
# A host picks the entries of a row up to the k-th of its minima, each taken over every 32nd or 256th column. It picks
# as many ties as there is room for. A triple is the number of minima, k, and the room: one for the first time, and one
# for each next time. As `DEPTHS` in csrc/serial/core_search.hpp, which says where it was measured.
DEPTHS = (32, 15, 48), (32, 25, 128), (32, 31, 512), (256, 200, 1024), (256, 250, 2048)
# A frontier is cut into at most 64 shares, so that all threads of a device have work. Not measured: with 64 shares for
# each 32 columns the 2,112 warps of a GPU have work from about 1,000 columns on.
MOST_SHARES = 64
NO_COVER = np.empty(0, np.uint8)


class FarEdges(NamedTuple):
    """Some edges of each row to columns of other ranks, on the block's device."""

    begins: Any  # int64: for each row and after the last one
    columns: Any  # int32
    costs: Any


class ForestState(NamedTuple):
    """What a rank knows of a forest of the alternating tree variant: see `Forest` in csrc/core/block_passes.cuh.

    All columns and rows are of the problem. Arrays lie on the block's device, and `close` changes the last three.
    """

    first_column: int  # of the block
    mate: Any  # int32: -1 of free columns
    u: Any
    v: Any
    far: FarEdges
    label: Any
    predecessor: Any  # int32
    expanded: Any


class HeldRows(NamedTuple):
    """Some rows of a block, and the duals that their entries are compared with: `BlockPass` of
    csrc/core/block_passes.cuh."""

    rows: Any
    u: Any
    v: Any
    covered: Any = None  # uint8, for all columns: whether the column is left out; None if none is


class Near(NamedTuple):
    """Entries of little slack, in any order."""

    places: Any
    """row * columns + column"""
    slacks: Any
    """cost - v - u"""
    number: int
    """How many there are. If there was no room for all, only some are listed."""


class Depth(NamedTuple):
    """How many entries of a row are wanted."""

    times: int
    """How many times the picked entries were not enough before."""
    share: float
    """Which share of each row of the problem the block has."""
    below: int | float | None = None
    """Entries whose cost - v is at least this are not wanted: a row stays free for that. A GPU may pick them."""

    def pick(self) -> tuple[int, int, int, int | float | None]:
        """The fields of `PickDepth` in csrc/serial/rows/row_picks.hpp, then `below`."""
        minima, chosen, room = DEPTHS[min(self.times, len(DEPTHS) - 1)]
        return minima, round(chosen * self.share), math.ceil(room * self.share), self.below


class Picks(NamedTuple):
    """Entries that a pass has picked from some rows."""

    places: Any
    """row * columns + column, increasing."""
    overpriced: int
    """The number of picked entries that cost less than their duals by more than rounding."""
    bounds: Any
    """A bound for each of the rows: cost - v of its other entries is at least that. On the host; None if not known."""
    costs: Any = None
    """The costs of the entries, in the type of the duals. None if they must still be read."""

    def some(self, chosen: Any) -> Picks:
        """Some of the entries, without the count and the bounds."""
        return Picks(self.places[chosen], 0, None, None if self.costs is None else self.costs[chosen])


class BlockPasses(Protocol):
    """Passes over a block of `rows` by `columns`. Vectors lie on the block's device, in the type of the duals.

    Rows and columns are numbered in the block, lists of them are int32. A block may have none.
    """

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]:
        """The least cost - v of each listed row over columns that are not covered, and a column that has it (int32)."""

    def least_of_columns(self, u: Any) -> Any:
        """The least cost - u of each column."""

    def entries_up_to(self, most: Any, held: HeldRows, room: int) -> Near:
        """The entries of rows with at most this much slack, up to rounding, except entries of covered columns.

        At most `room` places and slacks are listed.
        """

    def price(self, rows: Any, v: Any, depth: Depth) -> Picks:
        """Entries of least cost - v of listed rows, without forbidden ones. Entries of other rows may be among them."""

    def overpriced(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        """Entries of listed rows that cost less than u + v, or nearly so. Entries of other rows may be among them."""

    def close(self, rows: Any, forest: ForestState, bound: Any, wanted: int) -> Any:
        """Levels of a forest from rows of label 0 on, up to a bound or until `wanted` free columns are nearest.

        `rows`, int32 on the host, are expanded first. Then rows are expanded whose labels have fallen. Returns up to
        which label all rows have been expanded. See `close_forest` in csrc.
        """


def passes_of(array: Any, dual_type: Any, maximize: bool, limit: int | float | None, threads: int) -> BlockPasses:
    """The passes over a matrix where it lies, of a type and strides that programs read. A GPU ignores `threads`."""
    if device_of(array) == "gpu":
        made: BlockPasses = import_module(".block_passes_gpu", __package__).GpuPasses(array, dual_type, maximize, limit)
        return made
    return HostPasses(array, dual_type, maximize, limit, threads)


class HostPasses:
    """The passes of `BlockPasses` on threads of the host."""

    def __init__(self, array: Any, dual_type: Any, maximize: bool, limit: int | float | None, threads: int) -> None:
        bits, name = stored_as(array.dtype)
        self._block = array.view(bits), name, maximize, limit
        self._shape, self._dual_type, self._threads = array.shape, dual_type, threads

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]:
        least, nearest = np.empty(len(rows), self._dual_type), np.empty(len(rows), np.int32)
        given = NO_COVER if covered is None else covered
        _native.least_of_rows(*self._block, rows, v, given, least, nearest, self._threads)
        return least, nearest

    def least_of_columns(self, u: Any) -> Any:
        least, places = np.empty(self._shape[1], self._dual_type), np.empty(self._shape[1], np.int64)
        _native.least_of_columns(*self._block, u, least, places, self._threads)
        return least

    def entries_up_to(self, most: Any, held: HeldRows, room: int) -> Near:
        rows, u, v, covered = held
        places, slacks = np.empty(room, np.int64), np.empty(room, self._dual_type)
        given = NO_COVER if covered is None else covered
        most = self._dual_type(most).item()
        found = _native.entries_up_to(*self._block, rows, u, v, given, most, places, slacks, self._threads)
        return Near(places[:found], slacks[:found], found)

    def price(self, rows: Any, v: Any, depth: Depth) -> Picks:
        return self._pick(rows, np.empty(0, self._dual_type), v, depth)

    def overpriced(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        return self._pick(rows, u, v, depth)

    def _pick(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        bounds = np.empty(len(rows), self._dual_type)
        places, costs, overpriced = _native.pick(*self._block, rows, u, v, depth.pick(), bounds, self._threads)
        return Picks(places, overpriced, bounds, costs)

    def close(self, rows: Any, forest: ForestState, bound: Any, wanted: int) -> Any:
        frontier = np.empty(self._shape[0], np.int32)
        frontier[: len(rows)] = rows
        bound = self._dual_type(bound).item()
        return _native.close_forest(
            *self._block, (frontier, len(rows)), forest.first_column, forest.mate, forest.u, forest.v, forest.label,
            forest.predecessor, forest.expanded, tuple(forest.far), bound, wanted, self._threads,
        )  # fmt: skip
