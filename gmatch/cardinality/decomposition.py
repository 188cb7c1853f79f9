"""`dulmage_mendelsohn` and `block_triangular_form`: what maximum matchings say about the blocks of a matrix.

csrc/cardinality/blocks.hpp finds them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import _native
from ..arrays import mover_to, to_host
from ..backends import cpu
from ..errors import Infeasible, InvalidInput
from ..methods import Method
from ..problems.graph import BipartiteGraph, as_graph, private_graph
from ..proof.verify import verify
from ..result import Decomposition, Matching
from .matching import max_matching


def dulmage_mendelsohn(
    graph: Any,
    *,
    method: str | Method = "auto",
    initial: Any = "auto",
    device: str | None = None,
    threads: int | None = None,
    deterministic: bool = False,
    certify: bool = False,
) -> Decomposition:
    """The Dulmage-Mendelsohn decomposition: orders of rows and columns that make any matrix block upper triangular.

    As ``[p, q, r, s, cc, rr] = dmperm(A)`` of MATLAB and ``cs_dmperm`` of CSparse, but numbered from 0. ``A[p][:, q]``,
    with the rows `p` = `row_order` and the columns `q` = `col_order`, is

    ===========  ============  ==========  ======  ========
    rows         free columns  horizontal  square  vertical
    ===========  ============  ==========  ======  ========
    horizontal   A11           A12         A13     A14
    square       0             0           A23     A24
    vertical     0             0           0       A34
    free rows    0             0           0       A44
    ===========  ============  ==========  ======  ========

    where A12, A23 and A34 are square with matched entries on their diagonals. ``[A11 A12]`` is underdetermined: it is
    empty, or has more columns than rows, and all its rows can be matched even if any one column is left out.
    ``[A34; A44]`` is overdetermined: its transpose is underdetermined. A23 is itself block upper triangular, and its
    diagonal blocks are irreducible: no order of their rows and columns makes one of them block triangular.

    Parameters
    ----------
    graph, method, initial, device, threads, deterministic
        As for `gmatch.max_matching`: every stored entry counts, also when its value is zero.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Decomposition
        ``p, q, r, s, cc, rr = dulmage_mendelsohn(A)`` works. Its arrays live where the graph lives.

    Raises
    ------
    InvalidInput, BackendUnavailable, MemoryError, CertificateError
        As `gmatch.max_matching`.

    Notes
    -----
    All maximum matchings give one set of parts and blocks. Only the pairs on the diagonals, and the order of blocks of
    which neither comes before the other, depend on the matching. Within a block rows are in increasing order, with
    their mates beside them. In the vertical part free rows come last. Like dmperm, this leaves the horizontal and the
    vertical part whole; Pothen and Fan split them into connected components.

    The matching runs on `device`. All other steps run on one core of the host, in O(rows + columns + entries) time and
    memory. A graph on a GPU is copied to the host once. ``stats["blocks"]`` says ``"cpu"``.

    References
    ----------
    A. L. Dulmage and N. S. Mendelsohn: Coverings of bipartite graphs. Canadian Journal of Mathematics 10, 1958.
    A. Pothen and C.-J. Fan: Computing the block triangular form of a sparse matrix. ACM Transactions on Mathematical
    Software 16(4), 1990.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> form = gmatch.dulmage_mendelsohn(matrix)
    >>> form
    <Decomposition into 3 blocks: horizontal 0 x 1, square 1 x 1, vertical 2 x 1>
    >>> matrix[form.row_order][:, form.col_order].toarray().tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 1]]
    """
    began = time.perf_counter()
    problem = private_graph(graph)
    matching = max_matching(
        problem, method=method, initial=initial, device=device, threads=threads, deterministic=deterministic
    )
    matched = time.perf_counter()
    arrays, coarse_ns = _parts_and_blocks(problem, matching)
    seconds = {"matching": matched - began, "coarse": coarse_ns / 1e9}
    ran = matching.stats
    stats = {
        "method": ran["method"],
        "backend": ran["backend"],
        "blocks": cpu.NAME,
        "seconds": seconds | {"fine": time.perf_counter() - matched - coarse_ns / 1e9},
    }
    p, q, r, s, cc, rr = arrays
    result = Decomposition(p, q, r, s, cc, rr, matching, stats)
    if certify:
        verify(problem, result)
    return result


def _parts_and_blocks(problem: BipartiteGraph, matching: Matching) -> tuple[list[Any], int]:
    """The arrays of a `Decomposition`, in their order, where the graph lives; and the nanoseconds of coarse parts."""
    found = matching.row_match, matching.col_match, matching.reached_columns
    if problem.device == "cpu":
        arrays, coarse_ns = _native.decompose(problem.indptr, problem.indices, *found[:2], found[2].view(np.uint8))
        return list(arrays), coarse_ns
    row_match, col_match, reached = map(to_host, found)
    there = problem.on("cpu").private()  # checked again: on a GPU others may have changed it
    arrays, coarse_ns = _native.decompose(there.indptr, there.indices, row_match, col_match, reached.view(np.uint8))
    return list(map(mover_to(problem.device), arrays)), coarse_ns


def block_triangular_form(graph: Any, **options: Any) -> Decomposition:
    """Orders of rows and columns that make a structurally nonsingular matrix block upper triangular.

    As ``[p, q, r] = dmperm(A)`` of MATLAB and ``btf_order`` of KLU: ``A[p][:, q]`` has no zeros on its diagonal, and
    square, irreducible diagonal blocks; block k has its rows and its columns from ``r[k]`` to ``r[k + 1]``. A linear
    system is solved from the last block to the first, and only the diagonal blocks are factorised.

    Parameters
    ----------
    graph : as for `gmatch.max_matching`
        With as many rows as columns.
    **options
        As for `dulmage_mendelsohn`.

    Returns
    -------
    Decomposition
        ``p, q, r, *_ = block_triangular_form(A)`` works. The whole matrix is the square part: `row_blocks` and
        `col_blocks` are equal.

    Raises
    ------
    InvalidInput
        If the matrix is not square: before any work.
    Infeasible
        If the matrix is structurally singular: some rows have their entries in too few columns, which are the witness.
        It has no form with square blocks; `dulmage_mendelsohn` gives the form with rectangular blocks.
    BackendUnavailable, MemoryError, CertificateError
        As `gmatch.max_matching`.

    Notes
    -----
    KLU also orders structurally singular matrices, with zeros on the diagonal and blocks that depend on where it puts
    the zeros. gmatch refuses these matrices, since no block with a zero on its diagonal can be factorised.

    See `dulmage_mendelsohn` for complexity and papers.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 0, 0], [1, 1, 1], [0, 1, 1]])
    >>> p, q, r, *_ = gmatch.block_triangular_form(matrix)
    >>> matrix[p][:, q].toarray().tolist(), r.tolist()
    ([[1, 1, 1], [1, 1, 0], [0, 0, 1]], [0, 2, 3])
    """
    problem = as_graph(graph)
    rows, columns = problem.shape
    if rows != columns:
        raise InvalidInput(
            f"expected a square matrix; got {rows} rows and {columns} columns; "
            "use gmatch.dulmage_mendelsohn for the form with rectangular blocks"
        )
    result = dulmage_mendelsohn(problem, **options)
    if result.matching.size < rows:
        witness_rows, witness_columns = (numbers.copy() for numbers in result.vertical)
        witness_rows.sort()
        witness_columns.sort()
        raise Infeasible(
            f"the matrix is structurally singular: its structural rank is {result.matching.size} of {rows}, since "
            f"{len(witness_rows)} rows have entries in {len(witness_columns)} columns only; "
            "use gmatch.dulmage_mendelsohn for the form with rectangular blocks",
            witness_rows,
            witness_columns,
        )
    return result
