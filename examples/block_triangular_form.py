"""Block triangular forms of SuiteSparse matrices: their parts, and how little of a linear system is left to factorise.

The Dulmage-Mendelsohn decomposition orders any matrix so that it is block upper triangular. If the rank can be full,
the square part is the whole matrix. A linear system is then solved block by block, from the last to the first, and only
the diagonal blocks are factorised: many small blocks cost little. Otherwise the horizontal part has the unknowns with
too few equations, and the vertical part has too many equations.

    python examples/block_triangular_form.py                        # the matrices that come with gmatch
    python examples/block_triangular_form.py HB/west0156 Averous/epb0

Matrices that do not come with gmatch are downloaded once, from https://sparse.tamu.edu.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from scipy.sparse import csr_array

import gmatch


def main() -> None:
    parser = argparse.ArgumentParser(description="Block triangular forms of SuiteSparse matrices, with their proofs.")
    bundled = [entry.name for entry in gmatch.datasets.bundled()]
    parser.add_argument("names", nargs="*", metavar="Group/Name", default=bundled)
    names = parser.parse_args().names
    parts = f"{'horizontal':>15} {'square':>15} {'vertical':>15}"
    print(f"{'matrix':<30} {parts} {'blocks':>7} {'largest':>7} {'in blocks':>9}")
    try:
        for name in names:
            describe(name)
    except gmatch.GmatchError as error:
        parser.exit(2, f"error: {error}\n")


def describe(name: str) -> None:
    """The parts, the number of blocks, the rows of the largest square one, and the share of entries in the blocks."""
    matrix = gmatch.datasets.load(name)
    form = gmatch.dulmage_mendelsohn(matrix)
    gmatch.verify(matrix, form)
    parts = (f"{len(rows)} x {len(columns)}" for rows, columns in (form.horizontal, form.square, form.vertical))
    horizontal, square, vertical = parts
    blocks = len(form.row_blocks) - 1
    begin, end = form.coarse_rows[1:3]
    in_square = (begin <= form.row_blocks) & (form.row_blocks <= end)
    largest = np.diff(form.row_blocks[in_square]).max(initial=0)
    print(
        f"{name:<30} {horizontal:>15} {square:>15} {vertical:>15} {blocks:>7,} {largest:>7,} "
        f"{entries_in_blocks(matrix, form) / max(matrix.nnz, 1):>9.1%}"
    )


def entries_in_blocks(matrix: csr_array, form: gmatch.Decomposition) -> int:
    """How many entries of the matrix lie in diagonal blocks."""
    ordered = matrix[form.row_order][:, form.col_order].tocoo()
    block_of_row = np.repeat(np.arange(len(form.row_blocks) - 1), np.diff(form.row_blocks))
    block_of_column = np.repeat(np.arange(len(form.col_blocks) - 1), np.diff(form.col_blocks))
    return int((block_of_row[ordered.row] == block_of_column[ordered.col]).sum())


if __name__ == "__main__":
    try:
        main()
        print(end="", flush=True)
    except BrokenPipeError:  # `head`, for one, has read enough
        os._exit(141)
