"""The alternating tree variant of the Hungarian algorithm on several ranks, as in section 5 of Date and Nagi 2016.

    1  Initialization     each rank holds some columns of the costs, with all rows
    2  Initial reduction  as in `classical`
    3  Optimality check   every rank knows all pairs, so it needs no message
    4  Search             each rank expands the frontier's rows over its columns (Algorithm 4). The root gathers
                          how far the ranks came, and broadcasts it: the next frontier. It gathers the predecessors,
                          too; reverse and augmentation passes run on the root
    5  Dual update        the root combines the dual steps of all ranks' columns, theta (Algorithm 9), and broadcasts
                          the duals and the pairs

Three things differ, so that ranks seldom meet.

- The paper's ranks meet for each dual step, theta, and for each level between two steps. Here a column has a label: the
  sum of the dual steps after which it is tight. A column whose label is known brings its row at once. If another rank
  then finds a shorter path, the label falls, and the row is expanded again. So ranks go on alone, and meet when no row
  is left up to a bound. The first bound of a phase is the theta of the last phase. With a bound that rises from label
  to label this is the paper's scheme.
- Paths cross to columns of other ranks. Each rank also knows WANTED edges of each row, with the cheapest columns of all
  ranks. With these it mostly finds the labels of other ranks' columns without a message. Other edges of these columns
  are read by their rank alone.
- The paper ends a phase at the first free column that is tight. Here a phase reaches as many free columns as there
  are free rows, and augments along a path of each tree.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import to_host
from ..backends.block_passes import Depth, FarEdges, ForestState
from .classical import reduced_duals
from .found import Found
from .part import Cut, MatrixPart
from .ranks import ROOT, Ranks, of_root

# The number of edges of a row that all ranks know. In an emulation of two and four ranks (uniform costs, n = 3,000) a
# phase takes 1 level with 32, and 23 and 45 levels without. 64 gain nothing.
WANTED = 32
# If a phase takes more levels, the duals have moved away from the listed edges, and they are listed anew. Products of
# random numbers (n = 500, two ranks) take 50,783 levels with one list, and 1,652 with new lists.
LEVELS_OF_A_PHASE = 4


def tree(ranks: Ranks, part: MatrixPart, v: Any = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    A phase takes O(n m / ranks) work on each rank if it expands no row twice, and n times as much at worst. There are
    at most n phases. Each rank takes O(n + m) memory.
    """
    n, m = part.shape
    found = Found(np.full(n, -1, np.int32), *reduced_duals(ranks, part, v))
    impossible = found.u == part.far
    if impossible.any():
        alone = np.zeros(n, np.bool_)
        alone[impossible.argmax()] = True
        found.witness = alone, np.zeros(m, np.bool_)
        return found
    far, levels, bound = _far_edges(ranks, part, found), 0, part.dual_type(0)
    while (found.row_match < 0).any():
        found.counts["phases"] += 1
        if found.counts["levels"] - levels > LEVELS_OF_A_PHASE:
            far = _far_edges(ranks, part, found)
        levels = found.counts["levels"]
        said = _grow(ranks, part, found, partial(Forest, part, found, far), bound)
        if said.step == Step.NO_PATH:
            found.witness = said.u < part.far, said.v < part.far
            return found
        found.row_match, found.u, found.v, bound = said.row_match.astype(np.int32), said.u, said.v, said.bound
        found.counts["dual_steps"] += int(bound > 0)
    return found


class Step(IntEnum):
    """What all ranks do next."""

    GO_ON = 0  # up to the bound, from the labels of the columns in the place of v
    PAIR = 1  # take pairs and duals; the bound is theta
    NO_PATH = 2  # no free column is reached; labels of rows and columns in the place of u and v
    FAIL = 3  # a rank has raised an error


class _Said(NamedTuple):
    """What the root says after a level."""

    step: Step
    bound: Any
    row_match: Any
    u: Any
    v: Any


