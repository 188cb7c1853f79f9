"""`lap` and `max_matching` for small problems in memory, whose calls would take longer than their solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, coo_matrix, csc_array, csc_matrix, csr_array, csr_matrix

from . import _native
from .arrays import as_dense_array, device_of
from .backends.cpu import counters_by_name, exact_duals
from .devices.cpu import MAX_THREADS
from .errors import GmatchError, InvalidInput
from .foreign import OF_NO_LIBRARY, gives_back, has_labels, labels_of
from .layouts import REPORT, Arrays, numbers_of
from .methods import FEW_PAIRS_REASON, FEW_ROWS_REASON, JV, LAID_OUT, ONE_CORE_REASON
from .problems.batch import checked_sizes, padding_is_last, sides_of_mask, sizes_of_sides
from .problems.graph import BipartiteGraph
from .problems.points import look_like_points, warn_of_points
from .result import Assignment, AssignmentBatch, Matching, Status
from .small_batch import (
    MAXIMIZE_ASKED,
    MOST_ROWS_AND_COLUMNS,
    SMALL_COUNTERS,
    TYPE_OF_LIMIT,
    WORD,
    Items,
    counters_in,
    field_of_batch,
    limit_in,
    most_threads,
    unnested,
)
from .small_gpu import small_on_gpu_first
from .tensors import LIBRARIES, Matrices, are_whole, comes_back, in_its_library

SMALL_SIDE = _native.SMALL_SIDE
COUNTED = SMALL_COUNTERS.getter("augmentations", "rows_scanned", "dual_updates", "entries_read", "ticks", "start_size")
WITH_CHOICE = SMALL_COUNTERS.names.index("rows_with_choice")
ABOUT = SMALL_COUNTERS.getter("rows", "columns", "size")
ndarray, empty, int64 = np.ndarray, np.empty, np.dtype(np.int64)

pairs_small: Callable[[npt.NDArray[Any], bool], tuple[npt.NDArray[Any], npt.NDArray[Any]] | None]
pairs_small = _native.pairs_small
"""The pairs alone of costs and `maximize`, as SciPy returns them; None also if all costs are equal, for which SciPy has
a rule."""


def _field(name: str, cells: Any, tiers: bytes | None, *, reason: str, deterministic: bool = False) -> Any:
    """A field of an Assignment that is no array and no attribute of its class, from the cells."""
    counters = counters_in(cells)
    rows, columns, pairs = ABOUT(counters.tolist())
    if name == "status":
        if pairs == min(rows, columns):
            return Status.OPTIMAL
        return Status.LIMITED if counters[TYPE_OF_LIMIT] else Status.PARTIAL
    if name == "exact":
        return None if tiers is None else exact_duals(tiers, rows, columns)
    if name == "stats":
        stats = _stats(counters, reason)
        has_choice = deterministic and min(rows, columns) > 0
        return stats | {"rows_with_choice": counters[WITH_CHOICE].item()} if has_choice else stats
    if name == "maximize":
        return bool(counters[MAXIMIZE_ASKED])
    if name == "cost_limit":
        return limit_in(counters)
    raise AttributeError(name)


def _stats(counters: Any, reason: str) -> dict[str, Any]:
    augmentations, rows_scanned, dual_updates, entries_read, ticks, start_size = COUNTED(counters.tolist())
    rows, columns, *_ = ABOUT(counters.tolist())
    is_empty = min(rows, columns) == 0
    if is_empty:
        reason = FEW_ROWS_REASON
    elif min(rows, columns) > SMALL_SIDE or rows + columns > MOST_ROWS_AND_COLUMNS:
        reason = FEW_PAIRS_REASON if reason == FEW_ROWS_REASON else reason
    return {
        "method": "jv",
        "reason": reason,
        "initial": "reduce",
        "backend": "cpu",
        "team": "none" if is_empty else "host",
        "threads": 0 if is_empty else 1,
        "seconds": {"start": 0.0, "search": _native.seconds_of_ticks(ticks), "augment": 0.0, "price": 0.0, "ties": 0.0},
        "start_size": start_size,
        "phases": augmentations,
        "levels": rows_scanned,
        "dual_steps": dual_updates,
        "rows_scanned": rows_scanned,
        "edges_inspected": entries_read,
        "levels_per_phase": [],
        "augmentations_per_phase": [],
    }


def _field_in_batch(name: str, cells: Any, line: int | tuple[int, Any], *, reason: str, deterministic: bool) -> Any:
    """A field of one problem's Assignment, from the cells of its batch and the problem's line: see `Items`."""
    begin, last = line if isinstance(line, tuple) else (line, None)
    tiers = last if type(last) is bytes else None
    return _field(name, memoryview(cells)[WORD * begin :], tiers, reason=reason, deterministic=deterministic)


class Solver(NamedTuple):
    """A function that solves small costs with certain options, and one that makes the fields of results of a batch."""

    solve: Callable[..., Assignment | None]
    maximize: bool
    deterministic: bool
    may_be_partial: bool = False
    make_field_in_batch: Any = None  # for dense costs


def _solver(maximize: bool, reason: str, deterministic: bool, may_be_partial: bool) -> Solver:
    make_field = partial(_field, reason=reason, deterministic=deterministic)
    solve = _native.small_solver(Assignment, make_field, maximize, deterministic, may_be_partial)
    make_field_in_batch = partial(_field_in_batch, reason=reason, deterministic=deterministic)
    return Solver(solve, maximize, deterministic, may_be_partial, make_field_in_batch)


# Options of `lap` as bits of the number of its solver.
MAXIMIZE, DETERMINISTIC, PARTIAL, METHOD_ASKED_FOR = 1, 2, 4, 8

Solvers = tuple[Solver, ...]
SMALL_SOLVERS: Solvers = tuple(
    _solver(maximize, reason, deterministic, may_be_partial)
    for reason in (FEW_ROWS_REASON, "asked for")
    for may_be_partial in (False, True)
    for deterministic in (False, True)
    for maximize in (False, True)
)
"""The solvers, by those bits. They take costs, after a limit if there is one, and return what `gmatch.lap` returns.
They return None for costs that need the long way: large, of other types, or extreme. With ``deterministic=True`` they
also return None if rounding hides which are cheapest, and there is a limit or 128 bits do not tell which."""


def _sparse_solver(storage: int, maximize: bool, deterministic: bool, may_be_partial: bool) -> Solver:
    make_field, make_field_of_laid_out = (
        partial(_field, reason=reason, deterministic=deterministic)
        for reason in (ONE_CORE_REASON, f"{LAID_OUT}; {FEW_ROWS_REASON}")
    )
    solve = _native.small_sparse_solver(
        Assignment, make_field, make_field_of_laid_out, storage, maximize, deterministic, may_be_partial
    )  # fmt: skip
    return Solver(solve, maximize, deterministic)


STORAGE = numbers_of("Storage")
# The solvers by the type of a sparse matrix.
lap_small_sparse: dict[type, Solvers] = {
    kind: tuple(
        _sparse_solver(STORAGE[storage], maximize, deterministic, may_be_partial)
        for may_be_partial in (False, True)
        for deterministic in (False, True)
        for maximize in (False, True)
    )
    for storage, kinds in {
        "rows": (csr_array, csr_matrix), "columns": (csc_array, csc_matrix), "coordinates": (coo_array, coo_matrix),
    }.items()
    for kind in kinds
}  # fmt: skip
"""The solvers of small sparse matrices, by the bits of MAXIMIZE, DETERMINISTIC and PARTIAL."""

OPTIONS_OF_SMALL: dict[str, Any] = {
    "cost": ..., "cost_limit": None,
    "method": ("auto", 0, "jv", METHOD_ASKED_FOR, JV, METHOD_ASKED_FOR),
    "maximize": (False, 0, True, MAXIMIZE),
    "deterministic": (False, 0, True, DETERMINISTIC),
    "forbid_nan": bool,
    "infeasible": ("raise", 0, "partial", PARTIAL),
    "initial": ("auto", 0), "device": (None, 0, "cpu", 0), "certify": (False, 0),
    "threads": (None, 0, range(1, MAX_THREADS + 1), 0), "duals": (None, 0), "sizes": (None, 0), "mask": (None, 0),
    "top_nodes": (None, 0),
}  # fmt: skip
"""Options of `lap` with which small costs take the short way. Each value of an option is followed by the bits that it
stands for. The costs and a limit may have any value, and `bool` stands for True and False.
csrc/bindings/small_options.hpp reads this table. One thread solves small costs, whatever `threads` says."""

# Sequences of arrays are batches.
SEQUENCES = frozenset((list, tuple, Matrices))


def small_first(lap: Callable[..., Any]) -> Callable[..., Any]:
    """`lap` with the short way for small costs in front. Arrays and sparse matrices need no frame of Python for it."""

    def lap_of_others(cost: Any, **options: Any) -> Any:
        kind = type(cost)
        if kind is ndarray and not options.keys().isdisjoint(PADDING):
            padded = _padded_first(cost, try_small, **options)
            return lap(cost, **options) if padded is None else padded
        plain_options = _plain_options(cost, options)
        plain = _plain_costs(cost, kind, plain_options)
        if plain is not cost or plain_options is not options:
            found = lap_small_first(plain, **plain_options)
            return found if kind in OF_NO_LIBRARY else _with_labels_of(cost, found)
        if kind in SEQUENCES and cost and type(cost[0]) is ndarray:  # not small matrices, or two clouds of points
            if kind is Matrices or not look_like_points(cost):
                return lap(cost, **options)
            warn_of_points(cost, 3)
            return lap_small_first(Matrices(cost), **options)
        if kind in lap_small_sparse:  # no small one
            return lap(cost, **options)
        if kind is not ndarray and comes_back(cost):
            if type(cost) in (list, tuple) and len(cost) == 2 and are_whole(cost):
                warn_of_points(cost, 3)
            return in_its_library(cost, lap_small_first, **options)
        is_of_gpu = kind is not ndarray and kind.__name__ == "ndarray"  # CuPy's
        quick = small_on_gpu_first(cost, options) if is_of_gpu else None
        return lap(cost, **options) if quick is None else quick

    lap_of_others.__qualname__ = lap.__qualname__  # as errors about arguments say
    solve, _, _, _, make_field_in_batch = zip(*SMALL_SOLVERS, strict=True)
    of_batches = (AssignmentBatch, field_of_batch, Items, Assignment, make_field_in_batch, most_threads, Matrices)
    of_sparse = {kind: tuple(solver.solve for solver in solvers) for kind, solvers in lap_small_sparse.items()}
    parts = OPTIONS_OF_SMALL, solve, of_batches, of_sparse, LIBRARIES
    try_small = _native.small_lap(*parts, lambda *_, **__: None)
    lap_small_first = update_wrapper(_native.small_lap(*parts, lap_of_others), lap)
    return lap_small_first


# Options that say what counts of a padded array.
PADDING = frozenset(("sizes", "mask"))


def _padded_first(
    cost: Any, solve: Callable[..., Any], *, sizes: Any = None, mask: Any = None, **options: Any
) -> AssignmentBatch | None:
    """The answer for a padded array, from the matrices in it. None if it needs the long way.

    The short way needs padding that comes last in each matrix.
    """
    is_padded = cost.ndim == 3 and len(cost) > 0 and (sizes is None) != (mask is None)
    if not is_padded or not _may_be_small(cost[0]) or _solver_for(options, SMALL_SOLVERS) is None:
        return None
    try:
        if mask is not None:
            rows, columns = sides_of_mask(mask, cost.shape)
            if not padding_is_last(rows, columns):
                return None
            sizes = sizes_of_sides(rows, columns)
        sizes = checked_sizes(sizes, cost.shape).tolist()
    except GmatchError:
        return None  # the long way says what is wrong, after it has looked at the options
    found: AssignmentBatch | None = solve(
        Matrices(matrix[:rows, :columns] for matrix, (rows, columns) in zip(cost, sizes, strict=True)), **options
    )
    if found is not None:
        found._later[2][0].outer = cost.shape[1:]
    return found


def _with_labels_of(cost: Any, found: Any) -> Any:
    """The result for the numbers of costs, with the labels of their rows and columns."""
    if type(found) is Assignment and has_labels(cost):
        vars(found).update(zip(("row_nodes", "col_nodes"), labels_of(cost), strict=True))
    return found


# Options that are true or false.
TRUTHS = frozenset(
    name for name, taken in OPTIONS_OF_SMALL.items() if taken is bool or type(taken) is tuple and taken[0] is False
)


# Costs that have no limit of their own, which `lap` checks.
TAKE_A_LIMIT = ndarray, list, tuple, *lap_small_sparse


def _plain_options(cost: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options with numbers of Python in the place of equal numbers of NumPy; the same dictionary if it has none.

    A limit that no cost can exceed, which is infinite, becomes None.
    """
    changed = {}
    for name, option in options.items():
        plain = option
        if isinstance(option, np.generic | ndarray) and option.ndim == 0 and name in OPTIONS_OF_SMALL:
            plain = option.item()
        if name in TRUTHS and type(plain) is int:
            plain = bool(plain)
        if plain is not option and type(plain) in (bool, int, float):
            changed[name] = plain
    both = options | changed if changed else options
    limit = both.get("cost_limit") if isinstance(cost, TAKE_A_LIMIT) else None
    if type(limit) is float and limit == (-inf if both.get("maximize") is True else inf):
        both = both | {"cost_limit": None}
    return both


