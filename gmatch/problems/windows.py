"""Costs of an assignment problem that are read some rows at a time: from a function, or from an array elsewhere."""

from __future__ import annotations

import math
import mmap
import operator
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import cuda
from ..arrays import MAX_VERTICES, Device, as_dense_array, device_of, mover_to, namespace, to_host, truth_of
from ..devices import READERS
from ..errors import InvalidInput
from ..foreign import library_of
from ..types import WIDER_TYPE, WORKING_TYPES, number_type
from .frozen import Frozen
from .gpu_windows import CalledWindows, CopiedWindows, GivenWindows
from .limits import (
    Asked,
    Range,
    RowsOfCosts,
    dual_type_of,
    limit_of,
    number_of,
    refuse_overflow,
    type_with_limit,
    unit_of,
)

# Entries of a window: 8 MB of float64.
WINDOW = 1 << 20
# Rows that are kept as a sample of all, and entries of them.
SAMPLE, SAMPLED = 2048, 1 << 25
# Entries of the sample on a GPU: 1 GB.
SAMPLED_ON_GPU = 1 << 28
# Bytes of memory, where a system does not say.
MEMORY = 1 << 33
# Files of Linux that say how much memory a container may take: of control groups of version 2, and of version 1.
CONTROL_GROUPS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"


class _Promise(NamedTuple):
    """The options of costs by windows, as given."""

    shape: Any
    dtype: Any
    maximize: Any
    cost_limit: Any
    forbid_nan: Any


