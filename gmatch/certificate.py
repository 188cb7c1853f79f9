"""Proofs checked in plain array code that shares nothing with the solvers."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from .backends import device_of
from .errors import CertificateError
from .problem import as_graph
from .result import Matching


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


def verify(graph: Any, matching: Matching) -> Certificate:
    """Proves that a matching is one of the graph, and that none is larger.

    Checks that mates point at each other and are joined by an edge, that every edge has an end in the matching's
    vertex cover, and that the cover has as many vertices as the matching has edges: then none is larger (König 1931).
    Plain NumPy or CuPy code where the graph lives; O(rows + columns + entries) time and memory.

    Parameters
    ----------
    graph : as for `gmatch.max_matching`
    matching : Matching
        What `gmatch.max_matching` returned for the graph.

    Returns
    -------
    Certificate

    Raises
    ------
    CertificateError
        If any of it does not hold; the message says what.
    InvalidInput
        If `graph` is not a graph.
    """
    problem = as_graph(graph)
    xp = _namespace(problem.indices)
    rows, columns = problem.shape
    row_match, col_match = xp.asarray(matching.row_match), xp.asarray(matching.col_match)
    _check_mates(xp, row_match, col_match, problem.shape)
    size = int((row_match >= 0).sum())
    if size != matching.size:
        raise CertificateError(f"the matching says it has {matching.size} edges, but {size} rows are matched")
    entries = problem.indices[: problem.entries]
    row_of = row_of_each_entry(problem.indptr, problem.entries)
    missing = rows_without_their_edge(row_match, row_of, entries)
    if len(missing):
        row = int(missing[0])
        raise CertificateError(f"row {row} is matched with column {int(row_match[row])}, but they share no edge")

    cover_rows, cover_columns = (xp.asarray(part) for part in matching.vertex_cover())
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
    if len(numbers) and not (0 <= int(numbers.min()) and int(numbers.max()) < length):
        raise CertificateError(f"the cover's {side} numbers must be from 0 to {length - 1}")
    mask = xp.zeros(length, np.bool_)
    mask[numbers] = True
    if int(mask.sum()) != len(numbers):
        raise CertificateError(f"the cover names a {side} twice")
    return mask
