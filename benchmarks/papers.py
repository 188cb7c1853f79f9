"""The papers' assignment tables: every method of ours, and peers, beside the figures that the papers print.

    python benchmarks/papers.py --tables date-nagi-1 --most 2000 --peers          # on the CPU
    python benchmarks/papers.py --device gpu --budget 540 --output papers.json    # all tables, for nine minutes
    python benchmarks/papers.py --device gpu --budget 540 --output papers.json --resume    # what is missing in it
    python benchmarks/papers.py --tables date-nagi-4 date-nagi-5 --sizes 60 85 --ranks 1 2    # dry run on hosts
    python benchmarks/papers.py --read papers.json --plots pictures               # tables and pictures, no measuring

| table | of | costs |
|---|---|---|
| date-nagi-1 | Date and Nagi 2016, Table 1: times, n = 500 to 5000 | integers in [0, n] |
| date-nagi-2 | Table 2: assignments found in each five phases | the same |
| date-nagi-3 | Table 3: times of steps, n = 5000 to 20,000 | integers in [0, n / 10], [0, n], [0, 10 n] |
| date-nagi-4 | Table 4: weak scaling of ``classical`` and ``tree``: as many costs a rank | integers in [0, 10 n] |
| date-nagi-5 | Table 5: strong scaling, the same problem on more ranks | the same |
| reports | Kawtikwar, Cravens and Yang, Tables IV to X: times, n = 64 to 8192 | whole float64 in [0, f n] |
| ladder | Kawtikwar, Chang and Govind, Tables II and III: forms of Munkres' method | whole float64 in [0, 1000 n] |
| batches | ours: many small problems in one call, and one by one | integers in [0, n] |

Tables 4 and 5 are measured only if they are asked for. They take --ranks: GPUs of this process, each with its rows, or
threads on the CPU. Table 4 takes the first of --sizes for the first of --ranks, and so on.

Costs are made on the device. Each answer of ours is proven by its duals before it is timed, and peers must find the
proven cost. Times are of whole calls in Python, with the check of the costs; steps are as the method reports them.

A method whose call took longer than --limit is not tried on larger problems. Peers on the CPU run in another process,
which is ended when a call outlasts the limit. Peers on the GPU are treated as our methods are. With --budget, a
measurement that is not likely to end in time is not begun. The JSON file is written after each cell.

The exit status is 1 if an answer was wrong or nothing was measured, 2 for arguments that cannot work.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import layouts
import many_gpus
import numpy as np
import peers
from harness import (
    POSITIVE,
    Record,
    Session,
    SideProcess,
    Timing,
    add_arguments,
    begun,
    equals,
    exit_status,
    load_all,
    machine_of,
    parsed,
    within,
)
from layouts import BATCHES, RANKS_METHODS, SCALING, STUDIES

import gmatch
from gmatch import cuda
from gmatch.assignment.lap import STARTS
from gmatch.backends import gpu
from gmatch.datasets import costs

# A small problem of the same program, so that the first call on a larger one does not compile.
WARM = 256
LARGEST_FACTOR = 1_000_000  # with it, costs are far from the end of 64-bit integers


@dataclass(frozen=True, order=True)
class Instance:
    """Integers drawn evenly from [0, factor * n]; with a count, that number of matrices."""

    n: int
    factor: float
    dtype: str
    seed: int = 0
    count: int = 0

    @property
    def name(self) -> str:
        shape = f"{self.count} x {self.n} x {self.n}" if self.count else f"n = {self.n}"
        return f"{self.dtype} [0, {self.factor:g} n], {shape}, seed {self.seed}"

    @property
    def facts(self) -> dict[str, Any]:
        return {"n": self.n, "factor": self.factor, "dtype": self.dtype, "seed": self.seed, "count": self.count}

    @property
    def kind(self) -> tuple[Any, ...]:
        """The facts that all problems of a series share."""
        return self.factor, self.dtype, self.seed, self.count > 0

    def costs(self, device: str) -> Any:
        if not self.count:
            return costs.uniform(self.n, self.factor, self.seed, dtype=self.dtype, device=device)
        first = self.seed * self.count
        matrices = [
            costs.uniform(self.n, self.factor, first + number, dtype=self.dtype, device=device)
            for number in range(self.count)
        ]
        # The function of the library of the array: NumPy or CuPy.
        stack = np.stack if device == "cpu" else cuda.cupy().stack
        return stack(matrices)


def methods(device: str) -> list[str]:
    """Every method of gmatch for the device, the best starters also with the start "regret", and `"auto"`."""
    names = [method.name for method in gmatch.ASSIGNMENT_METHODS if "dense" in method.solves[device]]
    if "regret" in STARTS:
        best = ["tree-many", *[name for name in names if name.startswith("munkres")][-1:]]
        names += [f"{name}+regret" for name in best]
    return [*names, "auto"]  # last: it then finds all programs compiled


def call_of(solver: str, matrix: Any) -> Any:
    """`gmatch.lap` as a solver's name says: ``METHOD`` or ``METHOD+START``."""
    method, _, initial = solver.partition("+")
    return partial(gmatch.lap, matrix, method=method, initial=initial or "auto")


