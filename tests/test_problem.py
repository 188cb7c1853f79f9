"""Bad input gets an error of ours that says what was expected, what came and what to do."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import gmatch
from gmatch import BipartiteGraph, InvalidInput


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


GOOD = sp.csr_array(np.array([[1, 1, 0], [0, 1, 1]]))

# ruff: noqa: E501
BAD_TRIPLES = [
    ((ints(0, 1), ints(0)), "expected a triple (indptr, indices, shape); got a tuple of 2"),
    ((ints(0, 1), ints(0), (1,)), "shape must be two whole numbers, rows and columns; got (1,)"),
    ((ints(0, 1), ints(0), (1.5, 1)), "shape must be two whole numbers, rows and columns; got (1.5, 1)"),
    ((ints(0, 1), ints(0), (float("nan"), 1)), "shape must be two whole numbers, rows and columns; got (nan, 1)"),
    ((ints(0, 1), ints(0), (1, -1)), "shape must have from 0 to 2147483646 rows and columns; got (1, -1)"),
    ((ints(0, 1), ints(0), (1, 2**31)), "shape must have from 0 to 2147483646 rows and columns; got (1, 2147483648)"),
    ((ints(0, 1), ints(0), (2, 1)), "indptr must have rows + 1 = 3 offsets for shape (2, 1); got 2"),
    ((ints(1, 1), ints(0), (1, 1)), "indptr must start with 0; got 1"),
    ((ints(-1, 1), ints(0), (1, 1)), "indptr must start with 0; got -1"),
    ((ints(0, 2, 1), ints(0, 0), (2, 1)), "indptr must not decrease; row 1 would begin at 2 and end at 1"),
    ((ints(0, -5, 1), ints(0, 0), (2, 1)), "indptr must not decrease; row 0 would begin at 0 and end at -5"),
    ((ints(0, 3), ints(0, 0), (1, 1)), "indptr promises 3 entries, but indices has 2"),
    ((ints(0, 2**31 - 1), ints(0), (1, 1)), "indptr promises 2147483647 entries, but indices has 1"),
    ((ints(0, 2), ints(0, 1), (1, 1)), "column numbers must be from 0 to 0; entry 1 is 1"),
    ((ints(0, 2), ints(-1, 0), (1, 1)), "column numbers must be from 0 to 0; entry 0 is -1"),
    ((ints(0, 1), np.array([0.0]), (1, 1)), "indices must be a one-dimensional array of integers; got 1 dimensions of float64"),
    ((np.array([0, np.nan]), ints(0), (1, 1)), "indptr must be a one-dimensional array of integers; got 1 dimensions of float64"),
    ((np.zeros((2, 2), int), ints(0), (1, 1)), "indptr must be a one-dimensional array of integers; got 2 dimensions of int64"),
    ((ints(0, 1), np.array([2**40]), (1, 1)), "column numbers must be from 0 to 0; entry 0 is 1099511627776"),
    ((ints(0, 1), np.array([2**63], np.uint64), (1, 1)), "column numbers must be from 0 to 0; entry 0 is -9223372036854775808"),
]  # fmt: skip


@pytest.mark.parametrize("triple, message", BAD_TRIPLES)
def test_bad_triples(triple: tuple, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        gmatch.max_matching(triple)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "graph, message",
    [
        (3, "expected a sparse matrix, a triple (indptr, indices, shape) or a BipartiteGraph; got int"),
        (None, "expected a sparse matrix, a triple (indptr, indices, shape) or a BipartiteGraph; got NoneType"),
        (np.eye(3), "use scipy.sparse.csr_array(matrix)"),
        (nx.path_graph(3), "use gmatch.BipartiteGraph.from_networkx(graph, top_nodes)"),
        (sp.coo_array(np.ones(3)), "expected a matrix with rows and columns; got 1 dimensions"),
    ],
)
def test_not_a_graph(graph: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        gmatch.max_matching(graph)
    assert message in str(caught.value)


def test_lists_are_arrays() -> None:
    assert gmatch.max_matching(([0, 1, 2], [1, 0], (2, 2))).size == 2
    with pytest.raises(InvalidInput, match="indices must be a one-dimensional array of integers"):
        gmatch.max_matching(([0, 1], ["a"], (1, 1)))


@pytest.mark.parametrize("as_format", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("bad", [-1, 3, 10**6, 2**31 - 1])
def test_corrupt_matrices_are_refused_before_scipy_converts_them(as_format: str, bad: int) -> None:
    matrix = GOOD.copy().asformat(as_format)
    if as_format == "coo":
        matrix.coords[1].flags.writeable = True
        matrix.coords[1][0] = bad
    else:
        matrix.indices[0] = bad
    with pytest.raises(InvalidInput, match="numbers must be from 0 to"):
        gmatch.max_matching(matrix)


@pytest.mark.parametrize("as_format", ["csr", "csc", "bsr"])
def test_corrupt_offsets_are_refused(as_format: str) -> None:
    matrix = GOOD.copy().asformat(as_format)
    matrix.indptr[1] = 10**6
    with pytest.raises(InvalidInput, match="indptr must not decrease"):
        gmatch.max_matching(matrix)


def test_short_data_is_refused_before_scipy_converts_it() -> None:
    column_major = GOOD.tocsc()
    column_major.data = column_major.data[:1]
    with pytest.raises(InvalidInput, match="CSC data and indices must be equally long; got 1 and 4"):
        gmatch.max_matching(column_major)


def test_frozen() -> None:
    graph = BipartiteGraph(GOOD)
    with pytest.raises(AttributeError, match="frozen"):
        graph.shape = (1, 1)
    with pytest.raises(AttributeError, match="frozen"):
        del graph.shape
    assert repr(graph) == "<BipartiteGraph of 2 rows, 3 columns and 4 entries on the cpu>"
    assert graph.on("cpu") is graph
    assert graph.indices is GOOD.indices


def test_networkx() -> None:
    graph = nx.Graph([("a", 1), ("a", 2), ("b", 1), ("c", 1)])
    made = BipartiteGraph.from_networkx(graph, ["a", "b", "c"])
    assert made.row_nodes == ("a", "b", "c") and made.col_nodes == (1, 2)
    row_ind, col_ind = gmatch.max_matching(made)
    pairs = [(made.row_nodes[row], made.col_nodes[column]) for row, column in zip(row_ind, col_ind, strict=True)]
    assert all(graph.has_edge(*pair) for pair in pairs)
    assert len(row_ind) == 2


@pytest.mark.parametrize(
    "top_nodes, message",
    [
        (["a", "a"], "top_nodes must be distinct nodes; 1 are given twice"),
        (["a", "z"], "top_nodes must be nodes of the graph; 'z' is not"),
        (["a", None], "top_nodes must be nodes of the graph; None is not"),
        ([None, "z"], "top_nodes must be nodes of the graph; None is not"),
        (["a"], "1 - 'b' joins two bottom nodes; give one whole side"),
        (["a", "b", 1], "'a' - 1 joins two top nodes; give one whole side"),
    ],
)
def test_networkx_errors(top_nodes: list, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BipartiteGraph.from_networkx(nx.Graph([("a", 1), ("b", 1)]), top_nodes)
    assert message in str(caught.value)


OPTIONS = [
    ({"method": "apfc"}, "unknown method 'apfc'; expected one of 'auto', 'apfb', 'apsb', 'claims'"),
    ({"method": 3}, "unknown method 3; expected one of"),
    ({"initial": "karp"}, "unknown start 'karp'; expected 'none', 'cheap', 'shuffled', 'min-degree', 'karp-sipser', 'auto', a Matching, or an array"),
    ({"initial": ints(0)}, "initial must be a Matching or an integer array of shape (2,), the column of each row or -1; got int32 of shape (1,)"),
    ({"initial": np.array([0.0, np.nan])}, "initial must be a Matching or an integer array of shape (2,)"),
    ({"initial": ints(0, 3)}, "initial must hold columns from 0 to 2, or -1; got 0 to 3"),
    ({"initial": ints(-2, 1)}, "initial must hold columns from 0 to 2, or -1; got -2 to 1"),
    ({"initial": ints(2, 1)}, "initial must be a matching of the graph; row 0 has no entry in column 2"),
    ({"initial": ints(1, 1)}, "initial must be a matching; column 1 is given to more than one row"),
    ({"threads": 0}, "threads must be an integer from 1 to 1024, or None; got 0"),
    ({"threads": 1.5}, "threads must be an integer from 1 to 1024, or None; got 1.5"),
    ({"threads": True}, "threads must be an integer from 1 to 1024, or None; got True"),
    ({"threads": 10**6}, "threads must be an integer from 1 to 1024, or None; got 1000000"),
    ({"device": "tpu"}, "device must be 'cpu', 'gpu' or None (where the input lives); got 'tpu'"),
]  # fmt: skip


@pytest.mark.parametrize("options, message", OPTIONS)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        gmatch.max_matching(GOOD, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("make", [gmatch.APFB, gmatch.APsB])
def test_bad_fields(make: type) -> None:
    with pytest.raises(InvalidInput) as caught:
        make(bfs="dfs")
    assert str(caught.value) == f"{make.__name__}(bfs=...) must be one of 'gpubfs', 'gpubfs-wr'; got 'dfs'"


def test_method_names() -> None:
    assert len({method.name for method in gmatch.METHODS}) == len(gmatch.METHODS) == 16
    for method in gmatch.METHODS:
        assert gmatch.max_matching(GOOD, method=method.name.upper()).stats["method"] == method.name
    assert gmatch.max_matching(GOOD, method="apfb").stats["method"] == "apfb-gpubfs-wr-ct"
    assert gmatch.max_matching(GOOD).stats["method"] == "mixed"


def test_gpu_that_is_not_there() -> None:
    from conftest import GPU

    if GPU:
        pytest.skip("a GPU is there")
    with pytest.raises(gmatch.BackendUnavailable, match="device='gpu' needs"):
        gmatch.max_matching(GOOD, device="gpu")


def damaged_lil_long_row() -> sp.lil_array:
    matrix = sp.lil_array(np.eye(5))
    matrix.data[0] = list(range(1000))
    return matrix


def damaged_lil_few_rows() -> sp.lil_array:
    matrix = sp.lil_array(np.eye(5))
    matrix.rows = matrix.rows[:2]
    return matrix


def damaged_bsr() -> sp.bsr_array:
    matrix = sp.bsr_array(np.eye(8), blocksize=(2, 2))
    matrix._shape = (9, 9)
    return matrix


def damaged_dia() -> sp.dia_array:
    matrix = sp.dia_array(np.eye(5))
    matrix.offsets = np.zeros(1000, np.int32)
    return matrix


def damaged_csc() -> sp.csc_array:
    matrix = sp.csc_array(np.eye(5))
    matrix.data = None
    return matrix


@pytest.mark.parametrize(
    "make, message",
    [
        (damaged_lil_long_row, "LIL row 0 has 1 columns and 1000 values"),
        (damaged_lil_few_rows, "LIL must have 5 lists of columns and of data; got 2 and 5"),
        (damaged_bsr, "BSR shape (9, 9) must be a multiple of its blocks, 2 x 2"),
        (damaged_dia, "DIA must have a row of data for each offset; got data of shape (1, 5) and 1000 offsets"),
        (damaged_csc, "expected a sparse matrix; got csc_array, which is no matrix or a damaged one: TypeError"),
        (lambda: memoryview(np.eye(2)), "expected a sparse matrix; got memoryview"),
    ],
)
def test_damaged_matrices(make: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        gmatch.max_matching(make())
    assert str(caught.value).startswith(message)


def damaged(form: str, **changes: object) -> sp.sparray:
    """A matrix of 4 x 6 with some of its attributes changed, by functions of what they were or to values."""
    matrix = sp.csr_array(np.eye(4, 6) + np.eye(4, 6, 2)).asformat(form)
    matrix = matrix.tobsr((2, 2)) if form == "bsr" else matrix
    for name, value in changes.items():
        setattr(matrix, name, value(getattr(matrix, name)) if callable(value) else value)
    return matrix


def masked(array: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 0)


def first_none(lists: np.ndarray) -> np.ndarray:
    lists = lists.copy()
    lists[0] = None
    return lists


NO_MATRIX = "which is no matrix or a damaged one"
DAMAGED = [
    ("dia", {"offsets": np.array([2**62, -(2**63)])}, "DIA offsets must be from -2147483646 to 2147483642 for 4 rows; got -9223372036854775808 to 4611686018427387904"),
    ("dia", {"offsets": np.array([2**32, 2**32 + 2])}, "DIA offsets must be from -2147483646 to 2147483642 for 4 rows; got"),
    ("dia", {"offsets": masked}, "DIA offsets must not be masked"),
    ("dia", {"offsets": np.array([0.0, 2.0])}, "DIA offsets must be a one-dimensional array of integers"),
    ("dia", {"offsets": np.array([0, 2], np.int8)}, "DIA offsets must be int32 or int64; got int8"),  # SciPy's sums with rows overflow
    ("dia", {"offsets": np.array([0, 2], np.uint64)}, "DIA offsets must be int32 or int64; got uint64"),
    ("dia", {"offsets": ints(2, 2)}, "DIA offsets must be distinct"),
    ("dia", {"offsets": ints(0, 2)[None]}, "DIA must have a row of data for each offset"),
    ("dia", {"offsets": [0, 2]}, NO_MATRIX),
    ("dia", {"offsets": None}, NO_MATRIX),
    ("dia", {"data": np.empty(0)}, "DIA must have a row of data for each offset"),
    ("dia", {"_shape": (4,)}, "expected a matrix with rows and columns; got 1 dimensions"),
    ("dia", {"_shape": ("a", 6)}, "shape must be two whole numbers"),
    ("dok", {"_shape": (2**31, 2**31)}, "shape must have from 0 to 2147483646 rows and columns"),
    ("coo", {"_shape": (2**31, 2**31)}, "shape must have from 0 to 2147483646 rows and columns"),
    ("coo", {"data": lambda data: data[:-1]}, "COO row numbers and data must be equally long; got 8 and 7"),
    ("coo", {"coords": lambda coords: (coords[0], coords[1][:-1])}, "COO column numbers and data must be equally long; got 7 and 8"),
    ("coo", {"coords": lambda coords: (coords[0], None)}, "COO column numbers must be an array of integers"),
    ("coo", {"coords": lambda coords: (masked(coords[0]), coords[1])}, "COO row numbers must not be masked"),
    ("coo", {"coords": lambda coords: (coords[0] * 1.0, coords[1])}, "COO row numbers must be a one-dimensional array of integers"),
    ("csr", {"indptr": None}, "indptr must be an array of integers"),
    ("csr", {"indptr": lambda indptr: indptr[None]}, "indptr must be a one-dimensional array of integers"),
    ("csc", {"indptr": ints()}, "indptr must have rows + 1 = 7 offsets"),
    ("csc", {"indices": masked}, "indices must not be masked"),
    ("bsr", {"data": np.empty(0)}, NO_MATRIX),
    ("bsr", {"data": np.empty((4, 0, 0))}, NO_MATRIX),
    ("lil", {"data": first_none}, NO_MATRIX),
    ("lil", {"rows": None}, NO_MATRIX),
    ("dok", {"_dict": {(9, 9): 1.0}}, NO_MATRIX),
]  # fmt: skip


@pytest.mark.parametrize("solve", [gmatch.max_matching, BipartiteGraph, gmatch.lap, gmatch.SparseCosts])
@pytest.mark.parametrize(("form", "changes", "message"), DAMAGED)
def test_damage_is_found_before_scipy_converts(solve: object, form: str, changes: dict, message: str) -> None:
    matrix = damaged(form, **changes)
    with pytest.raises(InvalidInput) as caught:
        solve(matrix)
    assert message in str(caught.value)


@pytest.mark.parametrize("solve", [gmatch.max_matching, gmatch.SparseCosts])
@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
@pytest.mark.parametrize("shape", [None, 5, (4, 6, 1), (4, 6.5), (-1, 6)])
def test_damaged_shapes(solve: object, form: str, shape: object) -> None:
    with pytest.raises(InvalidInput, match="(a damaged one: TypeError|got 3 dimensions|shape must )"):
        solve(damaged(form, _shape=shape))


def test_diagonals_outside_of_a_resized_matrix_are_none() -> None:
    matrix = sp.dia_array(np.triu(np.ones((8, 8))))
    matrix.resize(3, 3)
    assert matrix.offsets.max() == 7
    assert gmatch.max_matching(matrix).size == 3 and gmatch.lap(matrix).cost == 3


def test_masked_indices_are_refused() -> None:
    masked = np.ma.masked_array([0, 1], mask=[False, True])
    with pytest.raises(InvalidInput, match="indices must not be masked"):
        gmatch.max_matching((ints(0, 2), masked, (1, 2)))


def test_pickle_and_copy() -> None:
    graph = pickle.loads(pickle.dumps(BipartiteGraph(GOOD)))
    assert gmatch.max_matching(copy.deepcopy(graph), certify=True).size == 2


def test_starts_that_are_no_arrays() -> None:
    assert gmatch.max_matching((ints(0), ints(), (0, 3)), initial=[]).size == 0
    assert gmatch.max_matching(GOOD, initial=[0, -1]).stats["start_size"] == 1
    with pytest.raises(InvalidInput, match="initial must be a Matching or an"):
        gmatch.max_matching(GOOD, initial=[[1], [2, 3]])


def test_a_graph_of_a_graph_is_checked_anew_and_keeps_its_names() -> None:
    named = gmatch.BipartiteGraph.from_networkx(nx.Graph([("a", 1), ("b", 2)]), top_nodes=["a", "b"])
    again = gmatch.BipartiteGraph(named)
    assert again.row_nodes == ("a", "b") and again.indices is named.indices
    named.indices[0] = 7
    with pytest.raises(gmatch.InvalidInput):
        gmatch.BipartiteGraph(named)


@pytest.mark.parametrize(("graph", "nodes"), [(nx.path_graph(2), None), (nx.path_graph(2), [[0]]), (3, [0])], ids=str)
def test_what_is_no_networkx_graph(graph: object, nodes: object) -> None:
    with pytest.raises(InvalidInput, match="expected a networkx graph and the nodes of it that are rows"):
        BipartiteGraph.from_networkx(graph, nodes)
