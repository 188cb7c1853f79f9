"""``gmatch assign``: every kind of input, every way to print, every end."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

import gmatch
from gmatch import cli
from gmatch.cli import terminal
from gmatch.datasets import costs as generators

COSTS = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])


def assign(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = cli.main(["assign", *map(str, argv)])
    return code, *capsys.readouterr()


def write(path: Path) -> Path:
    if path.suffix == ".npy":
        np.save(path, COSTS)
    elif path.suffix == ".npz":
        np.savez(path, costs=COSTS)
    elif path.suffix == ".csv":
        np.savetxt(path, COSTS, delimiter=",")
    else:
        scipy.io.mmwrite(path, sp.coo_array(COSTS + 1))
    return path


@pytest.mark.parametrize("ending, cost", [(".npy", "5.0"), (".npz", "5.0"), (".csv", "5.0"), (".mtx", "8.0")])
def test_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str, cost: str) -> None:
    code, output, _ = assign(capsys, write(tmp_path / f"costs{ending}"))
    facts = dict(line.split("\t") for line in output.splitlines())
    assert code == 0
    assert facts["cost"] == cost and facts["pairs"] == "3" and facts["status"] == "optimal"


def test_pairs_that_a_sparse_file_does_not_store_are_forbidden(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "sparse.mtx"
    scipy.io.mmwrite(path, sp.coo_array(np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])))
    code, _, error = assign(capsys, path)
    assert code == 1 and error.startswith("gmatch: error: no assignment")
    code, output, _ = assign(capsys, path, "--partial", "--json")
    assert code == 0
    assert json.loads(output)["pairs"] == 2 and json.loads(output)["cost"] == 5.0
    code, output, _ = assign(capsys, path, "--partial", "--maximize", "--json")
    assert json.loads(output)["pairs"] == 2 and json.loads(output)["cost"] == 6.0
    code, output, _ = assign(capsys, path, "--cost-limit", "2.5", "--json")
    assert json.loads(output)["pairs"] == 1 and json.loads(output)["cost"] == 1.0


def test_zeros_of_a_dense_file_are_costs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "dense.mtx"
    scipy.io.mmwrite(path, np.array([[0.0, 2.0], [2.0, 0.0]]))
    code, output, _ = assign(capsys, path, "--json")
    assert code == 0 and json.loads(output)["cost"] == 0.0


def test_a_large_sparse_file_is_never_made_dense(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, rows = tmp_path / "large.mtx", 200_000
    scipy.io.mmwrite(path, sp.diags_array(np.arange(1.0, rows + 1)))
    code, output, _ = assign(capsys, path, "--json")
    assert code == 0 and json.loads(output)["cost"] == rows * (rows + 1) // 2


@pytest.mark.parametrize("method", ["auto", "jv", "tree", "tree-nearest"])
def test_methods_and_output(capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str) -> None:
    mates = tmp_path / "mates.npz"
    argv = ["generator:uniform:40:10:seed=3", "--maximize", "--method", method, "--output", mates, "--json"]
    code, output, _ = assign(capsys, *argv)
    facts = json.loads(output)
    with np.load(mates) as arrays:
        row_match, u, v = arrays["row_match"], arrays["u"], arrays["v"]
    rng_costs = generators.generate("uniform:40:10:seed=3")
    rows, columns = linear_sum_assignment(rng_costs, maximize=True)
    assert code == 0
    assert facts["cost"] == rng_costs[rows, columns].sum() == rng_costs[np.arange(40), row_match].sum()
    assert (u[:, None] + v <= -rng_costs).all() and facts["gap"] == 0


def test_limit_and_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(terminal, "_on_terminal", lambda: True)
    code, output, _ = assign(capsys, write(tmp_path / "costs.npy"), "--cost-limit", 1.5)
    assert code == 0
    assert "limited" in output and "\t" not in output


@pytest.mark.parametrize(
    "argv, code, message",
    [
        (
            ["nope"],
            2,
            "expected a file that exists, generator:NAME:SIZE, or a matrix of the collection as Group/Name; got 'nope'",
        ),
        (["generator:foo:3"], 2, "unknown generator 'foo'; expected one of uniform"),
        (["generator:uniform"], 2, "expected uniform:SIZE[:FACTOR][:seed=S]; got 'generator:uniform'"),
        (["generator:uniform:x"], 2, "expected a whole number where 'generator:uniform:x' has 'x'"),
        (["generator:uniform:3:y"], 2, "expected a finite number where 'generator:uniform:3:y' has 'y'"),
        (["generator:uniform:3:nan"], 2, "expected a finite number where 'generator:uniform:3:nan' has 'nan'"),
        (["generator:uniform:3:-2"], 2, "expected numbers that uniform can be made of, got 'generator:uniform:3:-2'"),
        (["generator:constant:3:1:seed=2"], 2, "expected constant:SIZE[:VALUE]"),
        (["generator:uniform:3", "--method", "apfb"], 2, "unknown method 'apfb'; expected one of 'auto', 'jv', 'core'"),
        (["generator:uniform:3", "--threads", "0"], 2, "threads must be an integer from 1"),
        (["nope", "--cost-limit", "nan"], 2, "argument --cost-limit: expected a number; got 'nan'; see gmatch assign"),
        (["nope", "--cost-limit", "abc"], 2, "argument --cost-limit: expected a number; got 'abc'; see gmatch assign"),
        (["generator:uniform:3", "--output", "/nowhere/mates.npz"], 2, "--output must name a file in a folder"),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], argv: list[str], code: int, message: str) -> None:
    ended, _, error = assign(capsys, *argv)
    assert ended == code
    assert error.startswith(f"gmatch: error: {message}")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,c\n", b"\x93NUMPY\x01\x00v\x00{'descr'"])
@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv"])
def test_bad_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"costs{ending}"
    path.write_bytes(content)
    code, _, error = assign(capsys, path)
    assert code == 3
    assert error.startswith(f"gmatch: error: expected a matrix of costs in {path}")


def test_costs_drawn_in_parts_are_those_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = generators
    whole = costs.uniform(50, 10, seed=3)
    for entries in (1, 50, 120, 2499):
        monkeypatch.setattr(costs, "ENTRIES_AT_ONCE", entries)
        assert (costs.uniform(50, 10, seed=3) == whole).all()
    assert costs.uniform(0).shape == (0, 0)


@pytest.mark.parametrize("name", sorted(generators.FAMILIES))
def test_generators_are_seeded_and_solvable(name: str) -> None:
    make = generators.generate
    costs = make(f"{name}:30")
    assert costs.shape == (30, 30)
    assert (costs == make(f"{name}:30")).all()
    assert gmatch.lap(costs, certify=True).status == "optimal"
    if name not in generators.SEEDLESS:
        assert (costs != make(f"{name}:30:seed=1")).any()


def test_exactly_k_pairs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("5,1,4\n2,9,3\n")
    for options, cost in (([], 1), (["--maximize"], 9)):
        code, out, _ = assign(capsys, path, "--exactly", 1, "--json", *options)
        told = json.loads(out)
        assert code == 0 and (told["pairs"], told["cost"], told["status"], told["gap"]) == (1, cost, "pairs", 0)
    for wrong in (["--partial"], ["--cost-limit", 3], ["--mpi"]):
        code, _, error = assign(capsys, path, "--exactly", 1, *wrong)
        assert code != 0 and "leave --partial, --cost-limit and --mpi out" in error
    code, _, error = assign(capsys, path, "--exactly", 3)
    assert code != 0 and "pairs must be from 0 to 2" in error


def test_deterministic(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "ties.npy"
    np.save(path, np.zeros((5, 5)))
    expected = gmatch.lap(np.zeros((5, 5)), deterministic=True).row_match
    for method in ("jv", "tree"):
        output = tmp_path / f"{method}.npz"
        assert assign(capsys, path, "--deterministic", "--method", method, "--output", output)[0] == 0
        assert (np.load(output)["row_match"] == expected).all()


def test_whole_numbers_of_text_stay_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A float does not hold 2**53 + 1."""
    path = tmp_path / "costs.csv"
    path.write_text(f"{2**53 + 1}, 1\n1, {2**53 + 1}\n")
    _, output, _ = assign(capsys, path, "--maximize", "--json")
    assert json.loads(output)["cost"] == 2**54 + 2
    _, output, _ = assign(capsys, path, "--maximize", "--json", "--cost-limit", 2**53 + 1)
    assert json.loads(output)["cost"] in (0, 2**53 + 1, 2**54 + 2)  # all as good
    _, output, _ = assign(capsys, path, "--maximize", "--json", "--cost-limit", 2**53)
    assert json.loads(output)["pairs"] == 2
    path.write_text("1.5, 2\n3, 1e1\n")
    assert json.loads(assign(capsys, path, "--json")[1])["cost"] == 5


