"""`lap` for points: options, trees, result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.points import STEPS, assign_points
from ..backends.protocol import Assigned
from ..errors import InvalidInput
from ..methods.method import is_auto
from ..problems.limits import SPREADS
from ..problems.points import PointCosts
from ..result import Assignment, Status
from .gap import suffices, within_bound
from .plan import checked_dual, checked_matching
from .request import Options

REASON = "points of few coordinates are matched by trees, without the matrix"


def lap_of_points(costs: PointCosts, options: Options) -> Assignment:
    """As `gmatch.lap`, for points that suit trees. O((n + m) log(n + m)) time for most; O(n + m) memory.

    Raises
    ------
    MemoryError
        If the search needs more than 2.4 kB a point, because very many pairs tie.
    """
    if not is_auto(options.method):
        name = options.method if isinstance(options.method, str) else type(options.method).__name__
        raise InvalidInput(f"points have one method, 'auto'; got {name!r}; for others use lap(costs.as_dense(), ...)")
    if options.deterministic:
        raise InvalidInput(
            "deterministic=True compares the pairs that tie, along the matrix, which points do not make; use "
            "lap(costs.as_dense(), deterministic=True), or leave it out: the same points and options give the same "
            "assignment anyway"
        )
    if options.device not in (None, "cpu"):
        raise InvalidInput(f"points are matched on the host; use device=None or 'cpu', not {options.device!r}")
    initial, duals, gap = options.initial, options.duals, options.gap
    rows, columns = costs.shape
    turned = rows > columns
    row_match, v = _start_of(costs, initial, duals)
    least = costs.for_trees()
    given = "given" if not isinstance(initial, str) or duals is not None else "auto"
    for share in (gap, None):
        if rows and columns:
            solution = assign_points(least.turned() if turned else least, row_match, v, options.threads, share or 0.0)
        else:
            solution = _nothing(costs)
        if turned and rows and columns:
            solution = solution.turned()
        stopped = bool(solution.counters.pop("stopped"))
        result = _result(costs, solution, given)
        if gap is not None:
            result = within_bound(result, stopped)
        # Duals that are rounded to feasible ones may prove a little less than the search saw. Duals of a search that
        # was stopped prove no optimum.
        if not stopped or result.bound != result.cost and suffices(*_in_minimisation_form(result), gap or 0.0):
            break
    return result


def _in_minimisation_form(result: Assignment) -> tuple[float, float]:
    bound = float(result.cost if result.bound is None else result.bound)
    return (-result.cost, -bound) if result.maximize else (result.cost, bound)


def _result(costs: PointCosts, solution: Assigned, initial: str) -> Assignment:
    row_match, col_match, u, v, counters = solution
    matched = (row_match >= 0).nonzero()[0]
    nanoseconds = counters.pop("nanoseconds")
    for name in ("size", "start_ns", "search_ns", "augment_ns"):
        counters.pop(name, None)
    stats = {
        "method": "points", "backend": "cpu", "team": "host", "reason": REASON, "initial": initial, **counters,
        "seconds": {step: nanoseconds[step] / 1e9 for step in STEPS},
    }  # fmt: skip
    pair_costs = costs.of_pairs(matched, row_match[matched])
    status = Status.OPTIMAL if len(matched) == min(costs.shape) else Status.LIMITED
    return Assignment(row_match, col_match, u, v, pair_costs, status, costs.maximize, costs.cost_limit, stats=stats)


def _nothing(costs: PointCosts) -> Assigned:
    rows, columns = costs.shape
    counters: dict[str, Any] = {"nanoseconds": dict.fromkeys(STEPS, 0), "threads": 0, "stopped": 0}
    row_match, col_match = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
    return Assigned(row_match, col_match, np.zeros(rows), np.zeros(columns), counters)


def _start_of(costs: PointCosts, initial: Any, duals: Any) -> tuple[Any, Any]:
    """Given mates of the smaller side, and given duals of the larger side; None for each that is not given."""
    turned = costs.shape[0] > costs.shape[1]
    row_match = None
    if isinstance(initial, str):
        if initial != "auto":
            raise InvalidInput(f"points start from 'auto', an Assignment or an array; got initial={initial!r}")
    else:
        row_match = checked_matching(initial, costs)[turned]
        if duals is None and isinstance(initial, Assignment):
            duals = initial.u, initial.v
    if duals is None:
        return row_match, None
    if not isinstance(duals, tuple | list) or len(duals) != 2:
        raise InvalidInput(f"duals must be a pair of arrays, (u, v); got {type(duals).__name__}")
    u, v = (checked_dual("duals", *named, costs) for named in zip("uv", duals, costs.shape, strict=True))
    v = u if turned else v
    most = SPREADS * max(costs.highest - costs.lowest, 0.0)  # larger duals are of no use
    if costs.shape[0] == costs.shape[1] and costs.limit is None:
        # A constant may move from all duals of one side to the other. With the median at 0 rounding is least.
        return row_match, (v - np.median(v)).clip(-most, most) if v.size else v
    if costs.limit is not None:
        # Duals of the other side are at most the limit. Larger duals of this side would only round what pairs cost.
        most = min(most, max(costs.limit - costs.lowest, 0.0))
    return row_match, v.clip(-most, 0.0)
