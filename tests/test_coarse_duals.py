"""Duals of a coarse matrix, with which a core begins anew if the rest of its search would take long."""

import re
from functools import partial

import numpy as np
import pytest
from conftest import GPU

import gmatch
from gmatch import _native
from gmatch.backends import coarse_duals, cpu, doubled, gpu
from gmatch.backends.doubled import halve
from gmatch.backends.protocol import Assigned, AssignmentStart, Start
from gmatch.methods import Core, TiedCore

SIZE = coarse_duals.SIZE


def squares(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(axis=-1)


@pytest.mark.parametrize("number", [1, 4, 5, 63, 256])
def test_rows_of_a_group_are_near_each_other(number):
    x = np.random.default_rng(number).random((2, number))
    orders = coarse_duals.orders_of_groups(np.stack([x, np.zeros((2, number))], axis=-1))
    for points, order in zip(x, orders, strict=True):
        assert sorted(order) == list(range(number))
        # Each group, and each group of groups, holds points that follow one another.
        for size in (SIZE, SIZE**2):
            groups = points[order[: number // size * size]].reshape(-1, size)
            assert sum(np.ptp(groups, axis=1)) <= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
def test_coarse_duals_are_better_than_none(monkeypatch, dtype, maximize):
    monkeypatch.setattr(coarse_duals, "MOST_ROWS", 40)
    random = np.random.default_rng(1)
    sign = -1 if maximize else 1  # the duals belong to the minimisation form
    x, y = random.random((509, 2)), random.random((509, 2)) ** 2
    entries = (sign * 1e6 * squares(x, y)).astype(dtype)
    costs = gmatch.DenseCosts(entries, maximize=maximize)
    given = []

    def gap(entries, duals):
        minimised = sign * entries.astype(np.float64)
        best = abs(gmatch.lap(entries, maximize=maximize).cost)
        return best - (minimised - duals).min(axis=1).sum() - duals.sum()

    def assigned(matrix, v):
        given.append((len(matrix), None if v is None else gap(matrix, v) / gap(matrix, np.zeros(len(matrix)))))
        found = gmatch.lap(matrix, maximize=maximize, threads=1)
        return found.u, found.v

    v = coarse_duals.coarse_duals(costs, assigned)
    assert v.dtype == costs.dual_type
    assert v.max() <= 0
    assert gap(entries, v) < gap(entries, np.zeros(509)) / 8
    assert [rows for rows, _ in given] == [32, 32, 128]
    assert given[-1][1] < 1 / 3  # duals of the coarser matrix are near duals of the finer one


class Runs:
    """`assign_core`, by a host. Each search that may be given up is given up if the matrix has more than `few` rows."""

    def __init__(self, few):
        self.few, self.calls = few, []

    def __call__(self, costs, start, most_levels):
        rows = len(costs.array)
        self.calls.append((rows, start, most_levels))
        found = gmatch.lap(np.where(np.isfinite(costs.array), costs.array, 1e6), threads=1)
        is_given_up = rows > self.few and most_levels > 0
        counters = {
            "size": rows - is_given_up,
            "start_size": len(self.calls),
            "levels": 7,
            "levels_per_phase": [len(self.calls)],
            "trace": ["price", "search", "coarsen" if is_given_up else "reprice"],
            "threads": 1,
            "entries": np.full(rows, len(self.calls)),
            "code": f"walk {len(self.calls)}",
        }
        return Assigned(found.row_ind, found.col_ind, found.u, found.v, counters)


@pytest.fixture
def runs(monkeypatch):
    monkeypatch.setattr(coarse_duals, "MOST_ROWS", 20)
    return Runs(few=299)


REDUCE = Start(AssignmentStart.REDUCE)


def test_a_long_search_begins_anew_from_coarse_duals(runs):
    random = np.random.default_rng(3)
    costs = gmatch.DenseCosts(squares(random.random((300, 2)), random.random((300, 2))))
    found = coarse_duals.assign_in_time(costs, REDUCE, runs, halve)
    # Coarse matrices have no search that is given up.
    assert [rows for rows, _, _ in runs.calls] == [300, 19, 19, 75, 300]
    assert [most_levels for _, _, most_levels in runs.calls] == [300 // coarse_duals.LONG, 0, 0, 0, 0]
    assert [start.kind for _, start, _ in runs.calls] == 3 * [REDUCE.kind] + 2 * [AssignmentStart.BIDS]
    assert [len(start.v) for _, start, _ in runs.calls[3:]] == [75, 300]
    assert found.counters.pop("entries").tolist() == [5] * 300
    assert found.counters == {
        "size": 300,
        "start_size": 5,
        "levels": 14,
        "levels_per_phase": [1, 5],
        "trace": ["price", "search", "coarsen", "price", "search", "reprice"],
        "threads": 1,
        "code": "walk 5",
    }


def test_a_short_search_is_the_only_one(runs):
    costs = gmatch.DenseCosts(squares(np.arange(299.0)[:, None], np.ones((299, 1))))
    found = coarse_duals.assign_in_time(costs, REDUCE, runs, halve)
    assert [(rows, most_levels) for rows, _, most_levels in runs.calls] == [(299, 299 // coarse_duals.LONG)]
    assert found.counters["trace"] == ["price", "search", "reprice"]


def test_a_gpu_gives_a_core_up_and_searches_ties_in_the_matrix_first(monkeypatch, runs):
    monkeypatch.setattr(gpu, "_assign", lambda costs, method, start, levels=0: runs(costs, start, levels))
    costs = gmatch.DenseCosts(squares(np.arange(299.0)[:, None], np.ones((299, 1))))
    for method in (Core(), TiedCore("tree")):
        gpu.assign(costs, method, REDUCE, None)
    assert [most_levels for _, _, most_levels in runs.calls] == [299 // coarse_duals.LONG, gpu.MOST_LEVELS]


OTHERS = {
    "few rows": np.ones((20, 20)),
    "a forbidden pair": np.where(np.eye(30), np.inf, 1.0),
    "a limit": gmatch.DenseCosts(np.arange(900.0).reshape(30, 30), cost_limit=500),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_costs_are_searched_to_the_end(runs, name):
    costs = OTHERS[name] if name == "a limit" else gmatch.DenseCosts(OTHERS[name])
    coarse_duals.assign_in_time(costs, REDUCE, runs, halve)
    assert [most_levels for _, _, most_levels in runs.calls] == [0]


@pytest.mark.parametrize("given", [{"v": np.zeros(30)}, {"row_match": np.arange(30)}])
def test_a_start_that_is_given_is_kept(runs, given):
    start = REDUCE._replace(**given)
    coarse_duals.assign_in_time(gmatch.DenseCosts(np.arange(900.0).reshape(30, 30)), start, runs, halve)
    assert [(kept, most_levels) for _, kept, most_levels in runs.calls] == [(start, 0)]


def ring(number, seed=4):
    """A cloud to a ring: prices of whole regions lie far apart."""
    x, y = np.random.default_rng(seed).standard_normal((2, number, 2))
    return squares(x, 3 * y / np.linalg.norm(y, axis=1)[:, None])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
def test_threads_begin_anew(monkeypatch, dtype, maximize):
    monkeypatch.setattr(coarse_duals, "MOST_ROWS", 100)
    monkeypatch.setattr(coarse_duals, "LONG", 601)  # any search takes long
    entries = (1e6 * ring(601)).astype(dtype) * dtype(-1 if maximize else 1)
    found = gmatch.lap(entries, maximize=maximize, method="core", threads=2, certify=True)
    trace = " ".join(found.stats["trace"]).replace("smooth price auction ", "")
    assert trace.startswith("look price auction refine search coarsen price auction refine search reprice")
    assert found.cost == pytest.approx(gmatch.lap(entries, maximize=maximize, threads=1).cost, rel=1e-12)


LIMITS = {"none": (None, 0), "above": (7e5, 0), "below 0": (-3e5, -1e6)}  # with what is added to all costs


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("columns", [131, 160])
def test_more_columns_than_rows_begin_anew_from_a_square_problem(monkeypatch, dtype, maximize, limit, columns):
    assert 131 - 121 <= doubled.MOST_PADS < 160 - 121
    monkeypatch.setattr(doubled, "LEVELS", 1)  # nearly any search takes long
    monkeypatch.setattr(doubled, "ROWS_OF_A_LEVEL", 1000)
    sign = -1 if maximize else 1
    (cost_limit, added), random = LIMITS[limit], np.random.default_rng(5)
    entries = (sign * (1e6 * squares(random.random((121, 2)), random.random((columns, 2))) + added)).astype(dtype)
    asked = {"maximize": maximize, "cost_limit": None if cost_limit is None else int(sign * cost_limit)}
    found = gmatch.lap(entries, method="core", threads=2, certify=True, infeasible="partial", **asked)
    trace = " ".join(found.stats["trace"])
    # Floats may be searched again from halves.
    again = "( price search reprice)?" if dtype is np.float64 else ""
    assert re.fullmatch(f"price auction refine search coarsen price auction refine search reprice{again}", trace)
    other = gmatch.lap(entries, threads=1, infeasible="partial", **asked)
    assert found.cost == pytest.approx(other.cost, rel=1e-12)
    transposed = gmatch.lap(entries.T, method="core", threads=2, infeasible="partial", **asked)
    assert transposed.cost == pytest.approx(other.cost, rel=1e-12)


@pytest.mark.parametrize("most_pads", [0, 32])
def test_forbidden_pairs_of_a_square_problem_stay_forbidden(monkeypatch, most_pads):
    monkeypatch.setattr(doubled, "MOST_PADS", most_pads)
    monkeypatch.setattr(doubled, "LEVELS", 1)
    ends = set()
    for seed in range(20):
        random = np.random.default_rng(seed)
        entries = np.where(random.random((40, 44)) < 0.85, np.inf, random.random((40, 44)))
        found = gmatch.lap(entries, method="core", threads=2, certify=True, infeasible="partial")
        if "coarsen" in found.stats.get("trace", ()):
            ends.add(found.stats["trace"][-1])
        assert found.cost == pytest.approx(gmatch.lap(entries, infeasible="partial").cost, rel=1e-12)
    assert "reprice" in ends


def test_a_search_goes_on_unless_its_rest_takes_long():
    """The rest is taken to have a phase for each free row, with the mean number of levels of the phases so far."""

    def walk(costs, most_levels):
        program = partial(_native.assign_by_core, costs.array, "float64", False, None)
        return cpu._search(program, costs, Core(), REDUCE, (costs.dual_spread(), most_levels, 1)).counters

    longest = set()
    for seed in range(12):
        costs = gmatch.DenseCosts(ring(300, seed))
        counters = walk(costs, 0)
        assert counters["trace"].count("search") == 1
        levels, found = (np.array(counters[f"{name}_per_phase"]).cumsum() for name in ("levels", "augmentations"))
        phases = np.arange(1, len(found) + 1)
        rest = (300 - counters["start_size"] - found) * levels / phases
        most = max(rest)
        assert "coarsen" not in walk(costs, int(np.ceil(most)))["trace"]
        if most > 1:
            given_up = walk(costs, int(np.ceil(most)) - 1)
            assert given_up["trace"][-1] == "coarsen"
            assert given_up["phases"] == 1 + rest.argmax()
            longest.add(int(rest.argmax()))
    assert len(longest) > 1  # phases count


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_gpu_begins_anew(monkeypatch, dtype, maximize):
    monkeypatch.setattr(coarse_duals, "LONG", 1000)  # any search takes long
    entries = (1e6 * ring(2501)).astype(dtype) * dtype(-1 if maximize else 1)
    found = gmatch.lap(entries, maximize=maximize, method="core", device="gpu", certify=True)
    trace = found.stats["trace"]
    assert trace.count("price") - trace.count("smooth") == 2
    assert found.cost == pytest.approx(gmatch.lap(entries, maximize=maximize).cost, rel=1e-12)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("columns", [1213, 1240])
def test_a_gpu_makes_a_matrix_with_more_columns_than_rows_square(monkeypatch, dtype, limit, columns):
    monkeypatch.setattr(doubled, "LEVELS", 1)  # nearly any search takes long
    (cost_limit, added), random = LIMITS[limit], np.random.default_rng(6)
    entries = (1e6 * squares(random.random((1201, 2)), random.random((columns, 2))) + added).astype(dtype)
    asked = {"cost_limit": None if cost_limit is None else int(cost_limit), "infeasible": "partial"}
    found = gmatch.lap(entries, method="core", device="gpu", certify=True, **asked)
    assert found.stats["trace"].count("coarsen") == 1
    assert found.stats["dense_searches"] == 0
    other = gmatch.lap(entries, **asked)
    assert found.cost == pytest.approx(other.cost, rel=1e-12)
    transposed = gmatch.lap(entries.T, method="core", device="gpu", certify=True, **asked)
    assert transposed.cost == pytest.approx(other.cost, rel=1e-12)
