"""What arrays of the host hold, by the compiled extension."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from .. import _native
from ..types import stored_as

# Entries for each thread that looks at all entries once. One thread looks at 2^24 entries in some 10 ms. Other numbers
# were not measured.
ENTRIES_PER_THREAD = 1 << 24


# The processors that this process may use.
if hasattr(os, "sched_getaffinity"):
    processors: Callable[[], Collection[int]] = partial(os.sched_getaffinity, 0)
else:
    processors = partial(range, os.cpu_count() or 1)


def available_threads() -> int:
    """How many processors this process may use."""
    return len(processors())


def threads_for(entries: int) -> int:
    """The threads that look at `entries` entries: one for each ENTRIES_PER_THREAD, at most one for each processor."""
    work = entries // ENTRIES_PER_THREAD
    return 1 if work < 2 else min(len(processors()), work)


def inspect(indptr: Any, indices: Any, columns: int) -> tuple[int, int, int, int]:
    seen: tuple[int, int, int, int] = _native.inspect(indptr, indices, columns, threads_for(len(indices)))
    return seen


def inspect_costs(array: Any) -> tuple[Any, Any, bool, bool, bool, bool]:
    bits, name = stored_as(array.dtype)
    seen = _native.inspect_costs(array.view(bits), name, threads_for(array.size))
    return *seen, array.dtype.kind in "iu"


def inspect_with_few_pairs(array: Any, maximize: bool) -> tuple[Any, Any]:
    """The pairs that are cheaper than nearly all others, which cost the same; else None, and what `inspect_costs` says.

    The few pairs know the range of the costs: see csrc/serial/few_pairs.hpp.
    """
    bits, name = stored_as(array.dtype)
    few_pairs = _native.find_few_pairs(array.view(bits), name, maximize, threads_for(array.size))
    return few_pairs, inspect_costs(array) if few_pairs is None else None


def has_duplicates(indptr: Any, indices: Any, columns: int) -> bool:
    found: bool = _native.has_duplicates(indptr, indices, columns)
    return found


def find_entries(indptr: Any, indices: Any, columns: int, row_match: Any) -> Any:
    positions = np.empty(len(row_match), np.int64)
    _native.find_entries(indptr, indices, columns, row_match, positions)
    return positions
