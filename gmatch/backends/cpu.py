"""Programs on the threads of this process, in the compiled extension."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import Device
from ..devices.cpu import COSTS_PER_THREAD, thread_count
from ..devices.cpu import check_threads as check_threads
from ..layouts import BATCH_PROBLEM, REPORT, numbers_of
from ..methods import (
    FEW_ROWS_ON_CPU,
    JV,
    LAID_OUT,
    Classical,
    Core,
    ForestMethod,
    Mixed,
    Munkres,
    SerialCore,
    SparseJV,
    Tree,
    assignment_method_of,
)
from ..result import ExactDuals, Tier
from ..types import stored_as
from .coarse_duals import assign_in_time
from .doubled import halve
from .protocol import Assigned, AssignedBatch, AssignmentStart, Cover, Matched, Start, Vectors

if TYPE_CHECKING:
    from ..methods import AssignmentMethod, Method
    from ..problems.batch import CostBatch
    from ..problems.dense import DenseCosts
    from ..problems.graph import BipartiteGraph
    from ..problems.sparse import SparseCosts

NAME: Device = "cpu"
# A graph gets one thread for each MATCHED_PER_THREAD entries, at most one for each processor. It gets one thread if
# these are fewer than FEWEST_THREADS: two took up to 1.5 times as long as one on graphs of 2^20 rows. From MANY_ENTRIES
# on it gets two or three, too (benchmarks/log/cardinality_host.md, "All processors of a host").
MATCHED_PER_THREAD, FEWEST_THREADS, MANY_ENTRIES = 1 << 18, 4, 1 << 25
# Entries of a batch for each thread; csrc/bindings/small_batches.cpp has the number for small problems. See
# benchmarks/log/small_calls.md, "Batches in one call of the extension". Other numbers were not measured.
BATCH_ENTRIES_PER_THREAD = 1 << 16
# Sparse costs get one thread for each BID_FOR_PER_THREAD entries. They get one thread if these are fewer than
# FEWEST_THREADS: two take 1.2 times as long as one for 2^17 entries. From MANY_BID_FOR entries on they get two or
# three, too: two take 0.87 times as long for 2^20 entries (benchmarks/log/sparse.md, "Threads share sweeps").
BID_FOR_PER_THREAD, MANY_BID_FOR = 1 << 15, 1 << 20
CORE_STEPS = tuple(numbers_of("CoreStep"))
TIER_OUTCOMES = tuple(numbers_of("TierOutcome"))


def reading_threads(threads: int | None, costs: int) -> int:
    """The threads that read a matrix of `costs` entries once."""
    return thread_count(threads, costs // COSTS_PER_THREAD)


def threads_of_graph(
    threads: int | None, entries: int, per_thread: int = MATCHED_PER_THREAD, many: int = MANY_ENTRIES
) -> int:
    """The threads of a search in a graph or in sparse costs: one for each `per_thread` entries.

    If `threads` is None, fewer than `many` entries that would get fewer than FEWEST_THREADS get one thread.
    """
    most = thread_count(threads, entries // per_thread)
    return most if threads is not None or most >= FEWEST_THREADS or entries >= many else 1


def match(graph: BipartiteGraph, method: Method, start: int, row_match: Any, threads: int | None) -> Matched:
    """Runs `match_cardinality`."""
    rows, columns = graph.shape
    team_size = threads_of_graph(threads, graph.entries)
    # In one piece, which the system gives in large pages sooner than many small pieces.
    cells = np.empty(rows + columns + (columns + 3) // 4, np.int32)
    if row_match is None:
        row_match = cells[:rows]
    col_match = cells[rows : rows + columns]
    reached = cells[rows + columns :].view(np.bool_)[:columns]
    levels, augmentations = journal = np.empty((2, min(rows, columns) + 1), np.int32)
    arrays = (
        graph.indptr, graph.indices, columns, row_match, col_match, reached.view(np.uint8), levels, augmentations, start
    )  # fmt: skip
    if isinstance(method, ForestMethod):
        report = _native.match(*arrays, method.forest, method.shortest_only, team_size)
    elif isinstance(method, Mixed):
        report = _native.match_mixed(*arrays, team_size)
    else:
        report = _native.match_pothen_fan(*arrays, team_size)
    return Matched(row_match, col_match, reached, counters_by_name(report, journal, "host", team_size))


def counters_by_name(report: Any, journal: Any, team: str, threads: int) -> dict[str, Any]:
    """What a program counted, in all and in each phase, and where it ran."""
    counters: dict[str, Any] = dict(zip(REPORT.names, report, strict=True))
    counters["levels_per_phase"], counters["augmentations_per_phase"] = journal[:, : counters["phases"]].tolist()
    return counters | {"team": team, "threads": threads}


def counters_of_assignment(report: Any, journal: Any, team: str, threads: int) -> dict[str, Any]:
    """As `counters_by_name`, without the counters of maximum cardinality. The report of a core has a trace."""
    fields = len(REPORT.names)
    counters = counters_by_name(report[:fields], journal, team, threads)
    del counters["start"], counters["dropped"]
    return counters if len(report) == fields else counters | {"trace": steps_by_name(report[fields:])}


def steps_by_name(trace: Any) -> list[str]:
    """The steps in a `CoreTrace` of csrc: their number, and then each."""
    return [CORE_STEPS[step] for step in trace[1 : 1 + trace[0]]]


def assign(costs: DenseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
    """Runs a method of assignment."""
    found = PROGRAMS_OF[type(method)].dense(costs, method, start, threads)
    found.counters["entries"] = entries_of(costs, found.row_match)
    return found


def entries_of(costs: DenseCosts, row_match: Any) -> Any:
    """The entry of each row's pair. If the costs have few pairs, the matrix is not read."""
    if costs.few_pairs is None:
        return costs.array[np.arange(len(row_match)), row_match]
    entries = np.empty(len(row_match), costs.dual_type)
    _native.entries_of_few_pairs(costs.few_pairs, costs.maximize, row_match, entries)
    return entries.astype(costs.array.dtype, copy=False)


