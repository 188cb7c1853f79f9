"""Lists of pairs on the current GPU: the functions of `pair_lists`, by csrc/points/lists.cuh.

CuPy would compile a kernel for each step of them, which takes seconds in a process without a cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import cuda
from ..arrays import to_host
from ..devices.gpu import from_order
from ..programs.catalogue import PAIR_LISTS
from ..programs.entry_points import GRID_BLOCK_SIZE, cupy, entry_points, resident_blocks
from ..programs.launch import Words
from .pair_lists import Places, index_type

# MOST_SHARES of csrc/points/lists.cuh.
MOST_SHARES = 2048
LISTS = "merge_pairs_grid", "make_rows_grid"
OF_POINTS = "count_unknown_grid", "least_of_lists_grid", "place_pairs_grid", "turn_pairs_grid", "copy_rows_grid"
LONG = ("make_long_rows_grid",)
INFINITE = 0x7FF << 52  # `order_of` of inf


def _run(names: tuple[str, ...], name: str, *arguments: Any) -> None:
    """Launches a program. All programs of `names` compile together."""
    device = cupy.cuda.Device()
    kernel = entry_points(PAIR_LISTS, names, device.id)[names.index(name)]
    words = Words(0)
    blocks = resident_blocks(kernel, GRID_BLOCK_SIZE, device)
    kernel((blocks,), (GRID_BLOCK_SIZE,), (*arguments, words.arrivals))


def merged(first: Places, second: Places) -> Places:
    (keys, values), (others, costs) = first, second
    places = cupy.empty(len(keys) + len(others), np.int64)
    of_places = None if values is None else cupy.empty(len(places), values.dtype)
    fresh, counts, number = (cupy.empty(length, np.int64) for length in (max(1, len(others)), MOST_SHARES, 1))
    _run(
        LISTS, "merge_pairs_grid", keys, _or_null(values), np.int64(len(keys)), others, _or_null(costs),
        np.int64(len(others)), places, _or_null(of_places), fresh, counts, number,
    )  # fmt: skip
    length = int(number.item())
    return places[:length], None if of_places is None else of_places[:length]


def _or_null(array: Any) -> Any:
    return np.uint64(0) if array is None else array


def rows_of(keys: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    return _made(keys, None, None, shape)[:2]


def less_duals(pairs: Places, v: Any, shape: tuple[int, int]) -> tuple[tuple[Any, Any, Any], float, float]:
    begins, columns, above, extremes = _made(*pairs, v, shape)
    lowest, minus_highest = (from_order(place, False) for place in to_host(extremes).tolist())
    return (begins, columns, above), float(lowest), -float(minus_highest)


def _made(keys: Any, costs: Any, v: Any, shape: tuple[int, int]) -> tuple[Any, Any, Any, Any]:
    rows, columns = shape
    offset = index_type(len(keys))
    begins, numbers = cupy.empty(rows + 1, offset), cupy.empty(len(keys), np.int32)
    above = None if v is None else cupy.empty(len(keys), np.float64)
    extremes = cupy.asarray(np.array([INFINITE, INFINITE], np.int64))
    names, name = (LISTS, "make_rows_grid") if offset is np.int32 else (LONG, LONG[0])
    _run(
        names, name, keys, _or_null(costs), np.int64(len(keys)), np.int64(rows), np.int64(columns), _or_null(v),
        begins, numbers, _or_null(above), extremes,
    )  # fmt: skip
    return begins, numbers, above, extremes


def rows_that_want(pairs: Places, v: Any, shape: tuple[int, int], known: Any) -> int:
    keys, costs = pairs
    number = cupy.zeros(1, np.int64)
    _run(
        OF_POINTS, "count_unknown_grid", keys, costs, np.int64(len(keys)), v, np.int64(shape[0]), np.int64(shape[1]),
        known, np.int64(len(known)), number,
    )  # fmt: skip
    return int(number.item())


def least_of_rows(pairs: Places, v: Any, shape: tuple[int, int]) -> Any:
    keys, costs = pairs
    least = cupy.empty(shape[0], np.float64)
    numbers = np.int64(shape[0]), np.int64(shape[1])
    _run(OF_POINTS, "least_of_lists_grid", keys, costs, np.int64(len(keys)), v, *numbers, least)
    return least


def listed(lists: tuple[Any, Any], most: int, first_row: int, columns: int) -> Any:
    """Places, increasing, from the sizes of lists of columns, one for each row, and the lists, each with room for
    `most` columns."""
    sizes, numbers = lists
    places, number = cupy.empty(len(numbers), np.int64), cupy.zeros(1, np.int64)
    _run(
        OF_POINTS, "place_pairs_grid", sizes, numbers, np.int64(len(sizes)), np.int64(most), np.int64(first_row),
        np.int64(columns), places, number,
    )  # fmt: skip
    found = cuda.beginning(places, int(number.item()))
    found.sort()
    return found


def turned(keys: Any, first_row: int, shape: tuple[int, int]) -> Any:
    """Pairs of rows from `first_row` on, with rows and columns in each other's place, increasing.

    `shape` is the shape of the problem before that. The given pairs have `first_row` as number 0.
    """
    made, (rows, columns) = cupy.empty(len(keys), np.int64), shape
    numbers = (np.int64(number) for number in (len(keys), first_row, rows, columns))
    _run(OF_POINTS, "turn_pairs_grid", keys, *numbers, made)
    made.sort()
    return made


def rows_by_number(array: Any, rows: Any, numbers: Any) -> Any:
    """Rows of an array. Their increasing numbers are given on the GPU and on the host.

    Rows that follow one another are not copied.
    """
    first, end = int(numbers[0]), int(numbers[-1]) + 1
    if end - first == len(numbers):
        return array[first:end]
    made = cupy.empty((len(numbers), array.shape[1]), array.dtype)
    words = np.int64(array.shape[1] * array.itemsize // 4)
    _run(OF_POINTS, "copy_rows_grid", array, words, rows, np.int64(len(numbers)), made)
    return made
