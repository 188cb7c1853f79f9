"""Functions with the names, arguments, results and errors of other libraries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .assignment import lap
from .costs import DenseCosts
from .errors import Infeasible, InvalidInput

FLOAT64 = np.dtype(np.float64)


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """`scipy.optimize.linear_sum_assignment`, by `gmatch.lap`: the same arguments, results and errors.

    Parameters
    ----------
    cost_matrix : array, shape (rows, columns)
        Anything that SciPy takes. +inf forbids a pair (-inf when maximizing).
    maximize : bool
        Find the dearest assignment instead.

    Returns
    -------
    row_ind, col_ind : int64 arrays, shape (min(rows, columns),)
        The pairs, sorted by row. Where several assignments are best, it need not be the one that SciPy finds.

    Raises
    ------
    ValueError
        ``"expected a matrix (2-D array), got a %r array"``, ``"matrix contains invalid numeric entries"``,
        ``"cost matrix is infeasible"``.
    TypeError
        For types that do not convert to float64 safely.

    Notes
    -----
    SciPy converts all costs to float64 and is wrong for differences that get lost beyond 2**53. Here integers are
    exact, and become float64 only where their sums could overflow int64.
    """
    array = _numbers(cost_matrix)
    maximize = bool(maximize)
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
        costs = DenseCosts(array.astype(FLOAT64), maximize=maximize)
    if costs.lowest == costs.highest and not costs.forbids:
        # Of all assignments, which cost the same, SciPy promises this one.
        pairs = np.arange(min(costs.shape))
        return pairs, pairs
    return lap(costs)


def _numbers(cost_matrix: Any) -> npt.NDArray[Any]:
    """An array of real numbers; what is no array is converted to float64 in any way NumPy knows."""
    if isinstance(cost_matrix, np.ndarray):
        if not np.can_cast(cost_matrix.dtype, FLOAT64, "safe"):
            raise TypeError(
                f"Cannot cast array data from {cost_matrix.dtype!r} to {FLOAT64!r} according to the rule 'safe'"
            )
        return np.asarray(cost_matrix)
    array = np.asarray(cost_matrix)
    real = array.dtype.kind in "biuf" and np.can_cast(array.dtype, FLOAT64, "safe")
    return array if real else np.asarray(cost_matrix, FLOAT64)
