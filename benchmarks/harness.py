"""Times solvers side by side: an answer is checked before it is timed, and a peer that takes too long is stopped.

- `timed` makes one `Timing` from an iterator of calls, `clocked(solve)` for a solver of this process. It refuses a
  wrong answer, and stops repeating a solver that is slower than a limit.
- `timed_peer` does the same with calls of a `SideProcess`, which is ended when a call outlasts the limit. The process
  is spawned, never forked, so it may run beside CUDA and threads. A solver on the GPU of this process is never killed,
  since that can harm the GPU's other users. Instead `Allowance` skips calls that would take too long.
- `Record` writes the timings to a JSON file after each, `load` reads them back, `markdown` makes a table of them.
- `Session` is all of this together, for a benchmark of many cells. `add_arguments` adds its options.
- `parsed` refuses arguments that cannot work, before any work starts: numbers by `within`, devices, files, folders.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Protocol

import gmatch
from gmatch import cuda
from gmatch.devices.cpu import available_threads

# Seconds that a side process may take to start, and to load and convert a problem.
PREPARATION = 120
# A solver's time grows at most like this power of the size, with few exceptions.
GROWTH = 3
# The limits that can be asked for, in seconds: the system cannot wait for a month.
SHORTEST_LIMIT, LONGEST_LIMIT = 0.001, 1_000_000

Calls = Iterator[tuple[float, Any]]


@dataclass(frozen=True)
class Timing:
    """Seconds of one solver on one instance; None if there are none, and then `facts` say why.

    ``facts["limit"]``: the seconds within which it, or a smaller problem of its kind, did not end.
    ``facts["unaffordable"]``: the rest of the budget was too short. ``facts["failed"]``: its error.
    ``facts["wrong"]``: why its answer, or its answer to a smaller problem of its kind, was refused.
    """

    instance: str
    solver: str
    median: float | None
    fastest: float | None
    slowest: float | None
    facts: dict[str, Any]

    @classmethod
    def none(cls, instance: str, solver: str, facts: dict[str, Any]) -> Timing:
        return cls(instance, solver, None, None, None, facts)


def clocked(solve: Callable[[], Any]) -> Calls:
    """Seconds and answer of one call after another."""
    while True:
        begin = time.perf_counter()
        found = solve()
        yield time.perf_counter() - begin, found


def equals(expected: float) -> Callable[[float], None]:
    """The check that a number is the one expected."""

    def check(found: float) -> None:
        if not math.isclose(found, expected, rel_tol=1e-6):  # peers may sum floats in another order, or in float32
            raise AssertionError(f"expected {expected}, got {found}")

    return check


def _described(
    call: tuple[float, Any], describe: Callable[[Any], dict[str, Any]] | None
) -> tuple[float, dict[str, Any]]:
    seconds, found = call
    return seconds, describe(found) if describe else {}


def timed(
    instance: str,
    solver: str,
    calls: Calls,
    check: Callable[[Any], Any],
    repeats: int,
    facts: dict[str, Any],
    limit: float = math.inf,
    describe: Callable[[Any], dict[str, Any]] | None = None,
) -> Timing:
    """Times calls. The first call is checked and not timed, since it also compiles and warms up.

    If the first call takes longer than the limit, it is timed, and is the only call.

    `describe` adds facts about the answer of the median call, so that times of steps add up to its time.
    """
    first = next(calls)
    try:
        check(first[1])
    except Exception as error:
        error.add_note(f"{solver} on {instance}: refused before it was timed")
        raise
    # Answers are not kept: the next call may use their memory, as when an answer replaces the one before.
    runs = [_described(first, describe)] if first[0] > limit else []
    del first
    while not runs or len(runs) < repeats and sum(seconds for seconds, _ in runs) <= limit:
        runs.append(_described(next(calls), describe))
    runs.sort(key=lambda run: run[0])
    # The lower one of an even number, which is a real call.
    median, about = runs[(len(runs) - 1) // 2]
    facts = {**facts, "calls": len(runs), **about}
    return Timing(instance, solver, median, runs[0][0], runs[-1][0], facts)


class SideProcess:
    """A process beside this one that runs generators of calls. It is ended if an item takes longer than a limit.

    It is spawned when first needed, and again after it was ended.
    """

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None

    def calls(self, make: Callable[..., Calls], *arguments: Any, limit: float) -> Calls:
        """The items of ``make(*arguments)``, made in the side process. The first item only says that all is prepared.

        `make` is a function of a module, its arguments are pickled. Raises TimeoutError, or what `make` raises there.
        """
        if self._process is None:
            self._start()
        self._ask((make, arguments), PREPARATION)
        while True:
            yield self._ask(True, limit)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def __enter__(self) -> SideProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def _ask(self, request: Any, limit: float) -> Any:
        try:
            self._connection.send(request)
            if not self._connection.poll(limit):
                self.end()
                raise TimeoutError(f"no answer within {limit:g} s")
            ended, result = self._connection.recv()
        except (EOFError, ConnectionError):
            self.end()
            raise ChildProcessError("the process of the peers died: out of memory, perhaps") from None
        if ended:
            raise result
        return result


def _serve(connection: Connection) -> None:
    """The side process: a request is a generator and its arguments, or True for the next item of the last one."""
    calls: Any = iter(())
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        try:
            if request is True:
                connection.send((False, next(calls)))
            else:
                make, arguments = request
                calls = make(*arguments)
                connection.send((False, next(calls)))
        except Exception as error:
            connection.send((True, RuntimeError(f"{type(error).__name__}: {error}")))


def timed_peer(
    instance: str,
    solver: str,
    calls: Calls,
    check: Callable[[Any], Any],
    repeats: int,
    limit: float,
    facts: dict[str, Any] | None = None,
) -> Timing:
    """As `timed`, for calls in another process. If the process is ended or dies, the cell has no time."""
    facts = facts or {}
    try:
        return timed(instance, solver, calls, check, repeats, facts, limit)
    except TimeoutError:
        return Timing.none(instance, solver, {**facts, "limit": limit})
    except (RuntimeError, ChildProcessError) as error:
        return Timing.none(instance, solver, {**facts, "failed": str(error)})


@dataclass
class Allowance:
    """Which cells of a table may still be measured, for solvers that cannot be stopped once they run.

    A series is one solver on problems of one kind, in increasing size.
    """

    limit: float
    budget: float = math.inf
    begin: float = field(default_factory=time.monotonic)
    last: dict[Any, tuple[int, Timing]] = field(default_factory=dict)

    def left(self) -> float:
        return self.budget - (time.monotonic() - self.begin)

    def refusal(self, series: Any, size: int) -> dict[str, Any] | None:
        """Why not to measure a cell, as facts of its `Timing`."""
        last_size, last = self.last.get(series, (size, None))
        seconds = 0.0
        if last is not None and size > last_size:
            if last.median is None:
                return {name: last.facts[name] for name in ("limit", "failed", "wrong") if name in last.facts}
            if last.median > self.limit:
                return {"limit": self.limit}
            # One call to check and one to time, at least.
            seconds = 2 * last.median * (size / last_size) ** GROWTH
        return {"unaffordable": self.budget} if seconds >= self.left() else None

    def note(self, series: Any, size: int, timing: Timing) -> None:
        """Remember how the largest problem of a series went, unless it was not tried."""
        if "unaffordable" not in timing.facts:
            self.last[series] = (size, timing)


def markdown(timings: list[Timing], reference: str) -> str:
    """A table of milliseconds, and how many times the reference each solver took."""
    solvers = list(dict.fromkeys(timing.solver for timing in timings))
    rows = []
    for instance in dict.fromkeys(timing.instance for timing in timings):
        row = {timing.solver: timing for timing in timings if timing.instance == instance}
        base = row[reference].median if reference in row else None
        cells = (ratio_cell(row.get(solver), None if solver == reference else base) for solver in solvers)
        rows.append([instance, *cells])
    return markdown_table(["instance", *solvers], rows)


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ratio_cell(timing: Timing | None, base: float | None = None) -> str:
    """Milliseconds, and their multiple of the base, if there is a base."""
    if timing is None:
        return ""
    if timing.median is None:
        return reason(timing)
    ratio = f" ({number(timing.median / base)} x)" if base else ""
    return f"{number(timing.median * 1e3)}{ratio}"


def number(value: float | None) -> str:
    """Three significant digits, without an exponent."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def reason(timing: Timing) -> str:
    """Why a cell has no time, in a word or two."""
    if "limit" in timing.facts:
        return f"> {timing.facts['limit']:g} s"
    if "unaffordable" in timing.facts:
        return "no time left"
    return "wrong" if "wrong" in timing.facts else "failed"


