"""The generators: shapes, counts, structure, seeds, and the text form of `generate`."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from gmatch.datasets import delaunay, erdos_renyi, generate, kron, layered, mesh_dual, permute, rgg, rmat, road
from gmatch.errors import InvalidInput

SYMMETRIC = {"delaunay": delaunay, "rgg": rgg, "mesh_dual": mesh_dual, "road": road}
DIRECTED = {"rmat": rmat, "erdos_renyi": lambda n, seed=0: erdos_renyi(n, degree=min(4, n), seed=seed)}
BY_ROWS = SYMMETRIC | DIRECTED
HUGE = 10**5000  # Python refuses to write it


def repr_of(value):
    return "huge" if value is HUGE else repr(value)


def assert_is_pattern(matrix, shape):
    assert isinstance(matrix, csr_array)
    assert matrix.shape == shape
    assert matrix.dtype == np.int8 and np.all(matrix.data == 1)
    assert matrix.indices.dtype == np.int32 and matrix.indptr.dtype == np.int32
    fresh = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=shape)
    fresh.check_format(full_check=True)
    assert fresh.has_canonical_format, "sorted, no duplicates"


def assert_is_undirected_graph(matrix):
    assert (matrix != matrix.T).nnz == 0
    assert matrix.diagonal().sum() == 0


def degrees(matrix):
    return np.diff(matrix.indptr)


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 33, 100, 1000, 1001])
@pytest.mark.parametrize("name", BY_ROWS)
def test_every_size_gives_a_pattern(name, n):
    matrix = BY_ROWS[name](n)
    assert_is_pattern(matrix, (n, n))
    if name in SYMMETRIC:
        assert_is_undirected_graph(matrix)


@pytest.mark.parametrize("name", BY_ROWS)
def test_the_seed_decides(name):
    assert same(BY_ROWS[name](300, seed=1), BY_ROWS[name](300, seed=1))
    assert not same(BY_ROWS[name](300, seed=1), BY_ROWS[name](300, seed=2))


@pytest.mark.parametrize("name", ["delaunay", "mesh_dual", "road"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 17, 1000, 4097])
def test_meshes_and_roads_are_connected(name, n):
    assert connected_components(SYMMETRIC[name](n))[0] == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 10, 999, 5000])
def test_a_triangle_has_three_neighbours(n):
    dual = mesh_dual(n)
    assert degrees(dual).max(initial=0) <= 3
    # Only triangles at the hull, or next to a dropped triangle, have fewer than three neighbours.
    assert (3 * n - dual.nnz) <= 8


@pytest.mark.parametrize("seed", [0, 1])
def test_counts_of_the_collection(seed):
    """DIMACS10/delaunay_n15 has 196,548 entries, rgg_n_2_15_s0 320,480."""
    assert delaunay(1 << 15, seed=seed).nnz == pytest.approx(196_548, rel=0.001)
    assert rgg(1 << 15, seed=seed).nnz == pytest.approx(320_480, rel=0.005)


def test_entries_per_row():
    assert road(1 << 14).nnz / (1 << 14) == pytest.approx(2.2, rel=0.01)
    assert rmat(1 << 15).nnz / (1 << 15) == pytest.approx(14, rel=0.05)
    assert erdos_renyi(1 << 14).nnz / (1 << 14) == pytest.approx(4, rel=0.03)
    assert erdos_renyi(1 << 14, degree=1.5).nnz / (1 << 14) == pytest.approx(1.5, rel=0.05)


def test_natural_order_is_spatial():
    """Most neighbours have near numbers. After `permute` they differ by a third of all numbers on average."""
    for generator in SYMMETRIC.values():
        natural = coo_array(generator(4000))
        permuted = coo_array(permute(natural))
        assert np.median(np.abs(natural.row - natural.col)) < 100
        assert np.mean(np.abs(permuted.row - permuted.col)) == pytest.approx(4000 / 3, rel=0.1)


@pytest.mark.parametrize("scale", [0, 1, 2, 5, 10])
def test_kron(scale):
    graph = kron(scale)
    assert_is_pattern(graph, (1 << scale, 1 << scale))
    assert_is_undirected_graph(graph)
    assert same(graph, kron(scale))


def test_kron_has_the_size_of_the_collection():
    """DIMACS10/kron_g500-simple-logn16 has 4,912,142 entries."""
    graph = kron(16)
    assert graph.nnz == pytest.approx(4_912_142, rel=0.015)
    assert degrees(graph).max() > 50 * degrees(graph).mean()


def test_erdos_renyi_extremes():
    assert erdos_renyi(50, degree=0).nnz == 0
    assert erdos_renyi(50, degree=50).nnz == 2500
    assert erdos_renyi(0).nnz == 0


def test_rmat_entries():
    assert rmat(100, entries=0).nnz == 0
    assert 0 < rmat(100, entries=50).nnz <= 50
    assert rmat(1, entries=5).nnz == 1


class NaiveSearch:
    """Kuhn's method as it should not be written: it marks its current path, but not its dead ends."""

    def __init__(self, matrix):
        self.columns_of = np.split(matrix.indices, matrix.indptr[1:-1])
        self.mate = {}
        self.visits = 0

    def augment(self, row, path=frozenset()):
        for column in self.columns_of[row]:
            if column in path:
                continue
            self.visits += 1
            if column not in self.mate or self.augment(self.mate[column], path | {column}):
                self.mate[column] = row
                return True
        return False


