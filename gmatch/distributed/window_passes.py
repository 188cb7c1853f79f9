"""Passes over windows of a problem on a GPU. Each window is as the block of a rank is, and results merge alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_host
from ..backends.block_passes import BlockPasses, Depth, ForestState, HeldRows, Near, Picks

# A window of columns picks entries of each row. The best of all windows are kept, as many as one block would pick: see
# PICKED_ON_GPU in csrc/core/block_passes.cuh.
PICKED, OVERPRICED = 128, 32


class Tile(NamedTuple):
    """Some rows of a problem by some columns, and what they cost."""

    rows: slice
    columns: slice
    costs: Any

    def numbered(self, places: Any, width: int) -> Any:
        """Places in the problem, from places in the tile."""
        here = self.columns.stop - self.columns.start
        if here == width:
            return places + self.rows.start * width
        return (places // here + self.rows.start) * width + places % here + self.columns.start


Tiles = Callable[[Any], Iterator[Tile]]
"""Tiles that have some of these rows (numbers on the host, increasing), or all tiles for None."""


class WindowPasses:
    """The passes of `BlockPasses` over tiles. Lists of rows are increasing.

    Parameters
    ----------
    part : Part
        Of the whole problem.
    tiles : function
        See `Tiles`.
    passes_of : function
        The passes over what a tile costs. The bounds of `overpriced` are None, or the least cost - v of each row.
    minimised : function
        Entries as costs of the minimisation form.
    """

    def __init__(
        self, part: Any, tiles: Tiles, passes_of: Callable[[Any], BlockPasses], minimised: Callable[[Any], Any]
    ) -> None:
        self._part, self._tiles, self._passes_of, self._minimised = part, tiles, passes_of, minimised

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]:
        xp, part = self._part.xp, self._part
        least = xp.full(len(rows), part.far, part.dual_type)
        nearest = xp.zeros(len(rows), np.int32)
        for tile, listed in self._listed(rows):
            own_covered = None if covered is None else covered[tile.columns]
            passes = self._passes_of(tile.costs)
            here, at = passes.least_of_rows(rows[listed] - np.int32(tile.rows.start), v[tile.columns], own_covered)
            is_less = here < least[listed]
            least[listed] = xp.where(is_less, here, least[listed])
            nearest[listed] = xp.where(is_less, at + np.int32(tile.columns.start), nearest[listed])
        return least, nearest

    def least_of_columns(self, u: Any) -> Any:
        xp, part = self._part.xp, self._part
        least = xp.full(part.shape[1], part.far, part.dual_type)
        for tile in self._tiles(None):
            here = self._passes_of(tile.costs).least_of_columns(u[tile.rows])
            least[tile.columns] = xp.minimum(least[tile.columns], here)
        return least

    def entries_up_to(self, most: Any, held: HeldRows, room: int) -> Near:
        xp, part = self._part.xp, self._part
        places, slacks, number = [xp.empty(0, np.int64)], [xp.empty(0, part.dual_type)], 0
        for tile, listed in self._listed(held.rows):
            covered = None if held.covered is None else held.covered[tile.columns]
            of_tile = HeldRows(
                held.rows[listed] - np.int32(tile.rows.start), held.u[tile.rows], held.v[tile.columns], covered
            )
            left = min(max(1, room - number), tile.costs.size)
            near = self._passes_of(tile.costs).entries_up_to(most, of_tile, left)
            if number < room:
                places.append(tile.numbered(near.places, part.shape[1]))
                slacks.append(near.slacks)
            number += near.number
        return Near(xp.concatenate(places)[:room], xp.concatenate(slacks)[:room], number)

    def price(self, rows: Any, v: Any, depth: Depth) -> Picks:
        found = _Best(self._part, v, PICKED)
        for tile, listed in self._listed(rows):
            own = rows[listed] - np.int32(tile.rows.start)
            picks = self._passes_of(tile.costs).price(own, v[tile.columns], self._depth(depth, tile))
            found.offer(tile, picks, self._costs(tile, picks))
        return found.picks(0)

    def overpriced(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        return self.overpriced_and_least(rows, u, v, depth, False)[0]

    def overpriced_and_least(self, rows: Any, u: Any, v: Any, depth: Depth, asked: bool = True) -> tuple[Picks, Any]:
        """As `overpriced`; and, if asked for, the least cost - v of each listed row, in one pass."""
        part, number = self._part, 0
        found = _Best(part, v, OVERPRICED)
        least = part.xp.full(len(rows), part.far, part.dual_type)
        for tile, listed in self._listed(rows):
            passes, own = self._passes_of(tile.costs), rows[listed] - np.int32(tile.rows.start)
            own_v = v[tile.columns]
            picks = passes.overpriced(own, u[tile.rows], own_v, self._depth(depth, tile))
            number += picks.overpriced
            found.offer(tile, picks, self._costs(tile, picks))
            if asked:
                here = passes.least_of_rows(own, own_v)[0] if picks.bounds is None else picks.bounds
                least[listed] = part.xp.minimum(least[listed], here)
        return found.picks(number), least

    def close(self, rows: Any, forest: ForestState, bound: Any, wanted: int) -> Any:
        raise NotImplementedError("the tree variant is for ranks that hold their blocks")

    def _listed(self, rows: Any) -> Iterator[tuple[Tile, slice]]:
        """Tiles that have some of the rows, and which part of the list they have."""
        numbers = to_host(rows)
        for tile in self._tiles(numbers):
            listed = slice(*np.searchsorted(numbers, (tile.rows.start, tile.rows.stop)).tolist())
            if listed.stop > listed.start:
                yield tile, listed

    def _depth(self, depth: Depth, tile: Tile) -> Depth:
        return depth._replace(share=(tile.columns.stop - tile.columns.start) / self._part.shape[1])

    def _costs(self, tile: Tile, picks: Picks) -> Any:
        if picks.costs is not None:
            return picks.costs
        return self._minimised(tile.costs.ravel()[picks.places])


class _Best:
    """Entries that were picked. Of several windows of columns the entries of least cost - v of each row stay."""

    def __init__(self, part: Any, v: Any, most: int) -> None:
        self._part, self._xp, self._v, self._most = part, part.xp, v, most
        self._places = [self._xp.empty(0, np.int64)]
        self._costs = [self._xp.empty(0, part.dual_type)]
        self._is_cut, self._number = False, 0

    def offer(self, tile: Tile, picks: Picks, costs: Any) -> None:
        rows, width = self._part.shape
        self._places.append(tile.numbered(picks.places, width))
        self._costs.append(costs)
        self._number += len(costs)
        self._is_cut = self._is_cut or tile.columns.stop - tile.columns.start < width
        # Memory is for twice the entries that stay.
        if self._is_cut and self._number > 2 * rows * self._most:
            self._drop()

    def picks(self, overpriced: int) -> Picks:
        if self._is_cut:
            self._drop()
        return Picks(self._joined(self._places), overpriced, None, self._joined(self._costs))

    def _joined(self, parts: list[Any]) -> Any:
        """One array. The first part is empty."""
        return parts[1] if len(parts) == 2 else self._xp.concatenate(parts)

    def _drop(self) -> None:
        """Keeps the best entries of each row, in the order of their places."""
        xp, width = self._xp, self._part.shape[1]
        places, costs = xp.concatenate(self._places), xp.concatenate(self._costs)
        order = (costs - self._v[places % width]).argsort(kind="stable")
        order = order[(places[order] // width).argsort(kind="stable")]
        rows = places[order] // width
        first = xp.searchsorted(rows, rows)  # of the row of each
        order = order[xp.arange(len(rows)) - first < self._most]
        order = order[places[order].argsort(kind="stable")]
        self._places, self._costs, self._number = [places[order]], [costs[order]], len(order)
