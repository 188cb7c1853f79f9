"""The proof of a bottleneck assignment: pairs up to a threshold, and a cover of all cheaper pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import namespace, to_host
from ..errors import CertificateError
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..result import Assignment
from ..toolkit_result import Bottleneck, BottleneckCertificate
from .entries import blocks_of_entries, checked_entries, values_of
from .matching import arrays_of, check_mates, mask_of, vector_of
from .sparse import verify_sparse_assignment


def verify_bottleneck(cost: Any, result: Bottleneck, strict: bool) -> BottleneckCertificate:
    """As `gmatch.verify`; O(rows * columns) time in blocks, or O(rows + columns + entries) for sparse costs."""
    if isinstance(cost, DenseCosts | SparseCosts):
        costs = cost
    else:
        costs = costs_of(cost, result.maximize, None, result.forbid_nan)
    if costs.maximize != result.maximize or costs.cost_limit is not None:
        raise CertificateError(
            f"the bottleneck is for maximize={result.maximize} without a cost_limit; the costs are for "
            f"maximize={costs.maximize} and cost_limit={costs.cost_limit}"
        )
    xp = namespace(costs.array if isinstance(costs, DenseCosts) else costs.data)
    row_match, col_match = arrays_of(xp, result, "row_match", "col_match")
    check_mates(row_match, col_match, costs.shape)
    size = int((row_match >= 0).sum())
    if size < min(costs.shape):
        _check_most_pairs(xp, costs, size, result)
    elif result.whole_cover is not None:
        raise CertificateError("whole_cover must be None where all pairs are made")
    if size == 0:
        if result.threshold is not None:
            raise CertificateError(f"there are no pairs, so that there is no threshold; got {result.threshold}")
        return BottleneckCertificate(None, 0, 0)
    threshold = _checked_threshold(xp, costs, row_match, result)
    cover = _checked_cover(xp, costs, threshold, size, result)
    if result.assignment is not None:
        _check_cheapest(costs, row_match, threshold, result, strict)
    return BottleneckCertificate(result.threshold, len(cover[0]), len(cover[1]))


def _checked_threshold(xp: Any, costs: DenseCosts | SparseCosts, row_match: Any, result: Bottleneck) -> Any:
    """The threshold in the minimisation form. Raises unless the most expensive pair costs that."""
    entries = checked_entries(xp, costs, row_match, result)
    rows = (row_match >= 0).nonzero()[0]
    values = values_of(costs, entries)
    worst = rows[values[rows].argmax()]
    if entries[worst].item() != result.threshold:
        raise CertificateError(
            f"the threshold is {result.threshold}, but the most expensive pair costs {entries[worst]}"
        )
    return values[worst]


def _check_most_pairs(xp: Any, costs: DenseCosts | SparseCosts, size: int, result: Bottleneck) -> None:
    """Raises unless a cover proves that no matching has more pairs."""
    if result.whole_cover is None:
        raise CertificateError(f"the bottleneck has {size} of {min(costs.shape)} pairs, and no cover of all pairs")
    cover = _sides_of(xp, result.whole_cover)
    if len(cover[0]) + len(cover[1]) != size:
        raise CertificateError(
            f"the cover of all pairs has {len(cover[0])} rows and {len(cover[1])} columns, not {size}: more pairs may "
            "be possible"
        )
    _refuse_uncovered(xp, costs, cover, np.inf, "allowed")


def _sides_of(xp: Any, cover: Any) -> list[Any]:
    if not isinstance(cover, tuple | list) or len(cover) != 2:
        raise CertificateError(f"the cover must be numbers of rows and numbers of columns; got {cover!r}")
    return [vector_of(xp, f"{side}s of the cover", part) for side, part in zip(("row", "column"), cover, strict=True)]


def _checked_cover(
    xp: Any, costs: DenseCosts | SparseCosts, threshold: Any, size: int, result: Bottleneck
) -> list[Any]:
    """The cover. Raises unless all pairs below the threshold lie in it."""
    cover = _sides_of(xp, result.cover)
    if len(cover[0]) + len(cover[1]) >= size:
        raise CertificateError(
            f"the cover has {len(cover[0])} rows and {len(cover[1])} columns, not fewer than the {size} pairs: cheaper "
            "pairs may suffice"
        )
    _refuse_uncovered(xp, costs, cover, threshold, "cheaper than the threshold")
    return cover


def _refuse_uncovered(xp: Any, costs: DenseCosts | SparseCosts, cover: list[Any], threshold: Any, what: str) -> None:
    """Raises unless all pairs below the threshold lie in the cover."""
    in_rows, in_columns = (mask_of(xp, *side) for side in zip(cover, costs.shape, ("row", "column"), strict=True))
    for rows, columns, block in blocks_of_entries(costs):
        outside = (values_of(costs, block) < threshold) & ~(in_rows[rows] | in_columns[columns])
        if bool(outside.any()):
            place = tuple(int(numbers[0]) for numbers in outside.nonzero())
            row, column = (int(xp.broadcast_to(side, block.shape)[place]) for side in (rows, columns))
            raise CertificateError(f"the pair of row {row} and column {column} is {what}, but not covered")


def _check_cheapest(
    costs: DenseCosts | SparseCosts, row_match: Any, threshold: Any, result: Bottleneck, strict: bool
) -> None:
    """Raises unless the assignment is the one of the bottleneck, and the cheapest of the pairs up to the threshold."""
    assignment, xp = result.assignment, namespace(row_match)
    if not isinstance(assignment, Assignment):
        raise CertificateError(f"assignment must be an Assignment or None; got {type(assignment).__name__}")
    (mates,) = arrays_of(xp, assignment, "row_match")
    if mates.shape != row_match.shape or bool((mates != row_match).any()):
        raise CertificateError("the assignment must have the pairs of the bottleneck; it has others")
    if assignment.maximize != result.maximize or not (assignment.cost_limit is assignment.bound is None):
        raise CertificateError("the assignment must be for the costs of the bottleneck, without a limit or a bound")
    parts = []
    for rows, columns, block in blocks_of_entries(costs):
        places = (values_of(costs, block) <= threshold).nonzero()
        parts.append([xp.broadcast_to(side, block.shape)[places] for side in (rows, columns)] + [block[places]])
    rows, columns, entries = (to_host(np.concatenate(side)) for side in zip(*parts, strict=True))
    verify_sparse_assignment(scipy.sparse.coo_array((entries, (rows, columns)), costs.shape), assignment, strict)
