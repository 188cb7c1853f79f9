"""`load`: bundle, cache and download, with a local server in the place of the collection."""

import dataclasses
import gzip
import hashlib
import io
import os
import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from gmatch.datasets import download, load, loader
from gmatch.datasets import files as files_module
from gmatch.datasets.registry import Entry, bundled_file, entry_of
from gmatch.errors import DataError, InvalidInput

TEXT = b"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2.5\n2 1 -1\n3 3 0\n"
DENSE = [[2.5, -1, 0], [-1, 0, 0], [0, 0, 0]]


def member(name, content=TEXT, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def archive_of(*members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


GOOD = archive_of(member("small/small_b.mtx", b"not wanted"), member("small/small.mtx"))
DATE, LATER = "Wed, 21 Oct 2015 07:28:00 GMT", "Thu, 22 Oct 2015 07:28:00 GMT"


class Server(ThreadingHTTPServer):
    """Serves `content` under one path; `breaks` are the numbers of bytes after which the next answers break off."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = GOOD
        self.path = "/MM/Test/small.tar.gz"
        self.breaks = []
        self.date = DATE
        self.knows_ranges = self.heeds_dates = True
        self.ranges = []  # the Range header of each request, None without one
        self.content_range = None  # to be sent instead of the right one
        self.halfway = None  # a barrier, at which answers wait for each other


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        header = self.headers["Range"]
        server.ranges.append(header)
        if self.path != server.path:
            return self.send_error(404)
        same = not server.heeds_dates or self.headers["If-Range"] in (None, server.date)
        in_part = header and server.knows_ranges and same
        start = int(header.removeprefix("bytes=").removesuffix("-")) if in_part else 0
        if start and start >= len(server.content):
            return self.send_error(416)
        rest = server.content[start:]
        self.send_response(206 if start else 200)
        if server.date:
            self.send_header("Last-Modified", server.date)
        if start:
            here = f"bytes {start}-{len(server.content) - 1}/{len(server.content)}"
            self.send_header("Content-Range", server.content_range or here)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if server.halfway:
            self.wfile.write(rest[: len(rest) // 2])
            server.halfway.wait()
            rest = rest[len(rest) // 2 :]
        self.wfile.write(rest[: server.breaks.pop(0)] if server.breaks else rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setattr(loader, "COLLECTION", f"http://127.0.0.1:{server.server_port}/MM")
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the group Test in an empty cache; nothing here leaves the machine or waits."""
    monkeypatch.setenv("GMATCH_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(loader, "COLLECTION", "http://127.0.0.1:9/MM")
    monkeypatch.setattr(download, "SECONDS_BETWEEN_ATTEMPTS", 0)
    monkeypatch.setattr(download, "BYTES_AT_A_TIME", 10)
    return tmp_path / "Test"


def place(folder, ending, content):
    folder.mkdir(exist_ok=True)
    path = folder / f"small{ending}"
    path.write_bytes(content)
    return path


def place_part(folder, content, date=DATE):
    seconds = parsedate_to_datetime(date).timestamp()
    os.utime(place(folder, ".tar.gz.part", content), (seconds, seconds))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_is_small(matrix):
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    assert matrix.nnz == 4, "the explicit zero is kept, symmetric storage expanded"
    assert matrix.has_canonical_format


# -- names and the bundle


@pytest.mark.parametrize("name", [None, 7, Path("HB/west0067"), 10**5000], ids=["None", "7", "a path", "huge"])
def test_names_that_are_no_text(name):
    with pytest.raises(InvalidInput, match="expected a name of the form Group/Name, such as HB/west0067, got "):
        load(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "small",
        "/small",
        "Test/",
        "Test/small/more",
        "../x",
        "../../etc/passwd",
        "Test/..",
        "Test/../small",
        "/etc/passwd",
        ".hidden/small",
        "Test\\small",
        "Test/small\n",
        "Test/sm\0all",
        "C:/small",
        "Test/small?x=1",
        "Tést/small",
    ],
)
def test_bad_names(name, tmp_path):
    with pytest.raises(InvalidInput) as error:
        load(name)
    assert str(error.value) == f"expected a name of the form Group/Name, such as HB/west0067, got {name!r}"
    assert list(tmp_path.iterdir()) == []


def test_bundled_matrices_need_no_cache(tmp_path):
    assert load("HB/west0067").shape == (67, 67)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_bundled_file(tmp_path, monkeypatch):
    changed = tmp_path / "changed.npz"
    changed.write_bytes(bundled_file(entry_of("HB/west0067")).read_bytes() + b" ")
    monkeypatch.setattr(loader, "bundled_file", lambda entry: changed)
    with pytest.raises(DataError, match="expected SHA-256 [0-9a-f]{64} of .*changed.npz, got .*; reinstall gmatch"):
        load("HB/west0067")
    changed.unlink()
    with pytest.raises(DataError, match="expected the bundled matrix HB/west0067 in .*changed.npz, got .*reinstall"):
        load("HB/west0067")


# -- the cache


@pytest.mark.parametrize(
    ("ending", "content"),
    [(".mtx", TEXT), (".mtx.gz", gzip.compress(TEXT, mtime=0)), (".tar.gz", GOOD)],
    ids=lambda x: str(x)[:7],
)
def test_files_placed_by_hand(folder, ending, content):
    path = place(folder, ending, content)
    assert_is_small(load("Test/small"))
    assert files(folder) == sorted(["small.npz", path.name])
    assert_is_small(load("Test/small"))


def test_the_parsed_file_is_used(folder):
    path = place(folder, ".mtx", TEXT)
    load("Test/small")
    path.unlink()
    assert_is_small(load("Test/small"))


def test_a_newer_file_is_read_again(folder):
    place(folder, ".mtx", TEXT)
    load("Test/small")
    newer = place(folder, ".mtx", TEXT.replace(b"2.5", b"7"))
    newer_than_all = (folder / "small.npz").stat().st_mtime_ns + 10**9
    os.utime(newer, ns=(newer_than_all, newer_than_all))
    assert load("Test/small")[0, 0] == 7


def test_a_read_only_cache(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(loader, "write_npz", refuse)
    place(folder, ".mtx", TEXT)
    assert_is_small(load("Test/small"))
    assert files(folder) == ["small.mtx"]


@pytest.mark.parametrize(("ending", "content"), [(".mtx", TEXT[:-8]), (".mtx.gz", gzip.compress(TEXT, mtime=0)[:-9])])
def test_damaged_files_that_only_a_user_can_have_placed(folder, ending, content):
    path = place(folder, ending, content)
    with pytest.raises(DataError, match=r"expected a matrix in .*small.*replace the file, or delete it if gmatch"):
        load("Test/small")
    assert files(folder) == [path.name]


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".npz", b"PK"),
        (".tar.gz", GOOD[: len(GOOD) // 2]),
        (".tar.gz", GOOD[:-30]),
        (".tar.gz", GOOD[:-8] + bytes(8)),  # the checksum
        (".tar.gz", gzip.compress(b"no archive" * 100, mtime=0)),
        (".tar.gz", b"<html>try again later</html>"),
        (".tar.gz", b""),
    ],
    ids=range(7),
)
def test_damaged_files_in_the_cache_are_loaded_again(server, folder, ending, content):
    for _ in range(2):  # damaged files that were renamed do not pile up
        path = place(folder, ending, content)
        with pytest.raises(DataError, match=r"expected a matrix in .*small.*renamed to .*damaged; call again to load"):
            load("Test/small")
        assert files(folder) == [f"{path.name}.damaged"]
    assert_is_small(load("Test/small"))
    assert server.ranges == [None]
    assert files(folder) == sorted([f"{path.name}.damaged", "small.npz", "small.tar.gz"])


@pytest.mark.parametrize("error", [MemoryError(), PermissionError("not yours"), OSError(5, "Input/output error")])
def test_files_that_could_not_be_read_are_not_damaged(folder, monkeypatch, error):
    def fail(*_):
        raise error

    place(folder, ".tar.gz", GOOD)
    with monkeypatch.context() as patches:
        patches.setattr(files_module, "_parsed", fail)
        with pytest.raises(DataError, match="expected a matrix in .*small.tar.gz, got .*Error"):
            load("Test/small")
    assert files(folder) == ["small.tar.gz"]
    assert_is_small(load("Test/small"))


def test_a_damaged_file_in_a_read_only_cache(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    place(folder, ".tar.gz", b"no archive")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(DataError, match="expected a matrix in .*small.tar.gz, got .*replace the file, or delete it"):
        load("Test/small")
    assert files(folder) == ["small.tar.gz"]


# -- archives


@pytest.mark.parametrize(
    "bad",
    [
        member("../../small.mtx"),
        member("/small/small.mtx"),
        member("small/../small/small.mtx"),
        member("other/small.mtx"),
        member("small/small.mtx", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        member("small/small.mtx", kind=tarfile.LNKTYPE, link="/etc/passwd"),
        member("small/small.mtx", kind=tarfile.DIRTYPE),
        member("small/small.mtx", kind=tarfile.FIFOTYPE),
    ],
)
def test_only_the_matrix_itself_is_taken_from_an_archive(folder, tmp_path, bad):
    place(folder, ".tar.gz", archive_of(bad))
    with pytest.raises(DataError, match="no regular file small/small.mtx in the archive"):
        load("Test/small")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [folder / "small.tar.gz.damaged"]


def test_other_members_are_ignored(folder, tmp_path):
    evil = member("../../evil.mtx"), member("small/link", kind=tarfile.SYMTYPE, link="/etc"), member("/tmp/evil.mtx")
    place(folder, ".tar.gz", archive_of(*evil, member("small/small.mtx")))
    assert_is_small(load("Test/small"))
    assert files(folder) == ["small.npz", "small.tar.gz"]
    assert list(tmp_path.iterdir()) == [folder]


# -- downloads


def test_download(server, folder, capsys):
    assert_is_small(load("Test/small"))
    assert files(folder) == ["small.npz", "small.tar.gz"]
    assert_is_small(load("Test/small"))
    assert server.ranges == [None], "the second call needs no server"
    assert capsys.readouterr().err == "", "no progress bar when nobody watches"


def test_a_broken_transfer_goes_on_where_it_stopped(server, folder):
    server.breaks = [50, 20]
    assert_is_small(load("Test/small"))
    assert server.ranges == [None, "bytes=50-", "bytes=70-"]
    assert (folder / "small.tar.gz").read_bytes() == GOOD


def test_a_later_call_goes_on_where_the_first_gave_up(server, folder):
    server.breaks = [50, 10, 10]
    with pytest.raises(DataError, match=r"expected a matrix at http.*/MM/Test/small.tar.gz, got .*put the file into"):
        load("Test/small")
    assert files(folder) == ["small.tar.gz.part"]
    assert_is_small(load("Test/small"))
    assert server.ranges[-1] == "bytes=70-"
    assert files(folder) == ["small.npz", "small.tar.gz"]


def test_a_server_without_ranges_sends_all_again(server, folder):
    server.breaks, server.knows_ranges = [50], False
    assert_is_small(load("Test/small"))
    assert server.ranges == [None, "bytes=50-"]


@pytest.mark.parametrize("surplus", [b"", b"something else"])
def test_a_left_part_that_is_too_long(server, folder, surplus):
    place_part(folder, GOOD + surplus)
    assert_is_small(load("Test/small"))
    assert server.ranges == [f"bytes={len(GOOD + surplus)}-", None]


def test_a_wrong_part_is_found_out(server, folder):
    place_part(folder, b"x" * 50)
    with pytest.raises(DataError, match="expected a matrix in .*small.tar.gz.*call again"):
        load("Test/small")
    assert_is_small(load("Test/small"))
    assert server.ranges == ["bytes=50-", None]


def test_a_part_of_an_older_file_is_dropped(server, folder):
    place_part(folder, b"x" * 50)
    server.date = LATER
    assert_is_small(load("Test/small"))
    assert server.ranges == ["bytes=50-"], "the answer is the whole file"
    assert files(folder) == ["small.npz", "small.tar.gz"]


def test_a_file_that_changes_while_it_is_downloaded(server, folder):
    server.content = GOOD[:50] + b"x" * 500
    server.breaks = [70, 10, 10]
    with pytest.raises(DataError):
        load("Test/small")
    server.content, server.date = GOOD, LATER
    assert_is_small(load("Test/small"))


def test_a_part_of_unknown_age_is_not_trusted(server, folder):
    place(folder, ".tar.gz.part", b"x" * 50)
    assert_is_small(load("Test/small"))
    assert (folder / "small.tar.gz").read_bytes() == GOOD


@pytest.mark.parametrize(("date", "content_range"), [(LATER, None), (DATE, f"bytes 0-{len(GOOD) - 1}/{len(GOOD)}")])
def test_a_server_that_sends_the_rest_of_something_else(server, folder, date, content_range):
    place_part(folder, b"x" * 50)
    server.heeds_dates, server.date, server.content_range = False, date, content_range
    assert_is_small(load("Test/small"))
    assert server.ranges == ["bytes=50-", None]


@pytest.mark.parametrize("date", [None, "yesterday"])
def test_a_server_without_dates_sends_all_again(server, folder, date):
    server.date, server.breaks = date, [50, 50, 50]
    with pytest.raises(DataError):
        load("Test/small")
    assert files(folder) == [], "nobody would know whether the rest still fits"
    assert_is_small(load("Test/small"))
    assert server.ranges == [None] * 4


def test_an_interrupted_download_leaves_one_part(server, folder, monkeypatch):
    class Interrupted(download.tqdm):
        def update(self, n):
            raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(download, "tqdm", Interrupted)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                load("Test/small")
            assert files(folder) == ["small.tar.gz.part"]
    assert_is_small(load("Test/small"))
    assert server.ranges == [None, "bytes=10-", "bytes=20-", "bytes=30-"]
    assert files(folder) == ["small.npz", "small.tar.gz"]


def test_what_killed_processes_left_is_deleted_in_time(server, folder, monkeypatch):
    for ending in (".tar.gz.0123.part", ".npz.4567.part"):
        place(folder, ending, b"x")
    load("Test/small")
    assert files(folder) == ["small.npz", "small.npz.4567.part", "small.tar.gz", "small.tar.gz.0123.part"]
    for ending in (".npz", ".tar.gz"):
        (folder / f"small{ending}").unlink()
    monkeypatch.setattr(files_module, "SECONDS_UNTIL_ABANDONED", -1)
    load("Test/small")
    assert files(folder) == ["small.npz", "small.tar.gz"]


@pytest.mark.parametrize("left", [False, True], ids=["from nothing", "from a part"])
def test_two_downloads_at_the_same_time(server, folder, left):
    if left:
        place_part(folder, GOOD[:50])
    server.halfway = threading.Barrier(2, timeout=10)
    with ThreadPoolExecutor(2) as pool:
        for matrix in pool.map(load, ["Test/small"] * 2):
            assert_is_small(matrix)
    assert sorted(server.ranges, key=str) == [None, "bytes=50-" if left else None]
    assert (folder / "small.tar.gz").read_bytes() == GOOD
    assert files(folder) == ["small.npz", "small.tar.gz"]


def test_a_damaged_download_is_not_kept(server, folder):
    server.content = b"<html>try again later</html>"
    with pytest.raises(DataError, match="expected a matrix in .*small.tar.gz, got .*call again"):
        load("Test/small")
    server.content = GOOD
    assert_is_small(load("Test/small"))


def entry_with(sha256):
    return Entry("Test/small", 3, 3, None, None, "collection", sha256, "none")


def test_checksums(server, folder, monkeypatch):
    monkeypatch.setattr(loader, "entry_of", lambda name: entry_with("0" * 64))
    with pytest.raises(DataError, match="expected SHA-256 0{64} of http.*small.tar.gz, got [0-9a-f]{64}; try again"):
        load("Test/small")
    assert files(folder) == []
    right = dataclasses.replace(entry_with(None), sha256=hashlib.sha256(GOOD).hexdigest())
    monkeypatch.setattr(loader, "entry_of", lambda name: right)
    assert_is_small(load("Test/small"))


def test_a_name_that_the_collection_does_not_know(server, folder):
    with pytest.raises(
        DataError, match="expected a matrix at http.*nosuch.tar.gz, got the answer 404 .*check its name"
    ):
        load("Test/nosuch")
    assert server.ranges == [None], "an answer is no reason to try again"
    assert files(folder) == []


def test_offline(folder):
    with pytest.raises(
        DataError, match="expected a matrix at http://127.0.0.1:9/MM/Test/small.tar.gz, got no network, or no answer"
    ):
        load("Test/small")


def test_a_cache_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("GMATCH_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(DataError, match="got (NotADirectoryError|FileExistsError)"):
        load("Test/small")


def test_a_name_that_is_nearly_known(monkeypatch, tmp_path):
    """Also where nothing can be downloaded."""
    monkeypatch.setenv("GMATCH_DATA_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "gmatch.datasets.download", None)
    for name in ("HB/west006", "hb/west0067"):
        with pytest.raises(DataError, match="did you mean 'HB/west0067'"):
            load(name)