def _vectors(costs: DenseCosts | SparseCosts, start: Start) -> Vectors:
    """The vectors that a program fills: given row_match and v, or no mates and zeros."""
    rows, columns = sorted(costs.shape)
    row_match = np.full(rows, -1, np.int32) if start.row_match is None else start.row_match
    v = np.zeros(columns, costs.dual_type) if start.v is None else start.v
    return Vectors(row_match, np.empty(columns, np.int32), np.empty(rows, costs.dual_type), v)


def _for_serial_search(costs: DenseCosts | SparseCosts, start: Start) -> Start:
    """The start without its duals if columns may stay free: the program reads more with duals than without."""
    rows, columns = costs.shape
    return start if rows == columns or start.v is None else start._replace(v=None)


def _arguments(costs: DenseCosts) -> tuple[Any, str, bool, Any]:
    bits, name = stored_as(costs.array.dtype)
    return costs.array.view(bits), name, costs.maximize, costs.limit


def _assign_jv(costs: DenseCosts, method: JV, start: Start, threads: int | None) -> Assigned:
    if costs.few_pairs is not None:  # from a start the matrix would be read again, which takes longer
        return _assign_few_pairs(costs, new_vectors(costs))
    start = _for_serial_search(costs, start)
    vectors, has_duals = _vectors(costs, start), start.v is not None
    counters = dict(_native.assign_jv(*_arguments(costs), costs.lowest, costs.highest, *vectors, has_duals))
    return Assigned(*vectors, counters | {"team": "host", "threads": 1})


def _assign_few_pairs(costs: DenseCosts, vectors: Vectors) -> Assigned:
    counters = dict(_native.assign_few_pairs(costs.few_pairs, costs.limit, *vectors))
    return Assigned(*vectors, counters | {"team": "host", "threads": 1})


def assign_in_tiers(
    costs: DenseCosts, vectors: Vectors, rests: Any = None, has_solution: bool = True
) -> tuple[str, float | None, ExactDuals | None, dict[str, Any]]:
    """Solves costs in tiers, if the duals of a solution hide some costs: see csrc/serial/exact/tiers.hpp.

    The vectors of the solution are changed. Returns the outcome: the solution stands, was solved anew in tiers, was
    refined by a search of its slacks, or is open. The vectors mean nothing if it is open. Then comes what the pairs
    cost in sum, without numbers that stand for "not". It is None unless the solution is open because the costs have no
    tiers and the duals prove nothing. Also returns the duals in tiers if it was solved anew, and counters by name.
    `rests`, if given, becomes the rests of the costs of pairs that the solution might use. Without a solution, one is
    found with a smaller number in the place of the largest, and the vectors are only written.
    """
    few_pairs = costs.few_pairs if costs.limit is None else None
    if few_pairs is not None and rests is None:
        exact, counters = few_pairs_in_tiers(few_pairs, vectors)
        if exact is not None:
            return "solved", None, exact, counters
    outcome, unproven_sum, words, counters = _native.assign_in_tiers(
        *_arguments(costs), costs.lowest, costs.highest, *vectors, rests, has_solution, few_pairs
    )  # fmt: skip
    exact = None if words is None else exact_duals(words, *costs.array.shape)
    counters = dict(counters) | {"team": "host", "threads": 1}
    return TIER_OUTCOMES[outcome], None if unproven_sum < 0 else unproven_sum, exact, counters