def warm_size(solver: str, n: int, device: str) -> int:
    """The rows of a problem that compiles what one of n rows needs: the classical variant has two programs on a GPU."""
    wide = math.isqrt(gpu.WIDE_BLOCKS_FROM)
    if device == "gpu" and solver.startswith("classical") and n >= wide:
        return wide
    return min(n, WARM)


@cache
def unusable(solver: str, dtype: str, device: str, n: int) -> str | None:
    """Why a solver cannot run here. None if it can; it is then compiled."""
    try:
        call_of(solver, costs.uniform(n, dtype=dtype, device=device))()
    except gmatch.GmatchError as error:
        return str(error)
    return None


@cache
def no_batches(device: str) -> str | None:
    """Why `gmatch.lap` does not take a batch of problems in one call on the device; None if it does."""
    try:
        batch_costs(Instance(3, 1, "int32", count=2).costs(device))
    except gmatch.GmatchError as error:
        return f"this gmatch.lap takes no 3-d array: {error}"
    return None


def facts_of(assignment: gmatch.Assignment) -> dict[str, Any]:
    """What the tables show of an answer."""
    names = (
        "method", "initial", "backend", "start_size", "phases", "levels", "dual_steps", "seconds", "meetings",
        "bytes_met",
    )  # fmt: skip
    facts = {name: assignment.stats[name] for name in names if name in assignment.stats}
    found = assignment.stats.get("augmentations_per_phase", [])
    fives = [sum(found[first : first + 5]) for first in range(0, len(found), 5)]
    return {"cost": assignment.cost, **facts, "found_in_five_phases": fives}


@dataclass(frozen=True, order=True)
class SharedInstance(Instance):
    """An instance and the number of ranks that solve it, for the table of weak or of strong scaling."""

    ranks: int = 1
    weak: bool = False

    @property
    def name(self) -> str:
        return f"{super().name}, {'weak' if self.weak else 'strong'}"

    @property
    def facts(self) -> dict[str, Any]:
        return super().facts | {"ranks": self.ranks, "weak": self.weak}

    @property
    def kind(self) -> tuple[Any, ...]:
        return *super().kind, self.ranks, self.weak

    def blocks(self, device: str) -> gmatch.RowBlocks:
        """Rows for each rank, made on its GPU. The matrix does not depend on the number of ranks."""
        machine = many_gpus.Machine(device == "cpu", self.ranks)
        return machine.blocks(many_gpus.Cell("weak", self.n, self.dtype, "classical", self.ranks), self.ranks)


