"""The proof of a bottleneck assignment: pairs up to a threshold, and a cover of all cheaper pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import namespace, to_host
from ..errors import CertificateError
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.limits import minimised
from ..problems.sparse import SparseCosts
from ..toolkit.results import Bottleneck, BottleneckCertificate
from .matching import arrays_of, check_mates, mask_of, vector_of
from .sparse import verify_sparse_assignment

# Rows, columns and entries of some pairs, in the matrix as given; rows and columns broadcast to the entries.
_Block = tuple[Any, Any, Any]


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
    check_mates(xp, row_match, col_match, costs.shape)
    size = int((row_match >= 0).sum())
    if size != min(costs.shape):
        raise CertificateError(f"the bottleneck has {size} of {min(costs.shape)} pairs")
    if size == 0:
        if result.threshold is not None:
            raise CertificateError(f"there are no pairs, so that there is no threshold; got {result.threshold}")
        return BottleneckCertificate(None, 0, 0)
    threshold = _checked_threshold(xp, costs, row_match, result)
    cover = _checked_cover(xp, costs, threshold, size, result)
    if result.assignment is not None:
        _check_cheapest(xp, costs, row_match, threshold, result, strict)
    return BottleneckCertificate(result.threshold, len(cover[0]), len(cover[1]))


def _blocks(costs: DenseCosts | SparseCosts) -> Iterator[_Block]:
    if isinstance(costs, SparseCosts):
        rows, columns, _ = costs.triples()
        yield rows, columns, costs.data
        return
    every = namespace(costs.array).arange
    numbers = [every(length, dtype=np.int32) for length in costs.array.shape]
    for some in costs.row_blocks():
        rows, columns = numbers[0][some, None], numbers[1][None]
        yield (columns, rows, costs.array[some]) if costs.transposed else (rows, columns, costs.array[some])


def _values(costs: DenseCosts | SparseCosts, entries: Any) -> Any:
    return minimised(entries, costs.dual_type, costs.maximize, None)


def _checked_threshold(xp: Any, costs: DenseCosts | SparseCosts, row_match: Any, result: Bottleneck) -> Any:
    """The threshold in the minimisation form, once the dearest pair is known to cost that."""
    entries, found = xp.zeros(costs.shape[0], costs.dtype), xp.zeros(costs.shape[0], np.bool_)
    for rows, columns, block in _blocks(costs):
        places = (row_match[rows] == columns).nonzero()
        matched = xp.broadcast_to(rows, block.shape)[places]
        entries[matched], found[matched] = block[places], True
    rows = (row_match >= 0).nonzero()[0]
    values = _values(costs, entries)
    for wrong, what in ((~found, "not stored"), (values == math.inf, "forbidden")):
        if bool(wrong[rows].any()):
            row = int(rows[wrong[rows]][0])
            raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which is {what}")
    (claimed,) = arrays_of(xp, result, "pair_costs")
    if claimed.shape != rows.shape or claimed.dtype != costs.dtype or bool((claimed != entries[rows]).any()):
        raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
    dearest = rows[values[rows].argmax()]
    if entries[dearest].item() != result.threshold:
        raise CertificateError(f"the threshold is {result.threshold}, but the dearest pair costs {entries[dearest]}")
    return values[dearest]


def _checked_cover(
    xp: Any, costs: DenseCosts | SparseCosts, threshold: Any, size: int, result: Bottleneck
) -> list[Any]:
    """The cover, once all pairs below the threshold are known to lie in it."""
    sides = "row", "column"
    cover = [vector_of(xp, f"{side}s of the cover", part) for side, part in zip(sides, result.cover, strict=True)]
    if len(cover[0]) + len(cover[1]) >= size:
        raise CertificateError(
            f"the cover has {len(cover[0])} rows and {len(cover[1])} columns, not fewer than the {size} pairs: cheaper "
            "pairs may suffice"
        )
    in_rows, in_columns = (mask_of(xp, *side) for side in zip(cover, costs.shape, sides, strict=True))
    for rows, columns, block in _blocks(costs):
        outside = (_values(costs, block) < threshold) & ~(in_rows[rows] | in_columns[columns])
        if bool(outside.any()):
            place = tuple(int(numbers[0]) for numbers in outside.nonzero())
            row, column = (int(xp.broadcast_to(side, block.shape)[place]) for side in (rows, columns))
            raise CertificateError(
                f"the pair of row {row} and column {column} is cheaper than the threshold, but not covered"
            )
    return cover


def _check_cheapest(
    xp: Any, costs: DenseCosts | SparseCosts, row_match: Any, threshold: Any, result: Bottleneck, strict: bool
) -> None:
    """That the assignment is the bottleneck's, and the cheapest of the pairs up to the threshold."""
    assignment = result.assignment
    assert assignment is not None
    (mates,) = arrays_of(xp, assignment, "row_match")
    if mates.shape != row_match.shape or bool((mates != row_match).any()):
        raise CertificateError("the assignment must have the pairs of the bottleneck; it has others")
    if assignment.maximize != result.maximize or assignment.cost_limit is not None or assignment.cover is not None:
        raise CertificateError("the assignment must be for the costs of the bottleneck, without a limit or a cover")
    parts = []
    for rows, columns, block in _blocks(costs):
        places = (_values(costs, block) <= threshold).nonzero()
        parts.append([xp.broadcast_to(side, block.shape)[places] for side in (rows, columns)] + [block[places]])
    rows, columns, entries = (to_host(np.concatenate(side)) for side in zip(*parts, strict=True))
    verify_sparse_assignment(scipy.sparse.coo_array((entries, (rows, columns)), costs.shape), assignment, strict)
