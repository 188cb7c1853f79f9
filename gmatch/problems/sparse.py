"""The costs of a sparse assignment problem: checked once, then frozen."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from .. import _native
from ..arrays import MAX_VERTICES, Device, device_of, mover_to, row_of_each_entry, to_host, widened
from ..devices import READERS
from ..errors import InvalidInput, changed
from ..foreign import EXACT_IN_FLOAT64, CompressedRows, as_sparse, way_in
from ..types import WORKING_TYPES
from .dense import DenseCosts
from .frozen import Frozen
from .graph import read_sparse, refuse_lost_sums
from .limits import (
    SPREADS,
    WAY_OUT_OF_NAN,
    Asked,
    Ranged,
    dual_type_of,
    limit_of,
    minimised,
    number_of,
    type_with_limit,
    way_to_smaller_sums,
    without_nan,
)
from .networks import Sides, sides_of
from .splits import splits_into_fitting

if TYPE_CHECKING:
    import networkx

# Rows, columns and values of entries; or indptr, indices and data.
_Arrays = tuple[Any, Any, Any]
_Matrix = tuple[Any, Any, Any, tuple[int, int]]


class SparseCosts(Frozen, Ranged):
    """The costs of the stored entries of a sparse matrix, as `gmatch.lap` takes them: no other pair is allowed.

    Checked when it is made, in O(rows + columns + entries) time; give it to `gmatch.lap` instead of the matrix to check
    once and solve often. Do not change its arrays.

    Parameters
    ----------
    cost : scipy.sparse array or matrix, cupyx.scipy.sparse matrix, sparse torch tensor, or array of PyData's sparse
        In any format. Every stored entry is an allowed pair, explicit zeros too; +inf forbids its pair, or -inf when
        maximizing. Duplicates stand for their sum, as everywhere in SciPy. Of CSR, and of CSC where there are not fewer
        columns than rows to match, index arrays are copied and entries of int32, int64, float32 and float64 used as
        they lie; other types are widened as in `DenseCosts`, and other formats, and CSR with more rows than columns,
        converted.
    maximize : bool
        Whether the assignment of the largest sum is wanted.
    cost_limit : number, optional
        Pairs that cost more than this are never matched, as for `DenseCosts`. Rows and columns may stay free instead,
        so there always is an assignment. See `gmatch.lap`.
    forbid_nan : bool
        Whether NaN forbids its pair; otherwise it is refused.

    Attributes
    ----------
    indptr, indices, data : array
        The costs as the programs read them: row i of the side with fewer vertices has the entries
        ``indptr[i]:indptr[i + 1]``.
    transposed : bool
        Whether these rows are columns of the matrix as given.
    shape : (int, int)
        Rows and columns as given.
    entries : int
        Stored entries.
    dtype : dtype
        The type of the entries.
    maximize : bool
    cost_limit, limit : int or float or None
        As given, and in the minimisation form.
    lowest, highest : int or float
        The range of the finite costs of the minimisation form, cut off at the limit; both 0 if there are none.
    forbids : bool
        Whether there may be forbidden pairs: True.
    forbid_nan : bool
        Whether there were NaN, which forbid their pairs; in `data` they are infinite.
    row_nodes, col_nodes : tuple or None
        The nodes that rows and columns as given stand for, if the costs came from networkx.
    dual_type : type
        The type of the duals, and of sums of costs: numpy.int64 for integers, numpy.float64 for floats.
    device : {"cpu", "gpu"}
        Where the arrays live.

    Raises
    ------
    InvalidInput
        If it is no such matrix, or holds NaN or the infinity that forbids nothing; or if sums of costs could overflow.
        Duals can spread along a path of many pairs here, so ``(32 + 8 * pairs) * (highest - lowest) + max(-lowest,
        highest)`` must be below 2**63 - 1 for integers, where pairs is the smaller of rows and columns, and every
        answer is then exact; for floats, a like sum must be finite.

    Examples
    --------
    >>> import scipy.sparse
    >>> costs = gmatch.SparseCosts(scipy.sparse.csr_array(([4, 0, 2], ([0, 0, 1], [0, 1, 0])), shape=(2, 2)))
    >>> costs.entries
    3
    >>> gmatch.lap(costs).cost
    2
    """

    indptr: Any
    indices: Any
    data: Any
    entries: int
    row_nodes: tuple[Hashable, ...] | None = None
    col_nodes: tuple[Hashable, ...] | None = None
    ways_out: int = 0  # how many of the last columns are ways out, each for one row alone

    def __init__(self, cost: Any, *, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False) -> None:
        matrix = as_sparse(cost)
        if not is_sparse(matrix):
            raise InvalidInput(
                f"expected a sparse matrix of costs; got {type(cost).__name__}"
                f"{way_in(cost) or '; use gmatch.DenseCosts'}"
            )
        self._take(matrix, Asked.checked(maximize, cost_limit, forbid_nan))

    @classmethod
    def as_asked(cls, matrix: Any, asked: Asked) -> SparseCosts:
        """The costs of a matrix of SciPy or CuPy, with options that were checked."""
        made = object.__new__(cls)
        made._take(matrix, asked)
        return made

    def _take(self, matrix: Any, asked: Asked) -> None:
        maximize, cost_limit, forbid_nan, threads = asked
        graph, data, by_columns = read_sparse(matrix)
        device, has_nan = graph.device, False
        arrays = _without_duplicates((graph.indptr, graph.indices[: graph.entries], data, graph.shape), device)
        shape = arrays[3][::-1] if by_columns else arrays[3]
        if forbid_nan:
            data, has_nan = without_nan(arrays[2], maximize)
            arrays = *arrays[:2], data, arrays[3]
        lowest, highest = _range(arrays, by_columns, device, maximize, threads)
        dtype, limit = arrays[2].dtype, None
        if cost_limit is not None:
            cost_limit = number_of(cost_limit, dtype, maximize)
            limit = limit_of(cost_limit, maximize, highest, forbids=True)
        if limit is not None:
            if sum(shape) > MAX_VERTICES:
                raise InvalidInput(f"with a cost_limit rows + columns must be at most {MAX_VERTICES}; got {sum(shape)}")
            data = _type_with_entry(cost_limit, type_with_limit(limit, arrays[2], lowest, highest))
            arrays = *arrays[:2], data, arrays[3]
            lowest, highest = min(lowest, limit), limit
        transposed = by_columns if shape[0] == shape[1] else shape[0] > shape[1]
        if transposed != by_columns:
            arrays = swapped(arrays)
        vars(self).update(
            dtype=dtype, maximize=maximize, cost_limit=cost_limit, limit=limit, lowest=lowest, highest=highest,
            forbids=True, overflows=False, forbid_nan=has_nan,
        )  # fmt: skip
        self._set(arrays[:3], transposed, shape, device)
        self._refuse_overflow()

    def _refuse_overflow(self) -> None:
        """As of `DenseCosts`."""
        vars(self).update(overflows=False)
        try:
            _refuse_overflow(self.lowest, self.highest, self.data.dtype, min(self.shape))
        except InvalidInput:
            if splits_into_fitting(self) is None:
                raise
            vars(self).update(overflows=True)

    def _set(self, arrays: _Arrays, transposed: bool, shape: tuple[int, int], device: Device) -> None:
        indptr, indices, data = arrays
        vars(self).update(
            indptr=indptr, indices=indices, data=data, transposed=transposed, shape=shape, entries=len(indices),
            device=device, dual_type=dual_type_of(data.dtype),
        )  # fmt: skip

    def __repr__(self) -> str:
        rows, columns = self.shape
        wanted = "most" if self.maximize else "least"
        limit = "" if self.cost_limit is None else f", limit {self.cost_limit}"
        return (
            f"<SparseCosts of {rows} rows, {columns} columns and {self.entries} entries, {self.dtype}, "
            f"{wanted}{limit}, on the {self.device}>"
        )

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph[Any],
        top_nodes: Iterable[Hashable],
        weight: Hashable | None = "weight",
        *,
        maximize: bool = False,
        cost_limit: Any = None,
        forbid_nan: bool = False,
    ) -> SparseCosts:
        """The weights of a networkx graph, whose rows are `top_nodes`, and whose columns are the other nodes.

        Edges are the only allowed pairs. `lap` of it is networkx's ``minimum_weight_full_matching``; for a maximum
        weight matching see `gmatch.max_weight_matching`. The answer's `Assignment.pairs` are pairs of nodes.

        Parameters
        ----------
        graph : networkx.Graph
            A directed graph is taken as undirected.
        top_nodes : iterable of nodes
            One side of the bipartition, in the order of the rows.
        weight : key of edge data, or None
            What an edge costs, 1 where it has no such data. None: each costs 1.
        maximize, cost_limit, forbid_nan
            As for `SparseCosts`.

        Raises
        ------
        InvalidInput
            If a top node is not in the graph or is given twice, if an edge joins two nodes of one side, if two edges
            join the same nodes, or if a weight is no real number.
        """
        sides = sides_of(graph, top_nodes, weight)
        return cls.between(sides, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan)

    @classmethod
    def between(cls, sides: Sides, **options: Any) -> SparseCosts:
        """The weights of these edges, each 1 if there are none."""
        numbers = np.ones(len(sides.rows), np.int64) if sides.weights is None else sides.weights
        matrix = scipy.sparse.coo_array((numbers, (sides.rows, sides.columns)), shape=sides.shape)
        made = cls(matrix, **options)
        if made.entries < len(numbers):
            places = sides.rows.astype(np.int64) * sides.shape[1] + sides.columns
            order = places.argsort(kind="stable")
            edge = int(order[1:][places[order[1:]] == places[order[:-1]]][0])
            raise InvalidInput(
                f"expected one edge between two nodes; there are more between {' and '.join(sides.ends_of(edge))}; "
                "make a networkx.Graph that has the one that counts"
            )
        vars(made).update(row_nodes=sides.row_nodes, col_nodes=sides.col_nodes)
        return made

    @classmethod
    def of_checked(
        cls, arrays: _Arrays, shape: tuple[int, int], lowest: int | float, highest: int | float, ways_out: int = 0
    ) -> SparseCosts:
        """Costs to minimise within a known range, by indptr, indices and data as the programs read them.

        There are at most as many rows as columns. The columns of a row differ, and are sorted. The last columns may be
        ways out, one for each row.
        """
        made: SparseCosts = object.__new__(cls)
        vars(made).update(
            dtype=arrays[2].dtype, maximize=False, cost_limit=None, limit=None, lowest=lowest, highest=highest,
            forbids=True, overflows=False, forbid_nan=False, ways_out=ways_out,
        )  # fmt: skip
        made._set(arrays, False, shape, device_of(arrays[2]))
        return made

    def dual_spread(self) -> int | float:
        """How far duals of columns may lie apart at the start; in an optimum they need not lie farther apart."""
        return (self.highest - self.lowest) * min(self.shape)

    def on(self, device: Device) -> SparseCosts:
        """These costs on a device; themselves if they are there."""
        if device == self.device:
            return self
        to_device = mover_to(device)
        arrays = to_device(self.indptr), to_device(self.indices), to_device(self.data)
        return self._with(arrays, self.transposed, self.shape, device)

    def part(self, rows: Any, columns: Any) -> SparseCosts:
        """A copy of some rows and columns of the problem as the programs read it; the fewer become its rows."""
        row_number, column_number = (
            _numbered(numbers, length) for numbers, length in zip((rows, columns), sorted(self.shape), strict=True)
        )
        row_of, column_of = row_number[row_of_each_entry(self.indptr, self.entries)], column_number[self.indices]
        kept = ((row_of >= 0) & (column_of >= 0)).nonzero()[0]
        triple = row_of[kept], column_of[kept], self.data[kept]
        shape = len(rows), len(columns)
        if shape[0] > shape[1]:
            triple, shape = (triple[1], triple[0], triple[2]), shape[::-1]
        arrays = _from_triples(triple, shape[0])
        finite = minimised(arrays[2], self.dual_type, self.maximize, None)
        finite = finite[abs(finite) != math.inf]
        bounds = (finite.min().item(), finite.max().item()) if finite.size else (0, 0)
        return self.of_part((arrays, shape), bounds)

    def of_part(self, matrix: tuple[_Arrays, tuple[int, int]], bounds: tuple[int | float, int | float]) -> SparseCosts:
        """As `DenseCosts.of_part`; the part is compressed rows of its own, and their shape."""
        arrays, shape = matrix
        part = self._with(arrays, False, shape, self.device)
        vars(part).update(lowest=bounds[0], highest=bounds[1], row_nodes=None, col_nodes=None)
        part._refuse_overflow()
        return part

    def _with(self, arrays: _Arrays, transposed: bool, shape: tuple[int, int], device: Device) -> SparseCosts:
        other = object.__new__(SparseCosts)
        vars(other).update(vars(self))
        other._set(arrays, transposed, shape, device)
        return other

    def with_ways_out(self) -> SparseCosts:
        """The problem as the programs read it, with one more column for each row, for it alone, that costs the limit.

        Pairs above the limit are left out. So every row is matched there, and a row that stays free here takes its
        way out.
        """
        rows, columns = sorted(self.shape)
        kept = (self.data >= self.cost_limit if self.maximize else self.data <= self.cost_limit).nonzero()[0]
        all_rows = np.ones_like(self.indices, shape=rows).cumsum() - 1
        row_of = _joined(row_of_each_entry(self.indptr, self.entries)[kept], all_rows)
        column_of = _joined(self.indices[kept], columns + all_rows)
        data = _joined(self.data[kept], np.full_like(self.data, self.cost_limit, shape=rows))
        arrays = _from_triples((row_of, column_of, data), rows)
        other = self._with(arrays, False, (rows, columns + rows), self.device)
        vars(other).update(cost_limit=None, limit=None, dtype=self.data.dtype, ways_out=rows)
        return other

    def laid_out(self) -> DenseCosts | None:
        """The problem as the programs read it, as dense costs on the host; None if that is slower, or not exact."""
        rows, columns = sorted(self.shape)
        if not _native.is_best_laid_out(rows, columns, self.entries):
            return None
        arrays = self.indptr, self.indices, self.data
        dtype, whole, has_all = self.data.dtype, self.data.dtype.kind == "i", self.entries == rows * columns
        if whole and not has_all:  # only floats have a number for pairs that are not stored
            if _largest_sum(self.lowest, self.highest, rows) >= EXACT_IN_FLOAT64:
                return None
            dtype = np.dtype(np.float64)
        if has_all and _native.lies_dense(*arrays, columns):
            matrix = self.data.reshape(rows, columns)
        else:
            matrix = np.empty((rows, columns), dtype)
            missing = 0 if dtype.kind == "i" else -math.inf if self.maximize else math.inf
            laid_out = _native.lay_out_sparse(*arrays, matrix, missing)
            assert laid_out, "nobody else has the index arrays"
        return DenseCosts.of_checked(matrix, self.maximize, self.lowest, self.highest, whole)

    def stored_pairs(self, row_match: Any) -> Any:
        """The stored pairs of a matching of the problem as the programs read it."""
        row_match = row_match.copy()
        row_match[self._find_entries(row_match) < 0] = -1
        return row_match

    def triples(self) -> _Arrays:
        """Rows and columns as given, and the costs of the minimisation form in the type of their sums, entry by entry.

        Forbidden ones are infinite.
        """
        rows, columns = row_of_each_entry(self.indptr, self.entries), self.indices
        values = minimised(self.data, self.dual_type, self.maximize, None)
        return (columns, rows, values) if self.transposed else (rows, columns, values)

    def widened(self) -> SparseCosts:
        """As of `DenseCosts`: these have no narrow entries."""
        return self

    def minimised(self) -> Any:
        """As of `DenseCosts`, of the stored entries."""
        return minimised(self.data, self.dual_type, self.maximize, self.limit)

    def places(self) -> tuple[Any, Any]:
        """Rows and columns of the stored entries, as the programs read them."""
        return row_of_each_entry(self.indptr, self.entries), self.indices

    def of_each_row(self, row_match: Any) -> Any:
        """The entry that each row of the problem as the programs read it is matched with."""
        return self.data[self._find_entries(row_match)]

    def with_entries(self, entries: Any, allowed: Any, never: int | float) -> SparseCosts:
        """Costs of the pairs that are allowed; the others are not stored."""
        rows, columns = sorted(self.shape)
        kept = allowed.nonzero()[0]
        row_of, column_of = self.places()
        data = entries[kept]
        arrays = _from_triples((row_of[kept], column_of[kept], data), rows)
        other = self._with(arrays, False, (rows, columns), self.device)
        largest = (data.min().item(), data.max().item()) if len(data) else (0, 0)
        vars(other).update(
            dtype=data.dtype, maximize=False, cost_limit=None, limit=None, lowest=largest[0], highest=largest[1],
            overflows=False,
        )  # fmt: skip
        return other

    def is_allowed(self, entries: Any) -> Any:
        """Which of some entries do not forbid their pair, as booleans."""
        return entries != (-math.inf if self.maximize else math.inf)

    def may_pair(self, rows: Any, columns: Any) -> Any:
        """Which of some pairs, different in both, are stored and not forbidden, as booleans."""
        positions = self.positions(rows, columns)
        return self.is_allowed(self.data[positions]) & (positions >= 0) if self.entries else positions >= 0

    def allowed_pairs(self) -> tuple[Any, Any, tuple[int, int]]:
        """The pairs that are not forbidden, as (indptr, indices, shape) of a graph."""
        rows, columns = sorted(self.shape)
        if self.dtype.kind == "i":
            return self.indptr, self.indices, (rows, columns)
        allowed = self.is_allowed(self.data)
        kept = allowed.nonzero()[0]
        row_of = row_of_each_entry(self.indptr, self.entries)[kept]
        return offsets(row_of, rows), self.indices[kept], (rows, columns)

    def of_pairs(self, row_match: Any, optimal: bool) -> Any:
        """As of `DenseCosts`."""
        if optimal and not self.transposed:
            positions = self._find_entries(row_match)
        else:
            rows = (row_match >= 0).nonzero()[0]
            positions = self.positions(rows, row_match[rows])
        return self.data[positions].astype(self.dtype, copy=False)

    def positions(self, rows: Any, columns: Any) -> Any:
        """Where the pairs of a matching of the matrix as given are in `data`; -1 for pairs that are not stored."""
        ours, others = (columns, rows) if self.transposed else (rows, columns)
        return self._find_entries(_numbered_as(ours, others, min(self.shape)).astype(np.int32))[ours]

    def _find_entries(self, row_match: Any) -> Any:
        """The position in `data` of the entry of each row's pair, for the problem as the programs read it."""
        find_entries = READERS[self.device].find_entries
        return find_entries(self.indptr, self.indices, max(self.shape), row_match)


