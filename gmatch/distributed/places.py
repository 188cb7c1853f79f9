"""Where the blocks of ranks lie: on the host, or each on a GPU."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import cuda
from ..arrays import as_dense_array, device_of, to_host
from ..errors import InvalidInput
from .ranks import Ranks


def checked_devices(cost: Any, devices: Any) -> list[int]:
    """The numbers of GPUs that a matrix is to be shared out to."""
    if not isinstance(devices, list | tuple) or not devices or not all(type(number) is int for number in devices):
        raise InvalidInput(
            f"devices must be a list of numbers of GPUs, such as [0, 1], each of which gets its share of the rows; got "
            f"{devices!r}"
        )
    count = cuda.number_of_devices()
    beyond = [number for number in devices if not 0 <= number < count]
    if beyond:
        raise InvalidInput(
            f"devices must be numbers from 0 to {count - 1}, for there are {count} GPUs; got {beyond[0]}"
        )
    if device_of(cost) == "gpu" and set(devices) != {cost.device.id}:
        raise InvalidInput(
            f"devices={devices!r} are for costs on the host; these lie on GPU {cost.device.id}, which solves them "
            "faster than they could be moved: leave devices out, or give gmatch.RowBlocks of blocks on several GPUs"
        )
    return list(devices)


def shares(cost: Any, number: int) -> list[Any]:
    """`number` blocks of rows, which differ by at most one row in height: views."""
    matrix = as_dense_array(cost)
    if matrix.ndim != 2:
        raise InvalidInput(
            f"devices are for one matrix of costs, with rows and columns; got {matrix.ndim} dimensions; leave devices "
            "out, or give one matrix"
        )
    cuts = [part * len(matrix) // number for part in range(number + 1)]
    return [matrix[first:end] for first, end in zip(cuts, cuts[1:], strict=False)]


def lies_on_gpu(block: Any) -> bool:
    """Whether it is an array of any library in the memory of a GPU."""
    return device_of(block) == "gpu" or hasattr(block, "__cuda_array_interface__")


@contextmanager
def placed(ranks: Ranks, block: Any, device: str | None, number: int | None = None) -> Iterator[Any]:
    """The block on the device that solves it. If that is a GPU, it is current in the `with` block.

    With None as `device` the block stays where it is. `number` is the number of the GPU; None stands for the number of
    the rank among the ranks of its host. An error of one rank is raised by all in their next meeting, which must be
    `agree`.
    """
    if device == "gpu" and number is None:
        hosts = ranks.agree(platform.node())
        number = hosts[: ranks.rank].count(hosts[ranks.rank]) % ranks.done_by_all(cuda.number_of_devices)

    def found() -> tuple[Any, int | None]:
        array = as_dense_array(block) if lies_on_gpu(block) else block
        if device == "cpu" or device_of(array) == "cpu":
            return to_host(array), number
        return array, array.device.id

    array, current = ranks.done_before_agreeing(found)
    with cuda.on_device(current):
        if number is not None:
            array = ranks.done_before_agreeing(lambda: cuda.cupy().asarray(as_dense_array(array)))
        yield array
