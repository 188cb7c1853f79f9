"""Compares the speed of two builds of gmatch: paired runs, side by side, and the spread of their ratios.

    python benchmarks/compare.py fcaa533 HEAD                     # two commits, on the CPU
    python benchmarks/compare.py fcaa533 . --groups small dense   # a commit and the working tree
    python benchmarks/compare.py OLD NEW --device gpu --budget 500 --output FILE
    python benchmarks/compare.py PATH_OLD PATH_NEW                # two folders: no git history is needed

OLD and NEW are each a commit, the path of a tree (it has a pyproject.toml), or the path of a build (a folder with a
compiled gmatch in it, as `pip install --target` makes one). Commits and trees are built in --scratch, once: a later run
finds the build by the commit's hash, or by the hash of the tree's files. Where scikit-build-core and nanobind are
installed, nothing is fetched to build. A machine without git's history builds from copies of two trees, or takes two
builds that were made for its version of Python.

Each build runs in a process of its own. First both prove their answers, which must be worth the same. Then the two are
asked in turn, so that both meet the same noise, and each times its own calls. All cells are measured in several
--rounds, each with new processes: processes differ by where their memory lies, and minutes by what others do on the
machine. A speed is OLD's time over NEW's: above 1, NEW is faster. The table shows the median of all pairs, and an
interval that holds it in 95 of 100 cases (bootstrap, first of rounds and then of their pairs). A group has the
geometric mean of its cells. A cell is SLOWER if its whole interval is below 0.90, a group if its is below 0.98.

The groups: small (10 x 10 and so on, calls of microseconds), dense and others (families of costs), methods, sparse,
batches, cardinality, process (import, and the first call of a new process). Problems are made by this folder's
benchmarks, for both builds alike.

The exit status is 1 if a build is slower, failed or found another answer, or if nothing was measured. It is 2 for
arguments that cannot work.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import assignment
import cardinality
import numpy as np
import other_costs
import small
from harness import POSITIVE, hash_of_files, machine_of, number, parsed, within

import gmatch

ROOT = Path(__file__).parent.parent
WORKER = Path(__file__).with_name("compare_worker.py")
# Speeds that a cell and a group must have, beyond noise.
CELL_LIMIT, GROUP_LIMIT = 0.90, 0.98
ROUNDS, PAIRS = 5, 8
# Seconds of a sample, which repeats short calls until then.
SAMPLE = 0.005
# Seconds that a worker may take for one request: the programs of a GPU may be compiled in it.
LIMIT = 600.0
RESAMPLES = 1000
# The call of a cell that times no call.
IMPORT = "import"


@dataclass(frozen=True)
class Cell:
    """A call that is timed, and the problem or problems that it solves. `process`: a new process for each sample."""

    group: str
    name: str
    call: str
    make: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)
    process: bool = False


@dataclass
class Found:
    """Pairs of seconds of a call, of the old and the new build, round by round; or why there are none."""

    group: str
    name: str
    rounds: list[list[tuple[float, float]]] = field(default_factory=list)
    problem: str | None = None

    def pairs(self) -> Any:
        return np.concatenate([np.array(pairs) for pairs in self.rounds])


@dataclass(frozen=True)
class Speed:
    """A speed, and the interval that it lies in."""

    median: float
    low: float
    high: float

    def is_below(self, limit: float) -> bool:
        return self.high < limit


def cells(device: str, size: int, scale: int) -> Iterator[Cell]:
    """All cells, group by group."""
    yield from small_cells(device)
    for family, make in assignment.FAMILIES.items():
        group = "sparse" if family.startswith("sparse") else "others" if family in other_costs.FAMILIES else "dense"
        n = 10 * size if group == "sparse" else size
        yield Cell(group, f"{family}, n = {n}", "lap", partial(make, n, "cpu"))
    yield from method_cells(device, max(2, size // 3))
    for problems, n in ((1000, 10), (200, 32), (20, 100)):
        for dtype in ("int32", "float64"):
            yield Cell("batches", f"{problems} x {n} x {n}, {dtype}", "lap", partial(batch, problems, n, dtype))
    for family in cardinality.FAMILIES:
        for permuted in (False, True):
            instance = cardinality.Instance(family, scale, permuted)
            yield Cell("cardinality", instance.name, "max_matching of a checked graph", instance.matrix)
    yield from process_cells(size)


def small_cells(device: str) -> Iterator[Cell]:
    """Lists of different problems: a processor learns to predict a few problems that it meets again and again."""
    for n in (10, 20, 50):
        for call in ("lap", "rows, columns = lap", *(["compat"] if device == "cpu" else [])):
            yield Cell("small", f"{call}, {n} x {n}", call, partial(small.assignments, n, 100))
        integers = partial(small_integers, n, 100)
        yield Cell("small", f"lap, {n} x {n}, int64", "lap", integers)
        yield Cell("small", f"max_matching, {n} x {n}", "max_matching", partial(small.graphs, n, 100))
    for n in (100, 300):
        yield Cell("small", f"lap, {n} x {n}", "lap", partial(small.assignments, n, 10))


def small_integers(n: int, count: int) -> list[Any]:
    return list(np.random.default_rng(n).integers(0, 1000, (count, n, n)))


def method_cells(device: str, n: int) -> Iterator[Cell]:
    """Each method, on integers that tie and on floats. With `threads`, `core` on a host is the GPU's program."""
    methods: list[dict[str, Any]] = [{"method": name} for name in ("core", "tree", "classical", "munkres-registers")]
    if device == "cpu":
        methods += [{"method": "jv"}, {"method": "core", "threads": 2}, {"method": "tree", "threads": 2}]
    for family in ("uniform 1", "float64"):
        for options in methods:
            name = " x ".join(map(str, options.values()))
            make = partial(assignment.FAMILIES[family], n, "cpu")
            yield Cell("methods", f"{name}: {family}, n = {n}", "lap", make, options)


