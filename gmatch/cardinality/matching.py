"""`max_matching`: problem, backend, method, result."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from ..arrays import MAX_VERTICES, device_of, mover_to, row_of_each_entry, rows_without_their_edge
from ..backends import BACKENDS, backend_for
from ..backends.protocol import Backend
from ..errors import InvalidInput, changed
from ..methods import AUTO, Method, Mixed, PothenFan, method_of
from ..problems.graph import BipartiteGraph, as_graph
from ..proof.verify import verify
from ..result import Matching
from ..small import SMALL_TYPES, matching_small
from ..tensors import comes_back, in_its_library


class Start(IntEnum):
    """Matchings to start from; numbered as `Start` in csrc."""

    NONE = 0
    CHEAP = 1
    SHUFFLED = 2
    MIN_DEGREE = 3
    KARP_SIPSER = 4
    GIVEN = 5
    AUTO = 6
    EARLIER = 7  # given as a `Matching`: pairs that are no edges any more are dropped

    @property
    def label(self) -> str:
        return "given" if self is Start.EARLIER else self.name.lower().replace("_", "-")


STARTS = {start.label: start for start in Start if start.label != "given"}


def max_matching(
    graph: Any,
    *,
    method: str | Method = "auto",
    initial: Any = "auto",
    device: str | None = None,
    threads: int | None = None,
    deterministic: bool = False,
    certify: bool = False,
) -> Matching:
    """A maximum cardinality matching of a bipartite graph, with its proof.

    Parameters
    ----------
    graph : scipy.sparse array or matrix, cupyx.scipy.sparse matrix, (indptr, indices, shape), or BipartiteGraph
        Or a sparse tensor of torch, or an array of PyData's sparse. Rows and columns are the two sides. Every stored
        entry is an edge, also if its value is zero (``A.eliminate_zeros()`` on a copy drops zeros). See
        `BipartiteGraph`, which also takes networkx graphs.
    method : str or method object
        ``"auto"`` is `Mixed` on the CPU, and `Claims` on a GPU. Methods of the literature are ``"apfb"`` and ``"apsb"``
        (Deveci et al. 2013), ``"claims"`` (Date and Nagi 2016) and ``"pothen-fan"`` (Pothen and Fan 1990; on the
        CPU). There are also ``"ordered"``, and objects with options: `APFB`, `APsB`, `Claims`, `Ordered`,
        `PothenFan`, `Mixed`.
    initial : str, Matching, or integer array of shape (rows,)
        The matching to start from.

        - ``"auto"``: ``"cheap"`` for methods that search depth first, which mend a bad start. For others
          ``"min-degree"`` if a fourth of the entries stand in rows of more than eight times the mean; otherwise
          ``"cheap"`` or ``"shuffled"``, whichever suits the numbering of the graph.
        - ``"cheap"``: the first fit, row by row, equal for any number of threads.
        - ``"shuffled"``: the first fit with rows and their columns in a shuffled order.
        - ``"min-degree"``: the shuffled first fit in which rows of few entries choose first (by powers of two;
          Langguth, Manne and Sanders 2010).
        - ``"karp-sipser"``: vertices with one free neighbour are matched first.
        - ``"none"``: no pairs.
        - an array: the column of each row, -1 for a free row. It is checked, never changed, and completed.
        - a `Matching`: it may be the matching of this graph before edges were added or removed. Pairs that are no edges
          any more are dropped, and ``stats["dropped"]`` counts them. The search then starts only from the rows left
          free. The final, proving phase is not shortened: if free rows reach most of the graph, it costs as much as
          from scratch.
    device : {None, "cpu", "gpu"}
        None: where the graph lives. Otherwise the graph is moved there, and the result back, once.
    threads : int, optional
        Host threads. By default one for each 2**18 entries, at most one for each processor; and one if these are fewer
        than 4, since 2 or 3 are often slower below 2**25 entries. A GPU sizes its own grid.
    deterministic : bool
        Return equal matchings and covers on every run, number of threads and device. ``"auto"`` is then `Ordered`, in
        which the smallest row gets a column, not the first one. On one core of the CPU this takes twice the time of
        `Mixed`, and many times where breadth-first search is slow. Not with other methods, nor with ``"karp-sipser"``.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Matching
        ``row_ind, col_ind = max_matching(A)`` works. Its arrays live where the graph lives.

    Raises
    ------
    InvalidInput
        If the graph, the start or an option is not valid: before any search.
    BackendUnavailable
        If the device asked for cannot be used here, or if the system does not start the threads.
    MemoryError
        If the device has no room for the work (CuPy's OutOfMemoryError is one).
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.
    KeyboardInterrupt
        On Ctrl-C, within 0.2 s where the main thread called; so does what another handler of signals raises. A call on
        a GPU cannot be interrupted: the error comes when it ends.

    Notes
    -----
    O(phases * entries) work, and O(levels * rows) more for the speculative methods. There are at most
    min(rows, columns) + 1 phases. Mostly there are a handful to some dozens; breadth first, a dense staircase takes a
    fixed share of its rows. ``stats`` says what ran: method, start, phases, and how many of them searched depth first.
    O(rows + columns) memory beside the graph and a byte for 8 entries, and the graph once more for ``"karp-sipser"``.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> row_ind, col_ind = matching = gmatch.max_matching(matrix)
    >>> matching.size, row_ind.tolist(), col_ind.tolist()
    (2, [0, 1], [0, 1])
    >>> [vertices.tolist() for vertices in matching.vertex_cover()]
    [[0], [1]]
    """
    if type(graph) in SMALL_TYPES:
        if (
            type(method) is type(initial) is str and method == initial == "auto"
            and (device is None or type(device) is str and device == "cpu")
            and (threads is None or type(threads) is int and threads == 1) and not deterministic and not certify
        ):  # fmt: skip
            quick = matching_small(graph, _stats)
            if quick is not None:
                return quick
    elif comes_back(graph):
        options: dict[str, Any] = {
            "method": method, "initial": initial, "device": device, "threads": threads, "deterministic": deterministic,
            "certify": certify,
        }  # fmt: skip
        matching: Matching = in_its_library(graph, max_matching, **options)
        return matching
    problem = as_graph(graph)
    backend = BACKENDS[problem.device] if device is None else backend_for(None, device)
    chosen = method_of(method, backend.NAME, deterministic)
    if threads is not None:
        backend.check_threads(threads)
    start, given = _start_of(initial, problem)
    if deterministic:
        refuse_racing_start(start)
    if start is Start.KARP_SIPSER:
        problem = problem.private()  # the program transposes it in two passes, which must read equal arrays
    result = _solved(problem, Plan(backend, chosen, threads), start, given)
    if certify:
        verify(problem, result)
    return result


class Plan(NamedTuple):
    """How a graph is solved."""

    backend: Backend
    method: Method
    threads: int | None


def largest_matching(problem: BipartiteGraph, threads: int | None) -> Matching:
    """A largest matching, as `max_matching` finds it without options."""
    plan = Plan(BACKENDS[problem.device], AUTO[problem.device], threads)
    return _solved(problem, plan, Start.AUTO, None)


def _solved(problem: BipartiteGraph, plan: Plan, start: Start, given: Any) -> Matching:
    """The result for the graph as given, where the graph lives."""
    backend, method, threads = plan
    if start is Start.AUTO and isinstance(method, PothenFan | Mixed):
        start = Start.CHEAP  # depth-first searches mend a first fit with drift
    there = problem if problem.device == backend.NAME else problem.on(backend.NAME)
    row_match = None if given is None else mover_to(backend.NAME)(_as_int32(given))
    row_match, col_match, reached, counters = backend.match(there, method, start, row_match, threads)
    if start is Start.GIVEN and counters["dropped"]:
        raise _what_is_wrong(given, problem)
    if there is not problem:
        back = mover_to(problem.device)
        row_match, col_match, reached = back(row_match), back(col_match), back(reached)
    stats = _stats(counters, method.name, backend.NAME)
    return Matching(counters["size"], row_match, col_match, reached, stats, problem.row_nodes, problem.col_nodes)


def _stats(counters: dict[str, Any], method: str, backend: str) -> dict[str, Any]:
    """The stats of a Matching."""
    others = (
        "size", "start", "start_ns", "search_ns", "augment_ns", "price_ns", "dual_steps", "rows_scanned", "bids",
        "rows_read", "repricings", "dense_searches",
    )  # fmt: skip
    return {
        "method": method,
        "initial": Start(counters["start"]).label,
        "backend": backend,
        "seconds": {step: counters[f"{step}_ns"] / 1e9 for step in ("start", "search", "augment")},
        **{name: count for name, count in counters.items() if name not in others},
    }


def structural_rank(matrix: Any, **options: Any) -> int:
    """The largest rank that a matrix with this pattern can have: the size of a maximum matching of rows and columns.

    Parameters
    ----------
    matrix : as `graph` of `max_matching`
    **options
        As for `max_matching`.

    Returns
    -------
    int

    Examples
    --------
    >>> import scipy.sparse
    >>> gmatch.structural_rank(scipy.sparse.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]]))
    2
    """
    return max_matching(matrix, **options).size


def refuse_racing_start(start: Start) -> None:
    """Raises `InvalidInput` for a start that is not the same on every run, thread count and device."""
    if start is Start.KARP_SIPSER:
        raise InvalidInput(
            "deterministic=True needs a start that is the same on every run, thread count and device; got "
            "'karp-sipser'; use initial='auto', 'cheap', 'shuffled', 'min-degree', 'none' or a matching, or "
            "deterministic=False"
        )


def _start_of(initial: Any, problem: BipartiteGraph) -> tuple[Start, Any]:
    """The kind of start, and the given pairs, which are not yet checked."""
    if not isinstance(initial, str):
        return Start.EARLIER if isinstance(initial, Matching) else Start.GIVEN, _given_matching(initial, problem)
    if initial in STARTS:
        return STARTS[initial], None
    raise InvalidInput(f"unknown start {initial!r}; expected {', '.join(map(repr, STARTS))}, a Matching, or an array")


def _given_matching(initial: Any, problem: BipartiteGraph) -> Any:
    """The rows' side of a given matching, as an array of integers; the program checks the pairs."""
    rows = problem.shape[0]
    given = initial.row_match if isinstance(initial, Matching) else initial
    if isinstance(given, np.ma.MaskedArray):
        raise InvalidInput("initial must not be masked; use initial.filled(-1), if masked rows are free")
    if not isinstance(given, np.ndarray) and device_of(given) == "cpu":
        try:
            given = np.asarray(given if len(given) else np.empty(0, np.int32))
        except MemoryError:
            raise
        except Exception as error:  # whatever the methods of a user's class raise
            raise InvalidInput(f"initial must be a Matching or an array of integers; got {error}") from error
    if given.dtype.kind != "i" or given.shape != (rows,):
        raise InvalidInput(
            f"initial must be a Matching or an integer array of shape ({rows},), the column of each row or -1; "
            f"got {given.dtype} of shape {given.shape}"
        )
    return given


