"""Assignment of points of many coordinates on the host: rows of what they cost, and bounds of that from below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..arrays import to_host
from .cpu import reading_threads, steps_by_name
from .protocol import Vectors

if TYPE_CHECKING:
    from ..problems.points import PointCosts

# The error of a bound in float32, as a share of (|x| + |y|)**2: a rounding for each coordinate, and 16 for the rest.
ROUNDING, OTHER_ROUNDINGS = 2.0**-24, 16
# Added to that error: products of float32 below 2**-126 are rounded by more than a share.
LEAST_NUMBER = 2.0**-120
# Metrics whose costs follow from sums of squares, and metrics that sums of products bound.
SQUARES = "sqeuclidean", "euclidean"
OF_PRODUCTS = *SQUARES, "dot", "cosine"
# The middle of the clouds is found from at most this number of points of each.
MIDDLE = 1000


def assign_rows_of_points(
    costs: PointCosts, limit: float, vectors: Vectors, has_duals: bool, threads: int | None
) -> dict[str, Any]:
    """The cheapest assignment. There are at most as many x as y, and each has a point. Returns counters by name.

    `vectors` are written. With `has_duals` their v and mates are the start. A free x has no mate in the end, or one
    that costs the limit or more; the limit may be infinite.
    """
    bounds = bounds_of(costs) if costs.metric in OF_PRODUCTS else None
    threads = reading_threads(threads, costs.shape[0] * costs.shape[1])
    counters = _native.assign_point_rows(
        costs.x, costs.y, costs.metric, costs.maximize, limit, bounds, *vectors, has_duals, threads
    )
    return counters | {"trace": steps_by_name(counters["trace"]), "threads": threads}


def bounds_of(points: PointCosts) -> Any:
    """Bounds of what pairs cost, from products of float32.

    What a pair costs is a sum in the order of the coordinates, each operation rounded once to float64. But |x - y|**2
    is |x|**2 + |y|**2 - 2 x y, and x y in float32 takes less time.

    Points are moved by a common vector if the metric allows it, and divided by powers of two, so that no coordinate is
    above 1. Bounds are in that unit. With a = |x| and b = |y|, a product in float32 is off by less than
    (d + 16) 2**-24 (a + b)**2, in whatever order the sums are made. Since (a + b)**2 <= 2 a**2 + 2 b**2, each row and
    each column has a share of that error.
    """
    x, y = points.x, points.y
    is_square, is_root = points.metric in SQUARES, points.metric == "euclidean"
    if is_square:
        centre = middle(x, y)
        x, y = x - centre, y - centre
    exponents = [math.frexp(max(float(abs(array).max(initial=0)), 2.0**-500))[1] for array in (x, y)]
    if is_square:
        exponents = [max(exponents)] * 2
    x, y = (np.ldexp(array, -exponent) for array, exponent in zip((x, y), exponents, strict=True))
    unit = math.ldexp(1.0, sum(exponents) // 2 if is_root else sum(exponents))
    sign = -1.0 if points.maximize else 1.0
    squares = [np.einsum("ij,ij->i", array, array) for array in (x, y)]
    shares = 2 * (x.shape[1] + OTHER_ROUNDINGS) * ROUNDING
    of_rows, of_columns = (sign * is_square * part - (shares * part + LEAST_NUMBER) for part in squares)
    if points.metric == "cosine":
        of_rows += sign / unit
    factor = -2.0 if is_square else -1.0
    x = (x * (factor * sign)).astype(np.float32)
    return _native.PairBounds(x, _in_panels(y.astype(np.float32)), of_rows, of_columns, unit, is_root)


def middle(x: Any, y: Any) -> Any:
    """The median point. Errors of bounds grow with squared distances from it, and a few far points do not move it."""
    some = [to_host(cloud[:: 1 + len(cloud) // MIDDLE]) for cloud in (x, y)]
    return np.median(np.concatenate(some).astype(np.float64), axis=0)


def _in_panels(y: Any) -> Any:
    """The points some at a time, the last ones filled up with zeros, and each coordinate of them side by side."""
    number, coordinates = y.shape
    size = _native.WIDE_PANEL
    filled = np.zeros((-(-number // size) * size, coordinates), y.dtype)
    filled[:number] = y
    return np.ascontiguousarray(filled.reshape(-1, size, coordinates).transpose(0, 2, 1))