@pytest.mark.parametrize("k", range(1, 12))
def test_the_ladder_is_exponential_for_a_search_without_dead_ends(k):
    matrix = layered(k)
    search = NaiveSearch(matrix)
    for row in range(3 * k):
        assert search.augment(row)
    assert search.visits == 3 * k, "a greedy start matches the ladder and the path"
    search.visits = 0
    assert not search.augment(3 * k)
    assert search.visits == 2 ** (k + 1) - 2
    assert search.augment(3 * k + 1)
    assert len(search.mate) == 3 * k + 1


@pytest.mark.parametrize("k", [0, 1, 2, 3, 8, 200])
def test_the_ladder_has_a_matching_of_known_size(k):
    matrix = layered(k)
    assert_is_pattern(matrix, (3 * k + 2, 3 * k + 1))
    assert matrix.nnz == max(8 * k - 1, 1)
    if k <= 8:  # SciPy's search takes exponential time, too
        assert np.count_nonzero(maximum_bipartite_matching(matrix) >= 0) == 3 * k + 1


def test_permute_keeps_the_matrix():
    random = np.random.default_rng(0)
    matrix = csr_array(random.integers(0, 3, (30, 20)) * random.random((30, 20)))
    before = matrix.copy()
    permuted = permute(matrix, seed=5)
    assert same(matrix, before)
    assert permuted.shape == matrix.shape and permuted.dtype == matrix.dtype and permuted.has_sorted_indices
    assert sorted(permuted.data) == sorted(matrix.data)
    for axis in (0, 1):
        assert np.sort(permuted.sum(axis=axis)) == pytest.approx(np.sort(matrix.sum(axis=axis)))
    assert same(permuted, permute(matrix.tocsc(), seed=5))
    assert not same(permuted, permute(matrix, seed=6))


def test_permute_moves_rows_and_columns_independently():
    identity = permute(csr_array(np.eye(100, dtype=np.int8)))
    assert_is_pattern(identity, (100, 100))
    assert identity.diagonal().sum() < 20
    assert np.all(identity.sum(axis=0) == 1)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_permute_of_nothing(shape):
    assert permute(csr_array(shape, dtype=np.int8)).shape == shape


@pytest.mark.parametrize("not_a_matrix", [3, "x", np.arange(3), None])
def test_permute_refuses(not_a_matrix):
    with pytest.raises(InvalidInput, match="expected a sparse matrix with rows and columns, got"):
        permute(not_a_matrix)


