"""The memory of launches on a GPU: counters, journals, vectors and layouts, and how the host reads them."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from .. import cuda
from ..layouts import CORE_TRACE, REPORT, Layout

cupy: Any = cuda.module()

# Words of 8 bytes that a grid's barrier counts in.
ARRIVALS = 2
# Positions of two counters in a report, and the sizes of reports.
PHASES, SIZE = map(REPORT.names.index, ("phases", "size"))
REPORT_SIZE, CORE_REPORT_SIZE = REPORT.size // 8, (REPORT.size + CORE_TRACE.size) // 8  # in words
# The alignment of a workspace, in bytes.
ALIGNMENT = 256
# A call reads the counts of 64 phases together with its report. Mostly there are no more.
FIRST_PHASES = 64
# Bytes that a copy may pin.
PINNED_LIMIT = 4 << 20
# At most twice this number of layouts of batches stay on a GPU, each 512 bytes. Batches of a detector differ in their
# numbers of targets.
MOST_LAYOUTS = 1024
PROGRESS = Layout("Progress")


class Words:
    """The counters of a small program, words of 8 bytes, and the arrivals at the grid's barrier; all zero.

    Attributes
    ----------
    begin, arrivals : uint64
        Addresses.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._memory = cupy.cuda.alloc(8 * (count + ARRIVALS))
        self._memory.memset_async(0, 8 * (count + ARRIVALS))
        self.begin, self.arrivals = np.uint64(self._memory.ptr), np.uint64(self._memory.ptr + 8 * count)

    def read(self) -> list[int]:
        """Waits for the program."""
        words: list[int] = _copy_of(self._memory.ptr, 8 * self._count, np.int64).tolist()
        return words


