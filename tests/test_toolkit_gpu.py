"""The toolkit with costs on a GPU: on a real GPU if there is one, and on arrays that pass for arrays of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import GPU
from fake_gpus import FakeMatrix, pretend_one
from test_scaling import random_matrix

import gmatch
from gmatch import cuda
from gmatch.foreign import CompressedRows
from gmatch.problems.sparse import summed_in_rows


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    return cuda.cupy() if GPU else pretend_one(monkeypatch.setattr)


def sparse_there(matrix: Any) -> Any:
    """A sparse matrix of CuPy, which has no sparse arrays."""
    if not GPU:
        return FakeMatrix(matrix)
    import cupyx.scipy.sparse as csp

    return {"csr": csp.csr_matrix, "csc": csp.csc_matrix, "coo": csp.coo_matrix}[matrix.format](matrix)


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "csr": lambda cupy, matrix: sparse_there(sp.csr_matrix(matrix)),
    "csc": lambda cupy, matrix: sparse_there(sp.csc_matrix(matrix)),
    "coo": lambda cupy, matrix: sparse_there(sp.coo_matrix(matrix)),
    "dense": lambda cupy, matrix: cupy.asarray(matrix.toarray()),
}


@pytest.mark.parametrize("job", ["product", "sum", "bottleneck", "cardinality"])
@pytest.mark.parametrize("form", FORMS)
def test_scale(form: str, job: str, cupy: Any) -> None:
    """The answer of the host, in arrays of CuPy. Some matrices are singular or complex."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        matrix = random_matrix(rng, ((7, 7), (5, 8), (8, 5))[seed % 3], 0.4)
        there = FORMS[form](cupy, matrix)
        expected = gmatch.scale(matrix, job)
        found = gmatch.scale(there, job, certify=True)
        assert all(type(array) is cupy.ndarray for array in (found.row_match, found.row_log, found.proof.row_match))
        assert found.size == expected.size
        gmatch.verify(matrix, found)
        gmatch.verify(matrix, found.moved(lambda array: array.get()))
        gmatch.verify(there, expected)
        if matrix.shape[0] >= matrix.shape[1]:
            applied = found.apply(there)
            assert type(applied.data) is cupy.ndarray
            assert np.allclose(applied.get().toarray(), found.apply(matrix).toarray())
        assert gmatch.scale(there, job, device="cpu", certify=True).size == expected.size
        assert type(gmatch.scale(matrix, job, device="gpu", certify=True).row_match) is np.ndarray


def test_scale_symmetric(cupy: Any) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        matrix = random_matrix(rng, (9, 9), 0.3).tocsr()
        matrix = sp.csr_matrix(matrix + matrix.T.conjugate())
        there = sparse_there(matrix)
        found = gmatch.scale(there, symmetric=True, certify=True)
        assert sorted(np.concatenate(found.pivots or ()).tolist()) == list(range(9))
        scaled = abs(found.apply(there).get().toarray())
        assert abs(scaled - scaled.T).max() <= 1e-12 and scaled.max(initial=0) <= 1 + 1e-12
    with pytest.raises(gmatch.InvalidInput, match="magnitudes are symmetric"):
        gmatch.scale(cupy.asarray(np.array([[1.0, 2], [3, 4]])), symmetric=True)


