"""Matrices by name: bundled with gmatch, cached on this machine, or from the SuiteSparse Matrix Collection."""

import hashlib
import os
import re
import time
from contextlib import suppress
from pathlib import Path

import requests
from scipy.sparse import csr_array
from tqdm import tqdm

from ..errors import DataError, InvalidInput
from .files import read_archive, read_matrix_market, read_npz, write_npz
from .registry import Entry, bundled_file, entry_of

__all__ = ["load"]

COLLECTION = "https://sparse.tamu.edu/MM"
# No path can leave the cache folder: both parts begin with a letter or digit.
NAME = re.compile(r"([A-Za-z0-9][\w.+-]*)/([A-Za-z0-9][\w.+-]*)", re.ASCII)
ENDINGS = (".npz", ".mtx", ".mtx.gz", ".tar.gz")
ATTEMPTS = 3
SECONDS_BETWEEN_ATTEMPTS = 1.0
SECONDS_WITHOUT_AN_ANSWER = 30
# What an unfinished piece held is lost when a transfer breaks off.
BYTES_AT_A_TIME = 1 << 16


def load(name: str) -> csr_array:
    """Load a matrix of the SuiteSparse Matrix Collection by name.

    Parameters
    ----------
    name : str
        ``Group/Name``, such as ``"HB/west0067"``.

    Returns
    -------
    csr_array, shape (rows, cols)
        Indices sorted, no duplicates, explicit zeros kept. Bundled matrices and those without values are int8 ones.

    Raises
    ------
    InvalidInput
        `name` is not of the form ``Group/Name``.
    DataError
        The matrix could not be downloaded, or its file is damaged or does not have the registered checksum.

    Notes
    -----
    Looked for in this order: among `gmatch.datasets.bundled`; in the cache folder, which is the environment variable
    ``GMATCH_DATA_DIR`` or else the user's cache, as ``Group/Name`` with the ending ``.npz``, ``.mtx``, ``.mtx.gz`` or
    ``.tar.gz`` (of several the newest; you may put files there by hand); at https://sparse.tamu.edu. A download that
    broke off goes on where it stopped, also in a later call. What was parsed once is kept as ``.npz``.

    T. A. Davis, Y. Hu, *The University of Florida Sparse Matrix Collection*, ACM TOMS 38(1), 2011.
    """
    match = NAME.fullmatch(str(name))
    if match is None:
        raise InvalidInput(f"expected a name of the form Group/Name, such as HB/west0067, got {name!r}")
    entry = entry_of(name)
    if entry is not None and entry.kind == "bundled":
        return _load_bundled(entry)
    base = cache_folder() / match[1] / match[2]
    cached = _newest_file(base)
    if cached is None:
        cached = _with_ending(base, ".tar.gz")
        _download(f"{COLLECTION}/{name}.tar.gz", cached, None if entry is None else entry.sha256)
    return _load_cached(cached, base)


def _load_bundled(entry: Entry) -> csr_array:
    path = bundled_file(entry)
    try:
        checksum = _sha256(path)
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
    # Without this file, in a read-only cache, the next call only has to parse again.
    with suppress(OSError):
        write_npz(_with_ending(base, ".npz"), matrix)
    return matrix


def _newest_file(base: Path) -> Path | None:
    paths = [_with_ending(base, ending) for ending in ENDINGS]
    return max((path for path in paths if path.is_file()), key=lambda path: path.stat().st_mtime_ns, default=None)


def _with_ending(base: Path, ending: str) -> Path:
    # Path.with_suffix would cut names that contain a dot.
    return base.with_name(base.name + ending)


def cache_folder() -> Path:
    """Where downloads are kept: ``GMATCH_DATA_DIR``, or else the user's cache."""
    if folder := os.environ.get("GMATCH_DATA_DIR"):
        return Path(folder)
    import pooch  # only here: bundled matrices and folders named by the user need no pooch

    return Path(pooch.os_cache("gmatch"))


def cached() -> list[str]:
    """The names of the matrices in the cache folder."""
    paths = [path for ending in ENDINGS for path in cache_folder().glob(f"*/*{ending}")]
    names = {f"{path.parent.name}/{path.name.removesuffix('.gz').rpartition('.')[0]}" for path in paths}
    return sorted(name for name in names if NAME.fullmatch(name))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(url: str, target: Path, sha256: str | None) -> None:
    """Download `url`; `target` appears only when it is complete and has the checksum (if there is one)."""
    part = _with_ending(target, ".part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        _fetch(url, part)
        checksum = _sha256(part)
        if sha256 not in (None, checksum):
            part.unlink()
            raise DataError(f"expected SHA-256 {sha256} of {url}, got {checksum}; try again later, the file is damaged")
        part.replace(target)
    except DataError:
        raise
    except OSError as error:  # the errors of requests are OSErrors, too
        raise DataError(
            f"expected a matrix at {url}, got {type(error).__name__}: {error}; check its name at "
            f"https://sparse.tamu.edu and your network, or put the file into {target.parent} yourself"
        ) from error


def _fetch(url: str, part: Path) -> None:
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            return _fetch_rest(url, part)
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            if attempts_left == 0:
                raise
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)


def _fetch_rest(url: str, part: Path) -> None:
    """Append to `part` what is missing, or begin again if the server cannot send a part of a file."""
    start = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with requests.get(url, headers=headers, stream=True, timeout=SECONDS_WITHOUT_AN_ANSWER) as response:
        if response.status_code == requests.codes.range_not_satisfiable:
            part.unlink()  # as long as the file, or longer: nothing tells whether it is the same one
            return _fetch_rest(url, part)
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            start = 0
        length = start + int(response.headers.get("Content-Length", 0))
        with (
            part.open("ab" if start else "wb") as file,
            tqdm(desc=part.stem, total=length or None, initial=start, unit="B", unit_scale=True, disable=None) as bar,
        ):
            for chunk in response.iter_content(BYTES_AT_A_TIME):
                file.write(chunk)
                bar.update(len(chunk))
    # Old versions of urllib3 take a connection that was closed early for the end of the file.
    if part.stat().st_size < length:
        raise requests.ConnectionError(f"the connection was closed after {part.stat().st_size} of {length} bytes")
