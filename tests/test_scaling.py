"""`scale` against all permutations, on singular, complex, symmetric and real matrices, and its proof."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch


def random_matrix(rng: np.random.Generator, shape: tuple[int, int], density: float) -> Any:
    """Entries of many magnitudes, some of them explicit zeros; real or complex."""
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape)
    if rng.random() < 0.5:
        values = values * np.exp(2j * np.pi * rng.random(shape))
    values[rng.random(shape) < 0.1] = 0
    places = (rng.random(shape) < density).nonzero()
    return sp.coo_array((values[places], places), shape=shape)


def best_diagonals(dense: np.ndarray) -> tuple[int, float, float, float]:
    """The most diagonal entries; and among such choices the best logarithm of a product, sum and least entry."""
    magnitudes = abs(dense if dense.shape[0] <= dense.shape[1] else dense.T)
    rows, columns = magnitudes.shape
    found = []
    for way in itertools.permutations(range(columns), rows):
        chosen = magnitudes[range(rows), way]
        chosen = chosen[chosen > 0]
        found.append((len(chosen), np.log(chosen).sum(), chosen.sum(), chosen.min(initial=np.inf)))
    size = max(one[0] for one in found)
    return size, *(max(one[k] for one in found if one[0] == size) for k in (1, 2, 3))


@pytest.mark.parametrize("seed", range(60))
def test_against_all_permutations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, 2)) if seed % 3 else (4, 4)
    matrix = random_matrix(rng, shape, float(rng.choice([0.3, 0.6, 1])))
    dense = matrix.toarray()
    size, product, total, least = best_diagonals(dense)
    for form in (matrix, matrix.tocsc(), dense):
        found = {job: gmatch.scale(form, job, certify=True) for job in ("product", "sum", "cardinality", "bottleneck")}
        assert {one.size for one in found.values()} == {size}
        chosen = {job: abs(dense[one.row_match >= 0, one.row_match[one.row_match >= 0]]) for job, one in found.items()}
        assert np.log(chosen["product"]).sum() == pytest.approx(product, abs=1e-9)
        assert chosen["sum"].sum() == pytest.approx(total)
        scaling = found["product"]
        scaled = abs(dense) * scaling.row_scale[:, None] * scaling.col_scale
        assert scaled.max(initial=0) <= 1 + 1e-12
        assert (abs(scaled[scaling.row_match >= 0].max(axis=1, initial=0) - 1) <= 1e-12).all()
        assert chosen["bottleneck"].min(initial=np.inf) == least
        # A row without a place on the diagonal has 1 as its largest entry.
        rest = scaled[(scaling.row_match < 0) & (dense != 0).any(axis=1)]
        assert (abs(rest.max(axis=1, initial=0) - 1) <= 1e-12).all() or shape[0] > shape[1]


@pytest.mark.parametrize("seed", range(40))
def test_symmetric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 30))
    matrix = random_matrix(rng, (size, size), float(rng.choice([0.1, 0.3, 1]))).tocsr()
    matrix = matrix + matrix.T.conjugate()
    scaling = gmatch.scale(matrix, symmetric=True, certify=True)
    scaled = abs(scaling.apply(matrix).toarray())
    assert abs(scaled - scaled.T).max() <= 1e-12 and scaled.max(initial=0) <= 1 + 1e-12
    matched = scaling.row_match >= 0
    assert (abs(scaled[matched, scaling.row_match[matched]] - 1) <= 1e-11).all()
    assert scaling.pivots is not None
    assert sorted(np.concatenate(scaling.pivots).tolist()) == list(range(size))


def test_it_brings_entries_to_the_diagonal() -> None:
    matrix = gmatch.datasets.load("HB/west0067")
    scaling = gmatch.scale(matrix, certify=True)
    permuted = scaling.apply(matrix)
    assert scaling.size == 67 and abs(abs(permuted.diagonal()) - 1).max() < 1e-12
    assert sorted(scaling.row_order.tolist()) == list(range(67))


def test_magnitudes_beyond_float64() -> None:
    """Products and scalings overflow, their logarithms do not."""
    matrix = np.array([[1e-300, 1e300, 0], [0, 1e-300, 1e300], [1e300, 0, 1e-300]])
    matrix = np.kron(np.eye(4), matrix)
    scaling = gmatch.scale(matrix, certify=True)
    assert abs(scaling.apply(matrix).diagonal() - 1).max() < 1e-12


def test_singular_matrices_keep_a_permutation() -> None:
    matrix = sp.csr_array(np.array([[1.0, 2, 0], [3, 4, 0], [5, 6, 0]]))
    scaling = gmatch.scale(matrix, certify=True)
    assert scaling.size == 2 and sorted(scaling.row_order.tolist()) == [0, 1, 2]
    assert gmatch.scale(np.zeros((3, 3)), certify=True).size == 0
    assert gmatch.scale(np.zeros((0, 3)), certify=True).size == 0


WRONG = {
    "at most 1": lambda r: {"row_log": r.row_log + 1e-6},
    "diagonal entries 1": lambda r: {"row_log": r.row_log - 1e-6},
    "finite float64": lambda r: {"row_log": r.row_log * np.nan},
    "pairs of the scaling": lambda r: {"row_match": r.row_match[[1, 0]], "col_match": r.col_match[[1, 0]]},
    "of the job": lambda r: {"job": "bottleneck"},
    "cheapest or most expensive": lambda r: {"job": "sum"},
    "scale rows and columns alike": lambda r: {"pivots": (np.array([0]), np.array([1]))},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_proof_is_refused(message: str) -> None:
    matrix = sp.csr_array([[1.0, 5.0], [7.0, 2.0]])
    right = gmatch.scale(matrix, certify=True)
    with pytest.raises(gmatch.CertificateError, match=message):
        gmatch.verify(matrix, dataclasses.replace(right, **WRONG[message](right)))


def test_wrong_pivots_are_refused() -> None:
    matrix = sp.csr_array([[1.0, 5.0, 0], [5.0, 2.0, 0], [0, 0, 1]])
    right = gmatch.scale(matrix, symmetric=True)
    assert sorted(map(len, right.pivots or ())) == [1, 2]
    wrongs = {"once": ([0], [1]), "one or two": ([0, 1, 2],), "must be a pair": ([0, 2], [1])}
    for message, pivots in wrongs.items():
        wrong = dataclasses.replace(right, pivots=tuple(map(np.array, pivots)))
        with pytest.raises(gmatch.CertificateError, match=message):
            gmatch.verify(matrix, wrong)


def test_bad_input() -> None:
    with pytest.raises(gmatch.InvalidInput, match="job must be"):
        gmatch.scale(np.eye(2), "best")
    with pytest.raises(gmatch.InvalidInput, match="finite"):
        gmatch.scale([[np.inf]])
    with pytest.raises(gmatch.InvalidInput, match="magnitudes are symmetric"):
        gmatch.scale([[1, 2], [3, 4]], symmetric=True)
    with pytest.raises(gmatch.InvalidInput, match="job='product'"):
        gmatch.scale(np.eye(2), "sum", symmetric=True)
    with pytest.raises(gmatch.InvalidInput, match="real or complex"):
        gmatch.scale(np.array([["a"]]))
    with pytest.raises(gmatch.InvalidInput, match=r"shape \(2, 2\); got one of shape \(3, 3\)"):
        gmatch.scale(np.eye(2)).apply(np.eye(3))
    wide = gmatch.scale(np.eye(2, 3))
    for asked in (lambda: wide.row_order, lambda: wide.apply(np.eye(2, 3))):
        with pytest.raises(gmatch.InvalidInput, match="2 rows and 3 columns; scale the transposed"):
            asked()


@pytest.mark.parametrize("job", ["product", "sum", "bottleneck", "cardinality"])
def test_more_rows_than_columns(job: str) -> None:
    """MC64 takes such matrices, too: the diagonal comes first, rows without a place on it last."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        matrix = random.random((5, 3)) * (random.random((5, 3)) < (0.5 if job != "bottleneck" else 1))
        scaling = gmatch.scale(matrix, job, certify=True)
        assert sorted(scaling.row_order.tolist()) == list(range(5))
        diagonal = scaling.apply(matrix).diagonal()
        assert np.count_nonzero(diagonal) == scaling.size
        if job == "product":
            assert np.allclose(diagonal[diagonal != 0], 1) and scaling.apply(matrix).max() < 1 + 1e-12


