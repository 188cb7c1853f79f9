"""Times solvers side by side: an answer is checked before it is timed, and a peer that takes too long is stopped.

- `timed` makes one `Timing` from an iterator of calls, `clocked(solve)` for a solver of this process. It refuses a
  wrong answer, and stops repeating a solver that is slower than a limit.
- `timed_peer` does the same with calls made in a `SideProcess`, which is ended when a call outlasts the limit. That one
  is spawned, never forked, so it may stand beside CUDA and threads. A solver on the GPU of this process is never
  killed, for that can harm the GPU's other users: `Allowance` skips what would take too long instead.
- `Record` writes the timings to a JSON file after each, `load` reads them back, `markdown` makes a table of them.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Seconds that a side process may take to start, and to load and convert a problem.
PREPARATION = 120
# A solver's time grows at most like this power of the size, nearly always.
GROWTH = 3

Calls = Iterator[tuple[float, Any]]


@dataclass(frozen=True)
class Timing:
    """Seconds of one solver on one instance; None if there are none, and then `facts` say why.

    ``facts["limit"]``: it did not end within so many seconds, or a smaller problem of its kind did not.
    ``facts["unaffordable"]``: too little was left of the budget. ``facts["failed"]``: its error.
    ``facts["wrong"]``: how its answer, or that to a smaller problem of its kind, was refused.
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
    """The first call is checked and not timed: it also compiles and warms up. But beyond the limit it is the only one.

    `describe` adds facts about the answer of the median call, so that times of steps add up to it.
    """
    first = next(calls)
    try:
        check(first[1])
    except Exception as error:
        error.add_note(f"{solver} on {instance}: refused before it was timed")
        raise
    runs = [first] if first[0] > limit else []
    while not runs or len(runs) < repeats and sum(seconds for seconds, _ in runs) <= limit:
        runs.append(next(calls))
    runs.sort(key=lambda run: run[0])
    # Of an even number the lower: a call that was made.
    median, found = runs[(len(runs) - 1) // 2]
    facts = {**facts, "calls": len(runs), **(describe(found) if describe else {})}
    return Timing(instance, solver, median, runs[0][0], runs[-1][0], facts)


class SideProcess:
    """A process beside this one that runs generators of calls, each item within a limit, or else is ended.

    Spawned when first needed, and again after it was ended.
    """

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None

    def calls(self, make: Callable[..., Calls], *arguments: Any, limit: float) -> Calls:
        """The items of ``make(*arguments)``, from there. The first of them only says that all is prepared.

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
    side: SideProcess,
    make: Callable[..., Calls],
    arguments: Iterable[Any],
    check: Callable[[Any], Any],
    repeats: int,
    limit: float,
    facts: dict[str, Any] | None = None,
) -> Timing:
    """As `timed`, for the calls that ``make(*arguments)`` yields in the side process after an item of its own."""
    facts = facts or {}
    try:
        return timed(instance, solver, side.calls(make, *arguments, limit=limit), check, repeats, facts, limit)
    except TimeoutError:
        return Timing.none(instance, solver, {**facts, "limit": limit})
    except (RuntimeError, ChildProcessError) as error:
        return Timing.none(instance, solver, {**facts, "failed": str(error)})


@dataclass
class Allowance:
    """Which cells of a table may still be measured: for solvers that cannot be stopped once they run.

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
        rows.append([instance, *(_cell(row.get(solver), base, solver == reference) for solver in solvers)])
    return markdown_table(["instance", *solvers], rows)


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(timing: Timing | None, base: float | None, is_reference: bool) -> str:
    if timing is None:
        return ""
    if timing.median is None:
        return reason(timing)
    ratio = "" if is_reference or not base else f" ({timing.median / base:.1f} x)"
    return f"{timing.median * 1e3:.3g}{ratio}"


def reason(timing: Timing) -> str:
    """Why a cell has no time, in a word or two."""
    if "limit" in timing.facts:
        return f"> {timing.facts['limit']:g} s"
    if "unaffordable" in timing.facts:
        return "no time left"
    return "wrong" if "wrong" in timing.facts else "failed"


class Record:
    """Timings, and the file that has them as soon as they are there."""

    def __init__(self, path: Path | None, machine: dict[str, Any], timings: Iterable[Timing] = ()) -> None:
        self.path = path
        self.machine = {"platform": platform.platform(), "python": platform.python_version(), **machine}
        self.timings = list(timings)

    def add(self, timing: Timing) -> None:
        """A new timing of the same cell takes the place of the old one."""
        cell = timing.instance, timing.solver
        self.timings = [old for old in self.timings if (old.instance, old.solver) != cell] + [timing]
        if self.path:
            save(self.path, self.timings, self.machine)

    def measured(self, instance: str, solver: str) -> Timing | None:
        cell = instance, solver
        return next((old for old in self.timings if (old.instance, old.solver) == cell and old.median), None)


def save(path: Path, timings: list[Timing], machine: dict[str, Any]) -> None:
    """Whoever reads the file meanwhile, or stops this process, finds it whole."""
    machine = {"platform": platform.platform(), "python": platform.python_version(), **machine}
    text = json.dumps({"machine": machine, "timings": [asdict(timing) for timing in timings]}, indent=1) + "\n"
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def load(path: Path) -> tuple[dict[str, Any], list[Timing]]:
    """The machine and the timings of a file."""
    saved = json.loads(path.read_text())
    return saved["machine"], [Timing(**timing) for timing in saved["timings"]]