def _plain_costs(cost: Any, kind: type, options: dict[str, Any]) -> Any:
    """A small array of a type that the extension reads, in the place of costs that the long way reads as equal ones.

    Costs of other kinds are returned as they are.
    """
    if kind is list or kind is tuple:
        return unnested(cost)
    if isinstance(cost, ndarray):
        array = cost if kind is ndarray else _array_of_class(cost)
    elif _gives_array(cost, kind) and _may_be_small(cost) and _solver_for(options, SMALL_SOLVERS) is not None:
        array = _array_in(cost)
    else:
        return cost
    if type(array) is not ndarray or array.ndim != 2 or array.dtype.kind not in "biuf":
        return cost
    rows, columns = array.shape
    is_small = min(rows, columns) <= SMALL_SIDE and rows + columns <= MOST_ROWS_AND_COLUMNS
    if not is_small or _solver_for(options, SMALL_SOLVERS) is None:
        return cost
    if not (array.dtype.isnative and array.flags.aligned):
        return array.astype(array.dtype.newbyteorder("="))
    return array


def _array_of_class(cost: Any) -> Any:
    """The plain array in an array of a class. None if an entry is masked, or if the array lies on a GPU."""
    if device_of(cost) == "gpu" or hasattr(cost, "mask") and np.ma.is_masked(cost):
        return None
    return cost.view(ndarray)


