"""Arrays on the GPUs of several processes, carried by NCCL through CuPy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from .. import cuda
from ..errors import RankLost

# Seconds of a nap between two looks at whether the GPU is done.
SHORTEST_NAP, LONGEST_NAP = 1e-5, 1e-3


def address_of_gpu() -> str | None:
    """The bus address of the current GPU, which no other GPU of its host has; None if CuPy has no NCCL."""
    cupy = cuda.cupy()
    if not cuda.nccl().available:
        return None
    address: str = cupy.cuda.runtime.deviceGetPCIBusId(cupy.cuda.Device().id)
    return address


def new_name() -> Any:
    """The name of a group of ranks to be made; all its ranks must know it."""
    return cuda.nccl().get_unique_id()


class Nccl:
    """A group of ranks, each with the GPU that is current as it joins.

    Nothing blocks for ever: the host watches what it asked of the GPU, and gives it up when patience ends.
    """

    def __init__(self, size: int, name: Any, rank: int, patience: float, heard: Callable[[], bool]) -> None:
        self._size, self._rank, self._heard = size, rank, heard
        joined = threading.Thread(target=self._join, args=(name, cuda.cupy().cuda.Device().id), daemon=True)
        self._comm: Any = None
        self._error: BaseException | None = None
        joined.start()
        self._wait(lambda: not joined.is_alive(), patience)
        if self._error is not None:
            raise self._error

    def _join(self, name: Any, device: int) -> None:
        try:
            with cuda.on_device(device):
                self._comm = cuda.nccl().NcclCommunicator(self._size, name, self._rank)
        except BaseException as error:
            self._error = error

    def _wait(self, done: Callable[[], bool], patience: float) -> None:
        """Waits until the GPU is done. Patience counts silence: it begins anew with each sign of the others."""
        silent_since, nap = time.monotonic(), SHORTEST_NAP
        while not done():
            if self._heard():
                silent_since = time.monotonic()
            if time.monotonic() - silent_since > patience:
                if self._comm is not None:
                    self._comm.abort()
                raise RankLost(f"rank {self._rank} waited {patience:g} s for the others, and some did not come")
            if self._comm is not None:
                self._comm.check_async_error()
            time.sleep(nap)
            nap = min(2 * nap, LONGEST_NAP)

    def gather(self, part: Any, into: Any, lengths: list[int], root: int, patience: float) -> None:
        """See `Line`: contiguous arrays on the GPUs of the ranks."""
        cupy = cuda.cupy()
        nccl, stream = cuda.nccl(), cupy.cuda.get_current_stream()
        nccl.groupStart()
        if self._rank != root and part.nbytes:
            self._comm.send(part.data.ptr, part.nbytes, nccl.NCCL_UINT8, root, stream.ptr)
        if self._rank == root:
            for rank, (first, length) in enumerate(zip(accumulate([0, *lengths]), lengths, strict=False)):
                if rank != root and length:
                    there = into[first : first + length]
                    self._comm.recv(there.data.ptr, there.nbytes, nccl.NCCL_UINT8, rank, stream.ptr)
        nccl.groupEnd()
        if self._rank == root:
            first = sum(lengths[:root])
            into[first : first + lengths[root]] = part
        event = cupy.cuda.Event(disable_timing=True)
        event.record(stream)
        self._wait(lambda: event.done, patience)
