"""The benchmarks: tables come out, files can be read, wrong answers are refused, limits hold. No time is asserted."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import assignment
import cardinality
import cells
import deveci
import first_call
import harness
import layouts
import numpy as np
import papers
import peers
import published
import pytest
import small
import thresholds
import toolkit
import worst
from harness import Allowance, SideProcess, Timing, clocked, equals, timed, timed_peer

import gmatch
from gmatch import cuda, plot
from gmatch.backends import gpu
from gmatch.programs.catalogue import CSRC

TINY = ["--sizes", "16", "24", "--repeats", "1"]


def calls_of(*seconds: float) -> Iterator[tuple[float, int]]:
    return iter([(time, number) for number, time in enumerate(seconds)])


def nothing(found: Any) -> None: ...


def peer_of_the_tests(seconds: float) -> harness.Calls:
    yield 0, None
    yield from clocked(lambda: time.sleep(seconds) or 7)


def dying_peer() -> harness.Calls:
    yield 0, None
    sys.exit(3)


def timing(n: int, solver: str, seconds: float | None, **facts: Any) -> Timing:
    about = {"n": n, "factor": 1000.0, "dtype": "float64", "seed": 0, "count": 0, **facts}
    return Timing(f"n = {n}", solver, seconds, seconds, seconds, about)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("date-nagi-1", "Date and Nagi, Table 1"),
        ("date-nagi-2", "Date and Nagi, Table 2"),
        ("date-nagi-3", "Date and Nagi, Table 3"),
        ("reports", "Table VII: range 1"),
    ],
)
def test_a_table_comes_out(name: str, title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "papers.json"
    assert papers.main(["--tables", name, *TINY, "--factors", "1", "--output", str(file)]) == 0
    output = capsys.readouterr().out
    assert title in output
    assert "| 24 |" in output
    machine, timings = harness.load(file)
    assert {timing.facts["n"] for timing in timings} == {16, 24}
    assert {timing.solver for timing in timings} >= {method.name for method in gmatch.ASSIGNMENT_METHODS}
    assert all(timing.median for timing in timings)
    assert machine["gmatch"] == gmatch.__version__


def test_the_tables_of_several_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run by threads of the host."""
    file = tmp_path / "papers.json"
    shared = ["--tables", "date-nagi-4", "date-nagi-5", *TINY, "--ranks", "1", "2", "--output", str(file)]
    assert papers.main(shared) == 0
    output = capsys.readouterr().out
    _, timings = harness.load(file)
    assert all(timing.median for timing in timings) and len(timings) == 2 * 2 + 2 * 4
    strong = {timing.facts["cost"] for timing in timings if timing.facts["n"] == 24 and not timing.facts["weak"]}
    assert len(strong) == 1  # the same problem for any number of ranks
    rows = [line.split(" | ") for line in output.splitlines() if re.match(r"\| (16|24) \|", line)]
    assert [(row[0].strip("| "), row[1]) for row in rows] == 2 * [("16", "1"), ("24", "2")] + 2 * [
        ("16", "1"), ("16", "2"), ("24", "1"), ("24", "2")
    ]  # fmt: skip
    assert all(re.fullmatch(r"\d\.\d\d \|", row[-1]) for row in rows)
    assert all(all(row[-5:]) for row in rows)


def test_scaling_stands_beside_the_paper() -> None:
    cells = {(10_000, 1): 0.2, (14_142, 2): 0.25}
    timings = [
        timing(n, layouts.solver_of("classical", ranks), seconds, ranks=ranks, weak=True, dtype="int32", factor=10.0)
        for (n, ranks), seconds in cells.items()
    ]
    (table,) = layouts.weak(layouts.Results(timings, "this machine"))
    assert "| 10000 | 1 | 3.66 | 4.97 | 10.42 | 1.00 |" in table
    assert "| 14142 | 2 | 3.8 | 6.7 | 12.48 | 0.83 |" in table
    assert table.endswith("| 0.250 (49.9 x) | 0.80 |")
    assert not list(layouts.strong(layouts.Results(timings, "this machine")))
    strong = layouts.printed_totals(published.STRONG, layouts.RANKS_METHODS["tree"])
    assert layouts.efficiency_of(strong, 20_000, 16, False) == "0.08"


