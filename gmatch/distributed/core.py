"""Pricing on several ranks: the root solves a sparse core, each rank holds its part of the matrix against the duals.

    1  start    duals of the columns from minima, combined; or those that were given
    2  price    each rank picks the best entries of its rows; the root gathers them: the core
    3  solve    the root solves the core by gmatch's own solver of sparse costs, and broadcasts u and v
    4  reprice  each rank finds the entries with cost < u + v in its part; the best of them join the core
    4' widen    where the core has no assignment, its witness (Hall 1935) goes to all: each rank offers the best
                entries of the witness's rows outside its columns. If there is none, the witness holds for the matrix.
                The first time the prices have misled, and each rank prices its rows again, by soft minima
    5           until no rank finds any: then the duals are feasible in the whole matrix, and its assignment is optimal

No rank ever holds the matrix. Entries travel as row * m + column with what they cost. Where this does not come to an
end, `classical` goes on from the duals of the last core.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..assignment.partial import cover_of_allowed_pairs
from ..assignment.programs import Plan, Solution, run
from ..assignment.request import AssignmentStart, Start
from ..problems.sparse import SparseCosts
from .blocks import ROUNDINGS, Part, Places, joined
from .classical import classical
from .found import COUNTED, Found
from .ranks import ROOT, Ranks, of_root, reduced
from .soft import soft_prices

# A row is priced by the best two of its entries in each of 32 parts of the columns: 64 entries of a row are enough for
# most matrices, and neighbours that are alike do not take all places.
STRATA, OF_A_STRATUM = 32, 2
# Of the searches on the root.
COUNTED_ON_ROOT = (*COUNTED, "rows_scanned", "edges_inspected")
# More rounds than any family of the tests takes by twice: what is not proven by then has no use for a core.
MOST_ROUNDS = 100


class Answer(IntEnum):
    """What the root says after a search."""

    SOLVED = 0
    SHORT = 1  # the core leaves rows free, and has a witness
    STUCK = 2  # nothing joined the core that was not in it


class Passes(NamedTuple):
    """The passes over a part, by which entries join the core: see the functions of these names below."""

    start: Callable[..., Any]
    price: Callable[..., Places]
    overpriced: Callable[..., tuple[int, Places]]
    outside: Callable[..., tuple[int, Places]]


def by_core(ranks: Ranks, part: Part, plan: Plan, v: Any = None, passes: Passes | None = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    `passes` are those of another kind of part.
    """
    passes = passes or Passes(start, price, overpriced, outside)
    n, m = part.shape
    found = Found(np.full(n, -1, np.int32), np.zeros(n, part.dual_type), passes.start(ranks, part, v))
    core = _Core(part, plan, v)
    _join(ranks, core, ranks.done_by_all(partial(passes.price, part, found.v, _strata(ranks, part))))
    for _ in range(MOST_ROUNDS):
        found.counts["rounds"] += 1
        answer = of_root(ranks, 1, np.int64, core.solve)[0]
        if answer == Answer.STUCK:
            break
        if answer == Answer.SHORT:
            witness = of_root(ranks, n + m, np.uint8, core.witness) > 0
            if not _widen(ranks, part, core, witness[:n], witness[n:], found.v, passes):
                found.witness = witness[:n], witness[n:]
                return found
            if part.is_square_by_rows and not found.counts["soft_starts"]:
                found.counts["soft_starts"] += 1
                found.v = soft_prices(ranks, part)
                _join(ranks, core, ranks.done_by_all(partial(passes.price, part, found.v, _strata(ranks, part))))
            continue
        duals = of_root(ranks, n + m, part.dual_type, core.duals)
        found.u, found.v = duals[:n], duals[n:]
        if not _reprice(ranks, part, core, found, passes):
            found.row_match = of_root(ranks, n, np.int32, core.row_match)
            counted = of_root(ranks, len(COUNTED_ON_ROOT) + 1, np.int64, core.counted).tolist()
            found.counts.update(dict(zip((*COUNTED_ON_ROOT, "core_entries"), counted, strict=True)))
            return found
    rounds = found.counts["rounds"]
    going_on = classical(ranks, part, found.v if n == m else None)
    going_on.counts["rounds"] = rounds
    going_on.reason = f"after {rounds} rounds the core was left for the search in the whole matrix"
    return going_on


