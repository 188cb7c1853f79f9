"""Centroids of fours of near points: a cloud of a quarter of the points, in any number of coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZE = 4


def centroids_of_fours(points: Any) -> Any:
    """The centroids of fours of near points. Up to three points are in no four."""
    whole = len(points) // SIZE * SIZE
    fours = points[_order_of(points)[:whole]].reshape(-1, SIZE, points.shape[1])
    return np.ascontiguousarray(fours.mean(axis=1))


def _order_of(points: Any) -> Any:
    """Numbers of points, so that the points of each four are near each other: halves along the widest coordinate."""
    order = np.arange(len(points))
    parts = [(0, len(points))]
    while parts:
        first, last = parts.pop()
        fours = (last - first) // SIZE
        if fours < 2:
            continue
        middle = first + fours // 2 * SIZE
        part = points[order[first:last]]
        widest = int((part.max(axis=0) - part.min(axis=0)).argmax())
        order[first:last] = order[first:last][part[:, widest].argpartition(middle - first)]
        parts += [(first, middle), (middle, last)]
    return order
