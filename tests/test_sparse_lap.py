"""Sparse costs: against dense ones with infinities and against SciPy, on random cases, hard families and bad input."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import brute_force
from conftest import GPU, host
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import gmatch
from gmatch import InvalidInput, SparseCosts
from gmatch.arrays import mover_to
from gmatch.backends import cpu
from gmatch.backends.protocol import AssignmentStart, Start
from gmatch.methods import SparseJV

FORMATS = ("csr", "csc", "coo", "lil", "dok")
METHODS = {"cpu": ("jv", "tree", "tree-nearest", "auto"), "gpu": ("tree", "tree-nearest", "auto")}
STARTS = ("auto", "reduce", "none")
DTYPES = ("int32", "int64", "float32", "float64", "bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64")


def sparse(cost: np.ndarray, stored: np.ndarray, form: str = "csr") -> Any:
    """The stored entries of a matrix, zeros too. SciPy's lists and dictionaries drop zeros."""
    matrix = sp.coo_array((cost[stored], stored.nonzero()), shape=cost.shape)
    if form in ("lil", "dok") and not cost[stored].all():
        form = "csr"
    return matrix.asformat(form)


def solve(matrix: Any, device: str, **options: Any) -> gmatch.Assignment:
    """The assignment, proven."""
    assignment = gmatch.lap(matrix, device=device, **options)
    assert gmatch.verify(matrix, assignment).cost == assignment.cost
    assert assignment.stats["backend"] == device
    return assignment


