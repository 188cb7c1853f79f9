"""The costs of a dense assignment problem: checked once, then frozen."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from .backends import Device, backend_for, device_of
from .errors import GmatchError, InvalidInput, changed
from .foreign import EXACT_IN_FLOAT64, array_of_frame, as_sparse, is_frame, library_of, unwrapped, way_in

MAX_VERTICES = 2**31 - 2
# What the programs take for a forbidden pair: no cost, limit or dual may reach it.
INFINITE_INTEGER = 2**63 - 1
# Duals, slacks, distances and the marks of the programs stay within so many spreads of the costs: see DenseCosts.
SPREADS = 32
# Entries that a check in array code looks at together: few enough to stay in a cache, many enough to hide a launch.
ENTRIES_PER_BLOCK = {"cpu": 1 << 17, "gpu": 1 << 22}
# DLPack's numbers for memory that a CUDA device reads: its own, and managed.
DLPACK_CUDA = (2, 13)
# On a GPU the duals of smaller costs are not looked at for what they hide: that would take as long as a small problem.
LARGE_ON_GPU = 2.0**20

# The end of a message.
WAY_OUT_OF_NAN = "; if NaN is for a pair that is not allowed, use forbid_nan=True"

# The types the programs are compiled for, and the narrowest of them that holds the values of another type.
WORKING_TYPES = frozenset(np.dtype(name) for name in ("int32", "int64", "float32", "float64"))
WIDER_TYPE = {
    ("b", 1): np.int32, ("i", 1): np.int32, ("i", 2): np.int32, ("i", 4): np.int32, ("i", 8): np.int64,
    ("u", 1): np.int32, ("u", 2): np.int32, ("u", 4): np.int64, ("u", 8): np.int64,
    ("f", 2): np.float32, ("f", 4): np.float32, ("f", 8): np.float64,
}  # fmt: skip


class DenseCosts:
    """The costs of every row and column, as `gmatch.lap` takes them.

    Checked when it is made, in O(rows * columns) time, without a copy where the type fits and with O(1) memory; give it
    to `gmatch.lap` instead of the matrix to check once and solve often. Do not change its array.

    Parameters
    ----------
    cost : array, shape (rows, columns)
        NumPy or CuPy array, anything with ``__cuda_array_interface__``, ``__dlpack__`` or ``__array__`` (so PyTorch
        tensors), or nested lists. In any order and with any strides. int32, int64, float32 and float64 are used as
        they lie; bool, int8, int16, uint8 and uint16 are copied to int32, uint32 and uint64 (below 2**63 - 1)
        to int64, float16 and bfloat16 to float32. +inf forbids a pair, or -inf when maximizing.
    maximize : bool
        Whether the dearest assignment is wanted. Nothing is negated here: the programs do that as they read.
    cost_limit : number, optional
        A pair dearer than this is never made (when maximizing: a pair worth less); see `gmatch.lap`. A limit that is
        not whole makes a float64 copy of integer costs.
    forbid_nan : bool
        Whether NaN forbids its pair; otherwise it is refused. Makes a copy if there is any.

    Attributes
    ----------
    array : array, shape (fewer, more)
        The costs as the programs read them: a view, transposed if there are more rows than columns, so that all its
        rows are to be matched, and if a square matrix lies in memory by columns, so that its rows are read in one go.
    transposed : bool
        Whether `array` is.
    shape : (int, int)
        Rows and columns as given.
    dtype : dtype
        Of the entries; that of `array` unless a limit made a copy.
    maximize : bool
    cost_limit : int or float or None
        As given.
    limit : int or float or None
        Where the costs of the minimisation form, minus the entries when maximizing, are cut off from above; None if
        no cost is above.
    lowest, highest : int or float
        The range of the finite costs of the minimisation form, after the cut; both 0 if there are none.
    forbids : bool
        Whether there are forbidden pairs. With a limit they are only dear.
    forbid_nan : bool
        Whether there were NaN, which forbid their pairs; in `array` they are infinite.
    whole : bool
        Whether the finite costs are known to be whole numbers: integers, and on a GPU floats that have no fractions.
    overflows : bool
        Whether sums of the costs could overflow, and `gmatch.lap` splits them: see `gmatch.ExactDuals`.
    device : {"cpu", "gpu"}
        Where the array lives.

    Raises
    ------
    InvalidInput
        If the costs are not a matrix of such numbers, or hold NaN or the infinity that forbids nothing; or if sums of
        costs could overflow: ``32 * (highest - lowest) + max(-lowest, highest)`` must be below 2**63 - 1 for integers,
        and every answer is then exact; for floats, a like sum that grows with the number of pairs must be finite. Costs
        beyond that are taken where they are multiples of a big number and small rests, as integers near 2**63 that
        differ by little are, or ``sys.maxsize`` for "not" among small ones: see `gmatch.ExactDuals`.

    Notes
    -----
    Why so little is enough for any number of rows: the dual of a column f is what it was at the start for as long as f
    is free. While duals are feasible, ``u[i] <= c[i, f] - v[f]``, so a matched pair has ``v[j] = c[i, j] - u[i] >=
    v[f] - (highest - lowest)``: duals stay within two spreads of where they started, and slacks within four. Only
    forbidden pairs, of which integers have none, let duals spread along a path of many pairs.
    """

    array: Any
    transposed: bool
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    maximize: bool
    cost_limit: int | float | None
    limit: int | float | None
    lowest: int | float
    highest: int | float
    forbids: bool
    forbid_nan: bool
    whole: bool
    overflows: bool
    device: Device

    def __init__(self, cost: Any, *, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False) -> None:
        array = as_matrix(cost)
        shape = rows, columns = array.shape
        device = device_of(array)
        dtype = array.dtype
        maximize = truth_of("maximize", maximize)
        has_nan = False
        if truth_of("forbid_nan", forbid_nan):
            array, has_nan = without_nan(array, maximize)
        lowest, highest, forbids, whole = range_of(array, device, maximize)
        limit = None
        if cost_limit is not None:
            cost_limit = number_of(cost_limit, dtype, maximize)
            limit = limit_of(cost_limit, maximize, highest, forbids)
        if limit is not None:
            array = type_with_limit(limit, array, lowest, highest)
            lowest, highest = min(lowest, limit), limit if forbids else min(highest, limit)
        transposed = rows > columns or rows == columns and _lies_by_columns(array)
        vars(self).update(
            array=array.T if transposed else array, transposed=transposed, shape=shape, dtype=dtype, maximize=maximize,
            cost_limit=cost_limit, limit=limit, lowest=lowest, highest=highest, forbids=forbids,
            forbid_nan=has_nan, whole=whole, device=device, overflows=False,
        )  # fmt: skip
        if array.dtype != np.int32 or limit is not None:
            self._refuse_overflow()

    def _refuse_overflow(self) -> None:
        """Raises if sums could leave the range of the duals' type, and splitting the costs does not help."""
        try:
            refuse_overflow(self.lowest, self.highest, self.array.dtype, min(self.shape))
        except InvalidInput:
            from .tiers import splits_into_fitting

            if splits_into_fitting(self) is None:
                raise
            vars(self).update(overflows=True)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a DenseCosts is frozen; make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a DenseCosts is frozen; {name} cannot be deleted")

    def __repr__(self) -> str:
        rows, columns = self.shape
        wanted = "most" if self.maximize else "least"
        limit = "" if self.cost_limit is None else f", limit {self.cost_limit}"
        return f"<DenseCosts of {rows} rows and {columns} columns, {self.dtype}, {wanted}{limit}, on the {self.device}>"

    @property
    def matrix(self) -> Any:
        """The costs with rows and columns as given, shape `shape`: a view."""
        return self.array.T if self.transposed else self.array

    @property
    def dual_type(self) -> type[np.int64] | type[np.float64]:
        """Of the duals, and of sums of costs."""
        return np.int64 if self.array.dtype.kind == "i" else np.float64

    def slack_type(self) -> type[np.int32] | type[np.int64] | type[np.float64]:
        """Of a matrix of slacks: they stay within four spreads."""
        if self.array.dtype == np.int32 and 4 * (self.highest - self.lowest) < 2**31:
            return np.int32
        return self.dual_type

    def values_per_row(self) -> float:
        """How many values whole costs can have, over the number of rows; infinite for others."""
        if not self.whole:
            return math.inf
        return (self.highest - self.lowest) / max(1, len(self.array))

    def fits_core(self) -> bool:
        """Whether duals of a few entries of each row, along a path of all pairs, stay in the range of their type."""
        most = (SPREADS + 8 * len(self.array)) * (self.highest - self.lowest) + max(-self.lowest, self.highest)
        return most < INFINITE_INTEGER if self.dual_type is np.int64 else math.isfinite(most)

    def dual_spread(self) -> int | float:
        """How far duals of columns may lie apart at the start; in an optimum they need not lie farther apart."""
        spread = self.highest - self.lowest
        if self.dual_type is np.float64:
            return spread * len(self.array) if self.forbids else spread
        most = (INFINITE_INTEGER - 1 - max(-self.lowest, self.highest)) // SPREADS
        return min(spread, most - int(spread))

    def on(self, device: Device) -> DenseCosts:
        """These costs on a device; themselves if they are there."""
        return self if device == self.device else self._with(backend_for(None, device).to_device(self.array), device)

    def part(self, rows: Any, columns: Any) -> DenseCosts:
        """A copy of some rows and columns of `array` without its limit; the fewer become its rows."""
        array = self.array[rows][:, columns]
        return DenseCosts((array if len(rows) <= len(columns) else array.T).copy(order="C"), maximize=self.maximize)

    @classmethod
    def of_checked(
        cls, array: Any, maximize: bool, lowest: int | float, highest: int | float, whole: bool
    ) -> DenseCosts:
        """Costs on the host that need no check, with rows for the side with fewer vertices; any may be forbidden."""
        made = object.__new__(cls)
        vars(made).update(
            array=array, transposed=False, shape=array.shape, dtype=array.dtype, maximize=maximize, cost_limit=None,
            limit=None, lowest=lowest, highest=highest, forbids=True, whole=whole, device="cpu",
        )  # fmt: skip
        return made

    def _with(self, array: Any, device: Device) -> DenseCosts:
        other = object.__new__(DenseCosts)
        vars(other).update(vars(self), array=array, device=device)
        return other

    def row_blocks(self) -> Iterator[slice]:
        """Slices of the rows of `array` that are checked together."""
        return blocks_of(self.array.shape, self.device)

    def minimised(self) -> Any:
        """A copy of `array` as costs of the minimisation form, cut off at the limit, in the type of their sums."""
        return minimised(self.array, self.dual_type, self.maximize, self.limit)

    def places(self) -> tuple[Any, Any]:
        """Rows and columns of the entries of `array`, which broadcast to its shape."""
        arange = backend_for(None, self.device).arange
        return arange(len(self.array))[:, None], arange(self.array.shape[1])[None]

    def of_each_row(self, row_match: Any) -> Any:
        """The entry of `array` that each row is matched with."""
        return self.array[backend_for(None, self.device).arange(len(row_match)), row_match]

    def with_entries(self, entries: Any, allowed: Any, never: int | float) -> DenseCosts:
        """Costs of the same pairs: some entries, and `never` for pairs that are not allowed."""
        entries = entries.copy()
        entries[~allowed] = never
        return DenseCosts(entries)

    def is_allowed(self, entries: Any) -> Any:
        """Which of some entries do not forbid their pair, as booleans; with a limit none does."""
        return entries != (math.nan if self.limit is not None else -math.inf if self.maximize else math.inf)

    def may_pair(self, rows: Any, columns: Any) -> Any:
        """Which of some pairs of `matrix` are not forbidden, as booleans."""
        return self.is_allowed(self.matrix[rows, columns])

    def allowed_pairs(self) -> tuple[Any, Any, tuple[int, int]]:
        """The pairs of `array` that are not forbidden, as (indptr, indices, shape) of a graph."""
        degrees, columns = [], []
        for rows in self.row_blocks():
            allowed = self.is_allowed(self.array[rows])
            degrees.append(allowed.sum(axis=1))
            columns.append(allowed.nonzero()[1].astype(np.int32))
        ends = np.cumsum(np.concatenate(degrees))
        return np.concatenate([ends[:1] * 0, ends]), np.concatenate(columns), self.array.shape

    def of_pairs(self, row_match: Any, optimal: bool) -> Any:
        """The entries of the pairs of a matching of `matrix`, in the order of its rows; an optimal one makes all."""
        rows, columns = self.shape
        if optimal and rows <= columns:
            entries = backend_for(None, self.device).entry_of_each_row(self.matrix, row_match)
        else:
            places = (row_match >= 0).nonzero()[0]
            entries = self.matrix[places, row_match[places]]
        return entries.astype(self.dtype, copy=False)


