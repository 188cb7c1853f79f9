"""The methods of maximum cardinality, and which one ``"auto"`` takes.

A plain string means a method: ``"apfb"`` is ``APFB()``, and the papers' full names choose the fields, as in
``"apsb-gpubfs-wr-mt"`` or ``"claims-apsb-gpubfs"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Literal, get_args

from ..errors import InvalidInput, did_you_mean
from .method import AnyMethod, does_not_solve, is_auto

Bfs = Literal["gpubfs", "gpubfs-wr"]
Threads = Literal["ct", "mt"]
Search = Literal["apfb", "apsb"]


GRAPHS = frozenset(("graph",))
ON_CPU, ON_BOTH = {"cpu": GRAPHS}, {"cpu": GRAPHS, "gpu": GRAPHS}


class ForestKind(IntEnum):
    """How races for a vertex are settled; numbered as `ForestKind` in csrc."""

    SPECULATIVE = 0
    SPECULATIVE_WITH_ROOTS = 1
    CLAIMED = 2
    CLAIMED_WITH_ROOTS = 3
    ORDERED = 4


@dataclass(frozen=True)
class _Speculative(AnyMethod):
    solves = ON_BOTH
    bfs: Bfs = "gpubfs-wr"
    threads: Threads = "ct"

    @property
    def forest(self) -> ForestKind:
        """How rows reach columns, and threads that race for one are reconciled."""
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

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.eye_array(4, format="csr")
    >>> gmatch.max_matching(matrix, method=gmatch.APFB("gpubfs", "ct")).stats["method"]
    'apfb-gpubfs-ct'
    """

    shortest_only = False


@dataclass(frozen=True)
class APsB(_Speculative):
    """Shortest augmenting paths by breadth-first searches, speculative (Deveci et al. 2013, Algorithm 1, APsB).

    As `APFB`, but a phase ends at the level that finds the first path, as in Hopcroft and Karp. With ``"gpubfs-wr"``
    ALTERNATE starts only from the path end that each root noted, the paper's improvement.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.eye_array(4, format="csr")
    >>> gmatch.max_matching(matrix, method=gmatch.APsB()).stats["method"]
    'apsb-gpubfs-wr-ct'
    """

    shortest_only = True


@dataclass(frozen=True)
class Claims(AnyMethod):
    """Augmenting paths by breadth-first searches with disjoint trees: one row claims a column (Date and Nagi 2016).

    With ``bfs="gpubfs"`` a tree finds every path end it can, and the reverse pass (Algorithm 5) keeps one for the
    augmentation pass (Algorithm 6). With ``"gpubfs-wr"`` a tree stops at its first, and both passes are one.
    Frontiers are lists, so a level costs what its rows cost. O(phases * entries) work.

    On a GPU ``"apfb"`` grows trees unevenly: between two barriers of the grid each block does up to 24 levels by
    itself, from its share of the frontier. ``stats["levels"]`` then counts the levels of the first block.

    Parameters
    ----------
    search : {"apfb", "apsb"}
        ``"apfb"``: a phase ends when no tree can grow. With ``"gpubfs-wr"`` it also ends when half of the trees have
        found a path and the frontier has come down to a sixteenth of its widest, if that was 1024 rows or more.
        ``"apsb"``: a phase ends at the level that finds the first path.
    bfs : {"gpubfs-wr", "gpubfs"}
        Whether a tree that found a path stops growing.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.eye_array(4, format="csr")
    >>> gmatch.max_matching(matrix, method=gmatch.Claims("apsb")).stats["method"]
    'claims-apsb-gpubfs-wr'
    """

    solves = ON_BOTH
    threads = None  # as many as there is work for

    search: Search = "apfb"
    bfs: Bfs = "gpubfs-wr"

    @property
    def forest(self) -> ForestKind:
        """How rows reach columns, and threads that race for one are reconciled."""
        return ForestKind.CLAIMED_WITH_ROOTS if self.bfs == "gpubfs-wr" else ForestKind.CLAIMED

    @property
    def shortest_only(self) -> bool:
        """Whether a phase ends with the shortest paths."""
        return self.search == "apsb"

    @property
    def grows_unevenly(self) -> bool:
        """Whether blocks of a GPU do several levels between two barriers."""
        return not self.shortest_only


@dataclass(frozen=True)
class Ordered(AnyMethod):
    """The searches of `Claims` with races decided by order: the same matching on every run, thread count and device.

    Trees grow from all free rows at once, breadth first. Of all rows that reach a column in the level that reaches it
    first, the smallest has it. A tree that reaches free columns takes the smallest of that level and stops growing; a
    phase ends with augmenting all these paths. What `max_matching` runs for ``deterministic=True``, from a start that
    is the same everywhere, too: ``"karp-sipser"`` is not.

    A level takes two steps, one to reach columns and one to settle whose they are; ``stats["levels"]`` counts both.
    O(phases * entries) work.

    Parameters
    ----------
    search : {"apfb", "apsb"}
        A phase ends when no tree can grow, or at the level that finds the first path.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.eye_array(4, format="csr")
    >>> gmatch.max_matching(matrix, deterministic=True).stats["method"]
    'ordered-apfb'
    """

    solves = ON_BOTH
    threads = None
    grows_unevenly = False

    search: Search = "apfb"
    forest = ForestKind.ORDERED

    @property
    def shortest_only(self) -> bool:
        """Whether a phase ends with the shortest paths."""
        return self.search == "apsb"