def is_sparse(cost: Any) -> bool:
    """Whether it is a sparse matrix of SciPy or CuPy."""
    # Its type is asked for nnz, since a damaged matrix may raise anything when it counts its entries.
    return hasattr(type(cost), "nnz") and hasattr(cost, "format") and hasattr(cost, "shape")


def _without_duplicates(arrays: _Matrix, device: Device) -> _Matrix:
    """The matrix with one entry for each stored pair, in a type of the programs."""
    data = arrays[2]
    if data.dtype not in WORKING_TYPES:
        data = widened(data)
    if not data.flags.c_contiguous or not getattr(data.flags, "aligned", True):
        data = data.copy()
    arrays = *arrays[:2], data, arrays[3]
    return _summed(arrays) if READERS[device].has_duplicates(arrays[0], arrays[1], arrays[3][1]) else arrays


def _summed(arrays: _Matrix) -> _Matrix:
    """The matrix without duplicates: each is added to the first entry of its pair."""
    indptr, indices, data, shape = arrays
    return summed_in_rows((row_of_each_entry(indptr, len(indices)), indices, data), shape)


def summed_in_rows(triple: _Arrays, shape: tuple[int, int]) -> _Matrix:
    """A matrix of rows, columns and values, in any order: values of one pair are added."""
    rows, columns, values = triple
    if not len(rows):
        return offsets(rows, shape[0]), columns, values, shape
    pairs = rows.astype(np.int64) * shape[1] + columns
    order = pairs.argsort(kind="stable")
    pairs = pairs[order]
    first = (pairs[1:] != pairs[:-1]).nonzero()[0] + 1
    first = _with_zero(first)
    sums = _sums_of_groups(values[order], _numbers_of_groups(first, len(pairs)), len(first))
    return offsets(rows[order[first]], shape[0]), columns[order[first]], sums, shape


