"""Costs that are never all on a GPU: on a real GPU if there is one, and everywhere on arrays that pass for its own."""

import dataclasses
import gc
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from conftest import GPU
from fake_gpus import pretend
from test_windows import FAMILIES, TYPES, Rows, draw_case, total

import gmatch
from gmatch import CertificateError, FunctionCosts, Infeasible, InvalidInput, PointCosts, RowWindows, cuda
from gmatch.backends.block_passes import Depth, HeldRows
from gmatch.backends.protocol import AssignmentStart
from gmatch.distributed import coarse_points, core, filled_windows, point_windows
from gmatch.distributed import gpu_windows as of_windows
from gmatch.distributed.coarse_points import GROUP, Coarse, order_of_tree
from gmatch.distributed.gpu_windows import GpuWindowPart
from gmatch.distributed.point_windows import PointBlock
from gmatch.problems import gpu_windows, windows
from gmatch.problems.points import METRICS
from gmatch.problems.windows import CheckedWindows


@pytest.fixture
def gpu(monkeypatch):
    """CuPy: a fake one where there is none."""
    return cuda.cupy() if GPU else pretend(monkeypatch.setattr)


@pytest.fixture(params=["kept", "brought again"])
def small_windows(request, gpu, monkeypatch):
    """Windows of few rows. Some stay on the GPU, or none."""
    monkeypatch.setattr(gpu_windows, "ROWS_OF_PROCESSOR", 7)
    monkeypatch.setattr(cuda, "processors", lambda: 1)
    if request.param == "brought again":
        monkeypatch.setattr(gpu_windows, "KEPT", 1 << 62)
    return gpu


def called(gpu, matrix, **options):
    """The matrix as a function of arrays of the GPU."""
    there = gpu.asarray(np.ascontiguousarray(matrix))

    def f(rows, columns):
        assert type(rows) is type(columns) is gpu.ndarray
        return there[rows][:, columns]

    return FunctionCosts(f, matrix.shape, matrix.dtype, **options)


def streamed(gpu, matrix, **options):
    return RowWindows(matrix, **options)


def chunked(gpu, matrix, **options):
    return RowWindows(Rows(matrix, (5, 7)), **options)


def check(gpu, matrix, as_costs, **options):
    costs = as_costs(gpu, matrix, **options)
    try:
        expected = gmatch.lap(matrix, **options)
    except Infeasible:
        with pytest.raises(Infeasible):
            gmatch.lap(costs, device="gpu")
        return
    assignment = gmatch.lap(costs, device="gpu")
    assert assignment.stats["backend"] == "gpu" and isinstance(assignment.u, np.ndarray)
    certificate = gmatch.verify(costs, assignment)
    assert abs(total(assignment, matrix) - total(expected, matrix)) <= certificate.tolerance
    assert assignment.pair_costs.dtype == expected.pair_costs.dtype and assignment.u.dtype == expected.u.dtype
    # Another program proves it on the matrix.
    gmatch.verify(gmatch.DenseCosts(matrix, **options), assignment)


@pytest.mark.parametrize("as_costs", [called, streamed, chunked])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_assignments_on_a_gpu_are_the_cheapest(family, as_costs, small_windows):
    rng = np.random.default_rng(FAMILIES.index(family))
    types = TYPES[:-1] if as_costs is called else TYPES
    for case in range(14):
        matrix, options = draw_case(rng, family, case, 60, types)
        check(small_windows, matrix, as_costs, **options)


@pytest.mark.parametrize("shape", [(30, 30), (20, 45), (45, 20)])
def test_costs_that_lie_too_far_apart_for_a_core(shape, small_windows):
    """The search in the whole matrix has passes of its own over windows."""
    rng = np.random.default_rng(9)
    matrix = rng.integers(0, 1 << 56, shape)
    matrix[rng.random(shape) < 0.3] //= 1 << 50
    for as_costs in (called, streamed):
        for options in ({}, {"maximize": True}, {"cost_limit": 1 << 54}):
            check(small_windows, matrix, as_costs, **options)
            found = gmatch.lap(as_costs(small_windows, matrix, **options), device="gpu")
            assert found.stats["method"] == "classical" or options.get("cost_limit")


