"""Rows of an array of the host on their way to the current GPU, beside what the GPU does meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import local
from typing import Any

import numpy as np

from .. import cuda

cupy: Any = cuda.module()

# Bytes that a thread copies to pinned memory at once: a copy to the GPU then takes 0.6 ms, which hides its launch.
PIECE = 1 << 25
# One thread copies about 6 GB/s to pinned memory, and a GPU takes 25 to 55 GB/s.
MOST_THREADS = 8

Read = Callable[[slice], Any]
"""Gives some rows as an array of the host."""


class Uploads:
    """Copies of rows. `start` begins a copy, and `finish` returns it.

    Threads copy pieces of the rows to pinned memory, and from there to the GPU on a stream of their own. Meanwhile the
    passes over earlier rows run on the caller's stream.

    Parameters
    ----------
    together : int
        Rows that are read together: a piece has a multiple of them.
    """

    def __init__(self, together: int) -> None:
        self._together = together
        self._device = cupy.cuda.Device()
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._threads = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1))
        self._memory = local()  # of each thread

    def start(self, read: Read, rows: slice, width: int, dtype: Any) -> _Upload:
        """Begins to copy some rows of `width` entries."""
        copy = cupy.empty((rows.stop - rows.start, width), dtype)
        ready = cupy.cuda.Event(disable_timing=True)
        ready.record()  # the memory may be in use by passes over earlier rows
        self._stream.wait_event(ready)
        step = max(1, PIECE // max(1, width * copy.itemsize) // self._together) * self._together
        pieces = [slice(first, min(first + step, len(copy))) for first in range(0, len(copy), step)]
        parts = [self._threads.submit(self._copy, read, rows.start, copy, piece) for piece in pieces]
        return _Upload(copy, parts, self._stream)

    def close(self) -> None:
        """Ends the threads, and waits for them."""
        self._threads.shutdown(cancel_futures=True)

    def _copy(self, read: Read, first: int, copy: Any, piece: slice) -> None:
        with self._device:
            rows = read(slice(first + piece.start, first + piece.stop))
            there = copy[piece]
            size = there.nbytes
            pinned = getattr(self._memory, "pinned", None)
            if pinned is None or pinned.mem.size < size:
                pinned = self._memory.pinned = cupy.cuda.alloc_pinned_memory(max(size, 1))
            here = np.frombuffer(pinned, copy.dtype, there.size).reshape(there.shape)
            np.copyto(here, rows, casting="equiv")
            to_device = cupy.cuda.runtime.memcpyHostToDevice
            cupy.cuda.runtime.memcpyAsync(there.data.ptr, pinned.ptr, size, to_device, self._stream.ptr)
            copied = cupy.cuda.Event(block=True, disable_timing=True)
            copied.record(self._stream)
            copied.synchronize()


class _Upload:
    """Rows on their way."""

    def __init__(self, copy: Any, parts: list[Future[None]], stream: Any) -> None:
        self._copy, self._parts, self._stream = copy, parts, stream

    def finish(self) -> Any:
        """The rows on the GPU. Raises what the reader of the rows has raised."""
        for part in self._parts:
            part.result()
        return self._copy
