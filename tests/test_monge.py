"""Square costs of which a diagonal is a cheapest assignment: csrc/serial/monge.hpp and csrc/core/diagonal.cuh."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from assignment_oracles import on
from scipy.optimize import linear_sum_assignment

import gmatch

KINDS = ("maxima", "minima", "products", "distances", "squares", "signs", "equal")
SIZES = (2, 3, 4, 5, 8, 9, 17, 33, 64, 65, 130, 600)


def in_order(kind: str, size: int) -> Any:
    rng = np.random.default_rng(size)
    x, y = np.sort(rng.integers(0, 4 * size, (2, size)))
    i, j = np.ogrid[:size, :size]
    costs = {
        "maxima": np.maximum(i, j),
        "minima": np.minimum(i, j),
        "products": (i + 1) * (j + 1),
        "distances": abs(x[:, None] - y),
        "squares": (x[:, None] - y) ** 2,
        "signs": (x - 2 * size)[:, None] * (y - 2 * size),
        "equal": np.full((size, size), 7),
    }
    return costs[kind]


def diagonal_found(assignment: Any, size: int, scanned: int | None = None) -> bool:
    """Whether no row was scanned but with its neighbour, once, or as many rows were scanned as is told."""
    on_one = (assignment.row_match == np.arange(size)).all() or (assignment.row_match == np.arange(size)[::-1]).all()
    return bool(on_one) and assignment.stats["rows_scanned"] == (size - 1 if scanned is None else scanned)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_diagonal_is_found_without_a_search(kind: str, dtype: str) -> None:
    for size in SIZES:
        costs = in_order(kind, size).astype(dtype)
        for maximize in (False, True):
            for cost in (costs, costs[::-1], np.asfortranarray(costs)):
                given = np.negative(cost) if maximize else cost
                assignment = gmatch.lap(given, maximize=maximize, threads=1)
                # Of many equal costs no pair is cheaper than the others, and each row looks for one.
                assert diagonal_found(assignment, size, size if kind == "equal" and size == 600 else None)
                gmatch.verify(given, assignment, strict=True)
                assert assignment.cost == given[linear_sum_assignment(given, maximize)].sum(dtype=float)


@pytest.mark.parametrize("size", [size for size in SIZES if size > 2])
def test_one_entry_is_enough_to_refuse(size: int) -> None:
    """Wherever it stands: registers overlap at the end of a row."""
    rng = np.random.default_rng(size)
    for column in {0, 1, size // 2, size - 2, size - 1}:
        costs = (np.arange(size)[:, None] - np.arange(size)) ** 2.0
        row = int(rng.integers(0, size))
        costs[row, column] -= 2 * size**2
        assignment = gmatch.lap(costs, threads=1)
        assert assignment.row_match[row] == column
        assert row == column or not diagonal_found(assignment, size)
        gmatch.verify(costs, assignment, strict=True)


def test_sums_are_exact() -> None:
    """Rounded sums say that the main diagonal is as cheap as the other: 1 + 2**-53 is no float."""
    tiny = 2.0**-53
    for costs in (np.array([[1.0, 1.0], [tiny, 0.0]]), np.array([[1.0, 1.0], [0.0, tiny]])):
        for cost in (costs, np.pad(costs, (0, 3), constant_values=4) + np.diag([0, 0, -4, -4, -4])):
            rows, columns = gmatch.lap(cost)
            found = sum((Fraction(entry) for entry in cost[rows, columns].tolist()), Fraction(0))
            assert found == 1
    long = np.zeros((40, 40))
    long[0] = 1
    long[1, :20] = tiny
    for cost in (long, long[:, ::-1], long[::-1].copy()):
        rows, columns = gmatch.lap(cost)
        assert sum((Fraction(entry) for entry in cost[rows, columns].tolist()), Fraction(0)) == 1


def test_forbidden_pairs_and_large_costs() -> None:
    i, j = np.ogrid[:12, :12]
    for entry in ((0, 11), (0, 1), (5, 6), (11, 0), (11, 11)):
        cost = (i - j) ** 2.0
        cost[entry] = np.inf
        assignment = gmatch.lap(cost, certify=True)
        assert np.isfinite(assignment.cost)
        assert assignment.cost == cost[linear_sum_assignment(cost)].sum()
    for scale in (2**38, 2**40, 2**52, 2**55 // 144):
        cost = scale * (i + 1) * (j + 1)
        for given in (cost, -cost):
            expected = given[linear_sum_assignment(given.astype(object).astype(float))].sum()
            assert gmatch.lap(given, certify=True).cost == expected


def mixed(costs: Any) -> Any:
    """The costs with rows and columns in any order."""
    rng = np.random.default_rng(1)
    return costs[rng.permutation(len(costs))][:, rng.permutation(len(costs))].copy()


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_core_starts_from_a_diagonal(device: str, kind: str, dtype: str) -> None:
    """In any order, without an auction or a search. A pair stays in the core if half of its row costs the same."""
    options = {} if device == "gpu" else {"threads": 2}
    for size in (2, 3, 33, 130, 600):
        for cost in (in_order(kind, size).astype(dtype), mixed(in_order(kind, size).astype(dtype))):
            costs = on(cost, device)
            for maximize in (False, True):
                assignment = gmatch.lap(costs, maximize=maximize, method="core", **options)
                assert assignment.stats["trace"] == ["look", "price", "search", "reprice"]
                assert (assignment.stats["start_size"], assignment.stats["levels"]) == (size, 0)
                gmatch.verify(costs, assignment, strict=True)
                assert assignment.cost == cost[linear_sum_assignment(cost, maximize)].sum(dtype=float)


@pytest.mark.parametrize("kind", ["squares", "products", "far squares"])
def test_a_core_starts_from_a_diagonal_of_rounded_costs(device: str, kind: str) -> None:
    """Roundings to float32 keep these costs from having the property. The search mends what they change."""
    options = {} if device == "gpu" else {"threads": 2}
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 900))
    exact = {"squares": x[:, None] - y, "far squares": x[:, None] - y - 2, "products": np.outer(x - 0.5, y)}[kind]
    cost = (exact if kind == "products" else exact**2).astype(np.float32)
    assignment = gmatch.lap(on(cost, device), method="core", **options)
    assert assignment.stats["trace"][:3] == ["look", "price", "search"]
    gmatch.verify(on(cost, device), assignment)
    assert assignment.cost == pytest.approx(cost[linear_sum_assignment(cost)].sum(dtype=float), rel=1e-12)


def test_a_diagonal_is_refused_where_most_pairs_cost_the_same(device: str) -> None:
    """Four pairs of such rows and columns seldom contradict an order."""
    options = {} if device == "gpu" else {"threads": 2}
    rng = np.random.default_rng(0)
    cost = np.ones((400, 400))
    np.put_along_axis(cost, rng.integers(0, 400, (400, 3)), rng.random((400, 3)), 1)
    assignment = gmatch.lap(on(cost, device), method="core", certify=True, **options)
    assert assignment.stats["trace"][:3] == ["look", "price", "auction"]


@pytest.mark.parametrize("size", [3, 5, 40])
def test_a_core_mends_what_a_diagonal_misses(device: str, size: int) -> None:
    """One entry may refuse the diagonal. Whether the look sees it depends on the size."""
    options = {} if device == "gpu" else {"threads": 2}
    rng = np.random.default_rng(size)
    for _ in range(20):
        costs = (np.arange(size)[:, None] - np.arange(size)) ** 2.0
        costs[tuple(rng.integers(0, size, 2))] += rng.choice([np.inf, -2.0 * size**2, 1.0])
        assignment = gmatch.lap(on(costs, device), method="core", **options)
        gmatch.verify(on(costs, device), assignment)
        assert assignment.cost == costs[linear_sum_assignment(costs)].sum()
