"""Costs that are read some rows at a time, from functions and from other arrays, against dense costs; their proof."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import gmatch
from gmatch import CertificateError, FunctionCosts, Infeasible, InvalidInput, RowWindows
from gmatch.assignment.plan import Plan
from gmatch.assignment.programs import run
from gmatch.backends import backend_for
from gmatch.backends.doubled import Doubled
from gmatch.backends.protocol import AssignmentStart, Start
from gmatch.distributed.drawn import Draws
from gmatch.distributed.margins import ROUNDINGS, MarginsOfCore, RisenRows
from gmatch.distributed.sampled import prices_of
from gmatch.distributed.windows import WindowPart, overpriced
from gmatch.methods import JV
from gmatch.problems import limits, windows
from gmatch.problems.sparse import SparseCosts


class Rows:
    """An array of a library that reads rows from elsewhere, in chunks."""

    def __init__(self, array, chunks=None):
        self._array, self.shape, self.dtype, self.chunks = array, array.shape, array.dtype, chunks
        self.read = []

    def __getitem__(self, rows):
        self.read.append(rows)
        return self._array[rows]


@pytest.fixture
def small_windows(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 200)
    monkeypatch.setitem(limits.ENTRIES_PER_BLOCK, "cpu", 60)


def function_of(matrix, **options):
    return FunctionCosts(lambda rows, columns: matrix[np.ix_(rows, columns)], matrix.shape, matrix.dtype, **options)


def chunked(matrix, **options):
    return RowWindows(Rows(matrix, (5, 7)), **options)


def even(rng, shape):
    return rng.random(shape) * 100


def ties(rng, shape):
    return rng.integers(0, 3, shape) * 10.0


def products(rng, shape):
    return rng.random((shape[0], 1)) * rng.random((1, shape[1])) * 100


def same_columns(rng, shape):
    return rng.random(shape[1])[None] * np.ones((shape[0], 1)) * 100


FAMILIES = (even, ties, products, same_columns)
TYPES = ("float32", "float64", "int32", "int64", "uint8", "float16", ">f8")


def total(assignment, matrix):
    """The minimised sum; with a limit, plus the limit for each pair that is not made."""
    sign = -1 if assignment.maximize else 1
    free = assignment.cost_limit or 0
    return sign * (assignment.cost + free * (min(matrix.shape) - assignment.size))


def check(matrix, as_costs, **options):
    costs = as_costs(matrix, **options)
    try:
        expected = gmatch.lap(matrix, **options)
    except Infeasible:
        with pytest.raises(Infeasible) as raised:
            gmatch.lap(costs)
        rows, columns = raised.value.rows, raised.value.columns
        allowed = np.isfinite(matrix)
        inside = np.ones(matrix.shape, bool)
        inside[np.ix_(rows, columns)] = False
        if matrix.shape[0] <= matrix.shape[1]:
            assert len(rows) > len(columns) and not (allowed & inside)[rows].any()
        else:
            assert len(columns) > len(rows) and not (allowed & inside)[:, columns].any()
        return
    assignment = gmatch.lap(costs)
    certificate = gmatch.verify(costs, assignment)
    assert abs(total(assignment, matrix) - total(expected, matrix)) <= certificate.tolerance
    assert assignment.pair_costs.dtype == expected.pair_costs.dtype and assignment.u.dtype == expected.u.dtype
    assert assignment.forbid_nan == expected.forbid_nan
    # Another program proves it on the matrix.
    gmatch.verify(gmatch.DenseCosts(matrix, **options), assignment)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("as_costs", [function_of, RowWindows, chunked])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_assignments_are_the_cheapest(family, as_costs):
    rng = np.random.default_rng(FAMILIES.index(family))
    for case in range(40):
        matrix, options = draw_case(rng, family, case, 80, TYPES)
        check(matrix, as_costs, **options)


def draw_case(rng, family, case, most, types):
    """A matrix of a family with fewer than `most` rows and columns, and options: some limits, inf and NaN."""
    n, m = (int(number) for number in rng.integers(0, most, 2))
    matrix = family(rng, (n, n) if case % 2 else (n, m)).astype(types[case % len(types)])
    maximize = bool(rng.integers(2))
    options = {"maximize": maximize, "cost_limit": None, "forbid_nan": False}
    if case % 3 == 0:
        options["cost_limit"] = float(np.round(rng.random() * 100, case % 2))
    if case % 5 < 2 and matrix.dtype.kind == "f":
        matrix[rng.random(matrix.shape) < rng.choice([0.05, 0.3, 0.9])] = -np.inf if maximize else np.inf
        matrix[rng.random(matrix.shape) < 0.1] = np.nan
        options["forbid_nan"] = True
    return matrix, options


@pytest.mark.parametrize("shape", [(300, 300), (200, 400), (400, 200)])
def test_starts_from_duals_and_from_an_assignment(shape):
    rng = np.random.default_rng(3)
    matrix = rng.random(shape)
    former = gmatch.lap(function_of(matrix))
    moved = matrix + rng.random(shape) * 0.01
    for start in ({"duals": (former.u, former.v)}, {"initial": former}):
        again = gmatch.lap(function_of(moved), certify=True, **start)
        assert again.stats["initial"] == "given"
        assert np.isclose(again.cost, gmatch.lap(moved).cost)


def test_stats_count_passes_and_blocks_are_always_the_same():
    matrix = np.random.default_rng(4).random((1500, 1500))
    asked = []

    def f(rows, columns):
        asked.append((rows[0], rows[-1], len(columns)))
        return matrix[rows][:, columns]

    costs = FunctionCosts(f, matrix.shape, matrix.dtype)
    assignment = gmatch.lap(costs)
    assert assignment.stats["windows"] == len(asked) and assignment.stats["passes"] == -(-len(asked) // 3)
    assert len(set(asked)) == 3
    assert assignment.stats["team"] == "windows"
    gmatch.verify(costs, assignment)
    assert len(asked) == assignment.stats["windows"] + 3


def test_prices_of_a_sample():
    rng = np.random.default_rng(11)
    different = rng.random((50, 2000)).astype(np.float32)
    assert not prices_of(different).v.any()
    # All rows want the first columns; the prices of these columns outweigh that.
    offsets = np.arange(200) / 20
    wanted = (rng.random((200, 200)) + offsets).astype(np.float32)
    wanted[3], wanted[4, :9] = np.inf, np.inf
    prices = prices_of(wanted).v
    assert prices.max() == 0 and np.corrcoef(prices, offsets)[0, 1] > 0.99
    assert prices_of(np.empty((0, 5), np.float32)).v.tolist() == [0.0] * 5


def test_prices_where_rows_may_stay_free():
    """All rows want only the first 50 columns, and no row pays more than the limit."""
    rng = np.random.default_rng(11)
    costs = np.full((200, 200), np.inf, np.float32)
    costs[:, :50] = rng.random((200, 50)) + np.arange(50) / 20
    prices = prices_of(costs, 4.0).v
    assert prices.max() == 0 and not prices[50:].any()
    exact = gmatch.lap(costs.astype(float), cost_limit=4.0).v
    assert abs(prices - exact).max() < 0.1


def test_draws_are_in_proportion_to_the_weights():
    draws, rows = Draws(100), np.arange(10_000)
    amounts = np.full(100, np.inf)
    amounts[[3, 50, 99]] = -1, -2, -5
    keys = np.where(amounts < 0, draws.by_amount(rows, np.tile(amounts, (len(rows), 1))), np.inf)
    shares = np.bincount(keys.argmin(axis=1), minlength=100) / len(rows)
    assert shares[[3, 50, 99]].sum() == 1 and abs(shares[[3, 50, 99]] - np.array([1, 2, 5]) / 8).max() < 0.1
    costs = np.full(100, np.inf)
    costs[[3, 50, 99]] = 7, 7 - 2 * np.log(2), 7 - 2 * np.log(5)
    keys = draws.by_cost(rows, np.tile(costs, (len(rows), 1)), 2.0)
    shares = np.bincount(keys.argmin(axis=1), minlength=100) / len(rows)
    assert shares[[3, 50, 99]].sum() == 1 and abs(shares[[3, 50, 99]] - np.array([1, 2, 5]) / 8).max() < 0.1


@pytest.mark.parametrize("shape", [(400, 400), (380, 400), (400, 380)])
@pytest.mark.parametrize("dtype", [np.int64, float])
def test_rows_that_tie_do_not_offer_pairs_of_one_column(shape, dtype):
    """Half of the columns tie in most rows. Without draws, minima take 6 to 7 rounds, and the core is half of them."""
    costs = FunctionCosts(lambda rows, columns: np.minimum(rows[:, None], columns).astype(dtype), shape, dtype)
    for maximize in (False, True):
        result = gmatch.lap(FunctionCosts(costs.f, shape, dtype, maximize=maximize), certify=True)
        assert result.stats["rounds"] <= 3
        assert result.stats["core_entries"] < 0.25 * np.prod(shape)


def test_each_column_offers_the_pair_that_its_duals_overprice_most():
    rng = np.random.default_rng(2)
    matrix = rng.random((40, 60))
    for given in (matrix, matrix.T.copy()):
        part = WindowPart(RowWindows(given).checked())
        u, v = rng.random(40), rng.random(60)
        number, (keys, values) = overpriced(part, u, v)
        slack = matrix - u[:, None] - v
        assert number == np.count_nonzero(slack < 0) and (slack.ravel()[keys] < 0).all()
        assert np.array_equal(values, matrix.ravel()[keys])
        has_any = (slack < 0).any(axis=0).nonzero()[0]
        assert set(slack.argmin(axis=0)[has_any] * 60 + has_any) <= set(keys.tolist())
        assert set((slack < 0).any(axis=1).nonzero()[0]) == set((keys // 60).tolist())


@pytest.mark.parametrize("shape", [(300, 300), (280, 300), (300, 250)])
def test_costs_of_a_few_of_the_smallest_numbers(shape):
    rng = np.random.default_rng(0)
    matrix = np.ldexp(np.outer(*(rng.random(length) for length in shape)), -1060)
    for limit in (None, float(np.ldexp(0.1, -1060))):
        costs = FunctionCosts(lambda rows, columns: matrix[rows], shape, float, cost_limit=limit)
        assert gmatch.lap(costs, certify=True).cost == gmatch.lap(matrix, cost_limit=limit).cost


def test_margins_say_which_rows_to_read():
    rng = np.random.default_rng(12)
    costs = rng.integers(0, 50, (30, 40)).astype(float)
    margins = MarginsOfCore(30, 40)
    rows, columns = rng.integers(0, 30, 200), rng.integers(0, 40, 200)
    margins.join(rows, columns)
    u, v = np.zeros(30), np.zeros(40)
    outside = np.ones(costs.shape, bool)
    outside[rows, columns] = False
    skipped = 0
    for _ in range(60):
        to_read = margins.rows_to_read(u, v)
        slack = costs - v - u[:, None]
        others = np.setdiff1d(np.arange(30), to_read)
        assert (slack >= -ROUNDINGS * abs(u)[:, None])[others][outside[others]].all()
        skipped += len(others)
        keys = slack[to_read].copy()
        margins.leave_out(to_read, keys, np.inf)
        assert np.array_equal(keys == np.inf, ~outside[to_read])
        margins.note(to_read, keys.min(axis=1))
        shift = rng.normal()
        u, v = (
            u + rng.normal(size=30) * (rng.random(30) < 0.2) + shift,
            v - rng.random(40) * (rng.random(40) < 0.1) - shift,
        )
    assert skipped > 60 * 5


def test_rows_are_read_again_if_their_duals_rose_or_their_pairs_were_too_cheap():
    """A pass lists one pair of a row that is too cheap. The core gets listed pairs only."""
    rng = np.random.default_rng(13)
    costs = rng.integers(0, 50, (30, 40)).astype(float)
    rows, listed, skipped = RisenRows(30), np.zeros(costs.shape, bool), 0
    u, v = rng.random(30) * 9, np.zeros(40)
    for turn in range(200):
        to_read = rows.rows_to_read(u, v)
        slack = np.where(listed, np.inf, costs - v - u[:, None])
        others = np.setdiff1d(np.arange(30), to_read)
        assert (slack[others] >= 0).all()
        skipped += len(others)
        cheap = to_read[(slack[to_read] < 0).any(axis=1)]
        listed[cheap, slack[cheap].argmin(axis=1)] = True
        rows.note_listed(to_read, u, cheap)
        u = u + rng.normal(size=30) * (rng.random(30) < 0.2)
        v = v - rng.random(40) * (rng.random(40) < 0.1) + (rng.random(40) if turn % 50 == 49 else 0)
    assert skipped > 200 * 15
    rows.begin(None, v)
    assert len(rows.rows_to_read(u, v)) == 30


def test_rows_are_read_by_whole_chunks():
    matrix = np.random.default_rng(5).random((90, 20))
    rows = Rows(matrix, (32, 20))
    gmatch.lap(RowWindows(rows))
    assert {(some.start, some.stop) for some in rows.read} == {(0, 90)}
    starts = [some.start for some in RowWindows(Rows(np.zeros((9000, 1000)), (32, 20))).windows]
    assert len(starts) > 8 and not any(start % 32 for start in starts)


def test_arrays_larger_than_half_of_the_memory_are_read_by_windows(monkeypatch, tmp_path):
    matrix = np.random.default_rng(6).random((60, 60))
    np.save(tmp_path / "costs.npy", matrix)
    mapped = np.load(tmp_path / "costs.npy", mmap_mode="r")
    for array in (mapped, Rows(matrix)):
        monkeypatch.undo()
        assert gmatch.lap(array if array is mapped else array[0:60]).stats["team"] == "host"
        monkeypatch.setattr(windows, "_memory", lambda: matrix.nbytes)
        assignment = gmatch.lap(array, maximize=True, cost_limit=0.5, certify=True)
        assert assignment.stats["team"] == "windows"
        assert gmatch.verify(array, assignment).cost == gmatch.lap(matrix, maximize=True, cost_limit=0.5).cost
    assert gmatch.lap(matrix).stats["team"] == "host"


MAPPED = """
import resource, sys, numpy as np, gmatch
costs = np.load(sys.argv[1], mmap_mode="r")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assignment = gmatch.lap(gmatch.RowWindows(costs), certify=True)
print(assignment.size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_is_a_fraction_of_a_mapped_file(tmp_path):
    path, (rows, columns) = tmp_path / "costs.npy", (200, 120_000)  # 192 MB
    rng = np.random.default_rng(7)
    file = np.lib.format.open_memmap(path, "w+", np.float64, (rows, columns))
    for row in range(rows):
        file[row] = rng.random(columns)
    file.flush()
    del file
    run = subprocess.run([sys.executable, "-c", MAPPED, path], capture_output=True, text=True, check=True)
    size, kilobytes = map(int, run.stdout.split())
    assert size == rows and kilobytes * 1024 < path.stat().st_size / 2


def test_a_change_of_the_second_time_is_found():
    rng = np.random.default_rng(8)
    with pytest.raises(InvalidInput, match="the function must give the same costs each time; rows 0 to"):
        gmatch.lap(FunctionCosts(lambda rows, columns: rng.random((len(rows), len(columns))), (1100, 1100), float))
    matrix = rng.random((50, 50))
    costs = RowWindows(matrix)
    assignment = gmatch.lap(costs)
    matrix[7, 3] += 1e-9
    with pytest.raises(InvalidInput, match="the array must give the same costs each time"):
        gmatch.verify(costs, assignment)


def raise_zero_division(rows, columns):
    return 1 // 0


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda rows, columns: np.zeros((3, 4)), r"shape \(4, 4\) and type float64; got float64 of shape \(3, 4\)"),
        (lambda rows, columns: np.zeros((4, 4), np.float32), "type float64; got float32"),
        (lambda rows, columns: None, "array"),
        (lambda rows, columns: np.full((4, 4), np.nan), r"entry \(0, 0\) does; if NaN is for a pair"),
        (lambda rows, columns: np.where(np.eye(4) > 0, -np.inf, 0), r"must not hold -inf \(\+inf forbids a pair\)"),
        (raise_zero_division, "for rows 0 to 3 of 4 it raised ZeroDivisionError"),
        (lambda rows, columns: np.full((4, 4), 1e308) * (rows[:, None] % 2 * 2 - 1), "could overflow float64"),
    ],
)  # fmt: skip
def test_what_a_function_may_not_return(f, message):
    with pytest.raises(InvalidInput, match=message):
        gmatch.lap(FunctionCosts(f, (4, 4), np.float64))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FunctionCosts(np.zeros((3, 3)), (3, 3), float), "takes a function"),
        (lambda: FunctionCosts(max, (3,), float), "numbers of rows and columns"),
        (lambda: FunctionCosts(max, (2.5, 3), float), "whole numbers of rows and columns"),
        (lambda: FunctionCosts(max, (3, -1), float), "from 0 to"),
        (lambda: FunctionCosts(max, (3, 3), complex), "real numbers"),
        (lambda: FunctionCosts(max, (3, 3), np.uint64), "real numbers"),
        (lambda: FunctionCosts(max, (3, 3), "what"), "must be a type"),
        (lambda: FunctionCosts(max, (3, 3), float, cost_limit=np.nan), "cost_limit must be finite"),
        (lambda: RowWindows([[1.0]]), "two dimensions with a dtype"),
        (lambda: RowWindows(np.zeros(3)), "two dimensions with a dtype"),
        (lambda: setattr(FunctionCosts(max, (3, 3), float), "shape", (1, 1)), None),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises(InvalidInput if message else AttributeError, match=message or "frozen"):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(method="jv"), "one method, 'auto'"),
        (dict(deterministic=True), "same costs and options give the same assignment"),
        (dict(infeasible="partial"), "use cost_limit"),
        (dict(device="tpu"), "device must be"),
        (dict(maximize=True), "its own maximize"),
        (dict(cost_limit=3), "give maximize, cost_limit and forbid_nan to RowWindows"),
        (dict(mask=np.ones((1, 1, 1))), "no sizes and mask"),
        (dict(initial="bids"), "starts from minima"),
        (dict(initial=[0, 1, 2]), "starts from minima"),
        (dict(duals=(np.zeros(3), np.zeros(4))), r"v of shape \(3,\)"),
        (dict(threads=0), "threads must be"),
    ],
)  # fmt: skip
def test_what_lap_refuses_beside_windows(options, message):
    with pytest.raises(InvalidInput, match=message):
        gmatch.lap(RowWindows(np.ones((3, 3))), **options)


