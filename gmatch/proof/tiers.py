"""The proof of an assignment whose duals are held in parts, checked in plain array code: see `gmatch.verify`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..arrays import exact_sum, lower_at
from ..errors import CertificateError
from ..result import ExactDuals


class TieredPart(NamedTuple):
    """A problem of its own, whose rows are all matched with some of its columns; no more rows than columns."""

    blocks: Any  # () -> iterator of (costs, rows, columns): costs in the minimisation form, and numbers that broadcast
    pair_costs: Any  # of each row; with a limit the limit for free rows
    mates: Any  # the column of each row; -1 for free ones
    exact: ExactDuals  # of this part


def gap_in_tiers(xp: Any, part: TieredPart, vertices: int) -> tuple[int | float, int | float]:
    """What the pairs cost beyond the bound that the duals prove, and the tolerance for it.

    Pairs are checked tier by tier. A pair has at least one value of slack if its tier is above the tiers of its duals.
    One value is more than all smaller tiers together, which is checked. So only pairs of equal tiers are checked in the
    next tier. In each tier the pairs add up to the duals exactly, so no assignment has less of it. If columns may stay
    free: all assignments that have as little of a tier use each column whose dual is below 0 in it.
    """
    tiers, u, v = part.exact.tiers, part.exact.u, part.exact.v
    must = _check_tiers(xp, part)
    lowered_v = v if len(u) == len(v) else xp.where(must, v, xp.minimum(v, 0))
    pair_rests = ordinary_costs(xp, part)
    tolerance = _tolerance(u, v, pair_rests, vertices)
    if not exact_sum(v - lowered_v) <= tolerance:
        raise CertificateError("duals of columns that may stay free must not be above 0; some are")
    far = 2**63 - 1 if u.dtype.kind == "i" else math.inf
    least = xp.full(len(u), far, u.dtype)
    largest = [0.0] * len(tiers)
    for costs, rows, columns in part.blocks():
        rests = costs
        equal = rests != math.inf
        rests = xp.where(equal, rests, 0)
        for number, tier in enumerate(tiers):
            times, rests = _divided(xp, rests, tier.value)
            above = times - tier.rows[rows] - tier.columns[columns]
            if bool((equal & (above < 0)).any()):
                raise CertificateError("the duals of a pair are in a higher tier than its cost: they are not feasible")
            largest[number] = max(largest[number], float(abs(xp.where(equal, rests, 0)).max()) if rests.size else 0.0)
            equal &= above == 0
            rests = xp.where(equal, rests, 0)
        refuse_overflow_of(rests, u, v)
        slack = xp.where(equal, rests - lowered_v[columns], far)
        if slack.ndim == 2:
            least[rows[:, 0]] = xp.minimum(least[rows[:, 0]], slack.min(axis=1))
        else:
            lower_at(least, rows, slack)
    _check_values(part, largest)
    lowered_u = xp.minimum(u, least)
    if not exact_sum(u - lowered_u) <= tolerance:
        row = int((u - lowered_u).argmax())
        raise CertificateError(f"the duals of a pair of row {row} exceed its cost: they are not feasible")
    return exact_sum(np.concatenate([pair_rests - lowered_u, -lowered_v])), tolerance


def ordinary_costs(xp: Any, part: TieredPart) -> Any:
    """What each row costs beside multiples of the values of tiers."""
    rests = part.pair_costs
    for tier in part.exact.tiers:
        rests = _divided(xp, rests, tier.value)[1]
    return rests


def _check_tiers(xp: Any, part: TieredPart) -> Any:
    """Checks the tiers of pairs against their duals. Returns the columns that all equally good assignments use."""
    rests, must = part.pair_costs, xp.zeros(len(part.exact.v), np.bool_)
    for tier in part.exact.tiers:
        times, rests = _divided(xp, rests, tier.value)
        if int(times.sum()) != int(tier.rows.sum()) + int(tier.columns.sum()):
            raise CertificateError(
                "the pairs do not have the tiers of their duals: the assignment is not proven optimal"
            )
        if len(tier.rows) < len(tier.columns):
            if bool((~must & (tier.columns > 0)).any()):
                raise CertificateError("columns that may stay free must have duals of tier 0 or less")
            must |= tier.columns < 0
    return must


def _check_values(part: TieredPart, largest: list[float]) -> None:
    """Checks that each value is more than all that follows: rests along all pairs, and the lower duals of a pair.

    The lower duals of each row and of each column are added up. The largest sum of the rows and the largest sum of the
    columns count, with their signs: duals of a row and of its column may be far from 0 and cancel. `rounded` bounds
    what the sums lose.
    """
    lower = [dual.astype(np.float64) for dual in (part.exact.u, part.exact.v)]
    rounded = 0.0
    for tier, rest in zip(reversed(part.exact.tiers), reversed(largest), strict=True):
        value, rows = float(tier.value), len(part.exact.u)
        rounded += 2.0**-50 * sum(float(abs(side).max()) for side in lower if side.size)
        most = rest + sum(float(side.max()) for side in lower if side.size) + rounded
        if not (value > 2 * (rows + 1) * rest and value > most):  # so also if `most` is no number
            raise CertificateError(f"the value of a tier, {tier.value}, is outweighed by the rests below it")
        with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow outweigh all values
            lower = [value * times + side for times, side in zip((tier.rows, tier.columns), lower, strict=True)]


def refuse_overflow_of(rests: Any, u: Any, v: Any) -> None:
    """Differences of integers must stay in 64 bits, as the differences of a solver's duals do."""
    if u.dtype.kind != "i":
        return
    (lowest, highest), *duals = (
        (min(0, int(some.min())), max(0, int(some.max()))) if some.size else (0, 0) for some in (rests, u, v)
    )
    if max(highest - sum(dual[0] for dual in duals), sum(dual[1] for dual in duals) - lowest) >= 2**63 - 1:
        raise CertificateError("the duals are too large for costs of this range: their sums could overflow int64")


