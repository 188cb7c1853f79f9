"""Functions with the names, arguments, results and errors of other libraries.

A maximum weight matching, as ``networkx.max_weight_matching`` finds it, is `gmatch.max_weight_matching`: it takes
bipartite networkx graphs, and matrices. ``networkx.bipartite.minimum_weight_full_matching`` is `gmatch.lap` of
`gmatch.SparseCosts.from_networkx`, and ``hopcroft_karp_matching`` is `gmatch.max_matching` of
`gmatch.BipartiteGraph.from_networkx`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .assignment.lap import lap
from .errors import Infeasible, InvalidInput
from .problems.dense import DenseCosts
from .result import Status
from .small import pairs_small

FLOAT64 = np.dtype(np.float64)


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """`scipy.optimize.linear_sum_assignment`, by `gmatch.lap`: the same arguments, results and errors.

    Parameters
    ----------
    cost_matrix : array, shape (rows, columns)
        Anything that SciPy takes. +inf forbids a pair (-inf when maximizing).
    maximize : bool
        Find the assignment of the largest sum instead.

    Returns
    -------
    row_ind, col_ind : int64 arrays, shape (min(rows, columns),)
        The pairs, sorted by row. If several assignments are best, it may be another one than SciPy's, which is
        ``gmatch.lap(cost_matrix, ties="scipy")``.

    Raises
    ------
    ValueError
        ``"expected a matrix (2-D array), got a %r array"``, ``"matrix contains invalid numeric entries"``,
        ``"cost matrix is infeasible"``.
    TypeError
        For types that do not convert to float64 safely.
    InvalidInput
        A ValueError, where SciPy answers. It is raised if sums of large floats could overflow, as `DenseCosts` says.

    Notes
    -----
    SciPy converts all costs to float64, which loses differences of integers beyond 2**53. Here integers are exact. They
    become float64 only if sums of their differences could overflow int64.

    Examples
    --------
    >>> row_ind, col_ind = gmatch.compat.linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> col_ind.tolist()
    [1, 0, 2]
    """
    maximize = bool(maximize)
    array = cost_matrix if type(cost_matrix) is np.ndarray else _numbers(cost_matrix)
    quick = pairs_small(array, maximize)
    if quick is not None:
        return quick
    array = _numbers(array)
    if array.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {array.ndim} array")
    try:
        row_ind, col_ind = _solve(array, maximize)
    except Infeasible:
        raise ValueError("cost matrix is infeasible") from None
    except InvalidInput:
        if np.isnan(array).any() or (array == (math.inf if maximize else -math.inf)).any():
            raise ValueError("matrix contains invalid numeric entries") from None
        raise
    return row_ind.astype(np.int64, copy=False), col_ind.astype(np.int64)


def _solve(array: npt.NDArray[Any], maximize: bool) -> Any:
    try:
        costs = DenseCosts(array, maximize=maximize)
    except InvalidInput:
        if array.dtype.kind not in "iu":
            raise
        costs = _costs_of_large_integers(array, maximize)
    if costs.lowest == costs.highest and not costs.forbids:
        # All assignments cost the same. SciPy promises this one.
        pairs = np.arange(min(costs.shape))
        return pairs, pairs
    return lap(costs)


def _costs_of_large_integers(array: npt.NDArray[Any], maximize: bool) -> DenseCosts:
    """Costs with the same best assignments: all less one number, as integers, or in float64 if no such sums fit."""
    lowest, highest = int(array.min()), int(array.max())
    is_narrow = highest - lowest < 2**63
    if is_narrow or array.dtype.kind == "u":
        # Differences of 64 bits are exact modulo 2**64, and these lie within the range of int64.
        less = (array.astype(np.uint64) - np.uint64(lowest % 2**64 if is_narrow else 2**63)).view(np.int64)
        try:
            return DenseCosts(less, maximize=maximize)
        except InvalidInput:
            array = less if is_narrow else array
    return DenseCosts(array.astype(FLOAT64), maximize=maximize)


def _numbers(cost_matrix: Any) -> npt.NDArray[Any]:
    """An array of real numbers. Other objects are converted to float64 by NumPy."""
    if isinstance(cost_matrix, np.ndarray):
        if not np.can_cast(cost_matrix.dtype, FLOAT64, "safe"):
            raise TypeError(
                f"Cannot cast array data from {cost_matrix.dtype!r} to {FLOAT64!r} according to the rule 'safe'"
            )
        return np.asarray(cost_matrix)
    array = np.asarray(cost_matrix)
    real = array.dtype.kind in "biuf" and np.can_cast(array.dtype, FLOAT64, "safe")
    return array if real else np.asarray(cost_matrix, FLOAT64)


def lapjv(
    cost: Any, extend_cost: bool = False, cost_limit: float = math.inf, return_cost: bool = True
) -> tuple[float, npt.NDArray[np.int32], npt.NDArray[np.int32]] | tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """``lap.lapjv``, as trackers call it, by `gmatch.lap`: with the arguments and the results of lap and lapx.

    Parameters
    ----------
    cost : array, shape (rows, columns)
        Real numbers. +inf forbids a pair.
    extend_cost : bool
        Whether the matrix may be rectangular. Not needed with a finite `cost_limit`, as in lapx.
    cost_limit : float
        Each free row and each free column costs half the limit. So pairs that cost more than the limit are never
        matched.
    return_cost : bool
        Whether to return the cost, too.

    Returns
    -------
    opt : float
        The sum of the costs of the pairs. It is inf if forbidden pairs leave no assignment; x and y then use some
        forbidden pairs. Not with ``return_cost=False``.
    x : int32 array, shape (rows,)
        The column of each row, -1 if it is free.
    y : int32 array, shape (columns,)
        The row of each column, -1 if it is free.

    Raises
    ------
    ValueError
        ``"2-dimensional array expected"``, ``"Square cost array expected. ..."``.
    InvalidInput
        A ValueError, where lap answers: for NaN and -inf among the costs, for a limit that is NaN or -inf, and for
        costs that are no real numbers.

    Notes
    -----
    It takes the time and memory of `gmatch.lap`. lap converts all costs to float64, and makes a matrix of
    (rows + columns)**2 entries for a limit. Here integers are exact, and no matrix is made. If several assignments are
    best, this function may return another one than lap.

    Examples
    --------
    >>> opt, x, y = gmatch.compat.lapjv([[0.1, 0.9, 0.8], [0.7, 0.2, 0.9]], extend_cost=True, cost_limit=0.15)
    >>> opt, x.tolist(), y.tolist()
    (0.1, [0, -1], [0, -1, -1])
    """
    if type(cost) is not np.ndarray:
        cost = np.asarray(cost)
    if cost.ndim != 2:
        raise ValueError("2-dimensional array expected")
    limited = cost_limit != math.inf
    if cost.shape[0] != cost.shape[1] and not extend_cost and not limited:
        raise ValueError(
            "Square cost array expected. If cost is intentionally non-square, pass extend_cost=True or set a finite "
            "cost_limit."
        )
    found = lap(cost, cost_limit=cost_limit) if limited else lap(cost, infeasible="partial")
    x, y, opt = found.row_match, found.col_match, found.cost
    if found.status is Status.PARTIAL:
        x, y, opt = *_completed(x, y), math.inf
    return (float(opt), x, y) if return_cost else (x, y)


def _completed(x: Any, y: Any) -> tuple[Any, Any]:
    """Mates that also pair free rows with free columns, in order, until no row or no column is free."""
    x, y = x.copy(), y.copy()
    pairs = list(zip((x < 0).nonzero()[0], (y < 0).nonzero()[0], strict=False))
    for row, column in pairs:
        x[row], y[column] = column, row
    return x, y


def min_weight_full_bipartite_matching(
    biadjacency: Any, maximize: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """`scipy.sparse.csgraph.min_weight_full_bipartite_matching`, by `gmatch.lap`: the same results and errors.

    Parameters
    ----------
    biadjacency : sparse array or matrix in CSR, CSC or COO format
        Stored entries are edges, but zeros are removed with a warning, and +inf (-inf when maximizing) without one.
    maximize : bool
        Find the full matching of the largest weight instead. For the largest weight of all matchings, of any number
        of pairs, see `gmatch.max_weight_matching`.

    Returns
    -------
    row_ind, col_ind : arrays, shape (min(rows, columns),)
        The pairs, sorted by row. If several matchings are best, it may be another one than SciPy's.

    Raises
    ------
    TypeError
        ``"graph must be sparse"``, ``"graph must be in CSC, CSR, or COO format."``
    ValueError
        ``"no full matching exists"``
    InvalidInput
        A ValueError, where SciPy answers. It is raised if sums of large floats could overflow, as `SparseCosts` says.

    Notes
    -----
    SciPy converts all weights to float64. Here integers are exact. They become float64 only if their sums could
    overflow int64. Duplicate entries stand for their sum. SciPy takes duplicates in CSR and CSC as edges of their own,
    and does not always take the best. NaN, and the infinity that would be the best weight, are no edges here. SciPy's
    answer for them depends on their places.

    Examples
    --------
    >>> import scipy.sparse
    >>> row_ind, col_ind = gmatch.compat.min_weight_full_bipartite_matching(scipy.sparse.csr_array([[4, 1], [2, 0]]))
    >>> col_ind.tolist()
    [1, 0]
    """
    if hasattr(biadjacency, "to_scipy_sparse"):  # of the package "sparse"
        biadjacency = biadjacency.to_scipy_sparse()
    if not scipy.sparse.issparse(biadjacency):
        raise TypeError("graph must be sparse")
    edges, maximize = _edges_of(biadjacency), bool(maximize)
    try:
        row_ind, col_ind = _full_matching(edges, maximize)
    except Infeasible:
        raise ValueError("no full matching exists") from None
    # The indices of the side with fewer vertices are int64, the indices of the other side as in the matrix.
    rows_first = edges.shape[0] <= edges.shape[1]
    row_type, column_type = (np.int64, np.int32) if rows_first else (np.int32, np.int64)
    return row_ind.astype(row_type), col_ind.astype(column_type)


def _full_matching(edges: Any, maximize: bool) -> Any:
    try:
        return lap(edges, maximize=maximize)
    except InvalidInput:
        if edges.dtype.kind not in "iu":
            raise
        return lap(edges.astype(FLOAT64), maximize=maximize)


def _edges_of(biadjacency: Any) -> Any:
    """The weights without zeros, NaN and infinities, as a sparse matrix."""
    if biadjacency.format not in ("csr", "csc", "coo"):
        raise TypeError("graph must be in CSC, CSR, or COO format.")
    if biadjacency.dtype.kind not in "biu":
        biadjacency = biadjacency.astype(FLOAT64, copy=False)
    if biadjacency.ndim != 2:
        raise ValueError("need more than 1 value to unpack")  # as Cython puts it
    if biadjacency.format == "coo":
        biadjacency = biadjacency.tocsr()
    data = biadjacency.data
    if not np.all(data):
        warnings.warn("explicit zero weights are removed before matching", stacklevel=3)
    edges = (data != 0) & np.isfinite(data)
    if not edges.all():
        biadjacency = biadjacency.copy()
        biadjacency.data = np.where(edges, data, 0)
        biadjacency.eliminate_zeros()
    return biadjacency