@pytest.mark.parametrize("limit", [None, 0.03])
@pytest.mark.parametrize("shape", [(60, 60), (60, 75), (75, 60)])
def test_forged_results_are_refused(shape, limit):
    rng = np.random.default_rng(9)
    matrix = rng.random(shape)
    costs = RowWindows(matrix, cost_limit=limit)
    good = gmatch.lap(costs)
    gmatch.verify(costs, good)

    def refused(**changes):
        with pytest.raises(CertificateError):
            gmatch.verify(costs, dataclasses.replace(good, **changes))

    a, b = good.row_ind[:2]
    swapped, back = good.row_match.copy(), good.col_match.copy()
    swapped[[a, b]] = swapped[[b, a]]
    back[swapped[[a, b]]] = a, b
    refused(row_match=swapped, col_match=back, pair_costs=matrix[good.row_ind, swapped[good.row_ind]])
    refused(row_match=swapped, col_match=back)
    refused(row_match=swapped)
    for name, side in (("u", good.u), ("v", good.v)):
        for by in (1e-6, -1e-6):
            moved = side.copy()
            moved[abs(side).argmax()] += by
            refused(**{name: moved})
    refused(u=good.u * np.nan)
    refused(pair_costs=good.pair_costs + 1e-9)
    refused(pair_costs=good.pair_costs.astype(np.float32))
    refused(status="partial")
    refused(cost_limit=0.07)
    refused(maximize=True)
    refused(cover=(np.empty(0, int), np.empty(0, int)))
    short, back = good.row_match.copy(), good.col_match.copy()
    back[short[a]] = -1
    short[a] = -1
    refused(row_match=short, col_match=back, pair_costs=good.pair_costs[1:])
    with pytest.raises(InvalidInput, match="no strict proof"):
        gmatch.verify(costs, good, strict=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_search_in_the_whole_where_no_core_has_room(dtype, small_windows, monkeypatch):
    monkeypatch.setattr(windows.CheckedWindows, "fits_core", False)
    random = np.random.default_rng(7)
    for _ in range(25):
        matrix = random.integers(-50, 50, random.integers(1, 14, 2)).astype(dtype)
        if dtype != "int64":
            matrix[random.random(matrix.shape) < 0.1] = np.inf
        try:
            expected = gmatch.lap(matrix).cost
        except Infeasible:
            with pytest.raises(Infeasible):
                gmatch.lap(function_of(matrix))
            continue
        assignment = gmatch.lap(function_of(matrix), certify=True)
        assert assignment.cost == expected and assignment.stats["method"] == "classical"


@pytest.mark.parametrize("shape", [(300, 600), (600, 300), (590, 600)])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_products_of_wide_problems_take_few_rounds(shape, dtype):
    def products(rows, columns):
        return ((rows[:, None] + 1) * (columns + 1)).astype(dtype)

    for maximize in (False, True):
        costs = FunctionCosts(products, shape, dtype, maximize=maximize)
        assignment = gmatch.lap(costs, certify=True)
        # All rows want the same columns. Without prices, 32 pairs of each row join the core in each round.
        assert assignment.stats["rounds"] <= 4 and assignment.stats["core_entries"] <= shape[0] * shape[1] / 2
        assert assignment.cost == gmatch.lap(products(*map(np.arange, shape)), maximize=maximize).cost


@pytest.mark.parametrize("limit", [None, 30.0, -15.0])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("shape", [(40, 60), (50, 50)])
def test_a_doubled_core_leaves_the_same_columns_free(shape, dtype, limit):
    rng = np.random.default_rng(5)
    n, m = shape
    for _ in range(20):
        matrix = rng.integers(-20, 60, shape).astype(dtype)
        stored = matrix < (np.inf if limit is None else limit)
        pairs = np.where(stored, matrix, 0)
        if limit is not None:  # ways out
            pairs = np.hstack([pairs, np.diag(np.full(n, limit).astype(dtype))])
            stored = np.hstack([stored, np.eye(n, dtype=bool)])
        rows, columns = stored.nonzero()
        arrays = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32), columns.astype(np.int32), pairs[stored]
        core = SparseCosts.of_checked(arrays, pairs.shape, -20, 60, pairs.shape[1] - m)
        plan = Plan(backend_for(None, "cpu"), JV(), 1, False)
        last = run(core, plan, Start(AssignmentStart.REDUCE))
        doubled = Doubled.of(core)
        assert doubled.costs.lowest <= doubled.costs.data.min() and doubled.costs.data.max() <= doubled.costs.highest
        solution = run(doubled.costs, plan, doubled.start_from(last))
        u, v = doubled.duals(solution.u, solution.v)
        assert u.dtype == v.dtype == dtype and (v <= 0).all()
        slack = np.where(stored[:, :m], matrix - u[:, None] - v, 0)
        mates = solution.row_match[:n]
        pairs = (mates < m).nonzero()[0]
        assert slack.min() >= 0 and not slack[pairs, mates[pairs]].any()
        is_free = ~np.isin(np.arange(m), mates)
        assert not v[is_free].any() and (u[mates >= m] == limit).all()
        cost = matrix[pairs, mates[pairs]].sum() + (n - len(pairs)) * (limit or 0)
        assert cost == u.sum() + v.sum() == core.data[core._find_entries(last.row_match)].sum()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_halves_of_odd_sums_stay_tight(dtype):
    """A pair that costs 0. The sum of its duals and of their copies is 0, too, but each half is a fraction."""
    costs = SparseCosts.of_checked(
        (np.array([0, 1], np.int32), np.zeros(1, np.int32), np.zeros(1, dtype)), (1, 1), 0, 0
    )
    rows, columns = Doubled(costs, (1, 1)).duals(np.array([3, -2], dtype), np.array([-3, 2], dtype))
    assert rows + columns == 0 and abs(rows - 2.5) <= 0.5


