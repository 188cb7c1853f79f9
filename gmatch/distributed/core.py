"""Pricing on several ranks: the root solves a sparse core, each rank holds its part of the matrix against the duals.

    start        duals of the columns: zeros; prices (see `sampled`) where many rows want the same columns; or given
                 ones
    price        each rank picks the best entries of its rows; the root gathers them: the core. On hosts a rank keeps a
                 bound for each row, which no other entry is below. With a limit each row also has a way out at its
                 price
    search       the root solves the core by gmatch's own solver of sparse costs, and broadcasts u and v
    reprice      each rank finds the entries with cost < u + v, in its rows with a u above the bound; they join the core
    widen        where the core has no assignment, its witness (Hall 1935) goes to all: each rank offers the best
                 entries of the witness's rows outside its columns. If there is none, the witness holds for the matrix
    price_again  the duals have misled if the core leaves many rows free, or if its duals overprice many entries. All
                 rows are then priced again by better duals, at most once a call
    done         no rank finds an entry, or only entries of the core, whose duals are rounded. The duals are then
                 feasible in the whole matrix, and the assignment of the core is optimal in it

csrc/core/plan.cuh says which step follows; a GPU and the threads of a host ask it, too. No rank ever holds the matrix.
Entries travel as row * m + column with what they cost. After MOST_ROUNDS searches `classical` goes on from the duals
of the last core.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import to_host
from ..assignment.partial import cover_of_allowed_pairs
from ..assignment.plan import Plan
from ..assignment.programs import Solution, run
from ..backends.block_passes import Depth
from ..backends.cpu import CORE_STEPS
from ..backends.doubled import Doubled
from ..backends.protocol import AssignmentStart, Start
from ..layouts import Layout
from ..problems.limits import unit_of
from ..problems.sparse import SparseCosts
from .classical import classical
from .found import COUNTED, Found
from .part import MatrixPart, Part, Places
from .ranks import ROOT, Ranks, gathered, of_root, reduced
from .sampled import FEW, PART, Sample

# Counters of the searches on the root.
COUNTED_ON_ROOT = (*COUNTED, "rows_scanned", "edges_inspected")
FACTS, LIMITS = Layout("CoreFacts"), Layout("CoreLimits")
# Rows want different columns if their best columns number at least this share of what independent rows would want.
WANTED = 0.6
# Prices come from a sample of at most this number of entries: first of 1 row in PART, the second time of all rows.
MOST_SAMPLED = 1 << 24
# Duals have misled if their core leaves more than 1 row in 32 free, or if its duals overprice more than 1 entry in 32.
# Measured at n = 2000. Products of random numbers leave 1 row in 10 free, points in the plane 1 in 1,000. With a limit,
# products overprice 1 entry in 3, other families at most 1 in 300.
PART_MISLED = 32
# How deep rows are picked, as `Depth.times`: by duals of 0, by other duals, and after duals that have misled. Duals
# other than 0 come from a sample or from costs that have changed since. They are rough and need more entries. After
# duals have misled, 26 entries a row leave 1 row in 100 free, and the rounds after that list half of the matrix. About
# 390 entries a row leave none free. Measured with products of random numbers, n = 2000.
DEPTHS = 0, 1, 3
# A search anew begins with an auction of all rows. On a GPU it takes less time than a search from the last solution if
# more than 1 row in 64 was offered entries. Gaussian points of 16 coordinates, n = 100,000: a search for 2,702 rows
# took 930 ms, and an auction of all rows 76 ms with its search. But a search anew ends with other duals, which
# overprice other entries. So there are at most 2: benchmarks/log/points.md, "Points on a GPU start from centroids".
PART_ANEW, MOST_ANEW = 64, 2
# After this number of rounds `classical` goes on. No family of the tests takes half as many.
MOST_ROUNDS = 100


class Answer(IntEnum):
    """What the root says after a search."""

    SOLVED = 0
    SHORT = 1  # the core has no assignment, and a witness says why
    STUCK = 2  # all entries that were offered are in the core already, and do not help
    ROUNDED = 3  # all entries that were offered are in the core already, whose duals overprice them by rounding


class _Said(NamedTuple):
    """What the root says after a search. If the core has no assignment, only the first two mean something."""

    answer: int
    free: int  # how many rows the core leaves free
    u: Any
    v: Any
    row_match: Any
    counted: list[int]

    @staticmethod
    def length(shape: tuple[int, int]) -> int:
        """How many numbers these are."""
        return 2 + 2 * shape[0] + shape[1] + len(COUNTED_ON_ROOT) + 1

    @classmethod
    def of(cls, shape: tuple[int, int], numbers: Any) -> _Said:
        n, m = shape
        head, u, v, row_match, counted = np.split(numbers, np.cumsum([2, n, m, n]))
        answer, free = head.astype(np.int64).tolist()
        return cls(answer, free, u, v, row_match.astype(np.int32), counted.astype(np.int64).tolist())


class Passes(NamedTuple):
    """The passes over a part that find entries for the core. The functions of these names say what each does."""

    start: Callable[..., Any]
    price: Callable[..., Places]
    overpriced: Callable[..., tuple[int, Places]]
    outside: Callable[..., tuple[int, Places]]
    start_again: Callable[..., Any] = lambda ranks, part: None
    """Duals to price by if the first have misled; None if there are no others."""


def by_core(ranks: Ranks, part: Part, plan: Plan, v: Any = None, passes: Passes | None = None) -> Found:
    """The cheapest assignment; `v` are duals of the columns to start from, for square problems.

    None as `passes` stands for the passes over a `MatrixPart`. All ranks take the steps of csrc/core/plan.cuh.
    """
    passes = passes or Passes(start, price, overpriced, outside, start_again)
    n, m = part.shape
    found = Found(np.full(n, -1, np.int32), np.zeros(n, part.dual_type), passes.start(ranks, part, v))
    steps = _Steps(ranks, part, passes, _Core(part, plan, v is not None), found)
    # The solver of the core holds its own auction, so no start is fresh.
    facts = dict.fromkeys(FACTS.names, 0) | {"rows": n, "columns": m}
    limits = LIMITS.pack(searches=MOST_ROUNDS, part_misled=PART_MISLED, widens=True).tobytes()
    while True:
        number = _native.next_core_step(FACTS.pack(**facts).tobytes(), limits)
        step = CORE_STEPS[number]
        if step == "done":
            if found.witness is None and part.block.limit is None and (found.row_match < 0).any():
                # The core's limit was a plateau.
                found.row_match = with_free_rows_paired(found.row_match, m)
            return found
        found.trace.append(step)
        if step == "bound":  # `classical` keeps the duals within bounds itself
            break
        facts |= steps.take(step) | {"last": number}
    rounds = found.counts["rounds"]
    going_on = classical(ranks, part, plan, found.v if n == m else None)
    going_on.counts["rounds"] = rounds
    going_on.trace = [*found.trace, "search_matrix"]
    going_on.seconds.update(found.seconds)
    going_on.reason = f"after {rounds} rounds the core was left for the search in the whole matrix"
    return going_on


class _Steps(NamedTuple):
    """The steps of the plan: each rank offers some of its entries to the core, and the root solves it."""

    ranks: Ranks
    part: Part
    passes: Passes
    core: _Core
    found: Found

    def take(self, step: str) -> dict[str, int]:
        """Takes a step. Returns what is known after it, by names of `CoreFacts`."""
        taken = {
            "price": self.price, "search": self.search, "widen": self.widen, "reprice": self.reprice,
            "price_again": self.price_again,
        }[step]()  # fmt: skip
        counts = self.found.counts
        return taken | {"pricings": counts["pricings"], "widenings": counts["widenings"], "searches": counts["rounds"]}

    def price(self) -> dict[str, int]:
        """Adds the best entries of each row to the core, by the duals of the columns."""

        def priced() -> Places:
            with self.found.clock("price"):
                return self.passes.price(self.part, self.found.v, times)

        self.found.counts["pricings"] += 1
        times = DEPTHS[2 if self.found.counts["pricings"] > 1 else int(self.found.v.any())]
        self._join(priced)
        return {}

    def search(self) -> dict[str, int]:
        """The root solves the core, and all take its duals and its pairs."""
        found, shape = self.found, self.part.shape
        found.counts["rounds"] += 1
        told = of_root(self.ranks, _Said.length(shape), self.part.dual_type, partial(self.core.answer, found))
        answer, free, *duals, row_match, counted = _Said.of(shape, told)
        is_matched = answer in (Answer.SOLVED, Answer.ROUNDED)
        if is_matched:
            (found.u, found.v), found.row_match = duals, row_match
            for name, number in zip((*COUNTED_ON_ROOT, "core_entries"), counted, strict=True):
                found.counts[name] = number  # of all searches
        return {"is_matched": is_matched, "is_new": answer in (Answer.SOLVED, Answer.SHORT), "free": free}

    def price_again(self) -> dict[str, int]:
        """Prices all rows by other duals, if there are any.

        The core of a square problem with a limit loses its ways out: they do not suit problems that mislead duals.
        """
        part = self.part
        drops_ways_out = part.limit is not None and part.shape[0] == part.shape[1]
        if drops_ways_out:
            part.limit = None
            part.margins.forget()
            self.core.begin()
        v = self.passes.start_again(self.ranks, part)
        if v is None and not drops_ways_out:
            return {}
        self.found.v = self.passes.start(self.ranks, part, None) if v is None else v
        return self.price()

    def widen(self) -> dict[str, int]:
        """Finds pairs of the witness's rows outside its columns. The best of each rank join the core.

        If there is none, the witness holds for the whole matrix.
        """
        n, m = self.part.shape
        witness = of_root(self.ranks, n + m, np.uint8, self.core.witness) > 0
        rows, columns = witness[:n], witness[n:]
        offers: list[Places] = []

        def offer() -> Any:
            with self.found.clock("price"):
                allowed, places = self.passes.outside(self.part, rows, columns, self.found)
            offers.append(places)
            return np.array([allowed, len(places[0])])

        self.found.counts["widenings"] += 1
        allowed, offered = reduced(self.ranks, "sum", np.zeros(2, np.int64), offer).tolist()
        assert (allowed == 0) == (offered == 0), "what is allowed is offered"
        if offered:
            self._join(offers.pop)
        else:
            self.found.witness = rows, columns
        return {"found": offered}

    def reprice(self) -> dict[str, int]:
        """Each rank finds entries that the duals overprice. The worst of them join the core."""
        offers: list[Places] = []

        def offer() -> Any:
            with self.found.clock("price"):
                number, places = self.passes.overpriced(self.part, self.found.u, self.found.v)
            offers.append(places)
            return np.array([number])

        number = int(reduced(self.ranks, "sum", np.zeros(1, np.int64), offer)[0])
        self.found.counts["repricings"] += 1
        self.found.counts["overpriced"] += number
        if number:
            self._join(offers.pop)  # the part relies on it that its offers are in the core
        return {"found": number}

    def _join(self, offer: Callable[[], Places]) -> None:
        keys, values = gathered(self.ranks, offer)
        if self.ranks.rank == ROOT:
            self.core.offer(keys, values)


def start(ranks: Ranks, part: MatrixPart, v: Any) -> Any:
    """Duals of the columns to price by: given ones, zeros, or prices from a sample of the rows.

    Prices are for square problems in which many rows want the same columns. Without a limit they are added to the
    minima of the columns. If most pairs cost the highest cost, it becomes the limit of the part: see `_has_plateau`.
    """
    n, m = part.shape
    if v is not None:
        return v.astype(part.dual_type)
    zeros = np.zeros(m, part.dual_type)
    if n < m:
        return zeros
    sample = _sample(ranks, part, FEW, zeros)
    if _has_plateau(ranks, part, sample):
        part.limit = part.block.highest
    if sample.want_different_columns(WANTED):
        return zeros
    least = _least_of_columns(ranks, part)
    return _priced(part, least, _sample(ranks, part, n // PART, least).prices().v)


def _has_plateau(ranks: Ranks, part: MatrixPart, sample: Sample) -> bool:
    """Whether more than half of the pairs cost the highest cost, which then serves as a limit.

    Free rows and free columns can always be paired at the end, since no pair costs more and none is forbidden. The core
    need not hold such pairs. They are what its duals would overprice most: distances that are cut off at 1/6 take 905
    ms in a core that must match all rows, and 44 ms with the limit (n = 2000). On a GPU a search whose columns may stay
    free takes a phase for each path. There the limit makes it slower: 276 and 111 ms (n = 3000).
    """
    if part.limit is not None or part.block.forbids or part.device == "gpu":
        return False
    highest = np.float32(part.block.highest / _unit(part))
    counted = partial(np.array, [int((sample.costs >= highest).sum()), sample.costs.size])
    at_highest, number = reduced(ranks, "sum", np.zeros(2, np.int64), counted)
    return bool(2 * at_highest > number)


def with_free_rows_paired(row_match: Any, columns: int) -> Any:
    """The pairs, and free rows paired with free columns in order."""
    paired, is_free = row_match.copy(), np.ones(columns, np.bool_)
    free_rows = row_match < 0
    is_free[row_match[~free_rows]] = False
    paired[free_rows] = is_free.nonzero()[0][: free_rows.sum()]
    return paired


def with_highest_zero(v: Any) -> Any:
    """Equally good duals of the columns of a square problem: the highest is 0.

    Each auction moves all v alike by some spreads of a row, and bounds in float32 are off by a share of v. After 17
    auctions of clusters most pairs of a cluster passed a bound.
    """
    return v - v.max(initial=-np.inf)


def start_again(ranks: Ranks, part: MatrixPart) -> Any:
    """Prices from all rows of a square problem, or from a sample of MOST_SAMPLED entries; None for others."""
    n, m = part.shape
    if n < m:
        return None
    least = _least_of_columns(ranks, part)
    coarse, fine = (_sample(ranks, part, size, least) for size in (n // PART, n))
    return _priced(part, least, fine.prices(coarse).v)


def _least_of_columns(ranks: Ranks, part: MatrixPart) -> Any:
    """Minima of the columns; zeros where columns may stay free."""
    n, m = part.shape
    zeros = np.zeros(m, part.dual_type)
    if part.limit is not None:
        return zeros
    far = np.full(m, part.far, part.dual_type)
    least = reduced(ranks, "min", far, lambda: part.least_of_columns(np.zeros(n, part.dual_type)))
    least[least == part.far] = 0
    return least


def _unit(part: MatrixPart) -> float:
    return unit_of(part.block.lowest, part.block.highest)


def _priced(part: MatrixPart, least: Any, prices: Any) -> Any:
    prices = prices * _unit(part)
    return least + (np.rint(prices).astype(np.int64) if part.dual_type is np.int64 else prices)


def _sample(ranks: Ranks, part: MatrixPart, size: int, v: Any) -> Sample:
    """A sample of `size` rows at equal distances, of cost - v: at most MOST_SAMPLED entries, at least FEW rows.

    Entries are divided by the unit of the costs.
    """
    n, m = part.shape
    size = max(min(FEW, n), min(size, MOST_SAMPLED // m))
    numbers = np.arange(size) * n // size
    first, end = np.searchsorted(numbers, (part.rows.start, part.rows.stop)).tolist()
    limit = part.limit

    def own() -> Any:
        rows = to_host(part.values(part.here(numbers[first:end] - part.rows.start)))
        reduced = ((rows - v) / _unit(part)).astype(np.float32)
        if limit is not None:
            reduced[rows >= limit] = np.inf
        return reduced

    return Sample(ranks, ranks.done_by_all(own), first, size, None if limit is None else limit / _unit(part))


class _Core:
    """The core and its last solution, on the device of the root's costs; empty on other ranks.

    With a limit each row has a way out: one more column, for this row alone, which costs the limit (see
    `SparseCosts.with_ways_out`). So the core always has an assignment, and pairs at the limit need not join it.
    """

    def __init__(self, part: Part, plan: Plan, are_given: bool) -> None:
        self._plan, self._part, self._xp, self._here = plan, part, part.xp, part.here
        self._are_given = are_given  # the first duals
        self._range = part.block.lowest, part.block.highest
        self._counts = np.zeros(len(COUNTED_ON_ROOT), np.int64)
        self._anew = 0  # searches anew, see MOST_ANEW
        self.begin()

    def begin(self) -> None:
        """Without entries, except the ways out."""
        part, self._limit = self._part, self._part.limit
        n, self._columns = part.shape
        ways_out = np.arange(n if self._limit is not None else 0)
        self.shape = n, self._columns + len(ways_out)
        # row * columns + column, increasing
        self._keys = self._here((ways_out + 1) * self.shape[1] - n + ways_out)
        self._values = self._here(np.full(len(ways_out), self._limit or 0, part.dual_type))
        self._offers: list[Places] = []
        self._costs: SparseCosts | None = None
        self._solution: Solution | None = None
        self._is_solved = False  # whether the solution has a pair of each row
        self._doubled: Doubled | None = None  # the doubled core, if that was solved last instead of the core

    def offer(self, keys: Any, values: Any) -> None:
        """Entries that join before the next search. An error of the root in that search is raised by all ranks."""
        if self._limit is not None:
            is_below = values < self._limit
            keys, values = keys[is_below], values[is_below]
            keys = keys + keys // self._columns * (self.shape[1] - self._columns)
        self._offers.append((keys, values))

    def _join(self, keys: Any, values: Any) -> bool:
        """Adds entries; whether any is new. A rounding of the duals may offer an entry of the core again."""
        # Ranks that have some columns each have all rows.
        if not self._part.offers_in_order and not bool((keys[1:] > keys[:-1]).all()):
            keys, first = self._xp.unique(keys, return_index=True)
            values = values[first]
        before = len(self._keys)
        self._keys, self._values = self._part.lists.merged((self._keys, self._values), (keys, values))
        return len(self._keys) > before

    def answer(self, found: Found) -> Any:
        """All that the root says after a search: see `_Said`."""
        answer = self.solve(found)
        if answer[0] not in (Answer.SOLVED, Answer.ROUNDED):
            return np.append(answer, np.zeros(_Said.length(self._part.shape) - 2, np.int64))
        return np.concatenate([answer, self.duals(), self.row_match(), self.counted()])

    def solve(self, found: Found) -> list[int]:
        """An `Answer`, and how many rows are free. The search starts from the last solution, if that was complete."""
        offers, self._offers = self._offers[::-1], []
        is_anew = self._begins_anew(offers)
        grown = []
        while offers:  # an offer is freed when it has joined: at first it is as large as the core
            grown.append(self._join(*offers.pop()))
        if self._solution is not None and not any(grown):
            rounds = self._is_solved and self._part.dual_type is np.float64
            return [Answer.ROUNDED if rounds else Answer.STUCK, 0]
        self._costs = None  # frees the values of the core before
        arrays = *self._part.lists.rows_of(self._keys, self.shape), self._values
        self._costs = SparseCosts.of_checked(arrays, self.shape, *self._range, self.shape[1] - self._columns)
        with found.clock("search"):
            costs, start = self._begun(found.v, is_anew)
            solution = self._solution = self._searched(costs, start)
        free = int((to_host(solution.row_match)[: self.shape[0]] < 0).sum())
        self._is_solved = not free
        if free:
            found.row_match = self.row_match()
        return [Answer.SHORT if free else Answer.SOLVED, free]

    def _searched(self, costs: SparseCosts, start: Start) -> Solution:
        """The solution. If the duals of a doubled core round too much away, the core itself is searched."""
        solution = self._run(costs, start)
        if self._doubled is None or not self._doubled.rounds_away(solution.u, solution.v):
            return solution
        self._doubled = None
        assert self._costs is not None, "it was made"
        return self._searched(self._costs, Start(AssignmentStart.REDUCE, None, None))

    def _begun(self, v: Any, is_anew: bool) -> tuple[SparseCosts, Start]:
        """The costs to solve, and the start: the last solution if it was complete, or the duals that priced the core.

        If the part holds bids, an auction from these duals, or a search anew, gives the start of a square core. On a
        host a core that is not square is doubled before a search starts from duals.
        """
        costs, last, is_square = self._costs, self._last, self.shape[0] == self.shape[1]
        assert costs is not None, "it was made"
        self._doubled, on_host = None, self._part.device == "cpu"
        if last is None and (is_square or not (on_host and v.any())):
            if is_square and self._part.holds_bids and v.any() and (self._are_given or self._part.starts_near):
                return costs, self._start_by_bids(costs, self._here(v))
            # A copy, since a search changes the duals that it starts from, and all ranks go on from equal ones.
            return costs, Start(AssignmentStart.REDUCE, None, self._here(v.copy()) if self._starts_from(v) else None)
        if last is not None and is_square:
            if is_anew:
                self._anew += 1
                return costs, self._start_by_bids(costs, last.v)
            return costs, Start(AssignmentStart.GIVEN, last.row_match, last.v)
        doubled = Doubled.of(costs) if on_host else None
        if doubled is not None and doubled.costs.fits_core:
            self._doubled = doubled
            return doubled.costs, doubled.start(costs, v) if last is None else doubled.start_from(last)
        if last is None:
            return costs, Start(AssignmentStart.REDUCE, None, None)
        return costs, Start(AssignmentStart.GIVEN, last.row_match[: self.shape[0]])

    @property
    def _last(self) -> Solution | None:
        """The last solution, if it was complete."""
        last = self._solution
        return None if last is None or last.size < len(last.row_match) else last

    def _begins_anew(self, offers: list[Places]) -> bool:
        """Whether a search anew takes less time: entries were offered to more than 1 row in PART_ANEW."""
        is_square, last = self.shape[0] == self.shape[1], self._last
        if not is_square or last is None or not self._part.holds_bids or self._anew == MOST_ANEW:
            return False
        begins = (to_host(self._part.lists.rows_of(keys, self._part.shape)[0]) for keys, _ in offers)
        rows = sum(int(np.count_nonzero(np.diff(each))) for each in begins)
        return rows * PART_ANEW > self.shape[0]

    def _start_by_bids(self, costs: SparseCosts, v: Any) -> Start:
        """The pairs and duals of a core whose costs are cost - v, since an auction on a GPU starts from duals of 0.

        The differences are rounded. The search in the core itself, which starts from them, mends that.
        """
        above = self._part.lists.less_duals((self._keys, self._values), v, costs.shape)
        found = self._part.bids_on(SparseCosts.of_checked(above[0], costs.shape, *above[1:]))
        given = with_highest_zero(to_host(found.v) + to_host(v))
        return Start(AssignmentStart.GIVEN, found.row_match, self._here(given))

    def _run(self, costs: SparseCosts, start: Start) -> Solution:
        solution = run(costs, self._plan, start)
        self._counts += np.array([solution.counters[name] for name in COUNTED_ON_ROOT])
        return solution

    def _starts_from(self, v: Any) -> bool:
        """Whether the first search starts from the duals that priced the core: given ones, or prices.

        Products take 7 ms from prices on a host, and 90 ms from an auction (n = 2000). On a GPU an auction is held.
        """
        is_square = self.shape[0] == self.shape[1]
        return bool(is_square and v.any() and (self._are_given or self._part.device == "cpu"))

    def counted(self) -> Any:
        """What the searches counted, and the entries of the core."""
        return np.append(self._counts, len(self._keys))

    def row_match(self) -> Any:
        assert self._solution is not None, "it was solved"
        row_match = to_host(self._solution.row_match)[: self.shape[0]]
        return np.where(row_match < self._columns, row_match, -1)

    def duals(self) -> Any:
        """Duals of the rows and of the columns. No u + v is above the limit: see `limit.without_ways_out`."""
        assert self._solution is not None, "it was solved"
        u, v = to_host(self._solution.u), to_host(self._solution.v)
        if self._doubled is not None:
            u, v = self._doubled.duals(u, v)
        return np.concatenate([u if self._limit is None else u.clip(None, self._limit), v[: self._columns]])

    def witness(self) -> Any:
        """0 or 1 for each row and column. The core matches rows of 1 only with columns of 1, which are fewer."""
        assert self._costs is not None, "it was solved"
        cover_rows, cover_columns = map(to_host, cover_of_allowed_pairs(self._costs, self._plan.threads)[:2])
        in_witness = np.zeros(sum(self.shape), np.uint8)
        in_witness[: self.shape[0]] = 1
        in_witness[cover_rows] = 0
        in_witness[self.shape[0] + cover_columns] = 1
        return in_witness


# Passes of a rank over its part.


def price(part: MatrixPart, v: Any, times: int) -> Places:
    """The best entries of each row by cost - v; `times` as in `Depth`."""
    own_v = v[part.columns]
    picks = part.for_core.price(part.all_rows(), part.here(own_v), Depth(times, part.share, part.limit))
    part.margins.begin(picks.bounds, own_v)
    return part.places(picks)


def overpriced(part: MatrixPart, u: Any, v: Any) -> tuple[int, Places]:
    """How many entries cost less than their duals by more than rounding, and the worst of each row.

    Only rows whose margin allows such an entry are read.
    """
    own_u = u[part.rows]
    rows = part.margins.rows_to_read(own_u, v[part.columns])
    depth = Depth(1, part.share, part.limit)
    picks = part.for_core.overpriced(part.here(rows.astype(np.int32)), *part.own(u, v), depth)
    if picks.bounds is not None:
        part.margins.note(rows, picks.bounds.astype(np.float64) - own_u[rows])
    return picks.overpriced, part.places(picks)


def outside(part: MatrixPart, in_witness: Any, columns_of_witness: Any, found: Found) -> tuple[int, Places]:
    """Whether the rows of a witness have any pairs outside its columns; and the best of each row, more each time.

    If none are found, the allowed pairs are counted too: a mistake of the picker would make a false witness.
    """
    own, inside = part.here(in_witness[part.rows]), part.here(columns_of_witness[part.columns])
    # With this dual no column of the witness is among the best of a row.
    hidden = -np.inf if part.dual_type is np.float64 else found.v.min() - (part.block.highest - part.block.lowest) - 1
    v = part.xp.where(inside, hidden, part.here(found.v[part.columns]))
    depth = Depth(found.counts["widenings"], part.share, part.limit)
    picks = part.for_core.price(own.nonzero()[0].astype(np.int32), v, depth)
    rows, columns = divmod(picks.places, max(part.extent[1], 1))
    picks = picks.some(own[rows] & ~inside[columns])
    return len(picks.places) or part.allowed_outside(own.nonzero()[0], inside), part.places(picks)
