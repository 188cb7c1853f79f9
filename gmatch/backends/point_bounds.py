"""Passes over all pairs of points of many coordinates on the current GPU: see csrc/points/bounds.cuh.

A window holds bounds of what some rows cost, in float32. The next rows overwrite it. For metrics of squares and
products a library multiplies matrices to fill it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from .. import cuda
from ..arrays import to_host
from ..layouts import Layout
from ..programs.catalogue import POINT_BOUNDS
from ..programs.entry_points import GRID_BLOCK_SIZE, cupy, entry_points, resident_blocks
from ..programs.launch import Words
from .block_passes import Depth, Picks
from .pair_lists_gpu import merged, rows_by_number

POINT_WINDOW, POINT_PAIRS = Layout("PointWindow"), Layout("PointPairs")
# Rows of a window. 16 lane groups share 4 rows, so 512 rows are 2,048 tasks: about one for each lane group of an H200.
# A window takes 2 kB a column.
ROWS = 512
# As in csrc/points/bounds.cuh.
STRATA_OF_ROW, DRAWN = 512, 3
# The most pairs of a row that a pass picks at first, each the best of one of 512 strata. With PICKED = 16 mixtures take
# more rounds. With 32 clusters take twice as much memory: benchmarks/log/points.md, "24 pairs of a pick".
PICKED = 24
PASSES = (
    "price_bounds_grid", "overpriced_bounds_grid", "draw_pairs_grid", "costs_by_places_grid", "round_duals_grid",
)  # fmt: skip
FACTORS = "largest_grid", "halves_grid", "factors_grid"
FILL, FINISH = ("bounds_of_window_grid",), ("finish_window_grid",)
SQUARES, PRODUCTS = ("sqeuclidean", "euclidean"), ("dot", "cosine")
# The error of a bound, as a share of the squares of both lengths: (12 d + 64) / 2**24. A product of x and y is three
# sums of d products, of the first 11 binary digits and the next 11 digits of coordinates. Each product is exact. Each
# of the 3 d additions on tensor cores is taken to be off by 2**-22 of the sum of all magnitudes, |x| |y|. NVIDIA does
# not document it. V100, T4 and A100 cut digits off, which loses half of that: Fasi, Higham, Mikaitis, Pranesh,
# "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021). On an H200 the largest error that was
# found is 0.14 of what is taken: benchmarks/log/points.md, "How tensor cores round". For other cards
# tests/test_tensor_core_rounding.py tells it. `verify` does not rely on it. The digits that no factor has count
# 3 * 2**-22 of |x| |y|. Squares have 2 |x| |y|, which is at most |x|**2 + |y|**2. OTHER_ROUNDINGS has room for all
# other roundings.
OF_AN_ADDITION, ROUNDING, OTHER_ROUNDINGS = 2.0**-22, 2.0**-24, 64
PER_COORDINATE = round(3 * OF_AN_ADDITION / ROUNDING)
# A half float has only the first 11 digits, so a product is one sum of d products. With d = 512 it takes a fourth of
# the time. What rounding takes from points is measured. If it takes at most the share s of a length, a product is off
# by s (2 + s) |x| |y|, and by OF_AN_ADDITION for each coordinate. Factors are half floats if bounds are then at most
# TIMES_AS_FAR times as far off: for Gaussian points of 150 coordinates or more, and for all points of whole numbers
# that half floats hold. benchmarks/log/points.md, "Half floats for many coordinates".
TIMES_AS_FAR = 4
# Added to squares of lengths for each coordinate, if factors are half floats: below 2**-14 these have fewer than 11
# digits. No coordinate is above 1.
LEAST_SQUARE = 2.0**-16
# Tensor cores read this number of bytes at a time: rows of factors are filled up to a multiple of it.
BYTES_TOGETHER = 16


class Cloud(NamedTuple):
    """Points on the GPU: as given, and as factors of a product of matrices with what belongs to each in a bound."""

    points: Any  # float64 [number][coordinates]
    factors: Any  # float16 [number][width], or float32 [number][3 * width]; None if no products bound the metric
    of_points: Any  # float32 [number]


def _filled_up(coordinates: int, kind: Any) -> int:
    """Numbers of a row of factors of this type."""
    together: int = BYTES_TOGETHER // np.dtype(kind).itemsize
    return -(-coordinates // together) * together


class Programs:
    """The programs for a metric, each launched with as many blocks as the GPU holds at once."""

    def __init__(self, metric: str) -> None:
        self._metric, self._device = metric, cupy.cuda.Device()
        self._words = Words(0)  # launches follow one another, so all can count in these words
        self._kernels: dict[str, tuple[Any, int]] = {}

    def _kernel(self, names: tuple[str, ...], name: str) -> tuple[Any, int]:
        """A program, and how many blocks it has. Programs of `names` compile together."""
        if name not in self._kernels:
            kernels = entry_points(POINT_BOUNDS, names, self._device.id, metric=self._metric)
            for each, kernel in zip(names, kernels, strict=True):
                self._kernels[each] = kernel, resident_blocks(kernel, GRID_BLOCK_SIZE, self._device)
        return self._kernels[name]

    def threads(self, names: tuple[str, ...], name: str) -> int:
        """How many threads a launch has."""
        return self._kernel(names, name)[1] * GRID_BLOCK_SIZE

    def run(self, names: tuple[str, ...], name: str, *arguments: Any) -> None:
        """Launches a program."""
        kernel, blocks = self._kernel(names, name)
        kernel((blocks,), (GRID_BLOCK_SIZE,), (*arguments, self._words.arrivals))


class BoundPasses:
    """The passes of `BlockPasses` that a core needs, over all pairs of points. Lists of rows are increasing.

    Parameters
    ----------
    clouds : (array, array)
        Points x and y on the GPU, float64.
    centre : array
        A point, on the host. Bounds of pairs near it are best.
    metric : (str, float)
        Its name, and its p.
    asked : (bool, float or None, float)
        Whether to maximize, the limit, and the largest magnitude of a cost.
    """

    def __init__(
        self, clouds: tuple[Any, Any], centre: Any, metric: tuple[str, float], asked: tuple[bool, float | None, float]
    ) -> None:
        (self._metric, self._p), (maximize, self._limit, highest) = metric, asked
        self._shape, self._coordinates = (len(clouds[0]), len(clouds[1])), clouds[0].shape[1]
        self._sign = -1.0 if maximize else 1.0
        self._programs = Programs(self._metric)
        self._is_product = self._metric in SQUARES + PRODUCTS
        if self._is_product:
            self.unit, self._x, self._y = self._factors(clouds, cupy.asarray(centre))
        else:
            self.unit = math.ldexp(1.0, math.frexp(highest)[1])
            zeros = (cupy.zeros(len(cloud), np.float32) for cloud in clouds)
            self._x, self._y = (Cloud(cloud, None, zero) for cloud, zero in zip(clouds, zeros, strict=True))
        self.rows_seen, self._turn = 0, 0
        self._of_rows: Any = None  # `of_points` of x on the host
        self._coordinates_of_y: Any = None  # one coordinate after the other

    def _factors(self, clouds: tuple[Any, Any], centre: Any) -> tuple[float, Cloud, Cloud]:
        """The unit of bounds, and both clouds. Coordinates are divided by powers of two, so that none is above 1."""
        is_square, coordinates = self._metric in SQUARES, np.int64(self._coordinates)
        largest = cupy.zeros(2, np.float64)
        for number, cloud in enumerate(clouds):
            self._programs.run(
                FACTORS, "largest_grid", self._pairs(cloud, cloud), coordinates, centre, largest[number : number + 1]
            )
        exponents = [math.frexp(max(number, 2.0**-500))[1] for number in to_host(largest).tolist()]
        if is_square:
            exponents = [max(exponents)] * 2
        scales = [math.ldexp(1.0, -exponent) for exponent in exponents]
        multiples = (-2.0 if is_square else -1.0) * self._sign, 1.0
        sums = cupy.empty(self._programs.threads(FACTORS, "factors_grid"), np.float64)
        unit = math.ldexp(1.0, exponents[0] if self._metric == "euclidean" else sum(exponents))
        halves, off, least = self._halves(clouds, centre, [a * b for a, b in zip(scales, multiples, strict=True)], sums)
        width = _filled_up(self._coordinates, np.float32)
        made = []
        for number, cloud in enumerate(clouds):
            factors = cupy.empty((len(cloud), 3 * width), np.float32) if halves is None else None
            of_points, is_first = cupy.empty(len(cloud), np.float32), number == 0
            base = self._sign / unit if is_first and self._metric == "cosine" else 0.0
            self._programs.run(
                FACTORS, "factors_grid", self._pairs(cloud, cloud), coordinates, np.int64(width), centre,
                scales[number], multiples[number], self._sign if is_square else 0.0, base, off, least,
                np.int32(2 - number), sums, np.uint64(0) if factors is None else factors, of_points,
            )  # fmt: skip
            made.append(Cloud(cloud, factors if halves is None else halves[number], of_points))
        return unit, made[0], made[1]

    def _halves(self, clouds: tuple[Any, Any], centre: Any, scales: list[float], sums: Any) -> tuple[Any, float, float]:
        """Coordinates as half floats, if these suffice, else None; and the error of bounds.

        The error is a share of squares of lengths, to which the last number is added.
        """
        in_parts = (PER_COORDINATE * self._coordinates + OTHER_ROUNDINGS) * ROUNDING
        width, lost, made = _filled_up(self._coordinates, np.float16), cupy.zeros(1, np.float64), []
        least = self._coordinates * LEAST_SQUARE
        for cloud, scale in zip(clouds, scales, strict=True):
            made.append(cupy.empty((len(cloud), width), np.float16))
            self._programs.run(
                FACTORS, "halves_grid", self._pairs(cloud, cloud), np.int64(self._coordinates), np.int64(width),
                centre, scale, least, sums, made[-1], lost,
            )  # fmt: skip
        share = float(lost.item())
        off = share * (2 + share) + self._coordinates * OF_AN_ADDITION + OTHER_ROUNDINGS * ROUNDING
        return (made, off, least) if off <= TIMES_AS_FAR * in_parts else (None, in_parts, 0.0)

    def _pairs(self, x: Any, y: Any) -> Any:
        return POINT_PAIRS.pack(
            x=x.data.ptr, y=y.data.ptr, num_rows=len(x), num_columns=len(y), p=self._p, sign=self._sign,
            limit=np.inf if self._limit is None else float(self._limit),
        )  # fmt: skip

    def turned(self) -> BoundPasses:
        """The passes over the columns: x and y in each other's place."""
        other = copy(self)
        other._shape, other._x, other._y = self._shape[::-1], self._y, self._x
        other._of_rows = other._coordinates_of_y = None
        return other

    def price(self, rows: Any, v: Any, depth: Depth, most: int | None = None) -> Picks:
        """Pairs of least bounds, each the best of its stratum: `most` of a row.

        None stands for PICKED, doubled for each time that the picked pairs were not enough, and DRAWN far pairs of each
        row of the problem. Far pairs let clusters with other numbers of x than of y exchange points. Without far pairs
        these clusters have no assignment: benchmarks/log/points.md, "Rows of many coordinates draw far pairs".
        """
        if most is not None:
            places = self._picked("price_bounds_grid", rows, v, (), most)
        else:
            near = self._picked("price_bounds_grid", rows, v, (), min(PICKED << depth.times, STRATA_OF_ROW))
            places = merged((near, None), (self._drawn(v), None))[0]
        return Picks(places, 0, None, self.costs(places))

    def overpriced(self, rows: Any, u: Any, v: Any, depth: Depth) -> Picks:
        """The worst pairs of listed rows, at most PICKED of a row; each is the worst of its stratum."""
        return self.overpriced_and_least(rows, u, v, depth)[0]

    def overpriced_and_least(self, rows: Any, u: Any, v: Any, depth: Depth) -> tuple[Picks, Any]:
        """As `overpriced`, and the least cost - v of each row that was read, or its u if none is less."""
        least = cuda.beginning(u, len(u))
        places = self._picked("overpriced_bounds_grid", rows, v, (u, least), PICKED)
        return Picks(places, len(places), None, self.costs(places)), least

    def _drawn(self, v: Any) -> Any:
        """Places of far pairs of all rows, increasing. Each call draws other pairs. A pair may be there twice."""
        self._turn += 1
        places = cupy.empty(DRAWN * self._shape[0], np.int64)
        self._programs.run(
            PASSES, "draw_pairs_grid", self._pairs(self._x.points, self._y.points), np.int64(self._coordinates), v,
            np.int32(self._turn), places,
        )  # fmt: skip
        places.sort()
        return places

    def _picked(self, name: str, rows: Any, v: Any, duals: tuple[Any, ...], most: int) -> Any:
        """Places of pairs that a program picks, increasing."""
        m = self._shape[1]
        rounded, number = cupy.empty(m, np.float32), cupy.zeros(1, np.int64)
        whole = self._pairs(self._x.points, self._y.points)
        self._programs.run(PASSES, "round_duals_grid", whole, v, 1 / self.unit, rounded)
        strata = cupy.empty((ROWS, STRATA_OF_ROW), np.float64), cupy.empty((ROWS, STRATA_OF_ROW), np.int32)
        places = cupy.empty(most * len(rows), np.int64)
        own = (duals[0], v, duals[1]) if duals else ()
        for some, window in self._windows(rows):
            self._programs.run(
                PASSES, name, self._pairs(self._x.points[: len(some)], self._y.points), np.int64(self._coordinates),
                window, some, self._x.of_points, self._y.of_points, rounded, 1 / self.unit, *strata, np.int32(most),
                places, number, *own,
            )  # fmt: skip
        places = cuda.beginning(places, int(number.item()))
        places.sort()
        return places

    def _windows(self, rows: Any) -> Iterator[tuple[Any, Any]]:
        """Windows of the listed rows, one after the other in one piece of memory, each with the numbers of its rows."""
        window, numbers = cupy.empty((min(ROWS, len(rows)), self._shape[1]), np.float32), to_host(rows)
        for first in range(0, len(rows), ROWS):
            some = rows[first : first + ROWS]
            self.rows_seen += len(some)
            here = window[: len(some)]
            self._fill(rows_by_number(self._filled_from, some, numbers[first : first + ROWS]), here)
            yield some, here

    @property
    def _filled_from(self) -> Any:
        """The factors of x, or the points x if no products bound the metric."""
        return self._x.points if self._x.factors is None else self._x.factors

    def rough(self, rows: slice) -> Any:
        """What some rows cost in the minimisation form, rounded, divided by the unit, without the limit."""
        if self._of_rows is None:
            self._of_rows = to_host(self._x.of_points)
        own = cupy.asarray(np.ascontiguousarray(self._of_rows[rows]))
        x = self._x.points[rows]
        window = cupy.empty((len(x), self._shape[1]), np.float32)
        self._fill(self._filled_from[rows], window)
        pairs, of_points = self._pairs(x, self._y.points), (own, self._y.of_points)
        self._programs.run(FINISH, "finish_window_grid", pairs, *of_points, window)
        return window

    def _fill(self, of: Any, window: Any) -> None:
        """Fills a window from its rows of `_filled_from`."""
        if self._is_product:
            cuda.product_into(of, self._y.factors, window)
            return
        x = cupy.ascontiguousarray(of)
        packed = POINT_WINDOW.pack(
            x=x.data.ptr, y=self._turned_points().data.ptr, costs=0, num_rows=len(x), num_columns=self._shape[1],
            dimension=self._coordinates, p=self._p,
        )  # fmt: skip
        self._programs.run(FILL, "bounds_of_window_grid", packed, self._sign / self.unit, window)

    def _turned_points(self) -> Any:
        if self._coordinates_of_y is None:
            self._coordinates_of_y = cupy.ascontiguousarray(self._y.points.T)
        return self._coordinates_of_y

    def costs(self, places: Any) -> Any:
        """What pairs cost in the minimisation form, by their places row * columns + column."""
        costs = cupy.empty(len(places), np.float64)
        self._programs.run(
            PASSES, "costs_by_places_grid", self._pairs(self._x.points, self._y.points), np.int64(self._coordinates),
            places, np.int64(len(places)), costs,
        )  # fmt: skip
        return costs
