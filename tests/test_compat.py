"""SciPy's function, by SciPy's own tests where they are installed, and by comparison with SciPy itself."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import scipy.sparse.csgraph

from gmatch import InvalidInput
from gmatch.compat import linear_sum_assignment, min_weight_full_bipartite_matching

try:
    from scipy.optimize.tests import test_linear_assignment as scipys
except ImportError:  # some packages of SciPy come without its tests
    scipys = None
try:
    from scipy.sparse.csgraph.tests import test_matching as scipys_matching
except ImportError:
    scipys_matching = None


@cache
def as_table(values: Any) -> list[Any]:
    """The values of an iterator as a list: two of SciPy's tests share one iterator."""
    return list(values)


def scipys_cases(tests: Any, other_function: str = "") -> Iterator[Any]:
    """Each of SciPy's tests with each of its parameters, without the tests of another function."""
    for name, test in vars(tests).items() if tests else ():
        if not name.startswith("test_") or other_function in test.__code__.co_names:
            continue
        table: list[dict[str, Any]] = [{}]
        for mark in getattr(test, "pytestmark", ()):
            names = [one.strip() for one in mark.args[0].split(",")]
            table_of_mark = as_table(mark.args[1]) if isinstance(mark.args[1], Iterator) else mark.args[1]
            rows = [values if len(names) > 1 else (values,) for values in table_of_mark]
            table = [row | dict(zip(names, values, strict=True)) for row in table for values in rows]
        yield from (pytest.param(test, row, id=f"{name}-{number}") for number, row in enumerate(table))


# Made once: some of SciPy's parameters are iterators.
CASES = list(scipys_cases(scipys))
MATCHING_CASES = list(scipys_cases(scipys_matching, "maximum_bipartite_matching"))


@pytest.mark.parametrize("test, arguments", CASES)
def test_scipys_own_tests(test: Callable[..., None], arguments: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipys, "linear_sum_assignment", linear_sum_assignment)
    test(**arguments)


@pytest.mark.parametrize("test, arguments", MATCHING_CASES)
def test_scipys_own_tests_of_matching(
    test: Callable[..., None], arguments: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scipys_matching, "min_weight_full_bipartite_matching", min_weight_full_bipartite_matching)
    test(**arguments)


