"""What a solver returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from typing import Any, ClassVar, Self, overload

import numpy as np

from . import _native, notebook
from .arrays import all_others, as_dense_array, device_of, exact_sum, mover_to, places_of, to_host
from .errors import InvalidInput
from .foreign import gives_back, sum_of
from .types import number_type

# The keys of `stats["seconds"]`.
STEPS = ("start", "search", "augment", "price")
new, set_attribute = object.__new__, object.__setattr__


class _Later(_native.Later):
    """A result whose fields can be made when they are asked for, which saves time in small calls.

    `_later` is what they are made of, or None.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @classmethod
    def later(
        cls,
        make_field: Callable[..., Any],
        pairs: Callable[..., tuple[Any, Any]] | tuple[Any, Any] | None,
        arguments: tuple[Any, ...],
    ) -> Self:
        """The result whose fields are make_field(name, *arguments), and whose pairs are `pairs` or pairs(*arguments).

        Fields that have a default keep it, unless the maker of the result sets them.
        """
        result = new(cls)
        set_attribute(result, "_later", (make_field, pairs, arguments))
        return result

    def __getattr__(self, name: str) -> Any:
        kind, later = type(self), self._later
        if later is not None and name in kind.__dataclass_fields__:
            make_field, _, arguments = later
            return self.__dict__.setdefault(name, make_field(name, *arguments))  # another thread may do the same
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise AttributeError(f"{article} {kind.__name__} has no {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}

    def __dir__(self) -> list[str]:
        """Fields are there before they are made; what only solvers call is not shown."""
        return sorted({*super().__dir__(), *type(self).__dataclass_fields__} - {"later", "moved"})


class _RowsOfPairs(_native.RowsOfPairs, cached_property[Any]):
    """A property that runs no code of Python if the object holds its pairs already."""


class _ColumnsOfPairs(_native.ColumnsOfPairs, cached_property[Any]):
    """A property that runs no code of Python if the object holds its pairs already."""


class _Pairs(_Later):
    """A result that is pairs of rows and columns."""

    row_match: Any
    col_match: Any
    row_nodes: tuple[Hashable, ...] | None
    col_nodes: tuple[Hashable, ...] | None

    def _length(self) -> int:
        """How many arrays there are to iterate over."""
        return 2

    def _items(self) -> tuple[Any, Any]:
        """The rows and columns to iterate over, unless `_later` has them."""
        if self._later is not None:
            _, make_pairs, arguments = self._later
            pairs: tuple[Any, Any] = make_pairs(*arguments)
            return pairs
        return self.row_ind, self.col_ind

    @_RowsOfPairs
    def row_ind(self) -> Any:
        """The matched rows in increasing order, shape (size,)."""
        if self._later is not None:
            return next(iter(self))
        return places_of(self.row_match >= 0)

    @_ColumnsOfPairs
    def col_ind(self) -> Any:
        """The columns matched with `row_ind`, shape (size,)."""
        if self._later is not None:
            _, col_ind = self
            return col_ind
        return self.row_match[self.row_ind]

    @cached_property
    def unmatched_rows(self) -> Any:
        """The free rows in increasing order, shape (rows - size,)."""
        return places_of(self.row_match < 0)

    @cached_property
    def unmatched_columns(self) -> Any:
        """The free columns in increasing order, shape (columns - size,)."""
        return places_of(self.col_match < 0)

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The matched pairs, in the order of `row_ind`: of nodes or labels if there are any, else of numbers.

        The rows and columns of a networkx graph are nodes. A DataFrame of pandas and a DataArray of xarray have labels
        of rows and columns, a DataFrame of polars labels of columns.
        """
        return list(zip(*self._names(), strict=True))

    def _names(self) -> tuple[list[Any], list[Any]]:
        """What the rows and the columns of the pairs are called."""
        rows, columns = self.row_ind.tolist(), self.col_ind.tolist()
        if self.row_nodes is not None:
            rows = [self.row_nodes[row] for row in rows]
        if self.col_nodes is not None:
            columns = [self.col_nodes[column] for column in columns]
        return rows, columns

    def _values(self) -> dict[str, Any]:
        """The values of each pair beside its ends: arrays by name."""
        return {}

    def to_frame(self) -> Any:
        """The pairs as a pandas DataFrame, one a line: ``row``, ``column``, and ``cost`` if they have costs.

        Rows and columns are called as in `pairs`.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        import pandas

        rows, columns = (pandas.Series(names, dtype=None if names else object) for names in self._names())
        return pandas.DataFrame(
            {"row": rows, "column": columns, **{name: _numbers(values) for name, values in self._values().items()}}
        )

    def _repr_html_(self) -> str:
        values = self._values()
        shown = (array[: notebook.LINES_SHOWN].tolist() for array in values.values())
        lines = zip(*self._names(), *shown, strict=False)
        return notebook.table(repr(self).strip("<>"), ("row", "column", *values), lines, len(self.row_ind))


def _numbers(values: Any) -> Any:
    """The values as an array of NumPy, of a type of NumPy itself."""
    array = to_host(as_dense_array(values, "values"))
    return array.astype(number_type(array.dtype), copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class Matching(_Pairs):
    """A maximum cardinality matching, and its proof. Unpacks as ``row_ind, col_ind = matching``.

    All arrays live where the graph lives: NumPy for NumPy, CuPy for CuPy.

    Attributes
    ----------
    size : int
        How many edges are matched.
    row_match : int32 array, shape (rows,)
        The column that each row is matched with, -1 for free rows.
    col_match : int32 array, shape (columns,)
        The row that each column is matched with, -1 for free columns.
    reached_columns : bool array, shape (columns,)
        The columns that alternating paths from free rows reach; `vertex_cover` follows from them.
    stats : dict
        ``method``, ``initial``, ``backend``, ``team`` and ``threads`` say what ran, and where. ``start_size`` is the
        size of the matching that the search started from. ``dropped`` counts the pairs of a given matching that were no
        edges. ``phases`` counts searches, the last of which finds nothing. ``depth_first`` counts the phases that
        searched depth first (see `Mixed`). ``levels`` counts the steps of all phases; on a GPU it may count the steps
        of one block (see `Claims`), and a depth-first phase counts the rows on its longest path. ``edges_inspected``
        counts the entries that were read. ``levels_per_phase`` and ``augmentations_per_phase`` are lists. ``seconds``
        has the time of each step by name. On a GPU ``code`` says where the program came from: ``"shipped"``,
        ``"kept"`` from an earlier process, or ``"compiled"`` in this one. With several threads, races decide which of
        many maximum matchings is found, and the counters differ a little from run to run.
    row_nodes, col_nodes : tuple or None
        The nodes that rows and columns stand for, if the graph came from networkx.

    Examples
    --------
    >>> import scipy.sparse
    >>> matching = gmatch.max_matching(scipy.sparse.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]]))
    >>> matching
    <Matching of 2 edges between 3 rows and 3 columns>
    >>> matching.row_match.tolist(), matching.unmatched_columns.tolist()
    ([0, 1, -1], [2])
    """

    size: int
    row_match: Any
    col_match: Any
    reached_columns: Any
    stats: dict[str, Any] = field(default_factory=dict)
    row_nodes: tuple[Hashable, ...] | None = None
    col_nodes: tuple[Hashable, ...] | None = None

    def vertex_cover(self) -> tuple[Any, Any]:
        """A smallest vertex cover (König 1931): row and column numbers, increasing.

        Every entry of the matrix lies in one of these rows or columns. Their number is `size`. No matching is larger
        than a cover, so this proves the matching maximum.
        """
        matched = self.row_match >= 0
        # Index -1 of a free row reads some column; `matched` masks it.
        row_in_forest = self.reached_columns[self.row_match] if len(self.reached_columns) else matched
        return places_of(matched & ~row_in_forest), places_of(self.reached_columns)

    def __repr__(self) -> str:
        rows, columns = len(self.row_match), len(self.col_match)
        return f"<Matching of {self.size} edges between {rows} rows and {columns} columns>"


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """A block upper triangular form, as MATLAB's ``dmperm``: ``p, q, r, s, cc, rr = decomposition``, numbered from 0.

    All arrays are int32 and live where the graph lives: NumPy for NumPy, CuPy for CuPy. See `gmatch.dulmage_mendelsohn`
    for the blocks of ``A[p][:, q]``.

    Attributes
    ----------
    row_order : shape (rows,), ``p`` of dmperm
        The row of the matrix that becomes row i.
    col_order : shape (columns,), ``q`` of dmperm
        The column of the matrix that becomes column j.
    row_blocks, col_blocks : shape (blocks + 1,), ``r`` and ``s`` of dmperm
        The fine decomposition. Block k has the rows from ``row_blocks[k]`` to ``row_blocks[k + 1]``, and the columns
        from ``col_blocks[k]`` to ``col_blocks[k + 1]``; below it, there are no entries. The horizontal part is one
        block, the first; the vertical part is one, the last; either is left out if it is empty. All others are square
        and irreducible.
    coarse_cols : shape (5,), ``cc`` of dmperm
        Where free columns begin; where the mates of horizontal, square and vertical rows begin; where all columns end.
    coarse_rows : shape (5,), ``rr`` of dmperm
        Where horizontal, square, vertical and free rows begin; and where all rows end. ``coarse_rows[3]`` is the
        structural rank.
    matching : Matching
        The maximum matching from which the form follows. It is on the diagonals of A12, A23 and A34.
    stats : dict
        ``method`` and ``backend`` of the matching, ``blocks`` for the device of all other steps, ``seconds`` by step.

    Examples
    --------
    >>> import scipy.sparse
    >>> form = gmatch.dulmage_mendelsohn(scipy.sparse.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]]))
    >>> p, q, r, s, cc, rr = form
    >>> [numbers.tolist() for numbers in form.vertical]
    [[1, 2], [1]]
    """

    row_order: Any
    col_order: Any
    row_blocks: Any
    col_blocks: Any
    coarse_cols: Any
    coarse_rows: Any
    matching: Matching
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def horizontal(self) -> tuple[Any, Any]:
        """Row and column numbers of the underdetermined part, ``[A11 A12]``, in their order in the form."""
        return self._part(0, 1, 0, 2)

    @property
    def square(self) -> tuple[Any, Any]:
        """Row and column numbers of the well-determined part, ``A23``: pairs of the matching."""
        return self._part(1, 2, 2, 3)

    @property
    def vertical(self) -> tuple[Any, Any]:
        """Row and column numbers of the overdetermined part, ``[A34; A44]``."""
        return self._part(2, 4, 3, 4)

    def _part(self, row: int, last_row: int, column: int, last_column: int) -> tuple[Any, Any]:
        rows, columns = self.coarse_rows.tolist(), self.coarse_cols.tolist()
        return self.row_order[rows[row] : rows[last_row]], self.col_order[columns[column] : columns[last_column]]

    def __iter__(self) -> Iterator[Any]:
        yield from (self.row_order, self.col_order, self.row_blocks, self.col_blocks)
        yield from (self.coarse_cols, self.coarse_rows)

    def __repr__(self) -> str:
        blocks = len(self.row_blocks) - 1
        parts = ("horizontal", self.horizontal), ("square", self.square), ("vertical", self.vertical)
        sizes = ", ".join(f"{name} {len(rows)} x {len(columns)}" for name, (rows, columns) in parts)
        return f"<Decomposition into {blocks} blocks: {sizes}>"


class Status(StrEnum):
    """How many pairs an assignment has. Each is proven: it is the cheapest of its kind.

    Examples
    --------
    >>> gmatch.lap([[4, 1], [2, 0]]).status == gmatch.Status.OPTIMAL == "optimal"
    True
    >>> gmatch.lap([[4, 1], [2, 0]], cost_limit=1).status
    <Status.LIMITED: 'limited'>
    """

    OPTIMAL = "optimal"
    """Every row, or every column where there are fewer of them, is matched."""
    LIMITED = "limited"
    """Fewer pairs: the cost limit made it cheaper to leave some out."""
    PARTIAL = "partial"
    """Fewer pairs: forbidden pairs allow no more. The cheapest among the largest matchings."""
    PAIRS = "pairs"
    """The number of pairs that was asked for: the cheapest matching with this number of pairs."""
    BOUNDED = "bounded"
    """Every row or every column is matched, and no assignment costs less than `Assignment.bound`, which is near."""


@dataclass(frozen=True, eq=False)
class Tier:
    """A big number, and how many times the dual of each row and column has it: see `ExactDuals`.

    Attributes
    ----------
    value : int or float
        One of the big numbers, the greatest or the least.
    rows, columns : int64 arrays, shapes (rows,) and (columns,)
        How many times the dual of each row and column has the value.
    part : int
        With a cover: 0 for the part of the cover's rows, 1 for the part of the cover's columns, which have tiers of
        their own.

    Examples
    --------
    >>> exact = gmatch.lap([[1e15, 0.25], [1e15, 0.75]]).exact
    >>> (tier,) = exact.tiers
    >>> tier.value, int(tier.rows.sum() + tier.columns.sum())
    (1000000000000000.0, 1)
    """

    value: int | float
    rows: Any
    columns: Any
    part: int = 0


@dataclass(frozen=True, eq=False)
class ExactDuals:
    """Duals that one number cannot hold, since its big part would round away its small part.

    The dual of row i is ``sum(tier.value * tier.rows[i] for tier in tiers) + u[i]``; likewise for columns. The entry of
    each pair is a multiple of the first value and a rest. That rest is a multiple of the second value and a rest, and
    so on. `gmatch.verify` says what follows from this.

    Attributes
    ----------
    tiers : tuple of Tier
        The largest value first.
    u, v : int64 or float64 arrays, shapes (rows,) and (columns,)
        The rests of the duals.

    Examples
    --------
    >>> assignment = gmatch.lap([[1e15, 0.25], [1e15, 0.75]])
    >>> exact = assignment.exact
    >>> [tier.value for tier in exact.tiers], float(exact.u.sum() + exact.v.sum())
    ([1000000000000000.0], 0.25)
    >>> gmatch.verify([[1e15, 0.25], [1e15, 0.75]], assignment).gap
    0.0
    """

    tiers: tuple[Tier, ...]
    u: Any
    v: Any

    def nearest_u(self) -> Any:
        """The duals of the rows, each rounded to one number."""
        return _nearest(self.u, [(tier.value, tier.rows) for tier in self.tiers])

    def nearest_v(self) -> Any:
        """The duals of the columns, each rounded to one number."""
        return _nearest(self.v, [(tier.value, tier.columns) for tier in self.tiers])

    def turned(self, has_cover: bool = False) -> ExactDuals:
        """Rows and columns in each other's place; and the two parts, if there is a cover."""
        tiers = tuple(
            Tier(tier.value, tier.columns, tier.rows, 1 - tier.part if has_cover else tier.part) for tier in self.tiers
        )
        return ExactDuals(tiers, self.v, self.u)

    def moved(self, to_device: Callable[[Any], Any]) -> ExactDuals:
        """On another device."""
        tiers = tuple(Tier(tier.value, to_device(tier.rows), to_device(tier.columns), tier.part) for tier in self.tiers)
        return ExactDuals(tiers, to_device(self.u), to_device(self.v))


def _nearest(rests: Any, multiples: list[tuple[int | float, Any]]) -> Any:
    """The sums, in the type of the rests: integers out of its range become the nearest in it."""
    if rests.dtype.kind == "f":
        total = rests
        for value, times in reversed(multiples):
            with np.errstate(over="ignore"):
                total = total + times * value
        largest = np.finfo(np.float64).max
        return total.clip(-largest, largest)
    columns = [rests.tolist(), *(times.tolist() for _, times in multiples)]
    values = [1, *(value for value, _ in multiples)]
    sums = [sum(v * t for v, t in zip(values, some, strict=True)) for some in zip(*columns, strict=True)]
    nearest = np.empty_like(rests)
    for place, number in enumerate(sums):
        nearest[place] = min(max(number, -(2**63)), 2**63 - 1)
    return nearest


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(_Pairs):
    """A cheapest assignment, and its proof. Unpacks as ``row_ind, col_ind = assignment``, as SciPy's result does.

    All arrays live where the costs live: NumPy for NumPy, CuPy for CuPy and for other arrays on a GPU. For tensors of
    torch they are tensors on the same device, with indices of 64 bits and `pair_costs` of the type of the costs. For
    arrays of JAX they are arrays of JAX; but duals of 64 bits stay as they are if JAX has only 32. Unpacked again, an
    assignment gives arrays in the same memory.

    Attributes
    ----------
    row_match : int32 array, shape (rows,)
        The column that each row is matched with, -1 for free rows.
    col_match : int32 array, shape (columns,)
        The row that each column is matched with, -1 for free columns.
    u, v : int64 array for integer costs, float64 array for floats; shapes (rows,) and (columns,)
        The duals, in the unit of the costs: ``u[i] + v[j] <= c[i, j]`` for all pairs, with equality for matched ones,
        where c is the cost that is minimised: ``cost``, or ``-cost`` when maximizing; with a limit, the smaller of this
        and the limit. If one side has fewer vertices, the duals of the other side are at most 0, and 0 for vertices
        that no pair uses; pairs above the limit count as pairs there. For ``"partial"`` this holds within each of two
        parts: the rows of `cover` with the columns outside it, and the rows outside it with the columns of `cover`.
    pair_costs : array, shape (size,)
        The entries of the matched pairs, in the order of `row_ind`.
    status : Status
        ``"optimal"``, ``"limited"``, ``"partial"``, ``"pairs"`` or ``"bounded"``.
    maximize : bool
    cost_limit : int or float or None
        What was asked for.
    cover : (integer array, integer array) or None
        For ``"partial"``: rows and columns, whose number is the number of pairs. Every allowed pair lies in one of
        them, so no matching is larger (König 1931).
    exact : ExactDuals or None
        The duals in parts, if one number cannot hold a dual because costs have several magnitudes: a big number stands
        for "not" and is used, or integers are so large that their sums could overflow. Then u and v are rounded.
    stats : dict
        ``method``, ``backend``, ``team`` and ``threads`` say what ran, and where. ``reason`` says why that method.
        ``initial`` is the start that was asked for, or that suits the method; `JV` and `Core` have their own instead of
        ``"reduce"``, ``"bids"`` and ``"regret"``. ``start_size`` counts the pairs that the search started from,
        ``phases`` and ``levels`` its searches and their steps, ``dual_steps`` the changes of duals between them,
        ``rows_scanned`` and ``edges_inspected`` the rows and entries that were read. ``levels_per_phase`` and
        ``augmentations_per_phase`` are lists; if costs were doubled, they count both halves. `Core`
        adds ``repricings``, its passes over the matrix, and ``trace``, its steps by name; if one thread of a host
        searches also ``gave_up``, whether `JV` took over; else ``bids``, ``rows_read`` (rows that bidders read again in
        the matrix) and ``dense_searches`` (1 if the matrix itself was searched). Cores of ranks and windows have a
        ``trace``, too. ``seconds`` has the time of each step by name.
        ``code`` says where a GPU's program came from, as in `Matching`.
    forbid_nan : bool
        Whether some costs were NaN, which forbade their pairs.
    row_nodes, col_nodes : tuple or None
        The nodes that rows and columns stand for, if the costs came from a networkx graph; their labels, if from a
        DataFrame of pandas or polars or a DataArray of xarray. None for a side that has none.
    pair_price : int or float or None
        For ``"pairs"``: what a pair costs beside its duals, in the minimisation form. Then
        ``u[i] + v[j] + pair_price <= c[i, j]`` for all pairs, with equality for matched ones; all duals are at most 0,
        and 0 for free rows and columns.
    bound : int or float or None
        If a `gap` was asked for: no assignment costs less than this (more, when maximizing), as the duals prove.

    Examples
    --------
    >>> row_ind, col_ind = assignment = gmatch.lap([[4, 1, 3], [2, 0, 5]])
    >>> assignment
    <Assignment of 2 pairs between 2 rows and 3 columns, cost 3, optimal>
    >>> assignment.row_match.tolist(), assignment.col_match.tolist(), assignment.unmatched_columns.tolist()
    ([1, 0], [1, 0, -1], [2])
    >>> int(assignment.u.sum() + assignment.v.sum())
    3
    """

    row_match: Any
    col_match: Any
    u: Any
    v: Any
    pair_costs: Any
    status: Status
    maximize: bool = field(default_factory=bool)  # no attribute of the class: it can be made later
    cost_limit: int | float | None = field(default_factory=lambda: None)
    cover: tuple[Any, Any] | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    exact: ExactDuals | None = field(default_factory=lambda: None)  # no attribute of the class: it can be made later
    forbid_nan: bool = False
    row_nodes: tuple[Hashable, ...] | None = None
    col_nodes: tuple[Hashable, ...] | None = None
    pair_price: int | float | None = None
    bound: int | float | None = None

    @property
    def size(self) -> int:
        """How many pairs are matched."""
        return len(self.pair_costs)

    def _values(self) -> dict[str, Any]:
        return {"cost": self.pair_costs}

    @cached_property
    def cost(self) -> Any:
        """The sum of `pair_costs`: an exact Python int for integers, for floats the float nearest to the exact sum.

        For tensors it is a tensor. If the costs need a gradient, it is 1 at the pairs and 0 elsewhere.

        Raises
        ------
        InvalidInput
            If the costs are a tensor of integers, and int64 does not hold their sum.
        """
        if not gives_back(self.pair_costs):
            return exact_sum(self.pair_costs)
        if _is_int64(self.pair_costs):
            _refuse_large_sums(_on_host(self.pair_costs)[None], "the cost; use sum(assignment.pair_costs.tolist())")
        return sum_of(self.pair_costs)

    @cached_property
    def witness(self) -> tuple[Any, Any] | None:
        """Why no matching is larger, as in `gmatch.Infeasible`; None unless the status is ``"partial"``.

        Row and column numbers. With rows <= columns, these rows may only be matched with these columns, which are
        fewer. With rows > columns, these columns may only be matched with these rows, which are fewer.
        """
        return None if self.cover is None else witness_of(self.cover, (len(self.row_match), len(self.col_match)))

    def update(
        self,
        cost: Any,
        *,
        rows: Any = (),
        columns: Any = (),
        drop_rows: Any = (),
        drop_columns: Any = (),
        forbid_nan: bool = False,
        certify: bool = False,
    ) -> Assignment:
        """The cheapest assignment after some rows or columns have changed, from this one.

        Parameters
        ----------
        cost : array or sparse matrix, shape (rows, columns)
            All costs as they are now, as for `gmatch.lap`: first the rows and columns that were kept, in the order that
            they had, then new ones. All entries outside new and changed rows and columns must be as before. The search
            reads only some of them; `certify` finds out if others have changed.
        rows, columns : sequence of int
            The rows and columns of `cost` that have new costs. New rows and columns need not be named.
        drop_rows, drop_columns : sequence of int
            The rows and columns of this assignment that are gone.
        forbid_nan : bool
            NaN forbids its pair, as for `gmatch.lap`; that is so anyway if it did before. All costs are read then.
        certify : bool
            Also run `gmatch.verify` on the result, which reads all costs.

        Returns
        -------
        Assignment
            As cheap as the assignment of ``gmatch.lap(cost)``, with the `maximize` and the `cost_limit` of this one. If
            several are equally cheap, it may be another one. ``stats["method"]`` is ``"update"``, or the method of
            `gmatch.lap` if all was solved anew; ``stats["rows_scanned"]`` says how much was read.

        Raises
        ------
        InvalidInput
            If numbers are out of range, a shape does not fit them, a new entry is no cost, or this assignment is
            neither ``"optimal"`` nor ``"limited"``.
        Infeasible
            If forbidden pairs leave no assignment; with a Hall witness.
        CertificateError
            If `certify` finds the result wrong: other costs have changed than the named ones.

        Notes
        -----
        Dense costs in memory take O(rows + columns) time and one shortest path for each new row, for each row whose
        column is gone or new, and for each column that loses its row and may stay free. A path takes O(rows * columns)
        time at worst. In square random costs it reads half of the rows, since it can end at one column only. If columns
        may stay free, it reads a few rows. Square sparse costs without a limit take a pass over all entries, and one
        path for each such row. Everything else is solved anew by `gmatch.lap`: other sparse costs, integers beyond
        2**55 in magnitude, floats among which a big number hides others, what follows an assignment with `exact` duals,
        a limit that is no integer for integer costs, and what has become infeasible. `gmatch.lap` itself is faster for
        fewer than some 300 rows, since a call takes 0.1 ms at least, and where most rows are new.

        Floats round a little each time. After thousands of updates `gmatch.verify` may ask for a solution from nothing.

        References
        ----------
        I. H. Toroslu, G. Üçoluk: Incremental assignment problem. Information Sciences 177 (2007).

        Examples
        --------
        A new request replaces row 1; then row 0 leaves and another comes.

        >>> cost = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
        >>> assignment = gmatch.lap(cost)
        >>> cost[1] = 6, 9, 1
        >>> assignment = assignment.update(cost, rows=[1])
        >>> assignment.cost, assignment.col_ind.tolist()
        (5, [1, 2, 0])
        >>> cost = np.vstack([cost[1:], [0, 4, 4]])
        >>> assignment.update(cost, drop_rows=[0], certify=True).col_ind.tolist()
        [2, 1, 0]
        """
        front = import_module(__package__)  # a result knows no solver, and asks the front of the house for one
        updated: Assignment = front.public.updated(
            self, cost, (rows, columns, drop_rows, drop_columns), forbid_nan, certify
        )
        return updated

    def moved(self, to_device: Callable[[Any], Any]) -> Assignment:
        """On another device."""
        names = "row_match", "col_match", "u", "v", "pair_costs"
        arrays = {name: to_device(getattr(self, name)) for name in names}
        cover = self.cover and (to_device(self.cover[0]), to_device(self.cover[1]))
        return replace(self, **arrays, cover=cover, exact=self.exact and self.exact.moved(to_device))

    def __repr__(self) -> str:
        rows, columns = len(self.row_match), len(self.col_match)
        return (
            f"<Assignment of {self.size} pairs between {rows} rows and {columns} columns, cost {self.cost}, "
            f"{self.status}>"
        )


# They are set after the class is made. Inside of it they would be defaults of the fields.
for name, array_of_cells in _native.ARRAYS_OF_CELLS.items():
    setattr(Assignment, name, array_of_cells)


@dataclass(frozen=True, eq=False, repr=False)
class AssignmentBatch(_Later, Sequence[Assignment]):
    """The cheapest assignments of many problems, and their proofs: a sequence of `Assignment`.

    Arrays have a row for each problem, padded with -1 (mates) and 0 where a problem has fewer rows or columns, and live
    where the costs live; ``batch[k]`` is the assignment of problem k, with views of them.

    Arrays of a GPU are there before the GPU is done. A problem that the GPU cannot solve has -1 for all mates, and NaN
    for what its pairs cost (0 for integers). There are four reasons: an entry is NaN or the infinity that forbids
    nothing, forbidden pairs leave no assignment, sums could overflow, or duals hide costs (see `ExactDuals`). Reading
    `status`, `stats`, `exact`, `covers` or ``batch[k]`` waits for the GPU. So does reading `cost` and `size` of CuPy's
    arrays, and `cost` of int64. The host then solves the problems that the GPU has left, and puts them into the arrays.
    It raises `InvalidInput` or `Infeasible` for a problem that it cannot solve. Fields that are tensors are made again.
    Tensors that were taken before stay as they are.

    Attributes
    ----------
    row_match : int32 array, shape (problems, rows)
    col_match : int32 array, shape (problems, columns)
    u, v : int64 or float64 arrays, shapes (problems, rows) and (problems, columns)
        As in `Assignment`.
    pair_costs : array, shape (problems, rows)
        The entry of each row's pair; 0 for free rows.
    status : tuple of Status
    shapes : int64 array on the host, shape (problems, 2)
        Rows and columns of each problem.
    places : list of (rows, columns), or None
        The rows and columns of each problem that count, if a mask left out others than the last ones.
    covers : dict
        `Assignment.cover` of the problems that are ``"partial"``.
    exact : dict
        `Assignment.exact` of the problems that have such duals.
    maximize : bool
    cost_limit : int or float or None
    stats : dict
        As in `Assignment`, with an array on the host for each counter, a number for each problem; no lists by phase.
    forbid_nan : bool
        Whether some costs of the batch were NaN.

    Examples
    --------
    >>> batch = gmatch.lap([[[4, 1], [2, 0]], [[1, 2, 3]]])
    >>> batch
    <AssignmentBatch of 2 problems, 3 pairs>
    >>> batch.cost.tolist(), batch[1].pairs
    ([3, 1], [(0, 0)])
    """

    row_match: Any
    col_match: Any
    u: Any
    v: Any
    pair_costs: Any
    status: tuple[Status, ...]
    shapes: Any
    places: list[tuple[Any, Any]] | None = None
    covers: dict[int, Any] = field(default_factory=dict)
    maximize: bool = field(default_factory=bool)  # no attribute of the class: it can be made later
    cost_limit: int | float | None = field(default_factory=lambda: None)
    stats: dict[str, Any] = field(default_factory=dict)
    exact: dict[int, Any] = field(default_factory=dict)
    forbid_nan: bool = False

    @cached_property
    def cost(self) -> Any:
        """The cost of each assignment, shape (problems,): int64 for integers (exact), float64 for floats.

        For tensors it is a tensor, as in `Assignment`.

        Raises
        ------
        InvalidInput
            If int64 does not hold the cost of a problem. The cost of ``batch[k]`` is a Python int, and holds it,
            unless the costs are tensors.
        """
        if gives_back(self.pair_costs):
            if _is_int64(self.pair_costs):  # no NaN says that a GPU has left a problem to the host
                self._read()
                instead = "the cost of problem {0}; use sum(batch[{0}].pair_costs.tolist())"
                _refuse_large_sums(_on_host(self.pair_costs), instead)
            return sum_of(self.pair_costs, axis=1)
        self._read()
        # On the host: a GPU would first compile a program for sums, for more than a second.
        pair_costs = to_host(self.pair_costs)
        to_device = mover_to(device_of(self.pair_costs))
        if pair_costs.dtype != np.int64:
            return to_device(pair_costs.sum(axis=1, dtype=np.int64 if pair_costs.dtype.kind == "i" else np.float64))
        _refuse_large_sums(pair_costs, "the cost of problem {0}; use batch[{0}].cost")
        return to_device(pair_costs.sum(axis=1))

    @cached_property
    def size(self) -> Any:
        """How many pairs each problem has, shape (problems,)."""
        if gives_back(self.row_match):
            return (self.row_match >= 0).sum(axis=1)
        self._read()
        return mover_to(device_of(self.row_match))((to_host(self.row_match) >= 0).sum(axis=1))

    def _read(self) -> None:
        """Waits for a GPU, and lets the host solve the problems that the GPU left. Does nothing if it was done."""
        if self._later is not None:
            _, _, (items, *_) = self._later
            if hasattr(items, "read"):
                items.read()

    def __getstate__(self) -> dict[str, Any]:
        self._read()
        return super().__getstate__()

    def _length(self) -> int:
        later = self._later
        return len(self.shapes) if later is None else len(later[2][0])

    def _items(self) -> Iterator[Assignment]:
        """The assignments to iterate over. csrc/bindings/small_batches.cpp makes them while the batch is new."""
        later = self._later  # a tuple that is made when it is asked for
        return map(self._item, range(len(self))) if later is None else iter(later[2][0])

    @overload
    def __getitem__(self, number: int) -> Assignment: ...
    @overload
    def __getitem__(self, number: slice) -> list[Assignment]: ...
    def __getitem__(self, number: int | slice) -> Assignment | list[Assignment]:
        if isinstance(number, slice):
            return [self._item(k) for k in range(*number.indices(len(self)))]
        return self._item(range(len(self))[number])

    def _item(self, number: int) -> Assignment:
        """The assignment of a problem; its fields are made when they are asked for."""
        later = self._later
        if later is not None:
            item: Assignment = later[2][0][number]
            return item
        one = Assignment.later(self._field_of_item, self._pairs_of_item, (number,))
        vars(one).update(maximize=self.maximize, cost_limit=self.cost_limit, forbid_nan=self.forbid_nan)
        if self.covers:
            vars(one).update(cover=self.covers.get(number))
        return one

    def _field_of_item(self, name: str, number: int) -> Any:
        if name == "status":
            return self.status[number]
        if name == "exact":
            return self.exact.get(number)
        if name == "stats":
            stats = {key: _item(value, number) for key, value in self.stats.items() if key != "seconds"}
            return stats | {"seconds": {step: _item(v, number) for step, v in self.stats.get("seconds", {}).items()}}
        rows, columns = self._sides_of(number)
        if name == "row_match":
            return self._numbered(self.row_match[number], columns)[rows]
        if name == "col_match":
            return self._numbered(self.col_match[number], rows)[columns]
        if name == "pair_costs":
            return self.pair_costs[number][self.row_match[number] >= 0]
        if name in ("u", "v"):
            return getattr(self, name)[number][rows if name == "u" else columns]
        raise AttributeError(name)

    def _sides_of(self, number: int) -> tuple[Any, Any]:
        """Indices that pick the rows and the columns of a problem from all rows and columns."""
        if self.places is not None:
            return self.places[number]
        rows, columns = self.shapes[number].tolist()
        return slice(rows), slice(columns)

    def _numbered(self, match: Any, places: Any) -> Any:
        """Mates by their numbers in their problem."""
        return match if self.places is None else _renumbered(match, places)

    def _pairs_of_item(self, number: int) -> tuple[Any, Any]:
        if self.places is not None:
            row_match = self._field_of_item("row_match", number)
            rows = places_of(row_match >= 0)
            return rows, row_match[rows]
        (rows, columns, _), ends = self._all_pairs, self._ends
        return rows[ends[number] : ends[number + 1]], columns[ends[number] : ends[number + 1]]

    @cached_property
    def _ends(self) -> list[int]:
        """Where the pairs of each problem begin among all pairs, and where the last ones end."""
        return [0, *accumulate(self._all_pairs[2])]

    @cached_property
    def _all_pairs(self) -> tuple[Any, Any, list[int]]:
        """Rows and columns of the pairs of all problems, one problem after the other, and how many each has."""
        if self._later is not None:
            _, _, (items, *_) = self._later
            pairs: tuple[Any, Any, list[int]] = items.pairs
            return pairs
        if self.places is not None:
            rows, columns = (list(side) for side in zip(*self, strict=True))
            return np.concatenate(rows), np.concatenate(columns), list(map(len, rows))
        matched = self.row_match >= 0
        return places_of(matched, 1), self.row_match[matched], to_host(matched.sum(axis=1)).tolist()

    def __repr__(self) -> str:
        return f"<AssignmentBatch of {len(self)} problems, {int(self.size.sum())} pairs>"

    def _repr_html_(self) -> str:
        names = "problem", "rows", "columns", "pairs", "cost", "status"
        lines = (
            (number, len(one.row_match), len(one.col_match), one.size, one.cost, one.status)
            for number, one in enumerate(self)
        )
        return notebook.table(repr(self).strip("<>"), names, lines, len(self))


def _is_int64(tensor: Any) -> bool:
    return str(tensor.dtype).endswith("int64")


def _on_host(tensor: Any) -> Any:
    """A tensor as an array of NumPy."""
    return to_host(as_dense_array(tensor, "pair_costs"))


def _refuse_large_sums(pair_costs: Any, what: str) -> None:
    """Raises `InvalidInput` if int64 does not hold the sum of a row. `what` may name the row as {0}."""
    large = (abs(pair_costs.sum(axis=1, dtype=np.float64)) > 2.0**62).nonzero()[0].tolist()
    for number in large:
        cost = exact_sum(pair_costs[number])
        if not -(2**63) <= cost < 2**63:
            raise InvalidInput(f"int64 does not hold {cost}, {what.format(number)}")


def _item(value: Any, number: int) -> Any:
    return value[number].item() if isinstance(value, np.ndarray) else value


def _renumbered(match: Any, places: Any) -> Any:
    """Mates by their numbers among the places that count."""
    length = max(int(places.max(initial=-1)) + 2, 1)
    # Tensors of torch have new_full; arrays of NumPy and CuPy do not.
    numbers = match.new_full((length,), -1) if hasattr(match, "new_full") else np.full_like(match, -1, shape=length)
    numbers[places] = match.new_tensor(range(len(places))) if hasattr(match, "new_tensor") else np.arange(len(places))
    return numbers[match]


def witness_of(cover: tuple[Any, Any], shape: tuple[int, int]) -> tuple[Any, Any]:
    """Rows and columns that prove, by a cover smaller than both sides, that a pair is missing: see `Infeasible`."""
    cover_rows, cover_columns = cover
    if shape[0] <= shape[1]:
        return all_others(cover_rows, shape[0]), cover_columns
    return cover_rows, all_others(cover_columns, shape[1])


@dataclass(frozen=True)
class Certificate:
    """What `verify` proved.

    Attributes
    ----------
    size : int
        Edges in the matching, which is also the number of vertices in the cover.
    cover_rows, cover_columns : int
        How many rows and columns the cover has.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> gmatch.verify(matrix, gmatch.max_matching(matrix))
    Certificate(size=2, cover_rows=1, cover_columns=1)
    """

    size: int
    cover_rows: int
    cover_columns: int


@dataclass(frozen=True)
class AssignmentCertificate:
    """What `verify` proved: no assignment costs less than `cost - gap` (more than `cost + gap`, when maximizing).

    Attributes
    ----------
    cost : int or float
        The cost of the assignment.
    gap : int or float
        How much better another assignment could be at most, as the duals prove; 0 for integers.
    tolerance : int or float
        The largest `gap` that `verify` accepts: 0 for integers. For floats it allows for the rounding of the duals.

    Examples
    --------
    >>> gmatch.verify([[4, 1], [2, 0]], gmatch.lap([[4, 1], [2, 0]]))
    AssignmentCertificate(cost=3, gap=0, tolerance=0)
    """

    cost: int | float
    gap: int | float
    tolerance: int | float


@dataclass(frozen=True)
class DecompositionCertificate:
    """What `verify` proved: the form is block upper triangular, and no block can be split.

    Attributes
    ----------
    structural_rank : int
        Edges in the matching on the diagonals.
    blocks : int
        Blocks of the fine decomposition.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 0, 0], [1, 1, 1], [0, 1, 1]])
    >>> gmatch.verify(matrix, gmatch.block_triangular_form(matrix))
    DecompositionCertificate(structural_rank=3, blocks=2)
    """

    structural_rank: int
    blocks: int
