"""CuPy: imported when it is first needed, and only here."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .errors import BackendUnavailable


@cache
def module() -> Any:
    """CuPy, or None where it is not installed."""
    try:
        import cupy
    except ImportError:
        return None
    return cupy


def cupy() -> Any:
    """CuPy; raises `BackendUnavailable` unless there is a GPU."""
    require()
    return module()


def require() -> None:
    """Raises `BackendUnavailable` unless CuPy and a GPU are there."""
    if module() is None:
        raise BackendUnavailable(
            "device='gpu' needs CuPy, which is not installed; pip install 'gmatch-bipartite[gpu]' (or the cupy wheel "
            "for your CUDA version), or use device='cpu'"
        )
    _require_device(module())


@cache
def _require_device(cupy: Any) -> None:
    """Looks for a GPU until one is found; then it does not look again."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise BackendUnavailable(f"device='gpu' needs a CUDA GPU, but CUDA said: {error}; use device='cpu'") from None
    if count == 0:
        raise BackendUnavailable("device='gpu' needs a CUDA GPU, and there is none; use device='cpu'")


def is_there() -> bool:
    """Whether there are CuPy and a GPU."""
    try:
        require()
    except BackendUnavailable:
        return False
    return True


def devices() -> list[str]:
    """The names of the GPUs."""
    runtime = cupy().cuda.runtime
    return [runtime.getDeviceProperties(device)["name"].decode() for device in range(runtime.getDeviceCount())]


def nccl() -> Any:
    """What CuPy has of NCCL; its `available` says whether there is any."""
    require()
    from cupy.cuda import nccl

    return nccl


def number_of_devices() -> int:
    """How many GPUs this process sees."""
    count: int = cupy().cuda.runtime.getDeviceCount()
    return count


def memory_left() -> int:
    """Bytes that arrays of CuPy can still take on the current GPU."""
    made = module()
    pool = made.get_default_memory_pool()
    left: int = made.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
    return min(left, pool.get_limit() - pool.used_bytes()) if pool.get_limit() else left


def processors() -> int:
    """How many multiprocessors the current GPU has."""
    count: int = module().cuda.Device().attributes["MultiProcessorCount"]
    return count


@contextmanager
def on_device(number: int | None) -> Iterator[None]:
    """New arrays of this thread lie on that GPU; None is for work on the host."""
    if number is None:
        yield
        return
    with cupy().cuda.Device(number):
        yield


def array_in(owner: Any, address: int, device: int, layout: tuple[tuple[int, ...], Any, tuple[int, ...]]) -> Any:
    """An array in the memory of another library's array, which it keeps alive. A layout is shape, type and strides."""
    made = module()
    memory = made.cuda.UnownedMemory(address, 0, owner, device)  # the size 0 is only displayed
    shape, dtype, strides = layout
    return made.ndarray(shape, dtype, made.cuda.MemoryPointer(memory, 0), strides)


@contextmanager
def on_stream(device: int, address: int) -> Iterator[None]:
    """A context in which this thread works on a stream of a GPU that another library made."""
    made = cupy().cuda
    with made.Device(device), stream_of(address):
        yield


class _Handle:
    """A stream by its address, as CUDA's libraries exchange streams."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address  # the version of the protocol, and the address


def stream_of(address: int) -> Any:
    """CuPy's object for a stream of another library. CuPy 14 warns of `ExternalStream`, which earlier versions need."""
    made = module().cuda
    if hasattr(made.Stream, "from_external"):
        return made.Stream.from_external(_Handle(address))
    return made.ExternalStream(address)


def end_of_work() -> Any:
    """An event that ends when the current GPU has done what this thread has asked of it so far."""
    made = module().cuda
    event = made.Event(disable_timing=True)
    event.record(made.get_current_stream())
    return event


def is_capturing() -> bool:
    """Whether the work that this thread asks of the current GPU is only recorded, for a CUDA graph."""
    stream = module().cuda.get_current_stream()
    return bool(stream.ptr) and bool(stream.is_capturing())  # the default stream cannot be captured


def finish_work() -> None:
    """Waits until the current GPU has done what this thread has asked of it."""
    module().cuda.get_current_stream().synchronize()


# Numbers of CUDA's libraries: float32; factors of 11 digits and sums in float32; the library's choice of a program.
REAL_32, REAL_16, COMPUTE_32, COMPUTE_32_FROM_TF32, GEMM_DEFAULT = 0, 2, 68, 77, -1
# What the library multiplies products by, and the former content of their memory. It reads both on the host.
_ONE, _ZERO = (ctypes.c_float(number) for number in (1.0, 0.0))


def product_into(x: Any, y: Any, out: Any) -> None:
    """Writes all products of rows of x with rows of y to `out`. Rows are contiguous. `out` is float32.

    x and y are both float16 or both float32. Of float32 tensor cores read 11 binary digits of each number, if the GPU
    has TF32. Sums are float32.
    """
    libraries, (rows, coordinates), columns = module().cuda, x.shape, len(y)
    row_of_x, row_of_y, row_of_out = (array.strides[0] // array.itemsize for array in (x, y, out))
    cublas, one, zero = libraries.cublas, ctypes.addressof(_ONE), ctypes.addressof(_ZERO)
    kind, compute = (REAL_16, COMPUTE_32) if x.itemsize == 2 else (REAL_32, COMPUTE_32_FROM_TF32)
    # The library counts columns first, so it sees x, y and `out` turned.
    cublas.gemmEx(
        libraries.device.get_cublas_handle(), cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, columns, rows, coordinates, one,
        y.data.ptr, kind, row_of_y, x.data.ptr, kind, row_of_x, zero, out.data.ptr, REAL_32, row_of_out, compute,
        GEMM_DEFAULT,
    )  # fmt: skip


def beginning(array: Any, length: int) -> Any:
    """A copy of the first entries of a contiguous vector. It takes no kernel, which CuPy would compile."""
    made = module().empty(length, array.dtype)
    if length:
        made.data.copy_from_device_async(array.data, made.nbytes)
    return made


def csr_matrix(entries: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    """A matrix of CuPy, of floats or complex numbers; entries of one pair are summed."""
    from cupyx.scipy.sparse import coo_matrix

    return coo_matrix((entries, (rows, columns)), shape=shape).tocsr()


def entry_of_each_row(matrix: Any, columns: Any) -> Any:
    """`matrix[arange(len(columns)), columns]`, in one launch; any entry for a row with column -1."""
    with matrix.device:
        return _entry_of_row()(matrix, columns)


@cache
def _entry_of_row() -> Any:
    return cupy().ElementwiseKernel(
        "raw T matrix, int32 column",
        "T entry",
        "ptrdiff_t place[] = {i, column < 0 ? 0 : column}; entry = matrix[place]",
        "of_row",
    )
