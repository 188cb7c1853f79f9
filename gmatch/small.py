"""`lap` and `max_matching` for small problems in memory, where the call would cost more than the solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, coo_matrix, csc_array, csc_matrix, csr_array, csr_matrix

from . import _native
from .backends.cpu import counters_by_name
from .backends.layouts import REPORT, Arrays, Layout, numbers_of
from .errors import InvalidInput
from .methods import FEW_ROWS_REASON, JV, LAID_OUT, ONE_CORE_REASON
from .problems.graph import BipartiteGraph
from .result import Assignment, Matching, Status

SMALL_SIDE = _native.SMALL_SIDE
# What a small call leaves, as csrc/bindings/serial.cpp says, for costs that are integers and for others.
CELLS = {True: Arrays("SmallCells<long long>"), False: Arrays("SmallCells<double>")}
COUNTED = Layout("SmallCounters").getter(
    "augmentations", "rows_scanned", "dual_updates", "entries_read", "nanoseconds", "start_size"
)
VECTORS = ("row_match", "col_match", "u", "v")
# Where the pairs begin, which is asked for most often: at a fixed place, and after all rows of pairs.
PAIR_ROWS, *_ = CELLS[True].begins["pair_rows"]
PAIR_COLUMNS, BYTES_OF_A_ROW, *_ = CELLS[True].begins["pair_columns"]
assign_small = _native.assign_small
empty, ndarray = np.empty, np.ndarray
int32, int64 = np.dtype(np.int32), np.dtype(np.int64)


def pairs_small(cost: npt.NDArray[Any], maximize: bool) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    """The pairs alone, as SciPy returns them; None also if all costs are equal, for which SciPy has a rule."""
    cells = assign_small(cost, maximize, False)
    return None if cells is None else _pair_indices(cells, cost.shape)


def _pair_indices(cells: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The rows and the columns of the pairs, from the cells: views."""
    rows, columns = shape
    pairs = rows if rows < columns else columns
    return ndarray(pairs, int64, cells, PAIR_ROWS), ndarray(pairs, int64, cells, PAIR_COLUMNS + BYTES_OF_A_ROW * pairs)


def _pairs(cells: Any, rows: int, columns: int, type_of_costs: str) -> tuple[Any, Any]:
    """The same, with the columns as numbers of 32 bits, from the end of the cells. Unpacked again, the same memory."""
    pairs = rows if rows < columns else columns
    return ndarray(pairs, int64, cells, PAIR_ROWS), ndarray(pairs, int32, cells, len(cells) - 4 * pairs)


def _field(name: str, cells: Any, rows: int, columns: int, type_of_costs: str, *, reason: str) -> Any:
    """A field of an Assignment that has no default, from the cells."""
    if name == "status":
        return Status.OPTIMAL
    if name == "stats":
        return _stats(CELLS[True].views["counters"](cells, rows, columns), reason)
    dtype = np.dtype(type_of_costs)
    views = CELLS[dtype.kind == "i"].views
    if name in VECTORS:
        return views[name](cells, rows, columns)
    if name == "pair_costs":
        return views[name](cells, rows, columns).astype(dtype)
    raise AttributeError(name)


def _stats(counters: Any, reason: str) -> dict[str, Any]:
    augmentations, rows_scanned, dual_updates, entries_read, nanoseconds, start_size = COUNTED(counters.tolist())
    return {
        "method": "jv",
        "reason": reason,
        "initial": "reduce",
        "backend": "cpu",
        "team": "host",
        "threads": 1,
        "seconds": {"start": 0.0, "search": nanoseconds / 1e9, "augment": 0.0, "price": 0.0, "ties": 0.0},
        "start_size": start_size,
        "phases": augmentations,
        "levels": rows_scanned,
        "dual_steps": dual_updates,
        "rows_scanned": rows_scanned,
        "edges_inspected": entries_read,
        "levels_per_phase": [],
        "augmentations_per_phase": [],
    }


def _solver(maximize: bool, reason: str) -> Callable[[npt.NDArray[Any]], Assignment | None]:
    return partial(_native.lap_small, Assignment, partial(_field, reason=reason), _pairs, maximize)


lap_small, jv_small = (
    tuple(_solver(maximize, reason) for maximize in (False, True)) for reason in (FEW_ROWS_REASON, "asked for")
)
"""What `gmatch.lap(cost)` and `gmatch.lap(cost, method="jv")` return, minimizing and maximizing.
None for costs that need the long way: large, of other types, or extreme."""


def _sparse_solver(storage: int, maximize: bool) -> Callable[[Any], Assignment | None]:
    make_field = partial(_field, reason=ONE_CORE_REASON)
    make_field_of_laid_out = partial(_field, reason=f"{LAID_OUT}; {FEW_ROWS_REASON}")
    return partial(
        _native.lap_small_sparse, Assignment, make_field, make_field_of_laid_out, _pairs, ndarray, storage, maximize
    )


STORAGE = numbers_of("Storage")
# By the type of a sparse matrix.
lap_small_sparse: dict[type, tuple[Callable[[Any], Assignment | None], ...]] = {
    kind: tuple(_sparse_solver(STORAGE[storage], maximize) for maximize in (False, True))
    for storage, kinds in {
        "rows": (csr_array, csr_matrix), "columns": (csc_array, csc_matrix), "coordinates": (coo_array, coo_matrix),
    }.items()
    for kind in kinds
}  # fmt: skip
"""The same as `lap_small`, of sparse matrices."""

