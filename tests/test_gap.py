"""Assignments within a share of the optimum, and the bounds that they prove."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse

import gmatch
from gmatch import CertificateError, FunctionCosts, InvalidInput, PointCosts, RowWindows
from gmatch.backends import points as backend
from gmatch.distributed import windows as passes
from gmatch.problems import windows


def low(rng, n, m):
    return PointCosts(rng.random((n, 2)), rng.random((m, 2)) ** 2)


def high(rng, n, m):
    return PointCosts(rng.normal(size=(n, 12)), rng.normal(size=(m, 12)))


def farthest(rng, n, m):
    return PointCosts(rng.normal(size=(n, 12)), rng.normal(size=(m, 12)), metric="cityblock", maximize=True)


def window(rng, n, m):
    return RowWindows(np.minimum(rng.random((n, m)), rng.random((n, m))) * np.linspace(1, 9, m))


def whole(rng, n, m):
    matrix = rng.integers(-900, 0, (n, m)) * np.arange(1, m + 1)
    return FunctionCosts(lambda rows, columns: matrix[rows][:, columns], (n, m), np.int64, maximize=True)


@pytest.fixture(autouse=True)
def many_rounds(monkeypatch):
    monkeypatch.setattr(backend, "SMALLEST", 6)
    monkeypatch.setattr(windows, "WINDOW", 5000)


@pytest.mark.parametrize("make", [low, high, farthest, window, whole])
@pytest.mark.parametrize("shape", [(700, 700), (500, 650), (650, 500)])
def test_answers_are_within_the_gap_and_prove_it(make, shape):
    costs = make(np.random.default_rng(1), *shape)
    best = gmatch.lap(costs)
    assert best.bound is None
    stopped = 0
    for gap in (0, 1e-9, 1e-4, 0.5):
        assignment = gmatch.lap(costs, gap=gap)
        certificate = gmatch.verify(costs, assignment)
        sign = -1 if costs.maximize else 1
        rounding = certificate.tolerance if assignment.status == "optimal" else 1e-9 * abs(best.cost)
        assert sign * assignment.bound <= sign * best.cost + rounding
        assert sign * (assignment.cost - best.cost) <= gap * abs(best.cost) + rounding
        assert assignment.size == min(shape)
        if assignment.status == "bounded":
            stopped += 1
            assert sign * (assignment.cost - assignment.bound) <= gap * abs(best.cost)
            forged = dataclasses.replace(assignment, bound=assignment.cost, status="optimal")
            if sign * (assignment.cost - assignment.bound) > 2 * rounding:
                with pytest.raises(CertificateError):
                    gmatch.verify(costs, forged)
            with pytest.raises(CertificateError, match="says it is"):
                gmatch.verify(costs, dataclasses.replace(assignment, status="optimal"))
        else:
            assert assignment.status == "optimal" and assignment.bound == assignment.cost
    # Points of many coordinates are searched to the end whatever the gap is.
    assert stopped > 0 or make in (high, farthest) or best.stats["overpriced"] == 0


def test_costs_in_memory_are_solved_to_the_end():
    matrix = np.random.default_rng(2).random((40, 40)) + 1
    for costs in (matrix, matrix.astype(int), scipy.sparse.csr_array(matrix)):
        assignment = gmatch.lap(costs, gap=0.1, certify=True)
        assert assignment.status == "optimal" and assignment.bound == assignment.cost


@pytest.mark.parametrize(
    ("cost", "options", "message"),
    [
        (np.ones((2, 2)), dict(gap=-1), "share of the optimum"),
        (np.ones((2, 2)), dict(gap=np.nan), "share of the optimum"),
        (np.ones((2, 2)), dict(gap=True), "share of the optimum"),
        (np.ones((2, 2)), dict(gap="1e-3"), "share of the optimum"),
        (np.ones((2, 2)), dict(gap=0.1, cost_limit=1), "with a cost_limit"),
        (PointCosts(np.ones((2, 2)), np.ones((2, 2)), cost_limit=1), dict(gap=0.1), "with a cost_limit"),
        (np.ones((2, 2, 2)), dict(gap=0.1), "batch"),
        (gmatch.RowBlocks([np.ones((2, 2))]), dict(gap=0.1), "several ranks"),
    ],
)  # fmt: skip
def test_what_is_refused(cost, options, message):
    with pytest.raises(InvalidInput, match=message):
        gmatch.lap(cost, **options)


def test_a_bound_is_a_number():
    costs = RowWindows(np.random.default_rng(3).random((9, 9)))
    good = gmatch.lap(costs, gap=0.1)
    for bound in (np.nan, np.inf, "1", True):
        with pytest.raises(CertificateError, match="finite number"):
            gmatch.verify(costs, dataclasses.replace(good, bound=bound))


def test_more_rows_than_columns(monkeypatch):
    """Windows are windows of columns there, and the duals of columns are too large."""
    monkeypatch.setattr(passes, "OF_A_STRATUM", 1)
    monkeypatch.setattr(passes, "STRATA", 4)
    rng = np.random.default_rng(4)
    matrix = rng.random((600, 400)) * rng.random(400)
    best = gmatch.lap(matrix).cost
    assignment = gmatch.lap(RowWindows(matrix), gap=0.5, certify=True)
    assert assignment.status == "bounded" and assignment.bound <= best <= assignment.cost <= 1.5 * best
    assert np.isclose(gmatch.lap(RowWindows(matrix), certify=True).cost, best)


@pytest.mark.parametrize("columns", [2000, 2300])
def test_the_auction_of_points_stops_inside(columns):
    """The core is not searched: each search would end a round."""
    costs = low(np.random.default_rng(5), 2000, columns)
    assignment = gmatch.lap(costs, gap=0.1, certify=True)
    assert assignment.status == "bounded" and assignment.stats["rounds"] == 0
    assert assignment.bound <= gmatch.lap(costs).cost <= assignment.cost