def test_sparse_files_forbid_what_they_do_not_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "costs.npz", sp.csr_array(np.array([[1.0, 0], [2, 3]])))
    code, output, _ = assign(capsys, tmp_path / "costs.npz", "--json")
    assert code == 0 and json.loads(output)["cost"] == 4
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    code, _, error = assign(capsys, tmp_path / "two.npz")
    assert code == 3 and "it has 2 arrays, not one: a, b" in error


def test_the_witness_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "costs.npy", np.array([[np.inf, 1], [np.inf, 2]]))
    code, _, error = assign(capsys, tmp_path / "costs.npy")
    assert code == 1 and "rows 0, 1 may only be matched with columns 1; use --partial" in error


LABELLED = "name;x;y;z\na;4;1,5;3\nb;2;0;5\nc;3;2;2\n"


def test_names_are_kept_in_every_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, output = tmp_path / "costs.csv", tmp_path / "mates.npz"
    path.write_text(LABELLED)
    pairs = [("a", "y", 1.5), ("b", "x", 2.0), ("c", "z", 2.0)]
    code, text, _ = assign(capsys, path, "--output", output)
    assert code == 0 and "cost\t5.5\n" in text
    assert [line for line in text.splitlines() if line.startswith("pair\t")] == [
        f"pair\t{row}\t{column}\t{cost}" for row, column, cost in pairs
    ]
    with np.load(output) as arrays:
        assert arrays["row_labels"].tolist() == ["a", "b", "c"] and arrays["col_labels"].tolist() == ["x", "y", "z"]
        assert arrays["row_match"].tolist() == [1, 0, 2]
    facts = json.loads(assign(capsys, path, "--json")[1])
    assert [tuple(pair.values()) for pair in facts["assignment"]] == pairs
    assert list(facts["assignment"][0]) == ["row", "column", "cost"]
    monkeypatch.setattr(terminal, "_on_terminal", lambda: True)
    words = [line.split() for line in assign(capsys, path)[1].splitlines()]
    assert ["a", "y", "1.5"] in words and ["c", "z", "2.0"] in words


