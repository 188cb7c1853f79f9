"""`lap`: costs, backend, method, result."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import IntEnum
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict, Unpack, overload

import numpy as np

from ..arrays import all_others, as_dense_array, mover_to, truth_of
from ..backends import backend_for
from ..cardinality.matching import max_matching
from ..errors import Infeasible, InvalidInput
from ..methods import JV, Core, SerialCore, Tree, assignment_method_of, batch_method_of, bids_pay
from ..problems.batch import CostBatch, is_batch, solve_batch
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.points import PointCosts, look_like_points, points_of
from ..problems.sparse import SparseCosts
from ..problems.splits import splits_into_fitting
from ..proof.verify import verify
from ..result import STEPS, Assignment, AssignmentBatch, ExactDuals, Status, Tier, witness_of
from ..small import small_first
from .points import lap_of_points
from .tiers import duals_hide_costs, solve_by_tiers, split_costs
from .ties import Names, settle_ties

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..methods import AssignmentMethod

# What a backend's `assign` returns: row_match, col_match, u, v, counters. Among the latter are `size`, and, of dense
# costs from a GPU and of sparse ones that were laid out, `entries`: that of each pair, in the order of the rows of the
# problem as the programs read it, if all have one.
_Solution = tuple[Any, Any, Any, Any, dict[str, Any]]
Costs = DenseCosts | SparseCosts


class AssignmentStart(IntEnum):
    """Assignments to start from; numbered as `AssignmentStart` in csrc."""

    NONE = 0
    REDUCE = 1
    GIVEN = 2
    REGRET = 3
    BIDS = 4

    @property
    def label(self) -> str:
        return self.name.lower()


TWO_CLOUDS = (
    "a sequence of two arrays is a batch of two cost matrices; if these are points, one in each row, use "
    "gmatch.lap(gmatch.PointCosts(x, y)); if they are costs, gmatch.CostBatch([x, y]) says so"
)
# None: the one that suits the method.
STARTS = {
    "auto": None,
    "reduce": AssignmentStart.REDUCE,
    "bids": AssignmentStart.BIDS,
    "regret": AssignmentStart.REGRET,
    "none": AssignmentStart.NONE,
}


class _Start(NamedTuple):
    """What a backend's `assign` starts from."""

    kind: AssignmentStart
    row_match: Any
    v: Any


class _Sparse(Protocol):
    """A sparse matrix of SciPy or CuPy."""

    def tocsr(self) -> Any: ...


