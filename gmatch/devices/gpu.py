"""What arrays of a GPU hold: one launch each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..layouts import Layout
from ..programs.catalogue import INSPECT_COSTS, ROWS
from ..programs.entry_points import BLOCK_SIZE, GRID_BLOCK_SIZE, c_type, cupy, entry_point, entry_points, index_types
from ..programs.launch import Words
from ..types import number_type

INSPECTION, COST_INSPECTION = map(Layout, ("Inspection", "CostInspection"))
CSR_EDGES, ENTRIES = map(Layout, ("CsrEdges", "Entries"))
SEEN_IN_GRAPH = INSPECTION.getter("falling_offsets", "first_offset", "last_offset", "bad_columns")
SEEN_IN_COSTS = COST_INSPECTION.getter(
    "lowest", "minus_highest", "nans", "plus_infs", "minus_infs", "fractions", "bound", "expensive", "below"
)
# The programs that run before and after the program of a method.
OF_COSTS = ("inspect_costs_grid", "find_pair_costs_grid")


def inspect(indptr: Any, indices: Any, columns: int) -> tuple[int, int, int, int]:
    with indices.device as device:
        lanes = lanes_for(len(indices), len(indptr) - 1)
        kernel = entry_point(ROWS, "inspect_grid", device.id, **index_types(indptr, indices), lanes=lanes)
        seen = Words(len(INSPECTION.names))
        blocks = max(1, min(device.attributes["MultiProcessorCount"], len(indices) // BLOCK_SIZE))
        edges = csr_edges(indptr, indices, columns)
        kernel((blocks,), (BLOCK_SIZE,), (edges, np.int64(len(indices)), seen.begin, seen.arrivals))
        falling, first, last, bad = SEEN_IN_GRAPH(seen.read())
    return falling, first, last, bad


def csr_edges(indptr: Any, indices: Any, columns: int) -> Any:
    """A `CsrEdges` of csrc."""
    return CSR_EDGES.pack(
        num_rows=len(indptr) - 1, num_columns=columns, offsets=indptr.data.ptr, columns=indices.data.ptr
    )


def lanes_for(entries: int, rows: int) -> int:
    """Threads that share a row, by the mean degree."""
    degree = entries / max(1, rows)
    return 32 if degree > 12 else 8 if degree > 4 else 4


def inspect_costs(array: Any, threads: int | None = None) -> tuple[Any, Any, bool, bool, bool, bool]:
    """The lowest and the highest finite entry, whether there are NaN, +inf and -inf, and no fractions."""
    seen, *_ = _inspected(array, 0, 0)
    return seen


class ExpensiveEntries(NamedTuple):
    """The entries that cost at least a bound: the highest cost of a sample, or the limit if that is less."""

    number: int
    bound: int | float
    below: int | float
    """The entry that costs most among all others, if there are others."""


def inspect_with_expensive(array: Any, maximize: bool, cost_limit: Any) -> tuple[Any, ExpensiveEntries]:
    """What `inspect_costs` finds, and the entries that cost most: see `ExpensiveEntries`."""
    whole = number_type(array.dtype).kind == "i"
    none = -(2**63) if maximize else 2**63 - 1
    bound = none if cost_limit is None else to_order(cost_limit, whole)
    seen, bound, expensive, below = _inspected(array, bound, -1 if maximize else 1)
    return seen, ExpensiveEntries(expensive, from_order(bound, whole), from_order(below if maximize else ~below, whole))


def _inspected(array: Any, bound: int, sign: int) -> tuple[tuple[Any, Any, bool, bool, bool, bool], int, int, int]:
    with array.device as device:
        kernel, _ = entry_points(INSPECT_COSTS, OF_COSTS, device.id, cost=c_type(array))
        seen = Words(len(COST_INSPECTION.names))
        blocks = max(1, min(device.attributes["MultiProcessorCount"], array.size // BLOCK_SIZE))
        arguments = _entries(array), np.int64(bound), np.int32(sign), seen.begin, seen.arrivals
        kernel((blocks,), (BLOCK_SIZE,), arguments)
        lowest, minus_highest, nans, plus_infs, minus_infs, fractions, *of_expensive = SEEN_IN_COSTS(seen.read())
    whole = number_type(array.dtype).kind == "i"
    range_of = (from_order(lowest, whole), from_order(~minus_highest, whole))
    return (*range_of, nans > 0, plus_infs > 0, minus_infs > 0, fractions == 0), *of_expensive


def entries_of_pairs(array: Any, row_match: Any, device: int) -> Any:
    """The entry of each row of a matrix in its column; any entry for a free row. Does not wait for the result."""
    rows = len(row_match)
    entries = cupy.empty(rows, array.dtype)
    _, kernel = entry_points(INSPECT_COSTS, OF_COSTS, device, cost=c_type(array))
    blocks = max(1, min(cupy.cuda.Device(device).attributes["MultiProcessorCount"], rows // GRID_BLOCK_SIZE))
    words = Words(0)  # until the launch, or another thread could have their memory first
    kernel((blocks,), (GRID_BLOCK_SIZE,), (_entries(array), row_match, entries, words.arrivals))
    return entries


def _entries(array: Any) -> Any:
    """An `Entries` of csrc."""
    (rows, columns), (row_stride, column_stride) = array.shape, strides_of(array)
    return ENTRIES.pack(
        first=array.data.ptr, num_rows=rows, num_columns=columns, row_stride=row_stride, column_stride=column_stride
    )


def strides_of(array: Any) -> tuple[int, int]:
    """The strides of a matrix, in entries."""
    (row_stride, column_stride), size = array.strides, array.itemsize
    return row_stride // size, column_stride // size


def from_order(place: int, whole: bool) -> int | float:
    """The number that `order_of` in csrc/costs/inspection.cuh puts in a place; infinity if no float was finite."""
    if whole:
        return place
    if place in (2**63 - 1, -(2**63)):
        return float(np.copysign(np.inf, place))
    return float(np.int64(place if place >= 0 else place ^ (2**63 - 1)).view(np.float64))


def to_order(number: int | float, whole: bool) -> int:
    """The place of a number: see `from_order`. A whole number beyond 64 bits has the place of the nearest within."""
    if whole:
        return int(min(max(number, -(2**63)), 2**63 - 1))
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else bits ^ (2**63 - 1)


def has_duplicates(indptr: Any, indices: Any, columns: int) -> bool:
    """Whether a row may have two entries in one column: whether a row is not sorted."""
    seen = Words(1)
    _run_over_rows("count_unsorted_grid", indptr, indices, columns, seen.begin, seen.arrivals)
    return seen.read() != [0]


def find_entries(indptr: Any, indices: Any, columns: int, row_match: Any) -> Any:
    with indices.device:
        positions = cupy.empty(len(row_match), np.int64)
        words = Words(0)  # until the launch, or another thread could have their memory first
        _run_over_rows("find_entries_grid", indptr, indices, columns, row_match, positions, words.arrivals)
    return positions


def _run_over_rows(name: str, indptr: Any, indices: Any, columns: int, *others: Any) -> None:
    """Launches an entry point of csrc/programs/rows.cu with all rows at once, up to a full GPU."""
    rows = len(indptr) - 1
    lanes = lanes_for(len(indices), rows)
    with indices.device as device:
        kernel = entry_point(ROWS, name, device.id, **index_types(indptr, indices), lanes=lanes)
        most = 2 * device.attributes["MultiProcessorCount"]
        blocks = max(1, min(-(-rows * lanes // GRID_BLOCK_SIZE), most))
        kernel((blocks,), (GRID_BLOCK_SIZE,), (csr_edges(indptr, indices, columns), *others))
