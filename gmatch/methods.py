"""The methods of both problems: frozen objects whose fields are their options.

A plain string means a method: ``"apfb"`` is ``APFB()``, and the papers' full names choose the fields, as in
``"apsb-gpubfs-wr-mt"`` or ``"claims-apsb-gpubfs"``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from typing import Literal, get_args, get_type_hints

from .errors import InvalidInput

Bfs = Literal["gpubfs", "gpubfs-wr"]
Threads = Literal["ct", "mt"]
Search = Literal["apfb", "apsb"]


class ForestKind(IntEnum):
    """How races for a vertex are settled; numbered as in csrc/programs.cuh."""

    SPECULATIVE = 0
    SPECULATIVE_WITH_ROOTS = 1
    CLAIMED = 2
    CLAIMED_WITH_ROOTS = 3


@dataclass(frozen=True)
class _Method:
    def __post_init__(self) -> None:
        for option, hint in get_type_hints(type(self)).items():
            allowed, given = get_args(hint), getattr(self, option)
            if given not in allowed:
                raise InvalidInput(
                    f"{type(self).__name__}({option}=...) must be one of {', '.join(map(repr, allowed))}; got {given!r}"
                )

    @cached_property
    def name(self) -> str:
        """The paper's name with all options, as in ``"apfb-gpubfs-wr-ct"``."""
        return "-".join([type(self).__name__.lower(), *(getattr(self, field.name) for field in fields(self))])


@dataclass(frozen=True)
class _Speculative(_Method):
    bfs: Bfs = "gpubfs-wr"
    threads: Threads = "ct"

    @property
    def forest(self) -> ForestKind:
        return ForestKind.SPECULATIVE_WITH_ROOTS if self.bfs == "gpubfs-wr" else ForestKind.SPECULATIVE


@dataclass(frozen=True)
class APFB(_Speculative):
    """Augmenting paths by full breadth-first searches, speculative (Deveci et al. 2013, APFB; after HKDW).

    Every phase searches until no tree can grow, then turns the paths found with ALTERNATE (Algorithm 3) and
    FIXMATCHING. O(phases * entries + levels * rows) work: every level passes over all rows, as in the paper. At most
    min(rows, columns) + 1 phases, usually few.

    Parameters
    ----------
    bfs : {"gpubfs-wr", "gpubfs"}
        The kernel of a level: Algorithm 4, where a tree that found a path stops growing, or Algorithm 2.
    threads : {"ct", "mt"}
        On a GPU, a constant 256 blocks of 256 threads, or a thread for each row as far as the device holds them at
        once. On the CPU both use the threads of the call.
    """

    shortest_only = False


@dataclass(frozen=True)
class APsB(_Speculative):
    """Shortest augmenting paths by breadth-first searches, speculative (Deveci et al. 2013, Algorithm 1, APsB).

    As `APFB`, but a phase ends at the level that finds the first path, as in Hopcroft and Karp. With ``"gpubfs-wr"``
    ALTERNATE starts only from the path end that each root noted, the paper's improvement.
    """

    shortest_only = True


@dataclass(frozen=True)
class Claims(_Method):
    """The same searches with disjoint trees: a column is claimed by one row (Date and Nagi 2016).

    With ``bfs="gpubfs"`` a tree finds every path end it can, and the reverse pass (Algorithm 5) keeps one for the
    augmentation pass (Algorithm 6). With ``"gpubfs-wr"`` a tree stops at its first, and both passes are one.
    Frontiers are lists, so a level costs what its rows cost. O(phases * entries) work.

    Parameters
    ----------
    search : {"apfb", "apsb"}
        A phase ends when no tree can grow, or at the level that finds the first path.
    bfs : {"gpubfs-wr", "gpubfs"}
        Whether a tree that found a path stops growing.
    """

    search: Search = "apfb"
    bfs: Bfs = "gpubfs-wr"

    @property
    def forest(self) -> ForestKind:
        return ForestKind.CLAIMED_WITH_ROOTS if self.bfs == "gpubfs-wr" else ForestKind.CLAIMED

    @property
    def shortest_only(self) -> bool:
        return self.search == "apsb"


