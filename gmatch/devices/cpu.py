"""What arrays of the host hold, by the compiled extension."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from .. import _native
from ..errors import InvalidInput
from ..types import stored_as

# More threads than this are refused: no host has them, and a mistaken number would use up its memory.
MAX_THREADS = 1024
# Entries of a graph for each thread that looks at all of them once. One thread looks at 2^24 in some 10 ms. Other
# numbers were not measured.
ENTRIES_PER_THREAD = 1 << 24
# Entries for each thread of a matrix that is read once, from one end to the other. One thread checks 2^24 doubles in
# 14.7 ms, 16 threads in 1.9 (benchmarks/log/core_host.md, "Where 16 threads spend a call").
COSTS_PER_THREAD = 1 << 20


# The processors that this process may use.
if hasattr(os, "sched_getaffinity"):
    processors: Callable[[], Collection[int]] = partial(os.sched_getaffinity, 0)
else:
    processors = partial(range, os.cpu_count() or 1)


def available_threads() -> int:
    """How many processors this process may use."""
    return len(processors())


def check_threads(threads: int | None) -> None:
    """Raises `InvalidInput` if `threads` is no number of threads."""
    is_number = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if threads is not None and not (is_number and 1 <= threads <= MAX_THREADS):
        raise InvalidInput(f"threads must be an integer from 1 to {MAX_THREADS}, or None; got {threads!r}")


# thread_count(threads, work): the number of threads to start. It is `threads`, if that is not None. Otherwise it is one
# for each unit of work, and at most one for each processor.
thread_count: Callable[[int | None, int], int] = partial(_native.thread_count, processors)


def inspect(indptr: Any, indices: Any, columns: int) -> tuple[int, int, int, int]:
    team_size = thread_count(None, len(indices) // ENTRIES_PER_THREAD)
    seen: tuple[int, int, int, int] = _native.inspect(indptr, indices, columns, team_size)
    return seen


def inspect_costs(array: Any, threads: int | None = None) -> tuple[Any, Any, bool, bool, bool, bool]:
    bits, name = stored_as(array.dtype)
    seen = _native.inspect_costs(array.view(bits), name, thread_count(threads, array.size // COSTS_PER_THREAD))
    return *seen, array.dtype.kind in "iu"


def inspect_with_few_pairs(array: Any, maximize: bool, threads: int | None = None) -> tuple[Any, Any]:
    """The few cheaper pairs and None, if nearly all pairs have one cost; otherwise None and what `inspect_costs` finds.

    The few pairs have the range of the costs: see csrc/serial/few_pairs.hpp.
    """
    bits, name = stored_as(array.dtype)
    team_size = thread_count(threads, array.size // COSTS_PER_THREAD)
    few_pairs = _native.find_few_pairs(array.view(bits), name, maximize, team_size)
    return few_pairs, inspect_costs(array, threads) if few_pairs is None else None


def has_duplicates(indptr: Any, indices: Any, columns: int) -> bool:
    found: bool = _native.has_duplicates(indptr, indices, columns)
    return found


def find_entries(indptr: Any, indices: Any, columns: int, row_match: Any) -> Any:
    positions = np.empty(len(row_match), np.int64)
    _native.find_entries(indptr, indices, columns, row_match, positions)
    return positions