def _divided(xp: Any, costs: Any, value: int | float) -> tuple[Any, Any]:
    """The nearest multiple and the rest of finite costs, both exact."""
    if not value > 0:
        raise CertificateError(f"the value of a tier must be above 0; got {value}")
    if costs.dtype.kind == "i":
        times = costs // value
        rests = costs - times * value
        up = rests > value // 2
        return times + up, rests - xp.where(up, value, 0)
    rests = xp.fmod(costs, value)  # exact, as the next line is (Sterbenz)
    rests = xp.where(rests > value / 2, rests - value, xp.where(rests < -value / 2, rests + value, rests))
    times = xp.rint(costs / value - rests / value)
    if bool((abs(times) >= 2.0**53).any()):
        raise CertificateError(f"the value of a tier, {value}, is too small for these costs")
    return times.astype(np.int64), rests


def _tolerance(u: Any, v: Any, pair_rests: Any, vertices: int) -> int | float:
    if u.dtype.kind == "i":
        return 0
    scale = max((float(abs(values).max()) for values in (u, v, pair_rests) if values.size), default=0.0)
    return 64 * 2.0**-52 * vertices * scale


def part_of(exact: ExactDuals, number: int, rows: Any, columns: Any) -> ExactDuals:
    """The duals of some rows and columns, with the tiers of their part."""
    tiers = tuple(
        type(tier)(tier.value, tier.rows[rows], tier.columns[columns]) for tier in exact.tiers if tier.part == number
    )
    return ExactDuals(tiers, exact.u[rows], exact.v[columns])


def check_exact(exact: Any, shape: tuple[int, int], dual_type: Any) -> Iterator[tuple[str, Any, int, Any]]:
    """The arrays that exact duals consist of: name, array, length, type."""
    if not isinstance(exact, ExactDuals) or not isinstance(exact.tiers, tuple):
        raise CertificateError(f"exact must be ExactDuals or None; got {type(exact).__name__}")
    yield "exact.u", exact.u, shape[0], dual_type
    yield "exact.v", exact.v, shape[1], dual_type
    for tier in exact.tiers:
        yield "the tiers of rows", tier.rows, shape[0], np.int64
        yield "the tiers of columns", tier.columns, shape[1], np.int64
