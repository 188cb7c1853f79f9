"""Small sparse calls take a short way, and larger ones of many entries become dense; the answers do not differ."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import gmatch
from gmatch import InvalidInput, SparseCosts, _native
from gmatch.methods import LAID_OUT, ONE_CORE_REASON
from gmatch.small import lap_small_sparse

KINDS = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix)
FIELDS = ("row_match", "col_match", "u", "v", "pair_costs")
SHAPES = ((6, 6), (9, 4), (3, 11), (25, 25), (30, 70), (90, 40), (120, 120), (400, 430), (700, 300))


def short(matrix: Any, maximize: bool = False) -> Any:
    """The short way alone: None where it gives up."""
    return lap_small_sparse[type(matrix)][maximize].solve(matrix)


def problem(rng: np.random.Generator, shape: tuple[int, int], density: float, dtype: str) -> Any:
    """Costs, and which of them are stored: an assignment among them."""
    stored = rng.random(shape) < density
    pairs = min(shape)
    stored[rng.permutation(shape[0])[:pairs], rng.permutation(shape[1])[:pairs]] = True
    cost = rng.integers(0, rng.choice([5, 1000, 10**6]), shape).astype(dtype)
    if np.dtype(dtype).kind == "f" and rng.random() < 0.5:
        cost = rng.random(shape).astype(dtype)
    return cost, stored


def as_kind(rng: np.random.Generator, kind: Any, cost: np.ndarray, stored: np.ndarray) -> Any:
    """A matrix of SciPy, with its entries in some order, and indices of some type."""
    rows, columns = stored.nonzero()
    index = rng.choice(["i4", "i8"])
    matrix = kind(sp.coo_array((cost[stored], (rows, columns)), shape=cost.shape))
    unsorted = rng.random() < 0.4
    if "coo" in kind.__name__:
        order = rng.permutation(len(rows)) if unsorted else slice(None)
        matrix.coords = tuple(numbers[order].astype(index) for numbers in (rows, columns))
        matrix.data = cost[stored][order]
        return matrix
    if unsorted:
        for begin, end in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
            order = begin + rng.permutation(end - begin)
            matrix.indices[begin:end], matrix.data[begin:end] = matrix.indices[order], matrix.data[order]
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    return matrix


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_as_the_long_way(kind: Any, dtype: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    reasons = set()
    for case in range(90):
        shape, maximize = SHAPES[case % len(SHAPES)], bool(case % 2)
        cost, stored = problem(rng, shape, rng.choice([1, 0.6, 0.2, 0.05, 3 / shape[1]]), dtype)
        matrix = as_kind(rng, kind, cost, stored)
        quick, alone = short(matrix, maximize), gmatch.lap(SparseCosts(matrix, maximize=maximize), method="jv")
        assert quick is not None and quick.maximize is maximize and type(quick.status) is gmatch.Status
        assert quick.cost == alone.cost if dtype != "float32" else np.isclose(quick.cost, alone.cost)
        assert gmatch.verify(SparseCosts(matrix, maximize=maximize), quick).cost == quick.cost
        for name in FIELDS:
            assert getattr(quick, name).dtype == getattr(alone, name).dtype
            assert getattr(quick, name).shape == getattr(alone, name).shape
        row_ind, col_ind = short(matrix, maximize)
        assert stored[row_ind, col_ind].all() and (quick.pair_costs == cost[row_ind, col_ind]).all()
        assert (quick.row_match[row_ind] == col_ind).all() and (quick.col_match[col_ind] == row_ind).all()
        if shape[0] == shape[1] and dtype in ("int32", "int64"):
            assert quick.v.max() == 0
        assert set(quick.stats) == set(alone.stats)
        reasons.add(quick.stats["reason"])
        forbidden = -np.inf if maximize else np.inf
        dense = gmatch.lap(np.where(stored, cost, forbidden), maximize=maximize)
        assert np.isclose(dense.cost, quick.cost, rtol=1e-12)
    assert ONE_CORE_REASON in reasons and any(reason.startswith(LAID_OUT) for reason in reasons)


def test_beside_scipy_and_networkx() -> None:
    rng = np.random.default_rng(7)
    for case in range(60):
        shape = tuple(rng.integers(2, 14, 2)) if case % 2 else (8, 8)
        cost, stored = problem(rng, shape, 0.4, "float64")
        matrix = sp.csr_array(sp.coo_array((cost[stored] + 1, stored.nonzero()), shape=shape))
        quick = short(matrix)
        assert np.isclose(quick.cost, matrix[min_weight_full_bipartite_matching(matrix)].sum())
        if shape[0] != shape[1]:
            continue
        graph = nx.Graph()
        for row, column in zip(*stored.nonzero(), strict=True):
            graph.add_edge(("row", row), ("column", column), weight=cost[row, column] + 1)
        mates = nx.bipartite.minimum_weight_full_matching(graph, [("row", row) for row in range(shape[0])])
        assert np.isclose(quick.cost, sum(cost[row, mates["row", row][1]] + 1 for row in range(shape[0])))


def test_zeros_infinities_and_duplicates() -> None:
    zeros = sp.csr_array((np.zeros(4), [1, 0, 0, 1], [0, 2, 4]), shape=(2, 2))
    assert short(zeros).cost == 0
    forbidding = sp.csr_array((np.array([np.inf, 3, 5, 1]), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2))
    assert short(forbidding).row_match.tolist() == [1, 0] and short(-forbidding, True).cost == -8
    for kind in KINDS[4:]:
        doubled = kind((np.array([1.0, 2.0, 7.0, 9.0]), ([0, 0, 0, 1], [0, 0, 1, 1])), shape=(2, 2))
        assert short(doubled) is None and gmatch.lap(doubled).cost == 12
    for kind in KINDS[:4]:
        doubled = kind((np.array([1, 2, 7, 9]), [0, 0, 1, 1], [0, 3, 4]), shape=(2, 2))
        assert short(doubled) is None and gmatch.lap(doubled).cost == 12


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (80, 80), (400, 400), (500, 600)])
def test_infeasible_ones_take_the_long_way(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    stored = rng.random(shape) < 0.3
    stored[:2] = False
    stored[:2, 1] = True
    matrix = sp.csr_array(stored * 2.0)
    assert short(matrix) is None
    with pytest.raises(gmatch.Infeasible, match="no assignment avoids"):
        gmatch.lap(matrix)
    partial = gmatch.lap(matrix, infeasible="partial")
    assert partial.status == "partial" and gmatch.verify(matrix, partial)
    assert gmatch.lap(matrix, cost_limit=9).size == partial.size


def damaged(kind: Any, **arrays: Any) -> Any:
    matrix = kind(np.arange(1.0, 10.0).reshape(3, 3))
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


THREE, NINE = np.arange(3), np.arange(9)
DAMAGES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "beyond": lambda a: {"indices": a.indices + 1},
    "below": lambda a: {"indices": a.indices - 1},
    "far": lambda a: {"indices": a.indices + 2**30},
    "falling": lambda a: {"indptr": a.indptr[[0, 2, 1, 3]]},
    "from 1": lambda a: {"indptr": a.indptr + 1},
    "too long": lambda a: {"indptr": a.indptr * 2},
    "negative": lambda a: {"indptr": a.indptr * np.array([1, 1, 1, -1], a.indptr.dtype)},
    "few offsets": lambda a: {"indptr": a.indptr[:-1]},
    "no offsets": lambda a: {"indptr": a.indptr[:0]},
    "more offsets": lambda a: {"indptr": np.r_[a.indptr, 9].astype(a.indptr.dtype)},
    "few indices": lambda a: {"indices": a.indices[:7]},
    "few costs": lambda a: {"data": a.data[:7]},
    "nan": lambda a: {"data": np.where(a.data == 5, np.nan, a.data)},
    "-inf": lambda a: {"data": np.where(a.data == 5, -np.inf, a.data)},
    "masked": lambda a: {"data": np.ma.masked_equal(a.data, 5)},
    "matrix": lambda a: {"data": a.data.reshape(3, 3)},
    "complex": lambda a: {"data": a.data * 1j},
    "floats": lambda a: {"indices": a.indices.astype(float)},
    "nothing": lambda a: {"indices": None},
    "text": lambda a: {"data": "costs"},
    "shape": lambda a: {"_shape": (3, 2)},
    "shape of floats": lambda a: {"_shape": (3.5, 3)},
    "negative shape": lambda a: {"_shape": (3, -3)},
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS[:4], ids=lambda kind: kind.__name__)
def test_damaged_arrays(kind: Any, damage: str) -> None:
    whole = kind(np.arange(1.0, 10.0).reshape(3, 3))
    matrix = damaged(kind, **DAMAGES[damage](whole))
    assert short(matrix) is None
    with pytest.raises(InvalidInput) as long:
        SparseCosts(matrix)
    with pytest.raises(InvalidInput) as quick:
        gmatch.lap(matrix)
    assert str(quick.value) == str(long.value)


@pytest.mark.parametrize(
    "coords",
    [(THREE, THREE + 1), (THREE - 1, THREE), (THREE[:2], THREE), (THREE, THREE.astype(float)), (THREE + 2**40, THREE)],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS[4:], ids=lambda kind: kind.__name__)
def test_damaged_coordinates(kind: Any, coords: Any) -> None:
    matrix = kind(np.eye(3))
    matrix.coords = coords
    assert short(matrix) is None
    with pytest.raises(InvalidInput):
        gmatch.lap(matrix)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("shape", [(120, 120), (130, 300), (400, 400), (300, 130)])
def test_arrays_changed_by_another_thread(kind: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    whole = as_kind(rng, kind, *problem(rng, shape, 0.03, "float64"))
    matrix = whole.copy()
    arrays = [matrix.data, *(matrix.coords if "coo" in kind.__name__ else (matrix.indptr, matrix.indices))]
    kept = [array.copy() for array in arrays]
    garbage = [np.full_like(array, number) for array in arrays for number in (-1, 2**31 - 1, 7)]
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            for array, good in zip(arrays, kept, strict=True):
                for bad in garbage:
                    if bad.dtype == array.dtype and bad.shape == array.shape:
                        np.copyto(array, bad)
                np.copyto(array, good)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(60):
            quick = short(matrix)  # it may be right, wrong or None; but the call ends, and pairs are in the matrix
            if quick is not None:
                row_ind, col_ind = quick
                assert len(np.unique(row_ind)) == len(np.unique(col_ind)) == min(shape)
                assert row_ind.min() >= 0 and row_ind.max() < shape[0]
                assert col_ind.min() >= 0 and col_ind.max() < shape[1]
    finally:
        done.set()
        changer.join()
    assert short(whole).cost == gmatch.lap(whole, method="tree").cost


@pytest.mark.parametrize("size", [3, 60, 420])
def test_integers_that_float64_does_not_hold_are_exact(size: int) -> None:
    rng = np.random.default_rng(size)
    cost, stored = problem(rng, (size, size), 0.5, "int64")
    matrix = sp.csr_array(sp.coo_array((cost[stored] % 1000, stored.nonzero()), shape=cost.shape))
    moved = matrix.copy()
    moved.data = moved.data + 2**53 + 1  # float64 has no odd numbers beyond 2**53
    apart = matrix.copy()
    apart.data = apart.data * 2**40 + apart.data % 2
    assert short(moved).cost == short(matrix).cost + size * (2**53 + 1)
    assert short(moved).stats["reason"] == ONE_CORE_REASON
    assert short(apart).cost == gmatch.lap(apart, method="tree").cost
    assert gmatch.verify(moved, short(moved)).gap == gmatch.verify(apart, short(apart)).gap == 0
    full = sp.csr_array(cost + 2**53 + 1)
    assert short(full).cost == gmatch.lap(cost + 2**53 + 1).cost
    split, like = matrix.copy(), matrix.copy()  # sums could overflow: it goes the long way, in tiers
    split.data[:2], like.data[:2] = (2**61, -(2**61)), (2**40, -(2**40))
    assert short(split) is None
    found = gmatch.lap(split, certify=True)
    assert found.exact is not None and like[found.row_ind, found.col_ind].sum() == gmatch.lap(like).cost


@pytest.mark.parametrize(
    "options", [{}, {"maximize": True}, {"method": "auto", "threads": 1}, {"device": "cpu"}], ids=str
)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_takes_the_short_way(kind: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gmatch.assignment.plan, "backend_for")  # which the long way needs
    assert gmatch.lap(kind(np.eye(4)), **options).cost == 4


@pytest.mark.parametrize("method", ["jv", "tree", gmatch.JV()], ids=str)
def test_named_methods_are_what_runs(method: Any) -> None:
    matrix = sp.csr_array(np.arange(1.0, 10.0).reshape(3, 3))
    found = gmatch.lap(matrix, method=method)
    assert found.stats["reason"] == "asked for" and found.stats["method"] in ("jv", "tree-many")
    assert found.cost == gmatch.lap(matrix).cost and gmatch.lap(matrix).stats["reason"].startswith(LAID_OUT)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1010, 1010), (1005, 1200), (1200, 1005)])
@pytest.mark.parametrize("density", [1, 0.1])
def test_larger_ones_are_laid_out(shape: tuple[int, int], dtype: str, density: float) -> None:
    rng = np.random.default_rng(0)
    cost, stored = problem(rng, shape, density, dtype)
    matrix = sp.csr_array(sp.coo_array((cost[stored], stored.nonzero()), shape=shape))
    assert short(matrix) is None
    found, alone = gmatch.lap(matrix), gmatch.lap(matrix, method="jv")
    assert found.stats["reason"].startswith(LAID_OUT) and found.stats["method"] in ("core", "jv")
    assert np.isclose(found.cost, alone.cost, rtol=1e-12) and gmatch.verify(matrix, found).cost == found.cost
    for name in FIELDS:
        assert getattr(found, name).dtype == getattr(alone, name).dtype
    if np.dtype(dtype).kind == "i":
        assert shape[0] != shape[1] or found.v.max() == 0
        assert found.cost == alone.cost and gmatch.verify(matrix, found).gap == 0
    again = gmatch.lap(matrix, initial=found)
    assert again.cost == found.cost and again.stats["reason"].startswith(LAID_OUT)


def test_options_of_those_that_are_laid_out() -> None:
    rng = np.random.default_rng(5)
    for dtype in ("int64", "float64"):
        cost, stored = problem(rng, (90, 90), 0.4, dtype)
        cost = (cost * 7 % 23).astype(dtype)
        matrix = sp.csr_array(sp.coo_array((cost[stored], stored.nonzero()), shape=cost.shape))
        dense = np.where(stored, cost, np.inf)
        same, other = (gmatch.lap(costs, deterministic=True) for costs in (matrix, dense))
        assert same.stats["reason"].startswith(LAID_OUT) and (same.row_match == other.row_match).all()
        assert (gmatch.lap(matrix, deterministic=True, method="tree").row_match == same.row_match).all()
        for limit in (0, 2, 30):
            limited, beside = gmatch.lap(matrix, cost_limit=limit, certify=True), gmatch.lap(dense, cost_limit=limit)
            assert limited.cost - limit * limited.size == beside.cost - limit * beside.size
        stored[:40, 9:] = stored[:, 60:] = False
        matrix = sp.csr_array(sp.coo_array((cost[stored], stored.nonzero()), shape=cost.shape))[:, :60]
        partial = gmatch.lap(matrix, infeasible="partial", certify=True)
        alone = gmatch.lap(matrix, infeasible="partial", method="jv")
        assert (partial.size, partial.status) == (alone.size, alone.status) and partial.cost == alone.cost


def test_memory_is_that_of_the_entries() -> None:
    for rows, columns in ((500, 500), (10**4, 10**4), (10**5, 10**6)):
        entries = rows * columns // 100
        assert not _native.is_best_laid_out(rows, columns, entries)
    assert _native.is_best_laid_out(300, 300, 900) and _native.is_best_laid_out(2000, 2000, 200000)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64"])
def test_sparse_costs_without_an_assignment_take_the_short_way(dtype: str, maximize: bool) -> None:
    random = np.random.default_rng(4)
    partial = 0
    for draw in range(120):
        rows, columns = random.integers(1, 9, 2)
        stored = random.random((rows, columns)) < random.choice([0.2, 0.4])
        stored[0, 0] = True
        entries = random.integers(-5, 9, (rows, columns)).astype(dtype)
        where = stored.nonzero()
        kind = (sp.csr_array, sp.csc_array, sp.coo_array)[draw % 3]
        costs = kind(sp.coo_array((entries[where], where), shape=(rows, columns)))
        found = gmatch.lap(costs, infeasible="partial", maximize=maximize)
        assert found._later is not None  # the long way makes all fields at once
        dense = np.where(stored, entries.astype(float), -np.inf if maximize else np.inf)
        expected = gmatch.lap(gmatch.DenseCosts(dense, maximize=maximize), infeasible="partial")
        assert found.status == expected.status and found.size == expected.size and found.cost == expected.cost
        assert found.u.dtype == (np.int64 if dtype.startswith("int") else np.float64)
        assert found.pair_costs.dtype == dtype and gmatch.verify(costs, found, strict=True)
        partial += found.status == "partial"
    assert 30 < partial < 120
