"""Arrays of NumPy and CuPy: where they live, what they are made of, and small things that array code does with them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

import numpy as np
import scipy.sparse

from . import cuda
from .errors import GmatchError, InvalidInput
from .foreign import EXACT_IN_FLOAT64, array_of_frame, as_sparse, is_frame, library_of, unwrapped, way_in
from .types import WIDER_TYPE, WORKING_TYPES, is_narrow, number_type

Device = Literal["cpu", "gpu"]
# The most rows, and the most columns, of a problem: their numbers have 32 bits.
MAX_VERTICES = 2**31 - 2


def device_of(array: Any) -> Device:
    """Where an array lives. CuPy is not imported to find out."""
    return "gpu" if type(array).__module__.partition(".")[0] == "cupy" else "cpu"


def to_host(array: Any) -> Any:
    """An array on the host; itself if it is there."""
    return array.get() if hasattr(array, "get") else array


def mover_to(device: Device) -> Callable[[Any], Any]:
    """A function that copies an array to a device, and returns an array that is there as it is."""
    if device == "cpu":
        return to_host
    asarray: Callable[[Any], Any] = cuda.cupy().asarray
    return asarray


def beside(array: Any) -> AbstractContextManager[None]:
    """A context in which new arrays of a GPU lie on the GPU of this array."""
    return cuda.on_device(array.device.id if device_of(array) == "gpu" else None)


def own(array: Any) -> Any:
    """A copy that no other thread can change. What is checked must not change before it is used for an address.

    An array of a GPU is returned as it is.
    """
    return array.copy() if isinstance(array, np.ndarray) else array


def entry_of_each_row(matrix: Any, columns: Any) -> Any:
    """The entry of each row in its column. A row with column -1 gets any of its entries."""
    if device_of(matrix) == "gpu":
        return cuda.entry_of_each_row(matrix, columns)
    return matrix[np.arange(len(columns)), columns]


# DLPack's numbers for memory that a CUDA device reads: its own, and managed.
DLPACK_CUDA = (2, 13)
SIGN = np.uint64(1 << 63)


def as_dense_array(given: Any, what: str = "cost") -> Any:
    """A NumPy or CuPy array that shares its memory with what was given, if that is an array of any library."""
    if type(given) is np.ndarray or device_of(given) == "gpu":
        return given
    try:
        return _array_of(given, what)
    except (GmatchError, MemoryError):
        raise
    except Exception as error:  # whatever the methods of a user's class raise
        raise InvalidInput(
            f"{what} must be an array of numbers; got {type(given).__name__} ({_words_of(error)}){way_in(given, what)}"
        ) from error


def _words_of(error: Exception) -> str:
    """The message of an error, with its type in front, unless NumPy and PyTorch raise that type for refused arrays."""
    known = TypeError, ValueError, BufferError, RuntimeError, np.ma.MAError
    return str(error) if isinstance(error, known) and str(error) else f"{type(error).__name__}: {error}"


def _array_of(given: Any, what: str) -> Any:
    if what == "cost" and _is_sparse(given):
        raise InvalidInput(
            f"expected a dense matrix of costs; got a sparse {type(given).__name__}; make a dense one, with inf (-inf "
            "when maximizing) for the pairs that are not stored"
        )
    if _is_masked(given):
        raise _masked(what)
    given = unwrapped(given)
    if isinstance(given, list | tuple):
        return _array_of_lists(given, what)
    if library_of(given) == "networkx":
        raise InvalidInput(f"{what} must be an array of numbers; got a networkx {type(given).__name__}{way_in(given)}")
    if is_frame(given):
        return array_of_frame(given)
    if str(getattr(given, "dtype", "")) == "torch.bfloat16":
        return _array_of_brain_floats(given, what)
    if hasattr(given, "__cuda_array_interface__"):
        return cuda.cupy().asarray(given)
    if hasattr(given, "__dlpack_device__") and given.__dlpack_device__()[0] in DLPACK_CUDA:
        return cuda.cupy().from_dlpack(given)
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    return np.asarray(given)


def _array_of_brain_floats(tensor: Any, what: str) -> Any:
    """The array of a bfloat16 tensor: its memory if ml_dtypes gives NumPy that type, otherwise a float32 copy."""
    try:
        import ml_dtypes
    except ImportError:
        return _array_of(tensor.float(), what)
    return _array_of(tensor.view(sys.modules["torch"].int16), what).view(ml_dtypes.bfloat16)


def _is_sparse(given: Any) -> bool:
    # By its type: a damaged matrix may raise when it is asked.
    return hasattr(type(given), "format") and hasattr(type(given), "nnz") or as_sparse(given) is not given


def _is_masked(given: Any) -> bool:
    return isinstance(given, np.ma.MaskedArray) and bool(np.ma.is_masked(given))


def _masked(what: str) -> InvalidInput:
    advice = "; use cost.astype(float).filled(inf) to forbid the masked pairs (-inf to maximize)"
    return InvalidInput(f"{what} must not be masked{advice if what == 'cost' else ''}")


def _array_of_lists(given: Any, what: str) -> Any:
    """The array of nested lists. Lists are refused if NumPy would drop the masks of rows, or round integers."""
    array = np.asarray(given)
    parts = [given]
    for _ in range(array.ndim - 1):
        parts = list(chain.from_iterable(part for part in parts if isinstance(part, list | tuple)))
        if any(map(_is_masked, parts)):
            raise _masked(what)
    if array.dtype == np.float64:
        large = np.isfinite(array) & (abs(array) >= EXACT_IN_FLOAT64)
        for number in np.array(given, object)[large] if large.any() else ():
            if isinstance(number, int | np.integer) and (number >= 2**63 or float(number) != int(number)):
                raise InvalidInput(
                    f"{what} must not mix {number} with smaller integers or with floats in a list: NumPy makes float64 "
                    "of all, which may round; give an array of integers, or np.array(cost, np.float64) if rounding "
                    "does not matter"
                )
    return array


def as_matrix(cost: Any) -> Any:
    """A matrix of a type the programs know, as they can read it; its values are not trusted yet."""
    return read_matrix(cost)[0]


def read_matrix(cost: Any) -> tuple[Any, np.dtype[Any], Device]:
    """What `as_matrix` returns, the type of the numbers that its entries are, and the device."""
    array = as_dense_array(cost)
    if array.ndim != 2:
        raise InvalidInput(
            f"expected a matrix of costs, with rows and columns; got {type(cost).__name__} of {array.ndim} dimensions"
            f"{way_in(cost)}"
        )
    if max(array.shape) > MAX_VERTICES:
        raise InvalidInput(f"cost must have at most {MAX_VERTICES} rows and columns; got {array.shape}")
    array = readable(array, cost, narrow=True)
    return array, array.dtype if array.dtype in WORKING_TYPES else number_type(array.dtype), device_of(array)


def readable(array: Any, given: Any = None, *, narrow: bool = False) -> Any:
    """The array in a type and with strides that the programs can read; a copy only if it has others.

    Programs for dense costs read `narrow` types too. Messages give advice by `given`, from which the array was made.
    """
    if narrow and array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype not in WORKING_TYPES and not (narrow and is_narrow(array.dtype)):
        array = widened(array, given)
    if any(stride % array.itemsize for stride in array.strides) or not getattr(array.flags, "aligned", True):
        array = array.copy()
    return array


def _way_to_smaller(array: Any) -> str:
    """What to do with integers that int64 does not hold. Floats would make costs equal that differ by little."""
    if int(array.max()) - int(array.min()) < 2**63:
        return (
            "subtract the least cost from all, (cost - cost.min()).astype(np.int64), which changes no answer without a "
            "cost_limit"
        )
    return "use np.where(cost == cost.max(), np.inf, cost) if the largest forbids, or else cost.astype(np.float64)"


def widened(array: Any, given: Any = None) -> Any:
    """A copy in the type of the programs that holds every value."""
    dtype = array.dtype
    wider = number_type(dtype) if is_narrow(dtype) else WIDER_TYPE.get((dtype.kind, dtype.itemsize))
    if wider is None:
        raise InvalidInput(
            f"cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; got {dtype}"
            f"{way_in(given) or _way_to_floats(array, given)}"
        )
    if dtype.kind == "u" and dtype.itemsize == 8 and array.size and int(array.max()) >= 2**63:
        raise InvalidInput(
            f"cost must hold integers below 2**63; the largest is {int(array.max())}; {_way_to_smaller(array)}"
        )
    return array.astype(wider)


def _way_to_floats(array: Any, given: Any) -> str:
    """The end of a message: how to make floats of entries that are no numbers for NumPy."""
    if array.dtype.kind not in "fO":
        return ""
    library = library_of(given)
    if library == "polars":
        return _column_without_floats(given) or "; use cost.cast(polars.Float64)"
    if library == "pandas":
        return _column_of_names(given) or "; use cost.convert_dtypes(), or cost.astype(float)"
    makes = "np.array(cost, np.float64)" if isinstance(given, list | tuple) else "cost.astype(np.float64)"
    if array.dtype.kind == "O" and any(entry is None for entry in array.flat):
        return f"; use {makes}, which makes NaN of None, and forbid_nan=True if None is for a pair that is not allowed"
    return f"; use {makes}"


def _column_without_floats(frame: Any) -> str:
    """The end of a message: what to do with a column of polars that is no column of numbers; empty if there is none."""
    for name in frame.columns if is_frame(frame) else ():
        try:
            frame[name].cast(float)  # also of numbers as text
        except Exception as error:
            if library_of(error) != "polars":
                raise
            return f"; use cost.drop({name!r}) if that column names the rows"
    return ""


def _column_of_names(frame: Any) -> str:
    """The end of a message: what to do with the first column of a DataFrame without numbers; empty if there is none."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_frame(frame) else ():
        try:
            is_numbers = getattr(dtype, "kind", "O") in "biufO"
            frame[name].dropna().map(float)  # also of numbers as text
        except (TypeError, ValueError):
            is_numbers = False
        if not is_numbers:
            return f"; use cost.set_index({name!r}) if that column names the rows, or cost.drop(columns={name!r})"
    return ""


