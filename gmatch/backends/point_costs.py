"""What points cost with all others, and passes over all pairs, on the current GPU: see csrc/points."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .. import _native
from ..arrays import device_of
from ..programs.catalogue import COORDINATES, POINT_COSTS, POINT_PASSES
from ..programs.entry_points import GRID_BLOCK_SIZE, cupy, entry_point, resident_blocks
from ..programs.launch import Words
from .block_passes import STRATA, Depth, Picks
from .pair_lists_gpu import listed
from .point_bounds import POINT_PAIRS, POINT_WINDOW, BoundPasses

# Numbers of coordinates that passes over pairs are compiled for. Other points are filled up with zeros, which change no
# cost. Points of more coordinates do not fit into registers.
DIMENSIONS = tuple(int(words["coordinates"]) for words in COORDINATES)
# Columns of a tile: see Tiles in csrc/points/pairs.cuh.
TILE = 32


class PointsOnGPU:
    """Copies of two clouds on the current GPU.

    Parameters
    ----------
    x, y : arrays of floats, shapes (n, d) and (m, d), of the host or of a GPU
    metric : str
    p : float or None
    """

    def __init__(self, x: Any, y: Any, metric: str, p: float | None) -> None:
        self._given = x, y
        self._metric, self._p = metric, p or 0.0
        self._device = cupy.cuda.Device()

    @cached_property
    def _x(self) -> Any:
        return _here(self._given[0])

    @cached_property
    def _y(self) -> Any:
        return _here(self._given[1])

    @cached_property
    def _turned(self) -> Any:
        """The coordinates of y one after the other."""
        return cupy.ascontiguousarray(self._y.T)

    def costs(self, rows: Any) -> Any:
        """What some x cost with all y: float64, as `PointCosts.of_pairs` says. `rows` is a slice, or numbers."""
        x = self._x[rows] if isinstance(rows, slice) else self._x[cupy.asarray(rows)]
        made = cupy.empty((len(x), len(self._given[1])), np.float64)
        kernel = entry_point(POINT_COSTS, "point_costs_grid", self._device.id, metric=self._metric)
        words = Words(0)
        window = POINT_WINDOW.pack(
            x=x.data.ptr, y=self._turned.data.ptr, costs=made.data.ptr, num_rows=len(x), num_columns=made.shape[1],
            dimension=x.shape[1], p=self._p,
        )  # fmt: skip
        blocks = self._device.attributes["MultiProcessorCount"]
        kernel((blocks,), (GRID_BLOCK_SIZE,), (window, words.arrivals))
        return made

    def bounds(self, centre: Any, asked: tuple[bool, float | None, float]) -> BoundPasses:
        """The passes over pairs by bounds, for any number of coordinates: see `BoundPasses`."""
        return BoundPasses((self._x, self._y), centre, (self._metric, self._p), asked)

    def passes(self, rows: slice, maximize: bool, limit: float | None) -> PointPasses:
        """Passes over the pairs of some x and all y, if there are few coordinates."""
        x, *columns = self._filled_up
        return PointPasses((x[rows], *columns), (self._metric, self._p), maximize, limit)

    @cached_property
    def _filled_up(self) -> tuple[Any, Any, Any]:
        """Points of a number of coordinates that there is a program for, and the boxes of the columns."""
        coordinates = next(size for size in DIMENSIONS if size >= self._given[0].shape[1])
        x, y = (_with_zeros(_here(points), coordinates) for points in self._given)
        y = cupy.ascontiguousarray(y.T)
        boxes = cupy.empty(2 * coordinates * _tiles_and_bundles(y.shape[1]), np.float64)
        passes = PointPasses((x, y, boxes), (self._metric, self._p), False, None)
        passes.find_boxes()
        return x, y, boxes


def _tiles_and_bundles(columns: int) -> int:
    """How many tiles and bundles these columns have together: `Tiles` of csrc/points/pairs.cuh says what they are."""
    tiles = -(-columns // TILE)
    return tiles + -(-tiles // TILE)


def _here(points: Any) -> Any:
    """The points as a float64 array of the current GPU. A GPU widens them faster than a host does."""
    if device_of(points) == "gpu" and points.device != cupy.cuda.Device():
        points = points.get()
    return cupy.asarray(points).astype(np.float64, copy=False)


def _with_zeros(points: Any, coordinates: int) -> Any:
    if points.shape[1] == coordinates:
        return points
    filled = cupy.zeros((len(points), coordinates))
    filled[:, : points.shape[1]] = points
    return filled


class PointPasses:
    """The passes of `BlockPasses` that a core needs, over all pairs of points, without a window of what they cost."""

    def __init__(
        self, clouds: tuple[Any, Any, Any], metric: tuple[str, float], maximize: bool, limit: float | None
    ) -> None:
        x, y, self._boxes = self._arrays = clouds
        self._shape = len(x), y.shape[1]
        self._words = {"metric": metric[0], "coordinates": x.shape[1]}
        self._device = cupy.cuda.Device()
        self._pairs = POINT_PAIRS.pack(
            x=x.data.ptr, y=y.data.ptr, num_rows=len(x), num_columns=y.shape[1], p=metric[1],
            sign=-1.0 if maximize else 1.0, limit=np.inf if limit is None else float(limit),
        )  # fmt: skip

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]:
        """The least cost - v of each of all rows, and a column that has it. No column may be covered."""
        assert covered is None, "passes over pairs leave no column out"
        least, nearest = cupy.empty(self._shape[0], np.float64), cupy.empty(self._shape[0], np.int32)
        self._run("least_of_points_grid", self._boxes, v, self._tops(), least, nearest)
        return least, nearest

    def price(self, rows: Any, v: Any, depth: Depth) -> Picks:
        most = STRATA * _native.PICKED_ON_GPU
        sizes, columns = self._lists(most)
        minima, chosen, *_ = depth.pick()
        wanted = np.int32(min(chosen * STRATA // minima, STRATA - 1))
        self._run("price_points_grid", self._boxes, v, self._tops(), wanted, sizes, columns)
        return self._picks(sizes, columns, most)

    def overpriced(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        """The worst pair of each stratum of each row.

        Bounds, on the GPU, are the least cost - v of each row, or u if none is less.
        """
        sizes, columns = self._lists(STRATA)
        least = cupy.empty(self._shape[0], np.float64)
        self._run("overpriced_points_grid", self._boxes, u, v, self._tops(), least, sizes, columns)
        picks = self._picks(sizes, columns, STRATA)
        return picks._replace(overpriced=len(picks.places), bounds=least)

    def _lists(self, most: int) -> tuple[Any, Any]:
        return cupy.empty(self._shape[0], np.int32), cupy.empty(self._shape[0] * most, np.int32)

    def _tops(self) -> Any:
        """Memory for the largest v of each tile and of each bundle."""
        return cupy.empty(_tiles_and_bundles(self._shape[1]), np.float64)

    def _picks(self, sizes: Any, columns: Any, most: int) -> Picks:
        places = listed((sizes, columns), most, 0, self._shape[1])
        return Picks(places, 0, None, self.costs(places))

    def costs(self, places: Any) -> Any:
        """What pairs cost in the minimisation form, by their places row * columns + column."""
        costs = cupy.empty(len(places), np.float64)
        self._run("costs_of_places_grid", places, np.int64(len(places)), costs)
        return costs

    def find_boxes(self) -> None:
        self._run("boxes_of_points_grid", self._boxes)

    def _run(self, name: str, *arguments: Any) -> None:
        kernel = entry_point(POINT_PASSES, name, self._device.id, **self._words)
        words = Words(0)
        blocks = resident_blocks(kernel, GRID_BLOCK_SIZE, self._device)
        kernel((blocks,), (GRID_BLOCK_SIZE,), (self._pairs, *arguments, words.arrivals))
