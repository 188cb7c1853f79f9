"""What the solvers of this folder find, on every rank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

# Counters of all solvers, as in `stats` of one process. Ranks do not count what they read of their parts.
COUNTED = "phases", "levels", "dual_steps"


@dataclass
class Found:
    """A solution of the problem of a `Part`; the same on all ranks.

    Attributes
    ----------
    row_match : int32 array, shape (n,)
        The column of each row, or -1. If forbidden pairs leave a row free, there is a witness.
    u, v : int64 or float64 arrays, shapes (n,) and (m,)
    witness : (bool array, bool array) or None
        Rows and columns of the problem. The rows may only be matched with the columns, which are fewer.
    counts : Counter
        Numbers of steps and rounds, by name.
    seconds : dict
        How long this rank has worked, by step, if the method tells steps apart; differs between ranks.
    trace : list of str
        The steps of a core, in their order: see csrc/core/plan.cuh.
    reason : str
        Why another method than the one asked for went on; empty if none did.
    """

    row_match: Any
    u: Any
    v: Any
    witness: tuple[Any, Any] | None = None
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COUNTED, 0)))
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    trace: list[str] = field(default_factory=list)
    reason: str = ""

    def stats(self) -> dict[str, Any]:
        """The counts, and the trace of a core."""
        return {**self.counts, "trace": self.trace} if self.trace else {**self.counts}

    def clocked(self, step: str, work: Callable[[], Any]) -> Callable[[], Any]:
        """A function that does the work and counts its seconds."""

        def done() -> Any:
            with self.clock(step):
                return work()

        return done

    @contextmanager
    def clock(self, step: str) -> Iterator[None]:
        """Counts the seconds of the `with` block."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[step] += perf_counter() - start