def _grow(ranks: Ranks, part: MatrixPart, found: Found, forest_of: Callable[[], Forest], bound: Any) -> _Said:
    """Levels until the root says that a phase ends. An error of one rank is raised by all."""
    n, m = part.shape
    length, root, forest = 2 + m + -(-m // 2), cache(partial(_Root, part, found)), cache(forest_of)
    gathered = np.empty(ranks.size * length if ranks.rank == ROOT else 0, part.dual_type)
    starts = [rank * length for rank in range(ranks.size + 1)]
    labels = None
    while True:
        message, error = np.zeros(length, part.dual_type), None
        try:
            with found.clock("search"):
                message[1], message[2 : 2 + m], predecessors = forest().close(bound, labels)
            message[2 + m :].view(np.int32)[:m] = predecessors
        except Exception as raised:
            error = raised
            message[0] = 1
        ranks.gather_rows(message, gathered, starts)
        answer = found.clocked("augment", lambda: root().answer(gathered.reshape(-1, length)))
        told = of_root(ranks, 2 + 2 * n + m, part.dual_type, answer)
        (step, bound), row_match, u, labels = np.split(told, np.cumsum([2, n, n]))
        found.counts["levels"] += 1
        if step == Step.FAIL:
            ranks.agree(error)
        if step != Step.GO_ON:
            return _Said(Step(int(step)), bound, row_match, u, labels)


class _Root:
    """The root's view of a phase: the least labels of all ranks, and their predecessors."""

    def __init__(self, part: MatrixPart, found: Found) -> None:
        n, m = part.shape
        self._far, self._found = part.far, found
        self._labels, self._predecessors = np.full(m, part.far, part.dual_type), np.full(m, -1, np.int32)
        matched = found.row_match >= 0
        self._is_free = np.ones(m, np.bool_)
        self._is_free[found.row_match[matched]] = False
        self._wanted = int(n - matched.sum())

    def answer(self, messages: Any) -> Any:
        """All that the root says: see `_Said`. A row of `messages` is the message of a rank."""
        m = len(self._labels)
        if messages[:, 0].any():
            return self._told(Step.FAIL, 0)
        theta = self._theta_of(messages[:, 2 : 2 + m], messages[:, 2 + m :].view(np.int32))
        if not self._is_found(messages, theta):
            return self._told(Step.GO_ON, theta, v=self._labels)
        if theta == self._far:
            reached = self._labels[self._is_free & (self._labels < self._far)]
            if not len(reached):
                return self._told(Step.NO_PATH, 0, u=self._row_labels(), v=self._labels)
            theta = reached.max()
        return self._augmented(theta)

    def _theta_of(self, labels: Any, predecessors: Any) -> Any:
        """Takes the labels of all ranks. Returns up to which label the phase goes; far if too few columns are reached.

        If ranks tie, the lowest one has found all columns, so that predecessors make no circle.
        """
        least = labels.min(axis=0)
        fallen = (least < self._labels).nonzero()[0]
        self._predecessors[fallen] = predecessors[labels[:, fallen].argmin(axis=0), fallen]
        self._labels = least
        of_free = least[self._is_free]
        if len(of_free) < self._wanted:
            return self._far
        return np.partition(of_free, self._wanted - 1)[self._wanted - 1]

    def _is_found(self, messages: Any, theta: Any) -> bool:
        """Whether all ranks have found these labels, and expanded all rows up to theta."""
        near = (~self._is_free & (self._labels <= theta) & (self._labels < self._far)).nonzero()[0]
        least = self._labels[near]
        return bool((messages[:, 2 + near] == least).all() and (messages[:, 1:2] >= least).all())

    def _augmented(self, theta: Any) -> Any:
        """The pairs along a path of each tree, and the duals after all dual steps of the phase (Algorithm 9).

        In a problem with more columns than rows a free column keeps its dual, unless it gets a pair.
        """
        found, labels, row_match = self._found, self._labels, self._found.row_match.copy()
        is_wide = len(row_match) < len(labels)
        theta = _native.augment_trees(row_match, labels, self._predecessors, theta.item(), is_wide)
        u = found.u + (theta - self._row_labels()).clip(0)
        return self._told(Step.PAIR, theta, row_match=row_match, u=u, v=found.v - (theta - labels).clip(0))

    def _row_labels(self) -> Any:
        """The labels of all rows: 0 of free ones, the label of the pair's column of others."""
        row_match = self._found.row_match
        return np.where(row_match < 0, 0, self._labels[row_match])

    def _told(self, step: Step, bound: Any, **parts: Any) -> Any:
        """The numbers of a `_Said`; zeros for parts that are not given."""
        n, m = len(self._found.u), len(self._labels)
        told = np.zeros(2 + 2 * n + m, self._labels.dtype)
        told[0], told[1] = step, bound
        for name, part in zip(("row_match", "u", "v"), np.split(told[2:], (n, 2 * n)), strict=True):
            part[...] = parts.get(name, 0)
        return told


class Forest:
    """The alternating trees of a phase, as this rank knows them: on the device of its costs."""

    def __init__(self, part: MatrixPart, found: Found, far: FarEdges) -> None:
        n, m = part.shape
        self._passes, self._here = part.passes, part.here
        free_rows = found.row_match < 0
        self._frontier = free_rows.nonzero()[0].astype(np.int32)
        self._wanted = len(self._frontier)
        # Two arrays go to the device, since each copy there takes a while.
        vertices, duals = np.full(2 * m, -1, np.int32), np.full(2 * (n + m), part.far, part.dual_type)
        vertices[found.row_match[~free_rows]] = (~free_rows).nonzero()[0]
        duals[:n], duals[n : n + m] = found.u, found.v
        duals[n + 2 * m :][free_rows] = 0
        vertices, duals = self._here(vertices), self._here(duals)
        u, v, label, expanded = (duals[begin:end] for begin, end in pairwise((0, n, n + m, n + 2 * m, 2 * (n + m))))
        self._state = ForestState(part.columns.start, vertices[:m], u, v, far, label, vertices[m:], expanded)

    def close(self, bound: Any, labels: Any) -> tuple[Any, Any, Any]:
        """Algorithm 4 until no row up to the bound is left. `labels` are the least of all ranks, or None at first.

        Returns up to which label that is so, and the labels and predecessors of all columns.
        """
        if labels is not None:
            self._state.label[...] = self._here(labels)
        frontier, self._frontier = self._frontier, self._frontier[:0]
        threshold = self._passes.close(frontier, self._state, bound, self._wanted)
        return threshold, to_host(self._state.label), to_host(self._state.predecessor)


class _Listed(NamedTuple):
    """Edges of one rank: row * columns + column in the problem, and what they cost."""

    keys: Any
    costs: Any


def _far_edges(ranks: Ranks, part: MatrixPart, found: Found) -> FarEdges:
    """The edges of each row to columns of other ranks that this rank knows: see WANTED. An error is raised by all."""
    xp = part.xp
    own = _Listed(xp.empty(0, np.int64), xp.empty(0, part.dual_type))
    note: int | Exception
    try:
        if part.costs.size and ranks.size > 1:
            own = _cheapest_edges(part, found)
        note = len(own.keys)
    except Exception as raised:
        note = raised
    lengths = ranks.agree(note)
    for rank in range(ranks.size if sum(lengths) else 0):
        gathered = [ranks.gather_lengths(each, lengths, rank) for each in own]
        if rank == ranks.rank:
            keys, costs = gathered
    if not sum(lengths):
        keys, costs = own
    edges: FarEdges = ranks.done_by_all(lambda: _of_others(part, keys, costs))
    return edges


def _of_others(part: MatrixPart, keys: Any, costs: Any) -> FarEdges:
    """The listed edges to columns of other ranks, by rows."""
    xp, (n, m) = part.xp, part.shape
    columns = keys % m
    is_far = (columns < part.columns.start) | (columns >= part.columns.stop)
    keys, costs = keys[is_far], costs[is_far]
    order = keys.argsort()
    keys, costs = keys[order], costs[order]
    begins = xp.searchsorted(keys, xp.arange(n + 1) * m).astype(np.int64)
    return FarEdges(begins, (keys % m).astype(np.int32), costs)


def _cheapest_edges(part: MatrixPart, found: Found) -> _Listed:
    """The edges of least slack of each row to this rank's columns: about its share of WANTED, and more if some tie."""
    xp, (n, width) = part.xp, part.extent
    u, v = part.own(found.u, found.v)
    picks = part.passes.price(part.all_rows(), v, Depth(0, part.share, part.limit))
    places, costs = picks.places, part.entries(picks.places) if picks.costs is None else picks.costs
    rows = places // width
    slacks = costs - v[places % width] - u[rows]
    at = xp.arange(len(places)) - xp.searchsorted(places, xp.arange(n) * width)[rows]
    wanted = -(-WANTED * width // part.shape[1])
    if len(places) and int(at.max()) >= wanted:
        of_rows = xp.full((n, int(at.max()) + 1), part.far, part.dual_type)
        of_rows[rows, at] = slacks
        of_rows.sort(axis=1)
        nearest = slacks <= of_rows[:, wanted - 1][rows]
        places, costs = places[nearest], costs[nearest]
    return _Listed(part.numbered(places), costs)


def split_by_columns(ranks: Ranks, part: MatrixPart) -> MatrixPart:
    """The problem split anew: each rank has all rows of its share of the columns, in a copy that is sent once."""
    n, m = part.shape
    shares = [rank * m // ranks.size for rank in range(ranks.size + 1)]
    own = part.costs[:0, :0]
    for rank, (first, end) in enumerate(zip(shares, shares[1:], strict=False)):
        gathered = ranks.gather_list(part.xp.ascontiguousarray(part.costs[:, first:end]).ravel(), rank)
        if gathered is not None:
            own = gathered.reshape(n, end - first)
    columns = slice(shares[ranks.rank], shares[ranks.rank + 1])
    return MatrixPart(own, Cut(slice(0, n), columns, part.shape), part.block, part.threads)


def with_rows_together(part: MatrixPart) -> MatrixPart:
    """A copy of the part in which the entries of a row lie side by side: the tree reads rows."""
    costs = part.xp.ascontiguousarray(part.costs)
    return MatrixPart(costs, Cut(part.rows, part.columns, part.shape), part.block, part.threads)
