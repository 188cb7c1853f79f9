"""What the toolkit returns, and what `verify` proves of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import scipy.sparse

from . import cuda
from .arrays import as_matrix_of_scipy, beside, device_of, entries_on_gpu, exact_sum, mover_to
from .errors import InvalidInput
from .result import Assignment, AssignmentCertificate, Certificate, Matching


class _Matched:
    """Attributes that follow from the column of each row."""

    row_match: Any

    @cached_property
    def row_ind(self) -> Any:
        """The matched rows in increasing order, shape (size,)."""
        return (self.row_match >= 0).nonzero()[0]

    @cached_property
    def col_ind(self) -> Any:
        """The columns matched with `row_ind`, shape (size,)."""
        return self.row_match[self.row_ind]


@dataclass(frozen=True, eq=False, repr=False)
class Bottleneck(_Matched):
    """An assignment whose most expensive pair is as cheap as possible, and its proof.

    Unpacks as ``row_ind, col_ind = result``.

    All arrays live where the costs live.

    Attributes
    ----------
    threshold : int, float or None
        The cost of the most expensive pair, an entry of the costs; None if there are no pairs. When maximizing: of the
        cheapest pair.
    row_match : int32 array, shape (rows,)
        The column that each row is matched with, -1 for free rows.
    col_match : int32 array, shape (columns,)
        The row that each column is matched with, -1 for free columns.
    pair_costs : array, shape (size,)
        The entries of the matched pairs, in the order of `row_ind`.
    cover : (integer array, integer array)
        Rows and columns, fewer than there are pairs. Every pair cheaper than the threshold lies in one of them (König
        1931), so every assignment has a pair at the threshold or above.
    assignment : Assignment or None
        With ``then="sum"``: the cheapest assignment of the pairs not above the threshold, with its duals.
    maximize : bool
    forbid_nan : bool
        Whether some costs were NaN, which forbade their pairs.
    stats : dict
        For sparse costs ``matchings``: how many thresholds were tried. For dense costs ``rises``: how often the
        threshold rose.
    whole_cover : (integer array, integer array) or None
        With ``infeasible="partial"``, if there are fewer pairs than min(rows, columns): rows and columns, together as
        many as there are pairs. Every allowed pair lies in one of them, so no matching has more pairs.

    Examples
    --------
    >>> row_ind, col_ind = result = gmatch.bottleneck([[4, 1], [2, 0]])
    >>> result.threshold, col_ind.tolist()
    (2, [1, 0])
    """

    threshold: int | float | None
    row_match: Any
    col_match: Any
    pair_costs: Any
    cover: tuple[Any, Any]
    assignment: Assignment | None = None
    maximize: bool = False
    forbid_nan: bool = False
    stats: dict[str, Any] = field(default_factory=dict)
    whole_cover: tuple[Any, Any] | None = None

    @property
    def size(self) -> int:
        """How many pairs are matched."""
        return len(self.pair_costs)

    @cached_property
    def cost(self) -> int | float:
        """The sum of `pair_costs`, as `Assignment.cost`."""
        return exact_sum(self.pair_costs)

    def moved(self, to_device: Callable[[Any], Any]) -> Bottleneck:
        """On another device."""
        names = "row_match", "col_match", "pair_costs"
        arrays = {name: to_device(getattr(self, name)) for name in names}
        cover, whole = tuple(map(to_device, self.cover)), self.whole_cover and tuple(map(to_device, self.whole_cover))
        assignment = self.assignment and self.assignment.moved(to_device)
        return replace(self, **arrays, cover=cover, whole_cover=whole, assignment=assignment)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.row_ind, self.col_ind))

    def __repr__(self) -> str:
        return f"<Bottleneck of {self.size} pairs, threshold {self.threshold}>"


@dataclass(frozen=True)
class BottleneckCertificate:
    """What `verify` proved: every assignment has a pair that costs `threshold` or more (less, when maximizing).

    Attributes
    ----------
    threshold : int, float or None
    cover_rows, cover_columns : int
        How many rows and columns cover all cheaper pairs: together fewer than the pairs.

    Examples
    --------
    >>> gmatch.verify([[4, 1], [2, 0]], gmatch.bottleneck([[4, 1], [2, 0]]))
    BottleneckCertificate(threshold=2, cover_rows=0, cover_columns=1)
    """

    threshold: int | float | None
    cover_rows: int
    cover_columns: int


@dataclass(frozen=True, eq=False, repr=False)
class RankedAssignment(_Matched):
    """One of the cheapest assignments. Unpacks as ``row_ind, col_ind = assignment``. Its arrays live on the host.

    Attributes
    ----------
    rank : int
        Its place in the order, from 0.
    row_match : int32 array, shape (rows,)
        The column that each row is matched with, -1 for free rows.
    cost : int or float
        The sum of what its pairs cost: an exact integer, or the float nearest to the exact sum.
    size : int
        How many pairs it has.

    Examples
    --------
    >>> second = gmatch.k_best([[4, 1], [2, 0]], 2)[1]
    >>> second.cost, second.row_match.tolist()
    (4, [0, 1])
    """

    rank: int
    row_match: Any
    cost: int | float

    @property
    def size(self) -> int:
        return len(self.row_ind)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.row_ind, self.col_ind))

    def __repr__(self) -> str:
        return f"<RankedAssignment {self.rank} of {self.size} pairs, cost {self.cost}>"


@dataclass(frozen=True, eq=False, repr=False)
class KBest(Sequence[RankedAssignment]):
    """The cheapest assignments in order, and their proof: a sequence of `RankedAssignment`.

    All arrays live on the host.

    Attributes
    ----------
    row_match : int32 array, shape (found, rows)
        The column that each row is matched with, -1 for free rows; the cheapest assignment first.
    costs : int64 or float64 array, shape (found,)
        What the pairs of each assignment cost.
    u, v : int64 or float64 arrays, shapes (found, fewer) and (found, more)
        Duals of the minimisation form. u are of the side with fewer vertices (rows, if both sides are equal), v of the
        other side. With a `cost_limit` v has one more entry for each vertex of the smaller side: the dual of its way
        out. An assignment parts from an earlier one at some row. Its duals prove it cheapest among all assignments that
        share the pairs before that row, and have another pair in that row than the earlier one: see `gmatch.verify`.
    complete : bool
        Whether these are all assignments, because more were asked for.
    maximize : bool
    cost_limit : int or float or None
        What was asked for.
    forbid_nan : bool
        Whether some costs were NaN, which forbade their pairs.

    Examples
    --------
    >>> best = gmatch.k_best([[4, 1], [2, 0]], 2)
    >>> len(best), best.costs.tolist(), best[1].col_ind.tolist()
    (2, [3, 4], [0, 1])
    """

    row_match: Any
    costs: Any
    u: Any
    v: Any
    complete: bool
    maximize: bool = False
    cost_limit: int | float | None = None
    forbid_nan: bool = False

    def __len__(self) -> int:
        return len(self.row_match)

    @overload
    def __getitem__(self, rank: int) -> RankedAssignment: ...
    @overload
    def __getitem__(self, rank: slice) -> list[RankedAssignment]: ...
    def __getitem__(self, rank: int | slice) -> RankedAssignment | list[RankedAssignment]:
        if isinstance(rank, slice):
            return [self[number] for number in range(*rank.indices(len(self)))]
        rank = range(len(self))[rank]
        return RankedAssignment(rank, self.row_match[rank], self.costs[rank].item())

    def __repr__(self) -> str:
        if not len(self):
            return "<KBest of no assignments>"
        return f"<KBest of {len(self)} assignments, costs {self.costs[0]} to {self.costs[-1]}>"


@dataclass(frozen=True)
class KBestCertificate:
    """What `verify` proved of `KBest` or `Hypotheses`: no other is better than the last by more than the tolerance.

    Attributes
    ----------
    number : int
        The number of assignments or hypotheses, all different.
    complete : bool
        Whether there are no others.
    tolerance : int or float
        0 for integers. For floats it allows for the rounding of the duals.

    Examples
    --------
    >>> gmatch.verify([[4, 1], [2, 0]], gmatch.k_best([[4, 1], [2, 0]], 2))
    KBestCertificate(number=2, complete=False, tolerance=0)
    """

    number: int
    complete: bool
    tolerance: int | float


@dataclass(frozen=True, eq=False, repr=False)
class Hypothesis(_Matched):
    """A child of a hypothesis. Unpacks as ``row_ind, col_ind = hypothesis``. Its arrays live on the host.

    Attributes
    ----------
    rank : int
        Its place among all, from 0.
    parent : int
        The number of its parent.
    row_match : int32 array, shape (rows,)
        The column that each row of the parent is paired with, -1 for missed rows.
    cost : int or float
        What it costs: the prior of its parent, its pairs and its misses.

    Examples
    --------
    >>> best = gmatch.best_hypotheses([[[1, 4], [3, 2]], [[2, 2]]], 3, miss=[5, [9]], prior=[0, 2])
    >>> best[0]
    <Hypothesis 0 of parent 0 with 2 pairs, cost 3>
    """

    rank: int
    parent: int
    row_match: Any
    cost: int | float

    def __iter__(self) -> Iterator[Any]:
        return iter((self.row_ind, self.col_ind))

    def __repr__(self) -> str:
        return f"<Hypothesis {self.rank} of parent {self.parent} with {len(self.row_ind)} pairs, cost {self.cost}>"


@dataclass(frozen=True, eq=False, repr=False)
class Hypotheses(Sequence[Hypothesis]):
    """The best hypotheses in order, and their proof: a sequence of `Hypothesis`. All arrays live on the host.

    Attributes
    ----------
    parents : int64 array, shape (found,)
        The parent of each hypothesis.
    ranks : int64 array, shape (found,)
        Its place among the children of its parent.
    costs : int64 or float64 array, shape (found,)
        The cost of each: the prior of its parent, its pairs and its misses.
    lists : tuple of KBest, one for each parent
        The best children of each parent: assignments of a matrix with one more column for each row, which costs the
        miss of that row. A list has one child more than are in the result, if there is one.
    prior : tuple of numbers, one for each parent
    miss : tuple of arrays, one for each parent
        What was asked for.
    complete : bool
        Whether these are all hypotheses, because more were asked for.
    maximize, forbid_nan : bool
        What was asked for.

    Examples
    --------
    >>> best = gmatch.best_hypotheses([[[1, 4], [3, 2]], [[2, 2]]], 3, miss=[5, [9]], prior=[0, 2])
    >>> [(one.parent, one.row_match.tolist(), one.cost) for one in best]
    [(0, [0, 1], 3), (1, [0], 4), (1, [1], 4)]
    """

    parents: Any
    ranks: Any
    costs: Any
    lists: tuple[KBest, ...]
    prior: tuple[int | float, ...]
    miss: tuple[Any, ...]
    complete: bool
    maximize: bool = False
    forbid_nan: bool = False

    def __len__(self) -> int:
        return len(self.parents)

    @overload
    def __getitem__(self, rank: int) -> Hypothesis: ...
    @overload
    def __getitem__(self, rank: slice) -> list[Hypothesis]: ...
    def __getitem__(self, rank: int | slice) -> Hypothesis | list[Hypothesis]:
        if isinstance(rank, slice):
            return [self[number] for number in range(*rank.indices(len(self)))]
        rank = range(len(self))[rank]
        parent = int(self.parents[rank])
        of_parent = self.lists[parent]
        columns = of_parent.v.shape[1] - of_parent.u.shape[1]  # without the columns of misses
        row_match = of_parent.row_match[self.ranks[rank]]
        return Hypothesis(rank, parent, np.where(row_match < columns, row_match, -1), self.costs[rank].item())

    def __repr__(self) -> str:
        return f"<Hypotheses: {len(self)} of {len(self.lists)} parents, costs {self.costs[0]} to {self.costs[-1]}>"


@dataclass(frozen=True, eq=False, repr=False)
class Scaling:
    """A permutation to a large diagonal, and scalings of rows and columns, with their proof.

    All arrays live where the matrix lives, except `pivots`.

    Attributes
    ----------
    job : str
        What was asked for.
    row_match : int32 array, shape (rows,)
        The column whose diagonal place the entry of each row gets, -1 for rows without an entry.
    col_match : int32 array, shape (columns,)
        The row of each column's entry, -1 for columns without.
    row_log, col_log : float64 arrays, shapes (rows,) and (columns,)
        The natural logarithms of the scalings: 0 unless the job is ``"product"``.
    proof : Matching, Assignment or Bottleneck
        The answer to the problem of the job: see `gmatch.scale`.
    pivots : tuple of int64 arrays, or None
        For a symmetric scaling: the one or two numbers of each pivot; on the host.

    Examples
    --------
    >>> import scipy.sparse
    >>> scaling = gmatch.scale(scipy.sparse.csr_array([[0, 8.0], [2.0, 4.0]]))
    >>> scaling.size, scaling.row_match.tolist()
    (2, [1, 0])
    >>> bool(abs(scaling.apply(scipy.sparse.csr_array([[0, 8.0], [2.0, 4.0]]))).max() < 1 + 1e-12)
    True
    """

    job: str
    row_match: Any
    col_match: Any
    row_log: Any
    col_log: Any
    proof: Matching | Assignment | Bottleneck
    pivots: tuple[Any, ...] | None = None

    @property
    def size(self) -> int:
        """How many entries are on the diagonal; for a maximum matching the structural rank."""
        return int((self.row_match >= 0).sum())

    @cached_property
    def row_scale(self) -> Any:
        """The factor of each row, shape (rows,); infinite or 0 if float64 has no such number."""
        with np.errstate(over="ignore"):
            return np.exp(self.row_log)

    @cached_property
    def col_scale(self) -> Any:
        """The factor of each column, shape (columns,)."""
        with np.errstate(over="ignore"):
            return np.exp(self.col_log)

    @cached_property
    def row_order(self) -> Any:
        """Row ``row_order[i]`` becomes row i, shape (rows,); rows without an entry fill the other places, and the end.

        Raises
        ------
        InvalidInput
            If there are fewer rows than columns: then rows alone do not bring all entries to the diagonal.
        """
        rows, columns = len(self.row_match), len(self.col_match)
        if rows < columns:
            raise InvalidInput(
                f"expected at least as many rows as columns, for rows are permuted; got {rows} rows and {columns} "
                "columns; scale the transposed matrix"
            )
        order = np.full_like(self.col_match, -1, dtype=np.int64, shape=rows)
        order[:columns] = self.col_match
        order[(order < 0).nonzero()[0]] = (self.row_match < 0).nonzero()[0]
        return order

    def moved(self, to_device: Callable[[Any], Any]) -> Scaling:
        """On another device."""
        names = "row_match", "col_match", "row_log", "col_log"
        arrays = {name: to_device(getattr(self, name)) for name in names}
        if isinstance(self.proof, Matching):
            sides = {name: arrays[name] for name in names[:2]}
            proof: Any = replace(self.proof, reached_columns=to_device(self.proof.reached_columns), **sides)
        else:
            proof = self.proof.moved(to_device)
        return replace(self, **arrays, proof=proof)

    def apply(self, matrix: Any) -> Any:
        """The matrix scaled and permuted, ``(R A C)[row_order]``: a CSR matrix of SciPy, or of CuPy for one on a GPU.

        A symmetric scaling permutes nothing, since pivots do that on both sides.

        Raises
        ------
        InvalidInput
            If the matrix has another shape; or as `row_order`.
        """
        shape = len(self.row_match), len(self.col_match)
        there = entries_on_gpu(matrix)
        if there is None:
            made = scipy.sparse.coo_array(as_matrix_of_scipy(matrix))
            there = *made.coords, made.data, made.shape
        rows, columns, numbers, given_shape = there
        if given_shape != shape:
            raise InvalidInput(f"the scaling is for a matrix of shape {shape}; got one of shape {given_shape}")
        device = device_of(numbers)
        with beside(numbers):
            row_log, col_log = map(mover_to(device), (self.row_log, self.col_log))
            # In two steps, since float64 does not hold one over its least numbers.
            factors = np.exp((row_log[rows] + col_log[columns]) / 2)
            if self.pivots is None:
                places = np.empty_like(row_log, dtype=np.int64)
                places[mover_to(device)(self.row_order)] = np.ones_like(places).cumsum() - 1
                rows = places[rows]
            entries = numbers * factors * factors
            if device == "gpu":
                return cuda.csr_matrix(entries, rows, columns, shape)
        return scipy.sparse.coo_array((entries, (rows, columns)), shape=shape).tocsr()

    def __repr__(self) -> str:
        rows, columns = len(self.row_match), len(self.col_match)
        return f"<Scaling of {rows} rows and {columns} columns, {self.job}, {self.size} entries on the diagonal>"


@dataclass(frozen=True)
class ScalingCertificate:
    """What `verify` proved: the diagonal is best, and scaled entries are as the job says.

    Attributes
    ----------
    size : int
        How many entries are on the diagonal; there are no more.
    excess : float
        The largest logarithm of a scaled entry above 0, or of a scaled diagonal entry off 0.
    proof : Certificate, AssignmentCertificate or BottleneckCertificate
        The certificate of the problem of the job.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[0, 8.0], [2.0, 4.0]])
    >>> gmatch.verify(matrix, gmatch.scale(matrix)).size
    2
    """

    size: int
    excess: float
    proof: Certificate | AssignmentCertificate | BottleneckCertificate


@dataclass(frozen=True, eq=False, repr=False)
class Transport:
    """The cheapest way to bring supplies to demands, and its proof. All arrays live on the host.

    Attributes
    ----------
    rows, columns : int64 arrays, shape (routes,)
        The routes in use, in the order of rows, then of columns.
    amounts : int64 array, shape (routes,)
        How much goes by each, 1 or more.
    cost : int or float
        The sum of what each unit costs: an exact integer, or a float within a rounding of each route.
    u, v : int64 or float64 arrays, shapes (rows,) and (columns,)
        The duals, of the minimisation form: ``u[i] + v[j] <= c[i, j]`` for all allowed routes, with equality for those
        in use. The side with the greater sum has none above 0, and 0 where something is left.
    shape : (int, int)
        Rows and columns.
    maximize : bool
    forbid_nan : bool
        Whether some costs were NaN, which forbade their routes.

    Examples
    --------
    >>> result = gmatch.transport([[4, 1], [2, 0]], supply=[2, 1], demand=[1, 2])
    >>> result.cost, result.flow.toarray().tolist()
    (4, [[0, 2], [1, 0]])
    """

    rows: Any
    columns: Any
    amounts: Any
    cost: int | float
    u: Any
    v: Any
    shape: tuple[int, int]
    maximize: bool = False
    forbid_nan: bool = False

    @cached_property
    def flow(self) -> Any:
        """The amounts as a CSR matrix of SciPy."""
        return scipy.sparse.coo_array((self.amounts, (self.rows, self.columns)), shape=self.shape).tocsr()

    def __repr__(self) -> str:
        return f"<Transport of {int(self.amounts.sum())} units by {len(self.rows)} routes, cost {self.cost}>"


@dataclass(frozen=True)
class TransportCertificate:
    """What `verify` proved: no transport costs less than `cost - gap` (more than `cost + gap`, when maximizing).

    Attributes
    ----------
    cost : int or float
    gap, tolerance : int or float
        As of `AssignmentCertificate`: 0 for integers.

    Examples
    --------
    >>> problem = [[4, 1], [2, 0]], [2, 1], [1, 2]
    >>> gmatch.verify(problem, gmatch.transport(*problem))
    TransportCertificate(cost=4, gap=0, tolerance=0)
    """

    cost: int | float
    gap: int | float
    tolerance: int | float
