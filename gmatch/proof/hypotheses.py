"""The proof of hypotheses of several parents: the list of each parent, and that all are merged in order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import CertificateError, InvalidInput
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..toolkit_result import Hypotheses, KBest, KBestCertificate
from .matching import arrays_of
from .ranked import verify_k_best


def verify_hypotheses(costs: Any, result: Hypotheses) -> KBestCertificate:
    """As `gmatch.verify`: the proof of each list, and O(hypotheses) more."""
    if not isinstance(costs, Iterable):
        raise InvalidInput(f"expected a sequence with the costs of each parent; got {type(costs).__name__}")
    parents = list(costs)
    _check_types(result)
    if not len(parents) == len(result.lists) == len(result.prior) == len(result.miss):
        raise InvalidInput(
            f"expected the costs of {len(result.lists)} parents, with a prior and misses each; got {len(parents)}"
        )
    certificates = []
    for parent, (cost, miss, of_parent) in enumerate(zip(parents, result.miss, result.lists, strict=True)):
        try:
            certificates.append(verify_k_best(_with_misses(cost, miss, result), of_parent))
        except CertificateError as error:
            raise CertificateError(f"parent {parent}: {error}") from error
    tolerance = max(one.tolerance for one in certificates)
    _check_order(result, tolerance)
    return KBestCertificate(len(result), result.complete, tolerance)


def _check_types(result: Hypotheses) -> None:
    """Raises unless lists, priors and misses are what `best_hypotheses` makes."""
    kinds = ("lists", KBest), ("prior", int | float), ("miss", np.ndarray)
    for name, kind in kinds:
        given = getattr(result, name)
        if not isinstance(given, tuple) or not all(isinstance(one, kind) for one in given):
            raise CertificateError(f"{name} must be a tuple with one for each parent; got {given!r}")
    for parent, miss in enumerate(result.miss):
        if miss.ndim != 1 or miss.dtype not in (np.int64, np.float64):
            raise CertificateError(f"miss of parent {parent} must be int64 or float64; got {miss.dtype}")


def _with_misses(cost: Any, miss: Any, result: Hypotheses) -> SparseCosts:
    """The costs with one more column for each row. The row stays free if it takes that column."""
    if not isinstance(cost, DenseCosts | SparseCosts):
        cost = costs_of(cost, result.maximize, None, result.forbid_nan)
    costs = cost.widened().on("cpu")
    if costs.maximize != result.maximize or costs.cost_limit is not None:
        raise CertificateError(f"the hypotheses are for maximize={result.maximize} and no limit; the costs are not")
    sign = -1 if result.maximize else 1
    if isinstance(costs, SparseCosts):
        rows, columns, values = costs.triples()
    else:
        rows, columns = costs.is_allowed(costs.matrix).nonzero()
        values = sign * costs.matrix[rows, columns].astype(costs.dual_type)
    kept, may_miss = (np.isfinite(numbers).nonzero()[0] for numbers in (values, miss))
    height, width = costs.shape
    if len(miss) != height:
        raise CertificateError(f"expected a miss for each of {height} rows; got {len(miss)}")
    whole = values.dtype.kind == "i" and (miss.dtype.kind == "i" or not len(may_miss))
    entries = np.concatenate([sign * values[kept], miss[may_miss]]).astype(np.int64 if whole else np.float64)
    places = np.concatenate([rows[kept], may_miss]), np.concatenate([columns[kept], width + may_miss])
    matrix = scipy.sparse.coo_array((entries, places), shape=(height, width + height))
    return SparseCosts(matrix, maximize=result.maximize)


def _check_order(result: Hypotheses, tolerance: int | float) -> None:
    """Checks that hypotheses differ, are in order and cost what they must, and that no better one is left out."""
    sign = -1 if result.maximize else 1
    parents, ranks, claimed = (array.tolist() for array in arrays_of(np, result, "parents", "ranks", "costs"))
    if not parents or not len(parents) == len(ranks) == len(claimed):
        raise CertificateError("parents, ranks and costs must have one entry for each hypothesis, and one at least")
    prices = [
        [sign * (cost + prior) for cost in one.costs.tolist()]
        for one, prior in zip(result.lists, result.prior, strict=True)
    ]
    names = list(zip(parents, ranks, strict=True))
    for parent, rank in names:
        if not 0 <= parent < len(prices) or not 0 <= rank < len(prices[parent]):
            raise CertificateError(f"there is no assignment {rank} of parent {parent} in the lists")
    if len(set(names)) < len(names):
        raise CertificateError("the hypotheses must differ; two are the same")
    expected = [prices[parent][rank] for parent, rank in names]
    if expected != [sign * cost for cost in claimed]:
        raise CertificateError("a hypothesis must cost what its assignment and the prior of its parent cost")
    if any(later < price for price, later in pairwise(expected)):
        raise CertificateError("hypotheses must be in order, the best first; they are not")
    used = set(names)
    for parent, one in enumerate(result.lists):
        others = [price for rank, price in enumerate(prices[parent]) if (parent, rank) not in used]
        if not one.complete:
            others.append(prices[parent][-1] + tolerance)  # children after the end of the list
        if others and (result.complete or min(others) < expected[-1]):
            raise CertificateError(f"a hypothesis of parent {parent} is left out that may be better than the last one")
