"""A whole problem on one rank of the host, read some rows at a time: windows of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backends.block_passes import HeldRows, Near
from ..problems.limits import RowsOfCosts, blocks_of
from .margins import ROUNDINGS
from .part import Cut, Part, Places

Triples = tuple[Any, Any, Any]
"""Rows and columns in the problem, and what they cost."""


class WholePart(Part):
    """The part of a rank that has all rows, and reads some at a time."""

    def __init__(self, block: RowsOfCosts, shape: tuple[int, int]) -> None:
        super().__init__(block, Cut(slice(0, shape[0]), slice(0, shape[1]), shape))
        self.passes = RowPasses(self)

    def reduced(self, rows: Any, v: Any) -> Any:
        """A copy of what some rows cost, less the duals of the columns."""
        raise NotImplementedError

    def places(self, found: list[Triples]) -> Places:
        """All triples that were found, as `by_core` takes them."""
        none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.dual_type)
        rows, columns, values = (np.concatenate(arrays) for arrays in zip(none, *found, strict=True))
        keys = rows * self.shape[1] + columns
        order = keys.argsort(kind="stable")
        return keys[order], values[order]


class RowPasses:
    """The passes of `classical` over a part that is read some rows at a time."""

    def __init__(self, part: WholePart) -> None:
        self._part = part

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]:
        least = np.full(len(rows), self._part.far, self._part.dual_type)
        nearest = np.zeros(len(rows), np.int32)
        for some, reduced in self._slacks(rows, np.zeros(self._part.shape[0], self._part.dual_type), v, covered):
            nearest[some] = reduced.argmin(axis=1)
            least[some] = reduced[np.arange(len(reduced)), nearest[some]]
        return least, nearest

    def entries_up_to(self, most: Any, held: HeldRows, room: int) -> Near:
        part, places, slacks, number = self._part, [np.empty(0, np.int64)], [np.empty(0, self._part.dual_type)], 0
        rows, u, v, _ = held
        for some, slack in self._slacks(*held):
            bound: Any = most
            if part.dual_type is np.float64:
                bound = bound + ROUNDINGS * (abs(u[rows[some], None]) + abs(v))
            at, columns = ((slack <= bound) & (slack < part.far)).nonzero()
            if number < room:
                places.append(rows[some][at].astype(np.int64) * part.shape[1] + columns)
                slacks.append(slack[at, columns])
            number += len(at)
        return Near(np.concatenate(places)[:room], np.concatenate(slacks)[:room], number)

    def _slacks(self, rows: Any, u: Any, v: Any, covered: Any) -> Iterator[tuple[slice, Any]]:
        """Slices of a list of rows, each with cost - v - u of its rows; far in covered columns."""
        for some in blocks_of((len(rows), self._part.shape[1]), "cpu"):
            slack = self._part.reduced(rows[some], v)
            slack -= u[rows[some], None]
            if covered is not None:
                slack[:, covered > 0] = self._part.far
            yield some, slack
