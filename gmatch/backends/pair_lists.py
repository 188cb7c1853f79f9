"""Lists of pairs, as `Places` are: row * columns + column, increasing, and what the pairs cost.

These functions are array code of the host. `pair_lists_gpu` has them as programs of a GPU.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..arrays import Device, device_of, mover_to, namespace, to_host

Places = tuple[Any, Any]


def lists_of(device: Device) -> Any:
    """The module with these functions for arrays of a device."""
    return import_module(".pair_lists_gpu" if device == "gpu" else ".pair_lists", __package__)


def merged(first: Places, second: Places) -> Places:
    """One list of two, both in order. The second one may have a pair twice. Both have costs, or none has."""
    (keys, values), (others, costs) = first, second
    xp = namespace(others)
    if costs is None:
        return xp.unique(xp.concatenate([keys, others])), None
    if len(others):
        is_first = xp.ones(len(others), np.bool_)
        is_first[1:] = others[1:] != others[:-1]
        others, costs = others[is_first], costs[is_first]
    if not len(keys):
        return others, costs
    # The shorter list is searched in the longer one.
    (more, values_of_more), (fewer, values_of_fewer) = sorted(
        ((keys, values), (others, costs)), key=lambda entries: -len(entries[0])
    )
    places = xp.searchsorted(more, fewer)
    is_new = more[xp.minimum(places, len(more) - 1)] != fewer
    fewer, values_of_fewer = fewer[is_new], values_of_fewer[is_new]
    places = places[is_new] + xp.arange(len(fewer))
    stay = xp.ones(len(more) + len(fewer), np.bool_)
    stay[places] = False
    return _placed(stay, places, more, fewer), _placed(stay, places, values_of_more, values_of_fewer)


def _placed(stay: Any, places: Any, old: Any, new: Any) -> Any:
    """One vector: the old entries where `stay` is true, the new ones in `places`."""
    vector = namespace(old).empty(len(stay), old.dtype)
    vector[stay] = old
    vector[places] = new
    return vector


def rows_of(keys: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Compressed sparse rows: where each row begins, and the columns."""
    xp, (rows, columns) = namespace(keys), shape
    begins = xp.searchsorted(keys, xp.arange(rows + 1) * columns)
    return begins.astype(index_type(len(keys))), (keys % columns).astype(np.int32)


def index_type(entries: int) -> Any:
    return np.int32 if entries < 2**31 else np.int64


def less_duals(pairs: Places, v: Any, shape: tuple[int, int]) -> tuple[tuple[Any, Any, Any], float, float]:
    """Compressed sparse rows of cost - v, and the least and the largest of these."""
    keys, costs = pairs
    begins, columns = rows_of(keys, shape)
    above = costs - v[columns]
    return (begins, columns, above), float(above.min()), float(above.max())


def rows_that_want(pairs: Places, v: Any, shape: tuple[int, int], known: Any) -> int:
    """How many rows have their pair of least cost - v, among the pairs of a list, outside the known pairs.

    One known pair is enough for a row whose best pairs tie.
    """
    xp, (keys, costs) = namespace(v), pairs
    rows = keys // shape[1]
    is_best = costs - v[keys % shape[1]] == least_of_rows(pairs, v, shape)[rows]
    return shape[0] - len(xp.unique(rows[is_best & xp.isin(keys, known)]))


def least_of_rows(pairs: Places, v: Any, shape: tuple[int, int]) -> Any:
    """The least cost - v of each row among the pairs of a list; inf for a row without pairs."""
    keys, costs = pairs
    least, above = np.full(shape[0], np.inf), to_host(costs - v[keys % shape[1]])
    np.minimum.at(least, to_host(keys) // shape[1], above)
    return mover_to(device_of(keys))(least)


def turned(keys: Any, first_row: int, shape: tuple[int, int]) -> Any:
    """Pairs of rows from `first_row` on, with rows and columns in each other's place, increasing.

    `shape` is the shape of the problem before that. The given pairs have `first_row` as number 0.
    """
    rows, columns = shape
    return namespace(keys).sort(keys % columns * rows + keys // columns + first_row)