class Record:
    """Timings, and a file that is written after each of them."""

    def __init__(self, path: Path | None, machine: dict[str, Any], timings: Iterable[Timing] = ()) -> None:
        self.path = path
        self.machine = {"platform": platform.platform(), "python": platform.python_version(), **machine}
        self._cells = {(timing.instance, timing.solver): timing for timing in timings}
        # Each cell is made text once: thousands of cells would otherwise all be made text again for each new one.
        self._lines = {cell: json.dumps(asdict(timing)) for cell, timing in self._cells.items()}

    @property
    def timings(self) -> list[Timing]:
        return list(self._cells.values())

    def add(self, timing: Timing) -> None:
        """A new timing of the same cell takes the place of the old one."""
        cell = timing.instance, timing.solver
        self._cells[cell], self._lines[cell] = timing, json.dumps(asdict(timing))
        if self.path:
            self._save(self.path)

    def measured(self, instance: str, solver: str) -> Timing | None:
        found = self._cells.get((instance, solver))
        return found if found and found.median else None

    def _save(self, path: Path) -> None:
        """Writes the file, which is whole at any time, also if this process is stopped."""
        timings = ",\n".join(self._lines.values())
        part = path.with_name(path.name + ".part")
        part.write_text(f'{{"machine": {json.dumps(self.machine)},\n"timings": [\n{timings}\n]}}\n')
        part.replace(path)


