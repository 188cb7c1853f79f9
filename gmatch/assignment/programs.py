"""One program of a backend, run on costs. The other files of this folder reduce problems to such runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import mover_to, to_host
from ..backends import BACKENDS, cpu
from ..backends.doubled import FEWEST_ROWS, Doubled
from ..backends.protocol import Assigned, Start, Vectors, add_counters
from ..devices import READERS
from ..methods import Tree, assignment_method_of
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.limits import LARGE_ON_GPU
from ..problems.sparse import SparseCosts
from ..result import STEPS, ExactDuals, Status
from ..small import small_first
from .plan import FROM_MINIMA, Costs, Plan, kind_of_start


class Solution(NamedTuple):
    """A solution of costs as the programs read them: with at most as many rows as columns."""

    size: int  # how many pairs there are
    row_match: Any
    col_match: Any
    u: Any
    v: Any
    counters: dict[str, Any]
    entries: Any = None  # of each pair, in the order of the rows, as stored; None if they are not known
    exact: ExactDuals | None = None  # if u and v are roundings of these
    status: Status = Status.OPTIMAL
    cover: tuple[Any, Any] | None = None  # of the allowed pairs, if they leave no assignment
    must_be_used: Any = None  # which columns all cheapest assignments use, whatever their v; None if v says it

    @property
    def vectors(self) -> Vectors:
        return Vectors(self.row_match, self.col_match, self.u, self.v)

    def turned(self) -> Solution:
        """The solution of the transposed problem: rows and columns change places."""
        return self._replace(
            row_match=self.col_match, col_match=self.row_match, u=self.v, v=self.u, entries=None,
            exact=self.exact and self.exact.turned(self.cover is not None), cover=self.cover and self.cover[::-1],
        )  # fmt: skip

    def moved(self, mover: Callable[[Any], Any]) -> Solution:
        """This solution on another device."""
        vectors = {name: mover(getattr(self, name)) for name in ("row_match", "col_match", "u", "v")}
        exact = self.exact and self.exact.moved(mover)
        cover = self.cover and (mover(self.cover[0]), mover(self.cover[1]))
        return self._replace(**vectors, entries=None, exact=exact, cover=cover)


def run(costs: Costs, plan: Plan, start: Start = FROM_MINIMA) -> Solution:
    """The solution by the plan's method. `Tree` takes the place of a core if dense costs lie too far apart for it."""
    method = plan.method
    if isinstance(costs, SparseCosts):
        found = _run_sparse(costs, plan, start)
    else:
        method = method if not method.needs_room or costs.fits_core else Tree()
        found = plan.backend.assign(costs, method, start, plan.threads)
    return Solution(found.counters.pop("size"), *found, found.counters.pop("entries", None))


def _run_sparse(costs: SparseCosts, plan: Plan, start: Start) -> Assigned:
    """Runs a method of sparse costs. A phase finds many paths in square problems only, so others are doubled."""
    rows, columns = sorted(costs.shape)
    if FEWEST_ROWS <= rows < columns and plan.method.many_paths:
        doubled = Doubled.of(costs)
        if doubled.costs.fits_core:
            begun = start if start.row_match is None else doubled.start_from_pairs(start.row_match)
            assign = partial(plan.backend.assign_sparse, doubled.costs, plan.method, threads=plan.threads)
            found = assign(begun._replace(v=None))
            if doubled.rounds_away(found.u, found.v):
                # An auction may lower all prices of a part of the problem that has no entries with other parts. So a
                # search from the halves follows.
                again, first = assign(doubled.start_from_halves(found)), found.counters
                both = {"size": again.counters["size"], "start_size": first["start_size"]}
                found = again._replace(counters=add_counters(first, again.counters) | both)
            if not doubled.rounds_away(found.u, found.v):
                return doubled.halved(found, costs.ways_out)
    return plan.backend.assign_sparse(costs, plan.method, start, plan.threads)


def run_once(costs: Costs, plan: Plan, start: Start) -> tuple[Solution, bool]:
    """The solution of `run` with the entries of its pairs, and whether its duals hide the costs of these pairs."""
    solution = run(costs, plan, start)
    if solution.size < min(costs.shape):
        return solution, False
    if solution.entries is None and isinstance(costs, SparseCosts):
        arrays = costs.indptr, costs.indices, max(costs.shape), solution.row_match
        solution = solution._replace(entries=costs.data[READERS[costs.device].find_entries(*arrays)])
    return solution, duals_hide_costs(costs, solution, solution.entries)


def duals_hide_costs(costs: Costs, solution: Solution, entries: Any) -> bool:
    """Whether duals are so large that rounding hides what pairs cost; see csrc/costs/magnitudes.hpp."""
    u, v = solution.u, solution.v
    if costs.dual_type is np.int64:
        return False
    if costs.device == "gpu":
        if max(-costs.lowest, costs.highest) < LARGE_ON_GPU:
            return False
        u, v, entries = map(to_host, (u, v, entries))
    pair_costs = entries.astype(np.float64, copy=False)
    within = _native.hiding_if_negative_within_of_pairs(pair_costs, u, v, costs.lowest)
    return within == math.inf or (within > 0 and has_negative_within(costs, within))


def has_negative_within(costs: Costs, bound: float) -> bool:
    """Whether a cost of the minimisation form is negative, but above -bound."""
    if costs.device == "cpu" and isinstance(costs, DenseCosts):
        return cpu.has_negative_within(costs, bound)
    values = costs.minimised()
    return bool(((values > -bound) & (values < 0)).any())


@small_first
def cheapest(cost: Any) -> Any:
    """`row_match`, `u` and `v` of a cheapest assignment by ``"auto"``, for integer costs that allow an assignment."""
    costs = costs_of(cost)
    method, _ = assignment_method_of("auto", costs.device, costs if isinstance(costs, DenseCosts) else None)
    solution = run(costs, Plan(BACKENDS[costs.device], method), Start(kind_of_start("auto", method, costs)))
    return solution.turned() if costs.transposed else solution


def nothing(costs: Costs) -> Solution:
    """The solution of a problem without pairs."""
    rows, columns = sorted(costs.shape)
    to_device = mover_to(costs.device)
    row_match, col_match = (to_device(np.full(length, -1, np.int32)) for length in (rows, columns))
    u, v = (to_device(np.zeros(length, costs.dual_type)) for length in (rows, columns))
    counts = ("start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected")
    times = tuple(f"{step}_ns" for step in STEPS)
    lists: dict[str, Any] = {"levels_per_phase": [], "augmentations_per_phase": []}
    counters = dict.fromkeys(counts + times, 0) | lists | {"team": "none", "threads": 0}
    return Solution(0, row_match, col_match, u, v, counters)
