"""Entries of dense and sparse costs alike, for proofs: in blocks, and of matched pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import lower_at, namespace
from ..errors import CertificateError
from ..problems.dense import DenseCosts
from ..problems.limits import minimised
from ..problems.sparse import SparseCosts
from .matching import arrays_of

# Rows, columns and entries of some pairs, in the matrix as given; rows and columns broadcast to the entries.
Block = tuple[Any, Any, Any]


def blocks_of_entries(costs: DenseCosts | SparseCosts) -> Iterator[Block]:
    if isinstance(costs, SparseCosts):
        rows, columns, _ = costs.triples()
        yield rows, columns, costs.data
        return
    every = namespace(costs.array).arange
    numbers = [every(length, dtype=np.int32) for length in costs.array.shape]
    for some in costs.row_blocks():
        rows, columns = numbers[0][some, None], numbers[1][None]
        yield (columns, rows, costs.array[some]) if costs.transposed else (rows, columns, costs.array[some])


def values_of(costs: DenseCosts | SparseCosts, entries: Any) -> Any:
    """What some entries cost, in the minimisation form."""
    return minimised(entries, costs.dual_type, costs.maximize, None)


def checked_entries(xp: Any, costs: DenseCosts | SparseCosts, row_match: Any, result: Any) -> Any:
    """The entry of each row's pair, 0 for free rows. Raises unless pairs are allowed and cost what the result says."""
    entries, found = xp.zeros(costs.shape[0], costs.dtype), xp.zeros(costs.shape[0], np.bool_)
    for rows, columns, block in blocks_of_entries(costs):
        places = (row_match[rows] == columns).nonzero()
        matched = xp.broadcast_to(rows, block.shape)[places]
        entries[matched], found[matched] = block[places], True
    rows = (row_match >= 0).nonzero()[0]
    for wrong, what in ((~found, "not stored"), (values_of(costs, entries) == math.inf, "forbidden")):
        if bool(wrong[rows].any()):
            row = int(rows[wrong[rows]][0])
            raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, which is {what}")
    (claimed,) = arrays_of(xp, result, "pair_costs")
    if claimed.shape != rows.shape or claimed.dtype != costs.dtype or bool((claimed != entries[rows]).any()):
        raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")
    return entries


def least_of_rows(xp: Any, costs: DenseCosts | SparseCosts, v: Any) -> Any:
    """The least cost less the dual of its column in each row."""
    far = 2**62 if costs.dual_type is np.int64 else np.inf
    least = xp.full(costs.shape[0], far, costs.dual_type)
    for rows, columns, block in blocks_of_entries(costs):
        reduced = values_of(costs, block) - v[columns]
        lower_at(least, xp.broadcast_to(rows, block.shape), reduced)
    return least
