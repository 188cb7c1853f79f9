"""Several GPUs of one machine: are answers right, the tables of Date and Nagi, and matrices that no GPU holds.

    python benchmarks/many_gpus.py --output many_gpus.json            # on all GPUs, in nine minutes
    python benchmarks/many_gpus.py --parts check core --most 2        # two parts, on two GPUs
    python benchmarks/many_gpus.py --dry-run                          # small sizes by threads of the host, no GPU

| part | what |
|---|---|
| check | the verbs between GPUs, and small problems by every method, proven and held against one process |
| core | ``core``: n = 50,000 and 100,000, int32 and float32, on 1, 2, 4, 8 GPUs; n = 150,000 and more where they fit |
| mpi | a process a GPU by mpiexec, if there is one: solve and prove; one rank is killed, and the others must end |
| weak | Date and Nagi 2016, Table 4: 100 million costs a GPU, by ``classical`` |
| strong | Table 5: n = 10,000, 14,142 and 20,000 on 1, 2, 4, 8 GPUs, by ``classical`` |
| tree | both tables by ``tree``, which takes longest |

Costs are whole numbers from 0 to 1000 n for ``core``, and to 10 n for the tables, as in the paper. Blocks are made on
their GPU, and the matrix does not depend on the number of GPUs. Each answer is proven on all GPUs before it is timed.
``alone`` is `gmatch.lap` of the whole matrix on one GPU. The JSON file is written after each cell. With --budget, a
measurement that is not likely to end in time is not begun. Predictions come from the model in this file.

The exit status is 1 if an answer was wrong or nothing was measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import published
from harness import (
    LIMIT,
    POSITIVE,
    Allowance,
    Record,
    Timing,
    clocked,
    exit_status,
    machine_of,
    markdown_table,
    number,
    parsed,
    reason,
    timed,
    trouble,
    within,
)

import gmatch
from gmatch import cuda
from gmatch.distributed.ranks import Ranks
from gmatch.distributed.threads import run_threads

PARTS = "check", "core", "mpi", "weak", "strong", "tree"
# Entries of rows that are drawn together, from a seed of their own. Three arrays of them as int64 take 1.6 GB.
DRAWN = 1 << 26
CORE = 1000.0
PAPER = 10.0
SIZES = {"core": [50_000, 100_000, 150_000, 250_000, 500_000], "weak": [10_000, 14_142, 20_000, 28_284],
         "strong": [10_000, 14_142, 20_000]}  # fmt: skip
DRY_SIZES = {"core": [150, 200], "weak": [60, 85], "strong": [60, 85]}
# Rows of the small problems. The papers' methods need hundreds of levels for some families.
CHECKED = {"core": 200, "classical": 40, "tree": 40}
DRY_CHECKED = dict.fromkeys(CHECKED, 24)
# The share of a GPU's memory that is for its block. Passes over the block need the rest.
FOR_THE_BLOCK = 0.85
# Seconds of Date and Nagi 2016, Tables 4 and 5, overall: by n and GPUs, of the classical and the tree variant.
PUBLISHED = {key: (row[2], row[4]) for key, row in (published.WEAK | published.STRONG).items()}


@dataclass(frozen=True)
class Cell:
    """One problem, and the number of GPUs that solve it."""

    part: str
    n: int
    dtype: str
    method: str
    gpus: int

    @property
    def factor(self) -> float:
        return CORE if self.part == "core" else PAPER

    @property
    def name(self) -> str:
        return f"{self.dtype} [0, {self.factor:g} n], n = {self.n}"

    @property
    def solver(self) -> str:
        return f"{self.method}, {self.gpus} rank{self.gpus > 1 and 's' or ''}" if self.gpus else f"{self.method}, alone"

    @property
    def kind(self) -> Any:
        return self.part, self.dtype, self.method, self.gpus

    def predicted(self) -> float | None:
        """Seconds, as the model for H200 predicts."""
        model = {"core": _core_model, "classical": _classical_model, "tree": _tree_model}[self.method]
        return model(self.n, max(1, self.gpus)) / 1e3


# The model: milliseconds, from counts and from measurements on one to eight H200.
READ = 4.3e9  # bytes a millisecond
PYTHON = 8.0  # milliseconds of a call that the Python of each rank takes, one rank after the other


def _core_model(n: int, gpus: int) -> float:
    """Fitted to 1, 2, 4 and 8 GPUs, n = 100,000 to 500,000: within 17 %."""
    passes = 5.7 * 4 * n * n / READ / gpus
    if gpus == 1:
        return 22.6 * (n / 5e4) + passes
    search, lists, meet = 12 * (n / 5e4) ** 1.5, 4e-4 * n * (0.6 + 0.8 / gpus), 6e-5 * n
    return search + lists + meet + passes + PYTHON * gpus


def _classical_model(n: int, gpus: int) -> float:
    """Fitted to 1, 2, 4 and 8 GPUs, n = 10,000 to 28,284: one band, searched by the root. Within 17 %."""
    if gpus == 1:
        return 24 * (n / 1e4) ** 1.22
    return 8 * (n / 1e4 - 1) + PYTHON * gpus


def _tree_model(n: int, gpus: int) -> float:
    """Fitted to one GPU, and to two and four ranks of one GPU: 20 to 39 levels of 4 to 6 ms for each rank.

    Launches of several ranks take turns on one GPU. Not fitted to several GPUs, where they need not.
    """
    if gpus == 1:
        return 35 * (n / 1e4) ** 1.7
    return 108 * (n / 1e4) * gpus


# Machines: GPUs, or threads of the host that stand for them.


class Machine:
    """The GPUs that are used; without any, threads of the host."""

    def __init__(self, dry: bool, most: int) -> None:
        self.dry = dry
        self.count = min(most, 2 if dry else cuda.number_of_devices())
        self.xp = np if dry else cuda.cupy()

    @property
    def steps(self) -> list[int]:
        """Numbers of GPUs to try: 1, 2, 4, ..."""
        return [gpus for gpus in (1, 2, 4, 8) if gpus <= self.count]

    def on(self, device: int) -> Any:
        return nullcontext() if self.dry else cuda.on_device(device)

    def holds(self, n: int, itemsize: int, gpus: int) -> bool:
        """Whether the blocks of a square matrix fit, one on each GPU."""
        if self.dry:
            return True
        room = min(self._room(device) for device in range(gpus))
        return n * n * itemsize / gpus <= FOR_THE_BLOCK * room

    def _room(self, device: int) -> int:
        with self.on(device):
            return int(self.xp.cuda.runtime.memGetInfo()[1])

    def free(self) -> None:
        """Gives unused memory back to the GPUs."""
        for device in range(0 if self.dry else self.count):
            with self.on(device):
                self.xp.get_default_memory_pool().free_all_blocks()

    def block(self, cell: Cell, device: int, first: int, end: int, seed: int = 0) -> Any:
        """Rows of the matrix of a cell."""
        with self.on(device):
            block = self.xp.empty((end - first, cell.n), cell.dtype)
            most, height = int(cell.factor * cell.n), max(1, DRAWN // cell.n)
            for group in range(first // height, -(-end // height)):
                begin = group * height
                random = self.xp.random.default_rng(1_000_003 * seed + group)
                rows = random.integers(0, most + 1, (min(height, cell.n - begin), cell.n), dtype=np.int64)
                low, high = max(first, begin), min(end, begin + len(rows))
                block[low - first : high - first] = rows[low - begin : high - begin]
            return block

    def blocks(self, cell: Cell, gpus: int) -> gmatch.RowBlocks:
        cuts = [rank * cell.n // gpus for rank in range(gpus + 1)]
        return gmatch.RowBlocks([self.block(cell, device, *cuts[device : device + 2]) for device in range(gpus)])


# Checks of answers.


def check_verbs(machine: Machine) -> None:
    """Checks gathers of arrays of any lengths, and sums of numbers, between threads that each have a GPU."""
    count = max(2, machine.count)
    lengths = [1000 * (3 * rank % 4) for rank in range(count)]
    whole = np.concatenate([np.arange(length) + 10 * rank for rank, length in enumerate(lengths)])

    def work(seat: Any) -> None:
        ranks = Ranks(seat, patience=60)
        with machine.on(seat.rank % machine.count):
            for root in range(count):
                part = machine.xp.arange(lengths[seat.rank]) + 10 * seat.rank
                gathered = ranks.gather_list(part, root)
                assert (gathered is None) == (seat.rank != root)
                assert gathered is None or (cuda_to_host(gathered) == whole).all()
            number_of_rank = np.full(5, seat.rank)
            ranks.all_reduce(number_of_rank, "sum")
            assert (number_of_rank == count * (count - 1) // 2).all()

    run_threads(count, work)


def cuda_to_host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array


def small_problems(n: int) -> dict[str, Any]:
    """Matrices that are hard in different ways."""
    rng = np.random.default_rng(5)
    p, q = rng.random((2, n, 2))
    few = rng.integers(0, 10 * n, (n, n)).astype(float)
    few[rng.random((n, n)) < 0.8] = np.inf
    few[np.arange(n), rng.permutation(n)] = 1
    return {
        "uniform": rng.integers(0, n, (n, n), np.int32),
        "wide range": rng.integers(-1000 * n, 1000 * n, (n, n)),
        "float32": rng.random((n, n)).astype(np.float32),
        "geometric": np.sqrt(((p[:, None] - q[None]) ** 2).sum(2)),
        "ties": rng.integers(0, 5, (n, n), np.int8),
        "half": rng.random((n, n)).astype(np.float16),
        "rank 4": rng.standard_normal((n, 4)) @ rng.standard_normal((4, n)),
        "products": np.outer(np.arange(n) + 1, np.arange(n) + 1),
        "wide": rng.integers(0, 10 * n, (n // 2, n)),
        "tall": rng.random((n, n // 2)),
        "few allowed": few,
    }


def check_small(machine: Machine, sizes: dict[str, int]) -> int:
    """Checks every method on every family: on one GPU, with two ranks on it, on all. Returns the number of proofs."""
    proven = 0
    for method, n in sizes.items():
        for name, cost in small_problems(n).items():
            expected = gmatch.lap(cost).cost
            for devices in ([0], [0, 0], [rank % machine.count for rank in range(3)]):
                try:
                    result = _lap_small(machine, cost, devices, method)
                    gmatch.verify(cost, result)
                    assert np.isclose(result.cost, expected, rtol=1e-12), f"{result.cost}, not {expected}"
                except Exception as error:
                    error.add_note(f"{name}, n = {n}, {method}, devices {devices}")
                    raise
                proven += 1
    infeasible = np.full((20, 20), np.inf)
    infeasible[:, 0] = 1
    try:
        _lap_small(machine, infeasible, [0, machine.count - 1], "core")
    except gmatch.Infeasible:
        return proven + 1
    raise AssertionError("an infeasible problem was solved")


def _lap_small(machine: Machine, cost: Any, devices: list[int], method: str) -> Any:
    if not machine.dry:
        return gmatch.lap(cost, devices=devices, method=method, certify=True)
    cuts = np.linspace(0, len(cost), len(devices) + 1).astype(int)[1:-1]
    return gmatch.lap(gmatch.RowBlocks(np.split(cost, cuts)), method=method, certify=True)


# What is measured.


class Bench:
    def __init__(self, options: argparse.Namespace, machine: Machine, record: Record) -> None:
        self.options, self.machine, self.record = options, machine, record
        self.allowance = Allowance(options.limit, options.budget)
        self.sizes = DRY_SIZES if options.dry_run else SIZES

    def check(self) -> None:
        begin, name = time.perf_counter(), "verbs and small problems"
        try:
            check_verbs(self.machine)
            proven = check_small(self.machine, DRY_CHECKED if self.options.dry_run else CHECKED)
        except Exception as error:  # it is reported, and the other parts still run
            traceback.print_exc()
            notes = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
            timing = Timing.none(name, "all", {"part": "check", "wrong": notes})
        else:
            seconds = time.perf_counter() - begin
            timing = Timing(name, "all", seconds, seconds, seconds, {"part": "check", "proven": proven})
        self._add(timing, ("check",), 1)

    def core(self) -> None:
        for dtype in ("int32", "float32"):
            for n in self.sizes["core"]:
                self._on_all(n, dtype, "core", "core")

    def weak(self, method: str = "classical") -> None:
        for gpus, n in zip((1, 2, 4, 8), self.sizes["weak"], strict=False):
            if gpus <= self.machine.count:
                self._one(Cell("weak", n, "int32", method, gpus))

    def strong(self, method: str = "classical") -> None:
        for n in self.sizes["strong"]:
            self._on_all(n, "int32", method, "strong")

    def tree(self) -> None:
        self.weak("tree")
        self.strong("tree")

    def _on_all(self, n: int, dtype: str, method: str, part: str) -> None:
        for gpus in (0, *self.machine.steps):
            if self.machine.holds(n, np.dtype(dtype).itemsize, max(1, gpus)):
                self._one(Cell(part, n, dtype, method, gpus))

    def _one(self, cell: Cell) -> None:
        series = cell.kind
        if self.record.measured(cell.name, cell.solver):
            return
        facts: dict[str, Any] = {
            "part": cell.part, "n": cell.n, "gpus": cell.gpus, "method": cell.method, "predicted": cell.predicted(),
        }  # fmt: skip
        refusal = self.allowance.refusal(series, cell.n)
        if refusal is None and self.allowance.left() < self.options.limit:
            refusal = {"unaffordable": self.options.budget}
        timing = Timing.none(cell.name, cell.solver, {**facts, **(refusal or {})})
        if refusal is None:
            timing = self._measured(cell, facts)
        self._add(timing, series, cell.n)
        self.machine.free()

    def _measured(self, cell: Cell, facts: dict[str, Any]) -> Timing:
        try:
            solve, problem = self._solver(cell)
            return timed(
                cell.name, cell.solver, clocked(solve), lambda result: gmatch.verify(problem, result),
                self.options.repeats, facts, self.options.limit, _about,
            )  # fmt: skip
        except (AssertionError, gmatch.CertificateError) as error:
            return Timing.none(cell.name, cell.solver, {**facts, "wrong": str(error)})
        except Exception as error:  # errors of a GPU, and unforeseen ones: the other cells are still measured
            traceback.print_exc()
            return Timing.none(cell.name, cell.solver, {**facts, "failed": f"{type(error).__name__}: {error}"})

    def _solver(self, cell: Cell) -> tuple[Callable[[], Any], Any]:
        problem: Any = self.machine.blocks(cell, max(1, cell.gpus))
        if not cell.gpus:
            problem = problem.blocks[0]
        return lambda: gmatch.lap(problem, method=cell.method), problem

    def mpi(self) -> None:
        """A job of processes: it solves and proves; then one of them is killed."""
        mpiexec = shutil.which("mpiexec")
        if mpiexec is None:
            print("mpi: left out: there is no mpiexec", flush=True)
            return
        count = max(2, self.machine.count)
        for what in ("solve", "kill"):
            begin = time.perf_counter()
            done, told = run_job([mpiexec, "-n", str(count), *job_of(what, self.options)], self.options.limit * 4)
            seconds = time.perf_counter() - begin
            facts: dict[str, Any] = {"part": "mpi", "told": told[-2000:], "exit": done}
            if (done == 0) != (what == "solve") or done is None:
                facts["wrong"] = f"exit status {done}: {told[-500:]}"
            timing = Timing(f"mpi, {what}", f"{count} processes", seconds, seconds, seconds, facts)
            self._add(timing, ("mpi", what), 1)

    def _add(self, timing: Timing, series: Any, size: int) -> None:
        self.record.add(timing)
        self.allowance.note(series, size, timing)
        seconds = reason(timing) if timing.median is None else f"{timing.median * 1e3:.4g} ms"
        print(f"{timing.instance}, {timing.solver}: {seconds} {trouble(timing)}".rstrip(), flush=True)


def _about(result: Any) -> dict[str, Any]:
    """What ranks say of a run: counts, what they sent, and how long they waited."""
    names = "rounds", "bands", "dual_steps", "phases", "levels", "meetings", "bytes_met", "reason", "repricings"
    facts = {name: result.stats[name] for name in names if name in result.stats}
    return {**facts, "seconds": result.stats["seconds"], "cost": float(result.cost)}


# Jobs of mpiexec.


def job_of(what: str, options: argparse.Namespace) -> list[str]:
    dry = ["--dry-run"] if options.dry_run else []
    return [sys.executable, "-m", "mpi4py", str(Path(__file__).resolve()), "--job", what, *dry]


def run_job(command: Sequence[str], limit: float) -> tuple[int | None, str]:
    """The exit status, None if it did not end in time; and what it printed."""
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        command, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        told, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        told, _ = process.communicate()
        return None, told
    return process.returncode, told


def run_as_job(options: argparse.Namespace) -> int:
    """One process of a job."""
    from mpi4py import MPI

    ranks = Ranks(MPI.COMM_WORLD, patience=30)
    machine = Machine(options.dry_run, ranks.size)
    device = ranks.rank % machine.count
    if options.job == "kill" and ranks.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    # By the paper's costs and methods a level is a meeting, which takes a millisecond.
    cells = [Cell("core", 20_000, "int32", "core", ranks.size)]
    cells += [Cell("weak", 2000, "int32", method, ranks.size) for method in ("core", "classical", "tree")]
    for cell in cells:
        cell = replace(cell, n=100) if options.dry_run else cell
        first, end = (part * cell.n // ranks.size for part in (ranks.rank, ranks.rank + 1))
        block = machine.block(cell, device, first, end)
        for _ in range(2):
            begin = time.perf_counter()
            result = gmatch.lap(block, comm=ranks, method=cell.method)
            seconds = time.perf_counter() - begin
        certificate = gmatch.verify(block, result, comm=ranks)
        assert certificate.gap == 0
        if ranks.rank == 0:
            meet, told = result.stats["seconds"]["meet"], f"n = {cell.n}, {cell.method}: {seconds * 1e3:.1f} ms"
            print(f"{told}, {meet * 1e3:.1f} of them meeting, {result.stats['bytes_met']} bytes")
    return 0


# What is shown.


def table(timings: list[Timing]) -> str:
    """For each problem and method: milliseconds alone and by ranks, efficiencies, and the paper's efficiencies."""
    rows = []
    for timing in timings:
        facts = timing.facts
        if "gpus" not in facts:
            rows.append([timing.instance, timing.solver, _cell(timing), "", "", ""])
            continue
        paper = PUBLISHED.get((facts["n"], facts["gpus"]), (None, None))[facts["method"] == "tree"]
        of_paper = "" if facts["method"] == "core" or paper is None else number(paper * 1e3)
        rows.append(
            [timing.instance, timing.solver, _cell(timing), _efficiency(timing, timings),
             number(facts["predicted"] * 1e3), of_paper]
        )  # fmt: skip
    return markdown_table(["problem", "solver", "ms", "efficiency", "predicted ms", "paper ms"], rows)


