"""Assignments of a matrix whose rows lie on several ranks, which are threads here; see also tests/test_ranks_mpi.py."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from conftest import GPU

import gmatch
from gmatch import _native
from gmatch.backends import block_passes
from gmatch.backends.block_passes import Depth, HostPasses
from gmatch.distributed import classical, tree
from gmatch.distributed import core as core_on_ranks
from gmatch.distributed import lap as lap_on_ranks
from gmatch.distributed.ranks import Ranks
from gmatch.distributed.sampled import Prices, Sample
from gmatch.distributed.threads import run_threads
from gmatch.problems import windows

METHODS = ["core", "classical", "tree"]
INF = np.inf


def families(n, seed=5):
    """Matrices that are hard in different ways."""
    rng = np.random.default_rng(seed)
    p, q = rng.random((2, n, 2))
    low = rng.standard_normal((n, 4)) @ rng.standard_normal((4, n))
    few, tied = rng.integers(0, 10 * n, (n, n)).astype(float), rng.integers(0, 3, (n, n)).astype(np.float32)
    few[rng.random((n, n)) < 0.8] = INF
    few[np.arange(n), rng.permutation(n)] = 1
    tied[rng.random((n, n)) < 0.5] = INF
    tied[np.arange(n), rng.permutation(n)] = 2
    return {
        "uniform": rng.integers(0, n, (n, n)),
        "wide range": rng.integers(-1000 * n, 1000 * n, (n, n), np.int32),
        "floats": rng.random((n, n)),
        "single": rng.random((n, n)).astype(np.float32),
        "geometric": np.sqrt(((p[:, None] - q[None]) ** 2).sum(2)),
        "ties": rng.integers(0, 5, (n, n), np.int8),
        "constant": np.full((n, n), 7),
        "booleans": rng.random((n, n)) < 0.1,
        "rank 4": low,
        "products": np.outer(np.arange(n) + 1, np.arange(n) + 1),
        "column prices": rng.integers(0, 10 * n, (n, n)) + 3000 * rng.integers(0, n, (1, n)),
        "wide": rng.integers(0, 10 * n, (n // 2, n)),
        "tall": rng.random((n, n // 2)),
        "one row less": rng.integers(0, 10 * n, (n - 1, n)),
        "few allowed": few,
        "few allowed, tied": tied,
        "few allowed, wide": few[: n // 2],
        "few allowed, tall": few[:, : n // 2],
        "by columns": np.asfortranarray(rng.random((n, n))),
        "half precision": rng.random((n, n)).astype(np.float16),
    }


FAMILIES = list(families(4))


def blocks_of(cost, size, rng=None):
    """Blocks of consecutive rows, of even or random heights."""
    cuts = np.linspace(0, len(cost), size + 1).astype(int)[1:-1]
    if rng is not None:
        cuts = np.sort(rng.integers(0, len(cost) + 1, size - 1))
    return gmatch.RowBlocks(np.split(cost, cuts))


def assert_proven(cost, result, **options):
    """Checks the proof of the whole matrix in one process, and that one process finds the same cost."""
    certificate = gmatch.verify(cost, result)
    assert result.cost == pytest.approx(gmatch.lap(cost, **options).cost, rel=1e-12, abs=1e-12)
    return certificate


@pytest.fixture
def as_a_team(monkeypatch):
    """Makes one rank work as several ranks do."""
    monkeypatch.setattr(lap_on_ranks, "is_alone", lambda ranks: False)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family, method, as_a_team):
    cost = families(60)[family]
    for size in (1, 2, 3, 5):
        blocks = blocks_of(cost, size)
        result = gmatch.lap(blocks, method=method)
        assert assert_proven(cost, result) == gmatch.verify(blocks, result)
        assert (result.stats["ranks"], result.stats["team"]) == (size, "ranks")


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("family", FAMILIES)
def test_one_rank_solves_as_one_process_does(family, method):
    cost = families(60)[family]
    options = {"cost_limit": 0.5, "maximize": True} if family == "single" else {}
    result = gmatch.lap(gmatch.RowBlocks([cost]), method=method, certify=True, **options)
    assert (result.stats["ranks"], result.stats["rows"]) == (1, (0, len(cost)))
    assert gmatch.verify(gmatch.RowBlocks([cost]), result) == assert_proven(cost, result, **options)
    if method == "classical" and cost.dtype.itemsize < 4:  # which one process does not solve
        assert result.stats["team"] == "ranks"
        return
    assert "ranks" not in result.stats["team"] and result.stats["seconds"]["meet"] >= 0
    alone = gmatch.lap(cost, method=gmatch.Tree("nearest") if method == "tree" else method, **options)
    assert (result.row_match == alone.row_match).all() and (result.v == alone.v).all()
    assert result.stats["method"] == alone.stats["method"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_steps_do_not_depend_on_the_number_of_ranks_and_windows(family, monkeypatch):
    """The plan is a function of facts that add up, so it does not matter how many have a part of the matrix."""
    cost = families(60)[family]
    two, three = (gmatch.lap(blocks_of(cost, size), method="core") for size in (2, 3))
    assert two.stats["trace"] == three.stats["trace"] and two.cost == pytest.approx(three.cost)
    found = []
    for number in (1, 3):
        monkeypatch.setattr(windows, "WINDOW", -(-len(cost) // number) * cost.shape[1])
        costs = gmatch.RowWindows(cost)
        assert len(costs.windows) == number
        found.append(gmatch.lap(costs))
    one, three = found
    assert one.stats["trace"] == three.stats["trace"] and one.cost == pytest.approx(three.cost)
    assert three.stats["trace"][:2] == ["price", "search"]


def test_counts_of_the_root_are_of_all_searches(monkeypatch):
    counted, seen = core_on_ranks._Core.counted, []

    def noted(core):
        seen.append(counted(core))
        return seen[-1]

    monkeypatch.setattr(core_on_ranks._Core, "counted", noted)
    stats = gmatch.lap(blocks_of(families(60, seed=1)["geometric"], 3), method="core").stats
    assert stats["rounds"] == len(seen) == 2
    assert [stats[name] for name in (*core_on_ranks.COUNTED_ON_ROOT, "core_entries")] == seen[-1].tolist()


def test_one_rank_takes_what_several_do():
    cost = np.random.default_rng(3).random((50, 50))
    first = gmatch.lap(cost)
    blocks = gmatch.RowBlocks([cost])
    assert_proven(cost, gmatch.lap(blocks, duals=(first.u, first.v), initial="reduce"))
    far = cost.copy()
    far[:25, 20:] = 1e18  # five of these rows have no other way
    result = gmatch.lap(gmatch.RowBlocks([far]))
    assert result.exact is not None
    assert gmatch.verify(gmatch.RowBlocks([far]), result) == gmatch.verify(far, result)
    with pytest.raises(gmatch.InvalidInput, match="must be a dense array of costs; got DenseCosts"):
        gmatch.lap(gmatch.RowBlocks([gmatch.DenseCosts(cost)]))
    with pytest.raises(gmatch.InvalidInput, match="several ranks do not take deterministic=True"):
        gmatch.lap(blocks, deterministic=True)
    with pytest.raises(gmatch.InvalidInput, match="prove an Assignment"):
        gmatch.verify(blocks, gmatch.max_matching(scipy.sparse.eye_array(2, format="csr")))


@pytest.mark.parametrize("method", METHODS)
def test_any_small_problem(method):
    rng = np.random.default_rng(8)
    infeasible = 0
    for trial in range(250):
        rows, columns = rng.integers(1, 12, 2)
        cost = rng.integers(0, rng.choice([2, 6, 1000]), (rows, columns)).astype(rng.choice(["f4", "f8", "i4", "i8"]))
        if cost.dtype.kind == "f" and trial % 2:
            cost[rng.random((rows, columns)) < 0.9 * rng.random() ** 0.5] = INF
        blocks = blocks_of(cost, int(rng.integers(1, 6)), rng)
        try:
            result = gmatch.lap(blocks, method=method, certify=True)
        except gmatch.Infeasible as error:
            infeasible += 1
            assert_witness(cost, error)
            with pytest.raises(gmatch.Infeasible):
                gmatch.lap(cost)
        else:
            assert_proven(cost, result)
    assert infeasible > 10


def assert_witness(cost, error):
    assert isinstance(error.rows, np.ndarray) and isinstance(error.columns, np.ndarray)
    allowed = np.isfinite(cost)
    if cost.shape[0] <= cost.shape[1]:
        assert len(error.columns) < len(error.rows) and not np.delete(allowed[error.rows], error.columns, 1).any()
    else:
        assert len(error.rows) < len(error.columns) and not np.delete(allowed[:, error.columns], error.rows, 0).any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(40, 40), (30, 40), (40, 30)])
def test_infeasible_on_every_rank(method, shape):
    cost = np.random.default_rng(1).random(shape)
    cost[:12, 8:] = INF
    if shape[0] > shape[1]:
        cost = np.random.default_rng(1).random(shape)
        cost[8:, :12] = INF
    blocks = blocks_of(cost, 3).blocks

    def work(seat):
        with pytest.raises(gmatch.Infeasible) as raised:
            gmatch.lap(blocks[seat.rank], comm=Ranks(seat), method=method)
        return raised.value

    errors = run_threads(3, work)
    assert len({str(error) for error in errors}) == 1
    for error in errors:
        assert_witness(cost, error)


@pytest.mark.parametrize("method", METHODS)
def test_one_row_a_rank_and_more_ranks_than_rows(method):
    cost = np.random.default_rng(4).random((4, 6))
    for size in (4, 7):
        assert_proven(cost, gmatch.lap(blocks_of(cost, size), method=method))
        assert_proven(cost.T, gmatch.lap(blocks_of(cost.T, size), method=method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_rank_without_rows(method, place):
    cost = np.random.default_rng(4).integers(0, 99, (50, 50))
    blocks = [cost[:20], cost[20:]]
    blocks.insert(place, cost[:0])
    assert_proven(cost, gmatch.lap(gmatch.RowBlocks(blocks), method=method, certify=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_no_pairs(method, shape):
    result = gmatch.lap(blocks_of(np.zeros(shape), 2), method=method, certify=True)
    assert result.size == 0 and result.cost == 0
    assert result.row_match.shape == shape[:1] and result.col_match.shape == shape[1:]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", ["uniform", "single", "wide", "tall", "ties", "booleans"])
def test_maximize(family, method):
    cost = families(40)[family]
    result = gmatch.lap(blocks_of(cost, 3), method=method, maximize=True, certify=True)
    assert_proven(cost, result, maximize=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("family", ["uniform", "floats", "wide", "tall", "few allowed", "ties"])
def test_cost_limit(family, maximize, method):
    cost = families(40)[family]
    if maximize:
        cost = np.where(np.isfinite(cost), cost, -INF) if cost.dtype.kind == "f" else cost
    limited = 0
    for share in (0.02, 0.2, 0.9):
        finite = cost[np.isfinite(cost)] if cost.dtype.kind == "f" else cost.ravel()
        limit = np.quantile(finite, 1 - share if maximize else share).item()
        for given in (limit, int(limit) + 0.5):
            result = gmatch.lap(blocks_of(cost, 3), method=method, maximize=maximize, cost_limit=given, certify=True)
            alone = gmatch.lap(cost, maximize=maximize, cost_limit=given)
            gmatch.verify(cost, result)
            free = min(cost.shape) - np.array([result.size, alone.size])
            price = np.array([result.cost, alone.cost]) + given * free
            assert price[0] == pytest.approx(price[1], rel=1e-12)
            limited += result.status == "limited"
    assert limited


def test_pairs_at_the_limit_do_not_join_the_core():
    cost = families(90)["floats"]
    limit = float(np.quantile(cost, 0.1))
    for size in (2, 3):
        stats = gmatch.lap(blocks_of(cost, size), cost_limit=limit).stats
        assert stats["core_entries"] <= np.count_nonzero(cost < limit) + 90
        assert stats["rounds"] == 1 and "widenings" not in stats


@pytest.mark.parametrize("size", [2, 3])
def test_a_limit_where_ways_out_mislead(size, monkeypatch):
    """The first core overprices most pairs. It is built anew as a square core with pairs at the limit."""
    cost = np.outer(*np.random.default_rng(3).integers(1, 1000, (2, 400)))
    limit = int(np.quantile(gmatch.lap(cost).pair_costs, 0.9))
    result = gmatch.lap(blocks_of(cost, size), cost_limit=limit, certify=True)
    assert result.stats["pricings"] == 2 and result.status == "limited"
    with monkeypatch.context() as patch:
        patch.setattr(core_on_ranks, "DEPTHS", (0, 1, 1))
        stats = gmatch.lap(blocks_of(cost, size), cost_limit=limit).stats
    assert stats["widenings"]  # a core with ways out always has an assignment
    alone = gmatch.lap(cost, cost_limit=limit)
    assert result.cost - limit * result.size == alone.cost - limit * alone.size
    gmatch.verify(cost, result)


def test_costs_beyond_the_limit_that_duals_have_no_room_for():
    cost = np.random.default_rng(8).integers(0, 10**6, (60, 60))
    cost[np.random.default_rng(9).random((60, 60)) < 0.5] = 2**63 - 10
    limit = 3 * 10**5
    result, alone = gmatch.lap(blocks_of(cost, 3), cost_limit=limit, certify=True), gmatch.lap(cost, cost_limit=limit)
    assert result.cost - limit * result.size == alone.cost - limit * alone.size


@pytest.mark.parametrize("method", METHODS)
def test_duals_to_start_from(method):
    cost = np.random.default_rng(3).integers(0, 10**6, (150, 150))
    first = gmatch.lap(cost)
    blocks = blocks_of(cost, 3)
    again = gmatch.lap(blocks, method=method, duals=(first.u, first.v))
    assert_proven(cost, again)
    assert again.stats["rounds"] == 1 if method == "core" else again.stats["dual_steps"] == 0
    assert gmatch.lap(blocks, method=method).stats["dual_steps"] > 0
    rng = np.random.default_rng(1)
    for matrix in (cost, cost[:99], cost[:, :99], cost * 0.1):
        duals = [rng.integers(-(10**8), 10**8, length) for length in matrix.shape]
        assert_proven(matrix, gmatch.lap(blocks_of(matrix, 3), method=method, duals=duals))


@pytest.mark.parametrize("method", METHODS)
def test_nan_that_forbids(method):
    cost = families(40)["few allowed"].copy()
    cost[cost == INF] = np.nan
    result = gmatch.lap(blocks_of(cost, 3), method=method, forbid_nan=True, certify=True)
    assert result.forbid_nan
    assert_proven(cost, result, forbid_nan=True)


def test_the_result_is_the_same_on_all_ranks():
    cost = np.random.default_rng(3).random((90, 90))
    blocks = blocks_of(cost, 3).blocks

    def work(seat):
        ranks = Ranks(seat)
        result = gmatch.lap(blocks[seat.rank], comm=ranks)
        certificate = gmatch.verify(blocks[seat.rank], result, comm=ranks)
        return result, certificate

    for rank, (result, certificate) in enumerate(run_threads(3, work)):
        assert certificate == gmatch.verify(cost, result)
        assert result.stats["rows"] == (30 * rank, 30 * rank + 30)
        assert (result.row_match == gmatch.lap(cost).row_match).all()
        assert {"meetings", "bytes_met", "rounds", "reason"} <= set(result.stats) and result.stats["seconds"][
            "meet"
        ] > 0


def leave_few_entries(monkeypatch, few):
    """Sets how many entries of a row are picked the first time."""
    monkeypatch.setattr(block_passes, "DEPTHS", ((32, few - 1, few), *block_passes.DEPTHS[1:]))


@pytest.mark.parametrize("room", [1, 3, 128])
@pytest.mark.parametrize("family", FAMILIES)
def test_narrow_bands_of_the_classical_variant(family, room, monkeypatch):
    """A band of few edges, which may not have room for all of them, so that the ranks meet for many bands."""
    monkeypatch.setattr(classical, "WANTED", 1)
    monkeypatch.setattr(classical, "ROOM", room)
    cost = families(40)[family]
    result = gmatch.lap(blocks_of(cost, 3), method="classical")
    assert_proven(cost, result)
    if family in ("uniform", "floats", "geometric", "products", "column prices"):
        assert result.stats["bands"] > 1


def test_a_row_on_its_way_out_has_no_larger_dual_than_the_band_is_wide(monkeypatch):
    """Its way out may have a dual below 0, if the search finds such duals. Edges outside the band do not allow more."""
    root = classical._Root(SimpleNamespace(xp=np, shape=(2, 2)), None)
    solved = np.array([0, 3], np.int32), np.array([0.5, 7.0]), np.zeros(2)
    monkeypatch.setattr(root, "_solved", lambda costs, row_match, v: solved)
    edges = classical._Edges(np.array([0]), np.array([0]), np.array([0.5]))
    row_match, of_rows, of_columns = root._within(edges, 2.0, np.full(2, -1), np.zeros(2))
    assert (row_match.tolist(), of_rows.tolist(), of_columns.tolist()) == ([0, -1], [0.5, 2], [0, 0])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tree_with_few_edges_to_other_ranks(family, monkeypatch):
    """Most paths cross to columns of other ranks by edges that are not listed. Labels fall after a meeting."""
    monkeypatch.setattr(tree, "WANTED", 1)
    cost = families(40)[family]
    result = gmatch.lap(blocks_of(cost, 3), method="tree")
    assert_proven(cost, result)
    if family in ("floats", "geometric", "products", "column prices"):
        assert result.stats["levels"] > 2 * result.stats["phases"]


@pytest.mark.parametrize(("family", "levels"), [("wide range", 2.5), ("wide", 2.5), ("geometric", 5)])
@pytest.mark.parametrize("size", [2, 5])
def test_ranks_of_a_tree_seldom_meet(size, family, levels):
    """One level tells what is tight, and one the rest of a phase, since paths cross by listed edges."""
    cost = families(300)[family]
    stats = gmatch.lap(blocks_of(cost, size), method="tree").stats
    assert stats["phases"] < 50
    assert stats["levels"] < levels * stats["phases"]
    assert stats["meetings"] < 2 * stats["levels"] + (2 + 2 * size) * (stats["phases"] // 4) + 20


def test_edges_to_other_ranks_are_listed_anew(monkeypatch):
    """Duals of products move away from the edges that were the cheapest at first."""
    cost = np.outer(*np.random.default_rng(3).random((2, 80)))
    anew = gmatch.lap(blocks_of(cost, 2), method="tree").stats["levels"]
    monkeypatch.setattr(tree, "LEVELS_OF_A_PHASE", 10**6)
    assert 2 * anew < gmatch.lap(blocks_of(cost, 2), method="tree").stats["levels"]


@pytest.mark.parametrize(("keep", "theta"), [(False, 8), (True, 6)])
def test_one_path_of_each_tree(keep, theta):
    # Rows 0 and 3 are free. Column 0 is the pair of row 1, column 3 of row 2; columns 1, 2, 4 and 5 are free.
    row_match = np.array([-1, 0, 3, -1], np.int32)
    labels, predecessors = np.array([2, 5, 6, 1, 6, 9]), np.array([0, 0, 1, 3, 2, 3], np.int32)
    assert _native.augment_trees(row_match, labels, predecessors, 8, keep) == theta
    assert row_match.tolist() == [1, 0, 4, 3]


@pytest.mark.parametrize("size", [2, 3])
def test_a_plateau_of_highest_costs(size, monkeypatch):
    """Most pairs cost the highest cost. Rows of the core may stay free for it, and are paired at the end."""
    rng = np.random.default_rng(7)
    p, q = rng.random((2, 400, 2))
    cost = np.minimum(np.sqrt(((p[:, None] - q) ** 2).sum(2)), 1 / 12)
    for matrix in (cost, np.round(cost * 1e4).astype(np.int32), np.where(cost < 1 / 30, cost, 1).astype(np.float32)):
        result = gmatch.lap(blocks_of(matrix, size))
        assert_proven(matrix, result)
        assert result.status == "optimal" and result.stats["method"] == "core"
        assert result.stats["core_entries"] <= np.count_nonzero(matrix < matrix.max()) + 400
        assert (result.pair_costs == matrix.max()).any()
    monkeypatch.setattr(core_on_ranks, "_has_plateau", lambda *given: False)
    assert gmatch.lap(blocks_of(cost, size)).stats["core_entries"] > np.count_nonzero(cost < cost.max()) + 400


def test_forbidden_pairs_leave_no_plateau():
    """A free row and a free column need not be allowed as a pair."""
    cost = np.where(np.random.default_rng(2).random((80, 80)) < 0.1, 1.0, 5.0)
    cost[::2, ::2] = INF
    assert_proven(cost, gmatch.lap(blocks_of(cost, 3)))


def test_a_rank_of_one_row_that_ties_makes_no_band_narrow():
    cost = -np.outer(np.arange(89) + np.e, np.arange(89) + np.pi) / 7
    result = gmatch.lap(gmatch.RowBlocks(np.split(cost, [1, 88])), method="classical")
    assert_proven(cost, result)
    assert result.stats["bands"] < 20  # 1674 of width 0


def test_many_bands_do_not_round_pairs_away(monkeypatch):
    """Each band rounds duals, until a pair has more slack than the band is wide."""
    monkeypatch.setattr(classical, "WANTED", 1)
    monkeypatch.setattr(classical, "ROOM", 1)
    cost = -np.outer(np.arange(69) + np.e, np.arange(55) + np.pi) / 7
    result = gmatch.lap(gmatch.RowBlocks(np.split(cost, [6, 39])), method="classical")
    assert_proven(cost, result)


@pytest.mark.parametrize(("method", "most"), [("classical", 12), ("core", 10)])
def test_ranks_meet_a_few_times(method, most):
    """One round, or one band, whatever the number of dual steps."""
    cost = np.random.default_rng(4).random((200, 200))
    result = gmatch.lap(blocks_of(cost, 3), method=method)
    assert result.stats["meetings"] <= most
    assert result.stats["dual_steps"] > 2 * most


def test_a_search_of_the_root_leaves_the_duals_that_all_ranks_have(monkeypatch):
    """Otherwise the classical variant would go on from other duals on the root."""
    solve, seen = core_on_ranks._Core.solve, []

    def noted(core, found):
        before = found.v.copy()
        answer = solve(core, found)
        seen.append((bool(before.any()), (found.v == before).all()))
        return answer

    monkeypatch.setattr(core_on_ranks._Core, "solve", noted)
    cost = families(100)["rank 4"]
    assert_proven(cost, gmatch.lap(blocks_of(cost, 2), method="core"))
    assert seen and all(pair == (True, True) for pair in seen)


def test_what_the_core_does_not_end_is_left_to_the_classical_variant(monkeypatch):
    monkeypatch.setattr(core_on_ranks, "MOST_ROUNDS", 1)
    leave_few_entries(monkeypatch, 4)
    for family in ("floats", "tall", "geometric"):
        cost = families(150)[family]
        result = gmatch.lap(blocks_of(cost, 3))
        assert "was left for the search in the whole matrix" in result.stats["reason"], family
        assert_proven(cost, result)


def test_bounds_hold_for_what_was_not_picked(monkeypatch):
    """Only the least entry of a row is picked. Nearly all pairs are found by reading rows whose u meets the bound."""
    leave_few_entries(monkeypatch, 1)
    monkeypatch.setattr(block_passes, "DEPTHS", (block_passes.DEPTHS[0], (32, 1, 3)))
    for family, cost in families(70).items():
        for size in (2, 3):
            result = gmatch.lap(blocks_of(cost, size), method="core")
            assert_proven(cost, result)
            if family in ("floats", "geometric", "tall"):
                assert result.stats["rounds"] > 1


def picked(cost, v, u, depth, maximize=False):
    """The entries that a pass picks, as a matrix of booleans; cost - v of all entries; and the `Picks`."""
    passes = HostPasses(cost, v.dtype.type, maximize, None, 1)
    rows = np.arange(len(cost), dtype=np.int32)
    picks = passes.price(rows, v, depth) if u is None else passes.overpriced(rows, u, v, depth)
    assert (np.diff(picks.places) > 0).all()
    is_picked = np.zeros(cost.shape, bool)
    is_picked.ravel()[picks.places] = True
    signed = cost.astype(v.dtype) * (-1 if maximize else 1)
    assert (picks.costs == signed[is_picked]).all()
    return is_picked, signed - v, picks


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int32", "int64", "float16", "float32", "float64"])
def test_what_is_picked_of_a_row(dtype, monkeypatch):
    """All entries below the bound of their row are picked, and no entry of at least the limit."""
    monkeypatch.setattr(block_passes, "DEPTHS", ((32, 3, 6), (32, 15, 48), (256, 20, 30)))
    rng = np.random.default_rng(12)
    dual_type = np.float64 if dtype.startswith("float") else np.int64
    overflows = cut = 0
    for trial in range(150):
        shape = rng.integers(1, (9, 400))
        most = rng.choice([2, 9, 120])
        cost = rng.integers(0, most, shape).astype(dtype)
        if trial % 3 == 0:
            cost = np.asfortranarray(cost)
        if dual_type is np.float64:
            cost[rng.random(shape) < 0.3] = np.inf
        maximize = bool(trial % 2) and dual_type is np.int64
        v = (rng.integers(-9, 1, shape[1]) if trial % 5 else np.zeros(shape[1])).astype(dual_type)
        u = None if trial % 4 else rng.integers(-most, most, shape[0]).astype(dual_type)
        below = None if trial % 7 else int(rng.integers(-most, most)) + (0.25 if dual_type is np.float64 else 0)
        depth = Depth(int(rng.integers(0, 3)), 1.0, below)
        room = depth.pick()[2]
        is_picked, reduced, picks = picked(cost, v, u, depth, maximize)
        allowed = reduced < (np.inf if dual_type is np.float64 else 2**62)
        assert ((reduced >= picks.bounds[:, None]) | is_picked)[allowed].all()
        assert (is_picked.sum(1) <= room).all()
        if below is not None:
            assert (reduced[is_picked] < below).all() and (picks.bounds <= below).all()
            cut += 1
        has_any = (allowed & (reduced < (np.inf if below is None else below))).any(1)
        assert (is_picked.any(1) == has_any).all()
        if u is not None:
            is_wanted = allowed & (reduced <= u[:, None]) & (below is None or reduced < below)
            fits = is_picked.sum(1) < room
            assert is_picked[fits][is_wanted[fits]].all()
            assert picks.overpriced == np.count_nonzero(is_picked & (reduced < u[:, None]))
        overflows += bool((is_picked.sum(1) == room).any())
    assert overflows > 20 and cut > 20


def test_ties_are_taken_from_all_columns():
    """Rows whose entries all tie pick different columns, and each row picks some from all over the row."""
    for cost in (np.full((300, 300), 7), np.full((300, 290), 0.5, np.float32), np.zeros((300, 301), np.int8)):
        v = np.zeros(cost.shape[1], np.float64 if cost.dtype.kind == "f" else np.int64)
        is_picked, _, picks = picked(cost, v, None, Depth(0, 1.0))
        assert (is_picked.sum(1) == 48).all() and (picks.bounds == cost[0, 0]).all()
        of_columns = is_picked.sum(0)
        assert of_columns.min() > 24 and of_columns.max() < 96
        for part in np.array_split(is_picked, 4, axis=1):
            assert (part.sum(1) >= 5).all()


@pytest.mark.parametrize("size", [1, 3])
def test_prices_that_mislead_are_found_anew(size, monkeypatch, as_a_team):
    """All rows want the same columns: a core by minima of columns alone leaves rows free."""
    cost = families(400)["rank 4"]
    result = gmatch.lap(blocks_of(cost, size))
    assert_proven(cost, result)
    monkeypatch.setattr(Sample, "prices", lambda self, *args: Prices(np.zeros(400), 0.0))
    without = gmatch.lap(blocks_of(cost, size))
    assert_proven(cost, without)
    assert (result.stats["pricings"], without.stats["pricings"]) == (1, 2)


def test_prices_that_have_misled_are_found_again_by_all_rows(monkeypatch):
    cost = np.outer(*np.random.default_rng(6).integers(1, 1000, (2, 600)))
    result = gmatch.lap(blocks_of(cost, 2))
    assert_proven(cost, result)
    assert result.stats["pricings"] == 2
    monkeypatch.setattr(core_on_ranks, "start_again", lambda ranks, part: None)
    without = gmatch.lap(blocks_of(cost, 2))
    assert_proven(cost, without)
    assert without.stats["rounds"] > result.stats["rounds"]


@pytest.mark.parametrize("exponent", [-1000, -200, 200, 900])
def test_costs_of_any_scale_take_the_same_rounds(exponent):
    cost = np.outer(*np.random.default_rng(6).random((2, 300)))
    expected, found = (gmatch.lap(blocks_of(some, 2)) for some in (cost, np.ldexp(cost, exponent)))
    assert_proven(np.ldexp(cost, exponent), found)
    assert found.cost == np.ldexp(expected.cost, exponent)
    assert found.stats["rounds"] == expected.stats["rounds"]


@pytest.mark.parametrize("seed", [0, 6, 7, 17])
def test_a_core_whose_duals_are_rounded_is_not_left(seed):
    """The duals of some pairs are much smaller than others, from which they were found, and overprice these pairs."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(40, 70, 2)
    cost = np.outer(rng.random(rows), rng.random(columns))
    for maximize in (False, True):
        result = gmatch.lap(blocks_of(cost, 2), maximize=maximize)
        gmatch.verify(cost, result, strict=True)
        assert "in the whole matrix" not in result.stats["reason"]