# Costs of which the type says whether they are those of one problem or of many. The types of most arrays do not
# say how many dimensions there are; such a type fits any number, even one that no costs have.
_Matrix = Costs | _Sparse | np.ndarray[tuple[int, int], Any]
_Problem = _Matrix | Sequence[Sequence[float]] | Sequence[np.ndarray[tuple[int], Any]]
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
    device: str | None
    threads: int | None
    certify: bool


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
    device: str | None = None,
    threads: int | None = None,
    certify: bool = False,
    sizes: Any = None,
    mask: Any = None,
) -> Any:
    """The cheapest way to match rows with columns (linear assignment), with its proof; of one problem or of many.

    Parameters
    ----------
    cost : array or sparse matrix, shape (rows, columns); array, shape (problems, rows, columns); sequence of matrices
        NumPy or CuPy array, PyTorch tensor or another array, DataFrame, or nested lists; see `DenseCosts` for types
        and ranges. Of a sparse matrix of SciPy, CuPy or PyTorch the stored entries, explicit zeros too, are the only
        allowed pairs, and duplicates are summed; see `SparseCosts`. Never changed. min(rows, columns) pairs are made.
        +inf forbids a pair (-inf when maximizing). A large number does not: where too few other pairs are allowed, it
        is used as any cost is, and the exact sums that it enters need more digits. For the weights of a networkx graph
        see `SparseCosts.from_networkx`.
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
    device : {None, "cpu", "gpu"}
        None: where the costs live. Otherwise they are moved there, and the result back, once.
    threads : int, optional
        Host threads; by default as many as there are processors and work for. Not for a GPU, which sizes its own grid.
    certify : bool
        Also run `gmatch.verify` on the result.
    sizes : integer array, shape (problems, 2), optional
    mask : bool array, shape (problems, rows, columns), optional
        What counts of a padded batch; see `CostBatch`.

    Returns
    -------
    Assignment, or AssignmentBatch for a batch
        ``row_ind, col_ind = lap(cost)`` works. Its arrays live where the costs live.

    Raises
    ------
    InvalidInput
        Before any work, if the costs, the start or an option is not valid: NaN, the infinity that forbids nothing, or
        integers whose sums could overflow among them.
    Infeasible
        If forbidden pairs leave no way, unless asked for ``"partial"``; with a Hall witness.
    BackendUnavailable
        If the device asked for cannot be used here.
    MemoryError
        If the device has no room for the work (CuPy's OutOfMemoryError is one).
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    O(pairs**2 * max(rows, columns)) work at worst, and O(rows + columns) memory beside the costs, but for up to 16 MB
    that `JV` may copy whole costs to. An infeasible problem needs its allowed pairs as a graph too: up to 8 bytes for
    each, and for ``"partial"`` a copy of the costs. Sparse costs take O(pairs * (entries + columns * log(columns)))
    work at worst, mostly far less. By ``"auto"`` on the CPU they are solved as dense ones where that is faster, which
    ``stats["reason"]`` says: square ones of at most 2**17 pairs, and all with an entry for every 24 pairs (with more
    than 2**25 pairs, for every 4). The dense matrix takes up to 192 bytes for each entry.

    The problems of a batch are independent: one thread solves one on the CPU (not by ``"munkres"``), one block of
    threads on a GPU (by ``"tree"`` or ``"classical"``), all in one launch. They start from nothing given.

    Integers are exact. Floats have duals in float64, and are optimal up to a rounding that `verify` states. To forbid a
    pair use inf. A big number in its place, such as 1e18, is an ordinary cost: where some rows must use it, the problem
    is solved once more in parts, the big number first, so that it does not round what the other pairs cost away (see
    `ExactDuals`). That takes up to three times as long, and two copies of the costs. It needs a number more than
    32 (rows + 1) times as large as the ordinary costs; the rounding by a smaller one is part of what `verify` states.

    References
    ----------
    R. Jonker, A. Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment problems.
    Computing 38 (1987). D. F. Crouse: On implementing 2D rectangular assignment algorithms. IEEE Trans. Aerosp.
    Electron. Syst. 52 (2016). K. Date, R. Nagi: GPU-accelerated Hungarian algorithms for the linear assignment
    problem. Parallel Computing 57 (2016).
    """
    if not isinstance(infeasible, str) or infeasible not in ("raise", "partial"):
        raise InvalidInput(f"infeasible must be 'raise' or 'partial'; got {infeasible!r}")
    maximize, deterministic = truth_of("maximize", maximize), truth_of("deterministic", deterministic)
    certify = truth_of("certify", certify)
    if isinstance(cost, PointCosts):
        points = points_of(
            cost, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan, sizes=sizes, mask=mask
        )
        if points.suit_trees():
            return lap_of_points(
                points, method=method, initial=initial, duals=duals, deterministic=deterministic, device=device,
                threads=threads, certify=certify,
            )  # fmt: skip
        cost, maximize, cost_limit = points.as_dense(), False, None
    elif look_like_points(cost):
        warnings.warn(TWO_CLOUDS, stacklevel=3)
    if sizes is not None or mask is not None or is_batch(cost):
        batch = cost
        if not isinstance(cost, CostBatch):
            batch = CostBatch(
                cost, maximize=maximize, cost_limit=cost_limit, sizes=sizes, mask=mask, forbid_nan=forbid_nan
            )
        elif maximize and not cost.maximize or not all(option is None for option in (cost_limit, sizes, mask)):
            raise InvalidInput("a CostBatch has its own maximize, cost_limit, sizes and mask; give them to CostBatch")
        return _lap_of_batch(batch, method, initial, duals, infeasible, deterministic, device, threads, certify)
    costs = costs_of(cost, maximize, cost_limit, forbid_nan)
    backend = backend_for(None, costs.device if device is None else device)
    dense = costs if isinstance(costs, DenseCosts) else None
    chosen, reason = assignment_method_of(method, backend.NAME, dense)
    start = _start_of(initial, duals, costs, chosen)
    if dense is None:
        _refuse_dense_options(chosen, start.kind)
    elif isinstance(chosen, Core) and not dense.fits_core() and splits_into_fitting(dense) is None:
        raise InvalidInput(
            "method 'core' needs room for duals along a path of all pairs, (32 + 8 * pairs) * (highest - lowest); "
            "these costs lie too far apart for it; use 'auto' or 'tree'"
        )
    if min(costs.shape):
        result = _solve(costs, backend, chosen, start, infeasible, deterministic, threads)
    else:
        result = _result(costs, _nothing(costs), Status.OPTIMAL, None, backend, chosen, start)
    result.stats.setdefault("reason", reason)  # some backends know better
    if certify:
        verify(costs, result)
    return result


