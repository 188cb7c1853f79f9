"""`verify` believes nothing: each way in which an assignment can be wrong is found."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import METHODS, brute_force, on, random_costs
from conftest import host
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gmatch
from gmatch import Assignment, AssignmentCertificate, CertificateError, Status

COST = np.array([[4, 1, 3, 9], [2, 0, 5, 9], [3, 2, 2, 9]])
INF = np.inf


def assignment(row_match: list, col_match: list, u: list, v: list, pair_costs: list, **fields: object) -> Assignment:
    """An assignment of `COST`, right in its types."""
    return Assignment(
        np.array(row_match, np.int32), np.array(col_match, np.int32), np.array(u, np.int64), np.array(v, np.int64),
        np.array(pair_costs, np.int64), **{"status": Status.OPTIMAL} | fields,
    )  # fmt: skip


GOOD = assignment([1, 0, 2], [1, 0, 2, -1], [3, 2, 2], [0, -2, 0, 0], [1, 2, 2])


def changed(**fields: object) -> Assignment:
    """The good assignment with some fields changed."""
    of_type = {"row_match": np.int32, "col_match": np.int32}
    arrays = {
        name: np.array(value, of_type.get(name, np.int64)) if isinstance(value, list) else value
        for name, value in fields.items()
    }
    return dataclasses.replace(GOOD, **arrays)


def test_a_proof() -> None:
    assert gmatch.verify(COST, GOOD) == AssignmentCertificate(cost=5, gap=0, tolerance=0)
    assert gmatch.verify(gmatch.DenseCosts(COST), GOOD).cost == 5


@pytest.mark.parametrize(
    "wrong, message",
    [
        (changed(row_match=[1, 0]), "row_match must hold 3 integers; got int32 of shape (2,)"),
        (changed(row_match=[1, 0, 4]), "row_match must hold numbers from -1 to 3; got 0 to 4"),
        (changed(col_match=[1, 0, -2, -1]), "col_match must hold numbers from -1 to 2; got -2 to 1"),
        (changed(row_match=[1, 1, 2]), "row 1 is matched with 1, which is matched with 0"),
        (changed(col_match=[1, 0, 2, 1]), "column 3 is matched with 1, which is matched with 0"),
        (changed(pair_costs=[1, 2]), "pair_costs must hold the entries of the matched pairs, row by row; it does not"),
        (changed(pair_costs=[2, 1, 2]), "pair_costs must hold the entries of the matched pairs, row by row"),
        (changed(pair_costs=np.array([1.0, 2, 2])), "u must hold 3 duals of type float64; got int64 of shape (3,)"),
        (changed(pair_costs=np.array(["1", "2", "2"])), "pair_costs must hold the entries of the matched pairs"),
        (
            changed(row_match=[1, 0, -1], col_match=[1, 0, -1, -1], pair_costs=[1, 2]),
            "the assignment has 2 of 3 pairs, and no cover that proves that there can be no more",
        ),
        (
            changed(status=Status.LIMITED),
            "the assignment says it is 'limited', but with 3 of 3 pairs it is 'optimal'",
        ),
        (changed(cost_limit=1), "row 1 is matched with column 0, which is beyond the limit"),
        (
            changed(cost_limit=2, row_match=[1, 0, -1], col_match=[1, 0, -1, -1], pair_costs=[1, 2]),
            "the assignment says it is 'optimal', but with 2 of 3 pairs it is 'limited'",
        ),
        (changed(u=[2, 2]), "u must hold 3 duals of type int64; got int64 of shape (2,)"),
        (changed(v=np.zeros(4)), "v must hold 4 duals of type int64; got float64 of shape (4,)"),
        (changed(u=[4, 2, 2]), "u[0] + v[1] exceeds the cost of that pair by 1: the duals are not feasible"),
        (changed(v=[0, -2, 0, 1]), "v[3] is 1, but must not be above 0 on the side with more vertices"),
        (
            changed(u=[2, 2, 2]),
            "the duals leave a gap of 1, more than the tolerance 0: the assignment is not proven cheapest",
        ),
        (changed(v=[0, -2, 0, -3]), "the duals leave a gap of 3, more than the tolerance 0"),
        (changed(u=[2**62, 2, 2], v=[0, -(2**62), 0, 0]), "u[0] + v[2] exceeds the cost of that pair by "),
        (changed(u=[2**62, 2, 2], v=[2**62, 0, 0, 0]), "the duals are too large for costs of this range"),
        (changed(u=[-(2**62), 2, 2], v=[-(2**62), 0, 0, 0]), "the duals are too large for costs of this range"),
        (changed(u=[-(2**63), 2, 2]), "the duals are too large for costs of this range"),
        (changed(maximize=True), "u[0] + v[3] exceeds the cost of that pair by 12: the duals are not feasible"),
        (
            changed(row_match=[0, 1, 2], col_match=[0, 1, 2, -1], pair_costs=[4, 0, 2]),
            "the duals leave a gap of 1, more than the tolerance 0",
        ),
    ],
)
def test_what_is_wrong_is_found(wrong: Assignment, message: str) -> None:
    with pytest.raises(CertificateError) as caught:
        gmatch.verify(COST, wrong)
    assert str(caught.value).startswith(message)


def test_names_are_those_of_the_matrix_as_given() -> None:
    """Errors name rows and columns of the matrix as given. Solvers and checks see the transpose of a tall matrix."""
    tall = assignment([1, 0, 2, -1], [1, 0, 2], [0, -2, 0, 0], [3, 2, 2], [2, 1, 2])
    assert gmatch.verify(COST.T, tall).cost == 5
    for fields, message in (
        ({"v": [4, 2, 2]}, r"^u\[1\] \+ v\[0\] exceeds the cost of that pair by 1: the duals are not feasible$"),
        ({"u": [0, -2, 0, 1]}, r"^u\[3\] is 1, but must not be above 0 on the side with more vertices$"),
        ({"v": [2, 2, 2]}, "^the duals leave a gap of 1, "),
    ):
        arrays = {name: np.array(value) for name, value in fields.items()}
        with pytest.raises(CertificateError, match=message):
            gmatch.verify(COST.T, dataclasses.replace(tall, **arrays))


def test_floats_that_are_no_duals() -> None:
    good = gmatch.lap(COST.astype(float))
    for name, value in (("u", np.nan), ("v", INF), ("v", -INF)):
        duals = getattr(good, name).copy()
        duals[2] = value
        with pytest.raises(CertificateError, match=rf"^{name}\[2\] is -?(nan|inf), which is no dual$"):
            gmatch.verify(COST.astype(float), dataclasses.replace(good, **{name: duals}))


def test_forbidden_pairs_are_not_made(device: str) -> None:
    for maximize in (False, True):
        cost = np.array([[1.0, 2.0], [3.0, 4.0]])
        good = gmatch.lap(on(cost, device), maximize=maximize)
        row = int(np.flatnonzero(host(good.row_match) == 1)[0])
        cost[row, 1] = -INF if maximize else INF
        forged = dataclasses.replace(good, pair_costs=on(cost[[0, 1], host(good.row_match)], device))
        with pytest.raises(CertificateError, match=f"^row {row} is matched with column 1, which is forbidden$"):
            gmatch.verify(on(cost, device), forged)


def test_other_costs(device: str) -> None:
    good = gmatch.lap(on(COST, device))
    other = COST.copy()
    other[0, 3] = -20
    with pytest.raises(CertificateError, match=r"^u\[0\] \+ v\[3\] exceeds the cost of that pair by "):
        gmatch.verify(on(other, device), good)
    for wrong in (gmatch.DenseCosts(COST, maximize=True), gmatch.DenseCosts(COST, cost_limit=3)):
        with pytest.raises(CertificateError, match="^the assignment is for maximize=False and cost_limit=None, the "):
            gmatch.verify(wrong, good)
    with pytest.raises(gmatch.InvalidInput):
        gmatch.verify(on(np.full((3, 4), np.nan), device), good)


def test_a_matching_is_still_verified() -> None:
    graph = gmatch.DenseCosts(np.where(COST > 3, INF, 1.0)).allowed_pairs()
    assert isinstance(gmatch.verify(graph, gmatch.max_matching(graph)), gmatch.Certificate)


class TestCovers:
    #  rows 0 and 1 share column 0
    COST = np.array([[1, INF, INF, INF], [2, INF, INF, INF], [5, 4, 9, INF]])

    @pytest.fixture(params=[False, True])
    def transposed(self, request: pytest.FixtureRequest) -> bool:
        return request.param

    def solved(self, transposed: bool) -> tuple[np.ndarray, Assignment]:
        cost = self.COST.T if transposed else self.COST
        good = gmatch.lap(cost, infeasible="partial")
        assert gmatch.verify(cost, good) == AssignmentCertificate(5.0, 0.0, gmatch.verify(cost, good).tolerance)
        return cost, good

    def refused(self, transposed: bool, message: str, **fields: object) -> None:
        cost, good = self.solved(transposed)
        arrays = {name: np.array(value) if isinstance(value, list) else value for name, value in fields.items()}
        with pytest.raises(CertificateError, match=message):
            gmatch.verify(cost, dataclasses.replace(good, **arrays))

    def cover(self, transposed: bool, rows: list, columns: list) -> tuple:
        sides = np.array(rows, int), np.array(columns, int)
        return sides[::-1] if transposed else sides

    def test_without_one(self, transposed: bool) -> None:
        self.refused(transposed, "^the assignment has 2 of 3 pairs, and no cover that ", cover=None)

    def test_one_that_is_too_large(self, transposed: bool) -> None:
        message = "^the cover has . rows and . columns, not 2 vertices: the matching is not proven largest$"
        self.refused(transposed, message, cover=self.cover(transposed, [0, 2], [0]))

    def test_one_that_does_not_cover(self, transposed: bool) -> None:
        row, column = (1, 2) if transposed else (2, 1)
        message = f"^the pair of row {row} and column {column} is allowed, but not covered: the matching is not proven"
        self.refused(transposed, message, cover=self.cover(transposed, [0], [0]))

    def test_numbers_out_of_range_or_double(self, transposed: bool) -> None:
        name = "row" if transposed else "column"
        for columns, message in (
            ([7], rf"^the cover's {name} numbers must be"),
            ([0, 0], f"^the cover names a {name} t"),
        ):
            self.refused(transposed, message, cover=self.cover(transposed, [2], columns))

    def test_duals(self, transposed: bool) -> None:
        rows, columns = ("v", "u") if transposed else ("u", "v")
        # Column 0 with rows 0 and 1, and row 2 with columns 1 to 3. The larger sides have duals of at most 0.
        u, v = [0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 0.0]
        for changes, message in (
            ({rows: [0.0, 0.0, 4.5]}, "exceeds the cost of that pair by 0.5"),
            ({columns: [1.5, 0.0, 0.0, 0.0]}, "exceeds the cost of that pair by 0.5"),
            ({rows: [0.0, 0.0, 3.0]}, "^the duals leave a gap of 1.0, more than the tolerance "),
            ({columns: [0.5, 0.0, 0.0, 0.0]}, "^the duals leave a gap of 0.5, more than the tolerance "),
            ({rows: [0.0, 0.5, 4.0]}, rf"^{rows}\[1\] is 0.5, but must not be above 0 on the side with more vertices$"),
            (
                {columns: [1.0, 0.0, 0.0, 2.0]},
                rf"^{columns}\[3\] is 2.0, but must not be above 0 on the side with more",
            ),
        ):
            self.refused(transposed, message, **{rows: u, columns: v} | changes)


def test_the_tolerance_is_a_matter_of_rounding() -> None:
    rng = np.random.default_rng(0)
    for n in (10, 100, 400):
        for dtype in ("float32", "float64"):
            cost = rng.random((n, n)).astype(dtype)
            for method in METHODS["cpu"]:
                certificate = gmatch.verify(cost, gmatch.lap(cost, method=method))
                # Duals are of the size of costs, an auction's somewhat larger.
                assert 0 <= certificate.gap <= certificate.tolerance <= 64 * 2.0**-52 * 2 * n * 2


def test_the_tolerance_cannot_be_bought_with_large_duals() -> None:
    cost = np.array([[1.0, 2.0], [2.0, 1.0]])
    forged = gmatch.lap(cost, maximize=True)
    forged = dataclasses.replace(forged, maximize=False, u=np.full(2, 1e20), v=np.full(2, -1e20))
    with pytest.raises(CertificateError, match="^the duals are too large for costs of this range: float64 "):
        gmatch.verify(cost, forged)


@pytest.mark.parametrize("entries", [1, 7, 100])
def test_blocks(entries: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of the blocks, the last entry counts."""
    monkeypatch.setattr("gmatch.problems.limits.ENTRIES_PER_BLOCK", {"cpu": entries, "gpu": entries})
    rng = np.random.default_rng(0)
    for shape in ((9, 9), (7, 11), (11, 7)):
        cost = rng.integers(0, 100, shape)
        good = gmatch.lap(on(cost, device))
        gmatch.verify(on(cost, device), good)
        for row, column in itertools.product(*map(range, shape)):
            if host(good.row_match)[row] == column:
                continue
            cheaper = cost.copy()
            cheaper[row, column] -= 1000
            name = rf"^u\[{row}\] \+ v\[{column}\] exceeds the cost of that pair by "
            with pytest.raises(CertificateError, match=name):
                gmatch.verify(on(cheaper, device), good)
        forbidding = np.where(rng.random(shape) < 0.85, INF, cost)
        partial = gmatch.lap(on(forbidding, device), infeasible="partial", certify=True)
        assert partial.status == "partial"


