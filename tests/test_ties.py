"""`lap(deterministic=True)`: the assignment that the rule names, whoever finds it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import methods_that_read, on
from conftest import host
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch import small, ties
from gmatch.assignment.programs import Solution
from gmatch.backends import cpu
from gmatch.datasets import costs as families

LARGE, TINY = 1e200, 2.0**-52


def few_floats(rng: np.random.Generator, shape: Any) -> np.ndarray:
    return rng.integers(0, 4, shape) * 0.1


def far_apart(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """The costs that decide lie 500 decimal places below the largest costs."""
    return rng.integers(-2, 2, shape) * 1e-300 + rng.integers(0, 2, shape) * LARGE


def last_bits(rng: np.random.Generator, shape: Any) -> np.ndarray:
    return rng.integers(0, 3, shape) * 0.3 + rng.integers(0, 3, shape) * TINY


def forbidding(rng: np.random.Generator, shape: Any) -> np.ndarray:
    return np.where(rng.random(shape) < 0.6, np.inf, rng.integers(0, 3, shape) * 0.7)


def in_layers(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Each row decides what the rows before it leave open, 45 bits below them. Duals have far larger roundings."""
    cost = rng.integers(0, 3, shape) * 2.0 ** -(45 * np.arange(shape[0])[:, None])
    cost[-1] += LARGE
    return cost


