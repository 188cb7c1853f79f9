"""Costs that are nearly all one number, the greatest: the check of the costs lists the cheaper pairs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import GPU
from fake_cupy import fake
from fake_gpus import FakeReader
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch.assignment import tiers
from gmatch.assignment.plan import Plan
from gmatch.backends import cpu
from gmatch.methods import FEW_PAIRS_REASON
from gmatch.problems import limits
from gmatch.small import small_first

SHAPES = (90, 90), (80, 130), (130, 80)
COMMON = {"one": 1.0, "nothing": 0.0, "negative": -2.5, "for not": 1e9}


def few(seed: int, shape: tuple[int, int], common: float, each: float = 1.0, ties: bool = False) -> Any:
    """Costs with about `each` cheaper pairs in a row. Their costs differ by up to 1."""
    random = np.random.default_rng(seed)
    less = random.integers(1, 4, shape) / 4 if ties else random.random(shape)
    return np.where(random.random(shape) < each / max(shape), min(common, 1.0) - less, common)


def layouts(costs: Any) -> dict[str, Any]:
    wide = np.zeros((len(costs), 2 * costs.shape[1]), costs.dtype)
    wide[:, ::2] = costs
    return {"rows": costs, "columns": np.asfortranarray(costs), "apart": wide[:, ::2], "reversed": costs[::-1]}


def parts_of(costs: Any, rows: Any, columns: Any) -> tuple[int, float]:
    """The number of pairs that cost 1e9 or more, and the sum of the other pairs."""
    entries = costs[rows, columns]
    is_big = entries >= 1e9
    return int(is_big.sum()), float(entries[~is_big].sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("common", COMMON)
@pytest.mark.parametrize("ties", [False, True])
def test_the_answer_is_scipys(shape: tuple[int, int], common: str, ties: bool) -> None:
    for seed in range(6):
        costs = few(seed, shape, COMMON[common], each=(0.3, 0.7, 1.1)[seed % 3], ties=ties)
        right = parts_of(costs, *linear_sum_assignment(costs))
        for maximize in (False, True):
            for name, array in layouts(-costs if maximize else costs).items():
                problem = gmatch.DenseCosts(array, maximize=maximize)
                assert (problem.few_pairs is not None) == (name != "apart")
                for method in ("auto", "jv"):
                    found = gmatch.lap(problem, method=method, threads=1, certify=True)
                    order = np.arange(len(costs))[::-1] if name == "reversed" else np.arange(len(costs))
                    assert parts_of(costs, order[found.row_ind], found.col_ind) == pytest.approx(right, abs=1e-9), name


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_types_of_entries(dtype: str) -> None:
    for seed in range(4):
        costs = np.floor(100 * few(seed, (90, 90), 1.0)).astype(dtype)
        problem = gmatch.DenseCosts(costs)
        assert problem.few_pairs is not None and problem.highest == 100 and problem.lowest == costs.min()
        found = gmatch.lap(problem, threads=1, certify=True)
        assert found.cost == costs[linear_sum_assignment(costs)].sum()


@pytest.mark.parametrize("limit", [1.5, 1.0, 0.7, 0.2, -0.5])
def test_a_limit_cuts_them_off(limit: float) -> None:
    for seed in range(4):
        costs = few(seed, (90, 90), 1.0)
        problem = gmatch.DenseCosts(costs, cost_limit=limit)
        assert problem.few_pairs is not None
        found = gmatch.lap(problem, threads=1, certify=True)
        cut = np.minimum(costs, limit)
        assert found.cost + limit * (90 - found.size) == pytest.approx(cut[linear_sum_assignment(cut)].sum())


def test_whole_costs_beside_a_limit_with_a_fraction() -> None:
    """Integer costs become floats if the limit has a fraction."""
    costs = np.floor(4 * few(0, (90, 90), 1.0)).astype(np.int32)
    problem = gmatch.DenseCosts(costs, cost_limit=2.5)
    found = gmatch.lap(problem, threads=1, certify=True)
    cut = np.minimum(costs, 2.5)
    assert found.cost + 2.5 * (90 - found.size) == cut[linear_sum_assignment(cut)].sum()


@pytest.mark.parametrize("other", [2.0, np.inf, np.nan, -np.inf])
def test_other_costs_are_solved_as_before(other: float) -> None:
    """One entry, at any place, costs more than the others or is no finite number."""
    for place in ((0, 0), (89, 89), (40, 7)):
        costs = few(1, (90, 90), 1.0)
        costs[place] = other
        if np.isnan(other) or other < 0:
            with pytest.raises(gmatch.InvalidInput):
                gmatch.DenseCosts(costs)
            continue
        problem = gmatch.DenseCosts(costs)
        assert problem.few_pairs is None
        found = gmatch.lap(problem, threads=1, certify=True)
        assert found.cost == pytest.approx(costs[linear_sum_assignment(costs)].sum())


def test_many_cheaper_pairs_are_no_few() -> None:
    assert gmatch.DenseCosts(few(0, (200, 200), 1.0, each=2)).few_pairs is not None
    assert gmatch.DenseCosts(few(0, (200, 200), 1.0, each=20)).few_pairs is None
    assert gmatch.DenseCosts(np.ones((20, 20))).few_pairs is None


def test_a_search_reads_the_cheaper_pairs_alone() -> None:
    costs = few(2, (600, 600), 1.0, each=3)
    found = gmatch.lap(costs, threads=1, certify=True)
    assert found.stats["edges_inspected"] < 600 * 60
    assert (gmatch.lap(costs, threads=2).row_match == found.row_match).all()


def test_threads_list_what_one_thread_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for costs in (few(3, (90, 140), 1.0), few(3, (140, 90), 1.0)):
        one = gmatch.lap(gmatch.DenseCosts(costs), threads=1)
        with monkeypatch.context() as patch:
            patch.setattr("gmatch.devices.cpu.thread_count", lambda threads, work: 3)
            three = gmatch.lap(gmatch.DenseCosts(costs), threads=1)
        assert (one.row_match == three.row_match).all() and (one.u == three.u).all()


def test_negative_zeros_are_zeros() -> None:
    costs = few(4, (90, 90), 0.0)
    costs[::2][costs[::2] == 0] = -0.0
    problem = gmatch.DenseCosts(costs)
    assert problem.few_pairs is not None
    assert gmatch.lap(problem, threads=1).cost == pytest.approx(costs[linear_sum_assignment(costs)].sum())


def test_small_costs_near_a_common_zero_are_seen() -> None:
    """Duals of 1e6 hide costs of 1e-13 beside pairs that cost nothing."""
    costs = np.zeros((90, 90))
    costs[0, 0], costs[1, 1], costs[1, 2] = -1e6, -1e-13, -2e-13
    found = gmatch.lap(gmatch.DenseCosts(costs), threads=1, certify=True)
    assert found.row_match[1] == 2 and found.row_match[0] == 0


def whole(seed: int, kind: str) -> Any:
    """Whole costs below 2**53. Some are small beside others, and most pairs cost nothing."""
    random = np.random.default_rng(seed)
    powers = {"all": random.uniform(0, 50, (80, 80)), "few large": 50 * (random.random((80, 80)) < 0.05)}
    found = np.floor(2 ** powers[kind] * random.integers(1, 9, (80, 80))).astype(np.int64)
    return np.where(random.random((80, 80)) < 1 / 80, -found, 0)


@pytest.mark.parametrize("kind", ["all", "few large"])
def test_no_small_cost_is_hidden(kind: str) -> None:
    """Duals of floats hide small costs. The optimum comes from integers."""
    hidden = 0
    for seed in range(25):
        costs = whole(seed, kind)
        right = gmatch.lap(np.repeat(costs, 2, axis=1)[:, ::2], method="jv", threads=1).cost
        found = gmatch.lap(gmatch.DenseCosts(costs * 2.0**-40), threads=1, certify=True)
        assert costs[found.row_ind, found.col_ind].sum() == right
        small = -costs[found.row_ind, found.col_ind]
        largest = max(abs(found.u).max(), abs(found.v).max()) * 2.0**40
        hidden += bool((small[small > 0] < largest / 512 / 81).any())
    assert hidden > 5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [1e9, 1e15, 1e300])
def test_duals_beside_a_number_for_not_are_strict(shape: tuple[int, int], number: float) -> None:
    """Some rows must use the number. Duals are then in tiers, and rests lose no digit."""
    for seed in range(5):
        costs = few(seed, shape, number, each=1)
        costs[seed : 40 * (seed % 2)] = number
        problem = gmatch.DenseCosts(costs)
        assert problem.few_pairs is not None
        found = gmatch.lap(problem, threads=1)
        assert found.exact is not None and gmatch.verify(costs, found, strict=True).gap < 1e-12
        ones = np.where(costs < number, costs - 10 * max(shape), 0)  # most cheap pairs first, then least cost
        best = ones[linear_sum_assignment(ones)].sum()
        assert ones[found.row_ind, found.col_ind].sum() == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("common", COMMON)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64"])
def test_the_short_way_gives_the_same_answer(common: str, maximize: bool, dtype: str) -> None:
    """Arrays that are not small take the short way. Checked costs take the long way."""
    for shape in ((520, 530), (1990, 90)):
        costs = few(7, shape, COMMON[common], each=0.9)
        costs = costs.astype(dtype) if dtype[0] == "f" else np.floor(100 * costs).astype(np.int64).clip(None, 10**9)
        costs = (-costs if maximize else costs).astype(dtype)
        for array in (costs, np.asfortranarray(costs)):
            quick = gmatch.lap(array, maximize=maximize)
            slow = gmatch.lap(gmatch.DenseCosts(array, maximize=maximize))
            assert quick.stats["reason"].startswith("nearly all pairs")
            for name in ("row_match", "col_match", "u", "v", "pair_costs"):
                assert np.array_equal(getattr(quick, name), getattr(slow, name)), name
            assert (quick.exact is None) == (slow.exact is None) and quick.cost == slow.cost
            assert gmatch.verify(array, quick, strict=True)


def test_what_the_short_way_leaves_to_others() -> None:
    """SciPy has a rule for costs that are all equal. Limits and ties take the long way."""
    equal = np.ones((600, 600))
    assert gmatch.compat.linear_sum_assignment(equal)[1].tolist() == linear_sum_assignment(equal)[1].tolist()
    costs = few(8, (600, 600), 1.0)
    for options in ({"cost_limit": 0.5}, {"deterministic": True}, {"method": "core"}):
        assert small_first(lambda *_, **__: None)(costs, **options) is None
        found = gmatch.lap(costs, certify=True, **options)
        assert found.stats["reason"].startswith("nearly all pairs") == ("method" not in options)


def test_one_reason_on_all_ways() -> None:
    """The short way, checked costs, limits, several threads and starts: one method solves them, and stats say so."""
    costs = few(9, (1600, 1600), 1.0, each=3)
    found = gmatch.lap(costs)
    others = [
        gmatch.lap(gmatch.DenseCosts(costs)), gmatch.lap(costs, cost_limit=0.9), gmatch.lap(costs, threads=2),
        gmatch.lap(costs, deterministic=True), gmatch.lap(costs, initial=found, certify=True),
        gmatch.lap(costs, duals=(found.u, found.v)), gmatch.lap(costs, initial=found.row_match),
    ]  # fmt: skip
    for other in (found, *others):
        assert other.stats["method"] == "jv" and other.stats["reason"].startswith("nearly all pairs")
        assert other.stats["edges_inspected"] < 1600 * 60


@pytest.mark.parametrize("n", [100, 600])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("limit", [None, 5.0])
def test_a_common_number_that_is_no_cost_is_refused(n: int, dtype: str, limit: float | None) -> None:
    for maximize, refused in (False, -np.inf), (True, np.inf):
        costs = np.full((n, n), refused, dtype)
        with pytest.raises(gmatch.InvalidInput, match=r"must not hold [+-]inf"):
            gmatch.lap(costs, maximize=maximize, cost_limit=limit)


def test_the_least_integer_is_refused_as_a_common_gain_with_a_limit() -> None:
    costs = np.full((100, 100), -(2**63))
    with pytest.raises(gmatch.InvalidInput, match=r"-2\*\*63 when maximizing"):
        gmatch.lap(costs, maximize=True, cost_limit=5)
    assert gmatch.DenseCosts(costs, maximize=True).highest == 2**63


@pytest.mark.parametrize("columns", [5000, 500_000])
def test_no_rows_have_no_pairs(columns: int) -> None:
    assert gmatch.lap(np.empty((0, columns))).size == 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda costs: pickle.loads(pickle.dumps(costs))])
def test_checked_costs_are_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    problem = gmatch.DenseCosts(few(4, (90, 90), 1.0))
    other = copied(problem)
    assert problem.few_pairs is not None and other.few_pairs is None
    assert gmatch.lap(other, certify=True).cost == pytest.approx(gmatch.lap(problem, certify=True).cost)


# On a GPU.


@pytest.mark.parametrize("maximize", [False, True])
def test_when_a_gpu_takes_pairs_for_few(maximize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEWEST_ROWS_OF_FEW_PAIRS", 40)
    monkeypatch.setattr(limits, "READERS", {"gpu": FakeReader})
    sign = -1 if maximize else 1

    def number_of_pairs(costs: Any, limit: float | None = None) -> int | None:
        found, number = limits._on_gpu(fake(sign * costs), maximize, None if limit is None else sign * limit)
        assert (found.lowest, found.highest) == (costs[costs < np.inf].min(), costs[costs < np.inf].max())
        return number

    costs = few(3, (90, 70), 1.0)
    cheaper = int((costs < 1).sum())
    assert 0 < cheaper < costs.size / 64 and number_of_pairs(costs) == cheaper
    assert number_of_pairs(costs, 2.0) == cheaper
    assert number_of_pairs(costs, 0.5) == (costs < 0.5).sum()
    assert number_of_pairs(costs[:39]) is None, "few rows"
    assert number_of_pairs(np.where(costs < 1, costs, 9.0)) is None, "a common cost far from the others"
    forbidden = costs.copy()
    forbidden[0, 0] = np.inf
    assert number_of_pairs(forbidden) is None
    assert number_of_pairs(forbidden, 1.0) == (forbidden < 1).sum()
    assert number_of_pairs(np.random.default_rng(0).random((50, 50))) is None
    assert number_of_pairs(np.ones((50, 50))) is None, "no cheaper pair"


def test_integers_without_room_for_twice_their_size_are_no_few_pairs_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEWEST_ROWS_OF_FEW_PAIRS", 40)
    monkeypatch.setattr(limits, "READERS", {"gpu": FakeReader})
    costs = np.full((70, 70), 2, np.int64)
    costs[3, 4], costs[5, 6] = 0, 1
    assert limits._on_gpu(fake(costs), False, None)[1] == 2
    assert limits._on_gpu(fake(costs << 55), False, None)[1] is None


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(1100, 1100), (1010, 1400), (1400, 1010)])
def test_few_pairs_on_a_gpu(shape: tuple[int, int], dtype: str) -> None:
    import cupy

    random = np.random.default_rng(11)
    for each in (0.5, 3.0, 9.0):
        costs = np.full(shape, 200)
        for _ in range(round(2 * each)):
            costs[random.integers(0, shape[0], 600), random.integers(0, shape[1], 600)] = random.integers(20, 200, 600)
        array = costs.astype(dtype) / (np.dtype(dtype).type(7) if dtype.startswith("f") else 1)
        array = array.astype(dtype)
        for maximize in (False, True):
            given = array.max() + array.min() - array if maximize else array  # in the range of the type
            for limit in (None, given.dtype.type(given.mean()).item()):
                on_gpu = cupy.asarray(given)
                found = gmatch.lap(on_gpu, maximize=maximize, cost_limit=limit, certify=True)
                assert found.stats["reason"] == FEW_PAIRS_REASON and found.stats["method"] == "tree-many"
                assert found.stats["phases"] < 40
                host = gmatch.lap(given, maximize=maximize, cost_limit=limit)
                assert found.size == host.size or limit is not None
                out = 0 if limit is None else limit * (sum(shape) - 2 * found.size) / 2
                expected = 0 if limit is None else limit * (sum(shape) - 2 * host.size) / 2
                assert float(found.cost) + out == pytest.approx(float(host.cost) + expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_host_solves_few_pairs_of_a_gpu_beside_a_number_for_not(
    shape: tuple[int, int], maximize: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The matrix lies on a host here."""
    solved = []

    def mended(costs: Any, solution: Any, plan: Any) -> Any:
        solved.append(tiers.solve_few_pairs(costs, plan, solution))
        return solved[-1], None

    monkeypatch.setattr(tiers, "_mended_on_host", mended)
    monkeypatch.setattr(tiers, "mover_to", lambda device: lambda array: array)
    costs = few(3, shape, 1e9).astype(dtype) * np.float32(-1 if maximize else 1)
    found = gmatch.lap(costs, maximize=maximize, method="tree", threads=1, certify=True)
    assert len(solved) == 1
    other = gmatch.lap(costs, maximize=maximize, threads=1)
    one, two = (parts_of(abs(costs), result.row_ind, result.col_ind) for result in (found, other))
    assert one == pytest.approx(two, rel=1e-12)


