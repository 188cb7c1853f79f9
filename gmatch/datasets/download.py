"""Downloads that go on where they broke off. Only a download imports this module: requests takes 100 ms to import."""

import os
import time
from contextlib import suppress
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path

import requests
from tqdm import tqdm

from ..errors import DataError
from .files import sha256_of, unfinished, with_ending

__all__ = ["download"]

# A download is tried three times. An attempt fails if the server is silent for 30 s.
ATTEMPTS = 3
SECONDS_BETWEEN_ATTEMPTS = 1.0
SECONDS_WITHOUT_AN_ANSWER = 30
# Bytes of a piece. A transfer that breaks off loses its unfinished piece.
BYTES_AT_A_TIME = 1 << 16


def download(url: str, target: Path, sha256: str | None) -> None:
    """Download `url`; `target` appears only when it is complete and has the checksum (if there is one).

    Every call writes to a file of its own. A broken download leaves one file for all calls; a call takes it by renaming
    it.
    """
    left = with_ending(target, ".part")
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
            checksum = sha256_of(part)
            if sha256 not in (None, checksum):
                raise DataError(
                    f"expected SHA-256 {sha256} of {url}, got {checksum}; try again later, the file is damaged"
                )
            part.replace(target)
    except DataError:
        raise
    except OSError as error:  # the errors of requests are OSErrors, too
        raise DataError(
            f"expected a matrix at {url}, got {_words_of(error)}; check its name at "
            f"https://sparse.tamu.edu and your network, or put the file into {target.parent} yourself"
        ) from error


def _words_of(error: OSError) -> str:
    """The message of an error, without the objects that requests prints."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the answer {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError) and "HTTP" in str(error):
        return "no network, or no answer from the server"
    return f"{type(error).__name__}: {error}"


def _fetch(url: str, part: Path) -> None:
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            return _fetch_rest(url, part)
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            if attempts_left == 0:
                raise
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)


def _fetch_rest(url: str, part: Path) -> None:
    """Append to `part` the missing bytes. Begin again if the server has another file now, or cannot send a part of it.

    A part has the date of the server's file, and keeps it when it is renamed. A wrong date only begins again.
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
            # A server that compared the date need not send it again.
            _set_date(part, response.headers.get("Last-Modified", date if start else ""))
            raise


def _progress(part: Path) -> tuple[int, str]:
    """How many bytes are there, and the date of the file on the server."""
    if not part.exists():
        return 0, ""
    status = part.stat()
    return status.st_size, formatdate(status.st_mtime, usegmt=True)


def _continues(response: requests.Response, start: int, date: str) -> bool:
    """Whether the server sent what was asked for. Some servers ignore If-Range."""
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
    # Old versions of urllib3 report the end of the file when a connection was closed early.
    if part.stat().st_size < length:
        raise requests.ConnectionError(f"the connection was closed after {part.stat().st_size} of {length} bytes")


def _set_date(part: Path, date: str) -> None:
    """Date a part, or delete it: without a date nobody knows whether the rest still fits."""
    try:
        seconds = parsedate_to_datetime(date).timestamp()
        os.utime(part, (seconds, seconds))
    except (ValueError, OverflowError, OSError):
        part.unlink(missing_ok=True)
