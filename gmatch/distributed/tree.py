"""The alternating tree variant of the Hungarian algorithm on several ranks, as in section 5 of Date and Nagi 2016.

    1  Initialization     each rank holds some columns of the costs, with their slacks and predecessors
    2  Initial reduction  as in `classical`
    3  Optimality check   every rank knows all pairs, so it needs no message
    4  Search             each rank expands the frontier's rows over its columns (Algorithm 4); columns that turn tight
                          bring their rows to the next frontier, which all ranks learn together. After the last level
                          the root gathers the predecessors; reverse and augmentation passes run there
    5  Dual update        the least slack of all ranks' columns updates the duals everywhere (Algorithm 9)

Three things differ.

- The paper gathers the rows of a frontier as lists and broadcasts them. Here each rank sends all others a bitmap of
  n / 8 bytes, with its least slack in the same message.
- The paper's ranks meet at each level of the trees. Here a rank first expands all rows that its own columns bring, and
  then meets the others: once for each time that a path goes from columns of one rank to columns of another.
- A column that a dual update makes tight joins the forest at once, since its slack is known. The paper expands its
  predecessor again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_host
from ..backends.block_passes import ForestState
from ..cardinality.matching import max_matching
from .classical import reduced_duals
from .found import Found
from .part import Cut, MatrixPart
from .ranks import Ranks, of_root


def tree(ranks: Ranks, part: MatrixPart, v: Any = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    O(n**2 m / ranks) work at worst on each rank, O(n + m) memory.
    """
    n, m = part.shape
    u, v = reduced_duals(ranks, part, v)
    found = Found(np.full(n, -1, np.int32), u, v)
    impossible = u == part.far
    if impossible.any():
        alone = np.zeros(n, np.bool_)
        alone[impossible.argmax()] = True
        found.witness = alone, np.zeros(m, np.bool_)
        return found
    starts = np.cumsum([0, *ranks.agree(part.costs.shape[1])]).tolist()
    while (found.row_match < 0).any():
        found.counts["phases"] += 1
        forest = Forest(part, found)
        if not _grow(ranks, forest, found):
            found.witness = forest.in_forest, _of_all(ranks, forest.covered, starts) > 0
            return found
        found.v[part.columns] = forest.v
        _augment(ranks, forest, found, starts)
    found.v = _of_all(ranks, found.v[part.columns], starts)
    return found


def _grow(ranks: Ranks, forest: Forest, found: Found) -> bool:
    """Levels and dual updates until a free column is reached; False if no edge leaves the forest."""
    work = partial(forest.close, (found.row_match < 0).nonzero()[0])
    while True:
        said = _contract(ranks, forest, found, work)
        while said.frontier is not None:
            said = _contract(ranks, forest, found, partial(forest.close, said.frontier))
        if said.ends:
            return True
        if said.least == forest.part.far:
            return False
        found.counts["dual_steps"] += 1
        found.u[forest.in_forest] += said.least
        work = partial(forest.lower, said.least, found.u)


class _Said(NamedTuple):
    """What the ranks have told each other of their forests."""

    frontier: Any  # the rows that other ranks have reached; None if no rank has reached any
    ends: bool  # whether any tight column is free
    least: Any  # the least slack outside the forest, where no rank has reached any row


def _contract(ranks: Ranks, forest: Forest, found: Found, work: Callable[[], tuple[Any, int, Any]]) -> _Said:
    """What all ranks have reached since the last meeting. Each rank sends one message: a bitmap and two numbers.

    An error of one rank is raised by all.
    """
    n, dual_type = len(forest.in_forest), forest.part.dual_type
    brought: Any = None
    message, error = np.zeros(3 + -(-n // 64), np.int64), None
    try:
        brought, message[1], message[2:3].view(dual_type)[0] = found.clocked("search", work)()
        message[3:].view(np.uint8)[: -(-n // 8)] = np.packbits(brought)
    except Exception as raised:
        error = raised
        message[0] = 1
    messages = ranks.all_gather(message)
    together = np.bitwise_or.reduce(messages, axis=0)
    if together[0] != 0:
        ranks.agree(error)
    found.counts["levels"] += 1
    if not together[3:].any():
        return _Said(None, bool(together[1]), messages[:, 2].copy().view(dual_type).min())
    reached = np.unpackbits(together[3:].view(np.uint8))[:n]
    np.logical_or(forest.in_forest, reached, out=forest.in_forest)
    return _Said((reached > brought).nonzero()[0], bool(together[1]), forest.part.far)


def _of_all(ranks: Ranks, own: Any, starts: list[int]) -> Any:
    """One vector of all columns, on all ranks, from what each rank knows of its own columns."""
    whole = np.zeros(starts[-1], own.dtype)
    ranks.gather_rows(own, whole, starts)
    ranks.broadcast(whole)
    return whole


def _augment(ranks: Ranks, forest: Forest, found: Found, starts: list[int]) -> None:
    """The reverse and augmentation passes, on the root, along the predecessors of all columns."""
    predecessors = np.full(starts[-1], -1, np.int32)
    ranks.gather_rows(forest.predecessors_in_forest(), predecessors, starts)
    n = len(found.row_match)
    augmented = found.clocked("augment", partial(along_predecessors, found.row_match, predecessors))
    found.row_match = of_root(ranks, n, np.int32, augmented)


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
    """The alternating trees of a phase: rows of all ranks and columns of this rank, on the device of its costs."""

    def __init__(self, part: MatrixPart, found: Found) -> None:
        xp, width = part.xp, part.costs.shape[1]
        self.part = part
        self.in_forest = found.row_match < 0
        mates = np.full(part.shape[1], -1, np.int32)
        matched = (~self.in_forest).nonzero()[0]
        mates[found.row_match[matched]] = matched
        self._state = ForestState(
            part.here(mates[part.columns]), part.here(found.v[part.columns]), xp.full(width, part.far, part.dual_type),
            xp.full(width, -1, np.int32), xp.zeros(width, np.uint8),
        )  # fmt: skip
        self._u = part.here(found.u)

    @property
    def v(self) -> Any:
        """Duals of this rank's columns."""
        return to_host(self._state.v)

    @property
    def covered(self) -> Any:
        """0 or 1 of each of this rank's columns: whether it is tight, matched, and in the forest."""
        return to_host(self._state.covered)

    def close(self, frontier: Any, theta: Any = 0) -> tuple[Any, int, Any]:
        """Algorithm 9 for the columns if theta is not 0, then Algorithm 4 until no column of this rank adds to it.

        The rows of a frontier lower slacks of columns outside the forest, and become their predecessors. Then tight
        matched columns join the forest, and bring the next frontier. Returns three things: the rows that were brought
        (0 or 1 of each), how many tight columns are free, and the least slack outside the forest. The last is far if
        rows were brought, since other ranks go on with these.
        """
        closed = self.part.passes.close(frontier.astype(np.int32), self._u, self._state, theta)
        return closed.brought, closed.ends, self.part.far if closed.brought.any() else closed.least

    def lower(self, theta: Any, u: Any) -> tuple[Any, int, Any]:
        """A dual step: `u` are the new duals of the rows. Returns what `close` returns."""
        self._u = self.part.here(u)
        return self.close(np.empty(0, np.int32), theta)

    def predecessors_in_forest(self) -> Any:
        """The predecessors of tight columns, covered or free; -1 for others."""
        tight = (self._state.covered > 0) | (self._state.slack == 0)
        return to_host(self.part.xp.where(tight, self._state.predecessor, -1).astype(np.int32))


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
