"""What ranks say to each other: six verbs, which every rank calls in the same order."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any, Literal, Protocol

import numpy as np

from ..arrays import namespace
from ..errors import InvalidInput
from .mpi import line_of
from .threads import Seat, Table

Reduction = Literal["sum", "min", "max"]
ROOT = 0
# Seconds of silence after which `RankLost` is raised, unless the caller sets another number.
PATIENCE = 600.0


class Line(Protocol):
    """What carries the verbs: `Seat` between threads of one process, `MpiLine` between processes.

    No call waits longer than `patience` seconds for a rank that neither comes nor works in gmatch: it raises
    `RankLost`. Arrays are contiguous.
    """

    rank: int
    size: int
    working: bool  # others have patience with a rank that works

    def exchange(self, note: Any, patience: float) -> list[Any]: ...
    def broadcast(self, array: Any, root: int, patience: float) -> None: ...
    def all_reduce(self, array: Any, op: Reduction, patience: float) -> None: ...
    def all_gather(self, array: Any, patience: float) -> Any: ...
    def gather(self, part: Any, into: Any, lengths: list[int], root: int, patience: float) -> None: ...


class Ranks:
    """The ranks that hold the rows of a matrix together, for ``gmatch.lap(block, comm=...)``.

    Parameters
    ----------
    comm : mpi4py communicator
        Of all ranks that hold rows, an intracommunicator. It is duplicated once; nothing is sent on itself.
    patience : float
        Seconds of silence after which a rank that does not come is taken for lost. A rank that works in gmatch is not
        silent: it sends a sign every few seconds, whatever its search takes.

    Attributes
    ----------
    rank, size : int
        This rank, and how many there are.
    meetings, bytes_met, seconds_met : int, int, float
        How many verbs were called, the bytes of the arrays in them, and the seconds they took: mostly waiting.

    Raises
    ------
    InvalidInput
        If `comm` is no intracommunicator of mpi4py, or `patience` is no positive number.
    BackendUnavailable
        If mpi4py is not installed, or MPI was started without MPI_THREAD_MULTIPLE.
    RankLost
        If another rank does not come.

    Notes
    -----
    All ranks must make the same calls with the same communicator in the same order, as for any collective of MPI.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> assignment = gmatch.lap(block, comm=gmatch.Ranks(MPI.COMM_WORLD, patience=60))  # doctest: +SKIP
    >>> gmatch.Ranks(None, patience=0)
    Traceback (most recent call last):
        ...
    gmatch.errors.InvalidInput: patience must be a positive number of seconds; got 0
    """

    def __init__(self, comm: Any, *, patience: float = PATIENCE) -> None:
        if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 < patience < math.inf:
            raise InvalidInput(f"patience must be a positive number of seconds; got {patience!r}")
        self.patience = float(patience)
        self._line: Line = comm if isinstance(comm, Seat) else line_of(comm, self.patience)
        self.rank, self.size = self._line.rank, self._line.size
        self.meetings = self.bytes_met = 0
        self.seconds_met = 0.0

    def __repr__(self) -> str:
        return f"<Ranks: rank {self.rank} of {self.size}, patience {self.patience:g} s>"

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While this rank works in gmatch: others that wait for it have patience."""
        before, self._line.working = self._line.working, True
        try:
            yield
        finally:
            self._line.working = before

    @contextmanager
    def _meeting(self, size: int) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.meetings += 1
        self.bytes_met += size
        self.seconds_met += time.perf_counter() - start

    def agree(self, note: Any) -> list[Any]:
        """The notes of all ranks, on all ranks: small things that pickle.

        Errors meet here: an exception as a note is raised on every rank, with the number of its rank; of several that
        of the lowest rank.
        """
        with self._meeting(0):
            notes = self._line.exchange(_portable(note) if isinstance(note, Exception) else note, self.patience)
        for rank, other in enumerate(notes):
            if isinstance(other, Exception):
                raise _named(other, rank) if self.size > 1 else other from note if rank == self.rank else None
        return notes

    def done_by_all(self, work: Callable[[], Any]) -> Any:
        """What `work` returns here, once it is done on all ranks; an error of one rank is raised by all."""
        try:
            done, error = work(), None
        except Exception as raised:
            done, error = None, raised
        self.agree(error)
        return done

    def done_before_agreeing(self, work: Callable[[], Any]) -> Any:
        """What `work` returns here. An error is raised by all in their next meeting, which must be `agree`."""
        try:
            return work()
        except Exception as error:
            self.agree(error)
            raise

    def broadcast(self, array: Any, root: int = ROOT) -> None:
        """Copies the root's array into the array of every rank: in place, of equal shapes and types."""
        with self._meeting(array.nbytes):
            self._line.broadcast(array, root, self.patience)

    def all_reduce(self, array: Any, op: Reduction) -> None:
        """Sums, minima or maxima over all ranks, entry by entry: in place, on all ranks."""
        with self._meeting(array.nbytes):
            self._line.all_reduce(array, op, self.patience)

    def all_gather(self, array: Any) -> Any:
        """The arrays of all ranks, of the same length and type everywhere, as rows of one: on all ranks."""
        with self._meeting(array.nbytes):
            return self._line.all_gather(array, self.patience)

    def gather_rows(self, part: Any, into: Any, starts: list[int]) -> None:
        """The part of rank r becomes ``into[starts[r]:starts[r + 1]]`` on the root; elsewhere `into` is not touched."""
        lengths = [end - start for start, end in pairwise(starts)]
        with self._meeting(part.nbytes):
            self._line.gather(np.ascontiguousarray(part), into, lengths, ROOT, self.patience)

    def gather_list(self, part: Any, root: int = ROOT) -> Any:
        """One-dimensional parts of any lengths, one after the other, on one rank; None on the others.

        All parts lie on hosts, or all on GPUs. Parts on GPUs go to the GPU that is current on the rank.
        """
        return self.gather_lengths(part, self.agree(len(part)), root)

    def gather_lengths(self, part: Any, lengths: list[int], root: int = ROOT) -> Any:
        """As `gather_list`, if all ranks know the lengths."""
        with self._meeting(part.nbytes):
            xp = namespace(part)
            into = xp.empty(sum(lengths) if self.rank == root else 0, part.dtype)
            self._line.gather(xp.ascontiguousarray(part), into, lengths, root, self.patience)
        return into if self.rank == root else None