def test_the_least_number_is_scaled_to_one() -> None:
    tiny = np.array([[5e-324]])
    assert np.allclose(gmatch.scale(tiny).apply(tiny).toarray(), 1)


@pytest.mark.parametrize("dtype", [">f8", ">c16", ">i4", ">f2", "f2", "i1", "bfloat16", "dok"])
def test_types_that_scipys_matrices_do_not_have(dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    numbers = np.array([[0, 3, 1], [5, 0, 2], [1, 7, 0]])
    matrix: Any = sp.dok_array(numbers) if dtype == "dok" else numbers.astype(dtype)
    scaling = gmatch.scale(matrix, certify=True)
    assert scaling.row_match.tolist() == gmatch.scale(numbers).row_match.tolist()
    assert np.allclose(scaling.apply(matrix).toarray(), scaling.apply(numbers).toarray())


def test_sums_of_duplicates_have_room() -> None:
    """100 + 100 is more than int8 holds."""
    entries = np.array([100, 100, 1], np.int8)
    for matrix in (
        sp.coo_array((entries, ([0, 0, 1], [0, 0, 1])), shape=(2, 2)),
        sp.csr_array((entries, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
    ):
        assert gmatch.scale(matrix, "sum", certify=True).proof.cost == 201
        assert np.exp(gmatch.scale(matrix, certify=True).row_log).size == 2
        assert matrix.nnz == 3


def test_magnitudes_do_not_overflow_on_the_way() -> None:
    matrix = np.array([[3e307 + 4e307j, 0], [0, 3e-308 + 4e-308j]])
    assert gmatch.scale(matrix, "sum", certify=True).proof.pair_costs.tolist() == pytest.approx([5e307, 5e-308])
    with pytest.raises(gmatch.InvalidInput, match="finite"):
        gmatch.scale(np.array([[1.7e308 + 1.7e308j]]))


def test_near_magnitudes_keep_their_order() -> None:
    """The logarithms of these numbers are all equal. The logarithms of their quotients are not."""
    for seed in range(20):
        steps = np.random.default_rng(seed).integers(0, 9, (4, 4))
        pairs = gmatch.scale((1 + steps * 2.0**-50) * 2.0**1000, certify=True).row_match
        assert steps[range(4), pairs].sum() == gmatch.lap(steps, maximize=True).cost


def test_a_damaged_matrix_is_refused() -> None:
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[0] = 7
    with pytest.raises(gmatch.InvalidInput, match="from 0 to 2"):
        gmatch.scale(matrix)
