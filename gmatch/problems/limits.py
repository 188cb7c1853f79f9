"""What costs may be: their range, a limit, and sums that must not overflow."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Device, truth_of
from ..devices import READERS, cpu
from ..errors import InvalidInput, changed
from ..foreign import EXACT_IN_FLOAT64
from ..types import number_type

# The integer that means a forbidden pair in the programs: no cost, limit or dual may reach it.
INFINITE_INTEGER = 2**63 - 1


# Duals, slacks, distances and the marks of the programs stay within 32 spreads of the costs: see DenseCosts.
SPREADS = 32


# Entries that a check in array code looks at together: few enough to stay in a cache, many enough to hide a launch.
ENTRIES_PER_BLOCK = {"cpu": 1 << 17, "gpu": 1 << 22}


# Duals of a doubled problem may be this many times as large as the halves of their sums. A pair has four roundings of
# them, and `verify` allows each vertex 64 roundings of the largest half.
TIMES_OF_HALVES = 16


# The check of costs on a GPU counts the cheaper pairs of matrices with this number of rows and columns, and more. They
# are few if at most 1 pair in FEW is cheaper, as on a host. The common cost must be no more than FAR times as far from
# the lowest cost as the cost of the most expensive cheaper pair is. The first epsilon of an auction is as large as
# costs of a row lie apart. With a common cost of 1e5 beside costs of 0 to 1 the sparse problem takes 1.7 times as long
# as a core: benchmarks/log/core_gpu.md, "Few cheaper pairs on a GPU".
FEWEST_ROWS_OF_FEW_PAIRS, FEW, FAR = 1000, 64, 8


# On a GPU duals of costs below this magnitude are not checked for costs that they hide. The check would take as long as
# a small problem.
LARGE_ON_GPU = 2.0**20


DualType = type[np.int64] | type[np.float64]


def dual_type_of(number: np.dtype[Any]) -> DualType:
    """The type of the duals, and of sums of costs, for entries of type `number`."""
    return np.int64 if number.kind == "i" else np.float64


class Asked(NamedTuple):
    """The options of costs, under the names of `lap`, and the threads that may check the costs."""

    maximize: bool = False
    cost_limit: Any = None
    forbid_nan: bool = False
    threads: int | None = None

    @classmethod
    def checked(cls, maximize: Any, cost_limit: Any, forbid_nan: Any) -> Asked:
        """The options, checked. The limit is checked later, together with the type of the costs."""
        return cls(truth_of("maximize", maximize), cost_limit, truth_of("forbid_nan", forbid_nan))

    def of_costs(self) -> dict[str, Any]:
        """The options that costs keep."""
        return {"maximize": self.maximize, "cost_limit": self.cost_limit, "forbid_nan": self.forbid_nan}


class Range(NamedTuple):
    """The range of finite costs in the minimisation form; both ends are 0 if there are none."""

    lowest: int | float
    highest: int | float
    forbids: bool  # whether there are forbidden pairs
    whole: bool  # whether all are known to be whole

    def cut_off(self, limit: int | float) -> Range:
        """The range of these costs cut off at a limit. Forbidden pairs then cost the limit."""
        highest = limit if self.forbids else min(self.highest, limit)
        return Range(min(self.lowest, limit), highest, self.forbids, self.whole)


class Ranged:
    """Checked costs and their range. `DenseCosts` explains the attributes."""

    shape: tuple[int, int]
    transposed: bool
    dtype: np.dtype[Any]
    maximize: bool
    cost_limit: int | float | None
    limit: int | float | None
    lowest: int | float
    highest: int | float
    forbids: bool
    forbid_nan: bool
    overflows: bool
    dual_type: DualType
    device: Device
    few_pairs: Any = None  # the cheaper pairs, if nearly all pairs have one cost; copies of costs have None

    def _look_at(self, array: Any, number: np.dtype[Any], asked: Asked) -> Any:
        """Sets the attributes that follow from the entries of a matrix; `shape` and `device` are set before.

        Returns the entries that programs read: in a type that holds the limit, with an infinity for NaN.
        """
        maximize, cost_limit, forbid_nan, threads = asked
        if forbid_nan:
            array, forbid_nan = without_nan(array, maximize)
        if cost_limit is not None:
            cost_limit = number_of(cost_limit, number, maximize)
        found, few_pairs = self._range_and_few_pairs_of(array, maximize, cost_limit, threads)
        dtype, limit = number, limit_of(cost_limit, maximize, found.highest, found.forbids)
        if limit is not None:
            given, array = array, type_with_limit(limit, array, found.lowest, found.highest)
            number = number if array is given else array.dtype
            few_pairs = few_pairs if array is given else None
            found = found.cut_off(limit)
        lowest, highest, forbids, whole = found
        vars(self).update(
            lowest=lowest, highest=highest, forbids=forbids, whole=whole, dtype=dtype, maximize=maximize,
            cost_limit=cost_limit, limit=limit, forbid_nan=forbid_nan, dual_type=dual_type_of(number),
            is_narrow=array.dtype != number, overflows=not sums_fit(lowest, highest, number, min(self.shape)),
            few_pairs=few_pairs,
        )  # fmt: skip
        return array

    def _range_and_few_pairs_of(
        self, array: Any, maximize: bool, cost_limit: Any, threads: int | None
    ) -> tuple[Range, Any]:
        """The range, and the few cheaper pairs if nearly all pairs have one cost; on a GPU, how many these are."""
        if not array.size:
            return range_of(array, self.device, maximize, threads), None
        if self.device == "gpu":
            return _on_gpu(array, maximize, cost_limit)
        few_pairs, seen = cpu.inspect_with_few_pairs(array.T if self.transposed else array, maximize, threads)
        if few_pairs is None:
            return _range_from(seen, array, self.device, maximize), None
        return Range(few_pairs.lowest, few_pairs.highest, False, array.dtype.kind in "iu"), few_pairs

    @cached_property
    def fits_core(self) -> bool:
        """Whether duals of a few entries of each row, along a path of all pairs, stay in the range of their type."""
        most = (SPREADS + 8 * min(self.shape)) * (self.highest - self.lowest) + max(-self.lowest, self.highest)
        return most < INFINITE_INTEGER if self.dual_type is np.int64 else math.isfinite(most)

    def dual_spread(self) -> int | float:
        """How far duals of columns may lie apart at the start; in an optimum they need not lie farther apart."""
        spread = self.highest - self.lowest
        if self.dual_type is np.float64:
            return spread * min(self.shape) if self.forbids else spread
        most = (INFINITE_INTEGER - 1 - max(-self.lowest, self.highest)) // SPREADS
        return max(min(spread, most - int(spread)), 0)  # 0 for costs that are solved in parts


class RowsOfCosts(Ranged):
    """Checked costs of which only some rows are known at a time: the rows of a rank, or of a window."""

    def entries_of(self, row_match: Any) -> Any:
        """The entries of the pairs of the rows that are known, in the order of the rows, as given."""
        raise NotImplementedError


# The end of a message.
WAY_OUT_OF_NAN = "; if NaN is for a pair that is not allowed, use forbid_nan=True"


def minimised(entries: Any, dtype: Any, maximize: bool, limit: int | float | None) -> Any:
    """A copy of some entries as costs of the minimisation form, cut off at a limit, in another type.

    -2**63 is maximized as 1 - 2**63, since int64 does not hold its negation: see `splits`.
    """
    values = entries.astype(dtype)
    if maximize:
        if dtype is np.int64 and entries.dtype == np.int64:
            values = values.clip(1 - 2**63, None)
        values = -values
    return values if limit is None else values.clip(None, limit)


def unit_of(lowest: int | float, highest: int | float) -> float:
    """A power of two near the largest magnitude: float32 holds costs that are divided by it. 1 if all costs are 0."""
    largest = max(-lowest, highest)
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0 else 1.0


def blocks_of(shape: tuple[int, int], device: Device) -> Iterator[slice]:
    """Slices of the rows of a matrix, each of a bounded number of entries, or one row."""
    rows, columns = shape
    step = max(1, ENTRIES_PER_BLOCK[device] // max(columns, 1))
    return iter([slice(first, min(first + step, rows)) for first in range(0, rows, step)])


def without_nan(array: Any, maximize: bool) -> tuple[Any, bool]:
    """The array with the infinity that forbids a pair in place of NaN, and whether it had NaN. If so, it is a copy."""
    is_nan = array != array if number_type(array.dtype).kind == "f" else np.False_
    if not bool(is_nan.any()):
        return array, False
    array = array.copy(order="K")
    array[is_nan] = -math.inf if maximize else math.inf
    return array, True


def range_of(array: Any, device: Device, maximize: bool, threads: int | None = None) -> Range:
    """The range of the costs of an array. Raises `InvalidInput` if an entry is no cost."""
    if not array.size:
        return Range(0, 0, False, True)
    return _range_from(READERS[device].inspect_costs(array, threads), array, device, maximize)


def _on_gpu(array: Any, maximize: bool, cost_limit: Any) -> tuple[Range, int | None]:
    """The range, and the number of the cheaper pairs if nearly all pairs cost the same, or the limit; else None."""
    if min(array.shape) < FEWEST_ROWS_OF_FEW_PAIRS:
        return range_of(array, "gpu", maximize), None
    reader: Any = READERS["gpu"]  # the only one with this check
    seen, (expensive, bound, below) = reader.inspect_with_expensive(array, maximize, cost_limit)
    found, few = _range_from(seen, array, "gpu", maximize), array.size - expensive
    limit = limit_of(cost_limit, maximize, found.highest, found.forbids)
    common = found.highest if limit is None else limit
    if (-bound if maximize else bound) != common or (found.forbids and limit is None):
        return found, None  # the sample has missed the highest cost
    below = -below if maximize else below
    is_few = 0 < FEW * few <= array.size and common - found.lowest <= FAR * (below - found.lowest)
    return found, few if is_few and _fit_doubled(Range(found.lowest, common, False, False), few, array) else None


def _fit_doubled(costs: Range, few: int, array: Any) -> bool:
    """Whether the sparse problem fits: it has twice the costs, and a row for each row and each column."""
    rows, lowest, highest = sum(array.shape), min(2 * costs.lowest, 0), max(2 * costs.highest, 0)
    most = (SPREADS + 8 * rows) * (highest - lowest) + max(-lowest, highest)
    is_whole = number_type(array.dtype).kind == "i"
    return 2 * few + rows < 2**31 and (most < INFINITE_INTEGER if is_whole else math.isfinite(most))


def _range_from(seen: Any, array: Any, device: Device, maximize: bool) -> Range:
    lowest, highest, has_nan, has_plus_inf, has_minus_inf, whole = seen
    if has_nan or (has_plus_inf if maximize else has_minus_inf):
        raise _what_is_wrong(array, device, has_nan, maximize)
    if lowest > highest:
        return Range(0.0, 0.0, True, True)
    if maximize:
        return Range(-highest, -lowest, has_minus_inf, whole)
    return Range(lowest, highest, has_plus_inf, whole)


def _what_is_wrong(array: Any, device: Device, nan: bool, maximize: bool) -> InvalidInput:
    """The error that names the first entry that is no cost."""
    refused = math.inf if maximize else -math.inf
    for rows in blocks_of(array.shape, device):
        found = ((array[rows] != array[rows]) if nan else (array[rows] == refused)).nonzero()
        if len(found[0]):
            entry = rows.start + int(found[0][0]), int(found[1][0])
            break
    else:
        return changed("cost")
    if nan:
        return InvalidInput(f"cost must not hold NaN; entry {entry} does{WAY_OUT_OF_NAN}")
    return InvalidInput(
        f"cost must not hold {refused:+} when {'maximizing' if maximize else 'minimizing'} ({-refused:+} forbids a "
        f"pair); entry {entry} does"
    )


def number_of(cost_limit: Any, dtype: np.dtype[Any], maximize: bool) -> int | float | None:
    """The limit as a Python number: an int for integer costs if it is whole. None if it is no limit at all."""
    try:
        if isinstance(cost_limit, str | bytes):
            raise TypeError
        value = _whole_or_float(cost_limit) if dtype.kind == "i" else float(cost_limit)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"cost_limit must be a number; got {cost_limit!r}") from None
    if isinstance(value, float):
        if value == (-math.inf if maximize else math.inf):
            return None
        if not math.isfinite(value):
            raise InvalidInput(f"cost_limit must be finite; got {value}")
        if dtype.kind == "i" and value.is_integer():
            return int(value)
    return value


def _whole_or_float(number: Any) -> int | float:
    try:
        return operator.index(number)
    except TypeError:
        return float(number)


def limit_of(cost_limit: int | float | None, maximize: bool, highest: int | float, forbids: bool) -> int | float | None:
    """The limit of the minimisation form; None if no cost is above."""
    if cost_limit is None:
        return None
    limit = -cost_limit if maximize else cost_limit
    return limit if limit < highest or forbids else None


def type_with_limit(limit: int | float, array: Any, lowest: int | float, highest: int | float) -> Any:
    """The costs in a type that also holds the limit."""
    if array.dtype.kind == "i" and highest >= 2**63:
        raise InvalidInput(
            "cost must not hold -2**63 when maximizing: int64 does not hold what such a pair costs, 2**63; add 1 to "
            "all costs and to the limit"
        )
    if number_type(array.dtype).kind == "f" or isinstance(limit, int):
        return array
    largest = max(abs(lowest), abs(highest))
    if largest > EXACT_IN_FLOAT64:
        raise InvalidInput(
            f"cost_limit must be whole for integer costs beyond 2**53, which float64 does not hold; got {abs(limit)} "
            f"with a cost of magnitude {largest}"
        )
    return array.astype(np.float64)


def sums_fit(lowest: int | float, highest: int | float, dtype: np.dtype[Any], pairs: int) -> bool:
    """Whether sums stay in the range of the duals' type."""
    spread, largest = highest - lowest, max(-lowest, highest)
    if dtype.kind == "i":
        return SPREADS * spread + largest < INFINITE_INTEGER
    return math.isfinite((SPREADS + 8 * pairs) * spread + pairs * largest)


def way_to_smaller_sums(without_offset: int) -> str:
    """What to do if sums of integers could overflow. float64 would make costs equal that differ by little."""
    if without_offset < INFINITE_INTEGER:
        return "subtract the least cost from all costs and from the cost_limit, which changes no answer"
    return (
        "divide by a common factor, or, if the differences that float64 rounds away do not matter (beyond 2**53), use "
        "cost.astype(np.float64)"
    )


def refuse_overflow(lowest: int | float, highest: int | float, dtype: np.dtype[Any], pairs: int) -> None:
    """Raises `InvalidInput` if sums of costs do not stay in the range of the duals' type."""
    if sums_fit(lowest, highest, dtype, pairs):
        return
    spread, largest = highest - lowest, max(-lowest, highest)
    if dtype.kind == "i":
        raise InvalidInput(
            f"sums of these costs could overflow int64: {SPREADS} * (highest - lowest) + the largest magnitude must be "
            f"below 2**63 - 1; got {SPREADS} * {spread} + {largest}; {way_to_smaller_sums((SPREADS + 1) * int(spread))}"
        )
    raise InvalidInput(
        f"sums of these costs could overflow float64: highest - lowest is {spread}, the largest magnitude {largest}; "
        "divide them by a power of two"
    )
