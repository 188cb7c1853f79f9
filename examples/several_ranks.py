"""A matrix that no rank holds, assigned and proven: each rank makes its own rows, and all get the whole answer.

    python examples/several_ranks.py                                    # four ranks, threads of this process
    mpiexec -n 4 python -m mpi4py examples/several_ranks.py --mpi       # four processes, on one machine or many
    python examples/several_ranks.py --device gpu                       # their rows go to the GPUs of their machine

The cost of row i and column j depends on i, j and the seed alone. So any rank can make any row, and the answer does not
depend on the number of ranks.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import gmatch

RANKS_HERE = 4


def rows_of(first: int, end: int, columns: int, seed: int) -> np.ndarray:
    """Costs from 0 to 1: each row has a generator of its own."""
    rows = [np.random.default_rng((seed, row)).random(columns, np.float32) for row in range(first, end)]
    return np.array(rows, np.float32).reshape(end - first, columns)


def solve(
    whole: Callable[[int, int], np.ndarray], size: int, ranks_of_mpi: Any, device: str | None
) -> tuple[Any, Any, bool]:
    """The assignment, its certificate, and whether this rank prints."""
    if ranks_of_mpi is None:
        blocks = [whole(rank * size // RANKS_HERE, (rank + 1) * size // RANKS_HERE) for rank in range(RANKS_HERE)]
        costs = gmatch.RowBlocks(blocks)
        assignment = gmatch.lap(costs, device=device)
        return assignment, gmatch.verify(costs, assignment), True
    rank, ranks = ranks_of_mpi.rank, ranks_of_mpi.size
    block = whole(rank * size // ranks, (rank + 1) * size // ranks)
    assignment = gmatch.lap(block, comm=ranks_of_mpi, device=device)
    return assignment, gmatch.verify(block, assignment, comm=ranks_of_mpi), rank == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Assigns a matrix whose rows lie on several ranks.")
    parser.add_argument("rows", type=int, nargs="?", default=2000)
    parser.add_argument("--mpi", action="store_true", help="run as one of the ranks that mpiexec started")
    parser.add_argument("--device", choices=["cpu", "gpu"], help="where ranks work, each with its rows")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ranks = None
    if options.mpi:
        from mpi4py import MPI

        ranks = gmatch.Ranks(MPI.COMM_WORLD)
    started = perf_counter()
    assignment, certificate, prints = solve(
        lambda first, end: rows_of(first, end, options.rows, options.seed), options.rows, ranks,
        options.device,
    )  # fmt: skip
    if prints:
        stats = assignment.stats
        print(f"cost {certificate.cost:.9g}, proven to within {certificate.gap:.1e}")
        print(f"{stats['ranks']} ranks, {stats['meetings']} meetings, {stats['bytes_met'] / 1e6:.1f} MB")
        print(f"made, assigned and verified in {perf_counter() - started:.2f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
