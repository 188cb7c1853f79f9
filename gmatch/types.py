"""The types that programs are compiled for, and which of them holds the values of another type."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from . import _native
from .foreign import EXACT_IN_FLOAT64

# The types of the numbers that programs work with, and the narrowest of them that holds the values of another type.
WORKING_TYPES = frozenset(np.dtype(name) for name in ("int32", "int64", "float32", "float64"))


# Types that programs for dense costs read as they lie, by their names in NumPy, and the numbers that their entries are:
# see csrc/costs/stored.cuh. NumPy has bfloat16 from ml_dtypes.
NARROW_TYPES = {name: np.dtype(number) for name, number in _native.NARROW_TYPES.items()}


WIDER_TYPE = {
    ("b", 1): np.int32, ("i", 1): np.int32, ("i", 2): np.int32, ("i", 4): np.int32, ("i", 8): np.int64,
    ("u", 1): np.int32, ("u", 2): np.int32, ("u", 4): np.int64, ("u", 8): np.int64,
    ("f", 2): np.float32, ("f", 4): np.float32, ("f", 8): np.float64,
}  # fmt: skip


def is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype not in WORKING_TYPES and dtype.isnative and dtype.name in NARROW_TYPES  # a name takes microseconds


def number_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the numbers that programs make of entries of a type."""
    return NARROW_TYPES[dtype.name] if is_narrow(dtype) else dtype


def may_round(array: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an array is of integers that another type may not hold exactly."""
    if dtype.kind != "f" or array.dtype != np.int64 or not array.size:
        return False
    return max(-int(array.min()), int(array.max())) > EXACT_IN_FLOAT64


@cache
def stored_as(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], str]:
    """The type by which the extension takes entries, and the name of theirs. NumPy makes a name in a microsecond.

    They are integers of as many bits if NumPy lacks the type. The extension knows no types of other packages.
    """
    return dtype if hasattr(np, dtype.name) else np.dtype(f"u{dtype.itemsize}"), dtype.name