class AssignmentSession(Session):
    """One run of this program."""

    def measure(self, instance: Instance, solvers: list[str], others: list[str]) -> None:
        """Times our solvers and others on an instance, unless a time is there already or is not allowed."""
        solvers = [solver for solver in solvers if self.admits(instance, solver)]
        others = [other for other in others if self.admits(instance, other)]
        if not solvers and not others:
            return
        matrix = instance.costs(self.options.device)
        for solver in solvers:
            # Asked again, since time has passed.
            if self.admits(instance, solver) and self._runs_here(instance, solver):
                self.add(instance, self._ours(instance, solver, matrix))
        if others:
            self._measure_peers(instance, matrix, others, gmatch.lap(matrix, certify=True).cost)

    def measure_ranks(self, instance: SharedInstance) -> None:
        """Times the papers' two systems on the instance's number of ranks."""
        for method in self.options.methods or RANKS_METHODS:
            solver = layouts.solver_of(method, instance.ranks)
            if self.admits(instance, solver):
                blocks = instance.blocks(self.options.device)
                call, check = partial(gmatch.lap, blocks, method=method), partial(gmatch.verify, blocks)
                self.add(instance, self.here(instance, solver, call, check, facts_of))

    def measure_batch(self, instance: Instance, others: list[str]) -> None:
        """Times a batch in one call, and its problems one by one, ours and others."""
        ours = {layouts.BATCH: batch_costs, layouts.ONE_BY_ONE: single_costs}
        if self.tell(layouts.BATCH, no_batches(self.options.device)):
            del ours[layouts.BATCH]
        names = [name for name in (*ours, *others) if self.admits(instance, name)]
        if not names:
            return
        batch = instance.costs(self.options.device)
        # The proven optimum of every problem, which each solver must find.
        proven = [gmatch.lap(matrix, method="jv", certify=True).cost for matrix in on_host(batch)]
        check = partial(same_costs, proven)
        for name in names:
            if name in ours and self.admits(instance, name):
                self.add(instance, self.here(instance, name, partial(ours[name], batch), check))
        self._measure_peers(instance, batch, [name for name in names if name in others], sum(proven))

    def _measure_peers(self, instance: Instance, matrix: Any, names: list[str], best: float) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "costs.npy"
            for name in names:
                if not self.admits(instance, name):
                    continue
                if name in peers.on_gpu():
                    solve = peers.prepared_on_gpu(matrix)
                    timing = self.here(instance, name, solve, equals(best))
                else:
                    if not path.exists():
                        np.save(path, on_host(matrix))
                    calls = self.side.calls(peers.calls, name, path, limit=self.options.limit)
                    timing = self.beside(instance, name, calls, equals(best))
                self.add(instance, timing)

    def _ours(self, instance: Instance, solver: str, matrix: Any) -> Timing:
        return self.here(instance, solver, call_of(solver, matrix), partial(gmatch.verify, matrix), facts_of)

    def _runs_here(self, instance: Instance, solver: str) -> bool:
        device = self.options.device
        return not self.tell(solver, unusable(solver, instance.dtype, device, warm_size(solver, instance.n, device)))


def on_host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


def batch_costs(batch: Any) -> list[float]:
    """The cost of each problem of a batch, solved in one call."""
    return on_host(gmatch.lap(batch).cost).tolist()


def single_costs(batch: Any) -> list[float]:
    return [gmatch.lap(matrix).cost for matrix in batch]


def same_costs(proven: list[float], found: list[float]) -> None:
    wrong = [number for number, pair in enumerate(zip(proven, found, strict=True)) if pair[0] != pair[1]]
    if wrong:
        number = wrong[0]
        raise AssertionError(f"problem {number} of the batch: expected {proven[number]}, got {found[number]}")


def plan(options: argparse.Namespace) -> dict[Instance, tuple[list[str], list[str]]]:
    """Which of our solvers and which others each instance of the tables is for; small ones first.

    Tables share what they can: a cell of two tables is measured once.
    """
    ours = options.methods or methods(options.device)
    wanted: dict[Instance, tuple[list[str], list[str]]] = {}
    for name in options.tables:
        if name not in STUDIES:
            continue
        study = STUDIES[name]
        solvers = [solver for solver in ours if not study.ladder or solver.startswith("munkres")]
        others = others_of(options) if study.peers else []
        for instance in instances(name, options):
            have = wanted.setdefault(instance, ([], []))
            have[0].extend(solver for solver in solvers if solver not in have[0])
            have[1].extend(other for other in others if other not in have[1])
    return dict(sorted(wanted.items()))


