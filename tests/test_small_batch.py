"""Batches of small problems take the short way, and have the answers of a loop of calls."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import gmatch
from gmatch import small_batch
from gmatch.devices.cpu import available_threads
from gmatch.small import SMALL_SIDE, small_first
from gmatch.small_batch import unnested

RNG = np.random.default_rng(5)


def short_way(cost: Any, **options: Any) -> Any:
    return small_first(lambda *_, **__: None)(cost, **options)


def batches() -> Iterator[Any]:
    """Integers are so large that no two assignments tie. Solvers of different types may find different ties."""
    yield RNG.random((6, 4, 7))
    yield RNG.integers(0, 120, (5, 7, 4), np.int32)
    yield RNG.integers(0, 120, (1, 3, 3)).transpose(0, 2, 1)
    yield [RNG.random((9, columns)) for columns in (4, 0, 12, 9)]
    yield (RNG.random((2, 2)), np.empty((0, 3)), RNG.random((3, 2)))
    yield RNG.random((4, 3, 5)).tolist()
    yield RNG.integers(0, 120, (4, 3, 5)).tolist()
    side_by_side = RNG.random((3, 30, 40), np.float32)
    yield [side_by_side[k, :, begin : begin + k + 2] for k, begin in enumerate((0, 8, 30))]
    yield side_by_side[::-1, ::2, ::-1]
    yield RNG.integers(0, 120, (3, 4, 5), np.int8)
    yield [RNG.random((columns, 3)).astype(np.float16) for columns in (2, 5)]
    yield RNG.random((40, 80, 90))  # enough for several threads


@pytest.mark.parametrize("cost", list(batches()), ids=lambda cost: type(cost).__name__)
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 0.4}, {"method": "jv"}], ids=str)
def test_a_batch_is_a_loop_of_calls(cost: Any, options: dict[str, Any]) -> None:
    if "cost_limit" in options and np.asarray(cost[0]).dtype.kind == "i":
        options = {"cost_limit": 50}
    batch, alone = short_way(cost, **options), [gmatch.lap(np.asarray(one), **options) for one in cost]
    assert len(batch) == len(alone)
    long_way = gmatch.lap(gmatch.CostBatch(cost, maximize="maximize" in options, cost_limit=options.get("cost_limit")))
    for batch_of in (batch, pickle.loads(pickle.dumps(batch)), long_way):
        for one, two in zip(batch_of, alone, strict=True):
            assert np.array_equal(one.row_match, two.row_match) and np.array_equal(one.col_match, two.col_match)
            assert one.pair_costs.dtype == two.pair_costs.dtype and one.cost == two.cost and one.status == two.status
            assert (one.maximize, one.cost_limit) == (two.maximize, two.cost_limit)
            assert all(np.array_equal(*sides) for sides in zip(one, two, strict=True))
    assert batch.row_match.shape == long_way.row_match.shape and batch.u.dtype == long_way.u.dtype
    assert np.array_equal(batch.row_match, long_way.row_match) and np.array_equal(batch.col_match, long_way.col_match)
    assert np.array_equal(batch.pair_costs, long_way.pair_costs) and np.array_equal(batch.shapes, long_way.shapes)
    assert np.array_equal(batch.cost, long_way.cost) and batch.status == long_way.status
    assert batch.stats.keys() <= {*long_way.stats} and batch.stats["seconds"].keys() == long_way.stats["seconds"].keys()
    gmatch.verify(cost, batch)


@pytest.mark.parametrize(
    "cost",
    [
        np.zeros((0, 3, 3)), [np.ones((2, 2)), np.full((2, 2), 2**53 + 1)], np.full((2, 2, 2), np.nan),
        np.full((2, 2, 2), np.inf), np.zeros((1, SMALL_SIDE + 1, SMALL_SIDE + 1)), np.zeros((2, 2, 2), complex),
        [[[1.0, 2**53 + 1]]], [[[1, None]]], [[[1, 2], [3]]],
    ],
    ids=lambda cost: type(cost).__name__,
)  # fmt: skip
def test_what_takes_the_long_way(cost: Any) -> None:
    assert short_way(cost) is None


def test_threads() -> None:
    cost = RNG.random((40, 80, 90))
    assert short_way(cost, threads=1).stats["threads"] == 1
    assert short_way(cost).stats["threads"] == min(4, available_threads())
    assert short_way(cost[:8]).stats["threads"] == 1


def test_options_that_take_the_long_way() -> None:
    middle = np.zeros((3, 2, 2), bool)
    middle[:, 1, 0] = True
    for options in (
        {"sizes": [(1, 1)] * 3, "mask": middle},
        {"mask": middle},
        {"sizes": [(3, 1)] * 3},
        {"certify": True},
    ):
        assert short_way(np.zeros((3, 2, 2)), **options) is None


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8"])
def test_padding_that_comes_last_is_left_out(dtype: str) -> None:
    cost = RNG.integers(1, 99, (5, 6, 7)).astype(dtype)
    sizes = [(6, 7), (0, 3), (4, 4), (5, 0), (2, 6)]
    mask = np.zeros(cost.shape, bool)
    for kept, (rows, columns) in zip(mask, sizes, strict=True):
        kept[:rows, :columns] = True
    cost[~mask] = 0
    for padding in ({"sizes": sizes}, {"mask": mask}, {"sizes": np.array(sizes), "mask": None}):
        found, expected = short_way(cost, **padding), gmatch.lap.__wrapped__(cost, **padding)
        for name in ("row_match", "col_match", "pair_costs", "shapes"):
            one, two = getattr(found, name), getattr(expected, name)
            assert one.dtype == two.dtype and np.array_equal(one, two), name
        assert found.u.shape == expected.u.shape and found.v.shape == expected.v.shape
        assert [one.pairs for one in found] == [one.pairs for one in expected]
        gmatch.verify(cost, found)


def test_batches_of_several_types() -> None:
    whole, real = RNG.integers(0, 99, (2, 3, 4)), RNG.random((3, 3))
    for cost in (
        [whole[0], real], [whole[0].astype(np.int8), whole[1]], [real.astype(np.float32), real],
        [whole[0].astype(np.float16), whole[1].astype(np.uint32)], [whole[0] > 50, whole[1].astype(np.uint64)],
    ):  # fmt: skip
        for options in ({}, {"maximize": True}, {"cost_limit": 49.5}, {"cost_limit": 3}):
            found, expected = short_way(cost, **options), gmatch.lap.__wrapped__(cost, **options)
            for name in ("row_match", "pair_costs", "u", "v"):
                assert getattr(found, name).dtype == getattr(expected, name).dtype, name
            assert np.array_equal(found.cost, expected.cost) and found.cost_limit == expected.cost_limit
            gmatch.verify(cost, found)


@pytest.mark.parametrize("limit", [49.5, 99.5])
def test_a_limit_between_integers_is_one_for_the_whole_batch(limit: float) -> None:
    cost = [RNG.integers(0, 40, (3, 3)), RNG.integers(0, 99, (4, 4)) // 98 * 98]
    cost[1][0, 0] = 98
    found, expected = short_way(cost, cost_limit=limit), gmatch.lap.__wrapped__(cost, cost_limit=limit)
    assert found.u.dtype == expected.u.dtype == (np.float64 if limit < 98 else np.int64)
    assert found[0].u.dtype == found.u.dtype and found.pair_costs.dtype == np.int64
    assert found.cost_limit == found[1].cost_limit == limit and np.array_equal(found.cost, expected.cost)
    gmatch.verify(cost, found)


def test_nan_is_forbidden_where_it_lies() -> None:
    cost = [RNG.random((4, 4)), RNG.random((4, 4))]
    cost[1][0] = np.nan, 1.0, np.nan, np.nan
    found = short_way(cost, forbid_nan=True)
    assert found.forbid_nan and found[1].forbid_nan and not found[0].forbid_nan
    assert found[1].row_match[0] == 1
    gmatch.verify(cost, found)
    assert short_way(cost) is None


def test_a_new_batch_is_a_sequence() -> None:
    cost = RNG.random((3, 4, 4))
    batch = short_way(cost)
    assert len(batch) == 3 and len(list(batch)) == 3 and [one.cost for one in batch] == [one.cost for one in batch]
    assert [one.cost for one in batch] == [batch[k].cost for k in range(3)] == [one.cost for one in batch]
    assert len(batch) == 3 and batch[-1].cost == batch[2].cost and not isinstance(batch, tuple)
    assert len(tuple(pickle.loads(pickle.dumps(batch)))) == 3


@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 1}], ids=str)
def test_ties_are_settled_as_in_a_loop_of_calls(options: dict[str, Any]) -> None:
    of_lists = [RNG.integers(0, 3, shape).astype(np.float32) for shape in ((5, 5), (70, 80), (9, 3), (4, 0), (1, 1))]
    for cost in (of_lists, RNG.integers(0, 3, (5, 6, 8)), RNG.integers(0, 2, (3, 70, 70), np.int8)):
        batch = short_way(cost, deterministic=True, **options)
        alone = [gmatch.lap(one, deterministic=True, method="tree", **options) for one in cost]
        for one, two in zip(batch, alone, strict=True):
            assert np.array_equal(one.row_match, two.row_match) and np.array_equal(one.col_match, two.col_match)
        assert batch.stats["rows_with_choice"].tolist() == [one.stats.get("rows_with_choice", 0) for one in alone]
        assert batch.stats["rows_with_choice"].sum() > 0
        assert "rows_with_choice" not in short_way(cost, **options).stats
        gmatch.verify(cost, batch)


def test_lists_become_arrays_at_once() -> None:
    """Lists become arrays before any Python code looks at each number."""
    for shape in ((SMALL_SIDE + 1, SMALL_SIDE + 1), (3, 4 * SMALL_SIDE), (2, 3), (2, 3, 4)):
        array = RNG.random(shape)
        found = unnested(array.tolist())
        assert isinstance(found, np.ndarray) and np.array_equal(found, array)
    row = [1.0] * 4 * SMALL_SIDE
    for cost in (
        [row, row[1:]],
        [row, None],
        [[*row, 2**53 + 1]],
        [["x", *row]],
        [[1, 2], [3]],
        [],
    ):
        assert unnested(cost) is cost


def test_a_list_of_matrices_is_not_copied() -> None:
    batch = [np.broadcast_to(0.0, (2**29, 2**29))]  # a copy would need 2**61 bytes
    assert unnested(batch) is batch
    number = [np.array(1.0)]
    with pytest.raises(gmatch.InvalidInput, match="got list of 1 dimensions"):
        gmatch.lap(number)


def test_nested_lists_are_one_array() -> None:
    lists = RNG.random((3, 4, 5)).tolist()
    sizes = [(2, 2), (4, 5), (1, 5)]
    found = gmatch.lap(lists, sizes=sizes, certify=True)
    assert found.cost.tolist() == gmatch.lap(np.array(lists), sizes=sizes).cost.tolist()
    with pytest.raises(gmatch.InvalidInput, match="2\\*\\*53|9007199254740993"):
        gmatch.lap([[[1.0, 2**53 + 1]]])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_no_rows_or_no_columns(shape: tuple[int, int], dtype: str) -> None:
    cost = np.zeros(shape, dtype)
    for options in ({}, {"maximize": True}, {"infeasible": "partial"}, {"cost_limit": 0.5}, {"cost_limit": 2}):
        long_way = gmatch.lap.__wrapped__(cost, **options)
        found = short_way(cost, **options)
        for name in ("row_match", "col_match", "u", "v", "pair_costs", "row_ind", "col_ind", "unmatched_rows"):
            one, two = getattr(found, name), getattr(long_way, name)
            assert np.array_equal(one, two) and one.dtype == two.dtype, name
        for name in ("maximize", "cost_limit", "status", "cost", "cover", "stats"):
            assert getattr(found, name) == getattr(long_way, name), name
    with pytest.raises(gmatch.InvalidInput):
        gmatch.lap(cost, cost_limit=np.nan)


def test_processors_are_asked_for_where_there_is_work_for_two(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(small_batch, "available_threads", lambda: asked.append(True) or 2)
    few = [np.random.default_rng(0).random((3, 3))] * 4
    assert gmatch.lap(few).stats["threads"] == 1 and not asked
    many = np.random.default_rng(0).random((64, 60, 60))
    assert gmatch.lap(many).stats["threads"] == 2 and asked
    assert gmatch.lap(many, threads=1).stats["threads"] == 1


def test_lists_are_read_as_numpy_reads_them() -> None:
    """The values are equal where NumPy rounds none. Floats of any size stay as they are."""
    for lists in (
        [[1, 2], [3, 4]], [[1.5, 2], [3, 4]], [[1, 2], [3, 4.5]], [[1e300, -0.0]], [[2**53, 0.5]],
        [[-(2**63), 2**63 - 1]], [[[1, 2, 3]], [[4, 5, 6]]], [[[1.0], [2]], [[3], [4]]], [[float("inf"), float("nan")]],
        [[1, 2], (3, 4)], ((1.5, 2), [np.float64(3), 4]), [([1], [2]), ([3], [4])],
    ):  # fmt: skip
        array, expected = unnested(lists), np.array(lists)
        assert type(array) is np.ndarray and array.dtype == expected.dtype and array.shape == expected.shape
        assert array.tobytes() == expected.tobytes() and array.flags.owndata and array.flags.writeable
    for lists in (
        [[1, 2], [3]], [[1.0, 2**53 + 1]], [[2**53 + 1, 1.0]], [[2**63, 1]], [[1, "2"]], [[1, None]],
        [[[1], [2]], [[3]]], [[1, [2]]], [[[1, 2], [3, 4]], 5],
    ):  # fmt: skip
        assert unnested(lists) is lists or not may_have_rounded_or_cut(lists)


def may_have_rounded_or_cut(lists: Any) -> bool:
    """Whether NumPy makes no array of numbers of the lists, or rounds a number."""
    try:
        array = np.array(lists)
    except ValueError:
        return True
    return array.dtype.kind not in "bif" or array.tolist() != lists


def test_a_list_that_another_thread_empties() -> None:
    """Its arrays live until they are solved: memory that they left would be overwritten."""
    given = [RNG.random((60, 60)) for _ in range(200)]
    expected = [gmatch.lap(cost).cost for cost in given]

    def empty(problems: list[Any], delay: float) -> None:
        time.sleep(delay)
        problems.clear()
        [np.full((60, 60), 1e300) for _ in range(50)]

    solved = 0
    for delay in np.linspace(1e-4, 3e-3, 30):
        problems = [cost.copy() for cost in given]
        other = threading.Thread(target=empty, args=(problems, delay))
        other.start()
        with suppress(gmatch.InvalidInput):  # emptied before the call looked at it
            found = [assignment.cost for assignment in gmatch.lap(problems, threads=1)]
            assert found == expected[: len(found)]
            solved += len(found)
        other.join()
    assert solved


@pytest.mark.parametrize("maximize", [False, True])
def test_problems_without_an_assignment_take_the_short_way(maximize: bool) -> None:
    forbidden = -np.inf if maximize else np.inf
    for shapes in ([(5, 7)] * 12, [(4, 4), (9, 5), (3, 8), (6, 6), (1, 4)] * 4):
        problems = [np.where(RNG.random(shape) < 0.25, RNG.integers(0, 9, shape), forbidden) for shape in shapes]
        problems[1][:] = RNG.random(shapes[1])
        given = problems if len(set(shapes)) > 1 else np.array(problems)
        batch = gmatch.lap(given, infeasible="partial", maximize=maximize)
        assert batch._later is not None  # the long way makes all fields at once
        alone = [gmatch.lap(problem, infeasible="partial", maximize=maximize) for problem in problems]
        assert batch.status == tuple(one.status for one in alone)
        assert {"partial", "optimal"} == set(batch.status)
        assert sorted(batch.covers) == [k for k, one in enumerate(alone) if one.cover is not None] and not batch.exact
        for k, (one, item, problem) in enumerate(zip(alone, batch, problems, strict=True)):
            assert item.cost == one.cost == batch[k].cost and item.status == one.status
            for cover in (item.cover, batch[k].cover, batch.covers.get(k)):
                assert (cover is None) == (one.cover is None)
                for side in range(0 if cover is None else 2):
                    assert cover[side].tolist() == one.cover[side].tolist()
            assert gmatch.verify(problem, item, strict=True)
        assert gmatch.verify(given, batch)
