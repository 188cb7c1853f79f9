"""`bottleneck`: the assignment whose most expensive pair is cheapest, by matchings of the pairs below thresholds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import Device, all_others, beside, lower_at, mover_to, row_of_each_entry, truth_of
from ..assignment.lap import lap
from ..backends import backend_for, refuse_gpu
from ..cardinality.matching import max_matching
from ..devices.cpu import check_threads
from ..errors import InvalidInput
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts, matrix_of, offsets
from ..proof.verify import verify
from ..result import Matching
from ..toolkit_result import Bottleneck

# The search begins with the 3 n (ln n + 1) cheapest pairs for n rows: random pairs have an assignment from about n ln n
# pairs on (Erdős, Rényi 1964). It takes 8 times as many pairs whenever they have no assignment. Measured in
# benchmarks/log/toolkit.md, "Thresholds measured again".
FIRST_PAIRS = 3
MORE_PAIRS = 8
# Pairs of a sample. Its quantiles estimate how much the cheapest pairs cost.
SAMPLE = 1 << 17


_Cover = tuple[Any, Any]


class _Found(NamedTuple):
    """An answer, of the problem as the programs read it."""

    row_match: Any
    cover: _Cover  # of all cheaper pairs
    stats: dict[str, Any]
    whole_cover: _Cover | None = None  # of all pairs, if some rows have none


class _Pairs(NamedTuple):
    """Pairs in the order of their rows; rows are of the side with fewer vertices."""

    rows: Any
    columns: Any
    values: Any  # in the minimisation form
    shape: tuple[int, int]

    def within(self, threshold: int | float) -> _Pairs:
        kept = (self.values <= threshold).nonzero()[0]
        return _Pairs(self.rows[kept], self.columns[kept], self.values[kept], self.shape)

    def graph(self) -> tuple[Any, Any, tuple[int, int]]:
        return offsets(self.rows, self.shape[0]), self.columns, self.shape


def bottleneck(
    cost: Any,
    *,
    maximize: bool = False,
    then: str | None = None,
    infeasible: str = "raise",
    forbid_nan: bool = False,
    threads: int | None = None,
    device: str | None = None,
    certify: bool = False,
) -> Bottleneck:
    """The assignment whose most expensive pair is as cheap as possible, with its proof (bottleneck assignment).

    Parameters
    ----------
    cost : array or sparse matrix, shape (rows, columns)
        As for `gmatch.lap`. The stored entries of a sparse matrix are the only allowed pairs; +inf forbids a pair (-inf
        when maximizing). min(rows, columns) pairs are made. Of a `PointCosts` the matrix is made. Never changed.
    maximize : bool
        Make the least pair as large as possible instead.
    then : {None, "sum"}
        ``"sum"``: among these assignments, return the one of least total cost (of largest, when maximizing).
    infeasible : {"raise", "partial"}
        If forbidden pairs leave no assignment: raise `Infeasible`; or make as many pairs as possible, and the most
        expensive one as cheap as possible. `Bottleneck.whole_cover` proves that no matching has more pairs.
    forbid_nan : bool
        NaN forbids its pair; otherwise it is refused.
    threads : int, optional
        Host threads of the matchings of sparse costs, as for `gmatch.max_matching`, and of ``"sum"``.
    device : {None, "cpu", "gpu"}
        Where sparse costs are solved. None: where they live. Dense costs are solved on the host: costs on a GPU are
        moved there, and ``"gpu"`` is refused.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Bottleneck
        ``row_ind, col_ind = bottleneck(cost)`` works. Its arrays live where the costs live.

    Raises
    ------
    InvalidInput
        If the costs or an option is not valid, before any work.
    Infeasible
        If forbidden pairs leave no assignment, and `infeasible` is ``"raise"``; with a Hall witness.
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    Each row needs a pair, so the threshold begins at the largest of the row minima. If a threshold allows too few
    pairs, a vertex cover proves it (König 1931). Every assignment needs a pair outside the cover, so the cheapest pair
    outside it is the next bound. For dense costs, rows are matched one by one along augmenting paths, in O(rows**2 *
    columns) time at worst and O(columns) memory. For sparse costs, O(log(entries)) maximum matchings are found, each
    from the one before; thresholds above the bound are tried by growing steps, then halved.

    References
    ----------
    U. Derigs, U. Zimmermann: An augmenting path method for solving linear bottleneck assignment problems. Computing 19
    (1978). R. Burkard, M. Dell'Amico, S. Martello: Assignment Problems (2009), section 6.2.

    Examples
    --------
    >>> cost = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]
    >>> result = gmatch.bottleneck(cost, then="sum")
    >>> result.threshold, result.cost, result.col_ind.tolist()
    (2, 5, [1, 0, 2])
    """
    if then is not None and (not isinstance(then, str) or then != "sum"):
        raise InvalidInput(f"then must be None or 'sum'; got {then!r}")
    if not isinstance(infeasible, str) or infeasible not in ("raise", "partial"):
        raise InvalidInput(f"infeasible must be 'raise' or 'partial'; got {infeasible!r}")
    check_threads(threads)
    costs = costs_of(cost, truth_of("maximize", maximize), None, forbid_nan).widened()
    if costs.cost_limit is not None:
        raise InvalidInput("bottleneck makes all pairs that can be made; give costs without a cost_limit")
    # In the minimisation form 2**63 - 1 is a forbidden pair. The search of dense costs marks columns by 1 - 2**63, and
    # no cost may lie below that.
    if costs.dtype == np.int64 and not (-(2**63) < costs.lowest and costs.highest < 2**63 - 1):
        raise InvalidInput(
            f"cost must not hold {'-2**63 and 1 - 2**63' if costs.maximize else '-2**63 and 2**63 - 1'}; use "
            "cost.astype(np.float64)"
        )
    there = costs.on(_device_for(costs, device))
    with beside(there.data if isinstance(there, SparseCosts) else there.array):
        result = _solve(there, infeasible == "partial", threads)
        result = _cheapest(there, result, threads) if then == "sum" else result
    if there.device != costs.device:
        result = result.moved(mover_to(costs.device))
    if certify:
        verify(costs, result)
    return result


def _device_for(costs: DenseCosts | SparseCosts, device: str | None) -> Device:
    if isinstance(costs, DenseCosts):
        refuse_gpu("gmatch.bottleneck of dense costs", device)
        return "cpu"
    name: Device = backend_for(None, costs.device if device is None else device).NAME
    return name


def _solve(costs: DenseCosts | SparseCosts, may_be_partial: bool, threads: int | None) -> Bottleneck:
    if min(costs.shape) == 0:
        return _nothing(costs)
    if isinstance(costs, SparseCosts):
        found = _by_thresholds(costs, may_be_partial, threads)
    elif (found := _by_search(costs)) is None and may_be_partial:
        return replace(_solve(_allowed(costs), True, threads), forbid_nan=costs.forbid_nan)
    if found is None:
        lap(costs, threads=threads)  # says why there is no assignment
        raise AssertionError("lap found an assignment of pairs that have none")
    return _result(costs, found) if bool((found.row_match >= 0).any()) else _nothing(costs)


def _allowed(costs: DenseCosts) -> SparseCosts:
    """The allowed pairs only."""
    places = costs.is_allowed(costs.matrix).nonzero()
    return SparseCosts(matrix_of((*places, costs.matrix[places]), costs.shape), maximize=costs.maximize)


def _by_search(costs: DenseCosts) -> _Found | None:
    """By augmenting paths and a threshold that rises."""
    rows, columns = costs.array.shape
    row_match, col_match = np.empty(rows, np.int32), np.empty(columns, np.int32)
    in_cover = np.empty(rows, np.bool_), np.empty(columns, np.bool_)
    size, rises = _native.assign_bottleneck(costs.array, costs.maximize, row_match, col_match, *in_cover)
    if size < rows:
        return None
    return _Found(row_match, (in_cover[0].nonzero()[0], in_cover[1].nonzero()[0]), {"rises": rises})


def _by_thresholds(costs: SparseCosts, may_be_partial: bool, threads: int | None) -> _Found | None:
    """By maximum matchings of the pairs up to thresholds."""
    pairs, matching, matchings = _first_pairs(costs, threads)
    if matching.size == min(costs.shape):
        return _least_threshold(pairs, matching, threads, matchings)
    if not may_be_partial:
        return None
    found = _least_threshold(pairs, matching, threads, matchings)
    return found._replace(whole_cover=matching.vertex_cover())


def _all_pairs(costs: SparseCosts, most: int | float) -> _Pairs:
    """The allowed pairs that cost no more."""
    values = costs.minimised()
    kept = ((values <= most) & (values < math.inf)).nonzero()[0]
    rows = row_of_each_entry(costs.indptr, costs.entries)[kept]
    return _Pairs(rows, costs.indices[kept], values[kept], (min(costs.shape), max(costs.shape)))


def _first_pairs(costs: SparseCosts, threads: int | None) -> tuple[_Pairs, Matching, int]:
    """The cheapest pairs that have an assignment, not many more than needed; all pairs if they have none.

    Also a largest matching of these pairs, and how many matchings were found.
    """
    values = costs.minimised()
    sample = values[:: max(1, len(values) // SAMPLE)]
    rows = min(costs.shape)
    number = FIRST_PAIRS * math.ceil(rows * (math.log(rows) + 1))
    matchings = 0
    while True:
        matchings += 1
        everything = number >= len(values)
        place = number * len(sample) // len(values) if len(values) else 0
        most = math.inf if everything else np.partition(sample, place)[place].item()
        pairs = _all_pairs(costs, most)
        matching = max_matching(pairs.graph(), threads=threads)
        if everything or matching.size == rows:
            return pairs, matching, matchings
        number *= MORE_PAIRS


def _least_threshold(pairs: _Pairs, largest: Matching, threads: int | None, matchings: int) -> _Found:
    """A matching of as many pairs as the largest one, up to the least threshold that allows it."""
    if not largest.size:
        return _Found(largest.row_match, (largest.row_match[:0],) * 2, {"matchings": matchings})
    least, cover = _bound_of_minima(pairs, largest.size)
    values = np.unique(pairs.values[pairs.values >= least])
    low, high = 0, len(values) - 1  # cheaper pairs than `low` lie in the cover; `high` allows an assignment
    initial: Any = "auto"
    row_match, place, step = None, 0, 1
    while row_match is None or low < high:
        within = pairs.within(values[place])
        matching = max_matching(within.graph(), initial=initial, threads=threads)
        matchings += 1
        if matching.size == largest.size:
            row_match, high, pairs = matching.row_match, place, within
        else:
            initial, cover = matching, matching.vertex_cover()
            low = int(np.searchsorted(values, _least_outside(pairs, cover)))
        # The bound is often near: the thresholds above it are tried by growing steps before they are halved.
        place, step = min(low + step - 1, (low + high) // 2), step * 4
    return _Found(row_match, cover, {"matchings": matchings})


def _bound_of_minima(pairs: _Pairs, size: int) -> tuple[Any, _Cover]:
    """The largest minimum of a row, or of a column if all columns are matched, and a cover of all cheaper pairs.

    If some rows stay free, it is the least cost of all, and the cover is empty.
    """
    if size < pairs.shape[0]:
        return pairs.values.min(), (pairs.rows[:0], pairs.columns[:0])
    bounds = []
    for number, numbers in enumerate((pairs.rows, pairs.columns)[: 1 + (pairs.shape[0] == pairs.shape[1])]):
        minima = np.full_like(pairs.values, pairs.values.max().item(), shape=pairs.shape[number])
        lower_at(minima, numbers, pairs.values)
        largest = minima.argmax()
        others = all_others(largest.reshape(1), pairs.shape[number])
        none = others[:0]
        bounds.append((minima[largest].item(), (others, none) if number == 0 else (none, others)))
    return max(bounds, key=lambda bound: bound[0])


def _least_outside(pairs: _Pairs, cover: _Cover) -> Any:
    """The cost of the cheapest pair that is not covered."""
    outside = []
    for numbers, length in zip(cover, pairs.shape, strict=True):
        is_outside = np.ones_like(pairs.rows, dtype=np.bool_, shape=length)
        is_outside[numbers] = False
        outside.append(is_outside)
    return pairs.values[outside[0][pairs.rows] & outside[1][pairs.columns]].min()


def _result(costs: DenseCosts | SparseCosts, found: _Found) -> Bottleneck:
    """For the matrix as given."""
    row_match, cover, stats, whole_cover = found
    col_match = np.full_like(row_match, -1, shape=max(costs.shape))
    matched = (row_match >= 0).nonzero()[0]
    col_match[row_match[matched]] = matched
    if costs.transposed:
        row_match, col_match, cover = col_match, row_match, cover[::-1]
        whole_cover = whole_cover and whole_cover[::-1]
    pair_costs = costs.of_pairs(row_match, whole_cover is None)
    threshold = pair_costs.min() if costs.maximize else pair_costs.max()
    return Bottleneck(
        threshold.item(), row_match, col_match, pair_costs, cover, None, costs.maximize, costs.forbid_nan, stats,
        whole_cover,
    )  # fmt: skip


def _cheapest(costs: DenseCosts | SparseCosts, found: Bottleneck, threads: int | None) -> Bottleneck:
    """The cheapest assignment of the pairs up to the threshold."""
    if not found.size:
        return replace(found, assignment=lap(costs, infeasible="partial"))
    if isinstance(costs, DenseCosts):
        places = (costs.matrix >= found.threshold if costs.maximize else costs.matrix <= found.threshold).nonzero()
        entries = costs.matrix[places]
    else:
        rows, columns, _ = costs.triples()
        kept = costs.data >= found.threshold if costs.maximize else costs.data <= found.threshold
        places, entries = (rows[kept], columns[kept]), costs.data[kept]
    matrix = matrix_of((*places, entries), costs.shape)
    assignment = lap(SparseCosts(matrix, maximize=costs.maximize), infeasible="partial", threads=threads)
    return replace(
        found, row_match=assignment.row_match, col_match=assignment.col_match, pair_costs=assignment.pair_costs,
        assignment=assignment,
    )  # fmt: skip


def _nothing(costs: DenseCosts | SparseCosts) -> Bottleneck:
    """The result of a problem without pairs."""
    empty = lap(costs, infeasible="partial")
    none = empty.row_match[:0]
    return Bottleneck(
        None, empty.row_match, empty.col_match, empty.pair_costs, (none, none), None, costs.maximize, costs.forbid_nan,
        {"matchings": 0}, None if min(costs.shape) == 0 else (none, none),
    )  # fmt: skip
