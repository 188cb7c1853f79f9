"""The classical variant of the Hungarian algorithm on several ranks, as in section 5 of Date and Nagi 2016.

    1  Initialization     each rank holds some rows of the costs (of a tall matrix, which is transposed, some columns)
    2  Initial reduction  each rank finds its minima of rows, then of columns; the least of all ranks are the duals
    3  Optimality check   every rank knows all pairs, so it needs no message
    4  Search             each rank compresses its rows, and the root gathers the lists; forward, reverse and
                          augmentation passes run on the root alone
    5  Dual update        each rank finds the least slack between its rows of the forest and the columns outside it; the
                          least of all ranks updates the duals everywhere

One thing differs. The paper's lists hold the tight edges, so all ranks meet for each dual step. Here the lists hold a
band: all edges up to a small slack, the width of the band. The root takes dual steps and searches in the band alone, by
the solver of sparse costs, and raises no dual of a row by more than the width. Edges outside the band have more slack
than that, so none of them becomes tight. Then the ranks meet for one dual step and the next band. A row whose path
would be longer than the width takes a way out: a column for this row alone, which costs the width. It is then free
again. With bands of width 0 this is the paper's scheme.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_host
from ..assignment.plan import Plan
from ..assignment.programs import run
from ..backends.block_passes import HeldRows, Near
from ..backends.protocol import AssignmentStart, Start
from ..cardinality.matching import max_matching
from ..methods import Tree
from ..problems.sparse import SparseCosts
from .found import COUNTED, Found
from .margins import ROUNDINGS
from .part import Part
from .ranks import Ranks, of_root, reduced

# The first band has WANTED edges in the median one of SAMPLED rows of a rank. With 32 edges a row, uniform costs of n =
# 500 to 20,000 need one band (benchmarks/log/several_gpus.md, "Bands of slacks, and a closing of the forest in one
# launch").
WANTED, SAMPLED = 32, 8
# The root has room for ROOM edges a row on average, and for all tight edges. The width of a band with more edges is
# divided by NARROWER. It becomes 0 if it falls below LEAST_WIDTH times the width that was tried first. The next band is
# WIDER times as wide if there is room for WIDER times as many edges. Products (i + 1) (j + 1) of n = 500 take 158
# bands, and 847 if all bands have one width.
ROOM, NARROWER, LEAST_WIDTH, WIDER = 128, 8, 2.0**-48, 4


def classical(ranks: Ranks, part: Part, plan: Plan, v: Any = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    `plan` says where the root searches. O(n**2 m / ranks) work at worst on each rank, O(n + m) memory, and on the root
    the edges of a band.
    """
    n, m = part.shape
    found = Found(np.full(n, -1, np.int32), *reduced_duals(ranks, part, v))
    impossible = found.u == part.far
    if impossible.any():
        found.witness = _first_alone(impossible), np.zeros(m, np.bool_)
        return found
    root = _Root(part, plan)
    forest = _Forest(np.zeros(n, np.bool_), np.zeros(m, np.bool_))
    band = _Band(0, 0, None, None)
    while True:
        next_step = found.clocked("price", partial(_next_step, part, found, forest, band))
        theta, width = reduced(ranks, "min", np.full(2, part.far, part.dual_type), next_step)
        if forest.rows.any():
            if theta == part.far:
                found.witness = forest.rows, forest.columns
                return found
            found.u[forest.rows] += theta
            found.v[forest.columns] -= theta
            found.counts["dual_steps"] += 1
        if band.width > 0:
            width = band.next_width(n)
        band = _gathered(ranks, part, found, width if width < part.far else 0)
        search = found.clocked("search", partial(root.search, found, band))
        told = of_root(ranks, 2 * (n + m) + len(COUNTED), part.dual_type, search)
        found.counts["bands"] += 1
        forest = _take(found, told)
        if not forest.rows.any():
            return found


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


class _Forest(NamedTuple):
    """What alternating paths along tight edges reach from free rows: bool arrays."""

    rows: Any
    columns: Any


class _Edges(NamedTuple):
    """Edges with their slacks, by rows."""

    rows: Any
    columns: Any
    slacks: Any


class _Band(NamedTuple):
    """The edges of all ranks whose slack is at most the width. Ranks other than the root have only width and number."""

    width: Any
    number: int
    keys: Any  # row * columns + column
    slacks: Any

    def next_width(self, rows: int) -> Any:
        """The width of this band, or WIDER times it if the root has room."""
        return self.width * WIDER if self.number * WIDER <= rows * ROOM else self.width


