"""Batches on a GPU by shortest paths: blocks of every width, costs of several kinds, each answer proven."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from assignment_oracles import on
from conftest import GPU, host

import gmatch

pytestmark = pytest.mark.skipif(not GPU, reason="needs a GPU and CuPy")

OPTIONS: tuple[dict[str, Any], ...] = {}, {"maximize": True}, {"cost_limit": 20}
# One warp, several; groups of 4 to 32 lanes; more columns than a block has threads.
SHAPES = (40, 9, 9), (9, 64, 64), (4, 90, 30), (3, 129, 200), (3, 300, 300), (2, 320, 330), (2, 700, 650)


def costs(kind: str, shape: tuple[int, int, int]) -> Any:
    """Float64: even ones, ties, or distances in the plane that are cut off."""
    rng = np.random.default_rng(0)
    if kind == "even":
        return rng.random(shape) * 300
    if kind == "ties":
        return rng.integers(0, 4, shape).astype(float)
    rows, columns = rng.random((shape[0], shape[1], 1, 2)), rng.random((shape[0], 1, shape[2], 2))
    return np.minimum(0.2, np.sqrt(((rows - columns) ** 2).sum(-1))) * 100


def price(matrix: Any, match: Any) -> float:
    """What the pairs cost."""
    rows = np.flatnonzero(match >= 0)
    return float(matrix[rows, match[rows]].astype(float).sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["even", "ties", "gated"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_shortest_paths_of_batches(kind: str, dtype: str, shape: tuple[int, int, int]) -> None:
    cost = costs(kind, shape).astype(dtype)
    for options in OPTIONS:
        there = on(cost, "gpu")
        batch = gmatch.lap(there, method="jv", **options)
        alone = [gmatch.lap(matrix, **options) for matrix in cost]
        limit = options.get("cost_limit", 0)  # a free row or column costs half of it
        for matrix, match, one in zip(cost, host(batch.row_match), alone, strict=True):
            free = one.size - int((match >= 0).sum())
            assert limit > 0 or free == 0
            assert price(matrix, match) + free * limit == pytest.approx(price(matrix, one.row_match), rel=1e-12)
        gmatch.verify(there, batch)


@pytest.mark.parametrize("shape", SHAPES)
def test_forbidden_pairs_of_batches(shape: tuple[int, int, int]) -> None:
    cost = costs("even", shape)
    cost[np.random.default_rng(1).random(shape) < 0.3] = np.inf
    there = on(cost, "gpu")
    batch = gmatch.lap(there, method="jv", infeasible="partial")
    sizes = [gmatch.lap(matrix, infeasible="partial").size for matrix in cost]
    assert host(batch.size).tolist() == sizes
    gmatch.verify(there, batch)
