"""Proofs checked in plain array code that shares nothing with the solvers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from .backends import cpu, device_of
from .batch import CostBatch
from .costs import WORKING_TYPES, DenseCosts, as_dense_array, as_matrix, blocks_of, may_round, minimised
from .errors import CertificateError, InvalidInput
from .exact_certificate import TieredPart, check_exact, gap_in_tiers, part_of
from .foreign import as_sparse
from .problem import as_graph
from .result import Assignment, AssignmentBatch, Decomposition, ExactDuals, Matching, Status, all_others, exact_sum

if TYPE_CHECKING:
    from .sparse_costs import SparseCosts


@dataclass(frozen=True)
class Certificate:
    """What `verify` proved.

    Attributes
    ----------
    size : int
        Edges in the matching, which is also the number of vertices in the cover.
    cover_rows, cover_columns : int
        How many rows and columns the cover has.
    """

    size: int
    cover_rows: int
    cover_columns: int


@dataclass(frozen=True)
class AssignmentCertificate:
    """What `verify` proved: no assignment costs less than `cost - gap` (more than `cost + gap`, when maximizing).

    Attributes
    ----------
    cost : int or float
        Of the assignment.
    gap : int or float
        By how much another assignment could be better at most, as the duals prove; 0 for integers.
    tolerance : int or float
        What `gap` may be: 0 for integers. For floats it allows for the rounding of the duals.
    """

    cost: int | float
    gap: int | float
    tolerance: int | float


@dataclass(frozen=True)
class DecompositionCertificate:
    """What `verify` proved: the form is block upper triangular, and no block can be split.

    Attributes
    ----------
    structural_rank : int
        Edges in the matching on the diagonals.
    blocks : int
        Blocks of the fine decomposition.
    """

    structural_rank: int
    blocks: int


@overload
def verify(problem: Any, result: Matching) -> Certificate: ...
@overload
def verify(problem: Any, result: Assignment) -> AssignmentCertificate: ...
@overload
def verify(problem: Any, result: AssignmentBatch) -> list[AssignmentCertificate]: ...
@overload
def verify(problem: Any, result: Decomposition) -> DecompositionCertificate: ...
def verify(
    problem: Any, result: Matching | Assignment | AssignmentBatch | Decomposition
) -> Certificate | AssignmentCertificate | list[AssignmentCertificate] | DecompositionCertificate:
    """Proves that a matching is largest, an assignment cheapest, or a decomposition block triangular and finest.

    For a matching: mates point at each other and are joined by an edge, every edge has an end in the matching's vertex
    cover, and the cover has as many vertices as the matching has edges: then none is larger (König 1931). Plain NumPy
    or CuPy code where the graph lives; O(rows + columns + entries) time and memory.

    For an assignment: mates point at each other, no pair is forbidden or dearer than the limit, the pairs are as many
    as there can be (by a vertex cover, if that is fewer than rows and columns), and the duals prove that no assignment
    is cheaper, over every entry of the matrix. O(rows * columns) time in blocks, O(rows + columns) memory. For sparse
    costs over every stored entry, in O(rows + columns + entries) time and memory.

    For a decomposition: its matching is proven as above and lies on the diagonals, the orders are permutations, blocks
    and parts fit each other, no entry lies below the diagonal blocks, and none of these can be split: breadth-first
    searches along alternating paths reach all of the vertical part from the free rows, all of the horizontal part from
    the free columns, and all of a square block from its first pair, there and back. On the host, in O(rows + columns +
    entries) time and memory.

    Parameters
    ----------
    problem : as for `gmatch.max_matching` or `gmatch.lap`
        Costs that became those of a wider type in a batch are taken in that type.
    result : Matching, Assignment, AssignmentBatch or Decomposition
        What they returned for the problem, on either device. An Assignment knows whether it was to maximize, its
        limit, and whether NaN forbade pairs.

    Returns
    -------
    Certificate, AssignmentCertificate (a list of them for a batch) or DecompositionCertificate

    Raises
    ------
    CertificateError
        If any of it does not hold; the message says what.
    InvalidInput
        If `problem` is not such a problem.

    Notes
    -----
    Whatever the duals are, lowering each u[i] to the least c[i, j] - v[j] of its row, and each v[j] above 0 to 0 where
    columns may stay free, makes them feasible, and their sum a bound that no assignment falls below. Both the lowering
    and the gap between the cost and that bound must be 0 for integers. For floats both must be within

        64 * eps * (rows + columns) * scale,

    where eps is 2**-52 and scale the largest magnitude of a dual or a matched cost: solvers make a dual in a number of
    steps, each rounded to eps / 2 of that magnitude, and the sum of min(rows, columns) of these roundings remains.
    Duals beyond 8 (rows + columns) times the largest finite cost are refused, as no solver needs them.

    Where an assignment has `exact` duals, scale is the largest magnitude of their rests and of the rests of the matched
    costs: of what ordinary pairs cost, without the big number that stands for "not". All else is proven in integers.
    """
    if isinstance(result, AssignmentBatch):
        return [_verify_assignment(cost, result[k]) for k, cost in enumerate(_problems_of(problem, result))]
    if isinstance(result, Assignment):
        from .sparse_certificate import verify_sparse_assignment
        from .sparse_costs import SparseCosts, is_sparse

        problem = as_sparse(problem)
        sparse = isinstance(problem, SparseCosts) or is_sparse(problem)
        return verify_sparse_assignment(problem, result) if sparse else _verify_assignment(problem, result)
    if isinstance(result, Decomposition):
        return _verify_decomposition(problem, result)
    if isinstance(result, Matching):
        return _verify_matching(problem, result)
    raise InvalidInput(
        "expected a Matching, an Assignment, an AssignmentBatch or a Decomposition beside the problem; got "
        f"{type(result).__name__}"
    )


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


def _verify_matching(graph: Any, matching: Matching) -> Certificate:
    problem = as_graph(graph).private()
    xp = _namespace(problem.indices)
    rows, columns = problem.shape
    row_match, col_match = _arrays_of(xp, matching, "row_match", "col_match")
    _check_mates(xp, row_match, col_match, problem.shape)
    (reached,) = _arrays_of(xp, matching, "reached_columns")
    if reached.shape != (columns,) or reached.dtype != np.bool_:
        raise CertificateError(
            f"reached_columns must hold {columns} booleans; got {reached.dtype} of shape {reached.shape}"
        )
    size = int((row_match >= 0).sum())
    if not isinstance(matching.size, int | np.integer):
        raise CertificateError(f"size must be an integer; got {type(matching.size).__name__}")
    if size != matching.size:
        raise CertificateError(f"the matching says it has {matching.size} edges, but {size} rows are matched")
    entries = problem.indices[: problem.entries]
    row_of = row_of_each_entry(problem.indptr, problem.entries)
    missing = rows_without_their_edge(row_match, row_of, entries)
    if len(missing):
        row = int(missing[0])
        raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, but they share no edge")

    cover_rows, cover_columns = (_here(xp, part) for part in matching.vertex_cover())
    in_cover_row = _mask(xp, cover_rows, rows, "row")
    in_cover_column = _mask(xp, cover_columns, columns, "column")
    uncovered = (~(in_cover_row[row_of] | in_cover_column[entries])).nonzero()[0]
    if len(uncovered):
        edge = int(uncovered[0])
        raise CertificateError(
            f"the edge of row {int(row_of[edge])} and column {int(entries[edge])} is not covered: "
            "the matching is not proven maximum"
        )
    if len(cover_rows) + len(cover_columns) != size:
        raise CertificateError(
            f"the cover has {len(cover_rows)} rows and {len(cover_columns)} columns, not {size} vertices: "
            "the matching is not proven maximum"
        )
    return Certificate(size, len(cover_rows), len(cover_columns))


def rows_without_their_edge(row_match: Any, row_of: Any, entries: Any) -> Any:
    """The matched rows that have no entry in the column of their mate."""
    joined = row_match < 0
    joined[row_of[row_match[row_of] == entries]] = True
    return (~joined).nonzero()[0]


def row_of_each_entry(indptr: Any, entries: int) -> Any:
    """The row of every stored entry, shape (entries,)."""
    xp = _namespace(indptr)
    rows = len(indptr) - 1
    if xp is np:
        return np.repeat(np.arange(rows, dtype=np.int32), np.diff(indptr))
    return xp.searchsorted(indptr, xp.arange(entries, dtype=indptr.dtype), side="right").astype(np.int32) - 1


def _namespace(array: Any) -> Any:
    """NumPy, or the CuPy that made the array."""
    return np if device_of(array) == "cpu" else sys.modules["cupy"]


def _arrays_of(xp: Any, result: Any, *names: str) -> list[Any]:
    return [_vector(xp, name, getattr(result, name)) for name in names]


def _vector(xp: Any, name: str, array: Any) -> Any:
    if getattr(array, "ndim", 0) != 1 or isinstance(array, np.ma.MaskedArray):
        raise CertificateError(f"{name} must be a one-dimensional array without a mask; got "
                               f"{type(array).__name__} of shape {getattr(array, 'shape', ())}")  # fmt: skip
    return _here(xp, array)


def _here(xp: Any, array: Any) -> Any:
    """The array where the problem lives, which may be elsewhere than the result."""
    return xp.asarray(cpu.to_device(array) if xp is np else array)


def _check_mates(xp: Any, row_match: Any, col_match: Any, shape: tuple[int, int]) -> None:
    for side, mates, length, bound in (("row", row_match, *shape), ("col", col_match, *shape[::-1])):
        if mates.shape != (length,) or mates.dtype.kind != "i":
            raise CertificateError(
                f"{side}_match must hold {length} integers; got {mates.dtype} of shape {mates.shape}"
            )
        if length and not (-1 <= int(mates.min()) and int(mates.max()) < bound):
            raise CertificateError(f"{side}_match must hold numbers from -1 to {bound - 1}; got "
                                   f"{int(mates.min())} to {int(mates.max())}")  # fmt: skip
    for side, mates, back in (("row", row_match, col_match), ("column", col_match, row_match)):
        matched = (mates >= 0).nonzero()[0]
        wrong = (back[mates[matched]] != matched).nonzero()[0]
        if len(wrong):
            vertex = int(matched[wrong[0]])
            mate = int(mates[vertex])
            raise CertificateError(f"{side} {vertex} is matched with {mate}, which is matched with {int(back[mate])}")


def _mask(xp: Any, numbers: Any, length: int, side: str) -> Any:
    if numbers.dtype.kind not in "iu":
        raise CertificateError(f"the cover's {side} numbers must be integers; got {numbers.dtype}")
    if len(numbers) and not (0 <= int(numbers.min()) and int(numbers.max()) < length):
        raise CertificateError(f"the cover's {side} numbers must be from 0 to {length - 1}")
    mask = xp.zeros(length, np.bool_)
    mask[numbers] = True
    if int(mask.sum()) != len(numbers):
        raise CertificateError(f"the cover names a {side} twice")
    return mask


ALL = slice(None)


class _Part(NamedTuple):
    """A problem of its own: its rows are all matched, with some of its columns."""

    entries: Any  # costs.array, or its transpose
    rows: Any  # numbers of rows of `entries`, or all
    columns: Any
    u: Any  # duals of these rows
    v: Any
    pair_costs: Any  # what each of these rows costs, in the minimisation form
    swapped: bool  # rows are columns of the matrix as given

    def name(self, row: int, column: int) -> tuple[int, int]:
        """The pair in the matrix as given."""
        row, column = row if isinstance(self.rows, slice) else int(self.rows[row]), self.name_of_column(column)
        return (column, row) if self.swapped else (row, column)

    def name_of_column(self, column: int) -> int:
        """Its number in the matrix as given, of a row if they are swapped."""
        return column if isinstance(self.columns, slice) else int(self.columns[column])


def _verify_assignment(cost: Any, assignment: Assignment) -> AssignmentCertificate:
    costs = _costs_of(cost, assignment)
    xp = _namespace(costs.array)
    row_match, col_match = _arrays_of(xp, assignment, "row_match", "col_match")
    _check_mates(xp, row_match, col_match, costs.shape)
    _check_pairs(xp, costs, row_match, assignment)
    u, v = _checked_duals(xp, assignment, costs)
    cover = _checked_cover(xp, costs, assignment)
    if costs.transposed:
        row_match, col_match, u, v = col_match, row_match, v, u
    pair_costs = _pair_costs(xp, costs, row_match)
    if assignment.exact is not None:
        return _verify_in_tiers(xp, costs, assignment, cover, col_match, pair_costs)
    if costs.overflows:
        raise CertificateError("sums of these costs could overflow: only exact duals, in tiers, prove an assignment")
    tolerance = _tolerance(costs, u, v, pair_costs)
    if cover is None:
        parts = [_Part(costs.array, ALL, ALL, u, v, pair_costs, costs.transposed)]
    else:
        parts = _parts_of(costs, cover, u, v, pair_costs, col_match)
    return _certificate(assignment, sum(_gap(xp, costs, part, tolerance) for part in parts), tolerance)


def _verify_in_tiers(
    xp: Any, costs: DenseCosts, assignment: Assignment, cover: Any, col_match: Any, pair_costs: Any
) -> AssignmentCertificate:
    """By exact duals; `col_match` is that of `costs.array`."""
    exact = exact_duals_here(xp, assignment, costs)
    exact = exact.turned() if costs.transposed else exact
    entries, every = costs.array, xp.arange
    rows, columns = (every(length) for length in entries.shape)

    def part(entries: Any, rows: Any, columns: Any, exact: ExactDuals, pair_costs: Any) -> TieredPart:
        def blocks() -> Iterator[tuple[Any, Any, Any]]:
            for some in blocks_of((len(rows), len(columns)), costs.device):
                values = minimised(entries[rows[some]][:, columns], costs.dual_type, costs.maximize, costs.limit)
                yield values, every(len(rows))[some][:, None], every(len(columns))[None]

        return TieredPart(blocks, pair_costs, exact)

    if cover is None:
        parts = [part(entries, rows, columns, exact, pair_costs)]
    else:
        other_rows, other_columns = all_others(cover[0], len(rows)), all_others(cover[1], len(columns))
        one = part_of(exact, 0, cover[0], other_columns)
        two = part_of(exact, 1, other_rows, cover[1]).turned()
        parts = [
            part(entries, cover[0], other_columns, one, pair_costs[cover[0]]),
            part(entries.T, cover[1], other_rows, two, pair_costs[col_match[cover[1]]]),
        ]
    return certificate_in_tiers(xp, assignment, parts, sum(costs.shape))


def certificate_in_tiers(
    xp: Any, assignment: Assignment, parts: list[TieredPart], vertices: int
) -> AssignmentCertificate:
    gaps = [gap_in_tiers(xp, part, vertices) for part in parts if len(part.pair_costs)]
    return _certificate(assignment, sum(gap for gap, _ in gaps), sum(tolerance for _, tolerance in gaps))


def exact_duals_here(xp: Any, assignment: Assignment, costs: DenseCosts | SparseCosts) -> ExactDuals:
    """The exact duals where the costs live, of the right types and lengths."""
    for name, array, length, dtype in check_exact(assignment.exact, costs.shape, costs.dual_type):
        array = _vector(xp, name, array)
        if array.shape != (length,) or array.dtype != dtype:
            raise CertificateError(
                f"{name} must hold {length} numbers of type {np.dtype(dtype)}; got {array.dtype} of shape {array.shape}"
            )
        if not bool(xp.isfinite(array).all()):
            raise CertificateError(f"{name} must be finite")
    assert assignment.exact is not None
    return assignment.exact.moved(lambda array: _here(xp, array))


def _certificate(assignment: Assignment, gap: int | float, tolerance: int | float) -> AssignmentCertificate:
    if not gap <= tolerance:
        raise CertificateError(
            f"the duals leave a gap of {gap}, more than the tolerance {tolerance}: the assignment is not proven "
            f"{'dearest' if assignment.maximize else 'cheapest'}"
        )
    # Rounding can make a gap of floats negative.
    return AssignmentCertificate(assignment.cost, max(gap, type(gap)(0)), tolerance)


def _costs_of(cost: Any, assignment: Assignment) -> DenseCosts:
    if not isinstance(cost, DenseCosts):
        array = _in_type_of(assignment, as_matrix(cost))
        return DenseCosts(
            array, maximize=assignment.maximize, cost_limit=assignment.cost_limit, forbid_nan=assignment.forbid_nan
        )
    _refuse_costs_of_others(cost, assignment)
    return cost


def _in_type_of(assignment: Assignment, array: Any) -> Any:
    """The costs in the type of the assignment if that is wider, as for a batch of several types; see `CostBatch`."""
    dtype = getattr(assignment.pair_costs, "dtype", None)
    if dtype == array.dtype or dtype not in WORKING_TYPES or np.result_type(array.dtype, dtype) != dtype:
        return array
    return array if may_round(array, dtype) else array.astype(dtype)


def _refuse_costs_of_others(costs: DenseCosts | SparseCosts, assignment: Assignment) -> None:
    if (costs.maximize, costs.cost_limit) != (assignment.maximize, assignment.cost_limit):
        raise CertificateError(
            f"the assignment is for maximize={assignment.maximize} and cost_limit={assignment.cost_limit}, the costs "
            f"are for maximize={costs.maximize} and cost_limit={costs.cost_limit}"
        )


def _check_pairs(xp: Any, costs: DenseCosts, row_match: Any, assignment: Assignment) -> None:
    """That pairs may be made, cost what the assignment says, and are as many as its status says."""
    rows = (row_match >= 0).nonzero()[0]
    entries = costs.matrix[rows, row_match[rows]]
    (claimed,) = _arrays_of(xp, assignment, "pair_costs")
    if claimed.shape != entries.shape or claimed.dtype != costs.dtype or bool((claimed != entries).any()):
        raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
    values = _minimised(xp, costs, entries)
    worst = math.inf if costs.limit is None else costs.limit
    for wrong, what in ((values == math.inf, "forbidden"), (values > worst, "dearer than the limit")):
        if bool(wrong.any()):
            row = int(rows[wrong][0])
            raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which is {what}")
    most = min(costs.shape)
    if len(rows) < most and costs.limit is None and assignment.cover is None:
        raise CertificateError(
            f"the assignment has {len(rows)} of {most} pairs, and no cover that proves that there can be no more"
        )
    status = Status.OPTIMAL if len(rows) == most else Status.LIMITED if assignment.cover is None else Status.PARTIAL
    if assignment.status != status:
        raise CertificateError(
            f"the assignment says it is {str(assignment.status)!r}, but with {len(rows)} of {most} pairs it is "
            f"{str(status)!r}"
        )


def _checked_duals(xp: Any, assignment: Assignment, costs: DenseCosts | SparseCosts) -> list[Any]:
    duals = _arrays_of(xp, assignment, "u", "v")
    for name, dual, length in zip("uv", duals, costs.shape, strict=True):
        if dual.shape != (length,) or dual.dtype != costs.dual_type:
            raise CertificateError(
                f"{name} must hold {length} duals of type {np.dtype(costs.dual_type)}; got {dual.dtype} of shape "
                f"{dual.shape}"
            )
        infinite = (~xp.isfinite(dual)).nonzero()[0]
        if len(infinite):
            raise CertificateError(f"{name}[{int(infinite[0])}] is {dual[infinite[0]].item()}, which is no dual")
    return duals


def _cover_of(xp: Any, assignment: Assignment, shape: tuple[int, int]) -> tuple[tuple[Any, Any], list[Any]]:
    """Rows and columns of the cover, and which they are as booleans; they are as many as there are pairs."""
    given: Any = assignment.cover
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise CertificateError(f"the cover must be the numbers of rows and those of columns; got {given!r}")
    sides = "row", "column"
    cover = tuple(_vector(xp, f"{side}s of the cover", part) for side, part in zip(sides, given, strict=True))
    in_cover = [_mask(xp, *side) for side in zip(cover, shape, sides, strict=True)]
    if len(cover[0]) + len(cover[1]) != assignment.size:
        raise CertificateError(
            f"the cover has {len(cover[0])} rows and {len(cover[1])} columns, not {assignment.size} vertices: the "
            "matching is not proven largest"
        )
    return cover, in_cover


def _checked_cover(xp: Any, costs: DenseCosts, assignment: Assignment) -> tuple[Any, Any] | None:
    """The cover in rows and columns of `costs.array`; all allowed pairs lie in it, and it is as large as the matching.

    Then each pair has one vertex of it, and each vertex of it a pair.
    """
    if assignment.cover is None:
        return None
    cover, in_cover = _cover_of(xp, assignment, costs.shape)
    if costs.transposed:
        cover, in_cover = cover[::-1], in_cover[::-1]
    for rows in costs.row_blocks():
        uncovered = costs.is_allowed(costs.array[rows]) & ~in_cover[0][rows, None] & ~in_cover[1]
        if bool(uncovered.any()):
            row, column = (int(numbers[0]) for numbers in uncovered.nonzero())
            pair = (rows.start + row, column)[:: -1 if costs.transposed else 1]
            raise CertificateError(
                f"the pair of row {pair[0]} and column {pair[1]} is allowed, but not covered: the matching is not "
                "proven largest"
            )
    return cover


def _parts_of(costs: DenseCosts, cover: Any, u: Any, v: Any, pair_costs: Any, col_match: Any) -> list[_Part]:
    """The cover's rows with the other columns, and the cover's columns with the other rows."""
    rows, columns = cover
    other_rows, other_columns = all_others(rows, len(u)), all_others(columns, len(v))
    costs_of_columns = pair_costs[col_match[columns]]
    return [
        _Part(costs.array, rows, other_columns, u[rows], v[other_columns], pair_costs[rows], costs.transposed),
        _Part(costs.array.T, columns, other_rows, v[columns], u[other_rows], costs_of_columns, not costs.transposed),
    ]


def _gap(xp: Any, costs: DenseCosts, part: _Part, tolerance: int | float) -> int | float:
    """What the matched rows of a part cost beyond the bound that its duals prove."""
    base = costs.lowest if costs.dual_type is np.int64 else 0
    _refuse_large_duals(costs, part, base)
    v = _lowered_columns(xp, part, tolerance)
    u = _lowered_rows(xp, costs, part, v, base, tolerance)
    return exact_sum(np.concatenate([part.pair_costs - base - u, -v]))


def _lowered_columns(xp: Any, part: Any, tolerance: int | float) -> Any:
    """The duals of the columns of a part, made such that columns may stay free where there are more of them."""
    if len(part.v) <= len(part.u):
        return part.v
    lowered = xp.minimum(part.v, 0)
    if not exact_sum(part.v - lowered) <= tolerance:
        name, number = "vu"[part.swapped], part.name_of_column(int(part.v.argmax()))
        raise CertificateError(
            f"{name}[{number}] is {part.v.max().item()}, but must not be above 0 on the side with more vertices"
        )
    return lowered


def _lowered_rows(xp: Any, costs: DenseCosts, part: _Part, v: Any, base: int | float, tolerance: int | float) -> Any:
    """The duals of the rows less `base`, made such that no pair costs less than its duals."""
    u, least = part.u - base, xp.empty_like(part.u)
    for rows in blocks_of((len(u), len(v)), costs.device):
        least[rows] = _slack(xp, costs, part, rows, v, base).min(axis=1)
    lowered = xp.minimum(u, least)
    excess = u - lowered
    if not exact_sum(excess) <= tolerance:
        row = int(excess.argmax())
        column = int(_slack(xp, costs, part, slice(row, row + 1), v, base)[0].argmin())
        pair = part.name(row, column)
        raise CertificateError(
            f"u[{pair[0]}] + v[{pair[1]}] exceeds the cost of that pair by {excess[row].item()}: the duals are not "
            "feasible"
        )
    return lowered


def _slack(xp: Any, costs: DenseCosts, part: _Part, rows: slice, v: Any, base: int | float) -> Any:
    """Costs of some rows of a part, less the duals of the columns and `base`."""
    entries = part.entries[rows if isinstance(part.rows, slice) else part.rows[rows]][:, part.columns]
    slack = _minimised(xp, costs, entries)
    if costs.limit is not None:
        xp.minimum(slack, costs.limit, out=slack)
    slack -= base
    slack -= v
    return slack


def _minimised(xp: Any, costs: DenseCosts, entries: Any) -> Any:
    """A copy of some entries as costs of the minimisation form, in the type of their sums."""
    return minimised(entries, costs.dual_type, costs.maximize, None)


def _pair_costs(xp: Any, costs: DenseCosts, row_match: Any) -> Any:
    """What each row of `costs.array` costs; a free one costs the limit."""
    values = xp.zeros(len(row_match), costs.dual_type)
    if costs.limit is not None:
        values.fill(costs.limit)
    rows = (row_match >= 0).nonzero()[0]
    values[rows] = _minimised(xp, costs, costs.array[rows, row_match[rows]])
    return values


def _tolerance(costs: DenseCosts | SparseCosts, u: Any, v: Any, pair_costs: Any) -> int | float:
    if costs.dual_type is np.int64:
        return 0
    vertices = sum(costs.shape)
    scale = max((float(abs(values).max()) for values in (u, v, pair_costs) if values.size), default=0.0)
    if scale > 8 * vertices * max(-costs.lowest, costs.highest):
        raise CertificateError("the duals are too large for costs of this range: float64 would round these away")
    return 64 * float(np.finfo(np.float64).eps) * vertices * scale


def _refuse_large_duals(costs: DenseCosts | SparseCosts, part: Any, base: int | float) -> None:
    """Integers: sums of the costs less `base`, of u less `base` and of v must not overflow.

    Those of a solver do not, see `DenseCosts`: if all u are large, all v are small.
    """
    if costs.dual_type is not np.int64:
        return
    u, v = (
        (min(0, int(dual.min()) - less), max(0, int(dual.max()) - less)) if dual.size else (0, 0)
        for dual, less in ((part.u, base), (part.v, 0))
    )
    if max(-u[0] - v[0], u[1] + v[1]) + costs.highest - costs.lowest >= 2**63:
        raise CertificateError("the duals are too large for costs of this range: their sums could overflow int64")


class _Form(NamedTuple):
    """A decomposition on the host."""

    row_order: Any
    col_order: Any
    row_blocks: Any
    col_blocks: Any
    coarse_cols: Any
    coarse_rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_order), len(self.col_order)

    @property
    def square_blocks(self) -> slice:
        """The offsets in `row_blocks` of the square blocks and of their end; the other parts are one block each."""
        return slice(int(self.coarse_cols[2] > 0), len(self.row_blocks) - int(self.coarse_rows[2] < self.shape[0]))


def _verify_decomposition(graph: Any, decomposition: Decomposition) -> DecompositionCertificate:
    problem = as_graph(graph).private()
    if not isinstance(decomposition.matching, Matching):
        raise CertificateError(f"matching must be a Matching; got {type(decomposition.matching).__name__}")
    size = _verify_matching(problem, decomposition.matching).size
    on_host = problem.on("cpu")
    xp = _namespace(problem.indices)
    form = _Form(*(cpu.to_device(array) for array in _arrays_of(xp, decomposition, *_Form._fields)))
    _check_permutation("row_order", form.row_order, problem.shape[0])
    _check_permutation("col_order", form.col_order, problem.shape[1])
    _check_parts(form, cpu.to_device(decomposition.matching.row_match), size)
    _check_square_blocks(form)
    row_of = row_of_each_entry(on_host.indptr, on_host.entries)
    column_of = on_host.indices[: on_host.entries]
    row_block, col_block = (
        _block_of_each(form.row_order, form.row_blocks),
        _block_of_each(form.col_order, form.col_blocks),
    )
    below = (row_block[row_of] > col_block[column_of]).nonzero()[0]
    if len(below):
        row, column = int(row_of[below[0]]), int(column_of[below[0]])
        raise CertificateError(
            f"the entry of row {row} and column {column} is below the diagonal blocks: that row is in block "
            f"{int(row_block[row])}, that column in block {int(col_block[column])}"
        )
    inside = row_block[row_of] == col_block[column_of]
    _check_that_no_block_can_be_split(form, size, row_of[inside], column_of[inside])
    return DecompositionCertificate(size, len(form.row_blocks) - 1)


def _check_permutation(name: str, order: Any, length: int) -> None:
    if order.shape != (length,) or order.dtype.kind != "i" or (np.sort(order) != np.arange(length)).any():
        raise CertificateError(f"{name} must hold each number from 0 to {length - 1} once")


def _check_offsets(name: str, offsets: Any, end: int) -> None:
    if (
        offsets.ndim != 1 or offsets.dtype.kind != "i" or not len(offsets) or offsets[0] != 0 or offsets[-1] != end
        or (np.diff(offsets) < 0).any()
    ):  # fmt: skip
        raise CertificateError(f"{name} must hold offsets from 0 to {end} that do not decrease")


def _check_parts(form: _Form, row_match: Any, size: int) -> None:
    """That free rows and columns are where the coarse parts say, and all others on the diagonals with their mates."""
    rows, columns = form.shape
    for name, parts, end in (("coarse_rows", form.coarse_rows, rows), ("coarse_cols", form.coarse_cols, columns)):
        _check_offsets(name, parts, end)
        if len(parts) != 5:
            raise CertificateError(f"{name} must hold 5 offsets; got {len(parts)}")
    if (form.coarse_rows[1:4] != form.coarse_cols[2:] - form.coarse_cols[1]).any() or form.coarse_rows[3] != size:
        raise CertificateError(
            f"coarse_rows {form.coarse_rows.tolist()} and coarse_cols {form.coarse_cols.tolist()} must leave square "
            f"parts for the {size} pairs of the matching"
        )
    wrong = (row_match[form.row_order[:size]] != form.col_order[columns - size :]).nonzero()[0]
    if len(wrong):
        row = int(form.row_order[wrong[0]])
        raise CertificateError(f"row {row} must be on the diagonal with its mate, column {int(row_match[row])}")


def _check_square_blocks(form: _Form) -> None:
    """That the offsets of blocks are those of the coarse parts, with square blocks between."""
    (rows, columns), square = form.shape, form.square_blocks
    row_blocks, col_blocks = form.row_blocks, form.col_blocks
    _check_offsets("row_blocks", row_blocks, rows)
    _check_offsets("col_blocks", col_blocks, columns)
    begin, end = form.coarse_rows[1:3]
    if (
        len(row_blocks) != len(col_blocks) or not len(row_blocks[square])
        or row_blocks[square][0] != begin or row_blocks[square][-1] != end
        or (np.diff(row_blocks[square]) <= 0).any()
        or (col_blocks[square] - row_blocks[square] != form.coarse_cols[2] - begin).any()
    ):  # fmt: skip
        raise CertificateError(
            "row_blocks and col_blocks must split the square part, and only that, into square blocks"
        )


def _block_of_each(order: Any, offsets: Any) -> Any:
    """The block of each row or column."""
    block = np.empty(len(order), np.int32)
    block[order] = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    return block


def _check_that_no_block_can_be_split(form: _Form, size: int, row_of: Any, column_of: Any) -> None:
    """By searches from one root, which stands for all free rows and columns and leads to and from each square block.

    Pairs are 1, 2, ... along the diagonals; an entry of a block leads from the pair of its row to that of its column.
    """
    rows, columns = form.shape
    node_of_row, node_of_column = np.zeros(rows, np.int32), np.zeros(columns, np.int32)
    node_of_row[form.row_order[:size]] = node_of_column[form.col_order[columns - size :]] = np.arange(1, size + 1)
    first = form.row_blocks[form.square_blocks][:-1] + 1
    root = np.zeros_like(first)
    tails = np.concatenate([node_of_row[row_of], root, first])
    heads = np.concatenate([node_of_column[column_of], first, root])
    begin, end = form.coarse_rows[1:3]
    for name, start, stop, ends in (
        ("vertical", begin, size, (tails, heads)),
        ("horizontal", 0, end, (heads, tails)),
    ):
        graph = csr_array((np.ones(len(tails)), ends), shape=(size + 1, size + 1))
        reached = np.zeros(size + 1, np.bool_)
        reached[breadth_first_order(graph, 0, return_predecessors=False)] = True
        missed = start + (~reached[1 + start : 1 + stop]).nonzero()[0]
        if len(missed):
            row = int(form.row_order[missed[0]])
            in_square = begin <= missed[0] < end
            raise CertificateError(
                f"row {row} must not be in the {name} part: no alternating path joins it to a free vertex there"
                if not in_square else f"the square block of row {row} can be split"
            )  # fmt: skip