def one_rank() -> Ranks:
    """A rank that meets no other."""
    return Ranks(Seat(0, Table(1)))


def reduced(ranks: Ranks, op: Reduction, neutral: Any, work: Callable[[], Any]) -> Any:
    """What `work` returns on all ranks, reduced. An error of one rank is raised by all, without a meeting for errors.

    `neutral` is an array of the shape and type that `work` returns. A rank that failed hands it in instead.
    """
    buffer = np.append(neutral, np.zeros(1, neutral.dtype))
    error = None
    try:
        buffer[:-1] = work()
    except Exception as raised:
        error = raised
        buffer[-1] = -1 if op == "min" else 1
    ranks.all_reduce(buffer, op)
    if buffer[-1] != 0:
        ranks.agree(error)
    return buffer[:-1]


def gathered(ranks: Ranks, work: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The arrays that `work` returns on all ranks, each gathered as by `gather_list`; elsewhere each is None.

    The arrays of a rank are equally long, and an entry has 8 bytes. Ranks meet twice: to tell lengths, where an error
    of one rank is raised by all, and to send all arrays as one.
    """
    if ranks.size == 1:  # no copies
        return work()
    parts: tuple[Any, ...] = ()
    note: int | Exception
    try:
        parts = work()
        note = len(parts[0])
    except Exception as raised:
        note = raised
    lengths = ranks.agree(note)
    xp, number = namespace(parts[0]), len(parts)
    together = ranks.gather_lengths(
        xp.concatenate([part.view(np.int64) for part in parts]), [number * each for each in lengths]
    )
    if together is None:
        return (None,) * number
    ends = list(accumulate(np.repeat(lengths, number).tolist(), initial=0))
    pieces = [together[begin:end] for begin, end in pairwise(ends)]
    return tuple(xp.concatenate(pieces[at::number]).view(part.dtype) for at, part in enumerate(parts))


def of_root(ranks: Ranks, shape: int, dtype: Any, work: Callable[[], Any]) -> Any:
    """The vector that `work` returns on the root, on all ranks; an error of the root is raised by all."""
    buffer = np.zeros(shape + 1, dtype)
    error = None
    if ranks.rank == ROOT:
        try:
            buffer[:-1] = work()
        except Exception as raised:
            error = raised
            buffer[-1] = 1
    ranks.broadcast(buffer)
    if buffer[-1] != 0:
        ranks.agree(error)
    return buffer[:-1]


def _portable(error: Exception) -> Exception:
    """The error as it can be sent: without its cause, and of its own type if one text makes an error of that type."""
    if isinstance(error, MemoryError):  # CuPy's is made of numbers
        return MemoryError(str(error))
    try:
        made: Exception = pickle.loads(pickle.dumps(type(error)(str(error))))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return made


def _named(error: Exception, rank: int) -> Exception:
    return type(error)(f"rank {rank}: {error}")
