"""Ranks that are processes of MPI, by mpiexec; skipped where mpi4py or an MPI is missing."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gmatch

HERE = Path(__file__).parent
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
# Of Open MPI: to run as root in a container, with more ranks than processors, which do not spin while they wait.
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe": "1",
}  # fmt: skip

pytestmark = [
    pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py"),
    pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec"),
]


def run(size, *arguments, timeout=300):
    command = [MPIEXEC, "-n", str(size), sys.executable, "-m", "mpi4py", *arguments]
    path = os.pathsep.join([str(Path(gmatch.__file__).parents[1]), str(HERE)])
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


def job(size, *arguments):
    return run(size, str(HERE / "mpi_job.py"), *arguments)


@pytest.mark.parametrize(("size", "what"), [(2, "solve"), (3, "verbs"), (2, "works"), (2, "gpus")])
def test_ranks(size, what):
    result = job(size, what)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.split("\n")) == ["", *(f"done {rank}" for rank in range(size))]


def test_an_error_of_one_rank_is_raised_by_all():
    result = job(3, "nan")
    assert result.returncode != 0
    assert "InvalidInput: rank 1: cost must not hold NaN; entry (10, 3) does" in result.stderr
    assert "done" not in result.stdout


@pytest.mark.parametrize("fault", ["killed", "raises"])
def test_a_rank_that_dies_ends_the_job(fault):
    result = job(3, "fault", fault)
    assert result.returncode != 0
    assert "done" not in result.stdout


@pytest.mark.parametrize("fault", ["absent", "stopped"])
def test_a_rank_that_does_not_come_is_lost(fault):
    result = job(3, "fault", fault)
    assert result.returncode != 0
    assert "RankLost: rank 0 waited 3 s for the others, and some did not come" in result.stdout + result.stderr or (
        "RankLost: rank 2 waited 3 s for the others, and some did not come" in result.stdout + result.stderr
    )
    assert "done" not in result.stdout


def test_the_example_gives_the_same_on_any_ranks():
    example = HERE.parent / "examples" / "several_ranks.py"
    told = [run(size, str(example), "200", "--mpi").stdout.splitlines() for size in (1, 3)]
    here = subprocess.run([sys.executable, str(example), "200"], capture_output=True, text=True).stdout.splitlines()
    assert told[0][0].split(",")[0] == told[1][0].split(",")[0] == here[0].split(",")[0]
    assert told[1][1].startswith("3 ranks, ")


# The command line.


def assign(size, *arguments):
    return run(size, "-m", "gmatch", "assign", *map(str, arguments), "--mpi")


def test_a_file_of_which_each_rank_maps_its_rows(tmp_path):
    cost = np.random.default_rng(3).integers(0, 1000, (30, 40))
    np.save(tmp_path / "costs.npy", cost)
    result = assign(2, tmp_path / "costs.npy", "--maximize", "--json", "--output", tmp_path / "pairs.npz")
    assert (result.returncode, result.stderr) == (0, "")
    facts = json.loads(result.stdout)
    assert facts["cost"] == gmatch.lap(cost, maximize=True).cost and facts["gap"] == 0
    assert (facts["rows"], facts["columns"], facts["ranks"], facts["team"]) == (30, 40, 2, "ranks")
    row_match = np.load(tmp_path / "pairs.npz")["row_match"]
    assert cost[np.arange(30), row_match].sum() == facts["cost"]


def test_a_generator_of_which_each_rank_makes_its_rows():
    facts = [json.loads(assign(size, "generator:uniform:300:10:seed=4", "--json").stdout) for size in (1, 3)]
    assert facts[0]["cost"] == facts[1]["cost"] > 0 and [each["ranks"] for each in facts] == [1, 3]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["generator:geometric:30"], 2, "write the matrix to a .npy file"),
        (["costs.csv"], 2, "--mpi takes a .npy file, of which each rank maps its rows"),
        (["costs.npy", "--partial"], 2, "several ranks do not take infeasible='partial'"),
        (["costs.npy"], 1, "no assignment avoids the forbidden pairs"),
        (["text.npy"], 3, "text.npy is no .npy file of numbers"),
    ],
)
def test_errors_are_told_once(tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    np.save("costs.npy", np.full((3, 3), np.inf))
    for name in ("costs.csv", "text.npy"):
        Path(name).write_text("1,2\n3,4\n")
    result = assign(2, *arguments)
    assert result.returncode == code
    assert result.stderr.count("gmatch: error: ") == 1 and words in result.stderr


def test_the_command_line_without_mpi():
    code = "import sys; sys.modules['mpi4py'] = None; from gmatch.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "assign", "costs.npy", "--mpi"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 4 and "pip install 'gmatch-bipartite[mpi]'" in result.stderr
