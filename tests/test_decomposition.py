"""Parts and blocks against their definitions, networkx, published ranks, and a verifier that believes nothing."""

import csv
import dataclasses
import itertools
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import host, put
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Triple, adjacency, largest_matching, random_graph

import gmatch
from gmatch import CertificateError, Decomposition
from gmatch.cardinality.decomposition import _parts_and_blocks

# More matrices than the project carries; not there on most machines.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "matrices"

Parts = list[tuple[frozenset[int], frozenset[int]]]

#     0 1 2 3 4 5
# 0   x x . . . .     horizontal
# 1   . . x x . .     square, one block of two pairs
# 2   . . x x x .
# 3   . . . . . x     vertical
# 4   . . . . . x
# 5   . . . . x x     square, one pair
GRAPH = sp.csr_array(
    [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 0], [0] * 5 + [1], [0] * 5 + [1], [0, 0, 0, 0, 1, 1]]
)


def parts_of(form: Decomposition) -> Parts:
    parts = (form.horizontal, form.square, form.vertical)
    return [(frozenset(host(rows).tolist()), frozenset(host(columns).tolist())) for rows, columns in parts]


def square_blocks_of(form: Decomposition) -> set[tuple[frozenset[int], frozenset[int]]]:
    p, q, r, s, cc, rr = (host(array).tolist() for array in form)
    blocks = zip(itertools.pairwise(r), itertools.pairwise(s), strict=True)
    return {
        (frozenset(p[top:bottom]), frozenset(q[left:right]))
        for (top, bottom), (left, right) in blocks
        if rr[1] <= top and bottom <= rr[2] and cc[2] <= left
    }


def without(columns_of: list[list[int]], row: int | None, column: int | None) -> list[list[int]]:
    """The graph without the entries of a row and a column."""
    return [[other for other in columns if other != column] for i, columns in enumerate(columns_of) if i != row]


def parts_by_definition(triple: Triple) -> Parts:
    """The vertical part is the rows that some maximum matching leaves free, with their columns; horizontal likewise."""
    (rows, columns), columns_of = triple[2], adjacency(triple)
    size = largest_matching(columns_of)
    vertical_rows = {row for row in range(rows) if largest_matching(without(columns_of, row, None)) == size}
    horizontal_columns = {
        column for column in range(columns) if largest_matching(without(columns_of, None, column)) == size
    }
    vertical_columns = {column for row in vertical_rows for column in columns_of[row]}
    horizontal_rows = {row for row in range(rows) if horizontal_columns & set(columns_of[row])}
    return [
        (frozenset(horizontal_rows), frozenset(horizontal_columns)),
        (
            frozenset(range(rows)) - horizontal_rows - vertical_rows,
            frozenset(range(columns)) - horizontal_columns - vertical_columns,
        ),
        (frozenset(vertical_rows), frozenset(vertical_columns)),
    ]


def blocks_by_definition(triple: Triple, square: tuple[frozenset[int], frozenset[int]]) -> set:
    """Two vertices share a block if entries that some maximum matching uses join them."""
    columns_of, graph = adjacency(triple), nx.Graph()
    size = largest_matching(columns_of)
    for row in square[0]:
        for column in square[1].intersection(columns_of[row]):
            if largest_matching(without(columns_of, row, column)) == size - 1:
                graph.add_edge(("row", row), ("column", column))
    return {
        tuple(frozenset(number for kind, number in block if kind == side) for side in ("row", "column"))
        for block in nx.connected_components(graph)
    }