def test_names_of_one_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "costs.tsv"
    path.write_text("x\ty\n4\t1\n2\t0\n7\t7\n")
    facts = json.loads(assign(capsys, path, "--json", "--maximize")[1])
    assert facts["assignment"] == [{"row": 0, "column": "x", "cost": 4}, {"row": 2, "column": "y", "cost": 7}]
    assert "assignment" not in json.loads(assign(capsys, path, "--json", "--labels", "none")[1] or "{}")


def test_labels_that_are_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("id,x,y,z\n1,4,1,3\n2,2,0,5\n3,3,2,2\n")
    code, _, error = assign(capsys, path)
    assert code == 3 and "use --labels both if that numbers the rows" in error
    facts = json.loads(assign(capsys, path, "--json", "--labels", "both")[1])
    assert facts["cost"] == 5 and facts["assignment"][0] == {"row": "1", "column": "y", "cost": 1}
    assert json.loads(assign(capsys, path, "--json", "--labels", "columns")[1])["columns"] == 4


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    array = io.BytesIO()
    np.save(array, COSTS)
    for content in (
        b"4 1 3\n2 0 5\n3 2 2\n",
        b"3\n4 1 3 2 0\n5 3 2 2\n",
        gzip.compress(b"4,1,3\n2,0,5\n3,2,2", mtime=0),
        array.getvalue(),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        code, output, _ = assign(capsys, "-", "--json")
        assert code == 0 and json.loads(output)["cost"] == 5
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"4,x\n1,2")))
    code, _, error = assign(capsys, "-")
    assert code == 3 and "expected a matrix of costs in standard input: expected a number in line 1, column 2" in error


