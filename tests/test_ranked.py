"""`k_best` and `ranked` against all assignments, their proof against wrong answers, and bad input."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import DTYPES, partial_matchings, random_costs

import gmatch
from gmatch.types import WORKING_TYPES


def all_prices(cost: np.ndarray, maximize: bool, limit: float | None) -> list[float]:
    """The prices of all assignments in the minimisation form, the least first; all costs are small."""
    sign = -1 if maximize else 1
    values = sign * (cost if cost.shape[0] <= cost.shape[1] else cost.T).astype(float)
    rows, columns = values.shape
    if limit is None:
        every = list(itertools.permutations(range(columns), rows))
        ways = np.array(every, int).reshape(len(every), rows)
        prices = values[np.arange(rows), ways].sum(axis=1)
    else:
        longer = np.full((rows, columns + 1), sign * limit)
        longer[:, :columns] = np.where(values <= sign * limit, values, np.inf)
        prices = longer[np.arange(rows), partial_matchings(rows, columns)].sum(axis=1)
    return sorted(prices[np.isfinite(prices)].tolist())


def prices_of(found: Any, shape: tuple[int, int], maximize: bool, limit: float | None) -> list[float]:
    sign, fewer = (-1 if maximize else 1), min(shape)
    return [sign * (one.cost + (limit or 0) * (fewer - one.size)) for one in found]


def forms(cost: np.ndarray, maximize: bool) -> list[Any]:
    """The same costs as dense and as sparse ones."""
    if cost.dtype == np.float16:
        return [cost]  # SciPy's sparse matrices have no such type
    places = (cost != (-np.inf if maximize else np.inf)).nonzero()
    sparse = sp.coo_array((cost[places], places), shape=cost.shape)
    return [cost, np.asfortranarray(cost), sparse.tocsr(), sparse.tocsc()]


@pytest.mark.parametrize("shape", [(60, 60), (40, 70), (70, 40)])
def test_threads_list_the_pairs(shape: tuple[int, int]) -> None:
    """The assignments and their order depend neither on the threads nor on how the pairs are given."""
    for cost in (np.random.default_rng(0).integers(0, 9, shape), np.random.default_rng(1).random(shape, np.float32)):
        for maximize in (False, True):
            first, *others = (
                gmatch.k_best(form, 30, maximize=maximize, threads=threads, certify=True)
                for form in forms(cost, maximize)
                for threads in (1, 4)
            )
            for found in others:
                assert [one.cost for one in found] == pytest.approx([one.cost for one in first], rel=1e-12)
            assert (others[0].row_match == first.row_match).all()


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_all_assignments(dtype: str, maximize: bool, limited: bool) -> None:
    rng = np.random.default_rng(DTYPES.index(dtype))
    for case in range(16 if np.dtype(dtype) in WORKING_TYPES else 5):  # all others are widened to these
        cost = random_costs(rng, dtype, maximize, largest=4)
        limit = float(rng.integers(-4, 9)) / (1, 2)[case % 3 == 0] if limited else None
        prices = all_prices(cost, maximize, limit)
        for form in forms(cost, maximize):
            options: dict[str, Any] = {"maximize": maximize, "cost_limit": limit}
            if not prices:
                with pytest.raises(gmatch.Infeasible):
                    gmatch.k_best(form, 3, **options)
                continue
            for k in (1, int(rng.integers(2, 9)), len(prices), len(prices) + 1):
                found = gmatch.k_best(form, k, certify=True, **options)
                assert prices_of(found, cost.shape, maximize, limit) == prices[:k]
                assert found.complete == (k > len(prices))
            some = list(itertools.islice(gmatch.ranked(form, **options), 5))
            assert [one.row_match.tolist() for one in some] == found.row_match[:5].tolist()
            assert [one.cost for one in some] == found.costs[:5].tolist()
            assert len(list(gmatch.ranked(form, **options))) == len(prices)


@pytest.mark.parametrize("shape", [(7, 7), (6, 9), (9, 6)])
@pytest.mark.parametrize("kind", ["uniform", "few values", "sparse", "large integers"])
def test_many_of_medium_size(kind: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    cost = {
        "uniform": rng.random(shape),
        "few values": rng.integers(0, 3, shape),
        "sparse": np.where(rng.random(shape) < 0.8, rng.normal(size=shape), np.inf),
        "large integers": rng.integers(-(2**50), 2**50, shape),
    }[kind]
    whole = cost.dtype.kind == "i"
    values = cost if shape[0] <= shape[1] else cost.T
    rows = np.arange(values.shape[0])
    every = itertools.permutations(range(values.shape[1]), len(rows))
    expected = sorted(sum(values[rows, way].tolist()) for way in map(list, every))[:500]
    expected = [price for price in expected if price < np.inf]
    for form in forms(cost, False):
        found = gmatch.k_best(form, 500, certify=True)
        assert found.costs.tolist() == (expected if whole else pytest.approx(expected, rel=1e-12))


def test_first_ones_do_not_depend_on_k() -> None:
    cost = np.random.default_rng(4).integers(0, 4, (20, 20))
    many = gmatch.k_best(cost, 400, certify=True)
    for k in (1, 7, 100):
        assert (gmatch.k_best(cost, k).row_match == many.row_match[:k]).all()
    one_by_one = itertools.islice(gmatch.ranked(cost), 400)
    assert [one.row_match.tolist() for one in one_by_one] == many.row_match.tolist()


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("shape", [(3, 3), (20, 20), (70, 70), (8, 11), (11, 8)])
def test_ties_come_in_an_order_that_follows_from_the_costs(shape: tuple[int, int], limit: int | None) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        cost = rng.integers(0, 3, shape)
        order = rng.permutation(cost.size)
        places = np.indices(shape).reshape(2, -1)[:, order]
        shuffled = sp.coo_array((cost.ravel()[order], places), shape=shape)
        expected = gmatch.k_best(cost, 20, cost_limit=limit).row_match
        for form in (np.asfortranarray(cost), cost.astype(float), shuffled, shuffled.tocsr(), shuffled.tocsc()):
            assert (gmatch.k_best(form, 20, cost_limit=limit).row_match == expected).all()


def test_more_than_are_written_at_once() -> None:
    cost = np.random.default_rng(5).integers(0, 99, (7, 7))
    found = gmatch.k_best(cost, 6000)
    assert len(found) == 5040 and found.complete and (np.diff(found.costs) >= 0).all()
    assert not gmatch.k_best(cost, 5040).complete


@pytest.mark.parametrize("limit", [None, 0.02])
def test_larger_ones_are_proven(limit: float | None) -> None:
    rng = np.random.default_rng(6)
    for cost in (rng.random((60, 60)), rng.random((40, 90)), rng.random((90, 40))):
        found = gmatch.k_best(cost, 100, cost_limit=limit, certify=True)
        assert found.costs[0] == gmatch.lap(cost, cost_limit=limit).cost


def test_a_big_number_that_leaves_digits() -> None:
    """`lap` splits these costs into tiers. The order holds within the tolerance of `verify`."""
    small = np.random.default_rng(9).random((6, 6))
    cost = np.where(np.arange(6) < 5, 1e6, small)  # each assignment has one small pair
    cost[:, :5] += small[:, :5]
    assert gmatch.lap(cost).exact is not None
    found = gmatch.k_best(cost, 720, certify=True)
    ways = itertools.permutations(range(6))
    assert found.costs.tolist() == pytest.approx(
        sorted(cost[range(6), way].sum() for way in map(list, ways)), rel=1e-14
    )


@pytest.mark.parametrize("maximize", [False, True])
def test_integers_near_the_end_of_int64(maximize: bool) -> None:
    """Sums of costs and duals leave int64 here, in the proof, too. Wrong duals are found out all the same."""
    for cost in ([[2**62]], [[2**62, 2**62 + 3, 2**62 + 1]], [[2**61, 2**61 + 4], [2**61 + 1, 2**61]], [[2 - 2**63]]):
        array = np.array(cost)
        ways = itertools.permutations(range(len(cost[0])), len(cost))
        prices = sorted(
            (sum(row[j] for row, j in zip(cost, way, strict=True)) for way in ways), reverse=maximize
        )  # in Python integers
        found = gmatch.k_best(array, 9, maximize=maximize, certify=True)
        assert found.costs.tolist() == prices
        for change in ({"u": found.u + 1}, {"v": found.v + 2**62}, {"costs": found.costs ^ 1}):
            with pytest.raises(gmatch.CertificateError):
                gmatch.verify(array, dataclasses.replace(found, **change))


def test_what_a_sequence_does() -> None:
    found = gmatch.k_best([[4, 1, 3], [2, 0, 5], [3, 2, 2]], 4)
    rows, columns = found[-1]
    assert found[1:3][0].cost == 6 and (rows.tolist(), columns.tolist()) == ([0, 1, 2], found.row_match[3].tolist())
    assert repr(found) == "<KBest of 4 assignments, costs 5 to 7>"
    assert repr(found[0]) == "<RankedAssignment 0 of 3 pairs, cost 5>"
    empty = gmatch.k_best(np.empty((0, 3)), 4, certify=True)
    assert len(empty) == 1 and empty.complete and empty[0].size == 0


def without(found: Any, rank: int) -> dict[str, Any]:
    return {name: np.delete(getattr(found, name), rank, axis=0) for name in ("row_match", "costs", "u", "v")}


def swapped(found: Any) -> dict[str, Any]:
    return {name: getattr(found, name)[::-1] for name in ("row_match", "costs", "u", "v")}


WRONG = {
    "is cheaper than the last one": lambda r: without(r, 2),
    "must be in order": swapped,
    "must differ": lambda r: {"row_match": r.row_match[[0, 1, 2, 3, 4, 4]]},
    "costs must hold": lambda r: {"costs": r.costs + 1},
    "do not prove it": lambda r: {"u": r.u + 1},
    "u must hold": lambda r: {"u": r.u[:, 1:]},
    "to one row": lambda r: {"row_match": r.row_match * 0},
    "numbers from -1": lambda r: {"row_match": r.row_match + 1},
    "some have fewer": lambda r: {"row_match": np.where(r.row_match == 2, -1, r.row_match)},
    "are for maximize": lambda r: {"maximize": True},
    "integers for each": lambda r: {"row_match": r.row_match[:, 1:]},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_proof_is_refused(message: str) -> None:
    costs = gmatch.DenseCosts(np.random.default_rng(7).permutation(16).reshape(4, 4) ** 2)
    right = gmatch.k_best(costs, 6, certify=True)
    with pytest.raises(gmatch.CertificateError, match=message):
        gmatch.verify(costs, dataclasses.replace(right, **WRONG[message](right)))


@pytest.mark.parametrize("shape", [(5, 5), (4, 6), (6, 4)])
def test_no_list_with_a_hole_is_proven(shape: tuple[int, int]) -> None:
    """Any assignment may be missing, and the duals may be right: `verify` finds out."""
    cost = np.random.default_rng(8).integers(0, 1000, shape)
    right = gmatch.k_best(cost, 40)
    for rank in range(39):
        with pytest.raises(gmatch.CertificateError):
            gmatch.verify(cost, dataclasses.replace(right, **without(right, rank)))
    with pytest.raises(gmatch.CertificateError):
        gmatch.verify(cost, dataclasses.replace(right, complete=True))


def test_pairs_that_are_not_allowed_are_refused() -> None:
    right = gmatch.k_best([[1.0, 2.0], [3.0, 4.0]], 2)
    with pytest.raises(gmatch.CertificateError, match="not allowed"):
        gmatch.verify(np.array([[1.0, 2.0], [np.inf, 4.0]]), right)
    with pytest.raises(gmatch.CertificateError, match="not allowed"):
        gmatch.verify(sp.csr_array((2, 2)), right)


def test_bad_input() -> None:
    for k in (0, -1, True, 1.5, "3", None):
        with pytest.raises(gmatch.InvalidInput, match="k must be"):
            gmatch.k_best([[1]], k)  # type: ignore[arg-type]
    with pytest.raises(gmatch.InvalidInput, match="NaN"):
        gmatch.ranked([[np.nan]])
    with pytest.raises(gmatch.InvalidInput, match="like magnitudes"):
        gmatch.k_best(np.full((40, 40), 2**58) * np.eye(40, dtype=int), 2)
    big = np.array([[1e300, 1e300, 2.0], [1.0, 3.0, 1e300], [1e300, 1e300, 4.0]])
    with pytest.raises(gmatch.InvalidInput, match="like magnitudes"):
        gmatch.k_best(big, 2)
    with pytest.raises(gmatch.Infeasible) as raised:
        gmatch.k_best(np.array([[np.inf, 1.0], [np.inf, 2.0]]), 2)
    assert raised.value.rows.tolist() == [0, 1] and raised.value.columns.tolist() == [1]