def check_form(triple: Triple, form: Decomposition) -> None:
    """The picture in the documentation, entry by entry."""
    p, q, r, s, cc, rr = (host(array) for array in form)
    rows, columns = triple[2]
    dense = np.zeros((rows, columns), bool)
    for row, its_columns in enumerate(adjacency(triple)):
        dense[row, its_columns] = True
    assert all(array.dtype == np.int32 for array in (p, q, r, s, cc, rr))
    assert sorted(p) == list(range(rows)) and sorted(q) == list(range(columns))
    ordered = dense[p][:, q]
    for below, left in ((rr[1], cc[2]), (rr[2], cc[3])):
        assert not ordered[below:, :left].any()
    for top, left in zip(r[1:], s[1:], strict=True):
        assert not ordered[top:, :left].any()
    for part in range(3):
        block = ordered[rr[part] : rr[part + 1], cc[part + 1] : cc[part + 2]]
        assert block.shape[0] == block.shape[1] and block.diagonal().all()
    assert cc[0] == rr[0] == 0 and (cc[4], rr[4]) == (columns, rows) and rr[3] == form.matching.size
    # Strictly more columns, or none; strictly more rows, or none.
    assert cc[2] > rr[1] or cc[2] == rr[1] == 0
    assert rows - rr[2] > columns - cc[3] or rows - rr[2] == columns - cc[3] == 0
    assert all(r[k] < r[k + 1] or s[k] < s[k + 1] for k in range(len(r) - 1))
    begin, end = int(cc[2] > 0), len(r) - int(rr[2] < rows)
    assert (r[begin], r[end - 1], s[begin], s[end - 1]) == (rr[1], rr[2], cc[2], cc[3])
    assert (np.diff(r[begin:end]) == np.diff(s[begin:end])).all()
    for top, bottom in itertools.pairwise(r):
        if bottom <= rr[3]:
            assert (np.diff(p[top:bottom]) > 0).all()


def solve(triple: Triple, device: str, **options: object) -> Decomposition:
    graph = put(triple, device)
    form = gmatch.dulmage_mendelsohn(graph, **options)
    check_form(triple, form)
    proof = gmatch.verify(graph, form)
    assert proof == gmatch.DecompositionCertificate(form.matching.size, len(form.row_blocks) - 1)
    parts = parts_by_definition(triple)
    assert parts_of(form) == parts
    assert square_blocks_of(form) == blocks_by_definition(triple, parts[1])
    return form


def test_random_graphs(device: str) -> None:
    rng = np.random.default_rng(1)
    for case in range(3000 if device == "cpu" else 60):
        solve(random_graph(rng, (4, 6, 9)[case % 3]), device)


def test_square_graphs(device: str) -> None:
    """A matching is hidden in each graph, so the square part is the whole graph, in several blocks."""
    rng = np.random.default_rng(2)
    several = 0
    for _ in range(600 if device == "cpu" else 30):
        size = int(rng.integers(1, 10))
        dense = rng.random((size, size)) < rng.choice([0.05, 0.15, 0.3])
        dense[np.arange(size), rng.permutation(size)] = True
        matrix = sp.csr_array(dense)
        form = solve((matrix.indptr, matrix.indices, matrix.shape), device)
        several += 2 < len(form.row_blocks) < size + 1
        assert (host(form.row_blocks) == host(form.col_blocks)).all()
    assert several > (100 if device == "cpu" else 5)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 7))
    edge = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)) if rows and columns else None
    edges = sorted([] if edge is None else data.draw(st.lists(edge, max_size=24)))
    indptr = np.searchsorted([row for row, _ in edges], np.arange(rows + 1))
    solve((indptr, np.array([column for _, column in edges], int), (rows, columns)), "cpu")


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 5), (5, 3)])
def test_no_entries(shape: tuple[int, int], device: str) -> None:
    form = solve((np.zeros(shape[0] + 1, int), np.zeros(0, int), shape), device)
    free_rows, free_columns = np.arange(shape[0]), np.arange(shape[1])
    assert (host(form.row_order) == free_rows).all() and (host(form.col_order) == free_columns).all()
    assert len(form.row_blocks) == 1 + bool(shape[0]) + bool(shape[1])


