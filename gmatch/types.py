"""The types that programs are compiled for, and what holds the values of another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidInput
from .foreign import EXACT_IN_FLOAT64, is_frame, library_of, way_in

# The types of the numbers that programs work with, and the narrowest of them that holds the values of another type.
WORKING_TYPES = frozenset(np.dtype(name) for name in ("int32", "int64", "float32", "float64"))


# Types that programs for dense costs read as they lie, by their names in NumPy, and the numbers that their entries are:
# as NARROW_TYPES of csrc/costs/stored.cuh. NumPy has bfloat16 from ml_dtypes.
NARROW_TYPES = {
    "int8": np.dtype(np.int32), "uint8": np.dtype(np.int32), "int16": np.dtype(np.int32), "uint16": np.dtype(np.int32),
    "float16": np.dtype(np.float32), "bfloat16": np.dtype(np.float32),
}  # fmt: skip


WIDER_TYPE = {
    ("b", 1): np.int32, ("i", 1): np.int32, ("i", 2): np.int32, ("i", 4): np.int32, ("i", 8): np.int64,
    ("u", 1): np.int32, ("u", 2): np.int32, ("u", 4): np.int64, ("u", 8): np.int64,
    ("f", 2): np.float32, ("f", 4): np.float32, ("f", 8): np.float64,
}  # fmt: skip


def is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype not in WORKING_TYPES and dtype.isnative and dtype.name in NARROW_TYPES  # a name takes microseconds


def number_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of the numbers that entries of a type which programs read are."""
    return NARROW_TYPES[dtype.name] if is_narrow(dtype) else dtype


def bits_of(array: Any) -> Any:
    """The array as the extension takes it, which knows no bfloat16: with the name of its type."""
    return array if array.dtype in WORKING_TYPES or array.dtype.name != "bfloat16" else array.view(np.uint16)


def readable(array: Any, given: Any = None, *, narrow: bool = False) -> Any:
    """The array in a type and with strides that the programs can read; a copy only if it has others.

    Those for dense costs read `narrow` types, too. `given` is what the array was made of, for the advice of a message.
    """
    if narrow and array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype not in WORKING_TYPES and not (narrow and is_narrow(array.dtype)):
        array = widened(array, given)
    if any(stride % array.itemsize for stride in array.strides) or not getattr(array.flags, "aligned", True):
        array = array.copy()
    return array


def widened(array: Any, given: Any = None) -> Any:
    """A copy in the type of the programs that holds every value."""
    dtype = array.dtype
    wider = np.float32 if dtype.name == "bfloat16" else WIDER_TYPE.get((dtype.kind, dtype.itemsize))
    if wider is None:
        raise InvalidInput(
            f"cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; got {dtype}"
            f"{way_in(given) or _way_to_floats(array, given)}"
        )
    if dtype.kind == "u" and dtype.itemsize == 8 and array.size and int(array.max()) >= 2**63:
        raise InvalidInput(
            f"cost must hold integers below 2**63; the largest is {int(array.max())}; use cost.astype(np.float64)"
        )
    return array.astype(wider)


def _way_to_floats(array: Any, given: Any) -> str:
    """How to make floats of what is no number for NumPy, as the end of a message."""
    if array.dtype.kind not in "fO":
        return ""
    library = library_of(given)
    if library == "polars":
        return "; use cost.cast(polars.Float64)"
    if library == "pandas":
        return _column_of_names(given) or "; use cost.convert_dtypes(), or cost.astype(float)"
    makes = "np.array(cost, np.float64)" if isinstance(given, list | tuple) else "cost.astype(np.float64)"
    if array.dtype.kind == "O" and any(entry is None for entry in array.flat):
        return f"; use {makes}, which makes NaN of None, and forbid_nan=True if None is for a pair that is not allowed"
    return f"; use {makes}"


def _column_of_names(frame: Any) -> str:
    """What to do with the first column of a DataFrame that is no numbers, as the end of a message; empty if all are."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_frame(frame) else ():
        try:
            is_numbers = getattr(dtype, "kind", "O") in "biufO"
            frame[name].dropna().map(float)  # also of numbers as text
        except (TypeError, ValueError):
            is_numbers = False
        if not is_numbers:
            return f"; use cost.set_index({name!r}) if that column names the rows, or cost.drop(columns={name!r})"
    return ""


def may_round(array: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an array is of integers that another type may not hold exactly."""
    if dtype.kind != "f" or array.dtype != np.int64 or not array.size:
        return False
    return max(-int(array.min()), int(array.max())) > EXACT_IN_FLOAT64
