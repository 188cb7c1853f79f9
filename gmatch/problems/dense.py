"""The costs of a dense assignment problem: checked once, then frozen."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from .. import _native
from ..arrays import Device, entry_of_each_row, mover_to, namespace, read_matrix
from ..foreign import has_labels, labels_of
from ..types import number_type
from .frozen import Frozen
from .limits import (
    Asked,
    Ranged,
    blocks_of,
    dual_type_of,
    minimised,
    range_of,
    refuse_overflow,
    sums_fit,
)
from .splits import ROOM, fit, splits_into_fitting


class DenseCosts(Frozen, Ranged):
    """The costs of every row and column, as `gmatch.lap` takes them.

    Checked when it is made, in O(rows * columns) time, without a copy where the type fits and with O(1) memory; give it
    to `gmatch.lap` instead of the matrix to check once and solve often. Do not change its array.

    Parameters
    ----------
    cost : array, shape (rows, columns)
        NumPy or CuPy array, anything with ``__cuda_array_interface__``, ``__dlpack__`` or ``__array__`` (so PyTorch
        tensors), or nested lists. In any order and with any strides. bool, int8 to int64, uint8, uint16, float16 to
        float64, and bfloat16 of the package ml_dtypes, are used as they lie; uint32 and uint64 (below 2**63 - 1) are
        copied to int64. +inf forbids a pair, or -inf when maximizing.
    maximize : bool
        Whether the assignment of the largest sum is wanted. Nothing is negated here: the programs negate as they read.
    cost_limit : number, optional
        Pairs that cost more than this are never matched (when maximizing: pairs worth less); see `gmatch.lap`. A limit
        that is not whole makes a float64 copy of integer costs.
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
        The type of the costs of pairs: int32 for narrower integers, float32 for narrower floats; otherwise the type of
        `array`, unless a limit made a copy.
    maximize : bool
    cost_limit : int or float or None
        As given.
    limit : int or float or None
        Where the costs of the minimisation form, minus the entries when maximizing, are cut off from above; None if
        no cost is above.
    lowest, highest : int or float
        The range of the finite costs of the minimisation form, after the cut; both 0 if there are none.
    forbids : bool
        Whether there are forbidden pairs. With a limit there are none: they only cost more than the limit.
    forbid_nan : bool
        Whether there were NaN, which forbid their pairs; in `array` they are infinite.
    whole : bool
        Whether the finite costs are known to be whole numbers: integers, and on a GPU floats that have no fractions.
    overflows : bool
        Whether sums of the costs could overflow, and `gmatch.lap` splits them: see `gmatch.ExactDuals`.
    is_narrow : bool
        Whether the entries have fewer bits than the numbers that the programs make of them.
    dual_type : type
        The type of the duals, and of sums of costs: numpy.int64 for integers, numpy.float64 for floats.
    row_nodes, col_nodes : tuple or None
        The labels of rows and columns, if the costs came as a DataFrame of pandas or polars or a DataArray of xarray;
        None for a side that has none.
    device : {"cpu", "gpu"}
        Where the array lives.
    few_pairs : object or None
        The cheaper pairs, if nearly all pairs have one cost. On a GPU it is their number. Solvers read only these
        pairs. Copies have none.

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
    32 spreads are enough for any number of rows, for this reason. The dual of a column f keeps its first value while f
    is free. While duals are feasible, ``u[i] <= c[i, f] - v[f]``, so a matched pair has ``v[j] = c[i, j] - u[i] >=
    v[f] - (highest - lowest)``. So duals stay within two spreads of where they started, and slacks within four. Only
    forbidden pairs let duals spread along a path of many pairs, and integers have no forbidden pairs.

    Examples
    --------
    >>> costs = gmatch.DenseCosts([[4, 1], [2, 0], [3, 2]])
    >>> costs.shape, costs.lowest, costs.highest
    ((3, 2), 0, 4)
    >>> gmatch.lap(costs).col_ind.tolist()
    [1, 0]
    """

    array: Any
    whole: bool
    is_narrow: bool
    row_nodes: tuple[Hashable, ...] | None = None
    col_nodes: tuple[Hashable, ...] | None = None

    def __init__(self, cost: Any, *, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False) -> None:
        self._take(cost, Asked.checked(maximize, cost_limit, forbid_nan))

    @classmethod
    def as_asked(cls, cost: Any, asked: Asked) -> DenseCosts:
        """The costs of a matrix, by options that were checked."""
        made = object.__new__(cls)
        made._take(cost, asked)
        return made

    def _take(self, cost: Any, asked: Asked) -> None:
        array, number, device = read_matrix(cost)
        rows, columns = array.shape
        transposed = rows > columns or rows == columns and lies_by_columns(array)
        known = vars(self)  # the class is frozen
        known["shape"], known["device"], known["transposed"] = array.shape, device, transposed
        array = self._look_at(array, number, asked)
        known["array"] = array.T if transposed else array
        if type(cost) is not np.ndarray and has_labels(cost):
            known.update(zip(("row_nodes", "col_nodes"), labels_of(cost), strict=True))
        if self.overflows:
            self._refuse_overflow()

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and copies hold: all but the few pairs, which the extension owns."""
        return vars(self) | {"few_pairs": None}

    def _refuse_overflow(self) -> None:
        """Raises if sums of costs could leave the range of the duals' type, and splitting the costs does not help."""
        if not self._has_small_rests() and splits_into_fitting(self) is None:
            refuse_overflow(self.lowest, self.highest, number_type(self.array.dtype), min(self.shape))

    def _has_small_rests(self) -> bool:
        """Whether one number among floats is far above all others, by a pass on the host."""
        if self.device != "cpu" or self.array.dtype != np.float64 or self.limit is not None:
            return False
        big, rows = max(-self.lowest, self.highest), min(self.shape)
        rest = _native.largest_rest(self.array, "float64", self.maximize, big)
        return big > ROOM * (rows + 1) * rest and fit(self, rest, rows)

    def __repr__(self) -> str:
        rows, columns = self.shape
        wanted = "most" if self.maximize else "least"
        limit = "" if self.cost_limit is None else f", limit {self.cost_limit}"
        return f"<DenseCosts of {rows} rows and {columns} columns, {self.dtype}, {wanted}{limit}, on the {self.device}>"

    @property
    def matrix(self) -> Any:
        """The costs with rows and columns as given, shape `shape`: a view."""
        return self.array.T if self.transposed else self.array

    def widened(self) -> DenseCosts:
        """The costs for programs that cannot read narrow entries: a copy in the type of the numbers."""
        return self._with(self.array.astype(self.dtype), self.device, is_narrow=False) if self.is_narrow else self

    def slack_type(self) -> type[np.int32] | type[np.int64] | type[np.float64]:
        """The type of a matrix of slacks, which stay within four spreads."""
        if self.array.dtype == np.int32 and 4 * (self.highest - self.lowest) < 2**31:
            return np.int32
        return self.dual_type

    def on(self, device: Device) -> DenseCosts:
        """These costs on a device; themselves if they are there."""
        return self if device == self.device else self._with(mover_to(device)(self.array), device)

    def part(self, rows: Any, columns: Any) -> DenseCosts:
        """A copy of some rows and columns of `array`, which has no limit. The fewer of them become its rows."""
        array = self.array[rows][:, columns]
        array = (array if len(rows) <= len(columns) else array.T).copy(order="C")
        found = range_of(array, self.device, self.maximize)
        return self.of_part(array, (found.lowest, found.highest))

    def of_part(self, array: Any, bounds: tuple[int | float, int | float]) -> DenseCosts:
        """A part of these costs, which have no limit: an array of its own, and the range of its finite costs."""
        lowest, highest = bounds
        overflows = self.overflows and not sums_fit(lowest, highest, self.dtype, min(array.shape))
        part = self._with(
            array, self.device, transposed=False, shape=array.shape, overflows=overflows, row_nodes=None,
            col_nodes=None, lowest=lowest, highest=highest,
        )  # fmt: skip
        if overflows:
            part._refuse_overflow()
        return part

    def squared(self, length: int) -> DenseCosts:
        """These costs with the shape and range of a square problem of `length` rows in their place.

        The array stays as it is. csrc/core/core.cuh says which square problems there are.
        """
        bounds = {"lowest": 2 * min(self.lowest, 0), "highest": 2 * max(self.highest, 0)}
        return self._with(self.array, self.device, shape=(length, length), **bounds)

    @classmethod
    def of_checked(
        cls, array: Any, maximize: bool, lowest: int | float, highest: int | float, whole: bool
    ) -> DenseCosts:
        """Costs on the host that need no check, with rows for the side with fewer vertices; any may be forbidden."""
        made = object.__new__(cls)
        vars(made).update(
            array=array, transposed=False, shape=array.shape, dtype=array.dtype, maximize=maximize, cost_limit=None,
            limit=None, lowest=lowest, highest=highest, forbids=True, whole=whole, is_narrow=False, device="cpu",
            dual_type=dual_type_of(array.dtype),
        )  # fmt: skip
        return made

    def _with(self, array: Any, device: Device, **others: Any) -> DenseCosts:
        """These costs with another array, and perhaps other attributes."""
        other = object.__new__(DenseCosts)
        names = Ranged.__annotations__ | DenseCosts.__annotations__  # all else is cached, and made of these
        kept = {name: value for name, value in vars(self).items() if name in names}
        vars(other).update(kept, array=array, device=device, few_pairs=None, **others)
        return other

    def row_blocks(self) -> Iterator[slice]:
        """Slices of the rows of `array` that are checked together."""
        return blocks_of(self.array.shape, self.device)

    def minimised(self) -> Any:
        """A copy of `array` as costs of the minimisation form, cut off at the limit, in the type of their sums."""
        return minimised(self.array, self.dual_type, self.maximize, self.limit)

    def places(self) -> tuple[Any, Any]:
        """Rows and columns of the entries of `array`, which broadcast to its shape."""
        arange = namespace(self.array).arange
        return arange(len(self.array))[:, None], arange(self.array.shape[1])[None]

    def of_each_row(self, row_match: Any) -> Any:
        """The entry of `array` that each row is matched with."""
        return entry_of_each_row(self.array, row_match)

    def with_entries(self, entries: Any, allowed: Any, never: int | float) -> DenseCosts:
        """Costs of the same shape, by other entries, with `never` for pairs that are not allowed."""
        entries = entries.copy()
        entries[~allowed] = never
        return DenseCosts(entries)

    def is_allowed(self, entries: Any) -> Any:
        """Which of some entries allow their pair, as booleans. With a limit all do."""
        return entries != (math.nan if self.limit is not None else -math.inf if self.maximize else math.inf)

    def may_pair(self, rows: Any, columns: Any) -> Any:
        """Which of some pairs of `matrix` are allowed, as booleans."""
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
        """The entries of the pairs of a matching of `matrix`, by rows. An optimal matching has all possible pairs."""
        rows, columns = self.shape
        if optimal and rows <= columns:
            entries = entry_of_each_row(self.matrix, row_match)
        else:
            places = (row_match >= 0).nonzero()[0]
            entries = self.matrix[places, row_match[places]]
        return entries.astype(self.dtype, copy=False)


def lies_by_columns(array: Any) -> bool:
    """Whether the entries of a column lie nearer to each other than the entries of a row."""
    row_stride, column_stride = array.strides
    return bool(abs(row_stride) < abs(column_stride))
