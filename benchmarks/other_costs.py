"""Costs that no paper's table has. A change that helps one family may harm another, so all are measured together.

Each function takes a random generator of NumPy or CuPy and the number of rows. It makes its matrix where the generator
lives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Random = Any  # a RandomState, which both libraries have


def column_prices(random: Random, n: int) -> Any:
    """All rows find the same columns cheap; duals lie as far apart as any two costs."""
    return random.random_sample((n, n)) + 5 * random.random_sample(n)


def row_scales(random: Random, n: int) -> Any:
    return random.random_sample((n, n)) * np.exp(3 * random.standard_normal((n, 1)))


def column_scales(random: Random, n: int) -> Any:
    return random.random_sample((n, n)) * np.exp(3 * random.standard_normal(n))


def products(random: Random, n: int, rank: int) -> Any:
    return random.random_sample((n, rank)) @ random.random_sample((rank, n))


def noisy_copies(random: Random, n: int, noise: float = 0.5) -> Any:
    """Vectors of features, and noisy copies in another order; the cost is minus the product."""
    features = random.standard_normal((n, 32))
    return -features @ (features[random.permutation(n)] + noise * random.standard_normal((n, 32))).T


def cosines(random: Random, n: int) -> Any:
    left, right = (random.standard_normal((n, 64)) for _ in range(2))
    return 1 - unit_rows(left) @ unit_rows(right).T


def unit_rows(vectors: Any) -> Any:
    return vectors / ((vectors * vectors).sum(1, keepdims=True)) ** 0.5


def distances(left: Any, right: Any) -> Any:
    squared = (left * left).sum(1)[:, None] + (right * right).sum(1) - 2 * left @ right.T
    return squared.clip(0) ** 0.5


def points(random: Random, n: int, dimension: int) -> Any:
    return distances(random.random_sample((n, dimension)), random.random_sample((n, dimension)))


def tracked_points(random: Random, n: int) -> Any:
    """Points that moved a little, in another order."""
    before = random.random_sample((n, 2))
    return distances(before, before[random.permutation(n)] + 0.005 * random.standard_normal((n, 2)))


def shifted_points(random: Random, n: int) -> Any:
    """Transport: all points go in one direction."""
    return distances(random.random_sample((n, 2)), 0.5 + random.random_sample((n, 2)))


def gathered_points(random: Random, n: int) -> Any:
    """Transport: from a heap to an even spread."""
    return distances(0.5 + 0.1 * random.standard_normal((n, 2)), random.random_sample((n, 2)))


def clustered_points(random: Random, n: int, width: float) -> Any:
    """Points at a few places, each with more points of one side. At width 0 most rows equal other rows."""
    places = random.random_sample((20, 2))
    sides = (places[random.randint(0, 20, n)] + width * random.standard_normal((n, 2)) for _ in range(2))
    return distances(*sides)


def numbers(random: Random, n: int, power: int) -> Any:
    """Distances of numbers: |x - y| ties everywhere, and squares make chains."""
    return abs(random.random_sample((n, 1)) - random.random_sample(n)) ** power


def band(random: Random, n: int) -> Any:
    rows = random.permutation(n)  # the order of the rows is random
    return ((rows[:, None] - random.permutation(n) + n // 3) ** 2).astype(np.int32)


def minima(random: Random, n: int) -> Any:
    """Nearly all entries are tight in the end."""
    number = random.permutation(n).astype(np.int32)
    return number[:, None].clip(None, random.permutation(n).astype(np.int32))


def heavy_tails(random: Random, n: int) -> Any:
    return np.exp(3 * random.standard_normal((n, n)))


def many_magnitudes(random: Random, n: int) -> Any:
    return random.random_sample((n, n)) ** 10


def barred(random: Random, n: int) -> Any:
    """Two entries in a hundred are cheap, all others nearly forbidden."""
    wanted = random.random_sample((n, n)) < 0.02
    cost = 1000 * random.random_sample((n, n))
    cost[~wanted] = 1e6
    return cost.astype(np.int32)


def gated(random: Random, n: int) -> Any:
    """As trackers write a gate: pairs within the gate are cheap, all others cost a large number."""
    cost = random.randint(0, 100, (n, n))
    cost[random.random_sample((n, n)) > 0.05] = 1e6
    return cost.astype(np.int32)


def gated_points(random: Random, n: int) -> Any:
    cost = points(random, n, 2)
    cost[cost > 0.15] = 1e5
    return cost


def triangle(random: Random, n: int) -> Any:
    """Cheap above the diagonal only: one assignment of cheap pairs."""
    order = random.permutation(n)
    cost = 1000 * random.random_sample((n, n))
    cost[order[:, None] > order] = 1e5
    return cost.astype(np.int32)


def overlaps(random: Random, n: int, matched: float) -> Any:
    """1 - IoU, as trackers write it: nearly all pairs cost 1. Some rows have a good pair, and all have fair ones."""
    cost = np.ones((n, n))
    rows = np.arange(n)
    good = random.random_sample(n) < matched
    cost[rows[good], rows[good]] = random.uniform(0.05, 0.5, int(good.sum()))
    for _ in range(2):
        cost[rows, random.randint(0, n, n)] = random.uniform(0.5, 1, n)
    return cost[:, random.permutation(n)]


def overlaps_of_half(random: Random, n: int) -> Any:
    """1 - IoU where half of the pairs overlap."""
    return np.minimum(1, 2 * random.random_sample((n, n)))


def capped_points(random: Random, n: int, neighbours: float) -> Any:
    """Distances cut off at the radius within which a point has this number of neighbours."""
    return points(random, n, 2).clip(None, (neighbours / n / np.pi) ** 0.5)


def similarities(random: Random, n: int, each: int) -> Any:
    """Zero except for a few entries a row; the largest sum is wanted."""
    found = np.zeros((n, n))
    for _ in range(each):
        found[np.arange(n), random.randint(0, n, n)] = random.random_sample(n)
    return -found


def sentinels(random: Random, n: int, allowed: float, number: float) -> Any:
    cost = random.random_sample((n, n))
    cost[random.random_sample((n, n)) > allowed / n] = number
    return cost


def zeros_and_ones(random: Random, n: int, ones: float) -> Any:
    return (random.random_sample((n, n)) < ones).astype(np.int32)


def one_hot_columns(random: Random, n: int) -> Any:
    """Each row pays in one column of its own choice."""
    cost = np.zeros((n, n))
    cost[np.arange(n), random.randint(0, n, n)] = 1
    return cost


def few_valued_columns(random: Random, n: int) -> Any:
    """Squared distances of features with three values each."""
    left, right = (random.randint(0, 3, (n, 6)).astype(np.float64) for _ in range(2))
    return distances(left, right).round(6) ** 2


def maxima(random: Random, n: int) -> Any:
    return np.maximum(*np.ix_(random.permutation(n), random.permutation(n))).astype(np.int32)


def equal_rows(random: Random, n: int, noise: float) -> Any:
    """Each row costs the same in all columns, plus noise."""
    return random.random_sample((n, 1)) + noise * random.random_sample((n, n))


def band_in_a_sea(random: Random, n: int) -> Any:
    rows, columns = random.permutation(n)[:, None], random.permutation(n)
    return np.where(abs(rows - columns) <= 5, random.random_sample((n, n)), 1e9)


# Most pairs cost the same.
TIES: dict[str, Callable[[Random, int], Any]] = {
    "overlaps": partial(overlaps, matched=1.0),
    "overlaps, half matched": partial(overlaps, matched=0.5),
    "overlaps of half": overlaps_of_half,
    "capped points, 3": partial(capped_points, neighbours=3),
    "capped points, 30": partial(capped_points, neighbours=30),
    "similarities, 2": partial(similarities, each=2),
    "similarities, 5": partial(similarities, each=5),
    "similarities, 20": partial(similarities, each=20),
    "sentinels 1e5, 5": partial(sentinels, allowed=5, number=1e5),
    "sentinels 1e9, 2": partial(sentinels, allowed=2, number=1e9),
    "half ones": partial(zeros_and_ones, ones=0.5),
    "few ones": partial(zeros_and_ones, ones=0.05),
    "few zeros": partial(zeros_and_ones, ones=0.999),
    "one-hot columns": one_hot_columns,
    "few-valued columns": few_valued_columns,
    "maxima": maxima,
    "equal rows 1e-15": partial(equal_rows, noise=1e-15),
    "equal rows 1e-12": partial(equal_rows, noise=1e-12),
    "equal rows 1e-9": partial(equal_rows, noise=1e-9),
    "band in a sea": band_in_a_sea,
}

FAMILIES: dict[str, Callable[[Random, int], Any]] = {
    "column prices": column_prices,
    "row scales": row_scales,
    "column scales": column_scales,
    "products of rank 1": partial(products, rank=1),
    "products of rank 4": partial(products, rank=4),
    "noisy copies": noisy_copies,
    "cosines": cosines,
    "points in 3 dimensions": partial(points, dimension=3),
    "points in 10 dimensions": partial(points, dimension=10),
    "tracked points": tracked_points,
    "shifted points": shifted_points,
    "gathered points": gathered_points,
    "clustered points": partial(clustered_points, width=0.01),
    "points of 20 places": partial(clustered_points, width=0.0),
    "numbers": partial(numbers, power=1),
    "numbers, squared": partial(numbers, power=2),
    "band": band,
    "minima": minima,
    "heavy tails": heavy_tails,
    "many magnitudes": many_magnitudes,
    "barred": barred,
    "triangle": triangle,
    "gated": gated,
    "gated points": gated_points,
    **TIES,
}


def make(family: str, n: int, device: str) -> Any:
    if device == "gpu":
        import cupy as xp
    else:
        xp = np
    return xp.ascontiguousarray(FAMILIES[family](xp.random.RandomState(0), n))
