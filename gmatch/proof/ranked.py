"""The proof of the cheapest assignments: none that is not listed is cheaper than the last one.

An assignment that is not listed parts from the list at some row: it shares the pairs of the rows before with some
listed ones, and has another pair there than all of these. So all others lie in as many sets as there are places to
part, and each set is seen from the first listed assignment that has its pairs before that row, by an alternating cycle
through the row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..arrays import exact_sum
from ..errors import CertificateError
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.limits import minimised
from ..problems.sparse import SparseCosts
from ..toolkit_result import KBest, KBestCertificate


class _Pairs(NamedTuple):
    """The allowed pairs; rows are of the side with fewer vertices, and all are matched, perhaps with ways out."""

    rows: Any
    columns: Any
    values: Any  # in the minimisation form
    entries: Any
    shape: tuple[int, int]


class _Listed(NamedTuple):
    """The assignments of the list, in order, and their duals."""

    pairs: _Pairs
    mates: Any  # the column of each row, for each assignment
    places: Any  # of its pairs among the allowed ones
    u: Any
    v: Any
    tolerance: int | float  # what the rounding of the duals may add up to


def verify_k_best(cost: Any, result: KBest) -> KBestCertificate:
    """As `gmatch.verify`; O(allowed pairs) for each assignment, and the cube of the rows on cycles of small slack."""
    if isinstance(cost, DenseCosts | SparseCosts):
        costs = cost.on("cpu")
    else:
        costs = costs_of(cost, result.maximize, result.cost_limit, result.forbid_nan).on("cpu")
    if (costs.maximize, costs.cost_limit) != (result.maximize, result.cost_limit):
        raise CertificateError(
            f"the assignments are for maximize={result.maximize} and cost_limit={result.cost_limit}; the costs are for "
            f"maximize={costs.maximize} and cost_limit={costs.cost_limit}"
        )
    turned = costs.shape[0] > costs.shape[1]
    pairs = _pairs_of(costs, turned)
    mates = _checked_mates(result, costs.shape, turned)
    places = _places_of_pairs(pairs, mates)
    pairs, u, v, tolerance = _checked_duals(result, costs, pairs)
    _check_costs(result, pairs, places, mates, max(costs.shape))
    prices = _sums(pairs.values[places])
    if bool((np.diff(prices) < -tolerance).any()):
        raise CertificateError("the assignments must be in order, the cheapest first; they are not")
    beyond = math.inf if result.complete else prices[-1] - tolerance
    listed = _Listed(pairs, mates, places, u, v, tolerance)
    for rank in range(len(mates)):
        _check_sets(listed, rank, beyond - prices[rank])
    return KBestCertificate(len(mates), result.complete, tolerance)


def _pairs_of(costs: DenseCosts | SparseCosts, turned: bool) -> _Pairs:
    if isinstance(costs, SparseCosts):
        rows, columns, _ = costs.triples()
        entries = costs.data
    else:
        rows, columns = costs.is_allowed(costs.matrix).nonzero()
        entries = costs.matrix[rows, columns]
    values = minimised(entries, costs.dual_type, costs.maximize, None)
    fewer, more = sorted(costs.shape)
    rows, columns = (columns, rows) if turned else (rows, columns)
    limit = None if costs.cost_limit is None else -costs.cost_limit if costs.maximize else costs.cost_limit
    kept = (values < math.inf) if limit is None else (values <= limit)
    rows, columns, values, entries = (array[kept] for array in (rows, columns, values, entries))
    if limit is not None:  # each row has a way out of its own
        every = np.arange(fewer)
        rows, columns = np.concatenate([rows, every]), np.concatenate([columns, more + every])
        values = np.concatenate([values, np.full(fewer, limit)])
        entries = np.concatenate([entries, np.zeros(fewer, entries.dtype)])
        more += fewer
    return _Pairs(rows, columns, values, entries, (fewer, more))


def _checked_mates(result: KBest, shape: tuple[int, int], turned: bool) -> Any:
    """The column of each row of `_Pairs` in each assignment, ways out by their numbers."""
    given, bound = np.asarray(result.row_match), shape[1]
    if given.ndim != 2 or given.shape[1] != shape[0] or given.dtype.kind != "i" or not len(given):
        raise CertificateError(
            f"row_match must hold {shape[0]} integers for each assignment, and one assignment at least; got "
            f"{given.dtype} of shape {given.shape}"
        )
    if given.size and not (-1 <= int(given.min()) and int(given.max()) < bound):
        raise CertificateError(f"row_match must hold numbers from -1 to {bound - 1}")
    mates = given.astype(np.int64)
    ranks, places = (given >= 0).nonzero()
    taken = np.full((len(given), bound), -1, np.int64)
    taken[ranks, given[ranks, places]] = places
    if int((taken >= 0).sum()) != len(ranks):
        raise CertificateError("row_match must give each column to one row; it does not")
    mates = taken if turned else mates
    fewer, more = sorted(shape)
    free = mates < 0
    if bool(free.any()) and result.cost_limit is None:
        raise CertificateError(f"the assignments must have {fewer} pairs; some have fewer")
    ways_out = np.broadcast_to(more + np.arange(fewer), mates.shape)
    mates[free] = ways_out[free]
    if len(np.unique(mates, axis=0)) != len(mates):
        raise CertificateError("the assignments must differ; two are the same")
    return mates


def _places_of_pairs(pairs: _Pairs, mates: Any) -> Any:
    """Where the pairs of each assignment are among the allowed ones."""
    numbers = pairs.rows * np.int64(pairs.shape[1]) + pairs.columns
    order = numbers.argsort()
    wanted = np.arange(pairs.shape[0]) * np.int64(pairs.shape[1]) + mates
    if not mates.size:
        return mates
    found = np.searchsorted(numbers[order], wanted).clip(0, max(len(order) - 1, 0))
    places = order[found] if len(order) else np.full_like(wanted, -1)
    wrong = (places < 0) if not len(order) else numbers[places] != wanted
    if bool(wrong.any()):
        rank, row = (int(some[0]) for some in wrong.nonzero())
        raise CertificateError(f"assignment {rank} has a pair that is not allowed, of vertex {row} of the smaller side")
    return places


def _sums(values: Any) -> Any:
    if values.dtype.kind != "f":
        return values.sum(axis=1)
    return np.array([exact_sum(some) for some in values])


def _check_costs(result: KBest, pairs: _Pairs, places: Any, mates: Any, columns: int) -> None:
    entries = pairs.entries[places]
    entries[mates >= columns] = 0
    expected = _sums(entries.astype(entries.dtype if entries.dtype.kind == "f" else pairs.values.dtype))
    claimed = np.asarray(result.costs)
    if claimed.shape != expected.shape or bool((claimed != expected).any()):
        raise CertificateError("costs must hold the sum of each assignment's pairs; it does not")


def _checked_duals(
    result: KBest, costs: DenseCosts | SparseCosts, pairs: _Pairs
) -> tuple[_Pairs, Any, Any, int | float]:
    """Pairs and duals in a type that holds their sums, and the tolerance for the rounding of the duals.

    Integers whose sums could overflow int64 become Python integers.
    """
    dual_type = pairs.values.dtype
    largest: list[Any] = [max(-costs.lowest, costs.highest, abs(costs.cost_limit or 0))]
    u, v = (np.asarray(dual) for dual in (result.u, result.v))
    for name, dual, length in (("u", u, pairs.shape[0]), ("v", v, pairs.shape[1])):
        if dual.shape != (len(result), length) or dual.dtype != dual_type:
            raise CertificateError(
                f"{name} must hold {length} duals of type {dual_type} for each assignment; got "
                f"{dual.dtype} of shape {dual.shape}"
            )
        if not bool(np.isfinite(dual).all()):
            raise CertificateError(f"{name} must be finite")
        if dual.size:
            largest.append(max(-int(dual.min()), int(dual.max())) if dual.dtype == np.int64 else abs(dual).max().item())
    if dual_type == np.int64:
        if max(sum(largest), pairs.shape[0] * largest[0]) < 2**61:
            return pairs, u, v, 0
        return pairs._replace(values=pairs.values.astype(object)), u.astype(object), v.astype(object), 0
    vertices = sum(pairs.shape)
    if vertices and max(largest) > 8 * vertices * largest[0]:
        raise CertificateError("the duals are too large for costs of this range: float64 would round these away")
    return pairs, u, v, 64 * float(np.finfo(np.float64).eps) * vertices * max(largest)


def _check_sets(listed: _Listed, rank: int, less: Any) -> None:
    """Checks that each assignment of the sets that are seen from this one costs at least `less` more."""
    pairs, mates, u, v = listed.pairs, listed.mates, listed.u[rank], listed.v[rank]
    row_match, rows = mates[rank], pairs.shape[0]
    if not rows:
        return
    differ = mates != row_match
    shared = np.where(differ.any(axis=1), differ.argmax(axis=1), rows)  # rows before the first other pair
    first = int(shared[:rank].max(initial=-1)) + 1  # the row of its first set
    owner = np.full(pairs.shape[1], rows)  # free columns are the vacancy's, number `rows`
    owner[row_match] = np.arange(rows)
    kept = ((pairs.rows >= first) & (owner[pairs.columns] >= first)).nonzero()[0]
    row_of, column_of = pairs.rows[kept], pairs.columns[kept]
    slack = pairs.values[kept] - u[row_of] - v[column_of]
    _check_slacks(listed, rank, first, slack)
    if not less > 0:
        return
    short = (slack < less) & (owner[column_of] != row_of)
    row_of, column_of, slack = row_of[short], column_of[short], slack[short]
    to = owner[column_of]
    if pairs.shape[0] < pairs.shape[1]:  # the vacancy takes columns of rows
        gives = np.arange(first, rows)[-v[row_match[first:]] < less]
        row_of = np.concatenate([row_of, np.full(len(gives), rows)])
        column_of, to = np.concatenate([column_of, row_match[gives]]), np.concatenate([to, gives])
        slack = np.concatenate([slack, -v[row_match[gives]]])
    # Cycles stay within strong components.
    graph = scipy.sparse.coo_array((np.ones(len(to), np.int8), (row_of, to)), shape=(rows + 1, rows + 1))
    from scipy.sparse.csgraph import connected_components  # imported here: no other proof needs all that it loads

    _, component = connected_components(graph, connection="strong")
    inside = component[row_of] == component[to]
    others = _Cycles(row_of[inside], to[inside], column_of[inside], np.maximum(slack[inside], 0))
    row = others.row_of_a_shorter(less, lambda row: mates[shared >= row, row])
    if row is not None:
        raise CertificateError(
            f"an assignment that is not listed shares the pairs of assignment {rank} up to vertex {row} of the smaller "
            "side, and is cheaper than the last one"
        )


def _check_slacks(listed: _Listed, rank: int, first: int, slack: Any) -> None:
    """Checks that the duals prove the assignment cheapest among all that have its pairs in the rows before `first`.

    `slack` has the slacks of the pairs of the other rows.
    """
    pairs, row_match, u, v = listed.pairs, listed.mates[rank], listed.u[rank], listed.v[rank]
    rows = np.arange(first, len(row_match))
    tight = pairs.values[listed.places[rank, rows]] - u[rows] - v[row_match[rows]]
    tolerance = listed.tolerance / pairs.shape[0]  # of each pair, so that what all of them add up to is within it
    wrong = abs(tight).max(initial=0) > tolerance or -slack.min(initial=0) > tolerance
    if pairs.shape[0] < pairs.shape[1]:
        free = np.ones(len(v), np.bool_)
        free[row_match] = False
        wrong = wrong or abs(v[free]).max(initial=0) > tolerance or v[row_match[rows]].max(initial=0) > tolerance
    if wrong:
        raise CertificateError("the duals of an assignment do not prove it cheapest among all that share its pairs")


class _Cycles(NamedTuple):
    """Edges between rows: one takes a column of the other. The vacancy has the greatest number."""

    rows: Any
    to: Any
    columns: Any
    slacks: Any

    def row_of_a_shorter(self, less: Any, listed: Any) -> int | None:
        """A row that has a cycle shorter than `less` through it and later rows, which begins with no listed column."""
        numbers, places = np.unique(np.concatenate([self.rows, self.to]), return_inverse=True)
        size = len(numbers)
        if not size:
            return None
        far = 2**61 if self.slacks.dtype.kind == "i" else math.inf
        rows, to = np.split(places, 2)
        weights = np.full((size, size), far, self.slacks.dtype)
        np.minimum.at(weights, (rows, to), self.slacks)
        distance = np.full((size, size), far, self.slacks.dtype)  # between rows after the one at hand
        for row in range(size - 1, -1, -1):
            after = slice(row + 1, size)
            back = np.minimum(distance[after, after] + weights[after, row], far).min(axis=1, initial=far)
            ahead = np.minimum(weights[row, after, None] + distance[after, after], far).min(axis=0, initial=far)
            edges = ((rows == row) & (to > row)).nonzero()[0]
            if len(edges):
                edges = edges[~np.isin(self.columns[edges], listed(int(numbers[row])))]
            if len(edges) and (self.slacks[edges] + back[to[edges] - row - 1]).min() < min(less, far):
                return int(numbers[row])
            distance[after, after] = np.minimum(distance[after, after], np.add.outer(back, ahead))
            distance[after, row], distance[row, after], distance[row, row] = back, ahead, 0
        return None