def _as_int32(given: Any) -> Any:
    """A copy for the program. A number that int32 does not hold is no column anyway."""
    return given.clip(-2, MAX_VERTICES).astype(np.int32) if given.dtype.itemsize > 4 else given.astype(np.int32)


def _what_is_wrong(given: Any, problem: BipartiteGraph) -> InvalidInput:
    """Names the first pair of a given matching that is wrong."""
    columns = problem.shape[1]
    given = mover_to(problem.device)(given).astype(np.int64)
    lowest, highest = int(given.min()), int(given.max())
    if not -1 <= lowest <= highest < columns:
        return InvalidInput(f"initial must hold columns from 0 to {columns - 1}, or -1; got {lowest} to {highest}")
    row_of = row_of_each_entry(problem.indptr, problem.entries)
    missing = rows_without_their_edge(given, row_of, problem.indices[: problem.entries])
    if len(missing):
        row = int(missing[0])
        return InvalidInput(
            f"initial must be a matching of the graph; row {row} has no entry in column {int(given[row])}"
        )
    mates = given[given >= 0]
    mates.sort()
    twice = mates[1:][mates[1:] == mates[:-1]]
    if not len(twice):
        return changed("the graph or initial")
    return InvalidInput(f"initial must be a matching; column {int(twice[0])} is given to more than one row")
