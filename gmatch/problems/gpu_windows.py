"""Costs on a GPU that are never all there: some rows at a time, of points, of a function, or of an array elsewhere.

The three differ in how the entries of a window come to the GPU. A program fills windows of points
(`gmatch/distributed/filled_windows.py`), a function of the user returns its own, and rows of an array are copied while
the GPU works on the window before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np

from .. import cuda
from ..arrays import mover_to, readable
from ..errors import InvalidInput
from .limits import without_nan

# Windows that stay on the GPU take at most 1 / KEPT of its free memory. They are neither computed nor copied again. The
# other half is for the core, and for what the caller does. Windows of points do not stay.
KEPT = 2
# One window takes at most 1 / OF_WINDOW of the free memory. Besides the windows that stay at most three are there at a
# time: one that is read, its copy in another type, and the next one.
OF_WINDOW = 16
# Rows that all threads of a GPU read at once in a pass: 16 lane groups of each multiprocessor, 4 rows each. See
# ROWS_AT_ONCE in csrc/team/device_team.cuh.
ROWS_OF_PROCESSOR = 64


class GpuWindows:
    """Windows of consecutive rows on the current GPU.

    Parameters
    ----------
    shape : (int, int)
        How many rows and columns there are.
    itemsize : int
        Bytes of an entry.
    together : int
        Heights of windows are multiples of this number of rows.

    Attributes
    ----------
    windows : list of slice
        The rows that are read together: as many as all threads of the GPU read at once, if they take at most 1/16 of
        the free memory.
    rows_seen : int
        How many rows passes have read so far.
    windows_read : int
        How many windows were brought to the GPU for that.

    Raises
    ------
    InvalidInput
        If a row takes more than a window may.
    """

    def __init__(self, shape: tuple[int, int], itemsize: int, together: int = 1) -> None:
        left, (rows, columns) = cuda.memory_left(), shape
        most = left // OF_WINDOW // max(1, columns * itemsize)
        if rows and not most:
            raise InvalidInput(
                f"a row of these costs takes {columns * itemsize} bytes, more than 1/{OF_WINDOW} of the {left} bytes "
                "that are free on the GPU; free memory there, or use device='cpu'"
            )
        height = max(1, min(ROWS_OF_PROCESSOR * cuda.processors(), most) // together) * together
        self.shape = shape
        self.windows = [slice(first, min(first + height, rows)) for first in range(0, rows, height) if columns]
        self.rows_seen = self.windows_read = 0
        self._kept: dict[int, Any] = {}
        self._room = left // KEPT

    def each(self, numbers: Sequence[int] | None = None) -> Iterator[tuple[slice, Any]]:
        """The windows of these numbers, or all, one after the other: rows, and their entries on the GPU."""
        wanted = list(range(len(self.windows)) if numbers is None else numbers)
        for number in wanted:
            self.rows_seen += self.windows[number].stop - self.windows[number].start
            if number in self._kept:
                yield self.windows[number], self._kept[number]
                continue
            self.windows_read += 1
            entries = self._bring(number, wanted[wanted.index(number) + 1 :])
            if entries.nbytes <= self._room:
                self._room -= entries.nbytes
                self._kept[number] = entries = self._own(entries)
            yield self.windows[number], entries
            del entries

    def close(self) -> None:
        """Drops the windows that are kept."""
        self._kept.clear()

    def _bring(self, number: int, later: list[int]) -> Any:
        """The entries of a window. `later` are the numbers of the windows that follow."""
        raise NotImplementedError

    def _own(self, entries: Any) -> Any:
        """Entries that nobody else changes."""
        return entries


class GivenWindows(GpuWindows):
    """What `FunctionCosts` and `RowWindows` share on a GPU.

    Attributes
    ----------
    as_type : dtype or None
        The type that entries are turned into; None if programs read them as they lie.
    """

    def __init__(self, costs: Any) -> None:
        super().__init__(costs.shape, costs.dtype.itemsize, costs.rows_together)
        self._costs = costs
        self._sums: dict[int, Any] = {}  # of the bits of each window that was read
        self.as_type: Any = None

    def each(self, numbers: Sequence[int] | None = None) -> Iterator[tuple[slice, Any]]:
        for rows, entries in super().each(numbers):
            yield rows, entries if self.as_type is None else entries.astype(self.as_type)

    def _bring(self, number: int, later: list[int]) -> Any:
        block = self._read(number, later)
        self._costs.refuse_other_block(block, self.windows[number])
        block = readable(cuda.module().ascontiguousarray(block), narrow=True)
        total = int(block.view(f"u{block.itemsize}").sum(dtype=np.uint64))
        if self._sums.setdefault(number, total) != total:
            raise self._costs.other_costs(self.windows[number])
        if self._costs.forbids_nan:
            block, has_nan = without_nan(block, self._costs.maximize)
            self._costs.note_nan(has_nan)
        return block

    def _read(self, number: int, later: list[int]) -> Any:
        raise NotImplementedError


class CalledWindows(GivenWindows):
    """What a function returns for arrays of CuPy."""

    def _read(self, number: int, later: list[int]) -> Any:
        rows, xp = self.windows[number], cuda.module()
        numbers = xp.arange(rows.start, rows.stop), xp.arange(self.shape[1])
        return mover_to("gpu")(self._costs.called(rows, *numbers))

    def _own(self, entries: Any) -> Any:
        return entries.copy()  # the function may write its next block there


class CopiedWindows(GivenWindows):
    """Rows of an array of the host, or of one that reads them from elsewhere."""

    def __init__(self, costs: Any) -> None:
        super().__init__(costs)
        self._uploads = import_module("..devices.uploads", __package__).Uploads(costs.rows_together)
        self._coming: dict[int, Any] = {}
        self._one_at_a_time = Lock()
        self._dtype = costs.stored.newbyteorder("=")

    def close(self) -> None:
        super().close()
        self._uploads.close()
        self._coming.clear()

    def _read(self, number: int, later: list[int]) -> Any:
        coming = self._coming.pop(number, None) or self._start(number)
        entries = coming.finish()
        self._costs.give_pages_back()
        following = [other for other in later if other not in self._kept]
        if following and following[0] not in self._coming:
            self._coming[following[0]] = self._start(following[0])
        return entries

    def _start(self, number: int) -> Any:
        return self._uploads.start(self._rows, self.windows[number], self.shape[1], self._dtype)

    def _rows(self, rows: slice) -> Any:
        """Some rows. Threads read arrays of NumPy side by side, and others one after the other."""
        array = self._costs.array
        if type(array) in (np.ndarray, np.memmap):  # others may mask entries, or give rows of another kind
            return array[rows]
        with self._one_at_a_time:
            block = self._costs.rows_of(rows)
        self._costs.refuse_other_block(block, rows)
        return block