def cheap_columns(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Some columns are so cheap that they never stay free; any row may take them."""
    return rng.integers(0, 2, shape) * 0.5 - 3 * (np.arange(shape[1]) % 2)


KINDS: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "few integers": lambda rng, shape: rng.integers(0, 3, shape),
    "few int8": lambda rng, shape: rng.integers(-1, 2, shape).astype(np.int8),
    "constant": lambda rng, shape: np.full(shape, 0.3),
    "few floats": few_floats,
    "few float32": lambda rng, shape: few_floats(rng, shape).astype(np.float32),
    "far apart": far_apart,
    "last bits": last_bits,
    "in layers": in_layers,
    "cheap columns": cheap_columns,
    "denormal": lambda rng, shape: rng.integers(0, 4, shape) * 5e-324,
    "forbidding": forbidding,
}


def ways_of(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[tuple[int, int]]]]:
    """The column of each row, -1 for free ones, and the pairs of all matchings, in the order of the rule."""
    rows, columns = shape
    for way in itertools.product((*range(columns), -1), repeat=rows):
        used = [(i, j) for i, j in enumerate(way) if j >= 0]
        if len({j for _, j in used}) == len(used):
            yield way, used


def named_by_the_rule(cost: np.ndarray, maximize: bool) -> list[int]:
    """The column of each row, -1 for free ones, by looking at all assignments."""
    sign = -1 if maximize else 1

    def rank(way_and_pairs: tuple[tuple[int, ...], list[tuple[int, int]]]) -> tuple[int, Fraction]:
        used = way_and_pairs[1]
        return -len(used), sum((sign * Fraction(cost[pair].item()) for pair in used), Fraction(0))

    allowed = (way for way in ways_of(cost.shape) if all(abs(cost[pair]) != np.inf for pair in way[1]))
    return list(min(allowed, key=rank)[0])  # the first one of least rank


@pytest.mark.parametrize("kind", KINDS)
def test_the_rule(kind: str, device: str) -> None:
    rng = np.random.default_rng(0)
    with_choice = 0
    for case in range(60 if device == "cpu" else 10):
        cost, maximize = KINDS[kind](rng, rng.integers(1, 5, 2)), bool(case % 2)
        given = on(np.where(np.isinf(cost), -cost, cost) if maximize else cost, device)
        expected = named_by_the_rule(host(given), maximize)
        for layout in (given, on(np.asfortranarray(host(given)), device)):
            assignment = gmatch.lap(layout, maximize=maximize, infeasible="partial", deterministic=True, certify=True)
            assert host(assignment.row_match).tolist() == expected
            mates = host(assignment.col_match)
            assert all(mates[j] == i for i, j in enumerate(expected) if j >= 0)
            assert (mates >= 0).sum() == sum(j >= 0 for j in expected)
            with_choice += assignment.stats["rows_with_choice"]
    assert with_choice > 0


def named_with_a_limit(cost: np.ndarray, limit: float, are_sparse: bool) -> list[int]:
    """As named_by_the_rule. Dense costs are cut off at the limit. Rows of sparse costs take their ways out last."""
    if not are_sparse:
        cut_off = named_by_the_rule(np.minimum(cost, limit), maximize=False)
        return [j if j >= 0 and cost[i, j] <= limit else -1 for i, j in enumerate(cut_off)]

    def rank(way_and_pairs: tuple[tuple[int, ...], list[tuple[int, int]]]) -> Fraction:
        return sum((Fraction(cost[pair].item()) - Fraction(limit) for pair in way_and_pairs[1]), Fraction(0))

    return list(min((way for way in ways_of(cost.shape) if all(cost[pair] <= limit for pair in way[1])), key=rank)[0])


@pytest.mark.parametrize("kind", ["few integers", "constant", "few floats", "last bits", "cheap columns"])
@pytest.mark.parametrize("are_sparse", [False, True])
def test_the_rule_with_a_limit(kind: str, are_sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(32)
    names = []
    for _ in range(60):
        cost = KINDS[kind](rng, rng.integers(1, 5, 2))
        limit = rng.choice(cost.ravel()).item()
        allowed = cost <= limit
        given = sp.csr_array(sp.coo_array((cost[allowed], allowed.nonzero()), cost.shape)) if are_sparse else cost
        if are_sparse and not allowed.any():
            continue
        names.append(named_with_a_limit(cost, limit, are_sparse))
        options: dict[str, Any] = {"cost_limit": limit, "deterministic": True}
        for method in ("auto", "tree"):
            found = gmatch.lap(given, method=method, certify=True, **options)
            assert found.row_match.tolist() == names[-1]
    assert any(-1 in name for name in names)
    with monkeypatch.context() as patched:
        patched.setattr("gmatch.assignment.solve.run_once", None)  # the long way
        gmatch.lap(given, **options)


def settle_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ties are settled that the extension leaves open."""
    monkeypatch.setattr(cpu, "settle_ties", lambda *_: None)


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_finds_it(kind: str, device: str) -> None:
    """Methods, starts, threads and layouts; on a GPU also the answer of the CPU."""
    rng = np.random.default_rng(1)
    methods = methods_that_read(KINDS[kind](rng, (2, 2)).dtype, device)
    runs: list[dict[str, Any]] = [{"method": method} for method in methods]
    runs += [{"method": "tree", "initial": start} for start in ("none", "regret")]
    if device == "cpu":
        runs += [{"method": method, "threads": 3} for method in methods if method not in ("auto", "jv")]
    for case in range(12 if device == "cpu" else 3):
        cost = KINDS[kind](rng, rng.integers(2, 40, 2))
        given = on(cost, device)
        options = {"cost_limit": np.median(cost[np.isfinite(cost)]).item()} if case % 3 == 2 else {}
        expected = gmatch.lap(cost, deterministic=True, infeasible="partial", **options).row_match
        for run in runs:
            assignment = gmatch.lap(given, **run, deterministic=True, certify=True, infeasible="partial", **options)
            assert (host(assignment.row_match) == expected).all(), run


def test_sparse_costs_and_their_dense_matrix_have_one_answer(device: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(30 if device == "cpu" else 5):
        cost = forbidding(rng, rng.integers(2, 40, 2))
        rows, columns = np.isfinite(cost).nonzero()
        expected = gmatch.lap(cost, deterministic=True, infeasible="partial").row_match
        stored = sp.csr_array((cost[rows, columns], (rows, columns)), shape=cost.shape)
        for matrix in (stored, stored.tocsc()):
            for method in ("auto", "tree"):
                options: dict[str, Any] = {"method": method, "infeasible": "partial", "certify": True}
                assignment = gmatch.lap(matrix, deterministic=True, device=device, **options)
                assert (assignment.row_match == expected).all()


@pytest.mark.parametrize("options", [{}, {"cost_limit": 1}, {"maximize": True}])
def test_batches(options: dict[str, Any], device: str) -> None:
    rng = np.random.default_rng(3)
    costs = [rng.integers(0, 3, shape).astype(float) for shape in ((5, 5), (4, 7), (7, 4), (1, 1), (0, 3), (6, 6))]
    costs[-1][:, 1:] = -np.inf if "maximize" in options else np.inf
    given = [on(cost, device) for cost in costs]
    batch = gmatch.lap(given, deterministic=True, infeasible="partial", certify=True, **options)
    for cost, assignment in zip(costs, batch, strict=True):
        alone = gmatch.lap(cost, deterministic=True, infeasible="partial", **options)
        assert (host(assignment.row_match) == alone.row_match).all()
        assert (host(assignment.col_match) == alone.col_match).all()
        assert (host(assignment.pair_costs) == alone.pair_costs).all() and assignment.status == alone.status
    assert batch.stats["rows_with_choice"].sum() > 0


def test_a_masked_batch_settles_its_ties() -> None:
    cost = np.ones((2, 4, 4))
    mask = np.ones((2, 4, 4), bool)
    mask[0, 1], mask[1, :, 0] = False, False
    batch = gmatch.lap(cost, mask=mask, deterministic=True, certify=True)
    for number, (rows, columns) in enumerate([([0, 2, 3], [0, 1, 2, 3]), ([0, 1, 2, 3], [1, 2, 3])]):
        alone = gmatch.lap(np.ones((len(rows), len(columns))), deterministic=True)
        assert (batch[number].row_match == alone.row_match).all()


@pytest.mark.parametrize("shape", [(60, 60), (40, 70), (70, 40)])
@pytest.mark.parametrize("kind", ["few integers", "constant", "few floats", "last bits", "cheap columns"])
def test_many_ties_are_bits(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], kind: str, device: str) -> None:
    cost = KINDS[kind](np.random.default_rng(4), shape)
    listed = gmatch.lap(cost, deterministic=True).row_match
    settle_in_python(monkeypatch)
    monkeypatch.setattr(ties, "MANY_PAIRS", 0)
    monkeypatch.setattr(ties, "LARGE_SHARE", 0.01)
    marked = gmatch.lap(on(cost, device), deterministic=True, certify=True)
    assert (host(marked.row_match) == listed).all()


def test_forbidden_pairs_among_many_ties_are_no_cause_for_warnings(device: str) -> None:
    for tie in (1.0, 0.1):
        cost = np.full((300, 300), tie)
        cost[0, 0] = np.inf
        assert gmatch.lap(on(cost, device), deterministic=True, certify=True).row_match[0] != 0


def settled(cost: np.ndarray, row_match: Any, u: Any, v: Any) -> list[int]:
    """The pairs, which must be equal on one thread and on three."""
    costs = gmatch.DenseCosts(cost)
    found = []
    for threads in (1, 3):
        mates, col_match = np.array(row_match, np.int32), np.empty(cost.shape[1], np.int32)
        ties.settle_ties(costs, Solution(len(mates), mates, col_match, u, v, {}), columns_first=False, threads=threads)
        found.append(mates.tolist())
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("in_python", [False, True])
@pytest.mark.parametrize("kind", ["few floats", "far apart", "last bits", "in layers", "cheap columns"])
def test_any_assignment_and_any_duals_lead_to_the_exact_optimum(
    kind: str, in_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_python:
        settle_in_python(monkeypatch)
    rng = np.random.default_rng(7)
    for case in range(30):
        rows = int(rng.integers(2, 5))
        cost = KINDS[kind](rng, (rows, rows + case % 2))
        scale = 10.0 ** rng.integers(-12, 1)
        u, v = rng.normal(size=rows) * scale, -np.abs(rng.normal(size=cost.shape[1])) * scale
        row_match = rng.permutation(cost.shape[1])[:rows]
        if case % 4 < 2:  # duals that fit the assignment, and nothing else
            u = cost[np.arange(rows), row_match] - v[row_match]
        assert settled(cost, row_match, u, v) == named_by_the_rule(cost, maximize=False)


def test_whole_duals_above_a_limit_are_no_proof_of_ways_out() -> None:
    """Square costs that are cut off at a limit may have such duals."""
    cost = np.array([[0, 0, 9], [9, 9, 9], [1, 9, 0]])
    costs, named = gmatch.DenseCosts(cost, cost_limit=3), named_with_a_limit(cost, 3, are_sparse=False)
    for more in (-2, 0, 2):
        u, v = np.array([0, 3, 1]) + more, np.array([0, 0, -1]) - more
        for row_match in ([0, 1, 2], [1, 0, 2]):
            found = np.array(row_match, np.int32)
            solution = Solution(3, found, np.empty(3, np.int32), u, v, {})
            ties.settle_ties(costs, solution, columns_first=False)
            assert np.where(cost[range(3), found] <= 3, found, -1).tolist() == named


@pytest.mark.parametrize("listed", [True, False, None])
def test_what_a_slack_loses_by_rounding_is_no_proof(monkeypatch: pytest.MonkeyPatch, listed: bool | None) -> None:
    """All slacks are rounded to 0, but one of the two assignments costs 1e-20 more."""
    if listed is not None:
        settle_in_python(monkeypatch)
    if listed is False:
        monkeypatch.setattr(ties, "MANY_PAIRS", 0)
        monkeypatch.setattr(ties, "LARGE_SHARE", 0.01)
    for cheap in (0, 1):
        cost = np.array([[1, 1e-20], [1, 1e-20]])
        cost[cheap, 1], cost[1 - cheap, 1] = 1e-20, 2e-20
        u, v = cost[:, 1].copy(), np.array([1.0, 0.0])
        for row_match in ([0, 1], [1, 0]):
            assert settled(cost, row_match, u, v) == ([1, 0] if cheap == 0 else [0, 1])


def test_where_nothing_ties_nothing_changes() -> None:
    cost = families.uniform_floats(200)
    plain, settled = gmatch.lap(cost), gmatch.lap(cost, deterministic=True)
    assert (plain.row_match == settled.row_match).all()
    assert settled.stats["rows_with_choice"] == 0 and "rows_with_choice" not in plain.stats
    assert gmatch.lap(np.zeros((0, 3)), deterministic=True).size == 0


@pytest.mark.parametrize("shape", [(12, 12), (20, 26), (26, 20), (70, 105), (500, 520)])
def test_ties_of_decimals_are_settled_in_the_extension(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of decimals tie except in their last bits, and their exact slacks fit 64 bits."""
    rng = np.random.default_rng(30)
    for case in range(12 if max(shape) < 500 else 2):
        cost = np.round(rng.random(shape) * 10, 2 if case % 2 else 1)
        if case % 3:
            cost[rng.random(shape) < 1 - 3 / min(shape)] = 10.0 ** (5 * case % 4 + 5)
        with monkeypatch.context() as patched:
            settle_in_python(patched)
            expected = gmatch.lap(cost, deterministic=True, method="tree")
        with monkeypatch.context() as patched:
            patched.setattr(ties, "tight_pairs", None)
            for found in (gmatch.lap(cost, deterministic=True), gmatch.lap(cost, deterministic=True, method="tree")):
                assert (found.row_match == expected.row_match).all(), case
                assert (found.col_match == expected.col_match).all(), case
        gmatch.verify(cost, found, strict=True)


@pytest.mark.parametrize("shape", [(5, 5), (30, 40), (90, 90), (120, 300), (300, 120), (400, 400)])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_ties_are_settled_in_the_extension(
    kind: Any, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also costs that are not laid out, and a limit, at which each row has a way out."""
    rng = np.random.default_rng(33)
    pairs = min(shape)
    with_choice = []
    for case in range(6):
        stored = rng.random(shape) < 3 / pairs
        stored[rng.permutation(shape[0])[:pairs], rng.permutation(shape[1])[:pairs]] = True
        values = (rng.integers(1, 4, shape), rng.integers(1, 4, shape) * 0.1, rng.random(shape))[case % 3]
        cost = kind(sp.coo_array((values[stored], stored.nonzero()), shape))
        options: dict[str, Any] = {"maximize": case == 5, "deterministic": True}
        if case >= 3 and (stored.size <= 1 << 11 or shape[0] == shape[1] < 300):  # laid out
            options["cost_limit"] = float(np.median(values))
        expected = gmatch.lap(cost, method="tree", **options)
        with monkeypatch.context() as patched:
            patched.setattr("gmatch.assignment.solve.run_once", None)  # the long way
            found = gmatch.lap(cost, **options)
        assert (found.row_match == expected.row_match).all() and (found.col_match == expected.col_match).all()
        assert found.stats["rows_with_choice"] == expected.stats["rows_with_choice"]
        assert gmatch.verify(cost, found)
        with_choice.append(found.stats["rows_with_choice"])
    assert max(with_choice) > 0 and min(with_choice) == 0


def test_components_are_settled_apart() -> None:
    """Blocks of ties, of which each has its rows in many words of 64 columns, and chains of ties without a cycle."""
    rng = np.random.default_rng(34)
    for size, block in ((200, 2), (200, 7), (130, 65)):
        blocks = np.arange(size) // block
        cost = np.where(blocks[:, None] == blocks, rng.integers(0, 2, (size, size)), 9)
        order = rng.permutation(size), rng.permutation(size)
        expected = np.empty(size, int)
        for k in range(blocks[-1] + 1):
            (inside,) = (blocks == k).nonzero()
            rows, columns = (np.sort(side.argsort()[inside]) for side in order)
            part = np.full((size, size), 9)
            part[np.ix_(rows, columns)] = cost[order[0]][:, order[1]][np.ix_(rows, columns)]
            others = np.ones(size, bool), np.ones(size, bool)
            others[0][rows], others[1][columns] = False, False
            part[others[0].nonzero()[0], others[1].nonzero()[0]] = -1000  # no choice
            expected[rows] = gmatch.lap(part, deterministic=True).row_match[rows]
        assert (gmatch.lap(cost[order[0]][:, order[1]], deterministic=True).row_match == expected).all()
    chain = np.minimum(abs(np.subtract.outer(np.arange(150), np.arange(150)) + 0.5), 1.0)  # a row ties with two columns
    chain = np.where(np.tri(150, k=0, dtype=bool), chain, 1.0)
    assert gmatch.lap(np.where(chain < 1, 0, 1), deterministic=True).stats["rows_with_choice"] == 0


def test_more_near_pairs_than_are_listed_are_settled_in_python() -> None:
    costs = gmatch.DenseCosts(np.full((2100, 2100), 0.5))
    mates = np.arange(2100, dtype=np.int32)
    for lost, with_choice, threads in ((0, 2100, 1), (2**-52, None, 1), (2**-52, None, 2)):
        solution = Solution(2100, mates.copy(), mates.copy(), np.full(2100, 0.5 - lost), np.zeros(2100), {})
        assert cpu.settle_ties(costs, solution.vectors, None, False, threads) == with_choice
        assert (solution.row_match == mates).all()


def test_long_cycles_and_free_columns(device: str) -> None:
    """Searches from both ends meet anywhere, also at the vertex of the free columns."""
    rng = np.random.default_rng(14)
    for case in range(60 if device == "cpu" else 6):
        rows = int(rng.integers(20, 150))
        columns = rows + int(rng.integers(0, 3)) * rows // 20
        cost = np.ones((rows, columns))
        order, places = rng.permutation(rows), rng.permutation(columns)
        for k in range(rows):
            for step in (0, 1, *rng.integers(0, rows, case % 3)):
                cost[order[k], places[(k + step) % columns]] = 0
        expected = first_by_one_row_after_the_other(cost)
        for given in (cost, np.asfortranarray(cost)):
            found = gmatch.lap(on(given, device), deterministic=True, certify=True)
            assert host(found.row_match).tolist() == expected
        tall = gmatch.lap(on(cost.T.copy(), device), deterministic=True, certify=True)
        assert host(tall.row_match).tolist() == first_by_one_row_after_the_other(cost.T)


def first_by_one_row_after_the_other(cost: np.ndarray) -> list[int]:
    """The rule, by SciPy: a row keeps the first column with which the whole costs no more."""
    cost, named = cost.copy(), []
    least = scipy_total(cost)
    for row in range(len(cost)):
        for column in range(cost.shape[1]):
            if cost[row, column] > 1:
                continue
            trial = cost.copy()
            trial[row, :], trial[:, column] = 9, 9
            trial[row, column] = cost[row, column]
            rows, columns = linear_sum_assignment(trial)
            pairs = dict(zip(rows.tolist(), columns.tolist(), strict=True))
            if pairs.get(row) == column and trial[rows, columns].sum() == least:
                cost = trial
                named.append(column)
                break
        else:
            cost[row] = 9
            named.append(-1)
    return named


def scipy_total(cost: np.ndarray) -> float:
    return float(cost[linear_sum_assignment(cost)].sum())


@pytest.mark.parametrize("with_limit", [False, True])
def test_the_short_way(monkeypatch: pytest.MonkeyPatch, with_limit: bool) -> None:
    """The short way finds the assignment of the long way, which looks for others by alternating cycles."""
    settle_in_python(monkeypatch)
    rng, num_quick = np.random.default_rng(8), [0, 0]
    solvers = small.SMALL_SOLVERS[small.DETERMINISTIC :]
    kinds: list[Callable[[Any], Any]] = [
        *(partial(kind, rng) for kind in (few_floats, last_bits, KINDS["few integers"])), rng.random,
        lambda shape: rng.integers(0, 60, shape),
        lambda shape: np.where(rng.random(shape) < 0.5, 1e9, rng.random(shape)),
    ]  # fmt: skip
    for case in range(300):
        shape = rng.integers(1, 9, 2)
        cost, maximize = kinds[case % len(kinds)](shape), bool(case % 2)
        cost = np.asfortranarray(cost) if case % 5 == 0 else cost
        limit = rng.choice(cost.ravel()).item() if with_limit else None
        quick = solvers[maximize].solve(*(() if limit is None else (limit,)), cost)
        if quick is None:
            continue
        problem = gmatch.DenseCosts(cost, maximize=maximize, cost_limit=limit)
        assert quick.row_match.tolist() == gmatch.lap(problem, deterministic=True).row_match.tolist(), case
        assert gmatch.verify(problem, quick, strict=True)
        num_quick[quick.stats["rows_with_choice"] > 0] += 1
    assert min(num_quick) > 80


@pytest.mark.parametrize("big", [1e9, 1e18, float(np.finfo(np.float64).max)])
def test_ties_beside_a_number_for_not_are_settled_in_the_short_way(big: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounded duals of other pairs, which are on no cycle, do not hide which rows have a choice."""
    rng = np.random.default_rng(29)
    for shape in ((20, 30), (30, 20), (15, 15)) * 3:
        cost = rng.random(shape)
        cost[rng.random(shape) < 0.9] = big
        cost[: shape[0] // 3] = big
        expected = gmatch.lap(cost, deterministic=True, method="tree")
        with monkeypatch.context() as patched:
            patched.setattr("gmatch.assignment.solve.run_once", None)  # the long way
            found = gmatch.lap(cost, deterministic=True)
            assert (found.row_match == expected.row_match).all()
            assert found.stats["rows_with_choice"] == expected.stats["rows_with_choice"] > 0
        gmatch.verify(cost, found, strict=True)


@pytest.mark.parametrize("kind", ["few floats", "far apart", "last bits", "in layers", "forbidding"])
def test_rows_with_a_choice_do_not_depend_on_the_way(kind: str) -> None:
    """Pairs that tie up to rounding are no choice: other duals leave out others of them."""
    rng = np.random.default_rng(31)
    counts = []
    for case in range(60):
        cost = KINDS[kind](rng, rng.integers(2, 5, 2))
        if case % 4 == 0:
            cost = np.where(rng.random(cost.shape) < 0.5, (1e18, 1.7e308)[case % 8 // 4], cost)
        options: dict[str, Any] = {"deterministic": True, "infeasible": "partial"}
        allowed = np.isfinite(cost)
        stored = sp.csr_array(sp.coo_array((cost[allowed], allowed.nonzero()), cost.shape))
        ways = [gmatch.lap(cost, method=method, **options) for method in ("auto", "jv", "tree", "core")]
        ways += [gmatch.lap(stored, **options), gmatch.lap(gmatch.DenseCosts(cost), **options)]
        for method in ("auto", "jv", "tree"):
            ways.append(gmatch.lap([cost, cost], method=method, **options)[1])
        ways.append(gmatch.lap(np.stack([cost, cost]), **options)[0])
        assert len({way.stats["rows_with_choice"] for way in ways}) == 1, case
        counts.append(ways[0].stats["rows_with_choice"])
    assert 0 in counts and (max(counts) > 0 or kind == "far apart")