def test_empty_cells(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("4,1,\n2,,5\n3,2,2\n")
    code, _, error = assign(capsys, path)
    assert code == 3 and "line 1, column 3 is empty; write inf" in error and "--forbid-nan" in error
    for options, cost in (((), 5), (("--maximize",), 11), (("--cost-limit", 1.5), 1)):
        facts = json.loads(assign(capsys, path, "--forbid-nan", "--json", *options)[1])
        assert facts["cost"] == cost and facts["rows"] == facts["columns"] == 3
    np.save(tmp_path / "costs.npy", [[1, np.nan], [2, 3]])
    code, _, error = assign(capsys, tmp_path / "costs.npy")
    assert code == 2 and error.endswith(
        "entry (0, 1) does; if NaN is for a pair that is not allowed, use --forbid-nan\n"
    )
    assert json.loads(assign(capsys, tmp_path / "costs.npy", "--forbid-nan", "--json")[1])["cost"] == 4


@pytest.mark.parametrize("ending", [".NPY", ".NPZ", ".CSV", ".MTX", ".TSV", ".txt", ".dat", "", ".csv.GZ", ".MTX.GZ"])
def test_endings_of_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str) -> None:
    path, content = tmp_path / f"costs{ending}", io.BytesIO()
    kind = ending.lower().removesuffix(".gz")
    if kind == ".npy":
        np.save(content, COSTS)
    elif kind == ".npz":
        np.savez(content, costs=COSTS)
    elif kind == ".mtx":
        scipy.io.mmwrite(content, COSTS)
    else:
        np.savetxt(content, COSTS, delimiter="\t")
    path.write_bytes(gzip.compress(content.getvalue()) if ending.endswith("GZ") else content.getvalue())
    code, output, _ = assign(capsys, path, "--json")
    assert code == 0 and json.loads(output)["cost"] == 5.0


# What is shown, and what is written.


def test_pairs_are_shown_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    np.save(tmp_path / "costs.npy", 9 - 9 * np.eye(12, dtype=int))
    monkeypatch.setattr(terminal, "_on_terminal", lambda: True)
    words = [line.split() for line in assign(capsys, tmp_path / "costs.npy")[1].splitlines()]
    assert words[-11:-1] == [[str(row), str(row), "0"] for row in range(10)] and words[-1][:3] == ["and", "2", "more;"]
    assert ["method", "jv"] in words and not any(line[:1] == ["phases"] for line in words)
    words = [line.split() for line in assign(capsys, tmp_path / "costs.npy", "--pairs", "--verbose")[1].splitlines()]
    assert words[-1] == ["11", "11", "0"] and any(line[:1] == ["phases"] for line in words)


def test_pairs_in_a_pipe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "costs.npy")
    assert "pair" not in dict(line.split("\t", 1) for line in assign(capsys, path)[1].splitlines())
    lines = assign(capsys, path, "--pairs")[1].splitlines()
    assert lines[-3:] == ["pair\t0\t1\t1.0", "pair\t1\t0\t2.0", "pair\t2\t2\t2.0"]
    facts = json.loads(assign(capsys, path, "--pairs", "--json")[1])
    assert facts["assignment"][1] == {"row": 1, "column": 0, "cost": 2.0}