def few_pairs_in_tiers(few_pairs: Any, vectors: Vectors) -> tuple[ExactDuals | None, dict[str, Any]]:
    """Duals in tiers of few pairs whose common cost stands for "not", and counters by name. Writes the vectors.

    Returns None if the common cost does not stand for "not".
    """
    rows, columns = (np.empty(len(vector), np.int64) for vector in vectors[:2])
    counters = _native.assign_few_pairs_in_tiers(few_pairs, *vectors, rows, columns)
    if counters is None:
        return None, {}
    exact = ExactDuals((Tier(few_pairs.highest, rows, columns),), vectors.u.copy(), vectors.v.copy())
    vectors.u[:], vectors.v[:] = exact.nearest_u(), exact.nearest_v()
    return exact, dict(counters) | {"team": "host", "threads": 1}


def new_vectors(costs: DenseCosts) -> Vectors:
    """The vectors of a solution, to be written."""
    return _vectors(costs, Start(AssignmentStart.REDUCE))


def has_negative_within(costs: DenseCosts, bound: float) -> bool:
    """Whether a cost of the minimisation form is negative, but above -bound."""
    found: bool
    if costs.few_pairs is not None and costs.limit is None:
        found = costs.few_pairs.has_negative_within(bound)
    else:
        found = _native.has_negative_within(*_arguments(costs), bound)
    return found


def settle_ties(
    costs: DenseCosts, vectors: Vectors, must_be_used: Any, columns_first: bool, threads: int | None = 1
) -> int | None:
    """Makes a cheapest assignment the one that the rule names (see assignment/ties.py), along tied pairs.

    Returns how many rows had a choice; None if the duals do not tell, or if too many pairs tie up to rounding. The
    pairs of the rows are a cheapest assignment even then; the pairs of the columns may be others.
    """
    team_size = reading_threads(threads, costs.array.size)
    count: int = _native.settle_ties(*_arguments(costs), *vectors, must_be_used, columns_first, team_size)
    return None if count < 0 else count


def exact_duals(words: bytes, rows: int, columns: int) -> ExactDuals:
    """Duals in tiers from the words that csrc/bindings/tiers.cpp makes of them."""
    wholes, floats = (np.frombuffer(words, dtype) for dtype in (np.int64, np.float64))
    length = rows + columns
    last = len(wholes) - length
    tiers = tuple(
        Tier(
            floats[begin].item(),
            wholes[begin + 1 : begin + 1 + rows].copy(),
            wholes[begin + 1 + rows :][:columns].copy(),
        )
        for begin in range(0, last, 1 + length)
    )
    return ExactDuals(tiers, floats[last : last + rows].copy(), floats[last + rows :].copy())


def _assign_serial_core(costs: DenseCosts, method: Core, start: Start, threads: int | None) -> Assigned:
    start, team_size = _for_serial_search(costs, start), reading_threads(threads, costs.array.size)
    vectors = _vectors(costs, start)
    counters = dict(
        _native.assign_core_jv(
            *_arguments(costs), costs.lowest, costs.highest, *vectors, start.v is not None, method.may_begin_in_matrix,
            team_size,
        )
    )  # fmt: skip
    counters["trace"] = steps_by_name(counters["trace"])
    return Assigned(*vectors, counters | {"team": "host", "threads": team_size})


def _assign_core(costs: DenseCosts, method: Core, start: Start, threads: int | None) -> Assigned:
    team_size = thread_count(threads, 1)
    if team_size == 1:
        return _assign_serial_core(costs, method, start, threads)

    def run(costs: DenseCosts, start: Start, most_levels: int) -> Assigned:
        program = partial(_native.assign_by_core, *_arguments(costs))
        return _search(program, costs, method, start, (costs.dual_spread(), most_levels, team_size))

    return assign_in_time(costs, start, run, halve)