def test_scale_odd_matrices(cupy: Any) -> None:
    """No entries, all zeros, sums of duplicates, numbers that are not finite, and costs that are no entries."""
    for shape in ((0, 0), (0, 3), (3, 0), (2, 2)):
        assert gmatch.scale(cupy.asarray(np.zeros(shape)), certify=True).size == 0
    twice = sp.csr_matrix((np.array([1, 1j, 3, 2 + 1j]), np.array([0, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    found = gmatch.scale(sparse_there(twice), certify=True)
    twice.sum_duplicates()
    gmatch.verify(twice, found)
    for number in (np.inf, np.nan):
        with pytest.raises(gmatch.InvalidInput, match="finite"):
            gmatch.scale(cupy.asarray(np.array([[number]])))
    with pytest.raises(gmatch.InvalidInput, match="2 dimensions|3 dimensions"):
        gmatch.scale(cupy.asarray(np.zeros((1, 1, 1))))
    with pytest.raises(gmatch.InvalidInput, match="device must be"):
        gmatch.scale(np.eye(2), device="tpu")


COST = np.array([[4, 1, 3, 9], [2, 0, 5, 9], [3, 2, 2, 9]])
# Each works on the host if its costs lie on a GPU. With device="gpu" each refuses, and says what to do.
ON_HOST: dict[str, Callable[..., Any]] = {
    "gmatch.k_best": lambda cost, **options: gmatch.k_best(cost, 4, **options).costs.tolist(),
    "gmatch.ranked": lambda cost, **options: [one.cost for one in gmatch.ranked(cost, **options)],
    "gmatch.best_hypotheses": lambda cost, **options: gmatch.best_hypotheses(
        [cost], 4, miss=2, **options
    ).costs.tolist(),
    "gmatch.bottleneck": lambda cost, **options: gmatch.bottleneck(cost, then="sum", **options).cost,
    "gmatch.transport": lambda cost, **options: gmatch.transport(cost, [2, 0, 1], [1, 1, 0, 1], **options).cost,
}


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "float32", "int8"])
@pytest.mark.parametrize("function", ON_HOST)
def test_work_on_the_host(function: str, dtype: str, cupy: Any) -> None:
    cost = COST.astype(dtype)
    solve, there = ON_HOST[function], cupy.asarray(cost)
    assert solve(there, device="cpu") == solve(cost)
    assert function == "gmatch.ranked" or solve(there, certify=True) == solve(cost)
    with pytest.raises(gmatch.InvalidInput, match=f"{function}.* works on the host; leave device='gpu' out"):
        solve(cost, device="gpu")
    with pytest.raises(gmatch.InvalidInput, match="device must be 'cpu' or None"):
        solve(cost, device=0)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["int64", "float64", "float32"])
def test_bottleneck_of_sparse_costs(dtype: str, maximize: bool, cupy: Any) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shape = ((30, 30), (20, 40), (40, 20), (3, 3))[seed]
        places = (rng.random(shape) < (0.3 if seed < 3 else 0.2)).nonzero()
        matrix = sp.coo_array((rng.integers(0, 50, len(places[0])).astype(dtype), places), shape=shape).tocsr()
        arrays = map(cupy.asarray, (matrix.indptr, matrix.indices, matrix.data))
        there = CompressedRows(*arrays, shape)  # sparse matrices of CuPy hold no integers
        options: dict[str, Any] = {"maximize": maximize, "then": (None, "sum")[seed % 2], "certify": True}
        if seed == 3:
            with pytest.raises(gmatch.Infeasible):
                gmatch.bottleneck(there, **options)
            options["infeasible"] = "partial"
        expected = gmatch.bottleneck(matrix, **options)
        found = gmatch.bottleneck(there, **options)
        assert (found.threshold, type(found.row_match)) == (expected.threshold, cupy.ndarray)
        assert found.assignment is None or found.cost == expected.cost
        moved = gmatch.bottleneck(matrix, device="gpu", **options)
        assert (moved.threshold, type(moved.row_match)) == (expected.threshold, np.ndarray)
        assert gmatch.bottleneck(there, device="cpu", **options).threshold == expected.threshold


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64"])
def test_max_weight_matching(dtype: str, cupy: Any) -> None:
    cost = COST.astype(dtype)
    there = cupy.asarray(cost)
    for options in ({}, {"cardinality": "maximum"}, {"pairs": 2}, {"pairs": 0}):
        expected = gmatch.max_weight_matching(cost, **options).cost
        found = gmatch.max_weight_matching(there, certify=True, **options)
        assert found.cost == expected and type(found.row_match) is cupy.ndarray
        assert gmatch.max_weight_matching(cost, device="gpu", certify=True, **options).cost == expected


def test_amounts_misses_and_numbers_on_a_gpu(cupy: Any) -> None:
    supply, demand = cupy.asarray(np.array([2, 0, 1])), cupy.asarray(np.array([1, 1, 0, 1]))
    found = gmatch.transport(COST, supply, demand, certify=True)
    assert gmatch.verify((cupy.asarray(COST), supply, demand), found).cost == found.cost
    misses = [cupy.asarray(np.array([1, 2, 3]))]
    expected = gmatch.best_hypotheses([COST], 5, miss=[[1, 2, 3]]).costs.tolist()
    assert gmatch.best_hypotheses([cupy.asarray(COST)], 5, miss=misses, certify=True).costs.tolist() == expected
    changed = COST.copy()
    changed[1] = 0, 7, 1, 9
    before = gmatch.lap(COST)
    assert before.update(changed, rows=cupy.asarray(np.array([1])), certify=True).cost == gmatch.lap(changed).cost
    for former, cost in ((gmatch.lap(cupy.asarray(COST)), changed), (before, cupy.asarray(changed))):
        with pytest.raises(gmatch.InvalidInput, match="update works on the host; move"):
            former.update(cost, rows=[1])


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_scale_many_duplicates(form: str, cupy: Any) -> None:
    """Sums of duplicates depend on their order. The proof adds them in the order of the solver."""
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 5, 900), rng.integers(0, 40, 900)
    numbers = rng.normal(size=900) + 1j * rng.normal(size=900)
    if form != "coo":  # which SciPy would sum
        order = np.argsort(rows if form == "csr" else columns, kind="stable")
        rows, columns, numbers = rows[order], columns[order], numbers[order]
    long, short = (rows, columns) if form == "csr" else (columns, rows)
    indptr = np.concatenate([[0], np.bincount(long, minlength=5 if form == "csr" else 40).cumsum()])
    made = {"coo": sp.coo_matrix, "csr": sp.csr_matrix, "csc": sp.csc_matrix}[form]
    matrix = made((numbers, (rows, columns) if form == "coo" else short, *([] if form == "coo" else [indptr])), (5, 40))
    assert matrix.nnz == 900
    for job in ("product", "sum", "bottleneck"):
        for given in (matrix, sparse_there(matrix)):
            gmatch.verify(matrix, gmatch.scale(given, job, certify=True))


@pytest.mark.parametrize("dtype", ["int64", "complex128", "float32"])
def test_sums_of_duplicates(dtype: str, cupy: Any) -> None:
    rows, columns = (cupy.asarray(np.array(side, np.int32)) for side in ([1, 0, 1, 1], [0, 1, 0, 2]))
    numbers = np.array([-(2**40) - 1, 5, 2**41, 7] if dtype == "int64" else [1, 5, 2, 7], dtype)
    numbers = numbers * 1j if dtype == "complex128" else numbers
    indptr, indices, sums, shape = summed_in_rows((rows, columns, cupy.asarray(numbers)), (2, 3))
    expected = sp.coo_array((numbers, (rows.get(), columns.get())), shape=shape).tocsr()
    assert sums.dtype == dtype and indptr.get().tolist() == [0, 1, 3]
    assert (indices.get().tolist(), sums.get().tolist()) == (expected.indices.tolist(), expected.data.tolist())