def load(path: Path, fact: str | None = None) -> tuple[dict[str, Any], list[Timing]]:
    """The machine and the timings of a file. Each timing must have the fact by which a benchmark knows its files."""
    try:
        saved = json.loads(path.read_text())
        machine, timings = dict(saved["machine"]), [Timing(**timing) for timing in saved["timings"]]
        # Read here, since a damaged file may lack them.
        for facts, name in ((machine, "device"), *((timing.facts, fact) for timing in timings if fact)):
            facts[name]
    except OSError as error:
        problem = error.strerror
    except (ValueError, TypeError, KeyError) as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        return machine, timings
    raise gmatch.DataError(
        f"expected a JSON file that this program wrote with --output, got {path}: {problem}; give another one"
    )


def load_all(paths: Iterable[Path], fact: str | None = None) -> tuple[str, list[Timing]]:
    """The devices and the timings of files."""
    loaded = [load(path, fact) for path in paths]
    devices = " and ".join(dict.fromkeys(str(machine["device"]) for machine, _ in loaded))
    return devices, [timing for _, timings in loaded for timing in timings]


def exit_status(timings: list[Timing]) -> int:
    """1 if an answer was wrong, or nothing was measured."""
    wrong = any("wrong" in timing.facts for timing in timings)
    return 1 if wrong or not any(timing.median for timing in timings) else 0


