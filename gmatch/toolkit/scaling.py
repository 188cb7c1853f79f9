"""`scale`: a permutation to a large diagonal, and scalings to entries of at most 1, as HSL's MC64 has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import (
    as_matrix_of_scipy,
    beside,
    entries_on_gpu,
    lower_at,
    magnitudes_of,
    mover_to,
    namespace,
    row_of_each_entry,
    to_host,
    truth_of,
)
from ..assignment.lap import lap
from ..backends import backend_for
from ..cardinality.matching import max_matching
from ..errors import InvalidInput
from ..foreign import CompressedRows
from ..problems.graph import BipartiteGraph, damage_refused, to_csr
from ..problems.sparse import SparseCosts, matrix_of, swapped
from ..proof.verify import verify
from ..result import Assignment
from ..toolkit_result import Scaling
from .bottleneck import bottleneck

JOBS = ("product", "sum", "bottleneck", "cardinality")


def scale(
    matrix: Any, job: str = "product", *, symmetric: bool = False, device: str | None = None, certify: bool = False
) -> Scaling:
    """A permutation that brings large entries to the diagonal, with scalings to match, and their proof.

    Parameters
    ----------
    matrix : sparse matrix or array, shape (rows, columns)
        Real or complex, of SciPy, CuPy or any library that `gmatch.lap` knows. Its magnitudes count, and entries that
        are 0 do not. Duplicates stand for their sum. Never changed.
    job : {"product", "sum", "bottleneck", "cardinality"}
        What is made largest: the product of the magnitudes on the diagonal, with scalings (job 5 of MC64), their sum
        (job 4), the least of them (jobs 2 and 3), or their number (job 1).
    symmetric : bool
        With ``"product"``: rows and columns are scaled alike, which keeps a symmetric or Hermitian matrix one, and the
        permutation is split into pivots of one or two rows (Duff and Pralet 2005). The magnitudes must be symmetric.
    device : {None, "cpu", "gpu"}
        Where the problem of the job is solved. None: where the matrix lives.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Scaling
        ``scaling.apply(matrix)`` is the scaled and permuted matrix. Its arrays live where the matrix lives, pivots on
        the host.

    Raises
    ------
    InvalidInput
        If `matrix` is no such matrix or has entries that are not finite, or if an option is not valid.
    BackendUnavailable
        If the device asked for cannot be used here.
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    If the matrix is structurally singular, there are as many diagonal entries as possible, and the best ones.

    With ``c[i, j] = log(max |a| / |a[i, j]|)`` the largest product is the cheapest assignment. Its duals u and v
    are logarithms of scalings ``exp(u[i])`` and ``exp(v[j]) / max |a|``: no scaled entry is above 1, and diagonal
    entries are 1, up to rounding. (MC64 has the maxima of columns in place of the largest entry, which makes no
    difference where all columns have an entry on the diagonal.) Rows and columns of a structurally singular matrix that
    have no place on the diagonal are scaled so that their largest entry is 1. The work is that of `lap` along the
    entries. For a matrix on a GPU all of it is done there, except pivots and the proof.

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
    backend_for(None, device)  # refuses an unusable device before any work
    with damage_refused(matrix):
        stored = _stored(matrix)
    with beside(stored.data):
        magnitudes = _magnitudes(stored)
        result = _by_product(magnitudes, symmetric, device) if job == "product" else _unscaled(magnitudes, job, device)
    if truth_of("certify", certify):
        verify(matrix, result)
    return result


def _stored(matrix: Any) -> Any:
    """The numbers in CSR, where the matrix lives: a copy without duplicates, of float64 or complex128.

    Duplicates are summed by SciPy, whose order is the one of the proof.
    """
    there = entries_on_gpu(matrix)
    if there is None:
        return _summed_by_scipy(matrix)
    rows, columns, numbers, shape = there
    with beside(numbers):
        made = matrix_of((rows, columns, numbers.astype(_wide(numbers))), shape)
        if made.nnz == len(rows):
            return made
        summed = _summed_by_scipy(matrix)
        to_gpu = mover_to("gpu")
        return CompressedRows(to_gpu(summed.indptr), to_gpu(summed.indices), to_gpu(summed.data), shape)


def _summed_by_scipy(matrix: Any) -> Any:
    made = as_matrix_of_scipy(matrix)
    wide = _wide(made)
    made = scipy.sparse.csr_array(to_csr(made, wide), dtype=wide, copy=True)
    BipartiteGraph((made.indptr, made.indices, made.shape))  # no index is out of range
    made.sum_duplicates()
    return made


def _wide(numbers: Any) -> Any:
    return np.complex128 if numbers.dtype.kind == "c" else np.float64


def _magnitudes(stored: Any) -> CompressedRows:
    """The magnitudes that are not 0."""
    values = magnitudes_of(stored.data)
    if not bool(np.isfinite(values).all()):
        raise InvalidInput("matrix must hold finite numbers only; some are infinite or not a number")
    is_kept = values != 0
    if bool(is_kept.all()):
        return CompressedRows(stored.indptr, stored.indices, values, stored.shape)
    before = np.zeros_like(stored.indptr, shape=len(values) + 1)
    before[1:] = is_kept.cumsum()
    kept = is_kept.nonzero()[0]
    return CompressedRows(before[stored.indptr], stored.indices[kept], values[kept], stored.shape)


