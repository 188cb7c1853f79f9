"""Proofs checked in plain array code that shares nothing with the solvers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

from .. import cuda
from ..arrays import (
    Device,
    as_dense_array,
    to_host,
    truth_of,
)
from ..errors import InvalidInput
from ..foreign import as_sparse
from ..problems.batch import CostBatch
from ..problems.limits import Asked
from ..problems.points import PointCosts
from ..problems.row_blocks import RowBlocks
from ..problems.sparse import SparseCosts, is_sparse
from ..problems.windows import WindowCosts, as_windows
from ..result import (
    Assignment,
    AssignmentBatch,
    AssignmentCertificate,
    Certificate,
    Decomposition,
    DecompositionCertificate,
    Matching,
)
from ..tensors import with_arrays
from ..toolkit_result import (
    Bottleneck,
    BottleneckCertificate,
    Hypotheses,
    KBest,
    KBestCertificate,
    Scaling,
    ScalingCertificate,
    Transport,
    TransportCertificate,
)
from .bottleneck import verify_bottleneck
from .decomposition import verify_decomposition
from .dense import verify_dense_assignment
from .hypotheses import verify_hypotheses
from .matching import verify_matching
from .pairs import verify_pairs
from .points import verify_point_assignment
from .ranked import verify_k_best
from .scaling import verify_scaling
from .sparse import verify_sparse_assignment
from .transport import verify_transport
from .windows import verify_window_assignment

_Result = (
    Matching | Assignment | AssignmentBatch | Decomposition | Bottleneck | KBest | Hypotheses | Scaling | Transport
)
_Certificate = (
    Certificate
    | AssignmentCertificate
    | list[AssignmentCertificate]
    | DecompositionCertificate
    | BottleneckCertificate
    | KBestCertificate
    | ScalingCertificate
    | TransportCertificate
)


@overload
def verify(problem: Any, result: Matching, *, strict: bool = ...) -> Certificate: ...
@overload
def verify(problem: Any, result: Assignment, *, strict: bool = ..., comm: Any = ...) -> AssignmentCertificate: ...
@overload
def verify(problem: Any, result: AssignmentBatch, *, strict: bool = ...) -> list[AssignmentCertificate]: ...
@overload
def verify(problem: Any, result: Decomposition, *, strict: bool = ...) -> DecompositionCertificate: ...
@overload
def verify(problem: Any, result: Bottleneck, *, strict: bool = ...) -> BottleneckCertificate: ...
@overload
def verify(problem: Any, result: KBest | Hypotheses, *, strict: bool = ...) -> KBestCertificate: ...
@overload
def verify(problem: Any, result: Scaling, *, strict: bool = ...) -> ScalingCertificate: ...
@overload
def verify(problem: Any, result: Transport, *, strict: bool = ...) -> TransportCertificate: ...
def verify(problem: Any, result: _Result, *, strict: bool = False, comm: Any = None) -> _Certificate:
    """Proves that a matching is largest, an assignment cheapest, or a decomposition block triangular and finest.

    For a `Matching`: mates point at each other, and an edge joins them. Every edge has an end in the matching's vertex
    cover, and the cover has as many vertices as the matching has edges. So no matching is larger (König 1931). Plain
    NumPy or CuPy code where the graph lives; O(rows + columns + entries) time and memory.

    For an `Assignment`: mates point at each other. No pair is forbidden or costs more than the limit. There are as many
    pairs as possible; if they are fewer than rows and columns, a vertex cover proves it. The duals prove that no
    assignment is cheaper, over every entry of the matrix.

    - Dense costs: O(rows * columns) time in blocks, O(rows + columns) memory.
    - Sparse costs: every stored entry, in O(rows + columns + entries) time and memory.
    - Points: all pairs, by bounds if there are many; O(n + m) memory.
    - `FunctionCosts` and `RowWindows`: every entry, some rows at a time; O(rows + columns) memory.
    - Exactly k pairs: `Assignment.pair_price` is a part of the proof. No dual is above 0, so k pairs cost at least k
      prices plus the sum of all duals.

    For a `Decomposition`: its matching is proven as above and lies on the diagonals. The orders are permutations,
    blocks and parts fit each other, and no entry lies below the diagonal blocks. No block can be split: breadth-first
    searches along alternating paths reach all of the vertical part from the free rows, all of the horizontal part from
    the free columns, and all of a square block from its first pair, there and back. On the host, in O(rows + columns +
    entries) time and memory.

    For a `Bottleneck`: its pairs are allowed, as many as possible, and none costs more than its threshold. Its cover
    has fewer vertices than there are pairs, and every cheaper pair lies in the cover. With ``then="sum"`` its
    assignment is proven cheapest among the pairs up to the threshold.

    For a `KBest`: its assignments differ, are allowed, are in order, and cost what they say. No other assignment is
    cheaper than the last. For an assignment that is not listed shares its first pairs with some listed ones, and then
    has another pair than all of them. The duals prove the first of these listed ones cheapest among all assignments
    that share the pairs by which it parts from earlier ones. So the extra cost of another assignment is a cycle of
    slacks through the row where it parts, and later rows. The shortest such cycles are found for all rows at once
    (Floyd 1962), among pairs whose slack is below the extra cost of the last assignment. On the host, in O(allowed
    pairs) time for each assignment, and the cube of the number of rows on such cycles.

    For `Hypotheses`: the list of each parent, as above. No child that was left out is better than the worst one that
    was kept: neither a listed child, nor a child after the end of a list.

    For a `Scaling`: the problem of its job, as above. For ``"product"`` also that no scaled entry is above 1 and that
    diagonal entries are 1, within 64 * eps * (rows + columns) of the largest logarithm.

    For a `Transport`: amounts add up to supplies and demands. Its duals prove the cost as the duals of an assignment
    do, each counted once for each unit of its row or column.

    Parameters
    ----------
    problem : as for `gmatch.max_matching` or `gmatch.lap`; for a Transport (cost, supply, demand)
        Costs that became a wider type in a batch are taken in that type.
    result : Matching, Assignment, AssignmentBatch, Decomposition, Bottleneck, KBest, Hypotheses, Scaling or Transport
        The result for the problem, on either device. An Assignment knows whether it was to maximize, its limit, and
        whether NaN forbade pairs.
    strict : bool
        Find the gap of an assignment of floats in exact arithmetic, and hold it against a few roundings of what its
        pairs cost. All other results are proven exactly anyway.
    comm : communicator of mpi4py, or Ranks, optional
        The processes that hold a matrix together, as for `gmatch.lap`. `problem` is the block of this rank, `result`
        the assignment of the whole. Each rank proves its rows. All get one certificate, or one error.

    Returns
    -------
    Certificate, AssignmentCertificate (a list of them for a batch), DecompositionCertificate, BottleneckCertificate,
    KBestCertificate, ScalingCertificate or TransportCertificate

    Raises
    ------
    CertificateError
        If a part of the proof does not hold; the message says which.
    InvalidInput
        If `problem` is not a problem whose result `result` can be.

    Notes
    -----
    Any duals become feasible by lowering each u[i] to the least c[i, j] - v[j] of its row and, if columns may stay
    free, each v[j] above 0 to 0. Their sum is then a bound that no assignment falls below. Both the lowering and the
    gap between the cost and the bound must be 0 for integers. For floats both must be within

        64 * eps * (rows + columns) * scale,

    where eps is 2**-52 and scale is the largest magnitude of a dual or a matched cost. (For points, a limit counts,
    too; for cosine distances scale is at least 1, since they are rounded at this size.) Solvers make a dual in a number
    of steps, each rounded to eps / 2 of that magnitude, and the sum of min(rows, columns) of these roundings remains.
    Duals beyond 8 (rows + columns) times the largest finite cost or limit are refused, as no solver needs them.

    If an assignment has `exact` duals, scale is the largest magnitude of their rests and of the rests of the matched
    costs: what ordinary pairs cost, without the big number that stands for "not". The multiples of the big number are
    proven in integers.

    A strict proof does not depend on the size of the duals. Its gap is the cost of the pairs less the cost of the
    cheapest assignment, both exact sums of the costs as given: 0 if none is cheaper. It must be within

        4 * eps * (the sum of what the pairs cost, each without its sign and without big numbers),

    so the last digits of a sum of the pairs' costs, in floats, are larger than the gap. Cheaper assignments are sought
    along the pairs whose slack is 0 up to rounding (Moore 1959: negative cycles, by labels in the order of a queue).
    This takes O(entries) time if few pairs have so little slack, and more if most do.

    Examples
    --------
    >>> cost = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]
    >>> gmatch.verify(cost, gmatch.lap(cost))
    AssignmentCertificate(cost=5, gap=0, tolerance=0)
    """
    strict = truth_of("strict", strict)
    if comm is not None or isinstance(problem, RowBlocks):
        from ..distributed.verify import verify_on_ranks

        return verify_on_ranks(problem, result, comm, strict)
    if isinstance(result, Assignment | AssignmentBatch | Matching):
        result = with_arrays(result)
    if isinstance(result, AssignmentBatch):
        return [
            verify_dense_assignment(cost, result[k], strict) for k, cost in enumerate(_problems_of(problem, result))
        ]
    if isinstance(result, Assignment) and result.pair_price is not None:
        return verify_pairs(problem, result)
    if isinstance(result, Assignment):
        if isinstance(problem, PointCosts):
            return verify_point_assignment(
                problem, result if problem.lies_on == "cpu" else result.moved(to_host), strict
            )
        problem = as_windows(problem, Asked(result.maximize, result.cost_limit, result.forbid_nan), _device_of(result))
        if isinstance(problem, WindowCosts):
            return verify_window_assignment(problem, result, strict)
        problem = as_sparse(problem)
        sparse = isinstance(problem, SparseCosts) or is_sparse(problem)
        return (verify_sparse_assignment if sparse else verify_dense_assignment)(problem, result, strict)
    if isinstance(result, Decomposition):
        return verify_decomposition(problem, result)
    if isinstance(result, Bottleneck):
        return verify_bottleneck(problem, result, strict)
    if isinstance(result, KBest):
        return verify_k_best(problem, result)
    if isinstance(result, Hypotheses):
        return verify_hypotheses(problem, result)
    if isinstance(result, Transport):
        return verify_transport(problem, result)
    if isinstance(result, Scaling):
        return verify_scaling(problem, result)
    if isinstance(result, Matching):
        return verify_matching(problem, result)
    raise InvalidInput(
        "expected a Matching, an Assignment, an AssignmentBatch, a Decomposition or a result of the toolkit beside the "
        f"problem; got {type(result).__name__}"
    )


def _device_of(result: Assignment) -> Device | None:
    """Where costs are read that came to the solver in windows; None for the host."""
    came_in_windows = result.stats.get("team") == "windows" and result.stats.get("backend") == "gpu"
    return "gpu" if came_in_windows and cuda.is_there() else None


def _problems_of(batch: Any, result: AssignmentBatch) -> Iterator[Any]:
    """The matrix of each problem, without its padding."""
    if not isinstance(batch, CostBatch | list | tuple):
        batch = as_dense_array(batch)
        if batch.ndim != 3:
            raise InvalidInput(f"expected costs of shape (problems, rows, columns); got {batch.ndim} dimensions")
    if len(batch) != len(result):
        raise InvalidInput(f"expected the costs of {len(result)} problems; got {len(batch)}")
    if isinstance(batch, CostBatch):
        return map(batch.costs_of, range(len(batch)))
    return (_without_padding(matrix, result, number) for number, matrix in enumerate(batch))


def _without_padding(matrix: Any, result: AssignmentBatch, number: int) -> Any:
    matrix = as_dense_array(matrix)
    if matrix.ndim != 2:
        raise InvalidInput(f"problem {number}: expected a matrix of costs; got {matrix.ndim} dimensions")
    if result.places is None:
        rows, columns = result.shapes[number].tolist()
        return matrix[:rows, :columns]
    shape = result.row_match.shape[1], result.col_match.shape[1]
    if matrix.shape != shape:
        raise InvalidInput(f"problem {number}: expected a matrix of shape {shape}; got {matrix.shape}")
    rows, columns = result.places[number]
    return matrix[rows][:, columns]
