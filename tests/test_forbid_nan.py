"""`forbid_nan`: costs with NaN have the same answers as with inf in its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import methods_that_read, on, price, random_costs
from conftest import host

import gmatch

LIMIT = 0.5
FLOATS = ("float64", "float32", "float16")


def with_nan(cost: np.ndarray, maximize: bool, rng: np.random.Generator) -> np.ndarray:
    """NaN for some of the forbidden pairs."""
    return np.where((cost == (-np.inf if maximize else np.inf)) & (rng.random(cost.shape) < 0.7), np.nan, cost)


def assert_alike(found: gmatch.Assignment, expected: gmatch.Assignment) -> None:
    if found.cost_limit is None:
        assert (found.cost, found.status, found.size) == (expected.cost, expected.status, expected.size)
    else:  # pairs that cost the limit may be made or not
        shape = len(found.row_match), len(found.col_match)
        assert price(np.empty(shape), found, LIMIT) == price(np.empty(shape), expected, LIMIT)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("maximize", [False, True])
def test_dense(dtype: str, maximize: bool, device: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        cost = random_costs(rng, dtype, maximize)
        given = with_nan(cost, maximize, rng)
        kept = given.copy()
        for options in ({"infeasible": "partial"}, {"cost_limit": LIMIT}):
            for order in "CF":
                there = on(np.asarray(given, order=order), device)
                method = rng.choice(methods_that_read(dtype, device))
                found = gmatch.lap(there, maximize=maximize, forbid_nan=True, method=method, certify=True, **options)
                assert_alike(found, gmatch.lap(on(cost, device), maximize=maximize, **options))
                assert gmatch.verify(there, found).cost == found.cost
                assert gmatch.verify(gmatch.DenseCosts(
                    there, forbid_nan=True, maximize=maximize, cost_limit=options.get("cost_limit")), found
                )  # fmt: skip
                assert found.forbid_nan == bool(np.isnan(given).any())
                assert not np.isnan(host(found.pair_costs)).any()
        assert np.array_equal(given, kept, equal_nan=True)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("maximize", [False, True])
def test_sparse(form: str, maximize: bool) -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        cost = random_costs(rng, "float32" if rng.random() < 0.5 else "float64", maximize)
        given = with_nan(cost, maximize, rng)
        kept = rng.random(cost.shape) < 0.8
        places = kept.nonzero()
        stored, expected = (
            sp.coo_array((matrix[places], places), shape=cost.shape).asformat(form) for matrix in (given, cost)
        )
        for options in ({"infeasible": "partial"}, {"cost_limit": LIMIT}):
            found = gmatch.lap(stored, maximize=maximize, forbid_nan=True, certify=True, **options)
            assert_alike(found, gmatch.lap(expected, maximize=maximize, **options))
            gmatch.verify(stored, found)


@pytest.mark.parametrize("maximize", [False, True])
def test_batches(maximize: bool, device: str) -> None:
    rng = np.random.default_rng(10)
    for dtype in FLOATS:
        cost = rng.random((6, 5, 7)).astype(dtype)
        cost[rng.random(cost.shape) < 0.4] = -np.inf if maximize else np.inf
        given = with_nan(cost, maximize, rng)
        sizes = np.stack([rng.integers(0, 6, 6), rng.integers(0, 8, 6)], axis=1)
        problems = [np.ascontiguousarray(part[:r, :c]) for part, (r, c) in zip(given, sizes, strict=True)]
        for options in ({"infeasible": "partial"}, {"cost_limit": LIMIT}):
            expected = gmatch.lap(on(cost, device), maximize=maximize, sizes=sizes, **options)
            for batch, more in ((on(given, device), {"sizes": sizes}), ([on(part, device) for part in problems], {})):
                found = gmatch.lap(batch, maximize=maximize, forbid_nan=True, certify=True, **more, **options)
                for number in range(6):
                    assert_alike(found[number], expected[number])
                gmatch.verify(batch, found)


def test_a_small_problem_with_the_option_and_without_nan() -> None:
    cost = np.array([[4.0, 1.0], [2.0, 0.0]])
    assert gmatch.lap(cost, forbid_nan=True).cost == gmatch.lap(cost).cost
    assert gmatch.lap(cost.astype(int), forbid_nan=True, method="tree").cost == 3
    assert not gmatch.lap(cost, forbid_nan=True).forbid_nan
    with pytest.raises(gmatch.Infeasible):
        gmatch.lap(np.full((2, 2), np.nan), forbid_nan=True)


def test_deterministic_and_given_starts() -> None:
    rng = np.random.default_rng(11)
    cost = rng.integers(0, 3, (12, 15)).astype(float)
    cost[rng.random(cost.shape) < 0.3] = np.inf
    given = np.where(np.isinf(cost), np.nan, cost)
    expected = gmatch.lap(cost, deterministic=True)
    found = gmatch.lap(given, deterministic=True, forbid_nan=True)
    assert (found.row_match == expected.row_match).all()
    again = gmatch.lap(given, initial=found, forbid_nan=True, method="tree")
    assert again.cost == expected.cost
    forbidden = np.argwhere(np.isnan(given))[0]
    start = np.full(12, -1)
    start[forbidden[0]] = forbidden[1]
    with pytest.raises(gmatch.InvalidInput, match="must not use forbidden pairs"):
        gmatch.lap(given, initial=start, forbid_nan=True)


@pytest.mark.parametrize(
    "cost",
    [
        np.array([[1.0, np.nan], [2.0, 3.0]]),
        np.array([[1.0, np.nan], [2.0, 3.0]], np.float16),
        sp.csr_array(np.array([[1.0, np.nan], [2.0, 3.0]])),
        [[1.0, float("nan")], [2.0, 3.0]],
        np.array([[[1.0, np.nan], [2.0, 3.0]]]),
    ],
)
def test_the_advice_of_the_message_leads_to_the_answer(cost: Any) -> None:
    good = gmatch.lap(np.nan_to_num(cost.toarray() if sp.issparse(cost) else np.asarray(cost)))
    for call in (gmatch.lap, lambda cost: gmatch.verify(cost, good)):
        with pytest.raises(gmatch.InvalidInput, match="use forbid_nan=True$"):
            call(cost)
    assert gmatch.lap(cost, forbid_nan=True).cost == 4.0


def test_nothing_but_true_or_false() -> None:
    for make in (gmatch.DenseCosts, gmatch.CostBatch, gmatch.lap):
        with pytest.raises(gmatch.InvalidInput, match="forbid_nan must be True or False; got ndarray"):
            make(np.full((2, 40, 40), np.nan) if make is gmatch.CostBatch else np.full((40, 40), np.nan),
                 forbid_nan=np.zeros(2))  # fmt: skip