def truth_of(name: str, given: Any) -> bool:
    """An option as a boolean: the truth of any object except an array of several."""
    try:
        return bool(given)
    except MemoryError:
        raise
    except Exception as error:
        raise InvalidInput(f"{name} must be True or False; got {type(given).__name__}") from error


def truths_of(**options: Any) -> dict[str, bool]:
    """Some options as booleans, by their names."""
    return {name: truth_of(name, given) for name, given in options.items()}


def rows_without_their_edge(row_match: Any, row_of: Any, entries: Any) -> Any:
    """The matched rows that have no entry in the column of their mate."""
    joined = row_match < 0
    joined[row_of[row_match[row_of] == entries]] = True
    return (~joined).nonzero()[0]


def row_of_each_entry(indptr: Any, entries: int) -> Any:
    """The row of every stored entry, shape (entries,)."""
    xp = namespace(indptr)
    rows = len(indptr) - 1
    if xp is np:
        return np.repeat(np.arange(rows, dtype=np.int32), np.diff(indptr))
    return xp.searchsorted(indptr, xp.arange(entries, dtype=indptr.dtype), side="right").astype(np.int32) - 1


def namespace(array: Any) -> Any:
    """NumPy, or the CuPy that made the array."""
    return np if device_of(array) == "cpu" else cuda.module()


