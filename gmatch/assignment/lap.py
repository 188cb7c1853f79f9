"""`lap`: what the user wrote becomes a problem, a plan and a start; they are solved; the result is proven if asked."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

import numpy as np

from ..arrays import truth_of
from ..backends import backend_for
from ..errors import InvalidInput
from ..methods import assignment_method_of, batch_method_of
from ..methods.method import is_auto
from ..problems.batch import CostBatch, is_batch
from ..problems.costs import costs_of, refuse_options_of_graphs
from ..problems.dense import DenseCosts
from ..problems.points import PointCosts, look_like_points, points_of
from ..problems.row_blocks import RowBlocks
from ..problems.windows import WindowCosts, as_windows, windows_of
from ..proof.verify import verify
from ..result import Assignment, AssignmentBatch
from ..small import small_first
from .as_scipy import refuse_what_scipy_lacks, with_scipys_pairs
from .batch import solve_batch, start_of_batch
from .gap import gap_of, within_bound
from .points import lap_of_points
from .programs import Plan
from .request import STARTS, AssignmentStart, Costs, refuse_what_does_not_fit, start_of
from .solve import solve

__all__ = ["STARTS", "AssignmentStart", "lap"]

TWO_CLOUDS = (
    "a sequence of two arrays is a batch of two cost matrices; if these are points, one in each row, use "
    "gmatch.lap(gmatch.PointCosts(x, y)); if they are costs, gmatch.CostBatch([x, y]) says so"
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..methods import AssignmentMethod


class _Network(Protocol):
    """A graph of networkx."""

    def to_undirected(self, as_view: bool = False) -> Any: ...


class _Sparse(Protocol):
    """A sparse matrix of SciPy or CuPy."""

    def tocsr(self) -> Any: ...


# Costs of which the type says whether they are those of one problem or of many. The types of most arrays do not
# say how many dimensions there are; such a type fits any number, even one that no costs have.
_Matrix = Costs | _Sparse | _Network | np.ndarray[tuple[int, int], Any]
_Problem = (
    _Matrix | PointCosts | WindowCosts | RowBlocks | Sequence[Sequence[float]] | Sequence[np.ndarray[tuple[int], Any]]
)
_Problems = CostBatch | np.ndarray[tuple[int, int, int], Any] | Sequence[_Matrix] | Sequence[Sequence[Sequence[float]]]
_OfUnknownShape = np.ndarray[tuple[int, int, int, int], Any]


class _Options(TypedDict, total=False):
    maximize: bool
    method: str | AssignmentMethod
    initial: Any
    duals: tuple[Any, Any] | None
    cost_limit: Any
    forbid_nan: bool
    infeasible: str
    deterministic: bool
    ties: str | None
    device: str | None
    threads: int | None
    certify: bool
    top_nodes: Iterable[Hashable] | None
    weight: Hashable | None
    comm: Any
    devices: Sequence[int] | None
    gap: float | None


@overload
def lap(cost: Any, *, sizes: npt.ArrayLike, **options: Unpack[_Options]) -> AssignmentBatch: ...
@overload
def lap(cost: Any, *, mask: npt.ArrayLike, **options: Unpack[_Options]) -> AssignmentBatch: ...
@overload
def lap(cost: _OfUnknownShape | Sequence[_OfUnknownShape], **options: Unpack[_Options]) -> Any: ...
@overload
def lap(cost: _Problem, **options: Unpack[_Options]) -> Assignment: ...
@overload
def lap(cost: _Problems, **options: Unpack[_Options]) -> AssignmentBatch: ...
@overload
def lap(cost: Any, *, sizes: Any = None, mask: Any = None, **options: Unpack[_Options]) -> Any: ...
@small_first
def lap(
    cost: Any,
    *,
    maximize: bool = False,
    method: str | AssignmentMethod = "auto",
    initial: Any = "auto",
    duals: tuple[Any, Any] | None = None,
    cost_limit: Any = None,
    forbid_nan: bool = False,
    infeasible: str = "raise",
    deterministic: bool = False,
    ties: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    certify: bool = False,
    sizes: Any = None,
    mask: Any = None,
    top_nodes: Iterable[Hashable] | None = None,
    weight: Hashable | None = "weight",
    comm: Any = None,
    devices: Sequence[int] | None = None,
    gap: float | None = None,
) -> Any:
    """The cheapest way to match rows with columns (linear assignment), with its proof; of one problem or of many.

    Parameters
    ----------
    cost : array or sparse matrix, shape (rows, columns); array, shape (problems, rows, columns); sequence of matrices
        NumPy or CuPy array, PyTorch tensor or another array, DataFrame, or nested lists; see `DenseCosts` for types
        and ranges. Of a sparse matrix of SciPy, CuPy or PyTorch the stored entries, explicit zeros too, are the only
        allowed pairs, and duplicates are summed; see `SparseCosts`. Never changed. min(rows, columns) pairs are made.
        +inf forbids a pair (-inf when maximizing). A large number does not: where too few other pairs are allowed, it
        is used as any cost is, and the exact sums that it enters need more digits. Of a bipartite networkx graph the
        edges are the only allowed pairs; the answer's `Assignment.pairs` are pairs of nodes. For costs that are no
        matrix see `PointCosts`, `FunctionCosts` and `RowWindows`; a `numpy.memmap` or an array of h5py or zarr that
        takes more than half of the memory is solved as a `RowWindows`.
    maximize : bool
        Find the dearest assignment instead.
    method : str or method object
        ``"auto"``, ``"jv"`` (Jonker and Volgenant 1987: shortest augmenting paths, serial, on the CPU; Crouse 2016 for
        rectangular costs), ``"core"`` (pricing, an auction and the search, along few entries of the matrix), ``"tree"``
        and ``"classical"`` (Date and Nagi 2016: all trees at once, with a slack for each column, or along lists of
        tight edges), ``"munkres"`` (Lopes et al. 2019: on a matrix of slacks, one more beside the costs), or an object
        with options: `JV`, `Core`, `Tree`, `Classical`, `Munkres`. Sparse costs take ``"jv"`` and ``"tree"``.
    initial : {"auto", "reduce", "bids", "regret", "none"}, Assignment, or integer array of shape (rows,)
        What to start from. ``"reduce"`` takes the minima of rows and columns for duals, and matches what they make
        tight. ``"bids"`` goes on from there: for a while the rows that are left bid for the columns of others (Jonker
        and Volgenant's augmenting row reduction, all rows at once). ``"regret"`` matches by Vogel's rule: a column
        goes to the row that would lose most by its second best (Kawtikwar, Cravens and Yang's report). ``"auto"`` is
        ``"bids"`` for ``"tree"`` and ``"classical"`` where few of the costs tie, else ``"reduce"``. ``"jv"`` and
        ``"core"`` have starts of their own, which ``stats`` calls ``"reduce"``; sparse costs take no bids and no
        regret. An array holds the column of each row, -1 for a free one; it is checked, never changed, and the method
        keeps what it can of it. An Assignment also brings its duals.
    duals : (u, v), arrays of shapes (rows,) and (columns,)
        Duals to start from, such as those of an earlier `Assignment`: after a small change of the costs a small part
        of the work remains. They need not be feasible. Of the minimisation form: those of ``-cost`` when maximizing.
        Signed integers for integer costs.
    cost_limit : number, optional
        A pair dearer than this is never made (when maximizing: a pair worth less), and rows and columns may stay free
        instead, at half the limit each. Forbidden pairs are only dear ones then: never infeasible. With
        ``maximize=True`` and ``cost_limit=0`` the answer is a maximum weight matching: `gmatch.max_weight_matching`.
    forbid_nan : bool
        NaN forbids its pair, as the infinity does; otherwise NaN is refused. Costs with NaN are copied.
    infeasible : {"raise", "partial"}
        When forbidden pairs leave no way to make min(rows, columns) pairs: raise `Infeasible`, which says why, or
        return the cheapest among the largest matchings.
    deterministic : bool
        Of several cheapest assignments always return the same, whatever the method, the start, the threads and the
        device: the one whose pairs have the least sum of marks, 20 pseudo-random bits that depend on the number
        ``row * columns + column`` of a pair alone; should there be more, further marks decide among these. (With a
        `cost_limit`, dense costs count the marks of the dear pairs that complete the assignment, too.) Floats are
        compared exactly for that, as the rational numbers that they are: so the answer is exactly optimal. Costs a pass
        over the matrix, and where rows have a choice (``stats["rows_with_choice"]``), another, sparse problem along the
        pairs that tie. The duals may differ.
    ties : {None, "scipy"}
        ``"scipy"``: of several cheapest assignments the one that ``scipy.optimize.linear_sum_assignment`` finds, on any
        device and in batches: the very indices. Where the answer is the only one by more than SciPy may round, it is
        kept; for other problems, and for those of up to 2**16 pairs, SciPy is called, on the host, and
        ``stats["by_scipy"]`` says for which. So it is for comparisons, and for many floats that hardly tie; costs that
        tie take SciPy's time. For dense costs, without `cost_limit`, `infeasible` and `deterministic`.
    device : {None, "cpu", "gpu"}
        None: where the costs live. Otherwise they are moved there, and the result back, once.
    threads : int, optional
        Host threads; by default as many as there are processors and work for. Not for a GPU, which sizes its own grid.
    certify : bool
        Also run `gmatch.verify` on the result.
    sizes : integer array, shape (problems, 2), optional
    mask : bool array, shape (problems, rows, columns), optional
        What counts of a padded batch; see `CostBatch`.
    top_nodes : iterable of nodes, optional
        Of a graph one side of the bipartition, which becomes the rows. By default it is found by colours, and the graph
        must be connected.
    weight : key of edge data, or None
        Of a graph what an edge costs, 1 where it has no such data. None: each costs 1.
    comm : communicator of mpi4py, or Ranks, optional
        Of processes that hold a matrix together: `cost` is the block of consecutive rows of this rank, in the order of
        the ranks, on the host or on a GPU, of any height. All ranks get the result of the whole matrix, or the same
        error; see `Ranks`. Methods are ``"auto"``, ``"core"``, ``"classical"`` and ``"tree"``; `infeasible`,
        `deterministic` and starts other than `duals`, which must be the same on all ranks, are for one process. Blocks
        in one process are a `RowBlocks`, without `comm`.
    devices : sequence of int, optional
        Numbers of GPUs that share the rows of a matrix on the host, each with its part in its memory; with options as
        for `comm`. A GPU may be named more than once.
    gap : float, optional
        An assignment will do that costs at most this share more than the cheapest one, such as 1e-3, and is proven to:
        its `Assignment.bound` is what no assignment costs less than, and its status ``"bounded"`` unless it is a
        cheapest one. `PointCosts`, `FunctionCosts` and `RowWindows` stop there; costs in memory are solved to the end,
        which takes no longer. Not beside a `cost_limit`, and not for batches and several ranks.

    Returns
    -------
    Assignment, or AssignmentBatch for a batch
        ``row_ind, col_ind = lap(cost)`` works. Its arrays live where the costs live. For tensors of PyTorch they are
        tensors on the same device, with int64 for indices, and for arrays of JAX arrays of JAX; so they are for
        sequences of these. If the costs need a gradient, `Assignment.cost` and `Assignment.pair_costs` have one: it is
        1 at the pairs and 0 elsewhere.

    Raises
    ------
    InvalidInput
        Before any work, if the costs, the start or an option is not valid: NaN, the infinity that forbids nothing, or
        integers whose sums could overflow among them.
    Infeasible
        If forbidden pairs leave no way, unless asked for ``"partial"``; with a Hall witness.
    BackendUnavailable
        If the device asked for cannot be used here, or if the system does not start the threads.
    MemoryError
        If the device has no room for the work (CuPy's OutOfMemoryError is one).
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.
    RankLost
        If another rank of `comm` dies, or does not come.
    KeyboardInterrupt
        On Ctrl-C, within 0.2 s where the main thread called; so does what another handler of signals raises. A call on
        a GPU cannot be interrupted: the error comes when it ends.

    Notes
    -----
    O(pairs**2 * max(rows, columns)) work at worst, and O(rows + columns) memory beside the costs, but for up to 16 MB
    that `JV` may copy whole costs to, and up to 32 MB for costs that do not lie by rows of the smaller side. An
    infeasible problem needs its allowed pairs as a graph too: up to 8 bytes for each, and for ``"partial"`` a copy of
    the costs. Sparse costs take O(pairs * (entries + columns * log(columns))) work at worst, mostly far less. By
    ``"auto"`` on the CPU they are solved as dense ones where that is faster, which ``stats["reason"]`` says: square
    ones of at most 2**17 pairs, and all with an entry for every 24 pairs (with more than 2**25 pairs, for every 4). The
    dense matrix takes up to 192 bytes for each entry.

    The problems of a batch are independent: one thread solves one on the CPU (not by ``"munkres"``), one block of
    threads on a GPU (by ``"tree"`` or ``"classical"``), all in one launch. They start from nothing given.

    Integers are exact. Floats have duals in float64, and are optimal up to a rounding that `verify` states. To forbid a
    pair use inf. A big number in its place, such as 1e18, is an ordinary cost: where some rows must use it, the duals
    are held in parts, the big number first, so that it does not round what the other pairs cost away (see
    `ExactDuals`). Of dense costs on the CPU that takes a few passes over the matrix more, else up to three times as
    long and two copies of the costs. It needs a number more than 32 (rows + 1) times as large as the ordinary costs;
    the rounding by a smaller one is part of what `verify` states.

    References
    ----------
    R. Jonker, A. Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment problems.
    Computing 38 (1987). D. F. Crouse: On implementing 2D rectangular assignment algorithms. IEEE Trans. Aerosp.
    Electron. Syst. 52 (2016). K. Date, R. Nagi: GPU-accelerated Hungarian algorithms for the linear assignment
    problem. Parallel Computing 57 (2016).
    """
    on_ranks = comm is not None or devices is not None or isinstance(cost, RowBlocks)
    if ties is not None:
        refuse_what_scipy_lacks(ties, cost_limit, infeasible, deterministic, on_ranks)
    if on_ranks:
        if gap is not None:
            raise InvalidInput("several ranks solve to the optimum; leave gap out")
        from ..distributed.lap import lap_on_ranks

        return lap_on_ranks(
            cost, comm, devices, maximize=maximize, method=method, initial=initial, duals=duals, cost_limit=cost_limit,
            forbid_nan=forbid_nan, infeasible=infeasible, deterministic=deterministic, device=device, threads=threads,
            certify=certify, sizes=sizes, mask=mask, top_nodes=top_nodes, weight=weight,
        )  # fmt: skip
    if not isinstance(infeasible, str) or infeasible not in ("raise", "partial"):
        raise InvalidInput(f"infeasible must be 'raise' or 'partial'; got {infeasible!r}")
    maximize, deterministic = truth_of("maximize", maximize), truth_of("deterministic", deterministic)
    certify = truth_of("certify", certify)
    result: Assignment | AssignmentBatch
    gap = gap_of(gap, cost_limit if cost_limit is not None else getattr(cost, "cost_limit", None))
    if isinstance(cost, PointCosts):
        points = points_of(
            cost, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan, sizes=sizes, mask=mask
        )
        if points.suit_trees() and ties is None:
            return lap_of_points(
                points, method=method, initial=initial, duals=duals, deterministic=deterministic, device=device,
                threads=threads, certify=certify, gap=gap,
            )  # fmt: skip
        if is_auto(method) and not deterministic and ties is None and device in (None, "cpu"):
            from ..distributed.point_windows import lap_of_many_coordinates

            return lap_of_many_coordinates(
                points, initial=initial, duals=duals, infeasible=infeasible, threads=threads, certify=certify, gap=gap
            )
        cost, maximize, cost_limit = points.as_dense(), False, None
    elif isinstance(windows := as_windows(cost, maximize, cost_limit, forbid_nan), WindowCosts):
        from ..distributed.windows import lap_of_windows

        if ties is not None:
            raise InvalidInput("ties='scipy' needs a matrix in memory, which SciPy reads; leave ties out")
        own = isinstance(cost, WindowCosts)
        windows_of(
            windows, maximize=own and maximize, cost_limit=cost_limit if own else None, forbid_nan=own and forbid_nan,
            sizes=sizes, mask=mask,
        )  # fmt: skip
        return lap_of_windows(
            windows, method=method, initial=initial, duals=duals, infeasible=infeasible, deterministic=deterministic,
            device=device, threads=threads, certify=certify, gap=gap,
        )  # fmt: skip
    elif look_like_points(cost):
        warnings.warn(TWO_CLOUDS, stacklevel=3)
    if sizes is not None or mask is not None or is_batch(cost):
        refuse_options_of_graphs(cost, top_nodes, weight)
        if gap is not None:
            raise InvalidInput("the problems of a batch are solved to the optimum; leave gap out")
        batch = cost
        if not isinstance(cost, CostBatch):
            batch = CostBatch(
                cost, maximize=maximize, cost_limit=cost_limit, sizes=sizes, mask=mask, forbid_nan=forbid_nan
            )
        elif maximize and not cost.maximize or not all(option is None for option in (cost_limit, sizes, mask)):
            raise InvalidInput("a CostBatch has its own maximize, cost_limit, sizes and mask; give them to CostBatch")
        backend = backend_for(None, batch.device if device is None else device)
        chosen, reason = batch_method_of(method, backend.NAME, max(batch.shape[1:]), batch.largest)
        plan = Plan(backend, chosen, threads, deterministic)
        result = solve_batch(batch, plan, start_of_batch(initial, duals, plan), infeasible == "partial")
        problem = batch
    else:
        problem = costs = costs_of(cost, maximize, cost_limit, forbid_nan, top_nodes, weight)
        backend = backend_for(None, costs.device if device is None else device)
        chosen, reason = assignment_method_of(method, backend.NAME, costs if isinstance(costs, DenseCosts) else None)
        start = start_of(initial, duals, costs, chosen)
        refuse_what_does_not_fit(costs, chosen, start)
        result = solve(costs, Plan(backend, chosen, threads, deterministic), start, infeasible == "partial")
    result.stats.setdefault("reason", reason)  # some backends know better
    if ties is not None:
        result = with_scipys_pairs(problem, result)
    if gap is not None and isinstance(result, Assignment):
        result = within_bound(result, False)
    if certify:
        verify(problem, result)
    return result
