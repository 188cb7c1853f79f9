"""Points in the order of a tree, and first duals of their pairs: from a cheapest assignment of centroids.

A group is GROUP points that follow one another in the order. Its points are near each other. The centroids of the
groups of two clouds are smaller clouds. A GPU assigns them as it assigns points, and a host assigns few of them. A
point of y then gets the least cost - u of all centroids of x as its dual. Such duals are off by about the width of a
group. Merigot, "A multiscale approach to optimal transport", Computer Graphics Forum 30 (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..backends.points import assign_points
from ..problems.points import PointCosts

# Points of a group. Passes over pairs rule out tiles of two groups at once.
GROUP = 16
# A host assigns at most this number of centroids. On the host of an H200 6,250 take 90 to 220 ms, and the GPU less:
# benchmarks/log/points.md, "A GPU assigns centroids".
MOST_ON_HOST = 1 << 11
# Pairs of each point with points of the group that its group is matched with. One pair is enough for an assignment. The
# other pairs let paths go round it.
MATES = 4


def order_of_tree(points: Any, size: int = GROUP) -> Any:
    """Numbers of points of the host, in an order in which the points of each group of this size are near each other."""
    made: Any = import_module("..backends.point_order", __package__)
    return made.order_of_tree(points, size)


def centroids_of(points: Any, size: int) -> Any:
    """The centroid of each `size` points that follow one another. The last points may be in no group."""
    groups = len(points) // size
    return points[: groups * size].reshape(groups, size, -1).mean(axis=1)


class Coarse(NamedTuple):
    """A cheapest assignment of centroids of GROUP points each, in the order of a tree."""

    points: PointCosts
    u: Any
    col_of: Any

    @classmethod
    def of(cls, points: PointCosts, assigned: Callable[[PointCosts], tuple[Any, Any]]) -> Coarse | None:
        """The assignment for points in the order of a tree, as many x as y, all to be matched.

        `assigned` gives the duals and the mates of the rows of a cheapest assignment of more than MOST_ON_HOST
        centroids. Returns None if there are fewer points than a group has, or if their costs do not suit trees.
        """
        groups = points.shape[0] // GROUP
        if not groups:
            return None
        clouds = (centroids_of(cloud, GROUP) for cloud in (points.x, points.y))
        metric = "dot" if points.metric == "cosine" else points.metric  # all costs differ by one constant
        coarse = PointCosts(*clouds, metric=metric, p=points.p, maximize=points.maximize)
        if not coarse.suit_trees():
            return None
        if groups > MOST_ON_HOST:
            return cls(coarse, *assigned(coarse))
        found = assign_points(coarse.for_trees(), None, None, None, 0.0)
        return cls(coarse, found.u, found.row_match)

    def pairs(self, number: int) -> tuple[Any, Any]:
        """Pairs of points that an assignment of `number` rows can be made of.

        Each x has MATES points y of the group that its group is matched with. Points after the last group have one.
        """
        rows = np.arange(len(self.u) * GROUP)
        first, at = self.col_of[rows // GROUP].astype(np.int64) * GROUP, rows % GROUP
        columns = first[:, None] + (at[:, None] + np.arange(MATES)) % GROUP
        rest = np.arange(len(rows), number)
        return np.append(np.repeat(rows, MATES), rest), np.append(columns.ravel(), rest)