def _refuse_asymmetric(magnitudes: CompressedRows) -> None:
    """Raises `InvalidInput` unless rows are the columns. Both have sorted entries."""
    same = magnitudes.shape[0] == magnitudes.shape[1]
    if same:
        arrays = magnitudes.indptr, magnitudes.indices, magnitudes.data
        mirrored = swapped((*arrays, magnitudes.shape))[:3]
        same = all(bool((ours == others).all()) for ours, others in zip(arrays, mirrored, strict=True))
    if not same:
        raise InvalidInput("symmetric=True needs a square matrix whose magnitudes are symmetric")


def _row_of(matrix: CompressedRows) -> Any:
    return row_of_each_entry(matrix.indptr, matrix.nnz)


def _unscaled(magnitudes: CompressedRows, job: str, device: str | None) -> Scaling:
    proof: Any
    if job == "sum":
        proof = lap(magnitudes, maximize=True, infeasible="partial", device=device)
    elif job == "bottleneck":
        proof = bottleneck(magnitudes, maximize=True, infeasible="partial", device=device)
    else:
        proof = max_matching(magnitudes, device=device)
    rows, columns = (np.zeros_like(magnitudes.data, shape=length) for length in magnitudes.shape)
    return Scaling(job, proof.row_match, proof.col_match, rows, columns, proof)


def _by_product(magnitudes: CompressedRows, symmetric: bool, device: str | None) -> Scaling:
    if symmetric:
        _refuse_asymmetric(magnitudes)
    largest = magnitudes.data.max().item() if magnitudes.nnz else 1.0
    costs = SparseCosts(_logarithmic_costs(magnitudes, largest))
    found = lap(costs, infeasible="partial", device=device)
    u, v = found.u, found.v
    if found.cover is not None and found.size:
        u, v = _duals_of_all(costs, found, device)
    row_log, col_log = u, v - math.log(largest)
    pivots = None
    if symmetric:
        row_log = col_log = (row_log + col_log) / 2
        pivots = _pivots(_diagonal(magnitudes) + 2 * to_host(row_log), to_host(found.row_match))
    return Scaling("product", found.row_match, found.col_match, row_log, col_log, found, pivots)


def _logarithmic_costs(magnitudes: CompressedRows, largest: float) -> CompressedRows:
    """What entries cost so that the cheapest assignment has the largest product: the largest costs 0.

    The logarithm of a quotient keeps the digits by which near magnitudes differ. The difference of two logarithms loses
    them, so it is taken only for quotients that float64 does not hold.
    """
    with np.errstate(over="ignore"):
        quotients = largest / magnitudes.data
    far = math.log(largest) - np.log(magnitudes.data)
    data = namespace(far).where(np.isfinite(quotients), np.log(quotients), far)
    return CompressedRows(magnitudes.indptr, magnitudes.indices, data, magnitudes.shape)


def _duals_of_all(costs: SparseCosts, found: Assignment, device: str | None) -> tuple[Any, Any]:
    """Duals of all rows and columns that no entry costs less than, from the duals of the part that is matched.

    No entry joins a free row with a free column, or there would be one more pair.
    """
    sides = found.row_ind, found.col_ind
    part = lap(costs.part(*(sides[::-1] if costs.transposed else sides)), device=device)
    u, v = (np.full_like(found.u, math.inf, shape=length) for length in costs.shape)
    u[sides[0]], v[sides[1]] = (part.v, part.u) if costs.transposed else (part.u, part.v)
    row_of, column_of, entries = costs.triples()
    for known, unknown, ours, others in ((v, u, row_of, column_of), (u, v, column_of, row_of)):
        free = np.isinf(unknown)
        seen = (free[ours] & np.isfinite(known[others])).nonzero()[0]
        lower_at(unknown, ours[seen], entries[seen] - known[others[seen]])
        unknown[(free & np.isinf(unknown)).nonzero()[0]] = 0  # no entries at all
    return u, v


def _diagonal(magnitudes: CompressedRows) -> Any:
    """The logarithms of the entries on the diagonal, on the host, and minus infinity where there is none."""
    places = (_row_of(magnitudes) == magnitudes.indices).nonzero()[0]
    logs = np.full(magnitudes.shape[0], -math.inf)
    logs[to_host(magnitudes.indices[places])] = np.log(to_host(magnitudes.data[places]))
    return logs


def _pivots(diagonal: Any, row_match: Any) -> tuple[Any, ...]:
    """The cycles of the permutation, split into pairs.

    The row of the largest diagonal entry is alone in an odd cycle. A free row is alone, too.
    """
    seen = np.zeros(len(row_match), np.bool_)
    has_predecessor = np.zeros(len(row_match), np.bool_)
    has_predecessor[row_match[row_match >= 0]] = True
    pivots = []
    # Paths of a singular matrix begin at rows that no row is matched with. All other rows lie on cycles.
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