class Launch:
    """The counters, the journal and the workspace of a program: one allocation, of which only the counters are cleared.

    Attributes
    ----------
    levels, augmentations, workspace, progress, report : int
        Addresses of the members that tasks of csrc have under these names.
    arrivals : uint64
        Address of the arrivals at the grid's barrier.
    """

    def __init__(self, phases: int, workspace_bytes: int, report_size: int = REPORT_SIZE) -> None:
        self._report_bytes, self._phases = 8 * report_size, phases
        counter_bytes = self._report_bytes + PROGRESS.size + 8 * ARRIVALS
        workspace_begin = -(-(counter_bytes + 8 * phases) // ALIGNMENT) * ALIGNMENT
        self._memory = cupy.cuda.alloc(workspace_begin + workspace_bytes)
        self._memory.memset_async(0, counter_bytes)
        self.report = self._memory.ptr
        self.progress = self.report + self._report_bytes
        self.levels = self.report + counter_bytes
        self.augmentations = self.levels + 4 * phases
        self.workspace = self.report + workspace_begin
        self.arrivals = np.uint64(self.levels - 8 * ARRIVALS)

    def read_report(self) -> list[int]:
        """Waits for the program."""
        return self._copy(0)[0]

    def read(self) -> tuple[list[int], Any]:
        """Waits for the program. Returns its report, and the phases of the journal."""
        report, journal = self._copy(min(FIRST_PHASES, self._phases))
        phases = min(report[PHASES], self._phases)
        return (report, journal) if phases <= journal.shape[1] else self._copy(phases)

    def _copy(self, phases: int) -> tuple[list[int], Any]:
        fields = self._report_bytes // 8
        pinned = cupy.cuda.alloc_pinned_memory(8 * (fields + phases))
        stream, cuda = cupy.cuda.get_current_stream(), cupy.cuda.runtime
        to_host, begin = cuda.memcpyDeviceToHost, pinned.ptr
        cuda.memcpyAsync(begin, self.report, 8 * fields, to_host, stream.ptr)
        if phases > 0:
            cuda.memcpy2DAsync(
                begin + 8 * fields, 4 * phases, self.levels, 4 * self._phases, 4 * phases, 2, to_host, stream.ptr
            )
        stream.synchronize()
        words = np.frombuffer(pinned, np.int64, fields + phases)
        return words[:fields].tolist(), words[fields:].view(np.int32).reshape(2, phases)


class Vectors:
    """Vectors, each given or new, of a length and a type. New ones share one allocation, which may take 100 us.

    Attributes
    ----------
    lengths, addresses : list of int
    """

    def __init__(self, *wanted: tuple[Any, int, Any]) -> None:
        self._wanted, self._begins, end = wanted, [], 0
        for given, length, dtype in wanted:
            self._begins.append(end)
            if given is None:
                end += -(-length * np.dtype(dtype).itemsize // ALIGNMENT) * ALIGNMENT
        self._memory = cupy.cuda.alloc(max(1, end))
        self.lengths = [length for _, length, _ in wanted]
        self.addresses = [
            self._memory.ptr + begin if given is None else given.data.ptr
            for (given, _, _), begin in zip(wanted, self._begins, strict=True)
        ]

    def clear_last(self) -> None:
        """Writes zeros to the last vector, a new one."""
        _, length, dtype = self._wanted[-1]
        (self._memory + self._begins[-1]).memset_async(0, length * np.dtype(dtype).itemsize)

    def matrices(self, rows: int, *widths: int) -> list[Any]:
        """The first vectors, all new ones, as matrices of that many rows and of these widths."""
        return [
            cupy.ndarray((rows, width), dtype, self._memory + begin)
            for width, (_, _, dtype), begin in zip(widths, self._wanted, self._begins, strict=False)
        ]

    def arrays(self) -> list[Any]:
        """Arrays of the vectors. Best called while the program runs that fills them: it takes as long as a launch."""
        return [
            cupy.ndarray((length,), dtype, self._memory + begin) if given is None else given
            for (given, length, dtype), begin in zip(self._wanted, self._begins, strict=True)
        ]


class Layouts:
    """Problems of `CostBatch.layout` on GPUs, and the ends of their copies. At most twice MOST_LAYOUTS are kept.

    A launch that nobody waits for may still read a layout. So all launches are waited for before old layouts go.
    """

    def __init__(self) -> None:
        self._new: dict[tuple[int, ...], tuple[Any, Any]] = {}
        self._old = self._new
        self._lock = Lock()

    def of(self, device: int, *numbers: int) -> tuple[Any, Any]:
        """The layout with these numbers. The device is current."""
        key = device, *numbers
        found = self._new.get(key)
        return self._added(key) if found is None else found

    def _added(self, key: tuple[int, ...]) -> tuple[Any, Any]:
        with self._lock:
            found = self._old.get(key)
            if found is None:
                found = cupy.array([key[1:]], np.int64), cuda.end_of_work()
            if len(self._new) == MOST_LAYOUTS:
                for device in {device for device, *_ in self._old}:
                    cupy.cuda.Device(device).synchronize()
                self._old, self._new = self._new, {}
            self._new[key] = found
        return found


_LAYOUTS = Layouts()


def first_layout(device: int, *numbers: int) -> Any:
    """A problem of `CostBatch.layout` on the GPU, where it stays: a batch like an earlier one needs no copy."""
    row, copied = _LAYOUTS.of(device, *numbers)
    cupy.cuda.get_current_stream().wait_event(copied)  # another stream may have copied it; the host does not wait
    return row


def on_host(array: Any) -> Any:
    """A copy of a contiguous array, by way of pinned memory if it is small: a third of the time."""
    if array.nbytes > PINNED_LIMIT:
        return array.get()
    return _copy_of(array.data.ptr, array.nbytes, array.dtype).reshape(array.shape)


def _copy_of(address: int, size: int, dtype: Any) -> Any:
    """A copy of `size` bytes of the GPU's memory in pinned memory. Waits for the programs before."""
    pinned = cupy.cuda.alloc_pinned_memory(max(1, size))
    stream, cuda = cupy.cuda.get_current_stream(), cupy.cuda.runtime
    if size > 0:
        cuda.memcpyAsync(pinned.ptr, address, size, cuda.memcpyDeviceToHost, stream.ptr)
    stream.synchronize()
    return np.frombuffer(pinned, dtype, size // np.dtype(dtype).itemsize)