def as_matrix_of_scipy(matrix: Any) -> Any:
    """Real or complex numbers of any library, dense or sparse, as a sparse matrix of SciPy; itself if it is one."""
    sparse = as_sparse(matrix)
    if hasattr(type(sparse), "nnz"):
        made: Any = sparse if scipy.sparse.issparse(sparse) else to_host(sparse)
        if len(made.shape) != 2:
            raise InvalidInput(f"expected a matrix with rows and columns; got {len(made.shape)} dimensions")
        return made
    array = to_host(as_dense_array(matrix, "matrix"))
    dtype = number_type(array.dtype.newbyteorder("="))  # SciPy has no other byte order, and no floats of 16 bits
    _refuse_no_matrix(array, dtype)
    return scipy.sparse.coo_array(array.astype(dtype, copy=False))


def _refuse_no_matrix(array: Any, dtype: np.dtype[Any]) -> None:
    if array.ndim != 2 or dtype.kind not in "biufc":
        raise InvalidInput(
            f"expected a matrix of real or complex numbers; got {array.dtype} of {array.ndim} dimensions"
        )


def entries_on_gpu(matrix: Any) -> tuple[Any, Any, Any, tuple[int, int]] | None:
    """Rows, columns and numbers of the entries of a matrix on a GPU, and its shape; None for all others.

    A sparse matrix may have duplicate entries, in any order. In a dense one, 0 is no entry.
    """
    given = as_sparse(matrix)
    if scipy.sparse.issparse(given):
        return None
    if hasattr(type(given), "nnz"):
        return _stored_on_gpu(given) if device_of(given.data) == "gpu" else None
    array = as_dense_array(given, "matrix")
    if device_of(array) == "cpu":
        return None
    _refuse_no_matrix(array, array.dtype)
    with beside(array):
        rows, columns = array.nonzero()
        return rows, columns, array[rows, columns], array.shape


