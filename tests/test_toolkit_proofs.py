"""Proofs of the toolkit: forged certificates of other kinds of results, and fields and problems of wrong types."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import gmatch

COST = [[4, 1, 3], [2, 6, 5]]
MATRIX = np.array([[4.0, 1, 3], [1, 6, 5], [3, 5, 2]])
RESULTS: dict[str, tuple[Any, Any]] = {
    "transport": ((COST, [3, 2], [2, 2, 1]), gmatch.transport(COST, [3, 2], [2, 2, 1])),
    "k_best": (COST, gmatch.k_best(COST, 3)),
    "hypotheses": ([COST], gmatch.best_hypotheses([COST], 3, miss=2)),
    "bottleneck": (COST, gmatch.bottleneck(COST, then="sum")),
    "pairs": (COST, gmatch.max_weight_matching(COST, pairs=1)),
    "scale": (MATRIX, gmatch.scale(MATRIX, symmetric=True)),
}
# Fields that no proof reads: how the answer was found, and names of nodes. Without pairs an assignment may be left out.
UNREAD = {
    "stats",
    "row_nodes",
    "col_nodes",
    "forbid_nan",
    "complete",
    "maximize",
    "cost",
    "shape",
    "threshold",
    "status",
}
ODD: list[Any] = [
    5, "x", [1], {}, True, np.nan, np.zeros(0), np.array(["a"]), np.array([1.5]), np.array([None]), np.array([2**62]),
]  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_fields_of_wrong_types(name: str) -> None:
    problem, right = RESULTS[name]
    gmatch.verify(problem, right)
    for field in dataclasses.fields(right):
        for value in ODD if field.name not in UNREAD else ():
            wrong = dataclasses.replace(right, **{field.name: value})
            with pytest.raises((gmatch.CertificateError, gmatch.InvalidInput)):
                gmatch.verify(problem, wrong)
                pytest.fail(f"{field.name} = {value!r} passed")


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.filterwarnings("error")
def test_problems_of_wrong_types(name: str) -> None:
    _, right = RESULTS[name]
    others = [
        None, 5, "x", {}, lambda: 1, np.zeros((4, 4)), (COST, [3, 2]), (COST, [3, 2], [2, 2, 1.5]),
        (COST, [3, 2, 1], [2, 2, 1]), (COST, [[3, 2]], [2, 2, 1]), (COST, None, [2, 2, 1]), (COST, [3, 2], "abc"),
        (COST, [2**64 - 1, 2], [2, 2, 1]),
    ]  # fmt: skip
    for other in others:
        with pytest.raises((gmatch.CertificateError, gmatch.InvalidInput)):
            gmatch.verify(other, right)


def forged(assignment: gmatch.Assignment, row_match: list[int], cost: Any) -> gmatch.Assignment:
    """Another matching of as many pairs, which claims that the optimum is only known to be within a bound."""
    mates = np.array(row_match, np.int32)
    col_match = np.full(len(assignment.col_match), -1, np.int32)
    rows = np.flatnonzero(mates >= 0)
    col_match[mates[rows]] = rows
    pair_costs = np.asarray(cost)[rows, mates[rows]].astype(assignment.pair_costs.dtype)
    status = gmatch.Status.PAIRS if assignment.pair_price is not None else gmatch.Status.BOUNDED
    return dataclasses.replace(
        assignment, row_match=mates, col_match=col_match, pair_costs=pair_costs, bound=assignment.cost, status=status
    )


def test_an_answer_within_a_bound_is_no_best_answer() -> None:
    cost = [[1, 2], [2, 9]]
    pairs = gmatch.max_weight_matching(cost, pairs=1)
    with pytest.raises(gmatch.CertificateError, match="without a cover, a limit, a bound"):
        gmatch.verify(cost, forged(pairs, [0, -1], cost))

    cost = [[1, 3, 9], [3, 1, 9], [9, 9, 4]]  # all pairs up to the threshold of 4
    right = gmatch.bottleneck(cost, then="sum", certify=True)
    assert right.assignment is not None and right.cost == 6
    other = forged(right.assignment, [1, 0, 2], cost)
    arrays = {name: getattr(other, name) for name in ("row_match", "col_match", "pair_costs")}
    with pytest.raises(gmatch.CertificateError, match="without a limit or a bound"):
        gmatch.verify(cost, dataclasses.replace(right, **arrays, assignment=other))

    matrix = np.array([[1.0, 2], [2, 9]])
    for job, mates, costs in (("sum", [1, 0], matrix), ("product", [1, 0], np.log(9 / matrix))):
        scaling = gmatch.scale(matrix, job)
        wrong = forged(scaling.proof, mates, costs)
        with pytest.raises(gmatch.CertificateError, match="as the job"):
            gmatch.verify(
                matrix, dataclasses.replace(scaling, proof=wrong, row_match=wrong.row_match, col_match=wrong.col_match)
            )
