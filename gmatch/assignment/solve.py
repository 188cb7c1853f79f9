"""One problem from its costs to its result, on the device of the backend.

Limits, forbidden pairs and ties are handled by reductions. Each makes other problems of a problem, and makes the
solution of the problem from the solutions of the others.
"""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np

from ..arrays import mover_to
from ..backends.protocol import Start
from ..errors import InvalidInput
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..result import STEPS, Assignment, Status
from .limit import free_pairs_above_limit, with_ways_out, without_ways_out
from .partial import cover_of_allowed_pairs, infeasible, joined, parts_of
from .plan import FROM_MINIMA, Costs, Plan
from .programs import Solution, nothing, run_once
from .tiers import mended, solve_by_tiers, solve_few_pairs
from .ties import settle_ties


def solve(costs: Costs, plan: Plan) -> Assignment:
    """The result for the matrix as it was given, where it lives.

    Raises
    ------
    Infeasible
        If forbidden pairs leave no assignment, unless a largest matching will do.
    """
    solution = _solution(costs, plan) if min(costs.shape) else nothing(costs)
    if plan.backend.NAME != costs.device:
        solution = solution.moved(mover_to(costs.device))
    if costs.transposed:
        solution = solution.turned()
    return _result(costs, plan, solution)


def _solution(costs: Costs, plan: Plan) -> Solution:
    there, start = costs, plan.start
    if plan.backend.NAME != costs.device:
        there, mover = costs.on(plan.backend.NAME), mover_to(plan.backend.NAME)
        start = Start(start.kind, *(array if array is None else mover(array) for array in start[1:]))
    if isinstance(there, SparseCosts) and there.limit is not None:
        problem, start = with_ways_out(there, start)
        return without_ways_out(there, _optimum(problem, plan, start, costs.transposed))
    solution = _optimum(there, plan, start, costs.transposed)
    if solution.size < min(costs.shape):
        if isinstance(there, DenseCosts) and (there.dual_type is np.int64 or not there.forbids):
            raise InvalidInput(
                f"expected costs that stay as they are during the call, and these changed: {solution.size} of "
                f"{min(costs.shape)} rows were matched, though no pair is forbidden; give a copy that nobody writes to"
            )
        if not plan.partial:
            raise infeasible(costs, cover_of_allowed_pairs(there, plan.threads))
        cover, parts = parts_of(there, plan.threads, costs.transposed)
        found = [_optimum(part.costs, plan, FROM_MINIMA, part.columns_first) for part in parts]
        return joined(there, solution._replace(cover=(cover.rows, cover.columns)), parts, found)
    if isinstance(there, DenseCosts) and there.limit is not None and free_pairs_above_limit(there, solution):
        return solution._replace(status=Status.LIMITED, entries=None)
    return solution


def _optimum(costs: Costs, plan: Plan, start: Start, columns_first: bool) -> Solution:
    """A cheapest assignment. Rows stay free if forbidden pairs leave none.

    `columns_first` says that the columns are the rows of the matrix as given, for the rule for ties.
    """
    fits = not plan.method.needs_room or costs.fits_core
    solved = None if fits and not costs.overflows else solve_by_tiers(costs, plan)
    if solved is None and costs.device == "gpu":
        solved = solve_few_pairs(costs, plan)
    if solved is None:
        solution, hides_costs = run_once(costs, plan, start)
        solved = mended(costs, solution, plan) if hides_costs else (costs, solution, solution)
    problem, of_problem, solution = solved
    if plan.deterministic:
        now = perf_counter_ns()
        complete = solution.size == len(solution.row_match)
        with_choice = settle_ties(problem, of_problem, columns_first, plan.threads) if complete else 0
        solution.counters["rows_with_choice"] = with_choice
        solution.counters["ties_ns"] = perf_counter_ns() - now
        solution = solution._replace(entries=None)  # the pairs may be others now
    return solution


def _result(costs: Costs, plan: Plan, solution: Solution) -> Assignment:
    counters = solution.counters
    stats = {
        "method": plan.method.name,
        "initial": plan.start.kind.label,
        "backend": plan.backend.NAME,
        "seconds": {step: counters.pop(f"{step}_ns", 0) / 1e9 for step in (*STEPS, "ties")},
        **counters,
    }
    stats.setdefault("reason", plan.reason)  # some programs know better
    if solution.entries is None:
        pair_costs = costs.of_pairs(solution.row_match, solution.status is Status.OPTIMAL)
    else:
        pair_costs = solution.entries.astype(costs.dtype, copy=False)
    return Assignment(
        solution.row_match, solution.col_match, solution.u, solution.v, pair_costs, solution.status, costs.maximize,
        costs.cost_limit, solution.cover, stats, solution.exact, costs.forbid_nan, costs.row_nodes,
        costs.col_nodes,
    )  # fmt: skip
