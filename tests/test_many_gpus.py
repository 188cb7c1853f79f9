"""The script for machines with several GPUs: its dry run, by threads of the host, finds the right answers."""

import json

import many_gpus
import numpy as np
import pytest

import gmatch


def test_a_dry_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        many_gpus, "small_problems", lambda n: {"ties": np.random.default_rng(1).integers(0, 9, (n, n))}
    )
    output = tmp_path / "cells.json"
    parts = ["check", "core", "weak", "strong", "tree"]
    assert many_gpus.main(["--dry-run", "--repeats", "1", "--output", str(output), "--parts", *parts]) == 0
    cells = json.loads(output.read_text())["timings"]
    assert {cell["facts"]["part"] for cell in cells} == {"check", "core", "weak", "strong"}
    assert all(cell["median"] for cell in cells)
    assert {"core, alone", "core, 2 ranks", "classical, 1 rank", "tree, 2 ranks"} <= {cell["solver"] for cell in cells}
    of_one_problem = [cell["facts"]["cost"] for cell in cells if cell["instance"] == "int32 [0, 1000 n], n = 150"]
    assert len(of_one_problem) == 3 and len(set(of_one_problem)) == 1
    assert capsys.readouterr().out.rstrip().rpartition("\n")[2].startswith("| ")


def test_wrong_answers_are_told(monkeypatch, capsys):
    monkeypatch.setattr(many_gpus, "check_small", lambda machine, sizes: 1 / 0)

    def refuse(problem, result):
        raise gmatch.CertificateError("not proven")

    monkeypatch.setattr(gmatch, "verify", refuse)
    assert many_gpus.main(["--dry-run", "--parts", "check", "core"]) == 1
    told = capsys.readouterr().out
    assert "ZeroDivisionError" in told and "core, 2 ranks: wrong not proven" in told


def test_the_matrix_is_the_same_on_any_number_of_gpus(monkeypatch):
    monkeypatch.setattr(many_gpus, "DRAWN", 7 * 20)
    machine = many_gpus.Machine(True, 8)
    cell = many_gpus.Cell("core", 20, "float32", "core", 0)
    whole = machine.blocks(cell, 1).blocks[0]
    assert whole.shape == (20, 20) and len(np.unique(whole)) > 300
    for gpus in (2, 3, 5):
        assert (np.concatenate(machine.blocks(cell, gpus).blocks) == whole).all()


@pytest.mark.parametrize(
    ("n", "gpus", "method", "milliseconds"),
    [
        (100_000, 1, "core", 97), (100_000, 4, "core", 103), (250_000, 8, "core", 297), (500_000, 8, "core", 906),
        (10_000, 2, "classical", 16), (20_000, 4, "classical", 35), (28_284, 8, "classical", 86),
    ],
)  # fmt: skip
def test_predictions_are_near_what_was_measured(n, gpus, method, milliseconds):
    """Against benchmarks/results/many_gpus_h200_x8.json."""
    assert many_gpus.Cell("weak", n, "int32", method, gpus).predicted() == pytest.approx(milliseconds / 1e3, rel=0.17)