def _stored_on_gpu(matrix: Any) -> tuple[Any, Any, Any, tuple[int, int]]:
    with beside(matrix.data):
        if matrix.format != "csr":
            matrix = matrix.tocoo()
            return matrix.row, matrix.col, matrix.data, matrix.shape
        rows = row_of_each_entry(matrix.indptr, matrix.nnz)
        return rows, matrix.indices[: matrix.nnz], matrix.data[: matrix.nnz], matrix.shape


def magnitudes_of(numbers: Any) -> Any:
    """The magnitudes of real or complex numbers as float64, equal to the last digit on every device.

    Each step is rounded once, as IEEE 754 says. `hypot` of a library is not.
    """
    if numbers.dtype.kind != "c":
        return abs(numbers.astype(np.float64))
    sides = [abs(side.astype(np.float64)) for side in (numbers.real, numbers.imag)]
    _, exponent = np.frexp(np.maximum(*sides))
    ours, others = (np.ldexp(side, -exponent) for side in sides)  # scaled, so that squares do not overflow
    with np.errstate(over="ignore"):
        return np.ldexp(np.sqrt(ours * ours + others * others), exponent)


def lower_at(least: Any, numbers: Any, values: Any) -> None:
    """``least[numbers] = minimum(least[numbers], values)``, for numbers that repeat."""
    xp = namespace(least)
    if xp is np or least.dtype.itemsize < 8:
        xp.minimum.at(least, numbers, values)
        return
    # CuPy takes no minima of int64 here, and rounds float64 to float32. As uint64 of the same order both stay exact.
    keys = _in_order(least)
    xp.minimum.at(keys, numbers, _in_order(values))
    least[...] = _with_order_of_bits((keys ^ SIGN).view(np.int64), least.dtype).view(least.dtype)


def _in_order(numbers: Any) -> Any:
    """Numbers of 8 bytes as uint64 of the same order."""
    return _with_order_of_bits(numbers.view(np.int64), numbers.dtype).view(np.uint64) ^ SIGN


def _with_order_of_bits(bits: Any, dtype: Any) -> Any:
    """Turns the order of the bits of negative floats around. A second call undoes the first."""
    return bits ^ ((bits >> 63) & 0x7FFF_FFFF_FFFF_FFFF) if dtype.kind == "f" else bits


def places_of(mask: Any, dimension: int = 0) -> Any:
    """Where a mask is true, in the order of its entries: the places in one dimension."""
    places = mask.nonzero()
    return places[dimension] if isinstance(places, tuple) else places[:, dimension]  # torch has columns of a matrix


def exact_sum(values: Any) -> int | float:
    """The sum of an array as a Python int, or as the float nearest to it."""
    numbers = values.tolist()
    if values.dtype.kind != "f":
        whole: int = sum(numbers)
        return whole
    try:
        return math.fsum(numbers)
    except OverflowError:  # a partial sum overflows, even if the whole sum does not
        total = sum(map(Fraction, numbers))
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf


def exact_sums(rows: Any) -> Any:
    """The exact sum of each row of an array on the host."""
    if rows.dtype.kind != "f":
        return rows.sum(axis=1, dtype=np.int64)
    try:
        return np.array(list(map(math.fsum, rows.tolist())))
    except OverflowError:
        return np.array(list(map(exact_sum, rows)))


def all_others(numbers: Any, length: int) -> Any:
    """The vertices of a side of some length that are not among `numbers`, increasing."""
    others = np.ones_like(numbers, dtype=np.bool_, shape=length)
    others[numbers] = False
    return others.nonzero()[0]
