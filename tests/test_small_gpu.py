"""The short way of a small matrix on a GPU; without one, a fake GPU."""

import numpy as np
import pytest
from fake_gpus import pretend_one
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch import cuda, small_gpu

GPU = cuda.is_there()
SHAPES = [(1, 1), (3, 3), (12, 9), (9, 12), (40, 40), (127, 320), (320, 127)]


@pytest.fixture
def cupy(monkeypatch):
    return cuda.cupy() if GPU else pretend_one(monkeypatch.setattr)


@pytest.fixture
def short(monkeypatch, cupy):
    """How many problems the short way has solved, and how many it has left."""
    counts, assign_one = {"solved": 0, "left": 0}, small_gpu.assign_one

    def counted(*arguments):
        found = assign_one(*arguments)
        counts["left" if found is None else "solved"] += 1
        return found

    monkeypatch.setattr(small_gpu, "assign_one", counted)
    return counts


def draw(rng, shape, dtype):
    """Costs with many ties, or with none."""
    dtype = np.dtype(dtype)
    if dtype.kind == "i" or rng.random() < 0.3:
        return rng.integers(-9, int(rng.choice([-6, 9, 10**6])), shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_against_scipy(cupy, short, shape, dtype):
    rng = np.random.default_rng(shape[0] * 1000 + shape[1])
    for maximize in (False, True):
        cost = draw(rng, shape, dtype)
        given = cupy.asarray(np.asfortranarray(cost) if maximize else cost)
        found = gmatch.lap(given, maximize=maximize)
        expected = cost[linear_sum_assignment(cost, maximize)].sum(dtype=np.float64)
        rows, columns = found
        assert found.cost == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert rows.get().tolist() == sorted(rows.get().tolist()) and len(set(columns.get().tolist())) == min(shape)
        assert found.pair_costs.get().tolist() == cost[rows.get(), columns.get()].tolist()
        assert found.pair_costs.dtype == cost.dtype
        assert found.status == "optimal" and found.maximize is maximize and found.size == min(shape)
        assert found.stats["method"] == "jv" and found.stats["backend"] == "gpu"
        gmatch.verify(gmatch.DenseCosts(given, maximize=maximize), found)
    assert short == {"solved": 2, "left": 0}


@pytest.mark.parametrize("shape", [(128, 128), (0, 3), (3, 0), (5, 321)])
def test_other_shapes_take_the_long_way(cupy, short, shape):
    gmatch.lap(cupy.asarray(np.ones(shape)))
    assert short == {"solved": 0, "left": 0}


@pytest.mark.parametrize(
    "options",
    [
        {"deterministic": True}, {"method": "tree"}, {"initial": "none"}, {"gap": 0.1},
        {"duals": (np.zeros(6), np.zeros(6))}, {"initial": [0, 1, 2, 3, 4, 5]}, {"device": "cpu"}, {"ties": "scipy"},
    ],
)  # fmt: skip
def test_other_options_take_the_long_way(cupy, short, options):
    cost = np.arange(36.0).reshape(6, 6) % 7
    found = gmatch.lap(cupy.asarray(cost), **options)
    assert found.cost == gmatch.lap(cost).cost
    assert short == {"solved": 0, "left": 0}


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_limits(cupy, short, shape, dtype):
    rng = np.random.default_rng(shape[0] * 1000 + shape[1])
    for maximize in (False, True):
        cost = draw(rng, shape, dtype)
        cost_limit = cost.flat[rng.integers(cost.size)].item()
        found, expected = (
            gmatch.lap(given, maximize=maximize, cost_limit=cost_limit) for given in (cupy.asarray(cost), cost)
        )
        kept = [cost[pair] for pair in found.pairs]
        assert all(one >= cost_limit if maximize else one <= cost_limit for one in kept)
        lost = min(shape) - len(kept)
        assert found.cost + lost * cost_limit == pytest.approx(
            expected.cost + (min(shape) - expected.size) * cost_limit, rel=1e-6, abs=1e-6
        )
        assert found.status == expected.status and found.cost_limit == cost_limit and found.size == len(kept)
        assert found.pair_costs.get().tolist() == kept
        gmatch.verify(gmatch.DenseCosts(cupy.asarray(cost), maximize=maximize, cost_limit=cost_limit), found)
    assert short == {"solved": 2, "left": 0}


@pytest.mark.parametrize("cost_limit", [2.5, 2**31, -(2**40)])
def test_limits_of_integers_that_take_the_long_way(cupy, short, cost_limit):
    cost = np.arange(36).reshape(6, 6) % 7
    found, expected = (gmatch.lap(given, cost_limit=cost_limit) for given in (cupy.asarray(cost), cost))
    assert found.cost == expected.cost and found.size == expected.size
    assert short == {"solved": 0, "left": 0}


@pytest.mark.parametrize(
    ("cost", "dtype", "maximize", "cost_limit"), [(-(2**31), "int32", True, 3), (0.1, "float32", False, 0.1)]
)
def test_limits_are_compared_in_the_type_of_duals(cupy, short, cost, dtype, maximize, cost_limit):
    costs = cupy.asarray(np.full((1, 1), cost, dtype))
    found = gmatch.lap(costs, maximize=maximize, cost_limit=cost_limit)
    assert found.size == 0 and found.status == "limited" and short == {"solved": 1, "left": 0}
    gmatch.verify(gmatch.DenseCosts(costs, maximize=maximize, cost_limit=cost_limit), found)


def test_limits_that_are_none(cupy, short):
    cost = cupy.asarray(np.arange(36.0).reshape(6, 6) % 7)
    assert gmatch.lap(cost, cost_limit=np.inf).cost_limit is None
    with pytest.raises(gmatch.InvalidInput, match="cost_limit must be a number"):
        gmatch.lap(cost, cost_limit="2")
    assert short == {"solved": 1, "left": 0}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "bool", "uint32"])
def test_other_types_take_the_long_way(cupy, short, dtype):
    assert gmatch.lap(cupy.asarray(np.eye(4).astype(dtype))).cost == 0
    assert short == {"solved": 0, "left": 0}


def test_what_the_block_leaves_takes_the_long_way(cupy, short):
    forbidden = cupy.asarray([[np.inf, 1.0], [np.inf, 2.0]])
    with pytest.raises(gmatch.Infeasible) as caught:
        gmatch.lap(forbidden)
    assert caught.value.columns.tolist() == [1] or len(caught.value.columns) == 1
    assert gmatch.lap(forbidden, infeasible="partial").pairs == [(0, 1)]
    with pytest.raises(gmatch.InvalidInput, match="NaN"):
        gmatch.lap(cupy.asarray([[np.nan, 1.0], [1.0, 2.0]]))
    assert gmatch.lap(cupy.asarray([[np.nan, 1.0], [1.0, 2.0]]), forbid_nan=True).cost == 2
    with pytest.raises(gmatch.InvalidInput, match="overflow"):
        gmatch.lap(cupy.asarray([[1.5e308, -1.5e308], [1e308, 7.0]]))
    assert short == {"solved": 0, "left": 5}


def test_forbidden_pairs_that_leave_an_assignment(cupy, short):
    found = gmatch.lap(cupy.asarray([[np.inf, 1.0], [3.0, 2.0]]))
    assert found.cost == 4 and short == {"solved": 1, "left": 0}


def test_a_result_is_pickled_and_copied(cupy, short):
    import copy

    found = copy.copy(gmatch.lap(cupy.asarray([[4.0, 1.0], [2.0, 5.0], [3.0, 2.0]])))
    assert found.cost == 3 and found.pair_costs.tolist() == [1, 2] and found.unmatched_rows.tolist() == [2]
