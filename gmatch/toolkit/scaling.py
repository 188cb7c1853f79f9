"""`scale`: a permutation to a large diagonal, and scalings to entries of at most 1, as HSL's MC64 has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import as_matrix_of_scipy, truth_of
from ..assignment.lap import lap
from ..cardinality.matching import max_matching
from ..errors import InvalidInput
from ..proof.verify import verify
from ..result import Assignment
from ..toolkit_result import Scaling
from .bottleneck import bottleneck

JOBS = ("product", "sum", "bottleneck", "cardinality")


def scale(matrix: Any, job: str = "product", *, symmetric: bool = False, certify: bool = False) -> Scaling:
    """A permutation that brings large entries to the diagonal, with scalings to match, and their proof.

    Parameters
    ----------
    matrix : sparse matrix or array, shape (rows, columns)
        Real or complex; its magnitudes count, and entries that are 0 do not. Duplicates stand for their sum. Never
        changed.
    job : {"product", "sum", "bottleneck", "cardinality"}
        What is made largest on the diagonal: the product of magnitudes, with scalings (job 5 of MC64), their sum (4),
        the least of them (2 and 3), or how many there are (1).
    symmetric : bool
        With ``"product"``: rows and columns are scaled alike, which keeps a symmetric or Hermitian matrix one, and the
        permutation is split into pivots of one or two rows (Duff and Pralet 2005). The magnitudes must be symmetric.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Scaling
        ``scaling.apply(matrix)`` is the scaled and permuted matrix.

    Raises
    ------
    InvalidInput
        If it is no such matrix, or has entries that are not finite.
    Infeasible
        For ``"bottleneck"`` if the matrix is structurally singular; with a Hall witness. All other jobs make as many
        diagonal entries as can be then, the best ones.
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    With ``c[i, j] = log(max |a|) - log |a[i, j]|`` the largest product is the cheapest assignment. Its duals u and v
    are logarithms of scalings ``exp(u[i])`` and ``exp(v[j]) / max |a|``: no scaled entry is above 1, and diagonal
    entries are 1, up to rounding. (MC64 has the maxima of columns in place of the largest entry, which makes no
    difference where all columns have an entry on the diagonal.) Rows and columns of a structurally singular matrix that
    have no place on the diagonal are scaled so that their largest entry is 1. The work is that of `lap` along the
    entries; on the host.

    References
    ----------
    I. S. Duff, J. Koster: On algorithms for permuting large entries to the diagonal of a sparse matrix. SIAM J. Matrix
    Anal. Appl. 22 (2001). I. S. Duff, S. Pralet: Strategies for scaling and pivoting for sparse symmetric indefinite
    problems. SIAM J. Matrix Anal. Appl. 27 (2005).

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[0, 1e6, 1], [1e-3, 0, 0], [2, 0, 4e3]])
    >>> scaling = gmatch.scale(matrix)
    >>> abs(scaling.apply(matrix).diagonal()).round(12).tolist()
    [1.0, 1.0, 1.0]
    >>> scaling.row_order.tolist()
    [1, 0, 2]
    """
    if not isinstance(job, str) or job not in JOBS:
        raise InvalidInput(f"job must be one of {', '.join(map(repr, JOBS))}; got {job!r}")
    symmetric = truth_of("symmetric", symmetric)
    if symmetric and job != "product":
        raise InvalidInput(f"symmetric=True is for job='product'; got {job!r}")
    given = matrix
    magnitudes = magnitudes_of(matrix)
    if symmetric and (magnitudes.shape[0] != magnitudes.shape[1] or (magnitudes != magnitudes.T).nnz):
        raise InvalidInput("symmetric=True needs a square matrix whose magnitudes are symmetric")
    result = _by_product(magnitudes, symmetric) if job == "product" else _unscaled(magnitudes, job)
    if truth_of("certify", certify):
        verify(given, result)
    return result


def magnitudes_of(matrix: Any) -> Any:
    """The magnitudes that are not 0, as a float64 CSR matrix of SciPy."""
    made = scipy.sparse.csr_array(as_matrix_of_scipy(matrix))
    if made.has_canonical_format is False:
        made = made.copy()
        made.sum_duplicates()
    values: Any = abs(made.data.astype(np.complex128 if made.dtype.kind == "c" else np.float64))
    if not np.isfinite(values).all():
        raise InvalidInput("matrix must hold finite numbers only; some are infinite or not a number")
    magnitudes = scipy.sparse.csr_array((values, made.indices, made.indptr), shape=made.shape, copy=True)
    magnitudes.eliminate_zeros()
    return magnitudes


def logarithmic_costs(magnitudes: Any) -> tuple[Any, float]:
    """What entries cost so that the cheapest assignment has the largest product, and the largest logarithm."""
    logs = np.log(magnitudes.data)
    largest = float(logs.max(initial=-math.inf)) if len(logs) else 0.0
    return scipy.sparse.csr_array((largest - logs, magnitudes.indices, magnitudes.indptr), magnitudes.shape), largest


def _unscaled(magnitudes: Any, job: str) -> Scaling:
    proof: Any
    if job == "sum":
        proof = lap(magnitudes, maximize=True, infeasible="partial")
    elif job == "bottleneck":
        proof = bottleneck(magnitudes, maximize=True)
    else:
        proof = max_matching(magnitudes)
    rows, columns = (np.zeros(length) for length in magnitudes.shape)
    return Scaling(job, proof.row_match, proof.col_match, rows, columns, proof)


def _by_product(magnitudes: Any, symmetric: bool) -> Scaling:
    costs, largest = logarithmic_costs(magnitudes)
    found = lap(costs, infeasible="partial")
    u, v = (found.u, found.v) if found.cover is None else _duals_of_all(costs, found)
    row_log, col_log = u, v - largest
    pivots = None
    if symmetric:
        row_log = col_log = (row_log + col_log) / 2
        pivots = _pivots(magnitudes, row_log, found.row_match)
    return Scaling("product", found.row_match, found.col_match, row_log, col_log, found, pivots)


def _duals_of_all(costs: Any, found: Assignment) -> tuple[Any, Any]:
    """Duals of all rows and columns, so that no entry costs less, from those of the part that is matched.

    No entry joins a free row with a free column, or there would be one more pair.
    """
    rows, columns = found.row_ind, found.col_ind.astype(np.int64)
    part = lap(costs[rows][:, columns])
    u, v = np.full(costs.shape[0], math.inf), np.full(costs.shape[1], math.inf)
    u[rows], v[columns] = part.u, part.v
    entries = costs.tocoo()
    row_of, column_of = entries.coords
    for known, unknown, ours, others in ((v, u, row_of, column_of), (u, v, column_of, row_of)):
        free = np.isinf(unknown)
        seen = free[ours] & np.isfinite(known[others])
        np.minimum.at(unknown, ours[seen], entries.data[seen] - known[others[seen]])
        unknown[free & np.isinf(unknown)] = 0  # no entries at all
    return u, v


def _pivots(magnitudes: Any, logs: Any, row_match: Any) -> tuple[Any, ...]:
    """The cycles of the permutation in pairs; of an odd cycle the row of largest diagonal is alone. Free rows, too."""
    with np.errstate(divide="ignore"):  # of what is not there
        diagonal = np.log(magnitudes.diagonal()) + 2 * logs
    seen = np.zeros(len(row_match), np.bool_)
    has_predecessor = np.zeros(len(row_match), np.bool_)
    has_predecessor[row_match[row_match >= 0]] = True
    pivots = []
    # Paths of a singular matrix begin at rows that no row is matched with; what is left are cycles.
    for start in [*(~has_predecessor).nonzero()[0].tolist(), *has_predecessor.nonzero()[0].tolist()]:
        chain = []
        row = start
        while row >= 0 and not seen[row]:
            seen[row] = True
            chain.append(row)
            row = int(row_match[row])
        if len(chain) % 2 and row >= 0:
            alone = int(diagonal[chain].argmax())
            chain = chain[alone:] + chain[:alone]
            pivots.append(np.array(chain[:1]))
            chain = chain[1:]
        pivots.extend(np.array(chain[place : place + 2]) for place in range(0, len(chain), 2))
    return tuple(pivots)
