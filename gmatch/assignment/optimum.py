"""The cheapest assignment: by one program, or in tiers where rounding hides costs; of several the one of the rule."""

from __future__ import annotations

from time import perf_counter_ns

from ..backends.protocol import Start
from ..errors import changed
from ..methods import Core
from ..problems.dense import DenseCosts
from .programs import Plan, Solution, run
from .request import Costs
from .tiers import duals_hide_costs, mended, solve_by_tiers, split_costs
from .ties import Names, settle_ties


def optimum(costs: Costs, plan: Plan, start: Start, names: Names | None) -> Solution:
    """A cheapest assignment; with names, the one that they decide on. Not complete where forbidden pairs leave none."""
    problem, of_problem, solution = _in_one_or_in_tiers(costs, plan, start)
    if names is not None:
        now = perf_counter_ns()
        complete = solution.size == len(solution.row_match)
        solution.counters["rows_with_choice"] = settle_ties(problem, of_problem, names) if complete else 0
        solution.counters["ties_ns"] = perf_counter_ns() - now
        solution.entries = None  # the pairs may be others now
    return solution


def _in_one_or_in_tiers(costs: Costs, plan: Plan, start: Start) -> tuple[Costs, Solution, Solution]:
    """A problem with the same cheapest assignments, its solution, and the same pairs as a solution of the costs."""
    fits = not isinstance(plan.method, Core) or not isinstance(costs, DenseCosts) or costs.fits_core
    if costs.overflows or not fits:
        split = split_costs(costs)
        if split is not None:
            return solve_by_tiers(costs, split, plan)
        if costs.overflows:  # else they are refused before
            raise changed("cost")
    solution = run(costs, plan, start)
    if solution.size == min(costs.shape) and duals_hide_costs(costs, solution):
        return mended(costs, solution, plan)
    return costs, solution, solution
