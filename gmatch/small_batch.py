"""Batches of few and small problems, solved one by one on the short way: threads would take longer to start."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .foreign import EXACT_IN_FLOAT64
from .methods import FEW_ROWS_REASON
from .problems.points import look_like_points
from .result import Assignment, AssignmentBatch, Status
from .types import WORKING_TYPES

Solve = Callable[[Any], Assignment | None]
# Entries of all problems. From here on the threads of a batch gain more than they cost (2 cores of an EPYC).
FEW_ENTRIES = 1 << 17
# Entries of a matrix. Fewer that do not lie in one piece are read in less time than they are copied.
FEW_TO_COPY = 512
COUNTERS = "start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected"
STEPS = "start", "search", "augment", "price"
NOTHING_DONE = {
    "method": "jv", "reason": FEW_ROWS_REASON, "initial": "reduce", "backend": "cpu", "team": "none", "threads": 0,
    **dict.fromkeys(COUNTERS, 0), "levels_per_phase": [], "augmentations_per_phase": [],
}  # fmt: skip


def batch_of_small(cost: Any, solve: Solve) -> AssignmentBatch | None:
    """The assignments of an array of three dimensions or a sequence of matrices; None if it needs the long way."""
    if not len(cost) or not (_is_array(cost) if type(cost) is np.ndarray else _are_matrices(cost)):
        return None
    items: list[Any] = []
    for matrix in cost:
        item = solve(_in_one_piece(matrix)) if matrix.size else _without_pairs(matrix)
        if item is None:
            return None
        items.append(item)
    first = next((item for item, matrix in zip(items, cost, strict=True) if matrix.size), None)
    if first is None:
        return None
    asked = {"maximize": first.maximize, "cost_limit": first.cost_limit}
    for item, matrix in zip(items, cost, strict=True):
        if not matrix.size:
            vars(item).update(asked)
    batch = AssignmentBatch.later(_field, None, (items, cost))
    shapes = np.full((len(cost), 2), cost.shape[1:]) if type(cost) is np.ndarray else [one.shape for one in cost]
    vars(batch).update(shapes=np.array(shapes, np.int64), covers={}, **asked)
    return batch


def _in_one_piece(matrix: Any) -> Any:
    """By rows, or by columns where these are fewer; columns of a wide array are short rows far apart, slow to read."""
    if matrix.size < FEW_TO_COPY or matrix.flags.forc:
        return matrix
    return matrix.copy(order="C" if len(matrix) <= matrix.shape[1] else "F")


def _without_pairs(matrix: Any) -> Assignment:
    """The assignment of a matrix without rows or columns."""
    rows, columns = (np.full(length, -1, np.int32) for length in matrix.shape)
    u, v = (np.zeros(length, np.int64 if matrix.dtype.kind == "i" else np.float64) for length in matrix.shape)
    stats = {**NOTHING_DONE, "seconds": dict.fromkeys((*STEPS, "ties"), 0.0)}
    return Assignment(rows, columns, u, v, matrix.reshape(-1), Status.OPTIMAL, stats=stats)


def of_nothing(cost: Any, options: dict[str, Any]) -> Assignment | None:
    """The assignment of a matrix without rows or columns, by options that `small` takes; None for one with both.

    Trackers have many: frames without detections, and detections without tracks.
    """
    limit = options.get("cost_limit")
    if cost.ndim != 2 or cost.size or cost.dtype not in WORKING_TYPES or max(cost.shape) >= FEW_ENTRIES:
        return None
    if limit is not None and not (type(limit) is float and math.isfinite(limit) and cost.dtype.kind == "f"):
        return None
    assignment = _without_pairs(cost)
    vars(assignment).update(maximize=options.get("maximize", False), cost_limit=limit)
    return assignment


def may_be_batch(cost: Any) -> bool:
    """Whether it looks like a batch: a sequence of arrays, or an array of three dimensions."""
    if type(cost) is np.ndarray:
        return cost.ndim == 3
    return isinstance(cost, list | tuple) and len(cost) > 0 and type(cost[0]) is np.ndarray


def unnested(cost: list[Any]) -> Any:
    """An array of three dimensions for lists of lists of lists of numbers; all else itself."""
    if not cost or type(cost[0]) is not list or not cost[0] or type(cost[0][0]) is not list:
        return cost
    if any(type(matrix) is not list for matrix in cost) or {type(row) for matrix in cost for row in matrix} != {list}:
        return cost
    try:
        array = np.array(cost)
    except MemoryError:
        raise
    except Exception:  # whatever entries raise: the long way explains it
        return cost
    return array if array.ndim == 3 and array.dtype.kind in "bif" and not may_have_rounded(array) else cost


def may_have_rounded(array: Any) -> bool:
    """Whether an array that NumPy made of numbers may hold integers that it rounded."""
    if array.dtype != np.float64:
        return False
    large = abs(array) >= EXACT_IN_FLOAT64
    return bool(large.any() and np.isfinite(array[large]).any())


def _is_array(cost: Any) -> bool:
    return cost.ndim == 3 and cost.size < FEW_ENTRIES and cost.dtype in WORKING_TYPES


def _are_matrices(cost: Sequence[Any]) -> bool:
    """Whether they are few matrices of one type, and not two clouds of points, of which the long way warns."""
    if not all(type(matrix) is np.ndarray and matrix.ndim == 2 for matrix in cost):
        return False
    dtype = cost[0].dtype
    if dtype not in WORKING_TYPES or any(matrix.dtype != dtype for matrix in cost):
        return False
    return sum(matrix.size for matrix in cost) < FEW_ENTRIES and not look_like_points(cost)


def _field(name: str, items: list[Assignment], cost: Any) -> Any:
    """A field of the batch that has no default, from its assignments."""
    if name == "status":
        return tuple(item.status for item in items)
    if name == "exact":
        return {number: item.exact for number, item in enumerate(items) if item.exact is not None}
    if name == "stats":
        return _stats(items)
    parts = [getattr(item, name) for item in items]
    if name != "pair_costs":
        return _padded(parts, -1 if name.endswith("match") else 0)
    rows = max(len(matrix) for matrix in cost)
    entries = np.zeros((len(items), rows), parts[0].dtype)
    for line, item, part in zip(entries, items, parts, strict=True):
        line[item.row_ind] = part
    return entries


def _padded(parts: list[Any], fill: int) -> Any:
    """Arrays of one dimension as the rows of one of two."""
    padded = np.full((len(parts), max(map(len, parts))), fill, parts[0].dtype)
    for line, part in zip(padded, parts, strict=True):
        line[: len(part)] = part
    return padded


def _stats(items: list[Assignment]) -> dict[str, Any]:
    """As of one assignment, with an array for each counter."""
    stats = [item.stats for item in items]
    first = next(one for item, one in zip(items, stats, strict=True) if len(item.row_match) and len(item.col_match))
    return {
        **{name: first[name] for name in ("method", "reason", "initial", "backend", "team", "threads")},
        "seconds": {step: np.array([one["seconds"][step] for one in stats]) for step in STEPS},
        **{name: np.array([one[name] for one in stats]) for name in COUNTERS},
    }
