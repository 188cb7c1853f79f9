"""Costs of several magnitudes: a big number that stands for "not" and has to be used, and integers near 2**63."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch import _native
from gmatch.assignment import exact
from gmatch.assignment.exact import _ExactDuals
from gmatch.assignment.turns import solve_in_turns
from gmatch.backends import cpu
from gmatch.backends.protocol import Vectors
from gmatch.problems.dense import DenseCosts
from gmatch.proof.tiers import _check_values

BIG = [1e6, 1e9, 1e12, 1e15, 1e18, 1e100, float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)]
METHODS = ["auto", "jv", "core", "tree", "classical", "munkres"]


def with_forbidden(rng: np.random.Generator, largest: int = 24) -> tuple[Any, Any]:
    """Whole costs, and the pairs that get a big number instead. Some rows and columns have only such pairs."""
    rows, columns = rng.integers(1, largest, 2)
    if rng.random() < 0.5:
        columns = rows
    forbidden = rng.random((rows, columns)) < rng.choice([0.3, 0.6, 0.9])
    forbidden[rng.permutation(rows)[: rng.integers(0, rows // 2 + 1)]] = True
    forbidden[:, rng.permutation(columns)[: rng.integers(0, columns // 4 + 1)]] = True
    return rng.integers(0, 2**20, (rows, columns)), forbidden


def sparse_of(cost: Any) -> Any:
    """Every pair is stored, zeros too."""
    rows, columns = cost.shape
    return sp.csr_array((cost.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns), cost.shape)


def best_whole(whole: Any, forbidden: Any) -> tuple[int, int]:
    """How many pairs must cost the big number, and the least sum of the others, in integers that do not overflow."""
    weights = np.where(forbidden, (len(whole) + 1) << 21, whole)
    pairs = linear_sum_assignment(weights)
    return int(forbidden[pairs].sum()), int(whole[pairs][~forbidden[pairs]].sum())


def ways(cost: Any, maximize: bool, methods: list[str] = METHODS) -> dict[str, Any]:
    """Assignments of the costs by all methods, as dense, sparse and batch problems, each proven."""
    options = [{"method": method} for method in methods] + [{"deterministic": True}, {"threads": 2, "method": "tree"}]
    found = {str(some): gmatch.lap(cost, maximize=maximize, certify=True, **some) for some in options}
    for method in ("jv", "tree"):
        found[f"sparse {method}"] = gmatch.lap(sparse_of(cost), maximize=maximize, method=method, certify=True)
    batch = gmatch.lap(cost[None], maximize=maximize)
    gmatch.verify(cost[None], batch)
    return found | {"batch": batch[0]}


@pytest.mark.parametrize("big", BIG)
def test_a_big_number_that_has_to_be_used(big: float) -> None:
    rng = np.random.default_rng(int(math.log2(big)))
    for case in range(12):
        whole, forbidden = with_forbidden(rng)
        dtype = np.float32 if case % 4 == 0 and big < 3.5e38 else np.float64
        cost = np.where(forbidden, big, whole / 2.0**20).astype(dtype)
        maximize = case % 3 == 0
        right = best_whole(whole, forbidden)
        for name, assignment in ways(-cost if maximize else cost, maximize).items():
            pairs = tuple(assignment)
            others = ~forbidden[pairs]
            assert (int((~others).sum()), int(whole[pairs][others].sum())) == right, (case, name)


@pytest.mark.parametrize("big", [1e12, 1e15, 1e18])
@pytest.mark.parametrize("method", ["auto", "core", "tree"])
def test_few_pairs_cost_something_beside_nothing_and_the_big_number(big: float, method: str) -> None:
    rng = np.random.default_rng(int(math.log2(big)))
    for _ in range(20):
        whole, forbidden = with_forbidden(rng, 100)
        whole %= 3
        assignment = gmatch.lap(np.where(forbidden, big, whole / 2.0**20), method=method, certify=True)
        pairs = tuple(assignment)
        others = ~forbidden[pairs]
        assert (int((~others).sum()), int(whole[pairs][others].sum())) == best_whole(whole, forbidden)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_duals_that_lie_anywhere_between_two_multiples(dtype: type[np.floating[Any]]) -> None:
    """The auction of `core` leaves such duals."""
    rng = np.random.default_rng(11)
    for _ in range(400):
        whole, forbidden = with_forbidden(rng, 13)
        cost = np.where(forbidden, 1e9, whole / 2.0**20).astype(dtype)
        pairs = tuple(gmatch.lap(cost, method="core", certify=True))
        others = ~forbidden[pairs]
        assert (int((~others).sum()), int(whole[pairs][others].sum())) == best_whole(whole, forbidden)


def test_a_small_result_with_tiers_can_be_kept() -> None:
    cost = np.array([[1e18, 1e18, 1e18], [0.25, 0.5, 1e18]])
    for given in (cost, np.asfortranarray(cost), cost.T):
        kept = pickle.loads(pickle.dumps(gmatch.lap(given)))
        assert kept.exact is not None and len(kept.exact.tiers) == 1
        gmatch.verify(given, kept)


def test_costs_with_all_bits() -> None:
    """The answer is the exact optimum, by fractions, of costs that are no multiples of anything."""
    rng = np.random.default_rng(5)
    for case in range(20):
        size = int(rng.integers(3, 7))
        cost = rng.random((size, size + case % 2))
        cost[rng.random(cost.shape) < 0.5] = 1e17
        cost[0] = 1e17
        exact = [[int(Fraction(entry) * 2**60) for entry in row] for row in cost.tolist()]
        assignment = gmatch.lap(cost, certify=True)
        found = sum(exact[i][j] for i, j in zip(*assignment, strict=True))
        assert found == least_by_trying(exact)


def least_by_trying(cost: list[list[int]], used: int = 0, row: int = 0) -> int:
    if row == len(cost):
        return 0
    return min(
        entry + least_by_trying(cost, used | 1 << column, row + 1)
        for column, entry in enumerate(cost[row])
        if not used >> column & 1
    )


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    """One number for "not" in the range of the other costs, so that it leaves no room for a tier."""
    cost = np.exp(8 * rng.normal(size=shape))
    cost[rng.random(shape) < 0.7] = 1e12
    return cost


def near_each_other(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Two numbers for "not", neither a multiple of the other nor far above it. No pair needs the larger one."""
    cost = 3 * rng.random(shape)
    cost[rng.random(shape) < 0.5] = 1e38
    cost[rng.random(shape) < 0.2] = float(np.finfo(np.float32).max)
    cost[:, 0] = 1e38
    return cost


