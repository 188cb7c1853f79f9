"""The classical variant of the Hungarian algorithm on several ranks, as in section 5 of Date and Nagi 2016.

    1  Initialization     each rank holds some rows of the costs (of a tall matrix, which is transposed, some columns)
    2  Initial reduction  each rank finds its minima of rows, then of columns; the least of all ranks are the duals
    3  Optimality check   every rank knows all pairs, so it needs no message
    4  Search             each rank lists its tight edges, the root gathers the lists; forward, reverse and augmentation
                          passes run on the root alone: that is `gmatch.max_matching`, along the tight edges
    5  Dual update        each rank finds the least slack between its rows of the forest and the columns outside it; the
                          least of all ranks updates the duals everywhere

Three things differ.

- The paper compresses the whole matrix for each search. Here the root keeps its lists, and each rank keeps the least
  slack of each row. It reads only rows that are new in the forest, or whose nearest column has joined the forest.
- A dual step leaves all edges of the forest tight, so the forest grows by the new edges. It is searched for paths anew
  only once a new edge has reached a free column.
- A search goes on until no path is left, since nothing that other ranks know changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import _native
from ..arrays import to_host
from ..backends.block_passes import HeldRows
from ..cardinality.matching import max_matching
from .found import Found
from .part import Part
from .ranks import ROOT, Ranks, gathered_keys, of_root, reduced


def classical(ranks: Ranks, part: Part, v: Any = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    O(n**2 m / ranks) work at worst on each rank, O(n + m) memory, and on the root the tight edges.
    """
    n, m = part.shape
    found = Found(np.full(n, -1, np.int32), *reduced_duals(ranks, part, v))
    u, v = found.u, found.v
    impossible = u == part.far
    if impossible.any():
        found.witness = _first_alone(impossible), np.zeros(m, np.bool_)
        return found
    tight, slacks = TightEdges(part.shape), LeastSlacks(part)
    _gather_tight(ranks, tight, found.clocked("price", partial(slacks.tight_from_the_start, u, v)))
    while True:
        covered, in_forest = _search(ranks, tight, found)
        if not in_forest.any():
            return found
        least = np.full(1, part.far, part.dual_type)
        theta = reduced(ranks, "min", least, found.clocked("price", partial(slacks.least, u, v, in_forest, covered)))[0]
        if theta == part.far:
            found.witness = in_forest, covered
            return found
        _gather_tight(ranks, tight, found.clocked("price", partial(slacks.within, theta, u, v)))
        u[in_forest] += theta
        v[covered] -= theta
        found.counts["dual_steps"] += 1
        if ranks.rank == ROOT:
            tight.drop_slack()


def reduced_duals(ranks: Ranks, part: Part, v: Any = None) -> tuple[Any, Any]:
    """Duals from minima of rows, and of columns in square problems. With given v, from minima of rows alone.

    The dual of a row without allowed pairs is far.
    """
    n, m = part.shape
    start = np.zeros(m, part.dual_type) if v is None else v.astype(part.dual_type)
    far_rows, far_columns = (np.full(length, part.far, part.dual_type) for length in (n, m))
    u = reduced(ranks, "min", far_rows, lambda: part.least_of_rows(start))
    if n == m and v is None and not (u == part.far).any():
        least = reduced(ranks, "min", far_columns, lambda: part.least_of_columns(u))
        start = np.where(least == part.far, 0, least).astype(part.dual_type)
    return u, start


def _first_alone(rows: Any) -> Any:
    alone = np.zeros(len(rows), np.bool_)
    alone[rows.argmax()] = True
    return alone


def _gather_tight(ranks: Ranks, tight: TightEdges, new: Callable[[], Any]) -> None:
    """Sends new tight edges of all ranks to the root, which adds them to its adjacency lists."""
    keys = gathered_keys(ranks, new)
    if ranks.rank == ROOT:
        tight.add(keys)


def _search(ranks: Ranks, tight: TightEdges, found: Found) -> tuple[Any, Any]:
    """Passes of the root along all tight edges. Returns the covered columns and the forest's rows, on all ranks."""
    n, m = tight.shape
    told = of_root(ranks, n + m + 3, np.int32, found.clocked("search", partial(tight.matched, found.row_match)))
    found.row_match, reached, counts = told[:n], told[n : n + m], told[n + m :].tolist()
    found.counts.update(dict(zip(("searches", "phases", "levels"), counts, strict=True)))
    covered = reached > 0
    in_forest = found.row_match < 0
    matched = (~in_forest).nonzero()[0]
    if in_forest.any():
        in_forest[matched] = covered[found.row_match[matched]]
    return covered, in_forest