def _cell(timing: Timing) -> str:
    return reason(timing) if timing.median is None else number(timing.median * 1e3)


def _efficiency(timing: Timing, timings: list[Timing]) -> str:
    """The efficiency, by the time of one rank on the same problem over the number of ranks."""
    gpus, method = timing.facts["gpus"], timing.facts["method"]
    ones = [
        other for other in timings
        if other.instance == timing.instance and other.solver == f"{method}, 1 rank" and other.median
    ]  # fmt: skip
    if not ones or not timing.median or not gpus or ones[0].median is None:
        return ""
    return f"{ones[0].median / gpus / timing.median:.2f}"


@cache
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to do")
    add("--most", type=POSITIVE, default=8, help="GPUs at most")
    add("--repeats", type=POSITIVE, default=3, help="timed calls of each cell, of which the median counts")
    add("--limit", type=LIMIT, default=15, help="seconds that a call may take, or no larger problem is tried")
    add("--budget", type=within(float, 0), default=540, help="seconds that all may take")
    add("--output", type=Path, help="JSON file to write")
    add("--dry-run", action="store_true", help="small sizes, by threads of the host")
    add("--job", choices=["solve", "kill"], help=argparse.SUPPRESS)
    return made


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    return parsed(parser(), argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    if options.job:
        return run_as_job(options)
    if not options.dry_run:
        try:
            cuda.require()
        except gmatch.BackendUnavailable as error:
            parser().error(f"{error}; or use --dry-run")
    machine = Machine(options.dry_run, options.most)
    about = machine_of("cpu" if options.dry_run else "gpu")
    record = Record(options.output, {**about, "gpus": machine.count})
    print(f"{machine.count} x {about['device']}", flush=True)
    bench = Bench(options, machine, record)
    for part in options.parts:
        getattr(bench, part)()
    print(table(record.timings))
    return exit_status(record.timings)


if __name__ == "__main__":
    sys.exit(main())
