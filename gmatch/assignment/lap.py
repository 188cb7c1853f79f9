"""`lap`: what the user wrote becomes a problem, a plan and a start; they are solved; the result is proven if asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Unpack, overload

import numpy as np
from scipy.sparse import issparse

from ..arrays import Device, device_of, mover_to
from ..backends import backend_for
from ..backends.protocol import AssignmentStart
from ..errors import InvalidInput
from ..foreign import library_of
from ..methods.method import is_auto
from ..problems.batch import CostBatch, is_batch
from ..problems.costs import costs_of_graph, costs_of_matrix
from ..problems.dense import DenseCosts
from ..problems.limits import Asked
from ..problems.points import PointCosts, points_of, warn_of_points
from ..problems.row_blocks import RowBlocks
from ..problems.sparse import SparseCosts
from ..problems.windows import WindowCosts, as_windows, is_too_large_for_gpu, windows_of
from ..proof.verify import verify
from ..result import Assignment, AssignmentBatch
from ..small import small_first
from .as_scipy import with_scipys_pairs
from .batch import solve_batch_as_asked
from .gap import within_bound
from .plan import STARTS, Costs, plan_of
from .points import lap_of_points
from .request import Options, SolverOptions
from .solve import solve

__all__ = ["STARTS", "AssignmentStart", "lap"]

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..methods import AssignmentMethod


class _Network(Protocol):
    """A graph of networkx."""

    def to_undirected(self, as_view: bool = False) -> Any: ...


class _Sparse(Protocol):
    """A sparse matrix of SciPy or CuPy."""

    def tocsr(self) -> Any: ...


# Types that say whether costs are one problem or many. The types of most arrays do not say how many dimensions there
# are. They fit any number of dimensions, also a number that no costs have.
_Matrix = Costs | _Sparse | _Network | np.ndarray[tuple[int, int], Any]
_Problem = (
    _Matrix | PointCosts | WindowCosts | RowBlocks | Sequence[Sequence[float]] | Sequence[np.ndarray[tuple[int], Any]]
)
_Problems = CostBatch | np.ndarray[tuple[int, int, int], Any] | Sequence[_Matrix] | Sequence[Sequence[Sequence[float]]]
_OfUnknownShape = np.ndarray[tuple[int, int, int, int], Any]


class LapOptions(SolverOptions, total=False):
    """All options of `lap` except `sizes` and `mask`, which only a batch has; for type checkers."""

    maximize: bool
    cost_limit: Any
    forbid_nan: bool
    infeasible: str
    ties: str | None
    top_nodes: Iterable[Hashable] | None
    weight: Hashable | None
    comm: Any
    devices: Sequence[int] | None
    gap: float | None


@overload
def lap(cost: Any, *, sizes: npt.ArrayLike, **options: Unpack[LapOptions]) -> AssignmentBatch: ...
@overload
def lap(cost: Any, *, mask: npt.ArrayLike, **options: Unpack[LapOptions]) -> AssignmentBatch: ...
@overload
def lap(cost: _OfUnknownShape | Sequence[_OfUnknownShape], **options: Unpack[LapOptions]) -> Any: ...
@overload
def lap(cost: _Problem, **options: Unpack[LapOptions]) -> Assignment: ...
@overload
def lap(cost: _Problems, **options: Unpack[LapOptions]) -> AssignmentBatch: ...
@overload
def lap(cost: Any, *, sizes: Any = None, mask: Any = None, **options: Unpack[LapOptions]) -> Any: ...
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
        What each pair costs; min(rows, columns) pairs are made. +inf forbids a pair (-inf when maximizing). Never
        changed. It can be:

        - a NumPy or CuPy array, a PyTorch tensor or another array, a DataFrame, or nested lists: see `DenseCosts` for
          types and ranges;
        - a sparse matrix of SciPy, CuPy or PyTorch: its stored entries, explicit zeros too, are the only allowed pairs,
          and duplicates are summed; see `SparseCosts`;
        - a bipartite networkx graph: its edges are the only allowed pairs, and `Assignment.pairs` are pairs of nodes;
        - an array of three dimensions or a sequence of matrices: a batch; see `CostBatch`;
        - costs that are no matrix: `PointCosts`, `FunctionCosts` and `RowWindows`. A `numpy.memmap` or an array of h5py
          or zarr that takes more than half of the memory is solved as a `RowWindows`. So is an array of the host that
          takes more than 7/8 of a GPU's free memory, with ``device="gpu"``.

        A large number does not forbid a pair. If too few other pairs are allowed, it is used as any other cost, and the
        exact sums with it need more digits.
    maximize : bool
        Find the assignment of the largest sum instead.
    method : str or method object
        How to solve; the answer is a proven optimum by every method.

        - ``"auto"``: what is fastest for these costs on this device; ``stats["reason"]`` says why.
        - ``"jv"``: shortest augmenting paths, serial on the CPU; on a GPU a block for each problem of a batch (Jonker
          and Volgenant 1987; Crouse 2016 for rectangular costs).
        - ``"core"``: solves the cheapest entries of each row by an auction and augmenting paths, then checks all other
          entries.
        - ``"tree"`` and ``"classical"``: all free rows search at once, with a slack for each column or along lists of
          tight edges (Date and Nagi 2016).
        - ``"munkres"``: on a matrix of slacks beside the costs (Lopes et al. 2019).
        - an object with options: `JV`, `Core`, `Tree`, `Classical`, `Munkres`.

        Sparse costs take ``"jv"`` and ``"tree"``.
    initial : {"auto", "reduce", "bids", "regret", "none"}, Assignment, or integer array of shape (rows,)
        What to start from. ``"jv"`` and ``"core"`` have their own starts, which ``stats`` calls ``"reduce"``. Sparse
        costs take no bids and no regret.

        - ``"auto"``: ``"bids"`` for ``"tree"`` and ``"classical"`` if few costs tie, otherwise ``"reduce"``.
        - ``"reduce"``: the duals are the minima of rows and columns; pairs that they make tight are matched.
        - ``"bids"``: the pairs of ``"reduce"``, then free rows bid for columns, taken or not, for up to 32 rounds
          (Jonker and Volgenant's augmenting row reduction, by all rows at once).
        - ``"regret"``: Vogel's rule. A column goes to the row that would lose most by its second best column
          (Kawtikwar, Cravens and Yang's report).
        - ``"none"``: no pairs.
        - an array: the column of each row, -1 for a free row. It is checked, never changed, and the method keeps what
          it can of it. An `Assignment` also brings its duals.
    duals : (u, v), arrays of shapes (rows,) and (columns,)
        Duals to start from, such as the duals of an earlier `Assignment`. After a small change of the costs, a small
        part of the work remains. They need not be feasible. They are duals of the minimisation form: of ``-cost`` when
        maximizing. For integer costs they are signed integers.
    cost_limit : number, optional
        Pairs that cost more than this are never matched (when maximizing: pairs worth less). Each free row and each
        free column costs half the limit, so the problem is always feasible, even where pairs are forbidden. It is the
        ``cost_limit`` of lap and lapx, and twice MATLAB's ``costUnmatched``. With ``maximize=True`` and
        ``cost_limit=0`` the answer is a maximum weight matching: `gmatch.max_weight_matching`.
    forbid_nan : bool
        NaN forbids its pair, as the infinity does; otherwise NaN is refused. Costs with NaN are copied.
    infeasible : {"raise", "partial"}
        What to do if forbidden pairs leave no way to make min(rows, columns) pairs: raise `Infeasible`, which says why,
        or return the cheapest among the largest matchings.
    deterministic : bool
        Return equal pairs on every run, whatever the method, the start, the threads and the device. If there are
        several optima, the first one is returned: each row takes the first column that an optimum can give it, one row
        after the other. A row stays free only if no optimum can give it a column. Floats are compared as the rational
        numbers that they are, so the answer is exactly optimal. With a `cost_limit`, a pair of dense costs above the
        limit counts as a pair that costs the limit. A row that takes such a pair stays free. The option takes one more
        pass over the matrix, and searches along the tied pairs if rows have a choice (``stats["rows_with_choice"]``).
        The duals may differ.
    ties : {None, "scipy"}
        ``"scipy"`` returns the indices that ``scipy.optimize.linear_sum_assignment`` finds, on any device and in
        batches. Where the optimum is unique by more than SciPy may round, gmatch's answer is theirs. Otherwise, and for
        problems of up to 2**16 pairs, SciPy is called on the host; ``stats["by_scipy"]`` says for which. Costs that tie
        therefore take SciPy's time. For dense costs, without `cost_limit`, `infeasible` and `deterministic`.
    device : {None, "cpu", "gpu"}
        None: where the costs live. Otherwise they are moved there once, and the result is moved back. A matrix that
        the GPU does not hold, `FunctionCosts` and `RowWindows` come there in windows of rows. What `PointCosts` cost
        is computed there.
    threads : int, optional
        Host threads. By default as many as there are processors and work for. A GPU sizes its own grid.
    certify : bool
        Also run `gmatch.verify` on the result.
    sizes : integer array, shape (problems, 2), optional
    mask : bool array, shape (problems, rows, columns), optional
        What counts of a padded batch; see `CostBatch`.
    top_nodes : iterable of nodes, optional
        One side of a graph, which becomes the rows. By default it is found by colours, and the graph must be connected.
    weight : key of edge data, or None
        What an edge of a graph costs, 1 if it has no such data. None: each edge costs 1.
    comm : communicator of mpi4py, or Ranks, optional
        The processes that hold a matrix together. `cost` is the block of consecutive rows of this rank, in the order of
        the ranks, on the host or on a GPU, of any height. All ranks get the result of the whole matrix, or the same
        error; see `Ranks`. Methods are ``"auto"``, ``"core"``, ``"classical"`` and ``"tree"``. `duals` must be equal on
        all ranks; other starts, `infeasible` and `deterministic` are for one process. For blocks in one process use
        `RowBlocks`, without `comm`.
    devices : sequence of int, optional
        Numbers of GPUs that share the rows of a matrix on the host, each with its part in its memory; with options as
        for `comm`. A GPU may be named more than once.
    gap : float, optional
        Stop at an assignment that is proven to cost at most this share more than the cheapest one, such as 1e-3. No
        assignment costs less than its `Assignment.bound`. Its status is ``"bounded"`` unless it is a cheapest one.
        `PointCosts`, `FunctionCosts` and `RowWindows` stop there. Costs in memory, and points of many coordinates on
        the host, are solved to the end. Not with a `cost_limit`, and not for batches and several ranks.

    Returns
    -------
    Assignment, or AssignmentBatch for a batch
        ``row_ind, col_ind = lap(cost)`` works. Its arrays live where the costs live. For PyTorch tensors they are
        tensors on the same device, with int64 indices; for arrays of JAX they are arrays of JAX; likewise for sequences
        of these. If the costs need a gradient, `Assignment.cost` and `Assignment.pair_costs` have one: 1 at the pairs
        and 0 elsewhere.

    Raises
    ------
    InvalidInput
        Before any work, if the costs, the start or an option is not valid. NaN, the infinity that forbids nothing, and
        integers whose sums could overflow are not valid costs. A batch on a GPU raises it when its status is read.
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
        On Ctrl-C, within 0.2 s where the main thread called; likewise what another handler of signals raises. A call on
        a GPU cannot be interrupted: the error comes when it ends.

    Notes
    -----
    Dense costs take O(pairs**2 * max(rows, columns)) work at worst, and O(rows + columns) memory beside the costs.
    `JV` may copy integer costs to up to 16 MB. On the CPU, costs are copied once if entries of a row of the smaller
    side do not lie side by side, as in a tall matrix in C order. An infeasible problem needs its allowed pairs as a
    graph too: up to 8 bytes for each, and for ``"partial"`` a copy of the costs. If rounded duals of dense costs prove
    nothing on the CPU, their slacks may take 8 * max(rows, columns)**2 bytes.

    Sparse costs take O(pairs * (entries + columns * log(columns))) work at worst, mostly far less. On the CPU
    ``"auto"`` solves them as dense costs where that is faster, which ``stats["reason"]`` says: square problems of at
    most 2**17 pairs, and all problems with an entry for every 24 pairs (for every 4 above 2**25 pairs). The dense
    matrix takes up to 192 bytes for each entry.

    The problems of a batch are independent. On the CPU one thread solves one problem (not by ``"munkres"``). On a GPU
    one block of threads does (by ``"jv"``, ``"tree"`` or ``"classical"``), all in one launch. No earlier answer can be
    given as a start.

    The host does not wait for a batch on a GPU. The work is queued on the current stream of CuPy, or of PyTorch for
    tensors, and the arrays of the result can be used on that stream at once. The GPU checks the costs itself. A problem
    that it cannot solve has -1 for all mates, and NaN for what its pairs cost (0 for integers). The host looks at these
    problems when `AssignmentBatch.status` is read, or another field that is no array. Then it solves them, or raises
    the errors above. Do not change the costs before. The user guide says which calls wait. No call can be part of a
    CUDA graph.

    Integers are exact. Floats have duals in float64, and are optimal up to a rounding that `verify` states. To forbid a
    pair use inf. A big number in its place, such as 1e18, is an ordinary cost. Where some rows must use it, the duals
    are held in parts, the big number first, so that it does not round away what the other pairs cost (see
    `ExactDuals`). This takes a few more passes over dense costs on the CPU; elsewhere up to three times as long, and
    two copies of the costs. It needs a number more than 32 (rows + 1) times as large as the ordinary costs. A number in
    more than one entry may be that much larger than the costs of the other pairs only. Then duals have one part, and
    the pairs are exact up to 4 roundings of the sum of these costs. The rounding by a smaller number is part of what
    `verify` states.

    References
    ----------
    R. Jonker, A. Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment problems.
    Computing 38 (1987). D. F. Crouse: On implementing 2D rectangular assignment algorithms. IEEE Trans. Aerosp.
    Electron. Syst. 52 (2016). K. Date, R. Nagi: GPU-accelerated Hungarian algorithms for the linear assignment
    problem. Parallel Computing 57 (2016).

    Examples
    --------
    >>> cost = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]
    >>> row_ind, col_ind = assignment = gmatch.lap(cost)
    >>> assignment.cost, col_ind.tolist()
    (5, [1, 0, 2])
    >>> gmatch.lap(cost, maximize=True).cost
    11
    >>> gmatch.lap(cost, cost_limit=1).pairs
    [(1, 1)]
    >>> gmatch.lap([[1, np.inf], [2, np.inf]], infeasible="partial").pairs
    [(0, 0)]
    >>> gmatch.lap(np.arange(8).reshape(2, 2, 2)).cost.tolist()
    [3, 11]
    """
    options = Options(
        maximize, method, initial, duals, cost_limit, forbid_nan, infeasible, deterministic, ties, device, threads,
        certify, sizes, mask, top_nodes, weight, gap,
    )  # fmt: skip
    if comm is not None or devices is not None or isinstance(cost, RowBlocks):
        from ..distributed.lap import lap_on_ranks

        return lap_on_ranks(cost, comm, devices, **options.of_ranks())
    options = options.checked(cost)
    problem = _problem_of(cost, options)
    result = _solved(problem, options)
    if options.ties is not None:
        result = with_scipys_pairs(problem, result)
    if options.certify:
        verify(problem, result)
    return result


