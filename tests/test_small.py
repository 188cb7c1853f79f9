"""Small calls take a short way; they must not differ from long ones."""

import copy
import inspect
import pickle
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

import gmatch
from gmatch import _native
from gmatch.small import SMALL_SIDE, SMALL_SOLVERS

MINIMIZE, MAXIMIZE = (solver.solve for solver in SMALL_SOLVERS[:2])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_as_the_long_way(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for case in range(600):
        shape = rng.integers(1, SMALL_SIDE + 1, 2) if case % 20 == 0 else rng.integers(1, 9, 2)
        cost = rng.integers(-9, 10 if case % 2 else 1000, shape).astype(dtype)
        cost = [cost, np.asfortranarray(cost), cost[::-1, ::-1], cost.T, cost.repeat(2, axis=1)[:, ::2]][case % 5]
        cost.flags.writeable = False
        maximize = bool(case % 3 == 0)
        small, alone = SMALL_SOLVERS[maximize].solve(cost), gmatch.lap(gmatch.DenseCosts(cost, maximize=maximize))
        assert small is not None and small.cost == alone.cost
        assert gmatch.verify(cost, small).gap == 0
        for name in ("row_match", "col_match", "u", "v", "pair_costs"):
            assert getattr(small, name).dtype == getattr(alone, name).dtype
            assert getattr(small, name).shape == getattr(alone, name).shape
        assert set(small.stats) == set(alone.stats) and type(small.status) is gmatch.Status
        assert small.stats["reason"] == alone.stats["reason"] and small.maximize is maximize
        asked_for = gmatch.lap(cost, method=("jv", gmatch.JV())[case % 2], maximize=maximize)
        assert asked_for.stats["reason"] == "asked for" and (asked_for.row_match == small.row_match).all()
        i, j = gmatch.compat.linear_sum_assignment(cost, maximize)
        assert i.dtype == j.dtype == np.int64 and (np.diff(i) > 0).all()
        assert cost[i, j].sum() == cost[linear_sum_assignment(cost, maximize)].sum()


@pytest.mark.parametrize(
    "cost",
    [
        np.full((3, 3), np.inf), np.array([[1, np.nan]]), np.full((2, 2), 2**62),
        np.add.outer(*2 * [np.arange(SMALL_SIDE + 1)]), np.full((3, 3), np.nan, "f2"),
        np.zeros((3, 3), ">f8"), np.zeros(3), np.arange(4 * SMALL_SIDE)[None], np.zeros((2, 2), complex),
        np.zeros((2, 2), object), np.zeros((3, 3), "i1,f8")["f1"], np.zeros((2, 2), "datetime64[s]"),
        np.zeros((2, 2), "V0"), np.zeros((2, 2), ">i2"), np.full((2, 2), 2**63, np.uint64),
        np.zeros((2, 2), np.longdouble),
    ],
)  # fmt: skip
def test_what_takes_the_long_way(cost: np.ndarray) -> None:
    assert MINIMIZE(cost) is MAXIMIZE(cost) is None


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"threads": 1}, {"device": "cpu", "threads": 1}], ids=str)
def test_what_takes_the_short_way(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (gmatch.assignment.plan, gmatch.cardinality.matching):
        monkeypatch.delattr(module, "backend_for")  # the long way needs it
    assert gmatch.lap(np.eye(4), **options).cost == 0
    assert gmatch.max_matching(csr_array(np.eye(4)), **options).size == 4


@pytest.mark.parametrize(
    "options",
    [
        {"maximize": False}, {"method": "jv"}, {"method": gmatch.JV(), "threads": 1}, {"duals": None, "mask": None},
        {"threads": 2}, {"threads": 1024}, {"threads": None},
    ],
    ids=str,
)  # fmt: skip
def test_options_of_lap_that_go_the_short_way(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gmatch.assignment.plan, "backend_for")
    assert gmatch.lap(np.eye(4), **options).cost == 0


def test_strings_go_the_short_way_by_their_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gmatch.assignment.plan, "backend_for")
    found = gmatch.lap(np.eye(4), method="".join("jv"), device="".join("cpu"), infeasible="".join("partial"))
    assert found.cost == 0 and found.stats["reason"] == "asked for"