@pytest.mark.parametrize("shape", [(20, 45), (45, 20)])
def test_passes_over_windows_are_passes_over_the_matrix(shape, small_windows):
    rng = np.random.default_rng(10)
    matrix = rng.random(shape)
    costs = RowWindows(matrix)
    windows = costs.on_gpu()
    part = GpuWindowPart(CheckedWindows(costs, windows), windows, None)
    problem = matrix if shape[0] <= shape[1] else matrix.T
    u, v, covered = rng.random(20), rng.random(45), rng.random(45) < 0.5
    there, rows = small_windows.asarray, np.array([0, 3, 4, 11, 19], np.int32)
    for hidden in (None, covered):
        slacks = problem[rows] - v + (0 if hidden is None else np.where(hidden, np.inf, 0))
        of_columns = None if hidden is None else there(hidden.astype(np.uint8))
        least, nearest = part.passes.least_of_rows(there(rows), there(v), of_columns)
        assert (least.get() == slacks.min(axis=1)).all() and (nearest.get() == slacks.argmin(axis=1)).all()
    assert (part.least_of_columns(u) == (problem - u[:, None]).min(axis=0)).all()
    near = part.passes.entries_up_to(0.3, HeldRows(there(rows), there(u), there(v)), 10**4)
    expected = (problem - v - u[:, None])[rows] <= 0.3
    at, columns = expected.nonzero()
    assert near.number == expected.sum() and sorted(near.places.get().tolist()) == (rows[at] * 45 + columns).tolist()
    assert (part.values(there(rows)).get() == problem[rows]).all()
    assert part.allowed_outside(there(rows), there(covered)) == len(rows) * (~covered).sum()
    windows.close()


@pytest.mark.parametrize("metric", [*METRICS])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_points_on_a_gpu(metric, on_gpu, small_windows):
    rng = np.random.default_rng(METRICS.index(metric))
    for n, m, d in ((30, 30, 2), (25, 40, 3), (40, 25, 2), (20, 20, 9), (0, 3, 2)):
        x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        options = {"metric": metric, "p": 3 if metric == "minkowski" else None, "maximize": bool(n % 3 == 0)}
        host = PointCosts(x, y, **options)
        expected = gmatch.lap(host)
        if on_gpu:
            costs = PointCosts(small_windows.asarray(x), small_windows.asarray(y), **options)
            found = gmatch.lap(costs)
            assert type(found.u) is small_windows.ndarray
        else:
            costs = host
            found = gmatch.lap(costs, device="gpu")
        assert found.stats["backend"] == "gpu" and found.stats["team"] == "windows"
        assert np.isclose(float(found.cost), expected.cost)
        gmatch.verify(costs, found)
        found = found.moved(lambda array: array.get()) if on_gpu else found
        gmatch.verify(host, found)
        assert (found.pair_costs == host.of_pairs(found.row_ind, found.col_ind)).all()


def test_points_of_a_gpu_on_the_host(small_windows):
    x, y = np.random.default_rng(4).random((2, 30, 2))
    costs = PointCosts(small_windows.asarray(x), small_windows.asarray(y))
    found = gmatch.lap(costs, device="cpu", certify=True)
    assert found.stats["backend"] == "cpu" and type(found.u) is small_windows.ndarray
    assert float(found.cost) == gmatch.lap(PointCosts(x, y)).cost


def test_forged_results_from_a_gpu_are_refused(small_windows):
    """Their proofs read windows on the GPU."""
    rng = np.random.default_rng(8)
    matrix, (x, y) = rng.random((40, 40)), rng.random((2, 40, 9))
    for costs in (called(small_windows, matrix), RowWindows(matrix), PointCosts(x, y, metric="cityblock")):
        found = gmatch.lap(costs, device="gpu")
        gmatch.verify(costs, found)
        for changed in ({"u": found.u + 0.1}, {"u": found.u - 0.1}, {"pair_costs": found.pair_costs[::-1].copy()}):
            with pytest.raises(CertificateError):
                gmatch.verify(costs, dataclasses.replace(found, **changed))


