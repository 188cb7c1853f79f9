"""`gmatch.lap` for costs that are read some rows at a time: the core of several ranks, with one rank.

The passes do what the passes of `core` do, over windows of the rows as given. If there are more rows than columns, the
problem is the transpose, and each window has some columns of the problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from ..arrays import exact_sum
from ..assignment.gap import suffices, within_bound
from ..assignment.plan import Plan
from ..assignment.request import Options
from ..backends import backend_for
from ..backends.block_passes import OF_A_STRATUM
from ..backends.rows import STRATA, best_of_strata
from ..errors import InvalidInput
from ..methods import assignment_method_of
from ..methods.method import is_auto
from ..problems.limits import RowsOfCosts, blocks_of, minimised
from ..problems.windows import CheckedWindows, WindowCosts
from ..result import STEPS, Assignment
from .classical import classical
from .core import Passes, by_core
from .drawn import Draws
from .found import Found
from .lap import given_duals, result_of
from .margins import ROUNDINGS, MarginsOfCore
from .part import Places
from .ranks import Ranks, one_rank
from .sampled import prices_of
from .whole_part import Triples, WholePart

REASON = "rows that are read again in each pass: few entries of them are searched"
# Half of the first entries are drawn with this multiple of the last epsilon of the prices. 2 to 6 are alike. 1 takes up
# to 4 times as long: benchmarks/log/points.md, "Entries of windows are drawn".
SPREAD = 3
TOO_FAR = "costs of a range that leaves no room for the duals of a part of them"
# Options of `lap` that these costs do not take: the value that they must have, and what to do instead.
NOT_TAKEN = {
    "infeasible": ("raise", "use cost_limit to let rows and columns stay free"),
    "deterministic": (False, "on the host the same costs and options give the same assignment anyway"),
}


def lap_of_windows(costs: WindowCosts, options: Options) -> Assignment:
    """As `gmatch.lap`. O(rows * columns) work a pass, and O(rows + columns) memory: see docs/costs_without_a_matrix.md.

    Raises
    ------
    InvalidInput
        If the costs differ from what was promised or from an earlier read, or if they do not take an option.
    Infeasible
        If forbidden pairs leave no assignment.
    """
    duals, threads, gap = duals_to_start_from(type(costs).__name__, options), options.threads, options.gap
    began, before = perf_counter(), costs.windows_read
    costs.forget()
    checked = costs.checked()
    part = WindowPart(checked)
    part.gap = gap
    found, reason = _solved(part, given_duals(checked, duals), threads)
    ranks = one_rank()
    part.lower(found)
    result = result_of(ranks, checked, found)
    if gap is not None:
        result = within_bound(result, part.excess is not None)
    windows = costs.windows_read - before
    seconds = dict.fromkeys((*STEPS, "ties"), 0.0) | {"search": perf_counter() - began}
    result.stats.update(
        method="core" if reason == REASON else "classical", reason=found.reason or reason,
        initial="reduce" if duals is None else "given", backend="cpu", team="windows",
        threads=threads or 1, start_size=0, passes=-(-windows // max(1, len(costs.windows))), windows=windows,
        seconds=seconds, **found.stats(),
    )  # fmt: skip
    return result


def duals_to_start_from(name: str, options: Options) -> Any:
    """The duals (u, v) that are given, or the duals of the assignment that is given as `initial`; None without both.

    Raises `InvalidInput` for an option that windows do not take.
    """
    method, initial, device = options.method, options.initial, options.device
    if not is_auto(method):
        asked = method if isinstance(method, str) else type(method).__name__
        raise InvalidInput(f"a {name} has one method, 'auto'; got {asked!r}; others take a matrix in memory")
    for option, (usual, advice) in NOT_TAKEN.items():
        value = getattr(options, option)
        if value != usual:
            raise InvalidInput(f"a {name} does not take {option}={value!r}; leave it out: {advice}")
    backend_for(None, device or "cpu").check_threads(options.threads)
    if isinstance(initial, Assignment):
        return (initial.u, initial.v) if options.duals is None else options.duals
    if not isinstance(initial, str) or initial not in ("auto", "reduce"):
        raise InvalidInput(
            f"a {name} starts from minima, from an Assignment or from duals=(u, v); leave initial out, or give one"
        )
    return options.duals


def duals_within_limit(block: RowsOfCosts, duals: Any) -> Any:
    """As `given_duals`, cut off if there is a limit.

    The duals of a cheapest assignment differ by at most the limit less the lowest cost. Duals that are farther apart
    would only round what pairs cost.
    """
    v = given_duals(block, duals)
    if v is None or block.limit is None:
        return v
    return (v - v.max(initial=v.min(initial=0))).clip(min(0, block.lowest - block.limit))


def _solved(part: WindowPart, v: Any, threads: int | None) -> tuple[Found, str]:
    n, m = part.shape
    if not n:
        return Found(np.full(n, -1, np.int32), np.zeros(n, part.dual_type), np.zeros(m, part.dual_type)), REASON
    sparse_method, _ = assignment_method_of("auto", "cpu")
    plan = Plan(backend_for(None, "cpu"), sparse_method, threads, False)
    if not part.block.fits_core:
        return classical(one_rank(), part, plan, v), TOO_FAR
    return by_core(one_rank(), part, plan, v, PASSES), REASON


class WindowPart(WholePart):
    """A whole problem in windows of the rows as given."""

    def __init__(self, block: CheckedWindows) -> None:
        super().__init__(block, block.shape[::-1] if block.transposed else block.shape)
        self.block: CheckedWindows = block
        self.margins: MarginsOfCore = MarginsOfCore(*block.shape)
        self.gap: float | None = None
        self.draws = Draws(block.shape[1])
        self.epsilon = 0.0  # of the prices
        self.excess: Any = None  # by how much duals of the rows as given are too large, where the search stopped

    def prices(self, have_misled: bool = False) -> Any:
        """Duals of the columns, by which entries are picked. If they `have_misled`, they take more steps."""
        block, limit = self.block, None
        sample = block.sample
        if block.limit is not None:
            with np.errstate(over="ignore"):
                limit = float(np.float32(block.limit / block.unit))
            sample = np.where(sample < limit, sample, limit if self.limit is None else np.float32(np.inf))
        prices, epsilon = prices_of(sample, None if self.limit is None else limit, self.shape[0], have_misled)
        prices, self.epsilon = prices * block.unit, epsilon * block.unit
        return np.rint(prices).astype(np.int64) if self.dual_type is np.int64 else prices

    def given(self, rows: Any = None) -> Iterator[tuple[Any, Any]]:
        """Some rows as given, or all, in blocks that a cache holds: their numbers, and a copy of their costs."""
        costs = self.block.costs
        for number, window in enumerate(costs.windows):
            wanted = np.arange(window.start, window.stop)
            if rows is not None:
                wanted = rows[slice(*np.searchsorted(rows, (window.start, window.stop)))]
            if not len(wanted):
                continue
            entries = costs.window(number)
            for some in blocks_of((len(wanted), entries.shape[1]), "cpu"):
                yield wanted[some], self._minimised(entries[wanted[some] - window.start])

    def slices(self) -> Iterator[slice]:
        """Slices of the rows of the problem."""
        return blocks_of(self.shape, "cpu")

    def values(self, rows: Any) -> Any:
        """A copy of some rows of the problem."""
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        costs = self.block.costs
        if self.block.transposed:
            found = [self._minimised(costs.window(number)[:, numbers]).T for number in range(len(costs.windows))]
            return np.concatenate(found, axis=1)
        values = np.empty((len(numbers), self.shape[1]), self.dual_type)
        in_window = numbers // costs.windows[0].stop
        for number in np.unique(in_window).tolist():
            here = (in_window == number).nonzero()[0]
            values[here] = self._minimised(costs.window(number)[numbers[here] - costs.windows[number].start])
        return values

    def reduced(self, rows: Any, v: Any) -> Any:
        """A copy of some rows of the problem, less the duals of the columns."""
        values = self.values(rows)
        values -= v
        return values

    def least_of_rows(self, v: Any) -> Any:
        """The least cost less v of each row."""
        return self._least(v, self.block.transposed)

    def least_of_columns(self, u: Any) -> Any:
        """The least cost less u of each column."""
        return self._least(u, not self.block.transposed)

    def _least(self, duals: Any, of_given_columns: bool) -> Any:
        """The least cost minus dual of the other side, for each column or for each row as given."""
        least = np.full(self.block.shape[of_given_columns], self.far, self.dual_type)
        for numbers, values in self.given():
            if of_given_columns:
                values -= duals[numbers, None]
                np.minimum(least, values.min(axis=0), out=least)
            else:
                values -= duals
                least[numbers] = values.min(axis=1, initial=self.far)
        return least

    def lower(self, found: Found) -> None:
        """Lowers duals that are too large because the search stopped at a gap."""
        if self.excess is not None:
            duals = found.v if self.block.transposed else found.u
            duals -= self.excess

    def offered(self, found: list[Triples]) -> Places:
        """The entries that join the core, each once."""
        keys, values = self.places(found)
        is_first = np.diff(keys, prepend=-1) > 0
        keys, values = keys[is_first], values[is_first]
        rows, columns = divmod(keys, self.shape[1])
        self.margins.join(*((columns, rows) if self.block.transposed else (rows, columns)))
        return keys, values

    def _minimised(self, entries: Any) -> Any:
        return minimised(entries, self.dual_type, self.block.maximize, self.block.limit)


# The passes that `core` calls, over windows.


def start(ranks: Ranks, part: Any, v: Any) -> Any:
    """As `core.start`: given duals, or prices from some rows."""
    return part.prices() if v is None else v.astype(part.dual_type)


def start_again(ranks: Ranks, part: Any) -> Any:
    """As `core.start_again`: prices in more steps."""
    return part.prices(have_misled=True)


def price(part: WindowPart, v: Any, times: int = 0) -> Places:
    """As `core.price`: the best entries of each row by cost - v. `times` changes nothing.

    If there are prices, half of the entries are drawn among the entries that cost little more.
    """
    epsilon = SPREAD * part.epsilon
    best = _Best(part, 1 if epsilon else OF_A_STRATUM, part.far)
    drawn = _Best(part, OF_A_STRATUM - 1, np.inf)
    for numbers, values in part.given():
        keys = values - (v[numbers, None] if part.block.transposed else v)
        best.offer(numbers, keys, values)
        if epsilon:
            keys = part.draws.by_cost(numbers, keys, epsilon)
            keys[values == part.far] = np.inf
            drawn.offer(numbers, keys, values)
    return part.offered(best.found() + drawn.found())


def overpriced(part: WindowPart, u: Any, v: Any) -> tuple[int, Places]:
    """As `core.overpriced`: how many entries cost less than their duals; and some of them.

    Each row offers one entry of each stratum, drawn by how much less it costs. Each column offers its worst entry.
    """
    number, drawn, worst = 0, _Best(part, 1, np.inf), _BestAcross(part)
    along, across = (v, u) if part.block.transposed else (u, v)
    excess = np.zeros_like(along)
    for numbers, values in part.given(part.margins.rows_to_read(along, across)):
        here = along[numbers, None]
        slack = values - here
        slack -= across
        part.margins.leave_out(numbers, slack, part.far)
        least = slack.min(axis=1)
        part.margins.note(numbers, least)
        if not (least < 0).any():
            continue
        excess[numbers] = np.maximum(-least, 0)
        bound = ROUNDINGS * (abs(here) + abs(across)) if part.dual_type is np.float64 else 0
        below = slack < -bound
        found = int(np.count_nonzero(below))
        if found:
            number += found
            keys = part.draws.by_amount(numbers, slack)
            keys[~below], slack[~below] = np.inf, 0
            drawn.offer(numbers, keys, values)
            worst.offer(numbers, slack, values)
    if number and part.gap is not None and is_near_enough(u, v, excess, part.gap):
        part.excess = excess
        return 0, part.offered([])
    return number, part.offered(drawn.found() + worst.found())


def is_near_enough(u: Any, v: Any, excess: Any, gap: float) -> bool:
    """Whether an assignment that costs the sum of its duals is within the gap of the optimum, with duals lowered."""
    cost = exact_sum(np.concatenate([u, v]))
    return suffices(cost, cost - exact_sum(excess), gap)


def outside(part: WindowPart, in_witness: Any, columns_of_witness: Any, found: Found) -> tuple[int, Places]:
    """As `core.outside`: the number of pairs of a witness's rows outside its columns, and the best of each stratum.

    Each free row also offers its best free columns, and one free column that no other row offers for this reason. If
    these pairs are allowed, the next search matches all rows. Its duals then tell what else the core lacks.
    """
    allowed, v, turned = 0, found.v, part.block.transposed
    best, of_free, owners = _Best(part, 1, part.far), _Best(part, 1, part.far), _Owners(part, found.row_match)
    along, across = (~columns_of_witness, in_witness) if turned else (in_witness, ~columns_of_witness)
    for numbers, values in part.given((along | owners.along).nonzero()[0]):
        keys = values - (v[numbers, None] if turned else v)
        keys[values == part.far] = part.far
        offering = owners.along[numbers].nonzero()[0]
        if len(offering):
            free = keys[offering]
            free[:, ~owners.across] = part.far
            of_free.offer(numbers[offering], free, values[offering])
            owners.note(numbers[offering], values[offering])
        keys[:, ~across] = part.far
        keys[~along[numbers]] = part.far
        allowed += int(np.count_nonzero(keys < part.far))
        best.offer(numbers, keys, values)
    return allowed, part.offered(best.found() + of_free.found() + owners.found) if allowed else part.offered([])


PASSES = Passes(start, price, overpriced, outside, start_again)


class _Best:
    """The entries of each row of a problem with the least keys: a few of each stratum of the columns."""

    def __init__(self, part: WindowPart, most: int, far: Any) -> None:
        self._part, self._most, self._far = part, most, far
        self._found: list[Triples] = []
        self._by_columns: _BestOfColumns | None = None

    def offer(self, numbers: Any, keys: Any, values: Any) -> None:
        """Takes some rows as given, of increasing numbers; keys are far for entries that are not offered."""
        if self._part.block.transposed:
            if self._by_columns is None:
                self._by_columns = _BestOfColumns(self._part, self._most, self._far)
            self._by_columns.offer(numbers, keys, values)
            return
        rows, columns = best_of_strata(keys, int(numbers[0]), self._part.shape[0], self._far, self._most)
        self._found.append((numbers[rows], columns, values[rows, columns]))

    def found(self) -> list[Triples]:
        return self._found if self._by_columns is None else [self._by_columns.found()]


class _BestAcross:
    """The entry of each column of a problem with the least key below 0."""

    def __init__(self, part: WindowPart) -> None:
        self._turned = part.block.transposed
        self._found: list[Triples] = []
        columns = part.shape[1]
        self._keys, self._values = np.zeros(columns, part.dual_type), np.zeros(columns, part.dual_type)
        self._rows = np.full(columns, -1)

    def offer(self, numbers: Any, keys: Any, values: Any) -> None:
        """Takes some rows as given, of increasing numbers. If the problem is transposed, these are its columns."""
        if self._turned:
            rows = keys.argmin(axis=1)
            here = (keys[np.arange(len(numbers)), rows] < 0).nonzero()[0]
            self._found.append((rows[here], numbers[here], values[here, rows[here]]))
            return
        columns = (keys.min(axis=0) < self._keys).nonzero()[0]
        some = keys[:, columns]
        at = some.argmin(axis=0)
        self._keys[columns], self._rows[columns] = some[at, np.arange(len(columns))], numbers[at]
        self._values[columns] = values[at, columns]

    def found(self) -> list[Triples]:
        columns = (self._rows >= 0).nonzero()[0]
        return [*self._found, (self._rows[columns], columns, self._values[columns])]


class _Owners:
    """One free column for each row that a search has left free. If all these pairs are allowed, they match all rows."""

    def __init__(self, part: WindowPart, row_match: Any) -> None:
        n, m = part.shape
        self._part = part
        is_free = np.ones(m, np.bool_)
        is_free[row_match[row_match >= 0]] = False
        rows = (row_match < 0).nonzero()[0]
        columns = is_free.nonzero()[0][: len(rows)]
        self._mate = np.full(m if part.block.transposed else n, -1)
        """For each row as given: the mate that it offers; -1 for none."""
        self.along, self.across = row_match < 0, is_free
        """Which rows as given, and which columns, are free."""
        if part.block.transposed:
            self.along, self.across = self.across, self.along
            self._mate[columns] = rows
        else:
            self._mate[rows] = columns
        self.found: list[Triples] = []

    def note(self, numbers: Any, values: Any) -> None:
        """Takes the costs of rows as given."""
        mates = self._mate[numbers]
        values = values[np.arange(len(numbers)), mates]
        allowed = (mates >= 0) & (values < self._part.far)
        pairs = (mates, numbers) if self._part.block.transposed else (numbers, mates)
        self.found.append((pairs[0][allowed], pairs[1][allowed], values[allowed]))


class _BestOfColumns:
    """As `_Best`, for columns of the problem that come one after the other: rows as given, of increasing numbers.

    Column j is of stratum j mod STRATA. If keys are equal, a row takes the first one after the column where it begins.
    """

    def __init__(self, part: WindowPart, most: int, far: Any) -> None:
        n, m = part.shape
        self._far, self._begin = far, np.arange(n) * m // max(n, 1)
        shape = most, STRATA, n
        self._keys = np.full(shape, far)
        self._values = np.zeros(shape, part.dual_type)
        self._columns = np.full(shape, -1, np.int32)

    def offer(self, numbers: Any, keys: Any, values: Any) -> None:
        """Takes some columns of the problem, of increasing numbers; each is a row of `keys`."""
        offering = (keys < self._far).any(axis=1).nonzero()[0]
        ends = np.flatnonzero(np.diff(numbers[offering] // STRATA)) + 1
        for some in np.split(offering, ends):
            if len(some):
                self._take(numbers[some, None].astype(np.int32), keys[some], values[some])

    def _take(self, columns: Any, keys: Any, values: Any) -> None:
        """Takes columns of different strata. Each enters at its rank; the entries from there on move on by one."""
        strata = columns[:, 0] % STRATA
        for kept_keys, kept_values, kept_columns in zip(self._keys, self._values, self._columns, strict=True):
            old_keys, old_values, old_columns = kept_keys[strata], kept_values[strata], kept_columns[strata]
            ties = (keys == old_keys) & (old_columns < self._begin) & (columns >= self._begin)
            better = (keys < old_keys) | ties
            kept_keys[strata] = np.where(better, keys, old_keys)
            kept_values[strata] = np.where(better, values, old_values)
            kept_columns[strata] = np.where(better, columns, old_columns)
            keys, values = np.where(better, old_keys, keys), np.where(better, old_values, values)
            columns = np.where(better, old_columns, columns)

    def found(self) -> Triples:
        order, stratum, rows = (self._keys < self._far).nonzero()
        columns = self._columns[order, stratum, rows].astype(np.int64)
        return rows, columns, self._values[order, stratum, rows]
