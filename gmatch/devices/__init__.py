"""What arrays of costs and graphs hold, and how rows come to a GPU. No program here solves: proofs may read by them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ..arrays import Device

if TYPE_CHECKING:
    from . import cpu, gpu

    _: tuple[Reader, Reader] = cpu, gpu  # type checkers hold both to it


class Reader(Protocol):
    """The programs that look at arrays of one kind of device: the module `cpu` or `gpu`."""

    def inspect(self, indptr: Any, indices: Any, columns: int) -> tuple[int, int, int, int]:
        """What the arrays of a graph hold: see `Inspection` in csrc/cardinality/sparse_rows.cuh."""

    def inspect_costs(self, array: Any, threads: int | None = None) -> tuple[Any, Any, bool, bool, bool, bool]:
        """The lowest and the highest finite entry; whether there are NaN, +inf, -inf; whether all are surely whole.

        `threads` is the number of threads on the host. If it is None, the reader chooses the number.
        """

    def has_duplicates(self, indptr: Any, indices: Any, columns: int) -> bool:
        """Whether a row may have two entries in one column."""

    def find_entries(self, indptr: Any, indices: Any, columns: int, row_match: Any) -> Any:
        """The position of the entry of each row's pair; -1 for pairs that are not stored, and rows without a pair."""


class _Readers(dict[Device, Reader]):
    """Readers by device, imported when they are first asked for: importing CuPy takes long."""

    def __missing__(self, device: Device) -> Reader:
        reader: Reader = import_module(f".{device}", __name__)
        return self.setdefault(device, reader)


READERS = _Readers()
"""The reader of each device."""