@pytest.mark.parametrize("seed", [6, 8])
def test_a_core_is_deeper_where_prices_have_misled(seed, monkeypatch):
    cost = np.outer(*np.random.default_rng(seed).random((2, 600)))
    result = gmatch.lap(blocks_of(cost, 2))
    assert_proven(cost, result)
    assert (result.stats["pricings"], result.stats["rounds"]) == (2, 2)
    monkeypatch.setattr(core_on_ranks, "DEPTHS", (0, 1, 1))
    without = gmatch.lap(blocks_of(cost, 2))
    assert_proven(cost, without)
    assert without.stats["rounds"] > 3


def test_prices_from_a_sample_are_the_same_for_any_number_of_ranks():
    cost = families(300)["rank 4"].astype(np.float32)
    cost[np.random.default_rng(4).random((300, 300)) < 0.2] = INF

    def prices(size):
        cuts = [300 * rank // size for rank in range(size + 1)]
        return run_threads(
            size,
            lambda seat: (
                Sample(Ranks(seat), cost[cuts[seat.rank] : cuts[seat.rank + 1]].copy(), cuts[seat.rank], 300).prices().v
            ),
        )

    alone = prices(1)[0]
    assert alone.max() == 0 and alone.min() < 0
    for size in (2, 3, 5):
        for found in prices(size):
            assert found == pytest.approx(alone, abs=1e-3 * -alone.min())


def test_prices_of_pairs_that_are_forbidden():
    rng = np.random.default_rng(5)
    for dtype in (np.float32, np.float64):
        cost = rng.random((90, 90)).astype(dtype) * np.arange(1, 91)
        cost[rng.random((90, 90)) < 0.7] = INF
        cost[np.arange(90), rng.permutation(90)] = 50
        assert_proven(cost, gmatch.lap(blocks_of(cost, 3)))


def test_a_rank_never_sees_rows_of_others():
    """Each block lies in its own memory, and no message is as large as a block."""
    cost = np.random.default_rng(3).random((600, 600))
    for method, share in (("core", 0.5), ("classical", 0.5)):
        result = gmatch.lap(blocks_of(cost, 2), method=method)
        largest = result.stats["bytes_met"] / result.stats["meetings"]
        assert largest < share * cost.nbytes / 2


# Errors, the same on all ranks.


def raised_by_all(blocks, **options):
    def work(seat):
        with pytest.raises(Exception) as raised:
            gmatch.lap(
                blocks[seat.rank],
                comm=Ranks(seat, patience=20.0),
                **{name: option[seat.rank] if isinstance(option, list) else option for name, option in options.items()},
            )
        return type(raised.value), str(raised.value)

    errors = set(run_threads(len(blocks), work))
    assert len(errors) == 1
    return errors.pop()


def good_blocks(size=3):
    return np.split(np.arange(90.0).reshape(9, 10), size)


def test_nan_on_one_rank():
    blocks = good_blocks()
    blocks[1][2, 4] = np.nan
    kind, words = raised_by_all(blocks)
    assert kind is gmatch.InvalidInput and words.startswith("rank 1: cost must not hold NaN; entry (2, 4) does")


def test_the_wrong_infinity_on_one_rank():
    blocks = good_blocks()
    blocks[2][0, 1] = -INF
    assert "rank 2: cost must not hold -inf when minimizing" in raised_by_all(blocks)[1]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (np.zeros((3, 9)), "blocks must have the same number of columns; rank 0 has 10, rank 1 9"),
        (np.zeros((3, 10), np.float32), "blocks must have the same type; rank 0 has float64, rank 1 float32"),
        (np.zeros((3, 10, 2)), "rank 1: expected a matrix of costs"),
        (np.zeros((3, 10), complex), "rank 1: cost must hold real numbers"),
        (gmatch.DenseCosts(np.zeros((3, 10))), "rank 1: the block of a rank must be a dense array of costs; got Dense"),
        (gmatch.CostBatch(np.zeros((1, 3, 10))), "rank 1: the block of a rank must be a dense array of costs; got Cos"),
        ("costs", "rank 1: "),
    ],
)  # fmt: skip
def test_blocks_that_do_not_fit(other, words):
    blocks = good_blocks()
    blocks[1] = other
    kind, said = raised_by_all(blocks)
    assert kind is gmatch.InvalidInput and words in said