def _problem_of(cost: Any, options: Options) -> PointCosts | WindowCosts | CostBatch | Costs:
    """What the costs are a problem of; they are checked, and refused beside options that are not for them."""
    asked = Asked(options.maximize, options.cost_limit, options.forbid_nan, options.threads)
    is_padded = options.sizes is not None or options.mask is not None
    if type(cost) is np.ndarray and not (options.device == "gpu" and is_too_large_for_gpu(cost)):
        # An array of no other library, and no file that is mapped.
        if cost.ndim == 3 or is_padded:
            return _of_batch(cost, asked, options)
        _refuse_options_of_graphs(cost, options)
        return DenseCosts.as_asked(cost, asked)
    if (issparse(cost) or isinstance(cost, Costs)) and not is_padded:
        _refuse_options_of_graphs(cost, options)
        return SparseCosts.as_asked(cost, asked) if issparse(cost) else costs_of_matrix(cost, asked)
    if isinstance(cost, PointCosts):
        return _of_points(cost, options)
    if device_of(cost) == "gpu" and getattr(cost, "ndim", 0) == 3:
        return _of_batch(cost, asked, options)
    windows = as_windows(cost, asked, options.device)
    if isinstance(windows, WindowCosts):
        return _of_windows(windows, options, isinstance(cost, WindowCosts))
    cost = windows
    warn_of_points(cost)
    if is_batch(cost) or is_padded:
        return _of_batch(cost, asked, options)
    if library_of(cost) == "networkx":
        return costs_of_graph(cost, options.top_nodes, options.weight, **asked.of_costs())
    _refuse_options_of_graphs(cost, options)
    return costs_of_matrix(cost, asked)