def test_lap_shows_its_options_and_refuses_others() -> None:
    assert {"maximize", "method", "cost_limit", "mask"} < set(inspect.signature(gmatch.lap).parameters)
    with pytest.raises(TypeError, match="lap.. got an unexpected keyword argument 'minimize'"):
        gmatch.lap(np.eye(4), minimize=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("method", ["auto", np.array(["auto", "auto"])], ids=str)
@pytest.mark.parametrize(
    "options", [{"threads": True}, {"threads": 1.0}, {"threads": 0}, {"device": "CPU"}, {"device": np.array(["cpu"])}],
    ids=str,
)  # fmt: skip
def test_bad_options_of_small_calls(method: Any, options: dict[str, Any]) -> None:
    for call, problem in ((gmatch.lap, np.eye(4)), (gmatch.max_matching, csr_array(np.eye(4)))):
        with pytest.raises(gmatch.InvalidInput, match="must be|unknown method"):
            call(problem, method=method, **options)


def test_forbidden_pairs_need_no_long_way_if_there_is_an_assignment() -> None:
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(200):
        cost = rng.integers(0, 5, rng.integers(1, 7, 2)).astype(float)
        cost[rng.random(cost.shape) < 0.4] = np.inf
        small, most = MINIMIZE(cost), MAXIMIZE(-cost)
        kinds.add(small is None)
        try:
            expected = gmatch.lap(gmatch.DenseCosts(cost)).cost
        except gmatch.Infeasible:
            assert small is most is None
        else:
            assert small is not None and small.cost == expected and gmatch.verify(cost, small).gap == 0
            assert most is not None and most.cost == -expected and gmatch.verify(-cost, most).gap == 0
    assert kinds == {True, False}


def test_duals_of_whole_floats_are_whole_beside_big_numbers() -> None:
    rng = np.random.default_rng(0)
    for big in (1e5, 2.0**24):
        cost = np.where(rng.random((12, 14)) < 0.9, big, rng.integers(0, 9, (12, 14)))
        result = gmatch.lap(cost)
        assert result.exact is None and gmatch.verify(cost, result, strict=True).gap == 0
        assert all((dual == np.rint(dual)).all() for dual in (result.u, result.v))


def test_seconds_are_those_of_a_clock() -> None:
    cost, shares = np.random.default_rng(0).random((SMALL_SIDE, SMALL_SIDE)), []
    for _ in range(41):
        begin = time.perf_counter()
        seconds = gmatch.lap(cost).stats["seconds"]["search"]
        shares.append(seconds / (time.perf_counter() - begin))
    assert 0.4 < np.median(shares) < 1.01  # the search takes 0.7 of a call; a tick is known to a hundredth


def test_no_time_passes_between_two_counters_of_which_one_is_behind() -> None:
    assert [_native.seconds_of_ticks(ticks) for ticks in (-5, 0)] == [0, 0]
    assert _native.seconds_of_ticks(10**9) == pytest.approx(1000 * _native.seconds_of_ticks(10**6))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (70, 70)])
def test_pairs_come_without_the_other_fields(shape: tuple[int, int]) -> None:
    cost = np.random.default_rng(2).random(shape)
    quick, whole = tuple(gmatch.lap(cost)), gmatch.lap(cost)
    assert (quick[0] == whole.row_ind).all() and (quick[1] == whole.col_ind).all()
    assert [part.dtype for part in quick] == [whole.row_ind.dtype, whole.col_ind.dtype]


