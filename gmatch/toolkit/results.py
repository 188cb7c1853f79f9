"""What the toolkit returns, and what `verify` proves of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..arrays import exact_sum
from ..result import Assignment


def moved(assignment: Assignment, to_device: Callable[[Any], Any]) -> Assignment:
    """An assignment on another device."""
    arrays = {name: to_device(getattr(assignment, name)) for name in ("row_match", "col_match", "u", "v", "pair_costs")}
    cover = assignment.cover and (to_device(assignment.cover[0]), to_device(assignment.cover[1]))
    return replace(assignment, **arrays, cover=cover, exact=assignment.exact and assignment.exact.moved(to_device))


@dataclass(frozen=True, eq=False, repr=False)
class Bottleneck:
    """An assignment whose dearest pair is as cheap as can be, and its proof. Unpacks as ``row_ind, col_ind = result``.

    All arrays live where the costs live.

    Attributes
    ----------
    threshold : int, float or None
        The cost of the dearest pair, as an entry of the costs; None if there are no pairs. When maximizing: of the
        cheapest pair.
    row_match : int32 array, shape (rows,)
        The column that each row is matched with, -1 for free rows.
    col_match : int32 array, shape (columns,)
        The row that each column is matched with, -1 for free columns.
    pair_costs : array, shape (size,)
        The entries of the matched pairs, in the order of `row_ind`.
    cover : (integer array, integer array)
        Rows and columns, fewer than there are pairs, so that every pair cheaper than the threshold lies in one of them
        (König 1931): no assignment does without a pair at the threshold or above.
    assignment : Assignment or None
        With ``then="sum"``: the cheapest assignment of the pairs not above the threshold, with its duals.
    maximize : bool
    forbid_nan : bool
        Whether some costs were NaN, which forbade their pairs.
    stats : dict
        ``matchings``: how many thresholds were tried.
    """

    threshold: int | float | None
    row_match: Any
    col_match: Any
    pair_costs: Any
    cover: tuple[Any, Any]
    assignment: Assignment | None = None
    maximize: bool = False
    forbid_nan: bool = False
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many pairs are matched."""
        return len(self.pair_costs)

    @cached_property
    def cost(self) -> int | float:
        """The sum of `pair_costs`, as `Assignment.cost`."""
        return exact_sum(self.pair_costs)

    @cached_property
    def row_ind(self) -> Any:
        """The matched rows in increasing order, shape (size,)."""
        return (self.row_match >= 0).nonzero()[0]

    @cached_property
    def col_ind(self) -> Any:
        """The columns matched with `row_ind`, shape (size,)."""
        return self.row_match[self.row_ind]

    def moved(self, to_device: Callable[[Any], Any]) -> Bottleneck:
        """On another device."""
        names = "row_match", "col_match", "pair_costs"
        arrays = {name: to_device(getattr(self, name)) for name in names}
        cover = to_device(self.cover[0]), to_device(self.cover[1])
        return replace(self, **arrays, cover=cover, assignment=self.assignment and moved(self.assignment, to_device))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.row_ind, self.col_ind))

    def __repr__(self) -> str:
        return f"<Bottleneck of {self.size} pairs, threshold {self.threshold}>"


@dataclass(frozen=True)
class BottleneckCertificate:
    """What `verify` proved: every assignment has a pair that costs `threshold` or more (less, when maximizing).

    Attributes
    ----------
    threshold : int, float or None
    cover_rows, cover_columns : int
        How many rows and columns cover all cheaper pairs: together fewer than the pairs.
    """

    threshold: int | float | None
    cover_rows: int
    cover_columns: int
