"""Ranks that are processes of MPI, by mpiexec; skipped where mpi4py or an MPI is missing."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

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


@pytest.mark.parametrize(("size", "what"), [(2, "solve"), (3, "verbs"), (2, "works")])
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
