"""Matrices by name: bundled with gmatch, cached on this machine, or from the SuiteSparse Matrix Collection."""

import gzip
import hashlib
import os
import re
import time
from contextlib import suppress
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path

import requests
from scipy.sparse import csr_array
from tqdm import tqdm

from ..errors import DataError, InvalidInput
from .files import read_archive, read_matrix_market, read_npz, unfinished, write_npz
from .patterns import shown
from .registry import Entry, bundled_file, entry_of

__all__ = ["load"]

COLLECTION = "https://sparse.tamu.edu/MM"
# No path can leave the cache folder: both parts begin with a letter or digit.
NAME = re.compile(r"([A-Za-z0-9][\w.+-]*)/([A-Za-z0-9][\w.+-]*)", re.ASCII)
ENDINGS = (".npz", ".mtx", ".mtx.gz", ".tar.gz")
ENDINGS_THAT_GMATCH_WRITES = (".npz", ".tar.gz")
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
    broke off goes on where it stopped, also in a later call, if the server dates the file and still has the same one;
    else it begins again. What was parsed once is kept as ``.npz``. A ``.npz`` or ``.tar.gz`` that turns out to be
    damaged is renamed to end in ``.damaged``: the next call does without it. Threads and processes may load the same
    matrix at the same time; each that finds nothing downloads it for itself.

    T. A. Davis, Y. Hu, *The University of Florida Sparse Matrix Collection*, ACM TOMS 38(1), 2011.
    """
    match = NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise InvalidInput(f"expected a name of the form Group/Name, such as HB/west0067, got {shown(name)}")
    entry = entry_of(name)
    if entry is not None and entry.kind == "bundled":
        return _load_bundled(entry)
    base = cache_folder() / match[1] / match[2]
    cached = _newest_file(base)
    if cached is None:
        cached = _with_ending(base, ".tar.gz")
        _download(f"{COLLECTION}/{name}.tar.gz", cached, None if entry is None else entry.sha256)
    try:
        return _load_cached(cached, base)
    except DataError as error:
        if cached.name.endswith(ENDINGS_THAT_GMATCH_WRITES) and _is_damage(error.__cause__):
            _set_aside(cached, error)
        raise


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


def _is_damage(cause: BaseException | None) -> bool:
    """Whether a file that cannot be read is to blame, and not the disk, rights or memory."""
    return isinstance(cause, gzip.BadGzipFile) or not isinstance(cause, OSError | MemoryError)


def _set_aside(path: Path, error: DataError) -> None:
    """Rename a damaged file, which may be the user's, so that it is damaged for one call only."""
    aside = _with_ending(path, ".damaged")
    try:
        path.replace(aside)
    except OSError:  # a read-only cache: it is for the user to replace the file
        return
    cause = error.__cause__
    raise DataError(
        f"expected a matrix in {path}, got {type(cause).__name__}: {cause}; it was renamed to {aside.name}; "
        "call again to load the matrix without it"
    ) from cause


def _newest_file(base: Path) -> Path | None:
    dates = {}
    for ending in ENDINGS:
        path = _with_ending(base, ending)
        with suppress(OSError):  # not there, or set aside in this moment
            if path.is_file():
                dates[path] = path.stat().st_mtime_ns
    return max(dates, key=dates.__getitem__, default=None)


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
    """Download `url`; `target` appears only when it is complete and has the checksum (if there is one).

    Every call writes to a file of its own. What a broken download leaves is one file for all, taken by renaming it.
    """
    left = _with_ending(target, ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(target) as part:
            with suppress(FileNotFoundError):
                left.replace(part)
            try:
                _fetch(url, part)
            except BaseException:
                with suppress(FileNotFoundError):
                    part.replace(left)
                raise
            checksum = _sha256(part)
            if sha256 not in (None, checksum):
                raise DataError(
                    f"expected SHA-256 {sha256} of {url}, got {checksum}; try again later, the file is damaged"
                )
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
    """Append to `part` what is missing, or begin again if the server has another file now or cannot send a part of it.

    A part has the date of the server's file, which stays with it when it is renamed; any other date does no harm.
    """
    start, date = _progress(part)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-", "If-Range": date} if start else {})
    with requests.get(url, headers=headers, stream=True, timeout=SECONDS_WITHOUT_AN_ANSWER) as response:
        is_rest = response.status_code == requests.codes.partial_content
        too_long = response.status_code == requests.codes.range_not_satisfiable
        if start and (too_long or is_rest and not _continues(response, start, date)):
            part.unlink()
            return _fetch_rest(url, part)
        response.raise_for_status()
        if not is_rest:
            start = 0
        length = start + int(response.headers.get("Content-Length", 0))
        try:
            _write(response, part, start, length)
        except BaseException:
            # A server that cut the file out by its date need not repeat the date.
            _set_date(part, response.headers.get("Last-Modified", date if start else ""))
            raise


def _progress(part: Path) -> tuple[int, str]:
    """How many bytes are there, and the date of the file that they are from."""
    if not part.exists():
        return 0, ""
    status = part.stat()
    return status.st_size, formatdate(status.st_mtime, usegmt=True)


def _continues(response: requests.Response, start: int, date: str) -> bool:
    """Whether the server sent what was asked for; not all heed If-Range."""
    begins_there = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
    return begins_there and response.headers.get("Last-Modified", date) == date


def _write(response: requests.Response, part: Path, start: int, length: int) -> None:
    name = response.url.rpartition("/")[2]
    with (
        part.open("ab" if start else "wb") as file,
        tqdm(desc=name, total=length or None, initial=start, unit="B", unit_scale=True, disable=None) as bar,
    ):
        for chunk in response.iter_content(BYTES_AT_A_TIME):
            file.write(chunk)
            bar.update(len(chunk))
    # Old versions of urllib3 take a connection that was closed early for the end of the file.
    if part.stat().st_size < length:
        raise requests.ConnectionError(f"the connection was closed after {part.stat().st_size} of {length} bytes")


def _set_date(part: Path, date: str) -> None:
    """Date a part, or delete it: without a date nobody knows whether the rest still fits."""
    try:
        seconds = parsedate_to_datetime(date).timestamp()
        os.utime(part, (seconds, seconds))
    except (ValueError, OverflowError, OSError):
        part.unlink(missing_ok=True)