@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=4), elements=st.integers(-3, 3)),
    st.data(),
)
@settings(max_examples=400, deadline=None)
def test_what_is_proven_is_true(cost: np.ndarray, data: st.DataObject) -> None:
    """Any matching with any duals: if `verify` accepts it, no assignment is cheaper."""
    rows, columns = cost.shape
    size = min(rows, columns)
    row_ind = data.draw(st.permutations(range(rows)))[:size]
    col_ind = data.draw(st.permutations(range(columns)))[:size]
    row_match, col_match = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
    row_match[row_ind], col_match[col_ind] = col_ind, row_ind
    # Duals near the optimal ones, or any.
    best = gmatch.lap(cost)
    noise = st.integers(-1, 1) if data.draw(st.booleans()) else st.just(0)
    u = best.u + data.draw(hnp.arrays(np.int64, rows, elements=noise))
    v = best.v + data.draw(hnp.arrays(np.int64, columns, elements=noise))
    matched = np.sort(row_ind)
    guess = Assignment(row_match, col_match, u, v, cost[matched, row_match[matched]], Status.OPTIMAL)
    _, least = brute_force(cost)
    try:
        assert gmatch.verify(cost, guess).cost == least
    except CertificateError:
        exact = (u == best.u).all() and (v == best.v).all()
        assert guess.cost > least or not exact