def test_the_ending_of_the_output_decides(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(LABELLED.replace("name;x", 'name;"x, or 1"'))
    pairs = [["a", "y", 1.5], ["b", "x, or 1", 2.0], ["c", "z", 2.0]]
    for ending, separator in ((".csv", ","), (".TSV", "\t")):
        output = tmp_path / f"pairs{ending}"
        assert assign(capsys, path, "--output", output)[0] == 0
        header, *lines = csv.reader(output.read_text().splitlines(), delimiter=separator)
        assert header == ["row", "column", "cost"] and lines == [[row, name, str(cost)] for row, name, cost in pairs]
    output = tmp_path / "pairs.json"
    assert assign(capsys, path, "--output", output)[0] == 0
    written = json.loads(output.read_text())
    assert [list(pair.values()) for pair in written["assignment"]] == pairs and written["cost"] == 5.5
    code, _, error = assign(capsys, path, "--output", tmp_path / "pairs.txt")
    assert code == 2 and "--output must end in .npz, .csv, .tsv, .json; got " in error


def test_an_array_of_several(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", costs=COSTS, gains=-COSTS)
    assert json.loads(assign(capsys, f"{tmp_path / 'two.npz'}:costs", "--json")[1])["cost"] == 5
    assert json.loads(assign(capsys, f"{tmp_path / 'two.npz'}:gains", "--json")[1])["cost"] == -11
    code, _, error = assign(capsys, f"{tmp_path / 'two.npz'}:cost")
    assert code == 3 and "it has no array 'cost', but costs, gains; did you mean 'costs'?" in error
    assert "name one of them after a colon" in assign(capsys, tmp_path / "two.npz")[2]


def test_what_may_have_been_meant(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "costs.csv")
    for argv, code, meant in (
        (["csots"], 2, ""), (["costs.cvs"], 2, "costs.csv"), (["cost.csv"], 3, "costs.csv"),
        (["costs.csv", "--methods", "jv"], 2, "--method"), (["costs.csv", "--method", "clasical"], 2, "classical"),
        (["generator:uniforms:3"], 2, "uniform"), (["costs.csv", "--device", "gpus"], 2, "gpu"),
    ):  # fmt: skip
        ended, _, error = assign(capsys, *argv)
        assert ended == code and (f"; did you mean {meant!r}?" in error or not meant and "did you" not in error)


def test_a_missing_file_is_missing_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("none.csv", "none.npy", "none.mtx", "none.npz:costs"):
        code, _, error = assign(capsys, tmp_path / name)
        assert code == 3 and "there is none" in error


def test_a_matrix_of_the_collection(capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(assign(capsys, "HB/west0067", "--json")[1])
    assert facts["pairs"] == 67 and facts["cost"] == gmatch.lap(gmatch.datasets.load("HB/west0067")).cost


def test_a_matching_of_a_dense_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, output = tmp_path / "can.csv", tmp_path / "pairs.csv"
    path.write_text("who,cook,paint\nann,1,1\nbob,0,1\neve,0,1\n")
    assert cli.main(["match", str(path), "--output", str(output), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["size"] == 2 and {"row": "ann", "column": "cook"} in facts["assignment"]
    assert output.read_text().startswith("row,column\nann,cook\n")
    np.savez(tmp_path / "dense.npz", a=np.eye(3))
    for name in ("dense.npz", "dense.npz:a"):
        assert cli.main(["match", str(tmp_path / name), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["size"] == 3


# The toolkit.


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> dict[str, Any]:
    code = cli.main([*map(str, argv), "--json"])
    assert code == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_k_best(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, output = tmp_path / "costs.csv", tmp_path / "all.csv"
    path.write_text(LABELLED)
    facts = run(capsys, "k-best", path, 3, "--output", output)
    assert facts["cost"] == [5.5, 6.0, 6.0] and facts["found"] == 3 and not facts["complete"]
    assert output.read_text().splitlines()[:3] == ["rank,row,column", "0,a,y", "0,b,x"]
    assert run(capsys, "k-best", path, 99)["complete"]
    assert cli.main(["k-best", str(path), "0"]) == 2 and "k must be" in capsys.readouterr().err


def test_bottleneck(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "costs.npy")
    assert run(capsys, "bottleneck", path)["threshold"] == 2
    facts = run(capsys, "bottleneck", path, "--then-sum", "--pairs")
    assert (facts["threshold"], facts["cost"], len(facts["assignment"])) == (2, 5, 3)
    assert run(capsys, "bottleneck", path, "--maximize")["threshold"] == 2
    np.save(path, np.array([[3, np.inf], [2, np.inf]]))
    assert cli.main(["bottleneck", str(path)]) != 0 and capsys.readouterr().err
    facts = run(capsys, "bottleneck", path, "--partial")
    assert (facts["pairs"], facts["threshold"]) == (1, 2)


def test_scale(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    matrix = np.array([[1e-3, 5.0], [7.0, 0.0]])
    np.save(tmp_path / "matrix.npy", matrix)
    facts = run(capsys, "scale", tmp_path / "matrix.npy", "--output", tmp_path / "scaling.npz", "--pairs")
    assert facts["diagonal"] == 2 and facts["assignment"] == [{"row": 0, "column": 1}, {"row": 1, "column": 0}]
    with np.load(tmp_path / "scaling.npz") as arrays:
        scaled = np.exp(arrays["row_log"])[:, None] * matrix * np.exp(arrays["col_log"])
    assert np.allclose(scaled[[0, 1], [1, 0]], 1) and scaled.max() < 1 + 1e-12
    assert run(capsys, "scale", "HB/west0067", "--job", "cardinality")["diagonal"] == 67


def test_transport(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "costs.npy", [[4, 1, 3], [2, 6, 5]])
    np.save(tmp_path / "demand.npy", [2, 2, 1])
    options = "--supply", "3,2", "--demand", tmp_path / "demand.npy", "--pairs"
    facts = run(capsys, "transport", tmp_path / "costs.npy", *options)
    assert (facts["cost"], facts["units"]) == (9, 5)
    assert facts["assignment"][0] == {"row": 0, "column": 1, "amount": 2}
    for option in ("3,x", "3,2.5", ""):
        argv = ["transport", str(tmp_path / "costs.npy"), "--supply", option, "--demand", "2,2,1"]
        assert cli.main(argv) == 2 and "--supply must be whole numbers with commas" in capsys.readouterr().err
    assert cli.main(["transport", str(tmp_path / "costs.npy"), "--supply", "none.npy", "--demand", "1,1,1"]) == 3
    assert "none.npy, got No such file" in capsys.readouterr().err