def _refuse_options_of_graphs(cost: Any, options: Options) -> None:
    if options.top_nodes is not None or options.weight != "weight":
        raise InvalidInput(f"top_nodes and weight are for a networkx graph; got {type(cost).__name__}; leave them out")


def _of_points(cost: PointCosts, options: Options) -> PointCosts | DenseCosts:
    """The points, or the matrix of what they cost where only that can do what is asked for."""
    points = points_of(
        cost, maximize=options.maximize, cost_limit=options.cost_limit, forbid_nan=options.forbid_nan,
        sizes=options.sizes, mask=options.mask,
    )  # fmt: skip
    by_passes = is_auto(options.method) and not options.deterministic
    by_trees = points.suit_trees() and not _runs_on_gpu(points.lies_on, options)
    return points if options.ties is None and (by_trees or by_passes) else points.as_dense()


def _runs_on_gpu(where: Device, options: Options) -> bool:
    """Whether costs that lie there are solved on a GPU. Raises unless the device that is asked for is there."""
    return backend_for(None, options.device or where).NAME == "gpu"


def _of_windows(windows: WindowCosts, options: Options, given_so: bool) -> WindowCosts:
    if options.ties is not None:
        raise InvalidInput("ties='scipy' needs a matrix in memory, which SciPy reads; leave ties out")
    return windows_of(
        windows, maximize=given_so and options.maximize, cost_limit=options.cost_limit if given_so else None,
        forbid_nan=given_so and options.forbid_nan, sizes=options.sizes, mask=options.mask,
    )  # fmt: skip


