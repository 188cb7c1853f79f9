"""How structs and arrays of csrc lie in memory, and how enums are numbered, as the extension tells it."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from struct import Struct, calcsize
from typing import Any

import numpy as np

from . import _native

# A fixed number, and a number for each pair, each row and each column.
Extent = tuple[int, int, int, int]


class Layout:
    """A struct of csrc.

    Parameters
    ----------
    name : str
        Its name in csrc, with the type of duals if it has some.

    Attributes
    ----------
    names : tuple of str
        Its fields, in their order. The fields of a struct in it stand for the struct.
    size : int
        In bytes.
    dtype : numpy.dtype
        For an array of such structs.
    pack : callable
        Makes a struct of its fields, each given by name. It is one argument of a program: CuPy takes longer if each
        member is an argument.
    """

    def __init__(self, name: str) -> None:
        fields = _native.STRUCTS[name]
        self.names = tuple(field for field, _, _, _ in fields)
        codes = [code for _, code, _, _ in fields]
        offsets = [offset for _, _, offset, _ in fields]
        begins = [calcsize("".join(codes[:k]) + f"0{code[-1]}") for k, code in enumerate(codes)]
        if offsets != begins:
            raise ImportError(f"{name}: expected fields at {begins}, got {fields}; build the extension anew")
        widest = max(codes, key=lambda code: calcsize(code[-1]))[-1]
        struct = Struct("".join(codes) + f"0{widest}")  # "0" fills up the last word
        self.size = struct.size
        self.dtype = np.dtype({"names": self.names, "formats": codes, "offsets": offsets, "itemsize": struct.size})
        self.pack = _packer(self.names, struct)

    def getter(self, *names: str) -> Callable[[Any], tuple[Any, ...]]:
        """A function that takes these fields out of the words of a struct of words of 8 bytes."""
        return itemgetter(*map(self.names.index, names))


def _packer(names: tuple[str, ...], struct: Struct) -> Callable[..., Any]:
    """A function that packs fields by name. Sorting keywords by name in each call would take a microsecond."""
    parameters = ", ".join(names)
    packer: Callable[..., Any] = _written(
        f"lambda *, {parameters}: ndarray((), dtype, pack_in_order({parameters}))",
        dtype=np.dtype(f"V{struct.size}"),
        pack_in_order=struct.pack,
    )
    return packer


class Arrays:
    """Arrays one after another in one piece of memory, which csrc fills. Pairs, rows and columns give their lengths.

    Parameters
    ----------
    name : str
        The name of the struct in csrc that points to them.

    Attributes
    ----------
    size : tuple of int
        Bytes: a fixed number, and a number for each pair, each row and each column.
    begins : dict
        For each array, where it begins, in bytes: as `size`.
    views : dict
        For each array a function of the memory, rows and columns that returns the array as a view.
    """

    def __init__(self, name: str) -> None:
        arrays, self.size = _native.ARRAYS[name]
        self.begins = {array: begin for array, _, begin, _ in arrays}
        self.views: dict[str, Callable[[Any, int, int], Any]] = _written(
            ", ".join(f"{array!r}: {_viewer(code, begin, length)}" for array, code, begin, length in arrays).join("{}"),
            **{code: np.dtype(code) for _, code, _, _ in arrays},
        )


def _viewer(code: str, begin: Extent, length: Extent) -> str:
    def total(extent: Extent) -> str:
        sides = zip(extent, ("1", "(rows if rows < columns else columns)", "rows", "columns"), strict=True)
        return " + ".join(f"{number} * {side}" for number, side in sides if number) or "0"

    return f"lambda memory, rows, columns: ndarray({total(length)}, {code}, memory, {total(begin)})"


def _written(text: str, **scope: Any) -> Any:
    """The value of a text of Python, as dataclasses write their methods: facts known before a call cost it nothing."""
    return eval(text, scope | {"ndarray": np.ndarray})


def words_of(structs: Any) -> Any:
    """An array of structs of words of 8 bytes, with a row of words for each."""
    return structs.view(np.int64).reshape(len(structs), structs.itemsize // 8)


def numbers_of(enum: str) -> dict[str, int]:
    """The members of an enum of csrc, by their names."""
    return dict(_native.ENUMS[enum])


REPORT = Layout("Report")
CORE_TRACE = Layout("CoreTrace")
BATCH_PROBLEM = Layout("BatchProblem")
