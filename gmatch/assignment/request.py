"""What a call of `lap` asks for, and what it starts from: checked before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from ..arrays import as_dense_array, mover_to, own, truths_of
from ..backends.protocol import AssignmentStart, Start
from ..errors import InvalidInput
from ..methods import JV, Core, SerialCore, bids_pay
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..problems.splits import splits_into_fitting
from ..result import Assignment
from .gap import gap_of

if TYPE_CHECKING:
    from ..methods import AssignmentMethod
    from ..problems.points import PointCosts

Costs = DenseCosts | SparseCosts


# None: the one that suits the method.
STARTS = {
    "auto": None,
    "reduce": AssignmentStart.REDUCE,
    "bids": AssignmentStart.BIDS,
    "regret": AssignmentStart.REGRET,
    "none": AssignmentStart.NONE,
}


class SolverOptions(TypedDict, total=False):
    """The options of `lap` that do not say what the costs are and which pairs are wanted, for type checkers."""

    method: str | AssignmentMethod
    initial: Any
    duals: tuple[Any, Any] | None
    deterministic: bool
    device: str | None
    threads: int | None
    certify: bool


class Options(NamedTuple):
    """The options of `lap`, under its names for them, except `comm` and `devices`."""

    maximize: bool = False
    method: str | AssignmentMethod = "auto"
    initial: Any = "auto"
    duals: Any = None
    cost_limit: Any = None
    forbid_nan: bool = False
    infeasible: str = "raise"
    deterministic: bool = False
    ties: str | None = None
    device: str | None = None
    threads: int | None = None
    certify: bool = False
    sizes: Any = None
    mask: Any = None
    top_nodes: Any = None
    weight: Any = "weight"
    gap: float | None = None

    def checked(self, cost: Any) -> Options:
        """These options; what holds for all kinds of costs is checked. The way of each kind checks the rest."""
        if self.ties is not None:
            refuse_what_scipy_lacks(self.ties, self.cost_limit, self.infeasible, self.deterministic, False)
        if not isinstance(self.infeasible, str) or self.infeasible not in ("raise", "partial"):
            raise InvalidInput(f"infeasible must be 'raise' or 'partial'; got {self.infeasible!r}")
        truths: dict[str, Any] = truths_of(
            maximize=self.maximize, deterministic=self.deterministic, certify=self.certify
        )
        gap = self.gap
        if gap is not None:
            gap = gap_of(gap, self.cost_limit if self.cost_limit is not None else getattr(cost, "cost_limit", None))
        return self._replace(**truths, gap=gap)

    def of_ranks(self) -> dict[str, Any]:
        """What several ranks are asked for: less than one."""
        if self.ties is not None:
            refuse_what_scipy_lacks(self.ties, self.cost_limit, self.infeasible, self.deterministic, True)
        if self.gap is not None:
            raise InvalidInput("several ranks solve to the optimum; leave gap out")
        return {name: option for name, option in self._asdict().items() if name not in ("ties", "gap")}


def refuse_what_scipy_lacks(ties: Any, cost_limit: Any, infeasible: Any, deterministic: Any, on_ranks: bool) -> None:
    """Raises `InvalidInput` for options that do not go with SciPy's rule."""
    if not isinstance(ties, str) or ties != "scipy":
        raise InvalidInput(f"ties must be None or 'scipy'; got {ties!r}")
    if cost_limit is not None or infeasible != "raise":
        raise InvalidInput("ties='scipy' is for complete assignments; leave cost_limit and infeasible out")
    if deterministic or on_ranks:
        raise InvalidInput(
            "ties='scipy' is a rule of its own, for one matrix in one process; leave deterministic, comm and devices "
            "out, and give the matrix instead of RowBlocks"
        )


def kind_of_start(name: str, method: AssignmentMethod, costs: Costs | None) -> AssignmentStart:
    """What a name stands for: some methods have a start of their own, from minima. None stands for a batch."""
    kind = STARTS[name]
    if isinstance(costs, SparseCosts):
        return AssignmentStart.REDUCE if kind is None else kind
    if isinstance(method, JV | SerialCore) or isinstance(method, Core) and kind is not AssignmentStart.NONE:
        return AssignmentStart.REDUCE
    if kind is None:
        return AssignmentStart.BIDS if bids_pay(method, costs) else AssignmentStart.REDUCE
    return kind


def start_of(initial: Any, duals: Any, costs: Costs, method: AssignmentMethod) -> Start:
    """The start as a backend takes it: for `costs.array`, with copies of given arrays where the costs live.

    Raises
    ------
    InvalidInput
        For a method or a start that these costs cannot have.
    """
    start = _start_of(initial, duals, costs, method)
    _refuse_what_does_not_fit(costs, method, start)
    return start


def _start_of(initial: Any, duals: Any, costs: Costs, method: AssignmentMethod) -> Start:
    given = None if isinstance(initial, str) else checked_matching(initial, costs)
    of_initial = duals is None and isinstance(initial, Assignment)
    if of_initial:
        duals = initial.u, initial.v
    v = None if duals is None else _checked_duals("duals of initial" if of_initial else "duals", duals, costs)
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
        if isinstance(method, Core) and not costs.fits_core and splits_into_fitting(costs) is None:
            raise InvalidInput(
                "method 'core' needs room for duals along a path of all pairs, (32 + 8 * pairs) * (highest - lowest); "
                "these costs lie too far apart for it; use 'auto' or 'tree'"
            )
    elif start.kind in (AssignmentStart.REGRET, AssignmentStart.BIDS):
        raise InvalidInput(
            f"initial={start.kind.label!r} is for dense costs; use 'auto', 'reduce' or 'none' for sparse ones"
        )


def _checked_duals(what: str, duals: Any, costs: Costs) -> Any:
    """Given duals of the columns of `costs.array`, as a copy where the costs live; the duals of rows follow.

    Moved and cut to lie between 0 and minus what duals need, for no others are of use, and larger ones could overflow.
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


def checked_dual(what: str, name: str, given: Any, length: int, costs: Costs | PointCosts) -> Any:
    array = as_dense_array(given, what)
    kinds, expected = ("i", "signed integers") if costs.dual_type is np.int64 else ("if", "real numbers")
    # Of an empty list NumPy makes floats.
    if array.shape != (length,) or length and array.dtype.kind not in kinds:
        raise InvalidInput(
            f"{what} must be {expected} for {costs.dtype} costs, and {name} of shape ({length},); got {array.dtype} of "
            f"shape {array.shape}"
        )
    with np.errstate(over="ignore"):  # of long doubles: they become infinite
        dual = mover_to(costs.device)(array).astype(costs.dual_type)
    infinite = (~np.isfinite(dual)).nonzero()[0]
    if len(infinite):
        vertex = int(infinite[0])
        raise InvalidInput(f"{what} must be finite; {name}[{vertex}] is {dual[vertex].item()}")
    return dual


def checked_matching(initial: Any, costs: Costs | PointCosts) -> tuple[Any, Any]:
    """Both sides of a given assignment as int32 arrays of our own, where the costs live."""
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