SOLVERS_OF_SMALL: dict[str | type, tuple[Callable[[npt.NDArray[Any]], Assignment | None], ...]] = {
    "auto": lap_small, "jv": jv_small, JV: jv_small,
}  # fmt: skip
"""By the method, if it is a string, or by its type."""

TAKEN_BY_SMALL: dict[str, tuple[Any, ...]] = {
    "initial": ("auto",), "infeasible": ("raise",), "device": (None, "cpu"), "threads": (None, 1),
    "deterministic": (False,), "certify": (False,), "duals": (None,), "cost_limit": (None,), "sizes": (None,),
    "mask": (None,), "forbid_nan": (False, True),
}  # fmt: skip
"""Options of `lap`, but for `maximize` and `method`, and what they are where small costs take the short way: just these
objects, for what is equal to them may be an array, or not allowed."""


def small_first(lap: Callable[..., Any]) -> Callable[..., Any]:
    """`lap`, but for small costs the short way; at once where no option is given, for to look at each takes longer."""
    lap_of_small = lap_small[False]

    @wraps(lap)
    def lap_small_first(cost: Any, **options: Any) -> Any:
        if type(cost) is ndarray:
            solver = _solver_for(options, SOLVERS_OF_SMALL) if options else lap_of_small
        elif type(cost) in lap_small_sparse:
            solvers = lap_small_sparse[type(cost)]
            solver = _solver_for(options, {"auto": solvers}) if options else solvers[False]
        else:
            return lap(cost, **options)
        quick = None if solver is None else solver(cost)
        return lap(cost, **options) if quick is None else quick

    return lap_small_first


def _solver_for(
    options: dict[str, Any], by_method: dict[Any, tuple[Callable[[Any], Assignment | None], ...]]
) -> Callable[[Any], Assignment | None] | None:
    """That of small costs with these options of `lap`, if there is one; `lap` says what is wrong with them."""
    maximize, method = options.get("maximize", False), options.get("method", "auto")
    if maximize is not False and maximize is not True:
        return None
    for name, option in options.items():
        if name != "maximize" and name != "method":
            if all(option is not taken for taken in TAKEN_BY_SMALL.get(name, ())):
                return None
    solvers = by_method.get(method if type(method) is str else type(method))
    return None if solvers is None else solvers[maximize]


# Of graphs that `matching_small` may take; and how many rows, columns and entries they may have in all.
SMALL_TYPES = frozenset((csr_array, csr_matrix, BipartiteGraph))
SMALL_GRAPH = 1 << 16
MATCHING_CELLS = Arrays("MatchingCells")
VIEWS = MATCHING_CELLS.views
FIXED_BYTES, BYTES_BY_PAIR, BYTES_BY_ROW, BYTES_BY_COLUMN = MATCHING_CELLS.size
SIZE = REPORT.names.index("size")
match_small = _native.match_small


def matching_small(graph: Any, make_stats: Callable[..., Any]) -> Matching | None:
    """What `gmatch.max_matching(graph)` returns; None for those that need the long way, or are no graphs."""
    shape, indptr, indices = graph.shape, graph.indptr, graph.indices
    if type(indptr) is not ndarray or type(indices) is not ndarray or type(shape) is not tuple or len(shape) != 2:
        return None
    rows, columns = shape  # which are trusted no more than the arrays: a matrix can be changed
    if type(rows) is not int or type(columns) is not int or rows < 0 or columns < 0:
        return None
    if rows + columns + indices.size > SMALL_GRAPH or indptr.size != rows + 1:
        return None
    fewer = rows if rows < columns else columns
    size = FIXED_BYTES + BYTES_BY_PAIR * fewer + BYTES_BY_ROW * rows + BYTES_BY_COLUMN * columns
    cells = empty(size // 8 + 1, int64)
    try:
        found = match_small(indptr, indices, columns, cells)
    except TypeError:  # of other types than int32
        return None
    if found:
        matching = Matching.later(_field_of_matching, _pairs_of_matching, (cells, rows, columns, make_stats))
        if type(graph) is BipartiteGraph and graph.row_nodes is not None:
            vars(matching).update(row_nodes=graph.row_nodes, col_nodes=graph.col_nodes)
        return matching
    if type(graph) is BipartiteGraph:
        raise InvalidInput(
            "the arrays of a BipartiteGraph must not be changed, and these hold no graph any more; make a new one"
        )
    return None


def _pairs_of_matching(cells: Any, rows: int, columns: int, make_stats: Any) -> tuple[Any, Any]:
    row_match = VIEWS["row_match"](cells, rows, columns)
    row_ind = (row_match >= 0).nonzero()[0]
    return row_ind, row_match[row_ind]


def _field_of_matching(
    name: str, cells: Any, rows: int, columns: int, make_stats: Callable[..., dict[str, Any]]
) -> Any:
    """A field of a Matching, from the cells that csrc/bindings/matching.cpp fills."""
    if name == "size":
        return int(cells[SIZE])
    if name in ("row_match", "col_match"):
        return VIEWS[name](cells, rows, columns)
    if name == "reached_columns":
        return VIEWS["reached"](cells, rows, columns).view(np.bool_)
    if name != "stats":
        raise AttributeError(name)
    report, *journal = (VIEWS[array](cells, rows, columns) for array in ("report", "levels", "augmentations"))
    return make_stats(counters_by_name(report.tolist(), np.array(journal), "host", 1), "mixed", "cpu")