def _lap_of_batch(
    batch: CostBatch,
    method: str | AssignmentMethod,
    initial: Any,
    duals: Any,
    infeasible: str,
    deterministic: bool,
    device: str | None,
    threads: int | None,
    certify: bool,
) -> AssignmentBatch:
    if duals is not None or not isinstance(initial, str) or initial not in STARTS:
        raise InvalidInput(
            f"a batch starts from {', '.join(map(repr, STARTS))}, not from given assignments or duals; solve the "
            "problems one by one to give them"
        )
    backend = backend_for(None, batch.device if device is None else device)
    chosen, reason = batch_method_of(method, backend.NAME, max(batch.shape[1:]))
    start = _own_start(chosen, _named_start(initial, bids_pay(chosen)))

    def solve_alone(number: int) -> Assignment:
        try:
            costs = batch.costs_of(number)
            return lap(costs, method=chosen, infeasible=infeasible, deterministic=deterministic, device=backend.NAME)
        except Infeasible as error:
            raise Infeasible(f"problem {number}: {error}", error.rows, error.columns) from None

    def settle(costs: DenseCosts, found: Any) -> int:
        return settle_ties(costs, found, Names.of(costs.shape, costs.transposed), lap)

    result = solve_batch(batch, backend.NAME, chosen, start, threads, solve_alone, settle if deterministic else None)
    result.stats["reason"] = reason
    if certify:
        verify(batch, result)
    return result


def _solve(
    costs: Costs,
    backend: Any,
    method: AssignmentMethod,
    start: _Start,
    infeasible: str,
    deterministic: bool,
    threads: int | None,
) -> Assignment:
    """Runs the method where the backend is; what it finds for forbidden pairs and limits is made a result."""
    on_device = costs.on(backend.NAME)
    row_match, v = start.row_match, start.v
    if on_device is not costs:
        row_match, v = (array if array is None else mover_to(backend.NAME)(array) for array in (row_match, v))
    names = Names.of(costs.shape, costs.transposed) if deterministic else None
    if isinstance(on_device, SparseCosts) and on_device.limit is not None:
        solution, status = _solve_with_ways_out(on_device, backend, method, start.kind, row_match, v, threads, names)
        return _result(costs, solution, status, None, backend, method, start)
    solution = _run(backend, on_device, method, start.kind, row_match, v, threads, names)
    status, cover = Status.OPTIMAL, None
    if solution[4]["size"] < min(costs.shape):
        cover = _cover_of_allowed_pairs(on_device, threads)
        if infeasible == "raise":
            raise _infeasible(costs, cover)
        status = Status.PARTIAL
        solution = _cheapest_of_largest(on_device, cover, solution, backend, method, threads, names)
    elif isinstance(on_device, DenseCosts) and costs.limit is not None and _drop_dear_pairs(on_device, solution):
        status = Status.LIMITED
    return _result(costs, solution, status, cover, backend, method, start)