Method = APFB | APsB | Claims

AUTO = Claims()
"""What ``method="auto"`` runs: claimed, disjoint trees, full searches with early exit."""

METHODS: tuple[Method, ...] = (
    *(APFB(bfs, threads) for bfs in get_args(Bfs) for threads in get_args(Threads)),
    *(APsB(bfs, threads) for bfs in get_args(Bfs) for threads in get_args(Threads)),
    *(Claims(search, bfs) for search in get_args(Search) for bfs in get_args(Bfs)),
)
"""Every method with every choice of its options: the paper's eight variants, and four with claims."""

_BY_NAME: dict[str, Method] = {
    "auto": AUTO,
    "apfb": APFB(),
    "apsb": APsB(),
    "claims": Claims(),
    "claims-apsb": Claims("apsb"),
    **{method.name: method for method in METHODS},
}


def method_of(method: str | Method) -> Method:
    """The method that a string or a method object stands for."""
    if isinstance(method, Method):
        return method
    found = _BY_NAME.get(method.lower()) if isinstance(method, str) else None
    if found is None:
        raise InvalidInput(
            f"unknown method {method!r}; expected one of {', '.join(map(repr, _BY_NAME))}, or one of the objects "
            "gmatch.APFB(...), gmatch.APsB(...), gmatch.Claims(...)"
        )
    return found


Paths = Literal["many", "nearest"]


@dataclass(frozen=True)
class Tree(_Method):
    """Assignment by the alternating tree variant of the Hungarian algorithm (Date and Nagi 2016, Algorithms 4 and 9).

    Trees grow from all free rows at once along tight edges; every column keeps its distance from the nearest root, and
    a dual step is one pass over the columns. O(n**2 m) work at worst, O(n + m) memory beside the costs. For sparse
    costs a dual step finds all distances up to the next free columns, near ones first (Meyer and Sanders 2003).

    Parameters
    ----------
    paths : {"many", "nearest"}
        A phase ends when half of its trees have found a path, each at its own distance, or with the nearest path, as in
        the paper. ``"many"`` needs five to thirty times fewer phases; rectangular problems always take the nearest.
    """

    paths: Paths = "many"


@dataclass(frozen=True)
class JV(_Method):
    """Assignment by shortest augmenting paths, one after the other (Jonker and Volgenant 1987; Crouse 2016).

    Column reduction, reduction transfer, augmenting row reduction, Dijkstra. Serial, on the CPU. O(n**2 m) work at
    worst, O(n + m) memory beside the costs. For sparse costs Dijkstra has a heap and starts from many rows at once.
    """


AssignmentMethod = Tree | JV

ASSIGNMENT_METHODS: tuple[AssignmentMethod, ...] = (JV(), Tree(), Tree("nearest"))
"""Every method of assignment with every choice of its options."""

_ASSIGNMENT_BY_NAME: dict[str, AssignmentMethod] = {
    "jv": JV(),
    "tree": Tree(),
    **{method.name: method for method in ASSIGNMENT_METHODS},
}


_AUTO_ASSIGNMENT: dict[str, AssignmentMethod] = {"cpu": JV(), "gpu": Tree()}


def assignment_method_of(method: str | AssignmentMethod, device: str) -> AssignmentMethod:
    """The method that a string or a method object stands for on a device.

    ``"auto"`` is `JV` on the CPU, where one core does least work that way, and `Tree` on a GPU.
    """
    if isinstance(method, AssignmentMethod):
        return method
    if method == "auto":
        return _AUTO_ASSIGNMENT[device]
    found = _ASSIGNMENT_BY_NAME.get(method.lower()) if isinstance(method, str) else None
    if found is None:
        raise InvalidInput(
            f"unknown method {method!r}; expected one of 'auto', {', '.join(map(repr, _ASSIGNMENT_BY_NAME))}, or one "
            "of the objects gmatch.JV(), gmatch.Tree(...)"
        )
    return found