@pytest.mark.parametrize("columns", [2, 3])
def test_the_sample_of_maximized_windows_of_one_row(columns, monkeypatch):
    """A window fills a column of the sample in steps of 16 bytes. NumPy 2.4.6 negates only some of them in place."""
    monkeypatch.setattr(windows, "WINDOW", columns)
    matrix = np.random.default_rng(7).random((4, columns))
    checked = RowWindows(matrix, maximize=True).checked()
    np.testing.assert_allclose(checked.sample.T * checked.unit, -matrix, rtol=1e-6)


@pytest.mark.parametrize("seed", [191, 380, 908])
def test_bands_of_integers_near_the_limit_of_64_bits_leave_room_for_sums(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-(2**62), 2**62, (17, 17)) // 68
    costs = RowWindows(matrix, cost_limit=int(rng.choice(matrix.ravel())))
    found = gmatch.lap(costs)
    assert found.stats["method"] == "classical"
    gmatch.verify(costs, found)


@pytest.mark.parametrize("seed", [11, 19, 24, 37])
def test_roundings_of_a_doubled_core_do_not_hide_costs_of_many_magnitudes(seed):
    """Prices are as large as the largest costs, and halves of sums of duals are as small as the pairs."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((12, 16)) * 10.0 ** rng.integers(-8, 9, (12, 16))
    costs = RowWindows(matrix)
    found = gmatch.lap(costs)
    gmatch.verify(costs, found)
    assert found.cost == pytest.approx(gmatch.lap(matrix).cost, rel=1e-12)


@pytest.mark.parametrize("exponent", [-1000, -140, -130, 100, 130, 900])
def test_costs_of_any_scale_take_the_same_rounds(exponent):
    rng = np.random.default_rng(6)
    for shape in ((200, 200), (100, 200), (200, 100)):
        matrix = rng.random((shape[0], 1)) * rng.random((1, shape[1]))
        expected = gmatch.lap(RowWindows(matrix), certify=True)
        found = gmatch.lap(RowWindows(np.ldexp(matrix, exponent)), certify=True)
        assert found.cost == np.ldexp(expected.cost, exponent)
        assert found.stats["rounds"] == expected.stats["rounds"]


def test_a_small_array_of_a_users_class_is_read_into_memory():
    matrix = np.random.default_rng(5).random((30, 40))
    for options in ({}, {"maximize": True}, {"cost_limit": 0.02}, {"method": "jv"}, {"deterministic": True}):
        result = gmatch.lap(Rows(matrix), certify=True, **options)
        assert np.array_equal(result.row_match, gmatch.lap(matrix, **options).row_match)
        gmatch.verify(Rows(matrix), result)
    with pytest.raises(InvalidInput, match="rows of the array must be readable.*no such file"):
        gmatch.lap(Rows(_WithoutRows(matrix)))


class _WithoutRows:
    """An array whose rows cannot be read."""

    def __init__(self, matrix):
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def __getitem__(self, rows):
        raise OSError("no such file")


@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA", "container"])
def test_limits_of_a_process_and_of_its_container_count_as_memory(kind, tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    np.save(tmp_path / "costs.npy", np.random.default_rng(5).random((30, 40)))
    file = np.load(tmp_path / "costs.npy", mmap_mode="r")
    assert gmatch.lap(file).stats["team"] == "host"
    if kind == "container":
        (tmp_path / "max").write_text("max\n")
        (tmp_path / "bytes").write_text("10000\n")
        monkeypatch.setattr(windows, "CONTROL_GROUPS", [tmp_path / "none", tmp_path / "max", tmp_path / "bytes"])
    else:
        which, usual = getattr(resource, kind), resource.getrlimit
        monkeypatch.setattr(resource, "getrlimit", lambda asked: (10000, -1) if asked == which else usual(asked))
    assert gmatch.lap(file, certify=True).stats["team"] == "windows"