def _assign_by_slacks(costs: DenseCosts, method: Munkres, start: Start, threads: int | None) -> Assigned:
    slacks = np.empty(costs.array.size, costs.slack_type())
    program = partial(_native.assign_by_slacks, costs.array, costs.maximize, costs.limit)
    return _search(program, costs, method, start, (method.rung, slacks, thread_count(threads, 1)))


def _assign_by_search(costs: DenseCosts, method: Tree | Classical, start: Start, threads: int | None) -> Assigned:
    program, classical = partial(_native.assign_by_search, *_arguments(costs)), isinstance(method, Classical)
    return _search(program, costs, method, start, (classical, method.many_paths, thread_count(threads, 1)))


def _search(program: Any, costs: DenseCosts, method: Any, start: Start, last: tuple[Any, ...]) -> Assigned:
    """Runs a program of the search, which has its costs; its `last` arguments end with the number of threads."""
    vectors = _vectors(costs, start)
    levels, augmentations = journal = np.empty((2, (len(vectors.row_match) + 1) * method.most_searches), np.int32)
    report = program(*vectors, levels, augmentations, start.kind, start.v is not None, *last)
    known = journal if method.one_launch else journal[:, :0]
    return Assigned(*vectors, counters_of_assignment(report, known, "host", last[-1]))


