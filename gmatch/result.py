"""What a solver returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, eq=False, repr=False)
class Matching:
    """A maximum cardinality matching, and its proof. Unpacks as ``row_ind, col_ind = matching``.

    All arrays live where the graph lives: NumPy for NumPy, CuPy for CuPy.

    Attributes
    ----------
    size : int
        How many edges are matched.
    row_match : int32 array, shape (rows,)
        The column that each row is matched with, -1 for free rows.
    col_match : int32 array, shape (columns,)
        The row that each column is matched with, -1 for free columns.
    reached_columns : bool array, shape (columns,)
        The columns that alternating paths from free rows reach; `vertex_cover` follows from them.
    stats : dict
        ``method``, ``initial``, ``backend``, ``team`` and ``threads`` say what ran, and where. ``start_size`` is the
        size of the matching that the search started from. ``phases`` counts searches, the last of which finds
        nothing; ``levels`` counts their steps, ``edges_inspected`` the entries they read. ``levels_per_phase`` and
        ``augmentations_per_phase`` are lists. ``seconds`` has the time of each step by name. With several threads the
        races decide which of many maximum matchings is found, and the counters differ a little from run to run.
    """

    size: int
    row_match: Any
    col_match: Any
    reached_columns: Any
    stats: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def row_ind(self) -> Any:
        """The matched rows in increasing order, shape (size,)."""
        return (self.row_match >= 0).nonzero()[0]

    @cached_property
    def col_ind(self) -> Any:
        """The columns matched with `row_ind`, shape (size,)."""
        return self.row_match[self.row_ind]

    def __iter__(self) -> Iterator[Any]:
        yield self.row_ind
        yield self.col_ind

    def vertex_cover(self) -> tuple[Any, Any]:
        """A smallest vertex cover (König 1931): row and column numbers, increasing.

        Every entry of the matrix lies in one of these rows or columns, and together they are `size` many; as no
        matching is larger than a cover, that proves the matching maximum.
        """
        matched = self.row_match >= 0
        # Index -1 of a free row reads some column; `matched` masks it.
        row_in_forest = self.reached_columns[self.row_match] if len(self.reached_columns) else matched
        return (matched & ~row_in_forest).nonzero()[0], self.reached_columns.nonzero()[0]

    def __repr__(self) -> str:
        rows, columns = len(self.row_match), len(self.col_match)
        return f"<Matching of {self.size} edges between {rows} rows and {columns} columns>"
