"""Batches of small problems on the short way: all in one call of the extension, the results made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from . import _native
from .devices.cpu import available_threads
from .foreign import may_have_rounded
from .layouts import Arrays, Layout
from .result import Assignment, Status

# The layout of the answer of a small call, for integer costs and for others; see csrc/bindings/small_cells.hpp.
CELLS = {True: Arrays("SmallCells<long long>"), False: Arrays("SmallCells<double>")}
SMALL_COUNTERS = Layout("SmallCounters")
WORD = 8  # bytes
INT32, INT64, FLOAT64 = map(np.dtype, (np.int32, np.int64, np.float64))
COUNTERS = "start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected"
STEPS = "start", "search", "augment", "price"
WHOLE_DUALS, MAXIMIZE_ASKED, TYPE_OF_LIMIT, LIMIT = map(
    SMALL_COUNTERS.names.index, ("whole_duals", "maximize", "type_of_limit", "limit")
)
# A small matrix has at most this number of rows and columns together. Larger ones are not copied for the extension.
MOST_ROWS_AND_COLUMNS = 4 * _native.SMALL_SIDE


def most_threads() -> int:
    """The most threads of a batch. Called only if there is work for two."""
    return available_threads()


def counters_in(cells: Any) -> Any:
    """The counters with which cells begin."""
    return CELLS[True].views["counters"](cells, 0, 0)  # at the beginning, whatever the shape


def limit_in(counters: Any) -> int | float | None:
    """The limit of a call, from its counters."""
    kind = chr(counters[TYPE_OF_LIMIT])
    return None if kind == "\0" else counters.view(kind)[LIMIT].item()


class Items:
    """The assignments of a batch, made when they are asked for; their arrays are views.

    Each problem has a line: the number of the word where its cells begin. If the problem has duals in tiers or a cover,
    its line is a tuple of that number and the duals or the cover.
    """

    # The rows and columns of each problem of a padded array; (0, 0) if the batch has no padding.
    outer: tuple[int, int] = (0, 0)

    def __init__(self, memory: Any, lines: list[Any], kind: Any, make_field: Callable[..., Any], threads: int) -> None:
        self.memory, self.lines, self.kind, self.make_field, self.threads = memory, lines, kind, make_field, threads

    @property
    def dual_type(self) -> np.dtype[Any]:
        return INT64 if counters_in(self.memory)[WHOLE_DUALS] else FLOAT64

    @property
    def maximize(self) -> bool:
        return bool(counters_in(self.memory)[MAXIMIZE_ASKED])

    @property
    def cost_limit(self) -> int | float | None:
        return limit_in(counters_in(self.memory))

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, number: int) -> Assignment:
        one: Assignment = _native.result_of_small_batch(self.kind, self.make_field, self.memory, self.lines[number])
        return one

    def __iter__(self) -> Iterator[Assignment]:
        return iter(_native.results_of_small_batch(self.kind, self.make_field, self.memory, self.lines))

    def as_tensors(self, make_field: Callable[..., Any], from_numpy: Any, problems: Any) -> list[Assignment]:
        """The assignments, with pairs that are tensors of torch, and with fields make_field(name, problems, number)."""
        return _native.results_as_tensors(self.kind, make_field, from_numpy, self.memory, self.lines, problems)

    @property
    def covers(self) -> dict[int, Any]:
        """The covers of the problems that are partial, by the numbers of the problems."""
        return {number: last for number, last in self._last_of_lines() if type(last) is tuple}

    @property
    def exact(self) -> dict[int, Any]:
        """The duals in tiers, by the numbers of the problems that have some."""
        return {number: self[number].exact for number, last in self._last_of_lines() if type(last) is bytes}

    def _last_of_lines(self) -> list[tuple[int, Any]]:
        return [(number, line[1]) for number, line in enumerate(self.lines) if type(line) is tuple]

    def pairs_of(self, number: int) -> tuple[Any, Any]:
        """The rows and the columns of the pairs of a problem, with 64 bits: views."""
        return _native.pairs_of_small_batch(self.memory, self.lines[number])

    @cached_property
    def sizes(self) -> list[tuple[int, int, int]]:
        """The numbers of rows, columns and pairs of each problem."""
        return _native.sizes_of_small_batch(self.memory, self.lines)

    @cached_property
    def pairs(self) -> tuple[Any, Any, list[int]]:
        """The rows and the columns of all pairs, one problem after the other, and how many each has."""
        rows, columns = zip(*map(self.pairs_of, range(len(self))), strict=True)
        return np.concatenate(rows), np.concatenate(columns), [pairs for _, _, pairs in self.sizes]

    @property
    def shapes(self) -> Any:
        """Rows and columns of each problem."""
        return np.array([(rows, columns) for rows, columns, _ in self.sizes], np.int64)

    def padded(self, name: str) -> Any:
        """The arrays of all problems as the rows of one array: views, if all are equally long."""
        shapes = {(rows, columns) for rows, columns, _ in self.sizes}
        is_of_columns = name in ("col_match", "v")
        if shapes == {self.outer} or len(shapes) == 1 and self.outer == (0, 0):
            ((rows, columns),) = shapes
            fixed, by_pair, by_row, by_column = CELLS[True].begins[name]
            begin = fixed + by_pair * min(rows, columns) + by_row * rows + by_column * columns
            first = [line[0] if type(line) is tuple else line for line in self.lines[:2]]
            step = WORD * first[-1]
            dtype = self.dual_type if name in ("u", "v") else INT32
            length = columns if is_of_columns else rows
            return np.ndarray((len(self), length), dtype, self.memory, begin, (step, dtype.itemsize))
        parts = [getattr(item, name) for item in self]
        longest = max(self.outer[is_of_columns], *(part.size for part in parts))
        padded = np.full((len(parts), longest), -1 if name.endswith("match") else 0, parts[0].dtype)
        for line, part in zip(padded, parts, strict=True):
            line[: len(part)] = part
        return padded


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
    if (numbers := _native.array_of_lists(cost)) is not None:
        return numbers
    rows, depth = cost, 2
    if len(cost[0]) and type(cost[0][0]) in NESTED:
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
        return tuple(Status.OPTIMAL if pairs == min(rows, columns) else fewer for rows, columns, pairs in items.sizes)
    if name in ("maximize", "cost_limit", "covers", "exact", "shapes"):
        return getattr(items, name)
    if name == "stats":
        return _stats(items)
    if name != "pair_costs":
        return items.padded(name)
    parts = [item.pair_costs for item in items]
    rows, _, sizes = items.pairs
    entries = np.zeros((len(parts), max(items.outer[0], items.shapes[:, 0].max())), parts[0].dtype)
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
            name: np.array([one.get(name, 0) for one in stats])
            for name in (*COUNTERS, "rows_with_choice")
            if any(name in one for one in stats)
        },
    }
