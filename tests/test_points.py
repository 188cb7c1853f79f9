"""Points: the cheapest assignment without the matrix, against SciPy's on the matrix, and its proof."""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import gmatch
from gmatch import CertificateError, DenseCosts, InvalidInput, PointCosts
from gmatch.backends import points as backend
from gmatch.proof import points as proof

METRICS = ("sqeuclidean", "euclidean", "cityblock", "chebyshev", "dot", "cosine")
METRICS_AND_P = (*((metric, None) for metric in METRICS), ("minkowski", 1.5), ("minkowski", 4))


def normal(rng, n, m, d):
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def identical(rng, n, m, d):
    x = rng.random((n, d))
    return x, x[rng.permutation(m) % n]


def moved(rng, n, m, d):
    x = rng.random((max(n, m), d))
    return x[:n], rng.permuted(x[:m], axis=0) * 0.01 + x[:m]


def grid(rng, n, m, d):
    return rng.integers(0, 4, (n, d)), rng.integers(0, 4, (m, d))


def duplicates(rng, n, m, d):
    sites = rng.normal(size=(5, d))
    return sites[rng.integers(0, 5, n)], rng.normal(size=(m, d))


def collinear(rng, n, m, d):
    return rng.random((n, 1)) * np.ones(d), rng.random((m, 1)) * np.ones(d) + np.eye(d)[0]


def clusters(rng, n, m, d):
    sites = rng.normal(size=(4, d)) * 10
    return sites[rng.integers(0, 4, n)] + rng.normal(size=(n, d)), sites[rng.integers(0, 4, m) ** 2 // 3] + rng.normal(
        size=(m, d)
    )


