"""Entry points of programs on the current GPU, by the words that they are compiled for."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import cuda
from .catalogue import COSTS, NARROW, Program
from .compiled import Kernel, kernels_of

cupy: Any = cuda.module()

# Threads of a block that is a team by itself, or does several levels by itself: the most that a GPU allows.
BLOCK_SIZE = 1024
# A block for each multiprocessor: more threads make the barrier of the grid slower, and a level is mostly latency. They
# are worth it where blocks do several levels by themselves.
GRID_BLOCK_SIZE = 512
# By their names in NumPy.
C_TYPES = {words["type"]: words["cost"] for words in (*COSTS, *NARROW)}


@cache
def entry_point(program: Program, name: str, device: int, **words: str | int) -> Kernel:
    """An entry point of a program, compiled for words of the catalogue, on the current device."""
    return entry_points(program, (name,), device, **words)[0]


@cache
def entry_points(program: Program, names: tuple[str, ...], device: int, **words: str | int) -> list[Kernel]:
    """Entry points of a program that are launched one after the other. They compile at the same time."""
    variant = program.variant(**{word: str(value) for word, value in words.items()})
    return kernels_of(variant, names, cupy.cuda.Device(device).compute_capability)


def index_types(indptr: Any, indices: Any) -> dict[str, str]:
    """The types of the arrays of compressed sparse rows, as words of the catalogue."""
    return {"offset": c_type(indptr), "column": c_type(indices)}


def c_type(array: Any) -> str:
    return _c_type_of(array.dtype)


@cache
def _c_type_of(dtype: Any) -> str:
    return C_TYPES[dtype.name]  # NumPy puts the name together anew each time, which takes 2 us


def resident_blocks(kernel: Kernel, block_size: int, device: Any, near_memory: int = 0) -> int:
    """How many blocks the device holds at once. Further blocks would never reach a barrier of the grid."""
    per_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.ptr, block_size, near_memory)
    return int(per_processor) * int(device.attributes["MultiProcessorCount"])