def test_no_other_partial_matching_is_proven() -> None:
    """Two pairs exchange their columns, or one pair is dropped."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        cost = random_costs(rng, "float64", False)
        good = gmatch.lap(cost, infeasible="partial")
        if good.size < 2:
            continue
        row_match, col_match = good.row_match.copy(), good.col_match.copy()
        first, second = good.row_ind[:2]
        row_match[[first, second]] = row_match[[second, first]]
        col_match[row_match[[first, second]]] = [first, second]
        pairs = cost[good.row_ind, row_match[good.row_ind]]
        forged = dataclasses.replace(good, row_match=row_match, col_match=col_match, pair_costs=pairs)
        if pairs.sum() > good.cost:
            with pytest.raises(CertificateError):
                gmatch.verify(cost, forged)
            refused += 1
        row_match, col_match = good.row_match.copy(), good.col_match.copy()
        col_match[row_match[first]] = row_match[first] = -1
        with pytest.raises(CertificateError):
            gmatch.verify(
                cost,
                dataclasses.replace(good, row_match=row_match, col_match=col_match, pair_costs=good.pair_costs[1:]),
            )
    assert refused > 50


def test_a_part_without_rows_names_its_columns() -> None:
    cost = np.array([[1, np.inf, np.inf], [2, np.inf, np.inf]])
    found = gmatch.lap(cost, infeasible="partial")
    duals = found.v.copy()
    duals[1] += 5
    with pytest.raises(gmatch.CertificateError, match=r"v\[1\] is 5.0, but must not be above 0"):
        gmatch.verify(cost, dataclasses.replace(found, v=duals))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_what_is_no_result_is_refused(kind: Any) -> None:
    problem = kind(np.eye(3))
    for nothing in (None, (np.arange(3), np.arange(3)), np.arange(3)):
        with pytest.raises(gmatch.InvalidInput, match="expected a Matching, an Assignment"):
            gmatch.verify(problem, nothing)
    found = gmatch.lap(problem)
    with pytest.raises(gmatch.CertificateError, match="row_match must be a one-dimensional array.*; got list"):
        gmatch.verify(problem, dataclasses.replace(found, row_match=[0, 1, 2]))
    with pytest.raises(gmatch.CertificateError, match="the cover must be"):
        gmatch.verify(problem, dataclasses.replace(found, cover=3))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("maximize", [False, True])
def test_limits_far_from_the_costs(kind: Any, maximize: bool) -> None:
    """The duals are as far from 0 as the limits, on one side or the other."""
    sign = -1 if maximize else 1
    for costs in ([[1, 2], [3, 1]], [[1, 2, 3], [3, 1, 2]], [[1, 2], [3, 1], [2, 2]], [[2**63 - 1000, 5]]):
        for dtype in (np.int32, np.int64):
            if np.max(costs) > np.iinfo(dtype).max:
                continue
            problem = kind(np.array(costs, dtype) * dtype(sign))
            for limit in (-(2**62) - 1, -(2**62), -(2**63) + 1000):
                found = gmatch.lap(problem, cost_limit=sign * limit, maximize=maximize, certify=True)
                assert found.size == 0 and found.status == "limited"
            if kind is np.asarray:
                assert gmatch.lap(problem[None], cost_limit=sign * limit, maximize=maximize, certify=True)[0].size == 0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("offset", [2**62, -(2**62), 2**63 - 1000, 1000 - 2**63])
def test_costs_far_from_zero_are_proven(kind: Any, offset: int) -> None:
    for shape in ((3, 3), (2, 4), (4, 2)):
        cost = offset + np.arange(math.prod(shape)).reshape(shape) % 5
        for method in ("jv", "tree"):
            found = gmatch.lap(kind(cost), method=method, certify=True)
            assert gmatch.verify(kind(cost), found).cost == found.cost
            wrong = dataclasses.replace(found, u=found.u + 1)
            with pytest.raises(CertificateError, match="not feasible|too large|must not be above 0"):
                gmatch.verify(kind(cost), wrong)


EMPTY = np.array([], int)
WRONG_COVERS = {
    "lists": ([0, 1], []),
    "nothing": (None, None),
    "a number": (np.array(0), EMPTY),
    "booleans": (np.array([True]), EMPTY),
    "floats": (np.array([0.0]), EMPTY),
    "two dimensions": (np.array([[0]]), EMPTY),
    "strings": (EMPTY, np.array(["a"])),
    "masked": (EMPTY, np.ma.array([0])),
    "three": (EMPTY, EMPTY, EMPTY),
}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cover", WRONG_COVERS.values(), ids=WRONG_COVERS)
def test_covers_that_are_none(kind: Any, cover: tuple) -> None:
    problem = kind(np.array([[1, INF], [2, INF]]))
    found = gmatch.lap(problem, infeasible="partial", certify=True)
    with pytest.raises(CertificateError, match="cover"):
        gmatch.verify(problem, dataclasses.replace(found, cover=cover))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["pair_costs", "u", "v", "row_match", "col_match"])
def test_fields_that_are_no_arrays(kind: Any, name: str) -> None:
    problem = kind(np.array([[1, 2], [3, 1]]))
    found = gmatch.lap(problem)
    for wrong in (getattr(found, name).tolist(), None, [[0], [1, 2]], np.ma.array([1, 1]), np.array(1)):
        with pytest.raises(CertificateError, match=f"^{name} must be a one-dimensional array without a mask; got "):
            gmatch.verify(problem, dataclasses.replace(found, **{name: wrong}))
