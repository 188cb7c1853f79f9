"""Matrices in files: Matrix Market text, plain or gzipped, and the npz files of the bundled and cached matrices.

A file may be cut short, damaged, or lie about its size. Whatever is wrong with it, DataError is raised.
"""

import gzip
import hashlib
import os
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast
from uuid import uuid4

import numpy as np
import scipy  # its part scipy.io is loaded when it is first used
from scipy.sparse import csr_array, save_npz

from ..errors import DataError

__all__ = [
    "layout_of",
    "read_archive",
    "read_matrix_market",
    "read_npz",
    "sha256_of",
    "unfinished",
    "with_ending",
    "write_npz",
]

LARGEST_INDEX = np.iinfo(np.int32).max
# Rows and columns cost memory even when they are empty. A text may declare up to 2^26
# of them, or as many as it has bytes. More is refused.
CHEAP_ROWS = 1 << 26
# An entry takes at least the four bytes "1 1\n".
BYTES_PER_ENTRY = 4
# How many times as long as its bytes a text may be: deflate cannot compress better.
LARGEST_COMPRESSION = 1032
BYTES_AT_A_TIME = 1 << 20
# An unfinished file that has not changed for a day was left by a killed process.
SECONDS_UNTIL_ABANDONED = 24 * 60 * 60


def read_matrix_market(path: str | os.PathLike[str]) -> csr_array:
    """Read a matrix from a file: Matrix Market (``.mtx``, ``.mtx.gz``), or CSR as ``.npz``.

    Parameters
    ----------
    path : str or path
        The ending says the format. The npz files of `scipy.sparse.save_npz` are read when they hold CSR.

    Returns
    -------
    csr_array, shape (rows, cols)
        Duplicates summed, indices sorted, explicit zeros kept, symmetric storage expanded. Files without values
        (pattern) get int8 ones. Of a dense matrix (array format) the nonzero elements are the entries.

    Raises
    ------
    DataError
        The file is missing, unreadable, cut short, too short for the size that it declares, or no matrix.

    Notes
    -----
    Time and memory linear in the file. R. F. Boisvert, R. Pozo, K. A. Remington, *The Matrix Market exchange formats:
    initial design*, NISTIR 5935, 1996.

    Examples
    --------
    >>> import scipy.io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scipy.io.mmwrite(f"{folder}/small.mtx", scipy.sparse.coo_array([[4.0, 0, 0], [0, 0, 1.0]]))
    ...     gmatch.datasets.read_matrix_market(f"{folder}/small.mtx").toarray().tolist()
    [[4.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        return read_npz(path)
    with _damage_explained(path):
        length = path.stat().st_size
        if path.suffix.lower() == ".gz":
            with gzip.open(path) as stream:
                return _parsed(cast(IO[bytes], stream), length * LARGEST_COMPRESSION)
        with path.open("rb") as stream:
            return _parsed(stream, length)


def layout_of(path: Path) -> str:
    """Whether a Matrix Market file lists an ``"array"`` or entries of a ``"coordinate"`` format."""
    with _damage_explained(path), gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        layout: str = scipy.io.mminfo(cast(IO[bytes], _PlainText(cast(IO[bytes], stream))))[3]
        return layout


def read_archive(path: Path, member: str) -> csr_array:
    """Parse the Matrix Market file `member` of a tar.gz archive; nothing is written to disk."""
    with _damage_explained(path), gzip.open(path) as unzipped, tarfile.open(fileobj=unzipped, mode="r:") as archive:
        found = next((info for info in archive if info.name == member), None)
        if found is None or not found.isfile():
            raise ValueError(f"no regular file {member} in the archive")
        stream = archive.extractfile(found)
        assert stream is not None  # None stands for members that are no files
        matrix = _parsed(stream, found.size)
        while unzipped.read(BYTES_AT_A_TIME):  # only at its end does gzip compare the checksum
            pass
        return matrix


def read_npz(path: Path) -> csr_array:
    """Read CSR from npz; `data` may be a single value that stands for all entries."""
    with _damage_explained(path), path.open("rb") as file, np.load(file) as arrays:
        layout = arrays["format"].item()
        if layout not in ("csr", b"csr"):
            raise ValueError(f"matrix stored as {layout!r} instead of csr")
        indices = arrays["indices"]
        data = np.broadcast_to(arrays["data"], indices.shape).copy()
        matrix = csr_array((data, indices, arrays["indptr"]), shape=tuple(arrays["shape"].tolist()))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        return matrix


def write_npz(path: Path, matrix: csr_array) -> None:
    """Write CSR as npz; a reader sees the whole file or none."""
    with unfinished(path) as part:
        with part.open("wb") as file:
            save_npz(file, matrix, compressed=False)
        part.replace(path)


def with_ending(base: Path, ending: str) -> Path:
    # Path.with_suffix would cut names that contain a dot.
    return base.with_name(base.name + ending)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A unique name beside `path`. A file that still has this name at the end is deleted, also after an error."""
    _delete_abandoned(path)
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _delete_abandoned(path: Path) -> None:
    """Delete the unfinished files of processes that were killed while they wrote `path`."""
    for part in path.parent.glob(f"{path.name}.*.part"):
        with suppress(OSError):  # another process may be faster
            # st_ctime is the last change of any kind; the st_mtime of a download is the date of the server's file.
            if time.time() - part.stat().st_ctime > SECONDS_UNTIL_ABANDONED:
                part.unlink()


@contextmanager
def _damage_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # SciPy, NumPy, gzip, tarfile and zipfile raise a dozen kinds of errors
        raise DataError(
            f"expected a matrix in {path}, got {type(error).__name__}: {error}; "
            "check the path, replace the file, or delete it if gmatch downloaded it, so that it is loaded again"
        ) from error


def _parsed(stream: IO[bytes], length: int) -> csr_array:
    """The matrix in an open, seekable Matrix Market file of at most `length` bytes."""
    rows, cols, entries, layout, field, _ = scipy.io.mminfo(cast(IO[bytes], _PlainText(stream)))
    # Symmetric storage writes half of a dense matrix, two bytes an element.
    bytes_needed = entries * BYTES_PER_ENTRY if layout == "coordinate" else rows * (cols - 1)
    if bytes_needed > length or max(rows, cols) > min(max(CHEAP_ROWS, length), LARGEST_INDEX):
        raise ValueError(f"the declared size, {rows} x {cols} with {entries} entries, is too large for the file")
    if min(rows, cols) < 0:
        raise ValueError(f"the declared size, {rows} x {cols}, is negative")
    if layout == "array" and rows * cols == 0:
        # SciPy's reader divides by the number of rows.
        return csr_array(
            (np.empty(0, np.int8), np.empty(0, np.int32), np.zeros(rows + 1, np.int32)), shape=(rows, cols)
        )
    stream.seek(0)
    matrix = csr_array(scipy.io.mmread(cast(IO[bytes], _PlainText(stream)), spmatrix=False))
    matrix.sum_duplicates()
    if field == "pattern":
        matrix = csr_array((np.ones(matrix.nnz, dtype=np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix


class _PlainText:
    """Keeps SciPy's reader from killing the process.

    The reader aborts when it cannot seek at the end, so this stream has no `seek`. It crashes at a bad value that is
    followed by a zero byte, or by no line end.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.line_end = b"\n"

    def read(self, size: int) -> bytes:
        text = self.stream.read(size)
        if b"\0" in text:
            raise ValueError("zero bytes where text was expected")
        if not text:
            text, self.line_end = self.line_end, b""
        return text
