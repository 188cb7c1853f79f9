"""Batches on a GPU that the host reads when somebody asks: on a real GPU, or on arrays that pass for arrays of one."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from conftest import GPU
from fake_cupy import fake
from fake_gpus import pretend_one
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch import cuda, tensors
from gmatch.assignment import batch as solver

RNG = np.random.default_rng(5)
COSTS = RNG.random((6, 5, 7))
ARRAYS = "row_match", "col_match", "u", "v", "pair_costs"


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    return cuda.cupy() if GPU else pretend_one(monkeypatch.setattr)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the host has read so far."""
    seen, completed = [], solver._completed

    def noted(*arguments: Any, **options: Any) -> Any:
        seen.append(arguments)
        return completed(*arguments, **options)

    monkeypatch.setattr(solver, "_completed", noted)
    return seen


def spoiled(how: str) -> Any:
    """Costs of which problem 2 cannot be solved, or not by a GPU alone."""
    costs = COSTS.copy()
    if how == "nan":
        costs[2, 1, 3] = math.nan
    elif how == "infinite":
        costs[2, 1, 3] = -math.inf
    elif how == "infeasible":
        costs[2, 1] = math.inf
    elif how == "overflow":
        costs[2] *= 2e307
    elif how == "big":
        costs[2, 1] = 1e307
    elif how == "hidden":
        costs[2, 1] = 1e15
    return costs


def test_arrays_are_there_before_the_host_reads(cupy: Any, reads: list[Any]) -> None:
    for options in ({}, {"maximize": True}, {"cost_limit": 0.1}, {"sizes": [(5, k + 1) for k in range(6)]}):
        expected = gmatch.lap(COSTS, **options)
        reads.clear()
        batch = gmatch.lap(cupy.asarray(COSTS), **options)
        found = [getattr(batch, name).get() for name in ARRAYS]
        assert len(batch) == 6 and not reads
        for name, array in zip(ARRAYS, found, strict=True):
            if name not in "uv":
                assert np.array_equal(array, getattr(expected, name)), name
        assert batch.status == expected.status and len(reads) == 1
        assert batch.size.get().tolist() == expected.size.tolist()
        assert batch.cost.get().tolist() == pytest.approx(expected.cost.tolist())
        assert [one.pairs for one in batch] == [one.pairs for one in expected]
        assert batch[-1].stats["method"] == "jv" and len(reads) == 1
        gmatch.verify(cupy.asarray(COSTS) if "sizes" not in options else [c[:, : k + 1] for k, c in enumerate(COSTS)],
                      batch)  # fmt: skip


@pytest.mark.parametrize("options", [{"certify": True}, {"deterministic": True}, {"infeasible": "partial"}], ids=str)
def test_options_that_need_the_host(options: dict[str, Any], cupy: Any, reads: list[Any]) -> None:
    batch = gmatch.lap(cupy.asarray(COSTS), **options)
    assert len(reads) == 1 and batch.cost.get().tolist() == pytest.approx(gmatch.lap(COSTS).cost.tolist())


@pytest.mark.parametrize(
    "how, error, message",
    [
        ("nan", gmatch.InvalidInput, "cost must not hold NaN; entry .1, 3. does"),
        ("infinite", gmatch.InvalidInput, "cost must not hold -inf"),
        ("infeasible", gmatch.Infeasible, "row"),
        ("overflow", gmatch.InvalidInput, "sums of these costs could overflow"),
    ],
)
def test_what_is_wrong_is_told(how: str, error: Any, message: str, cupy: Any) -> None:
    """In the arrays by -1 and NaN, and by an error when somebody asks for more."""
    there = cupy.asarray(spoiled(how))
    batch, expected = gmatch.lap(there), gmatch.lap(COSTS)
    assert (batch.row_match[2].get() == -1).all() and (batch.col_match[2].get() == -1).all()
    assert np.isnan(batch.pair_costs[2].get()).all() and not batch.u[2].get().any()
    others = [0, 1, 3, 4, 5]
    assert np.array_equal(batch.row_match.get()[others], expected.row_match[others])
    asks = (
        lambda: batch.status, lambda: batch.stats, lambda: batch.cost, lambda: batch.size, lambda: batch[0],
        lambda: list(batch), lambda: gmatch.verify(there, batch), lambda: pickle.dumps(batch),
    )  # fmt: skip
    for ask in asks:
        with pytest.raises(error, match=f"problem 2: .*{message}"):
            ask()
    with pytest.raises(error, match=message):
        gmatch.lap(there, certify=True)


@pytest.mark.parametrize("how", ["hidden", "big"])
def test_duals_that_hide_costs(how: str, cupy: Any) -> None:
    """The host solves such a problem when it reads, and puts it into the arrays."""
    costs = spoiled(how)
    there, expected = cupy.asarray(costs), gmatch.lap(costs)
    batch = gmatch.lap(there)
    row_match = batch.row_match
    assert (row_match[2].get() == -1).all()
    assert batch.status == expected.status and list(batch.exact) == [2]
    assert np.array_equal(row_match.get(), expected.row_match)
    assert batch.cost.get().tolist() == pytest.approx(expected.cost.tolist())
    gmatch.verify(there, batch)