def test_which_few_pairs_of_a_gpu_a_host_solves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "mover_to", lambda device: lambda array: array)

    def is_solved(costs: Any, deterministic: bool = False, **asked: Any) -> bool:
        plan = Plan(cpu, gmatch.Tree(), deterministic=deterministic)
        return tiers.solve_few_pairs(gmatch.DenseCosts(costs, **asked), plan) is not None

    costs = few(3, (90, 90), 1e9)
    forbidden, with_a_pair = costs.copy(), costs.copy()
    forbidden[0, 0] = np.inf
    with_a_pair[range(90), range(90)] = 0.5
    on_gpu = gmatch.DenseCosts(costs)._with(fake(costs), "gpu")  # as strict as CuPy
    assert tiers.solve_few_pairs(on_gpu, Plan(cpu, gmatch.Tree())) is not None
    assert is_solved(costs)
    assert is_solved(costs.T)
    assert not is_solved(costs, deterministic=True)
    assert not is_solved(with_a_pair), "the number need not be used"
    assert not is_solved(few(3, (90, 90), 1e9, each=4)), "many pairs"
    assert not is_solved(forbidden)
    assert not is_solved(few(3, (90, 90), 1e5)), "a number that stands for nothing"
    assert not is_solved(costs, cost_limit=1e8)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
def test_a_number_for_not_that_must_be_used_on_a_gpu() -> None:
    costs = few(3, (1200, 1300), 1e9)
    found = gmatch.lap(costs, device="gpu", certify=True)
    assert found.exact is not None
    assert parts_of(costs, found.row_ind, found.col_ind) == pytest.approx(
        parts_of(costs, *linear_sum_assignment(costs)), rel=1e-12
    )


@pytest.mark.skipif(not GPU, reason="needs a GPU")
def test_columns_first_and_deterministic_answers_on_a_gpu() -> None:
    import cupy

    costs = few(5, (1200, 1200), 1.0, each=2, ties=True)
    on_gpu = cupy.asfortranarray(cupy.asarray(costs))
    found = gmatch.lap(on_gpu, deterministic=True, certify=True)
    assert found.col_ind.get().tolist() == gmatch.lap(costs, deterministic=True).col_ind.tolist()
    assert gmatch.lap(on_gpu.T, certify=True).cost == pytest.approx(gmatch.lap(costs).cost)
