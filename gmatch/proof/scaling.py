"""The proof of a scaling: of the problem that its job is, and of the sizes of scaled entries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..arrays import as_matrix_of_scipy, magnitudes_of
from ..errors import CertificateError
from ..result import Assignment, Matching
from ..toolkit_result import Bottleneck, Scaling, ScalingCertificate
from .bottleneck import verify_bottleneck
from .matching import arrays_of, check_mates, vector_of, verify_matching
from .sparse import verify_sparse_assignment

# The error that logarithms of scaled entries may have, for each row and column and each unit of the largest logarithm:
# 64 roundings of each dual, as `gmatch.verify` allows for assignments of floats.
ROUNDINGS = 64 * float(np.finfo(np.float64).eps)

# The relative difference of two libraries' logarithms of one number: CUDA's is exact to 1 unit of the last digit,
# hosts' to 1 or 2.
LOGARITHM = 4 * float(np.finfo(np.float64).eps)

_KINDS: dict[str, type[Matching] | type[Assignment] | type[Bottleneck]] = {
    "product": Assignment,
    "sum": Assignment,
    "bottleneck": Bottleneck,
    "cardinality": Matching,
}


class _Entries(NamedTuple):
    """The entries of a matrix that are not 0, on the host, in the order of its rows."""

    rows: Any
    columns: Any
    magnitudes: Any
    shape: tuple[int, int]


def verify_scaling(matrix: Any, scaling: Scaling) -> ScalingCertificate:
    """As `gmatch.verify`; O(rows + columns + entries) time and memory, on the host."""
    entries = _entries(matrix)
    shape = entries.shape
    row_match, col_match, row_log, col_log = arrays_of(np, scaling, "row_match", "col_match", "row_log", "col_log")
    check_mates(row_match, col_match, shape)
    for name, logs, length in (("row_log", row_log, shape[0]), ("col_log", col_log, shape[1])):
        if logs.shape != (length,) or logs.dtype != np.float64 or not bool(np.isfinite(logs).all()):
            raise CertificateError(f"{name} must hold {length} finite float64; got {logs.dtype} of shape {logs.shape}")
    if not isinstance(scaling.job, str) or scaling.job not in _KINDS:
        raise CertificateError(f"job must be one of {', '.join(map(repr, _KINDS))}; got {scaling.job!r}")
    if not isinstance(scaling.proof, _KINDS[scaling.job]) or not _has_pairs(scaling.proof, row_match):
        raise CertificateError(f"the proof must be of the job {scaling.job!r} and have the pairs of the scaling")
    certificate = _check_job(entries, row_match, scaling)
    excess = 0.0
    if scaling.job == "product":
        excess = _check_scaled(entries, row_match, row_log, col_log)
    elif bool(row_log.any()) or bool(col_log.any()):
        raise CertificateError(f"the job {scaling.job!r} has no scalings: row_log and col_log must be 0")
    if scaling.pivots is not None:
        _check_symmetric(scaling, row_match, row_log, col_log)
    return ScalingCertificate(int((row_match >= 0).sum()), excess, certificate)


def _has_pairs(proof: Any, row_match: Any) -> bool:
    (mates,) = arrays_of(np, proof, "row_match")
    return mates.shape == row_match.shape and bool((mates == row_match).all())


def _entries(matrix: Any) -> _Entries:
    given = as_matrix_of_scipy(matrix)
    entries = given.astype(np.complex128 if given.dtype.kind == "c" else np.float64).tocoo()
    entries = scipy.sparse.coo_array(entries).tocsr().tocoo()  # duplicates are added
    values = magnitudes_of(entries.data)
    kept = values != 0
    return _Entries(entries.coords[0][kept], entries.coords[1][kept], values[kept], entries.shape)


def _check_job(entries: _Entries, row_match: Any, scaling: Scaling) -> Any:
    """The certificate of the problem that the job solves."""
    values = _costs_of(entries.magnitudes) if scaling.job == "product" else entries.magnitudes
    problem = scipy.sparse.coo_array((values, (entries.rows, entries.columns)), shape=entries.shape).tocsr()
    proof = scaling.proof
    if isinstance(proof, Matching):
        return verify_matching(problem, proof)
    if isinstance(proof, Bottleneck):
        return verify_bottleneck(problem, proof, False)
    others = proof.cost_limit, proof.pair_price, proof.bound
    if proof.maximize != (scaling.job == "sum") or any(other is not None for other in others):
        raise CertificateError(
            f"the proof must be a cheapest or most expensive assignment as the job {scaling.job!r} has it"
        )
    if scaling.job == "product":
        proof = _with_costs_of_here(proof, values[row_match[entries.rows] == entries.columns])
    return verify_sparse_assignment(problem, proof, False)


def _costs_of(magnitudes: Any) -> Any:
    """The logarithms of the largest magnitude over each magnitude."""
    largest = magnitudes.max(initial=math.ulp(0.0))
    with np.errstate(over="ignore"):
        times = largest / magnitudes
    is_held = times < np.inf
    costs = np.log(times, where=is_held, out=np.zeros_like(times))
    costs[~is_held] = np.log(largest) - np.log(magnitudes[~is_held])
    return costs


def _with_costs_of_here(proof: Assignment, pair_costs: Any) -> Assignment:
    """The assignment with the costs of its pairs as computed on this device, if they differ by roundings.

    Logarithms of a GPU and of a host differ by a few roundings. Duals in parts hold for the device that made them only.
    """
    (claimed,) = arrays_of(np, proof, "pair_costs")
    same = claimed.shape == pair_costs.shape and claimed.dtype == pair_costs.dtype
    if not same or not bool((abs(claimed - pair_costs) <= LOGARITHM * pair_costs).all()):
        raise CertificateError("pair_costs must hold the logarithms of the matched entries, row by row; it does not")
    return proof if bool((claimed == pair_costs).all()) else replace(proof, pair_costs=pair_costs, exact=None)


def _check_scaled(entries: _Entries, row_match: Any, row_log: Any, col_log: Any) -> float:
    """How far at most the logarithms of scaled entries are above 0, and the logarithms of the diagonal from 0."""
    logs = np.log(entries.magnitudes)
    scaled = row_log[entries.rows] + logs + col_log[entries.columns]
    diagonal = scaled[row_match[entries.rows] == entries.columns]
    excess = max(float(scaled.max(initial=0)), float(-diagonal.min(initial=0)))
    largest = max(float(abs(array).max(initial=1)) for array in (row_log, col_log, logs))
    if not excess <= ROUNDINGS * (len(row_log) + len(col_log)) * largest:
        raise CertificateError(
            f"scaled entries must be at most 1, and diagonal entries 1; a logarithm is off by {excess}"
        )
    return excess


def _check_symmetric(scaling: Scaling, row_match: Any, row_log: Any, col_log: Any) -> None:
    """Checks that rows and columns are scaled alike, and that pivots of one or two rows hold each row once."""
    pivots = scaling.pivots
    if row_log.shape != col_log.shape or bool((row_log != col_log).any()):
        raise CertificateError("a symmetric scaling must scale rows and columns alike")
    if not isinstance(pivots, tuple):
        raise CertificateError(f"pivots must be a tuple of arrays; got {type(pivots).__name__}")
    if any(vector_of(np, "a pivot", pivot).dtype.kind != "i" or len(pivot) not in (1, 2) for pivot in pivots):
        raise CertificateError("pivots must hold one or two rows each")
    numbers = np.sort(np.concatenate([*pivots, np.zeros(0, np.int64)]))
    if numbers.shape != row_match.shape or bool((numbers != np.arange(len(row_match))).any()):
        raise CertificateError("pivots must hold each row once")
    for pivot in pivots:
        if len(pivot) == 2 and row_match[pivot[0]] != pivot[1]:
            raise CertificateError(f"the pivot of rows {pivot[0]} and {pivot[1]} must be a pair of the permutation")