def test_pairs_that_cost_the_most_are_told_by_the_pairs(cupy: Any) -> None:
    """The larger of two numbers for "not" stands in entries that no pair takes, the smaller in most pairs."""
    rng, size = np.random.default_rng(1), (20, 16, 16)
    whole = np.where(rng.random(size) < 0.6, 0, rng.integers(0, 2**20, size))
    of_all = 1 + 3 * (rng.random(size) < 0.5)
    times = np.where(rng.random(size) < 0.5, of_all, 0)
    times[:, :8] = of_all[:, :8]
    whole[times > 0] = 0
    batch = gmatch.lap(cupy.asarray(whole / 2.0**20 + times * 1e17))
    assert set(batch.status) == {"optimal"}  # so that the host solves what the GPU leaves
    for problem, row_match in enumerate(batch.row_match.get()):
        right = linear_sum_assignment(whole[problem] + times[problem] * (17 << 21))
        found = np.arange(16), row_match
        for part in (times[problem], whole[problem]):
            assert part[found].sum() == part[right].sum()


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_integers(dtype: str, cupy: Any) -> None:
    costs = RNG.integers(-9, 99, (4, 6, 5)).astype(dtype)
    for options in ({}, {"maximize": True}, {"cost_limit": 7}, {"cost_limit": 7.5}):
        batch, expected = gmatch.lap(cupy.asarray(costs), **options), gmatch.lap(costs, **options)
        assert batch.cost.get().tolist() == expected.cost.tolist() and batch.status == expected.status
    if dtype == "int64":
        costs[1] *= 2**53
        with pytest.raises(gmatch.InvalidInput, match="problem 1: sums of these costs could overflow int64"):
            print(gmatch.lap(cupy.asarray(costs)).cost)


def test_sequences(cupy: Any, reads: list[Any]) -> None:
    matrices = [RNG.random((5, k)) for k in (3, 0, 7, 5)]
    batch = gmatch.lap([cupy.asarray(matrix) for matrix in matrices])
    assert batch.row_match.shape == (4, 5) and not reads
    assert [one.pairs for one in batch] == [one.pairs for one in gmatch.lap(matrices)]


def test_a_batch_of_its_own_is_checked_at_once(cupy: Any) -> None:
    with pytest.raises(gmatch.InvalidInput, match="problem 2: cost must not hold NaN"):
        gmatch.CostBatch(cupy.asarray(spoiled("nan")))
    batch = gmatch.CostBatch(cupy.asarray(COSTS))
    assert gmatch.lap(batch).cost.get().tolist() == pytest.approx(gmatch.lap(COSTS).cost.tolist())


@pytest.fixture
def torch_there(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch, whose tensors are taken for tensors of the GPU, or are on it."""
    torch = pytest.importorskip("torch")
    if GPU and torch.cuda.is_available():
        monkeypatch.setattr(torch, "tensor", lambda *given, make=torch.tensor, **o: make(*given, **o, device="cuda"))
    else:
        monkeypatch.setattr(tensors, "as_arrays", lambda given, as_arrays=tensors.as_arrays: _there(as_arrays(given)))
    return torch


def _there(arrays: Any) -> Any:
    return tensors.Matrices(map(fake, arrays)) if isinstance(arrays, list) else fake(arrays)


@pytest.mark.parametrize("with_gradient", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_tensors_of_problems_that_are_left(
    with_gradient: bool, as_list: bool, torch_there: Any, reads: list[Any]
) -> None:
    costs = spoiled("hidden")
    given, expected = torch_there.tensor(costs, requires_grad=with_gradient), gmatch.lap(costs)
    reads.clear()
    batch = gmatch.lap(list(given) if as_list else given)
    before = batch.row_match
    assert before[2].tolist() == [-1] * 5 and batch.size.tolist() == [5, 5, 0, 5, 5, 5] and not reads
    assert batch.cost.isnan().tolist() == [k == 2 for k in range(6)] and batch.cost.requires_grad == with_gradient
    assert batch.status == expected.status and len(reads) == 1
    assert batch.row_match.tolist() == expected.row_match.tolist() and before[2].tolist() == [-1] * 5
    assert batch.cost.tolist() == pytest.approx(expected.cost.tolist()) and batch.size.tolist() == [5] * 6
    assert [one.pairs for one in batch] == [one.pairs for one in expected]
    if with_gradient:
        batch.cost.sum().backward()
        assert given.grad.sum().item() == 30
    # What takes all fields takes them after the host has looked.
    gmatch.verify(given, gmatch.lap(given))
    assert gmatch.lap(given).__getstate__()["row_match"].tolist() == expected.row_match.tolist()


def test_costs_that_changed_are_not_looked_at(torch_there: Any) -> None:
    for how in ("hidden", "nan"):
        given = torch_there.tensor(spoiled(how))
        batch, listed = gmatch.lap(given), gmatch.lap(list(given))
        given[0, 0, 0] += 1
        with pytest.raises(gmatch.InvalidInput, match="cost was changed in place"):
            print(batch.status)
        if how == "hidden":
            assert listed.status == ("optimal",) * 6  # it has a copy
    given = torch_there.tensor(COSTS)
    batch = gmatch.lap(given)
    given += 1
    assert batch.status == ("optimal",) * 6


def test_what_is_wrong_with_tensors(torch_there: Any) -> None:
    batch = gmatch.lap(torch_there.tensor(spoiled("infeasible")))
    assert batch.cost.isnan().sum() == 1
    for ask in (lambda: batch.status, lambda: batch[0].pairs, lambda: list(batch[1]), lambda: pickle.dumps(batch)):
        with pytest.raises(gmatch.Infeasible, match="problem 2"):
            ask()
    # Whether sums of such costs could overflow depends on the draw: other seeds leave large numbers that no pair needs.
    ints = torch_there.tensor(np.random.default_rng(2).integers(0, 9, (3, 4, 5)) * 2**59)
    with pytest.raises(gmatch.InvalidInput, match="could overflow"):
        print(gmatch.lap(ints).cost)