def one_far(rng, n, m, d):
    x, y = rng.random((n, d)), rng.random((m, d))
    y[: m // 4] += 1e4
    return x, y


def off_origin(rng, n, m, d):
    return rng.random((n, d)) + 5e6, rng.random((m, d)) + 5e6


def heavy_tails(rng, n, m, d):
    return rng.standard_cauchy((n, d)), rng.standard_cauchy((m, d))


def singles(rng, n, m, d):
    return rng.random((n, d), dtype=np.float32), rng.random((m, d), dtype=np.float32)


def outlier(rng, n, m, d):
    x, y = rng.random((n, d)) / 100, rng.random((m, d)) / 100
    y[0] += 1e6
    return x, y


def magnitudes(rng, n, m, d):
    """From 1e-6 to 1e5, point by point."""
    return tuple(rng.random((size, d)) * 10.0 ** rng.integers(-6, 6, (size, 1)) for size in (n, m))


def small_integers(rng, n, m, d):
    return rng.integers(0, 256, (n, d)).astype(np.uint8), rng.integers(0, 256, (m, d)).astype(np.uint8)


FAMILIES = (
    normal, identical, moved, grid, duplicates, collinear, clusters, one_far, off_origin, heavy_tails, singles,
    outlier, magnitudes, small_integers,
)  # fmt: skip


@pytest.fixture(autouse=True)
def many_levels(monkeypatch):
    """Small clouds have several levels, and their proofs blocks, as large ones do."""
    monkeypatch.setattr(backend, "SMALLEST", 6)
    monkeypatch.setattr(proof, "ALL_PAIRS", 50)
    monkeypatch.setattr(proof, "BLOCK", 8)
    monkeypatch.setattr(proof, "FEW_BLOCKS", 2)


def matrix_of(costs):
    return costs.of_pairs(np.arange(costs.shape[0])[:, None], np.arange(costs.shape[1]))


def price_of(matrix, pairs, limit):
    rows, columns = pairs
    return matrix[rows, columns].sum() + (limit or 0) * (min(matrix.shape) - len(rows))


def check(costs, **options):
    assignment = gmatch.lap(costs, **options)
    certificate = gmatch.verify(costs, assignment)
    matrix = matrix_of(costs)
    cut = matrix if costs.limit is None else np.minimum(matrix, costs.limit)
    best = cut[linear_sum_assignment(cut)].sum()
    found = price_of(matrix, assignment, costs.limit)
    assert abs(found - best) <= certificate.tolerance + 1e-12 * abs(cut).max(initial=0) * len(cut)
    assert certificate.gap <= certificate.tolerance
    assert np.array_equal(assignment.pair_costs, matrix[assignment.row_ind, assignment.col_ind])
    # Another program proves it on the matrix.
    gmatch.verify(DenseCosts(matrix, cost_limit=costs.cost_limit), assignment)
    return assignment


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("metric", METRICS)
def test_assignments_are_the_cheapest(family, metric):
    rng = np.random.default_rng([FAMILIES.index(family), METRICS.index(metric)])
    for d in range(1, 9):
        n = int(rng.integers(1, 90))
        x, y = family(rng, n, n, d)
        if metric == "cosine":
            x, y = x + 10, y + 10
        check(PointCosts(x, y, metric=metric), threads=1 + d % 2)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_clouds_may_differ_in_size(family):
    rng = np.random.default_rng(FAMILIES.index(family))
    for d in range(1, 9):
        n, m = (int(number) for number in rng.integers(1, 90, 2))
        x, y = family(rng, n, m, d)
        assignment = check(PointCosts(x, y, metric=METRICS[d % 5]))
        assert assignment.size == min(n, m) and assignment.status == "optimal"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_maximized_assignments(family):
    rng = np.random.default_rng(FAMILIES.index(family))
    for d in range(1, 9):
        metric, p = METRICS_AND_P[(d + FAMILIES.index(family)) % len(METRICS_AND_P)]
        n, m = (int(number) for number in rng.integers(1, 90, 2))
        x, y = family(rng, n, n if d % 2 else m, d)
        x, y = (x + 10, y + 1) if metric == "cosine" else (x, y)
        matrix = matrix_of(PointCosts(x, y, metric=metric, p=p))
        limit = float(np.quantile(matrix, 0.9)) if d > 5 else None
        costs = PointCosts(x, y, metric=metric, p=p, maximize=True, cost_limit=limit)
        assignment = gmatch.lap(costs)
        assert assignment.stats["team"] == "host"
        certificate = gmatch.verify(costs, assignment)
        worth = matrix if limit is None else np.maximum(matrix, limit)
        best = worth[linear_sum_assignment(worth, maximize=True)].sum()
        found = assignment.pair_costs.sum() + (limit or 0) * (min(matrix.shape) - assignment.size)
        assert abs(found - best) <= certificate.tolerance + 1e-12 * abs(matrix).max() * len(matrix)


def test_cosine_distances_of_one_rounding():
    """Near points far from the origin: their costs are as small as the roundings of the costs."""
    rng = np.random.default_rng(10)
    for maximize in (False, True):
        x, y = rng.random((2, 60, 2)) + 5e6
        gmatch.lap(PointCosts(x, y, metric="cosine", maximize=maximize), certify=True)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_limits_leave_points_free(family):
    rng = np.random.default_rng(FAMILIES.index(family))
    for d in range(1, 9):
        n, m = (int(number) for number in rng.integers(1, 90, 2))
        x, y = family(rng, n, n if d % 2 else m, d)
        metric = METRICS[d % 5]
        limit = float(np.quantile(matrix_of(PointCosts(x, y, metric=metric)), rng.choice([0.01, 0.1, 0.5])))
        assignment = check(PointCosts(x, y, metric=metric, cost_limit=limit))
        assert (assignment.pair_costs <= limit).all()


def test_a_limit_below_all_costs_leaves_all_free():
    costs = PointCosts(np.zeros((20, 2)), np.ones((30, 2)), cost_limit=0.5)
    assignment = gmatch.lap(costs)
    assert assignment.size == 0 and assignment.status == "limited"
    gmatch.verify(costs, assignment)


def test_whole_costs_leave_no_gap():
    rng = np.random.default_rng(1)
    for d in (1, 2, 3):
        costs = PointCosts(rng.integers(0, 9, (70, d)), rng.integers(0, 9, (70, d)))
        assignment = check(costs)
        assert costs.whole and gmatch.verify(costs, assignment).gap == 0
        assert (assignment.u == np.rint(assignment.u)).all() and (assignment.v == np.rint(assignment.v)).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_empty_clouds(shape):
    costs = PointCosts(np.zeros((shape[0], 2)), np.zeros((shape[1], 2)))
    assignment = gmatch.lap(costs, certify=True)
    assert assignment.size == 0 and assignment.row_match.shape == shape[:1] and assignment.status == "optimal"


def test_starts_from_an_assignment_and_from_duals():
    rng = np.random.default_rng(5)
    for n, m, limit in ((80, 80, None), (50, 80, None), (80, 50, None), (60, 70, 0.02)):
        x, y = rng.random((n, 2)), rng.random((m, 2))
        former = gmatch.lap(PointCosts(x, y, cost_limit=limit))
        costs = PointCosts(x + rng.normal(size=(n, 2)) * 0.01, y, cost_limit=limit)
        check(costs, initial=former)
        check(costs, initial=former.row_match)
        check(costs, duals=(former.u, former.v))
        check(costs, duals=(np.zeros(n), rng.normal(size=m)))
        check(costs, initial=np.full(n, -1))


@pytest.mark.parametrize("d", [2, 9])
def test_duals_far_from_a_limit_do_not_round_what_pairs_cost(d):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = rng.random((40, d)), rng.random((40 if d == 9 else 60, d))
        far = 10.0 ** rng.integers(2, 20) * rng.normal(size=len(y))
        check(PointCosts(x, y, cost_limit=[0.01, 0.2][seed % 2]), duals=(np.zeros(40), far))


@pytest.mark.parametrize("sign", [1, -1])
def test_points_far_above_a_limit_do_not_round_what_pairs_cost(sign):
    """If points may stay free, large costs would make large duals, which are rounded. -1: y are the smaller cloud."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(60, 16)) * np.exp(4 * rng.normal(size=(60, 1)))
        clouds = rng.permutation(y)[:50], y
        check(PointCosts(*clouds[::sign], cost_limit=2.0))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
def test_one_far_point_of_many_coordinates_takes_few_more_rows(far):
    x, y = np.random.default_rng(15).random((2, 1200, 16))
    y[0] += far
    assert check(PointCosts(x, y)).stats["rows_read"] <= 40 * 1200


def test_sums_of_distances_that_float32_does_not_hold():
    rng = np.random.default_rng(11)
    for scale in (1e140, 1e-160):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(PointCosts(*rng.normal(size=(2, 50, 10)) * scale, metric="cityblock"))


def test_pairs_cost_what_the_documentation_says():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 40, 3)).astype(np.float32)
    for metric in METRICS:
        expected = -(x.astype(float) @ y.T.astype(float)) if metric == "dot" else cdist(x, y, metric)
        assert np.allclose(matrix_of(PointCosts(x, y, metric=metric)), expected, rtol=1e-12, atol=1e-14)
    assert np.allclose(matrix_of(PointCosts(x, y, metric="minkowski", p=3)), cdist(x, y, "minkowski", p=3))
    assert PointCosts(x, y, metric="minkowski", p=2).metric == "euclidean"
    own = proof._cost("sqeuclidean", x[:, None].astype(float), y.astype(float))
    assert np.array_equal(own, matrix_of(PointCosts(x, y)))


def test_what_no_tree_takes_is_solved_without_the_matrix():
    rng = np.random.default_rng(4)
    for costs in (
        PointCosts(*rng.normal(size=(2, 30, 20))),
        PointCosts(*rng.normal(size=(2, 30, 2)), metric="minkowski", p=30),  # 0.1 ** 30 * 1e-15 is nearly nothing
        PointCosts(rng.normal(size=(30, 12)), rng.normal(size=(40, 12)), metric="cosine", cost_limit=0.3),
    ):
        assert not costs.suit_trees()
        assert check(costs).stats["team"] == ("host" if costs.p is None else "windows")
        check(costs, method="jv")
    with pytest.raises(InvalidInput, match="matrix would take 20000000000 bytes"):
        gmatch.lap(PointCosts(np.zeros((50_000, 9)), np.zeros((50_000, 9))), method="jv")


@pytest.mark.parametrize("p", [1.2, 1.5, 3, 4.5, 18])
@pytest.mark.parametrize("family", FAMILIES)
def test_minkowski_distances_suit_trees(family, p):
    rng = np.random.default_rng(16)
    for n, m, d, quantile in ((60, 60, 3, None), (40, 60, 2, None), (50, 30, 5, 0.05), (45, 45, 1, 0.3)):
        x, y = family(rng, n, m, d)
        costs = PointCosts(x, y, metric="minkowski", p=p)
        if quantile is not None:
            limit = float(np.quantile(matrix_of(costs), quantile, method="nearest"))  # some pairs cost just that
            costs = PointCosts(x, y, metric="minkowski", p=p, cost_limit=limit)
        assert costs.suit_trees() and check(costs).stats["team"] == "host"


def test_an_offset_adds_no_passes_to_minkowski_distances():
    """Between clouds far apart most pairs nearly tie: passes over all pairs did not end."""
    x, y = np.random.default_rng(17).random((2, 3000, 2))
    costs = PointCosts(x, y + 1000, metric="minkowski", p=3)
    assignment = gmatch.lap(costs, certify=True)
    assert assignment.stats["rounds"] <= 8 and "passes" not in assignment.stats


def test_a_far_cluster_adds_no_passes_to_distances_that_are_maximized():
    """All points want the same points of the far cluster: passes over all pairs took 16 to 21 rounds."""
    x, y = np.random.default_rng(84).random((2, 1800, 3))
    for metric, p in (("euclidean", None), ("minkowski", 3)):
        costs = PointCosts(x[:1200], y * 0.1 + 5, metric=metric, p=p, maximize=True)
        assignment = gmatch.lap(costs, certify=True)
        assert assignment.stats["rounds"] <= 8 and "passes" not in assignment.stats


def test_small_powers_leave_no_tangent():
    """Sums of powers that are 0, or have few digits, beside others."""
    rng = np.random.default_rng(18)
    for p in (3, 18):
        x = rng.random((60, 2))
        y = x + 10.0 ** rng.uniform(-16, -1, (60, 1)) * rng.normal(size=(60, 2))
        check(PointCosts(x, y, metric="minkowski", p=p))
        gmatch.lap(PointCosts(x, y, metric="minkowski", p=p, maximize=True), certify=True)
    assert not PointCosts(x, y, metric="minkowski", p=40).suit_trees()


@pytest.mark.parametrize(("metric", "p"), METRICS_AND_P)
@pytest.mark.parametrize("maximize", [False, True])
def test_a_proof_finds_all_pairs_that_cost_less_than_their_duals(metric, p, maximize, monkeypatch):
    """Duals of some points are too large. All levels of blocks are asked, of clouds of different heights."""
    monkeypatch.setattr(proof, "BLOCK", 4)
    rng = np.random.default_rng(10)
    found = 0
    for n, m in ((150, 150), (40, 300), (33, 129)):
        for d in (1, 3):
            x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
            costs = PointCosts(x, y, metric=metric, p=p, maximize=maximize)
            assignment = gmatch.lap(costs)
            matrix = -matrix_of(costs) if maximize else matrix_of(costs)
            u, v = assignment.u.copy(), assignment.v.copy()
            if maximize:
                u, v = -u, -v
            for part in (1, 0.1, 0.01):
                raised = u.copy()
                raised[rng.integers(0, n, 3)] += part * rng.random(3) * abs(matrix).max()
                v[rng.integers(0, m, 3)] += part * rng.random(3) * abs(matrix).max()
                least = proof._least(costs, raised, v, assignment.row_match)
                exact = (matrix - v).min(axis=1)
                below = exact < raised - 1e-9 * abs(matrix).max()
                assert np.array_equal(least[below], exact[below]) and (least >= np.minimum(raised, exact)).all()
                found += below.sum()
    assert found


@pytest.mark.parametrize(("metric", "p"), [each for each in METRICS_AND_P if each[0] not in ("dot", "cosine")])
def test_a_tangent_loses_no_more_than_it_says(metric, p):
    """At the corners of a box, and inside. A box that has 0 in it loses something."""
    rng = np.random.default_rng(19)
    for d in (1, 3):
        costs, zero = PointCosts(np.zeros((1, d)), np.zeros((1, d)), metric=metric, p=p), np.zeros(d)
        for scale in (1e-3, 0.3, 3.0):
            away, half = rng.random(d), scale * rng.random(d)
            ends = away + half * np.concatenate([rng.uniform(-1, 1, (50, d)), rng.choice([-1.0, 1.0], (50, d))])
            slope = proof._gradient(costs, zero, away)
            of_ends = proof._cost(metric, ends, zero, p) - (ends - away) @ slope
            loses = (of_ends - proof._cost(metric, away, zero, p)).max()
            assert proof._lost_by_tangent(metric, p, away, half) >= loses - 1e-14
            assert loses > 0 or scale < 1


def test_large_clouds_are_proven(monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(6)
    for metric in ("sqeuclidean", "euclidean"):
        x, y = rng.random((5000, 2)), rng.random((5000, 2)) ** 2  # a search makes two blocks of them
        costs = PointCosts(x, y, metric=metric)
        assignment = gmatch.lap(costs)
        assert 5000**2 > proof.ALL_PAIRS and gmatch.verify(costs, assignment).gap >= 0
        gmatch.verify(costs.as_dense(), assignment)


# Auctions make blocks of 8,192 columns, searches of 4,096. Where points stay free, there are columns of both clouds.
@pytest.mark.parametrize(("points", "more"), [(17_000, 0), (9_000, 1_000)])
def test_threads_and_runs_agree(points, more):
    rng = np.random.default_rng(7)
    costs = PointCosts(rng.random((points, 2)), rng.random((points + more, 2)))
    one, again, three = (gmatch.lap(costs, threads=threads) for threads in (1, 1, 3))
    assert np.array_equal(one.row_match, again.row_match) and np.array_equal(one.row_match, three.row_match)
    assert np.array_equal(one.v, three.v)


@pytest.mark.parametrize("limit", [None, 0.05])
@pytest.mark.parametrize("columns", [60, 75])
def test_forged_results_are_refused(limit, columns):
    rng = np.random.default_rng(8)
    x, y = rng.random((60, 2)), rng.random((columns, 2))
    costs = PointCosts(x, y, cost_limit=limit)
    good = gmatch.lap(costs)
    gmatch.verify(costs, good)

    def refused(**changes):
        with pytest.raises(CertificateError):
            gmatch.verify(costs, dataclasses.replace(good, **changes))

    a, b = good.row_ind[:2]
    swapped, back = good.row_match.copy(), good.col_match.copy()
    swapped[[a, b]] = swapped[[b, a]]
    back[swapped[[a, b]]] = a, b
    refused(row_match=swapped, col_match=back, pair_costs=costs.of_pairs(good.row_ind, swapped[good.row_ind]))
    refused(row_match=swapped, col_match=back)
    refused(row_match=swapped)
    for vertex in range(0, 60, 7):
        raised = good.u.copy()
        raised[vertex] += 1e-6
        refused(u=raised)
        lowered = good.u.copy()
        lowered[vertex] -= 1e-6
        refused(u=lowered)
        raised = good.v.copy()
        raised[vertex] += 1e-6
        refused(v=raised)
    refused(u=good.u * np.nan)
    refused(u=good.u + 1, v=good.v)
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
    other = PointCosts(x + 0.01 * rng.normal(size=x.shape), y, cost_limit=limit)
    with pytest.raises(CertificateError):
        gmatch.verify(other, good)


def near_and_one_far(rng, d):
    """Pairs of small numbers, and one of a large one."""
    x, y = rng.random((2, 80, d)) * 1e-2
    y[0] += 1e6
    return dict(x=x, y=y)


def near_and_some_far(rng, d):
    x, y = rng.random((70, d)), rng.random((90, d))
    x[:5] += 1e5
    return dict(x=x, y=y)


def large_limit(rng, d):
    """A gate that is far from the cost of each pair. The far points stay free."""
    case = near_and_one_far(rng, d)
    return case | dict(cost_limit=1e4)


def far_from_the_origin(rng, d):
    return dict(x=rng.random((80, d)) * 1e-3 + 1e6, y=rng.random((80, d)) * 1e-3 + 1e6)


def two_far_heaps_to_maximize(rng, d):
    """All pairs of most points at the same place, which is far from the rest."""
    x, y = rng.random((80, d)), rng.random((80, d))
    x[:] += 1e5
    y[:70] += 1e5
    return dict(x=x, y=y, maximize=True)


@pytest.mark.parametrize("d", [2, 6])
@pytest.mark.parametrize(
    "case", [near_and_one_far, near_and_some_far, large_limit, far_from_the_origin, two_far_heaps_to_maximize]
)
def test_small_mistakes_beside_large_numbers_are_refused(case, d):
    """Two small pairs are exchanged. This costs far less than a rounding of the large numbers."""
    rng = np.random.default_rng(d)
    costs = PointCosts(**case(rng, d))
    good = gmatch.lap(costs)
    gmatch.verify(costs, good)
    small = good.row_ind[abs(good.pair_costs) <= 10 * np.median(abs(good.pair_costs))]
    assert len(small) > 50
    for a, b in rng.choice(small, (20, 2)):
        row_match, col_match = good.row_match.copy(), good.col_match.copy()
        row_match[[a, b]] = row_match[[b, a]]
        col_match[row_match[[a, b]]] = a, b
        pair_costs = costs.of_pairs(good.row_ind, row_match[good.row_ind])
        forged = dataclasses.replace(good, row_match=row_match, col_match=col_match, pair_costs=pair_costs)
        lost = sum(abs(pair_costs - good.pair_costs)) if a != b else 0
        if lost > 1e-9 * abs(pair_costs).min():
            with pytest.raises(CertificateError, match="of its pair"):
                gmatch.verify(costs, forged)


def test_free_points_are_proven_one_by_one(monkeypatch):
    monkeypatch.setattr(backend, "SMALLEST", 256)  # coarse levels leave larger duals
    rng = np.random.default_rng(12)
    x, y = rng.random((2, 80, 2))
    x[50:] += 1e6 * (1 + np.arange(30))[:, None]
    y[50:] -= 1e6 * (1 + np.arange(30))[:, None]
    costs = PointCosts(x, y, cost_limit=1e8)
    good = gmatch.lap(costs)
    assert (good.row_match[50:] == -1).all() and gmatch.verify(costs, good).tolerance < 1e-11
    for side in "uv":
        lowered = getattr(good, side).copy()
        lowered[60] -= 1e-5  # less than the roundings of 30 numbers of the size of the limit, added up
        with pytest.raises(CertificateError, match="stays free"):
            gmatch.verify(costs, dataclasses.replace(good, **{side: lowered}))
    # All duals of one side may go to the other.
    gmatch.verify(costs, dataclasses.replace(good, u=good.u - 2.0**20, v=good.v + 2.0**20))


def test_costs_below_the_least_normal_number():
    """They are rounded as the least normal number is. A dual may be too large by that."""
    rng = np.random.default_rng(14)
    costs = PointCosts(rng.normal(size=(30, 4)), rng.integers(-50, 50, (30, 4)) * 5e-324, metric="dot")
    good = gmatch.lap(costs, certify=True)
    gmatch.verify(costs, dataclasses.replace(good, u=good.u + 5e-324))


@pytest.mark.parametrize("metric", ["dot", "cityblock", "chebyshev"])
def test_points_over_many_decades_are_proven_pair_by_pair(metric):
    """Searches pass the largest numbers, whose roundings are more than most pairs cost."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        x, y = (rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-9, 9, (n, 1)) for n in (40, 33))
        costs = PointCosts(x, y, metric=metric)
        gmatch.verify(costs, gmatch.lap(costs))


def test_points_that_cost_just_the_limit():
    """Their duals are the limit and 0, whether they stay free or not, and whatever far points cost."""
    rng = np.random.default_rng(13)
    for limit in (0.9, 0.5):
        x = np.concatenate([rng.random((2, 2)) + 1e5, [[limit**0.5, 0.0]]])
        costs = PointCosts(x, np.zeros((3, 2)), maximize=True, cost_limit=float(x[2] @ x[2]))
        gmatch.verify(costs, gmatch.lap(costs))


def test_strict_proofs():
    costs = PointCosts(*np.random.default_rng(9).random((2, 40, 2)))
    assert gmatch.verify(costs, gmatch.lap(costs), strict=True).gap == 0


@pytest.mark.parametrize("shape", [(9, 9), (5, 9), (9, 5)])
@pytest.mark.parametrize(("metric", "maximize"), [("dot", False), ("cityblock", True)])
def test_strict_proofs_where_no_pair_is_above_the_limit(shape, metric, maximize):
    """Points whose pairs cost exactly the limit may stay free, though no pair of the matrix costs more."""
    rng = np.random.default_rng(14)
    sizes = set()
    for _ in range(20):
        x, y = (np.repeat(rng.random((1, 2)), size, axis=0) for size in shape)
        limit = float(PointCosts(x, y, metric=metric).of_pairs(0, 0))
        costs = PointCosts(x, y, metric=metric, maximize=maximize, cost_limit=limit)
        assignment = gmatch.lap(costs)
        sizes.add(assignment.size)
        assert gmatch.verify(costs, assignment, strict=True).gap == 0
    assert min(sizes) < min(shape), "some points stay free"


NOT_FINITE = np.array([[0.0, 1.0], [np.nan, 2.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(x=NOT_FINITE, y=NOT_FINITE), r"finite coordinates; x\[1, 0\] is nan"),
        (dict(x=np.ones((2, 2)), y=np.full((2, 2), np.inf)), r"finite coordinates; y\[0, 0\] is inf"),
        (dict(x=np.ones((2, 2)), y=np.ones((2, 3))), "same coordinates"),
        (dict(x=np.ones(3), y=np.ones(3)), r"shape \(points, coordinates\).*reshape"),
        (dict(x=np.ones((3, 0)), y=np.ones((3, 0))), r"shape \(points, coordinates\)"),
        (dict(x=np.ones((3, 2), complex), y=np.ones((3, 2))), "real numbers"),
        (dict(x=np.array([["a", "b"]]), y=np.ones((1, 2))), "real numbers"),
        (dict(x=np.full((1, 1), 2**60), y=np.ones((1, 1), int)), r"at most 2\*\*53"),
        (dict(x=np.full((2, 2), 1e200), y=np.zeros((2, 2))), "could overflow float64"),
        (dict(x=np.ones((2, 2)), y=np.ones((2, 2)), metric="hamming"), "metric must be one of"),
        (dict(x=np.ones((2, 2)), y=np.ones((2, 2)), metric="minkowski"), "needs a number p"),
        (dict(x=np.ones((2, 2)), y=np.ones((2, 2)), metric="minkowski", p=0.5), "at least 1"),
        (dict(x=np.ones((2, 2)), y=np.ones((2, 2)), p=2), "p is for metric 'minkowski'"),
        (dict(x=np.ones((2, 2)), y=np.zeros((2, 2)), metric="cosine"), r"y\[0\] has 0"),
        (dict(x=np.ones((2, 2)), y=np.ones((2, 2)), cost_limit=np.nan), "cost_limit must be finite"),
        (dict(x=np.ma.masked_array([[1.0, 2.0]], [[True, False]]), y=np.ones((1, 2))), "masked"),
    ],
)  # fmt: skip
def test_what_is_refused_of_points(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        PointCosts(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(method="jv"), "one method, 'auto'"),
        (dict(deterministic=True), "as_dense"),
        (dict(maximize=True), "its own maximize"),
        (dict(cost_limit=3), "its own maximize"),
        (dict(sizes=[[1, 1]]), "no sizes"),
        (dict(initial="reduce"), "start from 'auto'"),
        (dict(initial=[0, 0, 1]), "must be a matching"),
        (dict(initial=[0, 7, 1]), "columns from 0 to 2"),
        (dict(initial=[0]), r"shape \(3,\)"),
        (dict(duals=(np.zeros(3), np.zeros(4))), r"v of shape \(3,\)"),
        (dict(duals=(np.zeros(3), np.full(3, np.inf))), "finite"),
        (dict(duals=3), "pair of arrays"),
        (dict(threads=0), "threads must be"),
    ],
)  # fmt: skip
def test_what_lap_refuses_beside_points(options, message):
    with pytest.raises(InvalidInput, match=message):
        gmatch.lap(PointCosts(np.ones((3, 2)), np.ones((3, 2))), **options)


