"""Two builds side by side: slower, wrong and dead builds are reported; each is built once. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import compare
import numpy as np
import pytest
from compare import Found

import gmatch
from gmatch import _native

ROOT = Path(__file__).parent.parent
TINY = ["--size", "12", "--scale", "5", "--rounds", "2", "--pairs", "2"]


def build_of_the_tests(folder: Path, change: str = "") -> Path:
    """The installed gmatch as a build. `change` is appended to its first file."""
    package = folder / "gmatch"
    package.mkdir(parents=True)
    for path in (*(ROOT / "gmatch").iterdir(), Path(_native.__file__)):
        if path.name not in ("__pycache__", "__init__.py"):
            (package / path.name).symlink_to(path)
    (package / "__init__.py").write_text((ROOT / "gmatch" / "__init__.py").read_text() + change)
    return folder


def changed_lap(body: str) -> str:
    return f"\nfrom gmatch.public import lap as _lap\ndef lap(cost, **options):\n    {body}\n"


def run(old: Path, new: Path, *arguments: str) -> int:
    return compare.main([str(old), str(new), *TINY, *arguments])


def test_a_table_comes_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = build_of_the_tests(tmp_path / "old"), build_of_the_tests(tmp_path / "new")
    file = tmp_path / "speeds.json"
    groups = ("sparse", "batches", "cardinality")
    run(old, new, "--groups", *groups, "--output", str(file))
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[:2] == [f"OLD {old}", f"NEW {new}"] and "round 2 of 2" in output.err
    assert all(len(line) <= 100 for line in lines[2:])
    assert [line.split(":")[0] for line in lines[-3:]] == list(groups)
    saved = json.loads(file.read_text())
    assert saved["old"]["build"] == str(old) and saved["new"]["given"] == str(new) and saved["machine"]["gmatch"]
    assert set(saved["groups"]) == set(groups)
    expected = [(cell.group, cell.name) for cell in compare.cells("cpu", 12, 5) if cell.group in groups]
    assert [(cell["group"], cell["name"]) for cell in saved["cells"]] == expected
    for cell in saved["cells"]:
        assert cell["problem"] is None, cell
        assert [len(pairs) for pairs in cell["rounds"]] == [2, 2]
        assert cell["low"] <= cell["median"] <= cell["high"] and np.min(cell["rounds"]) > 0


def test_new_processes_are_timed(tmp_path: Path) -> None:
    old, new = (
        build_of_the_tests(tmp_path / "old"),
        build_of_the_tests(tmp_path / "new", "\nimport time; time.sleep(0.5)"),
    )
    file = tmp_path / "speeds.json"
    run(old, new, "--groups", "process", "--rounds", "1", "--pairs", "1", "--output", str(file))
    imported, *first_calls = json.loads(file.read_text())["cells"]
    assert imported["name"] == "import gmatch" and imported["rounds"][0][0][1] > 0.5
    assert len(first_calls) == 3 and all(min(cell["rounds"][0][0]) > 0 for cell in first_calls)


def test_all_cells_are_of_a_group_and_differ() -> None:
    for device in ("cpu", "gpu"):
        cells = list(compare.cells(device, 1000, 15))
        assert {cell.group for cell in cells} == set(compare.GROUPS)
        names = [(cell.group, cell.name) for cell in cells]
        assert len(set(names)) == len(names) > 80
        for family in (*compare.assignment.FAMILIES, *compare.other_costs.FAMILIES, *compare.cardinality.FAMILIES):
            assert any(family in name for _, name in names)
        methods = {cell.options["method"] for cell in cells if cell.group == "methods"}
        assert methods >= {"core", "tree", "classical"} and ("jv" in methods) == (device == "cpu")


def test_each_method_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = build_of_the_tests(tmp_path)
    run(build, build, "--groups", "methods", "--rounds", "1", "--pairs", "1")
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("methods: ")]
    assert len(rows) == 15 and not any("Error" in row for row in rows)


def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    def cells(device: str, size: int, scale: int) -> list[compare.Cell]:
        dense = compare.Cell("dense", "a matrix", "lap", lambda: np.arange(36.0).reshape(6, 6) % 7)
        small = compare.Cell("small", "graphs", "max_matching", lambda: compare.small.graphs(6, 3))
        return [dense, small]

    monkeypatch.setattr(compare, "cells", cells)


def test_a_slower_build_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_cells(monkeypatch)
    old = build_of_the_tests(tmp_path / "old")
    slow = build_of_the_tests(tmp_path / "slow", changed_lap("__import__('time').sleep(.03); return _lap(cost)"))
    # The time of a proof does not count.
    slow_init = slow / "gmatch" / "__init__.py"
    slow_init.write_text(slow_init.read_text().replace("return _lap(cost)", "return _lap(cost, **options)"))
    assert run(old, slow) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if line.endswith("SLOWER") and "small" not in line] == ["dense"] * 2
    run(slow, old)
    assert not any(line.startswith("dense") and "SLOWER" in line for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        # A worse answer than its proof's.
        (
            "from types import SimpleNamespace"
            + changed_lap("return _lap(cost, **options) if options else SimpleNamespace(cost=50.0)"),
            "NEW: AssertionError: lap: expected 3.0, got 50.0",
        ),
        # Equal answers within the build, but others than the other build's.
        (
            "from types import SimpleNamespace" + changed_lap("return SimpleNamespace(cost=50.0)"),
            "OLD finds 3.0, NEW 50.0",
        ),
        (changed_lap("raise RuntimeError('broken')"), "NEW: RuntimeError: broken"),
        (changed_lap("__import__('os')._exit(3)"), "NEW: its process died"),
    ],
)
def test_a_wrong_answer_is_refused_before_it_is_timed(
    change: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_cells(monkeypatch)
    cost = np.arange(36.0).reshape(6, 6) % 7
    problem = problem.replace("3.0", f"{gmatch.lap(cost).cost}")
    old, new = build_of_the_tests(tmp_path / "old"), build_of_the_tests(tmp_path / "new", change)
    assert run(old, new) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=3)[3] for line in lines if line.startswith("dense")] == [problem]
    # Later cells are still measured.
    assert any(line.startswith("small: graphs") and ".." in line for line in lines)


def test_a_build_that_hangs_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_cells(monkeypatch)
    monkeypatch.setattr(compare, "LIMIT", 5)
    build = build_of_the_tests(tmp_path / "new", changed_lap("__import__('time').sleep(600)"))
    assert run(build_of_the_tests(tmp_path / "old"), build) == 1
    output = capsys.readouterr().out
    assert "NEW: no answer within 5 s" in output and "small: graphs" in output


def test_nothing_is_begun_without_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_cells(monkeypatch)
    build = build_of_the_tests(tmp_path)
    assert run(build, build, "--budget", "0") == 1
    assert capsys.readouterr().out.count("no time left") == 2


def test_speeds_and_their_spread() -> None:
    even = Found("dense", "even", [[(2.0, 2.0)] * 4] * 3)
    speed = compare.speed_of([even])
    assert (speed.median, speed.low, speed.high) == (1, 1, 1)
    halved = Found("dense", "halved", [[(1.0, 2.0)] * 4] * 3)
    speed = compare.speed_of([even, halved])
    assert speed.median == speed.low == speed.high == pytest.approx(0.5**0.5)
    assert compare.speed_of([halved]).is_below(0.9) and not compare.speed_of([even]).is_below(0.9)
    # One disturbed round of five does not make the cell slower; the interval shows the disturbance.
    disturbed = Found("dense", "disturbed", [[(1.0, 1.0)] * 8] * 4 + [[(1.0, 9.0)] * 8])
    speed = compare.speed_of([disturbed])
    assert speed.median == 1 and not speed.is_below(0.9)
    uncertain = Found("dense", "uncertain", [[(1.0, 1.0)] * 8] * 2 + [[(1.0, 9.0)] * 8] * 3)
    speed = compare.speed_of([uncertain])
    assert speed.low == speed.median < 0.2 and speed.high == 1 and not speed.is_below(0.9)


def test_durations() -> None:
    assert [compare.duration(seconds) for seconds in (2.5, 0.0125, 1.3e-6)] == ["2.50 s", "12.5 ms", "1.30 us"]


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=a test", "-c", "user.email=test@example.com"]
    done = subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_commits_and_trees_are_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository, scratch = tmp_path / "repository", tmp_path / "scratch"
    source = repository / "gmatch" / "csrc" / "deep" / "a.cuh"
    source.parent.mkdir(parents=True)
    (repository / "pyproject.toml").touch()
    git(repository, "init", "-q")
    for text in ("one", "two"):
        source.write_text(text)
        git(repository, "add", ".")
        git(repository, "commit", "-qm", text)
    made: list[str] = []

    def install(tree: Path, target: Path) -> None:
        made.append((tree / "gmatch" / "csrc" / "deep" / "a.cuh").read_text())
        target.mkdir()

    monkeypatch.setattr(compare, "ROOT", repository)
    monkeypatch.setattr(compare, "install", install)
    first = [compare.built(name, scratch) for name in ("HEAD~1", "HEAD")]
    assert [compare.built(name, scratch) for name in (git(repository, "rev-parse", "HEAD~1"), "HEAD^{}")] == first
    assert made == ["one", "two"] and len(set(first)) == 2
    # Nothing else is left, in the folder or in git.
    assert set(scratch.iterdir()) == set(first) and len(git(repository, "worktree", "list").splitlines()) == 1
    # A tree is built again if a file of it changed.
    tree = compare.built(str(repository), scratch)
    assert compare.built(str(repository), scratch) == tree
    source.write_text("three")
    assert compare.built(str(repository), scratch) != tree and made == ["one", "two", "two", "three"]


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "gmatch").mkdir(parents=True)
    (tree / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'no_such_backend'\n")
    with pytest.raises(gmatch.InvalidInput, match="expected a tree that can be built, got"):
        compare.built(str(tree), tmp_path / "scratch")
    assert not list((tmp_path / "scratch").iterdir())


def test_a_build_is_taken_as_it_is(tmp_path: Path) -> None:
    build = build_of_the_tests(tmp_path / "build")
    assert compare.built(str(build), tmp_path / "scratch") == build and not (tmp_path / "scratch").exists()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("no-such-commit", "expected a commit of"),
        (
            "{folder}",
            "expected a commit, a tree with pyproject.toml, or a build with gmatch/_native*.so, got the folder",
        ),
    ],
)
def test_builds_that_are_none(
    given: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "ROOT", tmp_path)  # without a history
    with pytest.raises(SystemExit) as stopped:
        compare.main([given.format(folder=tmp_path), "HEAD", "--scratch", str(tmp_path / "scratch")])
    assert stopped.value.code == 2 and problem in capsys.readouterr().err


def test_a_worker_takes_the_build_and_no_other(tmp_path: Path) -> None:
    build = build_of_the_tests(tmp_path / "build", "\nprint('this one')")

    def use(folder: Path) -> Any:
        text = f"from pathlib import Path; import compare_worker; compare_worker.use(Path({str(folder)!r}))"
        command = [sys.executable, "-c", text]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "benchmarks")

    assert use(build).stdout == "this one\n"
    (tmp_path / "empty").mkdir()
    assert use(tmp_path / "empty").returncode != 0
