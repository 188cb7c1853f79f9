"""The methods of maximum cardinality matching: frozen objects whose fields are their options.

A plain string means a method: ``"apfb"`` is ``APFB()``, and the papers' full names choose the fields, as in
``"apsb-gpubfs-wr-mt"`` or ``"claims-apsb-gpubfs"``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
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

    @property
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
    FIXMATCHING. O(phases * entries) work, at most min(rows, columns) + 1 phases, usually few.

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
