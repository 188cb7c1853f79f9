"""Costs that are never all in memory: a function, and a file that is read some rows at a time; both answers proven.

The function gives the cost of pairs of records: how many words of two titles differ. The file is a matrix that is
written to a disk and mapped.

    python examples/costs_without_a_matrix.py 2000
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import gmatch

WORDS = 64


def titles(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Which words each title has, as booleans; and the same titles, in another order, with some words lost."""
    first = rng.random((size, WORDS)) < 0.2
    order = rng.permutation(size)
    return first, first[order] & (rng.random((size, WORDS)) < 0.95)


def match_titles(size: int) -> None:
    first, second = titles(np.random.default_rng(0), size)
    sizes, other_sizes = first.sum(axis=1), second.sum(axis=1)
    as_numbers, others = first.astype(np.int32), second.astype(np.int32)

    def differ(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        both = as_numbers[rows] @ others[columns].T
        return (sizes[rows, None] + other_sizes[columns] - 2 * both).astype(np.int32)

    costs = gmatch.FunctionCosts(differ, (size, size), np.int32)
    assignment = gmatch.lap(costs)
    print(f"{assignment.cost} words differ in {assignment.size} pairs, {assignment.stats['passes']} passes, "
          f"gap {gmatch.verify(costs, assignment).gap}")  # fmt: skip


def match_file(size: int, folder: Path) -> None:
    path = folder / "costs.npy"
    file = np.lib.format.open_memmap(path, "w+", np.float32, (size, size))
    rng = np.random.default_rng(1)
    for row in range(size):
        file[row] = rng.random(size, np.float32)
    file.flush()
    del file
    costs = gmatch.RowWindows(np.load(path, mmap_mode="r"))
    assignment = gmatch.lap(costs)
    certificate = gmatch.verify(costs, assignment)
    print(f"{path.stat().st_size} bytes of costs: cost {assignment.cost:.6f}, {assignment.stats['passes']} passes, "
          f"gap below {certificate.tolerance:.0e}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", type=int, nargs="?", default=2000, help="rows and columns")
    size = parser.parse_args().size
    match_titles(size)
    with tempfile.TemporaryDirectory() as folder:
        match_file(size, Path(folder))


if __name__ == "__main__":
    main()
