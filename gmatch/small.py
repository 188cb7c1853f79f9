"""`lap` for small matrices in memory, where the call would cost more than the solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from .result import Assignment, Status

SMALL_COUNTERS = _native.SMALL_COUNTERS
SMALL_SIDE = _native.SMALL_SIDE
DUAL_UPDATES = 2  # the counter's place among the cells
assign_small = _native.assign_small
empty = np.empty
int64 = np.dtype(np.int64)
later = Assignment.later


def lap_small(cost: npt.NDArray[Any]) -> Assignment | None:
    """What `gmatch.lap(cost)` returns; None for costs that need the long way: large, of other types, or extreme."""
    if cost.ndim != 2:
        return None
    rows, columns = cost.shape
    fewer = rows if rows < columns else columns
    if fewer > SMALL_SIDE or fewer == 0 or rows + columns > 4 * SMALL_SIDE:
        return None
    # Rows and columns have a dual each, and half a cell for their mates. csrc/module.cpp fills the cells.
    cells = empty(SMALL_COUNTERS + (rows + columns) * 3 // 2 + fewer + 1, int64)
    try:
        return later(_fields, (cells, rows, columns, cost.dtype)) if assign_small(cost, cells) else None
    except TypeError:  # of a type that no native array has
        return None


def pairs_small(cost: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    """The pairs alone, as SciPy returns them; None also if all costs may be equal, for which SciPy has a rule."""
    assignment = lap_small(cost)
    if assignment is None:
        return None
    cells, rows, columns, _ = assignment.made_from
    if cells[DUAL_UPDATES] == 0:
        return None
    row_match = cells[SMALL_COUNTERS + rows + columns + min(rows, columns) :].view(np.int32)[:rows]
    row_ind = np.arange(rows) if rows <= columns else (row_match >= 0).nonzero()[0]
    return row_ind, row_match.astype(int64) if rows <= columns else row_match[row_ind].astype(int64)


def _fields(cells: Any, rows: int, columns: int, dtype: Any) -> dict[str, Any]:
    """The fields of an Assignment, from the cells."""
    fewer = min(rows, columns)
    ends = np.cumsum([SMALL_COUNTERS, rows, columns, fewer])
    counters, *duals, rest = np.split(cells, ends)
    u, v, pair_costs = duals if dtype.kind == "i" else (part.view(np.float64) for part in duals)
    row_match, col_match, _ = np.split(rest.view(np.int32), [rows, rows + columns])
    augmentations, rows_scanned, dual_updates, entries_read, nanoseconds = counters.tolist()
    stats = {
        "method": "jv",
        "reason": "on one core shortest augmenting paths do least work",
        "initial": "reduce",
        "backend": "cpu",
        "team": "host",
        "threads": 1,
        "seconds": {"start": 0.0, "search": nanoseconds / 1e9, "augment": 0.0, "price": 0.0},
        "start_size": 0,
        "phases": augmentations,
        "levels": rows_scanned,
        "dual_steps": dual_updates,
        "rows_scanned": rows_scanned,
        "edges_inspected": entries_read,
        "levels_per_phase": [],
        "augmentations_per_phase": [],
    }
    return {
        "row_match": row_match, "col_match": col_match, "u": u, "v": v, "pair_costs": pair_costs.astype(dtype),
        "status": Status.OPTIMAL, "maximize": False, "cost_limit": None, "cover": None, "stats": stats,
    }  # fmt: skip