def _solve_with_ways_out(
    costs: SparseCosts,
    backend: Any,
    method: AssignmentMethod,
    start: AssignmentStart,
    row_match: Any,
    v: Any,
    threads: int | None,
    names: Names | None,
) -> tuple[_Solution, Status]:
    """The solution of sparse costs with a limit: of a problem in which every row may also take a way out at its price.

    As in `_drop_dear_pairs` the prices differ by a constant. A way out that is taken has a dual of its own, which may
    be below 0; u of its row is lowered to the limit instead, so that u + v is not above it for any pair.
    """
    rows, columns = sorted(costs.shape)
    if v is not None:
        longer = np.zeros_like(v, shape=columns + rows)
        longer[:columns] = v
        v = longer
    problem = costs.with_ways_out()
    row_match = row_match if row_match is None else problem.stored_pairs(row_match)
    row_match, col_match, u, v, counters = _run(backend, problem, method, start, row_match, v, threads, names)
    counters.pop("exact", None)  # the duals of ways out, which are none of the result, are part of that proof
    out = row_match >= columns
    row_match[out] = -1
    return (row_match, col_match[:columns], u.clip(None, costs.limit), v[:columns], counters), (
        Status.LIMITED if bool(out.any()) else Status.OPTIMAL
    )


def _refuse_dense_options(method: AssignmentMethod, start: AssignmentStart) -> None:
    if not isinstance(method, JV | Tree):
        raise InvalidInput(f"method {method.name!r} is for dense costs; use 'auto', 'jv' or 'tree' for sparse ones")
    if start in (AssignmentStart.REGRET, AssignmentStart.BIDS):
        raise InvalidInput(
            f"initial={start.label!r} is for dense costs; use 'auto', 'reduce' or 'none' for sparse ones"
        )


def _run(
    backend: Any,
    costs: Costs,
    method: AssignmentMethod,
    start: AssignmentStart,
    row_match: Any,
    v: Any,
    threads: int | None,
    names: Names | None,
) -> _Solution:
    """What the method finds; with names, the assignment that they decide on."""

    def run(costs: Costs) -> _Solution:
        assign = backend.assign_sparse if isinstance(costs, SparseCosts) else backend.assign
        fits = not isinstance(method, Core) or isinstance(costs, SparseCosts) or costs.fits_core()
        found: _Solution = assign(costs, method if fits else Tree(), AssignmentStart.REDUCE, None, None, threads)
        return found

    def settle(costs: Costs, solution: _Solution) -> int:
        assert names is not None
        counters, now = solution[4], perf_counter_ns()
        complete = counters["size"] == len(solution[0])
        with_choice = settle_ties(costs, solution, names, lap) if complete else 0
        counters.pop("entries", None)  # the pairs may be others now
        counters["ties_ns"] = perf_counter_ns() - now
        return with_choice

    settle_if_asked = None if names is None else settle
    if costs.overflows or isinstance(method, Core) and isinstance(costs, DenseCosts) and not costs.fits_core():
        split = split_costs(costs)
        assert split is not None or not costs.overflows, "costs that overflow and cannot be split are refused"
        if split is not None:
            return solve_by_tiers(costs, split, run, settle_if_asked)
        method = Tree()  # of a part, for the whole can be split
    assign = backend.assign_sparse if isinstance(costs, SparseCosts) else backend.assign
    solution: _Solution = assign(costs, method, start, row_match, v, threads)
    if solution[4]["size"] == min(costs.shape) and duals_hide_costs(costs, solution):
        split = split_costs(costs, solution)
        if split is not None:
            return solve_by_tiers(costs, split, run, settle_if_asked)
    if settle_if_asked is not None:
        solution[4]["rows_with_choice"] = settle_if_asked(costs, solution)
    return solution


