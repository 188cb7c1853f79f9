"""Points of many coordinates: the core of several ranks, with one rank, and passes that are matrix products.

What a pair costs is a sum in the order of the coordinates. To compute it for all pairs takes long. But |x - y|**2 is
|x|**2 + |y|**2 - 2 x y, and all x y are one product of matrices, in float32. Each number is off by at most d + 16
roundings of (|x| + |y|)**2, in whatever order the sums are made. The number minus that error is a bound from below.
What a pair costs is computed only if the bound does not show that the pair is too expensive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Device
from ..assignment.gap import within_bound
from ..assignment.plan import Plan, checked_matching
from ..assignment.request import Options
from ..backends import backend_for
from ..backends.block_passes import OF_A_STRATUM
from ..backends.rows import best_of_strata, costs_of_pairs, costs_of_rows, panels_of
from ..methods import assignment_method_of
from ..problems.limits import DualType, RowsOfCosts, blocks_of
from ..problems.points import PointCosts
from ..problems.windows import rows_of_sample
from ..result import STEPS, Assignment
from .core import Passes, by_core
from .found import Found
from .fours import SIZE, centroids_of_fours
from .lap import result_of
from .margins import ROUNDINGS, MarginsOfCore
from .part import Places
from .ranks import Ranks, one_rank
from .sampled import prices_of
from .whole_part import Triples, WholePart
from .windows import duals_to_start_from, duals_within_limit, is_near_enough, start

REASON = "points of many coordinates: passes by matrix products, and few pairs are searched"
BRUTE_FORCE = "points without trees: passes over all pairs, and few of them are searched"
# The error of a bound in float32, as a share of (|x| + |y|)**2: a rounding for each coordinate, and 16 for the rest.
ROUNDING, OTHER_ROUNDINGS = 2.0**-24, 16
# Added to that error: products of float32 below 2**-126 are rounded by more than a share.
LEAST_NUMBER = 2.0**-120
# Metrics whose costs follow from sums of squares.
SQUARES = "sqeuclidean", "euclidean"
# Entries of a product: enough rows of x at a time to make up for reading all y.
PRODUCT = 1 << 22
# Pairs of each row whose costs are computed in a pass. If the bounds let more pass, the pairs with the least bounds are
# computed. 1 and 4 are as fast, 64 takes 1.07 times as long: benchmarks/log/points.md, "Overpriced pairs of points".
FEW = 16
# The middle of the clouds is found from at most this number of points of each.
MIDDLE = 1000
# Pairs whose costs are found together.
TOGETHER = 1 << 20


def lap_of_many_coordinates(costs: PointCosts, options: Options) -> Assignment:
    """As `gmatch.lap`, for points that do not suit trees. O(n m d) work a pass, O((n + m) d) memory."""
    initial = options.initial
    given = None if isinstance(initial, str) else checked_matching(initial, costs)
    of_points = options._replace(  # all points take these
        method="auto", deterministic=False, device=None, infeasible="raise",
        initial=initial if isinstance(initial, str | Assignment) else "auto",
    )  # fmt: skip
    duals, threads, gap = duals_to_start_from("PointCosts", of_points), options.threads, options.gap
    began = perf_counter()
    block = PointBlock(costs)
    part = PointPart(block, threads)
    part.gap, part.given = gap, None if given is None else given[block.transposed]
    v = duals_within_limit(block, duals)
    if not part.shape[0]:
        found = Found(np.empty(0, np.int32), np.empty(0), np.zeros(part.shape[1]))
    elif block.limit is not None and block.limit < block.lowest:  # rounding may hide costs in such a limit
        n, m = part.shape
        found = Found(np.arange(n, dtype=np.int32), np.full(n, float(block.limit)), np.zeros(m))
    else:
        found = part.solved(v)
    if part.excess is not None:
        found.u -= part.excess
    result = result_of(one_rank(), block, found)
    if gap is not None:
        result = within_bound(result, part.excess is not None)
    seconds = dict.fromkeys((*STEPS, "ties"), 0.0)
    seconds.update(search=perf_counter() - began - part.seconds, price=part.seconds)
    result.stats.update(
        method="points", reason=found.reason or (REASON if part.products else BRUTE_FORCE),
        initial="reduce" if duals is None and given is None else "given", backend="cpu", team="windows",
        threads=threads or 1, start_size=0, passes=-(-part.rows_read // max(1, part.shape[0])),
        rows_priced=part.rows_read, looked_at=part.looked_at, seconds=seconds,
        **found.stats(),
    )  # fmt: skip
    return result


class PointBlock(RowsOfCosts):
    """The costs of all pairs of points, as several ranks take a matrix."""

    device: Device = "cpu"
    forbids = forbid_nan = overflows = False
    dual_type: DualType = np.float64

    def __init__(self, costs: PointCosts) -> None:
        self.costs, self.shape, self.dtype = costs, costs.shape, costs.dtype
        self.maximize, self.cost_limit = costs.maximize, costs.cost_limit
        self.limit = None if costs.limit is None or costs.limit >= costs.highest else costs.limit
        self.lowest, self.highest = costs.lowest, costs.highest
        self.transposed = self.shape[0] > self.shape[1]

    def entries_of(self, row_match: Any) -> Any:
        rows = (row_match >= 0).nonzero()[0]
        return _of_pairs(self.costs, rows, row_match[rows].astype(np.int64))


def _of_pairs(costs: PointCosts, rows: Any, columns: Any) -> Any:
    if costs.metric == "minkowski":
        return costs.of_pairs(rows, columns)
    return costs_of_pairs(costs.x, costs.y, costs.metric, rows, columns)


class PointPart(WholePart):
    """All pairs of n points, all to be matched, and m >= n points."""

    def __init__(self, block: PointBlock, threads: int | None = None) -> None:
        self.threads = threads
        self.points = block.costs.turned() if block.transposed else block.costs
        super().__init__(block, self.points.shape)
        self.products = Products(self.points) if self.shape[0] and self.points.metric in Products.METRICS else None
        self.unit = 1.0 if self.products is None else self.products.unit
        self.first_prices: Any = None
        self.given: Any = None  # mates of the rows to start from; their pairs are in the core
        self._panels: Any = None
        self.margins: MarginsOfCore = MarginsOfCore(*self.shape)
        self.gap: float | None = None
        self.excess: Any = None  # by how much duals of the rows are too large, where the search stopped
        self.rows_read, self.looked_at, self.seconds = 0, 0, 0.0

    def prices(self) -> Any:
        """First duals of the columns, by which pairs are picked: prices, or 0 if there are more columns than rows."""
        if self.shape[0] < self.shape[1]:
            return np.zeros(self.shape[1])
        self.first_prices = self._sampled().prices()
        return self.first_prices

    def better_prices(self) -> Any:
        """Duals of the columns after the first ones have misled; None if there are no better ones.

        They are the duals of centroids, unless prices prove a larger bound for the rows of a sample and also make these
        rows want more different columns. One of the two alone does not tell which duals are better:
        benchmarks/log/points.md, "Centroids of fours after prices that misled".
        """
        sample = self._sampled()
        prices = sample.prices() if self.first_prices is None else self.first_prices
        of_centroids = self._duals_of_centroids()
        if of_centroids is not None:
            (bound, wanted), (bound_of_prices, wanted_by_prices) = map(sample.judged, (of_centroids, prices))
            if bound >= bound_of_prices or wanted >= wanted_by_prices:
                return of_centroids
        return None if prices is self.first_prices else prices

    def _sampled(self) -> _Sampled:
        rows, limit = rows_of_sample(*self.shape), self.block.limit
        way_out = None if self.limit is None else limit
        if self.products is not None:
            return _Sampled(self.products.rough(rows, limit), self.unit, way_out, self.shape[0])
        costs = np.concatenate([self.values(rows[some]) for some in blocks_of((len(rows), self.shape[1]), "cpu")])
        # Costs may be of any size. Divided by this power of two they fit into float32.
        unit = math.ldexp(1, math.frexp(float(abs(costs).max(initial=0)))[1])
        return _Sampled((costs / unit).astype(np.float32), unit, way_out, self.shape[0])

    def _duals_of_centroids(self) -> Any:
        """Duals of the columns from those of a problem of a quarter of the points, which is solved as this one is.

        A column gets the least cost - u of the centroids. It is off by about the width of a four of points, however the
        points are spread. Prices know the points, but only the rows of a sample. None if there is no four.
        """
        if self.shape[0] < SIZE:
            return None
        x, y = (centroids_of_fours(cloud) for cloud in (self.points.x, self.points.y))
        coarse = PointPart(PointBlock(self.points.with_points(x, y)), self.threads)
        found = coarse.solved(None)
        extended = PointPart(PointBlock(self.points.with_points(x, self.points.y)))
        v = extended.about_least_of_columns(found.u)
        may_stay_free = self.shape[0] < self.shape[1] or self.limit is not None
        return np.minimum(v, 0) if may_stay_free else v

    def solved(self, v: Any) -> Found:
        """The cheapest assignment; `v` are duals of the columns to start from, or None."""
        sparse_method, _ = assignment_method_of("auto", "cpu")
        plan = Plan(backend_for(None, "cpu"), sparse_method, self.threads, False)
        return by_core(one_rank(), self, plan, v, PASSES)

    def slices(self) -> Iterator[slice]:
        return blocks_of(self.shape, "cpu")

    def values(self, rows: Any) -> Any:
        """What some points x cost with all y, in the minimisation form, exactly as `PointCosts.of_pairs` says."""
        points = self.points
        if points.metric == "minkowski":
            numbers = np.arange(self.shape[0])[rows]
            return self._minimised(points.of_pairs(numbers[:, None], np.arange(self.shape[1])))
        if self._panels is None:
            self._panels = panels_of(points.y)
        x = np.ascontiguousarray(points.x[rows])
        return self._minimised(costs_of_rows(x, self._panels, self.shape[1], points.metric))

    def reduced(self, rows: Any, v: Any) -> Any:
        values = self.values(rows)
        values -= v
        return values

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """What some pairs cost, in the minimisation form, exactly as `PointCosts.of_pairs` says."""
        self.looked_at += len(rows)
        starts = range(0, len(rows), TOGETHER)
        parts = [slice(first, first + TOGETHER) for first in starts]
        found = [self._minimised(_of_pairs(self.points, rows[some], columns[some])) for some in parts]
        return np.concatenate([np.empty(0), *found])

    def _minimised(self, costs: Any) -> Any:
        if self.block.maximize:
            np.negative(costs, out=costs)
        if self.block.limit is not None:
            np.minimum(costs, self.block.limit, out=costs)
        return costs

    def bounds(self, rows: Any, v: Any, u: Any = None) -> Iterator[tuple[Any, Any]]:
        """A pass: numbers of some rows, and bounds from below of cost - v - u, divided by the unit of the products.

        Without products a bound is cost - v - u, up to the rounding of the differences. Without u, bounds only order
        the pairs of a row.
        """
        began = perf_counter()
        self.rows_read += len(rows)
        if self.products is not None:
            yield from self.products.bounds(rows, self.block.limit, v, u)
        else:
            for some in blocks_of((len(rows), self.shape[1]), "cpu"):
                keys = self.reduced(rows[some], v)
                if u is not None:
                    keys -= u[rows[some], None]
                yield rows[some], keys
        self.seconds += perf_counter() - began

    def least_of_rows(self, v: Any) -> Any:
        least = np.empty(self.shape[0])
        for some in self.slices():
            least[some] = self.reduced(some, v).min(axis=1)
        return least

    def least_of_columns(self, u: Any) -> Any:
        """The least cost - u of each column, or a bound of it from below."""
        least = np.full(self.shape[1], np.inf)
        for _, keys in self.bounds(self.all_rows(), np.zeros(self.shape[1]), u):
            np.minimum(least, keys.min(axis=0), out=least)
        return least * self.unit

    def about_least_of_columns(self, u: Any) -> Any:
        """The least cost - u of each column, by rounded costs if products bound the metric."""
        least, step = np.full(self.shape[1], np.inf), max(64, PRODUCT // max(self.shape[1], 1))
        if self.products is None:
            return self.least_of_columns(u)
        for first in range(0, self.shape[0], step):
            some = slice(first, first + step)
            costs = self.products.rough(some, self.block.limit, with_rows=True)
            np.minimum(least, (costs - (u[some, None] / self.unit)).min(axis=0), out=least)
        return least * self.unit

    def offered(self, found: list[Triples]) -> Places:
        """All triples that were found; they join the core."""
        keys, values = self.places(found)
        self.margins.join(*divmod(keys, self.shape[1]))
        return keys, values


class _Sampled(NamedTuple):
    """What some rows cost, in float32 and in a unit, up to the limit."""

    costs: Any
    unit: float
    limit: float | None  # if points may stay free
    rows: int  # of the problem

    def prices(self) -> Any:
        if self.limit is None:
            return prices_of(self.costs, None, self.rows).v * self.unit
        limit = self.limit / self.unit
        below = np.where(self.costs < _below(np.array([limit])), self.costs, np.float32(np.inf))
        return prices_of(below, limit, self.rows).v * self.unit

    def judged(self, v: Any) -> tuple[float, int]:
        """About what duals of the columns prove for all rows, and how many different columns the rows want by them.

        The first number lacks what only depends on the rows. If columns may stay free, no dual may be above 0.
        """
        v = v / self.unit
        reduced = self.costs - v.astype(np.float32)
        wanted = reduced.argmin(axis=1)
        least = reduced[np.arange(len(reduced)), wanted].astype(np.float64)
        return self.rows * float(least.mean()) + float(v.sum()), len(set(wanted.tolist()))


class Products:
    """Bounds of what pairs cost, from products of matrices of float32.

    Points are moved by a common vector if the metric allows it, and divided by powers of two, so that no coordinate is
    above 1. Bounds and duals are in that unit. With a = |x| and b = |y|, a bound in float32 is off by less than
    (d + 16) 2**-24 (a + b)**2 and a few roundings of its duals. Since (a + b)**2 <= 2 a**2 + 2 b**2, each row and each
    column has a share of that error.
    """

    METRICS = *SQUARES, "dot", "cosine"

    def __init__(self, points: PointCosts) -> None:
        x, y = points.x, points.y
        self._squares = points.metric in SQUARES
        self._root = points.metric == "euclidean"
        self._base = float(points.metric == "cosine")
        self._sign = -1.0 if points.maximize else 1.0
        if self._squares:
            centre = middle(x, y)
            x, y = x - centre, y - centre
        exponents = [math.frexp(max(float(abs(array).max(initial=0)), 2.0**-500))[1] for array in (x, y)]
        if self._squares:
            exponents = [max(exponents)] * 2
        x, y = (np.ldexp(array, -exponent) for array, exponent in zip((x, y), exponents, strict=True))
        self.unit = math.ldexp(1.0, sum(exponents) // 2 if self._root else sum(exponents))
        a, b = (np.einsum("ij,ij->i", array, array) for array in (x, y))
        self._off = [2 * (x.shape[1] + OTHER_ROUNDINGS) * ROUNDING * part + LEAST_NUMBER for part in (a, b)]
        self._of_rows: Any
        self._of_columns: Any
        self._of_rows, self._of_columns = (a, b) if self._squares else (np.zeros(len(a)), np.zeros(len(b)))
        factor = -2.0 if self._squares else -1.0
        self._x = (x * (factor * self._sign)).astype(np.float32)
        self._y = np.ascontiguousarray(y.astype(np.float32).T)
        self.shape = points.shape

    def rough(self, rows: Any, limit: float | None, with_rows: bool = False) -> Any:
        """What some rows cost, rounded, in the unit, in float32; if asked, with what only depends on the rows."""
        costs = self._x[rows] @ self._y
        costs += (self._sign * self._of_columns).astype(np.float32)
        finishes = self._root or limit is not None
        if finishes or with_rows:
            costs += (self._sign * (self._of_rows[rows, None] + self._base / self.unit)).astype(np.float32)
        if finishes:
            self._finish(costs, limit)
        return costs

    def bounds(self, of: Any, limit: float | None, v: Any, u: Any) -> Iterator[tuple[Any, Any]]:
        """See `PointPart.bounds`."""
        n, m = len(of), self.shape[1]
        v = v / self.unit
        u = None if u is None else u / self.unit
        sign, (off_rows, off_columns) = self._sign, self._off
        rows = sign * (self._of_rows + (0.0 if self._root else self._base / self.unit)) - off_rows
        columns = sign * self._of_columns - off_columns
        step = max(64, PRODUCT // m)
        product = np.empty((min(step, n), m), np.float32)
        parts = self._root or limit is not None
        if not parts:  # all that belongs to a column is added at once
            columns = columns - v - 4 * ROUNDING * abs(v)
        columns = _below(columns)
        v_up = -_below(-v - 4 * ROUNDING * abs(v))
        for first in range(0, n, step):
            some = of[first : first + step]
            here = product[: len(some)]
            np.matmul(self._x[some], self._y, out=here)
            for block in blocks_of(here.shape, "cpu"):
                keys, numbers = here[block], some[block]
                keys += columns
                of_rows = rows[numbers]
                if parts:
                    keys += _below(of_rows)[:, None]
                    self._finish(keys, limit)
                    keys -= v_up
                    of_rows = np.zeros(len(keys))
                if u is not None:
                    of_rows = of_rows - u[numbers] - 4 * ROUNDING * abs(u[numbers])
                keys += _below(of_rows)[:, None]
                yield numbers, keys

    def _finish(self, keys: Any, limit: float | None) -> None:
        """Makes bounds of costs from bounds of squares or products, in place, and cuts them off at the limit."""
        if self._root:
            # The key is a square times the sign. The bound is the root of its magnitude, lowered a little.
            np.maximum(keys * self._sign, 0, out=keys)
            np.sqrt(keys, out=keys)
            keys *= np.float32(self._sign * (1 - self._sign * 4 * ROUNDING))
        if limit is not None:
            np.minimum(keys, _below(np.array([limit / self.unit])), out=keys)


def middle(x: Any, y: Any) -> Any:
    """The median point. Errors of bounds grow with squared distances from it, and a few far points do not move it."""
    return np.median(np.concatenate([cloud[:: 1 + len(cloud) // MIDDLE] for cloud in (x, y)]), axis=0)


def _below(numbers: Any) -> Any:
    """The numbers in float32, rounded down."""
    near = numbers.astype(np.float32)
    return np.nextafter(near, np.float32(-np.inf))


# The passes that `core` calls.


def start_again(ranks: Ranks, part: PointPart) -> Any:
    """As `core.start_again`: prices, or duals of centroids."""
    return part.better_prices()


def price(part: PointPart, v: Any, times: int = 0) -> Places:
    """As `core.price`: the best pairs of each row, by bounds. `times` changes nothing."""
    found = []
    for numbers, keys in part.bounds(part.all_rows(), v):
        rows, columns = best_of_strata(keys, int(numbers[0]), part.shape[0], np.inf, OF_A_STRATUM)
        rows = numbers[rows]
        found.append((rows, columns, part.of_pairs(rows, columns)))
    if part.given is not None:
        rows = (part.given >= 0).nonzero()[0]
        columns = part.given[rows].astype(np.int64)
        found.append((rows, columns, part.of_pairs(rows, columns)))
    return part.offered(found)


def overpriced(part: PointPart, u: Any, v: Any) -> tuple[int, Places]:
    """As `core.overpriced`, for pairs that bounds do not rule out. If these are many, for the best of them."""
    found, excess = [], np.zeros(part.shape[0])
    least_of_columns, worst = np.zeros(part.shape[1], np.float32), np.full(part.shape[1], -1)
    for numbers, keys in part.bounds(part.margins.rows_to_read(u, v), v, u):
        part.margins.leave_out(numbers, keys, np.inf)
        least = keys.min(axis=1).astype(np.float64) * part.unit
        part.margins.note(numbers, least)
        below = keys < 0
        possible = np.count_nonzero(below)
        if not possible:
            continue
        if possible > FEW * len(keys):
            columns = (keys.min(axis=0) < least_of_columns).nonzero()[0]
            rows = keys[:, columns].argmin(axis=0)
            least_of_columns[columns], worst[columns] = keys[rows, columns], numbers[rows]
            rows, columns = best_of_strata(keys, int(numbers[0]), part.shape[0], 0, 1)
            new, _ = _really_overpriced(part, u, v, numbers[rows], columns)
            if len(new[0]):
                excess[numbers] = np.maximum(-least, 0)
                found.append(new)
                continue
        rows, columns = np.divmod(np.flatnonzero(below), keys.shape[1])
        new, by = _really_overpriced(part, u, v, numbers[rows], columns)
        np.maximum.at(excess, new[0], by)
        found.append(new)
    columns = (worst >= 0).nonzero()[0]
    if len(columns):
        found.append(_really_overpriced(part, u, v, worst[columns], columns)[0])
    number = sum(len(rows) for rows, _, _ in found)
    if number and part.gap is not None and is_near_enough(u, v, excess, part.gap):
        part.excess, number, found = excess, 0, []
    return number, part.offered(found)


def _really_overpriced(part: PointPart, u: Any, v: Any, rows: Any, columns: Any) -> tuple[Triples, Any]:
    """Which of some pairs cost less than their duals, and by how much."""
    values = part.of_pairs(rows, columns)
    slack = values - v[columns]
    slack -= u[rows]
    below = slack < -ROUNDINGS * (abs(u[rows]) + abs(v[columns]))
    return (rows[below], columns[below], values[below]), -slack[below]


def outside(part: PointPart, in_witness: Any, columns_of_witness: Any, found: Found) -> tuple[int, Places]:
    """As `core.outside`. All pairs are allowed.

    Each free row also offers its best free columns, and one free column of its own. So the next core has an assignment,
    and its duals tell what else the core lacks.
    """
    picked: list[Triples] = []
    allowed = int(np.count_nonzero(in_witness)) * int(np.count_nonzero(~columns_of_witness))
    is_free, free_rows = np.ones(part.shape[1], np.bool_), found.row_match < 0
    is_free[found.row_match[~free_rows]] = False
    for numbers, keys in part.bounds((in_witness | free_rows).nonzero()[0], found.v):
        of_free = free_rows[numbers]
        if of_free.any():
            picked.append(_best_of_some(part, numbers[of_free], keys[of_free], is_free))
        inside = in_witness[numbers]
        picked.append(_best_of_some(part, numbers[inside], keys[inside], ~columns_of_witness))
    rows = free_rows.nonzero()[0]
    columns = is_free.nonzero()[0][: len(rows)]
    picked.append((rows, columns, part.of_pairs(rows, columns)))
    return allowed, part.offered(picked)


def _best_of_some(part: PointPart, numbers: Any, keys: Any, columns: Any) -> Triples:
    """The best pair of each stratum of some columns, of rows with these keys, which are lost."""
    keys[:, ~columns] = np.inf
    rows, found = best_of_strata(keys, int(numbers[0]) if len(numbers) else 0, part.shape[0], np.inf, 1)
    rows = numbers[rows]
    return rows, found, part.of_pairs(rows, found)


PASSES = Passes(start, price, overpriced, outside, start_again)
