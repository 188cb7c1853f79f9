"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import gmatch
from gmatch import cli, cuda
from gmatch.cli import demo, ends, match
from gmatch.cli import terminal as on_terminal

SMALL = ("Grund/b1_ss", "HB/ash219", "HB/west0067", "Pajek/GD96_d")
FACTS = {
    "graph", "rows", "columns", "entries", "size", "deficiency", "published_structural_rank", "agrees", "proven",
    "cover_rows", "cover_columns", "method", "initial", "start_size", "backend", "team", "threads", "phases", "levels",
    "edges_inspected", "start_seconds", "search_seconds", "augment_seconds", "total_seconds",
}  # fmt: skip

Facts = dict[str, Any]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process; returns its exit code, output and errors."""

    def run_here(*argv: object) -> tuple[int, str, str]:
        code = cli.main([str(argument) for argument in argv])
        return code, *capsys.readouterr()

    return run_here


@pytest.fixture
def few_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = tuple(entry for entry in gmatch.datasets.bundled() if entry.name in SMALL)
    monkeypatch.setattr(gmatch.datasets, "bundled", lambda: entries)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_terminal, "_on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def wrong_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishes a wrong structural rank of HB/west0067."""
    entries = [
        dataclasses.replace(entry, structural_rank=66) if entry.name == "HB/west0067" else entry
        for entry in gmatch.datasets.registry()
    ]
    monkeypatch.setattr(gmatch.datasets, "registry", lambda: tuple(entries))