def damaged(layout, **arrays):
    matrix = csr_array(np.eye(5)).asformat(layout)
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            damaged("csr", indices=np.array([0, 1, 2, 3, 10**6], np.int32)),
            "column numbers must be from 0 to 4; entry 4",
        ),
        (damaged("csr", indices=np.array([0, 1, 2, 3, -(10**6)], np.int32)), "column numbers must be from 0 to 4"),
        (damaged("csr", indptr=np.array([0, 1, 2, 10**6, 4, 5], np.int32)), "indptr must not decrease"),
        (damaged("csr", indptr=np.array([0, 1, 2, 3, 4, 10**6], np.int32)), "indptr promises 1000000 entries"),
        (damaged("csr", indptr=np.array([-(10**6), 1, 2, 3, 4, 5], np.int32)), "indptr must start with 0"),
        (damaged("csr", indptr=np.array([0, 5], np.int32)), "indptr must have rows + 1 = 6 offsets"),
        (damaged("csr", indices=np.arange(5.0)), "indices must be a one-dimensional array of integers"),
        (damaged("csr", data=np.ones(1)), "expected a sparse matrix with rows and columns, got csr_array: "),
        (damaged("csr", data=None), "expected a sparse matrix with rows and columns, got csr_array: "),
        (damaged("csr", data=np.full(5, None)), "expected a sparse matrix with rows and columns, got csr_array: "),
        (damaged("csc", indices=np.array([0, 1, 2, 3, 10**6], np.int32)), "column numbers must be from 0 to 4"),
        (damaged("coo", coords=(np.arange(5), np.arange(5) + 10**6)), "column numbers must be from 0 to 4"),
    ],
    ids=range(12),
)
def test_permute_refuses_damaged_matrices(matrix, message):
    with pytest.raises(InvalidInput) as error:
        permute(matrix)
    assert message in str(error.value)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_permute_takes_every_layout(layout):
    matrix = erdos_renyi(40)
    assert same(permute(matrix.asformat(layout)), permute(matrix))
    assert same(permute(matrix.toarray()), permute(matrix))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: delaunay(-1), "expected n between 0 and 2147483647, got -1"),
        (lambda: rgg(2**31), "expected n between 0 and 2147483647, got 2147483648"),
        (lambda: mesh_dual(2.5), "expected n to be an integer, got 2.5"),
        (lambda: road("x"), "expected n to be an integer, got 'x'"),
        (lambda: rmat(8, entries=-1), "expected entries between 0 and 1099511627776, got -1"),
        (lambda: kron(31), "expected scale between 0 and 30, got 31"),
        (lambda: kron(3, edge_factor=-1), "expected edge_factor between 0 and 2147483647, got -1"),
        (lambda: layered(-1), "expected k between 0 and 268435456, got -1"),
        (lambda: delaunay(8, seed=-1), "expected seed between 0 and 9223372036854775807, got -1"),
        (lambda: erdos_renyi(3), "expected degree between 0 and n = 3, got 4"),
        (lambda: erdos_renyi(8, degree=float("nan")), "expected degree between 0 and n = 8, got nan"),
        (lambda: erdos_renyi(10, "a"), "expected degree to be a number, got 'a'"),
        (lambda: erdos_renyi(10, "4"), "expected degree to be a number, got '4'"),
        (lambda: erdos_renyi(10, None), "expected degree to be a number, got None"),
        (lambda: erdos_renyi(10, 1j), "expected degree to be a number, got 1j"),
        (lambda: erdos_renyi(10, [4]), "expected degree to be a number, got [4]"),
        (lambda: erdos_renyi(0, "a"), "expected degree to be a number, got 'a'"),
        (lambda: erdos_renyi(10, HUGE), "expected degree between 0 and n = 10, got an integer of thousands of digits"),
        (lambda: erdos_renyi(10, 10**400), f"expected degree between 0 and n = 10, got {10**400}"),
        (lambda: rgg(HUGE), "expected n between 0 and 2147483647, got an integer of thousands of digits"),
        (lambda: kron(30, 2**31 - 1), "expected edge_factor between 0 and 1024, got 2147483647"),
    ],
)
def test_generators_refuse(call, message):
    with pytest.raises(InvalidInput) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("bad", ["a", "3", None, 1j, [3], {}, 2.5, float("nan"), np.arange(2), -1, HUGE], ids=repr_of)
def test_every_number_is_checked(bad):
    for generator in (*SYMMETRIC.values(), rmat, erdos_renyi, kron, layered):
        with pytest.raises(
            InvalidInput, match="^expected .* to be an integer, got |^expected .* between 0 and .*, got "
        ):
            generator(bad)
    for generator in (*SYMMETRIC.values(), rmat, erdos_renyi, kron, permute):
        with pytest.raises(InvalidInput, match="^expected seed (to be|between)"):
            generator(csr_array((5, 5)) if generator is permute else 5, seed=bad)
    if bad is not None:
        with pytest.raises(InvalidInput, match="^expected entries (to be|between)"):
            rmat(5, entries=bad)
    with pytest.raises(InvalidInput, match="^expected edge_factor (to be|between)"):
        kron(5, edge_factor=bad)


