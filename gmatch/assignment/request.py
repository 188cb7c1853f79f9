"""The options of a call of `lap`, checked before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from ..arrays import truth_of
from ..devices.cpu import check_threads
from ..errors import InvalidInput
from .gap import gap_of

if TYPE_CHECKING:
    from ..methods import AssignmentMethod


class SolverOptions(TypedDict, total=False):
    """The options of `lap` about how to solve, not about costs and pairs; for type checkers."""

    method: str | AssignmentMethod
    initial: Any
    duals: tuple[Any, Any] | None
    deterministic: bool
    device: str | None
    threads: int | None
    certify: bool


# Options that are true or not.
TRUTHS = "maximize", "forbid_nan", "deterministic", "certify"


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
        """These options, after the checks that hold for all kinds of costs. The solver of each kind checks the rest."""
        if self.ties is not None:
            self._refuse_what_scipy_lacks(on_ranks=False)
        if not isinstance(self.infeasible, str) or self.infeasible not in ("raise", "partial"):
            raise InvalidInput(f"infeasible must be 'raise' or 'partial'; got {self.infeasible!r}")
        if self.threads is not None:
            check_threads(self.threads)
        changed: dict[str, Any] = {
            name: truth_of(name, getattr(self, name)) for name in TRUTHS if type(getattr(self, name)) is not bool
        }
        if self.gap is not None:
            limit = self.cost_limit if self.cost_limit is not None else getattr(cost, "cost_limit", None)
            changed["gap"] = gap_of(self.gap, limit)
        return self._replace(**changed) if changed else self

    def of_ranks(self) -> dict[str, Any]:
        """The options for several ranks, which take fewer than one process does."""
        if self.ties is not None:
            self._refuse_what_scipy_lacks(on_ranks=True)
        if self.gap is not None:
            raise InvalidInput("several ranks solve to the optimum; leave gap out")
        return {name: option for name, option in self._asdict().items() if name not in ("ties", "gap")}

    def _refuse_what_scipy_lacks(self, on_ranks: bool) -> None:
        """Raises `InvalidInput` for options that do not go with SciPy's rule."""
        if not isinstance(self.ties, str) or self.ties != "scipy":
            raise InvalidInput(f"ties must be None or 'scipy'; got {self.ties!r}")
        if self.cost_limit is not None or self.infeasible != "raise":
            raise InvalidInput("ties='scipy' is for complete assignments; leave cost_limit and infeasible out")
        if self.deterministic or on_ranks:
            raise InvalidInput(
                "ties='scipy' is a rule of its own, for one matrix in one process; leave deterministic, comm and "
                "devices out, and give the matrix instead of RowBlocks"
            )
