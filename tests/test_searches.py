"""What each method does on one graph with one thread. A search that became pointless would still give right answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import on
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch.datasets import costs as families

# Levels and augmentations of the first phases, entries inspected, phases; from the first fit.
SEARCHES = {
    "apfb-gpubfs": ([8, 12, 16, 25], [177, 82, 31, 17], 27910, 7),
    "apfb-gpubfs-wr": ([7, 10, 16, 17], [200, 74, 23, 8], 20097, 6),
    "apsb-gpubfs": ([2, 1, 2, 2], [150, 11, 21, 1], 62377, 25),
    "apsb-gpubfs-wr": ([2, 2, 3, 4], [155, 13, 57, 21], 58135, 20),
    "claims-apfb-gpubfs": ([8, 13, 15, 18], [184, 78, 25, 11], 33840, 8),
    "claims-apfb-gpubfs-wr": ([6, 11, 18, 22], [214, 73, 16, 4], 24169, 7),
    "claims-apsb-gpubfs": ([2, 2, 2, 3], [153, 19, 2, 55], 61191, 21),
    "claims-apsb-gpubfs-wr": ([2, 2, 3, 3], [163, 12, 56, 1], 68341, 24),
    "ordered-apfb": ([13, 19, 25, 27], [185, 77, 26, 13], 24351, 7),
    "ordered-apsb": ([4, 4, 4, 6], [150, 21, 1, 53], 73339, 26),
    "pothen-fan": ([14, 38, 92, 209], [258, 32, 9, 4], 31344, 11),
    "mixed": ([14, 38, 92, 209], [258, 32, 9, 3], 23772, 7),
}


@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
def test_searches(method: gmatch.APFB) -> None:
    graph = sp.random_array((2000, 2000), density=3 / 2000, rng=8, format="csr")
    stats = gmatch.max_matching(graph, method=method, initial="cheap", threads=1, certify=True).stats
    levels, augmentations, inspected, phases = SEARCHES[method.name.removesuffix("-ct").removesuffix("-mt")]
    assert stats["levels_per_phase"][:4] == levels
    assert stats["augmentations_per_phase"][:4] == augmentations
    assert (stats["edges_inspected"], stats["phases"]) == (inspected, phases)


def test_karp_sipser_leaves_little_to_the_search() -> None:
    graph = gmatch.datasets.erdos_renyi(20000, degree=4)
    for threads, left in ((1, 10), (4, 200)):
        matching = gmatch.max_matching(graph, initial="karp-sipser", threads=threads)
        assert matching.size - matching.stats["start_size"] <= left
    assert gmatch.max_matching(graph, initial="cheap").stats["start_size"] < matching.size - 1000


def test_assignment_searches() -> None:
    cost = np.random.default_rng(0).integers(0, 300_000, (300, 300))
    many, nearest = (
        gmatch.lap(cost, method=f"tree-{paths}", initial="reduce", certify=True).stats for paths in ("many", "nearest")
    )
    assert many["phases"] * 3 < nearest["phases"]
    assert many["start_size"] == nearest["start_size"] > 200
    assert gmatch.lap(cost, method="tree", initial="none").stats["start_size"] == 0
    best = gmatch.lap(cost)
    again = gmatch.lap(cost, method="tree", initial=best)
    assert again.stats["start_size"] == 300 and again.stats["augmentations_per_phase"] == [0]


@pytest.mark.parametrize(("shape", "expected"), [((60, 60), 47), ((60, 90), 14)])
def test_forms_of_munkres_make_the_same_dual_steps(shape: tuple[int, int], expected: int, device: str) -> None:
    """The rows that free ones reach are the same for all largest matchings along zeros, and so are the duals."""
    cost = on(np.random.default_rng(0).integers(0, 1000, shape), device)
    forms = [method for method in gmatch.ASSIGNMENT_METHODS if isinstance(method, gmatch.Munkres)]
    steps = {
        (form.name, threads): gmatch.lap(cost, method=form, threads=threads).stats["dual_steps"]
        for form in forms
        for threads in ((1, 4) if device == "cpu" else (None,))
    }
    assert set(steps.values()) == {expected}, steps


def test_who_begins_in_turns() -> None:
    """Depth first begins, alone or as a trial, if rows are long, or if the graph is small and many rows are free."""
    datasets = gmatch.datasets
    permute, delaunay, erdos_renyi, rgg = datasets.permute, datasets.delaunay, datasets.erdos_renyi, datasets.rgg
    alone = [permute(delaunay(1 << 15), seed=1), permute(rgg(1 << 16), seed=1), erdos_renyi(1 << 13, 40)]
    alone.append(datasets.load("Barabasi/NotreDame_www"))
    trial = [erdos_renyi(4096), erdos_renyi(1 << 16)]
    never = [delaunay(4096), rgg(1 << 14), permute(delaunay(1 << 17), seed=1), erdos_renyi(300_000)]
    for graphs, expected in ((alone, "alone"), (trial, "trial"), (never, "never")):
        for graph in graphs:
            for threads in (1, 3):
                stats = gmatch.max_matching(graph, threads=threads, certify=True).stats
                depth_first, phases = stats["depth_first"], stats["phases"]
                assert (depth_first == 0) == (expected == "never")
                if threads == 1:  # races decide how many phases several threads take
                    assert (depth_first == phases) == (expected == "alone")


@pytest.mark.parametrize("costs", [families.uniform(1000, 1), families.uniform_floats(1000)], ids=["int", "float"])
def test_few_rows_are_left_to_the_search(costs: np.ndarray, device: str) -> None:
    """The auction pairs nearly all rows of a core, and its prices are refined until these pairs are tight."""
    options = {"method": gmatch.Core(), "device": device, "threads": 2 if device == "cpu" else None}
    # Races decide how many rows are left: the least of five runs.
    left = [sum(gmatch.lap(costs, **options, certify=True).stats["augmentations_per_phase"]) for _ in range(5)]
    assert min(left) < 50


def scans_of(cost: np.ndarray, **options: float) -> float:
    """Passes over the matrix of one small call."""
    result = gmatch.lap(cost, **options)
    gmatch.verify(cost, result, strict=True)
    return result.stats["rows_scanned"] / len(cost)


@pytest.mark.parametrize("scale", [1, 8])
def test_a_row_that_has_only_the_greatest_cost_leaves_at_once(scale: int) -> None:
    """This row takes no column that another row wants, so no search is needed."""
    rng = np.random.default_rng(1)
    cost = np.ones((60, 60))
    cost[np.arange(0, 60, 2), rng.permutation(60)[:30]] = rng.random(30)
    assert scans_of(cost if scale == 1 else np.floor(scale * cost)) < 1.05


def test_a_path_ends_at_a_limit_that_is_as_near_as_a_column() -> None:
    decimals = [np.random.default_rng(seed).random((60, 60)).round(1) for seed in range(10)]
    assert np.mean([scans_of(cost, cost_limit=0.0) for cost in decimals]) < 1.5
    assert scans_of(1.0 - (np.arange(40)[:, None] % 13 == np.arange(40)), cost_limit=0.5) < 1.5


def test_bids_of_few_rows_end_if_rows_only_displace_each_other() -> None:
    """If columns have prices, most rows want the same few columns first."""
    rng = np.random.default_rng(1)
    scans = [scans_of(rng.random((50, 50)) + 10 * rng.random(50)) for _ in range(40)]
    assert np.mean(scans) < 5.2


def scarce_columns(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Integers for which most rows tie in columns that are taken."""
    cost = rng.integers(0, 1000, (n, n))
    if kind == "half of the columns":
        cost[:, rng.permutation(n)[: n // 2]] = 0
    elif kind == "a frame":
        kept = rng.permutation(n)[: n * 7 // 10]
        cost = np.where(np.isin(np.arange(n), kept)[:, None] & np.isin(np.arange(n), kept), cost - 500, 0)
    else:
        half = n // 2
        apart = ~np.eye(half, dtype=bool)
        points = rng.integers(0, 1000, (2, half, 2))
        cost[:half, :half] = abs(points[0][:, None] - points[1]).sum(2)
        cost[:half, half:], cost[half:, :half] = (np.where(apart, 10**6, 80) for _ in range(2))
        cost[half:, half:] = 0
    return cost


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kind", ["half of the columns", "a frame", "ways out"])
def test_searches_go_on_from_free_columns(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(16)
    for n in (64, 300, 640):
        cost = scarce_columns(rng, n, kind).astype(dtype)
        for given, maximize in ((cost, False), (-cost, True), (cost.T.copy(), False)):
            found = gmatch.lap(given + given.dtype.type(0.25), maximize=maximize, method="jv", threads=1, certify=True)
            gmatch.verify(given + given.dtype.type(0.25), found, strict=True)
            assert n < 600 or found.stats["rows_scanned"] < 14 * n
            floats = given.astype(float)
            assert given[found.row_ind, found.col_ind].sum() == floats[linear_sum_assignment(floats, maximize)].sum()
