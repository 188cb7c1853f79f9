"""`lap` and `max_matching` for small problems in memory, where the call would cost more than the solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix

from . import _native
from .backends.cpu import counters_by_name
from .methods import JV
from .problem import BipartiteGraph
from .result import Assignment, Matching, Status

SMALL_COUNTERS = _native.SMALL_COUNTERS
SMALL_SIDE = _native.SMALL_SIDE
assign_small = _native.assign_small
empty, ndarray = np.empty, np.ndarray
int32, int64 = np.dtype(np.int32), np.dtype(np.int64)


def pairs_small(cost: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    """The pairs alone, as SciPy returns them; None also if all costs are equal, for which SciPy has a rule."""
    cells = assign_small(cost, False)
    return None if cells is None else _pair_indices(cells, min(cost.shape))


def _pair_indices(cells: Any, pairs: int) -> tuple[Any, Any]:
    begin = 8 * SMALL_COUNTERS
    return ndarray(pairs, int64, cells, begin), ndarray(pairs, int64, cells, begin + 8 * pairs)


def _pairs(cells: Any, shape: tuple[int, int], dtype: Any) -> tuple[Any, Any]:
    """The pairs, from the cells; see `_fields`."""
    rows, columns = _pair_indices(cells, min(shape))
    return rows.copy(), columns.astype(int32)


FEW_ROWS = "few rows: on one core shortest augmenting paths do least work"


def _fields(cells: Any, shape: tuple[int, int], dtype: Any, reason: str = FEW_ROWS) -> dict[str, Any]:
    """The fields of an Assignment, from the cells that csrc/module_shortest_paths.cpp fills."""
    rows, columns = shape
    dual_type = int64 if dtype.kind == "i" else np.float64
    costs_begin = 8 * (SMALL_COUNTERS + 2 * min(rows, columns))
    u_begin = costs_begin + 8 * min(rows, columns)
    v_begin = u_begin + 8 * rows
    mates_begin = v_begin + 8 * columns
    counters = ndarray(SMALL_COUNTERS, int64, cells)
    augmentations, rows_scanned, dual_updates, entries_read, nanoseconds = counters.tolist()
    stats = {
        "method": "jv",
        "reason": reason,
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


lap_small = partial(_native.lap_small, Assignment, _fields, _pairs)
"""What `gmatch.lap(cost)` returns; None for costs that need the long way: large, of other types, or extreme."""

jv_small = partial(_native.lap_small, Assignment, partial(_fields, reason="asked for"), _pairs)
"""The same of `gmatch.lap(cost, method="jv")`."""

SOLVERS_OF_SMALL: dict[str | type, Callable[[npt.NDArray[Any]], Assignment | None]] = {
    "auto": lap_small, "jv": jv_small, JV: jv_small,
}  # fmt: skip
"""By the method, if it is a string, or by its type."""


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