def instances(name: str, options: argparse.Namespace) -> Iterator[Instance]:
    study = STUDIES[name]
    for n in options.sizes or study.sizes:
        for factor in options.factors or study.factors:
            for seed in range(options.instances):
                if n <= options.most:
                    yield Instance(n, factor, options.dtype or study.dtype, seed)


def shared_instances(name: str, options: argparse.Namespace) -> Iterator[SharedInstance]:
    """The instances of Table 4 or 5; small ones first."""
    is_weak = name == "date-nagi-4"
    if options.sizes is None:
        pairs = [(n, ranks) for n, ranks in SCALING[name] if ranks in options.ranks]
    elif is_weak:
        pairs = list(zip(options.sizes, options.ranks, strict=False))
    else:
        pairs = [(n, ranks) for n in options.sizes for ranks in options.ranks]
    for n, ranks in sorted(pairs):
        if n <= options.most:
            yield SharedInstance(n, 10, options.dtype or layouts.RANKS_STUDY.dtype, 0, ranks=ranks, weak=is_weak)


def default_ranks(device: str) -> list[int]:
    """1, 2, 4, ... up to the number of GPUs; 1 and 2 on a host."""
    most = cuda.number_of_devices() if device == "gpu" else 2
    return [ranks for ranks in (1, 2, 4, 8, 16) if ranks <= most]


def others_of(options: argparse.Namespace) -> list[str]:
    if not options.peers:
        return []
    ours = ["gmatch jv"] if options.device == "gpu" else []
    return [*ours, *peers.names(), *(peers.on_gpu() if options.device == "gpu" else [])]


def run(options: argparse.Namespace) -> Record:
    machine = machine_of(options.device) | {"peers": peers.versions()}
    record = begun(options.output, machine, options.resume)
    with SideProcess() as side:
        session = AssignmentSession(options, record, side)
        for instance, (solvers, others) in plan(options).items():
            session.measure(instance, solvers, others)
        for name in SCALING:
            if name in options.tables:
                for shared in shared_instances(name, options):
                    session.measure_ranks(shared)
        if "batches" in options.tables:
            for count, n in BATCHES:
                if n <= options.most:
                    others = others_of(options) or ["SciPy"]
                    session.measure_batch(Instance(n, 1, options.dtype or "int32", 0, count), others)
    return record


def dtype(text: str) -> str:
    """A type that costs can have, by its name."""
    with suppress(TypeError):
        if np.dtype(text).kind in "iuf":
            return text
    raise argparse.ArgumentTypeError(f"expected a type of numbers, such as int32 or float64, got {text!r}")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    tables = [*STUDIES, "batches", *SCALING]
    add("--tables", nargs="+", default=[*STUDIES, "batches"], choices=tables, metavar="TABLE", help=", ".join(tables))
    add("--methods", nargs="+", help="METHOD or METHOD+START; by default all of gmatch")
    add("--sizes", type=POSITIVE, nargs="+", help="instead of the papers'")
    add(
        "--ranks",
        type=POSITIVE,
        nargs="+",
        help="of Tables 4 and 5; by default 1, 2, 4, ... GPUs, or 1 and 2 threads",
    )
    add("--factors", type=within(float, 0, LARGEST_FACTOR), nargs="+", help="of the ranges, instead of the papers'")
    add("--most", type=POSITIVE, default=sys.maxsize, help="leave larger problems out")
    add("--dtype", type=dtype, help="of the costs measured or read, instead of the papers'")
    add("--instances", type=POSITIVE, default=1, help="of each kind; Date and Nagi had 3")
    add("--peers", action="store_true", help="SciPy; lapx, lap, OR-Tools and torch-linear-assignment if installed")
    add_arguments(parser)
    return parsed(parser, argv, "dtype")


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    options.ranks = options.ranks or default_ranks(options.device)
    if options.read:
        machine, timings = load_all(options.read)
    else:
        record = run(options)
        machine, timings = str(record.machine["device"]), record.timings
    results = layouts.Results(timings, machine, options.dtype)
    print(layouts.all_tables(results, options.tables))
    if options.plots:
        for path in layouts.save_plots(results, options.tables, options.plots):
            print(path)
    return exit_status(timings)


if __name__ == "__main__":
    sys.exit(main())
