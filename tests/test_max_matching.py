"""Every method, start, device and index type on small graphs with ties, duplicates and empty sides."""

import dataclasses
import os
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import host, methods_on, put
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Triple, first_fit, kuhn, random_graph
from scipy.sparse.csgraph import structural_rank

import gmatch

STARTS = ("auto", "cheap", "shuffled", "min-degree", "karp-sipser", "none")
EMPTY = np.empty(0, np.int32)
# Random graphs a method; GMATCH_CASES=100000 takes an hour.
CASES = int(os.environ.get("GMATCH_CASES", 400))

INSTANCES = {
    "nothing": (np.zeros(1, np.int32), EMPTY, (0, 0)),
    "no rows": (np.zeros(1, np.int32), EMPTY, (0, 7)),
    "no columns": (np.zeros(6, np.int32), EMPTY, (5, 0)),
    "no entries": (np.zeros(6, np.int32), EMPTY, (5, 7)),
    "one entry": (np.array([0, 1]), np.array([0]), (1, 1)),
    "one column": (np.arange(10), np.zeros(9, int), (9, 1)),
    "one row": (np.array([0, 9]), np.arange(9), (1, 9)),
    "duplicates": (np.array([0, 4, 8]), np.array([1, 1, 1, 1, 1, 1, 1, 0]), (2, 2)),
    "complete": (np.arange(0, 145, 12), np.tile(np.arange(12), 12), (12, 12)),
    "path": (np.array([0, *range(1, 400, 2), 400]), np.repeat(np.arange(200), 2), (201, 200)),
    "star": (np.arange(101), np.full(100, 3), (100, 5)),
}


def triple_of(matrix: Any) -> Triple:
    return matrix.indptr, matrix.indices, matrix.shape


def solve(triple: Triple, device: str, **options: object) -> gmatch.Matching:
    graph = put(triple, device)
    matching = gmatch.max_matching(graph, **options)
    gmatch.verify(graph, matching)
    stats = matching.stats
    assert stats["start_size"] + sum(stats["augmentations_per_phase"]) == matching.size
    assert sum(stats["levels_per_phase"]) == stats["levels"]
    assert len(stats["levels_per_phase"]) == len(stats["augmentations_per_phase"]) == stats["phases"]
    assert all(count > 0 for count in stats["augmentations_per_phase"][:-1])
    assert stats["augmentations_per_phase"][-1] == 0
    return matching


@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("start", STARTS)
def test_instances(method: object, start: str, device: str) -> None:
    for name, triple in INSTANCES.items():
        assert solve(triple, device, method=method, initial=start).size == kuhn(triple), name


@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
def test_random_graphs(method: object, device: str) -> None:
    rng = np.random.default_rng(1)
    for case in range(CASES if device == "cpu" else 60):
        triple = random_graph(rng)
        size = kuhn(triple)
        for start in STARTS:
            threads = (1, 2, 8)[case % 3] if device == "cpu" else None
            assert solve(triple, device, method=method, initial=start, threads=threads).size == size, (case, start)


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
def test_races_on_larger_graphs(method: object, threads: int) -> None:
    """Thousands of rows: frontiers that are split among threads, with ties everywhere."""
    for seed, degree in ((0, 2), (1, 3), (2, 8)):
        graph = sp.random_array((3000, 2900), density=degree / 2900, rng=seed, format="csr")
        size = gmatch.max_matching(graph, threads=1).size
        for start in ("auto", "karp-sipser", "none"):
            found = gmatch.max_matching(graph, method=method, initial=start, threads=threads, certify=True)
            assert found.size == size