def matrix_of(triple: _Arrays, shape: tuple[int, int]) -> Any:
    """A matrix in CSR of rows, columns and values, where the values live: SciPy's on the host."""
    rows, columns, values = triple
    if device_of(values) == "cpu":
        return scipy.sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
    return CompressedRows(*summed_in_rows(triple, shape))


def _type_with_entry(value: Any, data: Any) -> Any:
    """The entries in a type that holds one more without rounding; `value` fits the widest of its kind."""
    if data.dtype == np.int32 and not -(2**31) <= value < 2**31:
        return data.astype(np.int64)
    with np.errstate(over="ignore"):
        if data.dtype == np.float32 and float(np.float32(value)) != value:
            return data.astype(np.float64)
    return data


def _with_zero(numbers: Any) -> Any:
    """The numbers after a zero."""
    longer = np.zeros_like(numbers, shape=len(numbers) + 1)
    longer[1:] = numbers
    return longer


def _numbers_of_groups(first: Any, length: int) -> Any:
    """For each element the number of its group; groups begin at `first`."""
    begins = np.zeros_like(first, shape=length)
    begins[first[1:]] = 1
    return begins.cumsum()


def _sums_of_groups(values: Any, group: Any, number: int) -> Any:
    """The sum of the values of each group, in their order. The host adds, for a GPU adds in any order."""
    sums = _added(values, group, number, values.dtype)
    refuse_lost_sums(values, sums, lambda: _added(values, group, number, np.float64))
    return mover_to(device_of(values))(sums)


