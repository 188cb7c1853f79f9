"""Costs without an assignment: the cover of their allowed pairs, and the parts into which the cover divides them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import gmatch
from gmatch.assignment.partial import cover_of_allowed_pairs
from gmatch.backends import cpu

RNG = np.random.default_rng(30)
SHAPES = (1, 1), (3, 5), (9, 9), (40, 25), (70, 200)


def with_forbidden(shape: tuple[int, int], allowed: float, maximize: bool = False) -> np.ndarray:
    return np.where(RNG.random(shape) < allowed, RNG.integers(1, 1000, shape), -np.inf if maximize else np.inf)


def dense_costs() -> list[gmatch.DenseCosts]:
    made = []
    for shape in SHAPES:
        for dtype in (np.float64, np.float32, np.float16):
            for order in ("C", "F"):
                for maximize in (False, True):
                    cost = with_forbidden(shape, 2 / max(shape), maximize).astype(dtype, order=order)
                    made.append(gmatch.DenseCosts(cost, maximize=maximize))
    made.append(gmatch.DenseCosts(with_forbidden((60, 60), 0.05)[::-2, ::3]))
    return made


def sparse_costs() -> list[gmatch.SparseCosts]:
    made = []
    for shape in SHAPES:
        for dtype in (np.int32, np.int64, np.float32, np.float64):
            for index_type in (np.int32, np.int64):
                matrix = scipy.sparse.random_array(shape, density=min(1, 2 / max(shape)), rng=RNG, format="csr")
                matrix.data = (100 * matrix.data).astype(dtype)
                if np.dtype(dtype).kind == "f":
                    matrix.data[::5] = np.inf
                matrix.indptr, matrix.indices = matrix.indptr.astype(index_type), matrix.indices.astype(index_type)
                made.append(gmatch.SparseCosts(matrix))
    return made


@pytest.mark.parametrize("kind", [dense_costs, sparse_costs])
@pytest.mark.parametrize("threads", [None, 2])
def test_the_cover_of_costs_is_the_cover_of_their_allowed_pairs(kind: Any, threads: int | None) -> None:
    for costs in kind():
        cover = cover_of_allowed_pairs(costs, threads)
        expected = gmatch.max_matching(costs.allowed_pairs()).vertex_cover()
        for in_cover, others, numbers, length in zip(cover[:2], cover[2:], expected, sorted(costs.shape), strict=True):
            assert in_cover.tolist() == numbers.tolist()
            assert others.tolist() == sorted(set(range(length)) - set(numbers.tolist()))


def test_the_parts_of_dense_costs() -> None:
    for costs in dense_costs():
        cover, parts = cpu.parts(costs, None)
        expected = costs.array[cover.rows][:, cover.other_columns], costs.array[cover.other_rows][:, cover.columns].T
        sign = -1 if costs.maximize else 1
        for (part, bounds), array in zip(parts, expected, strict=True):
            assert part.dtype == costs.array.dtype and part.flags.c_contiguous
            np.testing.assert_array_equal(part, array)
            finite = sign * array[np.isfinite(array)].astype(np.float64)
            assert bounds == ((finite.min(), finite.max()) if finite.size else (0, 0))


def test_the_parts_of_sparse_costs() -> None:
    for costs in sparse_costs():
        cover, parts = cpu.parts_of_sparse(costs, None)
        shape = min(costs.shape), max(costs.shape)
        whole = scipy.sparse.csr_array((costs.data, costs.indices, costs.indptr), shape=shape)
        expected = whole[cover.rows][:, cover.other_columns], whole[cover.other_rows][:, cover.columns].T.tocsr()
        for (((indptr, indices, data), of_part), bounds), matrix in zip(parts, expected, strict=True):
            assert of_part == matrix.shape and data.dtype == costs.data.dtype
            part = scipy.sparse.csr_array((data, indices, indptr), shape=of_part)
            assert part.nnz == matrix.nnz and (part.tocoo() != matrix.tocoo()).nnz == 0
            finite = matrix.data[np.isfinite(matrix.data)]
            assert bounds == ((finite.min(), finite.max()) if finite.size else (0, 0))


@pytest.mark.parametrize("shape", SHAPES)
def test_largest_matchings_have_the_costs_of_their_pairs(shape: tuple[int, int]) -> None:
    for maximize in (False, True):
        dense = with_forbidden(shape, 2 / max(shape), maximize)
        stored = scipy.sparse.coo_array(np.where(np.isfinite(dense), dense, 0))
        for cost in (dense, np.asfortranarray(dense), stored.tocsr(), stored.tocsc()):
            for method in ("auto", "jv", "tree"):
                found = gmatch.lap(cost, maximize=maximize, method=method, infeasible="partial", certify=True)
                assert found.pair_costs.tolist() == dense[found.row_ind, found.col_ind].tolist()
                assert found.cost == gmatch.lap(dense, maximize=maximize, infeasible="partial").cost
