"""`transport` against linear programming, its proof against wrong answers, and bad input."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import random_costs
from scipy.optimize import linprog

import gmatch


def by_linear_programming(cost: np.ndarray, supply: Any, demand: Any, maximize: bool) -> float | None:
    """The least cost; None if there is no way. All vertices of the polytope are whole."""
    sign = -1 if maximize else 1
    values = sign * cost.astype(float)
    rows, columns = cost.shape
    all_of_rows = supply.sum() <= demand.sum()
    of_rows = np.kron(np.eye(rows), np.ones(columns))
    of_columns = np.kron(np.ones(rows), np.eye(columns))
    equal, bounded = (of_rows, of_columns) if all_of_rows else (of_columns, of_rows)
    all_of, at_most = (supply, demand) if all_of_rows else (demand, supply)
    bounds = [(0, None if np.isfinite(value) else 0) for value in values.ravel()]
    finite = np.where(np.isfinite(values), values, 0).ravel()
    found = linprog(finite, A_ub=bounded, b_ub=at_most, A_eq=equal, b_eq=all_of, bounds=bounds)
    return None if found.status == 2 else sign * found.fun


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_against_linear_programming(dtype: str, maximize: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        cost = random_costs(rng, dtype, maximize)
        if not cost.size:
            continue
        supply, demand = (rng.integers(0, 4, length) for length in cost.shape)
        expected = by_linear_programming(cost, supply, demand, maximize)
        places = (cost != (-np.inf if maximize else np.inf)).nonzero()
        sparse = sp.coo_array((cost[places], places), shape=cost.shape)
        for form in (cost, np.asfortranarray(cost), sparse):
            if expected is None:
                with pytest.raises(gmatch.Infeasible) as raised:
                    gmatch.transport(form, supply, demand, maximize=maximize)
                check_witness(cost, supply, demand, raised.value)
                continue
            found = gmatch.transport(form, supply, demand, maximize=maximize, certify=True)
            assert found.cost == pytest.approx(expected, abs=1e-9)
            assert isinstance(found.cost, float if cost.dtype.kind == "f" else int)
            assert found.flow.shape == cost.shape and found.flow.sum() == min(supply.sum(), demand.sum())


def check_witness(cost: np.ndarray, supply: Any, demand: Any, error: gmatch.Infeasible) -> None:
    """Checks that the witness's units of one side may only go with its units of the other side, which are fewer."""
    units, values = (supply, demand), np.isfinite(cost)
    sides = [error.rows, error.columns]
    if supply.sum() > demand.sum():
        units, sides, values = units[::-1], sides[::-1], values.T
    few = np.flatnonzero(values[sides[0]][:, units[1] > 0].any(axis=0)) if len(sides[0]) else []
    assert set(np.flatnonzero(units[1] > 0)[few]) <= set(sides[1])
    assert units[0][sides[0]].sum() > units[1][sides[1]].sum()


def test_of_ones_it_is_an_assignment() -> None:
    cost = np.random.default_rng(2).random((20, 30))
    found = gmatch.transport(cost, np.ones(20, int), np.ones(30, int), certify=True)
    assert found.cost == pytest.approx(gmatch.lap(cost).cost)


def test_amounts_with_a_common_divisor() -> None:
    """A unit is the greatest common divisor of all amounts, so large amounts need not be many units."""
    rng = np.random.default_rng(3)
    for dtype in ("int64", "float64"):
        cost = rng.integers(-9, 10, (4, 5)).astype(dtype)
        supply, demand = rng.integers(0, 4, 4), rng.integers(0, 4, 5)
        few = gmatch.transport(cost, supply, demand)
        for unit in (3, 10**6, 2**58):
            many = gmatch.transport(cost, supply * unit, demand * unit, certify=True)
            assert many.amounts.tolist() == (few.amounts * unit).tolist() and many.cost == few.cost * unit
            sparse = gmatch.transport(sp.csr_array(cost + 20), supply * unit, demand * unit, certify=True)
            assert sparse.cost == (few.cost + 20 * few.amounts.sum().item()) * unit
    assert gmatch.transport(cost, [0] * 4, [0] * 5, certify=True).cost == 0
    with pytest.raises(gmatch.Infeasible, match="600 units of the error's 1 rows may only go with the 0 units"):
        gmatch.transport(np.array([[np.inf]]), [600], [600])