def _added(values: Any, group: Any, number: int, dtype: Any) -> Any:
    sums = np.zeros(number, dtype)
    with np.errstate(invalid="ignore", over="ignore"):  # the range is looked at later
        np.add.at(sums, to_host(group), to_host(values))
    return sums


def swapped(arrays: _Matrix) -> _Matrix:
    """Rows and columns in each other's place: a copy."""
    indptr, indices, data, shape = arrays
    if device_of(data) == "cpu":
        matrix = scipy.sparse.csc_array((data, indices, indptr), shape=shape[::-1]).tocsr()
        return matrix.indptr, matrix.indices, matrix.data, shape[::-1]
    triple = indices, row_of_each_entry(indptr, len(indices)), data
    return *_from_triples(triple, shape[1]), shape[::-1]


def _from_triples(triple: _Arrays, rows: int) -> _Arrays:
    """(indptr, indices, data) of rows, columns and values."""
    row_of, column_of, values = triple
    order = row_of.argsort(kind="stable")
    return offsets(row_of, rows), column_of[order], values[order]


def _joined(first: Any, second: Any) -> Any:
    """One array after the other, in the type of the first or a wider one."""
    both = np.empty_like(first, dtype=np.result_type(first, second), shape=len(first) + len(second))
    both[: len(first)], both[len(first) :] = first, second
    return both


