"""What points cost with all others, some rows at a time, on the current GPU: see csrc/points/window.cuh."""

from __future__ import annotations

from typing import Any

import numpy as np

from .catalogue import POINT_COSTS
from .gpu import GRID_BLOCK_SIZE, Words, cupy, entry_point
from .layouts import Layout

POINT_WINDOW = Layout("PointWindow")


class PointsOnGPU:
    """Copies of two clouds on the current GPU.

    Parameters
    ----------
    x, y : float64 arrays of the host, shapes (n, d) and (m, d)
    metric : str
    p : float or None
    """

    def __init__(self, x: Any, y: Any, metric: str, p: float | None) -> None:
        self._x, self._y = cupy.asarray(x), cupy.ascontiguousarray(cupy.asarray(y).T)
        self._metric, self._p = metric, p or 0.0
        self._device = cupy.cuda.Device()

    def costs(self, rows: Any) -> Any:
        """What some x cost with all y: float64, as `PointCosts.of_pairs` says. `rows` is a slice, or numbers."""
        x = self._x[rows] if isinstance(rows, slice) else self._x[cupy.asarray(rows)]
        made = cupy.empty((len(x), self._y.shape[1]), np.float64)
        kernel = entry_point(POINT_COSTS, "point_costs_grid", self._device.id, metric=self._metric)
        words = Words(0)
        window = POINT_WINDOW.pack(
            x=x.data.ptr, y=self._y.data.ptr, costs=made.data.ptr, num_rows=len(x), num_columns=made.shape[1],
            dimension=x.shape[1], p=self._p,
        )  # fmt: skip
        blocks = self._device.attributes["MultiProcessorCount"]
        kernel((blocks,), (GRID_BLOCK_SIZE,), (window, words.arrivals))
        return made
