"""`lap` and `max_matching` for small problems in memory, where the call would cost more than the solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix

from . import _native
from .backends.cpu import counters_by_name
from .problem import BipartiteGraph
from .result import Assignment, Matching, Status

SMALL_COUNTERS = _native.SMALL_COUNTERS
SMALL_SIDE = _native.SMALL_SIDE
DUAL_UPDATES = 2  # the counter's place among the cells
assign_small = _native.assign_small
empty, ndarray = np.empty, np.ndarray
int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
later = Assignment.later


def lap_small(cost: npt.NDArray[Any]) -> Assignment | None:
    """What `gmatch.lap(cost)` returns; None for costs that need the long way: large, of other types, or extreme."""
    cells = _solved(cost)
    return None if cells is None else later(_fields, _pairs, (cells, *cost.shape, cost.dtype))


def pairs_small(cost: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    """The pairs alone, as SciPy returns them; None also if all costs may be equal, for which SciPy has a rule."""
    cells = _solved(cost)
    if cells is None or cells[DUAL_UPDATES] == 0:
        return None
    pairs_end = SMALL_COUNTERS + min(cost.shape)
    return cells[SMALL_COUNTERS:pairs_end], cells[pairs_end : 2 * pairs_end - SMALL_COUNTERS]


def _solved(cost: npt.NDArray[Any]) -> Any:
    """The cells that csrc/module_shortest_paths.cpp fills, or None."""
    room = _room_for(cost.shape)
    if room == 0:
        return None
    cells = empty(room, int64)
    try:
        return cells if assign_small(cost, cells) else None
    except TypeError:  # of a type that no native array has
        return None


@lru_cache(maxsize=4096)
def _room_for(shape: tuple[int, ...]) -> int:
    """How many cells costs of a shape need; none if they are not small."""
    if len(shape) != 2:
        return 0
    fewer, more = sorted(shape)
    if fewer > SMALL_SIDE or fewer == 0 or fewer + more > 4 * SMALL_SIDE:
        return 0
    # A pair is three cells, rows and columns have a dual each, and half a cell for their mates.
    return SMALL_COUNTERS + 3 * fewer + (fewer + more) * 3 // 2 + 1


def _pairs(cells: Any, rows: int, columns: int, dtype: Any) -> tuple[Any, Any]:
    """The pairs, from the cells; see `_fields`."""
    pairs_end = SMALL_COUNTERS + min(rows, columns)
    return cells[SMALL_COUNTERS:pairs_end].copy(), cells[pairs_end : 2 * pairs_end - SMALL_COUNTERS].astype(int32)


def _fields(cells: Any, rows: int, columns: int, dtype: Any) -> dict[str, Any]:
    """The fields of an Assignment, from the cells."""
    dual_type = int64 if dtype.kind == "i" else np.float64
    costs_begin = 8 * (SMALL_COUNTERS + 2 * min(rows, columns))
    u_begin = costs_begin + 8 * min(rows, columns)
    v_begin = u_begin + 8 * rows
    mates_begin = v_begin + 8 * columns
    augmentations, rows_scanned, dual_updates, entries_read, nanoseconds = cells[:SMALL_COUNTERS].tolist()
    stats = {
        "method": "jv",
        "reason": "few rows: on one core shortest augmenting paths do least work",
        "initial": "reduce",
        "backend": "cpu",
        "team": "host",
        "threads": 1,
        "seconds": {"start": 0.0, "search": nanoseconds / 1e9, "augment": 0.0, "price": 0.0, "ties": 0.0},
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
        "row_match": ndarray(rows, int32, cells, mates_begin),
        "col_match": ndarray(columns, int32, cells, mates_begin + 4 * rows),
        "u": ndarray(rows, dual_type, cells, u_begin),
        "v": ndarray(columns, dual_type, cells, v_begin),
        "pair_costs": ndarray(min(rows, columns), dual_type, cells, costs_begin).astype(dtype),
        "status": Status.OPTIMAL, "maximize": False, "cost_limit": None, "cover": None, "stats": stats,
    }  # fmt: skip


# Of graphs that `matching_small` may take; and how many rows, columns and entries they may have in all.
SMALL_TYPES = frozenset((csr_array, csr_matrix, BipartiteGraph))
SMALL_GRAPH = 1 << 14
REPORT_SIZE = len(_native.REPORT_FIELDS)
match_small = _native.match_small


def matching_small(graph: Any, make_fields: Callable[..., dict[str, Any]]) -> Matching | None:
    """What `gmatch.max_matching(graph)` returns; None for graphs that need the long way, or are none."""
    shape, indptr, indices = graph.shape, graph.indptr, graph.indices
    if len(shape) != 2:
        return None
    rows, columns = shape
    if rows + columns + len(indices) > SMALL_GRAPH or len(indptr) != rows + 1:
        return None
    fewer = rows if rows < columns else columns
    cells = empty(REPORT_SIZE + (4 * (rows + columns) + 8 * (fewer + 1) + columns) // 8 + 1, int64)
    try:
        found = match_small(indptr, indices, columns, cells)
    except TypeError:  # of other types than int32, or not in host memory
        return None
    return (
        Matching.later(_fields_of_matching, _pairs_of_matching, (cells, rows, columns, make_fields)) if found else None
    )


def _pairs_of_matching(cells: Any, rows: int, columns: int, make_fields: Any) -> tuple[Any, Any]:
    row_match = ndarray(rows, int32, cells, 8 * REPORT_SIZE)
    row_ind = (row_match >= 0).nonzero()[0]
    return row_ind, row_match[row_ind]


def _fields_of_matching(
    cells: Any, rows: int, columns: int, make_fields: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    phases = min(rows, columns) + 1
    begin = 8 * REPORT_SIZE
    journal = ndarray((2, phases), int32, cells, begin + 4 * (rows + columns))
    return make_fields(
        ndarray(rows, int32, cells, begin),
        ndarray(columns, int32, cells, begin + 4 * rows),
        ndarray(columns, np.bool_, cells, begin + 4 * (rows + columns) + 8 * phases),
        counters_by_name(cells[:REPORT_SIZE].tolist(), journal, "host", 1),
        "mixed",
        "cpu",
    )