@pytest.fixture
def wrong_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves one row free that could be matched."""

    def solve(graph: Any, **options: Any) -> gmatch.Matching:
        right = gmatch.max_matching(graph, **options)
        row, column = (int(numbers[0]) for numbers in right)
        right.row_match[row] = right.col_match[column] = -1
        return dataclasses.replace(right, size=right.size - 1)

    monkeypatch.setattr(match, "max_matching", solve)


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*_: Any, **__: Any) -> None:
        raise AssertionError("work started although the arguments are bad")

    monkeypatch.setattr(match, "max_matching", solve)


def plain_facts(output: str) -> dict[str, str]:
    return dict(line.split("\t") for line in output.splitlines())


# match


def test_match_prints_lines_with_tabs(run: Run) -> None:
    code, output, errors = run("match", "HB/west0067", "--verbose")
    facts = plain_facts(output)
    assert (code, errors) == (0, "")
    assert set(facts) == FACTS
    short = plain_facts(run("match", "HB/west0067")[1])
    assert {"size", "proven", "method"} <= set(short) < FACTS and "phases" not in short
    expected = {"graph": "HB/west0067", "rows": "67", "columns": "67", "entries": "294", "size": "67"}
    expected |= {"deficiency": "0", "published_structural_rank": "67", "agrees": "yes", "proven": "yes"}
    assert expected.items() <= facts.items()
    assert int(facts["cover_rows"]) + int(facts["cover_columns"]) == 67


def test_match_prints_json(run: Run) -> None:
    code, output, errors = run("match", "Pajek/GD96_d", "--json", "--threads", 2, "--initial", "none")
    facts = json.loads(output)
    assert (code, errors, set(facts)) == (0, "", FACTS)
    expected: Facts = {"rows": 180, "columns": 180, "entries": 229, "size": 73, "deficiency": 107, "start_size": 0}
    expected |= {"published_structural_rank": None, "agrees": None, "proven": True, "initial": "none", "threads": 2}
    assert expected.items() <= facts.items()
    assert facts["cover_rows"] + facts["cover_columns"] == 73
    assert facts["total_seconds"] > 0


@pytest.mark.usefixtures("terminal")
def test_match_prints_a_table_on_a_terminal(run: Run) -> None:
    code, output, _ = run("match", "generator:layered:1000")
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert code == 0 and "\t" not in output
    assert "graph generator:layered:1000" in lines
    assert "size 3,001" in lines
    assert "published rank -" in lines
    assert any(line.startswith("proof a cover of ") and line.endswith(" columns = 3,001") for line in lines)
    assert any(line.startswith("time ") and " ms (start " in line for line in lines)


@pytest.mark.usefixtures("terminal")
def test_names_are_no_markup(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scipy.sparse.save_npz("[bold]x.npz", scipy.sparse.eye_array(3, format="csr"))
    code, output, _ = run("match", "[bold]x.npz")
    assert code == 0 and "[bold]x.npz" in output


@pytest.mark.parametrize("method", ["apfb", "claims-apsb", *(method.name for method in gmatch.METHODS)])
def test_match_takes_methods_by_name(run: Run, method: str) -> None:
    code, output, _ = run("match", "JGD_Margulies/cat_ears_3_1", "--method", method, "--json")
    facts = json.loads(output)
    assert (code, facts["size"], facts["agrees"]) == (0, 175, True)
    assert facts["method"].startswith(method)


def test_match_on(run: Run, device: str) -> None:
    code, output, _ = run("match", "HB/gemat12", "--device", device, "--json")
    facts = json.loads(output)
    assert (code, facts["size"], facts["backend"]) == (0, 4929, device)


def test_match_deterministically(run: Run, device: str) -> None:
    code, output, _ = run("match", "HB/gemat12", "--deterministic", "--device", device, "--json")
    facts = json.loads(output)
    assert (code, facts["size"], facts["method"]) == (0, 4929, "ordered-apfb")
    for option, value in (("--method", "claims"), ("--initial", "karp-sipser")):
        code, _, error = run("match", "no/such", "--deterministic", option, value)
        assert code == 2 and error.startswith("gmatch: error: deterministic=True needs a ")


MATRIX: Any = scipy.sparse.csr_array(np.array([[1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]))
MATRIX_MARKET = b"%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 1\n1 3\n2 3\n"


def write_graph(path: Path, kind: str) -> None:
    if kind == "mtx":
        path.write_bytes(MATRIX_MARKET)
    elif kind == "mtx.gz":
        path.write_bytes(gzip.compress(MATRIX_MARKET))
    elif kind == "arrays.npz":
        np.savez(path, indptr=MATRIX.indptr, indices=MATRIX.indices, shape=MATRIX.shape)
    else:
        scipy.sparse.save_npz(path, MATRIX.asformat(kind.partition(".")[0]))


@pytest.mark.parametrize("kind", ["mtx", "mtx.gz", "arrays.npz", "csr.npz", "csc.npz", "coo.npz", "bsr.npz"])
def test_match_reads_files(run: Run, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"graph.{kind}"
    write_graph(path, kind)
    code, output, _ = run("match", path, "--json")
    facts = json.loads(output)
    assert (code, facts["rows"], facts["columns"], facts["entries"]) == (0, 3, 4, 3)
    assert (facts["size"], facts["deficiency"], facts["published_structural_rank"]) == (2, 1, None)


def test_a_file_wins_over_the_collection(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "HB").mkdir()
    assert run("match", "HB/west0067")[0] == 0
    (tmp_path / "HB" / "west0067").touch()
    code, _, errors = run("match", "HB/west0067")
    assert code == 2 and "expected a file that ends in .mtx, .mtx.gz, .npz, .npy, " in errors
    assert errors.endswith("; got HB/west0067\n")


def test_match_writes_mates(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mates"
    path.write_text("old")
    assert run("match", "HB/ash219", "--output", path)[0] == 0
    assert list(tmp_path.iterdir()) == [path]
    with np.load(path) as mates:
        assert set(mates) == {"row_match", "col_match"}
        row_match, col_match = mates["row_match"], mates["col_match"]
    rows = np.flatnonzero(row_match >= 0)
    assert len(rows) == 85 and (col_match[row_match[rows]] == rows).all()
    assert gmatch.datasets.load("HB/ash219")[rows, row_match[rows]].all()


@pytest.mark.usefixtures("no_solver")
def test_bad_output_is_found_before_work(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = tmp_path / "nowhere"
    expected = "gmatch: error: --output must name a file in a folder that can be written to; "
    code, _, errors = run("match", "HB/ash219", "--output", nowhere / "mates.npz")
    assert (code, errors) == (2, f"{expected}{nowhere} does not exist\n")
    code, _, errors = run("match", "HB/ash219", "--output", tmp_path)
    assert (code, errors) == (2, f"gmatch: error: --output must name a file; {tmp_path} is a folder\n")
    monkeypatch.setattr("os.access", lambda *_: False)
    code, _, errors = run("match", "HB/ash219", "--output", tmp_path / "mates.npz")
    assert (code, errors) == (2, f"{expected}{tmp_path} cannot be written to\n")


@pytest.mark.usefixtures("no_solver")
def test_output_that_cannot_be_written_is_found_before_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mates").touch()
    Path("dangling").symlink_to("nowhere/mates")
    Path("loop").symlink_to("loop")
    # Root may write to all files.
    monkeypatch.setattr("os.access", lambda path, _: path != Path("mates"))
    expected = "gmatch: error: --output must name a file that can be written to; "
    assert run("match", "HB/ash219", "--output", "mates") == (2, "", f"{expected}mates is write-protected\n")
    for name, wrong in (("n" * 256, "File name too long"), ("mates/x", "Not a directory"), ("loop", "Too many levels")):
        code, _, errors = run("match", "HB/ash219", "--output", name)
        assert code == 2 and errors.startswith(f"{expected}{name}: {wrong}")
    code, _, errors = run("match", "HB/ash219", "--output", "dangling")
    assert code == 2 and errors.endswith(f"{tmp_path / 'nowhere'} does not exist\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        code, _, errors = run("match", "HB/ash219", "--output", "socket")
    assert (code, errors) == (2, "gmatch: error: --output must name a file; socket is a socket\n")


def test_output_goes_through_pipes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        code, _, errors = run("match", "HB/ash219", "--output", path)
        assert (code, errors) == (0, "") and path.is_fifo()
        with np.load(io.BytesIO(reader.read())) as mates:
            assert (mates["row_match"] >= 0).sum() == 85


def test_output_goes_through_devices(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*_: Any) -> None:
        raise AssertionError("root would lose the device")

    monkeypatch.setattr(Path, "replace", replace)
    path = tmp_path / "device"
    for device, expected in (("/dev/null", 0), ("/dev/full", 3)):
        path.symlink_to(device)
        code, _, errors = run("match", "HB/ash219", "--output", path)
        assert code == expected and path.is_symlink() and path.is_char_device()
        path.unlink()
    assert errors == f"gmatch: error: could not write {path}: No space left on device\n"


def test_output_keeps_links_and_permissions(run: Run, tmp_path: Path) -> None:
    link, path = tmp_path / "link", tmp_path / "mates"
    link.symlink_to("mates")
    for _ in range(2):
        assert run("match", "HB/ash219", "--output", link)[0] == 0
        with np.load(path) as mates:
            assert len(mates["row_match"]) == 219
        path.write_text("old")
        path.chmod(0o600)
    assert run("match", "HB/ash219", "--output", path)[0] == 0
    assert link.is_symlink() and sorted(tmp_path.iterdir()) == [link, path]
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() != b"old"


def test_names_of_output_may_be_long(run: Run, tmp_path: Path) -> None:
    path = tmp_path / ("n" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    assert run("match", "HB/ash219", "--output", path)[0] == 0
    assert list(tmp_path.iterdir()) == [path]


def test_output_is_all_or_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_is_full(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "mates.npz"
    path.write_text("old")
    monkeypatch.setattr(np, "savez_compressed", disk_is_full)
    code, _, errors = run("match", "HB/ash219", "--output", path)
    assert (code, errors) == (3, f"gmatch: error: could not write {path}: No space left on device\n")
    assert list(tmp_path.iterdir()) == [path] and path.read_text() == "old"


# demo and info


@pytest.mark.usefixtures("few_bundled")
def test_demo_prints_lines_with_tabs(run: Run) -> None:
    code, output, errors = run("demo")
    assignments, matrices = output.split("\n\n")
    first, *kinds = assignments.splitlines()
    assert first.split("\t") == ["costs", "type", "pairs", "cost", "gap", "method", "phases", "ms"]
    assert len(kinds) == 9 and kinds[0].split("\t")[:6] == [
        "generator:uniform:1000:1",
        "int32",
        "1000",
        "1137",
        "0",
        "jv",
    ]
    header, *lines, assigned, summary = matrices.splitlines()
    assert (code, errors) == (0, "")
    assert assigned == "9 assignments, each proven optimal by its duals"
    assert header.split("\t") == [
        "graph", "rows", "columns", "entries", "size", "published", "proof", "phases", "levels", "ms"
    ]  # fmt: skip
    table = [line.split("\t") for line in lines]
    assert [cells[0] for cells in table] == list(SMALL)
    assert [cells[4:6] for cells in table] == [["7", "7"], ["85", "85"], ["67", "67"], ["73", "-"]]
    assert [sum(map(int, cells[6].split(" + "))) for cells in table] == [7, 85, 67, 73]
    assert summary == "4 matrices, 4 proven, 3 of 3 agree with the published structural rank"


def test_demo_prints_json(run: Run) -> None:
    code, output, errors = run("demo", "--json", "--method", "apsb")
    report = json.loads(output)
    bundled = gmatch.datasets.bundled()
    assert (code, errors) == (0, "")
    assert [facts["graph"] for facts in report["matrices"]] == [entry.name for entry in bundled]
    assert all(set(facts) == FACTS for facts in report["matrices"])
    assert all(facts["gap"] < 1e-9 for facts in report["assignments"])
    published = sum(entry.structural_rank is not None for entry in bundled)
    assert (report["proven"], report["agree"], report["published"]) == (len(bundled), published, published)


@pytest.mark.usefixtures("few_bundled", "terminal")
def test_demo_prints_a_table_on_a_terminal(run: Run) -> None:
    code, output, _ = run("demo")
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert code == 0 and "\t" not in output
    assert lines[0].startswith("costs type pairs cost gap method")
    assert any(line.startswith("graph rows columns entries size proof ms") for line in lines)
    assert any(line.startswith("HB/west0067 67 67 294 67 67 + 0 ") for line in lines)
    assert lines[-1] == "4 matrices, 4 proven, 3 of 3 agree with the published structural rank"


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("milliseconds", ["0.01", "10000.00"])  # at most: a GPU's programs are compiled first
def test_the_tables_of_the_demo_fit_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch, milliseconds: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for module in (match, demo):
        monkeypatch.setattr(module, "milliseconds", lambda _: milliseconds)
    lines = run("demo")[1].splitlines()
    assert max(map(len, lines)) <= 80
    names = [entry.name for entry in gmatch.datasets.bundled()]
    first_cells = [line.split(" ")[0] for line in lines[:-2]]
    assert first_cells == ["costs", *demo.DEMO_COSTS, "", "graph", *names]  # none is folded


@pytest.mark.usefixtures("few_bundled")
def test_a_pipe_has_no_width(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assignments, matrices = run("demo")[1].split("\n\n")
    assert {line.count("\t") for line in assignments.splitlines()} == {7}
    assert {line.count("\t") for line in matrices.splitlines()[:-2]} == {9}


def test_info(run: Run) -> None:
    code, output, _ = run("info", "--json")
    facts = json.loads(output)
    assert (code, facts["gmatch"], facts["numpy"]) == (0, gmatch.__version__, np.__version__)
    assert facts["cpu_threads"] >= 1
    assert bool(facts["gpus"]) != bool(facts["gpu_problem"]) and bool(facts["gpus"]) == bool(facts["gpu_code"])
    assert facts["methods"] == [method.name for method in gmatch.METHODS]
    assert plain_facts(run("info")[1])["methods"] == " ".join(facts["methods"])


@pytest.mark.usefixtures("terminal")
def test_info_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GMATCH_DATA_DIR", "/data/matrices")
    code, output, _ = run("info")
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert code == 0
    assert "cache /data/matrices" in lines
    assert "claims-apsb-gpubfs-wr" in lines


def test_info_without_what_downloads_need(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("GMATCH_DATA_DIR", raising=False)
    cache = json.loads(run("info", "--json")[1])["cache"]
    assert cache.startswith("none: ") and "gmatch-bipartite[data]" in cache


def test_info_says_why_there_is_no_gpu(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "module", lambda: None)
    facts = json.loads(run("info", "--json")[1])
    assert facts["gpus"] == [] and "CuPy" in facts["gpu_problem"]


@pytest.mark.parametrize("command", [[], ["match"], ["assign"], ["k-best"], ["transport"], ["demo"], ["info"]])
def test_help_documents_exit_codes(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        cli.main([*command, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert ends.EPILOG in shown and max(map(len, shown.splitlines())) < 80


@pytest.mark.parametrize("command", ["match", "assign"])
def test_a_folder_is_no_file(command: str, run: Run, tmp_path: Path) -> None:
    code, _, errors = run(command, str(tmp_path))
    assert code == 3 and f"expected a file at {tmp_path}; there is a folder" in errors


def test_an_array_of_objects_is_not_advertised(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    code, _, errors = run("assign", str(tmp_path / "objects.npy"))
    assert code == 3 and "it holds no numbers, or is damaged" in errors and "pickle" not in errors


# How commands end

BAD_ARGUMENTS = [
    ([], "the following arguments are required: COMMAND; see gmatch --help"),
    (["match"], "the following arguments are required: GRAPH; see gmatch match --help"),
    (["solve"], "invalid choice: 'solve'"),
    (["match", "HB/west0067", "--device", "tpu"], "invalid choice: 'tpu'"),
    (["match", "HB/west0067", "--initial", "warm"], "invalid choice: 'warm'"),
    (["match", "HB/west0067", "--threads", "many"], "invalid int value: 'many'"),
    (["match", "HB/west0067", "--threads", "0"], "threads must be an integer from 1 to 1024, or None; got 0"),
    (["match", "HB/west0067", "--method", "magic"], "unknown method 'magic'; expected one of 'auto', "),
    (["demo", "--method", "magic"], "unknown method 'magic'; expected one of 'auto', "),
    (["match", "west0067"], "expected a file that exists, Group/Name, or generator:NAME:SIZE; got 'west0067'"),
    (["match", "HB/no name"], "expected a name of the form Group/Name"),
    (["match", "generator:magic:3"], "got 'generator:magic:3'"),
]


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize(("argv", "message"), BAD_ARGUMENTS)
def test_bad_arguments_end_with_2(run: Run, argv: list[str], message: str) -> None:
    code, output, errors = run(*argv)
    assert (code, output) == (2, "")
    assert errors.startswith("gmatch: error: ") and errors.count("\n") == 1
    assert message in errors


def test_threads_are_not_for_gpus(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "require", lambda: None)
    code, _, errors = run("match", "HB/west0067", "--device", "gpu", "--threads", 2)
    assert (code, errors) == (2, "gmatch: error: --threads is for --device cpu; a GPU sizes its own grid\n")


WHOLE_NPZ = b"PK\x05\x06" + bytes(18)
BAD_FILES = {
    "no matrix.mtx": b"hello\n",
    "cut.mtx": MATRIX_MARKET[:-4],
    "no gzip.mtx.gz": MATRIX_MARKET,
    "nothing.npz": b"",
    "no archive.npz": b"hello",
    "empty archive.npz": WHOLE_NPZ,
}


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_end_with_3(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BAD_FILES[name])
    code, output, errors = run("match", path)
    assert (code, output) == (3, "")
    assert errors.startswith("gmatch: error: expected a ") and errors.count("\n") == 1
    assert str(path) in errors


@pytest.mark.usefixtures("no_solver")
def test_an_impossible_graph_in_a_file_ends_with_3(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    np.savez(path, indptr=[0, 1, 2], indices=[0, 7], shape=(2, 2))
    code, _, errors = run("match", path)
    assert code == 3
    assert f"{path}; got column numbers must be from 0 to 1; entry 1 is 7" in errors


@pytest.mark.usefixtures("no_solver")
def test_a_missing_file_ends_with_3(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "none.mtx"
    assert run("match", path) == (3, "", f"gmatch: error: expected a file at {path}; there is none\n")


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize("command", ["match", "assign"])
@pytest.mark.parametrize("name", ["graph.mtx", "63"])
def test_a_pipe_is_no_file(run: Run, tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    code, _, errors = run(command, path)
    assert code == 3 and errors.startswith(f"gmatch: error: expected a regular file at {path}; it is a pipe; ")


@pytest.mark.usefixtures("no_solver")
def test_a_device_or_folder_is_no_file(run: Run, tmp_path: Path) -> None:
    assert "/dev/null; it is a device or socket; " in run("match", "/dev/null")[2]
    path = tmp_path / "folder.mtx"
    path.mkdir()
    assert run("match", path) == (3, "", f"gmatch: error: expected a file at {path}; there is a folder\n")


@pytest.mark.usefixtures("wrong_solver")
def test_what_is_not_proven_ends_with_1(run: Run, tmp_path: Path) -> None:
    code, output, errors = run("match", "HB/west0067", "--output", tmp_path / "mates.npz")
    facts = plain_facts(output)
    assert code == 1
    assert (facts["size"], facts["proven"], facts["cover_rows"], facts["agrees"]) == ("66", "no", "-", "no")
    assert errors.startswith("gmatch: error: HB/west0067: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("wrong_solver", "few_bundled")
def test_a_demo_that_is_not_proven_ends_with_1(run: Run) -> None:
    code, output, errors = run("demo")
    assert code == 1
    assert output.endswith("4 matrices, 0 proven, 0 of 3 agree with the published structural rank\n")
    assert output.count("NOT PROVEN") == errors.count("\n") == 4


@pytest.mark.usefixtures("wrong_registry", "few_bundled")
@pytest.mark.parametrize("argv", [["match", "HB/west0067"], ["demo"]])
def test_what_disagrees_ends_with_1(run: Run, argv: list[str]) -> None:
    code, _, errors = run(*argv)
    assert code == 1
    assert errors == (
        "gmatch: error: HB/west0067: the matching has 67 edges, which is proven maximum, but the published structural "
        "rank is 66\n"
    )


@pytest.mark.usefixtures("wrong_registry", "terminal")
def test_a_table_shows_that_it_disagrees(run: Run) -> None:
    assert "66 (DISAGREES)" in run("match", "HB/west0067")[1]


@pytest.mark.parametrize("command", [["match", "HB/west0067"], ["demo"]])
def test_no_gpu_ends_with_4(run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setattr(cuda, "module", lambda: None)
    code, output, errors = run(*command, "--device", "gpu")
    assert (code, output) == (4, "")
    assert errors.startswith("gmatch: error: device='gpu' needs CuPy") and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [(MemoryError("1 TiB"), 4, "gmatch: error: out of memory: 1 TiB\n"), (KeyboardInterrupt(), 130, "")],
)
def test_other_ends(run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str) -> None:
    def load(_: str) -> None:
        raise error

    monkeypatch.setattr(gmatch.datasets, "load", load)
    assert run("match", "HB/west0067") == (code, "", message)


# In a process of its own


def start(*argv: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "gmatch", *argv]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_piped_output_is_plain() -> None:
    # FORCE_COLOR makes rich write colours also to a pipe. A pipe must get plain lines nevertheless.
    process = start("match", "HB/west0067", env={"FORCE_COLOR": "1", "PYTHONHASHSEED": "0"})
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert output.isascii() and "\x1b" not in output
    assert plain_facts(output)["size"] == "67"


def test_a_closed_pipe_ends_quietly() -> None:
    process = start("demo")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (141, "")


@pytest.mark.parametrize("what", ["--help", "--version"])
def test_help_for_nobody_ends_quietly(what: str) -> None:
    process = start(what, env={})
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (141, "")


def redirected(streams: str, *argv: object) -> tuple[int, str, str]:
    """Runs a command as a shell does; returns its exit code, output and errors."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-m", "gmatch", *map(str, argv)]
    ended = subprocess.run(["sh", "-c", f'exec "$@" {streams}', "sh", *command], capture_output=True, text=True)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_get_nothing(tmp_path: Path, closed: str) -> None:
    path = tmp_path / "mates.npz"
    for _ in range(2):  # a new file, and one that exists
        assert redirected(closed, "match", "HB/ash219", "--output", path) == (0, "", "")
    with np.load(path) as mates:
        assert len(mates["row_match"]) == 219
    assert redirected(closed, "--help") == (0, "", "")


@pytest.mark.parametrize("nowhere", ["2>&-", "2>/dev/full"])
def test_errors_never_go_to_stdout(nowhere: str) -> None:
    assert redirected(nowhere, "match", "nope") == (2, "", "")
    assert redirected(nowhere, "match") == (2, "", "")


def test_output_is_not_where_the_facts_go(tmp_path: Path) -> None:
    path = tmp_path / "mates.npz"
    code, _, errors = redirected(f">{path}", "match", "HB/ash219", "--output", path)
    assert (code, path.read_bytes()) == (2, b"")
    assert errors == f"gmatch: error: --output must name another file than standard output goes to; got {path}\n"


def test_an_interrupt_ends_quietly() -> None:
    # A shell's background job ignores the signal, and so do its children.
    code = (
        "import signal, gmatch; from gmatch import cli; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "gmatch.datasets.load = lambda _: signal.raise_signal(signal.SIGINT); "
        "raise SystemExit(cli.main(['match', 'HB/west0067']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")
