"""The least cost less a dual, of all pairs of points of many coordinates: by bounds from matrix products in float64.

For a = |x| and b = |y|, |x - y|**2 = a**2 + b**2 - 2 x y, where the products of all pairs are one of two matrices.
Whatever the order of its sums, that is off by less than (d + 16) 2**-53 (a + b)**2, which is at most (d + 16) 2**-52
(a**2 + b**2). The product less this error bounds the cost from below. A pair is computed exactly if its bound does not
show that the duals are feasible for it. The solver has bounds in float32, and shares no code with this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Device, device_of, mover_to, namespace, to_host
from ..problems.points import PointCosts

# Coordinates of pairs that are computed together.
COORDINATES = 1 << 20
ROUNDING, OTHER_ROUNDINGS = 2.0**-53, 16
# The median of MIDDLE to 2 * MIDDLE points is the origin: bounds are tight for points near it.
MIDDLE = 1000
OF_PRODUCTS = "sqeuclidean", "euclidean", "dot", "cosine"


class Sizes(NamedTuple):
    """Entries of a matrix product, and entries that are checked together."""

    product: int
    entries: int


# A cache of the host holds the entries that are checked together. On a GPU there are more, so that launches are few.
SIZES: dict[Device, Sizes] = {"cpu": Sizes(1 << 22, 1 << 17), "gpu": Sizes(1 << 26, 1 << 26)}


class _Clouds(NamedTuple):
    """The points on a device."""

    x: Any
    y: Any
    sizes: Sizes


PairCosts = Callable[[Any, Any], Any]


def least_of_all_pairs(costs: PointCosts, cost_of: PairCosts, u: Any, v: Any, device: Device = "cpu") -> Any:
    """The least cost - v of each point x, in the minimisation form and up to the limit; or u, if the least is above u.

    `cost_of(rows, columns)` computes costs of pairs on the host. Bounds of all pairs are computed on the device.
    """
    least = u.copy()
    if not len(u) or not len(v):
        return least
    there = mover_to(device)
    v_there, u_there = there(v), there(u)
    clouds = _Clouds(there(costs.x), there(costs.y), SIZES[device])
    if costs.metric not in OF_PRODUCTS:
        for first, values in _by_coordinates(costs, clouds):
            some = slice(first, first + len(values))
            here = to_host((_minimised(costs, values) - v_there).min(axis=1))
            least[some] = np.minimum(least[some], here)
        return least
    together = max(1, COORDINATES // costs.x.shape[1])
    for first, bounds in _bounds(costs, clouds):
        rows, columns = map(to_host, (bounds - v_there < u_there[first : first + len(bounds), None]).nonzero())
        rows = rows + first
        for begin in range(0, len(rows), together):
            some = slice(begin, begin + together)
            here = _minimised(costs, cost_of(rows[some], columns[some])) - v[columns[some]]
            np.minimum.at(least, rows[some], here)
    return least


def _minimised(costs: PointCosts, values: Any) -> Any:
    values = -values if costs.maximize else values
    return values if costs.limit is None else values.clip(None, costs.limit)


def _by_coordinates(costs: PointCosts, clouds: _Clouds) -> Iterator[tuple[int, Any]]:
    """The costs of all pairs, some rows at a time, summed over the coordinates."""
    xp = namespace(clouds.x)
    step = max(1, clouds.sizes.entries // max(costs.shape[1], 1))
    for first in range(0, costs.shape[0], step):
        x = clouds.x[first : first + step]
        total = xp.zeros((len(x), costs.shape[1]))
        for k in range(x.shape[1]):
            away = abs(x[:, k, None] - clouds.y[:, k])
            if costs.metric == "chebyshev":
                xp.maximum(total, away, out=total)
            else:
                total += away if costs.p is None else away**costs.p
        yield first, total if costs.p is None else total ** (1 / costs.p)


def _bounds(costs: PointCosts, clouds: _Clouds) -> Iterator[tuple[int, Any]]:
    """Lower bounds of the costs of all pairs, in the minimisation form and up to the limit, some rows at a time."""
    x, y, sizes = clouds
    xp = namespace(x)
    squares, sign = costs.metric in ("sqeuclidean", "euclidean"), -1.0 if costs.maximize else 1.0
    if squares:
        middle = mover_to(device_of(x))(np.median(costs.y[:: 1 + len(y) // MIDDLE], axis=0))
        x, y = x - middle, y - middle
    of_x, of_y = ((array * array).sum(axis=1) for array in (x, y))
    turned = xp.ascontiguousarray(y.T)
    step, few = (max(1, size // costs.shape[1]) for size in sizes)
    for begin in range(0, costs.shape[0], step):
        products = x[begin : begin + step] @ turned
        for first in range(0, len(products), few):
            here = products[first : first + few]
            numbers = slice(begin + first, begin + first + len(here))
            off = (x.shape[1] + OTHER_ROUNDINGS) * ROUNDING * 2 * (of_x[numbers, None] + of_y) + np.finfo(float).tiny
            if squares:
                values = of_x[numbers, None] + of_y - 2 * here
            else:
                values = (costs.metric == "cosine") - here
            if costs.metric == "euclidean":
                # The root of the square less (when maximizing: plus) its error, and roundings of the root.
                values = xp.sqrt((values - sign * off).clip(0, None))
                off = 4 * ROUNDING * values
            yield numbers.start, _cut(costs, sign * values - off)


def _cut(costs: PointCosts, bounds: Any) -> Any:
    return bounds if costs.limit is None else bounds.clip(None, costs.limit)
