"""The least cost less a dual, of all pairs of points of many coordinates: by bounds from matrix products in float64.

For a = |x| and b = |y|, |x - y|**2 = a**2 + b**2 - 2 x y, where the products of all pairs are one of two matrices.
Whatever the order of its sums, that is off by less than (d + 16) 2**-53 (a + b)**2, which is at most (d + 16) 2**-52
(a**2 + b**2). The product less this error bounds the cost from below. A pair is computed exactly if its bound does not
show that the duals are feasible for it. The solver has bounds in float32, and shares no code with this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..problems.points import PointCosts

# Entries of a matrix product; entries that are checked together; coordinates of pairs that are computed together.
PRODUCT, ENTRIES, COORDINATES = 1 << 22, 1 << 17, 1 << 20
ROUNDING, OTHER_ROUNDINGS = 2.0**-53, 16
# The median of MIDDLE to 2 * MIDDLE points is the origin: bounds are tight for points near it.
MIDDLE = 1000
OF_PRODUCTS = "sqeuclidean", "euclidean", "dot", "cosine"

PairCosts = Callable[[Any, Any], Any]


def least_of_all_pairs(costs: PointCosts, cost_of: PairCosts, u: Any, v: Any) -> Any:
    """The least cost - v of each point x, in the minimisation form and up to the limit; or u, if the least is above u.

    `cost_of(rows, columns)` computes costs of pairs.
    """
    least = u.copy()
    if not len(u):
        return least
    if costs.metric not in OF_PRODUCTS:
        for first, values in _by_coordinates(costs):
            some = slice(first, first + len(values))
            least[some] = np.minimum(least[some], (_minimised(costs, values) - v).min(axis=1, initial=np.inf))
        return least
    together = max(1, COORDINATES // costs.x.shape[1])
    for first, bounds in _bounds(costs):
        rows, columns = (bounds - v < u[first : first + len(bounds), None]).nonzero()
        rows += first
        for begin in range(0, len(rows), together):
            some = slice(begin, begin + together)
            here = _minimised(costs, cost_of(rows[some], columns[some])) - v[columns[some]]
            np.minimum.at(least, rows[some], here)
    return least


def _minimised(costs: PointCosts, values: Any) -> Any:
    values = -values if costs.maximize else values
    return values if costs.limit is None else np.minimum(values, costs.limit)


def _by_coordinates(costs: PointCosts) -> Iterator[tuple[int, Any]]:
    """The costs of all pairs, some rows at a time, summed over the coordinates."""
    coordinates = np.ascontiguousarray(costs.y.T)
    step = max(1, ENTRIES // max(costs.shape[1], 1))
    for first in range(0, costs.shape[0], step):
        x = costs.x[first : first + step]
        total = np.zeros((len(x), costs.shape[1]))
        for mine, others in zip(x.T, coordinates, strict=True):
            away = abs(mine[:, None] - others)
            if costs.metric == "chebyshev":
                np.maximum(total, away, out=total)
            else:
                total += away if costs.p is None else away**costs.p
        yield first, total if costs.p is None else total ** (1 / costs.p)


def _bounds(costs: PointCosts) -> Iterator[tuple[int, Any]]:
    """Lower bounds of the costs of all pairs, in the minimisation form and up to the limit, some rows at a time."""
    x, y = costs.x, costs.y
    squares, sign = costs.metric in ("sqeuclidean", "euclidean"), -1.0 if costs.maximize else 1.0
    if squares:
        middle = np.median(y[:: 1 + len(y) // MIDDLE], axis=0)
        x, y = x - middle, y - middle
    of_x, of_y = ((array * array).sum(axis=1) for array in (x, y))
    turned = np.ascontiguousarray(y.T)
    step = max(1, PRODUCT // costs.shape[1])
    for begin in range(0, costs.shape[0], step):
        products = x[begin : begin + step] @ turned
        for first in range(0, len(products), max(1, ENTRIES // costs.shape[1])):
            here = products[first : first + max(1, ENTRIES // costs.shape[1])]
            numbers = slice(begin + first, begin + first + len(here))
            off = (x.shape[1] + OTHER_ROUNDINGS) * ROUNDING * 2 * (of_x[numbers, None] + of_y) + np.finfo(float).tiny
            if squares:
                values = of_x[numbers, None] + of_y - 2 * here
            else:
                values = (costs.metric == "cosine") - here
            if costs.metric == "euclidean":
                # The root of the square less (when maximizing: plus) its error, and roundings of the root.
                values = np.sqrt(np.maximum(values - sign * off, 0))
                off = 4 * ROUNDING * values
            yield numbers.start, _cut(costs, sign * values - off)


def _cut(costs: PointCosts, bounds: Any) -> Any:
    return bounds if costs.limit is None else np.minimum(bounds, costs.limit)
