"""The proof of an assignment of dense costs, over every entry of the matrix."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..arrays import all_others, as_matrix, exact_sum, namespace
from ..errors import CertificateError
from ..foreign import EXACT_IN_FLOAT64
from ..problems.dense import DenseCosts
from ..problems.limits import blocks_of, minimised
from ..result import Assignment, AssignmentCertificate, ExactDuals
from ..types import WORKING_TYPES, may_round
from .duals import (
    certificate_in_tiers,
    certificate_of,
    checked_duals,
    cover_of,
    exact_duals_here,
    lowered_columns,
    mates_among,
    refuse_costs_of_others,
    refuse_large_duals,
    refuse_overflow_of,
    status_of,
    strict_certificate,
    tolerance_of,
)
from .matching import arrays_of, check_mates
from .tiers import TieredPart, part_of

ALL = slice(None)


class _Part(NamedTuple):
    """A problem of its own: its rows are all matched, with some of its columns."""

    costs: DenseCosts
    entries: Any  # costs.array, or its transpose
    rows: Any  # numbers of rows of `entries`, or all
    columns: Any
    u: Any  # duals of these rows
    v: Any
    pair_costs: Any  # of these rows, in the minimisation form
    swapped: bool  # rows are columns of the matrix as given

    @property
    def base(self) -> int | float:
        """The number that is subtracted from integers, so that their sums stay in range."""
        return self.costs.lowest if self.costs.dual_type is np.int64 else 0

    def name(self, row: int, column: int) -> tuple[int, int]:
        """The pair in the matrix as given."""
        row, column = row if isinstance(self.rows, slice) else int(self.rows[row]), self.name_of_column(column)
        return (column, row) if self.swapped else (row, column)

    def name_of_column(self, column: int) -> int:
        """The number of a column in the matrix as given; of a row if rows and columns are swapped."""
        return column if isinstance(self.columns, slice) else int(self.columns[column])


def verify_dense_assignment(cost: Any, assignment: Assignment, strict: bool) -> AssignmentCertificate:
    costs = _costs_of(cost, assignment)
    xp = namespace(costs.array)
    row_match, col_match = arrays_of(xp, assignment, "row_match", "col_match")
    check_mates(row_match, col_match, costs.shape)
    _check_pairs(xp, costs, row_match, assignment)
    u, v = checked_duals(xp, assignment, costs)
    cover = _checked_cover(xp, costs, assignment)
    exact = exact_duals_here(xp, assignment, costs)
    duals = exact or ExactDuals((), u, v)
    if costs.transposed:
        row_match, col_match, u, v = col_match, row_match, v, u
    pair_costs = _pair_costs(xp, costs, row_match)
    if exact is not None or strict:
        parts_in_tiers = _tiered_parts(costs, duals, cover, (row_match, col_match), pair_costs)
    if exact is not None:
        certificate = certificate_in_tiers(xp, assignment, parts_in_tiers, sum(costs.shape))
    else:
        refuse_overflow_of(costs)
        tolerance = tolerance_of(costs, u, v, pair_costs)
        if cover is None:
            parts = [_Part(costs, costs.array, ALL, ALL, u, v, pair_costs, costs.transposed)]
        else:
            parts = _parts_of(costs, cover, (u, v), pair_costs, col_match)
        certificate = certificate_of(assignment, sum(_gap(part, tolerance) for part in parts), tolerance)
    if strict and costs.dual_type is np.float64:
        return strict_certificate(xp, assignment, parts_in_tiers, costs.limit)
    return certificate


def _tiered_parts(costs: DenseCosts, exact: ExactDuals, cover: Any, matches: Any, pair_costs: Any) -> list[TieredPart]:
    """The problem, or its two parts if there is a cover; `matches` and `pair_costs` are as of `costs.array`."""
    exact = exact.turned(cover is not None) if costs.transposed else exact
    every = namespace(costs.array).arange
    rows, columns = (every(length) for length in costs.array.shape)
    if cover is None:
        return [_tiered_part(costs, False, (rows, columns), exact, (matches[0], pair_costs))]
    other_rows, other_columns = all_others(cover[0], len(rows)), all_others(cover[1], len(columns))
    one = part_of(exact, 0, cover[0], other_columns)
    two = part_of(exact, 1, other_rows, cover[1]).turned()
    matched_rows = matches[0][cover[0]], pair_costs[cover[0]]
    matched_columns = matches[1][cover[1]], pair_costs[matches[1][cover[1]]]
    return [
        _tiered_part(costs, False, (cover[0], other_columns), one, matched_rows),
        _tiered_part(costs, True, (cover[1], other_rows), two, matched_columns),
    ]


def _tiered_part(
    costs: DenseCosts, turned: bool, sides: tuple[Any, Any], exact: ExactDuals, matched: tuple[Any, Any]
) -> TieredPart:
    """Some rows and columns of `costs.array` or its transpose; `matched` are the mates of rows and what they cost."""
    (rows, columns), (mates, pair_costs) = sides, matched
    every = namespace(rows).arange
    entries = costs.array.T if turned else costs.array

    def blocks() -> Iterator[tuple[Any, Any, Any]]:
        for some in blocks_of((len(rows), len(columns)), costs.device):
            values = minimised(entries[rows[some]][:, columns], costs.dual_type, costs.maximize, costs.limit)
            yield values, every(len(rows))[some][:, None], every(len(columns))[None]

    return TieredPart(blocks, pair_costs, mates_among(mates, columns, entries.shape[1]), exact)


def _costs_of(cost: Any, assignment: Assignment) -> DenseCosts:
    if isinstance(cost, DenseCosts):
        refuse_costs_of_others(cost, assignment)
    else:
        array = _in_type_of(assignment, as_matrix(cost))
        cost = DenseCosts(
            array, maximize=assignment.maximize, cost_limit=assignment.cost_limit, forbid_nan=assignment.forbid_nan
        )
    return _with_duals_of(cost, assignment)


def _with_duals_of(costs: DenseCosts, assignment: Assignment) -> DenseCosts:
    """Whole costs for duals of floats: a batch has these where a limit with a fraction cuts off another problem."""
    has_floats = getattr(assignment.u, "dtype", None) == np.float64 and isinstance(costs.cost_limit, float)
    are_large = max(-costs.lowest, costs.highest) > EXACT_IN_FLOAT64
    if costs.dual_type is np.float64 or not has_floats or are_large:
        return costs
    made = copy.copy(costs)  # the class is frozen
    vars(made).update(array=costs.array.astype(np.float64), dual_type=np.float64, is_narrow=False)
    return made


def _in_type_of(assignment: Assignment, array: Any) -> Any:
    """The costs in the type of the assignment if that is wider, as for a batch of several types; see `CostBatch`."""
    dtype = getattr(assignment.pair_costs, "dtype", None)
    if dtype == array.dtype or dtype not in WORKING_TYPES or np.result_type(array.dtype, dtype) != dtype:
        return array
    return array if may_round(array, dtype) else array.astype(dtype)


def _check_pairs(xp: Any, costs: DenseCosts, row_match: Any, assignment: Assignment) -> None:
    """Checks that pairs are allowed, cost what the assignment says, and have the number that its status says."""
    rows = (row_match >= 0).nonzero()[0]
    entries = costs.matrix[rows, row_match[rows]]
    (claimed,) = arrays_of(xp, assignment, "pair_costs")
    if claimed.shape != entries.shape or claimed.dtype != costs.dtype or bool((claimed != entries).any()):
        raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
    values = _minimised(costs, entries)
    worst = math.inf if costs.limit is None else costs.limit
    for wrong, what in ((values == math.inf, "forbidden"), (values > worst, "beyond the limit")):
        if bool(wrong.any()):
            row = int(rows[wrong][0])
            raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which is {what}")
    most = min(costs.shape)
    if len(rows) < most and costs.limit is None and assignment.cover is None:
        raise CertificateError(
            f"the assignment has {len(rows)} of {most} pairs, and no cover that proves that there can be no more"
        )
    status = status_of(assignment, len(rows), most)
    if assignment.status != status:
        raise CertificateError(
            f"the assignment says it is {str(assignment.status)!r}, but with {len(rows)} of {most} pairs it is "
            f"{str(status)!r}"
        )


def _checked_cover(xp: Any, costs: DenseCosts, assignment: Assignment) -> tuple[Any, Any] | None:
    """The cover in rows and columns of `costs.array`; all allowed pairs lie in it, and it is as large as the matching.

    Then each pair has one vertex of the cover, and each vertex of the cover has a pair.
    """
    if assignment.cover is None:
        return None
    cover, in_cover = cover_of(xp, assignment, costs.shape)
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


def _parts_of(costs: DenseCosts, cover: Any, duals: Any, pair_costs: Any, col_match: Any) -> list[_Part]:
    """The cover's rows with the other columns, and the cover's columns with the other rows."""
    (rows, columns), (u, v) = cover, duals
    other_rows, other_columns = all_others(rows, len(u)), all_others(columns, len(v))
    costs_of_columns = pair_costs[col_match[columns]]
    of_columns = u[other_rows], costs_of_columns, not costs.transposed
    return [
        _Part(costs, costs.array, rows, other_columns, u[rows], v[other_columns], pair_costs[rows], costs.transposed),
        _Part(costs, costs.array.T, columns, other_rows, v[columns], *of_columns),
    ]


def _gap(part: _Part, tolerance: int | float) -> int | float:
    """What the matched rows of a part cost beyond the bound that its duals prove."""
    refuse_large_duals(part.costs, part, part.base)
    v = lowered_columns(namespace(part.v), part, tolerance)
    u = _lowered_rows(part, v, tolerance)
    return exact_sum(np.concatenate([part.pair_costs - part.base - u, -v]))


def _lowered_rows(part: _Part, v: Any, tolerance: int | float) -> Any:
    """The duals of the rows less `base`, made such that no pair costs less than its duals."""
    xp = namespace(part.u)
    u, least = part.u - part.base, xp.empty_like(part.u)
    for rows in blocks_of((len(u), len(v)), part.costs.device):
        least[rows] = _slack(part, rows, v).min(axis=1)
    lowered = xp.minimum(u, least)
    excess = u - lowered
    if not exact_sum(excess) <= tolerance:
        row = int(excess.argmax())
        column = int(_slack(part, slice(row, row + 1), v)[0].argmin())
        pair = part.name(row, column)
        raise CertificateError(
            f"u[{pair[0]}] + v[{pair[1]}] exceeds the cost of that pair by {excess[row].item()}: the duals are not "
            "feasible"
        )
    return lowered


def _slack(part: _Part, rows: slice, v: Any) -> Any:
    """Costs of some rows of a part, less the duals of the columns and `base`."""
    entries = part.entries[rows if isinstance(part.rows, slice) else part.rows[rows]][:, part.columns]
    slack = _minimised(part.costs, entries)
    if part.costs.limit is not None:
        namespace(slack).minimum(slack, part.costs.limit, out=slack)
    slack -= part.base
    slack -= v
    return slack


def _minimised(costs: DenseCosts, entries: Any) -> Any:
    """A copy of some entries as costs of the minimisation form, in the type of their sums."""
    return minimised(entries, costs.dual_type, costs.maximize, None)


def _pair_costs(xp: Any, costs: DenseCosts, row_match: Any) -> Any:
    """What each row of `costs.array` costs; a free one costs the limit."""
    values = xp.zeros(len(row_match), costs.dual_type)
    if costs.limit is not None:
        values.fill(costs.limit)
    rows = (row_match >= 0).nonzero()[0]
    values[rows] = _minimised(costs, costs.array[rows, row_match[rows]])
    return values
