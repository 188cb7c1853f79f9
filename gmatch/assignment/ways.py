"""The ways that `lap` has: what costs are a problem of, and what solves that."""

from __future__ import annotations

from typing import Any

from ..backends import backend_for
from ..errors import InvalidInput
from ..methods import batch_method_of
from ..methods.method import is_auto
from ..problems.batch import CostBatch, is_batch
from ..problems.costs import costs_of, refuse_options_of_graphs
from ..problems.dense import DenseCosts
from ..problems.points import PointCosts, points_of, warn_of_points
from ..problems.windows import WindowCosts, as_windows, windows_of
from ..result import Assignment, AssignmentBatch
from .batch import solve_batch, start_of_batch
from .gap import within_bound
from .points import lap_of_points
from .programs import Plan
from .request import Costs, Options
from .solve import solve_as_asked

Problem = PointCosts | WindowCosts | CostBatch | Costs


def problem_of(cost: Any, options: Options) -> Problem:
    """What the costs are a problem of; they are checked, and refused beside options that are not for them."""
    if isinstance(cost, PointCosts):
        return _of_points(cost, options)
    windows = as_windows(cost, options.maximize, options.cost_limit, options.forbid_nan)
    if isinstance(windows, WindowCosts):
        return _of_windows(windows, options, isinstance(cost, WindowCosts))
    warn_of_points(cost)
    if options.sizes is not None or options.mask is not None or is_batch(cost):
        return _of_batch(cost, options)
    return costs_of(
        cost, options.maximize, options.cost_limit, options.forbid_nan, options.top_nodes, options.weight
    )  # fmt: skip


def _of_points(cost: PointCosts, options: Options) -> PointCosts | DenseCosts:
    """The points, or the matrix of what they cost where only that can do what is asked for."""
    points = points_of(
        cost, maximize=options.maximize, cost_limit=options.cost_limit, forbid_nan=options.forbid_nan,
        sizes=options.sizes, mask=options.mask,
    )  # fmt: skip
    by_passes = is_auto(options.method) and not options.deterministic and options.device in (None, "cpu")
    can_do_it = options.ties is None and (points.suit_trees() or by_passes)
    return points if can_do_it else points.as_dense()


def _of_windows(windows: WindowCosts, options: Options, given_so: bool) -> WindowCosts:
    if options.ties is not None:
        raise InvalidInput("ties='scipy' needs a matrix in memory, which SciPy reads; leave ties out")
    return windows_of(
        windows, maximize=given_so and options.maximize, cost_limit=options.cost_limit if given_so else None,
        forbid_nan=given_so and options.forbid_nan, sizes=options.sizes, mask=options.mask,
    )  # fmt: skip


def _of_batch(cost: Any, options: Options) -> CostBatch:
    refuse_options_of_graphs(cost, options.top_nodes, options.weight)
    if options.gap is not None:
        raise InvalidInput("the problems of a batch are solved to the optimum; leave gap out")
    if not isinstance(cost, CostBatch):
        return CostBatch(
            cost, maximize=options.maximize, cost_limit=options.cost_limit, sizes=options.sizes, mask=options.mask,
            forbid_nan=options.forbid_nan,
        )  # fmt: skip
    of_its_own = options.cost_limit, options.sizes, options.mask
    if options.maximize and not cost.maximize or any(option is not None for option in of_its_own):
        raise InvalidInput("a CostBatch has its own maximize, cost_limit, sizes and mask; give them to CostBatch")
    return cost


def solved(problem: Problem, options: Options) -> Assignment | AssignmentBatch:
    """The solution of a problem, by the way that its kind of costs has."""
    if isinstance(problem, Costs):
        result = solve_as_asked(problem, options)
        return result if options.gap is None else within_bound(result, False)
    if isinstance(problem, CostBatch):
        return _solve_batch(problem, options)
    if isinstance(problem, WindowCosts):
        from ..distributed.windows import lap_of_windows

        return lap_of_windows(problem, options)
    if problem.suit_trees():
        return lap_of_points(
            problem, method=options.method, initial=options.initial, duals=options.duals,
            deterministic=options.deterministic, device=options.device, threads=options.threads, gap=options.gap,
        )  # fmt: skip
    from ..distributed.point_windows import lap_of_many_coordinates

    return lap_of_many_coordinates(problem, options)


def _solve_batch(batch: CostBatch, options: Options) -> AssignmentBatch:
    backend = backend_for(None, batch.device if options.device is None else options.device)
    method, reason = batch_method_of(options.method, backend.NAME, max(batch.shape[1:]), batch.largest)
    plan = Plan(backend, method, options.threads, options.deterministic)
    result = solve_batch(batch, plan, start_of_batch(options.initial, options.duals, plan), options.takes_partial)
    result.stats.setdefault("reason", reason)
    return result
