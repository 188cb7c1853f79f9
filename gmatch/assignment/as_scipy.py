"""`lap(ties="scipy")`: the one of several cheapest assignments that SciPy's function finds.

All solvers find the cheapest assignment if it is the only one, by a margin above SciPy's rounding. Then our answer is
kept. SciPy is called for all other problems, and for small ones. Its pairs become the pairs of the answer. The duals
prove them within the rounding of floats, as they prove any cheapest assignment. Duals in parts are left out: they would
prove more than SciPy's rounding keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import mover_to, namespace, to_host
from ..errors import InvalidInput
from ..foreign import EXACT_IN_FLOAT64
from ..problems.batch import CostBatch
from ..problems.dense import DenseCosts
from ..result import Assignment, AssignmentBatch
from .exact import EPSILON, Choice

FLOAT64 = np.dtype(np.float64)
# Entries of a small problem: SciPy solves it in less time than it takes to find out whether SciPy is needed.
FEW_ENTRIES = 1 << 16


def with_scipys_pairs(problem: Any, result: Assignment | AssignmentBatch) -> Assignment | AssignmentBatch:
    """An optimal result with the pairs that SciPy finds. ``stats["by_scipy"]`` says which problems SciPy solved."""
    if isinstance(problem, CostBatch) and isinstance(result, AssignmentBatch):
        return _of_batch(problem, result)
    if not isinstance(problem, DenseCosts) or not isinstance(result, Assignment):
        raise InvalidInput(f"ties='scipy' is for dense costs and batches of them; got {problem!r}")
    asked = not _is_the_only_one(problem, result)
    stats = result.stats | {"by_scipy": asked}
    if not asked:
        return replace(result, stats=stats)
    return replace(result, stats=stats, exact=None, **_pairs_of_scipy(problem))


def _of_batch(batch: CostBatch, result: AssignmentBatch) -> AssignmentBatch:
    names = "row_match", "col_match", "pair_costs"
    arrays = {name: getattr(result, name).copy() for name in names}
    asked = np.zeros(len(batch), np.bool_)
    for number, one in enumerate(result):
        costs = batch.costs_of(number)
        if not min(costs.shape) or _is_the_only_one(costs, one):
            continue
        asked[number] = True
        found = _pairs_of_scipy(costs)
        rows, columns = found["row_match"], found["col_match"]
        if batch.places is None:
            row_places, col_places = np.arange(len(rows)), np.arange(len(columns))
        else:
            row_places, col_places = batch.places[number]
        matched = to_host(rows) >= 0
        to_device = mover_to(batch.device)
        arrays["row_match"][number, to_device(row_places[matched])] = to_device(col_places[to_host(rows)[matched]])
        arrays["row_match"][number, to_device(row_places[~matched])] = -1
        taken = to_host(columns) >= 0
        arrays["col_match"][number, to_device(col_places[taken])] = to_device(row_places[to_host(columns)[taken]])
        arrays["col_match"][number, to_device(col_places[~taken])] = -1
        arrays["pair_costs"][number] = 0
        arrays["pair_costs"][number, to_device(row_places[matched])] = found["pair_costs"]
    fields = ("u", "v", "status", "shapes", "places", "covers", "maximize", "cost_limit", "forbid_nan")
    kept = {name: getattr(result, name) for name in fields}
    exact = {number: duals for number, duals in result.exact.items() if not asked[number]}
    return AssignmentBatch(**arrays, **kept, stats=result.stats | {"by_scipy": asked}, exact=exact)


def _pairs_of_scipy(costs: DenseCosts) -> Any:
    """The pairs that SciPy finds, as fields of an Assignment."""
    from scipy.optimize import linear_sum_assignment  # imported here: it takes 0.2 s

    matrix = to_host(costs.matrix).astype(FLOAT64)
    if costs.dual_type is np.int64 and max(-costs.lowest, costs.highest) > EXACT_IN_FLOAT64:
        raise InvalidInput(
            "ties='scipy' needs costs that float64 holds, to which SciPy converts them; these lie beyond 2**53"
        )
    rows, columns = linear_sum_assignment(matrix, costs.maximize)
    to_device = mover_to(costs.device)
    row_match, col_match = (np.full(length, -1, np.int32) for length in costs.shape)
    row_match[rows], col_match[columns] = columns, rows
    row_match, col_match = to_device(row_match), to_device(col_match)
    return {"row_match": row_match, "col_match": col_match, "pair_costs": costs.of_pairs(row_match, True)}


def _is_the_only_one(costs: DenseCosts, result: Assignment) -> bool:
    """Whether no other assignment is as cheap, or so nearly that SciPy's rounding may prefer it.

    Another assignment differs along cycles of pairs, and each of its pairs has at most the slack of its cycle. Each of
    SciPy's searches rounds a dual by half a unit of the largest number, a path adds one such dual for each pair, and so
    do our duals. Pairs with more slack than the sum of these roundings cannot be in SciPy's answer.
    """
    if not min(costs.shape):
        return True
    if result.exact is not None or costs.array.size <= FEW_ENTRIES:
        return False
    rows, columns = costs.array.shape
    u, v, mates = result.u, result.v, result.row_match
    if costs.transposed:
        u, v, mates = v, u, result.col_match
    xp = namespace(u)
    scale = max(float(xp.abs(u).max()), float(xp.abs(v).max()), float(max(-costs.lowest, costs.highest)))
    reach = 8 * EPSILON * scale * (rows + columns) * rows
    if costs.dual_type is np.int64 and scale * (rows + columns) < EXACT_IN_FLOAT64:
        reach = 0  # all numbers are exact, in SciPy too
    near_rows, near_columns = [], []
    for block in costs.row_blocks():
        entries = costs.array[block].astype(costs.dual_type)
        slack = ((-entries if costs.maximize else entries) - u[block, None]) - v
        near = (slack <= reach).nonzero()
        near_rows.append(to_host(near[0]) + block.start)
        near_columns.append(to_host(near[1]))
    may_leave = (to_host(-v) <= reach) & (rows < columns)
    pairs = np.concatenate(near_rows), np.concatenate(near_columns)
    choice = Choice(*pairs, np.zeros(len(pairs[0])), to_host(mates), may_leave, False)
    return not choice.drop_what_is_sure()