@dataclass(frozen=True)
class PothenFan(AnyMethod):
    """Augmenting paths by depth-first searches (Pothen and Fan 1990; Duff, Kaya and Ucar 2011, PFP+).

    Each row first looks for a free column, going on where its last look ended (lookahead); columns are scanned forwards
    and backwards in alternate phases (fairness); a failed search that met no other one of its phase leaves a dead tree,
    which nobody searches again. The threads of the call take free rows, one after the other, and claim the columns that
    they visit (Azad et al. 2012, PPF+). On the CPU. O(phases * entries) work.

    References
    ----------
    Pothen, Fan, "Computing the block triangular form of a sparse matrix", ACM Transactions on Mathematical Software 16
    (1990), 303-324. Duff, Kaya, Ucar, "Design, implementation, and analysis of maximum transversal algorithms", ACM
    Transactions on Mathematical Software 38 (2011), 13:1-13:31. Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen,
    "Multithreaded algorithms for maximum matching in bipartite graphs", IPDPS 2012, 860-872.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.eye_array(4, format="csr")
    >>> gmatch.max_matching(matrix, method=gmatch.PothenFan()).stats["method"]
    'pothen-fan'
    """

    solves = ON_CPU

    @cached_property
    def name(self) -> str:
        return "pothen-fan"


@dataclass(frozen=True)
class Mixed(AnyMethod):
    """`Claims` and `PothenFan` in turns, on the CPU.

    A turn ends after two phases that make slow progress: each finds more than half as many paths as an earlier phase.
    Many more would follow. Breadth-first search needs hundreds of phases on some graphs (a dense staircase, a mesh
    whose first fit drifted), and depth-first search on others (random graphs of few entries a row); rarely both do.
    `Claims` has the first turn if the start left little to be found, or if the graph is large; mostly it needs no other
    turn. Otherwise `PothenFan` has the first turn: a trial that takes one to three passes over the graph, except on
    small graphs. ``stats["depth_first"]`` counts the phases of `PothenFan`. All phases share the threads of the call.
    O(phases * entries) work, and at most log2(rows) + 3 phases a turn, except in the trial.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.eye_array(4, format="csr")
    >>> gmatch.max_matching(matrix, method=gmatch.Mixed()).stats["method"]
    'mixed'
    """

    solves = ON_CPU


ForestMethod = APFB | APsB | Claims | Ordered
"""The methods that grow a forest on all threads."""
Method = ForestMethod | PothenFan | Mixed

AUTO: dict[str, Method] = {"cpu": Mixed(), "gpu": Claims()}

METHODS: tuple[Method, ...] = (
    *(APFB(bfs, threads) for bfs in get_args(Bfs) for threads in get_args(Threads)),
    *(APsB(bfs, threads) for bfs in get_args(Bfs) for threads in get_args(Threads)),
    *(Claims(search, bfs) for search in get_args(Search) for bfs in get_args(Bfs)),
    *map(Ordered, get_args(Search)),
    PothenFan(),
    Mixed(),
)
"""Every method with every choice of its options: the paper's eight variants, four with claims, two by order, two for
the CPU."""

_BY_NAME: dict[str, Method] = {
    "apfb": APFB(),
    "apsb": APsB(),
    "claims": Claims(),
    "claims-apsb": Claims("apsb"),
    "ordered": Ordered(),
    **{method.name: method for method in METHODS},
}


def method_of(method: str | Method, device: str, deterministic: bool = False) -> Method:
    """The method that a string or a method object stands for on a device.

    ``"auto"`` is `Mixed` on the CPU and `Claims` on a GPU; if the matching must be `deterministic`, `Ordered` on both.
    """
    if deterministic:
        return _ordered_method_of(method, device)
    name = method.lower() if isinstance(method, str) else ""
    if name == "auto":
        return AUTO[device]
    found = method if isinstance(method, Method) else _BY_NAME.get(name)
    if found is None:
        names = "auto", *_BY_NAME
        raise InvalidInput(
            f"unknown method {method!r}; expected one of {', '.join(map(repr, names))}, or one of the "
            "objects gmatch.APFB(...), gmatch.APsB(...), gmatch.Claims(...), gmatch.Ordered(...), gmatch.PothenFan(), "
            f"gmatch.Mixed(){did_you_mean(method, names)}"
        )
    if "graph" not in found.solves.get(device, ()):
        raise does_not_solve(found, device, "graph", _BY_NAME)
    return found


def _ordered_method_of(method: str | Method, device: str) -> Ordered:
    if is_auto(method):
        return Ordered()
    found = method_of(method, device)
    if not isinstance(found, Ordered):
        raise InvalidInput(
            "deterministic=True needs a method whose matching is the same on every run, thread count and device; got "
            f"{found.name!r}; use method='auto', 'ordered-apfb' or 'ordered-apsb', or deterministic=False"
        )
    return found