@pytest.mark.parametrize("draw", [heavy_tailed, near_each_other])
def test_numbers_for_not_that_leave_no_room_or_are_two(draw: Any) -> None:
    """The answer is the exact optimum, where a sum with the number for "not" would hide what the other pairs cost."""
    rng = np.random.default_rng(29)
    for case in range(60):
        size = int(rng.integers(4, 8))
        cost = draw(rng, (size, size))
        exact = [[int(Fraction(entry) * 2**110) for entry in row] for row in cost.tolist()]
        least = least_by_trying(exact)
        for name, assignment in ways(cost, False).items():
            assert sum(exact[i][j] for i, j in zip(*assignment, strict=True)) == least, (case, name)


def test_numbers_for_not_are_told_in_a_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A symmetric matrix has each number twice. A pass for each number would take cubic time."""
    rng, passes = np.random.default_rng(11), []
    read = exact.cost_blocks
    monkeypatch.setattr(exact, "cost_blocks", lambda costs: passes.append(0) or read(costs))
    most, least_left_out = 0, 0
    for case in range(60):
        n = int(rng.integers(2, 40))
        cost = np.exp(rng.choice([1, 8, 60]) * rng.normal(size=(n, n))).round(int(rng.integers(0, 3)))
        if case % 4:
            cost = np.triu(cost) + np.triu(cost, 1).T
        if case % 3:
            cost[rng.random((n, n)) < 0.1] = 1e30
        mates = rng.permutation(n).astype(np.int32)
        pair_costs = cost[np.arange(n), mates]
        numbers, least_for_not = sorted(set(pair_costs.tolist()), reverse=True), math.inf
        for number, following in itertools.pairwise(numbers):
            if (cost == number).sum() < 2:
                break
            if number > 32 * (n + 1) * following:
                least_for_not = number
        passes.clear()
        found = exact.sum_of_pairs(gmatch.DenseCosts(cost), SimpleNamespace(row_match=mates))
        assert found == pair_costs[pair_costs < least_for_not].sum()
        most, least_left_out = max(most, len(passes)), least_left_out + (least_for_not < math.inf)
    assert 1 < most <= 3 and least_left_out > 20


def test_one_pair_costs_something_beside_two_numbers_for_not() -> None:
    """Most pairs cost nothing or the smaller number. The larger one stands in entries that no pair takes."""
    rng = np.random.default_rng(1)
    for case in range(200):
        rows = int(rng.integers(12, 24))
        whole = np.where(rng.random((rows, rows)) < 0.6, 0, rng.integers(0, 2**20, (rows, rows)))
        of_all = 1 + 3 * (rng.random((rows, rows)) < 0.5)
        times = np.where(rng.random((rows, rows)) < 0.5, of_all, 0)
        times[: rows // 2] = of_all[: rows // 2]
        whole[times > 0] = 0
        cost = whole / 2.0**20 + times * 1e17
        right = linear_sum_assignment(whole + times * ((rows + 1) << 21))
        for method in ("auto", "core", "tree"):
            pairs = tuple(gmatch.lap(cost, method=method, certify=True))
            assert (times[pairs].sum(), whole[pairs].sum()) == (times[right].sum(), whole[right].sum()), case


def with_bonuses(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Large numbers of both signs. Most other pairs cost nothing, and a few between -3 and 3."""
    cost = np.where(rng.random(shape) < 0.8, 0, rng.integers(-3, 4, shape)).astype(float)
    for _ in range(int(rng.integers(1, 4))):
        chosen = rng.random(shape) < rng.choice([0.1, 0.3, 0.6])
        cost[chosen] = rng.choice([-1, 1]) * rng.choice([1e12, 1e17, 4e17, 1e19, 1e20, 1e22])
    return cost


def test_pairs_that_cost_nothing_beside_a_bonus() -> None:
    """Duals hide that a pair of -3 is cheaper than a pair of 0. A cost of 0 itself is never hidden."""
    rng = np.random.default_rng(3)
    for case in range(150):
        rows = int(rng.integers(3, 7))
        cost, maximize = with_bonuses(rng, (rows, rows + int(rng.integers(0, 2)))), case % 2 == 0
        exact = [list(map(int, row)) for row in cost.tolist()]
        least = least_by_trying(exact)
        for name, assignment in ways(-cost if maximize else cost, maximize).items():
            assert sum(exact[i][j] for i, j in zip(*assignment, strict=True)) == least, (case, name)


def test_an_update_of_pairs_that_cost_nothing_beside_a_bonus() -> None:
    rng = np.random.default_rng(4)
    for case in range(200):
        rows, maximize = int(rng.integers(3, 7)), case % 2 == 0
        cost = with_bonuses(rng, (rows, rows))
        before = cost.copy()
        before[0] = with_bonuses(rng, (1, rows))
        sign = -1 if maximize else 1
        assignment = gmatch.lap(sign * before, maximize=maximize).update(sign * cost, rows=[0], certify=True)
        exact = [list(map(int, row)) for row in cost.tolist()]
        assert sum(exact[i][j] for i, j in zip(*assignment, strict=True)) == least_by_trying(exact), case


@pytest.mark.parametrize("method", ["auto", "core", "tree", "jv"])
def test_many_pairs_have_a_bonus_and_one_costs_something(method: str) -> None:
    """The pairs of the smaller bonus are no ordinary costs, however many there are."""
    rng = np.random.default_rng(5)
    for case in range(200):
        rows = int(rng.integers(10, 24))
        shape, tops, bonuses = (rows, rows), int(rng.integers(0, 4)), int(rng.integers(4, rows - 2))
        whole = np.where(rng.random(shape) < 0.7, 0, rng.integers(-3, 4, shape))
        large = np.zeros(shape, int)  # multiples of 1e19
        large[: tops + bonuses] = np.where(rng.random((tops + bonuses, rows)) < 0.5, -1, 0)
        large[:tops] = np.where(rng.random((tops, rows)) < 0.7, -1000, large[:tops])
        whole[large != 0] = 0
        rng.shuffle(both := np.stack([whole, large], axis=2))
        whole, large = both[..., 0], both[..., 1]
        cost = whole + large * 1e19
        right = linear_sum_assignment(whole + large * 2**12)
        for costs in (cost, sparse_of(cost)) if method in ("jv", "tree", "auto") else (cost,):
            pairs = tuple(gmatch.lap(costs, method=method, certify=True))
            assert (large[pairs].sum(), whole[pairs].sum()) == (large[right].sum(), whole[right].sum()), case


