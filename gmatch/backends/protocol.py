"""What a backend is given to start an assignment from, and what it finds."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple


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


class Assigned(NamedTuple):
    """What a program finds, for costs as it reads them: arrays, and counters by name."""

    row_match: Any
    col_match: Any
    u: Any
    v: Any
    counters: dict[str, Any]

    def turned(self) -> Assigned:
        """The same with rows for columns."""
        return Assigned(self.col_match, self.row_match, self.v, self.u, self.counters)


class AssignedBatch(NamedTuple):
    """The same of many problems: arrays with a row for each problem, padded with -1 and 0.

    Each counter is an array on the host, with a number for each problem.
    """

    row_match: Any
    col_match: Any
    u: Any
    v: Any
    pair_costs: Any
    counters: dict[str, Any]
