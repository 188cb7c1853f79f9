"""Points of many coordinates: rows of costs for searches, against SciPy's assignment on the matrix; and their proof."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from test_points import FAMILIES, METRICS, matrix_of

import gmatch
from gmatch import CertificateError, DenseCosts, InvalidInput, PointCosts, _native
from gmatch.backends import point_rows
from gmatch.backends.rows import STRATA, best_of_strata, costs_of_pairs
from gmatch.problems import limits
from gmatch.proof import all_pairs
from gmatch.proof import points as proof


@pytest.fixture
def small_parts(monkeypatch):
    """Makes the parts of small problems as many as of large ones."""
    monkeypatch.setitem(limits.ENTRIES_PER_BLOCK, "cpu", 500)
    monkeypatch.setitem(all_pairs.SIZES, "cpu", all_pairs.Sizes(700, 300))
    monkeypatch.setattr(all_pairs, "COORDINATES", 500)
    monkeypatch.setattr(proof, "COORDINATES", 500)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("metric", [*METRICS, "minkowski"])
def test_assignments_are_the_cheapest(family, metric):
    rng = np.random.default_rng([FAMILIES.index(family), len(metric)])
    for case in range(6):
        n, m = (int(number) for number in rng.integers(1, 130, 2))
        x, y = family(rng, n, n if case % 2 else m, int(rng.choice([9, 17, 64])))
        if metric == "cosine":
            x, y = x + rng.random(x.shape[1]), y + 1
        options = {"metric": metric, "p": 3 if metric == "minkowski" else None, "maximize": case in (1, 2, 5)}
        matrix = matrix_of(PointCosts(x, y, **options))
        limit = float(np.quantile(matrix, rng.choice([0.01, 0.1, 0.5]))) if case > 2 else None
        costs = PointCosts(x, y, **options, cost_limit=limit)
        assignment = gmatch.lap(costs, threads=1 + case % 2)
        assert assignment.stats["team"] == ("windows" if metric == "minkowski" else "host")
        prove(costs, assignment, matrix)


def prove(costs, assignment, matrix):
    certificate = gmatch.verify(costs, assignment)
    cut = -matrix if costs.maximize else matrix
    cut = cut if costs.limit is None else np.minimum(cut, costs.limit)
    found = cut[assignment.row_ind, assignment.col_ind].sum()
    found += (costs.limit or 0) * (min(cut.shape) - assignment.size)
    rounding = certificate.tolerance + 1e-12 * abs(cut).max() * len(cut)
    assert abs(found - cut[linear_sum_assignment(cut)].sum()) <= rounding
    assert np.array_equal(assignment.pair_costs, matrix[assignment.row_ind, assignment.col_ind])
    # Another program proves it on the matrix.
    gmatch.verify(DenseCosts(matrix, maximize=costs.maximize, cost_limit=costs.cost_limit), assignment)


def crossed(rng, n, m, d):
    """Points of two lines. Costs are nearly products, so all points prefer the same points of the other line."""
    along = rng.normal(size=(2, d))
    return rng.random((n, 1)) * along[0], rng.random((m, 1)) * along[1]


def far_tenth(rng, n, m, d):
    x, y = rng.random((n, d)), rng.random((m, d))
    y[: m // 10] += 100
    return x, y


def copies(rng, n, m, d):
    return rng.random((10, d))[rng.integers(0, 10, n)], rng.normal(size=(m, d))


def power_law(rng, n, m, d):
    return [rng.normal(size=(size, d)) * rng.pareto(1, (size, 1)) for size in (n, m)]


def two_lines(rng, n, m, d):
    along = rng.normal(size=(2, d))
    return [rng.normal(size=(size, 1)) * along[rng.integers(0, 2, size)] for size in (n, m)]


@pytest.mark.parametrize(
    "family", [crossed, far_tenth, copies, power_law, two_lines], ids=lambda family: family.__name__
)
@pytest.mark.parametrize("metric", ["sqeuclidean", "cityblock", "dot"])
@pytest.mark.parametrize("shape", [(640, 640), (620, 640), (640, 610)])
def test_duals_of_centroids_where_a_core_from_nothing_is_given_up(family, metric, shape):
    """A search of the matrix from nothing reads 150 to 800 rows for each point."""
    x, y = family(np.random.default_rng(0), *shape, 12)
    plain = PointCosts(x, y, metric=metric)
    matrix = matrix_of(plain)
    for limit in (None, float(np.quantile(matrix, 0.1))):
        costs = PointCosts(x, y, metric=metric, cost_limit=limit)
        assignment = gmatch.lap(costs, threads=1)
        prove(costs, assignment, matrix)
        stats = assignment.stats
        if "price_again" in stats["trace"]:
            assert stats["coarser_levels"] >= 1 and stats["bids"] > 0
            assert stats["rows_read"] < 160 * min(shape)
        elif family is copies and metric == "sqeuclidean":
            assert limit is not None, "the core from nothing should be given up"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("metric", METRICS[:5])
def test_limits_that_no_pair_meets(metric):
    """The limits may be far from all costs."""
    for maximize in (False, True):
        costs = PointCosts(np.zeros((9, 10)), np.zeros((7, 10)), metric=metric, maximize=maximize)
        limited = PointCosts(costs.x, costs.y, metric=metric, maximize=maximize, cost_limit=1e9 if maximize else -1e9)
        assert gmatch.lap(costs, certify=True).size == 7
        assert gmatch.lap(limited, certify=True).size == 0


def test_given_duals_beside_a_limit_that_no_pair_meets():
    """Duals stay as given, up to a shift. The rounding of the shift is part of the proof of free points."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        n, d = random.integers(3, 30), random.integers(9, 20)
        x, y = random.normal(size=(2, n, d))
        limit = 0.9 * gmatch.PointCosts(x, y, metric="cosine").as_dense().lowest
        costs = gmatch.PointCosts(x, y, metric="cosine", cost_limit=limit)
        assignment = gmatch.lap(costs, duals=tuple(10 * random.normal(size=(2, n))), certify=True)
        assert assignment.size == 0


