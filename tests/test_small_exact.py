"""Small costs that rounding hides: the short way tells which assignment is the cheapest, in integers of 128 bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch
from gmatch.small import SMALL_SIDE, SMALL_SOLVERS, lap_small_sparse

MINIMIZE, MAXIMIZE, NAMED = (solver.solve for solver in SMALL_SOLVERS[:3])
LARGEST = np.finfo(np.float64).max
SHAPES = ((2, 2), (3, 3), (4, 4), (5, 5), (2, 6), (3, 5), (5, 3), (6, 2))
long_way = gmatch.lap.__wrapped__  # type: ignore[attr-defined]


def heavy(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return np.exp(4 * rng.normal(size=shape))


def scaled(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.random(shape) * np.exp(4 * rng.normal(size=(shape[0], 1)))


def forbidding(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Duals lie as far apart as costs along a path of all pairs."""
    costs = np.where(rng.random(shape) < 0.3, np.inf, heavy(rng, shape))
    diagonal = np.arange(min(shape))
    costs[diagonal, diagonal] = heavy(rng, diagonal.shape)
    return costs


def nearly_equal(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.random((shape[0], 1)) + 1e-16 * rng.integers(0, 3, shape)


def decimals(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return np.round(rng.random(shape), 1)


def exact_sum(costs: Any, rows: Any, columns: Any) -> Fraction:
    return sum((Fraction(float(cost)) for cost in costs[rows, columns]), Fraction(0))


def sums(costs: Any) -> list[Fraction]:
    """What all assignments cost."""
    if costs.shape[0] > costs.shape[1]:
        costs = costs.T
    rows, columns = costs.shape
    return [
        exact_sum(costs, range(rows), list(chosen))
        for chosen in itertools.permutations(range(columns), rows)
        if np.isfinite(costs[range(rows), list(chosen)]).all()
    ]


def least_sum(costs: Any) -> Fraction:
    return min(sums(costs))


@pytest.mark.parametrize("family", [heavy, scaled, forbidding])
def test_the_exact_optimum(family: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    for case in range(160):
        costs = family(rng, SHAPES[case % len(SHAPES)])
        if case % 5 == 0:
            costs = costs - 1  # of either sign
        found = MINIMIZE(costs)
        assert found is not None and exact_sum(costs, *found) == least_sum(costs)
        assert MAXIMIZE(-costs) is not None and exact_sum(costs, *MAXIMIZE(-costs)) == least_sum(costs)
        gmatch.verify(costs, found, strict=True)


@pytest.mark.parametrize("family", [heavy, scaled, nearly_equal, decimals])
def test_ties_of_floats_are_named_as_by_the_long_way(family: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    with_choice = 0
    for case in range(80):
        costs = family(rng, SHAPES[case % len(SHAPES)])
        named, alone = NAMED(costs), long_way(costs, deterministic=True)
        assert named is not None and exact_sum(costs, *named) == least_sum(costs)
        assert (named.row_match == alone.row_match).all() and (named.col_match == alone.col_match).all()
        all_sums = sums(costs)
        is_tied = all_sums.count(min(all_sums)) > 1
        assert (named.stats["rows_with_choice"] > 0) == (alone.stats["rows_with_choice"] > 0) == is_tied
        with_choice += is_tied
        gmatch.verify(costs, named, strict=True)
    assert with_choice > 0 or family in (heavy, scaled)


@pytest.mark.parametrize("family", [heavy, scaled, forbidding])
def test_the_exact_optimum_of_sparse_costs_and_with_a_limit(family: Callable[..., Any]) -> None:
    rng = np.random.default_rng(2)
    for case in range(80):
        costs = family(rng, SHAPES[case % len(SHAPES)])
        stored = sp.csr_array(sp.coo_array((costs[np.isfinite(costs)], np.isfinite(costs).nonzero()), costs.shape))
        solve = lap_small_sparse[sp.csr_array][0].solve
        assert solve(stored) is not None and exact_sum(costs, *solve(stored)) == least_sum(costs)
        limit = float(rng.choice(costs[np.isfinite(costs)]))
        found, alone = MINIMIZE(limit, costs), long_way(costs, cost_limit=limit)
        assert found is not None
        gains = [exact_sum(costs, *pairs) - len(pairs[0]) * Fraction(limit) for pairs in (tuple(found), tuple(alone))]
        assert gains[0] == gains[1]
        gmatch.verify(costs, found, strict=True)


def test_bits_without_room_take_the_long_way() -> None:
    costs = np.array([[1e200, 1e-200, 3.0], [5.0, 1e180, 1e-190], [1e-185, 7.0, 1e190]]) * np.array([[1], [3.1], [1e9]])
    assert exact_sum(costs, *gmatch.lap(costs)) == least_sum(costs)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (4, 9), (9, 4), (20, 20)], ids=str)
def test_the_largest_float_in_whole_rows(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    for ordinary_rows in range(shape[0] + 1):
        costs = np.full(shape, LARGEST)
        costs[shape[0] - ordinary_rows :] = rng.random((ordinary_rows, shape[1]))
        found = MINIMIZE(costs)
        assert found is not None
        gmatch.verify(costs, found, strict=True)
        ordinary = costs[tuple(found)][costs[tuple(found)] < 1]
        assert len(ordinary) == max(0, min(shape) - (shape[0] - ordinary_rows if shape[0] <= shape[1] else 0)) or (
            shape[0] > shape[1] and len(ordinary) == min(shape[1], ordinary_rows)
        )


@pytest.mark.parametrize("maximize", [False, True])
def test_a_limit_leaves_out_what_could_overflow(maximize: bool) -> None:
    rng = np.random.default_rng(4)
    for case in range(60):
        costs = rng.random(SHAPES[case % len(SHAPES)])
        is_out = rng.random(costs.shape) < 0.5
        sign, solve = (-1, MAXIMIZE) if maximize else (1, MINIMIZE)
        big, forbidden = sign * np.where(is_out, LARGEST, costs), sign * np.where(is_out, np.inf, costs)
        found, right = solve(sign * 0.4, big), gmatch.lap(forbidden, cost_limit=sign * 0.4, maximize=maximize)
        assert found is not None and math.isclose(found.cost, right.cost) and len(tuple(found)[0]) == right.size
        gmatch.verify(big, found, strict=True)


@pytest.mark.parametrize("shape", [(SMALL_SIDE + 1, SMALL_SIDE + 1), (SMALL_SIDE + 5, 2 * SMALL_SIDE)], ids=str)
@pytest.mark.parametrize("deterministic", [False, True])
def test_the_largest_float_in_larger_costs(shape: tuple[int, int], deterministic: bool) -> None:
    rng = np.random.default_rng(5)
    costs = np.where(rng.random(shape) < 0.999, LARGEST, np.round(rng.random(shape), 1))
    found = gmatch.lap(costs, deterministic=deterministic)
    gmatch.verify(costs, found, strict=True)
    smaller = gmatch.lap(np.where(costs == LARGEST, 1e6, costs), deterministic=deterministic)
    pairs, same = costs[tuple(found)], costs[tuple(smaller)]
    assert (pairs == LARGEST).sum() == (same == LARGEST).sum()
    assert math.isclose(pairs[pairs < LARGEST].sum(), same[same < LARGEST].sum())
    if deterministic:
        assert (found.row_match == smaller.row_match).all()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "uint32"])
def test_narrow_costs_are_read_by_the_extension(dtype: str) -> None:
    rng = np.random.default_rng(6)
    most = 2 if dtype == "bool" else min(np.iinfo(dtype).max, 2**32)
    for case in range(60):
        costs = rng.integers(0, most, rng.integers(1, 9, 2), endpoint=dtype != "bool").astype(dtype)
        costs = [costs, np.asfortranarray(costs), costs[::-1, ::-1], costs.T, costs.repeat(2, axis=1)[:, ::2]][case % 5]
        wide = costs.astype(np.int64)
        for solve, maximize in ((MINIMIZE, False), (MAXIMIZE, True)):
            found, right = solve(costs), gmatch.lap(wide, maximize=maximize)
            assert found is not None and found.cost == right.cost
            assert found.pair_costs.dtype == (np.int64 if dtype == "uint32" else np.int32)
            gmatch.verify(costs, found, strict=True)
        limit = int(rng.integers(0, most))
        found, right = gmatch.lap(costs, cost_limit=limit), gmatch.lap(wide, cost_limit=limit)
        assert found.cost - limit * len(tuple(found)[0]) == right.cost - limit * len(tuple(right)[0])


@pytest.mark.parametrize("big", [1e5, 1e9, LARGEST])
def test_a_batch_with_numbers_for_not(big: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some problems have duals in tiers, others do not. None sends the batch the long way."""
    monkeypatch.delattr(gmatch.assignment.batch, "solve_batch")
    rng = np.random.default_rng(7)
    problems = [np.where(rng.random(SHAPES[k % len(SHAPES)]) < (k % 3) / 2, big, rng.random()) for k in range(24)]
    problems.append(np.zeros((0, 3)))
    batch = gmatch.lap(problems)
    alone = [gmatch.lap(problem) for problem in problems]
    for number, (problem, one, single) in enumerate(zip(problems, batch, alone, strict=True)):
        assert np.array_equal(one.row_match, single.row_match) and np.array_equal(one.u, single.u)
        assert (one.exact is None) == (single.exact is None) == (number not in batch.exact)
        if problem.size:
            gmatch.verify(problem, one, strict=True)
            gmatch.verify(problem, batch[number], strict=True)
    assert 0 < len(batch.exact) < len(problems)
    assert [tier.value for tier in next(iter(batch.exact.values())).tiers] == [big]
    assert len(batch.shapes) == len(batch.status) == len(batch.stats["phases"]) == len(problems)
