"""Structural ranks of SuiteSparse matrices, proven, and compared with the ones that the collection publishes.

The structural rank of a matrix is the size of a maximum matching of its rows and columns: the largest rank that any
matrix with this pattern of entries can have. A cover proves it: rows and columns that together hold every entry, and
whose number is the number of matched edges.

    python examples/structural_rank_suitesparse.py                      # the matrices that come with gmatch
    python examples/structural_rank_suitesparse.py HB/west0067 Averous/epb0

Matrices that do not come with gmatch are downloaded once, from https://sparse.tamu.edu.
"""

from __future__ import annotations

import argparse
import os
import sys

import gmatch


def main() -> int:
    parser = argparse.ArgumentParser(description="Structural ranks of SuiteSparse matrices, with their proofs.")
    bundled = [entry.name for entry in gmatch.datasets.bundled()]
    parser.add_argument("names", nargs="*", metavar="Group/Name", default=bundled)
    names = parser.parse_args().names
    published = {entry.name: entry.structural_rank for entry in gmatch.datasets.registry()}
    print(f"{'matrix':<30} {'rows':>9} {'columns':>9} {'rank':>9} {'published':>9}   cover")
    try:
        verdicts = [compare(name, published.get(name)) for name in names]
    except gmatch.GmatchError as error:
        parser.exit(2, f"error: {error}\n")
    print(f"\n{verdicts.count(True)} agree, {verdicts.count(False)} disagree, {verdicts.count(None)} are not published")
    return 1 if False in verdicts else 0


def compare(name: str, published: int | None) -> bool | None:
    """Whether the rank of a matrix is the published one; None if none is published."""
    matrix = gmatch.datasets.load(name)
    matching = gmatch.max_matching(matrix)
    proof = gmatch.verify(matrix, matching)
    rows, columns = matrix.shape
    known = "-" if published is None else f"{published:,}"
    print(
        f"{name:<30} {rows:>9,} {columns:>9,} {matching.size:>9,} {known:>9}   "
        f"{proof.cover_rows:,} rows + {proof.cover_columns:,} columns"
    )
    return None if published is None else matching.size == published


if __name__ == "__main__":
    try:
        status = main()
        print(end="", flush=True)
    except BrokenPipeError:  # `head`, for one, has read enough
        os._exit(141)
    sys.exit(status)
