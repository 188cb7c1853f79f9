"""The proof of a maximum matching: mates, edges, and a vertex cover of its size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import namespace, row_of_each_entry, rows_without_their_edge, to_host
from ..errors import CertificateError
from ..problems.graph import as_graph
from ..result import Certificate, Matching


def verify_matching(graph: Any, matching: Matching) -> Certificate:
    problem = as_graph(graph).private()
    xp = namespace(problem.indices)
    rows, columns = problem.shape
    row_match, col_match = arrays_of(xp, matching, "row_match", "col_match")
    check_mates(row_match, col_match, problem.shape)
    (reached,) = arrays_of(xp, matching, "reached_columns")
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

    cover_rows, cover_columns = (moved_here(xp, part) for part in matching.vertex_cover())
    in_cover_row = mask_of(xp, cover_rows, rows, "row")
    in_cover_column = mask_of(xp, cover_columns, columns, "column")
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


def arrays_of(xp: Any, result: Any, *names: str) -> list[Any]:
    return [vector_of(xp, name, getattr(result, name)) for name in names]


def vector_of(xp: Any, name: str, array: Any) -> Any:
    if getattr(array, "ndim", 0) != 1 or isinstance(array, np.ma.MaskedArray):
        raise CertificateError(f"{name} must be a one-dimensional array without a mask; got "
                               f"{type(array).__name__} of shape {getattr(array, 'shape', ())}")  # fmt: skip
    return moved_here(xp, array)


def moved_here(xp: Any, array: Any) -> Any:
    """The array, moved to where the problem lives."""
    return xp.asarray(to_host(array) if xp is np else array)


def check_mates(row_match: Any, col_match: Any, shape: tuple[int, int]) -> None:
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


def mask_of(xp: Any, numbers: Any, length: int, side: str) -> Any:
    if numbers.dtype.kind not in "iu":
        raise CertificateError(f"the cover's {side} numbers must be integers; got {numbers.dtype}")
    if len(numbers) and not (0 <= int(numbers.min()) and int(numbers.max()) < length):
        raise CertificateError(f"the cover's {side} numbers must be from 0 to {length - 1}")
    mask = xp.zeros(length, np.bool_)
    mask[numbers] = True
    if int(mask.sum()) != len(numbers):
        raise CertificateError(f"the cover names a {side} twice")
    return mask
