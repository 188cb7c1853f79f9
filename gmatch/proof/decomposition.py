"""The proof of a block triangular form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse import csr_array

from ..arrays import namespace, row_of_each_entry, to_host
from ..errors import CertificateError
from ..problems.graph import as_graph
from ..result import Decomposition, DecompositionCertificate, Matching
from .matching import arrays_of, verify_matching


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


def verify_decomposition(graph: Any, decomposition: Decomposition) -> DecompositionCertificate:
    problem = as_graph(graph).private()
    if not isinstance(decomposition.matching, Matching):
        raise CertificateError(f"matching must be a Matching; got {type(decomposition.matching).__name__}")
    size = verify_matching(problem, decomposition.matching).size
    on_host = problem.on("cpu")
    xp = namespace(problem.indices)
    form = _Form(*(to_host(array) for array in arrays_of(xp, decomposition, *_Form._fields)))
    _check_permutation("row_order", form.row_order, problem.shape[0])
    _check_permutation("col_order", form.col_order, problem.shape[1])
    _check_parts(form, to_host(decomposition.matching.row_match), size)
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
    """Checks that free rows and columns lie where the coarse parts say, and all others on the diagonals with their
    mates."""
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
    """Checks that the offsets of blocks are the offsets of the coarse parts, with square blocks between."""
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

    Pairs are 1, 2, ... along the diagonals; an entry of a block leads from the pair of its row to the pair of its
    column.
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
        order = scipy.sparse.csgraph.breadth_first_order(graph, 0, return_predecessors=False)
        reached[order] = True
        missed = start + (~reached[1 + start : 1 + stop]).nonzero()[0]
        if len(missed):
            row = int(form.row_order[missed[0]])
            in_square = begin <= missed[0] < end
            raise CertificateError(
                f"row {row} must not be in the {name} part: no alternating path joins it to a free vertex there"
                if not in_square else f"the square block of row {row} can be split"
            )  # fmt: skip