@pytest.mark.parametrize("shape", [(5, 5), (4, 6), (6, 4)])
def test_a_partial_answer_is_proven_in_any_layout(shape: tuple[int, int]) -> None:
    """The tiers of the parts of a cover belong to the rows and columns as given, not to how costs are stored."""
    rng = np.random.default_rng(3)
    has_tiers = 0
    for _ in range(60):
        cost = np.where(rng.random(shape) < 0.5, 1e16, rng.integers(0, 4, shape))
        cost[rng.random(shape) < 0.4] = np.inf
        cost[0] = cost[:, 1] = np.inf
        places = np.isfinite(cost).nonzero()
        stored = sp.csr_array((cost[places], places), cost.shape)
        layouts = cost, np.asfortranarray(cost), stored, stored.tocsc()
        for given in layouts:
            assignment = gmatch.lap(given, infeasible="partial")
            has_tiers += assignment.exact is not None
            for again in layouts:
                gmatch.verify(again, assignment)
    assert has_tiers > 20


def test_a_partial_answer_that_costs_half_of_what_int64_holds_is_proven() -> None:
    """What a pair costs and a dual are 2**62 each, but their difference is small."""
    costs, places = [40301, 2**62, 10**12], ([0, 1, 2], [0, 2, 0])
    stored = sp.csr_array((costs, places), (3, 3))
    for given in (stored, stored.tocsc()):
        assignment = gmatch.lap(given, infeasible="partial", certify=True)
        assert assignment.cost == 2**62 + 40301
        for side, change in itertools.product("uv", (2**62, -(2**62), 2**63 - 1, 10**13)):
            duals = getattr(assignment.exact, side).copy()
            duals[0] = change
            exact = replace(assignment.exact, **{side: duals})
            wrong = replace(assignment, exact=exact, u=exact.nearest_u(), v=exact.nearest_v())
            with pytest.raises(gmatch.CertificateError):
                gmatch.verify(given, wrong)


@pytest.mark.parametrize("big", [2**63 - 1, 2**62, 10**17])
def test_an_integer_that_stands_for_not(big: int) -> None:
    rng = np.random.default_rng(big % 97)
    for case in range(12):
        whole, forbidden = with_forbidden(rng)
        cost, maximize = np.where(forbidden, big, whole), case % 3 == 0
        if maximize:  # -2**63 as often as its neighbour
            cost = -cost - (1 if big == 2**63 - 1 and case % 2 else 0)
        right = best_whole(whole, forbidden)
        for name, assignment in ways(cost, maximize).items():
            pairs = tuple(assignment)
            others = ~forbidden[pairs]
            assert (int((~others).sum()), int(whole[pairs][others].sum())) == right, (case, name)
            assert assignment.cost == sum(cost[pairs].tolist())
        pairs = gmatch.compat.linear_sum_assignment(cost, maximize)
        assert int(whole[pairs][~forbidden[pairs]].sum()) == right[1]


