"""How a problem is solved: the backend, the method, and the start. A user's options for these are checked here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import as_dense_array, mover_to, own
from ..backends import BACKENDS, backend_for
from ..backends.protocol import AssignmentStart, Backend, Start
from ..errors import InvalidInput
from ..methods import TiedCore, assignment_method_of, bids_pay
from ..problems.dense import DenseCosts
from ..problems.limits import Ranged
from ..problems.sparse import SparseCosts
from ..problems.splits import splits_into_fitting
from ..result import Assignment

if TYPE_CHECKING:
    from ..methods import AssignmentMethod
    from ..problems.points import PointCosts
    from .request import Options

Costs = DenseCosts | SparseCosts


# None stands for the start that suits the method.
STARTS = {
    "auto": None,
    "reduce": AssignmentStart.REDUCE,
    "bids": AssignmentStart.BIDS,
    "regret": AssignmentStart.REGRET,
    "none": AssignmentStart.NONE,
}
FROM_MINIMA = Start(AssignmentStart.REDUCE)


class Plan(NamedTuple):
    """How a problem is solved. All problems that it is reduced to are solved in the same way."""

    backend: Backend
    method: AssignmentMethod
    threads: int | None = None
    deterministic: bool = False  # whether ties are decided by the rule
    partial: bool = False  # whether a largest matching will do
    start: Start = FROM_MINIMA
    reason: str = "asked for"  # why this method


def plan_of(costs: Costs, options: Options) -> Plan:
    """The plan that options of `lap` ask for. Options for batches, graphs and points are not read.

    Raises
    ------
    InvalidInput
        If a device, a method or a start does not exist, or does not suit these costs.
    """
    device = options.device
    backend = BACKENDS[costs.device] if device is None else backend_for(None, device)
    if options.threads is not None:
        backend.check_threads(options.threads)
    dense = costs if isinstance(costs, DenseCosts) else None
    method, reason = assignment_method_of(options.method, backend.NAME, dense)
    start = start_of(options.initial, options.duals, costs, method)
    return Plan(
        backend, method, options.threads, options.deterministic, options.infeasible == "partial", start, reason
    )  # fmt: skip


def kind_of_start(name: str, method: AssignmentMethod, costs: Costs | None) -> AssignmentStart:
    """The start that a name stands for, if the method takes it. None as costs stands for a batch."""
    kind = STARTS[name]
    if isinstance(costs, SparseCosts):
        return AssignmentStart.REDUCE if kind is None else kind
    if isinstance(method, TiedCore):
        method = method.search
    if kind is None:
        bids = "bids" in method.starts and bids_pay(method, costs)
        kind = AssignmentStart.BIDS if bids else AssignmentStart.REDUCE
    return kind if kind.label in method.starts else AssignmentStart.REDUCE


def start_of(initial: Any, duals: Any, costs: Costs, method: AssignmentMethod) -> Start:
    """The start as a backend takes it: for `costs.array`, with copies of given arrays where the costs live.

    Raises
    ------
    InvalidInput
        If the method or the start does not suit these costs.
    """
    start = _start_of(initial, duals, costs, method)
    _refuse_what_does_not_fit(costs, method, start)
    return start


def _start_of(initial: Any, duals: Any, costs: Costs, method: AssignmentMethod) -> Start:
    given = None if isinstance(initial, str) else checked_matching(initial, costs)
    of_initial = duals is None and isinstance(initial, Assignment)
    if of_initial:
        duals = initial.u, initial.v
    v = None if duals is None else checked_duals("duals of initial" if of_initial else "duals", duals, costs)
    if given is None:
        if initial not in STARTS:
            raise InvalidInput(
                f"unknown start {initial!r}; expected {', '.join(map(repr, STARTS))}, an Assignment, or an array"
            )
        return Start(kind_of_start(initial, method, costs), None, v)
    row_match, col_match = given
    return Start(AssignmentStart.GIVEN, col_match if costs.transposed else row_match, v)


def _refuse_what_does_not_fit(costs: Costs, method: AssignmentMethod, start: Start) -> None:
    if isinstance(costs, DenseCosts):
        if method.needs_room and not costs.fits_core and splits_into_fitting(costs) is None:
            raise InvalidInput(
                "method 'core' needs room for duals along a path of all pairs, (32 + 8 * pairs) * (highest - lowest); "
                "these costs lie too far apart for it; use 'auto' or 'tree'"
            )
    elif start.kind in (AssignmentStart.REGRET, AssignmentStart.BIDS):
        raise InvalidInput(
            f"initial={start.kind.label!r} is for dense costs; use 'auto', 'reduce' or 'none' for sparse ones"
        )


def checked_duals(what: str, duals: Any, costs: Ranged) -> Any:
    """Given duals of the columns of `costs.array`, as a copy where the costs live. Solvers derive the duals of rows.

    The copy is moved so that the largest dual is 0, and cut off at minus `costs.dual_spread()`. Duals below that are of
    no use, and could overflow.
    """
    if not isinstance(duals, tuple | list) or len(duals) != 2:
        raise InvalidInput(f"{what} must be a pair of arrays, (u, v); got {type(duals).__name__}")
    u, v = (checked_dual(what, *named, costs) for named in zip("uv", duals, costs.shape, strict=True))
    v = u if costs.transposed else v
    if not v.size:
        return v
    most = v.max().item()
    least = most - costs.dual_spread()
    return v.clip(max(least, np.iinfo(np.int64).min) if v.dtype.kind == "i" else least, most) - most


def checked_dual(what: str, name: str, given: Any, length: int, costs: Ranged) -> Any:
    array = as_dense_array(given, what)
    kinds, expected = ("i", "signed integers") if costs.dual_type is np.int64 else ("if", "real numbers")
    # NumPy makes floats of an empty list.
    if array.shape != (length,) or length and array.dtype.kind not in kinds:
        raise InvalidInput(
            f"{what} must be {expected} for {costs.dtype} costs, and {name} of shape ({length},); got {array.dtype} of "
            f"shape {array.shape}"
        )
    with np.errstate(over="ignore"):  # long doubles may become infinite
        dual = mover_to(costs.device)(array).astype(costs.dual_type)
    infinite = (~np.isfinite(dual)).nonzero()[0]
    if len(infinite):
        vertex = int(infinite[0])
        raise InvalidInput(f"{what} must be finite; {name}[{vertex}] is {dual[vertex].item()}")
    return dual


def checked_matching(initial: Any, costs: Costs | PointCosts) -> tuple[Any, Any]:
    """Mates of rows and of columns in a given assignment, as new int32 arrays where the costs live."""
    rows, columns = costs.shape
    given = as_dense_array(initial.row_match if isinstance(initial, Assignment) else initial, "initial")
    if given.shape != (rows,) or rows and given.dtype.kind not in "iu":
        raise InvalidInput(
            f"initial must be an Assignment or an integer array of shape ({rows},), the column of each row or -1; "
            f"got {given.dtype} of shape {given.shape}"
        )
    to_device = mover_to(costs.device)
    given = own(to_device(given))
    if rows and not (-1 <= int(given.min()) and int(given.max()) < columns):
        raise InvalidInput(
            f"initial must hold columns from 0 to {columns - 1}, or -1; got {int(given.min())} to {int(given.max())}"
        )
    row_match, col_match = given.astype(np.int32), to_device(np.full(columns, -1, np.int32))
    matched = (row_match >= 0).nonzero()[0]
    mates = row_match[matched]
    col_match[mates] = matched
    twice = mates[col_match[mates] != matched]
    if len(twice):
        raise InvalidInput(f"initial must be a matching; column {int(twice[0])} is given to more than one row")
    forbidden = matched[~costs.may_pair(matched, mates)]
    if len(forbidden):
        row = int(forbidden[0])
        raise InvalidInput(f"initial must not use forbidden pairs; row {row} has column {int(row_match[row])}")
    return row_match, col_match
