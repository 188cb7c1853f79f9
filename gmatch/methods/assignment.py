"""The methods of assignment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar, Literal, get_args

from .. import _native
from .method import AnyMethod, with_all_options

DENSE, NARROW, SPARSE, BATCH = (frozenset((kind,)) for kind in ("dense", "narrow", "sparse", "batch"))

Paths = Literal["many", "nearest"]


@dataclass(frozen=True)
class AssignmentMethod(AnyMethod):
    """A method of assignment. Backends have a program for each."""

    starts: ClassVar[tuple[str, ...]] = "reduce", "bids", "regret", "none"
    """The starts that it takes for dense costs, by their names in `lap`. All others become ``"reduce"``."""
    needs_room: ClassVar[bool] = False
    """Whether it takes only costs that leave room for duals along a path of all pairs: see `Ranged.fits_core`."""
    most_searches: ClassVar[int] = 1
    """How often all free rows may begin to search. A search has at most one phase more than there are rows."""

    @cached_property
    def many_paths(self) -> bool:
        """Whether a phase looks for as many paths as it finds, not for the nearest one only."""
        return False

    @cached_property
    def one_launch(self) -> bool:
        """Whether a GPU runs the whole search in one launch, which then counts phase by phase."""
        return True


@dataclass(frozen=True)
class Tree(AssignmentMethod):
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
        the paper. ``"many"`` needs five to thirty times fewer phases. Dense rectangular problems always take the
        nearest. Sparse rectangular problems, and sparse problems with a limit, are doubled into square ones for
        ``"many"``, if they have 400 rows or more. This takes twice the memory.

    Examples
    --------
    >>> gmatch.lap([[4, 1], [2, 0]], method=gmatch.Tree("nearest")).stats["method"]
    'tree-nearest'
    """

    solves = {"cpu": DENSE | NARROW | SPARSE | BATCH, "gpu": DENSE | NARROW | SPARSE | BATCH}

    paths: Paths = "many"

    @cached_property
    def many_paths(self) -> bool:
        return self.paths == "many"


class SparseTree(Tree):
    """`Tree` as ``"auto"`` runs it on a GPU where nearly all pairs of a matrix cost the same.

    It solves the sparse problem of the few cheaper pairs, in which a row may stay free at the common cost.
    """

    @cached_property
    def name(self) -> str:
        return "tree-many"


@dataclass(frozen=True)
class Classical(AssignmentMethod):
    """Assignment by the classical variant of the Hungarian algorithm (Date and Nagi 2016, Algorithms 7 and 8).

    Trees grow from all free rows at once along tight edges that are compressed to a list for each row; a dual step
    finds the least slack of the rows that are in trees. A phase ends with the nearest paths. O(n**2 m) work at worst,
    O(n + m) memory beside the costs.

    Examples
    --------
    >>> gmatch.lap([[4, 1], [2, 0]], method=gmatch.Classical()).stats["method"]
    'classical'
    """

    solves = {"cpu": DENSE | BATCH, "gpu": DENSE | BATCH}


@dataclass(frozen=True)
class Core(AssignmentMethod):
    """Assignment by pricing: solves a sparse core, then checks all other entries against its duals.

    The steps:

    1. One pass over the costs picks the best entries of each row: the core.
    2. An auction with shrinking epsilon (Bertsekas 1988) pairs nearly all rows in the core. A row whose offers get
       worse than what the core left out of it reads its row of the matrix again. If near rows want the same columns,
       the auction stops early: prices are smoothed (Cuturi 2013), and steps 1 and 2 are taken once more.
    3. Its prices are refined until these pairs are tight (Goldberg and Kennedy 1995).
    4. The search of `Tree` matches the other rows. A row reads its row of the matrix again before paths get longer
       than one by what the core left out.
    5. A pass over the costs finds the entries that violate the duals. They join the core, and step 4 follows, until
       there are none, or 16 times.

    If the core cannot match all rows, or 16 passes were not enough, `Tree` goes on in the matrix, from the duals of the
    core. O(n**2 m) work at worst, O(n + m) memory beside the costs: 1 KB a row for costs of 4 bytes, 1.5 KB for 8.

    On a GPU and on several threads the first search is given up if the rest of it would take long. The core then begins
    anew, from duals of a coarse matrix. The means of groups of 4 rows by 4 columns form this matrix, which takes 1/16
    of the memory of the costs. If there are more columns than rows, the core begins anew for a square problem: the
    matrix with up to 32 rows of zeros, or doubled to n + m rows. It then takes memory for the rows of that problem.

    On one thread of the host the core is solved by an auction and by shortest paths, as `JV` solves sparse costs. A row
    is priced again when its bid or a search reaches the entries that it left out (Volgenant 1996), so the end of the
    search is the proof. `JV` takes over, and ``stats["gave_up"]`` says so, if rows tie too much or want the same
    columns, if rows and columns are each other's best, if scales of rows differ, or if searches read too much of the
    matrix. It takes at most about as much memory again as the costs, and 3 KB a row.

    Examples
    --------
    >>> gmatch.lap([[4, 1], [2, 0]], method=gmatch.Core()).stats["method"]
    'core'
    """

    solves = {"cpu": DENSE | NARROW, "gpu": DENSE | NARROW}
    starts: ClassVar[tuple[str, ...]] = "reduce", "none"
    needs_room = True
    most_searches = _native.MOST_REPRICINGS + 2
    many_paths = True
    may_begin_in_matrix: ClassVar[bool] = False
    """Whether one processor may search the matrix first, which few and short searches make faster."""