def test_numbers_of_other_libraries():
    assert same(erdos_renyi(np.int32(10), np.float32(2.5)), erdos_renyi(10, 2.5))
    assert same(erdos_renyi(10, Fraction(5, 2)), erdos_renyi(10, np.array(2.5)))


@pytest.mark.parametrize(
    ("spec", "matrix"),
    [
        ("delaunay:5", lambda: delaunay(32)),
        ("generator:delaunay:5", lambda: delaunay(32)),
        ("rgg:31", lambda: rgg(31)),
        ("rgg:0", lambda: rgg(1)),
        ("mesh_dual:100:seed=3", lambda: mesh_dual(100, seed=3)),
        ("road:100:permuted", lambda: permute(road(100))),
        ("road:100:seed=3:permuted", lambda: permute(road(100, seed=3), seed=3)),
        ("erdos_renyi:100:6", lambda: erdos_renyi(100, degree=6)),
        ("erdos_renyi:100:2.5:seed=1", lambda: erdos_renyi(100, degree=2.5, seed=1)),
        ("kron:6", lambda: kron(6)),
        ("kron:6:16", lambda: kron(6, edge_factor=16)),
        ("rmat:6:100", lambda: rmat(64, entries=100)),
        ("layered:40", lambda: layered(40)),
        ("layered:4:seed=2:permuted", lambda: permute(layered(4), seed=2)),
    ],
)
def test_generate(spec, matrix):
    assert same(generate(spec), matrix())


FORM = (
    "expected NAME:SIZE[:PARAMETER][:seed=S][:permuted] where NAME is one of "
    "delaunay, erdos_renyi, kron, layered, mesh_dual, rgg, rmat, road; got "
)


@pytest.mark.parametrize("number", ["size", "parameter", "seed"])
@pytest.mark.parametrize("family", ["erdos_renyi", "kron", "rmat"])
def test_numbers_too_long_to_be_read(family, number):
    parts = {"size": "5", "parameter": "3", "seed": "0"} | {number: "9" * 5000}
    with pytest.raises(InvalidInput, match="expected NAME:SIZE in at most 500 characters"):
        generate("{}:{size}:{parameter}:seed={seed}".format(family, **parts))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", FORM + "''"),
        ("delaunay", FORM + "'delaunay'"),
        ("nosuch:17", FORM + "'nosuch:17'"),
        ("delaunay:x", FORM + "'delaunay:x'"),
        ("delaunay:-3", FORM + "'delaunay:-3'"),
        ("delaunay:17:permuted:seed=1", FORM + "'delaunay:17:permuted:seed=1'"),
        ("delaunay:17:6", "expected no PARAMETER, since delaunay has none; got 'delaunay:17:6'"),
        ("kron:6:1.5", "expected edge_factor of type int in 'kron:6:1.5'"),
        ("erdos_renyi:6:1.2.3", "expected degree of type float in 'erdos_renyi:6:1.2.3'"),
        ("erdos_renyi:6:100", "expected degree between 0 and n = 64, got 100.0"),
        ("layered:4:seed=1", "expected no seed, since layered is not random; got 'layered:4:seed=1'"),
        (17, "expected a text of the form NAME:SIZE, got 17"),
        (None, "expected a text of the form NAME:SIZE, got None"),
        (
            "delaunay:" + "9" * 5000,
            f"expected NAME:SIZE in at most 500 characters, got 5009: 'delaunay:{'9' * 40}...",
        ),
        ("delaunay:" + "9" * 400, f"expected n between 0 and 2147483647, got {'9' * 400}"),
        ("delaunay:5:seed=" + "9" * 400, f"expected seed between 0 and 9223372036854775807, got {'9' * 400}"),
        ("rmat:5:" + "9" * 400, f"expected entries between 0 and 1099511627776, got {'9' * 400}"),
        ("erdos_renyi:5:" + "9" * 400, "expected degree between 0 and n = 32, got inf"),
    ],
)
def test_generate_refuses(spec, message):
    with pytest.raises(InvalidInput) as error:
        generate(spec)
    assert str(error.value) == message
