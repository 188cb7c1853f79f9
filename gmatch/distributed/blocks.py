"""The block of a rank, checked by all ranks before any work; and the passes of a rank over its part of the matrix."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..arrays import MAX_VERTICES, Device, as_matrix, device_of, mover_to, to_host
from ..errors import InvalidInput
from ..foreign import is_frame
from ..problems.batch import CostBatch
from ..problems.dense import DenseCosts
from ..problems.limits import (
    INFINITE_INTEGER,
    SPREADS,
    RowsOfCosts,
    dual_type_of,
    limit_of,
    number_of,
    range_of,
    refuse_overflow,
    type_with_limit,
    without_nan,
)
from ..problems.points import PointCosts
from ..problems.sparse import SparseCosts
from ..problems.windows import WindowCosts
from ..types import number_type
from .ranks import Ranks


class _Note(NamedTuple):
    """What a rank tells the others of its block."""

    rows: int
    columns: int
    dtype: np.dtype[Any]
    lowest: int | float
    highest: int | float
    forbids: bool
    has_nan: bool
    options: Mapping[str, Any]


class Block(RowsOfCosts):
    """Consecutive rows of a matrix, and what all ranks know of the whole matrix, by the names that `DenseCosts` has.

    Attributes
    ----------
    array : array, shape (its rows, columns)
        On the host or on a GPU, as it lies. A limit that is not whole makes a float64 copy of integers.
    rows : (int, int)
        The number of the block's first row in the whole matrix, and of the first row after the block.
    starts : list of int
        The first row of each rank, and the number of all rows.
    transposed : bool
        Whether the problem is the transpose of the matrix.
    cut : int or float or None
        The limit, if costs must be cut off at it before duals are subtracted from them; None if there is room for costs
        above the limit.
    """

    device: Device = "cpu"  # of the vectors that the ranks share
    overflows = False

    def __init__(self, ranks: Ranks, array: Any, notes: list[_Note], terms: Terms) -> None:
        self.starts = [0, *accumulate(note.rows for note in notes)]
        self.rows = self.starts[ranks.rank], self.starts[ranks.rank + 1]
        self.shape = self.starts[-1], notes[0].columns
        self.transposed = self.shape[0] > self.shape[1]
        self.dtype = notes[0].dtype
        self.maximize = maximize = terms.maximize
        self.forbids = any(note.forbids for note in notes)
        self.forbid_nan = any(note.has_nan for note in notes)
        filled = [note for note in notes if note.rows and note.columns]
        self.lowest = min((note.lowest for note in filled), default=0)
        self.highest = max((note.highest for note in filled), default=0)
        self.cost_limit = None if terms.cost_limit is None else number_of(terms.cost_limit, self.dtype, maximize)
        self.limit = limit_of(self.cost_limit, maximize, self.highest, self.forbids)
        self.array, above = array, self.highest
        if self.limit is not None:
            limit = self.limit
            self.array = ranks.done_by_all(lambda: type_with_limit(limit, array, self.lowest, self.highest))
            self.lowest = min(self.lowest, limit)
            self.highest = limit if self.forbids else min(self.highest, limit)
        number = number_type(self.array.dtype)
        self.dual_type = dual_type_of(number)
        refuse_overflow(self.lowest, self.highest, number, min(self.shape))
        self.cut = None if self._has_room_for(above) else self.limit

    def _has_room_for(self, above: int | float) -> bool:
        """Whether costs above the limit, less duals of a core, stay in the range of their type."""
        most = (SPREADS + 8 * min(self.shape)) * (self.highest - self.lowest) + max(-self.lowest, above)
        return self.dual_type is np.float64 or most < INFINITE_INTEGER

    def entries_of(self, row_match: Any) -> Any:
        """The entries of the pairs of this block's rows, as given, in the order of the rows."""
        return self.entries_at(*matched_rows(row_match[slice(*self.rows)]))

    def entries_at(self, rows: Any, columns: Any) -> Any:
        """The entries in some places of the block, on the host."""
        here = mover_to(device_of(self.array))
        return to_host(self.array[here(rows), here(columns)].astype(self.dtype))


def matched_rows(row_match: Any) -> tuple[Any, Any]:
    """The rows that are matched, and their columns."""
    matched = (row_match >= 0).nonzero()[0]
    return matched, row_match[matched]


class Terms(NamedTuple):
    """The options that must be equal on all ranks. Terms are equal if they print the same text."""

    maximize: bool
    cost_limit: Any
    forbid_nan: bool
    others: Mapping[str, Any]
    """By name."""

    def in_words(self) -> dict[str, str]:
        terms = self._asdict()
        others = terms.pop("others")
        return {name: repr(value) for name, value in (terms | others).items()}


def block_of(ranks: Ranks, block: Any, terms: Terms) -> Block:
    """This rank's block, once all ranks have checked their blocks and agree; otherwise the same error on all ranks."""
    note: _Note | Exception
    array = None
    try:
        array, has_nan = _readable(block, terms.forbid_nan, terms.maximize)
        lowest, highest, forbids, _ = range_of(array, device_of(array), terms.maximize)
        rows, columns = array.shape
        note = _Note(rows, columns, number_type(array.dtype), lowest, highest, forbids, has_nan, terms.in_words())
    except Exception as error:
        note = error
    notes = ranks.agree(note)
    _refuse_what_differs(notes)
    return Block(ranks, array, notes, terms)


def fingerprint(arrays: Any) -> str:
    """Type, shape and hash of each array, as a text: ranks compare arrays that must be equal by it."""
    if not isinstance(arrays, tuple | list):
        return repr(arrays)
    given = [to_host(array) for array in arrays]
    return " ".join(
        f"{array.dtype}{array.shape}:{hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()}" for array in given
    )


def _readable(block: Any, forbid_nan: bool, maximize: bool) -> tuple[Any, bool]:
    """The matrix as the passes read it, and whether NaN forbids pairs."""
    refuse_what_is_no_array(block)
    array = as_matrix(block)
    return without_nan(array, maximize) if forbid_nan else (array, False)


def refuse_what_is_no_array(block: Any) -> None:
    """Raises `InvalidInput` for costs of other kinds."""
    if isinstance(block, CostBatch | DenseCosts | PointCosts | SparseCosts | WindowCosts) or is_frame(block):
        raise InvalidInput(
            f"the block of a rank must be a dense array of costs; got {type(block).__name__}; give its array of this "
            "rank's rows, or solve the whole in one process, without comm"
        )


def _refuse_what_differs(notes: list[_Note]) -> None:
    """Raises the same error on all ranks. An empty block also has a width and a type that must agree."""
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
