"""The part of a rank in an assignment problem, and its passes over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import cuda
from ..arrays import Device, device_of, mover_to, to_host
from ..backends.block_passes import BlockPasses, HeldRows, passes_of
from ..problems.limits import INFINITE_INTEGER, RowsOfCosts, blocks_of, minimised
from .blocks import Block
from .margins import Margins

Places = tuple[Any, Any]
"""Pairs, increasing, as row * columns + column in the problem, and what they cost; where the costs are."""


class Cut(NamedTuple):
    """Some rows by some columns of a problem of that shape."""

    rows: slice
    columns: slice
    shape: tuple[int, int]


class PassesOverRows(Protocol):
    """What `classical` asks of `BlockPasses`."""

    def least_of_rows(self, rows: Any, v: Any, covered: Any = None) -> tuple[Any, Any]: ...

    def entries_up_to(self, most: Any, held: HeldRows, least_too: bool) -> Any: ...


class Part:
    """The part of a rank in a problem of n rows, all to be matched, and m >= n columns: some rows by some columns.

    It is a share of a matrix (`MatrixPart`), or all of a problem whose rows are known some at a time: of a file or a
    function (`WindowPart`), or of points (`PointPart`). `by_core` and `classical` ask for no more than this class has.
    Of a matrix with more rows than columns the problem is the transpose: split rows are split columns then, and nothing
    moves. Costs are those of the minimisation form, cut off at the limit.
    """

    passes: PassesOverRows
    margins: Margins

    def __init__(self, block: RowsOfCosts, cut: Cut, device: Device = "cpu") -> None:
        self.block, (self.rows, self.columns, self.shape) = block, cut
        self.limit = block.limit
        """What a row pays to stay free, if it may in a core: then pairs at the limit do not belong to that."""
        self.dual_type: Any = block.dual_type
        self.far: Any = np.inf if self.dual_type is np.float64 else INFINITE_INTEGER
        """What no cost reaches: of forbidden pairs, and of the least of none."""
        self.device, self.xp = device, np if device == "cpu" else cuda.module()
        self.here = mover_to(device)
        """What brings a vector to the costs: the ranks share vectors on the host."""

    @property
    def extent(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    def own(self, u: Any, v: Any) -> tuple[Any, Any]:
        """The duals of its rows and of its columns, where the costs are."""
        return self.here(u[self.rows]), self.here(v[self.columns])

    def all_rows(self) -> Any:
        """As a list, where the costs are."""
        return self.xp.arange(self.extent[0], dtype=np.int32)

    def numbered(self, keys: Any) -> Any:
        """Of places row * columns + column in its costs those in the problem; in the same order."""
        width = self.extent[1]
        if width == self.shape[1]:
            return keys + self.rows.start * width
        return (keys // width + self.rows.start) * self.shape[1] + keys % width + self.columns.start

    def least_of_rows(self, v: Any) -> Any:
        """Of all rows of the problem the least cost less v; far for rows and columns of other ranks."""
        raise NotImplementedError

    def least_of_columns(self, u: Any) -> Any:
        """Of all columns of the problem the least cost less u; far for rows and columns of other ranks."""
        raise NotImplementedError


class MatrixPart(Part):
    """A share of a matrix on the host, or on a GPU, which is current; vectors come and go on the host."""

    def __init__(self, costs: Any, cut: Cut, block: Block, threads: int) -> None:
        super().__init__(block, cut, device_of(costs))
        self.costs, self.threads = costs, threads
        self.block: Block = block
        self.passes: BlockPasses = self._passes_of(costs, block.limit)
        self._uncut = self._passes_of(costs, block.cut)
        self.margins = Margins(costs.shape[0])
        """Of its pairs that are not in a core."""
        self.share = costs.shape[1] / max(self.shape[1], 1)
        """Of each row of the problem."""

    def _passes_of(self, costs: Any, limit: int | float | None) -> BlockPasses:
        return passes_of(costs, self.dual_type, self.block.maximize, limit, self.threads)

    @property
    def for_core(self) -> BlockPasses:
        """Passes that pick entries for a core, above the limit too where they do not belong to it."""
        return self.passes if self.limit is None else self._uncut

    @classmethod
    def of(cls, block: Block, threads: int) -> MatrixPart:
        rows, columns = slice(*block.rows), slice(0, block.shape[1])
        if block.transposed:
            return cls(block.array.T, Cut(columns, rows, block.shape[::-1]), block, threads)
        return cls(block.array, Cut(rows, columns, block.shape), block, threads)

    def slices(self) -> Iterator[slice]:
        """Windows of its rows: as many entries as a cache holds, or as hide a launch of a GPU."""
        return blocks_of(self.costs.shape, self.device)

    def some_of(self, rows: Any) -> Iterator[slice]:
        """Slices of a list of rows, of as many entries."""
        return blocks_of((len(rows), self.costs.shape[1]), self.device)

    def values(self, rows: Any) -> Any:
        """A copy of some of its rows, numbered from its first."""
        return minimised(self.costs[rows], self.dual_type, self.block.maximize, self.block.limit)

    def entries(self, keys: Any) -> Any:
        """What the pairs in some places of its costs cost, row * columns + column."""
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
        """Whether entries of a column lie closer together than those of a row."""
        row_stride, column_stride = self.costs.strides
        return bool(abs(row_stride) < abs(column_stride))

    def places(self, keys: Any) -> Places:
        """Places in its costs as they are numbered in the problem, and what their pairs cost."""
        return self.numbered(keys), self.entries(keys)