def test_points_are_frozen_and_say_what_they_are():
    costs = PointCosts(np.ones((3, 2)), np.ones((4, 2)), metric="cityblock", cost_limit=2)
    assert repr(costs) == "<PointCosts of 3 and 4 points in 2-D, cityblock, least, limit 2.0>"
    with pytest.raises(AttributeError, match="frozen"):
        costs.metric = "dot"
    with pytest.raises(AttributeError, match="frozen"):
        del costs.x


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", ">f4", ">f8"])
@pytest.mark.parametrize("metric", ["sqeuclidean", "dot", "cosine"])
def test_points_of_all_types_are_float64_when_they_are_read(dtype, metric):
    rng = np.random.default_rng(3)
    x, y = (rng.integers(0 if dtype in "?u8" else -128, 127, (60, 9)).astype(dtype) for _ in range(2))
    x[0], y[:, 1] = x.min(), 1
    x[:, 0] = y[:, 0] = 1
    wide = PointCosts(x.astype(np.float64), y.astype(np.float64), metric=metric)
    costs = PointCosts(x, np.asfortranarray(y), metric=metric)
    assert costs.x.dtype == costs.y.dtype == np.float64
    assert (costs.x == wide.x).all() and (costs.y == wide.y).all()
    assert (costs.lowest, costs.highest, costs.whole) == (wide.lowest, wide.highest, wide.whole)
    assert gmatch.verify(costs, gmatch.lap(costs)).cost == gmatch.lap(wide).cost


