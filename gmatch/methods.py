"""The methods of both problems: frozen objects whose fields are their options.

A plain string means a method: ``"apfb"`` is ``APFB()``, and the papers' full names choose the fields, as in
``"apsb-gpubfs-wr-mt"`` or ``"claims-apsb-gpubfs"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from .errors import InvalidInput

if TYPE_CHECKING:
    from .problems.dense import DenseCosts

Bfs = Literal["gpubfs", "gpubfs-wr"]
Threads = Literal["ct", "mt"]
Search = Literal["apfb", "apsb"]


class ForestKind(IntEnum):
    """How races for a vertex are settled; numbered as `ForestKind` in csrc."""

    SPECULATIVE = 0
    SPECULATIVE_WITH_ROOTS = 1
    CLAIMED = 2
    CLAIMED_WITH_ROOTS = 3
    ORDERED = 4


_type_hints: Callable[[type], dict[str, Any]] = cache(get_type_hints)


@dataclass(frozen=True)
class _Method:
    def __post_init__(self) -> None:
        for option, hint in _type_hints(type(self)).items():
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

    On a GPU ``"apfb"`` grows trees unevenly: between two barriers of the grid each block does up to 24 levels by
    itself, from its share of the frontier. ``stats["levels"]`` counts those of the first block then.

    Parameters
    ----------
    search : {"apfb", "apsb"}
        A phase ends when no tree can grow, or at the level that finds the first path. With ``"gpubfs-wr"`` the former
        ends, too, when half as many path ends as there are trees have been found, and the frontier has come down to a
        sixteenth of its widest, if that was 1024 rows or more.
    bfs : {"gpubfs-wr", "gpubfs"}
        Whether a tree that found a path stops growing.
    """

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


