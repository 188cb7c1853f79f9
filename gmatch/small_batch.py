"""Batches of small problems on the short way: all in one call of the extension, the results made when asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from . import _native
from .arrays import widened
from .devices.cpu import available_threads
from .foreign import may_have_rounded
from .layouts import Arrays, Layout
from .methods import FEW_ROWS_REASON
from .problems.points import warn_of_points
from .result import Assignment, AssignmentBatch, Status
from .types import NARROW_TYPES, WORKING_TYPES

# The layout of the answer of a small call, for integer costs and for others; see csrc/bindings/small_cells.hpp.
CELLS = {True: Arrays("SmallCells<long long>"), False: Arrays("SmallCells<double>")}
SMALL_COUNTERS = Layout("SmallCounters")
WORD = 8  # bytes
INT32, INT64, FLOAT64 = map(np.dtype, (np.int32, np.int64, np.float64))
# NumPy's types that are widened without loss to a type that the extension takes.
WIDENED = frozenset(map(np.dtype, (*(name for name in NARROW_TYPES if hasattr(np, name)), "bool", "uint32")))
COUNTERS = "start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected"
STEPS = "start", "search", "augment", "price"
NOTHING_DONE = {
    "method": "jv", "reason": FEW_ROWS_REASON, "initial": "reduce", "backend": "cpu", "team": "none", "threads": 0,
    **dict.fromkeys(COUNTERS, 0), "levels_per_phase": [], "augmentations_per_phase": [],
}  # fmt: skip
# A small matrix has at most this number of rows and columns together. Larger ones are not copied for the extension.
MOST_ROWS_AND_COLUMNS = 4 * _native.SMALL_SIDE
# The most rows or columns of a matrix that has no vertex on its other side.
LONGEST_EMPTY = 1 << 17


def most_threads() -> int:
    """The most threads of a batch. Called only if there is work for two."""
    return available_threads()


def batch_of_small(cost: Any, solver: Any, limit: int | float | None, threads: int | None) -> AssignmentBatch | None:
    """The assignments of an array of three dimensions or a sequence of matrices; None if it needs the long way.

    `solver` is a `Solver` of gmatch/small.py. The fields of each are made as the fields of an `Assignment` of small
    costs.
    """
    _, maximize, deterministic, may_be_partial, make_field = solver
    is_array = type(cost) is np.ndarray
    problems = cost if is_array or isinstance(cost, list) else list(cost)
    most = most_threads if threads is None else threads
    found = _native.lap_small_batch(problems, maximize, deterministic, may_be_partial, limit, most)
    if found is None and (wider := _widened(cost)) is not None:
        found = _native.lap_small_batch(wider, maximize, deterministic, may_be_partial, limit, most)
    if found is None:
        return None
    if not is_array and len(cost) == 2:
        warn_of_points(cost)
    items = Items(found, make_field, maximize, limit)
    return AssignmentBatch.later(field_of_batch, None, (items,))


def _widened(cost: Any) -> Any:
    """The array or arrays, widened to a type that the extension reads. None if they have one, or cannot be widened."""
    if type(cost) is np.ndarray:
        return widened(cost) if cost.dtype in WIDENED else None
    types = {matrix.dtype if type(matrix) is np.ndarray else None for matrix in cost}
    return list(map(widened, cost)) if len(types) == 1 and types <= WIDENED else None


class Items:
    """The assignments of a batch, made when they are asked for; their arrays are views."""

    def __init__(self, found: Any, make_field: Callable[..., Any], maximize: bool, limit: int | float | None) -> None:
        self.memory, self.places, self.letter, self.threads = found
        self.make_field, self.maximize = make_field, maximize
        self.cost_limit = None if limit is None else float(limit) if self.letter in "fd" else int(limit)

    @property
    def dual_type(self) -> np.dtype[Any]:
        return FLOAT64 if self.letter in "fd" else INT64

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> Assignment:
        one: Assignment = _native.result_of_small_batch(Assignment, self.make_field, self.memory, self.places[number])
        return one

    def __iter__(self) -> Iterator[Assignment]:
        return iter(_native.results_of_small_batch(Assignment, self.make_field, self.memory, self.places))

    def as_tensors(self, make_field: Callable[..., Any], from_numpy: Any, problems: Any) -> list[Assignment]:
        """The assignments, with pairs that are tensors of torch, and with fields make_field(name, problems, number)."""
        return _native.results_as_tensors(Assignment, make_field, from_numpy, self.memory, self.places, problems)

    @property
    def covers(self) -> dict[int, Any]:
        """The covers of the problems that are partial, by the numbers of the problems."""
        return {number: last for number, (*_, last) in enumerate(self.places) if type(last) is tuple}

    def pairs_of(self, number: int) -> tuple[Any, Any]:
        """The rows and the columns of the pairs of a problem, with 64 bits: views."""
        return _native.pairs_of_small_batch(self.memory, self.places[number])

    @cached_property
    def pairs(self) -> tuple[Any, Any, list[int]]:
        """The rows and the columns of all pairs, one problem after the other, and how many each has."""
        rows, columns = zip(*map(self.pairs_of, range(len(self.places))), strict=True)
        return np.concatenate(rows), np.concatenate(columns), [pairs for _, _, _, pairs, _ in self.places]

    @property
    def shapes(self) -> Any:
        """Rows and columns of each problem."""
        return np.array([(rows, columns) for _, rows, columns, *_ in self.places], np.int64)

    def padded(self, name: str) -> Any:
        """The arrays of all problems as the rows of one array: views, if all are equally long."""
        shapes = {(rows, columns) for _, rows, columns, *_ in self.places}
        if len(shapes) == 1:
            ((rows, columns),) = shapes
            fixed, by_pair, by_row, by_column = CELLS[True].begins[name]
            begin = fixed + by_pair * min(rows, columns) + by_row * rows + by_column * columns
            step = WORD * (self.places[1][0] if len(self.places) > 1 else 0)
            length = columns if name in ("col_match", "v") else rows
            dtype = self.dual_type if name in ("u", "v") else INT32
            return np.ndarray((len(self.places), length), dtype, self.memory, begin, (step, dtype.itemsize))
        parts = [getattr(item, name) for item in self]
        longest = max(part.size for part in parts)
        padded = np.full((len(parts), longest), -1 if name.endswith("match") else 0, parts[0].dtype)
        for line, part in zip(padded, parts, strict=True):
            line[: len(part)] = part
        return padded


def _without_pairs(matrix: Any) -> Assignment:
    """The assignment of a matrix without rows or columns."""
    rows, columns = (np.full(length, -1, np.int32) for length in matrix.shape)
    u, v = (np.zeros(length, np.int64 if matrix.dtype.kind == "i" else np.float64) for length in matrix.shape)
    stats = {**NOTHING_DONE, "seconds": dict.fromkeys((*STEPS, "ties"), 0.0)}
    return Assignment(rows, columns, u, v, matrix.reshape(-1), Status.OPTIMAL, stats=stats)


def of_nothing(cost: Any, options: dict[str, Any]) -> Assignment | None:
    """The assignment of a matrix without rows or columns, by options that `small` takes; None for other matrices.

    Trackers have many: frames without detections, and detections without tracks.
    """
    limit = options.get("cost_limit")
    if cost.ndim != 2 or cost.size or cost.dtype not in WORKING_TYPES or max(cost.shape) >= LONGEST_EMPTY:
        return None
    if limit is not None and not (type(limit) is float and math.isfinite(limit) and cost.dtype.kind == "f"):
        return None
    assignment = _without_pairs(cost)
    vars(assignment).update(maximize=options.get("maximize", False), cost_limit=limit)
    return assignment


NESTED = frozenset((list, tuple))
ROWS = NESTED | {np.ndarray}


def unnested(cost: list[Any] | tuple[Any, ...]) -> Any:
    """An array of nested lists or tuples of numbers, or of rows that are arrays, if NumPy rounds none.

    The array has two dimensions, or three if no row is an array. All other costs are returned as they are.
    """
    if not cost or type(cost[0]) not in ROWS:
        return cost
    if type(cost[0]) is np.ndarray and cost[0].ndim != 1:  # a batch
        return cost
    if not len(cost[0]):
        return cost
    if (numbers := _native.array_of_lists(cost)) is not None:
        return numbers
    rows, depth = cost, 2
    if type(cost[0][0]) in NESTED:
        if not NESTED.issuperset(map(type, cost)):
            return cost
        rows, depth = list(chain.from_iterable(cost)), 3
    if not ROWS.issuperset(map(type, rows)):
        return cost
    try:
        array = np.array(cost)
    except MemoryError:
        raise
    except Exception:  # whatever entries raise: the long way explains it
        return cost
    return array if array.ndim == depth and array.dtype.kind in "bif" and not may_have_rounded(array) else cost


def field_of_batch(name: str, items: Items) -> Any:
    """A field of the batch that was not set, from its assignments."""
    if name == "status":
        fewer = Status.PARTIAL if items.cost_limit is None else Status.LIMITED
        return tuple(
            Status.OPTIMAL if pairs == min(rows, columns) else fewer for _, rows, columns, pairs, _ in items.places
        )
    if name in ("maximize", "cost_limit", "covers"):
        return getattr(items, name)
    if name == "exact":
        return {number: items[number].exact for number, (*_, last) in enumerate(items.places) if type(last) is bytes}
    if name == "shapes":
        return items.shapes
    if name == "stats":
        return _stats(items)
    if name != "pair_costs":
        return items.padded(name)
    parts = [item.pair_costs for item in items]
    rows, _, sizes = items.pairs
    entries = np.zeros((len(parts), items.shapes[:, 0].max()), parts[0].dtype)
    entries[np.repeat(np.arange(len(parts)), sizes), rows] = np.concatenate(parts)
    return entries


def _stats(items: Items) -> dict[str, Any]:
    """The stats of all problems, as of one assignment, with an array for each counter."""
    stats = [item.stats for item in items]
    return {
        **{name: stats[0][name] for name in ("method", "reason", "initial", "backend", "team")},
        "threads": items.threads,
        "seconds": {step: np.array([one["seconds"][step] for one in stats]) for step in STEPS},
        **{
            name: np.array([one[name] for one in stats]) for name in (*COUNTERS, "rows_with_choice") if name in stats[0]
        },
    }