def test_points_on_a_gpu_with_a_limit_and_a_start(small_windows):
    rng = np.random.default_rng(5)
    x, y = rng.random((2, 60, 2))
    for limit in (0.01, 1e-4, -1.0, 5.0):
        costs = PointCosts(x, y, cost_limit=limit)
        found, expected = gmatch.lap(costs, device="gpu"), gmatch.lap(costs)
        gmatch.verify(costs, found)
        assert found.size == expected.size and np.isclose(found.cost, expected.cost)
        again = gmatch.lap(costs, device="gpu", initial=found)
        assert again.stats["initial"] == "given" and np.isclose(again.cost, expected.cost)


def noted_starts(monkeypatch):
    """From now on: "bids" for each auction alone, and the start of each search."""
    starts, run, bids_on = [], core.run, of_windows.bids_on

    def noting(costs, plan, start=None):
        assert start.kind != AssignmentStart.GIVEN or start.v is not None
        starts.append(start.kind)
        return run(costs, plan, start)

    def noting_bids(costs):
        starts.append("bids")
        return bids_on(costs)

    monkeypatch.setattr(core, "run", noting)
    monkeypatch.setattr(of_windows, "bids_on", noting_bids)
    return starts


def test_points_on_a_gpu_start_from_given_duals_by_an_auction(small_windows, monkeypatch):
    starts = noted_starts(monkeypatch)
    rng = np.random.default_rng(15)
    x, y = rng.random((2, 60, 3))
    costs = PointCosts(x, y)
    for size in (1e-3, 100.0):
        starts.clear()
        found = gmatch.lap(costs, device="gpu", duals=(np.zeros(60), size * rng.uniform(-1, 1, 60)))
        gmatch.verify(costs, found)
        assert found.stats["initial"] == "given" and np.isclose(found.cost, gmatch.lap(costs).cost, rtol=1e-12)
        assert starts[:2] == ["bids", AssignmentStart.GIVEN]


def test_points_on_a_gpu_whose_costs_are_large(small_windows):
    """A search in windows rounds all duals as the largest number, also those of points that stay free."""
    for seed in (4, 9, 10, 11):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(2, 26, 2)) + 1e8
        points = PointCosts(x, y, metric="dot", cost_limit=float(rng.choice((-(x @ y.T)).ravel())))
        gmatch.verify(points, gmatch.lap(points, device="gpu"))


def test_points_on_a_gpu_stop_at_a_gap(small_windows):
    rng = np.random.default_rng(6)
    x, y = rng.random((2, 300, 3))
    costs, best = PointCosts(x, y), gmatch.lap(PointCosts(x, y)).cost
    for gap in (0.5, 1e-2, 1e-9):
        found = gmatch.lap(costs, device="gpu", gap=gap)
        assert found.status in ("bounded", "optimal") and best <= found.cost * (1 + 1e-12)
        assert found.cost <= (1 + gap) * found.bound and found.bound <= best * (1 + 1e-12)
        gmatch.verify(costs, found)


def test_sums_whose_roundings_matter_are_exact():
    """A bound of 1 / (1 + gap) of the cost is near enough, and one that is less by a rounding is not."""
    u = np.random.default_rng(18).random(3000) * 1e9
    sums = set()
    for shift in range(64):  # in other orders NumPy rounds otherwise
        here, v = np.roll(u, shift), np.array([1 - math.fsum(u)])
        cost = math.fsum([*here, *v])
        sums.add(np.sign(here.sum() + v[0] - cost))
        for excess, expected in ((0.5, True), (0.5 + 2.0**-52, False), (0.25, True), (0.75, False)):
            assert of_windows.is_near(here, v, np.array([excess * cost]), 1.0) == expected
    assert {-1, 1} <= sums


@pytest.mark.parametrize("d", [2, 12])
def test_a_gap_ends_auctions(d, small_windows, monkeypatch):
    costs, auctions = PointCosts(*clouds("far", 400, d)), {}
    real = of_windows.bids_on
    for gap in (None, 0.5):
        auctions[gap] = 0

        def counted(pairs, gap=gap):
            auctions[gap] += 1
            return real(pairs)

        monkeypatch.setattr(of_windows, "bids_on", counted)
        gmatch.verify(costs, gmatch.lap(costs, device="gpu", gap=gap))
    assert auctions[0.5] < auctions[None] + (1 if GPU else 0)  # auctions of a GPU may end as early without a gap


