"""Programs on the threads of this process, in the compiled extension."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..errors import BackendUnavailable, InvalidInput
from ..methods import JV

if TYPE_CHECKING:
    from ..costs import DenseCosts
    from ..methods import AssignmentMethod, Method
    from ..problem import BipartiteGraph
    from ..sparse_costs import SparseCosts

NAME = "cpu"
MAX_THREADS = 1024
# Fewer entries a thread do not pay: a level has a barrier, which costs more than a small level (benchmarks/LOG.md).
ENTRIES_PER_THREAD = 1 << 24


def available_threads() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None, entries: int) -> int:
    """The threads to start: as asked, or as many as there is work for."""
    if threads is None:
        return 1 if entries < 2 * ENTRIES_PER_THREAD else min(available_threads(), entries // ENTRIES_PER_THREAD)
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or not 1 <= threads <= MAX_THREADS:
        raise InvalidInput(f"threads must be an integer from 1 to {MAX_THREADS}, or None; got {threads!r}")
    return int(threads)


def inspect(indptr: Any, indices: Any, columns: int) -> tuple[int, int, int, int]:
    """What the arrays of a graph hold: see `Inspection` in csrc/programs.cuh."""
    seen: tuple[int, int, int, int] = _native.inspect(indptr, indices, columns, thread_count(None, len(indices)))
    return seen


def to_device(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array


def match(
    graph: BipartiteGraph, method: Method, start: int, row_match: Any, threads: int | None
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Runs `match_cardinality`; returns row_match, col_match, the reached columns, and counters by name."""
    rows, columns = graph.shape
    team_size = thread_count(threads, graph.entries)
    if row_match is None:
        row_match = np.empty(rows, np.int32)
    col_match = np.empty(columns, np.int32)
    reached = np.empty(columns, np.bool_)
    levels, augmentations = journal = np.empty((2, min(rows, columns) + 1), np.int32)
    try:
        report = _native.match(
            graph.indptr, graph.indices, columns, row_match, col_match, reached.view(np.uint8), levels, augmentations,
            method.forest, start, method.shortest_only, team_size,
        )  # fmt: skip
    except RuntimeError as error:
        raise BackendUnavailable(str(error)) from None
    counters: dict[str, Any] = dict(zip(_native.REPORT_FIELDS, report, strict=True))
    counters["team"] = "host"
    counters["threads"] = team_size
    counters["levels_per_phase"], counters["augmentations_per_phase"] = journal[:, : counters["phases"]].tolist()
    return row_match, col_match, reached, counters


def inspect_costs(array: Any) -> tuple[Any, Any, bool, bool, bool]:
    """The lowest and the highest finite entry of a matrix, and whether it holds NaN, +inf and -inf."""
    return _native.inspect_costs(array, thread_count(None, array.size))


def assign(
    costs: DenseCosts, method: AssignmentMethod, start: int, row_match: Any, u: Any, v: Any, threads: int | None
) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Runs a method of assignment; returns row_match, col_match, u, v, and counters by name."""
    rows, columns = costs.array.shape
    # Given duals of columns hold only where no column can stay free with a dual that is not zero.
    has_duals = v is not None and rows == columns
    row_match = np.full(rows, -1, np.int32) if row_match is None else row_match
    col_match = np.empty(columns, np.int32)
    u = np.empty(rows, costs.dual_type)
    v = v if has_duals else np.zeros(columns, costs.dual_type)
    counters: dict[str, Any]
    if isinstance(method, JV):
        thread_count(threads, 0)
        counters = dict(_native.assign_jv(costs.array, costs.maximize, costs.limit, costs.lowest, costs.highest,
                                          row_match, col_match, u, v, has_duals))  # fmt: skip
        return row_match, col_match, u, v, counters | {"team": "host", "threads": 1}
    team_size = 1 if threads is None else thread_count(threads, 0)
    levels, augmentations = journal = np.empty((2, rows + 1), np.int32)
    try:
        report = _native.assign_tree(
            costs.array, costs.maximize, costs.limit, row_match, col_match, u, v, levels, augmentations, start,
            has_duals, method.paths == "many", team_size,
        )  # fmt: skip
    except RuntimeError as error:
        raise BackendUnavailable(str(error)) from None
    counters = dict(zip(_native.REPORT_FIELDS, report, strict=True))
    del counters["start"]
    counters["levels_per_phase"], counters["augmentations_per_phase"] = journal[:, : counters["phases"]].tolist()
    return row_match, col_match, u, v, counters | {"team": "host", "threads": team_size}


def has_duplicates(matrix: Any, indptr: Any, indices: Any, columns: int) -> bool:
    """Whether a row of `matrix`, whose checked arrays these are, has two entries in one column."""
    found: bool = _native.has_duplicates(indptr, indices, columns)
    return found


def assign_sparse(
    costs: SparseCosts, method: AssignmentMethod, start: int, row_match: Any, u: Any, v: Any, threads: int | None
) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """As `assign`, for sparse costs."""
    rows, columns = sorted(costs.shape)
    has_duals = v is not None and rows == columns
    row_match = np.full(rows, -1, np.int32) if row_match is None else row_match
    col_match = np.empty(columns, np.int32)
    u = np.empty(rows, costs.dual_type)
    v = v if has_duals else np.zeros(columns, costs.dual_type)
    arrays = costs.indptr, costs.indices, costs.data, costs.maximize
    counters: dict[str, Any]
    if isinstance(method, JV):
        thread_count(threads, 0)
        counters = dict(_native.assign_sparse_jv(*arrays, row_match, col_match, u, v, has_duals))
        return row_match, col_match, u, v, counters | {"team": "host", "threads": 1}
    team_size = 1 if threads is None else thread_count(threads, 0)
    levels, augmentations = journal = np.empty((2, rows + 1), np.int32)
    try:
        report = _native.assign_sparse_tree(
            *arrays, row_match, col_match, u, v, levels, augmentations, start, has_duals, method.paths == "many",
            team_size,
        )  # fmt: skip
    except RuntimeError as error:
        raise BackendUnavailable(str(error)) from None
    counters = dict(zip(_native.REPORT_FIELDS, report, strict=True))
    del counters["start"]
    counters["levels_per_phase"], counters["augmentations_per_phase"] = journal[:, : counters["phases"]].tolist()
    return row_match, col_match, u, v, counters | {"team": "host", "threads": team_size}
