"""Reading files: Matrix Market in all its kinds, npz, and everything that can be wrong with them."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, save_npz

from gmatch.datasets import read_matrix_market
from gmatch.datasets.files import read_npz, unfinished, write_npz
from gmatch.errors import DataError

GENERAL = b"""%%MatrixMarket matrix coordinate real general
% a comment
3 4 5
3 1 2.5
1 2 -1
1 2 4
2 4 0
1 1 1e3
"""
DENSE_GENERAL = [[1000, 3, 0, 0], [0, 0, 0, 0], [2.5, 0, 0, 0]]

SYMMETRIC = b"%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 7\n2 1 5\n3 2 -2\n"
DENSE_SYMMETRIC = [[7, 5, 0], [5, 0, -2], [0, -2, 0]]

SKEW = b"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n"
PATTERN = b"%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 3\n2 1\n1 3\n"
COMPLEX = b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1 2\n"
ARRAY = b"%%MatrixMarket matrix array real general\n2 3\n1\n0\n0\n2\n3\n0\n"
ARRAY_SYMMETRIC = b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n0\n2"
EMPTY = b"%%MatrixMarket matrix coordinate real general\n3 4 0\n"
NOTHING = b"%%MatrixMarket matrix coordinate pattern general\n0 0 0\n"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("text", "dense", "entries"),
    [
        (GENERAL, DENSE_GENERAL, 4),  # the duplicate is summed, the explicit zero stays
        (SYMMETRIC, DENSE_SYMMETRIC, 5),
        (SKEW, [[0, -5], [5, 0]], 2),
        (PATTERN, [[0, 0, 1], [1, 0, 0]], 2),
        (COMPLEX, [[0, 1 - 2j], [1 + 2j, 0]], 2),
        (ARRAY, [[1, 0, 3], [0, 2, 0]], 3),
        (ARRAY_SYMMETRIC, [[1, 0], [0, 2]], 2),
        (EMPTY, np.zeros((3, 4)), 0),
        (NOTHING, np.zeros((0, 0)), 0),
        (GENERAL.replace(b"\n", b"\r\n"), DENSE_GENERAL, 4),
    ],
)
def test_matrix_market(tmp_path, text, dense, entries, compressed):
    path = tmp_path / ("a.mtx.gz" if compressed else "a.mtx")
    path.write_bytes(gzip.compress(text) if compressed else text)
    matrix = read_matrix_market(path)
    assert isinstance(matrix, csr_array)
    assert matrix.nnz == entries
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(matrix.toarray(), dense)
    np.testing.assert_array_equal(read_matrix_market(str(path)).toarray(), dense)


def test_a_pattern_has_int8_ones_however_often_an_entry_is_repeated(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate pattern general\n1 1 300\n" + b"1 1\n" * 300)
    matrix = read_matrix_market(path)
    assert matrix.dtype == np.int8 and matrix.data.tolist() == [1]


HEADER = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"hello world",
        b"<html>404</html>",
        b"%%MatrixMarket",
        b"%%MatrixMarket tensor coordinate real general\n1 1 1\n1 1 1\n",
        b"%%MatrixMarket matrix sideways real general\n1 1 1\n1 1 1\n",
        HEADER,
        HEADER + b"% only a comment\n",
        HEADER + b"3 3\n",
        HEADER + b"3 three 1\n1 1 1\n",
        HEADER + b"-3 3 1\n1 1 1\n",
        HEADER + b"3 3 2\n1 1 1\n",
        HEADER + b"3 3 1\n1 1 1\n2 2 2\n",
        HEADER + b"3 3 1\n4 1 1\n",
        HEADER + b"3 3 1\n0 1 1\n",
        HEADER + b"3 3 1\n1 1 x\n",
        HEADER + b"3 3 1\n1 1 1\x00",  # SciPy's reader crashes on zero bytes
        HEADER + b"3 3 1\n1 1\n",
        HEADER + b"3 3 1000000000000000\n1 1 1\n",
        HEADER + b"3 3 99999999999999999999999999\n1 1 1\n",
        HEADER + b"2000000000 3 1\n1 1 1\n",
        HEADER + b"3 2000000000 1\n1 1 1\n",
        HEADER + b"99999999999999 3 1\n1 1 1\n",
        b"%%MatrixMarket matrix array real general\n1000000000 1000000000\n1\n",
        b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        b"\x00\xff" * 100,
        b"PK\x03\x04" + b"\x00" * 30,
    ],
)
@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".npz"])
def test_damaged_files(tmp_path, content, ending):
    path = tmp_path / f"a{ending}"
    path.write_bytes(gzip.compress(content) if ending == ".mtx.gz" else content)
    with pytest.raises(DataError, match=r"expected a matrix in .*a\..*, got \w+: .*; check the path, replace the file"):
        read_matrix_market(path)


def test_a_bad_value_without_a_line_end(tmp_path):
    """SciPy's reader alone crashes on it. With a line end after the value it reads what it understands."""
    path = tmp_path / "a.mtx"
    path.write_bytes(HEADER + b"1 1 1\n1 1 4e")
    assert read_matrix_market(path).toarray().tolist() == [[4]]


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".npz"])
def test_missing_file_and_folder(tmp_path, ending):
    with pytest.raises(DataError, match="got FileNotFoundError"):
        read_matrix_market(tmp_path / f"a{ending}")
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    with pytest.raises(DataError, match="got IsADirectoryError"):
        read_matrix_market(folder)