@pytest.mark.parametrize("offset, column", [("i4", "i4"), ("i8", "i4"), ("i8", "i8"), ("i4", "i8"), ("u2", "u1")])
def test_index_types(offset: str, column: str, device: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        indptr, indices, shape = triple = random_graph(rng)
        typed = indptr.astype(offset), indices.astype(column), shape
        for method in ("auto", "apsb"):
            assert solve(typed, device, method=method, initial="karp-sipser").size == kuhn(triple)


@pytest.mark.parametrize("as_format", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_formats(as_format: str, kind: type) -> None:
    dense = np.array([[1, 0, 2, 0], [0, 0, 3, 0], [0, 0, 4, 5]])
    matrix = kind(dense).asformat(as_format)
    row_ind, col_ind = matching = gmatch.max_matching(matrix)
    assert matching.size == 3
    assert dense[row_ind, col_ind].all()
    gmatch.verify(matrix, matching)


def test_stored_zeros_are_edges() -> None:
    matrix = sp.csr_array((np.zeros(3), np.array([0, 1, 2]), np.arange(4)), shape=(3, 3))
    assert gmatch.structural_rank(matrix) == 3
    dropped = matrix.copy()
    dropped.eliminate_zeros()
    assert gmatch.structural_rank(dropped) == 0


def test_input_is_not_changed() -> None:
    graph = sp.random_array((50, 40), density=0.1, rng=0, format="csr")
    before = graph.indptr.copy(), graph.indices.copy()
    for array in (graph.indptr, graph.indices):
        array.flags.writeable = False
    start = np.full(50, -1, np.int32)
    start.flags.writeable = False
    for method in gmatch.METHODS:
        gmatch.max_matching(graph, method=method, initial=start)
        gmatch.max_matching(graph, method=method, initial="karp-sipser")
    assert (graph.indptr == before[0]).all() and (graph.indices == before[1]).all() and (start == -1).all()


def test_strided_arrays() -> None:
    indptr, indices, shape = INSTANCES["complete"]
    strided = np.repeat(indptr, 2)[::2], np.repeat(indices, 3)[::3], shape
    assert gmatch.max_matching(strided).size == 12


def test_arrays_longer_than_the_last_offset() -> None:
    assert gmatch.max_matching((np.array([0, 1]), np.array([0, 99]), (1, 1)), certify=True).size == 1


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_cheap_is_the_sequential_first_fit(threads: int, device: str) -> None:
    rng = np.random.default_rng(3)
    for largest in [12] * 100 + [2000] * 3:
        triple = random_graph(rng, largest)
        matching = solve(triple, device, initial="cheap", threads=threads if device == "cpu" else None)
        assert matching.stats["start_size"] == sum(column >= 0 for column in first_fit(triple))


@pytest.mark.parametrize("start", ["cheap", "shuffled", "min-degree"])
def test_deterministic_starts(start: str) -> None:
    graph = sp.random_array((4000, 4000), density=3 / 4000, rng=5, format="csr")
    sizes = {gmatch.max_matching(graph, initial=start, threads=threads).stats["start_size"] for threads in (1, 2, 3, 8)}
    assert len(sizes) == 1


@pytest.mark.parametrize("threads", [1, 4])
def test_karp_sipser_is_optimal_on_trees(threads: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        tree = nx.bfs_tree(nx.random_labeled_tree(200, seed=int(rng.integers(1 << 30))), 0).to_undirected()
        colour = nx.bipartite.color(tree)
        graph = gmatch.BipartiteGraph.from_networkx(tree, [node for node in tree if colour[node]])
        matching = gmatch.max_matching(graph, initial="karp-sipser", threads=threads)
        assert matching.stats["start_size"] == matching.size
        assert matching.size == len(nx.bipartite.maximum_matching(tree)) // 2


def test_shuffled_order_mends_drift() -> None:
    """Rows renumbered at random, columns left along the mesh: the first fit drifts, and `auto` sees it."""
    mesh = gmatch.datasets.delaunay(1 << 13)
    drifting = mesh[np.random.default_rng(6).permutation(mesh.shape[0])]
    stats = {start: gmatch.max_matching(drifting, method="claims", initial=start).stats for start in ("cheap", "auto")}
    assert stats["auto"]["phases"] * 2 < stats["cheap"]["phases"]
    assert stats["auto"]["initial"] == "shuffled"
    assert gmatch.max_matching(mesh, method="claims").stats["initial"] == "cheap"


def test_rows_of_few_entries_choose_first(device: str) -> None:
    """Less than half as many rows stay free if degrees are skewed. `auto` sees that. Few long rows don't mislead it."""
    skewed = gmatch.datasets.kron(12)
    sizes = {start: solve(triple_of(skewed), device, initial=start, method="claims").stats for start in STARTS}
    missing = {start: solve(triple_of(skewed), device).size - stats["start_size"] for start, stats in sizes.items()}
    assert 2 * missing["min-degree"] < min(missing["cheap"], missing["shuffled"])
    assert sizes["auto"]["initial"] == "min-degree" and missing["auto"] == missing["min-degree"]
    few_long_rows = sp.vstack([np.ones((2, 1000)), sp.eye_array(1000)], format="csr")
    assert solve(triple_of(few_long_rows), device, method="claims").stats["initial"] != "min-degree"


def test_min_degree_is_the_first_fit_by_degree(device: str) -> None:
    """If rows have one column or all columns, rows of one column keep it, however long the others are."""
    rng = np.random.default_rng(8)
    for size in (5, 40, 300):
        is_long = rng.random(size) < 0.4
        pattern = sp.csr_array(np.where(is_long[:, None], True, np.eye(size, dtype=bool)))
        matching = solve(triple_of(pattern), device, initial="min-degree", method="claims")
        assert matching.stats["start_size"] == matching.size == size
        assert (np.flatnonzero(~is_long) == host(matching.row_match)[~is_long]).all()


def test_auto_on_the_cpu() -> None:
    """Breadth first makes progress in one turn; where it does not, depth first helps."""
    mesh = gmatch.datasets.delaunay(1 << 13)
    drifting = mesh[np.random.default_rng(6).permutation(mesh.shape[0])]
    staircase = sp.csr_array(np.tril(np.ones((500, 500)))[::-1])
    for graph, phases, turns in ((mesh, 5, 1), (drifting, 16, 2), (staircase, 8, 2)):
        stats = gmatch.max_matching(graph, certify=True).stats
        assert (stats["method"], stats["initial"]) == ("mixed", "cheap")
        assert stats["phases"] <= phases
        assert (stats["depth_first"] > 0) == (turns > 1)
        assert gmatch.max_matching(graph, initial="none").stats["initial"] == "none"


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_many_turns(threads: int) -> None:
    """A permuted staircase is hard for both searches. With several threads, races decide where one takes over."""
    staircase = gmatch.datasets.permute(sp.csr_array(np.tril(np.ones((300, 300)))), seed=1)
    for start in STARTS:
        stats = gmatch.max_matching(staircase, method="mixed", initial=start, threads=threads, certify=True).stats
        assert stats["method"] == "mixed" and stats["threads"] == threads
    stats = gmatch.max_matching(staircase, method="mixed", initial="cheap", threads=1).stats
    assert 3 < stats["depth_first"] < stats["phases"] - 3


def paths(lengths: np.ndarray) -> Triple:
    """Disjoint paths; from the first fit, each has one row left to match, through all its others."""
    rows = int(lengths.sum())
    row = np.arange(rows)
    is_last = np.zeros(rows, bool)
    is_last[np.cumsum(lengths) - 1] = True
    entries = np.stack([np.where(is_last, row, row + 1), row], axis=1).ravel()
    return np.arange(0, 2 * rows + 1, 2), entries, (rows, rows)


@pytest.mark.parametrize("method", ["pothen-fan", "mixed"])
def test_depth_first_on_a_long_path(method: str) -> None:
    """No recursion: one augmenting path through all of 300,000 rows."""
    graph = paths(np.array([300_000]))
    matching = gmatch.max_matching(graph, method=method, initial="cheap", certify=True)
    assert matching.size == 300_000 and matching.stats["levels"] >= 300_000


@pytest.mark.parametrize("search", ["apfb", "apsb"])
@pytest.mark.parametrize("bfs", ["gpubfs", "gpubfs-wr"])
def test_small_levels(search: str, bfs: str) -> None:
    """Rank 0 does runs of small levels alone, and counts them all. Here the lists shrink until they are small."""
    for lengths in ([4000], [1, 2, 3], np.arange(2, 200), np.repeat([3, 4, 50, 51, 300, 301], 30)):
        stats = [
            gmatch.max_matching(
                paths(np.array(lengths)),
                method=gmatch.Claims(search, bfs),
                initial="cheap",
                threads=threads,
                certify=True,
            ).stats
            for threads in (1, 2, 3)
        ]
        for counter in ("levels_per_phase", "augmentations_per_phase", "edges_inspected"):
            assert stats[0][counter] == stats[1][counter] == stats[2][counter]


def test_stragglers_are_left_to_the_next_phase() -> None:
    """A tree that goes on alone must go round the trees that have ended: waiting for it took 84 levels here, 60 in one
    phase."""
    graph = gmatch.datasets.mesh_dual(1 << 16)
    stats = gmatch.max_matching(graph, method="claims", initial="cheap", threads=1, certify=True).stats
    assert stats["levels"] < 50


@pytest.mark.parametrize("leaves", [1000, 2000, 3000])
@pytest.mark.parametrize("method", ["claims", "mixed"])
def test_a_phase_may_end_among_small_levels(method: str, leaves: int) -> None:
    """Frontiers of 2, 3, many, 2 and 100 rows: rank 0 does these levels alone, and leaves after an even number."""
    hub, a1, b1, a2, b2, a3, b3, first_leaf = range(8)
    first_twig = first_leaf + leaves
    matched = first_twig + 100  # row i and column i are; two columns more are free
    row_a, row_b = matched, matched + 1
    edges = [(row_a, hub), (row_a, a1), (row_b, b1), (a1, a2), (b1, b2), (a2, a3), (b2, b3), (a3, matched)]
    edges += [(hub, first_leaf + i) for i in range(leaves)] + [(b3, first_twig + i) for i in range(100)]
    edges += [(first_twig + 99, matched + 1)] + [(i, i) for i in range(matched)]
    rows, columns = np.array(edges).T
    graph = sp.csr_array((np.ones(len(edges)), (rows, columns)), (matched + 2, matched + 2))
    given = np.append(np.arange(matched), [-1, -1])
    for threads in (1, 2, 3):
        matching = gmatch.max_matching(graph, method=method, initial=given, threads=threads, certify=True)
        assert matching.size == matched + 2


@pytest.mark.parametrize("bfs", ["gpubfs", "gpubfs-wr"])
@pytest.mark.parametrize("start", ["none", "auto"])
def test_long_rows_among_short_ones(bfs: str, start: str, device: str) -> None:
    """On a GPU many warps read a row of more than 256 entries in pieces, in several steps."""
    rng = np.random.default_rng(7)
    lengths = np.concatenate([[255, 256, 257, 512, 513, 20_000, 20_000, 5_000], rng.integers(0, 3, 30_000)])
    rng.shuffle(lengths)
    indices = np.concatenate([rng.choice(20_000, length, replace=False) for length in lengths])
    graph = sp.csr_array((np.ones(len(indices)), indices, np.concatenate([[0], lengths.cumsum()])), (30_008, 20_000))
    matching = gmatch.max_matching(
        gmatch.BipartiteGraph(graph).on(device), method=gmatch.Claims("apfb", bfs), initial=start, certify=True
    )
    assert matching.size == gmatch.max_matching(graph, method="pothen-fan").size


@pytest.mark.parametrize("bfs", ["gpubfs", "gpubfs-wr"])
@pytest.mark.parametrize("family", ["erdos_renyi", "mesh_dual", "kron"])
def test_frontiers_of_all_widths(family: str, bfs: str, device: str) -> None:
    """Wider than the lists of the blocks of a GPU hold, and as narrow as one tree."""
    graph = {
        "erdos_renyi": lambda: gmatch.datasets.erdos_renyi(300_000, 3),
        "mesh_dual": lambda: gmatch.datasets.permute(gmatch.datasets.mesh_dual(1 << 16), seed=1),
        "kron": lambda: gmatch.datasets.kron(13),
    }[family]()
    for start in ("none", "shuffled"):
        matching = gmatch.max_matching(
            gmatch.BipartiteGraph(graph).on(device), method=gmatch.Claims("apfb", bfs), initial=start, certify=True
        )
        assert matching.size == gmatch.max_matching(graph, threads=1).size


@pytest.mark.parametrize("search", ["apfb", "apsb"])
@pytest.mark.parametrize("bfs", ["gpubfs", "gpubfs-wr"])
@pytest.mark.parametrize("branches", [2, 3, 4, 7])
def test_small_levels_that_grow(search: str, bfs: str, branches: int) -> None:
    """From one root a tree over all columns, without a path: rank 0 leaves it to all after any number of levels."""
    for columns in (0, 1, 7, 5000):
        column = np.arange(columns)
        row = np.concatenate([column + 1, column // branches])  # a column's mate, and the row that leads to it
        graph = sp.coo_array((np.ones(2 * columns), (row, np.tile(column, 2))), shape=(columns + 1, columns)).tocsr()
        levels = set()
        for threads in (1, 2, 3):
            matching = gmatch.max_matching(
                graph, method=gmatch.Claims(search, bfs), initial=np.arange(-1, columns), threads=threads, certify=True
            )
            assert matching.size == columns and matching.reached_columns.all()
            levels.add(matching.stats["levels"])
        assert len(levels) == 1


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_search_depth_first(threads: int) -> None:
    """Trees of other threads are met while they grow, so a phase without a path may leave trees that are not dead."""
    rng = np.random.default_rng(threads)
    for case in range(60):
        rows, columns = rng.integers(1, 300, 2)
        entries = int(rng.integers(1, 4) * max(rows, columns))
        at = rng.integers(0, rows, entries), rng.integers(0, columns, entries)
        graph = sp.coo_array((np.ones(entries), at), shape=(rows, columns)).tocsr()
        start = ("none", "cheap")[case % 2]
        matching = gmatch.max_matching(graph, method="pothen-fan", initial=start, threads=threads, certify=True)
        assert matching.size == structural_rank(graph)
        assert matching.stats["threads"] == threads and matching.stats["depth_first"] == matching.stats["phases"]
    with pytest.raises(gmatch.InvalidInput, match="^threads must be"):
        gmatch.max_matching(INSTANCES["complete"], method="pothen-fan", threads=0)


def test_a_first_fit_of_threads_gives_up_where_they_displace_each_other() -> None:
    """Along this mesh a displaced row displaces the next one, through the rows of all threads. So one fits them."""
    graph = gmatch.datasets.rgg(1 << 17)
    expected = gmatch.max_matching(graph, initial="cheap", threads=1).stats["start_size"]
    for _ in range(3):
        matching = gmatch.max_matching(graph, initial="cheap", threads=8, certify=True)
        assert matching.stats["start_size"] == expected


def test_given_start(device: str) -> None:
    rng = np.random.default_rng(7)
    for case in range(60):
        triple = random_graph(rng)
        given = np.array(first_fit(triple), np.int64)
        given[rng.random(len(given)) < 0.5] = -1
        methods = methods_on(device)
        method = methods[case % len(methods)]
        matching = solve(triple, device, initial=given, method=method)
        assert matching.size == kuhn(triple)
        assert matching.stats["start_size"] == (given >= 0).sum()
        assert matching.stats["initial"] == "given"
        again = solve(triple, device, initial=matching, method=method)
        assert again.stats["augmentations_per_phase"] == [0]
        assert (host(again.row_match) == host(matching.row_match)).all()


def test_start_from_the_matching_of_an_earlier_graph(device: str) -> None:
    """Edges are removed, matched ones too, and others are added."""
    rng = np.random.default_rng(11)
    for case in range(60):
        before = random_graph(rng)
        rows, columns = before[2]
        dense = sp.csr_array((np.ones(len(before[1])), before[1], before[0]), shape=before[2]).toarray() > 0
        matching = solve(before, device)
        after = sp.csr_array((dense & (rng.random((rows, columns)) < 0.8)) | (rng.random((rows, columns)) < 0.05))
        triple = after.indptr, after.indices, after.shape
        methods = methods_on(device)
        method = methods[case % len(methods)]
        mates = host(matching.row_match)
        kept = sum(mate >= 0 and after[row, mate] for row, mate in enumerate(mates))
        for threads in (1, 3) if device == "cpu" else (None,):
            again = solve(triple, device, initial=matching, method=method, threads=threads)
            assert again.size == kuhn(triple)
            assert again.stats["start_size"] == kept
            assert again.stats["dropped"] == matching.size - kept
        if kept < matching.size:
            with pytest.raises(gmatch.InvalidInput, match="^initial must be a matching of the graph; row "):
                solve(triple, device, initial=mates)
        orders = [solve(triple, device, initial=matching, deterministic=True).row_match for _ in range(2)]
        assert (host(orders[0]) == host(orders[1])).all()


def test_bad_starts_are_refused_before_the_search(device: str) -> None:
    graph = gmatch.BipartiteGraph(sp.csr_array(np.tri(4, k=1))).on(device)
    for method in methods_on(device):
        with pytest.raises(
            gmatch.InvalidInput, match="^initial must be a matching of the graph; row 0 has no entry in c"
        ):
            gmatch.max_matching(graph, method=method, initial=[2, 0, -1, -1])
    with pytest.raises(gmatch.InvalidInput, match="^initial must not be masked"):
        gmatch.max_matching(graph, initial=np.ma.array([0, 1, 1, -1], mask=[0, 0, 1, 0]))


def test_start_of_numbers_that_are_no_columns() -> None:
    graph = sp.csr_array(np.eye(2))
    for number in (2**31, 2**32, 2**32 + 1, -(2**32)):
        with pytest.raises(gmatch.InvalidInput, match=f"^initial must hold columns from 0 to 1, or -1; got .*{number}"):
            gmatch.max_matching(graph, initial=np.array([-1, number]))


def test_result_lives_where_the_graph_lives(device: str) -> None:
    graph = put(INSTANCES["complete"], device)
    for elsewhere in ("cpu", device):
        matching = gmatch.max_matching(graph, device=elsewhere)
        assert matching.stats["backend"] == elsewhere
        for array in (matching.row_match, matching.col_match, matching.row_ind, *matching.vertex_cover()):
            assert hasattr(array, "get") == (device == "gpu")


def test_block_and_grid_teams(device: str) -> None:
    """Small graphs run in one block, large ones on the grid, and the host has its threads."""
    small = put(INSTANCES["complete"], device)
    large = put(sp.random_array((20000, 20000), density=2e-4, rng=0, format="csr"), device)
    teams = [gmatch.max_matching(graph, certify=True).stats["team"] for graph in (small, large)]
    assert teams == (["block", "grid"] if device == "gpu" else ["host", "host"])
    reference = gmatch.max_matching(large, device="cpu").size
    for method in methods_on(device):
        assert gmatch.max_matching(large, method=method, certify=True).size == reference


def test_vertex_cover_and_unpacking() -> None:
    graph = INSTANCES["star"]
    matching = gmatch.max_matching(graph)
    rows, columns = matching.vertex_cover()
    assert rows.tolist() == [] and columns.tolist() == [3]
    row_ind, col_ind = matching
    assert row_ind.tolist() == [0] and col_ind.tolist() == [3]
    assert repr(matching) == "<Matching of 1 edges between 100 rows and 5 columns>"


def test_layered_ladders_take_no_exponential_time() -> None:
    for rungs in (10, 100, 1000):
        ladder = gmatch.datasets.layered(rungs)
        for method in gmatch.METHODS:
            assert gmatch.max_matching(ladder, method=method, certify=True).stats["edges_inspected"] < 200 * ladder.nnz


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(0, 8)), data.draw(st.integers(0, 8))
    edge = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)) if rows and columns else None
    edges = [] if edge is None else data.draw(st.lists(edge, max_size=30))
    graph = nx.Graph()
    graph.add_nodes_from(("row", row) for row in range(rows))
    graph.add_nodes_from(("column", column) for column in range(columns))
    graph.add_edges_from((("row", row), ("column", column)) for row, column in edges)
    tops = [("row", row) for row in range(rows)]
    matching = gmatch.max_matching(gmatch.BipartiteGraph.from_networkx(graph, tops), certify=True)
    assert matching.size == len(nx.bipartite.hopcroft_karp_matching(graph, tops)) // 2


def test_a_small_graph_that_was_changed_is_refused() -> None:
    matrix = sp.csr_array(np.eye(4))
    graph = gmatch.BipartiteGraph(matrix)
    matrix.indices[0] = 2**30
    with pytest.raises(gmatch.InvalidInput, match="must not be changed"):
        gmatch.max_matching(graph)


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("_shape", (4, -29), "shape must have from 0"),
        ("_shape", (-1, 4), "shape must have from 0"),
        ("_shape", (4, 2**40), "shape must have from 0"),
        ("_shape", (4, 2.5), "shape must be two whole numbers"),
        ("_shape", (4, None), "shape must be two whole numbers"),
        ("_shape", (4,), "expected a matrix with rows and columns; got 1 dim"),
        ("_shape", None, "or a damaged one"),
        ("_shape", (5, 4), "indptr must have rows"),
        ("_shape", (4, 3), "column numbers must be from 0 to 2"),
        ("indices", None, "indices must be an array of integers"),
        ("indices", 5, "indices must be an array of integers"),
        ("indices", np.array(3), "indices must be a one-dimensional array"),
        ("indices", np.zeros((2, 2), np.int32), "indices must be a one-dimensional array"),
        ("indptr", None, "indptr must be an array of integers"),
        ("indptr", np.zeros(3, np.int32), "indptr must have rows"),
        ("indptr", np.zeros(5), "indptr must be a one-dimensional array of integers; got 1"),
    ],
)
def test_a_damaged_small_matrix_is_refused(field: str, value: Any, message: str) -> None:
    matrix = sp.csr_array(np.eye(4))
    setattr(matrix, field, value)
    with pytest.raises(gmatch.InvalidInput, match=message):
        gmatch.max_matching(matrix)


@pytest.mark.parametrize("columns", [np.ones(2, bool), None, [True] * 3, np.ones(3)], ids=str)
def test_verify_says_what_is_wrong_with_reached_columns(columns: Any) -> None:
    matrix = sp.csr_array(np.eye(3))
    matching = gmatch.max_matching(matrix)
    with pytest.raises(gmatch.CertificateError, match="reached_columns must"):
        gmatch.verify(matrix, dataclasses.replace(matching, reached_columns=columns))


def test_stats_are_those_of_matchings() -> None:
    assert not {"bids", "repricings", "price_ns", "dual_steps"} & set(
        gmatch.max_matching(sp.csr_array(np.eye(3))).stats
    )
