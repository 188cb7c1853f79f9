"""Duals of a square matrix, from cheapest assignments of coarse matrices: the means of near rows by near columns.

If the prices of whole regions are wrong, all free columns lie behind one tree, and a search finds one path in a phase.
The means of SIZE rows by SIZE columns form a coarse matrix with 1/16 of the entries. Its duals are right except for
about the width of a group. Coarser matrices are made in the same way. Each is assigned from the duals of the next
coarser one. A search finds an extreme point of the optimal duals, since all tight pairs lead one way. So the coarsest
matrix is assigned twice: from its rows and from its columns. The mean of the two duals is optimal, too, and lies
between them.

A matrix has no coordinates. But differences of two of its columns tell which rows are near each other. They are taken
for coordinates.

Merigot, "A multiscale approach to optimal transport", Computer Graphics Forum 30 (2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import beside, mover_to, namespace
from ..types import number_type
from .doubled import Halves, assign_squared_in_time
from .protocol import Assigned, AssignmentStart, Start, add_counters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..problems.dense import DenseCosts

# The rows, or columns, of a group. With 16, or without the assignment from the columns, searches take longer:
# benchmarks/log/core_gpu.md, "Duals of a coarse matrix once a search takes long".
SIZE = 4
# Differences of WITNESSES columns, two by two, are coordinates of the rows. Columns have coordinates in the same way.
WITNESSES = 32
# Rows whose entries are added up at once.
ROWS_AT_ONCE = 1 << 11
# A search of a core takes long if its rest would have more than 1 level for every LONG rows. With LONG = 1 a ring
# takes up to 10 times as long, with 2 clusters twice: benchmarks/log/core_gpu.md, "The restart from coarse duals is a
# step of the plan".
LONG = 4
# A matrix with at most this number of rows is assigned without coarse duals. 2,000 rows of a ring take 16 to 30 ms.
MOST_ROWS = 1 << 11
# Counters that the last walk alone gives. All others are sums of both walks.
OF_LAST = "size", "start_size", "entries", "code"


def assign_in_time(
    costs: DenseCosts,
    start: Start,
    run: Callable[[DenseCosts, Start, int], Assigned],
    halve: Callable[[DenseCosts, Assigned], Halves],
) -> Assigned:
    """Walks the plan of csrc/core/plan.cuh. If it ends with the step `coarsen`, walks it again, from coarse duals.

    If a matrix has more columns than rows, the second walk is for a square problem: see `assign_squared_in_time`.

    `run` walks it once, for costs, a start and the most levels that the rest of a search may have. 0 means any number.
    `halve` makes a solution of the matrix from a solution of the doubled problem.
    """
    rows, columns = costs.array.shape
    if rows < columns and start.v is None and start.row_match is None:
        return assign_squared_in_time(costs, start, run, halve)
    if not _has_coarse_duals(costs, start):
        return run(costs, start, 0)
    found = run(costs, start, len(costs.array) // LONG)
    if found.counters["trace"][-1] != "coarsen":
        return found

    def assigned(means: Any, v: Any) -> tuple[Any, Any]:
        coarse = costs.of_part(means, (costs.lowest, costs.highest))
        both = run(coarse, _start_of(v), 0)
        return both.u, both.v

    with beside(costs.array):
        again = run(costs, _start_of(coarse_duals(costs, assigned)), 0)
    of_last = {name: again.counters[name] for name in OF_LAST if name in again.counters}
    return again._replace(counters=add_counters(found.counters, again.counters) | of_last)


def _has_coarse_duals(costs: DenseCosts, start: Start) -> bool:
    """Whether a search that takes long may begin anew from duals of a coarse matrix."""
    rows, columns = costs.array.shape
    is_free = start.v is None and start.row_match is None
    return is_free and rows == columns > MOST_ROWS and not costs.forbids and costs.limit is None


def _start_of(v: Any) -> Start:
    return Start(AssignmentStart.REDUCE) if v is None else Start(AssignmentStart.BIDS, v=v)


def coarse_duals(costs: DenseCosts, assigned: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    """Duals v of a square matrix that forbids no pair, for an auction to begin with. None of them is above zero.

    `assigned` returns the duals u and v of a cheapest assignment of a smaller square matrix with entries of this type.
    It may begin with other duals v, or with none.
    """
    xp, matrices = namespace(costs.array), [costs.array]
    orders = [_orders(costs)]
    while len(matrices[-1]) > MOST_ROWS:
        matrices.append(_means(matrices[-1], *orders[-1]))
        # Groups that follow one another are near each other.
        orders.append(2 * [xp.arange(len(matrices[-1]))])
    *finer, coarsest = matrices
    one, _ = assigned(coarsest, None)
    _, other = assigned(xp.ascontiguousarray(coarsest.T), None)
    u = (_from_zero(one) + _from_zero(other)) / 2
    for matrix, (rows, _) in zip(finer[:0:-1], orders[-2:0:-1], strict=True):
        u, _ = assigned(matrix, _beside(costs, matrix, rows, u))
    return _beside(costs, costs.array, orders[0][0], u)


def _from_zero(duals: Any) -> Any:
    """Duals less the largest of them. They stay optimal if one number is added to all u and subtracted from all v."""
    return duals.astype(np.float64) - duals.max()


def _beside(costs: DenseCosts, entries: Any, rows: Any, u: Any) -> Any:
    """Duals of columns beside the duals u of groups of rows: the least cost - u, with the mean cost of each group.

    The mean of a group of columns that are not near each other is of no use. These duals need no means of columns.
    """
    xp, sign = namespace(entries), -1 if costs.maximize else 1
    v = np.inf
    for groups, sums in _sums_of_groups(entries, rows):
        v = xp.minimum(v, (sums * (sign / SIZE) - u[groups, None]).min(axis=0))
    v = _from_zero(v)
    return (xp.rint(v) if costs.dual_type is np.int64 else v).astype(costs.dual_type)


def _orders(costs: DenseCosts) -> Any:
    """Orders of rows and of columns in which near ones follow each other."""
    random = np.random.default_rng(0).integers(len(costs.array), size=WITNESSES)
    witnesses = mover_to(costs.device)(random)
    known = costs.array[:, witnesses], costs.array[witnesses].T
    entries = namespace(costs.array).stack(known).astype(np.float64)
    return orders_of_groups(entries[:, :, ::2] - entries[:, :, 1::2])


def orders_of_groups(points: Any) -> Any:
    """Numbers of the points of each cloud, in an order in which the points of each group are near each other.

    `points` has the shape (clouds, points, coordinates). Parts of an order are halved again and again, each by the
    coordinate along which it is widest. Groups of SIZE points, of 2 * SIZE points, and so on, are parts.
    The last part may have fewer points.
    """
    xp, (clouds, number, _) = namespace(points), points.shape
    length = 1 << (number - 1).bit_length()
    # Numbers from `number` on stand for no points. They stay last.
    order = xp.arange(clouds * length).reshape(clouds, length) % length
    while length > SIZE:
        parts = order.reshape(-1, length)
        cloud = xp.arange(len(parts))[:, None] * clouds // len(parts)
        here = points[cloud, xp.minimum(parts, number - 1)]
        widest = (here.max(axis=1) - here.min(axis=1)).argmax(axis=1)
        keys = xp.take_along_axis(here, widest[:, None, None], axis=2)[:, :, 0]
        order = xp.take_along_axis(parts, xp.where(parts < number, keys, np.nan).argsort(axis=1), axis=1)
        length //= 2
    return order.reshape(clouds, -1)[:, :number]


def _means(entries: Any, rows: Any, columns: Any) -> Any:
    """The mean of each SIZE rows by SIZE columns, in the type of the entries, so that no other program is compiled."""
    xp, made, columns = namespace(entries), [], _filled(columns)
    for _, of_rows in _sums_of_groups(entries, rows):
        means = sum(of_rows[:, columns[k::SIZE]] for k in range(SIZE)) / SIZE**2
        made.append((means if number_type(entries.dtype).kind == "f" else xp.rint(means)).astype(entries.dtype))
    return xp.concatenate(made)


def _sums_of_groups(entries: Any, rows: Any) -> Iterator[tuple[slice, Any]]:
    """Some groups of SIZE rows, and the sums of their entries in each column; then more groups."""
    rows = _filled(rows)
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        here = rows[begin : begin + ROWS_AT_ONCE]
        groups = slice(begin // SIZE, (begin + len(here)) // SIZE)
        yield groups, sum(entries[here[k::SIZE]].astype(np.float64) for k in range(SIZE))


def _filled(order: Any) -> Any:
    """An order whose last number is repeated to fill its group."""
    xp = namespace(order)
    return xp.append(order, xp.repeat(order[-1:], -len(order) % SIZE))