def test_an_assignment_made_later_behaves() -> None:
    cost = np.random.default_rng(0).random((5, 5))
    expected = gmatch.lap(gmatch.DenseCosts(cost)).row_match.tolist()
    for make in (copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))):
        assignment = make(gmatch.lap(cost))
        assert assignment.row_match.tolist() == expected and assignment.cost == assignment.pair_costs.sum()
    changed = cost.copy()
    assignment = gmatch.lap(changed)
    changed[:] = 0  # the result does not change with the costs
    assert assignment.row_match.tolist() == expected and gmatch.verify(cost, assignment)
    with pytest.raises(AttributeError, match="an Assignment has no 'mates'"):
        _ = assignment.mates
    row_ind, col_ind = assignment = gmatch.lap(cost)
    assert col_ind.tolist() == expected and row_ind.tolist() == list(range(5))
    row_ind[:] = col_ind[:] = -1  # the fields do not share this memory
    assert assignment.row_match.tolist() == expected and gmatch.verify(cost, assignment)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    ("entry", "limit", "kept"),
    [(int, None, None), (int, 3, 3), (int, 3.0, 3), (int, 2.5, 2.5), (float, None, None), (float, 3, 3.0)],
)
def test_options_are_fields_that_are_made_later(entry: type, limit: Any, kept: Any, maximize: bool) -> None:
    cost = np.random.default_rng(0).integers(0, 7, (4, 5)).astype(entry)
    batch = gmatch.lap([cost, cost], maximize=maximize, cost_limit=limit)
    one = gmatch.lap(cost, maximize=maximize, cost_limit=limit)
    assert not vars(one)  # a dictionary takes a tenth of a call
    for made in (one, batch[1], next(iter(batch)), batch):
        for result in (made, pickle.loads(pickle.dumps(made))):
            assert result.maximize is maximize
            assert result.cost_limit == kept and type(result.cost_limit) is type(kept)
    sparse = gmatch.lap(csr_array(cost + 1), maximize=maximize, cost_limit=100)
    assert sparse.maximize is maximize and sparse.cost_limit == 100


def test_pairs_have_the_length_that_they_are_unpacked_to() -> None:
    for result in (gmatch.lap(np.eye(6)), gmatch.max_matching(csr_array(np.eye(6))), gmatch.lap(np.zeros((0, 3)))):
        assert len(result) == len(tuple(result)) == 2 and result
    assert len(gmatch.lap(np.zeros((3, 4, 5)))) == 3


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (lambda: gmatch.lap(np.eye(6)), ("cost_limit", "status", "stats")),  # no Python code makes the arrays
        (lambda: gmatch.max_matching(csr_array(np.eye(6))), ("row_match", "col_match", "stats")),
    ],
)
def test_threads_may_ask_for_fields_at_the_same_time(result: Callable[[], Any], names: tuple[str, ...]) -> None:
    for name in names:
        made, seen = result(), []
        make_field, pairs, arguments = made._later

        def make_while_another_asks(*given, made=made, make_field=make_field, name=name, seen=seen):
            if threading.current_thread() is threading.main_thread():
                other = threading.Thread(target=lambda: seen.append(getattr(made, name)))
                other.start()
                other.join()
            return make_field(*given)

        object.__setattr__(made, "_later", (make_while_another_asks, pairs, arguments))
        mine = getattr(made, name)
        assert len(seen) == 1 and seen[0] is mine and getattr(made, name) is mine


def test_lap_is_a_function() -> None:
    """`lap` is an object of the extension. Its name, signature and class are still what users of functions expect."""
    assert pickle.loads(pickle.dumps(gmatch.lap)) is copy.deepcopy(gmatch.lap) is gmatch.lap
    assert inspect.isroutine(gmatch.lap) and list(inspect.signature(gmatch.lap).parameters)[:2] == ["cost", "maximize"]
    assert gmatch.lap.__name__ == "lap" and "function lap" in repr(gmatch.lap)
    assert weakref.ref(gmatch.lap)() is gmatch.lap
    assert inspect.getdoc(gmatch.lap) == inspect.getdoc(gmatch.lap.__wrapped__)  # type: ignore[attr-defined]

    class Solver:
        solve = gmatch.lap

    assert Solver.solve is gmatch.lap
    with pytest.raises(TypeError):  # as a method its first argument is the object
        Solver().solve(np.eye(2))


def test_costs_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="cost"):
        gmatch.lap(np.eye(2), cost=np.eye(2))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="cost"):
        gmatch.lap()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="positional"):
        gmatch.lap(np.eye(2), True)  # type: ignore[call-overload]
    monkeypatch.delattr(gmatch.assignment.plan, "backend_for")
    assert gmatch.lap(maximize=True, cost=np.eye(4)).cost == 4
    assert [one.cost for one in gmatch.lap(cost=[np.eye(4), np.ones((2, 3))])] == [0, 2]