def test_a_matrix_larger_than_the_memory_of_the_gpu_comes_in_windows(gpu, monkeypatch):
    matrix = np.random.default_rng(7).random((200, 300), np.float32)
    monkeypatch.setattr(cuda, "memory_left", lambda: 200_000)
    monkeypatch.setattr(windows, "WINDOW", 1000)
    found = gmatch.lap(matrix, device="gpu")
    assert found.stats["team"] == "windows" and found.stats["windows"] > 10
    assert found.stats["trace"][:2] == ["price", "search"]
    assert gmatch.verify(matrix, found).cost == found.cost
    with pytest.raises(CertificateError):
        gmatch.verify(matrix, dataclasses.replace(found, u=found.u + 1))


@pytest.mark.skipif(not GPU, reason="compiles a program for a GPU")
@pytest.mark.parametrize("metric", METRICS)
def test_costs_that_a_gpu_fills_are_the_hosts_to_the_bit(metric):
    from gmatch.backends.point_costs import PointsOnGPU

    rng = np.random.default_rng(METRICS.index(metric))
    for n, m, d in ((1, 1, 1), (37, 1000, 2), (9, 333, 3), (64, 65, 17), (33, 40, 300)):
        x, y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, (n, 1)), rng.normal(size=(m, d))
        costs = PointCosts(x, y, metric=metric, p=3.5 if metric == "minkowski" else None)
        wanted = costs.of_pairs(np.arange(n)[:, None], np.arange(m))
        found = PointsOnGPU(costs.x, costs.y, metric, costs.p).costs(slice(0, n)).get()
        if metric == "minkowski":
            np.testing.assert_allclose(found, wanted, rtol=2.0**-48)
        else:
            assert (found == wanted).all()


@pytest.mark.skipif(not GPU, reason="reads points on a GPU")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["?", "i2", "f2", "f4", "f8"])
def test_points_of_a_gpu_are_read_there(metric, dtype):
    cupy, rng = cuda.cupy(), np.random.default_rng(METRICS.index(metric))
    x, y = (rng.integers(-9, 9, (300, 20)).astype(dtype) for _ in range(2))
    x[:, 0] = y[:, 0] = 1
    more = dict(metric=metric, p=3.5 if metric == "minkowski" else None)
    costs, there = PointCosts(x, y, **more), PointCosts(cupy.asarray(x), cupy.asarray(y, order="F"), **more)
    assert there.lies_on == "gpu" and not vars(there).keys() & {"x", "y"}
    found = gmatch.lap(there)
    assert type(found.col_ind) is cupy.ndarray
    # The host computes powers of pairs once more, and so reads the points.
    assert metric == "minkowski" or not vars(there).keys() & {"x", "y"}
    assert (there.lowest, there.highest, there.whole) == (costs.lowest, costs.highest, costs.whole)
    assert (there.x == costs.x).all() and (there.y == costs.y).all()
    assert gmatch.verify(costs, gmatch.lap(costs)).cost == pytest.approx(found.cost, rel=1e-12)
    assert gmatch.verify(there, found).cost == found.cost
    if dtype.startswith("f"):
        x[200, 7] = np.nan
        with pytest.raises(InvalidInput, match=re.escape("x[200, 7] is nan")):
            PointCosts(cupy.asarray(x), cupy.asarray(y))


# With 400 coordinates factors are half floats.
CASES_OF_BOUNDS = (300, 1300, 9, 0), (700, 700, 64, 30), (520, 600, 300, 1e4), (300, 700, 400, 3)


