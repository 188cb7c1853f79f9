"""`verify(strict=True)`: the gap of floats in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch
from gmatch.proof.strict import exact_gap, float_above, to_units
from gmatch.proof.tiers import TieredPart
from gmatch.result import ExactDuals, Tier


def part_of(cost: Any, mates: Any, v: Any, limit: float | None, tiers: tuple[Tier, ...] = ()) -> TieredPart:
    rows, columns = (np.arange(length) for length in cost.shape)
    capped = cost if limit is None else cost.clip(None, limit)
    pair_costs = np.where(mates < 0, limit or 0.0, cost[rows, mates])
    exact = ExactDuals(tiers, np.zeros(len(rows)), v)
    return TieredPart(lambda: iter([(capped, rows[:, None], columns[None])]), pair_costs, mates, exact)


def least_sum(cost: Any, limit: float | None) -> Fraction:
    """The least sum over all ways to give rows columns. No cost is above the limit."""
    exact = [[Fraction(min(c, np.inf if limit is None else limit)) for c in row] for row in cost.tolist()]
    return min(
        sum(row[j] for row, j in zip(exact, to, strict=True)) for to in permutations(range(cost.shape[1]), len(cost))
    )


@pytest.mark.parametrize("limited", [False, True])
def test_the_gap_is_exact(limited: bool) -> None:
    """For any pairs and any duals, the gap is the sum of the pairs less the least sum over all permutations."""
    rng = np.random.default_rng(3 + limited)
    positive = 0
    for case in range(300):
        rows = int(rng.integers(1, 5))
        columns = rows + int(rng.integers(0, 3))
        unit = rng.choice([0.1, 2.0**-1074, 2.0**1000, 1e17])
        cost = rng.integers(0, 4, (rows, columns)) * unit + rng.choice([0.0, 0.3, 1e16]) * rng.random((rows, columns))
        limit = float(np.median(cost)) if limited else None
        mates = rng.permutation(columns)[:rows]
        if limit is not None:
            mates[cost[np.arange(rows), mates] > limit] = -1
        v = rng.choice([0.0, 1.0]) * -rng.random(columns) * cost.max()
        tiers = (Tier(1e18, np.zeros(rows, np.int64), -rng.integers(0, 2, columns)),) if case % 5 == 0 else ()
        part = part_of(cost, mates, v, limit, tiers)
        right = sum(map(Fraction, part.pair_costs.tolist())) - least_sum(cost, limit)
        assert exact_gap(np, part, limit) == right, case
        positive += right > 0
    assert positive > 100


def test_floats_in_units() -> None:
    numbers = [0.0, -0.1, 5e-324, 2.0**-1022, 1.7976931348623157e308, -(2.0**-1070) * 3]
    assert [Fraction(units, 1 << 1074) for units in to_units(np.array(numbers))] == list(map(Fraction, numbers))
    assert float_above(Fraction(1) + Fraction(1, 2**60)) == 1 + 2.0**-52


@pytest.mark.parametrize("method", ["auto", "jv", "core", "tree", "classical", "munkres"])
def test_assignments_are_as_cheap_as_their_sum_is_exact(method: str) -> None:
    rng = np.random.default_rng(9)
    for case in range(30):
        rows, columns = rng.integers(1, 25, 2)
        cost = rng.random((rows, columns))
        if case % 3 == 0:  # sums that are equal up to rounding
            cost = np.sqrt(rng.integers(0, 9, (rows, columns)))
        elif case % 3 == 1:  # a number that stands for "not", too small to be told from a cost
            cost[rng.random(cost.shape) < 0.7] = 1e3
        options: dict[str, Any] = {"maximize": bool(case % 2)}
        if case % 4 == 0:
            options["cost_limit"] = float(np.median(cost))
        elif case % 4 == 1:
            cost[rng.random(cost.shape) < 0.6] = -np.inf if options["maximize"] else np.inf
            options["infeasible"] = "partial"
        found = gmatch.lap(cost, method=method, **options)
        certificate = gmatch.verify(cost, found, strict=True)
        assert 0 <= certificate.gap <= certificate.tolerance <= 4 * 2.0**-52 * np.abs(found.pair_costs).sum() + 1e-9
        if method in ("auto", "jv", "tree"):
            places = np.isfinite(cost).nonzero()
            stored = sp.csr_array((cost[places], places), cost.shape)
            gmatch.verify(stored, gmatch.lap(stored, method=method, **options), strict=True)


def test_a_costlier_assignment_within_the_rounding_of_its_duals_is_refused() -> None:
    """The plain proof takes it, since the duals are large. The strict proof tells how much more it costs."""
    cost = np.full((3, 3), 1e6)
    cost[:2, :2] = [[1.0, 1.0], [1.0, 1.0 + 2.0**-30]]
    cost[2, 2] = 1.0
    mates = np.arange(3, dtype=np.int32)
    u, v = np.full(3, 1e6), np.full(3, 1 - 1e6)
    big = gmatch.Assignment(mates, mates, u, v, cost.diagonal().copy(), gmatch.result.Status.OPTIMAL)
    assert gmatch.verify(cost, big).gap > 0
    with pytest.raises(gmatch.CertificateError, match=f"gap of {2.0**-30}"):
        gmatch.verify(cost, big, strict=True)


def test_blocks_and_devices(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gmatch.problems.limits.ENTRIES_PER_BLOCK", {"cpu": 7, "gpu": 7})
    rng = np.random.default_rng(4)
    cost = rng.random((9, 7)) + 0.1
    cost[rng.random(cost.shape) < 0.7] = 1e3
    places = cost.nonzero()
    for given in (cost, cost.T, sp.csr_array((cost[places], places), cost.shape)):
        moved = gmatch.SparseCosts(given).on(device) if sp.issparse(given) else gmatch.DenseCosts(given).on(device)
        assert gmatch.verify(moved, gmatch.lap(moved), strict=True).gap == 0


def test_batches_and_whole_numbers() -> None:
    rng = np.random.default_rng(1)
    cost = rng.random((4, 6, 5))
    assert all(0 <= some.gap <= some.tolerance for some in gmatch.verify(cost, gmatch.lap(cost), strict=True))
    whole = rng.integers(0, 9, (6, 6))
    assert gmatch.verify(whole, gmatch.lap(whole), strict=True).tolerance == 0
    with pytest.raises(gmatch.InvalidInput, match="strict must be"):
        gmatch.verify(whole, gmatch.lap(whole), strict=np.array([True, False]))  # type: ignore[call-overload]