def offsets(row_of: Any, rows: int) -> Any:
    """Where the entries of each row begin, once they are sorted by rows; shape (rows + 1,)."""
    if not len(row_of):  # CuPy does not count empty arrays
        return np.zeros_like(row_of, np.int64, shape=rows + 1)
    return _with_zero(np.bincount(row_of, minlength=rows).cumsum().astype(np.int64))


def _numbered(numbers: Any, length: int) -> Any:
    """For each vertex of a side its place in `numbers`, or -1."""
    return _numbered_as(numbers, np.ones_like(numbers).cumsum() - 1, length)


def _numbered_as(numbers: Any, values: Any, length: int) -> Any:
    """For each vertex of a side the value at its place in `numbers`, or -1."""
    places = np.full_like(numbers, -1, dtype=np.int64, shape=length)
    places[numbers] = values
    return places


def _range(
    arrays: _Matrix, by_columns: bool, device: Device, maximize: bool, threads: int | None
) -> tuple[int | float, int | float]:
    """The range of the finite costs of the minimisation form."""
    indptr, indices, data, _ = arrays
    if not len(data):
        return 0, 0
    lowest, highest, has_nan, has_plus_inf, has_minus_inf, _ = READERS[device].inspect_costs(data[None], threads)
    if has_nan or (has_plus_inf if maximize else has_minus_inf):
        refused = math.inf if maximize else -math.inf
        found = ((data != data) if has_nan else (data == refused)).nonzero()[0]
        if not len(found):
            raise changed("cost")
        position = int(found[0])
        row = int((indptr[1:] <= position).sum())
        entry = (int(indices[position]), row) if by_columns else (row, int(indices[position]))
        if has_nan:
            raise InvalidInput(f"cost must not hold NaN; entry {entry} does{WAY_OUT_OF_NAN}")
        raise InvalidInput(
            f"cost must not hold {refused:+} when {'maximizing' if maximize else 'minimizing'} ({-refused:+} forbids a "
            f"pair); entry {entry} does"
        )
    if lowest > highest:
        return 0.0, 0.0
    return (-highest, -lowest) if maximize else (lowest, highest)


def _largest_sum(lowest: int | float, highest: int | float, pairs: int) -> int | float:
    """More than any sum along a path of all pairs."""
    return (SPREADS + 8 * pairs) * (highest - lowest) + max(-lowest, highest)


def _refuse_overflow(lowest: int | float, highest: int | float, dtype: np.dtype[Any], pairs: int) -> None:
    """Raises if sums along a path of all pairs could leave the range of the duals' type."""
    spread, largest = highest - lowest, max(-lowest, highest)
    spreads = SPREADS + 8 * pairs
    if dtype.kind == "i" and _largest_sum(lowest, highest, pairs) >= 2**63 - 1:
        raise InvalidInput(
            f"sums of these costs could overflow int64: ({SPREADS} + 8 * pairs) * (highest - lowest) + the largest "
            f"magnitude must be below 2**63 - 1; got ({SPREADS} + 8 * {pairs}) * {spread} + {largest}; "
            f"{way_to_smaller_sums((spreads + 1) * int(spread))}"
        )
    if dtype.kind == "f" and not math.isfinite(spreads * spread + pairs * largest):
        raise InvalidInput(
            f"sums of these costs could overflow float64: highest - lowest is {spread}, the largest magnitude "
            f"{largest}; divide them by a power of two"
        )