WRONG = {
    "units are brought": lambda r: {"amounts": r.amounts + 1},
    "more than its": lambda r: {"amounts": np.array([3, 1, 1])},
    "leave a gap": lambda r: {"u": r.u - 1},
    "the cost is": lambda r: {"cost": r.cost + 1},
    "must differ": lambda r: {name: getattr(r, name)[::-1] for name in ("rows", "columns", "amounts")},
    "1 or more": lambda r: {"amounts": r.amounts * 0},
    "another maximize": lambda r: {"maximize": True},
    "too large": lambda r: {"v": r.v + 2**62},
    "v must hold": lambda r: {"v": r.v * 1.0},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_proof_is_refused(message: str) -> None:
    problem = gmatch.DenseCosts([[4, 1, 3], [2, 6, 5]]), [3, 2], [2, 2, 1]
    right = gmatch.transport(*problem)
    assert gmatch.verify(problem, right).gap == 0 and right.amounts.tolist() == [2, 1, 2]
    with pytest.raises(gmatch.CertificateError, match=message):
        gmatch.verify(problem, dataclasses.replace(right, **WRONG[message](right)))


def test_routes_that_are_not_allowed_are_refused() -> None:
    right = gmatch.transport([[1.0, 2.0]], [1], [1, 0])
    with pytest.raises(gmatch.CertificateError, match="not allowed"):
        gmatch.verify((np.array([[np.inf, 2.0]]), [1], [1, 0]), right)


def test_bad_input() -> None:
    with pytest.raises(gmatch.InvalidInput, match="supply must be 2 whole numbers"):
        gmatch.transport(np.eye(2), [0.5, 1.5], [1, 1])
    with pytest.raises(gmatch.InvalidInput, match=r"demand\[1\] is -1"):
        gmatch.transport(np.eye(2), [1, 0], [2, -1])
    with pytest.raises(gmatch.InvalidInput, match="too many units"):
        gmatch.transport(np.eye(2), [10**5, 1], [10**5, 1])
    with pytest.raises(gmatch.InvalidInput, match="too many units .*: a side has 4611686018427387903"):
        gmatch.transport(np.eye(2), [2**62 - 2, 1], [1, 1])
    with pytest.raises(gmatch.InvalidInput, match="supply must sum up to less than"):
        gmatch.transport(np.eye(2), [2**62, 2**62], [1, 1])
    with pytest.raises(gmatch.InvalidInput, match="too many units"):
        gmatch.transport(sp.eye_array(2), [10**5, 1], [10**5, 1])
    with pytest.raises(gmatch.InvalidInput, match="without a cost_limit"):
        gmatch.transport(gmatch.DenseCosts([[1]], cost_limit=3), [1], [1])


@pytest.mark.parametrize("sparse", [False, True])
def test_units_are_repeated_in_blocks_of_rows(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is answered between blocks: one step for all units took seconds."""
    rng = np.random.default_rng(5)
    for case in range(30):
        shape = tuple(rng.integers(1, 7, 2).tolist())
        cost = rng.integers(1, 50, shape) if case % 2 else rng.random(shape)
        supply, demand = (rng.integers(0, 4, length) for length in shape)
        given = sp.csr_array(cost) if sparse else cost
        expected = gmatch.transport(given, supply, demand, certify=True)
        sizes = []

        def in_small_blocks(of_units: tuple[int, int], device: Any, sizes: list[Any] = sizes) -> list[slice]:
            sizes.append(of_units)
            return [slice(row, row + 1) for row in range(of_units[0])]

        with monkeypatch.context() as patched:
            patched.setattr("gmatch.toolkit.transport.blocks_of", in_small_blocks)
            found = gmatch.transport(given, supply, demand, certify=True)
        assert sizes and sizes[0][0] == supply.sum()
        assert found.cost == expected.cost and (found.flow != expected.flow).nnz == 0
