"""The proof of an assignment of sparse costs, checked in plain array code over the stored entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import all_others, exact_sum, namespace
from ..errors import CertificateError
from ..problems.sparse import SparseCosts
from ..result import Assignment, AssignmentCertificate, ExactDuals
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


class _Part(NamedTuple):
    """A problem of its own, whose rows are all matched with some of its columns; vertices have their own numbers."""

    rows: Any  # of each entry
    columns: Any
    values: Any  # of each entry, in the minimisation form
    u: Any
    v: Any
    pair_costs: Any  # of each row
    row_names: Any  # numbers as given
    column_names: Any
    swapped: bool  # rows are columns of the matrix as given

    def name(self, row: int, column: int) -> tuple[int, int]:
        """The pair in the matrix as given."""
        pair = int(self.row_names[row]), self.name_of_column(column)
        return pair[::-1] if self.swapped else pair

    def name_of_column(self, column: int) -> int:
        """The number of a column in the matrix as given; of a row if rows and columns are swapped."""
        return int(self.column_names[column])


def verify_sparse_assignment(cost: Any, assignment: Assignment, strict: bool) -> AssignmentCertificate:
    """As `gmatch.verify`; O(rows + columns + entries) time and memory."""
    costs = _costs_of(cost, assignment)
    xp = namespace(costs.data)
    row_match, col_match = arrays_of(xp, assignment, "row_match", "col_match")
    check_mates(row_match, col_match, costs.shape)
    u, v = checked_duals(xp, assignment, costs)
    rows, columns, values = costs.triples()
    pair_costs = _checked_pairs(xp, costs, row_match, (rows, columns, values), assignment)
    _check_size(costs, assignment)
    cover = _checked_cover(costs, (rows, columns, values), assignment)
    exact = exact_duals_here(xp, assignment, costs)
    free_cost = costs.limit or 0
    matched = (row_match >= 0).nonzero()[0]
    column_costs = xp.full(costs.shape[1], free_cost, costs.dual_type)
    column_costs[row_match[matched]] = pair_costs[matched]
    pair_costs[row_match < 0] = free_cost
    if exact is not None or strict:
        duals = exact or ExactDuals((), u, v)
        parts_in_tiers = _tiered_parts(costs, duals, cover, ((row_match, pair_costs), (col_match, column_costs)))
    if exact is not None:
        if costs.limit is not None:
            raise CertificateError("exact duals do not prove that rows and columns may stay free at half the limit")
        certificate = certificate_in_tiers(xp, assignment, parts_in_tiers, sum(costs.shape))
    else:
        refuse_overflow_of(costs)
        certificate = _plain_certificate(costs, assignment, cover, (rows, columns, values), (pair_costs, column_costs))
    if strict and costs.dual_type is np.float64:
        return strict_certificate(xp, assignment, parts_in_tiers, costs.limit)
    return certificate


def _plain_certificate(
    costs: SparseCosts, assignment: Assignment, cover: Any, triples: Any, both_costs: Any
) -> AssignmentCertificate:
    """By duals in one number each; `both_costs` are what each row and each column costs."""
    xp = namespace(costs.data)
    rows, columns, values = triples
    if costs.limit is not None:
        # Duals never exceed the limit. Higher costs could overflow in differences.
        values = xp.minimum(values, costs.limit)
    u, v = checked_duals(xp, assignment, costs)
    tolerance = tolerance_of(costs, u, v, both_costs[0])
    whole = _Part(rows, columns, values, u, v, both_costs[0], xp.arange(len(u)), xp.arange(len(v)), False)
    swapped = _Part(columns, rows, values, v, u, both_costs[1], whole.column_names, whole.row_names, True)
    if cover is None:
        parts = [swapped if costs.shape[0] > costs.shape[1] else whole]
    else:
        parts = [
            _cut(whole, cover[0], all_others(cover[1], len(v))),
            _cut(swapped, cover[1], all_others(cover[0], len(u))),
        ]
    gap = sum((_gap(costs, part, tolerance) for part in parts), start=costs.dual_type(0).item())
    return certificate_of(assignment, gap, tolerance)


def _tiered_parts(costs: SparseCosts, exact: ExactDuals, cover: Any, matched: Any) -> list[TieredPart]:
    """The problem, or its two parts if there is a cover, in rows and columns as given.

    `matched` are the mates of the rows and their costs, then the mates of the columns and their costs.
    """
    every = namespace(costs.data).arange
    rows, columns = (every(length) for length in costs.shape)
    if cover is None:
        by_columns = len(rows) > len(columns)
        sides = (columns, rows) if by_columns else (rows, columns)
        exact = exact.turned() if by_columns else exact
        return [_tiered_part(costs, by_columns, sides, exact, matched[by_columns])]
    others = all_others(cover[1], len(columns)), all_others(cover[0], len(rows))
    one = part_of(exact, 0, cover[0], others[0])
    two = part_of(exact, 1, others[1], cover[1]).turned()
    return [
        _tiered_part(costs, False, (cover[0], others[0]), one, matched[0]),
        _tiered_part(costs, True, (cover[1], others[1]), two, matched[1]),
    ]


def _tiered_part(
    costs: SparseCosts, turned: bool, sides: tuple[Any, Any], exact: ExactDuals, matched: tuple[Any, Any]
) -> TieredPart:
    """Some rows and columns of the matrix as given, or of its transpose; with the mates of rows and what they cost."""
    (rows, columns), (mates_of, pair_costs), (*places, values) = sides, matched, costs.triples()
    shape = costs.shape
    if turned:
        places, shape = places[::-1], shape[::-1]
    row_of, column_of = (mates_among(*some) for some in zip(places, sides, shape, strict=True))
    kept = ((row_of >= 0) & (column_of >= 0)).nonzero()[0]
    block = values[kept], row_of[kept], column_of[kept]
    mates = mates_among(mates_of[rows], columns, shape[1])
    return TieredPart(lambda: iter([block]), pair_costs[rows], mates, exact)


def _costs_of(cost: Any, assignment: Assignment) -> SparseCosts:
    if not isinstance(cost, SparseCosts):
        return SparseCosts(
            cost, maximize=assignment.maximize, cost_limit=assignment.cost_limit, forbid_nan=assignment.forbid_nan
        )
    refuse_costs_of_others(cost, assignment)
    return cost


def _checked_pairs(
    xp: Any, costs: SparseCosts, row_match: Any, triples: tuple[Any, Any, Any], assignment: Assignment
) -> Any:
    """What each row costs, 0 for free rows. Raises unless pairs are allowed and cost what the assignment says."""
    rows, columns, values = triples
    found = (row_match[rows] == columns).nonzero()[0]
    stored = row_match < 0
    stored[rows[found]] = True
    pair_costs = xp.zeros(costs.shape[0], costs.dual_type)
    pair_costs[rows[found]] = values[found]
    entries = xp.zeros(costs.shape[0], costs.dtype)
    entries[rows[found]] = costs.data[found]
    above = (pair_costs > (np.inf if costs.limit is None else costs.limit)) & (row_match >= 0)
    wrongs = (~stored, "not stored"), (pair_costs == np.inf, "forbidden"), (above, "beyond the limit")
    for wrong, what in wrongs:
        if bool(wrong.any()):
            row = int(wrong.nonzero()[0][0])
            raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which is {what}")
    (claimed,) = arrays_of(xp, assignment, "pair_costs")
    expected = entries[(row_match >= 0).nonzero()[0]]
    if claimed.shape != expected.shape or claimed.dtype != costs.dtype or bool((claimed != expected).any()):
        raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
    return pair_costs


def _check_size(costs: SparseCosts, assignment: Assignment) -> None:
    size, most = assignment.size, min(costs.shape)
    if size < most and assignment.cover is None and costs.limit is None:
        raise CertificateError(
            f"the assignment has {size} of {most} pairs, and no cover that proves that there can be no more"
        )
    status = status_of(assignment, size, most)
    if assignment.status != status:
        raise CertificateError(
            f"the assignment says it is {str(assignment.status)!r}, but with {size} of {most} pairs it is "
            f"{str(status)!r}"
        )


def _checked_cover(costs: SparseCosts, triples: tuple[Any, Any, Any], assignment: Assignment) -> tuple[Any, Any] | None:
    """The cover in rows and columns as given; all allowed pairs lie in it, and it is as large as the matching."""
    rows, columns, values = triples
    if assignment.cover is None:
        return None
    if costs.limit is not None:
        raise CertificateError("with a cost_limit rows and columns may stay free, and a cover proves nothing; got one")
    cover, (in_rows, in_columns) = cover_of(namespace(values), assignment, costs.shape)
    uncovered = (~(in_rows[rows] | in_columns[columns]) & (values != np.inf)).nonzero()[0]
    if len(uncovered):
        entry = int(uncovered[0])
        raise CertificateError(
            f"the pair of row {int(rows[entry])} and column {int(columns[entry])} is allowed, but not covered: the "
            "matching is not proven largest"
        )
    return cover


def _cut(part: _Part, rows: Any, columns: Any) -> _Part:
    """Some rows and columns of a part, with new numbers."""
    numbers = []
    for chosen, length in ((rows, len(part.u)), (columns, len(part.v))):
        number = np.full_like(chosen, -1, shape=length)
        number[chosen] = np.ones_like(chosen).cumsum() - 1
        numbers.append(number)
    row_of, column_of = numbers[0][part.rows], numbers[1][part.columns]
    kept = ((row_of >= 0) & (column_of >= 0)).nonzero()[0]
    return _Part(
        row_of[kept], column_of[kept], part.values[kept], part.u[rows], part.v[columns], part.pair_costs[rows],
        part.row_names[rows], part.column_names[columns], part.swapped,
    )  # fmt: skip


def _gap(costs: SparseCosts, part: _Part, tolerance: int | float) -> int | float:
    """What the matched rows of a part cost beyond the bound that its duals prove."""
    xp = namespace(costs.data)
    base = costs.lowest if costs.dual_type is np.int64 else 0
    refuse_large_duals(costs, part, base)
    v = lowered_columns(xp, part, tolerance)
    u = part.u - base
    excess = _excess(xp, part, u, v, base)
    if costs.limit is not None and len(u):
        excess = xp.maximum(excess, _excess_over_limit(part, u, v, costs.limit - base, tolerance))
    if not exact_sum(excess) <= tolerance:
        row = int(excess.argmax())
        entries = (part.rows == row).nonzero()[0]
        column = int(part.columns[entries[(part.values[entries] - v[part.columns[entries]]).argmin()]])
        pair = part.name(row, column)
        raise CertificateError(
            f"u[{pair[0]}] + v[{pair[1]}] exceeds the cost of that pair by {excess[row].item()}: the duals are not "
            "feasible"
        )
    return exact_sum(np.concatenate([part.pair_costs - base - (u - excess), -v]))


def _excess_over_limit(part: _Part, u: Any, v: Any, limit: int | float, tolerance: int | float) -> Any:
    """By how much u of each row must fall, so that no pair, stored or not, has duals beyond the limit."""
    excess = namespace(u).maximum(u + v.max() - limit, 0)
    if not exact_sum(excess) <= tolerance:
        pair = part.name(int(excess.argmax()), int(v.argmax()))
        raise CertificateError(
            f"u[{pair[0]}] + v[{pair[1]}] exceeds the limit by {excess.max().item()}: the duals are not feasible"
        )
    return excess


def _excess(xp: Any, part: _Part, u: Any, v: Any, base: int | float) -> Any:
    """By how much u of each row must fall, so that no stored pair costs less than its duals."""
    over = u[part.rows] - (part.values - base - v[part.columns])
    wrong = (over > 0).nonzero()[0]
    # Sorted by rows; the largest of each row is last.
    wrong = wrong[over[wrong].argsort()]
    wrong = wrong[part.rows[wrong].argsort(kind="stable")]
    rows = part.rows[wrong]
    last = xp.ones(len(wrong), np.bool_)
    last[:-1] = rows[1:] != rows[:-1]
    excess = xp.zeros(len(u), u.dtype)
    excess[rows[last]] = over[wrong[last]]
    return excess
