"""The best entries of some rows, and what pairs of points cost, in the compiled extension."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native

STRATA = _native.STRATA


def best_of_strata(keys: Any, first: int, height: int, far: Any, most: int) -> tuple[Any, Any]:
    """Rows and columns of the least keys below `far` in each row and stratum of columns: `most` of them, 1 or 2.

    Strata are columns of one number modulo `STRATA`. Each row begins to look for them at another column, in order of
    its number among all `height` rows; the first row of `keys` is number `first`. So rows whose keys tie do not all
    pick the same column. `keys` are float32, float64 or int64, in C order.
    """
    best = np.empty((len(keys), most * STRATA), np.int32)
    _native.best_of_strata(keys, first, height, far, most, best)
    rows, places = (best >= 0).nonzero()
    return rows, best[rows, places].astype(np.int64)


def costs_of_pairs(x: Any, y: Any, metric: str, rows: Any, columns: Any) -> Any:
    """What points x[rows] cost with y[columns], pair by pair, exactly as `PointCosts.of_pairs` says."""
    rows, columns = (np.ascontiguousarray(numbers, np.int64) for numbers in (rows, columns))
    costs = np.empty(len(rows))
    _native.costs_of_pairs(x, y, metric, rows, columns, costs)
    return costs