def test_peers_stand_beside(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--tables", "date-nagi-1", "--sizes", "16", "--repeats", "1", "--methods", "jv", "--peers"]
    assert papers.main(arguments) == 0
    header = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| n |"))
    assert header.endswith(" | ".join(["CU-TREE", "jv", *peers.names()]) + " |")


def test_batches_with_and_without_one_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(papers, "BATCHES", ((3, 8),))
    monkeypatch.setattr(layouts, "BATCHES", ((3, 8),))
    lap = gmatch.lap

    def lap_of_batches(cost: Any, **options: Any) -> Any:
        if np.ndim(cost) == 2:
            return lap(cost, **options)
        return SimpleNamespace(cost=np.array([lap(matrix).cost for matrix in cost]))

    def refusing_lap(cost: Any, **options: Any) -> Any:
        if np.ndim(cost) != 2:
            raise gmatch.InvalidInput("a matrix, please")
        return lap(cost, **options)

    for function, expected in ((lap_of_batches, True), (refusing_lap, False)):
        papers.no_batches.cache_clear()
        monkeypatch.setattr(gmatch, "lap", function)
        assert papers.main(["--tables", "batches", "--repeats", "1"]) == 0
        output = capsys.readouterr().out
        assert (f"| problems | {layouts.BATCH} |" in output) == expected
        assert ("takes no 3-d array: a matrix, please" in output) != expected
        assert "| 3 x 8 x 8 |" in output and "SciPy" in output
    papers.no_batches.cache_clear()


def test_what_is_compiled_before_it_is_timed() -> None:
    wide = papers.warm_size("classical", 20_000, "gpu")
    assert gpu.WIDE_BLOCKS_FROM <= wide**2 and wide <= 20_000
    for solver, n, device in (("classical", 8000, "gpu"), ("tree-many", 20_000, "gpu"), ("classical", 20_000, "cpu")):
        assert papers.warm_size(solver, n, device) == papers.WARM
    assert papers.warm_size("classical", 64, "gpu") == 64


def test_a_wrong_problem_of_a_batch_is_refused() -> None:
    with pytest.raises(AssertionError, match="problem 1 of the batch: expected 5, got 6"):
        papers.same_costs([4, 5], [4, 6])


def test_a_wrong_answer_is_refused_before_it_is_timed() -> None:
    calls = calls_of(1, 1)
    with pytest.raises(AssertionError, match="expected 3, got 0"):
        timed("an instance", "a solver", calls, equals(3), 1, {})
    assert next(calls) == (1, 1)  # the second call was not made


def test_an_answer_that_its_duals_do_not_prove_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def verify(costs: Any, answer: Any) -> None:
        raise gmatch.CertificateError("the duals prove nothing")

    monkeypatch.setattr(gmatch, "verify", verify)
    file = tmp_path / "papers.json"
    assert papers.main(["--tables", "date-nagi-1", *TINY, "--methods", "jv", "--output", str(file)]) == 1
    assert "jv: wrong the duals prove nothing" in capsys.readouterr().out
    assert all(timing.median is None for timing in harness.load(file)[1])


def test_a_method_that_cannot_run_is_left_out_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    papers.main(["--tables", "date-nagi-1", *TINY, "--methods", "jv", "hungary"])
    assert capsys.readouterr().out.count("hungary: left out: unknown method 'hungary'") == 1


@pytest.mark.parametrize(
    ("seconds", "median", "calls"),
    [
        ((9, 1, 3, 2, 7), 2, 3),  # the first is not timed
        ((30, 1, 1, 1), 30, 1),  # unless it is too slow
        ((1, 8, 8, 8), 8, 2),  # and repeats end where their sum is
    ],
)
def test_repeats_and_the_limit(seconds: tuple[float, ...], median: float, calls: int) -> None:
    found = timed("", "", calls_of(*seconds), nothing, 3, {}, limit=10, describe=lambda number: {"number": number})
    assert (found.median, found.facts["calls"]) == (median, calls)
    assert seconds[found.facts["number"]] == median


def test_larger_problems_of_a_slow_series_are_not_tried() -> None:
    allowance = Allowance(limit=10)
    allowance.note("slow", 100, timing(100, "slow", 11))
    allowance.note("quick", 100, timing(100, "quick", 1))
    allowance.note("stopped", 100, timing(100, "stopped", None, limit=10))
    allowance.note("broken", 100, timing(100, "broken", None, failed="no memory"))
    assert allowance.refusal("slow", 200) == allowance.refusal("stopped", 200) == {"limit": 10}
    assert allowance.refusal("broken", 200) == {"failed": "no memory"}
    assert allowance.refusal("slow", 100) is allowance.refusal("quick", 200) is allowance.refusal("new", 200) is None


def test_nothing_is_begun_that_would_outlast_the_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    allowance = Allowance(limit=1000, budget=100)
    allowance.note("series", 100, timing(100, "series", 10))
    assert allowance.refusal("series", 200) == {"unaffordable": 100}
    assert allowance.refusal("series", 110) is None
    file = tmp_path / "papers.json"
    assert papers.main(["--tables", "date-nagi-1", *TINY, "--budget", "0", "--output", str(file)]) == 1
    assert "no time left" in capsys.readouterr().out
    assert all("unaffordable" in timing.facts for timing in harness.load(file)[1])


def test_a_peer_is_ended_at_the_limit_and_the_next_one_runs() -> None:
    with SideProcess() as side:
        slow = timed_peer("", "slow", side.calls(peer_of_the_tests, 60, limit=0.2), equals(7), 1, 0.2)
        quick = timed_peer("", "quick", side.calls(peer_of_the_tests, 0, limit=20), equals(7), 3, 20)
        dead = timed_peer("", "dead", side.calls(dying_peer, limit=20), equals(7), 3, 20)
        with pytest.raises(AssertionError, match="expected 8, got 7"):
            timed_peer("", "wrong", side.calls(peer_of_the_tests, 0, limit=20), equals(8), 1, 20)
    assert (slow.median, slow.facts) == (None, {"limit": 0.2})
    assert quick.median is not None and quick.facts["calls"] == 3
    assert "died" in dead.facts["failed"]
    assert [harness.reason(cell) for cell in (slow, dead)] == ["> 0.2 s", "failed"]


def test_resume_measures_only_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "papers.json"
    command = ["--tables", "date-nagi-1", "--methods", "jv", "--repeats", "1", "--output", str(file), "--resume"]
    papers.main([*command, "--sizes", "16"])
    papers.main([*command, "--sizes", "16", "24"])
    assert capsys.readouterr().out.count("n = 16, seed 0, jv:") == 1
    saved = json.loads(file.read_text())
    assert [cell["facts"]["n"] for cell in saved["timings"]] == [16, 24]
    saved["machine"]["device"] = "an abacus"
    file.write_text(json.dumps(saved))
    with pytest.raises(SystemExit, match="was measured on an abacus"):
        papers.main(command)


def test_pictures_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "papers.json"
    papers.main(["--tables", "date-nagi-1", "date-nagi-3", *TINY, "--factors", "1", "--output", str(file)])
    seen = file.read_text()
    assert papers.main(["--read", str(file), "--plots", str(tmp_path / "pictures")]) == 0
    stems = ["date-nagi-1", "date-nagi-3-range-1"]
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert names == {f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")}
    assert file.read_text() == seen


def test_the_ladder_beside_the_papers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    timings = [
        timing(n, f"munkres-{form}", n / 1000 / (step + 1))
        for n in (256, 512)
        for step, form in enumerate(layouts.LADDER_FORMS)
    ]
    results = layouts.Results([*timings, timing(1024, "munkres-registers", None, limit=10)], "here")
    second, third = layouts.ladder(results)
    assert "| 256 | paper | 84.3 | 27.4 | 56.9 | 29.3 | -1.91 |" in second
    assert "| 256 | here | 256 | 128 | 128 | 85.3 | 42.7 |" in second
    assert "| geometric mean | paper | 4.65 | 4.65 |" in third and third.splitlines()[-2].endswith(" 7.93 |")
    assert third.splitlines()[-1].startswith("| geometric mean | here | 2.00 | 2.00 | 1.50 | 3.00 |")
    paths = layouts.save_plots(results, ["ladder"], tmp_path)
    assert [path.name for path in paths if path.suffix == ".png"] == ["ladder-times.png", "ladder-speedups.png"]


def test_several_instances_are_one_cell() -> None:
    results = layouts.Results([timing(64, "jv", seconds, seed=seed) for seed, seconds in enumerate((3, 1, 2))], "")
    assert results.of(layouts.STUDIES["reports"], 1000, 64)["jv"].median == 2


def test_another_type_is_shown_where_asked_for() -> None:
    timings = [timing(64, "jv", 1, dtype="int32")]
    assert not list(layouts.reports(layouts.Results(timings, "")))
    assert len(list(layouts.reports(layouts.Results(timings, "", "int32")))) == 1


def test_numbers_have_three_digits_that_count() -> None:
    assert [layouts.number(value) for value in (0.0123456, 1.5, 123.4, 16759.7, 0, None)] == [
        "0.0123", "1.50", "123", "16,760", "0", ""
    ]  # fmt: skip


def test_published_figures_are_complete() -> None:
    assert all(len(row) == 1 + len(published.SMALL_PROGRAMS) for row in published.SMALL.values())
    assert all(sum(row) in range(n - 10, n + 10) for n, row in published.ASSIGNMENTS.items())
    assert all(len(row) == len(published.LADDER_STEPS) for row in published.LADDER.values())
    programs = [tuple(table) for table in published.REPORT.values()]
    assert set(programs) == {programs[0]} and list(published.REPORT) == list(published.REPORT_NUMBERS)
    assert all(len(row) == 8 for table in published.REPORT.values() for row in table.values())
    steps = [row for cell in published.LARGE.values() for name, row in cell.items() if name]
    assert all(len(row) == len(published.LARGE_STEPS) for row in steps)
    assert set(published.VARIANTS) == {
        method.name for method in gmatch.METHODS if isinstance(method, gmatch.APFB | gmatch.APsB)
    }
    assert all(len(means) == len(published.VARIANTS) for means in published.GEOMETRIC_MEANS.values())
    assert list(published.GEOMETRIC_MEANS) == list(published.SET_SIZES) and len(published.HARDEST) == 20
    assert all(len(row) == len(published.HARDEST_PROGRAMS) for rows in published.HARDEST.values() for row in rows)


def test_the_benchmark_of_assignment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "timings.json"
    arguments = ["--sizes", "20", "--costs", "uniform 1", "sparse", "--repeats", "1", "--peers", "--output", str(file)]
    monkeypatch.setattr(sys, "argv", ["assignment", *arguments])
    assignment.main()
    assert "| auto | SciPy |" in capsys.readouterr().out
    assert {timing.solver for timing in harness.load(file)[1]} >= {"auto", "SciPy"}


def test_the_table_of_costs_by_which_peers_were_faster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worst.json"
    worst.main(["--sizes", "6", "--turns", "1", "--dtypes", "float32", "--output", str(file)])
    printed = capsys.readouterr().out
    for group in worst.GROUPS:
        assert f"| {group} | gmatch, ms | best peer, ms | which | ratio | wrong |" in printed
    assert {"gmatch", "SciPy", "jv", "core"} <= {timing.solver for timing in harness.load(file)[1]}


def test_the_cells_in_which_a_peer_is_fastest(capsys: pytest.CaptureFixture[str]) -> None:
    cells.main(["--sizes", "4", "--turns", "1", "--dtypes", "float32", "int32", "--shapes", "wide", "--worst", "3"])
    *worst_cells, families, options, dtypes, shapes, sizes, total = capsys.readouterr().out.splitlines()
    assert len(worst_cells) == 3 and "us, " in worst_cells[0]
    assert "uniform: " in families and "maximize: " in options and "int32: " in dtypes
    assert shapes.startswith("wide: ") and sizes.startswith("4: ") and " cells, " in total


def test_the_table_of_small_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.json"
    small.main(["--sizes", "3", "5", "--problems", "4", "--turns", "3", "--output", str(file)])
    printed = capsys.readouterr().out
    assert "| assignment | lap(C) | rows, columns = lap(C) | lap(C).col_ind |" in printed and "| SciPy |" in printed
    assert "| limit | lap(C, cost_limit=t) |" in printed
    assert "| matching, 5 x 5 |" in printed
    assert all(timing.median and timing.facts == {"problems": 4} for timing in harness.load(file)[1])


def test_the_tables_of_the_toolkit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "toolkit.json"
    toolkit.main(["--size", "small", "--turns", "1", "--output", str(file)])
    printed = capsys.readouterr().out
    for kind in toolkit.KINDS:
        assert f"| {kind} | " in printed
    machine, timings = harness.load(file)
    assert machine["command"] == f"benchmarks/toolkit.py --size small --turns 1 --output {file}"
    assert all(timing.median or timing.solver.endswith("fastlap") for timing in timings)


def test_the_tables_of_deveci(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    file, folder = tmp_path / "cardinality.json", tmp_path / "pictures"
    command = ["--scale", "3", "4", "5", "--repeats", "1", "--peers", "--limit", "20", "--output", str(file)]
    assert cardinality.main(command) == 0
    measured = capsys.readouterr().out
    for line in (
        "| O | here, whole call | 21 of 21 |",
        "| RCP_Hardest20 | here, after the start | 20 of 20 |",
        "| O_S1 | paper | 28 | 2.96 | 1.89 | 2.12 | 1.34 | 3.68 | 2.88 | 2.98 | 2.27 |",
        "(RCP) | apsb-gpubfs-wr-ct |",
        "| matched | auto | pothen-fan | SciPy |",
        "| kron 2^5 | 32 | 32 |",
    ):
        assert line in measured
    machine, timings = harness.load(file)
    assert {timing.solver for timing in timings} == {"auto", *published.VARIANTS, "pothen-fan", *peers.matching_names()}
    assert all(timing.median for timing in timings)
    assert {timing.facts["initial"] for timing in timings if timing.solver in published.VARIANTS} == {"cheap"}
    assert machine["peers"]["scipy"]
    assert cardinality.main(["--read", str(file), "--plots", str(folder)]) == 0
    assert measured.endswith(capsys.readouterr().out.partition(str(folder))[0])
    profiles = {f"deveci-fig-{number}-{label}.png" for number in (3, 4) for label in ("O", "RCP")}
    pictures = {path.name for path in folder.iterdir() if path.suffix == ".png"}
    assert profiles < pictures and len(pictures - profiles) == 4


def test_a_matching_that_its_cover_does_not_prove_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def verify(graph: Any, answer: Any) -> None:
        raise gmatch.CertificateError("the cover proves nothing")

    monkeypatch.setattr(gmatch, "verify", verify)
    assert cardinality.main(["--scale", "4", "--families", "road", "--methods", "auto"]) == 1
    output = capsys.readouterr().out
    assert "### Wrong or failed\n\n- road 2^4, auto: wrong: the cover proves nothing" in output


def test_matrices_of_the_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GMATCH_DATA_DIR", str(tmp_path))
    (tmp_path / "Group").mkdir()
    (tmp_path / "Group" / "a.b.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n2 1\n")
    (tmp_path / "Group" / "damaged.npz").write_bytes(b"nothing")
    (tmp_path / "Group" / "half.tar.gz.part").write_bytes(b"nothing")
    assert cardinality.main(["--families", "--matrices", "cached", "--methods", "auto"]) == 0
    output = capsys.readouterr().out
    assert output.count("| Group/a.b | 2 | 3 | 2 | 1 |") == 2
    assert "Group/damaged: left out: expected a matrix in" in output and "half" not in output


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo reading; echo 7 0.5; echo", 0.5),
        ("head -1 \"$0\" | grep -q 'MatrixMarket matrix coordinate pattern general' && echo 7 2e-3", 0.002),
        ("echo 6 0.5", {"wrong": "expected 7, got 6"}),
        ("echo oops >&2; exit 3", {"failed": "exit status 3: oops"}),
        ("exit 4", {"failed": "exit status 4: it said nothing"}),
        ("echo 7 rows", {"failed": "expected SIZE SECONDS, as in 1024 0.0056, in the last line; got '7 rows'"}),
        ("echo 7 0", {"failed": "expected SIZE SECONDS, as in 1024 0.0056, in the last line; got '7 0'"}),
        ("sleep 60 & wait", {"limit": 0.3}),
    ],
)
def test_a_command_of_the_user(
    script: str, found: float | dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "PREPARATION", 0.2 if "sleep" in script else 60)
    instance = cardinality.Instance("road", 4)
    path = cardinality.written(instance.matrix(), tmp_path / "a graph.mtx")
    options = SimpleNamespace(limit=0.3, budget=60, repeats=2)
    session = cardinality.MatchingSession(options, harness.Record(None, {}), SideProcess())
    begin = time.monotonic()
    command = f"sh -c {shlex.quote(script)} {{file}}"
    cell = session.beside(instance, "theirs", peers.command_calls(command, path, 0.3), equals(7))
    assert (cell.median or cell.facts) == found
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("theirs", "expected NAME=PATH with {file} among its arguments, got 'theirs'"),
        ("theirs=cat", "expected NAME=PATH with {file} among its arguments, got 'theirs=cat'"),
        ("theirs=/no/such/program {file}", "expected a program that can be run, got '/no/such/program'"),
        ("SciPy=cat {file}", "expected a name that no solver here has, got 'SciPy'"),
    ],
)
def test_commands_that_are_none(text: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cardinality.main(["--command", text])
    assert problem in capsys.readouterr().err


def test_how_long_a_command_may_take(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cardinality.main(["--help"])
    promise = f"each run may take up to {harness.PREPARATION} seconds more than --limit, to read the file"
    assert promise in " ".join(capsys.readouterr().out.split())


def test_a_command_stands_beside(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--scale", "4", "--families", "rgg", "--methods", "auto", "--command", "theirs=echo {file}"]
    assert cardinality.main(command) == 0
    output = capsys.readouterr().out
    assert "rgg 2^4 permuted, theirs: failed: expected SIZE SECONDS" in output and "| auto | theirs |" in output


def problem_of(main: Any, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line that says why arguments are refused. Checks that nothing else happened."""
    with pytest.raises(SystemExit) as refusal:
        main(arguments)
    said = capsys.readouterr()
    assert refusal.value.code == 2 and not said.out
    return said.err.rstrip().rpartition("\n")[2]


SECONDS = "expected a number from 0.001 to 1,000,000, got"
WHOLE = "expected a whole number of at least 1, got"


@pytest.mark.parametrize(
    ("main", "arguments", "problem"),
    [
        (cardinality.main, "--scale -1", "--scale: expected a whole number from 0 to 30, got '-1'"),
        (cardinality.main, "--scale 4 31", "--scale: expected a whole number from 0 to 30, got '31'"),
        (cardinality.main, "--threads 0", "--threads: expected a whole number from 1 to 1,024, got '0'"),
        (cardinality.main, "--repeats 0", f"--repeats: {WHOLE} '0'"),
        (cardinality.main, "--repeats 1.5", f"--repeats: {WHOLE} '1.5'"),
        (cardinality.main, "--limit -1", f"--limit: {SECONDS} '-1'"),
        (cardinality.main, "--limit inf", f"--limit: {SECONDS} 'inf'"),
        (cardinality.main, "--budget nan", "--budget: expected a number of at least 0, got 'nan'"),
        (papers.main, "--repeats 0", f"--repeats: {WHOLE} '0'"),
        (papers.main, "--limit 0", f"--limit: {SECONDS} '0'"),
        (papers.main, "--sizes 16 0", f"--sizes: {WHOLE} '0'"),
        (papers.main, "--most 0", f"--most: {WHOLE} '0'"),
        (papers.main, "--instances 0", f"--instances: {WHOLE} '0'"),
        (papers.main, "--factors -1", "--factors: expected a number from 0 to 1,000,000, got '-1'"),
        (papers.main, "--dtype complex64", "expected a type of numbers, such as int32 or float64, got 'complex64'"),
        (papers.main, "--dtype roman", "expected a type of numbers, such as int32 or float64, got 'roman'"),
        (assignment.main, "--sizes -1", f"--sizes: {WHOLE} '-1'"),
        (assignment.main, "--repeats 0", f"--repeats: {WHOLE} '0'"),
        (assignment.main, "--limit soon", f"--limit: {SECONDS} 'soon'"),
        (assignment.main, "--methods auto hungary", "--methods: unknown method 'hungary'; expected one of"),
        (small.main, "--sizes 0", f"--sizes: {WHOLE} '0'"),
        (small.main, "--problems 0", f"--problems: {WHOLE} '0'"),
        (small.main, "--turns 0", f"--turns: {WHOLE} '0'"),
        (cells.main, "--turns 0", f"--turns: {WHOLE} '0'"),
        (worst.main, "--limit 0", f"--limit: {SECONDS} '0'"),
    ],
)
def test_arguments_that_cannot_work(
    main: Any, arguments: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert problem in problem_of(main, arguments.split(), capsys)


@pytest.mark.parametrize("main", [cardinality.main, papers.main])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "No such file or directory"),
        ("Table 1", "JSONDecodeError: Expecting value"),
        ("[]", "TypeError: list indices must be"),
        ('{"machine": {"device": "an abacus"}}', "KeyError: 'timings'"),
        ('{"machine": {}, "timings": []}', "KeyError: 'device'"),
        ('{"machine": {"device": "an abacus"}, "timings": [{"seconds": 1}]}', "TypeError: Timing.__init__()"),
    ],
)
def test_files_that_cannot_be_read(
    main: Any, text: str | None, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "timings.json"
    if text is not None:
        file.write_text(text)
        resumed = problem_of(main, ["--output", str(file), "--resume"], capsys)
        assert f"program wrote with --output, got {file}: {problem}" in resumed and file.read_text() == text
    read = problem_of(main, ["--read", str(file)], capsys)
    assert f"expected a JSON file that this program wrote with --output, got {file}: {problem}" in read


def test_a_file_of_another_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.json"
    small.main(["--sizes", "3", "--problems", "1", "--turns", "1", "--output", str(file)])
    capsys.readouterr()
    assert f"got {file}: KeyError: 'dtype'" in problem_of(papers.main, ["--read", str(file)], capsys)


@pytest.mark.parametrize("main", [cardinality.main, papers.main, assignment.main, small.main])
def test_files_and_folders_that_cannot_be_written(
    main: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a file"
    file.touch()
    problem = problem_of(main, ["--output", str(file / "timings.json")], capsys)
    assert f"--output: expected a folder to write to, got {file}: File exists; give another path" in problem
    problem = problem_of(main, ["--output", str(tmp_path)], capsys)
    assert f"--output: expected a file to write, got {tmp_path}, which is none" in problem
    if main in (cardinality.main, papers.main):
        pytest.importorskip("matplotlib")
        problem = problem_of(main, ["--plots", str(file / "pictures")], capsys)
        assert f"--plots: expected a folder to write to, got {file / 'pictures'}: Not a directory" in problem


def test_the_folder_of_the_output_is_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "small.json"
    small.main(["--sizes", "3", "--problems", "1", "--turns", "1", "--output", str(file)])
    assert [path.name for path in file.parent.iterdir()] == ["small.json"] and harness.load(file)[1]


@pytest.mark.parametrize("main", [cardinality.main, papers.main])
def test_plots_need_matplotlib(
    main: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    problem = problem_of(main, ["--plots", str(tmp_path / "pictures")], capsys)
    assert "--plots needs matplotlib, which is not installed" in problem and not list(tmp_path.iterdir())


@pytest.mark.parametrize("main", [cardinality.main, papers.main, assignment.main])
def test_a_gpu_that_is_not_there(
    main: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def require() -> None:
        raise gmatch.BackendUnavailable("device='gpu' needs CuPy")

    monkeypatch.setattr(cuda, "require", require)
    assert "error: device='gpu' needs CuPy" in problem_of(main, ["--device", "gpu"], capsys)


def test_a_gpu_takes_no_threads(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "require", lambda: None)
    problem = problem_of(cardinality.main, ["--device", "gpu", "--threads", "2"], capsys)
    assert "--threads is for --device cpu" in problem


@pytest.mark.parametrize(
    "arguments",
    [["--families"], ["--families", "--matrices", "nonsense"], ["--scale", "3", "--families", "road", "--budget", "0"]],
)
def test_nothing_measured_is_a_failure(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cardinality.main(arguments) == 1
    output = capsys.readouterr().out
    assert "nothing measured" in output or "no time left" in output


def matched(graph: str, solver: str, seconds: float | None, **facts: Any) -> Timing:
    about = {"seconds": {"start": 0.0, "search": 0.5 * (seconds or 0), "augment": 0.0}, **facts}
    return Timing(graph, solver, seconds, seconds, seconds, about)


def test_means_and_the_hardest_graphs() -> None:
    graphs = [f"graph {number}" for number in range(22)]
    timings = [matched(name, variant, 4.0) for name in graphs for variant in published.VARIANTS]
    timings += [matched(name, "pothen-fan", 1.0) for name in graphs]
    timings += [matched(graphs[3], "SciPy", None, limit=9), matched(graphs[5], "SciPy", 0.1)]
    timings.append(matched(graphs[3], published.VARIANTS[2], 1.0))
    timings.append(matched(graphs[4], published.VARIANTS[0], None, limit=9))
    results = deveci.Results(timings, "here")
    assert list(deveci.hardest(results.sets[0].graphs, 2)) == [graphs[3], graphs[5]]
    (table,) = deveci.geometric_means(results)
    assert "| O | here, whole call | 21 of 22 | 4.00 | 4.00 | 3.74 | 4.00 |" in table
    assert "| O_Hardest20 | here, after the start | 19 of 20 | 2.00 | 2.00 | 1.86 |" in table
    assert "RCP" not in table
    assert deveci.best_variant(results.sets[0].graphs, results.variants()) == published.VARIANTS[2]
    without = deveci.Results([matched(name, variant, 1) for name in graphs for variant in published.VARIANTS], "here")
    assert "Hardest20" not in "".join(deveci.geometric_means(without)).split("|", 1)[1]


def test_actual_times_beside_the_papers() -> None:
    size = {"rows": 5000, "columns": 6000, "entries": 7000, "size": 4000}
    timings = [
        matched("SNAP/roadNet-CA", "auto", 0.002, **size),
        matched("SNAP/roadNet-CA", "SciPy", None, limit=3),
        matched("SNAP/roadNet-CA", "apsb-gpubfs-ct", 0.003),
        matched("SNAP/roadNet-CA permuted", "auto", 0.5),
    ]
    original, permuted = deveci.actual_times(deveci.Results(timings, "here"))
    line = "| 5,000 | 6,000 | 7,000 | 4,000 | 2.00 | > 3 s | 3.00 (1.50 x) apsb-gpubfs-ct | 340 | 530 | 950 | 2,480 |"
    assert line in original
    assert permuted.splitlines()[-1].endswith("| 500 |  |  | 390 | 1,880 | 3,050 | 4,890 |")


def test_speedups_are_over_the_fastest_sequential_algorithm() -> None:
    timings = [
        matched("a", "auto", 1.0), matched("a", "pothen-fan", None, limit=8), matched("a", "igraph", 4.0),
        matched("b", "auto", 2.0), matched("b", "pothen-fan", None, limit=8), matched("c", "auto", 1.0),
    ]  # fmt: skip
    results = deveci.Results(timings, "here")
    graphs = results.sets[0].graphs
    seconds = deveci.times_to_compare(graphs, results)
    assert seconds == {"auto": {"a": 1, "b": 2, "c": 1}, "igraph": {"a": 4}}
    assert deveci.speedups_over_sequential(graphs, seconds["auto"]) == {"a": 4, "b": 4}


def test_profiles() -> None:
    pytest.importorskip("matplotlib")
    axes = plot.speedup_profiles({"ours": {"a": 4, "b": 1}, "theirs": {"b": 0.5}}, "").axes[0]
    lines = [np.transpose(line.get_data()).tolist() for line in axes.lines[:2]]
    assert lines[0] == [[-1, 1], [0, 1], [2, 0.5], [2, 0]]
    assert lines[1] == [[-1, 0.5], [-1, 0.5], [-1, 0]]  # a was not solved
    seconds = {"ours": {"a": 1, "b": 4}, "theirs": {"a": 20, "b": 2}, "nobody": {}}
    axes = plot.performance_profiles(seconds, "").axes[0]
    lines = [np.transpose(line.get_data()).tolist() for line in axes.lines]
    assert lines[0] == [[1, 0], [1, 0.5], [2, 1], [10, 1]]
    assert lines[1] == [[1, 0], [1, 0.5], [10, 0.5]]  # twenty times the best is beyond the end
    assert lines[2] == [[1, 0], [10, 0]]


def copy_of_sources(folder: Path) -> Path:
    """A copy that also has a header in a folder of a folder."""
    copy = folder / "csrc"
    shutil.copytree(CSRC, copy)
    (copy / "search" / "deep").mkdir(parents=True)
    (copy / "search" / "deep" / "steps.cuh").write_text("// the name of another file, elsewhere\n")
    return copy


def test_each_file_below_csrc_is_in_the_hash(tmp_path: Path) -> None:
    """`compare.py` tells builds apart by this hash."""
    copy = copy_of_sources(tmp_path)
    before = harness.hash_of_files(copy)
    files = [path for path in copy.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".cuh", ".hpp", ".cpp"} and len(files) > len(list(CSRC.glob("*.cuh")))
    hashes = [before]
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        hashes.append(harness.hash_of_files(copy))
        path.write_bytes(content)
        renamed = path.rename(path.with_name(f"other_{path.name}"))
        hashes.append(harness.hash_of_files(copy))
        moved = (
            renamed.rename(copy / "search" / path.name) if path.parent == copy else renamed.rename(copy / "moved.cuh")
        )
        hashes.append(harness.hash_of_files(copy))
        moved.rename(path)
        path.unlink()
        hashes.append(harness.hash_of_files(copy))
        path.write_bytes(content)
    assert harness.hash_of_files(copy) == before and len(set(hashes)) == len(hashes)


def test_the_hash_knows_names_from_contents_and_not_where_the_folder_is(tmp_path: Path) -> None:
    hashes = set()
    for number, files in enumerate(({"a": "b", "c": ""}, {"a": "", "c": "b"}, {"a": "bc"}, {"ab": "c"}, {"a/b": "c"})):
        for folder in (tmp_path / f"{number}", tmp_path / f"{number}-again"):
            for name, content in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(content)
            hashes.add(harness.hash_of_files(folder))
    assert len(hashes) == 5


def test_first_calls_of_modes_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The worker needs a GPU, so another worker stands for it. It takes longer in the first process of a cache."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, pathlib, sys\n"
        "case, mode, repeats, *sizes = sys.argv[1:]\n"
        "cache = pathlib.Path(os.environ['CUPY_CACHE_DIR'])\n"
        "first = 8.0 if not cache.exists() else 2.0\n"
        "cache.mkdir(parents=True, exist_ok=True)\n"
        "value = 7 + (case == 'sparse' and mode == 'full')\n"
        "print(json.dumps({'first': first, 'import': 0.5, 'value': value, 'code': 'compiled', 'method': 'core',\n"
        "  'of_cupy': 0, 'warm': {n: [0.001] * int(repeats) for n in sizes}, 'values': {n: 5 for n in sizes}}))\n"
    )
    monkeypatch.setattr(first_call, "WORKER", worker)
    monkeypatch.setattr(first_call, "machine_of", lambda device: {"device": device})
    file = tmp_path / "first.json"
    assert first_call.main(["--cases", "int32", "--sizes", "10", "20", "--output", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| int32 | mid | core | compiled | 8.00 | 2.00 | 0.500 | 0 | 1.00 | 1.00 |" and len(lines) == 5
    assert [call["mode"] for call in json.loads(file.read_text())["calls"]] == ["mid", "full"]
    assert first_call.main(["--cases", "sparse", "--sizes"]) == 1
    assert "sparse, first: 8 by full, not 7" in capsys.readouterr().out
    worker.write_text("raise RuntimeError('no GPU')")
    with pytest.raises(SystemExit, match="(?s)int64, mid: .*no GPU"):
        first_call.main(["--cases", "int64"])


def test_a_threshold_becomes_a_variable_and_its_neighbour_stays():
    one = thresholds.Threshold.named("core/core.cuh:ROOM")
    text, found = thresholds.rewritten("#pragma once\n  static constexpr Vertex SIDE = 2, ROOM = 7;\n", [one])
    assert found == {one: ("int", "7")}
    assert "static constexpr Vertex SIDE = 2;" in text
    assert "static constexpr const Vertex& ROOM = thresholds::core_ROOM;" in text
    with pytest.raises(thresholds.argparse.ArgumentTypeError, match=r"expected FILE:NAME with a FILE in gmatch/csrc"):
        thresholds.Threshold.named("core/none.cuh:ROOM")