def test_all_of_scipys_tests_are_run() -> None:
    if scipys_matching:
        assert len({case.values[0].__name__ for case in MATCHING_CASES}) >= 5 and len(MATCHING_CASES) >= 20
    if scipys:
        names = {name for name, _ in inspect.getmembers(scipys, inspect.isfunction) if name.startswith("test_")}
        assert {case.values[0].__name__ for case in CASES} == names and len(names) >= 10


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the error. Of an assignment only its type and cost, since several may be optimal."""
    try:
        row_ind, col_ind = function(*arguments)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    assert len(set(col_ind.tolist())) == len(col_ind)
    cost = np.asarray(arguments[0], float)
    return type(row_ind), row_ind.dtype, type(col_ind), col_ind.dtype, row_ind.shape, cost[row_ind, col_ind].sum()


def diagonal(value: float) -> np.ndarray:
    return np.diag([1.0, value, 1.0])


SQUARE = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])


@pytest.mark.parametrize("maximize", [False, True, 0, 1, "yes", "", None, np.True_])
def test_maximize_is_any_truth(maximize: object) -> None:
    assert outcome(linear_sum_assignment, SQUARE, maximize) == outcome(
        scipy.optimize.linear_sum_assignment, SQUARE, maximize
    )


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "cost",
    [
        SQUARE, SQUARE.tolist(), tuple(map(tuple, SQUARE)), SQUARE.T[::-1], SQUARE[:2], SQUARE[:, :2], SQUARE > 2,
        SQUARE.astype("f2"), SQUARE.astype("f4"), SQUARE.astype(">f8"), SQUARE.astype(">i4"), SQUARE.astype("u8"),
        SQUARE.view(np.matrix), np.ma.array(SQUARE, mask=SQUARE > 3), SQUARE.astype(np.longdouble), SQUARE * 1j,
        SQUARE.astype(object), SQUARE.astype(str), SQUARE.astype("m8[s]"), SQUARE.astype("V8"),
        sp.csr_array(SQUARE), sp.csr_matrix(SQUARE), None, 3, "cost", [], [[]], [[[1]]], [1, 2, 3], np.zeros((2, 2, 2)),
        np.zeros((0, 0)), np.zeros((0, 3)), np.zeros((3, 0)), np.full((2, 0, 1), np.nan), [[1, 2], [3]],
        [[Fraction(1, 2), 1], [2, 3]], [[2**70, 1], [1, 1]], [["1", "2"], ["3", "5"]], [[None, 1], [1, 2]],
        [[1 + 0j, 2], [3, 4]], [[1.0, "x"]], np.array([[2**64 - 1, 1], [1, 2]], np.uint64),
        diagonal(np.nan), diagonal(np.inf), diagonal(-np.inf), np.full((2, 3), np.inf), np.full((2, 3), -np.inf),
        np.full((3, 2), np.nan), [[np.inf, 1], [np.inf, 2]], [[np.inf, np.nan]], [[-np.inf, 1], [-np.inf, 2]],
        np.array([[2**62, -(2**62)], [0, 1]]), np.array([[-(2**63)]]),
    ],
)  # fmt: skip
def test_it_does_what_scipy_does(cost: object, maximize: bool) -> None:
    ours = outcome(linear_sum_assignment, cost, maximize)
    assert ours == outcome(scipy.optimize.linear_sum_assignment, cost, maximize)


def test_floats_of_which_sums_overflow_are_refused() -> None:
    cost = [[1e308, -1e308, 0.618e308], [-1e308, 1e308, 1.0]]
    for function, given in (
        (linear_sum_assignment, cost),
        (min_weight_full_bipartite_matching, sp.csr_array(cost)),
    ):
        with pytest.raises(InvalidInput, match="could overflow float64"):
            function(given)


def test_arguments_by_name_and_too_many() -> None:
    assert linear_sum_assignment(cost_matrix=SQUARE, maximize=True)[1].tolist() == [0, 2, 1]
    for arguments in ((), (SQUARE, True, 3)):
        with pytest.raises(TypeError):
            linear_sum_assignment(*arguments)
    with pytest.raises(ValueError, match="truth value of an array"):
        linear_sum_assignment(SQUARE, np.array([True, False]))


def test_errors_are_plain() -> None:
    for cost in (diagonal(np.nan), [[np.inf]], [1.0]):
        with pytest.raises(ValueError) as caught:
            linear_sum_assignment(cost)
        assert type(caught.value) is ValueError and caught.value.__suppress_context__ or cost == [1.0]


def test_random_costs() -> None:
    rng = np.random.default_rng(0)
    for case in range(500):
        shape = rng.integers(0, 9, 2)
        cost = rng.integers(-5, 6, shape).astype(("int8", "int32", "int64", "float32", "float64")[case % 5])
        if cost.dtype.kind == "f":
            cost[rng.random(shape) < 0.3] = rng.choice([np.inf, -np.inf])
        for maximize in (False, True):
            ours = outcome(linear_sum_assignment, cost, maximize)
            assert ours == outcome(scipy.optimize.linear_sum_assignment, cost, maximize), (case, cost)


def test_integers_are_exact_where_scipy_rounds() -> None:
    cost = 2**57 + np.array([[0, 1, 2], [1, 3, 3], [5, 5, 4]])
    found = sum(int(cost[pair]) for pair in zip(*linear_sum_assignment(cost), strict=True))
    ways = itertools.permutations(range(3))
    assert found == min(sum(int(cost[row, column]) for row, column in enumerate(way)) for way in ways)


def test_the_input_is_not_changed() -> None:
    for maximize in (False, True):
        cost = SQUARE.astype(float)
        cost.flags.writeable = False
        linear_sum_assignment(cost, maximize)
        assert (cost == SQUARE).all()


def matching_outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result and warnings, or the error. Of a matching only its types and weight."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            row_ind, col_ind = function(*arguments)
        except (TypeError, ValueError) as error:
            return type(error), str(error), [(one.category, str(one.message)) for one in caught]
    matrix = arguments[0].tocsr().real
    assert len(set(col_ind.tolist())) == len(col_ind) and (np.diff(row_ind) > 0).all()
    weight = sum(float(matrix[pair]) for pair in zip(row_ind.tolist(), col_ind.tolist(), strict=True))
    warned = [(one.category, str(one.message)) for one in caught]
    return row_ind.dtype, col_ind.dtype, row_ind.shape, weight, warned


WEIGHTS = np.array([[4.0, 1, 3], [2, 7, 5], [3, 2, 2]])


@pytest.mark.parametrize("maximize", [False, True, "yes", 0, None])
@pytest.mark.parametrize(
    "biadjacency",
    [
        *(sp.csr_array(WEIGHTS).asformat(form) for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")),
        *(sp.csr_array(WEIGHTS.astype(dtype)) for dtype in ("?", "i1", "u8", "i8", "f4", "g", "c16")),
        sp.csr_matrix(WEIGHTS), sp.csr_array(WEIGHTS[:2]), sp.csr_array(WEIGHTS[:, :2]), sp.csc_array(WEIGHTS[:, :2]),
        sp.csr_array((0, 3)), sp.coo_array((3, 0)), sp.csr_array((0, 0)), sp.csr_array((3, 3)),
        sp.coo_array(np.array([1.0, 2])), sp.csr_array((0, 2), dtype=complex), WEIGHTS, [[1]], None, 3, "graph",
        sp.csr_array(np.array([[1.0, 1, 1], [1, 0, 0], [1, 0, 0]])),
        sp.csr_array((np.array([1.0, 2, 0]), [0, 1, 0], [0, 2, 3]), shape=(2, 2)),
        sp.csr_array((np.array([1.0, 2, 0, 4]), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2)),
        sp.csr_array((np.array([1.0, 2, 3, 4]), [1, 0, 1, 0], [0, 2, 4]), shape=(2, 2)),
        sp.coo_array((np.array([1.0, 5, 2, 1, 9]), ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1])), shape=(2, 2)),
    ],
)  # fmt: skip
def test_matching_does_what_scipy_does(biadjacency: Any, maximize: object) -> None:
    ours = matching_outcome(min_weight_full_bipartite_matching, biadjacency, maximize)
    assert ours == matching_outcome(scipy.sparse.csgraph.min_weight_full_bipartite_matching, biadjacency, maximize)


def test_matching_of_random_weights() -> None:
    rng = np.random.default_rng(0)
    for case in range(300):
        shape = rng.integers(1, 9, 2)
        weights = rng.integers(-5, 6, shape).astype(("int8", "int32", "int64", "float32", "float64")[case % 5])
        weights[rng.random(shape) < 0.4] = 0
        matrix = sp.csr_array(weights).asformat(("csr", "csc", "coo")[case % 3])
        if weights.dtype.kind == "f" and matrix.nnz:
            matrix.data[rng.integers(matrix.nnz)] = np.inf
        before = matrix.copy()
        ours = matching_outcome(min_weight_full_bipartite_matching, matrix, False)
        assert ours == matching_outcome(scipy.sparse.csgraph.min_weight_full_bipartite_matching, matrix, False), case
        assert (matrix.toarray() == before.toarray()).all() and matrix.nnz == before.nnz


def test_matching_of_integers_is_exact_and_infinities_are_no_edges() -> None:
    matrix = sp.csr_array(2**57 + np.array([[1, 2, 3], [2, 4, 4], [6, 6, 5]]))
    found = sum(int(matrix[pair]) for pair in zip(*min_weight_full_bipartite_matching(matrix), strict=True))
    ways = itertools.permutations(range(3))
    assert found == min(sum(int(matrix[row, column]) for row, column in enumerate(way)) for way in ways)
    huge = sp.csr_array(np.array([[-(2**62), 1], [1, 2**61]]))
    assert min_weight_full_bipartite_matching(huge)[1].tolist() == [0, 1]  # by float64: their sums overflow int64
    for value in (np.nan, np.inf, -np.inf):
        for maximize in (False, True):
            matrix = sp.csr_array(np.array([[value, 1], [1, 2.0]]))
            assert min_weight_full_bipartite_matching(matrix, maximize)[1].tolist() == [1, 0]
