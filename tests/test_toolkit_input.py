"""Odd input for every function of the toolkit: each gives a right answer, or an error of gmatch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch

INF, NAN = np.inf, np.nan
COSTS: dict[str, Any] = {
    "no rows": np.empty((0, 3)),
    "no columns": np.empty((3, 0)),
    "nothing": np.empty((0, 0)),
    "one": [[3]],
    "one row": [[3, 1, 2]],
    "all forbidden": np.full((2, 2), INF),
    "a row forbidden": np.array([[INF, INF], [1, 2]]),
    "NaN": np.array([[NAN, 1], [1, 2]]),
    "minus infinity": np.array([[-INF, 1], [1, 2]]),
    "huge": np.array([[2**62, 1], [1, 2**62]]),
    "least": np.array([[-(2**63), 1], [1, 2]]),
    "beyond int64": np.array([[2**64 - 1, 1], [1, 2]], np.uint64),
    "beyond integers": [[10**30, 1], [1, 2]],
    "beyond floats": np.array([[1e308, -1e308], [1e308, 1e308]]),
    "denormal": np.array([[5e-324, 0], [0, 5e-324]]),
    "half": np.array([[1, 2], [2, 4]], np.float16),
    "extended": np.array([[1, 2], [2, 4]], np.longdouble),
    "complex": np.array([[1j]]),
    "objects": np.array([[1, 2], [3, 4]], object),
    "masked": np.ma.masked_array([[1.0, 2], [3, 4]], mask=[[1, 0], [0, 0]]),
    "one dimension": [1, 2, 3],
    "four dimensions": np.zeros((1, 1, 2, 2)),
    "ragged": [[1, 2], [3]],
    "text": "abc",
    "none": None,
    "number": 5,
    "generator": (row for row in [[1, 2], [3, 4]]),
    "set": {1, 2},
    "dict": {},
    "read only": np.broadcast_to(1.0, (2, 2)),
    "no entries": sp.csr_array((2, 2)),
    "sparse": sp.csr_array([[1, 2], [2, 4]]),
    "sparse NaN": sp.csr_array([[NAN, 1], [1, 2]]),
    "sparse vector": sp.coo_array([1, 2, 3]),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "k_best": lambda cost: gmatch.k_best(cost, 3, certify=True),
    "k_best, limit": lambda cost: gmatch.k_best(cost, 3, maximize=True, cost_limit=1, certify=True),
    "ranked": lambda cost: list(gmatch.ranked(cost)),
    "best_hypotheses": lambda cost: gmatch.best_hypotheses([cost], 3, miss=2, certify=True),
    "bottleneck": lambda cost: gmatch.bottleneck(cost, certify=True),
    "bottleneck, sum": lambda cost: gmatch.bottleneck(cost, maximize=True, then="sum", certify=True),
    "max_weight": lambda cost: gmatch.max_weight_matching(cost, certify=True),
    "max_weight, maximum": lambda cost: gmatch.max_weight_matching(cost, cardinality="maximum", certify=True),
    "max_weight, one pair": lambda cost: gmatch.max_weight_matching(cost, pairs=1, certify=True),
    "transport": lambda cost: gmatch.transport(cost, [1, 1], [1, 1], certify=True),
    "scale": lambda cost: gmatch.scale(cost, certify=True),
    "scale, sum": lambda cost: gmatch.scale(cost, "sum", certify=True),
    "scale, bottleneck": lambda cost: gmatch.scale(cost, "bottleneck", certify=True),
    "scale, cardinality": lambda cost: gmatch.scale(cost, "cardinality", certify=True),
    "scale, symmetric": lambda cost: gmatch.scale(cost, symmetric=True, certify=True),
    "update": lambda cost: gmatch.lap(np.ones((2, 2))).update(cost, rows=[0, 1], certify=True),
    "update, integers": lambda cost: gmatch.lap([[1, 2], [2, 1]]).update(cost, columns=[0, 1], certify=True),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", COSTS)
def test_answers_or_says_what_is_wrong(name: str, function: str) -> None:
    try:
        FUNCTIONS[function](COSTS[name])
    except (gmatch.InvalidInput, gmatch.Infeasible) as error:
        assert len(str(error)) > 20 and not isinstance(error, gmatch.CertificateError)


def test_what_float16_is_scaled_to() -> None:
    matrix = np.array([[1, 2], [2, 4]], np.float16)
    assert abs(gmatch.scale(matrix, certify=True).apply(matrix.astype(float))).max() == pytest.approx(1)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_least_integer(form: Any, maximize: bool) -> None:
    """Costs are negated to maximize. 2**63 - 1 is a forbidden pair, and no cost may lie below the mark 1 - 2**63."""
    for cost in (COSTS["least"], [[1 - 2**63, -(2**63)]], [[1 - 2**63 if maximize else 2**63 - 1]]):
        with pytest.raises(gmatch.InvalidInput, match=r"must not hold (both )?-2\*\*63|could overflow int64"):
            gmatch.bottleneck(form(cost), maximize=maximize)
    nearest = [[2 - 2**63 if maximize else 2**63 - 2]]
    assert gmatch.bottleneck(form(nearest), maximize=maximize, certify=True).threshold == nearest[0][0]


def test_transport_of_costs_that_overflow() -> None:
    for cost, amounts in ((COSTS["beyond floats"], [1, 1]), (np.full((2, 2), 1e307), [50, 50])):
        with pytest.raises(gmatch.InvalidInput, match="could overflow float64"):
            gmatch.transport(cost, amounts, amounts)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("size", [2**56, 2**59, 2**61, 2**62, 2**63 - 2])
def test_integers_that_are_proven_or_refused(size: int, maximize: bool) -> None:
    """Near the end of int64 costs are refused before there is an answer that `verify` would not take."""
    rng = np.random.default_rng(1)
    for shape in ((1, 1), (1, 3), (2, 1), (2, 2), (3, 3)):
        cost = size - rng.integers(0, 3, shape)
        for function in (
            lambda cost: gmatch.transport(
                cost, [1, *[0] * (len(cost) - 1)], [1] * cost.shape[1], maximize=maximize, certify=True
            ),
            lambda cost: gmatch.max_weight_matching(cost, pairs=1, certify=True),
        ):
            for signed in (cost, -cost):
                if size == 2**56:
                    function(signed)
                else:
                    with contextlib.suppress(gmatch.InvalidInput):
                        function(signed)


def test_more_than_there_are() -> None:
    for k in (3, 10**9, 2**70, np.int64(7)):
        assert len(gmatch.k_best([[1, 2], [3, 5]], k, certify=True)) == 2


def test_no_number_of_threads() -> None:
    no_points = gmatch.PointCosts(np.zeros((0, 2)), np.zeros((3, 2)))
    for threads in (0, -1, True, 1.0, "x", 10**6):
        for function in (
            lambda **options: gmatch.k_best([[1]], 1, **options),
            lambda **options: gmatch.best_hypotheses([[[1]]], 1, miss=1, **options),
            lambda **options: gmatch.bottleneck([[1]], **options),
            lambda **options: gmatch.transport([[1]], [1], [1], **options),
            lambda **options: gmatch.max_weight_matching([[1]], **options),
            lambda **options: gmatch.lap(no_points, **options),
        ):
            with pytest.raises(gmatch.InvalidInput, match="threads must be"):
                function(threads=threads)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_points_are_their_matrix(metric: str) -> None:
    x, y = np.random.default_rng(3).random((5, 2)), np.random.default_rng(4).random((6, 2))
    points = gmatch.PointCosts(x, y, metric=metric)
    matrix = points.as_dense().matrix
    supply, demand = [1, 0, 2, 1, 1], [2, 1, 0, 1, 0, 1]
    assert gmatch.bottleneck(points, certify=True).threshold == gmatch.bottleneck(matrix).threshold
    assert gmatch.k_best(points, 9, certify=True).costs.tolist() == gmatch.k_best(matrix, 9).costs.tolist()
    assert gmatch.transport(points, supply, demand, certify=True).cost == gmatch.transport(matrix, supply, demand).cost
