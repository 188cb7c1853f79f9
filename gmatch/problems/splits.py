"""Costs of several magnitudes as whole multiples of a big number and small rests: see `gmatch.ExactDuals`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import namespace
from ..errors import InvalidInput
from .limits import INFINITE_INTEGER, SPREADS

# How many times the rests of a row a value must be, at least. Twice the differences of rests and the duals of rests are
# below that: duals grow with the reward of columns that must be used, up to four times the rests of a row.
ROOM = 32


# Integers of tiers are multiplied by the number of rows, and must stay in 64 bits.
MOST_TIERS = 2**20


class Split(NamedTuple):
    """Costs as ``value * tiers + rests``."""

    value: int | float
    tiers: Any  # int64, one for each cost
    rests: Any  # int64 or float64
    most: int | float  # the largest magnitude of a rest


def split_values(values: Any, allowed: Any, rows: int) -> Split | None:
    """The split by the first value that leaves room: magnitudes have a gap below it, or none lies below it."""
    xp = namespace(values)
    magnitudes = _magnitudes(values[allowed])
    magnitudes = magnitudes[magnitudes > 0]
    if not magnitudes.size:
        return None
    found = xp.frexp(magnitudes.astype(np.float64))[1]
    lowest = int(found.min())
    exponents = (xp.bincount((found - lowest).ravel()).nonzero()[0] + lowest).tolist()[::-1]
    gap = math.log2(ROOM * (rows + 1)) - 1
    for upper, lower in zip(exponents, [*exponents[1:], -math.inf], strict=True):
        if upper - lower > gap:
            value = magnitudes[found >= upper].min().item()
            split = split_by(xp, xp.where(allowed, values, 0), value)
            if split is not None and value > ROOM * (rows + 1) * (split.most or values.dtype.kind == "i"):
                return split
    return None


def _magnitudes(values: Any) -> Any:
    """The numbers without signs; 2**63 - 1 for -2**63, whose magnitude int64 does not hold."""
    return abs(values.clip(1 - 2**63, None) if values.dtype.kind == "i" else values)


def split_by(xp: Any, values: Any, value: int | float) -> Split | None:
    """The nearest multiples of the value, and the rests: the remainder of a division is exact, of floats too."""
    if float(_magnitudes(values).max()) / value > MOST_TIERS:
        return None
    rests = xp.fmod(values, value)
    half = value / 2 if values.dtype.kind == "f" else value // 2
    up, down = rests > half, rests < -half
    tiers = xp.rint(values.astype(np.float64) / value - rests.astype(np.float64) / value).astype(np.int64)
    rests[up] -= value
    rests[down] += value
    tiers += up
    tiers -= down
    return Split(value, tiers, rests, abs(rests).max().item())


def splits_into_fitting(costs: Any) -> Split | None:
    """The first split of costs whose sums overflow, if splitting leads to rests that do not overflow."""
    if costs.limit is not None:
        return None
    rows = min(costs.shape)
    if costs.maximize and costs.dual_type is np.int64:
        _refuse_lowest_in_range(costs.array if hasattr(costs, "array") else costs.data, rows)
    values = costs.minimised()
    allowed = abs(values) != math.inf
    first = split = split_values(values, allowed, rows)
    while split is not None and not fit(costs, split.most, rows):
        split = split_values(split.rests, allowed, rows)
    return None if split is None else first


def _refuse_lowest_in_range(entries: Any, rows: int) -> None:
    """Raises unless all other costs leave room below -2**63, which is maximized as 1 - 2**63.

    Where they do, it is the value of the first tier, and the only cost with a part in it. Then it counts how often it
    stands, not by how much it is off.
    """
    is_lowest = entries == -(2**63)
    if not bool(is_lowest.any()):
        return
    others = entries[~is_lowest]
    if others.size and ROOM * (rows + 1) * max(-int(others.min()), int(others.max())) >= 2**63 - 1:
        raise InvalidInput(
            "cost must not hold -2**63 beside costs of like magnitude when maximizing: int64 does not hold its "
            "negation; add 1 to all costs, which changes no answer"
        )


def fit(costs: Any, most: int | float, rows: int) -> bool:
    """Whether sums of rests, and of the number that stands for "not" among integers, are in range."""
    if costs.dual_type is np.float64:
        return math.isfinite((SPREADS + ROOM * rows) * 4.0 * most)
    return never_used(most, rows) * 2 * (SPREADS + ROOM * rows) < INFINITE_INTEGER


def never_used(most: int | float, rows: int) -> int | float:
    """An integer that a cheapest assignment uses only if every assignment must."""
    return 2 * (rows + 1) * most + 1
