"""What the solvers of this folder find, on every rank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

# Of all solvers, as in `stats` of one process. What the ranks read of their parts is not counted.
COUNTED = "phases", "levels", "dual_steps"


@dataclass
class Found:
    """For the problem of a `Part`; the same on all ranks.

    Attributes
    ----------
    row_match : int32 array, shape (n,)
        The column of each row. Where forbidden pairs leave some free, there is a witness.
    u, v : int64 or float64 arrays, shapes (n,) and (m,)
    witness : (bool array, bool array) or None
        Rows and columns of the problem: these rows may only be matched with these columns, which are fewer.
    counts : Counter
        Of steps and rounds, by name.
    seconds : dict
        That this rank has worked, by step, where a method tells steps apart; not the same on all ranks.
    reason : str
        Why another method went on than the one that was asked for; empty if none did.
    """

    row_match: Any
    u: Any
    v: Any
    witness: tuple[Any, Any] | None = None
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COUNTED, 0)))
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    reason: str = ""

    def clocked(self, step: str, work: Callable[[], Any]) -> Callable[[], Any]:
        """The same work, whose seconds are counted."""

        def done() -> Any:
            with self.clock(step):
                return work()

        return done

    @contextmanager
    def clock(self, step: str) -> Iterator[None]:
        """Counts the seconds of what is done meanwhile."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[step] += perf_counter() - start
