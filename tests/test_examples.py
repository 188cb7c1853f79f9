"""The examples run, say what they promise, and warn of nothing; and the picture that one of them draws."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gmatch
from gmatch.plot import phases_and_levels

EXAMPLES = Path(__file__).parents[1] / "examples"


def ended(name: str, *argv: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(name: str, *argv: object) -> str:
    process = ended(name, *argv)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "block_triangular_form.py", "compare_variants.py", "costs_without_a_matrix.py", "lu_after_scaling.py",
        "networkx_crosscheck.py", "pictures.py", "points.py", "set_prediction_loss.py", "several_ranks.py",
        "structural_rank_suitesparse.py", "tracking.py",
    }  # fmt: skip


def test_pictures(tmp_path: Path) -> None:
    assert run("pictures.py", "--output", tmp_path / "drawn.png").startswith(f"{tmp_path}/drawn.png: ")
    committed = EXAMPLES.parent / "docs" / "matching.png"
    for picture in (tmp_path / "drawn.png", committed):
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG") and 20_000 < len(content) < 100_000


def test_points() -> None:
    lines = run("points.py", 500, "--dimension", 3, "--noise", 0.01).splitlines()
    assert lines[0].startswith("cost ") and lines[1] == "100.0% of 500 points found again"


def test_points_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("points.py", 60, "--picture", tmp_path / "points.png")
    assert (tmp_path / "points.png").stat().st_size > 10_000


def test_set_prediction_loss() -> None:
    output = run("set_prediction_loss.py", "--steps", 6, "--batch", 3, "--queries", 12)
    if output != "this example needs torch, which is not installed: pip install torch\n":
        ours, theirs, verdict = output.splitlines()
        assert ours.startswith("gmatch  loss ") and theirs.startswith("SciPy   loss ")
        assert verdict == "equal losses in all steps"


def test_tracking() -> None:
    command = [sys.executable, str(EXAMPLES / "tracking.py"), "--seed", "1"]  # motmetrics warns of itself
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    if process.stdout != "this example needs motmetrics, which is not installed: pip install motmetrics\n":
        assert process.stdout.endswith("\nMOTA and IDF1 are equal\n") and process.stdout.count("\n") == 8


def test_costs_without_a_matrix() -> None:
    lines = run("costs_without_a_matrix.py", 300).splitlines()
    assert lines[0].endswith("words differ in 300 pairs, 1 passes, gap 0")
    assert lines[1].startswith("360128 bytes of costs: cost ")


def test_several_ranks() -> None:
    lines = run("several_ranks.py", 200).splitlines()
    assert lines[0].startswith("cost ") and lines[1].startswith("4 ranks, ")


def test_lu_after_scaling() -> None:
    """Without pivoting the matrix has no usable decomposition; scaled and permuted it has one."""
    lines = run("lu_after_scaling.py", 400).splitlines()
    assert lines[0] == "400 rows, 1920 entries, 3 of them on the diagonal"
    before, after = (float(line.rsplit(maxsplit=1)[-1]) for line in lines[1:])
    assert before > 1e-3 and after < 1e-12


def test_structural_rank_suitesparse() -> None:
    output = run("structural_rank_suitesparse.py", "HB/west0067", "JGD_Margulies/wheel_7_1", "Pajek/GD96_d")
    lines = [line.split() for line in output.splitlines()]
    assert lines[2] == "JGD_Margulies/wheel_7_1 114 113 107 107 72 rows + 35 columns".split()
    assert output.endswith("\n2 agree, 0 disagree, 1 are not published\n")


def test_block_triangular_form() -> None:
    output = run("block_triangular_form.py", "HB/west0156", "Pajek/GD97_b", "JGD_Homology/n3c6-b1")
    west, pajek, homology = (line.split() for line in output.splitlines()[1:])
    assert west == "HB/west0156 0 x 0 156 x 156 0 x 0 134 23 54.1%".split()
    assert pajek == "Pajek/GD97_b 6 x 9 32 x 32 9 x 6 24 9 44.7%".split()
    assert homology == "JGD_Homology/n3c6-b1 0 x 90 0 x 0 105 x 15 2 0 100.0%".split()


def test_compare_variants(tmp_path: Path) -> None:
    picture = tmp_path / "variants.png"
    output = run("compare_variants.py", "HB/impcol_a", "generator:delaunay:8", "--output", picture)
    for method in gmatch.METHODS:
        assert output.count(f"\n{method.name} ") == 4
    assert "\nHB/impcol_a, permuted: 207 rows, 207 columns, 572 entries\n" in output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_networkx_crosscheck() -> None:
    output = run("networkx_crosscheck.py", "--graphs", 12)
    assert output.count("\nrandom ") == 12 and output.count("\nHB/") >= 5
    assert output.endswith("\n\nall agree\n")


@pytest.mark.parametrize(
    ("name", "matrix", "problem"),
    [
        ("block_triangular_form.py", "west0067", "expected a name of the form Group/Name"),
        ("structural_rank_suitesparse.py", "west0067", "expected a name of the form Group/Name"),
        ("compare_variants.py", "west0067", "expected a name of the form Group/Name"),
        ("compare_variants.py", "generator:nonsense:3", "expected NAME:SIZE"),
    ],
)
def test_a_bad_name_is_an_error_of_one_line(name: str, matrix: str, problem: str) -> None:
    process = ended(name, matrix)
    assert process.returncode == 2
    assert process.stderr.startswith(f"error: {problem}") and process.stderr.count("\n") == 1


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("block_triangular_form.py", ["HB/west0156"]),
        ("compare_variants.py", ["HB/impcol_a"]),
        ("networkx_crosscheck.py", ["--graphs", "1"]),
        ("structural_rank_suitesparse.py", ["HB/west0067"]),
    ],
)
def test_a_closed_pipe_ends_quietly(name: str, argv: list[str], buffered: bool) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *argv]
    environment = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == ""
    assert process.wait() == 141


def test_a_line_has_the_levels_of_each_phase() -> None:
    graph = gmatch.BipartiteGraph(gmatch.datasets.load("HB/gemat12"))
    matchings = {name: gmatch.max_matching(graph, method=name, initial="cheap") for name in ("apfb", "apsb")}
    figure = phases_and_levels(matchings, "gemat12")
    (axes,) = figure.axes
    assert axes.get_title() == "gemat12"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["apfb", "apsb"]
    for line, matching in zip(axes.lines, matchings.values(), strict=True):
        assert np.asarray(line.get_xdata()).tolist() == list(range(1, matching.stats["phases"] + 1))
        assert np.asarray(line.get_ydata()).tolist() == matching.stats["levels_per_phase"]


def test_axes_of_ones_own_and_nothing_to_do(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    matching = gmatch.max_matching(gmatch.datasets.load("MathWorks/Pd"), initial="cheap")
    assert phases_and_levels({"auto": matching}, "Pd", figure.subplots()) is figure
    assert phases_and_levels({}, "nothing").axes
    figure.savefig(tmp_path / "empty.png")
    assert not figure.legends


def test_plots_need_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(gmatch.InvalidInput, match=r"pip install 'gmatch-bipartite\[plot\]'"):
        phases_and_levels({}, "nothing")
