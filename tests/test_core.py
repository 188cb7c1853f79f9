"""The core on one processor of the host: costs where few entries matter, where many do, and where all do."""

import re
from dataclasses import replace

import numpy as np
import pytest
from assignment_oracles import DTYPES, on
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch import _native
from gmatch.assignment.lap import AssignmentStart
from gmatch.backends import cpu
from gmatch.datasets import costs as families
from gmatch.layouts import Layout
from gmatch.methods import SerialCore
from gmatch.programs import launch

N = 300
RNG = np.random.default_rng(0)


def same_few_columns(n: int = N) -> np.ndarray:
    """All rows find the same 60 columns best: a core of the best entries has no assignment."""
    return np.random.default_rng(1).random((n, n)) + 100 * (np.arange(n) >= 60)


def clustered_points(n: int = N) -> np.ndarray:
    """Points at a few places, matched with points anywhere."""
    rng = np.random.default_rng(3)
    near = rng.random((5, 2))[rng.integers(0, 5, n)] + 0.01 * rng.normal(size=(n, 2))
    return np.linalg.norm(near[:, None] - rng.random((n, 2)), axis=2)


def noisy_copies(n: int = N) -> np.ndarray:
    """Nearly every row and its column are each other's best."""
    rng = np.random.default_rng(4)
    features = rng.normal(size=(n, 16))
    return -features @ (features + 0.3 * rng.normal(size=(n, 16)))[rng.permutation(n)].T


def machol_wien_beside_easy_rows(n: int = 1100, easy: int = 100) -> np.ndarray:
    """Some rows are matched at once. The searches of the other rows reach all of them."""
    cost = np.outer(np.arange(1, n + 1), np.arange(1, n + 1))
    cost[:easy, :easy] = np.random.default_rng(2).integers(0, 1000, (easy, easy))
    cost[:easy, easy:] = cost.max()
    cost[easy:, :easy] = cost.max()
    return cost


