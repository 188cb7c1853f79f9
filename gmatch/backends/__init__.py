"""Where a program runs. A backend takes arrays that it trusts; `gmatch.problems` has checked them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import cuda
from ..arrays import Device, device_of
from ..errors import InvalidInput
from .protocol import Backend

if TYPE_CHECKING:
    from . import cpu, gpu

    _: tuple[Backend, Backend] = cpu, gpu  # type checkers hold both to it


class _Backends(dict[Device, Backend]):
    """Backends by device, imported when they are first asked for: importing CuPy takes long."""

    def __missing__(self, device: Device) -> Backend:
        backend: Backend = import_module(f".{device}", __name__)
        return self.setdefault(device, backend)


BACKENDS = _Backends()
"""The backend of each device."""


def backend_for(array: Any, device: str | None) -> Backend:
    """The backend of a device; without one, of the device where the array lives."""
    if device is None:
        device = device_of(array)
    if not isinstance(device, str) or device not in ("cpu", "gpu"):
        raise InvalidInput(f"device must be 'cpu', 'gpu' or None (where the input lives); got {device!r}")
    if device == "gpu":
        cuda.require()
    return BACKENDS["gpu" if device == "gpu" else "cpu"]


def refuse_gpu(what: str, device: Any) -> None:
    """Raises `InvalidInput` if a function that works on the host is asked to work on a GPU."""
    if device is None or isinstance(device, str) and device == "cpu":
        return
    if isinstance(device, str) and device == "gpu":
        raise InvalidInput(
            f"{what} works on the host; leave device='gpu' out: costs on a GPU are moved to the host once"
        )
    raise InvalidInput(f"device must be 'cpu' or None for {what}, which works on the host; got {device!r}")