class TightEdges:
    """The adjacency lists of the root and the forest along them, in C++; empty on other ranks.

    They change in the next search. An error of the root in that search is raised by all ranks.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._forest: Any = None
        self._new: Any = np.empty(0, np.int64)  # row * columns + column
        self._has_stepped = False

    def add(self, keys: Any) -> None:
        """Edges that have become tight."""
        self._new = keys

    def drop_slack(self) -> None:
        """Notes a dual step: edges between rows outside the forest and columns inside it are slack now."""
        self._has_stepped = True

    def matched(self, row_match: Any) -> Any:
        """A largest matching along the edges, the columns it reaches from free rows; searches, phases and levels."""
        if self._forest is None:
            self._forest = _native.TightForest(*self.shape)
        if self._has_stepped:
            self._forest.drop_slack()
        if self._forest.grow(self._new):
            covered = np.empty(self.shape[1], np.int32)
            self._forest.covered(covered)
            return np.concatenate([row_match, covered, (0, 0, 0)])
        indptr = np.empty(self.shape[0] + 1, np.int32)
        columns = self._forest.list(indptr)
        matching = max_matching((indptr, columns, self.shape), initial=row_match)
        self._forest.begin(matching.row_match, matching.reached_columns.view(np.uint8))
        counts = 1, matching.stats["phases"], matching.stats["levels"]
        return np.concatenate([matching.row_match, matching.reached_columns, counts])


class LeastSlacks:
    """The least slack of each row of this rank to columns outside the forest: Algorithm 7, but rows are read once.

    The least slack of a row stays known as long as the row stays in the forest, the forest loses no column, and the
    column with that slack stays outside. Each dual step lowers the slack by what it adds to the dual of the row.

    The slacks lie on the host, even if the costs lie on a GPU. A step makes two passes over costs and about thirty
    operations on vectors, and on a GPU each of these would be a launch.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        height, width = part.extent
        self._least = np.full(height, part.far, part.dual_type)
        self._nearest = np.zeros(height, np.int32)
        self._known = np.zeros(height, np.bool_)
        self._covered = np.zeros(width, np.bool_)

    def tight_from_the_start(self, u: Any, v: Any) -> Any:
        """All tight edges by reduced duals, as row * columns + column of the problem, on the host."""
        return self._up_to(0, np.arange(len(self._least), dtype=np.int32), u, v, False)

    def least(self, u: Any, v: Any, in_forest: Any, covered: Any) -> Any:
        """The least slack of all rows of the forest; far if no edge leaves the forest."""
        part = self._part
        own_rows, own_columns = in_forest[part.rows], covered[part.columns]
        if (self._covered & ~own_columns).any():
            self._known[:] = False
        self._covered = own_columns
        if 0 in part.extent:
            return part.far
        self._known &= own_rows & ~own_columns[self._nearest]
        self._read((own_rows & ~self._known).nonzero()[0].astype(np.int32), u, v)
        self._known |= own_rows
        return self._least.min(initial=part.far, where=own_rows)

    def within(self, theta: Any, u: Any, v: Any) -> Any:
        """The edges that a dual step makes tight; at least one if theta is the least slack of this rank."""
        rows = (self._known & (self._least <= theta)).nonzero()[0].astype(np.int32)
        edges = self._up_to(theta, rows, u, v, True)
        self._least[self._known & (self._least < self._part.far)] -= theta
        return edges

    def _read(self, rows: Any, u: Any, v: Any) -> None:
        if not len(rows):
            return
        part = self._part
        own_v, is_covered = part.here(v[part.columns]), part.here(self._covered.view(np.uint8))
        least, self._nearest[rows] = map(to_host, part.passes.least_of_rows(part.here(rows), own_v, is_covered))
        self._least[rows] = np.where(least < part.far, np.maximum(least - u[part.rows][rows], 0), part.far)

    def _up_to(self, most: Any, rows: Any, u: Any, v: Any, least_too: bool) -> Any:
        """Edges of some rows with at most this slack, up to rounding; with `least_too` also each row's least one.

        The least slack was found before some dual steps, each of which was rounded.
        """
        if not len(rows):
            return np.empty(0, np.int64)
        part = self._part
        held = HeldRows(part.here(rows), *part.own(u, v), part.here(self._covered.view(np.uint8)))
        return to_host(part.numbered(part.passes.entries_up_to(most, held, least_too)))
