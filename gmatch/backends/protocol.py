"""What a backend is: what it is given, and what it finds."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays import Device
    from ..methods import AssignmentMethod
    from ..problems.batch import CostBatch
    from ..problems.dense import DenseCosts
    from ..problems.graph import BipartiteGraph
    from ..problems.sparse import SparseCosts


class AssignmentStart(IntEnum):
    """Assignments to start from; numbered as `AssignmentStart` in csrc."""

    NONE = 0
    REDUCE = 1
    GIVEN = 2
    REGRET = 3
    BIDS = 4

    @cached_property
    def label(self) -> str:
        return self.name.lower()


class Start(NamedTuple):
    """What a program starts from, for costs as the programs read them."""

    kind: AssignmentStart
    row_match: Any = None
    v: Any = None


class Vectors(NamedTuple):
    """Mates and duals of both sides, for costs as programs read them."""

    row_match: Any
    col_match: Any
    u: Any
    v: Any


class Assigned(NamedTuple):
    """What a program finds, for costs as it reads them: arrays, and counters by name."""

    row_match: Any
    col_match: Any
    u: Any
    v: Any
    counters: dict[str, Any]

    def turned(self) -> Assigned:
        """The solution of the transposed problem: rows and columns change places."""
        return Assigned(self.col_match, self.row_match, self.v, self.u, self.counters)


def add_counters(counters: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    """What several runs counted together."""
    for more in others:
        threads = max(counters["threads"], more["threads"])
        added = {
            name: value + more.get(name, type(value)())
            for name, value in counters.items()
            if isinstance(value, int | list)
        }
        counters = counters | added | {"threads": threads}
    return counters


class AssignedBatch(NamedTuple):
    """What a program finds for a batch: arrays with a row for each problem, padded with -1 and 0.

    `read_counters` waits for a GPU. Each counter is an array on the host, with a number for each problem. ``size``
    counts all pairs that were found, and ``dropped`` the pairs among them that were dropped at the limit.

    A GPU checks the costs of a batch while it solves it. It leaves a problem to the host in four cases: an entry is no
    cost, sums could overflow, duals hide costs, or forbidden pairs leave no assignment. A problem that is left has no
    mates at all, and what its pairs cost is NaN where costs are floats.
    """

    row_match: Any
    col_match: Any
    u: Any
    v: Any
    pair_costs: Any
    read_counters: Callable[[], dict[str, Any]]


class Matched(NamedTuple):
    """What a program of maximum cardinality finds: arrays, and counters by name."""

    row_match: Any
    col_match: Any
    reached: Any  # the columns that alternating paths from free rows reach
    counters: dict[str, Any]


class Cover(NamedTuple):
    """A smallest vertex cover (König 1931) of the allowed pairs, and the rows and columns that are not in it.

    Rows and columns are increasing numbers, in costs as programs read them.
    """

    rows: Any
    columns: Any
    other_rows: Any
    other_columns: Any


class Backend(Protocol):
    """The programs of one kind of device: the module `cpu` or `gpu`. It trusts arrays; `problems` has checked them.

    Methods and starts suit its device. Programs change given arrays of mates and duals. `threads` are threads of the
    host, which `check_threads` has checked; None stands for as many as there is work for.
    """

    NAME: Device

    def check_threads(self, threads: int | None) -> None:
        """Raises `InvalidInput` for a number of threads that the backend cannot have."""

    def match(self, graph: BipartiteGraph, method: Any, start: int, row_match: Any, threads: int | None) -> Matched:
        """Runs `match_cardinality` of csrc; `row_match` is a given start, or None."""

    def assign(self, costs: DenseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
        """Runs a method of assignment."""

    def assign_sparse(
        self, costs: SparseCosts, method: AssignmentMethod, start: Start, threads: int | None
    ) -> Assigned:
        """Runs a method of assignment on sparse costs."""

    def assign_batch(
        self, batch: CostBatch, method: AssignmentMethod, start: int, threads: int | None, drops: bool = False
    ) -> AssignedBatch:
        """Runs a method on every problem. With `drops`, a GPU drops the pairs that cost more than the limit.

        A host drops none.
        """