def rows_of(costs, bounds=None, own=None):
    """All rows as a search asks for them, not in their order."""
    n, m = costs.shape
    size = (n, m) if own is None else (n + m, n + m)
    order = np.random.default_rng(0).permutation(size[0]).astype(np.int32)
    order[size[0] // 2 :].sort()  # rows that follow one another are computed together
    rows, found = np.empty(size), np.empty(size)
    _native.rows_of_points(costs.x, costs.y, costs.metric, costs.maximize, bounds, own, order, found)
    rows[order] = found
    return rows


def test_rows_are_priced_again_from_a_reserve():
    x, y = np.random.default_rng(5).normal(size=(2, 1500, 64))
    assignment = gmatch.lap(PointCosts(x, y), threads=1, certify=True)
    stats = assignment.stats
    assert stats["repricings"] > 1500
    assert stats["rows_read"] < 2.5 * 1500  # 3.2 without a reserve


@pytest.mark.parametrize("scale", [1e-170, 1e-20, 1, 1e18, 1e150])
@pytest.mark.parametrize("metric", point_rows.OF_PRODUCTS)
def test_bounds_hold_at_any_scale(metric, scale):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(90, 12)), rng.normal(size=(101, 12))
    x[:5] *= 1e8  # a few points far away leave the others few digits of float32
    if scale == 1e150:
        x[:5] *= 1e-8
    if metric == "cosine":
        scale = 1
    for maximize in (False, True):
        costs = PointCosts(x * scale, y, metric=metric, maximize=maximize)
        exact = matrix_of(costs) * (-1 if maximize else 1)
        bounds = rows_of(costs, point_rows.bounds_of(costs))
        assert (bounds <= exact + 1e-15 * abs(exact)).all()
        if scale == 1:
            assert (bounds > exact - 1e-4 * abs(exact).max()).all(), "bounds that say nothing"


@pytest.mark.parametrize("metric", METRICS)
def test_pairs_and_rows_cost_the_same_to_the_bit(metric):
    rng = np.random.default_rng(7)
    for d in (1, 9, 40):
        x, y = rng.normal(size=(21, d)), rng.normal(size=(101, d))
        costs = PointCosts(x, y, metric=metric)
        expected = matrix_of(costs)
        rows, columns = rng.integers(0, 21, 300), rng.integers(0, 101, 300)
        assert np.array_equal(costs_of_pairs(costs.x, costs.y, metric, rows, columns), expected[rows, columns])
        for maximize in (False, True):
            costs = PointCosts(x, y, metric=metric, maximize=maximize)
            minimised = -expected if maximize else expected
            assert np.array_equal(rows_of(costs), minimised)
            doubled = np.full((122, 122), np.inf)
            doubled[:21, :101], doubled[21:, 101:] = minimised, minimised.T
            doubled[np.arange(21), 101 + np.arange(21)], doubled[21 + np.arange(101), np.arange(101)] = 7.5, 0
            assert np.array_equal(rows_of(costs, own=7.5), doubled)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("most", [1, 2])
def test_the_best_of_each_stratum(dtype, most):
    rng = np.random.default_rng(8)
    far = 15
    for width in (1, 5, 32, 33, 100, 1000):
        keys = rng.integers(0, 20, (9, width)).astype(dtype)
        rows, columns = best_of_strata(keys, 3, 20, far, most)
        for row in range(9):
            for stratum in range(STRATA):
                there = np.arange(stratum, width, STRATA)
                expected = np.sort(keys[row, there][keys[row, there] < far])[:most]
                found = columns[(rows == row) & (columns % STRATA == stratum)]
                assert len(set(found.tolist())) == len(found) and np.array_equal(np.sort(keys[row, found]), expected)