class OnGpu:
    __cuda_array_interface__ = {}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (scipy.sparse.eye_array(3, 10), "sparse"),
        pytest.param(
            OnGpu(), "device='gpu' needs ",
            marks=pytest.mark.skipif(GPU, reason="where there is a GPU, blocks may lie on it"),
        ),
    ],
)  # fmt: skip
def test_a_sparse_block_and_a_block_on_a_gpu(other, words):
    blocks = good_blocks()
    blocks[1] = other
    assert words in raised_by_all(blocks)[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"maximize": [False, True, False]}, "rank 0 has maximize=False, rank 1 has maximize=True"),
        ({"cost_limit": [None, None, 3]}, "rank 0 has cost_limit=None, rank 2 has cost_limit=3"),
        ({"method": ["core", "tree", "core"]}, "rank 0 has method='core', rank 1 has method='tree'"),
        ({"infeasible": "partial"}, "several ranks do not take infeasible='partial'"),
        ({"deterministic": True}, "several ranks do not take deterministic=True"),
        ({"sizes": np.ones((1, 2), int)}, "several ranks do not take sizes="),
        ({"initial": np.zeros(9, int)}, "several ranks start from minima"),
        ({"initial": "regret"}, "several ranks start from minima"),
        ({"method": "jv"}, "several ranks take the methods"),
        ({"method": gmatch.Tree("many")}, "several ranks take the methods"),
        ({"device": "tpu"}, "device must be None, 'cpu' or 'gpu'"),
        ({"threads": 0}, "threads must be an integer"),
        ({"cost_limit": "high"}, "cost_limit must be a number"),
        ({"cost_limit": np.nan}, "cost_limit must be finite"),
        ({"duals": (np.zeros(9), np.zeros(9))}, "duals must be real numbers"),
    ],
)
def test_options_that_are_refused(options, words):
    kind, said = raised_by_all(good_blocks(), **options)
    assert kind is gmatch.InvalidInput and words in said


