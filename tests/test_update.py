"""`Assignment.update` against solving from nothing, over chains of random changes; its proof; and bad input."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import DTYPES

import gmatch


def random_entries(rng: np.random.Generator, dtype: str, forbidding: float | None, size: Any) -> np.ndarray:
    """Few values, so that there are ties. Some are replaced by the number that forbids a pair."""
    unsigned = np.dtype(dtype).kind in "bu"
    entries = rng.integers(0 if unsigned else -3, 2 if dtype == "bool" else 6, size).astype(dtype)
    if np.dtype(dtype).kind == "f":
        entries += rng.choice([0, 0.5, 0.25], size).astype(dtype)
        if forbidding is not None:
            entries[rng.random(size) < 0.25] = forbidding
    return entries


def changed(rng: np.random.Generator, cost: np.ndarray, fresh: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """Drops, adds and replaces some rows and columns. Returns the costs, and the arguments of `update`."""
    numbers: dict[str, Any] = {}
    for axis, (drop, name) in enumerate((("drop_rows", "rows"), ("drop_columns", "columns"))):
        length = cost.shape[axis]
        gone = rng.choice(length, min(length, rng.choice([0, 0, 0, 1, 2])), replace=False)
        come = int(rng.choice([0, 0, 0, 1, 2]))
        cost = np.delete(cost, gone, axis)
        shape = list(cost.shape)
        shape[axis] = come
        cost = np.concatenate([cost, fresh(shape).astype(cost.dtype)], axis)
        length = cost.shape[axis]
        new = rng.choice(length, min(length, rng.choice([0, 1, 1, 2])), replace=False)
        block = [slice(None), slice(None)]
        block[axis] = new
        cost[tuple(block)] = fresh(cost[tuple(block)].shape)
        numbers |= {drop: gone, name: new.tolist()}
    return cost, numbers


def price(assignment: gmatch.Assignment) -> float:
    """The cost of an assignment; with a limit, plus the limit for each free vertex of the smaller side."""
    fewer = min(len(assignment.row_match), len(assignment.col_match))
    return assignment.cost + (assignment.cost_limit or 0) * (fewer - assignment.size)


def walk(rng: np.random.Generator, cost: np.ndarray, fresh: Any, solve: Any, form: Any, steps: int) -> list[str]:
    """Updates an assignment again and again, and solves each time from nothing; returns the methods that did it."""
    former, methods, numbers = None, [], {}
    for _ in range(steps):
        try:
            expected = solve(form(cost))
        except gmatch.Infeasible:
            if former is not None:
                with pytest.raises(gmatch.Infeasible):
                    former.update(form(cost), **numbers)
            former = None
        else:
            found = expected if former is None else former.update(form(cost), certify=True, **numbers)
            assert price(found) == price(expected)
            for name in ("row_match", "col_match", "u", "v", "pair_costs"):
                now, then = getattr(found, name), getattr(expected, name)
                assert now.dtype == then.dtype and (name == "pair_costs" or now.shape == then.shape)
            if former is not None:
                methods.append(found.stats["method"])
            former = found
        cost, numbers = changed(rng, cost, fresh)
    return methods


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_small_changes_of_dense_costs(dtype: str, maximize: bool, limited: bool) -> None:
    rng = np.random.default_rng([DTYPES.index(dtype), maximize, limited])
    methods = []
    for case in range(9):
        forbidding = (None, -np.inf if maximize else np.inf)[case % 2]
        options: dict[str, Any] = {"maximize": maximize, "cost_limit": int(rng.integers(-2, 6)) if limited else None}
        fresh = partial(random_entries, rng, dtype, forbidding)
        checked = case % 3 == 2
        form = partial(gmatch.DenseCosts, **options) if checked else (np.ascontiguousarray, np.asfortranarray)[case % 3]
        solve = gmatch.lap if checked else partial(gmatch.lap, **options)
        methods += walk(rng, fresh(rng.integers(1, 7, 2)), fresh, solve, form, steps=8)
    assert methods.count("update") > len(methods) / 2


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_small_changes_of_sparse_costs(dtype: str, limit: int | None) -> None:
    rng = np.random.default_rng(1)
    fresh = partial(random_entries, rng, dtype, None)
    methods = []

    def stored(cost: np.ndarray, kind: Any) -> Any:
        places = (cost != 5).nonzero()  # 5 stands for pairs that are not allowed
        return kind((cost[places], places), shape=cost.shape)

    for case in range(30):
        shape = rng.integers(1, 7, 2) if case % 3 == 0 else np.repeat(rng.integers(1, 7), 2)
        form = partial(stored, kind=(sp.csr_array, sp.csc_array)[case % 2])
        solve = partial(gmatch.lap, cost_limit=limit, maximize=case % 4 == 0)
        methods += walk(rng, fresh(shape), fresh, solve, form, steps=6)
    assert ("update" in methods) == (limit is None)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sparse_costs_of_every_type(dtype: str, index: Any) -> None:
    rng = np.random.default_rng(2)
    size = 50
    rows, columns = np.repeat(np.arange(size), 4), rng.integers(0, size, 4 * size)
    columns[::4] = rng.permutation(size)
    matrix = sp.coo_array((rng.integers(1, 50, 4 * size), (rows, columns)), shape=(size, size)).tocsr().astype(dtype)
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    assignment = gmatch.lap(matrix)
    for row in range(0, size, 7):
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        matrix.data[entries] = rng.integers(1, 50, entries.stop - entries.start)
        assignment = assignment.update(matrix, rows=[row], certify=True)
        assert assignment.stats["method"] == "update" and assignment.cost == gmatch.lap(matrix).cost


@pytest.mark.parametrize("limit", [None, 0.02])
@pytest.mark.parametrize("shape", [(70, 70), (60, 90), (90, 60)])
def test_larger_ones(shape: tuple[int, int], limit: float | None) -> None:
    rng = np.random.default_rng(2)
    cost = rng.random(shape)
    assignment = gmatch.lap(cost, cost_limit=limit)
    for _ in range(20):
        row, column = rng.integers(shape[0]), rng.integers(shape[1])
        cost[row], cost[:, column] = rng.random(shape[1]), rng.random(shape[0])
        assignment = assignment.update(cost, rows=[row], columns=[column], certify=True)
        assert assignment.stats["method"] == "update"
        assert price(assignment) == pytest.approx(price(gmatch.lap(cost, cost_limit=limit)), rel=1e-12)


def test_what_stays_is_not_read() -> None:
    """A path meets few rows if columns may stay free."""
    rng = np.random.default_rng(3)
    cost = rng.random((200, 400))
    assignment = gmatch.lap(cost)
    cost[7] = rng.random(400)
    assignment = assignment.update(cost, rows=[7])
    assert 1 <= assignment.stats["rows_scanned"] < 100
    same = assignment.update(cost)
    assert same.stats["rows_scanned"] == 0 and (same.row_match == assignment.row_match).all()


def test_errors_add_up_little() -> None:
    rng = np.random.default_rng(4)
    cost = rng.random((30, 30))
    assignment = gmatch.lap(cost)
    for number in range(2000):
        cost[number % 30] = rng.random(30)
        assignment = assignment.update(cost, rows=[number % 30])
    gmatch.verify(cost, assignment)


def test_what_is_solved_anew() -> None:
    """Integers too large for a path, duals that hide costs, and a limit between integers."""
    large = np.array([[0, 2**56], [2**56, 5]])
    for cost, limit in ((large, None), (np.array([[1, 9], [9, 3]]), 2.5)):
        assignment = gmatch.lap(cost, cost_limit=limit)
        cost[1, 1] += 1
        found = assignment.update(cost, rows=[1], certify=True)
        assert found.stats["method"] != "update" and found.cost == gmatch.lap(cost, cost_limit=limit).cost
    cost = np.random.default_rng(5).random((6, 6))
    assignment = gmatch.lap(cost)
    cost[:2, 1:] = 1e18  # and so two rows want the same column
    found = assignment.update(cost, rows=[0, 1], certify=True)
    assert found.exact is not None and found.cost == gmatch.lap(cost).cost


def test_an_entry_that_changed_unnamed_is_found() -> None:
    cost = np.array([[1.0, 5.0], [5.0, 1.0]])
    assignment = gmatch.lap(cost)
    cost[0, 0] = 20
    with pytest.raises(gmatch.CertificateError):
        assignment.update(cost, certify=True)


def test_nan_that_forbids() -> None:
    cost = np.array([[1.0, np.nan], [2.0, 3.0]])
    assignment = gmatch.lap(cost, forbid_nan=True)
    cost[1] = 3.0, np.nan
    with pytest.raises(gmatch.Infeasible):
        assignment.update(cost, rows=[1])
    cost[1] = np.nan, 4.0
    found = assignment.update(cost, rows=[1], certify=True)
    assert found.cost == 5 and found.forbid_nan


def test_weights_of_a_matching() -> None:
    weights = np.array([[3, 1], [4, 1]])
    matching = gmatch.max_weight_matching(weights)
    weights = np.array([[3, 1, -2], [4, 1, -2], [-1, 7, -2]])
    found = matching.update(weights, certify=True)
    assert found.cost == 11 and found.status == "limited"


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    cost = torch.tensor([[4.0, 1.0], [2.0, 0.0]])
    assignment = gmatch.lap(cost)
    cost[0] = torch.tensor([0.0, 9.0])
    found = assignment.update(cost, rows=[0], certify=True)
    assert isinstance(found.row_match, torch.Tensor) and found.cost == 0


COST = np.array([[4.0, 1.0], [2.0, 0.0]])
BAD: dict[str, tuple[Any, dict[str, Any]]] = {
    r"rows must be numbers from 0 to 1, of cost; got 2": (COST, {"rows": [2]}),
    r"columns must be numbers from 0 to 1, of cost; got -1": (COST, {"columns": [-1]}),
    r"drop_rows must be numbers from 0 to 1, of the assignment; got 5": (COST[:1], {"drop_rows": [5]}),
    r"rows must be a sequence of integers": (COST, {"rows": [0.5]}),
    r"columns must be a sequence of integers": (COST, {"columns": [[0]]}),
    r"drop_columns must be a sequence of integers": (COST, {"drop_columns": 1}),
    r"at least the 2 rows that are kept; it has 1": (COST[:1], {}),
    r"must not hold nan; entry \(1, 0\) does; if NaN": (np.array([[4.0, 1.0], [np.nan, 0.0]]), {"rows": [1]}),
    r"must not hold -inf; entry \(0, 1\) does \(\+inf forbids": (np.array([[4, -np.inf], [2, 0]]), {"columns": [1]}),
    r"must hold floats, as before; got int64": (np.array([[4, 1], [2, 0]]), {}),
    r"expected a matrix": (COST[0], {}),
    r"costs are for maximize=True": (gmatch.DenseCosts(COST, maximize=True), {}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message: str) -> None:
    cost, numbers = BAD[message]
    with pytest.raises(gmatch.InvalidInput, match=message):
        gmatch.lap(COST).update(cost, **numbers)


def test_assignments_that_cannot_be_updated() -> None:
    partial_one = gmatch.lap([[1.0, np.inf], [2.0, np.inf]], infeasible="partial")
    for former in (partial_one, gmatch.max_weight_matching(COST, pairs=1)):
        with pytest.raises(gmatch.InvalidInput, match="goes on from an assignment that is optimal or limited"):
            former.update(COST)


def test_duals_in_parts_are_solved_anew() -> None:
    """A big number may come and go in a chain of updates."""
    cost = np.random.default_rng(6).random((9, 9))
    for form in (np.asarray, sp.csr_array):
        assignment = gmatch.lap(form(cost))
        for big in (0.5, 1e18, 1e18, 0.5, 0.25):
            cost[:2, 1:] = big * np.arange(1, 9)
            assignment = assignment.update(form(cost), rows=[0, 1], certify=True)
            assert (assignment.exact is not None) == (big > 1)
            assert assignment.cost == pytest.approx(gmatch.lap(cost).cost)
    assert assignment.stats["method"] == "update"


def test_from_and_to_nothing() -> None:
    nothing = gmatch.lap(np.empty((0, 3)))
    one = nothing.update(np.array([[3.0, 1.0, 2.0]]), certify=True)
    assert one.col_ind.tolist() == [1]
    assert one.update(np.empty((0, 3)), drop_rows=[0], certify=True).size == 0
    assert one.update(np.empty((1, 0)), drop_columns=range(3), certify=True).size == 0


def test_a_result_whose_arrays_were_changed() -> None:
    """Wrong pairs and duals may lead to a wrong answer, but it is not proven, and nothing crashes."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        cost = rng.random((6, 7))
        assignment = gmatch.lap(cost)
        assignment.row_match[:] = rng.integers(-1, 7, 6)
        assignment.v[rng.integers(7)] = rng.choice([np.nan, np.inf, -3.0])
        cost[2] = rng.random(7)
        try:
            found = assignment.update(cost, rows=[2])
            gmatch.verify(cost, found)
        except (gmatch.CertificateError, gmatch.Infeasible):
            continue
        assert found.cost == gmatch.lap(cost).cost


def test_costs_of_another_magnitude() -> None:
    """Kept duals of larger costs prove nothing about smaller costs, so all is solved anew."""
    one = gmatch.lap(np.array([[0.8], [0.5], [0.9]]))
    one = one.update(np.array([[1.0]]), rows=[0], drop_rows=[0, 2], certify=True)
    assert one.update(np.array([[0.0]]), rows=[0], certify=True).cost == 0
    for seed in range(50):
        random = np.random.default_rng(seed)
        found = gmatch.lap(random.random((4, 4)))
        for power in (-9, 0, -3):
            cost = random.random((4, 4)) * 10.0**power
            found = found.update(cost, rows=range(4), certify=True)
            assert found.cost == pytest.approx(gmatch.lap(cost).cost, rel=1e-12)


def test_a_limit_that_no_pair_is_above() -> None:
    former = gmatch.lap(np.array([[-4]]), maximize=True, cost_limit=1)
    assert former.size == 0
    assert former.update(np.array([[1], [1]]), rows=[0, 1], certify=True).cost == 1
