"""Duals of a coarse matrix, with which a core begins anew on a GPU after a search that took long."""

import numpy as np
import pytest
from conftest import GPU

import gmatch
from gmatch.backends import coarse_duals, gpu
from gmatch.backends.protocol import Assigned, AssignmentStart, Start
from gmatch.methods import Core, TiedCore

SIZE = coarse_duals.SIZE


def squares(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(axis=-1)


@pytest.mark.parametrize("number", [1, 4, 5, 63, 256])
def test_rows_of_a_group_are_near_each_other(number):
    random = np.random.default_rng(number)
    x = random.random(number)
    order = coarse_duals.order_of_groups((x[:, None] - random.random(16)) ** 2, random)
    assert len(order) == -(-number // SIZE) * SIZE
    assert sorted(set(order)) == list(range(number))
    groups = x[order].reshape(-1, SIZE)
    # Each group holds points that follow one another.
    assert sum(np.ptp(groups, axis=1)) <= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
def test_coarse_duals_are_better_than_none(dtype, maximize):
    random = np.random.default_rng(1)
    sign = -1 if maximize else 1  # the duals belong to the minimisation form
    x, y = random.random((509, 2)), random.random((509, 2)) ** 2
    entries = (sign * 1e6 * squares(x, y)).astype(dtype)
    costs = gmatch.DenseCosts(entries, maximize=maximize)

    def assigned(matrix):
        found = gmatch.lap(matrix, maximize=maximize, threads=1)
        return found.u, found.v

    v = coarse_duals.coarse_duals(costs, assigned)
    assert v.dtype == costs.dual_type
    assert v.max() <= 0
    minimised = sign * entries.astype(np.float64)
    best = abs(gmatch.lap(costs).cost)

    def gap(duals):
        return best - (minimised - duals).min(axis=1).sum() - duals.sum()

    assert gap(v) < gap(np.zeros(509)) / 2


class Runs:
    """`_assign`, by a host. A search with a limit leaves one row free if the matrix has more than `few` rows."""

    def __init__(self, few):
        self.few, self.calls, self.phases = few, [], 0

    def __call__(self, costs, method, start, most_levels=0):
        rows = costs.array.shape[0]
        self.calls.append((rows, start, most_levels))
        found = gmatch.lap(np.where(np.isfinite(costs.array), costs.array, 1e6))
        stops = rows > self.few and most_levels > 0
        counters = {
            "size": rows - stops,
            "start_size": 0,
            "levels": 7,
            "phases": self.phases,
            "trace": ["price"],
            "threads": 1,
        }
        return Assigned(found.row_ind, found.col_ind, found.u, found.v, counters)


@pytest.fixture
def runs(monkeypatch):
    made = Runs(few=299)
    monkeypatch.setattr(gpu, "_assign", made)
    monkeypatch.setattr(gpu, "MOST_COARSE", 20)
    return made


def test_a_long_search_begins_anew_from_coarse_duals(runs):
    random = np.random.default_rng(3)
    costs = gmatch.DenseCosts(squares(random.random((300, 2)), random.random((300, 2))))
    found = gpu.assign(costs, Core(), Start(AssignmentStart.REDUCE), None)
    # Coarse matrices have no search that is given up.
    assert [rows for rows, _, _ in runs.calls] == [300, 19, 19, 75, 19, 19, 75, 300]
    assert [most_levels for _, _, most_levels in runs.calls] == [300 // gpu.LONG, 0, 0, 0, 0, 0, 0, 0]
    starts = [start for _, start, _ in runs.calls if start.v is not None]
    assert [start.kind for start in starts] == [AssignmentStart.BIDS] * 3
    assert [len(start.v) for start in starts] == [75, 75, 300]
    assert found.counters["size"] == 300
    assert found.counters["levels"] == 14


def test_a_long_search_goes_on_if_few_rows_are_left(runs):
    runs.phases = 1  # as many as rows are left
    costs = gmatch.DenseCosts(squares(np.arange(300.0)[:, None], np.ones((300, 1))))
    found = gpu.assign(costs, Core(), Start(AssignmentStart.REDUCE), None)
    (_, _, limit), (_, start, most_levels) = runs.calls
    assert (start.kind, limit, most_levels) == (AssignmentStart.GIVEN, 300 // gpu.LONG, 0)
    assert len(start.row_match) == len(start.v) == 300
    assert found.counters["size"] == 300


def test_a_short_search_is_the_only_one(runs):
    costs = gmatch.DenseCosts(squares(np.arange(299.0)[:, None], np.ones((299, 1))))
    gpu.assign(costs, Core(), Start(AssignmentStart.REDUCE), None)
    assert [rows for rows, _, _ in runs.calls] == [299]


OTHERS = {
    "few rows": np.ones((20, 20)),
    "more columns": np.ones((30, 40)),
    "a forbidden pair": np.where(np.eye(30), np.inf, 1.0),
    "a limit": gmatch.DenseCosts(np.arange(900.0).reshape(30, 30), cost_limit=500),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_costs_are_searched_to_the_end(runs, name):
    costs = OTHERS[name] if name == "a limit" else gmatch.DenseCosts(OTHERS[name])
    gpu.assign(costs, Core(), Start(AssignmentStart.REDUCE), None)
    assert [most_levels for _, _, most_levels in runs.calls] == [0]


def test_ties_are_searched_in_the_matrix_first(runs):
    costs = gmatch.DenseCosts(squares(np.arange(300.0)[:, None], np.ones((300, 1))))
    gpu.assign(costs, TiedCore("tree"), Start(AssignmentStart.REDUCE), None)
    assert [most_levels for _, _, most_levels in runs.calls] == [gpu.MOST_LEVELS]


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_gpu_begins_anew(monkeypatch, dtype, maximize):
    monkeypatch.setattr(gpu, "LONG", 1000)  # any search takes long
    random = np.random.default_rng(4)
    x, y = random.standard_normal((2, 2501, 2))
    y *= 3 / np.linalg.norm(y, axis=1)[:, None]
    entries = (1e6 * squares(x, y)).astype(dtype) * dtype(-1 if maximize else 1)
    found = gmatch.lap(entries, maximize=maximize, method="core", device="gpu", certify=True)
    assert found.stats["trace"].count("price") == 2
    assert found.cost == pytest.approx(gmatch.lap(entries, maximize=maximize).cost, rel=1e-12)