def batch(problems: int, n: int, dtype: str) -> Any:
    return np.random.default_rng(n).integers(0, 10 * n, (problems, n, n)).astype(dtype)


def process_cells(size: int) -> Iterator[Cell]:
    ten = partial(small.assignments, 10, 1)
    yield Cell("process", "import gmatch", IMPORT, ten, process=True)
    yield Cell("process", "first lap, 10 x 10", "lap", ten, process=True)
    yield Cell("process", f"first lap, {size} x {size}", "lap", partial(small.assignments, size, 1), process=True)
    yield Cell("process", "first max_matching, 10 x 10", "max_matching", partial(small.graphs, 10, 1), process=True)


GROUPS = ("small", "dense", "others", "methods", "sparse", "batches", "cardinality", "process")


class Build:
    """A folder with gmatch in it, and the process that runs it, started when first asked."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection

    def send(self, request: str, *arguments: Any) -> None:
        if self._process is None:
            self._connection, theirs = Pipe()
            command = [*self._command("serve"), str(theirs.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=self.folder)
            theirs.close()
        with suppress(ConnectionError):  # it died, which `receive` reports
            self._connection.send((request, arguments))

    def receive(self) -> Any:
        try:
            if not self._connection.poll(LIMIT):
                self._fail(f"no answer within {LIMIT:g} s")
            failed, answer = self._connection.recv()
        except (EOFError, ConnectionError):
            self._fail("its process died")
        if failed:
            raise ChildProcessError(answer)
        return answer

    def ask(self, request: str, *arguments: Any) -> Any:
        self.send(request, *arguments)
        return self.receive()

    def once(self, path: Path, call: str) -> dict[str, float]:
        """The seconds of a new process, to import and for a call."""
        command = [*self._command("once"), str(path), "lap" if call == IMPORT else call]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=self.folder)
        except subprocess.TimeoutExpired:
            raise ChildProcessError(f"no answer within {LIMIT:g} s") from None
        if done.returncode != 0:
            raise ChildProcessError(done.stderr.strip().splitlines()[-1] if done.stderr else "its process died")
        seconds: dict[str, float] = json.loads(done.stdout)
        return seconds

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._connection.close()
            self._process = None

    def _command(self, mode: str) -> list[str]:
        return [sys.executable, str(WORKER), mode, str(self.folder), self.device]

    def _fail(self, problem: str) -> None:
        self.end()
        raise ChildProcessError(problem)


def measure(cell: Cell, builds: Sequence[Build], path: Path, seconds: float, most: int) -> list[tuple[float, float]]:
    """Pairs of samples until the seconds are spent, at least one. The problem is, or will be, in the file `path`."""
    if not path.exists():
        path.write_bytes(pickle.dumps(cell.make(), protocol=5))
        load(cell, builds, path)
        prove(builds)
    elif not cell.process:
        load(cell, builds, path)
    samples = [sampler(cell, build, path) for build in builds]
    pairs: list[tuple[float, float]] = []
    end = time.monotonic() + seconds
    while not pairs or len(pairs) < most and time.monotonic() < end:
        # Old and new go first in turns.
        if len(pairs) % 2 == 0:
            old, new = samples[0](), samples[1]()
        else:
            new, old = samples[1](), samples[0]()
        pairs.append((old, new))
    return pairs


def load(cell: Cell, builds: Sequence[Build], path: Path) -> None:
    ask_all(builds, "load", str(path), "lap" if cell.call == IMPORT else cell.call, cell.options)


def prove(builds: Sequence[Build]) -> None:
    """Both builds prove their answers, and find the same ones."""
    for old, new in zip(*ask_all(builds, "prove"), strict=True):
        if not math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-9):
            raise AssertionError(f"OLD finds {old}, NEW {new}")


def ask_all(builds: Sequence[Build], request: str, *arguments: Any) -> list[Any]:
    """Asks both builds at the same time: the first call on a GPU may compile for minutes."""
    for build in builds:
        build.send(request, *arguments)
    answers, problems = [], []
    for side, build in zip(("OLD", "NEW"), builds, strict=True):
        try:
            answers.append(build.receive())
        except ChildProcessError as error:
            problems.append(f"{side}: {error}")
    if problems:
        raise ChildProcessError("; ".join(problems))
    return answers


def sampler(cell: Cell, build: Build, path: Path) -> Callable[[], float]:
    """A function that gives the seconds of one call; the call has warmed up."""
    if cell.process:
        step = "import" if cell.call == IMPORT else "call"
        build.once(path, cell.call)
        return lambda: build.once(path, cell.call)[step]
    loops = build.ask("loops", SAMPLE)
    return lambda: float(build.ask("time", loops))


def drawn_medians(found: Found) -> Any:
    """Logarithms of speeds: medians of pairs drawn again, the bootstrap, from rounds that are drawn again."""
    random = np.random.default_rng(zlib.crc32(found.name.encode()))  # cells have noise of their own
    logs = [-np.diff(np.log(np.array(pairs)))[:, 0] for pairs in found.rounds]

    def draw() -> Any:
        return np.concatenate([random.choice(logs[k], len(logs[k])) for k in random.integers(0, len(logs), len(logs))])

    return np.array([np.median(draw()) for _ in range(RESAMPLES)])


def median_of(found: Found) -> float:
    """The logarithm of a speed."""
    return float(np.median(-np.diff(np.log(found.pairs()))))


def speed_of(members: Sequence[Found]) -> Speed:
    """The speed of a cell, or the geometric mean of several."""
    low, high = np.percentile(np.mean([drawn_medians(found) for found in members], axis=0), [2.5, 97.5])
    return Speed(*(math.exp(log) for log in (np.mean([median_of(found) for found in members]), low, high)))


def run(options: argparse.Namespace) -> list[Found]:
    """Measures all cells. A cell that fails says why, and the others are still measured."""
    begin = time.monotonic()
    wanted = [cell for cell in cells(options.device, options.size, options.scale) if cell.group in options.groups]
    all_found = [Found(cell.group, cell.name) for cell in wanted]
    with TemporaryDirectory() as folder:
        for number_of_round in range(options.rounds):
            print(f"round {number_of_round + 1} of {options.rounds}", file=sys.stderr, flush=True)
            builds = [Build(path, options.device) for path in options.builds]
            try:
                for k, (cell, found) in enumerate(zip(wanted, all_found, strict=True)):
                    left = options.budget - (time.monotonic() - begin)
                    share = left / (len(wanted) * (options.rounds - number_of_round) - k)
                    if left <= 0 or found.problem:
                        continue
                    try:
                        pairs = measure(cell, builds, Path(folder) / f"{k}.pickle", share, options.pairs)
                        found.rounds.append(pairs)
                    except (ChildProcessError, AssertionError, gmatch.GmatchError) as error:
                        found.problem = str(error)
            finally:
                for build in builds:
                    build.end()
            if options.output:
                save(options, all_found)
    for found in all_found:
        if not found.rounds and not found.problem:
            found.problem = "no time left"
    return all_found


def save(options: argparse.Namespace, all_found: Sequence[Found]) -> None:
    part = options.output.with_name(options.output.name + ".part")
    saved = {
        "machine": machine_of(options.device),
        "old": {"given": options.old, "build": str(options.builds[0])},
        "new": {"given": options.new, "build": str(options.builds[1])},
        "groups": {group: asdict(speed_of(members)) for group, members in by_group(all_found)},
        "cells": [asdict(found) | (asdict(speed_of([found])) if is_measured(found) else {}) for found in all_found],
    }
    part.write_text(json.dumps(saved) + "\n")
    part.replace(options.output)


def is_measured(found: Found) -> bool:
    return bool(found.rounds) and not found.problem


def by_group(all_found: Sequence[Found]) -> Iterator[tuple[str, list[Found]]]:
    """The cells with times, for each group that has any."""
    for group in GROUPS:
        members = [found for found in all_found if found.group == group and is_measured(found)]
        if members:
            yield group, members


WIDTH = 46
HEADER = f"{'group: cell':{WIDTH}} {'old':>8} {'new':>8}  speed   95 of 100   pairs"


def line_of(found: Found) -> str:
    name = f"{found.group}: {found.name}"
    if not is_measured(found):
        return f"{name:{WIDTH}} {found.problem}"
    pairs = found.pairs()
    old, new = (duration(float(seconds)) for seconds in np.median(pairs, axis=0))
    return f"{name:{WIDTH}} {old:>8} {new:>8}  {shown(speed_of([found]), CELL_LIMIT, f'{len(pairs):5}')}"


def duration(seconds: float) -> str:
    unit, scale = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
    return f"{number(seconds * scale)} {unit}"


def shown(speed: Speed, limit: float, pairs: str = "") -> str:
    spread = f"{speed.low:.2f}..{speed.high:.2f}"
    return f"{speed.median:5.3f}  {spread:10} {pairs:5}{' SLOWER' * speed.is_below(limit)}".rstrip()


def table(all_found: Sequence[Found]) -> tuple[str, bool]:
    """A table of all cells and then the groups; and whether nothing is slower or failed."""
    lines = [HEADER, *map(line_of, all_found), ""]
    is_well = all(is_measured(found) for found in all_found)
    for group, members in by_group(all_found):
        speed = speed_of(members)
        lines.append(f"{f'{group}: geometric mean of {len(members)}':{WIDTH + 18}}  {shown(speed, GROUP_LIMIT)}")
        is_well &= not speed.is_below(GROUP_LIMIT)
        is_well &= not any(speed_of([found]).is_below(CELL_LIMIT) for found in members)
    return "\n".join(lines), is_well


def built(given: str, scratch: Path) -> Path:
    """The folder of a build: as given, or built from a tree or a commit if it is not there yet."""
    path = Path(given).resolve()
    if path.is_dir():
        if any((path / "gmatch").glob("_native*.so")):
            return path
        if (path / "pyproject.toml").is_file():
            return build_once(f"tree-{hash_of_tree(path)}", scratch, lambda target: install(path, target))
        raise gmatch.InvalidInput(
            f"expected a commit, a tree with pyproject.toml, or a build with gmatch/_native*.so, got the folder {path}"
        )
    commit = commit_of(given)
    return build_once(commit, scratch, lambda target: install_commit(commit, target))


def build_once(name: str, scratch: Path, make: Callable[[Path], None]) -> Path:
    """Builds unless the folder is there. A build is for one version of Python, which is part of the folder's name."""
    target = scratch.resolve() / f"{name[:20]}-{sys.implementation.cache_tag}"
    if target.is_dir():
        return target
    scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=scratch) as folder:
        part = Path(folder) / "build"
        make(part)
        part.replace(target)
    return target