def assign_batch(
    batch: CostBatch, method: AssignmentMethod, start: int, threads: int | None, drops: bool = False
) -> AssignedBatch:
    """Runs a method on every problem, one thread each. Drops no pairs."""
    problems, rows, columns = batch.shape
    entries = int(batch.shapes.prod(axis=1).sum())
    team_size = max(1, min(thread_count(threads, entries // BATCH_ENTRIES_PER_THREAD), problems))
    row_match, col_match = np.full((problems, rows), -1, np.int32), np.full((problems, columns), -1, np.int32)
    u, v = np.zeros((problems, rows), batch.dual_type), np.zeros((problems, columns), batch.dual_type)
    pair_costs = np.zeros((problems, rows), batch.array.dtype)
    layout = batch.layout().view(np.int64).reshape(problems, BATCH_PROBLEM.size // 8)  # words
    wanted = batch.maximize, batch.limit, batch.lowest, batch.highest
    how = PROGRAMS_OF[type(method)].batch, start, method.many_paths, FEW_ROWS_ON_CPU[batch.dual_type]
    reports = _native.assign_batch(
        layout, batch.array, wanted, how, (row_match, col_match, u, v, pair_costs), team_size
    )
    counters = counters_of(reports) | {"team": "host", "threads": team_size}
    return AssignedBatch(row_match, col_match, u, v, pair_costs, counters.copy)


def counters_of(reports: Any) -> dict[str, Any]:
    """The counters of a batch by name, each an array with one number for each problem."""
    counters = dict(zip(REPORT.names, np.array(reports, np.int64).reshape(-1, len(REPORT.names)).T, strict=True))
    del counters["start"]
    return counters


def assign_sparse(costs: SparseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
    """As `assign`, for sparse costs."""
    found: Assigned = PROGRAMS_OF[type(method)].sparse(costs, method, start, threads)
    return found


def cover(costs: DenseCosts, threads: int | None) -> Cover:
    """A smallest vertex cover of the allowed pairs of floats."""
    return Cover(*_native.cover_of_dense(*_arguments(costs)[:-1], partial(threads_of_graph, threads)))


def cover_of_sparse(costs: SparseCosts, threads: int | None) -> Cover:
    """A smallest vertex cover of the allowed pairs."""
    arrays = costs.indptr, costs.indices, costs.data, costs.maximize
    return Cover(*_native.cover_of_sparse(*arrays, max(costs.shape), partial(threads_of_graph, threads)))


Bounds = tuple[int | float, int | float]


def parts(costs: DenseCosts, threads: int | None) -> tuple[Cover, list[tuple[Any, Bounds]]]:
    """The cover, and the two parts into which it divides the costs: a copy of each, and the range of its costs.

    The rows of the first part are the rows of the cover. The rows of the second part are the columns of the cover.
    """
    found, made = cover(costs, threads), []
    bits, name, *_ = _arguments(costs)
    for array, rows, columns in (
        (bits, found.rows, found.other_columns), (bits.T, found.columns, found.other_rows)
    ):  # fmt: skip
        part = np.empty((len(rows), len(columns)), bits.dtype)
        bounds = _native.copy_part(array, name, costs.maximize, rows, columns, part)
        made.append((part.view(costs.array.dtype), bounds))
    return found, made


def parts_of_sparse(costs: SparseCosts, threads: int | None) -> tuple[Cover, list[tuple[Any, Bounds]]]:
    """As `parts`: each part is (indptr, indices, data), and its shape."""
    found, arrays = cover_of_sparse(costs, threads), (costs.indptr, costs.indices, costs.data, costs.maximize)
    made = []
    for rows, columns, turned in (
        (found.rows, found.other_columns, False), (found.other_rows, found.columns, True)
    ):  # fmt: skip
        part, lowest, highest = _native.part_of_sparse(*arrays, max(costs.shape), rows, columns, turned)
        shape = (len(columns), len(rows)) if turned else (len(rows), len(columns))
        made.append(((part, shape), (lowest, highest)))
    return found, made


def _assign_where_faster(costs: SparseCosts, method: SparseJV, start: Start, threads: int | None) -> Assigned:
    laid_out = costs.laid_out()
    if laid_out is None:
        return _assign_sparse_jv(costs, method, start, threads)
    return _assign_laid_out(laid_out, costs.dual_type, start, threads)


def _assign_sparse_jv(costs: SparseCosts, method: JV, start: Start, threads: int | None) -> Assigned:
    start = _for_serial_search(costs, start)
    team_size = threads_of_graph(threads, len(costs.indices), BID_FOR_PER_THREAD, MANY_BID_FOR)
    vectors, has_duals = _vectors(costs, start), start.v is not None
    arrays = costs.indptr, costs.indices, costs.data, costs.maximize
    counters = dict(_native.assign_sparse_jv(*arrays, *vectors, has_duals, team_size))
    return Assigned(*vectors, counters | {"team": "host", "threads": team_size})


def _assign_sparse_tree(costs: SparseCosts, method: Tree, start: Start, threads: int | None) -> Assigned:
    start, team_size = _for_serial_search(costs, start), thread_count(threads, 1)
    vectors = _vectors(costs, start)
    levels, augmentations = journal = np.empty((2, min(costs.shape) + 1), np.int32)
    report = _native.assign_sparse_tree(
        costs.indptr, costs.indices, costs.data, costs.maximize, *vectors, levels, augmentations, start.kind,
        start.v is not None, method.many_paths, costs.dual_spread(), team_size,
    )  # fmt: skip
    return Assigned(*vectors, counters_of_assignment(report, journal, "host", team_size))


def _assign_laid_out(costs: DenseCosts, dual_type: type, start: Start, threads: int | None) -> Assigned:
    """Solves sparse costs as dense ones; the counters say by which method, and why."""
    method, reason = assignment_method_of("auto", NAME, costs)
    if start.v is not None:
        start = start._replace(v=start.v.astype(costs.dual_type, copy=False))
    row_match, col_match, u, v, counters = assign(costs, method, start, threads)
    u, v = (dual.astype(dual_type, copy=False) for dual in (u, v))
    if dual_type is np.int64 and len(u) == len(v):  # then v is at most 0, as sparse methods leave it
        most = v.max()
        u, v = u + most, v - most
    return Assigned(row_match, col_match, u, v, counters | {"method": method.name, "reason": f"{LAID_OUT}; {reason}"})


class Programs(NamedTuple):
    """The programs of a method, None for costs that it does not solve."""

    dense: Callable[..., Assigned]
    sparse: Any = None
    batch: Any = None  # the name of the program of one problem


PROGRAMS_OF: dict[type, Programs] = {
    JV: Programs(_assign_jv, _assign_sparse_jv, "jv"),
    SparseJV: Programs(_assign_jv, _assign_where_faster, "jv"),
    Core: Programs(_assign_core),
    SerialCore: Programs(_assign_serial_core, batch="core"),
    Munkres: Programs(_assign_by_slacks),
    Tree: Programs(_assign_by_search, _assign_sparse_tree, "tree"),
    Classical: Programs(_assign_by_search, batch="classical"),
}