def minimised(entries: Any, dtype: Any, maximize: bool, limit: int | float | None) -> Any:
    """A copy of some entries as costs of the minimisation form, cut off at a limit, in another type.

    Of integers -2**63 becomes 1 - 2**63, since int64 does not hold its negation.
    """
    values = entries.astype(dtype)
    if dtype is np.int64 and entries.dtype == np.int64:
        values = values.clip(1 - 2**63, None)
    if maximize:
        values = -values
    return values if limit is None else values.clip(None, limit)


def as_costs(cost: Any, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False) -> DenseCosts:
    """The costs themselves, or what `DenseCosts` makes of them."""
    if not isinstance(cost, DenseCosts):
        return DenseCosts(cost, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan)
    if maximize and not cost.maximize or cost_limit is not None:
        raise InvalidInput(
            "a DenseCosts has its own maximize and cost_limit; give them to DenseCosts(cost, maximize=..., "
            "cost_limit=...) instead"
        )
    return cost


def blocks_of(shape: tuple[int, int], device: Device) -> Iterator[slice]:
    """Slices of the rows of a matrix, each of a bounded number of entries, or one row."""
    rows, columns = shape
    step = max(1, ENTRIES_PER_BLOCK[device] // max(columns, 1))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def as_matrix(cost: Any) -> Any:
    """A matrix of a type the programs know, as they can read it; its values are not trusted yet."""
    array = as_dense_array(cost)
    if array.ndim != 2:
        raise InvalidInput(
            f"expected a matrix of costs, with rows and columns; got {type(cost).__name__} of {array.ndim} dimensions"
            f"{way_in(cost)}"
        )
    if max(array.shape) > MAX_VERTICES:
        raise InvalidInput(f"cost must have at most {MAX_VERTICES} rows and columns; got {array.shape}")
    return readable(array, cost)


def readable(array: Any, given: Any = None) -> Any:
    """The array in a type and with strides that the programs can read; a copy only if it has others.

    `given` is what the array was made of, for the advice of a message.
    """
    if array.dtype not in WORKING_TYPES:
        array = _widened(array, given)
    if any(stride % array.itemsize for stride in array.strides) or not getattr(array.flags, "aligned", True):
        array = array.copy()
    return array


def without_nan(array: Any, maximize: bool) -> tuple[Any, bool]:
    """The array with the infinity that forbids a pair in place of NaN, and whether there was any: then it is a copy."""
    is_nan = array != array if array.dtype.kind == "f" else np.False_
    if not bool(is_nan.any()):
        return array, False
    array = array.copy(order="K")
    array[is_nan] = -math.inf if maximize else math.inf
    return array, True


def as_dense_array(given: Any, what: str = "cost") -> Any:
    """A NumPy or CuPy array that shares its memory with what was given, if that is an array of any library."""
    if type(given) is np.ndarray or device_of(given) == "gpu":
        return given
    try:
        return _array_of(given, what)
    except (GmatchError, MemoryError):
        raise
    except Exception as error:  # whatever the methods of a user's class raise
        raise InvalidInput(
            f"{what} must be an array of numbers; got {type(given).__name__} ({_words_of(error)}){way_in(given, what)}"
        ) from error


def _words_of(error: Exception) -> str:
    """What an error says; its type, too, where NumPy and PyTorch do not raise that for an array they refuse."""
    known = TypeError, ValueError, BufferError, RuntimeError, np.ma.MAError
    return str(error) if isinstance(error, known) and str(error) else f"{type(error).__name__}: {error}"


def _array_of(given: Any, what: str) -> Any:
    if what == "cost" and _is_sparse(given):
        raise InvalidInput(
            f"expected a dense matrix of costs; got a sparse {type(given).__name__}; make a dense one, with inf (-inf "
            "when maximizing) for the pairs that are not stored"
        )
    if _is_masked(given):
        raise _masked(what)
    given = unwrapped(given)
    if isinstance(given, list | tuple):
        return _array_of_lists(given, what)
    if library_of(given) == "networkx":
        raise InvalidInput(f"{what} must be an array of numbers; got a networkx {type(given).__name__}{way_in(given)}")
    if is_frame(given):
        return array_of_frame(given)
    if str(getattr(given, "dtype", "")) == "torch.bfloat16":
        given = given.float()
    if hasattr(given, "__cuda_array_interface__"):
        return backend_for(None, "gpu").to_device(given)
    if hasattr(given, "__dlpack_device__") and given.__dlpack_device__()[0] in DLPACK_CUDA:
        return backend_for(None, "gpu").cupy.from_dlpack(given)
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    return np.asarray(given)


def _is_sparse(given: Any) -> bool:
    # By its type: a damaged matrix may raise when it is asked.
    return hasattr(type(given), "format") and hasattr(type(given), "nnz") or as_sparse(given) is not given


def _is_masked(given: Any) -> bool:
    return isinstance(given, np.ma.MaskedArray) and bool(np.ma.is_masked(given))


def _masked(what: str) -> InvalidInput:
    advice = "; use cost.astype(float).filled(inf) to forbid the masked pairs (-inf to maximize)"
    return InvalidInput(f"{what} must not be masked{advice if what == 'cost' else ''}")


def _array_of_lists(given: Any, what: str) -> Any:
    """What NumPy makes of nested lists; refused where it would drop the masks of rows, or round integers."""
    array = np.asarray(given)
    parts = [given]
    for _ in range(array.ndim - 1):
        parts = list(chain.from_iterable(part for part in parts if isinstance(part, list | tuple)))
        if any(map(_is_masked, parts)):
            raise _masked(what)
    if array.dtype == np.float64:
        large = np.isfinite(array) & (abs(array) >= EXACT_IN_FLOAT64)
        for number in np.array(given, object)[large] if large.any() else ():
            if isinstance(number, int | np.integer) and (number >= 2**63 or float(number) != int(number)):
                raise InvalidInput(
                    f"{what} must not mix {number} with smaller integers or with floats in a list: NumPy makes float64 "
                    "of all, which may round; give an array, such as np.array(cost, np.float64)"
                )
    return array


def _widened(array: Any, given: Any = None) -> Any:
    """A copy in the type of the programs that holds every value."""
    dtype = array.dtype
    wider = np.float32 if dtype.name == "bfloat16" else WIDER_TYPE.get((dtype.kind, dtype.itemsize))
    if wider is None:
        raise InvalidInput(
            f"cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; got {dtype}"
            f"{way_in(given) or _way_to_floats(array, given)}"
        )
    if dtype.kind == "u" and dtype.itemsize == 8 and array.size and int(array.max()) >= 2**63:
        raise InvalidInput(
            f"cost must hold integers below 2**63; the largest is {int(array.max())}; use cost.astype(np.float64)"
        )
    return array.astype(wider)


def _way_to_floats(array: Any, given: Any) -> str:
    """How to make floats of what is no number for NumPy, as the end of a message."""
    if array.dtype.kind not in "fO":
        return ""
    library = library_of(given)
    if library == "polars":
        return "; use cost.cast(polars.Float64)"
    if library == "pandas":
        return "; use cost.convert_dtypes(), or cost.astype(float)"
    makes = "np.array(cost, np.float64)" if isinstance(given, list | tuple) else "cost.astype(np.float64)"
    if array.dtype.kind == "O" and any(entry is None for entry in array.flat):
        return f"; use {makes}, which makes NaN of None, and forbid_nan=True if None is for a pair that is not allowed"
    return f"; use {makes}"


def may_round(array: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an array is of integers that another type may not hold exactly."""
    if dtype.kind != "f" or array.dtype != np.int64 or not array.size:
        return False
    return max(-int(array.min()), int(array.max())) > EXACT_IN_FLOAT64


def truth_of(name: str, given: Any) -> bool:
    """An option as a boolean: any truth, but not that of an array of several."""
    try:
        return bool(given)
    except MemoryError:
        raise
    except Exception as error:
        raise InvalidInput(f"{name} must be True or False; got {type(given).__name__}") from error


def _lies_by_columns(array: Any) -> bool:
    row_stride, column_stride = array.strides
    return bool(abs(row_stride) < abs(column_stride))


def range_of(array: Any, device: Device, maximize: bool) -> tuple[int | float, int | float, bool, bool]:
    """The range of the finite costs of the minimisation form, whether pairs are forbidden, whether all are whole."""
    if not array.size:
        return 0, 0, False, True
    lowest, highest, has_nan, has_plus_inf, has_minus_inf, whole = backend_for(None, device).inspect_costs(array)
    if has_nan or (has_plus_inf if maximize else has_minus_inf):
        raise _what_is_wrong(array, device, has_nan, maximize)
    if lowest > highest:
        return 0.0, 0.0, True, True
    return (-highest, -lowest, has_minus_inf, whole) if maximize else (lowest, highest, has_plus_inf, whole)


def _what_is_wrong(array: Any, device: Device, nan: bool, maximize: bool) -> InvalidInput:
    """Names the first entry that is no cost."""
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
            "cost must not hold -2**63 when maximizing, for int64 does not hold what such a pair costs, 2**63; use "
            "cost.astype(np.float64)"
        )
    if array.dtype.kind == "f" or isinstance(limit, int):
        return array
    largest = max(abs(lowest), abs(highest))
    if largest > EXACT_IN_FLOAT64:
        raise InvalidInput(
            f"cost_limit must be whole for integer costs beyond 2**53, which float64 does not hold; got {abs(limit)} "
            f"with a cost of magnitude {largest}"
        )
    return array.astype(np.float64)


def refuse_overflow(lowest: int | float, highest: int | float, dtype: np.dtype[Any], pairs: int) -> None:
    """Raises if sums could leave the range of the duals' type."""
    spread, largest = highest - lowest, max(-lowest, highest)
    if dtype.kind == "i" and SPREADS * spread + largest >= INFINITE_INTEGER:
        raise InvalidInput(
            f"sums of these costs could overflow int64: {SPREADS} * (highest - lowest) + the largest magnitude must be "
            f"below 2**63 - 1; got {SPREADS} * {spread} + {largest}; divide by a common factor, or, if the differences "
            "that float64 rounds away do not matter (beyond 2**53), use cost.astype(np.float64)"
        )
    if dtype.kind == "f" and not math.isfinite((SPREADS + 8 * pairs) * spread + pairs * largest):
        raise InvalidInput(
            f"sums of these costs could overflow float64: highest - lowest is {spread}, the largest magnitude "
            f"{largest}; divide them by a power of two"
        )