def install_commit(commit: str, target: Path) -> None:
    """Installs from a worktree beside the target. The worktree is removed with its folder."""
    tree = target.with_name("tree")
    git("worktree", "add", "--detach", "--quiet", str(tree), commit)
    try:
        install(tree, target)
    finally:
        git("worktree", "remove", "--force", str(tree))


def install(tree: Path, target: Path) -> None:
    print(f"building {tree}", file=sys.stderr, flush=True)
    offline = find_spec("scikit_build_core") and find_spec("nanobind")
    with TemporaryDirectory() as folder:
        # Only the files that are built are copied. The build leaves its files in the copy.
        copy = Path(folder) / "tree"
        shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(".*", "build", "venv", "*.so", "__pycache__"))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
        command += ["--no-build-isolation"] if offline else []
        done = subprocess.run([*command, str(copy)], capture_output=True, text=True)
    if done.returncode != 0:
        raise gmatch.InvalidInput(f"expected a tree that can be built, got {tree}: {done.stderr.strip()}")


def hash_of_tree(tree: Path) -> str:
    """The hash of all files that go into a build."""
    with TemporaryDirectory() as folder:
        links = Path(folder)
        for path in (*tree.glob("*.toml"), *tree.glob("CMakeLists.txt"), *(tree / "gmatch").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                link = links / path.relative_to(tree)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
        return hash_of_files(links)


def commit_of(given: str) -> str:
    try:
        return git("rev-parse", "--verify", "--quiet", f"{given}^{{commit}}").strip()
    except gmatch.InvalidInput:
        raise gmatch.InvalidInput(
            f"expected a commit of {ROOT}, or the folder of a tree or of a build, got {given!r}; without git's history "
            "give two folders"
        ) from None


def git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError as error:
        raise gmatch.InvalidInput(f"expected git, to find and build commits: {error}") from None
    if done.returncode != 0:
        raise gmatch.InvalidInput(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("old", metavar="OLD", help="commit, tree or build that NEW is compared with")
    add("new", metavar="NEW", help="commit, tree or build")
    add("--device", choices=["cpu", "gpu"], default="cpu")
    add("--groups", nargs="+", choices=GROUPS, default=GROUPS, metavar="GROUP", help=f"of {', '.join(GROUPS)}; all")
    add("--budget", type=within(float, 0), default=900, help="seconds to measure, shared out among the cells; 900")
    add("--rounds", type=POSITIVE, default=ROUNDS, help=f"of new processes; {ROUNDS}")
    add("--pairs", type=POSITIVE, default=PAIRS, help=f"of a cell in a round, at most; {PAIRS}")
    add("--size", type=POSITIVE, help="rows of dense costs; 1000, on a GPU 4000")
    add("--scale", type=within(int, 0, cardinality.LARGEST_SCALE), help="2^SCALE rows of graphs; 15, on a GPU 18")
    add("--scratch", type=Path, default=ROOT / "build" / "compare", help="folder of builds")
    add("--output", type=Path, help="JSON file to write")
    options = parsed(parser, argv)
    options.size = options.size or {"cpu": 1000, "gpu": 4000}[options.device]
    options.scale = options.scale if options.scale is not None else {"cpu": 15, "gpu": 18}[options.device]
    try:
        options.builds = [built(given, options.scratch) for given in (options.old, options.new)]
    except gmatch.GmatchError as error:
        parser.error(str(error))
    return options


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    print(f"OLD {options.builds[0]}\nNEW {options.builds[1]}\n", flush=True)
    text, is_well = table(run(options))
    print(text)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
