"""The block of a rank, checked by all ranks before any work; and the passes of a rank over its part of the matrix."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Device, device_of
from ..errors import InvalidInput
from ..foreign import is_frame
from ..problems.batch import CostBatch
from ..problems.dense import DenseCosts, as_matrix
from ..problems.limits import (
    INFINITE_INTEGER,
    MAX_VERTICES,
    blocks_of,
    limit_of,
    minimised,
    number_of,
    range_of,
    refuse_overflow,
    type_with_limit,
    without_nan,
)
from ..problems.points import PointCosts
from ..problems.sparse import SparseCosts
from ..problems.windows import WindowCosts
from ..types import readable
from .ranks import Ranks

# Slacks of floats within so many of their duals are zero but for rounding: as in csrc/costs/dense.cuh.
ROUNDINGS = 2.0**-48


class _Note(NamedTuple):
    """What a rank says of its block."""

    rows: int
    columns: int
    dtype: np.dtype[Any]
    lowest: int | float
    highest: int | float
    forbids: bool
    has_nan: bool
    options: Mapping[str, Any]


class Block:
    """Consecutive rows of a matrix, and what all ranks know of the whole of it; names are those of `DenseCosts`.

    Attributes
    ----------
    array : array, shape (its rows, columns)
        In the type that the programs read; with a limit that is not whole a float64 copy of integers.
    rows : (int, int)
        The first of its rows in the whole matrix, and the first after them.
    starts : list of int
        The first row of each rank, and the number of all rows.
    transposed : bool
        Whether the problem is that of the transpose.
    """

    device: Device = "cpu"
    overflows = False

    def __init__(self, ranks: Ranks, array: Any, notes: list[_Note], maximize: bool, cost_limit: Any) -> None:
        self.starts = [0, *accumulate(note.rows for note in notes)]
        self.rows = self.starts[ranks.rank], self.starts[ranks.rank + 1]
        self.shape = self.starts[-1], notes[0].columns
        self.transposed = self.shape[0] > self.shape[1]
        self.dtype = notes[0].dtype
        self.maximize = maximize
        self.forbids = any(note.forbids for note in notes)
        self.forbid_nan = any(note.has_nan for note in notes)
        filled = [note for note in notes if note.rows and note.columns]
        self.lowest = min((note.lowest for note in filled), default=0)
        self.highest = max((note.highest for note in filled), default=0)
        self.cost_limit = None if cost_limit is None else number_of(cost_limit, self.dtype, maximize)
        self.limit = limit_of(self.cost_limit, maximize, self.highest, self.forbids)
        self.array = array
        if self.limit is not None:
            limit = self.limit
            self.array = ranks.done_by_all(lambda: type_with_limit(limit, array, self.lowest, self.highest))
            self.lowest = min(self.lowest, limit)
            self.highest = limit if self.forbids else min(self.highest, limit)
        refuse_overflow(self.lowest, self.highest, self.array.dtype, min(self.shape))

    @property
    def dual_type(self) -> type[np.int64] | type[np.float64]:
        """Of the duals, and of sums of costs."""
        return np.int64 if self.array.dtype.kind == "i" else np.float64

    def dual_spread(self) -> int | float:
        """As of `DenseCosts`."""
        return DenseCosts.dual_spread(self)  # type: ignore[arg-type]

    def fits_core(self) -> bool:
        """As of `DenseCosts`."""
        return DenseCosts.fits_core(self)  # type: ignore[arg-type]

    def entries_of(self, row_match: Any) -> Any:
        """The entries of the pairs of its rows, in the order of the rows, as given."""
        own = row_match[slice(*self.rows)]
        matched = (own >= 0).nonzero()[0]
        return self.array[matched, own[matched]].astype(self.dtype)


def block_of(
    ranks: Ranks, block: Any, *, maximize: bool, cost_limit: Any, forbid_nan: bool, options: Mapping[str, Any]
) -> Block:
    """This rank's block, once all ranks have looked at theirs and agree; else the same error on all.

    `options` are what all must have asked for alike, by name; they compare by what they print.
    """
    note: _Note | Exception
    array = None
    try:
        array, has_nan = _readable(block, forbid_nan, maximize)
        lowest, highest, forbids, _ = range_of(array, "cpu", maximize)
        said = {"maximize": maximize, "cost_limit": cost_limit, "forbid_nan": forbid_nan, **options}
        in_words = {name: repr(value) for name, value in said.items()}
        rows, columns = array.shape
        note = _Note(rows, columns, array.dtype, lowest, highest, forbids, has_nan, in_words)
    except Exception as error:
        note = error
    notes = ranks.agree(note)
    _refuse_what_differs(notes)
    return Block(ranks, array, notes, maximize, cost_limit)


def fingerprint(arrays: Any) -> str:
    """Of arrays that must be the same on all ranks: types, shapes and a hash of each."""
    if not isinstance(arrays, tuple | list):
        return repr(arrays)
    given = [np.asarray(array) for array in arrays]
    return " ".join(
        f"{array.dtype}{array.shape}:{hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()}" for array in given
    )


def _readable(block: Any, forbid_nan: bool, maximize: bool) -> tuple[Any, bool]:
    """The matrix as the passes read it, and whether NaN forbids pairs."""
    if isinstance(block, CostBatch | DenseCosts | PointCosts | SparseCosts | WindowCosts) or is_frame(block):
        raise InvalidInput(
            f"the block of a rank must be a dense array of costs; got {type(block).__name__}; give its array of this "
            "rank's rows, or solve the whole in one process, without comm"
        )
    if device_of(block) == "gpu" or hasattr(block, "__cuda_array_interface__"):
        raise InvalidInput(
            "blocks on GPUs are not solved by several ranks yet; give blocks on the host, such as block.get(), or the "
            "whole matrix on one GPU, without comm"
        )
    array = readable(as_matrix(block), block)  # narrow ones as the numbers that they are
    return without_nan(array, maximize) if forbid_nan else (array, False)


def _refuse_what_differs(notes: list[_Note]) -> None:
    """Raises the same error on all ranks; an empty block has a width and a type, too."""
    first = notes[0]
    for rank, note in enumerate(notes):
        if note.columns != first.columns:
            raise InvalidInput(
                f"blocks must have the same number of columns; rank 0 has {first.columns}, rank {rank} {note.columns}"
            )
        if note.dtype != first.dtype:
            raise InvalidInput(
                f"blocks must have the same type; rank 0 has {first.dtype}, rank {rank} {note.dtype}; use "
                "block.astype(...)"
            )
        for name, value in note.options.items():
            if value != first.options[name]:
                raise InvalidInput(
                    f"all ranks must ask for the same; rank 0 has {name}={first.options[name]}, rank {rank} has "
                    f"{name}={value}"
                )
    if sum(note.rows for note in notes) > MAX_VERTICES:
        raise InvalidInput(f"cost must have at most {MAX_VERTICES} rows and columns")


Places = tuple[Any, Any, Any]
"""Rows and columns in the problem, and what they cost."""


class Part:
    """The part of a rank in a problem of n rows, all to be matched, and m >= n columns: some rows by some columns.

    Of a matrix with more rows than columns the problem is the transpose: split rows are split columns then, and nothing
    moves. Costs are those of the minimisation form, cut off at the limit.
    """

    def __init__(self, costs: Any, rows: slice, columns: slice, shape: tuple[int, int], block: Block) -> None:
        self.costs, self.rows, self.columns, self.shape = costs, rows, columns, shape
        self.block, self.dual_type = block, block.dual_type
        self.far = np.inf if self.dual_type is np.float64 else INFINITE_INTEGER
        """What no cost reaches: of forbidden pairs, and of the least of none."""

    @classmethod
    def of(cls, block: Block) -> Part:
        rows, columns = slice(*block.rows), slice(0, block.shape[1])
        if block.transposed:
            return cls(block.array.T, columns, rows, block.shape[::-1], block)
        return cls(block.array, rows, columns, block.shape, block)

    @property
    def splits_columns(self) -> bool:
        """Whether each rank has all rows."""
        return bool(self.costs.shape[0] == self.shape[0])

    @property
    def is_square_by_rows(self) -> bool:
        """Whether all columns are to be matched, too, and each rank has whole rows."""
        return self.shape[0] == self.shape[1] and not self.block.transposed

    def slices(self) -> Iterator[slice]:
        """Of its rows, each of so many entries as a cache holds."""
        return blocks_of(self.costs.shape, "cpu")

    def values(self, rows: Any) -> Any:
        """A copy of some of its rows, numbered from its first."""
        return minimised(self.costs[rows], self.dual_type, self.block.maximize, self.block.limit)

    def reduced(self, rows: Any, v: Any) -> Any:
        """The same, less the duals of the columns."""
        values = self.values(rows)
        values -= v[self.columns]
        return values

    def least_of_rows(self, v: Any) -> Any:
        """Of all rows of the problem the least cost less v; far for those of other ranks."""
        least = np.full(self.shape[0], self.far, self.dual_type)
        own = least[self.rows]
        for rows in self.slices():
            own[rows] = self.reduced(rows, v).min(axis=1, initial=self.far)
        return least

    def least_of_columns(self, u: Any) -> Any:
        """Of all columns of the problem the least cost less u; far for those of other ranks."""
        least = np.full(self.shape[1], self.far, self.dual_type)
        own = least[self.columns]
        for rows in self.slices():
            values = self.values(rows)
            values -= u[self.rows][rows, None]
            np.minimum(own, values.min(axis=0), out=own)
        return least

    def places(self, rows: Any, columns: Any, values: Any) -> Places:
        """Numbered as in the problem."""
        return rows + self.rows.start, columns + self.columns.start, values


def joined(found: list[Places], part: Part) -> Places:
    """All of these places."""
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, part.dual_type)
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(none, *found, strict=True))
    return rows, columns, values
