"""Windows of what points cost, which a program fills on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backends import point_costs
from ..problems.gpu_windows import GpuWindows

# Rows of a pass over pairs of points: 4 times as many as all threads of an H200 read at once. Lists of the pairs that
# they pick take 50 MB.
ROWS_OF_A_PASS = 1 << 15


def has_few_coordinates(points: Any) -> bool:
    """Whether there are programs that compute what pairs of such points cost in a pass."""
    return bool(points.coordinates <= point_costs.DIMENSIONS[-1])


def slices_of_passes(rows: int) -> Iterator[slice]:
    """The rows of each pass over pairs of points."""
    return (slice(first, min(first + ROWS_OF_A_PASS, rows)) for first in range(0, rows, ROWS_OF_A_PASS))


class FilledWindows(GpuWindows):
    """What points x cost with points y.

    Attributes
    ----------
    of : PointCosts
        The points, on the host.
    points : PointsOnGPU
    by_pairs : bool
        Whether passes over pairs compute costs themselves: for few coordinates.
    """

    def __init__(self, points: Any) -> None:
        super().__init__(points.shape, 8)
        self._room = 0  # no pass over pairs reads windows, so none stays
        self.of = points
        self.points = self.on_gpu(*points.given)
        self.by_pairs = has_few_coordinates(points)

    def on_gpu(self, x: Any, y: Any) -> Any:
        """Other points on the GPU, with the metric of these points."""
        return point_costs.PointsOnGPU(x, y, self.of.metric, self.of.p)

    def each_pairs(self, numbers: Any) -> Iterator[slice]:
        """Slices of the rows that have some of these numbers (increasing), for passes over pairs."""
        for rows in slices_of_passes(self.shape[0]):
            begin, end = np.searchsorted(numbers, (rows.start, rows.stop))
            if end > begin:
                self.rows_seen += rows.stop - rows.start
                yield rows

    def _bring(self, number: int, later: list[int]) -> Any:
        return self.points.costs(self.windows[number])