def start(ranks: Ranks, part: Part, v: Any) -> Any:
    """Duals of the columns to price by: given ones; minima, where all columns are to be matched; or else zeros."""
    n, m = part.shape
    if v is not None:
        return v.astype(part.dual_type)
    if n < m:
        return np.zeros(m, part.dual_type)
    zeros, far = np.zeros(n, part.dual_type), np.full(m, part.far, part.dual_type)
    least = reduced(ranks, "min", far, lambda: part.least_of_columns(zeros))
    return np.where(least == part.far, 0, least).astype(part.dual_type)


def _strata(ranks: Ranks, part: Part) -> int:
    """Where columns are split, each rank picks its share of the entries of a row."""
    return max(1, STRATA // ranks.size) if part.splits_columns else STRATA


def _join(ranks: Ranks, core: _Core, places: Places) -> None:
    """Entries of all ranks join the core, on the root."""
    rows, columns, values = places
    keys = ranks.gather_list(rows * core.shape[1] + columns)
    values = ranks.gather_list(values)
    if ranks.rank == ROOT:
        core.offer(keys, values)


def _widen(ranks: Ranks, part: Part, core: _Core, rows: Any, columns: Any, v: Any, passes: Passes) -> bool:
    """Whether any pair of the witness's rows is allowed outside its columns; the best of each rank join the core.

    Allowed pairs are counted apart from the picking, for a mistake of the picker would make a false witness.
    """
    offers: list[Places] = []

    def offer() -> Any:
        allowed, places = passes.outside(part, rows, columns, v)
        offers.append(places)
        return np.array([allowed, len(places[0])])

    allowed, offered = reduced(ranks, "sum", np.zeros(2, np.int64), offer).tolist()
    assert (allowed == 0) == (offered == 0), "what is allowed is offered"
    if offered:
        _join(ranks, core, offers[0])
    return bool(offered)


def _reprice(ranks: Ranks, part: Part, core: _Core, found: Found, passes: Passes) -> bool:
    """Whether any rank finds entries that the duals overprice; the best of them join the core."""
    offers: list[Places] = []

    def offer() -> Any:
        number, places = passes.overpriced(part, found.u, found.v)
        offers.append(places)
        return np.array([number])

    number = int(reduced(ranks, "sum", np.zeros(1, np.int64), offer)[0])
    found.counts["repricings"] += 1
    found.counts["overpriced"] += number
    if number:
        _join(ranks, core, offers[0])
    return number > 0


class _Core:
    """The core of the root, and its last solution; empty on other ranks."""

    def __init__(self, part: Part, plan: Plan, given_v: Any) -> None:
        self.shape, self._plan, self._given_v = part.shape, plan, given_v
        self._keys = np.empty(0, np.int64)  # row * columns + column, increasing
        self._values = np.empty(0, part.dual_type)
        self._counts = np.zeros(len(COUNTED_ON_ROOT), np.int64)
        self._grown = False
        self._costs: SparseCosts | None = None
        self._solution: Solution | None = None

    def offer(self, keys: Any, values: Any) -> None:
        """Entries join, but for those that have; a rounding of the duals may offer some again."""
        all_keys, all_values = np.concatenate([self._keys, keys]), np.concatenate([self._values, values])
        joined_keys, first = np.unique(all_keys, return_index=True)
        self._grown = len(joined_keys) > len(self._keys)
        self._keys, self._values = joined_keys, all_values[first]

    def solve(self) -> list[int]:
        """From the last solution, which new entries leave nearly right."""
        if self._solution is not None and not self._grown:
            return [Answer.STUCK]
        n, m = self.shape
        rows, columns = divmod(self._keys, m)
        indptr = np.concatenate([[0], np.bincount(rows, minlength=n).cumsum()])
        self._costs = SparseCosts(scipy.sparse.csr_array((self._values, columns, indptr), shape=self.shape))
        last = self._solution
        start = Start(AssignmentStart.REDUCE, None, self._given_v)
        if last is not None and last.size == n:
            start = Start(AssignmentStart.GIVEN, last.row_match, last.v if n == m else None)
        self._solution = run(self._costs, self._plan, start)
        self._counts += np.array([self._solution.counters[name] for name in COUNTED_ON_ROOT])
        return [Answer.SOLVED if self._solution.size == n else Answer.SHORT]

    def counted(self) -> Any:
        """What the searches counted, and the entries of the core."""
        return np.append(self._counts, len(self._keys))

    def row_match(self) -> Any:
        assert self._solution is not None, "it was solved"
        return self._solution.row_match

    def duals(self) -> Any:
        assert self._solution is not None, "it was solved"
        return np.concatenate([self._solution.u, self._solution.v])

    def witness(self) -> Any:
        """Rows that may only be matched with columns that are fewer, as far as the core knows: all as 0 or 1."""
        assert self._costs is not None, "it was solved"
        cover_rows, cover_columns = cover_of_allowed_pairs(self._costs, self._plan.threads)
        in_witness = np.zeros(sum(self.shape), np.uint8)
        in_witness[: self.shape[0]] = 1
        in_witness[cover_rows] = 0
        in_witness[self.shape[0] + cover_columns] = 1
        return in_witness


# Passes of a rank over its part.


def price(part: Part, v: Any, strata: int) -> Places:
    """The best entries of each row by cost - v: `OF_A_STRATUM` of each part of the columns."""
    found = []
    for some in part.slices():
        keys = part.reduced(some, v)
        rows, columns = _best_of_strata(part, keys, _numbers(part, some), strata, OF_A_STRATUM)
        found.append(part.places(rows + some.start, columns, part.values(some)[rows, columns]))
    return joined(found, part)


def overpriced(part: Part, u: Any, v: Any) -> tuple[int, Places]:
    """How many entries cost less than their duals, but for rounding; and the best of each stratum of each row."""
    number, found = 0, []
    for some in part.slices():
        slack = part.reduced(some, v)
        slack -= u[part.rows][some, None]
        bound: Any = 0
        if part.dual_type is np.float64:
            bound = -ROUNDINGS * (abs(u[part.rows][some])[:, None] + abs(v[part.columns]))
        below = slack < bound
        number += int(below.sum())
        rows = below.any(axis=1).nonzero()[0]
        keys = np.where(below[rows], slack[rows], part.far)
        at, columns = _best_of_strata(part, keys, _numbers(part, some)[rows], STRATA, 1)
        found.append(part.places(rows[at] + some.start, columns, part.values(some)[rows[at], columns]))
    return number, joined(found, part)


def outside(part: Part, in_witness: Any, columns_of_witness: Any, v: Any) -> tuple[int, Places]:
    """How many pairs the rows of a witness have outside its columns; and the best of each stratum of each row."""
    allowed, found = 0, []
    own = in_witness[part.rows].nonzero()[0]
    for some in part.slices():
        rows = own[(own >= some.start) & (own < some.stop)]
        if not len(rows):
            continue
        values = part.values(rows)
        allowed += int((values[:, ~columns_of_witness[part.columns]] < part.far).sum())
        keys = values - v[part.columns]
        keys[:, columns_of_witness[part.columns]] = part.far
        at, columns = _best_of_strata(part, keys, rows + part.rows.start, STRATA, 1)
        found.append(part.places(rows[at], columns, values[at, columns]))
    return allowed, joined(found, part)


def _numbers(part: Part, some: slice) -> Any:
    """Of some rows in the problem."""
    return np.arange(some.start, some.stop) + part.rows.start


def _best_of_strata(part: Part, keys: Any, numbers: Any, strata: int, most: int) -> tuple[Any, Any]:
    """Rows and columns of the least keys of each row in each stratum, below far.

    Each row begins to count its columns at another one, so that rows whose keys tie do not all pick the same.
    """
    height, width = keys.shape
    if width <= strata * most or not height:
        rows, columns = (keys < part.far).nonzero()
        return rows, columns
    begin = numbers * width // part.shape[0]
    depth = -(-width // strata)
    turned = np.full((height, depth * strata), part.far, part.dual_type)
    for row, first in enumerate(begin.tolist()):  # two copies of each row take a tenth of one by places
        turned[row, : width - first] = keys[row, first:]
        turned[row, width - first : width] = keys[row, :first]
    cells = turned.reshape(height, depth, strata)
    found = []
    for _ in range(most):
        at = cells.argmin(axis=1)[:, None]
        allowed = np.take_along_axis(cells, at, axis=1)[:, 0] < part.far
        rows, stratum = allowed.nonzero()
        places = at[rows, 0, stratum] * strata + stratum
        found.append((rows, (begin[rows] + places) % width))
        np.put_along_axis(cells, at, part.far, axis=1)
    return np.concatenate([rows for rows, _ in found]), np.concatenate([columns for _, columns in found])