def _gives_array(cost: Any, kind: Any) -> bool:
    """Whether NumPy reads the costs as an array on the host, and their result has arrays of NumPy."""
    if not (hasattr(kind, "__array__") or hasattr(kind, "__dlpack__") or kind is memoryview):
        return False
    return device_of(cost) == "cpu" and not hasattr(kind, "__cuda_array_interface__") and not gives_back(cost)


def _may_be_small(cost: Any) -> bool:
    """Whether the costs are a small matrix, or have no shape. Their shape is then known when their numbers are read."""
    shape = getattr(cost, "shape", None)
    if type(shape) is not tuple:
        return True
    return len(shape) == 2 and min(shape) <= SMALL_SIDE and sum(shape) <= MOST_ROWS_AND_COLUMNS


def _array_in(cost: Any) -> Any:
    """The array that an object gives. None if it gives none: the long way then says why."""
    try:
        return as_dense_array(cost)
    except GmatchError:
        return None


def _solver_for(options: dict[str, Any], solvers: Solvers) -> Solver | None:
    """The solver of small costs for these options of `lap`, or None. `lap` then says what is wrong with the options."""
    bits = _native.bits_of_options(OPTIONS_OF_SMALL, options)
    return None if bits is None or bits >= len(solvers) else solvers[bits]