def test_whole_costs_leave_no_gap():
    rng = np.random.default_rng(4)
    for metric in ("sqeuclidean", "cityblock", "dot"):
        costs = PointCosts(rng.integers(0, 3, (120, 9)), rng.integers(0, 3, (130, 9)), metric=metric)
        assert costs.whole and gmatch.verify(costs, gmatch.lap(costs)).gap == 0


@pytest.mark.parametrize("metric", ["sqeuclidean", "minkowski"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_empty_clouds(shape, metric):
    p = 3 if metric == "minkowski" else None
    costs = PointCosts(np.zeros((shape[0], 20)), np.zeros((shape[1], 20)), metric=metric, p=p)
    assignment = gmatch.lap(costs, certify=True)
    assert assignment.size == 0 and assignment.row_match.shape == shape[:1] and assignment.status == "optimal"


def test_starts_from_an_assignment_and_from_duals():
    rng = np.random.default_rng(5)
    for n, m, limit in ((200, 200, None), (180, 200, None), (200, 170, None), (200, 200, 30.0)):
        x, y = rng.normal(size=(n, 20)), rng.normal(size=(m, 20))
        former = gmatch.lap(PointCosts(x, y, cost_limit=limit))
        costs = PointCosts(x + rng.normal(size=x.shape) * 0.01, y, cost_limit=limit)
        best = gmatch.lap(costs).cost
        given = former.u, former.v
        for start in ({"initial": former}, {"duals": given}, {"duals": (former.u * 0, rng.random(m))}):
            assignment = gmatch.lap(costs, certify=True, **start)
            assert np.isclose(assignment.cost, best) and assignment.stats["initial"] == "given"
    again = gmatch.lap(PointCosts(x, y, cost_limit=limit), initial=former)
    assert again.stats["rows_read"] <= 5 * 200, "an answer as a start leaves nothing to search"


def test_few_rows_are_read_of_even_points():
    x, y = np.random.default_rng(6).normal(size=(2, 1000, 128)).astype(np.float32)
    assignment = gmatch.lap(PointCosts(x, y), certify=True)
    assert assignment.stats["rows_read"] < 5 * 1000


@pytest.mark.parametrize("limit", [None, 8.0])
def test_forged_results_are_refused(limit):
    rng = np.random.default_rng(9)
    costs = PointCosts(rng.normal(size=(60, 12)), rng.normal(size=(70, 12)), cost_limit=limit)
    good = gmatch.lap(costs)
    for vertex in range(0, 60, 7):
        for name in "uv":
            raised = getattr(good, name).copy()
            raised[vertex] += 1e-6
            with pytest.raises(CertificateError):
                gmatch.verify(costs, dataclasses.replace(good, **{name: raised}))
    with pytest.raises(CertificateError, match="pair_costs"):
        gmatch.verify(costs, dataclasses.replace(good, pair_costs=good.pair_costs * (1 + 1e-15)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(infeasible="largest"), "infeasible must be"),
        (dict(initial="bids"), "starts from minima"),
        (dict(duals=(np.zeros(3), np.zeros(4))), r"v of shape \(3,\)"),
        (dict(threads=0), "threads must be"),
        (dict(maximize=True), "its own maximize"),
    ],
)  # fmt: skip
def test_what_lap_refuses(options, message):
    with pytest.raises(InvalidInput, match=message):
        gmatch.lap(PointCosts(np.ones((3, 20)), np.ones((3, 20))), **options)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [-540, -63, 60, 480])
def test_products_that_float32_does_not_hold(exponent):
    rng = np.random.default_rng(8)
    x, y = (np.ldexp(10.0 ** rng.uniform(-9, 9, (35, 33)), exponent - 60) for _ in range(2))
    costs = PointCosts(x, y, metric="dot")
    assignment = gmatch.lap(costs, certify=True)
    matrix = matrix_of(costs)
    assert np.isclose(assignment.cost, matrix[linear_sum_assignment(matrix)].sum(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("shape", [(50, 50), (40, 60), (60, 40)])
def test_mates_to_start_from_change_no_answer(shape):
    rng = np.random.default_rng(6)
    x, y = (rng.normal(size=(size, 12)) for size in shape)
    for limit in (None, 15.0):
        costs = PointCosts(x, y, cost_limit=limit)
        best = gmatch.lap(costs)
        for initial in (best.row_match, best, np.full(shape[0], -1), best.row_match[::-1].copy()):
            again = gmatch.lap(costs, initial=initial, certify=True)
            assert np.array_equal(again.row_match, best.row_match) and again.stats["initial"] == "given"
    with pytest.raises(InvalidInput, match="column 0 is given to more than one row"):
        gmatch.lap(costs, initial=np.zeros(shape[0], int))
    assert gmatch.lap(PointCosts(x, y), infeasible="partial", certify=True).size == min(shape)