@pytest.mark.skipif(not GPU, reason="compiles programs for a GPU")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n", "m", "d", "offset"), CASES_OF_BOUNDS)
def test_passes_by_bounds_find_what_pairs_cost(metric, n, m, d, offset):
    """The worst and the best pairs, as loops over the matrix find them; bounds of large offsets rule out little."""
    rng, far = np.random.default_rng(d), 0 if metric in ("dot", "cosine") else offset
    x, y = rng.normal(size=(n, d)) + far, rng.normal(size=(m, d)) + far
    costs = PointCosts(x, y, metric=metric, p=3 if metric == "minkowski" else None, maximize=n == 700)
    exact = costs.of_pairs(np.arange(n)[:, None], np.arange(m)) * (-1 if costs.maximize else 1)
    bounds = of_windows.bounds_of(filled_windows.FilledWindows(costs), PointBlock(costs))
    here, v = cuda.cupy().asarray, rng.normal(size=m) * exact.std() / 4
    rows, reduced = here(np.arange(n, dtype=np.int32)), exact - v
    same = np.allclose if metric == "minkowski" else np.array_equal
    from gmatch.backends.point_bounds import DRAWN, PICKED

    with_far = bounds.price(rows, here(v), Depth(0, 1.0))
    at, of = np.divmod(with_far.places.get(), m)
    assert (
        same(with_far.costs.get(), exact[at, of])
        and np.isin(np.bincount(at, minlength=n) - PICKED, range(DRAWN + 1)).all()
    )
    picks = bounds.price(rows, here(v), Depth(0, 1.0), 16)
    at, of = np.divmod(picks.places.get(), m)
    assert same(picks.costs.get(), exact[at, of]) and (np.bincount(at, minlength=n) == 16).all()
    least = np.full(n, np.inf)
    np.minimum.at(least, at, reduced[at, of])
    assert (least <= reduced.min(axis=1) + 1e-3 * exact.std()).mean() > 0.9
    u = np.partition(reduced, 10, axis=1)[:, 10]
    worst, found = bounds.overpriced_and_least(rows, here(u), here(v), Depth(1, 1.0))
    assert same(found.get(), reduced.min(axis=1))
    at, of = np.divmod(worst.places.get(), m)
    is_worst = np.zeros((n, m), bool)
    for stratum in range(512):
        columns = np.arange(stratum, m, 512)
        if len(columns):
            is_worst[np.arange(n), columns[reduced[:, columns].argmin(axis=1)]] = True
    is_worst &= reduced < u[:, None] - 1e-9 * abs(u[:, None])
    if metric != "minkowski":
        assert (np.sort(at * m + of) == is_worst.ravel().nonzero()[0]).all()
    some = np.flatnonzero(rng.random(n) < 0.3).astype(np.int32)  # other rows lie between them
    of_some = bounds.overpriced(here(some), here(u), here(v), Depth(1, 1.0))
    is_of_some = np.isin(at, some)
    assert np.array_equal(of_some.places.get(), worst.places.get()[is_of_some])
    assert np.array_equal(of_some.costs.get(), worst.costs.get()[is_of_some])
    turned = bounds.turned().price(here(np.arange(m, dtype=np.int32)), here(u), Depth(0, 1.0), 8)
    of, at = np.divmod(turned.places.get(), n)
    assert same(turned.costs.get(), exact[at, of])


@pytest.mark.parametrize(("n", "m"), [(40, 40), (40, 60), (60, 40)])
@pytest.mark.parametrize("kind", ["function", "few coordinates", "many coordinates"])
def test_nothing_stays_on_a_gpu_after_a_call(small_windows, kind, n, m):
    """Python looks for no cycles meanwhile."""
    rng = np.random.default_rng(n + m)
    if kind == "function":
        costs = called(small_windows, rng.random((n, m)))
    else:
        costs = PointCosts(*(rng.random((number, 2 if kind[0] == "f" else 12)) for number in (n, m)))

    def parts_and_costs():
        # isinstance asks objects of torch for their class, and some of them warn.
        return [each for each in gc.get_objects() if type(each) in (GpuWindowPart, CheckedWindows)]

    gc.collect()
    of_others = {id(each): each for each in parts_and_costs()}  # such as a failed test's
    gc.disable()
    try:
        gmatch.lap(costs, device="gpu")
        left = [each for each in parts_and_costs() if id(each) not in of_others]
        held_by = [(type(each), list(map(type, gc.get_referrers(each)))) for each in left]
    finally:
        gc.enable()
    assert not held_by