def test_duals_that_differ():
    duals = [(np.zeros(9), np.full(10, float(rank))) for rank in range(3)]
    assert "all ranks must ask for the same; rank 0 has duals=" in raised_by_all(good_blocks(), duals=duals)[1]


def test_sums_that_overflow():
    cost = np.array([[2**61, 0], [0, 1]])
    assert "could overflow int64" in raised_by_all(list(np.split(cost, 2)))[1]


def test_a_range_without_room_for_a_core():
    cost = np.random.default_rng(2).integers(0, 2**57, (60, 60))
    assert "method 'core' needs room" in raised_by_all(np.split(cost, 3), method="core")[1]
    result = gmatch.lap(blocks_of(cost, 3))
    assert result.stats["method"] == "classical"
    assert_proven(cost, result)


@pytest.mark.parametrize(
    ("method", "step"),
    [("core", "price"), ("core", "overpriced"), ("core", "least_of_columns"), ("classical", "least_of_rows"),
     ("classical", "entries_up_to"), ("tree", "least_of_rows"), ("tree", "close")],
)  # fmt: skip
def test_no_memory_on_one_rank(method, step, monkeypatch):
    """Memory may be missing in any step of the passes."""
    whole = getattr(HostPasses, step)
    calls = [0]

    def starved(passes, *arguments):
        if threading.current_thread().name == "gmatch rank 1":
            calls[0] += 1
            if calls[0] > 0:
                raise MemoryError("no room")
        return whole(passes, *arguments)

    monkeypatch.setattr(HostPasses, step, starved)
    cost = np.random.default_rng(1).random((60, 60)) + np.arange(60)  # rows want the same columns
    seen = set()
    for first in (1, 2) if step in ("least_of_rows", "entries_up_to", "close") and method != "tree" else (1,):
        calls[0] = 1 - first
        kind, words = raised_by_all(np.split(cost, 2), method=method)
        seen.add((kind, words))
    assert seen == {(MemoryError, "rank 1: no room")}


