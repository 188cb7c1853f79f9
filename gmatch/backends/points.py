"""Assignment of points on the host, in the compiled extension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..devices.cpu import thread_count
from .protocol import Assigned

if TYPE_CHECKING:
    from ..problems.points import PointCosts

# Numbers of coordinates that the trees are compiled for. Other points are filled up with zeros, which change no cost.
DIMENSIONS = (2, 3, 4, 8)
# The coarsest level has at most this number of points a side. Its core has all pairs that may matter.
SMALLEST = 256
# One thread is used for each this number of points of both clouds.
POINTS_PER_THREAD = 20_000
STEPS = ("order", "extend", "core", "auction", "search", "price", "finish")


def assign_points(costs: PointCosts, row_match: Any, v: Any, threads: int | None, gap: float) -> Assigned:
    """The cheapest assignment. Both clouds must have points.

    `row_match` and `v` are the start, or None. The answer may cost more than the optimum, by the share `gap` of it;
    ``stopped`` says whether it may.
    """
    rows, columns = costs.shape
    assert 0 < rows <= columns, "the smaller cloud comes first, and empty ones have no duals"
    found_match, col_match = np.empty(rows, np.int32), np.empty(columns, np.int32)
    u, found_v = np.empty(rows), np.empty(columns)
    # A limit that no pair reaches changes nothing, and would only round the duals.
    limit = math.inf if costs.limit is None or costs.limit >= costs.highest else float(costs.limit)
    counters = _native.assign_points(
        _filled_up(costs.x), _filled_up(costs.y), costs.metric, costs.p or 0.0, rows < columns or limit < math.inf,
        limit, costs.whole, costs.unit, np.empty(0, np.int32) if row_match is None else row_match,
        np.empty(0) if v is None else v, found_match, col_match, u, found_v, SMALLEST,
        thread_count(threads, (rows + columns) // POINTS_PER_THREAD), gap,
    )  # fmt: skip
    return Assigned(found_match, col_match, u, found_v, counters)


def _filled_up(points: Any) -> Any:
    coordinates = points.shape[1]
    dimension = next(size for size in DIMENSIONS if size >= coordinates)
    if dimension == coordinates:
        return points
    filled = np.zeros((len(points), dimension))
    filled[:, :coordinates] = points
    return filled
