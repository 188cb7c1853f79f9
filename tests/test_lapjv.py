"""`gmatch.compat.lapjv`: the convention of lap and lapx."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch.compat import lapjv

INF = math.inf


def extended(cost: Any, limit: float) -> Any:
    """The square matrix that lap solves. A free vertex costs half the limit; without a limit, nothing."""
    rows, columns = cost.shape
    if limit == INF:
        side = max(rows, columns)
        square = np.zeros((side, side))
    else:
        square = np.full((rows + columns, rows + columns), limit / 2)
        square[rows:, columns:] = 0
    square[:rows, :columns] = cost
    return square


def by_scipy(cost: Any, limit: float) -> tuple[float, list[int], list[int]]:
    rows, columns = cost.shape
    x, y = [-1] * rows, [-1] * columns
    for row, column in zip(*linear_sum_assignment(extended(cost, limit)), strict=True):
        if row < rows and column < columns:
            x[row], y[column] = column, row
    return float(sum(cost[row, column] for row, column in enumerate(x) if column >= 0)), x, y


@pytest.mark.parametrize("limit", [INF, 0.8, 0.3, 0, -1])
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (6, 3), (1, 4), (0, 3), (3, 0), (0, 0)])
def test_it_solves_the_extended_matrix(shape: tuple[int, int], limit: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        cost = rng.random(shape) - (0.5 if limit < 0 else 0)
        expected = by_scipy(cost, limit)
        opt, x, y = lapjv(cost, extend_cost=True, cost_limit=limit)
        assert (x.tolist(), y.tolist()) == expected[1:] and opt == pytest.approx(expected[0], rel=1e-12)
        assert type(opt) is float and x.dtype == y.dtype == np.int32
        alone = lapjv(cost, True, limit, False)
        assert [side.tolist() for side in alone] == [x.tolist(), y.tolist()]


def test_against_lapx() -> None:
    """lapx is needed: the older package lap has the same module name, and fails on some of these."""
    try:
        version("lapx")
    except PackageNotFoundError:
        pytest.skip("lapx is not installed")
    theirs = pytest.importorskip("lap").lapjv
    rng = np.random.default_rng(0)
    for number in range(400):
        cost = rng.random(rng.integers(1, 8, 2))
        limit = [INF, 0.3, 0.8, 2.0, 0.0][number % 5]
        for one, two in zip(theirs(cost, True, limit), lapjv(cost, True, limit), strict=True):
            assert np.allclose(one, two, rtol=1e-12, atol=1e-15) and type(one) is type(two)


# As a plugin of pytest: lap's own tests call ours.
OURS = """
import lap.tests.test_lapjv as tests
from gmatch.compat import lapjv

tests.lapjv = lapjv
"""
# The pairs that lap finds among several best ones; and a matrix of 4,000 rows, which takes long to make.
NOT_OURS = "not expected5 and not expected6 and not 4kx4k"


def test_laps_own_tests(tmp_path: Path) -> None:
    pytest.importorskip("lap.tests.test_lapjv", reason="of lap, which is not installed, or without its tests")
    (tmp_path / "ours.py").write_text(OURS)
    command = [sys.executable, "-m", "pytest", "-p", "ours", "-p", "no:cacheprovider", "-k", NOT_OURS]
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ran = subprocess.run(
        [*command, "--pyargs", "lap.tests.test_lapjv"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert ran.returncode == 0 and passed and int(passed[1]) >= 25, ran.stdout


def test_what_is_square() -> None:
    with pytest.raises(ValueError, match="extend_cost=True"):
        lapjv(np.ones((2, 3)))
    assert lapjv(np.ones((2, 3)), cost_limit=5.0)[0] == 2  # as lapx
    for wrong in (np.ones(3), np.ones((2, 2, 2)), np.ndarray([])):
        with pytest.raises(ValueError, match="2-dimensional array expected"):
            lapjv(wrong)


@pytest.mark.parametrize(
    "cost",
    [
        np.full((3, 3), INF), np.array([[INF, 1], [INF, 2]]), np.array([[1, INF], [2, INF], [3, INF]]),
        np.array([[0, 0, 0, INF], [INF, INF, INF, 0], [INF, INF, INF, 1], [INF, INF, INF, 2]]),
    ],
    ids=str,
)  # fmt: skip
def test_no_way_costs_infinity(cost: Any) -> None:
    opt, x, y = lapjv(cost, extend_cost=True)
    assert opt == INF == cost[x >= 0, x[x >= 0]].sum()
    assert len(set(x[x >= 0])) == (y >= 0).sum() == min(cost.shape)
    assert all(y[column] == row for row, column in enumerate(x) if column >= 0)
    limited, x, y = lapjv(cost, extend_cost=True, cost_limit=10)
    assert limited < INF and (cost[x >= 0, x[x >= 0]] < INF).all()


def test_integers_are_exact_and_large_ones_may_forbid() -> None:
    cost = np.array([[2**62, 5], [7, 2**62]])
    assert lapjv(cost)[0] == 12 and lapjv(np.array([[np.iinfo(np.int64).max, 1], [2, 3]]))[0] == 3
    assert lapjv([[1, 2], [3, 4]])[0] == 5.0


@pytest.mark.parametrize("cost", [[[math.nan, 1], [2, 3]], [[-INF, 1], [2, 3]], [["a", "b"], ["c", "d"]]], ids=str)
def test_what_is_refused(cost: Any) -> None:
    with pytest.raises(ValueError):
        lapjv(np.array(cost))


@pytest.mark.parametrize("limit", [math.nan, -INF, "a"])
def test_limits_that_are_refused(limit: Any) -> None:
    with pytest.raises(gmatch.InvalidInput):
        lapjv(np.ones((2, 2)), cost_limit=limit)
