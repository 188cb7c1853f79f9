"""The proof of an assignment over every entry of costs that are read some rows at a time; O(n + m) memory.

Each window is read for the range of its entries, unless that is known, and once more for its slacks and its pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import cuda
from ..arrays import device_of, exact_sum, mover_to, to_host
from ..errors import CertificateError, InvalidInput
from ..problems.gpu_windows import GivenWindows
from ..problems.limits import blocks_of, minimised
from ..problems.windows import CheckedWindows, WindowCosts
from ..result import Assignment, AssignmentCertificate
from .duals import (
    certificate_of,
    checked_duals,
    lowered_columns,
    refuse_costs_of_others,
    refuse_excess,
    refuse_large_duals,
    status_of,
    tolerance_of,
)
from .matching import arrays_of, check_mates


class _Sides(NamedTuple):
    """Duals of the side whose vertices are all matched, and of the other side."""

    u: Any
    v: Any
    swapped: bool  # whether the first side is the columns

    def name_of_column(self, column: int) -> int:
        return column


class _Pairs(NamedTuple):
    """The pairs of an assignment, and what they are said to cost."""

    row_match: Any
    entries: Any
    costs: Any  # in the minimisation form


def verify_window_assignment(costs: WindowCosts, assignment: Assignment, strict: bool) -> AssignmentCertificate:
    """See `gmatch.verify`."""
    if strict:
        raise InvalidInput(f"a {type(costs).__name__} has no strict proof, which needs the matrix; leave strict out")
    source = _source_of(costs, assignment)
    try:
        return _verified(CheckedWindows(costs, source) if source else costs.checked(), assignment)
    finally:
        if source:
            source.close()


def _source_of(costs: WindowCosts, assignment: Assignment) -> GivenWindows | None:
    """Windows on the GPU, if the assignment is from there: a function then takes arrays of CuPy. None for the host."""
    costs.forget()
    return costs.on_gpu() if assignment.stats.get("backend") == "gpu" and cuda.is_there() else None


def _verified(checked: CheckedWindows, assignment: Assignment) -> AssignmentCertificate:
    refuse_costs_of_others(checked, assignment)
    if assignment.cover is not None or assignment.exact is not None:
        raise CertificateError("costs by windows have no exact duals and no cover; got some")
    row_match, col_match = arrays_of(np, assignment, "row_match", "col_match")
    check_mates(row_match, col_match, checked.shape)
    u, v = checked_duals(np, assignment, checked)
    pair_costs = claimed_pairs(checked, row_match, assignment)
    tolerance = tolerance_of(checked, u, v, pair_costs)
    sides = _Sides(v, u, True) if checked.transposed else _Sides(u, v, False)
    gap = _gap(checked, sides, _Pairs(row_match, assignment.pair_costs, pair_costs), tolerance)
    return certificate_of(assignment, gap, tolerance)


def claimed_pairs(checked: Any, row_match: Any, assignment: Assignment) -> Any:
    """What the pairs are said to cost, in the minimisation form, for windows or the block of a rank.

    Raises `CertificateError` if they cannot be pairs of an optimum. The caller finds whether they cost that much.
    """
    (claimed,) = arrays_of(np, assignment, "pair_costs")
    rows = (row_match >= 0).nonzero()[0]
    if claimed.shape != rows.shape or claimed.dtype != checked.dtype:
        raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
    values = minimised(claimed, checked.dual_type, checked.maximize, None)
    worst = math.inf if checked.limit is None else checked.limit
    for wrong, what in ((values == math.inf, "forbidden"), (values > worst, "beyond the limit")):
        if wrong.any():
            row = int(rows[wrong][0])
            raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which is {what}")
    most = min(checked.shape)
    if len(rows) < most and checked.limit is None:
        raise CertificateError(f"the assignment has {len(rows)} of {most} pairs, and no limit that allows for it")
    status = status_of(assignment, len(rows), most)
    if assignment.status != status:
        raise CertificateError(
            f"the assignment says it is {str(assignment.status)!r}, but with {len(rows)} of {most} pairs it is "
            f"{str(status)!r}"
        )
    return values


def _gap(checked: CheckedWindows, sides: _Sides, pairs: _Pairs, tolerance: int | float) -> int | float:
    """What the pairs cost beyond the bound that the duals prove."""
    base = checked.lowest if checked.dual_type is np.int64 else 0
    refuse_large_duals(checked, sides, base)
    v = lowered_columns(np, sides, tolerance)
    u = sides.u - base
    lowered = np.minimum(u, _least_slacks(checked, v, base, pairs))
    excess = u - lowered
    refuse_excess(excess, tolerance, sides.swapped)
    free = 0 if checked.limit is None else checked.limit
    missing = np.full(len(u) - len(pairs.costs), free - base, checked.dual_type)
    return exact_sum(np.concatenate([pairs.costs - base, missing, -lowered, -v]))


def _least_slacks(checked: CheckedWindows, v: Any, base: int | float, pairs: _Pairs) -> Any:
    """The least cost - v - base of each vertex of the side whose vertices are all matched.

    The pass also compares the matched entries with what they are claimed to be.
    """
    row_match, claimed, _ = pairs
    far = math.inf if checked.dual_type is np.float64 else np.iinfo(np.int64).max
    least = np.full(min(checked.shape), far, checked.dual_type)
    place_of = np.cumsum(row_match >= 0) - 1
    v_there = None
    for first, entries in _blocks(checked):
        there = mover_to(device_of(entries))
        here = slice(first, first + len(entries))
        matched = (row_match[here] >= 0).nonzero()[0]
        of_pairs = to_host(entries[there(matched), there(row_match[here][matched])]).astype(checked.dtype)
        if (of_pairs != claimed[place_of[here][matched]]).any():
            raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
        slack = minimised(entries, checked.dual_type, checked.maximize, checked.limit)
        slack -= base
        if checked.transposed:
            slack -= there(v[here])[:, None]
            np.minimum(least, to_host(slack.min(axis=0)), out=least)
        else:
            v_there = there(v) if v_there is None else v_there
            slack -= v_there
            least[here] = to_host(slack.min(axis=1))
    return least


def _blocks(checked: CheckedWindows) -> Iterator[tuple[int, Any]]:
    """All entries in blocks, each with the number of its first row."""
    for window, entries in checked.source.each():
        for some in blocks_of(entries.shape, device_of(entries)):
            yield window.start + some.start, entries[some]