def test_an_error_says_which_memory_is_full(small_windows, monkeypatch):
    def run_of(error):
        def run(costs, plan, start=None):
            raise error

        return run

    points = PointCosts(*np.random.default_rng(3).random((2, 20, 2)))
    for text, where in (("Out of memory allocating 8 bytes", "GPU"), ("Unable to allocate 8 bytes", "host")):
        monkeypatch.setattr(core, "run", run_of(MemoryError(text)))
        with pytest.raises(MemoryError, match=rf"shape \(20, 20\) needs more memory than the {where} has left: {text}"):
            gmatch.lap(points, device="gpu")


def test_what_a_gpu_refuses(gpu, monkeypatch):
    x = np.zeros((3, 2))
    with pytest.raises(InvalidInput, match="both lie on the host, or both on a GPU"):
        PointCosts(x, gpu.asarray(x))
    with pytest.raises(InvalidInput, match="has one method"):
        gmatch.lap(RowWindows(x), device="gpu", method="tree")
    with pytest.raises(InvalidInput, match="threads is for the CPU"):
        gmatch.lap(RowWindows(x), device="gpu", threads=2)
    with pytest.raises(InvalidInput, match="must not be masked"):
        gmatch.lap(RowWindows(np.ma.masked_array(x, x == 0)), device="gpu")

    with monkeypatch.context() as context:
        context.setattr(cuda, "memory_left", lambda: 300)
        with pytest.raises(InvalidInput, match="a row of these costs takes 24 bytes"):
            gmatch.lap(RowWindows(np.zeros((3, 3))), device="gpu")

    def raising(rows, columns):
        raise ValueError("no")

    with pytest.raises(InvalidInput, match="arrays of CuPy here"):
        gmatch.lap(FunctionCosts(raising, (3, 3), np.float64), device="gpu")
    seen = []

    def changing(rows, columns):
        seen.append(1)
        return gpu.asarray(np.full((len(rows), len(columns)), float(len(seen))))

    costs = FunctionCosts(changing, (3, 3), np.float64)
    monkeypatch.setattr(gpu_windows, "KEPT", 1 << 62)
    with pytest.raises(InvalidInput, match="the same costs each time"):
        gmatch.lap(costs, device="gpu")