# The core suffices; some rows are read again; the core is given up.
FEW = {
    "uniform": families.uniform(N, 10),
    "uniform, float64": families.uniform_floats(N),
    "uniform, float32": families.uniform_floats(N, dtype=np.float32),
    "wide": RNG.random((N, 2 * N)),
    "blocks": families.blocks(N),
    "near ties": families.near_ties(N),
}
MORE = {
    "geometric": families.geometric(N),
    "squared": families.geometric(N, squared=True),
    "low rank": families.low_rank(N, 8),
    "geometric, wide": families.geometric(N)[: N - 20],
    "allowed above a diagonal": np.where(np.tri(N, N, 3, bool), RNG.random((N, N)), np.inf),
}
ALL = {
    "constant": np.full((N, N), 7),
    "constant, wide": np.full((N, 2 * N), -7.5),
    "few values": families.few_values(N),
    "the same few columns": same_few_columns(),
    "the same few columns, wide": same_few_columns()[: N // 2],
    "expensive columns": RNG.random((N, N)) + 5 * RNG.random(N),
    "clustered": clustered_points(),
    "low rank, hardly any noise": families.low_rank(N, 1),
    "rows of many scales": RNG.random((N, N)) * np.exp(3 * RNG.normal(size=(N, 1))),
    "noisy copies": noisy_copies(),
    "Machol-Wien": families.machol_wien(N),
    "Machol-Wien beside easy rows": machol_wien_beside_easy_rows(),
}


@pytest.mark.parametrize("name", FEW | MORE | ALL)
def test_it_is_exact(name: str) -> None:
    cost = (FEW | MORE | ALL)[name]
    for maximize in (False, True):
        given = -cost if maximize else cost
        assignment = gmatch.lap(given, method="core", maximize=maximize, certify=True)
        expected = given[linear_sum_assignment(given, maximize)].sum(dtype=np.float64)
        assert assignment.cost == pytest.approx(expected, rel=1e-12)
        stats = assignment.stats
        assert stats["gave_up"] == (name in ALL)
        assert name not in MORE or stats["repricings"] > 0
        if name in FEW:
            # One pass over the matrix, and few entries of each row that is scanned.
            passes = 1.8 + 2 * stats["repricings"] / len(cost)
            assert stats["edges_inspected"] < passes * cost.size + 60 * stats["rows_scanned"]


@pytest.mark.parametrize(
    "name", ["expensive columns", "low rank, hardly any noise", "rows of many scales", "noisy copies"]
)
def test_a_sample_tells_where_a_core_is_not_worth_its_price(name: str) -> None:
    for maximize in (False, True):
        cost = -ALL[name] if maximize else ALL[name]
        stats = gmatch.lap(cost, method="core", maximize=maximize, certify=True).stats
        assert stats["gave_up"] and stats["start_size"] == 0


def test_a_core_is_given_up_at_its_start_where_it_pairs_too_few_rows() -> None:
    """Distances of numbers: bids need most of the matrix, and the auction ends after 12 pricings of each row."""
    numbers = np.random.default_rng(0).random((2, 1500))
    stats = gmatch.lap(np.abs(np.subtract.outer(*numbers)), method="core", threads=1, certify=True).stats
    assert stats["gave_up"] and 0 < stats["start_size"] < 1500 * 13 // 16 and stats["repricings"] < 14 * 1500


@pytest.mark.parametrize("offset", [1e3, -1e3, 1e6, -1e6, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_costs_that_lie_far_from_zero(offset: float, dtype: type) -> None:
    """Duals of columns begin at zero in a core, however far from there the costs lie."""
    for name in ("geometric", "uniform"):
        cost = (1000 * (families.geometric(N) if name == "geometric" else families.uniform_floats(N)) + offset).astype(
            dtype
        )
        for maximize in (False, True):
            given = -cost if maximize else cost
            assignment = gmatch.lap(given, method="core", threads=1, maximize=maximize, certify=True)
            rows, columns = linear_sum_assignment(given, maximize)
            assert assignment.cost == pytest.approx(given[rows, columns].sum(dtype=float), rel=1e-12)
            assert not assignment.stats["gave_up"] or name == "geometric"


def test_a_sample_is_not_misled_by_ties() -> None:
    """All best entries are zero, so no row and column prefer each other."""
    for seed in range(3):
        cost = families.uniform(1600, 0.8, seed=seed)
        assert not gmatch.lap(cost, method="core", threads=1, certify=True).stats["gave_up"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sides_and_ties(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for case in range(60):
        shape = rng.integers(1, 90, 2)
        cost = rng.integers(0, rng.choice([2, 4, 30, 100]), shape).astype(dtype)
        if cost.dtype.kind == "f" and case % 2:
            cost[rng.random(shape) < 0.5] = np.inf
            k = min(shape)
            cost[np.arange(k), np.arange(k)] = 50
        if case % 3 == 0:
            cost = cost[::-1, ::-1]
        assignment = gmatch.lap(cost, method="core", certify=True)
        exact = cost.astype(np.float64)
        assert assignment.cost == exact[linear_sum_assignment(exact)].sum()


def test_limits_and_strides() -> None:
    cost, even = same_few_columns(), families.uniform_floats(2 * N)
    for given in (cost[:, ::3], cost[::2], np.asfortranarray(cost), cost.T[::2], even[::2, ::2]):
        for limit in (0.5, 100.2):
            found = [gmatch.lap(given, method=method, cost_limit=limit, certify=True) for method in ("core", "jv")]
            assert found[0].size == found[1].size and found[0].cost == pytest.approx(found[1].cost, rel=1e-12)


def test_costs_without_an_assignment() -> None:
    cost = np.where(np.arange(N) < 200, np.random.default_rng(0).random((N, N)), np.inf)
    with pytest.raises(gmatch.Infeasible, match="200 of 300 pairs can be made"):
        gmatch.lap(cost, method="core")
    assignment = gmatch.lap(cost, method="core", infeasible="partial", certify=True)
    assert assignment.size == 200
    assert assignment.cost == pytest.approx(gmatch.lap(cost[:, :200], method="jv").cost, rel=1e-12)


@pytest.mark.parametrize("name", ["uniform", "geometric", "the same few columns", "Machol-Wien beside easy rows"])
def test_duals_to_start_from(name: str) -> None:
    cost = (FEW | MORE | ALL)[name]
    first = gmatch.lap(cost, method="core")
    changed = cost.copy()
    changed[7] += 3
    again = gmatch.lap(changed, method="core", initial=first, certify=True)
    assert again.cost == pytest.approx(gmatch.lap(changed, method="jv").cost, rel=1e-12)
    assert again.stats["start_size"] >= len(cost) - 15 or again.stats["gave_up"]
    noise = np.random.default_rng(0).integers(-1000, 1000, (2, len(cost)))
    again = gmatch.lap(cost, method="core", duals=tuple(noise), certify=True)
    assert again.cost == pytest.approx(first.cost, rel=1e-12)


def test_auto_begins_in_the_matrix_where_searches_may_be_short() -> None:
    rng = np.random.default_rng(0)
    square, wide = rng.random((1200, 1200)), rng.random((1200, 1800))
    scaled = wide * np.exp(3 * rng.standard_normal(1800))
    first = gmatch.lap(square)
    cases = [
        (square * (1 + 1e-3 * rng.random(square.shape)), {"duals": (first.u, first.v)}, True),
        (square, {"duals": (first.u, rng.random(1200))}, False),
        (wide, {}, True), (wide.T, {"maximize": True}, True), (scaled, {}, False),
        (np.random.default_rng(0).random((1200, 1230)), {}, False),  # the core may leave columns free that were taken
    ]  # fmt: skip
    for cost, options, is_short in cases:
        trace = gmatch.lap(cost, threads=1, certify=True, **options).stats["trace"]
        assert trace[0] == "search_matrix" and (trace == ["search_matrix"]) == is_short


def test_a_limit_does_not_begin_in_the_matrix() -> None:
    """The core has the least pairs of a row. If rows differ in scale, the matrix is searched, and then a core."""
    rng = np.random.default_rng(0)
    cost = rng.random((1200, 1200))
    for threads in (1, 3):
        for limit in (0.1, 0.5, 2.0):
            found = gmatch.lap(cost, cost_limit=limit, threads=threads, certify=True).stats
            assert "search_matrix" not in found["trace"] and not found["gave_up"]
    scaled = cost * np.exp(6 * rng.standard_normal((1200, 1)))
    trace = gmatch.lap(scaled, cost_limit=float(scaled.max()), threads=1, certify=True).stats["trace"]
    assert trace[:2] == ["sample", "search_matrix"]


def test_a_few_big_numbers_do_not_make_an_auction_coarse() -> None:
    """Rows and columns have offsets, as in lap's tests. The greatest entry does not tell the spread of a row."""
    rng = np.random.default_rng(1)
    cost = rng.integers(1, 101, (600, 600)) + rng.integers(0, 100, (600, 1)) + rng.integers(0, 100, 600)
    is_big = rng.random(cost.shape) < 0.004
    scans = {
        gmatch.lap(np.where(is_big, big, cost), method="jv", certify=True).stats["rows_scanned"]
        for big in (1000, 2**31 - 1)
    }
    assert len(scans) == 1


def test_a_core_that_gives_up_late_goes_on_from_its_duals() -> None:
    stats = gmatch.lap(ALL["the same few columns"], method="core").stats
    assert stats["gave_up"] and stats["start_size"] > 0 and stats["repricings"] > 0


@pytest.mark.parametrize(
    "cost, method, reason",
    [
        (np.add.outer(np.arange(1199), np.arange(5000)).astype(np.float32), "jv", "few rows"),
        (np.add.outer(np.arange(1200.0), np.arange(1200) + 0.5), "core", "few entries of a row matter"),
        (np.add.outer(np.arange(1200.0), np.arange(1200)), "jv", "few rows"),
        (np.zeros((1000, 1000)), "jv", "nearly all pairs cost the same"),
        (np.eye(1499, dtype=np.int32), "jv", "few rows"),
        (np.eye(1500, dtype=np.int32), "jv", "ties"),
        (np.eye(1500, dtype=np.int32) * 2000, "core", "few entries of a row matter"),
        (np.eye(1500, dtype=np.int64) * 2**55, "jv", "costs of a range"),
        (np.eye(2500, dtype=np.int32), "core", "few entries of a row matter"),
    ],
)
def test_what_auto_takes(cost: np.ndarray, method: str, reason: str) -> None:
    for threads in (None, 2):
        stats = gmatch.lap(cost, threads=threads).stats
        assert stats["method"] == method and stats["reason"].startswith(reason)
        assert stats["threads"] == 1 or method == "core"


SHARED = {
    "uniform": families.uniform_floats(900),
    "uniform, float32": families.uniform_floats(900, dtype=np.float32),
    "wide": RNG.random((850, 1000)),
    "low rank": families.low_rank(850),
    "few values": RNG.integers(0, 3, (900, 900)).astype(float),
}


@pytest.mark.parametrize("name", SHARED)
def test_threads_share_the_pricing(name: str) -> None:
    """Each thread prices some rows as one thread would. The answer is the same, unless too many rows tie."""
    cost = SHARED[name]
    for given, maximize in ((cost, False), (-cost, True), (np.asfortranarray(cost), False)):
        one = gmatch.lap(given, method="core", maximize=maximize, threads=1, certify=True)
        for threads in (2, 3, 8):
            other = gmatch.lap(given, method="core", maximize=maximize, threads=threads, certify=True)
            assert other.stats["method"] == "core" and other.stats["threads"] == threads
            assert other.cost == one.cost
            assert one.stats["gave_up"] or (other.row_match == one.row_match).all()
    with pytest.raises(gmatch.InvalidInput, match="threads must be an integer"):
        gmatch.lap(cost, threads=0)


# Entries that rows leave out matter here: an auction by few entries of each row leaves 1 row in 10 without a column.
READ_AGAIN = {
    "geometric": families.geometric(1200),
    "expensive columns": RNG.random((2000, 2000)) + 5 * RNG.random(2000),
    "low rank": families.low_rank(2000, 4),
    "whole": (1000 * families.geometric(1500)).astype(np.int32),
}


@pytest.mark.parametrize("threads", [4, 16])
@pytest.mark.parametrize("name", READ_AGAIN)
def test_threads_bid_at_once(name: str, threads: int) -> None:
    """Bidders read rows again, so that their duals match nearly all rows. A sample does not speak against a core."""
    cost = READ_AGAIN[name]
    for maximize in (False, True):
        given = -cost if maximize else cost
        assignment = gmatch.lap(given, maximize=maximize, threads=threads, certify=True)
        assert assignment.cost == pytest.approx(
            given[linear_sum_assignment(given, maximize)].sum(dtype=float), rel=1e-12
        )
        stats = assignment.stats
        assert stats["trace"][1:4] == ["price", "auction", "learn"] and not stats["gave_up"]
        assert stats["threads"] == threads and stats["repricings"] > len(cost)
        # Fewer rows have columns if a few rows that displace each other by little have taken all bids.
        assert stats["start_size"] > 0.98 * len(cost)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_threads_reduce_columns(dtype: str) -> None:
    """Costs of few values are searched in the matrix. Threads find minima of columns, and their first rows."""
    cost = np.random.default_rng(0).integers(0, 5, (2501, 2501)).astype(dtype)
    alone, *shared = (gmatch.lap(cost, threads=threads, certify=True) for threads in (1, 2, 3))
    for found in shared:
        assert found.stats["trace"][-1] == "search_matrix"
        assert (found.row_match == alone.row_match).all()


def test_epsilon_suits_the_costs() -> None:
    """For near ties, the few rows that lose most do not make epsilon large. For points of clusters epsilon grows."""
    near_ties = RNG.integers(1, 5, (1200, 1200)) + 1e-9 * RNG.random((1200, 1200))
    stats = gmatch.lap(near_ties, threads=1, certify=True).stats
    assert not stats["gave_up"] and stats["repricings"] < 120 and stats["rows_scanned"] < 40 * 1200
    rows, columns = RNG.normal(size=(2, 1500, 2)) + 10 * RNG.integers(0, 3, (2, 1500, 2))
    stats = gmatch.lap(np.hypot(*np.moveaxis(rows[:, None] - columns, 2, 0)), threads=2, certify=True).stats
    assert not stats["gave_up"] and stats["start_size"] > 0.98 * 1500


@pytest.mark.parametrize(("number", "has_core"), [(400, False), (30, True)])
@pytest.mark.parametrize("side", ["rows", "columns"])
def test_many_rows_or_columns_that_tie_everywhere_speak_against_a_core(side: str, number: int, has_core: bool) -> None:
    cost = RNG.random((1200, 1200))
    cost[RNG.permutation(1200)[:number]] = 1e9
    cost = cost if side == "rows" else cost.T.copy()
    assert ("price" in gmatch.lap(cost, threads=1, certify=True).stats["trace"]) == has_core


def test_one_thread_reads_rows_again() -> None:
    stats = gmatch.lap(READ_AGAIN["geometric"], threads=1, certify=True).stats
    assert stats["start_size"] > 0.98 * 1200 and not stats["gave_up"]
    assert gmatch.lap(READ_AGAIN["expensive columns"], threads=1).stats["trace"] == ["sample", "search_matrix"]


@pytest.mark.parametrize("cost", [
    10**9 + np.random.default_rng(5).integers(0, 1000, (N, N)).astype(np.int32),
    10**14 + np.random.default_rng(6).integers(0, 1000, (N, N)),
    -(10**9) + np.random.default_rng(7).integers(0, 64, (N, N)).astype(np.float32) * 64,
], ids=["int32", "int64", "float32"])  # fmt: skip
def test_costs_that_rounding_makes_alike(cost: np.ndarray) -> None:
    """Passes compare entries with bounds in shorter numbers first. No entry may be missed because of their rounding."""
    assignment = gmatch.lap(cost, method=gmatch.Core(), threads=2, certify=True)
    row_ind, col_ind = linear_sum_assignment(cost - cost.min())
    assert assignment.cost == cost[row_ind, col_ind].sum(dtype=assignment.u.dtype)


# The steps of one thread of the host's own core.
TRACES = {
    "uniform": "sample price auction search",
    "wide": "price search",
    "near ties": "sample price auction learn search",
    "geometric": "sample price auction learn search",
    "geometric, wide": "price search learn",
    "constant": "search_matrix",
    "constant, wide": "price search_matrix",
    "the same few columns": "sample price auction learn search_matrix",
    "the same few columns, wide": "price learn search learn search_matrix",
    "rows of many scales": "sample search_matrix",
    "allowed above a diagonal": "sample price auction learn search",
    "Machol-Wien": "search_matrix",
}
# The order of steps. Repricing follows a search of the core, unless the matrix is searched next.
STEPS_OF_SERIAL_CORE = re.compile(
    "(search_matrix ?)?(sample ?)?(price ?)?(auction ?)?(learn ?)?(search ?)?(learn ?)?(search_matrix ?)?"
)
# The steps of the program that runs on a GPU and on several threads. Costs with more columns than rows may begin anew.
STEPS_OF_PROGRAM = re.compile(
    "(price auction refine (search reprice )*search coarsen )?"
    "(look )?price ?((auction smooth price )?auction refine ?)?(search reprice ?)*((search )?bound search_matrix)?"
)
# Near rows want the same columns.
SMOOTHED = "geometric", "allowed above a diagonal"


def report_of_program(cost: np.ndarray, threads: int, start: AssignmentStart) -> list[int]:
    """The report of assign_by_core, which `lap` never calls with one thread."""
    dual = np.float64 if cost.dtype.kind == "f" else np.int64
    (rows, columns), finite = cost.shape, cost[np.isfinite(cost)]
    row_match, col_match = np.full(rows, -1, np.int32), np.empty(columns, np.int32)
    u, v = np.empty(rows, dual), np.zeros(columns, dual)
    levels, augmentations = np.empty((2, (rows + 1) * gmatch.Core.most_searches), np.int32)
    spread = (finite.max() - finite.min()).item() * (rows if dual is np.float64 else 1)
    report = _native.assign_by_core(
        cost,
        cost.dtype.name,
        False,
        None,
        row_match,
        col_match,
        u,
        v,
        levels,
        augmentations,
        start,
        False,
        spread,
        0,
        threads,
    )
    assert len(report) == launch.CORE_REPORT_SIZE
    found = cost[np.arange(rows), row_match].sum(dtype=np.float64)
    assert found == pytest.approx(cost[linear_sum_assignment(cost)].sum(dtype=np.float64), rel=1e-12)
    return report


def trace_of_program(cost: np.ndarray, threads: int, start: AssignmentStart) -> list[str]:
    return cpu.steps_by_name(report_of_program(cost, threads, start)[launch.REPORT_SIZE :])


def test_auctions_do_not_depend_on_the_scale_of_costs() -> None:
    """A power of two moves the epsilons of an auction with the costs. Rows seldom read the matrix again."""
    cost = np.random.default_rng(0).random((300, 300))
    counts = set()
    for scale in (2.0**-20, 1.0, 2.0**20):
        report = report_of_program(scale * cost, 1, AssignmentStart.REDUCE)
        counts.add(tuple(report[launch.REPORT.names.index(name)] for name in ("bids", "rows_read")))
    assert len(counts) == 1
    ((bids, rows_read),) = counts
    assert 0 < rows_read < 0.7 * len(cost) < 4000 < bids < 6000


@pytest.mark.parametrize("lowest", [0, -50, 50])
def test_an_auction_begins_with_prices_of_columns_that_all_rows_want(lowest: int) -> None:
    """Prices are the least costs of columns. Rows bid as for even costs, and without prices 8 times as often."""
    rng = np.random.default_rng(0)
    even, prices = rng.random((600, 600)), 5 * rng.random(600) + lowest
    counts = []
    for cost in (even, even + prices, (1e6 * (even + prices)).astype(np.int64)):
        report = report_of_program(cost, 1, AssignmentStart.REDUCE)
        counts.append(report[launch.REPORT.names.index("bids")])
    assert max(counts) < 1.5 * counts[0]


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.sqrt(((x[:, None] - y) ** 2).sum(axis=-1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_prices_are_smoothed_where_near_rows_want_the_same_columns(dtype: type) -> None:
    """The core is picked anew by smooth prices, and the search takes far fewer levels than from an auction alone."""
    levels = []
    for seed in (4, 6, 7):
        cost = (1e6 * distances(*np.random.default_rng(seed).random((2, 1000, 2)))).astype(dtype)
        report = report_of_program(cost, 1, AssignmentStart.REDUCE)
        trace = cpu.steps_by_name(report[launch.REPORT_SIZE :])
        assert " ".join(trace[:7]) == "look price auction smooth price auction refine"
        levels.append(report[launch.REPORT.names.index("levels")])
    assert sum(levels) < 1400  # from an auction alone 1,900


def test_smooth_prices_are_equal_in_other_units() -> None:
    """Floats of 32 bits hold neither costs in the second unit, nor 1 / a width of their prices."""
    cost = distances(*np.random.default_rng(6).random((2, 1000, 2)))
    one, other = (report_of_program(unit * cost, 1, AssignmentStart.REDUCE) for unit in (1, 2.0**170))
    assert "smooth" in cpu.steps_by_name(one[launch.REPORT_SIZE :])
    for name in ("bids", "levels"):
        assert one[launch.REPORT.names.index(name)] == other[launch.REPORT.names.index(name)]


def test_prices_that_lie_far_apart_are_not_smoothed() -> None:
    """A region has far more rows than columns: a round with the first epsilon cuts off 1 row in 4."""
    x, y = np.random.default_rng(0).random((2, 1000, 2))
    assert "smooth" not in trace_of_program(distances(x, y + 0.5), 1, AssignmentStart.REDUCE)


@pytest.mark.parametrize("name", TRACES)
def test_traces_of_one_thread(name: str) -> None:
    cost = (FEW | MORE | ALL)[name]
    assert " ".join(gmatch.lap(cost, method="core", threads=1).stats["trace"]) == TRACES[name]
    starts_from_diagonal = name in ("constant", "Machol-Wien")
    is_square = cost.shape[0] == cost.shape[1]
    start = ["look", "price"] if is_square else ["price"]
    start += ["auction", "smooth", "price"] if name in SMOOTHED else []
    start += [] if starts_from_diagonal else ["auction", "refine"]
    assert trace_of_program(cost, 1, AssignmentStart.REDUCE) == [*start, "search", "reprice"]


@pytest.mark.parametrize("name", FEW | MORE | ALL)
def test_traces_of_many_threads_and_of_the_gpu(name: str, device: str) -> None:
    """Races decide how often repricing finds an entry, but not the order of steps."""
    cost = (FEW | MORE | ALL)[name]
    for threads in (2, 5) if device == "cpu" else (None,):
        stats = gmatch.lap(on(cost, device), method=gmatch.Core(), threads=threads, certify=True).stats
        trace = stats["trace"]
        assert STEPS_OF_PROGRAM.fullmatch(" ".join(trace)), trace
        assert trace.count("reprice") == stats["repricings"] > 0 or trace[-1] == "search_matrix"
        assert trace.count("search_matrix") == stats["dense_searches"]
        assert trace[-1] in ("reprice", "search_matrix")
        assert stats["bids"] == 0 or "auction" in trace
        if device == "cpu":
            serial = gmatch.lap(cost, method=SerialCore(), threads=threads).stats
            assert STEPS_OF_SERIAL_CORE.fullmatch(" ".join(serial["trace"])), serial["trace"]
            assert (serial["trace"][-1] == "search_matrix") == serial["gave_up"]
            assert ("learn" in serial["trace"]) == (serial["repricings"] > 0)


@pytest.mark.parametrize("shape", [(30, 30), (30, 40), (30, 80)])
def test_the_last_search_of_the_matrix_is_not_given_up(shape: tuple[int, int], device: str) -> None:
    """Roundings of costs of many magnitudes leave rows to the matrix. Its search takes more levels than a core may."""
    signs = np.resize([-1, 1], shape[1])
    cost = 10.0 ** np.random.default_rng(0).uniform(-300, 300, shape) * signs
    threads = 2 if device == "cpu" else None
    found = gmatch.lap(on(cost, device), method=gmatch.Core(), threads=threads, certify=True)
    assert found.stats["trace"][-1] == "search_matrix"
    assert found.cost == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-12)


FACTS, LIMITS = Layout("CoreFacts"), Layout("CoreLimits")


def next_step(last: str, limits: tuple[int, int, bool] = (16, 0, False), **facts: int) -> str:
    known = {**dict.fromkeys(FACTS.names, 0), "rows": 320, "columns": 320, **facts, "last": cpu.CORE_STEPS.index(last)}
    packed = LIMITS.pack(searches=limits[0], part_misled=limits[1], widens=limits[2])
    return cpu.CORE_STEPS[_native.next_core_step(FACTS.pack(**known).tobytes(), packed.tobytes())]


def test_the_plan_of_one_device() -> None:
    assert (next_step("sample", is_fresh=1), next_step("sample")) == ("look", "price")
    assert next_step("sample", is_fresh=1, columns=321) == "price"  # no diagonal has a pair for each column
    assert next_step("look") == "price"
    assert (next_step("price", is_fresh=1), next_step("price")) == ("auction", "search")
    assert (next_step("auction"), next_step("refine")) == ("refine", "search")
    assert (next_step("auction", is_misled=1), next_step("smooth", is_smooth=1)) == ("smooth", "price")
    assert next_step("search", is_new=1, is_matched=1, searches=1) == "reprice"
    assert next_step("search", is_new=1, searches=1) == "bound"
    assert (next_step("search", is_new=1, is_given_up=1), next_step("coarsen")) == ("coarsen", "price")
    assert next_step("reprice", found=1, searches=15) == "search"
    assert next_step("reprice", found=1, searches=16) == "bound"
    assert next_step("reprice", searches=16) == "done"
    assert (next_step("bound"), next_step("search_matrix")) == ("search_matrix", "done")


def test_the_plan_of_ranks() -> None:
    ranks = (100, 32, True)
    assert next_step("sample", ranks) == "price"  # no rank has all rows that a look compares
    assert next_step("search", ranks, is_new=1, free=3) == "widen"
    assert next_step("search", ranks, free=3) == "bound"  # nothing that is offered helps
    assert next_step("search", ranks, is_matched=1) == "done"  # only roundings
    assert next_step("widen", ranks, found=0, free=300) == "done"  # there is no assignment
    for last, misled, trusted in (
        ("widen", {"free": 11}, {"free": 10}),
        ("widen", {"widenings": 2}, {"widenings": 1}),
        ("reprice", {"found": 3201}, {"found": 3200}),
    ):
        assert next_step(last, ranks, **{"found": 1, "pricings": 1, **misled}) == "price_again"
        assert next_step(last, ranks, **{"found": 1, "pricings": 2, **misled}) == "search"
        assert next_step(last, ranks, **{"found": 1, "pricings": 1, **trusted}) == "search"
    assert (next_step("price_again", ranks, searches=99), next_step("price_again", ranks, searches=100)) == (
        "search",
        "bound",
    )


def test_traces_from_what_is_given() -> None:
    cost = FEW["uniform"]
    first = gmatch.lap(cost, method=gmatch.Core(), threads=2)
    again = gmatch.lap(cost, method=gmatch.Core(), threads=2, initial=first)
    assert again.stats["trace"] == ["price", "search", "reprice"]
    assert trace_of_program(cost, 1, AssignmentStart.NONE)[:2] == ["price", "search"]


def test_a_core_that_gains_nothing_is_not_searched_again() -> None:
    """Beside a dual of 1000 the search takes a pair that is off by 1e-12 for tight. Repricing must do so, too."""
    cost = np.full((8, 8), 10.0)
    np.fill_diagonal(cost, 0)
    cost[:, 0] -= 1000
    cost[0, :2] = 1e-12 - 1000, 0
    start = replace(gmatch.lap(cost), u=np.zeros(8), v=np.append(-1000.0, np.zeros(7)))
    found = gmatch.lap(cost, method=gmatch.Core(), threads=2, initial=start)
    assert found.stats["trace"] == ["price", "search", "reprice"]
    assert gmatch.verify(cost, found, strict=True).cost == 1e-12 - 1000


def test_a_trace_of_two_problems_has_both() -> None:
    """The cheapest of the largest matchings is found in two parts, after the whole problem."""
    cost = np.where(np.arange(N) < 200, np.random.default_rng(0).random((N, N)), np.inf)
    for threads in (1, 2):
        method = gmatch.Core()
        trace = gmatch.lap(cost, method=method, threads=threads, infeasible="partial", certify=True).stats["trace"]
        assert trace.count("price") - trace.count("smooth") == 2


def test_a_matrix_without_an_assignment_is_searched_whole_on_gpu_and_cpu(device: str) -> None:
    """On a GPU the last steps are a launch of their own."""
    cost = np.where(np.arange(N) < 200, np.random.default_rng(0).random((N, N)), np.inf)
    threads = 2 if device == "cpu" else None
    options = {"method": gmatch.Core(), "infeasible": "partial", "certify": True}
    found = gmatch.lap(on(cost, device), threads=threads, **options)
    trace = " ".join(found.stats["trace"])
    assert "search bound search_matrix" in trace, trace
    assert found.stats["dense_searches"] == found.stats["trace"].count("search_matrix")
    assert float(found.cost) == pytest.approx(gmatch.lap(cost, infeasible="partial").cost)


def test_a_search_of_ties_that_takes_long_leaves_them_to_a_core(device: str) -> None:
    """Of costs with few values a GPU searches the matrix first. Distances that are cut off take it many levels."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 1000, (2, 2000, 2))
    gates = np.minimum(np.rint(np.hypot(*(x[:, None] - y).transpose(2, 0, 1))), 100).astype(np.int32)
    even = rng.integers(0, 100, (2000, 2000)).astype(np.int32)
    for cost, goes_on in ((gates, True), (even, False), (gates.astype(np.int16), True), (even[:500], False)):
        found = gmatch.lap(on(cost, device), certify=True)
        assert int(found.cost) == int(gmatch.lap(cost, method="jv").cost)
        if device == "gpu":
            assert (found.stats["method"] == "core") == ("trace" in found.stats) == goes_on
            assert ("so a core took over" in found.stats["reason"]) == goes_on


def test_other_methods_have_no_trace() -> None:
    assert "trace" not in gmatch.lap(FEW["uniform"], method="jv").stats
    assert "trace" not in gmatch.lap(FEW["uniform"], method="tree", threads=2).stats


@pytest.mark.parametrize("seed", range(5))
def test_free_rows_know_what_they_left_out(seed: int) -> None:
    """Rows that a cut-off chain leaves free begin the search with duals that hold, so no second one follows."""
    rng = np.random.default_rng(seed)
    cost = rng.random((250, 500)) + 3 * rng.random((1, 500))
    assert trace_of_program(cost, 1, AssignmentStart.REDUCE) == ["price", "auction", "refine", "search", "reprice"]
