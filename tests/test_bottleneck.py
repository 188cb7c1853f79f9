"""`bottleneck` against all assignments, its proof against wrong answers, and bad input."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import DTYPES, random_costs

import gmatch


def least_threshold(cost: np.ndarray, maximize: bool) -> tuple[float, float] | None:
    """The most expensive pair of the best assignment, and the least sum among the best; None if all are forbidden."""
    sign = -1 if maximize else 1
    values = sign * (cost if cost.shape[0] <= cost.shape[1] else cost.T).astype(float)
    rows, columns = values.shape
    ways = np.array(list(itertools.permutations(range(columns), rows)), int).reshape(-1, rows)
    chosen = values[np.arange(rows), ways]
    most = chosen.max(axis=1)
    if most.min() == np.inf:
        return None
    return sign * most.min(), sign * chosen[most == most.min()].sum(axis=1).min()


def forms(cost: np.ndarray, maximize: bool) -> list[Any]:
    """The same costs as dense and as sparse ones."""
    if cost.dtype == np.float16:
        return [cost]  # SciPy's sparse matrices have no such type
    places = (cost != (-np.inf if maximize else np.inf)).nonzero()
    sparse = sp.coo_array((cost[places], places), shape=cost.shape)
    return [cost, np.asfortranarray(cost), sparse.tocsr(), sparse.tocsc()]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_all_assignments(dtype: str, maximize: bool) -> None:
    rng = np.random.default_rng(DTYPES.index(dtype))
    for _ in range(60):
        cost = random_costs(rng, dtype, maximize)
        expected = least_threshold(cost, maximize) if cost.size else (None, 0)
        for form in forms(cost, maximize):
            if expected is None:
                with pytest.raises(gmatch.Infeasible):
                    gmatch.bottleneck(form, maximize=maximize)
                continue
            plain = gmatch.bottleneck(form, maximize=maximize, certify=True)
            cheapest = gmatch.bottleneck(form, maximize=maximize, then="sum", certify=True)
            assert plain.threshold == cheapest.threshold == expected[0]
            assert cheapest.cost == expected[1]
            assert plain.size == min(cost.shape)
            assert [len(part) for part in plain] == [plain.size] * 2


@pytest.mark.parametrize("shape", [(60, 60), (50, 80), (80, 50)])
def test_larger_ones_against_scipy(shape: tuple[int, int]) -> None:
    """The threshold allows an assignment, and cheaper pairs alone do not, by SciPy's matching."""
    rng = np.random.default_rng(1)
    kinds = rng.random(shape), rng.integers(0, 9, shape), rng.integers(0, 2, shape), rng.random(shape) ** 40
    staircase = np.abs(np.arange(shape[0])[:, None] - np.arange(shape[1]) - 7)
    for cost in (*kinds, staircase, np.add.outer(np.arange(shape[0]), np.arange(shape[1]))):
        found = gmatch.bottleneck(cost, certify=True)
        every = sp.coo_array((cost.ravel(), np.indices(shape).reshape(2, -1)), shape=shape)
        assert gmatch.bottleneck(every, certify=True).threshold == found.threshold
        for allowed, is_enough in ((cost <= found.threshold, True), (cost < found.threshold, False)):
            mates = sp.csgraph.maximum_bipartite_matching(sp.csr_array(allowed.astype(np.int8)))
            assert ((mates >= 0).sum() == min(shape)) == is_enough
        largest = gmatch.bottleneck(-cost, maximize=True, certify=True)
        assert largest.threshold == -found.threshold


def test_thresholds_are_few() -> None:
    cost = np.random.default_rng(0).random((300, 300))
    assert gmatch.bottleneck(sp.csr_array(cost)).stats["matchings"] <= 4
    plane = np.add.outer(np.arange(200), np.arange(200))
    assert gmatch.bottleneck(sp.csr_array(plane + 1)).stats["matchings"] <= 12
    assert gmatch.bottleneck(plane).stats["rises"] <= 1


def test_nan_and_costs_checked_before() -> None:
    cost = np.array([[1, np.nan], [np.nan, 3]])
    found = gmatch.bottleneck(cost, forbid_nan=True, then="sum", certify=True)
    assert (found.threshold, found.cost) == (3, 4)
    checked = gmatch.DenseCosts([[5, 2], [1, 9]], maximize=True)
    assert gmatch.bottleneck(checked, certify=True).threshold == 5