def _result(
    costs: Costs,
    solution: _Solution,
    status: Status,
    cover: tuple[Any, Any] | None,
    backend: Any,
    method: AssignmentMethod,
    start: _Start,
) -> Assignment:
    """The solution for the matrix as it was given, where it lives."""
    row_match, col_match, u, v, counters = solution
    entries, exact = counters.pop("entries", None), counters.pop("exact", None)
    if exact is not None:
        entries = None
    if costs.transposed or status is not Status.OPTIMAL or backend.NAME != costs.device:
        entries = None
    if backend.NAME != costs.device:
        back = mover_to(costs.device)
        row_match, col_match, u, v = back(row_match), back(col_match), back(u), back(v)
        cover = cover and (back(cover[0]), back(cover[1]))
        exact = exact and exact.moved(back)
    if costs.transposed:
        row_match, col_match, u, v = col_match, row_match, v, u
        exact = exact and exact.turned()
        cover = cover and cover[::-1]
    del counters["size"]
    stats = {
        "method": method.name,
        "initial": start.kind.label,
        "backend": backend.NAME,
        "seconds": {step: counters.pop(f"{step}_ns", 0) / 1e9 for step in (*STEPS, "ties")},
        **counters,
    }
    if entries is None:
        pair_costs = costs.of_pairs(row_match, status is Status.OPTIMAL)
    else:
        pair_costs = entries.astype(costs.dtype, copy=False)
    nodes = (costs.row_nodes, costs.col_nodes) if isinstance(costs, SparseCosts) else (None, None)
    return Assignment(
        row_match, col_match, u, v, pair_costs, status, costs.maximize, costs.cost_limit, cover, stats, exact,
        costs.forbid_nan, *nodes,
    )  # fmt: skip


def _nothing(costs: Costs) -> _Solution:
    """The solution of a problem without pairs."""
    rows, columns = sorted(costs.shape)
    to_device = mover_to(costs.device)
    row_match, col_match = (to_device(np.full(length, -1, np.int32)) for length in (rows, columns))
    u, v = (to_device(np.zeros(length, costs.dual_type)) for length in (rows, columns))
    counts = ("size", "start_size", "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected")
    times = tuple(f"{step}_ns" for step in STEPS)
    lists: dict[str, Any] = {"levels_per_phase": [], "augmentations_per_phase": []}
    return row_match, col_match, u, v, dict.fromkeys(counts + times, 0) | lists | {"team": "none", "threads": 0}


def _drop_dear_pairs(costs: DenseCosts, solution: _Solution) -> bool:
    """Frees the pairs dearer than the limit; whether there were any.

    Why that is right: of k pairs of n rows and m >= n columns, with n + m - 2 k vertices free at half the limit L, the
    price is sum(c) + L (n - k) + L (m - n) / 2. But for its last term, a constant, that is the cost of any assignment
    that completes the pairs where costs are cut off at L, and no other costs less.
    """
    row_match, col_match = solution[:2]
    rows = (row_match >= 0).nonzero()[0]
    entries = costs.array[rows, row_match].astype(costs.dual_type)
    dear = rows[-entries > costs.limit] if costs.maximize else rows[entries > costs.limit]
    col_match[row_match[dear]] = -1
    row_match[dear] = -1
    return len(dear) > 0


def _cover_of_allowed_pairs(costs: Costs, threads: int | None) -> tuple[Any, Any]:
    """Rows and columns of a smallest vertex cover (König 1931) of the pairs that are not forbidden."""
    return max_matching(costs.allowed_pairs(), threads=threads).vertex_cover()


def _infeasible(costs: Costs, cover: tuple[Any, Any]) -> Infeasible:
    """The error, with the witness in rows and columns as given."""
    back = mover_to(costs.device)
    size = len(cover[0]) + len(cover[1])
    rows, columns = map(back, witness_of(cover[::-1] if costs.transposed else cover, costs.shape))
    sides = f"{len(rows)} rows", f"{len(columns)} columns"
    many, few = sides if costs.shape[0] <= costs.shape[1] else sides[::-1]
    message = (
        f"no assignment avoids the forbidden pairs: {size} of {min(costs.shape)} pairs can be made; the error's {many} "
        f"may only be matched with its {few}; use infeasible='partial' to make as many as can be, or cost_limit to let "
        "rows and columns stay free"
    )
    return Infeasible(message, rows, columns)


