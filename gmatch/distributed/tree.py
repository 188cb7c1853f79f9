"""The alternating tree variant of the Hungarian algorithm on several ranks, as in section 5 of Date and Nagi 2016.

    1  Initialization     each rank holds some columns of the costs, with all rows
    2  Initial reduction  as in `classical`
    3  Optimality check   every rank knows all pairs, so it needs no message
    4  Search             each rank expands the frontier's rows over its columns (Algorithm 4), which brings the next
                          rows; all ranks learn together how far the others came. After the last level the root
                          gathers the predecessors; reverse and augmentation passes run there
    5  Dual update        the least dual steps of all ranks' columns are combined, and update the duals everywhere
                          (Algorithm 9)

Three things differ, so that ranks seldom meet.

- The paper's ranks meet for each dual step, theta, and for each level between two steps. Here a column has a label: the
  sum of the dual steps after which it is tight. A column whose label is known brings its row at once. If another rank
  then finds a shorter path, the label falls, and the row is expanded again. So ranks go on alone, and meet when none of
  their rows is left up to the label that ends the phase. The paper's scheme is this one with a bound that rises from
  label to label.
- Paths cross to columns of other ranks. Each rank also knows WANTED edges of each row, with the cheapest columns of all
  ranks. With these it mostly finds the labels of other ranks' columns without a message. Other edges of these columns
  are read by their rank alone.
- The paper ends a phase at the first free column that is tight. Here a phase reaches as many free columns as half of
  the free rows, and augments along a path of each tree.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_host
from ..backends.block_passes import Depth, FarEdges, ForestState
from ..cardinality.matching import max_matching
from .classical import reduced_duals
from .found import Found
from .part import Cut, MatrixPart
from .ranks import Ranks, of_root, reduced

# The number of edges of a row that all ranks know. With 32, two and four ranks meet once for each phase of uniform
# costs (n = 3,000), and 23 and 45 times without. 64 gain nothing.
WANTED = 32
# The share of the free rows that a phase looks for free columns for. With all of them a phase expands twice as many
# rows, and phases are 1/5 fewer (uniform costs, n = 3,000).
SHARE = 2

# If a phase takes more levels, the duals have moved away from the listed edges, and they are listed anew.
LEVELS_OF_A_PHASE = 4


def tree(ranks: Ranks, part: MatrixPart, v: Any = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    O(n**2 m / ranks) work at worst on each rank, O(n + m) memory for each rank.
    """
    n, m = part.shape
    found = Found(np.full(n, -1, np.int32), *reduced_duals(ranks, part, v))
    impossible = found.u == part.far
    if impossible.any():
        alone = np.zeros(n, np.bool_)
        alone[impossible.argmax()] = True
        found.witness = alone, np.zeros(m, np.bool_)
        return found
    far, levels = _far_edges(ranks, part, found), 0
    while (found.row_match < 0).any():
        found.counts["phases"] += 1
        if found.counts["levels"] - levels > LEVELS_OF_A_PHASE:
            far = _far_edges(ranks, part, found)
        levels = found.counts["levels"]
        forest = Forest(part, found, far)
        theta = _grow(ranks, forest, found)
        if theta == part.far:
            found.witness = forest.row_labels() < part.far, forest.labels < part.far
            return found
        predecessors = _gathered(ranks, forest, theta)
        ends, collision = ends_of_trees(found.row_match, forest.labels, predecessors)
        if n < m:
            theta = min(theta, collision)
        beyond = forest.labels > theta
        beyond[forest.is_free] = True
        beyond[ends] = forest.labels[ends] > theta
        predecessors[beyond] = -1
        _update_duals(found, forest, theta)
        augmented = found.clocked("augment", partial(along_predecessors, found.row_match, predecessors))
        found.row_match = of_root(ranks, n, np.int32, augmented)
    return found


def _grow(ranks: Ranks, forest: Forest, found: Found) -> Any:
    """Levels until all ranks agree on all labels up to theta, the dual step of the phase. Returns theta.

    Theta is far if no edge leaves the forest. An error of one rank is raised by all.
    """
    far, bound = forest.part.far, forest.part.dual_type(0)
    while True:
        message, error = np.zeros(2 + len(forest.labels), forest.part.dual_type), None
        try:
            message[1], message[2:] = found.clocked("search", partial(forest.close, bound))()
        except Exception as raised:
            error = raised
            message[0] = 1
        messages = ranks.all_gather(message)
        if messages[:, 0].any():
            ranks.agree(error)
        found.counts["levels"] += 1
        if forest.take(messages[:, 2:], messages[:, 1], ranks.rank):
            return forest.theta if forest.theta < far else forest.farthest()
        bound = forest.theta


def _update_duals(found: Found, forest: Forest, theta: Any) -> None:
    """Algorithm 9: all dual steps of a phase at once, for the rows and columns that they reach."""
    found.counts["dual_steps"] += int(theta > 0)
    for duals, labels, sign in (found.u, forest.row_labels(), 1), (found.v, forest.labels, -1):
        inside = labels < theta
        duals[inside] += sign * (theta - labels[inside])


def _gathered(ranks: Ranks, forest: Forest, theta: Any) -> Any:
    """The predecessors of all columns up to theta. Each is known to one rank."""
    none = np.full(len(forest.labels), -1, np.int32)
    return reduced(ranks, "max", none, partial(forest.own_predecessors, ranks.rank, theta))