def turns(case: int, device: str) -> dict[str, Any]:
    """A method, a start and a number of threads, in turn."""
    method = METHODS[device][case % len(METHODS[device])]
    threads = (None, 1, 2, 8)[case // 5 % 4] if device == "cpu" and method.startswith("tree") else None
    return {"method": method, "initial": STARTS[case // 3 % 3], "threads": threads}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_all_matchings(dtype: str, maximize: bool, device: str) -> None:
    rng = np.random.default_rng(DTYPES.index(dtype))
    for case in range(300 if device == "cpu" else 24):
        shape = tuple(rng.integers(0, 6, 2))
        most = int(rng.choice([1, 3, 20]))
        cost = rng.integers(0 if np.dtype(dtype).kind in "ub" else -most, most + 1, shape).astype(dtype)
        stored = rng.random(shape) < rng.choice([0.2, 0.5, 0.8, 1])
        matrix = sparse(cost, stored, FORMATS[case % 5])
        size, best = brute_force(np.where(stored, cost.astype(float), -np.inf if maximize else np.inf), maximize)
        assignment = solve(matrix, device, maximize=maximize, infeasible="partial", **turns(case, device))
        assert (assignment.size, assignment.cost) == (size, best), (case, cost, stored)
        assert assignment.status == ("optimal" if size == min(shape) else "partial")
        assert isinstance(assignment.cost, float if np.dtype(dtype).kind == "f" else int)
        assert host(assignment.pair_costs).tolist() == cost[tuple(map(host, assignment))].tolist()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_against_scipy_and_dense(dtype: str, device: str) -> None:
    rng = np.random.default_rng(0)
    for case in range(60 if device == "cpu" else 8):
        shape = tuple(rng.integers(1, 80, 2))
        most = int(rng.choice([2, 50, 10**6]))
        cost = rng.integers(1, most + 1, shape).astype(dtype)
        stored = rng.random(shape) < rng.choice([0.05, 0.2, 0.6])
        stored[np.arange(min(shape)), rng.permutation(min(shape))] = True
        matrix = sparse(cost, stored)
        for maximize in (False, True):
            expected = cost[min_weight_full_bipartite_matching(matrix, maximize)].sum(dtype="float64")
            found = [
                solve(matrix, device, maximize=maximize, **turns(case + turn, device)).cost
                for turn in range(len(METHODS[device]))
            ]
            dense = gmatch.lap(np.where(stored, cost.astype(float), -np.inf if maximize else np.inf), maximize=maximize)
            assert set(found) == {expected} == {dense.cost}


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.integers(-9, 9)),
    hnp.arrays(bool, (5, 5)),
    st.sampled_from(METHODS["cpu"]),
    st.sampled_from(STARTS),
    st.booleans(),
    st.sampled_from(FORMATS),
)
@settings(max_examples=300, deadline=None)
def test_any_costs(cost: np.ndarray, stored: np.ndarray, method: str, start: str, maximize: bool, form: str) -> None:
    stored = stored[: cost.shape[0], : cost.shape[1]]
    size, best = brute_force(np.where(stored, cost, -np.inf if maximize else np.inf), maximize)
    options = {"maximize": maximize, "method": method, "initial": start, "infeasible": "partial"}
    assignment = solve(sparse(cost, stored, form), "cpu", **options)
    assert (assignment.size, assignment.cost) == (size, best)


@given(
    hnp.arrays(np.float64, (6, 6), elements=st.floats(-1e300, 1e300)),
    hnp.arrays(bool, (6, 6)),
    st.sampled_from(METHODS["cpu"]),
)
@settings(max_examples=200, deadline=None)
def test_any_floats_are_proven(cost: np.ndarray, stored: np.ndarray, method: str) -> None:
    solve(sparse(cost, stored | np.eye(6, dtype=bool)), "cpu", method=method)


def chain(n: int) -> Any:
    return sp.diags_array([np.arange(n, 1, -1.0), np.arange(1.0, n + 1), np.full(n - 1, 2.5)], offsets=[-1, 0, 1])


def planted(n: int, degree: int, values: Any, seed: int = 0) -> Any:
    """A random graph with a perfect matching."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(n), rng.integers(0, n, n * (degree - 1))])
    columns = np.concatenate([rng.permutation(n), rng.integers(0, n, n * (degree - 1))])
    _, first = np.unique(rows * n + columns, return_index=True)
    return sp.csr_array((values(rng, rows[first], columns[first]), (rows[first], columns[first])), shape=(n, n))


INSTANCES = {
    "ties": lambda n: planted(n, 4, lambda rng, rows, columns: np.full(len(rows), 7)),
    "few values": lambda n: planted(n, 5, lambda rng, rows, columns: rng.integers(0, 3, len(rows))),
    "uniform": lambda n: planted(n, 5, lambda rng, rows, columns: rng.random(len(rows))),
    "float32": lambda n: planted(n, 5, lambda rng, rows, columns: rng.random(len(rows), np.float32)),
    "Machol-Wien": lambda n: planted(n, 5, lambda rng, rows, columns: (rows + 1) * (columns + 1)),
    "negated": lambda n: planted(n, 5, lambda rng, rows, columns: -(rows + 1.0) * (columns + 1)),
    "along a line": lambda n: planted(n, 5, lambda rng, rows, columns: abs(rows - columns) ** 0.5),
    "wide range": lambda n: planted(n, 5, lambda rng, rows, columns: 10.0 ** rng.uniform(-150, 150, len(rows))),
    "near-ties": lambda n: planted(n, 5, lambda rng, rows, columns: 1 + rng.integers(0, 3, len(rows)) * 2.0**-52),
    "tridiagonal": lambda n: chain(n).tocsr(),
    "dense": lambda n: sp.csr_array(np.random.default_rng(0).integers(1, 1000, (n // 10, n // 10))),
    "wide": lambda n: planted(n, 4, lambda rng, rows, columns: rng.random(len(rows)))[: n - n // 8],
    "tall": lambda n: planted(n, 4, lambda rng, rows, columns: rng.integers(0, 9, len(rows)))[:, : n - n // 8],
}


@pytest.mark.parametrize("name", INSTANCES)
def test_instances(name: str, device: str) -> None:
    for n in (40, 1000):
        matrix = INSTANCES[name](n)
        found = []
        for method in METHODS[device]:
            for threads in (1, 2, 8) if method == "tree" and device == "cpu" else (None,):
                assignment = solve(matrix, device, method=method, threads=threads)
                found.append(sum(map(Fraction, host(assignment.pair_costs).tolist())))
        tolerance = Fraction(gmatch.verify(matrix, assignment).tolerance)
        assert max(found) - min(found) <= 2 * tolerance


VALUES = {
    "float64": (
        lambda rng, size: rng.random(size),
        lambda rng, size: 10.0 ** rng.uniform(-6, 6, size),
        lambda rng, size: rng.random(size) - 1e6,
        lambda rng, size: rng.random(size) * 2.0**-1060,
        lambda rng, size: np.where(rng.random(size) < 0.1, np.inf, rng.random(size)),
        lambda rng, size: np.where(rng.random(size) < 0.3, 1e9, rng.random(size)),
    ),
    "int64": (
        lambda rng, size: rng.integers(0, 10, size),
        lambda rng, size: rng.integers(-(10**6), 10**6, size),
        lambda rng, size: rng.integers(0, 2**40, size),
        lambda rng, size: rng.integers(0, 1000, size) + 2**50,
    ),
}


@pytest.mark.parametrize("dtype", VALUES)
def test_small_auctions(dtype: str) -> None:
    """Square problems with few ties, so that bids come before the search; with and without a full matching."""
    rng = np.random.default_rng(0)
    for case in range(1500):
        n = int(rng.integers(2, 16))
        stored = rng.random((n, n)) < rng.choice([0.2, 0.4, 1])
        if case % 5:
            stored[np.arange(n), rng.permutation(n)] = True
        cost = VALUES[dtype][case % len(VALUES[dtype])](rng, (n, n))
        assignment = solve(sparse(cost, stored), "cpu", method="jv", infeasible="partial")
        dense = gmatch.lap(np.where(stored, cost, np.inf), infeasible="partial")
        assert assignment.size == dense.size
        assert assignment.cost == pytest.approx(dense.cost, rel=1e-12, abs=0)


def test_an_auction_that_leaves_rows() -> None:
    """One row in 10,000 is left to the search at each epsilon."""
    for n in (20000, 30000):
        matrix = planted(n, 6, lambda rng, rows, columns: rng.integers(1, 10**5, len(rows)))
        found = solve(matrix, "cpu", method="jv")
        assert found.stats["phases"] > 0
        assert found.cost == solve(matrix, "cpu", duals=(found.u, found.v), method="jv").cost
        assert found.cost == solve(matrix, "cpu", method="tree").cost


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_threads_share_an_auction(dtype: str) -> None:
    """There are enough rows for 2 to 8 threads that bid. Some costs tie, and some have no full matching."""
    for case, (n, most) in enumerate([(1200, 3), (1500, 1000), (2500, 10**6), (4000, 10**6)]):
        matrix = planted(n, 6, lambda rng, rows, columns, most=most: rng.integers(1, most + 1, len(rows))).astype(dtype)
        if case % 2:
            matrix = matrix[:, np.r_[0 : n - 3, np.zeros(3, int)]].tocsr()
        alone, *shared = (
            solve(matrix, "cpu", method="jv", threads=threads, infeasible="partial") for threads in (1, 2, 8)
        )  # fmt: skip
        for found in shared:
            assert (found.size, found.status) == (alone.size, alone.status)
            assert found.cost == pytest.approx(alone.cost, rel=1e-6 if dtype == "float32" else 1e-12)
            assert found.stats["threads"] > 1 or found.status == "partial"


def whole_numbers(most: int, rng: np.random.Generator, rows: Any, columns: Any) -> Any:
    return rng.integers(1, most + 1, len(rows))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_threads_share_sweeps(dtype: str) -> None:
    """Columns may stay free, so no auction is held. There are enough rows for 2 to 8 threads."""
    for n, most, more in ((1200, 3, 10), (1500, 1000, 100), (3000, 10**6, 10), (3000, 1000, 0)):
        values = partial(whole_numbers, most)
        matrix, others = (planted(n, 6, values, seed).astype(dtype) for seed in (0, 1))
        limit = None if more else most // 2
        costs = sp.hstack([matrix, others[:, :more]]).tocsr()
        alone, *shared = (solve(costs, "cpu", method="jv", threads=threads, cost_limit=limit) for threads in (1, 2, 8))
        for found in shared:
            assert found.stats["threads"] > 1
            total, expected = (float(one.cost) + (n - one.size) * (limit or 0) for one in (found, alone))
            assert total == pytest.approx(expected, rel=1e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_column_without_pairs_ends_the_search(threads: int) -> None:
    """Not all rows of the square problem can be matched. No search is needed to know that."""
    matrix = planted(2000, 6, lambda rng, rows, columns: rng.random(len(rows)))[:, 1:]
    costs = SparseCosts(sp.hstack([matrix, sp.csr_array((2000, 1))]).tocsr())
    vectors = cpu.assign_sparse(costs, SparseJV(), Start(AssignmentStart.REDUCE), threads)
    assert vectors.counters["size"] == vectors.counters["rows_scanned"] == 0
    assert (vectors.row_match == -1).all()
    assert (vectors.col_match == -1).all()
    with pytest.raises(gmatch.Infeasible):
        gmatch.lap(costs, threads=threads)


def test_a_chain_of_near_pairs_needs_a_larger_epsilon() -> None:
    """Each point in the plane has near pairs and one far pair. Without a rise of epsilon bids would not end."""
    rng = np.random.default_rng(0)
    n = 3000
    x, y = rng.random((n, 2)), rng.random((n, 2))
    near = np.argsort(((x[:, None] - y) ** 2).sum(-1), 1)[:, :8]
    rows, columns = np.repeat(np.arange(n), 9), np.c_[near, rng.permutation(n)].ravel()
    distances = np.sqrt(((x[rows] - y[columns]) ** 2).sum(1))
    keys, at = np.unique(rows * n + columns, return_index=True)
    matrix = sp.csr_array((distances[at], (keys // n, keys % n)), (n, n))
    found = solve(matrix, "cpu", method="jv", threads=4)
    assert found.stats["phases"] < n / 100
    assert found.cost == pytest.approx(solve(matrix, "cpu", method="tree", threads=1).cost, rel=1e-12)


def test_the_trees_start_from_an_auction(device: str) -> None:
    """An auction is held if costs differ. It leaves few rows free, whatever its start left free."""
    n = 3000
    differing = planted(n, 8, lambda rng, rows, columns: rng.random(len(rows)))
    stats = solve(differing, device, method="tree").stats
    assert stats["bids"] > n and stats["start_size"] > 0.97 * n
    assert solve(differing, device, method="tree", initial="none").stats["bids"] == 0
    assert solve(differing[:-10], device, method=gmatch.Tree("nearest")).stats["bids"] == 0
    constant = planted(n, 8, lambda rng, rows, columns: np.ones(len(rows)))
    assert solve(constant, device, method="tree").stats["bids"] == 0


def test_entries_of_pairs_are_found(device: str) -> None:
    """Also of rows that are not sorted, and of pairs that are not stored."""
    rng = np.random.default_rng(5)
    for case in range(60 if device == "cpu" else 12):
        rows, columns = (int(side) for side in rng.integers(1, 400 if case % 3 else 40, 2))
        stored = rng.random((rows, columns)) < rng.choice([0.01, 0.2, 1])
        matrix = sp.csr_array((np.arange(stored.sum(), dtype=np.int64), stored.nonzero()), shape=(rows, columns))
        if case % 2:
            matrix.indices = np.concatenate([*(part[::-1] for part in np.split(matrix.indices, matrix.indptr[1:-1]))])
        costs = SparseCosts(matrix).on(device)
        pairs = min(rows, columns)
        mates = rng.permutation(rows)[:pairs], rng.permutation(columns)[:pairs]
        there = host(costs.positions(*(mover_to(device)(side) for side in mates)))
        assert ((there >= 0) == stored[mates]).all()
        found = host(costs.data)[there[there >= 0]]
        assert (found == matrix.toarray()[mates][there >= 0]).all()


@pytest.mark.parametrize("unit", [1, 0.25])
def test_costs_of_few_places_tie_whatever_their_type(device: str, unit: float) -> None:
    """Costs are multiples of a unit. If duals were not, nearly every row after the auction would take a phase."""
    matrix = planted(20000, 10, lambda rng, rows, columns: unit * rng.integers(1, 6, len(rows)))
    assignment = solve(matrix, device, method="tree")
    assert not (host(assignment.v) / unit % 1).any()
    assert assignment.stats["phases"] <= 12


def test_infeasible_ones_end_soon() -> None:
    n = 20000
    matrix = planted(n, 6, lambda rng, rows, columns: rng.integers(1, 1000, len(rows)))
    matrix = matrix[:, np.r_[0 : n - 50, np.zeros(50, int)]].tocsr()
    for method in METHODS["cpu"]:
        assignment = solve(matrix, "cpu", infeasible="partial", method=method)
        assert assignment.status == "partial" and assignment.size < n


class TestInfeasible:
    #         0    1    2    3
    MATRIX = sp.csr_array((np.array([1.0, 2, 5, 4, 9]), [0, 0, 0, 1, 2], [0, 1, 2, 5]), shape=(3, 4))

    def test_the_witness_of_rows(self, device: str) -> None:
        for method in METHODS[device]:
            with pytest.raises(gmatch.Infeasible) as caught:
                gmatch.lap(self.MATRIX, method=method, device=device)
            assert caught.value.rows.tolist() == [0, 1] and caught.value.columns.tolist() == [0]
            assert str(caught.value) == (
                "no assignment avoids the forbidden pairs: 2 of 3 pairs can be made; the error's 2 rows may only be "
                "matched with its 1 columns; use infeasible='partial' to make as many as can be, or cost_limit to let "
                "rows and columns stay free"
            )

    def test_the_witness_of_columns(self, device: str) -> None:
        with pytest.raises(
            gmatch.Infeasible, match="the error's 2 columns may only be matched with its 1 rows"
        ) as caught:
            gmatch.lap(-self.MATRIX.T, maximize=True, device=device)
        assert caught.value.columns.tolist() == [0, 1] and caught.value.rows.tolist() == [0]

    def test_partial(self, device: str) -> None:
        assignment = solve(self.MATRIX, device, infeasible="partial")
        assert (assignment.size, assignment.cost, assignment.status) == (2, 5.0, "partial")
        assert [part.tolist() for part in assignment.witness] == [[0, 1], [0]]
        solve(self.MATRIX.T, device, infeasible="partial")

    @pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (1, 1)])
    def test_no_entries(self, shape: tuple[int, int], device: str) -> None:
        for dtype in (np.int64, np.float64):
            matrix = sp.csr_array(shape, dtype=dtype)
            with pytest.raises(gmatch.Infeasible, match=f": 0 of {min(shape)} pairs can be made"):
                gmatch.lap(matrix, device=device)
            assert solve(matrix, device, infeasible="partial").size == 0

    @pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
    def test_no_rows_or_columns(self, shape: tuple[int, int], device: str) -> None:
        assignment = solve(sp.csr_array(shape), device)
        assert (assignment.size, assignment.cost, assignment.status) == (0, 0, "optimal")

    def test_stored_infinities_forbid(self, device: str) -> None:
        matrix = sp.csr_array(np.array([[np.inf, 1.0], [2.0, np.inf]]))
        assert solve(matrix, device).cost == 3.0
        assert solve(-matrix, device, maximize=True).cost == -3.0
        matrix = sp.csr_array(np.array([[np.inf, 1.0], [np.inf, np.inf]]))
        with pytest.raises(gmatch.Infeasible):
            gmatch.lap(matrix, device=device)
        assert solve(matrix, device, infeasible="partial").cost == 1.0


class TestInput:
    def test_explicit_zeros_are_pairs(self, device: str) -> None:
        matrix = sp.csr_array((np.array([0, 3, 0]), [0, 1, 1], [0, 2, 3]), shape=(2, 2))
        assert solve(matrix, device).cost == 0

    @pytest.mark.parametrize("form", ["csr", "csc", "coo"])
    def test_duplicates_are_summed(self, form: str, device: str) -> None:
        rows, columns = np.array([0, 0, 0, 1, 1, 0]), np.array([0, 1, 0, 0, 1, 0])
        values = np.array([1, 9, 5, 7, 2, -3])
        order = np.argsort(rows if form == "csr" else columns, kind="stable")
        major, minor = (rows, columns) if form == "csr" else (columns, rows)
        indptr = np.r_[0, np.bincount(major, minlength=2).cumsum()]
        matrix = {
            "csr": lambda: sp.csr_array((values[order], minor[order], indptr), shape=(2, 2)),
            "csc": lambda: sp.csc_array((values[order], minor[order], indptr), shape=(2, 2)),
            "coo": lambda: sp.coo_array((values, (rows, columns)), shape=(2, 2)),
        }[form]()
        before = matrix.nnz
        assignment = solve(matrix, device)
        assert assignment.cost == 5 and assignment.pair_costs.tolist() == [3, 2] and matrix.nnz == before
        assert SparseCosts(matrix).entries == 4

    def test_random_duplicates(self) -> None:
        rng = np.random.default_rng(0)
        for case in range(100):
            n, count = int(rng.integers(1, 6)), int(rng.integers(1, 40))
            rows, columns = np.sort(rng.integers(0, n, count)), rng.integers(0, n, count)
            values = rng.integers(-5, 6, count).astype(("int64", "float64")[case % 2])
            indptr = np.r_[0, np.bincount(rows, minlength=n).cumsum()]
            matrix = sp.csr_array((values, columns, indptr), shape=(n, n))
            summed = sp.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
            expected = gmatch.lap(summed, infeasible="partial")
            found = solve(matrix, "cpu", infeasible="partial")
            assert (found.size, found.cost) == (expected.size, expected.cost)

    @pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
    @pytest.mark.parametrize("index", ["int32", "int64"])
    def test_csr_is_used_as_it_lies(self, dtype: str, index: str) -> None:
        matrix = sp.csr_array(np.array([[1, 2, 0], [0, 3, 4]], dtype))
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
        costs = SparseCosts(matrix)
        assert np.shares_memory(costs.data, matrix.data)
        for name in ("indptr", "indices"):  # no other thread may change them while they are read
            assert not np.shares_memory(getattr(costs, name), getattr(matrix, name))
        assert (costs.shape, costs.entries, costs.dtype, costs.transposed) == ((2, 3), 4, dtype, False)
        costs = SparseCosts(matrix.T)
        assert costs.transposed and np.shares_memory(costs.data, matrix.data)
        assert gmatch.lap(matrix).cost == gmatch.lap(matrix.T).cost == 4

    @pytest.mark.parametrize("form", (*FORMATS, "bsr", "dia"))
    @pytest.mark.parametrize("made", [sp.csr_array, sp.csr_matrix])
    def test_formats(self, form: str, made: Any, device: str) -> None:
        cost = np.array([[4.0, 1, 3], [2, 7, 5], [3, 2, 2]])
        assert solve(made(cost).asformat(form), device).cost == 5
        assert solve(made(cost[:2]).asformat(form), device, maximize=True).cost == 11

    def test_read_only(self) -> None:
        matrix = sp.csr_array(np.array([[4.0, 1], [2, 7]]))
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.flags.writeable = False
        for method in METHODS["cpu"]:
            assert solve(matrix, "cpu", method=method).cost == 3

    def test_int64_beyond_float64(self, device: str) -> None:
        rng = np.random.default_rng(0)
        for case in range(100 if device == "cpu" else 8):
            shape = tuple(rng.integers(1, 6, 2))
            small = rng.integers(-3, 4, shape)
            stored = rng.random(shape) < 0.8
            base = int(rng.choice([2**53, -(2**60), 2**62]))
            for maximize in (False, True):
                size, best = brute_force(np.where(stored, small * 1.0, -np.inf if maximize else np.inf), maximize)
                options = turns(case, device) | {"maximize": maximize, "infeasible": "partial"}
                assert solve(sparse(small + base, stored), device, **options).cost == int(best) + size * base

    def test_the_widest_range(self, device: str) -> None:
        rng = np.random.default_rng(0)
        most = (2**63 - 2) // (33 + 8 * 40)
        for cost in (
            np.outer(np.arange(1, 41), np.arange(1, 41)) * (most // 1600),
            rng.integers(0, 2, (40, 40)) * most,
        ):
            for method in METHODS[device]:
                solve(sparse(cost, rng.random((40, 40)) < 0.3, "coo"), device, method=method, infeasible="partial")

    def test_it_is_frozen(self) -> None:
        costs = SparseCosts(sp.csr_array(np.eye(2, 3)), maximize=True)
        assert repr(costs) == "<SparseCosts of 2 rows, 3 columns and 2 entries, float64, most, on the cpu>"
        with pytest.raises(AttributeError, match="^a SparseCosts is frozen; make a new one instead of setting data$"):
            costs.data = None
        with pytest.raises(AttributeError, match="^a SparseCosts is frozen; data cannot be deleted$"):
            del costs.data
        assert gmatch.lap(costs).maximize
        assert gmatch.verify(costs, gmatch.lap(costs)).gap == 0

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"cost_limit": "3"}, "cost_limit must be a number; got '3'"),
            ({"infeasible": "no"}, "infeasible must be 'raise' or 'partial'; got 'no'"),
            ({"initial": [0, 1]}, "initial must not use forbidden pairs; row 0 has column 0"),
        ],
    )
    def test_options_that_are_refused(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            gmatch.lap(sp.csr_array(np.array([[0, 1.0], [1, 1]])), **options)
        assert str(caught.value) == message

    def test_matrices_that_are_refused(self) -> None:
        with pytest.raises(InvalidInput) as caught:
            SparseCosts(np.eye(2))
        assert str(caught.value) == "expected a sparse matrix of costs; got ndarray; use gmatch.DenseCosts"
        with pytest.raises(InvalidInput, match="^cost must hold real numbers: .*; got complex128$"):
            SparseCosts(sp.csr_array(np.eye(2) * 1j))
        with pytest.raises(InvalidInput, match="^expected a matrix with rows and columns; got 1 dimensions$"):
            SparseCosts(sp.coo_array(np.ones(2)))
        with pytest.raises(
            InvalidInput, match="^a SparseCosts has its own maximize and cost_limit; give them to SparseCosts"
        ):
            gmatch.lap(SparseCosts(sp.csr_array(np.eye(2))), maximize=True)
        damaged = sp.csr_array(np.eye(3))
        damaged.indices = np.array([0, 5, 2], np.int32)
        with pytest.raises(InvalidInput, match="^column numbers must be from 0 to 2; entry 1 is 5$"):
            SparseCosts(damaged)
        damaged = sp.csr_array(np.eye(3))
        damaged.data = damaged.data[:2]
        with pytest.raises(InvalidInput, match="^data must have an entry for each of 3 indices, where they live; got "):
            SparseCosts(damaged)
        with pytest.raises(InvalidInput, match="^cost must hold integers below 2"):
            SparseCosts(sp.csr_array(np.array([[2**63]], np.uint64)))

    @pytest.mark.parametrize("form", ["csr", "csc", "coo"])
    @pytest.mark.parametrize("solve", [gmatch.lap, SparseCosts])
    def test_data_that_are_no_array(self, solve: Any, form: str) -> None:
        for data in (None, 5, [1.0, 1.0, 1.0]):
            damaged = sp.csr_array(np.eye(3)).asformat(form)
            damaged.data = data
            with pytest.raises(InvalidInput, match="which is no matrix or a damaged one: (Type|Attribute)Error: "):
                solve(damaged)
        damaged.data = np.ma.masked_array(np.ones(3), mask=[True, False, False])
        with pytest.raises(InvalidInput, match="^data must not be masked; leave out the pairs that are not allowed$"):
            solve(damaged)

    @pytest.mark.parametrize(
        "form, name, value, message",
        [
            ("lil", "data", np.array([[1] * 1000, [1], [1]], object), "LIL row 0 has 1 columns and 1000 values"),
            ("dia", "offsets", np.ma.masked_array([0], mask=[True]), "DIA offsets must not be masked"),
            ("coo", "data", np.ones(2, np.int8), "COO row numbers and data must be equally long; got 3 and 2"),
            ("bsr", "indptr", np.array([0, 9, 1, 3], np.int32), "indptr must not decrease"),
        ],
    )
    def test_damage_is_found_before_sums_get_a_wider_type(self, form: str, name: str, value: Any, message: str) -> None:
        damaged = sp.csr_array(np.eye(3, dtype=np.int8)).asformat(form)
        setattr(damaged, name, value)
        with pytest.raises(InvalidInput, match=message):
            SparseCosts(damaged)

    @pytest.mark.parametrize("form", ["csr", "csc"])
    @pytest.mark.parametrize(
        "value, maximize, what",
        [
            (np.nan, False, "NaN"),
            (-np.inf, False, "-inf when minimizing (+inf forbids a pair)"),
            (np.inf, True, "+inf when maximizing (-inf forbids a pair)"),
        ],
    )
    def test_values_that_are_no_costs(self, value: float, maximize: bool, what: str, form: str) -> None:
        cost = np.array([[1, 0, 2], [0, 0, value], [5, 6, 0.0]])
        advice = "; if NaN is for a pair that is not allowed, use forbid_nan=True" if what == "NaN" else ""
        with pytest.raises(
            InvalidInput, match=f"^cost must not hold {re.escape(what)}; entry {re.escape('(1, 2)')} does{advice}$"
        ):
            SparseCosts(sp.csr_array(cost).asformat(form), maximize=maximize)

    def test_overflow(self) -> None:
        most = (2**63 - 2) // (33 + 8 * 2)
        assert SparseCosts(sp.csr_array(np.array([[0, most], [most, 1]]) + 0)).highest == most
        assert SparseCosts(sp.csr_array(([0, most + 1], ([0, 1], [0, 1])), shape=(2, 2))).overflows
        between = int(0.618 * most)
        matrix = sp.csr_array(([0, most + 1, between], ([0, 1, 0], [0, 1, 1])), shape=(2, 2))
        with pytest.raises(InvalidInput) as caught:
            SparseCosts(matrix)
        assert str(caught.value) == (
            "sums of these costs could overflow int64: (32 + 8 * pairs) * (highest - lowest) + the largest magnitude "
            f"must be below 2**63 - 1; got (32 + 8 * 2) * {most + 1} + {most + 1}; divide by a common factor, or, if "
            "the differences that float64 rounds away do not matter (beyond 2**53), use cost.astype(np.float64)"
        )
        with pytest.raises(InvalidInput, match="^sums of these costs could overflow float64: highest - lowest is "):
            SparseCosts(sp.csr_array(np.array([[-1e308, 1e308, 0.618e308]])))


class TestStarts:
    def test_given_assignments_and_duals(self, device: str) -> None:
        rng = np.random.default_rng(0)
        for case in range(60 if device == "cpu" else 6):
            matrix = planted(
                int(rng.integers(2, 30)), 3, lambda rng, rows, columns: rng.integers(0, 9, len(rows)), case
            )
            matrix = (matrix, matrix[:-1], matrix[:, :-1])[case % 3]
            first = solve(matrix, device, infeasible="partial")
            changed = matrix.copy()
            changed.data = changed.data + rng.integers(0, 2, len(changed.data))
            expected = solve(changed, device, infeasible="partial")
            for initial, duals in ((first, None), (first.row_match, None), ("auto", (first.u, first.v))):
                for method in METHODS[device]:
                    options = {"method": method, "initial": initial, "duals": duals, "infeasible": "partial"}
                    assert solve(changed, device, **options).cost == expected.cost

    def test_large_duals_do_no_harm(self, device: str) -> None:
        matrix = planted(20, 3, lambda rng, rows, columns: rng.integers(0, 9, len(rows)))
        expected = solve(matrix, device).cost
        rng = np.random.default_rng(0)
        for method in METHODS[device]:
            u, v = rng.choice([-(2**63), 0, 2**63 - 1], (2, 20))
            assert solve(matrix, device, duals=(u, v), method=method).cost == expected


class TestCertificate:
    MATRIX = sp.csr_array(np.array([[4.0, 1, 0], [2, 7, 5], [0, 2, 2]]))

    @pytest.mark.parametrize(
        "change, message",
        [
            ({"row_match": [2, 0, 1], "col_match": [1, 2, 0]}, "row 0 is matched with column 2, which is not stored"),
            ({"pair_costs": [1.0, 2.0, 3.0]}, "pair_costs must hold the entries of the matched pairs, row by row; "),
            ({"u": [99.0] * 3}, r"u\[\d\] \+ v\[\d\] exceeds the cost of that pair by .*: the duals are not feas"),
            ({"u": [0.0, 0.0, 0.0], "v": [0.0, 0.0, 0.0]}, "the duals leave a gap of 5.0, more than the tolerance"),
            (
                {"status": gmatch.Status.PARTIAL},
                "the assignment says it is 'partial', but with 3 of 3 pairs it is 'opt",
            ),
            ({"maximize": True}, "the duals leave a gap of|u.* exceeds the cost"),
        ],
    )
    def test_what_is_found(self, change: dict[str, Any], message: str) -> None:
        right = gmatch.lap(self.MATRIX)
        changed = {
            name: np.array(value, getattr(right, name).dtype) if isinstance(value, list) else value
            for name, value in change.items()
        }
        fields = {name: getattr(right, name) for name in gmatch.Assignment.__dataclass_fields__}
        with pytest.raises(gmatch.CertificateError, match=f"^({message})"):
            gmatch.verify(self.MATRIX, gmatch.Assignment(**(fields | changed)))

    def test_a_cover_that_is_none(self) -> None:
        matrix = TestInfeasible.MATRIX
        right = gmatch.lap(matrix, infeasible="partial")
        fields = {name: getattr(right, name) for name in gmatch.Assignment.__dataclass_fields__}
        for cover, message in (
            (None, "the assignment has 2 of 3 pairs, and no cover that proves"),
            ((np.array([0]), np.array([1])), "the pair of row 1 and column 0 is allowed, but not covered"),
            ((np.array([0, 1, 2]), np.array([], int)), "the cover has 3 rows and 0 columns, not 2 vertices"),
        ):
            with pytest.raises(gmatch.CertificateError, match=message):
                gmatch.verify(matrix, gmatch.Assignment(**(fields | {"cover": cover})))

    def test_duals_above_zero_where_columns_may_stay_free(self) -> None:
        matrix = sp.csr_array(np.array([[1.0, 2.0, 4.0]]))
        right = gmatch.lap(matrix)
        fields = {name: getattr(right, name) for name in gmatch.Assignment.__dataclass_fields__}
        with pytest.raises(gmatch.CertificateError, match=r"^v\[2\] is 1.0, but must not be above 0 on the side with "):
            gmatch.verify(matrix, gmatch.Assignment(**(fields | {"v": np.array([0, 0, 1.0])})))
        column = gmatch.lap(matrix.T)
        fields = {name: getattr(column, name) for name in gmatch.Assignment.__dataclass_fields__}
        with pytest.raises(gmatch.CertificateError, match=r"^u\[2\] is 1.0, but must not be above 0 on the side with "):
            gmatch.verify(matrix.T, gmatch.Assignment(**(fields | {"u": np.array([0, 0, 1.0])})))


def test_on_a_gpu(device: str) -> None:
    """CuPy in, CuPy out."""
    if device == "cpu":
        return
    import cupyx.scipy.sparse as csp

    assert GPU
    host_matrix = INSTANCES["uniform"](1000)
    for matrix in (csp.csr_matrix(host_matrix), csp.csc_matrix(host_matrix), csp.coo_matrix(host_matrix)):
        for there in (matrix, matrix[:700] if matrix.format == "csr" else matrix, matrix.T):
            assignment = gmatch.lap(there)
            assert gmatch.verify(there, assignment).cost == assignment.cost
            pairs = tuple(map(host, assignment))
            assert np.array_equal(host(assignment.pair_costs), np.asarray(there.get().tocsr()[pairs]).ravel())
            assert type(assignment.row_match).__module__.startswith("cupy")
    twice = csp.coo_matrix(host_matrix)
    assert gmatch.lap(twice, device="cpu").cost == pytest.approx(gmatch.lap(host_matrix).cost)
    part = csp.csr_matrix(TestInfeasible.MATRIX)
    assert gmatch.lap(part, infeasible="partial", certify=True).cost == 5.0


def test_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form in FORMATS:
            gmatch.lap(INSTANCES["uniform"](40).asformat(form), certify=True)


def test_large_costs_beside_one_of_many_places(device: str) -> None:
    matrix = planted(2000, 9, lambda rng, rows, columns: rng.integers(1, 1000, len(rows)) * 2.0**985)
    matrix.data[0] = 2.0**-30
    for method in METHODS[device]:
        solve(matrix, device, method=method)


def test_a_forbidden_entry_beside_duplicates() -> None:
    """Finite duplicates are summed beside a forbidden entry."""
    entries = [1.0, 2.0, np.inf, 3.0, 4.0], [0, 0, 1, 0, 1], [0, 3, 5]
    assert gmatch.lap(sp.csr_array(entries, shape=(2, 2))).cost == 7


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
def test_sums_of_duplicates_have_room(form: str) -> None:
    """100 + 100 is more than int8 holds."""
    entries = np.array([100, 100, 1], np.int8)
    arrays = {
        "coo": lambda: sp.coo_array((entries, ([0, 0, 1], [0, 0, 1])), shape=(2, 2)),
        "csr": lambda: sp.csr_array((entries, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
        "csc": lambda: sp.csc_array((entries, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
        "bsr": lambda: sp.bsr_array((entries[:, None, None], [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
    }
    assert gmatch.lap(arrays[form]()).cost == 201


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
def test_sums_of_duplicates_beyond_their_type(dtype: str, form: str) -> None:
    half = np.iinfo(dtype).max // 2 + 1
    entries = np.array([half, half, 1], dtype)
    arrays = {
        "coo": lambda: sp.coo_array((entries, ([0, 0, 1], [0, 0, 1])), shape=(2, 2)),
        "csr": lambda: sp.csr_array((entries, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
        "csc": lambda: sp.csc_array((entries, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
        "bsr": lambda: sp.bsr_array((entries[:, None, None], [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
    }
    with pytest.raises(gmatch.InvalidInput, match=r"must fit into|below 2\*\*63"):
        gmatch.lap(arrays[form]())
    if dtype == "int32":
        entries[:2] -= half // 2
        assert gmatch.lap(arrays[form]()).cost == half + 1


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "lil", "dia"])
def test_unsigned_integers_beyond_int64(form: str) -> None:
    matrix = sp.coo_array(np.array([[2**63 + 5, 1], [2, 3]], np.uint64)).asformat(form)
    with pytest.raises(gmatch.InvalidInput, match=r"below 2\*\*63; the largest is 9223372036854775813"):
        gmatch.lap(matrix)