def test_wrong_arguments_are_named_as_of_lap() -> None:
    cost = np.eye(3)
    for arguments, options in (((cost, 5), {}), ((), {}), ((cost,), {"no_option": 5})):
        with pytest.raises(TypeError, match=r"^lap\(\) "):
            gmatch.lap(*arguments, **options)
    with pytest.raises(TypeError, match="cannot create"):
        type(gmatch.lap)()


@pytest.mark.parametrize("place", [0, 1, 19, 255, 256, 399])
def test_one_entry_that_is_not_whole_is_not_rounded(place: int) -> None:
    """Whole numbers are copied in blocks. The least and the greatest cost are whole."""
    rng = np.random.default_rng(place)
    cost = rng.integers(1, 9, (20, 20)).astype(float)
    cost[(place + 1) % 20, :2] = 0, 9
    cost.flat[place] = 0.25
    for entries in (cost, cost.T.copy().T, np.tile(cost, 2)[:, :20]):
        found = gmatch.lap(entries)
        gmatch.verify(entries, found, strict=True)
        assert found.cost == cost[linear_sum_assignment(cost)].sum()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 2}])
def test_arrays_of_small_results_need_no_python(
    dtype: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = np.random.default_rng(3).integers(0, 4, (5, 7)).astype(dtype)
    whole = np.dtype(dtype).kind != "f"
    solved = [gmatch.lap(costs, **options), gmatch.lap(csr_array(costs + 1), **options)]
    solved += gmatch.lap([costs, costs[:3]], **options)
    monkeypatch.setattr(type(solved[0]), "__getattr__", None)
    for one, given in zip(solved, (costs, costs + 1, costs, costs[:3]), strict=True):
        rows, columns = one
        assert one.row_ind is rows and one.col_ind is columns
        assert one.row_match is one.row_match
        for name, length in (("row_match", len(given)), ("col_match", 7), ("u", len(given)), ("v", 7)):
            assert getattr(one, name).shape == (length,)
        mates = np.full(len(given), -1)
        mates[rows] = columns
        assert one.row_match.tolist() == mates.tolist() and one.row_match.dtype == np.int32
        assert one.col_match[columns].tolist() == rows.tolist() and (one.col_match >= 0).sum() == len(rows)
        assert one.pair_costs.tolist() == given[rows, columns].tolist()
        assert one.pair_costs.dtype == (given.dtype if given.dtype.itemsize >= 4 else np.int32)
        assert one.u.dtype == one.v.dtype == (np.int64 if whole else np.float64)


def test_what_is_no_result_of_cells_has_no_array_of_cells() -> None:
    array = vars(gmatch.Assignment)["u"]
    with pytest.raises(AttributeError):
        array.__get__(object())
    assert array.__get__(None, gmatch.Assignment) is gmatch.Assignment.u


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_partial_matchings_take_the_short_way(dtype: str, maximize: bool) -> None:
    random = np.random.default_rng(6)
    forbidden = -np.inf if maximize else np.inf
    seen = set()
    for draw in range(300):
        rows, columns = random.integers(1, 9, 2)
        entries = random.integers(-2, 5, (rows, columns)) if draw % 2 else random.random((rows, columns))
        costs = np.where(random.random((rows, columns)) < random.choice([0, 0.2, 0.4]), entries, forbidden).astype(
            dtype
        )
        costs = costs if draw % 3 else np.asfortranarray(costs)
        expected = gmatch.lap(gmatch.DenseCosts(costs, maximize=maximize), infeasible="partial")
        found = gmatch.lap(costs, infeasible="partial", maximize=maximize)
        assert found._later is not None  # the long way makes all fields at once
        assert found.status == expected.status and found.exact is None
        assert found.size == expected.size and np.isclose(found.cost, expected.cost, rtol=1e-6, atol=0)
        assert gmatch.verify(costs, found, strict=True)
        if found.status == "partial":
            cover_rows, cover_columns = found.cover
            assert len(cover_rows) + len(cover_columns) == found.size
            allowed = np.isfinite(costs)
            allowed[cover_rows] = allowed[:, cover_columns] = False
            assert not allowed.any() and cover_rows.dtype == cover_columns.dtype == np.int64
        else:
            assert found.cover is None
        seen.add(found.status)
    assert seen == {"optimal", "partial"}


class Costs(np.ndarray):
    """A class of arrays of a user."""


UNALIGNED = np.zeros(1 + 8 * 12, np.uint8)[1:].view(np.float64).reshape(3, 4)
UNALIGNED[:] = np.arange(12).reshape(3, 4) % 5


@pytest.mark.parametrize(
    "make",
    [
        lambda costs: costs.astype(">f8"), lambda costs: costs.astype(">i4"), lambda costs: costs.astype("f2"),
        lambda costs: costs.astype("u8"), lambda costs: costs.view(Costs), lambda costs: costs[::-1].view(Costs)[::-1],
        lambda costs: UNALIGNED, lambda costs: tuple(map(tuple, costs.tolist())), lambda costs: [*costs],
        lambda costs: (*costs,), lambda costs: [tuple(row) for row in costs], lambda costs: [*costs.astype("i4")],
        lambda costs: [[np.float32(entry) for entry in row] for row in costs],
        lambda costs: [*costs[:2].tolist(), costs[2]],
    ],
)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"cost_limit": 2}, {"maximize": True, "threads": 1}, {"ties": None}], ids=str)
def test_costs_that_are_read_as_small_arrays(
    make: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = make(np.arange(12.0).reshape(3, 4) % 5)
    expected = gmatch.lap.__wrapped__(given, **options)
    if "ties" not in options:
        monkeypatch.delattr(gmatch.assignment.plan, "backend_for")  # the long way needs it
    found = gmatch.lap(given, **options)
    assert found.status == expected.status and found.cost == expected.cost
    assert found.maximize == expected.maximize and found.cost_limit == expected.cost_limit
    for name in ("row_ind", "row_match", "u", "v", "pair_costs"):
        one, other = getattr(found, name), getattr(expected, name)
        assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape, name
    assert gmatch.verify(given, found)


@pytest.mark.parametrize(
    "options",
    [
        {"cost_limit": np.float32(2.5)}, {"cost_limit": np.int64(2)}, {"cost_limit": np.array(2.0)},
        {"cost_limit": np.inf}, {"cost_limit": np.float16(np.inf)}, {"threads": np.int64(1)}, {"maximize": 1},
        {"maximize": np.True_, "cost_limit": np.uint8(2)}, {"maximize": 0, "deterministic": np.False_},
        {"maximize": 2, "cost_limit": -np.inf},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_options_that_are_read_as_numbers(options: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    expected = gmatch.lap.__wrapped__(costs, **options)
    monkeypatch.delattr(gmatch.assignment.plan, "backend_for")
    for given in (costs, costs.tolist(), csr_array(costs + 1) if "cost_limit" not in options else costs):
        found = gmatch.lap(given, **options)
        assert found.maximize is expected.maximize and found.size == expected.size
        assert found.cost_limit == expected.cost_limit and type(found.cost_limit) is type(expected.cost_limit)
    assert found.cost == expected.cost + ("cost_limit" not in options) * expected.size


def test_costs_and_options_that_are_not_read_as_others() -> None:
    costs = np.ones((3, 3))
    for given, options in (
        (np.ma.array(costs, mask=costs > 0), {}), (costs.astype("u8") * 2**63, {}), ([[1, 2], [3]], {}),
        ([costs[0], costs[1, :2]], {}), (costs, {"cost_limit": np.nan}),
        (costs, {"cost_limit": -np.inf}), (costs, {"maximize": True, "cost_limit": np.inf}),
        (costs, {"cost_limit": np.longdouble("nan")}), (costs, {"threads": np.float64(1)}),
        (costs, {"cost_limit": np.array([1.0, 2.0])}), (costs, {"threads": np.int64(0)}),
    ):  # fmt: skip
        with pytest.raises(gmatch.InvalidInput):
            gmatch.lap(given, **options)