@dataclass(frozen=True)
class Ordered(_Method):
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
    """

    search: Search = "apfb"
    forest = ForestKind.ORDERED

    @property
    def shortest_only(self) -> bool:
        """Whether a phase ends with the shortest paths."""
        return self.search == "apsb"


@dataclass(frozen=True)
class PothenFan(_Method):
    """Augmenting paths by depth-first searches (Pothen and Fan 1990; Duff, Kaya and Ucar 2011, PFP+).

    Each row first looks for a free column, going on where its last look ended (lookahead); columns are scanned forwards
    and backwards in alternate phases (fairness); a failed search that met no other one of its phase leaves a dead tree,
    which nobody searches again. Serial, on the CPU. O(phases * entries) work.

    References
    ----------
    Pothen, Fan, "Computing the block triangular form of a sparse matrix", ACM Transactions on Mathematical Software 16
    (1990), 303-324. Duff, Kaya, Ucar, "Design, implementation, and analysis of maximum transversal algorithms", ACM
    Transactions on Mathematical Software 38 (2011), 13:1-13:31.
    """

    @cached_property
    def name(self) -> str:
        return "pothen-fan"


@dataclass(frozen=True)
class Mixed(_Method):
    """`Claims` and `PothenFan` in turns, on the CPU.

    A turn ends when two of its phases found more than half as many paths as one before them: many more such phases
    would follow. Breadth first needs hundreds of phases on some graphs (a dense staircase, a mesh whose first fit
    drifted), depth first on others (random ones of few entries a row); rarely both. `Claims` has the first turn where
    the start left little to be found, or the graph is large, and mostly needs no other; else `PothenFan` has it, on all
    but small graphs for as long as one to three passes over the graph take. ``stats["depth_first"]`` counts the
    phases of `PothenFan`: those are serial, the others share the threads of the call. O(phases * entries) work, and at
    most log2(rows) + 3 phases a turn, but for the trial.
    """


Method = APFB | APsB | Claims | Ordered | PothenFan | Mixed

_AUTO: dict[str, Method] = {"cpu": Mixed(), "gpu": Claims()}

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
    if isinstance(method, Method):
        return method
    by_name = {"auto": _AUTO[device], **_BY_NAME}
    found = by_name.get(method.lower()) if isinstance(method, str) else None
    if found is None:
        raise InvalidInput(
            f"unknown method {method!r}; expected one of {', '.join(map(repr, by_name))}, or one of the "
            "objects gmatch.APFB(...), gmatch.APsB(...), gmatch.Claims(...), gmatch.Ordered(...), gmatch.PothenFan(), "
            "gmatch.Mixed()"
        )
    return found


def _is_auto(method: Any) -> bool:
    return isinstance(method, str) and method.lower() == "auto"


def _ordered_method_of(method: str | Method, device: str) -> Ordered:
    if _is_auto(method):
        return Ordered()
    found = method_of(method, device)
    if not isinstance(found, Ordered):
        raise InvalidInput(
            "deterministic=True needs a method whose matching is the same on every run, thread count and device; got "
            f"{found.name!r}; use method='auto', 'ordered-apfb' or 'ordered-apsb', or deterministic=False"
        )
    return found


Paths = Literal["many", "nearest"]


@dataclass(frozen=True)
class Tree(_Method):
    """Assignment by the alternating tree variant of the Hungarian algorithm (Date and Nagi 2016, Algorithms 4 and 9).

    Trees grow from all free rows at once along tight edges; every column keeps its distance from the nearest root, and
    a dual step is one pass over the columns. O(n**2 m) work at worst, O(n + m) memory beside the costs. For sparse
    costs a dual step finds all distances up to the next free columns, near ones first (Meyer and Sanders 2003); with
    ``paths="many"``, where all columns are to be matched and costs differ, from the prices of an auction that is
    refined (Bertsekas 1988; Goldberg and Kennedy 1995).

    Parameters
    ----------
    paths : {"many", "nearest"}
        A phase ends when half of its trees have found a path, each at its own distance, or with the nearest path, as in
        the paper. ``"many"`` needs five to thirty times fewer phases; rectangular problems always take the nearest.
    """

    paths: Paths = "many"


@dataclass(frozen=True)
class Classical(_Method):
    """Assignment by the classical variant of the Hungarian algorithm (Date and Nagi 2016, Algorithms 7 and 8).

    Trees grow from all free rows at once along tight edges that are compressed to a list for each row; a dual step
    finds the least slack of the rows that are in trees. A phase ends with the nearest paths. O(n**2 m) work at worst,
    O(n + m) memory beside the costs.
    """


@dataclass(frozen=True)
class Core(_Method):
    """Assignment by pricing: a sparse core is solved, and the rest of the matrix only held against its duals.

    One pass over the costs picks the best entries of every row. An auction with shrinking epsilon (Bertsekas 1988)
    pairs nearly all rows along them, its prices are refined until these pairs are tight (Goldberg and Kennedy 1995),
    the search of `Tree` matches the other rows, and a pass over the costs finds what their duals overprice; that joins
    the core, until there is nothing; a core without room for it is picked anew. Where the auction leaves columns that
    are among the best of too few rows, the core learns of them first. Where all rows want the same columns, the auction
    is held in the whole matrix, and the core picked anew by its prices; where it makes next to no pair tight, minima of
    rows and columns take its place; where no core can do it, `Tree` goes on in the matrix, after such an auction. Where
    half of the entries picked are the best of their rows, for they are equal, or most rows and columns find each other
    best, `Tree` solves the matrix at once.
    O(n**2 m) work at worst, O(n + m) memory beside the costs, 1 KB a row.

    On one thread of the host the core is solved by shortest paths, as `JV` solves sparse costs, and a row is priced
    again when a search comes as far as what it left out (Volgenant 1996), so that the end of the search is the proof.
    Where rows tie too much or want the same columns, rows and columns want each other, scales of rows differ, or
    searches want to know too much, ``stats["gave_up"]`` says so, and `JV` goes on. At most about as much memory again
    as the costs take, and 3 KB a row.
    """


class SerialCore(Core):
    """The core as ``"auto"`` runs it on the host: the threads share the pass over the matrix, and one searches."""

    @cached_property
    def name(self) -> str:
        return "core"


Form = Literal["baseline", "reductions", "fused", "cooperative", "registers"]


@dataclass(frozen=True)
class Munkres(_Method):
    """Assignment by Munkres' method on a matrix of slacks, rewritten by every dual step (Lopes et al. 2019).

    The forms are the ladder of Kawtikwar, Chang and Govind's report, which `benchmarks/papers.py` measures. O(n**2 m)
    dual work for each phase at worst; a matrix of slacks beside the costs, of 4 bytes an entry for int32 costs of
    moderate range, of 8 else.

    Parameters
    ----------
    form : {"registers", "cooperative", "fused", "reductions", "baseline"}
        ``"baseline"``: a launch for each pass, all zeros counted by atomic additions. ``"reductions"``: counted by a
        sum over rows. ``"fused"``: adding, subtracting and compressing in one pass. ``"cooperative"``: all in one
        launch, and a search goes on after a dual step. ``"registers"``: a slack is read once, and only if it changes.
        On the CPU a launch is a pass between two barriers.
    """

    form: Form = "registers"

    @property
    def rung(self) -> int:
        """Of the ladder, from 0; numbered as in csrc/assignment/munkres.cuh."""
        return get_args(Form).index(self.form)


@dataclass(frozen=True)
class JV(_Method):
    """Assignment by shortest augmenting paths, one after the other (Jonker and Volgenant 1987; Crouse 2016).

    Column reduction, reduction transfer, augmenting row reduction, Dijkstra. Serial, on the CPU. Where Dijkstra's
    searches turn out to take long, as for costs (i + 1) (j + 1), all begins anew from the prices of an auction
    (Bertsekas 1988). O(n**2 m) work at worst, O(n + m) memory beside the costs, and up to 16 MB for a copy of whole
    costs in 32 bits. For sparse costs Dijkstra has a heap and starts from many rows at once; where all columns are to
    be matched and few costs tie, from an auction at once; ``"auto"`` solves them as dense costs where that is faster.
    """


class SparseJV(JV):
    """The method as ``"auto"`` runs it for sparse costs on the host: in a dense matrix where that is faster."""

    @cached_property
    def name(self) -> str:
        return "jv"


AssignmentMethod = Core | Tree | Classical | Munkres | JV

ASSIGNMENT_METHODS: tuple[AssignmentMethod, ...] = (
    JV(), Core(), Tree(), Tree("nearest"), Classical(), *(Munkres(form) for form in get_args(Form)),
)  # fmt: skip
"""Every method of assignment with every choice of its options."""

# Made once: so are their names.
_JV, _SPARSE_JV, _TREE, _CLASSICAL = JV(), SparseJV(), Tree(), Classical()
_CORE, _SERIAL_CORE = Core(), SerialCore()

_ASSIGNMENT_BY_NAME: dict[str, AssignmentMethod] = {
    "jv": _JV,
    "core": _CORE,
    "tree": _TREE,
    "classical": _CLASSICAL,
    "munkres": Munkres(),
    **{method.name: method for method in ASSIGNMENT_METHODS},
}


# One block solves a problem of a batch; with more columns than these it saves to read short lists instead of rows.
FEW_COLUMNS = 128


def batch_method_of(method: str | AssignmentMethod, device: str, most_columns: int) -> tuple[AssignmentMethod, str]:
    """As `assignment_method_of`, for a batch of problems of so many columns."""
    if _is_auto(method) and device == "gpu" and most_columns <= FEW_COLUMNS:
        return _TREE, "a batch of small problems"
    if _is_auto(method) and device == "gpu":
        return _CLASSICAL, "a batch of problems of many columns"
    if _is_auto(method):
        return _JV, ONE_CORE_REASON
    return assignment_method_of(method, device)


# Whole costs that differ by no more than so many times the rows: they tie, and many paths have one length.
FEW_VALUES = {"cpu": 0.7, "gpu": 0.4}
# Where fewer values, lists of tied entries overflow, and the classical variant reads whole rows.
FEWEST_VALUES = 1 / 32
# Where fewer values, bids of the rows that minima leave win little; the classical variant begins with lists else.
FEW_VALUES_FOR_BIDS = {"tree": 0.4, "classical": 2}
# A problem of fewer rows is solved by the search before pricing and an auction are done; a square one with so many
# values of costs for each row, or more, if it has fewer than half as many.
FEW_ROWS, MANY_VALUES = 256, 4


def bids_pay(method: AssignmentMethod, costs: DenseCosts | None = None) -> bool:
    """Whether it is best to start from bids. None stands for problems that are not looked at first, as of a batch."""
    if not isinstance(method, Tree | Classical):
        return False
    if costs is None:
        return isinstance(method, Tree)
    return costs.values_per_row() > FEW_VALUES_FOR_BIDS[type(method).__name__.lower()]


def _gpu_method_of(costs: DenseCosts | None) -> tuple[AssignmentMethod, str]:
    if costs is None:
        return _TREE, "sparse costs"
    if costs.values_per_row() <= FEWEST_VALUES:
        return _TREE, "ties: whole costs of very few values for each row"
    if costs.values_per_row() <= FEW_VALUES["gpu"]:
        return _CLASSICAL, "ties: whole costs of few values for each row"
    takes_long = costs.shape[0] == costs.shape[1] and costs.values_per_row() >= MANY_VALUES
    if min(costs.shape) < (FEW_ROWS // 2 if takes_long else FEW_ROWS):
        return _TREE, "few rows"
    if not costs.fits_core():
        return _TREE, "costs of a range that leaves no room for the duals of a part of them"
    return _CORE, "few ties: few entries of a row matter"


# On one core of the host rows that are shorter are read as a whole in less time than some of their entries are picked.
# Integers of 32 bits are compared twice as many at a time; and where they tie, searches are short.
FEW_ROWS_ON_CPU = {"f": 1000, "i": 1500}
FEW_ROWS_WITH_TIES_ON_CPU = 2500
FEW_ROWS_REASON = "few rows: on one core shortest augmenting paths do least work"
ONE_CORE_REASON = "on one core shortest augmenting paths do least work"
LAID_OUT = "many of the pairs are stored, or all are few: solved as dense costs"


def _cpu_method_of(costs: DenseCosts | None) -> tuple[AssignmentMethod, str]:
    if costs is None:
        return _SPARSE_JV, ONE_CORE_REASON
    if min(costs.shape) < FEW_ROWS_ON_CPU[costs.array.dtype.kind]:
        return _JV, FEW_ROWS_REASON
    if costs.values_per_row() <= FEW_VALUES["cpu"] and min(costs.shape) < FEW_ROWS_WITH_TIES_ON_CPU:
        return _JV, "ties: whole costs of few values for each row"
    if not costs.fits_core():
        return _JV, "costs of a range that leaves no room for the duals of a part of them"
    return _SERIAL_CORE, "few entries of a row matter, unless many tie"


def assignment_method_of(
    method: str | AssignmentMethod, device: str, costs: DenseCosts | None = None
) -> tuple[AssignmentMethod, str]:
    """The method that a string or a method object stands for, and why: asked for, or chosen by ``"auto"``.

    None stands for sparse costs. For which ones what is chosen was measured: see benchmarks/LOG.md.
    """
    if isinstance(method, AssignmentMethod):
        return method, "asked for"
    if _is_auto(method):
        return _cpu_method_of(costs) if device == "cpu" else _gpu_method_of(costs)
    found = _ASSIGNMENT_BY_NAME.get(method.lower()) if isinstance(method, str) else None
    if found is None:
        raise InvalidInput(
            f"unknown method {method!r}; expected one of 'auto', {', '.join(map(repr, _ASSIGNMENT_BY_NAME))}, or one "
            "of the objects gmatch.JV(), gmatch.Core(), gmatch.Tree(...), gmatch.Classical(), gmatch.Munkres(...)"
        )
    return found, "asked for"