def test_gzip_that_is_cut_or_is_none(tmp_path):
    path = tmp_path / "a.mtx.gz"
    whole = gzip.compress(GENERAL)
    for content in (whole[:-10], whole[:20], whole[:5], GENERAL, whole[:40] + b"\x00" * 20 + whole[60:]):
        path.write_bytes(content)
        with pytest.raises(DataError):
            read_matrix_market(path)


@settings(deadline=None, max_examples=150)
@given(cut=st.integers(0, len(GENERAL)), place=st.integers(0, len(GENERAL) - 1), byte=st.integers(0, 255))
def test_no_damage_escapes(tmp_path_factory, cut, place, byte):
    """A damaged file gives a matrix or a DataError, and no other error."""
    path = tmp_path_factory.mktemp("damaged") / "a.mtx"
    path.write_bytes((GENERAL[:place] + bytes([byte]) + GENERAL[place + 1 :])[: max(cut, place)])
    try:
        assert isinstance(read_matrix_market(path), csr_array)
    except DataError:
        pass


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_no_damage_of_an_npz_escapes(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "a.npz"
    write_npz(path, csr_array(np.eye(5)))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content)
    try:
        assert isinstance(read_matrix_market(path), csr_array)
    except DataError:
        pass


@pytest.mark.parametrize(
    "matrix",
    [
        csr_array(np.array([[0, 2.5, 0], [1, 0, 0]])),
        csr_array(np.array([[True, False]])),
        csr_array((0, 5), dtype=np.int64),
        csr_array((np.zeros(2), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 2)),
    ],
)
def test_npz_round_trip(tmp_path, matrix):
    path = tmp_path / "a.npz"
    write_npz(path, matrix)
    read = read_npz(path)
    assert read.shape == matrix.shape and read.dtype == matrix.dtype and read.nnz == matrix.nnz
    assert (read != matrix).nnz == 0
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"], "no temporary file is left"


def test_npz_of_scipy(tmp_path):
    path = tmp_path / "a.npz"
    save_npz(path, csr_array(np.eye(3)))
    np.testing.assert_array_equal(read_matrix_market(path).toarray(), np.eye(3))
    save_npz(path, csc_array(np.eye(3)))
    with pytest.raises(DataError, match="matrix stored as b?'csc' instead of csr"):
        read_matrix_market(path)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 9])},
        {"indices": np.array([0, -1])},
        {"indptr": np.array([0, 2, 1, 2])},
        {"indptr": np.array([0, 1, 2])},
        {"shape": np.array([3])},
        {"shape": np.array([-3, 3])},
        {"data": np.ones(3)},
        {"data": np.array([object(), object()])},
        {"format": np.array("coo")},
    ],
)
def test_npz_with_wrong_contents(tmp_path, change):
    path = tmp_path / "a.npz"
    good = {
        "format": np.array("csr"),
        "shape": np.array([3, 3]),
        "indptr": np.array([0, 1, 1, 2]),
        "indices": np.array([0, 2]),
        "data": np.array([1], dtype=np.int8),
    }
    np.savez(path, **good)
    assert read_npz(path).toarray().sum() == 2
    np.savez(path, **(good | change))
    with pytest.raises(DataError):
        read_npz(path)


def test_a_failing_write_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr("gmatch.datasets.files.save_npz", fail)
    with pytest.raises(OSError, match="disk full"):
        write_npz(tmp_path / "a.npz", csr_array((2, 2)))
    assert list(tmp_path.iterdir()) == []


def test_writers_of_one_file_do_not_share_what_is_unfinished(tmp_path):
    with unfinished(tmp_path / "a.npz") as one, unfinished(tmp_path / "a.npz") as other:
        assert one != other
        one.touch()
        other.touch()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(file, *_, **__):
        file.write(b"PK")
        raise KeyboardInterrupt

    monkeypatch.setattr("gmatch.datasets.files.save_npz", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_npz(tmp_path / "a.npz", csr_array((2, 2)))
    assert list(tmp_path.iterdir()) == []
