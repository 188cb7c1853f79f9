"""`lap` for many independent problems at once: costs, backend, method, results."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import MAX_VERTICES, Device, as_dense_array, device_of, mover_to, namespace, readable, to_host
from ..errors import InvalidInput
from ..layouts import BATCH_PROBLEM
from ..types import WORKING_TYPES, may_round
from .dense import DenseCosts
from .limits import (
    Asked,
    Range,
    dual_type_of,
    limit_of,
    number_of,
    range_of,
    refuse_overflow,
    sums_fit,
    type_with_limit,
    without_nan,
)

NUMBERS = frozenset((int, float, bool))


class CostBatch:
    """The costs of many problems, as `gmatch.lap` takes them.

    Parameters
    ----------
    cost : array, shape (problems, rows, columns), or sequence of matrices
        Entries as for `DenseCosts`. Matrices of a sequence may differ in shape and type, and are copied into one
        array of a type that holds all; integers beyond 2**53 are refused beside floats.
    maximize : bool
    cost_limit : number, optional
        As for `DenseCosts`, for all problems.
    sizes : integer array, shape (problems, 2), optional
        How many rows and columns of each matrix of an array count. All other entries are padding, and are never read.
    mask : bool array, shape (problems, rows, columns), optional
        Which entries count, if the padding may lie at any place. False for rows and columns that do not count.
    forbid_nan : bool
        Whether NaN forbids its pair; otherwise it is refused. Makes a copy if there is any.

    Attributes
    ----------
    array : array
        The array as given, of three dimensions; or one of one dimension, the matrices of a sequence one after the
        other.
    shape : (int, int, int)
        The number of problems, and the most rows and columns of a problem.
    shapes : int64 array on the host, shape (problems, 2)
        Rows and columns of each problem.
    pairs : int64 array on the host, shape (problems,)
        The most pairs of each problem.
    dtype, maximize, cost_limit, limit, lowest, highest, forbids, forbid_nan, device
        As for `DenseCosts`, over all problems.

    Raises
    ------
    InvalidInput
        As for `DenseCosts`; the message names the problem.

    Examples
    --------
    >>> batch = gmatch.CostBatch([[[4, 1], [2, 0]], [[1, 2, 3]]])
    >>> batch.shapes.tolist()
    [[2, 2], [1, 3]]
    >>> gmatch.lap(batch).cost.tolist()
    [3, 1]
    """

    def __init__(
        self,
        cost: Any,
        *,
        maximize: bool = False,
        cost_limit: Any = None,
        sizes: Any = None,
        mask: Any = None,
        forbid_nan: bool = False,
    ) -> None:
        self._make(cost, Asked.checked(maximize, cost_limit, forbid_nan), sizes, mask)
        self._read()

    @classmethod
    def as_asked(cls, cost: Any, asked: Asked, sizes: Any, mask: Any) -> CostBatch:
        """The batch of costs, with options that were checked. Entries on a GPU may not be read yet."""
        made = object.__new__(cls)
        made._make(cost, asked, sizes, mask)
        if made._can_wait():
            made.limit = None if made.cost_limit is None else -made.cost_limit if asked.maximize else made.cost_limit
            made.dual_type = dual_type_of(made.dtype)
        else:
            made._read()
        return made

    def _can_wait(self) -> bool:
        """Whether the program that solves the batch checks its entries, so that the host need not wait for them.

        The host knows the range of int32 without reading them. A limit of int64 may change their type.
        """
        return self.device == "gpu" and (self.dtype.kind == "f" or self.dtype == np.int64 and self.cost_limit is None)

    def _make(self, cost: Any, asked: Asked, sizes: Any, mask: Any) -> None:
        maximize, cost_limit, forbid_nan = asked[:3]
        self.array: Any
        self.shapes: Any
        self.shape: tuple[int, int, int] = (0, 0, 0)
        self.maximize = maximize
        self.places: list[tuple[Any, Any]] | None = None
        self._are_whole = False  # whether an array is known to have no padding
        if isinstance(cost, list | tuple) and not _is_nested_list(cost):
            if sizes is not None or mask is not None:
                raise InvalidInput("sizes and mask are for one padded array; the matrices of a sequence have shapes")
            self._pack([_matrix_of(matrix, number) for number, matrix in enumerate(cost)])
        else:
            self._take(cost, sizes, mask)
        self.pairs = np.minimum(self.shapes[:, 0], self.shapes[:, 1])
        self.forbid_nan = False
        if forbid_nan:
            self.array, self.forbid_nan = without_nan(self.array, self.maximize)
        self.dtype = self.array.dtype
        self.device: Device = "cpu" if type(self.array) is np.ndarray else device_of(self.array)
        self._given = self.array
        self.cost_limit = None if cost_limit is None else number_of(cost_limit, self.dtype, self.maximize)
        self.limit: int | float | None = None
        self._is_read = self.overflows = False

    def _read(self) -> None:
        """Checks all entries and finds their range. Waits for a GPU. Does nothing if it was done."""
        if self._is_read:
            return
        found = self._range()
        if self.cost_limit is not None:
            self.limit = limit_of(self.cost_limit, self.maximize, found.highest, found.forbids)
        if self.limit is not None:
            self.array = type_with_limit(self.limit, self.array, found.lowest, found.highest)
            found = found.cut_off(self.limit)
        self.lowest, self.highest, self.forbids, _ = found
        self.dual_type = dual_type_of(self.array.dtype)
        self.overflows = not sums_fit(self.lowest, self.highest, self.array.dtype, int(self.pairs.max(initial=0)))
        if self.overflows:
            self._refuse_overflow()
        self._is_read = True

    def _refuse_overflow(self) -> None:
        """Raises if a problem cannot be solved by itself: see `DenseCosts`."""
        try:
            for number in range(len(self)):
                self.costs_of(number)
        except InvalidInput:
            refuse_overflow(self.lowest, self.highest, self.array.dtype, int(self.pairs.max()))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        problems, rows, columns = self.shape
        return f"<CostBatch of {problems} problems of up to {rows} rows and {columns} columns, {self.dtype}>"

    def problem(self, number: int) -> Any:
        """The matrix of a problem: a view."""
        rows, columns = self.shapes[number].tolist()
        array = self._given
        if array.ndim == 3:
            return array[number, :rows, :columns]
        first = int(self._offsets[number])
        return array[first : first + rows * columns].reshape(rows, columns)

    def largest(self) -> DenseCosts:
        """One of the problems that can have the most pairs: the first of them, as costs of its own."""
        return self.costs_of(int(self.pairs.argmax()))

    def costs_of(self, number: int) -> DenseCosts:
        """One problem, as costs of its own."""
        return DenseCosts(self.problem(number), maximize=self.maximize, cost_limit=self.cost_limit)

    def on(self, device: Device) -> CostBatch:
        """This batch on a device; itself if it is there."""
        if device == self.device:
            return self
        other = object.__new__(CostBatch)
        vars(other).update(vars(self), array=mover_to(device)(self.array), device=device)
        return other

    def layout(self) -> Any:
        """`BatchProblem` of csrc/assignment/batch.cuh for each problem: a structured array on the host."""
        rows, columns = self.shapes.T
        if self.array.ndim == 3:
            steps = [stride // self.array.itemsize for stride in self.array.strides]
            offsets, row_strides, column_strides = np.arange(len(self)) * steps[0], steps[1], steps[2]
        else:
            offsets, row_strides, column_strides = self._offsets, columns, 1
        layout = np.empty(len(self), BATCH_PROBLEM.dtype)
        turned = rows > columns
        layout["offset"] = offsets
        layout["row_stride"] = np.where(turned, column_strides, row_strides)
        layout["column_stride"] = np.where(turned, row_strides, column_strides)
        layout["num_rows"] = np.minimum(rows, columns)
        layout["num_columns"] = np.maximum(rows, columns)
        layout["transposed"] = turned
        return layout

    def short_layout(self) -> tuple[Any, int]:
        """The layout of the first problem and the distance between problems, if all are alike; else `layout` and 0."""
        alike = self.array.ndim == 3 and len(self) > 0 and (self._are_whole or (self.shapes == self.shape[1:]).all())
        if not alike or self.array.strides[0] == 0:
            return self.layout(), 0
        rows, columns = self.shape[1:]
        row_step, column_step = (stride // self.array.itemsize for stride in self.array.strides[1:])
        return _layout_of_first(rows, columns, row_step, column_step), self.array.strides[0] // self.array.itemsize

    def _pack(self, matrices: list[Any]) -> None:
        """Copies matrices of any shapes into one array."""
        if len({device_of(matrix) for matrix in matrices}) > 1:
            raise InvalidInput("the matrices of a batch must live on one device")
        self.shapes = np.array([matrix.shape for matrix in matrices], np.int64).reshape(-1, 2)
        sizes = self.shapes.prod(axis=1)
        self._offsets = np.cumsum(sizes) - sizes
        types = {matrix.dtype for matrix in matrices}
        dtype = np.result_type(*types) if matrices else np.dtype(np.float64)
        for number, matrix in enumerate(matrices if len(types) > 1 else ()):
            if may_round(matrix, dtype):
                raise InvalidInput(
                    f"problem {number}: integers beyond 2**53 must not be in a batch with floats, whose float64 does "
                    "not hold them; use cost.astype(np.float64), or solve them apart"
                )
        flat = [matrix.ravel().astype(dtype, copy=False) for matrix in matrices]
        self.array = namespace(flat[0]).concatenate(flat) if flat else np.empty(0)
        rows, columns = self.shapes.max(axis=0, initial=0).tolist()
        self.shape = (len(matrices), rows, columns)

    def _take(self, cost: Any, sizes: Any, mask: Any) -> None:
        """Uses one array where it lies."""
        array = cost if type(cost) is np.ndarray else as_dense_array(cost)
        if array.ndim != 3:
            raise InvalidInput(f"expected costs of shape (problems, rows, columns); got {array.ndim} dimensions")
        if max(array.shape) > MAX_VERTICES:
            raise InvalidInput(f"cost must have at most {MAX_VERTICES} rows and columns; got {array.shape}")
        self.array = array = readable(array, cost)
        self.shape = array.shape
        if sizes is not None and mask is not None:
            raise InvalidInput("give sizes or mask, not both")
        if mask is not None:
            self._apply(mask)
        else:
            self.shapes = checked_sizes(sizes, array.shape)
            self._are_whole = sizes is None

    def _apply(self, mask: Any) -> None:
        """Turns a mask into sizes. If the padding does not come last, copies what the mask keeps."""
        rows, columns = sides_of_mask(mask, self.shape)
        self.shapes = sizes_of_sides(rows, columns)
        if not padding_is_last(rows, columns):
            shape = self.shape
            self.places = [(row.nonzero()[0], column.nonzero()[0]) for row, column in zip(rows, columns, strict=True)]
            self._pack([matrix[i][:, j] for matrix, (i, j) in zip(self.array, self.places, strict=True)])
            self.shape = shape

    def _range(self) -> Range:
        """The range of all entries that count, as `range_of` finds it."""
        if self.array.dtype == np.int32 and self.device == "gpu":
            # All int32 numbers are costs, and no sum overflows. Finding their range would take as long as the solution.
            return Range(int(np.iinfo(np.int32).min), int(np.iinfo(np.int32).max), False, True)
        try:
            return range_of(self._entries_that_count(), self.device, self.maximize)
        except InvalidInput:
            for number in range(len(self)):
                try:
                    range_of(self.problem(number), self.device, self.maximize)
                except InvalidInput as error:
                    raise InvalidInput(f"problem {number}: {error}") from None
            raise

    def _entries_that_count(self) -> Any:
        """A matrix of all entries that count: a view if there is no padding and the array lies in one piece."""
        array = self.array
        if array.ndim == 3:
            _, rows, columns = self.shape
            if (self.shapes == (rows, columns)).all():
                array = array[tuple(slice(None if stride else 1) for stride in array.strides)]  # repeated entries once
                array = array.transpose(sorted(range(3), key=lambda axis: -abs(array.strides[axis])))
            else:
                xp = namespace(array)
                heights, widths = (xp.asarray(size)[:, None] for size in self.shapes.T)
                inside = (xp.arange(rows) < heights)[:, :, None] & (xp.arange(columns) < widths)[:, None, :]
                array = array[inside]
        return array.reshape(1, -1)


@lru_cache(maxsize=1024)
def _layout_of_first(rows: int, columns: int, row_step: int, column_step: int) -> Any:
    """The layout of a problem that begins where the array begins."""
    turned = rows > columns
    first = BATCH_PROBLEM.pack(
        offset=0, row_stride=column_step if turned else row_step, column_stride=row_step if turned else column_step,
        num_rows=min(rows, columns), num_columns=max(rows, columns), transposed=turned,
    )  # fmt: skip
    return first.view(BATCH_PROBLEM.dtype).reshape(1)


def is_batch(cost: Any) -> bool:
    """Whether costs look like the costs of many problems."""
    if isinstance(cost, list | tuple):
        return bool(cost) and (_dimensions(cost[0]) == 2 or _is_nested_list(cost))
    return isinstance(cost, CostBatch) or _dimensions(cost) == 3


def sides_of_mask(mask: Any, shape: tuple[int, int, int]) -> tuple[Any, Any]:
    """The rows and the columns that a mask keeps, as booleans for each problem."""
    mask = to_host(as_dense_array(mask, "mask"))
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise InvalidInput(
            f"mask must hold booleans, one for each cost, shape {shape}; got {mask.dtype} of shape {mask.shape}"
        )
    rows, columns = mask.any(axis=2), mask.any(axis=1)
    ragged = (mask != (rows[:, :, None] & columns[:, None, :])).any(axis=(1, 2)).nonzero()[0]
    if len(ragged):
        raise InvalidInput(
            f"mask must leave out whole rows and columns; the mask of problem {int(ragged[0])} leaves out single "
            "pairs: forbid them by inf instead (-inf when maximizing)"
        )
    return rows, columns


def sizes_of_sides(rows: Any, columns: Any) -> Any:
    """How many rows and columns of each problem a mask keeps."""
    return np.stack([rows.sum(axis=1), columns.sum(axis=1)], axis=1).astype(np.int64)


def padding_is_last(rows: Any, columns: Any) -> bool:
    """Whether a mask keeps the first rows and columns of each problem."""
    return all(bool((side[:, :-1] >= side[:, 1:]).all()) for side in (rows, columns))


def checked_sizes(sizes: Any, shape: tuple[int, int, int]) -> Any:
    """Rows and columns of each problem of a padded array; of the whole array if none are given."""
    problems, rows, columns = shape
    if sizes is None:
        return np.full((problems, 2), (rows, columns), np.int64)
    if isinstance(sizes, list | tuple) and not sizes:  # NumPy makes floats of one dimension of []
        sizes = np.empty((0, 2), np.int64)
    sizes = to_host(as_dense_array(sizes, "sizes"))
    if sizes.dtype.kind not in "iu" or sizes.shape != (problems, 2):
        raise InvalidInput(
            f"sizes must be integers of shape ({problems}, 2), the rows and columns of each problem; got {sizes.dtype} "
            f"of shape {sizes.shape}"
        )
    sizes = sizes.astype(np.int64)  # a copy, which no other thread can change
    wrong = ((sizes < 0) | (sizes > (rows, columns))).any(axis=1).nonzero()[0]
    if len(wrong):
        number = int(wrong[0])
        raise InvalidInput(
            f"sizes must be from 0 to {rows} rows and {columns} columns; got {sizes[number].tolist()} for problem "
            f"{number}"
        )
    return sizes


def _matrix_of(matrix: Any, number: int) -> Any:
    if type(matrix) is np.ndarray and matrix.ndim == 2 and matrix.dtype in WORKING_TYPES:
        return matrix
    try:
        array = as_dense_array(matrix)
        if array.ndim != 2:
            raise InvalidInput(f"expected a matrix of costs; got {array.ndim} dimensions")
        return readable(array, matrix)
    except InvalidInput as error:
        raise InvalidInput(f"problem {number}: {error}") from error.__cause__


def _dimensions(cost: Any, most: int = 4) -> int:
    """The dimensions of an array or of nested lists, counted up to `most`: lists may be deep, or hold themselves."""
    if hasattr(type(cost), "nnz"):  # sparse, and perhaps damaged
        return 2
    try:
        if hasattr(cost, "ndim"):
            return int(cost.ndim)
        if hasattr(cost, "shape"):
            return len(cost.shape)
    except MemoryError:
        raise
    except Exception:  # a user's class raised; the code that makes an array of it says what is wrong
        return 0
    if not isinstance(cost, list | tuple) or not most:
        return 0
    if set(map(type, cost)) <= NUMBERS:  # rows are long
        return 1
    return 1 + max((_dimensions(part, most - 1) for part in cost), default=0)


def _is_nested_list(cost: Any) -> bool:
    """Whether these are plain lists of three dimensions with rows of one length, so that they make one array."""
    if not all(isinstance(matrix, list | tuple) for matrix in cost) or _dimensions(cost) != 3:
        return False
    if not all(isinstance(row, list | tuple) or _dimensions(row) == 1 for matrix in cost for row in matrix):
        return False
    return len({(len(matrix), *{len(row) for row in matrix}) for matrix in cost}) == 1
