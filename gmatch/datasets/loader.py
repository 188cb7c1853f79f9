"""Matrices by name: bundled with gmatch, cached on this machine, or from the SuiteSparse Matrix Collection."""

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scipy.sparse import csr_array

from ..errors import DataError, InvalidInput, did_you_mean
from .files import read_archive, read_matrix_market, read_npz, sha256_of, with_ending, write_npz
from .patterns import shown
from .registry import Entry, bundled_file, entry_of, registry

__all__ = ["load"]

COLLECTION = "https://sparse.tamu.edu/MM"
# No path can leave the cache folder: both parts begin with a letter or digit.
NAME = re.compile(r"([A-Za-z0-9][\w.+-]*)/([A-Za-z0-9][\w.+-]*)", re.ASCII)
ENDINGS = (".npz", ".mtx", ".mtx.gz", ".tar.gz")
ENDINGS_THAT_GMATCH_WRITES = (".npz", ".tar.gz")


def load(name: str) -> csr_array:
    """Load a matrix of the SuiteSparse Matrix Collection by name.

    Parameters
    ----------
    name : str
        ``Group/Name``, such as ``"HB/west0067"``.

    Returns
    -------
    csr_array, shape (rows, cols)
        Indices sorted, no duplicates, explicit zeros kept. The values of bundled matrices, and of matrices without
        values, are int8 ones.

    Raises
    ------
    InvalidInput
        `name` is not of the form ``Group/Name``.
    DataError
        The matrix could not be downloaded, or its file is damaged or does not have the registered checksum.

    Notes
    -----
    A matrix is looked for in three places:

    - among `gmatch.datasets.bundled`
    - in the cache folder, as ``Group/Name`` with the ending ``.npz``, ``.mtx``, ``.mtx.gz`` or ``.tar.gz``. The newest
      of several files is taken. The folder is the environment variable ``GMATCH_DATA_DIR``, by default the user's
      cache. You may put files there by hand.
    - at https://sparse.tamu.edu

    A download that broke off goes on where it stopped, also in a later call, if the server dates the file and still has
    that file. Otherwise it begins again. A parsed matrix is kept as ``.npz``. A damaged ``.npz`` or ``.tar.gz`` is
    renamed to end in ``.damaged``, so the next call does not read it. Threads and processes may load one matrix at the
    same time; each that finds no file downloads it for itself.

    T. A. Davis, Y. Hu, *The University of Florida Sparse Matrix Collection*, ACM TOMS 38(1), 2011.

    Examples
    --------
    >>> gmatch.datasets.load("HB/west0067").shape
    (67, 67)
    """
    match = NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise InvalidInput(f"expected a name of the form Group/Name, such as HB/west0067, got {shown(name)}")
    entry = entry_of(name)
    if entry is not None and entry.kind == "bundled":
        return _load_bundled(entry)
    with _nearest_name_told(name, entry):
        base = cache_folder() / match[1] / match[2]
        cached = _newest_file(base)
        if cached is None:
            cached = with_ending(base, ".tar.gz")
            with _requirements_explained():
                from .download import download
            download(f"{COLLECTION}/{name}.tar.gz", cached, None if entry is None else entry.sha256)
    try:
        return _load_cached(cached, base)
    except DataError as error:
        if cached.name.endswith(ENDINGS_THAT_GMATCH_WRITES) and _is_damage(error.__cause__):
            _set_aside(cached, error)
        raise


@contextmanager
def _nearest_name_told(name: str, entry: Entry | None) -> Iterator[None]:
    """Adds the nearest known name to an error, if the registry does not know this name."""
    try:
        yield
    except DataError as error:
        near = did_you_mean(name, (known.name for known in registry())) if entry is None else ""
        if not near:
            raise
        raise DataError(f"{error}{near}") from error.__cause__


def _load_bundled(entry: Entry) -> csr_array:
    path = bundled_file(entry)
    try:
        checksum = sha256_of(path)
    except OSError as error:
        raise DataError(f"expected the bundled matrix {entry.name} in {path}, got {error}; reinstall gmatch") from error
    if checksum != entry.sha256:
        raise DataError(f"expected SHA-256 {entry.sha256} of {path}, got {checksum}; reinstall gmatch")
    return read_npz(path)


def _load_cached(path: Path, base: Path) -> csr_array:
    if path.suffix == ".npz":
        return read_npz(path)
    if path.name.endswith(".tar.gz"):
        matrix = read_archive(path, f"{base.name}/{base.name}.mtx")
    else:
        matrix = read_matrix_market(path)
    # A read-only cache cannot keep the file; the next call then parses again.
    with suppress(OSError):
        write_npz(with_ending(base, ".npz"), matrix)
    return matrix


def _is_damage(cause: BaseException | None) -> bool:
    """Whether the file is damaged; otherwise the disk, its rights or memory failed."""
    return isinstance(cause, gzip.BadGzipFile) or not isinstance(cause, OSError | MemoryError)


def _set_aside(path: Path, error: DataError) -> None:
    """Rename a damaged file, so that later calls do not read it. It is not deleted: it may be the user's own."""
    aside = with_ending(path, ".damaged")
    try:
        path.replace(aside)
    except OSError:  # a read-only cache: the user must replace the file
        return
    cause = error.__cause__
    raise DataError(
        f"expected a matrix in {path}, got {type(cause).__name__}: {cause}; it was renamed to {aside.name}; "
        "call again to load the matrix without it"
    ) from cause


def _newest_file(base: Path) -> Path | None:
    dates = {}
    for ending in ENDINGS:
        path = with_ending(base, ending)
        with suppress(OSError):  # not there, or another process has just renamed it
            if path.is_file():
                dates[path] = path.stat().st_mtime_ns
    return max(dates, key=dates.__getitem__, default=None)


def cache_folder() -> Path:
    """Where downloads are kept: ``GMATCH_DATA_DIR``, or else the user's cache."""
    if folder := os.environ.get("GMATCH_DATA_DIR"):
        return Path(folder)
    with _requirements_explained():
        import pooch  # only here: bundled matrices and folders named by the user need no pooch
    return Path(pooch.os_cache("gmatch"))


@contextmanager
def _requirements_explained() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise DataError(
            f"downloads need {error.name}, which is not installed; pip install 'gmatch-bipartite[data]'"
        ) from None


def cached() -> list[str]:
    """The names of the matrices in the cache folder."""
    paths = [path for ending in ENDINGS for path in cache_folder().glob(f"*/*{ending}")]
    names = {f"{path.parent.name}/{path.name.removesuffix('.gz').rpartition('.')[0]}" for path in paths}
    return sorted(name for name in names if NAME.fullmatch(name))
