"""The proof of an assignment of points, without the matrix: pairs are checked one by one only where bounds fail.

The points of each cloud are put into blocks of near ones. For blocks X and Y with centres a and b, and slopes g and h
that follow the duals u of X and v of Y,

    c(x, y) - u(x) - v(y) >= c(a, b) - (s + g) (x - a) + (s - h) (y - b) - most(u - g (x - a)) - most(v - h (y - b))

where s is the gradient of c by y at the centres, since c is convex in x - y. The inner product and distances to be
maximized are not convex, and lose a little more. A second bound is the cost of the nearest points of both boxes less
the largest duals. If one of the two bounds is above 0 by more than rounding, no pair of the two blocks contradicts the
duals. Otherwise the proof looks at the four parts of X and of Y, and then at their parts. In the smallest blocks it
checks every pair. It shares no code with the solver: no order of points, no trees, and no function for what a pair
costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import cuda
from ..arrays import exact_sum
from ..errors import CertificateError, InvalidInput
from ..problems.dense import DenseCosts
from ..problems.points import PointCosts
from ..result import Assignment, AssignmentCertificate
from .all_pairs import least_of_all_pairs
from .dense import verify_dense_assignment
from .duals import certificate_of, checked_duals, claimed_gap, refuse_costs_of_others, status_of
from .matching import arrays_of, check_mates

# Points of a block of the lowest level, and blocks that make a block of the next level.
BLOCK, PARTS = 16, 4
# A level of this number of blocks is the highest: all of its pairs are looked at.
FEW_BLOCKS = 64
# Coordinates of pairs that are looked at together.
COORDINATES = 1 << 20
# Up to this number of pairs, all are looked at.
ALL_PAIRS = 1 << 23
# Pairs of blocks, and pairs of points, that are looked at together.
BLOCKS_TOGETHER, PAIRS_TOGETHER = 1 << 16, 1 << 15
# What a bound may be off, in parts of the magnitudes that enter it: some 100 roundings.
ROUNDING = 2.0**-46
# How many roundings of the numbers that enter a pair it may cost more than its duals.
ROUNDINGS = 64
# Smaller numbers are rounded as this one.
LEAST_NUMBER = float(np.finfo(np.float64).tiny)
# Bytes of a matrix for a strict proof.
MOST_MATRIX = 1 << 27


class _Blocks(NamedTuple):
    """A cloud in blocks of near points; the last block is filled up with its last point."""

    low: Any  # (blocks, d)
    high: Any
    centre: Any
    half: Any
    slope: Any
    over_slope: Any  # (blocks,) the largest dual less what the slope says
    largest: Any  # the largest dual


def verify_point_assignment(costs: PointCosts, assignment: Assignment, strict: bool) -> AssignmentCertificate:
    """As `gmatch.verify`; O(n + m) memory. A strict proof and one of exact duals make the matrix."""
    if strict and 8 * costs.shape[0] * costs.shape[1] > MOST_MATRIX:
        raise InvalidInput("a strict proof needs the matrix, and that of these points is large; leave strict out")
    refuse_costs_of_others(costs, assignment)
    if strict or assignment.exact is not None:  # duals in parts are from a search in the matrix
        return verify_dense_assignment(_matrix_of(costs, assignment), assignment, strict)
    row_match, col_match = arrays_of(np, assignment, "row_match", "col_match")
    check_mates(row_match, col_match, costs.shape)
    u, v = checked_duals(np, assignment, costs)
    if assignment.cover is not None:
        raise CertificateError("all points may be paired, so no cover limits the pairs; got one")
    pair_costs = _checked_pairs(costs, row_match, assignment)
    _check_size(costs, assignment)
    _refuse_large(costs, u, v, assignment.size < min(costs.shape))
    # What each point is matched for, as the smaller cloud counts them; inf where it stays free.
    own = np.full(costs.shape[0], np.inf)
    own[row_match >= 0] = pair_costs
    if costs.shape[0] > costs.shape[1]:
        own = np.where(col_match >= 0, own[col_match], np.inf)
        costs, u, v, row_match = costs.turned(), v, u, col_match
    if len(v) > len(u) and v.max() > 0:
        raise CertificateError(
            f"a dual of the side with more points is {v.max()}, but must not be above 0: points of it stay free"
        )
    is_from_gpu = assignment.stats.get("backend") == "gpu" and cuda.is_there()
    if costs.suit_trees():
        least = np.minimum(u, _least(costs, u, v, row_match))
    else:
        least = least_of_all_pairs(costs, partial(_cost_of_pairs, costs), u, v, "gpu" if is_from_gpu else "cpu")
    if costs.limit is not None and len(u):
        least = np.minimum(least, costs.limit - v.max())
    return _certificate(costs, assignment, _Sums(own, u, v, row_match), least)


def _matrix_of(costs: PointCosts, assignment: Assignment) -> DenseCosts:
    """The matrix, with the limit if points stay free.

    `DenseCosts` drops a limit that no pair exceeds, and all rows must be matched then. But points may also stay free if
    their pairs cost exactly the limit.
    """
    matrix = costs.as_dense()
    if assignment.size < min(costs.shape):
        vars(matrix).update(limit=costs.limit)
    return matrix


class _Sums(NamedTuple):
    """What the proof adds up; the smaller cloud comes first."""

    own: Any  # (n,) what a point is matched for; inf where it stays free
    u: Any
    v: Any
    row_match: Any


def _certificate(costs: PointCosts, assignment: Assignment, sums: _Sums, least: Any) -> AssignmentCertificate:
    """The certificate of duals that are feasible once u is lowered to `least`.

    Each pair may cost at most 64 roundings of its own numbers more than its duals, and so may a point that stays free.
    """
    own, u, v, row_match = sums
    rounding = ROUNDINGS * float(np.finfo(np.float64).eps)
    matched = (row_match >= 0).nonzero()[0]
    mates = row_match[matched]
    of_rows = rounding * (abs(u) + costs.unit + LEAST_NUMBER)
    of_rows[matched] += rounding * (abs(own[matched]) + abs(v[mates]))
    over_of_free, of_free = _of_free_points(costs, sums, least)
    of_free = rounding * of_free
    in_windows = not costs.suit_trees() or assignment.stats.get("team") == "windows"
    if costs.p is not None or in_windows:  # powers, and a search in windows, round all as the largest
        largest = max(float(abs(part).max(initial=0)) for part in (own[matched], u, v)) + costs.unit
        of_rows[:] = rounding * largest
        of_free[of_free > 0] = rounding * (largest + abs(costs.limit or 0.0))
    of_pairs = of_rows[matched]
    if (u - least > of_rows).any():
        worst = int((u - least - of_rows).argmax())
        raise CertificateError(
            f"the duals are not feasible: that of point {worst} of the smaller cloud is too large by "
            f"{u[worst] - least[worst]}"
        )
    if claimed_gap(assignment) <= 0:
        unproven = f"the assignment is not proven {'most expensive' if costs.maximize else 'cheapest'}"
        over = own[matched] - least[matched] - v[mates]
        if (over > of_pairs).any():
            worst = int((over - of_pairs).argmax())
            raise CertificateError(
                f"the duals leave point {int(matched[worst])} of the smaller cloud a gap of {over[worst]}, more than "
                f"the tolerance {of_pairs[worst]} of its pair: {unproven}"
            )
        if (over_of_free > of_free).any():
            worst = int((over_of_free - of_free).argmax())
            raise CertificateError(
                f"the duals leave a point that stays free a gap of {over_of_free[worst]}, more than its tolerance "
                f"{of_free[worst]}: {unproven}"
            )
    free_cost = np.full(len(u) - len(matched), costs.limit or 0.0)
    gap = exact_sum(np.concatenate([own[matched], free_cost, -least, -v]))
    return certificate_of(assignment, gap, exact_sum(np.concatenate([of_pairs, of_free])))


def _of_free_points(costs: PointCosts, sums: _Sums, least: Any) -> tuple[Any, Any]:
    """What the dual of each free x lacks to the limit, and of each free y to 0; and the numbers that enter this.

    Mostly duals lack nothing. Then nothing is rounded, however large the limit is, and these numbers are 0.
    """
    u, v, row_match = sums.u, sums.v, sums.row_match
    free = row_match < 0
    free_v = np.delete(v, row_match[~free])
    limit = costs.limit or 0.0
    # In a square problem any amount may go from all of one side to the other.
    shift = float(free_v.max()) if len(u) == len(v) and len(free_v) else 0.0
    over = np.concatenate([limit - shift - least[free], shift - free_v])
    of_x = abs(u[free]) + costs.unit + LEAST_NUMBER + abs(limit) + abs(shift)
    is_rounded = (over != 0) | (shift != 0)
    return over, np.where(is_rounded, np.concatenate([of_x, abs(free_v) + abs(shift)]), 0.0)


def _refuse_large(costs: PointCosts, u: Any, v: Any, some_are_free: bool) -> None:
    """No duals of a solver are that large, and roundings of such would hide what the pairs cost."""
    limit = abs(float(costs.limit)) if costs.limit is not None and some_are_free else 0.0
    scale = max((float(abs(dual).max()) for dual in (u, v) if dual.size), default=0.0)
    if scale > 8 * sum(costs.shape) * max(-costs.lowest, costs.highest, limit):
        raise CertificateError("the duals are too large for costs of this range: float64 would round these away")


def _checked_pairs(costs: PointCosts, row_match: Any, assignment: Assignment) -> Any:
    """What the pairs cost in the minimisation form, once they are known to cost what the assignment says."""
    matched = (row_match >= 0).nonzero()[0]
    expected = _cost_of_pairs(costs, matched, row_match[matched])
    (claimed,) = arrays_of(np, assignment, "pair_costs")
    if claimed.shape != expected.shape or claimed.dtype != costs.dtype or bool((claimed != expected).any()):
        raise CertificateError("pair_costs must hold what the matched points cost, row by row; it does not")
    minimised = -expected if costs.maximize else expected
    if costs.limit is not None and bool((minimised > costs.limit).any()):
        row = int(matched[minimised.argmax()])
        raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which exceeds the limit")
    return minimised


def _check_size(costs: PointCosts, assignment: Assignment) -> None:
    size, most = assignment.size, min(costs.shape)
    if size < most and costs.limit is None:
        raise CertificateError(f"the assignment has {size} of {most} pairs, and without a limit all must be made")
    status = status_of(assignment, size, most)
    if assignment.status != status:
        raise CertificateError(
            f"the assignment says it is {str(assignment.status)!r}, but with {size} of {most} pairs it is "
            f"{str(status)!r}"
        )


def _cost_of_pairs(costs: PointCosts, rows: Any, columns: Any) -> Any:
    """What pairs cost, some at a time."""
    step = max(1, COORDINATES // costs.x.shape[1])
    parts = [slice(first, first + step) for first in range(0, len(rows), step)]
    found = [_cost(costs.metric, costs.x[rows[part]], costs.y[columns[part]], costs.p) for part in parts]
    return np.concatenate([np.empty(0), *found])


def _cost(metric: str, x: Any, y: Any, p: float | None = None) -> Any:
    """What pairs cost; x and y have the coordinates last, which are added one after the other."""
    if metric in ("dot", "cosine"):
        total = x[..., 0] * y[..., 0] + 0.0
        for k in range(1, x.shape[-1]):
            total = total + x[..., k] * y[..., k]
        return (1.0 if metric == "cosine" else 0.0) - total
    away = abs(x - y)
    if metric == "chebyshev":
        return away.max(axis=-1)
    terms = away if metric == "cityblock" else away * away if p is None else away**p
    total = terms[..., 0]
    for k in range(1, terms.shape[-1]):
        total = total + terms[..., k]
    if p is not None:
        return total ** (1 / p)
    return np.sqrt(total) if metric == "euclidean" else total


def _least(costs: PointCosts, u: Any, v: Any, row_match: Any) -> Any:
    """The least cost - v of each row; or, of rows where it is known to be above, u."""
    rows, columns = costs.shape
    sign = -1.0 if costs.maximize else 1.0
    if rows * columns <= ALL_PAIRS:
        step = max(1, PAIRS_TOGETHER // max(columns, 1))
        blocks = [costs.x[first : first + step, None] for first in range(0, rows, step)]
        least = [
            (sign * _cost(costs.metric, block, costs.y, costs.p) - v).min(axis=1, initial=np.inf) for block in blocks
        ]
        return np.concatenate([*least, np.empty(0)])
    matched = (row_match >= 0).nonzero()[0]
    x_slopes, y_slopes = np.zeros_like(costs.x), np.zeros_like(costs.y)
    mates = row_match[matched]
    y_slopes[mates] = sign * _gradient(costs, costs.x[matched], costs.y[mates])
    x_slopes[matched] = sign * _gradient(costs, costs.y[mates], costs.x[matched])
    x, y = _Tree(costs.x, u, x_slopes), _Tree(costs.y, v, y_slopes)
    least = u.copy()
    for x_block, y_block in _doubtful(costs, x, y):
        numbers = x.members[x_block]
        others = y.members[y_block]
        here = sign * _cost(costs.metric, costs.x[numbers][:, :, None], costs.y[others][:, None], costs.p)
        here -= v[others][:, None]
        np.minimum.at(least, numbers, here.min(axis=2))
    return least


def _gradient(costs: PointCosts, x: Any, y: Any) -> Any:
    """The gradient of the cost by y."""
    metric = costs.metric
    if metric in ("dot", "cosine"):
        return np.broadcast_to(-x, np.broadcast_shapes(x.shape, y.shape))
    away = y - x
    if metric == "sqeuclidean":
        return 2 * away
    if metric == "cityblock":
        return np.sign(away)
    if metric == "chebyshev":
        return np.where(np.arange(away.shape[-1]) == abs(away).argmax(axis=-1)[..., None], np.sign(away), 0.0)
    length = _cost(metric, x, y, costs.p)[..., None]
    # A smaller sum of powers has lost digits.
    least = 0.0 if costs.p is None else 2.0 ** (-960 / costs.p)
    direction = np.divide(away, length, out=np.zeros_like(away), where=length > least)
    return direction if costs.p is None else np.sign(away) * abs(direction) ** (costs.p - 1)


def _lost_by_tangent(metric: str, p: float | None, away: Any, half: Any) -> Any:
    """By how much the negative of a cost may lie below its tangent where x - y is `away`, up to `half` of there."""
    if metric == "sqeuclidean":
        return (half**2).sum(axis=-1)
    if metric in ("euclidean", "minkowski"):
        return _lost_with_root(2.0 if p is None else p, away, half)
    beyond = 2 * np.maximum(half - away, 0.0)  # where x - y may have another sign
    if metric == "cityblock":
        return beyond.sum(axis=-1)
    widest = away.argmax(axis=-1)[..., None]
    is_widest = np.arange(away.shape[-1]) == widest
    others = away + half - np.take_along_axis(away - half, widest, axis=-1)
    return np.maximum(np.where(is_widest, beyond, others).max(axis=-1), 0.0)


def _lost_with_root(p: float, away: Any, half: Any) -> Any:
    """As `_lost_by_tangent`, for the p-th root of a sum of powers, which is at most its tangent in that sum.

    So the loss is at most a sum over the coordinates. A power is convex, so each term is largest at an end.
    """
    total = (away**p).sum(axis=-1, keepdims=True)
    # A smaller sum of powers has lost digits.
    has_tangent = total > 2.0**-960
    scale = np.divide(total ** (1 / p), p * total, out=np.zeros_like(total), where=has_tangent)
    slope = p * away ** (p - 1) * half
    ends = [abs(away + sign * half) ** p - away**p - sign * slope for sign in (-1, 1)]
    size = (away + half) ** p + away**p + slope
    lost = (np.maximum(*ends) + size * (p * ROUNDING)) * scale
    return np.where(has_tangent[..., 0], lost.sum(axis=-1), np.inf)


class _Tree:
    """Blocks of a cloud, level by level; the lowest first. PARTS consecutive blocks make a block of the next level."""

    def __init__(self, points: Any, duals: Any, slopes: Any) -> None:
        order = _order_of(points)
        self.members = _in_blocks(order, BLOCK)
        """(blocks, BLOCK): numbers of the points in each block of the lowest level."""
        self.levels = [_blocks_of(self.members, points, duals, slopes)]
        size = BLOCK
        while len(self.levels[-1].low) > FEW_BLOCKS:
            size *= PARTS
            self.levels.append(_blocks_of(_in_blocks(order, size), points, duals, slopes))


def _order_of(points: Any) -> Any:
    """Numbers of points, so that near ones come together. Parts begin at multiples of BLOCK times a power of two."""
    order = np.arange(len(points))
    parts = [(0, len(points))]
    while parts:
        first, last = parts.pop()
        length = last - first
        if length <= BLOCK:
            continue
        middle = first + (BLOCK << ((length - 1) // BLOCK).bit_length() - 1)
        part = points[order[first:last]]
        axis = int((part.max(axis=0) - part.min(axis=0)).argmax())
        order[first:last] = order[first:last][part[:, axis].argpartition(middle - first)]
        parts += [(first, middle), (middle, last)]
    return order


def _in_blocks(order: Any, size: int) -> Any:
    return np.concatenate([order, np.full(-len(order) % size, order[-1])]).reshape(-1, size)


def _blocks_of(members: Any, points: Any, duals: Any, slopes: Any) -> _Blocks:
    inside = points[members]
    low, high = inside.min(axis=1), inside.max(axis=1)
    centre = low + (high - low) / 2
    half = np.maximum(high - centre, centre - low)
    slope = slopes[members].mean(axis=1)
    inside -= centre[:, None]
    over = (duals[members] - np.einsum("bpk,bk->bp", inside, slope)).max(axis=1)
    return _Blocks(low, high, centre, half, slope, over, duals[members].max(axis=1))


def _doubtful(costs: PointCosts, x: _Tree, y: _Tree) -> Iterator[tuple[Any, Any]]:
    """Pairs of blocks of the lowest level that no bound rules out, some at a time."""
    heights = len(x.levels) - 1, len(y.levels) - 1
    pairs = np.indices([len(tree.levels[-1].low) for tree in (x, y)]).reshape(2, -1)
    waiting = [(heights, pairs)]
    together = max(1, PAIRS_TOGETHER // BLOCK**2)
    while waiting:
        heights, pairs = waiting.pop()
        if pairs.shape[1] > BLOCKS_TOGETHER:
            shares = -(-pairs.shape[1] // BLOCKS_TOGETHER)
            waiting += [(heights, some) for some in np.array_split(pairs, shares, axis=1)]
            continue
        some = (
            _Blocks(*(part[numbers] for part in tree.levels[height]))
            for tree, height, numbers in zip((x, y), heights, pairs, strict=True)
        )
        x_blocks, y_blocks = pairs[:, ~_ruled_out(costs, *some)]
        if heights == (0, 0):
            for begin in range(0, len(x_blocks), together):
                yield x_blocks[begin : begin + together], y_blocks[begin : begin + together]
        elif len(x_blocks):
            waiting.append(_parts_of((x, y), heights, (x_blocks, y_blocks)))


def _parts_of(trees: tuple[_Tree, _Tree], heights: tuple[int, int], pairs: tuple[Any, Any]) -> tuple[Any, Any]:
    """All pairs of the parts of two blocks. A block of the lowest level has one part, itself."""
    offsets = np.indices([PARTS if height else 1 for height in heights]).reshape(2, -1)
    below = max(heights[0] - 1, 0), max(heights[1] - 1, 0)
    parts, exists = [], np.True_
    for tree, height, lower, numbers, offset in zip(trees, heights, below, pairs, offsets, strict=True):
        part = ((PARTS if height else 1) * numbers[:, None] + offset).ravel()
        exists = exists & (part < len(tree.levels[lower].low))
        parts.append(part)
    return below, np.stack(parts)[:, exists]


def _ruled_out(costs: PointCosts, x: _Blocks, y: _Blocks) -> Any:
    """Whether no pair of two blocks costs less than its duals; for as many blocks of x as of y."""
    metric, p, sign = costs.metric, costs.p, -1.0 if costs.maximize else 1.0
    gradient = sign * _gradient(costs, x.centre, y.centre)
    magnitude = abs(x.over_slope) + abs(y.over_slope) + abs(x.largest) + abs(y.largest)
    if metric in ("dot", "cosine"):
        by_x, lost = -sign * y.centre - x.slope, (x.half * y.half).sum(axis=-1)
        magnitude = magnitude + 1 + ((abs(x.centre) + x.half) * (abs(y.centre) + y.half)).sum(axis=-1)
        near = np.full(lost.shape, -np.inf)
    else:
        by_x = -gradient - x.slope
        away = abs(x.centre - y.centre)
        zero = np.zeros_like(away)
        farthest = _cost(metric, away + x.half + y.half, zero, p)
        magnitude = magnitude + farthest
        if sign > 0:
            lost = 0.0
            near = _cost(metric, np.maximum(np.maximum(x.low - y.high, y.low - x.high), 0.0), zero, p)
        else:
            lost, near = _lost_by_tangent(metric, p, away, x.half + y.half), -farthest
    by_y = gradient - y.slope
    spread = (abs(by_x) * x.half).sum(axis=-1) + (abs(by_y) * y.half).sum(axis=-1)
    magnitude = magnitude + ((abs(gradient) + abs(x.slope)) * x.half + (abs(gradient) + abs(y.slope)) * y.half).sum(-1)
    tangent = sign * _cost(metric, x.centre, y.centre, p) - spread - lost - x.over_slope - y.over_slope
    return np.maximum(tangent, near - x.largest - y.largest) > magnitude * ROUNDING
