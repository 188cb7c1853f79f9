"""`lap` for many independent problems in one call: the solution of a batch, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..arrays import mover_to, namespace, to_host
from ..backends import BACKENDS, backend_for
from ..backends.protocol import AssignedBatch, Start
from ..errors import Infeasible, InvalidInput
from ..methods import batch_method_of
from ..problems.batch import CostBatch
from ..problems.limits import LARGE_ON_GPU
from ..result import STEPS, Assignment, AssignmentBatch, Status
from .plan import STARTS, Plan, kind_of_start
from .programs import Solution
from .request import Options
from .solve import solve
from .ties import Names, settle_ties

if TYPE_CHECKING:
    from ..methods import AssignmentMethod


def solve_batch_as_asked(batch: CostBatch, options: Options) -> AssignmentBatch:
    """The results that options of `lap` ask for."""
    backend = BACKENDS[batch.device] if options.device is None else backend_for(None, options.device)
    method, reason = batch_method_of(options.method, backend.NAME, max(batch.shape[1:]), batch.largest)
    start = _start_of_batch(options.initial, options.duals, method)
    return solve_batch(
        batch,
        Plan(backend, method, options.threads, options.deterministic, options.infeasible == "partial", start, reason),
    )


def _start_of_batch(initial: Any, duals: Any, method: AssignmentMethod) -> Start:
    """The start of all problems."""
    if duals is not None or not isinstance(initial, str) or initial not in STARTS:
        raise InvalidInput(
            f"a batch starts from {', '.join(map(repr, STARTS))}, not from given assignments or duals; solve the "
            "problems one by one to give them"
        )
    return Start(kind_of_start(initial, method, None))


def solve_batch(batch: CostBatch, plan: Plan) -> AssignmentBatch:
    """The results of all problems, by one program. Problems without an assignment are solved apart.

    So are problems whose costs are lost in the rounding of their duals.
    """
    there = batch if batch.device == plan.backend.NAME else batch.on(plan.backend.NAME)
    solution: AssignedBatch
    if batch.overflows:
        solution = _unsolved(there)
    else:
        solution = plan.backend.assign_batch(there, plan.method, plan.start.kind, plan.threads)
    counters = solution.counters
    alone = (counters["size"] < batch.pairs) | _duals_hide_costs(batch, solution)
    if plan.deterministic and not batch.overflows:
        counters["rows_with_choice"] = _settle_ties(there, solution)
    limited = _free_pairs_above_limit(there, solution) if batch.limit is not None else np.zeros_like(alone)
    if there is not batch:
        solution = AssignedBatch._make([*map(mover_to(batch.device), solution[:5]), counters])
    apart = {int(number): _solve_alone(batch, int(number), plan) for number in alone.nonzero()[0]}
    for number, assignment in apart.items():
        _put(assignment, number, solution)
    if batch.places is not None:
        solution = _in_place(batch, solution)
    statuses = [Status.LIMITED if is_limited else Status.OPTIMAL for is_limited in limited.tolist()]
    for number, assignment in apart.items():
        statuses[number] = assignment.status
    return AssignmentBatch(
        *solution[:4], solution.pair_costs.astype(batch.dtype, copy=False), tuple(statuses), batch.shapes, batch.places,
        {number: one.cover for number, one in apart.items() if one.cover is not None}, batch.maximize,
        batch.cost_limit, _stats(plan, counters),
        {number: one.exact for number, one in apart.items() if one.exact is not None}, batch.forbid_nan,
    )  # fmt: skip


def _solve_alone(batch: CostBatch, number: int, plan: Plan) -> Assignment:
    costs = batch.costs_of(number)
    start = Start(kind_of_start("auto", plan.method, costs))
    try:
        return solve(costs, plan._replace(threads=None, start=start))
    except Infeasible as error:
        raise Infeasible(f"problem {number}: {error}", error.rows, error.columns) from None


def _put(assignment: Assignment, number: int, solution: AssignedBatch) -> None:
    """Puts the assignment of one problem in its place."""
    parts = assignment.row_match, assignment.col_match, assignment.u, assignment.v
    for array, part in zip(solution[:4], parts, strict=True):
        array[number, : len(part)] = part
    solution.pair_costs[number] = 0
    solution.pair_costs[number, assignment.row_ind] = assignment.pair_costs


def _stats(plan: Plan, counters: dict[str, Any]) -> dict[str, Any]:
    del counters["size"]
    return {
        "method": plan.method.name,
        "initial": plan.start.kind.label,
        "backend": plan.backend.NAME,
        "seconds": {step: counters.pop(f"{step}_ns") / 1e9 for step in STEPS},
        **counters,
        "reason": plan.reason,
    }


def _unsolved(batch: CostBatch) -> AssignedBatch:
    """An empty solution of a batch, for problems that are then solved one by one."""
    xp = namespace(batch.array)
    problems, rows, columns = batch.shape
    row_match, col_match = (xp.full((problems, length), -1, np.int32) for length in (rows, columns))
    u, v = (xp.zeros((problems, length), batch.dual_type) for length in (rows, columns))
    names = ("size", "start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected")
    counters = {name: np.zeros(problems, np.int64) for name in (*names, *(f"{step}_ns" for step in STEPS))}
    pair_costs = xp.zeros((problems, rows), batch.array.dtype)
    return AssignedBatch(row_match, col_match, u, v, pair_costs, counters | {"team": "none", "threads": 0})


def _duals_hide_costs(batch: CostBatch, solution: AssignedBatch) -> Any:
    """For which problems rounding of the duals hides what pairs cost, on the host: see csrc/costs/magnitudes.hpp."""
    hide = np.zeros(batch.shape[0], np.bool_)
    is_small = batch.device == "gpu" and max(-batch.lowest, batch.highest) < LARGE_ON_GPU
    if batch.dual_type is np.float64 and not is_small:
        arrays = solution[:5] if type(solution.u) is np.ndarray else map(to_host, solution[:5])
        row_match, _, u, v, pair_costs = arrays
        pair_costs = pair_costs.astype(np.float64, copy=False)
        _native.duals_hide_costs_of_batch(row_match, u, v, pair_costs, batch.lowest, batch.highest, hide)
    return hide


def _settle_ties(batch: CostBatch, solution: AssignedBatch) -> Any:
    """Makes complete assignments the ones that the rule names. Returns how many rows had a choice, on the host."""
    had_choice = np.zeros(len(batch), np.int64)
    complete = solution.counters["size"] == batch.pairs
    for number in complete.nonzero()[0].tolist():
        costs = batch.costs_of(number)
        rows, columns = costs.shape
        row_match, col_match, u, v, pair_costs = (
            array[number, :length]
            for array, length in zip(solution[:5], (rows, columns, rows, columns, rows), strict=True)
        )
        if rows and columns:
            found = Solution(len(row_match), row_match, col_match, u, v, {})
            names = Names.of(costs.shape, costs.transposed)
            had_choice[number] = settle_ties(costs, found.turned() if costs.transposed else found, names)
        matched = (row_match >= 0).nonzero()[0]
        pair_costs.fill(0)
        pair_costs[matched] = costs.matrix[matched, row_match[matched]]
    return had_choice


def _free_pairs_above_limit(batch: CostBatch, solution: AssignedBatch) -> Any:
    """Frees the pairs that cost more than the limit. Returns which problems had some, on the host.

    See `limit.free_pairs_above_limit`.
    """
    row_match, col_match, _, _, pair_costs, _ = solution
    prices = pair_costs.astype(batch.dual_type)
    above = (row_match >= 0) & ((-prices if batch.maximize else prices) > batch.limit)
    numbers, rows = above.nonzero()
    col_match[numbers, row_match[numbers, rows]] = -1
    row_match[numbers, rows] = -1
    pair_costs[numbers, rows] = 0
    return to_host(above.any(axis=1))


def _in_place(batch: CostBatch, solution: AssignedBatch) -> AssignedBatch:
    """The solution for the matrices as given, from the solution for the rows and columns that a mask keeps."""
    problems, rows, columns = batch.shape
    xp = namespace(solution.row_match)
    lengths, fills = (rows, columns, rows, columns, rows), (-1, -1, 0, 0, 0)
    arrays = [
        xp.full((problems, length), fill, array.dtype)
        for array, length, fill in zip(solution[:5], lengths, fills, strict=True)
    ]
    moved = AssignedBatch._make([*arrays, solution.counters])
    for number, places in enumerate(batch.places or []):
        i, j = (xp.asarray(place) for place in places)
        for source, target, here, there in zip(solution[:2], moved[:2], (i, j), (j, i), strict=True):
            mates = source[number, : len(here)]
            target[number, here] = xp.where(mates >= 0, there[xp.maximum(mates, 0)], -1) if len(there) else -1
        for source, target, here in zip(solution[2:5], moved[2:5], (i, j, i), strict=True):
            target[number, here] = source[number, : len(here)]
    return moved