def test_a_form(device: str) -> None:
    form = gmatch.dulmage_mendelsohn(put(GRAPH, device), certify=True)
    assert repr(form) == "<Decomposition into 4 blocks: horizontal 1 x 2, square 3 x 3, vertical 2 x 1>"
    assert parts_of(form) == [({0}, {0, 1}), ({1, 2, 5}, {2, 3, 4}), ({3, 4}, {5})]
    p, q, r, s, cc, rr = (host(array).tolist() for array in form)
    assert (r, s) == ([0, 1, 3, 4, 6], [0, 2, 4, 5, 6])
    assert (cc, rr) == ([0, 1, 2, 5, 6], [0, 1, 4, 5, 6])
    assert p[:4] == [0, 1, 2, 5]
    assert form.stats["backend"] == device and form.stats["blocks"] == "cpu"
    assert list(form.stats["seconds"]) == ["matching", "coarse", "fine"]


def test_arrays_live_where_the_graph_lives(device: str) -> None:
    for elsewhere in ("cpu", device):
        form = gmatch.dulmage_mendelsohn(put(GRAPH, device), device=elsewhere)
        assert form.stats["backend"] == elsewhere
        for array in (*form, *form.horizontal, *form.square, *form.vertical, form.matching.row_match):
            assert hasattr(array, "get") == (device == "gpu")