def _cheapest_of_largest(
    costs: Costs,
    cover: tuple[Any, Any],
    solution: _Solution,
    backend: Any,
    method: AssignmentMethod,
    threads: int | None,
    names: Names | None,
) -> _Solution:
    """The cheapest of the largest matchings, from two problems that have assignments.

    As large as a cover, a matching has one pair for each vertex of it: none joins two of them, and all of them are
    matched. So it consists of an assignment between the cover's rows and the other columns, and one between the other
    rows and the cover's columns, of all vertices of the cover; and any two such make a largest matching.
    """
    row_match, col_match, u, v, counters = solution
    rows, columns = sorted(costs.shape)
    for array, value in ((row_match, -1), (col_match, -1), (u, 0), (v, 0)):
        array.fill(value)
    counters.pop("exact", None)
    other_rows, other_columns = all_others(cover[0], rows), all_others(cover[1], columns)
    exact = ExactDuals((), u.copy(), v.copy())
    for number, (part_rows, part_columns) in enumerate(((cover[0], other_columns), (other_rows, cover[1]))):
        if not (len(part_rows) and len(part_columns)):
            continue
        part = costs.part(part_rows, part_columns)
        part_names = names and names.part(part_rows, part_columns)
        *found, more = _run(backend, part, method, AssignmentStart.REDUCE, None, None, threads, part_names)
        of_part = more.pop("exact", ExactDuals((), found[2], found[3]))
        swapped = len(part_rows) > len(part_columns)
        exact = _with_part(exact, of_part.turned() if swapped else of_part, part_rows, part_columns, number)
        mates, _, row_duals, column_duals = _swapped(found) if swapped else found
        matched = (mates >= 0).nonzero()[0]
        row_match[part_rows[matched]] = part_columns[mates[matched]]
        col_match[part_columns[mates[matched]]] = part_rows[matched]
        u[part_rows], v[part_columns] = row_duals, column_duals
        counters = _sum(counters, more)
    in_parts = bool(exact.tiers) or costs.overflows
    return row_match, col_match, u, v, counters | ({"exact": exact} if in_parts else {})


def _with_part(whole: ExactDuals, part: ExactDuals, rows: Any, columns: Any, number: int) -> ExactDuals:
    """The duals of a part among those of all rows and columns."""
    whole.u[rows], whole.v[columns] = part.u, part.v
    tiers = list(whole.tiers)
    for tier in part.tiers:
        row_tiers, column_tiers = np.zeros_like(whole.u, np.int64), np.zeros_like(whole.v, np.int64)
        row_tiers[rows], column_tiers[columns] = tier.rows, tier.columns
        tiers.append(Tier(tier.value, row_tiers, column_tiers, number))
    return ExactDuals(tuple(tiers), whole.u, whole.v)


def _swapped(found: list[Any]) -> list[Any]:
    row_match, col_match, u, v = found
    return [col_match, row_match, v, u]