def test_comm_must_be_one():
    with pytest.raises((gmatch.InvalidInput, gmatch.BackendUnavailable)):
        gmatch.lap(np.zeros((2, 2)), comm="world")
    with pytest.raises(gmatch.InvalidInput, match="leave comm and devices out"):
        gmatch.lap(gmatch.RowBlocks([np.zeros((2, 2))]), comm="world")


@pytest.mark.parametrize("blocks", [[], np.zeros((2, 2)), None])
def test_row_blocks_are_a_list(blocks):
    with pytest.raises(gmatch.InvalidInput, match="RowBlocks takes"):
        gmatch.RowBlocks(blocks)


# The proof.


def spoiled(result, name, place, change):
    array = getattr(result, name).copy()
    array[place] += change
    return replace(result, **{name: array})


@pytest.mark.parametrize("shape", [(20, 20), (15, 20), (20, 15)])
def test_the_proof_notices(shape):
    cost = np.random.default_rng(9).integers(0, 1000, shape)
    blocks = blocks_of(cost, 3)
    result = gmatch.lap(cost)
    assert gmatch.verify(blocks, result) == gmatch.verify(cost, result)
    swapped = result.row_match.copy()
    matched = (swapped >= 0).nonzero()[0]
    swapped[matched[[0, -1]]] = swapped[matched[[-1, 0]]]
    back = np.full_like(result.col_match, -1)
    back[swapped[matched]] = matched
    entries = cost[matched, swapped[matched]]
    wrong = [
        spoiled(result, "u", 0, 1), spoiled(result, "u", -1, -1), spoiled(result, "v", -1, 1),
        spoiled(result, "v", 0, -1), spoiled(result, "pair_costs", -1, 1), spoiled(result, "row_match", 0, 1),
        replace(result, row_match=swapped, col_match=back, pair_costs=entries),
        replace(result, maximize=True), replace(result, status=gmatch.Status.LIMITED),
    ]  # fmt: skip
    for other in wrong:
        with pytest.raises(gmatch.CertificateError):
            gmatch.verify(blocks, other)
    with pytest.raises(gmatch.CertificateError):  # of other costs, on the last rank
        gmatch.verify(gmatch.RowBlocks([*blocks.blocks[:2], blocks.blocks[2] - 5]), result)


def test_the_proof_wants_one_result():
    cost = np.random.default_rng(9).random((9, 9))
    results = [gmatch.lap(cost), gmatch.lap(cost), gmatch.lap(cost + 1)]

    def work(seat):
        with pytest.raises(gmatch.InvalidInput, match="rank 2 has result="):
            gmatch.verify(np.split(cost, 3)[seat.rank], results[seat.rank], comm=Ranks(seat))

    run_threads(3, work)


def test_what_is_proven_in_one_process():
    cost = np.array([[1.0, INF], [2.0, INF]])
    partial = gmatch.lap(cost, infeasible="partial")
    matching = gmatch.max_matching(scipy.sparse.eye_array(2, format="csr"))
    for result, words in ((partial, "without cover"), (matching, "prove an Assignment")):
        with pytest.raises(gmatch.InvalidInput, match=words):
            gmatch.verify(blocks_of(cost, 2), result)
    with pytest.raises(gmatch.InvalidInput, match="strictly"):
        gmatch.verify(blocks_of(cost, 2), partial, strict=True)