def _of_batch(cost: Any, asked: Asked, options: Options) -> CostBatch:
    _refuse_options_of_graphs(cost, options)
    if options.gap is not None:
        raise InvalidInput("the problems of a batch are solved to the optimum; leave gap out")
    if not isinstance(cost, CostBatch):
        return CostBatch.as_asked(cost, asked, options.sizes, options.mask)
    of_its_own = options.cost_limit, options.sizes, options.mask
    if options.maximize and not cost.maximize or any(option is not None for option in of_its_own):
        raise InvalidInput("a CostBatch has its own maximize, cost_limit, sizes and mask; give them to CostBatch")
    return cost


def _solved(problem: PointCosts | WindowCosts | CostBatch | Costs, options: Options) -> Assignment | AssignmentBatch:
    """The solution of a problem, by the way that its kind of costs has."""
    if isinstance(problem, Costs):
        result = solve(problem, plan_of(problem, options))
        return result if options.gap is None else within_bound(result, False)
    if isinstance(problem, CostBatch):
        return solve_batch_as_asked(problem, options)
    where = problem.lies_on if isinstance(problem, PointCosts) else "cpu"
    if _runs_on_gpu(where, options):
        from ..distributed.gpu_windows import lap_on_gpu

        return lap_on_gpu(problem, options)
    if isinstance(problem, WindowCosts):
        from ..distributed.windows import lap_of_windows

        return lap_of_windows(problem, options)
    if problem.suit_trees():
        return lap_of_points(problem, options).moved(mover_to(where))
    from ..distributed.point_windows import lap_of_many_coordinates

    return lap_of_many_coordinates(problem, options).moved(mover_to(where))