# Types of graphs that `matching_small` takes, and the most rows, columns and entries of a graph, added up. A larger
# graph takes the long way, whose 35 us of Python matter less then: benchmarks/log/small_calls.md, "Graphs of up to 2^16
# rows, columns and entries take the short way".
SMALL_TYPES = frozenset((csr_array, csr_matrix, BipartiteGraph))
SMALL_GRAPH = 1 << 16
MATCHING_CELLS = Arrays("MatchingCells")
VIEWS = MATCHING_CELLS.views
FIXED_BYTES, BYTES_BY_PAIR, BYTES_BY_ROW, BYTES_BY_COLUMN = MATCHING_CELLS.size
SIZE = REPORT.names.index("size")
match_small = _native.match_small


def matching_small(graph: Any, make_stats: Callable[..., Any]) -> Matching | None:
    """What `gmatch.max_matching(graph)` returns; None if the graph needs the long way, or is no graph."""
    shape, indptr, indices = graph.shape, graph.indptr, graph.indices
    if type(indptr) is not ndarray or type(indices) is not ndarray or type(shape) is not tuple or len(shape) != 2:
        return None
    rows, columns = shape  # as little trusted as the arrays: a user can change it
    if type(rows) is not int or type(columns) is not int or rows < 0 or columns < 0:
        return None
    if rows + columns + indices.size > SMALL_GRAPH or indptr.size != rows + 1:
        return None
    fewer = rows if rows < columns else columns
    size = FIXED_BYTES + BYTES_BY_PAIR * fewer + BYTES_BY_ROW * rows + BYTES_BY_COLUMN * columns
    cells = empty(size // 8 + 1, int64)
    try:
        found = match_small(indptr, indices, columns, cells)
    except TypeError:  # the arrays are not int32
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
    """A field of a Matching, from the cells that csrc/bindings/mixed.cpp fills."""
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
