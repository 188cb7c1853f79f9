"""`dulmage_mendelsohn` and `block_triangular_form`: what maximum matchings say about the blocks of a matrix.

The coarse parts are the two alternating forests of a maximum matching: one grows from the free rows, the other from the
free columns, and what neither reaches is square (Dulmage and Mendelsohn 1958). The fine blocks are the strongly
connected components of the square part, whose vertices are the matched pairs (Pothen and Fan 1990).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.sparse import csr_array

from ..arrays import mover_to, row_of_each_entry, to_host
from ..backends import cpu
from ..errors import Infeasible, InvalidInput
from ..methods import Method
from ..problems.graph import BipartiteGraph, as_graph
from ..proof.verify import verify
from ..result import Decomposition
from .matching import max_matching

Array = npt.NDArray[Any]


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

    The matching, and one more search from the free columns on the transposed graph, run on `device`. The transpose, the
    components and all other steps run on the host, in O(rows + columns + entries) time and memory. A graph on a GPU is
    copied to the host once, and its transpose is copied back if there are free columns. ``stats["blocks"]`` says
    ``"cpu"``.

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
    problem = as_graph(graph).private()
    matching = max_matching(
        problem, method=method, initial=initial, device=device, threads=threads, deterministic=deterministic
    )
    matched = time.perf_counter()
    on_host = problem.on("cpu")
    row_match, col_match = to_host(matching.row_match), to_host(matching.col_match)
    vertical_columns = to_host(matching.reached_columns)
    options = {
        "method": method,
        "device": matching.stats["backend"],
        "threads": threads,
        "deterministic": deterministic,
    }
    horizontal_rows = _rows_reached_from_free_columns(on_host, matching.size, col_match, options)
    parted = time.perf_counter()
    arrays = _permutations(on_host, row_match, col_match, horizontal_rows, vertical_columns)
    ended = time.perf_counter()
    stats = {
        "method": matching.stats["method"],
        "backend": matching.stats["backend"],
        "blocks": cpu.NAME,
        "seconds": {"matching": matched - began, "coarse": parted - matched, "fine": ended - parted},
    }
    back = mover_to(problem.device)
    p, q, r, s, cc, rr = map(back, arrays)
    result = Decomposition(p, q, r, s, cc, rr, matching, stats)
    if certify:
        verify(problem, result)
    return result


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


def _rows_reached_from_free_columns(
    graph: BipartiteGraph, size: int, col_match: Array, options: dict[str, Any]
) -> Array:
    """A mask of the rows that alternating paths from free columns reach; the matching is maximum, so one phase."""
    rows, columns = graph.shape
    if size == columns:
        return np.zeros(rows, np.bool_)
    matching = max_matching(_transposed(graph), initial=col_match, **options)
    reached: Array = to_host(matching.reached_columns)
    return reached


def _transposed(graph: BipartiteGraph) -> BipartiteGraph:
    values = np.empty(graph.entries, np.bool_)
    by_rows = csr_array((values, graph.indices[: graph.entries], graph.indptr), shape=graph.shape)
    by_columns = by_rows.tocsc()
    return BipartiteGraph((by_columns.indptr, by_columns.indices, graph.shape[::-1]))


def _permutations(
    graph: BipartiteGraph, row_match: Array, col_match: Array, horizontal_rows: Array, vertical_columns: Array
) -> tuple[Array, ...]:
    """p, q, r, s, cc and rr: the arrays of a `Decomposition`, in their order."""
    vertical_rows = np.zeros(len(row_match), np.bool_)
    vertical_rows[col_match[vertical_columns]] = True
    square_rows = (row_match >= 0) & ~horizontal_rows & ~vertical_rows
    square, square_blocks = _fine_blocks(graph, square_rows.nonzero()[0], row_match, col_match)
    row_parts = [horizontal_rows.nonzero()[0], square, vertical_rows.nonzero()[0], (row_match < 0).nonzero()[0]]
    col_parts = [(col_match < 0).nonzero()[0], *(row_match[rows] for rows in row_parts[:3])]
    coarse_rows, coarse_cols = _offsets(row_parts), _offsets(col_parts)
    # As in dmperm, the horizontal part is one block, and the vertical part with the free rows another.
    row_blocks = np.concatenate([[0], coarse_rows[1] + square_blocks, coarse_rows[4:]])
    col_blocks = np.concatenate([[0], coarse_cols[2] + square_blocks, coarse_cols[4:]])
    filled = np.append(True, (np.diff(row_blocks) > 0) | (np.diff(col_blocks) > 0))
    orders = np.concatenate(row_parts), np.concatenate(col_parts)
    arrays = *orders, row_blocks[filled], col_blocks[filled], coarse_cols, coarse_rows
    return tuple(array.astype(np.int32) for array in arrays)


def _offsets(parts: list[Array]) -> Array:
    """Where each part begins, and the last one ends."""
    return np.cumsum([0, *map(len, parts)])


def _fine_blocks(graph: BipartiteGraph, rows: Array, row_match: Array, col_match: Array) -> tuple[Array, Array]:
    """The rows of the square part ordered by blocks, and the offsets of the blocks.

    A pair has an edge to another if its row has an entry in the other's column. Blocks are the strongly connected
    components, and an edge never leads back to an earlier block.
    """
    pair_of_row = np.full(graph.shape[0], -1, np.int32)
    pair_of_row[rows] = np.arange(len(rows), dtype=np.int32)
    pair_of_column = np.full(graph.shape[1], -1, np.int32)
    pair_of_column[row_match[rows]] = np.arange(len(rows), dtype=np.int32)
    tails = pair_of_row[row_of_each_entry(graph.indptr, graph.entries)]
    heads = pair_of_column[graph.indices[: graph.entries]]
    within = (tails >= 0) & (heads >= 0)
    tails, heads = tails[within], heads[within]
    # The entries come row by row, so the tails are sorted.
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=len(rows)))])
    pairs = csr_array((np.ones(len(heads)), heads, indptr), shape=(len(rows), len(rows)))
    # SciPy's search for components does not end if an entry is there twice. `heads`, which it may share, is of use yet.
    pairs = pairs.copy()
    pairs.sum_duplicates()
    count, component = scipy.sparse.csgraph.connected_components(pairs, connection="strong")
    block = _topological_order(count, component[tails], component[heads])[component]
    # A row of this matrix is a pair, its one entry the pair's block; a column is a block, and its pairs are in order.
    members = csr_array((np.ones(len(rows)), block, np.arange(len(rows) + 1)), shape=(len(rows), count)).tocsc()
    return rows[members.indices], members.indptr


def _topological_order(count: int, tails: Array, heads: Array) -> Array:
    """A number for each component, such that edges between them lead from smaller to larger ones.

    SciPy (Pearce 2005) numbers a component when the search leaves it, after all components that it leads to. So the
    reverse of SciPy's order will do. SciPy does not promise that, so it is checked.
    """
    if (tails >= heads).all():
        return np.arange(count - 1, -1, -1, dtype=np.int32)
    return _sorted_components(count, tails, heads)


def _sorted_components(count: int, tails: Array, heads: Array) -> Array:
    """What `_topological_order` returns, for components in any order (Kahn 1962)."""
    between = tails != heads
    edges = csr_array((np.ones(between.sum()), (tails[between], heads[between])), shape=(count, count))
    offsets, successors = edges.indptr.tolist(), edges.indices.tolist()
    waiting = np.bincount(edges.indices, minlength=count).tolist()
    order = [component for component in range(count) if not waiting[component]]
    for component in order:
        for successor in successors[offsets[component] : offsets[component + 1]]:
            waiting[successor] -= 1
            if not waiting[successor]:
                order.append(successor)
    number = np.empty(count, np.int32)
    number[order] = np.arange(count, dtype=np.int32)
    return number
