"""Every method, start, type and device on costs with ties, forbidden pairs, limits, and sides without vertices."""

import contextlib
import itertools
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import DTYPES, METHODS, STARTS, brute_force, methods_that_read, on, price, random_costs
from conftest import GPU, host
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment

import gmatch

STATS = {
    "method", "reason", "initial", "backend", "team", "threads", "seconds", "start_size", "phases", "levels",
    "dual_steps", "rows_scanned", "edges_inspected", "levels_per_phase", "augmentations_per_phase",
}  # fmt: skip


def solve(cost: np.ndarray, device: str, **options: object) -> gmatch.Assignment:
    """The assignment, proven, of costs that live on a device."""
    there = on(cost, device)
    assignment = gmatch.lap(there, **options)
    assert gmatch.verify(there, assignment).cost == assignment.cost
    assert set(assignment.stats) >= STATS
    return assignment


def turns(case: int, device: str, dtype: Any = np.int32) -> dict:
    """A method, a start and a number of threads, in turn."""
    methods = methods_that_read(dtype, device)
    method = methods[case % len(methods)]
    threads = (None, 1, 2, 8)[case // 12 % 4] if device == "cpu" and method not in ("auto", "jv") else None
    return {"method": method, "initial": STARTS[case // 4 % len(STARTS)], "threads": threads}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_all_matchings(dtype: str, maximize: bool, device: str) -> None:
    rng = np.random.default_rng(DTYPES.index(dtype))
    for case in range(240 if device == "cpu" else 24):
        cost = random_costs(rng, dtype, maximize)
        before = cost.copy()
        size, best = brute_force(cost, maximize)
        options = turns(case, device, dtype) | {"maximize": maximize}
        assignment = solve(cost, device, infeasible="partial", **options)
        assert (assignment.size, assignment.cost) == (size, best), (case, cost)
        assert assignment.status == ("optimal" if size == min(cost.shape) else "partial")
        assert isinstance(assignment.cost, float if cost.dtype.kind == "f" else int)
        assert (cost == before).all()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
def test_limits_against_all_matchings(dtype: str, maximize: bool, device: str) -> None:
    rng = np.random.default_rng(DTYPES.index(dtype))
    for case in range(400 if device == "cpu" else 24):
        cost = random_costs(rng, dtype, maximize)
        limit = int(rng.integers(-6, 7)) + rng.choice([0, 0.25, 0.5])
        assignment = solve(cost, device, cost_limit=limit, **turns(case, device, dtype), maximize=maximize)
        _, best = brute_force(cost, maximize, limit)
        assert price(cost, assignment, limit) == best, (case, cost, limit)
        assert assignment.status == ("optimal" if assignment.size == min(cost.shape) else "limited")
        assert isinstance(assignment.cost, float if cost.dtype.kind == "f" else int)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_against_scipy(dtype: str, device: str) -> None:
    rng = np.random.default_rng(0)
    for case, (rows, columns) in enumerate([(30, 30), (31, 90), (70, 20), (150, 150), (1, 200), (200, 3), (120, 128)]):
        for most in (3, 100, 10**6):
            cost = rng.integers(-most, most, (rows, columns)).astype(dtype)
            for maximize in (False, True):
                expected = cost[linear_sum_assignment(cost, maximize)].sum(dtype="float64")
                for turn in range(len(METHODS[device])):
                    options = turns(turn + 4 * case, device)
                    assert solve(cost, device, maximize=maximize, **options).cost == expected
        # Forbidden pairs that leave one assignment.
        if np.dtype(dtype).kind == "f":
            cost[rng.random(cost.shape) < 0.8] = np.inf
            np.fill_diagonal(cost, 1)
            expected = cost[linear_sum_assignment(cost)].sum(dtype="float64")
            assert solve(cost, device, **turns(case, device)).cost == expected


INSTANCES = {
    "constant": np.full((40, 40), 7),
    "constant, wide": np.full((30, 40), -7.5),
    "one entry": np.array([[5]]),
    "one row": np.arange(9)[None, ::-1],
    "one column": np.arange(9.0)[::-1, None],
    "tall": np.random.default_rng(0).random((3000, 5)),
    "Machol-Wien": np.outer(np.arange(1, 61), np.arange(1, 61)),
    "few values": np.random.default_rng(0).integers(0, 2, (80, 80)).astype(bool),
    "near-ties": 1 + np.random.default_rng(0).integers(0, 3, (50, 50)) * 2.0**-52,
    "near-ties, large": 1e15 + np.random.default_rng(0).integers(0, 3, (50, 60)) / 8,
    "wide range": 10.0 ** np.random.default_rng(0).uniform(-300, 300, (40, 40)),
    "wide range, both signs": 10.0 ** np.random.default_rng(0).uniform(-300, 300, (30, 40)) * ([-1, 1] * 20),
    "denormal": np.random.default_rng(0).integers(0, 1000, (30, 30)) * 5e-324,
    "low rank": np.random.default_rng(0).random((60, 2)) @ np.random.default_rng(1).random((2, 60)),
    "big M": np.where(np.random.default_rng(0).random((60, 60)) < 0.9, 1e18, np.random.default_rng(1).random((60, 60))),
    "infinite corner": np.pad(np.full((20, 20), np.inf), ((0, 20), (0, 20))),
    "signed zeros": np.array([[0.0, -0.0], [-0.0, 0.0]]),
    "float32 extremes": np.array([[3e38, -3e38], [1e-45, 3e38]], np.float32),
    "int32 extremes": np.array([[2**31 - 1, -(2**31)], [-(2**31), -(2**31)]], np.int32),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_instances(name: str, device: str) -> None:
    for method, maximize in itertools.product(methods_that_read(INSTANCES[name].dtype, device), [False, True]):
        cost = INSTANCES[name]
        if maximize and name == "infinite corner":
            cost = -cost
        rows, columns = linear_sum_assignment(cost, maximize)
        assignment = solve(cost, device, method=method, maximize=maximize)
        expected = sum(map(Fraction, cost[rows, columns].tolist()))
        found = sum(map(Fraction, host(assignment.pair_costs).tolist()))
        certificate = gmatch.verify(on(cost, device), assignment)
        # SciPy rounds too.
        assert abs(found - expected) <= 2 * Fraction(certificate.tolerance)


@pytest.mark.parametrize("method", ["tree", "classical", "munkres"])
def test_bids_leave_few_rows_to_the_search(method: str, device: str) -> None:
    """Minima leave 21 or 22 rows of 100 to the search. Bids must go on when rows are displaced."""
    n = 300
    for dtype in (np.int32, np.float64):
        cost = np.random.default_rng(3).integers(0, 1000 * n, (n, n)).astype(dtype)
        minima = solve(cost, device, method=method, initial="reduce")
        bids = solve(cost, device, method=method, initial="bids")
        assert minima.cost == bids.cost and bids.stats["initial"] == "bids"
        assert minima.stats["start_size"] < 0.85 * n and bids.stats["start_size"] > 0.95 * n
        assert bids.stats["rows_scanned"] < minima.stats["rows_scanned"]


def test_which_searches_start_from_bids(device: str) -> None:
    rng = np.random.default_rng(4)
    for most, starts in ((10, ("reduce", "reduce")), (60, ("bids", "reduce")), (10**6, ("bids", "bids"))):
        cost = rng.integers(0, most, (60, 60))
        found = tuple(solve(cost, device, method=method).stats["initial"] for method in ("tree", "classical"))
        assert found == starts
        assert solve(cost, device, method="munkres").stats["initial"] == "reduce"
    assert solve(rng.random((60, 60)), device, method="tree-nearest").stats["initial"] == "bids"
    for method, start in (("tree", "bids"), ("classical", "reduce")):
        assert gmatch.lap(on(rng.random((3, 8, 8)), device), method=method).stats["initial"] == start


@pytest.mark.parametrize("initial", ["auto", "reduce", "bids", "regret", "none"])
@pytest.mark.parametrize("method", ["jv", "core"])
def test_stats_name_the_start_that_was_made(method: str, initial: str) -> None:
    cost = np.random.default_rng(5).random((200, 200))
    assert gmatch.lap(cost, method=method, initial=initial, threads=2).stats["initial"] == (
        "none" if (method, initial) == ("core", "none") else "reduce"
    )
    assert gmatch.lap(cost[None, :9, :9], method="jv", initial=initial, device="cpu").stats["initial"] == "reduce"


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_rows_or_no_columns(shape: tuple, dtype: str, device: str) -> None:
    for options in ({}, {"maximize": True}, {"cost_limit": 3}, {"infeasible": "partial"}, {"initial": [-1] * shape[0]}):
        if options.get("initial") == []:
            continue
        assignment = solve(np.empty(shape, dtype), device, **options)
        assert (assignment.size, assignment.cost, assignment.status) == (0, 0, "optimal")
        assert host(assignment.row_match).tolist() == [-1] * shape[0]
        assert host(assignment.col_match).tolist() == [-1] * shape[1]
        row_ind, col_ind = assignment
        assert len(row_ind) == len(col_ind) == 0


def test_it_unpacks_as_scipys_result_does() -> None:
    cost = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    row_ind, col_ind = assignment = gmatch.lap(cost)
    assert row_ind.tolist() == [0, 1, 2] and col_ind.tolist() == [1, 0, 2]
    assert cost[row_ind, col_ind].sum() == assignment.cost == 5
    assert repr(assignment) == "<Assignment of 3 pairs between 3 rows and 3 columns, cost 5, optimal>"
    assert assignment.witness is None
    row_ind, col_ind = gmatch.lap(cost[:, :2])
    assert row_ind.tolist() == [0, 1] and col_ind.tolist() == [1, 0]


def test_costs_beyond_int64_are_python_ints(device: str) -> None:
    cost = np.full((20, 20), 2**62, np.int64)
    assert solve(cost, device).cost == 20 * 2**62
    assert solve(-cost, device).cost == -20 * 2**62


@pytest.mark.parametrize("maximize", [False, True])
def test_int64_is_exact_beyond_float64(maximize: bool, device: str) -> None:
    rng = np.random.default_rng(3)
    for case in range(100 if device == "cpu" else 8):
        shape = tuple(rng.integers(1, 6, 2))
        small = rng.integers(-3, 4, shape)
        base = int(rng.choice([2**60, -(2**60), 2**62]))
        cost = small + base
        size, best = brute_force(small, maximize)
        assert solve(cost, device, maximize=maximize, **turns(case, device)).cost == int(best) + size * base


def test_int64_with_wide_range_is_exact() -> None:
    rng = np.random.default_rng(4)
    for case in range(50):
        n = int(rng.integers(2, 5))
        cost = rng.integers(-(2**56), 2**56, (n, n))
        best = min(sum(int(cost[i, j]) for i, j in enumerate(way)) for way in itertools.permutations(range(n)))
        assert solve(cost, "cpu", **turns(case, "cpu")).cost == best


@pytest.mark.parametrize("shape", [(60, 60), (40, 70), (70, 40)])
def test_duals_stay_in_range(shape: tuple, device: str) -> None:
    """The widest range that is allowed, and costs for which duals wander far."""
    rng = np.random.default_rng(0)
    far = np.outer(np.arange(1, shape[0] + 1), np.arange(1, shape[1] + 1)) * (2**57 // (shape[0] * shape[1]))
    for cost in (far, far - 2**56, rng.integers(-(2**56), 2**56, shape), rng.integers(0, 2, shape) * 2**57):
        for method in METHODS[device]:
            if method == "core":  # of a part of the costs, whose duals can wander farther
                continue
            solve(cost, device, method=method, initial="none")
            solve(cost, device, method=method, maximize=True)


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.integers(-9, 9)),
    hnp.arrays(bool, (5, 5)),
    st.sampled_from(METHODS["cpu"]),
    st.sampled_from(STARTS),
    st.booleans(),
    st.one_of(st.none(), st.integers(-10, 10)),
)
@settings(max_examples=300, deadline=None)
def test_any_costs(
    cost: np.ndarray, forbidden: np.ndarray, method: str, start: str, maximize: bool, limit: int | None
) -> None:
    cost[forbidden[: cost.shape[0], : cost.shape[1]]] = -np.inf if maximize else np.inf
    options = {"maximize": maximize, "cost_limit": limit, "method": method, "initial": start}
    assignment = solve(cost, "cpu", infeasible="partial", **options)
    size, best = brute_force(cost, maximize, limit)
    if limit is None:
        assert (assignment.size, assignment.cost) == (size, best)
    else:
        assert price(cost, assignment, limit) == best


@given(hnp.arrays(np.float64, (4, 4), elements=st.floats(-1e300, 1e300)), st.sampled_from(METHODS["cpu"]))
@settings(max_examples=200, deadline=None)
def test_any_floats_are_proven(cost: np.ndarray, method: str) -> None:
    solve(cost, "cpu", method=method)


@pytest.mark.parametrize("order", ["C", "F", "sliced", "reversed", "broadcast", "transposed"])
@pytest.mark.parametrize("dtype", ["int32", "float64", "int16"])
def test_strides(order: str, dtype: str, device: str) -> None:
    rng = np.random.default_rng(0)
    base = on(rng.integers(0, 50, (24, 18)).astype(dtype), device)
    cost = {
        "C": base,
        "F": base.copy(order="F"),
        "sliced": base[::3, 1::2],
        "reversed": base[::-1, ::-2],
        "broadcast": base[:1, :].repeat(24, axis=0) if device == "gpu" else np.broadcast_to(base[0], (24, 18)),
        "transposed": base.T,
    }[order]
    expected = host(cost)[linear_sum_assignment(host(cost))].sum()
    for method in methods_that_read(dtype, device):
        assignment = gmatch.lap(cost, method=method, certify=True)
        assert assignment.cost == expected


def test_read_only_costs() -> None:
    for dtype in DTYPES:
        cost = np.eye(5).astype(dtype)
        cost.flags.writeable = False
        for method in methods_that_read(dtype, "cpu"):
            assert gmatch.lap(cost, method=method, certify=True).cost == 0


def test_results_live_where_the_costs_live(device: str) -> None:
    for array in (np.random.default_rng(0).random((4, 6)), np.random.default_rng(0).random((6, 4))):
        cost = on(array, device)
        assignment = gmatch.lap(cost)
        names = ("row_match", "col_match", "u", "v", "pair_costs", "row_ind", "col_ind")
        assert all(type(getattr(assignment, name)) is type(cost) for name in names)
        assert [getattr(assignment, name).shape[0] for name in names] == [*array.shape, *array.shape, 4, 4, 4]
        assert assignment.stats["backend"] == device


@pytest.mark.parametrize(
    "options",
    [{}, {"maximize": True}, {"deterministic": True}, {"cost_limit": 3.5}, {"cost_limit": 0.5}, {"device": "cpu"}],
    ids=repr,
)
def test_pair_costs_are_the_entries_of_the_pairs(options: dict[str, Any], device: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((40, 40), (40, 60), (60, 40)):
        for layout in "CF":
            array = rng.integers(0, 5, shape).astype(np.int32, order=layout)
            cost = on(array, device)
            assignment = gmatch.lap(cost, **options, certify=True)
            rows, columns = map(host, assignment)
            assert host(assignment.pair_costs).tolist() == array[rows, columns].tolist()
            assert type(assignment.pair_costs) is type(cost) and assignment.pair_costs.dtype == np.int32


def test_moving_costs_to_a_device_and_results_back(device: str) -> None:
    cost = np.random.default_rng(0).random((30, 20))
    cost[3:, :12] = np.inf
    for there in ("cpu", "gpu") if GPU else ("cpu",):
        given = on(cost, device)
        assignment = gmatch.lap(given, device=there, infeasible="partial", certify=True)
        assert assignment.stats["backend"] == there and assignment.status == "partial"
        arrays = assignment.row_match, assignment.u, assignment.v, *assignment.cover, *assignment.witness
        assert all(type(array) is type(given) for array in arrays)
        assert gmatch.lap(given, initial=assignment, device=there, cost_limit=0.4, certify=True).status == "limited"


def test_stats() -> None:
    cost = np.random.default_rng(0).random((30, 40))
    stats = gmatch.lap(cost, method="tree").stats
    assert stats["method"] == "tree-many" and stats["initial"] == "bids" and stats["threads"] == 1
    assert set(stats["seconds"]) == {"start", "search", "augment", "price", "ties"}
    assert sum(stats["augmentations_per_phase"]) + stats["start_size"] == 30
    assert gmatch.lap(cost, method=gmatch.Tree("nearest"), initial="none").stats["initial"] == "none"
    assert gmatch.lap(cost).stats["method"] == "jv"


class TestForbiddenPairs:
    #          0    1    2    3
    COST = np.array(
        [
            [1.0, np.inf, np.inf, np.inf],
            [2.0, np.inf, np.inf, np.inf],
            [5.0, 4.0, 9.0, np.inf],
        ]
    )

    def test_the_witness_of_rows(self, device: str) -> None:
        for method in METHODS[device]:
            with pytest.raises(gmatch.Infeasible) as caught:
                gmatch.lap(on(self.COST, device), method=method)
            error = caught.value
            assert host(error.rows).tolist() == [0, 1] and host(error.columns).tolist() == [0]
            assert isinstance(error, ValueError) and isinstance(error, gmatch.GmatchError)
            assert str(error) == (
                "no assignment avoids the forbidden pairs: 2 of 3 pairs can be made; the error's 2 rows may only be "
                "matched with its 1 columns; use infeasible='partial' to make as many as can be, or cost_limit to let "
                "rows and columns stay free"
            )

    def test_the_witness_of_columns(self, device: str) -> None:
        match = "the error's 2 columns may only be matched with its 1 rows"
        with pytest.raises(gmatch.Infeasible, match=match) as caught:
            gmatch.lap(on(-self.COST.T, device), maximize=True)
        assert host(caught.value.columns).tolist() == [0, 1] and host(caught.value.rows).tolist() == [0]

    def test_the_error_can_be_sent_to_another_process(self) -> None:
        with pytest.raises(gmatch.Infeasible) as caught:
            gmatch.lap(self.COST)
        sent = pickle.loads(pickle.dumps(caught.value))
        assert str(sent) == str(caught.value) and sent.rows.tolist() == [0, 1]

    def test_witnesses_are_witnesses(self, device: str) -> None:
        rng = np.random.default_rng(0)
        raised = 0
        for case in range(300 if device == "cpu" else 20):
            cost = random_costs(rng, "float64", False, largest=8)
            allowed = np.isfinite(cost)
            with contextlib.suppress(gmatch.Infeasible):
                gmatch.lap(on(cost, device), **turns(case, device))
                continue
            with pytest.raises(gmatch.Infeasible) as caught:
                gmatch.lap(on(cost, device), **turns(case, device))
            rows, columns = host(caught.value.rows), host(caught.value.columns)
            if cost.shape[0] <= cost.shape[1]:
                assert len(rows) > len(columns) and not np.delete(allowed[rows], columns, axis=1).any()
            else:
                assert len(columns) > len(rows) and not np.delete(allowed[:, columns], rows, axis=0).any()
            witness = gmatch.lap(on(cost, device), infeasible="partial").witness
            assert all((host(side) == side_of).all() for side, side_of in zip(witness, (rows, columns), strict=True))
            raised += 1
        assert raised > 5

    def test_the_cheapest_of_the_largest(self, device: str) -> None:
        assignment = solve(self.COST, device, infeasible="partial")
        assert host(assignment.row_match).tolist() == [0, -1, 1]
        assert (assignment.cost, assignment.status, assignment.size) == (5.0, "partial", 2)
        assert [host(side).tolist() for side in assignment.witness] == [[0, 1], [0]]

    def test_nothing_is_allowed(self, device: str) -> None:
        for shape in ((1, 1), (3, 5), (5, 3)):
            cost = np.full(shape, np.inf)
            assignment = solve(cost, device, infeasible="partial")
            assert (assignment.size, assignment.cost, assignment.status) == (0, 0.0, "partial")
            assert solve(cost, device, cost_limit=-3).size == 0
            with pytest.raises(gmatch.Infeasible, match="0 of"):
                gmatch.lap(on(cost, device))

    def test_larger(self, device: str) -> None:
        """More rows than a block of the checks has; blocks of allowed pairs."""
        rng = np.random.default_rng(5)
        cost = rng.random((700, 600))
        cost[rng.random(cost.shape) < 0.9] = np.inf
        cost[:400, 350:] = np.inf
        cost[:, 5] = np.inf
        for method in METHODS[device]:
            assignment = solve(cost, device, infeasible="partial", method=method)
            assert assignment.status == "partial"
            assert assignment.size == gmatch.structural_rank(gmatch.DenseCosts(cost).allowed_pairs())


class TestLimits:
    COST = np.array([[1, 5], [5, 9]])

    def test_a_pair_at_the_limit_is_made(self, device: str) -> None:
        for dtype in ("int32", "int64", "float32", "float64"):
            assignment = solve(self.COST.astype(dtype), device, cost_limit=9)
            assert (assignment.size, assignment.cost, assignment.status) == (2, 10, "optimal")
            assignment = solve(self.COST.astype(dtype), device, cost_limit=8)
            # {1} saves 7, {5, 5} saves 3 twice.
            assert (assignment.size, assignment.cost, assignment.status) == (1, 1, "limited")
            assert assignment.cost_limit == 8

    def test_a_pair_worth_less_than_the_limit_is_not_made(self, device: str) -> None:
        assignment = solve(self.COST, device, cost_limit=6, maximize=True)
        assert (assignment.size, assignment.cost, assignment.status) == (1, 9, "limited")
        assert host(assignment.row_match).tolist() == [-1, 1]
        assert assignment.cost_limit == 6

    def test_no_pair_is_cheap_enough(self, device: str) -> None:
        for dtype in ("int32", "int64", "float32", "float64"):
            for limit in (0, -1000, 0.5, -(2**40)):
                assignment = solve(self.COST.astype(dtype), device, cost_limit=limit)
                assert (assignment.size, assignment.cost, assignment.status) == (0, 0, "limited")

    def test_limits_that_limit_nothing(self, device: str) -> None:
        for limit in (9, 9.5, 10**30, np.inf, np.float32(50), np.int8(50), Fraction(19, 2)):
            assignment = solve(self.COST, device, cost_limit=limit)
            assert assignment.status == "optimal" and assignment.cost == 10
        assert solve(self.COST, device, maximize=True, cost_limit=-np.inf).cost == 10

    def test_a_float32_cost_is_compared_with_the_limit_exactly(self, device: str) -> None:
        cost = np.array([[0.1]], np.float32)
        assert solve(cost, device, cost_limit=0.1).size == 0
        assert solve(cost, device, cost_limit=float(cost[0, 0])).size == 1

    def test_a_limit_that_is_not_whole_for_integers(self, device: str) -> None:
        for dtype in ("int16", "int32", "int64"):
            assignment = solve(self.COST.astype(dtype), device, cost_limit=5.5)
            assert assignment.cost == 1 and isinstance(assignment.cost, int)
            assert assignment.pair_costs.dtype.kind == "i" and assignment.u.dtype == np.float64

    def test_forbidden_pairs_are_dear_ones(self, device: str) -> None:
        cost = np.array([[np.inf, np.inf], [1.0, 2.0]])
        for limit in (1e300, 5, -5):
            assignment = solve(cost, device, cost_limit=limit)
            assert assignment.status == "limited" and assignment.size == (limit > 0)


class TestStarts:
    def test_an_assignment_to_start_from(self, device: str) -> None:
        rng = np.random.default_rng(0)
        for case in range(60 if device == "cpu" else 10):
            cost = random_costs(rng, ("int32", "int64", "float32", "float64")[case % 4], False, largest=7)
            cost[~np.isfinite(cost.astype(float))] = 20
            rows, columns = cost.shape
            options = turns(case, device)
            options.pop("initial")
            first = solve(cost, device, **options)
            guess = np.full(rows, -1)
            chosen = rng.permutation(columns)[: int(rng.integers(0, min(rows, columns) + 1))]
            guess[rng.permutation(rows)[: len(chosen)]] = chosen
            before = guess.copy()
            cheaper = cost + rng.integers(0, 2, cost.shape).astype(cost.dtype)
            for changed in (cost, cheaper):
                best = solve(changed, device, **options).cost
                for start in (first, first.row_match, on(guess, device), guess.tolist() if rows else first):
                    again = solve(changed, device, initial=start, **options)
                    assert again.cost == best and again.stats["initial"] == "given"
                for initial in STARTS:
                    again = solve(changed, device, initial=initial, duals=(first.u, first.v), **options)
                    assert again.cost == best
            assert (guess == before).all()

    def test_any_duals(self, device: str) -> None:
        rng = np.random.default_rng(0)
        for case in range(100 if device == "cpu" else 10):
            dtype = ("int32", "int64", "float32", "float64")[case % 4]
            maximize = bool(case // 4 % 2)
            cost = random_costs(rng, dtype, maximize)
            u, v = (rng.integers(-50, 50, length) for length in cost.shape)
            if np.dtype(dtype).kind == "f":
                u = u / 8
            options = turns(case, device) | {"maximize": maximize, "infeasible": "partial"}
            size, best = brute_force(cost, maximize)
            assignment = solve(cost, device, duals=(u, on(v, device)), **options)
            assert (assignment.size, assignment.cost) == (size, best)

    def test_duals_save_work(self, device: str) -> None:
        rng = np.random.default_rng(0)
        for shape in ((200, 200), (200, 240), (240, 200)):
            cost = rng.integers(0, 10**6, shape)
            changed = cost.copy()
            changed[7, 9] += 1000
            for method in METHODS[device]:
                first = solve(cost, device, method=method)
                again = solve(changed, device, method=method, initial=first)
                assert again.stats["edges_inspected"] <= first.stats["edges_inspected"]
                assert again.stats["start_size"] >= 190 or method in ("auto", "jv")

    @pytest.mark.parametrize(
        "initial, message",
        [
            (
                "cheap",
                "unknown start 'cheap'; expected 'auto', 'reduce', 'bids', 'regret', 'none', an Assignment, or an "
                "array",
            ),
            (
                [0, 1],
                "initial must be an Assignment or an integer array of shape (3,), the column of each row or -1; "
                "got int64 of shape (2,)",
            ),
            (
                [0.0, 1, 2],
                "initial must be an Assignment or an integer array of shape (3,), the column of each row or -1; "
                "got float64 of shape (3,)",
            ),
            ([0, 1, 4], "initial must hold columns from 0 to 3, or -1; got 0 to 4"),
            ([0, 1, -2], "initial must hold columns from 0 to 3, or -1; got -2 to 1"),
            ([1, -1, 1], "initial must be a matching; column 1 is given to more than one row"),
            ([0, 2, 1], "initial must not use forbidden pairs; row 1 has column 2"),
            (np.ma.array([0, 1, 2], mask=[False, True, False]), "initial must not be masked"),
        ],
    )
    def test_starts_that_are_none(self, initial: object, message: str, device: str) -> None:
        cost = np.arange(12.0).reshape(3, 4)
        cost[1, 2] = np.inf
        with pytest.raises(gmatch.InvalidInput) as caught:
            gmatch.lap(on(cost, device), initial=initial)
        assert str(caught.value) == message

    @pytest.mark.parametrize(
        "duals, message",
        [
            (5, "duals must be a pair of arrays, (u, v); got int"),
            (([0] * 2,), "duals must be a pair of arrays, (u, v); got tuple"),
            (
                ([0] * 2, [0] * 2),
                "duals must be signed integers for int64 costs, and v of shape (3,); got int64 of shape (2,)",
            ),
            (
                ([0.0] * 2, [0] * 3),
                "duals must be signed integers for int64 costs, and u of shape (2,); got float64 of shape (2,)",
            ),
            (([0, 0], np.ma.array([0] * 3, mask=[True, False, False])), "duals must not be masked"),
        ],
    )
    def test_duals_that_are_none(self, duals: object, message: str) -> None:
        with pytest.raises(gmatch.InvalidInput) as caught:
            gmatch.lap(np.zeros((2, 3), np.int64), duals=duals)
        assert str(caught.value) == message

    def test_ragged_starts(self) -> None:
        for options in ({"initial": [[0], [1, 2]]}, {"duals": ([[0], [1, 2]], [0, 0])}):
            with pytest.raises(gmatch.InvalidInput, match="^(initial|duals) must be an array of numbers; got list"):
                gmatch.lap(np.zeros((2, 2)), **options)

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
    def test_empty_lists_for_empty_sides(self, kind: Any) -> None:
        cost = kind(np.empty((0, 3), int))
        for initial in ([], ()):
            assert gmatch.lap(cost, initial=initial).size == 0
        assert gmatch.lap(cost, duals=([], [0, 0, 0])).size == gmatch.lap(cost.T, duals=([0, 0, 0], ())).size == 0

    @pytest.mark.filterwarnings("error")
    def test_long_doubles_that_no_float64_holds(self) -> None:
        large = np.full(2, np.finfo(np.longdouble).max)
        with pytest.raises(gmatch.InvalidInput, match=r"^duals must be finite; u\[0\] is inf$"):
            gmatch.lap(np.eye(2), duals=(large, np.zeros(2)))

    def test_infinite_duals(self, device: str) -> None:
        with pytest.raises(gmatch.InvalidInput, match=r"^duals must be finite; v\[1\] is nan$"):
            gmatch.lap(on(np.zeros((2, 2)), device), duals=(np.zeros(2), np.array([0, np.nan])))

    def test_large_duals_do_no_harm(self, device: str) -> None:
        rng = np.random.default_rng(0)
        for case in range(40 if device == "cpu" else 8):
            dtype, large = (("int32", 2**63 - 1), ("int64", 2**63 - 1), ("float32", 1e300), ("float64", 1e300))[
                case % 4
            ]
            cost = random_costs(rng, dtype, False)
            u, v = (rng.choice([-large, 0, large], length) for length in cost.shape)
            options = turns(case, device) | {"infeasible": "partial"}
            size, best = brute_force(cost)
            assignment = solve(cost, device, duals=(u, v), **options)
            assert (assignment.size, assignment.cost) == (size, best)
        wide = np.array([[0, 2**57], [2**57, 2**56]])
        assert solve(wide, device, duals=(np.array([2**62, 0]), np.array([0, -(2**62)]))).cost == 2**56


class TestOptions:
    COST = np.eye(3)

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"infeasible": "no"}, "infeasible must be 'raise' or 'partial'; got 'no'"),
            ({"cost_limit": "cheap"}, "cost_limit must be a number; got 'cheap'"),
            ({"cost_limit": np.nan}, "cost_limit must be finite; got nan"),
            ({"cost_limit": -np.inf}, "cost_limit must be finite; got -inf"),
            ({"cost_limit": np.inf, "maximize": True}, "cost_limit must be finite; got inf"),
            ({"device": "tpu"}, "device must be 'cpu', 'gpu' or None (where the input lives); got 'tpu'"),
        ],
    )
    def test_what_is_refused(self, options: dict, message: str) -> None:
        with pytest.raises(gmatch.InvalidInput) as caught:
            gmatch.lap(self.COST, **options)
        assert str(caught.value) == message

    @pytest.mark.parametrize("name", ["maximize", "deterministic", "certify", "infeasible"])
    @pytest.mark.parametrize("value", [np.array([1, 2]), np.array(["raise", "raise"]), sp.eye_array(2)])
    def test_options_are_no_arrays(self, name: str, value: Any) -> None:
        for cost in (self.COST, sp.csr_array(self.COST), self.COST[None]):
            with pytest.raises(gmatch.InvalidInput, match=f"^{name} must be "):
                gmatch.lap(cost, **{name: value})

    def test_options_are_any_truth(self) -> None:
        for yes, no in ((np.True_, np.False_), (1, 0), (np.array(1), np.array(0))):
            assert gmatch.lap(self.COST, maximize=yes, deterministic=yes, certify=yes).cost == 3.0
            assert gmatch.lap(self.COST, maximize=no, deterministic=no, certify=no).cost == 0.0

    def test_methods_and_threads_that_are_none(self) -> None:
        with pytest.raises(gmatch.InvalidInput, match="^unknown method 'auction'; expected one of 'auto', 'jv', "):
            gmatch.lap(self.COST, method="auction")
        for threads in (0, -1, 1.5, True, "two"):
            with pytest.raises(gmatch.InvalidInput, match="threads must be an integer from 1 to 1024"):
                gmatch.lap(self.COST, method="tree", threads=threads)

    def test_checked_costs(self) -> None:
        costs = gmatch.DenseCosts(self.COST, maximize=True, cost_limit=0.5)
        assignment = gmatch.lap(costs)
        assert (assignment.cost, assignment.maximize, assignment.cost_limit) == (3.0, True, 0.5)
        assert gmatch.lap(costs, maximize=True).cost == 3.0
        assert gmatch.verify(costs, assignment) == gmatch.verify(self.COST, assignment)
        with pytest.raises(
            gmatch.InvalidInput, match="^a DenseCosts has its own maximize and cost_limit; give them to "
        ):
            gmatch.lap(costs, cost_limit=1)
        for made, limit in (
            (costs, -np.inf),
            (gmatch.DenseCosts(self.COST), np.inf),
            (gmatch.PointCosts(self.COST, self.COST), np.float64(np.inf)),
        ):
            with pytest.raises(gmatch.InvalidInput, match="has its own maximize and cost_limit"):
                gmatch.lap(made, cost_limit=limit)
        with pytest.raises(
            gmatch.InvalidInput, match="^a DenseCosts has its own maximize and cost_limit; give them to "
        ):
            gmatch.lap(gmatch.DenseCosts(self.COST), maximize=True)

    def test_costs_may_change_once_they_are_solved(self) -> None:
        cost = np.array([[1.0, 2.0], [2.0, 5.0]])
        assignment = gmatch.lap(cost)
        cost[:] = 100
        assert assignment.cost == 4.0 and assignment.pair_costs.tolist() == [2.0, 2.0]

    def test_certify(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = []
        monkeypatch.setattr("gmatch.assignment.lap.verify", lambda *arguments: seen.append(arguments))
        gmatch.lap(self.COST)
        assert not seen
        assignment = gmatch.lap(self.COST, certify=True)
        assert seen[0][1] is assignment


# Machol and Wien's costs, in an order in which no diagonal is a cheapest assignment.
ALIKE = np.multiply.outer(np.arange(1, 301), np.random.default_rng(0).permutation(300) + 1)

# One thread of the host solves the core by another method; see test_core.py.
BY_THE_SEARCH = {"cpu": {"method": "core", "threads": 2}, "gpu": {"method": "core"}}


def in_a_run(cost: np.ndarray, device: str, holds: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether the stats of at least one of five runs are right: races decide how much several threads work."""
    return any(holds(solve(cost, device, **BY_THE_SEARCH[device]).stats) for _ in range(5))


def distances_to_points_aside(n: int) -> np.ndarray:
    from_here, to_there = np.random.default_rng(0).random((2, n, 1, 2))
    return np.linalg.norm(from_here - to_there.swapaxes(0, 1) - 0.5, axis=2)


def distances_of_ten_places(n: int) -> np.ndarray:
    """The sides have different numbers of points at each place."""
    rng = np.random.default_rng(0)
    places = rng.random((10, 2))
    from_here, to_there = places[rng.integers(0, 10, (2, n))]
    return np.linalg.norm(from_here[:, None] - to_there, axis=2)


def noisy_copies(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n, 32))
    return -features @ (features[rng.permutation(n)] + 0.5 * rng.standard_normal((n, 32))).T


def gated(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random((n, n)) > 0.08, 10**6, rng.integers(0, 100, (n, n)))


# Costs where the cheapest entries of a row are rarely the entries of an optimum.
MISLEADING = {
    "few expensive columns": np.random.default_rng(0).integers(0, 1000, (300, 300)) + 10**6 * (np.arange(300) >= 297),
    "Machol-Wien": ALIKE,
    "prices of columns": np.random.default_rng(0).random((300, 300)) + 5 * np.random.default_rng(1).random(300),
    "points aside": distances_to_points_aside(400),
    "groups of equal rows": np.random.default_rng(0).random((64, 1024)).repeat(16, axis=0),
    "noisy copies": noisy_copies(600),
    "gated": gated(600),
    "many magnitudes": np.random.default_rng(0).random((600, 600)) ** 10,
    "most pairs tight": np.minimum.outer(np.arange(300), np.arange(300)),
    "ten places": distances_of_ten_places(600),
}


@pytest.mark.parametrize("name", MISLEADING)
def test_rows_read_what_the_core_left_out(name: str, device: str) -> None:
    """So a core leads to the optimum in a few phases and few passes over the matrix, whatever its first entries are."""

    def is_short(stats: dict[str, Any]) -> bool:
        # 1 to 16 phases, and 3 to 13 passes over the matrix, are usual.
        passes = stats["repricings"] + stats["rows_read"] / len(MISLEADING[name])
        return stats["dense_searches"] == 0 and stats["phases"] < 60 and passes < 30

    assert in_a_run(MISLEADING[name], device, is_short)


def test_epsilon_grows_until_chains_of_bids_end(device: str) -> None:
    """A row's cheapest entries differ by 10^3, prices of an optimum by 10^6. The search then has little to do."""
    rng = np.random.default_rng(0)
    cost = ((rng.permutation(2048)[:, None] - rng.permutation(2048) + 682) ** 2).astype(np.int32)
    # 2,000 to 7,000 levels are usual; 120,000 if epsilon does not grow.
    assert in_a_run(cost, device, lambda stats: stats["levels"] < 30_000)


def test_chains_are_long_while_epsilon_is_large(device: str) -> None:
    """Regions of the plane have more rows than columns. A row that all rounds cut off needs a path across one."""
    from_here, to_there = np.random.default_rng(0).random((2, 3000, 2))
    cost = ((from_here[:, None] - to_there) ** 2).sum(2)
    # 3 to 9 phases are usual; 19 to 21 if chains stay short after a later round that cuts off few of them.
    assert in_a_run(cost, device, lambda stats: stats["phases"] < 14)


def test_an_auction_is_as_fine_as_its_entries_allow(device: str) -> None:
    """Entries of a row differ by a trillionth. Their sums lose an epsilon of 2^-19 of that, but not one of 2^-10."""
    rng = np.random.default_rng(0)
    cost = rng.random((600, 1)) + 1e-12 * rng.random((600, 600))
    # 2 to 10 phases are usual; about 500 without an auction.
    assert in_a_run(cost, device, lambda stats: stats["phases"] < 60)


@pytest.mark.parametrize("method", ["tree", "classical", "munkres"])
def test_every_row_finds_a_column_where_all_costs_are_equal(method: str, device: str) -> None:
    """A row takes one column at a time. A column that it gave back would be missing to rows that have passed it."""
    stats = solve(np.ones((500, 500), np.int32), device, method=method, initial="reduce").stats
    assert stats["start_size"] == 500 and stats["phases"] == 1


@pytest.mark.parametrize("initial", ["bids", "reduce"])
def test_slacks_that_are_lost_in_the_radius(initial: str, device: str) -> None:
    """Costs of many magnitudes: a row may have a tight edge at the very radius at which it entered the forest."""
    for seed in (12, 81, 114, 450, 495, 565, 1092) if device == "gpu" else range(1500):
        cost = np.random.default_rng(seed).random((60, 60)) ** 10
        gmatch.lap(on(cost, device), method="classical", initial=initial, certify=True)


def test_rows_that_want_different_columns_need_fewer_bids() -> None:
    """19 bids a row. There are more if epsilon starts as large as points in the plane need it."""
    cost = np.random.default_rng(0).random((1000, 1000))
    assert in_a_run(cost, "cpu", lambda stats: stats["bids"] < 21 * 1000)


def test_bids_end_if_rows_only_displace_each_other() -> None:
    """`jv` reads rows 5,620 times. If all bids are made, it reads them 6,520 times."""
    rng = np.random.default_rng(0)
    cost = rng.integers(0, 6000, (600, 600)) + 3000 * rng.integers(0, 600, 600)
    assert solve(cost, "cpu", method="jv").stats["rows_scanned"] < 9.7 * 600


def test_no_reduction_is_transferred_where_columns_and_rows_want_each_other() -> None:
    """One pass over the matrix leaves 17 rows free. Another pass would only shorten their paths."""
    rng = np.random.default_rng(0)
    vectors = rng.random((300, 8))
    cost = np.linalg.norm(vectors[:, None] - rng.permutation(vectors) - 0.2 * rng.random((300, 8)), axis=2)
    assert solve(cost, "cpu", method="jv").stats["rows_scanned"] < 1.5 * 300


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("maximize", [False, True])
def test_an_auction_for_rows_that_are_alike(dtype: str, order: Any, maximize: bool) -> None:
    """Shortest paths would scan each row 156 times."""
    cost = np.array(-ALIKE if maximize else ALIKE, dtype, order=order)
    assignment = gmatch.lap(cost, method="jv", maximize=maximize, certify=True)
    assert abs(assignment.cost) == (np.arange(1, 301) * np.arange(300, 0, -1)).sum()
    assert assignment.stats["rows_scanned"] < 80 * 300


@pytest.mark.parametrize("factor, dtype", [(2**26 // 90000, "int32"), (3 * 2**56 // 90000, "int64")])
def test_no_auction_of_integers_without_room_for_its_duals(factor: int, dtype: str) -> None:
    assignment = gmatch.lap((ALIKE * factor).astype(dtype), method="jv", certify=True)
    assert assignment.cost == int((np.arange(1, 301) * np.arange(300, 0, -1)).sum()) * factor
    assert assignment.stats["rows_scanned"] > 80 * 300


@pytest.mark.parametrize("spread", [2**25, 2**25 + 1, 2**26, 2**26 + 1])
@pytest.mark.parametrize("highest", [2**28, 2**28 + 1, -(2**28) + 2**26, -(2**28) + 2**26 - 1, 2**62])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (20, 33), (33, 20), (70, 70)])
def test_integers_of_64_bits_that_just_fit_into_fewer(spread: int, highest: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    below = rng.integers(0, spread, shape, endpoint=True)
    below.flat[0], below.flat[-1] = spread, 0
    wide = np.zeros((2 * shape[0], 3 * shape[1]), np.int64)
    for maximize in (False, True):
        rows, columns = linear_sum_assignment(below, maximize=not maximize)
        expected = min(shape) * highest - int(below[rows, columns].sum())
        wide[::2, ::3] = highest - below
        for cost in (highest - below, np.asfortranarray(highest - below), wide[::2, ::3]):
            for costs in (cost, cost.astype(float)) if abs(expected) < 2**53 else (cost,):
                for options in ({}, {"threads": 1, "initial": "none"}):
                    assert gmatch.lap(costs, method="jv", maximize=maximize, certify=True, **options).cost == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("last", [0.0, -0.0, 0.5, 2.0**31, -(2.0**40), np.inf])
def test_floats_that_are_whole_but_for_the_last(dtype: str, last: float) -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 2), (9, 9), (40, 60), (60, 40), (90, 90)):
        cost = rng.integers(0, 30, shape).astype(dtype)
        cost[-1, -1] = last
        for maximize in (False, True):
            signed = -cost if maximize else cost
            assignment = gmatch.lap(signed, maximize=maximize, certify=True)
            assert assignment.cost == signed[linear_sum_assignment(signed, maximize)].sum(dtype=float)
            assert assignment.u.dtype == assignment.v.dtype == np.float64


@pytest.mark.parametrize("factor", [2**24 // 90000, 2**25 // 90000, 2**25 // 90000 + 1, 2**26 // 90000])
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_an_auction_of_whole_costs_that_fit_into_fewer_bits(factor: int, dtype: str) -> None:
    assignment = gmatch.lap((ALIKE * factor).astype(dtype), method="jv", certify=True)
    assert assignment.cost == int((np.arange(1, 301) * np.arange(300, 0, -1)).sum()) * factor
    assert assignment.stats["rows_scanned"] < 80 * 300


def test_an_auction_of_floats_of_many_magnitudes() -> None:
    """No epsilon suits all rows; or one entry has many digits beside large duals."""
    exponents = np.random.default_rng(1).uniform(-100, 100, (200, 1))
    gmatch.lap(ALIKE[:200, :200] * 2.0 ** np.rint(exponents), method="jv", certify=True)
    large = ALIKE * 2.0**990
    large[0, 0] = 2.0**-30
    for options in ({"method": "jv"}, {"method": "core", "threads": 1}, {"method": "core", "threads": 2}):
        gmatch.lap(large, certify=True, **options)


@pytest.mark.parametrize("free", [1, 40])
def test_an_auction_for_rows_that_cannot_all_be_matched(free: int) -> None:
    cost = ALIKE.astype(float)
    cost[:, :free] = np.inf
    with pytest.raises(gmatch.Infeasible) as caught:
        gmatch.lap(cost, method="jv")
    assert len(caught.value.rows) > 300 - free
    partial = gmatch.lap(cost, method="jv", infeasible="partial", certify=True)
    assert len(partial.row_ind) == 300 - free


def test_core_starts_from_what_is_given(device: str) -> None:
    cost = np.random.default_rng(0).integers(0, 10**6, (300, 300))
    first = solve(cost, device, **BY_THE_SEARCH[device])
    again = solve(cost, device, **BY_THE_SEARCH[device], initial=first)
    assert again.stats["bids"] == again.stats["dual_steps"] == 0 and again.stats["repricings"] == 1


def test_the_classical_start_reads_no_more_than_it_must(device: str) -> None:
    """Rows with more tight columns than a list holds are matched by the start, too; lists are not made twice."""
    constant = gmatch.lap(
        gmatch.DenseCosts(np.zeros((200, 200), np.int32)).on(device), method="classical", certify=True
    )
    # Rows that race for a column may all lose it, and are left to the search.
    assert constant.stats["start_size"] == 200 if device == "cpu" else constant.stats["start_size"] > 20
    ties = np.random.default_rng(5).integers(0, 31, (300, 300), dtype=np.int32)
    stats = gmatch.lap(gmatch.DenseCosts(ties).on(device), method="classical", certify=True).stats
    assert stats["start_size"] < 300 and stats["dual_steps"] == 0
    assert stats["rows_scanned"] == 0


@pytest.mark.parametrize("method", ["tree", "classical"])
def test_no_phase_follows_once_all_rows_are_matched(method: str, device: str) -> None:
    """The duals are the proof. A last search that finds nothing is not needed."""
    cost = np.random.default_rng(0).random((60, 60))
    found = solve(cost, device, method=method, initial="reduce").stats["augmentations_per_phase"]
    assert len(found) > 1 and all(found)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_witness_of_a_square_matrix_has_too_many_rows(order: Any, device: str) -> None:
    """However it lies in memory."""
    cost = np.array([[np.inf, 1.0], [np.inf, 2.0]], order=order)
    with pytest.raises(gmatch.Infeasible, match="2 rows may only be matched with its 1 columns") as caught:
        gmatch.lap(cost, device=device)
    assert (caught.value.rows.tolist(), caught.value.columns.tolist()) == ([0, 1], [1])
    partial = gmatch.lap(cost, device=device, infeasible="partial")
    assert [side.tolist() for side in partial.witness] == [[0, 1], [1]]


def test_what_is_wrong_with_an_assignment_to_start_from_is_said_of_it() -> None:
    found = gmatch.lap(np.random.default_rng(0).random((3, 3)))
    with pytest.raises(gmatch.InvalidInput, match=r"initial must be .* of shape \(4,\)"):
        gmatch.lap(np.ones((4, 4)), initial=found)
    with pytest.raises(gmatch.InvalidInput, match="duals of initial must be signed integers"):
        gmatch.lap(np.ones((3, 3), int), initial=found)


def test_names_of_methods_may_be_written_large() -> None:
    assert gmatch.lap(np.eye(3), method="AUTO").stats["method"] == gmatch.lap(np.eye(3), method="JV").stats["method"]
    graph = sp.csr_array(np.eye(3))
    assert gmatch.max_matching(graph, method="AUTO", deterministic=True).stats["method"] == "ordered-apfb"
