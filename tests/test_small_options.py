"""Small calls with options, of other types, layouts and libraries: as the long way answers, and as SciPy does."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch.small import SMALL_SIDE, small_first

FIELDS = {"row_match", "col_match", "u", "v", "pair_costs"}
TYPES = ["bool", "int8", "uint8", "int16", "uint16", "uint32", "int32", "int64", "float16", "float32", "float64"]
LAYOUTS = {
    "rows": lambda cost: cost,
    "columns": np.asfortranarray,
    "backwards": lambda cost: np.ascontiguousarray(cost[::-1, ::-1])[::-1, ::-1],
    "apart": lambda cost: cost.repeat(2, axis=1)[:, ::2],
    "list": lambda cost: cost.tolist(),
}


def long_way(cost: Any, **options: Any) -> Any:
    return gmatch.lap.__wrapped__(cost, **options)  # type: ignore[attr-defined]


def short_way(cost: Any, **options: Any) -> Any:
    """The answer of the short way; None if the call takes the long way."""
    return small_first(lambda *_, **__: None)(cost, **options)


def both(cost: Any, **options: Any) -> tuple[Any, Any]:
    """The results or errors of both ways. Checks that they are alike."""
    answers = []
    for way in (gmatch.lap, long_way):
        try:
            answers.append(way(cost, **options))
        except gmatch.GmatchError as error:
            answers.append((type(error), str(error)))
    short, long = answers
    if isinstance(long, tuple):
        assert short == long
        return short, long
    for name in FIELDS:
        assert getattr(short, name).dtype == getattr(long, name).dtype, name
        assert getattr(short, name).shape == getattr(long, name).shape or "cost_limit" in options, name
    for name in ("row_ind", "col_ind", "unmatched_rows", "unmatched_columns"):
        assert getattr(short, name).dtype == getattr(long, name).dtype, name
    for name in ("maximize", "cost_limit", "cover", "exact", "forbid_nan", "row_nodes"):
        assert type(getattr(short, name)) is type(getattr(long, name)), name
    assert set(short.stats) == set(long.stats) and short.stats["reason"] == long.stats["reason"]
    assert short.cost_limit == long.cost_limit and short.maximize is long.maximize
    assert type(short.cost) is type(long.cost) and type(short.status) is type(long.status)
    limit = short.cost_limit or 0
    worth = short.cost - limit * short.size, long.cost - limit * long.size
    assert worth[0] == pytest.approx(worth[1], rel=1e-12, abs=1e-12)
    if short.cost_limit is None:
        assert short.status == long.status
    rows, columns = short
    assert (rows == short.row_ind).all() and (columns == short.col_ind).all() and len(rows) == short.size
    assert (short.row_match[rows] == columns).all() and (short.col_match[columns] == rows).all()
    gmatch.verify(cost, short)
    return short, long


def costs(rng: np.random.Generator, dtype: str, kind: str, shape: tuple[int, int]) -> np.ndarray:
    lowest = 0 if dtype == "bool" or dtype.startswith("u") else -20
    cost = rng.integers(lowest, 2 if dtype == "bool" else 2 - lowest if kind == "ties" else 100, shape).astype(dtype)
    if cost.dtype.kind == "f":
        if kind == "fractions":
            cost += rng.random(shape).astype(dtype)
        if kind == "forbidden":
            cost[rng.random(shape) < 0.4] = np.inf
        if kind == "bad":
            cost[tuple(rng.integers(0, shape))] = rng.choice([np.nan, -np.inf])
    if kind == "sentinels" and cost.dtype.itemsize > 2:
        cost[rng.random(shape) < 0.5] = 10**9
    return cost


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_the_long_way(dtype: str, layout: str) -> None:
    rng = np.random.default_rng(TYPES.index(dtype))
    options: list[dict[str, Any]] = [
        {}, {"maximize": True}, {"cost_limit": 7}, {"cost_limit": 2.5}, {"cost_limit": -3.0, "maximize": True},
        {"infeasible": "partial"}, {"infeasible": "partial", "maximize": True, "threads": 1}, {"cost_limit": 0},
        {"cost_limit": 1e6, "device": "cpu"}, {"cost_limit": np.inf}, {"cost_limit": -np.inf}, {"cost_limit": np.nan},
        {"method": "jv", "cost_limit": 30, "threads": 1}, {"cost_limit": np.float64(12)}, {"cost_limit": -1000},
    ]  # fmt: skip
    kinds = ["plain", "fractions", "ties", "forbidden", "sentinels", "bad"]
    for case, (kind, option) in enumerate(itertools.product(kinds, options)):
        shape = tuple(rng.integers(1, 12, 2)) if case % 3 else tuple(rng.integers(8, 45, 2))
        cost = LAYOUTS[layout](costs(rng, dtype, kind, shape))
        maximize = option.get("maximize", False)
        if kind == "forbidden" and maximize and dtype.startswith("float") and layout != "list":
            cost = -cost
        short, long = both(cost, **option)
        if isinstance(short, tuple) or option.get("cost_limit") is not None or kind == "forbidden":
            continue
        matrix = np.asarray(cost, np.float64)
        expected = matrix[linear_sum_assignment(matrix, maximize)].sum()
        assert short.cost == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"cost_limit": 0.5}, {"cost_limit": 1, "maximize": True}, {"infeasible": "partial"}, {"maximize": True},
     {"threads": 1, "device": "cpu", "cost_limit": 0.25}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_what_takes_the_short_way(options: dict[str, Any], dtype: str) -> None:
    cost = np.random.default_rng(0).random((6, 9)).astype(dtype)
    for given in (cost, cost.T, cost.tolist()):
        assert isinstance(short_way(given, **options), gmatch.Assignment)


@pytest.mark.parametrize(
    "cost",
    [np.zeros((0, 3, 3)), [[1, 2], [3]], [[1.0, 2**53 + 1]], [[None, 1.0]], [], [["1"]], [np.zeros(2), [1]],
     np.full((2, 2), 2**63, np.uint64), np.arange(8.0 * SMALL_SIDE).reshape(2, -1),
     np.ones((2, SMALL_SIDE * 4), np.int8), [[*range(4 * SMALL_SIDE)]], ((1, 2), (3,)), [[1, 2**63]]],
    ids=str,
)  # fmt: skip
def test_what_takes_the_long_way(cost: Any) -> None:
    assert short_way(cost) is None


@pytest.mark.parametrize("dtype", [*TYPES, "uint64"])
def test_rows_that_are_arrays_take_the_short_way(dtype: str) -> None:
    cost = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 99, (5, 8)).astype(dtype)
    by_columns, small = np.asfortranarray(cost), dtype in ("bool", "int8", "uint8", "int16", "uint16")
    for given in (list(cost), tuple(cost), list(by_columns), list(cost[:, ::-1])):
        found, expected = short_way(given), long_way(np.array(given))
        assert found.cost == expected.cost and found.u.dtype == expected.u.dtype
        assert found.pair_costs.dtype == (np.int32 if small else expected.pair_costs.dtype)
        gmatch.verify(given, found)
    for given in ([cost[0], cost[1, :4]], [np.empty(0, dtype)] * 2, [cost[0], 3]):
        assert short_way(given) is None or np.array(given).size == 0
    mixed = [cost[0], cost[1].astype(np.float64)]
    assert short_way(mixed).cost == long_way(np.array(mixed)).cost


class _OfAClass(np.ndarray):
    """A class of arrays."""


class _ByProtocol:
    """An object that gives its array by one protocol."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return self.array


