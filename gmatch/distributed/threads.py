"""Ranks as threads of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import cuda
from ..arrays import device_of, namespace
from ..errors import RankLost

REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum}


class Table:
    """Where threads meet: each lays something down. Once all have, each takes what all laid down."""

    def __init__(self, size: int) -> None:
        self.condition = threading.Condition()
        self.laid: list[Any] = [None] * size
        self.missing = size
        self.turn = 0
        self.taken: list[Any] = []
        self.at_work = [False] * size
        self.left = ""  # why nobody waits any more

    def meet(self, rank: int, thing: Any, patience: float) -> list[Any]:
        with self.condition:
            self.laid[rank] = thing
            self.missing -= 1
            if self.missing == 0:
                self._serve()
                return self.taken
            self._wait(rank, patience)
            return self.taken

    def _serve(self) -> None:
        self.taken = list(self.laid)
        self.missing = len(self.laid)
        self.turn += 1
        self.condition.notify_all()

    def _wait(self, rank: int, patience: float) -> None:
        """Waits until all have come. Patience counts silence: it begins anew while somebody works."""
        turn, was_at_work = self.turn, self.at_work[rank]
        self.at_work[rank] = False
        silent_since = time.monotonic()
        try:
            while self.turn == turn:
                if self.left:
                    raise RankLost(f"rank {rank}: another rank ended ({self.left}) while this one waited for it")
                if any(self.at_work):
                    silent_since = time.monotonic()
                left = patience - (time.monotonic() - silent_since)
                if left <= 0:
                    raise RankLost(f"rank {rank} waited {patience:g} s for the others, and some did not come")
                self.condition.wait(min(left, 0.5))
        finally:
            self.at_work[rank] = was_at_work

    def leave(self, why: str) -> None:
        """Nobody waits for a rank that has ended."""
        with self.condition:
            self.left = self.left or why
            self.condition.notify_all()


class Seat:
    """The place of one rank at a table: see `Line`. A rank lays down copies, and goes on with its own arrays.

    Arrays on GPUs are copied by the rank that takes them, from GPU to GPU.
    """

    def __init__(self, rank: int, table: Table) -> None:
        self.rank, self.size = rank, len(table.laid)
        self._table = table

    @property
    def working(self) -> bool:
        return self._table.at_work[self.rank]

    @working.setter
    def working(self, working: bool) -> None:
        self._table.at_work[self.rank] = working

    def exchange(self, note: Any, patience: float) -> list[Any]:
        return list(self._table.meet(self.rank, note, patience))

    def broadcast(self, array: Any, root: int, patience: float) -> None:
        parts = self.exchange(array.copy() if self.rank == root else None, patience)
        array[...] = parts[root]

    def all_reduce(self, array: Any, op: str, patience: float) -> None:
        array[...] = REDUCE[op].reduce(np.stack(self.exchange(array.copy(), patience)))

    def all_gather(self, array: Any, patience: float) -> Any:
        return np.concatenate(self.exchange(array.copy(), patience)).reshape(self.size, len(array))

    def gather(self, part: Any, into: Any, lengths: list[int], root: int, patience: float) -> None:
        on_gpu = device_of(part) == "gpu"
        own = part.copy()
        if on_gpu:
            cuda.finish_work()  # others read it in streams of their own
        parts = self.exchange(own, patience)
        if self.rank == root:
            here = [each.copy() for each in parts if len(each)] if on_gpu else parts
            if len(into):
                into[...] = namespace(part).concatenate(here)
            if on_gpu:
                cuda.finish_work()  # others may use the memory of their parts again
        if on_gpu:
            self.exchange(None, patience)


def run_threads(size: int, work: Callable[[Seat], Any]) -> list[Any]:
    """What `work` returns for each rank; rank 0 is the calling thread, which Ctrl-C interrupts.

    Raises
    ------
    BaseException
        What the lowest rank raised, except `RankLost` where another rank ended before.
    """
    table = Table(size)
    returned: list[Any] = [None] * size
    raised: list[BaseException | None] = [None] * size

    def one(rank: int) -> None:
        try:
            returned[rank] = work(Seat(rank, table))
        except BaseException as error:
            raised[rank] = error
            table.leave(f"{type(error).__name__} on rank {rank}")

    threads = [threading.Thread(target=one, args=(rank,), name=f"gmatch rank {rank}") for rank in range(1, size)]
    for thread in threads:
        thread.start()
    one(0)
    for thread in threads:
        thread.join()
    errors = sorted((error for error in raised if error is not None), key=lambda error: isinstance(error, RankLost))
    if errors:
        raise errors[0]
    return returned
