"""Times solvers side by side: an answer is checked before it is timed, and a peer that takes too long is stopped."""

from __future__ import annotations

import json
import math
import multiprocessing
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Solve = Callable[[], float]


@dataclass(frozen=True)
class Timing:
    """Seconds of one solver on one instance; None if it did not end within the limit."""

    instance: str
    solver: str
    median: float | None
    fastest: float | None
    slowest: float | None
    facts: dict[str, Any]


def timed(instance: str, solver: str, solve: Solve, expected: float, repeats: int, facts: dict[str, Any]) -> Timing:
    """The first call is checked and not timed: it also compiles and warms up."""
    found = solve()
    if not math.isclose(found, expected, rel_tol=1e-6):  # peers may sum floats in another order, or in float32
        raise AssertionError(f"{solver} on {instance}: expected {expected}, got {found}")
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        solve()
        seconds.append(time.perf_counter() - begin)
    return Timing(instance, solver, statistics.median(seconds), min(seconds), max(seconds), facts)


def timed_peer(instance: str, solver: str, solve: Solve, expected: float, repeats: int, limit: float) -> Timing:
    """As `timed`, in a process of its own that is ended after `limit` seconds."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=lambda: sender.send(timed(instance, solver, solve, expected, repeats, {})), daemon=True
    )
    process.start()
    ended = receiver.poll(limit * (repeats + 1))
    timing = receiver.recv() if ended else Timing(instance, solver, None, None, None, {"limit": limit})
    process.kill()
    process.join()
    return timing


def markdown(timings: list[Timing], reference: str) -> str:
    """A table of milliseconds, and how many times the reference each solver took."""
    solvers = list(dict.fromkeys(timing.solver for timing in timings))
    lines = ["| instance | " + " | ".join(solvers) + " |", "|---" * (len(solvers) + 1) + "|"]
    for instance in dict.fromkeys(timing.instance for timing in timings):
        row = {timing.solver: timing for timing in timings if timing.instance == instance}
        base = row[reference].median if reference in row else None
        cells = [_cell(row.get(solver), base, solver == reference) for solver in solvers]
        lines.append(f"| {instance} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(timing: Timing | None, base: float | None, is_reference: bool) -> str:
    if timing is None:
        return ""
    if timing.median is None:
        return f"> {timing.facts['limit']:g} s"
    ratio = "" if is_reference or not base else f" ({timing.median / base:.1f} x)"
    return f"{timing.median * 1e3:.3g}{ratio}"


def save(path: Path, timings: list[Timing], machine: dict[str, Any]) -> None:
    machine = {"platform": platform.platform(), "python": platform.python_version(), **machine}
    path.write_text(
        json.dumps({"machine": machine, "timings": [asdict(timing) for timing in timings]}, indent=1) + "\n"
    )
