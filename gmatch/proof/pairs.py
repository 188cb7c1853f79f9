"""The proof of a matching of exactly k pairs: duals of rows and columns, none above 0, and a price of each pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import exact_sum, namespace
from ..errors import CertificateError
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..result import Assignment, AssignmentCertificate, Status
from .duals import certificate_of, checked_duals, refuse_costs_of_others
from .entries import checked_entries, least_of_rows, values_of
from .matching import arrays_of, check_mates


def verify_pairs(cost: Any, assignment: Assignment) -> AssignmentCertificate:
    """As `gmatch.verify`; O(rows * columns) time in blocks, or O(rows + columns + entries) for sparse costs."""
    if isinstance(cost, DenseCosts | SparseCosts):
        costs = cost
        refuse_costs_of_others(costs, assignment)
    else:
        costs = costs_of(cost, assignment.maximize, None, assignment.forbid_nan)
    others = assignment.cover, assignment.cost_limit, assignment.bound, assignment.exact
    if assignment.status != Status.PAIRS or any(other is not None for other in others):
        raise CertificateError(
            "an assignment with a price of pairs must be 'pairs', without a cover, a limit, a bound and duals in parts"
        )
    xp = namespace(costs.array if isinstance(costs, DenseCosts) else costs.data)
    row_match, col_match = arrays_of(xp, assignment, "row_match", "col_match")
    check_mates(row_match, col_match, costs.shape)
    entries = checked_entries(xp, costs, row_match, assignment)
    values = values_of(costs, entries[row_match >= 0])
    u, v = checked_duals(xp, assignment, costs)
    price = _checked_price(costs, assignment, u, v)
    tolerance = _tolerance(costs, u, v, price)
    u, v = xp.minimum(u, 0), xp.minimum(v, 0)
    u = xp.minimum(u, least_of_rows(xp, costs, v) - price)
    # In Python integers, or in one exactly rounded sum.
    if costs.dual_type is np.int64:
        gap = exact_sum(values) - assignment.size * price - exact_sum(u) - exact_sum(v)
    else:
        gap = exact_sum(np.concatenate([values - price, -u, -v]))
    return certificate_of(assignment, gap, tolerance)


def _checked_price(costs: DenseCosts | SparseCosts, assignment: Assignment, u: Any, v: Any) -> Any:
    price = assignment.pair_price
    whole = costs.dual_type is np.int64
    if isinstance(price, bool) or not isinstance(price, int if whole else float) or not abs(price) < np.inf:
        raise CertificateError(f"pair_price must be a finite {'int' if whole else 'float'}; got {price!r}")
    if whole:
        largest = [max(-int(dual.min()), int(dual.max())) for dual in (u, v) if dual.size]
        if sum(largest) + abs(price) + max(-costs.lowest, costs.highest) >= 2**62:
            raise CertificateError("the duals are too large: their sums could overflow int64")
    return price


def _tolerance(costs: DenseCosts | SparseCosts, u: Any, v: Any, price: Any) -> int | float:
    if costs.dual_type is np.int64:
        return 0
    vertices = sum(costs.shape)
    scale: float = max(abs(price), *(float(abs(dual).max()) for dual in (u, v) if dual.size), 0.0)
    if scale > 8 * vertices * max(-costs.lowest, costs.highest):
        raise CertificateError("the duals are too large for costs of this range: float64 would round these away")
    return 64 * float(np.finfo(np.float64).eps) * vertices * scale
