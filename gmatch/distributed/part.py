"""The part of a rank in an assignment problem, and its passes over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import cuda
from ..arrays import Device, device_of, mover_to, to_host
from ..backends.block_passes import BlockPasses, HeldRows, Near, Picks, passes_of
from ..backends.pair_lists import lists_of
from ..problems.limits import INFINITE_INTEGER, RowsOfCosts, blocks_of, minimised
from .blocks import Block
from .margins import Margins

Places = tuple[Any, Any]
"""Pairs, increasing, as row * columns + column in the problem, and what they cost; where the costs are."""


class Cut(NamedTuple):
    """Some rows by some columns of a problem, and the shape of the problem."""

    rows: slice
    columns: slice
    shape: tuple[int, int]


class PassesOverRows(Protocol):
    """The passes that `classical` calls; `BlockPasses` has them for a matrix, `RowPasses` for windows."""

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]: ...

    def entries_up_to(self, most: Any, held: HeldRows, room: int) -> Near: ...


class Part:
    """The part of a rank in a problem of n rows, all to be matched, and m >= n columns: some rows by some columns.

    A part is a share of a matrix (`MatrixPart`). Or it is a whole problem that is read some rows at a time: windows of
    a file or a function (`WindowPart`). `by_core` and `classical` ask for no more than this class has. The problem of a
    matrix with more rows than columns is its transpose. No entry moves for that: a rank then has some columns of the
    problem. Costs are in the minimisation form, cut off at the limit.
    """

    passes: PassesOverRows
    margins: Margins
    holds_bids = False
    """Whether a search of the core may begin with an auction from known duals: on a GPU, for floats."""
    starts_near = False
    """Whether the first duals are near the best ones."""
    offers_in_order = False
    """Whether all entries that a core is offered come in the order of their places."""

    def __init__(self, block: RowsOfCosts, cut: Cut, device: Device = "cpu") -> None:
        self.block, (self.rows, self.columns, self.shape) = block, cut
        self.limit = block.limit
        """What a row pays to stay free, if it may in a core: then pairs at the limit do not belong to that."""
        self.dual_type: Any = block.dual_type
        self.far: Any = np.inf if self.dual_type is np.float64 else INFINITE_INTEGER
        """What no cost reaches: of forbidden pairs, and of the least of none."""
        self.device, self.xp = device, np if device == "cpu" else cuda.module()
        self.lists = lists_of(device)
        """The functions of `gmatch.backends.pair_lists`, for arrays of the device."""
        self.here = mover_to(device)
        """What brings a vector to the costs: the ranks share vectors on the host."""

    @property
    def extent(self) -> tuple[int, int]:
        """How many rows and columns this part has."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    def own(self, u: Any, v: Any) -> tuple[Any, Any]:
        """The duals of this part's rows and columns, on the device of the costs."""
        return self.here(u[self.rows]), self.here(v[self.columns])

    def all_rows(self) -> Any:
        """The numbers of all rows of this part, on the device of the costs."""
        return self.here(np.arange(self.extent[0], dtype=np.int32))

    def bids_on(self, costs: Any) -> Any:
        """What an auction alone makes of the costs of a core, if this part holds auctions."""
        raise NotImplementedError("this part holds no auctions")

    def numbered(self, keys: Any) -> Any:
        """Places in the problem, from places row * columns + column in this part's costs; in the same order."""
        width = self.extent[1]
        if self.extent == self.shape:
            return keys
        if width == self.shape[1]:
            return keys + self.rows.start * width
        return (keys // width + self.rows.start) * self.shape[1] + keys % width + self.columns.start

    def values(self, rows: Any) -> Any:
        """A copy of what some rows of this part cost; row 0 is the first of the part."""
        raise NotImplementedError

    def least_of_rows(self, v: Any) -> Any:
        """The least cost - v of each row of the problem, over this part's columns; far for rows of other ranks."""
        raise NotImplementedError

    def least_of_columns(self, u: Any) -> Any:
        """The least cost - u of each column of the problem, over this part's rows; far for columns of other ranks."""
        raise NotImplementedError


class MatrixPart(Part):
    """A share of a matrix on the host, or on the current GPU. Vectors come and go on the host."""

    def __init__(self, costs: Any, cut: Cut, block: Block, threads: int) -> None:
        super().__init__(block, cut, device_of(costs))
        self.costs, self.threads = costs, threads
        self.block: Block = block
        self.passes: BlockPasses = self._passes_of(costs, block.limit)
        self._uncut = self._passes_of(costs, block.cut)
        self.margins = Margins(costs.shape[0])
        """What is known of this part's pairs that are not in a core."""
        self.share = costs.shape[1] / max(self.shape[1], 1)
        """Which share of each row of the problem this part has."""

    def _passes_of(self, costs: Any, limit: int | float | None) -> BlockPasses:
        return passes_of(costs, self.dual_type, self.block.maximize, limit, self.threads)

    @property
    def for_core(self) -> BlockPasses:
        """Passes that pick entries for a core. They cut costs off at the limit only if `Block.cut` says so."""
        return self.passes if self.limit is None else self._uncut

    @classmethod
    def of(cls, block: Block, threads: int) -> MatrixPart:
        rows, columns = slice(*block.rows), slice(0, block.shape[1])
        if block.transposed:
            return cls(block.array.T, Cut(columns, rows, block.shape[::-1]), block, threads)
        return cls(block.array, Cut(rows, columns, block.shape), block, threads)

    def slices(self) -> Iterator[slice]:
        """Windows of this part's rows, of the number of entries that `blocks_of` says for the device."""
        return blocks_of(self.costs.shape, self.device)

    def some_of(self, rows: Any) -> Iterator[slice]:
        """Slices of a list of rows, of the size that `slices` has."""
        return blocks_of((len(rows), self.costs.shape[1]), self.device)

    def values(self, rows: Any) -> Any:
        return minimised(self.costs[rows], self.dual_type, self.block.maximize, self.block.limit)

    def allowed_outside(self, rows: Any, inside: Any) -> int:
        """How many pairs of some of this part's rows are allowed outside some of its columns."""
        return sum(
            int((self.values(rows[some])[:, ~inside] < self.far).sum())
            for some in (self.some_of(rows) if self.costs.size else ())
        )

    def entries(self, keys: Any) -> Any:
        """What some pairs cost, by their places row * columns + column in this part's costs."""
        if self.costs.flags.c_contiguous:
            entries = self.costs.ravel()[keys]
        else:
            entries = self.costs[divmod(keys, self.costs.shape[1])]
        return minimised(entries, self.dual_type, self.block.maximize, self.block.limit)

    def least_of_rows(self, v: Any) -> Any:
        least, own_v = np.full(self.shape[0], self.far, self.dual_type), self.here(v[self.columns])
        if self._lies_by_columns():
            least[self.rows] = to_host(self._passes_of(self.costs.T, self.block.limit).least_of_columns(own_v))
        else:
            least[self.rows] = to_host(self.passes.least_of_rows(self.all_rows(), own_v)[0])
        return least

    def least_of_columns(self, u: Any) -> Any:
        least, own_u = np.full(self.shape[1], self.far, self.dual_type), self.here(u[self.rows])
        if self._lies_by_columns():
            columns = self.xp.arange(self.costs.shape[1], dtype=np.int32)
            least[self.columns] = to_host(
                self._passes_of(self.costs.T, self.block.limit).least_of_rows(columns, own_u)[0]
            )
        else:
            least[self.columns] = to_host(self.passes.least_of_columns(own_u))
        return least

    def _lies_by_columns(self) -> bool:
        """Whether the entries of a column lie closer together in memory than the entries of a row."""
        row_stride, column_stride = self.costs.strides
        return bool(abs(row_stride) < abs(column_stride))

    def places(self, picks: Picks) -> Places:
        """Picked places, numbered in the whole problem, and the costs of their pairs."""
        costs = self.entries(picks.places) if picks.costs is None else picks.costs
        return self.numbered(picks.places), costs