class WindowCosts(Frozen):
    """What `FunctionCosts` and `RowWindows` share: windows of consecutive rows, read again for each pass.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    dtype : dtype
        The type of the costs of pairs: the type given, or the type to which `DenseCosts` widens it.
    maximize : bool
    cost_limit : int or float or None
        As given.
    windows : list of slice
        The rows that are read together, always the same.
    windows_read : int
        How many windows were read so far, in all calls.
    has_nan : bool
        Whether NaN was read that forbids its pair.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    maximize: bool
    cost_limit: int | float | None
    windows: list[slice]
    windows_read: int
    has_nan: bool

    device: Device = "cpu"

    stored: np.dtype[Any]  # as promised
    rows_together: int  # heights of windows are multiples of it
    forbids_nan: bool
    _kept: tuple[int, Any]  # the number of a window, and its entries
    _sums: dict[int, int]  # of the bits of each window that was read
    _checked: CheckedWindows | None

    def _set(self, promise: _Promise, rows_together: int) -> None:
        """Sets the attributes, at the end of a constructor. Heights of windows are multiples of `rows_together`."""
        shape, dtype, maximize, cost_limit, forbid_nan = promise
        rows, columns = shape = _shape_of(shape)
        stored = _type_of(dtype)
        working = number_type(stored)
        if working not in WORKING_TYPES:
            working = np.dtype(WIDER_TYPE[working.kind, working.itemsize])
        maximize = truth_of("maximize", maximize)
        step = max(1, WINDOW // max(columns, 1) // rows_together) * rows_together
        vars(self).update(
            shape=shape, dtype=working, maximize=maximize, windows_read=0, stored=stored,
            rows_together=rows_together, _checked=None,
            cost_limit=None if cost_limit is None else number_of(cost_limit, working, maximize),
            windows=[slice(first, min(first + step, rows)) for first in range(0, rows, step) if columns],
            forbids_nan=truth_of("forbid_nan", forbid_nan), _kept=(-1, None), _sums={},
            has_nan=False,
        )  # fmt: skip

    def __repr__(self) -> str:
        rows, columns = self.shape
        wanted = "most" if self.maximize else "least"
        limit = "" if self.cost_limit is None else f", limit {self.cost_limit}"
        return f"<{type(self).__name__} of {rows} rows and {columns} columns, {self.dtype}, {wanted}{limit}>"

    def window(self, number: int) -> Any:
        """The entries of a window, in `dtype`; an infinity that forbids stands for NaN, if NaN is to forbid.

        Raises
        ------
        InvalidInput
            If it cannot be read, is not what was promised, or has changed since it was read before.
        """
        kept, entries = self._kept
        if kept != number:
            entries = self._read_again(number)
            vars(self).update(_kept=(number, entries))
        return entries

    def forget(self) -> None:
        """Drops the window that is kept until another one is read, so that it is read again."""
        vars(self).update(_kept=(-1, None))

    def _read_again(self, number: int) -> Any:
        rows = self.windows[number]
        vars(self).update(windows_read=self.windows_read + 1, _kept=(-1, None))
        block = self._read(rows)
        self.refuse_other_block(block, rows)
        block = np.ascontiguousarray(block)
        total = int(block.view(f"u{block.itemsize}").sum(dtype=np.uint64))
        if self._sums.setdefault(number, total) != total:
            raise self.other_costs(rows)
        entries = block.astype(self.dtype, copy=False)
        if self.forbids_nan and entries.dtype.kind == "f":
            is_nan = np.isnan(entries)
            if is_nan.any():
                entries = np.where(is_nan, -math.inf if self.maximize else math.inf, entries).astype(self.dtype)
                self.note_nan(True)
        return entries

    def each(self) -> Iterator[tuple[slice, Any]]:
        """All windows, one after the other: their rows, and their entries."""
        for number, rows in enumerate(self.windows):
            yield rows, self.window(number)

    def note_nan(self, was_read: bool) -> None:
        """Notes in `has_nan` whether NaN was read."""
        vars(self).update(has_nan=self.has_nan or was_read)

    def refuse_other_block(self, block: Any, rows: slice) -> None:
        """Raises `InvalidInput` unless a block of rows has the shape and the type that were promised."""
        shape, stored = (rows.stop - rows.start, self.shape[1]), self.stored
        if block.shape != shape or block.dtype.newbyteorder("=") != stored.newbyteorder("="):
            raise InvalidInput(
                f"{self._source} must give rows {rows.start} to {rows.stop - 1} as an array of shape {shape} and type "
                f"{stored}; got {block.dtype} of shape {block.shape}"
            )

    def other_costs(self, rows: slice) -> InvalidInput:
        """The error of rows that have changed since they were read."""
        return InvalidInput(
            f"{self._source} must give the same costs each time; rows {rows.start} to {rows.stop - 1} are not what "
            "they were when they were read first"
        )

    def on_gpu(self) -> GivenWindows:
        """Windows of the costs on the current GPU."""
        raise NotImplementedError

    _source = "the costs"

    def _read(self, rows: slice) -> Any:
        """Some consecutive rows as an array on the host."""
        raise NotImplementedError

    def checked(self) -> CheckedWindows:
        """The costs after a pass over all entries. Only the first call makes the pass."""
        checked = self._checked
        if checked is None:
            checked = CheckedWindows(self, self)
            vars(self).update(_checked=checked)
        return checked


class FunctionCosts(WindowCosts):
    """Costs that a function gives, as `gmatch.lap` takes them; they are never all in memory.

    Parameters
    ----------
    f : function
        ``f(rows, columns)`` takes two integer arrays, and returns what these rows cost with these columns: an array of
        shape (len(rows), len(columns)) and of type `dtype`. It is an array of NumPy, or one of CuPy or PyTorch that is
        copied to the host. With ``device="gpu"`` `f` takes arrays of CuPy. It then returns one, or a tensor on the GPU.
        `f` is called with consecutive rows and all columns: about 2**20 entries at a time on the host, and a window at
        a time on a GPU. Each pass asks for equal blocks. `lap` mostly takes 4 to 12 passes (``stats["passes"]``), and
        `verify` one or two. If there is only one block, `f` is called once. It must return equal costs each time. No
        two calls run at once.
    shape : (int, int)
        How many rows and columns there are.
    dtype : dtype
        The type of what f returns: bool, integers up to int64 and uint32, or float16 to float64.
    maximize : bool
        Whether the assignment of the largest sum is wanted.
    cost_limit : number, optional
        Pairs that cost more than this are never matched; rows and columns may stay free instead: see `gmatch.lap`.
    forbid_nan : bool
        Whether NaN forbids its pair, as +inf does (-inf when maximizing); otherwise NaN is refused.

    Raises
    ------
    InvalidInput
        If f is no function, or if shape or dtype is not as above. What f returns is checked when the costs are solved.

    Examples
    --------
    >>> import gmatch, numpy as np
    >>> x, y = np.array([1.0, 5.0, 7.0]), np.array([6.0, 2.0, 4.0])
    >>> costs = gmatch.FunctionCosts(lambda rows, columns: abs(x[rows, None] - y[columns]), (3, 3), np.float64)
    >>> gmatch.lap(costs).col_ind.tolist()
    [1, 2, 0]
    """

    f: Callable[[Any, Any], Any]

    _source = "the function"

    def __init__(
        self, f: Callable[[Any, Any], Any], shape: Any, dtype: Any, *, maximize: bool = False, cost_limit: Any = None,
        forbid_nan: bool = False,
    ) -> None:  # fmt: skip
        if not callable(f):
            raise InvalidInput(f"FunctionCosts takes a function f(rows, columns); got {type(f).__name__}")
        self._set(_Promise(shape, dtype, maximize, cost_limit, forbid_nan), 1)
        vars(self).update(f=f)

    def _read(self, rows: slice) -> Any:
        return np.asarray(to_host(self.called(rows, np.arange(rows.start, rows.stop), np.arange(self.shape[1]))))

    def called(self, rows: slice, of_rows: Any, of_columns: Any) -> Any:
        """What the function returns for numbers of rows and columns."""
        try:
            block = self.f(of_rows, of_columns)
        except MemoryError:
            raise
        except Exception as error:  # whatever a user's function raises
            raise InvalidInput(
                "the function must give the costs of any rows and all columns, which are arrays of "
                f"{'CuPy' if device_of(of_rows) == 'gpu' else 'NumPy'} here; for rows {rows.start} to {rows.stop - 1} "
                f"of {self.shape[0]} it raised {type(error).__name__}: {error}"
            ) from error
        return as_dense_array(block, "what the function returns")

    def on_gpu(self) -> GivenWindows:
        return CalledWindows(self)


class RowWindows(WindowCosts):
    """A matrix of costs larger than memory, as `gmatch.lap` takes it: some rows are read at a time.

    Parameters
    ----------
    array : array, shape (rows, columns)
        A `numpy.memmap`, a dataset of h5py, an array of zarr, or anything else with a shape, a dtype, and rows by
        ``array[first:end]``. Its type is bool, an integer type up to int64 and uint32, or float16 to float64. Each
        pass reads the rows in their order, about 2**20 entries at a time, and whole chunks if ``array.chunks`` says
        what they are. For a GPU, threads read 32 MB at a time; they read arrays of NumPy side by side. The array must
        not change meanwhile.
    maximize, cost_limit, forbid_nan
        As of `FunctionCosts`.

    Raises
    ------
    InvalidInput
        If it is no array of that kind. Its entries are checked when the costs are solved.

    Notes
    -----
    Pages of a `numpy.memmap` are given back to the system once they are read, if the file is not mapped for copies
    (mode "c"): the process keeps no more than a window of them.

    Examples
    --------
    >>> costs = gmatch.RowWindows(np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]))
    >>> gmatch.lap(costs).col_ind.tolist()
    [1, 0, 2]
    """

    array: Any

    _pages: Any  # the mapping of a file, or None
    _source = "the array"

    def __init__(self, array: Any, *, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False) -> None:
        if not has_rows(array):
            raise InvalidInput(
                "RowWindows takes an array of two dimensions with a dtype, whose rows are array[first:end]; got "
                f"{type(array).__name__}"
            )
        promise = _Promise(array.shape, array.dtype, maximize, cost_limit, forbid_nan)
        self._set(promise, _rows_of_a_chunk(array))
        vars(self).update(array=array, _pages=_pages_of(array))

    def _read(self, rows: slice) -> Any:
        block = self.rows_of(rows)
        self.give_pages_back()
        return block

    def rows_of(self, rows: slice) -> Any:
        """A copy of some rows, on the host."""
        try:
            return np.array(to_host(as_dense_array(self.array[rows])))
        except MemoryError:
            raise
        except Exception as error:  # whatever a library raises
            raise InvalidInput(
                f"the rows of the array must be readable as array[first:end]; array[{rows.start}:{rows.stop}] raised "
                f"{type(error).__name__}: {error}"
            ) from error

    def give_pages_back(self) -> None:
        """Gives the pages of the file back that this process has read."""
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_DONTNEED)

    def on_gpu(self) -> GivenWindows:
        return CopiedWindows(self)


class CheckedWindows(RowsOfCosts):
    """Costs by windows, after all entries were read once. Attributes have the names that `DenseCosts` gives them.

    Parameters
    ----------
    costs : WindowCosts
    source : WindowCosts or GivenWindows
        What reads them: the costs themselves, or their windows on a GPU.

    Attributes
    ----------
    sample : float32 array, shape (lines of a sample, length of a line)
        Some rows, or some columns if there are fewer columns than rows. They are in the minimisation form without the
        limit, divided by `unit` and rounded. It lies where the windows do.
    unit : float
        A power of two, about as large as the costs of the first window that has costs other than 0.
    cut : int or float or None
        The limit, if costs must be cut off at it before duals are subtracted from them: see `distributed.blocks.Block`.
    """

    device: Device = "cpu"  # of vectors
    overflows = False

    sample: Any
    entries_of_core: Callable[[Any], Any] | None = None  # tells entries without another pass, or None

    def __init__(self, costs: WindowCosts, source: Any) -> None:
        self.costs, self.source = costs, source
        self.shape, self.dtype, self.maximize = costs.shape, costs.dtype, costs.maximize
        self.transposed = self.shape[0] > self.shape[1]
        self.cost_limit = costs.cost_limit
        lines = self.shape[::-1] if self.transposed else self.shape
        self._sampled = rows_of_sample(*lines, SAMPLED if source is costs else SAMPLED_ON_GPU)
        self.sample, self.unit = None, 0.0
        ranges = [self._look_at_window(rows, entries) for rows, entries in source.each()]
        if self.sample is None:
            self.sample = np.empty((len(self._sampled), lines[1]), np.float32)
        self.unit = self.unit or 1.0
        ends = [(low, high) for low, high, _ in ranges if low <= high]
        lowest, highest = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
        found = Range(lowest, highest, any(forbids for _, _, forbids in ranges), False)
        self.forbid_nan = costs.has_nan
        self.limit = limit_of(self.cost_limit, self.maximize, found.highest, found.forbids)
        self.working_type = self.dtype
        if self.limit is not None:
            none = np.empty((0, 0), self.dtype)
            self.working_type = type_with_limit(self.limit, none, found.lowest, found.highest).dtype
            found = found.cut_off(self.limit)
        self.lowest, self.highest, self.forbids, _ = found
        self.dual_type = dual_type_of(self.working_type)
        refuse_overflow(self.lowest, self.highest, self.working_type, min(self.shape))
        self.cut = self.limit if self.dual_type is np.int64 else None

    def _look_at_window(self, rows: slice, entries: Any) -> tuple[int | float, int | float, bool]:
        """The range of a window in the minimisation form, and whether it forbids pairs."""
        maximize = self.maximize
        lowest, highest, has_nan, plus_inf, minus_inf, _ = READERS[device_of(entries)].inspect_costs(entries)
        refused = math.inf if maximize else -math.inf
        if has_nan or (plus_inf if maximize else minus_inf):
            wrong = entries != entries if has_nan else entries == refused
            row, column = (int(numbers[0]) for numbers in wrong.nonzero())
            advice = "; if NaN is for a pair that is not allowed, use forbid_nan=True" if has_nan else ""
            raise InvalidInput(
                f"cost must not hold {'NaN' if has_nan else f'{refused:+}'}"
                f"{'' if has_nan else f' ({-refused:+} forbids a pair)'}; entry {(rows.start + row, column)} "
                f"does{advice}"
            )
        if not self.unit and max(-lowest, highest) > 0:
            self.unit = unit_of(lowest, highest)
        self._keep_sample(rows, entries)
        forbids = bool(minus_inf if maximize else plus_inf)
        if lowest > highest:
            return math.inf, -math.inf, forbids
        return *((-highest, -lowest) if maximize else (lowest, highest)), forbids

    def _keep_sample(self, window: slice, entries: Any) -> None:
        if self.sample is None:
            shape = len(self._sampled), self.shape[0] if self.transposed else self.shape[1]
            self.sample = namespace(entries).empty(shape, np.float32)
        here = slice(*np.searchsorted(self._sampled, (window.start, window.stop)))
        of_window = self.sample[:, window] if self.transposed else self.sample[here]
        some = mover_to(device_of(entries))(self._sampled if self.transposed else self._sampled[here] - window.start)
        lines = entries[:, some].T if self.transposed else entries[some]
        with np.errstate(over="ignore"):  # float32 does not hold all costs
            of_window[:] = lines.astype(self.dtype) / ((self.unit or 1.0) * (-1 if self.maximize else 1))

    def entries_of(self, row_match: Any) -> Any:
        """The entries of the pairs, in the order of the rows, as given."""
        known = None if self.entries_of_core is None else self.entries_of_core(row_match)
        if known is not None:
            return known
        found = [np.empty(0, self.dtype)]
        for rows, entries in self.source.each():
            own = row_match[rows]
            matched = (own >= 0).nonzero()[0]
            here = mover_to(device_of(entries))
            found.append(to_host(entries[here(matched), here(own[matched])].astype(self.dtype)))
        return np.concatenate(found)


def rows_of_sample(rows: int, columns: int, most: int = SAMPLED) -> Any:
    """Numbers of rows, as far from each other as can be, of at most this number of entries, or one row."""
    size = min(rows, max(1, min(SAMPLE, most // max(columns, 1))))
    return np.arange(size) * rows // max(size, 1)


def has_rows(array: Any) -> bool:
    """Whether it has a shape of two dimensions, a type, and rows."""
    try:
        shape, _ = array.shape, np.dtype(array.dtype)
    except Exception:  # whatever a user's class raises
        return False
    return len(shape) == 2 and hasattr(type(array), "__getitem__") and device_of(array) == "cpu"


def as_windows(cost: Any, asked: Asked, device: str | None = None) -> Any:
    """Windows of an array that the memory of the host, or of the GPU that is asked for, does not hold.

    All else is returned as it is, except that a small array of a class that only gives rows is read into memory.
    """
    if isinstance(cost, WindowCosts):
        return cost
    is_in_memory = type(cost) is np.ndarray or not _lies_elsewhere(cost)
    if not is_in_memory and _bytes_of(cost) > _memory() // 2 or device == "gpu" and is_too_large_for_gpu(cost):
        return RowWindows(cost, **asked.of_costs())
    if not is_in_memory and not hasattr(type(cost), "__array__"):
        return RowWindows(cost).rows_of(slice(0, cost.shape[0]))
    return cost


def is_too_large_for_gpu(cost: Any) -> bool:
    """Whether it is a matrix of the host that the current GPU does not hold beside what a search needs.

    A matrix of one window fits. To ask for the free memory would take a part of the time of a small call.
    """
    if (
        not (isinstance(cost, np.ndarray) and cost.ndim == 2 or _lies_elsewhere(cost))
        or math.prod(cost.shape) <= WINDOW
    ):
        return False
    cuda.require()
    return _bytes_of(cost) > cuda.memory_left() // 8 * 7


def _bytes_of(cost: Any) -> int:
    rows, columns = cost.shape
    size: int = rows * columns * np.dtype(cost.dtype).itemsize
    return size


def _lies_elsewhere(array: Any) -> bool:
    """Whether it is a file that is mapped, or an array of two dimensions that gives no memory of its own."""
    if isinstance(array, np.memmap):
        return array.ndim == 2
    if isinstance(array, np.ndarray | list | tuple) or library_of(array):
        return False
    kind = type(array)
    own_memory = "__array_interface__", "__cuda_array_interface__", "__dlpack__", "__array_struct__", "nnz"
    return not any(hasattr(kind, name) for name in own_memory) and has_rows(array)


def _memory() -> int:
    """Bytes of memory that this process may take: of the machine, or of a limit of the process or its container."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # of other systems
        machine = MEMORY
    return min([machine, *_limits_of_process(), *_limits_of_container()])