def _take(found: Found, told: Any) -> _Forest:
    """Takes the pairs, duals and counts that the root tells, and returns its forest."""
    n, m = len(found.u), len(found.v)
    row_match, reached, found.u, found.v, counts = np.split(told, np.cumsum([n, m, n, m]))
    found.row_match = row_match.astype(np.int32)
    found.counts.update(dict(zip(COUNTED, counts.astype(np.int64).tolist(), strict=True)))
    covered = reached > 0
    in_forest = found.row_match < 0
    matched = (~in_forest).nonzero()[0]
    if in_forest.any():
        in_forest[matched] = covered[found.row_match[matched]]
    return _Forest(in_forest, covered)


def _next_step(part: Part, found: Found, forest: _Forest, band: _Band) -> tuple[Any, Any]:
    """The least slack of this rank between the forest and the columns outside it, and the width of the next band.

    The slack is far if no edge leaves the forest. The width is far if it follows from the last band, or if rows tie.
    """
    theta = width = part.far
    if 0 in part.extent:
        return theta, width
    rows = forest.rows[part.rows].nonzero()[0].astype(np.int32)
    if len(rows):
        covered = part.here(forest.columns[part.columns].view(np.uint8))
        least = to_host(part.passes.least_of_rows(part.here(rows), part.here(found.v[part.columns]), covered)[0])
        slacks = (least - found.u[part.rows][rows])[least < part.far]
        theta = max(slacks.min(), 0) if len(slacks) else theta
    if band.width == 0:
        width = _width_of_sample(part, found) or part.far  # rows of other ranks may not tie
    return theta, width