def _frame_of(library: str, cost: np.ndarray) -> Any:
    module = pytest.importorskip(library)
    names = [f"{library}{column}" for column in range(cost.shape[1])]
    if library == "pandas":
        return module.DataFrame(cost, index=list("abcdef"), columns=names)
    if library == "polars":
        return module.DataFrame(cost, schema=names)
    return module.DataArray(cost, dims=("row", "column"), coords={"column": names})


OTHER_KINDS = {
    "masked": np.ma.array,
    "class": lambda cost: cost.view(_OfAClass),
    "memoryview": memoryview,
    "protocol": _ByProtocol,
    **{library: partial(_frame_of, library) for library in ("pandas", "polars", "xarray")},
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_costs_of_other_kinds_take_the_short_way(kind: str, dtype: str) -> None:
    cost = np.random.default_rng(0).integers(0, 99, (6, 9)).astype(dtype)
    given = OTHER_KINDS[kind](cost)
    for options in ({}, {"cost_limit": 40}, {"maximize": True, "infeasible": "partial"}):
        assert isinstance(short_way(given, **options), gmatch.Assignment)
        short, long = both(given, **options)
        assert (short.row_nodes, short.col_nodes) == (long.row_nodes, long.col_nodes)
        assert short.pairs == long.pairs
    assert (short.col_nodes is not None) == (kind in ("pandas", "polars", "xarray"))


@pytest.mark.parametrize(
    "cost",
    [np.ma.array(np.eye(3), mask=np.eye(3)), _ByProtocol(np.zeros(3)), _ByProtocol(np.array([[1j, 2]])),
     _ByProtocol(np.ones((1, 8 * SMALL_SIDE))), memoryview(b"12")],
    ids=lambda cost: type(cost).__name__,
)  # fmt: skip
def test_costs_of_other_kinds_that_take_the_long_way(cost: Any) -> None:
    assert short_way(cost) is None


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 40}, {"infeasible": "partial"}], ids=str)
def test_nan_that_forbids_takes_the_short_way(dtype: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    for shape in ((5, 5), (4, 9), (9, 4)):
        cost = rng.integers(0, 99, shape).astype(dtype)
        assert not short_way(cost, forbid_nan=True, **options).forbid_nan
        cost[rng.random(shape) < 0.3] = np.nan
        cost[0, 0] = np.nan
        for given in (cost, cost.T, cost.tolist()):
            if options:
                assert short_way(given, forbid_nan=True, **options).forbid_nan
            short, _ = both(given, forbid_nan=True, **options)
            assert isinstance(short, tuple) or not np.isnan(short.pair_costs).any()


@pytest.mark.parametrize("limit", ["7", True, None, 2**60, [7], np.array([7]), 7 + 0j])
def test_other_limits_take_the_long_way(limit: Any) -> None:
    cost = np.arange(12).reshape(3, 4)
    if limit is not None:
        assert short_way(cost, cost_limit=limit) is None
    both(cost, cost_limit=limit)


def test_a_limit_at_the_cost_of_pairs_keeps_them() -> None:
    cost = np.array([[5, 9, 9], [9, 5, 9], [9, 9, 5]])
    for given in (cost, cost.astype(float), cost.astype(np.float32)):
        assert gmatch.lap(given, cost_limit=5).size == 3
        assert gmatch.lap(given, cost_limit=4).size == 0


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_a_limit_between_integers_takes_the_short_way(dtype: str) -> None:
    """Two pairs of 1 and 2 and one of 0 are worth the same with the limit 3, and not with 3.5."""
    cost = np.array([[1, 0], [9, 2]], dtype)
    for limit, size in ((3.5, 2), (2.5, 1), (0.5, 1), (-0.5, 0)):
        short, long = both(cost, cost_limit=limit)
        assert short.size == long.size == size and type(short.cost) is int
        assert short_way(cost, cost_limit=limit) is not None
        assert short.u.dtype == np.float64 and short.pair_costs.dtype.kind == "i"
        both(-cost, cost_limit=-limit, maximize=True)
    beyond = both(cost, cost_limit=9.5)[0]  # no limit at all: duals are integers
    assert beyond.u.dtype == np.int64 and beyond.cost_limit == 9.5
    for limit in (1e18, -1e18, np.nan, 2.0**53 + 2):
        both(cost, cost_limit=limit)
    batch = gmatch.lap(np.stack([cost, cost]), cost_limit=3.5)
    assert batch.u.dtype == np.float64 and batch[1].cost_limit == 3.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("maximize", [False, True])
def test_the_largest_floats_take_the_short_way(dtype: str, maximize: bool) -> None:
    """They stand for "not", and some have to be used."""
    rng = np.random.default_rng(8)
    for case in range(60):
        cost = rng.random(tuple(rng.integers(1, 9, 2))).astype(dtype)
        most = np.finfo(dtype).max if case % 3 else np.dtype(dtype).type(1e30)
        never = rng.random(cost.shape) < 0.6
        cost = np.where(never, -most if maximize else most, cost)
        if case % 4 == 0:  # far below 0, too
            cost[tuple(rng.integers(0, cost.shape))] *= -1
        short, long = gmatch.lap(cost, maximize=maximize), long_way(cost, maximize=maximize)
        assert never[tuple(short)].sum() == never[tuple(long)].sum()
        gmatch.verify(cost, short, strict=True)
    assert short_way(np.array([[0.5, most, 0.25], [most, most, most]], dtype)) is not None


def test_duals_that_exceed_costs_take_the_short_way_if_they_prove_them() -> None:
    """One small problem in 500 has such duals; a proof of 200 us for each would be a third of the time of all."""
    rng = np.random.default_rng(9)
    assert all(short_way(rng.random((3, 4))) is not None for _ in range(3000))


def test_rows_leave_for_others() -> None:
    """A shortest path may end at the way out of a row that has a column."""
    cost = np.array([[4.0, 9.0], [1.0, 9.0]])
    for padded in (cost, np.pad(cost, ((0, 0), (0, 12)), constant_values=9.0)):
        result, _ = both(padded, cost_limit=6.0)
        assert result.row_match.tolist() == [-1, 0]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_ones_with_a_limit(dtype: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    took_short = 0
    for case in range(120):
        shape = tuple(rng.integers(1, 14, 2))
        stored = rng.random(shape) < rng.choice([0.1, 0.4, 1])
        cost = rng.integers(-9, 30, shape).astype(dtype)
        matrix = getattr(scipy.sparse, kind)(scipy.sparse.coo_array((cost[stored], stored.nonzero()), shape))
        maximize, limit = bool(case % 2), [4, 9.0, -3, 40, 2.5][case % 5]
        short, _ = both(matrix, cost_limit=limit, maximize=maximize)
        took_short += short_way(matrix, cost_limit=limit, maximize=maximize) is not None
        forbidden = np.where(stored, cost, -np.inf if maximize else np.inf)
        beside = gmatch.lap(forbidden, cost_limit=limit, maximize=maximize, certify=True)
        assert short.cost - limit * short.size == pytest.approx(beside.cost - limit * beside.size)
    assert took_short > 60


def test_tall_ones_are_copied_right() -> None:
    rng = np.random.default_rng(6)
    for shape in ((40, 33), (130, 17), (70, 64)):
        for dtype in ("int32", "int64", "float32", "float64"):
            cost = (1000 * rng.random(shape)).astype(dtype)
            for layout in (cost, np.asfortranarray(cost), cost.T, cost[::-1, ::-1], cost.repeat(3, axis=1)[:, ::3]):
                expected = layout[linear_sum_assignment(layout)].sum(dtype=np.float64)
                result = gmatch.lap(layout, certify=True)
                assert result.cost == pytest.approx(expected, rel=1e-12)
                both(layout, cost_limit=100)


def test_lists_may_forbid_pairs() -> None:
    assert short_way([[1.0, np.inf], [np.inf, 2.0]]).cost == 3
    both([[1.0, np.inf], [2.0, np.inf]], infeasible="partial")


def test_what_is_said_of_ties_does_not_depend_on_the_way() -> None:
    """Rows that a limit leaves out have no choice, though all their pairs cost the limit or more."""
    rng = np.random.default_rng(10)
    numbers = []
    for case in range(150):
        cost = rng.integers(0, 6, rng.integers(1, 7, 2)) if case % 2 else rng.random(rng.integers(1, 7, 2))
        options = {"deterministic": True, "maximize": bool(case % 3 == 0), "cost_limit": (None, 0.5, 2)[case % 5 % 3]}
        short, long = gmatch.lap(cost, **options), long_way(cost, **options)
        numbers.append(short.stats["rows_with_choice"])
        assert numbers[-1] == long.stats["rows_with_choice"] and (short.row_match == long.row_match).all()
    assert 0 in numbers and max(numbers) > 1
    assert long_way(np.full((3, 3), 2.0), deterministic=True, cost_limit=0.5).stats["rows_with_choice"] == 0


@pytest.mark.parametrize("big", [1e5, 1e9, 1e15, 1e18, 1e300, 1.7e308])
def test_duals_have_parts_where_rounding_would_lose_digits(big: float) -> None:
    rng = np.random.default_rng(11)
    seen = []
    for case in range(80):
        cost = np.where(rng.random(rng.integers(1, 6, 2)) < (0.2, 0.7)[case % 2], big, 1)
        cost = np.where(cost == 1, rng.random(cost.shape), cost)
        short, long = gmatch.lap(cost), long_way(cost)
        seen.append(short.exact is None)
        assert short.cost == long.cost
        gmatch.verify(cost, short, strict=True)
    assert len(set(seen)) == 2 or big > 1e307
