"""A gap: what an assignment may cost beyond the optimum, as a share of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import exact_sum
from ..errors import InvalidInput
from ..result import Assignment, Status


def gap_of(gap: Any, cost_limit: Any) -> float:
    """The option `gap` as a float."""
    if isinstance(gap, bool | np.bool_) or not isinstance(gap, int | float | np.number) or not 0 <= gap < math.inf:
        raise InvalidInput(f"gap must be a number, not below 0: a share of the optimum, such as 1e-3; got {gap!r}")
    if cost_limit is not None:
        raise InvalidInput("gap is a share of what all pairs cost; with a cost_limit fewer are made: give one of both")
    return float(gap)


def suffices(cost: int | float, bound: int | float, gap: float) -> bool:
    """Whether a cost is within the gap of any optimum that is not below the bound. Both must have one sign."""
    return cost <= bound or cost * bound > 0 and cost - bound <= gap * min(abs(cost), abs(bound))


def within_bound(result: Assignment, stopped: bool) -> Assignment:
    """The result with its bound: what the duals prove if the search was stopped, otherwise its own cost."""
    sign = -1 if result.maximize else 1
    bound = exact_sum(np.concatenate([result.u, result.v])) * sign
    if not stopped or sign * bound >= sign * result.cost:
        return replace(result, bound=result.cost)
    return replace(result, bound=bound, status=Status.BOUNDED)