WRONG = {
    "not fewer than": lambda r: {"cover": (np.arange(2), r.cover[1])},
    "not covered": lambda r: {"cover": (r.cover[0][:0], r.cover[1][:0])},
    "most expensive pair costs": lambda r: {"threshold": r.threshold + 1},
    "pair_costs must hold": lambda r: {"pair_costs": r.pair_costs + 1},
    "of 2 pairs": lambda r: {"row_match": r.row_match * 0 - 1, "col_match": r.col_match * 0 - 1},
    "has others": lambda r: {"row_match": 1 - r.row_match, "col_match": np.append(1 - r.row_match, -1)},
    "without a limit": lambda r: {"assignment": dataclasses.replace(r.assignment, cost_limit=9)},
    "is for maximize": lambda r: {"maximize": True},
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_proof_is_refused(message: str) -> None:
    costs = gmatch.DenseCosts([[1, 1, 7], [2, 2, 8]])
    right = gmatch.bottleneck(costs, then="sum")
    gmatch.verify(costs, right)
    with pytest.raises(gmatch.CertificateError, match=message):
        gmatch.verify(costs, dataclasses.replace(right, **WRONG[message](right)))


@pytest.mark.parametrize("maximize", [False, True])
def test_as_many_pairs_as_possible(maximize: bool) -> None:
    rng = np.random.default_rng(maximize)
    sign, sizes = -1 if maximize else 1, set()
    for case in range(80):
        shape = tuple(rng.integers(1, 6, 2).tolist())
        cost = rng.integers(-3, 4, shape).astype(["float32", "float64"][case % 2])
        cost[rng.random(shape) < 0.7] = sign * np.inf
        values = sign * (cost if shape[0] <= shape[1] else cost.T)
        ways = itertools.permutations(range(max(shape)), min(shape))
        chosen = [some[some < np.inf] for some in (values[np.arange(len(values)), way] for way in map(list, ways))]
        size = max(map(len, chosen))
        most, total = min((some.max(initial=-np.inf), some.sum()) for some in chosen if len(some) == size)
        for form in forms(cost, maximize):
            for then in (None, "sum"):
                found = gmatch.bottleneck(form, maximize=maximize, then=then, infeasible="partial", certify=True)
                assert found.size == size and found.threshold == (sign * most if size else None)
                assert then is None or found.cost == sign * total
                assert (found.whole_cover is None) == (size == min(shape))
                if size < min(shape):
                    for wrong in (None, (found.whole_cover[0], np.arange(shape[1])), (np.arange(size), np.arange(0))):
                        if wrong is None or len(wrong[0]) + len(wrong[1]) != size:
                            with pytest.raises(gmatch.CertificateError, match="cover of all pairs"):
                                gmatch.verify(cost, dataclasses.replace(found, whole_cover=wrong))
        sizes.add(min(shape) - size)
    assert sizes >= {0, 1, 2}
    cost = np.array([[1, np.inf, np.inf], [2, np.inf, np.inf], [4, 5, 6]])
    found = gmatch.bottleneck(cost, infeasible="partial", certify=True)
    assert (found.threshold, found.size) == (5, 2) and [len(part) for part in found.whole_cover] == [1, 1]
    for wrong in ((np.array([0]), np.array([0])), (np.array([1, 2]), np.array([], int))):
        with pytest.raises(gmatch.CertificateError, match="is allowed, but not covered"):
            gmatch.verify(cost, dataclasses.replace(found, whole_cover=wrong))
    with pytest.raises(gmatch.InvalidInput, match="infeasible must be"):
        gmatch.bottleneck(cost, infeasible="most")


def test_forbidden_pairs_are_refused_by_the_proof() -> None:
    right = gmatch.bottleneck(np.array([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(gmatch.CertificateError, match="forbidden"):
        gmatch.verify(np.array([[np.inf, np.inf], [np.inf, np.inf]]), right)
    with pytest.raises(gmatch.CertificateError, match="not stored"):
        gmatch.verify(sp.csr_array((2, 2)), right)


def test_bad_input() -> None:
    with pytest.raises(gmatch.InvalidInput, match="then must be None or 'sum'"):
        gmatch.bottleneck([[1]], then="least")
    with pytest.raises(gmatch.InvalidInput, match="without a cost_limit"):
        gmatch.bottleneck(gmatch.DenseCosts([[1]], cost_limit=3))
    with pytest.raises(gmatch.InvalidInput, match="NaN"):
        gmatch.bottleneck([[np.nan]])
    with pytest.raises(gmatch.Infeasible) as raised:
        gmatch.bottleneck(np.array([[np.inf, 1.0], [np.inf, 2.0]]))
    assert raised.value.rows.tolist() == [0, 1] and raised.value.columns.tolist() == [1]
