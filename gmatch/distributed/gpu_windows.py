"""`gmatch.lap` for costs that are never all on a GPU: the core of several ranks, with one rank, over windows.

A window of rows is what the block of a rank is. The passes of `core` run over one window after the other, and the core
is searched on the GPU. If there are more rows than columns, the problem is the transpose, and each window has some
columns of the problem; points are turned instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from time import perf_counter
from typing import Any, cast

import numpy as np

from ..arrays import mover_to, to_host
from ..assignment.gap import suffices, within_bound
from ..assignment.plan import Plan
from ..assignment.request import Options
from ..backends import backend_for
from ..backends.block_passes import Depth, Picks
from ..backends.point_rows import SQUARES, middle
from ..methods import assignment_method_of
from ..problems.gpu_windows import GpuWindows
from ..problems.limits import blocks_of, minimised
from ..problems.points import PointCosts
from ..problems.sparse import SparseCosts
from ..problems.windows import CheckedWindows, WindowCosts
from ..result import STEPS, Assignment
from . import core
from .classical import classical
from .coarse_points import Coarse, centroids_of, order_of_tree
from .core import Passes, by_core, with_highest_zero
from .filled_windows import FilledWindows, has_few_coordinates, slices_of_passes
from .found import Found
from .gpu_prices import RowsOfPoints, StoredRows, prices_on_gpu
from .lap import result_of
from .margins import ROUNDINGS, RisenRows
from .part import Cut, MatrixPart, Part, Places
from .point_windows import PointBlock
from .ranks import Ranks, one_rank
from .window_passes import Tile, WindowPasses
from .windows import TOO_FAR, duals_to_start_from, duals_within_limit, is_near_enough

# The most auctions before the first search: each takes 18 ms (n = 100,000). They end when at most 1 row in 64 wants a
# column that is not in the core. A ring in 2-D holds 5: benchmarks/log/points.md, "Points on a GPU start from
# centroids". 100,000 points in 16-D, in clusters with other numbers of x than of y, held 6 auctions and did not end
# in 5 s: benchmarks/log/points.md, "Rows of many coordinates draw far pairs".
MOST_AUCTIONS, PART_UNKNOWN = 12, 64
# The first duals of points of many coordinates have misled if more than 1 row in PART_MISLED wants a new column after
# ENOUGH_AUCTIONS auctions. 77,000 of 100,000 rows want one for clusters of 16 coordinates, at most 38,000 for other
# clouds. Auctions then begin again from centroids of fours of points: benchmarks/log/points.md, "Centroids of fours on
# a GPU".
ENOUGH_AUCTIONS, PART_MISLED = 2, 2
# The points of such a centroid. A host takes as many: csrc/points/fours.hpp.
FOUR = 4
# The begin of CuPy's message if the memory of a GPU is full. The text of an error is all that ranks send of it.
OF_CUPY = "Out of memory allocating"
# The most rows of a sample of points. Prices of a mixture in 16-D, n = 100,000, mislead with 512 rows: after 24
# auctions nearly all rows still wanted new columns. With 2,048 rows prices take 56 ms, and 3 auctions are enough:
# benchmarks/log/points.md, "Products of matrices on a GPU".
MOST_SAMPLED = 2048
# The `Depth.times` with which passes pick the most entries, up to 128 a row (96 of points of many coordinates), and the
# one with which passes pick a core for an auction.
MOST_PICKED, DEPTH_BY_AUCTIONS = 2, 0
# A sum by NumPy is off by less than this share of the sum of all magnitudes. NumPy adds up 128 numbers with 16
# roundings of each, and one more for each time that the length doubles.
OF_A_SUM = 2.0**-46
# Pairs that a column of many coordinates picks once, so that each column has some.
PICKED_BY_COLUMNS = 8
REASON = "windows of rows that come to the GPU in each pass: few entries of them are searched"


def lap_on_gpu(costs: WindowCosts | PointCosts, options: Options) -> Assignment:
    """As `gmatch.lap`, on the current GPU. O(rows * columns) work a pass, and O(rows + columns) memory.

    Raises
    ------
    InvalidInput
        If the costs differ from what was promised or from an earlier read, or if they do not take an option.
    Infeasible
        If forbidden pairs leave no assignment.
    MemoryError
        If the GPU has no room for the pairs that are searched, or the host has none for points and results.
    """
    duals = duals_to_start_from(type(costs).__name__, options)
    began = perf_counter()
    windows, order = _windows_of(costs)
    part: GpuWindowPart | None = None
    try:
        block = PointBlock(costs) if isinstance(costs, PointCosts) else _checked(costs, windows)
        checked = perf_counter() - began
        part = GpuWindowPart(block, windows, options.gap)
        v = duals_within_limit(block, duals)
        found, reason = _solved(part, v if order is None or v is None else v[order[1]])
        if part.excess is not None:
            found.u -= part.excess
        result = result_of(one_rank(), block, found if order is None else _in_given_order(found, *order))
        rows_seen = part.rows_seen
    except MemoryError as error:
        where = "GPU" if OF_CUPY in str(error) else "host"
        raise MemoryError(
            f"the work on costs of shape {costs.shape} needs more memory than the {where} has left: {error}; free "
            "memory there, or use device='cpu'"
        ) from error
    finally:
        windows.close()
        if part is not None:
            part.close()
    if options.gap is not None:
        result = within_bound(result, part.excess is not None)
    seconds = dict.fromkeys((*STEPS, "ties"), 0.0)
    seconds.update({"start": checked, "search": perf_counter() - began - checked, **found.seconds})
    result.stats.update(
        method="core" if reason == REASON else "classical", reason=found.reason or reason,
        initial="given" if duals is not None else "reduce", backend="gpu", team="windows", threads=1, start_size=0,
        passes=-(-rows_seen // max(1, windows.shape[0])), windows=windows.windows_read, seconds=seconds,
        **found.stats(),
    )  # fmt: skip
    return result.moved(mover_to(costs.lies_on if isinstance(costs, PointCosts) else "cpu"))


def _windows_of(costs: WindowCosts | PointCosts) -> tuple[GpuWindows, Any]:
    """Windows of the costs. Points are turned so that the problem has at most as many rows as columns.

    Points of few coordinates come in the order of a tree, so that a pass skips most pairs. Then the order, as numbers
    of the rows and of the columns, comes second; else None.
    """
    if not isinstance(costs, PointCosts):
        return costs.on_gpu(), None
    points = costs.turned() if costs.shape[0] > costs.shape[1] else costs
    if not has_few_coordinates(points):
        return FilledWindows(points), None
    rows, columns = (order_of_tree(cloud) for cloud in (points.x, points.y))
    return FilledWindows(points.some(rows, columns)), (rows, columns)


def _in_given_order(found: Found, rows: Any, columns: Any) -> Found:
    """The solution with rows and columns as they were before `some(rows, columns)`."""
    u, v, row_match = np.empty_like(found.u), np.empty_like(found.v), np.empty_like(found.row_match)
    u[rows], v[columns] = found.u, found.v
    row_match[rows] = np.where(found.row_match < 0, -1, columns[found.row_match])
    found.u, found.v, found.row_match = u, v, row_match
    return found


def _checked(costs: WindowCosts, windows: Any) -> CheckedWindows:
    """The costs after a pass over all entries. A limit may ask for another type from then on."""
    block = CheckedWindows(costs, windows)
    if block.working_type != costs.dtype:
        windows.as_type = block.working_type
    return block


def _solved(part: GpuWindowPart, v: Any) -> tuple[Found, str]:
    block, (n, m) = part.block, part.shape
    if not n:
        return Found(np.full(n, -1, np.int32), np.zeros(n, part.dual_type), np.zeros(m, part.dual_type)), REASON
    if block.limit is not None and block.limit < block.lowest:  # rounding may hide costs in such a limit
        free = np.full(n, block.limit, part.dual_type)
        return Found(np.full(n, -1, np.int32), free, np.zeros(m, part.dual_type)), REASON
    sparse_method, _ = assignment_method_of("auto", "gpu")
    plan = Plan(backend_for(None, "gpu"), sparse_method, None, False)
    if not block.fits_core:
        return classical(one_rank(), part, plan, v), TOO_FAR
    return by_core(one_rank(), part, plan, v, PASSES), REASON


def assigned_on_gpu(points: PointCosts) -> tuple[Any, Any]:
    """The duals and the mates of the rows of a cheapest assignment of all points, which are in the order of a tree."""
    windows = FilledWindows(points)
    part = GpuWindowPart(PointBlock(points), windows, None)
    try:
        found, _ = _solved(part, None)
    finally:
        part.close()
        windows.close()
    return found.u, found.row_match


class GpuWindowPart(MatrixPart):
    """A whole problem in windows on a GPU. Attributes are as of `MatrixPart`; no matrix is there.

    Attributes
    ----------
    gap : float or None
    excess : float array or None
        By how much duals of the rows of the problem are too large, if the search stopped at the gap.
    """

    def __init__(self, block: Any, windows: GpuWindows, gap: float | None) -> None:
        self._windows = windows
        self._turned = block.transposed and block.shape == windows.shape
        """Whether windows are columns of the problem."""
        shape = windows.shape[::-1] if self._turned else windows.shape
        Part.__init__(self, block, Cut(slice(0, shape[0]), slice(0, shape[1]), shape), "gpu")
        self.block, self.threads, self.share = block, 1, 1.0
        self.gap, self.excess = gap, None
        self.offers_in_order = True
        self.holds_bids = self.dual_type is np.float64  # whole numbers keep their type
        self._offered: list[Places] = []
        if isinstance(block, CheckedWindows):
            block.entries_of_core = self.entries_of
        self.margins: RisenRows = RisenRows(shape[0])
        self.passes: Any = self._over_windows(block.limit)
        self._uncut: Any = self._over_windows(getattr(block, "cut", None))
        self._pairs: Any = None
        self.bounds: Any = None  # passes over pairs of points of many coordinates
        self.coarse: Coarse | None = None
        self.picked: Places | None = None  # the pairs of the core whose auction gave the duals
        if isinstance(windows, FilledWindows) and windows.by_pairs:
            passes_of, options = windows.points.passes, (block.maximize, block.limit)
            self._pairs = WindowPasses(
                self, self._tiles_of_pairs, lambda rows: passes_of(rows, *options), self._minimised
            )
        elif isinstance(windows, FilledWindows) and min(shape):
            self._pairs = self.bounds = bounds_of(windows, block)
            # Costs of the passes are cut off at a limit, and powers of a GPU are rounded in another way.
            if block.limit is None and block.costs.p is None:
                block.on_gpu = self.costs_of_points

    def close(self) -> None:
        """Drops what lies on the GPU.

        Passes and costs refer to their part, so all would stay until Python looks for cycles.
        """
        if isinstance(self.block, CheckedWindows):
            self.block.entries_of_core = None
        elif isinstance(self.block, PointBlock):
            self.block.on_gpu = None
        self.passes = self._uncut = self._pairs = self.bounds = self.picked = None
        vars(self).pop("_turned_points", None)
        self._offered.clear()

    @property
    def for_core(self) -> Any:
        """Passes over windows, or passes over pairs of points. No window holds what points cost."""
        return super().for_core if self._pairs is None else self._pairs

    @property
    def rows_seen(self) -> int:
        """How many rows passes have read so far."""
        return self._windows.rows_seen + (0 if self.bounds is None else self.bounds.rows_seen)

    def _tiles_of_pairs(self, numbers: Any) -> Iterator[Tile]:
        windows: Any = self._windows
        return (Tile(rows, slice(0, self.shape[1]), rows) for rows in windows.each_pairs(numbers))

    def _over_windows(self, limit: int | float | None) -> WindowPasses:
        return WindowPasses(self, self.tiles, lambda costs: self._passes_of(costs, limit), self._minimised)

    def _minimised(self, entries: Any) -> Any:
        return minimised(entries, self.dual_type, self.block.maximize, self.block.limit)

    def tiles(self, rows: Any = None) -> Iterator[Tile]:
        """The windows that have some of these rows, one after the other; all for None."""
        whole, wanted = slice(0, self.shape[1]), None
        if rows is not None and not self._turned:
            ends = [np.searchsorted(rows, (each.start, each.stop)) for each in self._windows.windows]
            wanted = [number for number, (first, end) in enumerate(ends) if end > first]
        for here, entries in self._windows.each(wanted):
            if self._turned:
                yield Tile(slice(0, self.shape[0]), here, self.xp.ascontiguousarray(entries.T))
            else:
                yield Tile(here, whole, entries)

    def values(self, rows: Any) -> Any:
        """A copy of some rows of the problem, on the GPU; `rows` are numbers, increasing."""
        values = self.xp.empty((len(rows), self.shape[1]), self.dual_type)
        numbers = to_host(rows)
        for tile in self.tiles(numbers):
            first, end = np.searchsorted(numbers, (tile.rows.start, tile.rows.stop)).tolist()
            values[first:end, tile.columns] = self._minimised(tile.costs[rows[first:end] - tile.rows.start])
        return values

    def places(self, picks: Picks) -> Places:
        places = super().places(picks)
        if isinstance(self.block, CheckedWindows):
            self._offered.append(places)
        return places

    def entries_of(self, row_match: Any) -> Any:
        """What pairs of the core cost, as `CheckedWindows.entries_of` tells it; None if some are not in the core."""
        rows = (row_match >= 0).nonzero()[0]
        if self.block.limit is not None:  # costs of the core are cut off
            return None
        columns = row_match[rows].astype(np.int64)
        wanted = self.here(columns * self.shape[1] + rows if self._turned else rows * self.shape[1] + columns)
        found = self.xp.full(len(rows), self.far, self.dual_type)
        for keys, costs in self._offered:
            if not len(keys):
                continue
            at = self.xp.minimum(self.xp.searchsorted(keys, wanted), len(keys) - 1)
            found = self.xp.where(keys[at] == wanted, costs[at], found)
        if bool((found == self.far).any()):
            return None
        return to_host(-found if self.block.maximize else found).astype(self.block.dtype)

    def costs_of_points(self, rows: Any, columns: Any) -> Any:
        """What pairs of the given points cost, by numbers of their rows and columns."""
        first, second = (columns, rows) if self.block.transposed else (rows, columns)
        costs = to_host(self.bounds.costs(self.here(first * self.shape[1] + second)))
        return -costs if self.block.maximize else costs

    def allowed_outside(self, rows: Any, inside: Any) -> int:
        if self.bounds is not None:  # all pairs of points are allowed
            return len(rows) * int((~inside).sum())
        numbers, number = to_host(rows), 0
        for tile in self.tiles(numbers):
            first, end = np.searchsorted(numbers, (tile.rows.start, tile.rows.stop)).tolist()
            for some in blocks_of((end - first, self.shape[1]), "gpu"):
                own = rows[first:end][some] - tile.rows.start
                number += int((self._minimised(tile.costs[own][:, ~inside[tile.columns]]) < self.far).sum())
        return number

    def duals_of_centroids(self) -> Any:
        """Duals of the columns: for each y the least cost - u of all centroids of x.

        None if the costs are no points of few coordinates, if columns may stay free, or if `Coarse.of` has none.
        """
        windows: Any = self._windows
        few = self._pairs is not None and self.bounds is None
        if not few or self.limit is not None or self.shape[0] < self.shape[1]:
            return None
        self.coarse = Coarse.of(windows.of, assigned_on_gpu)
        if self.coarse is None:
            return None
        to_rows = windows.on_gpu(windows.of.given[1], self.coarse.points.x)
        return to_host(self._least_of(to_rows, slice(0, self.shape[1]), self.here(self.coarse.u)))

    def reduced(self, v: Any) -> Any:
        """The least cost - u of each column, where u is the least cost - v of each row. Columns pick pairs by these u.

        No row wants a point that is far from all others at first. By this pass such points have pairs and duals, too.
        """
        here, turned = self.here(v), self.bounds.turned()
        best = self.bounds.price(self.all_rows(), here, Depth(0, 1.0), 1)
        u = self.lists.least_of_rows((best.places, best.costs), here, self.shape)
        columns, shape = self.here(np.arange(self.shape[1], dtype=np.int32)), self.shape[::-1]
        picks = turned.price(columns, u, Depth(0, 1.0), PICKED_BY_COLUMNS)
        self.picked = self.lists.turned(picks.places, 0, shape), None
        return to_host(self.lists.least_of_rows((picks.places, picks.costs), u, shape))

    def refined(self, v: Any) -> Any:
        """Better duals. In turns, duals pick a core and an auction in the core gives duals.

        This ends when few rows want a column that is not in the core.
        """
        self._pick(v)
        for number in range(1, MOST_AUCTIONS + 1):
            v = self._bid(v)
            unknown = self._pick(v)
            if unknown * PART_UNKNOWN <= self.shape[0]:
                break
            has_fours = self.bounds is not None and self.shape[0] >= FOUR
            if has_fours and number == ENOUGH_AUCTIONS and unknown * PART_MISLED > self.shape[0]:
                v = self.duals_of_fours()
                self._pick(v)
        self.starts_near = True
        return v

    def duals_of_fours(self) -> Any:
        """Duals of the columns: for each y about the least cost - u of all centroids of four near points x each."""
        windows: Any = self._windows
        points = windows.of
        x, y = (centroids_of(cloud[order_of_tree(cloud, FOUR)], FOUR) for cloud in (points.x, points.y))
        u = self.here(assigned_on_gpu(points.with_points(x, y))[0])
        bounds, shape = bounds_of(windows, self.block, (points.given[1], x)), (self.shape[1], len(x))
        numbers = self.here(np.arange(shape[0], dtype=np.int32))
        picks = bounds.price(numbers, u, Depth(0, 1.0), 1)
        return to_host(self.lists.least_of_rows((picks.places, picks.costs), u, shape))

    def _pick(self, v: Any) -> int:
        """Picks the best few pairs of each row by these duals; of few coordinates also of each column.

        Pairs picked before stay. Returns how many rows have a best pair that was not picked before, or 0 if the pairs
        picked before are enough for the gap: then no other pair is picked.
        """
        offered, before, here = core.price(self, v, DEPTH_BY_AUCTIONS), self.picked, self.here(v)
        if before is not None and self._is_near(before, offered, v):
            return 0
        self.picked, unknown, keys = None, self.shape[0], offered[0]
        if before is not None:
            unknown = self.lists.rows_that_want(offered, here, self.shape, before[0])
            keys = self._with(keys, before[0])
        elif self.bounds is None:
            keys = self._with(keys, self.pairs_of_centroids())
        del offered, before  # what these pairs cost goes with them, and is computed again
        if self.bounds is None:
            keys = self._with(keys, self._picked_by_columns(here))
        self.picked = keys, self._costs_of(keys)
        return unknown

    def _is_near(self, known: Places, offered: Places, v: Any) -> bool:
        """Whether known pairs are nearly as good, by these duals, as the best of all pairs, which are offered.

        Half of the gap is for what a search in the known pairs changes.
        """
        if self.gap is None or known[1] is None:
            return False
        u, best = (to_host(self.lists.least_of_rows(pairs, self.here(v), self.shape)) for pairs in (known, offered))
        return is_near(u, v, np.maximum(u - best, 0), self.gap / 2)

    def _with(self, keys: Any, others: Any) -> Any:
        return self.lists.merged((keys, None), (others, None))[0]

    def _costs_of(self, keys: Any) -> Any:
        if self.bounds is not None:
            return self.bounds.costs(keys)
        points: Any = self._windows
        return points.points.passes(slice(0, self.shape[0]), self.block.maximize, self.limit).costs(keys)

    @cached_property
    def _turned_points(self) -> Any:
        windows: Any = self._windows
        return windows.on_gpu(windows.of.y, windows.of.x)

    def _picked_by_columns(self, v: Any) -> Any:
        """The best pairs of each column by the u that follow from v, increasing."""
        windows: Any = self._windows
        u, shape, found = self._least_of(windows.points, slice(0, self.shape[0]), v), self.shape[::-1], []
        for some in self._some():
            passes = self._turned_points.passes(some, self.block.maximize, self.limit)
            places = passes.price(None, u, Depth(0, 1.0)).places
            found.append(self.lists.turned(places, some.start, shape))
        keys = found[0] if len(found) == 1 else self.xp.concatenate(found)
        keys.sort()
        return keys

    def pairs_of_centroids(self) -> Any:
        """Pairs that an assignment can be made of."""
        assert self.coarse is not None, "it gave the duals"
        rows, columns = self.coarse.pairs(self.shape[0])
        keys = self.here(rows * self.shape[1] + columns)
        keys.sort()
        return keys

    def _bid(self, v: Any) -> Any:
        """Duals that an auction in the picked pairs gives."""
        assert self.picked is not None, "it was just picked"
        arrays, lowest, highest = self.lists.less_duals(self.picked, self.here(v), self.shape)
        found = self.bids_on(SparseCosts.of_checked(arrays, self.shape, lowest, highest))
        return with_highest_zero(v + to_host(found.v))

    def bids_on(self, costs: SparseCosts) -> Any:
        """What an auction makes of the costs of a core."""
        return bids_on(costs)

    def _some(self) -> Iterator[slice]:
        return slices_of_passes(self.shape[1])

    def _least_of(self, points: Any, rows: slice, v: Any) -> Any:
        passes = points.passes(rows, self.block.maximize, self.limit)
        self._windows.rows_seen += rows.stop - rows.start
        return passes.least_of_rows(self.here(np.arange(rows.stop - rows.start, dtype=np.int32)), v)[0]

    def prices(self, have_misled: bool = False) -> Any:
        """Duals of the columns, by which entries are picked. If the first duals `have_misled`, there are more steps."""
        block, windows = cast(Any, self.block), cast(Any, self._windows)
        is_there = isinstance(block, CheckedWindows)
        bounds: Any = None if is_there else self.bounds or bounds_of(windows, block)
        unit, limit, free = block.unit if is_there else bounds.unit, None, np.inf
        if block.limit is not None:
            with np.errstate(over="ignore"):
                limit = float(np.float32(block.limit / unit))
            free = limit if self.limit is None else np.inf
        sample: StoredRows | RowsOfPoints
        if is_there:
            costs = block.sample
            sample = StoredRows(costs if limit is None else self.xp.where(costs < limit, costs, np.float32(free)))
        else:
            rows = range(0, self.shape[0], -(-self.shape[0] // MOST_SAMPLED))
            sample = RowsOfPoints(bounds, self.shape[1], rows, limit, free)
        prices = prices_on_gpu(sample, None if self.limit is None else limit, self.shape[0], have_misled) * unit
        return np.rint(prices).astype(np.int64) if self.dual_type is np.int64 else prices

    def _lies_by_columns(self) -> bool:
        return False


def bounds_of(windows: FilledWindows, block: Any, clouds: Any = None) -> Any:
    """Passes over the pairs of points of a problem by bounds, or over the pairs of other clouds."""
    points = windows.of
    centre = middle(*points.given) if points.metric in SQUARES else np.zeros(points.coordinates)
    asked = block.maximize, block.limit, max(-points.lowest, points.highest)
    return (windows.points if clouds is None else windows.on_gpu(*clouds)).bounds(centre, asked)


# The passes that `core` calls, over windows.


def start(ranks: Ranks, part: Any, v: Any) -> Any:
    """As `core.start`: given duals, or duals of centroids or prices from some rows, which auctions may refine."""
    if v is not None:
        return v.astype(part.dual_type)
    v = part.duals_of_centroids()
    if v is None:
        v = part.prices()
        # Auctions refine prices of points of many coordinates only, and only if all columns are matched.
        if part.bounds is None or part.limit is not None or part.shape[0] < part.shape[1]:
            return v
        v = part.reduced(v)
    return part.refined(v)


def price(part: GpuWindowPart, v: Any, times: int) -> Places:
    """As `core.price`. If the duals come from auctions, these have picked the pairs already.

    By other duals rows pick up to 128 entries (96 of points of many coordinates), whatever `times` is: duals from a
    sample are rough.
    """
    picked, part.picked = part.picked, None
    return core.price(part, v, MOST_PICKED) if picked is None else picked


def start_again(ranks: Ranks, part: Any) -> Any:
    """As `core.start_again`: prices in more steps. None after duals of centroids, which are better than prices."""
    return part.prices(have_misled=True) if part.coarse is None else None


def bids_on(costs: SparseCosts) -> Any:
    """What an auction alone makes of the costs of a square problem."""
    made: Any = backend_for(None, "gpu")
    return made.bid_sparse(costs)


def is_near(u: Any, v: Any, excess: Any, gap: float) -> bool:
    """As `is_near_enough`. Exact sums of a million points take 0.3 s, so they decide only where roundings matter."""
    sums = [float(numbers.sum()) for numbers in (u, v, excess, abs(u), abs(v))]
    cost, off = sums[0] + sums[1], OF_A_SUM * sum(sums[2:])
    answers = {suffices(cost + way * off, cost - sums[2] - way * off, gap) for way in (-1, 1)}
    return is_near_enough(u, v, excess, gap) if len(answers) > 1 else answers.pop()


def overpriced(part: GpuWindowPart, u: Any, v: Any) -> tuple[int, Places]:
    """As `core.overpriced`. The pass reads only the rows that `RisenRows` names.

    With a gap, it reads all rows, and also finds how far u is above the least cost - v of each row.
    """
    passes: Any = part.for_core
    if part.gap is None:
        rows = part.margins.rows_to_read(u, v)
        picks = passes.overpriced(part.here(rows.astype(np.int32)), *part.own(u, v), Depth(1, part.share, part.limit))
        places = part.places(picks)
        at, columns = np.divmod(to_host(places[0]), part.shape[1])
        is_cheap = to_host(places[1]) - v[columns] - u[at] < -ROUNDINGS * abs(u[at])
        part.margins.note_listed(rows, u, at[is_cheap])
        return picks.overpriced, places
    picks, least = passes.overpriced_and_least(part.all_rows(), *part.own(u, v), Depth(1, part.share, part.limit))
    excess = np.maximum(u - to_host(least), 0)
    if part.limit is not None:
        excess = np.where(u > part.limit, np.maximum(excess, u - part.limit), excess)
    if picks.overpriced and is_near(u, v, excess, part.gap):
        part.excess = excess
        return 0, part.places(picks.some(slice(0, 0)))
    return picks.overpriced, part.places(picks)


PASSES = Passes(start, price, overpriced, core.outside, start_again)