def ends_of_trees(row_match: Any, labels: Any, predecessors: Any) -> tuple[Any, Any]:
    """The nearest free column of each tree, and the least label of other free columns; far if there are none."""
    reached = predecessors >= 0
    before = np.arange(len(labels))
    before[reached] = row_match[predecessors[reached]]
    is_first = before < 0  # their predecessors are the roots
    before[is_first] = is_first.nonzero()[0]
    while True:
        farther = before[before]
        if (farther == before).all():
            break
        before = farther
    is_free = reached.copy()
    is_free[row_match[row_match >= 0]] = False
    free = is_free.nonzero()[0]
    free = free[labels[free].argsort(kind="stable")]
    _, firsts = np.unique(predecessors[before[free]], return_index=True)
    others = np.delete(free, firsts)
    return free[firsts], labels[others].min() if len(others) else labels.max()


def along_predecessors(row_match: Any, predecessors: Any) -> Any:
    """A larger matching, by one path of each tree. A largest matching along the trees' edges has no more pairs."""
    n, m = len(row_match), len(predecessors)
    matched, reached = (row_match >= 0).nonzero()[0], (predecessors >= 0).nonzero()[0]
    # A matched row joins the forest after its column, so it is not the column's predecessor: no edge is there twice.
    rows = np.concatenate([matched, predecessors[reached]])
    columns = np.concatenate([row_match[matched], reached])
    keys = rows * m + columns
    keys.sort()
    indptr = np.concatenate([[0], np.bincount(rows, minlength=n).cumsum()])
    return max_matching((indptr, (keys % m).astype(np.int32), (n, m)), initial=row_match).row_match


class Forest:
    """The alternating trees of a phase: what all ranks know of them, and this rank's state on the device of its costs.

    Attributes
    ----------
    labels : array, shape (m,)
        Of the columns, as all ranks have agreed; far if not reached.
    theta : int or float
        The label up to which the phase goes, as far as known: so many free columns are as near as are wanted. Far if
        fewer are reached.
    is_free : bool array, shape (m,)
    """

    def __init__(self, part: MatrixPart, found: Found, far: FarEdges) -> None:
        n, m = part.shape
        self.part = part
        self._row_match = found.row_match
        free_rows = found.row_match < 0
        self._mates = np.full(m, -1, np.int32)
        self._mates[found.row_match[~free_rows]] = (~free_rows).nonzero()[0]
        self.is_free = self._mates < 0
        self.labels = np.full(m, part.far, part.dual_type)
        self.theta = part.far
        self._finders = np.zeros(m, np.int32)  # the rank that knows the predecessor
        self._frontier = free_rows.nonzero()[0].astype(np.int32)
        self._wanted = -(-len(self._frontier) // SHARE)
        here, xp = part.here, part.xp
        expanded = np.where(free_rows, 0, self.part.far).astype(part.dual_type)
        self._state = ForestState(
            part.columns.start, here(self._mates), here(found.u), here(found.v), far,
            here(self.labels.copy()), xp.full(m, -1, np.int32), here(expanded),
        )  # fmt: skip

    def close(self, bound: Any) -> tuple[Any, Any]:
        """Algorithm 4 until no row up to the bound is left. Returns up to which label that is so, and the labels."""
        frontier, self._frontier = self._frontier, self._frontier[:0]
        threshold = self.part.passes.close(frontier, self._state, bound, self._wanted)
        return threshold, to_host(self._state.label)

    def take(self, labels: Any, thresholds: Any, rank: int) -> bool:
        """Takes the least of all ranks' labels. Whether all ranks have found them, and expanded all rows up to theta.

        If ranks tie, the lowest one is the finder of all columns, so that predecessors make no circle.
        """
        least = labels.min(axis=0)
        fallen = least < self.labels
        self._finders[fallen] = labels[:, fallen].argmin(axis=0)
        self.labels = least
        of_free = least[self.is_free]
        if len(of_free) >= self._wanted:
            self.theta = np.partition(of_free, self._wanted - 1)[self._wanted - 1]
        near = ~self.is_free & (least <= self.theta) & (least < self.part.far)
        if (labels[:, near] == least[near]).all() and (thresholds[:, None] >= least[near]).all():
            return True
        if (labels[rank] != least).any():
            self._state.label[...] = self.part.here(least)
        return False

    def farthest(self) -> Any:
        """The largest label of a free column; far if none is reached."""
        reached = self.labels[self.is_free & (self.labels < self.part.far)]
        return reached.max() if len(reached) else self.part.far

    def row_labels(self) -> Any:
        """The labels of all rows: 0 of free ones, the label of the pair's column of others."""
        return np.where(self._row_match < 0, 0, self.labels[self._row_match])

    def own_predecessors(self, rank: int, theta: Any) -> Any:
        """The predecessors of columns up to theta that this rank has found; -1 for others."""
        is_own = (self._finders == rank) & (self.labels <= theta)
        return np.where(is_own, to_host(self._state.predecessor), -1)


class _Listed(NamedTuple):
    """Edges of one rank: row * columns + column in the problem, and what they cost."""

    keys: Any
    costs: Any


def _far_edges(ranks: Ranks, part: MatrixPart, found: Found) -> FarEdges:
    """The edges of each row to columns of other ranks that this rank knows: see WANTED. An error is raised by all."""
    (n, m), xp = part.shape, part.xp
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
