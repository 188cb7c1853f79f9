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

from ..arrays import to_host
from ..assignment.partial import cover_of_allowed_pairs
from ..assignment.programs import Plan, Solution, run
from ..assignment.request import AssignmentStart, Start
from ..backends.block_passes import STRATA
from ..problems.sparse import SparseCosts
from .classical import classical
from .found import COUNTED, Found
from .part import Part, Places
from .ranks import ROOT, Ranks, gathered, of_root, reduced
from .soft import soft_prices

# Of the searches on the root.
COUNTED_ON_ROOT = (*COUNTED, "rows_scanned", "edges_inspected")
# Rows that are asked which column they want most; and how many different ones are many, of those that even costs have.
SAMPLE, WANTED = 64, 0.6
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
    _price(ranks, part, core, found, passes)
    for _ in range(MOST_ROUNDS):
        found.counts["rounds"] += 1
        answer = of_root(ranks, 1, np.int64, partial(core.solve, found))[0]
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
                _price(ranks, part, core, found, passes)
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
    going_on.seconds.update(found.seconds)
    going_on.reason = f"after {rounds} rounds the core was left for the search in the whole matrix"
    return going_on


def start(ranks: Ranks, part: Part, v: Any) -> Any:
    """Duals of the columns to price by: given ones; minima, where many rows want the same columns; or else zeros."""
    n, m = part.shape
    if v is not None:
        return v.astype(part.dual_type)
    if n < m or _want_different_columns(ranks, part):
        return np.zeros(m, part.dual_type)
    zeros, far = np.zeros(n, part.dual_type), np.full(m, part.far, part.dual_type)
    least = reduced(ranks, "min", far, lambda: part.least_of_columns(zeros))
    return np.where(least == part.far, 0, least).astype(part.dual_type)


def _want_different_columns(ranks: Ranks, part: Part) -> bool:
    """Whether of some rows, far from each other, few have the same best column."""
    n, m = part.shape
    sample = np.arange(min(SAMPLE, n)) * n // min(SAMPLE, n)

    def best() -> Any:
        wanted = np.full(len(sample), -1, np.int64)
        own = (sample >= part.rows.start) & (sample < part.rows.stop)
        rows = part.here((sample[own] - part.rows.start).astype(np.int32))
        wanted[own] = to_host(part.passes.least_of_rows(rows, part.here(np.zeros(m, part.dual_type)))[1])
        return wanted

    wanted = reduced(ranks, "max", np.full(len(sample), -1, np.int64), best)
    return len(np.unique(wanted)) >= WANTED * -m * np.expm1(len(sample) * np.log1p(-1 / max(m, 2)))


def _price(ranks: Ranks, part: Part, core: _Core, found: Found, passes: Passes) -> None:
    """The best entries of each row by the duals of the columns join the core."""

    def priced() -> Places:
        with found.clock("price"):
            return passes.price(part, found.v)

    _join(ranks, core, priced)


def _join(ranks: Ranks, core: _Core, offer: Callable[[], Places]) -> None:
    """Entries that all ranks offer join the core, on the root."""
    keys, values = gathered(ranks, offer)
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
        _join(ranks, core, offers.pop)
    return bool(offered)


def _reprice(ranks: Ranks, part: Part, core: _Core, found: Found, passes: Passes) -> bool:
    """Whether any rank finds entries that the duals overprice; the best of them join the core."""
    offers: list[Places] = []

    def offer() -> Any:
        with found.clock("price"):
            number, places = passes.overpriced(part, found.u, found.v)
        offers.append(places)
        return np.array([number])

    number = int(reduced(ranks, "sum", np.zeros(1, np.int64), offer)[0])
    found.counts["repricings"] += 1
    found.counts["overpriced"] += number
    if number:
        _join(ranks, core, offers.pop)
    return number > 0