def _sum(counters: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What two runs counted together."""
    added = {
        name: value + more.get(name, type(value)()) for name, value in counters.items() if isinstance(value, int | list)
    }
    return counters | added | {"threads": max(counters["threads"], more["threads"])}


def _named_start(name: str, by_bids: bool) -> AssignmentStart:
    named = STARTS[name]
    if named is not None:
        return named
    return AssignmentStart.BIDS if by_bids else AssignmentStart.REDUCE


def _own_start(method: AssignmentMethod, named: AssignmentStart) -> AssignmentStart:
    """What a method starts from that is told a name: some have a start of their own, from minima."""
    if isinstance(method, JV | SerialCore) or isinstance(method, Core) and named is not AssignmentStart.NONE:
        return AssignmentStart.REDUCE
    return named


def _start_of(initial: Any, duals: Any, costs: Costs, method: AssignmentMethod) -> _Start:
    """The start as a backend takes it: for `costs.array`, with copies of given arrays where the costs live."""
    given = None if isinstance(initial, str) else _checked_assignment(initial, costs)
    of_initial = duals is None and isinstance(initial, Assignment)
    if of_initial:
        duals = initial.u, initial.v
    v = None if duals is None else _checked_duals("duals of initial" if of_initial else "duals", duals, costs)
    if given is None:
        if initial not in STARTS:
            raise InvalidInput(
                f"unknown start {initial!r}; expected {', '.join(map(repr, STARTS))}, an Assignment, or an array"
            )
        if isinstance(costs, DenseCosts):
            kind = _own_start(method, _named_start(initial, bids_pay(method, costs)))
        else:
            kind = _named_start(initial, False)
        return _Start(kind, None, v)
    row_match, col_match = given
    return _Start(AssignmentStart.GIVEN, col_match if costs.transposed else row_match, v)


def _checked_duals(what: str, duals: Any, costs: Costs) -> Any:
    """Given duals of the columns of `costs.array`, as a copy where the costs live; those of the rows follow.

    Moved and cut to lie between 0 and minus what duals need, for no others are of use, and larger ones could overflow.
    """
    if not isinstance(duals, tuple | list) or len(duals) != 2:
        raise InvalidInput(f"{what} must be a pair of arrays, (u, v); got {type(duals).__name__}")
    u, v = (_checked_dual(what, *named, costs) for named in zip("uv", duals, costs.shape, strict=True))
    v = u if costs.transposed else v
    if not v.size:
        return v
    most = v.max().item()
    least = most - costs.dual_spread()
    return v.clip(max(least, np.iinfo(np.int64).min) if v.dtype.kind == "i" else least, most) - most


def _checked_dual(what: str, name: str, given: Any, length: int, costs: Costs) -> Any:
    array = as_dense_array(given, what)
    kinds, expected = ("i", "signed integers") if costs.dual_type is np.int64 else ("if", "real numbers")
    # Of an empty list NumPy makes floats.
    if array.shape != (length,) or length and array.dtype.kind not in kinds:
        raise InvalidInput(
            f"{what} must be {expected} for {costs.dtype} costs, and {name} of shape ({length},); got {array.dtype} of "
            f"shape {array.shape}"
        )
    with np.errstate(over="ignore"):  # of long doubles: they become infinite
        dual = mover_to(costs.device)(array).astype(costs.dual_type)
    infinite = (~np.isfinite(dual)).nonzero()[0]
    if len(infinite):
        vertex = int(infinite[0])
        raise InvalidInput(f"{what} must be finite; {name}[{vertex}] is {dual[vertex].item()}")
    return dual


def _checked_assignment(initial: Any, costs: Costs) -> tuple[Any, Any]:
    """Both sides of a given assignment as int32 arrays of our own, where the costs live."""
    rows, columns = costs.shape
    given = as_dense_array(initial.row_match if isinstance(initial, Assignment) else initial, "initial")
    if given.shape != (rows,) or rows and given.dtype.kind not in "iu":
        raise InvalidInput(
            f"initial must be an Assignment or an integer array of shape ({rows},), the column of each row or -1; "
            f"got {given.dtype} of shape {given.shape}"
        )
    to_device = mover_to(costs.device)
    given = to_device(given)
    if rows and not (-1 <= int(given.min()) and int(given.max()) < columns):
        raise InvalidInput(
            f"initial must hold columns from 0 to {columns - 1}, or -1; got {int(given.min())} to {int(given.max())}"
        )
    row_match, col_match = given.astype(np.int32), to_device(np.full(columns, -1, np.int32))
    matched = (row_match >= 0).nonzero()[0]
    mates = row_match[matched]
    col_match[mates] = matched
    twice = mates[col_match[mates] != matched]
    if len(twice):
        raise InvalidInput(f"initial must be a matching; column {int(twice[0])} is given to more than one row")
    forbidden = matched[~costs.may_pair(matched, mates)]
    if len(forbidden):
        row = int(forbidden[0])
        raise InvalidInput(f"initial must not use forbidden pairs; row {row} has column {int(row_match[row])}")
    return row_match, col_match
