"""`ties="scipy"`: the very indices of SciPy's function, whatever the costs, with our duals as their proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch.assignment import as_scipy

RNG = np.random.default_rng(6)
SHAPES = [(1, 1), (4, 4), (5, 9), (9, 5), (30, 30), (25, 60), (60, 25)]


def costs_of(kind: str, shape: tuple[int, int]) -> Any:
    if kind == "few values":
        return RNG.integers(0, 3, shape)
    if kind == "floats that nearly tie":
        return RNG.integers(0, 3, shape) * 0.1 + RNG.integers(0, 2, shape) * 1e-16
    if kind == "equal":
        return np.full(shape, 7.0)
    if kind == "forbidden":
        cost = np.where(RNG.random(shape) < 0.3, np.inf, RNG.integers(0, 4, shape))
        np.fill_diagonal(cost, 3)
        return cost
    return RNG.random(shape).astype(np.float32)


KINDS = ["few values", "floats that nearly tie", "equal", "forbidden", "floats"]


def check(cost: Any, found: gmatch.Assignment, maximize: bool) -> None:
    rows, columns = linear_sum_assignment(cost, maximize)
    assert found.row_ind.tolist() == rows.tolist() and found.col_ind.tolist() == columns.tolist()
    assert np.array_equal(found.pair_costs, cost[rows, columns])
    assert all(found.col_match[column] == row for row, column in zip(rows, columns, strict=True))
    assert (found.col_match >= 0).sum() == len(rows)
    gmatch.verify(cost, found)


@pytest.fixture(params=[0, as_scipy.FEW_ENTRIES], ids=["small ones are looked at", "small ones are SciPy's"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(as_scipy, "FEW_ENTRIES", request.param)
    return int(request.param)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_one_problem(kind: str, maximize: bool, few: int, device: str) -> None:
    for shape in SHAPES:
        for method in ("auto", "tree"):
            cost = costs_of(kind, shape)
            if maximize:
                cost = -cost
            found = gmatch.lap(cost, maximize=maximize, ties="scipy", method=method, device=device, certify=True)
            check(cost, found, maximize)
    if kind == "floats":
        assert found.stats["by_scipy"] == (few > 0)  # few = 0: the answer is the only optimum
    if kind == "equal":
        assert found.stats["by_scipy"]


@pytest.mark.parametrize("kind", KINDS)
def test_batches(kind: str, few: int) -> None:
    costs = [costs_of(kind, shape) for shape in SHAPES] + [np.zeros((0, 3), np.float32)]
    for one, cost in zip(gmatch.lap(costs, ties="scipy", certify=True), costs, strict=True):
        check(cost, one, False)
    array = np.stack([costs_of(kind, (6, 8)) for _ in range(5)])
    batch = gmatch.lap(array, ties="scipy", certify=True)
    for one, cost in zip(batch, array, strict=True):
        check(cost, one, False)
    assert batch.stats["by_scipy"].shape == (5,) and (kind != "equal" or batch.stats["by_scipy"].all())
    mask = np.ones(array.shape, bool)
    mask[:, 2], mask[:, :, 3] = False, False
    kept = array[:, [0, 1, 3, 4, 5]][:, :, [0, 1, 2, 4, 5, 6, 7]]
    for one, cost in zip(gmatch.lap(array, mask=mask, ties="scipy", certify=True), kept, strict=True):
        check(cost, one, False)


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    costs = torch.tensor(RNG.integers(0, 3, (4, 7, 9)), dtype=torch.float32, requires_grad=True)
    batch = gmatch.lap(list(costs), ties="scipy")
    for (rows, columns), cost in zip(batch, costs.detach().numpy(), strict=True):
        expected = linear_sum_assignment(cost)
        assert rows.tolist() == expected[0].tolist() and columns.tolist() == expected[1].tolist()
    batch.cost.sum().backward()
    assert costs.grad.sum() == 28


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "first"}, {"ties": True}, {"ties": "scipy", "cost_limit": 3}, {"ties": "scipy", "deterministic": True},
        {"ties": "scipy", "infeasible": "partial"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(gmatch.InvalidInput, match="ties"):
        gmatch.lap(np.eye(3), **options)
    with pytest.raises(gmatch.InvalidInput, match="ties='scipy' is for dense costs"):
        gmatch.lap(sp.eye_array(3).tocsr(), ties="scipy")
    large = np.array([[2**60, 2**60], [2**60, 2**60]])
    with pytest.raises(gmatch.InvalidInput, match="beyond 2\\*\\*53"):
        gmatch.lap(large, ties="scipy")
