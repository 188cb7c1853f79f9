"""`cost_limit` of sparse costs: as if pairs that are not stored were expensive pairs of a dense matrix."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import DTYPES, brute_force, on, price
from conftest import host

import gmatch
from gmatch import InvalidInput, SparseCosts


def stored(cost: np.ndarray, kept: np.ndarray, form: str = "csr") -> Any:
    rows, columns = kept.nonzero()
    return sp.coo_array((cost[rows, columns], (rows, columns)), shape=cost.shape).asformat(form)


def solve(matrix: Any, device: str, **options: Any) -> gmatch.Assignment:
    if device == "gpu":
        options["device"] = "gpu"
    assignment = gmatch.lap(matrix, certify=True, **options)
    assert (assignment.status is gmatch.Status.LIMITED) == (assignment.size < min(matrix.shape))
    return assignment


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "float16"])  # which SciPy does not store
def test_against_all_matchings(dtype: str, maximize: bool, device: str) -> None:
    rng = np.random.default_rng(0)
    for case in range(40 if device == "cpu" else 8):
        shape = rng.integers(1, 5, 2)
        cost = rng.integers(0, 7, shape).astype(dtype)
        kept = rng.random(shape) < 0.6
        limit = [0, 2, 3, 3.5, 50, -1][case % 6]
        if maximize:
            limit = 6 - limit
        dense = np.where(kept, cost.astype(float), -np.inf if maximize else np.inf)
        matrix = stored(cost, kept, ["csr", "csc", "coo"][case % 3])
        method = ["auto", "tree", "tree-nearest"][case % 3 if device == "cpu" else 1]
        assignment = solve(matrix, device, maximize=maximize, cost_limit=limit, method=method)
        assert price(cost, assignment, limit) == brute_force(dense, maximize, limit)[1]
        assert assignment.pair_costs.dtype == SparseCosts(matrix).dtype
        assert price(cost, assignment, limit) == price(
            cost, gmatch.lap(dense, maximize=maximize, cost_limit=limit), limit
        )


def test_starts_and_deterministic_answers(device: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20 if device == "cpu" else 4):
        shape = rng.integers(5, 30, 2)
        cost, kept = rng.integers(0, 9, shape) * 1.0, rng.random(shape) < 0.3
        matrix = stored(cost, kept)
        first = solve(matrix, device, cost_limit=4, deterministic=True)
        k = min(shape)
        row_match = np.full(shape[0], -1)
        pairs = np.arange(k)[kept[np.arange(k), np.arange(k)]]  # also pairs above the limit
        row_match[pairs] = pairs
        starts: list[dict[str, Any]] = [{"initial": first}, {"initial": row_match}, {"duals": (first.u, first.v)}]
        for start in [*starts, {"initial": "none"}, {"initial": "reduce"}]:
            for method in ("auto", "tree"):
                options = start | {"method": method, "cost_limit": 4, "deterministic": True}
                assert (solve(matrix, device, **options).row_match == first.row_match).all()
        again = solve(matrix, device, cost_limit=4, initial=first, method="jv" if device == "cpu" else "tree")
        assert price(cost, again, 4) == price(cost, first, 4)


def test_what_no_limit_means() -> None:
    matrix = sp.csr_array(np.array([[1.0, 5.0], [2.0, 0.0]]))
    assert gmatch.lap(matrix, cost_limit=np.inf).cost == gmatch.lap(matrix).cost == 7.0
    costs = SparseCosts(matrix, cost_limit=3)
    assert repr(costs) == "<SparseCosts of 2 rows, 2 columns and 3 entries, float64, least, limit 3.0, on the cpu>"
    limited = gmatch.lap(costs)
    assert limited.cost == 1.0 and limited.row_match.tolist() == [0, -1] and limited.cost_limit == 3
    assert gmatch.verify(matrix, limited).gap == 0
    empty = gmatch.lap(sp.csr_array((3, 4)), cost_limit=1, certify=True)
    assert empty.size == 0 and empty.status == "limited"


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [("float32", 0.1), ("float32", 0.3), ("float32", 1e300), ("int32", 2**40), ("int32", -(2**40)), ("int8", 2**31)],
)
@pytest.mark.parametrize("maximize", [False, True])
def test_limits_that_the_type_of_the_costs_does_not_hold(dtype: str, limit: Any, maximize: bool, device: str) -> None:
    cost = (np.array([[1, 2], [3, 1]]) * (0.1 if dtype == "float32" else 1)).astype(dtype)
    kept = np.array([[True, True], [False, True]])
    dense = np.where(kept, cost.astype(float), -np.inf if maximize else np.inf)
    assignment = solve(stored(cost, kept), device, cost_limit=limit, maximize=maximize)
    expected = gmatch.lap(dense, cost_limit=limit, maximize=maximize)
    assert host(assignment.row_match).tolist() == expected.row_match.tolist()
    assert assignment.pair_costs.dtype == (np.float32 if dtype == "float32" else np.int32)


def test_it_does_not_matter_to_a_deterministic_answer_how_the_matrix_lies(device: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(30 if device == "cpu" else 4):
        shape = rng.integers(2, 9), rng.integers(2, 9)
        for rows, columns in (shape, (shape[0], shape[0])):
            cost, kept = rng.integers(1, 4, (rows, columns)), rng.random((rows, columns)) < 0.6
            answers = [
                host(solve(stored(cost, kept, form), device, cost_limit=2, deterministic=True).row_match).tolist()
                for form in ("csr", "csc", "coo")
            ]
            assert answers[0] == answers[1] == answers[2]


def test_what_is_refused() -> None:
    matrix = sp.csr_array(np.array([[1.0, 5.0], [2.0, 0.0]]))
    with pytest.raises(InvalidInput, match="a SparseCosts has its own maximize and cost_limit; give them to Sparse"):
        gmatch.lap(SparseCosts(matrix), cost_limit=3)
    with pytest.raises(InvalidInput, match="cost_limit must be finite; got nan"):
        gmatch.lap(matrix, cost_limit=np.nan)
    with pytest.raises(InvalidInput, match="sums of these costs could overflow int64"):
        gmatch.lap(matrix.astype(np.int64), cost_limit=2**62)
    with pytest.raises(InvalidInput, match="cost_limit must be whole for integer costs beyond"):
        gmatch.lap(sp.csr_array(np.array([[2**54]])), cost_limit=0.5)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"u": [3.0, 5.0]}, r"u\[1\] \+ v\[.\] exceeds the limit by 2.0: the duals are not feasible"),
        ({"u": [1.0, 2.0]}, "the duals leave a gap of 3.0, more than the tolerance"),
        (
            {"row_match": [0, -1], "col_match": [0, -1], "cost_limit": 0.5},
            "row 0 is matched with column 0, which is be",
        ),
        ({"cost_limit": None}, "the assignment has 1 of 2 pairs, and no cover that proves"),
        (
            {"status": gmatch.Status.OPTIMAL},
            "the assignment says it is 'optimal', but with 1 of 2 pairs it is 'limited",
        ),
    ],
)
def test_what_verify_finds(change: dict[str, Any], message: str) -> None:
    matrix = sp.csr_array(np.array([[1.0, 5.0], [2.0, 0.0]]))
    right = gmatch.lap(matrix, cost_limit=3)
    fields = {name: getattr(right, name) for name in gmatch.Assignment.__dataclass_fields__}
    changed = {
        name: np.array(value, fields[name].dtype) if isinstance(value, list) else value
        for name, value in change.items()
    }
    with pytest.raises(gmatch.CertificateError, match=f"^({message})"):
        gmatch.verify(matrix, gmatch.Assignment(**(fields | changed)))


def test_no_cover_proves_an_assignment_with_a_limit() -> None:
    """One pair at -100 is cheaper than two pairs at -1, the largest number of pairs."""
    cost = np.array([[-100, -1, 0], [-1, 0, 0], [0, 0, 0]])
    matrix = sp.csr_array(cost)
    assert gmatch.lap(matrix, cost_limit=0, certify=True).cost == -100
    largest = gmatch.lap(matrix, infeasible="partial", certify=True)
    assert largest.cost == -2 and largest.cover is not None
    with pytest.raises(gmatch.CertificateError, match="with a cost_limit rows and columns may stay free"):
        gmatch.verify(matrix, dataclasses.replace(largest, cost_limit=0))


def test_verify_knows_the_limit_of_costs() -> None:
    matrix = sp.csr_array(np.array([[1.0, 5.0], [2.0, 0.0]]))
    with pytest.raises(
        gmatch.CertificateError, match="^the assignment is for maximize=False and cost_limit=3.0, the c"
    ):
        gmatch.verify(SparseCosts(matrix), gmatch.lap(matrix, cost_limit=3))


def test_gated_tracks(device: str) -> None:
    """Near boxes of one frame and of the next, as trackers match them."""
    rng = np.random.default_rng(2)
    before = rng.random((300, 2))
    after = np.concatenate([before[:250] + rng.normal(size=(250, 2)) * 0.002, rng.random((80, 2))])
    distance = np.hypot(*(before[:, None] - after[None]).T).T
    matrix = stored(distance, distance < 0.05)
    sparse = solve(matrix, device, cost_limit=0.01)
    dense = gmatch.lap(on(distance, device), cost_limit=0.01)
    assert sparse.cost == pytest.approx(dense.cost) and sparse.size == dense.size < 300
    assert (host(dense.row_match) == sparse.row_match).all()


@pytest.mark.parametrize("more_columns", [0, 30])
@pytest.mark.parametrize("limit", [None, 0.4])
def test_many_paths_in_each_phase_if_columns_may_stay_free(more_columns: int, limit: float | None, device: str) -> None:
    """A doubled problem has few phases. A search for the nearest path has a phase for nearly each row."""
    n = 600
    rng = np.random.default_rng(4)
    cost = rng.random((n, n + more_columns))
    kept = rng.random(cost.shape) < 6 / n
    kept[np.arange(n), rng.permutation(n + more_columns)[:n]] = True
    if more_columns == 0 and limit is None:
        kept[:, 0] = False  # a column that no row can take
        cost, kept = cost[:-1], kept[:-1]
        kept[np.arange(n - 1), 1 + rng.permutation(n - 1)] = True
    many, nearest = (
        solve(stored(cost, kept), device, cost_limit=limit, method=gmatch.Tree(paths)) for paths in ("many", "nearest")
    )
    assert many.cost == pytest.approx(nearest.cost) and many.size == nearest.size
    assert many.stats["phases"] < 30 < nearest.stats["phases"]
    assert many.stats["start_size"] <= n