def _width_of_sample(part: Part, found: Found) -> Any:
    """The width of a band that has WANTED edges in the median one of SAMPLED rows."""
    height, width = part.extent
    rows = np.arange(min(SAMPLED, height)) * height // min(SAMPLED, height)
    slacks = to_host(part.values(part.here(rows)))
    is_allowed = slacks < part.far
    slacks -= found.v[part.columns]
    slacks -= found.u[part.rows][rows, None]
    slacks[~is_allowed] = part.far
    wanted = min(WANTED * width // part.shape[1], width - 1)
    nearest = np.partition(slacks, wanted)[:, : wanted + 1]
    of_rows = np.where(nearest < part.far, nearest, 0).max(axis=1)
    return max(np.sort(of_rows)[len(rows) // 2], 0)


def _gathered(ranks: Ranks, part: Part, found: Found, width: Any) -> _Band:
    """The band of this width on the root, or a narrower one if there is no room for it."""
    if part.dual_type is np.int64:  # 64 bits must hold sums along a path of all pairs of a doubled band: see `sums_fit`
        width = min(width, part.far // (2 * (33 + 8 * sum(part.shape))))
    room, least_width = ROOM * part.shape[0], width * LEAST_WIDTH
    while True:
        near: Near = Near(None, None, 0)
        note: int | Exception
        try:
            with found.clock("price"):
                near = _near(part, found, width, room)
            note = near.number
        except Exception as raised:
            note = raised
        numbers = ranks.agree(note)
        if sum(numbers) <= room:
            return _Band(width, sum(numbers), *(ranks.gather_lengths(each, numbers) for each in near[:2]))
        if width == 0:
            room = sum(numbers)
        width = part.dual_type(width / NARROWER)
        if width < least_width:
            width = 0


def _near(part: Part, found: Found, width: Any, room: int) -> Near:
    """The entries of this rank with at most this slack, by their places in the problem."""
    height, columns = part.extent
    held = HeldRows(part.all_rows(), *part.own(found.u, found.v))
    near = part.passes.entries_up_to(width, held, min(room, height * columns))
    return near._replace(places=part.numbered(near.places))


def _by_rows(keys: Any, slacks: Any) -> tuple[Any, Any]:
    if bool((keys[1:] > keys[:-1]).all()):
        return keys, slacks
    order = keys.argsort()
    return keys[order], slacks[order]


class _Root:
    """The search of the root, on the device of its costs."""

    def __init__(self, part: Part, plan: Plan) -> None:
        self._part, self._xp = part, part.xp
        self._plan = plan

    def search(self, found: Found, band: _Band) -> Any:
        """Dual steps and paths within the band. Returns the pairs, the columns of the forest, u, v and counts."""
        self._counts = np.zeros(len(COUNTED), np.int64)
        edges, row_match = self._edges(band, found.row_match), found.row_match
        u, v = self._part.here(found.u), self._part.here(found.v)
        edges = edges._replace(slacks=self._without_rounding(edges, edges.slacks, u, v))
        row_match, reached = self._passes(edges, row_match)
        if band.width > 0 and (row_match < 0).any():
            row_match, more_u, more_v = self._within(edges, band.width, row_match, found.v)
            u, v = u + more_u, v + more_v
            slacks = edges.slacks - more_u[edges.rows] - more_v[edges.columns]
            edges = edges._replace(slacks=self._without_rounding(edges, slacks, u, v))
            row_match, reached = self._passes(edges, row_match)
        return np.concatenate([row_match, reached, to_host(u), to_host(v), self._counts])

    def _count(self, counters: Any) -> None:
        self._counts += np.array([counters.get(name, 0) for name in COUNTED])

    def _edges(self, band: _Band, row_match: Any) -> _Edges:
        """The edges of the band and the pairs, by rows.

        Pairs have no slack, whatever the rounding of many dual steps has added to it. It may have put them outside.
        """
        keys, slacks = _by_rows(band.keys, band.slacks)  # a GPU lists in any order; some ranks may have all rows
        matched = (row_match >= 0).nonzero()[0]
        pairs = self._part.here(matched * self._part.shape[1] + row_match[matched])
        begins, ends = (self._xp.searchsorted(keys, pairs, side=side) for side in ("left", "right"))
        slacks[begins[begins < ends]] = 0
        outside = pairs[begins == ends]
        if len(outside):
            nothing = self._xp.zeros(len(outside), slacks.dtype)
            keys, slacks = _by_rows(self._xp.append(keys, outside), self._xp.append(slacks, nothing))
        rows, columns = divmod(keys, self._part.shape[1])
        return _Edges(rows, columns, slacks)

    def _without_rounding(self, edges: _Edges, slacks: Any, u: Any, v: Any) -> Any:
        """The slacks, 0 where they may be roundings."""
        bound = 0
        if self._part.dual_type is np.float64:
            bound = ROUNDINGS * (abs(u[edges.rows]) + abs(v[edges.columns]))
        return self._xp.where(slacks <= bound, 0, slacks)

    def _passes(self, edges: _Edges, row_match: Any) -> tuple[Any, Any]:
        """The paper's passes along tight edges. Returns the pairs, and the columns that free rows reach."""
        n, m = self._part.shape
        if not (row_match < 0).any():
            return row_match, np.zeros(m, np.bool_)
        is_pair = self._part.here(row_match)[edges.rows] == edges.columns
        tight = (edges.slacks == 0) | is_pair
        rows, columns = to_host(edges.rows[tight]), to_host(edges.columns[tight])
        indptr = np.concatenate([[0], np.bincount(rows, minlength=n).cumsum()])
        matching = max_matching((indptr, columns.astype(np.int32), (n, m)), initial=row_match)
        self._count(matching.stats)
        return matching.row_match, matching.reached_columns

    def _within(self, edges: _Edges, width: Any, row_match: Any, v: Any) -> tuple[Any, Any, Any]:
        """The cheapest assignment by slacks, in which a row may take a way out that costs the width.

        Returns its pairs without the ways out, and the duals of rows and of columns.
        """
        xp, (n, m) = self._xp, self._part.shape
        all_rows, number = xp.arange(n), len(edges.slacks)
        ends = xp.searchsorted(edges.rows, all_rows, side="right")
        ways_out, places = ends + all_rows, xp.arange(number) + edges.rows
        indices, slacks = xp.empty(number + n, np.int32), xp.empty(number + n, edges.slacks.dtype)
        indices[places], slacks[places] = edges.columns, edges.slacks
        indices[ways_out], slacks[ways_out] = m + all_rows, width
        indptr = xp.concatenate([xp.zeros(1, np.int64), ways_out + 1])
        index_type = np.int32 if number + n < 2**31 else np.int64
        costs = SparseCosts.of_checked((indptr.astype(index_type), indices, slacks), (n, m + n), 0, width, n)
        row_match, of_rows, of_columns = self._solved(costs, row_match, v)
        # A way out that is taken may have a dual below 0.
        return np.where(row_match < m, row_match, -1), of_rows.clip(None, width), of_columns

    def _solved(self, costs: SparseCosts, row_match: Any, v: Any) -> tuple[Any, Any, Any]:
        """The pairs of the slacks with ways out, on the host, and the duals of rows and of columns without ways out.

        If columns may stay free, the dual of a free column is 0 in the end. So columns with another dual must keep a
        pair. `Tree` frees no column that has one. Otherwise the search begins anew.
        """
        n, m = self._part.shape
        if n < m and v.any():
            given = Start(AssignmentStart.GIVEN, self._part.here(row_match))
            solution = run(costs, self._plan._replace(method=Tree("nearest")), given)
        else:
            solution = run(costs, self._plan)
        self._count(solution.counters)
        return to_host(solution.row_match), solution.u, solution.v[:m]
