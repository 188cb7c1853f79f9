"""`lap` for many independent problems in one call: the solution of a batch, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, cuda
from ..arrays import beside, mover_to, namespace, to_host
from ..backends import BACKENDS, backend_for
from ..backends.protocol import AssignedBatch, Start
from ..errors import Infeasible, InvalidInput
from ..methods import assignment_method_of, batch_method_of
from ..problems.batch import CostBatch
from ..problems.dense import DenseCosts
from ..result import STEPS, Assignment, AssignmentBatch, Status
from .plan import STARTS, Plan, kind_of_start
from .programs import Solution, has_negative_within
from .request import Options
from .solve import solve
from .ties import settle_ties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..methods import AssignmentMethod


def solve_batch_as_asked(batch: CostBatch, options: Options) -> AssignmentBatch:
    """The results that options of `lap` ask for."""
    backend = BACKENDS[batch.device] if options.device is None else backend_for(None, options.device)
    if options.threads is not None:
        backend.check_threads(options.threads)
    can_wait = _can_wait(batch, backend.NAME, options)
    if not can_wait and not batch._is_read:
        batch._read()
    method, reason = batch_method_of(options.method, backend.NAME, max(batch.shape[1:]), batch.largest)
    start = _start_of_batch(options.initial, options.duals, method)
    plan = Plan(
        backend, method, options.threads, options.deterministic, options.infeasible == "partial", start, reason
    )  # fmt: skip
    return solve_batch(batch, plan, can_wait)


def _start_of_batch(initial: Any, duals: Any, method: AssignmentMethod) -> Start:
    """The start of all problems."""
    if duals is not None or not isinstance(initial, str) or initial not in STARTS:
        raise InvalidInput(
            f"a batch starts from {', '.join(map(repr, STARTS))}, not from given assignments or duals; solve the "
            "problems one by one to give them"
        )
    return Start(kind_of_start(initial, method, None))


def _can_wait(batch: CostBatch, backend: str, options: Options) -> bool:
    """Whether the host can wait until somebody asks for more than arrays. Some options need the host at once."""
    needs_host = options.certify or options.deterministic or options.ties is not None or options.infeasible == "partial"
    return batch.device == backend == "gpu" and batch.places is None and not needs_host


def solve_batch(batch: CostBatch, plan: Plan, can_wait: bool = False) -> AssignmentBatch:
    """The results of all problems, by one program.

    Problems without an assignment are solved apart. So are problems whose costs are lost in the rounding of their
    duals. With `can_wait` the host waits for a GPU only when somebody asks for more than arrays.
    """
    there = batch if batch.device == plan.backend.NAME else batch.on(plan.backend.NAME)
    if batch.overflows:
        solution = _unsolved(there)
    else:
        solution = plan.backend.assign_batch(there, plan.method, plan.start.kind, plan.threads, can_wait)
    if can_wait:
        return _unread(batch, solution, plan)
    counters = solution.read_counters()
    return _completed(batch, there, solution._replace(read_counters=lambda: counters), plan)


class Unread:
    """The assignments of a batch that a GPU was asked for, in arrays of the GPU.

    The host waits for the GPU when somebody asks for more than the arrays. Then it solves the problems that the GPU
    has left.

    Attributes
    ----------
    watchers : list
        Objects with the methods `check_costs()`, which is called before the host solves the problems that the GPU has
        left, and `renew()`, which is called after their answers were put into the arrays.
    """

    def __init__(self, batch: CostBatch, solution: AssignedBatch, plan: Plan) -> None:
        self.watchers: list[Any] = []
        self._length = len(batch)
        self._found: AssignmentBatch | None = None
        self._work: Any = batch, solution, plan, cuda.end_of_work()

    def read(self) -> AssignmentBatch:
        """The results, with all that is known of them."""
        work, found = self._work, self._found  # in this order: another thread may be reading, too
        if found is not None:
            return found
        batch, solution, plan, end = work
        end.synchronize()
        with beside(batch.array):
            counters = solution.read_counters()
            is_changed = bool((counters["size"] < batch.pairs).any())
            for watcher in self.watchers if is_changed else ():
                watcher.check_costs()
            read = solution._replace(read_counters=lambda: counters)
            self._found = found = _completed(batch, batch, read, plan, True)
            if is_changed:
                cuda.finish_work()  # another stream may read the arrays next
        for watcher in self.watchers if is_changed else ():
            watcher.renew()
        self._work = None
        return found

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> Assignment:
        return self.read()[number]

    def __iter__(self) -> Iterator[Assignment]:
        return iter(self.read())

    @property
    def pairs(self) -> tuple[Any, Any, list[int]]:
        """The rows and the columns of all pairs, one problem after the other, and how many each has."""
        return self.read()._all_pairs


def _field_of_unread(name: str, unread: Unread) -> Any:
    return getattr(unread.read(), name)


def _unread(batch: CostBatch, solution: AssignedBatch, plan: Plan) -> AssignmentBatch:
    """The results of all problems, of which the host has only the arrays of the GPU."""
    with beside(batch.array):
        result = AssignmentBatch.later(_field_of_unread, None, (Unread(batch, solution, plan),))
    names = "row_match", "col_match", "u", "v", "pair_costs"
    vars(result).update(zip(names, solution[:5], strict=True))
    vars(result).update(
        shapes=batch.shapes, maximize=batch.maximize, cost_limit=batch.cost_limit, forbid_nan=batch.forbid_nan
    )
    return result


def _completed(
    batch: CostBatch, there: CostBatch, solution: AssignedBatch, plan: Plan, drops: bool = False
) -> AssignmentBatch:
    """The results of all problems, from what a program found for the batch `there`.

    `drops` says that a program on a GPU has dropped the pairs above the limit.
    """
    counters = solution.read_counters()
    limited = counters.pop("dropped") > 0
    alone = (counters["size"] < batch.pairs) | _duals_hide_costs(there, solution)
    if plan.deterministic:
        counters["rows_with_choice"] = _settle_ties(there, solution, ~alone)
    if batch.limit is not None and not drops:
        limited = to_host(_drop_pairs_above_limit(there, solution))
    if there is not batch:
        solution = AssignedBatch._make([*map(mover_to(batch.device), solution[:5]), solution.read_counters])
    apart = {int(number): _solve_alone(batch, int(number), plan) for number in alone.nonzero()[0]}
    for number, assignment in apart.items():
        _put(assignment, number, solution)
        if plan.deterministic:
            counters["rows_with_choice"][number] = assignment.stats["rows_with_choice"]
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
    try:
        costs, method = batch.costs_of(number), plan.method
        if "dense" not in method.solves[plan.backend.NAME]:  # a GPU has a program of this method for batches alone
            method, _ = assignment_method_of("auto", plan.backend.NAME, costs)
        start = Start(kind_of_start("auto", method, costs))
        return solve(costs, plan._replace(method=method, threads=None, start=start))
    except InvalidInput as error:
        raise InvalidInput(f"problem {number}: {error}") from None
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
    names = ("size", "dropped", "start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected")
    counters: dict[str, Any] = {
        name: np.zeros(problems, np.int64) for name in (*names, *(f"{step}_ns" for step in STEPS))
    }
    counters |= {"team": "none", "threads": 0}
    pair_costs = xp.zeros((problems, rows), batch.array.dtype)
    return AssignedBatch(row_match, col_match, u, v, pair_costs, lambda: counters)


def _duals_hide_costs(batch: CostBatch, solution: AssignedBatch) -> Any:
    """For which problems rounding of the duals hides what pairs cost, on the host: see csrc/costs/magnitudes.hpp."""
    within = np.zeros(batch.shape[0])
    if batch.dual_type is np.float64 and batch.device == "cpu":  # a GPU has left these problems to the host already
        row_match, _, u, v, pair_costs = solution[:5]
        pair_costs = pair_costs.astype(np.float64, copy=False)
        _native.hiding_if_negative_within_of_batch(row_match, u, v, pair_costs, batch.lowest, within)
    hide = within == np.inf
    for number in ((within > 0) & ~hide).nonzero()[0].tolist():
        hide[number] = has_negative_within(_costs_as_solved(batch, number), float(within[number]))
    return hide


def _settle_ties(batch: CostBatch, solution: AssignedBatch, solved: Any) -> Any:
    """Makes the assignments of solved problems the ones that the rule names.

    Returns how many rows had a choice, on the host; 0 for other problems.
    """
    had_choice = np.zeros(len(batch), np.int64)
    for number in solved.nonzero()[0].tolist():
        costs = _costs_as_solved(batch, number)
        rows, columns = costs.shape
        row_match, col_match, u, v, pair_costs = (
            array[number, :length]
            for array, length in zip(solution[:5], (rows, columns, rows, columns, rows), strict=True)
        )
        if rows and columns:
            found = Solution(len(row_match), row_match, col_match, u, v, {})
            had_choice[number] = settle_ties(costs, _as_read(found, costs), costs.transposed)
        matched = (row_match >= 0).nonzero()[0]
        pair_costs.fill(0)
        pair_costs[matched] = costs.matrix[matched, row_match[matched]]
    return had_choice


def _costs_as_solved(batch: CostBatch, number: int) -> DenseCosts:
    """One problem, with duals of the type of the batch.

    A limit with a fraction makes floats of whole costs. That of a problem alone does so only if some cost is above it.
    """
    costs = batch.costs_of(number)
    if costs.dual_type is batch.dual_type:
        return costs
    as_floats = batch.problem(number).astype(batch.array.dtype)
    return DenseCosts(as_floats, maximize=batch.maximize, cost_limit=batch.cost_limit)


def _as_read(found: Solution, costs: DenseCosts) -> Solution:
    """The solution of a matrix, from that of the matrix as given. With a limit, columns that stay free have the dual 0.

    A square matrix that lies by columns is read turned, but was solved as given. Its free rows have the limit as dual.
    """
    if not costs.transposed:
        return found
    found = found.turned()
    if costs.limit is None or costs.shape[0] != costs.shape[1]:
        return found
    return found._replace(u=found.u + costs.limit, v=found.v - costs.limit)


def _drop_pairs_above_limit(batch: CostBatch, solution: AssignedBatch) -> Any:
    """Drops the pairs that cost more than the limit. Returns which problems had some.

    See `limit.free_pairs_above_limit`.
    """
    row_match, col_match, _, _, pair_costs, _ = solution
    xp, prices = namespace(row_match), pair_costs.astype(batch.dual_type)
    above = (row_match >= 0) & ((-prices if batch.maximize else prices) > batch.limit)
    if above.size:
        mates_above = xp.take_along_axis(above, xp.maximum(col_match, 0), axis=1) & (col_match >= 0)
        for array, nothing, mask in ((col_match, -1, mates_above), (row_match, -1, above), (pair_costs, 0, above)):
            xp.copyto(array, array.dtype.type(nothing), where=mask)
    return above.any(axis=1)


def _in_place(batch: CostBatch, solution: AssignedBatch) -> AssignedBatch:
    """The solution for the matrices as given, from the solution for the rows and columns that a mask keeps."""
    problems, rows, columns = batch.shape
    xp = namespace(solution.row_match)
    lengths, fills = (rows, columns, rows, columns, rows), (-1, -1, 0, 0, 0)
    arrays = [
        xp.full((problems, length), fill, array.dtype)
        for array, length, fill in zip(solution[:5], lengths, fills, strict=True)
    ]
    moved = AssignedBatch._make([*arrays, solution.read_counters])
    for number, places in enumerate(batch.places or []):
        i, j = (xp.asarray(place) for place in places)
        for source, target, here, there in zip(solution[:2], moved[:2], (i, j), (j, i), strict=True):
            mates = source[number, : len(here)]
            target[number, here] = xp.where(mates >= 0, there[xp.maximum(mates, 0)], -1) if len(there) else -1
        for source, target, here in zip(solution[2:5], moved[2:5], (i, j, i), strict=True):
            target[number, here] = source[number, : len(here)]
    return moved
