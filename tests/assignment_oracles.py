"""Plain answers to compare assignments with, random small costs to ask about, and where to put them."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

import gmatch
from gmatch.arrays import mover_to

DTYPES = (
    "int32",
    "int64",
    "float32",
    "float64",
    "int8",
    "int16",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "float16",
)


def methods_that_solve(kind: str, device: str) -> tuple[str, ...]:
    able = (method.name for method in gmatch.ASSIGNMENT_METHODS if kind in method.solves.get(device, ()))
    return "auto", *able


METHODS = {device: methods_that_solve("dense", device) for device in ("cpu", "gpu")}


def methods_that_read(dtype: Any, device: str) -> tuple[str, ...]:
    """The methods that take dense costs of a type."""
    return methods_that_solve("dense" if np.dtype(dtype).itemsize > 2 else "narrow", device)


STARTS = ("auto", "reduce", "bids", "regret", "none")


def on(array: np.ndarray, device: str) -> Any:
    """The array on a device: a CuPy array on a GPU."""
    return mover_to(device)(array)


@cache
def partial_matchings(rows: int, columns: int) -> np.ndarray:
    """All ways to give each row a column of its own, or none, which is the number `columns`."""
    none = columns
    ways = [
        way
        for way in itertools.product(range(columns + 1), repeat=rows)
        if len(set(way) - {none}) == rows - way.count(none)
    ]
    return np.array(ways, int)


def brute_force(cost: np.ndarray, maximize: bool = False, limit: float | None = None) -> tuple[int, float]:
    """The size and the cost of the cheapest of the largest matchings; with a limit, 0 and the least price.

    A free vertex costs half the limit. Costs are small, so their sums are exact.
    """
    rows, columns = cost.shape
    sign = -1 if maximize else 1
    ways = partial_matchings(rows, columns)
    least = np.full((rows, columns + 1), 0.0)
    least[:, :columns] = sign * cost.astype(float)
    costs = least[np.arange(rows), ways].sum(axis=1)
    sizes = (ways < columns).sum(axis=1)
    if limit is not None:
        return 0, sign * float((costs + sign * limit * (rows + columns - 2 * sizes) / 2).min())
    size = int(sizes[np.isfinite(costs)].max())
    return size, sign * float(costs[sizes == size].min())


def price(cost: np.ndarray, assignment: Any, limit: float) -> float:
    return assignment.cost + limit * (sum(cost.shape) - 2 * assignment.size) / 2


def random_costs(rng: np.random.Generator, dtype: str, maximize: bool, largest: int = 5) -> np.ndarray:
    """Few different values, so that there are ties; up to `largest` rows and columns; floats with forbidden pairs."""
    shape = tuple(rng.integers(0, largest + 1, 2))
    most = int(rng.choice([1, 3, 20]))
    kind = np.dtype(dtype).kind
    cost = rng.integers(0 if kind in "ub" else -most, most + 1, shape).astype(dtype)
    if kind == "f":
        cost /= dtype_of_quarter(dtype)
        forbidden = rng.random(shape) < rng.choice([0, 0.2, 0.5, 0.9, 1])
        cost[forbidden] = -np.inf if maximize else np.inf
    return cost


def dtype_of_quarter(dtype: str) -> Any:
    return np.dtype(dtype).type(4)
