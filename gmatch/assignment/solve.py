"""One problem from its costs to its result: what a limit and forbidden pairs ask for, on the device of the backend."""

from __future__ import annotations

from ..arrays import mover_to
from ..backends import backend_for
from ..backends.protocol import Start
from ..methods import assignment_method_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..result import STEPS, Assignment, Status
from .limit import free_pairs_above_limit, optimum_with_ways_out
from .optimum import optimum
from .partial import cheapest_of_largest, cover_of_allowed_pairs, infeasible
from .programs import Plan, Solution, nothing
from .request import Costs, Options, start_of
from .ties import Names


def solve_as_asked(costs: Costs, options: Options) -> Assignment:
    """The result that options of `lap` ask for. Options for batches, graphs and points are not looked at."""
    backend = backend_for(None, costs.device if options.device is None else options.device)
    dense = costs if isinstance(costs, DenseCosts) else None
    method, reason = assignment_method_of(options.method, backend.NAME, dense)
    start = start_of(options.initial, options.duals, costs, method)
    plan = Plan(backend, method, options.threads, options.deterministic)
    result = solve(costs, plan, start, options.infeasible == "partial")
    result.stats.setdefault("reason", reason)  # some backends know better
    return result


def solve(costs: Costs, plan: Plan, start: Start, partial: bool) -> Assignment:
    """The result for the matrix as it was given, where it lives. `partial`: a largest matching will do.

    Raises
    ------
    Infeasible
        If forbidden pairs leave no assignment, unless a largest matching will do.
    """
    solution = _solution(costs, plan, start, partial) if min(costs.shape) else nothing(costs)
    if plan.backend.NAME != costs.device:
        solution = solution.moved(mover_to(costs.device))
    if costs.transposed:
        solution = solution.turned()
    return _result(costs, plan, start, solution)


def _solution(costs: Costs, plan: Plan, start: Start, partial: bool) -> Solution:
    there = costs
    if plan.backend.NAME != costs.device:
        there, mover = costs.on(plan.backend.NAME), mover_to(plan.backend.NAME)
        start = Start(start.kind, *(array if array is None else mover(array) for array in start[1:]))
    names = Names.of(costs.shape, costs.transposed) if plan.deterministic else None
    if isinstance(there, SparseCosts) and there.limit is not None:
        return optimum_with_ways_out(there, plan, start, names)
    solution = optimum(there, plan, start, names)
    if solution.size < min(costs.shape):
        solution.cover = cover_of_allowed_pairs(there, plan.threads)
        if not partial:
            raise infeasible(costs, solution.cover)
        return cheapest_of_largest(there, plan, solution, names)
    if isinstance(there, DenseCosts) and there.limit is not None and free_pairs_above_limit(there, solution):
        solution.status, solution.entries = Status.LIMITED, None
    return solution


def _result(costs: Costs, plan: Plan, start: Start, solution: Solution) -> Assignment:
    counters = solution.counters
    stats = {
        "method": plan.method.name,
        "initial": start.kind.label,
        "backend": plan.backend.NAME,
        "seconds": {step: counters.pop(f"{step}_ns", 0) / 1e9 for step in (*STEPS, "ties")},
        **counters,
    }
    if solution.entries is None:
        pair_costs = costs.of_pairs(solution.row_match, solution.status is Status.OPTIMAL)
    else:
        pair_costs = solution.entries.astype(costs.dtype, copy=False)
    return Assignment(
        solution.row_match, solution.col_match, solution.u, solution.v, pair_costs, solution.status, costs.maximize,
        costs.cost_limit, solution.cover, stats, solution.exact, costs.forbid_nan, costs.row_nodes,
        costs.col_nodes,
    )  # fmt: skip