class _Core:
    """The core of the root, where its costs are, and its last solution; empty on other ranks."""

    def __init__(self, part: Part, plan: Plan, given_v: Any) -> None:
        self.shape, self._plan, self._xp = part.shape, plan, part.xp
        self._range = part.block.lowest, part.block.highest
        self._given_v = None if given_v is None else part.here(given_v)
        self._keys = part.xp.empty(0, np.int64)  # row * columns + column, increasing
        self._values = part.xp.empty(0, part.dual_type)
        self._counts = np.zeros(len(COUNTED_ON_ROOT), np.int64)
        self._offers: list[Places] = []
        self._costs: SparseCosts | None = None
        self._solution: Solution | None = None

    def offer(self, keys: Any, values: Any) -> None:
        """Entries join before the next search, in which an error of the root is that of all."""
        self._offers.append((keys, values))

    def _join(self, keys: Any, values: Any) -> bool:
        """Whether any is new; a rounding of the duals may offer some again."""
        xp = self._xp
        if not bool((keys[1:] > keys[:-1]).all()):  # ranks that have some columns each have all rows
            keys, first = xp.unique(keys, return_index=True)
            values = values[first]
        if len(self._keys):
            places = xp.searchsorted(self._keys, keys)
            is_new = self._keys[xp.minimum(places, len(self._keys) - 1)] != keys
            keys, values = keys[is_new], values[is_new]
            places = places[is_new] + xp.arange(len(keys))
            stay = xp.ones(len(self._keys) + len(keys), np.bool_)
            stay[places] = False
            keys, values = (
                _merged(xp, stay, places, old, new) for old, new in ((self._keys, keys), (self._values, values))
            )
        grows = len(keys) > len(self._keys)
        self._keys, self._values = keys, values
        return grows

    def solve(self, found: Found) -> list[int]:
        """From the last solution, which new entries leave nearly right."""
        offers, self._offers = self._offers, []
        grown = [self._join(*offer) for offer in offers]
        if self._solution is not None and not any(grown):
            return [Answer.STUCK]
        n, m = self.shape
        index_type = np.int32 if len(self._keys) < 2**31 else np.int64
        offsets = self._xp.searchsorted(self._keys, self._xp.arange(n + 1) * m).astype(index_type)
        arrays = offsets, (self._keys % m).astype(np.int32), self._values
        self._costs = SparseCosts.of_checked(arrays, self.shape, *self._range)
        last = self._solution
        start = Start(AssignmentStart.REDUCE, None, self._given_v)
        if last is not None and last.size == n:
            start = Start(AssignmentStart.GIVEN, last.row_match, last.v if n == m else None)
        with found.clock("search"):
            self._solution = run(self._costs, self._plan, start)
        self._counts += np.array([self._solution.counters[name] for name in COUNTED_ON_ROOT])
        return [Answer.SOLVED if self._solution.size == n else Answer.SHORT]

    def counted(self) -> Any:
        """What the searches counted, and the entries of the core."""
        return np.append(self._counts, len(self._keys))

    def row_match(self) -> Any:
        assert self._solution is not None, "it was solved"
        return to_host(self._solution.row_match)

    def duals(self) -> Any:
        assert self._solution is not None, "it was solved"
        return np.concatenate([to_host(self._solution.u), to_host(self._solution.v)])

    def witness(self) -> Any:
        """Rows that may only be matched with columns that are fewer, as far as the core knows: all as 0 or 1."""
        assert self._costs is not None, "it was solved"
        cover_rows, cover_columns = map(to_host, cover_of_allowed_pairs(self._costs, self._plan.threads))
        in_witness = np.zeros(sum(self.shape), np.uint8)
        in_witness[: self.shape[0]] = 1
        in_witness[cover_rows] = 0
        in_witness[self.shape[0] + cover_columns] = 1
        return in_witness


def _merged(xp: Any, stay: Any, places: Any, old: Any, new: Any) -> Any:
    """Old ones where they stay, and new ones in their places."""
    merged = xp.empty(len(stay), old.dtype)
    merged[stay] = old
    merged[places] = new
    return merged


# Passes of a rank over its part.


def price(part: Part, v: Any) -> Places:
    """The best entries of each row by cost - v."""
    own_v = v[part.columns]
    picks = part.passes.price(part.here(own_v), part.share)
    part.margins.begin(picks.bounds, own_v)
    return part.places(picks.places)


def overpriced(part: Part, u: Any, v: Any) -> tuple[int, Places]:
    """How many entries cost less than their duals, but for rounding; and the worst of them, of rows that may have any."""
    own_u = u[part.rows]
    rows = part.margins.rows_to_read(own_u, v[part.columns])
    picks = part.passes.overpriced(part.here(rows.astype(np.int32)), *part.own(u, v), part.share)
    if picks.bounds is not None:
        part.margins.note(rows, picks.bounds.astype(np.float64) - own_u[rows])
    return picks.overpriced, part.places(picks.places)


def outside(part: Part, in_witness: Any, columns_of_witness: Any, v: Any) -> tuple[int, Places]:
    """How many pairs the rows of a witness have outside its columns; and the best of each stratum of each row."""
    allowed, found = 0, [part.xp.empty(0, np.int64)]
    own = part.here(in_witness[part.rows].nonzero()[0])
    inside, own_v = part.here(columns_of_witness[part.columns]), part.here(v[part.columns])
    for which in part.some_of(own) if part.costs.size else ():
        rows = own[which]
        values = part.xp.where(inside, part.far, part.values(rows))
        allowed += int((values < part.far).sum())
        keys = part.xp.where(values < part.far, values - own_v, part.far)
        at, columns = _best_of_strata(part, keys, rows + part.rows.start)
        found.append(rows[at] * part.costs.shape[1] + columns)
    keys = part.xp.concatenate(found)
    keys.sort()
    return allowed, part.places(keys)


def _best_of_strata(part: Part, keys: Any, numbers: Any) -> tuple[Any, Any]:
    """Rows and columns of the least keys of each row in each stratum, below far.

    Each row begins to count its columns at another one, so that rows whose keys tie do not all pick the same.
    """
    xp, (height, width) = part.xp, keys.shape
    begin = numbers * width // part.shape[0]
    depth = -(-width // STRATA)
    turned = xp.full((height, depth * STRATA), part.far, part.dual_type)
    turned[:, :width] = xp.take_along_axis(keys, (begin[:, None] + xp.arange(width)) % width, axis=1)
    cells = turned.reshape(height, depth, STRATA)
    at = cells.argmin(axis=1)
    rows, stratum = (cells[xp.arange(height)[:, None], at, xp.arange(STRATA)] < part.far).nonzero()
    return rows, (begin[rows] + at[rows, stratum] * STRATA + stratum) % width