@pytest.mark.parametrize("maximize", [False, True])
def test_the_least_integer_beside_its_neighbours(maximize: bool) -> None:
    """An answer is exact beside -2**63, or its costs are refused: int64 does not hold the negation of -2**63."""
    least, answers = -(2**63), 0
    rng = np.random.default_rng(maximize)
    near = [least, least + 1, least // 2, 2**63 - 1, 2**62, 0, 1, 7]
    nearer = [least + rise for rise in range(2, 10)]  # without the neighbour itself
    for case in range(600):
        shape = (2, 2) if case % 2 else (1, 2)
        some = nearer if case >= 400 else near[5:] if case % 3 else near
        cost = [[int(some[rng.integers(len(some))]) for _ in range(shape[1])] for _ in range(shape[0])]
        cost[case % 4 // 2 - 1][0] = least
        array = np.array(cost, np.int64)
        ways = [[cost[row][way[row]] for row in range(shape[0])] for way in itertools.permutations(range(2), shape[0])]
        right = (max if maximize else min)(map(sum, ways))
        for form in (array, np.asfortranarray(array), sp.csr_array(array), [array, array]):
            if sp.issparse(form) and form.nnz < array.size:
                continue
            try:
                found = gmatch.lap(form, maximize=maximize, certify=True)
            except gmatch.InvalidInput:
                continue
            answers += 1
            one = found[0] if isinstance(form, list) else found
            assert one.cost == right, (cost, form)
    assert answers > 100


@pytest.mark.parametrize("maximize", [False, True])
def test_integers_at_the_least_integer(maximize: bool) -> None:
    """-2**63 is one less than its neighbour, whose negation int64 holds. The proof tells the two apart as well."""
    rng = np.random.default_rng(63)
    for case in range(60):
        rows, columns = rng.integers(2, 14, 2)
        whole = rng.integers(0, 10, (rows, columns))
        cost = whole + np.int64(-(2**63))
        right = int(whole[linear_sum_assignment(whole, maximize)].sum())
        pairs = gmatch.compat.linear_sum_assignment(cost, maximize)
        assert whole[pairs].sum() == right
        if maximize and (whole == 0).any() and whole.any():
            with pytest.raises(gmatch.InvalidInput, match=r"-2\*\*63 beside costs of like .* add 1 to all costs"):
                gmatch.lap(cost, maximize=True)
            cost = cost + 1
        for name, assignment in ways(cost, maximize).items():
            assert whole[tuple(assignment)].sum() == right, (case, name)


def test_unsigned_integers_beyond_int64() -> None:
    rng = np.random.default_rng(64)
    for case in range(60):
        whole, forbidden = with_forbidden(rng, 13)
        cost = np.uint64(2**64 - 1) - whole.astype(np.uint64)
        if case % 2:  # 2**64 - 1 for "not" beside costs near 2**63
            cost = np.where(forbidden, np.uint64(2**64 - 1), np.uint64(2**63 - 9) + (whole % 20).astype(np.uint64))
        pairs = gmatch.compat.linear_sum_assignment(cost)
        offset = [[entry - 2**63 for entry in row] for row in cost.tolist()]
        right = linear_sum_assignment(np.where(forbidden, 2**40, whole % 20) if case % 2 else -whole)
        assert sum(offset[i][j] for i, j in zip(*pairs, strict=True)) == sum(
            offset[i][j] for i, j in zip(*right, strict=True)
        )
        with pytest.raises(gmatch.InvalidInput, match="below 2"):
            gmatch.lap(cost)


def test_advice_for_integers_keeps_their_differences() -> None:
    cost = np.uint64(2**64 - 1) - np.arange(9, dtype=np.uint64).reshape(3, 3) ** 2
    with pytest.raises(gmatch.InvalidInput, match=r"\(cost - cost\.min\(\)\)\.astype\(np\.int64\)"):
        gmatch.lap(cost)
    for given in (np.int64(2**63 - 1) - np.arange(9).reshape(3, 3), sparse_of(2**63 - 1 - np.arange(9).reshape(3, 3))):
        with pytest.raises(gmatch.InvalidInput, match="subtract the least cost from all costs and from the cost_limit"):
            gmatch.lap(given, cost_limit=2**63 - 4)


def test_integers_that_differ_by_little() -> None:
    rng = np.random.default_rng(2)
    for case in range(20):
        profit = rng.integers(0, 1000, rng.integers(1, 20, 2))
        right = int(profit[linear_sum_assignment(profit, True)].sum())
        for cost, maximize in ((2**63 - 1 - profit, False), (profit - (2**63 - 1), True)):
            for name, assignment in ways(cost, maximize).items():
                assert int(profit[tuple(assignment)].sum()) == right, (case, name)


def test_two_big_numbers() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        whole, forbidden = with_forbidden(rng)
        worse = forbidden & (rng.random(forbidden.shape) < 0.5)
        cost = np.where(worse, 1e24, np.where(forbidden, 1e12, whole / 2.0**20))
        weights = np.where(worse, 1 << 52, np.where(forbidden, 1 << 26, whole))
        right = weights[linear_sum_assignment(weights)].sum()
        for name, assignment in ways(cost, False).items():
            assert weights[tuple(assignment)].sum() == right, name


def test_four_magnitudes_that_no_float_holds_together() -> None:
    """Columns that the second magnitude demands must stay in use when the third decides."""
    rng = np.random.default_rng(15)
    values, digits = np.array([1e300, 1e150, 1.0, 1e-150]), np.array([1 << 18, 1 << 12, 1 << 6, 1])
    for case in range(200):
        which = rng.integers(0, 4, rng.integers(2, 6, 2))
        weights = digits[which]
        right = weights[linear_sum_assignment(weights)].sum()
        assignment = gmatch.lap(values[which], certify=True)
        assert weights[tuple(assignment)].sum() == right, case


def test_four_magnitudes_of_sparse_costs() -> None:
    """The reward that keeps columns in use hides the rests, so the rests are split again."""
    rng = np.random.default_rng(15)
    values, digits = np.array([1e300, 1e150, 1.0, 1e-150]), np.array([1 << 18, 1 << 12, 1 << 6, 1])
    for case in range(1200):
        which = rng.integers(0, 4, (rng.integers(1, 6), rng.integers(1, 8)))
        weights = digits[which]
        right = weights[linear_sum_assignment(weights)].sum()
        assignment = gmatch.lap(sp.csr_array(values[which]), method="jv", certify=True)
        assert weights[tuple(assignment)].sum() == right, case


MAGNITUDES = [[1e300, 1e150, 1.0, 1e-150], [1e18, 1.0], [1e40, 1e20, 1.0, 1e-20, 1e-40], [1e9, 1.0, 1e-9]]


def of_many_magnitudes(rng: np.random.Generator, case: int) -> Any:
    """No multiples of anything: by factors, and by what is added, so that some have a big number and rests in sight."""
    shape = rng.integers(1, 6), rng.integers(1, 7)
    magnitudes = np.array(MAGNITUDES[case // 2 % len(MAGNITUDES)])
    cost = rng.choice(magnitudes, shape)
    cost = cost + 1e-3 * rng.choice(magnitudes, shape) * rng.random(shape) if case % 2 else cost * rng.random(shape)
    return cost * rng.choice([-1, 1], shape) if case % 3 == 0 else cost


def assert_is_cheapest(cost: Any, assignment: Any, big: Any = None) -> None:
    """Checks by fractions that the sum of the pairs is least, to the last digits of a sum of floats.

    `big` is added to the costs, but not to the sum whose last digits count.
    """
    exact = _in_units(cost)
    pairs = list(zip(*assignment, strict=True))
    ordinary = sum(abs(exact[i][j]) for i, j in pairs)
    if big is not None:
        exact = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(exact, _in_units(big), strict=True)]
    turned = exact if len(exact) <= len(exact[0]) else list(map(list, zip(*exact, strict=True)))
    assert sum(exact[i][j] for i, j in pairs) - least_by_trying(turned) <= ordinary * Fraction(4 * 2.0**-52)


def _in_units(cost: Any) -> list[list[int]]:
    return [[int(Fraction(entry) * 2**1074) for entry in row] for row in cost.tolist()]


@pytest.mark.parametrize("method", ["jv", "tree", "auto"])
def test_sparse_costs_of_many_magnitudes(method: str) -> None:
    rng = np.random.default_rng(21)
    for case in range(500):
        cost, maximize = of_many_magnitudes(rng, case), case % 5 == 0
        stored = sparse_of(-cost if maximize else cost)
        deterministic = case % 4 == 0
        assignment = gmatch.lap(stored, method=method, maximize=maximize, deterministic=deterministic, certify=True)
        assert_is_cheapest(cost, assignment)
        gmatch.verify(stored, assignment, strict=True)


@pytest.mark.parametrize("method", ["jv", "tree", "auto"])
def test_one_pair_of_a_rest_beside_pairs_of_a_big_number(method: str) -> None:
    """Duals of the size of the rests, 4 here, round more than the one pair costs that has no big number."""
    rng = np.random.default_rng(23)
    for _ in range(300):
        cost = rng.integers(-2, 0, (5, 5)) - 1e-12 * rng.random((5, 5))
        cost[rng.random((5, 5)) < 0.4] = -1e15
        stored = sp.csr_array(cost)
        assignment = gmatch.lap(stored, method=method, certify=True)
        assert_is_cheapest(np.where(cost < -3, 0, cost), assignment, np.where(cost < -3, -1e15, 0))
        gmatch.verify(stored, assignment, strict=True)


@pytest.mark.parametrize("options", [{}, {"method": "tree"}, {"method": "core"}, {"deterministic": True}], ids=str)
def test_duals_that_must_be_large_beside_small_costs(options: dict[str, Any]) -> None:
    """Row 1 has only the pair that row 0 would be paid for, so a dual is as large as that payment."""
    rng = np.random.default_rng(22)
    for _ in range(40):
        cost = rng.random((4, 4))
        cost[0, 0], cost[1, 1:] = -1e18 * rng.random(), np.inf
        cost[2:, 0] += 1e18 * rng.random(2)
        of_sparse = {"method": "tree"} if options.get("method") == "core" else options
        stored = sp.csr_array(np.where(np.isinf(cost), 0, cost))
        for assignment in (gmatch.lap(cost, **options, certify=True), gmatch.lap(stored, **of_sparse, certify=True)):
            assert_is_cheapest(np.where(np.isinf(cost), 1e200, cost), assignment)


@pytest.mark.parametrize("n", [20, 60])
def test_larger_sparse_costs_of_many_magnitudes(n: int) -> None:
    rng = np.random.default_rng(n)
    for case, magnitudes in enumerate(MAGNITUDES):
        cost = sp.random_array((n, n + case % 2 * n // 2), density=0.4, rng=rng).tocsr()
        cost.data = rng.choice(magnitudes, cost.nnz) * rng.random(cost.nnz)
        for method in ("jv", "tree"):
            assignment = gmatch.lap(cost, method=method, infeasible="partial", certify=True)
            gmatch.verify(cost, assignment, strict=True)
            limit = float(np.median(cost.data))
            gmatch.verify(cost, gmatch.lap(cost, method=method, cost_limit=limit, certify=True), strict=True)


@pytest.mark.parametrize("by_turns", [False, True])
def test_few_pairs_are_refined(by_turns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs are refined in floats, and in integers if floats prove nothing."""
    in_floats, in_integers, as_integers = [], [], exact._as_integers

    def noted(pairs: Any, solution: Any, most_gap: float) -> Any:
        in_floats.append(len(pairs[0]))
        return solve_in_turns(pairs, solution, most_gap) if by_turns else None

    def noted_in_integers(costs: Any, u: Any, v: Any) -> Any:
        in_integers.append(len(costs))
        return as_integers(costs, u, v)

    monkeypatch.setattr(exact, "solve_in_turns", noted)
    monkeypatch.setattr(exact, "_as_integers", noted_in_integers)
    for seed in range(4):
        cost = sp.csr_array(np.random.default_rng(seed).random((300, 300)) ** 40)  # a matrix would be refined
        gmatch.verify(cost, gmatch.lap(cost, method="jv", certify=True), strict=True)
    assert in_floats and max(in_floats) < 5 * 300
    assert in_integers == ([] if by_turns else in_floats)


def test_a_search_of_slacks_proves_what_rounded_duals_hide() -> None:
    """The answer is that of integers, from pairs and duals that are off by far more than costs differ."""
    rng, refined = np.random.default_rng(17), 0
    for _ in range(300):
        n = int(rng.integers(2, 40))
        whole = rng.integers(1, 2**20, (n, n))
        forbidden = (rng.random((n, n)) < 0.2) & (rng.permutation(n)[:, None] != np.arange(n))
        cost = np.where(forbidden, np.inf, np.ldexp(whole.astype(float), -45))
        rows, columns = linear_sum_assignment(np.where(forbidden, np.inf, whole + rng.integers(0, 4, (n, n))))
        mates = columns.astype(np.int32), np.argsort(columns).astype(np.int32)
        vectors = Vectors(*mates, rng.random(n), -rng.random(n))
        outcome, *_ = cpu.assign_in_tiers(DenseCosts(cost), vectors)
        if outcome == "refined":
            refined += 1
            assert (vectors.col_match[vectors.row_match] == np.arange(n)).all()
            least = whole[linear_sum_assignment(np.where(forbidden, np.inf, whole))].sum()
            assert not forbidden[rows, vectors.row_match].any() and whole[rows, vectors.row_match].sum() == least
            assert (cost - vectors.u[:, None] - vectors.v).min() > -(2.0**-50)  # the last digits of duals of about 1
        # If duals are off by 1e5, the duals of their slacks round by more than a proof allows.
        vectors = Vectors(*mates, 1e5 * rng.random(n), -1e5 * rng.random(n))
        assert cpu.assign_in_tiers(DenseCosts(cost), vectors)[0] != "refined"
    assert refined > 200


def test_a_search_of_slacks_leaves_columns_free() -> None:
    """Some of the given pairs leave the wrong columns free. The v of free columns are 0, and no v is positive."""
    rng, refined, moved = np.random.default_rng(18), 0, 0
    for _ in range(300):
        n = int(rng.integers(2, 30))
        whole = rng.integers(1, 2**20, (n, n + int(rng.integers(1, n + 1))))
        cost = np.ldexp(whole.astype(float), -45)
        columns = linear_sum_assignment(whole + rng.integers(0, 2**14, whole.shape))[1].astype(np.int32)
        vectors = Vectors(
            columns.copy(), np.full(whole.shape[1], -1, np.int32), rng.random(n), np.zeros(whole.shape[1])
        )
        vectors.col_match[columns] = np.arange(n)
        vectors.v[columns] = -np.ldexp(rng.integers(0, 2**20, n), -45)
        if cpu.assign_in_tiers(DenseCosts(cost), vectors)[0] == "refined":
            refined, moved = refined + 1, moved + (sorted(columns) != sorted(vectors.row_match))
            assert (vectors.col_match[vectors.row_match] == np.arange(n)).all() and sum(vectors.col_match >= 0) == n
            assert whole[np.arange(n), vectors.row_match].sum() == whole[linear_sum_assignment(whole)].sum()
            assert vectors.v.max() == 0 and not vectors.v[vectors.col_match < 0].any()
    assert refined > 100 and moved > 20


def test_turns_prove_what_rounded_duals_hide() -> None:
    """Turns agree with integers, from duals that are off by far more than costs differ. A gap of 0 needs all digits."""
    rng, proven = np.random.default_rng(16), 0
    for _ in range(300):
        n = int(rng.integers(2, 9))
        whole = rng.integers(0, 2 ** int(rng.choice([2, 20, 50])), (n, n))
        rows, columns = linear_sum_assignment(whole + rng.integers(0, 4, (n, n)))
        u, v = 1e5 * rng.random(n), -1e5 * rng.random(n)
        solution = SimpleNamespace(row_match=columns.astype(np.int32), u=u, v=v)
        pairs = np.repeat(np.arange(n), n), np.tile(np.arange(n), n), np.ldexp(whole.astype(float).ravel(), -30)
        order = rng.permutation(n * n)
        found = solve_in_turns(tuple(part[order] for part in pairs), solution, 0)
        least = whole[linear_sum_assignment(whole)].sum()
        if found is not None:
            proven += 1
            assert whole[rows, found.row_match].sum() == least
    assert proven > 200


def test_turns_prove_nothing_of_unlike_magnitudes() -> None:
    """The turns have too few bits for costs of this range. Integers must then prove the answer."""
    cost = 2.0 ** (-70.0 * np.arange(36).reshape(6, 6))
    solution = SimpleNamespace(row_match=np.arange(6, dtype=np.int32), u=np.ones(6), v=np.ones(6))
    pairs = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6), cost.ravel()
    assert solve_in_turns(pairs, solution, 0) is None


@pytest.mark.parametrize("columns", [30, 40])
def test_pairs_that_exact_duals_bring_within_reach_join(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time most pairs are withheld; the duals of the others violate them."""
    in_reach, take, times, solved = exact._pairs_in_reach, exact.take, [], []

    def withheld(costs: Any, solution: Any, most_to_list: float) -> Any:
        times.append(len(times))
        pairs = in_reach(costs, solution, most_to_list)
        if len(times) > 1 or pairs is None:
            return pairs
        rows, columns_of, values, reach = pairs
        kept = (solution.row_match[rows] == columns_of) | (values > np.median(values))
        return rows[kept], columns_of[kept], values[kept], 0.0  # others may be anywhere

    monkeypatch.setattr(exact, "_pairs_in_reach", withheld)
    monkeypatch.setattr(exact, "take", lambda *arguments: solved.append(0) or take(*arguments))
    joined = 0
    for seed in range(10):
        cost = sp.csr_array(np.random.default_rng(seed).lognormal(0, 20, (30, columns)))
        times.clear()
        solved.clear()
        assignment = gmatch.lap(cost, method="jv", certify=True)
        gmatch.verify(cost, assignment, strict=True)
        joined += len(solved) > 1
    assert joined > 0


@pytest.mark.parametrize("n", [3, 20, 60])
def test_a_big_number_that_the_first_rows_lack(n: int) -> None:
    """The first rows have costs of many magnitudes, all far below the big number."""
    rng = np.random.default_rng(n)
    whole = 2 ** rng.integers(0, 20, (n, n + 1))
    forbidden = rng.random(whole.shape) < 0.5
    forbidden[: n // 2], forbidden[n // 2 :, : n // 2 + 2] = False, True
    forbidden[n // 2 :, n // 2 + 2 :] = True
    cost = np.where(forbidden, 1e15, whole / 2.0**20)
    for given in (cost, cost.T.copy()):
        assignment = gmatch.lap(given, certify=True)
        assert assignment.exact is not None and len(assignment.exact.tiers) == 1
        pairs = tuple(assignment) if given is cost else tuple(assignment)[::-1]
        others = ~forbidden[pairs]
        assert (int((~others).sum()), int(whole[pairs][others].sum())) == best_whole(whole, forbidden)


def test_forbidden_pairs_beside_a_big_number() -> None:
    rng = np.random.default_rng(4)
    for case in range(30):
        whole, forbidden = with_forbidden(rng, 12)
        never = rng.random(forbidden.shape) < 0.6
        cost = np.where(never, np.inf, np.where(forbidden, 1e18, whole / 2.0**20))
        exact = np.where(never, np.inf, np.where(forbidden, float(1 << 30), whole))
        right = gmatch.lap(exact, infeasible="partial")
        for options in ({}, {"deterministic": True}):
            for given in (cost, sparse_of(cost)):
                assignment = gmatch.lap(given, infeasible="partial", certify=True, **options)
                assert assignment.status == right.status
                assert exact[tuple(assignment)].sum() == right.cost, (case, options)


@pytest.mark.parametrize("options", [{}, {"method": "core"}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("where", [0, 1, 2])
def test_one_part_of_a_partial_assignment_has_the_big_number(where: int, options: dict[str, Any]) -> None:
    """Rows 0 and 1 share a column, and the others have five columns. Each part is solved by itself."""
    cost = np.full((5, 6), np.inf)
    cost[:2, 0] = 1.37, 2.91
    cost[2:, 1:] = np.random.default_rng(where).random((3, 5))
    has_big = np.isfinite(cost) & (np.arange(5) // 2 == where)[:, None]
    big, small = np.where(has_big, 1.7e308, cost), np.where(has_big, 1000.0, cost)
    right = gmatch.lap(small, infeasible="partial")
    assignment = gmatch.lap(big, infeasible="partial", certify=True, **options)
    assert assignment.status == "partial" and small[tuple(assignment)].sum() == right.cost
    if "method" not in options:
        rows, columns = np.isfinite(cost).nonzero()
        entries = [
            2**63 - 1 if has_big[place] else int(cost[place] * 2**20) for place in zip(rows, columns, strict=True)
        ]
        stored = sp.csr_array((np.array(entries), (rows, columns)), shape=cost.shape)
        found = gmatch.lap(stored, infeasible="partial", certify=True, **options)
        assert small[tuple(found)].sum() == pytest.approx(right.cost, abs=1e-5)


@pytest.mark.parametrize("shape", [(3, 3), (9, 9), (9, 13), (40, 40), (40, 70), (130, 130)])
@pytest.mark.parametrize("big", [1e6, 1e9, 1e18, 1.7e308])
def test_two_parts_never_meet_the_big_number(shape: tuple[int, int], big: float) -> None:
    """Some rows must use it: rows that share too few columns, and rows without any. Searches read only other pairs."""
    rng = np.random.default_rng(shape[1])
    entries_read = 0
    for case in range(12):
        whole = rng.integers(-(2**12) if case % 3 == 0 else 0, 2**12, shape)
        forbidden = rng.random(shape) > (0.3, 1, 2)[case % 3] / shape[1]
        forbidden[0] = True
        cost = np.where(forbidden, big, whole / 2.0**12)
        short = cost.astype(np.float32) if big < 1e38 else cost
        for given, turned in ((cost, False), (-cost, False), (short, False), (cost.T.copy(), True), (cost.T, True)):
            assignment = gmatch.lap(given, maximize=bool((given < -big / 2).any()))
            gmatch.verify(given, assignment, strict=True)
            rows, columns = tuple(assignment)[::-1] if turned else assignment
            others = ~forbidden[rows, columns]
            found = int((~others).sum()), int(whole[rows, columns][others].sum())
            assert found == best_whole(whole, forbidden)
            entries_read += assignment.stats["edges_inspected"]
    assert entries_read < 60 * 2 * cost.size  # duals in tiers need 2.6 to 4.8 passes


def assigned(cost: Any, row_match: Any, u: Any, v: Any, exact: Any) -> gmatch.Assignment:
    """What somebody says is an optimal assignment of a square matrix."""
    col_match = row_match.argsort().astype(np.int32)
    pair_costs = cost[np.arange(len(cost)), row_match]
    return gmatch.Assignment(row_match, col_match, u, v, pair_costs, gmatch.Status.OPTIMAL, exact=exact)


class TestProof:
    cost = np.array([[1e18, 1e18, 1e18], [0.25, 0.5, 1e18], [0.5, 0.25, 1e18]])

    def test_what_it_holds(self) -> None:
        assignment = gmatch.lap(self.cost)
        assert assignment.exact is not None
        certificate = gmatch.verify(self.cost, assignment)
        assert certificate.gap <= certificate.tolerance < 1e-12

    def test_a_worse_assignment_is_refused(self) -> None:
        assignment = gmatch.lap(self.cost)
        swapped = np.array([2, 1, 0], np.int32)
        worse = gmatch.Assignment(
            swapped, swapped, assignment.u, assignment.v, self.cost[[0, 1, 2], swapped], assignment.status,
            exact=assignment.exact,
        )  # fmt: skip
        with pytest.raises(gmatch.CertificateError):
            gmatch.verify(self.cost, worse)

    def test_more_pairs_of_the_big_number_are_refused(self) -> None:
        assignment = gmatch.lap(self.cost)
        more = np.array([0, 2, 1], np.int32)  # its rests are less
        with pytest.raises(gmatch.CertificateError, match="do not have the tiers of their duals"):
            gmatch.verify(self.cost, assigned(self.cost, more, assignment.u, assignment.v, assignment.exact))

    def test_duals_above_the_tier_of_a_pair_are_refused(self) -> None:
        assignment = gmatch.lap(self.cost)
        assert assignment.exact is not None
        (tier,) = assignment.exact.tiers
        rows, columns = tier.rows + [0, 1, 0], tier.columns - [1, 0, 0]  # their sum is as before
        exact = gmatch.ExactDuals((gmatch.Tier(tier.value, rows, columns),), assignment.exact.u, assignment.exact.v)
        with pytest.raises(gmatch.CertificateError, match="higher tier"):
            gmatch.verify(self.cost, assigned(self.cost, assignment.row_match, assignment.u, assignment.v, exact))

    def test_a_value_that_rests_outweigh_is_refused(self) -> None:
        """The diagonal has the least tier, 0, but the pairs beside it cost less: -0.35 instead of 1.35."""
        cost = np.array([[0.45, -0.45, 5], [5, 0.45, -0.45], [0.55, 5, 0.45]])
        u, v = np.array([0.45, 1.35, 2.25]), np.array([0, -0.9, -1.8])
        tier = gmatch.Tier(1.0, np.zeros(3, np.int64), np.zeros(3, np.int64))
        with pytest.raises(gmatch.CertificateError, match="outweighed"):
            gmatch.verify(cost, assigned(cost, np.arange(3, dtype=np.int32), u, v, gmatch.ExactDuals((tier,), u, v)))

    @pytest.mark.parametrize("times", [2**39, -(2**39), 2**41, -(2**41)])
    def test_lower_duals_may_not_outweigh_a_value(self, times: int) -> None:
        """Duals of a lower tier that cancel for a pair are far from 0. The other pairs of its row and column decide."""
        cost = np.array([[2.0**20, 2.0**60], [2.0**60, 2.0**20]])
        nothing = np.zeros(2, np.int64)
        tiers = (
            gmatch.Tier(2.0**60, nothing, nothing),
            gmatch.Tier(2.0**20, np.array([1 + times, 1]), np.array([-times, 0])),
        )
        exact = gmatch.ExactDuals(tiers, np.zeros(2), np.zeros(2))
        given = assigned(cost, np.arange(2, dtype=np.int32), exact.nearest_u(), exact.nearest_v(), exact)
        if abs(times) > 2**40:
            with pytest.raises(gmatch.CertificateError, match="outweighed"):
                gmatch.verify(cost, given)
        else:
            assert gmatch.verify(cost, given).gap == 0

    @pytest.mark.parametrize("what", ["value", "rows", "columns", "u", "v"])
    def test_wrong_duals_are_refused(self, what: str) -> None:
        assignment = gmatch.lap(self.cost)
        assert assignment.exact is not None
        (tier,), u, v = assignment.exact.tiers, assignment.exact.u.copy(), assignment.exact.v.copy()
        rows, columns, value = tier.rows.copy(), tier.columns.copy(), tier.value
        if what == "value":
            value /= 1e18
        for name, array in (("rows", rows), ("columns", columns), ("u", u), ("v", v)):
            array += name == what
        exact = gmatch.ExactDuals((gmatch.Tier(value, rows, columns),), u, v)
        wrong = gmatch.Assignment(
            assignment.row_match, assignment.col_match, assignment.u, assignment.v, assignment.pair_costs,
            assignment.status, exact=exact,
        )  # fmt: skip
        with pytest.raises(gmatch.CertificateError):
            gmatch.verify(self.cost, wrong)


def test_ordinary_costs_have_no_tiers() -> None:
    rng = np.random.default_rng(6)
    for size in (5, 50, 600, 1200):
        for cost in (rng.random((size, size)), rng.lognormal(0, 2, (size, size)), rng.integers(0, 2, (size, size)) / 2):
            assert gmatch.lap(cost).exact is None


def test_exact_duals_that_no_float_holds_are_of_changed_costs() -> None:
    """Sums of costs that were inspected stay within the range of floats: see tests/test_changed_arrays.py."""
    one = np.array([1], object)
    assert _ExactDuals(one, one, 1023).floats(one) == 2.0**1023
    with pytest.raises(gmatch.InvalidInput, match="changed by another thread"):
        _ExactDuals(one, one, 1024).floats(one)


def test_powers_of_two_over_hundreds_of_bits() -> None:
    """Their duals may lie anywhere between two multiples of a tier, and are far from 0 in the tiers below it."""
    rng = np.random.default_rng(0)
    for case in range(500):
        rows, columns = sorted(rng.integers(2, 9, 2))
        bits = rng.choice([60, 150, 300])
        cost = 2.0 ** rng.integers(-bits, bits // 2, (rows, columns))
        cost *= rng.choice([1, -1, 0], cost.shape, p=[0.6, 0.3, 0.1])
        maximize, deterministic = bool(case % 2), bool(case % 3)
        found = gmatch.lap(cost, maximize=maximize, deterministic=deterministic)
        gmatch.verify(cost, found)
        gmatch.verify(cost, found, strict=True)


@pytest.mark.parametrize("deterministic", [False, True])
def test_loose_duals_below_a_tier(deterministic: bool) -> None:
    """Powers of two whose fourth tier has a dual of 109, about half of the third tier's value."""
    exponents = np.array([
        [-60, -115, -114, 25, 57, -134], [-112, -12, 2, -143, 46, -148], [-85, -28, -116, 26, -125, 32],
        [-61, 40, -np.inf, 30, -17, -np.inf], [-89, -54, -137, 69, -np.inf, -147],
    ])  # fmt: skip
    signs = np.ones(exponents.shape)
    signs[0, 1:3] = signs[2, 3] = -1
    cost = signs * 2.0**exponents
    found = gmatch.lap(cost, maximize=True, deterministic=deterministic)
    certificate = gmatch.verify(cost, found)
    assert certificate.gap <= certificate.tolerance
    assert gmatch.verify(cost, found, strict=True).gap == 0


def test_lower_duals_whose_sum_is_no_number_outweigh_all_values() -> None:
    """Those of the rows overflow upwards and those of the columns downwards. The first value would be large enough."""
    tier: Any = SimpleNamespace(value=1e308, rows=np.array([4]), columns=np.array([-4]))
    duals = SimpleNamespace(u=np.zeros(1), v=np.zeros(1), tiers=(tier, tier))
    part: Any = SimpleNamespace(exact=duals)
    with pytest.raises(gmatch.CertificateError, match="is outweighed"):
        _check_values(part, [0.0, 0.0])


def _hides(costs: np.ndarray, largest_dual: float) -> bool:
    """Whether duals hide costs of pairs, by the definition: see csrc/costs/magnitudes.hpp and hidden.cuh."""
    rows, magnitudes = len(costs), np.sort(np.abs(costs))
    hidden = largest_dual / (512 * (rows + 1))
    are_hidden = (magnitudes > 0) & (magnitudes < hidden)
    nothing, greatest = (magnitudes == 0).sum(), max(2 * hidden, magnitudes[-1])
    num_greatest = (magnitudes >= greatest / 2).sum()
    leaves_room = magnitudes[1:] > 32 * (rows + 1) * magnitudes[:-1]
    no_gap = not (2 * magnitudes[1:] > 32 * (rows + 1) * magnitudes[:-1]).any()
    if no_gap and nothing == 0 and largest_dual <= magnitudes.sum():
        return False
    if are_hidden.sum() * 8 > rows - num_greatest - nothing or (are_hidden.any() and num_greatest * 2 >= rows):
        return bool(are_hidden.any())
    return bool((are_hidden[:-1] & leaves_room).any())


def test_hidden_pairs_are_told_as_they_are_defined() -> None:
    random, seen = np.random.default_rng(0), set()
    for _ in range(3000):
        rows = int(random.integers(1, 40))
        costs = 10.0 ** random.choice([0, 1, 3, 6, 9], rows, p=random.dirichlet([0.5] * 5))
        costs *= random.choice([0, 0.5, 1, 1, 1, 1, 1, -1], rows) * random.choice([1, 1.5, random.random()], rows)
        largest_dual = 10.0 ** random.uniform(-1, 12)
        if random.random() < 0.2:  # near the bound
            costs = random.uniform(0.1, 4, rows) * largest_dual / (512 * (rows + 1))
        duals = np.array([0.0, -largest_dual])
        within = _native.hiding_if_negative_within_of_pairs(costs, duals, duals[:0], 0.0)
        assert within == (np.inf if _hides(costs, largest_dual) else 0), costs.tolist()
        hidden = (costs != 0) & (np.abs(costs) < largest_dual / (512 * (rows + 1)))
        seen.add((bool(within), bool(hidden.any())))
    assert seen == {(False, False), (False, True), (True, True)}


def test_integers_that_are_solved_in_parts_start_from_earlier_answers() -> None:
    """Their duals could overflow. So the search starts without duals."""
    costs = np.full((17, 52), 50)
    costs[3, 4], costs[5, :] = -(2**63), -(2**63)
    first = gmatch.lap(costs)
    assert gmatch.lap(costs, initial=first, certify=True).cost == first.cost
    assert gmatch.lap(costs, duals=(first.u, first.v), certify=True).cost == first.cost