def hash_of_files(folder: Path) -> str:
    """A hash of the name, the place and the content of every file below a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def machine_of(device: str) -> dict[str, Any]:
    name = cuda.devices()[0] if device == "gpu" else f"{available_threads()} CPU threads"
    return {"device": name, "gmatch": gmatch.__version__, "load": os.getloadavg()}


def begun(path: Path | None, machine: dict[str, Any], resume: bool) -> Record:
    """A new record; with `resume` the record of the file, which must be of this machine."""
    if not (resume and path and path.exists()):
        return Record(path, machine)
    old, timings = load(path)
    if old["device"] != machine["device"]:
        raise SystemExit(f"{path} was measured on {old['device']}, this is {machine['device']}")
    return Record(path, machine, timings)


class Instance(Protocol):
    """A problem to be solved. Instances of one kind are a series of increasing size."""

    @property
    def name(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def kind(self) -> Any: ...
    @property
    def facts(self) -> dict[str, Any]: ...


class Session:
    """One run of a benchmark: its budget and its results."""

    def __init__(self, options: argparse.Namespace, record: Record, side: SideProcess) -> None:
        self.options, self.record, self.side = options, record, side
        self.allowance = Allowance(options.limit, options.budget)
        self.told: set[str] = set()

    def admits(self, instance: Instance, solver: str) -> bool:
        """Whether a cell is to be measured: not if it is there already, or is refused, which is recorded."""
        series = solver, instance.kind
        old = self.record.measured(instance.name, solver)
        if old:
            self.allowance.note(series, instance.n, old)
            return False
        refusal = self.allowance.refusal(series, instance.n)
        if refusal:
            self.add(instance, Timing.none(instance.name, solver, {**instance.facts, **refusal}))
        return not refusal

    def here(self, instance: Instance, solver: str, solve: Any, check: Any, describe: Any = None) -> Timing:
        """Measures a cell in this process. A failure is recorded as a cell, and the other cells are still measured."""
        options = self.options
        try:
            return timed(
                instance.name, solver, clocked(solve), check, options.repeats, instance.facts, options.limit, describe
            )
        except (AssertionError, gmatch.CertificateError) as error:
            return Timing.none(instance.name, solver, {**instance.facts, "wrong": str(error)})
        except (gmatch.GmatchError, MemoryError, RuntimeError, Warning) as error:  # a GPU's errors, a peer's warning
            return Timing.none(instance.name, solver, {**instance.facts, "failed": f"{type(error).__name__}: {error}"})

    def beside(self, instance: Instance, peer: str, calls: Calls, check: Any) -> Timing:
        """Measures a cell in another process."""
        options = self.options
        try:
            return timed_peer(instance.name, peer, calls, check, options.repeats, options.limit, instance.facts)
        except AssertionError as error:
            return Timing.none(instance.name, peer, {**instance.facts, "wrong": str(error)})

    def add(self, instance: Instance, timing: Timing) -> None:
        self.record.add(timing)
        self.allowance.note((timing.solver, instance.kind), instance.n, timing)
        seconds = reason(timing) if timing.median is None else f"{timing.median * 1e3:.3g} ms"
        print(f"{timing.instance}, {timing.solver}: {seconds} {trouble(timing)}".rstrip(), flush=True)

    def tell(self, what: str, problem: str | None) -> bool:
        """Prints once why something is left out. Returns whether it is."""
        if problem and what not in self.told:
            self.told.add(what)
            print(f"{what}: left out: {problem}", flush=True)
        return bool(problem)


def trouble(timing: Timing) -> str:
    """The error of a cell that has one."""
    return str(timing.facts.get("failed") or timing.facts.get("wrong") or "")


def within(kind: type[int] | type[float], least: float, most: float = math.inf) -> Callable[[str], float]:
    """The type of an argument that is a number, from the least to the most."""
    bounds = f"from {least:,} to {most:,}" if most < math.inf else f"of at least {least:,}"

    def convert(text: str) -> float:
        try:
            found = kind(text)
        except ValueError:
            found = math.nan
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"expected a{' whole' * (kind is int)} number {bounds}, got {text!r}")
        return found

    return convert


POSITIVE = within(int, 1)
LIMIT = within(float, SHORTEST_LIMIT, LONGEST_LIMIT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a `Session` and of its record."""
    add = parser.add_argument
    add("--device", choices=["cpu", "gpu"], default="cpu")
    add("--repeats", type=POSITIVE, default=3, help="timed calls of each cell, of which the median counts")
    add("--limit", type=LIMIT, default=10, help="seconds that a call may take, or no larger problem is tried")
    add("--budget", type=within(float, 0), default=math.inf, help="seconds that all may take")
    add("--output", type=Path, help="JSON file to write")
    add("--resume", action="store_true", help="keep what the JSON file has")
    add("--read", type=Path, nargs="+", help="JSON files to show, instead of measuring")
    add("--plots", type=Path, help="folder for pictures, as PNG and SVG")


def parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None, fact: str | None = None) -> argparse.Namespace:
    """The options, if they can work: the device is there, files can be read or written, also the files of `load`."""
    options = parser.parse_args(argv)
    # No benchmark has all of them.
    device, output, resume, read, plots = (
        getattr(options, name, None) for name in ("device", "output", "resume", "read", "plots")
    )
    if resume and not output:
        parser.error("--resume needs --output FILE")
    try:
        if read:
            load_all(read, fact)
        elif device == "gpu":
            cuda.require()
        if output and not read:
            check_output(output)
            if resume and output.exists():
                load(output, fact)
        if plots:
            check_plots(plots)
    except gmatch.GmatchError as error:
        parser.error(str(error))
    return options


def check_output(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise gmatch.InvalidInput(f"--output: expected a file to write, got {path}, which is none; give another path")
    make_folder("--output", path.parent)


def check_plots(folder: Path) -> None:
    if not find_spec("matplotlib"):
        raise gmatch.InvalidInput(
            "--plots needs matplotlib, which is not installed; pip install 'gmatch-bipartite[plot]'"
        )
    make_folder("--plots", folder)


def make_folder(option: str, folder: Path) -> None:
    """Makes a folder if it is missing, and tries to write a file in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        problem = f"expected a folder to write to, got {folder}: {error.strerror}; give another path"
        raise gmatch.InvalidInput(f"{option}: {problem}") from None
