"""An LU decomposition that needs its large entries on the diagonal: SuperLU without pivoting, before and after.

Parallel and GPU solvers pivot little or not at all. They choose the order of the rows beforehand, so that the pattern
of L and U is known. So the diagonal must have large entries. `gmatch.scale` brings them there, as MC64 does for
SuperLU_DIST and PARDISO.

    python examples/lu_after_scaling.py          # 2500 rows
    python examples/lu_after_scaling.py 10000
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import gmatch


def bad_matrix(size: int, seed: int = 0) -> Any:
    """A convection and diffusion operator on a grid, its rows in any order and in units of many magnitudes."""
    rng = np.random.default_rng(seed)
    side = round(size**0.5)
    line = sp.diags_array([-1.4, 4.0, -0.6], offsets=[-1, 0, 1], shape=(side, side)) / 2
    grid = sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line)
    rows = sp.diags_array(10.0 ** rng.uniform(-8, 8, side * side))
    columns = sp.diags_array(10.0 ** rng.uniform(-8, 8, side * side))
    return sp.csr_array(rows @ grid @ columns)[rng.permutation(side * side)]


def report(name: str, matrix: Any, original: Any, solve: Any) -> None:
    """Decomposes without pivoting, and says what came of it."""
    try:
        factors = splu(
            matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError as error:
        print(f"{name:7} {error}")
        return
    pivots = abs(factors.U.diagonal())
    known = np.ones(original.shape[0])
    right = original @ known
    found = solve(factors, right)
    found += solve(factors, right - original @ found)  # one step of refinement, as such solvers take
    residual = abs(original @ found - right) / (abs(original) @ abs(found) + abs(right))
    print(
        f"{name:7} fill {(factors.L.nnz + factors.U.nnz) / matrix.nnz:5.1f}, pivots from {pivots.min():.1e} to "
        f"{pivots.max():.1e}, backward error {residual.max():.1e}"
    )


def main(size: int = 2500) -> None:
    matrix = bad_matrix(size)
    print(f"{matrix.shape[0]} rows, {matrix.nnz} entries, {(matrix.diagonal() != 0).sum()} of them on the diagonal")
    report("before", matrix, matrix, lambda factors, right: factors.solve(right))

    scaling = gmatch.scale(matrix, certify=True)

    def solve(factors: Any, right: Any) -> Any:
        """R A C y = R b, with the rows of it in their new order, and x = C y."""
        return scaling.col_scale * factors.solve((scaling.row_scale * right)[scaling.row_order])

    report("after", scaling.apply(matrix), matrix, solve)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