class SerialCore(Core):
    """The core as ``"auto"`` runs it on the host.

    Threads share the pass over the matrix, the auction, and in a search of the matrix the reduction of columns.

    It begins as `JV`, in the matrix, if searches may be few and short: from given duals, and on one thread if there are
    more columns than rows. If these searches turn out to take long, the core goes on from their duals.
    """

    starts = ("reduce",)
    may_begin_in_matrix = True

    @cached_property
    def name(self) -> str:
        return "core"


@dataclass(frozen=True)
class TiedCore(Core):
    """The core as ``"auto"`` runs it on a GPU where whole costs have few values: it begins with a search in the matrix.

    This search is all it takes if most rows have many cheapest columns. If the search takes many levels, as distances
    that are cut off at a gate do, a core begins anew.
    """

    first: Literal["tree", "classical"] = "tree"

    @cached_property
    def name(self) -> str:
        return self.search.name

    @cached_property
    def search(self) -> AssignmentMethod:
        """The search in the matrix."""
        return Tree() if self.first == "tree" else Classical()


Form = Literal["baseline", "reductions", "fused", "cooperative", "registers"]


@dataclass(frozen=True)
class Munkres(AssignmentMethod):
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

    Examples
    --------
    >>> gmatch.lap([[4, 1], [2, 0]], method=gmatch.Munkres("fused")).stats["method"]
    'munkres-fused'
    """

    solves = {"cpu": DENSE, "gpu": DENSE}

    form: Form = "registers"

    @cached_property
    def one_launch(self) -> bool:
        return self.form in ("cooperative", "registers")

    @property
    def rung(self) -> int:
        """The number of the form in the ladder, from 0, as in csrc/assignment/munkres.cuh."""
        return get_args(Form).index(self.form)


@dataclass(frozen=True)
class JV(AssignmentMethod):
    """Assignment by shortest augmenting paths, one after the other (Jonker and Volgenant 1987; Crouse 2016).

    On the CPU: column reduction, reduction transfer, augmenting row reduction, Dijkstra; serial. If Dijkstra's searches
    turn out to take long, as for costs (i + 1) (j + 1), all begins anew from the prices of an auction (Bertsekas 1988).
    O(n**2 m) work at worst, O(n + m) memory beside the costs, and up to 16 MB for a copy of whole costs in 32 bits.

    On a GPU it solves batches, one problem in one block; ``"auto"`` gives it a small matrix as a batch of one problem.
    Free rows bid in rounds, one row for each warp, with 2 to 4 bids for each row on average. No column is reduced
    before. After half of the bids the duals of free columns rise, if the problem is square. A step of a search reads
    several rows. If the distance of a row falls later, the row is read again. Equal batches get equal answers.

    For sparse costs Dijkstra has a heap and starts from many rows at once. If all columns are to be matched and few
    costs tie, it starts from an auction. ``"auto"`` solves sparse costs as dense ones where that is faster.

    Examples
    --------
    >>> gmatch.lap([[4, 1], [2, 0]], method=gmatch.JV()).stats["method"]
    'jv'
    """

    solves = {"cpu": DENSE | NARROW | SPARSE | BATCH, "gpu": BATCH}
    starts = ("reduce",)


class SparseJV(JV):
    """The method as ``"auto"`` runs it for sparse costs on the host: in a dense matrix if that is faster."""

    @cached_property
    def name(self) -> str:
        return "jv"


KINDS_OF_METHODS = JV, Core, Tree, Classical, Munkres


ASSIGNMENT_METHODS: tuple[AssignmentMethod, ...] = tuple(chain.from_iterable(map(with_all_options, KINDS_OF_METHODS)))
"""Every method of assignment with every choice of its options."""


ASSIGNMENT_BY_NAME: dict[str, AssignmentMethod] = {
    **{kind.__name__.lower(): kind() for kind in KINDS_OF_METHODS},
    **{method.name: method for method in ASSIGNMENT_METHODS},
}