def clouds(family, n, d, m=None):
    rng = np.random.default_rng(FAMILIES_OF_POINTS.index(family))
    x, y = rng.random((n, d)), rng.random((n if m is None else m, d))
    if family == "mixture":
        x, y = (rng.random((5, d))[rng.integers(0, 5, len(p))] + rng.normal(size=p.shape) / 9 for p in (x, y))
    elif family == "ring":
        x, y = x - 0.5, (y - 0.5) / np.linalg.norm(y - 0.5, axis=1, keepdims=True)
    elif family == "far":
        y[: n // 10] += 100
    elif family == "grid":
        x, y = (p * n ** (1 / d) // 1 for p in (x, y))
    return x, y


FAMILIES_OF_POINTS = ["uniform", "mixture", "ring", "far", "grid"]


@pytest.mark.parametrize("family", FAMILIES_OF_POINTS)
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("auctions", [0, 6])
def test_duals_of_centroids_leave_little_to_do(family, d, auctions, small_windows, monkeypatch):
    """Cores of few pairs hold the assignment after few rounds, also where passes see some rows at a time."""
    monkeypatch.setattr(filled_windows, "ROWS_OF_A_PASS", 300)
    monkeypatch.setattr(of_windows, "MOST_AUCTIONS", auctions)
    n = 1100
    costs = PointCosts(*clouds(family, n, d))
    found = gmatch.lap(costs, device="gpu")
    gmatch.verify(costs, found)
    assert np.isclose(found.cost, gmatch.lap(costs).cost, rtol=1e-12)
    assert found.stats["trace"][:3] == ["price", "search", "reprice"] and found.stats["core_entries"] < 90 * n
    if not GPU:  # the duals of a GPU's core depend on races, and so does what they leave to do
        assert found.stats["rounds"] <= (2 if family == "ring" else 1) + (0 if auctions else 2)
        assert found.stats["overpriced"] < (15 if family == "ring" else 1.5) * n


@pytest.mark.parametrize("shape", [(30, 30), (25, 40), (40, 25)])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_gpu_tells_what_pairs_of_many_coordinates_cost(shape, maximize, small_windows, monkeypatch):
    """To the bit as the host does, which computes none of them."""
    rng = np.random.default_rng(shape[0])
    costs = PointCosts(rng.normal(size=(shape[0], 9)), rng.normal(size=(shape[1], 9)), maximize=maximize)
    with monkeypatch.context() as patched:
        patched.delattr(point_windows, "costs_of_pairs")
        found = gmatch.lap(costs, device="gpu")
    assert (found.pair_costs == costs.of_pairs(found.row_ind, found.col_ind)).all()
    gmatch.verify(costs, found)


@pytest.mark.parametrize("d", [2, 12])
def test_late_rounds_read_rows_whose_duals_rose(d, small_windows, monkeypatch):
    x, y = np.random.default_rng(6).random((2, 60, d))
    costs = PointCosts(x, y)
    found, matrix, read = gmatch.lap(costs), costs.of_pairs(np.arange(60)[:, None], np.arange(60)), []
    part = GpuWindowPart(PointBlock(costs), filled_windows.FilledWindows(costs), None)
    passes = part.for_core
    noted = SimpleNamespace(overpriced=lambda rows, *others: read.append(len(rows)) or passes.overpriced(rows, *others))
    monkeypatch.setattr(GpuWindowPart, "for_core", noted)
    risen = np.zeros(60)
    risen[[1, 5, 40]] = 0.1
    falls, rises = -np.random.default_rng(7).random(60) / 100, np.where(np.arange(60) == 9, 0.01, 0)
    for number, u, v in (
        (60, found.u, found.v), (3, found.u + risen, found.v), (3, found.u + risen, found.v + falls),
        (60, found.u + risen, found.v + rises), (None, found.u + risen, found.v + rises),
    ):  # fmt: skip
        offered, (keys, of_keys) = of_windows.overpriced(part, u, v)
        is_cheap, keys = matrix - u[:, None] - v < -1e-12, keys.get()
        assert read.pop() == (number or is_cheap.any(axis=1).sum()) and (offered > 0) == is_cheap.any()
        assert np.allclose(of_keys.get(), matrix.ravel()[keys])
        keys = keys[is_cheap.ravel()[keys]]  # passes of a host list pairs that are nearly too cheap, too
        assert np.array_equal(np.unique(keys // 60), is_cheap.any(axis=1).nonzero()[0])
    part.close()


def test_a_host_tells_what_pairs_cost_if_costs_are_powers(small_windows, monkeypatch):
    """Powers of a GPU are rounded in another way."""
    monkeypatch.delattr(GpuWindowPart, "costs_of_points")
    x = np.random.default_rng(0).normal(size=(2, 30, 9))
    costs = PointCosts(*x, metric="minkowski", p=3)
    gmatch.verify(costs, gmatch.lap(costs, device="gpu"))


@pytest.mark.parametrize("maximize", [False, True])
def test_a_gpu_assigns_many_centroids(maximize, small_windows, monkeypatch):
    monkeypatch.setattr(coarse_points, "MOST_ON_HOST", 3)
    clouds_of_coarse, real = [], of_windows.assigned_on_gpu
    monkeypatch.setattr(
        of_windows, "assigned_on_gpu", lambda points: clouds_of_coarse.append(points.shape) or real(points)
    )
    costs = PointCosts(*np.random.default_rng(13).random((2, 1100, 2)), maximize=maximize)
    found = gmatch.lap(costs, device="gpu")
    gmatch.verify(costs, found)
    assert clouds_of_coarse == [(68, 68), (4, 4)]
    assert np.isclose(found.cost, gmatch.lap(costs).cost, rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "dot", "cosine"])
@pytest.mark.parametrize("maximize", [False, True])
def test_other_metrics_start_from_centroids(metric, maximize, small_windows):
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(2, 333, 3))
    costs = PointCosts(x, y, metric=metric, maximize=maximize)
    found = gmatch.lap(costs, device="gpu")
    gmatch.verify(costs, found)
    assert np.isclose(found.cost, gmatch.lap(costs).cost, rtol=1e-12)


def test_centroids_of_directions_may_be_zero(small_windows):
    signs = np.tile([[1.0], [-1.0]], (GROUP // 2, 1))
    costs = PointCosts(signs, signs, metric="cosine")
    found = gmatch.lap(costs, device="gpu")
    gmatch.verify(costs, found)
    assert found.cost == 0


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 500, 4097])
def test_groups_of_points_are_compact(number, gpu):
    points = np.random.default_rng(number).random((number, 2)) * (1, 3) + 1e3
    order = order_of_tree(points)
    assert sorted(order.tolist()) == list(range(number))
    if number > 16 * GROUP:
        groups = points[order][: number // GROUP * GROUP].reshape(-1, GROUP, 2)
        area, length = 3 * GROUP / number, np.ptp(groups, axis=1).max(axis=1)  # 3 is the area of all
        assert np.median(length) < 1.6 * area**0.5


@pytest.mark.parametrize("number", [16, 100, 1000])
def test_pairs_of_centroids_have_an_assignment(number):
    x, y = np.random.default_rng(number).random((2, number, 2))
    coarse = Coarse.of(PointCosts(x, y), None)
    rows, columns = coarse.pairs(number)
    graph = scipy.sparse.coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(number, number))
    assert gmatch.max_matching(graph).size == number
    assert len(rows) <= 4 * number


def test_clusters_of_other_numbers_of_x_than_of_y_have_an_assignment(gpu):
    """Near pairs have none, since all of them lie within a cluster. Each row draws far pairs, too."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 600, 9))
    x[:60] += 1000
    y[:90] += 1000
    costs = PointCosts(x, y)
    part = GpuWindowPart(PointBlock(costs), filled_windows.FilledWindows(costs), None)
    v = of_windows.start(None, part, None)
    assert v.max() == 0  # bounds in float32 lose as much as v is large
    rows, columns = np.divmod(part.picked[0].get(), 600)
    graph = scipy.sparse.coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(600, 600))
    assert gmatch.max_matching(graph).size == 600
    part.close()
    gmatch.verify(costs, gmatch.lap(costs, device="gpu"))


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "cityblock"])
def test_duals_that_mislead_give_way_to_centroids_of_fours(metric, small_windows, monkeypatch):
    monkeypatch.setattr(of_windows, "MOST_AUCTIONS", 2)
    monkeypatch.setattr(of_windows, "ENOUGH_AUCTIONS", 1)
    pick = GpuWindowPart._pick
    monkeypatch.setattr(GpuWindowPart, "_pick", lambda part, v: max(pick(part, v), part.shape[0]))
    fours, real = [], GpuWindowPart.duals_of_fours

    def noted(part):
        v = real(part)
        fours.append((part, v))
        return v

    monkeypatch.setattr(GpuWindowPart, "duals_of_fours", noted)
    costs = PointCosts(*clouds("uniform", 401, 12), metric=metric)
    found = gmatch.lap(costs, device="gpu")
    gmatch.verify(costs, found)
    assert np.isclose(found.cost, gmatch.lap(costs).cost, rtol=1e-12)
    part, v = fours[-1]
    assert part.shape == (401, 401) and np.isfinite(v).all()
    # The duals prove much of the cost, so they belong to these points.
    matrix = costs.of_pairs(np.arange(401)[:, None], np.arange(401))
    assert 0.5 * found.cost < v.sum() + (matrix - v).min(axis=1).sum() <= found.cost


def test_a_core_is_searched_anew_if_many_rows_are_offered_entries(small_windows, monkeypatch):
    """By an auction from the last duals. Else the search goes on from the last pairs."""
    starts = noted_starts(monkeypatch)
    monkeypatch.setattr(of_windows, "MOST_AUCTIONS", 0)
    x, y = clouds("ring", 1100, 3)
    gmatch.lap(PointCosts(x, y), device="gpu")
    if not GPU:  # on a GPU fewer rows may be offered entries
        assert starts[:4] == ["bids", AssignmentStart.GIVEN] * 2
    starts.clear()
    monkeypatch.setattr(core, "PART_ANEW", 0)
    found = gmatch.lap(PointCosts(x, y), device="gpu")
    assert starts[:2] == ["bids", AssignmentStart.GIVEN] and set(starts[2:]) == {AssignmentStart.GIVEN}
    gmatch.verify(PointCosts(x, y), found)
