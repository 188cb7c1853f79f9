"""`lap` for points of many coordinates on the host: rows of what they cost, or windows for costs that are powers."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from ..arrays import Device
from ..assignment.gap import within_bound
from ..assignment.plan import checked_matching
from ..assignment.request import Options
from ..backends.point_rows import assign_rows_of_points
from ..backends.protocol import Vectors
from ..backends.rows import costs_of_pairs
from ..problems.limits import DualType, RowsOfCosts
from ..problems.points import PointCosts
from ..problems.windows import FunctionCosts
from ..result import STEPS, Assignment
from .found import Found
from .lap import result_of
from .ranks import one_rank
from .windows import duals_to_start_from, duals_within_limit, lap_of_windows

REASON = "points of many coordinates: rows of costs are computed when a search asks for them"
OF_POWERS = "points whose costs are powers: windows of rows are computed by NumPy in each pass"


def lap_of_many_coordinates(costs: PointCosts, options: Options) -> Assignment:
    """As `gmatch.lap`, for points that do not suit trees. O(d m) work for each row that is computed.

    Memory is O((n + m) d), at most 12 kB a point for the entries of a core, 6 kB on average (16 at most) for entries in
    reserve, and at most 256 MB for rows that were computed. Costs that are powers take O(n m d) work a pass.
    """
    initial = options.initial
    given = None if isinstance(initial, str) else checked_matching(initial, costs)
    of_points = options._replace(  # all points take these
        method="auto", deterministic=False, device=None, infeasible="raise",
        initial=initial if isinstance(initial, str | Assignment) else "auto",
    )  # fmt: skip
    duals = duals_to_start_from("PointCosts", of_points)
    if costs.p is not None:
        result = _by_windows(costs, of_points)
    else:
        result = _by_rows(costs, duals, given, options)
    if duals is not None or given is not None:
        result.stats["initial"] = "given"
    return result


def _by_rows(costs: PointCosts, duals: Any, given: Any, options: Options) -> Assignment:
    began = perf_counter()
    block = PointBlock(costs)
    v = duals_within_limit(block, duals)
    points = costs.turned() if block.transposed else costs
    n, m = points.shape
    counters: dict[str, Any] = {}
    if not n:
        found = Found(np.empty(0, np.int32), np.empty(0), np.zeros(m))
    elif block.limit is not None and block.limit < block.lowest:  # rounding may hide costs in such a limit
        found = Found(np.arange(n, dtype=np.int32), np.full(n, float(block.limit)), np.zeros(m))
    else:
        row_match = np.full(n, -1, np.int32) if given is None else given[block.transposed]
        vectors = Vectors(row_match, np.empty(m, np.int32), np.empty(n), np.zeros(m) if v is None else v)
        limit = np.inf if block.limit is None else float(block.limit)
        counters = assign_rows_of_points(points, limit, vectors, v is not None, options.threads)
        found = Found(vectors.row_match, vectors.u, vectors.v)
    result = result_of(one_rank(), block, found)
    if options.gap is not None:
        result = within_bound(result, False)
    seconds = dict.fromkeys((*STEPS, "ties"), 0.0)
    price = counters.pop("price_ns", 0) / 1e9
    for name in ("size", "start_ns", "search_ns", "augment_ns"):
        counters.pop(name, None)
    seconds.update(search=perf_counter() - began - price, price=price)
    result.stats.update(
        {"threads": options.threads or 1, "start_size": 0, **counters}, method="points", reason=REASON,
        initial="reduce", backend="cpu", team="host", seconds=seconds,
    )  # fmt: skip
    return result


def _by_windows(costs: PointCosts, options: Options) -> Assignment:
    rows, columns = costs.shape

    def function(of_rows: Any, of_columns: Any) -> Any:
        return costs.of_pairs(of_rows[:, None], of_columns)

    as_function = FunctionCosts(
        function, (rows, columns), np.float64, maximize=costs.maximize, cost_limit=costs.cost_limit
    )
    result = lap_of_windows(as_function, options)
    result.stats.update(method="points", reason=OF_POWERS)
    return result


class PointBlock(RowsOfCosts):
    """The costs of all pairs of points, as several ranks take a matrix."""

    device: Device = "cpu"
    forbids = forbid_nan = overflows = False
    dual_type: DualType = np.float64
    on_gpu: Callable[[Any, Any], Any] | None = None
    """What pairs of rows and columns cost, if a GPU has the points. A host takes 0.1 s for 100,000 pairs in 512-D."""

    def __init__(self, costs: PointCosts) -> None:
        self.costs, self.shape, self.dtype = costs, costs.shape, costs.dtype
        self.maximize, self.cost_limit = costs.maximize, costs.cost_limit
        self.limit = None if costs.limit is None or costs.limit >= costs.highest else costs.limit
        self.lowest, self.highest = costs.lowest, costs.highest
        self.transposed = self.shape[0] > self.shape[1]

    def entries_of(self, row_match: Any) -> Any:
        rows = (row_match >= 0).nonzero()[0]
        columns = row_match[rows].astype(np.int64)
        if self.on_gpu is not None:
            return self.on_gpu(rows, columns)
        if self.costs.p is not None:
            return self.costs.of_pairs(rows, columns)
        return costs_of_pairs(self.costs.x, self.costs.y, self.costs.metric, rows, columns)