def _limits_of_process() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit


def _limits_of_container() -> Iterator[int]:
    """Limits of control groups of Linux, as a container sees its own."""
    for name in CONTROL_GROUPS:
        try:
            limit = Path(name).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():  # and not "max"
            yield int(limit)


def windows_of(cost: WindowCosts, **options: Any) -> WindowCosts:
    """The costs themselves. Raises for options that costs by windows have themselves, or that are for matrices."""
    given = [name for name, option in options.items() if option is not None and option is not False]
    if given:
        name = type(cost).__name__
        raise InvalidInput(
            f"a {name} has its own maximize, cost_limit and forbid_nan, and takes no sizes and mask; got {given[0]}; "
            f"give maximize, cost_limit and forbid_nan to {name}(...) instead"
        )
    return cost


def _shape_of(shape: Any) -> tuple[int, int]:
    try:
        rows, columns = map(operator.index, shape)
    except (TypeError, ValueError):
        raise InvalidInput(f"shape must be the whole numbers of rows and columns; got {shape!r}") from None
    if not (0 <= rows and 0 <= columns and rows + columns <= MAX_VERTICES):
        raise InvalidInput(f"there must be from 0 to {MAX_VERTICES} rows and columns; got {shape!r}")
    return rows, columns


def _type_of(dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise InvalidInput(f"dtype must be a type of numbers; got {dtype!r}") from error
    if found.kind == "u" and found.itemsize == 8 or (found.kind, found.itemsize) not in WIDER_TYPE:
        raise InvalidInput(
            "dtype must be that of real numbers: bool, int8 to int64, uint8 to uint32, or float16 to float64; got "
            f"{found}; return a block of np.float64, say"
        )
    return found


def _rows_of_a_chunk(array: Any) -> int:
    """Rows that an array on a disk stores together; 1 if it does not say."""
    chunks: Any = getattr(array, "chunks", None)
    try:
        rows = int(chunks[0])
    except (TypeError, ValueError, IndexError):  # no chunks, or dask's, which have another form
        return 1
    return max(1, rows)


def _pages_of(array: Any) -> Any:
    """The mapping of a file whose pages may be given back without losing changes, or None."""
    if not isinstance(array, np.memmap) or array.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return None
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array