@pytest.mark.parametrize("as_format", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_formats(as_format: str) -> None:
    form = gmatch.dulmage_mendelsohn(GRAPH.asformat(as_format), certify=True)
    assert [sorted(rows) for rows, _ in (form.horizontal, form.square, form.vertical)] == [[0], [1, 2, 5], [3, 4]]


@pytest.mark.parametrize("offset, column", [("i4", "i4"), ("i8", "i4"), ("i8", "i8"), ("u2", "u1")])
def test_index_types(offset: str, column: str, device: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        indptr, indices, shape = random_graph(rng)
        solve((indptr.astype(offset), indices.astype(column), shape), device)


def test_stored_zeros_and_duplicates_and_longer_arrays(device: str) -> None:
    """One entry 300 times: a byte does not count that far."""
    indptr, indices = np.array([0, 300, 301, 602]), np.repeat([1, 0, 1, 2, 99], [300, 1, 300, 1, 5])
    solve((indptr, indices, (3, 3)), device)
    zeros = sp.csr_array((np.zeros(2), [1, 0], [0, 1, 2]), shape=(2, 2))
    assert gmatch.block_triangular_form(zeros).matching.size == 2


def test_input_is_not_changed() -> None:
    graph = sp.random_array((50, 40), density=0.05, rng=0, format="csr")
    for array in (graph.indptr, graph.indices):
        array.flags.writeable = False
    before = graph.copy()
    gmatch.dulmage_mendelsohn(graph, certify=True)
    assert (graph.indptr == before.indptr).all() and (graph.indices == before.indices).all()


@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
def test_every_matching_gives_the_same_blocks(method: object, device: str) -> None:
    graph = sp.random_array((300, 290), density=3 / 290, rng=4, format="csr")
    expected = gmatch.dulmage_mendelsohn(graph)
    for start in ("cheap", "shuffled", "min-degree", "karp-sipser", "none"):
        form = gmatch.dulmage_mendelsohn(put(graph, device), method=method, initial=start, certify=True)
        assert form.matching.stats["initial"] == start and form.stats["method"] == method.name
        assert parts_of(form) == parts_of(expected) and square_blocks_of(form) == square_blocks_of(expected)


def check_with_networkx(graph: sp.csr_array, form: Decomposition) -> None:
    """Blocks are the strong components of the square part, and come in an order of its condensation."""
    rows, columns = form.square
    pairs = graph[rows][:, columns].tocoo()
    directed = nx.DiGraph()
    directed.add_nodes_from(rows.tolist())
    directed.add_edges_from(zip(rows[pairs.row].tolist(), rows[pairs.col].tolist(), strict=True))
    assert {block for block, _ in square_blocks_of(form)} == set(
        map(frozenset, nx.strongly_connected_components(directed))
    )
    place = {row: block for block, rows in enumerate(blocks_in_order(form)) for row in rows}
    assert all(place[tail] <= place[head] for tail, head in directed.edges)


def blocks_in_order(form: Decomposition) -> list[list[int]]:
    return [form.row_order[top:bottom].tolist() for top, bottom in itertools.pairwise(form.row_blocks.tolist())]


def test_against_networkx() -> None:
    for seed in range(60):
        rows, columns, degree = 200 + 7 * seed, 300, 1 + seed % 4
        graph = sp.random_array((rows, columns), density=degree / columns, rng=seed, format="csr")
        check_with_networkx(graph, gmatch.dulmage_mendelsohn(graph, certify=True))


def test_bundled(device: str) -> None:
    for entry in gmatch.datasets.bundled():
        matrix = gmatch.datasets.load(entry.name)
        form = gmatch.dulmage_mendelsohn(put(matrix, device), certify=True)
        assert entry.structural_rank in (None, form.matching.size), entry.name
        if device == "cpu" and entry.rows < 20000:
            check_with_networkx(matrix, form)


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
def test_shared(device: str) -> None:
    with (SHARED / "manifest.tsv").open() as lines:
        manifest = list(csv.DictReader(lines, delimiter="\t"))
    for entry in manifest:
        with np.load(SHARED / entry["file"]) as arrays:
            graph = put((arrays["indptr"], arrays["indices"], arrays["shape"]), device)
        form = gmatch.dulmage_mendelsohn(graph)
        proof = gmatch.verify(graph, form)
        assert proof.structural_rank == int(entry["max_matching"]), entry["name"]
        assert entry["sprank_published"] in ("", str(proof.structural_rank)), entry["name"]
    assert len(manifest) == 414


def test_long_chains() -> None:
    """Each row is a block, and the blocks are a chain: no recursion, and no step for each level."""
    size = 200_000
    chain = sp.diags_array([np.ones(size), np.ones(size - 1)], offsets=[0, 1], format="csr")
    for matrix in (chain, chain.T.tocsr(), chain[np.random.default_rng(0).permutation(size)]):
        form = gmatch.block_triangular_form(matrix, certify=True)
        assert len(form.row_blocks) == size + 1
        assert sum(form.stats["seconds"].values()) < 5


def test_components_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy does not promise the order of components that gmatch relies on."""
    rng = np.random.default_rng(5)
    components_of = sp.csgraph.connected_components

    def shuffled(*arguments: object, **options: object) -> tuple[int, np.ndarray]:
        count, component = components_of(*arguments, **options)
        return count, rng.permutation(count).astype(np.int32)[component]

    monkeypatch.setattr(sp.csgraph, "connected_components", shuffled)
    for _ in range(300):
        solve(random_graph(rng), "cpu")
    size = 100_000
    chain = sp.diags_array([np.ones(size), np.ones(size - 1)], offsets=[0, 1], format="csr")
    form = gmatch.block_triangular_form(chain, certify=True)
    assert (form.row_order == np.arange(size)).all()


def test_a_linear_system_block_by_block(device: str) -> None:
    """What the form is for: only the diagonal blocks are factorised."""
    matrix = gmatch.datasets.load("HB/west0156")
    rng = np.random.default_rng(6)
    dense = np.where(matrix.toarray() != 0, rng.uniform(1, 2, matrix.shape), 0)
    p, q, r, *_ = (host(array) for array in gmatch.block_triangular_form(put(matrix, device)))
    assert len(r) > 2
    ordered, right = dense[p][:, q], rng.random(len(p))
    solution = np.zeros(len(p))
    for top, bottom in reversed(list(itertools.pairwise(r.tolist()))):
        known = right[p][top:bottom] - ordered[top:bottom, bottom:] @ solution[bottom:]
        solution[top:bottom] = np.linalg.solve(ordered[top:bottom, top:bottom], known)
    answer = np.zeros(len(p))
    answer[q] = solution
    assert np.allclose(dense @ answer, right)


def test_forms_that_do_not_exist(device: str) -> None:
    with pytest.raises(gmatch.InvalidInput) as caught:
        gmatch.block_triangular_form(put(sp.csr_array((2, 3)), device))
    assert str(caught.value) == (
        "expected a square matrix; got 2 rows and 3 columns; "
        "use gmatch.dulmage_mendelsohn for the form with rectangular blocks"
    )
    with pytest.raises(gmatch.Infeasible) as singular:
        gmatch.block_triangular_form(put(GRAPH, device))
    assert str(singular.value) == (
        "the matrix is structurally singular: its structural rank is 5 of 6, since 2 rows have entries in 1 columns "
        "only; use gmatch.dulmage_mendelsohn for the form with rectangular blocks"
    )
    assert host(singular.value.rows).tolist() == [3, 4] and host(singular.value.columns).tolist() == [5]
    assert hasattr(singular.value.rows, "get") == (device == "gpu")


def test_witnesses() -> None:
    """Rows that have entries in fewer columns, named in increasing order."""
    rng = np.random.default_rng(7)
    singular = 0
    for seed in range(200):
        matrix = sp.random_array((12, 12), density=rng.uniform(0.1, 0.3), rng=seed, format="csr")
        try:
            gmatch.block_triangular_form(matrix)
        except gmatch.Infeasible as error:
            singular += 1
            assert len(error.rows) > len(error.columns)
            assert np.unique(matrix[error.rows].indices).tolist() == error.columns.tolist()
            assert (np.diff(error.rows) > 0).all()
    assert 20 < singular < 200


def test_options_are_checked() -> None:
    for front_door in (gmatch.dulmage_mendelsohn, gmatch.block_triangular_form):
        with pytest.raises(gmatch.InvalidInput, match="unknown start"):
            front_door(sp.eye_array(2), initial="first")
        with pytest.raises(gmatch.InvalidInput, match="expected a sparse matrix"):
            front_door(np.eye(2))
        with pytest.raises(gmatch.InvalidInput, match="device must be"):
            front_door(sp.eye_array(2), device="tpu")
        with pytest.raises(gmatch.InvalidInput, match="threads must be"):
            front_door(sp.eye_array(2), threads=0)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads(threads: int) -> None:
    graph = sp.random_array((3000, 2900), density=2 / 2900, rng=8, format="csr")
    form = gmatch.dulmage_mendelsohn(graph, threads=threads, certify=True)
    assert form.matching.stats["threads"] == threads
    assert parts_of(form) == parts_of(gmatch.dulmage_mendelsohn(graph))


GOOD = Decomposition(
    *(
        np.array(array, np.int32)
        for array in (
            [0, 1, 2, 5, 3, 4],
            [1, 0, 2, 3, 4, 5],
            [0, 1, 3, 4, 6],
            [0, 2, 4, 5, 6],
            [0, 1, 2, 5, 6],
            [0, 1, 4, 5, 6],
        )
    ),
    gmatch.max_matching(GRAPH, initial=np.array([0, 2, 3, 5, -1, 4])),
)


def test_a_proof() -> None:
    assert gmatch.verify(GRAPH, GOOD) == gmatch.DecompositionCertificate(structural_rank=5, blocks=4)


ORDER = "must hold each number from 0 to 5 once"
OFFSETS = "must hold offsets from 0 to 6 that do not decrease"
SQUARE = "row_blocks and col_blocks must split the square part, and only that, into square blocks"


def below(row: int, column: int, row_block: int, col_block: int) -> str:
    return (
        f"the entry of row {row} and column {column} is below the diagonal blocks: that row is in block {row_block}, "
        f"that column in block {col_block}"
    )


PARTS = "must leave square parts for the 5 pairs of the matching"


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"row_order": [0, 1, 2, 5, 3]}, f"row_order {ORDER}"),
        ({"row_order": [0, 1, 2, 5, 3, 3]}, f"row_order {ORDER}"),
        ({"row_order": [0, 1, 2, 5, 3, 6]}, f"row_order {ORDER}"),
        ({"col_order": [1.0, 0, 2, 3, 4, 5]}, f"col_order {ORDER}"),
        ({"col_order": [1, 0, 2, 3, 4, -1]}, f"col_order {ORDER}"),
        ({"coarse_rows": [0, 1, 4, 6]}, "coarse_rows must hold 5 offsets; got 4"),
        ({"coarse_cols": [0, 1, 2, 5, 6, 6]}, "coarse_cols must hold 5 offsets; got 6"),
        ({"coarse_cols": [0, 2, 1, 5, 6]}, f"coarse_cols {OFFSETS}"),
        ({"coarse_rows": [1, 1, 4, 5, 6]}, f"coarse_rows {OFFSETS}"),
        ({"coarse_rows": [0, 1, 4, 5, 5]}, f"coarse_rows {OFFSETS}"),
        ({"coarse_rows": [0, 2, 4, 5, 6]}, f"coarse_rows [0, 2, 4, 5, 6] and coarse_cols [0, 1, 2, 5, 6] {PARTS}"),
        ({"coarse_rows": [0, 0, 3, 4, 6], "coarse_cols": [0, 2, 2, 5, 6]}, "coarse_rows [0, 0, 3, 4, 6] and"),
        ({"row_order": [0, 2, 1, 5, 3, 4]}, "row 2 must be on the diagonal with its mate, column 3"),
        ({"row_order": [0, 1, 2, 5, 4, 3]}, "row 4 must be on the diagonal with its mate, column -1"),
        ({"col_order": [0, 1, 2, 3, 4, 5]}, "row 0 must be on the diagonal with its mate, column 0"),
        ({"row_blocks": [[0, 6]]}, "row_blocks must be a one-dimensional array without a mask; got ndarray of shape "),
        ({"row_blocks": []}, f"row_blocks {OFFSETS}"),
        ({"col_blocks": [0.0, 2, 4, 5, 6]}, f"col_blocks {OFFSETS}"),
        ({"row_blocks": [0, 1, 3, 6]}, SQUARE),
        ({"row_blocks": [0, 1, 3, 6], "col_blocks": [0, 2, 4, 6]}, SQUARE),
        ({"row_blocks": [0, 2, 3, 4, 6]}, SQUARE),
        ({"row_blocks": [0, 1, 2, 4, 6]}, SQUARE),
        ({"row_blocks": [0, 1, 3, 3, 4, 6], "col_blocks": [0, 2, 4, 4, 5, 6]}, SQUARE),
        ({"row_blocks": [0, 2, 4, 6], "col_blocks": [0, 3, 5, 6]}, SQUARE),
        ({"row_blocks": [0, 6], "col_blocks": [0, 6]}, SQUARE),
        (
            {"row_blocks": [0, 1, 2, 3, 4, 6], "col_blocks": [0, 2, 3, 4, 5, 6]},
            below(2, 2, 2, 1),
        ),
        (
            {"row_order": [0, 5, 1, 2, 3, 4], "col_order": [1, 0, 4, 2, 3, 5], "row_blocks": [0, 1, 2, 4, 6],
             "col_blocks": [0, 2, 3, 5, 6]},
            below(2, 4, 2, 1),
        ),
        ({"row_blocks": [0, 1, 4, 6], "col_blocks": [0, 2, 5, 6]}, "the square block of row 5 can be split"),
        (
            {"coarse_rows": [0, 1, 3, 5, 6], "coarse_cols": [0, 1, 2, 4, 6], "row_blocks": [0, 1, 3, 6],
             "col_blocks": [0, 2, 4, 6]},
            "row 5 must not be in the vertical part: no alternating path joins it to a free vertex there",
        ),
        (
            {"coarse_rows": [0, 3, 4, 5, 6], "coarse_cols": [0, 1, 4, 5, 6], "row_blocks": [0, 3, 4, 6],
             "col_blocks": [0, 4, 5, 6]},
            "row 1 must not be in the horizontal part: no alternating path joins it to a free vertex there",
        ),
        (
            {"coarse_rows": [0, 0, 4, 5, 6], "coarse_cols": [0, 1, 1, 5, 6], "row_blocks": [0, 0, 1, 3, 4, 6],
             "col_blocks": [0, 1, 2, 4, 5, 6]},
            below(0, 1, 1, 0),
        ),
        (
            {"coarse_rows": [0, 1, 5, 5, 6], "coarse_cols": [0, 1, 2, 6, 6], "row_blocks": [0, 1, 3, 4, 5, 6],
             "col_blocks": [0, 2, 4, 5, 6, 6]},
            below(4, 5, 4, 3),
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(changes: dict, message: str) -> None:
    typed = {name: np.array(values) for name, values in changes.items()}
    with pytest.raises(CertificateError) as caught:
        gmatch.verify(GRAPH, dataclasses.replace(GOOD, **typed))
    assert message in str(caught.value)


def test_a_block_that_can_be_split_there_but_not_back() -> None:
    """One block from two: its first pair leads to the second, or the second to the first."""
    for dense in ([[1, 1], [0, 1]], [[1, 0], [1, 1]]):
        matching = gmatch.max_matching(sp.csr_array(dense))
        p, q, r, s = np.arange(2), np.arange(2), np.array([0, 2]), np.array([0, 2])
        cc, rr = np.array([0, 0, 0, 2, 2]), np.array([0, 0, 2, 2, 2])
        with pytest.raises(CertificateError, match="the square block of row 1 can be split"):
            gmatch.verify(sp.csr_array(dense), Decomposition(p, q, r, s, cc, rr, matching))


def test_a_matching_that_is_not_maximum_proves_nothing() -> None:
    matching = dataclasses.replace(GOOD.matching, reached_columns=np.zeros(6, bool))
    with pytest.raises(CertificateError, match="is not covered|the cover has"):
        gmatch.verify(GRAPH, dataclasses.replace(GOOD, matching=matching))


@pytest.mark.parametrize("field", ["row_order", "col_order", "row_blocks", "col_blocks", "coarse_cols", "coarse_rows"])
@pytest.mark.parametrize(
    "value", [None, 3, "abc", [0, 6], np.array(3), np.zeros((2, 2), int), np.ma.zeros(6)], ids=repr
)
def test_what_is_no_array_is_refused(field: str, value: Any) -> None:
    with pytest.raises(CertificateError, match=f"{field} must be a one-dimensional array"):
        gmatch.verify(GRAPH, dataclasses.replace(GOOD, **{field: value}))


def test_what_is_no_matching_is_refused() -> None:
    with pytest.raises(CertificateError, match="matching must be a Matching; got NoneType"):
        gmatch.verify(GRAPH, dataclasses.replace(GOOD, matching=None))
    with pytest.raises(CertificateError, match="size must be an integer; got ndarray"):
        gmatch.verify(GRAPH, dataclasses.replace(GOOD.matching, size=np.zeros(2)))


def test_a_graph_that_changed_on_a_gpu_is_refused() -> None:
    """Its offsets are copied to the host after the matching, and are checked again there."""

    class Changed:
        device = "gpu"

        def on(self, device: str) -> gmatch.BipartiteGraph:
            offsets, columns = np.array([0, 2, 1, 3], np.int32), np.array([0, 1, 2], np.int32)
            return gmatch.BipartiteGraph.of_checked(offsets, columns, (3, 3), "cpu")

    matching = gmatch.max_matching(sp.csr_array(np.eye(3)))
    changed: Any = Changed()
    with pytest.raises(gmatch.InvalidInput, match="indptr"):
        _parts_and_blocks(changed, matching)