def test_points_are_not_copied_before_they_are_read():
    x = np.ones((30, 20), np.float32)
    costs = PointCosts(x, x[::-1])
    assert np.shares_memory(costs.given[0], x) and costs.given[1].dtype == np.float32 and "x" not in vars(costs)
    assert np.shares_memory(costs.turned().given[1], x)
    wide = np.ones((30, 20))
    assert np.shares_memory(PointCosts(wide, wide).x, wide)


def test_two_clouds_are_no_batch():
    x, y = np.random.default_rng(0).random((2, 40, 2))
    with pytest.warns(UserWarning, match="PointCosts"):
        batch = gmatch.lap((x, y))
    assert len(batch) == 2
    with pytest.warns(UserWarning, match="PointCosts"):
        gmatch.lap(list(np.random.default_rng(0).random((2, 200, 16))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gmatch.lap(gmatch.CostBatch([x, y]))
        gmatch.lap((x[:8], y[:8]))
        gmatch.lap(np.random.default_rng(0).random((2, 40, 16)))
        gmatch.lap([x, y, y])


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_pricing_adds_are_bid_for_before_they_are_searched(seed):
    rng = np.random.default_rng(seed)
    clouds = []
    for _ in range(2):
        centres, widths = rng.random((10, 3)), rng.uniform(0.02, 0.2, (10, 1))
        of = rng.integers(0, 10, 20_000)
        clouds.append(centres[of] + widths[of] * rng.normal(size=(20_000, 3)))
    # A search alone scans a row 33 to 55 times: many rows are far from free columns after the first prices.
    assert gmatch.lap(PointCosts(*clouds), threads=1).stats["rows_scanned"] < 27 * 20_000


@pytest.mark.parametrize("options", [dict(deterministic=True), dict(method="jv")])
def test_duals_in_parts_are_proven(options):
    """A search in the matrix holds what far points cost in parts of its own. Such an answer was not proven."""
    x, y = np.random.default_rng(20).random((2, 8, 9))
    x[2] *= 1e18
    costs = PointCosts(x, y, metric="euclidean")
    assignment = gmatch.lap(costs, **options)
    assert assignment.exact is not None
    gmatch.verify(costs, assignment)
    row_match = np.roll(assignment.row_match, 1)
    forged = dataclasses.replace(
        assignment,
        row_match=row_match,
        col_match=row_match.argsort(),
        pair_costs=costs.of_pairs(np.arange(8), row_match),
    )
    with pytest.raises(CertificateError):
        gmatch.verify(costs, forged)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_copies_of_few_points_take_few_rounds(metric, monkeypatch):
    """All copies of a point find the same columns. Without questions of the columns there were 9 to 13 rounds."""
    monkeypatch.undo()
    rng = np.random.default_rng(5)
    sites = rng.normal(size=(10, 3))
    costs = PointCosts(sites[np.arange(3000) % 10], rng.normal(size=(3000, 3)), metric=metric)
    for points in (costs, costs.turned()):
        assignment = gmatch.lap(points, certify=True, threads=1)
        assert assignment.stats["rounds"] <= 7


def test_pairs_to_start_from_are_not_all_pairs(monkeypatch):
    """Pairs without duals once made the core of all pairs: 9 million of 3,000 points, in 2.5 s."""
    monkeypatch.undo()
    rng = np.random.default_rng(21)
    for n, m, limit in ((900, 900, None), (700, 900, None), (900, 700, None), (800, 900, 1e-3)):
        costs = PointCosts(rng.random((n, 2)), rng.random((m, 2)), cost_limit=limit)
        best = gmatch.lap(costs)
        other = np.full(n, -1)
        other[rng.permutation(n)[: min(n, m)]] = rng.permutation(m)[: min(n, m)]
        for initial in (best.row_match, other, np.full(n, -1)):
            assignment = gmatch.lap(costs, initial=initial, certify=True)
            assert abs(assignment.cost - best.cost) <= 1e-12 and assignment.size == best.size
            assert assignment.stats["levels"] == best.stats["levels"] > 1
            assert assignment.stats["core_pairs"] <= 60 * max(n, m)


@pytest.mark.parametrize("spread", [1, 1000])
def test_few_points_that_are_far_from_many_take_few_rounds(spread, monkeypatch):
    """All x overprice pairs with the same hundreds of y. Rounds that add few of these y each scanned 5 million rows."""
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    x, y = rng.random((200, 2)) + 5, rng.random((2000, 2))
    if spread > 1:  # whole costs
        x, y = np.rint(spread * x), np.rint(spread * y)
    costs = PointCosts(x, y)
    assignment = gmatch.lap(costs, threads=1)
    assert assignment.stats["rows_scanned"] < 150 * 2200
    gmatch.verify(costs, assignment)


def test_rows_that_lack_columns_do_not_bid_for_long(monkeypatch):
    """Points far out wait for columns that the core of near pairs does not have. Waiting took 310 bids for each row."""
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    costs = PointCosts(*np.exp(1.5 * rng.normal(size=(2, 4000, 2))))
    assert gmatch.lap(costs, threads=1, certify=True).stats["bids"] < 200 * 4000
