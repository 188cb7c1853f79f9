"""`best_hypotheses`: the best children of many hypotheses. Each parent has its own costs of a pair and of a miss."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..arrays import as_dense_array, to_host, truth_of
from ..backends import refuse_gpu
from ..devices.cpu import check_threads
from ..errors import Infeasible, InvalidInput
from ..foreign import EXACT_IN_FLOAT64
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..proof.verify import verify
from ..toolkit_result import Hypotheses, KBest
from ..types import may_round
from .ranked import Listing, allowed_pairs, extend, number_of_assignments, problem_of


class _Asked(NamedTuple):
    """The question, for all parents."""

    number: int
    priors: list[int | float]
    misses: tuple[Any, ...]
    maximize: bool
    forbid_nan: bool

    @property
    def sign(self) -> int:
        return -1 if self.maximize else 1


def best_hypotheses(
    costs: Any,
    k: int,
    *,
    miss: Any,
    prior: Any = 0,
    maximize: bool = False,
    forbid_nan: bool = False,
    threads: int | None = None,
    device: str | None = None,
    certify: bool = False,
) -> Hypotheses:
    """The k best hypotheses that follow from several parents, as a multiple-hypothesis tracker asks at each scan.

    A child of a parent pairs some of the parent's rows (tracks) with columns (measurements), and misses the others. It
    costs the prior of its parent, its pairs, and the miss of each row that it misses. Pairs may cost more than a miss.
    Free columns may cost something, too, as false alarms and new tracks do. Then subtract this cost from all entries of
    the column, and add the sum of these costs to the prior.

    Parameters
    ----------
    costs : sequence of matrices, or array of shape (parents, rows, columns)
        What pairs cost in each parent, dense or sparse as for `gmatch.k_best`: their shapes may differ.
    k : int
        How many of all, 1 or more. If there are fewer than k, all are returned.
    miss : number, or sequence with a number or an array of shape (rows,) for each parent
        What a free row costs. A row whose miss is inf (-inf when maximizing) must not stay free.
    prior : number, or sequence of numbers, one for each parent
        What the parent costs itself.
    maximize : bool
        Costs, misses and priors are worths: the hypotheses of the largest sums.
    forbid_nan : bool
        NaN forbids its pair; otherwise it is refused.
    threads : int, optional
        How many threads rank parents side by side; by default as many as there are processors and work for them. The
        answer is the same for any number.
    device : {None, "cpu"}
        The work is done on the host, and costs on a GPU are moved there; ``"gpu"`` is refused.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Hypotheses
        A sequence of `Hypothesis`, the best first. Among equally good ones the child of the earlier parent is first.

    Raises
    ------
    InvalidInput
        If there is no parent, or costs, misses or priors are not valid; see `gmatch.k_best`.
    Infeasible
        If a parent has no child because some rows must not stay free; with a Hall witness.
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    Each parent is a problem with one more column for each row, which costs the miss of the row. It is ranked as
    `gmatch.k_best` ranks. Each parent lists two children first. A parent goes on if its last child is better than the
    k-th best known child: the better half of these parents at a time, each to twice as many children. Integers are
    exact.

    References
    ----------
    D. B. Reid: An algorithm for tracking multiple targets. IEEE Trans. Autom. Control 24 (1979). I. J. Cox, M. L.
    Miller: On finding ranked assignments with application to multitarget tracking and motion correspondence. IEEE
    Trans. Aerosp. Electron. Syst. 31 (1995).

    Examples
    --------
    >>> costs = [[1, 4], [3, 2]], [[2, 2]]
    >>> best = gmatch.best_hypotheses(costs, 3, miss=[5, [9]], prior=[0, 2])
    >>> best.costs.tolist(), best.parents.tolist(), best[2].row_match.tolist()
    ([3, 4, 4], [0, 1, 1], [1])
    """
    refuse_gpu("gmatch.best_hypotheses", device)
    number = number_of_assignments(k)
    check_threads(threads)
    maximize, forbid_nan = truth_of("maximize", maximize), truth_of("forbid_nan", forbid_nan)
    parents = list(costs) if isinstance(costs, Iterable) else []
    if not parents:
        raise InvalidInput(
            f"expected a sequence with the costs of one parent at least; got {type(costs).__name__} without parents"
        )
    priors = [_prior_of(given) for given in _of_each("prior", prior, len(parents))]
    misses, listings = [], []
    for parent, (cost, given) in enumerate(zip(parents, _of_each("miss", miss, len(parents)), strict=True)):
        problem = costs_of(cost, maximize, None, forbid_nan).widened().on("cpu")
        misses.append(_miss_of_rows(given, problem.shape[0], parent, maximize))
        listings.append(_listing(_with_misses(problem, misses[-1], parent), parent))
    asked = _Asked(number, priors, tuple(misses), maximize, forbid_nan)
    result = _merged(_ranked_together(listings, asked, threads), asked)
    if truth_of("certify", certify):
        verify(parents, result)
    return result


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float | np.number) or getattr(given, "shape", None) == ()


def _of_each(name: str, given: Any, parents: int) -> list[Any]:
    """One for each parent."""
    if _is_number(given):
        return [given] * parents
    if not isinstance(given, Iterable) or len(numbers := list(given)) != parents:
        raise InvalidInput(f"{name} must be a number, or have one for each of the {parents} parents; got {given!r}")
    return numbers


def _prior_of(given: Any) -> int | float:
    try:
        number: int | float = operator.index(given)
    except TypeError:
        try:
            number = float(given)
        except (TypeError, ValueError):
            number = math.nan
    if not -(2**62) < number < 2**62 and not (isinstance(number, float) and math.isfinite(number)):
        raise InvalidInput(f"prior must be finite numbers, integers below 2**62; got {given!r}")
    return number


def _miss_of_rows(given: Any, rows: int, parent: int, maximize: bool) -> Any:
    """What each row costs that stays free: int64 or float64."""
    numbers = np.full(rows, to_host(given)) if _is_number(given) else given
    array = to_host(as_dense_array(numbers, "miss"))
    if array.shape != (rows,) or rows and array.dtype.kind not in "iuf":
        raise InvalidInput(
            f"miss of parent {parent} must be a number, or real numbers of shape ({rows},), one for each row; got "
            f"{array.dtype} of shape {array.shape}"
        )
    never = -math.inf if maximize else math.inf
    miss = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
    if bool((array.astype(np.float64) >= 2**63).any()) and miss.dtype == np.int64:
        raise InvalidInput(f"miss of parent {parent} must be below 2**63; got {int(array.max())}")
    if bool(((miss != miss) | (miss == -never)).any()):
        raise InvalidInput(
            f"miss of parent {parent} must not hold NaN or {-never:+}; {never:+} forbids a row to stay free"
        )
    return miss


def _with_misses(costs: DenseCosts | SparseCosts, miss: Any, parent: int) -> SparseCosts:
    """The costs with one more column for each row, which only this row may take, at the cost of its miss."""
    rows, columns, entries = allowed_pairs(costs, False)
    may_miss = np.isfinite(miss).nonzero()[0]
    more = miss[may_miss]
    dtype = np.dtype(
        np.int64 if entries.dtype.kind == "i" and (more.dtype.kind == "i" or not len(more)) else np.float64
    )
    if may_round(entries, dtype) or may_round(more, dtype):
        raise InvalidInput(f"parent {parent} has integers beyond 2**53 beside floats; make floats of all")
    height, width = costs.shape
    places = np.concatenate([rows, may_miss]), np.concatenate([columns, width + may_miss])
    values = np.concatenate([entries.astype(dtype), more.astype(dtype)])
    matrix = scipy.sparse.coo_array((values, places), shape=(height, width + height))
    return SparseCosts(matrix, maximize=costs.maximize)


def _listing(problem: SparseCosts, parent: int) -> Listing:
    try:
        return Listing(problem_of(problem))
    except Infeasible as error:
        raise Infeasible(f"parent {parent} has no child: {error}", error.rows, error.columns) from None


def _ranked_together(listings: list[Listing], asked: _Asked, threads: int | None) -> list[KBest]:
    """The best children of each parent: all that may be among the best of all, and one more."""
    number, sign = asked.number, asked.sign
    lists: list[Any] = [None] * len(listings)
    prices: list[list[Any]] = [[] for _ in listings]
    todo, gaps, wanted = list(range(len(listings))), [None] * len(listings), [min(2, number)] * len(listings)
    while todo:
        extend([listings[parent] for parent in todo], [wanted[parent] for parent in todo], gaps, threads)
        for parent in todo:
            lists[parent] = listings[parent].result()
            prices[parent] = [sign * (cost + asked.priors[parent]) for cost in lists[parent].costs.tolist()]
        known = sorted(chain.from_iterable(prices))
        bound = known[number - 1] if len(known) >= number else None
        todo = [
            parent
            for parent, one in enumerate(listings)
            if not one.are_all and one.found < number and (bound is None or prices[parent][-1] < bound)
        ]
        # Only the better half goes on: its children lower the bound for the other half.
        todo = sorted(todo, key=lambda parent: (prices[parent][-1], parent))[: -(-len(todo) // 2)]
        gaps = [None if bound is None else bound - prices[parent][0] for parent in todo]
        for parent in todo:
            wanted[parent] = min(2 * listings[parent].found, number)
    return lists


def _merged(lists: list[KBest], asked: _Asked) -> Hypotheses:
    sign = asked.sign
    every = sorted(
        (sign * (cost + prior), parent, rank)
        for parent, (one, prior) in enumerate(zip(lists, asked.priors, strict=True))
        for rank, cost in enumerate(one.costs.tolist())
    )[: asked.number]
    prices, parents, ranks = (list(column) for column in zip(*every, strict=True))
    complete = len(every) < asked.number
    _refuse_rounded(prices)
    needed = np.full(len(lists), -1)
    np.maximum.at(needed, parents, ranks)
    return Hypotheses(
        np.array(parents, np.int64), np.array(ranks, np.int64), np.array([sign * price for price in prices]),
        tuple(map(_first_of, lists, needed + 2)), tuple(asked.priors), asked.misses, complete, asked.maximize,
        asked.forbid_nan,
    )  # fmt: skip


def _refuse_rounded(prices: list[int | float]) -> None:
    """Raises `InvalidInput` unless one array holds all of them."""
    largest, floats = max(map(abs, prices)), any(isinstance(price, float) for price in prices)
    if floats and not math.isfinite(largest):
        raise InvalidInput("costs and priors must have finite sums; divide them by a power of two")
    if largest >= (EXACT_IN_FLOAT64 if floats else 2**63) and any(isinstance(price, int) for price in prices):
        raise InvalidInput(
            f"costs and priors add up to {largest}, which {'float64' if floats else 'int64'} does not hold; give "
            "all of them as floats"
        )


def _first_of(one: KBest, number: int) -> KBest:
    if number >= len(one):
        return one
    arrays = {name: getattr(one, name)[:number].copy() for name in ("row_match", "costs", "u", "v")}
    return replace(one, complete=False, **arrays)
