"""`k_best` and `ranked`: the cheapest assignments in order, from the best one and its duals."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import scipy.sparse

from .. import _native
from ..arrays import exact_sums, row_of_each_entry, truth_of
from ..assignment.lap import lap
from ..backends import refuse_gpu
from ..devices.cpu import check_threads, thread_count
from ..errors import InvalidInput
from ..problems.batch import CostBatch, is_batch
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.limits import minimised
from ..problems.sparse import SparseCosts, matrix_of
from ..proof.verify import verify
from ..result import Assignment
from ..small import SMALL_SOLVERS
from ..toolkit_result import KBest, RankedAssignment

if TYPE_CHECKING:
    _Costs = DenseCosts | SparseCosts
    _Matrix = _Costs | np.ndarray[tuple[int, int], Any] | Sequence[Sequence[float]]

# Assignments of a table. A table is made before gmatch knows whether there are that many assignments.
AT_ONCE = 1024
# Mates to find for each thread: a mate takes 0.2 to 0.6 microseconds, and a thread 0.1 ms to start. Less work than that
# runs on fewer threads.
MATES_PER_THREAD = 1 << 12
# Pairs to list for each thread: benchmarks/log/toolkit.md, "Pairs of a ranking on threads". Other numbers were not
# measured.
PAIRS_PER_THREAD = 1 << 17
# How many times as large as an ordinary cost the duals may be. Beside larger duals float64, which has 53 bits, holds
# less than half of the digits of the cost, and the costs are refused.
MOST_MAGNITUDES = 2.0**26


@dataclass(frozen=True, eq=False)
class _Problem:
    """The allowed pairs of a problem in the order of its rows, all of which are matched; with its best assignment."""

    costs: DenseCosts | SparseCosts  # as given
    turned: bool  # whether rows here are columns as given
    indptr: Any
    indices: Any
    entries: Any  # as given
    columns: int  # ways out included
    row_match: Any
    u: Any
    v: Any
    slacks: Any  # of the entries, with these duals

    @cached_property
    def places(self) -> Any:
        """Places row * columns + column of the pairs, increasing."""
        return _places(row_of_each_entry(self.indptr, len(self.indices)), self.indices, self.columns)

    def ranking(self, threads: int | None) -> Any:
        """What finds the next assignments."""
        whole = self.slacks.dtype == np.int64
        leave = np.maximum(-self.v, 0)
        kind = _native.RankedIntegers if whole else _native.RankedFloats
        team_size = thread_count(threads, len(self.indices) // PAIRS_PER_THREAD)
        return kind(self.indptr, self.indices, self.slacks, leave, self.row_match, team_size)


@dataclass
class Listing:
    """The cheapest assignments of a problem, as far as they are known."""

    problem: _Problem
    threads: int | None = 1  # that list the pairs
    tables: list[tuple[Any, Any, Any]] = field(default_factory=list)  # mates and duals
    are_all: bool = False
    found: int = 0

    @cached_property
    def ranking(self) -> Any:
        """What finds the next ones."""
        return self.problem.ranking(self.threads)

    def result(self) -> KBest:
        costs = self.problem.costs
        mates, u, v = (np.concatenate(parts) for parts in zip(*self.tables, strict=True))
        return KBest(
            _as_given(self.problem, mates), _costs_of_each(self.problem, mates), u, v, self.are_all, costs.maximize,
            costs.cost_limit, costs.forbid_nan,
        )  # fmt: skip


@overload
def k_best(
    cost: _Matrix, k: int, *, maximize: bool = ..., cost_limit: Any = ..., forbid_nan: bool = ..., certify: bool = ...,
    threads: int | None = ..., device: str | None = ...,
) -> KBest: ...  # fmt: skip
@overload
def k_best(
    cost: Any, k: int, *, maximize: bool = ..., cost_limit: Any = ..., forbid_nan: bool = ..., certify: bool = ...,
    threads: int | None = ..., device: str | None = ...,
) -> Any: ...  # fmt: skip
def k_best(
    cost: Any,
    k: int,
    *,
    maximize: bool = False,
    cost_limit: Any = None,
    forbid_nan: bool = False,
    certify: bool = False,
    threads: int | None = None,
    device: str | None = None,
) -> Any:
    """The k cheapest assignments in order, with their proof; of one problem or of many.

    Parameters
    ----------
    cost : array or sparse matrix, shape (rows, columns); array, shape (problems, rows, columns); sequence of matrices
        As for `gmatch.lap`. The stored entries of a sparse matrix are the only allowed pairs; +inf forbids a pair (-inf
        when maximizing). min(rows, columns) pairs are made. Of a `PointCosts` the matrix is made. Never changed.
    k : int
        How many, 1 or more. If there are fewer than k assignments, all are returned.
    maximize : bool
        The assignments of the largest sums, the largest first.
    cost_limit : number, optional
        As for `gmatch.lap`: pairs that cost more than this are never matched (when maximizing: pairs worth less), and
        each free row and each free column costs half the limit. The assignments are then ordered by their cost plus the
        limit for each free vertex of the smaller side.
    forbid_nan : bool
        NaN forbids its pair; otherwise it is refused.
    certify : bool
        Also run `gmatch.verify` on the result.
    threads : int, optional
        How many threads list the pairs of a problem, and solve several problems side by side; by default as many as
        there are processors and work for them. One thread searches a problem, so the number does not change the answer.
    device : {None, "cpu"}
        The work is done on the host, and costs on a GPU are moved there; ``"gpu"`` is refused.

    Returns
    -------
    KBest
        A sequence of `RankedAssignment`; ``row_ind, col_ind = k_best(cost, k)[3]`` works. Many problems give a list of
        `KBest`. For the k best of many problems taken together see `gmatch.best_hypotheses`.

    Raises
    ------
    InvalidInput
        If the costs or an option is not valid; or if sums of costs could overflow. For integers ``16 * pairs * (highest
        - lowest)`` and ``pairs * max(-lowest, highest)`` must be below 2**63, and the sums that `DenseCosts` and
        `SparseCosts` name, too.
    Infeasible
        If forbidden pairs leave no assignment at all; with a Hall witness.
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    The best assignment comes from `lap`. The other assignments are split into sets, one for each row, by Murty's rule:
    pairs of earlier rows are kept, the pair of the row is forbidden. One shortest augmenting path from the duals of the
    parent finds the cheapest assignment of a set. The cheapest set has the next assignment, and is split in turn. This
    takes O(k * pairs) paths at worst, but most are given up early: a set waits with a bound until it is the cheapest,
    and is not searched much farther. The search of a problem runs on one thread, and takes 16 bytes for each allowed
    pair, 48 for an open set, and O(k * (rows + columns)) memory.

    Equally cheap assignments come in the order in which they are found. This order depends on the costs alone, and the
    first k are equal for every greater k. Integers are exact. Floats are ordered up to a rounding of the largest cost
    or limit that an assignment pays; `verify` states it.

    References
    ----------
    K. G. Murty: An algorithm for ranking all the assignments in order of increasing cost. Operations Research 16
    (1968). M. L. Miller, H. S. Stone, I. J. Cox: Optimizing Murty's ranked assignment method. IEEE Trans. Aerosp.
    Electron. Syst. 33 (1997).

    Examples
    --------
    >>> cost = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]
    >>> best = gmatch.k_best(cost, 3)
    >>> best.costs.tolist(), best.row_match.tolist()
    ([5, 6, 6], [[1, 0, 2], [0, 1, 2], [2, 1, 0]])
    >>> gmatch.k_best(cost, 100).complete, len(gmatch.k_best(cost, 100))
    (True, 6)
    """
    refuse_gpu("gmatch.k_best", device)
    number = number_of_assignments(k)
    maximize, certify = truth_of("maximize", maximize), truth_of("certify", certify)
    many = is_batch(cost)
    if isinstance(cost, CostBatch):
        raise InvalidInput("k_best takes many problems as a sequence of matrices or one array; got a CostBatch")
    problems = [costs_of(one, maximize, cost_limit, forbid_nan).widened() for one in (cost if many else [cost])]
    check_threads(threads)
    listings = [Listing(problem_of(costs.on("cpu")), threads) for costs in problems]
    extend(listings, [number] * len(listings), [None] * len(listings), threads)
    results = [listing.result() for listing in listings]
    if certify:
        for costs, result in zip(problems, results, strict=True):
            verify(costs, result)
    return results if many else results[0]


def extend(listings: list[Listing], numbers: list[int], gaps: list[Any], threads: int | None) -> None:
    """Lists more of each, until the number or the range of costs that was asked for is reached, or all are listed."""
    waiting = list(zip(listings, numbers, gaps, strict=True))
    while waiting:
        for whole in (False, True):
            some = [given for given in waiting if (given[0].problem.u.dtype == np.int64) == whole]
            if some:
                _extend_once(some, threads, np.int64 if whole else np.float64)
        # A full table may have been too short.
        waiting = [
            (one, number, gap)
            for one, number, gap in waiting
            if len(one.tables[-1][0]) == AT_ONCE and not one.are_all and one.found < number
        ]


def _extend_once(waiting: list[tuple[Listing, int, Any]], threads: int | None, dtype: Any) -> None:
    if dtype is np.float64:
        bounds = np.array([np.inf if gap is None else gap for _, _, gap in waiting])
    else:
        far = 2**62
        bounds = np.array([far if gap is None else min(math.ceil(gap), far) for _, _, gap in waiting])
    listings = [one for one, _, _ in waiting]
    tables = [_tables(one.problem, min(number - one.found, AT_ONCE)) for one, number, _ in waiting]
    mates, u, v = (list(parts) for parts in zip(*tables, strict=True))
    rankings = [one.ranking for one in listings]
    team_size = thread_count(threads, sum(table.size for table in mates) // MATES_PER_THREAD)
    found = _native.rank(rankings, mates, u, v, bounds, min(len(listings), team_size))
    for one, table, (size, are_all) in zip(listings, tables, found, strict=True):
        row_match, of_rows, of_columns = (part[:size] for part in table)
        one.tables.append((row_match, of_rows + one.problem.u, of_columns + one.problem.v))
        one.found, one.are_all = one.found + size, are_all


def _tables(problem: _Problem, number: int) -> tuple[Any, Any, Any]:
    """Room for the mates and duals of `number` assignments."""
    rows = len(problem.row_match)
    u, v = (np.empty((number, length), problem.u.dtype) for length in (rows, problem.columns))
    return np.empty((number, rows), np.int32), u, v


def ranked(
    cost: Any,
    *,
    maximize: bool = False,
    cost_limit: Any = None,
    forbid_nan: bool = False,
    device: str | None = None,
) -> Iterator[RankedAssignment]:
    """The assignments in order, the cheapest first, one by one: an iterator that ends when there are no more.

    Parameters
    ----------
    cost, maximize, cost_limit, forbid_nan, device
        As for `k_best`.

    Returns
    -------
    iterator of RankedAssignment
        In the order of `k_best`.

    Raises
    ------
    InvalidInput, Infeasible
        As `k_best`, when it is called.

    Examples
    --------
    >>> for assignment in gmatch.ranked([[4, 1, 3], [2, 0, 5], [3, 2, 2]]):
    ...     if assignment.row_match[0] != 1:
    ...         break
    >>> assignment
    <RankedAssignment 1 of 3 pairs, cost 6>
    """
    refuse_gpu("gmatch.ranked", device)
    costs = costs_of(cost, truth_of("maximize", maximize), cost_limit, forbid_nan)
    problem = problem_of(costs.widened().on("cpu"))
    return _ranked(problem)


def _ranked(problem: _Problem) -> Iterator[RankedAssignment]:
    listing = Listing(problem)
    for rank in itertools.count():
        listing.tables.clear()
        extend([listing], [rank + 1], [None], 1)
        if listing.are_all:
            return
        mates, _, _ = listing.tables[0]
        yield RankedAssignment(rank, _as_given(problem, mates)[0], _costs_of_each(problem, mates)[0].item())


def number_of_assignments(k: Any) -> int:
    try:
        number = operator.index(k)
    except TypeError:
        raise InvalidInput(f"k must be an integer; got {k!r}") from None
    if number < 1 or isinstance(k, bool):
        raise InvalidInput(f"k must be 1 or more; got {k!r}")
    return number


def problem_of(costs: DenseCosts | SparseCosts) -> _Problem:
    """The pairs that may be made, and the best assignment."""
    turned = costs.shape[0] > costs.shape[1]
    if isinstance(costs, DenseCosts) and costs.cost_limit is None and not costs.forbids:
        return _problem_of_all_pairs(costs, turned)
    if costs.cost_limit is None:
        problem, (rows, columns, entries) = costs, allowed_pairs(costs, turned)
        best = _best_of(_by_rows(costs))
        row_match, u, v = (best.col_match, best.v, best.u) if turned else (best.row_match, best.u, best.v)
    else:
        problem = _with_ways_out(costs, turned)
        rows, columns, entries = allowed_pairs(problem, False)
        best = lap(problem, threads=1)
        row_match, u, v = best.row_match, best.u, best.v
    values = minimised(entries, problem.dual_type, problem.maximize, None)
    _refuse_large(problem, values, best, costs.cost_limit is not None)
    slacks = np.maximum(values - u[rows] - v[columns], 0)  # floats may be below by a rounding
    slacks[row_match[rows] == columns] = 0
    indptr = np.zeros(len(row_match) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(row_match)), out=indptr[1:])
    indices = np.ascontiguousarray(columns, np.int32)
    return _Problem(
        costs, turned, indptr, indices, entries, len(v), row_match, u, v, slacks,
    )  # fmt: skip


def _problem_of_all_pairs(costs: DenseCosts, turned: bool) -> _Problem:
    """As `problem_of`, for a matrix in which no pair is forbidden. All pairs are listed as they stand in the matrix."""
    best = _best_of(_by_rows(costs))
    row_match, u, v = (best.col_match, best.v, best.u) if turned else (best.row_match, best.u, best.v)
    entries = np.ascontiguousarray(costs.matrix.T if turned else costs.matrix)
    slacks = minimised(entries, costs.dual_type, costs.maximize, None)
    _refuse_large(costs, slacks, best, False)
    slacks -= u[:, np.newaxis]
    slacks -= v
    np.maximum(slacks, 0, out=slacks)
    slacks[np.arange(len(u)), row_match] = 0
    indptr = np.arange(len(u) + 1, dtype=np.int64) * len(v)
    indices = np.tile(np.arange(len(v), dtype=np.int32), len(u))
    return _Problem(costs, turned, indptr, indices, entries.ravel(), len(v), row_match, u, v, slacks.ravel())


def _by_rows(costs: DenseCosts | SparseCosts) -> DenseCosts | SparseCosts:
    """The costs, but square ones never by columns.

    So the layout does not decide which of equally cheap assignments comes first.
    """
    if not costs.transposed or costs.shape[0] != costs.shape[1]:
        return costs
    if isinstance(costs, DenseCosts):
        return DenseCosts(np.ascontiguousarray(costs.matrix), maximize=costs.maximize)
    rows, columns, _ = costs.triples()
    return SparseCosts(matrix_of((rows, columns, costs.data), costs.shape), maximize=costs.maximize)


def _best_of(costs: DenseCosts | SparseCosts) -> Assignment:
    """The best assignment, of a small matrix by the short way, which `lap` does not take for costs that are checked.

    One thread finds it: which of equally cheap ones several threads find is a matter of chance.
    """
    small = SMALL_SOLVERS[costs.maximize].solve(costs.matrix) if isinstance(costs, DenseCosts) else None
    return lap(costs, threads=1) if small is None else small


def allowed_pairs(costs: DenseCosts | SparseCosts, turned: bool) -> tuple[Any, Any, Any]:
    """Rows, columns and entries in the order of rows, then of columns; of the transpose if it is turned."""
    if isinstance(costs, DenseCosts):
        matrix = costs.matrix.T if turned else costs.matrix
        allowed = matrix < np.inf if not costs.maximize else matrix > -np.inf
        return *allowed.nonzero(), matrix[allowed]
    rows, columns, values = costs.triples()
    rows, columns = (columns, rows) if turned else (rows, columns)
    kept = (values < np.inf).nonzero()[0]
    kept = kept[_places(rows[kept], columns[kept], max(costs.shape)).argsort(kind="stable")]
    return rows[kept], columns[kept], costs.data[kept]


def _places(rows: Any, columns: Any, width: int) -> Any:
    return rows * np.int64(width) + columns


def _with_ways_out(costs: DenseCosts | SparseCosts, turned: bool) -> SparseCosts:
    """The problem in which each vertex of the smaller side may also take a way out, for itself, at the limit."""
    rows, columns, entries = allowed_pairs(costs, turned)
    shape = costs.shape[:: -1 if turned else 1]
    matrix = scipy.sparse.coo_array((entries, (rows, columns)), shape=shape).tocsr()
    return SparseCosts(matrix, maximize=costs.maximize, cost_limit=costs.cost_limit).with_ways_out()


def _refuse_large(costs: DenseCosts | SparseCosts, values: Any, best: Assignment, is_limited: bool) -> None:
    """Raises if differences of the costs of two assignments overflow, or if big numbers round half of a cost away.

    A big limit is allowed: it rounds only its own share of a sum.
    """
    pairs, spread, largest = min(costs.shape), costs.highest - costs.lowest, max(-costs.lowest, costs.highest)
    if costs.dual_type is np.int64:
        is_large = best.exact is not None or max(16 * pairs * spread, pairs * largest) >= 2**63
    elif best.exact is None or is_limited:
        is_large = False
    else:
        ordinary = abs(values)[abs(values) < best.exact.tiers[-1].value / 2].max(initial=0)
        is_large = max(abs(best.u).max(), abs(best.v).max()) > MOST_MAGNITUDES * ordinary
    if is_large:
        raise InvalidInput(
            "ranking needs costs of like magnitudes: of integers 16 * pairs * (highest - lowest) below 2**63, and of "
            f"floats no big number in place of forbidden pairs; got {pairs} pairs and costs from {costs.lowest} to "
            f"{costs.highest}; forbid pairs with inf or by leaving them out of a sparse matrix"
        )


def _as_given(problem: _Problem, mates: Any) -> Any:
    """The column of each row of the matrix as given; ways out are none."""
    rows, columns = sorted(problem.costs.shape)
    mates = np.where(mates < columns, mates, -1).astype(np.int32, copy=False)
    if not problem.turned:
        return mates
    ranks, places = (mates >= 0).nonzero()
    turned = np.full((len(mates), columns), -1, np.int32)
    turned[ranks, mates[ranks, places]] = places
    return turned


def _costs_of_each(problem: _Problem, mates: Any) -> Any:
    """What the pairs of each assignment cost, without ways out."""
    rows, columns = np.arange(mates.shape[1]), max(problem.costs.shape)
    if isinstance(problem.costs, DenseCosts):
        matrix = problem.costs.matrix.T if problem.turned else problem.costs.matrix
        entries = matrix[rows, np.minimum(mates, columns - 1)]
    else:
        entries = problem.entries[np.searchsorted(problem.places, _places(rows, mates, problem.columns))]
    if problem.columns > columns:
        entries[mates >= columns] = 0
    return exact_sums(entries)
